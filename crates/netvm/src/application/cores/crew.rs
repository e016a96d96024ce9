//! More replicas, or fewer, while packets flow (the order of all packets).
//!
//! ```text
//!  asked ─▶ a thread makes the graph of another replica ─▶ the sources hand epochs to so many from the next one on
//!                                                       ─▶ each batch says how many replicas its epoch has, and the last stage takes as many
//! ```
//!
//! Nothing stops: the sources change the number between two epochs, packets of earlier epochs are on their way meanwhile, and the last stage takes epochs one after the other. So none
//! is lost, doubled or overtaken, and no more is buffered than without ([`DEPTH`](super::DEPTH) epochs between two stages).
//!
//! A replica that is taken out stays, with what it has counted, and is the first that comes back. One that is new gets what was written to handlers of replicas before; so much
//! of that is kept, and if more was written there are no new ones.
//!
//! Left out: elements that keep state by flow, whose flows would move to replicas that do not have it.

use super::channel::{Receiver, Sender, channel};
use super::handlers::{Directory, Request};
use super::workers::{Base, Ends, Ready, Workers, run_replica};
use super::{Part, Stage, lock};
use runtime::graph::ring::{Batch, Rings};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The most replicas.
const MOST: usize = 256;

/// What the sources are to do at the end of an epoch.
#[derive(Default)]
pub(super) struct Change {
    wanted: AtomicUsize,
    /// Channels to replicas that are new.
    new: Mutex<Vec<Sender>>,
    /// How many get packets.
    active: AtomicUsize,
    /// How long the last change held up the sources, in nanoseconds.
    pause: AtomicU64,
}

impl Change {
    pub(super) fn new(replicas: usize) -> Self {
        Self { wanted: AtomicUsize::new(replicas), active: AtomicUsize::new(replicas), ..Self::default() }
    }

    /// Changes how many batches an epoch has, if that is wanted.
    pub(super) fn apply(&self, senders: &mut Vec<Sender>, batches: &mut Vec<Batch>) {
        if self.wanted.load(Ordering::Acquire) == batches.len() {
            return;
        }
        let begun = Instant::now();
        senders.append(&mut lock(&self.new));
        // It may be another number by now.
        let wanted = self.wanted.load(Ordering::Acquire).clamp(1, senders.len());
        batches.resize_with(wanted, Batch::default);
        self.active.store(wanted, Ordering::Release);
        self.pause.store(begun.elapsed().as_nanos() as u64, Ordering::Release);
    }

    pub(super) fn active(&self) -> usize {
        self.active.load(Ordering::Acquire)
    }
}

/// How many replicas there are, and what is to come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// Those that get packets.
    pub active: usize,
    /// Those that are to get packets: from the next epoch on, or when they are made.
    pub wanted: usize,
    /// How long the last change held up the sources.
    pub pause: Duration,
    /// How long the last replica that was made took, beside packets that flow.
    pub made_in: Duration,
}

/// A replica that is being made.
struct Coming {
    ready: mpsc::Receiver<Ready>,
    sender: Sender,
    result: Receiver,
    begun: Instant,
}

/// Who makes replicas.
pub(super) struct Crew {
    base: Base,
    part: Arc<Part>,
    annotated: Vec<bool>,
    /// Where batches go back to.
    returns: mpsc::Sender<Batch>,
    change: Arc<Change>,
    /// Why there cannot be more or fewer.
    fixed: Option<&'static str>,
    made: usize,
    wanted: usize,
    coming: Option<Coming>,
    made_in: Duration,
}

impl Crew {
    /// For replicas of that part, whose lanes' annotations are looked at or not; `fixed`: why there are always as many.
    pub(super) fn new(
        base: Base,
        (part, annotated): (Arc<Part>, Vec<bool>),
        returns: mpsc::Sender<Batch>,
        change: Arc<Change>,
        fixed: Option<&'static str>,
    ) -> Self {
        let made = change.active();
        Self { base, part, annotated, returns, change, fixed, made, wanted: made, coming: None, made_in: Duration::ZERO }
    }

    pub(super) fn replicas(&self) -> Replicas {
        let pause = Duration::from_nanos(self.change.pause.load(Ordering::Acquire));
        Replicas { active: self.change.active(), wanted: self.wanted, pause, made_in: self.made_in }
    }

    /// So many are wanted.
    pub(super) fn want(&mut self, replicas: usize, directory: &Directory) -> Result<(), String> {
        if let Some(why) = &self.fixed {
            return Err(format!("replicas can be neither added nor removed: {why}"));
        }
        if !(1..=MOST).contains(&replicas) {
            return Err(format!("there are from 1 to {MOST} replicas"));
        }
        if replicas > self.made {
            directory.written()?;
        }
        self.wanted = replicas;
        self.change.wanted.store(replicas.min(self.made), Ordering::Release);
        Ok(())
    }

    /// Goes on with what is wanted: begins to make a replica, or lets one that is made come in. `inputs`: what the last stage receives from.
    pub(super) fn work(
        &mut self,
        directory: &Directory,
        inputs: &mut Vec<Receiver>,
        threads: &mut Vec<JoinHandle<()>>,
    ) -> Result<(), String> {
        let Some(coming) = self.coming.take() else {
            if self.wanted > self.made {
                self.begin(directory, threads).inspect_err(|_| self.wanted = self.made)?;
            }
            return Ok(());
        };
        match coming.ready.try_recv() {
            Ok(Ok(_)) => self.join(coming, directory, inputs),
            Err(mpsc::TryRecvError::Empty) => {
                self.coming = Some(coming);
                Ok(())
            }
            Ok(Err(_)) | Err(mpsc::TryRecvError::Disconnected) => {
                self.wanted = self.made;
                directory.forget_last();
                // It has ended, and has nothing to say.
                let _ = threads.pop().map(JoinHandle::join);
                Err("another replica could not be made".to_owned())
            }
        }
    }

    /// Lets go of replicas that are not in the run yet.
    pub(super) fn end(&mut self) {
        self.coming = None;
        lock(&self.change.new).clear();
    }

    fn begin(&mut self, directory: &Directory, threads: &mut Vec<JoinHandle<()>>) -> Result<(), String> {
        let (sender, input) = channel(&self.base.relief);
        let (output, result) = channel(&self.base.relief);
        let (part, returns) = (Arc::clone(&self.part), self.returns.clone());
        let rings = Rings { numbers: true, annotated: self.annotated.clone(), ..Rings::default() };
        let mut workers = Workers::new(self.base.clone());
        let name = format!("replica {}", self.made);
        let level = input.level();
        let spawned =
            workers.spawn(&name, Stage::Replica, move |own| run_replica(own, &part, rings, Ends { input, output, returns }, None));
        spawned.map_err(|error| error.to_string())?;
        let (mut began, mut new, mut ready) = workers.into_parts();
        threads.append(&mut began);
        let (Some(worker), Some(ready)) = (new.pop(), ready.pop()) else { return Err("no thread was begun".to_owned()) };
        worker.gauge().waits(level);
        directory.add(worker);
        self.coming = Some(Coming { ready, sender, result, begun: Instant::now() });
        Ok(())
    }

    fn join(&mut self, coming: Coming, directory: &Directory, inputs: &mut Vec<Receiver>) -> Result<(), String> {
        let written = directory.written().inspect_err(|_| self.wanted = self.made)?;
        self.made_in = coming.begun.elapsed();
        directory.send_last(
            written
                .into_iter()
                .map(|(handler, text)| Request::Write(handler, crate::p4::of_replica(&text, self.made), mpsc::channel().0))
                .chain([Request::Go]),
        );
        inputs.push(coming.result);
        self.made += 1;
        lock(&self.change.new).push(coming.sender);
        self.change.wanted.store(self.wanted.min(self.made), Ordering::Release);
        Ok(())
    }
}
