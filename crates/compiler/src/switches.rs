//! How a switch is lowered, chosen by its size and density.
//!
//! The choice is made here, once for all back ends; the pass `switches` puts it in place in MIR.
//! Keys next to each other that lead to the same place count as one range.
//!
//! - a few ranges: an if-chain;
//! - few places: a set test for each, whose form [`crate::sets`] chooses (bit test, bitmap, perfect
//!   hash …);
//! - dense keys: a jump table;
//! - many scattered keys: a perfect hash, whose slot is looked up in a jump table and then compared
//!   with its one key;
//! - else: a binary search.
//!
//! Source: Sayle, "A Superoptimizer Analysis of Multiway Branch Code Generation" (2008). Left out:
//! choosing differently for parts of a switch.

use crate::sets::Hash;
use std::collections::BTreeSet;

/// The most ranges that are tested one by one.
const CHAIN: usize = 4;
/// The most places that get a set each.
const PLACES: usize = 2;
/// A jump table has at most so many entries per key, and in all.
const SPARSEST: u64 = 4;
const TABLE: u64 = 1024;
/// Fewer keys are searched: a search of sixteen keys takes four branches.
const HASHED: usize = 16;
/// The most keys in a hash.
const MOST_HASHED: usize = 64;
/// A switch of more ranges stays what it is: back ends search it, and blocks for each step would
/// only take time.
const MOST_RANGES: usize = 1024;

/// Keys from `low` to `high` that lead to one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Least key.
    pub low: u32,
    /// Greatest key.
    pub high: u32,
    /// A number of the place.
    pub place: usize,
}

/// How a switch is lowered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchLowering {
    /// One range after the other.
    Chain,
    /// For each place whether the key is in its set.
    Sets,
    /// The key's offset from the least one indexes a table.
    Table,
    /// The slot indexes a table; then the key is compared.
    Hash(Hash),
    /// Halving the ranges.
    Search,
    /// As it is.
    Whole,
}

/// The ranges of a switch whose keys are sorted.
pub fn ranges(keys: impl IntoIterator<Item = (u32, usize)>) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for (key, place) in keys {
        match ranges.last_mut() {
            Some(last) if last.place == place && last.high.checked_add(1) == Some(key) => last.high = key,
            _ => ranges.push(Range { low: key, high: key, place }),
        }
    }
    ranges
}

impl SwitchLowering {
    /// The best form; `jumps`: the target has jumps through tables.
    pub fn choose(ranges: &[Range], jumps: bool) -> Self {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Self::Chain };
        let span = u64::from(last.high - first.low) + 1;
        let keys = keys(ranges);
        match () {
            () if ranges.len() <= CHAIN => Self::Chain,
            () if ranges.len() > MOST_RANGES => Self::Whole,
            () if places(ranges) <= PLACES => Self::Sets,
            () if jumps && span <= TABLE.min(SPARSEST * keys) => Self::Table,
            () if jumps && (HASHED..=MOST_HASHED).contains(&(keys as usize)) => hash(ranges).map_or(Self::Search, Self::Hash),
            () => Self::Search,
        }
    }

    /// The form in words, with the reason.
    pub fn why(&self, ranges: &[Range]) -> String {
        let (first, last) = (ranges.first().map_or(0, |r| r.low), ranges.last().map_or(0, |r| r.high));
        let (keys, span) = (keys(ranges), u64::from(last - first) + 1);
        let form = match self {
            Self::Chain => "if-chain".to_owned(),
            Self::Sets => "a set test for each place".to_owned(),
            Self::Table => "jump table".to_owned(),
            Self::Hash(hash) => format!("perfect hash of {} slots", hash.keys.len()),
            Self::Search => "binary search".to_owned(),
            Self::Whole => "left to the back end".to_owned(),
        };
        let density = 100 * keys / span.max(1);
        format!("{form}: {keys} keys in {} ranges to {} places, span {span}, density {density}%", ranges.len(), places(ranges))
    }
}

fn keys(ranges: &[Range]) -> u64 {
    ranges.iter().map(|r| u64::from(r.high - r.low) + 1).sum()
}

fn places(ranges: &[Range]) -> usize {
    ranges.iter().map(|r| r.place).collect::<BTreeSet<_>>().len()
}

fn hash(ranges: &[Range]) -> Option<Hash> {
    let keys: Vec<u64> = ranges.iter().flat_map(|r| r.low..=r.high).map(u64::from).collect();
    Hash::small(&keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(keys: impl IntoIterator<Item = (u32, usize)>) -> SwitchLowering {
        SwitchLowering::choose(&ranges(keys), true)
    }

    #[test]
    fn size_and_density_decide() {
        assert_eq!(plan([]), SwitchLowering::Chain);
        assert_eq!(plan([(6, 0), (17, 1), (132, 2)]), SwitchLowering::Chain);
        assert_eq!(plan((0..100).map(|i| (i, 7))), SwitchLowering::Chain, "one range");
        assert_eq!(plan((0..20).map(|i| (i * 3, (i % 2) as usize))), SwitchLowering::Sets);
        assert_eq!(plan((0..20).map(|i| (100 + i * 2, i as usize))), SwitchLowering::Table);
        assert_eq!(plan((0..7).map(|i| (i * 1_000_003, i as usize))), SwitchLowering::Search);
        assert!(matches!(plan((0..40).map(|i| (i * 1_000_003, i as usize))), SwitchLowering::Hash(_)));
        assert_eq!(plan((0..5000).map(|i| (i * 7, i as usize))), SwitchLowering::Whole);
        assert_eq!(SwitchLowering::choose(&ranges((0..40).map(|i| (i * 1_000_003, i as usize))), false), SwitchLowering::Search);
    }

    #[test]
    fn a_hash_finds_each_key_in_a_slot_of_its_own() {
        let keys: Vec<(u32, usize)> = (0..60u64).map(|i| ((i * 77_777_777 % 0xffff_fffb) as u32, i as usize)).collect();
        let SwitchLowering::Hash(hash) = plan(keys.iter().copied().collect::<std::collections::BTreeMap<_, _>>()) else {
            panic!("no hash")
        };
        keys.iter().for_each(|(key, _)| assert_eq!(hash.keys[hash.slot(u64::from(*key))], u64::from(*key)));
    }

    #[test]
    fn the_reason_names_size_span_and_density() {
        let ranges = ranges((0..20).map(|i| (100 + i * 2, i as usize)));
        assert_eq!(
            SwitchLowering::choose(&ranges, true).why(&ranges),
            "jump table: 20 keys in 20 ranges to 20 places, span 39, density 51%"
        );
    }
}
