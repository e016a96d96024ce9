//! Locks of what graphs have in common.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock, also where a graph has failed while it had it.
pub(super) fn lock<T: ?Sized>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
