//! Elements that make packets whenever they have a turn, in bursts: what several turns would make
//! is put into the pool at once.
//!
//! Packets of a burst have the times that their turns would have had. Invariant: nobody can tell a
//! burst from turns of one packet each. So there are bursts only where
//! - one element makes packets, none arrive, and no other graph or stage takes part;
//! - all programs are members of the cluster, or cannot tell the time of their packet from that of
//!   the round, and all that is behind takes bursts, as for arrivals ([`super::linked`]);
//! - other tasks only empty queues, come behind what fills these, and find them empty again after
//!   each turn: a turn makes one packet, and nothing makes copies, or the burst ends with the first
//!   packet that leaves several in a queue ([`super::taken_back`]). Sinks may have their turn
//!   before: a round later nothing else has happened;
//! - no timer is due between, no queue that the maker waits for gets full, and the end has not been
//!   asked for.
//!
//! What a maker does at its end, it does with a last packet of its own.

use super::builtin::{BuiltIn, Ctx, TaskKind};
use super::linked::SLOTS;
use super::round_robin::moments;
use super::schedule::BUSY;
use super::taken_back::Early;
use super::{BURST, Body, Graph};
use crate::io::{LinkType, sys};
use netil::cluster::Plan;
use netil::module::HandlerKind;
use netil::pool::{Arrival, Pool};
use netil::table::Op;
use std::collections::BTreeSet;

/// The element that makes packets in bursts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Maker {
    node: usize,
    /// The entry of the cluster that its packets come in by; 0 where they go elsewhere first.
    entry: u32,
    /// The queues that other tasks empty, in the order of declaration.
    emptied: Vec<usize>,
    /// Something makes copies.
    copies: bool,
    /// The end was asked for: what is on its way goes on, a packet each turn.
    pub(super) ends: bool,
    /// Packets of a burst are on their way.
    makes: bool,
    /// Other tasks have their turn before: a burst ends with theirs of the round behind it, and the
    /// maker's turn in that round makes one packet.
    is_last: bool,
    /// That turn is to come.
    alone: bool,
    /// Where copies may come to queues: bursts may end early.
    pub(super) early: Option<Early>,
}

impl Maker {
    pub(super) fn is_at(&self, node: usize) -> bool {
        self.node == node
    }

    pub(super) fn node(&self) -> usize {
        self.node
    }

    /// True if packets of a burst are on their way.
    pub(super) fn makes(&self) -> bool {
        self.makes
    }

    /// The queues that other tasks empty.
    pub(super) fn emptied(&self) -> &[usize] {
        &self.emptied
    }
}

impl Graph {
    /// Finds the element that makes packets in bursts. Elements were linked, or have other
    /// neighbours.
    pub(super) fn find_maker(&mut self) {
        self.fusion.maker = self.only_maker().and_then(|node| self.maker_at(node));
        if self.fusion.maker.is_some() {
            self.need_pool();
        }
    }

    /// Has a pool for bursts.
    pub(super) fn need_pool(&mut self) {
        if self.core.pool.size() == 0 {
            self.core.pool = Pool::new(SLOTS, self.topology.info.size);
            self.core.pool.keep_numbers(self.topology.numbered);
            sys::prefer_large_pages(self.core.pool.memory());
        }
    }

    /// The element that makes packets, if nobody else sends any.
    pub(super) fn only_maker(&self) -> Option<usize> {
        let settings = &self.topology.settings;
        let alone =
            settings.rings.is_none() && settings.share.is_none() && settings.elsewhere.is_none() && self.topology.sources.is_empty();
        let kind = |task: usize| self.core.nodes[task].task;
        let place = self.topology.tasks.iter().position(|task| kind(*task) == Some(TaskKind::Makes)).filter(|_| alone)?;
        let (before, rest) = self.topology.tasks.split_at(place);
        let (maker, behind) = rest.split_first()?;
        let empties = |task: &usize| matches!(kind(*task), Some(TaskKind::Empties | TaskKind::Pulls));
        let is_sink = |task: &usize| empties(task) && self.core.nodes[*task].outputs.iter().all(Vec::is_empty);
        let turns = [rest, before].concat();
        (before.iter().all(is_sink) && behind.iter().all(empties) && self.is_in_order(&turns)).then_some(*maker)
    }

    fn builtin(&self, node: usize) -> Option<&dyn BuiltIn> {
        match &self.core.nodes[node].body {
            Body::BuiltIn(builtin) => builtin.as_deref(),
            Body::Program(_) => None,
        }
    }

    /// True if what a task sends comes to no task that had its turn before.
    fn is_in_order(&self, tasks: &[usize]) -> bool {
        // By element, the first task that packets come to from there.
        let mut first = vec![usize::MAX; self.core.nodes.len()];
        for (turn, task) in tasks.iter().enumerate() {
            let mut work = vec![*task];
            while let Some(node) = work.pop() {
                if first[node] == usize::MAX {
                    first[node] = turn;
                    work.extend(self.core.nodes[node].inputs.iter().flatten().map(|from| from.instance as usize));
                }
            }
        }
        let behind = |task: &usize| self.core.nodes[*task].outputs.iter().flatten().map(|way| first[way.to.instance as usize]).min();
        tasks.iter().enumerate().all(|(turn, task)| behind(task).is_none_or(|first| first >= turn))
    }

    /// What is to be known of it, if it makes packets in bursts.
    fn maker_at(&self, node: usize) -> Option<Maker> {
        let way = self.core.nodes[node].outputs.first()?.first().filter(|way| !way.recirculates)?;
        let programs = self
            .core
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(node, of)| if let Body::Program(of) = &of.body { Some((node, of)) } else { None });
        let mut programs = programs.peekable();
        match &self.fusion.linked {
            Some(linked) if linked.takes_bursts() => {
                let members: BTreeSet<usize> = linked.members().collect();
                programs.clone().all(|(node, of)| members.contains(&node) || !of.tells_time()).then_some(())?;
            }
            None if programs.peek().is_none() && self.one_at_a_time(&Plan::default()).is_empty() => {}
            _ => return None,
        }
        let copies = programs.any(|(_, of)| {
            let push = of.program.module().handler(HandlerKind::Push);
            push.is_some_and(|push| push.code.iter().any(|inst| inst.op == Op::PktSendDup))
        });
        let others: Vec<usize> = self.topology.tasks.iter().copied().filter(|task| *task != node).collect();
        let emptied = others.iter().map(|task| Some(self.core.nodes[*task].inputs.first()?.first()?.instance as usize));
        let mut emptied: Vec<usize> = emptied.collect::<Option<_>>()?;
        emptied.sort_unstable();
        let entry = self.entry_of_slots(way.to).unwrap_or(0);
        let is_last = self.topology.tasks.first() != Some(&node);
        let early = if copies { self.early_at(way.to, &others) } else { None };
        Some(Maker { node, entry, emptied, copies, is_last, early, ..Maker::default() })
    }

    /// How many packets an element may make at once that makes so many in a turn, and has made some
    /// of those; no more than `limit`. Those of whole turns, or of this one.
    fn may_make(&self, node: usize, (burst, made): (u64, u64), limit: u64, takes_back: bool) -> u64 {
        let watched = self.watch.recorder.is_some() || self.watch.observer.is_some();
        let waits = !(self.core.pending.is_empty() && self.core.leaving.is_empty() && self.core.recirculated.is_empty()) || self.is_asked();
        let Some(maker) = self.fusion.maker.as_ref().filter(|maker| maker.node == node && !maker.ends && !watched && !waits) else {
            return 0;
        };
        if maker.alone {
            return 0;
        }
        let is_empty = |queue: &usize| self.builtin(*queue).and_then(BuiltIn::queue).is_some_and(|queue| queue.is_empty());
        let early = maker.early.as_ref().is_some_and(|early| takes_back && early.may());
        let keep_up = maker.emptied.is_empty() || burst == 1 && (!maker.copies || early) && maker.emptied.iter().all(is_empty);
        let full = &self.core.nodes[node].queues_behind;
        if !keep_up || maker.copies && !early && !full.is_empty() {
            return 0;
        }
        // As long as one of them has room the others may be full.
        let room = full.iter().map(|queue| self.room(*queue)).max().unwrap_or(usize::MAX);
        let most = BURST.min(self.core.pool.room()).min(room) as u64;
        match (most.min(limit), burst.saturating_sub(made)) {
            (most, left) if made > 0 || most < left => most.min(left),
            (most, _) => (most / burst).min(self.free_rounds().saturating_sub(u64::from(maker.is_last))) * burst,
        }
    }

    /// Rounds of tasks before anything else happens, this one among them.
    fn free_rounds(&self) -> u64 {
        if !self.core.clock.is_simulated() {
            return u64::MAX;
        }
        let due = self.next_timer().map_or(u64::MAX, |(when, _)| when);
        let rounds = moments(self.core.clock.now(), self.core.clock.round_ns(), due) as u64;
        rounds.min(u64::from(BUSY - self.core.busy_rounds.min(BUSY))).max(1)
    }

    /// That many rounds of tasks have been done at once.
    pub(super) fn pass_rounds(&mut self, rounds: u64) {
        self.core.clock.rounds(rounds);
        if self.core.clock.is_simulated() {
            self.core.busy_rounds += u32::try_from(rounds).unwrap_or(u32::MAX);
        }
    }

    /// Brings the tasks behind a burst of packets to an end that a task has made. True if that was
    /// the beginning of the next round, in which the maker's turn comes now.
    pub(super) fn keep_up(&mut self, node: usize) -> bool {
        if !self.fusion.maker.as_ref().is_some_and(|maker| maker.node == node && maker.makes) {
            return false;
        }
        let early = self.end_made(node);
        if !early {
            self.run_tasks();
        }
        let Some(mut maker) = self.fusion.maker.take() else { return false };
        for queue in &maker.emptied {
            self.with_builtin(*queue, |builtin, _| builtin.queue_mut().into_iter().for_each(|queue| queue.kept_up()));
        }
        let next = maker.is_last && !early;
        (maker.makes, maker.alone) = (false, next);
        self.fusion.maker = Some(maker);
        if next {
            self.pass_rounds(1);
        }
        next
    }

    /// Whether packets that come to a queue now would each have been taken out before the next
    /// came.
    pub(super) fn keeps_up(&self, queue: usize) -> bool {
        self.fusion.maker.as_ref().is_some_and(|maker| maker.makes && maker.emptied.binary_search(&queue).is_ok())
    }

    /// True for the task that makes packets in bursts: it is none of those that handle them.
    pub(super) fn is_maker(&self, node: usize) -> bool {
        self.fusion.maker.as_ref().is_some_and(|maker| maker.node == node)
    }
}

impl Ctx<'_> {
    /// How many packets may be made at once by an element that makes `turn.0` of them in a turn,
    /// `turn.1` of which this turn has made already. None if they are to be made one by one.
    /// `takes_back`: some of them may not be made after all ([`super::builtin::Task::take_back`]).
    pub(super) fn may_make(&mut self, turn: (u64, u64), limit: u64, takes_back: bool) -> u64 {
        let may = self.graph.may_make(self.node, turn, limit, takes_back);
        if let Some(maker) = self.graph.fusion.maker.as_mut().filter(|maker| maker.node == self.node) {
            maker.alone = false;
            maker.early.iter_mut().for_each(Early::turn);
        }
        may
    }

    /// Makes packets at once, as many as [may be](Self::may_make), which leave by output 0.
    pub(super) fn make<'b>(&mut self, (burst, made): (u64, u64), packets: impl ExactSizeIterator<Item = &'b [u8]>) {
        let graph = &mut *self.graph;
        let (mut time_ns, step, mut in_turn, count) = (graph.core.clock.now(), graph.core.clock.round_ns(), made, packets.len() as u64);
        let coming = packets.map(|bytes| {
            if in_turn == burst {
                (in_turn, time_ns) = (0, time_ns + step);
            }
            in_turn += 1;
            Arrival { bytes, len: bytes.len(), time_ns, wire_len: bytes.len() as u32 }
        });
        let mut slots = Vec::with_capacity(BURST);
        let mut early = false;
        if let Some(maker) = &mut graph.fusion.maker {
            maker.makes = true;
            graph.core.pool.enter(maker.entry);
            early = maker.early.iter_mut().map(|early| early.begin(count)).count() > 0;
        }
        graph.core.pool.put_many(coming, LinkType::EN10MB.number(), &mut slots);
        graph.core.pool.number_all(&slots, &mut graph.core.nodes[self.node].next_number);
        if !early {
            graph.pass_rounds((made + count).saturating_sub(1) / burst.max(1));
        }
        graph.fusion.made += count;
        self.emit_slots(0, slots);
    }
}
