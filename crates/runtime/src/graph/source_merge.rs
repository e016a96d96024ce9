//! Arrivals of all sources in the order of their times, taken as many at once as follow each other.
//!
//! When the next arrives at a source is asked once, and again when something was taken from it:
//! sources are asked for nothing else meanwhile, and are out of their elements, which saves looking
//! for them with each packet.
//!
//! Where packets come at one rate everywhere, sources take turns ([`super::round_robin`]).
//! Otherwise, where sources can take packets back, each gives a run of those that come next, and
//! the runs are merged by time up to where one ends behind which there may be more; what is left of
//! the others goes back. So a source is asked once for many packets, in whatever order they come.
//!
//! Invariant: at the same time the source that was declared first is first.

use super::builtin::{self, BuiltIn, Ctx};
use super::burst_cursor::ArrivalBurst;
use super::kway_merge::{Merger, Timed};
use super::round_robin::RoundRobin;
use super::{Body, Call, Graph};
use crate::io::sys;
use netil::pool::Pool;
use std::collections::VecDeque;

/// What was found when the arrival behind a burst was looked for.
pub(super) struct Found {
    pub(super) arrival: Option<(u64, usize)>,
    /// How often the end was asked for, and what was asked to be written.
    pub(super) stops: u64,
    pub(super) calls: VecDeque<Call>,
}

/// All sources that take part.
pub(super) struct Sources {
    list: Vec<MergeSource>,
    merger: Merger,
}

/// A source, and what was found out about it.
pub(super) struct MergeSource {
    node: usize,
    /// The entry that its arrivals have, if they go into the cluster.
    entry: Option<u32>,
    /// While a burst is filled.
    builtin: Option<Box<dyn BuiltIn>>,
    /// When the next arrives; the end of time if none does.
    coming: u64,
    /// Arrivals of this burst.
    taken: u64,
    run: Run,
}

/// Packets of a source that come next.
#[derive(Default)]
struct Run {
    slots: Vec<u32>,
    /// The slots with their times, none of them before those ahead of it, and what stands for the
    /// end: a time before which no other comes.
    coming: Vec<Timed>,
    /// How many of them are merged.
    merged: usize,
}

impl Run {
    fn rest(&self) -> &[u32] {
        &self.slots[self.merged..]
    }

    /// Notes when packets come that these slots have, and that there are no others before `ends`.
    fn note(&mut self, ends: u64, time_of: impl Fn(u32) -> u64) {
        let mut latest = 0;
        self.coming.clear();
        self.coming.extend(self.slots.iter().map(|slot| {
            latest = time_of(*slot).max(latest);
            Timed { time: latest, slot: *slot }
        }));
        self.coming.push(Timed { time: ends.max(latest), slot: 0 });
    }

    fn end(&self) -> u64 {
        self.coming.last().map_or(0, |end| end.time)
    }
}

impl MergeSource {
    pub(super) fn new(node: usize, entry: Option<u32>) -> Self {
        Self { node, entry, builtin: None, coming: u64::MAX, taken: 0, run: Run::default() }
    }

    /// What gives the packets, while a burst is filled.
    fn arrivals(&mut self) -> Option<&mut dyn builtin::Source> {
        self.builtin.as_mut()?.source()
    }

    /// Puts packets that are alike into slots.
    fn put_even(&mut self, first: Option<u32>, slots: &[u32], step: usize, pool: &mut Pool) {
        pool.enter(self.entry.unwrap_or(0));
        let Some(even) = self.arrivals().and_then(|source| source.even()) else { return };
        sys::put_even(pool, &even, first, slots, step);
        let later = even.lines.get(slots.len().div_ceil(step)..).unwrap_or_default();
        pool.expect(&later[..later.len().min(slots.len().div_ceil(step))]);
    }

    /// So many of those have arrived.
    fn has_put(&mut self, packets: usize) {
        if let Some(source) = self.arrivals() {
            source.even_arrived(packets);
        }
        self.taken += packets as u64;
    }

    /// Asks when the next arrives.
    fn look(&mut self, graph: &mut Graph) {
        let node = self.node;
        let time = self.arrivals().and_then(|source| source.next_arrival(&mut Ctx::new(graph, node)));
        self.coming = time.unwrap_or(u64::MAX);
    }
}

/// Until when arrivals at a source come before those at others.
fn before_others(sources: &[MergeSource], index: usize) -> u64 {
    let until = |(other, source): (usize, &MergeSource)| match other {
        other if other == index => u64::MAX,
        other => source.coming.saturating_add(u64::from(other > index)),
    };
    sources.iter().enumerate().map(until).min().unwrap_or(u64::MAX)
}

/// Where the next arrives, and when.
fn first(sources: &[MergeSource]) -> Option<(usize, u64)> {
    let (mut first, mut time) = (0, u64::MAX);
    for (index, source) in sources.iter().enumerate() {
        if source.coming < time {
            (first, time) = (index, source.coming);
        }
    }
    (time < u64::MAX).then_some((first, time))
}

impl Sources {
    pub(super) fn new(list: Vec<MergeSource>) -> Self {
        Self { list, merger: Merger::default() }
    }

    /// How those take turns at which packets arrive before a moment, if they do; all together no
    /// more than so many.
    fn round_robin(&mut self, until: u64, most: usize) -> Option<RoundRobin> {
        if most == 0 {
            return None;
        }
        let (mut turns, mut interval) = (Vec::new(), None);
        for (index, source) in self.list.iter_mut().enumerate().filter(|(_, source)| source.coming < until) {
            let even = source.arrivals()?.even()?;
            if *interval.get_or_insert(even.interval_ns) != even.interval_ns {
                return None;
            }
            turns.push((index, even.time_ns, even.lines.len().min(even.lens.len())));
        }
        let rounds = most.checked_div(turns.len())?;
        RoundRobin::of(turns, interval?, until, rounds)
    }

    /// Packets of all runs in the order of their times, up to where a run ends behind which others
    /// may come before the next; when the last of them came.
    fn merge(&mut self, slots: &mut Vec<u32>) -> Option<u64> {
        let (first, end) = self.list.iter().map(|source| source.run.end()).enumerate().min_by_key(|(_, end)| *end)?;
        for (index, MergeSource { run, .. }) in self.list.iter_mut().enumerate() {
            let before = end.saturating_add(u64::from(index < first));
            let comes_before = run.coming[..run.slots.len()].partition_point(|coming| coming.time < before);
            run.merged = if index == first { run.slots.len() } else { comes_before };
        }
        let runs: Vec<&[Timed]> = self.list.iter().map(|MergeSource { run, .. }| &run.coming[..=run.merged]).collect();
        self.merger.merge(&runs, slots)
    }
}

impl Graph {
    /// Takes arrivals that come before that time, the first ones of the source that is this node.
    pub(super) fn take_arrivals(&mut self, node: usize, until: u64, sources: &mut Sources, burst: &mut ArrivalBurst, most: usize) {
        for source in &mut sources.list {
            if let Body::BuiltIn(builtin) = &mut self.core.nodes[source.node].body {
                source.builtin = builtin.take();
            }
        }
        self.merge(node, until, sources, burst, most);
        for source in &mut sources.list {
            if let Body::BuiltIn(builtin) = &mut self.core.nodes[source.node].body {
                *builtin = source.builtin.take();
            }
            let taken = std::mem::take(&mut source.taken);
            if taken > 0 {
                self.core.nodes[source.node].stats.left_many(0, taken);
                self.core.arrivals += taken;
            }
        }
    }

    fn merge(&mut self, node: usize, until: u64, sources: &mut Sources, burst: &mut ArrivalBurst, most: usize) {
        let several = sources.list.len() > 1;
        let takes_back = |source: &mut MergeSource| source.entry.is_some() && source.arrivals().is_some_and(|source| source.takes_back());
        if sources.list.iter_mut().all(takes_back) {
            sources.list.iter_mut().for_each(|source| source.look(self));
            while self.take_turns(until, sources, burst, most) || several && self.merge_runs(until, sources, burst, most) {}
            if several || !burst.slots.is_empty() {
                return;
            }
        }
        let sources = &mut sources.list[..];
        let mut next = sources.iter().position(|source| source.node == node);
        sources.iter_mut().filter(|source| source.node != node).for_each(|source| source.look(self));
        while let Some(index) = next {
            let until = until.min(before_others(sources, index));
            let some = self.take_from(&mut sources[index], until, burst, most);
            if !some || burst.slots.len() >= most || sources.len() == 1 {
                break;
            }
            next = self.look_again(index, sources);
        }
    }

    /// Takes packets of sources that take turns. False if they do not, or there is no room for
    /// more.
    fn take_turns(&mut self, until: u64, sources: &mut Sources, burst: &mut ArrivalBurst, most: usize) -> bool {
        let (from, room) = (burst.slots.len(), (most - burst.slots.len()).min(self.core.pool.room()));
        let Some(turns) = sources.round_robin(until, room) else { return false };
        let step = turns.order.len();
        let first = self.core.pool.take(turns.rounds * step, &mut burst.slots);
        for (turn, index) in turns.order.iter().enumerate() {
            let (source, begun) = (&mut sources.list[*index], self.begin_run());
            source.put_even(first.map(|first| first + turn as u32), &burst.slots[from + turn..], step, &mut self.core.pool);
            source.has_put(turns.rounds);
            let put = burst.slots[from + turn..].iter().step_by(step);
            self.core.pool.number_all(put, &mut self.core.nodes[source.node].next_number);
            self.end_run_of(source.node, begun);
            source.look(self);
        }
        if !burst.timed {
            self.core.clock.arrive(turns.last);
        }
        true
    }

    /// Takes a run of each source and merges them. False if nothing came of it, there is no room
    /// for more, or so many that the work of another round is better spent on the next burst.
    fn merge_runs(&mut self, until: u64, sources: &mut Sources, burst: &mut ArrivalBurst, most: usize) -> bool {
        let room = (most - burst.slots.len()).min(self.core.pool.room());
        let live = sources.list.iter().filter(|source| source.coming < until).count();
        if live == 0 || room < live {
            return false;
        }
        let mut to = until;
        for source in &mut sources.list {
            self.take_run(source, &mut to, room / live);
        }
        let before = burst.slots.len();
        let last = sources.merge(&mut burst.slots);
        let heard = self.look_at_all(&mut sources.list);
        if !burst.timed {
            last.into_iter().for_each(|last| self.core.clock.arrive(last));
        }
        !heard && burst.slots.len() > before && burst.slots.len() < most / 2
    }

    /// Gives back what was not merged and asks all for their next arrivals. True if somebody asks
    /// for the end there, which is heard behind this burst.
    fn look_at_all(&mut self, sources: &mut [MergeSource]) -> bool {
        let ((), stops, calls) = self.asked_meanwhile(|graph| {
            for source in &mut *sources {
                graph.put_back(source);
                source.look(graph);
            }
        });
        if stops == 0 && calls.is_empty() {
            return false;
        }
        self.fusion.found = Some(Found { arrival: first(sources).map(|(index, time)| (time, sources[index].node)), stops, calls });
        true
    }

    /// A source's next packets, at most so many. If there may be more of them, those of others that
    /// come later are of no use yet.
    fn take_run(&mut self, source: &mut MergeSource, to: &mut u64, most: usize) {
        let run = &mut source.run;
        run.slots.clear();
        run.merged = 0;
        let mut ends = source.coming;
        let arrivals = source.builtin.as_mut().filter(|_| source.coming < *to).and_then(|builtin| builtin.source());
        if let Some(arrivals) = arrivals {
            let begun = self.begin_run();
            self.core.pool.enter(source.entry.unwrap_or(0));
            let last = arrivals.arrive_many(most, *to, &mut run.slots, &mut Ctx::new(self, source.node));
            self.end_run_of(source.node, begun);
            match last {
                Some(last) if run.slots.len() >= most || arrivals.goes_on() => (ends, *to) = (0, last.saturating_add(1).min(*to)),
                Some(_) => ends = *to,
                None => {}
            }
        }
        run.note(ends, |slot| self.core.pool.slot(slot).time_ns);
    }

    /// What was not merged has not arrived.
    fn put_back(&mut self, source: &mut MergeSource) {
        let MergeSource { run, builtin: Some(builtin), node, .. } = source else { return };
        self.core.pool.number_all(&run.slots[..run.merged], &mut self.core.nodes[*node].next_number);
        if let Some(arrivals) = builtin.source().filter(|_| !run.rest().is_empty()) {
            arrivals.take_back(run.rest(), &mut Ctx::new(self, *node));
        }
        source.taken += run.merged as u64;
    }

    /// False if there are none, or they do not go into the cluster.
    fn take_from(&mut self, source: &mut MergeSource, until: u64, burst: &mut ArrivalBurst, most: usize) -> bool {
        let arrivals = source.builtin.as_mut().and_then(|builtin| builtin.source());
        let (Some(entry), Some(arrivals)) = (source.entry, arrivals) else { return false };
        let (before, begun) = (burst.slots.len(), self.begin_run());
        let most = most.min(before + self.core.pool.room());
        self.core.pool.enter(entry);
        let last = arrivals.arrive_many(most, until, &mut burst.slots, &mut Ctx::new(self, source.node));
        self.end_run_of(source.node, begun);
        let Some(last) = last else { return false };
        source.taken += (burst.slots.len() - before) as u64;
        self.core.pool.number_all(&burst.slots[before..], &mut self.core.nodes[source.node].next_number);
        if !burst.timed {
            self.core.clock.arrive(last);
        }
        true
    }

    /// At which source the next arrives, unless somebody asks for the end when it is looked for.
    /// Something was taken from one since that was known.
    fn look_again(&mut self, taken: usize, sources: &mut [MergeSource]) -> Option<usize> {
        let ((), stops, calls) = self.asked_meanwhile(|graph| sources[taken].look(graph));
        let first = first(sources);
        if stops == 0 && calls.is_empty() {
            return first.map(|(index, _)| index);
        }
        self.fusion.found = Some(Found { arrival: first.map(|(index, time)| (time, sources[index].node)), stops, calls });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is merged of runs, each of them slots and their times with the end's behind them, when
    /// the last of it comes, and how much of each it is.
    fn merged(runs: &[(&[u32], &[u64])]) -> (Vec<u32>, Option<u64>, Vec<usize>) {
        let run = |(slots, times): &(&[u32], &[u64])| {
            let mut run = Run { slots: slots.to_vec(), ..Run::default() };
            run.note(times[slots.len()], |slot| times[slots.iter().position(|other| *other == slot).unwrap()]);
            run
        };
        let mut sources = Sources::new(runs.iter().map(|of| MergeSource { run: run(of), ..MergeSource::new(0, None) }).collect());
        let mut slots = Vec::new();
        let last = sources.merge(&mut slots);
        (slots, last, sources.list.iter().map(|source| source.run.merged).collect())
    }

    #[test]
    fn runs_are_merged_up_to_where_more_may_come() {
        let never = u64::MAX;
        assert_eq!(
            merged(&[(&[1, 2], &[3, 5, never]), (&[3, 4], &[3, 4, 5]), (&[5], &[1, 7])]),
            (vec![5, 1, 3, 4, 2], Some(5), vec![2, 2, 1])
        );
        assert_eq!(merged(&[(&[1, 2, 3], &[5, 6, 9, 9]), (&[], &[8])]), (vec![1, 2], Some(6), vec![2, 0]));
        assert_eq!(merged(&[(&[1], &[5, never]), (&[2, 3], &[1, 2, 0])]), (vec![2, 3], Some(2), vec![0, 2]));
        assert_eq!(merged(&[(&[], &[never]), (&[], &[never])]), (vec![], None, vec![0, 0]));
        assert_eq!(merged(&[(&[1, 2], &[3, 4, 0]), (&[3, 4], &[4, 5, 0]), (&[5], &[4, 9])]), (vec![1, 2], Some(4), vec![2, 0, 0]));
        assert_eq!(merged(&[(&[1], &[4, 9]), (&[2, 3], &[3, 4, 0])]), (vec![2, 1, 3], Some(4), vec![1, 2]));
    }

    #[test]
    fn what_comes_late_comes_with_what_is_before_it() {
        assert_eq!(merged(&[(&[1, 2, 3], &[5, 3, 7, u64::MAX]), (&[4, 5], &[4, 6, u64::MAX])]), (vec![4, 1, 2, 5, 3], Some(7), vec![3, 2]));
    }

    #[test]
    fn at_the_same_time_the_first_declared_is_first() {
        let sources = |times: &[u64]| -> Vec<MergeSource> {
            times.iter().map(|time| MergeSource { coming: *time, ..MergeSource::new(0, None) }).collect()
        };
        assert_eq!(first(&sources(&[7, 5, 5])), Some((1, 5)));
        assert_eq!(first(&sources(&[u64::MAX; 2])), None);
        let three = sources(&[7, 5, 6]);
        assert_eq!([0, 1, 2].map(|index| before_others(&three, index)), [6, 7, 5]);
        assert_eq!(before_others(&sources(&[5]), 0), u64::MAX);
    }
}
