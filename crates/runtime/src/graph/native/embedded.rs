//! FromDevice and ToDevice of a graph that another program embeds: packets come from queues that the program fills, and go to queues that it empties.
//!
//! A queue holds [`MOST`] packets or [`MOST_BYTES`] bytes. What does not fit is refused where the program pushes; a ToDevice that pulls leaves it in
//! the queue before it, and packets that are pushed to it are dropped and counted.

use super::super::Packet;
use super::fromdump::is_pulled;
use super::{Control, Ctx, Native, Ready, Setup, Task, controls};
use crate::io::LinkType;
use netil::pool::Arrival;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most packets of a queue.
pub const MOST: usize = 1 << 16;
/// The most bytes of them.
pub const MOST_BYTES: usize = 64 << 20;

/// A packet at a port, lent for the time of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent<'b> {
    /// Its bytes.
    pub bytes: &'b [u8],
    /// How many it had on the wire.
    pub wire_len: u32,
    /// When it came, in nanoseconds since 1970.
    pub time_ns: u64,
    /// What it begins with.
    pub link: LinkType,
}

/// Packets one behind the other.
#[derive(Debug, Default)]
struct Queue {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// The first that has not been taken.
    next: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: usize,
    len: usize,
    wire_len: u32,
    time_ns: u64,
    link: LinkType,
}

impl Queue {
    /// False if there is no room.
    fn push(&mut self, packet: Lent<'_>) -> bool {
        if self.next == self.entries.len() {
            self.bytes.clear();
            self.entries.clear();
            self.next = 0;
        }
        if self.entries.len() >= MOST || self.bytes.len() + packet.bytes.len() > MOST_BYTES {
            return false;
        }
        let (at, len) = (self.bytes.len(), packet.bytes.len());
        self.bytes.extend_from_slice(packet.bytes);
        let Lent { wire_len, time_ns, link, .. } = packet;
        self.entries.push(Entry { at, len, wire_len, time_ns, link });
        true
    }

    fn has_room(&self) -> bool {
        self.next == self.entries.len() || self.entries.len() < MOST && self.bytes.len() + netil::exec::MAX_PACKET as usize <= MOST_BYTES
    }

    /// Those that have not been taken, in order.
    fn waiting(&self) -> impl Iterator<Item = Lent<'_>> {
        self.entries[self.next..].iter().map(|entry| {
            let Entry { at, len, wire_len, time_ns, link } = *entry;
            Lent { bytes: &self.bytes[at..at + len], wire_len, time_ns, link }
        })
    }
}

/// A device of an embedded graph: what came for it, and what it sent.
#[derive(Debug, Default)]
pub struct PacketPort {
    into: Mutex<Queue>,
    from: Mutex<Queue>,
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PacketPort {
    /// A packet comes; false if there is no room for it. Of more bytes than packets may have the first are taken.
    pub fn push(&self, packet: Lent<'_>) -> bool {
        let bytes = &packet.bytes[..packet.bytes.len().min(netil::exec::MAX_PACKET as usize)];
        lock(&self.into).push(Lent { bytes, wire_len: packet.wire_len.max(bytes.len() as u32), ..packet })
    }

    /// Takes packets that were sent, in order, as long as the caller wants more; how many.
    pub fn take(&self, mut wants: impl FnMut(Lent<'_>) -> bool) -> usize {
        let mut queue = lock(&self.from);
        let count = queue.waiting().take_while(|packet| wants(*packet)).count();
        queue.next += count;
        count
    }

    /// How many packets wait for the graph, and for the program.
    pub fn waiting(&self) -> [usize; 2] {
        [&self.into, &self.from].map(|queue| lock(queue).waiting().count())
    }
}

/// A FromDevice.
pub(super) fn source(port: &Arc<PacketPort>, name: String, setup: &Setup<'_>, snaplen: u32) -> Box<dyn Native> {
    Box::new(Source { port: Arc::clone(port), name, pulled: is_pulled(setup), active: true, snaplen: snaplen as usize, count: 0 })
}

struct Source {
    port: Arc<PacketPort>,
    name: String,
    pulled: bool,
    active: bool,
    snaplen: usize,
    count: u64,
}

impl Source {
    fn take(&mut self, ctx: &Ctx<'_>) -> Option<Packet> {
        let mut queue = lock(&self.port.into);
        let next = queue.waiting().next().filter(|_| self.active)?;
        let mut packet = Packet::new(&next.bytes[..next.bytes.len().min(self.snaplen)], next.time_ns, ctx.info());
        packet.buffer.set_wire_len(next.wire_len);
        packet.link = next.link;
        queue.next += 1;
        self.count += 1;
        Some(packet)
    }
}

impl Native for Source {
    fn is_source(&self) -> bool {
        !self.pulled
    }

    fn next_arrival(&mut self, _: &mut Ctx<'_>) -> Option<u64> {
        lock(&self.port.into).waiting().next().filter(|_| self.active).map(|packet| packet.time_ns)
    }

    fn arrive(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.take(ctx) {
            ctx.emit(0, packet);
        }
    }

    fn arrive_many(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> Option<u64> {
        let port = Arc::clone(&self.port);
        let mut queue = lock(&port.into);
        let link = queue.waiting().next().filter(|_| self.active)?.link;
        let (before, mut last) = (slots.len(), None);
        let room = most.saturating_sub(before).min(ctx.pool().room());
        let coming = queue.waiting().take(room).take_while(|packet| packet.time_ns < until && packet.link == link).map(|packet| {
            last = Some(packet.time_ns);
            let len = packet.bytes.len().min(self.snaplen);
            Arrival { bytes: packet.bytes, len, time_ns: packet.time_ns, wire_len: packet.wire_len }
        });
        ctx.pool().put_many(coming, link.number(), slots);
        let count = slots.len() - before;
        queue.next += count;
        self.count += count as u64;
        last.filter(|_| count > 0)
    }

    fn takes_back(&self) -> bool {
        true
    }

    fn take_back(&mut self, slots: &[u32], ctx: &mut Ctx<'_>) {
        self.count -= slots.len() as u64;
        lock(&self.port.into).next -= slots.len();
        ctx.pool().give_back(slots);
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.take(ctx)
    }

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        self.active && self.port.waiting()[0] > 0
    }

    fn controls(&self) -> Vec<Control> {
        controls(&["count", "filename"], &["reset_counts"], &["active"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, String> {
        Ok(match handler {
            "count" => self.count.to_string(),
            "filename" => self.name.clone(),
            _ => self.active.to_string(),
        })
    }

    fn write(&mut self, handler: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), String> {
        match handler {
            "active" => self.active = super::boolean(value)?,
            _ => self.count = 0,
        }
        Ok(())
    }
}

/// A ToDevice.
pub(super) fn sink(port: &Arc<PacketPort>, name: String, setup: &Setup<'_>) -> Box<dyn Native> {
    let pulls = setup.pulled.first() == Some(&true);
    Box::new(Sink { port: Arc::clone(port), name, pulls, count: 0, slots: Vec::new() })
}

struct Sink {
    port: Arc<PacketPort>,
    name: String,
    pulls: bool,
    count: u64,
    /// Packets just pulled.
    slots: Vec<u32>,
}

impl Sink {
    fn send(&mut self, packet: &Packet, ctx: &mut Ctx<'_>) {
        let (bytes, wire_len, time_ns) = (packet.buffer.bytes(), packet.wire_len(), packet.buffer.time_ns);
        match lock(&self.port.from).push(Lent { bytes, wire_len, time_ns, link: packet.link }) {
            true => self.count += 1,
            false => ctx.drop_packet(packet, "nobody takes what was sent"),
        }
    }

    fn send_slots(&mut self, slots: &[u32], ctx: &mut Ctx<'_>) {
        let port = Arc::clone(&self.port);
        let mut queue = lock(&port.from);
        let pool = ctx.pool();
        let sent = slots.iter().take_while(|slot| {
            let (bytes, time_ns, link) = (pool.bytes(**slot), pool.slot(**slot).time_ns, LinkType::from_file(pool.tag(**slot)));
            queue.push(Lent { bytes, wire_len: pool.wire_len(**slot), time_ns, link })
        });
        let (sent, left) = slots.split_at(sent.count());
        self.count += sent.len() as u64;
        pool.give_back(sent);
        for slot in left {
            let packet = ctx.lift(*slot);
            ctx.drop_packet(&packet, "nobody takes what was sent");
        }
    }

    /// All packets in the pool that are next. False if there are none.
    fn take_slots(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let mut slots = std::mem::take(&mut self.slots);
        ctx.pull_slots(0, &mut slots);
        self.send_slots(&slots, ctx);
        let some = !slots.is_empty();
        slots.clear();
        self.slots = slots;
        some
    }
}

impl Native for Sink {
    fn takes_bursts(&self) -> bool {
        true
    }

    fn push(&mut self, _: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        self.send(&packet, ctx);
    }

    fn push_slots(&mut self, _: u32, slots: &[u32], ctx: &mut Ctx<'_>) {
        self.send_slots(slots, ctx);
    }

    fn is_task(&self) -> bool {
        self.pulls
    }

    fn task(&mut self, ctx: &mut Ctx<'_>) -> Task {
        // What does not fit stays in the queue.
        if !lock(&self.port.from).has_room() {
            return Task::Idle;
        }
        if self.take_slots(ctx) {
            return Task::Again;
        }
        let Some(packet) = ctx.pull(0) else { return Task::Idle };
        self.send(&packet, ctx);
        Task::Done
    }

    fn only_pulls(&self) -> bool {
        self.pulls
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        lock(&self.port.from).has_room() && ctx.any_input()
    }

    fn controls(&self) -> Vec<Control> {
        controls(&["count", "filename"], &["reset_counts"], &[])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, String> {
        Ok(if handler == "filename" { self.name.clone() } else { self.count.to_string() })
    }

    fn write(&mut self, _: &str, _: &str, _: &mut Ctx<'_>) -> Result<(), String> {
        self.count = 0;
        Ok(())
    }
}
