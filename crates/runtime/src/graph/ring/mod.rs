//! An application cut into stages that run on threads of their own: what each stage's graph needs
//! for that.
//!
//! ```text
//!  sources ─▶ Dispatcher ─▶ ring ─▶ FromRing ─▶ elements ─▶ ToRing ─▶ ring ─▶ FromRing ─▶ elements
//!   one graph                        a graph for each replica                  one graph
//! ```
//!
//! Each graph is a whole application in which the elements of other stages are [absent](ABSENT), so
//! that an element has the same number, and with it the same seed, in every stage. Invariants:
//! - A packet's number is given where it arrives and travels with it: as its tag in a replica, in
//!   its entry between stages.
//! - A stage hands on what came of an epoch when the whole epoch has been run. Who receives from
//!   replicas takes an epoch when all of them have handed it on, in the order of the numbers: the
//!   order in which one graph would have done it.
//! - A graph that is open has not ended when nothing is left to do: its timers run up to the time
//!   that the epoch has reached.
//!
//! Source: NRTE paper, sections 3 and 4 (stages, replicas, one ring for each pair). Left out:
//! stages in a circle.

mod batch;
mod buckets;
mod dispatch;
mod ends;
mod pinning;

pub use batch::{Batch, Inbox, Run};
pub use dispatch::{Dispatcher, FlowState, Handover, Pinning};
pub(super) use ends::CLASSES;
pub use ends::{ALL_PACKETS, FROM_RING, ONE_PACKET, Rings, TO_RING};
pub use pinning::{Fields, Flow};

use super::builtin::Cut;
use super::{Graph, HandlerError, Kept};
use netil::app::{Application, Body, End};
use netil::cluster::{Cluster, Host, Plan};
use netil::pool::Pool;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The class of elements that are in another stage.
pub const ABSENT: &str = "Absent";

/// An element in this stage, which others have, too.
pub trait Here {
    /// What a handler of it says in this stage.
    ///
    /// # Errors
    /// As [`Graph::read`].
    fn read(&mut self, name: &str) -> Result<String, HandlerError>;

    /// What it keeps, with these of its tables ([`Graph::kept_by`]).
    fn kept(&self, tables: &[u32]) -> Option<Kept>;
}

/// Handlers of elements in other stages, by their full names.
pub trait Elsewhere: Send + Sync {
    /// Reads one.
    ///
    /// # Errors
    /// As [`Graph::read`].
    fn read(&self, handler: &str, text: &str) -> Result<String, HandlerError>;

    /// Writes one.
    ///
    /// # Errors
    /// As [`Graph::write`].
    fn write(&self, handler: &str, text: &str) -> Result<(), HandlerError>;

    /// What a handler of an element that is in several stages says of all of them, where it says
    /// `own` in this one, whose element is that.
    ///
    /// # Errors
    /// As [`Graph::read`].
    fn join(&self, handler: &str, text: &str, own: String, element: &mut dyn Here) -> Result<String, HandlerError> {
        let _ = (handler, text, element);
        Ok(own)
    }

    /// Writes a handler of an element that is in several stages in the others; none if no other
    /// has it. It fails as [`Graph::write`] does.
    fn spread(&self, handler: &str, text: &str) -> Option<Result<(), HandlerError>> {
        let _ = (handler, text);
        None
    }
}

/// Who asks them.
#[derive(Clone)]
pub struct Remote(pub Arc<dyn Elsewhere>);

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Remote")
    }
}

/// The thread that runs a graph.
#[derive(Clone, Default)]
pub struct Home {
    /// Its number.
    pub thread: usize,
    /// Which replica of the graph's elements it runs.
    pub replica: usize,
    /// Lets the calling thread, which is it, run on one core only, or on any.
    pub moves: Option<Arc<Moves>>,
    /// For how long it has looked for frames.
    pub looks: Looks,
}

/// For how long a thread was on a core and only looked for something to do.
#[derive(Clone, Debug, Default)]
pub struct Looks(Arc<AtomicU64>);

impl Looks {
    pub(super) fn add(&self, looked: Duration) {
        self.0.fetch_add(looked.as_nanos() as u64, Ordering::Relaxed);
    }

    /// That long so far.
    pub fn so_far(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// How a thread moves itself.
pub type Moves = dyn Fn(Option<usize>) -> std::io::Result<()> + Send + Sync;

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Home").field("thread", &self.thread).field("replica", &self.replica).finish_non_exhaustive()
    }
}

impl Home {
    /// Moves the thread where the handler `home_thread` is written: a core, or `any`; where there
    /// are replicas one for each of the first ones, and the others stay.
    pub(super) fn write(&self, text: &str) -> Result<(), HandlerError> {
        let core = |word: &str| match word {
            "any" => Ok(None),
            word => word.parse().map(Some).map_err(|_| HandlerError::invalid(format!("'{word}' is no core: a number, or any"))),
        };
        let cores = text.split_whitespace().map(core).collect::<Result<Vec<Option<usize>>, HandlerError>>()?;
        match (cores.get(self.replica), &self.moves) {
            (None, _) if cores.is_empty() => Err(HandlerError::invalid("expected a core, or any")),
            (None, _) => Ok(()),
            (Some(core), Some(moves)) => moves(*core).map_err(HandlerError::failed),
            (Some(_), None) => Err(HandlerError::invalid("the thread is that of the program around the graph, which moves it")),
        }
    }
}

impl Graph {
    /// Who asks an element that is in another stage, if this one is.
    pub(super) fn remote(&self, node: usize) -> Option<Remote> {
        self.topology.settings.elsewhere.clone().filter(|_| self.core.nodes[node].facts.cut == Some(Cut::Absent))
    }

    /// From now on, handlers of elements that other stages have, too, are asked there as well.
    pub fn joins(&mut self, others: Remote) {
        self.topology.settings.elsewhere = Some(others);
    }

    /// Lets arrivals go to the next stage in bursts: into the inputs of the element that is this
    /// node.
    pub fn dispatch(&mut self, application: &Application, ring: usize, cluster: Dispatcher) {
        let inputs = application.wires.iter().filter(|wire| wire.to.instance as usize == ring).map(|wire| wire.to);
        let entries = inputs.map(|to| ((ring, to.port), to.port)).collect();
        self.link_entries(Plan::default(), Box::new(cluster), entries);
    }

    /// Lets packets of a source, or of the stage before, go into queues and the like in bursts, if
    /// nothing tells in which order several of them came. False if not.
    pub fn gather(&mut self, application: &Application, source: usize) -> bool {
        let wires = application.wires.iter().filter(|wire| wire.from.instance as usize == source);
        let lanes: Vec<End> = wires.map(|wire| wire.to).collect();
        let is_builtin = |end: &End| matches!(application.instances[end.instance as usize].body, Body::BuiltIn(_));
        if !lanes.iter().all(is_builtin) || !are_apart(application, &lanes) {
            return false;
        }
        let entries: HashMap<_, _> = lanes.iter().zip(0..).map(|(end, lane)| ((end.instance as usize, end.port), lane)).collect();
        let cluster = Gather { packets: vec![Vec::new(); lanes.len()] };
        self.link_entries(Plan { exits: lanes, ..Plan::default() }, Box::new(cluster), entries);
        true
    }

    /// Lets the arrivals of the only source go into queues and the like in bursts, in a graph
    /// without programs. False if not.
    pub fn gather_arrivals(&mut self, application: &Application) -> bool {
        let [source] = self.topology.sources[..] else { return false };
        let has_programs = application.instances.iter().any(|instance| instance.program().is_some());
        !has_programs && self.core.nodes[source].outputs.len() == 1 && self.gather(application, source)
    }

    /// Lets elements run one by one again; what a cluster has to hand on, it hands on now.
    pub fn unlink(&mut self) {
        (self.fusion.linked, self.fusion.singles) = (None, None);
    }

    /// More may arrive when nothing is left to do.
    pub fn open(&mut self) {
        self.outside.horizon = Some(0);
    }

    /// Time begins, with the first arrival of any stage.
    pub fn begin_at(&mut self, time: u64) {
        self.begin_time(time);
    }

    /// Runs all that has arrived, and the timers that are due before the next arrival, which comes
    /// no earlier than `until`.
    pub fn run_up_to(&mut self, until: u64) {
        self.outside.horizon = Some(until);
        while self.turn() {}
    }

    /// Packets that another graph has run are before those that come: it is no earlier than then.
    pub fn reach(&mut self, time: u64) {
        self.core.clock.reach(time);
    }

    /// Whether a source has asked for the end, which comes with the next turn.
    pub fn is_to_end(&self) -> bool {
        self.requests.stops > 0
    }

    /// Nothing arrives any more: the run goes on to its end.
    pub fn close(&mut self) {
        self.outside.horizon = None;
    }
}

/// Whether no element is behind two of these inputs.
fn are_apart(application: &Application, lanes: &[End]) -> bool {
    let mut seen = BTreeSet::new();
    let mut ends: Vec<u32> = lanes.iter().map(|end| end.instance).collect();
    ends.sort_unstable();
    ends.windows(2).all(|two| two[0] != two[1])
        && ends.iter().all(|instance| behind(application, *instance).into_iter().all(|element| seen.insert(element)))
}

/// An element and all that are behind it.
pub fn behind(application: &Application, instance: u32) -> BTreeSet<u32> {
    let (mut seen, mut open) = (BTreeSet::from([instance]), vec![instance]);
    while let Some(at) = open.pop() {
        let next = application.wires.iter().filter(|wire| wire.from.instance == at).map(|wire| wire.to.instance);
        open.extend(next.filter(|to| seen.insert(*to)));
    }
    seen
}

/// Packets that go straight into queues and the like.
struct Gather {
    /// By lane.
    packets: Vec<Vec<u32>>,
}

impl Cluster for Gather {
    fn run(&mut self, slots: &[u32], _: u32, pool: &mut Pool, host: &mut dyn Host) {
        for slot in &slots[..slots.len().min(host.most())] {
            if let Some(packets) = self.packets.get_mut(pool.slot(*slot).entry() as usize) {
                packets.push(*slot);
            }
        }
        for (packets, lane) in self.packets.iter_mut().zip(0..).filter(|(packets, _)| !packets.is_empty()) {
            host.exit(lane, packets, pool);
            packets.clear();
        }
    }

    fn entered(&self) -> Vec<u64> {
        Vec::new()
    }
}
