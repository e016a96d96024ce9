//! The packet at hand: in its slot of the pool, and in the frame while compiled code runs.
//!
//! Compiled code moves a packet's ends itself where that is a few instructions; the rest is done
//! here, by the rules of [`ExchangeBuffer`], which does it where the slot has no room.

use super::Running;
use crate::frame::Frame;
use netil::budget::Budget;
use netil::exec::{ExchangeBuffer, MAX_PACKET, TrapKind};
use netil::pool::{COPY, CUT, Detail, ENTRY, FRESH, HEAD, LONGEST, PRESENT, Slot, room_for, stride};
use netil::table::Space;

impl Frame {
    /// Bytes of the packet's memory before its first.
    fn head(&self) -> u32 {
        (self.packet as usize).wrapping_sub(self.memory as usize) as u32
    }

    /// Bytes pulled less bytes pushed.
    fn pulled(&self) -> u32 {
        (self.packet as usize).wrapping_sub(self.origin as usize) as u32
    }
}

impl Running<'_> {
    /// Puts the packet of the slot at hand into the frame.
    pub(super) fn load(&mut self, frame: &mut Frame) {
        let info_size = self.pool.info_size();
        let (memory, slots, details) = self.pool.parts();
        let id = frame.slot as usize;
        let (slot, detail) = (slots[id], details[id]);
        let annotations = id * stride(info_size);
        // A packet that is too large for a slot lies elsewhere, and may fill its memory.
        let own = detail.at == (annotations + room_for(info_size)) as u64;
        frame.size = if own { (HEAD + LONGEST) as u32 } else { 0 };
        frame.missing = if slot.kind & CUT != 0 { detail.missing } else { 0 };
        let (head, front, moved) = if slot.kind & FRESH != 0 {
            memory[annotations..annotations + info_size].fill(0);
            (HEAD as u32, 0, 0)
        } else {
            let Detail { head, front, moved, .. } = detail;
            (head, front, moved)
        };
        let base = memory.as_mut_ptr();
        frame.memory = base.wrapping_add(detail.at as usize);
        frame.packet = frame.memory.wrapping_add(head as usize);
        frame.origin = frame.packet.wrapping_offset(-(moved.cast_signed() as isize));
        frame.info = base.wrapping_add(annotations);
        (frame.packet_len, frame.front, frame.time_ns) = (slot.len, front, slot.time_ns);
        frame.present = slot.kind & PRESENT;
    }

    /// The reverse.
    pub(super) fn store(&mut self, frame: &Frame) {
        let (_, slots, details) = self.pool.parts();
        let (slot, detail) = (&mut slots[frame.slot as usize], &mut details[frame.slot as usize]);
        let cut = if frame.missing == 0 { 0 } else { CUT };
        let kind = frame.present | cut | slot.kind & COPY | slot.kind >> ENTRY << ENTRY;
        *slot = Slot { time_ns: frame.time_ns, len: frame.packet_len, kind };
        (detail.head, detail.front, detail.moved, detail.missing) = (frame.head(), frame.front, frame.pulled(), frame.missing);
    }

    /// Does work on the packet at hand as an exchange buffer.
    pub(super) fn lifted<T>(
        &mut self,
        frame: &mut Frame,
        work: impl FnOnce(&mut Self, &mut Frame, &mut ExchangeBuffer<'static>) -> T,
    ) -> T {
        self.store(frame);
        let mut packet = self.pool.lift(frame.slot);
        let result = work(self, frame, &mut packet);
        self.pool.lower(frame.slot, packet);
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

    /// The head moves away from the tail.
    fn move_head_back(frame: &mut Frame, by: u32) {
        frame.packet = frame.packet.wrapping_sub(by as usize);
        frame.packet_len += by;
    }

    pub(super) fn unpull(frame: &mut Frame, n: u32) -> Result<(), TrapKind> {
        Self::growth(frame, n)?;
        if n > frame.front {
            return Err(TrapKind::OutOfBounds(Space::Packet));
        }
        Self::move_head_back(frame, n);
        frame.front -= n;
        Ok(())
    }

    /// False if the slot has no room for that: nothing is done then.
    pub(super) fn push(frame: &mut Frame, n: u32, budget: &mut Budget) -> Result<bool, TrapKind> {
        Self::growth(frame, n)?;
        if n > frame.head() {
            return Ok(false);
        }
        budget.bytes(u64::from(n) + u64::from(frame.packet_len))?;
        Self::move_head_back(frame, n);
        frame.front = frame.front.saturating_sub(n);
        // SAFETY: the packet's memory begins `head` bytes, of which there were n, before its first.
        unsafe { frame.packet.write_bytes(0, n as usize) };
        Ok(true)
    }

    /// See [`Self::push`].
    pub(super) fn grow(frame: &mut Frame, n: u32, budget: &mut Budget) -> Result<bool, TrapKind> {
        Self::growth(frame, n)?;
        let end = u64::from(frame.head()) + u64::from(frame.packet_len) + u64::from(n);
        if end > frame.size.into() {
            return Ok(false);
        }
        budget.bytes(u64::from(n) + u64::from(frame.packet_len))?;
        let tail = frame.packet.wrapping_add(frame.packet_len as usize);
        // SAFETY: the slot's memory has `size` bytes, and the packet ends n bytes before them at
        // the latest.
        unsafe { tail.write_bytes(0, n as usize) };
        frame.packet_len += n;
        Ok(true)
    }
}
