//! Whether the machine is in a state in which it has been before, at the same place of the trace:
//! then what follows is what followed then.
//!
//! Packets arrive in blocks of whole traces, and a block takes a whole number of cycles; so two
//! blocks differ only in the state with which they begin. A state is everything that decides what
//! happens next, with times relative to now. It is compared as a whole, not by a hash.

use super::{Core, Model, Options, Thread};
use std::collections::HashSet;

/// Packets of a block are at least so many, so that rounding its time to cycles changes the rate by
/// less than one part in 4,096.
const BLOCK: u64 = 4096;

/// States at the beginnings of blocks.
pub(super) struct Seen {
    block: u64,
    watched: bool,
    states: HashSet<Vec<u64>>,
}

impl Seen {
    pub(super) fn new(options: &Options, trace: usize) -> Self {
        let trace = (trace as u64).max(1);
        let watched = options.until_repeat && options.interval.is_some();
        Self { block: trace * BLOCK.div_ceil(trace), watched, states: HashSet::new() }
    }

    /// When a packet arrives, by its number.
    pub(super) fn arrival(&self, number: u64, interval: f64) -> u64 {
        let whole = (self.block as f64 * interval).round() as u64;
        number / self.block * whole + ((number % self.block) as f64 * interval) as u64
    }
}

impl Model<'_> {
    /// At an arrival: whether all that follows has been seen.
    pub(super) fn repeats(&mut self, now: u64) -> bool {
        if !self.seen.watched || !self.arrived.is_multiple_of(self.seen.block) {
            return false;
        }
        for core in 0..self.cores.len() {
            if self.cores[core].jump.is_some() {
                self.land(core, now);
                (self.cores[core].free, self.cores[core].scheduled) = (now, None);
                self.wake_core(core, now);
            }
        }
        let state = self.state(now);
        !self.seen.states.insert(state)
    }

    fn state(&self, now: u64) -> Vec<u64> {
        let mut all = vec![self.taken as u64];
        all.extend(self.waiting.iter().map(|packet| self.arrived - packet.number));
        all.push(u64::MAX);
        for thread in &self.threads {
            self.thread(thread, now, &mut all);
        }
        for Core { last, scheduled, free, .. } in &self.cores {
            all.extend([*last as u64, scheduled.map_or(0, |at| at.saturating_sub(now) + 1), free.saturating_sub(now)]);
        }
        self.memories.state(now, &mut all);
        self.sync.state(&mut all);
        self.output.state(now, self.accepted, &mut all);
        all
    }

    fn thread(&self, thread: &Thread, now: u64, all: &mut Vec<u64>) {
        let packet = thread.packet.map_or([0; 2], |packet| [self.arrived - packet.number, self.accepted - packet.order]);
        let times = [thread.ready, thread.since].map(|time| time.saturating_sub(now));
        all.extend(packet);
        all.extend(times);
        // Where it was in a packet that it has no more decides nothing.
        let at = if thread.packet.is_some() { thread.at as u64 } else { 0 };
        all.extend([thread.state as u64, at, thread.left]);
    }
}
