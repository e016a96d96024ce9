//! Queues: where push meets pull.
//!
//! One element for all of Click's: what differs is which packet is dropped when there is no room, and whether sources hear that it is full.

use super::super::{Args, Packet};
use super::{Control, Ctx, Native, NativeClass, Ready, Setup, controls};
use std::collections::VecDeque;

/// The largest capacity: what a configuration says is not what memory there is.
const MOST: u32 = 1 << 24;
const MANUAL: &str = "Queue([CAPACITY]) -- holds packets until they are pulled\n\nHolds up to CAPACITY (1000) packets, first in first out. A packet \
    for which there is no room leaves by output 1, or is dropped. Queue, NotifierQueue, FullNoteQueue, QuickNoteQueue and ThreadSafeQueue are this; sources before \
    Queue, FullNoteQueue and QuickNoteQueue wait while it is full. SimpleQueue is the same without telling sources. FrontDropQueue drops the oldest packet instead \
    of the new one. MixedQueue has a second input: packets that come in there go to the front, and the oldest of input 0 make room for them.\n\
    Handlers: length r, highwater_length r, drops r, capacity rw, reset_counts w, reset w.";

macro_rules! queue {
    ($static:ident, $name:literal, $ports:literal, $policy:expr, $tells:literal) => {
        pub(super) static $static: NativeClass = NativeClass {
            name: $name,
            ports: $ports,
            processing: "h/lh",
            flow: "",
            manual: MANUAL,
            make: |setup| make(setup, $policy, $tells),
        };
    };
}

queue!(QUEUE, "Queue", "1/1-2", Policy::DropNew, true);
queue!(SIMPLE, "SimpleQueue", "1/1-2", Policy::DropNew, false);
queue!(NOTIFIER, "NotifierQueue", "1/1-2", Policy::DropNew, false);
queue!(FULL_NOTE, "FullNoteQueue", "1/1-2", Policy::DropNew, true);
queue!(QUICK_NOTE, "QuickNoteQueue", "1/1-2", Policy::DropNew, true);
queue!(THREAD_SAFE, "ThreadSafeQueue", "1/1-2", Policy::DropNew, true);
queue!(MIXED, "MixedQueue", "2/1-2", Policy::Mixed, false);
queue!(FRONT_DROP, "FrontDropQueue", "1/1-2", Policy::DropOld, false);

/// Which packet goes when there is no room.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    DropNew,
    DropOld,
    Mixed,
}

fn make(setup: &Setup<'_>, policy: Policy, tells: bool) -> Result<Box<dyn Native>, String> {
    let capacity = Args::parse(setup.arguments, &["CAPACITY"], &[])?.count("CAPACITY", 1000, MOST)? as usize;
    Ok(Box::new(Queue { packets: VecDeque::new(), capacity, policy, tells, most: 0, drops: 0 }))
}

/// A packet that waits, or where it lies in the pool.
enum Held {
    Packet(Box<Packet>),
    Slot(u32),
}

impl Held {
    fn packet(self, ctx: &mut Ctx<'_>) -> Packet {
        match self {
            Self::Packet(packet) => *packet,
            Self::Slot(slot) => ctx.lift(slot),
        }
    }
}

struct Queue {
    packets: VecDeque<Held>,
    capacity: usize,
    policy: Policy,
    tells: bool,
    /// The most packets there ever were.
    most: usize,
    drops: u64,
}

impl Queue {
    /// The packet that has to go for a new one at that input, which may be the new one.
    fn enter(&mut self, port: u32, packet: Held) -> Option<Held> {
        let full = self.packets.len() >= self.capacity;
        let gone = match self.policy {
            _ if self.capacity == 0 => return Some(packet),
            Policy::DropNew if full => return Some(packet),
            Policy::Mixed if full && port == 0 => return Some(packet),
            Policy::DropOld if full => self.packets.pop_front(),
            Policy::Mixed if full => self.packets.pop_back(),
            _ => None,
        };
        match port {
            0 => self.packets.push_back(packet),
            _ => self.packets.push_front(packet),
        }
        self.most = self.most.max(self.packets.len());
        gone
    }

    fn set_capacity(&mut self, text: &str, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let number = super::super::text::integer(text).filter(|n| (0..=i64::from(MOST)).contains(n));
        self.capacity = number.ok_or_else(|| format!("CAPACITY should be a number up to {MOST}, not '{text}'"))? as usize;
        ctx.set_arguments(vec![format!("CAPACITY {}", self.capacity)]);
        while self.packets.len() > self.capacity {
            if let Some(packet) = self.packets.pop_back() {
                self.lose(packet, ctx);
            }
        }
        Ok(())
    }

    fn push_one(&mut self, port: u32, packet: Held, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.enter(port, packet) {
            self.lose(packet, ctx);
        }
    }

    fn lose(&mut self, packet: Held, ctx: &mut Ctx<'_>) {
        self.drops += 1;
        let packet = packet.packet(ctx);
        ctx.emit_or_drop(1, packet, "queue full");
    }
}

impl Native for Queue {
    fn push(&mut self, port: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        self.push_one(port, Held::Packet(Box::new(packet)), ctx);
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.packets.pop_front().map(|held| held.packet(ctx))
    }

    fn takes_bursts(&self) -> bool {
        true
    }

    fn room(&self) -> usize {
        self.capacity.saturating_sub(self.packets.len())
    }

    fn push_slots(&mut self, port: u32, slots: &[u32], ctx: &mut Ctx<'_>) {
        if port > 0 || slots.len() > self.room() {
            slots.iter().for_each(|slot| self.push_one(port, Held::Slot(*slot), ctx));
            return;
        }
        self.packets.extend(slots.iter().map(|slot| Held::Slot(*slot)));
        self.most = self.most.max(self.packets.len());
    }

    fn pull_slots(&mut self, _: u32, slots: &mut Vec<u32>, _: &mut Ctx<'_>) {
        let count = self.packets.iter().take_while(|held| matches!(held, Held::Slot(_))).count();
        slots.extend(self.packets.drain(..count).filter_map(|held| if let Held::Slot(slot) = held { Some(slot) } else { None }));
    }

    fn is_full(&self) -> Option<bool> {
        self.tells.then_some(self.packets.len() >= self.capacity)
    }

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        !self.packets.is_empty()
    }

    fn controls(&self) -> Vec<Control> {
        controls(&["length", "highwater_length", "drops"], &["reset", "reset_counts"], &["capacity", "config"])
    }

    fn read(&mut self, handler: &str, _: &str, ctx: &mut Ctx<'_>) -> Result<String, String> {
        Ok(match handler {
            "length" => self.packets.len().to_string(),
            "highwater_length" => self.most.to_string(),
            "drops" => self.drops.to_string(),
            "config" => ctx.arguments().join(", "),
            _ => self.capacity.to_string(),
        })
    }

    fn write(&mut self, handler: &str, text: &str, ctx: &mut Ctx<'_>) -> Result<(), String> {
        match handler {
            "capacity" => return self.set_capacity(text, ctx),
            "config" => {
                let text = text.trim();
                return self.set_capacity(text.strip_prefix("CAPACITY").unwrap_or(text), ctx);
            }
            "reset" => {
                while let Some(packet) = self.packets.pop_front() {
                    self.lose(packet, ctx);
                }
            }
            _ => (self.drops, self.most) = (0, self.packets.len()),
        }
        Ok(())
    }
}
