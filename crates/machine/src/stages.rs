//! A packet's work by element: what each core of a pipeline is given, and what one core alone needs
//! for it.
//!
//! Source: NetVM paper, sections 5.4 and 6.3.5 (figure 14).

use crate::description::Machine;
use crate::layout::Layout;
use crate::model::memory::Memories;
use crate::steps::{self, Access, Step};
use crate::trace::{Event, PacketTrace, Trace};

/// What elements do for a packet, in the order in which they begin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// Elements with their steps; what is done to receive and to send is not in them.
    pub parts: Vec<(usize, Vec<Step>)>,
    /// A number that packets of the same flow have in common.
    pub flow: u64,
    /// Its length.
    pub bytes: u32,
}

/// All packets of a trace.
pub fn parts(trace: &Trace, machine: &Machine) -> Vec<Parts> {
    let mut bare = machine.clone();
    for port in [&mut bare.receive, &mut bare.transmit] {
        port.instructions = 0.0;
        port.accesses.clear();
    }
    let layout = Layout::of(trace, machine).unwrap_or_default();
    let of = |element: usize| {
        let packets = trace.packets.iter().map(|packet| PacketTrace { events: own(&packet.events, element as u32), ..packet.clone() });
        let alone = Trace { elements: trace.elements.clone(), packets: packets.collect(), ..Trace::default() };
        steps::placed(&alone, &bare, &layout)
    };
    let mut columns: Vec<Vec<steps::Work>> = (0..trace.elements.len()).map(of).collect();
    let mut one = |(n, packet): (usize, &PacketTrace)| {
        let steps = |element: usize| (element, std::mem::take(&mut columns[element][n].steps));
        Parts { parts: order(&packet.events).into_iter().map(steps).collect(), flow: packet.flow, bytes: packet.bytes }
    };
    trace.packets.iter().enumerate().map(&mut one).collect()
}

/// Elements in the order in which they first begin.
fn order(events: &[Event]) -> Vec<usize> {
    let mut all = Vec::new();
    for event in events {
        if let Event::Begin(element) = event
            && !all.contains(&(*element as usize))
        {
            all.push(*element as usize);
        }
    }
    all
}

/// What an element does itself.
fn own(events: &[Event], element: u32) -> Vec<Event> {
    let (mut runs, mut kept) = (Vec::new(), Vec::new());
    for event in events {
        if let Event::Begin(n) = event {
            runs.push(*n);
        }
        if runs.last() == Some(&element) {
            kept.push(*event);
        }
        if *event == Event::End {
            runs.pop();
        }
    }
    kept
}

/// By packet, cycles of one core in each of so many elements, if it does everything: caches hold
/// what earlier packets left in them. The core has read the packet's first bytes when it begins,
/// and does other work while a unit searches.
pub fn by_element(packets: &[Parts], elements: usize, machine: &Machine) -> Vec<Vec<u64>> {
    let (mut memories, mut now) = (Memories::new(machine), 0);
    let mut all = Vec::with_capacity(packets.len());
    for (number, packet) in packets.iter().enumerate() {
        let buffer = steps::buffer(number, machine);
        memories.arrive(buffer, packet.bytes);
        for access in received(machine, buffer) {
            now = memories.request(&access, 0, now);
        }
        let mut cycles = vec![0; elements];
        for (element, steps) in &packet.parts {
            let end = alone(steps, &mut memories, machine, now);
            cycles[*element] += end - now;
            now = end;
        }
        all.push(cycles);
    }
    all
}

/// What a core reads of a packet that it is given.
pub(crate) fn received(machine: &Machine, buffer: u64) -> Vec<Access> {
    let one = |(name, count): (&String, &u32)| {
        let memory = machine.memory_number(name)? as u32;
        Some(vec![Access { memory, write: false, units: 1, address: buffer, shared: None }; *count as usize])
    };
    machine.receive.accesses.iter().filter_map(one).flatten().collect()
}

/// When a lone core has done that.
fn alone(steps: &[Step], memories: &mut Memories, machine: &Machine, mut now: u64) -> u64 {
    for step in steps {
        now = match step {
            Step::Compute(count) => now + u64::from(count.div_ceil(machine.processor.issue)),
            Step::Access(access) if machine.is_away(access) => now + 1,
            Step::Access(access) => memories.request(access, 0, now + 1).max(now + 1),
            Step::Enter(_) | Step::Leave(_) => now,
        };
    }
    now
}
