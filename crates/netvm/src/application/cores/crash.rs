//! Threads of a run that fail. A panic is a fault of netvm's, and packets are missing: the run
//! ends, tells which thread it was, and knows what that had recorded.
//!
//! The other threads end as they do when a run ends: who waits for the one that is gone sees that
//! its ends of channels are.

use super::{Graph, lock};
use crate::control::why::{self, Noted};
use netil::fault::{caught, said};
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// A thread that has failed.
#[derive(Clone)]
pub(super) struct Crash {
    pub thread: String,
    /// What the panic said.
    pub why: String,
    /// What its graph had recorded; none if nothing was.
    pub packets: Option<Vec<Noted>>,
}

/// Those of a run.
#[derive(Default)]
pub(super) struct Crashes {
    some: AtomicBool,
    all: Mutex<Vec<Crash>>,
}

impl Crashes {
    /// Whether one has failed.
    pub(super) fn are_there(&self) -> bool {
        self.some.load(Ordering::Acquire)
    }

    pub(super) fn all(&self) -> Vec<Crash> {
        lock(&self.all).clone()
    }

    /// Does the work of a thread with its graph. Of one that panics what is known is kept, and the
    /// panic goes on.
    pub(super) fn watch(&self, thread: &str, graph: &mut Graph, work: impl FnOnce(&mut Graph)) {
        // The graph is only looked at afterwards.
        let Err(panic) = caught(|| work(graph)) else { return };
        let packets = caught(|| why::noted(graph)).unwrap_or_default();
        lock(&self.all).push(Crash { thread: thread.to_owned(), why: said(&*panic), packets });
        self.some.store(true, Ordering::Release);
        resume_unwind(panic)
    }
}
