//! What stands between the threads and the wire: packets leave one after the other, in the order of
//! their arrivals if the machine is so.
//!
//! In order, a packet has the entry of its number among those that were taken in, modulo the number
//! of entries. Its thread fills the entry and goes on; if the entry is still that of an earlier
//! packet, it waits. The wire takes the entries in turn and waits at one that is not filled.

use crate::description::Port;
use std::collections::BTreeMap;

/// When there is room for a packet.
pub(super) enum Room {
    At(u64),
    /// It depends on packets that are not done.
    Unknown,
}

pub(super) struct Output {
    in_order: bool,
    slots: u64,
    bytes_per_cycle: f64,
    /// When the wire is free.
    free: u64,
    /// The packet that the wire takes next.
    next: u64,
    /// Filled entries that it has not reached, with their times and cycles.
    filled: BTreeMap<u64, (u64, u64)>,
    /// When packets were sent: the last ones, by number in order, otherwise in the order of
    /// sending.
    sent: BTreeMap<u64, u64>,
    count: u64,
    waiting: Vec<usize>,
}

impl Output {
    pub(super) fn new(port: &Port) -> Self {
        Self {
            in_order: port.in_order,
            slots: port.slots.into(),
            bytes_per_cycle: port.bytes_per_cycle,
            free: 0,
            next: 0,
            filled: BTreeMap::new(),
            sent: BTreeMap::new(),
            count: 0,
            waiting: Vec::new(),
        }
    }

    /// When there is room.
    pub(super) fn room(&self, packet: u64, now: u64) -> Room {
        let number = if self.in_order { packet } else { self.count };
        match number.checked_sub(self.slots) {
            None => Room::At(now),
            Some(before) if self.in_order && before >= self.next => Room::Unknown,
            Some(before) => Room::At(self.sent.get(&before).copied().unwrap_or(now)),
        }
    }

    /// A thread that is to be told when packets are sent.
    pub(super) fn wait(&mut self, thread: usize) {
        self.waiting.push(thread);
    }

    /// Those that are to be told now.
    pub(super) fn waiting(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.waiting)
    }

    /// A packet is ready; the last time that the wire is known to be busy until.
    pub(super) fn send(&mut self, packet: u64, bytes: u32, now: u64) -> u64 {
        let cycles = if self.bytes_per_cycle > 0.0 { (f64::from(bytes) / self.bytes_per_cycle).ceil() as u64 } else { 0 };
        if self.in_order {
            self.filled.insert(packet, (now, cycles));
            self.drain();
        } else {
            self.transmit(self.count, now, cycles);
            self.count += 1;
        }
        self.free
    }

    /// What decides when there is room, relative to that many packets.
    pub(super) fn state(&self, now: u64, accepted: u64, all: &mut Vec<u64>) {
        let base = if self.in_order { accepted } else { self.count };
        all.extend([self.free.saturating_sub(now), if self.in_order { base.wrapping_sub(self.next) } else { 0 }]);
        all.extend(
            self.filled.iter().flat_map(|(number, (ready, cycles))| [base.wrapping_sub(*number), ready.saturating_sub(now), *cycles]),
        );
        all.push(u64::MAX);
        let late = self.sent.iter().filter(|(_, time)| **time > now);
        all.extend(late.flat_map(|(number, time)| [base.wrapping_sub(*number), time - now]));
        all.push(u64::MAX);
        all.extend(self.waiting.iter().map(|thread| *thread as u64));
    }

    fn drain(&mut self) {
        while let Some((ready, cycles)) = self.filled.remove(&self.next) {
            self.transmit(self.next, ready, cycles);
            self.next += 1;
        }
    }

    fn transmit(&mut self, number: u64, ready: u64, cycles: u64) {
        self.free = self.free.max(ready) + cycles;
        self.sent.insert(number, self.free);
        // Nobody asks for older ones.
        self.sent.remove(&number.wrapping_sub(self.slots + 1));
    }
}
