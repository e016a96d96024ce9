//! A program that is watched does what it does alone, and its trace says what that was.

use netil::engine::Engine;
use netil::exec::{ExchangeBuffer, Outcome, State};
use netil::module::HandlerKind;
use netil::table::Space;
use netvm_machine::description::named;
use netvm_machine::trace::{Class, Event};
use netvm_machine::{Recorder, Trace, conflicts, contention, steps};
use std::sync::Arc;

/// Counts packets in data memory, and takes those whose first byte is not 0.
const COUNTING: &str = "\
segment .push
 .datamem_size 16
 pop
 push 4
 umload.32
 inc1
 push 4
 mstore.32
 push 0
 upload.8
 ret
ends
";

fn verified(text: &str) -> Arc<netil::Verified> {
    Arc::new(netil::verify(netil::asm::assemble(text, "t.netil").unwrap()).unwrap())
}

fn run(engine: &mut dyn Engine, packets: &[&[u8]], before: &dyn Fn(&[u8])) -> (Vec<netil::exec::Disposition>, Vec<u8>) {
    let program = Arc::clone(engine.program());
    let mut state = State::new(&program, &|_| None).unwrap();
    let (mut out, mut all) = (Outcome::default(), Vec::new());
    for packet in packets {
        before(packet);
        engine.run(HandlerKind::Push, &mut [ExchangeBuffer::borrowed(packet)], &mut state, &mut out);
        all.extend(out.dispositions.iter().copied());
    }
    (all, state.data)
}

/// Puts the packet's first byte into data memory, and takes it out again.
const PRIVATE: &str = "\
segment .push
 .datamem_size 16
 pop
 push 0
 upload.8
 push 4
 mstore.32
 push 4
 umload.32
 ret
ends
";

fn trace(packets: &[&[u8]]) -> Trace {
    traced(COUNTING, packets)
}

fn traced(text: &str, packets: &[&[u8]]) -> Trace {
    let program = verified(text);
    let recorder = Recorder::default();
    let mut watched = recorder.interpreter("t", Arc::clone(&program));
    let with = run(&mut watched, packets, &|packet| recorder.arrives(packet));
    let without = run(&mut netil::Interpreter::new(program), packets, &|_| {});
    assert_eq!(with, without);
    recorder.take()
}

#[test]
fn a_watched_program_does_what_it_does_alone() {
    // A packet without bytes traps.
    let trace = trace(&[&[1], &[0], &[]]);
    assert_eq!(trace.packets.len(), 3);
    assert_eq!(trace.packets.iter().map(|packet| packet.bytes).collect::<Vec<_>>(), [1, 1, 0]);
}

#[test]
fn a_trace_tells_accesses_with_their_addresses() {
    let events = trace(&[&[1]]).packets.remove(0).events;
    let data = |write| Event::Access { space: Space::Data, write, address: 4, bytes: 4 };
    let packet = Event::Access { space: Space::Packet, write: false, address: 0, bytes: 1 };
    let accesses: Vec<&Event> = events.iter().filter(|event| matches!(event, Event::Access { .. })).collect();
    assert_eq!(accesses, [&data(false), &data(true), &packet]);
    assert_eq!((events.first(), events.last()), (Some(&Event::Begin(0)), Some(&Event::End)));
    assert!(events.contains(&Event::Instructions(Class::Branch, 1)));
}

#[test]
fn what_changes_state_is_in_a_critical_section() {
    let machine = named("netthreads").unwrap();
    let work = steps::of(&trace(&[&[1], &[1]]), &machine);
    let kinds = |work: &steps::Work| -> Vec<&str> {
        let kind = |step: &steps::Step| match step {
            steps::Step::Enter(0) => Some("enter"),
            steps::Step::Leave(0) => Some("leave"),
            steps::Step::Access(access) => Some(if access.shared.is_some() { "state" } else { "packet" }),
            _ => None,
        };
        work.steps.iter().filter_map(kind).collect()
    };
    assert_eq!(kinds(&work[0]), ["enter", "state", "state", "leave", "packet"]);
    // The counter makes every two packets conflict.
    let place = contention::places(&trace(&[&[1], &[1], &[1]]), 2, 9);
    assert_eq!(place.iter().map(|place| (place.about.as_str(), place.pairs)).collect::<Vec<_>>(), [("data memory from byte 4 on", 2)]);
    let profile = conflicts::profile(&work);
    assert_eq!((profile.windows[0].conflicts, profile.sections_per_packet), (1.0, 1.0));
    assert_eq!((profile.loads_per_section, profile.stores_per_section), (1.0, 1.0));
}

/// What a run writes before it reads it is each thread's own: there is nothing to keep others from.
#[test]
fn what_is_written_before_it_is_read_is_private() {
    let work = steps::of(&traced(PRIVATE, &[&[1], &[2]]), &named("netthreads").unwrap());
    let shared = |work: &steps::Work| {
        work.steps.iter().any(|step| matches!(step, steps::Step::Enter(_)) || matches!(step, steps::Step::Access(a) if a.shared.is_some()))
    };
    assert_eq!([shared(&work[0]), shared(&work[1])], [false, false]);
    assert_eq!(conflicts::profile(&work).sections_per_packet, 0.0);
}

/// Takes out the entry of the packet's first byte.
const KEYED: &str = "\
segment .tables
 .table t, exact, 32, 1, 16
ends
segment .push
 pop
 push 0
 upload.8
 t.delete t
 ret
ends
";

#[test]
fn packets_conflict_about_keys() {
    let packets: Vec<&[u8]> = vec![&[1], &[2], &[1], &[1], &[2]];
    let places = contention::places(&traced(KEYED, &packets), 3, 9);
    let of = |place: &contention::ConflictPoint| (place.about.clone(), place.key.clone(), place.pairs);
    // Of the packets with 1, the first and the third, the third and the fourth; those with 2 are
    // too far apart.
    assert_eq!(places.iter().map(of).collect::<Vec<_>>(), [("t".to_owned(), Some("00000001".to_owned()), 2)]);
}
