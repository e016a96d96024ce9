//! Slots that are in several lists: copies of packets that nobody changes any more.
//!
//! Invariant: what is in the pool as `shared` is the sum of `more`, but while compiled code runs, which counts on its own ([`Slots::share`]).

use super::Slots;

impl Slots {
    /// Gives a slot back that may be in other lists.
    pub(super) fn leave(&mut self, id: u32) {
        let more = &mut self.more[id as usize];
        match *more {
            0 => self.free.push(id),
            _ => (*more, self.shared) = (*more - 1, self.shared - 1),
        }
    }

    /// By slot how many more lists it is in than one: who lets it be in so many more says that by [`Self::share`] before any is given back. Only packets in the memory of their slots may be in several.
    pub fn more(&mut self) -> &mut [u32] {
        &mut self.more
    }

    /// Slots have come into so many lists more.
    pub fn share(&mut self, lists: u64) {
        self.shared += lists;
    }
}
