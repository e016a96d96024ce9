//! Stages in order that come and go while packets flow (the order of all packets): with another
//! placement, or with a version whose elements are in other stages.
//!
//! ```text
//!  while packets flow       threads of the new stages make their elements
//!  all has gone through     sources, replicas and the last stage are ready for their parts ([`super::renew`])
//!  then                     threads of the old stages give up their elements and what they receive from, and end
//!                           elements go to the stages that have them now; the first stage receives from the replicas, each other from the one before
//! ```
//!
//! An element that is in order before and after goes on with what it keeps and has counted,
//! whichever stage has it. One that comes into replicas, or out of them, is made anew: each replica
//! has a state of its own.
//!
//! Source: NRTE paper, section 3 (stages that are placed at run time).

use super::channel::Receiver;
use super::error::ChangeError;
use super::handlers::{Request, Worker};
use super::inputs::{Inputs, NewInputs};
use super::renewing::{New, NewPart, link};
use super::workers::Workers;
use super::{Cores, Epochs, Mode, Stage};
use runtime::graph::{Carried, Fault, Succession, Successor};
use std::collections::{BTreeSet, HashMap};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// What a thread had whose stage is no more.
pub(super) struct Left {
    pub inputs: Vec<Receiver>,
    pub carried: Vec<Carried>,
}

/// Stages in order that are ready, and not in the run yet.
pub(super) struct Fresh {
    threads: Vec<JoinHandle<()>>,
    workers: Vec<Worker>,
    /// What the first of them receives from is given there.
    feeds: NewInputs,
    /// What the last stage receives from then; none if there are no others.
    inputs: Option<Inputs>,
}

/// Whether a stage has all packets in their order.
fn is_in_order(stage: Stage) -> bool {
    matches!(stage, Stage::Ordered(_) | Stage::Rest)
}

impl New {
    /// Its stages in order before the last one.
    fn ordered(&self) -> impl Iterator<Item = &NewPart> {
        self.before.iter().filter(|new| matches!(new.part.stage, Stage::Ordered(_)))
    }
}

impl NewPart {
    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|its| its == name)
    }

    /// Takes what is carried for it.
    fn take(&self, carried: &mut Vec<Carried>) -> Vec<Carried> {
        let (its, others) = std::mem::take(carried).into_iter().partition(|it: &Carried| self.has(it.name()));
        *carried = others;
        its
    }
}

impl Cores {
    /// The stages of elements in order, by name.
    fn in_order(&self) -> HashMap<String, Stage> {
        let stages = self.placement.stages.iter().zip(self.elements()).filter(|(stage, _)| is_in_order(**stage));
        stages.map(|(stage, it)| (it.name, *stage)).collect()
    }

    /// Whether elements would be in other stages in order than they are.
    pub(super) fn recuts(&self, new: &New) -> bool {
        let old = self.in_order();
        let is_elsewhere = |part: &NewPart| part.names.iter().any(|name| old.get(name).is_some_and(|stage| *stage != part.part.stage));
        self.placement.ordered() != new.placement.ordered() || new.ordered().chain([&new.rest]).any(is_elsewhere)
    }

    /// Whether replicas keep their elements with another placement.
    ///
    /// # Errors
    /// An element that would come into replicas, or out of them.
    pub(super) fn can_be_placed(&self, new: &New) -> Result<(), ChangeError> {
        let elements = self.elements();
        let mut old = self.placement.stages.iter().zip(&elements).map(|(stage, it)| (&it.name, *stage == Stage::Replica));
        let will_be = |name: &String| new.replicas().is_some_and(|part| part.names.contains(name));
        match old.find(|(name, is)| *is != will_be(name)) {
            None => Ok(()),
            Some((name, is)) => {
                let way = if is { "out of" } else { "into" };
                Err(ChangeError::fixed(format!(
                    "`{name}` would come {way} replicas, each of which has a state of its own: begin the run so"
                )))
            }
        }
    }

    /// What would become of elements that move from one stage in order to another.
    pub(super) fn note_moves(&self, new: &New, succession: &mut Succession) {
        let old = self.in_order();
        let names = || new.ordered().chain([&new.rest]).flat_map(|part| &part.names);
        let kept: Vec<String> = names().filter(|name| old.contains_key(*name)).cloned().collect();
        let made: Vec<String> = names().filter(|name| !old.contains_key(*name) && !succession.made.contains(name)).cloned().collect();
        succession.made.extend(made);
        note_kept(&kept, succession);
    }

    /// Begins the threads of other stages in order, which make their elements.
    ///
    /// # Errors
    /// A thread that the system does not give; elements that cannot be made.
    pub(super) fn begin_stages(&self, new: &New) -> Result<Fresh, ChangeError> {
        let Mode::Total(Epochs { crew: Some(crew), .. }) = &self.mode else { return Err(ChangeError::fixed("there are no replicas")) };
        let mut workers = Workers::new(crew.base(new.making.clone()));
        let (mut inputs, feeds) = Inputs::new(Vec::new());
        for it in new.ordered() {
            let result = workers.begin_stage(&it.part, inputs, None, &new.placement).map_err(ChangeError::failed)?;
            (inputs, _) = Inputs::new(vec![result]);
        }
        let inputs = new.ordered().next().map(|_| inputs);
        let (threads, workers, ready) = workers.into_parts();
        let fresh = Fresh { threads, workers, feeds, inputs };
        if ready.iter().all(|ready| matches!(ready.recv(), Ok(Ok(_)))) {
            return Ok(fresh);
        }
        fresh.cancel();
        Err(ChangeError::failed("a stage could not be made"))
    }

    /// The last stage goes on with its part, and stages in order take their places; what could not
    /// be completed.
    ///
    /// # Errors
    /// A thread of the run does not answer: it has failed.
    pub(super) fn go_on_cut_anew(
        &mut self,
        own: Successor,
        new: &New,
        fresh: Fresh,
        succession: &mut Succession,
    ) -> Result<Vec<Fault>, ChangeError> {
        let Left { inputs, mut carried } = self.end_stages()?;
        let (next, its) = own.accede(&mut self.rest);
        let mut old = std::mem::replace(&mut self.rest, next);
        carried.extend(old.carry(|name| new.ordered().any(|part| part.has(name))));
        let mut kept = self.rest.take_in(new.rest.take(&mut carried));
        link(&mut self.rest, &new.rest.part, &new.rest.ready);
        new.add(succession, Stage::Rest, its);
        for (part, worker) in new.ordered().zip(&fresh.workers) {
            let its = part.take(&mut carried);
            let went_on = worker.ask(|reply| Request::TakeIn(its, reply)).ok_or_else(|| ChangeError::failed(SILENT))?;
            let made = part.names.iter().filter(|name| !went_on.contains(name)).cloned().collect();
            new.add(succession, part.part.stage, Succession { made, ..Succession::default() });
            kept.extend(went_on);
        }
        note_kept(&kept, succession);
        self.enter(inputs, fresh);
        Ok(old.finish())
    }

    /// Ends the stages in order before the last one: what the first of all receives from, and the
    /// elements that they had.
    fn end_stages(&mut self) -> Result<Left, ChangeError> {
        let Mode::Total(epochs) = &mut self.mode else { return Err(ChangeError::fixed("there are no stages")) };
        let workers = self.directory.take_ordered();
        let last = std::mem::replace(&mut epochs.inputs, Inputs::new(Vec::new()).0);
        let mut left = Left { inputs: last.into_all(), carried: Vec::new() };
        // The last one first: to one whose sender is gone, the run ends.
        for worker in workers.iter().rev() {
            let its = worker.ask(Request::Leave).ok_or_else(|| ChangeError::failed(SILENT))?;
            left.inputs = its.inputs;
            left.carried.extend(its.carried);
        }
        let names: BTreeSet<&str> = workers.iter().map(|worker| worker.gauge().name()).collect();
        let is_one = |thread: &JoinHandle<()>| thread.thread().name().is_some_and(|name| names.contains(name));
        let (ended, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.threads).into_iter().partition(is_one);
        self.threads = others;
        // They have answered, so have not failed.
        ended.into_iter().for_each(|thread| _ = thread.join());
        Ok(left)
    }

    /// Lets the first stage in order receive from those, and all others run.
    fn enter(&mut self, receivers: Vec<Receiver>, fresh: Fresh) {
        let Mode::Total(Epochs { crew: Some(crew), inputs: own, .. }) = &mut self.mode else { return };
        let Fresh { threads, workers, feeds, inputs } = fresh;
        match inputs {
            None => {
                let (inputs, next) = Inputs::new(receivers);
                *own = inputs;
                crew.feeds(next);
            }
            Some(inputs) => {
                let levels: Vec<_> = receivers.iter().map(Receiver::level).collect();
                workers.first().into_iter().for_each(|first| first.gauge().waits_only(levels.iter().cloned()));
                // It takes them before anything else.
                receivers.into_iter().for_each(|receiver| _ = feeds.send(receiver));
                *own = inputs;
                crew.feeds(feeds);
            }
        }
        self.gauge.waits_only(own.levels());
        let recording = self.directory.recording();
        for worker in workers {
            recording.into_iter().for_each(|recording| _ = worker.send(Request::Record(recording, mpsc::channel().0)));
            worker.send(Request::Go);
            self.directory.add(worker);
        }
        self.threads.extend(threads);
    }
}

const SILENT: &str = "a thread of the run does not answer";

/// Elements that moved from one stage in order to another go on.
fn note_kept(kept: &[String], succession: &mut Succession) {
    succession.made.retain(|name| !kept.contains(name));
    succession.gone.retain(|name| !kept.contains(name));
    let new: Vec<String> = kept.iter().filter(|name| !succession.kept.contains(name)).cloned().collect();
    succession.kept.extend(new);
}

impl Fresh {
    /// They are not to come.
    pub(super) fn cancel(self) {
        let Self { threads, workers, feeds, inputs } = self;
        // Nobody asks them any more, and nothing comes.
        drop((workers, feeds, inputs));
        threads.into_iter().for_each(|thread| _ = thread.join());
    }
}
