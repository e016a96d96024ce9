//! The packet at hand: in its slot of the pool, and on the frame while compiled code runs.
//!
//! Moving a packet's ends is arithmetic on [`Place`] and the frame; the rules are those of [`ExchangeBuffer`], which does it where the slot has no room.

use super::Running;
use crate::frame::Frame;
use netil::budget::Budget;
use netil::exec::{ExchangeBuffer, FRONT, MAX_PACKET, TrapKind};
use netil::pool::{CUT, Detail, ENTRY, FRESH, HEAD, LONGEST, PRESENT, Slot, room_for, stride};
use netil::table::Space;

/// Where the packet at hand lies in its memory; its length is in the frame.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    head: u32,
    /// Bytes before the head that were pulled and are still there.
    front: u32,
    /// Bytes that were not captured.
    missing: u32,
    /// Bytes of its memory, as far as it may grow in place.
    size: u32,
}

impl Running<'_> {
    /// Puts the packet of the slot at hand into the frame.
    pub(super) fn load(&mut self, frame: &mut Frame) {
        let info_size = self.pool.info_size();
        let (memory, slots, details) = self.pool.parts();
        let id = self.slot as usize;
        let (slot, detail) = (slots[id], details[id]);
        let (fresh, missing) = (slot.kind & FRESH != 0, if slot.kind & CUT != 0 { detail.missing } else { 0 });
        let annotations = id * stride(info_size);
        // A packet that is too large for a slot lies elsewhere, and may fill its memory.
        let own = detail.at == (annotations + room_for(info_size)) as u64;
        let size = if own { (HEAD + LONGEST) as u32 } else { 0 };
        if fresh {
            memory[annotations..annotations + info_size].fill(0);
            (self.place, frame.moved) = (Place { head: HEAD as u32, front: 0, missing, size }, 0);
        } else {
            let Detail { head, front, moved, .. } = detail;
            (self.place, frame.moved) = (Place { head, front, missing, size }, moved);
        }
        let base = memory.as_mut_ptr();
        frame.packet = base.wrapping_add(detail.at as usize).wrapping_add(self.place.head as usize);
        frame.info = base.wrapping_add(annotations);
        (frame.packet_len, frame.time_ns) = (slot.len, slot.time_ns);
        frame.wire_len = slot.len.wrapping_add(missing);
        frame.present = slot.kind & PRESENT;
    }

    /// The reverse.
    pub(super) fn store(&mut self, frame: &Frame) {
        let (_, slots, details) = self.pool.parts();
        let (slot, detail) = (&mut slots[self.slot as usize], &mut details[self.slot as usize]);
        let Place { head, front, missing, .. } = self.place;
        let cut = if missing == 0 { 0 } else { CUT };
        let kind = frame.present | cut | slot.kind >> ENTRY << ENTRY;
        *slot = Slot { time_ns: frame.time_ns, len: frame.packet_len, kind };
        (detail.head, detail.front, detail.moved, detail.missing) = (head, front, frame.moved, missing);
    }

    /// Does work on the packet at hand as an exchange buffer.
    pub(super) fn lifted<T>(&mut self, frame: &mut Frame, work: impl FnOnce(&mut Self, &mut ExchangeBuffer<'static>) -> T) -> T {
        self.store(frame);
        let mut packet = self.pool.lift(self.slot);
        let result = work(self, &mut packet);
        self.pool.lower(self.slot, packet);
        self.load(frame);
        result
    }

    fn growth(frame: &Frame, n: u32) -> Result<(), TrapKind> {
        if frame.present == 0 {
            return Err(TrapKind::NoPacket);
        }
        let fits = u64::from(n) + u64::from(frame.packet_len) <= u64::from(MAX_PACKET);
        if fits { Ok(()) } else { Err(TrapKind::NoRoom) }
    }

    fn shrinkage(frame: &Frame, n: u32) -> Result<(), TrapKind> {
        match () {
            () if frame.present == 0 => Err(TrapKind::NoPacket),
            () if n > frame.packet_len => Err(TrapKind::OutOfBounds(Space::Packet)),
            () => Ok(()),
        }
    }

    /// The head moves towards the tail, or away from it.
    fn move_head(&mut self, frame: &mut Frame, by: u32) {
        frame.packet = frame.packet.wrapping_offset(by.cast_signed() as isize);
        frame.packet_len = frame.packet_len.wrapping_sub(by);
        frame.wire_len = frame.packet_len.wrapping_add(self.place.missing);
        self.place.head = self.place.head.wrapping_add(by);
        frame.moved = frame.moved.wrapping_add(by);
    }

    pub(super) fn pull(&mut self, frame: &mut Frame, n: u32) -> Result<(), TrapKind> {
        Self::shrinkage(frame, n)?;
        self.move_head(frame, n);
        self.place.front = (self.place.front + n).min(FRONT as u32);
        Ok(())
    }

    pub(super) fn unpull(&mut self, frame: &mut Frame, n: u32) -> Result<(), TrapKind> {
        Self::growth(frame, n)?;
        if n > self.place.front {
            return Err(TrapKind::OutOfBounds(Space::Packet));
        }
        self.move_head(frame, n.wrapping_neg());
        self.place.front -= n;
        Ok(())
    }

    /// False if the slot has no room for that: nothing is done then.
    pub(super) fn push(&mut self, frame: &mut Frame, n: u32, budget: &mut Budget) -> Result<bool, TrapKind> {
        Self::growth(frame, n)?;
        if n > self.place.head {
            return Ok(false);
        }
        budget.bytes(u64::from(n) + u64::from(frame.packet_len))?;
        self.move_head(frame, n.wrapping_neg());
        self.place.front = self.place.front.saturating_sub(n);
        // SAFETY: the packet's memory begins `head` bytes, of which there were n, before its first.
        unsafe { frame.packet.write_bytes(0, n as usize) };
        Ok(true)
    }

    pub(super) fn trim(&mut self, frame: &mut Frame, n: u32) -> Result<(), TrapKind> {
        Self::shrinkage(frame, n)?;
        self.set_len(frame, frame.packet_len - n);
        Ok(())
    }

    /// See [`Self::push`].
    pub(super) fn grow(&mut self, frame: &mut Frame, n: u32, budget: &mut Budget) -> Result<bool, TrapKind> {
        Self::growth(frame, n)?;
        let end = u64::from(self.place.head) + u64::from(frame.packet_len) + u64::from(n);
        if end > self.place.size.into() {
            return Ok(false);
        }
        budget.bytes(u64::from(n) + u64::from(frame.packet_len))?;
        let tail = frame.packet.wrapping_add(frame.packet_len as usize);
        // SAFETY: the slot's memory has `size` bytes, and the packet ends n bytes before them at the latest.
        unsafe { tail.write_bytes(0, n as usize) };
        self.set_len(frame, frame.packet_len + n);
        Ok(true)
    }

    fn set_len(&mut self, frame: &mut Frame, len: u32) {
        frame.packet_len = len;
        frame.wire_len = len.wrapping_add(self.place.missing);
    }

    pub(super) fn set_wire(&mut self, frame: &mut Frame, wire_len: u32) {
        self.place.missing = wire_len.saturating_sub(frame.packet_len);
        frame.wire_len = frame.packet_len.wrapping_add(self.place.missing);
    }
}
