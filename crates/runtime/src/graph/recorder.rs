//! The flight recorder: the last packets, with the elements that each came to and why it ended.
//!
//! Packets are numbered where they arrive or are made. The number is in a field of info memory, so
//! it is known again behind queues and after an element has held a packet; of packets that lie in
//! the pool it is beside their slots, since linked elements know nothing of it. Records are in a
//! ring: the newest takes the place of the oldest.
//!
//! Of linked elements is known where a packet came in and where it ended or left. What it met
//! between is told where only one way leads there ([`Graph::recorded`]).
//!
//! Who does not ask for all packets has as many recorded as take a part of the time ([`Share`]):
//! all of them where few come, else some hundreds that follow one another, and none for a while.
//!
//! Graphs that run parts of one application, one behind the other, each have a recorder, and
//! numbers of their own: a packet that comes with another one's has that as where it came from, so
//! that who knows all of them puts ways together. For them somebody else says which packets are
//! recorded ([`Sampler`], [`Graph::go_on_recording`]).
//!
//! After a fault of netvm's own the packet is known that a program had at hand ([`netil::fault`]).
//!
//! Leaves out: what happens to a packet after a linked element has held it (it is then one that was
//! made there); what elements changed ([`super::Observer`] sees that).

mod share;

use super::ring::Rings;
use super::{ElementError, Graph, Info, Packet};
use crate::io::LinkType;
use netil::cluster::Plan;
use netil::fault::{self, AtHand};
use netil::pool::Pool;
pub use share::Sampler;
use share::Share;
use std::time::Instant;

/// Bytes that are kept of each packet.
pub const KEPT: usize = 96;
/// Elements that are kept of each way; the last place is for where it ends.
const STEPS: usize = 15;
/// The most wires that are followed to find out where a packet went.
const MOST_WIRES: usize = 4096;
/// The bits of a number behind those that say which of several graphs gave it.
pub const OWN_BITS: u32 = 40;
/// No element, and no reason.
const NONE: u16 = u16::MAX;

/// A packet's way.
#[derive(Clone, Copy)]
struct Record {
    number: u64,
    /// The packet that it is a copy of, 0 if it is none.
    of: u64,
    /// The number that another graph gave it before, 0 if none did.
    from: u64,
    time_ns: u64,
    wire_len: u32,
    link: u32,
    reason: u16,
    steps: u8,
    kept: u8,
    rested: bool,
    way: [u16; STEPS],
    bytes: [u8; KEPT],
}

const EMPTY: Record = Record {
    number: 0,
    of: 0,
    from: 0,
    time_ns: 0,
    wire_len: 0,
    link: 0,
    reason: NONE,
    steps: 0,
    kept: 0,
    rested: false,
    way: [NONE; STEPS],
    bytes: [0; KEPT],
};

/// What is known of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its number.
    pub number: u64,
    /// The number of the packet that it is a copy of, 0 if it is none.
    pub of: u64,
    /// The number that it had in the graph that it came from, 0 if it came from none that records.
    pub from: u64,
    /// When it arrived, in nanoseconds since 1970.
    pub time_ns: u64,
    /// Its length on the wire.
    pub wire_len: u32,
    /// What its first byte belonged to.
    pub link: LinkType,
    /// Its first bytes, as it arrived or was made.
    pub bytes: Vec<u8>,
    /// The elements that it came to; none where it is not known which, or the element is no more.
    pub way: Vec<Option<usize>>,
    /// Why it was dropped in the last one, if it was.
    pub reason: Option<String>,
    /// It was at hand when something failed: the reason says in what.
    pub failed: bool,
    /// Whether packets behind it were not recorded, to save time.
    pub rested: bool,
}

/// The ring of records.
pub(super) struct Recorder {
    ring: Vec<Record>,
    last: u64,
    /// The field of info memory that has the number, and where that is.
    field: String,
    at: usize,
    /// By slot of the pool.
    by_slot: Vec<u64>,
    reasons: Vec<String>,
    /// None: all packets are recorded.
    share: Option<Share>,
}

impl Recorder {
    /// For one graph of several, with that number.
    fn new(packets: usize, (field, at): (&str, usize), share: Option<Share>, graph: u64) -> Self {
        let ring = vec![EMPTY; packets.max(1)];
        Self { ring, last: graph << OWN_BITS, field: field.to_owned(), at, by_slot: Vec::new(), reasons: Vec::new(), share }
    }

    /// The number if another graph gave it, else 0.
    fn foreign(&self, number: u64) -> u64 {
        if number >> OWN_BITS == self.last >> OWN_BITS { 0 } else { number }
    }

    /// Elements have other numbers from now on, or none.
    fn renumber(&mut self, number: impl Fn(usize) -> Option<usize>) {
        for node in self.ring.iter_mut().flat_map(|record| &mut record.way[..usize::from(record.steps)]) {
            *node = number(usize::from(*node)).map_or(NONE, |node| node as u16);
        }
    }

    /// `before`: the packet that it is a copy of, and the number that another graph gave it.
    fn begin(&mut self, bytes: &[u8], (time_ns, wire_len, link): (u64, u32, u32), before: [u64; 2], node: u16) -> u64 {
        self.last += 1;
        let (number, place) = (self.last, (self.last % self.ring.len() as u64) as usize);
        let record = &mut self.ring[place];
        let kept = bytes.len().min(KEPT);
        record.bytes[..kept].copy_from_slice(&bytes[..kept]);
        (record.number, [record.of, record.from]) = (number, before);
        (record.time_ns, record.wire_len, record.link) = (time_ns, wire_len, link);
        (record.reason, record.kept, record.steps) = (NONE, kept as u8, u8::from(node != NONE));
        record.rested = false;
        record.way[0] = node;
        number
    }

    fn record(&mut self, number: u64) -> Option<&mut Record> {
        let place = (number % self.ring.len() as u64) as usize;
        self.ring.get_mut(place).filter(|record| record.number == number && number != 0)
    }

    fn step(&mut self, number: u64, node: usize) {
        let Some(record) = self.record(number) else { return };
        let last = usize::from(record.steps).min(STEPS - 1);
        if usize::from(record.steps) > last || last == 0 || record.way[last - 1] != node as u16 {
            record.way[last] = node as u16;
            record.steps = (last + 1).max(usize::from(record.steps)) as u8;
        }
    }

    /// The number of a reason. Traps have their places in them: there are as many as the programs
    /// have places.
    fn reason(&mut self, reason: &str) -> u16 {
        let known = self.reasons.iter().position(|known| known == reason);
        let at = known.unwrap_or_else(|| {
            if self.reasons.len() < usize::from(NONE) {
                self.reasons.push(reason.to_owned());
            }
            self.reasons.len() - 1
        });
        at as u16
    }

    fn end(&mut self, number: u64, node: usize, reason: u16) {
        self.step(number, node);
        if let Some(record) = self.record(number) {
            record.reason = reason;
        }
    }

    fn of(&self, packet: &Packet) -> u64 {
        let number = packet.buffer.info.get(self.at..self.at + 8).and_then(|bytes| bytes.try_into().ok());
        number.map_or(0, u64::from_le_bytes)
    }

    fn mark(&self, packet: &mut Packet, number: u64, info: &Info) {
        packet.buffer.info.resize(packet.buffer.info.len().max(info.size), 0);
        if let Some(bytes) = packet.buffer.info.get_mut(self.at..self.at + 8) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
    }

    /// The number of the packet at hand when something failed, 0 if it has none.
    fn number_of(&self, at_hand: &AtHand) -> u64 {
        let own = || at_hand.info.get(self.at..self.at + 8).and_then(|bytes| bytes.try_into().ok());
        at_hand.slot.map_or_else(|| own().map_or(0, u64::from_le_bytes), |slot| self.slot(slot))
    }

    fn slot(&self, slot: u32) -> u64 {
        self.by_slot.get(slot as usize).copied().unwrap_or(0)
    }

    fn set_slot(&mut self, slot: u32, number: u64) {
        if self.by_slot.len() <= slot as usize {
            self.by_slot.resize(slot as usize + 1, 0);
        }
        self.by_slot[slot as usize] = number;
    }

    /// A packet arrives that goes into linked elements at once, by the first of them.
    pub(super) fn arrives(&mut self, slot: u32, pool: &Pool, rings: Option<&Rings>, node: usize) {
        let (time_ns, wire_len, link) = (pool.slot(slot).time_ns, pool.wire_len(slot), link_of(pool.tag(slot), rings));
        let from = self.foreign(self.slot(slot));
        let number = self.begin(pool.bytes(slot), (time_ns, wire_len, link), [0, from], node as u16);
        self.set_slot(slot, number);
    }

    /// A packet comes from another graph, where it had that number.
    pub(super) fn comes(&mut self, packet: &mut Packet, from: u64, info: &Info) {
        self.mark(packet, from, info);
    }

    /// A packet in the pool comes from another graph, where it had that number.
    pub(super) fn slot_comes(&mut self, slot: u32, from: u64) {
        self.set_slot(slot, from);
    }

    /// The number of a packet in the pool, 0 if it has none.
    pub(super) fn slot_number(&self, slot: u32) -> u64 {
        self.slot(slot)
    }

    /// A packet is put into the pool.
    pub(super) fn placed(&mut self, slot: u32, packet: u64) {
        self.set_slot(slot, packet);
    }

    pub(super) fn number(&self, packet: &Packet) -> u64 {
        self.of(packet)
    }

    /// A packet is taken from the pool.
    pub(super) fn lifted(&self, packet: &mut Packet, slot: u32, info: &Info) {
        self.mark(packet, self.slot(slot), info);
    }

    /// A packet leaves an element: it begins there if it has no number, or that of another graph,
    /// or is a copy.
    pub(super) fn leaves(&mut self, packet: &mut Packet, node: usize, copy: Option<u64>, (info, rings): (&Info, Option<&Rings>)) {
        let number = self.of(packet);
        let from = self.foreign(number);
        if number == 0 || from != 0 || copy.is_some() {
            let about = (packet.buffer.time_ns, packet.wire_len(), link_of(packet.link.number(), rings));
            let before = copy.map_or([0, from], |of| [of, 0]);
            let number = self.begin(packet.buffer.bytes(), about, before, node as u16);
            self.mark(packet, number, info);
        }
    }

    pub(super) fn enters(&mut self, packet: &Packet, node: usize) {
        self.step(self.of(packet), node);
    }

    pub(super) fn drops(&mut self, packet: &Packet, node: usize, reason: &str) {
        let (number, reason) = (self.of(packet), self.reason(reason));
        self.end(number, node, reason);
    }

    pub(super) fn slots_enter(&mut self, slots: &[u32], node: usize) {
        slots.iter().for_each(|slot| self.step(self.slot(*slot), node));
    }

    /// Packets of the pool end in an element.
    pub(super) fn slots_end(&mut self, slots: &[u32], node: usize, reason: Option<&str>) {
        let reason = reason.map_or(NONE, |reason| self.reason(reason));
        slots.iter().for_each(|slot| self.end(self.slot(*slot), node, reason));
    }
}

/// A packet's link type, in a graph that may tell packets apart by it.
fn link_of(link: u32, rings: Option<&Rings>) -> u32 {
    rings.map_or(link, |rings| rings.link(link))
}

/// Packets of the pool end in a linked element.
pub(super) fn note_ends(recorder: &mut Option<Box<Recorder>>, slots: &[u32], node: usize, reason: Option<&str>) {
    if let Some(recorder) = recorder {
        recorder.slots_end(slots, node, reason);
    }
}

impl Graph {
    /// Records all packets from now on, and keeps so many. The application has a field of info
    /// memory for their numbers, of eight bytes, with that name.
    ///
    /// # Errors
    /// It has none.
    pub fn record(&mut self, packets: usize, field: &str) -> Result<(), ElementError> {
        self.record_by(packets, field, None, 0)
    }

    /// Keeps so many packets, with numbers that other graphs do not give: `graph` is another one in
    /// each. Which are recorded is said by who lets it run.
    ///
    /// # Errors
    /// The application has no field of that name with eight bytes.
    pub fn record_part(&mut self, packets: usize, field: &str, graph: u64) -> Result<(), ElementError> {
        self.record_by(packets, field, None, graph)
    }

    /// Records as many as take one `part` in so many of the time from now on, and keeps so many.
    ///
    /// # Errors
    /// The application has no field of that name with eight bytes.
    pub fn record_some(&mut self, packets: usize, field: &str, part: u32) -> Result<(), ElementError> {
        self.record_by(packets, field, Some(Share::new(packets, part)), 0)
    }

    fn record_by(&mut self, packets: usize, field: &str, share: Option<Share>, graph: u64) -> Result<(), ElementError> {
        self.leave_straight();
        let place = self.topology.info.place(field).filter(|place| place.len() == 8);
        let place = place.ok_or_else(|| ElementError::resource(format!("no field '{field}' for packets' numbers")))?;
        self.watch.recorder = Some(Box::new(Recorder::new(packets, (field, place.start), share, graph)));
        self.watch.resting = None;
        self.core.pool.defer(false);
        Ok(())
    }

    /// Whether packets are recorded.
    pub fn is_recorded(&self) -> bool {
        self.watch.recorder.is_some() || self.watch.resting.is_some()
    }

    /// Records packets from the next on or lets them be, so that it takes no more than its share of
    /// the time.
    pub(super) fn share_recording(&mut self) {
        let records = self.watch.recorder.is_some();
        let Some(recorder) = self.watch.recorder.as_deref_mut().or(self.watch.resting.as_deref_mut()) else { return };
        let last = recorder.last;
        let Some(share) = &mut recorder.share else { return };
        share.settle(last, Instant::now);
        let goes_on = share.goes_on(records);
        self.go_on_recording(goes_on);
    }

    /// Records packets from the next on, or lets them be.
    pub fn go_on_recording(&mut self, records: bool) {
        // Arrivals that have been taken are run as they were taken.
        if !self.is_recorded() || self.watch.recorder.is_some() == records || self.next_taken().is_some() {
            return;
        }
        match records {
            false => {
                let last = self.watch.recorder.as_ref().map_or(0, |recorder| recorder.last);
                let last = self.watch.recorder.as_mut().and_then(|recorder| recorder.record(last));
                last.into_iter().for_each(|record| record.rested = true);
                self.watch.resting = self.watch.recorder.take();
            }
            true => self.watch.recorder = self.watch.resting.take(),
        }
        self.watch.recorder.iter_mut().for_each(|recorder| recorder.by_slot.fill(0));
        let brings = self.fusion.linked.as_ref().is_some_and(|linked| linked.brings());
        self.core.pool.defer(brings && self.watch.recorder.is_none());
    }

    /// Goes on with what another graph has recorded, if this one has room for packets' numbers;
    /// `number`: which of its elements is which here.
    pub(super) fn keep_records(&mut self, other: &mut Self, number: impl Fn(usize) -> Option<usize>) {
        let Some(mut recorder) = other.watch.recorder.take().or(other.watch.resting.take()) else { return };
        let Some(place) = self.topology.info.place(&recorder.field).filter(|place| place.len() == 8) else { return };
        recorder.renumber(number);
        recorder.at = place.start;
        self.watch.recorder = Some(recorder);
        self.core.pool.defer(false);
    }

    /// Packets arrive that go into linked elements at once.
    pub(super) fn note_arrivals(&mut self, slots: &[u32], plan: &Plan, source: usize) {
        let Some(recorder) = &mut self.watch.recorder else { return };
        for slot in slots {
            let entry = plan.entries.get(self.core.pool.slot(*slot).entry() as usize);
            let node = entry.map_or(source, |(member, _)| plan.members[*member as usize] as usize);
            recorder.arrives(*slot, &self.core.pool, self.topology.settings.rings.as_ref(), node);
        }
    }

    /// A packet with that number is put into the pool.
    pub(super) fn note_placed(&mut self, slot: Option<u32>, number: Option<u64>) {
        if let (Some(recorder), Some(slot), Some(number)) = (&mut self.watch.recorder, slot, number) {
            recorder.placed(slot, number);
        }
    }

    /// A packet is taken from the pool.
    pub(super) fn note_lifted(&self, packet: &mut Packet, slot: u32) {
        if let Some(recorder) = &self.watch.recorder {
            recorder.lifted(packet, slot, &self.topology.info);
        }
    }

    /// Packets that were recorded, the oldest first; none if nothing is recorded. The packet that
    /// was at hand when this thread failed has that as the reason, and is told of even where it was
    /// not recorded.
    pub fn recorded(&self) -> Option<Vec<Recorded>> {
        let recorder = self.watch.recorder.as_ref().or(self.watch.resting.as_ref())?;
        let mut records: Vec<&Record> = recorder.ring.iter().filter(|record| record.number > 0).collect();
        records.sort_by_key(|record| record.number);
        let mut all: Vec<Recorded> = records.into_iter().map(|record| self.told(record, &recorder.reasons)).collect();
        if let Some(at_hand) = fault::take() {
            let reason = Some(format!("netvm failed in {}", at_hand.program));
            // What lies in the pool has no number while nothing is recorded.
            let known = at_hand.slot.is_none() || self.watch.recorder.is_some();
            let number = if known { recorder.number_of(&at_hand) } else { 0 };
            match all.iter_mut().find(|record| record.number == number && number != 0) {
                Some(record) => (record.reason, record.failed) = (reason, true),
                None => all.push(Recorded { reason, failed: true, ..self.told_of(&at_hand, recorder.last + 1) }),
            }
        }
        Some(all)
    }

    /// A packet that was not recorded before.
    fn told_of(&self, at_hand: &AtHand, number: u64) -> Recorded {
        let AtHand { program, bytes, time_ns, wire_len, .. } = at_hand;
        let node = self.topology.by_name.get(program).copied();
        let (bytes, time_ns, wire_len, link) = (bytes.clone(), *time_ns, *wire_len, LinkType::EN10MB);
        let way = vec![None, node];
        Recorded { number, of: 0, from: 0, time_ns, wire_len, link, bytes, way, reason: None, failed: false, rested: false }
    }

    fn told(&self, record: &Record, reasons: &[String]) -> Recorded {
        // Elements that are no more have no number.
        let step = |node: &u16| Some(usize::from(*node)).filter(|_| *node != NONE);
        let steps: Vec<Option<usize>> = record.way[..usize::from(record.steps)].iter().map(step).collect();
        let mut way: Vec<Option<usize>> = self.before(&steps).into_iter().map(Some).collect();
        for (n, node) in steps.iter().enumerate() {
            let from = n.checked_sub(1).and_then(|before| steps[before]);
            if let (Some(from), Some(node)) = (from, node) {
                match self.between(from, *node) {
                    Some(met) => way.extend(met.into_iter().map(Some)),
                    None => way.push(None),
                }
            }
            way.push(*node);
        }
        Recorded {
            number: record.number,
            of: record.of,
            from: record.from,
            time_ns: record.time_ns,
            wire_len: record.wire_len,
            link: LinkType::from_file(record.link),
            bytes: record.bytes[..usize::from(record.kept)].to_vec(),
            way,
            reason: reasons.get(usize::from(record.reason)).cloned(),
            failed: false,
            rested: record.rested,
        }
    }

    /// The source of a packet whose way begins with a linked element, if only one leads there.
    fn before(&self, steps: &[Option<usize>]) -> Option<usize> {
        let first = steps.first().copied().flatten().filter(|first| self.is_linked(*first))?;
        let leads = |source: &&usize| self.core.nodes[**source].outputs.iter().flatten().any(|way| way.to.instance as usize == first);
        let mut sources = self.topology.sources.iter().filter(leads);
        sources.next().copied().filter(|_| sources.next().is_none())
    }

    fn is_linked(&self, node: usize) -> bool {
        self.fusion.linked.as_ref().is_some_and(|linked| linked.members().any(|member| member == node))
    }

    /// The linked elements between two others, if only one way leads from one to the other.
    fn between(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let (mut found, mut left) = (Vec::new(), MOST_WIRES);
        self.follow(&mut vec![from], to, &mut found, &mut left);
        match found.as_slice() {
            [way] if left > 0 => Some(way[1..].to_vec()),
            _ => None,
        }
    }

    fn follow(&self, way: &mut Vec<usize>, to: usize, found: &mut Vec<Vec<usize>>, left: &mut usize) {
        let from = way[way.len() - 1];
        let mut next: Vec<usize> = self.core.nodes[from].outputs.iter().flatten().map(|way| way.to.instance as usize).collect();
        next.sort_unstable();
        next.dedup();
        for node in next {
            *left = left.saturating_sub(1);
            if *left == 0 || found.len() > 1 {
                return;
            }
            if node == to {
                found.push(way.clone());
            } else if !way.contains(&node) && self.is_linked(node) {
                way.push(node);
                self.follow(way, to, found, left);
                way.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(recorder: &mut Recorder, byte: u8) -> u64 {
        recorder.begin(&[byte; 200], (7, 200, 1), [0, 0], 3)
    }

    #[test]
    fn the_newest_take_the_place_of_the_oldest() {
        let mut recorder = Recorder::new(4, ("n", 0), None, 0);
        let first = begin(&mut recorder, 1);
        let because = recorder.reason("because");
        recorder.end(first, 5, because);
        assert_eq!(recorder.record(first).map(|record| (record.way[1], record.reason, record.kept)), Some((5, 0, 96)));
        for byte in 2..6 {
            begin(&mut recorder, byte);
        }
        assert!(recorder.record(first).is_none());
        // Whoever still has that number changes nothing.
        recorder.end(first, 6, because);
        let kept = |record: &Record| (record.bytes[0], record.steps, record.reason);
        assert_eq!(recorder.ring.iter().map(kept).collect::<Vec<_>>(), [(4, 1, NONE), (5, 1, NONE), (2, 1, NONE), (3, 1, NONE)]);
    }

    #[test]
    fn of_a_long_way_the_end_is_kept() {
        let mut recorder = Recorder::new(4, ("n", 0), None, 0);
        let number = begin(&mut recorder, 1);
        for node in 10..100 {
            recorder.step(number, node);
        }
        let record = recorder.record(number).unwrap();
        assert_eq!((record.steps, record.way[0], record.way[1], record.way[STEPS - 1]), (STEPS as u8, 3, 10, 99));
    }

    #[test]
    fn ways_go_on_where_elements_have_other_numbers() {
        let mut recorder = Recorder::new(4, ("n", 0), None, 0);
        let number = begin(&mut recorder, 1);
        (4..6).for_each(|node| recorder.step(number, node));
        recorder.renumber(|node| (node != 4).then_some(node + 10));
        recorder.step(number, 20);
        assert_eq!(recorder.record(number).unwrap().way[..5], [13, NONE, 15, 20, NONE]);
    }
}
