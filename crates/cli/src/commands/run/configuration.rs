//! Running a configuration of elements.

use super::results::{announce, asked, tell, warn};
use super::terminal::unless_ended;
use super::{Args, control, cores, kernel, mapping, record};
use crate::failure::{self, Failure, Outcome};
use crate::progress::Progress;
use crate::signals::Signals;
use netvm::application::{Graph, Library, Recipe, Settings};
use netvm::control::{Replaceable, Server};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

pub(crate) use super::reading::{application, folders, is_one, read, reading};
pub(crate) use super::results::say_handlers;
pub(crate) use super::terminal::Terminal;

/// The device that stands for an interface of another name, `DEVICE=dev:NAME`.
fn interface(map: &str) -> Option<(String, String)> {
    let (device, place) = map.split_once('=')?;
    let interface = place.strip_prefix("dev:")?.split(',').next()?;
    Some((device.to_owned(), interface.to_owned()))
}

pub(super) fn run(args: &Args, file: Option<&Path>, text: &str, first: impl Iterator<Item = String>) -> Outcome {
    no_ports(args)?;
    run_text(args, file, text, first, &args.maps)
}

/// Runs a configuration between what stands for its devices.
pub(super) fn run_text(args: &Args, file: Option<&Path>, text: &str, first: impl Iterator<Item = String>, maps: &[String]) -> Outcome {
    let name = &file.map_or("config".to_owned(), |file| file.display().to_string());
    let mut reading = reading(file, first.chain(args.parameters.iter().cloned()), &args.elements)?;
    reading.interfaces = args.maps.iter().filter_map(|map| interface(map)).collect();
    let mut application = application(name, text, &reading)?;
    if record::wanted(args, &application) {
        application.record()?;
    }
    if let Some(target) = &args.target {
        return kernel::run(args, target, &application);
    }
    let signals = Signals::watch()?;
    let mut settings = Settings { seed: args.seed, budget: Some(args.budget), simulated: args.sim_time, ..Settings::default() };
    for map in maps {
        mapping::device(map, &application, &mut settings)?;
    }
    if !settings.live.is_empty() {
        signals.end_with_terminal()?;
    }
    let server = control::open(args, &application, &mut settings)?;
    if let Some(place) = &args.place {
        return cores::run(args, place, &application, (settings, server), &signals, &reading);
    }
    if args.explain_place {
        failure::eprint_lossy("all elements are on one thread, as there is no --place; with --place rtc:2 they would be");
        cores::explain(args, &application, &cores::ReplicaPlacement::Replicas(2))?;
    }
    let begun = Instant::now();
    let pending = server.as_ref().map(Server::pending);
    let host = Box::new(Terminal::new(signals.clone(), args.json, pending));
    let engines = args.engine.settings_without(&args.without);
    let recipe = Recipe::new(name.clone(), reading.clone(), args.engine.get(), engines, settings.clone());
    let started = application.start(args.engine.get(), args.engine.settings_without(&args.without), settings, host);
    let mut graph = unless_ended(started, &signals)?;
    if args.explain_opt {
        failure::eprint_lossy(application.explain(Some(&graph)).to_string().trim_end());
    }
    if args.stats || args.json {
        graph.measure(stopwatch);
    }
    if record::wanted(args, &application) {
        record::begin(record::amount(args), &mut graph)?;
    }
    let live = announce(&graph.stats());
    let whole = record::guarded(&mut graph, |graph| drive_replaceable(graph, &signals, server, Some(&recipe)))?;
    // As JSON they are part of the one value that is printed.
    let handlers = if args.json { asked(&mut graph, &args.handlers)? } else { Vec::new() };
    if !args.json {
        say_handlers(&mut graph, &args.handlers)?;
    }
    let stats = graph.stats();
    tell(args, &stats, handlers, begun.elapsed().as_secs_f64())?;
    warn(&application, &Library::of(&reading.elements), &stats);
    // A run on live devices has no other end than a signal.
    if !live {
        signals.result()?;
    }
    if whole { Ok(()) } else { Err(Failure::told()) }
}

/// A configuration has no ports of its own that captures could come to.
fn no_ports(args: &Args) -> Outcome {
    let given = [("--in", !args.inputs.is_empty()), ("--out", !args.outputs.is_empty())].into_iter().find(|(_, given)| *given);
    match given {
        Some((what, _)) => {
            Err(Failure::usage(format_args!("{what} is for programs; which captures stand for a configuration's devices says --map")))
        }
        None => Ok(()),
    }
}

/// Runs to the end or to a signal, and completes outputs. False if something was damaged.
pub(crate) fn drive(graph: &mut Graph, signals: &Signals, server: Option<Server>) -> bool {
    drive_replaceable(graph, signals, server, None)
}

/// Runs to the end or to a signal, and completes outputs; by a recipe another version of the
/// configuration may take its place. False if something was damaged.
fn drive_replaceable(graph: &mut Graph, signals: &Signals, mut server: Option<Server>, recipe: Option<&Recipe>) -> bool {
    let mut bar = Progress::new(true);
    graph.start();
    let mut turns = 0u32;
    while !signals.stop() && graph.turn() {
        turns = turns.wrapping_add(1);
        match (&mut server, recipe) {
            (Some(server), Some(recipe)) => server.serve(&mut Replaceable { graph, recipe }),
            (Some(server), None) => server.serve(graph),
            (None, _) => {}
        }
        if turns.is_multiple_of(256) {
            bar.at(graph.progress());
        }
    }
    bar.clear();
    let faults = graph.finish();
    for fault in &faults {
        failure::error(&format!("{} :: {}: {}", graph.name(fault.instance), graph.class(fault.instance), fault.message()));
    }
    faults.is_empty()
}

/// Nanoseconds from the first look on.
fn stopwatch() -> u64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    u64::try_from(BEGUN.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}
