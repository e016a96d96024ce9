//! A thread of a pipeline, as others see it: what it has counted, what they want of it, and whether
//! it has ended. A move is made by the thread itself, between two bursts.

use super::Work;
use crate::application::{HandlerError, pin};
use crate::sync::lock;
use rings::{Bell, Gate};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// No core of its own.
const ANY: usize = usize::MAX;

/// What all threads of a pipeline know.
#[derive(Default)]
pub(super) struct Run {
    stops: AtomicBool,
    pub gate: Gate,
}

impl Run {
    pub fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    pub fn is_stopping(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }
}

/// What others want of a thread.
pub(super) enum Request {
    Move(Option<usize>, Sender<io::Result<Duration>>),
    Read(String, String, Sender<Result<String, HandlerError>>),
    Write(String, String, Sender<Result<(), HandlerError>>),
}

/// A thread, as others see it.
pub(super) struct Own {
    pub run: Arc<Run>,
    pub bell: Arc<Bell>,
    core: AtomicUsize,
    packets: AtomicU64,
    bursts: AtomicU64,
    sent: AtomicU64,
    lost: AtomicU64,
    requests: Mutex<Vec<Request>>,
    asked: AtomicBool,
    ended: AtomicBool,
}

/// What a thread has counted: packets that came, bursts, packets that it sent, packets that nobody
/// took.
pub(super) type Counted = [u64; 4];

/// Only the thread itself writes its counters.
fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

impl Own {
    pub fn new(run: &Arc<Run>) -> Self {
        Self {
            run: Arc::clone(run),
            bell: Arc::default(),
            core: AtomicUsize::new(ANY),
            packets: AtomicU64::default(),
            bursts: AtomicU64::default(),
            sent: AtomicU64::default(),
            lost: AtomicU64::default(),
            requests: Mutex::default(),
            asked: AtomicBool::default(),
            ended: AtomicBool::default(),
        }
    }

    pub fn sent(&self, count: u64) {
        add(&self.sent, count);
    }

    pub fn lost(&self, count: u64) {
        add(&self.lost, count);
    }

    pub fn came(&self, count: usize) {
        add(&self.packets, count as u64);
        add(&self.bursts, 1);
    }

    pub fn counted(&self) -> Counted {
        [&self.packets, &self.bursts, &self.sent, &self.lost].map(|counter| counter.load(Ordering::Relaxed))
    }

    /// The core that it was moved to, if it was.
    pub fn core(&self) -> Option<usize> {
        Some(self.core.load(Ordering::Relaxed)).filter(|core| *core != ANY)
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Wants something of the thread. One that has ended does not answer: the sender of the
    /// request's reply is dropped.
    pub fn ask(&self, request: Request) {
        let mut requests = lock(&self.requests);
        if !self.has_ended() {
            requests.push(request);
            self.asked.store(true, Ordering::Release);
        }
        drop(requests);
        self.bell.ring();
    }

    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed) && self.asked.swap(false, Ordering::AcqRel)
    }

    /// Answers requests that need not wait for the end of a burst: moves. The calling thread is
    /// this one.
    pub fn answer_moves(&self) {
        if !self.is_asked() {
            return;
        }
        let mut requests = lock(&self.requests);
        let (moves, others): (Vec<_>, Vec<_>) = requests.drain(..).partition(|request| matches!(request, Request::Move(..)));
        if !others.is_empty() {
            self.asked.store(true, Ordering::Release);
        }
        *requests = others;
        drop(requests);
        moves.into_iter().for_each(|request| self.answer(request, None));
    }

    /// Answers requests, between two bursts.
    pub fn answer_all(&self, mut work: Option<&mut dyn Work>) {
        if self.is_asked() {
            let requests: Vec<_> = lock(&self.requests).drain(..).collect();
            for request in requests {
                match &mut work {
                    Some(work) => self.answer(request, Some(&mut **work)),
                    None => self.answer(request, None),
                }
            }
        }
    }

    /// Who asked may have gone.
    fn answer(&self, request: Request, work: Option<&mut dyn Work>) {
        let none = || Err(HandlerError::NoHandler("an input has no handlers".to_owned()));
        match request {
            Request::Move(core, reply) => {
                let took = pin(core);
                if took.is_ok() {
                    self.core.store(core.unwrap_or(ANY), Ordering::Relaxed);
                }
                drop(reply.send(took));
            }
            Request::Read(handler, text, reply) => drop(reply.send(work.map_or_else(none, |work| work.read(&handler, &text)))),
            Request::Write(handler, text, reply) => {
                drop(reply.send(work.map_or_else(|| none().map(drop), |work| work.write(&handler, &text))));
            }
        }
    }
}

/// Says that a thread has ended, however it does. If it failed, the run ends.
pub(super) struct Ending {
    pub own: Arc<Own>,
    /// It passes the gate, and is inside.
    pub passes: bool,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.own.run.stop();
        }
        if self.passes {
            self.own.run.gate.leave();
        }
        let mut requests = lock(&self.own.requests);
        self.own.ended.store(true, Ordering::Release);
        requests.clear();
    }
}
