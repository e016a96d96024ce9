//! The graph while a cluster of it runs: what members are given of it, and what becomes of packets
//! that leave them.

use super::burst_cursor::BurstCursor;
use super::ended::Ended as How;
use super::flow::MAX_WAY_COPIES;
use super::profiler::Begun;
use super::recorder::note_ends;
use super::slots::lift;
use super::{Body, Graph, Packet, Push};
use netil::app::End;
use netil::cluster::{Ended, Host, Plan};
use netil::exec::{CloneOut, State};
use netil::pool::Pool;

/// The graph while a cluster of it runs.
pub(super) struct ClusterContext<'g> {
    pub(super) graph: &'g mut Graph,
    pub(super) plan: &'g Plan,
    pub(super) cursor: BurstCursor<'g>,
    pub(super) rounds: u8,
    /// What lies on the stack below waits until this packet is done with.
    pub(super) mark: Option<usize>,
    /// Members say each time that they run.
    pub(super) told: bool,
    /// The cluster makes copies.
    pub(super) copies: bool,
    /// Since when a member runs on its own.
    pub(super) begun: Option<Begun>,
    /// They are of a burst that was made, which [may end early](super::taken_back).
    pub(super) early: bool,
    /// The member that has set a timer which is due at once, until what came before is done with.
    pub(super) has_set: Option<usize>,
}

impl<'g> ClusterContext<'g> {
    /// For a burst of arrivals, or of packets that something behind the cluster has sent.
    pub(super) fn of_burst(graph: &'g mut Graph, plan: &'g Plan, cursor: BurstCursor<'g>, told: bool) -> Self {
        Self { graph, plan, cursor, rounds: 0, mark: None, told, copies: false, begun: None, early: false, has_set: None }
    }

    /// For one packet, which was led back so often, above what lies on the stack up to a mark.
    pub(super) fn of_one(graph: &'g mut Graph, plan: &'g Plan, slots: &'g [u32], (rounds, mark): (u8, usize), told: bool) -> Self {
        Self { rounds, mark: Some(mark), ..Self::of_burst(graph, plan, BurstCursor::of_one(slots), told) }
    }

    /// For packets that were made at once, in a burst that may end early.
    pub(super) fn of_made(graph: &'g mut Graph, plan: &'g Plan, cursor: BurstCursor<'g>, told: bool) -> Self {
        Self { early: true, ..Self::of_burst(graph, plan, cursor, told) }
    }

    /// A packet of such a burst leaves by itself.
    fn leave_made(&mut self, ended: &Ended, slot: u32, copies: Vec<CloneOut>, pool: &mut Pool) {
        let place = self.cursor.place(slot);
        self.with_pool(pool, |graph| {
            graph.run_tasks();
            graph.reach_made(place);
        });
        self.put_out(ended, slot, copies, pool);
        let goes_on = self.with_pool(pool, |graph| {
            graph.settle();
            let goes_on = graph.queues_are_short() && graph.passes_on();
            if goes_on {
                graph.run_tasks();
            }
            goes_on
        });
        if !goes_on {
            self.cursor.stop_at(place);
        }
    }

    fn node(&self, ended: &Ended) -> usize {
        self.plan.members[ended.member as usize] as usize
    }

    fn how(&self, node: usize, ended: &Ended) -> How {
        match &self.graph.core.nodes[node].body {
            Body::Program(program) => program.ended(ended.disposition),
            // It is only gone through.
            Body::BuiltIn(..) => How::Leaves(0),
        }
    }

    /// Packets go no further, of which so many are there.
    fn stop_many(&mut self, ended: &Ended, slots: &[u32], there: usize, pool: &mut Pool) {
        let node = self.node(ended);
        let how = self.how(node, ended);
        let reason = self.graph.stop_many(node, &how, slots.len() as u64, there as u64);
        note_ends(&mut self.graph.watch.recorder, slots, node, reason);
        pool.give_back(slots);
    }

    /// How many packets are run before a timer.
    fn look(&mut self) {
        if self.cursor.is_timed() {
            self.cursor.look(self.graph.first_due(), &self.graph.core.clock);
        }
    }

    /// What came before a packet that set a timer is done with.
    fn note_set(&mut self) {
        self.has_set.take().into_iter().for_each(|node| self.graph.note_timers(node));
    }

    /// Brings the tasks behind several packets to an end.
    fn run_tasks(&mut self, pool: &mut Pool) {
        if self.cursor.several {
            self.with_pool(pool, Graph::run_tasks);
        }
    }

    /// Moves packets into an element one after the other, each with all that follows from it.
    fn push_each(&mut self, to: End, slots: &[u32], mark: Option<usize>, pool: &mut Pool) {
        let rounds = self.rounds;
        self.with_pool(pool, |graph| {
            for slot in slots {
                let packet = graph.lift(*slot, rounds);
                graph.core.pending.push(Push { node: to.instance as usize, port: to.port, packet });
                Self::settle_left(graph, mark);
            }
        });
    }

    /// Puts a packet that leaves at once on the stack, and its copies above it.
    fn put_out(&mut self, ended: &Ended, slot: u32, copies: Vec<CloneOut>, pool: &mut Pool) {
        let node = self.node(ended);
        let (how, rounds) = (self.how(node, ended), self.rounds);
        let mut packet = lift(pool, slot, rounds);
        self.graph.note_lifted(&mut packet, slot);
        self.with_pool(pool, |graph| {
            let mark = graph.core.pending.len();
            for copy in copies {
                let port = match &graph.core.nodes[node].body {
                    Body::Program(program) => program.output_of(copy.port),
                    Body::BuiltIn(..) => 0,
                };
                let mut copy = Packet { buffer: copy.buffer, rounds, link: packet.link };
                graph.note_lifted(&mut copy, slot);
                graph.leave_as(node, port, copy, true);
            }
            graph.end(node, how, packet);
            graph.core.pending[mark..].reverse();
        });
    }

    /// Moves what has just left, and all that follows from it.
    fn settle_left(graph: &mut Graph, mark: Option<usize>) {
        match mark {
            Some(mark) => graph.drain(mark),
            None => graph.settle(),
        }
    }

    /// The graph with the pool in it.
    fn with_pool<T>(&mut self, pool: &mut Pool, work: impl FnOnce(&mut Graph) -> T) -> T {
        self.graph.with_pool(pool, |graph, _| work(graph))
    }
}

impl Host for ClusterContext<'_> {
    fn state(&mut self, member: u32) -> &mut State {
        let node = self.plan.members[member as usize] as usize;
        match &mut self.graph.core.nodes[node].body {
            Body::Program(program) => &mut program.state,
            Body::BuiltIn(..) => {
                self.graph.fusion.through.state(node).unwrap_or_else(|| unreachable!("what a cluster goes through has a state"))
            }
        }
    }

    fn comes(&mut self, member: u32, time_ns: u64) {
        let (node, now) = (self.plan.members[member as usize] as usize, self.graph.core.clock.now());
        // Packets of a capture are in time.
        if let (Some(_), Body::Program(program)) = (self.mark, &mut self.graph.core.nodes[node].body) {
            program.comes(time_ns, now);
        }
    }

    fn measures(&self) -> bool {
        self.told
    }

    fn begin(&mut self, _: u32) {
        match self.told {
            true => self.graph.begin_part(),
            false => self.begun = Some(self.graph.begin_run()),
        }
    }

    fn end(&mut self, member: u32) {
        let node = self.plan.members.get(member as usize).map(|node| *node as usize);
        if self.told {
            return self.graph.end_part_of(node);
        }
        if let (Some(begun), Some(node)) = (self.begun.take(), node) {
            self.graph.end_run_of(node, begun);
        }
    }

    fn exit(&mut self, exit: u32, slots: &[u32], pool: &mut Pool) {
        if self.graph.sends_straight(exit, slots) {
            return;
        }
        let (to, several) = (self.plan.exits[exit as usize], self.cursor.several);
        if !several {
            return self.push_each(to, slots, self.mark, pool);
        }
        if self.copies && self.graph.room(to.instance as usize) < slots.len() {
            let arrivals = self.cursor.arrivals(slots, pool);
            return self.with_pool(pool, |graph| graph.enter_arrivals(to, &arrivals));
        }
        self.with_pool(pool, |graph| graph.enter_slots(to, slots));
    }

    fn exit_early(&mut self, exit: u32, slots: &[u32], pool: &mut Pool) {
        let mark = self.graph.core.pending.len();
        self.push_each(self.plan.exits[exit as usize], slots, Some(mark), pool);
    }

    fn ended(&mut self, ended: Ended, slots: &[u32], pool: &mut Pool) {
        let there = slots.iter().filter(|slot| pool.slot(**slot).is_present()).count();
        self.stop_many(&ended, slots, there, pool);
    }

    fn ended_there(&mut self, ended: Ended, slots: &[u32], pool: &mut Pool) {
        self.stop_many(&ended, slots, slots.len(), pool);
    }

    fn records(&self) -> bool {
        self.graph.watch.recorder.is_some()
    }

    fn leave(&mut self, ended: Ended, slot: u32, copies: Vec<CloneOut>, pool: &mut Pool) {
        if !copies.is_empty() {
            self.graph.fusion.singles.iter_mut().for_each(|singles| singles.note_copied());
        }
        if self.early {
            return self.leave_made(&ended, slot, copies, pool);
        }
        self.run_tasks(pool);
        self.cursor.reach(slot, &mut self.graph.core.clock);
        self.put_out(&ended, slot, copies, pool);
        self.arrival_over(pool);
    }

    fn takes_copies(&self, most: u32) -> bool {
        // Of the arrival that copies are counted of, those are a part which are made while it runs.
        !self.early && self.graph.watch.recorder.is_none() && self.graph.core.copies + most <= MAX_WAY_COPIES
    }

    fn copied(&mut self, made: u32) {
        // Elsewhere they are those of an arrival that is over.
        if self.mark.is_some() {
            self.graph.core.copies += made;
        }
    }

    fn leave_early(&mut self, ended: Ended, slot: u32, copies: Vec<CloneOut>, (of, made): (u32, u32), pool: &mut Pool) {
        self.cursor.reach(of, &mut self.graph.core.clock);
        self.graph.core.copies += made;
        let mark = self.graph.core.pending.len();
        self.put_out(&ended, slot, copies, pool);
        self.with_pool(pool, |graph| graph.drain(mark));
    }

    fn arrival_over(&mut self, pool: &mut Pool) {
        self.note_set();
        let outer = self.mark;
        self.with_pool(pool, |graph| Self::settle_left(graph, outer));
        self.look();
        self.run_tasks(pool);
        // Tasks may have sent packets to elements that set timers.
        self.look();
        if self.graph.are_behind(&self.plan.members) || !self.graph.passes_on() {
            self.cursor.stop();
        }
    }

    fn set_timers(&mut self, member: u32, slot: u32, time_ns: u64) -> bool {
        self.cursor.reach(slot, &mut self.graph.core.clock);
        let (node, now) = (self.plan.members[member as usize] as usize, self.graph.core.clock.now());
        if let Body::Program(program) = &mut self.graph.core.nodes[node].body {
            program.look_at_timers(time_ns, now);
        }
        self.graph.note_timers(node);
        self.graph.note_turn(node);
        let several = self.cursor.several;
        self.look();
        let alone = several && !self.cursor.several;
        // What came before is not.
        self.cursor.several = several;
        // The timer waits for this packet, whatever runs of those before it.
        self.has_set = alone.then_some(node);
        self.has_set.into_iter().for_each(|node| self.graph.core.timers.note(node, None));
        alone
    }

    fn settle(&mut self, pool: &mut Pool) {
        self.run_tasks(pool);
        self.note_set();
        self.look();
    }

    fn is_unchanged(&self) -> bool {
        self.graph.is_unchanged()
    }

    fn most(&self) -> usize {
        self.cursor.most
    }
}
