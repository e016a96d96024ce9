//! The Octeon: filters (figure 10b), the share of string matching (table 1), a pipeline on nine
//! cores and run to completion beside it (figure 14c).
//!
//! Of figure 10(b) the numbers of the first three filters can be told from the paper's text.
//! NetVMSnort is not public: table 1 and figure 14 are of a chain of nine elements with a search in
//! it. Figure 14 is run on the model of the work scheduler, each element or group of elements in a
//! group of its own.

use super::traffic::{self, Folder};
use crate::commands::simulate::observed::Observed;
use crate::failure::{Failure, Outcome};
use machine::description::{self, Search};
use machine::figure::Figure;
use machine::scheduler::{self, GroupAssignment};
use machine::stages::{self, Parts};
use machine::{Machine, Trace};
use std::path::Path;

const FILTERS: [(&str, [Option<f64>; 2]); 5] = [
    ("ip", [Some(9.0), Some(8.0)]),
    ("ip src 10.1.1.1", [Some(14.0), Some(15.0)]),
    ("ip and tcp", [Some(17.0), Some(20.0)]),
    ("ip src 10.1.1.1 and ip dst 10.2.2.2 and tcp src port 20 and tcp dst port 30", [None; 2]),
    ("ip src 10.4.4.4 or ip src 10.3.3.3 or ip src 10.2.2.2 or ip src 10.1.1.1", [None; 2]),
];
const PACKETS: usize = 1000;
/// Times that a filter's packet is run, so that caches hold what it needs.
const WARM: usize = 64;
/// Elements of figure 14, in which each has a core of its own.
const CORES: usize = 9;

pub(super) fn figures(sources: &Path) -> Outcome<Vec<Figure>> {
    let machine = description::named("octeon").ok_or_else(|| Failure::failed("the machine octeon is not there"))?;
    let folder = Folder::new()?;
    let trace = chain(&folder, sources)?;
    Ok(vec![filters(&machine, &folder)?, share(&machine, &trace)?, speedup(&machine, &trace)?])
}

/// Cycles of filters, without what is done to receive and send.
fn filters(machine: &Machine, folder: &Folder) -> Outcome<Figure> {
    let mut figure = super::figure(
        "octeon-filters",
        "NetVM, figure 10(b): filters on one core of the Octeon",
        "cycles",
        &["ours", "paper: NetVM", "paper: native"],
    );
    // The paper's packet, for which all of a filter is done.
    let packet = traffic::ip([10, 1, 1, 1], [10, 2, 2, 2], [20, 30], 6, &[]);
    let capture = folder.capture("filter.pcap", &vec![(0, packet); WARM])?;
    for (n, (text, paper)) in FILTERS.iter().enumerate() {
        let trace = Observed::filter(text, capture.clone()).trace()?;
        let all = stages::by_element(&stages::parts(&trace, machine), trace.elements.len(), machine);
        let cycles: u64 = all.last().into_iter().flatten().sum();
        figure.row(format!("filter {}", n + 1), vec![Some(cycles as f64), paper[0], paper[1]]);
    }
    Ok(figure)
}

fn chain(folder: &Folder, sources: &Path) -> Outcome<machine::Trace> {
    let capture = folder.capture("chain.pcap", &traffic::messages(PACKETS))?;
    let observed = Observed::given(sources.join("crates/machine/workloads/chain.click"), vec![format!("in={}", capture.display())]);
    observed.trace()
}

/// Cycles of so many cores for all packets.
fn cycles(machine: &Machine, packets: &[Parts], plan: &GroupAssignment, by_flow: bool) -> Outcome<f64> {
    let report = scheduler::simulate(machine, packets, plan, by_flow, packets.len() as u64).map_err(Failure::failed)?;
    Ok(report.cycles as f64)
}

/// How much of a core's time is searching, with the DFA unit and in software.
fn share(machine: &Machine, trace: &Trace) -> Outcome<Figure> {
    let mut figure = super::figure("octeon-search", "NetVM, table 1: time spent in string matching", "%", &["ours", "paper"]);
    let one = GroupAssignment::completion(trace.elements.len(), 1);
    let all = |machine: &Machine| cycles(machine, &stages::parts(trace, machine), &one, false);
    let without = all(&Machine { search: None, ..machine.clone() })?;
    // In software each byte is a load of the automaton's row and a few instructions.
    let own = Search { instructions: 4.0, bytes: 4.0, memory: "l1".to_owned(), command: 0.0, asynchronous: false };
    let software = Machine { search: Some(own), ..machine.clone() };
    let mut waiting = machine.clone();
    waiting.search.iter_mut().for_each(|search| search.asynchronous = false);
    let rows =
        [("DFA unit", machine, Some(3.79)), ("DFA unit, core waits", &waiting, None), ("software (paper: x86)", &software, Some(13.44))];
    for (label, machine, paper) in rows {
        figure.row(label, vec![Some((1.0 - without / all(machine)?) * 100.0), paper]);
    }
    Ok(figure)
}

fn speedup(machine: &Machine, trace: &Trace) -> Outcome<Figure> {
    let (packets, elements) = (stages::parts(trace, machine), trace.elements.len());
    let one = cycles(machine, &packets, &GroupAssignment::completion(elements, 1), false)?;
    let against = |plan: &GroupAssignment, by_flow: bool| cycles(machine, &packets, plan, by_flow).map(|cycles| Some(one / cycles));
    let mut figure = Figure {
        name: "octeon-cores",
        title: format!("NetVM, figure 14(c): {CORES} cores against one"),
        unit: "times",
        columns: ["ours", "paper"].map(str::to_owned).to_vec(),
        rows: Vec::new(),
    };
    let cost = stages::by_element(&packets, elements, machine);
    let of: Vec<u64> = (0..elements).map(|n| cost.iter().map(|packet| packet[n]).sum()).collect();
    figure.row("an element a core", vec![against(&GroupAssignment::each(elements), false)?, Some(1.55)]);
    figure.row("pipeline, balanced", vec![against(&GroupAssignment::balanced(&of, CORES), false)?, None]);
    figure.row("pipeline, balanced, by flow", vec![against(&GroupAssignment::balanced(&of, CORES), true)?, None]);
    figure.row("run to completion", vec![against(&GroupAssignment::completion(elements, CORES), false)?, None]);
    figure.row("run to completion, by flow", vec![against(&GroupAssignment::completion(elements, CORES), true)?, None]);
    let (slowest, total) = (of.iter().copied().max().unwrap_or(0), of.iter().sum::<u64>().max(1));
    figure.row("slowest element, part of the time", vec![Some(slowest as f64 / total as f64), Some(0.6)]);
    Ok(figure)
}
