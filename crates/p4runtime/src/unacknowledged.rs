//! Digests that were told and are not acknowledged.

use std::collections::HashMap;

/// What waits to be acknowledged, at most; what is more is told again if it comes again.
const MOST_UNACKNOWLEDGED: usize = 1 << 16;

/// A digest and its data.
pub(crate) type Learned = (u32, Vec<u8>);

/// What was told and is not acknowledged: in which list, and when, in microseconds.
#[derive(Default)]
pub(crate) struct Unacknowledged(HashMap<Learned, (u64, u64)>);

impl Unacknowledged {
    /// Whether that may be told at that time; it counts as told then.
    pub fn may_tell(&mut self, what: Learned, list: u64, now_us: u64, timeout_ns: u64) -> bool {
        let waits = |told: u64| now_us.saturating_sub(told).saturating_mul(1000) < timeout_ns;
        match self.0.get_mut(&what) {
            Some((_, told)) if waits(*told) => return false,
            Some(known) => *known = (list, now_us),
            None => {
                if self.0.len() >= MOST_UNACKNOWLEDGED {
                    self.0.retain(|_, (_, told)| waits(*told));
                }
                if self.0.len() < MOST_UNACKNOWLEDGED {
                    self.0.insert(what, (list, now_us));
                }
            }
        }
        true
    }

    /// A list has arrived.
    pub fn acknowledge(&mut self, digest: u32, list: u64) {
        self.0.retain(|(id, _), (own, _)| *id != digest || *own != list);
    }

    /// Nothing waits of that digest.
    pub fn forget(&mut self, digest: u32) {
        self.0.retain(|(id, _), _| *id != digest);
    }
}
