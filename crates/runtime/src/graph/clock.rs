//! The time of a run: that of captures, simulated, or a clock's.

use super::Settings;

/// Where simulated time begins: 1,000,000,000 seconds after 1970, as Click's does.
const SIMULATED: u64 = 1_000_000_000_000_000_000;
/// What a round of tasks takes in simulated time, in nanoseconds: without it, tasks that always
/// have work would keep timers waiting for ever.
const ROUND: u64 = 1_000;

/// The present.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    kind: Kind,
    now: u64,
    /// When the run began, once that is known.
    begun: Option<u64>,
    /// A packet of a capture has come, or comes next.
    arrives: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Goes on with arrivals and timers.
    Captures,
    /// Goes on with timers and a little with every round.
    Simulated,
    /// The host's.
    Real,
}

impl Clock {
    pub(super) fn new(settings: &Settings, captures: bool, real: Option<u64>) -> Self {
        let (kind, now) = match real {
            _ if settings.simulated => (Kind::Simulated, SIMULATED),
            _ if captures => (Kind::Captures, 0),
            Some(now) => (Kind::Real, now),
            None => (Kind::Simulated, SIMULATED),
        };
        Self { kind, now, begun: (kind != Kind::Captures).then_some(now), arrives: false }
    }

    /// How long the run has lasted by this clock, in nanoseconds.
    pub(super) fn lasted(&self) -> u64 {
        self.now.saturating_sub(self.begun.unwrap_or(self.now))
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn is_simulated(&self) -> bool {
        self.kind == Kind::Simulated
    }

    pub(super) fn is_real(&self) -> bool {
        self.kind == Kind::Real
    }

    /// Goes on to a moment, never back.
    pub(super) fn reach(&mut self, time: u64) {
        self.now = self.now.max(time);
        self.begun.get_or_insert(self.now);
    }

    /// A packet of a capture is the next thing to come. With the first one time begins: how much
    /// later that is than what the clock showed.
    pub(super) fn begin(&mut self, time: u64) -> u64 {
        if self.kind != Kind::Captures || std::mem::replace(&mut self.arrives, true) {
            return 0;
        }
        let late = time.saturating_sub(self.now);
        self.now += late;
        self.begun = Some(self.now);
        late
    }

    /// Whether arrivals come at the time that their captures say, and one has come.
    pub(super) fn has_begun(&self) -> bool {
        self.kind == Kind::Captures && self.arrives
    }

    /// A packet of a capture comes: its time is the present. The first one tells when the run
    /// began.
    pub(super) fn arrive(&mut self, time: u64) {
        if self.kind == Kind::Captures {
            self.reach(time);
        }
    }

    /// True if arrivals come at the time that their captures say, false if they come as soon as
    /// they can.
    pub(super) fn follows_captures(&self) -> bool {
        self.kind == Kind::Captures
    }

    /// A round of tasks was done.
    pub(super) fn round(&mut self) {
        self.rounds(1);
    }

    /// So many rounds were done.
    pub(super) fn rounds(&mut self, rounds: u64) {
        self.now = self.now.saturating_add(self.round_ns().saturating_mul(rounds));
    }

    /// By how much a round lets time go on.
    pub(super) fn round_ns(&self) -> u64 {
        if self.kind == Kind::Simulated { ROUND } else { 0 }
    }
}
