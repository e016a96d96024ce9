//! Applications being run: elements joined by wires, packets moved between them.
//!
//! ```text
//!  arrival ─▶ push, depth first ─▶ tasks in turn until none has work ─▶ the next event: an arrival or a timer
//!                │    ▲                 │
//!                ▼    └── recirculated ◀┘
//!             elements: programs (an engine and a state) or built-in ones (Queue, FromDump, Script …)
//! ```
//!
//! This is the reference schedule (architecture: the model), against which every other execution is
//! judged. Invariants:
//! - One packet at a time. Copies leave before the packet, in their order; each goes as far as it
//!   can before the next.
//! - A built-in element never runs while it is running: what it emits moves on after it has
//!   returned.
//! - A packet that leads back to an element before it waits until all else is done, at most
//!   [`MAX_ROUNDS`] times.
//! - Time is that of arrivals; without captures it is simulated or, if the host gives one, a
//!   clock's ([`Host::clock`]).
//! - Nothing grows without bound: queues have capacities, everything else is finished before the
//!   next packet comes in, and copies of one packet are counted (`flow::MAX_WAY_COPIES`).
//!
//! Handlers are named `element.handler`, as Click has them (click(1), the elements' manuals).
//! Another version of a configuration takes over in `succeed`. Leaves out: threads, which are
//! around graphs (`ring`, `share`); device drivers.

mod args;
mod bucket;
pub mod builtin;
mod burst_cursor;
mod carried;
mod clock;
mod cluster_context;
mod confined;
mod control;
mod copies;
mod cut_through;
mod ended;
mod ends;
mod error;
mod flow;
mod foreign;
mod handed;
mod handler;
mod handlers;
mod hosts;
mod kept;
mod kinds;
mod kway_merge;
mod later;
mod linked;
mod lock;
mod making;
mod mappings;
mod observe;
mod packet;
mod packet_source;
mod plane;
mod printing;
mod profiler;
mod program;
mod recorder;
pub mod ring;
mod round_robin;
mod routes;
mod schedule;
mod script;
mod share;
mod signals;
mod singles;
mod slots;
mod source_merge;
mod state;
mod stats;
mod straight;
mod succeed;
mod summary;
mod tables;
mod taken_back;
mod text;
mod timers;
mod together;
pub mod transaction;

pub use args::Args;
pub use builtin::{BuiltIn, BuiltInClass, Ctx, DeviceStats, Replay, Setup};
pub use carried::Carried;
pub use error::{ElementError, HandlerError};
pub use handlers::Described;
pub use kept::Kept;
pub use later::{Linking, Made};
pub use observe::{At, Observer};
pub use packet::{Info, Packet};
pub use plane::{ControlPlane, Planes};
pub use profiler::Measured;
pub use recorder::{OWN_BITS, Recorded, Sampler};
pub use share::{Common, Layout as CommonLayout, Memory, Own, Policy, Share, Sum};
pub use stats::{Conflict, LinkedStats, NodeStats, Stats, Transactions};
pub use succeed::{Matches, Succession, Successor, matches};
pub(crate) use text::seconds;
pub use together::seed_of;

use crate::io::device::Spec;
use clock::Clock;
use ends::{Ends, ends};
use netil::Verified;
use netil::app::{Application, Body as Source, End, Instance};
use netil::copro::Coprocessor;
use netil::engine::Engine;
use netil::module::Table as Declaration;
use netil::number;
use netil::tables::Table;
use packet::Push;
use program::Program;
use state::{Core, Fusion, Outside, Requests, Topology, Watch};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use together::{Shared, join, places, shared_table, together};

/// The most arrivals of a burst: what is done once for each takes half a microsecond, and more
/// where four devices send, and so many packets' beginnings stay in the second-level cache. (A
/// switch: 512 cost 0.7 ns a packet more, 256 3.6; more than 1,024 cost a router 1 ns.)
const BURST: usize = 768;

/// How often a packet may be led back.
pub const MAX_ROUNDS: u8 = 16;
/// The longest path that a packet is pulled through: each element of it takes 2 to 3 KiB of stack,
/// and its code up to 2 KiB more (`MAX_PULL_STACK` of jit); together they fit into a thread's 1
/// MiB.
const MAX_PULL_DEPTH: u32 = 128;

/// A stream of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// What elements print.
    Out,
    /// What they tell.
    Err,
}

/// What surrounds a run: the graph itself prints nothing and knows no clock.
pub trait Host: Send {
    /// Text that an element writes.
    fn write(&mut self, stream: Stream, text: &[u8]);

    /// The clock, in nanoseconds since 1970, if the run is to be in real time.
    fn clock(&self) -> Option<u64> {
        None
    }

    /// Waits so long, or until something interrupts.
    fn sleep(&mut self, nanoseconds: u64) {
        let _ = nanoseconds;
    }

    /// True once the run is to end: elements that are not made yet are not made then, as compiling
    /// large ones takes long.
    fn stops(&self) -> bool {
        false
    }

    /// Has a signal from now on come to [`Self::signalled`] and do nothing else, or do again what
    /// it does.
    fn hear(&mut self, signal: i32, hears: bool) {
        let _ = (signal, hears);
    }

    /// A signal that has come and is heard.
    fn signalled(&mut self) -> Option<i32> {
        None
    }

    /// Sends the process of the run a signal.
    fn raise(&mut self, signal: i32) {
        let _ = signal;
    }
}

/// What makes the parts of programs.
pub struct Factories<'f> {
    /// An engine for a program.
    pub engine: &'f dyn Fn(Arc<Verified>) -> Result<Box<dyn Engine>, ElementError>,
    /// A coprocessor by its name.
    pub coprocessor: &'f dyn Fn(&str) -> Option<Box<dyn Coprocessor>>,
    /// A table as it is declared; the seed is for its hashes. The last tells whether a program
    /// writes into its values.
    pub table: &'f dyn Fn(&Declaration, u64, bool) -> Box<dyn Table>,
}

/// What a run depends on besides the application.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Seed of the random numbers.
    pub seed: u64,
    /// What one handler run may spend; none for the usual.
    pub budget: Option<u32>,
    /// Simulated time, whatever clock the host has.
    pub simulated: bool,
    /// Captures that are read as devices.
    pub devices: BTreeMap<String, PathBuf>,
    /// Packets in memory that are read as devices; they come before captures of the same name.
    pub replays: BTreeMap<String, Arc<Replay>>,
    /// Devices that the program around the graph reads and writes; they come before captures and
    /// live devices of the same name.
    pub ports: BTreeMap<String, Arc<builtin::packet_port::PacketPort>>,
    /// Devices that are read and written live, by the names that the configuration has for them.
    pub live: BTreeMap<String, Spec>,
    /// What ends a wait for live devices when there is something to read from it.
    pub waker: Option<Arc<OwnedFd>>,
    /// Captures that devices write.
    pub outputs: BTreeMap<String, PathBuf>,
    /// The configuration's text, for the handlers that show it.
    pub text: String,
    /// What it requires.
    pub requirements: Vec<String>,
    /// For a stage among others: what comes from the one before, and goes to the next.
    pub rings: Option<ring::Rings>,
    /// For a stage among others: who asks elements that are in other stages.
    pub elsewhere: Option<ring::Remote>,
    /// The thread that runs the graph.
    pub home: ring::Home,
    /// For a graph among several that run the whole application: which packets are its own, and
    /// what they have in common.
    pub share: Option<Share>,
    /// Elements are made to see whether they can be, and open no files.
    pub trial: bool,
    /// Files are written only within this folder.
    pub within: Option<PathBuf>,
    /// Control planes of programs.
    pub planes: Option<Planes>,
    /// Devices give packets that a program in the kernel hands over, with so many bytes of info
    /// memory.
    pub handed: Option<usize>,
}

/// An element that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The element's index.
    pub instance: usize,
    /// What is wrong.
    pub error: ElementError,
}

impl Fault {
    /// What is wrong, in words.
    pub fn message(&self) -> String {
        self.error.to_string()
    }
}

/// An application with all its state; the module `state` says what the parts are.
pub struct Graph {
    topology: Topology,
    core: Core,
    requests: Requests,
    fusion: Fusion,
    watch: Watch,
    outside: Outside,
}

/// A thread may make a graph and another run it.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<Graph>();
};

/// An element.
struct Node {
    name: String,
    class: String,
    /// What is known of the class, if the runtime has it.
    facts: &'static builtin::Facts,
    arguments: Vec<String>,
    /// They are patterns, which can be read one by one. To change one is to compile the element
    /// anew, which is another run.
    patterned: bool,
    body: Body,
    /// Where packets go, by output.
    outputs: Vec<Vec<WireTarget>>,
    /// Where packets come from, by input.
    inputs: Vec<Vec<End>>,
    /// True for the inputs that are pulled.
    pulled: Vec<bool>,
    /// The queues behind that tell when they are full, for sources.
    queues_behind: Vec<usize>,
    /// What its task does, if it has one.
    task: Option<builtin::TaskKind>,
    /// The queue in front, for tasks that do nothing but empty it.
    empties: Option<usize>,
    stats: NodeStats,
    /// What it took in bursts of linked elements that said each when they ran.
    part: profiler::Part,
    /// For sources, by output: the entry that packets have which go into linked elements.
    entries: Vec<Option<u32>>,
    /// The number of the next packet that it makes, or lets arrive.
    next_number: u64,
}

impl Node {
    fn empty(instance: &Instance, next_number: u64, pulled: Vec<bool>, inputs: Vec<Vec<End>>, outputs: Vec<Vec<WireTarget>>) -> Self {
        let (arguments, facts) = match &instance.body {
            Source::BuiltIn(arguments) => (arguments.clone(), builtin::facts(&instance.class)),
            Source::Program(_) => (Vec::new(), &builtin::Facts::OTHER),
        };
        let (name, class, body, stats) = (instance.name.clone(), instance.class.clone(), Body::BuiltIn(None), NodeStats::default());
        Self {
            name,
            class,
            facts,
            arguments,
            patterned: false,
            body,
            pulled,
            inputs,
            outputs,
            queues_behind: Vec::new(),
            task: None,
            empties: None,
            stats,
            part: profiler::Part::default(),
            entries: Vec::new(),
            next_number,
        }
    }
}

/// The number of the first packet that an element makes, or lets arrive. Graphs that share an
/// application count apart.
fn first_number(index: usize, settings: &Settings) -> u64 {
    const RANGE: u32 = 32;
    number::first(index).wrapping_add(settings.share.as_ref().map_or(0, |share| (share.index as u64) << RANGE))
}

enum Body {
    /// Absent while it runs.
    BuiltIn(Option<Box<dyn BuiltIn>>),
    Program(Box<Program>),
}

/// The other end of a wire.
#[derive(Clone, Copy, Debug)]
struct WireTarget {
    to: End,
    recirculates: bool,
}

impl Graph {
    /// Makes all elements of an application and runs the init handlers of its programs.
    ///
    /// # Errors
    /// All elements that cannot be made, with the reasons.
    pub fn new(application: &Application, factories: &Factories<'_>, settings: Settings, host: Box<dyn Host>) -> Result<Self, Vec<Fault>> {
        let nodes = Self::make_nodes(application, factories, &settings, host.as_ref(), &BTreeSet::new())?;
        let mut graph = Self::with_nodes(application, factories, nodes, settings, host);
        graph.outside.files = printing::Files::of(application, graph.topology.settings.within.as_deref(), &BTreeSet::new())?;
        graph.init(&BTreeSet::new()).map_err(|fault| vec![fault])?;
        Ok(graph)
    }

    /// The elements, but for the bodies of some.
    fn make_nodes(
        application: &Application,
        factories: &Factories<'_>,
        settings: &Settings,
        host: &dyn Host,
        without: &BTreeSet<usize>,
    ) -> Result<Vec<Node>, Vec<Fault>> {
        let (kinds, info) = (kinds::solve(application), Info::of(application));
        let (mut faults, mut nodes) = (Vec::new(), Vec::new());
        for (index, (instance, (outputs, inputs))) in application.instances.iter().zip(ends(application)).enumerate() {
            if host.stops() {
                return Err(vec![Fault { instance: index, error: ElementError::resource("it was not made, as the run is to end") }]);
            }
            let pulled = (0..inputs.len()).map(|port| kinds.input_is_pull(index, port)).collect();
            let mut node = Node::empty(instance, first_number(index, settings), pulled, inputs, outputs);
            // Those of built-in elements are in their bodies, where they may have been changed.
            if let (Source::Program(_), Some(arguments)) = (&instance.body, application.arguments.get(index)) {
                node.arguments.clone_from(arguments);
            }
            node.patterned = application.patterned.contains(&(index as u32));
            let made = match &instance.body {
                Source::BuiltIn(_) if without.contains(&index) => Ok(Body::BuiltIn(None)),
                Source::Program(program) => {
                    let together = together(application, index);
                    let bare = without.contains(&index) && together.is_empty();
                    let made = Program::new(program, factories, settings, index, together, bare);
                    let plane = settings.planes.as_ref().and_then(|planes| (planes.0)(&instance.name));
                    made.map(|program| Body::Program(Box::new(program.with_plane(plane, application, index))))
                }
                Source::BuiltIn(_) => make_builtin(&node, &kinds, index, &info, settings),
            };
            match made {
                Ok(body) => node.body = body,
                Err(error) => faults.push(Fault { instance: index, error }),
            }
            nodes.push(node);
        }
        if faults.is_empty() { Ok(nodes) } else { Err(faults) }
    }

    /// The graph of these elements.
    fn with_nodes(
        application: &Application,
        factories: &Factories<'_>,
        mut nodes: Vec<Node>,
        settings: Settings,
        host: Box<dyn Host>,
    ) -> Self {
        let tables = application.shared.iter().filter_map(|list| shared_table(application, list.first()?, factories, &settings)).collect();
        let shared = Shared { tables, bytes: vec![0; places(application).last().copied().unwrap_or(0)] };
        let shared = match &settings.share {
            Some(share) => join(&mut nodes, &share.common.together(shared)),
            None => shared,
        };
        let mut graph = Self::of_nodes(nodes, settings, Info::of(application), host);
        graph.topology.numbered = application.keeps_numbers();
        graph.core.shared = shared;
        graph.topology.sharing = succeed::sharing(application);
        graph.find_parts();
        graph
    }

    fn of_nodes(mut nodes: Vec<Node>, settings: Settings, info: Info, host: Box<dyn Host>) -> Self {
        let succeed::Roles { tasks, sources, driver } = succeed::roles(&mut nodes);
        let by_name = nodes.iter().enumerate().map(|(index, node)| (node.name.clone(), index)).collect();
        let budget = settings.budget.unwrap_or(netil::exec::DEFAULT_BUDGET);
        let clock = Clock::new(&settings, !sources.is_empty() && settings.live.is_empty(), host.clock());
        Self {
            topology: Topology { by_name, tasks, sources, driver, sharing: Vec::new(), settings, info, numbered: false },
            core: Core::new(nodes, clock, budget),
            requests: Requests::default(),
            fusion: Fusion::default(),
            watch: Watch::default(),
            outside: Outside::new(host),
        }
    }

    /// Whether an element gets its state from another graph's: it has none before, and what
    /// elements have together is not its own.
    fn is_bare(&self, index: usize, kept: &BTreeSet<usize>) -> bool {
        kept.contains(&index) && matches!(&self.core.nodes[index].body, Body::Program(program) if program.together().is_empty())
    }

    /// Initialises all elements but those that are kept.
    fn init(&mut self, kept: &BTreeSet<usize>) -> Result<(), Fault> {
        for index in 0..self.core.nodes.len() {
            if self.is_bare(index, kept) {
                continue;
            }
            let (fault, now) = (|error| Fault { instance: index, error }, self.core.clock.now());
            let printed = match &mut self.core.nodes[index].body {
                Body::Program(program) => {
                    program.prepare_transactions();
                    Some(program.with(&mut self.core.shared, |program| program.init(now)).map_err(fault)?)
                }
                Body::BuiltIn(..) => None,
            };
            match printed {
                Some(printed) => {
                    self.note_timers(index);
                    self.print_of(index, &printed);
                }
                None => self.with_builtin(index, |builtin, ctx| builtin.init(ctx)).unwrap_or(Ok(())).map_err(fault)?,
            }
        }
        Ok(())
    }

    /// Completes what elements write.
    ///
    /// # Errors
    /// What could not be written, by element.
    pub fn finish(&mut self) -> Vec<Fault> {
        // The devices of a graph that another one has followed are that one's.
        self.outside.devices.finish();
        let mut faults = self.outside.files.finish();
        for instance in 0..self.core.nodes.len() {
            if let Some(Err(error)) = self.with_builtin(instance, |builtin, ctx| builtin.finish(ctx)) {
                faults.push(Fault { instance, error });
            }
        }
        faults
    }

    /// The name of an element.
    pub fn name(&self, instance: usize) -> &str {
        self.core.nodes.get(instance).map_or("", |node| &node.name)
    }

    /// The class of an element.
    pub fn class(&self, instance: usize) -> &str {
        self.core.nodes.get(instance).map_or("", |node| &node.class)
    }

    /// Runs a built-in element with the graph around it; `None` if it is running already, or a
    /// program. What it emitted is on its way afterwards, and what it asked to be written is
    /// written.
    fn with_builtin<T>(&mut self, node: usize, work: impl FnOnce(&mut dyn BuiltIn, &mut Ctx<'_>) -> T) -> Option<T> {
        let Body::BuiltIn(slot) = &mut self.core.nodes[node].body else { return None };
        let mut builtin = slot.take()?;
        let mark = self.core.pending.len();
        self.kept_through(node).into_iter().for_each(|(kept, _)| kept.bring(builtin.as_mut()));
        let result = work(builtin.as_mut(), &mut Ctx::new(self, node));
        self.kept_through(node).into_iter().for_each(|(kept, now)| kept.fetch(builtin.as_ref(), now));
        if let Body::BuiltIn(slot) = &mut self.core.nodes[node].body {
            *slot = Some(builtin);
        }
        self.core.pending[mark..].reverse();
        Some(result)
    }

    /// Runs a built-in element's source with the graph around it; `None`, too, if it has no source.
    fn with_source<T>(&mut self, node: usize, work: impl FnOnce(&mut dyn builtin::Source, &mut Ctx<'_>) -> T) -> Option<T> {
        self.with_builtin(node, |builtin, ctx| builtin.source().map(|source| work(source, ctx))).flatten()
    }
}

/// What is wrong with the arguments of elements that the runtime knows itself. No file is opened,
/// and nothing runs.
pub fn check(application: &Application) -> Vec<Fault> {
    let (kinds, info) = (kinds::solve(application), Info::of(application));
    let settings = Settings { trial: true, ..Settings::default() };
    let elements = application.instances.iter().zip(ends(application)).enumerate();
    let builtins = elements.filter(|(_, (instance, _))| matches!(instance.body, Source::BuiltIn(_)));
    let fault = |(index, (instance, (outputs, inputs))): (usize, (&Instance, Ends))| {
        let pulled = (0..inputs.len()).map(|port| kinds.input_is_pull(index, port)).collect();
        let made = make_builtin(&Node::empty(instance, 0, pulled, inputs, outputs), &kinds, index, &info, &settings);
        made.err().map(|error| Fault { instance: index, error })
    };
    builtins.filter_map(fault).collect()
}

/// A handler to be written: whose names it is seen by, its name, and the text.
type Call = (usize, String, String);

fn make_builtin(node: &Node, kinds: &kinds::Kinds, index: usize, info: &Info, settings: &Settings) -> Result<Body, ElementError> {
    let cut = ring::CLASSES.iter().copied().find(|class| settings.rings.is_some() && class.name == node.class);
    let class = cut
        .or_else(|| builtin::find(&node.class))
        .ok_or_else(|| ElementError::resource(format!("no class of elements is called '{}'", node.class)))?;
    let setup = Setup {
        node: index,
        name: &node.name,
        class: class.name,
        arguments: &node.arguments,
        inputs: node.inputs.len() as u32,
        outputs: node.outputs.len() as u32,
        pulled: &node.pulled,
        output_pulled: (0..node.outputs.len()).map(|port| kinds.output_is_pull(index, port)).collect(),
        info,
        settings,
        seed: settings.seed ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
    };
    Ok(Body::BuiltIn(Some((class.make)(&setup)?)))
}

#[cfg(test)]
mod tests;
