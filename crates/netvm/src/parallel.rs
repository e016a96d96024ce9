//! Filtering a capture in groups of packets, on one thread or several, with the result of reading
//! one packet after the other.
//!
//! ```text
//!  group 0, 3, … ─ worker: read, find, select ─┐
//!  group 1, 4, … ─ worker: read, find, select ─┼─▶ queue ─▶ in order: begins where the last one ended? ─▶ `take`
//!  group 2, 5, … ─ worker: read, find, select ─┘                      no: found again from there
//! ```
//!
//! Each worker does all the work on its group while that is in its own cache; only slices,
//! selections and the bytes of selected packets go to the thread that takes them. At most
//! [`WINDOW`] groups a worker are under way. Whatever is odd (damage, a cut record, a file that
//! shrinks) ends the work at the last good record; the capture is then read on from there in the
//! ordinary way.

use crate::sync::lock;
use crate::{Error, Filter};
use netil::exec::Selection;
use runtime::io::capture::{Capture, Group, Split};
use runtime::io::{Burst, Reading};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Groups per worker that may be worked on or wait to be taken.
const WINDOW: usize = 3;
/// Packets in a burst: they and the slices that point to them stay in the first-level caches.
const BURST: usize = 256;

/// A way to filter the beginning of a capture.
pub struct ParallelFilter {
    /// Workers; with one, all is done on the thread that takes.
    pub threads: usize,
    /// How files are read.
    pub reading: Reading,
}

/// What was found in a group.
#[derive(Default)]
struct Found {
    group: Group,
    /// One for each burst.
    selections: Vec<Selection>,
    usable: bool,
}

/// What workers and collector share.
struct WorkQueue {
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
    /// Groups that were taken.
    taken: usize,
    free: Vec<Found>,
    end: bool,
}

impl ParallelFilter {
    /// Filters as much of a capture as can be read in groups, and leaves the capture at the first
    /// packet after it: none, where it is short, compressed, a pipe or a pcapng. `take` gets each
    /// burst in order, with what was selected of it, and the bytes of the capture that are behind
    /// it; it may end all early, after which the capture is of no more use.
    ///
    /// # Errors
    /// The filter's, before anything is read; later ones come up again where the capture is read
    /// on. [`Error::Shrunk`].
    pub fn run<B>(
        &self,
        filter: &Filter,
        capture: &mut Capture,
        mut take: impl FnMut(Burst<'_>, &mut Selection, u64) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        let Some(split) = capture.split(self.reading).filter(|split| self.is_worth(split)) else {
            return Ok(ControlFlow::Continue(()));
        };
        let mut collector =
            Collector { split: &split, filter: filter.another()?, at: split.begin(), packets: 0, before: capture.packets(), torn: false };
        let flow = match self.threads {
            0 | 1 => collector.take_alone(&mut take),
            threads => {
                let filters = (0..threads).map(|_| filter.another()).collect::<Result<Vec<_>, _>>()?;
                with_workers(filters, &split, |queue| collector.take_all(queue, &mut take))
            }
        };
        if collector.torn {
            return Err(Error::Shrunk);
        }
        capture.skip_to(collector.at, collector.packets);
        Ok(flow)
    }

    /// One thread that copies is as quick without groups.
    fn is_worth(&self, split: &Split) -> bool {
        split.len() > self.threads && (self.threads > 1 || split.is_mapped())
    }
}

/// Does something while a worker for each filter is at work.
fn with_workers<T>(filters: Vec<Filter>, split: &Split, work: impl FnOnce(&WorkQueue) -> T) -> T {
    let queue = WorkQueue { state: Mutex::default(), found: Condvar::new(), taken: Condvar::new() };
    let window = filters.len() * WINDOW;
    thread::scope(|scope| {
        let _end = Ending(&queue);
        for filter in filters {
            let queue = &queue;
            scope.spawn(move || queue.work(split, filter, window));
        }
        work(&queue)
    })
}

/// Ends the workers however the collector ends.
struct Ending<'a>(&'a WorkQueue);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.lock().end = true;
        self.0.taken.notify_all();
    }
}

/// Lets the collector not wait for a worker that is gone.
struct Panicked<'a>(&'a WorkQueue);

impl Drop for Panicked<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().end = true;
            self.0.found.notify_all();
        }
    }
}

impl WorkQueue {
    fn lock(&self) -> MutexGuard<'_, Work> {
        lock(&self.state)
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

    /// The next group to work on, and memory for it; none when there are no more, or all is to end.
    fn job(&self, split: &Split, window: usize) -> Option<(usize, Found)> {
        let ready = |work: &mut Work| !work.end && work.next < split.len() && work.next >= work.taken + window;
        let mut work = self.taken.wait_while(self.lock(), ready).unwrap_or_else(PoisonError::into_inner);
        if work.end || work.next >= split.len() {
            return None;
        }
        work.next += 1;
        Some((work.next - 1, work.free.pop().unwrap_or_default()))
    }

    /// What was found in a group, waiting for it.
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
    /// Finds a group's packets and filters them.
    fn fill(&mut self, split: &Split, index: usize, from: Option<u64>, filter: &mut Filter) {
        split.read(index, from, &mut self.group);
        self.usable = self.group.begin().is_some() && self.select(split, filter).is_ok() && split.is_whole();
    }

    fn select(&mut self, split: &Split, filter: &mut Filter) -> Result<(), Error> {
        for (number, burst) in self.group.bursts(split, BURST, 0).enumerate() {
            if self.selections.len() == number {
                self.selections.push(Selection::default());
            }
            filter.select(&burst, &mut self.selections[number])?;
        }
        Ok(())
    }
}

/// Puts the groups together.
struct Collector<'a> {
    split: &'a Split,
    filter: Filter,
    /// Where the next record begins.
    at: u64,
    /// Packets taken.
    packets: u64,
    /// Packets read before.
    before: u64,
    /// The file was made shorter, perhaps before all of what was taken was looked at.
    torn: bool,
}

impl Collector<'_> {
    /// Takes what workers find.
    fn take_all<B>(
        &mut self,
        queue: &WorkQueue,
        take: &mut impl FnMut(Burst<'_>, &mut Selection, u64) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for index in 0..self.split.len() {
            let mut found = queue.found(index);
            if !self.take_group(&mut found, index, take)? {
                break;
            }
            queue.give_back(found);
        }
        ControlFlow::Continue(())
    }

    /// Finds and takes.
    fn take_alone<B>(&mut self, take: &mut impl FnMut(Burst<'_>, &mut Selection, u64) -> ControlFlow<B>) -> ControlFlow<B> {
        let mut found = Found::default();
        for index in 0..self.split.len() {
            if self.at < self.split.end_of(index) {
                found.fill(self.split, index, Some(self.at), &mut self.filter);
            }
            if !self.take_group(&mut found, index, take)? {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    /// False where nothing more can be taken.
    fn take_group<B>(
        &mut self,
        found: &mut Found,
        index: usize,
        take: &mut impl FnMut(Burst<'_>, &mut Selection, u64) -> ControlFlow<B>,
    ) -> ControlFlow<B, bool> {
        // A record of the groups before may end in a later one.
        if self.at >= self.split.end_of(index) {
            return ControlFlow::Continue(true);
        }
        if !(found.usable && found.group.begin() == Some(self.at)) {
            found.fill(self.split, index, Some(self.at), &mut self.filter);
        }
        if found.usable {
            let flow = self.take(found, take);
            self.torn = !self.split.is_whole();
            flow?;
        }
        ControlFlow::Continue(found.usable && !found.group.is_ended() && !self.torn)
    }

    fn take<B>(&mut self, found: &mut Found, take: &mut impl FnMut(Burst<'_>, &mut Selection, u64) -> ControlFlow<B>) -> ControlFlow<B> {
        let end = found.group.end().unwrap_or(self.at);
        for (burst, selection) in found.group.bursts(self.split, BURST, self.before + self.packets).zip(&mut found.selections) {
            self.packets += burst.len() as u64;
            take(burst, selection, end)?;
        }
        self.at = end;
        ControlFlow::Continue(())
    }
}
