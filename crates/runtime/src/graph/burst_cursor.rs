//! Arrivals that were taken together, and how far they have been run: up to where a timer comes
//! before the next.
//!
//! With one packet at a time a timer runs before an arrival if it is due at an earlier time, or at
//! one that the run's clock has reached. Of arrivals taken together as many are run as come before
//! the first timer is due; those behind are the next arrivals, and all between is the schedule's. A
//! packet that arrives when a timer is due, or sets one that is due at once, is alone: timers and
//! tasks then take turns behind it, which queues that are full show. Where there are no timers
//! nothing is noted, and all are run.

use super::Push;
use super::clock::Clock;
use netil::pool::Pool;
use std::collections::HashMap;

/// Arrivals that were taken together.
#[derive(Default)]
pub(super) struct ArrivalBurst {
    /// Somebody may set timers.
    pub(super) timed: bool,
    pub(super) slots: Vec<u32>,
    /// When they arrived, if somebody may set timers; then also what is behind.
    pub(super) times: Vec<u64>,
    /// How many have been run.
    run: usize,
    /// How often they were led back.
    pub(super) rounds: u8,
    /// What arrived last, and does not go into the cluster.
    pub(super) behind: Vec<Push>,
}

/// Those that are being run.
pub(super) struct BurstCursor<'c> {
    pub(super) slots: &'c [u32],
    times: &'c [u64],
    /// When the last arrives.
    latest: u64,
    /// Which is at hand.
    at: usize,
    /// How many are run.
    pub(super) most: usize,
    /// Several may be run before the tasks behind them.
    pub(super) several: bool,
}

impl ArrivalBurst {
    pub(super) fn new(timed: bool) -> Self {
        Self { timed, ..Self::default() }
    }

    /// True if there is nothing that has still to be run.
    pub(super) fn is_over(&self) -> bool {
        self.run >= self.slots.len().max(self.times.len())
    }

    /// When the next arrives of those that wait for timers.
    pub(super) fn next(&self) -> Option<u64> {
        self.times.get(self.run).copied()
    }

    /// Whether those that have not been run arrive one after the other, as far as that is noted.
    pub(super) fn is_in_order(&self) -> bool {
        self.times.get(self.run..).is_none_or(|times| times.is_sorted())
    }

    /// Notes when the next arrives.
    pub(super) fn note(&mut self, time: u64) {
        if self.timed {
            self.times.push(time);
        }
    }

    /// Notes when packets arrive that have just been put into the pool.
    pub(super) fn note_times(&mut self, pool: &Pool) {
        if self.timed {
            self.times.extend(self.slots.iter().map(|slot| pool.slot(*slot).time_ns));
        }
    }

    /// What is to be run now; none if that is what does not go into the cluster.
    pub(super) fn cursor(&self, several: bool) -> Option<BurstCursor<'_>> {
        let slots = Some(self.rest()).filter(|slots| !slots.is_empty())?;
        let times = self.times.get(self.run..self.slots.len()).unwrap_or_default();
        let latest = times.iter().copied().max().unwrap_or(0);
        Some(BurstCursor { slots, times, latest, at: 0, most: slots.len(), several })
    }

    /// Packets that have not been run.
    pub(super) fn rest(&self) -> &[u32] {
        self.slots.get(self.run..).unwrap_or_default()
    }

    pub(super) fn has_run(&mut self, packets: usize) {
        self.run += packets;
    }

    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.times.clear();
        (self.run, self.rounds) = (0, 0);
    }
}

impl BurstCursor<'_> {
    /// One packet that is at hand, and after which timers are looked at.
    pub(super) fn of_one(slots: &[u32]) -> BurstCursor<'_> {
        BurstCursor { slots, times: &[], latest: 0, at: 0, most: slots.len(), several: false }
    }

    /// Packets that have arrived before, and that no timer comes between.
    pub(super) fn of_several(slots: &[u32]) -> BurstCursor<'_> {
        BurstCursor { slots, times: &[], latest: 0, at: 0, most: slots.len(), several: true }
    }

    /// The packet in this slot is at hand: it has arrived, and those before it.
    pub(super) fn reach(&mut self, slot: u32, clock: &mut Clock) {
        for time in self.times.get(self.at..).unwrap_or_default() {
            clock.arrive(*time);
            if self.slots[self.at] == slot {
                break;
            }
            self.at += 1;
        }
    }

    /// Packets that left by an exit, by the arrival that each is, or is a copy of.
    pub(super) fn arrivals<'s>(&self, slots: &'s [u32], pool: &Pool) -> Vec<&'s [u32]> {
        let numbers: HashMap<u32, u32> = self.slots.iter().copied().zip(0..).collect();
        let number = |slot: &u32| match numbers.get(slot).filter(|_| !pool.slot(*slot).is_copy()) {
            Some(number) => *number,
            None => pool.detail(*slot).value,
        };
        slots.chunk_by(|a, b| number(a) == number(b)).collect()
    }

    /// All have arrived that are run.
    pub(super) fn reach_all(&self, clock: &mut Clock) {
        self.times.iter().take(self.most).for_each(|time| clock.arrive(*time));
    }

    /// The packet at hand is the last one that is run now.
    pub(super) fn stop(&mut self) {
        self.most = self.most.min(self.at + 1);
    }

    /// The packet at a place among them is the last one that is run now.
    pub(super) fn stop_at(&mut self, place: usize) {
        self.most = self.most.min(place + 1);
    }

    /// Which of them is in this slot.
    pub(super) fn place(&self, slot: u32) -> usize {
        self.slots.iter().position(|of| *of == slot).unwrap_or(0)
    }

    pub(super) fn is_timed(&self) -> bool {
        !self.times.is_empty()
    }

    /// The first is at hand; timers may have been set since it was taken. Those behind the first
    /// timer wait, even if somebody puts that off.
    pub(super) fn begin(&mut self, due: u64, clock: &mut Clock) {
        self.reach(self.slots[0], clock);
        self.look(due, clock);
        (self.slots, self.times) = (&self.slots[..self.most], &self.times[..self.most]);
    }

    /// A timer is due first at that time; the clock has come to the packet at hand.
    pub(super) fn look(&mut self, due: u64, clock: &Clock) {
        self.several &= due > clock.now();
        let rest = &self.times[self.at..];
        let count = match self.several {
            true if due > self.latest => rest.len(),
            true => arrivals_before(due, rest),
            false => 1,
        };
        self.most = self.at + count;
    }
}

/// How many of these arrivals come before a timer is due; the first is here.
fn arrivals_before(due: u64, times: &[u64]) -> usize {
    (1..times.len()).find(|n| due <= times[*n]).unwrap_or(times.len())
}

#[cfg(test)]
mod tests {
    use super::arrivals_before;

    #[test]
    fn what_arrives_when_a_timer_is_due_waits() {
        let times = [10, 20, 20, 15, 30];
        for (due, count) in [(11, 1), (20, 1), (21, 4), (30, 4), (31, 5), (u64::MAX, 5)] {
            assert_eq!(arrivals_before(due, &times), count, "{due}");
        }
        assert_eq!(arrivals_before(3, &times[..1]), 1);
    }
}
