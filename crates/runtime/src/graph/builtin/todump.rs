//! ToDump, ToDevice, ToHost: packets into captures.
//!
//! A device is a capture that the run's settings map its name to. A device that nothing is said of
//! takes packets and keeps none, so that a configuration runs where only its sources are captures;
//! statistics count what it took. Elements of one device write one capture, in the order in which
//! packets come to them; so do the elements of several graphs that share an application.

use super::super::lock::lock;
use super::super::share::{Output, Share};
use super::super::{Args, ElementError, HandlerError, Packet};
use super::devices::{Devices, Written};
use super::{
    BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Medium, Ready, Setup, Shared, Task, TaskKind, TaskResult,
    element_handlers, link_type,
};
use crate::io::{Compression, Format, LinkType, Precision, Timestamp, WriteOptions, Writer};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub(super) static TO_DUMP: BuiltInClass = BuiltInClass {
    name: "ToDump",
    ports: "1/0-1",
    processing: "a/a",
    flow: "",
    facts: Facts { writes: Some(Medium::File), looks_at_annotations: false, shared: Shared::Own, ..Facts::WRITER },
    manual: "ToDump(FILENAME [, SNAPLEN, ENCAP, USE_ENCAP_FROM, EXTRA_LENGTH, NANO, UNBUFFERED]) -- writes packets into a capture\n\n\
             SNAPLEN bytes of each at most (2000; 0: all). ENCAP says what packets begin with: ETHER (the default), IP, FDDI, ATM, 802_11, SLL, PPP, NULL; USE_ENCAP_FROM \
             names elements whose handler encap says it. EXTRA_LENGTH false: what was not captured of a packet is not counted in its length. NANO false: times in microseconds. UNBUFFERED has no \
             effect. - is standard output. With an output packets go on there.\nHandlers: count filename r, reset_counts w.",
    make: |setup| make(setup, false),
};

pub(super) static TO_DEVICE: BuiltInClass = BuiltInClass {
    name: "ToDevice",
    ports: "1/0-2",
    processing: "a/h",
    flow: "",
    facts: Facts { device: super::source_arguments::first_device, looks_at_annotations: false, shared: Shared::Own, ..Facts::WRITER },
    manual: "ToDevice(DEVNAME, ...) -- sends packets by an interface, or writes them into a capture that stands for one\n\n--map DEVNAME=dev:IF, gso:IF, xdp:IF and tap:NAME make it live: \
             what the interface does not take at once stays in the queue before this element, and packets that are pushed are dropped and counted. A capture is told by --map DEVNAME=FILE for a device that no FromDevice \
             reads, or by --map DEVNAME=IN,OUT; without, packets are taken and counted. Several elements may write one device: packets are in the capture in the order in which they came. SNAPLEN (all bytes without it), ENCAP (without it what the packets came with), USE_ENCAP_FROM, EXTRA_LENGTH and NANO are as \
             ToDump's. What else Click's element takes has no effect.\nHandlers: count filename r, reset_counts w.",
    make: |setup| make(setup, true),
};

pub(super) static TO_HOST: BuiltInClass = BuiltInClass {
    name: "ToHost",
    ports: "1/0-1",
    processing: "a/h",
    flow: "",
    facts: Facts { looks_at_annotations: false, shared: Shared::Own, ..Facts::WRITER },
    manual: "ToHost([DEVNAME], ...) -- takes packets for the host; the same as ToDevice",
    make: |setup| make(setup, true),
};

pub(super) static TO_HOST_SNIFFERS: BuiltInClass = BuiltInClass {
    name: "ToHostSniffers",
    ports: "1/0-1",
    processing: "a/h",
    flow: "",
    facts: Facts { shared: Shared::Own, ..Facts::WRITER },
    manual: "ToHostSniffers([DEVNAME], ...) -- takes packets for programs of the host that listen; the same as ToDevice",
    make: |setup| make(setup, true),
};

/// Arguments of sinks that have a name.
#[rustfmt::skip]
pub const KEYWORDS: &[&str] = &[
    "SNAPLEN", "ENCAP", "USE_ENCAP_FROM", "EXTRA_LENGTH", "NANO", "UNBUFFERED", "BURST", "METHOD", "DEBUG", "IGNORE_QUEUE_OVERFLOWS", "SNIFFERS", "TYPE", "QUIET", "ALLOW_NONEXISTENT",
    "QUEUE", "NO_PAD", "UP_CALL", "DOWN_CALL", "PER_NODE",
];

fn make(setup: &Setup<'_>, device: bool) -> Result<Box<dyn BuiltIn>, ElementError> {
    let (called, positional) = match device {
        true => ("DEVNAME", &["DEVNAME"][..]),
        false => ("FILENAME", &["FILENAME", "SNAPLEN", "ENCAP"][..]),
    };
    let args = Args::parse(setup.arguments, positional, KEYWORDS)?;
    let name = match setup.class {
        "ToHost" | "ToHostSniffers" => args.text(called).unwrap_or_default(),
        class => super::device_name(setup.name, class, setup.arguments).map_or_else(|| args.required(called), Ok)?,
    };
    args.at_most_one(&["ENCAP", "USE_ENCAP_FROM"])?;
    if let Some(port) = setup.settings.ports.get(&name).filter(|_| device) {
        return Ok(super::embedded::sink(port, name, setup));
    }
    if let Some(spec) = setup.settings.live.get(&name).filter(|_| device) {
        return Ok(super::live::sink(name, spec, setup));
    }
    let path = match device {
        true => setup.settings.outputs.get(&name).cloned(),
        false => Some(PathBuf::from(&name)),
    };
    let link = args.text("ENCAP").map(|name| link_type(&name)).transpose()?;
    let snaplen = args.count("SNAPLEN", if device { 0 } else { 2000 }, u32::MAX)?;
    Ok(Box::new(ToDump {
        name,
        path,
        writer: None,
        link,
        use_from: args.text("USE_ENCAP_FROM"),
        snaplen: if snaplen == 0 { netil::exec::MAX_PACKET } else { snaplen },
        extra: args.boolean("EXTRA_LENGTH", true)?,
        nano: args.boolean("NANO", true)?,
        device,
        pulls: setup.pulled.first() == Some(&true) && setup.output_pulled.is_empty(),
        passes: !device && setup.outputs > 0,
        count: 0,
        fault: None,
        slots: Vec::new(),
        share: setup.settings.share.clone(),
        grows: !setup.settings.live.is_empty(),
    }))
}

struct ToDump {
    name: String,
    path: Option<PathBuf>,
    /// Elements of one device have it together, and so have graphs.
    writer: Option<Arc<Written>>,
    link: Option<LinkType>,
    use_from: Option<String>,
    snaplen: u32,
    extra: bool,
    nano: bool,
    device: bool,
    pulls: bool,
    passes: bool,
    count: u64,
    fault: Option<String>,
    /// Packets just pulled.
    slots: Vec<u32>,
    share: Option<Share>,
    /// Packets come from live devices: what is written must be there whatever ends the run.
    grows: bool,
}

impl ToDump {
    fn plan(&self) -> WriteOptions {
        let usual = WriteOptions::for_output(&self.name, &[]);
        WriteOptions {
            format: if usual.format == Format::Pcapng { Format::Pcapng } else { Format::Pcap },
            compression: if self.path.is_some() { usual.compression } else { Compression::None },
            precision: if self.nano { Precision::Nano } else { Precision::Micro },
            link_type: self.link.unwrap_or(LinkType::EN10MB),
            snaplen: self.snaplen,
            fcs: 0,
        }
    }

    /// Begins to write; what another element writes for the same device already, goes on.
    fn open(&self, devices: &mut Devices) -> Result<Option<Arc<Written>>, ElementError> {
        let (Some(path), plan) = (&self.path, self.plan()) else { return Ok(None) };
        let known = devices.captures.get(&self.name).filter(|_| self.device).and_then(|(output, plan)| Some((output.upgrade()?, plan)));
        match known {
            Some((output, same)) if *same == plan => return Ok(Some(output)),
            Some(_) => {
                return Err(ElementError::resource(format!(
                    "another element writes device '{}' with other SNAPLEN, ENCAP or NANO",
                    self.name
                )));
            }
            None => {}
        }
        let output = Arc::new(Written(self.create(path, &plan)?));
        if self.grows {
            devices.growing.push(Arc::downgrade(&output));
        }
        if self.device {
            devices.captures.insert(self.name.clone(), (Arc::downgrade(&output), plan));
        }
        Ok(Some(output))
    }

    fn create(&self, path: &Path, plan: &WriteOptions) -> Result<Arc<Output>, ElementError> {
        let make = if self.grows { Writer::create_growing } else { Writer::create };
        let create = || make(path, plan).map_err(|error| ElementError::resource(error.to_string()));
        match &self.share {
            Some(share) => share.common.capture(path, plan, create),
            None => Ok(Arc::new(Mutex::new(Some(create()?)))),
        }
    }

    /// Whether other elements write the same: then packets come one at a time, so that they are in
    /// their order.
    fn is_shared(&self) -> bool {
        self.writer.as_ref().is_some_and(|output| Arc::strong_count(output) > 1)
    }

    fn take(&mut self, packet: &Packet) {
        self.count += 1;
        if let Some(output) = self.writer.clone() {
            self.write_packet(&mut lock(&output.0), packet.buffer.bytes(), (packet.buffer.time_ns, packet.wire_len(), packet.link));
        }
    }

    /// All packets in the pool that are next. False if there are none.
    fn take_slots(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let mut slots = std::mem::take(&mut self.slots);
        ctx.pull_slots(0, &mut slots, usize::MAX);
        self.write_slots(&slots, ctx);
        let some = !slots.is_empty();
        slots.clear();
        self.slots = slots;
        some
    }

    fn write_slots(&mut self, slots: &[u32], ctx: &mut Ctx<'_>) {
        let pool = ctx.pool();
        self.count += slots.len() as u64;
        if let Some(output) = self.writer.clone() {
            let mut output = lock(&output.0);
            for slot in slots {
                let (time_ns, bytes) = (pool.slot(*slot).time_ns, pool.bytes(*slot));
                let wire_len = pool.wire_len(*slot).max(bytes.len() as u32);
                self.write_packet(&mut output, bytes, (time_ns, wire_len, LinkType::from_file(pool.tag(*slot))));
            }
        }
        pool.give_back(slots);
    }

    fn write_packet(&mut self, output: &mut Option<Writer>, bytes: &[u8], (time_ns, wire_len, link): (u64, u32, LinkType)) {
        let Some(writer) = output.as_mut() else { return };
        let kept = bytes.get(..self.snaplen as usize).unwrap_or(bytes);
        let wire = if self.extra { wire_len } else { bytes.len() as u32 };
        let (seconds, part) = ((time_ns / 1_000_000_000) as i64, (time_ns % 1_000_000_000) as u32);
        let time = if self.nano { Timestamp::from_nanos(seconds, part) } else { Timestamp::from_micros(seconds, part / 1000) };
        let link = self.link.unwrap_or(if self.device { link } else { LinkType::EN10MB });
        if let Err(error) = writer.write_packet(link, time, wire.max(kept.len() as u32), kept) {
            self.fault.get_or_insert(error.to_string());
            *output = None;
        }
    }

    fn link_from_others(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        for name in self.use_from.take().unwrap_or_default().split_whitespace() {
            let link = link_type(ctx.read_handler(&format!("{name}.encap"), "")?.trim())?;
            if self.link.is_some_and(|other| other != link) {
                return Err(ElementError::resource("the elements of USE_ENCAP_FROM do not agree"));
            }
            self.link = Some(link);
        }
        Ok(())
    }
}

impl BuiltIn for ToDump {
    fn one_at_a_time(&self) -> bool {
        self.is_shared()
    }

    fn init(&mut self, ctx: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.link_from_others(ctx)?;
        self.path.as_ref().map_or(Ok(()), |path| ctx.writable(path))?;
        self.writer = self.open(&mut ctx.graph.outside.devices)?;
        Ok(())
    }

    fn push(&mut self, _: u32, packet: Packet, ctx: &mut Ctx<'_>) {
        self.take(&packet);
        if self.passes {
            ctx.emit(0, packet);
        }
    }

    /// Packets that go on do so each by itself.
    fn room(&self) -> usize {
        if self.passes { 0 } else { usize::MAX }
    }

    fn push_slots(&mut self, _: u32, slots: &[u32], ctx: &mut Ctx<'_>) {
        if !self.passes {
            return self.write_slots(slots, ctx);
        }
        for slot in slots {
            let packet = ctx.lift(*slot);
            self.push(0, packet, ctx);
        }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let packet = ctx.pull(0)?;
        self.take(&packet);
        Some(packet)
    }

    fn task(&mut self) -> Option<&mut dyn Task> {
        if self.pulls { Some(self) } else { None }
    }

    gives!(handlers);

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<(), ElementError> {
        // The last of a device's elements completes what they have written, in all graphs.
        let output = self.writer.take().and_then(Arc::into_inner).and_then(|written| Arc::into_inner(written.0));
        if let Some(writer) = output.and_then(|output| output.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)) {
            writer.finish().map_err(|error| ElementError::resource(error.to_string()))?;
        }
        self.fault.take().map_or(Ok(()), |why| Err(ElementError::Resource(why)))
    }
}

impl Handlers for ToDump {
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

impl Task for ToDump {
    fn kind(&self) -> TaskKind {
        TaskKind::Pulls
    }

    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        if !self.passes && self.take_slots(ctx) {
            return TaskResult::Again;
        }
        let Some(packet) = ctx.pull(0) else { return TaskResult::Idle };
        self.take(&packet);
        if self.passes {
            ctx.emit(0, packet);
        }
        TaskResult::Done
    }

    fn is_scheduled(&self, ctx: &Ready<'_>) -> bool {
        ctx.any_input()
    }
}
