//! Nodes of a prefix table with long keys ([`super::paths`]), in one area, as [`netil::layout`]
//! says how they lie.
//!
//! A path takes a unit, a branch as many cache lines as it needs; what was given back is used again
//! for nodes of that size. So an area may be full of pieces of other sizes, and the nodes then have
//! to be made anew: all of them fit, that is what [`BYTES`] is for.
//!
//! Source of the runs of equal neighbours found by counting ones: Degermark, Brodnik, Carlsson,
//! Pink, Small forwarding tables for fast routing lookups, SIGCOMM 1997.

use super::area::Area;
use netil::layout::paths::{BEFORE, DEEPER, LENGTH, OTHER, PATH, RUNS, THEN, UNIT};
use netil::layout::{GROUP, LINE};

/// What all nodes of n routes need at most is 192 n. A path for each route, and one for each
/// branch, of which there are fewer: 64 n. Branches have at least two routes or branches in them,
/// so that there are at most n, with 2 n such in all, and two runs for each of these, and one: 119
/// n with what lines leave over. Twice that leaves room for pieces.
const BYTES: usize = 384;
/// Sizes: a path, and branches of 1 to 17 lines.
const SIZES: usize = 18;

/// The nodes.
pub struct Nodes {
    area: Area,
    /// Units that were ever given.
    used: usize,
    /// Units where free pieces begin, by size.
    free: [Vec<u32>; SIZES],
}

/// A path.
#[derive(Clone, Copy)]
pub struct Path {
    /// From the most significant bit on.
    pub prefix: u128,
    /// Bits of it.
    pub length: u32,
    /// For keys of that prefix.
    pub then: u32,
    /// For others.
    pub other: u32,
}

impl Nodes {
    /// None, with room for those of so many routes; `None` if there is no memory for that.
    pub fn new(routes: usize) -> Option<Self> {
        let size = (routes + 1).checked_mul(BYTES).filter(|size| size / UNIT < PATH as usize)?;
        Some(Self { area: Area::new(size)?, used: 0, free: Default::default() })
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        (self.used, self.free) = (0, Default::default());
    }

    /// Units that were ever given: nodes are in these.
    pub fn used(&self) -> usize {
        self.used
    }

    /// A piece of a size; `None` if there is none.
    fn take(&mut self, size: usize) -> Option<usize> {
        if let Some(unit) = self.free[size].pop() {
            return Some(unit as usize);
        }
        let (unit, units) = (self.used, size.max(1) * (LINE / UNIT));
        if (unit + units) * UNIT > self.area.len() {
            return None;
        }
        self.used += units;
        if size == 0 {
            self.free[0].push(unit as u32 + 1);
        }
        Some(unit)
    }

    /// All of them.
    pub fn area(&mut self) -> &mut [u8] {
        &mut self.area
    }

    /// Gives a node back.
    pub fn give(&mut self, word: u32) {
        let size = if word & PATH != 0 { 0 } else { size(self.runs(word)) };
        self.free[size].push(word & !(DEEPER | PATH));
    }

    fn at(word: u32) -> usize {
        (word & !(DEEPER | PATH)) as usize * UNIT
    }

    fn word(&self, at: usize) -> u32 {
        self.area[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn long(&self, at: usize) -> u64 {
        self.area[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.area[at..][..bytes.len()].copy_from_slice(bytes);
    }

    /// A new path; `None` if there is no piece for it.
    pub fn add_path(&mut self, path: &Path) -> Option<u32> {
        let unit = self.take(0)?;
        let at = unit * UNIT;
        self.put(at, &((path.prefix >> 64) as u64).to_le_bytes());
        self.put(at + 8, &(path.prefix as u64).to_le_bytes());
        for (to, word) in [(THEN, path.then), (OTHER, path.other), (LENGTH, path.length)] {
            self.put(at + to, &word.to_le_bytes());
        }
        Some(DEEPER | PATH | unit as u32)
    }

    /// What a path is.
    pub fn path(&self, word: u32) -> Path {
        let at = Self::at(word);
        let prefix = u128::from(self.long(at)) << 64 | u128::from(self.long(at + 8));
        Path { prefix, length: self.word(at + LENGTH), then: self.word(at + THEN), other: self.word(at + OTHER) }
    }

    /// A path leads to another node of the same kind.
    pub fn lead(&mut self, path: u32, then: u32) {
        self.put(Self::at(path) + THEN, &then.to_le_bytes());
    }

    /// A new branch; `None` if there is no piece for it.
    pub fn add_branch(&mut self, slots: &[u32; GROUP]) -> Option<u32> {
        let begins = |i: &usize| *i == 0 || slots[*i] != slots[*i - 1];
        let unit = self.take(size((0..GROUP).filter(begins).count()))?;
        let (at, mut bits, mut before, mut runs) = (unit * UNIT, [0_u64; GROUP / 64], [0; GROUP / 64], 0);
        for i in (0..GROUP).filter(begins) {
            bits[i / 64] |= 1 << (i % 64);
            before[i / 64 + 1..].iter_mut().for_each(|before| *before += 1);
            self.put(at + RUNS + 4 * runs, &slots[i].to_le_bytes());
            runs += 1;
        }
        bits.iter().enumerate().for_each(|(i, bits)| self.put(at + 8 * i, &bits.to_le_bytes()));
        self.put(at + BEFORE, &before);
        Some(DEEPER | unit as u32)
    }

    /// Runs up to that of a number, with it.
    fn count(&self, at: usize, number: usize) -> usize {
        let bits = self.long(at + number / 64 * 8) << (63 - number % 64);
        usize::from(self.area[at + BEFORE + number / 64]) + bits.count_ones() as usize
    }

    fn runs(&self, word: u32) -> usize {
        self.count(Self::at(word), GROUP - 1)
    }

    /// Where a branch has what is for a number.
    fn run(&self, word: u32, number: usize) -> usize {
        let at = Self::at(word);
        at + RUNS + 4 * (self.count(at, number) - 1)
    }

    /// What a branch has for a number.
    pub fn next(&self, word: u32, number: usize) -> u32 {
        self.word(self.run(word, number))
    }

    /// A branch goes on with something else for a number that has a run of its own.
    pub fn set(&mut self, word: u32, number: usize, next: u32) {
        let at = self.run(word, number);
        self.put(at, &next.to_le_bytes());
    }

    /// What it has for each.
    pub fn slots(&self, word: u32) -> [u32; GROUP] {
        std::array::from_fn(|number| self.next(word, number))
    }
}

/// Lines of a branch.
fn size(runs: usize) -> usize {
    (RUNS + 4 * runs).div_ceil(LINE)
}
