//! The end of the first stage: arrivals are numbered and handed to replicas.

use super::batch::{Batch, Plain};
use super::buckets::{BUCKETS, Buckets};
use super::pinning::Flow;
use crate::io::LinkType;
use netil::cluster::{Cluster, Host};
use netil::pool::Pool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Arrivals of an epoch: a few bursts, so that handing over costs little for each, and few enough
/// that their bytes stay in the caches.
const EPOCH: u32 = 3072;
/// Takes the batches of an epoch, one for each replica, and leaves empty ones: as many as there are
/// replicas in the next epoch, one at least; and which replica has which of its packets. False if
/// nobody wants more.
pub type Handover = Box<dyn FnMut(&mut Vec<Batch>, &mut Pinning) -> bool + Send>;

/// Which replica has a packet.
pub struct Pinning {
    /// By which function.
    pub flow: Flow,
    /// Who has the flows that elements keep state of, if they do.
    buckets: Option<Buckets>,
}

impl Pinning {
    /// So many replicas are wanted; how many there must be, as some have flows that stay.
    pub fn spread(&mut self, replicas: usize) -> usize {
        self.buckets.as_mut().map_or(replicas, |buckets| buckets.spread(replicas))
    }

    /// Whether flows are to go to other replicas.
    pub fn are_moving(&self) -> bool {
        self.buckets.as_ref().is_some_and(Buckets::are_moving)
    }

    #[inline]
    fn replica(&mut self, number: u32, (link, bytes, time_ns): (LinkType, &[u8], u64), replicas: usize) -> usize {
        match &mut self.buckets {
            Some(buckets) => buckets.replica(self.flow.replica(number, link, bytes, BUCKETS), time_ns).min(replicas - 1),
            None => self.flow.replica(number, link, bytes, replicas),
        }
    }
}

/// Numbers arrivals, and hands them over an epoch at a time. Clones are the same one, for who runs
/// the graph that has it.
#[derive(Clone)]
pub struct Dispatcher(Arc<Mutex<Epoch>>);

/// The epoch that is coming.
struct Epoch {
    pinning: Pinning,
    batches: Vec<Batch>,
    number: u32,
    first: Option<u64>,
    last: u64,
    handover: Handover,
    wanted: bool,
    eager: bool,
}

/// What elements of replicas keep of flows, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowState {
    /// Nothing.
    Stateless,
    /// State that ends when nothing has refreshed it for so many nanoseconds of packet time.
    Expires(u64),
    /// State that never ends.
    Permanent,
}

impl FlowState {
    fn lifetime(self) -> Option<u64> {
        if let Self::Expires(ns) = self { Some(ns) } else { None }
    }
}

impl Dispatcher {
    /// For so many replicas.
    pub fn new(replicas: usize, flow: Flow, handover: Handover) -> Self {
        let batches = (0..replicas.max(1)).map(|_| Batch::default()).collect();
        let pinning = Pinning { flow, buckets: None };
        let epoch = Epoch { pinning, batches, number: 0, first: None, last: 0, handover, wanted: true, eager: false };
        Self(Arc::new(Mutex::new(epoch)))
    }

    /// An epoch ends where nothing more has arrived: live packets do not wait for others.
    #[must_use]
    pub fn eager(self) -> Self {
        self.epoch().eager = true;
        self
    }

    fn epoch(&self) -> MutexGuard<'_, Epoch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over what has arrived, without more.
    pub fn hand_over(&self) {
        self.epoch().hand_over();
    }

    /// Which replica has a packet from now on; nothing waits to be handed over.
    pub fn set_flow(&self, flow: Flow) {
        self.epoch().pinning.flow = flow;
    }

    /// What elements keep of flows from now on; nothing waits to be handed over.
    pub fn set_flow_state(&self, state: FlowState) {
        let mut epoch = self.epoch();
        let replicas = epoch.batches.len();
        let buckets = &mut epoch.pinning.buckets;
        match (state, &mut *buckets) {
            (FlowState::Stateless, _) => *buckets = None,
            (_, Some(buckets)) => buckets.lasts(state.lifetime()),
            (_, None) => *buckets = Some(Buckets::new(replicas, state.lifetime())),
        }
    }
}

impl Epoch {
    fn add(&mut self, slot: u32, pool: &Pool) {
        let (bytes, it) = (pool.bytes(slot), pool.slot(slot));
        let link = LinkType::from_file(pool.tag(slot));
        let replica = self.pinning.replica(self.number, (link, bytes, it.time_ns), self.batches.len());
        let packet = Plain { bytes, wire_len: pool.wire_len(slot), time_ns: it.time_ns, link };
        self.batches[replica].add(self.number, it.entry() as u16, packet);
        self.batches[replica].number(pool.number_of(slot));
        self.number += 1;
        self.first.get_or_insert(it.time_ns);
        self.last = self.last.max(it.time_ns);
    }

    fn hand_over(&mut self) {
        if self.number == 0 || !self.wanted {
            return;
        }
        let span = self.first.map(|first| (first, self.last));
        if let (Flow::All, Some((first, others))) = (self.pinning.flow, self.batches.split_first_mut()) {
            others.iter_mut().for_each(|batch| batch.copy(first));
        }
        self.batches.iter_mut().for_each(|batch| batch.span = span);
        self.wanted = (self.handover)(&mut self.batches, &mut self.pinning);
        self.number = 0;
    }
}

impl Drop for Epoch {
    /// The last epoch is what is left.
    fn drop(&mut self) {
        self.hand_over();
    }
}

impl Cluster for Dispatcher {
    fn run(&mut self, slots: &[u32], _: u32, pool: &mut Pool, _: &mut dyn Host) {
        let mut epoch = self.epoch();
        for slot in slots {
            epoch.add(*slot, pool);
            if epoch.number >= EPOCH {
                epoch.hand_over();
            }
        }
        pool.give_back(slots);
        if epoch.eager {
            epoch.hand_over();
        }
    }

    fn entered(&self) -> Vec<u64> {
        Vec::new()
    }
}
