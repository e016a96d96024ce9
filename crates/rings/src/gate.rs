//! A gate that those pass who bring work in: closed, everything behind them comes to rest.
//!
//! Invariant: while it is closed, each of those who pass it either waits at it, or has left, for
//! good or until it comes again.

use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, lock, wait};
use std::time::Duration;

#[derive(Default)]
struct State {
    closed: bool,
    /// How many are not at the gate.
    inside: usize,
}

/// The gate.
#[derive(Default)]
pub struct Gate {
    /// Whether it is worth a look.
    closed: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

/// A gate that is closed, until this is dropped.
pub struct Closed<'g>(&'g Gate);

impl Gate {
    /// One more will pass it.
    pub fn enter(&self) {
        lock(&self.state).inside += 1;
    }

    /// One that has left comes again: waits as long as it is closed.
    pub fn come_again(&self) {
        let mut state = lock(&self.state);
        while state.closed {
            state = wait(&self.changed, state, Duration::from_millis(20)).0;
        }
        state.inside += 1;
    }

    /// One has left.
    pub fn leave(&self) {
        lock(&self.state).inside -= 1;
        self.changed.notify_all();
    }

    /// Whether who passes would have to wait.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Waits as long as it is closed.
    pub fn pass(&self) {
        if !self.is_closed() {
            return;
        }
        let mut state = lock(&self.state);
        state.inside -= 1;
        self.changed.notify_all();
        while state.closed {
            state = wait(&self.changed, state, Duration::from_millis(20)).0;
        }
        state.inside += 1;
    }

    /// Closes it and waits until nobody is inside; none if that takes longer.
    pub fn close(&self, most: Duration) -> Option<Closed<'_>> {
        let mut state = lock(&self.state);
        // One after the other.
        while state.closed {
            state = wait(&self.changed, state, most).0;
        }
        state.closed = true;
        self.closed.store(true, Ordering::Relaxed);
        let closed = Closed(self);
        let mut is_late = false;
        while state.inside > 0 && !is_late {
            (state, is_late) = wait(&self.changed, state, most);
        }
        let all = state.inside == 0;
        drop(state);
        all.then_some(closed)
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).closed = false;
        self.0.closed.store(false, Ordering::Relaxed);
        self.0.changed.notify_all();
    }
}
