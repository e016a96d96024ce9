//! Stages in order that come and go while packets flow (the order of all packets): with another
//! placement, or with a version whose elements are in other stages.
//!
//! ```text
//!  before                   threads of the new stages make their elements, of what was compiled while packets flowed
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
use crate::control::why::Noted;
use netil::app::{Application, Body};
use runtime::graph::{Carried, Fault, Matches, Succession, Successor};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// What a thread had whose stage is no more.
pub(super) struct Left {
    pub inputs: Vec<Receiver>,
    pub carried: Vec<Carried>,
    /// The cores of threads that were moved.
    pub pins: Vec<(String, usize)>,
    /// What it had recorded.
    pub recorded: Option<Vec<Noted>>,
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

/// Elements on their way to other stages.
struct Moving<'n> {
    carried: Vec<Carried>,
    /// By element of the version that runs, which one it is to be.
    to: HashMap<usize, usize>,
    new: &'n New,
}

impl Moving<'_> {
    /// The stage that an element is to be in, if it is one of the new version.
    fn stage_of(&self, number: usize) -> Option<Stage> {
        self.to.get(&number).map(|at| self.new.placement.stages[*at])
    }

    /// Those of a stage, with their new numbers.
    fn take(&mut self, stage: Stage) -> Vec<(usize, Carried)> {
        let (its, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.carried).into_iter().partition(|it| self.stage_of(it.number()) == Some(stage));
        self.carried = others;
        its.into_iter().filter_map(|it| Some((*self.to.get(&it.number())?, it))).collect()
    }
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

impl Cores {
    /// Whether elements would be in other stages in order than they are.
    pub(super) fn recuts(&self, new: &New, matches: &Matches) -> bool {
        let stages = matches.iter().map(|(new_one, old)| (new.placement.stages[*new_one], self.placement.stages[*old]));
        let is_moved = |(to, from): (Stage, Stage)| to != from && is_in_order(to) && is_in_order(from);
        self.placement.ordered() != new.placement.ordered() || stages.into_iter().any(is_moved)
    }

    /// Whether replicas keep their elements with another placement.
    ///
    /// # Errors
    /// An element that would come into replicas, or out of them; each replica has all elements.
    pub(super) fn can_be_placed(&self, new: &New) -> Result<(), ChangeError> {
        let Mode::Total(_) = self.mode else {
            return Err(ChangeError::fixed("with --order flow each replica has all elements: there are no other stages"));
        };
        let is_other = |(old, new): (&Stage, &Stage)| (*old == Stage::Replica) != (*new == Stage::Replica);
        let Some(at) = self.placement.stages.iter().zip(&new.placement.stages).position(is_other) else { return Ok(()) };
        let (name, way) = (&self.whole.instances[at].name, if self.placement.stages[at] == Stage::Replica { "out of" } else { "into" });
        Err(ChangeError::fixed(format!("`{name}` would come {way} replicas, each of which has a state of its own: begin the run so")))
    }

    /// What would become of elements that move from one stage in order to another.
    pub(super) fn note_moves(&self, (new, application): (&New, &Application), matches: &Matches, succession: &mut Succession) {
        let in_order = (0..application.instances.len()).filter(|at| is_in_order(new.placement.stages[*at]));
        let (kept, made): (Vec<usize>, Vec<usize>) = in_order.partition(|at| {
            let old = matches.get(at).filter(|old| is_in_order(self.placement.stages[**old]));
            old.is_some_and(|old| is_alike((&self.whole, *old), (application, *at)))
        });
        let names = |all: Vec<usize>| all.into_iter().map(|at| application.instances[at].name.clone()).collect::<Vec<String>>();
        succession.kept.retain(|name| !made.iter().any(|at| application.instances[*at].name == *name));
        let made = names(made).into_iter().filter(|name| !succession.made.contains(name)).collect::<Vec<_>>();
        succession.made.extend(made);
        note_kept(&names(kept), succession);
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
            workers.base.making.ready = Some(Arc::clone(&it.ready));
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
        (new, matches): (&New, &Matches),
        fresh: Fresh,
        succession: &mut Succession,
    ) -> Result<Vec<Fault>, ChangeError> {
        let Left { inputs, carried, pins, .. } = self.end_stages()?;
        let mut moving = Moving { carried, to: matches.iter().map(|(new_one, old)| (*old, *new_one)).collect(), new };
        let (next, its) = own.accede(&mut self.rest);
        let mut old = std::mem::replace(&mut self.rest, next);
        let leaving = old.carry(|number| matches!(moving.stage_of(number), Some(Stage::Ordered(_))));
        moving.carried.extend(leaving);
        let taken = self.rest.take_in(moving.take(Stage::Rest));
        link(&mut self.rest, &new.rest.part, &new.rest.ready);
        new.add(succession, Stage::Rest, its);
        let mut kept = new.add_taken(succession, &new.rest, taken);
        for (part, worker) in new.ordered().zip(&fresh.workers) {
            let its = moving.take(part.part.stage);
            let taken = worker.ask(|reply| Request::TakeIn(its, reply)).ok_or_else(|| ChangeError::failed(SILENT))?;
            kept.extend(new.add_taken(succession, part, taken));
        }
        note_kept(&kept, succession);
        let gone = moving.carried.iter().map(Carried::number).filter(|number| !moving.to.contains_key(number));
        succession.gone.extend(gone.map(|number| self.whole.instances[number].name.clone()));
        self.enter(inputs, fresh, &pins);
        Ok(old.finish())
    }

    /// Ends the stages in order before the last one: what the first of all receives from, and the
    /// elements that they had.
    fn end_stages(&mut self) -> Result<Left, ChangeError> {
        let Mode::Total(epochs) = &mut self.mode else { return Err(ChangeError::fixed("there are no stages")) };
        let workers = self.directory.take_ordered();
        let last = std::mem::replace(&mut epochs.inputs, Inputs::new(Vec::new()).0);
        let pins = workers.iter().map(|worker| worker.gauge().thread(true)).filter_map(|it| Some((it.name, it.core?))).collect();
        let mut left = Left { inputs: last.into_all(), carried: Vec::new(), pins, recorded: None };
        self.ended.clear();
        // The last one first: to one whose sender is gone, the run ends.
        for worker in workers.iter().rev() {
            let its = worker.ask(Request::Leave).ok_or_else(|| ChangeError::failed(SILENT))?;
            left.inputs = its.inputs;
            left.carried.extend(its.carried);
            self.ended.extend(its.recorded.map(|recorded| (worker.gauge().name().to_owned(), recorded)));
        }
        let names: BTreeSet<&str> = workers.iter().map(|worker| worker.gauge().name()).collect();
        let is_one = |thread: &JoinHandle<()>| thread.thread().name().is_some_and(|name| names.contains(name));
        let (ended, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.threads).into_iter().partition(is_one);
        self.threads = others;
        // They have answered, so have not failed.
        ended.into_iter().for_each(|thread| _ = thread.join());
        Ok(left)
    }

    /// Lets the first stage in order receive from those, and all others run, on the cores that
    /// threads of their names had.
    fn enter(&mut self, receivers: Vec<Receiver>, fresh: Fresh, pins: &[(String, usize)]) {
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
        let recording = self.directory.recording_anew();
        for worker in workers {
            recording.into_iter().for_each(|recording| _ = worker.send(Request::Record(recording, mpsc::channel().0)));
            worker.send(Request::Go);
            self.directory.add(worker);
        }
        self.threads.extend(threads);
        // Those that there are no more have none.
        pins.iter().for_each(|(name, core)| _ = self.directory.move_to(name, Some(*core)));
    }
}

impl New {
    /// What became of elements that came to a stage; the names of those that went on.
    fn add_taken(&self, all: &mut Succession, part: &NewPart, taken: Succession) -> Vec<String> {
        let made = part.names.iter().filter(|name| !taken.kept.contains(name)).cloned().collect();
        let (kept, stage) = (taken.kept.clone(), part.part.stage);
        // What the last stage had is known.
        let made = if stage == Stage::Rest { Vec::new() } else { made };
        self.add(all, stage, Succession { made, ..taken });
        kept
    }
}

/// Whether an element of one application is that of another one.
fn is_alike((old, at): (&Application, usize), (new, to): (&Application, usize)) -> bool {
    let ((one, other), arguments) = ((&old.instances[at], &new.instances[to]), |of: &Application, at: usize| of.arguments.get(at).cloned());
    one.class == other.class
        && match (&one.body, &other.body) {
            (Body::BuiltIn(own), Body::BuiltIn(its)) => own == its,
            (Body::Program(own), Body::Program(its)) => {
                arguments(old, at) == arguments(new, to) && own.module().is_equal_but_for_name(its.module())
            }
            _ => false,
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
