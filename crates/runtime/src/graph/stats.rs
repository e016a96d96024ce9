//! What became of packets, by element.

use std::collections::BTreeMap;

/// One element's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeStats {
    /// Packets that came in, pushed or pulled.
    pub packets: u64,
    /// Packets that left, by output; outputs at the end that none left by may be missing.
    pub out: Vec<u64>,
    /// Packets dropped, by reason; traps have their place in the name.
    pub drops: BTreeMap<String, u64>,
    /// Runs that trapped.
    pub traps: u64,
    /// The first trap, with its place.
    pub first_trap: Option<String>,
}

impl NodeStats {
    /// Counts a packet that leaves.
    pub(super) fn left(&mut self, port: u32) {
        let port = port as usize;
        if self.out.len() <= port {
            self.out.resize(port + 1, 0);
        }
        self.out[port] += 1;
    }

    pub(super) fn drop(&mut self, reason: &str) {
        match self.drops.get_mut(reason) {
            Some(count) => *count += 1,
            None => drop(self.drops.insert(reason.to_owned(), 1)),
        }
    }
}

/// The whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets that came from captures.
    pub arrivals: u64,
    /// Name, class and packets of each element, in the order of their declaration.
    pub nodes: Vec<(String, String, NodeStats)>,
}

impl super::Graph {
    /// What became of the packets so far.
    pub fn stats(&self) -> Stats {
        let mut nodes: Vec<_> = self.nodes.iter().map(|node| (node.name.clone(), node.class.clone(), node.stats.clone())).collect();
        for (node, entered) in self.linked.iter().flat_map(super::linked::Linked::entered) {
            nodes[node].2.packets += entered;
        }
        Stats { arrivals: self.arrivals, nodes }
    }
}
