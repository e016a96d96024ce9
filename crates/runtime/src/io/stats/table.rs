//! A table of counts by key that stays bounded: when it has twice the rows that it may keep, those
//! with the fewest packets are dropped.
//!
//! So a row with more packets than the dropped ones had is never lost, and shrinking costs a
//! constant for each row that was added.

use super::Amount;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

/// What is counted: a flow, or a part of one. Two ends of three words each (Ethernet address and
/// port; IP address) and what there is of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(pub [u64; 7]);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|word| state.write_u64(*word));
    }
}

/// Makes hashers that begin with a seed.
#[derive(Clone, Copy)]
pub(super) struct Seeded([u64; 2]);

impl Seeded {
    pub(super) fn new(seed: u64) -> Self {
        let mix = |x: u64| (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ x >> 32;
        Self([mix(seed ^ 0x9e37_79b9_7f4a_7c15), mix(!seed) | 1])
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded(self.0)
    }
}

/// The hash so far, and the seed's other half.
pub(super) struct Folded([u64; 2]);

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    /// A multiplication to 128 bits whose halves are folded: every bit of the word reaches the low
    /// and the high bits.
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0[0] ^ word) * u128::from(self.0[1] ^ 0x9e37_79b9_7f4a_7c15);
        self.0[0] = (product as u64 ^ (product >> 64) as u64).wrapping_add(word.rotate_left(23));
    }

    fn write_u128(&mut self, number: u128) {
        self.write_u64(number as u64);
        self.write_u64((number >> 64) as u64);
    }

    fn finish(&self) -> u64 {
        let product = u128::from(self.0[0]) * u128::from(self.0[1]);
        product as u64 ^ (product >> 64) as u64
    }
}

/// Counts of a flow: from its first end to its second, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub there: Amount,
    pub back: Amount,
    /// Nanoseconds since 1970.
    pub first: i64,
    pub last: i64,
    /// The first packet went back.
    pub begun_back: bool,
}

impl Counts {
    fn of(reversed: bool, bytes: u64, nanos: i64) -> Self {
        let mut counts = Self { there: Amount::default(), back: Amount::default(), first: nanos, last: nanos, begun_back: reversed };
        counts.add(reversed, bytes, nanos);
        counts
    }

    fn add(&mut self, reversed: bool, bytes: u64, nanos: i64) {
        if reversed {
            self.back.add(bytes)
        } else {
            self.there.add(bytes)
        }
        self.last = self.last.max(nanos);
        if nanos < self.first {
            (self.first, self.begun_back) = (nanos, reversed);
        }
    }

    /// The flow's counts as seen from the other end.
    pub(super) fn turned(self) -> Self {
        Self { there: self.back, back: self.there, begun_back: !self.begun_back, ..self }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.there.merge(other.there);
        self.back.merge(other.back);
        self.last = self.last.max(other.last);
        if other.first < self.first {
            (self.first, self.begun_back) = (other.first, other.begun_back);
        }
    }

    pub(super) fn packets(&self) -> u64 {
        self.there.packets + self.back.packets
    }
}

/// Counts by key.
pub(super) struct Table {
    rows: HashMap<Key, Counts, Seeded>,
    /// Rows that are kept when there are twice as many.
    limit: usize,
}

impl Table {
    pub(super) fn new(limit: usize, hasher: Seeded) -> Self {
        Self { rows: HashMap::with_hasher(hasher), limit: limit.max(1) }
    }

    /// Counts a packet.
    pub(super) fn add(&mut self, key: Key, reversed: bool, bytes: u64, nanos: i64) {
        self.rows.entry(key).and_modify(|row| row.add(reversed, bytes, nanos)).or_insert_with(|| Counts::of(reversed, bytes, nanos));
    }

    /// Adds counts.
    pub(super) fn merge(&mut self, key: Key, counts: Counts) {
        self.rows.entry(key).and_modify(|row| row.merge(counts)).or_insert(counts);
    }

    /// True if it is time to shrink.
    pub(super) fn is_over(&self) -> bool {
        self.rows.len() >= 2 * self.limit
    }

    /// Drops the rows with the fewest packets, at least so many that as many as may be kept are
    /// left.
    pub(super) fn shrink(&mut self, mut dropped: impl FnMut(Key, Counts)) {
        let mut packets: Vec<u64> = self.rows.values().map(Counts::packets).collect();
        let last_dropped = packets.len().saturating_sub(self.limit + 1);
        let Some((_, &mut most, _)) = (last_dropped < packets.len()).then(|| packets.select_nth_unstable(last_dropped)) else { return };
        self.rows.retain(|key, counts| {
            let stays = counts.packets() > most;
            if !stays {
                dropped(*key, *counts);
            }
            stays
        });
    }

    /// Gives all rows away.
    pub(super) fn drain(&mut self, mut take: impl FnMut(Key, Counts)) {
        self.rows.drain().for_each(|(key, counts)| take(key, counts));
    }

    /// The rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&Key, &Counts)> {
        self.rows.iter()
    }
}
