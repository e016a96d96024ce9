//! Exact tables: open addressing with entries inline, so that a hit costs one cache line as a rule
//! ([`netil::layout`] says how they lie).
//!
//! - **Buckets** are slots; a key's is in its hash, and from there slots are probed one after the
//!   other. With buckets of as many slots as a cache line holds, twice as many keys were beside
//!   their first slot (counters of 56,000 flows: 0.8 ns a packet).
//! - **Growth** by the bucket is in `growth`, another capacity in `capacity`.
//! - **Insertion** without asking: compiled code puts entries in by itself up to what `promise`
//!   says.
//! - **Deletion** moves a later entry of the run into the gap, again and again; after [`MOVES`] of
//!   these the last gap is marked [`DEAD`] instead.
//! - **Expiry**: lookups judge each entry by its end. An insertion first takes out up to two
//!   entries that have ended, and all of them before it answers that the table is full
//!   ([`Deadlines`] finds them). The table's time never goes back, so nobody can tell when that
//!   happens.
//! - **Hostile keys**: the hash is seeded. A key that finds [`PROBES`] slots taken goes to the
//!   stash, slots of their own found by an ordered map, so that even one who knows the seed makes a
//!   lookup no dearer than the probes and the map's logarithm.
//!
//! Invariants: between a key's home and its slot no slot is free, and fewer than [`PROBES`] lie; a
//! key is in one slot at most; [`head::FILLED`] counts slots that hold one.
//!
//! Source: Knuth, TAOCP 6.4, algorithm R. Where the system has not the memory for the declared
//! capacity, the table is full earlier.

mod capacity;
mod growth;

use super::area::Area;
use super::deadlines::Deadlines;
use super::{splitmix, word};
use netil::layout::{self, DEAD, EPOCH, FAN, FREE, LATEST, NEVER, PROBES, Parts, head};
use netil::module::{Entry, Table as Declaration};
use netil::tables::{self, Full, Table};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Buckets of an empty table.
const BUCKETS: usize = 16;
/// The most slots: handles have 32 bits.
const SLOTS: usize = 1 << 31;
/// The most entries that fill one gap after the other.
const MOVES: usize = 16;
/// Expired entries that an insertion takes out.
const RECLAIMED: usize = 2;
/// Blocks that it looks at for them.
const LOOKS: usize = 4;

/// The table.
pub struct Exact {
    shape: layout::Exact,
    head: [u64; head::WORDS],
    slots: Area,
    /// Where there is a timeout.
    deadlines: Option<Deadlines>,
    /// Entries that there is memory for.
    capacity: usize,
    /// Entries that it was declared for, no more than these.
    declared: usize,
    /// Entries that it takes, no more than these.
    limit: usize,
    most_buckets: usize,
    /// Slots that held one when the table was last tidied.
    tidied: usize,
    stash: Stash,
}

/// Entries whose neighbourhood was taken, in slots from `begin` on.
#[derive(Default)]
struct Stash {
    begin: usize,
    /// Slots that were ever used.
    used: usize,
    free: Vec<usize>,
    slots: BTreeMap<Box<[u64]>, usize>,
}

/// What a search came to.
enum Search {
    /// The key's entry is live.
    Live(usize),
    /// The key's entry has ended.
    Ended(usize),
    /// It has none; a slot where one may be put, if there is one nearby.
    Absent(Option<usize>),
}

impl Exact {
    /// A table as declared, with the entries that it has from the start. The seed makes its
    /// collisions its own.
    pub fn new(declaration: &Declaration, seed: u64) -> Self {
        let mut capacity = declaration.capacity as usize;
        let mut table = loop {
            match Self::empty(declaration, capacity, seed) {
                Some(table) => break table,
                None => capacity /= 2,
            }
        };
        for entry in &declaration.entries {
            // The verifier has counted them.
            let at = table.insert(&entry.key, 0);
            table.set_value(at, &entry.value);
            table.keep(at);
        }
        table
    }

    /// `None` if there is no memory for it, which is not so for few entries.
    fn empty(declaration: &Declaration, capacity: usize, seed: u64) -> Option<Self> {
        let shape = layout::Exact::of(declaration);
        let most_buckets = growth::most_buckets(capacity, shape.stride);
        let begin = (most_buckets + PROBES).next_multiple_of(FAN);
        let slots = Self::memory(begin, capacity, shape.stride)?;
        let deadlines = if declaration.timeout_ns > 0 { Some(Deadlines::new(begin + capacity)?) } else { None };
        let mut head = [0; head::WORDS];
        let buckets = most_buckets.min(BUCKETS);
        head[head::MASK] = buckets as u64 - 1;
        head[head::BUCKETS] = buckets as u64;
        head[head::CLOCK] = EPOCH;
        head[head::SEED0] = splitmix(seed);
        head[head::SEED1] = splitmix(!seed);
        head[head::TIMEOUT] = declaration.timeout_ns;
        head[head::LEAVES] = deadlines.as_ref().map_or(0, Deadlines::leaves) as u64;
        let stash = Stash { begin, ..Stash::default() };
        let mut table =
            Self { shape, head, slots, deadlines, capacity, declared: capacity, limit: capacity, most_buckets, tidied: 0, stash };
        table.promise();
        Some(table)
    }

    /// Says up to when code may put entries in without asking: not while there is something to be
    /// taken out, nor where the table must grow first.
    fn promise(&mut self) {
        self.head[head::READY] = self.limit.min(self.crowded()) as u64;
        self.head[head::QUIET] = self.deadlines.as_ref().map_or(NEVER, Deadlines::quiet);
    }

    fn filled(&self) -> usize {
        self.head[head::FILLED] as usize
    }

    /// Whether entries that nothing uses end.
    fn ends(&self) -> bool {
        self.head[head::TIMEOUT] > 0
    }

    /// The table's time, which never goes back; it stands still where there is no timeout.
    fn clock(&self, now_ns: u64) -> u64 {
        if self.ends() { self.head[head::CLOCK].max(now_ns.min(LATEST) + EPOCH) } else { EPOCH }
    }

    fn tick(&mut self, now_ns: u64) -> u64 {
        self.head[head::CLOCK] = self.clock(now_ns);
        self.head[head::CLOCK]
    }

    /// When an entry used now ends.
    fn end(&self, now: u64) -> u64 {
        if self.ends() { now.saturating_add(self.head[head::TIMEOUT]) } else { NEVER }
    }

    fn state(&self, slot: usize) -> u64 {
        self.state_in(&self.slots, slot)
    }

    fn state_in(&self, slots: &[u8], slot: usize) -> u64 {
        let at = slot * self.shape.stride;
        match self.shape.state_bytes {
            1 => match slots[at] {
                u8::MAX => NEVER,
                state => u64::from(state),
            },
            _ => word(slots, at),
        }
    }

    fn set_state(&mut self, slot: usize, state: u64) {
        let (at, bytes) = (slot * self.shape.stride, self.shape.state_bytes);
        self.slots[at..at + bytes].copy_from_slice(&state.to_le_bytes()[..bytes]);
    }

    /// An entry in that slot ends then.
    fn set_end(&mut self, slot: usize, end: u64) {
        self.set_state(slot, end);
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.lower(slot, end);
        }
    }

    fn key_is(&self, slots: &[u8], slot: usize, key: &[u64]) -> bool {
        let at = slot * self.shape.stride + self.shape.state_bytes;
        let spare = (key.len() * 64 - self.shape.key_bytes * 8) as u32;
        let (last, others) = key.split_last().unwrap_or((&0, &[]));
        let same = others.iter().enumerate().all(|(i, limb)| word(slots, at + 8 * i) == *limb);
        same && word(slots, at + 8 * others.len()).wrapping_shl(spare) == last.wrapping_shl(spare)
    }

    fn key(&self, slot: usize) -> Box<[u64]> {
        let at = slot * self.shape.stride + self.shape.state_bytes;
        netil::wide::from_le_bytes(&self.slots[at..at + self.shape.key_bytes]).into()
    }

    fn value_range(&self, slot: usize) -> std::ops::Range<usize> {
        let at = slot * self.shape.stride + self.shape.value_at;
        at..at + self.shape.value_bytes
    }

    /// A key's bucket.
    fn home(&self, key: &[u64]) -> usize {
        let hash = layout::hash([self.head[head::SEED0], self.head[head::SEED1]], key);
        let (mask, buckets) = (self.head[head::MASK], self.head[head::BUCKETS]);
        let bucket = hash & mask;
        let bucket = if bucket < buckets { bucket } else { bucket & mask >> 1 };
        bucket as usize
    }

    fn home_of(&self, slot: usize) -> usize {
        let at = slot * self.shape.stride + self.shape.state_bytes;
        let (bytes, mut key) = (self.shape.key_bytes, [0; 32]);
        for (i, limb) in key[..bytes.div_ceil(8)].iter_mut().enumerate() {
            let spare = 64 - (bytes - 8 * i).min(8) * 8;
            *limb = word(&self.slots, at + 8 * i) << spare >> spare;
        }
        self.home(&key[..bytes.div_ceil(8)])
    }

    fn search(&self, key: &[u64], now: u64) -> Search {
        let slots: &[u8] = &self.slots;
        let (mut room, home) = (None, self.home(key));
        for slot in home..home + PROBES {
            match self.state_in(slots, slot) {
                FREE => {
                    room = room.or(Some(slot));
                    break;
                }
                DEAD => room = room.or(Some(slot)),
                end if self.key_is(slots, slot, key) => return if end > now { Search::Live(slot) } else { Search::Ended(slot) },
                end if end <= now => room = room.or(Some(slot)),
                _ => {}
            }
        }
        if self.stash.slots.is_empty() {
            return Search::Absent(room);
        }
        match self.stash.slots.get(key) {
            Some(slot) if self.state(*slot) > now => Search::Live(*slot),
            Some(slot) => Search::Ended(*slot),
            None => Search::Absent(room),
        }
    }

    /// Takes out some of what has ended, and all of it before it says that there is no room for one
    /// more.
    fn make_room(&mut self, now: u64) -> bool {
        let aim = self.filled().saturating_sub(RECLAIMED);
        for _ in 0..LOOKS {
            if self.filled() <= aim || !self.reclaim(now) {
                break;
            }
        }
        while self.filled() >= self.limit {
            if !self.reclaim(now) {
                return false;
            }
        }
        true
    }

    /// Takes what has ended out of one block; false if there is none where anything may have.
    fn reclaim(&mut self, now: u64) -> bool {
        let Some(block) = self.deadlines.as_ref().and_then(|d| d.due(now)) else { return false };
        for slot in block * FAN..(block + 1) * FAN {
            // What moves into the gap may have ended as well.
            while (DEAD + 1..=now).contains(&self.state_or_free(slot)) {
                self.take_out(slot);
            }
        }
        let least = self.least(block);
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.raise(block, least);
        }
        true
    }

    /// When the first entry of a block ends.
    fn least(&self, block: usize) -> u64 {
        let ends = (block * FAN..(block + 1) * FAN).map(|slot| self.state_or_free(slot)).filter(|end| *end > DEAD);
        ends.min().unwrap_or(NEVER)
    }

    fn state_or_free(&self, slot: usize) -> u64 {
        if slot < self.stash.begin + self.capacity { self.state(slot) } else { FREE }
    }

    /// Puts an entry with a value of zeros where there is room, or into the stash.
    fn put(&mut self, key: &[u64], room: Option<usize>, now: u64) -> usize {
        let slot = room.unwrap_or_else(|| self.stash_slot(key.into()));
        if self.state(slot) <= DEAD {
            self.head[head::FILLED] += 1;
        }
        let at = slot * self.shape.stride + self.shape.state_bytes;
        let bytes = key.iter().flat_map(|limb| limb.to_le_bytes());
        self.slots[at..at + self.shape.key_bytes].iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        self.renew(slot, now);
        slot
    }

    /// The entry in that slot is new.
    fn renew(&mut self, slot: usize, now: u64) {
        let (range, end) = (self.value_range(slot), self.end(now));
        self.slots[range].fill(0);
        self.set_state(slot, end);
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.put(slot, end);
        }
    }

    /// The entry in that slot is used.
    fn refresh(&mut self, slot: usize, now: u64) {
        if self.ends() {
            self.set_state(slot, self.end(now).max(self.state(slot)));
        }
    }

    fn stash_slot(&mut self, key: Box<[u64]>) -> usize {
        let slot = self.stash.free.pop().unwrap_or_else(|| {
            self.stash.used += 1;
            self.stash.begin + self.stash.used - 1
        });
        self.stash.slots.insert(key, slot);
        self.head[head::STASHED] = self.stash.slots.len() as u64;
        slot
    }

    /// Takes an entry out.
    fn take_out(&mut self, slot: usize) {
        self.head[head::FILLED] -= 1;
        if slot < self.stash.begin {
            return self.close(slot);
        }
        let key = self.key(slot);
        self.stash.slots.remove(&key);
        self.stash.free.push(slot);
        self.head[head::STASHED] = self.stash.slots.len() as u64;
        self.set_state(slot, FREE);
    }

    /// Makes a slot free and mends the run it is in.
    fn close(&mut self, slot: usize) {
        let mut gap = slot;
        for _ in 0..MOVES {
            let Some(from) = self.fits(gap) else { return self.set_state(gap, FREE) };
            self.copy(from, gap);
            gap = from;
        }
        self.set_state(gap, DEAD);
    }

    /// A later entry of the run that may move into a gap.
    fn fits(&self, gap: usize) -> Option<usize> {
        let run = (gap + 1..(gap + PROBES).min(self.stash.begin)).take_while(|slot| self.state(*slot) != FREE);
        run.into_iter().find(|slot| self.state(*slot) != DEAD && self.home_of(*slot) <= gap)
    }

    fn copy(&mut self, from: usize, to: usize) {
        let stride = self.shape.stride;
        self.slots.copy_within(from * stride..(from + 1) * stride, to * stride);
        self.set_end(to, self.state(to));
    }

    /// The number of a key's entry, which is put in if there is none; 0 if there is no room.
    fn enter(&mut self, key: &[u64], now_ns: u64) -> u32 {
        let now = self.tick(now_ns);
        let mut found = self.search(key, now);
        if let Search::Live(slot) = found {
            self.refresh(slot, now);
            return slot as u32 + 1;
        }
        let before = [head::BUCKETS, head::FILLED].map(|word| self.head[word]);
        if !self.make_room(now) {
            return 0;
        }
        self.grow(growth::SPLITS);
        // Where nothing was taken out and nothing has moved, what was found is so still.
        if before != [head::BUCKETS, head::FILLED].map(|word| self.head[word]) {
            found = self.search(key, now);
        }
        let slot = match found {
            Search::Live(slot) => slot,
            Search::Ended(slot) => {
                self.renew(slot, now);
                slot
            }
            Search::Absent(room) => self.put(key, room, now),
        };
        slot as u32 + 1
    }

    fn occupied(&self) -> impl Iterator<Item = usize> {
        let buckets = self.head[head::BUCKETS] as usize;
        let main = 0..buckets + PROBES;
        main.chain(self.stash.begin..self.stash.begin + self.stash.used).filter(|slot| self.state(*slot) > DEAD)
    }

    fn set_value(&mut self, entry: u32, value: &[u8]) -> Option<()> {
        self.value_mut(entry)?.iter_mut().zip(value).for_each(|(to, byte)| *to = *byte);
        Some(())
    }

    /// An entry has no end.
    fn keep(&mut self, entry: u32) {
        if let Some(slot) = self.slot_of(entry) {
            self.set_state(slot, NEVER);
        }
    }

    fn slot_of(&self, entry: u32) -> Option<usize> {
        let slot = (entry as usize).checked_sub(1)?;
        (slot < self.stash.begin + self.capacity && self.state(slot) > DEAD).then_some(slot)
    }
}

/// So many of the least keys, in any order.
fn least_of(keys: &mut Vec<Box<[u64]>>, most: usize) {
    if keys.len() > most {
        keys.select_nth_unstable_by(most, |a, b| netil::wide::compare(a, b));
        keys.truncate(most);
    }
}

impl Table for Exact {
    fn lookup(&self, key: &[u64], now_ns: u64) -> Option<Cow<'_, [u8]>> {
        let Search::Live(slot) = self.search(key, self.clock(now_ns)) else { return None };
        Some(Cow::Borrowed(&self.slots[self.value_range(slot)]))
    }

    fn find(&mut self, key: &[u64], now_ns: u64, refresh: bool) -> u32 {
        let now = self.tick(now_ns);
        let Search::Live(slot) = self.search(key, now) else { return 0 };
        if refresh {
            self.refresh(slot, now);
        }
        slot as u32 + 1
    }

    fn insert(&mut self, key: &[u64], now_ns: u64) -> u32 {
        let entry = self.enter(key, now_ns);
        self.promise();
        entry
    }

    fn delete(&mut self, key: &[u64], now_ns: u64) -> bool {
        let now = self.tick(now_ns);
        let Search::Live(slot) = self.search(key, now) else { return false };
        self.take_out(slot);
        true
    }

    fn value(&self, entry: u32) -> Option<&[u8]> {
        self.slot_of(entry).map(|slot| &self.slots[self.value_range(slot)])
    }

    fn value_mut(&mut self, entry: u32) -> Option<&mut [u8]> {
        let range = self.value_range(self.slot_of(entry)?);
        Some(&mut self.slots[range])
    }

    fn add(&mut self, entry: &Entry, now_ns: u64) -> Result<(), Full> {
        let at = self.insert(&entry.key, now_ns);
        self.set_value(at, &entry.value).ok_or(Full)
    }

    fn remove(&mut self, key: &[u64], _mask: &[u64], _priority: u32, now_ns: u64) -> bool {
        self.delete(key, now_ns)
    }

    fn known(&mut self, key: &[u64], _mask: &[u64], _priority: u32, now_ns: u64) -> u32 {
        self.find(key, now_ns, false)
    }

    fn entries(&self, now_ns: u64) -> Vec<Entry> {
        let now = self.clock(now_ns);
        let live = self.occupied().filter(|slot| self.state(*slot) > now);
        let entry =
            |slot| Entry { key: self.key(slot), mask: Box::default(), priority: 0, value: self.slots[self.value_range(slot)].into() };
        let mut all: Vec<Entry> = live.map(entry).collect();
        all.sort_by(tables::order);
        all
    }

    fn due(&mut self, now_ns: u64, most: usize) -> (Vec<Box<[u64]>>, u64) {
        let now = self.tick(now_ns);
        while self.reclaim(now) {}
        let (mut keys, mut all) = (Vec::new(), 0);
        for block in self.deadlines.as_ref().map_or_else(Vec::new, |deadlines| deadlines.all_due(now + 1)) {
            let due = (block * FAN..(block + 1) * FAN).filter(|slot| self.state_or_free(*slot) == now + 1);
            let before = keys.len();
            keys.extend(due.map(|slot| self.key(slot)));
            all += (keys.len() - before) as u64;
            if keys.len() > 2 * most {
                least_of(&mut keys, most);
            }
            // Nobody looks in vain again at a block whose entries have all been used.
            let least = self.least(block);
            self.deadlines.iter_mut().for_each(|deadlines| deadlines.raise(block, least));
        }
        least_of(&mut keys, most);
        keys.sort_unstable_by(|a, b| netil::wide::compare(a, b));
        (keys, all)
    }

    fn deadline(&mut self, now_ns: u64) -> u64 {
        let now = self.tick(now_ns);
        while self.reclaim(now) {}
        // What is known of a block may be too early, as refreshes do not tell it.
        while let Some((block, known)) = self.deadlines.as_ref().and_then(Deadlines::first) {
            let end = self.least(block);
            if end == known {
                return end - EPOCH;
            }
            self.deadlines.iter_mut().for_each(|deadlines| deadlines.raise(block, end));
        }
        u64::MAX
    }

    fn set_limit(&mut self, entries: usize) {
        self.limit = entries.min(self.declared);
        self.promise();
    }

    fn limit(&self) -> Option<usize> {
        Some(self.limit)
    }

    fn set_capacity(&mut self, entries: usize, now_ns: u64) -> bool {
        self.change_capacity(entries, now_ns)
    }

    fn set_timeout(&mut self, timeout_ns: u64, now_ns: u64) -> bool {
        let now = self.tick(now_ns);
        let before = self.head[head::TIMEOUT];
        if before == 0 || timeout_ns == 0 {
            return false;
        }
        while self.reclaim(now) {}
        self.head[head::TIMEOUT] = timeout_ns;
        self.deadlines.iter_mut().for_each(Deadlines::begin_anew);
        let lasts = |table: &Self, slot: &usize| table.state(*slot) == NEVER;
        let ending: Vec<usize> = self.occupied().filter(|slot| !lasts(self, slot)).collect();
        for slot in ending {
            let used = self.state(slot).saturating_sub(before);
            self.set_end(slot, used.saturating_add(timeout_ns));
        }
        self.promise();
        true
    }

    fn timeout(&self) -> Option<u64> {
        Some(self.head[head::TIMEOUT])
    }

    fn tidy(&mut self) {
        self.catch_up();
        self.promise();
    }

    fn len(&self, now_ns: u64) -> u64 {
        let now = self.clock(now_ns);
        if self.ends() { self.occupied().filter(|slot| self.state(*slot) > now).count() as u64 } else { self.filled() as u64 }
    }

    fn parts(&mut self) -> Option<Parts<'_>> {
        let (index, groups) = self.deadlines.as_mut().map_or((&mut [][..], &mut [][..]), Deadlines::parts);
        Some(Parts { head: &mut self.head, slots: &mut self.slots, index, groups })
    }
}
