//! Packets moving: pushed from output to input, pulled from input to output.
//!
//! What an element emits goes on a stack, first emitted on top, and the top moves next: that is
//! depth first, without recursion. A pull is a call, and what elements on its way push aside moves
//! before the packet that was pulled.

use super::builtin::Ctx;
use super::ended::Ended;
use super::packet_source::Before;
use super::share::Slot;
use super::together::exchange;
use super::{At, Body, Graph, MAX_PULL_DEPTH, MAX_ROUNDS, Packet, Push};
use crate::io::LinkType;
use netil::number;

/// Why packets are dropped that no element drops.
const NOWHERE: &str = "output not connected";
const TOO_OFTEN: &str = "led back too often";
/// The most copies of one packet, and of its copies, from its arrival to where each is dropped,
/// sent or queued. Of those that a cluster makes itself, which are few, the ones count that belong
/// to an arrival of which something leaves it at once.
pub(super) const MAX_WAY_COPIES: u32 = 1 << 16;
const TOO_MANY: &str = "too many copies of one packet";

impl Graph {
    /// Lets a packet leave an element by an output: on the stack, or in the queue of those led
    /// back.
    pub(super) fn leave(&mut self, node: usize, port: u32, packet: Packet) {
        self.leave_as(node, port, packet, false);
    }

    /// Lets a packet leave an element by an output; copies of one arrival, and of its copies, are
    /// counted until all of them have come to an end or into a queue.
    pub(super) fn leave_as(&mut self, node: usize, port: u32, mut packet: Packet, copy: bool) {
        self.number(node, &mut packet);
        let way = self.core.nodes[node].outputs.get(port as usize).and_then(|ways| ways.first()).copied();
        let Some(way) = way else { return self.lose(node, NOWHERE, &packet) };
        if way.recirculates && packet.rounds >= MAX_ROUNDS {
            return self.lose(node, TOO_OFTEN, &packet);
        }
        self.core.copies += u32::from(copy);
        if copy && self.core.copies > MAX_WAY_COPIES {
            return self.lose(node, TOO_MANY, &packet);
        }
        self.core.nodes[node].stats.left(port);
        if let Some(recorder) = &mut self.watch.recorder {
            let of = copy.then(|| recorder.number(&packet));
            recorder.leaves(&mut packet, node, of, (&self.topology.info, self.topology.settings.rings.as_ref()));
        }
        self.watch(|observer, info| observer.leaves(At { node, port }, &mut packet, copy, info));
        let mut push = Push { node: way.to.instance as usize, port: way.to.port, packet };
        match way.recirculates {
            false => self.core.pending.push(push),
            true => {
                push.packet.rounds += 1;
                self.core.recirculated.push_back(push);
            }
        }
    }

    /// Gives a packet that leaves an element the next number of that, if numbers are kept and it
    /// has none.
    pub(super) fn number(&mut self, node: usize, packet: &mut Packet) {
        if self.topology.numbered && packet.buffer.number == number::NONE {
            let next = &mut self.core.nodes[node].next_number;
            packet.buffer.number = *next;
            *next = next.wrapping_add(1);
        }
    }

    /// Moves everything that is on its way, then what is led back.
    #[inline]
    pub(super) fn settle(&mut self) {
        if !(self.core.pending.is_empty() && self.requests.calls.is_empty() && self.core.recirculated.is_empty()) {
            self.settle_all();
        }
        self.core.copies = 0;
    }

    fn settle_all(&mut self) {
        loop {
            self.drain(0);
            self.write_calls();
            match self.core.recirculated.pop_front() {
                Some(push) => self.core.pending.push(push),
                None if self.core.pending.is_empty() => return,
                None => {}
            }
        }
    }

    /// Moves what lies above `mark` on the stack.
    pub(super) fn drain(&mut self, mark: usize) {
        while self.core.pending.len() > mark {
            let Some(push) = self.core.pending.pop() else { return };
            self.enter(push);
        }
    }

    fn enter(&mut self, mut push: Push) {
        self.core.moved = true;
        if matches!(self.core.nodes[push.node].body, Body::BuiltIn(None)) {
            return self.core.recirculated.push_back(push);
        }
        if self.core.foreign.is_some() {
            let Some(own) = self.put_aside(push) else { return };
            push = own;
        }
        if let Some(entry) = self.entry_of(&push) {
            return self.enter_cluster(push, entry);
        }
        self.note_enters(&mut push);
        match &self.core.nodes[push.node].body {
            Body::Program(_) => self.push_program(push, None),
            Body::BuiltIn(_) => {
                self.core.restless = true;
                let begun = self.begin_run();
                self.with_builtin(push.node, |builtin, ctx| builtin.push(push.port, push.packet, ctx));
                self.end_run_of(push.node, begun);
                self.write_calls();
            }
        }
    }

    /// A packet comes to an element.
    pub(super) fn note_enters(&mut self, push: &mut Push) {
        self.core.nodes[push.node].stats.packets += 1;
        let at = At { node: push.node, port: push.port };
        if let Some(recorder) = &mut self.watch.recorder {
            recorder.enters(&push.packet, push.node);
        }
        self.watch(|observer, info| observer.enters(at, &mut push.packet, info));
    }

    /// A packet is pushed into a program, which runs with its own state or with that one.
    pub(super) fn push_program(&mut self, push: Push, part: Option<&Slot>) {
        let mark = self.core.pending.len();
        let Push { node, port, mut packet } = push;
        packet.buffer.port = port;
        let (now, begun) = (self.core.clock.now(), self.begin_run());
        let Body::Program(program) = &mut self.core.nodes[node].body else { return };
        let ended = match part {
            Some(slot) => program.push_at(slot, &mut packet, now),
            None => program.push_with(&mut self.core.shared, &mut packet, now),
        };
        self.end_run_of(node, begun);
        self.after_program(node, &packet);
        self.end(node, ended, packet);
        self.core.pending[mark..].reverse();
    }

    /// A program has run: its timers, what it printed, and its copies, which leave before the
    /// packet.
    fn after_program(&mut self, node: usize, packet: &Packet) {
        self.note_timers(node);
        let Body::Program(program) = &mut self.core.nodes[node].body else { return };
        let printed = program.printed();
        let clones: Vec<_> = program.clones().collect();
        self.print_of(node, &printed);
        for (port, buffer) in clones {
            self.leave_as(node, port, Packet { buffer, rounds: packet.rounds, link: packet.link }, true);
        }
    }

    pub(super) fn end(&mut self, node: usize, ended: Ended, packet: Packet) {
        match ended {
            Ended::Leaves(port) => self.leave(node, port, packet),
            ended => {
                let reason = self.stop(node, &ended, packet.buffer.is_present());
                if let Some(reason) = reason {
                    if let Some(recorder) = &mut self.watch.recorder {
                        recorder.drops(&packet, node, reason);
                    }
                    self.watch(|observer, info| observer.drops(node, reason, &packet, info));
                }
            }
        }
    }

    /// Counts a packet that goes no further; why it was dropped, if it was.
    pub(super) fn stop<'e>(&mut self, node: usize, ended: &'e Ended, present: bool) -> Option<&'e str> {
        self.stop_many(node, ended, 1, present.into())
    }

    /// Counts packets that go no further, of which so many are there; why they were dropped, if
    /// they were.
    pub(super) fn stop_many<'e>(&mut self, node: usize, ended: &'e Ended, packets: u64, present: u64) -> Option<&'e str> {
        let stats = &mut self.core.nodes[node].stats;
        let (reason, packets) = match ended {
            // Held back by the program.
            Ended::Dropped(_) if present == 0 => return None,
            Ended::Leaves(_) | Ended::Nothing => return None,
            Ended::Dropped(reason) => (reason, present),
            Ended::Trapped(reason) => {
                stats.traps += packets;
                stats.first_trap.get_or_insert_with(|| reason.clone());
                (reason, packets)
            }
        };
        stats.drop(reason, packets);
        Some(reason)
    }

    /// Asks what is before an input for a packet.
    pub(super) fn pull_input(&mut self, node: usize, port: u32) -> Option<Packet> {
        let from = *self.core.nodes[node].inputs.get(port as usize)?.first()?;
        let mut packet = self.pull_output(from.instance as usize, from.port)?;
        self.core.moved = true;
        self.core.nodes[node].stats.packets += 1;
        if let Some(recorder) = &mut self.watch.recorder {
            recorder.enters(&packet, node);
        }
        self.watch(|observer, info| observer.enters(At { node, port }, &mut packet, info));
        Some(packet)
    }

    /// Asks what is before an input for packets in the pool, so many at most; only queues have
    /// such.
    pub(super) fn pull_slots(&mut self, (node, port): (usize, u32), slots: &mut Vec<u32>, most: usize) {
        let from = self.core.nodes[node].inputs.get(port as usize).and_then(|ends| ends.first()).copied();
        let Some(from) = from else { return };
        let (before, begun) = (from.instance as usize, self.begin_run());
        self.with_builtin(before, |builtin, _| builtin.queue_mut().into_iter().for_each(|queue| queue.pull_slots(slots, most)));
        self.end_run_of(before, begun);
        self.core.nodes[before].stats.left_many(from.port, slots.len() as u64);
        if let Some(recorder) = &mut self.watch.recorder {
            recorder.slots_enter(slots, node);
        }
        self.core.moved |= !slots.is_empty();
        self.core.nodes[node].stats.packets += slots.len() as u64;
    }

    fn pull_output(&mut self, node: usize, port: u32) -> Option<Packet> {
        if self.core.pull_depth >= MAX_PULL_DEPTH {
            self.core.nodes[node].stats.drop("pulled through too many elements", 1);
            return None;
        }
        self.core.pull_depth += 1;
        let mark = self.core.pending.len();
        let mut packet = match &self.core.nodes[node].body {
            Body::Program(_) => self.pull_program(node, port),
            Body::BuiltIn(..) => {
                let begun = self.begin_run();
                let packet = self.with_builtin(node, |builtin, ctx| builtin.pull(port, ctx)).flatten();
                self.end_run_of(node, begun);
                packet
            }
        };
        if let Some(packet) = &mut packet {
            self.number(node, packet);
            self.core.nodes[node].stats.left(port);
            self.watch(|observer, info| observer.leaves(At { node, port }, packet, false, info));
        }
        self.drain(mark);
        self.write_calls();
        self.core.pull_depth -= 1;
        if self.core.pull_depth == 0 {
            self.core.copies = 0;
        }
        packet
    }

    /// The packet before a program's input goes through its pull handler.
    fn pull_program(&mut self, node: usize, port: u32) -> Option<Packet> {
        let Body::Program(program) = &self.core.nodes[node].body else { return None };
        if program.asks() {
            return self.ask_program(node, port);
        }
        let input = program.input_of(port);
        let before = self.pull_input(node, input)?;
        let (rounds, link) = (before.rounds, before.link);
        let mark = self.core.pending.len();
        let (now, begun) = (self.core.clock.now(), self.begin_run());
        let Body::Program(program) = &mut self.core.nodes[node].body else { return None };
        let (ended, buffer) = program.with(&mut self.core.shared, |program| program.pull(port, input, before, now));
        self.end_run_of(node, begun);
        let result = self.after_pull(node, port, ended, Packet { buffer, rounds, link });
        self.core.pending[mark..].reverse();
        result
    }

    /// A program's pull handler looks for a packet itself. While it runs the graph is without it,
    /// as without a built-in element that runs.
    fn ask_program(&mut self, node: usize, port: u32) -> Option<Packet> {
        let body = std::mem::replace(&mut self.core.nodes[node].body, Body::BuiltIn(None));
        let Body::Program(mut program) = body else { return None };
        let mark = self.core.pending.len();
        let (now, begun) = (self.core.clock.now(), self.begin_run());
        let together = program.together().clone();
        exchange(&together, &mut program.state, &mut self.core.shared);
        let mut before = Before { graph: self, node, together: &together, time: None, rounds: 0, link: LinkType::EN10MB };
        let (ended, buffer) = program.ask(port, now, &mut before);
        let packet = Packet { buffer, rounds: before.rounds, link: before.link };
        exchange(&together, &mut program.state, &mut self.core.shared);
        self.core.nodes[node].body = Body::Program(program);
        self.end_run_of(node, begun);
        let result = self.after_pull(node, port, ended, packet);
        self.core.pending[mark..].reverse();
        result
    }

    /// What a pull handler gives to the output that was asked; what it does not has gone elsewhere.
    fn after_pull(&mut self, node: usize, port: u32, ended: Ended, packet: Packet) -> Option<Packet> {
        self.after_program(node, &packet);
        match ended {
            Ended::Leaves(left) if left == port => Some(packet),
            ended => {
                self.end(node, ended, packet);
                None
            }
        }
    }

    /// Runs a program's handler for an event.
    pub(super) fn program_event(&mut self, node: usize, event: u32, time: u64) {
        let mark = self.core.pending.len();
        let now = self.core.clock.now();
        self.watch(|observer, _| observer.wakes(node));
        let Body::Program(program) = &mut self.core.nodes[node].body else { return };
        let (ended, buffer) = program.with(&mut self.core.shared, |program| program.event(event, time, now));
        let packet = Packet { buffer, rounds: 0, link: LinkType::EN10MB };
        self.after_program(node, &packet);
        self.end(node, ended, packet);
        self.core.pending[mark..].reverse();
    }

    /// Does the writes that elements asked for, as far as those written to are not running.
    pub(super) fn write_calls(&mut self) {
        for _ in 0..self.requests.calls.len() {
            let Some((node, handler, text)) = self.requests.calls.pop_front() else { return };
            match self.is_running(&handler, node) {
                true => self.requests.calls.push_back((node, handler, text)),
                false => {
                    if let Err(message) = self.write(&handler, &text, Some(node)) {
                        self.tell(node, message.text());
                    }
                }
            }
        }
    }

    /// A message of an element for people.
    pub(super) fn tell(&mut self, node: usize, message: &str) {
        let line = format!("{}: {message}\n", self.declared(node));
        self.outside.host.write(super::Stream::Err, line.as_bytes());
    }

    /// `name :: Class`.
    pub(super) fn declared(&self, node: usize) -> String {
        format!("{} :: {}", self.name(node), self.class(node))
    }
}

impl Ctx<'_> {
    /// Lets a packet leave by an output, after this element has returned.
    pub fn emit(&mut self, port: u32, packet: Packet) {
        self.graph.leave(self.node, port, packet);
    }

    /// Asks for a packet at a pull input.
    pub fn pull(&mut self, port: u32) -> Option<Packet> {
        self.graph.pull_input(self.node, port)
    }
}
