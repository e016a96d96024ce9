//! How long elements run: a run of one element in every [`EVERY`], on average, is measured by the host's stopwatch, and what runs within it is told apart. A burst
//! of linked elements is one run. Which runs are measured is drawn by lot, so that no pattern of packets decides; the packets notice nothing of it.
//!
//! Two looks at a clock take some 50 ns: at one run in 64 that is less than a nanosecond for each. A run that takes far longer than those before was most
//! likely interrupted by the system, and counts as they do.

use super::Graph;

/// How many runs there are for each that is measured.
const EVERY: u64 = 64;

/// How many times as long as others, and how long at least, an interrupted run takes, in nanoseconds.
const INTERRUPTED: (u64, u64) = (32, 20_000);
/// Runs that must be known before one is taken for interrupted.
const KNOWN: u64 = 8;

/// What was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    runs: u64,
    ns: u64,
}

impl Measured {
    fn add(&mut self, ns: u64) {
        let mean = self.ns / self.runs.max(1);
        let interrupted = self.runs >= KNOWN && ns > INTERRUPTED.1 && ns > mean.saturating_mul(INTERRUPTED.0);
        self.runs += 1;
        self.ns = self.ns.saturating_add(if interrupted { mean } else { ns });
    }

    /// Nanoseconds of all runs, an estimate; 0 if none was measured.
    pub fn ns(&self) -> u64 {
        self.ns.saturating_mul(EVERY)
    }
}

/// What measures.
pub(super) struct Meter {
    /// Nanoseconds from some moment on.
    clock: fn() -> u64,
    /// What a look at the clock takes.
    cost: u64,
    /// Runs until the next that is measured.
    wait: u64,
    lot: u64,
    /// Runs within runs.
    depth: u32,
    /// The outermost run is measured.
    measures: bool,
    /// Time of runs within this one.
    within: u64,
}

/// A run that has begun.
#[derive(Clone, Copy)]
pub(super) enum Begun {
    /// It is not measured.
    Unseen,
    /// It is: since when, and the time of runs within the run around it.
    At(u64, u64),
}

impl Meter {
    pub(super) fn new(clock: fn() -> u64) -> Self {
        let looks: Vec<u64> = (0..32).map(|_| clock()).collect();
        let mut costs: Vec<u64> = looks.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        costs.sort_unstable();
        Self { clock, cost: costs[costs.len() / 2], wait: 1, lot: 0x9e37_79b9_7f4a_7c15, depth: 0, measures: false, within: 0 }
    }

    fn begin(&mut self) -> Begun {
        if self.depth == 0 {
            self.wait -= 1;
            self.measures = self.wait == 0;
            if self.measures {
                self.draw();
            }
        }
        self.depth += 1;
        match self.measures {
            true => Begun::At((self.clock)(), std::mem::take(&mut self.within)),
            false => Begun::Unseen,
        }
    }

    /// How long the run took without those within it.
    fn end(&mut self, begun: Begun) -> Option<u64> {
        self.depth = self.depth.saturating_sub(1);
        let Begun::At(since, around) = begun else { return None };
        let took = (self.clock)().saturating_sub(since);
        let own = took.saturating_sub(self.within + self.cost);
        // Of each look about half is before the moment that it tells, half behind.
        self.within = around + took + self.cost;
        Some(own)
    }

    /// How many runs there are until the next is measured: 1 to twice [`EVERY`] less one.
    fn draw(&mut self) {
        self.lot ^= self.lot << 13;
        self.lot ^= self.lot >> 7;
        self.lot ^= self.lot << 17;
        self.wait = 1 + self.lot % (2 * EVERY - 1);
    }
}

impl Graph {
    /// Measures from now on, by a stopwatch in nanoseconds.
    pub fn measure(&mut self, stopwatch: fn() -> u64) {
        self.meter = Some(Meter::new(stopwatch));
    }

    pub(super) fn begin_run(&mut self) -> Begun {
        self.meter.as_mut().map_or(Begun::Unseen, Meter::begin)
    }

    /// An element has returned.
    pub(super) fn end_run_of(&mut self, node: usize, begun: Begun) {
        if let Some(own) = self.meter.as_mut().and_then(|meter| meter.end(begun)) {
            self.nodes[node].stats.measured.add(own);
        }
    }

    /// Linked elements have returned.
    pub(super) fn end_linked_run(&mut self, packets: usize, begun: Begun) {
        self.linked_packets += packets as u64;
        if let Some(own) = self.meter.as_mut().and_then(|meter| meter.end(begun)) {
            self.linked_measured.add(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    /// Every look takes 2 ns.
    fn clock() -> u64 {
        NOW.with(|now| now.replace(now.get() + 2))
    }

    fn pass(ns: u64) {
        NOW.with(|now| now.set(now.get() + ns));
    }

    #[test]
    fn one_run_in_so_many_stands_for_all_and_what_is_within_is_told_apart() {
        let mut meter = Meter::new(clock);
        let (mut outer, mut inner, mut runs) = (0, 0, 0);
        for _ in 0..200_000 {
            let whole = meter.begin();
            pass(70);
            let part = meter.begin();
            pass(30);
            inner += meter.end(part).unwrap_or(0) * EVERY;
            pass(10);
            outer += meter.end(whole).unwrap_or(0) * EVERY;
            runs += 1;
        }
        let [outer, inner] = [outer, inner].map(|ns| ns as f64 / f64::from(runs));
        assert!((outer / 80.0 - 1.0).abs() < 0.03 && (inner / 30.0 - 1.0).abs() < 0.03, "{outer} {inner}");
    }

    #[test]
    fn an_interrupted_run_counts_as_the_others() {
        let mut measured = Measured::default();
        (0..99).for_each(|_| measured.add(100));
        measured.add(4_000_000);
        assert_eq!(measured.ns(), 100 * 100 * EVERY);
        let mut slow = Measured::default();
        (0..100).for_each(|_| slow.add(4_000_000));
        assert_eq!(slow.ns(), 400_000_000 * EVERY);
        assert_eq!(Measured::default().ns(), 0);
    }

    #[test]
    fn packets_that_come_in_a_pattern_are_measured_alike() {
        let mut meter = Meter::new(clock);
        let mut measured = [0u64; 8];
        for run in 0..400_000 {
            let begun = meter.begin();
            pass(50);
            measured[run % 8] += meter.end(begun).map_or(0, |_| 1);
        }
        assert!(measured.iter().all(|n| (650..920).contains(n)), "{measured:?}");
    }
}
