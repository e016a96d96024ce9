//! How long elements run: a run of one element in every [`EVERY`], on average, is measured by the
//! host's stopwatch, and what runs within it is told apart. A burst of linked elements is one run.
//! Which runs are measured is drawn by lot, so that no pattern of packets decides; the packets
//! notice nothing of it.
//!
//! Elements that run as one cannot be told apart while they do. So of the bursts that are measured
//! one in [`EVERY`], the second first, is run element by element: what each takes of that is its
//! part of the time that they take as one. How long they take as one is known from the others. An
//! element takes a few nanoseconds, less than looking at the clock: so nothing is measured in the
//! same way, too, and taken off on average.
//!
//! Two looks at a clock take some 50 ns: at one run in 64 that is less than a nanosecond for each.
//! A run that takes far longer than those before was most likely interrupted by the system, and
//! counts as they do.

use super::Graph;

/// How many runs there are for each that is measured.
const EVERY: u64 = 64;

/// How many times as long as others, and how long at least, an interrupted run takes, in
/// nanoseconds.
const INTERRUPTED: (u64, u64) = (32, 20_000);
/// Runs that must be known before one is taken for interrupted.
const KNOWN: u64 = 8;

/// What was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    runs: u64,
    ns: u64,
    /// Of the first run, which all memory is new to.
    alone: u64,
}

impl Measured {
    fn add(&mut self, ns: u64) {
        let mean = self.ns / self.runs.max(1);
        let interrupted = self.runs >= KNOWN && ns > INTERRUPTED.1 && ns > mean.saturating_mul(INTERRUPTED.0);
        self.runs += 1;
        self.ns = self.ns.saturating_add(if interrupted { mean } else { ns });
    }

    /// A run, which stands for others unless it is the first: that finds all memory new.
    fn note(&mut self, ns: u64, is_first: bool) {
        if is_first { self.alone = self.alone.saturating_add(ns) } else { self.add(ns) }
    }

    /// Another run that took as long as those before on average.
    fn add_another(&mut self) {
        self.ns += self.ns / self.runs.max(1);
        self.runs += 1;
    }

    /// As large a part of it as one number is of another.
    pub(super) fn part(self, one: u64, all: u64) -> Self {
        let part = |ns: u64| (u128::from(ns) * u128::from(one) / u128::from(all.max(1))) as u64;
        Self { runs: self.runs, ns: part(self.ns), alone: part(self.alone) }
    }

    /// Nanoseconds of all runs, an estimate; 0 if none was measured.
    pub fn ns(&self) -> u64 {
        self.ns.saturating_mul(EVERY).saturating_add(self.alone)
    }
}

/// What measures.
pub(super) struct Profiler {
    /// Nanoseconds from some moment on.
    clock: fn() -> u64,
    /// What a look at the clock takes.
    cost: u64,
    /// Runs until the next that is measured.
    wait: u64,
    lot: u64,
    /// Runs within runs.
    depth: u32,
    /// The outermost run is measured; it is the first; there has been one.
    measures: bool,
    is_first: bool,
    begun: bool,
    /// Time of runs within this one.
    within: u64,
    /// Bursts of linked elements that were measured.
    bursts: u64,
    /// When an element among them has begun; what nothing takes.
    since: u64,
    nothing: Part,
}

/// Runs of an element among others that run as one, and nanoseconds of all, with looking at the
/// clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    runs: u64,
    ns: u64,
}

impl Part {
    fn add(&mut self, ns: u64) {
        *self = Self { runs: self.runs + 1, ns: self.ns + ns };
    }

    /// What is more than as many runs of nothing; at least a nanosecond for each, which the clock
    /// cannot tell from nothing.
    fn without(self, nothing: Self) -> u64 {
        let looks = u128::from(nothing.ns) * u128::from(self.runs) / u128::from(nothing.runs.max(1));
        self.ns.saturating_sub(looks as u64).max(self.runs)
    }
}

/// A run that has begun.
#[derive(Clone, Copy)]
pub(super) enum Begun {
    /// It is not measured.
    Unseen,
    /// It is: since when, and the time of runs within the run around it.
    At(u64, u64),
}

impl Profiler {
    pub(super) fn new(clock: fn() -> u64) -> Self {
        let looks: Vec<u64> = (0..32).map(|_| clock()).collect();
        let mut costs: Vec<u64> = looks.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        costs.sort_unstable();
        Self {
            clock,
            cost: costs[costs.len() / 2],
            wait: 1,
            lot: 0x9e37_79b9_7f4a_7c15,
            depth: 0,
            measures: false,
            is_first: false,
            begun: false,
            within: 0,
            bursts: 0,
            since: 0,
            nothing: Part::default(),
        }
    }

    fn begin(&mut self) -> Begun {
        if self.depth == 0 {
            self.wait -= 1;
            self.measures = self.wait == 0;
            if self.measures {
                self.is_first = !std::mem::replace(&mut self.begun, true);
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
        self.watch.profiler = Some(Profiler::new(stopwatch));
    }

    /// Linked elements are run; whether they say each when they run.
    pub(super) fn begin_linked_run(&mut self) -> (Begun, bool) {
        self.enter_through();
        let begun = self.begin_run();
        let Some(profiler) = self.watch.profiler.as_mut().filter(|_| matches!(begun, Begun::At(..))) else { return (begun, false) };
        profiler.bursts += 1;
        (begun, profiler.bursts % EVERY == 2)
    }

    pub(super) fn begin_run(&mut self) -> Begun {
        self.watch.profiler.as_mut().map_or(Begun::Unseen, Profiler::begin)
    }

    /// An element has returned.
    pub(super) fn end_run_of(&mut self, node: usize, begun: Begun) {
        let Some(profiler) = &mut self.watch.profiler else { return };
        if let Some(own) = profiler.end(begun) {
            self.core.nodes[node].stats.measured.note(own, profiler.is_first);
        }
    }

    /// An element begins to run among others that run as one.
    pub(super) fn begin_part(&mut self) {
        if let Some(profiler) = &mut self.watch.profiler {
            profiler.since = (profiler.clock)();
        }
    }

    /// It has run; none: nothing has.
    pub(super) fn end_part_of(&mut self, node: Option<usize>) {
        let Some(profiler) = &mut self.watch.profiler else { return };
        let took = (profiler.clock)().saturating_sub(profiler.since);
        let part = node.map_or(&mut profiler.nothing, |node| &mut self.core.nodes[node].part);
        // Else it was interrupted.
        if took < INTERRUPTED.1 {
            part.add(took);
        }
    }

    /// Linked elements have returned; those that said each when they ran took longer.
    pub(super) fn end_linked_run(&mut self, packets: usize, (begun, told): (Begun, bool)) {
        self.leave_through();
        self.fusion.packets += packets as u64;
        let Some(profiler) = &mut self.watch.profiler else { return };
        match profiler.end(begun) {
            Some(_) if told => self.fusion.measured.add_another(),
            Some(own) => self.fusion.measured.note(own, profiler.is_first),
            None => {}
        }
    }

    /// What each of elements that run as one takes of their time, as far as that is known.
    pub(super) fn parts(&self, members: &[usize]) -> Vec<Measured> {
        let nothing = self.watch.profiler.as_ref().map(|profiler| profiler.nothing).unwrap_or_default();
        let own: Vec<u64> = members.iter().map(|member| self.core.nodes[*member].part.without(nothing)).collect();
        own.iter().map(|own_ns| self.fusion.measured.part(*own_ns, own.iter().sum())).collect()
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
        let mut profiler = Profiler::new(clock);
        let (mut outer, mut inner, mut runs) = (0, 0, 0);
        for _ in 0..200_000 {
            let whole = profiler.begin();
            pass(70);
            let part = profiler.begin();
            pass(30);
            inner += profiler.end(part).unwrap_or(0) * EVERY;
            pass(10);
            outer += profiler.end(whole).unwrap_or(0) * EVERY;
            runs += 1;
        }
        let [outer, inner] = [outer, inner].map(|ns| ns as f64 / f64::from(runs));
        assert!((outer / 80.0 - 1.0).abs() < 0.03 && (inner / 30.0 - 1.0).abs() < 0.03, "{outer} {inner}");
    }

    #[test]
    fn the_first_run_stands_for_itself() {
        let mut measured = Measured::default();
        measured.note(5000, true);
        assert_eq!(measured.ns(), 5000);
        measured.note(10, false);
        measured.add_another();
        assert_eq!(measured.ns(), 5000 + 20 * EVERY);
        assert_eq!(measured.part(1, 4).ns(), 1250 + 5 * EVERY);
        let mut profiler = Profiler::new(clock);
        let first = (0..300).filter_map(|_| {
            let begun = profiler.begin();
            profiler.end(begun).map(|_| profiler.is_first)
        });
        assert!(first.enumerate().all(|(n, is_first)| is_first == (n == 0)));
    }

    #[test]
    fn parts_are_told_without_what_looking_at_the_clock_takes() {
        let (mut nothing, mut part) = (Part::default(), Part::default());
        (0..10).for_each(|n| nothing.add(20 + n % 2));
        (0..4).for_each(|_| part.add(25));
        assert_eq!((part.without(nothing), nothing.without(nothing), nothing.without(part)), (18, 10, 10));
        assert_eq!(part.without(Part::default()), 100);
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
        let mut profiler = Profiler::new(clock);
        let mut measured = [0u64; 8];
        for run in 0..400_000 {
            let begun = profiler.begin();
            pass(50);
            measured[run % 8] += profiler.end(begun).map_or(0, |_| 1);
        }
        assert!(measured.iter().all(|n| (650..920).contains(n)), "{measured:?}");
    }
}
