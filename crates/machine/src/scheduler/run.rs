//! The scheduler and its cores, event by event. Events of the same cycle happen in the order in
//! which they were made.

use super::{Arrival, GroupAssignment, Report, Scheduler};
use crate::description::Machine;
use crate::model::memory::Memories;
use crate::stages::{Parts, received};
use crate::steps::{self, Access, Step};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// What keeps entries in order, or apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Tag {
    atomic: bool,
    /// Of a flow or of an element.
    flow: bool,
    value: u64,
}

/// A packet in the machine.
struct Entry {
    /// Its number among all.
    number: u64,
    arrival: u64,
    part: usize,
    at: usize,
    group: usize,
    tag: Option<Tag>,
    /// The tag that it waits for.
    wants: Option<Option<Tag>>,
    /// Another entry has its atomic tag.
    blocked: bool,
    /// No core has it, and it is in no queue.
    away: bool,
    /// It has only to be sent.
    leaving: bool,
}

#[derive(Default)]
struct Core {
    groups: Vec<usize>,
    entry: Option<usize>,
    /// What it does before it goes on with the program, the next one last.
    before: Vec<Step>,
    asleep: bool,
    since: u64,
    busy: u64,
}

#[derive(Default)]
struct Queue {
    /// Entries that come back, and new ones.
    back: VecDeque<usize>,
    new: VecDeque<usize>,
    taken: u64,
    longest: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A core goes on.
    Core(usize),
    /// An entry comes to its group: submitted, or back from a unit.
    Comes(usize, bool),
}

pub(super) struct Model<'m> {
    machine: &'m Machine,
    scheduler: &'m Scheduler,
    packets: &'m [Parts],
    plan: &'m GroupAssignment,
    by_flow: bool,
    count: u64,
    memories: Memories,
    entries: Vec<Option<Entry>>,
    free: Vec<usize>,
    cores: Vec<Core>,
    queues: Vec<Queue>,
    tags: HashMap<Tag, VecDeque<usize>>,
    events: BinaryHeap<Reverse<(u64, u64, What)>>,
    made: u64,
    arrived: u64,
    report: Report,
    latency: u64,
}

impl<'m> Model<'m> {
    pub(super) fn new(
        machine: &'m Machine,
        scheduler: &'m Scheduler,
        packets: &'m [Parts],
        plan: &'m GroupAssignment,
        by_flow: bool,
        count: u64,
    ) -> Self {
        let groups = |core: usize| (0..plan.groups.len()).filter(|n| plan.groups[*n].cores.contains(&core)).collect();
        let core = |n: usize| Core { groups: groups(n), asleep: true, ..Core::default() };
        let report = Report {
            packets: 0,
            cycles: 0,
            packets_per_second: 0.0,
            latency: 0.0,
            cores: Vec::new(),
            taken: Vec::new(),
            longest: Vec::new(),
            switches: 0,
            waited: 0,
            memories: Vec::new(),
        };
        Self {
            machine,
            scheduler,
            packets,
            plan,
            by_flow,
            count: if packets.is_empty() { 0 } else { count },
            memories: Memories::new(machine),
            entries: Vec::new(),
            free: Vec::new(),
            cores: (0..machine.processor.cores as usize).map(core).collect(),
            queues: plan.groups.iter().map(|_| Queue::default()).collect(),
            tags: HashMap::new(),
            events: BinaryHeap::new(),
            made: 0,
            arrived: 0,
            report,
            latency: 0,
        }
    }

    pub(super) fn run(mut self) -> Report {
        (0..self.machine.receive.slots).for_each(|_| self.arrive(0));
        while let Some(Reverse((now, _, what))) = self.events.pop() {
            match what {
                What::Core(core) => self.go_on(core, now),
                What::Comes(id, back) => self.queue(id, back, now),
            }
        }
        self.reported()
    }

    fn reported(mut self) -> Report {
        let cycles = self.report.cycles;
        let per = |n: f64, of: u64| if of == 0 { 0.0 } else { n / of as f64 };
        self.report.packets_per_second = per(self.report.packets as f64 * self.machine.clock_mhz * 1e6, cycles);
        self.report.latency = per(self.latency as f64, self.report.packets);
        let used = self.cores.iter().enumerate().filter(|(_, core)| !core.groups.is_empty());
        self.report.cores = used.map(|(n, core)| (n, per(core.busy as f64, cycles))).collect();
        self.report.taken = self.queues.iter().map(|queue| queue.taken).collect();
        self.report.longest = self.queues.iter().map(|queue| queue.longest).collect();
        self.report.memories = self.memories.uses(cycles).0;
        self.report
    }

    fn at(&mut self, time: u64, what: What) {
        self.made += 1;
        self.events.push(Reverse((time, self.made, what)));
    }

    fn place(&self, number: u64) -> usize {
        (number % self.packets.len() as u64) as usize
    }

    /// The packet's number in the trace, and what is done for it.
    fn packet(&self, id: usize) -> &'m Parts {
        &self.packets[self.entries[id].as_ref().map_or(0, |entry| self.place(entry.number))]
    }

    /// The next packet, if there is one.
    fn arrive(&mut self, now: u64) {
        if self.arrived == self.count {
            return;
        }
        let number = self.arrived;
        self.arrived += 1;
        let place = self.place(number);
        let packet = &self.packets[place];
        self.memories.arrive(steps::buffer(place, self.machine), packet.bytes);
        let tag = self.arrival(packet.flow);
        let group = packet.parts.first().and_then(|(element, _)| self.plan.group_of(*element)).unwrap_or(0);
        let leaving = packet.parts.is_empty();
        let entry = Entry { number, arrival: now, part: 0, at: 0, group, tag, wants: None, blocked: false, away: true, leaving };
        let id = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            self.entries.len() - 1
        });
        self.entries[id] = Some(entry);
        let holds = tag.is_none_or(|tag| self.joins(id, tag));
        match holds {
            true => self.queue(id, false, now),
            false => self.with(id, |entry| entry.blocked = true),
        }
    }

    fn arrival(&self, flow: u64) -> Option<Tag> {
        match self.scheduler.arrival {
            _ if self.by_flow => Some(Tag { atomic: true, flow: true, value: flow }),
            Arrival::Untagged => None,
            Arrival::Ordered => Some(Tag { atomic: false, flow: true, value: flow }),
            Arrival::Atomic => Some(Tag { atomic: true, flow: true, value: flow }),
        }
    }

    fn with(&mut self, id: usize, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries[id].as_mut() {
            change(entry);
        }
    }

    /// An entry comes to a tag, behind those that have it; whether it may run.
    fn joins(&mut self, id: usize, tag: Tag) -> bool {
        let all = self.tags.entry(tag).or_default();
        all.push_back(id);
        !tag.atomic || all.len() == 1
    }

    /// An entry is there to be taken; a core that sleeps takes it.
    fn queue(&mut self, id: usize, back: bool, now: u64) {
        let group = self.entries[id].as_ref().map_or(0, |entry| entry.group);
        self.with(id, |entry| entry.away = false);
        let queue = &mut self.queues[group];
        if back {
            queue.back.push_back(id)
        } else {
            queue.new.push_back(id)
        }
        queue.longest = queue.longest.max(queue.back.len() + queue.new.len());
        let sleeper = self.plan.groups[group].cores.iter().copied().find(|core| self.cores[*core].asleep);
        if let Some(core) = sleeper {
            self.cores[core].asleep = false;
            self.at(now, What::Core(core));
        }
    }

    fn go_on(&mut self, core: usize, now: u64) {
        let Some(id) = self.cores[core].entry else { return self.get(core, now) };
        if let Some(step) = self.cores[core].before.pop() {
            return self.step(core, id, step, now);
        }
        let Some(entry) = self.entries[id].as_mut() else { return };
        let packet = &self.packets[(entry.number % self.packets.len() as u64) as usize];
        if entry.leaving {
            return self.gone(core, id, now);
        }
        match packet.parts.get(entry.part).map(|(_, steps)| steps.get(entry.at)) {
            Some(Some(step)) => {
                entry.at += 1;
                self.step(core, id, *step, now);
            }
            _ => self.next_part(core, id, now),
        }
    }

    /// The next entry of a core's groups, those that come back first.
    fn get(&mut self, core: usize, now: u64) {
        let groups = self.cores[core].groups.clone();
        let back = groups.iter().find_map(|group| self.queues[*group].back.pop_front().map(|id| (*group, id)));
        let Some((group, id)) = back.or_else(|| groups.iter().find_map(|group| self.queues[*group].new.pop_front().map(|id| (*group, id))))
        else {
            self.cores[core].asleep = true;
            return;
        };
        self.queues[group].taken += 1;
        let place = self.entries[id].as_ref().map_or(0, |entry| self.place(entry.number));
        let reads = received(self.machine, steps::buffer(place, self.machine));
        let leaving = self.entries[id].as_ref().is_some_and(|entry| entry.leaving);
        let own = &mut self.cores[core];
        (own.entry, own.since) = (Some(id), now);
        own.before = if leaving { Self::sending(self.machine, place) } else { reads.into_iter().map(Step::Access).collect() };
        self.at(now + u64::from(self.scheduler.get_work), What::Core(core));
    }

    /// What is done to send a packet, the first last.
    fn sending(machine: &Machine, place: usize) -> Vec<Step> {
        let port = &machine.transmit;
        let access = |(name, count): (&String, &u32)| {
            let memory = machine.memory_number(name)? as u32;
            let address = steps::buffer(place, machine);
            Some(vec![Step::Access(Access { memory, write: true, units: 1, address, shared: None }); *count as usize])
        };
        let mut all: Vec<Step> = port.accesses.iter().filter_map(access).flatten().collect();
        all.push(Step::Compute(port.instructions as u32));
        all
    }

    fn step(&mut self, core: usize, id: usize, step: Step, now: u64) {
        match step {
            Step::Compute(count) => self.at(now + u64::from(count.div_ceil(self.machine.processor.issue)), What::Core(core)),
            Step::Access(access) => {
                let done = self.memories.request(&access, core, now + 1).max(now + 1);
                if self.machine.is_away(&access) {
                    self.with(id, |entry| entry.away = true);
                    self.at(done, What::Comes(id, true));
                    self.part(core, now + 1);
                } else {
                    self.at(done, What::Core(core));
                }
            }
            Step::Enter(_) | Step::Leave(_) if self.by_flow => self.go_on(core, now),
            Step::Enter(element) => self.switch(core, id, Some(Tag { atomic: true, flow: false, value: element.into() }), now),
            Step::Leave(_) => {
                let tag = self.arrival(self.packet(id).flow);
                self.switch(core, id, tag, now);
            }
        }
    }

    /// A core has no entry any more.
    fn part(&mut self, core: usize, time: u64) {
        let own = &mut self.cores[core];
        own.busy += time - own.since;
        own.entry = None;
        own.before.clear();
        self.at(time, What::Core(core));
    }

    fn next_part(&mut self, core: usize, id: usize, now: u64) {
        let packet = self.packet(id);
        let Some(entry) = self.entries[id].as_mut() else { return };
        (entry.part, entry.at) = (entry.part + 1, 0);
        let Some((element, _)) = packet.parts.get(entry.part) else {
            // It leaves when it has no tag any more: then those before it have left.
            entry.leaving = true;
            let place = (entry.number % self.packets.len() as u64) as usize;
            self.cores[core].before = Self::sending(self.machine, place);
            return self.switch(core, id, None, now);
        };
        let group = self.plan.group_of(*element).unwrap_or(0);
        if group == entry.group {
            return self.go_on(core, now);
        }
        (entry.group, entry.away) = (group, true);
        let time = now + u64::from(self.scheduler.submit);
        self.at(time, What::Comes(id, false));
        self.part(core, time);
    }

    /// An entry changes its tag; if that has to wait, its core takes other work.
    fn switch(&mut self, core: usize, id: usize, to: Option<Tag>, now: u64) {
        let Some(entry) = self.entries[id].as_mut() else { return };
        if entry.tag == to {
            return self.go_on(core, now);
        }
        entry.wants = Some(to);
        self.report.switches += 1;
        let done = now + u64::from(self.scheduler.switch);
        match entry.tag {
            Some(tag) => self.settle(tag, done),
            None => self.changed(id, done),
        }
        let Some(entry) = self.entries[id].as_mut() else { return };
        if entry.wants.is_none() && !entry.blocked {
            return self.at(done, What::Core(core));
        }
        entry.away = true;
        self.report.waited += 1;
        self.part(core, done);
    }

    /// Entries at the head of a tag that want another one get it.
    fn settle(&mut self, tag: Tag, now: u64) {
        while let Some(id) = self.tags.get(&tag).and_then(|all| all.front().copied()) {
            let Some(entry) = self.entries[id].as_mut() else { return };
            if entry.wants.is_some() {
                self.tags.get_mut(&tag).and_then(VecDeque::pop_front);
                self.changed(id, now);
                continue;
            }
            if tag.atomic && std::mem::take(&mut entry.blocked) {
                self.granted(id, now);
            }
            return;
        }
        self.tags.remove(&tag);
    }

    /// The change that an entry waited for is done.
    fn changed(&mut self, id: usize, now: u64) {
        let Some(to) = self.entries[id].as_mut().and_then(|entry| entry.wants.take()) else { return };
        let holds = to.is_none_or(|tag| self.joins(id, tag));
        self.with(id, |entry| (entry.tag, entry.blocked) = (to, !holds));
        if holds {
            self.granted(id, now);
        }
    }

    /// An entry may go on: if no core has it, it comes back to its group.
    fn granted(&mut self, id: usize, now: u64) {
        if self.entries[id].as_ref().is_some_and(|entry| entry.away) {
            self.with(id, |entry| entry.away = false);
            self.at(now, What::Comes(id, true));
        }
    }

    fn gone(&mut self, core: usize, id: usize, now: u64) {
        let Some(entry) = self.entries[id].take() else { return };
        self.free.push(id);
        self.latency += now - entry.arrival;
        self.report.packets += 1;
        self.report.cycles = self.report.cycles.max(now);
        self.part(core, now);
        self.arrive(now);
    }
}
