//! Transactions in software: runs of an element that work on what they have read, and change the
//! state in common at their end.
//!
//! ```text
//!  begin: memory is copied ─▶ run: tables are seen through views, which log ─▶ commit, under the lock: is what was read still so? ─▶ changes are written
//!    ▲                                                                            │ no: a conflict
//!    └──────── the packet is what it was; wait for another's commit ◀─────────────┘   after [`MOST_RUNS`]: the run holds the lock
//! ```
//!
//! What was read is compared by value (L. Dalessandro, M. F. Spear, M. L. Scott, NOrec, PPoPP
//! 2010): of a table the entries that were asked for, of data memory all that is neither scratch
//! nor a sum, since it is small ([`MOST_MEMORY`]). A sum grows by what the run has added. Packets
//! that a run holds are held from its commit on; one that asks for a packet while others are held
//! is run with the lock.
//! Invariants:
//! - Nobody sees what a run does before it commits: packets leave behind the commit.
//! - A run that sees states of different times may do anything that programs can do, traps
//!   included; nothing of it stays.
//! - Every packet is run at last: with the lock, if not before.
//!
//! Source: NetTM paper (seed 003), sections 3 and 4: sections as large as handlers, restart after
//! the next commit, a lock behind transactions. Leaves out: transactions of pull handlers and of
//! timers, which hold the lock.

mod counts;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
#[cfg(test)]
mod tests;

pub(super) use counts::Counts;
pub use counts::{Conflict, Transactions};

use super::Packet;
use super::ended::Ended;
use super::program::Program;
use super::share::{Memory, Slot, Sum};
use counts::{Asked, ConflictSite};
use netil::exec::State;
use netil::module::Entry;
use netil::tables::{Full, Table};
use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

/// Runs of a packet as a transaction before it is run with the lock.
pub(super) const MOST_RUNS: u32 = 8;
/// The most bytes of data memory that are copied for each run.
pub const MOST_MEMORY: usize = 4096;

/// A run that has begun: what data memory and timers were.
#[derive(Default)]
pub(super) struct Begun {
    data: Vec<u8>,
    timers: Vec<u64>,
}

/// A table of a state in common, as a run sees it.
struct View {
    slot: Arc<Slot>,
    table: usize,
    value_bytes: usize,
    /// Entries of exact tables are what their keys say; elsewhere several keys may find one entry.
    exact: bool,
    keys: Vec<Key>,
    copies: Vec<Copy>,
    steps: Vec<Step>,
}

/// A key that was asked for, how it was first, and the copy that it leads to.
struct Key {
    limbs: Box<[u64]>,
    asked: Asked,
    copy: usize,
}

/// An entry as it was read, and as it is now.
struct Copy {
    /// Of tables that are not exact, the entry.
    handle: u32,
    was: Option<Box<[u8]>>,
    now: Option<Box<[u8]>>,
    written: bool,
}

/// What is done again at the commit: by key, at a time.
enum Step {
    Use(usize, u64),
    Insert(usize, u64),
    Delete(usize, u64),
}

impl View {
    fn clear(&mut self) {
        self.keys.clear();
        self.copies.clear();
        self.steps.clear();
    }

    /// The number of a key, which is read at its first use.
    fn key(&mut self, key: &[u64], now: u64, asked: Asked) -> usize {
        if let Some(at) = self.keys.iter().position(|known| *known.limbs == *key) {
            return at;
        }
        let mut state = self.slot.lock();
        let (handle, was) = match state.tables.get_mut(self.table) {
            Some(table) => read(table.as_mut(), key, now),
            None => (0, None),
        };
        drop(state);
        let same = if self.exact || handle == 0 { None } else { self.copies.iter().position(|copy| copy.handle == handle) };
        let copy = same.unwrap_or(self.copies.len());
        if same.is_none() {
            self.copies.push(Copy { handle, now: was.clone(), was, written: false });
        }
        self.keys.push(Key { limbs: key.into(), asked, copy });
        self.keys.len() - 1
    }

    fn copy(&mut self, key: usize) -> (&mut Copy, u32) {
        let copy = self.keys[key].copy;
        (&mut self.copies[copy], copy as u32 + 1)
    }

    /// The first key whose entry is not what it was, if there is one.
    fn conflict(&self, table: &mut dyn Table, now: u64) -> Option<ConflictSite> {
        let differs = |key: &&Key| {
            let (handle, value) = read(table, &key.limbs, now);
            let copy = &self.copies[key.copy];
            value != copy.was || (!self.exact && handle != copy.handle)
        };
        self.keys.iter().find(differs).map(|key| ConflictSite::Entry(self.table, key.limbs.clone(), key.asked))
    }

    /// The keys of entries that the run has made, and when.
    fn made(&self) -> impl Iterator<Item = (&[u64], u64)> {
        self.steps.iter().filter_map(|step| {
            let Step::Insert(at, now) = step else { return None };
            let key = &self.keys[*at];
            self.copies[key.copy].was.is_none().then_some((&*key.limbs, *now))
        })
    }

    /// Does again what the run did; there is room.
    fn apply(&self, table: &mut dyn Table) {
        let key = |at: usize| &*self.keys[at].limbs;
        for step in &self.steps {
            match step {
                Step::Use(at, now) => _ = table.find(key(*at), *now, true),
                Step::Delete(at, now) => _ = table.delete(key(*at), *now),
                Step::Insert(at, now) => _ = table.insert(key(*at), *now),
            }
        }
        let now = self.steps.last().map_or(0, |step| match step {
            Step::Use(_, now) | Step::Insert(_, now) | Step::Delete(_, now) => *now,
        });
        for key in &self.keys {
            let Copy { now: Some(value), written: true, .. } = &self.copies[key.copy] else { continue };
            let entry = table.find(&key.limbs, now, false);
            if let Some(to) = table.value_mut(entry) {
                to.copy_from_slice(value);
            }
        }
    }
}

/// Makes the entries that a run has made. If a table has no room for one, none is made.
fn make_room(views: &[&mut View], tables: &mut [Box<dyn Table>]) -> Result<(), ConflictSite> {
    let mut made: Vec<(usize, &[u64], u64)> = Vec::new();
    for view in views {
        for (key, now) in view.made() {
            let is_in = tables.get_mut(view.table).is_some_and(|table| table.insert(key, now) != 0);
            if !is_in {
                for (table, key, now) in made {
                    tables[table].delete(key, now);
                }
                return Err(ConflictSite::Full(view.table));
            }
            made.push((view.table, key, now));
        }
    }
    Ok(())
}

/// An entry and its value, which does not count as a use.
fn read(table: &mut dyn Table, key: &[u64], now: u64) -> (u32, Option<Box<[u8]>>) {
    match table.find(key, now, false) {
        0 => (0, None),
        entry => (entry, table.value(entry).map(Into::into)),
    }
}

impl Table for View {
    fn lookup(&self, key: &[u64], now_ns: u64) -> Option<Cow<'_, [u8]>> {
        if let Some(asked) = self.keys.iter().find(|asked| *asked.limbs == *key) {
            return self.copies[asked.copy].now.as_deref().map(Cow::Borrowed);
        }
        let state = self.slot.lock();
        let found = state.tables.get(self.table)?.lookup(key, now_ns)?;
        Some(Cow::Owned(found.into_owned()))
    }

    fn find(&mut self, key: &[u64], now_ns: u64, refresh: bool) -> u32 {
        let at = self.key(key, now_ns, Asked::Found);
        if refresh {
            self.steps.push(Step::Use(at, now_ns));
        }
        let (copy, entry) = self.copy(at);
        if copy.now.is_some() { entry } else { 0 }
    }

    fn insert(&mut self, key: &[u64], now_ns: u64) -> u32 {
        if !self.exact {
            return 0;
        }
        let (at, bytes) = (self.key(key, now_ns, Asked::Inserted), self.value_bytes);
        self.steps.push(Step::Insert(at, now_ns));
        let (copy, entry) = self.copy(at);
        if copy.now.is_none() {
            (copy.now, copy.written) = (Some(vec![0; bytes].into()), true);
        }
        entry
    }

    fn delete(&mut self, key: &[u64], now_ns: u64) -> bool {
        if !self.exact {
            return false;
        }
        let at = self.key(key, now_ns, Asked::Deleted);
        self.steps.push(Step::Delete(at, now_ns));
        let (copy, _) = self.copy(at);
        copy.now.take().is_some()
    }

    fn value(&self, entry: u32) -> Option<&[u8]> {
        self.copies.get((entry as usize).checked_sub(1)?)?.now.as_deref()
    }

    fn value_mut(&mut self, entry: u32) -> Option<&mut [u8]> {
        let copy = self.copies.get_mut((entry as usize).checked_sub(1)?)?;
        copy.written = true;
        copy.now.as_deref_mut()
    }

    // Handlers of people work on the state in common, with the lock.
    fn add(&mut self, _: &Entry, _: u64) -> Result<(), Full> {
        Err(Full)
    }

    fn remove(&mut self, _: &[u64], _: &[u64], _: u32, _: u64) -> bool {
        false
    }

    fn known(&mut self, _: &[u64], _: &[u64], _: u32, _: u64) -> u32 {
        0
    }

    fn entries(&self, now_ns: u64) -> Vec<Entry> {
        self.slot.lock().tables.get(self.table).map(|table| table.entries(now_ns)).unwrap_or_default()
    }

    fn any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

fn views(state: &mut State) -> impl Iterator<Item = &mut View> {
    state.tables.iter_mut().filter_map(|table| table.any()?.downcast_mut())
}

/// Lets a state of a graph's own see the tables of the one in common.
pub(super) fn see(state: &mut State, program: &netil::Module, slot: &Arc<Slot>) {
    let view = |(table, declaration): (usize, &netil::module::Table)| {
        let (value_bytes, exact) = (declaration.value_bytes as usize, declaration.kind == netil::module::TableKind::Exact);
        let (keys, copies, steps) = Default::default();
        Box::new(View { slot: Arc::clone(slot), table, value_bytes, exact, keys, copies, steps }) as Box<dyn Table>
    };
    state.tables = program.tables.iter().enumerate().map(view).collect();
}

impl Begun {
    /// A run begins.
    fn begin(&mut self, state: &mut State, slot: &Slot) {
        views(state).for_each(View::clear);
        state.held.clear();
        let shared = slot.lock();
        state.data.clone_from(&shared.data);
        state.timers = shared.timers;
        drop(shared);
        self.data.clone_from(&state.data);
        self.timers.clear();
        self.timers.extend(state.timers);
    }

    /// A run ends: what it changed is written, unless what it read is not so any more.
    fn commit(&self, state: &mut State, slot: &Slot, memory: &Memory, now: u64) -> Result<(), ConflictSite> {
        let mut shared = slot.lock();
        let shared = &mut **shared;
        if let Some(at) = changed(&self.data, &shared.data, memory) {
            return Err(ConflictSite::Memory(at));
        }
        // A run sees the packets that it holds itself: in a queue with others it would find
        // another.
        let meets = state.held.is_asked() && !shared.held.is_empty();
        if meets || !shared.held.has_room_for(&state.held) {
            return Err(ConflictSite::Held);
        }
        let (views, tables) = (views(state).collect::<Vec<_>>(), &mut shared.tables);
        for view in &views {
            if let Some(place) = tables.get_mut(view.table).and_then(|table| view.conflict(table.as_mut(), now)) {
                return Err(place);
            }
        }
        make_room(&views, tables)?;
        for view in &views {
            if let Some(table) = tables.get_mut(view.table) {
                view.apply(table.as_mut());
            }
        }
        shared.held.append(&mut state.held);
        merge(&self.data, &state.data, &mut shared.data, memory);
        for ((was, is), to) in self.timers.iter().zip(&state.timers).zip(&mut shared.timers) {
            *to = if is == was { *to } else { *is };
        }
        Ok(())
    }
}

/// The first byte of memory that is not what it was, sums and scratch aside.
fn changed(was: &[u8], is: &[u8], memory: &Memory) -> Option<usize> {
    if was == is {
        return None;
    }
    let exempt = |at: usize| {
        memory.sums.iter().any(|sum| (sum.at..sum.at + sum.bytes).contains(&at)) || memory.scratch.iter().any(|range| range.contains(&at))
    };
    was.iter().zip(is).enumerate().find(|(at, (was, is))| was != is && !exempt(*at)).map(|(at, _)| at)
}

/// Writes what a run changed: sums grow, other bytes are replaced.
fn merge(was: &[u8], is: &[u8], to: &mut [u8], memory: &Memory) {
    if was == is {
        return;
    }
    for sum in &memory.sums {
        let grown = sum.read(is).wrapping_sub(sum.read(was));
        sum.write(to, sum.read(to).wrapping_add(grown));
    }
    let is_sum = |at: usize| memory.sums.iter().any(|sum| (sum.at..sum.at + sum.bytes).contains(&at));
    for (at, ((was, is), to)) in was.iter().zip(is).zip(to).enumerate() {
        if was != is && !is_sum(at) {
            *to = *is;
        }
    }
}

impl Sum {
    fn read(self, memory: &[u8]) -> u64 {
        let bytes = memory.get(self.at..self.at + self.bytes).unwrap_or_default();
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if self.big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }

    fn write(self, memory: &mut [u8], value: u64) {
        let Some(bytes) = memory.get_mut(self.at..self.at + self.bytes) else { return };
        let last = self.bytes.saturating_sub(1);
        for (n, byte) in bytes.iter_mut().enumerate() {
            let shift = 8 * if self.big_endian { last - n } else { n };
            *byte = (value >> shift) as u8;
        }
    }
}

impl Program {
    /// Runs the push handler as a transaction, or with the lock if that conflicts too often.
    pub(super) fn transact(&mut self, slot: &Arc<Slot>, memory: &Memory, packet: &mut Packet, now: u64) -> Ended {
        let mut begun = std::mem::take(&mut self.begun);
        let kept = packet.clone();
        let mut ended = None;
        for run in 0..MOST_RUNS {
            let commits = slot.counts.commits();
            begun.begin(&mut self.state, slot);
            let result = self.push(packet, now);
            match begun.commit(&mut self.state, slot, memory, packet.buffer.time_ns) {
                Ok(()) => {
                    slot.counts.committed();
                    ended = Some(result);
                    break;
                }
                Err(place) => {
                    let last = matches!(place, ConflictSite::Full(_) | ConflictSite::Held);
                    slot.counts.conflicts(place);
                    self.undo(packet, &kept);
                    if last {
                        break;
                    }
                    slot.counts.wait(commits, run);
                }
            }
        }
        self.begun = begun;
        ended.unwrap_or_else(|| {
            self.state.held.clear();
            slot.counts.is_locked();
            self.with_lock(slot, |program| program.push(packet, now))
        })
    }
}
