//! Vector loads: which bytes of a packet lanes load together.
//!
//! A **word** is up to four consecutive bytes, a lane's worth, that serve all loads which lie in
//! them. A **vector load** is sixteen consecutive bytes with up to four words: one load a packet,
//! whose rows are then turned into columns, is quicker than a gather for each word (measured on Zen
//! 4: four words 0.2 ns a packet, one gather 0.3 ns). It is done in the nearest block that
//! dominates its loads, or at the function's beginning if nearly all packets are long enough, where
//! it needs no set of lanes. Lanes whose packet ends before the last byte needed leave there, so a
//! vector load ends at that byte, and begins before the first one.

use crate::analysis::ranges::Ranges;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Func, Op, Value};
use netil::table::Space;
use std::collections::{BTreeMap, HashMap};

/// Bytes of a vector load.
pub(crate) const BYTES: u32 = 16;
/// Bytes of a word.
const WORD: u32 = 4;
/// Words of a vector load.
const WORDS: usize = 4;
/// The shortest packets that are frequent: an Ethernet header and ARP. Asking more of all packets
/// makes too many leave.
const SHORTEST: u32 = 42;

/// Consecutive bytes of each packet that are loaded at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VectorLoad {
    /// What the offset is added to, where the place depends on the packet.
    pub base: Option<Value>,
    /// Of the first byte loaded; negative only if the base is never less than that.
    pub start: i64,
    /// One past the last byte, without the base.
    pub end: u32,
    /// Where it is done.
    pub block: Block,
    /// Numbers of its words.
    pub words: Vec<usize>,
}

/// A lane's worth of a vector load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Of its first byte, without the base.
    offset: u32,
    /// Bytes that are needed.
    size: u32,
    block: Block,
    /// Bytes before it in its column.
    skew: u32,
}

impl Word {
    fn end(&self) -> u32 {
        self.offset + self.size
    }
}

/// All vector loads of a function.
#[derive(Default)]
pub(crate) struct VectorLoads {
    pub list: Vec<VectorLoad>,
    pub words: Vec<Word>,
    /// The word of each load, and the load's place in it.
    loads: HashMap<Value, (usize, u32)>,
}

/// A load from the packet.
struct Load {
    offset: u32,
    size: u32,
    value: Value,
    block: Block,
}

impl VectorLoads {
    /// Of the loads in these blocks.
    pub fn new(func: &Func, cfg: &Cfg, ranges: &Ranges, blocks: impl Iterator<Item = Block>) -> Self {
        let mut by_base: BTreeMap<Option<Value>, Vec<Load>> = BTreeMap::new();
        for block in blocks {
            for value in &func.block(block).ops {
                if let Some((base, offset)) = place(func, ranges, *value) {
                    let load = Load { offset, size: u32::from(func.width(*value) / 8), value: *value, block };
                    by_base.entry(base).or_default().push(load);
                }
            }
        }
        let mut all = Self::default();
        for (base, loads) in by_base {
            let words = all.add_words(cfg, loads);
            all.add_loads(cfg, ranges, base, words);
        }
        all
    }

    /// The word of a load, and the load's place in the word's column.
    pub fn place_of(&self, load: Value) -> (usize, u32) {
        let (word, at) = self.loads[&load];
        (word, at + self.words[word].skew)
    }

    /// The loads that a word serves.
    pub fn served(&self, word: usize) -> impl Iterator<Item = Value> + '_ {
        self.loads.iter().filter(move |(_, (other, _))| *other == word).map(|(load, _)| *load)
    }

    /// The first byte of all at a fixed place.
    pub fn first_byte(&self) -> u32 {
        let fixed = self.list.iter().filter(|w| w.base.is_none());
        fixed.map(|w| self.words[w.words[0]].offset).min().unwrap_or(0)
    }

    /// The column of each word of a vector load.
    pub fn columns<'a>(&'a self, vector: &'a VectorLoad) -> impl Iterator<Item = (usize, usize)> + 'a {
        let arranged = self.arrangement(vector).is_some();
        let place = move |i: usize, word: usize| if arranged { i } else { self.place_in(vector, word) as usize / WORD as usize };
        vector.words.iter().enumerate().map(move |(i, word)| (place(i, *word), *word))
    }

    /// The bytes of a vector load that make up each column, the first lowest, if words do not stand
    /// in columns; 0x80 is none.
    pub fn arrangement(&self, vector: &VectorLoad) -> Option<[u32; WORDS]> {
        if vector.words.iter().all(|word| self.in_column(vector.start, *word)) {
            return None;
        }
        let byte = |at: u32| if at < BYTES { at } else { 0x80 };
        let column = |i: usize| {
            let at = vector.words.get(i).map_or(BYTES, |word| self.place_in(vector, *word));
            (0..WORD).map(|b| byte(at + b) << (8 * b)).sum()
        };
        Some(std::array::from_fn(column))
    }

    /// Whether a word lies in one column of a vector load that begins there.
    fn in_column(&self, start: i64, word: usize) -> bool {
        let (word, column) = (&self.words[word], |at: u32| (i64::from(at) - start) / i64::from(WORD));
        column(word.offset) == column(word.end() - 1)
    }

    fn place_in(&self, vector: &VectorLoad, word: usize) -> u32 {
        (i64::from(self.words[word].offset) - vector.start) as u32
    }

    /// Makes the words for loads from one base.
    fn add_words(&mut self, cfg: &Cfg, mut loads: Vec<Load>) -> std::ops::Range<usize> {
        let first = self.words.len();
        loads.sort_unstable_by_key(|load| (load.offset, load.size));
        for load in loads {
            let last = self.words[first..].last_mut().filter(|word| load.offset + load.size <= word.offset + WORD);
            if let Some(word) = last {
                word.size = word.size.max(load.offset + load.size - word.offset);
                word.block = common(cfg, word.block, load.block);
            } else {
                self.words.push(Word { offset: load.offset, size: load.size, block: load.block, skew: 0 });
            }
            let number = self.words.len() - 1;
            self.loads.insert(load.value, (number, load.offset - self.words[number].offset));
        }
        first..self.words.len()
    }

    fn add_loads(&mut self, cfg: &Cfg, ranges: &Ranges, base: Option<Value>, words: std::ops::Range<usize>) {
        let lowest = base.map_or(0, |base| ranges.min(base) as i64);
        let first = self.list.len();
        for number in words {
            let word = self.words[number];
            let joined = self.list[first..].last().and_then(|w| self.joined(cfg, w, number));
            let vector = joined.clone().unwrap_or(VectorLoad { base, start: 0, end: word.end(), block: word.block, words: vec![number] });
            if joined.is_some() {
                self.list.pop();
            }
            self.list.push(vector);
        }
        for at in first..self.list.len() {
            let start = self.start(&self.list[at], lowest);
            let vector = &mut self.list[at];
            vector.start = start;
            vector.end = (start + i64::from(BYTES)) as u32;
            if base.is_none() && vector.end <= SHORTEST {
                vector.block = Block(0);
            }
            if self.arrangement(&self.list[at]).is_none() {
                for word in self.list[at].words.clone() {
                    self.words[word].skew = self.place_in(&self.list[at], word) % WORD;
                }
            }
        }
    }

    /// Where a vector load begins so that it ends with its last byte, or up to three bytes later if
    /// its words then stand in columns.
    fn start(&self, vector: &VectorLoad, lowest: i64) -> i64 {
        let start = (i64::from(vector.end) - i64::from(BYTES)).max(-lowest);
        let (first, end) = (i64::from(self.words[vector.words[0]].offset), |start: i64| start + i64::from(BYTES));
        let frequent = |s: &i64| vector.base.is_some() || end(start) > SHORTEST.into() || end(*s) <= SHORTEST.into();
        let in_columns = |s: i64| vector.words.iter().all(|word| self.in_column(s, *word));
        (start..start + i64::from(WORD)).filter(|s| *s <= first && in_columns(*s)).find(frequent).unwrap_or(start)
    }

    /// A vector load with one more word, if that fits and asks no more of packets than is frequent.
    fn joined(&self, cfg: &Cfg, vector: &VectorLoad, number: usize) -> Option<VectorLoad> {
        let (word, from) = (self.words[number], self.words[vector.words[0]].offset);
        let end = vector.end.max(word.end());
        let block = common(cfg, vector.block, word.block);
        let near = end - from <= BYTES && vector.words.len() < WORDS;
        let frequent = vector.base.is_none() && end <= SHORTEST || block == vector.block || block == word.block;
        (near && frequent).then(|| {
            let words = vector.words.iter().copied().chain([number]).collect();
            VectorLoad { end, block, words, ..vector.clone() }
        })
    }
}

/// The packet place that a value is loaded from, if lanes can do that: offset, and the value it is
/// added to.
pub(crate) fn place(func: &Func, ranges: &Ranges, v: Value) -> Option<(Option<Value>, u32)> {
    let Some(Op::Load(Space::Packet, _, addr, offset, _)) = func.op(v) else { return None };
    if func.width(v) > 32 {
        return None;
    }
    let (base, offset) = match func.constant(*addr) {
        Some(constant) => (None, constant + u64::from(*offset)),
        None => (Some(*addr), u64::from(*offset)),
    };
    let most = base.map_or(0, |base| ranges.max(base)) + offset + u64::from(BYTES);
    (most <= i32::MAX as u64).then_some((base, offset as u32))
}

/// The nearest block that dominates both.
fn common(cfg: &Cfg, mut a: Block, mut b: Block) -> Block {
    let position = |b: Block| cfg.position[b.0 as usize];
    while a != b {
        if position(a) > position(b) {
            a = cfg.idom[a.0 as usize];
        } else {
            b = cfg.idom[b.0 as usize];
        }
    }
    a
}
