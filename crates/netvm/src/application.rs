//! Applications from configurations in Click's language: text to a graph that runs.
//!
//! ```text
//! text ──click::flatten──▶ flat graph ──kinds, cycles──▶ netil::app::Application ──▶ runtime::graph::Graph
//!                                          ▲ classes: native ones, and the library's in C
//! ```
//!
//! ```
//! use netvm::application::{Application, Graph, Host, Settings, Stream};
//!
//! struct Quiet;
//! impl Host for Quiet {
//!     fn write(&mut self, _: Stream, _: &[u8]) {}
//! }
//!
//! let text = "InfiniteSource(LIMIT 5) -> q :: Queue -> d :: Discard;";
//! let application = Application::read("example.click", text, &Default::default())?;
//! let mut graph = application.start(&netvm::engines::AUTO, Default::default(), Settings::default(), Box::new(Quiet))?;
//! graph.start();
//! while graph.turn() {}
//! assert_eq!(graph.read("d.count", "", None).unwrap(), "5");
//! # Ok::<(), netvm::Error>(())
//! ```

mod library;

pub use library::Library;
pub use runtime::graph::{Fault, Graph, Host, NodeStats, Settings, Stats, Stream, native};

use crate::engines::{self, EngineInfo};
use crate::{Error, frontends::click};
use ::frontends::diagnostics::{Diagnostic, Diagnostics};
use click::cycles;
use click::graph::Port;
use click::processing::{Kind, Kinds, Shape, kinds};
use netil::app;
use runtime::graph;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// How a configuration is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Values of parameters, which win over those that the configuration defines.
    pub parameters: BTreeMap<String, String>,
    /// Folders with element classes in C, looked into before the library that is built in.
    pub elements: Vec<PathBuf>,
}

/// A configuration that was read and checked.
pub struct Application {
    name: String,
    text: String,
    flat: click::Graph,
    application: app::Application,
    kinds: Kinds,
    recirculations: Vec<click::graph::Connection>,
}

impl Application {
    /// Reads a configuration; `name` is for messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, drawn in its text.
    pub fn read(name: &str, text: &str, reading: &Reading) -> Result<Self, Error> {
        let wrong = |errors| Error::Configuration { name: name.to_owned(), source: text.to_owned(), errors };
        let flat = click::flatten(text, &reading.parameters).map_err(wrong)?;
        let library = Library::of(&reading.elements);
        let (kinds, recirculations, application) = build(&flat, &library).map_err(wrong)?;
        Ok(Self { name: name.to_owned(), text: text.to_owned(), flat, application, kinds, recirculations })
    }

    /// The configuration without shorthand.
    pub fn flat(&self) -> &click::Graph {
        &self.flat
    }

    /// The elements and wires that run.
    pub fn application(&self) -> &app::Application {
        &self.application
    }

    /// The connections that lead packets back, as a configuration writes them.
    pub fn recirculations(&self) -> Vec<String> {
        let end = |port: Port| &self.flat.elements[port.element].name;
        let shown = |c: &click::graph::Connection| format!("{} [{}] -> [{}] {}", end(c.from), c.from.port, c.to.port, end(c.to));
        self.recirculations.iter().map(shown).collect()
    }

    /// Whether a port of an element is pulled.
    pub fn is_pull(&self, element: usize, port: usize, input: bool) -> bool {
        let side = if input { &self.kinds.inputs } else { &self.kinds.outputs };
        side.get(element).and_then(|ports| ports.get(port)) == Some(&Kind::Pull)
    }

    /// Makes all elements, ready to run.
    ///
    /// # Errors
    /// Elements that cannot be made, drawn where they are declared.
    pub fn start(&self, engine: &EngineInfo, engines: engines::Settings, settings: Settings, host: Box<dyn Host>) -> Result<Graph, Error> {
        let make = |program| engine.make(Arc::clone(&program), engines).map_err(|error| error.to_string());
        let factories = graph::Factories { engine: &make, coprocessor: &runtime::coproc::make, table: &runtime::coproc::tables::make };
        let settings = Settings { text: self.flat.to_string(), requirements: self.flat.requirements.clone(), ..settings };
        Graph::new(&self.application, &factories, settings, host).map_err(|faults| {
            let errors = Diagnostics(faults.into_iter().map(|fault| self.drawn(&fault)).collect());
            Error::Configuration { name: self.name.clone(), source: self.text.clone(), errors }
        })
    }

    fn drawn(&self, fault: &Fault) -> Diagnostic {
        let element = self.flat.elements.get(fault.instance);
        let message = element.map_or(fault.message.clone(), |e| format!("{} :: {}: {}", e.name, e.class, fault.message));
        fault_at(element.map(|e| e.span).unwrap_or_default(), message)
    }
}

fn fault_at(span: ::frontends::diagnostics::Span, message: String) -> Diagnostic {
    Diagnostic { span, message, notes: Vec::new(), help: None }
}

type Built = (Kinds, Vec<click::graph::Connection>, app::Application);

/// Checks ports and processing of a flat graph, and makes it an application.
fn build(flat: &click::Graph, _: &Library) -> Result<Built, Diagnostics> {
    let classes: Vec<_> = flat.elements.iter().map(|element| native::find(&element.class)).collect();
    let unknown = flat.elements.iter().zip(&classes).filter(|(_, class)| class.is_none());
    let faults: Vec<_> =
        unknown.map(|(element, _)| fault_at(element.span, format!("no element class is called '{}'", element.class))).collect();
    if !faults.is_empty() {
        return Err(Diagnostics(faults));
    }
    let shapes: Vec<_> = classes.iter().flatten().map(|c| Shape { ports: c.ports, processing: c.processing, flow: c.flow }).collect();
    let kinds = kinds(flat, &shapes)?;
    let recirculations = cycles::recirculations(flat, &shapes, &kinds)?;
    let end = |port: Port| app::End { instance: port.element as u32, port: port.port };
    let mut wires: Vec<_> =
        flat.connections.iter().map(|c| app::Wire { from: end(c.from), to: end(c.to), recirculates: recirculations.contains(c) }).collect();
    wires.sort();
    let instance = |e: &click::graph::Element| app::Instance {
        name: e.name.clone(),
        class: e.class.clone(),
        body: app::Body::Native(e.arguments.clone()),
    };
    let instances = flat.elements.iter().map(instance).collect();
    Ok((kinds, recirculations, app::Application { instances, wires, ..app::Application::default() }))
}
