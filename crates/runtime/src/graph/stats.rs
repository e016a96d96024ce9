//! What became of packets, by element.

use super::builtin::DeviceStats;
use super::linked::Linked;
use super::singles::Singles;
pub use super::transaction::{Conflict, Transactions};
use super::{Body, Measured};
use std::collections::BTreeMap;

/// One element's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeStats {
    /// Packets that came in, pushed or pulled.
    pub packets: u64,
    /// Packets that left, by output; outputs at the end that none left by may be missing.
    pub out: Vec<u64>,
    /// The time in this element, if the run is measured ([`super::Graph::measure`]).
    pub measured: Measured,
    /// Packets dropped, by reason; traps have their place in the name.
    pub drops: BTreeMap<String, u64>,
    /// Runs that trapped.
    pub traps: u64,
    /// The first trap, with its place.
    pub first_trap: Option<String>,
    /// What came of its transactions, if it runs as such; of all replicas.
    pub transactions: Option<Transactions>,
}

impl NodeStats {
    /// Counts a packet that leaves.
    pub(super) fn left(&mut self, port: u32) {
        self.left_many(port, 1);
    }

    pub(super) fn left_many(&mut self, port: u32, packets: u64) {
        *self.left_by(port) += packets;
    }

    fn left_by(&mut self, port: u32) -> &mut u64 {
        let port = port as usize;
        if self.out.len() <= port {
            self.out.resize(port + 1, 0);
        }
        &mut self.out[port]
    }

    /// Adds what another run of the element counted; times aside.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.traps += other.traps;
        other.out.iter().zip(0..).filter(|(packets, _)| **packets > 0).for_each(|(packets, port)| self.left_many(port, *packets));
        other.drops.iter().for_each(|(reason, packets)| self.drop(reason, *packets));
        if self.first_trap.is_none() {
            self.first_trap.clone_from(&other.first_trap);
        }
    }

    /// Counts packets that are dropped.
    pub fn drop(&mut self, reason: &str, packets: u64) {
        match self.drops.get_mut(reason) {
            Some(count) => *count += packets,
            None => drop(self.drops.insert(reason.to_owned(), packets)),
        }
    }
}

/// Elements that ran as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkedStats {
    /// Which.
    pub members: Vec<usize>,
    /// Packets that came into them from elsewhere.
    pub packets: u64,
    /// The time in them, if the run is measured.
    pub measured: Measured,
    /// Outputs of them that were not counted, and that what came out elsewhere does not tell of:
    /// elements and ports.
    pub unsure: Vec<(usize, u32)>,
}

/// The whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets that came from captures.
    pub arrivals: u64,
    /// How long the run has lasted by its own clock, that of the packets where they come from
    /// captures, in nanoseconds.
    pub lasted_ns: u64,
    /// Name, class and packets of each element, in the order of their declaration.
    pub nodes: Vec<(String, String, NodeStats)>,
    /// Elements that ran as one, if some did.
    pub linked: Option<LinkedStats>,
    /// Frames of live devices.
    pub devices: Vec<DeviceStats>,
    /// How long the run waited for live devices, in nanoseconds.
    pub waited_ns: u64,
    /// For how much of that it was on a core, and looked for frames, in nanoseconds.
    pub looked_ns: u64,
}

impl super::Graph {
    /// How many packets have come from captures so far ([`Stats::arrivals`]), without the rest of
    /// the statistics.
    pub fn arrivals(&self) -> u64 {
        self.core.arrivals
    }

    /// What became of the packets so far.
    pub fn stats(&self) -> Stats {
        let mut nodes: Vec<_> = self.core.nodes.iter().map(|node| (node.name.clone(), node.class.clone(), node.stats.clone())).collect();
        for (node, (.., stats)) in self.core.nodes.iter().zip(&mut nodes) {
            stats.transactions = if let Body::Program(program) = &node.body { program.transacted() } else { None };
        }
        let (devices, waited_ns) = (self.outside.devices.stats(), self.outside.waited);
        let looked_ns = self.topology.settings.home.looks.so_far().as_nanos() as u64;
        let (arrivals, lasted_ns) = (self.core.arrivals, self.core.clock.lasted());
        let whole = Stats { arrivals, lasted_ns, devices, waited_ns, looked_ns, ..Stats::default() };
        let Some(linked) = &self.fusion.linked else { return Stats { nodes, ..whole } };
        let counted = self.count_linked(linked, &mut nodes.iter_mut().map(|node| &mut node.2).collect::<Vec<_>>());
        let members: Vec<usize> = linked.members().collect();
        members.iter().zip(self.parts(&members)).for_each(|(member, part)| nodes[*member].2.measured = part);
        let unsure = if counted { Vec::new() } else { self.infer(&members, &mut nodes) };
        let linked = LinkedStats { members, packets: self.fusion.packets, measured: self.fusion.measured, unsure };
        Stats { nodes, linked: Some(linked).filter(|linked| !linked.members.is_empty()), ..whole }
    }

    /// Adds what a cluster has counted of its members. True if it has counted what left by their
    /// ports.
    pub(super) fn count_linked(&self, linked: &Linked, stats: &mut [&mut NodeStats]) -> bool {
        linked.entered().for_each(|(node, entered)| stats[node].packets += entered);
        let singles = self.fusion.singles.as_deref().into_iter().flat_map(Singles::entered);
        singles.for_each(|(node, entered)| stats[node].packets += entered);
        let Some(left) = linked.left() else { return false };
        for (node, ports) in left.chain(self.fusion.singles.as_deref().into_iter().flat_map(Singles::left)) {
            let output = |port: u32| match &self.core.nodes[node].body {
                Body::Program(program) => program.output_of(port),
                Body::BuiltIn(_) => 0,
            };
            ports.iter().for_each(|(port, packets)| stats[node].left_many(output(*port), *packets));
        }
        true
    }

    /// Linked elements do not count what leaves by their wires, as it only costs time: what came in
    /// at the other end tells, if all but one of the wires there are known. Those that are not
    /// known are given back.
    fn infer(&self, members: &[usize], nodes: &mut [(String, String, NodeStats)]) -> Vec<(usize, u32)> {
        let wires: Vec<(usize, u32, usize)> = (0..self.core.nodes.len()).flat_map(|node| self.wires_of(node)).collect();
        let is_open = |wire: &&(usize, u32, usize)| {
            let way = self.core.nodes[wire.0].outputs[wire.1 as usize].first();
            members.contains(&wire.0) && nodes[wire.0].2.packets > 0 && way.is_some_and(|way| !way.recirculates)
        };
        let mut open: Vec<(usize, u32, usize)> = wires.iter().filter(is_open).copied().collect();
        loop {
            let before = open.len();
            for (node, port, to) in open.clone() {
                if open.iter().filter(|wire| wire.2 == to).count() > 1 {
                    continue;
                }
                let others = wires.iter().filter(|wire| wire.2 == to && (wire.0, wire.1) != (node, port));
                let known: u64 = others.map(|(node, port, _)| nodes[*node].2.out.get(*port as usize).copied().unwrap_or(0)).sum();
                let entered = nodes[to].2.packets;
                *nodes[node].2.left_by(port) = entered.saturating_sub(known);
                open.retain(|wire| (wire.0, wire.1) != (node, port));
            }
            if open.len() == before {
                return open.into_iter().map(|(node, port, _)| (node, port)).collect();
            }
        }
    }

    /// An element's wires: itself, the output, the element behind.
    fn wires_of(&self, node: usize) -> impl Iterator<Item = (usize, u32, usize)> {
        let outputs = self.core.nodes[node].outputs.iter().enumerate();
        outputs.filter_map(move |(port, ways)| ways.first().map(|way| (node, port as u32, way.to.instance as usize)))
    }
}
