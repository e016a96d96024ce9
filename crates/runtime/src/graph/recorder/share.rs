//! How many packets are recorded where not all are to be.

use std::time::Instant;

/// How many packets may still be recorded, so that it takes its part of the time.
pub(super) struct Share {
    left: i64,
    most: i64,
    /// The last number that has been taken off.
    last: u64,
    /// Nanoseconds for which a packet may be recorded.
    price_ns: u64,
    /// When packets were last granted, and how often it has been asked since.
    granted: Instant,
    asked: u32,
}

/// A packet that is recorded may take so many nanoseconds more, since some ways are only for packets that nobody watches, .
const COST_NS: u64 = 300;
/// Arrivals, or bursts of them, for which the clock is looked at once.
const LOOKS: u32 = 64;

impl Share {
    /// Recording may take one part in so many of the time.
    pub(super) fn new(most: usize, part: u32) -> Self {
        let price_ns = COST_NS * u64::from(part.max(1));
        Self { left: most as i64, most: most as i64, last: 0, price_ns, granted: Instant::now(), asked: 0 }
    }

    /// Takes off what was recorded, and adds what the time that went by allows.
    pub(super) fn settle(&mut self, last: u64, now: impl Fn() -> Instant) {
        self.left -= (last - self.last) as i64;
        self.last = last;
        self.asked += 1;
        if self.asked >= LOOKS {
            let now = now();
            let passed = now.saturating_duration_since(self.granted).as_nanos() / u128::from(self.price_ns);
            self.left = self.left.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX)).min(self.most);
            (self.granted, self.asked) = (now, 0);
        }
    }

    /// Whether packets are recorded next, if they are or are not now: whoever rests does so until it is worth while to go on.
    pub(super) fn goes_on(&self, records: bool) -> bool {
        if records { self.left > 0 } else { self.left >= self.most / 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::Duration;

    /// Packets that are recorded of a million, of which one comes in so many nanoseconds.
    fn recorded(every_ns: u64) -> u64 {
        let (mut share, begun) = (Share::new(4096, 100), Instant::now());
        let (time, mut records, mut last) = (Cell::new(0), true, 0);
        for _ in 0..1_000_000 {
            time.set(time.get() + every_ns);
            share.settle(last, || begun + Duration::from_nanos(time.get()));
            records = share.goes_on(records);
            last += u64::from(records);
        }
        last
    }

    #[test]
    fn few_packets_are_all_recorded_and_of_many_those_that_there_is_time_for() {
        assert_eq!(recorded(COST_NS * 100 + 1), 1_000_000);
        // A second of packets at 1 and at 10 million packets per second, beyond the first ring of them.
        for every_ns in [1000, 100] {
            let fair = every_ns * 1_000_000 / (COST_NS * 100);
            assert!((fair..fair + 4096 + 512).contains(&recorded(every_ns)), "{}", recorded(every_ns));
        }
    }
}
