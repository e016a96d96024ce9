//! `netvm run --target xdp` of a configuration of which the kernel runs a part: the program at the
//! interfaces, and this process, which goes on with what the kernel hands over.

use super::terminal::Terminal;
use super::{Args, results};
use crate::commands::xdp::{Which, told};
use crate::failure::{self, Failure, Outcome};
use crate::signals::Signals;
use netvm::application::{Application, Graph, Host, Settings};
use netvm::io::bpf::{Link, Mode, Program};
use netvm::io::device::{self, Lent, Spec};
use netvm::targets::{XDP_QUEUES, XdpApplication, XdpLoaded, XdpProcess, XdpWorld};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::time::Instant;

/// Names and indices of interfaces, by device.
type Interfaces<'a> = (&'a BTreeMap<String, String>, &'a BTreeMap<String, u32>);

pub(super) fn run(args: &Args, application: &Application, (named, indices): Interfaces<'_>) -> Outcome {
    let signals = Signals::watch()?;
    signals.end_with_terminal()?;
    let loaded = application.load_xdp_divided(indices, XdpWorld::Kernel)?.map_err(refused)?;
    let made = loaded.made();
    if args.explain_opt {
        failure::eprint_lossy(explained(made).trim_end());
    }
    let (read, instructions, info) = (made.devices(), made.program().insts.len(), made.info());
    let links = attach(&loaded.program, &read, (named, indices), args.xdp_mode)?;
    let sockets = lend(&loaded, named, &links)?;
    let live = named.iter().map(|(device, name)| {
        let is_read = read.contains(device);
        (device.clone(), if is_read { Spec::Xdp(name.clone(), None) } else { Spec::Interface(name.clone()) })
    });
    let settings = Settings { seed: args.seed, budget: Some(args.budget), live: live.collect(), handed: Some(info), ..Settings::default() };
    let host = Box::new(Terminal::new(signals.clone(), args.json, None));
    let mut graph = application.start(args.engine.get(), args.engine.settings_without(&args.without), settings, host)?;
    let mut process = XdpProcess::join(&loaded, &mut graph).map_err(refused)?;
    let shown: Vec<String> = read.iter().map(|device| format!("{} ({device})", named[device])).collect();
    failure::eprint_lossy(&format!(
        "running on {}: {instructions} instructions of XDP, the rest in this process (--explain-opt tells what); an interrupt ends the run",
        shown.join(", ")
    ));
    let begun = Instant::now();
    graph.start();
    work(&mut graph, &mut process, &signals);
    drop((links, sockets));
    end(args, (&mut graph, &mut process), &loaded, begun.elapsed().as_secs_f64())
}

fn refused(error: io::Error) -> Failure {
    Failure::failed(format_args!("XDP: {}", told(&error)))
}

/// Which elements are the process's, and why.
fn explained(made: &XdpApplication) -> String {
    let (count, rows) = made.handed_rows();
    let mut text = format!("{count} elements run in the kernel\n");
    for row in rows {
        let how = if row.whole { "in the process" } else { "in the kernel, and in the process" };
        let _ = writeln!(text, "{} :: {}: {how}", row.names.join(", "), row.class);
        row.reasons.iter().for_each(|reason| _ = writeln!(text, "    {reason}"));
    }
    text
}

/// A program at an interface, and whether the driver does not run it.
type Attached = BTreeMap<String, (Link, bool)>;

fn attach(program: &Program, read: &[String], (named, indices): Interfaces<'_>, mode: Which) -> Outcome<Attached> {
    let one = |device: &String| {
        let interface = indices[device];
        let generic = || program.attach(interface, Mode::Generic).map(|link| (link, true));
        let driver = || program.attach(interface, Mode::Driver).map(|link| (link, false));
        let attached = match mode {
            Which::Generic => generic(),
            Which::Driver => driver(),
            Which::Any => driver().or_else(|error| if is_taken(&error) { Err(error) } else { generic() }),
        };
        let attached = attached.map_err(|error| Failure::failed(format_args!("XDP on {}: {}", named[device], told(&error))))?;
        Ok((device.clone(), attached))
    };
    read.iter().map(one).collect()
}

fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ResourceBusy | io::ErrorKind::AlreadyExists)
}

/// Sockets that take what the kernel hands over.
fn lend(loaded: &XdpLoaded, named: &BTreeMap<String, String>, links: &Attached) -> Outcome<Vec<Lent>> {
    let (map, first) = loaded.sockets().map_err(refused)?;
    let one = |(device, first): (String, u32)| {
        let (name, generic) = (&named[&device], links[&device].1);
        device::lend(name, &map, first, XDP_QUEUES, generic).map_err(|error| Failure::failed(format_args!("xdp:{name}: {error}")))
    };
    first.into_iter().map(one).collect()
}

/// Until a signal, or until an element ends the run.
fn work(graph: &mut Graph, process: &mut XdpProcess, signals: &Signals) {
    let clock = Terminal::new(signals.clone(), false, None);
    loop {
        process.begin(graph, clock.clock().unwrap_or(0));
        let goes_on = !signals.stop() && graph.turn();
        process.end(graph);
        if !goes_on {
            break;
        }
    }
    for fault in graph.finish() {
        failure::error(&format!("{} :: {}: {}", graph.name(fault.instance), graph.class(fault.instance), fault.message()));
    }
}

/// Tells what was asked for.
fn end(args: &Args, (graph, process): (&mut Graph, &mut XdpProcess), loaded: &XdpLoaded, seconds: f64) -> Outcome {
    process.begin(graph, 0);
    let mut handlers = Vec::new();
    match args.json {
        true => handlers = results::asked(graph, &args.handlers)?,
        false => results::say_handlers(graph, &args.handlers)?,
    }
    process.end(graph);
    let stats = process.stats(loaded, graph).map_err(refused)?;
    results::tell(args, &stats, handlers, seconds)?;
    if args.stats {
        let handed = loaded.handed_over().map_err(refused)?;
        failure::eprint_lossy(&format!("handed over  {handed} packets"));
    }
    Ok(())
}
