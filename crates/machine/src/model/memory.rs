//! Memories, caches and buses: a request is given its time of completion when it is made.
//!
//! Requests are served in the order in which they are made. A request passes its bus, then waits
//! until the memory is free; it keeps the memory (or one of its `servers`) busy for `service`
//! cycles a unit, and its first unit is there `latency` cycles after its service began. A full
//! queue keeps the request back until the oldest one is done.
//!
//! A cache asks the memory behind it for the lines that it lacks. A store to a cache that writes
//! back takes lines in as a load does, and what is behind is written then; a store to one that
//! writes through goes to what is behind in any case, and takes nothing in. A cache of each core's
//! own loses a line when another core stores to it, or a packet arrives there.

use super::cache::Cache;
use crate::description::Machine;
use crate::steps::{Access, is_private};
use std::collections::VecDeque;

/// The buses and memories of a machine.
pub(crate) struct Memories {
    memories: Vec<Memory>,
    buses: Vec<Bus>,
    /// The cache that arriving packets are put into.
    arrivals: Option<usize>,
}

struct Memory {
    name: String,
    width: u64,
    latency: u64,
    service: u64,
    queue: usize,
    posted: bool,
    through: bool,
    bus: Option<usize>,
    behind: Option<usize>,
    per_core: bool,
    /// One for all cores, or one for each.
    units: Vec<Unit>,
    busy: u64,
    requests: u64,
    misses: u64,
}

struct Unit {
    /// When each of its servers is free.
    free: Vec<u64>,
    /// When the requests that are under way will be done.
    under_way: VecDeque<u64>,
    cache: Option<Cache>,
}

struct Bus {
    name: String,
    service: u64,
    free: u64,
    busy: u64,
}

/// Bytes that are asked for.
#[derive(Clone, Copy)]
struct Range {
    core: usize,
    address: u64,
    bytes: u64,
    write: bool,
}

/// How much one was used.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Use {
    /// Its name in the description.
    pub name: String,
    /// Requests.
    pub requests: u64,
    /// Requests that a cache did not have.
    pub misses: u64,
    /// Cycles that it was busy, as a part of all; of those that each core has, the average.
    pub utilisation: f64,
}

impl Memory {
    fn new(name: &str, m: &crate::description::Memory, machine: &Machine) -> Self {
        let cache = |_| (m.cache_bytes > 0).then(|| Cache::new(m.cache_bytes, m.line(), m.ways));
        let unit = |n| Unit { free: vec![0; m.servers.max(1) as usize], under_way: VecDeque::new(), cache: cache(n) };
        let count = if m.per_core { machine.processor.cores } else { 1 };
        Self {
            name: name.to_owned(),
            width: m.width.into(),
            latency: m.latency.into(),
            service: m.service.into(),
            queue: if m.queue == 0 { usize::MAX } else { m.queue as usize },
            posted: m.posted_stores,
            through: m.write_through,
            bus: m.bus.as_ref().and_then(|bus| machine.bus.keys().position(|known| known == bus)),
            behind: m.behind.as_ref().and_then(|behind| machine.memory_number(behind)),
            per_core: m.per_core,
            units: (0..count).map(unit).collect(),
            busy: 0,
            requests: 0,
            misses: 0,
        }
    }

    fn unit(&self, core: usize) -> usize {
        core.min(self.units.len() - 1)
    }
}

impl Memories {
    pub(crate) fn new(machine: &Machine) -> Self {
        let memories = machine.memory.iter().map(|(name, m)| Memory::new(name, m, machine)).collect();
        let buses = machine.bus.iter().map(|(name, b)| Bus { name: name.clone(), service: b.service.into(), free: 0, busy: 0 });
        let arrivals = machine.receive.into.as_ref().and_then(|into| machine.memory_number(into));
        Self { memories, buses: buses.collect(), arrivals }
    }

    /// When a thread of that core that asks at that time may go on.
    pub(crate) fn request(&mut self, access: &Access, core: usize, now: u64) -> u64 {
        let at = access.memory as usize;
        let bytes = u64::from(access.units) * self.memories[at].width;
        let range = Range { core, address: access.address, bytes, write: access.write };
        let done = self.reach(at, range, now);
        if access.write && !is_private(access) {
            self.invalidate(range, Some(core));
        }
        if access.write && self.memories[at].posted { now } else { done }
    }

    /// A packet has come: its bytes are in the cache for arrivals, and in no core's own.
    pub(crate) fn arrive(&mut self, address: u64, bytes: u32) {
        let Some(at) = self.arrivals else { return };
        let range = Range { core: 0, address, bytes: bytes.into(), write: true };
        self.invalidate(range, None);
        if let Some(cache) = self.memories[at].units.first_mut().and_then(|unit| unit.cache.as_mut()) {
            cache.look(address, bytes.into(), true);
        }
    }

    fn invalidate(&mut self, range: Range, but: Option<usize>) {
        for memory in self.memories.iter_mut().filter(|memory| memory.per_core) {
            let others = memory.units.iter_mut().enumerate().filter(|(core, _)| Some(*core) != but);
            others.filter_map(|(_, unit)| unit.cache.as_mut()).for_each(|cache| cache.invalidate(range.address, range.bytes));
        }
    }

    fn reach(&mut self, at: usize, range: Range, now: u64) -> u64 {
        let done = self.serve(at, range.core, range.bytes.div_ceil(self.memories[at].width), now);
        let memory = &mut self.memories[at];
        let unit = memory.unit(range.core);
        let (Some(cache), Some(behind)) = (memory.units[unit].cache.as_mut(), memory.behind) else { return done };
        let passes = range.write && memory.through;
        let missed = cache.look(range.address, range.bytes, !passes);
        let line = cache.line();
        memory.misses += u64::from(missed.is_some());
        match missed {
            _ if passes => self.reach(behind, range, done),
            Some((address, lines)) => self.reach(behind, Range { address, bytes: lines * line, ..range }, done),
            None => done,
        }
    }

    fn serve(&mut self, at: usize, core: usize, units: u64, now: u64) -> u64 {
        let mut start = now;
        if let Some(bus) = self.memories[at].bus.and_then(|bus| self.buses.get_mut(bus)) {
            start = start.max(bus.free) + bus.service;
            (bus.free, bus.busy) = (start, bus.busy + bus.service);
        }
        let memory = &mut self.memories[at];
        let own = memory.unit(core);
        let unit = &mut memory.units[own];
        if memory.queue != usize::MAX {
            while unit.under_way.front().is_some_and(|done| *done <= start) {
                unit.under_way.pop_front();
            }
            if unit.under_way.len() >= memory.queue {
                start = start.max(unit.under_way[unit.under_way.len() - memory.queue]);
            }
        }
        let busy = memory.service * units;
        if let Some(free) = unit.free.iter_mut().min() {
            start = start.max(*free);
            *free = start + busy;
        }
        memory.busy += busy;
        memory.requests += 1;
        let done = start + memory.latency + memory.service * units.saturating_sub(1);
        if memory.queue != usize::MAX {
            unit.under_way.push_back(done);
        }
        done
    }

    /// What decides when requests will be done.
    pub(super) fn state(&self, now: u64, all: &mut Vec<u64>) {
        for unit in self.memories.iter().flat_map(|memory| &memory.units) {
            all.extend(unit.free.iter().map(|free| free.saturating_sub(now)));
            all.extend(unit.under_way.iter().map(|done| done.saturating_sub(now)).filter(|left| *left > 0));
            all.push(u64::MAX);
            all.extend(unit.cache.iter().flat_map(|cache| cache.tags()));
        }
        all.extend(self.buses.iter().map(|bus| bus.free.saturating_sub(now)));
    }

    /// How much each was used in that many cycles: memories, buses.
    pub(crate) fn uses(&self, cycles: u64) -> (Vec<Use>, Vec<Use>) {
        let part = |busy: u64, count: usize| if cycles == 0 { 0.0 } else { busy as f64 / cycles as f64 / count as f64 };
        let memory = |m: &Memory| Use {
            name: m.name.clone(),
            requests: m.requests,
            misses: m.misses,
            utilisation: part(m.busy, m.units.iter().map(|unit| unit.free.len()).sum()),
        };
        let bus = |b: &Bus| Use {
            name: b.name.clone(),
            requests: b.busy.checked_div(b.service).unwrap_or(0),
            misses: 0,
            utilisation: part(b.busy, 1),
        };
        (self.memories.iter().map(memory).collect(), self.buses.iter().map(bus).collect())
    }
}
