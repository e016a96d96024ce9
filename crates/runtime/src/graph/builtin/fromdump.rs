//! FromDump, FromDevice, PollDevice: packets of captures.
//!
//! Pushed packets arrive in the order of their times, of all captures merged, and make the time of
//! the run; with TIMING they arrive by the run's clock. Pulled packets come as they are asked for.

use super::super::{Args, ElementError, HandlerError, Info, Own, Packet, Share, text};
use super::filepos::{self, FilePos};
use super::force_ip::mark_ip;
use super::replay::FromReplay;
use super::sample::Sample;
use super::source_arguments::{KEYWORDS, first_device, is_pulled, positional};
use super::window::{Window, WindowPosition};
use super::{
    BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Medium, Ready, Setup, Shared, Source, device_name, element_handlers,
    encapsulation,
};
use crate::io::{Capture, LinkType, ReadError, Record};
use netil::{number, pool::Arrival};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// Packets read ahead.
const AHEAD: usize = 64;

pub(super) static FROM_DUMP: BuiltInClass = BuiltInClass {
    name: "FromDump",
    ports: "0/1-2",
    processing: "a/ah",
    flow: "",
    facts: Facts { reads: Some(Medium::File), shared: Shared::Own, ..Facts::READER },
    manual: "FromDump(FILENAME [, TIMING, STOP, SAMPLE, FORCE_IP, SNAPLEN, START, START_AFTER, END, END_AFTER, INTERVAL, END_CALL, ACTIVE, FILEPOS]) -- the packets of a capture\n\n\
             pcap and pcapng, compressed or not; - is standard input. At the end it asks for the end of the run (STOP true) or writes a handler (END_CALL). FORCE_IP \
             marks IP headers and lets only IP packets go on, the others by output 1. SAMPLE is the part of packets that are taken, SNAPLEN the most bytes of each \
             (all without it, and if it is 0); their length on the wire stays. FILEPOS is the byte of the uncompressed file where the first packet begins that is taken.\n\
             Handlers: count filename filesize encap sampling_prob r, packet_filepos r: where in the file the packet that went out last begins, filepos rw: where the next one does, active rw, stop reset_counts w; extend_interval w: END, END_AFTER or INTERVAL is so much later, and packets go on \
             if they had come that far; reset_timing w: TIMING begins anew with the packet after the next one.",
    make: |setup| make(setup, false),
};

pub(super) static FROM_DEVICE: BuiltInClass = BuiltInClass {
    name: "FromDevice",
    ports: "0/1-2",
    processing: "a/ah",
    flow: "",
    facts: Facts { device: first_device, shared: Shared::Own, ..Facts::READER },
    manual: "FromDevice(DEVNAME [, PROMISC, SNAPLEN, ...]) -- the packets of an interface, or of a capture that stands for one\n\n--map DEVNAME=dev:IF makes it an interface of the \
             system, --map DEVNAME=gso:IF one whose merged TCP segments stay whole, --map DEVNAME=xdp:IF[:QUEUE] one whose packets are taken before the network stack (AF_XDP), --map DEVNAME=tap:NAME a TAP interface, --map DEVNAME=FILE a capture. Live, PROMISC true takes packets for other hosts too, and OUTBOUND true those that \
             other programs send; the limits of time, SAMPLE, STOP and TIMING have no effect. SNAPLEN, from 14 to \
             65535, is the most bytes of each packet; the length on the wire stays. FORCE_IP, ACTIVE, STOP, TIMING, SAMPLE and the limits of time are as FromDump's. \
             A BPF_FILTER is refused: IPClassifier behind, or netvm filter before, selects packets. Without arguments the device is called 0. What else Click's element takes has no effect.\n\
             Handlers: as FromDump's; live: count encap kernel_drops r, active rw, reset_counts w.",
    make: |setup| make(setup, true),
};

pub(super) static POLL_DEVICE: BuiltInClass = BuiltInClass {
    name: "PollDevice",
    ports: "0/1-2",
    processing: "a/ah",
    flow: "",
    facts: Facts { device: first_device, shared: Shared::Own, ..Facts::READER },
    manual: "PollDevice(DEVNAME [, PROMISC] [, BURST, ...]) -- the same as FromDevice\n\nPROMISC stands behind the device's name if it is a word, as in older configurations; it and \
             BURST have no effect.",
    make: |setup| make(setup, true),
};

/// The most bytes of each packet.
fn snaplen(args: &Args, device: bool) -> Result<u32, ElementError> {
    let bytes = args.count("SNAPLEN", 0, u32::MAX)?;
    match bytes {
        _ if device && args.has("SNAPLEN") && !(14..=65535).contains(&bytes) => {
            Err(ElementError::argument(format!("SNAPLEN should be from 14 to 65535, not '{bytes}'")))
        }
        0 => Ok(netil::exec::MAX_PACKET),
        _ => Ok(bytes.min(netil::exec::MAX_PACKET)),
    }
}

/// Refuses what would have no effect although packets depend on it, or what no device takes.
fn check(args: &Args) -> Result<(), ElementError> {
    if args.text("BPF_FILTER").is_some_and(|filter| !filter.trim().is_empty()) {
        return Err(ElementError::argument(
            "BPF_FILTER selects nothing here: put IPClassifier behind this element, or netvm filter before the run",
        ));
    }
    args.boolean("PROMISC", false)?;
    args.boolean("TIMING", false)?;
    if args.text("TIMING_FNT").is_some_and(|function| !function.is_empty()) {
        return Err(ElementError::argument("TIMING_FNT is not there: packets come at their times"));
    }
    args.count("BURST", 1, i32::MAX as u32)?;
    Ok(())
}

fn make(setup: &Setup<'_>, device: bool) -> Result<Box<dyn BuiltIn>, ElementError> {
    let args = Args::parse(setup.arguments, positional(setup.class, setup.arguments), KEYWORDS)?;
    let name = match device_name(setup.name, setup.class, setup.arguments).filter(|_| device) {
        Some(name) => name,
        None => args.required(if device { "DEVNAME" } else { "FILENAME" })?,
    };
    let snaplen = snaplen(&args, device)?;
    check(&args)?;
    for exclusive in [&["START", "START_AFTER"][..], &["END", "END_AFTER", "INTERVAL"], &["STOP", "END_CALL"]] {
        args.at_most_one(exclusive)?;
    }
    if let Some(replay) = setup.settings.replays.get(&name).filter(|_| device) {
        let replay = match &setup.settings.share {
            Some(share) => &Arc::new(replay.share(share.own(setup.node))),
            None => replay,
        };
        return Ok(Box::new(FromReplay::new(replay, name, is_pulled(setup), snaplen)));
    }
    if let Some(port) = setup.settings.ports.get(&name).filter(|_| device) {
        return Ok(super::embedded::source(port, name, setup, snaplen));
    }
    if let Some(spec) = setup.settings.live.get(&name).filter(|_| device) {
        return super::live::source(name, spec, &args, setup, snaplen);
    }
    let mut capture = open(setup, &name, device)?;
    FilePos::begin(&mut capture, &args, &name)?;
    Ok(Box::new(FromDump::new(name, capture, &args, setup, snaplen)?))
}

/// The capture of that name, or which stands for the device of that name; none on trial.
fn open(setup: &Setup<'_>, name: &str, device: bool) -> Result<Option<Capture>, ElementError> {
    if setup.settings.trial {
        return Ok(None);
    }
    let stands = || format!("nothing stands for device '{name}': --map {name}=FILE for a capture, --map {name}=dev:IF for an interface");
    let path = match device {
        true => setup.settings.devices.get(name).cloned().ok_or_else(stands)?,
        false => PathBuf::from(name),
    };
    let called = || if device { format!("{name}: {}", path.display()) } else { name.to_owned() };
    Capture::open(&path).map(Some).map_err(|error| ElementError::resource(format!("{}: {error}", called())))
}

struct FromDump {
    name: String,
    capture: Option<Capture>,
    ahead: VecDeque<Packet>,
    pulled: bool,
    stop: bool,
    timing: bool,
    sample: Sample,
    /// The packet that stands first was found to be of the sample.
    chosen: bool,
    /// The most bytes of each packet.
    snaplen: u32,
    force_ip: bool,
    /// All packets are taken as they are, when they come.
    plain: bool,
    active: bool,
    end_call: Option<String>,
    window: Window,
    /// Time of the run minus time of the packets, with TIMING.
    offset: Option<u64>,
    count: u64,
    place: FilePos,
    over: bool,
    /// What was read last ended before the time that was asked for: more may come, or the end.
    goes_on: bool,
    /// The stretch of time that is wanted is over.
    behind: bool,
    told: bool,
    fault: Option<String>,
    link: LinkType,
    /// What graphs that have the other packets know of each other.
    share: Option<Share>,
    /// The number of the next packet, whichever graph takes it.
    number: u64,
    /// Which packets go on here.
    own: Option<Own>,
}

fn is_own(own: &mut Option<Own>, link: LinkType, bytes: &[u8]) -> bool {
    own.as_mut().is_none_or(|own| own.takes(link, bytes))
}

fn data<'r>(record: &Record<'r>, snaplen: u32) -> &'r [u8] {
    record.data.get(..snaplen as usize).unwrap_or(record.data)
}

fn wire_len(record: &Record<'_>) -> u32 {
    record.wire_len().max(record.data.len() as u32)
}

fn packet(record: &Record<'_>, snaplen: u32, info: &Info) -> Packet {
    let mut packet = Packet::new(data(record, snaplen), record.time_ns(), info);
    packet.buffer.set_wire_len(wire_len(record));
    packet.link = record.link_type();
    packet
}

impl FromDump {
    fn new(name: String, capture: Option<Capture>, args: &Args, setup: &Setup<'_>, snaplen: u32) -> Result<Self, ElementError> {
        let (pulled, window) = (is_pulled(setup), Window::of(args)?);
        let (sample, force_ip) = (Sample::of(args, setup.seed)?, args.boolean("FORCE_IP", false)?);
        Ok(Self {
            capture,
            name,
            ahead: VecDeque::new(),
            pulled,
            stop: args.boolean("STOP", false)?,
            timing: args.boolean("TIMING", false)?,
            plain: !pulled && window.is_all() && sample.is_all() && !force_ip && !args.has("END_CALL"),
            sample,
            chosen: false,
            snaplen,
            force_ip,
            active: args.boolean("ACTIVE", true)?,
            end_call: args.raw("END_CALL").map(str::to_owned),
            window,
            offset: None,
            count: 0,
            place: FilePos::default(),
            over: false,
            goes_on: false,
            behind: false,
            told: false,
            fault: None,
            link: LinkType::EN10MB,
            share: setup.settings.share.clone(),
            own: setup.settings.share.as_ref().map(|share| share.own(setup.node)),
            number: number::first(setup.node),
        })
    }

    /// Reads until there is a packet, or the end.
    fn fill(&mut self, ctx: &mut Ctx<'_>) {
        let snaplen = self.snaplen;
        while self.ahead.is_empty() && !self.over {
            let Some(capture) = &mut self.capture else { break };
            // Where many are taken at once, only the first one's time must be known before.
            match capture.next_burst(if self.plain { 1 } else { AHEAD }) {
                Ok(Some(burst)) => burst.records().for_each(|record| self.ahead.push_back(packet(&record, snaplen, ctx.info()))),
                Ok(None) => self.over = true,
                Err(error) => self.fail(&error, ctx),
            }
        }
    }

    fn fail(&mut self, error: &ReadError, ctx: &mut Ctx<'_>) {
        self.fault = Some(format!("{}: {error}", self.name));
        ctx.tell(&error.to_string());
        self.over = true;
    }

    /// Puts packets into the pool, first those read already. Those later than `until` wait.
    fn fill_slots(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> Option<u64> {
        let before = slots.len();
        let mut last = self.place_ahead(most, until, slots, ctx);
        self.goes_on = self.capture.is_some();
        while slots.len() < most && self.ahead.is_empty() && !self.over && self.goes_on {
            last = last.max(self.fill_burst(most, until, slots, ctx));
        }
        self.goes_on &= self.ahead.is_empty() && (self.stop || !self.over);
        if slots.len() > before {
            self.count += (slots.len() - before) as u64;
            self.place.emitted = self.next_number().checked_sub(1);
        }
        last
    }

    /// Those read already.
    fn place_ahead(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> Option<u64> {
        let mut last = None;
        while slots.len() < most && self.ahead.front().is_some_and(|packet| packet.buffer.time_ns < until) {
            let Some(mut packet) = self.ahead.pop_front() else { break };
            self.pass(1);
            self.number(&mut packet);
            if is_own(&mut self.own, packet.link, packet.buffer.bytes()) {
                (last, self.link) = (last.max(Some(packet.buffer.time_ns)), packet.link);
                slots.extend(ctx.pool().place(packet.buffer, packet.link.number()));
            }
        }
        last
    }

    /// A burst of the capture; what comes too late stays there.
    fn fill_burst(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> Option<u64> {
        let capture = self.capture.as_mut()?;
        let (own, snaplen, mut last) = (&mut self.own, self.snaplen, None);
        let (before, mut places, numbered) = (slots.len(), Vec::new(), ctx.pool().keeps_numbers());
        let read = capture.next_burst(most - slots.len()).map(|burst| {
            let burst = burst?;
            let (link, mut passed, mut records) = (burst.link_type(), 0, burst.records());
            let coming = std::iter::from_fn(|| {
                let record = loop {
                    let record = records.next().filter(|record| record.time_ns() < until)?;
                    passed += 1;
                    if is_own(own, link, record.data) {
                        break record;
                    }
                };
                places.extend(numbered.then_some(passed as u64 - 1));
                let (bytes, time_ns) = (data(&record, snaplen), record.time_ns());
                last = last.max(Some(time_ns));
                Some(Arrival { bytes, len: bytes.len(), time_ns, wire_len: wire_len(&record) })
            });
            ctx.pool().put_many(coming, link.number(), slots);
            Some((link, passed, burst.len()))
        });
        for (slot, place) in slots[before..].iter().zip(places) {
            ctx.pool().set_number(*slot, self.number.wrapping_add(place));
        }
        match read {
            Ok(Some((link, passed, all))) => {
                capture.give_back(all - passed);
                (self.link, self.goes_on) = (link, passed == all);
                self.number = self.number.wrapping_add(passed as u64);
                self.pass(passed as u64);
            }
            Ok(None) => self.over = true,
            Err(error) => self.fail(&error, ctx),
        }
        last
    }

    /// So many packets have been taken, or left to other graphs.
    fn pass(&self, packets: u64) {
        self.share.iter().for_each(|share| share.passes(packets));
    }

    /// When the next packet comes, where all are taken as they are: it stays in the capture.
    fn peek(&mut self, ctx: &mut Ctx<'_>) -> Option<u64> {
        match self.capture.as_mut().filter(|_| !self.over)?.peek_time() {
            Ok(Some(time)) => return Some(u64::try_from(time.as_nanos()).unwrap_or(0)),
            Ok(None) => self.over = true,
            Err(error) => self.fail(&error, ctx),
        }
        None
    }

    /// The next packet that is wanted stands first, if there is one, or may be in the capture.
    fn prepare(&mut self, ctx: &mut Ctx<'_>) -> Option<u64> {
        if self.plain && self.own.is_none() && self.ahead.is_empty() {
            return self.peek(ctx);
        }
        loop {
            self.fill(ctx);
            let first = self.ahead.front()?;
            let (time, mine) = (first.buffer.time_ns, is_own(&mut self.own, first.link, first.buffer.bytes()));
            match self.window.place(time) {
                WindowPosition::Within if self.chosen || self.sample.takes() => {
                    self.chosen = mine;
                    if mine {
                        return Some(time);
                    }
                    self.pass(1);
                    self.ahead.pop_front();
                    self.number = self.number.wrapping_add(1);
                }
                WindowPosition::Behind => {
                    self.behind = true;
                    return None;
                }
                _ => {
                    self.pass(1);
                    self.ahead.pop_front();
                }
            }
        }
    }

    /// Takes the packet that stands first; `None` where it goes another way.
    fn take(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.fill(ctx);
        let mut packet = self.ahead.pop_front()?;
        self.chosen = false;
        self.pass(1);
        self.number(&mut packet);
        self.count += 1;
        self.place.emitted = self.next_number().checked_sub(1);
        self.link = packet.link;
        if !self.force_ip || mark_ip(&mut packet, ctx) {
            return Some(packet);
        }
        ctx.emit_or_drop(1, packet, "no IP packet");
        None
    }

    /// A packet is taken, which has no number unless it was taken before.
    fn number(&mut self, packet: &mut Packet) {
        if packet.buffer.number == number::NONE {
            packet.buffer.number = self.number;
            self.number = self.number.wrapping_add(1);
        }
    }

    /// What packets begin with: before the first one was taken, it is looked at.
    fn link(&mut self, ctx: &mut Ctx<'_>) -> LinkType {
        if self.count == 0 {
            self.fill(ctx);
        }
        self.ahead.front().filter(|_| self.count == 0).map_or(self.link, |packet| packet.link)
    }

    /// The number in its file of the packet that stands first, or is read next, from 0 on.
    fn next_number(&self) -> u64 {
        self.capture.as_ref().map_or(0, Capture::packets).saturating_sub(self.ahead.len() as u64)
    }

    /// Where in its file the next packet begins, or that which went out last.
    fn file_pos(&mut self, of_last: bool) -> Result<String, HandlerError> {
        let number = if of_last { self.place.emitted.ok_or("no packet has gone out yet")? } else { self.next_number() };
        self.capture.as_ref().map_or(Ok("0".to_owned()), |capture| self.place.of(number, capture))
    }

    /// Goes on with the packet that begins there.
    fn set_file_pos(&mut self, value: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        let place = filepos::parse(value).ok_or_else(|| HandlerError::invalid("expected a number of bytes"))?;
        let Some(capture) = &mut self.capture else { return Ok(()) };
        filepos::go_to(capture, place, &self.name)?;
        self.ahead.clear();
        (self.chosen, self.over, self.behind, self.told, self.offset) = (false, false, false, false, None);
        if self.by_timer(ctx) {
            self.schedule(ctx);
        }
        Ok(())
    }

    /// Whether no packet comes any more, unless the end is moved.
    fn is_over(&self) -> bool {
        self.behind || (self.over && self.ahead.is_empty())
    }

    /// The end is so much later.
    fn extend(&mut self, by: u64, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        if !self.window.extend(by) {
            return Err(HandlerError::invalid("there is no END, END_AFTER or INTERVAL to extend"));
        }
        if std::mem::replace(&mut self.behind, false) {
            (self.told, self.active) = (false, true);
            self.go_on(ctx);
        }
        Ok(())
    }

    /// Sets the timer if that says when packets come, and is not set.
    fn go_on(&mut self, ctx: &mut Ctx<'_>) {
        if self.by_timer(ctx) && ctx.wakes_at() == 0 {
            self.schedule(ctx);
        }
    }

    /// At the end, once: what was asked for.
    fn end(&mut self, ctx: &mut Ctx<'_>) {
        // Other graphs that share the capture may still have packets to read.
        if self.told || !self.is_over() || !self.active || self.share.as_ref().is_some_and(|share| !share.all_have_left()) {
            return;
        }
        self.told = true;
        if self.stop {
            ctx.stop();
        }
        if let Some(call) = &self.end_call {
            ctx.write_later(call);
        }
    }

    /// Whether the timer says when packets come.
    fn by_timer(&self, ctx: &Ctx<'_>) -> bool {
        self.timing && !ctx.follows_captures() && !self.pulled
    }

    fn schedule(&mut self, ctx: &mut Ctx<'_>) {
        let Some(time) = self.prepare(ctx).filter(|_| self.active) else { return self.end(ctx) };
        let offset = *self.offset.get_or_insert(ctx.now().wrapping_sub(time));
        ctx.wake_at(time.wrapping_add(offset).max(1));
    }
}

impl BuiltIn for FromDump {
    fn start(&mut self, ctx: &mut Ctx<'_>) {
        if self.by_timer(ctx) {
            self.schedule(ctx);
        }
    }

    fn timer(&mut self, _: u64, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.take(ctx) {
            ctx.emit(0, packet);
        }
        self.schedule(ctx);
    }

    fn move_annotations(&mut self, from: &Info, to: &Info) {
        self.ahead.iter_mut().for_each(|packet| from.move_to(to, packet));
    }

    fn source(&mut self) -> Option<&mut dyn Source> {
        if self.pulled { None } else { Some(self) }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        while self.active && self.prepare(ctx).is_some() {
            if let Some(packet) = self.take(ctx) {
                return Some(packet);
            }
        }
        self.end(ctx);
        None
    }

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        self.active && !self.is_over()
    }

    gives!(handlers);

    fn finish(&mut self, _: &mut Ctx<'_>) -> Result<(), ElementError> {
        self.fault.take().map_or(Ok(()), |why| Err(ElementError::Resource(why)))
    }
}

impl Handlers for FromDump {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        let written = ["stop", "reset_counts", "extend_interval", "reset_timing"];
        element_handlers(&["count", "filename", "filesize", "encap", "sampling_prob", "packet_filepos"], &written, &["active", "filepos"])
    }

    fn read(&mut self, handler: &str, _: &str, ctx: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "count" => self.count.to_string(),
            "filename" => self.name.clone(),
            "encap" => encapsulation::name(self.link(ctx)),
            "filesize" => self.progress().1.map_or_else(|| "-".to_owned(), |size| size.to_string()),
            "sampling_prob" => self.sample.shown(),
            "filepos" | "packet_filepos" => self.file_pos(handler == "packet_filepos")?,
            _ => self.active.to_string(),
        })
    }

    fn write(&mut self, handler: &str, value: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        match handler {
            "active" => {
                self.active = super::boolean(value)?;
                self.go_on(ctx);
            }
            "stop" => {
                self.active = false;
                ctx.stop();
            }
            "extend_interval" => self.extend(text::duration(value).ok_or_else(|| HandlerError::invalid("expected a time"))?, ctx)?,
            "filepos" => self.set_file_pos(value, ctx)?,
            "reset_timing" => self.offset = None,
            _ => self.count = 0,
        }
        Ok(())
    }
}

impl Source for FromDump {
    fn next_arrival(&mut self, ctx: &mut Ctx<'_>) -> Option<u64> {
        if !self.active || self.by_timer(ctx) {
            return None;
        }
        let time = self.prepare(ctx);
        self.end(ctx);
        time
    }

    fn arrive(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.take(ctx) {
            ctx.emit(0, packet);
        }
    }

    fn arrive_many(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> Option<u64> {
        self.plain.then(|| self.fill_slots(most, until, slots, ctx)).flatten()
    }

    fn takes_back(&self) -> bool {
        self.plain
    }

    fn goes_on(&self) -> bool {
        self.goes_on
    }

    fn take_back(&mut self, slots: &[u32], ctx: &mut Ctx<'_>) {
        self.count -= slots.len() as u64;
        let again = self.own.is_none() && self.ahead.is_empty();
        if again && self.capture.as_mut().is_some_and(|capture| capture.give_back(slots.len())) {
            ctx.pool().give_back(slots);
            self.number = self.number.wrapping_sub(slots.len() as u64);
            self.place.emitted = self.next_number().checked_sub(1);
            return;
        }
        slots.iter().rev().for_each(|slot| self.ahead.push_front(ctx.lift(*slot)));
        self.place.emitted = self.next_number().checked_sub(1);
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.capture.as_ref().map_or((0, None), Capture::progress)
    }
}
