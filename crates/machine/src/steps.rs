//! A trace in the terms of one machine: cycles of a thread, accesses to its memories, critical
//! sections.
//!
//! NetIL has no locks: one packet runs at a time. A machine that runs several needs them where
//! elements change what they keep. A critical section goes from the first to the last access of an
//! element's run to its state (data memory, shared memory, tables), if the element's program can
//! change any of it; each element has a lock of its own. This is where a compiler that sees the run
//! would put them; one that places them before it runs can be worse.
//!
//! Bytes of data memory that no run reads before it writes them, or that none writes, carry nothing
//! from packet to packet: each thread has its own, as the NetTM paper's programs have, and they are
//! no state.

use crate::description::{Lookup, Machine, REGISTER};
use crate::layout::Layout;
use crate::trace::{Class, Event, Kind, LAST_USE, Trace, class, kept};
use netil::Verified;
use netil::module::HandlerKind;
use netil::table::{Op, Sem, Space};
use std::collections::HashSet;

/// The unit by which addresses of shared state are compared, in bytes.
pub const WORD: u64 = 4;

/// Bytes of a search that are one step.
const PIECE: u32 = 64;
/// Bytes from one packet's buffer to the next, and where its annotations are. Longer packets lie in
/// several buffers.
const BUFFER: u64 = 2176;
const INFO: u64 = 2048;
/// The number of the region of packets, and bits of an address within a region.
const PACKETS: u64 = 0;
const REGION: u32 = 40;
/// Where automata are.
const SEARCHES: u64 = 1 << 62;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Issue that many instructions.
    Compute(u32),
    /// Ask a memory.
    Access(Access),
    /// The beginning of a critical section, with the number of its lock.
    Enter(u32),
    /// The end of a critical section.
    Leave(u32),
}

/// A request to a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which, by its number in the description.
    pub memory: u32,
    /// A store.
    pub write: bool,
    /// How many units.
    pub units: u32,
    /// Where, for a cache.
    pub address: u64,
    /// The words of shared state that it touches: the first, and how many.
    pub shared: Option<(u64, u32)>,
}

/// Whether what is asked for is a thread's own: no packet, and no state.
pub(crate) fn is_private(access: &Access) -> bool {
    access.shared.is_none() && access.address >> REGION != PACKETS
}

impl Machine {
    /// Whether a unit does that while the core does other work.
    pub(crate) fn is_away(&self, access: &Access) -> bool {
        let unit = self.search.as_ref().filter(|search| search.asynchronous && search.command > 0.0);
        unit.is_some_and(|search| self.memory_number(&search.memory) == Some(access.memory as usize))
    }
}

/// Where the packet of that number in the trace lies.
pub(crate) fn buffer(number: usize, machine: &Machine) -> u64 {
    let count = if machine.receive.buffers == 0 { machine.receive.slots } else { machine.receive.buffers };
    (PACKETS << REGION) + number as u64 % u64::from(count.max(1)) * BUFFER
}

/// A packet as a machine sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// What is done for it.
    pub steps: Vec<Step>,
    /// A number that packets of the same flow have in common.
    pub flow: u64,
    /// Its length.
    pub bytes: u32,
}

/// All packets. Tables and variables that the memories of their scopes have no room for are where
/// `[place]` says.
pub fn of(trace: &Trace, machine: &Machine) -> Vec<Work> {
    placed(trace, machine, &Layout::of(trace, machine).unwrap_or_default())
}

/// All packets, with tables and variables where a layout says.
pub fn placed(trace: &Trace, machine: &Machine, layout: &Layout) -> Vec<Work> {
    let changes: Vec<bool> = trace.elements.iter().map(|element| changes_state(&element.program)).collect();
    let kept = kept(trace);
    let make = |(number, packet): (usize, &crate::trace::PacketTrace)| {
        let mut maker = Maker::new(machine, layout, &changes, state(&packet.events, &kept), buffer(number, machine));
        packet.events.iter().enumerate().for_each(|(at, event)| maker.event(at, event, &packet.events));
        Work { steps: maker.finish(), flow: packet.flow, bytes: packet.bytes }
    };
    trace.packets.iter().enumerate().map(make).collect()
}

/// The machine's instructions that a program takes in a control store: each of its own once,
/// lookups as calls.
pub fn size(program: &Verified, machine: &Machine) -> u64 {
    let handlers = HandlerKind::ALL.into_iter().filter_map(|kind| program.module().handler(kind));
    let weight = |op: Op| match op.row().sem {
        Sem::Load(..) | Sem::Store(..) | Sem::WideLoad(_) | Sem::WideStore(_) | Sem::Copy(..) => 1.0 + machine.instructions.memory,
        Sem::JumpCmp(_) | Sem::JumpZero(_) | Sem::JumpField(_) => machine.instructions.branch,
        Sem::WideBin(_) | Sem::WideUn(_) | Sem::WideCmp(_) => machine.instructions.wide,
        Sem::Own(own) => weight_of(machine, class(own)),
        _ => machine.instructions.alu,
    };
    handlers.flat_map(|handler| &handler.code).map(|inst| weight(inst.op)).sum::<f64>().ceil() as u64
}

/// Whether a program can change what it keeps. A lookup that refreshes an entry changes it, if
/// entries end.
fn changes_state(program: &Verified) -> bool {
    let module = program.module();
    let handlers = [HandlerKind::Push, HandlerKind::Pull].into_iter().filter_map(|kind| module.handler(kind));
    handlers.flat_map(|handler| &handler.code).any(|inst| match inst.op.row().sem {
        Sem::Store(space, _) | Sem::WideStore(space) | Sem::Copy(_, space) => is_state(space),
        _ => match inst.op {
            Op::TInsert | Op::TDelete | Op::TStore | Op::TWalk | Op::TDue | Op::TNext => true,
            Op::TFind => module.tables.get(inst.imm[0] as usize).is_some_and(|table| table.timeout_ns > 0),
            _ => false,
        },
    })
}

fn is_state(space: Space) -> bool {
    matches!(space, Space::Data | Space::Shared)
}

/// Which events touch state.
fn state(events: &[Event], kept: &HashSet<(u32, u32)>) -> Vec<bool> {
    let mut runs = Vec::new();
    let mut one = |event: &Event| match event {
        Event::Begin(element) => {
            runs.push(*element);
            false
        }
        Event::End => {
            runs.pop();
            false
        }
        Event::Access { space: Space::Data, address, bytes, .. } => {
            let element = runs.last().copied().unwrap_or(0);
            (*address..address.saturating_add(*bytes)).any(|byte| kept.contains(&(element, byte)))
        }
        event => touches_state(event),
    };
    events.iter().map(&mut one).collect()
}

fn touches_state(event: &Event) -> bool {
    match event {
        Event::Access { space, .. } => is_state(*space),
        Event::Lookup { kind, .. } => *kind != Kind::Set,
        Event::Entry { .. } => true,
        _ => false,
    }
}

fn weight_of(machine: &Machine, class: Class) -> f64 {
    let i = &machine.instructions;
    match class {
        Class::Stack => i.stack,
        Class::Alu => i.alu,
        Class::Wide => i.wide,
        Class::Branch => i.branch,
        Class::Memory => i.memory,
        Class::Digest => i.digest,
        Class::Packet => i.packet,
        Class::Unit => i.unit,
    }
}

/// A run of an element's handler.
struct Run {
    element: u32,
    /// Where its critical section ends, if it has one.
    last: Option<usize>,
    inside: bool,
}

struct Maker<'m> {
    machine: &'m Machine,
    layout: &'m Layout,
    names: Vec<&'m String>,
    changes: &'m [bool],
    /// By event whether it touches state.
    state: Vec<bool>,
    /// Where the packet lies.
    buffer: u64,
    steps: Vec<Step>,
    /// Instructions not yet written.
    owed: f64,
    runs: Vec<Run>,
}

impl<'m> Maker<'m> {
    fn new(machine: &'m Machine, layout: &'m Layout, changes: &'m [bool], state: Vec<bool>, buffer: u64) -> Self {
        let names = machine.memory.keys().collect();
        let mut maker = Self { machine, layout, names, changes, state, buffer, steps: Vec::new(), owed: 0.0, runs: Vec::new() };
        maker.port(&machine.receive, false);
        maker
    }

    fn finish(mut self) -> Vec<Step> {
        while let Some(run) = self.runs.pop() {
            self.leave(&run);
        }
        self.port(&self.machine.transmit, true);
        self.pay();
        self.steps
    }

    fn port(&mut self, port: &crate::description::Port, write: bool) {
        self.owed += port.instructions;
        for (memory, count) in &port.accesses {
            (0..*count).for_each(|_| self.access(memory, write, 1, self.buffer, None));
        }
    }

    fn event(&mut self, at: usize, event: &Event, all: &[Event]) {
        match event {
            Event::Begin(element) => self.begin(*element, at, all),
            Event::End => {
                if let Some(run) = self.runs.pop() {
                    self.leave(&run);
                }
            }
            Event::Instructions(class, n) => self.owed += weight_of(self.machine, *class) * f64::from(*n),
            touching => {
                self.enter(at);
                self.touch(at, touching);
                self.leave_after(at);
            }
        }
    }

    fn begin(&mut self, element: u32, at: usize, all: &[Event]) {
        let last = if self.changes.get(element as usize) == Some(&true) {
            last_touch(&all[at + 1..], &self.state[at + 1..]).map(|n| at + 1 + n)
        } else {
            None
        };
        self.runs.push(Run { element, last, inside: false });
    }

    fn enter(&mut self, at: usize) {
        let touches = self.state[at];
        let Some(run) = self.runs.last_mut().filter(|run| run.last.is_some() && !run.inside && touches) else { return };
        run.inside = true;
        let lock = run.element;
        self.pay();
        self.steps.push(Step::Enter(lock));
    }

    fn leave_after(&mut self, at: usize) {
        if let Some(mut run) = self.runs.pop_if(|run| run.last == Some(at)) {
            self.leave(&run);
            run.inside = false;
            self.runs.push(run);
        }
    }

    fn leave(&mut self, run: &Run) {
        if run.inside {
            self.pay();
            self.steps.push(Step::Leave(run.element));
        }
    }

    fn touch(&mut self, at: usize, event: &Event) {
        let (machine, layout) = (self.machine, self.layout);
        let (place, element) = (&machine.place, self.element());
        match *event {
            Event::Access { space, write, address, bytes } => {
                let (memory, begin) = match space {
                    Space::Packet => (&place.packet, self.buffer),
                    Space::Info => (&place.info, self.buffer + INFO),
                    Space::Data => (layout.byte(element, false, address, machine), self.region(2, false)),
                    Space::Shared => (layout.byte(element, true, address, machine), self.region(3, true)),
                    Space::Initialised => (&place.initialised, self.region(4, false)),
                };
                let address = begin + u64::from(address);
                self.access(memory, write, bytes, address, self.state[at].then(|| words(address, bytes)));
            }
            Event::Search { bytes } => self.search(bytes),
            Event::Lookup { kind, table, write, key, entry } => self.look_up(kind, table, write, key, entry),
            Event::Entry { table, entry, write, offset, bytes } => {
                let address = self.region(8 + table, false) + u64::from(entry) * 256 + u64::from(offset);
                self.access(layout.table(element, table, machine), write, bytes, address, Some(words(address, bytes)));
            }
            _ => {}
        }
    }

    /// By a unit, at once; or a piece after the other: instructions, then the automaton's memory.
    fn search(&mut self, bytes: u32) {
        let Some(search) = &self.machine.search else { return };
        if search.command > 0.0 {
            self.owed += search.command;
            return self.access(&search.memory, false, (search.bytes * f64::from(bytes)).ceil() as u32, SEARCHES, None);
        }
        for from in (0..bytes).step_by(PIECE as usize) {
            let piece = f64::from((bytes - from).min(PIECE));
            self.owed += search.instructions * piece;
            let read = (search.bytes * piece).ceil() as u32;
            self.access(&search.memory, false, read, SEARCHES + crate::trace::mixed(u64::from(from)) % (1 << 16), None);
        }
    }

    fn look_up(&mut self, kind: Kind, table: u32, write: bool, key: u64, entry: u32) {
        let machine = self.machine;
        let Lookup { instructions, reads, bytes } = match kind {
            Kind::Exact => machine.lookup.exact.clone(),
            Kind::Prefix => machine.lookup.prefix.clone(),
            Kind::Ternary => machine.lookup.ternary.clone(),
            Kind::Set => machine.lookup.set.clone(),
        };
        self.owed += instructions;
        let layout = self.layout;
        let place = if kind == Kind::Set { &machine.place.initialised } else { layout.table(self.element(), table, machine) };
        // A bucket of 2^16; what an insertion or deletion writes besides it is the entry.
        let base = self.region(8 + table, false) + (1 << 39);
        for read in 0..reads {
            let address = base + (crate::trace::mixed(key ^ u64::from(read)) & 0xffff) * u64::from(bytes.max(1));
            self.access(place, false, bytes, address, (kind == Kind::Exact && read == 0).then(|| words(address, 4)));
        }
        if write {
            let address = base + (crate::trace::mixed(key) & 0xffff) * u64::from(bytes.max(1));
            self.access(place, true, bytes, address, Some(words(address, 4)));
            let entry = self.region(8 + table, false) + u64::from(entry) * 256 + u64::from(LAST_USE);
            self.access(place, true, bytes, entry, Some(words(entry, 4)));
        }
    }

    /// The element that runs.
    fn element(&self) -> u32 {
        self.runs.last().map_or(0, |run| run.element)
    }

    /// Where a memory of an element begins in the one space of addresses; what elements share
    /// begins at the same place.
    fn region(&self, region: u32, shared: bool) -> u64 {
        let element = if shared { 0 } else { self.element() };
        (u64::from(element) * 256 + u64::from(region % 256)) << REGION
    }

    fn access(&mut self, memory: &String, write: bool, bytes: u32, address: u64, shared: Option<(u64, u32)>) {
        if memory == REGISTER || bytes == 0 {
            return;
        }
        let Some(number) = self.names.iter().position(|name| *name == memory) else { return };
        self.pay();
        let units = bytes.div_ceil(self.machine.memory[memory].width);
        self.steps.push(Step::Access(Access { memory: number as u32, write, units, address, shared }));
    }

    /// Whole instructions that are owed become a step; a fraction stays owed.
    fn pay(&mut self) {
        let whole = self.owed.floor();
        if whole >= 1.0 {
            self.steps.push(Step::Compute(whole as u32));
            self.owed -= whole;
        }
    }
}

fn words(address: u64, bytes: u32) -> (u64, u32) {
    let first = address / WORD;
    (first, ((address + u64::from(bytes.max(1)) - 1) / WORD - first + 1) as u32)
}

/// The last touch of state in a run that has just begun, not counting runs within it.
fn last_touch(events: &[Event], state: &[bool]) -> Option<usize> {
    let (mut depth, mut last) = (0, None);
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Begin(_) => depth += 1,
            Event::End if depth == 0 => break,
            Event::End => depth -= 1,
            _ if depth == 0 && state[at] => last = Some(at),
            _ => {}
        }
    }
    last
}
