//! Packets that have room in a cache line each, and come one after the other in the same distance:
//! what a source of them puts into slots is known for all of them at once.
//!
//! Copying them takes as long as running them, if they are copied in a loop of their own: it waits
//! for the second-level cache, while elements wait for instructions. Whoever runs them may copy
//! them on the way, a few packets ahead ([`Slots::defer`]; a router, a translator and a switch: 1
//! ns a packet).
//!
//! Invariant: a slot whose packet is late has all but its bytes; nobody looks at these before
//! [`Slots::take_late`] and what is done with that.

use super::{HEAD, LINE, Line, Slot, Slots};
use std::fmt::Debug;
use std::sync::Arc;

/// Lines of packets that stay as they are as long as somebody has this.
pub trait Lines: Debug + Send + Sync {
    /// All of them.
    fn lines(&self) -> &[Line];
}

/// Packets that have room in a cache line each, and come one after the other in the same distance.
#[derive(Clone, Copy, Debug)]
pub struct Even<'b> {
    /// The packets.
    pub lines: &'b [Line],
    /// Whose they are, and the number of the first, if they may be copied later.
    pub kept: Option<(&'b Arc<dyn Lines>, usize)>,
    /// Their lengths, as many; no more than a line has is taken.
    pub lens: &'b [u32],
    /// When the first arrives, in nanoseconds since 1970.
    pub time_ns: u64,
    /// From one to the next; there is no time behind the last moment.
    pub interval_ns: u64,
    /// The owner's.
    pub tag: u32,
}

/// Packets that have still to be copied into slots.
#[derive(Clone, Debug)]
pub struct Late {
    /// Whose they are.
    pub of: Arc<dyn Lines>,
    /// The first one's number there.
    pub from: usize,
    /// How many there are.
    pub count: usize,
    /// The first one's slot.
    pub slot: u32,
    /// From one's slot to that of the next.
    pub step: u32,
}

impl Late {
    /// The packets.
    ///
    /// # Panics
    /// There are not so many.
    pub fn lines(&self) -> &[Line] {
        &self.of.lines()[self.from..self.from + self.count]
    }
}

impl Slots {
    /// Whether even packets may come late; if not, those that are late are copied now.
    pub fn defer(&mut self, defers: bool) {
        self.defers = defers;
        if !defers {
            std::mem::take(&mut self.late).iter().for_each(|late| self.put_late(late));
        }
    }

    /// Gives packets that have still to be copied to somebody who does that.
    pub fn take_late(&mut self, late: &mut Vec<Late>) {
        late.clear();
        std::mem::swap(&mut self.late, late);
    }

    /// Copies packets that were late.
    pub fn put_late(&mut self, late: &Late) {
        let slots = (late.slot as usize..).step_by(late.step as usize);
        slots.zip(late.lines()).for_each(|(slot, line)| *self.first_line(slot) = *line);
    }

    /// Where a packet begins that is put into a slot.
    fn first_line(&mut self, id: usize) -> &mut Line {
        let (memory, _) = self.memory[self.begin + id * self.stride + self.room_before + HEAD..].as_chunks_mut::<LINE>();
        &mut memory[0]
    }

    /// Copies of packets that are all alike in slots that have been [taken](Self::take), each
    /// `step`-th of `ids`, in half of the instructions of [`Self::put_many`]. `first` is the first
    /// of them if they follow each other.
    ///
    /// # Panics
    /// `step` is 0, or `ids` are not of this pool.
    #[inline(always)]
    pub fn put_even(&mut self, packets: &Even<'_>, first: Option<u32>, ids: &[u32], step: usize) {
        let count = ids.len().div_ceil(step).min(packets.lines.len()).min(packets.lens.len());
        let Some(others) = count.checked_sub(1) else { return };
        match (first, packets.kept.filter(|_| self.defers)) {
            (Some(slot), Some((of, from))) => {
                self.fill_in_a_row(packets, others, slot as usize, step);
                self.late.push(Late { of: Arc::clone(of), from, count, slot, step: step as u32 });
            }
            (Some(first), None) => self.put_in_a_row(packets, others, first as usize, step),
            (None, _) => (0..count).for_each(|n| self.put_line(packets, n, ids[n * step] as usize)),
        }
        let last = packets.interval_ns.checked_mul(others as u64).and_then(|span| packets.time_ns.checked_add(span));
        if last.is_none() || packets.lens[..count].iter().fold(0, |most, len| most.max(*len)) > LINE as u32 {
            (0..count).for_each(|n| self.mend(packets, n, ids[n * step] as usize));
        }
        self.latest = self.latest.max(last.unwrap_or(u64::MAX));
        self.tags.note(ids.iter().step_by(step), packets.tag, self.slots.len());
        self.come(ids.iter().step_by(step).take(count));
    }

    /// The first of some packets, so many others and no more, each so many slots behind the one
    /// before. The loop has nothing in it that can be done once.
    #[inline(always)]
    fn put_in_a_row(&mut self, packets: &Even<'_>, others: usize, first: usize, step: usize) {
        self.fill_in_a_row(packets, others, first, step);
        let distance = step * self.stride / LINE;
        let (memory, _) = self.memory[self.begin + first * self.stride + self.room_before + HEAD..].as_chunks_mut::<LINE>();
        let (memory, last) = memory.split_at_mut(others * distance);
        for (room, line) in memory.chunks_exact_mut(distance).zip(packets.lines) {
            room[0] = *line;
        }
        last[0] = packets.lines[others];
    }

    /// Fills the slots of some packets, each so many behind the one before, without their bytes.
    #[inline(always)]
    fn fill_in_a_row(&mut self, packets: &Even<'_>, others: usize, first: usize, step: usize) {
        let (mut time_ns, kind) = (packets.time_ns, self.kind);
        let (slots, last) = self.slots[first..].split_at_mut(others * step);
        for (slot, len) in slots.chunks_exact_mut(step).zip(packets.lens) {
            slot[0] = Slot { time_ns, len: *len, kind };
            time_ns = time_ns.wrapping_add(packets.interval_ns);
        }
        last[0] = Slot { time_ns, len: packets.lens[others], kind };
    }

    #[inline(always)]
    fn put_line(&mut self, packets: &Even<'_>, n: usize, id: usize) {
        *self.first_line(id) = packets.lines[n];
        let time_ns = packets.time_ns.wrapping_add(packets.interval_ns.wrapping_mul(n as u64));
        self.slots[id] = Slot { time_ns, len: packets.lens[n], kind: self.kind };
    }

    /// No more of a packet than a line has, and no time behind the last moment.
    #[cold]
    fn mend(&mut self, packets: &Even<'_>, n: usize, id: usize) {
        let slot = &mut self.slots[id];
        slot.len = slot.len.min(LINE as u32);
        slot.time_ns = packets.time_ns.saturating_add(packets.interval_ns.saturating_mul(n as u64));
    }
}
