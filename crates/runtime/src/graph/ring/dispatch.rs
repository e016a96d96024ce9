//! The end of the first stage: arrivals are numbered and handed to replicas.

use super::batch::{Batch, Plain};
pub use crate::io::flow::Fields;
use crate::io::{LinkType, flow};
use netil::app::Toward;
use netil::cluster::{Cluster, Host};
use netil::pool::Pool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Arrivals of an epoch: a few bursts, so that handing over costs little for each, and few enough
/// that their bytes stay in the caches.
const EPOCH: u32 = 3072;
/// Arrivals that follow each other and go to one replica where any may have them.
const RUN: u32 = 64;
/// Arrivals that follow each other and belong to one replica where all replicas have all packets:
/// as many as go through elements at once.
pub(super) const OWN_RUN: u32 = 256;

/// Which replica has a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// Any.
    #[default]
    Any,
    /// All packets between two addresses have the same, whichever comes first (`io::flow` says
    /// how).
    Addresses,
    /// All packets between two addresses of their own IP headers have one replica, which is another
    /// one for ICMP errors.
    Own,
    /// All packets from one address have the same replica.
    Source,
    /// All packets to one address have the same replica.
    Destination,
    /// All packets whose bytes are equal in these fields have the same replica.
    Fields(Fields),
    /// All packets of one connection, either way, have the same replica: addresses, protocol and
    /// ports. Fragments go by the others.
    Tuple,
    /// All have it. One of them, by its number, runs it; the others only do again what it does to
    /// state.
    All,
}

impl Flow {
    /// The functions of which people may choose one, with their names.
    pub const NAMED: [(&str, Self); 6] = [
        ("any", Self::Any),
        ("addresses", Self::Addresses),
        ("header", Self::Own),
        ("source", Self::Source),
        ("destination", Self::Destination),
        ("tuple", Self::Tuple),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, flow)| *flow == self).map_or(if self == Self::All { "all" } else { "fields" }, |(name, _)| name)
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, flow)| *flow)
    }

    /// The replica, one of so many, for the arrival with that number.
    pub(in super::super) fn replica(self, number: u32, link: LinkType, bytes: &[u8], replicas: usize) -> usize {
        match self {
            Self::Any => (number / RUN) as usize % replicas,
            Self::Addresses => flow::replica(link, bytes, replicas),
            Self::Own => flow::own_replica(link, bytes, replicas),
            Self::Source => flow::end_replica(link, bytes, Toward::Source, replicas),
            Self::Destination => flow::end_replica(link, bytes, Toward::Destination, replicas),
            Self::Fields(fields) => flow::fields_replica(link, bytes, fields, replicas),
            Self::Tuple => flow::tuple_replica(link, bytes, replicas),
            // The first batch is what the others become copies of.
            Self::All => 0,
        }
    }

    /// The one of so many replicas that an arrival with that number belongs to where all have it.
    pub(super) fn owner(number: u32, replicas: usize) -> usize {
        (number / OWN_RUN) as usize % replicas.max(1)
    }
}

/// Takes the batches of an epoch, one for each replica, and leaves empty ones: as many as there are
/// replicas in the next epoch, one at least; and which replica has which of its packets. False if
/// nobody wants more.
pub type Handover = Box<dyn FnMut(&mut Vec<Batch>, &mut Flow) -> bool + Send>;

/// Numbers arrivals, and hands them over an epoch at a time. Clones are the same one, for who runs
/// the graph that has it.
#[derive(Clone)]
pub struct Dispatcher(Arc<Mutex<Epoch>>);

/// The epoch that is coming.
struct Epoch {
    flow: Flow,
    batches: Vec<Batch>,
    number: u32,
    first: Option<u64>,
    last: u64,
    handover: Handover,
    wanted: bool,
    eager: bool,
}

impl Dispatcher {
    /// For so many replicas.
    pub fn new(replicas: usize, flow: Flow, handover: Handover) -> Self {
        let batches = (0..replicas.max(1)).map(|_| Batch::default()).collect();
        let epoch = Epoch { flow, batches, number: 0, first: None, last: 0, handover, wanted: true, eager: false };
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
        self.epoch().flow = flow;
    }
}

impl Epoch {
    fn add(&mut self, slot: u32, pool: &Pool) {
        let (bytes, it) = (pool.bytes(slot), pool.slot(slot));
        let link = LinkType::from_file(pool.tag(slot));
        let replica = self.flow.replica(self.number, link, bytes, self.batches.len());
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
        if let (Flow::All, Some((first, others))) = (self.flow, self.batches.split_first_mut()) {
            others.iter_mut().for_each(|batch| batch.copy(first));
        }
        self.batches.iter_mut().for_each(|batch| batch.span = span);
        self.wanted = (self.handover)(&mut self.batches, &mut self.flow);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_spread() {
        let mut counts = [0; 4];
        for n in 0..1000_u32 {
            let mut frame = vec![0; 34];
            (frame[12], frame[14]) = (8, 0x45);
            frame[26..30].copy_from_slice(&n.to_be_bytes());
            counts[Flow::Addresses.replica(n, LinkType::EN10MB, &frame, 4)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 200), "{counts:?}");
        for (name, flow) in Flow::NAMED {
            assert!(flow.replica(0, LinkType::EN10MB, &[], 4) < 4 && flow.name() == name && Flow::named(name) == Some(flow));
        }
        assert!(Flow::named("all").is_none() && Flow::All.name() == "all");
        let replicas: Vec<usize> = [0, RUN - 1, RUN, 4 * RUN].map(|n| Flow::Any.replica(n, LinkType::EN10MB, &[], 4)).to_vec();
        assert_eq!(replicas, [0, 0, 1, 0]);
    }
}
