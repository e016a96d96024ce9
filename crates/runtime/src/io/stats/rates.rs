//! Packets and bytes over time: sparse intervals of one length, which begin at multiples of it
//! since 1970.
//!
//! Without a length that was asked for, intervals begin at a millisecond and grow tenfold whenever
//! there are too many.

use super::Amount;
use std::collections::BTreeMap;
use std::ops::Range;

/// Intervals that are kept where their length is free to grow.
const MANY: usize = 8192;
/// Intervals that are kept where it is not: packets of later ones are only counted.
const MOST: usize = 1 << 20;

/// How long intervals are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interval {
    /// As suits the span of the packets.
    #[default]
    Fitting,
    /// That many nanoseconds, at least one.
    Nanos(i64),
}

/// Amounts by interval.
#[derive(Clone, Debug)]
pub struct Rates {
    length: i64,
    fitting: bool,
    rows: BTreeMap<i64, Amount>,
    /// The interval of the packet before.
    last: i64,
    /// Its times.
    within: Range<i64>,
    begun: Amount,
    outside: Amount,
}

impl Rates {
    pub(super) fn new(interval: Interval) -> Self {
        let (length, fitting) = match interval {
            Interval::Fitting => (1_000_000, true),
            Interval::Nanos(nanos) => (nanos.max(1), false),
        };
        Self { length, fitting, rows: BTreeMap::new(), last: 0, within: 0..0, begun: Amount::default(), outside: Amount::default() }
    }

    pub(super) fn add(&mut self, nanos: i64, bytes: u64) {
        // A division is what this function costs; most packets are in the interval of the one
        // before.
        if !self.within.contains(&nanos) {
            self.keep();
            self.last = nanos.div_euclid(self.length);
            let begin = self.last.saturating_mul(self.length);
            self.within = begin..begin.saturating_add(self.length);
        }
        self.begun.add(bytes);
    }

    /// Counts the last interval where it belongs.
    fn keep(&mut self) {
        let amount = std::mem::take(&mut self.begun);
        if amount.packets == 0 {
            return;
        }
        if !self.fitting && self.rows.len() >= MOST && !self.rows.contains_key(&self.last) {
            return self.outside.merge(amount);
        }
        self.rows.entry(self.last).or_default().merge(amount);
        while self.fitting && self.rows.len() > MANY {
            self.lengthen(10);
            self.within = 0..0;
        }
    }

    fn lengthen(&mut self, times: i64) {
        self.length = self.length.saturating_mul(times);
        let rows = std::mem::take(&mut self.rows);
        for (at, amount) in rows {
            self.rows.entry(at.div_euclid(times)).or_default().merge(amount);
        }
    }

    /// The amounts in about so many intervals from the first packet to the last, if their length
    /// may be chosen: 1, 2 or 5 times a power of ten.
    pub fn fitted(mut self, intervals: i64) -> Self {
        self.keep();
        let span = |rates: &Self| match (rates.rows.keys().next(), rates.rows.keys().next_back()) {
            (Some(first), Some(last)) => last - first + 1,
            _ => 0,
        };
        if !self.fitting {
            return self;
        }
        while span(&self) > 10 * intervals {
            self.lengthen(10);
        }
        let span = span(&self);
        let times = [1, 2, 5].into_iter().find(|times| span <= times * intervals).unwrap_or(10);
        self.lengthen(times);
        self
    }

    /// The length of an interval in nanoseconds.
    pub fn interval(&self) -> i64 {
        self.length
    }

    /// Intervals with packets: their beginnings in nanoseconds since 1970, ascending, and what came
    /// in them.
    pub fn rows(&self) -> impl Iterator<Item = (i64, Amount)> {
        self.rows.iter().map(|(at, amount)| (at.saturating_mul(self.length), *amount))
    }

    /// What came in intervals for which there was no room.
    pub fn outside(&self) -> Amount {
        self.outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_grow_with_the_span_and_lose_nothing() {
        let mut rates = Rates::new(Interval::Fitting);
        (0..100_000).for_each(|i| rates.add(i * 7_000_000, 10));
        rates.add(-1, 1);
        let fitted = rates.fitted(50);
        assert_eq!(fitted.interval(), 20_000_000_000);
        let rows: Vec<_> = fitted.rows().collect();
        // 700 seconds, and the interval before 1970.
        assert_eq!((rows.len(), rows[0], rows[1].0), (36, (-20_000_000_000, Amount { packets: 1, bytes: 1 }), 0));
        assert_eq!(rows.iter().map(|(_, amount)| amount.packets).sum::<u64>(), 100_001);
    }

    #[test]
    fn times_at_both_ends_of_what_there_is_do_no_harm() {
        let mut rates = Rates::new(Interval::Fitting);
        (0..20_000).for_each(|i| rates.add(if i % 2 == 0 { i64::MAX - i * 1_000_000_000 } else { i64::MIN + i * 1_000_000_000 }, 1));
        let fitted = rates.fitted(50);
        assert_eq!(fitted.rows().map(|(_, amount)| amount.packets).sum::<u64>(), 20_000);
        assert!(fitted.rows().count() <= 50);
    }

    #[test]
    fn an_interval_that_was_asked_for_stays_and_what_has_no_room_is_counted() {
        let mut rates = Rates::new(Interval::Nanos(10));
        (0..MOST as i64 + 5).for_each(|i| rates.add(i * 10, 2));
        let fitted = rates.fitted(50);
        assert_eq!((fitted.interval(), fitted.rows().count(), fitted.outside().packets), (10, MOST, 5));
    }
}
