//! Instructions of the Octeon target's C, beside those of gcc's native C for the same function
//! (NetVM paper, sections 6.3.1 and 6.3.3): filters, and layer-2 forwarding.
//!
//! Both fill in the same interface (`netvm.h`), are compiled with the same flags, and run on the
//! same packets under QEMU, with a plugin that counts the instructions of each function
//! (octeon/count.c). Filters by hand (octeon/hand.c) read fields in three ways. The program that is
//! built with `-DNETVM_ALIGNED` is measured by the best of them; the one that is built as the
//! Makefile has it by the better of the two that do not rely on where packets lie, as it does not.
//! So is layer-2 forwarding (octeon/layer2.c). The verdicts must be equal.
//! `cargo test -p netvm --test octeon -- --nocapture` prints the table of docs/targets.md. Leaves
//! out time: caches, stalls and dual issue are not counted.

#[path = "../../../tests/needs.rs"]
mod needs;

use netil::{asm, verify};
use netvm::netil;
use netvm::targets::{self, Options};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The paper's five, then others.
const FILTERS: [&str; 12] = [
    "ip",
    "ip src 10.1.1.1",
    "ip and tcp",
    "ip src 10.1.1.1 and ip dst 10.2.2.2 and tcp src port 20 and tcp dst port 30",
    "ip src 10.4.4.4 or ip src 10.3.3.3 or ip src 10.2.2.2 or ip src 10.1.1.1",
    "tcp port 80",
    "udp",
    "tcp[13] & 7 != 0",
    "src net 10.0.0.0/8 and udp dst port 53",
    "arp or rarp",
    "ip[8] < 5",
    "vlan and ip",
];
/// Ways in which hand.c reads fields: memcpy, packed structures, aligned ones.
const FORMS: [&str; 3] = ["-DFORM=0", "-DFORM=1", "-DFORM=2"];
const CC: &str = "mips64-linux-gnuabi64-gcc";
const EMULATOR: &str = "qemu-mips64";
/// Those of the target's Makefile.
const FLAGS: &str = "-std=gnu11 -O2 -ffreestanding -fno-strict-aliasing -fno-tree-loop-distribute-patterns -fno-stack-protector -fno-pie -march=octeon+ -mabi=64 -msoft-float -mno-abicalls \
                     -fno-pic -G0 -nostdlib -static -no-pie";
/// How often main.c runs all packets.
const ROUNDS: f64 = 100.0;

struct Bench {
    folder: PathBuf,
    packets: usize,
}

/// A folder with the plugin; none if something is missing.
fn bench(name: &str) -> Option<Bench> {
    let there = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|out| out.status.success());
    if let Some(tool) = ["cc", CC, EMULATOR].into_iter().find(|tool| !there(tool)) {
        needs::missing(tool);
        return None;
    }
    let plugins = Command::new(EMULATOR).arg("--help").output().is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains("-plugin"));
    if !plugins {
        needs::missing("a QEMU with plugins");
        return None;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("octeon-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    done(
        Command::new("cc").args(["-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o"]).arg(folder.join("count.so")).arg(source("count.c")),
    );
    Some(Bench { folder, packets: 0 })
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/octeon").join(name)
}

fn done(command: &mut Command) {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
}

impl Bench {
    /// Packets as main.c reads them, with their inputs.
    fn packets(&mut self, packets: &[(u32, Vec<u8>)]) {
        let record = |(input, bytes): &(u32, Vec<u8>)| [&input.to_be_bytes()[..], &(bytes.len() as u32).to_be_bytes(), bytes].concat();
        std::fs::write(self.folder.join("in"), packets.iter().flat_map(record).collect::<Vec<u8>>()).unwrap();
        self.packets = packets.len();
    }

    /// The target's files for a program.
    fn build(&self, program: &netil::Verified) {
        let octeon = targets::find("octeon").unwrap();
        for file in (octeon.build)(program, &Options::default()).unwrap() {
            std::fs::write(self.folder.join(file.name), file.bytes).unwrap();
        }
    }

    /// Instructions a packet, and what became of the packets.
    fn run(&self, text: &Path, defines: &[&str]) -> (f64, String) {
        let program = self.folder.join("program");
        let flags = FLAGS.split_whitespace();
        done(
            Command::new(CC).args(flags).args(defines).arg("-I").arg(&self.folder).arg("-o").arg(&program).arg(source("main.c")).arg(text),
        );
        let mut command = Command::new(EMULATOR);
        command.args(["-cpu", "Octeon68XX", "-d", "plugin", "-plugin"]).arg(self.folder.join("count.so")).arg(&program);
        let out = command.stdin(Stdio::from(std::fs::File::open(self.folder.join("in")).unwrap())).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let told = String::from_utf8_lossy(&out.stderr).into_owned();
        let own = |name: &str| name.starts_with("count_") || name == "__start";
        let counts = told.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| !own(name));
        let sum: u64 = counts.filter_map(|(_, counts)| counts.split(' ').next()?.parse::<u64>().ok()).sum();
        (sum as f64 / self.packets as f64 / ROUNDS, String::from_utf8(out.stdout).unwrap())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // NETVM_KEEP=1 keeps the files, to look at what is wrong.
        if std::env::var_os("NETVM_KEEP").is_none() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Numbers that look random.
fn numbers() -> impl FnMut(usize) -> usize {
    let mut state = 5u64;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

/// Packets that filters take and that they do not take, at each of their tests.
fn traffic() -> Vec<(u32, Vec<u8>)> {
    let mut random = numbers();
    (0..200).map(|_| (0, packet(&mut random))).collect()
}

fn packet(random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let half = |n: u16| n.to_be_bytes();
    let mut ports = [half([20, 80, 1234, 53][random(4)]), half([30, 80, 53, 443][random(4)])].concat();
    ports.extend([[0; 9].as_slice(), &[[2, 16, 24][random(3)]], &[0; 30]].concat());
    let from = [[10, 1, 1, 1], [10, 2, 2, 2], [10, 4, 4, 4], [192, 168, 1, 1]][random(4)];
    let (to, options, fragment) = ([[10, 2, 2, 2], [10, 9, 9, 9]][random(2)], 4 * (random(4) / 3), [0, 0, 0, 7][random(4)]);
    let mut ip =
        vec![0x45 + options as u8 / 4, 0, 0, 94 + options as u8, 0, 1, 0, fragment, [3, 64][random(2)], [6, 6, 17, 1][random(4)], 0, 0];
    ip.extend([&from[..], &to, &vec![0; options], &ports].concat());
    let ethernet =
        |kinds: &[u16], rest: &[u8]| [&[2; 12][..], &kinds.iter().flat_map(|k| k.to_be_bytes()).collect::<Vec<_>>(), rest].concat();
    match random(20) {
        0..15 => ethernet(&[0x0800], &ip),
        15..17 => {
            let head = [0x60, 0, 0, 0, 0, 44, [6, 17][random(2)], 64];
            ethernet(&[0x86dd], &[&head[..], &[0; 32], &ports].concat())
        }
        17 => ethernet(&[0x0806], &[0; 46]),
        18 => ethernet(&[0x8100, 5, 0x0800], &ip),
        _ => ethernet(&[0x0800], &ip)[..1 + random(40)].to_vec(),
    }
}

#[test]
fn filters_take_as_many_instructions_as_gccs() {
    let Some(mut bench) = bench("filters") else { return };
    bench.packets(&traffic());
    let mut sums = [0.0; 5];
    for (n, text) in FILTERS.iter().enumerate() {
        let filter = netvm::Filter::compile(text, netvm::io::LinkType::EN10MB, &netvm::engines::AUTO).unwrap();
        bench.build(&filter.program);
        let forms = FORMS.map(|form| bench.run(&source("hand.c"), &[form, &format!("-DFILTER={n}")]));
        let ours = ["-UNETVM_ALIGNED", "-DNETVM_ALIGNED"].map(|how| bench.run(&bench.folder.join("program.c"), &[how]));
        forms.iter().chain(&ours).for_each(|(_, verdicts)| assert_eq!(*verdicts, forms[0].1, "{text}"));
        assert!(forms[0].1.contains('s') && forms[0].1.contains('d'), "{text} takes all packets or none");
        let counts: Vec<f64> = forms.iter().chain(&ours).map(|(count, _)| *count).collect();
        sums.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
        told(text, &counts);
        let (best, packed) = (counts[0].min(counts[1]).min(counts[2]), counts[0].min(counts[1]));
        assert!(counts[4] <= 1.1 * best && counts[3] <= 1.1 * packed, "{text}: {counts:.1?}");
    }
    told("all", &sums);
}

fn told(name: &str, counts: &[f64]) {
    let [memcpy, packed, aligned, ours, promised] = counts else { return };
    let unaligned = memcpy.min(*packed);
    let (first, second) = (ours / unaligned, promised / unaligned.min(*aligned));
    println!("| `{name}` | {memcpy:.1} | {packed:.1} | {aligned:.1} | {ours:.1} | {first:.2} | {promised:.1} | {second:.2} |");
}

/// Frames among 150 stations on four ports; one of ten goes to a station that was never heard of.
fn frames() -> Vec<(u32, Vec<u8>)> {
    let mut random = numbers();
    let address = |n: usize| [2, (n * 37) as u8, (n * 101) as u8, (n >> 3) as u8, n as u8, (n * 11) as u8];
    let mut frame = || {
        let (from, to) = (random(150), random(150) + if random(10) == 0 { 1000 } else { 0 });
        ((from % 4) as u32, [&address(to)[..], &address(from), &[8, 0], &[0; 46]].concat())
    };
    let mut frames: Vec<_> = (0..250).map(|_| frame()).collect();
    frames.push((1, vec![0; 8]));
    frames
}

#[test]
fn layer_2_forwarding_takes_few_more_instructions_than_gccs() {
    let Some(mut bench) = bench("layer2") else { return };
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/x11/learner.netil")).unwrap();
    bench.build(&verify(asm::assemble(&text, "learner.netil").unwrap()).unwrap());
    bench.packets(&frames());
    let [(packed, _), (hand, verdicts)] =
        FORMS[1..].iter().map(|form| bench.run(&source("layer2.c"), &[form])).collect::<Vec<_>>().try_into().unwrap();
    let [ours, promised] = ["-UNETVM_ALIGNED", "-DNETVM_ALIGNED"].map(|how| bench.run(&bench.folder.join("program.c"), &[how]));
    let ratios = [ours.0 / packed, promised.0 / hand];
    println!(
        "| layer-2 forwarding | | {packed:.1} | {hand:.1} | {:.1} | {:.2} | {:.1} | {:.2} |",
        ours.0, ratios[0], promised.0, ratios[1]
    );
    assert_eq!([&ours.1, &promised.1], [&verdicts; 2]);
    assert!(promised.0 <= 1.2 * hand, "{:.1} instructions, {hand:.1} by hand", promised.0);
    assert!(ours.0 <= 1.2 * packed, "{:.1} instructions, {packed:.1} by hand", ours.0);
}
