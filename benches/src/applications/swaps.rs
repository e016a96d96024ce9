//! Another version of a running configuration (`netvm ctl replace`) while packets in memory flow:
//! for how long no packet is handled.
//!
//! The translator's forward path is run on one thread, on two replicas with the order of all
//! packets, and with the order of flows. Versions are prepared on a thread beside it, as
//! `netvm run` does. Two pairs of versions take turns: in one an element without state comes and
//! goes, so that the translator goes on as it is; in the other its timeout changes, so that it is
//! made anew and gets the entries of its tables. In a third row each version has tables for more
//! entries than the one before. All packets must leave, and no entry may be lost. Swaps begin when
//! all flows are known.

use super::cores::Bench;
use super::moves::spread;
use super::sides::{Case, Silent};
use netvm::application::{Cores, Graph, Placement, Policies, Recipe, Replaced, Stats, Version};
use netvm::control::{Controlled, Preparation, Replaceable};
use netvm::engines;
use serde::Serialize;
use std::time::{Duration, Instant};

/// What was measured of one way to run, with one pair of versions.
#[derive(Serialize)]
pub struct Row {
    /// Flows of the translator.
    pub flows: usize,
    /// How it ran.
    pub way: &'static str,
    /// What changes from version to version.
    pub change: &'static str,
    /// How many swaps.
    pub swaps: usize,
    /// For how long no packet was handled, in microseconds: median, 99th of a hundred, longest.
    pub pause_us: [f64; 3],
    /// How long a version took before, in milliseconds, the same.
    pub prepared_ms: [f64; 3],
    /// Entries that one swap moved to new tables, the most.
    pub moved: u64,
    /// Millions of packets a second meanwhile.
    pub mpps: f64,
}

/// Swaps of each row, by rounds.
const SWAPS: usize = 10;
/// More passes than a run comes to.
const PASSES: u64 = 1 << 24;

/// How the translator runs.
#[derive(Clone, Copy)]
enum OrderMode {
    One,
    Total,
    Flow,
}

const WAYS: [(&str, OrderMode); 3] =
    [("one thread", OrderMode::One), ("rtc:2", OrderMode::Total), ("rtc:2, order of flows", OrderMode::Flow)];

/// What changes.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    Beside,
    Itself,
    Capacity,
}

const CHANGES: [(&str, Change); 3] = [
    ("an element comes and goes", Change::Beside),
    ("the translator is made anew, with its entries", Change::Itself),
    ("its tables are for more entries", Change::Capacity),
];
/// More than they are for at first, and how many more each time.
const CAPACITY: [usize; 2] = [1 << 16, 1 << 10];

/// Where that element is put.
const BEHIND: &str = "nat[0] -> ";
const ELEMENT: &str = "CheckLength(2000) -> ";

/// A run.
enum Running {
    One(Box<Graph>, Box<Recipe>),
    Several(Box<Cores>),
}

impl Running {
    fn turn(&mut self) -> bool {
        match self {
            Self::One(graph, _) => graph.turn(),
            Self::Several(cores) => cores.turn(),
        }
    }

    fn start(&mut self) {
        match self {
            Self::One(graph, _) => graph.start(),
            Self::Several(cores) => cores.start(),
        }
    }

    fn with<T>(&mut self, work: impl FnOnce(&mut dyn Controlled) -> T) -> T {
        match self {
            Self::One(graph, recipe) => work(&mut Replaceable { graph, recipe }),
            Self::Several(cores) => work(&mut **cores),
        }
    }
}

/// Measures the translator in each way, or in those whose names have one of these words.
///
/// # Errors
/// It cannot be read or placed, a version is refused, or packets or entries are lost.
pub fn rows(flows: usize, (rounds, sides): (usize, &[String]), case: impl Fn() -> Case) -> Result<Vec<Row>, String> {
    let swaps = SWAPS * rounds;
    let is_chosen = |of: &str| sides.is_empty() || sides.iter().any(|side| of.contains(side.as_str()));
    let all = WAYS.iter().flat_map(|way| CHANGES.iter().map(move |change| (*way, *change)));
    let all = all.filter(|((way, _), (change, _))| is_chosen(&format!("{flows} {way} {change}")));
    all.map(|((name, way), change)| row((flows, swaps), case(), (name, way), change)).collect()
}

fn row(
    (flows, wanted): (usize, usize),
    case: Case,
    (name, way): (&'static str, OrderMode),
    (change, which): (&'static str, Change),
) -> Result<Row, String> {
    let text = std::fs::read_to_string(&case.file).map_err(|error| format!("{}: {error}", case.file.display()))?;
    let bench = Bench::of(case)?;
    let mut running = bench.start_renewable(way)?;
    let known = bench.packets as u64 * 2;
    running.start();
    while running.with(|run| run.stats().arrivals) < known && running.turn() {}
    let (begun, before) = (Instant::now(), running.with(|run| run.stats().arrivals));
    let mut swaps = Vec::new();
    while swaps.len() < wanted {
        swaps.push(swap(&mut running, version(&text, which, swaps.len()))?);
    }
    let (took, after) = (begun.elapsed(), running.with(|run| run.stats().arrivals));
    running.with(|run| run.stop());
    while running.turn() {}
    complete(&running.with(|run| run.stats()), &swaps)?;
    let all = |of: fn(&Replaced) -> Duration, unit: f64| spread(swaps.iter().map(|it| of(it).as_secs_f64() * unit).collect());
    Ok(Row {
        flows,
        way: name,
        change,
        swaps: swaps.len(),
        pause_us: all(|it| it.pause, 1e6),
        prepared_ms: all(|it| it.prepared, 1e3),
        moved: swaps.iter().map(|it| it.succession.tables.values().sum()).max().unwrap_or(0),
        mpps: (after - before) as f64 / took.as_secs_f64() / 1e6,
    })
}

/// The version that is another one than that which runs, after so many others.
fn version(text: &str, change: Change, before: usize) -> Version {
    let other = before.is_multiple_of(2);
    let text = match change {
        Change::Beside if other => text.replace(BEHIND, &format!("{BEHIND}{ELEMENT}")),
        _ => text.to_owned(),
    };
    let timeout = if change == Change::Itself && other { "301s" } else { "300s" };
    let capacity = (change == Change::Capacity).then(|| (CAPACITY[0] + (before + 1) * CAPACITY[1]).to_string());
    let parameters = [("TIMEOUT", Some(timeout.to_owned())), ("CAPACITY", capacity)];
    let parameters = parameters.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    Version { text, parameters, ..Version::default() }
}

/// One swap: packets flow while the version is prepared.
fn swap(running: &mut Running, version: Version) -> Result<Replaced, String> {
    let prepare: Preparation = running.with(|run| run.preparation(version, false)).map_err(|error| error.to_string())?;
    let beside = std::thread::spawn(prepare);
    while !beside.is_finished() {
        if !running.turn() {
            return Err("the run has ended".to_owned());
        }
    }
    let prepared = beside.join().map_err(|_| "a version could not be prepared")?.map_err(|error| error.to_string())?;
    running.with(|run| run.succeed(prepared, false)).map_err(|error| error.to_string())
}

/// Nothing may be lost.
fn complete(stats: &Stats, swaps: &[Replaced]) -> Result<(), String> {
    let ends = |class: &str| class == "ToDevice" || class == "Discard";
    let left: u64 = stats.nodes.iter().filter(|(_, class, _)| ends(class)).map(|(.., node)| node.packets).sum();
    let lost = |it: &Replaced| it.succession.entries_lost + it.succession.packets_lost + it.faults.len() as u64;
    match (left == stats.arrivals, swaps.iter().map(lost).sum::<u64>()) {
        (true, 0) => Ok(()),
        (_, lost) => Err(format!("{} packets arrived and {left} left; {lost} entries, packets and files were lost", stats.arrivals)),
    }
}

impl Bench {
    /// A run whose configuration can be replaced.
    fn start_renewable(&self, way: OrderMode) -> Result<Running, String> {
        let engine = engines::find("auto").ok_or("no engine auto")?;
        let (engines, settings) = (engines::Settings::default(), self.settings(PASSES));
        let recipe = Recipe::new(String::new(), self.reading.clone(), engine, engines, settings.clone());
        if let OrderMode::One = way {
            let graph = self.application.start(engine, engines, settings, Box::new(Silent)).map_err(|error| error.to_string())?;
            return Ok(Running::One(Box::new(graph), Box::new(recipe)));
        }
        let place = move |application: &netvm::application::Application| match way {
            OrderMode::Flow => Placement::by_flow(application.application(), &[], &Policies::default()),
            OrderMode::One | OrderMode::Total => Placement::new(application.application(), &[]),
        };
        let started = self.application.start_on(place(&self.application)?, 2, engine, engines, settings, Box::new(Silent));
        let mut cores = started.map_err(|error| error.to_string())?;
        cores.renew_by(recipe, Box::new(place));
        Ok(Running::Several(Box::new(cores)))
    }
}
