//! A ring of bursts between one producer and one consumer.
//!
//! What is pushed is exchanged for what is in the place, and so is what is popped: bursts that were
//! used up go back to the producer with their memory, and nothing is allocated while packets flow.
//!
//! Invariants:
//! - A place is the producer's until `tail` is past it, and the consumer's until `head` is: the
//!   lock of a place, which makes this safe code, is never waited for. The models check that.
//! - What was pushed before the producer ended is popped before the end is told.
//!
//! Source: NRTE paper, section 3 (Figure 1); the counters are L. Lamport's ("Specifying concurrent
//! program modules", 1983), with each side's copy of the other's counter as in J. Giacomoni et al.,
//! "FastForward for efficient pipeline parallelism", 2008.

#[cfg(not(any(loom, shuttle)))]
use crate::sync::lock;
use crate::sync::{Arc, AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering};

/// What different threads write does not share a cache line, nor a pair of lines, which are fetched
/// together.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

struct Shared<T> {
    places: Box<[Apart<Mutex<T>>]>,
    /// How many were pushed.
    tail: Apart<AtomicUsize>,
    /// How many were popped.
    head: Apart<AtomicUsize>,
    /// Nothing more is pushed.
    ended: AtomicBool,
    /// Nothing more is popped.
    gone: AtomicBool,
}

impl<T> Shared<T> {
    /// A place that is the caller's.
    fn place(&self, at: usize) -> MutexGuard<'_, T> {
        let place = &self.places[at % self.places.len()].0;
        match place.try_lock() {
            Ok(guard) => guard,
            Err(_) => {
                // In models nobody fails. Elsewhere a thread may have, in the middle of an
                // exchange, which is whole nevertheless.
                #[cfg(any(loom, shuttle))]
                panic!("a place belongs to one side");
                #[cfg(not(any(loom, shuttle)))]
                lock(place)
            }
        }
    }
}

/// What became of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// Done; how many wait now, exactly if that is half of the room or more.
    Done(usize),
    /// There is no room.
    Full,
    /// Nobody pops any more.
    Gone,
}

/// What became of a pop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Popped {
    /// Done; how many wait still, at least; exactly if that is half of the room or less.
    Done(usize),
    /// Nothing is there.
    Empty,
    /// Nothing is there, and nothing will be.
    End,
}

/// The side that pushes.
pub struct Producer<T> {
    shared: Arc<Shared<T>>,
    at: usize,
    /// The consumer was there at least.
    seen: usize,
}

/// The side that pops.
pub struct Consumer<T> {
    shared: Arc<Shared<T>>,
    at: usize,
    /// The producer was there at least.
    seen: usize,
}

/// A ring with room for so many, at least one.
pub fn ring<T: Default>(room: usize) -> (Producer<T>, Consumer<T>) {
    let places = (0..room.max(1)).map(|_| Apart(Mutex::new(T::default()))).collect();
    let (tail, head) = (Apart(AtomicUsize::new(0)), Apart(AtomicUsize::new(0)));
    let shared = Arc::new(Shared { places, tail, head, ended: AtomicBool::new(false), gone: AtomicBool::new(false) });
    (Producer { shared: Arc::clone(&shared), at: 0, seen: 0 }, Consumer { shared, at: 0, seen: 0 })
}

impl<T> Producer<T> {
    /// Exchanges a value for one that was used up. If there is no room, or nobody pops any more,
    /// the value stays.
    pub fn push(&mut self, value: &mut T) -> Pushed {
        if !self.has_room() {
            return Pushed::Full;
        }
        if self.shared.gone.load(Ordering::Relaxed) {
            return Pushed::Gone;
        }
        std::mem::swap(&mut *self.shared.place(self.at), value);
        self.at = self.at.wrapping_add(1);
        self.shared.tail.0.store(self.at, Ordering::Release);
        if self.at.wrapping_sub(self.seen) * 2 >= self.room() {
            // It may be less: who wakes others for it looks closer.
            self.seen = self.shared.head.0.load(Ordering::Acquire);
        }
        Pushed::Done(self.at.wrapping_sub(self.seen))
    }

    /// Whether a push would not find the ring full. There is room where nobody pops any more.
    pub fn has_room(&mut self) -> bool {
        if self.at.wrapping_sub(self.seen) == self.shared.places.len() {
            self.seen = self.shared.head.0.load(Ordering::Acquire);
        }
        self.at.wrapping_sub(self.seen) < self.shared.places.len() || self.shared.gone.load(Ordering::Relaxed)
    }

    /// How many it has room for.
    pub fn room(&self) -> usize {
        self.shared.places.len()
    }
}

impl<T> Consumer<T> {
    /// Exchanges a value that was used up for the next one.
    pub fn pop(&mut self, value: &mut T) -> Popped {
        if self.is_empty() {
            return if self.has_ended() { Popped::End } else { Popped::Empty };
        }
        std::mem::swap(&mut *self.shared.place(self.at), value);
        self.at = self.at.wrapping_add(1);
        self.shared.head.0.store(self.at, Ordering::Release);
        if self.seen.wrapping_sub(self.at) * 2 <= self.room() {
            // It may be more.
            self.seen = self.shared.tail.0.load(Ordering::Acquire);
        }
        Popped::Done(self.seen.wrapping_sub(self.at))
    }

    /// Whether nothing is there.
    pub fn is_empty(&mut self) -> bool {
        if self.at == self.seen {
            self.seen = self.shared.tail.0.load(Ordering::Acquire);
        }
        self.at == self.seen
    }

    /// Whether nothing is there and nothing will be.
    pub fn has_ended(&mut self) -> bool {
        // The producer's last push is before its end.
        self.gets_no_more() && self.is_empty()
    }

    /// Whether nothing will be pushed any more; something may be there still.
    pub fn gets_no_more(&self) -> bool {
        self.shared.ended.load(Ordering::Acquire)
    }

    /// How many it has room for.
    pub fn room(&self) -> usize {
        self.shared.places.len()
    }

    /// Whether everything that was pushed has been popped, for who is neither side.
    pub(crate) fn watch(&self) -> impl Fn() -> usize + Send + Sync + use<T>
    where
        T: Send,
    {
        let shared = Arc::clone(&self.shared);
        move || {
            let head = shared.head.0.load(Ordering::Acquire);
            shared.tail.0.load(Ordering::Acquire).wrapping_sub(head)
        }
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.shared.gone.store(true, Ordering::Release);
    }
}
