//! XDP programs give the interpreter's verdicts: every filter expression of the front end's tests
//! on a mixed trace, by `BPF_PROG_TEST_RUN`.
//!
//! Where the process may not use the system call `bpf` the tests say so; with `NETVM_BPF=required`
//! they fail then.
#![cfg(target_os = "linux")]

#[path = "../../aot/tests/support/mod.rs"]
mod support;

use frontends::pcap_filter::{self, LinkType};
use netil::arbitrary;
use netil::disasm::disassemble;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, Packets, Selection, State};
use netil::module::{Entry, HandlerKind, PortKind, Table, TableKind};
use netil::table::Op;
use netil::tables::is_live;
use netil::{Interpreter, Verified, verify};
use netvm_compiler::backends::ebpf::{self, Action, Options, Program, World};
use runtime::io::{bpf, synth};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// XDP's actions.
const ABORTED: u32 = 0;
const DROP: u32 = 1;
const PASS: u32 = 2;
const TRANSMIT: u32 = 3;

fn map_of(map: &ebpf::Map) -> bpf::Map<'_> {
    let keyed = map.keyed.as_ref().map(|k| bpf::Keyed {
        kind: k.kind as u32,
        key_size: k.key_size,
        value_size: k.value_size,
        capacity: k.capacity,
        entries: &k.entries,
    });
    bpf::Map { name: &map.name, data: &map.data, read_only: map.read_only, keyed }
}

/// Loads a program; none where the system has no programs for us.
fn load(program: &Program) -> std::io::Result<bpf::Program> {
    let references: Vec<_> = program.references.iter().map(|r| bpf::Reference { at: r.at, map: r.map }).collect();
    let maps: Vec<_> = program.maps.iter().map(map_of).collect();
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

/// One packet after the other, with the state that they leave: dispositions, packets, and at the
/// end data memory.
///
/// False if the kernel's verifier gives up on loops, which nobody knows before.
fn runs_alike(what: &str, program: &Arc<Verified>, made: &Program, packets: &[Vec<u8>]) -> bool {
    let loaded = match load(made) {
        Ok(loaded) => loaded,
        Err(error) if made.loops && gives_up(&error.to_string()) => return false,
        Err(error) => panic!("{what}: {error}"),
    };
    let (mut interpreter, mut state) = (Interpreter::new(Arc::clone(program)), State::plain(program).unwrap());
    let input = program.module().all_ports().iter().find(|(_, p)| p.kind == PortKind::PushInput).map_or(0, |(id, _)| *id);
    let ready = interpreter.init(&mut state).is_ok();
    assert!(ready || program.is_filter(), "{what}: an init handler that fails is refused");
    state.budget = BUDGET;
    let mut outcome = Outcome::default();
    let mut now = 0;
    for (i, packet) in packets.iter().enumerate() {
        now = FIRST_NS + i as u64 * STEP_NS;
        set_clock(&loaded, made, now);
        let mut burst = [ExchangeBuffer::borrowed(packet)];
        (burst[0].port, burst[0].time_ns) = (input, now);
        interpreter.run(HandlerKind::Push, &mut burst, &mut state, &mut outcome);
        let wanted = outcome.dispositions[0];
        let tried = loaded.test(packet, 1).unwrap_or_else(|error| panic!("{what}: packet {i}: {error}"));
        let place = |what: &str| format!("{what}: packet {i}: {wanted:?}, {packet:02x?}\n{}", disassemble(program.module()));
        if tried.action == ABORTED && resizes(program) && !matches!(wanted, Disposition::Trap(_)) {
            // The kernel has no packets shorter than an Ethernet header, and little room before and
            // behind them.
            return true;
        }
        assert_eq!(tried.action, action(wanted), "{}", place(what));
        if let Disposition::Port(_) = wanted {
            assert_eq!(tried.packet, burst[0].bytes(), "{}", place(what));
        }
    }
    let lasting = made.maps.iter().position(|map| map.name == ebpf::STATE);
    if let Some(at) = lasting.filter(|_| ready && !program.is_filter()) {
        let kept = loaded.map(at, made.maps[at].data.len()).unwrap();
        let kept = &kept[ebpf::MEMORY_AT as usize..];
        assert_eq!(&kept[..state.data.len()], &state.data[..], "{what}: data memory\n{}", disassemble(program.module()));
    }
    for (table, declared) in state.tables.iter().zip(&program.module().tables).filter(|_| ready && !program.is_filter()) {
        let name: String = declared.name.chars().take(15).collect();
        let Some(at) = made.maps.iter().position(|map| map.name == name) else {
            let none = match declared.kind {
                TableKind::Exact => false,
                TableKind::Prefix => declared.timeout_ns > 0,
                TableKind::Ternary | TableKind::Range => true,
            };
            assert!(none, "{what}: no map for {name}");
            continue;
        };
        let wanted: Vec<_> = table.entries(now).into_iter().map(|e| (map_key(declared, &e), e.value.to_vec())).collect();
        let wanted: BTreeMap<_, _> = wanted.into_iter().collect();
        assert_eq!(in_map(&loaded, at, declared, now), wanted, "{what}: table {}\n{}", declared.name, disassemble(program.module()));
    }
    true
}

/// The verifier's words for what takes it too long.
fn gives_up(error: &str) -> bool {
    ["too complex", "program is too large", "Argument list too long", "Cannot allocate memory"].iter().any(|words| error.contains(words))
}

/// Whether a program moves the ends of packets.
fn resizes(program: &Verified) -> bool {
    let code = &program.module().handler(HandlerKind::Push).expect("a push handler").code;
    code.iter().any(|inst| matches!(inst.op, Op::PktPull | Op::PktPush | Op::PktTrim | Op::PktGrow | Op::PktUnpull))
}

/// When the first packet comes, and how much later each other.
const FIRST_NS: u64 = 1_700_000_000_000_000_000;
const STEP_NS: u64 = 700_000_000;
/// What a run may spend: interpreted loops are slow.
const BUDGET: u32 = 2000;

/// The time that the next packet comes at.
fn set_clock(loaded: &bpf::Program, made: &Program, now: u64) {
    let Some(at) = made.maps.iter().position(|map| map.name == ebpf::STATE) else { return };
    let mut state = loaded.map(at, made.maps[at].data.len()).unwrap();
    state[ebpf::CLOCK_AT as usize..][..8].copy_from_slice(&now.to_le_bytes());
    state[ebpf::BUDGET_AT as usize..][..8].copy_from_slice(&u64::from(BUDGET).to_le_bytes());
    loaded.update(at, &[0; 4], &state).unwrap();
}

/// The live entries of a table's map, without times of last use.
fn in_map(loaded: &bpf::Program, at: usize, declared: &Table, now: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let (timeout, bytes) = (declared.timeout_ns, declared.value_bytes as usize);
    let entries = loaded.entries(at).unwrap().into_iter();
    let live = entries.filter(|(_, value)| timeout == 0 || is_live(timeout, u64::from_le_bytes(value[..8].try_into().unwrap()), now));
    live.map(|(key, value)| (key, if timeout == 0 { value[..bytes].to_vec() } else { value[8..8 + bytes].to_vec() })).collect()
}

/// The key of an entry as the map has it.
fn map_key(declared: &Table, entry: &Entry) -> Vec<u8> {
    let limbs: Vec<u8> = entry.key.iter().flat_map(|limb| limb.to_le_bytes()).collect();
    if declared.kind == TableKind::Exact {
        return limbs;
    }
    let length: u32 = entry.mask.iter().map(|limb| limb.count_ones()).sum();
    length.to_le_bytes().into_iter().chain(limbs[..usize::from(declared.key_bits) / 8].iter().rev().copied()).collect()
}

fn ports_apart(program: &Verified) -> Options {
    let ports =
        program.module().all_ports().iter().map(|(id, _)| (*id, if id % 2 == 0 { Action::Pass } else { Action::Transmit })).collect();
    Options { ports, trap: Action::Aborted, world: World::Map, ..Options::default() }
}

/// Modules that the generator makes: each is refused with a reason, or the kernel takes it and it
/// does what the interpreter does.
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
        // Such a table forgets another entry when it is full, where netvm's takes no new one.
        if program.module().tables.iter().any(|table| table.timeout_ns > 0 && table.capacity < 64) {
            continue;
        }
        match ebpf::compile(&program, &ports_apart(&program)) {
            Ok(compiled) => {
                let packets: Vec<_> =
                    (0..12).map(|n| arbitrary::seeded_packet(seed ^ n)).filter(|p| bpf::TESTED.contains(&p.len())).collect();
                match runs_alike(&format!("seed {seed}"), &program, &compiled, &packets) {
                    true => made += 1,
                    false => *refused.entry("the kernel's verifier gives up".to_owned()).or_default() += 1,
                }
            }
            Err(why) => *refused.entry(why.reason.split(|c: char| c.is_ascii_digit()).next().unwrap().to_owned()).or_default() += 1,
        }
    }
    println!("{made} of {count} made, refused: {refused:#?}");
    assert!(made * 8 > count, "{made} of {count}");
}

/// Programs that decide much by few fields: many ways that meet again, which the kernel's verifier
/// must not follow one by one.
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
            assert!(runs_alike(&format!("decisions {seed}"), &program, &compiled, &packets), "decisions {seed} have no loops");
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
    let (first, count) = (number("NETVM_SEED", 1), number("NETVM_CASES", 100));
    let packets: Vec<_> = support::packets().into_iter().filter(|p| bpf::TESTED.contains(&p.len())).collect();
    let (mut made, mut refused) = (0, BTreeMap::<String, u64>::new());
    for seed in first..first + count {
        let program = support::program(&support::RandomFilter::text(seed));
        match ebpf::compile(&program, &ports_apart(&program)) {
            Ok(compiled) => match runs_alike(&format!("filter {seed}"), &program, &compiled, &packets) {
                true => made += 1,
                false => *refused.entry("the kernel's verifier gives up".to_owned()).or_default() += 1,
            },
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
