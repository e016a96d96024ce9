//! Packets put into slots: one, or as many as there is room for.

use super::{Arrival, CUT, HEAD, LINE, LONGEST, Slot, Slots};

/// Copies a packet to the begin of some memory.
#[inline(always)]
fn fill(memory: &mut [u8], packet: &Arrival<'_>) {
    match (memory.first_chunk_mut::<LINE>(), packet.bytes.first_chunk::<LINE>()) {
        (Some(room), Some(line)) if packet.len <= LINE => *room = *line,
        _ => copy(&mut memory[..packet.len], &packet.bytes[..packet.len]),
    }
}

/// Copies as many bytes as there is room for; the shortest frames by two copies of a known length,
/// which may overlap.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8]) {
    const HALF: usize = LINE / 2;
    if from.len() < HALF || from.len() > LINE {
        return to.copy_from_slice(from);
    }
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<HALF>(), from.first_chunk::<HALF>()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<HALF>(), from.last_chunk::<HALF>()) {
        *to = *from;
    }
}

impl Slots {
    /// Copies of packets in slots, as many as there is room for; the slots go behind `ids`. Nothing
    /// is taken from `packets` that there is no room for.
    ///
    /// # Panics
    /// A packet has fewer bytes than its length says.
    #[inline(always)]
    pub fn put_many<'b>(&mut self, mut packets: impl Iterator<Item = Arrival<'b>>, tag: u32, ids: &mut Vec<u32>) {
        while let Some(large) = self.put_small(&mut packets, tag, ids) {
            let packet = &large.bytes[..large.len];
            ids.extend(self.put_large(packet, large.time_ns, large.wire_len, tag));
        }
    }

    /// A copy of a packet of at most [`LONGEST`] bytes in a slot; `None` if there is no room, or it
    /// is longer.
    ///
    /// # Panics
    /// As [`Self::put_many`].
    #[inline]
    pub fn put_one(&mut self, packet: &Arrival<'_>, tag: u32) -> Option<u32> {
        let id = *self.free.last().filter(|_| packet.len <= LONGEST)?;
        self.free.pop();
        self.in_order = self.in_order.min(self.free.len());
        let own = self.begin + id as usize * self.stride + self.room_before;
        fill(&mut self.memory[own + HEAD..], packet);
        self.note_put(id, packet);
        self.latest = self.latest.max(packet.time_ns);
        self.tags.note([id].iter(), tag, self.slots.len());
        self.come([id].iter());
        Some(id)
    }

    #[inline(always)]
    fn note_put(&mut self, id: u32, packet: &Arrival<'_>) {
        let (len, time_ns) = (packet.len as u32, packet.time_ns);
        self.slots[id as usize] = Slot { time_ns, len, kind: self.kind };
        if packet.wire_len > len {
            self.slots[id as usize].kind |= CUT;
            self.details[id as usize].missing = packet.wire_len - len;
        }
    }

    /// Until there is no room, or a packet is too large for a slot, which is given back.
    #[inline(always)]
    fn put_small<'b>(&mut self, packets: &mut impl Iterator<Item = Arrival<'b>>, tag: u32, ids: &mut Vec<u32>) -> Option<Arrival<'b>> {
        let (mut used, mut large, kind, mut latest) = (0, None, self.kind, self.latest);
        let memory = &mut self.memory[self.begin..];
        for (id, packet) in self.free.iter().rev().zip(packets) {
            if packet.len > LONGEST {
                large = Some(packet);
                break;
            }
            // What is free has its own memory. Where that is, is computed, so as not to wait for
            // what the slot says.
            let own = *id as usize * self.stride + self.room_before;
            fill(&mut memory[own + HEAD..], &packet);
            let (len, Arrival { time_ns, wire_len, .. }) = (packet.len as u32, packet);
            latest = latest.max(time_ns);
            self.slots[*id as usize] = Slot { time_ns, len, kind };
            if wire_len > len {
                self.slots[*id as usize].kind |= CUT;
                self.details[*id as usize].missing = wire_len - len;
            }
            used += 1;
        }
        self.latest = latest;
        self.tags.note(self.free[self.free.len() - used..].iter(), tag, self.slots.len());
        let before = ids.len();
        ids.extend(self.free.drain(self.free.len() - used..).rev());
        self.come(ids[before..].iter());
        self.in_order = self.in_order.min(self.free.len());
        large
    }
}
