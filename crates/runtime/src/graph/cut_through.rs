//! Elements of the runtime that a cluster goes through: queues that packets leave as soon as they
//! have come, and what is around them ([`netil::cut_through`]).
//!
//! Invariant: the cluster runs only while all of them pass packets on. Where one does not (a
//! handler has stopped a task, a queue holds packets), elements run one after the other. A packet
//! that comes when a timer is due goes element by element: its task has its turn before the timer,
//! and tasks before that one have theirs after it, which full queues would show. A packet that sets
//! a timer that is due at once has gone on already: the next round begins [behind its
//! task](TaskOrder). What a shaper keeps is in one place at a time: in the data memory of its
//! program while a cluster runs, and else, or while the element itself does something meanwhile, in
//! the element.

use super::builtin::{BuiltIn, CutThrough, Passage};
use super::clock::Clock;
use super::linked::Linked;
use super::singles::Singles;
use super::{Body, Graph};
use netil::cluster::Plan;
use netil::cut_through::Role;
use netil::exec::State;
use std::collections::{BTreeMap, BTreeSet};

/// Those elements.
#[derive(Default)]
pub(super) struct Through {
    /// How many packets each has been told that went by.
    told: BTreeMap<usize, u64>,
    /// What clusters take for the state of those that keep nothing.
    state: Option<Box<State>>,
    /// Those that do.
    keep: Vec<Kept>,
    /// How many clusters are running, one within another.
    running: u32,
    order: TaskOrder,
}

/// TaskOrder of the tasks that a cluster goes through, in the order of all tasks.
#[derive(Default)]
struct TaskOrder {
    /// The first task behind these.
    next: usize,
    /// Elements that arrivals come to behind such a task.
    behind: BTreeSet<usize>,
    /// Some that set timers are among them, and it cannot be told whose turn is before.
    unclear: bool,
    /// An arrival is on its way.
    arriving: bool,
    /// It has gone through a task, and a timer that it has set is due.
    had: bool,
}

impl Through {
    /// True if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// What a cluster takes for the state of each; they are there only with one.
    pub(super) fn state(&mut self, node: usize) -> Option<&mut State> {
        match self.keep.iter_mut().find(|kept| kept.node == node) {
            Some(kept) => Some(&mut kept.state),
            None => self.state.as_deref_mut(),
        }
    }

    /// True if packets have to come in the order of their times.
    pub(super) fn goes_by_time(&self) -> bool {
        !self.keep.is_empty()
    }
}

/// An element that keeps something, and the state of its program.
pub(super) struct Kept {
    node: usize,
    state: Box<State>,
    /// What the element keeps is in the program's data memory.
    is_there: bool,
    /// What the element kept when the outermost cluster began to run.
    begun: Vec<u8>,
}

/// The time of the run, and whether that is the packets'.
#[derive(Clone, Copy)]
pub(super) struct Now(u64, bool);

impl Now {
    fn of(clock: &Clock) -> Self {
        Self(clock.now(), clock.follows_captures())
    }
}

impl Kept {
    /// Writes what the element keeps into the data memory.
    pub(super) fn fetch(&mut self, builtin: &dyn BuiltIn, Now(now_ns, timed): Now) {
        self.is_there = builtin.cut_through().is_some_and(|it| it.enter(&mut self.state.data, now_ns, timed));
    }

    /// Whether all packets of a burst that has begun still go past the element: nobody has changed
    /// what it keeps but these packets.
    fn goes_on(&self, builtin: &dyn BuiltIn) -> bool {
        self.is_there && builtin.cut_through().is_some_and(|it| it.goes_on(&self.begun, &self.state.data))
    }

    /// Gives it back to the element.
    pub(super) fn bring(&self, builtin: &mut dyn BuiltIn) {
        builtin.cut_through_mut().into_iter().filter(|_| self.is_there).for_each(|it| it.leave(&self.state.data));
    }
}

/// Whether a packet that comes goes on at once.
pub(super) fn passes_on(it: &dyn CutThrough) -> bool {
    matches!(it.passage(), Some(Passage::On))
}

impl Graph {
    /// A cluster goes through those of these members that are none of its programs. What was
    /// counted before has been [told](Self::tell_all_passed).
    pub(super) fn go_through(&mut self, plan: &Plan) {
        let builtin = |node: &usize| matches!(self.core.nodes[*node].body, Body::BuiltIn(_));
        let members = plan.members.iter().map(|node| *node as usize).filter(builtin);
        let told: BTreeMap<_, _> = members.chain(self.fusion.through.told.keys().copied()).map(|node| (node, 0)).collect();
        let role = |node: usize| (self.core.nodes[node].facts.role)(&self.core.nodes[node].arguments);
        let kept = |node: usize| Some(Kept { node, state: Box::new(role(node)?.state()?), is_there: false, begun: Vec::new() });
        let keep = told.keys().filter_map(|node| kept(*node)).filter(|kept| !kept.state.data.is_empty()).collect();
        let state = Role::Queue.state().map(Box::new);
        let order = self.order_of(&told);
        self.fusion.through = Through { told, state, keep, running: 0, order };
    }

    /// The turns of the tasks among elements that a cluster goes through.
    fn order_of(&self, through: &BTreeMap<usize, u64>) -> TaskOrder {
        let is_through = |node: &usize| through.contains_key(node);
        let tasks = self.topology.tasks.iter();
        let places: Vec<usize> = (0..).zip(tasks).filter(|(_, node)| is_through(node)).map(|(place, _)| place).collect();
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return TaskOrder::default() };
        let behind = self.reached_from(places.iter().map(|place| self.topology.tasks[*place]), &|_| false);
        let beside = self.reached_from(self.topology.sources.iter().copied(), &|node| is_through(&node));
        let between = last - first >= places.len();
        let unclear = |node: &usize| self.sets_timers(*node) && (between || beside.contains(node));
        TaskOrder { next: last + 1, unclear: behind.iter().any(unclear), behind, ..TaskOrder::default() }
    }

    /// Elements that packets come to from some, but not behind those where they end.
    fn reached_from(&self, from: impl Iterator<Item = usize>, ends: &dyn Fn(usize) -> bool) -> BTreeSet<usize> {
        let (mut reached, mut work): (_, Vec<usize>) = (BTreeSet::new(), from.collect());
        while let Some(at) = work.pop() {
            let to = self.core.nodes[at].outputs.iter().flatten().map(|way| way.to.instance as usize);
            work.extend(to.filter(|to| !ends(at) && reached.insert(*to)));
        }
        reached
    }

    /// An arrival is on its way, or is so no longer.
    pub(super) fn arriving(&mut self, is_on_its_way: bool) {
        self.fusion.through.order.arriving = is_on_its_way;
    }

    /// An element has set a timer while a cluster ran.
    pub(super) fn note_turn(&mut self, node: usize) {
        let due = self.first_due() <= self.core.clock.now();
        let order = &mut self.fusion.through.order;
        order.had |= order.arriving && due && order.behind.contains(&node);
    }

    /// The task that the next round begins with.
    pub(super) fn next_task(&mut self) -> usize {
        let order = &mut self.fusion.through.order;
        if std::mem::take(&mut order.had) { order.next } else { 0 }
    }

    /// Whether a timer is due when a packet of that time arrives, so that it does not go through.
    pub(super) fn meets_timer(&self, time: Option<u64>) -> bool {
        let time = time.unwrap_or(0).max(self.core.clock.now());
        !self.fusion.through.is_empty() && self.first_due() <= time
    }

    /// A cluster begins to run: what elements keep that it goes through is where its members find
    /// it. Clusters that run meanwhile find it there, too, and the elements themselves [before they
    /// do anything](Kept::bring).
    #[inline]
    pub(super) fn enter_through(&mut self) {
        if self.fusion.through.keep.is_empty() {
            return;
        }
        let (now, Through { keep, running, .. }) = (Now::of(&self.core.clock), &mut self.fusion.through);
        *running += 1;
        for kept in keep.iter_mut().filter(|_| *running == 1) {
            if let Body::BuiltIn(Some(builtin)) = &self.core.nodes[kept.node].body {
                kept.fetch(builtin.as_ref(), now);
                kept.begun.clone_from(&kept.state.data);
            }
        }
    }

    /// It has run.
    #[inline]
    pub(super) fn leave_through(&mut self) {
        if self.fusion.through.keep.is_empty() {
            return;
        }
        let Through { keep, running, .. } = &mut self.fusion.through;
        *running = running.saturating_sub(1);
        for kept in keep.iter().filter(|_| *running == 0) {
            if let Body::BuiltIn(Some(builtin)) = &mut self.core.nodes[kept.node].body {
                kept.bring(builtin.as_mut());
            }
        }
    }

    /// What an element keeps that a cluster goes through, if one is running.
    #[inline]
    pub(super) fn kept_through(&mut self, node: usize) -> Option<(&mut Kept, Now)> {
        let Through { keep, running: 1.., .. } = &mut self.fusion.through else { return None };
        let now = Now::of(&self.core.clock);
        keep.iter_mut().find(|kept| kept.node == node).map(|kept| (kept, now))
    }

    /// Whether all elements that the cluster goes through pass packets on.
    pub(super) fn passes_on(&self) -> bool {
        let begun = |node: usize| self.fusion.through.keep.iter().find(|kept| kept.node == node && self.fusion.through.running > 0);
        let passes = |node: &usize| match (&self.core.nodes[*node].body, begun(*node)) {
            (Body::BuiltIn(Some(builtin)), Some(kept)) => kept.goes_on(builtin.as_ref()),
            (Body::BuiltIn(builtin), _) => builtin.as_deref().and_then(BuiltIn::cut_through).is_some_and(passes_on),
            (Body::Program(_), _) => false,
        };
        // What was asked for when the arrival was looked for is done while its packet waits in a
        // queue.
        let in_time = !self.fusion.through.goes_by_time() || !self.core.clock.is_simulated();
        self.fusion.through.is_empty()
            || in_time
                && !self.is_asked()
                && !self.fusion.through.order.unclear
                && !self.meets_timer(None)
                && self.fusion.through.told.keys().all(passes)
    }

    /// Tells an element how many packets have gone by, before it is asked.
    pub(super) fn tell_passed(&mut self, node: usize) {
        let Some(told) = self.fusion.through.told.get(&node).copied() else { return };
        let entered = |(of, packets): (usize, u64)| if of == node { packets } else { 0 };
        let linked = self.fusion.linked.as_deref().into_iter().flat_map(Linked::entered);
        let singles = self.fusion.singles.as_deref().into_iter().flat_map(Singles::entered);
        let passed = linked.chain(singles).map(entered).sum::<u64>();
        // Nobody knows while the cluster runs, but who asks afterwards.
        if passed > told {
            self.fusion.through.told.insert(node, passed);
            self.tell_gone_past(node, passed - told);
        }
    }

    /// So many packets have gone past an element.
    pub(super) fn tell_gone_past(&mut self, node: usize, packets: u64) {
        self.with_builtin(node, |builtin, _| builtin.cut_through_mut().into_iter().for_each(|it| it.passed(packets)));
    }

    /// Tells all elements how many packets have gone by.
    pub(super) fn tell_all_passed(&mut self) {
        let all: Vec<usize> = self.fusion.through.told.keys().copied().collect();
        all.into_iter().for_each(|node| self.tell_passed(node));
    }
}
