//! What a hostile module, or a caller with the wrong state, asks for: an answer in bounded time and memory, never a crash.

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
    assert_eq!(out.clones.len(), 2 * MAX_COPIES as usize);
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
