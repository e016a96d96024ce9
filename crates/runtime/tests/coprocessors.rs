//! NetIL programs that use the coprocessors, from source text to verdicts: each as programs of the
//! original were written.

use netil::exec::{Disposition, DropReason, ExchangeBuffer, Outcome, State, TrapKind};
use netil::interp::Interpreter;
use netil::module::HandlerKind;
use netvm_runtime::coproc;
use std::sync::Arc;

/// A program that ran its init handler.
struct Netpe {
    interpreter: Interpreter,
    state: State,
}

impl Netpe {
    fn new(source: &str) -> Self {
        let module = netil::asm::assemble(source, "test.netil").unwrap_or_else(|e| panic!("{e}"));
        let program = Arc::new(netil::verify(module).unwrap());
        let mut state = State::new(&program, &coproc::make).unwrap();
        let mut interpreter = Interpreter::new(program);
        interpreter.init(&mut state).unwrap();
        Self { interpreter, state }
    }

    fn push(&mut self, packet: &[u8]) -> (Disposition, Vec<u8>) {
        let mut burst = [ExchangeBuffer::borrowed(packet)];
        let mut out = Outcome::default();
        self.interpreter.run(HandlerKind::Push, &mut burst, &mut self.state, &mut out);
        (out.dispositions[0], burst[0].bytes().to_vec())
    }

    fn passes(&mut self, packet: &[u8]) -> bool {
        matches!(self.push(packet).0, Disposition::Port(_))
    }
}

#[test]
fn searches_in_a_loop_end_with_the_budget() {
    let source = "
segment .metadata
    .use_coprocessor regexp
    .datamem_size 4
ends
segment .data
    .byte_order little_endian
    expressions dw 1, 0, 4
                db \"evil\"
ends
segment .init
    .maxstacksize 2
    copro.init regexp, expressions
    ret
ends
segment .push
    .maxstacksize 4
    copro.exbuf regexp, 0
again:
    push 0
    copro.out regexp, 0
    push 1000
    copro.out regexp, 2
    copro.invoke regexp, match
    push 0
    umload.8
    inc1
    push 0
    mstore.8
    jump again
ends";
    let mut netpe = Netpe::new(source);
    // A search of 1,000 bytes at 16 each takes 63, going back 1.
    netpe.state.budget = 640;
    let Disposition::Trap(trap) = netpe.push(&[0; 2000]).0 else { panic!("it went on") };
    assert_eq!((trap.kind, trap.inst, netpe.state.data[0]), (TrapKind::Budget, 5, 10));
}

#[test]
fn lookup_lets_each_flow_pass_once() {
    let source = "
segment .metadata
    .use_coprocessor lookup
ends
segment .push
    .locals 0
    .maxstacksize 4
    pop
    copro.invoke lookup, 4
    push 0
    upload.16
    copro.out lookup, 0
    copro.invoke lookup, 1
    push 2
    upload.8
    copro.out lookup, 0
    copro.invoke lookup, 1
    copro.invoke lookup, 3
    copro.in lookup, 1
    push 0
    jcmp.neq SEEN
    push 1
    copro.out lookup, 0
    copro.invoke lookup, 2
    push 1
    ret
SEEN:
    ret
ends";
    let mut netpe = Netpe::new(source);
    let verdicts = [[1, 2, 3], [1, 2, 4], [1, 2, 3], [0, 0, 0], [1, 2, 4]].map(|p| netpe.passes(&p));
    assert_eq!(verdicts, [true, true, false, true, false]);
}

#[test]
fn lookupnew_finds_what_init_entered() {
    let source = "
segment .metadata
    .use_coprocessor lookupnew
ends
segment .init
    .maxstacksize 2
    push 10.0.0.1
    copro.out lookupnew, 0
    push 7
    copro.out lookupnew, 5
    copro.invoke lookupnew, insert
    ret
ends
segment .push
    .maxstacksize 4
    pop
    push 0
    spload.32
    copro.out lookupnew, 0
    copro.invoke lookupnew, lookup
    copro.in lookupnew, 5
    push 4
    pstore.8
    copro.in lookupnew, 7
    ret
ends";
    let mut netpe = Netpe::new(source);
    assert_eq!(netpe.push(&[10, 0, 0, 1, 99]).1, [10, 0, 0, 1, 7]);
    let (disposition, packet) = netpe.push(&[10, 0, 0, 2, 99]);
    assert_eq!((disposition, packet), (Disposition::Drop(DropReason::Verdict), vec![10, 0, 0, 2, 0]));
}

#[test]
fn associative_rewrites_by_the_longest_prefix() {
    let source = "
segment .coprocessors
    use_coprocessor associative
ends
segment .ports
    push_input in1
    push_output out1
ends
segment .init
    .maxstacksize 10
    .datamemsize 0
    push 0
    copro.out associative, 0
    push 192.168.1.0
    copro.out associative, 3
    push 192.168.1.1
    copro.out associative, 11
    push 3
    copro.out associative, 1
    push 4
    copro.out associative, 2
    copro.invoke associative, 1
    push 10.0.0.1
    copro.out associative, 11
    push 0
    copro.out associative, 1
    copro.invoke associative, 1
    ret
ends
segment .push
    .locals 0
    .maxstacksize 10
    pop
    push 4
    copro.out associative, 1
    push 0
    spload.32
    copro.out associative, 3
    copro.invoke associative, 2
    copro.in associative, 11
    push 0
    pstore.32
    pkt.send out1
ends";
    let mut netpe = Netpe::new(source);
    assert_eq!(netpe.push(&[192, 168, 1, 9]), (Disposition::Port(1), vec![192, 168, 1, 1]));
    assert_eq!(netpe.push(&[192, 168, 2, 9]), (Disposition::Port(1), vec![10, 0, 0, 1]));
}

/// Searches for pattern or group 0 from byte 2 on and writes what `get_result` tells to the
/// packet's first two bytes.
fn search(name: &str, data: &str) -> Netpe {
    Netpe::new(&format!(
        "
segment .data
    .byte_order little_endian
    {data}
ends
segment .metadata
    .use_coprocessor {name}
ends
segment .init
    .maxstacksize 5
    copro.init {name}, table
    ret
ends
segment .push
    .maxstacksize 5
    pop
    copro.exbuf {name}, 0
    push 0
    copro.out {name}, 0
    push 2
    copro.out {name}, 1
    pbl
    push 2
    sub
    copro.out {name}, 2
    copro.invoke {name}, 2
    copro.in {name}, 0
    push 0
    jcmp.eq NOTHING
    copro.invoke {name}, 3
    copro.in {name}, 1
    push 0
    pstore.8
    copro.in {name}, 2
    push 1
    pstore.8
    push 1
    ret
NOTHING:
    ret
ends"
    ))
}

#[test]
fn stringmatching_reads_its_groups_from_data() {
    let data = "
    table dw 1
    count dw 2
    l0 dw 3
    c0 dw 1
    n0 dd 42
    t0 db \"GET\"
    l1 dw 4
    c1 dw 0
    n1 dd 43
    t1 db \"POST\"";
    let mut netpe = search("stringmatching", data);
    assert_eq!(netpe.push(b"--xxget /").1, b"\x2a\x05xxget /");
    assert_eq!(netpe.push(b"--POST").1, b"\x2b\x04POST");
    assert!(!netpe.passes(b"--post"));
    assert!(!netpe.passes(b"GE"));
}

#[test]
fn regexp_reads_its_expressions_from_data() {
    let data = "
    table dw 1
    lf dw 4
    f db \"smiR\"
    lp dw 9
    p db \"us(er|e)+\"";
    let mut netpe = search("regexp", data);
    assert_eq!(netpe.push(b"--a USERER!").1, b"\x00\x08a USERER!");
    assert!(!netpe.passes(b"--us"));
}

#[test]
fn what_was_refused_at_first_traps_at_any_use() {
    let mut netpe = search("regexp", "table dw 1\n lf dw 0\n lp dw 1\n p db \"(\"");
    let Disposition::Trap(trap) = netpe.push(b"--abc").0 else { panic!("no trap") };
    assert_eq!(trap.kind, TrapKind::Coprocessor(0, netil::copro::CoproError::NotInitialised));
}
