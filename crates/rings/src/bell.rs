//! Wakes a thread that has nothing to do.
//!
//! Invariant: who makes work and then rings, and who says that it sleeps and then looks for work,
//! do not miss each other: each does its part before a fence, and looks for the other's behind it,
//! so at least one of them sees what the other did.
//!
//! A bell that nobody sleeps at costs a fence and a load.

use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, fence, lock, wait};
use std::time::Duration;

/// A thread's, which others ring.
#[derive(Default)]
pub struct Bell {
    asleep: AtomicBool,
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    /// Wakes the thread if it sleeps: what the caller did before is seen when it looks again.
    pub fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::AcqRel) {
            *lock(&self.rung) = true;
            self.changed.notify_one();
        }
    }

    /// Sleeps until somebody rings, or so long, unless there is something to do. One thread at a
    /// time.
    pub fn wait(&self, is_ready: impl FnOnce() -> bool, most: Duration) {
        // An exchange comes behind all others of their order, so that who rings sees it and not his
        // own earlier one.
        self.asleep.swap(true, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        if !is_ready() {
            let mut rung = lock(&self.rung);
            if !*rung {
                // It may end early: who waits looks again anyway.
                rung = wait(&self.changed, rung, most).0;
            }
            *rung = false;
        }
        self.asleep.swap(false, Ordering::AcqRel);
    }
}
