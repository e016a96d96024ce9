//! `netvm simulate --threads`: a router whose threads receive or transmit, with ports and a transmit FIFO between them.

use super::Args;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use machine::router::{Arbitration, Assignment, Ports, Report, Role, Setup, best, search};
use machine::{Machine, Trace, steps};
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
    let setup = Setup { machine, work: &work, sizes: &sizes, assignment: &split, arbitration: first, cycles: CYCLES };
    let assignment = if threads == "auto" { best(&setup, &ports).0 } else { read(threads, machine, &ports)? };
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
    text += &format!("{:<12} {:>8} {:>10} {:>18} {:>10}\n", "arbitration", "load", "Mb/s", "register, cycles", "locked");
    for run in &results.runs {
        let (r, load) = (&run.report, run.load * 100.0);
        text += &format!("{:<12} {load:>6.1} % {:>10.1} {:>18.1} {:>8.1} %\n", run.arbitration, r.mbits, r.register, r.lock * 100.0);
    }
    text.push('\n');
    results.threads.iter().for_each(|line| text += &format!("{line}\n"));
    text
}
