//! What a hostile program asks of the compiler, and a caller of compiled code: an answer in bounded
//! time, memory and stack, the interpreter's.

use netil::Engine;
use netil::arbitrary::mixer;
use netil::asm::assemble;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, Packets, Selection, State, Trap, TrapKind};
use netil::module::{Extra, Handler, HandlerKind, Inst, Module, Switch};
use netil::set::{Range, Set};
use netil::table::{Op, Space};
use netil::{Interpreter, Verified, verify};
use netvm_jit::{JitEngine, JitError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

fn program(text: &str) -> Arc<Verified> {
    Arc::new(verify(assemble(text, "test").unwrap()).unwrap())
}

fn push(code: Vec<Inst>, max_stack: u32) -> Module {
    Module { push: Some(Handler { code, max_stack, ..Handler::default() }), ..Module::default() }
}

fn verified(module: Module) -> Arc<Verified> {
    Arc::new(verify(module).unwrap_or_else(|e| panic!("{}", e[0])))
}

/// For how long the calling thread has been on a core: however busy the machine is, that is what
/// the work takes. Elsewhere than on Linux, the time since the first call.
fn worked() -> Duration {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    let own = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = own.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| BEGUN.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

/// Compiles, or says that the program is too large, within a time on a core that leaves room for a
/// debug build.
fn soon(what: &str, module: Module) -> Result<JitEngine, JitError> {
    let program = verified(module);
    let start = worked();
    let mut result = JitEngine::new(Arc::clone(&program));
    // Handlers that are no filters are compiled when they are first run.
    if let (Ok(engine), false) = (&mut result, program.is_filter()) {
        run_one(engine, &mut State::new(&program, &|_| None).unwrap(), ExchangeBuffer::borrowed(&[0; 64]));
    }
    let time = worked().saturating_sub(start);
    println!("{what}: {time:?} {}", result.as_ref().err().map_or("compiled".to_owned(), |e| e.to_string()));
    assert!(time < Duration::from_secs(20), "{what} took {time:?}");
    result
}

fn run_one(engine: &mut dyn Engine, state: &mut State, buffer: ExchangeBuffer<'_>) -> Disposition {
    let mut out = Outcome::default();
    engine.run(HandlerKind::Push, &mut [buffer], state, &mut out);
    out.dispositions[0]
}

fn switch(n: u32, target: impl Fn(u32) -> u32, default: u32) -> Inst {
    let cases = (0..n).map(|k| (k.wrapping_mul(0x9e37_79b1), target(k))).collect();
    Inst { op: Op::Switch, imm: [0; 3], extra: Extra::Switch(Box::new(Switch { default, cases })) }
}

#[test]
fn many_results_of_one_instruction() {
    let mut code = vec![Inst::new(Op::PushC0); 255];
    code.extend(vec![Inst::with(Op::XFindBit, 255); 500_000]);
    code.push(Inst::with(Op::Exit, 0));
    assert!(soon("xfind.bit", push(code, 256)).is_err());
}

#[test]
fn large_switches() {
    for n in [1_000, 10_000, 120_000, 600_000] {
        // All to one block with a parameter that another path also enters.
        let again = Inst::with(Op::JCmpEq, 2);
        let code = vec![
            Inst::new(Op::Dup),
            switch(n, |_| 2, 2),
            Inst::new(Op::Inc1),
            Inst::new(Op::Dup),
            Inst::new(Op::PushC0),
            again,
            Inst::new(Op::Ret),
        ];
        let _ = soon(&format!("switch of {n} to one"), push(code, 4));
        // Each to its own.
        let mut code = vec![Inst::new(Op::Dup), switch(n, |k| 2 + 2 * k, 2)];
        code.extend((0..n).flat_map(|k| [Inst::new(Op::Inc1), Inst::with(Op::JumpW, 2 + 2 * n + k % 2)]));
        code.extend([Inst::new(Op::Ret), Inst::new(Op::Ret)]);
        if code.len() <= 1 << 20 {
            let _ = soon(&format!("switch of {n} to as many"), push(code, 3));
        }
    }
    let mut deep = vec![Inst::new(Op::PushC0); 200];
    deep.extend([Inst::new(Op::PushC0), switch(300_000, |_| 202, 202), Inst::with(Op::Exit, 0)]);
    assert!(soon("switch with a deep stack", push(deep, 202)).is_err());
}

#[test]
fn long_straight_code() {
    // Loads that share nothing, each with a check.
    for n in [3_000, 10_000, 200_000] {
        let mut code: Vec<Inst> = (0..n).flat_map(|k| [Inst::with(Op::Push, k * 3), Inst::new(Op::SpLoad32), Inst::new(Op::Xor)]).collect();
        code.extend([Inst::new(Op::Ret)]);
        let _ = soon(&format!("{n} loads"), push(code, 3));
        // Equality tests whose constants are swapped.
        let one =
            |k| [Inst::with(Op::Push, k % 4096), Inst::new(Op::SpLoad32), Inst::with(Op::Push, k), Inst::new(Op::Cmp), Inst::new(Op::Xor)];
        let mut code: Vec<Inst> = (0..n).flat_map(one).collect();
        code.push(Inst::new(Op::Ret));
        let _ = soon(&format!("{n} comparisons"), push(code, 3));
    }
}

#[test]
fn many_branches() {
    for n in [3_000, 10_000, 200_000] {
        let one = |k: u32| [Inst::with(Op::Push, k % 60_000), Inst::new(Op::UpLoad8), Inst::with(Op::JEq, 4 * n)];
        let mut code: Vec<Inst> = (0..n).flat_map(|k| one(k).into_iter().chain([Inst::new(Op::Inc1)])).collect();
        code.extend([Inst::new(Op::Ret)]);
        let _ = soon(&format!("{n} branches"), push(code, 4));
    }
}

/// Chains of equalities that are neither a switch nor a set, and tests of a large set by many
/// values.
#[test]
fn long_chains() {
    for n in [10_000, 40_000] {
        // Of one value, to two places in turn.
        let one = |k: u32| [Inst::new(Op::Dup), Inst::with(Op::Push, 3 * k), Inst::with(Op::JCmpEq, 3 * n + k % 2)];
        let code: Vec<Inst> = (0..n).flat_map(one).chain([Inst::with(Op::Exit, 0), Inst::with(Op::Exit, 1)]).collect();
        let _ = soon(&format!("chain of {n}"), push(code, 4));
        // Each of another value, all to one place.
        let n = n / 2;
        let set = Set::of_ranges("s", 32, (0..4000).map(|i| (i * 1000, i * 1000 + i % 7))).unwrap();
        let test = |k: u32| {
            [Inst::new(Op::Dup), Inst::with(Op::Push, k), Inst::new(Op::Xor), Inst::with(Op::SetHas, 0), Inst::with(Op::JNe, 5 * n + 1)]
        };
        let code: Vec<Inst> = (0..n).flat_map(test).chain([Inst::with(Op::Exit, 0), Inst::with(Op::Exit, 1)]).collect();
        let _ = soon(&format!("{n} values in one set"), Module { sets: vec![set], ..push(code, 4) });
    }
}

/// All values of a first round are used again in a second: numbering keeps them alive in between.
fn long_lives(n: u32, op: Op) -> Module {
    let round = |add: Op| (0..n).flat_map(move |k| [Inst::with(Op::Push, k), Inst::new(op), Inst::new(Op::Hash32), Inst::new(add)]);
    let mut code: Vec<Inst> = round(Op::Xor).chain(round(Op::Add)).collect();
    code.push(Inst::new(Op::Ret));
    push(code, 3)
}

#[test]
fn frames_fit_small_stacks() {
    for n in [1_000, 4_000, 10_000] {
        let Ok(mut engine) = soon(&format!("{n} long lives"), long_lives(n, Op::SpLoad32)) else { continue };
        // A quarter of what threads are given.
        let run = move || {
            let mut state = State::plain(&Arc::clone(engine.program())).unwrap();
            run_one(&mut engine, &mut state, ExchangeBuffer::borrowed(&[1; 65_535]))
        };
        std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap().join().unwrap();
    }
}

#[test]
fn many_tests_of_a_large_set() {
    let ranges = (0..300_000u64).map(|i| i * 7919 % (1 << 32)).map(|v| (v, v + i64::from(v % 3 == 0) as u64));
    let set = Set::of_ranges("s", 33, ranges).unwrap();
    let one = |k| {
        [Inst::with(Op::Push, k), Inst::new(Op::SpLoad32), Inst::with2(Op::WZext, 32, 33), Inst::with(Op::SetHas, 0), Inst::new(Op::Xor)]
    };
    let mut code: Vec<Inst> = (0..3000).flat_map(one).collect();
    code.push(Inst::new(Op::Ret));
    assert!(soon("set tests", Module { sets: vec![set], ..push(code, 3) }).is_ok());
}

#[test]
fn wide_values_everywhere() {
    let wide = |v: u64| Box::new([v; 32]) as Box<[u64]>;
    let constant = |v| Inst { op: Op::WPush, imm: [2048, 0, 0], extra: Extra::Const(wide(v)) };
    for n in [50, 60_000] {
        let mut code = vec![constant(1)];
        code.extend((0..n).flat_map(|k| [constant(k), Inst::with(Op::WMul, 2048)]));
        code.push(Inst::with(Op::Exit, 0));
        let _ = soon(&format!("{n} wide products"), push(code, 3));
    }
    let range = Range { low: wide(0), high: wide(5) };
    let set = Set::new("w", 2048, vec![range]).unwrap();
    let code = vec![constant(3), Inst::with(Op::SetHas, 0), Inst::new(Op::Ret)];
    assert!(soon("wide set", Module { sets: vec![set], ..push(code, 2) }).is_ok());
}

#[test]
fn calls_in_calls() {
    // 15 levels, each calling the next twice.
    let mut code = Vec::new();
    for level in 0..14u32 {
        let next = (level + 1) * 4;
        code.extend([Inst::new(Op::Inc1), Inst::with(Op::CallW, next), Inst::with(Op::CallW, next), Inst::new(Op::Ret)]);
    }
    code.extend([Inst::new(Op::Inc1), Inst::new(Op::Ret)]);
    let _ = soon("calls", push(code, 1));
}

/// What a run with that budget leaves: disposition, packet, info memory, data, shared memory,
/// clones.
fn left(engine: &mut dyn Engine, budget: u32) -> impl PartialEq + std::fmt::Debug + use<> {
    let mut state = State::new(&Arc::clone(engine.program()), &mixer).unwrap();
    state.budget = budget;
    [&mut state.data, &mut state.shared].into_iter().flatten().enumerate().for_each(|(i, b)| *b = i as u8);
    let packet: Vec<u8> = (0..600).map(|i| (i / 3) as u8).collect();
    let (mut burst, mut out) = ([ExchangeBuffer::borrowed(&packet)], Outcome::default());
    engine.run(HandlerKind::Push, &mut burst, &mut state, &mut out);
    let clones: Vec<Vec<u8>> = out.clones.iter().map(|c| c.buffer.bytes().to_vec()).collect();
    let memories = [burst[0].bytes().to_vec(), burst[0].info.clone(), state.data, state.shared];
    (out.dispositions[0], memories, clones, state.coprocessors[0].unit.fingerprint())
}

#[test]
fn bulk_instructions_are_paid_for_alike() {
    let bodies = [
        "inc1 dup push 0 push 600 dpcopy",
        "inc1 dup push 0 push 500 ppcopy",
        "inc1 push 0 push 3 push 700 dscopy",
        "inc1 dup push 0 push 300 jfield.gt again",
        "inc1 dup push 400 chksum.calc pop",
        "inc1 push 0 push 600 chksum.jump again",
        "inc1 dup push 300 crc.calcpkt 2 pop",
        "inc1 dup push 0xc7 pscan.8 push 9 jcmp.l again",
        "info.clr pkt.senddup 1",
        "push 300 exbuf.create pkt.senddup 1",
        "push 90 pkt.push push 200 pkt.grow",
        "push 290 pkt.grow push 280 pkt.pull",
        "copro.exbuf lookup, 0 copro.invoke lookup, 1 copro.invoke lookup, 2",
    ];
    for body in bodies {
        let program = program(&format!(
            "segment .metadata .datamem_size 1000 .info_size 300 .use_coprocessor lookup ends
             segment .init .maxstacksize 0 set.share 1000 exit 0 ends
             segment .push .maxstacksize 8 again: {body} jump again ends"
        ));
        let (mut interpreter, mut jit) = (Interpreter::new(Arc::clone(&program)), JitEngine::new(program).unwrap());
        for budget in (0..60).chain([1000]) {
            let (wanted, got) = (left(&mut interpreter, budget), left(&mut jit, budget));
            assert_eq!(wanted, got, "{body} with {budget}");
        }
    }
}

#[test]
fn filters_pay_for_each_packet_anew() {
    let (short, long) = ([1; 60], [1; 1000]);
    let frames = [&short[..], &long, &short, &long, &short];
    let packets = Packets { frames: &frames, wire_len: &[], time_ns: &[] };
    let text = "segment .push .locals 1 .maxstacksize 4 pop push 30 locstore 0
        again: push 0 pbl chksum.calc pop locload 0 dec1 dup locstore 0 push 0 jcmp.neq again ret 1 ends";
    let program = program(text);
    assert!(program.is_filter());
    let selected = |engine: &mut dyn Engine| {
        let (mut state, mut out) = (State::plain(&program).unwrap(), Selection::default());
        // 29 branches, and 30 checksums of 1 or of 4 pieces.
        state.budget = 59;
        engine.select(&packets, &mut state, &mut out);
        out.bits
    };
    assert_eq!(selected(&mut Interpreter::new(Arc::clone(&program))), [0b10101]);
    assert_eq!(selected(&mut JitEngine::new(Arc::clone(&program)).unwrap()), [0b10101]);
}

/// Without a branch nothing but the checksum takes from the budget.
#[test]
fn filters_pay_for_bulk_instructions_anew() {
    let frames = [&[1; 1000][..]; 3];
    let packets = Packets { frames: &frames, wire_len: &[], time_ns: &[] };
    let program = program("segment .push .maxstacksize 4 pop push 0 pbl chksum.calc pop ret 1 ends");
    for (budget, wanted) in [(4, 0b111), (3, 0)] {
        for engine in [&mut Interpreter::new(Arc::clone(&program)) as &mut dyn Engine, &mut JitEngine::new(Arc::clone(&program)).unwrap()] {
            let (mut state, mut out) = (State::plain(&program).unwrap(), Selection::default());
            state.budget = budget;
            engine.select(&packets, &mut state, &mut out);
            assert_eq!(out.bits, [wanted], "{} with {budget}", engine.name());
        }
    }
}

#[test]
fn long_copies_in_a_short_loop_end_soon() {
    let size = 64 << 20;
    let program = program(&format!(
        "segment .metadata .datamem_size {size} ends segment .init .maxstacksize 0 set.share {size} exit 0 ends
         segment .push .maxstacksize 8 pop again: push 0 push 0 push {size} dscopy jump again ends"
    ));
    let mut state = State::plain(&program).unwrap();
    let mut jit = JitEngine::new(program).unwrap();
    let start = worked();
    let disposition = run_one(&mut jit, &mut state, ExchangeBuffer::borrowed(&[0; 60]));
    let time = worked().saturating_sub(start);
    assert!(time < Duration::from_secs(20), "{time:?}");
    assert_eq!(disposition, Disposition::Trap(Trap { kind: TrapKind::Budget, handler: HandlerKind::Push, inst: 4 }));
}

#[test]
fn a_state_of_another_program_is_fitted() {
    let text = "segment .metadata .datamem_size 65536 .use_coprocessor lookup ends
        segment .init .maxstacksize 4 set.share 65536 ret ends
        segment .push .maxstacksize 4 pop push 7 push 65535 mstore.8 push 7 push 65535 sstore.8 copro.invoke lookup, 0 ret ends";
    let (wide, narrow) = (program(text), program("segment .push .maxstacksize 4 ret 1 ends"));
    let mut state = State::plain(&narrow).unwrap();
    let missing = TrapKind::Coprocessor(0, netil::copro::CoproError::NotInitialised);
    let trap = Disposition::Trap(Trap { kind: missing, handler: HandlerKind::Push, inst: 7 });
    let mut jit = JitEngine::new(wide).unwrap();
    assert_eq!(run_one(&mut jit, &mut state, ExchangeBuffer::borrowed(&[0; 60])), trap);
    assert_eq!((state.data[65535], state.shared[65535]), (7, 7));
}

#[test]
fn memories_taken_away_or_made_larger() {
    let text = "segment .metadata .datamem_size 8 .info_size 4 ends
        segment .push .maxstacksize 4 pop push 0 upload.8 umload.8 push 1 push 0 istore.8 ret ends";
    let program = program(text);
    let mut interpreter = Interpreter::new(Arc::clone(&program));
    let mut jit = JitEngine::new(Arc::clone(&program)).unwrap();
    for (size, packet, inputs) in [(0, [7u8], 0), (100, [7], 1), (100, [8], 0), (3, [255], 5)] {
        let seen = [&mut interpreter as &mut dyn Engine, &mut jit].map(|engine| {
            let mut state = State::plain(&program).unwrap();
            state.data = vec![1; size];
            state.inputs.truncate(inputs);
            let mut buffer = ExchangeBuffer::borrowed(&packet);
            buffer.info = vec![9; size];
            (run_one(engine, &mut state, buffer), state.data)
        });
        assert_eq!(seen[0], seen[1], "{size} {packet:?}");
    }
}

#[test]
fn what_is_pushed_may_be_nothing() {
    let program = program("segment .push .maxstacksize 4 ret 1 ends");
    let mut state = State::plain(&program).unwrap();
    let trap = Trap { kind: TrapKind::NoPacket, handler: HandlerKind::Push, inst: 0 };
    let mut jit = JitEngine::new(program).unwrap();
    assert_eq!(run_one(&mut jit, &mut state, ExchangeBuffer::none()), Disposition::Trap(trap));
}

#[test]
fn what_was_given_up_is_not_sent() {
    let program = program("segment .push .maxstacksize 4 pop exbuf.delete ret 1 ends");
    let trap = Disposition::Trap(Trap { kind: TrapKind::NoPacket, handler: HandlerKind::Push, inst: 3 });
    for engine in [&mut Interpreter::new(Arc::clone(&program)) as &mut dyn Engine, &mut JitEngine::new(Arc::clone(&program)).unwrap()] {
        let mut state = State::plain(&program).unwrap();
        assert_eq!(run_one(engine, &mut state, ExchangeBuffer::borrowed(&[0; 60])), trap, "{}", engine.name());
    }
}

/// What both engines select.
fn selected(text: &str, packets: &Packets<'_>) -> Selection {
    let program = program(text);
    assert!(program.is_filter());
    let (mut wanted, mut got) = (Selection::default(), Selection::default());
    let mut state = State::plain(&program).unwrap();
    Interpreter::new(Arc::clone(&program)).select(packets, &mut state, &mut wanted);
    JitEngine::new(program).unwrap().select(packets, &mut state, &mut got);
    assert_eq!(wanted, got, "{text}");
    got
}

#[test]
fn frames_of_more_than_32_bits() {
    let bytes = vec![0; (1 << 32) + 100];
    let frames = [&bytes[..], &bytes[..u32::MAX as usize], &bytes[..100]];
    let packets = Packets { frames: &frames, wire_len: &[], time_ns: &[] };
    let long = selected("segment .push .maxstacksize 4 pop pbl push 101 jcmp.g yes ret 0 yes: ret 1 ends", &packets);
    assert_eq!(long.bits, [0b011]);
    let last = selected("segment .push .maxstacksize 4 pop push 0xfffffffe upload.8 pop ret 1 ends", &packets);
    assert_eq!(last.bits, [0b011]);
    let over = selected("segment .push .maxstacksize 4 pop push 0xfffffffe upload.16 pop ret 1 ends", &packets);
    assert_eq!(over.bits, [0]);
    let wire = selected("segment .push .maxstacksize 4 pop pbl.orig push 0xffffffff jcmp.eq yes ret 0 yes: ret 1 ends", &packets);
    assert_eq!(wire.bits, [0b011]);
}

#[test]
fn lengths_and_times_given_for_some_packets() {
    let frames = [&[0u8; 60][..]; 70];
    let (wire_len, time_ns) = ([1500; 3], [1_700_000_000_000_000_000; 2]);
    let packets = Packets { frames: &frames, wire_len: &wire_len, time_ns: &time_ns };
    let long = selected("segment .push .maxstacksize 4 pop pbl.orig push 60 jcmp.g yes ret 0 yes: ret 1 ends", &packets);
    assert_eq!(long.bits, [7, 0]);
    let late = selected("segment .push .maxstacksize 4 pop tstamp_s push 0 jcmp.g yes ret 0 yes: ret 1 ends", &packets);
    assert_eq!(late.bits, [3, 0]);
}

#[test]
fn the_last_address_of_a_packet() {
    let text = "segment .push .maxstacksize 4 pop push 0xffffffff upload.8 ret ends";
    let program = program(text);
    let mut state = State::plain(&program).unwrap();
    let trap = Trap { kind: TrapKind::OutOfBounds(Space::Packet), handler: HandlerKind::Push, inst: 2 };
    let mut jit = JitEngine::new(program).unwrap();
    assert_eq!(run_one(&mut jit, &mut state, ExchangeBuffer::borrowed(&[0; 60])), Disposition::Trap(trap));
}

/// A packet grown to 65,000 bytes and copied without end: 32 copies, then a trap, in each engine.
#[test]
fn bytes_of_copies_are_bounded() {
    let program = program("segment .push .maxstacksize 4 pop push 64940 pkt.grow again: pkt.senddup 1 jump again ends");
    let mut engines: [Box<dyn Engine>; 2] =
        [Box::new(Interpreter::new(Arc::clone(&program))), Box::new(JitEngine::new(Arc::clone(&program)).unwrap())];
    for engine in &mut engines {
        let (mut state, mut out) = (State::plain(&program).unwrap(), Outcome::default());
        let mut burst = [ExchangeBuffer::borrowed(&[0; 60]), ExchangeBuffer::borrowed(&[0; 60])];
        engine.run(HandlerKind::Push, &mut burst, &mut state, &mut out);
        let trap = Disposition::Trap(Trap { kind: TrapKind::Copies, handler: HandlerKind::Push, inst: 3 });
        assert_eq!((out.dispositions.as_slice(), out.clones.len()), (&[trap; 2][..], 2 * 32));
    }
}
