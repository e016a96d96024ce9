//! A version of a configuration that is cut into stages, and how each thread of a run puts its part
//! of that in the place of the one that it runs: [`super::renew`] says in which order.

use super::bases::{Bases, numbers};
use super::cut::Part;
use super::{Flow, Graph, Making, Placement, Stage};
use crate::application::ready::Ready;
use runtime::graph::ring::{Dispatcher, FlowState, Rings};
use runtime::graph::{Fault, Matches, Settings, Succession, Successor};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What a thread is to do.
pub(super) struct Renewing {
    part: Arc<Part>,
    ready: Arc<Ready>,
    making: Making,
    /// Which elements may be the same, where it is one stage of several.
    matches: Option<Arc<Matches>>,
    flow: Flow,
    state: FlowState,
    /// How many epochs it has handed over, now that it rests.
    rests: Sender<u64>,
    prepared: Sender<Result<(), Vec<Fault>>>,
    /// Where threads have state in common, that is ready for the new one.
    begins: Receiver<()>,
    go: Receiver<bool>,
    done: Sender<Renewed>,
}

/// What came of it.
pub(super) struct Renewed {
    pub succession: Succession,
    pub faults: Vec<Fault>,
    /// What handlers of new elements say before there are packets.
    pub bases: Bases,
}

/// Who waits for a thread.
pub(super) struct Waiting {
    pub(super) stage: Stage,
    pub(super) rests: Receiver<u64>,
    pub(super) prepared: Receiver<Result<(), Vec<Fault>>>,
    pub(super) begins: Sender<()>,
    pub(super) go: Sender<bool>,
    pub(super) done: Receiver<Renewed>,
}

impl Renewing {
    /// On the sources' thread.
    pub(super) fn sources(self, graph: &mut Graph, dispatcher: &Dispatcher, handed: u64) {
        let settings = Settings { rings: Some(Rings::default()), waker: None, ..self.making.settings.clone() };
        let (part, flow, state) = (Arc::clone(&self.part), self.flow, self.state);
        self.work(graph, settings, handed, |graph| {
            dispatcher.set_flow(flow);
            dispatcher.set_flow_state(state);
            if let Some(ring) = part.to.first() {
                graph.dispatch(&part.application, *ring, dispatcher.clone());
            }
        });
    }

    /// On that of a replica, or of a stage in order before the last one.
    pub(super) fn between(self, graph: &mut Graph, rings: &Rings) {
        let rings = Rings { numbers: true, annotated: self.part.annotated.clone(), ..rings.clone() };
        let mut settings = Settings { rings: Some(rings), ..self.making.settings.clone() };
        // Its packets come from the sources, with their times.
        settings.live.clear();
        let (part, ready) = (Arc::clone(&self.part), Arc::clone(&self.ready));
        self.work(graph, settings, 0, |graph| link(graph, &part, &ready));
    }

    /// On that of a replica of the whole application, made with these settings.
    pub(super) fn whole(self, graph: &mut Graph, settings: &Settings) {
        graph.rest();
        let _ = self.rests.send(0);
        if self.begins.recv().is_err() {
            return;
        }
        let (waker, share) = (settings.waker.clone(), settings.share.clone());
        let settings = Settings { rings: Some(Rings::default()), elsewhere: None, waker, share, ..self.making.settings.clone() };
        let (part, ready) = (Arc::clone(&self.part), Arc::clone(&self.ready));
        self.work(graph, settings, 0, |graph| link(graph, &part, &ready));
    }

    fn work(self, graph: &mut Graph, settings: Settings, handed: u64, link: impl FnOnce(&mut Graph)) {
        let Self { part, ready, matches, rests, prepared, go, done, .. } = self;
        // Who asked may have gone; then nobody says that it is to go on with the new one.
        let _ = rests.send(handed);
        let successor = match prepare(graph, &part, &ready, (settings, matches.as_deref())) {
            Ok(successor) => successor,
            Err(faults) => return drop(prepared.send(Err(faults))),
        };
        let _ = prepared.send(Ok(()));
        if !matches!(go.recv(), Ok(true)) {
            return successor.give_up(graph);
        }
        let (succession, faults) = accede(graph, successor, link);
        let made: BTreeSet<&String> = succession.made.iter().collect();
        let bases = numbers(graph, |element| made.contains(&element.to_owned()));
        let _ = done.send(Renewed { succession, faults, bases });
    }
}

/// `matches`: which elements may be the same, where it is one stage of several.
pub(super) fn prepare(
    graph: &mut Graph,
    part: &Part,
    ready: &Ready,
    (settings, matches): (Settings, Option<&Matches>),
) -> Result<Successor, Vec<Fault>> {
    ready.with_factories(|factories| graph.prepare_matched(&part.application, matches, factories, settings))
}

/// The new graph in the place of the old one; what that could not complete.
pub(super) fn accede(graph: &mut Graph, successor: Successor, link: impl FnOnce(&mut Graph)) -> (Succession, Vec<Fault>) {
    let (next, succession) = successor.accede(graph);
    let mut old = std::mem::replace(graph, next);
    link(graph);
    (succession, old.finish())
}

/// Elements that cannot run as one run one after the other.
pub(super) fn link(graph: &mut Graph, part: &Part, ready: &Ready) {
    let gathered = part.from.is_some_and(|from| part.to.is_empty() && graph.gather(&part.application, from));
    if !gathered {
        ready.link(&part.application, graph);
    }
}

/// A version, cut into stages.
pub(crate) struct New {
    pub(super) placement: Placement,
    pub(super) state: FlowState,
    /// Those before the last one; with the order of flows, that of the other replicas.
    pub(super) before: Vec<NewPart>,
    pub(super) rest: NewPart,
    pub(super) making: Making,
}

/// A stage of it.
pub(super) struct NewPart {
    pub(super) part: Arc<Part>,
    /// What programs run as.
    pub(super) ready: Arc<Ready>,
    /// Its elements, and those that the stage has in the version that runs.
    pub(super) names: Vec<String>,
    pub(super) old: Vec<String>,
}

impl New {
    /// What the threads of a stage go on with.
    pub(super) fn of_stage(&self, stage: Stage) -> Option<&NewPart> {
        self.before.iter().chain([&self.rest]).find(|new| new.part.stage == stage)
    }

    /// The part of replicas.
    pub(super) fn replicas(&self) -> Option<&NewPart> {
        self.of_stage(Stage::Replica)
    }

    /// What a thread is to do, and who waits for it.
    pub(super) fn renewing(&self, new: &NewPart, matches: Option<&Arc<Matches>>) -> (Renewing, Waiting) {
        let ((rests, rested), (prepared, ready), (go, goes), (done, renewed)) = (channel(), channel(), channel(), channel());
        let (begin, begins) = channel();
        let (part, compiled) = (Arc::clone(&new.part), Arc::clone(&new.ready));
        let (making, flow, state) = (self.making.clone(), self.placement.flow, self.state);
        let matches = matches.cloned();
        let renewing = Renewing { part, ready: compiled, making, matches, flow, state, rests, prepared, begins, go: goes, done };
        (renewing, Waiting { stage: new.part.stage, rests: rested, prepared: ready, begins: begin, go, done: renewed })
    }

    /// Adds what became of the elements of a stage; replicas have the same ones.
    pub(super) fn add(&self, all: &mut Succession, stage: Stage, of: Succession) {
        let Some(new) = self.of_stage(stage) else { return };
        let own = |name: &String| new.names.contains(name);
        let add = |to: &mut Vec<String>, names: Vec<String>, wanted: &dyn Fn(&String) -> bool| {
            let new: Vec<String> = names.into_iter().filter(|name| wanted(name) && !to.contains(name)).collect();
            to.extend(new);
        };
        add(&mut all.kept, of.kept, &own);
        add(&mut all.made, of.made, &own);
        // Elements of other stages are absent, and the ends of rings come and go: nobody knows of
        // them.
        let goes_on = |name: &String| self.before.iter().chain([&self.rest]).any(|new| new.names.contains(name));
        let is_named = |name: &String| new.old.contains(name) && (name.contains('@') || !goes_on(name));
        add(&mut all.gone, of.gone, &is_named);
        of.tables.into_iter().for_each(|(table, entries)| *all.tables.entry(table).or_default() += entries);
        all.entries_lost += of.entries_lost;
        all.packets_lost += of.packets_lost;
    }
}
