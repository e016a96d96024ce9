//! Packets that come to members of the cluster by themselves: while it runs (copies, what is led back, what tasks send on meanwhile), or where compiled code is for bursts only.
//!
//! Each goes through a cluster of its own, of the same members, and so as far as they lead it at once. There are some of those, as one packet may send others; where none is left,
//! elements run one by one, which gives the same.

use super::serving::Serving;
use super::{Graph, Push};
use netil::cluster::{Cluster, Plan};
use netil::pool::Pool;
use std::sync::Arc;

/// Packets that may be on their way at once.
const DEPTH: usize = 4;

/// Clusters for single packets.
pub(super) struct Singles {
    plan: Arc<Plan>,
    by_node: Vec<Vec<Option<u32>>>,
    free: Vec<Single>,
}

/// A cluster, and the graph's pool while it runs.
struct Single {
    cluster: Box<dyn Cluster>,
    pool: Pool,
}

impl Singles {
    /// Of clusters like this one, if it is for single packets.
    pub(super) fn of(cluster: &dyn Cluster, plan: &Plan, by_node: &[Vec<Option<u32>>]) -> Option<Self> {
        let free = (0..DEPTH).map_while(|_| cluster.another()).map(|cluster| Single { cluster, pool: Pool::default() }).collect();
        Some(Self { plan: Arc::new(plan.clone()), by_node: by_node.to_vec(), free }).filter(|singles| !singles.free.is_empty())
    }

    fn entry(&self, push: &Push) -> Option<u32> {
        self.by_node.get(push.node)?.get(push.port as usize).copied().flatten().filter(|_| !self.free.is_empty())
    }

    /// The same with nothing counted yet.
    pub(super) fn anew(&self) -> Option<Self> {
        Self::of(&*self.free.first()?.cluster, &self.plan, &self.by_node)
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
    /// The entry by which a packet on its way comes into a cluster for single packets, if one is free.
    pub(super) fn entry_of(&self, push: &Push) -> Option<u32> {
        let singles = self.singles.as_ref().filter(|_| self.observer.is_none() && self.pool.room() > 0)?;
        singles.entry(push)
    }

    /// Runs such a cluster on the packet.
    pub(super) fn enter_cluster(&mut self, push: Push, entry: u32) {
        let next = |singles: &mut Singles| Some((Arc::clone(&singles.plan), singles.free.pop()?));
        let Some((plan, mut single)) = self.singles.as_deref_mut().and_then(next) else { return };
        // While the cluster runs, what members have in common with other graphs is in its place.
        match self.linked.is_none() {
            true => self.run_single(push, entry, &plan, &mut single),
            false => self.with_all(&plan.members, |graph| graph.run_single(push, entry, &plan, &mut single)),
        }
        if let Some(singles) = &mut self.singles {
            singles.free.push(single);
        }
    }

    fn run_single(&mut self, push: Push, entry: u32, plan: &Plan, single: &mut Single) {
        let (rounds, mark) = (push.packet.rounds, self.pending.len());
        self.pool.enter(entry);
        if let Some(recorder) = &mut self.recorder {
            recorder.enters(&push.packet, push.node);
        }
        let number = self.recorder.as_ref().map(|recorder| recorder.number(&push.packet));
        let slot = self.pool.place(push.packet.buffer, push.packet.link.number());
        self.note_placed(slot, number);
        std::mem::swap(&mut self.pool, &mut single.pool);
        let (budget, begun) = (self.budget, self.begin_linked_run());
        single.cluster.run(
            slot.as_slice(),
            budget,
            &mut single.pool,
            &mut Serving::of_one(self, plan, slot.as_slice(), (rounds, mark), begun.1),
        );
        self.end_linked_run(1, begun);
        std::mem::swap(&mut self.pool, &mut single.pool);
    }
}
