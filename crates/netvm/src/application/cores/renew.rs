//! Another version of a configuration takes the place of the one that runs on several threads (the
//! order of all packets).
//!
//! ```text
//!  sources    hand over what has come, rest ──▶ prepare ──┐
//!  in order   takes all epochs up to there ───▶ prepare ──┼── all are ready ──▶ each takes its place ──▶ sources go on
//!  others     have none left ─────────────────▶ prepare ──┘   one is not    ──▶ each gives up        ──▶ sources go on
//! ```
//!
//! It has been read, placed, cut and compiled before, on any thread, while packets flowed
//! ([`Renewal::prepare`]). Each stage's graph is succeeded by itself
//! ([`runtime::graph::Successor`]): elements that stay in their stage go on as they were, in each
//! replica. Packets are on their way nowhere meanwhile; those that come wait in the devices'
//! buffers, or in captures. Where elements are in other stages in order than before, these stages
//! are begun anew ([`super::recut`]).
//!
//! Replicas of the whole application, where only the order of flows is kept, do it in a similar
//! way: [`super::renew_flows`].
//!
//! Left out: replicas that have the state of all packets; versions with nothing for replicas, where
//! there was something, or the other way round; elements that keep state by flow, if packets were
//! to go to replicas by another function. They are told.

use super::super::table_sums::SumTable;
use super::bases::Bases;
use super::cut::{Cut, Part, cut};
use super::error::{ChangeError, PlacementError};
use super::flows::whole;
use super::handlers::{Directory, Request};
use super::inputs::Next;
use super::places::Places;
use super::recut::Fresh;
use super::renewing::{New, NewPart, Waiting, accede, link, prepare};
use super::{Cores, Epochs, Flow, MOMENT, Making, Mode, Order, Placement, Stage, lock, present, run_epoch, ways};
use crate::application::ready::Ready;
use crate::application::replace::{Parts, Prepared};
use crate::application::{Application, Graph, Recipe, Replaced, Version};
use netil::app;
use runtime::graph::ring::{Batch, Remote, Rings};
use runtime::graph::{Fault, Matches, Settings, Succession, Successor, matches};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Says where the elements of a version run.
pub type PlacementFn = Box<dyn Fn(&Application) -> Result<Placement, PlacementError> + Send + Sync>;

/// Another placement of the configuration that runs.
pub struct Rearrangement {
    /// Says where the elements of a version run, from then on.
    pub place: PlacementFn,
    /// How many replicas get packets; none: as many as the load needs.
    pub replicas: Option<usize>,
    /// The cores of threads.
    pub pins: Vec<(String, usize)>,
}

/// Reads a placement as people write it.
pub type ReadPlacementFn = Box<dyn Fn(&str) -> Result<Rearrangement, PlacementError> + Send + Sync>;

/// How long threads may take until they rest, and to make their parts.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How another version is made.
pub(crate) struct Renewal {
    recipe: Recipe,
    place: Mutex<Arc<PlacementFn>>,
    /// Packets are recorded: versions have room for their numbers.
    records: AtomicBool,
    /// The version that runs, and how other placements of it are read, if it may have others.
    current: Mutex<Version>,
    reads: Mutex<Option<Arc<ReadPlacementFn>>>,
}

impl Renewal {
    /// Reads a version, places and cuts it, and compiles it unless it is only `planned`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn prepare(&self, version: &Version, planned: bool) -> Result<Prepared, ChangeError> {
        let place = Arc::clone(&lock(&self.place));
        let prepared = self.prepare_placed(version, &place, planned)?;
        Ok(Prepared { place: Some(place), ..prepared })
    }

    /// Reads a placement of the version that runs, and cuts and compiles that for it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn prepare_placement(&self, text: &str, planned: bool) -> Result<Prepared, ChangeError> {
        let reads = lock(&self.reads).clone().ok_or_else(|| ChangeError::fixed("the placement of this run cannot change"))?;
        let rearrangement = reads(text)?;
        let (version, place) = (lock(&self.current).clone(), Arc::clone(&lock(&self.place)));
        let prepared = self.prepare_placed(&version, &rearrangement.place, planned)?;
        Ok(Prepared { rearrangement: Some(rearrangement), place: Some(place), ..prepared })
    }

    fn prepare_placed(&self, version: &Version, place: &PlacementFn, planned: bool) -> Result<Prepared, ChangeError> {
        let begun = Instant::now();
        let read = self.recipe.read(version, self.records.load(Ordering::Relaxed)).and_then(|new| new.check().map(|()| new));
        let application = read.map_err(ChangeError::invalid)?;
        let placement = place(&application)?;
        let parts = Parts::Stages(Box::new(New::of(&self.recipe, &application, placement, planned)));
        Ok(Prepared { application, parts, version: version.clone(), rearrangement: None, place: None, took: begun.elapsed() })
    }

    /// That version runs now, placed so if it is another placement.
    fn note(&self, version: Version, place: Option<PlacementFn>) {
        self.recipe.keep(version.parameters.clone());
        *lock(&self.current) = version;
        place.into_iter().for_each(|place| *lock(&self.place) = Arc::new(place));
    }
}

impl Epochs {
    /// Takes epochs until so many have come; how many packets they had.
    fn take_up_to(&mut self, epochs: u64, rest: &mut Graph) -> Result<usize, ChangeError> {
        let mut packets = 0;
        let end = Instant::now() + PATIENCE;
        while self.taken < epochs {
            match self.inputs.receive(MOMENT) {
                Next::Epoch(batches) => {
                    self.taken += 1;
                    packets += batches.iter().map(Batch::packets).sum::<usize>();
                    run_epoch(rest, &self.inbox, batches, &mut self.begun);
                }
                Next::Nothing if Instant::now() < end => {}
                Next::Nothing => return Err(ChangeError::failed("packets do not come to rest")),
                Next::End => return Err(ChangeError::failed("the run ends")),
            }
        }
        Ok(packets)
    }
}

impl Cores {
    /// Lets other versions of the configuration take its place ([`Cores::replace`]).
    pub fn renew_by(&mut self, recipe: Recipe, place: PlacementFn) {
        let records = AtomicBool::new(self.rest.is_recorded());
        let place = Mutex::new(Arc::new(place));
        self.renewal = Some(Arc::new(Renewal { recipe, place, records, current: Mutex::default(), reads: Mutex::default() }));
    }

    /// Lets the configuration be placed in another way while it runs, if versions of it may take
    /// its place: `version` is that which runs.
    pub fn place_by(&mut self, version: Version, reads: ReadPlacementFn) {
        if let Some(renewal) = &self.renewal {
            *lock(&renewal.current) = version;
            *lock(&renewal.reads) = Some(Arc::new(reads));
        }
    }

    /// What prepares other versions, on any thread, for [`Cores::succeed`].
    ///
    /// # Errors
    /// Why this run cannot be replaced.
    pub(crate) fn renewal(&self) -> Result<Arc<Renewal>, ChangeError> {
        let renewal = self.renewal.clone();
        renewal.iter().for_each(|renewal| renewal.records.store(self.rest.is_recorded(), Ordering::Relaxed));
        renewal.ok_or_else(|| ChangeError::fixed("the configuration of this run cannot be replaced"))
    }

    /// Puts another version in the place of the one that runs, or tells what would become of its
    /// elements.
    ///
    /// # Errors
    /// What is wrong with it, or why this run cannot be replaced; then it goes on as it was.
    pub fn replace(&mut self, version: &Version, plan: bool) -> Result<Replaced, ChangeError> {
        let prepared = self.renewal()?.prepare(version, plan)?;
        self.succeed(prepared, plan)
    }

    /// Places the configuration that runs in another way, as [`Cores::place_by`] reads it, or tells
    /// what would become of its elements.
    ///
    /// # Errors
    /// What is wrong with it, or why this run cannot be placed so; then it goes on as it was.
    pub fn place(&mut self, text: &str, plan: bool) -> Result<Replaced, ChangeError> {
        let prepared = self.renewal()?.prepare_placement(text, plan)?;
        self.succeed(prepared, plan)
    }

    /// Reads, places and compiles another version, for [`Cores::succeed`], while this one goes on.
    ///
    /// # Errors
    /// What is wrong with it, or why this run cannot be replaced.
    pub fn prepare(&self, version: &Version) -> Result<Prepared, ChangeError> {
        self.renewal()?.prepare(version, false)
    }

    /// Reads another placement of this version, and cuts and compiles that for it, for
    /// [`Cores::succeed`].
    ///
    /// # Errors
    /// What is wrong with it, or why this run cannot be placed in another way.
    pub fn prepare_placement(&self, text: &str) -> Result<Prepared, ChangeError> {
        self.renewal()?.prepare_placement(text, false)
    }

    /// Puts a version that was prepared in the place of the one that runs, as [`Cores::replace`]
    /// does.
    ///
    /// # Errors
    /// Why this run cannot be replaced by it, or elements that cannot be made; then it goes on as
    /// it was.
    pub fn succeed(&mut self, prepared: Prepared, plan: bool) -> Result<Replaced, ChangeError> {
        let Prepared { application, parts, version, rearrangement, place, took: prepared } = prepared;
        let Parts::Stages(mut new) = parts else { return Err(ChangeError::fixed("it was prepared for one thread")) };
        self.can_become(&new.placement, application.application())?;
        self.is_up_to_date(&place, rearrangement.is_some().then_some(&version))?;
        if rearrangement.is_some() {
            self.can_be_placed(&new)?;
        }
        let all = self.elements();
        for part in new.before.iter_mut().chain([&mut new.rest]) {
            part.old = self.placement.of(part.part.stage).filter_map(|at| Some(all.get(at)?.name.clone())).collect();
        }
        if plan {
            let succession = match &self.mode {
                Mode::Total(_) => self.planned_succession(application.application(), &new),
                Mode::Flow(_) => self.planned_of_flows(&new),
            };
            return Ok(Replaced { succession, pause: Duration::ZERO, prepared, faults: Vec::new() });
        }
        let done = match &self.mode {
            Mode::Flow(_) => self.renew_flows(&application, *new),
            Mode::Total(_) => self.renew(&application, *new),
        }?;
        let (place, numbers) = rearrangement.map(|it| (it.place, (it.replicas, it.pins))).unzip();
        if let Some(renewal) = &self.renewal {
            renewal.note(version, place);
        }
        numbers.into_iter().for_each(|(replicas, pins)| self.arrange(replicas, &pins));
        Ok(Replaced { prepared, ..done })
    }

    /// Whether the placement of the run, and its version where that stays, are those that something
    /// was prepared for.
    fn is_up_to_date(&self, place: &Option<Arc<PlacementFn>>, version: Option<&Version>) -> Result<(), ChangeError> {
        let Some(renewal) = &self.renewal else { return Ok(()) };
        let is_placed_so = place.as_ref().is_none_or(|place| Arc::ptr_eq(place, &lock(&renewal.place)));
        match is_placed_so && version.is_none_or(|version| *version == *lock(&renewal.current)) {
            true => Ok(()),
            false => Err(ChangeError::failed("another version or placement has come meanwhile: ask once more")),
        }
    }

    /// What a placement says of replicas and cores; what cannot be is told.
    fn arrange(&mut self, replicas: Option<usize>, pins: &[(String, usize)]) {
        let numbered = match replicas {
            Some(replicas) => self.set_replicas(replicas).map(drop),
            None => self.plan(Self::PLAN),
        };
        self.news.extend(numbered.err().map(|why| why.to_string()));
        for (thread, core) in pins {
            let moved = self.move_thread(thread, Some(*core));
            self.news.extend(moved.err().map(|why| why.to_string()));
        }
    }

    /// Why this run cannot go on with such a placement.
    fn can_become(&self, new: &Placement, application: &app::Application) -> Result<(), ChangeError> {
        let old = &self.placement;
        let refused = |why: &str| Err(ChangeError::fixed(format!("this run cannot go on with another version: {why}")));
        let Mode::Total(Epochs { crew, .. }) = &self.mode else {
            return self.can_share(new, application).or_else(|why| refused(&why));
        };
        match crew {
            None => refused("nothing is for replicas in the one that runs"),
            Some(crew) if crew.is_making() => refused("another replica is being made"),
            Some(_) if new.order == Order::Flow || !old.replayed.is_empty() || !new.replayed.is_empty() => {
                refused("replicas have the state of all packets")
            }
            Some(_) if new.of(Stage::Replica).next().is_none() => refused("nothing is for replicas in the new one"),
            Some(_) if old.flow != new.flow && old.flow != Flow::Any && new.flow != Flow::Any => {
                refused("packets would go to replicas by another function, and elements keep state by flow")
            }
            Some(_) => match self.no_more_sums(new, application) {
                Some(name) => refused(&format!("each replica has a part of the sums that `{name}` keeps in a table")),
                None => Ok(()),
            },
        }
    }

    /// An element in replicas with a table that packets only added to, and now do more to.
    fn no_more_sums(&self, new: &Placement, application: &app::Application) -> Option<String> {
        let (old, new) = (self.directory.sums_by_element(), Places::of(new, application));
        let is_less = |(name, tables): &(String, Arc<[SumTable]>)| {
            let is_there = |table: &SumTable| new.sums.get(name).is_some_and(|sums| sums.iter().any(|sum| sum.name == table.name));
            new.stages.get(name) == Some(&Stage::Replica) && !tables.iter().all(is_there)
        };
        old.into_iter().find(is_less).map(|(name, _)| name)
    }

    fn planned_succession(&self, application: &app::Application, new: &New) -> Succession {
        let mut succession = Succession::default();
        new.add(&mut succession, Stage::Rest, self.rest.plan(&new.rest.part.application));
        for (stage, plan) in self.directory.plan(&new.before) {
            new.add(&mut succession, stage, plan);
        }
        let matches = matches(&self.whole, application);
        if self.recuts(new, &matches) {
            self.note_moves((new, application), &matches, &mut succession);
        }
        succession
    }

    fn renew(&mut self, application: &Application, new: New) -> Result<Replaced, ChangeError> {
        let begun = Instant::now();
        let whole = Arc::new(application.application().clone());
        let matches = Arc::new(matches(&self.whole, &whole));
        let fresh = if self.recuts(&new, &matches) { Some(self.begin_stages(&new)?) } else { None };
        let mut waiting = self.directory.renew(Stage::Source, &new, Some(&matches));
        let found = self.rest_and_prepare(&new, (fresh.is_some(), &matches), &mut waiting);
        let own = found.and_then(|own| waiting.iter().try_for_each(|it| it.is_prepared()).map(|()| own));
        let own = match own {
            Ok(own) => own,
            Err(why) => {
                // Those that are told nothing give up as well.
                waiting.iter().for_each(|it| _ = it.go.send(false));
                fresh.into_iter().for_each(Fresh::cancel);
                return Err(why.told(application));
            }
        };
        let go = || waiting.iter().for_each(|it| _ = it.go.send(true));
        let mut succession = Succession::default();
        let mut faults = match fresh {
            // Nothing comes to a stage that is to end.
            Some(fresh) => self.go_on_cut_anew(own, (&new, &matches), fresh, &mut succession).inspect(|_| go()).inspect_err(|_| go())?,
            None => {
                go();
                let (own, faults) = accede(&mut self.rest, own, |graph| link(graph, &new.rest.part, &new.rest.ready));
                new.add(&mut succession, Stage::Rest, own);
                faults
            }
        };
        let mut bases = Bases::default();
        for (it, renewed) in waiting.iter().filter_map(|it| Some((it, it.done.recv_timeout(PATIENCE).ok()?))) {
            new.add(&mut succession, it.stage, renewed.succession);
            faults.extend(renewed.faults);
            bases.extend(renewed.bases);
        }
        let pause = begun.elapsed();
        self.become_new(whole, new, bases);
        Ok(Replaced { succession, pause, prepared: Duration::ZERO, faults })
    }

    /// Lets all packets that are on their way go through, and all threads prepare their parts;
    /// `anew`: but for stages in order, which are begun anew.
    fn rest_and_prepare(
        &mut self,
        new: &New,
        (anew, matches): (bool, &Arc<Matches>),
        waiting: &mut Vec<Waiting>,
    ) -> Result<Successor, NotReady> {
        let Mode::Total(epochs) = &mut self.mode else { return Err(NotReady::Other(ChangeError::fixed(""))) };
        let relief = self.directory.relief();
        let held = relief.as_ref().map(|relief| relief.hold());
        let other = |why: &str| NotReady::Other(ChangeError::failed(why));
        let handed = waiting.iter().map(|it| it.rests.recv_timeout(PATIENCE)).collect::<Result<Vec<u64>, _>>();
        let handed = handed.map_err(|_| other("the sources have ended"))?.into_iter().max().ok_or_else(|| other("there are no sources"))?;
        self.gauge.count(epochs.take_up_to(handed, &mut self.rest).map_err(NotReady::Other)?);
        drop(held);
        let goes_on = |stage: &Stage| *stage == Stage::Replica || !anew && *stage != Stage::Source;
        let between = new.before.iter().map(|new| new.part.stage).filter(goes_on);
        waiting.extend(between.flat_map(|stage| self.directory.renew(stage, new, Some(matches))));
        let rings = Rings { inbox: Arc::clone(&epochs.inbox), ..Rings::default() };
        let elsewhere = Some(Remote(Arc::clone(&self.directory) as Arc<_>));
        let settings = Settings { rings: Some(rings), elsewhere, ..new.making.settings.clone() };
        prepare(&mut self.rest, &new.rest.part, &new.rest.ready, (settings, Some(matches))).map_err(NotReady::Faults)
    }

    fn become_new(&mut self, application: Arc<app::Application>, new: New, bases: Bases) {
        let Some(replicas) = new.replicas().map(|new| Arc::clone(&new.part)) else { return };
        let New { placement, state, making, .. } = new;
        self.directory.become_new(Places::of(&placement, &application), bases);
        self.origins = ways::origins(&application, &placement);
        if let Mode::Total(Epochs { crew: Some(crew), .. }) = &mut self.mode {
            crew.become_new(making, replicas, (&placement, state));
        }
        self.placement = placement;
        self.whole = application;
    }
}

/// Why a version is not ready.
enum NotReady {
    Faults(Vec<Fault>),
    Other(ChangeError),
}

impl NotReady {
    fn told(self, application: &Application) -> ChangeError {
        match self {
            Self::Faults(faults) => ChangeError::invalid(application.drawn(faults)),
            Self::Other(why) => why,
        }
    }
}

impl Waiting {
    fn is_prepared(&self) -> Result<(), NotReady> {
        match self.prepared.recv_timeout(PATIENCE) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(faults)) => Err(NotReady::Faults(faults)),
            Err(_) => Err(NotReady::Other(ChangeError::failed("a thread of the run does not answer"))),
        }
    }
}

impl New {
    fn of(recipe: &Recipe, application: &Application, placement: Placement, planned: bool) -> Self {
        let Cut { before, rest } = match placement.order {
            Order::Total => cut(application.application(), &placement),
            Order::Flow => whole(application.application(), &placement),
        };
        let settings = application.own_settings(recipe.settings.clone());
        let making = Making { engine: recipe.engine, engines: recipe.engines, settings, ready: None };
        let new = |part: Part| {
            // The first replica of a whole application has the programs of the others.
            let ready = match planned {
                true => Ready::empty(recipe.engine, recipe.engines),
                false => Ready::of(&part.application, recipe.engine, recipe.engines),
            };
            let names = present(&placement, part.stage, application.application());
            NewPart { part: Arc::new(part), ready: Arc::new(ready), names, old: Vec::new() }
        };
        let (before, rest) = (before.into_iter().map(new).collect(), new(rest));
        let state = placement.flow_state(application.application());
        Self { placement, state, before, rest, making }
    }
}

impl Directory {
    /// Asks the threads of a stage to go on with their parts of another version.
    pub(super) fn renew(&self, stage: Stage, new: &New, matches: Option<&Arc<Matches>>) -> Vec<Waiting> {
        let ask = |(worker, part): (&Arc<super::handlers::Worker>, &NewPart)| {
            let (renewing, waiting) = new.renewing(part, matches);
            worker.send(Request::Renew(Box::new(renewing))).then_some(waiting)
        };
        let workers = self.workers();
        workers.iter().filter(|worker| worker.gauge().stage == stage).zip(new.of_stage(stage).into_iter().cycle()).filter_map(ask).collect()
    }

    /// What would become of the elements of all threads.
    pub(super) fn plan_all(&self, part: &Arc<Part>) -> Vec<Succession> {
        self.workers().iter().filter_map(|worker| worker.ask(|reply| Request::Plan(Arc::clone(part), reply))).collect()
    }

    /// What would become of the elements of each stage, in the first of its threads.
    fn plan(&self, parts: &[NewPart]) -> Vec<(Stage, Succession)> {
        let one = |NewPart { part, .. }: &NewPart| {
            let worker = self.workers().into_iter().find(|worker| worker.gauge().stage == part.stage)?;
            Some((part.stage, worker.ask(|reply| Request::Plan(Arc::clone(part), reply))?))
        };
        parts.iter().filter_map(one).collect()
    }
}
