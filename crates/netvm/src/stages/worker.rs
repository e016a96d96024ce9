//! The threads of a pipeline: one for each input and each replica of a stage.
//!
//! A thread that has nothing to do looks around for a moment and then sleeps, until a packet comes
//! or something is asked of it. A move is made by the thread itself, between two bursts.

use super::{Burst, Input, NotMade, Outlets, StageError, Turn, Work};
use crate::application::{HandlerError, pin};
use crate::sync::lock;
use rings::{Bell, Gate, Got, Inputs, Rest};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// No core of its own.
const ANY: usize = usize::MAX;
/// The longest sleep without a look around.
const NAP: Duration = Duration::from_millis(20);
/// The longest sleep of an input that has nothing at present.
const MOST_IDLE: Duration = Duration::from_millis(1);
/// Looks at empty rings before a thread sleeps.
const LOOKS: u32 = 64;
/// Bursts, or turns of an input, between two times when everything goes on though the thread is
/// busy.
const BUSY: u32 = 32;

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

    fn came(&self, count: usize) {
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
    fn answer_all(&self, mut work: Option<&mut dyn Work>) {
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

/// What a thread says when it is ready, and what lets it go on.
pub(super) struct Begin {
    pub ready: Sender<Result<(), StageError>>,
    pub go: Receiver<()>,
}

impl Begin {
    /// Whether the run begins.
    fn begins(self, made: Result<(), StageError>) -> bool {
        let good = made.is_ok();
        // Who began the threads waits for all of them, so is there.
        let _ = self.ready.send(made);
        good && self.go.recv().is_ok()
    }
}

/// An input, until it has ended.
pub(super) fn run_input(own: &Own, mut function: Input, mut outlets: Outlets, begin: Begin) {
    if !begin.begins(Ok(())) {
        return;
    }
    let (mut busy, mut nap) = (0, Duration::ZERO);
    while !own.run.is_stopping() {
        own.answer_all(None);
        if own.run.gate.is_closed() {
            outlets.flush();
            own.run.gate.pass();
        }
        match function(&mut outlets) {
            Turn::More => {
                (busy, nap) = (busy + 1, Duration::ZERO);
                if busy >= BUSY {
                    busy = 0;
                    outlets.flush();
                }
            }
            Turn::Idle => {
                busy = 0;
                outlets.flush();
                nap = (nap * 2 + Duration::from_micros(10)).min(MOST_IDLE);
                own.bell.wait(|| own.run.is_stopping(), nap);
            }
            Turn::End => break,
        }
    }
}

/// Makes the work of a replica.
pub(super) type Make = dyn Fn(usize) -> Result<Box<dyn Work>, NotMade> + Send + Sync;

/// A replica of a stage, until nothing comes any more.
pub(super) fn run_replica(own: &Own, (make, replica): (&Make, usize), mut inputs: Inputs<Burst>, mut outlets: Outlets, begin: Begin) {
    let (made, work) = match make(replica) {
        Ok(work) => (Ok(()), Some(work)),
        Err(error) => (Err(StageError::NotMade(error.to_string())), None),
    };
    let (true, Some(mut work)) = (begin.begins(made), work) else { return };
    let (mut burst, mut busy, mut looks) = (Burst::default(), 0, 0);
    loop {
        own.answer_all(Some(&mut *work));
        match inputs.take(&mut burst) {
            Got::One(_) => {
                own.came(burst.len());
                work.run(&mut burst, &mut outlets);
                burst.clear();
                (busy, looks) = (busy + 1, 0);
                if busy >= BUSY {
                    busy = 0;
                    outlets.flush();
                }
            }
            Got::Nothing => {
                outlets.flush();
                inputs.rests();
                busy = 0;
                rest(own, &mut inputs, &mut looks);
            }
            Got::End => break,
        }
    }
    work.end(&mut outlets);
    outlets.flush();
    inputs.rests();
}

/// Looks around, and then sleeps.
fn rest(own: &Own, inputs: &mut Inputs<Burst>, looks: &mut u32) {
    *looks += 1;
    if *looks < LOOKS {
        std::hint::spin_loop();
    } else {
        inputs.wait(&own.bell, NAP);
    }
}

/// What there is of a replica for others.
pub(super) struct Seen {
    pub own: Arc<Own>,
    /// None of an input.
    pub rest: Option<Arc<Rest>>,
}
