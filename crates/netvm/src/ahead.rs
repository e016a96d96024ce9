//! Filtering a capture on several threads, with the result of one.
//!
//! ```text
//!  stretch 0, 3, … ─ worker: read, walk, select ─┐
//!  stretch 1, 4, … ─ worker: read, walk, select ─┼─▶ board ─▶ in order: begins where the last one ended? ─▶ `take`
//!  stretch 2, 5, … ─ worker: read, walk, select ─┘                      no: read again from there
//! ```
//!
//! Each worker does all the work on its stretch while it is in its own cache; only selections and the bytes of selected packets go
//! to the thread that takes them. At most [`WINDOW`] stretches a worker are in memory. Whatever is odd (damage, a cut record, a file that
//! shrinks) ends the work at the last good record; the capture is then read on from there as without threads.

use crate::{Error, Filter};
use netil::exec::Selection;
use runtime::io::Burst;
use runtime::io::capture::{Capture, Split, Stretch};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Stretches per worker that may be worked on or wait to be taken.
const WINDOW: usize = 3;
/// Packets in a burst: they and the slices that point to them stay in the first-level caches.
const BURST: usize = 256;

/// A way to filter the beginning of a capture.
pub struct Ahead {
    /// Workers.
    pub threads: usize,
}

/// What a worker found.
#[derive(Default)]
struct Found {
    stretch: Stretch,
    /// One for each [`BURST`] packets.
    selections: Vec<Selection>,
    usable: bool,
}

/// What workers and taker share.
struct Board {
    state: Mutex<Work>,
    /// Something was found.
    found: Condvar,
    /// Something was taken, or all is to end.
    taken: Condvar,
}

#[derive(Default)]
struct Work {
    next: usize,
    done: BTreeMap<usize, Found>,
    /// Stretches that were taken.
    taken: usize,
    free: Vec<Found>,
    end: bool,
}

impl Ahead {
    /// Filters as much of a capture as can be filtered in parallel, and leaves the capture at the first packet after it: none, where it is
    /// short, compressed, a pipe or a pcapng. `take` gets each burst in order, with what was selected of it, and the bytes of the capture
    /// that are behind it; it may end all early, after which the capture is of no more use.
    ///
    /// # Errors
    /// The filter's, before anything is read. Later ones come up again where the capture is read on.
    pub fn run<B>(
        &self,
        filter: &Filter,
        capture: &mut Capture,
        mut take: impl FnMut(Burst<'_>, &mut Selection, u64) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        let Some(split) = capture.split().filter(|split| self.threads > 1 && split.len() > self.threads) else {
            return Ok(ControlFlow::Continue(()));
        };
        let filters = (0..=self.threads).map(|_| filter.another()).collect::<Result<Vec<_>, _>>()?;
        let board = Board { state: Mutex::default(), found: Condvar::new(), taken: Condvar::new() };
        let mut filters = filters.into_iter();
        let mut taker = Taker { split: &split, filter: filters.next(), at: split.begin(), packets: 0, before: capture.packets() };
        let flow = thread::scope(|scope| {
            let _end = Ending(&board);
            let window = self.threads * WINDOW;
            for filter in filters {
                let (board, split) = (&board, &split);
                scope.spawn(move || board.work(split, filter, window));
            }
            taker.take_all(&board, &mut take)
        });
        capture.skip_to(taker.at, taker.packets);
        Ok(flow)
    }
}

/// Ends the workers however the taker ends.
struct Ending<'a>(&'a Board);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.lock().end = true;
        self.0.taken.notify_all();
    }
}

/// Lets the taker not wait for a worker that is gone.
struct Panicked<'a>(&'a Board);

impl Drop for Panicked<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().end = true;
            self.0.found.notify_all();
        }
    }
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker.
    fn work(&self, split: &Split, mut filter: Filter, window: usize) {
        let _end = Panicked(self);
        while let Some((index, mut found)) = self.job(split, window) {
            found.fill(split, index, None, &mut filter);
            self.lock().done.insert(index, found);
            self.found.notify_one();
        }
    }

    /// The next stretch to work on, and buffers for it; none when there are no more, or all is to end.
    fn job(&self, split: &Split, window: usize) -> Option<(usize, Found)> {
        let ready = |work: &mut Work| !work.end && work.next < split.len() && work.next >= work.taken + window;
        let mut work = self.taken.wait_while(self.lock(), ready).unwrap_or_else(PoisonError::into_inner);
        if work.end || work.next >= split.len() {
            return None;
        }
        work.next += 1;
        Some((work.next - 1, work.free.pop().unwrap_or_default()))
    }

    /// What was found in a stretch, waiting for it.
    fn found(&self, index: usize) -> Found {
        let missing = |work: &mut Work| !work.end && !work.done.contains_key(&index);
        let mut work = self.found.wait_while(self.lock(), missing).unwrap_or_else(PoisonError::into_inner);
        work.done.remove(&index).unwrap_or_default()
    }

    fn give_back(&self, found: Found) {
        let mut work = self.lock();
        work.taken += 1;
        work.free.push(found);
        drop(work);
        self.taken.notify_one();
    }
}

impl Found {
    /// Reads a stretch and filters it.
    fn fill(&mut self, split: &Split, index: usize, from: Option<u64>, filter: &mut Filter) {
        self.usable = split.read(index, from, &mut self.stretch).is_ok() && self.stretch.is_sound() && self.select(split, filter).is_ok();
    }

    fn select(&mut self, split: &Split, filter: &mut Filter) -> Result<(), Error> {
        let bursts = self.stretch.len().div_ceil(BURST);
        self.selections.resize_with(bursts, Selection::default);
        for (at, selection) in (0..).step_by(BURST).zip(&mut self.selections) {
            if let Some(burst) = self.stretch.burst(split, at, BURST, 0) {
                filter.select(&burst, selection)?;
            }
        }
        Ok(())
    }
}

/// Puts the stretches together.
struct Taker<'a> {
    split: &'a Split,
    filter: Option<Filter>,
    /// Where the next record begins.
    at: u64,
    /// Packets taken.
    packets: u64,
    /// Packets read before.
    before: u64,
}

impl Taker<'_> {
    fn take_all<B>(&mut self, board: &Board, take: &mut impl FnMut(Burst<'_>, &mut Selection, u64) -> ControlFlow<B>) -> ControlFlow<B> {
        for index in 0..self.split.len() {
            let mut found = board.found(index);
            // A record of the stretches before may end in a later one.
            if self.at < self.split.end_of(index) {
                if !self.joins(&mut found, index) {
                    break;
                }
                self.take(&mut found, take)?;
            }
            board.give_back(found);
        }
        ControlFlow::Continue(())
    }

    /// Whether a stretch can be taken: as it is, or read again from where the one before ended.
    fn joins(&mut self, found: &mut Found, index: usize) -> bool {
        if !(found.usable && found.stretch.begin() == self.at) {
            let Some(filter) = &mut self.filter else { return false };
            found.fill(self.split, index, Some(self.at), filter);
        }
        found.usable
    }

    fn take<B>(&mut self, found: &mut Found, take: &mut impl FnMut(Burst<'_>, &mut Selection, u64) -> ControlFlow<B>) -> ControlFlow<B> {
        let (number, end) = (self.before + self.packets, found.stretch.end());
        (self.packets, self.at) = (self.packets + found.stretch.len() as u64, end);
        for (at, selection) in (0..).step_by(BURST).zip(&mut found.selections) {
            if let Some(burst) = found.stretch.burst(self.split, at, BURST, number) {
                take(burst, selection, end)?;
            }
        }
        ControlFlow::Continue(())
    }
}
