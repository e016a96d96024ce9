//! How tables lie in memory, for compiled code that looks keys up by itself.
//!
//! The constants of a layout follow from the declaration alone, so that they can be written into
//! code; what changes while the program runs is in the head, a few words that the table and the
//! code share. [`crate::tables::Table::parts`] gives both when a burst begins; they stay where they
//! are until the control plane touches the table. All words are little-endian.
//!
//! # Exact tables
//! Slots of `stride` bytes: a state, the key's bytes as a number (least significant first), the
//! value. A state is [`FREE`], [`DEAD`] (was taken out, probing goes on), or the time at which the
//! entry ends, in the table's own time: nanoseconds + [`EPOCH`], [`NEVER`] at most. Where the table
//! has no timeout the state is one byte, and [`u8::MAX`] stands for an entry. So an entry is live
//! iff its state is greater than the time now, which is [`EPOCH`] where there is no timeout.
//!
//! To find a key: `b = hash & head[MASK]`; if `b >= head[BUCKETS]` then `b &= head[MASK] >> 1`;
//! from slot `b` on, up to [`PROBES`] slots: the entry if its key is the same and it is live, none
//! if the slot is free. After that many slots, or if `head[STASHED]` is not 0 and nothing was
//! found, ask the table. The handle is the slot's number + 1. Where there is a timeout, first
//! `head[CLOCK] = max(head[CLOCK], now)`, and a lookup that refreshes makes the state of what it
//! found `head[CLOCK] + head[TIMEOUT]` (saturating), if that is more. Slots of up to a cache line
//! do not straddle lines.
//!
//! To put an entry in for a key that was not found: ask the table unless `head[STASHED]` is 0,
//! `head[FILLED] < head[READY]` and `head[QUIET]` is greater than the time now. Else it goes to the
//! first slot from `b` on whose state is [`FREE`] or [`DEAD`], if that is one of [`PROBES`]; its
//! value is zeros, and `head[FILLED]` is one more. Where there is a timeout it ends at
//! `head[CLOCK] + head[TIMEOUT]`, and accounts are kept of that: of each [`FAN`] slots, a block, a
//! bit in `groups`; and `index` has words, complements, so that 0 is [`NEVER`]: one for each block,
//! then from `head[LEAVES]` on one for each [`FAN`] of these, and so on. A word is at most each end
//! that it stands for. Where a block's bit is set, nothing needs to be done. Else the word that
//! sums its own up must be at most the entry's end, or the table is asked; the bit is set, and the
//! block's word becomes that end if it is more.
//!
//! # Prefix tables
//! Keys of up to 32 bits, no timeout ([`Trie::of`]): `index` has a slot for each number that the
//! first `root_bits` bits of a key can be, in 16 bits, or 32 if `head[WIDE]` is not 0. A slot with
//! the flag [`trie::DEEPER`] ([`trie::DEEPER_WIDE`]) has the number of a group, [`GROUP`] slots of
//! the same kind in `groups`, for the next 8 bits, and so on; one without has the entry's handle,
//! and 0 means `head[DEFAULT]`, which may be 0 itself: none.
//!
//! Keys of 40 to 128 bits, no timeout ([`Paths::of`]), which count from the most significant bit
//! on: `index` has a word of 32 bits for each number that the first `root_bits` bits can be. A word
//! without the flag [`paths::DEEPER`] is the entry's handle, where 0 means `head[DEFAULT]` as
//! above. One with it has the number of a node, which begins at that many times [`paths::UNIT`]
//! bytes in `groups`. If it has the flag [`paths::PATH`] as well, this is a path: two words of 64
//! bits with a prefix, the first one's bits before the second one's, then three of 32: the word to
//! go on with if the key has that prefix, the handle if it has not, and the prefix's length. Else
//! it is a branch for the key's next 8 bits, which are those behind the root's, behind the last
//! branch's, or behind the prefix of the path that leads here. It says what each of the [`GROUP`]
//! numbers that they can be goes on with, equal neighbours once: [`GROUP`] bits, in 64-bit words,
//! with ones where another word begins than the number before has; four bytes, how many ones are
//! before each of these; and at [`paths::RUNS`] the words. Nodes are in the first `head[USED]`
//! units, so that code can tell whether they are more than what is near the processor.
//!
//! # Ternary tables
//! Keys of up to 128 bits, no timeout ([`Shapes::of`]). Unless `head[ASK]` is not 0 (then ask the
//! table), `index` has [`shapes::STRIDE`] bytes for each mask that entries have, `head[COUNT]` of
//! them: words with the mask's two halves, where its slots begin in `groups`, a power of 2 less 1
//! as the number of these, and the least order of its entries. Orders are numbers: of entries that
//! match the one with the least is found, and masks come in the order of their least. To find a
//! key, for each mask whose least order is less than that of what has been found:
//! `h = hash(key & mask)`; from slot `h & last` on, going round, the slot with the same masked key,
//! none once a slot's handle is 0. A slot is the masked key, one word or two, and a word with the
//! order in its lower half and the handle in its upper one.
//!
//! # Values
//! An entry's value is in `slots`, at `(handle - 1) * stride + value_at`; [`place`] has both for
//! tables of all kinds that give parts; those of other kinds than these give nothing else, and keys
//! are looked up by asking the table.
//!
//! Left out: deletion, growth and what insertion has to do else, which move entries; they are the
//! table's.

use crate::module::{Table, TableKind};

/// The state of a slot that ends a search.
pub const FREE: u64 = 0;
/// The state of a slot that holds nothing but does not end a search.
pub const DEAD: u64 = 1;
/// What the table's time is ahead of the packet's, so that every entry's end differs from [`FREE`]
/// and [`DEAD`].
pub const EPOCH: u64 = 2;
/// The end of an entry that has none. The time now is less, always.
pub const NEVER: u64 = u64::MAX;
/// The latest time there is, in nanoseconds; later ones count as this.
pub const LATEST: u64 = NEVER - 1 - EPOCH;
/// The most slots that a search looks at.
pub const PROBES: usize = 64;
/// A cache line, in bytes.
pub const LINE: usize = 64;
/// Slots of a block, whose first end is told in one word; and words that are summed up in one.
pub const FAN: usize = 16;

/// Words of an exact table's head.
pub mod head {
    /// The latest time that the table has seen.
    pub const CLOCK: usize = 0;
    /// A power of 2 less 1: bits of the hash that name the slot where the search begins, its
    /// bucket.
    pub const MASK: usize = 1;
    /// Buckets that there are: the mask + 1, or while the table grows fewer, down to half of that.
    pub const BUCKETS: usize = 2;
    /// First half of the hash's seed.
    pub const SEED0: usize = 3;
    /// Second half.
    pub const SEED1: usize = 4;
    /// Entries that are elsewhere, found by asking the table.
    pub const STASHED: usize = 5;
    /// Slots that hold an entry.
    pub const FILLED: usize = 6;
    /// How long an entry is there that nothing uses.
    pub const TIMEOUT: usize = 7;
    /// While fewer slots hold an entry, code may put one in.
    pub const READY: usize = 8;
    /// While the table's time is less, no entry has ended, and code may put one in.
    pub const QUIET: usize = 9;
    /// Words of `index` before those that sum them up; 0 where code may put nothing in.
    pub const LEAVES: usize = 10;
    /// Words.
    pub const WORDS: usize = 11;
}

/// A table's memory.
pub struct Parts<'a> {
    /// What changes.
    pub head: &'a mut [u64],
    /// What handles number: an exact table's slots, other tables' values.
    pub slots: &'a mut [u8],
    /// The first level of a prefix table; of an exact one when entries end.
    pub index: &'a mut [u8],
    /// Its groups; of an exact one which of these words are so.
    pub groups: &'a mut [u8],
}

/// Slots of a group.
pub const GROUP: usize = 256;
/// From this capacity on the first level of a prefix table has 24 bits rather than 16.
const LARGE: u32 = 4096;

/// Words of a prefix table's head, and flags in its slots.
pub mod trie {
    /// Whether slots have 32 bits.
    pub const WIDE: usize = 0;
    /// The handle of the prefix of no bits, or 0.
    pub const DEFAULT: usize = 1;
    /// Words.
    pub const WORDS: usize = 2;
    /// The flag of a slot of 16 bits that has a group.
    pub const DEEPER: u32 = 0x8000;
    /// That of a slot of 32 bits.
    pub const DEEPER_WIDE: u32 = 0x8000_0000;
}

/// A prefix table that lies in memory as a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trie {
    /// Bits of the first level.
    pub root_bits: u32,
}

impl Trie {
    /// Of the table declared, if it is one of these.
    pub fn of(declaration: &Table) -> Option<Self> {
        let key_bits = u32::from(declaration.key_bits);
        let fits = declaration.kind == TableKind::Prefix && declaration.timeout_ns == 0 && key_bits <= 32;
        let root_bits = if declaration.capacity < LARGE { 16 } else { 24 };
        fits.then_some(Self { root_bits: root_bits.min(key_bits) })
    }
}

/// Words of the head of a prefix table with long keys, and what is in its nodes.
pub mod paths {
    /// The handle of the prefix of no bits, or 0.
    pub const DEFAULT: usize = 0;
    /// How many units nodes are in: those that there are, and those given back of which none has
    /// been made again.
    pub const USED: usize = 1;
    /// Words.
    pub const WORDS: usize = 2;
    /// The flag of a word that has the number of a node.
    pub const DEEPER: u32 = 0x8000_0000;
    /// The flag of one whose node is a path.
    pub const PATH: u32 = 0x4000_0000;
    /// What nodes are counted in, in bytes; a path's size.
    pub const UNIT: usize = 32;
    /// In a path: the word to go on with, the handle otherwise, and the length in bits, in bytes
    /// from its begin.
    pub const THEN: usize = 16;
    /// See [`THEN`].
    pub const OTHER: usize = 20;
    /// See [`THEN`].
    pub const LENGTH: usize = 24;
    /// In a branch: how many runs begin before each word of bits.
    pub const BEFORE: usize = 32;
    /// In a branch: what each run goes on with.
    pub const RUNS: usize = 36;
}

/// A prefix table with long keys, that lies in memory as a trie in which ways without branches are
/// one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Bits of the first level.
    pub root_bits: u32,
}

impl Paths {
    /// Of the table declared, if it is one of these.
    pub fn of(declaration: &Table) -> Option<Self> {
        let fits = declaration.kind == TableKind::Prefix && declaration.timeout_ns == 0 && (33..=128).contains(&declaration.key_bits);
        fits.then_some(Self { root_bits: if declaration.capacity < LARGE { 8 } else { 16 } })
    }
}

/// Words of a ternary table's head.
pub mod shapes {
    /// Whether the table must be asked.
    pub const ASK: usize = 0;
    /// Masks.
    pub const COUNT: usize = 1;
    /// First half of the hash's seed.
    pub const SEED0: usize = 2;
    /// Second half.
    pub const SEED1: usize = 3;
    /// Words.
    pub const WORDS: usize = 4;
    /// Bytes for each mask.
    pub const STRIDE: usize = 40;
}

/// A ternary table whose entries lie in hashed slots, by masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shapes {
    /// Words of a key.
    pub limbs: usize,
}

impl Shapes {
    /// Of the table declared, if it may be one of these.
    pub fn of(declaration: &Table) -> Option<Self> {
        let fits = declaration.kind == TableKind::Ternary && declaration.timeout_ns == 0 && declaration.key_bits <= 128;
        fits.then_some(Self { limbs: usize::from(declaration.key_bits).div_ceil(64) })
    }

    /// From slot to slot, in bytes.
    pub fn stride(self) -> usize {
        8 * (self.limbs + 1)
    }
}

/// From value to value of a table that is not exact.
pub fn value_stride(value_bytes: usize) -> usize {
    if value_bytes <= LINE { value_bytes.next_power_of_two() } else { value_bytes.next_multiple_of(LINE) }
}

/// From slot to slot, and from a slot's begin to the value.
pub fn place(declaration: &Table) -> (usize, usize) {
    match declaration.kind {
        TableKind::Exact => {
            let exact = Exact::of(declaration);
            (exact.stride, exact.value_at)
        }
        _ => (value_stride(declaration.value_bytes as usize), 0),
    }
}

/// Where things are in an exact table, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    /// The state is a byte if this is 1, else eight.
    pub state_bytes: usize,
    /// Size of a key, which follows the state.
    pub key_bytes: usize,
    /// From a slot's begin to the value.
    pub value_at: usize,
    /// Size of a value.
    pub value_bytes: usize,
    /// From slot to slot.
    pub stride: usize,
}

impl Exact {
    /// Of the table declared.
    pub fn of(declaration: &Table) -> Self {
        let state_bytes = if declaration.timeout_ns == 0 { 1 } else { 8 };
        let (key_bytes, value_bytes) = (usize::from(declaration.key_bits).div_ceil(8), declaration.value_bytes as usize);
        let value_at = state_bytes + key_bytes;
        let size = value_at + value_bytes;
        let stride = if size <= LINE { size.next_power_of_two() } else { size.next_multiple_of(LINE) };
        Self { state_bytes, key_bytes, value_at, value_bytes, stride }
    }
}

/// The hash of an exact table: words are taken in pairs, each XORed with what came before and with
/// a secret, multiplied, and the product's halves XORed. Unlike a CRC's, its collisions depend on
/// the seed.
pub fn hash(seed: [u64; 2], key: &[u64]) -> u64 {
    let pairs = key.chunks(2);
    pairs.fold(seed[0], |h, pair| fold(pair[0] ^ h, pair.get(1).unwrap_or(&0) ^ seed[1]))
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(key_bits: u16, value_bytes: u32, timeout_ns: u64) -> Exact {
        let (name, entries) = (String::new(), Vec::new());
        Exact::of(&Table { name, kind: TableKind::Exact, key_bits, value_bytes, capacity: 1, timeout_ns, entries })
    }

    #[test]
    fn slots_are_dense_and_keep_within_lines() {
        let flow = layout(104, 11, 1);
        assert_eq!((flow.value_at, flow.stride), (21, 32));
        assert_eq!(layout(48, 4, 0), Exact { state_bytes: 1, key_bytes: 6, value_at: 7, value_bytes: 4, stride: 16 });
        assert_eq!((layout(8, 1, 0).stride, layout(256, 25, 1).stride, layout(256, 24, 1).stride), (4, 128, 64));
        for (bits, value) in (1..=256).flat_map(|k| [1, 2, 40, 4096].map(|v| (8 * k, v))) {
            let l = layout(bits, value, u64::from(value));
            assert!(l.value_at + l.value_bytes <= l.stride && (LINE.is_multiple_of(l.stride) || l.stride.is_multiple_of(LINE)));
        }
    }

    #[test]
    fn the_hash_is_what_compiled_code_computes() {
        assert_eq!(hash([1, 2], &[3]), 4);
        assert_eq!(hash([5, 7], &[u64::MAX, 0]), (u64::MAX ^ 5).wrapping_mul(7) ^ 6);
        assert_eq!(hash([5, 7], &[9, 8, 1]), hash([hash([5, 7], &[9, 8]), 7], &[1]));
    }
}
