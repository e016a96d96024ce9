//! `netvm simulate --threads`: a router whose threads receive or transmit, with ports and a
//! transmit FIFO between them.

use super::Args;
use crate::failure::{Failure, Outcome, warning};
use crate::out::Out;
use machine::router::{Arbitration, Assignment, Ports, Report, Role, Setup, best, search, stock};
use machine::{Machine, Scheme, Trace, steps};
use serde::Serialize;
use std::path::Path;

/// 10 ms at 200 MHz.
const CYCLES: u64 = 2_000_000;

/// What is printed.
#[derive(Serialize)]
struct Results {
    machine: String,
    receiving: usize,
    transmitting: usize,
    threads: Vec<String>,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Run {
    arbitration: String,
    /// Part of the ports' rate that is sustained.
    load: f64,
    report: Report,
}

pub(super) fn run(args: &Args, machine: &Machine, trace: &Trace, threads: &str) -> Outcome {
    let Some(ports) = machine.ports else {
        return Err(Failure::usage(format_args!("{} describes no ports, so its threads do not receive or transmit", machine.name)));
    };
    if super::schemes(args.scheme, machine)? != [Scheme::Locks] {
        return Err(Failure::usage("with --threads critical sections are locks of elements: --scheme locks"));
    }
    // What threads do for cells is the model's.
    let mut bare = machine.clone();
    for port in [&mut bare.receive, &mut bare.transmit] {
        port.instructions = 0.0;
        port.accesses.clear();
    }
    let work = steps::of(trace, &bare);
    let sizes: Vec<u32> = if args.sizes.is_empty() { work.iter().map(|work| work.bytes + 4).collect() } else { args.sizes.clone() };
    let policies = policies(&args.arbitration, machine)?;
    let split = Assignment::split(machine, &ports, (machine.processor.cores * 2).div_ceil(3));
    let Some((_, first)) = policies.first().copied() else { return Err(Failure::usage("the machine has no policy for its FIFO")) };
    let setup =
        Setup { machine, work: &work, sizes: &sizes, assignment: &split, arbitration: first, cycles: CYCLES, queued: stock(&ports) };
    let assignment = match threads {
        "auto" => found(&setup, &ports, &policies),
        file => read(file, machine, &ports)?,
    };
    let one = |(name, arbitration): (&str, &Arbitration)| {
        let (load, report) = search(&Setup { assignment: &assignment, arbitration, ..setup.clone() }, &ports);
        Run { arbitration: name.to_owned(), load, report }
    };
    let (receiving, transmitting) = assignment.counts();
    let results = Results {
        machine: machine.name.clone(),
        receiving,
        transmitting,
        threads: lines(&assignment, machine),
        runs: policies.into_iter().map(one).collect(),
    };
    let mut out = Out::new();
    match args.json {
        true => out.json(&results)?,
        false => out.put(&text(&results, machine))?,
    }
    out.flush()
}

/// What is best, or the split that two thirds receive by, with a warning that nothing is.
fn found<'m>(setup: &Setup<'m>, ports: &Ports, policies: &[(&str, &'m Arbitration)]) -> Assignment {
    let all: Vec<&Arbitration> = policies.iter().map(|(_, policy)| *policy).collect();
    best(setup, ports, &all).map_or_else(
        || {
            warning(
                "no number of receiving engines sustains a rate: no assignment is better than another; two thirds of the engines receive",
            );
            setup.assignment.clone()
        },
        |(assignment, _)| assignment,
    )
}

/// The machine's policy of that name, or all.
fn policies<'m>(name: &str, machine: &'m Machine) -> Outcome<Vec<(&'m str, &'m Arbitration)>> {
    let all = || machine.arbitration.iter().map(|(name, policy)| (name.as_str(), policy));
    match all().find(|(known, _)| *known == name) {
        Some(one) => Ok(vec![one]),
        None if name == "all" => Ok(all().collect()),
        None => {
            let known: Vec<&str> = all().map(|(name, _)| name).collect();
            Err(Failure::usage(format_args!("{} has no policy `{name}`; there are {} and all", machine.name, known.join(", "))))
        }
    }
}

fn read(file: &str, machine: &Machine, ports: &Ports) -> Outcome<Assignment> {
    let text = std::fs::read_to_string(Path::new(file)).map_err(|error| Failure::failed(format_args!("{file}: {error}")))?;
    Assignment::read(&text, machine, ports).map_err(|what| Failure::failed(format_args!("{file}: {what}")))
}

/// The assignment as a file says it.
fn lines(assignment: &Assignment, machine: &Machine) -> Vec<String> {
    let per_engine = machine.processor.threads as usize;
    let one = |(n, role): (usize, &Role)| {
        let (what, ports) = match role {
            Role::Receive(ports) => ("receive", ports),
            Role::Transmit(ports) => ("transmit", ports),
            Role::Idle => return None,
        };
        let ports: Vec<String> = ports.iter().map(u32::to_string).collect();
        Some(format!("{}.{} {what} {}", n / per_engine, n % per_engine, ports.join(" ")))
    };
    assignment.roles.iter().enumerate().filter_map(one).collect()
}

fn text(results: &Results, machine: &Machine) -> String {
    let mut text = format!("{}: {}\n", machine.name, machine.description);
    text += &format!("threads: {} receive, {} transmit\n\n", results.receiving, results.transmitting);
    text += &format!("{:<12} {:>8} {:>10} {:>18} {:>10} {:>10}\n", "arbitration", "load", "Mb/s", "register, cycles", "locked", "sections");
    for run in &results.runs {
        let (r, name, load) = (&run.report, &run.arbitration, run.load * 100.0);
        if run.load <= 0.0 {
            text += &format!("{name:<12} no rate is sustained\n");
            continue;
        }
        // What waited at the beginning leaves, too.
        let (mbits, lock, section) = (r.mbits.min(r.offered), r.lock * 100.0, r.section * 100.0);
        text += &format!("{name:<12} {load:>6.1} % {mbits:>10.1} {:>18.1} {lock:>8.1} % {section:>8.1} %\n", r.register);
    }
    text.push('\n');
    results.threads.iter().for_each(|line| text += &format!("{line}\n"));
    text
}
