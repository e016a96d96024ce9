//! Linked elements that set timers do what they do one packet at a time on the interpreter: order
//! of all packets, counts and text. Arrivals come in bursts all the same.
//!
//! `NETVM_CASES` sets the number of generated configurations, `NETVM_SEED` the first.

mod graphs;

use graphs::{Kept, reading, run};
use netvm::application::{Application, Settings};
use netvm::engines;
use runtime::io::synth;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Configurations with timers that are due between packets of a burst, with them, behind them, and
/// when the end was found.
const CONFIGURATIONS: [(&str, &str, &[&str]); 7] = [
    (
        "packets that wait, with copies that leave at once",
        "FromDump(IN, STOP true) -> d :: Delay(0.000005) -> t :: Tee; t[0] -> q :: Queue(3); t[1] -> Strip(3) -> g :: Gate(2, 0.000007) -> q; g[1] -> Strip(4) -> q;
         q -> ToDump(OUT0);",
        &["d.length", "g.periods"],
    ),
    (
        "timers that are set anew by each packet",
        "FromDump(IN, STOP false) -> p :: Pause(0.000004, 0.00001) -> c :: Counter -> Queue -> ToDump(OUT0);",
        &["p.pauses", "c.count"],
    ),
    (
        "timers that are put off for many packets",
        "FromDump(IN, STOP true) -> p :: Pause(0.0001, 0.00003) -> c :: Counter -> Queue -> ToDump(OUT0);",
        &["p.pauses", "c.count"],
    ),
    (
        "timers of several elements at the same times",
        "FromDump(IN, STOP true) -> g :: Gate(3, 0.000002) -> p :: Pause(0.000002, 0) -> d :: Delay(0.000002) -> q :: Queue -> ToDump(OUT0);
         g[1] -> h :: Gate(1, 0) -> Strip(2) -> q; h[1] -> e :: Delay(1) -> q;",
        &["g.periods", "p.pauses", "d.length", "e.length"],
    ),
    (
        "two sources, one of which ends the run, and times that are set",
        "FromDump(IN, STOP true) -> p :: Pause(0.000003, 0.000001) -> q :: Queue(2) -> ToDump(OUT0);
         FromDump(IN, STOP false) -> SetTimestamp(1.5) -> Strip(1) -> g :: Gate(2, 0.000003) -> p; g[1] -> q;",
        &["g.periods", "p.pauses"],
    ),
    (
        "packets that come by another way",
        "f :: FromDump(IN, STOP true, FORCE_IP true) -> t :: Tee; t[0] -> d :: Delay(0.000003) -> q :: Queue(2) -> ToDump(OUT0); t[1] -> Strip(1) -> q;
         f[1] -> Strip(9) -> p :: Pause(0.000002, 1) -> q;",
        &["d.length", "p.pauses"],
    ),
    (
        "packets at a rate beside captures, among them, until their limit and until it changes",
        "FromDump(IN, STOP true) -> Paint(1) -> p :: Pause(0.000003, 0.00001) -> r :: RoundRobinSwitch; s :: RatedSource(RATE 70000, LIMIT 900) -> Paint(2) -> r;
         t :: RatedSource(LENGTH 40, RATE 3100) -> Strip(1) -> r; r[0] -> ToDump(OUT0); r[1] -> ToDump(OUT1); r[2] -> a :: Counter -> Discard;
         Script(TYPE ACTIVE, wait 0.001s, print $(s.count) $(t.count) $(a.count), write t.rate 30000, wait 0.002s, print $(t.count) $(a.count), write s.active false, wait 0.002s, write s.active true);",
        &["s.count", "t.count", "a.count", "p.pauses"],
    ),
];

/// Numbers by which configurations and times are chosen.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % n
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// A capture whose packets come at the same times, soon and long after each other, and sometimes at
/// earlier times.
fn capture(seed: u64, count: usize) -> Vec<u8> {
    let mut random = Random(seed);
    let mut file = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    let mut micros = 5_000_000;
    for (n, (_, frame)) in synth::mixed_trace(seed, count).into_iter().enumerate() {
        micros += random.of(&[0, 0, 1, 1, 2, 5, 20]) + if n % 300 == 299 { 3000 } else { 0 };
        let time = if n % 97 == 96 { micros - 3 } else { micros };
        let length = frame.len() as u32;
        file.extend([time / 1_000_000, time % 1_000_000, length, length].map(u32::to_le_bytes).concat());
        file.extend(frame);
    }
    file
}

/// A chain of elements, with ways aside. All packets end in one capture, which shows their order.
fn configuration(seed: u64) -> String {
    const TIMES: [&str; 8] = ["0", "0.000001", "0.000002", "0.000003", "0.000007", "0.00002", "0.0005", "1"];
    let mut random = Random(seed);
    let random = &mut random;
    let mut text = format!("q :: Queue({}) -> ToDump(OUT0); ", random.of(&[1, 3, 1000]));
    let source = random.of(&["FromDump(IN, STOP true)", "FromDump(IN, STOP false)", "FromDump(IN, STOP true, FORCE_IP true)"]);
    let _ = write!(text, "{source} -> first :: Paint(1)");
    for n in 0..2 + random.below(4) {
        let (time, other, number) = (random.of(&TIMES), random.of(&TIMES), 1 + random.below(4));
        let _ = match random.below(9) {
            0 | 1 => write!(text, " -> Delay({time}, MOST {})", 3 * number),
            2 | 3 => write!(text, " -> Gate({number}, {time})"),
            4 => write!(text, " -> g{n} :: Gate({number}, {time}); g{n}[1] -> Strip({number}) -> q; g{n}[0]"),
            5 => write!(text, " -> Pause({time}, {other})"),
            6 => write!(text, " -> t{n} :: Tee(2); t{n}[1] -> Strip({number}) -> q; t{n}[0]"),
            7 => write!(text, " -> t{n} :: Tee(2); t{n}[1] -> Delay({other}) -> Strip({number}) -> q; t{n}[0]"),
            _ => write!(text, " -> {}", random.of(&["Print(x, 8)", "Counter", "SetTimestamp(5.0001)", "CheckLength(200)"])),
        };
    }
    text += " -> q;";
    if random.below(2) == 0 {
        let _ = write!(text, " FromDump(IN, STOP {}) -> Truncate(50) -> first;", random.of(&["true", "false"]));
    }
    text
}

/// A folder with a capture.
fn folder(name: &str, capture: &[u8]) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("netvm-timers-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input = folder.join("in.pcap");
    std::fs::write(&input, capture).unwrap();
    (folder, input)
}

/// The number of the first packet of two captures that differs, and both with what follows.
fn first_difference(found: Option<&[u8]>, wanted: Option<&[u8]>) -> Option<String> {
    let [found, wanted] = [found, wanted].map(|file| records(file.unwrap_or_default()));
    let n = (0..found.len().max(wanted.len())).find(|n| found.get(*n) != wanted.get(*n))?;
    let shown =
        |all: &[Vec<u8>]| all.iter().skip(n).take(4).map(|r| format!("{:02x?}", &r[..r.len().min(30)])).collect::<Vec<_>>().join("\n ");
    Some(format!("packet {n} of {} and {}:\n {}\nwanted\n {}", found.len(), wanted.len(), shown(&found), shown(&wanted)))
}

/// A capture's records with their headers.
fn records(file: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = file.get(24..).unwrap_or_default();
    let mut all = Vec::new();
    while let Some(length) = rest.get(8..12) {
        let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
        let (record, behind) = rest.split_at(16 + length);
        all.push(record.to_vec());
        rest = behind;
    }
    all
}

/// Compares a configuration's runs; whether they wrote anything.
fn compare(name: &str, text: &str, reads: &[&str], folder: &Path, input: &Path) -> bool {
    let [plain, linked] = ["interp", "aot"].map(|name| engines::find(name).unwrap());
    let wanted = run(text, reads, plain, folder, input);
    let found = run(text, reads, linked, folder, input);
    assert_eq!(found.counts, wanted.counts, "{name}: {reads:?}\n{text}");
    let differs = |n: usize| first_difference(found.captures[n].as_deref(), wanted.captures[n].as_deref());
    assert!(found.captures == wanted.captures, "{name}: captures differ: {:?} {:?}\n{text}", differs(0), differs(1));
    assert!(found.text == wanted.text, "{name}: text differs\n{text}");
    wanted.captures.iter().flatten().any(|file| file.len() > 100)
}

#[test]
fn timers_run_between_the_packets_that_they_come_between() {
    if aot::build::Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    // The second is a burst to the packet, so that its end is found when the next arrival is looked
    // for.
    for count in [1500, 1024] {
        let (folder, input) = folder(&format!("fixed-{count}"), &capture(count, count as usize));
        for (name, text, reads) in CONFIGURATIONS {
            assert!(compare(name, text, reads, &folder, &input), "{name}: nothing was written");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn generated_configurations() {
    if aot::build::Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    let number = |name: &str, otherwise| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise);
    let (first, cases) = (number("NETVM_SEED", 0u64), number("NETVM_CASES", 16));
    let mut wrote = 0;
    for seed in first..first + cases {
        let (folder, input) = folder(&format!("seed-{seed}"), &capture(seed, [700, 1024, 512][(seed % 3) as usize]));
        wrote += u64::from(compare(&format!("seed {seed}"), &configuration(seed), &[], &folder, &input));
        std::fs::remove_dir_all(folder).unwrap();
    }
    assert!(wrote > cases / 2, "only {wrote} of {cases} wrote something");
}

#[test]
fn configurations_with_timers_run_in_bursts() {
    let (folder, input) = folder("bursts", &capture(1, 10));
    for (name, text, _) in CONFIGURATIONS {
        let text = text.replace("IN,", &format!("{},", input.display())).replace("OUT", &folder.join("out").display().to_string());
        let application = Application::read("test.click", &text, &reading()).unwrap_or_else(|e| panic!("{e}"));
        let engine = engines::find("interp").unwrap();
        let graph = application.start(
            engine,
            engines::Settings { no_cache: true, ..engines::Settings::default() },
            Settings::default(),
            Box::new(Kept::default()),
        );
        let account = application.explain(Some(&graph.unwrap_or_else(|e| panic!("{e}"))));
        assert_eq!(account.one_at_a_time, Some(Vec::new()), "{name}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
