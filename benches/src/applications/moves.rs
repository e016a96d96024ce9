//! Moves of threads from core to core, and replicas that come and go, while packets in memory flow:
//! for how long each stops a thread.
//!
//! A run on two replicas; between two epochs of the last stage a thread is moved to another core,
//! in turn, and every sixteenth time the number of replicas changes between one and three. All
//! packets must arrive and leave, whatever is moved. The pause of a move is the time in which the
//! thread does nothing else; who asks for it waits longer, until the thread has come to the end of
//! its batch. The run ends with the last move, and the one without moves takes as long.

use super::cores::Bench;
use super::sides::{Case, Silent};
use netvm::application::{Cores, Placement};
use netvm::engines;
use serde::Serialize;
use std::time::{Duration, Instant};

/// What was measured of one application.
#[derive(Serialize)]
pub struct Row {
    /// Which.
    pub application: &'static str,
    /// How many moves.
    pub moves: usize,
    /// Their pauses in microseconds: median, 99th of a hundred, longest.
    pub pause_us: [f64; 3],
    /// From asking for them to the answer, the same.
    pub answered_us: [f64; 3],
    /// How often the number of replicas changed.
    pub changes: usize,
    /// Pauses of the sources then, the same.
    pub change_us: [f64; 3],
    /// Millions of packets a second meanwhile.
    pub mpps: f64,
    /// Millions of packets a second in a run that takes as long, without moves.
    pub still_mpps: f64,
}

/// Moves that are made.
const MOVES: usize = 10_000;
/// Between two changes of the number of replicas.
const BETWEEN: usize = 16;
/// More passes than a run comes to.
const PASSES: u64 = 1 << 24;

/// What was done, in microseconds.
#[derive(Default)]
struct Done {
    pauses: Vec<f64>,
    answers: Vec<f64>,
    changes: Vec<f64>,
}

/// Measures an application: runs it until there were enough moves.
///
/// # Errors
/// Its configuration cannot be read or placed, or packets are missing.
pub fn row(case: Case) -> Result<Row, String> {
    let (application, bench) = (case.application, Bench::of(case)?);
    let mut done = Done::default();
    let (packets, took) = run(&bench, |cores, _| step(cores, &mut done).map(|()| done.pauses.len() < MOVES))?;
    let still = run(&bench, |_, passed| Ok(passed < took))?;
    let rate = |packets: u64, took: Duration| packets as f64 / took.as_secs_f64() / 1e6;
    Ok(Row {
        application,
        moves: done.pauses.len(),
        changes: done.changes.len(),
        pause_us: spread(done.pauses),
        answered_us: spread(done.answers),
        change_us: spread(done.changes),
        mpps: rate(packets, took),
        still_mpps: rate(still.0, still.1),
    })
}

/// A run for as long as that is wanted between two epochs; packets and time.
fn run(bench: &Bench, mut goes_on: impl FnMut(&mut Cores, Duration) -> Result<bool, String>) -> Result<(u64, Duration), String> {
    let engine = engines::find("aot").ok_or("no engine aot")?;
    let placement = Placement::new(bench.application.application(), &[])?;
    let started = bench.application.start_on(placement, 2, engine, engines::Settings::default(), bench.settings(PASSES), Box::new(Silent));
    let mut cores = started.map_err(|error| error.to_string())?;
    let (begun, mut ends) = (Instant::now(), false);
    cores.start();
    while cores.turn() {
        if !ends && !goes_on(&mut cores, begun.elapsed())? {
            cores.stop();
            ends = true;
        }
    }
    let (took, stats) = (begun.elapsed(), cores.stats());
    let left: u64 =
        stats.nodes.iter().filter(|(_, class, _)| class == "ToDevice" || class == "Discard").map(|(.., node)| node.packets).sum();
    match left == stats.arrivals {
        true => Ok((left, took)),
        false => Err(format!("{} packets arrived and {left} left", stats.arrivals)),
    }
}

/// One move, now and then a change.
fn step(cores: &mut Cores, done: &mut Done) -> Result<(), String> {
    // One that gets no packets would only be slow to look up.
    let threads: Vec<_> = cores.threads().into_iter().filter(|thread| thread.active).collect();
    let there = std::thread::available_parallelism().map_or(1, usize::from);
    let thread = &threads[done.pauses.len() % threads.len()];
    let core = thread.core.map_or(0, |core| (core + 1) % there);
    let asked = Instant::now();
    let pause = cores.move_thread(&thread.name, Some(core)).map_err(|error| error.to_string())?;
    done.answers.push(asked.elapsed().as_secs_f64() * 1e6);
    done.pauses.push(pause.as_secs_f64() * 1e6);
    let now = cores.replicas().ok_or("there are no replicas")?;
    if done.pauses.len().is_multiple_of(BETWEEN) && now.active == now.wanted {
        done.changes.push(now.pause.as_secs_f64() * 1e6);
        cores.set_replicas(now.active % 3 + 1).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The median, the 99th of a hundred and the longest.
pub(super) fn spread(mut all: Vec<f64>) -> [f64; 3] {
    all.sort_by(f64::total_cmp);
    let at = |part: f64| all.get(((all.len() as f64 * part) as usize).min(all.len().saturating_sub(1))).copied().unwrap_or(0.0);
    [at(0.5), at(0.99), at(1.0)]
}
