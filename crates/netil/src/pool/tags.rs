//! What the owner of a pool wants to remember of each packet: a number, most often the same for
//! all, and then kept once.

/// By slot, if not all have the same.
#[derive(Debug, Default)]
pub(super) struct Tags {
    /// Of all, if there is one, as long as there are none by slot.
    all: Option<u32>,
    each: Vec<u32>,
}

impl Tags {
    /// Packets in these of so many slots have that tag.
    #[inline(always)]
    pub(super) fn note<'i>(&mut self, ids: impl Iterator<Item = &'i u32>, tag: u32, slots: usize) {
        if self.all != Some(tag) {
            self.differ(ids, tag, slots);
        }
    }

    /// Whether all have the same.
    #[inline]
    pub(super) fn is_alike(&self) -> bool {
        self.each.is_empty()
    }

    /// Notes the tag of packets where not all have had it; from the second tag on there is one for
    /// each slot.
    #[inline(never)]
    fn differ<'i>(&mut self, ids: impl Iterator<Item = &'i u32>, tag: u32, slots: usize) {
        if self.each.is_empty() {
            let Some(before) = self.all.replace(tag) else { return };
            self.each = vec![before; slots];
            self.all = None;
        }
        ids.for_each(|id| self.each[*id as usize] = tag);
    }

    /// Packets in these of so many slots have tags that follow each other, the first of them this
    /// one.
    pub(super) fn number(&mut self, ids: &[u32], first: u32, slots: usize) {
        if self.each.is_empty() {
            self.each = vec![self.all.take().unwrap_or(0); slots];
        }
        ids.iter().zip(first..).for_each(|(id, tag)| self.each[*id as usize] = tag);
    }

    /// The tag of the packet in a slot.
    #[inline]
    pub(super) fn of(&self, id: u32) -> u32 {
        self.each.get(id as usize).copied().or(self.all).unwrap_or(0)
    }
}
