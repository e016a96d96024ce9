//! The graph as elements of the runtime see it: those that run, and those that are asked whether
//! they have packets.

use super::super::{ElementError, Graph, HandlerError, Info, Packet, Stream, confined, text};
use netil::pool::Pool;
use std::path::Path;

/// The graph around an element that runs.
pub struct Ctx<'g> {
    pub(in super::super) graph: &'g mut Graph,
    pub(in super::super) node: usize,
}

impl<'g> Ctx<'g> {
    pub(in super::super) fn new(graph: &'g mut Graph, node: usize) -> Self {
        Self { graph, node }
    }

    /// Whether a file of that name may be written.
    ///
    /// # Errors
    /// The name leads out of the folder that the run is confined to.
    pub fn writable(&self, name: &Path) -> Result<(), ElementError> {
        confined::writable(self.graph.topology.settings.within.as_deref(), name)
    }

    /// The time of the run in nanoseconds.
    pub fn now(&self) -> u64 {
        self.graph.core.clock.now()
    }

    /// True if time is the host's.
    pub fn is_real(&self) -> bool {
        self.graph.core.clock.is_real()
    }

    /// True if arrivals make the time of the run.
    pub fn follows_captures(&self) -> bool {
        self.graph.core.clock.follows_captures()
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

    /// True if there is such a handler to write; of an element that is running that is not known,
    /// and taken for granted.
    pub fn can_write(&self, handler: &str) -> bool {
        self.graph.can_write(handler, Some(self.node)) || self.graph.is_running(handler, self.node)
    }

    /// The names of the nearest queues that are reached by pushing.
    pub fn queues_behind(&self) -> Vec<String> {
        self.graph
            .find_behind(self.node, |builtin| builtin.queue().is_some())
            .into_iter()
            .map(|node| self.graph.name(node).to_owned())
            .collect()
    }

    /// The names of the nearest queues that packets are pulled from.
    pub fn queues_before(&self) -> Vec<String> {
        self.graph
            .find_before(self.node, |builtin| builtin.queue().is_some())
            .into_iter()
            .map(|node| self.graph.name(node).to_owned())
            .collect()
    }

    /// The element's arguments.
    pub fn arguments(&self) -> &[String] {
        &self.graph.core.nodes[self.node].arguments
    }

    /// Changes them, for the handler `config`.
    pub fn set_arguments(&mut self, arguments: Vec<String>) {
        self.graph.core.nodes[self.node].arguments = arguments;
    }

    /// Sets the element's timer; 0 is never.
    pub fn wake_at(&mut self, when: u64) {
        self.graph.wake_at(self.node, when);
    }

    /// When the element's timer is due; 0 is never.
    pub fn wakes_at(&self) -> u64 {
        self.graph.core.timers.due(self.node).unwrap_or(0)
    }

    /// Info memory of packets.
    pub fn info(&self) -> &Info {
        &self.graph.topology.info
    }

    /// Sets a field of a packet's info memory, if there is one of that name.
    pub fn set_info(&self, packet: &mut Packet, name: &str, value: u64) {
        self.graph.topology.info.set(packet, name, value);
    }

    /// A new packet at the present time.
    pub fn packet(&self, bytes: &[u8]) -> Packet {
        Packet::new(bytes, self.now(), &self.graph.topology.info)
    }

    /// The entry that packets of an output have if they go into linked elements.
    pub(crate) fn entry_of(&self, output: u32) -> Option<u32> {
        self.graph.core.nodes[self.node].entries.get(output as usize).copied().flatten()
    }

    /// Whether each packet that comes to this queue now would have been taken out before the next
    /// came.
    pub(in super::super) fn keeps_up(&self) -> bool {
        self.graph.keeps_up(self.node)
    }

    /// A packet comes from another graph, where it was recorded by that number if it is not 0.
    pub(in super::super) fn comes(&mut self, packet: &mut Packet, number: u64) {
        if let Some(recorder) = &mut self.graph.watch.recorder {
            recorder.comes(packet, number, &self.graph.topology.info);
        }
    }

    /// Packets in the pool come from another graph, where each was recorded by its number if that
    /// is not 0.
    pub(in super::super) fn slots_come(&mut self, slots: impl Iterator<Item = (u32, u64)>) {
        if let Some(recorder) = &mut self.graph.watch.recorder {
            slots.for_each(|(slot, number)| recorder.slot_comes(slot, number));
        }
    }

    /// The number by which a packet is recorded here, 0 if it is not.
    pub(in super::super) fn number_of(&self, packet: &Packet) -> u64 {
        self.graph.watch.recorder.as_ref().map_or(0, |recorder| recorder.number(packet))
    }

    /// The number by which a packet in the pool is recorded here, 0 if it is not.
    pub(in super::super) fn number_of_slot(&self, slot: u32) -> u64 {
        self.graph.watch.recorder.as_ref().map_or(0, |recorder| recorder.slot_number(slot))
    }

    /// Where packets lie that are run in bursts.
    pub fn pool(&mut self) -> &mut Pool {
        &mut self.graph.core.pool
    }

    /// The packet of a slot, which is then free.
    pub fn lift(&mut self, slot: u32) -> Packet {
        self.graph.lift(slot, 0)
    }

    /// Asks for packets in the pool at a pull input; in `slots`, which is empty, are then those
    /// that are next, so many at most, if there are such.
    pub fn pull_slots(&mut self, port: u32, slots: &mut Vec<u32>, most: usize) {
        self.graph.pull_slots((self.node, port), slots, most);
    }

    /// Lets packets of the pool leave by an output, after this element has returned.
    pub fn emit_slots(&mut self, port: u32, slots: Vec<u32>) {
        self.graph.core.leaving.push_back((self.node, port, slots));
    }

    /// Asks for the end of the run.
    pub fn stop(&mut self) {
        self.graph.requests.stops += 1;
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
        self.graph.core.nodes[self.node].outputs.get(port as usize).is_some_and(|ways| !ways.is_empty())
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
        self.graph.outside.host.write(stream, text);
    }

    /// Tells something about this element to people.
    pub fn tell(&mut self, message: &str) {
        self.graph.tell(self.node, message);
    }

    /// Reads a handler, its name as this element sees it, with arguments behind.
    pub fn read_handler(&mut self, handler: &str, text: &str) -> Result<String, HandlerError> {
        self.graph.read(handler, text, Some(self.node))
    }

    /// Writes a handler.
    pub fn write_handler(&mut self, handler: &str, text: &str) -> Result<(), HandlerError> {
        self.graph.write(handler, text, Some(self.node))
    }

    /// Writes a handler when this element has returned: `element.handler text`.
    pub fn write_later(&mut self, call: &str) {
        let (handler, text) = text::shift_word(call);
        self.graph.requests.calls.push_back((self.node, handler.to_owned(), text.to_owned()));
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
    pub(in super::super) graph: &'g Graph,
    pub(in super::super) node: usize,
    pub(in super::super) depth: u32,
}
