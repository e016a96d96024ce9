//! An application cut into three stages: sources, what may run in replicas, and the rest.
//!
//! Each stage is the whole application with the elements of other stages absent, and with ends of
//! rings where connections were cut. A lane is the place in a later stage that packets go to;
//! connections to one place have one lane.

use super::placement::Placement;
use super::stage::Stage;
use netil::app::{Application, Body, End, Instance, Wire};
use runtime::graph::builtin;
use runtime::graph::ring::{ABSENT, FROM_RING, TO_RING, behind};

/// One stage's application, and its ends of rings.
pub(super) struct Part {
    pub application: Application,
    /// The element that packets come from.
    pub from: Option<usize>,
    /// Those that they leave by.
    pub to: Vec<usize>,
}

/// The stages.
pub(super) struct Cut {
    pub sources: Part,
    /// None where nothing is for replicas.
    pub replicas: Option<Part>,
    pub rest: Part,
    /// By lane into the last stage: whether annotations are looked at behind it.
    pub annotated: Vec<bool>,
}

/// Cuts an application as it is placed.
pub(super) fn cut(application: &Application, placement: &Placement) -> Cut {
    let stage = |end: End| placement.stages[end.instance as usize];
    let leaves = |from: Stage| application.wires.iter().filter(move |wire| stage(wire.from) == from && stage(wire.to) != from);
    let from_sources = places(leaves(Stage::Source));
    let has_replicas = placement.stages.contains(&Stage::Replica);
    let later: Vec<&Wire> = leaves(Stage::Source).filter(|wire| stage(wire.to) == Stage::Rest).chain(leaves(Stage::Replica)).collect();
    let into_rest = if has_replicas { places(later.into_iter()) } else { from_sources.clone() };
    let replicas = has_replicas.then(|| middle(application, placement, &from_sources, &into_rest));
    let mut sources = only(application, placement, Stage::Source);
    let all = (0..from_sources.len() as u16).collect();
    let to = add(&mut sources, TO_RING, lanes(all));
    connect_out(&mut sources, application, to, placement, Stage::Source, &from_sources);
    let mut rest = only(application, placement, Stage::Rest);
    let from = add(&mut rest, FROM_RING, Vec::new());
    connect_in(&mut rest, from, into_rest.iter().enumerate());
    let annotated = into_rest.iter().map(|end| is_looked_at(application, *end)).collect();
    Cut {
        sources: Part { application: sources, from: None, to: vec![to] },
        replicas,
        rest: Part { application: rest, from: Some(from), to: Vec::new() },
        annotated,
    }
}

/// What replicas run: lanes that go past them go through.
fn middle(application: &Application, placement: &Placement, from_sources: &[End], into_rest: &[End]) -> Part {
    let mut part = only(application, placement, Stage::Replica);
    let from = add(&mut part, FROM_RING, Vec::new());
    let inside = |end: &End| placement.stages[end.instance as usize] == Stage::Replica;
    connect_in(&mut part, from, from_sources.iter().enumerate().filter(|(_, end)| inside(end)));
    let groups = groups(application, placement, into_rest);
    let mut to = Vec::new();
    for group in &groups {
        let element = add(&mut part, TO_RING, lanes(group.clone()));
        to.push(element);
        let ends: Vec<End> = group.iter().map(|lane| into_rest[*lane as usize]).collect();
        connect_out(&mut part, application, element, placement, Stage::Replica, &ends);
        for (lane, end) in from_sources.iter().enumerate() {
            if let Some(port) = ends.iter().position(|other| other == end) {
                part.wires.push(wire(from, lane, element, port));
            }
        }
    }
    Part { application: part, from: Some(from), to }
}

/// Lanes that packets may take in bursts without one another: where a copy and its packet may meet
/// again behind two lanes, these leave by one element, one packet at a time.
fn groups(application: &Application, placement: &Placement, into_rest: &[End]) -> Vec<Vec<u16>> {
    let all = 0..into_rest.len() as u16;
    if !placement.stages.iter().zip(&application.instances).any(|(stage, instance)| *stage == Stage::Replica && instance.copies()) {
        return all.map(|lane| vec![lane]).collect();
    }
    let behind: Vec<_> = into_rest.iter().map(|end| behind(application, end.instance)).collect();
    let mut groups: Vec<Vec<u16>> = Vec::new();
    for lane in all {
        let meets = |group: &Vec<u16>| group.iter().any(|other| !behind[*other as usize].is_disjoint(&behind[lane as usize]));
        let (with, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(meets);
        groups = apart;
        groups.push(with.into_iter().flatten().chain([lane]).collect());
    }
    groups
}

fn is_looked_at(application: &Application, end: End) -> bool {
    let looks = |at: u32| match &application.instances[at as usize] {
        Instance { body: Body::Program(_), .. } => true,
        Instance { class, .. } => builtin::facts(class).looks_at_annotations,
    };
    behind(application, end.instance).into_iter().any(looks)
}

/// Places that connections lead to, each once, in order.
fn places<'w>(wires: impl Iterator<Item = &'w Wire>) -> Vec<End> {
    let mut places: Vec<End> = wires.map(|wire| wire.to).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// The application without the elements of other stages.
fn only(application: &Application, placement: &Placement, stage: Stage) -> Application {
    let mut part = application.clone();
    part.numbered = application.keeps_numbers();
    let inside = |instance: u32| placement.stages[instance as usize] == stage;
    for (_, instance) in part.instances.iter_mut().enumerate().filter(|(at, _)| !inside(*at as u32)) {
        (instance.class, instance.body) = (ABSENT.to_owned(), Body::BuiltIn(Vec::new()));
    }
    part.wires.retain(|wire| inside(wire.from.instance) && inside(wire.to.instance));
    part.shared.retain(|list| list.iter().all(|table| inside(table.instance)));
    part.pieces.retain(|list| list.iter().all(|piece| inside(piece.instance)));
    part.files.retain(|(instance, _)| inside(*instance));
    part
}

fn add(part: &mut Application, class: &str, arguments: Vec<String>) -> usize {
    let name = format!("{class}@{}", part.instances.len());
    part.instances.push(Instance { name, class: class.to_owned(), body: Body::BuiltIn(arguments) });
    part.arguments.resize(part.instances.len(), Vec::new());
    part.instances.len() - 1
}

fn lanes(lanes: Vec<u16>) -> Vec<String> {
    lanes.iter().map(u16::to_string).collect()
}

fn wire(from: usize, output: usize, to: usize, input: usize) -> Wire {
    let end = |instance: usize, port: usize| End { instance: instance as u32, port: port as u32 };
    Wire { from: end(from, output), to: end(to, input), recirculates: false }
}

fn connect_in<'e>(part: &mut Application, from: usize, ends: impl Iterator<Item = (usize, &'e End)>) {
    for (lane, end) in ends {
        part.wires.push(wire(from, lane, end.instance as usize, end.port as usize));
    }
}

/// Connections that lead out of a stage to those places, into the inputs of an element with the
/// same numbers.
fn connect_out(part: &mut Application, application: &Application, to: usize, placement: &Placement, stage: Stage, ends: &[End]) {
    for cut in application.wires.iter().filter(|wire| placement.stages[wire.from.instance as usize] == stage) {
        if let Some(port) = ends.iter().position(|end| *end == cut.to) {
            part.wires.push(wire(cut.from.instance as usize, cut.from.port as usize, to, port));
        }
    }
}
