//! Programs of `tests/filetests/run`: one corpus, every engine. What a program does is compared
//! between engines, and the interpreter's with the file beside it; `NETVM_BLESS=1` writes those
//! files.
//!
//! A file holds cases; a case starts with `; case: NAME`. In it, `; packet: HEX` lines are pushed
//! into port 0 in order, `; offer: PORT HEX` waits at an input, `; pull: PORT` asks an output,
//! `; budget: N` and `; seed: N` set what they say. Packets arrive a millisecond apart from
//! 2001-09-09 01:46:40 UTC on, and were ten bytes longer on the wire.

use netil::exec::{Disposition, ExchangeBuffer};
use netil::{Verified, asm::assemble, verify};
use netvm::engines::{self, EngineInfo};
use netvm::{Session, Settings};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/run");
    let mut all: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "netil"));
    all.sort();
    all
}

/// The lines `; KEY: VALUE` of a case.
fn directives<'s>(text: &'s str, key: &str) -> Vec<&'s str> {
    let prefix = format!("; {key}:");
    text.lines().filter_map(|l| l.strip_prefix(prefix.as_str())).map(str::trim).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    let groups: Vec<String> = bytes.chunks(4).map(|c| c.iter().map(|b| format!("{b:02x}")).collect()).collect();
    groups.join(" ")
}

fn run(program: &Arc<Verified>, text: &str, engine: &EngineInfo) -> String {
    let number = |key: &str| directives(text, key).first().and_then(|v| v.parse().ok());
    let mut settings = Settings { engine: engines::Settings { no_cache: true, ..engines::Settings::default() }, ..Settings::default() };
    settings.seed = number("seed").unwrap_or(settings.seed);
    settings.budget = number("budget").map_or(settings.budget, |n| n as u32);
    let mut session = match Session::start(Arc::clone(program), engine, settings) {
        Ok(session) => session,
        Err(error) => return format!("    {error}\n"),
    };
    let mut out = String::new();
    for offer in directives(text, "offer") {
        let (port, packet) = offer.split_once(' ').unwrap();
        assert!(session.offer(port.parse().unwrap(), ExchangeBuffer::borrowed(&bytes(packet)).into_owned()));
    }
    push_all(&mut session, program, &directives(text, "packet"), &mut out);
    for port in directives(text, "pull") {
        let mut buffer = ExchangeBuffer::none();
        let outcome = session.pull(port.parse().unwrap(), 1_000_000_000_000_000_000, &mut buffer).clone();
        report(program, &outcome.dispositions, std::slice::from_ref(&buffer), &[Vec::new()], &mut out);
    }
    for (name, memory) in [("data", &session.state().data), ("shared", &session.state().shared)] {
        if memory.iter().any(|b| *b != 0) {
            writeln!(out, "    {name} {}", hex(memory)).unwrap();
        }
    }
    out
}

fn push_all(session: &mut Session, program: &Verified, packets: &[&str], out: &mut String) {
    let inputs: Vec<Vec<u8>> = packets.iter().map(|p| bytes(p)).collect();
    let buffer = |(i, b): (usize, &Vec<u8>)| {
        let mut buffer = ExchangeBuffer::borrowed(b).into_owned();
        buffer.time_ns = 1_000_000_000_000_000_000 + i as u64 * 1_000_000;
        buffer.missing = 10;
        buffer
    };
    let mut burst: Vec<ExchangeBuffer<'_>> = inputs.iter().enumerate().map(buffer).collect();
    let outcome = session.push(&mut burst).clone();
    report(program, &outcome.dispositions, &burst, &inputs, out);
    for clone in &outcome.clones {
        writeln!(out, "    copy of {} to port {}: {}", clone.source, clone.port, hex(clone.buffer.bytes())).unwrap();
    }
}

fn report(program: &Verified, dispositions: &[Disposition], after: &[ExchangeBuffer<'_>], before: &[Vec<u8>], out: &mut String) {
    for ((disposition, buffer), before) in dispositions.iter().zip(after).zip(before) {
        match disposition {
            Disposition::Port(port) => writeln!(out, "    port {port}").unwrap(),
            Disposition::Drop(reason) => writeln!(out, "    drop {reason:?}").unwrap(),
            Disposition::Trap(trap) => writeln!(out, "    trap {}", program.describe(trap)).unwrap(),
        }
        if buffer.bytes() != before.as_slice() {
            writeln!(out, "        packet {}", hex(buffer.bytes())).unwrap();
        }
        if buffer.info.iter().any(|b| *b != 0) {
            writeln!(out, "        info {}", hex(&buffer.info)).unwrap();
        }
    }
}

fn found(path: &Path) -> String {
    let source = std::fs::read_to_string(path).unwrap();
    let mut out = String::new();
    for case in source.split("; case: ").skip(1) {
        let (name, text) = case.split_once('\n').unwrap();
        let module = assemble(text, "").unwrap_or_else(|e| panic!("{name}: {e}"));
        let program = Arc::new(verify(module).unwrap_or_else(|e| panic!("{}: {name}: {}", path.display(), e[0])));
        let reference = run(&program, text, &engines::ALL[0]);
        for engine in &engines::ALL[1..] {
            assert_eq!(run(&program, text, engine), reference, "{}: {name}: {} differs", path.display(), engine.name);
        }
        write!(out, "{name}\n{reference}").unwrap();
    }
    out
}

#[test]
fn every_engine_does_what_is_expected() {
    let bless = std::env::var_os("NETVM_BLESS").is_some();
    for path in files() {
        let expect = path.with_extension("expect");
        let found = found(&path);
        if bless {
            std::fs::write(&expect, &found).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&expect).unwrap_or_default(), found, "{}; NETVM_BLESS=1 accepts it", path.display());
    }
    assert!(!files().is_empty());
}
