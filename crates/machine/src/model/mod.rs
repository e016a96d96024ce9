//! Cores, hardware threads, memories and locks, event by event.
//!
//! A core issues for one thread at a time. With the schedule `swap` a thread keeps its core until
//! it waits; with `interleave` each cycle another ready thread issues. An access takes one cycle to
//! issue, and its thread waits until it is served. Events of one cycle happen in the order of
//! cores; nothing depends on chance, so equal inputs give equal reports.
//!
//! While all threads of a core that are ready only compute, their turns are not events: the core is
//! told when that ends, and what they have issued until then is computed (`jump`).
//!
//! A packet is in the input buffer from its arrival until its thread has done with it. Left out:
//! instruction fetch, the wire's own time, and what packets do to the order in which the program
//! sees them: the trace is that of one packet after the other.

mod cache;
mod jump;
pub(crate) mod memory;
mod output;
mod repeat;
mod scheme;
pub(crate) mod signature;
mod sync;

pub use memory::Use;
pub use scheme::Scheme;

use crate::description::{Machine, Schedule};
use crate::steps::{Step, Work};
use memory::Memories;
use output::{Output, Room};
use signature::Signature;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use sync::Sync;

/// How a machine is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How elements are kept from each other.
    pub scheme: Scheme,
    /// Packets to run: the trace is repeated until there are so many.
    pub packets: u64,
    /// The packet of the trace with which it begins.
    pub first: usize,
    /// Cycles between arrivals; without, there is always a next packet.
    pub interval: Option<f64>,
    /// End at the first packet that is dropped.
    pub until_drop: bool,
    /// End when the machine is in a state in which it has been before: with packets at a rate what
    /// follows repeats what was.
    pub until_repeat: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Report {
    /// The machine's name.
    pub machine: String,
    /// How elements were kept from each other.
    pub scheme: Scheme,
    /// Packets that left or ended.
    pub packets: u64,
    /// Packets that found the input full.
    pub dropped: u64,
    /// From the first arrival to the last end.
    pub cycles: u64,
    /// At the machine's clock.
    pub packets_per_second: f64,
    /// From arrival to end, on average, in cycles.
    pub latency: f64,
    /// Instructions issued, those of aborted transactions included.
    pub instructions: u64,
    /// By core, the part of all cycles in which it issued.
    pub cores: Vec<f64>,
    /// Memories.
    pub memories: Vec<Use>,
    /// Buses.
    pub buses: Vec<Use>,
    /// Where threads were, as parts of all their time.
    pub threads: Waits,
    /// Critical sections.
    pub sections: Sections,
}

/// Where threads were.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Waits {
    /// They issued, or were ready to.
    pub running: f64,
    /// They waited for a memory.
    pub memory: f64,
    /// They waited for a lock.
    pub lock: f64,
    /// They waited for a commit, to begin again.
    pub commit: f64,
    /// They waited for room in the output.
    pub output: f64,
    /// They waited for a packet.
    pub input: f64,
}

/// Critical sections.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Sections {
    /// How many were gone through.
    pub count: u64,
    /// How many waited for their lock.
    pub waited: u64,
    /// Transactions that were ended by a conflict.
    pub aborts: u64,
    /// The part of transactions that no conflict ended.
    pub commit_rate: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Memory,
    Lock,
    Commit,
    Output,
    Input,
}

/// A packet in the machine.
#[derive(Clone, Copy)]
struct Packet {
    /// Its number among all that arrived: which of the trace it is.
    number: u64,
    /// Its number among those that the input took in.
    order: u64,
    arrival: u64,
}

struct Thread {
    core: usize,
    state: State,
    /// Since when it is in that state.
    since: u64,
    /// When it may issue, if it is `Running` or waits for a memory.
    ready: u64,
    packet: Option<Packet>,
    at: usize,
    left: u64,
    waits: [u64; 6],
}

#[derive(Default)]
struct Core {
    last: usize,
    scheduled: Option<u64>,
    /// Nobody issues before.
    free: u64,
    busy: u64,
    jump: Option<jump::Jump>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Arrival,
    Issue(usize),
}

/// Runs packets on a machine.
pub fn simulate(machine: &Machine, work: &[Work], options: &Options) -> Report {
    simulate_with(machine, work, options, &Signature::of(machine, work, options.scheme))
}

/// Runs packets on a machine, with a signature that was made before.
pub(crate) fn simulate_with(machine: &Machine, work: &[Work], options: &Options, signature: &Signature) -> Report {
    let mut model = Model::new(machine, work, options, signature);
    if !work.is_empty() {
        model.run();
    }
    model.report()
}

struct Model<'m> {
    machine: &'m Machine,
    work: &'m [Work],
    options: &'m Options,
    threads: Vec<Thread>,
    cores: Vec<Core>,
    memories: Memories,
    sync: Sync<'m>,
    output: Output,
    events: BinaryHeap<Reverse<(u64, What)>>,
    /// Packets that wait in the input.
    waiting: VecDeque<Packet>,
    /// Packets that the input took in.
    accepted: u64,
    /// Packets of the input that threads have.
    taken: usize,
    arrived: u64,
    done: u64,
    dropped: u64,
    latency: u64,
    end: u64,
    instructions: u64,
    seen: repeat::Seen,
}

impl<'m> Model<'m> {
    fn new(machine: &'m Machine, work: &'m [Work], options: &'m Options, signature: &'m Signature) -> Self {
        let per_core = machine.processor.threads as usize;
        let thread = |n: usize| Thread {
            core: n / per_core,
            state: State::Running,
            since: 0,
            ready: 0,
            packet: None,
            at: 0,
            left: 0,
            waits: [0; 6],
        };
        let core = |n: usize| Core { last: n * per_core, ..Core::default() };
        Self {
            machine,
            work,
            options,
            threads: (0..machine.threads() as usize).map(thread).collect(),
            cores: (0..machine.processor.cores as usize).map(core).collect(),
            memories: Memories::new(machine),
            sync: Sync::new(machine, signature),
            output: Output::new(&machine.transmit),
            events: BinaryHeap::new(),
            waiting: VecDeque::new(),
            accepted: 0,
            taken: 0,
            arrived: 0,
            done: 0,
            dropped: 0,
            latency: 0,
            end: 0,
            instructions: 0,
            seen: repeat::Seen::new(options, work.len()),
        }
    }

    fn run(&mut self) {
        match self.options.interval {
            Some(_) => self.events.push(Reverse((0, What::Arrival))),
            None => self.refill(0),
        }
        (0..self.cores.len()).for_each(|core| self.wake_core(core, 0));
        while let Some(Reverse((now, what))) = self.events.pop() {
            match what {
                What::Arrival if self.repeats(now) => break,
                What::Arrival => self.arrive(now),
                What::Issue(core) => self.issue(core, now),
            }
            if self.options.until_drop && self.dropped > 0 {
                break;
            }
        }
    }

    fn work_of(&self, packet: u64) -> &'m Work {
        &self.work[self.place_of(packet)]
    }

    /// Which of the trace it is.
    fn place_of(&self, packet: u64) -> usize {
        ((self.options.first as u64 + packet) % self.work.len() as u64) as usize
    }

    /// A packet from the wire.
    fn arrive(&mut self, now: u64) {
        if self.waiting.len() + self.taken < self.machine.receive.slots as usize {
            self.accept(now);
            self.wake_for_input(now);
        } else {
            self.dropped += 1;
        }
        self.arrived += 1;
        if let Some(interval) = self.options.interval.filter(|_| self.arrived < self.options.packets) {
            self.events.push(Reverse((self.seen.arrival(self.arrived, interval), What::Arrival)));
        }
    }

    fn accept(&mut self, now: u64) {
        let (at, work) = (self.place_of(self.arrived), self.work_of(self.arrived));
        self.memories.arrive(crate::steps::buffer(at, self.machine), work.bytes);
        self.waiting.push_back(Packet { number: self.arrived, order: self.accepted, arrival: now });
        self.accepted += 1;
    }

    /// Without a rate, what leaves the input makes room for the next.
    fn refill(&mut self, now: u64) {
        while self.options.interval.is_none()
            && self.arrived < self.options.packets
            && self.waiting.len() + self.taken < self.machine.receive.slots as usize
        {
            self.accept(now);
            self.arrived += 1;
        }
        self.wake_for_input(now);
    }

    fn wake_for_input(&mut self, now: u64) {
        for n in 0..self.threads.len() {
            if self.threads[n].state == State::Input && self.waiting.iter().any(|packet| self.may_take(n, packet.number)) {
                self.set(n, State::Running, now);
            }
        }
    }

    /// Whether a thread is one for that packet.
    fn may_take(&self, thread: usize, packet: u64) -> bool {
        let spread = |among: usize| (crate::trace::mixed(self.work_of(packet).flow) % among as u64) as usize;
        match self.options.scheme {
            Scheme::Locks | Scheme::Transactions => true,
            Scheme::CpuAffinity => self.threads[thread].core == spread(self.cores.len()),
            Scheme::ThreadAffinity => thread == spread(self.threads.len()),
        }
    }

    /// A thread changes its state; it may issue from then on if that is `Running`.
    fn set(&mut self, n: usize, state: State, now: u64) {
        let thread = &mut self.threads[n];
        thread.waits[thread.state as usize] += now.saturating_sub(thread.since);
        (thread.state, thread.since) = (state, now);
        if state == State::Running {
            thread.ready = now;
            let core = thread.core;
            self.wake_core(core, now);
        }
    }

    fn wake_core(&mut self, core: usize, at: u64) {
        let at = at.max(self.cores[core].free);
        let scheduled = &mut self.cores[core].scheduled;
        if scheduled.is_none_or(|earlier| at < earlier) {
            *scheduled = Some(at);
            self.events.push(Reverse((at, What::Issue(core))));
        }
    }

    fn issue(&mut self, core: usize, now: u64) {
        if self.cores[core].scheduled != Some(now) {
            return;
        }
        self.cores[core].scheduled = None;
        self.land(core, now);
        let Some((thread, at)) = self.choose(core, now) else { return };
        if at > now {
            self.wake_core(core, at);
            return;
        }
        if self.leap(core, thread, now) {
            return;
        }
        if self.threads[thread].state == State::Memory {
            self.set(thread, State::Running, now);
            self.cores[core].scheduled = None;
        }
        let swap = if self.cores[core].last == thread { 0 } else { u64::from(self.machine.processor.swap_cycles) };
        self.cores[core].last = thread;
        let took = self.advance(thread, now + swap);
        self.cores[core].busy += took + swap;
        // Whoever is woken meanwhile waits until the core is free.
        self.cores[core].scheduled = None;
        self.cores[core].free = now + took + swap;
        self.wake_core(core, now + took + swap);
    }

    /// The thread that issues next, and when.
    fn choose(&self, core: usize, now: u64) -> Option<(usize, u64)> {
        let per_core = self.machine.processor.threads as usize;
        let last = self.cores[core].last;
        let skip = usize::from(self.machine.processor.schedule == Schedule::Interleave && !self.is_free(last));
        let order = (0..per_core).map(|n| core * per_core + (last - core * per_core + n + skip) % per_core);
        let can = |n: &usize| matches!(self.threads[*n].state, State::Running | State::Memory);
        let mut soonest: Option<(usize, u64)> = None;
        for n in order.filter(can) {
            let ready = self.threads[n].ready;
            if ready <= now {
                return Some((n, now));
            }
            if soonest.is_none_or(|(_, other)| ready < other) {
                soonest = Some((n, ready));
            }
        }
        soonest
    }

    /// Whether what a thread does next takes no turn: it is the end of what it did last.
    fn is_free(&self, n: usize) -> bool {
        let thread = &self.threads[n];
        let Some(packet) = thread.packet.filter(|_| thread.left == 0) else { return false };
        matches!(self.work_of(packet.number).steps.get(thread.at), None | Some(Step::Leave(_)))
    }

    /// Lets a thread issue; the cycles that its core was busy with it.
    fn advance(&mut self, n: usize, now: u64) -> u64 {
        if self.threads[n].left > 0 {
            return self.compute(n);
        }
        let Some(packet) = self.threads[n].packet else { return self.take(n, now) };
        let work = self.work_of(packet.number);
        let Some(step) = work.steps.get(self.threads[n].at) else { return self.leave(n, packet, work, now) };
        match step {
            Step::Compute(count) => {
                self.threads[n].at += 1;
                self.threads[n].left = (*count).into();
                self.compute(n)
            }
            Step::Access(access) => self.access(n, access, now),
            Step::Enter(lock) => self.enter(n, *lock, now),
            Step::Leave(lock) => self.exit(n, *lock, now),
        }
    }

    fn compute(&mut self, n: usize) -> u64 {
        let issue = u64::from(self.machine.processor.issue);
        let left = &mut self.threads[n].left;
        let issued = match self.machine.processor.schedule {
            Schedule::Swap => *left,
            Schedule::Interleave => issue.min(*left),
        };
        *left -= issued;
        self.instructions += issued;
        issued.div_ceil(issue)
    }

    fn take(&mut self, n: usize, now: u64) -> u64 {
        let Some(place) = (0..self.waiting.len()).find(|place| self.may_take(n, self.waiting[*place].number)) else {
            self.set(n, State::Input, now);
            return 0;
        };
        self.threads[n].packet = self.waiting.remove(place);
        self.threads[n].at = 0;
        self.taken += 1;
        let moved = matches!(self.options.scheme, Scheme::CpuAffinity | Scheme::ThreadAffinity);
        self.threads[n].left = if moved { self.machine.locks.enqueue as u64 } else { 0 };
        self.advance(n, now)
    }

    fn access(&mut self, n: usize, access: &crate::steps::Access, now: u64) -> u64 {
        self.instructions += 1;
        if let Some((start, undo)) = self.sync.touch(n, access) {
            self.set(n, State::Commit, now + 1);
            self.threads[n].at = start;
            self.threads[n].left = undo;
            return 1;
        }
        self.threads[n].at += 1;
        let done = self.memories.request(access, self.threads[n].core, now + 1);
        if done > now + 1 {
            self.set(n, State::Memory, now + 1);
        }
        self.threads[n].ready = done;
        1
    }

    /// Which locks a thread's packets share.
    fn domain(&self, n: usize) -> u32 {
        if self.options.scheme == Scheme::CpuAffinity { self.threads[n].core as u32 } else { 0 }
    }

    fn enter(&mut self, n: usize, lock: u32, now: u64) -> u64 {
        let start = self.threads[n].at;
        self.threads[n].at += 1;
        let cycles = u64::from(self.machine.locks.cycles);
        match self.options.scheme {
            Scheme::ThreadAffinity => 0,
            Scheme::Transactions => {
                self.sync.begin(n, start);
                cycles
            }
            _ => {
                if !self.sync.lock(self.domain(n), lock, n) {
                    self.set(n, State::Lock, now + cycles);
                }
                cycles
            }
        }
    }

    fn exit(&mut self, n: usize, lock: u32, now: u64) -> u64 {
        self.threads[n].at += 1;
        match self.options.scheme {
            Scheme::ThreadAffinity => {}
            Scheme::Transactions => {
                self.sync.commit(n);
                for other in 0..self.threads.len() {
                    if self.threads[other].state == State::Commit {
                        self.set(other, State::Running, now.max(self.threads[other].since));
                    }
                }
            }
            _ => {
                if let Some(next) = self.sync.unlock(self.domain(n), lock) {
                    self.set(next, State::Running, now.max(self.threads[next].since) + u64::from(self.machine.locks.cycles));
                }
            }
        }
        0
    }

    /// The packet is done with: it leaves when those before it have, if they must.
    fn leave(&mut self, n: usize, packet: Packet, work: &Work, now: u64) -> u64 {
        match self.output.room(packet.order, now) {
            Room::At(time) if time <= now => {}
            Room::At(time) => {
                self.set(n, State::Output, now);
                self.set(n, State::Running, time);
                return 0;
            }
            Room::Unknown => {
                self.output.wait(n);
                self.set(n, State::Output, now);
                return 0;
            }
        }
        let sent = self.output.send(packet.order, work.bytes, now);
        self.threads[n].packet = None;
        self.done += 1;
        self.latency += now - packet.arrival;
        self.end = self.end.max(now).max(sent);
        self.taken -= 1;
        for waiting in self.output.waiting() {
            self.set(waiting, State::Running, now.max(self.threads[waiting].since));
        }
        self.refill(now);
        self.advance(n, now)
    }

    fn report(mut self) -> Report {
        let end = self.end;
        let mut waits = [0_u64; 6];
        for n in 0..self.threads.len() {
            self.set(n, State::Input, end.max(self.threads[n].since));
            waits.iter_mut().zip(self.threads[n].waits).for_each(|(sum, one)| *sum += one);
        }
        let all = waits.iter().sum::<u64>().max(1) as f64;
        let part = |state: State| waits[state as usize] as f64 / all;
        let (memories, buses) = self.memories.uses(end);
        let per = |n: f64, of: u64| if of == 0 { 0.0 } else { n / of as f64 };
        let transactions = self.options.scheme == Scheme::Transactions;
        Report {
            machine: self.machine.name.clone(),
            scheme: self.options.scheme,
            packets: self.done,
            dropped: self.dropped,
            cycles: end,
            packets_per_second: per(self.done as f64 * self.machine.clock_mhz * 1e6, end),
            latency: per(self.latency as f64, self.done),
            instructions: self.instructions,
            cores: self.cores.iter().map(|core| per(core.busy as f64, end)).collect(),
            memories,
            buses,
            threads: Waits {
                running: part(State::Running),
                memory: part(State::Memory),
                lock: part(State::Lock),
                commit: part(State::Commit),
                output: part(State::Output),
                input: part(State::Input),
            },
            sections: Sections {
                count: self.sync.sections,
                waited: self.sync.waited,
                aborts: self.sync.aborts,
                commit_rate: if transactions { per(self.sync.clean_commits as f64, self.sync.sections) } else { 1.0 },
            },
        }
    }
}
