//! FromDevice on packets in memory: for programs that make their traffic themselves, and for
//! measurements, in which no file is to be read. Of the element's arguments SNAPLEN counts.

use super::super::round_robin::moments;
use super::super::{HandlerError, Own, Packet};
use super::{BuiltIn, Ctx, ElementHandler, Handlers, Ready, Source, element_handlers};
use crate::io::LinkType;
use netil::pool::{Arrival, Even, Line, Lines, Pool};
use std::sync::Arc;

/// Packets that a device gives, one after the other, as often as is said.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Packets as a network card would put them, each at the beginning of a cache line.
    memory: Vec<u8>,
    /// Where the first line begins.
    begin: usize,
    /// How many bytes each has.
    lens: Vec<u32>,
    /// Whether each has a line.
    even: bool,
    /// How often all of them come.
    passes: u64,
    /// From one packet to the next, in nanoseconds.
    interval_ns: u64,
}

impl Replay {
    /// Those packets, so often, one every `interval_ns` nanoseconds; of each no more bytes than a
    /// packet can have.
    pub fn new<'p>(packets: impl IntoIterator<Item = &'p [u8]>, passes: u64, interval_ns: u64) -> Self {
        let (mut bytes, mut lens) = (Vec::new(), Vec::new());
        for packet in packets {
            let packet = &packet[..packet.len().min(netil::exec::MAX_PACKET as usize)];
            lens.push(packet.len() as u32);
            bytes.extend_from_slice(packet);
            bytes.resize(bytes.len().next_multiple_of(LINE), 0);
        }
        let even = lens.iter().all(|len| lines_of(*len) == 1);
        let mut memory = vec![0; bytes.len() + LINE];
        let begin = memory.as_ptr().align_offset(LINE).min(LINE);
        memory[begin..begin + bytes.len()].copy_from_slice(&bytes);
        memory.truncate(begin + bytes.len());
        Self { memory, begin, lens, even, passes, interval_ns }
    }

    /// The packets of one graph among several, as a network card with a queue for each would give
    /// them, one every so many nanoseconds as before.
    pub(super) fn share(&self, mut own: Own) -> Self {
        let starts = self.lens.iter().scan(0, |line, len| Some(std::mem::replace(line, *line + lines_of(*len))));
        let packets = starts.zip(&self.lens).map(|(line, len)| &self.lines_from(line).as_flattened()[..*len as usize]);
        Self::new(packets.filter(|packet| own.takes(LinkType::EN10MB, packet)), self.passes, self.interval_ns)
    }

    /// Lines from that one on.
    fn lines_from(&self, line: usize) -> &[Line] {
        &self.lines()[line..]
    }
}

impl Lines for Replay {
    fn lines(&self) -> &[Line] {
        self.memory[self.begin..].as_chunks().0
    }
}

/// Bytes of a line.
const LINE: usize = size_of::<Line>();

/// How many lines a packet takes.
fn lines_of(len: u32) -> usize {
    (len as usize).div_ceil(LINE)
}

/// A source of them.
pub(super) struct FromReplay {
    pub replay: Arc<Replay>,
    /// The replay's lines, for whoever copies them later.
    kept: Arc<dyn Lines>,
    pub name: String,
    pub pulled: bool,
    /// The most bytes of each packet, and whether some have more.
    snaplen: u32,
    cuts: bool,
    /// The next packet, and its first line.
    index: usize,
    line: usize,
    /// When it comes.
    time: u64,
    passed: u64,
    count: u64,
    active: bool,
}

impl FromReplay {
    pub(super) fn new(replay: &Arc<Replay>, name: String, pulled: bool, snaplen: u32) -> Self {
        let time = replay.interval_ns;
        Self {
            replay: Arc::clone(replay),
            kept: Arc::clone(replay) as Arc<dyn Lines>,
            name,
            pulled,
            snaplen,
            cuts: replay.lens.iter().any(|len| *len > snaplen),
            index: 0,
            line: 0,
            time,
            passed: 0,
            count: 0,
            active: true,
        }
    }

    fn is_over(&self) -> bool {
        self.replay.lens.is_empty() || self.passed >= self.replay.passes
    }

    fn take(&mut self, ctx: &Ctx<'_>) -> Option<Packet> {
        if self.is_over() || !self.active {
            return None;
        }
        let wire_len = self.replay.lens[self.index];
        let len = wire_len.min(self.snaplen) as usize;
        let mut packet = Packet::new(&self.replay.lines_from(self.line).as_flattened()[..len], self.time, ctx.info());
        packet.buffer.set_wire_len(wire_len);
        self.step(1);
        Some(packet)
    }

    /// Puts packets of this pass into the pool; when the last one came, if there was one.
    fn put(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, pool: &mut Pool) -> Option<u64> {
        let (before, replay) = (slots.len(), &*self.replay);
        let lens = &replay.lens[self.index..];
        let lens = &lens[..lens.len().min(most - before).min(moments(self.time, replay.interval_ns, until))];
        let (mut line, mut time, snaplen) = (self.line, self.time, self.snaplen);
        let coming = lens.iter().map(|len| {
            let kept = (*len).min(snaplen) as usize;
            let arrival = Arrival { bytes: replay.lines_from(line).as_flattened(), len: kept, time_ns: time, wire_len: *len };
            (line, time) = (line + lines_of(*len), time.saturating_add(replay.interval_ns));
            arrival
        });
        pool.put_many(coming, LinkType::EN10MB.number(), slots);
        let (line, last) = (self.line, self.step(slots.len() - before));
        let later = self.replay.lines_from(self.line);
        pool.expect(&later[..later.len().min(self.line.saturating_sub(line))]);
        last
    }

    /// So many packets of this pass have been taken; when the last of them came, if there was one.
    fn step(&mut self, taken: usize) -> Option<u64> {
        let interval = self.replay.interval_ns;
        let last = self.time.saturating_add(interval.saturating_mul(taken.checked_sub(1)? as u64));
        self.count += taken as u64;
        self.line += match self.replay.even {
            true => taken,
            false => self.replay.lens[self.index..self.index + taken].iter().map(|len| lines_of(*len)).sum(),
        };
        (self.index, self.time) = (self.index + taken, last.saturating_add(interval));
        if self.index == self.replay.lens.len() {
            (self.index, self.line, self.passed) = (0, 0, self.passed + 1);
        }
        Some(last)
    }
}

impl BuiltIn for FromReplay {
    fn source(&mut self) -> Option<&mut dyn Source> {
        if self.pulled { None } else { Some(self) }
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.take(ctx)
    }

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        self.active && !self.is_over()
    }

    gives!(handlers);
}

impl Handlers for FromReplay {
    fn element_handlers(&self) -> Vec<ElementHandler> {
        element_handlers(&["count", "filename", "encap"], &["reset_counts"], &["active"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, HandlerError> {
        Ok(match handler {
            "count" => self.count.to_string(),
            "filename" => self.name.clone(),
            "encap" => "ETHER".to_owned(),
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

impl Source for FromReplay {
    fn next_arrival(&mut self, _: &mut Ctx<'_>) -> Option<u64> {
        (self.active && !self.is_over()).then_some(self.time)
    }

    fn arrive(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.take(ctx) {
            ctx.emit(0, packet);
        }
    }

    fn even(&self) -> Option<Even<'_>> {
        let replay = Some(&*self.replay).filter(|replay| replay.even && !self.cuts && self.active && !self.is_over())?;
        let (lens, lines) = (&replay.lens[self.index..], replay.lines_from(self.line));
        let kept = Some((&self.kept, self.line));
        Some(Even { lines, kept, lens, time_ns: self.time, interval_ns: replay.interval_ns, tag: LinkType::EN10MB.number() })
    }

    fn even_arrived(&mut self, packets: usize) {
        self.step(packets);
    }

    fn arrive_many(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> Option<u64> {
        let mut last = None;
        while slots.len() < most && self.time < until && self.active && !self.is_over() {
            match self.put(most, until, slots, ctx.pool()) {
                Some(time) => last = Some(time),
                None => break,
            }
        }
        last
    }

    fn takes_back(&self) -> bool {
        true
    }

    fn take_back(&mut self, slots: &[u32], ctx: &mut Ctx<'_>) {
        let Some(first) = slots.first() else { return };
        self.time = ctx.pool().slot(*first).time_ns;
        ctx.pool().give_back(slots);
        self.count -= slots.len() as u64;
        for _ in slots {
            if self.index == 0 {
                (self.index, self.line, self.passed) = (self.replay.lens.len(), self.replay.lines().len(), self.passed - 1);
            }
            self.index -= 1;
            self.line -= lines_of(self.replay.lens[self.index]);
        }
    }
}
