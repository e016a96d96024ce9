//! Bounded channels of batches between stages.
//!
//! Own code rather than `std::sync::mpsc`: how many batches wait is told while packets flow, and a sender that waits for room can be let go on.
//!
//! Invariants:
//! - At most [`DEPTH`] batches wait. While somebody waits for an answer of the sources ([`Relief`]) more may: in the middle of a turn, held up until their batch is taken, they would
//!   never answer who is to take it. That is at most what they read in one turn for each answer, and who serves requests waits until no more wait than else ([`Level`]).
//! - A channel whose other side is gone says so; what was sent before is received first.

use super::{DEPTH, lock};
use runtime::graph::ring::Batch;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a sender that waits looks whether it is to go on.
const LOOK: Duration = Duration::from_millis(1);

/// Senders go on, room or not, while this is held.
#[derive(Debug, Default)]
pub(super) struct Relief(AtomicUsize);

impl Relief {
    /// Until it is dropped.
    pub(super) fn hold(&self) -> Held<'_> {
        self.0.fetch_add(1, Ordering::AcqRel);
        Held(self)
    }

    fn is_held(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

/// A relief that is held.
pub(super) struct Held<'r>(&'r Relief);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[derive(Default)]
struct Queue {
    batches: VecDeque<Batch>,
    no_sender: bool,
    no_receiver: bool,
}

/// What both sides have.
#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    waiting: AtomicUsize,
    relief: Arc<Relief>,
}

/// How many batches wait in a channel.
#[derive(Clone)]
pub(super) struct Level(Arc<Shared>);

impl Level {
    pub(super) fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }
}

pub(super) struct Sender(Arc<Shared>);

pub(super) struct Receiver(Arc<Shared>);

/// A channel whose sender goes on without room while that relief is held.
pub(super) fn channel(relief: &Arc<Relief>) -> (Sender, Receiver) {
    let shared = Arc::new(Shared { relief: Arc::clone(relief), ..Shared::default() });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl Sender {
    /// Waits for room, looking up from time to time. False if nobody receives any more.
    pub(super) fn send(&self, batch: Batch, mut between: impl FnMut()) -> bool {
        let Shared { queue: shared, changed, waiting, relief } = &*self.0;
        let mut queue = lock(shared);
        while queue.batches.len() >= DEPTH && !queue.no_receiver && !relief.is_held() {
            let (woken, timeout) = changed.wait_timeout(queue, LOOK).unwrap_or_else(PoisonError::into_inner);
            queue = woken;
            if timeout.timed_out() {
                drop(queue);
                between();
                queue = lock(shared);
            }
        }
        if queue.no_receiver {
            return false;
        }
        queue.batches.push_back(batch);
        waiting.store(queue.batches.len(), Ordering::Relaxed);
        drop(queue);
        changed.notify_one();
        true
    }
}

impl Receiver {
    /// Waits so long for a batch.
    pub(super) fn recv_timeout(&self, most: Duration) -> Result<Batch, RecvTimeoutError> {
        let Shared { queue, changed, waiting, .. } = &*self.0;
        let mut queue = lock(queue);
        let mut end = None;
        while queue.batches.is_empty() && !queue.no_sender {
            let left = end.get_or_insert_with(|| Instant::now() + most).saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(RecvTimeoutError::Timeout);
            }
            queue = changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let batch = queue.batches.pop_front().ok_or(RecvTimeoutError::Disconnected)?;
        waiting.store(queue.batches.len(), Ordering::Relaxed);
        drop(queue);
        changed.notify_one();
        Ok(batch)
    }

    /// Waits for a batch.
    pub(super) fn recv(&self) -> Result<Batch, RecvTimeoutError> {
        loop {
            match self.recv_timeout(super::NAP) {
                Err(RecvTimeoutError::Timeout) => {}
                result => return result,
            }
        }
    }

    pub(super) fn level(&self) -> Level {
        Level(Arc::clone(&self.0))
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        lock(&self.0.queue).no_sender = true;
        self.0.changed.notify_all();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        lock(&self.0.queue).no_receiver = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(5);

    #[test]
    fn batches_arrive_in_order_and_the_end_is_told() {
        let (sender, receiver) = channel(&Arc::default());
        let level = receiver.level();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for n in 0..100 {
                    let mut batch = Batch::default();
                    batch.spans(Some((n, n)));
                    assert!(sender.send(batch, || ()));
                }
            });
            for n in 0..100 {
                assert!(level.waiting() <= DEPTH);
                assert_eq!(receiver.recv().unwrap().span(), Some((n, n)));
            }
        });
        assert_eq!(receiver.recv().unwrap_err(), RecvTimeoutError::Disconnected);
        let (sender, receiver) = channel(&Arc::default());
        assert_eq!(receiver.recv_timeout(MOMENT).unwrap_err(), RecvTimeoutError::Timeout);
        drop(receiver);
        assert!(!sender.send(Batch::default(), || ()));
    }

    #[test]
    fn a_sender_waits_for_room_unless_it_is_relieved() {
        let relief = Arc::new(Relief::default());
        let (sender, receiver) = channel(&relief);
        let level = receiver.level();
        (0..DEPTH).for_each(|_| assert!(sender.send(Batch::default(), || ())));
        let (looks, looked) = std::sync::mpsc::channel();
        let sending = std::thread::spawn(move || {
            sender.send(Batch::default(), || {
                let _ = looks.send(());
            })
        });
        looked.recv().unwrap();
        assert!(!sending.is_finished() && level.waiting() == DEPTH);
        let held = relief.hold();
        assert!(sending.join().unwrap() && level.waiting() == DEPTH + 1);
        drop(held);
        assert!(!relief.is_held());
        drop(receiver);
    }
}
