//! Runs a program on both engines and says what differs.

use netil::Engine;
use netil::arbitrary::{mixer, seeded_packet};
use netil::exec::{CloneOut, Disposition, ExchangeBuffer, Outcome, Packets, Selection, State};
use netil::module::{Entry, HandlerKind};
use netil::{Interpreter, Verified};
use netvm_jit::JitEngine;
use std::sync::Arc;

/// Packets that one program sees one by one.
const PACKETS: u64 = 6;

/// A packet after its run: bytes, info memory, whether it is there, how far its head has moved, its
/// time.
type After = (Vec<u8>, Vec<u8>, bool, u32, u64);

/// All that one engine's run of a program shows.
struct Seen {
    init: Result<(), Disposition>,
    dispositions: Vec<Disposition>,
    packets: Vec<After>,
    clones: Vec<(u32, u32, Vec<u8>, Vec<u8>)>,
    data: Vec<u8>,
    shared: Vec<u8>,
    exceptions: Vec<u32>,
    coprocessors: Vec<(Vec<u32>, u64)>,
    tables: Vec<Vec<Entry>>,
    timers: Vec<u64>,
    held: Vec<(u32, Vec<u8>, u32)>,
}

impl Seen {
    /// The first part that differs.
    fn difference(&self, other: &Self) -> Option<String> {
        fn differ<T: PartialEq + std::fmt::Debug>(what: &str, a: &T, b: &T) -> Option<String> {
            (a != b).then(|| format!("{what}\n  interpreter {a:02x?}\n  jit         {b:02x?}"))
        }
        let each = |i: usize| differ("packet", &(i, self.packets.get(i)), &(i, other.packets.get(i)));
        differ("init", &self.init, &other.init)
            .or_else(|| differ("dispositions", &self.dispositions, &other.dispositions))
            .or_else(|| (0..self.packets.len()).find_map(each))
            .or_else(|| differ("clones", &self.clones, &other.clones))
            .or_else(|| differ("data", &self.data, &other.data))
            .or_else(|| differ("shared", &self.shared, &other.shared))
            .or_else(|| differ("exceptions", &self.exceptions, &other.exceptions))
            .or_else(|| differ("coprocessors", &self.coprocessors, &other.coprocessors))
            .or_else(|| differ("tables", &self.tables, &other.tables))
            .or_else(|| differ("timers", &self.timers, &other.timers))
            .or_else(|| differ("held packets", &self.held, &other.held))
    }
}

fn run(engine: &mut dyn Engine, seed: u64, packet: fn(u64) -> Vec<u8>) -> Seen {
    let program = Arc::clone(engine.program());
    let mut state = State::new(&program, &mixer).unwrap();
    state.seed = seed;
    state.budget = 200;
    let init = engine.init(&mut state);
    let (mut dispositions, mut packets, mut clones) = (Vec::new(), Vec::new(), Vec::new());
    for kind in [HandlerKind::Push, HandlerKind::Pull] {
        if program.handler(kind).is_none() {
            continue;
        }
        for queue in &mut state.inputs {
            queue.push_back(ExchangeBuffer::borrowed(&seeded_packet(seed ^ 77)).into_owned());
        }
        let bytes: Vec<Vec<u8>> = (0..PACKETS).map(|i| packet(seed.wrapping_mul(PACKETS + 1) + i)).collect();
        let mut burst: Vec<ExchangeBuffer<'_>> = bytes.iter().map(|b| buffer(b, kind, seed)).collect();
        let mut out = Outcome::default();
        engine.run(kind, &mut burst, &mut state, &mut out);
        dispositions.extend(out.dispositions);
        packets.extend(burst.iter().map(|b| (b.bytes().to_vec(), b.info.clone(), b.is_present(), b.moved(), b.time_ns)));
        clones.extend(out.clones.iter().map(|c: &CloneOut| (c.source, c.port, c.buffer.bytes().to_vec(), c.buffer.info.clone())));
    }
    let coprocessors = state.coprocessors.iter().map(|c| (c.registers.to_vec(), c.unit.fingerprint())).collect();
    Seen {
        init,
        dispositions,
        packets,
        clones,
        tables: state.tables.iter().map(|t| t.entries(0)).collect(),
        timers: state.timers.to_vec(),
        held: state.held.iter().map(|(queue, p)| (queue, p.bytes().to_vec(), p.moved())).collect(),
        data: state.data,
        shared: state.shared,
        exceptions: state.exceptions.to_vec(),
        coprocessors,
    }
}

fn buffer(bytes: &[u8], kind: HandlerKind, seed: u64) -> ExchangeBuffer<'_> {
    let mut b = if kind == HandlerKind::Pull { ExchangeBuffer::none() } else { ExchangeBuffer::borrowed(bytes) };
    b.port = 0;
    b.time_ns = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    b.missing = 11;
    b
}

/// What the JIT does otherwise than the interpreter on the packets of that seed.
pub fn compare(jit: JitEngine, seed: u64) -> Result<(), String> {
    compare_on(jit, seed, seeded_packet)
}

/// What the JIT does otherwise than the interpreter on packets that `packet` makes of that seed.
pub fn compare_on(mut jit: JitEngine, seed: u64, packet: fn(u64) -> Vec<u8>) -> Result<(), String> {
    let program = &Arc::clone(jit.program());
    let mut interpreter = Interpreter::new(Arc::clone(program));
    let (wanted, got) = (run(&mut interpreter, seed, packet), run(&mut jit, seed, packet));
    if let Some(what) = wanted.difference(&got) {
        return Err(what);
    }
    if program.is_filter() { compare_selection(program, seed, &mut interpreter, &mut jit, packet) } else { Ok(()) }
}

fn compare_selection(
    program: &Arc<Verified>,
    seed: u64,
    interpreter: &mut Interpreter,
    jit: &mut JitEngine,
    packet: fn(u64) -> Vec<u8>,
) -> Result<(), String> {
    let bytes: Vec<Vec<u8>> = (0..130).map(|i| packet(seed + i)).collect();
    let frames: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    let wire_len: Vec<u32> = frames.iter().map(|f| f.len() as u32 + 3).collect();
    let time_ns: Vec<u64> = (0..130u64).map(|i| i * 1_234_567_891).collect();
    for n in [0, 1, 63, 64, 65, 130] {
        let packets = Packets { frames: &frames[..n], wire_len: &wire_len[..n], time_ns: &time_ns[..n] };
        let (mut wanted, mut got) = (Selection::default(), Selection::default());
        let mut state = State::new(program, &mixer).unwrap();
        state.budget = 200;
        interpreter.select(&packets, &mut state, &mut wanted);
        Engine::select(jit, &packets, &mut state, &mut got);
        if wanted != got {
            return Err(format!("selection of {n} packets\n  interpreter {wanted:x?}\n  jit         {got:x?}"));
        }
    }
    Ok(())
}

/// The seeds to try: `NETVM_CASES` of them from `NETVM_SEED`.
pub fn cases(default: u64) -> std::ops::Range<u64> {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let first = number("NETVM_SEED", 0);
    first..first + number("NETVM_CASES", default)
}
