//! Applications from configurations in Click's language: text to a graph that runs.
//!
//! ```text
//! text ──click::flatten──▶ flat graph ──kinds, cycles──▶ netil::app::Application ──▶ runtime::graph::Graph
//!                                          ▲ classes: built-in ones, and the library's in C
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

mod accesses;
mod built_in;
mod cores;
mod embedded;
mod explain;
pub(crate) mod feed;
mod file;
mod foreign;
mod interfaces;
mod library;
pub(crate) mod linked;
mod made;
mod order;
mod ready;
mod replace;
pub mod report;
mod scratch;
mod searches;
mod standalone;
mod standins;
mod table_sums;
mod watched;

use crate::sync::lock;
pub(crate) use cores::is_called;
pub use cores::{
    ChangeError, Cores, Cuts, Flow, Flows, Item, MOST_THREADS, Order, Placement, PlacementError, PlacementFn, Policies, Policy,
    ReadPlacementFn, Rearrangement, Replicas, Sort, Stage, Thread, pin,
};
pub use embedded::{Embedded, NoDevice, Silent};
pub use explain::{Account, ElementAccount};
pub use feed::NUMBER as RECORD;
pub use library::Library;
pub(crate) use made::Made;
use ready::Ready;
pub use replace::{Prepared, Recipe, Replaced, Version};
pub use runtime::graph::builtin::packet_port::Lent;
pub use runtime::graph::{
    Described, DeviceStats, ElementError, Fault, Graph, HandlerError, Host, NodeStats, Replay, Settings, Stats, Stream, Succession, builtin,
};
pub(crate) use scratch::alone as scratch_alone;
pub use watched::Tell;

use crate::Error;
use crate::engines::{self, Elements, EngineInfo};
use crate::frontends::click;
use crate::targets;
use ::frontends::c;
use ::frontends::diagnostics::{Diagnostic, Diagnostics, Sources};
use click::application::{Facts, Faults};
use click::processing::Kind;
use netil::module::HandlerKind;
use netil::{Engine, Verified, app};
use runtime::graph;
use runtime::graph::builtin::Calling;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// How a configuration is read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Values of parameters, which win over those that the configuration defines.
    pub parameters: BTreeMap<String, String>,
    /// Folders with element classes in C, looked into before the library that is built in.
    pub elements: Vec<PathBuf>,
    /// Interfaces of this machine that devices of the configuration stand for, by the devices'
    /// names, where those are others.
    pub interfaces: BTreeMap<String, String>,
}

/// Arrivals after which `auto` compiles elements that can run as one, beside the work: what is over
/// sooner is not worth a compiler's run.
const LINK: u64 = 200_000;

/// A configuration that was read and checked.
pub struct Application {
    name: String,
    text: String,
    sources: Sources,
    flat: click::Graph,
    application: app::Application,
    facts: Facts,
    planes: Option<graph::Planes>,
    /// What is told of programs in other languages, by element.
    notes: BTreeMap<String, library::Told>,
}

impl Application {
    /// What it was read from, for [`Cores::place_by`]; parameters are those of its recipe.
    pub fn version(&self) -> Version {
        Version { text: self.text.clone(), ..Version::default() }
    }

    /// Reads a configuration; `name` is for messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, drawn in its text.
    pub fn read(name: &str, text: &str, reading: &Reading) -> Result<Self, Error> {
        Self::read_with(name, text, reading, |_| {})
    }

    /// Reads a configuration where devices are not there: those that nobody has given addresses
    /// have some of their own.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn read_without_devices(name: &str, text: &str, reading: &Reading) -> Result<Self, Error> {
        Self::read_with(name, text, reading, standins::add)
    }

    fn read_with(name: &str, text: &str, reading: &Reading, change: fn(&mut click::Graph)) -> Result<Self, Error> {
        let mut sources = Sources::of(name, text);
        let mut flat = click::flatten_files(&mut sources, &reading.parameters, &library::required)
            .map_err(|faults| Error::Configuration(drawn_in(&sources, faults)))?;
        interfaces::add(&mut flat, &reading.interfaces);
        change(&mut flat);
        builtin::CALLING.iter().for_each(|(class, calling)| calls(&mut flat, class, calling));
        let library = Library::of(&reading.elements).beside(name);
        let (application, facts) = click::application::application(&flat, &library, &sources).map_err(Error::Configuration)?;
        let notes = library.notes();
        Ok(Self { name: name.to_owned(), text: text.to_owned(), sources, flat, application, facts, notes, planes: library.planes() })
    }

    /// What programs in other languages keep of packets: by element a sentence for each table and
    /// the like.
    pub fn kept(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.notes.iter().filter(|(_, told)| !told.kept.is_empty()).map(|(name, told)| (name.as_str(), told.kept.as_slice()))
    }

    /// The configuration without shorthand.
    pub fn flat(&self) -> &click::Graph {
        &self.flat
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The elements and wires that run.
    pub fn application(&self) -> &app::Application {
        &self.application
    }

    /// The connections, `->` where packets are pushed and `=>` where they are pulled; only those
    /// that lead packets back, if so wanted.
    pub fn connections(&self, only_back: bool) -> Vec<String> {
        let name = |end: app::End| &self.application.instances[end.instance as usize].name;
        let wires = self.application.wires.iter().filter(|wire| wire.recirculates || !only_back);
        let shown = |w: &app::Wire| {
            (format!("{} [{}]", name(w.from), w.from.port), format!("[{}] {}", w.to.port, name(w.to)), self.is_pulled(w.to))
        };
        let arrow = |pulled| if pulled { "=>" } else { "->" };
        wires.map(shown).map(|(from, to, pulled)| format!("{from} {} {to}", arrow(pulled))).collect()
    }

    /// Whether packets are pulled at that input.
    pub fn is_pulled(&self, end: app::End) -> bool {
        let ports = self.facts.kinds.inputs.get(end.instance as usize);
        ports.and_then(|ports| ports.get(end.port as usize)) == Some(&Kind::Pull)
    }

    /// The configuration as one C program, for a compiler of C alone; `elements` are the folders it
    /// was read with.
    ///
    /// # Errors
    /// Elements that do not take their arguments, and those that such programs cannot have, drawn
    /// where they are declared.
    pub fn standalone_text(&self, elements: &[PathBuf]) -> Result<String, Error> {
        self.check()?;
        standalone::program(&self.name, &self.sources, &self.flat, &self.application.shared, &Library::of(elements))
    }

    /// Whether the elements that netvm knows itself take their arguments. Those in C were compiled
    /// with theirs when the configuration was read.
    ///
    /// # Errors
    /// Elements that do not, drawn where they are declared.
    pub fn check(&self) -> Result<(), Error> {
        let faults = graph::check(&self.application);
        if faults.is_empty() { Ok(()) } else { Err(self.drawn(faults)) }
    }

    /// Makes all elements, ready to run.
    ///
    /// # Errors
    /// Elements that cannot be made, drawn where they are declared.
    pub fn start(&self, engine: &EngineInfo, engines: engines::Settings, settings: Settings, host: Box<dyn Host>) -> Result<Graph, Error> {
        // What the kernel hands over goes on at any element.
        let apart = settings.handed.is_some();
        let settings = self.own_settings(settings);
        let mut graph = make(&self.application, engine, engines, settings, host).map_err(|faults| self.drawn(faults))?;
        if !apart {
            link(&self.application, &mut graph, engine, engines)?;
        }
        Ok(graph)
    }

    /// Makes room in packets for their numbers, so that a graph can record them ([`Graph::record`]
    /// with [`RECORD`]).
    ///
    /// # Errors
    /// There is none.
    pub fn record(&mut self) -> Result<(), Error> {
        self.number_packets()
    }

    /// The settings, with what this configuration adds to them.
    fn own_settings(&self, settings: Settings) -> Settings {
        let mut settings = Settings {
            text: self.flat.to_string(),
            requirements: self.facts.requirements.clone(),
            planes: self.planes.clone(),
            ..settings
        };
        settings.home.moves.get_or_insert_with(|| Arc::new(|core| pin(core).map(drop)));
        settings
    }

    /// The devices that elements of these classes name, each once.
    pub fn devices(&self, classes: &[&str]) -> Vec<String> {
        let elements = self.flat.elements.iter().filter(|element| classes.contains(&element.class.as_str()));
        let names: std::collections::BTreeSet<String> =
            elements.map(|e| targets::device_of(&e.name, &e.class, &e.arguments)).filter(|name| !name.is_empty()).collect();
        names.into_iter().collect()
    }

    /// The configuration as one program for the kernel's XDP hook; `interfaces` are the indices of
    /// its devices' interfaces.
    ///
    /// # Errors
    /// What has no counterpart there, drawn where it is declared.
    pub fn xdp(&self, interfaces: &BTreeMap<String, u32>, world: targets::XdpWorld) -> Result<targets::XdpApplication, Error> {
        self.check()?;
        targets::make_xdp(&self.application, interfaces, world).map_err(|faults| self.drawn(faults))
    }

    /// The part of the configuration that the kernel's XDP hook can run, as one program in the
    /// kernel, for a process that runs the rest: a graph of the whole configuration
    /// ([`Settings::handed`], [`targets::XdpProcess`]). Elements that the kernel's verifier refuses
    /// are the process's.
    ///
    /// # Errors
    /// Nothing can run there, drawn where it is declared; or the process may not load programs.
    pub fn load_xdp_divided(
        &self,
        interfaces: &BTreeMap<String, u32>,
        world: targets::XdpWorld,
    ) -> Result<std::io::Result<targets::XdpLoaded>, Error> {
        self.check()?;
        targets::load_xdp_divided(&self.application, interfaces, world).map_err(|faults| self.drawn(faults))
    }

    /// The configuration as one program for the X11's pipeline, and the devices that its ports are.
    ///
    /// # Errors
    /// What has no counterpart there, drawn where it is declared.
    #[cfg(feature = "machines")]
    pub fn x11(&self, machine: &machine::x11::Machine) -> Result<(targets::X11, Vec<String>), Error> {
        self.check()?;
        let devices = targets::x11_devices(&self.application);
        let made = targets::x11_of_configuration(&self.application, &devices, machine).map_err(|faults| self.drawn(faults))?;
        Ok((made, devices))
    }

    /// The configuration as files for a target.
    ///
    /// # Errors
    /// What has no counterpart there, drawn where it is declared.
    pub fn build(&self, target: &targets::Target, options: &targets::Options) -> Result<Vec<targets::File>, Error> {
        self.check()?;
        (target.configuration)(&self.application, options, &|faults| self.drawn(faults))
    }

    fn drawn(&self, faults: Vec<Fault>) -> Error {
        let faults = Diagnostics(faults.into_iter().map(|fault| self.fault(fault)).collect());
        Error::Configuration(drawn_in(&self.sources, faults))
    }

    fn fault(&self, fault: Fault) -> Diagnostic {
        let span = self.facts.places.get(fault.instance).copied().unwrap_or_default();
        match self.application.instances.get(fault.instance) {
            Some(instance) => Diagnostic::of_element(span, (&instance.name, &instance.class), fault.message()),
            None => Diagnostic::new(span, fault.message()),
        }
    }
}

/// Makes the elements of an application.
fn make(
    application: &app::Application,
    engine: &EngineInfo,
    engines: engines::Settings,
    settings: Settings,
    host: Box<dyn Host>,
) -> Result<Graph, Vec<Fault>> {
    with_factories(engine, engines, |factories| Graph::new(application, factories, settings, host))
}

/// Does something with what makes the parts of programs.
fn with_factories<T>(engine: &EngineInfo, engines: engines::Settings, work: impl FnOnce(&graph::Factories<'_>) -> T) -> T {
    with_factories_of(&Mutex::default(), engine, engines, work)
}

/// Does something with what makes the parts of programs, some of which may be compiled already.
fn with_factories_of<T>(
    compiled: &Mutex<Compiled>,
    engine: &EngineInfo,
    engines: engines::Settings,
    work: impl FnOnce(&graph::Factories<'_>) -> T,
) -> T {
    let compile = |program| engine.make_element(program, engines).map_err(ElementError::resource);
    let make = |program| lock(compiled).make(&program, compile);
    work(&graph::Factories { engine: &make, coprocessor: &runtime::coproc::make, table: &runtime::coproc::tables::make_for })
}

/// What has been compiled: elements whose programs do the same with packets share their code.
#[derive(Default)]
struct Compiled {
    /// By how many instructions handlers of packets have, which few programs have in common that do
    /// not run alike.
    engines: HashMap<usize, Vec<Box<dyn Engine>>>,
}

impl Compiled {
    fn make(
        &mut self,
        program: &Arc<Verified>,
        compile: impl FnOnce(Arc<Verified>) -> Result<Box<dyn Engine>, ElementError>,
    ) -> Result<Box<dyn Engine>, ElementError> {
        let module = program.module();
        let size = [HandlerKind::Push, HandlerKind::Pull].map(|kind| module.handler(kind).map_or(0, |h| h.code.len()));
        let alike = self.engines.entry(size.iter().sum()).or_default();
        if let Some(known) = alike.iter().find(|engine| engine.program().module().is_equal_but_for_name(module)) {
            return Ok(known.another());
        }
        if let Some(engine) =
            alike.iter().find(|known| known.program().module().runs_like(module)).and_then(|known| known.for_alike(program))
        {
            return Ok(engine);
        }
        let engine = compile(Arc::clone(program))?;
        alike.push(engine.another());
        Ok(engine)
    }
}

/// Lets elements run as one where the engine is for that. The interpreter, which says what is
/// meant, runs one element after the other.
fn link(application: &app::Application, graph: &mut Graph, engine: &EngineInfo, engines: engines::Settings) -> Result<(), Error> {
    link_with(application, graph, (engine, engines), None)
}

/// Lets elements run as one where the engine is for that; `ready` has what is machine code already.
fn link_with(
    application: &app::Application,
    graph: &mut Graph,
    (engine, engines): (&EngineInfo, engines::Settings),
    ready: Option<&Ready>,
) -> Result<(), Error> {
    let apart = engine.elements == Elements::Apart;
    let fused = ready.and_then(Ready::fused);
    let plan = match &fused {
        Some((plan, _)) => Some(plan.clone()),
        None if apart || ready.is_some() => None,
        None => linked::fusible(application, graph, &BTreeSet::new()).map(|(plan, _)| plan),
    };
    // Compiled C needs bursts: for one packet, what is done once for each burst takes longer than
    // the packet.
    let bursts = plan.as_ref().is_none_or(|plan| graph.one_at_a_time(plan).is_empty());
    let cluster = match engine.elements {
        Elements::Fused if bursts => {
            let compiled = linked::link(application, engines)?;
            // What compiled C leaves to the runtime comes back packet by packet.
            let by_itself = compiled.is_some() && application.instances.iter().any(|instance| instance.sends_by_itself());
            if let Some((plan, code)) = by_itself.then(|| linked::fused_code(application, graph, engines)).flatten() {
                graph.link(application, plan, code);
            }
            compiled
        }
        _ => fused.or_else(|| plan.and_then(|_| linked::fused_code(application, graph, engines))),
    };
    match cluster {
        Some((plan, cluster)) => graph.link(application, plan, cluster),
        None if !apart => drop(graph.gather_arrivals(application)),
        None => {}
    }
    if engine.elements == Elements::FusedLater && bursts {
        let application = Arc::new(application.clone());
        let its = Arc::clone(&application);
        // Without a compiler it goes on as it began.
        graph.link_later(its, LINK, Box::new(move || linked::link(&application, engines).ok().flatten()));
    }
    Ok(())
}

fn drawn_in(sources: &Sources, faults: Diagnostics) -> Faults {
    Faults(vec![c::Diagnostics { faults, sources: sources.clone() }])
}

/// Elements that call handlers are of a class of the runtime: programs cannot. So are all, where an
/// element of the configuration may write which one to call.
fn calls(flat: &mut click::Graph, class: &str, calling: &Calling) {
    let arguments = || flat.elements.iter().flat_map(|element| &element.arguments);
    let written = calling.arguments.iter().any(|name| arguments().any(|argument| argument.contains(&name.to_ascii_lowercase())));
    let has = |argument: &String| calling.arguments.iter().any(|name| argument.trim_start().starts_with(name));
    let is_such = |element: &&mut click::graph::Element| element.class == calling.program && (written || element.arguments.iter().any(has));
    flat.elements.iter_mut().filter(is_such).for_each(|element| element.class = class.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_differ_in_their_names_share_code() {
        let verified = |name: &str, data: u32| {
            let text = format!("segment .metadata .netpe_name {name} .datamem_size {data} ends segment .push pop ret ends");
            Arc::new(netil::verify(netil::asm::assemble(&text, "t").unwrap()).unwrap())
        };
        let (mut compiled, mut count) = (Compiled::default(), 0);
        for program in [verified("one", 4), verified("other", 4), verified("one", 8)] {
            let engine = compiled.make(&program, |program| {
                count += 1;
                Ok(Box::new(netil::Interpreter::new(program)))
            });
            assert_eq!(engine.unwrap().program().module().data_size, program.module().data_size);
        }
        assert_eq!(count, 2);
    }
}
