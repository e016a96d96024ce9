//! FromDevice, PollDevice, ToDevice and ToHost where a live device stands for their name.
//!
//! Elements of one name share one device. Frames get the time of the run's clock when they are
//! taken from the kernel. What cannot be sent at once waits in the device, up to its limit; then
//! ToDevice leaves packets in the queue before it (back-pressure), and packets that are pushed are
//! dropped and counted.

use super::super::lock::lock;
use super::super::{Args, ElementError, HandlerError, Own, Packet};
use super::devices::Shared;
use super::force_ip::mark_ip;
use super::source_arguments::is_pulled;
use super::{BuiltIn, Ctx, ElementHandler, Handlers, Ready, Setup, Source, Task, TaskKind, TaskResult, element_handlers, encapsulation};
use crate::io::device::{self, Device, Options, Part, Spec};
use netil::pool::Arrival;

/// Packets that a sink takes in one turn.
const TURN: usize = 256;

/// Tells what happened to a device.
fn tell_news(device: &Shared, ctx: &mut Ctx<'_>) {
    let news = lock(device).take_news();
    news.iter().for_each(|line| ctx.tell(line));
}

/// A FromDevice.
pub(super) fn source(name: String, spec: &Spec, args: &Args, setup: &Setup<'_>, snaplen: u32) -> Result<Box<dyn BuiltIn>, ElementError> {
    let promiscuous = args.boolean("PROMISC", false)?;
    let share = setup.settings.share.as_ref();
    let toward = share.and_then(|share| share.toward(setup.node));
    let part = share.map(|share| Part { index: share.index as u32, replicas: share.replicas as u32, toward });
    let options = Options { receive: true, promiscuous, outgoing: args.boolean("OUTBOUND", false)?, part };
    Ok(Box::new(FromLive {
        name,
        spec: spec.clone(),
        options,
        own: share.filter(|_| toward.is_some()).map(|share| share.own(setup.node)),
        device: None,
        pulled: is_pulled(setup),
        active: args.boolean("ACTIVE", true)?,
        force_ip: args.boolean("FORCE_IP", false)?,
        handed: setup.settings.handed,
        snaplen,
        count: 0,
    }))
}

struct FromLive {
    name: String,
    spec: Spec,
    options: Options,
    /// Which of the frames that are received are its own, if not all.
    own: Option<Own>,
    device: Option<Shared>,
    pulled: bool,
    active: bool,
    force_ip: bool,
    /// Frames are packets that a program in the kernel has begun, with so many bytes of info
    /// memory.
    handed: Option<usize>,
    /// The most bytes of each packet.
    snaplen: u32,
    count: u64,
}

/// Leaves out frames that stand first and are another graph's.
fn pass_over(own: &mut Option<Own>, device: &mut Device) {
    let Some(own) = own else { return };
    while device.has_frames() && device.peek(0).is_some_and(|frame| !own.keeps(device.link(), frame)) {
        device.take(1);
    }
}

impl FromLive {
    /// Whether a frame is there.
    fn prepare(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some(device) = self.device.as_ref().filter(|_| self.active) else { return false };
        pass_over(&mut self.own, &mut lock(device));
        let some = lock(device).has_frames();
        tell_news(device, ctx);
        some
    }

    /// The next frame is a packet that is handed over.
    fn go_on(&mut self, info: usize, ctx: &mut Ctx<'_>) {
        let Some(mut device) = self.device.as_ref().map(|device| lock(device)) else { return };
        let went = device.peek(0).is_some_and(|frame| ctx.go_on(frame, info));
        device.take(1);
        if !went {
            device.drop_frames("no packet that was handed over", 1);
        }
    }

    /// The next frame as a packet; `None` where it goes another way.
    fn take(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let mut device = lock(self.device.as_ref()?);
        let link = device.link();
        let frame = device.peek(0)?;
        let len = frame.len();
        let mut packet = Packet::new(frame.get(..self.snaplen as usize).unwrap_or(frame), ctx.now(), ctx.info());
        device.take(1);
        drop(device);
        packet.buffer.set_wire_len(len as u32);
        packet.link = link;
        self.count += 1;
        if !self.force_ip || mark_ip(&mut packet, ctx) {
            return Some(packet);
        }
        ctx.emit_or_drop(1, packet, "no IP packet");
        None
    }
}

impl BuiltIn for FromLive {
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.device = Some(ctx.graph.outside.devices.live.device(&self.name, &self.spec, self.options)?);
        Ok(())
    }

    fn source(&mut self) -> Option<&mut dyn Source> {
        if self.pulled { None } else { Some(self) }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        while self.prepare(ctx) {
            if let Some(packet) = self.take(ctx) {
                return Some(packet);
            }
        }
        None
    }

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        let device = self.device.as_ref().filter(|_| self.active);
        device.is_some_and(|device| lock(device).has_frames())
    }

    gives!(handlers);
}

impl Handlers for FromLive {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count", "encap", "kernel_drops"], &["reset_counts"], &["active"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        let Some(device) = &self.device else { return Ok(String::new()) };
        Ok(match handler {
            "count" => self.count.to_string(),
            "encap" => encapsulation::name(lock(device).link()),
            "kernel_drops" => lock(device).drops().get(device::BUFFER_FULL).copied().unwrap_or(0).to_string(),
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

impl Source for FromLive {
    fn next_arrival(&mut self, ctx: &mut Ctx<'_>) -> Option<u64> {
        self.prepare(ctx).then(|| ctx.now())
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
        let now = ctx.now();
        let mut device = lock(self.device.as_ref().filter(|_| !self.force_ip && self.handed.is_none() && now < until)?);
        let (link, before, snaplen) = (device.link().number(), slots.len(), self.snaplen as usize);
        let (own, frames_of) = (&mut self.own, device.link());
        // One that is another graph's ends the burst.
        let mut is_own = |frame: &&[u8]| own.as_mut().is_none_or(|own| own.keeps(frames_of, frame));
        let frames = (0..most.saturating_sub(before)).map_while(|index| device.peek(index).filter(&mut is_own));
        let arrivals = frames.map(|frame| {
            let bytes = frame.get(..snaplen).unwrap_or(frame);
            Arrival { bytes, len: bytes.len(), time_ns: now, wire_len: frame.len() as u32 }
        });
        ctx.pool().put_many(arrivals, link, slots);
        let count = slots.len() - before;
        device.take(count);
        self.count += count as u64;
        (count > 0).then_some(now)
    }

    fn takes_back(&self) -> bool {
        !self.force_ip
    }

    fn take_back(&mut self, slots: &[u32], ctx: &mut Ctx<'_>) {
        self.count -= slots.len() as u64;
        if let Some(device) = &self.device {
            lock(device).take_back(slots.len());
        }
        ctx.pool().give_back(slots);
    }
}

/// A ToDevice.
pub(super) fn sink(name: String, spec: &Spec, setup: &Setup<'_>) -> Box<dyn BuiltIn> {
    let pulls = setup.pulled.first() == Some(&true);
    Box::new(ToLive { name, spec: spec.clone(), device: None, pulls, count: 0, slots: Vec::new() })
}

struct ToLive {
    name: String,
    spec: Spec,
    device: Option<Shared>,
    pulls: bool,
    count: u64,
    /// Packets just pulled.
    slots: Vec<u32>,
}

impl ToLive {
    /// How many frames the device has room for.
    fn room(&self) -> usize {
        self.device.as_ref().map_or(0, |device| lock(device).room())
    }

    fn flush(&self, ctx: &mut Ctx<'_>) {
        if let Some(device) = &self.device {
            lock(device).flush();
            tell_news(device, ctx);
        }
    }

    fn send(&mut self, packet: &Packet) {
        if let Some(device) = &self.device {
            self.count += u64::from(lock(device).send(packet.buffer.bytes()));
        }
    }

    fn send_slots(&mut self, slots: &[u32], ctx: &mut Ctx<'_>) {
        let Some(device) = &self.device else { return };
        let (mut device, pool) = (lock(device), ctx.pool());
        self.count += slots.iter().map(|slot| u64::from(device.send(pool.bytes(*slot)))).sum::<u64>();
        pool.give_back(slots);
    }

    /// Packets in the pool that are next, so many at most. False if there are none.
    fn take_slots(&mut self, most: usize, ctx: &mut Ctx<'_>) -> bool {
        let mut slots = std::mem::take(&mut self.slots);
        ctx.pull_slots(0, &mut slots, most);
        self.send_slots(&slots, ctx);
        let some = !slots.is_empty();
        slots.clear();
        self.slots = slots;
        some
    }
}

impl BuiltIn for ToLive {
    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.device = Some(ctx.graph.outside.devices.live.device(&self.name, &self.spec, Options::default())?);
        Ok(())
    }

    fn push(&mut self, _: u32, packet: Packet, _: &mut Ctx<'_>) {
        self.send(&packet);
    }

    fn push_slots(&mut self, _: u32, slots: &[u32], ctx: &mut Ctx<'_>) {
        self.send_slots(slots, ctx);
    }

    fn task(&mut self) -> Option<&mut dyn Task> {
        if self.pulls { Some(self) } else { None }
    }

    gives!(handlers);

    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.flush(ctx);
        Ok(())
    }
}

impl Handlers for ToLive {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count"], &["reset_counts"], &[])
    }

    fn read(&mut self, _: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(self.count.to_string())
    }

    fn write(&mut self, _: &str, _: &str, _: &mut Ctx<'_>) -> Result<(), HandlerError> {
        self.count = 0;
        Ok(())
    }
}

impl Task for ToLive {
    fn kind(&self) -> TaskKind {
        TaskKind::Empties
    }

    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        for sent in 0..TURN {
            if self.room() == 0 {
                self.flush(ctx);
            }
            // What does not fit stays in the queue.
            let room = self.room();
            if room == 0 {
                break;
            }
            if self.take_slots(room, ctx) {
                continue;
            }
            let Some(packet) = ctx.pull(0) else {
                self.flush(ctx);
                return if sent == 0 { TaskResult::Idle } else { TaskResult::Done };
            };
            self.send(&packet);
        }
        self.flush(ctx);
        if self.room() > 0 { TaskResult::Done } else { TaskResult::Idle }
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        ctx.any_input()
    }
}
