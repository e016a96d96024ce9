//! Queues: where push meets pull.
//!
//! One element for all of Click's: what differs is which packet is dropped when there is no room,
//! and whether sources hear that it is full.

use super::super::{Args, ElementError, HandlerError, Packet};
use super::{BuiltIn, BuiltInClass, Ctx, CutThrough, ElementHandler, Facts, Handlers, Passage, Queue, Ready, Setup, element_handlers};
use netil::cut_through::Role;
use std::collections::VecDeque;

/// The largest capacity: what a configuration says is not what memory there is.
const MOST: u32 = 1 << 24;
const MANUAL: &str = "Queue([CAPACITY]) -- holds packets until they are pulled\n\nHolds up to CAPACITY (1000) packets, first in first out. A packet \
    for which there is no room leaves by output 1, or is dropped. Queue, NotifierQueue, FullNoteQueue, QuickNoteQueue and ThreadSafeQueue are this; sources before \
    Queue, FullNoteQueue and QuickNoteQueue wait while it is full. SimpleQueue is the same without telling sources. FrontDropQueue drops the oldest packet instead \
    of the new one. MixedQueue has a second input: packets that come in there go to the front, and the oldest of input 0 make room for them.\n\
    Handlers: length r, highwater_length r, drops r, capacity rw, reset_counts w, reset w.";

/// What holds of queues where a packet that comes last leaves last.
const FACTS: Facts =
    Facts { takes_bursts: true, holds_packets: true, queue: true, looks_at_annotations: false, role: |_| Some(Role::Queue), ..Facts::OWN };

macro_rules! queue {
    ($static:ident, $name:literal, $ports:literal, $policy:expr, $tells:literal, $facts:expr) => {
        pub(super) static $static: BuiltInClass = BuiltInClass {
            name: $name,
            ports: $ports,
            processing: "h/lh",
            flow: "",
            facts: Facts { tells_full: $tells, ..$facts },
            manual: MANUAL,
            make: |setup| make(setup, $policy, $tells),
        };
    };
}

queue!(QUEUE, "Queue", "1/1-2", Policy::DropNew, true, FACTS);
queue!(SIMPLE, "SimpleQueue", "1/1-2", Policy::DropNew, false, FACTS);
queue!(NOTIFIER, "NotifierQueue", "1/1-2", Policy::DropNew, false, FACTS);
queue!(FULL_NOTE, "FullNoteQueue", "1/1-2", Policy::DropNew, true, FACTS);
queue!(QUICK_NOTE, "QuickNoteQueue", "1/1-2", Policy::DropNew, true, FACTS);
queue!(THREAD_SAFE, "ThreadSafeQueue", "1/1-2", Policy::DropNew, true, FACTS);
queue!(MIXED, "MixedQueue", "2/1-2", Policy::Mixed, false, Facts { looks_at_annotations: true, role: |_| None, ..FACTS });
queue!(FRONT_DROP, "FrontDropQueue", "1/1-2", Policy::DropOld, false, FACTS);

/// Which packet goes when there is no room.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    DropNew,
    DropOld,
    Mixed,
}

fn make(setup: &Setup<'_>, policy: Policy, tells: bool) -> Result<Box<dyn BuiltIn>, ElementError> {
    let capacity = Args::parse(setup.arguments, &["CAPACITY"], &[])?.count("CAPACITY", 1000, MOST)? as usize;
    Ok(Box::new(Fifo { waiting: Waiting::default(), capacity, policy, tells, most: 0, drops: 0 }))
}

/// A packet that waits, or where it lies in the pool.
enum Held {
    Packet(Box<Packet>),
    Slot(u32),
}

/// Packets in order: for each where it lies in the pool, or that it is the next of those that do
/// not. So what is in the pool is moved by whole slices.
#[derive(Default)]
struct Waiting {
    order: VecDeque<u32>,
    packets: VecDeque<Box<Packet>>,
}

/// What stands for a packet that is not in the pool: no slot has that number.
const ELSEWHERE: u32 = u32::MAX;

impl Waiting {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn push_back(&mut self, held: Held) {
        self.order.push_back(match held {
            Held::Slot(slot) => slot,
            Held::Packet(packet) => {
                self.packets.push_back(packet);
                ELSEWHERE
            }
        });
    }

    fn push_front(&mut self, held: Held) {
        self.order.push_front(match held {
            Held::Slot(slot) => slot,
            Held::Packet(packet) => {
                self.packets.push_front(packet);
                ELSEWHERE
            }
        });
    }

    fn pop_front(&mut self) -> Option<Held> {
        match self.order.pop_front()? {
            ELSEWHERE => self.packets.pop_front().map(Held::Packet),
            slot => Some(Held::Slot(slot)),
        }
    }

    fn pop_back(&mut self) -> Option<Held> {
        match self.order.pop_back()? {
            ELSEWHERE => self.packets.pop_back().map(Held::Packet),
            slot => Some(Held::Slot(slot)),
        }
    }

    /// Those in the pool that are first, so many at most, behind `slots`. Where that is all of
    /// them, memory changes hands, and nothing is copied.
    fn take_slots(&mut self, slots: &mut Vec<u32>, most: usize) {
        if self.packets.is_empty() && slots.is_empty() && self.order.len() <= most {
            let free = VecDeque::from(std::mem::take(slots));
            *slots = Vec::from(std::mem::replace(&mut self.order, free));
            return;
        }
        let count = self.order.iter().take(most).take_while(|slot| **slot != ELSEWHERE).count();
        let (first, second) = self.order.as_slices();
        let split = first.len().min(count);
        slots.extend_from_slice(&first[..split]);
        slots.extend_from_slice(&second[..count - split]);
        self.order.drain(..count);
    }
}

impl Held {
    fn packet(self, ctx: &mut Ctx<'_>) -> Packet {
        match self {
            Self::Packet(packet) => *packet,
            Self::Slot(slot) => ctx.lift(slot),
        }
    }
}

struct Fifo {
    waiting: Waiting,
    capacity: usize,
    policy: Policy,
    tells: bool,
    /// The most packets there ever were.
    most: usize,
    drops: u64,
}

impl Fifo {
    /// The packet that has to go for a new one at that input, which may be the new one.
    fn enter(&mut self, port: u32, packet: Held) -> Option<Held> {
        let full = self.waiting.len() >= self.capacity;
        let gone = match self.policy {
            _ if self.capacity == 0 => return Some(packet),
            Policy::DropNew if full => return Some(packet),
            Policy::Mixed if full && port == 0 => return Some(packet),
            Policy::DropOld if full => self.waiting.pop_front(),
            Policy::Mixed if full => self.waiting.pop_back(),
            _ => None,
        };
        match port {
            0 => self.waiting.push_back(packet),
            _ => self.waiting.push_front(packet),
        }
        self.most = self.most.max(self.waiting.len());
        gone
    }

    fn set_capacity(&mut self, text: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        let number = super::super::text::integer(text).filter(|n| (0..=i64::from(MOST)).contains(n));
        self.capacity =
            number.ok_or_else(|| HandlerError::invalid(format!("CAPACITY should be a number up to {MOST}, not '{text}'")))? as usize;
        ctx.set_arguments(vec![format!("CAPACITY {}", self.capacity)]);
        while self.waiting.len() > self.capacity {
            if let Some(packet) = self.waiting.pop_back() {
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

impl BuiltIn for Fifo {
    fn held(&self) -> usize {
        self.waiting.len()
    }

    fn push(&mut self, port: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        self.push_one(port, Held::Packet(Box::new(packet)), ctx);
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.waiting.pop_front().map(|held| held.packet(ctx))
    }

    fn room(&self) -> usize {
        self.capacity.saturating_sub(self.waiting.len())
    }

    fn push_slots(&mut self, port: u32, slots: &[u32], ctx: &mut Ctx<'_>) {
        if port > 0 || slots.len() > self.room() {
            slots.iter().for_each(|slot| self.push_one(port, Held::Slot(*slot), ctx));
            return;
        }
        self.waiting.order.extend(slots);
        let most = if ctx.keeps_up() { usize::from(!slots.is_empty()) } else { self.waiting.len() };
        self.most = self.most.max(most);
    }

    gives!(queue);

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        self.waiting.len() > 0
    }

    gives!(cut_through);

    gives!(handlers);
}

impl Handlers for Fifo {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["length", "highwater_length", "drops"], &["reset", "reset_counts"], &["capacity", "config"])
    }

    fn read(&mut self, handler: &str, _: &str, ctx: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "length" => self.waiting.len().to_string(),
            "highwater_length" => self.most.to_string(),
            "drops" => self.drops.to_string(),
            "config" => ctx.arguments().join(", "),
            _ => self.capacity.to_string(),
        })
    }

    fn write(&mut self, handler: &str, text: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        match handler {
            "capacity" => return self.set_capacity(text, ctx),
            "config" => {
                let text = text.trim();
                return self.set_capacity(text.strip_prefix("CAPACITY").unwrap_or(text), ctx);
            }
            "reset" => {
                while let Some(packet) = self.waiting.pop_front() {
                    self.lose(packet, ctx);
                }
            }
            _ => (self.drops, self.most) = (0, self.waiting.len()),
        }
        Ok(())
    }
}

impl CutThrough for Fifo {
    fn passage(&self) -> Option<Passage<'_>> {
        (self.capacity > 0 && self.waiting.len() == 0).then_some(Passage::On)
    }

    fn passed(&mut self, packets: u64) {
        self.most = self.most.max(usize::from(packets > 0));
    }
}

impl Queue for Fifo {
    fn drop_slots(&mut self, slots: &mut Vec<u32>) {
        slots.extend(std::mem::take(&mut self.waiting).order.into_iter().filter(|slot| *slot != ELSEWHERE));
    }

    fn kept_up(&mut self) {
        self.most = self.most.max(self.waiting.len());
    }

    fn pull_slots(&mut self, slots: &mut Vec<u32>, most: usize) {
        self.waiting.take_slots(slots, most);
    }

    fn is_full(&self) -> Option<bool> {
        self.tells.then_some(self.waiting.len() >= self.capacity)
    }

    fn is_empty(&self) -> bool {
        self.waiting.len() == 0
    }
}
