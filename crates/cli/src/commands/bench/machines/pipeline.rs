//! The X11: instructions of programs of the NetVM paper beside programs for the same by hand
//! (figures 11 and 13, table 2).
//!
//! The paper's own numbers are drawn and not told in its text, but for one: automatic code for the
//! classifier is within 20 % of code by hand; the second table has it.

use crate::failure::{Failure, Outcome};
use machine::figure::Figure;
use machine::x11::{self, Element, Link, Machine, Made, assemble};
use netvm::io::LinkType;
use netvm::netil::Verified;
use netvm::netil::module::PortKind;
use netvm::{Filter, engines, load};
use std::path::Path;
use std::sync::Arc;

/// Programs: a name for people, the file by hand, a filter, and modules behind it.
const PROGRAMS: [(&str, &str, Option<&str>, &[&str]); 8] = [
    ("filter 1", "filter1", Some("ip"), &[]),
    ("filter 2", "filter2", Some("ip src 10.1.1.1"), &[]),
    ("filter 3", "filter3", Some("ip and tcp"), &[]),
    ("filter 4", "filter4", Some("ip src 10.1.1.1 and ip dst 10.2.2.2 and tcp src port 20 and tcp dst port 30"), &[]),
    ("filter 5", "filter5", Some("ip src 10.4.4.4 or ip src 10.3.3.3 or ip src 10.2.2.2 or ip src 10.1.1.1"), &[]),
    ("port 80, counted", "counted", Some("tcp dst port 80"), &["counter.netil"]),
    ("layer 2", "learner", None, &["learner.netil"]),
    ("classifier", "classifier", None, &["classifier.netil"]),
];

pub(super) fn figures(sources: &Path) -> Outcome<Vec<Figure>> {
    let (machine, folder) = (Machine::built_in(), sources.join("crates/machine/x11"));
    let mut figure = super::figure(
        "x11-instructions",
        "NetVM, figures 11 and 13, table 2: instructions on the X11",
        "instructions",
        &["slots", "slots by hand", "instructions", "by hand", "stages", "stages by hand"],
    );
    let mut more = super::figure(
        "x11-more",
        "NetVM, table 2: slots and instructions more than by hand",
        "%",
        &["slots", "instructions", "paper: at most"],
    );
    for (name, file, filter, modules) in PROGRAMS {
        let mut elements = Vec::new();
        if let Some(text) = filter {
            elements.push(Filter::compile(text, LinkType::EN10MB, &engines::ALL[0])?.program);
        }
        for module in modules {
            elements.push(Arc::new(load::program(&folder.join(module))?));
        }
        let made = compiled(&elements, &machine)?;
        let path = folder.join(format!("{file}.x11"));
        let told = |what: String| Failure::failed(format_args!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(&path).map_err(|error| told(error.to_string()))?;
        let program = &made.program;
        let hand = assemble::assemble(&text, program.sets.clone(), program.traps.clone(), &machine).map_err(|why| told(why.to_string()))?;
        let (own, by_hand) = (program.size(), hand.size());
        let all = [own.operations, by_hand.operations, own.instructions, by_hand.instructions, own.stages, by_hand.stages];
        let above = |own: usize, hand: usize| Some((own as f64 / hand as f64 - 1.0) * 100.0);
        let paper = (name == "classifier").then_some(20.0);
        more.row(name, vec![above(own.operations, by_hand.operations), above(own.instructions, by_hand.instructions), paper]);
        figure.row(name, all.iter().map(|n| Some(*n as f64)).collect());
    }
    Ok(vec![figure, more])
}

/// Elements one behind the other: what leaves the first output of one comes to the next.
fn compiled(elements: &[Arc<Verified>], machine: &Machine) -> Outcome<Made> {
    let ports = |n: usize| elements[n].module().all_ports();
    let ways = |n: usize| match n + 1 < elements.len() {
        true => elements[n].first_output().map(|port| (port, Link::Element(n + 1, 0))).into_iter().collect(),
        false => ports(n).iter().map(|(id, _)| (*id, Link::Port(*id))).collect(),
    };
    let all: Vec<Element<'_>> = elements.iter().enumerate().map(|(n, program)| Element { program, ways: ways(n) }).collect();
    let inputs: Vec<u32> = ports(0).iter().filter(|(_, port)| port.kind == PortKind::PushInput).map(|(id, _)| *id).collect();
    let entry = if let [only] = inputs[..] { Some(only) } else { None };
    x11::compile(&all, entry, machine).map_err(|why| Failure::failed(format_args!("{why}")))
}
