//! Copies that members send: each goes its way through the members before the next one, and before
//! its packet, as in the reference schedule.
//!
//! ```text
//!  member that copies ─▶ [packet, last copy, …, first copy] ─▶ the last of the list goes on, to the end of its way ─▶ the next
//! ```
//!
//! A copy lies in a slot of its own. While an arrival's copies are on their way, compiled code
//! takes no other packet of the burst. What of them leaves the members at once does so without the
//! tasks behind it, which run when the whole arrival is done with; what has left before it is
//! handed over before, first that of earlier arrivals with their tasks.
//!
//! Left to the host, as exchange buffers with which the packet leaves the members: all where it
//! [wants that](netil::cluster::Host::takes_copies), and those where the pool has no room, of
//! packets that are too large for a slot, and those behind the [`MOST`]th of an arrival.

use super::{Running, ended};
use crate::frame::{Frame, Gone, exit, start};
use netil::budget::Budget;
use netil::cluster::{Ended, LinkTarget};
use netil::exec::{CloneOut, Disposition, MAX_COPIED, MAX_COPIES, TrapKind};

/// The most copies of an arrival, and of its copies, that lie in slots: the host counts those that
/// leave at once.
pub(super) const MOST: u32 = 512;

/// Copies of the arrival at hand.
#[derive(Default)]
pub(super) struct Copies {
    /// Those that the member at hand has sent, by port, and bytes of these.
    sent: Vec<(u32, u32)>,
    bytes: u64,
    /// Packets of the arrival that wait to go on, and what members gave for them; the next one is
    /// last.
    waiting: Vec<Gone>,
    /// The arrival's slot, while it has copies.
    arrival: Option<u32>,
    /// Some have left at once.
    some_left: bool,
    /// How many were made, and how many of these the host knows of.
    made: u32,
    told: u32,
    /// By exit, slots in its list from before the arrival.
    before: Vec<usize>,
}

impl Copies {
    /// Whether an arrival is on its way that has copies.
    pub fn are_under_way(&self) -> bool {
        self.arrival.is_some()
    }

    /// Whether the member at hand has sent some.
    pub fn were_sent(&self) -> bool {
        !self.sent.is_empty()
    }

    /// The slot of the arrival that a packet in this slot belongs to.
    pub fn arrival_of(&self, slot: u32) -> u32 {
        self.arrival.unwrap_or(slot)
    }
}

impl Running<'_> {
    /// Copies the packet at hand into a slot of its own. `None` if that is not to be, or cannot be:
    /// then nothing is done.
    pub(super) fn send_copy(&mut self, frame: &mut Frame, port: u32, budget: &mut Budget) -> Result<Option<u32>, TrapKind> {
        if !self.takes_copies || !self.copies.is_empty() {
            return Ok(None);
        }
        if frame.present == 0 {
            return Err(TrapKind::NoPacket);
        }
        let before = if frame.sent == 0 { 0 } else { self.ways.bytes };
        let bytes = u64::from(frame.packet_len) + self.pool.info_size() as u64;
        if frame.sent == MAX_COPIES || before + bytes > u64::from(MAX_COPIED) {
            return Err(TrapKind::Copies);
        }
        let mut left = Budget(budget.0);
        left.bytes(bytes)?;
        let made = if self.ways.are_under_way() || frame.sent > 0 { self.ways.made } else { 0 };
        self.store(frame);
        let Some(copy) = Some(()).filter(|()| made < MOST).and_then(|()| self.pool.duplicate(frame.slot)) else {
            self.as_buffers();
            return Ok(None);
        };
        self.pool.note(copy, frame.next.wrapping_sub(1) as u32);
        (self.ways.made, self.ways.bytes) = (made + 1, before + bytes);
        self.ways.sent.push((port, copy));
        *budget = left;
        frame.sent += 1;
        Ok(Some(0))
    }

    /// What the member at hand has sent so far leaves with the packet.
    fn as_buffers(&mut self) {
        let mut copied = 0;
        // The host counts those.
        self.ways.made = self.ways.made.saturating_sub(self.ways.sent.len() as u32);
        for (port, slot) in std::mem::take(&mut self.ways.sent) {
            let buffer = self.pool.lift(slot);
            self.pool.give_back(&[slot]);
            copied += (buffer.bytes().len() + buffer.info.len()) as u32;
            self.copies.push(CloneOut { source: 0, port, copied, buffer });
        }
    }

    /// The packet at hand goes on behind the copies that its member has sent.
    pub(super) fn go_behind_copies(&mut self, frame: &mut Frame, packet: Gone) {
        if !self.ways.are_under_way() {
            self.ways.arrival = Some(packet.slot);
            (self.ways.some_left, self.ways.told) = (false, 0);
            self.ways.before.clear();
            self.ways.before.extend((0..self.leaving.exits.len()).map(|n| self.leaving.left_by(n)));
        }
        let copy = |(port, slot)| Gone { code: exit::PORT | u64::from(port) << 32, site: 0, member: packet.member, slot };
        self.ways.waiting.push(packet);
        let Copies { sent, waiting, .. } = &mut *self.ways;
        waiting.extend(sent.drain(..).rev().map(copy));
        frame.count = frame.next;
    }

    /// Lets the next packet of the arrival at hand go on, or takes the next arrival.
    pub(super) fn next_of_arrival(&mut self, frame: &mut Frame) {
        while let Some(packet) = self.ways.waiting.pop() {
            if self.goes_on(frame, packet) {
                return;
            }
        }
        self.ways.arrival = None;
        self.host.copied(self.ways.made - self.ways.told);
        if std::mem::take(&mut self.ways.some_left) {
            self.hand_over_early(frame);
            self.host.arrival_over(self.pool);
            self.takes_copies = self.host.takes_copies(MOST);
        }
        frame.count = self.limit() as u64;
    }

    /// Moves a packet to where a member has sent it: true if that is a member, which runs it next.
    fn goes_on(&mut self, frame: &mut Frame, packet: Gone) -> bool {
        let ended = ended(&packet);
        let Disposition::Port(port) = ended.disposition else {
            self.note_gone(frame, packet);
            return false;
        };
        let way = self.members[packet.member as usize].way(port);
        if !matches!(way, None | Some(LinkTarget::AtOnce)) {
            self.flows.leaves(packet.member, port);
        }
        match way {
            Some(LinkTarget::Member(to, input)) => {
                frame.slot = packet.slot;
                self.load(frame);
                ((frame.member, frame.port), frame.start) = ((to, input), start::GIVEN);
                return true;
            }
            Some(LinkTarget::Exit(exit) | LinkTarget::LastExit(exit)) => self.leaving.push(exit as usize, packet.slot),
            Some(LinkTarget::AtOnce) | None => self.leave_early(frame, ended, packet.slot),
        }
        false
    }

    /// A packet leaves at once, while others of its arrival are still on their way.
    pub(super) fn leave_early(&mut self, frame: &mut Frame, ended: Ended, slot: u32) {
        if !std::mem::replace(&mut self.ways.some_left, true) {
            self.hand_over_earlier(frame);
            self.host.settle(self.pool);
        }
        self.hand_over_early(frame);
        self.flows.stayed[ended.member as usize] += 1;
        let (of, made) = (self.ways.arrival_of(slot), self.ways.made - self.ways.told);
        self.ways.told = self.ways.made;
        let copies = std::mem::take(&mut self.copies);
        self.host.leave_early(ended, slot, copies, (of, made), self.pool);
        self.takes_copies = self.host.takes_copies(MOST);
    }

    /// A timer is due at once: what has left before the arrival at hand is done with, unless it is
    /// already.
    pub(super) fn settle(&mut self, frame: &mut Frame) {
        match (self.ways.are_under_way(), self.ways.some_left) {
            (false, _) => self.hand_over(frame),
            (true, false) => self.hand_over_earlier(frame),
            (true, true) => return,
        }
        self.host.settle(self.pool);
    }

    /// Gives the host what has left before the arrival at hand.
    fn hand_over_earlier(&mut self, frame: &mut Frame) {
        for n in 0..self.leaving.exits.len() {
            let earlier = std::mem::take(&mut self.ways.before[n]);
            self.hand_over_some(n, earlier, false);
        }
        self.hand_over_gone(frame);
    }

    /// Gives the host what has left of the arrival at hand.
    fn hand_over_early(&mut self, frame: &mut Frame) {
        for n in 0..self.leaving.exits.len() {
            self.hand_over_some(n, self.leaving.left_by(n), true);
        }
        self.hand_over_gone(frame);
    }
}
