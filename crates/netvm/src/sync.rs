//! What threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock, also where a thread has failed while it had it.
pub(crate) fn lock<T: ?Sized>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
