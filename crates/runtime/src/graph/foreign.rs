//! Packets that come to an element whose state is in parts, each graph's its own, and whose flow is
//! another graph's: such as those that a translator turned round.
//!
//! Packets arrive at the graph that has their flow. Those whose ports were changed on the way and
//! are led back may not be: they are put aside, and run with the other graph's part when this graph
//! holds no lock, so no graphs wait for each other in a circle. They go on here, in their order.
//!
//! Invariant: a packet that enters an element in parts by itself, not as part of a cluster's burst,
//! is run with the part that its port says.

use super::share::Slot;
use super::{Body, Graph, Packet, Policy, Push};
use crate::io::LinkType;
use crate::io::flow::Sorter;
use std::collections::VecDeque;
use std::sync::Arc;

/// Elements in parts, and packets that wait for parts of others.
pub(super) struct Foreign {
    /// By input: which graph has the packets that come by it.
    sorters: Vec<(usize, Vec<Sorter>)>,
    waiting: VecDeque<(Push, Arc<Slot>)>,
}

impl Foreign {
    fn sorter(&mut self, node: usize, port: u32) -> Option<&mut Sorter> {
        let (_, sorters) = self.sorters.iter_mut().find(|(of, _)| *of == node)?;
        sorters.get_mut(port as usize)
    }
}

impl Graph {
    /// Finds elements in parts.
    pub(super) fn find_parts(&mut self) {
        let sorters = |(node, it): (usize, &super::Node)| {
            let Body::Program(program) = &it.body else { return None };
            let Policy::Parts(parts) = &program.slot()?.policy else { return None };
            Some((node, parts.inputs.iter().map(|toward| Sorter::new(Some(*toward))).collect()))
        };
        let sorters: Vec<_> = self.core.nodes.iter().enumerate().filter_map(sorters).collect();
        self.core.foreign = (!sorters.is_empty()).then(|| Box::new(Foreign { sorters, waiting: VecDeque::new() }));
    }

    /// Puts a packet aside if it is of another graph's part of the state of the element that it
    /// comes to; otherwise gives it back.
    pub(super) fn put_aside(&mut self, push: Push) -> Option<Push> {
        let (Some(foreign), Some(share)) = (&mut self.core.foreign, &self.topology.settings.share) else { return Some(push) };
        let Some(sorter) = foreign.sorter(push.node, push.port) else { return Some(push) };
        let at = push.packet.header(&self.topology.info, "network_header", "has_network_header").unwrap_or(0);
        let bytes = push.packet.buffer.bytes();
        let graph = sorter.replica(LinkType::RAW, bytes.get(at..).unwrap_or_default(), share.replicas);
        match share.part(push.node, graph).filter(|_| graph != share.index) {
            Some(slot) => foreign.waiting.push_back((push, slot)),
            None => return Some(push),
        }
        None
    }

    /// Runs the packets that were put aside. False if there was none.
    pub(super) fn run_aside(&mut self) -> bool {
        let mut some = false;
        while let Some((mut push, slot)) = self.core.foreign.as_mut().and_then(|foreign| foreign.waiting.pop_front()) {
            self.note_enters(&mut push);
            self.push_program(push, Some(&slot));
            self.settle();
            some = true;
        }
        some
    }
}

impl super::program::Program {
    /// Runs the push handler with a state that is another graph's.
    pub(super) fn push_at(&mut self, slot: &Slot, packet: &mut Packet, now: u64) -> super::ended::Ended {
        self.with_lock(slot, |program| program.push(packet, now))
    }
}
