//! A graph that takes the place of another one while packets flow: a new version of a
//! configuration.
//!
//! ```text
//!  plan: which elements are the same ─▶ make and initialise the others ─▶ move what is kept ─▶ the old graph completes what it alone wrote
//!                                          │ fails: the old graph goes on, as if nothing had been
//! ```
//!
//! An element is the same if it has the name (or none), the class, the arguments and the ports that
//! it had: it goes on with all that it has (packets of queues, places in captures, open devices,
//! tables, variables, timers). An element in C whose arguments or class's code changed is new, but
//! keeps the entries that packets have made in its tables (those that its push handler inserts
//! into), where name, kind, key and value are as they were. Devices stay open. Invariants:
//! - Nothing of the old graph has changed when making the new one fails.
//! - No packet is on its way meanwhile; what waits in sources and queues is handled by the new
//!   graph.
//! - Where packets' annotations lie elsewhere in the new graph, elements that hold packets are not
//!   kept: their packets are counted as lost. Those that sources have read go on, with their fields
//!   in the new places.
//!
//! Source: Click's hot swapping (E. Kohler, The Click Modular Router, 2000, section 5.5:
//! take_state). Of several graphs that are stages of one application each is prepared, and takes
//! its place when all are.

use super::builtin::Cut;
use super::{Body, Factories, Fault, Graph, Host, Node, NodeStats, Settings, printing};
use netil::app::{Application, Body as Source, Instance};
use netil::module::{HandlerKind, Module, Table as Declaration};
use netil::table::Op;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Turns in which arrivals that were taken are run, before a graph is replaced.
const LAST_TURNS: usize = 1 << 12;

/// What became of the elements of a graph that was replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Succession {
    /// Elements that go on as they were.
    pub kept: Vec<String>,
    /// Elements that are new, or made anew.
    pub made: Vec<String>,
    /// Elements that are no more.
    pub gone: Vec<String>,
    /// Tables that elements made anew have kept, as `element.table`, with how many entries.
    pub tables: BTreeMap<String, u64>,
    /// Entries for which there was no room.
    pub entries_lost: u64,
    /// Packets that waited in elements that are no more.
    pub packets_lost: u64,
}

/// A graph that is ready to take the place of another one, whose devices and host it has.
pub struct Successor {
    next: Graph,
    kept: BTreeMap<usize, usize>,
}

impl Successor {
    /// Takes the place of the graph that it was prepared by.
    pub fn accede(mut self, old: &mut Graph) -> (Graph, Succession) {
        let succession = self.next.take_over(old, &self.kept);
        (self.next, succession)
    }

    /// That graph goes on.
    pub fn give_up(mut self, old: &mut Graph) {
        old.take_back(&mut self.next);
    }
}

/// A host until another one is there.
struct Nobody;

impl Host for Nobody {
    fn write(&mut self, _: super::Stream, _: &[u8]) {}
}

impl Graph {
    /// Makes the graph of another application that goes on where this one is, with the settings
    /// that this one has but for the configuration's text. This one is not to be run any more, only
    /// finished.
    ///
    /// # Errors
    /// Elements that cannot be made, with the reasons: then this one goes on.
    pub fn succeed(
        &mut self,
        application: &Application,
        factories: &Factories<'_>,
        settings: Settings,
    ) -> Result<(Self, Succession), Vec<Fault>> {
        self.prepare(application, factories, settings).map(|successor| successor.accede(self))
    }

    /// Makes the graph of another application, ready to take the place of this one: this graph can
    /// still go on if it gets back what it has lent ([`Successor::give_up`]).
    ///
    /// # Errors
    /// As [`Graph::succeed`].
    pub fn prepare(&mut self, application: &Application, factories: &Factories<'_>, settings: Settings) -> Result<Successor, Vec<Fault>> {
        self.prepare_matched(application, None, factories, settings)
    }

    /// Makes that of one stage of several: [`matches()`] of the whole applications say which
    /// elements may be the same.
    ///
    /// # Errors
    /// As [`Graph::succeed`].
    pub fn prepare_matched(
        &mut self,
        application: &Application,
        matches: Option<&Matches>,
        factories: &Factories<'_>,
        settings: Settings,
    ) -> Result<Successor, Vec<Fault>> {
        self.rest();
        let same_info = self.topology.info == super::Info::of(application);
        let kept = self.same(application, same_info, matches);
        let settings = Settings { home: self.topology.settings.home.clone(), ..settings };
        let next = self.make_next(application, factories, settings, &kept.keys().copied().collect())?;
        Ok(Successor { next, kept })
    }

    /// Runs arrivals that were taken: none is on its way.
    pub fn rest(&mut self) {
        for _ in 0..LAST_TURNS {
            if self.next_taken().is_none() || !self.turn() {
                break;
            }
        }
    }

    /// By element of another application that would go on, the one of this graph that it is.
    pub fn kept(&self, application: &Application) -> BTreeMap<usize, usize> {
        self.same(application, self.topology.info == super::Info::of(application), None)
    }

    /// Whether the elements of another application would have the same together as those of this
    /// graph.
    pub fn has_together(&self, application: &Application) -> bool {
        self.topology.sharing == sharing(application)
    }

    /// What would become of the elements.
    pub fn plan(&self, application: &Application) -> Succession {
        let kept = self.same(application, self.topology.info == super::Info::of(application), None);
        let name = |index: usize| application.instances[index].name.clone();
        let mut plan = Succession::default();
        for (index, instance) in application.instances.iter().enumerate() {
            if kept.contains_key(&index) {
                plan.kept.push(name(index));
                continue;
            }
            plan.made.push(name(index));
            let before = self
                .topology
                .by_name
                .get(&instance.name)
                .map(|before| &self.core.nodes[*before])
                .filter(|node| node.class == instance.class);
            let graph = self.topology.settings.share.as_ref().map_or(0, |share| share.index);
            let own = before.map(|node| &node.body).filter(|body| !matches!(body, Body::Program(its) if its.is_others(graph)));
            if let (Some(Body::Program(its)), Some(program)) = (own, instance.program()) {
                for (_, table) in learned(program.module()) {
                    let same = |(_, other): &(usize, Declaration)| is_alike(&table, other);
                    if let Some((from, _)) = learned(its.module()).into_iter().find(same) {
                        plan.tables.insert(format!("{}.{}", instance.name, table.name), its.entries(from, self.core.clock.now()));
                    }
                }
            }
        }
        let names: BTreeSet<&String> = application.instances.iter().map(|instance| &instance.name).collect();
        let moved: BTreeSet<usize> = kept.values().copied().collect();
        let gone = self
            .core
            .nodes
            .iter()
            .enumerate()
            .filter(|(at, node)| !moved.contains(at) && (node.name.contains('@') || !names.contains(&node.name)));
        plan.gone = gone.map(|(_, node)| node.name.clone()).collect();
        plan
    }

    /// By element of the new application, the one of this graph that it is.
    fn same(&self, application: &Application, same_info: bool, matches: Option<&Matches>) -> Matches {
        let own = || self.core.nodes.iter().map(|node| (&node.name[..], &node.class[..], &node.arguments[..]));
        let matches = matches.cloned().unwrap_or_else(|| matched(own(), application));
        let ports = ports(application);
        let is_same = |(index, old): &(usize, usize)| {
            let there = application.instances.get(*index).filter(|_| *old < self.core.nodes.len());
            there.is_some_and(|instance| self.is_same(*old, instance, arguments(application, *index), ports[*index], same_info))
        };
        matches.into_iter().filter(is_same).collect()
    }

    fn is_same(&self, old: usize, instance: &Instance, arguments: &[String], ports: (usize, usize), same_info: bool) -> bool {
        let node = &self.core.nodes[old];
        let fits = node.class == instance.class && node.arguments == arguments && (node.inputs.len(), node.outputs.len()) == ports;
        fits && match (&instance.body, &node.body) {
            // The ends of rings are those of the new stages.
            (Source::BuiltIn(_), Body::BuiltIn(_)) if node.facts.cut == Some(Cut::End) => false,
            (Source::BuiltIn(_), Body::BuiltIn(Some(_))) => same_info || !node.facts.holds_packets,
            (Source::Program(program), Body::Program(own)) => {
                own.module().is_equal_but_for_name(program.module()) && (same_info || !own.holds())
            }
            _ => false,
        }
    }

    /// The graph without what is kept, whose elements have no state, the others initialised.
    /// Devices and the host are lent to it, and come back if it fails.
    fn make_next(
        &mut self,
        application: &Application,
        factories: &Factories<'_>,
        settings: Settings,
        kept: &BTreeSet<usize>,
    ) -> Result<Self, Vec<Fault>> {
        let host = std::mem::replace(&mut self.outside.host, Box::new(Nobody));
        let nodes = Self::make_nodes(application, factories, &settings, host.as_ref(), kept);
        let nodes = match nodes {
            Ok(nodes) => nodes,
            Err(faults) => {
                self.outside.host = host;
                return Err(faults);
            }
        };
        let mut next = Self::with_nodes(application, factories, nodes, settings, host);
        next.outside.devices = std::mem::take(&mut self.outside.devices);
        next.core.clock = self.core.clock.clone();
        let files = printing::Files::of(application, next.topology.settings.within.as_deref(), kept);
        let opened = files.map(|files| next.outside.files = files);
        match opened.and_then(|()| next.init(kept).map_err(|fault| vec![fault])) {
            Ok(()) => Ok(next),
            Err(faults) => {
                self.take_back(&mut next);
                Err(faults)
            }
        }
    }

    /// Host and devices that were lent.
    fn take_back(&mut self, next: &mut Self) {
        self.outside.host = std::mem::replace(&mut next.outside.host, Box::new(Nobody));
        self.outside.devices = std::mem::take(&mut next.outside.devices);
    }

    /// Moves what is kept.
    fn take_over(&mut self, old: &mut Self, kept: &BTreeMap<usize, usize>) -> Succession {
        let mut succession = Succession::default();
        old.tell_all_passed();
        let mut numbers = BTreeMap::new();
        let stats: Vec<NodeStats> = old.stats().nodes.into_iter().map(|(_, _, stats)| stats).collect();
        for index in 0..self.core.nodes.len() {
            let before = kept.get(&index).copied().or_else(|| self.namesake(index, old));
            if let Some(before) = before {
                self.core.nodes[index].stats.clone_from(&stats[before]);
                numbers.insert(before, index);
            }
            let name = self.core.nodes[index].name.clone();
            match (kept.get(&index), before) {
                (Some(before), _) => self.keep(index, old, *before),
                (None, Some(before)) => self.keep_tables(index, &mut old.core.nodes[before].body, &mut succession),
                (None, None) => {}
            }
            let list = if kept.contains_key(&index) { &mut succession.kept } else { &mut succession.made };
            list.push(name);
        }
        self.note_gone(old, kept, &mut succession);
        self.keep_shared(old);
        self.keep_pool(old);
        self.keep_records(old, |before| numbers.get(&before).copied());
        (self.core.arrivals, self.outside.waited, self.watch.profiler) = (old.core.arrivals, old.outside.waited, old.watch.profiler.take());
        (self.fusion.made, self.outside.horizon) = (old.fusion.made, old.outside.horizon);
        self.begin_anew(kept);
        succession
    }

    /// The element of another graph that has the name and the class of one that is not the same.
    fn namesake(&self, index: usize, old: &Self) -> Option<usize> {
        let Node { name, class, .. } = &self.core.nodes[index];
        let before = old.topology.by_name.get(name).copied()?;
        (!name.contains('@') && old.core.nodes[before].class == *class).then_some(before)
    }

    /// Elements of the old graph that are no more, and the packets that wait in them.
    fn note_gone(&self, old: &mut Self, kept: &BTreeMap<usize, usize>, succession: &mut Succession) {
        let moved: BTreeSet<usize> = kept.values().copied().collect();
        for at in (0..old.core.nodes.len()).filter(|at| !moved.contains(at)) {
            succession.packets_lost += old.packets_in(at);
            let name = &old.core.nodes[at].name;
            if name.contains('@') || !self.topology.by_name.contains_key(name) {
                succession.gone.push(name.clone());
            }
        }
    }

    /// Packets that wait in queues lie in the pool. Where annotations lie elsewhere no queue is
    /// kept.
    fn keep_pool(&mut self, old: &mut Self) {
        for at in 0..old.core.nodes.len() {
            old.with_builtin(at, |builtin, ctx| {
                let mut slots = Vec::new();
                builtin.queue_mut().into_iter().for_each(|queue| queue.drop_slots(&mut slots));
                ctx.pool().give_back(&slots);
            });
        }
        if old.core.pool.info_size() == self.topology.info.size {
            self.core.pool = std::mem::take(&mut old.core.pool);
            self.core.pool.keep_numbers(self.topology.numbered);
        }
    }

    /// Finds tasks, sources and queues again, and lets elements begin their work that are new.
    fn begin_anew(&mut self, kept: &BTreeMap<usize, usize>) {
        let Roles { tasks, sources, driver } = roles(&mut self.core.nodes);
        (self.topology.tasks, self.topology.sources, self.topology.driver) = (tasks, sources, driver);
        self.find_neighbours();
        for index in (0..self.core.nodes.len()).filter(|index| !kept.contains_key(index)) {
            self.with_builtin(index, |builtin, ctx| builtin.start(ctx));
            self.settle();
        }
    }

    /// An element goes on as it was.
    fn keep(&mut self, index: usize, old: &mut Self, before: usize) {
        let due = old.core.timers.due(before);
        self.outside.files.take(index, &mut old.outside.files, before);
        self.core.nodes[index].next_number = old.core.nodes[before].next_number;
        let (own, its) = (&mut self.core.nodes[index].body, &mut old.core.nodes[before].body);
        match (own, its) {
            (Body::Program(own), Body::Program(its)) => own.take_state(its),
            (own, its) => std::mem::swap(own, its),
        }
        if let (Body::BuiltIn(Some(builtin)), true) = (&mut self.core.nodes[index].body, self.topology.info != old.topology.info) {
            builtin.move_annotations(&old.topology.info, &self.topology.info);
        }
        self.core.timers.note(index, due);
    }

    /// An element made anew gets the entries that packets made in its tables.
    pub(super) fn keep_tables(&mut self, index: usize, before: &mut Body, succession: &mut Succession) {
        let (name, now) = (self.core.nodes[index].name.clone(), self.core.clock.now());
        let graph = self.topology.settings.share.as_ref().map_or(0, |share| share.index);
        let (Body::Program(own), Body::Program(its)) = (&mut self.core.nodes[index].body, before) else { return };
        if own.is_others(graph) {
            return;
        }
        for (at, table) in learned(own.module()) {
            let same = |other: &(usize, Declaration)| is_alike(&table, &other.1);
            let Some((from, _)) = learned(its.module()).into_iter().find(same) else { continue };
            let (kept, lost) = own.take_entries_of(at, its, from, now);
            succession.tables.insert(format!("{name}.{}", table.name), kept);
            succession.entries_lost += lost;
        }
        own.with(&mut self.core.shared, |own| own.watch_tables(now));
        self.note_timers(index);
    }

    /// Tables and variables that elements have together go on where all of them do.
    fn keep_shared(&mut self, old: &mut Self) {
        if self.topology.sharing == old.topology.sharing {
            std::mem::swap(&mut self.core.shared, &mut old.core.shared);
        }
    }

    /// Packets that wait in an element.
    fn packets_in(&self, node: usize) -> u64 {
        match &self.core.nodes[node].body {
            Body::BuiltIn(Some(builtin)) => builtin.held() as u64,
            _ => 0,
        }
    }
}

/// By element of an application, the one of another application that it may be.
pub type Matches = BTreeMap<usize, usize>;

/// By element of the new one of two applications, the one of the old one that it may be: it has the
/// same name, or neither has one.
pub fn matches(old: &Application, new: &Application) -> Matches {
    let all = old.instances.iter().enumerate();
    matched(all.map(|(at, instance)| (&instance.name[..], &instance.class[..], arguments(old, at))), new)
}

/// Names that a configuration does not give shift when elements are added, so elements without one
/// are told apart by class and arguments, in the order of declaration.
fn matched<'o>(old: impl Iterator<Item = (&'o str, &'o str, &'o [String])>, new: &'o Application) -> Matches {
    let mut unnamed: HashMap<(&'o str, &'o [String]), VecDeque<usize>> = HashMap::new();
    let mut named: HashMap<&str, usize> = HashMap::new();
    for (at, (name, class, arguments)) in old.enumerate() {
        match name.contains('@') {
            true => unnamed.entry((class, arguments)).or_default().push_back(at),
            false => _ = named.insert(name, at),
        }
    }
    let old = |(index, instance): (usize, &'o Instance)| {
        let old = match instance.name.contains('@') {
            true => unnamed.get_mut(&(&instance.class[..], arguments(new, index))).and_then(VecDeque::pop_front),
            false => named.get(&instance.name[..]).copied(),
        };
        Some((index, old?))
    };
    new.instances.iter().enumerate().filter_map(old).collect()
}

/// Elements by what they do, in the order of declaration.
#[derive(Default)]
pub(super) struct Roles {
    pub(super) tasks: Vec<usize>,
    pub(super) sources: Vec<usize>,
    pub(super) driver: Option<usize>,
}

pub(super) fn roles(nodes: &mut [Node]) -> Roles {
    let mut roles = Roles::default();
    for (index, node) in nodes.iter_mut().enumerate() {
        let Body::BuiltIn(Some(builtin)) = &mut node.body else { continue };
        node.task = builtin.task().map(|task| task.kind());
        roles.tasks.extend(node.task.map(|_| index));
        roles.sources.extend(builtin.source().map(|_| index));
        roles.driver = roles.driver.or(builtin.driver().map(|_| index));
    }
    roles
}

/// Who has each table, and each piece of memory, that several elements have together.
pub(super) fn sharing(application: &Application) -> Vec<Vec<(String, u32)>> {
    let name = |instance: u32| application.instances[instance as usize].name.clone();
    let tables = application.shared.iter().map(|list| list.iter().map(|of| (name(of.instance), of.table)).collect());
    let pieces = application.pieces.iter().map(|list| list.iter().map(|of| (name(of.instance), of.at)).collect());
    tables.chain(pieces).collect()
}

/// What the configuration says of an element.
fn arguments(application: &Application, index: usize) -> &[String] {
    match &application.instances[index].body {
        Source::BuiltIn(arguments) => arguments,
        Source::Program(_) => application.arguments.get(index).map_or(&[], Vec::as_slice),
    }
}

/// By element how many inputs and outputs are connected, those between counted.
fn ports(application: &Application) -> Vec<(usize, usize)> {
    let mut ports = vec![(0, 0); application.instances.len()];
    for wire in &application.wires {
        let outputs = &mut ports[wire.from.instance as usize].1;
        *outputs = (*outputs).max(wire.from.port as usize + 1);
        let inputs = &mut ports[wire.to.instance as usize].0;
        *inputs = (*inputs).max(wire.to.port as usize + 1);
    }
    ports
}

/// The tables that packets make entries in.
fn learned(module: &Module) -> Vec<(usize, Declaration)> {
    let push = module.handler(HandlerKind::Push);
    let inserts = |n: usize| push.is_some_and(|push| push.code.iter().any(|inst| inst.op == Op::TInsert && inst.imm[0] as usize == n));
    module.tables.iter().enumerate().filter(|(n, _)| inserts(*n)).map(|(n, table)| (n, table.clone())).collect()
}

/// Whether entries of one table are entries of another one.
fn is_alike(one: &Declaration, other: &Declaration) -> bool {
    let schema = |table: &Declaration| (table.name.clone(), table.kind, table.key_bits, table.value_bytes);
    schema(one) == schema(other)
}
