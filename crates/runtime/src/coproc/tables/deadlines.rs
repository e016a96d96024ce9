//! When entries of a table end: which block of slots may hold one that has ended is found without looking at all.
//!
//! A tree of minima, [`FAN`] wide: a leaf stands for [`FAN`] slots and holds a time before which none of them ends. A refresh makes an entry end later and tells
//! nobody, so that lookups need not touch the tree; who asks what is due may find a block in which nothing has ended, and then tells the block's true
//! minimum. Each such look is paid for by a refresh, so what it costs to reclaim an entry is bounded on average.
//!
//! Invariant: a node is at most every node and every end below it.

use super::area::Area;
use netil::layout::NEVER;

/// Slots of a block, and children of a node.
pub const FAN: usize = 16;

/// The tree; a level's nodes stand beside each other, leaves first.
pub struct Deadlines {
    levels: Vec<Level>,
}

/// Nodes as complements, so that fresh memory means [`NEVER`].
struct Level(Area);

impl Level {
    fn len(&self) -> usize {
        self.0.len() / 8
    }

    fn get(&self, at: usize) -> u64 {
        !super::word(&self.0, at * 8)
    }

    fn set(&mut self, at: usize, end: u64) {
        self.0[at * 8..at * 8 + 8].copy_from_slice(&(!end).to_le_bytes());
    }

    fn children(&self, at: usize) -> impl Iterator<Item = (usize, u64)> {
        (at * FAN..self.len().min((at + 1) * FAN)).map(|i| (i, self.get(i)))
    }
}

impl Deadlines {
    /// For so many slots, none of which holds anything; `None` if there is no memory for it.
    pub fn new(slots: usize) -> Option<Self> {
        let mut levels = Vec::new();
        let mut nodes = slots;
        while levels.is_empty() || nodes > 1 {
            nodes = nodes.div_ceil(FAN).max(1);
            levels.push(Level(Area::new(nodes * 8)?));
        }
        Some(Self { levels })
    }

    /// What is in a slot ends then.
    pub fn lower(&mut self, slot: usize, end: u64) {
        let mut at = slot;
        for level in &mut self.levels {
            at /= FAN;
            if level.get(at) <= end {
                return;
            }
            level.set(at, end);
        }
    }

    /// A block that may hold an entry that has ended by then.
    pub fn due(&self, now: u64) -> Option<usize> {
        let downwards = self.levels.iter().rev();
        downwards.into_iter().try_fold(0, |at, level| level.children(at).find(|(_, end)| *end <= now).map(|(i, _)| i))
    }

    /// Nothing in a block ends before.
    pub fn raise(&mut self, block: usize, end: u64) {
        self.levels[0].set(block, end);
        let mut at = block;
        for i in 1..self.levels.len() {
            at /= FAN;
            let least = self.levels[i - 1].children(at).map(|(_, end)| end).min();
            self.levels[i].set(at, least.unwrap_or(NEVER));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::synth::Random;

    #[test]
    fn what_is_due_is_found_and_nothing_else() {
        for slots in [1, 16, 17, 300, 5000] {
            let mut random = Random(slots as u64);
            let (mut tree, mut ends) = (Deadlines::new(slots).unwrap(), vec![NEVER; slots]);
            for now in 0..2000 {
                let slot = random.within(0, slots as u64) as usize;
                ends[slot] = now + 1 + random.within(0, 300);
                tree.lower(slot, ends[slot]);
                while let Some(block) = tree.due(now) {
                    let all = &mut ends[block * FAN..slots.min((block + 1) * FAN)];
                    all.iter_mut().filter(|end| **end <= now).for_each(|end| *end = NEVER);
                    tree.raise(block, all.iter().copied().min().unwrap());
                }
                assert!(ends.iter().all(|end| *end > now));
                assert_eq!(tree.due(NEVER - 1).is_some(), ends.iter().any(|end| *end < NEVER));
            }
        }
    }
}
