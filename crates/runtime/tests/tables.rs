//! The runtime's tables against [`netil::tables::Reference`]: random operations on every kind, in
//! every shape that matters.
//!
//! `NETVM_CASES` says how many operations each case makes (in thousands), `NETVM_SEED` where the
//! randomness begins.

use netil::layout;
use netil::module::{Entry, Table as Declaration, TableKind};
use netil::tables::{Reference, Table};
use netvm_runtime::coproc::tables;
use std::borrow::Cow;

#[path = "tables/ends.rs"]
mod ends;
#[path = "tables/entered.rs"]
mod entered;
#[path = "tables/growth.rs"]
mod growth;
#[path = "tables/kinds.rs"]
mod kinds;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn declare(kind: TableKind, key_bits: u16, value_bytes: u32, capacity: u32, timeout_ns: u64) -> Declaration {
    Declaration { name: "t".to_owned(), kind, key_bits, value_bytes, capacity, timeout_ns, entries: Vec::new() }
}

/// Numbers that look random (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// From `low` to `high`, without `high`.
    fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }
}

/// Both tables, and the time.
struct Pair {
    declaration: Declaration,
    plain: Reference,
    fast: Box<dyn Table>,
    random: Random,
    now: u64,
    value_bytes: usize,
    /// Of which different values are made.
    values: u64,
}

impl Pair {
    fn new(declaration: &Declaration, seed: u64) -> Self {
        let (plain, fast) = (Reference::new(declaration), tables::make(declaration, seed));
        let (declaration, value_bytes) = (declaration.clone(), declaration.value_bytes as usize);
        Self { declaration, plain, fast, random: Random(seed), now: 0, value_bytes, values: u64::MAX }
    }

    /// Time mostly goes on, sometimes back, sometimes far.
    fn step(&mut self, timeout: u64) {
        let by = match self.random.within(0, 40) {
            0 => self.random.within(0, 3 * timeout.min(1 << 40) + 1),
            1..10 => self.random.within(0, timeout.min(1 << 40) / 50 + 2),
            _ => 0,
        };
        self.now = match self.random.within(0, 20) {
            0 => self.now.saturating_sub(by),
            _ => self.now.saturating_add(by),
        };
    }

    fn bytes(&mut self) -> Box<[u8]> {
        let mut random = Random(self.random.within(0, self.values));
        (0..self.value_bytes).map(|_| random.next() as u8).collect()
    }

    /// Checks that both tables have the same value at their handles, or none.
    fn same(&mut self, plain: u32, fast: u32) {
        assert_eq!(self.plain.value(plain), self.fast.value(fast), "at {}", self.now);
    }

    fn look_up(&mut self, key: &[u64], refresh: bool) {
        let looked = [&self.plain as &dyn Table, &*self.fast].map(|table| table.lookup(key, self.now).map(Cow::into_owned));
        let found = (self.plain.find(key, self.now, refresh), self.fast.find(key, self.now, refresh));
        self.same(found.0, found.1);
        assert_eq!(
            looked,
            [self.plain.value(found.0).map(<[u8]>::to_vec), self.fast.value(found.1).map(<[u8]>::to_vec)],
            "at {}",
            self.now
        );
    }

    fn insert(&mut self, key: &[u64]) {
        let fast = match self.random.within(0, 2) {
            0 => self.fast.insert(key, self.now),
            _ => entered::insert(&mut *self.fast, &self.declaration, key, self.now),
        };
        let at = (self.plain.insert(key, self.now), fast);
        self.same(at.0, at.1);
        let value = self.bytes();
        for table_value in [self.plain.value_mut(at.0), self.fast.value_mut(at.1)].into_iter().flatten() {
            table_value.copy_from_slice(&value);
        }
    }

    fn add(&mut self, mut entry: Entry) {
        entry.value = self.bytes();
        assert_eq!(self.plain.add(&entry, self.now), self.fast.add(&entry, self.now));
    }

    fn remove(&mut self, entry: &Entry) {
        self.look_for(entry);
        let removed =
            [&mut self.plain as &mut dyn Table, &mut *self.fast].map(|t| t.remove(&entry.key, &entry.mask, entry.priority, self.now));
        assert_eq!(removed[0], removed[1]);
        self.look_for(entry);
    }

    /// From now on fewer entries, or again as many as may be, and another time for those that
    /// nothing uses. Ends that run over are for ever, and stay so.
    fn change(&mut self, capacity: u32, timeout: u64) {
        let most = self.random.within(0, 2 * u64::from(capacity) + 1) as usize;
        let time = if timeout < 1 << 40 { self.random.within(0, 2 * timeout + 1) } else { 0 };
        let changed = [&mut self.plain as &mut dyn Table, &mut *self.fast].map(|table| {
            table.set_limit(most);
            (table.set_timeout(time, self.now), table.timeout(), table.limit())
        });
        assert_eq!((changed[0], changed[1].2), (changed[1], Some(most.min(capacity as usize))));
        self.compare();
    }

    /// Another capacity: of twice as many entries as the pool has at most, and often too few for
    /// those that there are.
    fn resize(&mut self, capacity: u32) -> u32 {
        let wanted = self.random.within(0, 3 * u64::from(capacity) + 2) as u32;
        let done = [&mut self.plain as &mut dyn Table, &mut *self.fast].map(|table| table.set_capacity(wanted as usize, self.now));
        assert_eq!(done[0], done[1]);
        if done[0] {
            self.declaration.capacity = wanted;
            assert_eq!(self.fast.limit(), Some(wanted as usize));
        }
        self.compare();
        self.declaration.capacity
    }

    /// The entry of just that key, mask and priority.
    fn look_for(&mut self, entry: &Entry) {
        let known =
            [&mut self.plain as &mut dyn Table, &mut *self.fast].map(|t| t.known(&entry.key, &entry.mask, entry.priority, self.now));
        self.same(known[0], known[1]);
    }

    fn compare(&mut self) {
        assert_eq!(self.plain.len(self.now), self.fast.len(self.now));
        assert_eq!(self.plain.entries(self.now), self.fast.entries(self.now));
    }
}

fn exact(key: Vec<u64>) -> Entry {
    Entry { key: key.into(), mask: Box::default(), priority: 0, value: Box::default() }
}

/// The first keys of a pool as what is there from the start.
fn with_entries(declaration: &Declaration, pool: &[Vec<u64>]) -> Declaration {
    let from_the_start =
        |(i, key): (usize, &Vec<u64>)| Entry { value: vec![i as u8; declaration.value_bytes as usize].into(), ..exact(key.clone()) };
    let distinct: std::collections::BTreeSet<_> = pool.iter().take(declaration.capacity as usize / 4).cloned().collect();
    Declaration { entries: distinct.iter().enumerate().map(from_the_start).collect(), ..declaration.clone() }
}

/// Random operations on an exact table with keys from a pool.
fn run_exact(declaration: &Declaration, seed: u64, operations: u64, pool: &[Vec<u64>]) {
    let mut pair = Pair::new(&with_entries(declaration, pool), seed);
    let mut capacity = declaration.capacity;
    for i in 0..operations {
        pair.step(declaration.timeout_ns);
        let key = &pool[pair.random.within(0, pool.len() as u64) as usize];
        // Now and then many insertions, now and then many deletions.
        let filling = i / 500 % 3 != 2;
        match pair.random.within(0, 12) {
            0..3 => pair.look_up(key, false),
            3..6 => pair.look_up(key, true),
            6..9 if filling => pair.insert(key),
            9 if filling => pair.add(exact(key.clone())),
            6..9 => assert_eq!(pair.plain.delete(key, pair.now), pair.fast.delete(key, pair.now)),
            _ => pair.remove(&exact(key.clone())),
        }
        if pair.random.within(0, 100) == 0 {
            pair.fast.tidy();
        }
        pair.ends();
        if pair.random.within(0, 300) == 0 {
            pair.change(capacity, declaration.timeout_ns);
        }
        if pair.random.within(0, 400) == 0 {
            capacity = pair.resize(declaration.capacity);
        }
        if i % 997 == 0 {
            pair.compare();
        }
    }
    pair.compare();
}

/// Keys that differ, of that width: some random, some small numbers, some with one bit more than
/// others.
fn pool(key_bits: u16, size: usize, random: &mut Random) -> Vec<Vec<u64>> {
    let limbs = usize::from(key_bits).div_ceil(64);
    let mut key = |i: usize| {
        let mut key: Vec<u64> = match i % 3 {
            0 => (0..limbs).map(|_| random.next()).collect(),
            1 => (0..limbs).map(|limb| if limb == 0 { i as u64 } else { 0 }).collect(),
            _ => (0..limbs).map(|limb| if limb == i / 64 % limbs { 1 << (i % 64) } else { 0 }).collect(),
        };
        netil::wide::normalise(key_bits, &mut key);
        key
    };
    (0..size).map(&mut key).collect()
}

#[test]
fn exact_tables_of_every_shape_mean_what_the_reference_means() {
    let (thousands, seed) = (setting("NETVM_CASES", 3), setting("NETVM_SEED", 1));
    let widths = [8, 16, 32, 48, 64, 72, 104, 128, 136, 296, 512, 2040, 2048];
    let mut random = Random(seed);
    for (i, key_bits) in widths.into_iter().enumerate() {
        for (capacity, timeout) in [(1, 0), (1, 7), (40, 100), (300, 0), (300, 5_000), (300, u64::MAX)] {
            let value_bytes = [1, 4, 11, 30, 64, 300, 4096][random.within(0, if i % 4 == 0 { 7 } else { 4 }) as usize];
            let size = capacity as usize * 3 / 2 + 1;
            let keys = pool(key_bits, size, &mut random);
            run_exact(&declare(TableKind::Exact, key_bits, value_bytes, capacity, timeout), seed + i as u64, thousands * 1000, &keys);
        }
    }
}

/// Keys whose hashes end alike, as one would choose them who knows the table's seed.
fn colliding(declaration: &Declaration, seed: u64, bits: u32, size: usize) -> Vec<Vec<u64>> {
    let mut table = tables::make(declaration, seed);
    let head = table.parts().unwrap().head;
    let seed = [head[layout::head::SEED0], head[layout::head::SEED1]];
    (0u64..).filter(|key| layout::hash(seed, &[*key]) % (1 << bits) == 3).map(|key| vec![key]).take(size).collect()
}

#[test]
fn keys_chosen_to_collide_change_nothing_but_time() {
    let (thousands, seed) = (setting("NETVM_CASES", 3), setting("NETVM_SEED", 1));
    for timeout in [0, 60, 2_000] {
        let declaration = declare(TableKind::Exact, 64, 11, 400, timeout);
        for bits in [2, 5, 12] {
            let keys = colliding(&declaration, seed, bits, 600);
            run_exact(&declaration, seed, thousands * 1000, &keys);
        }
    }
}

#[test]
fn an_entry_in_the_stash_ends_in_time_as_well() {
    let declaration = declare(TableKind::Exact, 64, 1, 400, 10);
    let keys = colliding(&declaration, 1, 12, 100);
    let mut table = tables::make(&declaration, 1);
    for key in &keys {
        assert_ne!(table.insert(key, 0), 0);
    }
    assert!(table.parts().unwrap().head[layout::head::STASHED] > 0, "the test is of the stash");
    let (refreshed, left) = keys.split_at(50);
    assert!(keys.iter().all(|key| table.find(key, 9, false) != 0));
    assert!(refreshed.iter().rev().all(|key| table.find(key, 9, true) != 0) && left.iter().all(|key| table.find(key, 10, true) == 0));
    assert_eq!((table.len(10), table.len(19)), (50, 0));
    assert!(keys.iter().all(|key| table.insert(key, 19) != 0) && table.len(19) == 100);
}

#[test]
fn times_at_both_ends_are_times() {
    for timeout in [1, 2, 1000, u64::MAX] {
        let mut pair = Pair::new(&declare(TableKind::Exact, 8, 1, 4, timeout), 5);
        for now in
            [0, 1, 2, 3, timeout - 1, timeout, timeout.saturating_add(1), u64::MAX - 4, u64::MAX - 3, u64::MAX - 2, u64::MAX - 1, u64::MAX]
        {
            pair.now = now;
            pair.look_up(&[1], false);
            pair.insert(&[now % 7]);
            pair.look_up(&[1], true);
            pair.compare();
        }
    }
}

/// Random operations on a table of another kind, with entries from a pool and keys near them. Where
/// no program writes to values, many are equal.
fn run_matching(declaration: &Declaration, seed: u64, operations: u64, pool: &[Entry], written: bool) {
    let mut pair = Pair::new(declaration, seed);
    pair.fast = tables::make_for(declaration, seed, written);
    pair.values = if written { u64::MAX } else { 7 };
    for i in 0..operations {
        let entry = pool[pair.random.within(0, pool.len() as u64) as usize].clone();
        match pair.random.within(0, 8) {
            0..4 => {
                let key = match declaration.kind {
                    TableKind::Range => at_the_ends(&entry, declaration.key_bits, &mut pair.random),
                    _ => near(&entry, declaration.key_bits, &mut pair.random),
                };
                pair.look_up(&key, true);
            }
            4..6 if i / 300 % 3 != 2 => pair.add(entry),
            4..7 => pair.remove(&entry),
            _ => assert!(pair.fast.insert(&entry.key, 0) == 0 && !pair.fast.delete(&entry.key, 0)),
        }
        if i % 499 == 0 {
            pair.compare();
        }
        // As when a burst begins.
        if i % 157 == 0 && i / 1000 % 2 == 1 {
            let _ = pair.fast.parts();
        }
    }
    pair.compare();
}

/// A key that an entry matches, often the first or the last, or one that differs in a bit.
fn near(entry: &Entry, key_bits: u16, random: &mut Random) -> Vec<u64> {
    let free = random.within(0, 4);
    let mut bits = || [0, u64::MAX, random.next(), random.next()][free as usize];
    let mut key: Vec<u64> = entry.key.iter().zip(&entry.mask).map(|(key, mask)| key | bits() & !mask).collect();
    if random.within(0, 3) == 0 {
        let bit = random.within(0, key_bits.into()) as usize;
        key[bit / 64] ^= 1 << (bit % 64);
    }
    netil::wide::normalise(key_bits, &mut key);
    key
}

/// A range's first or last key, or one before or behind.
fn at_the_ends(entry: &Entry, key_bits: u16, random: &mut Random) -> Vec<u64> {
    let end = if random.within(0, 2) == 0 { &entry.key } else { &entry.mask };
    let one = netil::wide::resize(64, key_bits, false, &[1]);
    let by = [netil::ops::BinOp::Add, netil::ops::BinOp::Sub, netil::ops::BinOp::Or][random.within(0, 3) as usize];
    let by_one = netil::wide::bin(by, key_bits, end, &one).unwrap();
    if random.within(0, 2) == 0 { end.to_vec() } else { by_one }
}

/// Prefixes that lie in each other: random bits, often those of an earlier one.
fn prefixes(key_bits: u16, size: usize, random: &mut Random) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    for i in 0..size {
        let mut key = match random.within(0, 4) {
            0 => (0..netil::wide::limbs(key_bits)).map(|_| random.next()).collect(),
            _ if i > 0 => near(&all[random.within(0, i as u64) as usize].clone(), key_bits, random),
            _ => vec![0; netil::wide::limbs(key_bits)],
        };
        let length = random.within(0, u64::from(key_bits) + 1) as u16;
        let mut mask = vec![u64::MAX; key.len()];
        for bit in 0..usize::from(key_bits - length) {
            mask[bit / 64] &= !(1 << (bit % 64));
        }
        netil::wide::normalise(key_bits, &mut mask);
        netil::wide::normalise(key_bits, &mut key);
        key.iter_mut().zip(&mask).for_each(|(key, mask)| *key &= mask);
        all.push(Entry { mask: mask.into(), ..exact(key) });
    }
    all
}

#[test]
fn prefix_tables_mean_what_the_reference_means() {
    let (thousands, seed) = (setting("NETVM_CASES", 3), setting("NETVM_SEED", 1));
    let mut random = Random(seed);
    for key_bits in [8, 16, 24, 32, 40, 64, 128, 136, 2048] {
        for (capacity, value_bytes, written) in [(1, 4, true), (60, 1, false), (200, 1, true), (200, 70, false)] {
            let pool = prefixes(key_bits, 250, &mut random);
            let declaration = declare(TableKind::Prefix, key_bits, value_bytes, capacity, 0);
            run_matching(&declaration, seed, thousands * 300, &pool, written);
        }
    }
}

/// Rules with few bits in key and mask, so that many match; several have one priority.
fn ternary(key_bits: u16, size: usize, random: &mut Random) -> Vec<Entry> {
    let mut sparse = |more: u64| {
        let mut number = vec![0; netil::wide::limbs(key_bits)];
        for _ in 0..random.within(0, 12) * more {
            let bit = random.within(0, key_bits.into()) as usize;
            number[bit / 64] |= 1 << (bit % 64);
        }
        number
    };
    let pairs: Vec<_> = (0..size).map(|i| (sparse(2), sparse(1), i as u32 % 5)).collect();
    let rule = |(key, mask, priority): (Vec<u64>, Vec<u64>, u32)| Entry {
        key: key.iter().zip(&mask).map(|(key, mask)| key & mask).collect(),
        mask: mask.into(),
        priority,
        value: Box::default(),
    };
    pairs.into_iter().map(rule).collect()
}

/// Ranges, many of them short, some of one key, some up to the last.
fn ranges(key_bits: u16, size: usize, random: &mut Random) -> Vec<Entry> {
    let mut number = |most: u64| {
        let mut number: Vec<u64> =
            (0..netil::wide::limbs(key_bits)).map(|_| [0, 1, most, random.next()][random.within(0, 4) as usize]).collect();
        netil::wide::normalise(key_bits, &mut number);
        number
    };
    let mut all = Vec::new();
    for i in 0..size {
        let mut ends = [number(7), if i % 3 == 0 { number(u64::MAX) } else { number(250) }];
        ends.sort_by(|a, b| netil::wide::compare(a, b));
        let [low, high] = ends;
        all.push(Entry { mask: high.into(), priority: i as u32 % 4, ..exact(low) });
    }
    all
}

#[test]
fn ternary_tables_mean_what_the_reference_means() {
    let (thousands, seed) = (setting("NETVM_CASES", 3), setting("NETVM_SEED", 1));
    let mut random = Random(seed);
    for key_bits in [8, 32, 104, 128, 296, 2048] {
        for capacity in [1, 40, 300] {
            let pool = ternary(key_bits, 400, &mut random);
            run_matching(&declare(TableKind::Ternary, key_bits, 5, capacity, 0), seed, thousands * 300, &pool, true);
        }
    }
    let pool = ternary(64, 9000, &mut random);
    run_matching(&declare(TableKind::Ternary, 64, 2, 6000, 0), seed, thousands * 1000, &pool, true);
}

/// Rules with only as many of their masks, so that several have the same masked key.
fn with_masks(rules: Vec<Entry>, masks: usize) -> Vec<Entry> {
    let known: Vec<Box<[u64]>> = rules.iter().take(masks).map(|rule| rule.mask.clone()).collect();
    let narrow = |(i, rule): (usize, Entry)| {
        let mask = known[i % masks].clone();
        Entry { key: rule.key.iter().zip(&mask).map(|(key, mask)| key & mask).collect(), mask, ..rule }
    };
    rules.into_iter().enumerate().map(narrow).collect()
}

#[test]
fn ternary_tables_of_few_masks_mean_what_the_reference_means() {
    let (thousands, seed) = (setting("NETVM_CASES", 3), setting("NETVM_SEED", 1));
    let mut random = Random(seed);
    for key_bits in [8, 40, 64, 104, 128] {
        for (masks, capacity) in [(1, 40), (5, 300), (8, 1000)] {
            let pool = with_masks(ternary(key_bits, 1200, &mut random), masks);
            run_matching(&declare(TableKind::Ternary, key_bits, 5, capacity, 0), seed, thousands * 400, &pool, true);
        }
    }
}

/// What compiled code is told: where slots are, that it must ask while rules are new, and nothing
/// else once it has been lent.
#[test]
fn ternary_tables_lie_in_slots_while_their_masks_are_few() {
    let rule = |i: u64, mask: u64| Entry { mask: Box::new([mask]), value: Box::new([1]), ..exact(vec![i & mask]) };
    let mut table = tables::make(&declare(TableKind::Ternary, 32, 1, 1000, 0), 1);
    (0..100).for_each(|i| table.add(&rule(i << 8, 0xffff_ff00), 0).unwrap());
    let parts = table.parts().unwrap();
    assert_eq!((parts.head[layout::shapes::ASK], parts.head[layout::shapes::COUNT]), (0, 1));
    assert_eq!((parts.index.len(), parts.groups.len()), (layout::shapes::STRIDE, 256 * 16));
    let at = parts.groups.as_ptr();
    table.add(&rule(7, 0xff), 0).unwrap();
    assert!((0..10_000).all(|_| table.find(&[7], 0, false) != 0 && table.find(&[0x6301], 0, false) != 0));
    let parts = table.parts().unwrap();
    assert!(parts.head[layout::shapes::ASK] == 0 && parts.head[layout::shapes::COUNT] == 2 && parts.groups.as_ptr() != at, "made anew");
    (0..20).for_each(|i| table.add(&rule(u64::MAX, 1 << i), 0).unwrap());
    assert_eq!(table.parts().unwrap().head[layout::shapes::ASK], 1, "too many masks");
}

#[test]
fn five_thousand_rules_of_which_one_matches_are_all_found() {
    let mut table = tables::make(&declare(TableKind::Ternary, 32, 4, 10_000, 0), 1);
    let rule = |i: u32| Entry {
        mask: Box::new([0xffff_ff00 | u64::from(i % 2)]),
        value: i.to_le_bytes().into(),
        ..exact(vec![u64::from(i / 2) << 8 | u64::from(i % 2)])
    };
    (0..10_000).filter(|i| i % 2 == 1).for_each(|i| table.add(&rule(i), 0).unwrap());
    for i in (0..10_000).filter(|i| i % 2 == 1) {
        let at = table.find(&[rule(i).key[0] | 0x36], 0, false);
        assert_eq!(table.value(at), Some(&i.to_le_bytes()[..]));
        assert_eq!(table.find(&[rule(i).key[0] ^ 1], 0, false), 0);
    }
}

#[test]
fn range_tables_mean_what_the_reference_means() {
    let (thousands, seed) = (setting("NETVM_CASES", 3), setting("NETVM_SEED", 1));
    let mut random = Random(seed);
    for key_bits in [8, 16, 32, 64, 128, 136, 2048] {
        for capacity in [1, 40, 300] {
            let pool = ranges(key_bits, 400, &mut random);
            run_matching(&declare(TableKind::Range, key_bits, 5, capacity, 0), seed, thousands * 300, &pool, true);
        }
    }
}

#[test]
fn large_prefix_tables_mean_what_the_reference_means() {
    let seed = setting("NETVM_SEED", 1);
    for key_bits in [32, 40, 128] {
        let mut pool = prefixes(key_bits, 1000, &mut Random(seed));
        // Short ones cover millions of slots, and take their time.
        pool.retain(|entry| key_bits > 32 || entry.mask[0].count_ones() > 8);
        let declaration = declare(TableKind::Prefix, key_bits, 8, 5000, 0);
        [true, false].into_iter().for_each(|written| run_matching(&declaration, seed, setting("NETVM_CASES", 3) * 300, &pool, written));
    }
}

/// Handles that a table's keys have.
fn handles(table: &mut dyn Table, keys: impl Iterator<Item = u64>) -> std::collections::BTreeSet<u32> {
    keys.map(|key| table.find(&[key], 0, false)).collect()
}

#[test]
fn routes_of_equal_values_have_one_handle_where_no_program_writes_to_them() {
    let count = 40_000;
    let route = |i: u64, hop: u64| Entry { mask: Box::new([0xffff_ff00]), value: (hop as u32).to_le_bytes().into(), ..exact(vec![i << 8]) };
    for (written, most) in [(false, 64), (true, count)] {
        let mut table = tables::make_for(&declare(TableKind::Prefix, 32, 4, count as u32, 0), 1, written);
        (0..count).for_each(|i| table.add(&route(i, i % 64), 0).unwrap());
        assert_eq!(handles(&mut *table, (0..count).map(|i| i << 8)), (1..=most as u32).collect());
        assert_eq!(table.parts().unwrap().head[layout::trie::WIDE], u64::from(written), "few numbers need no more than 15 bits");
        // Each value goes as the next one comes: their handles are used again.
        (0..count).for_each(|i| table.add(&route(i, 1000 + i / 700), 0).unwrap());
        assert!((0..count).all(|i| {
            let at = table.find(&[i << 8], 0, false);
            table.value(at) == Some(&*route(i, 1000 + i / 700).value)
        }));
        assert!(handles(&mut *table, (0..count).map(|i| i << 8)).last() <= Some(&(most as u32 + 64)));
    }
}

#[test]
fn a_large_routing_table_stays_right_when_handles_outgrow_their_slots() {
    let count = 40_000;
    for (capacity, value_bytes) in [(count, 4), (3 * count, 4)] {
        let mut table = tables::make(&declare(TableKind::Prefix, 32, value_bytes, capacity, 0), 1);
        let route = |i: u32| Entry {
            key: Box::new([u64::from(i.wrapping_mul(0x9e37_79b1) & 0xffff_fff0)]),
            mask: Box::new([if i.is_multiple_of(5) { 0xffff_fff0 } else { 0xffff_fff8 }]),
            priority: 0,
            value: i.to_le_bytes().into(),
        };
        (0..count).for_each(|i| table.add(&route(i), 0).unwrap());
        assert_eq!(table.add(&Entry { mask: Box::new([0xff00_0000]), ..route(0) }, 0).is_err(), capacity == count);
        for i in 0..count {
            let at = table.find(&[route(i).key[0] | 7], 0, false);
            assert_eq!(table.value(at), Some(&i.to_le_bytes()[..]));
        }
    }
}

#[test]
fn a_table_keeps_all_it_was_given_while_it_grows_and_shrinks() {
    let capacity = setting("NETVM_CASES", 3) as u32 * 10_000;
    let mut table = tables::make(&declare(TableKind::Exact, 104, 11, capacity, 1_000_000_000), 9);
    let key = |i: u32| [u64::from(i), u64::from(i % 7)];
    for i in 0..capacity {
        let at = table.insert(&key(i), i.into());
        table.value_mut(at).unwrap()[..4].copy_from_slice(&i.to_le_bytes());
    }
    assert_eq!(table.insert(&[u64::MAX, 1], 0), 0, "full");
    for i in (0..capacity).step_by(3) {
        assert!(table.delete(&key(i), 0));
    }
    for i in 0..capacity {
        let at = table.find(&key(i), 0, true);
        let expected = (i % 3 != 0).then(|| i.to_le_bytes());
        assert_eq!(table.value(at).map(|v| &v[..4]), expected.as_ref().map(|e| &e[..]));
    }
    let later = 2_000_000_000;
    assert_eq!((table.len(capacity.into()), table.len(later)), (u64::from(capacity - capacity.div_ceil(3)), 0));
    for i in 0..capacity {
        assert_ne!(table.insert(&key(i + 7), later), 0, "what has expired takes no room");
    }
    assert_eq!((table.len(later), table.insert(&key(0), later)), (capacity.into(), 0));
}

#[test]
fn a_declared_capacity_beyond_all_memory_is_no_reason_to_stop() {
    let mut table = tables::make(&declare(TableKind::Exact, 2048, 4096, u32::MAX, 5), 1);
    let at = table.insert(&[7; 32], 0);
    assert_eq!(table.value(at).map(<[u8]>::len), Some(4096));
    assert!(table.delete(&[7; 32], 4) && table.is_empty(4));
}
