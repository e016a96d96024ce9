//! Memories and buses: a request is given its time of completion when it is made.
//!
//! Requests are served in the order in which they are made. A request passes its bus, then waits until the memory is free; it keeps the memory busy for `service` cycles a
//! unit, and its first unit is there `latency` cycles after its service began. A full queue keeps the request back until the oldest one is done.

use crate::description::Machine;
use crate::steps::Access;
use std::collections::VecDeque;

/// The buses and memories of a machine.
pub(crate) struct Memories {
    memories: Vec<Memory>,
    buses: Vec<Bus>,
}

struct Memory {
    name: String,
    latency: u64,
    service: u64,
    queue: usize,
    posted: bool,
    bus: Option<usize>,
    cache: Option<Cache>,
    free: u64,
    busy: u64,
    requests: u64,
    /// When the requests that are under way will be done.
    under_way: VecDeque<u64>,
}

struct Cache {
    tags: Vec<u64>,
    line: u64,
    behind: usize,
    units: u32,
    misses: u64,
}

struct Bus {
    name: String,
    service: u64,
    free: u64,
    busy: u64,
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
    /// Cycles that it was busy, as a part of all.
    pub utilisation: f64,
}

impl Memories {
    pub(crate) fn new(machine: &Machine) -> Self {
        let place = |name: &String| machine.memory.keys().position(|known| known == name);
        let bus = |name: &String| machine.bus.keys().position(|known| known == name);
        let cache = |m: &crate::description::Memory| {
            let behind = place(m.behind.as_ref()?)?;
            let lines = (m.cache_bytes / m.width).max(1) as usize;
            let units = m.width.div_ceil(machine.memory.values().nth(behind)?.width);
            Some(Cache { tags: vec![u64::MAX; lines], line: m.width.into(), behind, units, misses: 0 })
        };
        let memory = |(name, m): (&String, &crate::description::Memory)| Memory {
            name: name.clone(),
            latency: m.latency.into(),
            service: m.service.into(),
            queue: if m.queue == 0 { usize::MAX } else { m.queue as usize },
            posted: m.posted_stores,
            bus: m.bus.as_ref().and_then(bus),
            cache: cache(m),
            free: 0,
            busy: 0,
            requests: 0,
            under_way: VecDeque::new(),
        };
        let buses = machine.bus.iter().map(|(name, b)| Bus { name: name.clone(), service: b.service.into(), free: 0, busy: 0 });
        Self { memories: machine.memory.iter().map(memory).collect(), buses: buses.collect() }
    }

    /// When a thread that asks at that time may go on.
    pub(crate) fn request(&mut self, access: &Access, now: u64) -> u64 {
        let at = access.memory as usize;
        let done = self.serve(at, access.units, now);
        let missed = self.memories[at].cache.as_mut().and_then(|cache| cache.look(access));
        let posted = access.write && self.memories[at].posted;
        let done = match missed {
            // A store that misses writes the lines anew; what is behind is written later, which takes its time.
            Some((behind, units)) => self.serve(behind, units, done),
            None => done,
        };
        if posted { now } else { done }
    }

    fn serve(&mut self, at: usize, units: u32, now: u64) -> u64 {
        let mut start = now;
        if let Some(bus) = self.memories[at].bus.and_then(|bus| self.buses.get_mut(bus)) {
            start = start.max(bus.free) + bus.service;
            (bus.free, bus.busy) = (start, bus.busy + bus.service);
        }
        let memory = &mut self.memories[at];
        while memory.under_way.front().is_some_and(|done| *done <= start) {
            memory.under_way.pop_front();
        }
        if memory.under_way.len() >= memory.queue {
            let oldest = memory.under_way[memory.under_way.len() - memory.queue];
            start = start.max(oldest);
        }
        start = start.max(memory.free);
        let busy = memory.service * u64::from(units);
        memory.free = start + busy;
        memory.busy += busy;
        memory.requests += 1;
        let done = start + memory.latency + memory.service * u64::from(units.max(1) - 1);
        if memory.queue != usize::MAX {
            memory.under_way.push_back(done);
        }
        done
    }

    /// How much each was used in that many cycles: memories, buses.
    pub(super) fn uses(&self, cycles: u64) -> (Vec<Use>, Vec<Use>) {
        let part = |busy: u64| if cycles == 0 { 0.0 } else { busy as f64 / cycles as f64 };
        let memory = |m: &Memory| Use {
            name: m.name.clone(),
            requests: m.requests,
            misses: m.cache.as_ref().map_or(0, |cache| cache.misses),
            utilisation: part(m.busy),
        };
        let bus = |b: &Bus| Use {
            name: b.name.clone(),
            requests: b.busy.checked_div(b.service).unwrap_or(0),
            misses: 0,
            utilisation: part(b.busy),
        };
        (self.memories.iter().map(memory).collect(), self.buses.iter().map(bus).collect())
    }
}

impl Cache {
    /// Looks lines up and takes them in; what is asked behind it, and how much.
    fn look(&mut self, access: &Access) -> Option<(usize, u32)> {
        let first = access.address / self.line;
        let mut missed = 0;
        for line in first..first + u64::from(access.units) {
            // Regions of memory lie far apart; their lines are spread over the cache.
            let lines = self.tags.len() as u64;
            let slot = ((line ^ (line >> 38).wrapping_mul(0x9e37)) % lines) as usize;
            missed += u32::from(self.tags[slot] != line);
            self.tags[slot] = line;
        }
        self.misses += u64::from(missed > 0);
        // A store writes whole words, which needs no line; the word goes to what is behind in any case when it is driven out.
        (missed > 0).then_some((self.behind, missed * self.units))
    }
}
