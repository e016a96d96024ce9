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

/// A packet that is recorded may take so many nanoseconds more, since some ways are only for
/// packets that nobody watches, .
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

    /// Whether packets are recorded next, if they are or are not now: whoever rests does so until
    /// it is worth while to go on.
    pub(super) fn goes_on(&self, records: bool) -> bool {
        if records { self.left > 0 } else { self.left >= self.most / 8 }
    }
}

/// Says which packets graphs record that run parts of one application: so many that follow one
/// another, in all of these graphs.
pub struct Sampler {
    /// None: all.
    share: Option<Share>,
    records: bool,
    /// How many have been recorded.
    count: u64,
}

impl Sampler {
    /// For graphs that keep so many packets: of as many as take one `part` in so many of the time,
    /// or of all.
    pub fn new(most: usize, part: Option<u32>) -> Self {
        Self { share: part.map(|part| Share::new(most, part)), records: true, count: 0 }
    }

    /// Whether the next ones are, which are so many.
    pub fn takes(&mut self, packets: usize) -> bool {
        if let Some(share) = &mut self.share {
            share.settle(self.count, Instant::now);
            self.records = share.goes_on(self.records);
            self.count += if self.records { packets as u64 } else { 0 };
        }
        self.records
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
    fn whoever_takes_all_takes_all_and_others_rest() {
        let mut all = Sampler::new(16, None);
        assert!((0..100).all(|_| all.takes(1000)));
        let mut some = Sampler::new(4096, Some(1_000_000));
        let taken: Vec<bool> = (0..100).map(|_| some.takes(3000)).collect();
        assert_eq!(taken.iter().filter(|taken| **taken).count(), 2, "until the first ring of packets is full");
        assert_eq!(taken[..3], [true, true, false]);
    }

    #[test]
    fn few_packets_are_all_recorded_and_of_many_those_that_there_is_time_for() {
        assert_eq!(recorded(COST_NS * 100 + 1), 1_000_000);
        // A second of packets at 1 and at 10 million packets per second, beyond the first ring of
        // them.
        for every_ns in [1000, 100] {
            let fair = every_ns * 1_000_000 / (COST_NS * 100);
            assert!((fair..fair + 4096 + 512).contains(&recorded(every_ns)), "{}", recorded(every_ns));
        }
    }
}
