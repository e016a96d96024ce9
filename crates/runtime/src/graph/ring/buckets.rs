//! Which replica has a flow, where elements keep state of flows and replicas come and go.
//!
//! Flows are in buckets, by the function that says which replica has a packet. A bucket gets a
//! replica with its first packet and keeps it, so that packets of a flow find what was kept of it.
//! New flows are spread over the replicas that are wanted. A bucket to which no packet has come for
//! longer than anything is kept has nothing in its replica any more: it gets one anew. A replica
//! that is not wanted has been left when that is so of all its buckets.
//!
//! Invariant: all that elements keep of a bucket's flows is in the replica that has the bucket.
//! Left out: moving entries, whose ages would begin anew.

/// Buckets: as many as the functions tell apart.
pub(super) const BUCKETS: usize = 1 << 16;
/// No replica has it.
const NOBODY: u16 = u16::MAX;
/// Looks at all buckets while something is kept.
const LOOKS: u64 = 16;
/// The least time between two of them, in nanoseconds.
const LEAST: u64 = 1_000_000;

/// Who has each bucket.
pub(super) struct Buckets {
    owners: Box<[u16]>,
    /// New flows go to so many.
    replicas: usize,
    /// The replicas before this one may have flows.
    width: usize,
    /// For how long something is kept that nothing refreshes, in nanoseconds; none: for ever.
    lasts: Option<u64>,
    /// By bucket, when a packet came last or flows began to move; none where none are to move.
    seen: Option<Box<[u64]>>,
    /// When all of them are looked at next.
    look: u64,
    /// The latest packet.
    latest: u64,
}

impl Buckets {
    /// For so many replicas.
    pub(super) fn new(replicas: usize, lasts: Option<u64>) -> Self {
        let owners = vec![NOBODY; BUCKETS].into();
        Self { owners, replicas, width: replicas, lasts, seen: None, look: 0, latest: 0 }
    }

    /// Elements keep what they keep for so long from now on, and keep what they have.
    pub(super) fn lasts(&mut self, lasts: Option<u64>) {
        self.lasts = self.lasts.zip(lasts).map(|(before, now)| before.max(now));
    }

    /// The replica of a packet of a bucket that comes at that time.
    #[inline]
    pub(super) fn replica(&mut self, bucket: usize, time_ns: u64) -> usize {
        self.latest = self.latest.max(time_ns);
        if let Some(seen) = &mut self.seen {
            if is_over(self.lasts, seen[bucket], self.latest) {
                self.owners[bucket] = NOBODY;
            }
            seen[bucket] = self.latest;
        }
        let owner = &mut self.owners[bucket];
        if *owner == NOBODY {
            *owner = wanted(bucket, self.replicas);
        }
        usize::from(*owner)
    }

    /// Whether flows are to go elsewhere.
    pub(super) fn are_moving(&self) -> bool {
        self.seen.is_some()
    }

    /// New flows go to so many replicas; how many there must be for all flows.
    pub(super) fn spread(&mut self, replicas: usize) -> usize {
        if replicas != self.replicas {
            self.replicas = replicas;
            self.seen = self.lasts.map(|_| vec![self.latest; BUCKETS].into());
            self.width = self.needed();
            self.look_later();
        }
        if self.seen.is_some() && self.latest >= self.look {
            self.leave();
            self.look_later();
        }
        self.width
    }

    fn look_later(&mut self) {
        self.look = self.latest.saturating_add((self.lasts.unwrap_or(0) / LOOKS).max(LEAST));
    }

    /// Lets buckets go of which nothing is kept any more.
    fn leave(&mut self) {
        let Some(seen) = &self.seen else { return };
        let mut all_there = true;
        for (bucket, (owner, seen)) in self.owners.iter_mut().zip(seen).enumerate().filter(|(_, (owner, _))| **owner != NOBODY) {
            if is_over(self.lasts, *seen, self.latest) {
                *owner = NOBODY;
            }
            all_there &= [NOBODY, wanted(bucket, self.replicas)].contains(owner);
        }
        self.width = self.needed();
        if all_there {
            self.seen = None;
        }
    }

    /// How many replicas have flows, or may get some.
    fn needed(&self) -> usize {
        let owned = self.owners.iter().filter(|owner| **owner != NOBODY).max();
        owned.map_or(0, |owner| usize::from(*owner) + 1).max(self.replicas)
    }
}

/// Whether nothing is kept any more of what was seen then.
fn is_over(lasts: Option<u64>, seen: u64, latest: u64) -> bool {
    lasts.is_some_and(|lasts| latest.saturating_sub(seen) > lasts)
}

/// The replica that a bucket without one gets.
fn wanted(bucket: usize, replicas: usize) -> u16 {
    (bucket * replicas.max(1) / BUCKETS) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn new_flows_go_to_new_replicas_and_old_ones_stay() {
        let mut buckets = Buckets::new(1, None);
        let (old, new) = (BUCKETS - 1, BUCKETS - 2);
        assert_eq!(buckets.replica(old, SECOND), 0);
        assert_eq!(buckets.spread(2), 2);
        assert_eq!((buckets.replica(old, 9 * SECOND), buckets.replica(new, 9 * SECOND)), (0, 1));
        assert!(!buckets.are_moving(), "what is kept for ever never moves");
        assert_eq!(buckets.spread(1), 2, "one of them has a flow");
        assert_eq!((buckets.replica(new, 99 * SECOND), buckets.replica(BUCKETS - 3, 99 * SECOND)), (1, 0));
    }

    #[test]
    fn flows_move_when_nothing_is_kept_of_them() {
        let mut buckets = Buckets::new(1, Some(10 * SECOND));
        let (busy, idle) = (BUCKETS - 1, BUCKETS - 2);
        assert_eq!((buckets.replica(busy, SECOND), buckets.replica(idle, SECOND)), (0, 0));
        assert_eq!(buckets.spread(2), 2);
        assert!(buckets.are_moving());
        assert_eq!(buckets.replica(busy, 5 * SECOND), 0);
        assert_eq!(buckets.replica(idle, 11 * SECOND), 0, "ten seconds are over, and not more");
        assert_eq!(buckets.replica(busy, 15 * SECOND), 0);
        assert_eq!(buckets.replica(idle, 21 * SECOND + 1), 1);
        assert_eq!(buckets.replica(busy, 25 * SECOND + 1), 1);
        assert_eq!(buckets.spread(2), 2);
        assert!(!buckets.are_moving(), "all are where they are to be");
    }

    #[test]
    fn replicas_are_left_when_their_flows_have_ended() {
        let mut buckets = Buckets::new(3, Some(10 * SECOND));
        let last = BUCKETS - 1;
        assert_eq!(buckets.replica(last, SECOND), 2);
        assert_eq!(buckets.spread(1), 3);
        assert_eq!(buckets.replica(0, 5 * SECOND), 0);
        assert_eq!(buckets.spread(1), 3);
        assert_eq!(buckets.replica(0, 11 * SECOND + 1), 0);
        assert_eq!(buckets.spread(1), 1);
        assert_eq!(buckets.replica(last, 11 * SECOND + 2), 0);
        // Times that go back are those of late packets.
        assert_eq!((buckets.replica(last, SECOND), buckets.spread(1)), (0, 1));
    }

    #[test]
    fn what_lasts_longer_counts() {
        let mut buckets = Buckets::new(1, Some(SECOND));
        buckets.lasts(Some(10 * SECOND));
        assert_eq!(buckets.replica(BUCKETS - 1, SECOND), 0);
        buckets.spread(2);
        assert_eq!(buckets.replica(BUCKETS - 1, 10 * SECOND), 0);
        buckets.lasts(None);
        assert_eq!(buckets.replica(BUCKETS - 1, 99 * SECOND), 0, "for ever");
    }
}
