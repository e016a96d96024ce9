//! A pipeline: elements that run in order, in several stages one behind the other, each on a thread
//! of its own.
//!
//! ```text
//!  sources ─▶ replicas ─▶ in order 1 ─▶ in order 2 ─▶ in order: queues, devices, timers
//! ```
//!
//! Each of these stages has all packets, in their order, so that the result is that of one thread.
//! An element may be before the last stage if all that it does of a packet is done when the packet
//! comes: it sets no timers, holds no packets, asks for none and prints nothing, no packets are led
//! back from or to it, and no script looks at it while packets flow; and if so is all that packets
//! come through before it. What may be in replicas and is on a circle is in one stage.
//!
//! Source: NRTE paper, section 3 (stages on queues); NetVM paper, section 6.3.5 (a pipeline cut by
//! the cost of its elements). Left out: tasks before the last stage, as of `Queue -> Unqueue`.

use super::super::searches::SEARCHING;
use super::error::PlacementError;
use super::placement::{Placement, cannot_be_early, watched};
use super::stage::{Order, Stage};
use netil::Verified;
use netil::app::{Application, Wire};
use netil::module::{HandlerKind, Inst};
use netil::table::Op;
use runtime::graph::builtin;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most threads of a pipeline.
pub const MOST_THREADS: usize = 64;

/// Where elements that run in order are cut into stages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cuts {
    /// Nowhere.
    #[default]
    None,
    /// Before queues: the last stage begins with them.
    Queues,
    /// So that there are so many threads, with equal work as far as the compiler can tell.
    Threads(usize),
    /// Before elements and classes of these names.
    Before(Vec<String>),
}

impl Placement {
    /// Cuts what runs in order into stages.
    ///
    /// # Errors
    /// Nothing can be cut there.
    pub fn cut_by(mut self, application: &Application, cuts: &Cuts) -> Result<Self, PlacementError> {
        // With the order of flows, a replica is what has been before queues, and what is behind.
        if *cuts == Cuts::None || (self.order == Order::Flow && *cuts == Cuts::Queues) {
            return Ok(self);
        }
        if self.order == Order::Flow {
            return Err(PlacementError::Asked("with --order flow each replica has all elements: there are no other stages".to_owned()));
        }
        let early = self.early(application);
        match cuts {
            Cuts::None => {}
            Cuts::Queues => self.cut_at_queues(application, &early),
            Cuts::Threads(threads) => self.cut_into(application, &early, *threads)?,
            Cuts::Before(names) => self.cut_before(application, &early, names)?,
        }
        self.number();
        Ok(self)
    }

    /// How many stages are between replicas and the last one.
    pub fn ordered(&self) -> usize {
        let number = |stage: &Stage| if let Stage::Ordered(n) = stage { usize::from(*n) } else { 0 };
        self.stages.iter().map(number).max().unwrap_or(0)
    }

    /// The stages that have threads of their own, in the order in which packets come to them.
    pub(super) fn before_the_last(&self) -> Vec<Stage> {
        let ordered = (1..=self.ordered()).map(|n| Stage::Ordered(n as u8));
        let replicas = self.stages.contains(&Stage::Replica).then_some(Stage::Replica);
        [Stage::Source].into_iter().chain(replicas).chain(ordered).collect()
    }

    /// Elements of the last stage that may be before it.
    fn early(&self, application: &Application) -> BTreeSet<usize> {
        let is_last = |at: &usize| self.stages[*at] == Stage::Rest;
        let watched = watched(application);
        let may = |at: &usize| {
            let instance = &application.instances[*at];
            !watched.contains(at) && cannot_be_early(application, *at, instance).is_none() && !instance.program().is_some_and(tells)
        };
        let mut early: BTreeSet<usize> = self.of(Stage::Rest).filter(may).collect();
        // Packets that are led back are in the last stage, and so is what is behind it.
        let led_back = application.wires.iter().filter(|wire| wire.recirculates);
        led_back.flat_map(|wire| [wire.from, wire.to]).for_each(|end| _ = early.remove(&(end.instance as usize)));
        let late = |early: &BTreeSet<usize>, wire: &Wire| {
            let (from, to) = (wire.from.instance as usize, wire.to.instance as usize);
            (is_last(&from) && !early.contains(&from) && early.contains(&to)).then_some(to)
        };
        while let Some(at) = application.wires.iter().find_map(|wire| late(&early, wire)) {
            early.remove(&at);
        }
        early
    }

    fn cut_at_queues(&mut self, application: &Application, early: &BTreeSet<usize>) {
        let is_queue = |wire: &&Wire| builtin::facts(&application.instances[wire.to.instance as usize].class).queue;
        if application.wires.iter().filter(is_queue).any(|wire| early.contains(&(wire.from.instance as usize))) {
            early.iter().for_each(|at| self.stages[*at] = Stage::Ordered(1));
        }
    }

    fn cut_before(&mut self, application: &Application, early: &BTreeSet<usize>, names: &[String]) -> Result<(), PlacementError> {
        let named = super::placement::named(application, names, "cut")?;
        self.keeps_replicated("cut")?;
        let first = |at: usize| early.contains(&at).then_some(1).or((self.stages[at] == Stage::Replica).then_some(0));
        let mut levels: Vec<Option<usize>> = (0..self.stages.len()).map(first).collect();
        for at in &named {
            let comes = |wire: &&Wire| wire.to.instance as usize == *at && levels[wire.from.instance as usize].is_some();
            if !application.wires.iter().any(|wire| comes(&wire)) {
                let name = &application.instances[*at].name;
                return Err(PlacementError::Asked(format!("cut {name}: nothing before `{name}` can be in another stage")));
            }
        }
        // Levels only grow; on a circle with a cut they would for ever.
        for _ in 0..=self.stages.len() {
            let grows = |wire: &Wire| {
                let (from, to) = (wire.from.instance as usize, wire.to.instance as usize);
                let level = levels[from]? + usize::from(named.contains(&to));
                (levels[to]? < level).then_some((to, level))
            };
            let grown: Vec<(usize, usize)> = application.wires.iter().filter_map(grows).collect();
            if grown.is_empty() {
                levels.iter().enumerate().filter_map(|(at, level)| Some((at, (*level)?))).for_each(|(at, level)| self.put(at, level));
                return Ok(());
            }
            grown.into_iter().for_each(|(at, level)| levels[at] = levels[at].max(Some(level)));
        }
        Err(PlacementError::Asked("cut: one of the elements is on a circle, which is in one stage".to_owned()))
    }

    fn put(&mut self, at: usize, level: usize) {
        self.stages[at] = if level == 0 { Stage::Replica } else { Stage::Ordered(level.min(MOST_THREADS) as u8) };
    }

    /// Sources and the last stage have a thread each; the others have the rest.
    fn cut_into(&mut self, application: &Application, early: &BTreeSet<usize>, threads: usize) -> Result<(), PlacementError> {
        self.keeps_replicated("pipeline:N")?;
        let replicas: BTreeSet<usize> = self.of(Stage::Replica).collect();
        let between = threads.saturating_sub(2);
        if between == 0 {
            replicas.iter().for_each(|at| self.stages[*at] = Stage::Rest);
            return Ok(());
        }
        let kinds: Vec<&BTreeSet<usize>> = [&replicas, early].into_iter().filter(|kind| !kind.is_empty()).take(between).collect();
        let units: Vec<Vec<Unit>> = kinds.iter().map(|kind| units(application, kind)).collect();
        let levels = usize::from(replicas.is_empty())..;
        for (level, group) in levels.zip(divided(&units, between)) {
            group.iter().flat_map(|unit| &unit.elements).for_each(|at| self.put(*at, level));
        }
        Ok(())
    }

    fn keeps_replicated(&self, what: &str) -> Result<(), PlacementError> {
        match self.replayed.is_empty() {
            true => Ok(()),
            false => Err(PlacementError::Asked(format!("{what}: with --state replicate all replicas have all packets, in one stage"))),
        }
    }

    /// Lets stages that have elements be numbered from 1 on.
    fn number(&mut self) {
        let used: BTreeSet<u8> =
            self.stages.iter().filter_map(|stage| if let Stage::Ordered(n) = stage { Some(*n) } else { None }).collect();
        for stage in &mut self.stages {
            if let Stage::Ordered(n) = stage {
                *n = used.range(..=*n).count() as u8;
            }
        }
    }
}

/// Whether an element prints when a packet comes, or tells others something in another way: texts
/// of all elements are in one order. What it says when its handlers are read is not meant.
fn tells(program: &Arc<Verified>) -> bool {
    let searches = |unit: u32| program.module().coprocessors.get(unit as usize).is_some_and(|unit| SEARCHING.contains(&unit.name.as_str()));
    let tells = |inst: &Inst| matches!(inst.op, Op::CoproIn | Op::CoproOut | Op::CoproInvoke | Op::CoproExbuf) && !searches(inst.imm[0]);
    program.module().handler(HandlerKind::Push).is_some_and(|push| push.code.iter().any(tells))
}

/// Elements that are in one stage in any case, and what a packet costs in them.
struct Unit {
    elements: Vec<usize>,
    work: f64,
}

/// The units of some elements, none before one that leads to it.
fn units(application: &Application, elements: &BTreeSet<usize>) -> Vec<Unit> {
    let reach = reach(application, elements);
    let mut groups: Vec<(Vec<usize>, usize)> = Vec::new();
    let mut placed = BTreeSet::new();
    for (at, its) in &reach {
        if placed.insert(*at) {
            let circle = reach.iter().filter(|(other, back)| *other != at && its.contains(other) && back.contains(at));
            let all: Vec<usize> = [*at].into_iter().chain(circle.map(|(other, _)| *other)).collect();
            placed.extend(all.iter().copied());
            let reached = its.iter().chain(&all).collect::<BTreeSet<_>>().len();
            groups.push((all, reached));
        }
    }
    // Whoever leads to an element reaches more than that does, itself and those on its circle.
    groups.sort_by_key(|(_, reached)| std::cmp::Reverse(*reached));
    let unit = |(elements, _): (Vec<usize>, usize)| Unit { work: elements.iter().map(|at| work(application, *at)).sum(), elements };
    groups.into_iter().map(unit).collect()
}

/// By element, those that packets come to from it within these.
fn reach(application: &Application, elements: &BTreeSet<usize>) -> BTreeMap<usize, BTreeSet<usize>> {
    let inside = |at: u32| elements.contains(&(at as usize));
    let wires: Vec<(usize, usize)> = application
        .wires
        .iter()
        .filter(|wire| inside(wire.from.instance) && inside(wire.to.instance))
        .map(|wire| (wire.from.instance as usize, wire.to.instance as usize))
        .collect();
    let behind = |at: usize| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![at]);
        while let Some(from) = open.pop() {
            open.extend(wires.iter().filter(|wire| wire.0 == from && seen.insert(wire.1)).map(|wire| wire.1));
        }
        seen
    };
    elements.iter().map(|at| (*at, behind(*at))).collect()
}

fn work(application: &Application, at: usize) -> f64 {
    let program = application.instances[at].program();
    let func = program.and_then(|program| compiler::optimised(program, HandlerKind::Push, &Default::default()).ok().flatten());
    func.map_or(1.0, |(func, _)| compiler::work(&func))
}

/// The units in so many groups, or fewer, in their order, none of which has units of two kinds, and
/// whose largest has as little work as can be.
fn divided(kinds: &[Vec<Unit>], groups: usize) -> Vec<Vec<&Unit>> {
    let all = || kinds.iter().flatten().map(|unit| unit.work);
    let (mut least, mut most) = (all().fold(0.0, f64::max), all().sum());
    // No group can have less than the largest unit.
    if packed(kinds, least).len() <= groups {
        return packed(kinds, least);
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(least, most);
        if packed(kinds, middle).len() <= groups { most = middle } else { least = middle }
    }
    packed(kinds, most)
}

/// Halvings of what may be the largest group.
const STEPS: u32 = 40;

/// The units in groups with no more work than that, unless one unit has.
fn packed(kinds: &[Vec<Unit>], most: f64) -> Vec<Vec<&Unit>> {
    let mut groups: Vec<Vec<&Unit>> = Vec::new();
    for kind in kinds {
        let mut left = f64::NEG_INFINITY;
        for unit in kind {
            if unit.work > left {
                groups.push(Vec::new());
                left = most;
            }
            left -= unit.work;
            if let Some(group) = groups.last_mut() {
                group.push(unit);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_have_as_equal_work_as_can_be() {
        let unit = |work: &f64| Unit { elements: Vec::new(), work: *work };
        let kinds = |works: &[&[f64]]| works.iter().map(|kind| kind.iter().map(unit).collect()).collect::<Vec<Vec<Unit>>>();
        let sums = |works: &[&[f64]], groups| {
            let kinds = kinds(works);
            divided(&kinds, groups).iter().map(|group| group.iter().map(|unit| unit.work).sum()).collect::<Vec<f64>>()
        };
        assert_eq!(sums(&[&[4.0, 4.0, 4.0, 12.0]], 2), [12.0, 12.0]);
        assert_eq!(sums(&[&[4.0, 4.0, 4.0, 12.0]], 3), [12.0, 12.0], "a third one gains nothing");
        assert_eq!(sums(&[&[1.0, 9.0, 1.0, 9.0]], 1), [20.0]);
        assert_eq!(sums(&[&[5.0], &[1.0, 1.0]], 2), [5.0, 2.0], "two kinds are in two stages");
        assert_eq!(sums(&[&[5.0, 5.0], &[2.0]], 3), [5.0, 5.0, 2.0]);
    }
}
