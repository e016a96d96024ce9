//! Tables: what they mean, and a plain implementation that says so.
//!
//! A table holds entries of a key and a value. What matches is the kind's business ([`TableKind`]);
//! at most one entry is found. A program holds on to an entry by a handle, which ends at the next
//! insertion into or deletion from that table; the verifier sees to it.
//!
//! Time is the packet's, and a table's clock does not go back with it: it shows the latest time
//! that an operation which may change the table was given. An entry was last used when it was
//! entered, or found by a lookup that refreshes; it is live while less than the table's timeout has
//! passed since, an entry that was there from the start for ever. What is not live is not there:
//! not found, not counted, and new, with a value of zeros, when it is inserted again. So
//! implementations may forget it when they like, and nobody can tell. Times end with [`LATEST`].
//!
//! [`Reference`] is the meaning, and slow; the runtime has implementations for use, tested against
//! it.

use crate::layout::{EPOCH, LATEST, Parts};
use crate::module::{Entry, Table as Declaration, TableKind};
use crate::wide;
use std::any::Any;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A table in use. Keys have the declared width, in limbs of [`wide`]. A handle is a number other
/// than 0.
pub trait Table: Send {
    /// The value of the entry that matches at that moment. Nothing changes by it: no use, no clock.
    fn lookup(&self, key: &[u64], now_ns: u64) -> Option<Cow<'_, [u8]>>;

    /// The entry that matches, or 0. `refresh` makes it used now.
    fn find(&mut self, key: &[u64], now_ns: u64, refresh: bool) -> u32;

    /// The entry of that key, used now; new and zero if there was none; 0 if the table is full, or
    /// not exact, which is what is not told otherwise.
    fn insert(&mut self, key: &[u64], now_ns: u64) -> u32 {
        let _ = (key, now_ns);
        0
    }

    /// Takes the entry of that key out, if the table is exact and has it.
    fn delete(&mut self, key: &[u64], now_ns: u64) -> bool {
        let _ = (key, now_ns);
        false
    }

    /// The value of an entry; `None` where there is no entry of that handle.
    fn value(&self, entry: u32) -> Option<&[u8]>;

    /// The value of an entry, for writing; `None` where there is no entry of that handle.
    fn value_mut(&mut self, entry: u32) -> Option<&mut [u8]>;

    /// Enters from outside, used now; an entry of the same key, mask and priority gets the value.
    ///
    /// # Errors
    /// There is no room.
    fn add(&mut self, entry: &Entry, now_ns: u64) -> Result<(), Full>;

    /// Takes out from outside; true if it was there.
    fn remove(&mut self, key: &[u64], mask: &[u64], priority: u32, now_ns: u64) -> bool;

    /// The entry of just that key, mask and priority, or 0; it does not count as used.
    fn known(&mut self, key: &[u64], mask: &[u64], priority: u32, now_ns: u64) -> u32;

    /// The live entries, ordered by key, mask and priority.
    fn entries(&self, now_ns: u64) -> Vec<Entry>;

    /// The keys of the live entries in their order; of an exact table.
    fn keys(&self, now_ns: u64) -> Vec<Box<[u64]>> {
        self.entries(now_ns).into_iter().map(|entry| entry.key).collect()
    }

    /// Of those live entries that are not a nanosecond later, unless they are used, the least keys
    /// in their order, so many at most; and how many such entries there are. References end. None
    /// where nothing but lookups judges when an entry ends, which is of tables that are not exact.
    fn due(&mut self, now_ns: u64, most: usize) -> (Vec<Box<[u64]>>, u64) {
        let _ = (now_ns, most);
        (Vec::new(), 0)
    }

    /// When the first of the live entries ends; [`u64::MAX`] if none does, or as above. References
    /// end.
    fn deadline(&mut self, now_ns: u64) -> u64 {
        let _ = now_ns;
        u64::MAX
    }

    /// How many live entries there are.
    fn len(&self, now_ns: u64) -> u64 {
        self.entries(now_ns).len() as u64
    }

    /// From now on no more entries than that are entered; those that are there stay. It never takes
    /// more than it was declared for.
    fn set_limit(&mut self, entries: usize) {
        let _ = entries;
    }

    /// How many entries it takes; `None` where nothing but its declaration says that.
    fn limit(&self) -> Option<usize> {
        None
    }

    /// From now on it is as if declared for so many entries; those that are there stay as they are.
    /// References end. False where it has more, or cannot have another capacity: then nothing
    /// changes.
    fn set_capacity(&mut self, entries: usize, now_ns: u64) -> bool {
        let _ = (entries, now_ns);
        false
    }

    /// From now on an entry that nothing uses is there for so long, which is not 0; those that are
    /// there as well, those that have ended not. False where the table was declared without a
    /// timeout, or cannot have another one.
    fn set_timeout(&mut self, timeout_ns: u64, now_ns: u64) -> bool {
        let _ = (timeout_ns, now_ns);
        false
    }

    /// How long that is; `None` where nothing but its declaration says that.
    fn timeout(&self) -> Option<u64> {
        None
    }

    /// Does some of the work that can wait, at a moment when nobody has an entry at hand.
    fn tidy(&mut self) {}

    /// Its memory, for code that looks keys up by itself, as [`crate::layout`] says; `None` where
    /// it has to ask.
    fn parts(&mut self) -> Option<Parts<'_>> {
        None
    }

    /// The table itself, for who made it and knows of which type it is.
    fn any(&mut self) -> Option<&mut dyn Any> {
        None
    }

    /// True if there are none.
    fn is_empty(&self, now_ns: u64) -> bool {
        self.len(now_ns) == 0
    }
}

/// The table has as many entries as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the table is full")
    }
}

impl std::error::Error for Full {}

/// The time of last use of an entry that was there from the start.
pub const FOR_EVER: u64 = u64::MAX;

/// A table as plain as can be: every lookup of what is not exact looks at every entry. Entering and
/// taking out cost the logarithm of the entries, whatever the keys are.
pub struct Reference {
    kind: TableKind,
    value_bytes: usize,
    capacity: usize,
    limit: usize,
    timeout_ns: u64,
    slots: Vec<Option<Slot>>,
    /// Slots by what entries are told apart by.
    known: BTreeMap<Identity, usize>,
    /// Slots without an entry.
    free: BTreeSet<usize>,
    /// Slots by the last use of their entries, where those end.
    uses: BTreeSet<(u64, usize)>,
    entered: u64,
    clock_ns: u64,
}

/// Key, mask and priority; of exact tables the key alone.
type Identity = (Box<[u64]>, Box<[u64]>, u32);

struct Slot {
    entry: Entry,
    used_ns: u64,
    /// Entries entered before it.
    order: u64,
}

impl Reference {
    /// A table as declared, with the entries that it has from the start.
    pub fn new(declaration: &Declaration) -> Self {
        let mut table = Self {
            kind: declaration.kind,
            value_bytes: declaration.value_bytes as usize,
            capacity: declaration.capacity as usize,
            limit: declaration.capacity as usize,
            timeout_ns: declaration.timeout_ns,
            slots: Vec::new(),
            known: BTreeMap::new(),
            free: BTreeSet::new(),
            uses: BTreeSet::new(),
            entered: 0,
            clock_ns: 0,
        };
        for entry in &declaration.entries {
            table.enter(entry.clone(), FOR_EVER);
        }
        table
    }

    fn live(&self, slot: &Slot, now_ns: u64) -> bool {
        is_live(self.timeout_ns, slot.used_ns, now_ns)
    }

    /// Moves the clock on, if that is later.
    fn tick(&mut self, now_ns: u64) -> u64 {
        self.clock_ns = self.clock_ns.max(now_ns.min(LATEST));
        self.clock_ns
    }

    /// Index of the slot that matches.
    fn matching(&self, key: &[u64], now_ns: u64) -> Option<usize> {
        if self.kind == TableKind::Exact {
            return self.same(key, &[], 0).filter(|i| self.slots[*i].as_ref().is_some_and(|s| self.live(s, now_ns)));
        }
        let all = self.slots.iter().enumerate().filter_map(|(i, s)| s.as_ref().map(|s| (i, s)));
        let matches = all.filter(|(_, s)| self.live(s, now_ns) && matches(self.kind, &s.entry, key));
        matches.max_by_key(|(_, s)| (rank(self.kind, &s.entry), Reverse(s.order))).map(|(i, _)| i)
    }

    fn identity(&self, key: &[u64], mask: &[u64], priority: u32) -> Identity {
        if self.kind.has_mask() { (key.into(), mask.into(), priority) } else { (key.into(), Box::default(), 0) }
    }

    /// Index of the slot with just that key, mask and priority, live or not.
    fn same(&self, key: &[u64], mask: &[u64], priority: u32) -> Option<usize> {
        self.known.get(&self.identity(key, mask, priority)).copied()
    }

    /// The entry in a slot was used then, if not later.
    fn use_at(&mut self, at: usize, now_ns: u64) {
        let Some(slot) = &mut self.slots[at] else { return };
        self.uses.remove(&(slot.used_ns, at));
        slot.used_ns = slot.used_ns.max(now_ns);
        self.uses.insert((slot.used_ns, at));
    }

    fn forget(&mut self, at: usize) {
        if let Some(slot) = self.slots[at].take() {
            let identity = self.identity(&slot.entry.key, &slot.entry.mask, slot.entry.priority);
            self.known.remove(&identity);
            self.uses.remove(&(slot.used_ns, at));
            self.free.insert(at);
        }
    }

    fn forget_ended(&mut self, now_ns: u64) {
        while let Some((used_ns, at)) = self.uses.first().copied().filter(|(used_ns, _)| !is_live(self.timeout_ns, *used_ns, now_ns)) {
            debug_assert!(self.slots[at].as_ref().is_some_and(|slot| slot.used_ns == used_ns));
            self.forget(at);
        }
    }

    /// When an entry used then ends, if it does: the runtime's tables count from [`EPOCH`] on, and
    /// have no later end than all ones.
    fn end(&self, used_ns: u64) -> Option<u64> {
        let end = used_ns.checked_add(self.timeout_ns).filter(|end| *end < u64::MAX - EPOCH);
        end.filter(|_| self.timeout_ns > 0)
    }

    /// A free slot, once what has expired is forgotten.
    fn room(&mut self, now_ns: u64) -> Option<usize> {
        self.forget_ended(now_ns);
        if self.slots.len() - self.free.len() >= self.limit {
            return None;
        }
        self.free.pop_first().or_else(|| {
            (self.slots.len() < self.capacity).then(|| {
                self.slots.push(None);
                self.slots.len() - 1
            })
        })
    }

    fn enter(&mut self, entry: Entry, now_ns: u64) -> Option<usize> {
        if let Some(old) = self.same(&entry.key, &entry.mask, entry.priority) {
            let slot = self.slots[old].as_mut()?;
            if is_live(self.timeout_ns, slot.used_ns, now_ns) {
                slot.entry.value = entry.value;
                self.use_at(old, now_ns);
                return Some(old);
            }
            self.forget(old);
        }
        let at = self.room(now_ns)?;
        self.known.insert(self.identity(&entry.key, &entry.mask, entry.priority), at);
        self.uses.insert((now_ns, at));
        self.slots[at] = Some(Slot { entry, used_ns: now_ns, order: self.entered });
        self.entered += 1;
        Some(at)
    }
}

/// Whether an entry is there at a time.
pub fn is_live(timeout_ns: u64, used_ns: u64, now_ns: u64) -> bool {
    timeout_ns == 0 || now_ns.saturating_sub(used_ns) < timeout_ns
}

/// Whether a key is one of an entry's.
pub fn matches(kind: TableKind, entry: &Entry, key: &[u64]) -> bool {
    match kind {
        TableKind::Exact => *entry.key == *key,
        TableKind::Prefix | TableKind::Ternary => key.iter().zip(&entry.key).zip(&entry.mask).all(|((k, e), m)| k & m == e & m),
        TableKind::Range => wide::compare(&entry.key, key).is_le() && wide::compare(key, &entry.mask).is_le(),
    }
}

/// What decides between entries that match.
fn rank(kind: TableKind, entry: &Entry) -> u32 {
    match kind {
        TableKind::Prefix => entry.mask.iter().map(|limb| limb.count_ones()).sum(),
        TableKind::Exact | TableKind::Ternary | TableKind::Range => entry.priority,
    }
}

fn handle(at: Option<usize>) -> u32 {
    at.map_or(0, |i| i as u32 + 1)
}

impl Table for Reference {
    fn set_limit(&mut self, entries: usize) {
        self.limit = entries.min(self.capacity);
    }

    fn limit(&self) -> Option<usize> {
        Some(self.limit)
    }

    fn set_capacity(&mut self, entries: usize, now_ns: u64) -> bool {
        let now_ns = self.tick(now_ns);
        self.forget_ended(now_ns);
        let fits = self.slots.len() - self.free.len() <= entries;
        if fits {
            (self.capacity, self.limit) = (entries, entries);
        }
        fits
    }

    fn set_timeout(&mut self, timeout_ns: u64, now_ns: u64) -> bool {
        let now_ns = self.tick(now_ns);
        self.forget_ended(now_ns);
        let has_one = self.timeout_ns > 0 && timeout_ns > 0;
        if has_one {
            self.timeout_ns = timeout_ns;
        }
        has_one
    }

    fn timeout(&self) -> Option<u64> {
        Some(self.timeout_ns)
    }

    fn lookup(&self, key: &[u64], now_ns: u64) -> Option<Cow<'_, [u8]>> {
        let at = self.matching(key, now_ns.min(LATEST).max(self.clock_ns))?;
        self.value(handle(Some(at))).map(Cow::Borrowed)
    }

    fn find(&mut self, key: &[u64], now_ns: u64, refresh: bool) -> u32 {
        let now_ns = self.tick(now_ns);
        let found = self.matching(key, now_ns);
        if let Some(at) = found.filter(|_| refresh) {
            self.use_at(at, now_ns);
        }
        handle(found)
    }

    fn insert(&mut self, key: &[u64], now_ns: u64) -> u32 {
        if !self.kind.is_of_programs() {
            return 0;
        }
        let found = self.find(key, now_ns, true);
        if found != 0 {
            return found;
        }
        let value = vec![0; self.value_bytes].into();
        handle(self.enter(Entry { key: key.into(), mask: Box::default(), priority: 0, value }, self.clock_ns))
    }

    fn delete(&mut self, key: &[u64], now_ns: u64) -> bool {
        self.kind.is_of_programs() && self.remove(key, &[], 0, now_ns)
    }

    fn value(&self, entry: u32) -> Option<&[u8]> {
        self.slots.get((entry as usize).checked_sub(1)?)?.as_ref().map(|s| &*s.entry.value)
    }

    fn value_mut(&mut self, entry: u32) -> Option<&mut [u8]> {
        self.slots.get_mut((entry as usize).checked_sub(1)?)?.as_mut().map(|s| &mut *s.entry.value)
    }

    fn add(&mut self, entry: &Entry, now_ns: u64) -> Result<(), Full> {
        let now_ns = self.tick(now_ns);
        self.enter(entry.clone(), now_ns).map(|_| ()).ok_or(Full)
    }

    fn remove(&mut self, key: &[u64], mask: &[u64], priority: u32, now_ns: u64) -> bool {
        let now_ns = self.tick(now_ns);
        let Some(at) = self.same(key, mask, priority) else { return false };
        let there = self.slots[at].as_ref().is_some_and(|s| self.live(s, now_ns));
        self.forget(at);
        there
    }

    fn known(&mut self, key: &[u64], mask: &[u64], priority: u32, now_ns: u64) -> u32 {
        let now_ns = self.tick(now_ns);
        let same = self.same(key, mask, priority);
        handle(same.filter(|at| self.slots[*at].as_ref().is_some_and(|slot| self.live(slot, now_ns))))
    }

    fn due(&mut self, now_ns: u64, most: usize) -> (Vec<Box<[u64]>>, u64) {
        let now_ns = self.tick(now_ns);
        self.forget_ended(now_ns);
        let due = self.uses.iter().take_while(|(used_ns, _)| self.end(*used_ns).is_some_and(|end| end <= now_ns + 1));
        let mut keys: Vec<Box<[u64]>> = due.filter_map(|(_, at)| Some(self.slots[*at].as_ref()?.entry.key.clone())).collect();
        keys.sort_by(|a, b| wide::compare(a, b));
        let all = keys.len() as u64;
        keys.truncate(most);
        (keys, all)
    }

    fn deadline(&mut self, now_ns: u64) -> u64 {
        let now_ns = self.tick(now_ns);
        self.forget_ended(now_ns);
        self.uses.first().and_then(|(used_ns, _)| self.end(*used_ns)).unwrap_or(u64::MAX)
    }

    fn entries(&self, now_ns: u64) -> Vec<Entry> {
        let now_ns = now_ns.min(LATEST).max(self.clock_ns);
        let live = self.slots.iter().flatten().filter(|s| self.live(s, now_ns));
        let mut all: Vec<Entry> = live.map(|s| s.entry.clone()).collect();
        all.sort_by(order);
        all
    }
}

/// The order in which entries are told: by key, mask, priority.
pub fn order(a: &Entry, b: &Entry) -> std::cmp::Ordering {
    let masks = || wide::compare(&a.mask, &b.mask);
    wide::compare(&a.key, &b.key).then_with(masks).then_with(|| a.priority.cmp(&b.priority))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(kind: TableKind, capacity: u32, timeout_ns: u64) -> Declaration {
        Declaration { name: "t".to_owned(), kind, key_bits: 16, value_bytes: 1, capacity, timeout_ns, entries: Vec::new() }
    }

    fn table(kind: TableKind, capacity: u32, timeout_ns: u64) -> Reference {
        Reference::new(&declared(kind, capacity, timeout_ns))
    }

    fn entry(key: u64, mask: u64, priority: u32, value: u8) -> Entry {
        Entry { key: Box::new([key]), mask: Box::new([mask]), priority, value: Box::new([value]) }
    }

    fn found(table: &mut Reference, key: u64) -> Option<u8> {
        let entry = table.find(&[key], 0, false);
        table.value(entry).map(|v| v[0])
    }

    #[test]
    fn an_entry_lives_until_its_timeout_after_its_last_use() {
        let mut t = table(TableKind::Exact, 2, 10);
        let e = t.insert(&[7], 100);
        t.value_mut(e).unwrap()[0] = 5;
        assert_eq!((t.find(&[7], 109, true), t.find(&[7], 118, false), t.len(119)), (e, e, 0));
        assert_eq!((t.find(&[7], 119, false), t.find(&[7], 109, false)), (0, 0), "the clock does not go back");
        let again = t.insert(&[7], 119);
        assert_eq!(t.value(again), Some(&[0][..]), "what expired is new");
        assert!(t.delete(&[7], 120) && !t.delete(&[7], 120));
    }

    #[test]
    fn what_was_there_from_the_start_stays() {
        let mut declaration = declared(TableKind::Exact, 2, 10);
        declaration.entries = vec![Entry { mask: Box::default(), ..entry(7, 0, 0, 3) }];
        let mut t = Reference::new(&declaration);
        assert!(t.find(&[7], 1000, true) != 0 && t.len(2000) == 1);
    }

    #[test]
    fn only_live_entries_fill_a_table() {
        let mut t = table(TableKind::Exact, 2, 10);
        assert!(t.insert(&[1], 0) != 0 && t.insert(&[2], 5) != 0);
        assert_eq!(t.insert(&[3], 9), 0);
        assert_ne!(t.insert(&[3], 10), 0);
        assert_eq!((t.insert(&[4], 10), t.len(10)), (0, 2));
    }

    #[test]
    fn the_longest_prefix_wins() {
        let mut t = table(TableKind::Prefix, 9, 0);
        for (key, mask, value) in [(0, 0, 1), (0x1200, 0xff00, 2), (0x1230, 0xfff0, 3)] {
            t.add(&entry(key, mask, 0, value), 0).unwrap();
        }
        assert_eq!([0x1234, 0x1244, 0x2234].map(|k| found(&mut t, k)), [Some(3), Some(2), Some(1)]);
        assert!(t.remove(&[0x1230], &[0xfff0], 0, 0));
        assert_eq!((found(&mut t, 0x1234), t.insert(&[1], 0), t.delete(&[0], 0)), (Some(2), 0, false));
    }

    #[test]
    fn the_highest_priority_wins_and_among_equals_the_first() {
        let mut t = table(TableKind::Ternary, 9, 0);
        for (key, mask, priority, value) in [(0x0012, 0x00ff, 1, 1), (0x3400, 0xff00, 1, 2), (0x3412, 0xffff, 0, 3)] {
            t.add(&entry(key, mask, priority, value), 0).unwrap();
        }
        assert_eq!([0x3412, 0x3413, 0x4413].map(|k| found(&mut t, k)), [Some(1), Some(2), None]);
        let mut t = table(TableKind::Range, 1, 0);
        t.add(&entry(5, 9, 0, 1), 0).unwrap();
        assert_eq!(t.add(&entry(5, 9, 1, 2), 0), Err(Full));
        t.add(&entry(5, 9, 0, 4), 0).unwrap();
        assert_eq!([4, 5, 9, 10].map(|k| found(&mut t, k)), [None, Some(4), Some(4), None]);
    }
}
