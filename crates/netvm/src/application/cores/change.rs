//! What the sources change between two epochs: how many replicas get packets, and which of them has
//! a packet.

use super::channel::Sender;
use super::lock;
use runtime::graph::Sampler;
use runtime::graph::ring::{Batch, Flow};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// What the sources are to do at the end of an epoch.
#[derive(Default)]
pub(super) struct Change {
    pub wanted: AtomicUsize,
    /// Channels to replicas that are new.
    pub new: Mutex<Vec<Sender>>,
    /// How many get packets.
    active: AtomicUsize,
    /// How long the last change held up the sources, in nanoseconds.
    pub pause: AtomicU64,
    /// Which replica is to have a packet, and which has it.
    pub flow: Mutex<Flows>,
    /// Epochs that the sources have handed over.
    handed: AtomicU64,
    /// Says which epochs are recorded, if some are.
    sampler: Mutex<Option<Sampler>>,
}

/// Which replica has a packet, and what is to come of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// At present.
    pub active: Flow,
    /// From the next epoch on.
    pub wanted: Flow,
}

impl Change {
    pub(super) fn new(replicas: usize, flow: Flow) -> Self {
        let flow = Mutex::new(Flows { active: flow, wanted: flow });
        Self { wanted: AtomicUsize::new(replicas), active: AtomicUsize::new(replicas), flow, ..Self::default() }
    }

    /// Changes how many batches the next epoch has, and which has a packet, if that is wanted.
    pub(super) fn apply(&self, senders: &mut Vec<Sender>, batches: &mut Vec<Batch>, flow: &mut Flow) {
        self.handed.fetch_add(1, Ordering::Relaxed);
        {
            let mut flows = lock(&self.flow);
            flows.active = flows.wanted;
            *flow = flows.wanted;
        }
        if self.wanted.load(Ordering::Acquire) == batches.len() {
            return;
        }
        let begun = Instant::now();
        senders.append(&mut lock(&self.new));
        // It may be another number by now.
        let wanted = self.wanted.load(Ordering::Acquire).clamp(1, senders.len());
        batches.resize_with(wanted, Batch::default);
        self.active.store(wanted, Ordering::Release);
        self.pause.store(begun.elapsed().as_nanos() as u64, Ordering::Release);
    }

    /// Whether an epoch of so many packets is recorded.
    pub(super) fn records(&self, packets: usize) -> bool {
        lock(&self.sampler).as_mut().is_some_and(|sampler| sampler.takes(packets))
    }

    /// Lets epochs be recorded as that says.
    pub(super) fn record_by(&self, sampler: Sampler) {
        *lock(&self.sampler) = Some(sampler);
    }

    pub(super) fn active(&self) -> usize {
        self.active.load(Ordering::Acquire)
    }

    pub(super) fn flows(&self) -> Flows {
        *lock(&self.flow)
    }

    /// Epochs that have been handed over.
    pub(super) fn handed(&self) -> u64 {
        self.handed.load(Ordering::Relaxed)
    }
}
