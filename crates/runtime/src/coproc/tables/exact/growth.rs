//! Growth of exact tables is linear hashing: from when a table is too full, each burst, and each
//! insertion that asks the table, splits the next few buckets in turn, that is, moves about half of
//! each one's keys to a new one at the end, until there are twice as many. So nothing does more
//! than a little, and there is no second copy. Memory for the declared capacity is set aside at
//! once, and used as it is written to.
//!
//! Source: Litwin, Linear hashing, VLDB 1980.

use super::super::word;
use super::Exact;
use netil::layout::{DEAD, FREE, PROBES, head};

/// Of a hundred slots how many may be taken: more make the table grow, where it may. A key beside
/// its first slot costs branches that nobody could foretell, and free slots no cache lines: with
/// twice as many taken a translator of 56,000 flows takes 24.2 ns a packet, with this 22.6, a
/// switch of 4,096 stations 14.3 and 13.2.
const TAKEN: usize = 15;
/// Of a hundred slots how many may be taken while the slots have fewer bytes than [`ROOMY`].
const TAKEN_IF_SMALL: usize = 6;
/// What stays in the second-level cache. So many bytes of slots each table may have, whatever its
/// capacity.
const ROOMY: usize = 2 << 20;
/// Of a hundred slots how many may be taken in a table that can grow no more.
const TAKEN_AT_MOST: usize = 40;
/// Buckets that it splits at most.
pub(super) const SPLITS: usize = 32;
/// Buckets that it splits at most between bursts, and for each entry put in meanwhile [`SPLITS`]
/// more, so that growth comes to its end soon: until then nobody can foretell whether a key's
/// bucket has been split (a switch: 10 ns a packet).
const TIDIED: usize = 512;
/// How much fuller than that a table may be until the end of a burst.
const CROWDED: usize = 2;

/// Buckets at most of a table with so many entries at most.
pub(super) fn most_buckets(capacity: usize, stride: usize) -> usize {
    let buckets = |taken: usize| (capacity * 100).div_ceil(taken).next_power_of_two();
    let roomy = (ROOMY / stride).next_power_of_two();
    buckets(TAKEN_IF_SMALL).min(roomy).max(buckets(TAKEN_AT_MOST))
}

impl Exact {
    /// Of a hundred slots how many may be taken now.
    fn taken(&self) -> usize {
        let bytes = self.head[head::BUCKETS] as usize * self.shape.stride;
        if bytes < ROOMY { TAKEN_IF_SMALL } else { TAKEN }
    }

    /// How many entries make the table so full that it grows before it takes one more.
    pub(super) fn crowded(&self) -> usize {
        let buckets = self.head[head::BUCKETS] as usize;
        if buckets < self.most_buckets { buckets * CROWDED * self.taken() / 100 } else { usize::MAX }
    }

    /// Grows as far as is due since the last time.
    pub(super) fn catch_up(&mut self) {
        let more = self.filled().saturating_sub(self.tidied);
        self.tidied = self.filled();
        self.grow(TIDIED + SPLITS * more);
    }

    /// Splits some buckets if the table is too full, or until there are twice as many: those not
    /// yet split hold more than their share.
    pub(super) fn grow(&mut self, splits: usize) {
        let mut left = splits;
        while left > 0 {
            let buckets = self.head[head::BUCKETS] as usize;
            let full = self.filled() * 100 > buckets * self.taken();
            if buckets == self.most_buckets || buckets.is_power_of_two() && !full {
                return;
            }
            let now = left.min((buckets + 1).next_power_of_two() - buckets);
            self.split_all(now);
            left -= now;
        }
    }

    /// So many buckets more, no more than make twice as many of what there were.
    fn split_all(&mut self, mut count: usize) {
        let buckets = self.head[head::BUCKETS];
        if buckets > self.head[head::MASK] {
            self.head[head::MASK] = self.head[head::MASK] << 1 | 1;
            self.slots.will_use(2 * buckets as usize * self.shape.stride);
        }
        while count > 0 {
            // Most are empty.
            let new = self.head[head::BUCKETS] as usize;
            let empty = self.free_from(new & self.head[head::MASK] as usize >> 1, count);
            self.head[head::BUCKETS] += empty as u64;
            count -= empty;
            if count > 0 {
                self.split();
                count -= 1;
            }
        }
    }

    /// How many slots follow each other that are free, so many at most.
    fn free_from(&self, slot: usize, most: usize) -> usize {
        let slots = self.slots[slot * self.shape.stride..].chunks_exact(self.shape.stride).take(most);
        match self.shape.state_bytes {
            1 => slots.take_while(|slot| u64::from(slot[0]) == FREE).count(),
            _ => slots.take_while(|slot| word(slot, 0) == FREE).count(),
        }
    }

    /// One bucket more; keys that belong there now move.
    fn split(&mut self) {
        let new = self.head[head::BUCKETS];
        self.head[head::BUCKETS] += 1;
        let (from, to) = ((new & self.head[head::MASK] >> 1) as usize, new as usize);
        let mut gaps = [0; PROBES];
        let mut count = 0;
        for slot in from..(from + PROBES).min(to) {
            match self.state(slot) {
                FREE => break,
                DEAD => continue,
                _ if self.home_of(slot) != to => continue,
                _ => self.move_to(slot, to),
            }
            self.set_state(slot, DEAD);
            gaps[count] = slot;
            count += 1;
        }
        gaps[..count].iter().rev().for_each(|gap| self.close(*gap));
    }

    /// Moves an entry near its new home.
    fn move_to(&mut self, slot: usize, home: usize) {
        let room = (home..home + PROBES).find(|to| self.state(*to) <= DEAD);
        let to = room.unwrap_or_else(|| self.stash_slot(self.key(slot)));
        self.copy(slot, to);
    }
}
