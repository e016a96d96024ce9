//! Wakes a thread that has nothing to do.
//!
//! Invariant: who makes work and then rings, and who says that it sleeps and then looks for work, do not miss each other: each does its part before a fence, and looks for the other's
//! behind it, so at least one of them sees what the other did.
//!
//! A bell that nobody sleeps at costs a fence and a load.

use crate::sync::{AtomicBool, Mutex, Ordering, Thread, current, fence, lock, park};
use std::time::Duration;

/// A thread's, which others ring.
#[derive(Default)]
pub struct Bell {
    asleep: AtomicBool,
    sleeper: Mutex<Option<Thread>>,
}

impl Bell {
    /// The calling thread is the one that is woken.
    pub fn attach(&self) {
        *lock(&self.sleeper) = Some(current());
    }

    /// Wakes the thread if it sleeps: what the caller did before is seen when it looks again.
    pub fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::AcqRel) {
            lock(&self.sleeper).iter().for_each(Thread::unpark);
        }
    }

    /// Sleeps until somebody rings, or so long, unless there is something to do. The calling thread is the one that was attached.
    pub fn wait(&self, is_ready: impl FnOnce() -> bool, most: Duration) {
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if !is_ready() {
            park(most);
        }
        self.asleep.store(false, Ordering::Relaxed);
    }
}
