//! What optimisations of P4 programs gain, as Table 1 of the PVPP paper tells it: the paper's
//! application without any, with one more each time, and with all but one. Then how long it takes
//! until a program runs.
//!
//! Ways take turns, round by round; what they send is compared with what the interpreter sends
//! before.

use super::sides::{Case, Silent};
use super::{p4, sides};
use netvm::application::{Application, Reading, Replay, Settings};
use netvm::engines::{self, EngineInfo, Without};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The optimisations in the order in which they are added: names, and whether they are of the front
/// end of P4.
const STEPS: [(&str, bool); 7] =
    [("tables", true), ("metadata", true), ("slices", false), ("actions", true), ("ports", false), ("paths", false), ("echoes", false)];
/// Routes.
const ENTRIES: usize = 1_000;
/// Passes over the trace in a round.
const PASSES: u64 = 30;

/// One way of compiling.
#[derive(Serialize)]
pub struct Row {
    /// What is left out.
    pub without: Vec<&'static str>,
    /// The optimisation that is added, or the only one that is missing.
    pub what: String,
    /// Per packet.
    pub median_ns: f64,
}

/// How long it takes until a program runs.
#[derive(Serialize)]
pub struct Start {
    /// The program.
    pub program: &'static str,
    /// How it runs.
    pub engine: &'static str,
    /// From the text to something that runs, milliseconds.
    pub median_ms: f64,
}

/// A way of compiling, and its times.
struct CompileVariant {
    without: Vec<&'static str>,
    what: String,
    side: sides::Side,
    times: Vec<f64>,
}

/// Measures each.
///
/// # Errors
/// The program cannot be run, or two ways send other packets.
pub fn measure(rounds: usize) -> Result<Vec<Row>, String> {
    let _cleared = sides::Cleared;
    let names = STEPS.map(|(name, _)| name);
    let mut ways = vec![way("none".to_owned(), &names)?];
    for n in 0..names.len() {
        ways.push(way(format!("+ {}", names[n]), &names[n + 1..])?);
    }
    for name in names {
        ways.push(way(format!("all but {name}"), &[name])?);
    }
    let wanted = expected()?;
    for way in &mut ways {
        if let Some(why) = super::difference(&wanted, &way.side.outputs(1)?) {
            return Err(format!("{}: {why}", way.what));
        }
    }
    for _ in 0..rounds {
        for way in &mut ways {
            way.times.push(way.side.ns(PASSES)?.0);
        }
    }
    let row = |way: CompileVariant| {
        let CompileVariant { without, what, mut times, .. } = way;
        Row { without, what, median_ns: super::median(&mut times).unwrap_or(f64::NAN) }
    };
    Ok(ways.into_iter().map(row).collect())
}

/// The paper's application without these.
fn way(what: String, without: &[&'static str]) -> Result<CompileVariant, String> {
    let of_p4: Vec<&str> = STEPS.iter().filter(|(name, of_p4)| *of_p4 && without.contains(name)).map(|(name, _)| *name).collect();
    let left_out = without.iter().filter(|name| !of_p4.contains(name)).try_fold(Without::default(), |all, name| all.and(name));
    let settings = engines::Settings { without: left_out.ok_or("an optimisation that there is not")?, ..engines::Settings::default() };
    let side = p4::paper_without(ENTRIES, &of_p4).linked(settings)?;
    Ok(CompileVariant { without: without.to_vec(), what, side, times: Vec::new() })
}

/// What the interpreter sends.
fn expected() -> Result<Vec<Vec<u8>>, String> {
    p4::paper(ENTRIES).by(&engines::ALL[0], engines::Settings::default())?.outputs(1)
}

/// How long programs take until they run.
///
/// # Errors
/// One cannot be run.
pub fn starts(rounds: usize) -> Result<Vec<Start>, String> {
    let _cleared = sides::Cleared;
    let cases: [(&str, Case); 5] = [
        ("forward, 1,000 routes", p4::forward(1_000)),
        ("forward, 1 route", p4::forward(1)),
        ("switch, 4,096 stations", p4::switch(4_096)),
        ("paper, 1,000 routes", p4::paper(1_000)),
        ("routes and rules", p4::acl(10_000)),
    ];
    let mut rows = Vec::new();
    for (program, case) in cases {
        for engine in &engines::ALL[1..] {
            // The compiler of C takes a second each time.
            let times = if engine.quick { rounds } else { 1 };
            let mut all = (0..times).map(|_| start(&case, engine)).collect::<Result<Vec<f64>, String>>()?;
            rows.push(Start { program, engine: engine.name, median_ms: super::median(&mut all).unwrap_or(f64::NAN) });
        }
    }
    Ok(rows)
}

/// Milliseconds from the text to a graph that takes its first packet.
fn start(case: &Case, engine: &'static EngineInfo) -> Result<f64, String> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let nothing = |device: &String| (device.clone(), Arc::new(Replay::new(std::iter::empty(), 1, 1)));
    let settings = Settings { replays: case.inputs.iter().map(nothing).collect(), outputs: BTreeMap::new(), ..Settings::default() };
    let begun = Instant::now();
    let reading = Reading { parameters: case.parameters.clone(), elements: case.elements.clone(), ..Reading::default() };
    let application = Application::read("bench", &read(&case.file)?, &reading).map_err(|error| error.to_string())?;
    let engines = engines::Settings { no_cache: true, ..engines::Settings::default() };
    let mut graph = application.start(engine, engines, settings, Box::new(Silent)).map_err(|error| error.to_string())?;
    graph.start();
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}
