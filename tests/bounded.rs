//! The fuzz target of limits: what reading, checking and compiling take is bounded by the size of
//! the input, whatever is in it.
//!
//! The first byte chooses what the rest is. Time is that of this thread on a processor, memory the
//! most that the process has had; both as Linux tells them, and nothing is measured elsewhere.

use frontends::c::{self, InfoLayout, Instance, SourceFile};
use frontends::click;
use frontends::click::processing::Kind;
use frontends::pcap_filter::{Filter, LinkType, Options};
use netil::arbitrary::{self, arbitrary_module};
use netil::asm::assemble;
use netil::module::HandlerKind;
use netil::{Module, verify};
use std::collections::BTreeMap;

/// What an input may take, however small it is, and for each of its bytes more: nanoseconds. An
/// init handler may take its whole budget, each of four emitters runs it, and the interpreter takes
/// a second for that where a fuzzer watches it.
const TIME: [u64; 2] = [6_000_000_000, 200_000];
/// What memory an input may take, however small it is, and for each of its bytes more: bytes.
const MEMORY: [u64; 2] = [200 << 20, 8 << 10];

/// Reads, checks and compiles within those limits.
pub fn bounded(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    // What the process had before does not count.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (time, memory) = (processor_time(), peak());
    match choice % 5 {
        0 => drop(assemble(&text, "fuzz.netil").map(compiled)),
        1 => drop(click::flatten(&text, &BTreeMap::new()).map(|graph| graph.to_string())),
        2 => element(&text),
        3 => drop(Filter::compile(&text, LinkType(1), &Options::default()).map(|filter| compiled(filter.module()))),
        _ => compiled(arbitrary_module(rest, &arbitrary::Options::default())),
    }
    let within = |[least, more]: [u64; 2]| least + more * bytes.len() as u64;
    if let Some(took) = time.zip(processor_time()).map(|(before, after)| after.saturating_sub(before)) {
        assert!(took <= within(TIME), "{took} ns for {} bytes", bytes.len());
    }
    if let Some(took) = memory.zip(peak()).map(|(before, after)| after.saturating_sub(before)) {
        assert!(took <= within(MEMORY), "{took} bytes for {} bytes", bytes.len());
    }
}

/// A module is verified, and what verifies is optimised and written as C, for one packet and for
/// many at once.
fn compiled(module: Module) {
    let Ok(program) = verify(module) else { return };
    for kind in [HandlerKind::Push, HandlerKind::Pull] {
        let Ok(Some((func, _))) = compiler::optimised(&program, kind, &compiler::passes::Options::default()) else { continue };
        use compiler::backends::c::freestanding::{Division, Language, emit};
        let _ = emit(&program, &func, Language::C, Division::Single);
        let _ = emit(&program, &func, Language::Nodes, Division::Each);
    }
    if let Ok(Some((func, _))) = compiler::optimised(&program, HandlerKind::Push, &compiler::passes::Options::lanes()) {
        let _ = compiler::backends::c::emit(&program, &func);
    }
}

fn element(text: &str) {
    let source = SourceFile { name: "fuzz.c", text };
    let none = |_: &str| None;
    if c::describe(source, &none).is_err() {
        return;
    }
    let instance = Instance { name: "e".to_owned(), inputs: vec![Kind::Push], outputs: vec![Kind::Push], ..Instance::default() };
    if let Ok(made) = c::compile(source, &none, &instance, &mut InfoLayout::default()) {
        compiled(made.module);
    }
}

/// Nanoseconds that this thread was on a processor.
fn processor_time() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// The most memory that the process has had, in bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_memory_are_told() {
        let (time, before) = (processor_time().unwrap(), peak().unwrap());
        let held: Vec<u8> = (0..64 << 20).map(|n: u32| n as u8).collect();
        assert!(std::hint::black_box(&held).len() == 64 << 20);
        assert!(processor_time().unwrap() > time && peak().unwrap() >= before.max(64 << 20));
    }
}
