//! P4 programs by chance, from a seed: what each engine sends is what the program means, as it is
//! worked out here from the language specification; the same program compiled for tracing, and as
//! an element of a graph, sends the same. Packets go all ways through the parser.
//!
//! `NETVM_CASES`, `NETVM_SEED`: how many programs, and which; `NETVM_BMV2`: where BMv2 and p4c are,
//! which are then held against the same. `NETVM_SHOW` prints a program that differs.

mod bmv2;
mod meaning;
mod program;
mod values;

use netvm::application::{self, Application, Host, Stream};
use netvm::io::{Capture, LinkType, Timestamp, WriteOptions, Writer};
use netvm::p4::{BigInt, Optimisation, Reading, Switch, optimisation};
use netvm::{Settings, engines};
use std::path::{Path, PathBuf};

struct Quiet;

impl Host for Quiet {
    fn write(&mut self, _: Stream, _: &[u8]) {}
}

/// A chance from a seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) % n.max(1)
    }

    /// A number of that many bits; more often than not one of few ones or zeros.
    pub(crate) fn number(&mut self, bits: u32) -> BigInt {
        let one = BigInt::from(1);
        let all = (&one << bits) - &one;
        match self.below(5) {
            0 => BigInt::from(self.below(4)) & all,
            1 => &all - (BigInt::from(self.below(3)) & &all),
            2 => one << (self.below(u64::from(bits)) as u32),
            _ => (0..bits.div_ceil(8)).fold(BigInt::from(0), |value, _| value * 256 + self.below(256)) & all,
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// All optimisations of P4 programs.
const PLAIN: &[Optimisation] = &[Optimisation::Tables, Optimisation::Metadata, Optimisation::Actions];

fn reading(marks: bool, without: &'static [Optimisation]) -> Reading<'static> {
    Reading { folders: &[], defines: &[], load: &|_| None, marks, without }
}

/// The program of a seed on all quick engines; how many packets were sent, and how many of its
/// states were met.
fn try_one(seed: u64) -> (usize, bool) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let program = program::make(&mut chance, seed.is_multiple_of(4));
    let packets = program.packets(&mut chance, 40);
    let wanted: Vec<_> = packets.iter().map(|packet| program.run(packet)).collect();
    let met = (0..program.headers.len()).all(|state| wanted.iter().any(|(.., met)| met.contains(&state)));
    for (marks, without) in [(false, &[][..]), (true, &[]), (false, PLAIN)] {
        let pipeline = p4::compile(Path::new("t.p4"), &program.text, reading(marks, without))
            .unwrap_or_else(|refused| panic!("seed {seed}: {}", refused.render(false)));
        for engine in engines::ALL.iter().filter(|e| e.quick && (!marks || e.name == "interp")) {
            let mut switch = Switch::start(pipeline.clone(), engine, Settings::default()).unwrap();
            program.fill(&mut switch);
            for (packet, (port, bytes, _)) in packets.iter().zip(&wanted) {
                let sent = switch.receive(0, packet, 0);
                let got: Vec<_> = sent.iter().map(|s| (s.port, &s.bytes)).collect();
                if got != [(*port, bytes)] && std::env::var_os("NETVM_SHOW").is_some() {
                    eprintln!("{}", program.text);
                }
                assert_eq!(got, [(*port, bytes)], "seed {seed}, {}, marks {marks}, without {without:?}, packet {packet:02x?}", engine.name);
            }
        }
    }
    (packets.len(), met)
}

/// What an element of a graph sends by each port, on an engine.
fn of_graph(dir: &Path, (engine, without): (&engines::EngineInfo, &[&str]), packets: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    let input = dir.join("in.pcap");
    let mut writer =
        Writer::create(&input, &WriteOptions { link_type: LinkType::EN10MB, ..WriteOptions::for_output(&input, &[]) }).unwrap();
    for (n, bytes) in packets.iter().enumerate() {
        writer.write_packet(LinkType::EN10MB, Timestamp::from_nanos(1, n as u32 * 1000), bytes.len() as u32, bytes).unwrap();
    }
    writer.finish().unwrap();
    let name = |file: &str| dir.join(file).display().to_string();
    let of_p4: String = without.iter().filter(|name| optimisation::find(name).is_some()).map(|name| format!(", WITHOUT {name}")).collect();
    let mut text = format!("p :: P4({}, ENTRIES {}{of_p4}); FromDump({}) -> p;\n", name("p.p4"), name("e.txt"), input.display());
    let without = without.iter().fold(engines::Without::default(), |all, name| all.and(name).unwrap_or(all));
    let settings = engines::Settings { without, ..engines::Settings::default() };
    for port in 0..8 {
        text += &format!("p [{port}] -> ToDump({}, SNAPLEN 0);\n", name(&format!("out{port}.pcap")));
    }
    let application = Application::read("p4.click", &text, &Default::default()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let mut graph = application.start(engine, settings, application::Settings::default(), Box::new(Quiet)).unwrap();
    graph.start();
    while graph.turn() {}
    assert_eq!(graph.finish(), []);
    let read = |port: u32| {
        let mut capture = Capture::open(dir.join(format!("out{port}.pcap"))).unwrap();
        let mut all = Vec::new();
        while let Some(burst) = capture.next_burst(256).unwrap() {
            all.extend(burst.packets().iter().map(|packet| packet.to_vec()));
        }
        all
    };
    (0..8).map(read).collect()
}

/// Compiled C takes its time: of ten programs one.
#[test]
fn elements_in_compiled_c_mean_the_same() {
    let (cases, first) = (setting("NETVM_CASES", 30).div_ceil(10), setting("NETVM_SEED", 1));
    let dir = std::env::temp_dir().join(format!("netvm-p4-random-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for seed in first..first + cases {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let program = program::make(&mut chance, seed.is_multiple_of(4));
        let packets = program.packets(&mut chance, 40);
        let packets: Vec<_> = packets.into_iter().filter(|packet| !packet.is_empty()).collect();
        let pipeline = p4::compile(Path::new("t.p4"), &program.text, reading(false, &[])).unwrap();
        let switch = Switch::start(pipeline, &engines::ALL[0], Settings::default()).unwrap();
        std::fs::write(dir.join("p.p4"), &program.text).unwrap();
        std::fs::write(dir.join("e.txt"), program.commands(&switch)).unwrap();
        let mut wanted = vec![Vec::new(); 8];
        for packet in &packets {
            let (port, bytes, _) = program.run(packet);
            wanted[port as usize].push(bytes);
        }
        // One of them, and all.
        let names = ["tables", "metadata", "actions", "slices", "ports", "echoes", "paths"];
        for engine in engines::ALL {
            for without in [&[][..], &[names[seed as usize % names.len()]], &names] {
                assert_eq!(of_graph(&dir, (engine, without), &packets), wanted, "seed {seed}, {}, without {without:?}", engine.name);
            }
        }
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn programs_mean_what_the_language_says() {
    let (cases, first) = (setting("NETVM_CASES", 30), setting("NETVM_SEED", 1));
    let all: Vec<_> = (first..first + cases).map(try_one).collect();
    let packets: usize = all.iter().map(|(packets, _)| packets).sum();
    assert!(packets as u64 > cases * 3, "{packets} packets");
    assert!(all.iter().filter(|(_, met)| *met).count() * 4 > all.len(), "states that no packet meets");
}

/// A program for BMv2: its folder, its commands, and what leaves by each port.
struct Case {
    seed: u64,
    dir: PathBuf,
    commands: String,
    packets: usize,
    wanted: Vec<Vec<Vec<u8>>>,
}

impl Case {
    /// Makes the program of a seed, and sees that BMv2's commands mean here what they say.
    fn make(all: &Path, seed: u64) -> Self {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let program = program::make(&mut chance, true);
        let packets: Vec<_> = program.packets(&mut chance, 40).into_iter().filter(|packet| !packet.is_empty()).collect();
        let pipeline = p4::compile(Path::new("t.p4"), &program.text, reading(false, &[])).unwrap();
        let switch = Switch::start(pipeline, &engines::ALL[0], Settings::default()).unwrap();
        let commands = program.bmv2_commands(|table| switch.table(table).is_ok());
        let dir = all.join(seed.to_string());
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("p.p4"), &program.text).unwrap();
        std::fs::write(dir.join("e.txt"), &commands).unwrap();
        let mut wanted = vec![Vec::new(); bmv2::PORTS];
        for packet in &packets {
            let (port, bytes, _) = program.run(packet);
            wanted[port as usize].push(bytes);
        }
        assert_eq!(of_graph(&dir, (&engines::ALL[0], &[]), &packets), wanted, "seed {seed}, by BMv2's commands");
        Self { seed, dir, commands, packets: packets.len(), wanted }
    }

    /// Whether BMv2 sends the same; false if p4c ends with a fault of its own, as with loops that
    /// do nothing.
    fn in_bmv2(&self, bmv2: &Path) -> Result<bool, String> {
        let place = format!("seed {}, in {}", self.seed, self.dir.display());
        match bmv2::sent(bmv2, &self.dir, &self.commands, (self.packets, self.seed)) {
            Err(why) if why.contains("Compiler Bug") => Ok(false),
            Err(why) => Err(format!("{place}: {why}")),
            Ok(sent) if sent == self.wanted => Ok(true),
            Ok(sent) => Err(format!("{place}: BMv2 sends {sent:02x?} and not {:02x?}", self.wanted)),
        }
    }
}

/// BMv2 is asked where there is one (`NETVM_BMV2`), about several programs at once; its commands
/// are tried here in any case.
#[test]
fn bmv2_means_the_same() {
    let (cases, first) = (setting("NETVM_CASES", 30).div_ceil(10), setting("NETVM_SEED", 1));
    let dir = std::env::temp_dir().join(format!("netvm-p4-bmv2-{}", std::process::id()));
    let cases: Vec<_> = (first..first + cases).map(|seed| Case::make(&dir, seed)).collect();
    let bmv2 = std::env::var_os("NETVM_BMV2").map(PathBuf::from);
    if bmv2.is_none() {
        eprintln!("skipped: BMv2 itself; NETVM_BMV2 is to name a folder with simple_switch, simple_switch_CLI and p4c-bm2-ss");
    }
    let (mut same, mut differ) = (0, Vec::new());
    for (some, bmv2) in cases.chunks(8).zip(bmv2.iter().cycle()) {
        std::thread::scope(|scope| {
            let threads: Vec<_> = some.iter().map(|case| scope.spawn(move || case.in_bmv2(bmv2))).collect();
            for result in threads.into_iter().map(|thread| thread.join().unwrap()) {
                match result {
                    Ok(compared) => same += usize::from(compared),
                    Err(why) => differ.push(why),
                }
            }
        });
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(bmv2.is_none() || same * 3 > cases.len(), "p4c has compiled {same} of {} programs", cases.len());
    std::fs::remove_dir_all(dir).unwrap();
}
