//! Copies of an element's state that graphs read without its lock: state that is read for nearly
//! every packet and seldom written.
//!
//! ```text
//!  the element, under its lock: what it does to tables is noted ──▶ changes, in their order ──▶ each graph does them again in its copy
//! ```
//!
//! A program with a copy changes nothing ([`netil::app`] knows it as one more element before the
//! one in common). Before it runs, and when a packet has left its cluster, the graph looks whether
//! there are more changes; what is done again at the same times gives tables that are the same,
//! ages included. Invariants:
//! - A copy is what the state was at some time between the graph's last look and now: as if this
//!   graph's packets had come at that time.
//! - Changes are kept up to [`MOST`]. A copy that is further behind is empty of tables whose
//!   entries age, and has the entries of the others: what is not found is asked for under the lock.
//!
//! Source: Read-Copy Update (P. McKenney, J. Slingwine, PDCS 1998); state machine replication by a
//! log (F. Schneider, ACM Computing Surveys 22(4), 1990).

use super::Graph;
use super::lock::lock;
use super::program::Program;
use super::share::Slot;
use netil::exec::State;
use netil::module::Entry;
use netil::tables::{Full, Table};
use std::any::Any;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Changes that are kept for copies.
const MOST: usize = 1 << 16;

/// What was done to a table.
#[derive(Clone, Debug)]
enum Step {
    Use(Box<[u64]>, u64),
    Insert(Box<[u64]>, u64),
    Delete(Box<[u64]>, u64),
    /// A value was written; it is what it is now.
    Write(Box<[u64]>, u64),
    /// Anything else.
    All,
}

/// A table that notes what is done to it.
struct Noted {
    table: Box<dyn Table>,
    ages: bool,
    /// Entries that were found since the last look, with the keys and times of that.
    found: Vec<(u32, Box<[u64]>, u64)>,
    steps: Vec<Step>,
}

/// Changes of a state, for who has copies.
#[derive(Default)]
pub(super) struct Changes {
    /// How many there were; it grows with each.
    version: AtomicU64,
    /// What copies have of data memory.
    data: Arc<[Range<usize>]>,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    data: Vec<u8>,
    /// By table.
    steps: VecDeque<(usize, Step)>,
    /// The number of the first step that is kept.
    first: u64,
}

/// Whose copy a program's state is, and how far it has come.
pub(super) struct Copied {
    original: Arc<Slot>,
    seen: u64,
    step: u64,
}

impl Noted {
    fn find(&mut self, entry: u32, key: &[u64], now: u64) -> u32 {
        if entry != 0 {
            self.found.push((entry, key.into(), now));
        }
        entry
    }
}

impl Table for Noted {
    fn lookup(&self, key: &[u64], now_ns: u64) -> Option<Cow<'_, [u8]>> {
        self.table.lookup(key, now_ns)
    }

    fn find(&mut self, key: &[u64], now_ns: u64, refresh: bool) -> u32 {
        let entry = self.table.find(key, now_ns, refresh);
        if entry != 0 && refresh && self.ages {
            self.steps.push(Step::Use(key.into(), now_ns));
        }
        Self::find(self, entry, key, now_ns)
    }

    fn insert(&mut self, key: &[u64], now_ns: u64) -> u32 {
        self.steps.push(Step::Insert(key.into(), now_ns));
        let entry = self.table.insert(key, now_ns);
        Self::find(self, entry, key, now_ns)
    }

    fn delete(&mut self, key: &[u64], now_ns: u64) -> bool {
        self.steps.push(Step::Delete(key.into(), now_ns));
        self.table.delete(key, now_ns)
    }

    fn value(&self, entry: u32) -> Option<&[u8]> {
        self.table.value(entry)
    }

    fn value_mut(&mut self, entry: u32) -> Option<&mut [u8]> {
        let found = self.found.iter().rev().find(|(found, ..)| *found == entry);
        self.steps.push(found.map_or(Step::All, |(_, key, now)| Step::Write(key.clone(), *now)));
        self.table.value_mut(entry)
    }

    fn add(&mut self, entry: &Entry, now_ns: u64) -> Result<(), Full> {
        match entry.mask.is_empty() {
            true => self.steps.extend([Step::Insert(entry.key.clone(), now_ns), Step::Write(entry.key.clone(), now_ns)]),
            false => self.steps.push(Step::All),
        }
        self.table.add(entry, now_ns)
    }

    fn remove(&mut self, key: &[u64], mask: &[u64], priority: u32, now_ns: u64) -> bool {
        self.steps.push(if mask.is_empty() { Step::Delete(key.into(), now_ns) } else { Step::All });
        self.table.remove(key, mask, priority, now_ns)
    }

    fn due(&mut self, now_ns: u64, most: usize) -> (Vec<Box<[u64]>>, u64) {
        self.table.due(now_ns, most)
    }

    fn deadline(&mut self, now_ns: u64) -> u64 {
        self.table.deadline(now_ns)
    }

    fn known(&mut self, key: &[u64], mask: &[u64], priority: u32, now_ns: u64) -> u32 {
        self.table.known(key, mask, priority, now_ns)
    }

    fn entries(&self, now_ns: u64) -> Vec<Entry> {
        self.table.entries(now_ns)
    }

    fn len(&self, now_ns: u64) -> u64 {
        self.table.len(now_ns)
    }

    fn set_limit(&mut self, entries: usize) {
        self.table.set_limit(entries);
    }

    fn limit(&self) -> Option<usize> {
        self.table.limit()
    }

    fn set_capacity(&mut self, entries: usize, now_ns: u64) -> bool {
        self.steps.push(Step::All);
        self.table.set_capacity(entries, now_ns)
    }

    fn set_timeout(&mut self, timeout_ns: u64, now_ns: u64) -> bool {
        self.steps.push(Step::All);
        self.table.set_timeout(timeout_ns, now_ns)
    }

    fn timeout(&self) -> Option<u64> {
        self.table.timeout()
    }

    fn tidy(&mut self) {
        self.table.tidy();
    }

    fn any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }
}

impl Changes {
    /// Lets a state's tables note what is done to them.
    pub(super) fn watch(&mut self, state: &mut State, program: &netil::Module, data: &Arc<[Range<usize>]>) {
        self.data = Arc::clone(data);
        let tables = std::mem::take(&mut state.tables).into_iter().zip(&program.tables);
        let noted = |(table, declared): (Box<dyn Table>, &netil::module::Table)| {
            Box::new(Noted { table, ages: declared.timeout_ns != 0, found: Vec::new(), steps: Vec::new() }) as Box<dyn Table>
        };
        state.tables = tables.map(noted).collect();
        self.note(state);
    }

    /// Takes what was noted of a run that has ended. Called under the state's lock.
    pub(super) fn note(&self, state: &mut State) {
        let mut log = lock(&self.log);
        let part = |range: &Range<usize>| range.start.min(state.data.len())..range.end.min(state.data.len());
        let is_same = |range: Range<usize>| log.data.get(range.clone()) == state.data.get(range);
        let mut changed = log.data.len() != state.data.len() || !self.data.iter().map(part).all(is_same);
        if changed {
            log.data.clone_from(&state.data);
        }
        for (n, table) in state.tables.iter_mut().enumerate() {
            let Some(noted) = table.any().and_then(|any| any.downcast_mut::<Noted>()) else { continue };
            noted.found.clear();
            changed |= !noted.steps.is_empty();
            log.steps.extend(noted.steps.drain(..).map(|step| (n, step)));
        }
        let over = log.steps.len().saturating_sub(MOST);
        log.steps.drain(..over);
        log.first += over as u64;
        if changed {
            self.version.fetch_add(1, Ordering::Release);
        }
    }
}

impl Copied {
    pub(super) fn of(original: Arc<Slot>) -> Self {
        Self { original, seen: 0, step: 0 }
    }

    fn is_behind(&self) -> bool {
        self.original.changes.version.load(Ordering::Acquire) != self.seen
    }

    /// Makes a state what the original is now.
    fn follow(&mut self, state: &mut State, declared: &[netil::module::Table]) {
        let mut original = self.original.lock();
        let log = lock(&self.original.changes.log);
        state.data.clone_from(&log.data);
        let (missed, known) = (self.step < log.first, self.step.saturating_sub(log.first) as usize);
        let mut anew = vec![missed; state.tables.len()];
        for (n, _) in log.steps.iter().skip(known).filter(|(_, step)| matches!(step, Step::All)) {
            anew[*n] = true;
        }
        for (n, step) in log.steps.iter().skip(known).filter(|(n, _)| !anew[*n]) {
            if let (Some(own), Some(theirs)) = (state.tables.get_mut(*n), original.tables.get_mut(*n)) {
                again(own.as_mut(), theirs.as_mut(), step);
            }
        }
        for (n, (own, theirs)) in state.tables.iter_mut().zip(&mut original.tables).enumerate().filter(|(n, _)| anew[*n]) {
            copy(own.as_mut(), theirs.as_mut(), declared.get(n).is_some_and(|table| table.timeout_ns != 0));
        }
        (self.step, self.seen) = (log.first + log.steps.len() as u64, self.original.changes.version.load(Ordering::Acquire));
    }
}

/// Does again what was done to a table.
fn again(own: &mut dyn Table, original: &mut dyn Table, step: &Step) {
    match step {
        Step::Use(key, now) => _ = own.find(key, *now, true),
        Step::Insert(key, now) => _ = own.insert(key, *now),
        Step::Delete(key, now) => _ = own.delete(key, *now),
        Step::Write(key, now) => {
            let (to, from) = (own.find(key, *now, false), original.find(key, *now, false));
            if let (Some(to), Some(from)) = (own.value_mut(to), original.value(from)) {
                to.copy_from_slice(from);
            }
        }
        Step::All => {}
    }
}

/// Makes a table what another one is, but for entries that age, of which it has none: nothing says
/// how old they are.
fn copy(own: &mut dyn Table, original: &mut dyn Table, ages: bool) {
    for Entry { key, mask, priority, .. } in own.entries(0) {
        own.remove(&key, &mask, priority, 0);
    }
    let entries = if ages { Vec::new() } else { original.entries(0) };
    // Both have room for as many.
    entries.iter().for_each(|entry| _ = own.add(entry, 0));
}

impl Program {
    /// Makes its state what the original is now, if it is a copy.
    pub(super) fn follow(&mut self) {
        let Some(copied) = self.copied.as_mut().filter(|copied| copied.is_behind()) else { return };
        copied.follow(&mut self.state, &self.program.module().tables);
    }

    /// Whether its state is a copy that is not what the original is now.
    pub(super) fn is_behind(&self) -> bool {
        self.copied.as_ref().is_some_and(Copied::is_behind)
    }
}

impl Graph {
    /// Makes the states of those members what their originals are now.
    pub(super) fn follow_all(&mut self, members: &[u32]) {
        for node in members {
            if let super::Body::Program(program) = &mut self.core.nodes[*node as usize].body {
                program.follow();
            }
        }
    }

    /// Whether an element's state is a copy: a burst may then end before its last packet.
    pub(super) fn is_copy(&self, node: usize) -> bool {
        matches!(&self.core.nodes[node].body, super::Body::Program(program) if program.copied.is_some())
    }

    /// Whether a member's state is not what its original is now.
    pub(super) fn are_behind(&self, members: &[u32]) -> bool {
        let behind = |node: &u32| matches!(&self.core.nodes[*node as usize].body, super::Body::Program(program) if program.is_behind());
        self.topology.settings.share.is_some() && members.iter().any(behind)
    }
}
