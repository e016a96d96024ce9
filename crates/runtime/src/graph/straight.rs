//! Calls of the program around the graph that bring packets, run them and take them, while nothing
//! else is to be done.
//!
//! ```text
//!  call ─▶ slot of the pool ─▶ cluster ─▶ exit ─▶ slots that wait to be taken ─▶ call
//! ```
//!
//! A packet that comes by a port is put into the pool, where the source behind the port would put
//! it with the next turn. A call that runs them looks whether there is anything but them: a task
//! with work, a timer that is due, something that is asked for. If not, the cluster runs them; what
//! leaves it for a device whose packets calls take, with nothing between but a queue that the
//! device empties, stays in the pool until it is taken. Elements that packets pass by in this way
//! are told how many when somebody can ask.
//!
//! Invariants: all is as if packets had gone through the ports' queues and a turn of the schedule.
//! What is brought comes before what waits in ports, and what waits to be taken left before what is
//! in ports; so nothing is brought while packets wait there, and nothing leaves in this way while
//! packets are there or an element outside the cluster has had one. [`Graph::leave_straight`] puts
//! everything where it would be otherwise, before anything else is done with the graph.

use super::builtin::Passage;
use super::builtin::packet_port::{Lent, PacketPort};
use super::linked::SLOTS;
use super::{BURST, Body, Graph};
use crate::io::LinkType;
use netil::app::End;
use netil::pool::{Arrival, LONGEST, Pool};
use std::sync::Arc;

/// Slots that are left to others.
const SPARE: usize = SLOTS as usize / 2;

/// The most packets in a row that nobody looks for.
const MOST_RESTS: u32 = 255;

/// What packets of calls go by.
#[derive(Default)]
pub(super) struct Straight {
    /// All below is as it is now.
    known: bool,
    /// By port, if packets that come there go into the cluster.
    inputs: Vec<Option<Input>>,
    /// By port.
    outputs: Vec<Output>,
    /// By exit, if it leads to a port.
    exits: Vec<Option<Exit>>,
    /// Packets that come with the next run, and how many of one port after the other.
    coming: Vec<u32>,
    of: Vec<(usize, usize)>,
    /// The cluster runs them.
    runs: bool,
    /// Nothing else was done since they were run last.
    unchanged: bool,
    /// For so many packets nobody looks, as there was something else to do before.
    rests: u32,
    refused: u32,
}

struct Input {
    port: Arc<PacketPort>,
    source: usize,
    entry: u32,
    /// So many bytes of each packet are taken.
    most: usize,
    arrived: u64,
}

struct Output {
    port: Arc<PacketPort>,
    /// Packets that have left, the first of which have been taken.
    sent: Vec<u32>,
    taken: usize,
}

struct Exit {
    output: usize,
    /// The queue that packets pass, and the device.
    queue: Option<usize>,
    sink: usize,
    passed: u64,
}

/// The packet of a slot.
#[inline]
fn lent(pool: &Pool, slot: u32) -> Lent<'_> {
    let (time_ns, link) = (pool.slot(slot).time_ns, LinkType::from_file(pool.tag(slot)));
    Lent { bytes: pool.bytes(slot), wire_len: pool.wire_len(slot), time_ns, link }
}

impl Straight {
    /// When the last packet comes of those that come, and by which port.
    #[inline]
    fn last(&self, pool: &Pool) -> Option<(u64, usize)> {
        Some((pool.slot(*self.coming.last()?).time_ns, self.of.last()?.0))
    }
}

impl Graph {
    /// A packet comes by a port, by its place among those of the settings, no earlier than those
    /// before; it waits for [`Self::run_brought`]. False if it has to wait in the port's queue.
    #[inline]
    pub fn bring(&mut self, port: usize, packet: &Lent<'_>) -> bool {
        if !self.fusion.straight.known && !self.look_for_straight() {
            return false;
        }
        let Some(Some(input)) = self.fusion.straight.inputs.get(port) else { return false };
        let Lent { bytes, wire_len, time_ns, link } = *packet;
        if bytes.len() > LONGEST || self.fusion.straight.coming.len() >= BURST {
            return false;
        }
        // Of packets that come at the same time, those of the source that was declared first are
        // first.
        if self.fusion.straight.last(&self.core.pool).is_some_and(|(time, of)| of != port && time >= time_ns) {
            return false;
        }
        self.core.pool.enter(input.entry);
        let (len, wire_len) = (bytes.len().min(input.most), wire_len.max(bytes.len() as u32));
        let slot = self.core.pool.put_one(&Arrival { bytes, len, time_ns, wire_len }, link.number());
        let Some(slot) = slot else { return false };
        self.core.pool.number_all(&[slot], &mut self.core.nodes[input.source].next_number);
        self.fusion.straight.coming.push(slot);
        match self.fusion.straight.of.last_mut() {
            Some((of, count)) if *of == port => *count += 1,
            _ => self.fusion.straight.of.push((port, 1)),
        }
        true
    }

    /// How many packets have been brought by a port and not been run.
    pub fn brought(&self, port: usize) -> usize {
        self.fusion.straight.of.iter().filter(|(of, _)| *of == port).map(|(_, count)| count).sum()
    }

    /// Runs what was brought, as [`Self::run_up_to`] does. False if that has to be called because
    /// something else is to be done.
    #[inline]
    pub fn run_brought(&mut self, until: u64) -> bool {
        if !self.fusion.straight.known {
            return false;
        }
        if !self.is_quiet(until) {
            self.fusion.straight.refused = (2 * self.fusion.straight.refused + 1).min(MOST_RESTS);
            self.fusion.straight.rests = self.fusion.straight.refused;
            return false;
        }
        self.fusion.straight.refused = 0;
        let Some(mut linked) = self.fusion.linked.take_if(|_| !self.fusion.straight.coming.is_empty()) else { return true };
        let Straight { of, inputs, coming, .. } = &mut self.fusion.straight;
        for (port, count) in of.drain(..) {
            inputs[port].iter_mut().for_each(|input| input.arrived += count as u64);
        }
        let last = coming.last().map_or(0, |slot| self.core.pool.slot(*slot).time_ns);
        linked.take_slots(coming, &self.core.pool);
        if !linked.is_timed() {
            self.core.clock.arrive(last);
        }
        (self.outside.horizon, self.core.busy_rounds, self.fusion.straight.runs) = (Some(until), 0, true);
        self.arriving(true);
        self.run_linked(linked);
        self.arriving(false);
        self.fusion.straight.runs = false;
        self.fusion.straight.unchanged = self.fusion.straight.known && self.is_quiet(until);
        self.fusion.straight.unchanged
    }

    /// Whether nothing is to be done but run what was brought.
    fn is_quiet(&self, until: u64) -> bool {
        let asked = self.requests.ended || self.core.restless || self.is_asked() || self.fusion.found.is_some();
        let moves = !(self.core.pending.is_empty() && self.core.recirculated.is_empty() && self.core.leaving.is_empty());
        let linked = self.fusion.linked.as_ref().is_some_and(|linked| linked.is_over());
        linked
            && !asked
            && !moves
            && self.first_due() > until
            && self.core.pool.room() >= SPARE
            && self.passes_on()
            && !self.singles_are_better()
    }

    /// Takes packets that have left by a port in this way, in order, as long as the caller wants
    /// more; how many, and whether these were all.
    #[inline]
    pub fn take_sent(&mut self, port: usize, wants: &mut impl FnMut(Lent<'_>) -> bool) -> (usize, bool) {
        let Some(Output { sent, taken, .. }) = self.fusion.straight.outputs.get_mut(port) else { return (0, true) };
        if sent.is_empty() {
            return (0, true);
        }
        let rest = &sent[*taken..];
        let count = rest.iter().take_while(|slot| wants(lent(&self.core.pool, **slot))).count();
        self.core.pool.give_back(&rest[..count]);
        *taken += count;
        let all = *taken == sent.len();
        if all {
            (*taken, _) = (0, sent.clear());
        }
        (count, all)
    }

    /// Packets leave by an exit for a port. False if they have to go by the elements between.
    pub(super) fn sends_straight(&mut self, exit: u32, slots: &[u32]) -> bool {
        let Straight { runs: true, exits, outputs, .. } = &mut self.fusion.straight else { return false };
        let Some(Some(exit)) = exits.get_mut(exit as usize).filter(|_| !self.core.restless) else { return false };
        let output = &mut outputs[exit.output];
        let goes = output.port.waiting()[1] == 0;
        if goes {
            match slots {
                [slot] => output.sent.push(*slot),
                _ => output.sent.extend_from_slice(slots),
            }
            exit.passed += slots.len() as u64;
        }
        goes
    }

    /// Whether members' states are as those that were brought before have left them.
    pub(super) fn is_unchanged(&self) -> bool {
        self.fusion.straight.runs && self.fusion.straight.unchanged
    }

    /// Something may be otherwise now.
    pub(super) fn look_again_for_straight(&mut self) {
        self.fusion.straight.known = false;
    }

    /// Puts everything where it would be if packets went by the queues of ports: something else is
    /// to be done.
    pub fn leave_straight(&mut self) {
        if !self.fusion.straight.known && self.fusion.straight.inputs.is_empty() {
            return;
        }
        let Straight { rests, refused, .. } = self.fusion.straight;
        let before = std::mem::replace(&mut self.fusion.straight, Straight { rests, refused, ..Straight::default() });
        let Straight { inputs, outputs, exits, coming, of, .. } = before;
        let mut coming = coming.as_slice();
        for (port, count) in of {
            let (first, rest) = coming.split_at(count);
            let input = inputs.get(port).and_then(Option::as_ref);
            input.into_iter().for_each(|input| input.port.extend(first.iter().map(|slot| lent(&self.core.pool, *slot))));
            self.core.pool.give_back(first);
            coming = rest;
        }
        for Output { port, sent, taken } in outputs.into_iter().filter(|output| !output.sent.is_empty()) {
            port.sent_before(sent[taken..].iter().map(|slot| lent(&self.core.pool, *slot)));
            self.core.pool.give_back(&sent[taken..]);
        }
        inputs.into_iter().flatten().for_each(|input| self.tell_arrived(&input));
        exits.into_iter().flatten().for_each(|exit| self.tell_sent(&exit));
    }

    fn tell_arrived(&mut self, Input { source, arrived, .. }: &Input) {
        if *arrived > 0 {
            self.core.arrivals += arrived;
            self.core.nodes[*source].stats.left_many(0, *arrived);
            self.tell_gone_past(*source, *arrived);
        }
    }

    fn tell_sent(&mut self, Exit { queue, sink, passed, .. }: &Exit) {
        for node in queue.iter().chain([sink]).filter(|_| *passed > 0) {
            self.core.nodes[*node].stats.packets += passed;
            self.tell_gone_past(*node, *passed);
        }
        queue.iter().filter(|_| *passed > 0).for_each(|queue| self.core.nodes[*queue].stats.left_many(0, *passed));
    }

    /// Looks what packets of calls can go by, unless others than these had to be run the last
    /// times. False if it did not look.
    #[cold]
    fn look_for_straight(&mut self) -> bool {
        self.leave_straight();
        let Straight { rests, refused, .. } = self.fusion.straight;
        if rests > 0 {
            self.fusion.straight.rests -= 1;
            return false;
        }
        let mut found = Straight { known: true, refused, ..Straight::default() };
        if self.suits_straight() {
            let output = |port: &Arc<PacketPort>| Output { port: Arc::clone(port), sent: Vec::new(), taken: 0 };
            found.outputs = self.topology.settings.ports.values().map(output).collect();
            found.inputs = self.topology.settings.ports.values().map(|port| self.input_of(port)).collect();
            let (exits, copies) = self.fusion.linked.as_ref().map_or((&[][..], false), |linked| linked.exits());
            found.exits = exits.iter().map(|exit| self.straight_exit(*exit, copies)).collect();
        }
        self.fusion.straight = found;
        true
    }

    fn suits_straight(&self) -> bool {
        let settings = &self.topology.settings;
        let alone = settings.rings.is_none() && settings.share.is_none() && settings.elsewhere.is_none() && self.core.foreign.is_none();
        let watched = self.watch.observer.is_some() || self.is_recorded() || self.watch.profiler.is_some();
        let changes = self.fusion.later.is_some() || !self.requests.signals.is_empty() || self.fusion.maker.is_some();
        let bursts = self.fusion.linked.as_ref().is_some_and(|linked| linked.takes_bursts() && linked.is_over());
        let empty = settings.ports.values().all(|port| port.waiting()[0] == 0);
        alone && !watched && !changes && bursts && empty && self.core.clock.has_begun()
    }

    fn passage(&self, node: usize) -> Option<Passage<'_>> {
        match &self.core.nodes[node].body {
            Body::BuiltIn(builtin) => builtin.as_deref()?.cut_through()?.passage(),
            Body::Program(_) => None,
        }
    }

    /// The only source that packets come to by a port.
    fn input_of(&self, port: &Arc<PacketPort>) -> Option<Input> {
        let of = |node: usize| match self.passage(node) {
            Some(Passage::From(own, most)) if Arc::ptr_eq(own, port) => Some((node, most)),
            _ => None,
        };
        let mut sources = (0..self.core.nodes.len()).filter_map(of);
        let (source, most) = sources.next().filter(|_| sources.next().is_none())?;
        let entry = self.core.nodes[source].entries.first().copied().flatten()?;
        Some(Input { port: Arc::clone(port), source, entry, most, arrived: 0 })
    }

    /// What is behind an exit: a device, or a queue that lets each packet go on to one.
    fn straight_exit(&self, exit: End, copies: bool) -> Option<Exit> {
        let node = exit.instance as usize;
        let passes = match &self.core.nodes[node].body {
            Body::BuiltIn(Some(builtin)) => {
                builtin.queue().is_some_and(|queue| queue.is_empty()) && matches!(self.passage(node), Some(Passage::On))
            }
            _ => false,
        };
        let behind = self.core.nodes[node].outputs.first().and_then(|ways| ways.first()).filter(|way| passes && !way.recirculates);
        let (queue, sink) = match behind.map(|way| way.to.instance as usize) {
            // Of copies that come together a queue may have no room for all.
            Some(sink) if !copies && exit.port == 0 && self.core.nodes[sink].empties == Some(node) => (Some(node), sink),
            Some(_) => return None,
            None => (None, node),
        };
        let Some(Passage::To(port)) = self.passage(sink) else { return None };
        let output = self.topology.settings.ports.values().position(|other| Arc::ptr_eq(other, port))?;
        Some(Exit { output, queue, sink, passed: 0 })
    }
}
