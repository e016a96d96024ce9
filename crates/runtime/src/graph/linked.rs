//! Elements that run as one: bursts of arrivals go through a cluster, what leaves it goes on as
//! ever.
//!
//! Packets of a burst lie in the graph's pool, from the source that put them there to the queue
//! they wait in and what empties that.
//!
//! Invariants: a burst is arrivals that follow each other without anything between them that could
//! be seen: no timer. When one is set that is due before the burst's last packet, as many packets
//! are run as come before ([`super::burst_cursor`]), and the others are the next arrivals. What
//! leaves the cluster at once, with the tasks behind it, is finished before the next packet is run.
//! What leaves by an exit enters queues in order; a queue that is full gets its tasks run first, as
//! it would have after each arrival; copies of one arrival enter together ([`ArrivalBurst`]).
//! Packets stay in the pool only where bursts are. If the end is asked for when the arrival behind
//! a burst is looked for, that is heard when it would be looked for with one packet at a time
//! ([`Found`]).

use super::builtin::TaskKind;
use super::burst_cursor::{ArrivalBurst, BurstCursor};
use super::cluster_context::ClusterContext;
use super::share::{Share, StateGuard};
use super::singles::Singles;
use super::source_merge::{Found, MergeSource, Sources};
use super::{BURST, Body, Graph, Push};
use netil::app::{Application, End};
use netil::cluster::{Cluster, Plan};
use netil::fault::caught;
use netil::pool::Pool;
use std::collections::HashMap;
use std::panic::resume_unwind;

/// Packets that the pool has room for; when there are more, they come one at a time, each in memory
/// of its own.
pub(super) const SLOTS: u32 = 4096;

/// A cluster of this graph.
pub(super) struct Linked {
    cluster: Box<dyn Cluster>,
    plan: Plan,
    /// The entry for each input that has one.
    entries: HashMap<(usize, u32), u32>,
    /// The entries by element and input.
    by_node: Vec<Vec<Option<u32>>>,
    sources: Sources,
    burst: ArrivalBurst,
    /// Arrivals that may be run together.
    most: usize,
    /// The cluster is for bursts only, and makes copies less well than one for single packets.
    gives_way: bool,
    /// The graph's while the cluster runs, and nothing else.
    pool: Pool,
}

impl Linked {
    /// Whether it gives way to machine code where many packets are copied.
    pub(super) fn gives_way(&self) -> bool {
        self.gives_way && self.burst.is_over()
    }

    /// Whether it copies packets itself while it runs them.
    pub(super) fn brings(&self) -> bool {
        self.cluster.brings()
    }

    /// What was taken has been run.
    pub(super) fn is_over(&self) -> bool {
        self.burst.is_over()
    }

    /// Whether members set timers, or one that is set may end a burst.
    pub(super) fn is_timed(&self) -> bool {
        self.burst.timed
    }

    /// Packets that are to be run next; when they arrive is in their slots. What the list had is
    /// given back.
    pub(super) fn take_slots(&mut self, slots: &mut Vec<u32>, pool: &Pool) {
        std::mem::swap(&mut self.burst.slots, slots);
        self.burst.note_times(pool);
    }

    /// Where the exits lead, unless packets have to leave by them in the order of their arrivals
    /// because some are copies.
    pub(super) fn exits(&self) -> (&[End], bool) {
        (&self.plan.exits, self.cluster.makes_copies())
    }

    /// Whether arrivals, or packets that are made, are run in bursts.
    pub(super) fn takes_bursts(&self) -> bool {
        self.most > 1
    }

    /// The elements that are members.
    pub(super) fn members(&self) -> impl Iterator<Item = usize> {
        self.plan.members.iter().map(|node| *node as usize)
    }

    /// Packets that came into each member.
    pub(super) fn entered(&self) -> impl Iterator<Item = (usize, u64)> {
        self.members().zip(self.cluster.entered())
    }

    /// Packets that left each member by its ports, by their ids, if that is counted.
    pub(super) fn left(&self) -> Option<impl Iterator<Item = (usize, Vec<(u32, u64)>)>> {
        Some(self.members().zip(self.cluster.left()?))
    }
}

impl Graph {
    /// Lets some elements of the application that this graph was made of run as one. They must not
    /// write to a console: the graph looks for that after each run of a program.
    pub fn link(&mut self, application: &Application, plan: Plan, cluster: Box<dyn Cluster>) {
        let inputs = application.wires.iter().map(|wire| wire.to);
        let entry = |to: End| plan.entry(application, to).map(|entry| ((to.instance as usize, to.port), entry));
        let entries: HashMap<(usize, u32), u32> = inputs.filter_map(entry).collect();
        self.link_entries(plan, cluster, entries);
    }

    /// Links a cluster, told which inputs packets come into it by, with the entry of each.
    pub(super) fn link_entries(&mut self, plan: Plan, cluster: Box<dyn Cluster>, entries: HashMap<(usize, u32), u32>) {
        self.tell_all_passed();
        let sources = Sources::new(self.topology.sources.clone().into_iter().map(|source| self.linked_source(source, &entries)).collect());
        let most = if self.one_at_a_time(&plan).is_empty() { BURST } else { 1 };
        match self.fusion.linked.take() {
            // Packets that wait lie in the pool.
            Some(before) => {
                let mut stats: Vec<_> = self.core.nodes.iter_mut().map(|node| std::mem::take(&mut node.stats)).collect();
                self.count_linked(&before, &mut stats.iter_mut().collect::<Vec<_>>());
                self.core.nodes.iter_mut().zip(stats).for_each(|(node, stats)| node.stats = stats);
                self.fusion.singles = self.fusion.singles.take().and_then(|singles| singles.anew()).map(Box::new);
            }
            None => self.need_pool(),
        }
        // Who records looks at packets before they are run.
        self.core.pool.defer(cluster.brings() && self.watch.recorder.is_none());
        let by_node = self.by_node(&entries);
        // Machine code may be there already when compiled C comes, which is for bursts.
        let singles = Singles::of(&*cluster, &plan, &by_node);
        let gives_way = singles.is_none();
        if let Some(singles) = singles {
            self.fusion.singles = Some(Box::new(singles));
        }
        self.go_through(&plan);
        let (burst, pool) = (ArrivalBurst::new(most > 1 && self.ends_bursts()), Pool::default());
        self.fusion.linked = Some(Box::new(Linked { cluster, plan, entries, by_node, sources, burst, most, gives_way, pool }));
        self.fusion.singles.iter_mut().for_each(|singles| singles.begin(self.fusion.packets));
        self.find_maker();
    }

    fn by_node(&self, entries: &HashMap<(usize, u32), u32>) -> Vec<Vec<Option<u32>>> {
        let mut by_node = vec![Vec::new(); self.core.nodes.len()];
        for ((node, port), entry) in entries {
            let ports: &mut Vec<Option<u32>> = &mut by_node[*node];
            ports.resize(ports.len().max(*port as usize + 1), None);
            ports[*port as usize] = Some(*entry);
        }
        by_node
    }

    /// A source, with the entry that its packets have. One that names entries itself has several.
    fn linked_source(&mut self, source: usize, entries: &HashMap<(usize, u32), u32>) -> MergeSource {
        let entry = |ways: &Vec<super::WireTarget>| {
            let way = ways.first().filter(|way| !way.recirculates)?;
            entries.get(&(way.to.instance as usize, way.to.port)).copied()
        };
        let node = &mut self.core.nodes[source];
        node.entries = node.outputs.iter().map(entry).collect();
        let several = match &mut node.body {
            Body::BuiltIn(Some(builtin)) => builtin.source().is_some_and(|source| source.names_entries()),
            _ => false,
        };
        let own = if several { node.entries.iter().find_map(|entry| *entry) } else { node.entries.first().copied().flatten() };
        MergeSource::new(source, own)
    }

    /// The engine of an element that is a program.
    pub fn engine(&self, node: usize) -> Option<&dyn netil::Engine> {
        match &self.core.nodes.get(node)?.body {
            Body::Program(program) => Some(program.engine()),
            Body::BuiltIn(..) => None,
        }
    }

    /// Elements because of which arrivals cannot be run in bursts when those of a plan are linked.
    pub fn one_at_a_time(&self, plan: &Plan) -> Vec<usize> {
        (0..self.core.nodes.len()).filter(|node| !self.takes_bursts(*node, plan)).collect()
    }

    /// Whether it cannot be told at an element that some arrivals were run before the tasks behind
    /// them. Timers are in the time of arrivals, and set where these are run.
    fn takes_bursts(&self, node: usize, plan: &Plan) -> bool {
        match &self.core.nodes[node].body {
            Body::Program(program) if program.sets_timers() => {
                plan.members.contains(&(node as u32)) && !program.is_pulled() && self.core.clock.follows_captures()
            }
            Body::Program(_) => true,
            Body::BuiltIn(_) if plan.members.contains(&(node as u32)) => true,
            Body::BuiltIn(_) if self.topology.sources.contains(&node) => true,
            Body::BuiltIn(_) if self.core.nodes[node].task == Some(TaskKind::Makes) && self.only_maker() == Some(node) => true,
            Body::BuiltIn(builtin) => {
                self.core.nodes[node].facts.takes_bursts && builtin.as_ref().is_some_and(|builtin| !builtin.one_at_a_time())
            }
        }
    }

    /// Whether a burst may end before its last packet.
    fn ends_bursts(&self) -> bool {
        !self.fusion.through.is_empty() || (0..self.core.nodes.len()).any(|node| self.sets_timers(node) || self.is_copy(node))
    }

    pub(super) fn sets_timers(&self, node: usize) -> bool {
        matches!(&self.core.nodes[node].body, Body::Program(program) if program.sets_timers())
    }

    /// Runs arrivals that have been taken, or takes those of a source that come before anything
    /// else happens. False if there is none that goes into the cluster.
    pub(super) fn arrive_many(&mut self, source: usize) -> bool {
        let Some(mut linked) = self.fusion.linked.take() else { return false };
        if !self.passes_on() {
            return self.arrive_alone(linked);
        }
        // Where something was asked for when the arrival was looked for, that is done before
        // anything comes behind it.
        let arrived = !linked.burst.is_over() || (linked.most > 1 && !self.is_asked() && self.fill(source, &mut linked));
        match arrived {
            true => self.run_linked(linked),
            false => self.fusion.linked = Some(linked),
        }
        arrived
    }

    /// The next arrival if it has been taken already; it is run with those behind it, whatever its
    /// source.
    pub(super) fn next_taken(&self) -> Option<(u64, usize)> {
        Some((self.fusion.linked.as_ref()?.burst.next()?, 0))
    }

    /// Takes arrivals, the first ones of this source. False if there are none.
    fn fill(&mut self, source: usize, linked: &mut Linked) -> bool {
        if !self.core.pending.is_empty() || !self.core.recirculated.is_empty() {
            return false;
        }
        let Linked { sources, burst, most, .. } = linked;
        self.core.pool.expect_nothing();
        self.take_arrivals(source, self.free_until(), sources, burst, *most);
        burst.note_times(&self.core.pool);
        self.note_arrivals(&burst.slots, &linked.plan, source);
        !burst.slots.is_empty()
    }

    /// Before when arrivals come without a timer between, and without waiting for other graphs.
    fn free_until(&self) -> u64 {
        let due = self.first_due();
        let latest = self.topology.settings.share.as_ref().filter(|_| self.core.clock.follows_captures()).and_then(Share::latest);
        if due > self.core.clock.now() { due.min(latest.map_or(u64::MAX, |latest| latest.saturating_add(1))) } else { 0 }
    }

    pub(super) fn first_due(&self) -> u64 {
        self.next_timer().map_or(u64::MAX, |(when, _)| when)
    }

    /// The next arrival, unless somebody asks for the end, or for something to be written, when it
    /// is looked for.
    fn look_ahead(&mut self) -> Option<(u64, usize)> {
        let (arrival, stops, calls) = self.asked_meanwhile(Self::next_arrival);
        if stops == 0 && calls.is_empty() {
            return arrival;
        }
        self.fusion.found = Some(Found { arrival, stops, calls });
        None
    }

    /// Runs arrivals that were taken, up to a timer.
    pub(super) fn run_linked(&mut self, mut linked: Box<Linked>) {
        // The time of the run is that of the packet then, whichever packets come to an element.
        if self.fusion.through.goes_by_time() && !linked.burst.is_in_order() || self.meets_timer(linked.burst.next()) {
            self.arrive_alone(linked);
            return;
        }
        let several = self.run_some(&mut linked);
        self.after_some(linked, several);
    }

    /// Of arrivals that were taken some have been run, several before the tasks behind them; or all
    /// that go into the cluster (`None`).
    fn after_some(&mut self, mut linked: Box<Linked>, several: Option<bool>) {
        let burst = &mut linked.burst;
        let is_over = burst.rest().is_empty() && !(several.is_some() && burst.next().is_some());
        let (next, mut behind) = (burst.next().unwrap_or(0), Vec::new());
        if is_over {
            behind = std::mem::take(&mut burst.behind);
            burst.clear();
        }
        // Tasks run with the cluster in its place: what they send may go into it.
        self.fusion.linked = Some(linked);
        match several {
            Some(true) => {
                self.settle();
                self.run_tasks();
            }
            Some(false) => self.settle(),
            None => {}
        }
        if is_over {
            self.core.clock.arrive(next);
            self.core.pending.append(&mut behind);
            self.settle();
        }
    }

    /// Runs the next of arrivals that were taken element by element. False if none were.
    fn arrive_alone(&mut self, mut linked: Box<Linked>) -> bool {
        let Linked { burst, entries, .. } = &mut *linked;
        let (rounds, next) = (burst.rounds, burst.rest().first().copied());
        if burst.is_over() {
            self.fusion.linked = Some(linked);
            return false;
        }
        if let Some(slot) = next {
            self.core.clock.arrive(burst.next().unwrap_or(0));
            burst.has_run(1);
            let entry = self.core.pool.slot(slot).entry();
            let to = entries.iter().find(|(_, of)| **of == entry).map(|(to, _)| *to);
            let packet = self.lift(slot, rounds);
            self.core.pending.extend(to.map(|(node, port)| Push { node, port, packet }));
        }
        self.after_some(linked, next.map(|_| false));
        true
    }

    /// Whether several were run before the tasks behind them; `None` if all that go into the
    /// cluster had been run.
    fn run_some(&mut self, linked: &mut Linked) -> Option<bool> {
        let Linked { cluster, plan, burst, most, pool, .. } = linked;
        let mut cursor = burst.cursor(*most > 1)?;
        if burst.timed {
            cursor.begin(self.first_due(), &mut self.core.clock);
        }
        let rounds = burst.rounds;
        let (run, several) = self.with_pool(pool, |graph, pool| {
            graph.with_all(&plan.members, |graph| {
                let (budget, begun, slots) = (graph.core.budget, graph.begin_linked_run(), cursor.slots);
                let copies = cluster.makes_copies();
                let mut context = ClusterContext { rounds, copies, ..ClusterContext::of_burst(graph, plan, cursor, begun.1) };
                cluster.run(slots, budget, pool, &mut context);
                context.cursor.reach_all(&mut context.graph.core.clock);
                let (run, several) = (context.cursor.most, context.cursor.several);
                graph.end_linked_run(run, begun);
                (run, several)
            })
        });
        burst.has_run(run);
        Some(several)
    }

    /// The arrival that is on its way, and those that follow it, if they go into the cluster. False
    /// if not.
    pub(super) fn arrive_linked(&mut self, source: usize) -> bool {
        let Some(mut linked) = self.fusion.linked.take() else { return false };
        let entry = self.core.pending.last().and_then(|push| linked.entries.get(&(push.node, push.port)).copied());
        let goes = entry.filter(|_| self.core.pending.len() == 1 && self.core.pool.room() > 0 && self.passes_on());
        if let (Some(entry), Some(first)) = (goes, self.core.pending.last().map(|push| (push.node, push.port))) {
            self.core.pool.enter(entry);
            self.collect(source, first, &mut linked);
            self.run_linked(linked);
            return true;
        }
        self.fusion.linked = Some(linked);
        false
    }

    /// Takes the packet on its way and the arrivals that follow it without anything between.
    fn collect(&mut self, source: usize, to: (usize, u32), linked: &mut Linked) {
        let Linked { burst, most, .. } = linked;
        let mut time = self.core.clock.now();
        while let Some(Push { packet, .. }) = self.core.pending.pop() {
            burst.rounds = packet.rounds;
            let number = self.watch.recorder.as_ref().map(|recorder| recorder.number(&packet));
            let slot = self.core.pool.place(packet.buffer, packet.link.number());
            self.note_placed(slot, number);
            burst.slots.extend(slot);
            burst.note(time);
            if self.is_asked() || burst.slots.len() >= *most || self.core.pool.room() == 0 {
                return;
            }
            let Some(next) = self.follows(source) else { return };
            time = next;
            if !burst.timed {
                self.core.clock.arrive(time);
            }
            self.with_source(source, |source, ctx| source.arrive(ctx));
            let same = |p: &Push| (p.node, p.port) == to && p.packet.rounds == burst.rounds;
            if self.core.pending.len() != 1 || !self.core.pending.iter().all(same) {
                burst.behind.append(&mut self.core.pending);
                return burst.note(time);
            }
        }
    }

    /// The entry by which packets of the pool come into the cluster that go to an input, if they
    /// may.
    pub(super) fn entry_of_slots(&self, to: End) -> Option<u32> {
        let bursts = self.watch.recorder.is_none() && self.watch.observer.is_none() && self.passes_on();
        let linked = self.fusion.linked.as_ref().filter(|linked| linked.most > 1 && bursts)?;
        linked.by_node.get(to.instance as usize)?.get(to.port as usize).copied().flatten()
    }

    /// Runs the cluster on packets of the pool that something behind it has sent.
    pub(super) fn run_slots(&mut self, slots: &[u32], entry: u32) {
        let Some(mut linked) = self.fusion.linked.take() else { return };
        let Linked { cluster, plan, pool, .. } = &mut *linked;
        self.core.pool.enter_again(slots, entry);
        self.with_pool(pool, |graph, pool| {
            graph.with_all(&plan.members, |graph| {
                let (budget, begun, cursor) = (graph.core.budget, graph.begin_linked_run(), BurstCursor::of_several(slots));
                let copies = cluster.makes_copies();
                let mut context = ClusterContext { copies, ..ClusterContext::of_burst(graph, plan, cursor, begun.1) };
                cluster.run(slots, budget, pool, &mut context);
                graph.end_linked_run(slots.len(), begun);
            });
        });
        self.fusion.linked = Some(linked);
    }

    /// Does something with another pool in the place of its own. Both are put back even if that
    /// fails: compiled code that waits for it knows where packets lie.
    pub(super) fn with_pool<T>(&mut self, pool: &mut Pool, work: impl FnOnce(&mut Self, &mut Pool) -> T) -> T {
        std::mem::swap(&mut self.core.pool, pool);
        let done = caught(|| work(self, pool));
        std::mem::swap(&mut self.core.pool, pool);
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Does something with the states that members have in common with other graphs in their
    /// places. Locks are taken in the order of the elements, in every graph; an element outside of
    /// the cluster that is in common, too, runs under its own lock meanwhile, and takes no other.
    #[inline]
    pub(super) fn with_all<T>(&mut self, members: &[u32], work: impl FnOnce(&mut Self) -> T) -> T {
        if self.topology.settings.share.is_none() {
            return work(self);
        }
        self.follow_all(members);
        let slot = |node: &u32| match &self.core.nodes[*node as usize].body {
            Body::Program(program) => program.slot_to_lock().map(|slot| (*node as usize, slot)),
            Body::BuiltIn(_) => None,
        };
        let mut slots: Vec<_> = members.iter().filter_map(slot).collect();
        slots.sort_unstable_by_key(|(node, _)| *node);
        let mut states: Vec<_> = slots.iter().map(|(_, slot)| slot.lock()).collect();
        let exchange = |graph: &mut Self, states: &mut [StateGuard<'_>]| {
            for ((node, _), state) in slots.iter().zip(states) {
                if let Body::Program(program) = &mut graph.core.nodes[*node].body {
                    program.exchange_held(state);
                }
            }
        };
        exchange(self, &mut states);
        let result = work(self);
        exchange(self, &mut states);
        result
    }

    /// All tasks until none has work but that which makes the packets, whoever has asked for the
    /// end meanwhile: of what takes bursts each task comes to an end. Behind each round come timers
    /// that were set for the present.
    pub(super) fn run_tasks(&mut self) {
        let mut worked = true;
        while std::mem::take(&mut worked) {
            let tasks = if std::mem::take(&mut self.core.restless) { self.topology.tasks.len() } else { 0 };
            for index in 0..tasks {
                let task = self.topology.tasks[index];
                worked |= !self.is_maker(task) && self.task(task);
            }
            worked |= self.requests.stops == 0 && !self.requests.ended && self.due_timers();
        }
        self.core.restless |= self.fusion.maker.is_some();
    }

    /// When the next arrival at this source comes, if that is the next thing to happen; it has then
    /// been counted.
    fn follows(&mut self, source: usize) -> Option<u64> {
        let timer = self.free_until();
        let (time, _) = self.look_ahead().filter(|(time, node)| *node == source && *time < timer)?;
        self.core.arrivals += 1;
        Some(time)
    }
}
