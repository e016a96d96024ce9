//! The stretch of time of a capture that FromDump is asked for.

use super::super::{Args, ElementError};

/// The stretch of time that is wanted, in nanoseconds: of the epoch, of the first packet, of the
/// first one wanted.
pub(super) struct Window {
    start: Option<u64>,
    start_after: Option<u64>,
    end: Option<u64>,
    end_after: Option<u64>,
    interval: Option<u64>,
    first: Option<u64>,
    begun: Option<u64>,
}

pub(super) enum WindowPosition {
    Before,
    Within,
    Behind,
}

impl Window {
    pub(super) fn of(args: &Args) -> Result<Self, ElementError> {
        let time = |key| args.has(key).then(|| args.duration(key, 0)).transpose();
        Ok(Self {
            start: time("START")?,
            start_after: time("START_AFTER")?,
            end: time("END")?,
            end_after: time("END_AFTER")?,
            interval: time("INTERVAL")?,
            first: None,
            begun: None,
        })
    }

    /// Whether all packets are wanted.
    pub(super) fn is_all(&self) -> bool {
        [self.start, self.start_after, self.end, self.end_after, self.interval].iter().all(Option::is_none)
    }

    /// It ends so much later; false if it has no end.
    pub(super) fn extend(&mut self, by: u64) -> bool {
        let ends = [&mut self.end, &mut self.end_after, &mut self.interval].into_iter().flatten();
        ends.map(|end| *end = end.saturating_add(by)).count() > 0
    }

    pub(super) fn place(&mut self, time: u64) -> WindowPosition {
        let first = *self.first.get_or_insert(time);
        let after = |limit: Option<u64>, from: u64| limit.map(|limit| from.saturating_add(limit));
        if self.start.is_some_and(|start| time < start) || after(self.start_after, first).is_some_and(|start| time < start) {
            return WindowPosition::Before;
        }
        let begun = *self.begun.get_or_insert(time);
        let ends = [self.end, after(self.end_after, first), after(self.interval, begun)];
        if ends.iter().flatten().any(|end| time >= *end) { WindowPosition::Behind } else { WindowPosition::Within }
    }
}
