//! Critical sections: locks that are given in the order of asking, and transactions.
//!
//! A transaction is eager, as NetTM's is: it writes at once and keeps an undo log. An access that
//! conflicts with another running transaction (its write with what the other read or wrote, its
//! read with what the other wrote) ends the one that asks; it undoes its writes and begins again
//! after the next commit of any. What they touched is kept in signatures, or exactly.

use super::signature::Signature;
use crate::description::Machine;
use crate::steps::Access;
use std::collections::{BTreeMap, HashSet, VecDeque};

#[derive(Default)]
struct Mutex {
    held: bool,
    waiting: VecDeque<usize>,
}

/// What a running transaction has touched.
#[derive(Default)]
pub(super) struct Transaction {
    /// The step at which it began.
    pub(super) start: usize,
    reads: HashSet<u64>,
    writes: HashSet<u64>,
    /// Words in the undo log.
    words: u64,
}

/// Locks and transactions of all threads.
pub(super) struct Sync<'m> {
    mutexes: BTreeMap<(u32, u32), Mutex>,
    count: u32,
    signature: &'m Signature,
    undo_cycles: u64,
    pub(super) running: Vec<Option<Transaction>>,
    /// Whether the section that a thread is in began without an abort so far.
    clean: Vec<bool>,
    pub(super) sections: u64,
    pub(super) waited: u64,
    pub(super) clean_commits: u64,
    pub(super) aborts: u64,
}

impl<'m> Sync<'m> {
    pub(super) fn new(machine: &Machine, signature: &'m Signature) -> Self {
        let undo_cycles = machine.transactions.as_ref().map_or(0, |t| t.undo_cycles.into());
        let threads = machine.threads() as usize;
        Self {
            mutexes: BTreeMap::new(),
            count: machine.locks.mutexes,
            signature,
            undo_cycles,
            running: (0..threads).map(|_| None).collect(),
            clean: vec![true; threads],
            sections: 0,
            waited: 0,
            clean_commits: 0,
            aborts: 0,
        }
    }

    /// True if the thread has the lock; else it will be given it.
    pub(super) fn lock(&mut self, domain: u32, lock: u32, thread: usize) -> bool {
        self.sections += 1;
        let mutex = self.mutexes.entry((domain, lock % self.count)).or_default();
        if std::mem::replace(&mut mutex.held, true) {
            self.waited += 1;
            mutex.waiting.push_back(thread);
            return false;
        }
        true
    }

    /// The thread that is given the lock.
    pub(super) fn unlock(&mut self, domain: u32, lock: u32) -> Option<usize> {
        let mutex = self.mutexes.get_mut(&(domain, lock % self.count))?;
        let next = mutex.waiting.pop_front();
        mutex.held = next.is_some();
        next
    }

    pub(super) fn begin(&mut self, thread: usize, start: usize) {
        self.running[thread] = Some(Transaction { start, ..Transaction::default() });
    }

    pub(super) fn commit(&mut self, thread: usize) {
        self.running[thread] = None;
        self.sections += 1;
        self.clean_commits += u64::from(std::mem::replace(&mut self.clean[thread], true));
    }

    /// Notes what a transaction touches. If that conflicts: the step at which it begins again, and
    /// the cycles to undo.
    pub(super) fn touch(&mut self, thread: usize, access: &Access) -> Option<(usize, u64)> {
        let (first, words) = access.shared?;
        self.running[thread].as_ref()?;
        let marks: Vec<u64> = (first..first + u64::from(words)).map(|word| self.mark(word)).collect();
        let conflicts = |other: &Transaction| marks.iter().any(|m| other.writes.contains(m) || (access.write && other.reads.contains(m)));
        let others = self.running.iter().enumerate().filter(|(n, _)| *n != thread);
        if others.filter_map(|(_, other)| other.as_ref()).any(conflicts) {
            return self.abort(thread);
        }
        let own = self.running[thread].as_mut()?;
        match access.write {
            true => own.words += marks.iter().filter(|m| own.writes.insert(**m)).count() as u64,
            false => own.reads.extend(marks),
        }
        None
    }

    /// Who has what, and who waits.
    pub(super) fn state(&self, all: &mut Vec<u64>) {
        for ((domain, lock), mutex) in self.mutexes.iter().filter(|(_, mutex)| mutex.held) {
            all.extend([u64::from(*domain), u64::from(*lock)]);
            all.extend(mutex.waiting.iter().map(|thread| *thread as u64));
            all.push(u64::MAX);
        }
        for transaction in self.running.iter().flatten() {
            all.extend([transaction.start as u64, transaction.words, transaction.reads.len() as u64]);
            for words in [&transaction.reads, &transaction.writes] {
                let from = all.len();
                all.extend(words);
                all[from..].sort_unstable();
            }
            all.push(u64::MAX);
        }
        all.extend(self.running.iter().map(|running| u64::from(running.is_some())));
    }

    fn abort(&mut self, thread: usize) -> Option<(usize, u64)> {
        let ended = self.running[thread].take()?;
        self.aborts += 1;
        self.clean[thread] = false;
        Some((ended.start, ended.words * self.undo_cycles))
    }

    /// A word's bit of a signature.
    fn mark(&self, word: u64) -> u64 {
        self.signature.bit(word)
    }
}
