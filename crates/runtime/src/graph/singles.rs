//! Packets that come to members of the cluster by themselves: while it runs (copies, what is led
//! back, what tasks send on meanwhile), or where compiled code is for bursts only.
//!
//! Each goes through a cluster of its own, of the same members, and so as far as they lead it at
//! once. There are some of those, as one packet may send others; where none is left, elements run
//! one by one, which gives the same.

use super::cluster_context::ClusterContext;
use super::later::Made;
use super::{Graph, Push};
use netil::cluster::{Cluster, Plan};
use netil::pool::Pool;
use std::collections::HashMap;
use std::sync::Arc;

/// Packets that may be on their way at once.
const DEPTH: usize = 4;
/// Packets that must have left a cluster with copies before it gives way, and of how many at most
/// one.
const COPIED: u64 = 4096;
/// See [`COPIED`].
const ONE_OF: u64 = 8;

/// Clusters for single packets.
pub(super) struct Singles {
    plan: Arc<Plan>,
    by_node: Vec<Vec<Option<u32>>>,
    free: Vec<Single>,
    /// Packets that had gone through clusters when the present one was linked, and those that have
    /// left that with copies.
    before: u64,
    copied: u64,
}

/// The entries of inputs: by element and port.
type Entries = HashMap<(usize, u32), u32>;

/// A cluster, and the graph's pool while it runs.
pub(super) struct Single {
    pub(super) cluster: Box<dyn Cluster>,
    pub(super) pool: Pool,
}

impl Singles {
    /// Of clusters like this one, if it is for single packets.
    pub(super) fn of(cluster: &dyn Cluster, plan: &Plan, by_node: &[Vec<Option<u32>>]) -> Option<Self> {
        let free = (0..DEPTH).map_while(|_| cluster.another()).map(|cluster| Single { cluster, pool: Pool::default() }).collect();
        Some(Self { plan: Arc::new(plan.clone()), by_node: by_node.to_vec(), free, before: 0, copied: 0 })
            .filter(|singles| !singles.free.is_empty())
    }

    fn entry(&self, push: &Push) -> Option<u32> {
        self.entry_at(push.node, push.port).filter(|_| !self.free.is_empty())
    }

    /// The entry of an input.
    pub(super) fn entry_at(&self, node: usize, port: u32) -> Option<u32> {
        self.by_node.get(node)?.get(port as usize).copied().flatten()
    }

    /// A cluster that is free, which is to be [put back](Self::put_back).
    pub(super) fn take(&mut self) -> Option<(Arc<Plan>, Single)> {
        Some((Arc::clone(&self.plan), self.free.pop()?))
    }

    pub(super) fn put_back(&mut self, single: Single) {
        self.free.push(single);
    }

    /// Clusters for single packets like these, with nothing counted yet.
    pub(super) fn anew(&self) -> Option<Self> {
        Self::of(&*self.free.first()?.cluster, &self.plan, &self.by_node)
    }

    /// A cluster is linked after so many packets.
    pub(super) fn begin(&mut self, packets: u64) {
        (self.before, self.copied) = (packets, 0);
    }

    /// A packet has left the cluster that is linked with copies.
    pub(super) fn note_copied(&mut self) {
        self.copied += 1;
    }

    /// Whether copies are so many, of so many packets so far, that what makes them is better.
    fn are_better(&self, packets: u64) -> bool {
        self.copied >= COPIED && self.copied * ONE_OF >= packets - self.before
    }

    /// Such a cluster for bursts, with its plan and the entries of inputs.
    fn for_bursts(&self) -> Option<(Made, Entries)> {
        let entries = (0..)
            .zip(&self.by_node)
            .flat_map(|(node, ports)| (0..).zip(ports).filter_map(move |(port, entry)| entry.map(|entry| ((node, port), entry))));
        Some((((*self.plan).clone(), self.free.first()?.cluster.another()?), entries.collect()))
    }

    /// Packets that left each member by its ports, by their ids.
    pub(super) fn left(&self) -> impl Iterator<Item = (usize, Vec<(u32, u64)>)> {
        let members = || self.plan.members.iter().map(|node| *node as usize);
        self.free.iter().flat_map(move |single| members().zip(single.cluster.left().unwrap_or_default()))
    }

    /// Packets that came into each member.
    pub(super) fn entered(&self) -> impl Iterator<Item = (usize, u64)> {
        let members = || self.plan.members.iter().map(|node| *node as usize);
        self.free.iter().flat_map(move |single| members().zip(single.cluster.entered()))
    }
}

impl Graph {
    /// The entry by which a packet on its way comes into a cluster for single packets, if one is
    /// free.
    pub(super) fn entry_of(&self, push: &Push) -> Option<u32> {
        let singles =
            self.fusion.singles.as_ref().filter(|_| self.watch.observer.is_none() && self.core.pool.room() > 0 && self.passes_on())?;
        singles.entry(push)
    }

    /// Whether machine code is to take over.
    pub(super) fn singles_are_better(&self) -> bool {
        let better = |singles: &Singles| singles.are_better(self.fusion.packets);
        self.fusion.singles.as_deref().is_some_and(better) && self.fusion.linked.as_ref().is_some_and(|linked| linked.gives_way())
    }

    /// Compiled C that leaves copies to the runtime gives way to machine code, which makes them,
    /// where many packets are copied.
    pub(super) fn prefer_singles(&mut self) {
        if !self.singles_are_better() {
            return;
        }
        if let Some(((plan, cluster), entries)) = self.fusion.singles.as_ref().and_then(|singles| singles.for_bursts()) {
            self.link_entries(plan, cluster, entries);
        }
    }

    /// Runs such a cluster on the packet.
    pub(super) fn enter_cluster(&mut self, push: Push, entry: u32) {
        let Some((plan, mut single)) = self.fusion.singles.as_deref_mut().and_then(Singles::take) else { return };
        // While the cluster runs, what members have in common with other graphs is in its place.
        match self.fusion.linked.is_none() {
            true => self.run_single(push, entry, &plan, &mut single),
            false => self.with_all(&plan.members, |graph| graph.run_single(push, entry, &plan, &mut single)),
        }
        if let Some(singles) = &mut self.fusion.singles {
            singles.put_back(single);
        }
    }

    fn run_single(&mut self, push: Push, entry: u32, plan: &Plan, single: &mut Single) {
        let (rounds, mark) = (push.packet.rounds, self.core.pending.len());
        self.core.pool.enter(entry);
        if let Some(recorder) = &mut self.watch.recorder {
            recorder.enters(&push.packet, push.node);
        }
        let number = self.watch.recorder.as_ref().map(|recorder| recorder.number(&push.packet));
        let slot = self.core.pool.place(push.packet.buffer, push.packet.link.number());
        self.note_placed(slot, number);
        let Single { cluster, pool, .. } = single;
        self.with_pool(pool, |graph, pool| {
            let (budget, begun, slots) = (graph.core.budget, graph.begin_linked_run(), slot.as_slice());
            cluster.run(slots, budget, pool, &mut ClusterContext::of_one(graph, plan, slots, (rounds, mark), begun.1));
            graph.end_linked_run(1, begun);
        });
    }
}
