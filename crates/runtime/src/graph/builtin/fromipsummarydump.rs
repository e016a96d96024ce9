//! FromIPSummaryDump: packets of lines of text.
//!
//! A task that makes a packet a turn, or is pulled; with TIMING packets come as far apart as their
//! times are.

use super::super::summary::{self, make::Reader};
use super::super::{Args, ElementError, HandlerError, Info, Packet};
use super::facts::SUMMARY;
use super::sample::Sample;
use super::{BuiltIn, BuiltInClass, Ctx, ElementHandler, Facts, Handlers, Medium, Ready, Setup, Task, TaskResult, element_handlers};
use crate::io::claims::Reading;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};

/// The longest line.
const LONGEST: u64 = 1 << 20;

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "FromIPSummaryDump",
    ports: "0/1",
    processing: "a/a",
    flow: "",
    facts: Facts { reads: Some(Medium::Summary), annotations: SUMMARY, ..Facts::OTHER },
    manual: "FromIPSummaryDump(FILENAME [, STOP, TIMING, ACTIVE, CHECKSUM, PROTO, FIELDS, FLOWID, DATA, MULTIPACKET, ...]) -- IP packets from lines of text\n\n\
             The opposite of ToIPSummaryDump: a line `!data FIELDS` says what is in the lines that follow, FIELDS what is in those before. - is standard input; DATA is the \
             text itself. What lines do not say is TCP (or PROTO), a time to live of 100, and zeros. With CHECKSUM there are checksums, and bytes up to the IP length. With MULTIPACKET a \
             line is as many packets as its field count says. SAMPLE is the part of packets that are taken. At the end it asks for the end of the run if STOP is true. TIMING keeps packets as far apart as their times are.\n\
             Handlers: count encap sampling_prob r, filename filesize filepos r (- for a size that is not known; how many bytes of it were read), active rw, stop w.",
    make: |setup| make(setup),
};

#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "STOP", "TIMING", "ACTIVE", "ZERO", "CHECKSUM", "PROTO", "MULTIPACKET", "SAMPLE",
    "FIELDS", "CONTENTS", "DEFAULT_FIELDS", "DEFAULT_CONTENTS", "FLOWID", "DEFAULT_FLOWID", "ALLOW_NONEXISTENT", "DATA",
];

fn make(setup: &Setup<'_>) -> Result<Box<dyn BuiltIn>, ElementError> {
    let args = Args::parse(setup.arguments, &["FILENAME"], KEYWORDS)?;
    args.boolean("ZERO", true)?;
    let reader = reader(&args)?;
    let (lines, size) = open(&args, setup.settings.trial)?;
    Ok(Box::new(FromIPSummaryDump {
        name: args.text("FILENAME").unwrap_or_default(),
        lines,
        size,
        position: 0,
        sample: Sample::of(&args, setup.seed)?,
        reader,
        pulled: setup.output_pulled.first() == Some(&true),
        stop: args.boolean("STOP", false)?,
        timing: args.boolean("TIMING", false)?,
        active: args.boolean("ACTIVE", true)?,
        several: args.boolean("MULTIPACKET", false)?,
        next: None,
        offset: None,
        count: 0,
        over: false,
        told: false,
    }))
}

/// What reads lines.
fn reader(args: &Args) -> Result<Reader, ElementError> {
    let fields = ["FIELDS", "CONTENTS", "DEFAULT_FIELDS", "DEFAULT_CONTENTS"].iter().find_map(|name| args.text(name));
    let mut reader = Reader::new(
        summary::known_fields(fields.as_deref().unwrap_or(""))?,
        args.boolean("CHECKSUM", false)?,
        args.count("PROTO", 6, 255)? as u8,
    );
    if let Some(flow) = args.text("FLOWID").or_else(|| args.text("DEFAULT_FLOWID")) {
        reader.direct(&format!("!flowid {flow}"))?;
    }
    Ok(reader)
}

/// The lines, and how many bytes the file has, if that is known.
fn open(args: &Args, trial: bool) -> Result<(Box<dyn BufRead + Send>, Option<u64>), ElementError> {
    if let Some(data) = args.bytes("DATA") {
        return Ok((Box::new(Cursor::new(data)), None));
    }
    let may_be_missing = args.boolean("ALLOW_NONEXISTENT", false)?;
    match args.required("FILENAME")?.as_str() {
        _ if trial => Ok((Box::new(std::io::empty()), None)),
        "-" => Ok((Box::new(BufReader::new(std::io::stdin())), None)),
        name => match File::open(name) {
            Ok(file) if size(&file) == Some(0) && !may_be_missing => Err(ElementError::resource(format!("{name}: empty file"))),
            Ok(file) => {
                let size = size(&file);
                Ok((Box::new(BufReader::new(Reading::of(file))), size))
            }
            Err(_) if may_be_missing => Ok((Box::new(std::io::empty()), None)),
            Err(error) => Err(ElementError::resource(format!("{name}: {error}"))),
        },
    }
}

fn size(file: &File) -> Option<u64> {
    file.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len())
}

struct FromIPSummaryDump {
    name: String,
    lines: Box<dyn BufRead + Send>,
    size: Option<u64>,
    /// Bytes read.
    position: u64,
    sample: Sample,
    reader: Reader,
    pulled: bool,
    stop: bool,
    timing: bool,
    active: bool,
    /// A line is as many packets as it counts.
    several: bool,
    /// The packet that comes next, if it was read, and how often.
    next: Option<(Packet, u32)>,
    offset: Option<u64>,
    count: u64,
    over: bool,
    told: bool,
}

impl FromIPSummaryDump {
    /// Reads up to the next packet, or the end.
    fn fill(&mut self, ctx: &mut Ctx<'_>) {
        while self.next.is_none() && !self.over {
            let mut line = Vec::new();
            match self.lines.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
                Ok(0) => self.over = true,
                Ok(bytes) => {
                    self.position += bytes as u64;
                    self.line(String::from_utf8_lossy(&line).trim(), ctx);
                }
                Err(error) => {
                    ctx.tell(&error.to_string());
                    self.over = true;
                }
            }
        }
    }

    fn line(&mut self, line: &str, ctx: &mut Ctx<'_>) {
        self.reader.now = ctx.now();
        let read = match line.as_bytes().first() {
            None | Some(b'#') => return,
            Some(b'!') => self.reader.direct(line),
            Some(_) => self.read_packet(line, ctx.info()),
        };
        if let Err(error) = read {
            ctx.tell(&error.to_string());
        }
    }

    /// Makes a line's packet the next one. With MULTIPACKET it is so many, each of which stands for
    /// one.
    fn read_packet(&mut self, line: &str, info: &Info) -> Result<(), ElementError> {
        let (mut packet, count, read) = self.reader.packet(line, info);
        if self.several {
            info.set(&mut packet, "extra_packets", 0);
        }
        let taken = self.taken(if self.several { count } else { 1 });
        self.next = Some((packet, taken)).filter(|(_, count)| *count > 0);
        read
    }

    /// How many of so many packets are taken.
    fn taken(&mut self, count: u32) -> u32 {
        if self.sample.is_all() { count } else { (0..count).filter(|_| self.sample.takes()).count() as u32 }
    }

    /// The next packet; at the end, once, what was asked for.
    fn packet(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        if !self.active {
            return None;
        }
        self.fill(ctx);
        if self.timing && self.is_early(ctx) {
            return None;
        }
        let packet = self.take();
        self.count += u64::from(packet.is_some());
        if packet.is_none() && !std::mem::replace(&mut self.told, true) && self.stop {
            ctx.stop();
        }
        packet
    }

    /// The packet that was read.
    fn take(&mut self) -> Option<Packet> {
        let (packet, count) = self.next.take()?;
        if count > 1 {
            self.next = Some((packet.clone(), count - 1));
        }
        Some(packet)
    }

    /// With TIMING: whether the next packet's time has not come; the timer is set for it then.
    fn is_early(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some((packet, _)) = &self.next else { return false };
        let (time, now) = (packet.buffer.time_ns, ctx.now());
        let when = time.wrapping_add(*self.offset.get_or_insert(now.wrapping_sub(time)));
        if when > now {
            ctx.wake_at(when);
        }
        when > now
    }
}

impl BuiltIn for FromIPSummaryDump {
    fn task(&mut self) -> Option<&mut dyn Task> {
        if self.pulled { None } else { Some(self) }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.packet(ctx)
    }

    fn move_annotations(&mut self, from: &Info, to: &Info) {
        self.next.iter_mut().for_each(|(packet, _)| from.move_to(to, packet));
    }

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        self.active && !(self.over && self.next.is_none())
    }

    gives!(handlers);
}

impl Handlers for FromIPSummaryDump {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count", "encap", "sampling_prob", "filename", "filesize", "filepos"], &["stop"], &["active"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "count" => self.count.to_string(),
            "encap" => "IP".to_owned(),
            "sampling_prob" => self.sample.shown(),
            "filename" => self.name.clone(),
            "filesize" => self.size.map_or_else(|| "-".to_owned(), |size| size.to_string()),
            "filepos" => self.position.to_string(),
            _ => self.active.to_string(),
        })
    }

    fn write(&mut self, handler: &str, text: &str, ctx: &mut Ctx<'_>) -> Result<(), HandlerError> {
        match handler {
            "stop" => {
                self.active = false;
                ctx.stop();
            }
            _ => self.active = super::boolean(text)?,
        }
        Ok(())
    }
}

impl Task for FromIPSummaryDump {
    fn run(&mut self, ctx: &mut Ctx<'_>) -> TaskResult {
        let Some(packet) = self.packet(ctx) else { return TaskResult::Idle };
        ctx.emit(0, packet);
        TaskResult::Done
    }

    fn is_scheduled(&self, _: &Ready<'_>) -> bool {
        self.active && !(self.over && self.next.is_none())
    }
}
