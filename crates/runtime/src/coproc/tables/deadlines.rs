//! When entries of a table end: which block of slots may hold one that has ended is found without
//! looking at all.
//!
//! A tree of minima, [`FAN`] wide: a leaf stands for [`FAN`] slots and holds a time before which
//! none of them ends. A refresh makes an entry end later and tells nobody, so that lookups need not
//! touch the tree; who asks what is due may find a block in which nothing has ended, and then tells
//! the block's true minimum. Each such look is paid for by a refresh, so what it costs to reclaim
//! an entry is bounded on average.
//!
//! What is put into a slot ends no sooner than all that was put somewhere before, while the timeout
//! stays the same. So in a block that holds something already nothing changes, and that is told by
//! a bit: all bits fit into a cache where the leaves of a large table do not (a translator of a
//! million flows: each new one waited for memory once less for each of its tables).
//!
//! Invariants: a node is at most every node and every end below it; the leaf of a block with a bit
//! is at most when anything ends that is put next.

use super::area::Area;
use netil::layout::{FAN, NEVER};

/// The tree, and marks.
pub struct Deadlines {
    /// Nodes as complements, so that fresh memory means [`NEVER`]: a level's beside each other,
    /// leaves first.
    nodes: Area,
    /// Where each level begins, and where the last one ends.
    begins: Vec<usize>,
    /// By block whether it holds something, or has since the timeout changed.
    marks: Area,
}

impl Deadlines {
    /// For so many slots, none of which holds anything; `None` if there is no memory for it.
    pub fn new(slots: usize) -> Option<Self> {
        let (mut begins, mut nodes) = (vec![0], slots);
        while begins.len() == 1 || nodes > 1 {
            nodes = nodes.div_ceil(FAN).max(1);
            begins.push(begins[begins.len() - 1] + nodes);
        }
        let all = Area::new(begins[begins.len() - 1] * 8)?;
        let marks = Area::new(slots.div_ceil(FAN).div_ceil(64) * 8)?;
        Some(Self { nodes: all, begins, marks })
    }

    /// Leaves, where there are nodes above them that are not the root alone; else 0.
    pub fn leaves(&self) -> usize {
        if self.levels() > 1 { self.begins[1] } else { 0 }
    }

    /// Nodes and marks: for code that puts things into slots by itself ([`netil::layout`]).
    pub fn parts(&mut self) -> (&mut [u8], &mut [u8]) {
        (&mut self.nodes, &mut self.marks)
    }

    /// Nothing has ended before.
    pub fn quiet(&self) -> u64 {
        self.get(self.levels() - 1, 0)
    }

    fn levels(&self) -> usize {
        self.begins.len() - 1
    }

    fn get(&self, level: usize, at: usize) -> u64 {
        !super::word(&self.nodes, (self.begins[level] + at) * 8)
    }

    fn set(&mut self, level: usize, at: usize, end: u64) {
        let at = (self.begins[level] + at) * 8;
        self.nodes[at..at + 8].copy_from_slice(&(!end).to_le_bytes());
    }

    fn children(&self, level: usize, at: usize) -> impl Iterator<Item = (usize, u64)> {
        let nodes = self.begins[level + 1] - self.begins[level];
        (at * FAN..nodes.min((at + 1) * FAN)).map(move |i| (i, self.get(level, i)))
    }

    /// What is put into a slot ends then: no sooner than what was put into others, by
    /// [`Self::lower`] or here.
    pub fn put(&mut self, slot: usize, end: u64) {
        let block = slot / FAN;
        if self.marks[block / 8] >> (block % 8) & 1 == 0 {
            self.lower(slot, end);
        }
    }

    /// From now on things may end sooner than what was put before.
    pub fn begin_anew(&mut self) {
        self.marks.fill(0);
    }

    /// What is in a slot ends then.
    pub fn lower(&mut self, slot: usize, end: u64) {
        let mut at = slot;
        if end < NEVER {
            self.marks[slot / FAN / 8] |= 1 << (slot / FAN % 8);
        }
        for level in 0..self.levels() {
            at /= FAN;
            if self.get(level, at) <= end {
                return;
            }
            self.set(level, at, end);
        }
    }

    /// A block that may hold an entry that has ended by then.
    pub fn due(&self, now: u64) -> Option<usize> {
        (0..self.levels()).rev().try_fold(0, |at, level| self.children(level, at).find(|(_, end)| *end <= now).map(|(i, _)| i))
    }

    /// All of these.
    pub fn all_due(&self, now: u64) -> Vec<usize> {
        let mut nodes = vec![0];
        for level in (0..self.levels()).rev() {
            nodes = nodes.into_iter().flat_map(|at| self.children(level, at)).filter(|(_, end)| *end <= now).map(|(at, _)| at).collect();
        }
        nodes
    }

    /// The block with what may end first, and when that may be; `None` if nothing ends.
    pub fn first(&self) -> Option<(usize, u64)> {
        let least = |(at, _): (usize, u64), level: usize| self.children(level, at).min_by_key(|(_, end)| *end).unwrap_or((at, NEVER));
        let (block, end) = (0..self.levels()).rev().fold((0, NEVER), least);
        (end < NEVER).then_some((block, end))
    }

    /// Nothing in a block ends before.
    pub fn raise(&mut self, block: usize, end: u64) {
        self.set(0, block, end);
        if end == NEVER {
            self.marks[block / 8] &= !(1 << (block % 8));
        }
        let mut at = block;
        for level in 1..self.levels() {
            at /= FAN;
            let least = self.children(level - 1, at).map(|(_, end)| end).min();
            self.set(level, at, least.unwrap_or(NEVER));
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
                // A slot gets an end later than all others.
                let slot = random.within(0, slots as u64) as usize;
                ends[slot] = now + 301;
                tree.put(slot, ends[slot]);
                assert!(ends.iter().all(|end| *end > now));
                let soon = tree.all_due(now + 9);
                let is_soon = |block: &usize| ends[block * FAN..slots.min((block + 1) * FAN)].iter().any(|end| *end <= now + 9);
                assert!((0..slots.div_ceil(FAN)).filter(is_soon).all(|block| soon.contains(&block)));
                assert!(tree.first().is_some_and(|(_, end)| end <= ends.iter().copied().min().unwrap()));
                assert_eq!(tree.due(NEVER - 1).is_some(), ends.iter().any(|end| *end < NEVER));
            }
        }
    }

    /// Blocks that hold nothing any more, or what has no end, and a timeout that gets shorter.
    #[test]
    fn what_is_put_is_found_whatever_was_there() {
        let mut tree = Deadlines::new(1000).unwrap();
        tree.lower(3, NEVER);
        tree.put(4, 50);
        assert_eq!((tree.due(49), tree.due(50)), (None, Some(0)));
        tree.put(5, 60);
        tree.raise(0, NEVER);
        tree.put(900, 70);
        tree.put(6, 80);
        assert_eq!((tree.due(69), tree.due(70)), (None, Some(900 / FAN)));
        tree.raise(900 / FAN, NEVER);
        assert_eq!((tree.due(79), tree.due(80)), (None, Some(0)));
        tree.begin_anew();
        tree.put(7, 20);
        assert_eq!((tree.due(19), tree.due(20)), (None, Some(0)));
    }
}
