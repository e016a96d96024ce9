//! Packets of the pool that enter built-in elements, and that leave the pool.

use super::{Body, Graph, Packet};
use crate::io::LinkType;
use netil::app::End;
use netil::pool::Pool;

impl Graph {
    /// Moves packets of the pool that built-in elements have sent by an output, in order.
    pub(super) fn move_slots(&mut self) {
        while let Some((node, port, slots)) = self.core.leaving.pop_front() {
            let way = self.core.nodes[node].outputs.get(port as usize).and_then(|ways| ways.first()).copied();
            let to = way.filter(|way| !way.recirculates).map(|way| way.to);
            let entry = to.and_then(|to| self.entry_of_slots(to));
            if entry.is_some() && self.may_end_early(node) {
                let run = self.run_made(&slots);
                self.core.nodes[node].stats.left_many(port, run as u64);
                self.core.moved = true;
                self.settle();
                continue;
            }
            let builtin = to
                .filter(|to| matches!(self.core.nodes[to.instance as usize].body, Body::BuiltIn(Some(_))) && self.watch.recorder.is_none());
            if entry.is_some() || builtin.is_some() {
                self.core.nodes[node].stats.left_many(port, slots.len() as u64);
            }
            match (entry, builtin) {
                (Some(entry), _) => self.run_slots(&slots, entry),
                (None, Some(to)) => self.enter_slots(to, &slots),
                (None, None) => self.lift_all(node, port, &slots),
            }
            self.core.moved = true;
            self.settle();
        }
    }

    /// Lets each of them leave as a packet of its own, with the tasks behind it, which would have
    /// run before the next came.
    fn lift_all(&mut self, node: usize, port: u32, slots: &[u32]) {
        for slot in slots {
            let packet = self.lift(*slot, 0);
            self.leave(node, port, packet);
            self.settle();
            self.run_tasks();
        }
    }

    /// Lets packets of the pool enter a built-in element, in order; one that is full gets its tasks
    /// run first.
    pub(super) fn enter_slots(&mut self, to: End, mut slots: &[u32]) {
        let node = to.instance as usize;
        while !slots.is_empty() {
            let mut room = self.room(node);
            if room == 0 {
                self.run_tasks();
                room = self.room(node).max(1);
            }
            let (now, later) = slots.split_at(room.min(slots.len()));
            self.enter_now(to, now);
            slots = later;
        }
    }

    /// Lets packets of the pool enter a built-in element, where several may be of one arrival:
    /// tasks run between arrivals.
    pub(super) fn enter_arrivals(&mut self, to: End, arrivals: &[&[u32]]) {
        for slots in arrivals {
            if self.room(to.instance as usize) < slots.len() {
                self.run_tasks();
            }
            self.enter_now(to, slots);
        }
    }

    fn enter_now(&mut self, to: End, now: &[u32]) {
        let node = to.instance as usize;
        (self.core.moved, self.core.restless) = (true, true);
        self.core.nodes[node].stats.packets += now.len() as u64;
        if let Some(recorder) = &mut self.watch.recorder {
            recorder.slots_enter(now, node);
        }
        let begun = self.begin_run();
        self.with_builtin(node, |builtin, ctx| builtin.push_slots(to.port, now, ctx));
        self.end_run_of(node, begun);
        self.settle();
        self.move_slots();
    }

    /// Packets that a built-in element can take without losing one.
    pub(super) fn room(&self, node: usize) -> usize {
        if let Body::BuiltIn(Some(builtin)) = &self.core.nodes[node].body { builtin.room() } else { usize::MAX }
    }

    /// The packet of a slot, which is then free.
    pub(super) fn lift(&mut self, slot: u32, rounds: u8) -> Packet {
        let mut packet = lift(&mut self.core.pool, slot, rounds);
        self.note_lifted(&mut packet, slot);
        packet
    }
}

pub(super) fn lift(pool: &mut Pool, slot: u32, rounds: u8) -> Packet {
    let link = LinkType::from_file(pool.tag(slot));
    let buffer = pool.lift(slot);
    pool.give_back(&[slot]);
    Packet { buffer, rounds, link }
}
