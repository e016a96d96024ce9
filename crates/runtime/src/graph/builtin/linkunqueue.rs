//! LinkUnqueue: packets as they come out of a serial link.
//!
//! A packet enters the link when there is room on it, and its last bit leaves `length / bandwidth`
//! after that of the packet before it, or after the latency if the link was idle. Its time is then
//! when it leaves.

use super::super::{Args, ElementError, HandlerError, Packet, text};
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Ready, Task, TaskResult, element_handlers};
use std::collections::VecDeque;

/// The slowest link, in bytes a second.
const SLOWEST: u64 = 100;
/// Packets in the link at most: with a long latency there may be that many.
const MOST: usize = 1 << 16;

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "LinkUnqueue",
    ports: "1/1",
    processing: "l/h",
    flow: "",
    facts: Facts { holds_packets: true, ..Facts::OWN },
    manual: "LinkUnqueue(LATENCY, BANDWIDTH) -- pulls packets and pushes them as they leave a serial link\n\n\
             Each packet is delayed by LATENCY, by its own length at BANDWIDTH (384kbps, 2MBps; 100 Bps at least), and by the packets before it in the link. It is pulled when there is \
             room on the link, and has the time of its leaving.\nHandlers: latency bandwidth size r, reset w: what is in the link is dropped.",
    make: |setup| {
        let args = Args::parse(setup.arguments, &["LATENCY", "BANDWIDTH"], &[])?;
        args.required("LATENCY")?;
        args.required("BANDWIDTH")?;
        let (latency, bandwidth) = (args.duration("LATENCY", 0)?, args.bandwidth("BANDWIDTH", 0)?);
        if bandwidth < SLOWEST {
            return Err(ElementError::argument(format!("BANDWIDTH should be {SLOWEST}Bps or more")));
        }
        Ok(Box::new(LinkUnqueue { latency, bandwidth, link: VecDeque::new(), back_to_back: false }))
    },
};

struct LinkUnqueue {
    latency: u64,
    bandwidth: u64,
    /// In the order in which they leave; their times are when.
    link: VecDeque<Packet>,
    /// The last packet was followed by the next at once.
    back_to_back: bool,
}

impl LinkUnqueue {
    fn last(&self) -> Option<u64> {
        self.link.back().map(|packet| packet.buffer.time_ns)
    }

    fn has_room(&self, now: u64) -> bool {
        self.link.len() < MOST && self.last().is_none_or(|last| last <= now.saturating_add(self.latency))
    }

    /// Takes packets while there is room on the link.
    fn fill(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let (now, before) = (ctx.now(), self.link.len());
        while self.has_room(now) {
            let Some(mut packet) = ctx.pull(0) else {
                self.back_to_back = false;
                break;
            };
            let idle = now.saturating_add(self.latency);
            let start = self.last().filter(|_| self.back_to_back).unwrap_or(idle);
            let bits = u128::from(packet.buffer.wire_len()) * 1_000_000_000 / u128::from(self.bandwidth);
            packet.buffer.time_ns = start.saturating_add(u64::try_from(bits).unwrap_or(u64::MAX));
            self.link.push_back(packet);
            self.back_to_back = true;
        }
        self.link.len() > before
    }

    /// When there is something to do: a packet leaves, or there is room again for one that waits.
    fn next(&self, ctx: &Ctx<'_>) -> Option<u64> {
        let leaves = self.link.front()?.buffer.time_ns;
        let room = self.last().filter(|_| self.link.len() < MOST && ctx.ready().any_input()).map(|last| last.saturating_sub(self.latency));
        Some(room.map_or(leaves, |room| room.min(leaves)))
    }
}

impl BuiltIn for LinkUnqueue {
    fn held(&self) -> usize {
        self.link.len()
    }

    fn task(&mut self) -> Option<&mut dyn Task> {
        Some(self)
    }

    gives!(handlers);
}

impl Handlers for LinkUnqueue {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["latency", "bandwidth", "size"], &["reset"], &[])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "latency" => text::seconds(self.latency),
            "bandwidth" => self.bandwidth.to_string(),
            _ => self.link.len().to_string(),
        })
    }

    fn write(&mut self, _: &str, _: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        self.link.drain(..).for_each(|packet| ctx.drop_packet(&packet, "reset"));
        self.back_to_back = false;
        Ok(())
    }
}

impl Task for LinkUnqueue {
    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        let mut worked = self.fill(ctx);
        while self.link.front().is_some_and(|packet| packet.buffer.time_ns <= ctx.now()) {
            let Some(packet) = self.link.pop_front() else { break };
            ctx.emit(0, packet);
            worked = true;
        }
        match self.next(ctx) {
            Some(next) if next > ctx.now() => ctx.wake_at(next),
            _ => {}
        }
        if worked { TaskResult::Done } else { TaskResult::Idle }
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        !self.link.is_empty() || ctx.any_input()
    }
}
