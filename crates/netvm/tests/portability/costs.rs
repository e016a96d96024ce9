//! What a packet costs in a column: instructions, counted by QEMU, on processors of another kind;
//! else nanoseconds here, in the build of this test.
//!
//! Counted are the functions of program.c and of the compiler's library that it calls, less what
//! they take without packets. main.c is not counted.

use super::apps::Inputs;
use super::support::{Made, make, there};
use netvm::scripts::scenarios::run;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Processors: the target, what lists symbols, and the emulator where a program runs without one
/// otherwise.
const PROCESSORS: [(&str, &str, &str); 4] = [
    ("aarch64", "aarch64-linux-gnu-nm", ""),
    ("riscv64", "riscv64-linux-gnu-nm", ""),
    ("x86_64", "nm", "qemu-x86_64"),
    ("octeon", "mips64-linux-gnuabi64-nm", ""),
];
/// The least time and rounds of a measurement.
const LONG: Duration = Duration::from_millis(10);
const ROUNDS: u32 = 8;
/// How often packets come again in a run that is measured.
const REPEATED: u64 = 40;

/// Of a target's program that has been made.
pub fn of(made: &Made) -> Option<String> {
    match made.target {
        // All packets, twenty times; vectors are full.
        "vpp" => told(&again(made, &["VECTOR=256", "TRY=-r 20"])),
        "opencl" => told(&again(made, &["OPTIONS=-t"])),
        name => {
            let (_, nm, emulator) = PROCESSORS.iter().find(|(processor, ..)| *processor == name)?;
            instructions(made, nm, emulator)
        }
    }
}

/// Of something that is done over and over, of so many packets each time: the shortest round, since
/// others do something meanwhile.
pub fn time(packets: usize, mut work: impl FnMut()) -> String {
    let (begun, mut least, mut rounds) = (Instant::now(), Duration::MAX, 0);
    while rounds < ROUNDS || begun.elapsed() < LONG {
        let round = Instant::now();
        work();
        (least, rounds) = (least.min(round.elapsed()), rounds + 1);
    }
    nanoseconds(least, packets)
}

/// Of what took so long.
pub fn nanoseconds(took: Duration, packets: usize) -> String {
    format!("{:.0} ns", took.as_nanos() as f64 / packets.max(1) as f64)
}

/// Packets again and again, each time later: so many that the beginning and the end of a run count
/// for little.
pub fn repeated(inputs: &Inputs) -> Inputs {
    let times = || inputs.values().flatten().map(|(time, _)| *time);
    let span = times().max().unwrap_or(0) - times().min().unwrap_or(0) + 1_000_000;
    let again =
        |all: &run::Packets| (0..REPEATED).flat_map(|n| all.iter().map(move |(time, packet)| (time + n * span, packet.clone()))).collect();
    inputs.iter().map(|(device, all)| (device.clone(), again(all))).collect()
}

/// What `make` prints if it is told something besides.
fn again(made: &Made, more: &[&str]) -> String {
    let arguments = made.arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with("VECTOR="));
    make(&made.folder, &arguments.chain(more.iter().copied()).collect::<Vec<_>>())
}

fn told(text: &str) -> Option<String> {
    let ns: f64 = text.split(' ').next()?.parse().ok()?;
    Some(format!("{ns:.0} ns"))
}

fn instructions(made: &Made, nm: &str, emulator: &str) -> Option<String> {
    let plugin = plugin()?;
    if !there(nm) || !(emulator.is_empty() || there(emulator)) {
        return None;
    }
    let symbols = |object: &str| symbols(nm, &made.folder.join(object));
    let (program, main) = (symbols("program.o"), symbols("main.o"));
    let defined: BTreeSet<&String> = main.iter().filter(|(_, is)| *is).map(|(name, _)| name).collect();
    // The plugin knows the first 63 characters.
    let own = program.iter().map(|(name, _)| name).filter(|name| !defined.contains(name)).map(|name| &name[..name.len().min(63)]).collect();
    std::fs::write(made.folder.join("none.pcap"), super::support::pcap(&[])).expect("a capture");
    let none: Vec<String> = made.arguments.iter().map(|argument| without_packets(argument)).collect();
    let count = |arguments: &[String]| counted(made, arguments, plugin, emulator, &own);
    let all = count(&made.arguments).saturating_sub(count(&none));
    Some(format!("{:.0} instructions", all as f64 / made.packets.max(1) as f64))
}

/// What an object defines, and what it uses.
fn symbols(nm: &str, object: &Path) -> Vec<(String, bool)> {
    let out = Command::new(nm).args(["-P"]).arg(object).output().expect("nm");
    assert!(out.status.success(), "{nm} {}", object.display());
    let symbol = |line: &str| line.split_once(' ').map(|(name, kind)| (name.to_owned(), !kind.starts_with('U')));
    String::from_utf8_lossy(&out.stdout).lines().filter_map(symbol).collect()
}

/// What `make` is told, with captures without packets.
fn without_packets(argument: &str) -> String {
    let Some((name, files)) = argument.split_once('=').filter(|(name, _)| ["PCAP", "INPUTS"].contains(name)) else {
        return argument.to_owned();
    };
    let none = |word: &str| word.split_once('=').map_or("none.pcap".to_owned(), |(device, _)| format!("{device}=none.pcap"));
    format!("{name}={}", files.split_whitespace().map(none).collect::<Vec<_>>().join(" "))
}

fn counted(made: &Made, arguments: &[String], plugin: &Path, emulator: &str, own: &BTreeSet<&str>) -> u64 {
    let mut command = Command::new("make");
    command.args(["-s", "--no-print-directory", "-C"]).arg(&made.folder).args(arguments).env("QEMU_PLUGIN", plugin);
    if !emulator.is_empty() {
        command.arg(format!("EMULATOR={emulator}"));
    }
    let done = command.output().expect("make");
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}: {text}", made.folder.display());
    let line = |line: &str| {
        let (name, counts) = line.split_once(' ')?;
        let count: u64 = counts.split(' ').next()?.parse().ok()?;
        own.contains(name).then_some(count)
    };
    text.lines().filter_map(line).sum()
}

/// The plugin of QEMU that counts, made once; none without a compiler or a QEMU that takes plugins.
fn plugin() -> Option<&'static Path> {
    static PLUGIN: OnceLock<Option<PathBuf>> = OnceLock::new();
    let make = || {
        let help = Command::new("qemu-aarch64").arg("--help").output().ok()?;
        let made = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("count-{}.so", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/octeon/count.c");
        let done = || Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&made).arg(&source).status();
        (String::from_utf8_lossy(&help.stdout).contains("-plugin") && done().is_ok_and(|status| status.success())).then_some(made.clone())
    };
    PLUGIN.get_or_init(make).as_deref()
}
