//! What a graph consists of, by who needs it.
//!
//! ```text
//! topology   what the configuration says: names, tasks, sources, settings
//! core       what moves packets: elements, pool, clock, timers, packets on their way; each thread has its own
//! requests   what is asked of the run: calls of handlers, the end, signals
//! fusion     elements that run as one, and packets made for them in bursts
//! watch      who looks on: observer, flight recorder, profiler
//! outside    what is around the run: the host, files, devices
//! ```

use super::clock::Clock;
use super::profiler::{Measured, Profiler};
use super::timers::Timers;
use super::together::Shared;
use super::{
    Call, Host, Info, Node, Observer, Push, Settings, builtin, cut_through, foreign, later, linked, making, printing, recorder, singles,
    source_merge, straight,
};
use netil::pool::Pool;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// What the configuration says.
#[derive(Default)]
pub(super) struct Topology {
    pub by_name: HashMap<String, usize>,
    pub tasks: Vec<usize>,
    pub sources: Vec<usize>,
    /// The element that decides when the run ends.
    pub driver: Option<usize>,
    /// Which states are common to several programs: who has each, by instance and place.
    pub sharing: Vec<Vec<(String, u32)>>,
    pub settings: Settings,
    pub info: Info,
    /// Packets' numbers are kept in the pool: some program draws random numbers.
    pub numbered: bool,
}

/// What moves packets.
pub(super) struct Core {
    pub nodes: Vec<Node>,
    /// What several programs have together.
    pub shared: Shared,
    /// Packets on their way; the last moves first.
    pub pending: Vec<Push>,
    /// Packets led back.
    pub recirculated: VecDeque<Push>,
    /// Packets of the pool that built-in elements have sent: by which output.
    pub leaving: VecDeque<(usize, u32, Vec<u32>)>,
    /// Packets of other graphs' parts of states.
    pub foreign: Option<Box<foreign::Foreign>>,
    pub timers: Timers,
    pub clock: Clock,
    /// Packets that are run in bursts.
    pub pool: Pool,
    /// What one handler run may spend.
    pub budget: u32,
    /// A task may find something to do: a packet has come to a built-in element, or a task has
    /// ended its turn otherwise than by finding nothing.
    pub restless: bool,
    /// A packet moved since this was last set to false.
    pub moved: bool,
    pub pull_depth: u32,
    /// Copies made of the packet that arrived, or was pulled, last.
    pub copies: u32,
    pub busy_rounds: u32,
    pub arrivals: u64,
}

impl Core {
    pub(super) fn new(nodes: Vec<Node>, clock: Clock, budget: u32) -> Self {
        Self {
            timers: Timers::new(nodes.len()),
            nodes,
            shared: Shared::default(),
            pending: Vec::new(),
            recirculated: VecDeque::new(),
            leaving: VecDeque::new(),
            foreign: None,
            clock,
            pool: Pool::default(),
            budget,
            restless: true,
            moved: false,
            pull_depth: 0,
            copies: 0,
            busy_rounds: 0,
            arrivals: 0,
        }
    }
}

/// What is asked of the run.
#[derive(Default)]
pub(super) struct Requests {
    /// Writes to handlers that wait until the element that asks for them has returned.
    pub calls: VecDeque<Call>,
    pub handler_depth: u32,
    /// Scripts that hear signals, by the signal.
    pub signals: BTreeMap<i32, Vec<usize>>,
    /// Somebody asked for the end.
    pub stops: u64,
    pub ended: bool,
    pub exhausted: bool,
}

/// Elements that run as one.
#[derive(Default)]
pub(super) struct Fusion {
    pub linked: Option<Box<linked::Linked>>,
    /// For packets that come to members by themselves.
    pub singles: Option<Box<singles::Singles>>,
    pub later: Option<later::Later>,
    /// Elements of the runtime that a cluster goes through.
    pub through: cut_through::Through,
    /// What ran as one, and how long.
    pub packets: u64,
    pub measured: Measured,
    /// What was found by looking ahead of a burst, when somebody asked for the end there.
    pub found: Option<source_merge::Found>,
    /// What packets of calls go by while nothing else is to be done.
    pub straight: straight::Straight,
    /// The element that makes packets in bursts.
    pub maker: Option<making::Maker>,
    /// Packets that were made in bursts.
    pub made: u64,
}

/// Who looks on.
#[derive(Default)]
pub(super) struct Watch {
    pub observer: Option<Box<dyn Observer>>,
    pub recorder: Option<Box<recorder::Recorder>>,
    /// The recorder while it rests, so that recording takes no more than its share of the time.
    pub resting: Option<Box<recorder::Recorder>>,
    pub profiler: Option<Profiler>,
}

/// What is around the run.
pub(super) struct Outside {
    pub host: Box<dyn Host>,
    /// What programs print into.
    pub files: printing::Files,
    /// What devices write.
    pub devices: builtin::Devices,
    /// Nanoseconds of waiting for live devices.
    pub waited: u64,
    /// For a stage among others: more may arrive, no earlier than that.
    pub horizon: Option<u64>,
}

impl Outside {
    pub(super) fn new(host: Box<dyn Host>) -> Self {
        Self { host, files: printing::Files::default(), devices: builtin::Devices::default(), waited: 0, horizon: None }
    }
}
