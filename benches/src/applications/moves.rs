//! Moves of threads from core to core, and replicas that come and go, while packets in memory flow: for how long each stops a thread.
//!
//! A run on two replicas; between two epochs of the last stage a thread is moved to another core, in turn, and every sixteenth time the number of replicas changes between one and three. All packets must
//! arrive and leave, whatever is moved. The pause of a move is the time in which the thread does nothing else.

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
    /// How often the number of replicas changed.
    pub changes: usize,
    /// Pauses of the sources then, the same.
    pub change_us: [f64; 3],
    /// Millions of packets a second meanwhile.
    pub mpps: f64,
    /// The same run without moves.
    pub still_mpps: f64,
}

/// Moves that are made.
const MOVES: usize = 10_000;
/// Between two changes of the number of replicas.
const BETWEEN: usize = 16;

/// Measures an application: runs it until there were enough moves.
///
/// # Errors
/// Its configuration cannot be read or placed, or packets are missing.
pub fn row(case: Case) -> Result<Row, String> {
    let (application, bench) = (case.application, Bench::of(case)?);
    let (mut pauses, mut changes, mut packets, mut took, mut passes) = (Vec::new(), Vec::new(), 0, Duration::ZERO, 200);
    while pauses.len() < MOVES {
        let ran = run(&bench, passes, |cores| step(cores, &mut pauses, &mut changes))?;
        (packets, took) = (packets + ran.0, took + ran.1);
        passes = (passes * 4).min(20_000);
    }
    let still = run(&bench, passes, |_| Ok(()))?;
    let rate = |packets: u64, took: Duration| packets as f64 / took.as_secs_f64() / 1e6;
    let moves = pauses.len();
    Ok(Row {
        application,
        moves,
        pause_us: spread(pauses),
        changes: changes.len(),
        change_us: spread(changes),
        mpps: rate(packets, took),
        still_mpps: rate(still.0, still.1),
    })
}

/// A run of so many passes; packets and time.
fn run(bench: &Bench, passes: u64, mut between: impl FnMut(&mut Cores) -> Result<(), String>) -> Result<(u64, Duration), String> {
    let engine = engines::find("aot").ok_or("no engine aot")?;
    let placement = Placement::new(bench.application.application(), &[])?;
    let started = bench.application.start_on(placement, 2, engine, engines::Settings::default(), bench.settings(passes), Box::new(Silent));
    let mut cores = started.map_err(|error| error.to_string())?;
    let begun = Instant::now();
    cores.start();
    while cores.turn() {
        between(&mut cores)?;
    }
    let took = begun.elapsed();
    let stats = cores.stats();
    let left: u64 =
        stats.nodes.iter().filter(|(_, class, _)| class == "ToDevice" || class == "Discard").map(|(.., node)| node.packets).sum();
    let wanted = passes * bench.packets as u64;
    if stats.arrivals != wanted || left != wanted {
        return Err(format!("{} packets arrived and {left} left, of {wanted}", stats.arrivals));
    }
    Ok((wanted, took))
}

/// One move, now and then a change.
fn step(cores: &mut Cores, pauses: &mut Vec<f64>, changes: &mut Vec<f64>) -> Result<(), String> {
    // One that gets no packets would only be slow to look up.
    let threads: Vec<_> = cores.threads().into_iter().filter(|thread| thread.active).collect();
    let there = std::thread::available_parallelism().map_or(1, usize::from);
    let thread = &threads[pauses.len() % threads.len()];
    let core = thread.core.map_or(0, |core| (core + 1) % there);
    let pause = cores.move_thread(&thread.name, Some(core))?;
    pauses.push(pause.as_secs_f64() * 1e6);
    let now = cores.replicas().ok_or("there are no replicas")?;
    if pauses.len().is_multiple_of(BETWEEN) && now.active == now.wanted {
        changes.push(now.pause.as_secs_f64() * 1e6);
        cores.set_replicas(now.active % 3 + 1)?;
    }
    Ok(())
}

/// The median, the 99th of a hundred and the longest.
fn spread(mut all: Vec<f64>) -> [f64; 3] {
    all.sort_by(f64::total_cmp);
    let at = |part: f64| all.get(((all.len() as f64 * part) as usize).min(all.len().saturating_sub(1))).copied().unwrap_or(0.0);
    [at(0.5), at(0.99), at(1.0)]
}
