//! Engines and threads, event by event. Events of the same cycle happen in the order in which they
//! were made.

use super::ports::{Cell, Fifo, In, Out, Waiting, wire_cycles};
use super::sections::Sections;
use super::{Busy, Lock, Ports, Report, Role, Setup};
use crate::model::memory::Memories;
use crate::steps::{Access, Step};
use crate::trace::mixed;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
enum Do {
    Compute(u32),
    Memory(Access),
    Register,
    Enter(u32),
    Leave(u32),
    Effect(Effect),
}

#[derive(Clone, Copy, Debug)]
enum Effect {
    Look(u32),
    Received(u32, Cell),
    Enqueue(u32, u32),
    Check(u32),
    Space(u32),
    Lock(u32),
    Claim(u32),
    Unlock,
    Valid(u32, usize, Cell),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrive(u32),
    Moved,
    Sent(u32, bool, u32),
    Answered(usize),
    Ready(usize),
    Continue(usize),
    Free(usize),
}

struct Thread {
    engine: usize,
    todo: VecDeque<Do>,
    turn: usize,
    asked: u64,
    locking: u64,
}

#[derive(Default)]
struct Engine {
    running: bool,
    ready: VecDeque<usize>,
    requests: u32,
    parked: VecDeque<usize>,
    busy: u64,
}

pub(super) struct Model<'s> {
    setup: &'s Setup<'s>,
    ports: &'s Ports,
    load: f64,
    threads: Vec<Thread>,
    engines: Vec<Engine>,
    memories: Memories,
    ins: Vec<In>,
    outs: Vec<Out>,
    fifo: Fifo,
    events: BinaryHeap<Reverse<(u64, u64, What)>>,
    made: u64,
    frames: u64,
    sections: Sections,
    report: Report,
    bits: [u64; 2],
    registers: (u64, u64),
    lock: u64,
}

impl<'s> Model<'s> {
    pub(super) fn new(setup: &'s Setup<'s>, ports: &'s Ports, load: f64) -> Self {
        let per_engine = setup.machine.processor.threads as usize;
        let thread = |n: usize| Thread { engine: n / per_engine, todo: VecDeque::new(), turn: 0, asked: 0, locking: 0 };
        Self {
            setup,
            ports,
            load,
            threads: (0..setup.assignment.roles.len()).map(thread).collect(),
            engines: (0..setup.machine.processor.cores).map(|_| Engine::default()).collect(),
            memories: Memories::new(setup.machine),
            ins: (0..ports.count).map(|_| In::default()).collect(),
            outs: (0..ports.count).map(|_| Out::default()).collect(),
            fifo: Fifo::new(ports),
            events: BinaryHeap::new(),
            made: 0,
            frames: 0,
            sections: Sections::new(setup.machine.locks.mutexes, setup.assignment.roles.len()),
            report: Report::default(),
            bits: [0; 2],
            registers: (0, 0),
            lock: 0,
        }
    }

    pub(super) fn run(mut self) -> Report {
        // Ports begin one after the other in the time of a frame, so that what arrives is even.
        let first = self.setup.sizes.first().copied().unwrap_or(64) + self.ports.gap;
        let period = wire_cycles(first, self.ports, self.setup.machine.clock_mhz) as f64 / self.load;
        let start = |port: u32| (f64::from(port) * period / f64::from(self.ports.count)) as u64;
        (0..self.ports.count).for_each(|port| self.at(start(port), What::Arrive(port)));
        self.stock();
        for n in 0..self.threads.len() {
            if self.setup.assignment.roles[n] != Role::Idle {
                self.at(n as u64, What::Ready(n));
            }
        }
        while let Some(Reverse((now, _, what))) = self.events.pop() {
            if now > self.setup.cycles {
                break;
            }
            self.event(now, what);
        }
        self.reported()
    }

    /// Frames that wait at each way out when it begins.
    fn stock(&mut self) {
        let sizes = self.setup.sizes;
        for (port, out) in (0_u64..).zip(&mut self.outs) {
            let size = |n: u64| sizes[(mixed(port << 32 | n) % sizes.len() as u64) as usize];
            out.queue.extend((0..self.setup.queued.into()).map(|n| Waiting { bytes: size(n), sent: 0 }));
        }
    }

    fn reported(mut self) -> Report {
        let seconds = self.setup.cycles as f64 / (self.setup.machine.clock_mhz * 1e6);
        let mbits = |bits: u64| bits as f64 / seconds / 1e6;
        (self.report.mbits, self.report.offered) = (mbits(self.bits[1]), mbits(self.bits[0]));
        self.report.register = self.registers.0 as f64 / self.registers.1.max(1) as f64;
        let (receiving, transmitting) = self.setup.assignment.counts();
        let part = |cycles: u64, threads: usize| cycles as f64 / (self.setup.cycles as f64 * threads.max(1) as f64);
        self.report.lock = part(self.lock, transmitting);
        (self.report.sections, self.report.sections_waited) = (self.sections.count, self.sections.waited);
        self.report.section = part(self.sections.cycles(self.setup.cycles), receiving);
        for (engine, busy) in self.engines.iter().zip(&mut self.report.busy) {
            *busy = engine.busy as f64 / self.setup.cycles as f64;
        }
        self.report
    }

    fn at(&mut self, time: u64, what: What) {
        self.made += 1;
        self.events.push(Reverse((time, self.made, what)));
    }

    fn event(&mut self, now: u64, what: What) {
        match what {
            What::Arrive(port) => self.arrive(port, now),
            What::Moved => self.moved(now),
            What::Sent(port, last, bytes) => self.sent(port, last, bytes),
            What::Answered(n) => {
                let engine = self.threads[n].engine;
                self.engines[engine].requests -= 1;
                let waited = now - self.threads[n].asked;
                self.registers = (self.registers.0 + waited, self.registers.1 + 1);
                self.report.longest_register = self.report.longest_register.max(waited);
                if let Some(parked) = self.engines[engine].parked.pop_front() {
                    self.ready(parked, now);
                }
                self.ready(n, now);
            }
            What::Ready(n) => self.ready(n, now),
            What::Continue(n) => self.go_on(n, now),
            What::Free(engine) => {
                self.engines[engine].running = false;
                self.start(engine, now);
            }
        }
    }

    fn ready(&mut self, n: usize, now: u64) {
        let engine = self.threads[n].engine;
        self.engines[engine].ready.push_back(n);
        self.start(engine, now);
    }

    fn start(&mut self, engine: usize, now: u64) {
        if !self.engines[engine].running
            && let Some(n) = self.engines[engine].ready.pop_front()
        {
            self.engines[engine].running = true;
            self.go_on(n, now);
        }
    }

    /// Lets a thread that has its engine go on until it waits.
    fn go_on(&mut self, n: usize, now: u64) {
        let engine = self.threads[n].engine;
        loop {
            let Some(next) = self.threads[n].todo.pop_front() else {
                self.decide(n);
                continue;
            };
            match next {
                Do::Compute(0) => {}
                Do::Compute(count) => {
                    self.engines[engine].busy += u64::from(count);
                    return self.at(now + u64::from(count), What::Continue(n));
                }
                Do::Memory(access) => {
                    let done = self.memories.request(&access, engine, now + 1);
                    return self.leave(engine, now, (done, What::Ready(n)));
                }
                Do::Register => {
                    let limit = self.ports.register_requests;
                    if limit > 0 && self.engines[engine].requests >= limit {
                        self.threads[n].todo.push_front(Do::Register);
                        self.engines[engine].parked.push_back(n);
                        self.engines[engine].running = false;
                        return self.start(engine, now);
                    }
                    self.engines[engine].requests += 1;
                    self.threads[n].asked = now;
                    let done = self.memories.request(&self.access("csr", false, 1), engine, now + 1);
                    return self.leave(engine, now, (done, What::Answered(n)));
                }
                Do::Enter(section) => {
                    if !self.sections.enter(section, n, now) {
                        self.engines[engine].running = false;
                        return self.start(engine, now);
                    }
                }
                Do::Leave(section) => {
                    if let Some(next) = self.sections.leave(section, now) {
                        self.at(now + u64::from(self.setup.machine.locks.cycles), What::Ready(next));
                    }
                }
                Do::Effect(effect) => self.effect(n, effect, now),
            }
        }
    }

    /// A request takes a cycle; then the engine is for others.
    fn leave(&mut self, engine: usize, now: u64, (time, what): (u64, What)) {
        self.engines[engine].busy += 1;
        self.at(now + 1, What::Free(engine));
        self.at(time.max(now + 1), what);
    }

    fn access(&self, memory: &str, write: bool, bytes: u32) -> Access {
        let number = self.setup.machine.memory.keys().position(|name| name == memory).unwrap_or(0);
        let width = self.setup.machine.memory.values().nth(number).map_or(4, |memory| memory.width);
        Access { memory: number as u32, write, units: bytes.div_ceil(width), address: 0, shared: None }
    }

    fn decide(&mut self, n: usize) {
        let thread = &mut self.threads[n];
        let role = &self.setup.assignment.roles[n];
        let (Role::Receive(all) | Role::Transmit(all)) = role else { return };
        let port = all[thread.turn % all.len()];
        thread.turn += 1;
        let queues = self.access("scratch", false, 4);
        let todo = &mut self.threads[n].todo;
        match role {
            Role::Receive(_) => todo.extend([Do::Register, Do::Effect(Effect::Look(port))]),
            _ => todo.extend([Do::Memory(queues), Do::Effect(Effect::Check(port))]),
        }
    }

    fn effect(&mut self, n: usize, effect: Effect, now: u64) {
        match effect {
            Effect::Look(port) => self.look(n, port),
            Effect::Received(port, cell) => self.received(n, port, cell),
            Effect::Enqueue(port, bytes) => {
                let full = self.outs[port as usize].queue.len() >= self.ports.queue as usize;
                if full {
                    self.report.dropped += 1;
                } else {
                    self.outs[port as usize].queue.push_back(Waiting { bytes, sent: 0 });
                }
            }
            Effect::Check(port) => self.check(n, port),
            Effect::Space(port) => self.space(n, port, now),
            Effect::Lock(port) => self.lock(n, port, now),
            Effect::Claim(port) => self.claim(n, port),
            Effect::Unlock => self.fifo.locked = false,
            Effect::Valid(port, entry, cell) => self.valid(n, port, entry, cell, now),
        }
    }

    fn next_first(&mut self, n: usize, all: impl IntoIterator<Item = Do>) {
        let mut all: Vec<Do> = all.into_iter().collect();
        all.reverse();
        all.into_iter().for_each(|next| self.threads[n].todo.push_front(next));
    }

    fn look(&mut self, n: usize, port: u32) {
        let way = &mut self.ins[port as usize];
        let cell = if way.taken { None } else { way.buffer.pop_front() };
        let Some(cell) = cell else { return self.next_first(n, [Do::Compute(self.ports.poll)]) };
        way.taken = true;
        let bytes = self.ports.cell;
        let mut todo = vec![
            Do::Compute(self.ports.receive_cell),
            Do::Register,
            Do::Memory(self.access("ix", false, bytes)),
            Do::Memory(self.access("sdram", true, bytes)),
        ];
        if cell.first {
            todo.push(Do::Compute(self.ports.packet));
            todo.extend(self.program(cell.frame));
        }
        todo.push(Do::Effect(Effect::Received(port, cell)));
        self.next_first(n, todo);
    }

    /// What is done for a frame: its own, if each packet of the work has its size.
    fn program(&self, frame: u64) -> Vec<Do> {
        let work = &self.setup.work[(frame % self.setup.work.len() as u64) as usize];
        let asking = Do::Compute(self.setup.machine.locks.cycles);
        let one = |step: &Step| match step {
            Step::Compute(count) => [Some(Do::Compute(*count)), None],
            Step::Access(access) => [Some(Do::Memory(*access)), None],
            Step::Enter(section) => [Some(asking), Some(Do::Enter(*section))],
            Step::Leave(section) => [Some(Do::Leave(*section)), None],
        };
        work.steps.iter().flat_map(one).flatten().collect()
    }

    fn received(&mut self, n: usize, port: u32, cell: Cell) {
        self.ins[port as usize].taken = false;
        if !cell.last {
            return;
        }
        let size = self.setup.sizes[(cell.frame % self.setup.sizes.len() as u64) as usize];
        // Each of the other ports is as likely as any, whatever went before.
        let others = self.ports.count - 1;
        let out = if others == 0 { port } else { (port + 1 + (mixed(cell.frame) % u64::from(others)) as u32) % self.ports.count };
        let todo = [
            Do::Compute(4),
            Do::Memory(self.access("sram", true, 8)),
            Do::Memory(self.access("scratch", true, 4)),
            Do::Effect(Effect::Enqueue(out, size)),
        ];
        self.next_first(n, todo);
    }

    fn check(&mut self, n: usize, port: u32) {
        let out = &mut self.outs[port as usize];
        if out.taken || out.queue.is_empty() {
            return self.next_first(n, [Do::Compute(self.ports.poll)]);
        }
        out.taken = true;
        self.next_first(n, [Do::Register, Do::Effect(Effect::Space(port))]);
    }

    fn space(&mut self, n: usize, port: u32, now: u64) {
        let out = &mut self.outs[port as usize];
        if out.filled >= self.ports.buffer_cells {
            out.taken = false;
            return self.next_first(n, [Do::Compute(self.ports.poll)]);
        }
        out.filled += 1;
        self.threads[n].locking = now;
        match self.setup.arbitration.lock {
            Lock::None => self.next_first(n, [Do::Effect(Effect::Claim(port))]),
            _ => self.next_first(n, [self.locking(false), Do::Effect(Effect::Lock(port))]),
        }
    }

    /// An access to the lock.
    fn locking(&self, write: bool) -> Do {
        Do::Memory(self.access(self.setup.arbitration.memory.as_deref().unwrap_or("sram"), write, 4))
    }

    /// A lock is a word that is read and set at once; who does not get it asks again.
    fn lock(&mut self, n: usize, port: u32, now: u64) {
        if std::mem::replace(&mut self.fifo.locked, true) {
            return self.next_first(n, [self.locking(false), Do::Effect(Effect::Lock(port))]);
        }
        self.lock += now - self.threads[n].locking;
        self.next_first(n, [self.locking(false), Do::Effect(Effect::Claim(port))]);
    }

    fn claim(&mut self, n: usize, port: u32) {
        let arbitration = self.setup.arbitration;
        let Some(entry) = self.fifo.claim(arbitration.entry, port) else {
            if arbitration.busy == Busy::NextPort {
                // The entries before it may be this thread's own: it looks after its other ports.
                (self.outs[port as usize].taken, self.outs[port as usize].filled) = (false, self.outs[port as usize].filled - 1);
                return self.next_first(n, [Do::Compute(self.ports.poll)]);
            }
            // The state machine has not come by yet.
            return self.next_first(n, [Do::Register, Do::Effect(Effect::Claim(port))]);
        };
        let Some(waiting) = self.outs[port as usize].queue.front().copied() else { return };
        let (cells, bytes) = (waiting.bytes.div_ceil(self.ports.cell), self.ports.cell);
        let last = waiting.sent + 1 == cells;
        let left = waiting.bytes - waiting.sent * bytes;
        let cell = Cell { frame: 0, first: waiting.sent == 0, last, bytes: left.min(bytes) };
        let unlock = [self.locking(true), Do::Effect(Effect::Unlock)];
        let mut todo = Vec::new();
        if arbitration.lock == Lock::Entry {
            todo.extend(unlock);
        }
        if cell.first {
            todo.extend([Do::Compute(self.ports.packet), Do::Memory(self.access("sram", false, 8))]);
        }
        todo.extend([
            Do::Compute(self.ports.transmit_cell),
            Do::Memory(self.access("sdram", false, bytes)),
            Do::Memory(self.access("ix", true, bytes)),
            Do::Register,
            Do::Effect(Effect::Valid(port, entry, cell)),
        ]);
        if arbitration.lock == Lock::Cell {
            todo.extend(unlock);
        }
        self.next_first(n, todo);
    }

    fn valid(&mut self, n: usize, port: u32, entry: usize, cell: Cell, now: u64) {
        self.fifo.entries[entry] = Some((port, cell));
        self.drain(now);
        let out = &mut self.outs[port as usize];
        out.taken = false;
        if cell.last {
            out.queue.pop_front();
            // The buffer goes back to the list of free ones.
            let free = Do::Memory(self.access("sram", true, 4));
            self.threads[n].todo.push_back(free);
        } else if let Some(front) = out.queue.front_mut() {
            front.sent += 1;
        }
    }

    fn drain(&mut self, now: u64) {
        if !self.fifo.moving && self.fifo.entries[self.fifo.next].is_some() {
            self.fifo.moving = true;
            self.at(now + u64::from(self.ports.entry_cycles), What::Moved);
        }
    }

    fn moved(&mut self, now: u64) {
        self.fifo.moving = false;
        let at = self.fifo.next;
        if let Some((port, cell)) = self.fifo.entries[at].take() {
            self.fifo.owned[at] = false;
            self.fifo.next = (at + 1) % self.fifo.entries.len();
            let gap = if cell.last { self.ports.gap } else { 0 };
            let out = &mut self.outs[port as usize];
            out.free = out.free.max(now) + wire_cycles(cell.bytes + gap, self.ports, self.setup.machine.clock_mhz);
            let time = out.free;
            self.at(time, What::Sent(port, cell.last, cell.bytes));
        }
        self.drain(now);
    }

    fn sent(&mut self, port: u32, last: bool, bytes: u32) {
        self.outs[port as usize].filled -= 1;
        self.report.sent += u64::from(last);
        self.bits[1] += u64::from(bytes) * 8;
    }

    /// A cell has come, and the next one begins.
    fn arrive(&mut self, port: u32, now: u64) {
        let clock = self.setup.machine.clock_mhz;
        let (cell_bytes, depth) = (self.ports.cell, self.ports.buffer_cells as usize);
        let way = &mut self.ins[port as usize];
        let mut wait = 0;
        if let Some((frame, bytes, came)) = way.arriving.take() {
            let part = (bytes - came).min(cell_bytes);
            let (first, last) = (came == 0, came + part == bytes);
            self.bits[0] += u64::from(part) * 8;
            if way.buffer.len() >= depth && !way.broken {
                way.broken = true;
                self.report.dropped += 1;
            }
            if !way.broken {
                way.buffer.push_back(Cell { frame, first, last, bytes: part });
            }
            if last {
                self.report.received += 1;
                way.broken = false;
                let on_wire = bytes + self.ports.gap;
                wait = wire_cycles(self.ports.gap, self.ports, clock)
                    + (wire_cycles(on_wire, self.ports, clock) as f64 * (1.0 / self.load - 1.0)) as u64;
            } else {
                way.arriving = Some((frame, bytes, came + part));
            }
        }
        if way.arriving.is_none() {
            let size = self.setup.sizes[(self.frames % self.setup.sizes.len() as u64) as usize];
            way.arriving = Some((self.frames, size, 0));
            self.frames += 1;
        }
        let next = way.arriving.map_or(0, |(_, bytes, came)| (bytes - came).min(cell_bytes));
        self.at(now + wait + wire_cycles(next, self.ports, clock), What::Arrive(port));
    }
}
