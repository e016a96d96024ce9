//! How a read-only set is tested, chosen by its size and density.
//!
//! The choice and its tables are made here, once for all back ends; they emit the test. Up to 64
//! bits of width; wider sets are searched by the runtime. Every form answers for every value of the
//! width.
//!
//! - a few ranges: compare with each;
//! - a span of at most 64 values: one shift of a constant;
//! - a span of at most [`BITMAP_SPAN`] values: one bit of a table;
//! - single values: a perfect hash, one multiplication, at most two loads, one comparison (hash and
//!   displace: Belazzougui, Botelho, Dietzfelbinger, "Hash, displace, and compress", 2009);
//! - else: a table by the highest bits says where to begin, and a short binary search without
//!   branches finds the range.

use netil::set::Set;

/// The most ranges that are compared one by one.
pub const COMPARE_RANGES: usize = 4;
/// The largest span of a bitmap in values: 8 KiB of bits.
pub const BITMAP_SPAN: u64 = 1 << 16;
/// Probes for a slot of a hash, per key, before a search is built instead; a few are enough for
/// keys that nobody chose to collide.
const PROBES: u64 = 256;
/// log2 of the most buckets of an index.
const MOST_BUCKETS: u16 = 16;
/// The most values in a hash: its tables take about 32 bytes a value while they are built.
const MOST_HASHED: u64 = 1 << 20;
/// Keys in the fullest bucket; a random one has about four.
const FULLEST: usize = 64;

/// How a set is tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MembershipTest {
    /// Compare with each inclusive range.
    Compare(Vec<(u64, u64)>),
    /// `v − low < 64` and that bit of the mask.
    Bits {
        /// Least value.
        low: u64,
        /// Bit i stands for low + i.
        mask: u64,
    },
    /// `v − low < span` and that bit of the table.
    Bitmap {
        /// Least value.
        low: u64,
        /// Number of values covered.
        span: u64,
        /// Bit i of the table stands for low + i.
        words: Vec<u64>,
    },
    /// A perfect hash of single values.
    Hash(Hash),
    /// The last range whose low end is not above v, and v not above its high end.
    Search(Search),
}

/// `at = index[v >> shift]`; then, for each power of two from `step` down to 1, `at` goes that far
/// on if the low end there is not above v; v is in the set if `lows[at] <= v <= highs[at]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Width less log2 of the index's size.
    pub shift: u32,
    /// The last range that begins not after the least value of each bucket, or the first one.
    pub index: Vec<u64>,
    /// 0 if the index alone finds the range.
    pub step: usize,
    /// Low ends, sorted; then, for whoever looks too far, the greatest value there is.
    pub lows: Vec<u64>,
    /// High ends; then the last one again.
    pub highs: Vec<u64>,
    /// For code that would rather look once: `v >> state_shift` is a bucket, and two bits say what
    /// the set has of it: [`NONE`], [`ALL`] or [`SOME`].
    pub state_shift: u32,
    /// Sixteen buckets a word of 32 bits, the first lowest; empty if one would have to search too
    /// often.
    pub states: Vec<u64>,
}

/// The set has no value of a bucket.
pub const NONE: u64 = 0;
/// It has all of them.
pub const ALL: u64 = 1;
/// It has some, so one must search.
pub const SOME: u64 = 2;
/// Buckets a range.
const STATES: usize = 64;
/// One bucket in so many may be [`SOME`]; if more are, looking there first is in vain.
const SELDOM: usize = 32;

/// A perfect hash:
/// `slot = ((v ^ displace[(v · multiplier) >> bucket_shift]) · multiplier) >> slot_shift`, modulo
/// 2^bits, and v is in the set if `keys[slot] = v`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hash {
    /// 32 for sets of at most 32 bits, so that a vector holds many; else 64.
    pub bits: u32,
    /// Odd, below 2^bits.
    pub multiplier: u64,
    /// `bits` − log2 of the number of buckets.
    pub bucket_shift: u32,
    /// Per bucket, below 2^bits; empty if there is no displacement.
    pub displace: Vec<u64>,
    /// `bits` − log2 of the number of slots.
    pub slot_shift: u32,
    /// A key per slot; an unused slot holds a key whose slot is another.
    pub keys: Vec<u64>,
}

impl MembershipTest {
    /// The best form for a set of at most 64 bits of width; `None` for wider ones.
    pub fn choose(set: &Set) -> Option<Self> {
        if set.width() > 64 {
            return None;
        }
        let ranges: Vec<(u64, u64)> = set.small_ranges().collect();
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Some(Self::Compare(ranges)) };
        let (low, most) = (first.0, last.1 - first.0);
        Some(match () {
            () if ranges.len() == 1 => Self::Compare(ranges),
            () if most < 64 => Self::Bits { low, mask: bitmap(&ranges, low, 1)[0] },
            () if ranges.len() <= COMPARE_RANGES => Self::Compare(ranges),
            () if most < BITMAP_SPAN => {
                let words = (most / 64 + 1) as usize;
                Self::Bitmap { low, span: most + 1, words: bitmap(&ranges, low, words) }
            }
            () => singles(&ranges)
                .and_then(|keys| Hash::new(&keys, if set.width() > 32 { 64 } else { 32 }))
                .map_or_else(|| Self::Search(Search::new(&ranges, set.width())), Self::Hash),
        })
    }

    /// A form with smaller tables for code that holds them in registers: more work, less to fetch.
    /// None where there is none.
    pub fn compact(&self, set: &Set) -> Option<Self> {
        let Self::Hash(hash @ Hash { bits: 32, .. }) = self else { return None };
        let keys: Vec<u64> = set.small_ranges().flat_map(|(a, b)| a..=b).collect();
        (hash.displace.is_empty())
            .then(|| Hash::displaced(&keys, 32, hash.multiplier, &mut (PROBES * keys.len() as u64)).map(Self::Hash))?
    }

    /// The answer, as compiled code computes it.
    pub fn contains(&self, v: u64) -> bool {
        match self {
            Self::Compare(ranges) => ranges.iter().any(|(low, high)| *low <= v && v <= *high),
            Self::Bits { low, mask } => v.wrapping_sub(*low) < 64 && mask >> v.wrapping_sub(*low) & 1 == 1,
            Self::Bitmap { low, span, words } => {
                let i = v.wrapping_sub(*low);
                i < *span && words[(i / 64) as usize] >> (i % 64) & 1 == 1
            }
            Self::Hash(hash) => hash.keys[hash.slot(v)] == v,
            Self::Search(search) => search.contains(v),
        }
    }

    /// The form in words, for explanations.
    pub fn describe(&self) -> String {
        match self {
            Self::Compare(ranges) => format!("{} comparisons", ranges.len()),
            Self::Bits { .. } => "bit test".to_owned(),
            Self::Bitmap { words, .. } => format!("bitmap of {} bytes", 8 * words.len()),
            Self::Hash(h) => format!("perfect hash of {} slots, {} displacements", h.keys.len(), h.displace.len()),
            Self::Search(s) => format!("index of {} buckets, then {} steps to a range", s.index.len(), s.steps().count()),
        }
    }
}

/// How a set is tested, and why so.
pub fn why(set: &Set) -> String {
    let Some(plan) = MembershipTest::choose(set) else { return format!("searched by the runtime: values of {} bits", set.width()) };
    format!("{}: {}", plan.describe(), shape(set))
}

/// Size, span and density.
fn shape(set: &Set) -> String {
    let mut ends = set.small_ranges();
    let Some((low, high)) = ends.next().map(|first| (first.0, ends.last().unwrap_or(first).1)) else { return "nothing in it".to_owned() };
    let values: u128 = set.small_ranges().map(|(low, high)| u128::from(high - low) + 1).sum();
    let span = u128::from(high - low) + 1;
    let density = 100.0 * values as f64 / span as f64;
    format!("{values} values in {} ranges, span {span}, density {}%", set.ranges().len(), percent(density))
}

/// Two digits that matter.
fn percent(density: f64) -> String {
    if density >= 1.0 { format!("{density:.0}") } else { format!("{density:.1e}") }
}

fn bitmap(ranges: &[(u64, u64)], low: u64, words: usize) -> Vec<u64> {
    let mut bits = vec![0; words];
    for i in ranges.iter().flat_map(|(a, b)| a - low..=b - low) {
        bits[(i / 64) as usize] |= 1 << (i % 64);
    }
    bits
}

/// The values, if they are few enough to be worth a hash: ranges count as their values up to a
/// factor of four.
fn singles(ranges: &[(u64, u64)]) -> Option<Vec<u64>> {
    let total = ranges.iter().try_fold(0u64, |sum, (a, b)| sum.checked_add(b - a)?.checked_add(1))?;
    (total <= 4 * ranges.len() as u64 && total <= MOST_HASHED).then(|| ranges.iter().flat_map(|(a, b)| *a..=*b).collect())
}

impl Search {
    fn new(ranges: &[(u64, u64)], width: u16) -> Self {
        let buckets = (2 * ranges.len()).next_power_of_two().min(1 << width.min(MOST_BUCKETS)) as u64;
        let shift = u32::from(width) - buckets.ilog2();
        let begun = |v: u64| ranges.partition_point(|(low, _)| *low <= v);
        let index: Vec<u64> = (0..buckets).map(|b| begun(b << shift).saturating_sub(1) as u64).collect();
        let last = |b: u64| begun(b << shift | ((1u64 << shift) - 1)).saturating_sub(1) as u64;
        let furthest = (0..buckets).zip(&index).map(|(b, first)| last(b) - first).max().unwrap_or(0);
        let step = if furthest == 0 { 0 } else { 1usize << furthest.ilog2() };
        let (most, end) = (netil::ops::mask(width), ranges[ranges.len() - 1].1);
        let pads = 2 * step;
        let lows = ranges.iter().map(|r| r.0).chain(std::iter::repeat_n(most, pads)).collect();
        let highs = ranges.iter().map(|r| r.1).chain(std::iter::repeat_n(end, pads)).collect();
        let (state_shift, states) = states(ranges, width);
        Self { shift, index, step, lows, highs, state_shift, states }
    }

    /// The steps of the search, the longest first.
    pub fn steps(&self) -> impl Iterator<Item = usize> + use<> {
        std::iter::successors(Some(self.step), |step| Some(step / 2)).take_while(|step| *step > 0)
    }

    fn contains(&self, v: u64) -> bool {
        let mut at = self.index[(v >> self.shift) as usize] as usize;
        for step in self.steps() {
            at += if self.lows[at + step] <= v { step } else { 0 };
        }
        self.lows[at] <= v && v <= self.highs[at]
    }
}

/// What a set has of each bucket.
fn states(ranges: &[(u64, u64)], width: u16) -> (u32, Vec<u64>) {
    let buckets = (STATES * ranges.len()).next_power_of_two().min(1 << width.min(MOST_BUCKETS)).max(16);
    let shift = u32::from(width) - buckets.ilog2();
    let state = |bucket: usize| {
        let (first, last) = ((bucket as u64) << shift, (bucket as u64) << shift | ((1u64 << shift) - 1));
        match ranges[..ranges.partition_point(|(low, _)| *low <= last)].last() {
            Some((_, high)) if *high < first => NONE,
            Some((low, high)) if *low <= first && *high >= last => ALL,
            Some(_) => SOME,
            None => NONE,
        }
    };
    let states: Vec<u64> = (0..buckets).map(state).collect();
    if states.iter().filter(|state| **state == SOME).count() > buckets / SELDOM {
        return (shift, Vec::new());
    }
    let word = |sixteen: &[u64]| sixteen.iter().enumerate().map(|(i, state)| state << (2 * i)).sum();
    (shift, states.chunks(16).map(word).collect())
}

impl Hash {
    /// Tries without displacement first, then buckets; gives up after a bounded number of
    /// multipliers and of probes, as keys may be chosen to collide.
    fn new(keys: &[u64], bits: u32) -> Option<Self> {
        const MULTIPLIERS: u64 = 64;
        let multipliers = (1..=MULTIPLIERS).map(|i| multiplier(i, bits));
        if keys.len() <= 64 {
            let slots = (8 * keys.len()).next_power_of_two();
            if let Some(found) =
                multipliers.clone().chain((65..4096).map(|i| multiplier(i, bits))).find_map(|m| Self::direct(keys, bits, m, slots))
            {
                return Some(found);
            }
        }
        let mut probes = PROBES * keys.len() as u64;
        multipliers.into_iter().find_map(|m| Self::displaced(keys, bits, m, &mut probes))
    }

    /// Without displacement, in as few slots as some multipliers find, at most eight times the
    /// fewest: for switches on 32 bits.
    pub fn small(keys: &[u64]) -> Option<Self> {
        let fewest = (2 * keys.len()).next_power_of_two();
        (0..4).map(|k| fewest << k).find_map(|slots| (1..=64).find_map(|i| Self::direct(keys, 32, multiplier(i, 32), slots)))
    }

    fn direct(keys: &[u64], bits: u32, multiplier: u64, slots: usize) -> Option<Self> {
        let slot_shift = bits - slots.ilog2();
        let mut hash = Self { bits, multiplier, bucket_shift: bits - 1, displace: Vec::new(), slot_shift, keys: Vec::new() };
        let mut used = vec![None; slots];
        for key in keys {
            if used[hash.slot(*key)].replace(*key).is_some() {
                return None;
            }
        }
        hash.fill(&used, keys);
        Some(hash)
    }

    /// Buckets of about four keys; the fullest choose their displacement first.
    fn displaced(keys: &[u64], bits: u32, multiplier: u64, probes: &mut u64) -> Option<Self> {
        let slots = (2 * keys.len()).next_power_of_two();
        let buckets = (keys.len() / 4 + 1).next_power_of_two().max(2);
        let (bucket_shift, slot_shift) = (bits - buckets.ilog2(), bits - slots.ilog2());
        let mut hash = Self { bits, multiplier, bucket_shift, displace: vec![0; buckets], slot_shift, keys: Vec::new() };
        let mut by_bucket = vec![Vec::new(); buckets];
        keys.iter().for_each(|k| by_bucket[hash.bucket(*k)].push(*k));
        let mut order: Vec<usize> = (0..buckets).collect();
        order.sort_by_key(|b| std::cmp::Reverse(by_bucket[*b].len()));
        let mut used = vec![None; slots];
        for b in order {
            hash.displace[b] = hash.place(&by_bucket[b], &mut used, probes)?;
        }
        hash.fill(&used, keys);
        Some(hash)
    }

    fn place(&self, keys: &[u64], used: &mut [Option<u64>], probes: &mut u64) -> Option<u64> {
        const TRIES: u64 = 1 << 16;
        if keys.len() > FULLEST {
            return None;
        }
        'displacement: for d in 0..TRIES {
            let d = d.wrapping_mul(0xd1b5_4a32_d192_ed03) >> (64 - self.bits);
            let mut taken: Vec<usize> = Vec::with_capacity(keys.len());
            for key in keys {
                *probes = probes.checked_sub(1)?;
                let slot = self.scale(key ^ d, self.slot_shift);
                if used[slot].is_some() || taken.contains(&slot) {
                    continue 'displacement;
                }
                taken.push(slot);
            }
            taken.iter().zip(keys).for_each(|(slot, key)| used[*slot] = Some(*key));
            return Some(d);
        }
        None
    }

    /// An unused slot gets a key that lives in another.
    fn fill(&mut self, used: &[Option<u64>], keys: &[u64]) {
        let home = |key: u64| self.slot(key);
        let (first, other) = (keys[0], keys[keys.len() - 1]);
        let foreign = |slot: usize| if home(first) == slot { other } else { first };
        let filled = used.iter().enumerate().map(|(slot, key)| key.unwrap_or_else(|| foreign(slot))).collect();
        self.keys = filled;
    }

    /// The slot where a value would be.
    pub fn slot(&self, v: u64) -> usize {
        let d = self.displace.get(self.bucket(v)).copied().unwrap_or(0);
        self.scale(v ^ d, self.slot_shift)
    }

    fn bucket(&self, v: u64) -> usize {
        self.scale(v, self.bucket_shift)
    }

    /// The high bits of the product.
    fn scale(&self, v: u64, shift: u32) -> usize {
        ((v.wrapping_mul(self.multiplier) & netil::ops::mask(self.bits as u16)) >> shift) as usize
    }
}

/// Odd numbers without pattern.
fn multiplier(i: u64, bits: u32) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value near an end of a range, and many others.
    fn probes(set: &Set, width: u16) -> Vec<u64> {
        let mask = netil::ops::mask(width);
        let ends = set.small_ranges().flat_map(|(a, b)| [a, b, a.wrapping_sub(1), b.wrapping_add(1)]);
        let random = (0..5000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17));
        ends.chain(random).chain(0..300).map(|v| v & mask).collect()
    }

    fn agrees(width: u16, ranges: &[(u64, u64)]) -> MembershipTest {
        let set = Set::of_ranges("s", width, ranges.iter().copied()).unwrap();
        let plan = MembershipTest::choose(&set).unwrap();
        let compact = plan.compact(&set);
        for v in probes(&set, width) {
            assert_eq!(plan.contains(v), set.contains(&[v]), "{v:#x} in {}", plan.describe());
            if let MembershipTest::Search(search) = &plan
                && let Some(state) = state_of(search, v)
            {
                assert!(state == SOME || (state == ALL) == set.contains(&[v]), "{v:#x}: state {state}");
            }
            if let Some(compact) = &compact {
                assert_eq!(compact.contains(v), set.contains(&[v]), "{v:#x} in {}", compact.describe());
            }
        }
        plan
    }

    fn state_of(search: &Search, v: u64) -> Option<u64> {
        let bucket = (v >> search.state_shift) as usize;
        search.states.get(bucket / 16).map(|word| word >> (2 * (bucket % 16)) & 3)
    }

    #[test]
    fn states_are_kept_where_few_must_search() {
        let nets =
            |n: u64, bits: u32| (0..n).map(|i| ((i * 2654435761 % (1 << 32)) >> bits) << bits).collect::<std::collections::BTreeSet<_>>();
        let of = |n: u64, bits: u32| {
            let ranges: Vec<(u64, u64)> = nets(n, bits).into_iter().map(|low| (low, low + (1 << bits) - 1)).collect();
            let MembershipTest::Search(search) = agrees(32, &ranges) else { panic!("{n} nets are searched") };
            search.states.len()
        };
        assert_eq!(of(1_000, 12), (1 << 16) / 16);
        assert_eq!(of(10_000, 3), 0);
    }

    #[test]
    fn every_form_gives_the_sets_answer() {
        let hosts = |n: u64| (0..n).map(|i| 0x0a00_0000 + i * 2654435761 % 0xff_ffff).map(|v| (v, v)).collect::<Vec<_>>();
        assert!(matches!(agrees(32, &[]), MembershipTest::Compare(_)));
        assert!(matches!(agrees(32, &[(7, 7), (1 << 31, u64::from(u32::MAX))]), MembershipTest::Compare(_)));
        assert!(matches!(agrees(16, &[(80, 80), (88, 90), (110, 110)]), MembershipTest::Bits { .. }));
        assert!(matches!(agrees(16, &(0..600).map(|i| (i * 100, i * 100 + 3)).collect::<Vec<_>>()), MembershipTest::Bitmap { .. }));
        assert!(matches!(agrees(32, &hosts(50)), MembershipTest::Hash(h) if h.displace.is_empty()));
        assert!(matches!(agrees(32, &hosts(1000)), MembershipTest::Hash(h) if !h.displace.is_empty()));
        assert!(matches!(agrees(32, &hosts(10_000)), MembershipTest::Hash(_)));
        let nets: Vec<_> = (0..1000).map(|i| (i << 22, (i << 22) + 0xffff)).collect();
        assert!(matches!(agrees(32, &nets), MembershipTest::Search(_)));
        assert!(matches!(
            agrees(64, &[(0, 0), (u64::MAX, u64::MAX), (5, 1 << 40), (1 << 50, 1 << 60), (1 << 61, 1 << 62)]),
            MembershipTest::Search(_)
        ));
        agrees(48, &(0..300).map(|i| (i * 0x1_0000_0001, i * 0x1_0000_0001)).collect::<Vec<_>>());
    }

    #[test]
    fn keys_chosen_to_collide_are_searched_soon() {
        // The inverse of the first multiplier makes products that share their high bits.
        let m = 0x9e37_79b9_7f4a_7c15u64;
        let inverse = (0..6).fold(1u64, |x, _| x.wrapping_mul(2u64.wrapping_sub(m.wrapping_mul(x))));
        for shift in [0, 20, 40] {
            let keys: Vec<_> = (0..100_000u64).map(|i| (i << shift).wrapping_mul(inverse)).map(|v| (v, v)).collect();
            let start = std::time::Instant::now();
            agrees(64, &keys);
            assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
        }
    }

    #[test]
    fn full_and_touching_ends() {
        agrees(8, &[(0, 255)]);
        agrees(64, &[(0, u64::MAX)]);
        agrees(32, &(0..900).map(|i| (i * i * 5000, i * i * 5000 + 4)).chain([(0xffff_0000, 0xffff_ffff)]).collect::<Vec<_>>());
        agrees(33, &(0..70).map(|i| (i << 26, (i << 26) + 9)).chain([((1 << 33) - 1, (1 << 33) - 1)]).collect::<Vec<_>>());
        agrees(32, &(0..600).map(|i| (0xff00_0000 + 9 * i, 0xff00_0000 + 9 * i + 6)).collect::<Vec<_>>());
        agrees(16, &[(0, 0), (65535, 65535)]);
    }
}
