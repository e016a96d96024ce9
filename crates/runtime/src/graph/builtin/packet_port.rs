//! Devices of a graph that another program embeds: queues that the program fills, and that it
//! empties.
//!
//! A queue holds [`MOST`] packets or [`MOST_BYTES`] bytes. What does not fit is refused where the
//! program pushes; a ToDevice that pulls leaves it in the queue before it, and packets that are
//! pushed to it are dropped and counted.

use crate::io::LinkType;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The most packets of a queue.
pub const MOST: usize = 1 << 16;
/// The most bytes of them.
pub const MOST_BYTES: usize = 64 << 20;

/// A packet at a port, lent for the time of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent<'b> {
    /// Its bytes.
    pub bytes: &'b [u8],
    /// How many it had on the wire.
    pub wire_len: u32,
    /// When it came, in nanoseconds since 1970.
    pub time_ns: u64,
    /// What it begins with.
    pub link: LinkType,
}

/// Packets one behind the other.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// The first that has not been taken.
    pub(super) next: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: usize,
    len: u32,
    wire_len: u32,
    time_ns: u64,
    link: LinkType,
}

impl Batch {
    /// A packet, behind those that are there. Of more bytes than packets may have the first are
    /// taken. False if there is no room.
    #[inline]
    pub fn push(&mut self, packet: Lent<'_>) -> bool {
        if self.next == self.entries.len() {
            self.clear();
        }
        let Lent { bytes, wire_len, time_ns, link } = packet;
        let bytes = &bytes[..bytes.len().min(netil::exec::MAX_PACKET as usize)];
        if self.entries.len() >= MOST || self.bytes.len() + bytes.len() > MOST_BYTES {
            return false;
        }
        let (at, len) = (self.bytes.len(), bytes.len() as u32);
        self.bytes.extend_from_slice(bytes);
        self.entries.push(Entry { at, len, wire_len: wire_len.max(len), time_ns, link });
        true
    }

    /// Packets one after the other, as long as there is room.
    fn extend<'b>(&mut self, mut packets: impl Iterator<Item = Lent<'b>>) {
        while packets.next().is_some_and(|packet| self.push(packet)) {}
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.next = 0;
    }

    /// Packets that have not been taken.
    pub fn len(&self) -> usize {
        self.entries.len() - self.next
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many packets there is room for, however long they are.
    pub(super) fn room(&self) -> usize {
        let (entries, bytes) = if self.is_empty() { (0, 0) } else { (self.entries.len(), self.bytes.len()) };
        MOST.saturating_sub(entries).min(MOST_BYTES.saturating_sub(bytes) / netil::exec::MAX_PACKET as usize)
    }

    fn has_room(&self) -> bool {
        self.room() > 0
    }

    /// Those that have not been taken, in order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Lent<'_>> {
        self.entries[self.next..].iter().map(|entry| {
            let Entry { at, len, wire_len, time_ns, link } = *entry;
            Lent { bytes: &self.bytes[at..at + len as usize], wire_len, time_ns, link }
        })
    }
}

/// Packets that go one way, and what can be told of them without a lock: mostly there are none.
#[derive(Debug, Default)]
pub(super) struct PortQueue {
    batch: Mutex<Batch>,
    count: AtomicUsize,
    /// When the first of them came.
    first_ns: AtomicU64,
    is_full: AtomicBool,
}

impl PortQueue {
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Batch) -> T) -> T {
        let mut batch = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work(&mut batch);
        self.first_ns.store(batch.entries.get(batch.next).map_or(0, |entry| entry.time_ns), Ordering::Relaxed);
        self.is_full.store(!batch.has_room(), Ordering::Relaxed);
        self.count.store(batch.len(), Ordering::Release);
        result
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    pub(super) fn has_room(&self) -> bool {
        !self.is_full.load(Ordering::Relaxed)
    }

    /// When the first came that has not been taken.
    pub(super) fn first(&self) -> Option<u64> {
        (self.len() > 0).then(|| self.first_ns.load(Ordering::Relaxed))
    }
}

/// A device of an embedded graph: what came for it, and what it sent.
#[derive(Debug, Default)]
pub struct PacketPort {
    pub(super) into: PortQueue,
    pub(super) from: PortQueue,
}

impl PacketPort {
    /// A packet comes; false if there is no room for it. Of more bytes than packets may have the
    /// first are taken.
    pub fn push(&self, packet: Lent<'_>) -> bool {
        self.into.with(|batch| batch.push(packet))
    }

    /// Packets come that there is room for.
    pub(in super::super) fn extend<'b>(&self, packets: impl Iterator<Item = Lent<'b>>) {
        self.into.with(|batch| batch.extend(packets));
    }

    /// Packets come, as far as there is room; those stay in their batch that there is none for.
    /// Where none wait, memory changes hands.
    pub fn give(&self, packets: &mut Batch) {
        self.into.with(|batch| {
            if batch.is_empty() {
                std::mem::swap(batch, packets);
                return packets.clear();
            }
            let count = packets.waiting().take_while(|packet| batch.push(*packet)).count();
            packets.next += count;
        });
    }

    /// Takes packets that were sent, in order, as long as the caller wants more; how many.
    #[inline]
    pub fn take(&self, mut wants: impl FnMut(Lent<'_>) -> bool) -> usize {
        if self.from.len() == 0 {
            return 0;
        }
        self.from.with(|batch| {
            let count = batch.waiting().take_while(|packet| wants(*packet)).count();
            batch.next += count;
            count
        })
    }

    /// Packets were sent before those that wait, none of which has been taken.
    pub(in super::super) fn sent_before<'b>(&self, packets: impl Iterator<Item = Lent<'b>>) {
        self.from.with(|batch| {
            let later = std::mem::take(batch);
            batch.extend(packets);
            batch.extend(later.waiting());
        });
    }

    /// How many packets wait for the graph, and for the program.
    #[inline]
    pub fn waiting(&self) -> [usize; 2] {
        [&self.into, &self.from].map(PortQueue::len)
    }
}
