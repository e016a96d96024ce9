//! The threads of a run as they are told of and moved: names, cores, how much each has done and how
//! much waits for it.
//!
//! A thread moves itself, between two batches: so nothing that it does is interrupted, no packet is
//! lost, and none overtakes another. What others send it meanwhile waits in its channel,
//! [`DEPTH`](super::DEPTH) batches at most; then those before it wait.
//!
//! A thread that nobody moved may be where the thread could be that began the run: the system lets
//! a thread inherit the cores of the one that begins it, which may have been moved by then.
//!
//! Source: sched_setaffinity(2).

use super::agreed::Agreements;
use super::channel::Level;
use super::{Stage, lock};
use runtime::graph::ring::Looks;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// No core of its own.
const ANY: usize = usize::MAX;

/// The cores that threads of a run begin on.
#[derive(Clone, Copy)]
pub(super) struct Affinity(Option<CpuSet>);

impl Affinity {
    /// Those of the calling thread.
    pub(super) fn of_caller() -> Self {
        Self(sched_getaffinity(None).ok())
    }

    /// Lets the calling thread be on these.
    pub(super) fn set(&self) {
        // They were allowed before; if they are not any more it stays where it is.
        let _ = self.0.map(|set| sched_setaffinity(None, &set));
    }
}

/// What is known of a thread of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// `sources`, `replica N`, `in order`.
    pub name: String,
    /// The system's number of it.
    pub id: u32,
    /// The core that it was moved to, if it was.
    pub core: Option<usize>,
    /// Packets that came to it.
    pub packets: u64,
    /// Epochs that wait for it, and the most that do while packets flow.
    pub waiting: Option<(usize, usize)>,
    /// False of a replica that gets no packets at present.
    pub active: bool,
    /// For how long it was on a core and only looked for frames.
    pub looked: Duration,
}

/// Where a thread is to run, and who waits for that.
type Wish = (Option<usize>, Sender<io::Result<Duration>>);

/// What a thread writes down of itself, and what others want of it.
pub(super) struct Gauge {
    name: String,
    pub(super) stage: Stage,
    id: AtomicU32,
    core: AtomicUsize,
    packets: AtomicU64,
    levels: Mutex<Vec<Level>>,
    /// Where it waits for room.
    outlets: Mutex<Vec<Level>>,
    wishes: Mutex<Vec<Wish>>,
    /// Somebody wants something: a move, or an answer.
    asked: AtomicBool,
    /// For how long it has only looked for frames.
    pub(super) looks: Looks,
    /// What it writes when other replicas do.
    pub(super) agreements: Agreements,
}

impl Gauge {
    pub(super) fn new(name: &str, stage: Stage) -> Self {
        let (id, core, packets) = (AtomicU32::new(0), AtomicUsize::new(ANY), AtomicU64::new(0));
        let (levels, outlets, wishes, asked) = (Mutex::default(), Mutex::default(), Mutex::default(), AtomicBool::new(false));
        let (looks, agreements) = (Looks::default(), Agreements::default());
        Self { name: name.to_owned(), stage, id, core, packets, levels, outlets, wishes, asked, looks, agreements }
    }

    /// The calling thread is it.
    pub(super) fn begin(&self) {
        self.id.store(gettid().as_raw_nonzero().get().cast_unsigned(), Ordering::Relaxed);
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What waits there waits for it.
    pub(super) fn waits(&self, level: Level) {
        lock(&self.levels).push(level);
    }

    /// What waits there, and nothing else, waits for it from now on.
    pub(super) fn waits_only(&self, levels: impl Iterator<Item = Level>) {
        *lock(&self.levels) = levels.collect();
    }

    /// It waits there for room.
    pub(super) fn sends(&self, level: Level) {
        lock(&self.outlets).push(level);
    }

    pub(super) fn count(&self, packets: usize) {
        self.packets.fetch_add(packets as u64, Ordering::Relaxed);
    }

    /// Somebody wants something of the thread: it looks up from its wait.
    pub(super) fn asks(&self) {
        self.asked.store(true, Ordering::Release);
        lock(&self.levels).iter().for_each(Level::call_receiver);
        lock(&self.outlets).iter().for_each(Level::call_sender);
    }

    /// Whether somebody did since this was asked last.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) && self.asked.swap(false, Ordering::AcqRel)
    }

    /// Wants it to move, between two batches.
    pub(super) fn wish(&self, wish: Wish) {
        lock(&self.wishes).push(wish);
    }

    /// The calling thread, which is it, moves where it is wanted.
    pub(super) fn make_moves(&self) {
        for (core, reply) in lock(&self.wishes).drain(..) {
            // Who asked may have gone.
            let _ = reply.send(self.move_to(core));
        }
    }

    /// Whether more waits for it than does while packets flow and nobody asks anything.
    pub(super) fn is_behind(&self) -> bool {
        lock(&self.levels).iter().any(|level| level.waiting() > super::DEPTH)
    }

    /// Moves the calling thread, which is it; how long that took.
    pub(super) fn move_to(&self, core: Option<usize>) -> io::Result<Duration> {
        let took = pin(core)?;
        self.core.store(core.unwrap_or(ANY), Ordering::Relaxed);
        Ok(took)
    }

    /// Whether it was moved to a core.
    pub(super) fn is_moved(&self) -> bool {
        self.core.load(Ordering::Relaxed) != ANY
    }

    pub(super) fn thread(&self, active: bool) -> Thread {
        let core = Some(self.core.load(Ordering::Relaxed)).filter(|core| *core != ANY);
        let waiting = lock(&self.levels).iter().map(Level::waiting).max().map(|most| (most, super::DEPTH));
        let (id, packets) = (self.id.load(Ordering::Relaxed), self.packets.load(Ordering::Relaxed));
        Thread { name: self.name.clone(), id, core, packets, waiting, active, looked: self.looks.so_far() }
    }
}

/// Whether a name is that of a thread, blanks aside: `replica0` is `replica 0`.
pub(crate) fn is_called(name: &str, wanted: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    letters(name) == letters(wanted)
}

/// Moves the calling thread to a core, or lets it run on all that the process may use; how long
/// that took: the thread runs there when this returns.
///
/// # Errors
/// There is no such core, or it is not for this process.
pub fn pin(core: Option<usize>) -> io::Result<Duration> {
    let mut set = CpuSet::new();
    let there = |core: usize| core < CpuSet::MAX_CPU;
    match core {
        Some(core) if there(core) => set.set(core),
        Some(_) => {}
        None => (0..CpuSet::MAX_CPU).for_each(|core| set.set(core)),
    }
    let begun = Instant::now();
    match sched_setaffinity(None, &set) {
        Ok(()) => Ok(begun.elapsed()),
        Err(error) => Err(match core {
            Some(core) => io::Error::other(format!("core {core} is not there, or not for this process; there are {}", online())),
            None => error.into(),
        }),
    }
}

/// The cores that there are, as the system writes it: `0-3`.
fn online() -> String {
    std::fs::read_to_string("/sys/devices/system/cpu/online").map_or_else(|_| "others".to_owned(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_moves_itself() {
        let gauge = Gauge::new("replica 3", Stage::Replica);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                gauge.begin();
                assert!(gauge.move_to(Some(0)).is_ok());
                let on = rustix::thread::sched_getaffinity(None).unwrap();
                assert!(on.count() == 1 && on.is_set(0));
                assert!(gauge.move_to(Some(CpuSet::MAX_CPU + 1)).unwrap_err().to_string().contains("is not there"));
                assert!(gauge.move_to(Some(1000)).is_err());
                assert_eq!(gauge.thread(true).core, Some(0), "it stays where it was");
                assert!(gauge.move_to(None).is_ok());
                let on = rustix::thread::sched_getaffinity(None).unwrap();
                assert_eq!(on.count() as usize, std::thread::available_parallelism().unwrap().get());
            });
        });
        gauge.count(5);
        let told = gauge.thread(false);
        assert_eq!((told.name.as_str(), told.core, told.packets, told.waiting, told.active), ("replica 3", None, 5, None, false));
        assert!(told.id > 0 && is_called("replica 3", "replica3") && !is_called("replica 3", "replica"));
    }
}
