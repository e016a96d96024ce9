//! Elements of the runtime that a cluster goes through: queues that packets leave as soon as they have come, and what is around them ([`netil::cut_through`]).
//!
//! Invariant: the cluster runs only while all of them pass packets on. Where one does not (a handler has stopped a task, a queue holds packets), elements run one after the other.

use super::linked::Linked;
use super::native::{CutThrough, Native, Passage};
use super::singles::Singles;
use super::{Body, Graph};
use netil::cluster::Plan;
use netil::cut_through;
use netil::exec::State;
use std::collections::BTreeMap;

/// Those elements.
#[derive(Default)]
pub(super) struct Through {
    /// How many packets each has been told that went by.
    told: BTreeMap<usize, u64>,
    /// What clusters take for their state.
    state: Option<Box<State>>,
}

impl Through {
    /// True if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// What a cluster takes for the state of each; they are there only with one.
    pub(super) fn state(&mut self) -> Option<&mut State> {
        self.state.as_deref_mut()
    }
}

/// Whether a packet that comes goes on at once.
pub(super) fn passes_on(it: &dyn CutThrough) -> bool {
    matches!(it.passage(), Some(Passage::On))
}

impl Graph {
    /// A cluster goes through those of these members that are none of its programs. What was counted before has been [told](Self::tell_all_passed).
    pub(super) fn go_through(&mut self, plan: &Plan) {
        let native = |node: &usize| matches!(self.core.nodes[*node].body, Body::Native(_));
        let members = plan.members.iter().map(|node| *node as usize).filter(native);
        let told = members.chain(self.fusion.through.told.keys().copied()).map(|node| (node, 0)).collect();
        self.fusion.through = Through { told, state: cut_through::state().map(Box::new) };
    }

    /// Whether all elements that the cluster goes through pass packets on.
    pub(super) fn passes_on(&self) -> bool {
        let passes = |node: &usize| match &self.core.nodes[*node].body {
            Body::Native(native) => native.as_deref().and_then(Native::cut_through).is_some_and(passes_on),
            Body::Program(_) => false,
        };
        // What was asked for when the arrival was looked for is done while its packet waits in a queue.
        self.fusion.through.is_empty() || !self.is_asked() && self.fusion.through.told.keys().all(passes)
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
        self.with_native(node, |native, _| native.cut_through_mut().into_iter().for_each(|it| it.passed(packets)));
    }

    /// The same for all.
    pub(super) fn tell_all_passed(&mut self) {
        let all: Vec<usize> = self.fusion.through.told.keys().copied().collect();
        all.into_iter().for_each(|node| self.tell_passed(node));
    }
}
