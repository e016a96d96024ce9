//! FromDevice on packets in memory: for programs that make their traffic themselves, and for measurements, in which no file is to be read.

use super::super::Packet;
use super::{Control, Ctx, Native, Ready, controls};
use crate::io::LinkType;
use netil::pool::{Arrival, Pool};
use std::sync::Arc;

/// Packets that a device gives, one after the other, as often as is said.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Packets as a network card would put them, each at the beginning of a cache line.
    memory: Vec<u8>,
    /// Where the first is.
    begin: usize,
    /// Where each ends, from there on.
    ends: Vec<usize>,
    /// How often all of them come.
    passes: u64,
    /// From one packet to the next, in nanoseconds.
    interval_ns: u64,
}

impl Replay {
    /// Those packets, so often, one every `interval_ns` nanoseconds; of each no more bytes than a packet can have.
    pub fn new<'p>(packets: impl IntoIterator<Item = &'p [u8]>, passes: u64, interval_ns: u64) -> Self {
        let packets: Vec<&[u8]> = packets.into_iter().map(|packet| &packet[..packet.len().min(netil::exec::MAX_PACKET as usize)]).collect();
        let mut memory: Vec<u8> = Vec::with_capacity(packets.iter().map(|packet| behind(packet.len())).sum::<usize>() + LINE);
        let begin = memory.as_ptr().align_offset(LINE).min(LINE);
        memory.resize(begin, 0);
        let mut ends = Vec::with_capacity(packets.len());
        for packet in packets {
            memory.extend_from_slice(packet);
            ends.push(memory.len() - begin);
            memory.resize(begin + behind(memory.len() - begin), 0);
        }
        Self { memory, begin, ends, passes, interval_ns }
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..]
    }
}

/// Of a cache.
const LINE: usize = 64;

/// Where the next packet begins behind the end of one.
fn behind(end: usize) -> usize {
    end.next_multiple_of(LINE)
}

/// A source of them.
pub(super) struct Source {
    pub replay: Arc<Replay>,
    pub name: String,
    pub pulled: bool,
    /// The next packet, and where its bytes begin.
    index: usize,
    start: usize,
    /// When it comes.
    time: u64,
    passed: u64,
    count: u64,
    active: bool,
}

impl Source {
    pub(super) fn new(replay: &Arc<Replay>, name: String, pulled: bool) -> Self {
        let time = replay.interval_ns;
        Self { replay: Arc::clone(replay), name, pulled, index: 0, start: 0, time, passed: 0, count: 0, active: true }
    }

    fn is_over(&self) -> bool {
        self.replay.ends.is_empty() || self.passed >= self.replay.passes
    }

    fn take(&mut self, ctx: &Ctx<'_>) -> Option<Packet> {
        if self.is_over() || !self.active {
            return None;
        }
        let end = self.replay.ends[self.index];
        let packet = Packet::new(&self.replay.bytes()[self.start..end], self.time, ctx.info());
        self.step(1);
        Some(packet)
    }

    /// Puts packets of this pass into the pool; when the last one came, if there was one.
    fn put(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, pool: &mut Pool) -> Option<u64> {
        let (before, bytes, interval) = (slots.len(), self.replay.bytes(), self.replay.interval_ns);
        let (mut start, mut time) = (self.start, self.time);
        let ends = &self.replay.ends[self.index..];
        let coming = ends[..ends.len().min(most - before).min(self.come_before(until))].iter().map(|end| {
            let arrival = Arrival { bytes: &bytes[start..], len: *end - start, time_ns: time, wire_len: (*end - start) as u32 };
            (start, time) = (behind(*end), time.saturating_add(interval));
            arrival
        });
        pool.put_many(coming, LinkType::EN10MB.number(), slots);
        self.step(slots.len() - before)
    }

    /// How many packets come before that time.
    fn come_before(&self, until: u64) -> usize {
        let (span, interval) = (until.saturating_sub(self.time), self.replay.interval_ns);
        match span {
            0 => 0,
            _ if until == u64::MAX || interval == 0 => usize::MAX,
            _ if span <= interval => 1,
            _ => usize::try_from(span.div_ceil(interval)).unwrap_or(usize::MAX),
        }
    }

    /// So many packets of this pass have been taken; when the last of them came, if there was one.
    fn step(&mut self, taken: usize) -> Option<u64> {
        let interval = self.replay.interval_ns;
        let last = self.time.saturating_add(interval.saturating_mul(taken.checked_sub(1)? as u64));
        self.count += taken as u64;
        self.start = behind(self.replay.ends[self.index + taken - 1]);
        (self.index, self.time) = (self.index + taken, last.saturating_add(interval));
        if self.index == self.replay.ends.len() {
            (self.index, self.start, self.passed) = (0, 0, self.passed + 1);
        }
        Some(last)
    }
}

impl Native for Source {
    fn is_source(&self) -> bool {
        !self.pulled
    }

    fn next_arrival(&mut self, _: &mut Ctx<'_>) -> Option<u64> {
        (self.active && !self.is_over()).then_some(self.time)
    }

    fn arrive(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.take(ctx) {
            ctx.emit(0, packet);
        }
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
                (self.index, self.passed) = (self.replay.ends.len(), self.passed - 1);
            }
            self.index -= 1;
        }
        self.start = self.index.checked_sub(1).map_or(0, |before| behind(self.replay.ends[before]));
    }

    fn pull(&mut self, _: u32, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.take(ctx)
    }

    fn is_ready(&self, _: u32, _: &Ready<'_>) -> bool {
        self.active && !self.is_over()
    }

    fn controls(&self) -> Vec<Control> {
        controls(&["count", "filename", "encap"], &["reset_counts"], &["active"])
    }

    fn read(&mut self, handler: &str, _: &str, _: &mut Ctx<'_>) -> Result<String, String> {
        Ok(match handler {
            "count" => self.count.to_string(),
            "filename" => self.name.clone(),
            "encap" => "ETHER".to_owned(),
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
