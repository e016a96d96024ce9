//! Packets that were made at once, up to the first after which a queue holds several: those behind
//! it are taken back, and have not been made.
//!
//! Where an element may send copies into queues that tasks empty a packet a turn, a queue may be
//! longer after one packet than its task takes out in the turn. Such a burst goes through a cluster
//! for single packets, which leaves copies to the host. Before a packet that leaves with copies, or
//! by itself, the queues are emptied of those before it; if it leaves several packets in a queue
//! the burst ends, and its turn goes on as that of a single packet does.
//!
//! Invariant: as for all bursts nobody can tell ([`super::making`]). Only sinks empty the queues,
//! so that nothing comes back from them.

use super::builtin::TaskKind;
use super::burst_cursor::BurstCursor;
use super::cluster_context::ClusterContext;
use super::{Body, Graph};
use netil::app::End;

/// The most turns without a burst, where packets are copied again and again.
const MOST_RESTS: u32 = 4095;

/// What becomes of a burst that may end early.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Early {
    /// The entry of clusters for single packets that its packets come in by.
    pub(super) entry: u32,
    /// Rounds by which the clock has gone on.
    passed: u64,
    /// How many packets are made.
    pub(super) made: u64,
    /// How many of them are taken back.
    back: u64,
    /// For so many turns there is no burst.
    rests: u32,
    /// How many there were last.
    rested: u32,
}

impl Early {
    /// Whether there may be a burst now.
    pub(super) fn may(&self) -> bool {
        self.rests == 0
    }

    /// A turn has come.
    pub(super) fn turn(&mut self) {
        self.rests = self.rests.saturating_sub(1);
    }

    pub(super) fn begin(&mut self, packets: u64) {
        (self.passed, self.made, self.back) = (0, packets, 0);
    }
}

impl Graph {
    /// What is needed for bursts that may end early, whose packets go to an input: clusters for
    /// single packets, and sinks behind all queues.
    pub(super) fn early_at(&self, to: End, others: &[usize]) -> Option<Early> {
        let sink = |task: &usize| {
            let node = &self.core.nodes[*task];
            matches!(node.task, Some(TaskKind::Empties | TaskKind::Pulls)) && node.outputs.iter().all(Vec::is_empty)
        };
        let entry = self.fusion.singles.as_deref()?.entry_at(to.instance as usize, to.port)?;
        (!others.is_empty() && others.iter().all(sink)).then(|| Early { entry, ..Early::default() })
    }

    fn early(&mut self) -> Option<&mut Early> {
        self.fusion.maker.as_mut()?.early.as_mut()
    }

    /// Runs packets that were made at once, in a burst that may end early; how many.
    pub(super) fn run_made(&mut self, slots: &[u32]) -> usize {
        let Some(entry) = self.early().map(|early| early.entry) else { return 0 };
        let Some((plan, mut single)) = self.fusion.singles.as_deref_mut().and_then(|singles| singles.take()) else {
            self.unmake(slots);
            return 0;
        };
        let linked = self.fusion.linked.take();
        self.core.pool.enter_again(slots, entry);
        let most = self.with_pool(&mut single.pool, |graph, pool| {
            let (budget, begun) = (graph.core.budget, graph.begin_linked_run());
            let mut context = ClusterContext::of_made(graph, &plan, BurstCursor::of_several(slots), begun.1);
            single.cluster.run(slots, budget, pool, &mut context);
            let most = context.cursor.most;
            graph.end_linked_run(most, begun);
            most
        });
        self.fusion.linked = linked;
        if let Some(singles) = &mut self.fusion.singles {
            singles.put_back(single);
        }
        self.unmake(&slots[most..]);
        most
    }

    /// Whether these are packets of such a burst.
    pub(super) fn may_end_early(&self, node: usize) -> bool {
        self.fusion.maker.as_ref().is_some_and(|maker| maker.is_at(node) && maker.makes() && maker.early.is_some())
    }

    /// The clock comes to the turn of a packet of such a burst.
    pub(super) fn reach_made(&mut self, place: usize) {
        let Some(early) = self.early() else { return };
        let rounds = (place as u64).saturating_sub(early.passed);
        early.passed += rounds;
        self.pass_rounds(rounds);
    }

    /// Whether tasks empty all queues in one turn.
    pub(super) fn queues_are_short(&self) -> bool {
        let held = |queue: &usize| if let Body::BuiltIn(Some(builtin)) = &self.core.nodes[*queue].body { builtin.held() } else { 0 };
        self.fusion.maker.as_ref().is_none_or(|maker| maker.emptied().iter().all(|queue| held(queue) <= 1))
    }

    /// A burst that may end early is over: the clock comes to its last turn. True if it ended
    /// early; who made it is told how many were taken back.
    pub(super) fn end_made(&mut self, node: usize) -> bool {
        let Some(early) = self.early() else { return false };
        let (made, back) = (early.made, std::mem::take(&mut early.back));
        match back {
            0 => early.rested = 0,
            _ => self.tell_taken_back(node, back),
        }
        self.reach_made((made - back).saturating_sub(1) as usize);
        back > 0
    }

    fn tell_taken_back(&mut self, node: usize, packets: u64) {
        self.with_builtin(node, |builtin, _| builtin.task().into_iter().for_each(|task| task.take_back(packets)));
    }

    fn unmake(&mut self, slots: &[u32]) {
        self.core.pool.give_back(slots);
        let back = slots.len() as u64;
        self.fusion.made -= back;
        if let Some(maker) = self.fusion.maker.as_ref().filter(|_| self.core.pool.keeps_numbers()) {
            let next = &mut self.core.nodes[maker.node()].next_number;
            *next = next.wrapping_sub(back);
        }
        if let Some(early) = self.early().filter(|_| back > 0) {
            early.back = back;
            early.rested = (2 * early.rested + 1).min(MOST_RESTS);
            early.rests = early.rested;
        }
    }
}
