//! Several graphs that run one application at the same time, each for its share of the flows: which
//! packets are whose, and what the graphs have in common.
//!
//! Each graph has all elements with sources, queues and devices of its own, takes the packets of
//! its share and runs them to completion. Invariants:
//! - The state of an element is each graph's own, in common, or in parts: each graph has that of
//!   some ports, and packets of these ([`crate::io`] says which). A state in common is used by one
//!   graph at a time, under its lock: runs of the element are one after the other, in some order,
//!   and packets of one flow are in theirs.
//! - A graph takes the locks of a cluster's members in the order of the elements, then that of one
//!   element outside of it, then that of what elements have together. So no graphs wait for each
//!   other in a circle.
//! - A part is locked by the graph that has it, for bursts. Another one that comes upon a packet of
//!   it ([`super::foreign`]) takes its lock while it holds no other.
//! - Of a state that is seldom written graphs have copies, which follow it ([`super::copies`]).
//! - A state in common is changed under its lock only: by a run that holds it, or by the commit of
//!   a [transaction](super::transaction).
//! - A timer of a state in common runs once: who takes it finds it still set, under the lock.
//! - A capture that several graphs write is completed by the last of them.
//! - No graph is more than [`AHEAD`] packets of captures ahead of another, so times that a state in
//!   common sees go back by no more than those packets last. Where such a state depends on time,
//!   the bound is one of time instead ([`Common::within`]): before each event a graph tells when
//!   that is, and waits until no other has one that is so much earlier. The first of all never
//!   waits.
//!
//! Source: NRTE paper, section 3 (replicas, flow pinning); NetTM paper, section 2 (locks for
//! elements). Leaves out: striped locks.

use super::ElementError;
use super::copies::Changes;
use super::lock::lock;
use super::together::Shared;
use super::transaction::Counts;
use crate::io::flow::Sorter;
use crate::io::{LinkType, WriteOptions, Writer};
use crate::sync;
use netil::Module;
use netil::app::{ByPort, Toward};
use netil::exec::State;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// Packets of captures by which a graph may be ahead of another.
const AHEAD: u64 = 1 << 13;

/// The part of one graph among several.
#[derive(Clone, Debug)]
pub struct Share {
    /// Its number, from 0.
    pub index: usize,
    /// How many graphs there are.
    pub replicas: usize,
    /// What all of them have.
    pub common: Arc<Common>,
}

/// What graphs have in common.
pub struct Common {
    /// Of the application that they run.
    layout: Mutex<Layout>,
    captures: Mutex<BTreeMap<PathBuf, (Weak<Output>, WriteOptions)>>,
    /// Packets of captures that each graph has passed.
    passed: Vec<AtomicU64>,
    /// By how many nanoseconds of captures a graph may be ahead of another; without a bound
    /// [`u64::MAX`].
    within: AtomicU64,
    /// When each graph's next event is, by the time of captures.
    coming: Vec<AtomicU64>,
}

/// What graphs have in common of one application: another version of it has another one.
#[derive(Default)]
pub struct Layout {
    elements: BTreeMap<usize, Policy>,
    /// By source: the end of packets whose port says which graph has them.
    ends: BTreeMap<usize, Toward>,
    /// By element, and for those in parts by graph.
    states: BTreeMap<(usize, usize), Arc<Slot>>,
    together: Arc<Mutex<Option<Shared>>>,
}

impl Layout {
    /// For applications with these elements in common, and sources whose packets go to graphs by
    /// the port of one end.
    pub fn new(elements: BTreeMap<usize, Policy>, ends: BTreeMap<usize, Toward>) -> Self {
        Self { elements, ends, ..Self::default() }
    }
}

/// How runs of an element whose state is in common come one after the other.
#[derive(Clone, Debug)]
pub enum Policy {
    /// Each holds the lock.
    Lock,
    /// Each works on what it has read, and holds the lock to look whether that is still so and to
    /// write what it changed; otherwise it begins again.
    Transaction(Arc<Memory>),
    /// Each holds the lock; graphs have copies, which they read without it: of tables, and of these
    /// bytes of data memory.
    Noted(Arc<[Range<usize>]>),
    /// It is a copy of that element's.
    Copy(usize),
    /// Each graph has a part of it, which nobody else runs but for packets that came to another
    /// graph's.
    Parts(ByPort),
}

/// What a program's data memory is for, as far as that lets transactions not conflict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Numbers that are only added to.
    pub sums: Vec<Sum>,
    /// Bytes that each run writes before it reads them.
    pub scratch: Vec<Range<usize>>,
}

/// A number in data memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sum {
    /// Where it begins.
    pub at: usize,
    /// Its bytes, 8 at most.
    pub bytes: usize,
    /// The most significant byte stands first.
    pub big_endian: bool,
}

/// A capture that is written, until writing fails.
pub(super) type Output = Mutex<Option<Writer>>;

/// The state of an element in common.
pub(super) struct Slot {
    pub(super) policy: Policy,
    pub(super) counts: Counts,
    pub(super) changes: Changes,
    state: sync::Mutex<Box<State>>,
    initialised: AtomicBool,
    delayed: AtomicBool,
}

/// The lock of a state in common, held.
pub(super) type StateGuard<'l> = sync::MutexGuard<'l, Box<State>>;

impl std::fmt::Debug for Common {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Common").field("elements", &lock(&self.layout).elements).finish_non_exhaustive()
    }
}

impl Common {
    /// For so many graphs, with the elements whose state they have in common.
    pub fn new(replicas: usize, elements: BTreeMap<usize, Policy>) -> Self {
        let [passed, coming] = [(); 2].map(|()| (0..replicas).map(|_| AtomicU64::new(0)).collect());
        let layout = Mutex::new(Layout::new(elements, BTreeMap::new()));
        Self { layout, captures: Mutex::default(), passed, within: AtomicU64::new(u64::MAX), coming }
    }

    /// Puts the layout of another version in the place of that of this one, which is then there. No
    /// graph runs meanwhile. `kept`: by element of the new version that goes on the one that it
    /// was, whose states it has; `together`: what elements have together goes on.
    pub fn go_on(&self, layout: &mut Layout, kept: &BTreeMap<usize, usize>, together: bool) {
        let mut own = lock(&self.layout);
        for (new, old) in kept {
            let states = own.states.range((*old, 0)..=(*old, usize::MAX));
            layout.states.extend(states.map(|((_, graph), slot)| ((*new, *graph), Arc::clone(slot))));
        }
        if together {
            layout.together = Arc::clone(&own.together);
        }
        std::mem::swap(&mut *own, layout);
    }

    /// Lets graphs be no more than so many nanoseconds of captures ahead of each other from now on.
    pub fn bind(&self, nanoseconds: Option<u64>) {
        self.within.store(nanoseconds.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn bound(&self) -> Option<u64> {
        Some(self.within.load(Ordering::Relaxed)).filter(|within| *within != u64::MAX)
    }

    /// Lets graphs that read captures be no more than so many nanoseconds of these ahead of each
    /// other.
    #[must_use]
    pub fn within(self, nanoseconds: Option<u64>) -> Self {
        self.bind(nanoseconds);
        self
    }

    /// Lets packets of some sources go to graphs by the port of one end.
    #[must_use]
    pub fn by_ports(self, ends: BTreeMap<usize, Toward>) -> Self {
        lock(&self.layout).ends = ends;
        self
    }

    /// The state of an element, or that graph's part of it, which the first graph makes that wants
    /// it.
    fn state(
        &self,
        (element, graph): (usize, usize),
        program: &Module,
        make: impl FnOnce() -> Result<State, ElementError>,
    ) -> Result<Option<Arc<Slot>>, ElementError> {
        let mut layout = lock(&self.layout);
        let Layout { elements, states, .. } = &mut *layout;
        let Some(policy) = elements.get(&element).filter(|policy| !matches!(policy, Policy::Copy(_))) else { return Ok(None) };
        let part = if let Policy::Parts(by_port) = policy { Some(by_port.part as usize) } else { None };
        let key = (element, part.map_or(0, |_| graph));
        if let Some(slot) = states.get(&key) {
            return Ok(Some(Arc::clone(slot)));
        }
        let mut state = make()?;
        if let Some(own) = part.and_then(|at| state.data.get_mut(at..at + 8)) {
            own[..4].copy_from_slice(&(graph as u32).to_le_bytes());
            own[4..].copy_from_slice(&(self.passed.len() as u32).to_le_bytes());
        }
        let mut changes = Changes::default();
        if let Policy::Noted(data) = policy {
            changes.watch(&mut state, program, data);
        }
        let slot = Slot {
            policy: policy.clone(),
            counts: Counts::default(),
            changes,
            state: sync::Mutex::new(Box::new(state)),
            initialised: AtomicBool::new(false),
            delayed: AtomicBool::new(false),
        };
        Ok(Some(Arc::clone(states.entry(key).or_insert(Arc::new(slot)))))
    }

    /// What elements have together, which the first graph makes; of the others' nothing is kept.
    pub(super) fn together(&self, made: Shared) -> Arc<Mutex<Option<Shared>>> {
        let together = Arc::clone(&lock(&self.layout).together);
        lock(&together).get_or_insert(made);
        together
    }

    /// The capture of that name, which the first graph creates.
    pub(super) fn capture(
        &self,
        path: &Path,
        plan: &WriteOptions,
        create: impl FnOnce() -> Result<Writer, ElementError>,
    ) -> Result<Arc<Output>, ElementError> {
        let mut captures = lock(&self.captures);
        let known = captures.get(path).and_then(|(output, plan)| Some((output.upgrade()?, plan)));
        match known {
            Some((output, same)) if same == plan => Ok(output),
            Some(_) => Err(ElementError::resource(format!("{}: another element writes it in another way", path.display()))),
            None => {
                let output = Arc::new(Mutex::new(Some(create()?)));
                captures.insert(path.to_owned(), (Arc::downgrade(&output), plan.clone()));
                Ok(output)
            }
        }
    }
}

impl Share {
    /// Tells which packets of a source are this graph's; all of them must be shown, in their order.
    pub fn own(&self, source: usize) -> Own {
        Own { index: self.index, replicas: self.replicas, sorter: Sorter::new(self.toward(source)) }
    }

    /// The end of a source's packets whose port says which graph has them; none: their addresses
    /// do.
    pub(super) fn toward(&self, source: usize) -> Option<Toward> {
        lock(&self.common.layout).ends.get(&source).copied()
    }

    /// The state of an element that is not this graph's own only, if it is such.
    pub(super) fn state(
        &self,
        element: usize,
        program: &Module,
        make: impl FnOnce() -> Result<State, ElementError>,
    ) -> Result<Option<Arc<Slot>>, ElementError> {
        self.common.state((element, self.index), program, make)
    }

    /// The state that an element's is a copy of, if it is one.
    pub(super) fn original(&self, element: usize) -> Option<Arc<Slot>> {
        let of = match lock(&self.common.layout).elements.get(&element) {
            Some(Policy::Copy(of)) => *of,
            _ => return None,
        };
        self.part(of, 0)
    }

    /// Another graph's part of an element's state, if that has been made.
    pub(super) fn part(&self, element: usize, graph: usize) -> Option<Arc<Slot>> {
        lock(&self.common.layout).states.get(&(element, graph)).cloned()
    }

    /// So many packets of captures have been passed, its own or others'.
    pub(super) fn passes(&self, packets: u64) {
        if let Some(passed) = self.common.passed.get(self.index).filter(|_| packets > 0) {
            passed.fetch_add(packets, Ordering::Relaxed);
        }
    }

    /// Whether it is to wait for others.
    pub fn is_ahead(&self) -> bool {
        if self.common.bound().is_some() {
            return self.is_early();
        }
        let passed = |at: &AtomicU64| at.load(Ordering::Relaxed);
        let own = self.common.passed.get(self.index).map_or(0, passed);
        own != u64::MAX && self.common.passed.iter().map(passed).min().is_some_and(|least| own > least.saturating_add(AHEAD))
    }

    /// Its next event is then, by the time of captures.
    pub(super) fn comes_at(&self, time: u64) {
        if let Some(coming) = self.common.coming.get(self.index).filter(|_| !self.has_left()) {
            coming.store(time, Ordering::Release);
        }
    }

    /// Whether events of others come first.
    pub(super) fn is_early(&self) -> bool {
        let own = self.common.coming.get(self.index).map_or(0, |coming| coming.load(Ordering::Relaxed));
        !self.has_left() && self.latest().is_some_and(|latest| own > latest)
    }

    /// Until when its events need not wait for others.
    pub(super) fn latest(&self) -> Option<u64> {
        let others = self.common.coming.iter().enumerate().filter(|(index, _)| *index != self.index);
        let least = others.map(|(_, coming)| coming.load(Ordering::Acquire)).min().unwrap_or(u64::MAX);
        Some(least.saturating_add(self.common.bound()?))
    }

    fn has_left(&self) -> bool {
        self.common.passed.get(self.index).is_some_and(|passed| passed.load(Ordering::Relaxed) == u64::MAX)
    }

    /// Whether all graphs have read what they read.
    pub fn all_have_left(&self) -> bool {
        self.common.passed.iter().all(|passed| passed.load(Ordering::Relaxed) == u64::MAX)
    }

    /// It reads no more: nobody waits for it.
    pub fn leaves(&self) {
        if let Some(passed) = self.common.passed.get(self.index) {
            passed.store(u64::MAX, Ordering::Relaxed);
        }
        if let Some(coming) = self.common.coming.get(self.index) {
            coming.store(u64::MAX, Ordering::Release);
        }
    }
}

/// Which packets of a source are one graph's.
#[derive(Clone, Debug)]
pub struct Own {
    index: usize,
    replicas: usize,
    sorter: Sorter,
}

impl Own {
    /// Whether the next packet is.
    pub fn takes(&mut self, link: LinkType, bytes: &[u8]) -> bool {
        self.sorter.replica(link, bytes, self.replicas) == self.index
    }

    /// Whether a packet that a socket has let through is this graph's; the socket knows nothing of
    /// packets before.
    pub(super) fn keeps(&mut self, link: LinkType, bytes: &[u8]) -> bool {
        !self.sorter.remembers(link, bytes) || self.takes(link, bytes)
    }
}

impl Slot {
    pub(super) fn lock(&self) -> StateGuard<'_> {
        sync::lock(&self.state)
    }

    /// Whether nobody ran the init handler yet. Asked under the lock.
    pub(super) fn first_init(&self) -> bool {
        !self.initialised.swap(true, Ordering::Relaxed)
    }

    /// Whether nobody delayed its timers yet. Asked under the lock.
    pub(super) fn first_delay(&self) -> bool {
        !self.delayed.swap(true, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Graphs of captures with state that depends on time: the one whose next event is first goes
    /// on, others as far as they may, and who has left is waited for no more.
    #[test]
    fn graphs_stay_within_a_time_of_each_other() {
        let common = Arc::new(Common::new(3, BTreeMap::new()).within(Some(10)));
        let shares = [0, 1, 2].map(|index| Share { index, replicas: 3, common: Arc::clone(&common) });
        let early = || shares.each_ref().map(Share::is_ahead);
        assert_eq!(early(), [false; 3]);
        shares[0].comes_at(100);
        assert_eq!(early(), [true, false, false], "of the others nothing is known yet");
        shares[1].comes_at(95);
        shares[2].comes_at(106);
        assert_eq!(early(), [false, false, true]);
        assert_eq!(shares[0].latest(), Some(105));
        // So many packets count only where time does not.
        shares[0].passes(2 * AHEAD);
        assert_eq!(early(), [false, false, true]);
        shares[1].leaves();
        shares[1].comes_at(3);
        assert_eq!(early(), [false; 3]);
    }
}
