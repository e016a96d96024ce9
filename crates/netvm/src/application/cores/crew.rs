//! More replicas, or fewer, while packets flow (the order of all packets).
//!
//! ```text
//!  asked ─▶ a thread makes the graph of another replica ─▶ the sources hand epochs to so many from the next one on
//!                                                       ─▶ each batch says how many replicas its epoch has, and the last stage takes as many
//! ```
//!
//! Nothing stops: the sources change the number between two epochs, packets of earlier epochs are
//! on their way meanwhile, and the last stage takes epochs one after the other. So none is lost,
//! doubled or overtaken, and no more is buffered than without ([`DEPTH`](super::DEPTH) epochs
//! between two stages).
//!
//! A replica that is taken out stays, with what it has counted, and is the first that comes back.
//! One that is new gets what was written to handlers of replicas before; so much of that is kept,
//! and if more was written there are no new ones.
//!
//! In the same way the sources change which replica has a packet ([`Flow`]): between two epochs.
//! The last stage puts packets in their order by their numbers, so it does not matter to it.
//!
//! Where elements keep state by flow, flows stay in their replicas until nothing is kept of them
//! any more, and new ones go to those that are wanted ([`Pinning`]): a replica that is to be taken
//! out gets packets until the last of its flows has ended. The function stays as it is.
//!
//! [`Pinning`]: runtime::graph::ring::Pinning

use super::between::{Ends, run_between};
use super::change::{Change, Flows};
use super::channel::{Receiver, Sender, channel};
use super::error::ChangeError;
use super::handlers::{Directory, Request};
use super::inputs::{Inputs, NewInputs};
use super::workers::{Base, Ready, Workers};
use super::{Cores, Epochs, Making, Mode, Part, Placement, Stage, lock};
use runtime::graph::ring::{Batch, Flow, FlowState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The most replicas.
pub(super) const MOST: usize = 256;

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
    /// Elements keep state by flow: where more get packets than are to, the others are left when
    /// their last flows have ended.
    pub keeps_flows: bool,
}

/// Why something cannot change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    pub replicas: Option<&'static str>,
    /// Why there cannot be fewer.
    pub fewer: Option<&'static str>,
    pub flow: Option<&'static str>,
    /// Elements keep state by flow.
    pub keeps: bool,
}

impl Fixed {
    /// Of a placement whose replicas keep that of flows.
    pub(super) fn of(placement: &Placement, state: FlowState) -> Self {
        let (replicas, flow) = (placement.keeps_replicas(), placement.keeps_flow());
        let fewer = (state == FlowState::Permanent).then_some(FOR_EVER);
        Self { replicas, fewer, flow, keeps: state != FlowState::Stateless }
    }
}

/// Why flows never leave a replica.
const FOR_EVER: &str = "a table of theirs by flow has no timeout, so what they keep of flows never ends";
/// Why a replica may not be added to others.
const ENTERED: &str = "entries were added to their tables by handlers, and would begin to age anew in a new one";

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
    /// Where batches go back to.
    returns: mpsc::Sender<Batch>,
    /// Where the next stage takes the outputs of new replicas from.
    next: NewInputs,
    change: Arc<Change>,
    /// Why there cannot be more or fewer, or other packets in each.
    fixed: Fixed,
    made: usize,
    wanted: usize,
    coming: Option<Coming>,
    made_in: Duration,
}

impl Crew {
    /// For replicas of that part; `fixed`: why that stays as it is.
    pub(super) fn new(
        base: Base,
        part: Arc<Part>,
        (returns, next): (mpsc::Sender<Batch>, NewInputs),
        change: Arc<Change>,
        fixed: Fixed,
    ) -> Self {
        let made = change.active();
        Self { base, part, returns, next, change, fixed, made, wanted: made, coming: None, made_in: Duration::ZERO }
    }

    pub(super) fn replicas(&self) -> Replicas {
        let pause = Duration::from_nanos(self.change.pause.load(Ordering::Acquire));
        Replicas { active: self.change.active(), wanted: self.wanted, pause, made_in: self.made_in, keeps_flows: self.fixed.keeps }
    }

    /// So many are wanted.
    pub(super) fn want(&mut self, replicas: usize, directory: &Directory) -> Result<(), ChangeError> {
        if let Some(why) = self.fixed.replicas {
            return Err(ChangeError::fixed(format!("replicas can be neither added nor removed: {why}")));
        }
        if !(1..=MOST).contains(&replicas) {
            return Err(ChangeError::invalid(format!("there are from 1 to {MOST} replicas")));
        }
        if replicas < self.wanted
            && let Some(why) = self.fixed.fewer
        {
            return Err(ChangeError::fixed(format!("replicas cannot be removed: {why}")));
        }
        if replicas > self.made {
            let written = directory.written()?;
            if self.fixed.keeps && written.iter().any(|(handler, _)| handler.ends_with(".add")) {
                return Err(ChangeError::fixed(format!("replicas cannot be added: {ENTERED}")));
            }
        }
        self.wanted = replicas;
        self.change.wanted.store(replicas.min(self.made), Ordering::Release);
        Ok(())
    }

    pub(super) fn flows(&self) -> Flows {
        self.change.flows()
    }

    /// Whether there may be fewer than there are.
    pub(super) fn can_shrink(&self) -> bool {
        self.fixed.fewer.is_none()
    }

    /// What threads of the run begin with.
    pub(super) fn base(&self, making: Making) -> Base {
        Base { making, ..self.base.clone() }
    }

    /// The stage behind replicas takes outputs of new ones from there.
    pub(super) fn feeds(&mut self, next: NewInputs) {
        self.next = next;
    }

    /// Whether another replica is being made.
    pub(super) fn is_making(&self) -> bool {
        self.coming.is_some()
    }

    /// Replicas that come are those of another version.
    pub(super) fn become_new(&mut self, making: Making, part: Arc<Part>, (placement, state): (&Placement, FlowState)) {
        self.base.making = making;
        self.part = part;
        self.fixed = Fixed::of(placement, state);
        *lock(&self.change.flow) = Flows { active: placement.flow, wanted: placement.flow };
    }

    /// Packets are to go to replicas by that.
    pub(super) fn want_flow(&self, flow: Flow) -> Result<(), ChangeError> {
        if flow == Flow::All {
            return Err(ChangeError::invalid("all packets go to all replicas only where these keep the state of all"));
        }
        match self.fixed.flow {
            Some(_) if self.flows().wanted == flow => {}
            Some(why) => return Err(ChangeError::fixed(format!("packets cannot go to replicas by another function: {why}"))),
            None => lock(&self.change.flow).wanted = flow,
        }
        Ok(())
    }

    /// Goes on with what is wanted: begins to make a replica, or lets one that is made come in.
    pub(super) fn work(&mut self, directory: &Directory, threads: &mut Vec<JoinHandle<()>>) -> Result<(), ChangeError> {
        let Some(coming) = self.coming.take() else {
            if self.wanted > self.made {
                self.begin(directory, threads).inspect_err(|_| self.wanted = self.made)?;
            }
            return Ok(());
        };
        match coming.ready.try_recv() {
            Ok(Ok(_)) => self.join(coming, directory),
            Err(mpsc::TryRecvError::Empty) => {
                self.coming = Some(coming);
                Ok(())
            }
            Ok(Err(_)) | Err(mpsc::TryRecvError::Disconnected) => {
                self.wanted = self.made;
                directory.forget_last();
                // It has ended, and has nothing to say.
                let _ = threads.pop().map(JoinHandle::join);
                Err(ChangeError::failed("another replica could not be made"))
            }
        }
    }

    /// Lets go of replicas that are not in the run yet.
    pub(super) fn end(&mut self) {
        self.coming = None;
        lock(&self.change.new).clear();
    }

    fn begin(&mut self, directory: &Directory, threads: &mut Vec<JoinHandle<()>>) -> Result<(), ChangeError> {
        let (sender, input) = channel(&self.base.relief);
        let (output, result) = channel(&self.base.relief);
        let (part, returns) = (Arc::clone(&self.part), Some(self.returns.clone()));
        let mut workers = Workers::new(self.base.clone());
        let name = format!("replica {}", self.made);
        let level = input.level();
        let ends = Ends { inputs: Inputs::of_replica(input), output, returns };
        let spawned = workers.spawn(&name, Stage::Replica, move |own| run_between(own, &part, ends, None));
        spawned.map_err(ChangeError::failed)?;
        let (mut began, mut new, mut ready) = workers.into_parts();
        threads.append(&mut began);
        let (Some(worker), Some(ready)) = (new.pop(), ready.pop()) else { return Err(ChangeError::failed("no thread was begun")) };
        worker.gauge().waits(level);
        directory.add(worker);
        self.coming = Some(Coming { ready, sender, result, begun: Instant::now() });
        Ok(())
    }

    fn join(&mut self, coming: Coming, directory: &Directory) -> Result<(), ChangeError> {
        let written = directory.written().inspect_err(|_| self.wanted = self.made)?;
        self.made_in = coming.begun.elapsed();
        directory.send_last(
            written
                .into_iter()
                .map(|(handler, text)| Request::Write(handler, crate::p4::of_replica(&text, self.made), mpsc::channel().0))
                .chain(directory.recording().map(|recording| Request::Record(recording, mpsc::channel().0)))
                .chain([Request::Go]),
        );
        // If nobody takes it the run has ended.
        let _ = self.next.send(coming.result);
        self.made += 1;
        lock(&self.change.new).push(coming.sender);
        self.change.wanted.store(self.wanted.min(self.made), Ordering::Release);
        Ok(())
    }
}

impl Cores {
    /// Which replica has a packet, at present and from the next epoch on; none where there are no
    /// replicas of a stage.
    pub fn flows(&self) -> Option<Flows> {
        match &self.mode {
            Mode::Total(Epochs { crew, .. }) => crew.as_deref().map(Crew::flows),
            Mode::Flow(_) => None,
        }
    }

    /// Lets packets go to replicas by that function, from the next epoch on.
    ///
    /// # Errors
    /// Why it cannot change, or not to that.
    pub fn set_flow(&mut self, flow: Flow) -> Result<Flows, ChangeError> {
        let Mode::Total(Epochs { crew: Some(crew), .. }) = &mut self.mode else {
            let why = self.placement.keeps_flow().unwrap_or("there are no replicas of a stage");
            return Err(ChangeError::fixed(format!("packets cannot go to replicas by another function: {why}")));
        };
        crew.want_flow(flow).map(|()| crew.flows())
    }
}
