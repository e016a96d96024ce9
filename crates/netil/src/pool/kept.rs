//! Packets on their way from one pool to another: with what was pulled off them and their
//! annotations.

use super::{CUT, Detail, FRESH, LONGEST, Slot, Slots, own_memory, room_for};
use crate::buffer::{ExchangeBuffer, ROOM};

/// A packet as it was in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept<'b> {
    /// Its bytes, behind those that were pulled and are still there.
    pub bytes: &'b [u8],
    /// How many those are.
    pub front: u32,
    /// Bytes pulled less bytes pushed since it came into being, modulo 2^32.
    pub moved: u32,
    /// Its info memory.
    pub info: &'b [u8],
    /// Arrival time in nanoseconds since 1970.
    pub time_ns: u64,
    /// Bytes that were not captured.
    pub missing: u32,
    /// Its number.
    pub number: u64,
}

impl Kept<'_> {
    /// The packet by itself.
    pub fn buffer(&self) -> ExchangeBuffer<'static> {
        let front = (self.front as usize).min(self.bytes.len());
        let mut packet = ExchangeBuffer::copied(self.bytes, front, self.moved);
        packet.info.extend_from_slice(self.info);
        (packet.time_ns, packet.missing, packet.number) = (self.time_ns, self.missing, self.number);
        packet
    }
}

impl Slots {
    /// The packet of a slot; none if it has none, or one that is too large for its memory.
    pub fn keep(&self, id: u32) -> Option<Kept<'_>> {
        if !self.slot(id).is_present() || (!self.large.is_empty() && self.large.contains_key(&id)) {
            return None;
        }
        let Detail { front, moved, .. } = self.detail(id);
        let (time_ns, missing) = (self.slot(id).time_ns, self.missing(id));
        let (bytes, info, number) = (self.kept(id), self.info(id), self.number_of(id));
        Some(Kept { bytes, front, moved, info, time_ns, missing, number })
    }

    /// A copy of a packet in a slot, as it was in another; `None` if there is no room. The tag is
    /// the owner's.
    pub fn put_kept(&mut self, kept: &Kept<'_>, tag: u32) -> Option<u32> {
        let (len, front) = (kept.bytes.len(), (kept.front as usize).min(kept.bytes.len()));
        if len > LONGEST || kept.info.len() != self.info_size() {
            return self.place(kept.buffer(), tag);
        }
        let id = self.free.pop()?;
        self.in_order = self.in_order.min(self.free.len());
        self.tags.note([id].iter(), tag, self.slots.len());
        self.latest = self.latest.max(kept.time_ns);
        let start = self.start(id);
        self.memory[start..start + kept.info.len()].copy_from_slice(kept.info);
        let at = start + room_for(kept.info.len()) + ROOM;
        self.memory[at..at + len].copy_from_slice(kept.bytes);
        let cut = if kept.missing == 0 { 0 } else { CUT };
        self.slots[id as usize] = Slot { time_ns: kept.time_ns, len: (len - front) as u32, kind: self.kind & !FRESH | cut };
        let (own, head) = (own_memory(id, kept.info.len()), (ROOM + front) as u32);
        let detail = &mut self.details[id as usize];
        *detail = Detail { at: own, head, front: front as u32, moved: kept.moved, missing: kept.missing, ..*detail };
        self.set_number(id, kept.number);
        Some(id)
    }
}
