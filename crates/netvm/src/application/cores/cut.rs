//! An application cut into stages: sources, what may run in replicas, and what runs in order, in
//! one stage or several.
//!
//! Each stage is the whole application with the elements of other stages absent, and with ends of
//! rings where connections were cut. A lane is the place in a later stage that packets go to;
//! connections to one place have one lane. Lanes to a stage behind the next one go through that.

use super::placement::Placement;
use super::stage::Stage;
use netil::app::{Application, Body, End, Instance, Wire};
use netil::cut_through::passes_one;
use runtime::graph::builtin;
use runtime::graph::ring::{ABSENT, ALL_PACKETS, FROM_RING, ONE_PACKET, TO_RING, behind};

/// One stage's application, and its ends of rings.
pub(super) struct Part {
    pub application: Application,
    pub stage: Stage,
    /// The element that packets come from.
    pub from: Option<usize>,
    /// Those that they leave by.
    pub to: Vec<usize>,
    /// By lane that leaves: whether annotations are looked at behind it.
    pub annotated: Vec<bool>,
}

/// The stages.
pub(super) struct Cut {
    /// Those before the last one, in the order in which packets come to them.
    pub before: Vec<Part>,
    pub rest: Part,
}

/// Cuts an application as it is placed.
pub(super) fn cut(application: &Application, placement: &Placement) -> Cut {
    let stages = placement.before_the_last();
    let place = |end: End| {
        let stage = placement.stages[end.instance as usize];
        stages.iter().position(|it| *it == stage).unwrap_or(stages.len())
    };
    let into = |next: usize| places(application.wires.iter().filter(move |wire| place(wire.from) < next && place(wire.to) >= next));
    let lanes: Vec<Vec<End>> = (0..=stages.len()).map(into).collect();
    let before = stages.iter().zip(lanes.windows(2)).map(|(stage, lanes)| part(application, placement, *stage, (&lanes[0], &lanes[1])));
    let before = before.collect();
    Cut { before, rest: part(application, placement, Stage::Rest, (lanes.last().map_or(&[], Vec::as_slice), &[])) }
}

/// What a stage runs, with the lanes that lead into it and those that lead on; lanes that go past
/// it go through.
fn part(application: &Application, placement: &Placement, stage: Stage, (into, out): (&[End], &[End])) -> Part {
    let mut part = only(application, placement, stage);
    let from = (stage != Stage::Source).then(|| add(&mut part, FROM_RING, arrivals(application, placement, stage)));
    let inside = |end: &End| placement.stages[end.instance as usize] == stage;
    if let Some(from) = from {
        connect_in(&mut part, from, into.iter().enumerate().filter(|(_, end)| inside(end)));
    }
    let groups = if stage == Stage::Source { vec![(0..out.len() as u16).collect()] } else { groups(application, placement, stage, out) };
    let mut to = Vec::new();
    for group in groups.iter().filter(|_| stage != Stage::Rest) {
        let element = add(&mut part, TO_RING, lanes(group.clone()));
        to.push(element);
        let ends: Vec<End> = group.iter().map(|lane| out[*lane as usize]).collect();
        connect_out(&mut part, application, element, placement, stage, &ends);
        for (from, (lane, end)) in from.iter().flat_map(|from| into.iter().enumerate().map(move |lane| (*from, lane))) {
            if let Some(port) = ends.iter().position(|other| other == end) {
                part.wires.push(wire(from, lane, element, port));
            }
        }
    }
    let annotated = out.iter().map(|end| is_looked_at(application, *end)).collect();
    Part { application: part, stage, from, to, annotated }
}

/// What an arrival of a stage is: the last one has tasks and timers, which must not run between
/// packets that have become of one arrival.
fn arrivals(application: &Application, placement: &Placement, stage: Stage) -> Vec<String> {
    let passes = |(instance, stage): (&Instance, &Stage)| match stage {
        Stage::Source => instance.program().is_none() || passes_one(instance),
        Stage::Replica | Stage::Ordered(_) | Stage::Shared => passes_one(instance),
        Stage::Rest => true,
    };
    let one = application.instances.iter().zip(&placement.stages).all(passes);
    let what = (stage == Stage::Rest).then_some(if one { ONE_PACKET } else { ALL_PACKETS });
    what.into_iter().map(str::to_owned).collect()
}

/// Lanes that packets may take in bursts without one another: where a copy and its packet may meet
/// again behind two lanes, these leave by one element, one packet at a time.
fn groups(application: &Application, placement: &Placement, stage: Stage, out: &[End]) -> Vec<Vec<u16>> {
    let all = 0..out.len() as u16;
    if !placement.of(stage).any(|at| application.instances[at].copies()) {
        return all.map(|lane| vec![lane]).collect();
    }
    let behind: Vec<_> = out.iter().map(|end| behind(application, end.instance)).collect();
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
