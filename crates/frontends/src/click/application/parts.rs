//! What each element of an application is made of, for those who make something else of it than
//! programs.

use super::{Classes, Faults, Graph, Known, Maker, Names, cycles, in_configuration, instance, processing};
use crate::c;
use crate::click::graph::Connection;
use crate::click::processing::{Kinds, PortSpec};
use crate::diagnostics::Diagnostics;
use crate::diagnostics::Sources;

/// An element that is in the application.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its number among the graph's elements.
    pub element: usize,
    /// Its class's file and what its arguments are there; none of a class that the runtime knows.
    pub program: Option<Program>,
}

/// An element with a file.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file's name.
    pub file: String,
    /// What is in it.
    pub text: String,
    /// What it declares.
    pub class: c::Class,
    /// The element's own values.
    pub instance: c::Instance,
}

/// The parts of a graph, the kinds of all elements' ports, and the connections that lead packets
/// back.
#[derive(Clone, Debug)]
pub struct Parts {
    /// In the order of the elements.
    pub parts: Vec<Part>,
    /// By element.
    pub kinds: Kinds,
    /// Of the graph's connections.
    pub back: Vec<Connection>,
}

/// What the elements of a graph are made of that was read from `sources`.
///
/// # Errors
/// As for [`super::application`].
pub fn parts(graph: &Graph, classes: &dyn Classes, sources: &Sources) -> Result<Parts, Faults> {
    let mut maker = Maker { graph, classes, sources, faults: Vec::new(), parts: Vec::new() };
    let known = maker.describe();
    maker.end()?;
    let shapes: Vec<PortSpec<'_>> = graph.elements.iter().map(|element| known[element.class.as_str()].shape()).collect();
    let in_text = |Diagnostics(faults)| in_configuration(sources, faults);
    let kinds = processing::kinds(graph, &shapes).map_err(in_text)?;
    let back = cycles::recirculations(graph, &shapes, &kinds).map_err(in_text)?;
    let (names, faults) = Names::of(graph);
    maker.faults.extend(faults);
    let mut parts = Vec::new();
    for (n, element) in graph.elements.iter().enumerate().filter(|(_, element)| !element.is_gone(&known)) {
        let mut part = Part { element: n, program: None };
        if let Known::File(file) = &known[element.class.as_str()] {
            match instance(element, file, [&kinds.inputs[n], &kinds.outputs[n]], &names.at(&element.name), classes) {
                Ok(instance) => {
                    let (class, text) = (file.class.clone(), file.text.clone());
                    part.program = Some(Program { file: file.name.clone(), text, class, instance });
                }
                Err(faults) => faults.iter().for_each(|fault| maker.fault(element, fault)),
            }
        }
        parts.push(part);
    }
    maker.end()?;
    Ok(Parts { parts, kinds, back })
}
