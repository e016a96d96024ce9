//! Applications on several threads beside one: replicas that keep the order of all packets, with
//! state in order or replicated, and those that keep the order of flows, with each way to share
//! state.
//!
//! Times are those of the clock on the wall: threads run at the same time. The time of processors,
//! all threads together, tells on a busy machine what the wall does not: where it is that of one
//! thread, two are twice as fast when each has a processor to itself. Sides with nothing in common
//! must send as many packets as one thread; how many a switch floods, and how many packets wait for
//! ARP, depends on the order of flows where it is not kept.

use super::sides::{Case, Silent};
use netvm::application::{Application, Cores, Cuts, Placement, PlacementError, Policies, Policy, Reading, Replay, Settings, Stats};
use netvm::engines;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// What was measured of one application.
#[derive(Serialize)]
pub struct Row {
    /// Which.
    pub application: &'static str,
    /// Routes, flows, stations or rules.
    pub entries: usize,
    /// Its elements whose state replicas have in common, where only the order of flows is kept.
    pub shared: Vec<String>,
    /// The sides.
    pub sides: Vec<Timing>,
}

/// One side.
#[derive(Serialize)]
pub struct Timing {
    /// Which.
    pub side: &'static str,
    /// How many replicas: threads that have elements, beside sources and what is in order where the
    /// order of all packets is kept.
    pub replicas: usize,
    /// On the wall, per packet; none if it is wrong.
    pub median_ns: Option<f64>,
    /// How many times as fast as one thread.
    pub speedup: Option<f64>,
    /// Of all processors, per packet.
    pub processor_ns: Option<f64>,
    /// Transactions that conflicted, of a hundred.
    pub aborted: Option<f64>,
    /// Why there is no time.
    pub wrong: Option<String>,
}

/// How an application runs.
#[derive(Clone, Copy, PartialEq)]
enum ExecutionMode {
    One,
    Total,
    Replicate,
    /// What runs in order before queues in a stage of its own.
    Pipeline,
    Flow(Policy),
}

const WAYS: [(&str, ExecutionMode); 7] = [
    ("order of all", ExecutionMode::Total),
    ("order of all, replicated", ExecutionMode::Replicate),
    ("order of all, pipeline", ExecutionMode::Pipeline),
    ("order of flows, as analysed", ExecutionMode::Flow(Policy::Auto)),
    ("order of flows, lock", ExecutionMode::Flow(Policy::Lock)),
    ("order of flows, transactions", ExecutionMode::Flow(Policy::Transaction)),
    ("order of flows, copies", ExecutionMode::Flow(Policy::Copies)),
];

/// What is measured beside one thread.
pub struct Chosen<'a> {
    /// How many replicas.
    pub replicas: &'a [usize],
    /// Words in the names of sides; all if there are none.
    pub sides: &'a [String],
}

/// Packets that are timed, about.
const TIMED: usize = 10_000_000;

/// An application and its packets.
pub struct Subject {
    /// Its name.
    pub application: &'static str,
    /// The configuration.
    pub file: PathBuf,
    /// Folders with its elements.
    pub elements: Vec<PathBuf>,
    /// Values of its parameters.
    pub parameters: BTreeMap<String, String>,
    /// What arrives, by device.
    pub inputs: BTreeMap<String, Vec<Vec<u8>>>,
    /// From one packet to the next, in nanoseconds.
    pub interval: u64,
    /// Packets that are timed, about.
    pub timed: usize,
}

impl From<Case> for Subject {
    fn from(case: Case) -> Self {
        let of_port =
            |port: usize| case.packets.iter().filter(move |packet| packet.port as usize == port).map(|packet| packet.bytes.to_vec());
        let inputs = case.inputs.iter().enumerate().map(|(port, device)| (device.clone(), of_port(port).collect())).collect();
        let Case { application, file, elements, parameters, interval, .. } = case;
        Self { application, file, elements, parameters, inputs, interval, timed: TIMED }
    }
}

/// What a run gave.
struct Ran {
    ns: f64,
    processor_ns: f64,
    sent: u64,
    aborted: Option<f64>,
}

/// Nanoseconds of a run.
struct Took {
    wall: f64,
    processors: f64,
}

/// When a run began.
struct Begun(Instant, f64);

impl Begun {
    fn now() -> Self {
        Self(Instant::now(), processors())
    }

    fn took(&self) -> Took {
        Took { wall: self.0.elapsed().as_nanos() as f64, processors: processors() - self.1 }
    }
}

/// What this process has had of all processors.
fn processors() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

pub(super) struct Bench {
    pub(super) application: Application,
    /// How that was read.
    pub(super) reading: Reading,
    inputs: BTreeMap<String, Vec<Vec<u8>>>,
    interval: u64,
    pub(super) packets: usize,
}

/// The sides: one thread, and each way with each number of replicas. Nothing is replicated where
/// all elements with state are found by flow, or none has any.
fn sides(bench: &Bench, chosen: &Chosen<'_>) -> Result<Vec<(&'static str, ExecutionMode, usize)>, String> {
    let replicates = !bench.placement(ExecutionMode::Replicate)?.replayed.is_empty();
    let is_cut = bench.placement(ExecutionMode::Pipeline)?.ordered() > 0;
    let is_chosen = |side: &str| chosen.sides.is_empty() || chosen.sides.iter().any(|word| side.contains(word.as_str()));
    let ways = WAYS.iter().filter(|(side, way)| {
        is_chosen(side) && (*way != ExecutionMode::Replicate || replicates) && (*way != ExecutionMode::Pipeline || is_cut)
    });
    let all = chosen.replicas.iter().flat_map(|replicas| ways.clone().map(|(side, way)| (*side, *way, *replicas)));
    Ok([("one thread", ExecutionMode::One, 1)].into_iter().chain(all).collect())
}

/// Measures an application, with so many replicas each.
///
/// # Errors
/// Its configuration cannot be read, or not be placed.
pub fn row(subject: Subject, entries: usize, rounds: usize, chosen: &Chosen<'_>) -> Result<Row, String> {
    let (name, timed) = (subject.application, subject.timed);
    let bench = Bench::of(subject)?;
    let placement = bench.placement(ExecutionMode::Flow(Policy::Lock))?;
    let shared =
        placement.of(netvm::application::Stage::Shared).map(|at| bench.application.application().instances[at].class.clone()).collect();
    let passes = (timed / bench.packets).max(2) as u64;
    let sides = sides(&bench, chosen)?;
    let mut runs: Vec<Vec<Result<Ran, String>>> = sides.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for ((_, way, replicas), runs) in sides.iter().zip(&mut runs).filter(|(_, runs)| runs.iter().all(Result::is_ok)) {
            runs.push(bench.run(*way, *replicas, passes));
        }
    }
    let exact = placement.of(netvm::application::Stage::Shared).next().is_none();
    let sent = runs[0].first().and_then(|run| run.as_ref().ok()).map(|run| run.sent);
    let is_exact = |way: ExecutionMode| exact || !matches!(way, ExecutionMode::Flow(_));
    let timing =
        |((side, way, replicas), runs): (&(_, ExecutionMode, usize), _)| timing((*side, *replicas), runs, sent.filter(|_| is_exact(*way)));
    let mut sides: Vec<Timing> = sides.iter().zip(runs).map(timing).collect();
    let one = sides[0].median_ns;
    sides.iter_mut().for_each(|side| side.speedup = one.zip(side.median_ns).map(|(one, ns)| one / ns));
    let told: String = sides
        .iter()
        .map(|t| {
            let [ns, speedup, cpu] = [t.median_ns, t.speedup, t.processor_ns].map(|x| x.unwrap_or(f64::NAN));
            format!("  {} × {} {ns:.1} ({speedup:.2}; {cpu:.1})", t.replicas, t.side)
        })
        .collect();
    eprintln!("{name} {entries}{told}");
    Ok(Row { application: name, entries, shared, sides })
}

fn timing((side, replicas): (&'static str, usize), runs: Vec<Result<Ran, String>>, sent: Option<u64>) -> Timing {
    let runs: Result<Vec<Ran>, String> = runs.into_iter().collect();
    let none = |wrong| Timing { side, replicas, median_ns: None, speedup: None, processor_ns: None, aborted: None, wrong: Some(wrong) };
    match runs {
        Err(wrong) => none(wrong),
        Ok(runs) => match runs.iter().find(|run| sent.is_some_and(|sent| run.sent != sent)) {
            Some(run) => none(format!("{} packets were sent, not {}", run.sent, sent.unwrap_or(0))),
            None => {
                let mut times: Vec<f64> = runs.iter().map(|run| run.ns).collect();
                let mut processors: Vec<f64> = runs.iter().map(|run| run.processor_ns).collect();
                let processor_ns = super::median(&mut processors);
                let aborted = runs.iter().filter_map(|run| run.aborted).next_back();
                Timing { side, replicas, median_ns: super::median(&mut times), speedup: None, processor_ns, aborted, wrong: None }
            }
        },
    }
}

impl Bench {
    pub(super) fn of(subject: impl Into<Subject>) -> Result<Self, String> {
        let Subject { file, elements, parameters, inputs, interval, .. } = subject.into();
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let reading = Reading { parameters, elements, ..Reading::default() };
        let application = Application::read(&file.display().to_string(), &text, &reading).map_err(|error| error.to_string())?;
        let packets = inputs.values().map(Vec::len).sum();
        Ok(Self { application, reading, inputs, interval, packets })
    }

    fn placement(&self, way: ExecutionMode) -> Result<Placement, PlacementError> {
        match way {
            ExecutionMode::One | ExecutionMode::Total => Placement::new(self.application.application(), &[]),
            ExecutionMode::Replicate => Placement::total(self.application.application(), &[], &Policies(vec![(None, Policy::Replicate)])),
            ExecutionMode::Pipeline => {
                Placement::new(self.application.application(), &[])?.cut_by(self.application.application(), &Cuts::Queues)
            }
            ExecutionMode::Flow(policy) => Placement::by_flow(self.application.application(), &[], &Policies(vec![(None, policy)])),
        }
    }

    pub(super) fn settings(&self, passes: u64) -> Settings {
        let replay = |packets: &Vec<Vec<u8>>| Arc::new(Replay::new(packets.iter().map(Vec::as_slice), passes, self.interval));
        Settings { replays: self.inputs.iter().map(|(device, packets)| (device.clone(), replay(packets))).collect(), ..Settings::default() }
    }

    /// One run, after one of a single pass whose time is taken off.
    fn run(&self, way: ExecutionMode, replicas: usize, passes: u64) -> Result<Ran, String> {
        let (first, _, _) = self.time(way, replicas, 1)?;
        let (all, stats, aborted) = self.time(way, replicas, 1 + passes)?;
        let per_packet = |part: fn(&Took) -> f64| (part(&all) - part(&first)) / (passes as f64 * self.packets as f64);
        let sent =
            stats.nodes.iter().filter(|(_, class, _)| class == "ToDevice" || class == "Discard").map(|(.., node)| node.packets).sum();
        match stats.arrivals == (1 + passes) * self.packets as u64 {
            true => Ok(Ran { ns: per_packet(|took| took.wall), processor_ns: per_packet(|took| took.processors), sent, aborted }),
            false => Err(format!("{} packets arrived", stats.arrivals)),
        }
    }

    /// Nanoseconds from the first packet to the end.
    fn time(&self, way: ExecutionMode, replicas: usize, passes: u64) -> Result<(Took, Stats, Option<f64>), String> {
        let engine = engines::find("aot").ok_or("no engine aot")?;
        let (settings, host) = (self.settings(passes), Box::new(Silent));
        if way == ExecutionMode::One {
            let started = self.application.start(engine, engines::Settings::default(), settings, host);
            let mut graph = started.map_err(|error| error.to_string())?;
            let begun = Begun::now();
            graph.start();
            while graph.turn() {}
            return Ok((begun.took(), graph.stats(), None));
        }
        let placement = self.placement(way)?;
        let started = self.application.start_on(placement, replicas, engine, engines::Settings::default(), settings, host);
        let mut cores = started.map_err(|error| error.to_string())?;
        let begun = Begun::now();
        cores.start();
        while cores.turn() {}
        let took = begun.took();
        let aborted = aborted(&mut cores);
        Ok((took, cores.stats(), aborted))
    }
}

/// Of a hundred transactions, how many conflicted.
fn aborted(cores: &mut Cores) -> Option<f64> {
    let names: Vec<String> = cores.stats().nodes.iter().map(|(name, ..)| name.clone()).collect();
    let (mut commits, mut aborts) = (0, 0);
    for name in names {
        let Ok(text) = cores.graph().read(&format!("{name}.transactions"), "", None) else { continue };
        let number = |what: &str| text.lines().find_map(|line| line.strip_prefix(what)?.trim().parse::<u64>().ok()).unwrap_or(0);
        (commits, aborts) = (commits + number("commits"), aborts + number("aborts"));
    }
    (commits > 0).then(|| 100.0 * aborts as f64 / (commits + aborts) as f64)
}
