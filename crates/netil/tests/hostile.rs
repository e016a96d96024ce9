//! What a hostile module, or a caller with the wrong state, asks for: an answer in bounded time and
//! memory, never a crash.

use netil::arbitrary::mixer;
use netil::asm::assemble;
use netil::exec::{Disposition, DropReason, ExchangeBuffer, MAX_COPIES, MAX_PACKET, Outcome, Packets, Selection, State, Trap, TrapKind};
use netil::module::{Extra, Handler, HandlerKind, InfoField, Inst, Label, Module, Port, PortKind, Switch};
use netil::set::Set;
use netil::table::{Op, Space};
use netil::{Interpreter, Verified, verify};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn program(text: &str) -> Arc<Verified> {
    Arc::new(verify(assemble(text, "test").unwrap()).unwrap())
}

fn push(code: Vec<Inst>, max_stack: u32) -> Module {
    Module { push: Some(Handler { code, max_stack, ..Handler::default() }), ..Module::default() }
}

/// Debug builds on a busy machine are slow; what these tests refuse took minutes, or all memory.
fn soon<T>(what: &str, f: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = f();
    let time = start.elapsed();
    assert!(time < Duration::from_secs(20), "{what} took {time:?}");
    result
}

fn run_one(program: &Arc<Verified>, state: &mut State, buffer: ExchangeBuffer<'_>) -> Disposition {
    let mut out = Outcome::default();
    Interpreter::new(Arc::clone(program)).run(HandlerKind::Push, &mut [buffer], state, &mut out);
    out.dispositions[0]
}

#[test]
fn a_packet_that_grows_and_shrinks_stays_small() {
    let mut b = ExchangeBuffer::borrowed(&[7; 60]);
    for _ in 0..30_000 {
        b.push(60_000).unwrap();
        b.trim(60_000).unwrap();
    }
    for _ in 0..30_000 {
        b.grow(60_000).unwrap();
        b.pull(60_000).unwrap();
    }
    let held = resident();
    assert!(held < 1 << 30, "{held} bytes resident");
    b.push(5).unwrap();
    b.grow(5).unwrap();
    assert_eq!(b.bytes(), [0; 70]);
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

#[test]
fn copies_are_bounded() {
    let program = program("segment .push .maxstacksize 4 pop again: pkt.senddup 1 jump again ends");
    let (mut state, mut out) = (State::plain(&program).unwrap(), Outcome::default());
    let bytes = vec![0; MAX_PACKET as usize];
    let mut burst = [ExchangeBuffer::borrowed(&bytes[..60]), ExchangeBuffer::borrowed(&bytes)];
    Interpreter::new(Arc::clone(&program)).run(HandlerKind::Push, &mut burst, &mut state, &mut out);
    let trap = Disposition::Trap(Trap { kind: TrapKind::Copies, handler: HandlerKind::Push, inst: 1 });
    assert_eq!(out.dispositions, [trap; 2]);
    // 32 of 65,535 bytes are almost 2 MiB.
    assert_eq!(out.clones.len(), MAX_COPIES as usize + 32);
}

/// Straight code, the index of its bulk instruction and what that costs with a packet of 600 bytes
/// and info memory of 300.
const BULK: [(&str, u32, u32); 17] = [
    ("push 0 push 0 push 600 dpcopy", 4, 3),
    ("push 0 push 0 push 600 pdcopy", 4, 3),
    ("push 0 push 1 push 257 ppcopy", 4, 2),
    ("push 0 push 0 push 256 dscopy", 4, 1),
    ("push 0 push 0 push 0 dscopy", 4, 0),
    ("push 0 push 300 push 300 jfield.eq next next:", 4, 2),
    ("push 0 push 600 chksum.calc", 3, 3),
    ("push 0 push 600 chksum.jump next next:", 3, 3),
    ("push 88 push 512 crc.calcpkt 0", 3, 2),
    ("push 0 push 7 pscan.8", 3, 3),
    ("push 100 push 7 pscan.32", 3, 2),
    ("info.clr", 1, 2),
    ("pkt.senddup 1", 1, 4),
    ("push 700 exbuf.create", 2, 4),
    ("push 200 pkt.push", 2, 4),
    ("push 170 pkt.grow", 2, 4),
    ("push 500 pkt.pull push 50 pkt.trim", 2, 0),
];

/// What a run leaves behind.
#[derive(Debug, PartialEq)]
struct Left {
    disposition: Disposition,
    packet: Vec<u8>,
    info: Vec<u8>,
    memories: [Vec<u8>; 2],
    clones: usize,
}

fn run_with(program: &Arc<Verified>, budget: u32) -> Left {
    let mut state = State::plain(program).unwrap();
    state.budget = budget;
    [&mut state.data, &mut state.shared].into_iter().flatten().enumerate().for_each(|(i, b)| *b = i as u8);
    let packet: Vec<u8> = (0..600).map(|i| (i / 3) as u8).collect();
    let (mut buffer, mut out) = (ExchangeBuffer::borrowed(&packet), Outcome::default());
    buffer.info = vec![9; 300];
    let mut burst = [buffer];
    Interpreter::new(Arc::clone(program)).run(HandlerKind::Push, &mut burst, &mut state, &mut out);
    let [buffer] = burst;
    Left {
        disposition: out.dispositions[0],
        packet: buffer.bytes().to_vec(),
        info: buffer.info,
        memories: [state.data, state.shared],
        clones: out.clones.len(),
    }
}

#[test]
fn bulk_instructions_pay_before_they_act() {
    for (code, inst, price) in BULK {
        let text = |code: &str| {
            program(&format!(
                "segment .metadata .datamem_size 1000 .info_size 300 ends segment .init .maxstacksize 0 set.share 1000 exit 0 ends
                 segment .push .maxstacksize 8 pop {code} exit 7 ends"
            ))
        };
        let (full, nothing) = (text(code), text(""));
        assert_eq!(run_with(&full, price).disposition, Disposition::Drop(DropReason::Program(7)), "{code}");
        if price > 0 {
            let trap = Disposition::Trap(Trap { kind: TrapKind::Budget, handler: HandlerKind::Push, inst });
            assert_eq!(run_with(&full, price - 1), Left { disposition: trap, ..run_with(&nothing, 0) }, "{code}");
        }
    }
}

#[test]
fn bounds_come_before_the_price() {
    for (code, inst) in [("push 0 push 1 push 600 ppcopy", 4), ("push 1 push 600 chksum.calc", 3), ("push 600 push 7 pscan.8", 3)] {
        let program = program(&format!("segment .push .maxstacksize 8 pop {code} exit 7 ends"));
        let trap = Trap { kind: TrapKind::OutOfBounds(Space::Packet), handler: HandlerKind::Push, inst };
        assert_eq!(run_with(&program, 0).disposition, Disposition::Trap(trap), "{code}");
    }
}

#[test]
fn coprocessors_are_paid_for() {
    let text = "segment .metadata .use_coprocessor lookup ends segment .data x db 1, 2, 3 ends
        segment .init .maxstacksize 2 copro.init lookup, x ret ends
        segment .push .maxstacksize 2 pop copro.invoke lookup, 3 copro.exbuf lookup, 0 copro.invoke lookup, 2 exit 7 ends";
    let program = program(text);
    // The unit asks for a byte for each of the data's, and for the packet's as many times as the
    // operation's number says.
    let mut state = State::new(&program, &mixer).unwrap();
    let trap = |handler, inst| Disposition::Trap(Trap { kind: TrapKind::Budget, handler, inst });
    let mut run = |budget: u32, len: usize| {
        state.budget = budget;
        let before = state.coprocessors[0].unit.fingerprint();
        let init = Interpreter::new(Arc::clone(&program)).init(&mut state);
        (init, before == state.coprocessors[0].unit.fingerprint(), run_one(&program, &mut state, ExchangeBuffer::borrowed(&vec![0; len])))
    };
    assert_eq!(run(0, 0), (Err(trap(HandlerKind::Init, 0)), true, Disposition::Drop(DropReason::Program(7))));
    assert_eq!(run(4, 600), (Ok(()), false, trap(HandlerKind::Push, 3)));
    assert_eq!(run(5, 600).2, Disposition::Drop(DropReason::Program(7)));
}

#[test]
fn long_copies_in_a_short_loop_end_soon() {
    let size = 64 << 20;
    let program = program(&format!(
        "segment .metadata .datamem_size {size} ends segment .init .maxstacksize 0 set.share {size} exit 0 ends
         segment .push .maxstacksize 8 pop again: push 0 push 0 push {size} dscopy jump again ends"
    ));
    let mut state = State::plain(&program).unwrap();
    let disposition = soon("a loop of copies", || run_one(&program, &mut state, ExchangeBuffer::borrowed(&[0; 60])));
    assert_eq!(disposition, Disposition::Trap(Trap { kind: TrapKind::Budget, handler: HandlerKind::Push, inst: 4 }));
}

#[test]
fn a_state_of_another_program_is_fitted() {
    let text = "segment .metadata .datamem_size 4096 .use_coprocessor lookup ends
        segment .init .maxstacksize 0 set.share 4096 exit 0 ends
        segment .push .maxstacksize 4 pop push 7 push 4095 mstore.8 push 7 push 4095 sstore.8 copro.invoke lookup, 0 ret ends";
    let (wide, narrow) = (program(text), program("segment .push .maxstacksize 4 ret 1 ends"));
    let mut state = State::plain(&narrow).unwrap();
    let missing = TrapKind::Coprocessor(0, netil::copro::CoproError::NotInitialised);
    let trap = Disposition::Trap(Trap { kind: missing, handler: HandlerKind::Push, inst: 7 });
    assert_eq!(run_one(&wide, &mut state, ExchangeBuffer::borrowed(&[0; 60])), trap);
    assert_eq!((state.data.len(), state.shared.len(), state.data[4095], state.shared[4095]), (4096, 4096, 7, 7));
}

#[test]
fn a_larger_memory_than_declared_is_not_reached() {
    let text = "segment .metadata .datamem_size 8 ends segment .push .maxstacksize 4 upload.8 umload.8 ret ends";
    let program = program(text);
    let mut state = State::plain(&program).unwrap();
    state.data = vec![1; 100];
    let at = |state: &mut State, n: u8| run_one(&program, state, ExchangeBuffer::borrowed(&[n]));
    assert_eq!(at(&mut state, 7), Disposition::Port(1));
    let trap = Trap { kind: TrapKind::OutOfBounds(Space::Data), handler: HandlerKind::Push, inst: 1 };
    assert_eq!(at(&mut state, 8), Disposition::Trap(trap));
}

#[test]
fn init_may_end_with_any_value_on_the_stack() {
    let program = program("segment .init .maxstacksize 4 push 5 ret ends segment .push .maxstacksize 4 ret ends");
    let mut state = State::plain(&program).unwrap();
    assert_eq!(Interpreter::new(Arc::clone(&program)).init(&mut state), Ok(()));
}

#[test]
fn to_push_nothing_traps() {
    let program = program("segment .push .maxstacksize 4 ret 1 ends");
    let mut state = State::plain(&program).unwrap();
    let trap = Trap { kind: TrapKind::NoPacket, handler: HandlerKind::Push, inst: 0 };
    assert_eq!(run_one(&program, &mut state, ExchangeBuffer::none()), Disposition::Trap(trap));
}

#[test]
fn addresses_end_with_32_bits() {
    let bytes = vec![0; (1 << 32) + 100];
    let program = program("segment .push .maxstacksize 4 pop push 0 push 0xfffffffe upload.16 push 1 ret ends");
    let mut state = State::plain(&program).unwrap();
    let trap = Trap { kind: TrapKind::OutOfBounds(Space::Packet), handler: HandlerKind::Push, inst: 3 };
    assert_eq!(run_one(&program, &mut state, ExchangeBuffer::borrowed(&bytes)), Disposition::Trap(trap));
    let mut selection = Selection::default();
    let packets = Packets { frames: &[&bytes], wire_len: &[], time_ns: &[] };
    Interpreter::new(program).select(&packets, &mut state, &mut selection);
    assert_eq!(selection.count(), 0);
}

#[test]
fn a_long_port_name_is_not_copied_for_each_send() {
    let output = Port { name: "x".repeat(8 << 20), kind: PortKind::PushOutput };
    let mut code: Vec<Inst> =
        (0..200_000).flat_map(|_| [Inst::with(Op::Push, 1), Inst::with(Op::JEq, 0), Inst::with(Op::PktSend, 0)]).collect();
    let n = code.len() as u32;
    (0..n).filter(|i| i % 3 == 1).for_each(|i| code[i as usize].imm[0] = (i + 2) % n);
    let module = Module { ports: vec![output], ..push(code, 2) };
    soon("verification", || verify(module)).unwrap();
}

#[test]
fn shared_memory_is_measured_once() {
    let mut init = vec![Inst::new(Op::Nop); 200_000];
    init.extend([Inst::with(Op::SetShare, 64), Inst::with(Op::Exit, 0)]);
    let mut code: Vec<Inst> = (0..200_000).flat_map(|_| [Inst::with(Op::Push, 0), Inst::new(Op::UsLoad8), Inst::new(Op::Pop)]).collect();
    code.push(Inst::new(Op::Ret));
    let module = Module { init: Some(Handler { code: init, ..Handler::default() }), ..push(code, 2) };
    soon("verification", || verify(module)).unwrap();
}

#[test]
fn errors_are_few() {
    let labels = (0..200_000).map(|at| Label { name: "l".to_owned(), at }).collect();
    let code = vec![Inst::with(Op::PktSend, 99); 200_000];
    let handler = Handler { code, labels, ..Handler::default() };
    let module = Module { push: Some(handler), ..Module::default() };
    let errors = soon("verification", || verify(module)).unwrap_err();
    assert_eq!(errors.len(), 100);
}

#[test]
fn states_at_joins_are_bounded() {
    // A thousand elements, then joins without end.
    let mut code = vec![Inst::new(Op::PushC0); 1000];
    for i in 0..300_000 {
        code.extend([Inst::with(Op::JumpW, 1000 + i + 1)]);
    }
    code.push(Inst::with(Op::Exit, 0));
    let before = resident();
    let errors = soon("verification", || verify(push(code, 1001))).unwrap_err();
    assert!(errors[0].to_string().contains("exceeds the limit"), "{}", errors[0]);
    let held = resident().saturating_sub(before);
    assert!(held < 600 << 20, "{held} bytes resident");
}

#[test]
fn a_switch_with_a_deep_stack_is_bounded() {
    let mut code = vec![Inst::new(Op::PushC0); 1001];
    let cases = (0..500_000).map(|k| (k, 1002)).collect();
    code.push(Inst { op: Op::Switch, imm: [0; 3], extra: Extra::Switch(Box::new(Switch { default: 1002, cases })) });
    code.push(Inst::with(Op::Exit, 0));
    let errors = soon("verification", || verify(push(code, 1002))).unwrap_err();
    assert!(errors[0].to_string().contains("work to verify"), "{}", errors[0]);
}

#[test]
fn names_that_the_text_form_needs_are_distinct() {
    let ret = || push(vec![Inst::new(Op::Ret)], 1);
    let set = || Set::of_values("s", 32, [1]).unwrap();
    let field = || InfoField { name: "f".to_owned(), offset: 0, size: 1 };
    let sets = Module { sets: vec![set(), set()], ..ret() };
    let fields = Module { info_size: 4, info_fields: vec![field(), field()], ..ret() };
    for (module, what) in [(sets, "set 's' is declared twice"), (fields, "info field 'f' is declared twice")] {
        assert_eq!(verify(module).unwrap_err()[0].to_string(), format!("module: {what}"));
    }
}

#[test]
fn drops_are_told_apart() {
    let program = program("segment .push .maxstacksize 4 exit 3 ends");
    let mut state = State::plain(&program).unwrap();
    let verdict = run_one(&program, &mut state, ExchangeBuffer::borrowed(&[0]));
    assert_eq!(verdict, Disposition::Drop(DropReason::Program(3)));
}

/// Each subroutine calls the next, and the handler calls them from the last to the first: what was
/// checked from a shallow place is not allowed to nest deeper than calls may.
#[test]
fn a_thousand_nested_subroutines_are_refused_soon() {
    let calls: String = (0..1000).rev().map(|n| format!("call.w f{n} ")).collect();
    let routines: String = (0..999).map(|n| format!("f{n}: call.w f{} ret\n", n + 1)).collect();
    let text = format!("segment .push .maxstacksize 8 {calls} ret\n{routines}f999: ret ends");
    let module = netil::asm::assemble(&text, "test").unwrap();
    let errors = soon("nested subroutines", || verify(module).unwrap_err());
    assert!(errors[0].to_string().contains("calls nest more than 16 deep"), "{}", errors[0]);
}

/// As deep as calls may nest, however they were checked first.
#[test]
fn subroutines_that_nest_as_deep_as_they_may_are_accepted() {
    for (depth, fine) in [(16, true), (17, false)] {
        for shallow_first in [true, false] {
            let mut calls: Vec<String> = (0..depth).map(|n| format!("call.w f{n} ")).collect();
            if shallow_first {
                calls.reverse();
            }
            let routines: String = (0..depth - 1).map(|n| format!("f{n}: call.w f{} ret ", n + 1)).collect();
            let text = format!("segment .push .maxstacksize 8 {} ret {routines} f{}: ret ends", calls.concat(), depth - 1);
            assert_eq!(verify(netil::asm::assemble(&text, "test").unwrap()).is_ok(), fine, "{depth} {shallow_first}");
        }
    }
}

/// Keys that come in order, and such as share their low or their high bits, with entries that end
/// and without.
#[test]
fn insertions_stay_cheap_whatever_the_keys_are() {
    use netil::module::{Table as Declaration, TableKind};
    use netil::tables::{Reference, Table};
    const COUNT: u64 = 200_000;
    let keys: [fn(u64) -> u64; 4] = [|n| n, |n| n << 32, |n| n.reverse_bits(), |n| n << 12 & 0xffff_ffff | n >> 20];
    for (which, key) in keys.iter().enumerate() {
        for timeout_ns in [0, 1000] {
            let declaration = Declaration {
                name: "t".to_owned(),
                kind: TableKind::Exact,
                key_bits: 64,
                value_bytes: 8,
                capacity: COUNT as u32,
                timeout_ns,
                entries: Vec::new(),
            };
            let mut table = Reference::new(&declaration);
            soon(&format!("keys {which}, timeout {timeout_ns}"), || {
                (0..COUNT).for_each(|n| assert_ne!(table.insert(&[key(n)], n / 2), 0));
            });
            assert_eq!(table.len(COUNT / 2 - 1), if timeout_ns == 0 { COUNT } else { 2 * timeout_ns });
        }
    }
}
