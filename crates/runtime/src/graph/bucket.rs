//! A token bucket by the clock of the run: so many tokens a second, at most so many at once.
//!
//! Tokens are counted in billionths, so that rates and times multiply exactly.

use netil::cut_through;

const UNIT: u128 = 1_000_000_000;

/// The bucket, full at the beginning.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate: u64,
    capacity: u64,
    tokens: u128,
    filled: Option<u64>,
}

impl Bucket {
    /// A rate in tokens a second, and the most tokens it holds.
    pub(super) fn new(rate: u64, capacity: u64) -> Self {
        let capacity = capacity.max(1);
        Self { rate, capacity, tokens: u128::from(capacity) * UNIT, filled: None }
    }

    /// The capacity that lets through what comes in so much time.
    pub(super) fn burst(rate: u64, nanoseconds: u64) -> u64 {
        let tokens = u128::from(rate) * u128::from(nanoseconds) / UNIT;
        u64::try_from(tokens).unwrap_or(u64::MAX).max(1)
    }

    pub(super) fn rate(&self) -> u64 {
        self.rate
    }

    pub(super) fn set_rate(&mut self, rate: u64, capacity: u64) {
        *self = Self { filled: self.filled, ..Self::new(rate, capacity) };
    }

    /// The clock goes on by so much without time passing.
    pub(super) fn skip(&mut self, nanoseconds: u64) {
        self.filled = self.filled.map(|filled| filled.saturating_add(nanoseconds));
    }

    /// The bucket as a program has it, if numbers of 64 bits are enough for it and it has at least
    /// so many tokens.
    pub(super) fn with(&self, tokens: u64) -> Option<cut_through::Bucket> {
        let units = |all: u128| u64::try_from(all).ok().filter(|units| *units <= u64::MAX >> 2);
        let (capacity, filled) = (units(u128::from(self.capacity) * UNIT)?, units(self.tokens)?);
        let is_known = self.filled.is_some() || self.tokens == u128::from(self.capacity) * UNIT;
        let enough = is_known && self.rate > 0 && self.rate <= u64::MAX >> 2 && self.tokens >= u128::from(tokens) * UNIT;
        enough.then(|| cut_through::Bucket { rate: self.rate, capacity, units: filled, filled_ns: self.filled.unwrap_or(0) })
    }

    /// A program has left so many units in it, and filled it last at that time.
    pub(super) fn left(&mut self, units: u64, filled_ns: u64) {
        (self.tokens, self.filled) = (units.into(), Some(filled_ns).filter(|filled| *filled > 0));
    }

    /// Takes all tokens out.
    pub(super) fn empty(&mut self) {
        self.tokens = 0;
    }

    fn fill(&mut self, now: u64) {
        // While packets go past a shaper by their own times, the time of the run may be behind
        // them.
        let since = self.filled.unwrap_or(now);
        let passed = now.saturating_sub(since);
        self.filled = Some(now.max(since));
        let more = u128::from(self.rate) * u128::from(passed);
        self.tokens = (self.tokens + more).min(u128::from(self.capacity) * UNIT);
    }

    /// Takes tokens, if there are so many.
    pub(super) fn take(&mut self, tokens: u64, now: u64) -> bool {
        self.fill(now);
        let wanted = u128::from(tokens) * UNIT;
        let enough = self.tokens >= wanted;
        if enough {
            self.tokens -= wanted;
        }
        enough
    }

    /// True if there are so many tokens.
    pub(super) fn has(&mut self, tokens: u64, now: u64) -> bool {
        self.fill(now);
        self.tokens >= u128::from(tokens) * UNIT
    }

    /// How many tokens there are.
    pub(super) fn available(&mut self, now: u64) -> u64 {
        self.fill(now);
        u64::try_from(self.tokens / UNIT).unwrap_or(u64::MAX)
    }

    /// How long until there are so many tokens, in nanoseconds; `None`: never.
    pub(super) fn wait(&mut self, tokens: u64, now: u64) -> Option<u64> {
        self.fill(now);
        let missing = (u128::from(tokens.min(self.capacity)) * UNIT).saturating_sub(self.tokens);
        if missing == 0 {
            return Some(0);
        }
        let wait = missing.checked_add(u128::from(self.rate).saturating_sub(1))?.checked_div(u128::from(self.rate))?;
        u64::try_from(wait).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_rate_in_the_long_run() {
        let mut bucket = Bucket::new(2, Bucket::burst(2, 20_000_000));
        let (mut now, mut taken) = (7, 0);
        while now < 10_000_000_007 {
            match bucket.take(1, now) {
                true => taken += 1,
                false => now += bucket.wait(1, now).unwrap(),
            }
        }
        assert_eq!(taken, 20);
    }

    #[test]
    fn it_is_never_filled_twice_for_one_time() {
        let mut bucket = Bucket::new(1_000_000_000, 100);
        assert!(bucket.take(100, 10));
        assert_eq!((bucket.available(60), bucket.available(20), bucket.available(60)), (50, 50, 50));
    }

    #[test]
    fn it_holds_no_more_than_its_capacity() {
        let mut bucket = Bucket::new(1000, 5);
        assert!(bucket.take(5, 0) && !bucket.take(1, 0));
        assert!(bucket.take(5, u64::MAX) && !bucket.take(1, u64::MAX));
        assert_eq!(Bucket::new(0, 1).wait(1, 0), Some(0));
        let mut empty = Bucket::new(0, 1);
        assert!(empty.take(1, 0));
        assert_eq!(empty.wait(1, 9), None);
    }
}
