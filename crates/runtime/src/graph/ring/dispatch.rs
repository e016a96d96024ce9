//! The end of the first stage: arrivals are numbered and handed to replicas.

use super::batch::{Batch, Plain};
use crate::io::{LinkType, flow};
use netil::cluster::{Cluster, Host};
use netil::pool::Pool;

/// Arrivals of an epoch: a few bursts, so that handing over costs little for each, and few enough that their bytes stay in the caches.
const EPOCH: u32 = 3072;
/// Arrivals that follow each other and go to one replica where any may have them.
const RUN: u32 = 64;
/// The same where all replicas have all packets: as many as go through elements at once.
pub(super) const OWN_RUN: u32 = 256;

/// Which replica has a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// Any.
    #[default]
    Any,
    /// All packets between two addresses have the same, whichever comes first (`io::flow` says how).
    Addresses,
    /// The same by the addresses of the packet's own IP header, which is another replica for ICMP errors.
    Own,
    /// All have it. One of them, by its number, runs it; the others only do again what it does to state.
    All,
}

impl Flow {
    /// The replica, one of so many, for the arrival with that number.
    pub(in super::super) fn replica(self, number: u32, link: LinkType, bytes: &[u8], replicas: usize) -> usize {
        match self {
            Self::Any => (number / RUN) as usize % replicas,
            Self::Addresses => flow::replica(link, bytes, replicas),
            Self::Own => flow::own_replica(link, bytes, replicas),
            // The first batch is what the others become copies of.
            Self::All => 0,
        }
    }

    /// The one of so many replicas that an arrival with that number belongs to where all have it.
    pub(super) fn owner(number: u32, replicas: usize) -> usize {
        (number / OWN_RUN) as usize % replicas.max(1)
    }
}

/// Takes the batches of an epoch, one for each replica, and leaves empty ones: as many as there are replicas in the next epoch, one at least. False if nobody wants more.
pub type Handover = Box<dyn FnMut(&mut Vec<Batch>) -> bool + Send>;

/// Numbers arrivals, and hands them over an epoch at a time.
pub struct Dispatcher {
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
        Self { flow, batches, number: 0, first: None, last: 0, handover, wanted: true, eager: false }
    }

    /// An epoch ends where nothing more has arrived: live packets do not wait for others.
    #[must_use]
    pub fn eager(mut self) -> Self {
        self.eager = true;
        self
    }

    fn add(&mut self, slot: u32, pool: &Pool) {
        let (bytes, it) = (pool.bytes(slot), pool.slot(slot));
        let link = LinkType::from_file(pool.tag(slot));
        let replica = self.flow.replica(self.number, link, bytes, self.batches.len());
        let packet = Plain { bytes, wire_len: pool.wire_len(slot), time_ns: it.time_ns, link };
        self.batches[replica].add(self.number, it.entry() as u16, packet);
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
        self.wanted = (self.handover)(&mut self.batches);
        self.number = 0;
    }
}

impl Drop for Dispatcher {
    /// The last epoch is what is left.
    fn drop(&mut self) {
        self.hand_over();
    }
}

impl Cluster for Dispatcher {
    fn run(&mut self, slots: &[u32], _: u32, pool: &mut Pool, _: &mut dyn Host) {
        for slot in slots {
            self.add(*slot, pool);
            if self.number >= EPOCH {
                self.hand_over();
            }
        }
        pool.give_back(slots);
        if self.eager {
            self.hand_over();
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
        assert!(Flow::Addresses.replica(0, LinkType::EN10MB, &[], 4) < 4 && Flow::Own.replica(0, LinkType::EN10MB, &[], 4) < 4);
        let replicas: Vec<usize> = [0, RUN - 1, RUN, 4 * RUN].map(|n| Flow::Any.replica(n, LinkType::EN10MB, &[], 4)).to_vec();
        assert_eq!(replicas, [0, 0, 1, 0]);
    }
}
