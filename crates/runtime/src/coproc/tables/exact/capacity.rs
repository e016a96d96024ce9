//! Another capacity of an exact table with its entries.
//!
//! For fewer entries the memory stays. For more there is new memory, for twice as many as before if
//! that is enough, so that the next change finds room. Slots are copied as they lie: no key is
//! hashed, and entries end when they would have. Only the stash, which lies behind the buckets of
//! the capacity, goes elsewhere, and the accounts of ends are made anew. So it takes a copy of the
//! buckets in use and a look at each slot.

use super::super::area::Area;
use super::super::deadlines::Deadlines;
use super::{Exact, growth};
use netil::layout::{FAN, PROBES, head};

impl Exact {
    /// So many entries from now on. False if it has more, or there is no memory for them.
    pub(super) fn change_capacity(&mut self, entries: usize, now_ns: u64) -> bool {
        let now = self.tick(now_ns);
        while self.reclaim(now) {}
        if self.filled() > entries || !self.has_room(entries) {
            return false;
        }
        (self.declared, self.limit) = (entries, entries);
        let buckets = (self.head[head::BUCKETS] as usize).next_power_of_two();
        self.most_buckets = growth::most_buckets(entries, self.shape.stride).max(buckets);
        self.promise();
        true
    }

    /// Whether there is memory for so many, or is now.
    fn has_room(&mut self, entries: usize) -> bool {
        entries <= self.capacity || [2 * self.capacity, 0].iter().any(|more| self.widen(entries.max(*more)).is_some())
    }

    /// Moves to memory for more entries.
    fn widen(&mut self, capacity: usize) -> Option<()> {
        let stride = self.shape.stride;
        let begin = (growth::most_buckets(capacity, stride) + PROBES).next_multiple_of(FAN);
        let mut slots = Self::memory(begin, capacity, stride)?;
        let deadlines = match &self.deadlines {
            Some(_) => Some(Deadlines::new(begin + capacity)?),
            None => None,
        };
        slots.will_use((self.head[head::MASK] as usize + 1) * stride);
        let buckets = (self.head[head::BUCKETS] as usize + PROBES) * stride;
        slots[..buckets].copy_from_slice(&self.slots[..buckets]);
        let (from, stashed) = (self.stash.begin * stride, self.stash.used * stride);
        slots[begin * stride..][..stashed].copy_from_slice(&self.slots[from..from + stashed]);
        self.stash.move_to(begin);
        (self.slots, self.capacity) = (slots, capacity);
        self.account_anew(deadlines);
        Some(())
    }

    /// Memory for the slots of buckets and stash.
    pub(super) fn memory(begin: usize, capacity: usize, stride: usize) -> Option<Area> {
        let all = begin.checked_add(capacity).filter(|all| *all < super::SLOTS)?;
        Area::growing(all.checked_mul(stride)? + 8)
    }

    /// Tells new accounts when all entries end.
    fn account_anew(&mut self, deadlines: Option<Deadlines>) {
        self.head[head::LEAVES] = deadlines.as_ref().map_or(0, Deadlines::leaves) as u64;
        let Some(mut deadlines) = deadlines else { return };
        self.occupied().for_each(|slot| deadlines.lower(slot, self.state(slot)));
        self.deadlines = Some(deadlines);
    }
}

impl super::Stash {
    /// Its slots are elsewhere.
    fn move_to(&mut self, begin: usize) {
        let moved = |slot: usize| slot - self.begin + begin;
        self.free.iter_mut().for_each(|slot| *slot = moved(*slot));
        self.slots.values_mut().for_each(|slot| *slot = moved(*slot));
        self.begin = begin;
    }
}
