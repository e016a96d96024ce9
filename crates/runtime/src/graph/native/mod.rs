//! Elements that the runtime knows itself: what is not a function of one packet. A class is a file here and a line in [`ALL`].

mod addresstranslator;
mod aggregatecounter;
mod annotated;
mod bypass;
mod clipboard;
mod counter;
mod delayshaper;
mod delayunqueue;
mod discard;
mod drivermanager;
pub mod embedded;
mod fastudp;
mod filepos;
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
mod pingsource;
mod pulltee;
mod queue;
mod randomsample;
mod ratedsource;
mod ratedunqueue;
mod red;
mod replay;
mod replayunqueue;
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

pub use annotated::{Shared, annotations, looks_at_annotations, shared};
pub use hostdevice::{READERS, WRITERS, device_name};
pub use infinitesource::{burst as made_burst, data as made_data};
pub use live::DeviceStats;
pub use replay::Replay;
pub use source_arguments::{KEYWORDS as SOURCE_KEYWORDS, positional as source_positional};
pub(super) use todump::Devices;
pub use todump::{KEYWORDS as SINK_KEYWORDS, link_type};

use super::{Graph, Info, Packet, Settings, Stream, confined};
use netil::pool::{Even, Pool};
use std::path::Path;

/// All of them.
#[rustfmt::skip]
pub const ALL: &[&NativeClass] = &[
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
pub struct NativeClass {
    /// Its name.
    pub name: &'static str,
    /// Port counts, Click's code.
    pub ports: &'static str,
    /// Push, pull or agnostic, Click's code.
    pub processing: &'static str,
    /// Between which ports packets flow, Click's code; empty: all.
    pub flow: &'static str,
    /// What it does, for people.
    pub manual: &'static str,
    /// Makes an element.
    pub make: fn(&Setup<'_>) -> Result<Box<dyn Native>, String>,
}

/// The class of that name.
pub fn find(name: &str) -> Option<&'static NativeClass> {
    ALL.iter().copied().find(|class| class.name == name)
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

/// What came of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// There was no work.
    Idle,
    /// Some was done.
    Done,
    /// Some was done, and the turn goes on with more.
    Again,
}

/// A handler that an element has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// Its name.
    pub name: String,
    /// It can be read.
    pub read: bool,
    /// It can be written.
    pub write: bool,
}

/// Handlers by names: those that are read, written, both.
pub fn controls(read: &[&str], write: &[&str], both: &[&str]) -> Vec<Control> {
    let named =
        |names: &[&str], read, write| names.iter().map(|name| Control { name: (*name).to_owned(), read, write }).collect::<Vec<_>>();
    [named(read, true, false), named(write, false, true), named(both, true, true)].concat()
}

fn is_queue(native: &dyn Native) -> bool {
    native.controls().iter().any(|control| control.name == "capacity")
}

/// A truth value that is written to a handler.
fn boolean(text: &str) -> Result<bool, String> {
    super::text::boolean(text).ok_or_else(|| format!("expected true or false, not '{text}'"))
}

/// An element that the runtime knows itself.
pub trait Native {
    /// Once, before anything runs.
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
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

    /// True if [`Self::task`] is to be called.
    fn is_task(&self) -> bool {
        false
    }

    /// True if its task only pulls at input 0, so that there is nothing for it to do while what is there [is empty](Self::is_empty).
    fn only_pulls(&self) -> bool {
        false
    }

    /// True if its task makes packets, several at once where it may.
    fn makes(&self) -> bool {
        false
    }

    /// True if its task takes packets out of what is at input 0, one a turn at least while there are any and it may, and does nothing else but handle these.
    fn only_empties(&self) -> bool {
        self.only_pulls()
    }

    /// Its turn.
    fn task(&mut self, ctx: &mut Ctx<'_>) -> Task {
        let _ = ctx;
        Task::Idle
    }

    /// The timer set by [`Ctx::wake_at`] for that moment is due.
    fn timer(&mut self, when: u64, ctx: &mut Ctx<'_>) {
        let _ = (when, ctx);
    }

    /// True if packets arrive here from outside, in the order of their times.
    fn is_source(&self) -> bool {
        false
    }

    /// True if a source has several outputs, and says of what it puts into the pool by which entry that comes in (`Ctx::entry_of`).
    fn names_entries(&self) -> bool {
        false
    }

    /// When the next packet arrives.
    fn next_arrival(&mut self, ctx: &mut Ctx<'_>) -> Option<u64> {
        let _ = ctx;
        None
    }

    /// It arrives.
    fn arrive(&mut self, ctx: &mut Ctx<'_>) {
        let _ = ctx;
    }

    /// Packets for output 0 that arrive before a moment, at most so many, put into the pool; when the last one did. `None` if there are none, or
    /// packets are more than what comes with them: then they come one at a time.
    fn arrive_many(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> Option<u64> {
        let _ = (most, until, slots, ctx);
        None
    }

    /// Packets that come next, one or more, if they are all alike. Nobody has to be told that the last of them is the last.
    fn even(&self) -> Option<Even<'_>> {
        None
    }

    /// So many of them have arrived.
    fn even_arrived(&mut self, packets: usize) {
        let _ = packets;
    }

    /// Whether what [`Self::arrive_many`] put into the pool can be taken back as if nobody had asked.
    fn takes_back(&self) -> bool {
        false
    }

    /// Whether behind what [`Self::arrive_many`] gave last, though it was not as many as asked for, something may come before the time that was asked for:
    /// packets, or the end of the source, if that ends the run.
    fn goes_on(&self) -> bool {
        false
    }

    /// The last of those that arrived have not arrived.
    fn take_back(&mut self, slots: &[u32], ctx: &mut Ctx<'_>) {
        let _ = (slots, ctx);
    }

    /// Gives the slots of packets in the pool that it holds: it is no more.
    fn drop_slots(&mut self, slots: &mut Vec<u32>) {
        let _ = slots;
    }

    /// The tasks behind packets that were made at once have run: a queue may have got longer all the same.
    fn kept_up(&mut self) {}

    /// Packets in the pool come in at a push input.
    fn push_slots(&mut self, port: u32, slots: &[u32], ctx: &mut Ctx<'_>) {
        for slot in slots {
            let packet = ctx.lift(*slot);
            self.push(port, packet, ctx);
        }
    }

    /// Packets in the pool are asked for at a pull output: those that are next, as far as they are there.
    fn pull_slots(&mut self, port: u32, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) {
        let _ = (port, slots, ctx);
    }

    /// Bytes read of its capture, and how many there are.
    fn progress(&self) -> (u64, Option<u64>) {
        (0, None)
    }

    /// True if it decides when the run ends.
    fn is_driver(&self) -> bool {
        false
    }

    /// Somebody asked for the end; only drivers hear it.
    fn stopped(&mut self, ctx: &mut Ctx<'_>) {
        let _ = ctx;
    }

    /// True if nothing shows but a queue's greatest length when several arrivals come here before the tasks behind have run.
    fn takes_bursts(&self) -> bool {
        false
    }

    /// Packets that can come in without one being lost here or behind. If there is no room tasks run before the next comes.
    fn room(&self) -> usize {
        usize::MAX
    }

    /// For queues that tell when they are full: whether it is.
    fn is_full(&self) -> Option<bool> {
        None
    }

    /// Whether a pull at an output may give a packet.
    fn is_ready(&self, port: u32, ctx: &Ready<'_>) -> bool {
        let _ = port;
        ctx.any_input()
    }

    /// For what holds packets: true if nothing is held, so that a pull gives nothing and does nothing.
    fn is_empty(&self) -> bool {
        false
    }

    /// Whether its task waits to run, for the handler `scheduled`.
    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        ctx.any_input()
    }

    /// Its own handlers.
    fn controls(&self) -> Vec<Control> {
        Vec::new()
    }

    /// True if it answers handlers of any name.
    fn answers_all(&self) -> bool {
        false
    }

    /// Reads one of them.
    fn read(&mut self, handler: &str, text: &str, ctx: &mut Ctx<'_>) -> Result<String, String> {
        let _ = (text, ctx);
        Err(format!("no read handler '{handler}'"))
    }

    /// Writes one of them.
    fn write(&mut self, handler: &str, text: &str, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let _ = (text, ctx);
        Err(format!("no write handler '{handler}'"))
    }

    /// Completes what it writes.
    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let _ = ctx;
        Ok(())
    }
}

/// The graph around an element that runs.
pub struct Ctx<'g> {
    pub(super) graph: &'g mut Graph,
    pub(super) node: usize,
}

impl<'g> Ctx<'g> {
    pub(super) fn new(graph: &'g mut Graph, node: usize) -> Self {
        Self { graph, node }
    }

    /// Whether a file of that name may be written.
    ///
    /// # Errors
    /// The name leads out of the folder that the run is confined to.
    pub fn writable(&self, name: &Path) -> Result<(), String> {
        confined::writable(self.graph.settings.within.as_deref(), name)
    }

    /// The time of the run in nanoseconds.
    pub fn now(&self) -> u64 {
        self.graph.clock.now()
    }

    /// True if time is the host's.
    pub fn is_real(&self) -> bool {
        self.graph.clock.is_real()
    }

    /// True if arrivals make the time of the run.
    pub fn follows_captures(&self) -> bool {
        self.graph.clock.follows_captures()
    }

    /// `name :: Class` of this element.
    pub fn declared(&self) -> String {
        self.graph.declared(self.node)
    }

    /// This element's name.
    pub fn name(&self) -> &str {
        self.graph.name(self.node)
    }

    /// True if that is this element's name, as it sees names itself.
    pub fn is_me(&self, name: &str) -> bool {
        self.graph.find_element(name, Some(self.node)) == Some(self.node)
    }

    /// True if there is such a handler to read.
    pub fn can_read(&self, handler: &str) -> bool {
        self.graph.can_read(handler, Some(self.node))
    }

    /// True if there is such a handler to write; of an element that is running that is not known, and taken for granted.
    pub fn can_write(&self, handler: &str) -> bool {
        self.graph.can_write(handler, Some(self.node)) || self.graph.is_running(handler, self.node)
    }

    /// The names of the nearest queues that are reached by pushing.
    pub fn queues_behind(&self) -> Vec<String> {
        self.graph.find_behind(self.node, is_queue).into_iter().map(|node| self.graph.name(node).to_owned()).collect()
    }

    /// The names of the nearest queues that packets are pulled from.
    pub fn queues_before(&self) -> Vec<String> {
        self.graph.find_before(self.node, is_queue).into_iter().map(|node| self.graph.name(node).to_owned()).collect()
    }

    /// The element's arguments.
    pub fn arguments(&self) -> &[String] {
        &self.graph.nodes[self.node].arguments
    }

    /// Changes them, for the handler `config`.
    pub fn set_arguments(&mut self, arguments: Vec<String>) {
        self.graph.nodes[self.node].arguments = arguments;
    }

    /// Sets the element's timer; 0 is never.
    pub fn wake_at(&mut self, when: u64) {
        self.graph.wake_at(self.node, when);
    }

    /// When the element's timer is due; 0 is never.
    pub fn wakes_at(&self) -> u64 {
        self.graph.timers.due(self.node).unwrap_or(0)
    }

    /// Info memory of packets.
    pub fn info(&self) -> &Info {
        &self.graph.info
    }

    /// Sets a field of a packet's info memory, if there is one of that name.
    pub fn set_info(&self, packet: &mut Packet, name: &str, value: u64) {
        self.graph.info.set(packet, name, value);
    }

    /// A new packet at the present time.
    pub fn packet(&self, bytes: &[u8]) -> Packet {
        Packet::new(bytes, self.now(), &self.graph.info)
    }

    /// The entry that packets of an output have if they go into linked elements.
    pub(crate) fn entry_of(&self, output: u32) -> Option<u32> {
        self.graph.nodes[self.node].entries.get(output as usize).copied().flatten()
    }

    /// Whether each packet that comes to this queue now would have been taken out before the next came.
    pub(super) fn keeps_up(&self) -> bool {
        self.graph.keeps_up(self.node)
    }

    /// Where packets lie that are run in bursts.
    pub fn pool(&mut self) -> &mut Pool {
        &mut self.graph.pool
    }

    /// The packet of a slot, which is then free.
    pub fn lift(&mut self, slot: u32) -> Packet {
        self.graph.lift(slot, 0)
    }

    /// Asks for packets in the pool at a pull input; in `slots`, which is empty, are then those that are next, if there are such.
    pub fn pull_slots(&mut self, port: u32, slots: &mut Vec<u32>) {
        self.graph.pull_slots(self.node, port, slots);
    }

    /// Lets packets of the pool leave by an output, after this element has returned.
    pub fn emit_slots(&mut self, port: u32, slots: Vec<u32>) {
        self.graph.leaving.push_back((self.node, port, slots));
    }

    /// Asks for the end of the run.
    pub fn stop(&mut self) {
        self.graph.stops += 1;
    }

    /// Ends the run; for drivers.
    pub fn end_run(&mut self) {
        self.graph.end_run();
    }

    /// Counts a packet that goes nowhere.
    pub fn drop_packet(&mut self, packet: &Packet, reason: &str) {
        self.graph.lose(self.node, reason, packet);
    }

    /// Whether an output is connected.
    pub fn has_output(&self, port: u32) -> bool {
        self.graph.nodes[self.node].outputs.get(port as usize).is_some_and(|ways| !ways.is_empty())
    }

    /// Lets a packet leave by an output if that is connected; else it is dropped for that reason.
    pub fn emit_or_drop(&mut self, port: u32, packet: Packet, reason: &str) {
        match self.has_output(port) {
            true => self.emit(port, packet),
            false => self.drop_packet(&packet, reason),
        }
    }

    /// Prints.
    pub fn print(&mut self, stream: Stream, text: &[u8]) {
        self.graph.host.write(stream, text);
    }

    /// Tells something about this element to people.
    pub fn tell(&mut self, message: &str) {
        self.graph.tell(self.node, message);
    }

    /// Reads a handler, its name as this element sees it, with arguments behind.
    pub fn read_handler(&mut self, handler: &str, text: &str) -> Result<String, String> {
        self.graph.read(handler, text, Some(self.node))
    }

    /// Writes a handler.
    pub fn write_handler(&mut self, handler: &str, text: &str) -> Result<(), String> {
        self.graph.write(handler, text, Some(self.node))
    }

    /// Writes a handler when this element has returned: `element.handler text`.
    pub fn write_later(&mut self, call: &str) {
        let (handler, text) = super::text::shift_word(call);
        self.graph.calls.push_back((self.node, handler.to_owned(), text.to_owned()));
    }

    /// True if every queue behind the outputs that tells when it is full is full, and there is one.
    pub fn is_full_behind(&self) -> bool {
        Ready { graph: self.graph, node: self.node, depth: 0 }.is_full_behind()
    }

    /// What is before the element's pull inputs.
    pub fn ready(&self) -> Ready<'_> {
        Ready { graph: self.graph, node: self.node, depth: 0 }
    }
}

/// The graph around an element that is asked whether it has packets.
pub struct Ready<'g> {
    pub(super) graph: &'g Graph,
    pub(super) node: usize,
    pub(super) depth: u32,
}
