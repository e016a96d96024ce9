//! Programs of stages that another program embeds: each stage on a thread of its own, or on
//! several, with queues between them.
//!
//! ```
//! use netvm::stages::{Burst, Outlets, Packet, Pipeline, Stage, Turn};
//!
//! // A makes packets, B changes them, C counts them: a = A(); b = B(a); C(b).
//! let (sum, sums) = std::sync::mpsc::channel();
//! let c = move |_replica: usize| {
//!     let sum = sum.clone();
//!     move |burst: &mut Burst, _: &mut Outlets| burst.iter().for_each(|packet| sum.send(packet.bytes[0]).unwrap())
//! };
//! let b = |_replica: usize| {
//!     |burst: &mut Burst, out: &mut Outlets| {
//!         burst.iter_mut().for_each(|packet| packet.bytes[0] += 1);
//!         out.send_all(0, burst);
//!     }
//! };
//! let mut n = 0;
//! let a = move |out: &mut Outlets| {
//!     n += 1;
//!     out.send(0, Packet::new(&[n, 0, 0, 0], 0));
//!     if n < 100 { Turn::More } else { Turn::End }
//! };
//! let mut pipeline = Pipeline::default();
//! pipeline.stage(Stage::new("c", c))?;
//! pipeline.stage(Stage::new("b", b).to("c").replicas(2).flow(|packet| u64::from(packet.bytes[0] % 8)))?;
//! pipeline.input("a", &["b"], a)?;
//! let mut running = pipeline.start()?;
//! // With so few packets it may have ended.
//! let _ = running.move_to("b", 1, Some(0));
//! let counts = running.wait()?;
//! assert_eq!(sums.iter().map(u32::from).sum::<u32>(), (2..=101).sum::<u32>());
//! assert_eq!(counts.iter().filter(|it| it.stage == "b").map(|it| it.packets).sum::<u64>(), 100);
//! # Ok::<(), netvm::stages::StageError>(())
//! ```
//!
//! A stage is a function of a burst of packets ([`Stage::new`]), or a configuration of elements
//! ([`Stage::elements`]). What it sends goes to the stages that it names; what it leaves in the
//! burst ends there. An input is a function that is called again and again, or that sends packets
//! in a loop of its own, or it is the caller's thread ([`Injector`]). Stages are registered from
//! the last to the first, so nothing goes in a circle.
//!
//! Invariants:
//! - No packet is lost or doubled. A stage that is too slow holds up those before it. Only when a
//!   stage has failed, what waits for it is lost, and what is sent to it, which is counted.
//! - Packets of one flow stay in order on each way through the stages: all of them come to the same
//!   replica, as [`Stage::flow`] says, by one ring. So it is when a thread moves to another core,
//!   and when the number of replicas changes ([`Running::set_replicas`]) or the flow function
//!   ([`Running::set_flow`]).
//! - At most [`ROOM`] bursts of [`BURST`] packets wait between two threads.
//!
//! Source: NRTE paper, section 3: explicit stages (inputs), implicit ones with their queues, flow
//! classifiers, replicas, one ring for each pair, and the program A, B, C. Left out: circles.

mod burst;
mod elements;
mod error;
mod injector;
mod outlets;
mod running;
mod thread;
mod worker;

pub use burst::{Burst, Packet, PacketMut};
pub use error::StageError;
pub use injector::Injector;
pub use outlets::Outlets;
pub use running::{Counts, Running};

use crate::application::HandlerError;
use crate::io::{LinkType, flow_number};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use worker::Make;

/// Packets that go from thread to thread together.
pub const BURST: usize = 64;
/// Bursts that wait between two threads at most.
pub const ROOM: usize = 64;
/// The most replicas of a stage.
pub const MOST: usize = 256;

/// What a stage does. It is made in its thread and stays there.
pub trait Work {
    /// Works on packets, in order, and sends on what is to go on. What is left in the burst ends
    /// here.
    fn run(&mut self, burst: &mut Burst, outlets: &mut Outlets);

    /// Nothing comes any more.
    fn end(&mut self, outlets: &mut Outlets) {
        let _ = outlets;
    }

    /// What a handler says.
    ///
    /// # Errors
    /// There is none of that name, or it refuses.
    fn read(&mut self, handler: &str, text: &str) -> Result<String, HandlerError> {
        let _ = text;
        Err(HandlerError::NoHandler(format!("the stage has no handler {handler}")))
    }

    /// Writes a handler.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn write(&mut self, handler: &str, text: &str) -> Result<(), HandlerError> {
        self.read(handler, text).map(drop)
    }
}

impl<F: FnMut(&mut Burst, &mut Outlets)> Work for F {
    fn run(&mut self, burst: &mut Burst, outlets: &mut Outlets) {
        self(burst, outlets);
    }
}

/// What an input says when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// There is more.
    More,
    /// There is nothing at present: what was sent goes on at once, and the input is called again
    /// after at most a millisecond.
    Idle,
    /// There is nothing any more.
    End,
}

/// Tells the flow of a packet.
type Flow = dyn Fn(&Packet<'_>) -> u64 + Send + Sync;

/// Why the work of a replica cannot be made.
pub type NotMade = Box<dyn std::error::Error + Send + Sync>;

/// An input's function.
type Input = Box<dyn FnMut(&mut Outlets) -> Turn + Send>;

/// A stage to be registered.
pub struct Stage {
    name: String,
    outputs: Vec<String>,
    replicas: usize,
    most: usize,
    flow: Arc<Flow>,
    make: Arc<Make>,
}

impl Stage {
    /// A stage of that work, which is made for each replica by its number.
    pub fn new<W: Work + 'static>(name: &str, make: impl Fn(usize) -> W + Send + Sync + 'static) -> Self {
        Self::made_by(name, move |replica| Ok(Box::new(make(replica))))
    }

    /// A stage whose work is made for each replica by its number, where making it may fail.
    pub fn made_by(name: &str, make: impl Fn(usize) -> Result<Box<dyn Work>, NotMade> + Send + Sync + 'static) -> Self {
        Self { name: name.to_owned(), outputs: Vec::new(), replicas: 1, most: 1, flow: Arc::new(by_addresses), make: Arc::new(make) }
    }

    /// It sends to that stage, too: its outputs are numbered from 0 in this order.
    pub fn to(mut self, stage: &str) -> Self {
        self.outputs.push(stage.to_owned());
        self
    }

    /// It has so many replicas, each on a thread with work of its own.
    pub fn replicas(mut self, replicas: usize) -> Self {
        (self.replicas, self.most) = (replicas, self.most.max(replicas));
        self
    }

    /// The number of its replicas may change while packets flow, up to that: it keeps nothing of
    /// flows that other replicas do not have, too.
    pub fn resizable(mut self, most: usize) -> Self {
        self.most = self.most.max(most);
        self
    }

    /// Which flow a packet belongs to: all packets of a flow come to the same replica, in order. If
    /// nothing is said, those between the same two IP addresses are one.
    pub fn flow(mut self, of: impl Fn(&Packet<'_>) -> u64 + Send + Sync + 'static) -> Self {
        self.flow = Arc::new(of);
        self
    }
}

/// The flow of packets if nothing is said: both IP addresses, in either order; all packets that
/// have none are one flow.
pub fn by_addresses(packet: &Packet<'_>) -> u64 {
    u64::from(flow_number(LinkType::EN10MB, packet.bytes))
}

/// Where packets for a stage go.
struct Target {
    name: String,
    flow: outlets::SharedFlow,
    /// Replicas that get packets; it changes only while nothing is on the way.
    active: AtomicUsize,
    most: usize,
}

struct Registered {
    target: Arc<Target>,
    /// Numbers of stages.
    outputs: Vec<usize>,
    make: Arc<Make>,
}

struct RegisteredInput {
    name: String,
    outputs: Vec<usize>,
    /// None: who has the injector sends.
    function: Option<Input>,
}

/// Stages, queues and inputs, before they run.
#[derive(Default)]
pub struct Pipeline {
    stages: Vec<Registered>,
    inputs: Vec<RegisteredInput>,
}

impl Pipeline {
    /// Registers a stage with the queue before it. Those that it sends to have been registered.
    ///
    /// # Errors
    /// Its name is taken, a stage that it sends to is not there, or it has no replicas or too many.
    pub fn stage(&mut self, stage: Stage) -> Result<&mut Self, StageError> {
        let Stage { name, outputs, replicas, most, flow, make } = stage;
        let outputs = self.known(&name, outputs.iter().map(String::as_str))?;
        if replicas == 0 || most > MOST {
            return Err(StageError::Number(format!("stage {name} has from 1 to {MOST} replicas")));
        }
        let flow = outlets::SharedFlow::new(flow);
        let target = Arc::new(Target { name, flow, active: AtomicUsize::new(replicas), most });
        self.stages.push(Registered { target, outputs, make });
        Ok(self)
    }

    /// Registers an input, which sends to those stages.
    ///
    /// # Errors
    /// Its name is taken, or a stage that it sends to is not there.
    pub fn input(
        &mut self,
        name: &str,
        to: &[&str],
        function: impl FnMut(&mut Outlets) -> Turn + Send + 'static,
    ) -> Result<&mut Self, StageError> {
        self.register(name, to, Some(Box::new(function)))
    }

    /// Registers an input that a thread of the program around it runs: [`Running::injector`] gives
    /// what it sends by.
    ///
    /// # Errors
    /// As [`Self::input`].
    pub fn injector(&mut self, name: &str, to: &[&str]) -> Result<&mut Self, StageError> {
        self.register(name, to, None)
    }

    fn register(&mut self, name: &str, to: &[&str], function: Option<Input>) -> Result<&mut Self, StageError> {
        let outputs = self.known(name, to.iter().copied())?;
        self.inputs.push(RegisteredInput { name: name.to_owned(), outputs, function });
        Ok(self)
    }

    /// The numbers of the stages that one of that name sends to.
    fn known<'n>(&self, name: &str, outputs: impl Iterator<Item = &'n str>) -> Result<Vec<usize>, StageError> {
        let find = |name: &str| self.stages.iter().position(|stage| stage.target.name == name);
        if name.is_empty() || find(name).is_some() || self.inputs.iter().any(|input| input.name == name) {
            return Err(StageError::Name(format!("each stage and input has a name of its own; '{name}' is taken, or none")));
        }
        let missing = |to: &str| {
            StageError::Name(format!(
                "{name} sends to {to}, and no stage of that name is registered; register stages from the last to the first"
            ))
        };
        outputs.map(|to| find(to).ok_or_else(|| missing(to))).collect()
    }
}
