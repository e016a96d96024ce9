//! The Octeon: filters (figure 10b), the share of string matching (table 1), a pipeline on nine cores and run to completion beside it (figure 14c).
//!
//! Of figure 10(b) the numbers of the first three filters can be told from the paper's text. NetVMSnort is not public: table 1 and figure 14 are of a chain of nine elements with a search in it.

use super::traffic::{self, Folder};
use crate::commands::simulate::observed::Observed;
use crate::failure::{Failure, Outcome};
use machine::description::{self, Search};
use machine::figure::Figure;
use machine::{Machine, stages, steps};
use std::path::Path;

const FILTERS: [(&str, [Option<f64>; 2]); 5] = [
    ("ip", [Some(9.0), Some(8.0)]),
    ("ip src 10.1.1.1", [Some(14.0), Some(15.0)]),
    ("ip and tcp", [Some(17.0), Some(20.0)]),
    ("ip src 10.1.1.1 and ip dst 10.2.2.2 and tcp src port 20 and tcp dst port 30", [None; 2]),
    ("ip src 10.4.4.4 or ip src 10.3.3.3 or ip src 10.2.2.2 or ip src 10.1.1.1", [None; 2]),
];
const PACKETS: usize = 1000;
/// Elements of figure 14, in which each has a core of its own.
const CORES: usize = 9;
/// Cycles of a core for a packet that it takes from the scheduler: get-work and a tag switch.
const HOP: u64 = 45;

pub(super) fn figures(sources: &Path) -> Outcome<Vec<Figure>> {
    let machine = description::named("octeon").ok_or_else(|| Failure::failed("the machine octeon is not there"))?;
    let folder = Folder::new()?;
    Ok(vec![filters(&machine, &folder)?, share(&machine, &folder, sources)?, speedup(&machine, &folder, sources)?])
}

/// Cycles of filters, without what is done to receive and send.
fn filters(machine: &Machine, folder: &Folder) -> Outcome<Figure> {
    let mut figure = Figure {
        name: "octeon-filters",
        title: "NetVM, figure 10(b): filters on one core of the Octeon".to_owned(),
        unit: "cycles",
        columns: ["ours", "paper: NetVM", "paper: native"].map(str::to_owned).to_vec(),
        rows: Vec::new(),
    };
    // The paper's packet, for which all of a filter is done.
    let packet = traffic::ip([10, 1, 1, 1], [10, 2, 2, 2], [20, 30], 6, &[]);
    let capture = folder.capture("filter.pcap", &vec![(0, packet)])?;
    for (n, (text, paper)) in FILTERS.iter().enumerate() {
        let trace = Observed::filter(text, capture.clone()).trace()?;
        let cycles: u64 = stages::by_element(&trace, machine).iter().flatten().sum();
        figure.row(format!("filter {}", n + 1), vec![Some(cycles as f64), paper[0], paper[1]]);
    }
    Ok(figure)
}

fn chain(folder: &Folder, sources: &Path) -> Outcome<machine::Trace> {
    let capture = folder.capture("chain.pcap", &traffic::messages(PACKETS))?;
    let observed = Observed::given(sources.join("crates/machine/workloads/chain.click"), vec![format!("in={}", capture.display())]);
    observed.trace()
}

/// How much of the time is searching, with the DFA unit and in software.
fn share(machine: &Machine, folder: &Folder, sources: &Path) -> Outcome<Figure> {
    let mut figure = Figure {
        name: "octeon-search",
        title: "NetVM, table 1: time spent in string matching".to_owned(),
        unit: "%",
        columns: ["ours", "paper"].map(str::to_owned).to_vec(),
        rows: Vec::new(),
    };
    let trace = chain(folder, sources)?;
    let all = |machine: &Machine| steps::of(&trace, machine).iter().map(|work| stages::cycles(work, machine)).sum::<u64>() as f64;
    let without = all(&Machine { search: None, ..machine.clone() });
    // In software each byte is a load of the automaton's row and a few instructions.
    let software = Machine { search: Some(Search { instructions: 4.0, bytes: 4.0, memory: "l1".to_owned() }), ..machine.clone() };
    for (label, machine, paper) in [("DFA unit", machine, 3.79), ("in software (paper: x86)", &software, 13.44)] {
        let with = all(machine);
        figure.row(label, vec![Some((with - without) / with * 100.0), Some(paper)]);
    }
    Ok(figure)
}

fn speedup(machine: &Machine, folder: &Folder, sources: &Path) -> Outcome<Figure> {
    let packets = stages::by_element(&chain(folder, sources)?, machine);
    let one = stages::to_completion(&packets, 1, HOP) as f64;
    let against = |cycles: u64| Some(one / cycles as f64);
    let mut figure = Figure {
        name: "octeon-cores",
        title: format!("NetVM, figure 14(c): {CORES} cores against one"),
        unit: "times",
        columns: ["ours", "paper"].map(str::to_owned).to_vec(),
        rows: Vec::new(),
    };
    let elements = packets.first().map_or(0, Vec::len);
    figure.row("an element a core", vec![against(stages::pipeline(&packets, &vec![1; elements], HOP)), Some(1.55)]);
    let merged = merged(&packets);
    let cores = stages::balanced(&merged, CORES);
    figure.row("pipeline, balanced", vec![against(stages::pipeline(&merged, &cores, HOP)), None]);
    figure.row("run to completion", vec![against(stages::to_completion(&packets, CORES, HOP)), None]);
    let total: u64 = packets.iter().flatten().sum();
    let slowest = (0..elements).map(|n| packets.iter().map(|packet| packet[n]).sum::<u64>()).max().unwrap_or(0);
    figure.row("slowest element, part of the time", vec![Some(slowest as f64 / total.max(1) as f64), Some(0.6)]);
    Ok(figure)
}

/// Elements before the slowest one on one core, and those behind it.
fn merged(packets: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let elements = packets.first().map_or(0, Vec::len);
    let all = |n: usize| packets.iter().map(|packet| packet[n]).sum::<u64>();
    let slowest = (0..elements).max_by_key(|n| all(*n)).unwrap_or(0);
    packets.iter().map(|packet| vec![packet[..slowest].iter().sum(), packet[slowest], packet[slowest + 1..].iter().sum()]).collect()
}
