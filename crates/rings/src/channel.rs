//! Bounded channels of whole epochs between stages.
//!
//! Own code rather than `std::sync::mpsc`: how many epochs wait is told while packets flow, and a
//! sender that waits for room can be let go on. There is a lock, taken once for an epoch of up to
//! 3,072 arrivals; bursts go through rings ([`crate::ring()`]), which have none that is waited for.
//!
//! Invariants:
//! - At most `depth` epochs wait. While somebody waits for an answer of the sources ([`Relief`])
//!   more may: in the middle of a turn, held up until their epoch is taken, they would never answer
//!   who is to take it. That is at most what they read in one turn for each answer, and who serves
//!   requests waits until no more wait than else ([`Level`]).
//! - A channel whose other side is gone says so; what was sent before is received first.
//! - Who is called ([`Level::call_sender`], [`Level::call_receiver`]) looks up from its wait at
//!   once, or instead of its next one: none is lost.

use crate::sync::{Arc, AtomicUsize, Condvar, Mutex, Ordering, lock, look, wait};
use std::collections::VecDeque;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// How often a sender that waits looks whether it is to go on.
const LOOK: Duration = Duration::from_millis(1);
/// The longest that a receiver sleeps at a time.
const NAP: Duration = Duration::from_millis(20);

/// Senders go on, room or not, while this is held.
#[derive(Default)]
pub struct Relief(AtomicUsize);

impl Relief {
    /// Until it is dropped.
    pub fn hold(&self) -> Held<'_> {
        self.0.fetch_add(1, Ordering::AcqRel);
        Held(self)
    }

    /// Whether it is held.
    pub fn is_held(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

/// A relief that is held.
pub struct Held<'r>(&'r Relief);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

struct Queue<T> {
    epochs: VecDeque<T>,
    no_sender: bool,
    no_receiver: bool,
    /// They are to look up.
    called_sender: bool,
    called_receiver: bool,
}

/// What both sides have.
struct Shared<T> {
    queue: Mutex<Queue<T>>,
    changed: Condvar,
    waiting: AtomicUsize,
    relief: Arc<Relief>,
    depth: usize,
}

/// How many epochs wait in a channel.
pub struct Level<T>(Arc<Shared<T>>);

impl<T> Clone for Level<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Level<T> {
    /// As many.
    pub fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }

    /// Lets the sender look up if it waits for room, or when it does next.
    pub fn call_sender(&self) {
        lock(&self.0.queue).called_sender = true;
        self.0.changed.notify_all();
    }

    /// Lets the receiver look up if it waits for an epoch, or when it does next.
    pub fn call_receiver(&self) {
        lock(&self.0.queue).called_receiver = true;
        self.0.changed.notify_all();
    }
}

/// The side that sends.
pub struct Sender<T>(Arc<Shared<T>>);

/// The side that receives.
pub struct Receiver<T>(Arc<Shared<T>>);

/// A channel of that depth, whose sender goes on without room while that relief is held.
pub fn channel<T>(depth: usize, relief: &Arc<Relief>) -> (Sender<T>, Receiver<T>) {
    let epochs = VecDeque::new();
    let queue = Mutex::new(Queue { epochs, no_sender: false, no_receiver: false, called_sender: false, called_receiver: false });
    let shared = Arc::new(Shared { queue, changed: Condvar::new(), waiting: AtomicUsize::new(0), relief: Arc::clone(relief), depth });
    (Sender(Arc::clone(&shared)), Receiver(shared))
}

impl<T> Sender<T> {
    /// Waits for room, looking up from time to time. False if nobody receives any more.
    pub fn send(&self, epoch: T, mut between: impl FnMut()) -> bool {
        let Shared { queue: shared, changed, waiting, relief, depth } = &*self.0;
        let mut queue = lock(shared);
        while queue.epochs.len() >= *depth && !queue.no_receiver && !relief.is_held() {
            let mut is_late = false;
            if !queue.called_sender {
                (queue, is_late) = look(shared, changed, queue, LOOK);
            }
            if std::mem::take(&mut queue.called_sender) || is_late {
                drop(queue);
                between();
                queue = lock(shared);
            }
        }
        if queue.no_receiver {
            return false;
        }
        queue.epochs.push_back(epoch);
        waiting.store(queue.epochs.len(), Ordering::Relaxed);
        drop(queue);
        changed.notify_one();
        true
    }

    /// For who wants to know how many wait, or calls.
    pub fn level(&self) -> Level<T> {
        Level(Arc::clone(&self.0))
    }
}

impl<T> Receiver<T> {
    /// Waits so long for an epoch, or until it is called.
    ///
    /// # Errors
    /// None came, or none will.
    pub fn recv_timeout(&self, most: Duration) -> Result<T, RecvTimeoutError> {
        let Shared { queue, changed, waiting, .. } = &*self.0;
        let mut queue = lock(queue);
        let mut end = None;
        while queue.epochs.is_empty() && !queue.no_sender {
            if std::mem::take(&mut queue.called_receiver) {
                return Err(RecvTimeoutError::Timeout);
            }
            let left = end.get_or_insert_with(|| Instant::now() + most).saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(RecvTimeoutError::Timeout);
            }
            queue = wait(changed, queue, left).0;
        }
        let epoch = queue.epochs.pop_front().ok_or(RecvTimeoutError::Disconnected)?;
        waiting.store(queue.epochs.len(), Ordering::Relaxed);
        drop(queue);
        changed.notify_one();
        Ok(epoch)
    }

    /// Waits for an epoch.
    ///
    /// # Errors
    /// None will come.
    pub fn recv(&self) -> Result<T, RecvTimeoutError> {
        loop {
            match self.recv_timeout(NAP) {
                Err(RecvTimeoutError::Timeout) => {}
                result => return result,
            }
        }
    }

    /// For who wants to know how many wait, or calls.
    pub fn level(&self) -> Level<T> {
        Level(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        lock(&self.0.queue).no_sender = true;
        self.0.changed.notify_all();
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        lock(&self.0.queue).no_receiver = true;
        self.0.changed.notify_all();
    }
}
