//! The primitives: the standard library's, or those of the model that tests are built for.
//!
//! Models have no time. There a wait that is a fallback never ends by itself ([`wait`]), so that a
//! wake-up that is lost is found; one that is meant to end, to look around, ends at once
//! ([`look`]).

#[cfg(all(test, loom))]
pub(crate) use loom::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    sync::{Arc, Condvar, Mutex, MutexGuard},
};
#[cfg(all(test, shuttle))]
pub(crate) use shuttle::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    sync::{Arc, Condvar, Mutex, MutexGuard},
};
#[cfg(not(all(test, any(loom, shuttle))))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence},
    sync::{Arc, Condvar, Mutex, MutexGuard},
};

use std::sync::{LockResult, PoisonError};
use std::time::Duration;

/// What a lock gives, whatever became of others that held it: what is locked here is whole at any
/// time.
pub(crate) fn whole<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    whole(shared.lock())
}

/// Waits for a change, or so long; whether it was so long.
pub(crate) fn wait<'l, T>(changed: &Condvar, guard: MutexGuard<'l, T>, most: Duration) -> (MutexGuard<'l, T>, bool) {
    let (guard, timeout) = whole(changed.wait_timeout(guard, most));
    (guard, timeout.timed_out())
}

/// Waits for a change, or so long, where looking around from time to time is part of it; whether it
/// was so long.
pub(crate) fn look<'l, T>(shared: &'l Mutex<T>, changed: &Condvar, guard: MutexGuard<'l, T>, most: Duration) -> (MutexGuard<'l, T>, bool) {
    if cfg!(all(test, any(loom, shuttle))) {
        drop(guard);
        #[cfg(all(test, loom))]
        loom::thread::yield_now();
        #[cfg(all(test, shuttle))]
        shuttle::thread::yield_now();
        return (lock(shared), true);
    }
    wait(changed, guard, most)
}
