//! FromDevice and ToDevice of a graph that another program embeds: packets come from queues that
//! the program fills, and go to queues that it empties.

use super::super::{HandlerError, Packet};
use super::packet_port::{Lent, PacketPort};
use super::source_arguments::is_pulled;
use super::{
    BuiltIn, Ctx, CutThrough, ElementHandler, Handlers, Passage, Ready, Setup, Source, Task, TaskKind, TaskResult, element_handlers,
};
use crate::io::LinkType;
use netil::pool::Arrival;
use std::sync::Arc;

/// A FromDevice.
pub(super) fn source(port: &Arc<PacketPort>, name: String, setup: &Setup<'_>, snaplen: u32) -> Box<dyn BuiltIn> {
    Box::new(FromPort {
        port: Arc::clone(port),
        name,
        pulled: is_pulled(setup),
        active: true,
        snaplen: snaplen as usize,
        handed: setup.settings.handed,
        count: 0,
    })
}

struct FromPort {
    port: Arc<PacketPort>,
    name: String,
    pulled: bool,
    active: bool,
    snaplen: usize,
    /// Packets are such that a program in the kernel has begun, with so many bytes of info memory.
    handed: Option<usize>,
    count: u64,
}

impl FromPort {
    /// The next one is a packet that is handed over.
    fn go_on(&mut self, info: usize, ctx: &mut Ctx<'_>) {
        let frame = self.port.into.with(|batch| {
            let frame = batch.waiting().next().map(|next| next.bytes.to_vec());
            batch.next += usize::from(frame.is_some());
            frame
        });
        self.count += u64::from(frame.is_some_and(|frame| ctx.go_on(&frame, info)));
    }

    fn take(&mut self, ctx: &Ctx<'_>) -> Option<Packet> {
        let (active, snaplen) = (self.active, self.snaplen);
        let packet = self.port.into.with(|batch| {
            let next = batch.waiting().next().filter(|_| active)?;
            let mut packet = Packet::new(&next.bytes[..next.bytes.len().min(snaplen)], next.time_ns, ctx.info());
            packet.buffer.set_wire_len(next.wire_len);
            packet.link = next.link;
            batch.next += 1;
            Some(packet)
        })?;
        self.count += 1;
        Some(packet)
    }
}

impl BuiltIn for FromPort {
    fn source(&mut self) -> Option<&mut dyn Source> {
        if self.pulled { None } else { Some(self) }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.take(ctx)
    }

    gives!(cut_through);

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        self.active && self.port.waiting()[0] > 0
    }

    gives!(handlers);
}

impl Handlers for FromPort {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count", "filename"], &["reset_counts"], &["active"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "count" => self.count.to_string(),
            "filename" => self.name.clone(),
            _ => self.active.to_string(),
        })
    }

    fn write(&mut self, handler: &str, value: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        match handler {
            "active" => self.active = super::boolean(value)?,
            _ => self.count = 0,
        }
        Ok(())
    }
}

impl CutThrough for FromPort {
    fn passage(&self) -> Option<Passage<'_>> {
        let takes = self.active && !self.pulled && self.handed.is_none();
        takes.then_some(Passage::From(&self.port, self.snaplen))
    }

    fn passed(&mut self, packets: u64) {
        self.count += packets;
    }
}

impl Source for FromPort {
    fn next_arrival(&mut self, _: &mut Ctx<'_>) -> Option<u64> {
        self.port.into.first().filter(|_| self.active)
    }

    fn arrive(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(info) = self.handed {
            return self.go_on(info, ctx);
        }
        if let Some(packet) = self.take(ctx) {
            ctx.emit(0, packet);
        }
    }

    fn arrive_many(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> Option<u64> {
        if !self.active || self.handed.is_some() || self.port.into.len() == 0 {
            return None;
        }
        let (before, snaplen) = (slots.len(), self.snaplen);
        let room = most.saturating_sub(before).min(ctx.pool().room());
        let last = self.port.into.with(|batch| {
            let (link, mut last) = (batch.waiting().next()?.link, None);
            let coming = batch.waiting().take(room).take_while(|packet| packet.time_ns < until && packet.link == link).map(|packet| {
                last = Some(packet.time_ns);
                Arrival { bytes: packet.bytes, len: packet.bytes.len().min(snaplen), time_ns: packet.time_ns, wire_len: packet.wire_len }
            });
            ctx.pool().put_many(coming, link.number(), slots);
            batch.next += slots.len() - before;
            last
        });
        let count = slots.len() - before;
        self.count += count as u64;
        last.filter(|_| count > 0)
    }

    fn takes_back(&self) -> bool {
        true
    }

    fn take_back(&mut self, slots: &[u32], ctx: &mut Ctx<'_>) {
        self.count -= slots.len() as u64;
        self.port.into.with(|batch| batch.next -= slots.len());
        ctx.pool().give_back(slots);
    }
}

/// A ToDevice.
pub(super) fn sink(port: &Arc<PacketPort>, name: String, setup: &Setup<'_>) -> Box<dyn BuiltIn> {
    let pulls = setup.pulled.first() == Some(&true);
    Box::new(ToPort { port: Arc::clone(port), name, pulls, count: 0, slots: Vec::new() })
}

struct ToPort {
    port: Arc<PacketPort>,
    name: String,
    pulls: bool,
    count: u64,
    /// Packets just pulled.
    slots: Vec<u32>,
}

impl ToPort {
    fn send(&mut self, packet: &Packet, ctx: &mut Ctx<'_>) {
        let (bytes, wire_len, time_ns) = (packet.buffer.bytes(), packet.wire_len(), packet.buffer.time_ns);
        match self.port.from.with(|batch| batch.push(Lent { bytes, wire_len, time_ns, link: packet.link })) {
            true => self.count += 1,
            false => ctx.drop_packet(packet, "nobody takes what was sent"),
        }
    }

    fn send_slots(&mut self, slots: &[u32], ctx: &mut Ctx<'_>) {
        if slots.is_empty() {
            return;
        }
        let pool = ctx.pool();
        let sent = self.port.from.with(|batch| {
            let sent = slots.iter().take_while(|slot| {
                let (bytes, time_ns, link) = (pool.bytes(**slot), pool.slot(**slot).time_ns, LinkType::from_file(pool.tag(**slot)));
                batch.push(Lent { bytes, wire_len: pool.wire_len(**slot), time_ns, link })
            });
            sent.count()
        });
        let (sent, left) = slots.split_at(sent);
        self.count += sent.len() as u64;
        pool.give_back(sent);
        for slot in left {
            let packet = ctx.lift(*slot);
            ctx.drop_packet(&packet, "nobody takes what was sent");
        }
    }

    /// Packets in the pool that are next, as many as there is room for. False if there are none.
    fn take_slots(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let mut slots = std::mem::take(&mut self.slots);
        let most = self.port.from.with(|batch| batch.room());
        ctx.pull_slots(0, &mut slots, most);
        self.send_slots(&slots, ctx);
        let some = !slots.is_empty();
        slots.clear();
        self.slots = slots;
        some
    }
}

impl BuiltIn for ToPort {
    fn push(&mut self, _: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        self.send(&packet, ctx);
    }

    fn push_slots(&mut self, _: u32, slots: &[u32], ctx: &mut Ctx<'_>) {
        self.send_slots(slots, ctx);
    }

    fn task(&mut self) -> Option<&mut dyn Task> {
        if self.pulls { Some(self) } else { None }
    }

    gives!(cut_through);

    gives!(handlers);
}

impl Handlers for ToPort {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count", "filename"], &["reset_counts"], &[])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(if handler == "filename" { self.name.clone() } else { self.count.to_string() })
    }

    fn write(&mut self, _: &str, _: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        self.count = 0;
        Ok(())
    }
}

impl CutThrough for ToPort {
    fn passage(&self) -> Option<Passage<'_>> {
        Some(Passage::To(&self.port))
    }

    fn passed(&mut self, packets: u64) {
        self.count += packets;
    }
}

impl Task for ToPort {
    fn kind(&self) -> TaskKind {
        TaskKind::Pulls
    }

    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        // What does not fit stays in the queue.
        if !self.port.from.has_room() {
            return TaskResult::Idle;
        }
        if self.take_slots(ctx) {
            return TaskResult::Again;
        }
        let Some(packet) = ctx.pull(0) else { return TaskResult::Idle };
        self.send(&packet, ctx);
        TaskResult::Done
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        self.port.from.has_room() && ctx.any_input()
    }
}
