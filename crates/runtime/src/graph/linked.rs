//! Elements that run as one: bursts of arrivals go through a cluster, what leaves it goes on as ever.
//!
//! Packets of a burst lie in the graph's pool, from the source that put them there to the queue they wait in and what empties that.
//!
//! Invariants: a burst is arrivals that follow each other without anything between them that could be seen: no other source, no timer. What leaves the
//! cluster at once, with the tasks behind it, is finished before the next packet is run. What leaves by an exit enters queues in order; a queue
//! that is full gets its tasks run first, as it would have after each arrival. Packets stay in the pool only where bursts are.

use super::program::Ended as How;
use super::{Body, Graph, Packet, Push};
use crate::io::LinkType;
use netil::app::{Application, End};
use netil::cluster::{Cluster, Ended, Host, Plan};
use netil::exec::{CloneOut, State};
use netil::pool::Pool;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// The most arrivals of a burst.
const BURST: usize = 256;
/// Packets that the pool has room for; when there are more, they come one at a time, each in memory of its own.
const SLOTS: u32 = 4096;

/// A cluster of this graph.
pub(super) struct Linked {
    cluster: Box<dyn Cluster>,
    plan: Plan,
    /// The entry for each input that has one.
    entries: HashMap<(usize, u32), u32>,
    slots: Vec<u32>,
    /// Arrivals that may be run together.
    most: usize,
}

impl Linked {
    /// Packets that came into each element that is a member.
    pub(super) fn entered(&self) -> impl Iterator<Item = (usize, u64)> {
        self.plan.members.iter().map(|node| *node as usize).zip(self.cluster.entered())
    }
}

impl super::Node {
    /// True if it cannot be told here that some arrivals were run before the tasks behind them.
    fn takes_bursts(&self) -> bool {
        match &self.body {
            Body::Program(program) => !program.sets_timers(),
            Body::Native(native) => native.as_ref().is_some_and(|native| native.is_source() || native.takes_bursts()),
        }
    }
}

/// A cluster, and which elements it is of.
pub type Made = (Plan, Box<dyn Cluster>);

/// Makes a cluster of an application, if there is something to make it of.
pub type Linking = Box<dyn FnOnce() -> Option<Made> + Send>;

/// A cluster that is to be, or is being, made beside the work.
pub(super) struct Later {
    application: Arc<Application>,
    /// Arrivals from which it is worth its while.
    after: u64,
    linking: Option<Linking>,
    made: Option<Receiver<Option<Made>>>,
}

/// The graph while a cluster of it runs.
struct Serving<'g> {
    graph: &'g mut Graph,
    plan: &'g Plan,
    rounds: u8,
    /// There may be several arrivals in a burst, so that tasks must be run in between where it shows.
    several: bool,
}

impl Graph {
    /// Lets some elements of the application that this graph was made of run as one. They must neither set timers nor write to a console: the graph looks
    /// at both after each run of a program.
    pub fn link(&mut self, application: &Application, plan: Plan, cluster: Box<dyn Cluster>) {
        let inputs = application.wires.iter().map(|wire| wire.to);
        let entry = |to: End| plan.entry(application, to).map(|entry| ((to.instance as usize, to.port), entry));
        let entries = inputs.filter_map(entry).collect();
        let most = if self.may_burst() { BURST } else { 1 };
        self.pool = Pool::new(SLOTS, self.info.size);
        self.linked = Some(Linked { cluster, plan, entries, slots: Vec::new(), most });
    }

    /// Elements because of which arrivals cannot be run in bursts.
    pub fn one_at_a_time(&self) -> Vec<usize> {
        self.nodes.iter().enumerate().filter(|(_, node)| !node.takes_bursts()).map(|(at, _)| at).collect()
    }

    /// The same, made by another thread once there were so many arrivals. What runs as one gives what it gave before, so it does not matter when it is there.
    pub fn link_later(&mut self, application: Arc<Application>, after: u64, linking: Linking) {
        self.later = Some(Later { application, after, linking: Some(linking), made: None });
    }

    /// Begins to make what is to be made later, or takes it when it is there.
    pub(super) fn look_for_links(&mut self) {
        let Some(later) = self.later.as_mut().filter(|later| self.arrivals >= later.after) else { return };
        if let Some(linking) = later.linking.take() {
            let (sender, receiver) = channel();
            // Nobody may be there any more when it is made.
            let begun = std::thread::Builder::new().name("linking".to_owned()).spawn(move || _ = sender.send(linking()));
            later.made = begun.ok().map(|_| receiver);
        }
        let made = later.made.as_ref().map_or(Err(TryRecvError::Disconnected), Receiver::try_recv);
        let application = Arc::clone(&later.application);
        match made {
            Err(TryRecvError::Empty) => return,
            Ok(Some((plan, cluster))) if self.observer.is_none() => self.link(&application, plan, cluster),
            _ => {}
        }
        self.later = None;
    }

    /// Whether it cannot be told that some arrivals were run before the tasks behind them: only queues and what empties them at once are there, and no
    /// program has timers.
    fn may_burst(&self) -> bool {
        self.nodes.iter().all(super::Node::takes_bursts)
    }

    /// Takes arrivals of a source that come before anything else happens, and runs them. False if there is none that goes into the cluster.
    pub(super) fn arrive_many(&mut self, source: usize) -> bool {
        let Some(mut linked) = self.linked.take() else { return false };
        let arrived = linked.most > 1 && self.fill(source, &mut linked);
        self.linked = Some(linked);
        arrived
    }

    fn fill(&mut self, source: usize, linked: &mut Linked) -> bool {
        if !self.pending.is_empty() || !self.recirculated.is_empty() {
            return false;
        }
        let timer = self.next_timer().map_or(u64::MAX, |(when, _)| when);
        let mut slots = std::mem::take(&mut linked.slots);
        let (mut next, mut last) = (Some(source), false);
        while let Some(source) = next {
            let most = if last { slots.len() + 1 } else { linked.most };
            let (stops, some) = (self.stops, self.take_arrivals(source, timer, linked, most, &mut slots));
            self.owed = self.owed.filter(|_| !some);
            if !some || last || slots.len() >= linked.most || self.sources.len() == 1 {
                break;
            }
            let found = self.next_arrival();
            // If the end was asked for when that arrival was looked for, it still comes, and nothing after it.
            last = self.stops != stops;
            self.owed = found.filter(|_| last);
            next = found.map(|(_, node)| node);
        }
        let some = !slots.is_empty();
        if some {
            self.run_linked(linked, &slots, 0);
        }
        slots.clear();
        linked.slots = slots;
        some
    }

    /// Takes arrivals of a source that come before a timer and before those of others. False if there are none, or they do not go into the cluster.
    fn take_arrivals(&mut self, source: usize, timer: u64, linked: &Linked, most: usize, slots: &mut Vec<u32>) -> bool {
        let way = self.nodes[source].outputs.first().and_then(|ways| ways.first()).filter(|way| !way.recirculates);
        let entry = way.and_then(|way| linked.entries.get(&(way.to.instance as usize, way.to.port)).copied());
        let Some(entry) = entry else { return false };
        let until = self.others_next(source).min(timer);
        let (before, begun) = (slots.len(), self.begin_run());
        let most = most.min(before + self.pool.room());
        let last = self.with_native(source, |native, ctx| native.arrive_many(most, until, slots, ctx)).flatten();
        self.end_run_of(source, begun);
        let Some(last) = last else { return false };
        self.pool.enter(&slots[before..], entry);
        let taken = (slots.len() - before) as u64;
        self.nodes[source].stats.left_many(0, taken);
        self.clock.arrive(last);
        self.arrivals += taken;
        true
    }

    /// Until when arrivals at this source come before those at others. At the same time the source that was declared first is first.
    fn others_next(&mut self, source: usize) -> u64 {
        let (mut until, mut behind) = (u64::MAX, false);
        for index in 0..self.sources.len() {
            let node = self.sources[index];
            behind |= node == source;
            if node != source {
                let time = self.with_native(node, |native, ctx| native.next_arrival(ctx)).flatten();
                until = until.min(time.map_or(u64::MAX, |time| time.saturating_add(u64::from(behind))));
            }
        }
        until
    }

    fn run_linked(&mut self, linked: &mut Linked, slots: &[u32], rounds: u8) {
        let mut pool = std::mem::take(&mut self.pool);
        let (budget, begun) = (self.budget, self.begin_run());
        let several = linked.most > 1;
        let mut serving = Serving { graph: self, plan: &linked.plan, rounds, several };
        linked.cluster.run(slots, budget, &mut pool, &mut serving);
        self.end_linked_run(slots.len(), begun);
        self.pool = pool;
        if several {
            // Looking ahead may have found the end, which comes behind these tasks.
            self.settle();
            self.run_tasks();
        }
    }

    /// The arrival that is on its way, and those that follow it, if they go into the cluster. False if not.
    pub(super) fn arrive_linked(&mut self, source: usize) -> bool {
        let Some(mut linked) = self.linked.take() else { return false };
        let entry = self.pending.last().and_then(|push| linked.entries.get(&(push.node, push.port)).copied());
        let goes = entry.filter(|_| self.pending.len() == 1 && self.pool.room() > 0);
        if let (Some(entry), Some(first)) = (goes, self.pending.last().map(|push| (push.node, push.port))) {
            let rounds = self.collect(source, first, &mut linked);
            let slots = std::mem::take(&mut linked.slots);
            self.pool.enter(&slots, entry);
            self.run_linked(&mut linked, &slots, rounds);
            linked.slots = slots;
            linked.slots.clear();
        }
        self.linked = Some(linked);
        goes.is_some()
    }

    /// Takes the packet on its way and the arrivals that follow it without anything between. How often they were led back.
    fn collect(&mut self, source: usize, to: (usize, u32), linked: &mut Linked) -> u8 {
        let (mut rounds, mut last) = (0, false);
        while let Some(Push { packet, .. }) = self.pending.pop() {
            rounds = packet.rounds;
            linked.slots.extend(self.pool.place(packet.buffer, packet.link.number()));
            let stops = self.stops;
            if last || linked.slots.len() >= linked.most || self.pool.room() == 0 || !self.follows(source) {
                break;
            }
            last = self.stops != stops;
            self.with_native(source, |native, ctx| native.arrive(ctx));
            let same = self.pending.len() == 1 && self.pending.last().is_some_and(|p| (p.node, p.port) == to && p.packet.rounds == rounds);
            if !same {
                break;
            }
        }
        rounds
    }

    /// All tasks until none has work, whoever has asked for the end meanwhile: of what takes bursts each task comes to an end.
    fn run_tasks(&mut self) {
        let mut worked = true;
        while std::mem::take(&mut worked) {
            for index in 0..self.tasks.len() {
                worked |= self.task(self.tasks[index]);
            }
        }
    }

    /// True if the next thing to happen is an arrival at this source; it has then been counted.
    fn follows(&mut self, source: usize) -> bool {
        let (timer, stops) = (self.next_timer().map(|(when, _)| when), self.stops);
        let found = self.next_arrival();
        if self.stops != stops {
            self.owed = found.filter(|(_, node)| *node != source);
        }
        match found {
            Some((time, node)) if node == source && timer.is_none_or(|when| time < when) => {
                self.clock.arrive(time);
                self.arrivals += 1;
                true
            }
            _ => false,
        }
    }

    /// Lets packets of the pool enter a native element, in order; one that is full gets its tasks run first.
    fn enter_slots(&mut self, to: End, mut slots: &[u32]) {
        let node = to.instance as usize;
        while !slots.is_empty() {
            let mut room = self.room(node);
            if room == 0 {
                self.run_tasks();
                room = self.room(node).max(1);
            }
            let (now, later) = slots.split_at(room.min(slots.len()));
            self.moved = true;
            self.nodes[node].stats.packets += now.len() as u64;
            let begun = self.begin_run();
            self.with_native(node, |native, ctx| native.push_slots(to.port, now, ctx));
            self.end_run_of(node, begun);
            self.settle();
            slots = later;
        }
    }

    /// Packets that a native element can take without losing one.
    fn room(&self, node: usize) -> usize {
        if let Body::Native(Some(native)) = &self.nodes[node].body { native.room() } else { usize::MAX }
    }

    /// The packet of a slot, which is then free.
    pub(super) fn lift(&mut self, slot: u32, rounds: u8) -> Packet {
        lift(&mut self.pool, slot, rounds)
    }
}

fn lift(pool: &mut Pool, slot: u32, rounds: u8) -> Packet {
    let link = LinkType::from_file(pool.slot(slot).tag);
    let buffer = pool.lift(slot);
    pool.give_back(&[slot]);
    Packet { buffer, rounds, link }
}

impl Serving<'_> {
    fn node(&self, ended: &Ended) -> usize {
        self.plan.members[ended.member as usize] as usize
    }

    fn how(&self, node: usize, ended: &Ended) -> How {
        match &self.graph.nodes[node].body {
            Body::Program(program) => program.ended(ended.disposition),
            Body::Native(..) => How::Nothing,
        }
    }

    /// The graph with the pool in it.
    fn with_pool<T>(&mut self, pool: &mut Pool, work: impl FnOnce(&mut Graph) -> T) -> T {
        std::mem::swap(&mut self.graph.pool, pool);
        let result = work(self.graph);
        std::mem::swap(&mut self.graph.pool, pool);
        result
    }
}

impl Host for Serving<'_> {
    fn state(&mut self, member: u32) -> &mut State {
        let node = self.plan.members[member as usize] as usize;
        match &mut self.graph.nodes[node].body {
            Body::Program(program) => &mut program.state,
            Body::Native(..) => unreachable!("members are programs"),
        }
    }

    fn exit(&mut self, exit: u32, slots: &[u32], pool: &mut Pool) {
        let (to, rounds, several) = (self.plan.exits[exit as usize], self.rounds, self.several);
        self.with_pool(pool, |graph| {
            if several {
                return graph.enter_slots(to, slots);
            }
            for slot in slots {
                let packet = graph.lift(*slot, rounds);
                graph.pending.push(Push { node: to.instance as usize, port: to.port, packet });
                graph.settle();
            }
        });
    }

    fn ended(&mut self, ended: Ended, slot: u32, pool: &mut Pool) {
        let node = self.node(&ended);
        let how = self.how(node, &ended);
        self.graph.stop(node, &how, pool.slot(slot).present != 0);
        pool.give_back(&[slot]);
    }

    fn leave(&mut self, ended: Ended, slot: u32, copies: Vec<CloneOut>, pool: &mut Pool) {
        let node = self.node(&ended);
        let how = self.how(node, &ended);
        let (rounds, several) = (self.rounds, self.several);
        let packet = lift(pool, slot, rounds);
        self.with_pool(pool, |graph| {
            let mark = graph.pending.len();
            for copy in copies {
                let port = match &graph.nodes[node].body {
                    Body::Program(program) => program.output_of(copy.port),
                    Body::Native(..) => 0,
                };
                graph.leave(node, port, Packet { buffer: copy.buffer, rounds, link: packet.link });
            }
            graph.end(node, how, packet);
            graph.pending[mark..].reverse();
            graph.settle();
            if several {
                graph.run_tasks();
            }
        });
    }
}
