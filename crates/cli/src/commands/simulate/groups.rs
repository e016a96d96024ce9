//! `netvm simulate --groups`: cores that take packets from the groups of a work scheduler.

use super::{Args, SchemeArg};
use crate::commands::shared::grouped;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use machine::scheduler::{self, GroupAssignment, Report};
use machine::{Machine, Trace, stages};
use serde::Serialize;

/// What is printed.
#[derive(Serialize)]
struct Results {
    machine: String,
    groups: Vec<Group>,
    report: Report,
    /// Against one core that does everything.
    speedup: f64,
}

#[derive(Serialize)]
struct Group {
    elements: Vec<String>,
    cores: Vec<usize>,
}

pub(super) fn run(args: &Args, machine: &Machine, trace: &Trace, groups: &str) -> Outcome {
    let by_flow = match args.scheme {
        SchemeArg::Locks => false,
        SchemeArg::ThreadAffinity => true,
        _ => {
            return Err(Failure::usage(
                "with --groups, critical sections have tags (--scheme locks), or state is kept by flow and packets of a flow are run one at a time (--scheme thread-affinity)",
            ));
        }
    };
    let (packets, elements) = (stages::parts(trace, machine), trace.elements.len());
    let plan = plan(groups, trace, machine, &packets)?;
    let count = args.packets.unwrap_or(packets.len() as u64);
    let simulate = |plan: &GroupAssignment| scheduler::simulate(machine, &packets, plan, by_flow, count).map_err(Failure::failed);
    let (report, one) = (simulate(&plan)?, simulate(&GroupAssignment::completion(elements, 1))?);
    let names = |elements: &Vec<usize>| elements.iter().map(|n| trace.elements[*n].name.clone()).collect();
    let results = Results {
        machine: machine.name.clone(),
        groups: plan.groups.iter().map(|group| Group { elements: names(&group.elements), cores: group.cores.clone() }).collect(),
        speedup: if report.cycles == 0 { 0.0 } else { one.cycles as f64 / report.cycles as f64 },
        report,
    };
    let mut out = Out::new();
    match args.json {
        true => out.json(&results)?,
        false => out.put(&text(&results, machine))?,
    }
    out.flush()
}

fn plan(groups: &str, trace: &Trace, machine: &Machine, packets: &[stages::Parts]) -> Outcome<GroupAssignment> {
    let (elements, cores) = (trace.elements.len(), machine.processor.cores as usize);
    let names: Vec<&str> = trace.elements.iter().map(|element| element.name.split(" :: ").next().unwrap_or_default()).collect();
    match groups {
        "each" => Ok(GroupAssignment::each(elements)),
        "one" => Ok(GroupAssignment::completion(elements, cores)),
        "balanced" => {
            let cycles = stages::by_element(packets, elements, machine);
            let of: Vec<u64> = (0..elements).map(|n| cycles.iter().map(|packet| packet[n]).sum()).collect();
            Ok(GroupAssignment::balanced(&of, cores))
        }
        file => {
            let text = std::fs::read_to_string(file).map_err(|error| Failure::failed(format_args!("{file}: {error}")))?;
            GroupAssignment::read(&text, &names, machine).map_err(|what| Failure::failed(format_args!("{file}: {what}")))
        }
    }
}

fn text(results: &Results, machine: &Machine) -> String {
    let r = &results.report;
    let mut text = format!("{}: {}\n", machine.name, machine.description);
    let (packets, cycles, rate) = (grouped(r.packets), grouped(r.cycles), grouped(r.packets_per_second as u64));
    text += &format!("{packets} packets in {cycles} cycles: {rate} a second, {:.2} times what one core does\n", results.speedup);
    let micros = r.latency / machine.clock_mhz;
    text += &format!("in the machine for {:.1} cycles ({micros:.2} µs); ", r.latency);
    let n = r.packets.max(1) as f64;
    text += &format!("{:.2} changes of tag a packet, {:.2} waited\n\n", r.switches as f64 / n, r.waited as f64 / n);
    text += &format!("{:<6} {:>9} {:>8}  {:<24} elements\n", "group", "entries", "longest", "cores");
    for (n, group) in results.groups.iter().enumerate() {
        let busy = |core: &usize| r.cores.iter().find(|(known, _)| known == core).map_or(0.0, |(_, busy)| *busy);
        let part = group.cores.iter().map(busy).sum::<f64>() / group.cores.len().max(1) as f64;
        let cores = format!("{}, busy {:.1} %", group.cores.len(), part * 100.0);
        text += &format!("{n:<6} {:>9} {:>8}  {cores:<24} {}\n", grouped(r.taken[n]), r.longest[n], group.elements.join(", "));
    }
    text.push('\n');
    for used in r.memories.iter().filter(|used| used.requests > 0) {
        let misses = if used.misses > 0 { format!(", {:.2} missed", used.misses as f64 / n) } else { String::new() };
        text += &format!("{:<6} {:.2} requests a packet{misses}\n", used.name, used.requests as f64 / n);
    }
    text
}
