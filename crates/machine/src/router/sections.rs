//! Critical sections of the programs that receive threads run: a lock for each element, given in
//! the order of asking, as in the model of cores and threads ([`crate::model`]).
//!
//! A thread that waits gives its engine to others. Elements have one of so many mutexes, by their
//! numbers.

use std::collections::{BTreeMap, VecDeque};

#[derive(Debug, Default)]
struct Mutex {
    held: bool,
    waiting: VecDeque<usize>,
}

/// The locks, and how long threads waited for them.
#[derive(Debug)]
pub(super) struct Sections {
    mutexes: BTreeMap<u32, Mutex>,
    limit: u32,
    /// By thread, since when it waits.
    since: Vec<Option<u64>>,
    waits: u64,
    /// Sections that were entered.
    pub(super) count: u64,
    /// Of them, those whose lock was held.
    pub(super) waited: u64,
}

impl Sections {
    pub(super) fn new(limit: u32, threads: usize) -> Self {
        Self { mutexes: BTreeMap::new(), limit: limit.max(1), since: vec![None; threads], waits: 0, count: 0, waited: 0 }
    }

    /// True if the thread is in; else it will be told by another that leaves.
    pub(super) fn enter(&mut self, section: u32, thread: usize, now: u64) -> bool {
        self.count += 1;
        let mutex = self.mutexes.entry(section % self.limit).or_default();
        if !std::mem::replace(&mut mutex.held, true) {
            return true;
        }
        self.waited += 1;
        mutex.waiting.push_back(thread);
        self.since[thread] = Some(now);
        false
    }

    /// The thread that is in next.
    pub(super) fn leave(&mut self, section: u32, now: u64) -> Option<usize> {
        let mutex = self.mutexes.get_mut(&(section % self.limit))?;
        let next = mutex.waiting.pop_front();
        mutex.held = next.is_some();
        self.waits += next.and_then(|next| self.since[next].take()).map_or(0, |since| now - since);
        next
    }

    /// Cycles that threads waited until the end.
    pub(super) fn cycles(&self, end: u64) -> u64 {
        self.waits + self.since.iter().flatten().map(|since| end.saturating_sub(*since)).sum::<u64>()
    }
}
