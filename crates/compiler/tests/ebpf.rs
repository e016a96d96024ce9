//! XDP programs give the interpreter's verdicts: every filter expression of the front end's tests on a mixed trace, by `BPF_PROG_TEST_RUN`.
//!
//! Where the process may not use the system call `bpf` the tests say so; in continuous integration (`CI`) they fail then.
#![cfg(target_os = "linux")]

use frontends::pcap_filter::{self, LinkType};
use netil::exec::{Packets, Selection, State};
use netil::{Interpreter, Verified, verify};
use netvm_compiler::backends::ebpf::{self, Options, Program};
use runtime::io::{bpf, synth};
use std::path::Path;
use std::sync::Arc;

const PASS: u32 = 2;

/// Loads a program; none where the system has no programs for us.
fn load(program: &Program) -> std::io::Result<bpf::Program> {
    let references: Vec<_> = program.references.iter().map(|r| bpf::Reference { at: r.at, map: r.map }).collect();
    let maps: Vec<_> = program.maps.iter().map(|m| bpf::Map { name: &m.name, data: &m.data, read_only: m.read_only }).collect();
    bpf::Program::load(&program.insts, &references, &maps)
}

/// Whether this process may load programs at all.
fn permitted() -> bool {
    let exit = [[0xb7, 0, 0, 0, 0, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];
    match bpf::Program::load(&exit, &[], &[]) {
        Ok(_) => true,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "programs of XDP are tested by the kernel, which refuses: {error}");
            println!("skipped: the system call bpf is not permitted: {error}");
            false
        }
    }
}

fn wanted(program: &Arc<Verified>, packets: &[Vec<u8>]) -> Selection {
    let frames: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let wire_len: Vec<u32> = frames.iter().map(|f| f.len() as u32).collect();
    let mut state = State::new(program, &|_| None).unwrap();
    let mut out = Selection::default();
    let burst = Packets { frames: &frames, wire_len: &wire_len, time_ns: &vec![0; frames.len()] };
    Interpreter::new(Arc::clone(program)).select(&burst, &mut state, &mut out);
    out
}

/// The kernel's verdicts are the interpreter's.
fn agrees(what: &str, program: &Arc<Verified>, made: &Program, packets: &[Vec<u8>]) {
    let loaded = load(made).unwrap_or_else(|error| panic!("{what}: {error}"));
    let wanted = wanted(program, packets);
    for (i, packet) in packets.iter().enumerate() {
        let tried = loaded.test(packet, 1).unwrap_or_else(|error| panic!("{what}: packet {i}: {error}"));
        assert_eq!(tried.action == PASS, wanted.get(i), "{what}: packet {i}: action {}, {packet:02x?}", tried.action);
    }
}

/// A mixed trace, whole and cut at every length that a header may end at.
fn packets() -> Vec<Vec<u8>> {
    let whole = synth::mixed_trace(11, 150);
    let cut = whole.iter().enumerate().map(|(i, (_, bytes))| bytes[..(14 + i * 7 % 76).min(bytes.len())].to_vec());
    let all = whole.iter().map(|(_, bytes)| bytes.clone()).chain(cut);
    all.filter(|p| bpf::TESTED.contains(&p.len())).collect()
}

#[test]
fn filters_of_the_corpus() {
    if !permitted() {
        return;
    }
    let packets = packets();
    let link = LinkType::ETHERNET;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../frontends/tests/data/expressions.txt");
    let text = std::fs::read_to_string(file).unwrap();
    let (mut made, mut refused) = (0, Vec::new());
    for expression in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let Ok(module) = pcap_filter::compile(expression, link, &pcap_filter::Options::default()) else { continue };
        let program = Arc::new(verify(module).unwrap());
        match ebpf::compile(&program, &Options::default()) {
            Ok(compiled) => {
                agrees(expression, &program, &compiled, &packets);
                made += 1;
            }
            Err(why) => refused.push(format!("{expression}: {why}")),
        }
    }
    println!("{made} filters, refused:\n{}", refused.join("\n"));
    assert!(refused.len() * 10 < made, "{made} filters, {} refused", refused.len());
}

#[test]
fn objects() {
    for (i, filter) in
        ["tcp port 80", "host 1.2.3.4 or host 10.0.0.1 or host 10.9.8.7 or host 172.16.3.4 or host 192.168.1.1 or host 9.9.9.9"]
            .iter()
            .enumerate()
    {
        let module = pcap_filter::compile(filter, LinkType::ETHERNET, &pcap_filter::Options::default()).unwrap();
        let program = verify(module).unwrap();
        let made = ebpf::compile(&program, &Options::default()).unwrap();
        std::fs::write(format!("/tmp/f{i}.o"), ebpf::object(&made).unwrap()).unwrap();
    }
}
