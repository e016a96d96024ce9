//! The rings that a thread takes bursts from, in turn, and whether it is at rest.
//!
//! Invariant: where [`Rest::is_at_rest`] says so, everything that was pushed by then has been taken
//! and worked through: the thread says that it works before it takes anything, and that it rests
//! after it has handed on what came of it. So if the threads before it are at rest and stay so,
//! this one stays so.

use crate::bell::Bell;
use crate::ring::{Consumer, Popped};
use crate::sync::{Arc, AtomicBool, Ordering};
use std::time::Duration;

/// What there is to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Got {
    /// A burst of the ring with this number.
    One(usize),
    /// Nothing at present.
    Nothing,
    /// Nothing any more.
    End,
}

/// How many bursts wait in a ring.
type Watch = Box<dyn Fn() -> usize + Send + Sync>;

/// What others see of a thread that takes bursts.
pub struct Rest {
    works: AtomicBool,
    rings: Vec<Watch>,
}

impl Rest {
    /// Whether all that was pushed has been worked through.
    pub fn is_at_rest(&self) -> bool {
        // In this order: a burst that is not in its ring any more is with a thread that has said
        // that it works.
        self.waiting() == 0 && !self.works.load(Ordering::Acquire)
    }

    /// Bursts that wait, of all rings together.
    pub fn waiting(&self) -> usize {
        self.rings.iter().map(|waiting| waiting()).sum()
    }
}

/// A ring, and who waits for room in it.
type Ring<T> = (Consumer<T>, Arc<Bell>);

/// The rings of a thread.
pub struct Inputs<T> {
    rings: Vec<Ring<T>>,
    rest: Arc<Rest>,
    works: bool,
    next: usize,
}

impl<T: Send + 'static> Inputs<T> {
    /// Those rings, each with its producer's bell.
    pub fn new(rings: Vec<Ring<T>>) -> Self {
        let watches = rings.iter().map(|(ring, _)| Box::new(ring.watch()) as Watch).collect();
        Self { rings, rest: Arc::new(Rest { works: AtomicBool::new(false), rings: watches }), works: false, next: 0 }
    }

    /// What others see.
    pub fn rest(&self) -> Arc<Rest> {
        Arc::clone(&self.rest)
    }

    /// Exchanges a burst that was used up for the next one; rings take turns.
    pub fn take(&mut self, burst: &mut T) -> Got {
        for _ in 0..self.rings.len() {
            let at = self.next;
            self.next = if at + 1 == self.rings.len() { 0 } else { at + 1 };
            let (ring, producer) = &mut self.rings[at];
            if ring.is_empty() {
                continue;
            }
            if !std::mem::replace(&mut self.works, true) {
                self.rest.works.store(true, Ordering::Release);
            }
            let Popped::Done(left) = ring.pop(burst) else { continue };
            // Who waits for room is woken when there is room for more than one burst.
            if left <= ring.room() / 2 {
                producer.ring();
            }
            return Got::One(at);
        }
        if self.rings.iter_mut().all(|(ring, _)| ring.has_ended()) { Got::End } else { Got::Nothing }
    }

    /// All that was taken has been worked through, and what came of it handed on.
    pub fn rests(&mut self) {
        if std::mem::replace(&mut self.works, false) {
            self.rest.works.store(false, Ordering::Release);
        }
    }

    /// Sleeps at the thread's own bell until something comes or ends, or so long.
    pub fn wait(&mut self, bell: &Bell, most: Duration) {
        let rings = &mut self.rings;
        // Of rings that have all ended, one may have something that was not there at the first
        // look.
        bell.wait(|| rings.iter_mut().any(|(ring, _)| !ring.is_empty()) || rings.iter().all(|(ring, _)| ring.gets_no_more()), most);
    }
}

impl<T> Drop for Inputs<T> {
    fn drop(&mut self) {
        for (ring, producer) in self.rings.drain(..) {
            drop(ring);
            producer.ring();
        }
    }
}
