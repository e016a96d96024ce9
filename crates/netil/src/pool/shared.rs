//! Slots that are in several lists: copies of packets that nobody changes any more.
//!
//! Invariant: what is in the pool as `shared` is the sum of `more`, but while compiled code runs,
//! which counts on its own ([`Slots::share`]).

use super::Slots;

impl Slots {
    /// Gives slots back that may be in other lists. Which of them are is as good as random, so
    /// nothing branches on it.
    pub(super) fn leave(&mut self, ids: &[u32]) {
        let mut at = self.free.len();
        self.free.resize(at + ids.len(), 0);
        for id in ids {
            let more = &mut self.more[*id as usize];
            let others = u32::from(*more > 0);
            self.free[at] = *id;
            at += 1 - others as usize;
            *more -= others;
            self.shared -= u64::from(others);
        }
        self.free.truncate(at);
    }

    /// By slot how many more lists it is in than one: who lets it be in so many more says that by
    /// [`Self::share`] before any is given back. Only packets in the memory of their slots may be
    /// in several.
    pub fn more(&mut self) -> &mut [u32] {
        &mut self.more
    }

    /// Slots have come into so many lists more.
    pub fn share(&mut self, lists: u64) {
        self.shared += lists;
    }
}
