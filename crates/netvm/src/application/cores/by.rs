//! By which function packets go to replicas, so that elements find what they keep of packets in
//! their own replica.
//!
//! Classes with a promise (`FLOW_STATE`) decide: packets go by the addresses of their flow. Else it
//! is the function by which most elements are keyed: both addresses of the packet's own IP header,
//! or bytes that the keys of all their tables have ([`Fields`]). Elements that are keyed in another
//! way run in order.
//!
//! Source: Maestro (NSDI 2024), section 4: one hash of the card for all that a function keeps.

use super::keyed::Keyed;
use netil::app::Application;
use runtime::graph::ring::{Fields, Flow};
use std::collections::BTreeSet;

/// Elements that keep what they keep by flow, where replicas get the packets of some flows each.
pub(super) struct By<'k> {
    pub keyed: &'k Keyed,
    promised: BTreeSet<usize>,
    /// Which replica has a packet then; none if nothing is kept by flow.
    flow: Option<Flow>,
}

impl<'k> By<'k> {
    /// `any`: replicas get the packets of some flows each. `gains`: whether an element may be in
    /// replicas if its tables are found by flow.
    pub(super) fn new(application: &Application, keyed: &'k Keyed, any: bool, gains: impl Fn(usize) -> bool) -> Self {
        let promised: BTreeSet<usize> = (0..application.instances.len()).filter(|at| keyed.promised(application, *at)).collect();
        let flow = match promised.is_empty() {
            _ if !any => None,
            false => Some(Flow::Addresses),
            true => chosen(keyed, &gains),
        };
        Self { keyed, promised, flow }
    }

    pub(super) fn flow(&self) -> Option<Flow> {
        self.flow
    }

    pub(super) fn has(&self, at: usize) -> bool {
        match self.flow {
            None => false,
            Some(Flow::Fields(fields)) => self.keyed.fields(at).contains(&fields),
            Some(flow) => self.promised.contains(&at) || self.keyed.shown(at, flow == Flow::Addresses),
        }
    }
}

/// The function by which most elements are keyed that gain by it. Bytes, if they are as good:
/// whatever a packet is, they are what its keys have; what is taken for an address may be none.
fn chosen(keyed: &Keyed, gains: &impl Fn(usize) -> bool) -> Option<Flow> {
    let elements: Vec<usize> = keyed.of.keys().copied().filter(|at| gains(*at)).collect();
    let own = elements.iter().filter(|at| keyed.shown(**at, false)).count();
    let all: BTreeSet<Fields> = elements.iter().flat_map(|at| keyed.fields(*at)).collect();
    let count = |fields: &Fields| elements.iter().filter(|at| keyed.fields(**at).contains(fields)).count();
    // Of those that are as good the one with most bytes: it tells most flows apart.
    let best = all.into_iter().map(|fields| (count(&fields), fields.bytes(), fields)).max();
    match best {
        Some((elements, _, fields)) if elements > 0 && elements >= own => Some(Flow::Fields(fields)),
        _ => Some(Flow::Own).filter(|_| own > 0),
    }
}
