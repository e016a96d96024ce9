//! XDP programs give the interpreter's verdicts: every filter expression of the front end's tests on a mixed trace, by `BPF_PROG_TEST_RUN`.
//!
//! Where the process may not use the system call `bpf` the tests say so; with `NETVM_BPF=required` they fail then.
#![cfg(target_os = "linux")]

#[path = "../../aot/tests/support/mod.rs"]
mod support;

use frontends::pcap_filter::{self, LinkType};
use netil::arbitrary;
use netil::disasm::disassemble;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, Packets, Selection, State};
use netil::module::{HandlerKind, PortKind};
use netil::{Interpreter, Verified, verify};
use netvm_compiler::backends::ebpf::{self, Action, Options, Program};
use runtime::io::{bpf, synth};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// XDP's actions.
const ABORTED: u32 = 0;
const DROP: u32 = 1;
const PASS: u32 = 2;
const TRANSMIT: u32 = 3;

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
            assert!(
                std::env::var_os("NETVM_BPF").is_none_or(|how| how != "required"),
                "programs of XDP are tested by the kernel, which refuses: {error}"
            );
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

/// Numbers from the environment, for longer runs.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// What XDP shows of a disposition: even ports are passed, odd ones sent back.
fn action(disposition: Disposition) -> u32 {
    match disposition {
        Disposition::Port(port) if port % 2 == 0 => PASS,
        Disposition::Port(_) => TRANSMIT,
        Disposition::Drop(_) => DROP,
        Disposition::Trap(_) => ABORTED,
    }
}

/// One packet after the other, with the state that they leave: dispositions, packets, and at the end data memory.
fn runs_alike(what: &str, program: &Arc<Verified>, made: &Program, packets: &[Vec<u8>]) {
    let loaded = load(made).unwrap_or_else(|error| panic!("{what}: {error}"));
    let (mut interpreter, mut state) = (Interpreter::new(Arc::clone(program)), State::plain(program).unwrap());
    let input = program.module().all_ports().iter().find(|(_, p)| p.kind == PortKind::PushInput).map_or(0, |(id, _)| *id);
    let ready = interpreter.init(&mut state).is_ok();
    assert!(ready || program.is_filter(), "{what}: an init handler that fails is refused");
    let mut outcome = Outcome::default();
    for (i, packet) in packets.iter().enumerate() {
        let mut burst = [ExchangeBuffer::borrowed(packet)];
        burst[0].port = input;
        interpreter.run(HandlerKind::Push, &mut burst, &mut state, &mut outcome);
        let wanted = outcome.dispositions[0];
        let tried = loaded.test(packet, 1).unwrap_or_else(|error| panic!("{what}: packet {i}: {error}"));
        let place = |what: &str| format!("{what}: packet {i}: {wanted:?}, {packet:02x?}\n{}", disassemble(program.module()));
        assert_eq!(tried.action, action(wanted), "{}", place(what));
        if let Disposition::Port(_) = wanted {
            assert_eq!(tried.packet, burst[0].bytes(), "{}", place(what));
        }
    }
    let lasting = made.maps.iter().position(|map| !map.read_only);
    if let Some(at) = lasting.filter(|_| ready) {
        let kept = loaded.map(at, made.maps[at].data.len()).unwrap();
        assert_eq!(&kept[..state.data.len()], &state.data[..], "{what}: data memory\n{}", disassemble(program.module()));
    }
}

fn ports_apart(program: &Verified) -> Options {
    let ports =
        program.module().all_ports().iter().map(|(id, _)| (*id, if id % 2 == 0 { Action::Pass } else { Action::Transmit })).collect();
    Options { ports, trap: Action::Aborted, ..Options::default() }
}

/// Modules that the generator makes: each is refused with a reason, or the kernel takes it and it does what the interpreter does.
#[test]
fn generated_modules() {
    if !permitted() {
        return;
    }
    let (first, count) = (number("NETVM_SEED", 0), number("NETVM_CASES", 2000));
    let (mut made, mut refused) = (0, BTreeMap::<String, u64>::new());
    for seed in first..first + count {
        let (statements, widest) = ([2, 5, 12][(seed % 3) as usize], [32, 64, 128, 320][(seed % 4) as usize]);
        let options = arbitrary::Options { coprocessors: false, pull: false, statements, widest };
        let program = Arc::new(verify(arbitrary::seeded_module(seed, &options)).unwrap());
        match ebpf::compile(&program, &ports_apart(&program)) {
            Ok(compiled) => {
                let packets: Vec<_> =
                    (0..12).map(|n| arbitrary::seeded_packet(seed ^ n)).filter(|p| bpf::TESTED.contains(&p.len())).collect();
                runs_alike(&format!("seed {seed}"), &program, &compiled, &packets);
                made += 1;
            }
            Err(why) => *refused.entry(why.reason.split(|c: char| c.is_ascii_digit()).next().unwrap().to_owned()).or_default() += 1,
        }
    }
    println!("{made} of {count} made, refused: {refused:#?}");
    assert!(made * 8 > count, "{made} of {count}");
}

/// Programs that decide much by few fields: many ways that meet again, which the kernel's verifier must not follow one by one.
#[test]
fn decisions() {
    if !permitted() {
        return;
    }
    let (first, count) = (number("NETVM_SEED", 0), number("NETVM_CASES", 300));
    let packets: Vec<_> = (0..40).map(arbitrary::few_valued_packet).filter(|p| bpf::TESTED.contains(&p.len())).collect();
    assert!(packets.len() > 10, "{}", packets.len());
    let mut made = 0;
    for seed in first..first + count {
        let program = Arc::new(verify(arbitrary::seeded_decisions(seed)).unwrap());
        if let Ok(compiled) = ebpf::compile(&program, &ports_apart(&program)) {
            runs_alike(&format!("decisions {seed}"), &program, &compiled, &packets);
            made += 1;
        }
    }
    assert!(made * 2 > count, "{made} of {count}");
}

/// Filters of shapes that no front end makes: loops, switches, traps, odd widths.
#[test]
fn made_up_filters() {
    if !permitted() {
        return;
    }
    let (first, count) = (number("NETVM_SEED", 1), number("NETVM_CASES", 300));
    let packets: Vec<_> = support::packets().into_iter().filter(|p| bpf::TESTED.contains(&p.len())).collect();
    let (mut made, mut refused) = (0, BTreeMap::<String, u64>::new());
    for seed in first..first + count {
        let program = support::program(&support::Source::text(seed));
        match ebpf::compile(&program, &ports_apart(&program)) {
            Ok(compiled) => {
                runs_alike(&format!("filter {seed}"), &program, &compiled, &packets);
                made += 1;
            }
            Err(why) => *refused.entry(why.reason).or_default() += 1,
        }
    }
    println!("{made} of {count} made, refused: {refused:#?}");
    assert!(made * 3 > count, "{made} of {count}");
}

/// Sets of every form, tested at the ends of their ranges, beside them and elsewhere.
#[test]
fn large_sets() {
    if !permitted() {
        return;
    }
    let scattered = |i: u32| i.wrapping_mul(2_654_435_761);
    let net = |i: u32, bits: u32| (scattered(i) & (u32::MAX << (32 - bits)), scattered(i) | u32::MAX.checked_shr(bits).unwrap_or(0));
    let sets: [(&str, Vec<(u32, u32)>); 6] = [
        ("few", (0..40).map(|i| net(i, 32)).collect()),
        ("hosts", (0..3_000).map(|i| net(i, 32)).collect()),
        ("near", (0..50).map(|i| (7_000 + 37 * i, 7_000 + 37 * i)).collect()),
        ("nets", (0..700).map(|i| net(i, 12 + i % 13)).collect()),
        ("most", (0..5_000).map(|i| net(i, 29)).collect()),
        ("span", (0..300).map(|i| (200 * i, 200 * i + i % 90)).collect()),
    ];
    for (width, (name, ranges)) in [32u16, 40, 64, 128].into_iter().flat_map(|width| sets.iter().map(move |set| (width, set))) {
        if width == 128 && ranges.len() > 1000 {
            continue;
        }
        let list: Vec<String> = ranges.iter().map(|(low, high)| format!("{low}-{high}")).collect();
        let code = format!("segment .push\n.maxstacksize 4\n pop\n push 4\n w.pload {width}\n set.has s\n ret\nends\n");
        let source = format!("segment .sets\n .set s, {width}\n {}\nends\n{code}", list.join(",\n "));
        let program = support::program(&source);
        let ends = ranges.iter().step_by(7).flat_map(|(low, high)| [*low, *high, low.wrapping_sub(1), high.wrapping_add(1)]);
        let values = ends.chain((0..500).map(|i| scattered(i + 77_777))).chain(0..20);
        let before = usize::from(width) / 8 - 4;
        let packets: Vec<Vec<u8>> = values.map(|v| [&vec![0; 4 + before][..], &v.to_be_bytes(), &[0; 60]].concat()).collect();
        let compiled = ebpf::compile(&program, &Options::default()).unwrap_or_else(|why| panic!("{name} of {width}: {why}"));
        agrees(&format!("{name} of {width}"), &program, &compiled, &packets);
    }
}
