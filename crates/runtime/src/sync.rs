//! The primitives of transactions: the standard library's, or those of the model that tests are
//! built for (`scripts/models`).
//!
//! Everything else in this crate uses the standard library's in models, too: it is not part of what
//! they look at.

#[cfg(all(test, loom))]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};
#[cfg(all(test, shuttle))]
pub(crate) use shuttle::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};
#[cfg(not(all(test, any(loom, shuttle))))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};

/// Takes a lock, also where a thread has failed while it had it.
pub(crate) fn lock<T: ?Sized>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Lets another thread go on that may do what is waited for. True: it is to be looked at again at
/// once.
pub(crate) fn spins() -> bool {
    #[cfg(all(test, loom))]
    loom::thread::yield_now();
    #[cfg(all(test, shuttle))]
    shuttle::thread::yield_now();
    #[cfg(not(all(test, any(loom, shuttle))))]
    std::hint::spin_loop();
    // Models have no time: who looks again has others run first.
    !cfg!(all(test, any(loom, shuttle)))
}
