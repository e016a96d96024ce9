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
//! nor a sum, since it is small ([`MOST_MEMORY`]). A sum grows by what the run has added.
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
                    let full = matches!(place, ConflictSite::Full(_));
                    slot.counts.conflicts(place);
                    self.undo(packet, &kept);
                    if full {
                        break;
                    }
                    slot.counts.wait(commits, run);
                }
            }
        }
        self.begun = begun;
        ended.unwrap_or_else(|| {
            slot.counts.is_locked();
            self.with_lock(slot, |program| program.push(packet, now))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::share::{Common, Policy, Share};
    use super::*;
    use crate::io::synth::Random;
    use netil::module::{Table as Declaration, TableKind};
    use netil::tables::Reference;

    const KEYS: u64 = 6;

    fn declaration(capacity: u32) -> Declaration {
        Declaration {
            name: "t".into(),
            kind: TableKind::Exact,
            key_bits: 16,
            value_bytes: 2,
            capacity,
            timeout_ns: 50,
            entries: Vec::new(),
        }
    }

    fn slot(declaration: &Declaration, memory: Memory, data: usize) -> Arc<Slot> {
        let make = || {
            let mut state = State::empty();
            state.tables = vec![Box::new(Reference::new(declaration))];
            state.data = vec![0; data];
            Ok(state)
        };
        let common = Arc::new(Common::new(1, [(0, Policy::Transaction(Arc::new(memory)))].into()));
        Share { index: 0, replicas: 1, common }.state(0, &netil::Module::default(), make).unwrap().unwrap()
    }

    /// A state that sees the one in common.
    fn seeing(slot: &Arc<Slot>, declaration: &Declaration) -> State {
        let (mut state, module) = (State::empty(), netil::Module { tables: vec![declaration.clone()], ..netil::Module::default() });
        see(&mut state, &module, slot);
        state
    }

    /// What a program may do with a table, and what it sees then.
    fn step(table: &mut dyn Table, random: &mut Random, now: u64) -> Option<Vec<u8>> {
        let key = [random.within(0, KEYS)];
        let entry = match random.within(0, 4) {
            0 => table.insert(&key, now),
            1 => return Some(vec![table.delete(&key, now).into()]),
            2 => table.find(&key, now, true),
            _ => {
                let looked = table.lookup(&key, now).map(Cow::into_owned);
                let entry = table.find(&key, now, false);
                assert_eq!(looked.as_deref(), table.value(entry));
                entry
            }
        };
        let seen = table.value(entry).map(<[u8]>::to_vec);
        if let Some(value) = table.value_mut(entry).filter(|_| random.within(0, 2) == 0) {
            value[0] = value[0].wrapping_add(random.within(0, 9) as u8);
        }
        seen
    }

    /// Entries with times of use cannot be compared, but which of them there are later can.
    fn entries(table: &dyn Table, now: u64) -> Vec<Vec<Entry>> {
        [0, 20, 40, 60].map(|later| table.entries(now + later)).to_vec()
    }

    #[test]
    fn a_run_that_commits_saw_what_it_would_have_seen_at_its_commit() {
        let (mut commits, mut conflicts, mut full) = (0, 0, 0);
        for seed in 0..4000 {
            let mut random = Random(seed + 1);
            let declaration = declaration(4);
            let slot = slot(&declaration, Memory::default(), 0);
            let mut plain = Reference::new(&declaration);
            for round in 0..6_u64 {
                let (mut state, mut begun, now) = (seeing(&slot, &declaration), Begun::default(), 100 + round * 10);
                begun.begin(&mut state, &slot);
                let (mut own, steps) = (Random(seed * 100 + round + 7), random.within(0, 4) + 1);
                let seen: Vec<_> = (0..steps).map(|_| step(state.tables[0].as_mut(), &mut own, now)).collect();
                // Another run, in between.
                let mut other = Random(seed * 1000 + round);
                if random.within(0, 2) == 0 {
                    step(slot.lock().tables[0].as_mut(), &mut other, now);
                    step(&mut plain, &mut Random(seed * 1000 + round), now);
                }
                match begun.commit(&mut state, &slot, &Memory::default(), now) {
                    Ok(()) => {
                        let mut again = Random(seed * 100 + round + 7);
                        let wanted: Vec<_> = (0..steps).map(|_| step(&mut plain, &mut again, now)).collect();
                        assert_eq!(seen, wanted, "{seed} {round}");
                        commits += 1;
                    }
                    Err(ConflictSite::Full(_)) => full += 1,
                    Err(_) => conflicts += 1,
                }
                assert_eq!(entries(slot.lock().tables[0].as_ref(), now), entries(&plain, now), "{seed} {round}");
            }
        }
        assert!(commits > 10_000 && conflicts > 1000 && full > 100, "{commits} {conflicts} {full}");
    }

    #[test]
    fn sums_grow_and_other_bytes_conflict() {
        let memory = Memory {
            sums: vec![Sum { at: 0, bytes: 4, big_endian: false }, Sum { at: 4, bytes: 2, big_endian: true }],
            scratch: std::iter::once(6..8).collect(),
        };
        let slot = slot(&declaration(4), memory.clone(), 10);
        let run = |add: u8, other: u8, during: &dyn Fn(&mut State)| {
            let (mut state, mut begun) = (seeing(&slot, &declaration(4)), Begun::default());
            begun.begin(&mut state, &slot);
            for (at, by) in [(0, add), (5, add), (6, 9), (8, other)] {
                state.data[at] = state.data[at].wrapping_add(by);
            }
            during(&mut slot.lock());
            begun.commit(&mut state, &slot, &memory, 0)
        };
        assert_eq!(run(3, 1, &|_| {}), Ok(()));
        assert_eq!(run(4, 1, &|state| (state.data[0], state.data[7]) = (255, 1)), Ok(()));
        assert_eq!(slot.lock().data, [3, 1, 0, 0, 0, 7, 18, 1, 2, 0]);
        assert_eq!(run(4, 1, &|state| state.data[9] = 1), Err(ConflictSite::Memory(9)));
        assert_eq!(slot.lock().data, [3, 1, 0, 0, 0, 7, 18, 1, 2, 1]);
    }

    #[test]
    fn conflicts_are_told_by_table_key_and_line() {
        use netil::app::Variable;
        use netil::module::{Handler, Inst};
        use netil::table::Op;
        let code = [(Op::TFind, 7), (Op::TInsert, 9), (Op::Push, 4), (Op::UmLoad32, 5), (Op::TFind, 11)];
        let inst = |op| Inst::with(op, if op == Op::Push { 8 } else { 0 });
        let push =
            Handler { code: code.map(|(op, _)| inst(op)).to_vec(), lines: code.map(|(_, line)| line).to_vec(), ..Handler::default() };
        let module = netil::Module { tables: vec![declaration(4)], push: Some(push), ..netil::Module::default() };
        let variables = [Variable { name: "next".into(), at: 8, len: 4 }];
        let counts = Counts::default();
        let key = |n: u64| ConflictSite::Entry(0, Box::new([n]), Asked::Found);
        for place in [key(5), ConflictSite::Memory(9), key(5), ConflictSite::Full(0), key(5), ConflictSite::Memory(9)] {
            counts.conflicts(place);
        }
        let told = counts.told(&module, &variables);
        let wanted = "commits 0\naborts 6\nlocked 0\nconflict t 0005 3 line 7,11\nconflict next 2 line 5\nconflict t full 1 line 9\n";
        assert_eq!(told.to_string(), wanted);
        // Of keys behind the first that are told apart is known of which table they are.
        (100..300).for_each(|n| counts.conflicts(key(n)));
        let told = counts.told(&module, &variables);
        assert!(
            told.conflicts.len() < 70 && told.conflicts.iter().any(|it| it.about == "t" && it.key.is_none() && !it.full && it.count > 100)
        );
        assert_eq!(told.conflicts.iter().map(|conflict| conflict.count).sum::<u64>(), told.aborts);
    }

    /// Threads that run at the same time: every addition is there at the end, in entries, sums and
    /// variables.
    #[test]
    fn threads_lose_no_addition() {
        const THREADS: u64 = 4;
        const RUNS: u64 = 2000;
        let memory = Memory { sums: vec![Sum { at: 0, bytes: 4, big_endian: false }], ..Memory::default() };
        let declaration = Declaration { timeout_ns: 0, ..declaration(16) };
        let slot = slot(&declaration, memory.clone(), 6);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (slot, declaration, memory) = (Arc::clone(&slot), &declaration, &memory);
                scope.spawn(move || {
                    let (mut state, mut begun, mut random) = (seeing(&slot, declaration), Begun::default(), Random(thread + 1));
                    for _ in 0..RUNS {
                        let key = random.within(0, KEYS);
                        while {
                            begun.begin(&mut state, &slot);
                            let entry = state.tables[0].insert(&[key], 0);
                            let value = state.tables[0].value_mut(entry).unwrap();
                            let more = u16::from_le_bytes([value[0], value[1]]) + 1;
                            value.copy_from_slice(&more.to_le_bytes());
                            let sum = u32::from_le_bytes(state.data[..4].try_into().unwrap()) + 1;
                            state.data[..4].copy_from_slice(&sum.to_le_bytes());
                            begun.commit(&mut state, &slot, memory, 0).is_err()
                        } {}
                    }
                });
            }
        });
        let state = slot.lock();
        let sum: u64 = state.tables[0].entries(0).iter().map(|entry| u64::from(u16::from_le_bytes([entry.value[0], entry.value[1]]))).sum();
        assert_eq!((sum, u64::from(u32::from_le_bytes(state.data[..4].try_into().unwrap()))), (THREADS * RUNS, THREADS * RUNS));
    }
}
