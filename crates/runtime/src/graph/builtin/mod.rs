//! Elements that the runtime knows itself: what is not a function of one packet. A class is a file
//! here and a line in [`ALL`].

/// What an element gives of a role that others look at and change.
macro_rules! gives {
    (handlers) => {
        fn handlers(&self) -> Option<&dyn $crate::graph::builtin::Handlers> {
            Some(self)
        }

        fn handlers_mut(&mut self) -> Option<&mut dyn $crate::graph::builtin::Handlers> {
            Some(self)
        }
    };
    (queue) => {
        fn queue(&self) -> Option<&dyn $crate::graph::builtin::Queue> {
            Some(self)
        }

        fn queue_mut(&mut self) -> Option<&mut dyn $crate::graph::builtin::Queue> {
            Some(self)
        }
    };
    (cut_through) => {
        fn cut_through(&self) -> Option<&dyn $crate::graph::builtin::CutThrough> {
            Some(self)
        }

        fn cut_through_mut(&mut self) -> Option<&mut dyn $crate::graph::builtin::CutThrough> {
            Some(self)
        }
    };
}

mod addresstranslator;
mod aggregatecounter;
mod bypass;
mod clipboard;
mod context;
mod counter;
mod delayshaper;
mod delayunqueue;
mod devices;
mod discard;
mod drivermanager;
mod embedded;
mod encapsulation;
mod facts;
mod fastudp;
mod filepos;
mod force_ip;
mod fromdump;
mod fromipsummarydump;
mod ftpportmapper;
mod handleraggregate;
mod hostdevice;
mod infinitesource;
mod information;
mod ipreassembler;
mod linkunqueue;
mod live;
mod message;
pub mod packet_port;
mod pingsource;
mod pulltee;
mod queue;
mod randomsample;
mod ratedsource;
mod ratedunqueue;
mod red;
mod replay;
mod replayunqueue;
mod roles;
mod sample;
mod scheds;
mod shaper;
mod source_arguments;
mod timedsource;
mod timedunqueue;
mod timefilter;
mod todump;
mod toipsummarydump;
mod unqueue;
mod window;

pub use context::{Ctx, Ready};
pub use devices::DeviceStats;
pub(super) use devices::Devices;
pub use encapsulation::link_type;
pub use facts::{Calling, Cut, Facts, Medium, Shared, device_name};
pub use infinitesource::{burst as made_burst, data as made_data};
pub use replay::Replay;
pub use roles::{CutThrough, Driver, Handlers, Passage, Queue, Source, Task, TaskKind, TaskResult};
pub use source_arguments::{KEYWORDS as SOURCE_KEYWORDS, positional as source_positional};
pub use todump::KEYWORDS as SINK_KEYWORDS;

use super::bucket::Bucket;
pub use super::handler::{ElementHandler, element_handlers};
use super::{ElementError, HandlerError, Info, Packet, Settings};
use std::sync::LazyLock;

/// All of them.
#[rustfmt::skip]
pub const ALL: &[&BuiltInClass] = &[
    &addresstranslator::CLASS,
    &aggregatecounter::CLASS,
    &bypass::CLASS,
    &clipboard::CLASS,
    &counter::CLASS,
    &delayshaper::CLASS, &delayunqueue::CLASS,
    &discard::DISCARD, &discard::IDLE, &discard::TIMED_SINK,
    &drivermanager::SCRIPT, &drivermanager::DRIVER_MANAGER,
    &fastudp::SOURCE, &fastudp::FLOWS,
    &fromdump::FROM_DUMP, &fromdump::FROM_DEVICE, &fromdump::POLL_DEVICE,
    &fromipsummarydump::CLASS,
    &hostdevice::FROM_HOST, &hostdevice::KERNEL_TUN, &hostdevice::KERNEL_TAP, &hostdevice::FROM_DPDK, &hostdevice::TO_DPDK,
    &hostdevice::FROM_RING, &hostdevice::TO_RING, &hostdevice::FROM_NETMAP, &hostdevice::TO_NETMAP, &hostdevice::FROM_SIM, &hostdevice::TO_SIM, &hostdevice::FROM_SOCKET, &hostdevice::TO_SOCKET,
    &ftpportmapper::CLASS,
    &handleraggregate::CLASS,
    &infinitesource::CLASS, &infinitesource::RANDOM,
    &information::CONTROL_SOCKET, &information::CHATTER_SOCKET, &information::CLICKY_INFO, &information::RANDOM_SEED, &information::DPDK_INFO,
    &ipreassembler::CLASS,
    &linkunqueue::CLASS,
    &pingsource::CLASS,
    &replayunqueue::CLASS, &replayunqueue::MULTI,
    &information::ADDRESS_INFO, &information::PORT_INFO, &information::SCHEDULE_INFO, &information::ALIGNMENT_INFO,
    &information::STATIC_THREAD_SCHED, &information::BALANCED_THREAD_SCHED,
    &message::MESSAGE, &message::ERROR,
    &pulltee::CLASS,
    &randomsample::CLASS,
    &queue::QUEUE, &queue::SIMPLE, &queue::NOTIFIER, &queue::FULL_NOTE, &queue::QUICK_NOTE, &queue::THREAD_SAFE, &queue::MIXED, &queue::FRONT_DROP,
    &ratedsource::CLASS,
    &ratedunqueue::RATED, &ratedunqueue::BANDWIDTH,
    &red::CLASS,
    &scheds::ROUND_ROBIN, &scheds::PRIO, &scheds::STRIDE, &scheds::SIMPLE_ROUND_ROBIN, &scheds::SIMPLE_PRIO, &scheds::TIME_SORTED,
    &shaper::SHAPER, &shaper::BANDWIDTH,
    &timedsource::CLASS,
    &timedunqueue::CLASS,
    &timefilter::CLASS,
    &todump::TO_DUMP, &todump::TO_DEVICE, &todump::TO_HOST, &todump::TO_HOST_SNIFFERS,
    &toipsummarydump::CLASS,
    &unqueue::CLASS,
];

/// What a class is.
pub struct BuiltInClass {
    /// Its name.
    pub name: &'static str,
    /// Port counts, Click's code.
    pub ports: &'static str,
    /// Push, pull or agnostic, Click's code.
    pub processing: &'static str,
    /// Between which ports packets flow, Click's code; empty: all.
    pub flow: &'static str,
    /// What is known of all its elements.
    pub facts: Facts,
    /// What it does, for people.
    pub manual: &'static str,
    /// Makes an element.
    pub make: fn(&Setup<'_>) -> Result<Box<dyn BuiltIn>, ElementError>,
}

/// The class of that name.
pub fn find(name: &str) -> Option<&'static BuiltInClass> {
    ALL.iter().copied().find(|class| class.name == name)
}

/// What is known of all elements of the class of that name, which need not be one of these.
pub fn facts(name: &str) -> &'static Facts {
    let cut = super::ring::CLASSES.iter().copied();
    ALL.iter().copied().chain(cut).find(|class| class.name == name).map_or(&Facts::OTHER, |class| &class.facts)
}

/// Classes of elements that read devices.
pub static READERS: LazyLock<Vec<&'static str>> = LazyLock::new(|| named(|facts| facts.reads == Some(Medium::Device)));
/// Classes of elements that call handlers, with the classes in C that they are in the place of.
pub static CALLING: LazyLock<Vec<(&'static str, Calling)>> =
    LazyLock::new(|| ALL.iter().filter_map(|class| Some((class.name, class.facts.calling?))).collect());
/// Classes of elements that write them.
pub static WRITERS: LazyLock<Vec<&'static str>> = LazyLock::new(|| named(|facts| facts.writes == Some(Medium::Device)));

fn named(holds: fn(&Facts) -> bool) -> Vec<&'static str> {
    ALL.iter().filter(|class| holds(&class.facts)).map(|class| class.name).collect()
}

/// What an element is made of.
pub struct Setup<'s> {
    /// Its number.
    pub node: usize,
    /// Its name.
    pub name: &'s str,
    /// Its class.
    pub class: &'static str,
    /// Its arguments.
    pub arguments: &'s [String],
    /// Inputs connected.
    pub inputs: u32,
    /// Outputs connected.
    pub outputs: u32,
    /// For each input, whether it is pulled.
    pub pulled: &'s [bool],
    /// For each output, whether it is pulled.
    pub output_pulled: Vec<bool>,
    /// Info memory.
    pub info: &'s Info,
    /// The run.
    pub settings: &'s Settings,
    /// A seed of its own.
    pub seed: u64,
}

/// What is said of a handler that is not among an element's.
fn no_handler(name: &str) -> HandlerError {
    HandlerError::NoHandler(format!("no handler '{name}'"))
}

/// A truth value that is written to a handler.
fn boolean(text: &str) -> Result<bool, HandlerError> {
    super::text::boolean(text).ok_or_else(|| HandlerError::invalid(format!("expected true or false, not '{text}'")))
}

/// An element that the runtime knows itself.
pub trait BuiltIn: Send {
    /// Once, before anything runs.
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        let _ = ctx;
        Ok(())
    }

    /// Once, when all elements are there.
    fn start(&mut self, ctx: &mut Ctx<'_>) {
        let _ = ctx;
    }

    /// A packet comes in at a push input.
    fn push(&mut self, port: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        let _ = (port, packet, ctx);
    }

    /// A packet is asked for at a pull output.
    fn pull(&mut self, port: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let _ = (port, ctx);
        None
    }

    /// Packets in the pool come in at a push input.
    fn push_slots(&mut self, port: u32, slots: &[u32], ctx: &mut Ctx<'_>) {
        for slot in slots {
            let packet = ctx.lift(*slot);
            self.push(port, packet, ctx);
        }
    }

    /// Packets that can come in without one being lost here or behind. If there is no room tasks
    /// run before the next comes.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// True if arrivals must come here with the tasks behind them after all, though [those of its
    /// class need not](Facts::takes_bursts).
    fn one_at_a_time(&self) -> bool {
        false
    }

    /// Whether a pull at an output may give a packet.
    fn is_ready(&self, port: u32, ctx: &Ready<'_>) -> bool {
        let _ = port;
        ctx.any_input()
    }

    /// How many packets wait in it, if its class [holds some](Facts::holds_packets).
    fn held(&self) -> usize {
        0
    }

    /// It is another graph's from now on, where annotations lie elsewhere: those of packets that it
    /// has read, or holds although its class [holds none](Facts::holds_packets), are to move.
    fn move_annotations(&mut self, from: &Info, to: &Info) {
        let _ = (from, to);
    }

    /// The timer set by [`Ctx::wake_at`] for that moment is due.
    fn timer(&mut self, when: u64, ctx: &mut Ctx<'_>) {
        let _ = (when, ctx);
    }

    /// Completes what it writes.
    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        let _ = ctx;
        Ok(())
    }

    /// What has handlers of its own, if it has.
    fn handlers(&self) -> Option<&dyn Handlers> {
        None
    }

    /// Mutable access to what has handlers of its own, if it has.
    fn handlers_mut(&mut self) -> Option<&mut dyn Handlers> {
        None
    }

    /// What packets arrive by from outside, if they do so here. That stays as it is.
    fn source(&mut self) -> Option<&mut dyn Source> {
        None
    }

    /// What has turns, if it has. That stays as it is.
    fn task(&mut self) -> Option<&mut dyn Task> {
        None
    }

    /// What holds packets until they are pulled, if it does.
    fn queue(&self) -> Option<&dyn Queue> {
        None
    }

    /// Mutable access to what holds packets until they are pulled, if it does.
    fn queue_mut(&mut self) -> Option<&mut dyn Queue> {
        None
    }

    /// What tells by which way packets may go past it, if there is such a way.
    fn cut_through(&self) -> Option<&dyn CutThrough> {
        None
    }

    /// Mutable access to what tells by which way packets may go past it, if there is such a way.
    fn cut_through_mut(&mut self) -> Option<&mut dyn CutThrough> {
        None
    }

    /// What decides when the run ends, if it does. That stays as it is.
    fn driver(&mut self) -> Option<&mut dyn Driver> {
        None
    }

    /// Tokens that it gets as time goes on, if it has such: when time begins with a capture's first
    /// packet, none has passed until then.
    fn bucket(&mut self) -> Option<&mut Bucket> {
        None
    }
}
