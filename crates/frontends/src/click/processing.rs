//! How many ports elements have, and whether packets are pushed or pulled through them.
//!
//! Idea: a port is push, pull or agnostic, as its class says. A connection's two ends must be of
//! one kind, and so must the agnostic ports of an element between which packets flow; what then is
//! still agnostic is push. A push output and a pull input have exactly one connection.
//!
//! The codes are Click's: port counts (`1/1-2`, `-/=`), processing (`h/l`, `a/ah`), flow (`x/x`,
//! `xy/x`, `#/#`).

use super::graph::{Connection, Element, Graph, Port};
use crate::diagnostics::{Diagnostic, Diagnostics, Kind as Fault};
use std::collections::BTreeMap;

/// What a class says of its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSpec<'a> {
    /// How many: inputs, a slash, outputs. A number, a range (`1-2`, `1-`), `-` for any; for
    /// outputs also `=`, as many as inputs, and `=+`, one more for each `+`.
    pub ports: &'a str,
    /// Of what kind, a letter a port, the last for all that follow: `h` push, `l` pull, `a`
    /// agnostic.
    pub processing: &'a str,
    /// Between which of them packets flow: those with a letter in common; `#` stands for the port's
    /// own number. Empty: between all.
    pub flow: &'a str,
}

impl PortSpec<'_> {
    /// What an input has in common with the outputs that its packets go to; `None` if they go to
    /// none.
    pub(super) fn input_flow(&self, port: u32) -> Option<(char, u32)> {
        self.flow_of(0, port)
    }

    /// What an output has in common with the inputs that its packets come from; `None` if they come
    /// from none.
    pub(super) fn output_flow(&self, port: u32) -> Option<(char, u32)> {
        self.flow_of(1, port)
    }

    fn flow_of(&self, side: usize, port: u32) -> Option<(char, u32)> {
        let code = if self.flow.is_empty() { "x" } else { sides(self.flow)[side] };
        match letter(code, port) {
            '-' => None,
            '#' => Some(('#', port)),
            letter => Some((letter, 0)),
        }
    }
}

/// Which way packets move through a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The element before it acts.
    Push,
    /// The element behind it acts.
    Pull,
}

/// The kinds of all ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// By element, then by port.
    pub inputs: Vec<Vec<Kind>>,
    /// Likewise.
    pub outputs: Vec<Vec<Kind>>,
}

/// The two sides of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Input,
    Output,
}

/// A port with its side.
type End = (Side, Port);

/// Finds the kinds of all ports of a graph whose elements have these shapes.
///
/// # Errors
/// An element has too many or too few ports, a port has no connection or one too many, or push
/// meets pull.
pub fn kinds(graph: &Graph, shapes: &[PortSpec<'_>]) -> Result<Kinds, Diagnostics> {
    let counts = counted(graph);
    let mut faults: Vec<Diagnostic> = shapes.iter().enumerate().filter_map(|(n, shape)| wrong_count(graph, n, shape, counts[n])).collect();
    faults.extend(gaps(graph, &counts));
    if faults.is_empty() {
        let mut solver = Solver::new(graph, shapes, &counts);
        solver.solve();
        solver.reused();
        faults = solver.faults.split_off(0);
        if faults.is_empty() {
            return Ok(solver.kinds(&counts));
        }
    }
    Err(Diagnostics(faults))
}

/// How many inputs and outputs each element has: one more than the highest that is connected.
fn counted(graph: &Graph) -> Vec<[u32; 2]> {
    let mut counts = vec![[0; 2]; graph.elements.len()];
    for Connection { from, to, .. } in &graph.connections {
        counts[to.element][0] = counts[to.element][0].max(to.port + 1);
        counts[from.element][1] = counts[from.element][1].max(from.port + 1);
    }
    counts
}

/// The least and the most ports that a code allows.
fn allowed(code: &str, inputs: u32) -> (u32, u32) {
    if let Some(more) = code.strip_prefix('=') {
        let count = inputs + more.len() as u32;
        return (count, count);
    }
    let number = |text: &str, otherwise| text.parse().unwrap_or(otherwise);
    match code.split_once('-') {
        Some((least, most)) => (number(least, 0), number(most, u32::MAX)),
        None => (number(code, 0), number(code, 0)),
    }
}

fn sides(code: &str) -> [&str; 2] {
    let (inputs, outputs) = code.split_once('/').unwrap_or((code, code));
    [inputs, outputs]
}

fn called(graph: &Graph, element: usize) -> String {
    let element = &graph.elements[element];
    format!("`{} :: {}`", element.name, element.class)
}

fn wrong_count(graph: &Graph, element: usize, shape: &PortSpec<'_>, counts: [u32; 2]) -> Option<Diagnostic> {
    for ((code, count), what) in sides(shape.ports).into_iter().zip(counts).zip(["input", "output"]) {
        let (least, most) = allowed(code, counts[0]);
        if (least..=most).contains(&count) {
            continue;
        }
        let wants = if least == most {
            least.to_string()
        } else if count < least {
            format!("at least {least}")
        } else {
            format!("at most {most}")
        };
        let message =
            format!("{} has {count} {what} port{}, and its class wants {wants}", called(graph, element), if count == 1 { "" } else { "s" });
        let Element { name, class, span, .. } = &graph.elements[element];
        let fault = Diagnostic::new(*span, message);
        let unused = || Fault::PortUnused { element: format!("{name} :: {class}"), side: what, port: count };
        return Some(if count < least { fault.kind(unused()) } else { fault });
    }
    None
}

/// Ports below the highest that have no connection.
fn gaps(graph: &Graph, counts: &[[u32; 2]]) -> Vec<Diagnostic> {
    let mut used: BTreeMap<(usize, usize), Vec<u32>> = BTreeMap::new();
    for Connection { from, to, .. } in &graph.connections {
        used.entry((to.element, 0)).or_default().push(to.port);
        used.entry((from.element, 1)).or_default().push(from.port);
    }
    let mut faults = Vec::new();
    for ((element, side), mut ports) in used {
        ports.sort_unstable();
        ports.dedup();
        let missing = ports.iter().zip(0..).find(|(port, n)| **port != *n).map(|(_, n)| n);
        if let Some(port) = missing.filter(|_| ports.len() < counts[element][side] as usize) {
            let message = format!("{} {} {port} unused", called(graph, element), ["input", "output"][side]);
            faults.push(Diagnostic::new(graph.elements[element].span, message));
        }
    }
    faults
}

/// Ports that are of one kind, whichever that is: each points to another one or is the first of its
/// class.
struct Solver<'g> {
    graph: &'g Graph,
    ends: Vec<End>,
    number: BTreeMap<End, usize>,
    first: Vec<usize>,
    kind: Vec<Option<Kind>>,
    faults: Vec<Diagnostic>,
}

impl<'g> Solver<'g> {
    fn new(graph: &'g Graph, shapes: &[PortSpec<'_>], counts: &[[u32; 2]]) -> Self {
        let mut solver = Self { graph, ends: Vec::new(), number: BTreeMap::new(), first: Vec::new(), kind: Vec::new(), faults: Vec::new() };
        for (element, (shape, counts)) in shapes.iter().zip(counts).enumerate() {
            solver.element(element, shape, *counts);
        }
        solver
    }

    /// Adds an element's ports, and makes one of those agnostic ones between which packets flow.
    fn element(&mut self, element: usize, shape: &PortSpec<'_>, counts: [u32; 2]) {
        let mut by_flow: BTreeMap<(char, u32), usize> = BTreeMap::new();
        for (side, code) in [Side::Input, Side::Output].into_iter().zip(sides(shape.processing)) {
            for port in 0..counts[side as usize] {
                let number = self.add((side, Port { element, port }), kind_of(letter(code, port)));
                let Some(flow) = shape.flow_of(side as usize, port).filter(|_| self.kind[number].is_none()) else { continue };
                let other = *by_flow.entry(flow).or_insert(number);
                let (a, b) = (self.root(number), self.root(other));
                self.first[a] = b;
            }
        }
    }

    fn add(&mut self, end: End, kind: Option<Kind>) -> usize {
        let number = self.ends.len();
        self.ends.push(end);
        self.number.insert(end, number);
        self.first.push(number);
        self.kind.push(kind);
        number
    }

    fn root(&mut self, mut at: usize) -> usize {
        while self.first[at] != at {
            self.first[at] = self.first[self.first[at]];
            at = self.first[at];
        }
        at
    }

    /// Makes the two ends of each connection one.
    fn solve(&mut self) {
        for connection in &self.graph.connections {
            let ends = [(Side::Output, connection.from), (Side::Input, connection.to)].map(|end| self.number[&end]);
            let [a, b] = ends.map(|end| self.root(end));
            match (self.kind[a], self.kind[b]) {
                (Some(from), Some(to)) if from != to => self.conflict(connection, from, to),
                (Some(_), _) => self.first[b] = a,
                _ => self.first[a] = b,
            }
        }
    }

    fn conflict(&mut self, connection: &Connection, from: Kind, to: Kind) {
        let name = |kind| if kind == Kind::Push { "push" } else { "pull" };
        let Connection { from: output, to: input, span } = *connection;
        let message = format!(
            "{} {} output {} connected to {} {} input {}",
            called(self.graph, output.element),
            name(from),
            output.port,
            called(self.graph, input.element),
            name(to),
            input.port
        );
        let help = match (from, to) {
            (Kind::Push, _) => "put a Queue between them: packets are pushed in and pulled out",
            (Kind::Pull, _) => "put an Unqueue between them: it pulls packets and pushes them on",
        };
        self.faults.push(Diagnostic::new(span, message).help(help));
    }

    fn kind_at(&mut self, end: End) -> Kind {
        let number = self.number[&end];
        let root = self.root(number);
        self.kind[root].unwrap_or(Kind::Push)
    }

    /// Push outputs and pull inputs with more than one connection.
    fn reused(&mut self) {
        let mut seen = BTreeMap::new();
        for Connection { from, to, span } in &self.graph.connections {
            for (end, alone, what) in [((Side::Output, *from), Kind::Push, "push output"), ((Side::Input, *to), Kind::Pull, "pull input")] {
                if self.kind_at(end) != alone {
                    continue;
                }
                if let Some(before) = seen.insert(end, *span) {
                    let message = format!("illegal reuse of {} {what} {}", called(self.graph, end.1.element), end.1.port);
                    self.faults.push(Diagnostic::new(*span, message).kind(Fault::PortReused).note(before, "connected here already"));
                }
            }
        }
    }

    fn kinds(&mut self, counts: &[[u32; 2]]) -> Kinds {
        let mut side = |side: Side| {
            let ports = |(element, counts): (usize, &[u32; 2])| {
                (0..counts[side as usize]).map(|port| self.kind_at((side, Port { element, port }))).collect()
            };
            counts.iter().enumerate().map(ports).collect()
        };
        Kinds { inputs: side(Side::Input), outputs: side(Side::Output) }
    }
}

/// A port's letter of a code: the last one is for all that follow.
fn letter(code: &str, port: u32) -> char {
    code.chars().nth(port as usize).or_else(|| code.chars().last()).unwrap_or('-')
}

fn kind_of(letter: char) -> Option<Kind> {
    match letter {
        'h' => Some(Kind::Push),
        'l' => Some(Kind::Pull),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::click::flatten;

    fn shape(class: &str) -> PortSpec<'static> {
        let (ports, processing, flow) = match class {
            "Src" => ("0/1", "h/h", ""),
            "Sink" => ("1/0", "h/h", ""),
            "PullSink" => ("1/0", "l/l", ""),
            "Queue" => ("1/1", "h/l", ""),
            "Unqueue" => ("1/1", "l/h", ""),
            "Idle" => ("-/-", "a/a", "x/y"),
            "Check" => ("1/1-2", "a/ah", ""),
            "Tee" => ("1/1-", "h/h", ""),
            "Pair" => ("-/=", "a/a", "#/#"),
            "More" => ("-/=+", "a/a", "x/x"),
            _ => ("1/1", "a/a", ""),
        };
        PortSpec { ports, processing, flow }
    }

    fn checked(source: &str) -> Result<(Graph, Kinds), Vec<String>> {
        let graph = flatten(source, &BTreeMap::new()).unwrap();
        let shapes: Vec<_> = graph.elements.iter().map(|element| shape(&element.class)).collect();
        let found = kinds(&graph, &shapes).map_err(|faults| faults.0.into_iter().map(|fault| fault.message).collect::<Vec<_>>())?;
        Ok((graph, found))
    }

    /// The kinds of an element's ports: inputs, a slash, outputs.
    fn of(source: &str, name: &str) -> String {
        let (graph, kinds) = checked(source).unwrap();
        let element = graph.elements.iter().position(|element| element.name == name).unwrap();
        let letters = |kinds: &Vec<Kind>| kinds.iter().map(|kind| if *kind == Kind::Push { 'h' } else { 'l' }).collect::<String>();
        format!("{}/{}", letters(&kinds.inputs[element]), letters(&kinds.outputs[element]))
    }

    #[test]
    fn agnostic_ports_become_what_they_meet() {
        assert_eq!(of("Src -> n :: Null -> Sink", "n"), "h/h");
        assert_eq!(of("Src -> Queue -> a :: Null -> n :: Null -> b :: Null -> PullSink", "n"), "l/l");
        assert_eq!(of("Idle -> n :: Null -> Idle", "n"), "h/h");
        assert_eq!(of("i :: Idle -> Sink; Src -> Queue -> i", "i"), "l/h");
        assert_eq!(of("Src -> Queue -> c :: Check -> PullSink; c [1] -> Sink", "c"), "l/lh");
        assert_eq!(of("p :: Pair; Src -> p -> Sink; Src -> Queue -> [1] p [1] -> PullSink", "p"), "hl/hl");
        assert_eq!(of("m :: More; Src -> m -> Sink; m [1] -> Sink", "m"), "h/hh");
    }

    #[test]
    fn push_does_not_meet_pull() {
        assert_eq!(
            checked("s :: Src -> p :: PullSink").unwrap_err(),
            ["`s :: Src` push output 0 connected to `p :: PullSink` pull input 0"]
        );
        assert_eq!(
            checked("Src -> n :: Null -> p :: PullSink").unwrap_err(),
            ["`n :: Null` push output 0 connected to `p :: PullSink` pull input 0"]
        );
        assert_eq!(
            checked("Src -> q :: Queue -> s :: Sink").unwrap_err(),
            ["`q :: Queue` pull output 0 connected to `s :: Sink` push input 0"]
        );
        assert!(checked("Src -> Queue -> Unqueue -> Sink").is_ok());
    }

    #[test]
    fn ports_are_counted_and_used_once() {
        assert_eq!(checked("i :: Src -> d :: Sink; i -> Null -> d").unwrap_err(), ["illegal reuse of `i :: Src` push output 0"]);
        assert_eq!(
            checked("a, b :: Src; a, b -> Queue -> p :: PullSink; Idle -> p").unwrap_err(),
            ["illegal reuse of `p :: PullSink` pull input 0"]
        );
        assert!(checked("Src, Src -> Null -> d :: Sink; q :: Queue -> PullSink; Src -> q; q -> PullSink").is_ok());
        assert_eq!(checked("Src -> p :: Print").unwrap_err(), ["`p :: Print` has 0 output ports, and its class wants 1"]);
        assert_eq!(
            checked("Src -> c :: Check => Sink, Sink, Sink").unwrap_err(),
            ["`c :: Check` has 3 output ports, and its class wants at most 2"]
        );
        assert_eq!(checked("Src -> t :: Tee").unwrap_err(), ["`t :: Tee` has 0 output ports, and its class wants at least 1"]);
        assert_eq!(checked("Src -> t :: Tee; t [1] -> Sink").unwrap_err(), ["`t :: Tee` output 0 unused"]);
        assert_eq!(
            checked("p :: Pair; Src -> p; Src -> [1] p -> Sink").unwrap_err(),
            ["`p :: Pair` has 1 output port, and its class wants 2"]
        );
    }
}
