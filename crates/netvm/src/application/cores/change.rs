//! What the sources change between two epochs: how many replicas get packets, and which of them has
//! a packet.

use super::channel::Sender;
use super::lock;
use runtime::graph::Sampler;
use runtime::graph::ring::{Batch, Flow, Pinning};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// What the sources are to do at the end of an epoch.
#[derive(Default)]
pub(super) struct Change {
    pub wanted: AtomicUsize,
    /// Channels to replicas that are new.
    pub new: Mutex<Vec<Sender>>,
    /// How many new flows, or packets, go to.
    spread: AtomicUsize,
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
        let [wanted, spread, active] = [(); 3].map(|()| AtomicUsize::new(replicas));
        Self { wanted, spread, active, flow, ..Self::default() }
    }

    /// Changes how many batches the next epoch has, and which has a packet, if that is wanted.
    /// Flows that elements keep state of stay where they are: their replicas do, too.
    pub(super) fn apply(&self, senders: &mut Vec<Sender>, batches: &mut Vec<Batch>, pinning: &mut Pinning) {
        self.handed.fetch_add(1, Ordering::Relaxed);
        {
            let mut flows = lock(&self.flow);
            flows.active = flows.wanted;
            pinning.flow = flows.wanted;
        }
        let wanted = self.wanted.load(Ordering::Acquire);
        if wanted == self.spread.swap(wanted, Ordering::Relaxed) && !pinning.are_moving() {
            return;
        }
        let begun = Instant::now();
        senders.append(&mut lock(&self.new));
        // It may be another number by now.
        let wanted = self.wanted.load(Ordering::Acquire).clamp(1, senders.len());
        let width = pinning.spread(wanted).clamp(1, senders.len());
        if width != batches.len() {
            batches.resize_with(width, Batch::default);
            self.active.store(width, Ordering::Release);
            self.pause.store(begun.elapsed().as_nanos() as u64, Ordering::Release);
        }
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
