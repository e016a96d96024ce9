//! FromDevice on packets in memory: for programs that make their traffic themselves, and for measurements, in which no file is to be read.

use super::super::Packet;
use super::{Control, Ctx, Native, Ready, controls};
use crate::io::LinkType;
use netil::pool::Pool;
use std::sync::Arc;

/// Packets that a device gives, one after the other, as often as is said.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    bytes: Vec<u8>,
    /// Where each packet ends.
    ends: Vec<usize>,
    /// How often all of them come.
    passes: u64,
    /// From one packet to the next, in nanoseconds.
    interval_ns: u64,
}

impl Replay {
    /// Those packets, so often, one every `interval_ns` nanoseconds; of each no more bytes than a packet can have.
    pub fn new<'p>(packets: impl IntoIterator<Item = &'p [u8]>, passes: u64, interval_ns: u64) -> Self {
        let mut replay = Self { passes, interval_ns, ..Self::default() };
        for packet in packets {
            replay.bytes.extend(packet.iter().take(netil::exec::MAX_PACKET as usize));
            replay.ends.push(replay.bytes.len());
        }
        replay
    }

    fn packet(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }
}

/// A source of them.
pub(super) struct Source {
    pub replay: Arc<Replay>,
    pub name: String,
    pub pulled: bool,
    index: usize,
    passed: u64,
    count: u64,
    active: bool,
}

impl Source {
    pub(super) fn new(replay: &Arc<Replay>, name: String, pulled: bool) -> Self {
        Self { replay: Arc::clone(replay), name, pulled, index: 0, passed: 0, count: 0, active: true }
    }

    fn is_over(&self) -> bool {
        self.replay.ends.is_empty() || self.passed >= self.replay.passes
    }

    fn time(&self) -> u64 {
        let number = self.passed.saturating_mul(self.replay.ends.len() as u64).saturating_add(self.index as u64);
        number.saturating_add(1).saturating_mul(self.replay.interval_ns)
    }

    fn take(&mut self, ctx: &Ctx<'_>) -> Option<Packet> {
        if self.is_over() || !self.active {
            return None;
        }
        let packet = Packet::new(self.replay.packet(self.index), self.time(), ctx.info());
        self.next();
        Some(packet)
    }

    /// Puts packets of this pass into the pool; false if there were none.
    fn fill(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, pool: &mut Pool) -> bool {
        let (replay, mut time) = (&*self.replay, self.time());
        let (mut start, before) = (self.index.checked_sub(1).map_or(0, |before| replay.ends[before]), slots.len());
        for end in replay.ends[self.index..].iter().take(most - before) {
            let len = *end - start;
            let slot =
                if time < until { pool.put_first(&replay.bytes[start..], len, time, len as u32, LinkType::EN10MB.number()) } else { None };
            let Some(slot) = slot else { break };
            slots.push(slot);
            (start, time) = (*end, time.saturating_add(replay.interval_ns));
        }
        self.step(slots.len() - before);
        slots.len() > before
    }

    fn next(&mut self) {
        self.step(1);
    }

    /// So many packets have been taken, of this pass.
    fn step(&mut self, taken: usize) {
        self.count += taken as u64;
        self.index += taken;
        if self.index == self.replay.ends.len() {
            (self.index, self.passed) = (0, self.passed + 1);
        }
    }
}

impl Native for Source {
    fn is_source(&self) -> bool {
        !self.pulled
    }

    fn next_arrival(&mut self, _: &mut Ctx<'_>) -> Option<u64> {
        (self.active && !self.is_over()).then(|| self.time())
    }

    fn arrive(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.take(ctx) {
            ctx.emit(0, packet);
        }
    }

    fn arrive_many(&mut self, most: usize, until: u64, slots: &mut Vec<u32>, ctx: &mut Ctx<'_>) -> Option<u64> {
        let before = self.count;
        while slots.len() < most && self.active && !self.is_over() && self.time() < until && self.fill(most, until, slots, ctx.pool()) {}
        (self.count > before).then(|| self.time().saturating_sub(self.replay.interval_ns))
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
