//! Tables and variables lie in the memories of their scopes, as long as there is room.

use netil::app::{Datum, Kept, Scope};
use netil::exec::{ExchangeBuffer, Outcome, State};
use netil::module::HandlerKind;
use netvm_machine::description::named;
use netvm_machine::layout::Layout;
use netvm_machine::steps::{self, Step};
use netvm_machine::{Machine, Recorder, Trace};
use std::sync::Arc;

/// Bytes 0 to 3 count packets, 4 to 7 are written before they are read, 8 to 11 are read twice.
const PROGRAM: &str = "\
segment .push
 .datamem_size 16
 pop
 push 0
 umload.32
 inc1
 push 0
 mstore.32
 push 0
 upload.8
 push 4
 mstore.32
 push 4
 umload.32
 push 8
 umload.32
 add
 push 8
 umload.32
 add
 push 8
 mstore.32
 push 1
 ret
ends
";

/// Two elements with that program, for three packets.
fn trace(data: &[Datum]) -> Trace {
    let program = Arc::new(netil::verify(netil::asm::assemble(PROGRAM, "t.netil").unwrap()).unwrap());
    let recorder = Recorder::default();
    let mut engines = ["a :: X", "b :: X"].map(|name| recorder.interpreter(name, Arc::clone(&program)));
    for packet in [[1], [2], [3]] {
        recorder.arrives(&packet);
        for engine in &mut engines {
            let (mut state, mut out) = (State::new(&program, &|_| None).unwrap(), Outcome::default());
            engine.run(HandlerKind::Push, &mut [ExchangeBuffer::borrowed(&packet)], &mut state, &mut out);
        }
    }
    Trace { data: data.to_vec(), ..recorder.take() }
}

fn datum(instance: u32, name: &str, scope: Scope, at: u32) -> Datum {
    Datum { instance, name: name.to_owned(), scope, of_other: false, kept: Kept::Data { at, len: 4 } }
}

fn three(instance: u32) -> Vec<Datum> {
    vec![datum(instance, "count", Scope::Local, 0), datum(instance, "scratch", Scope::Local, 4), datum(instance, "sum", Scope::Local, 8)]
}

fn machine(scratch: u64, sram: u64) -> Machine {
    let mut machine = named("ixp1200").unwrap();
    machine.memory.get_mut("scratch").unwrap().bytes = scratch;
    machine.memory.get_mut("sram").unwrap().bytes = sram;
    machine
}

fn places(trace: &Trace, machine: &Machine) -> Vec<(String, Scope, u64, String)> {
    let layout = Layout::of(trace, machine).unwrap();
    layout.placed.into_iter().map(|placed| (placed.name, placed.scope, placed.bytes, placed.memory)).collect()
}

fn row(name: &str, scope: Scope, bytes: u64, memory: &str) -> (String, Scope, u64, String) {
    (name.to_owned(), scope, bytes, memory.to_owned())
}

#[test]
fn scopes_choose_memories() {
    let trace = trace(&three(0));
    // What every run writes before it reads it is in each thread's registers; an element's counters
    // are there for all threads. The one with most accesses comes first.
    let all = places(&trace, &machine(3072, 1 << 20));
    let local = row("scratch", Scope::Local, 4 * 24, "register");
    assert_eq!(all, [row("sum", Scope::Regional, 4, "scratch"), row("count", Scope::Regional, 4, "scratch"), local.clone()]);
    // Room for one only.
    let all = places(&trace, &machine(7, 1 << 20));
    assert_eq!(all, [row("sum", Scope::Regional, 4, "scratch"), row("count", Scope::Regional, 4, "sram"), local]);
}

#[test]
fn the_steps_ask_the_memories_of_the_layout() {
    let asked = |machine: &Machine| {
        let work = steps::of(&trace(&three(0)), machine);
        let memory = |step: &Step| if let Step::Access(access) = step { machine.memory.keys().nth(access.memory as usize) } else { None };
        let count = |name: &str| work[0].steps.iter().filter_map(memory).filter(|memory| *memory == name).count();
        [count("scratch"), count("sram")]
    };
    // Of the first element five accesses to counters, and two to registers; of the second one,
    // whose variables have no names, seven.
    assert_eq!(asked(&machine(3072, 1 << 20)), [5 + 7, 0]);
    assert_eq!(asked(&machine(7, 1 << 20)), [3 + 7, 2]);
}

#[test]
fn what_elements_have_together_takes_room_once() {
    let global = |instance| datum(instance, "count", Scope::Global, 0);
    let trace = trace(&[global(0), global(1), datum(0, "sum", Scope::Universal, 8)]);
    let all = places(&trace, &machine(4, 1 << 20));
    assert_eq!(all[1..], [row("count", Scope::Global, 4, "scratch"), row("count", Scope::Global, 4, "scratch")]);
    assert_eq!(all[0], row("sum", Scope::Universal, 4, "sram"));
}

#[test]
fn what_has_no_room_is_told() {
    let mut small = machine(0, 2);
    small.scope.as_mut().unwrap().regional = vec!["sram".to_owned()];
    let fault = Layout::of(&trace(&three(0)), &small).unwrap_err().to_string();
    assert_eq!(fault, "`sum` of a :: X (regional) takes 4 bytes: sram has 2 left");
}

#[test]
fn a_machine_without_a_choice_places_by_kind() {
    assert!(Layout::of(&trace(&three(0)), &named("netthreads").unwrap()).unwrap().placed.is_empty());
}
