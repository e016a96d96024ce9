//! Ternary tables: a bit per rule, and for each byte of the key and each value that it can have the bits of the rules which that value suits. The rules that match
//! are what all bytes' bits have in common.
//!
//! A summary has a bit for each word of 64 rules, so that words without a match are mostly not looked at; among matches the greatest rank wins, and words whose
//! rules all rank lower are left out. Bytes that no rule asks for have no bits. A lookup's cost is bounded by rules and bytes, whatever the masks are and however many; an
//! update costs 256 bits for each byte.
//!
//! Invariants: a bit of a word is set iff the rule does not ask for that byte or the value suits it, for rules that there are; a summary bit is set if a bit
//! of its word is.
//!
//! Source: Lakshman, Stiliadis, High-speed policy-based packet forwarding using bit-level parallel processing, SIGCOMM 1998; Baboescu, Varghese, Scalable
//! packet classification (aggregated bit vectors), SIGCOMM 2001. Leaves out timeouts.

use super::rules::{Entered, Rank, Rules};
use netil::layout::Parts;
use netil::module::{Entry, Table as Declaration};
use netil::tables::{Full, Table};

/// Values of a byte.
const VALUES: usize = 256;

/// The table.
pub struct Ternary {
    rules: Rules,
    key_bytes: usize,
    /// Words of 64 rules that there is room for.
    words: usize,
    present: Bits,
    /// The highest priority in each word, or higher.
    highest: Vec<u32>,
    /// By byte of the key, the least significant first; those that some rule asks for.
    bytes: Vec<(usize, Bits)>,
}

/// Rows of bits with their summaries.
struct Bits {
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl Bits {
    fn new(rows: usize, words: usize, fill: u64) -> Self {
        Self { words: vec![fill; rows * words], summary: vec![fill; rows * words.div_ceil(64)] }
    }

    fn set(&mut self, row: usize, words: usize, bit: usize, on: bool) {
        let word = &mut self.words[row * words + bit / 64];
        *word = *word & !(1 << (bit % 64)) | u64::from(on) << (bit % 64);
        let any = u64::from(*word != 0);
        let summary = &mut self.summary[row * words.div_ceil(64) + bit / 4096];
        *summary = *summary & !(1 << (bit / 64 % 64)) | any << (bit / 64 % 64);
    }

    /// The same in rows of twice as many words.
    fn doubled(&self, rows: usize, words: usize) -> Self {
        let mut wide = Self::new(rows, 2 * words, 0);
        for row in 0..rows {
            wide.words[row * 2 * words..][..words].copy_from_slice(&self.words[row * words..][..words]);
        }
        for (at, word) in wide.words.iter().enumerate() {
            let (row, column) = (at / (2 * words), at % (2 * words));
            let summary = &mut wide.summary[row * (2 * words).div_ceil(64) + column / 64];
            *summary = *summary & !(1 << (column % 64)) | u64::from(*word != 0) << (column % 64);
        }
        wide
    }
}

impl Ternary {
    /// A table as declared, with the entries that it has from the start.
    pub fn new(declaration: &Declaration, seed: u64) -> Self {
        let rules = Rules::new(declaration, seed);
        let key_bytes = usize::from(declaration.key_bits / 8);
        let mut table = Self { rules, key_bytes, words: 1, present: Bits::new(1, 1, 0), highest: vec![0], bytes: Vec::new() };
        for entry in &declaration.entries {
            // The verifier has counted them.
            let _ = table.add(entry, 0);
        }
        table
    }

    fn grow(&mut self) {
        self.present = self.present.doubled(1, self.words);
        for (_, bits) in &mut self.bytes {
            *bits = bits.doubled(VALUES, self.words);
        }
        self.highest.resize(2 * self.words, 0);
        self.words *= 2;
    }

    /// Makes a rule's bits what its key and mask say.
    fn show(&mut self, handle: u32, entry: &Entry) {
        let bit = handle as usize - 1;
        while bit >= self.words * 64 {
            self.grow();
        }
        for at in 0..self.key_bytes {
            if byte(&entry.mask, at) != 0 && !self.bytes.iter().any(|(byte, _)| *byte == at) {
                self.bytes.push((at, Bits::new(VALUES, self.words, u64::MAX)));
            }
        }
        for (at, bits) in &mut self.bytes {
            let (key, mask) = (byte(&entry.key, *at), byte(&entry.mask, *at));
            (0..VALUES).for_each(|value| bits.set(value, self.words, bit, (value as u8 ^ key) & mask == 0));
        }
        self.present.set(0, self.words, bit, true);
        self.highest[bit / 64] = self.highest[bit / 64].max(entry.priority);
    }

    fn matching(&self, key: &[u64]) -> Option<(Rank, u32)> {
        let mut rows = [0; 256];
        for (row, (at, _)) in rows.iter_mut().zip(&self.bytes) {
            *row = usize::from(byte(key, *at));
        }
        let rows = &rows[..self.bytes.len()];
        let per_row = self.words.div_ceil(64);
        let mut best = None;
        for column in 0..per_row {
            let summaries = self.bytes.iter().zip(rows).map(|((_, bits), row)| bits.summary[row * per_row + column]);
            let mut words = common(self.present.summary[column], summaries);
            while words != 0 {
                let word = column * 64 + words.trailing_zeros() as usize;
                words &= words - 1;
                best = best.max(self.matching_in(word, rows, best));
            }
        }
        best
    }

    /// The best match in a word of rules, if it can be better than one.
    fn matching_in(&self, word: usize, rows: &[usize], best: Option<(Rank, u32)>) -> Option<(Rank, u32)> {
        if best.is_some_and(|((priority, _), _)| priority > self.highest[word]) {
            return None;
        }
        let bits = self.bytes.iter().zip(rows).map(|((_, bits), row)| bits.words[row * self.words + word]);
        let mut matches = common(self.present.words[word], bits);
        let mut best = None;
        while matches != 0 {
            let handle = (word * 64) as u32 + matches.trailing_zeros() + 1;
            matches &= matches - 1;
            best = best.max(self.rules.get(handle).map(|rule| (rule.rank, handle)));
        }
        best
    }
}

/// The bits that all have.
fn common(first: u64, others: impl Iterator<Item = u64>) -> u64 {
    let mut bits = first;
    for other in others {
        bits &= other;
        if bits == 0 {
            break;
        }
    }
    bits
}

/// A byte of a number, counted from the least significant.
fn byte(number: &[u64], at: usize) -> u8 {
    number.get(at / 8).map_or(0, |limb| (limb >> (at % 8 * 8)) as u8)
}

impl Table for Ternary {
    fn find(&mut self, key: &[u64], _now_ns: u64, _refresh: bool) -> u32 {
        self.matching(key).map_or(0, |(_, handle)| handle)
    }

    fn insert(&mut self, _key: &[u64], _now_ns: u64) -> u32 {
        0
    }

    fn delete(&mut self, _key: &[u64], _now_ns: u64) -> bool {
        false
    }

    fn value(&self, entry: u32) -> Option<&[u8]> {
        self.rules.values.get(entry)
    }

    fn value_mut(&mut self, entry: u32) -> Option<&mut [u8]> {
        self.rules.values.get_mut(entry)
    }

    fn add(&mut self, entry: &Entry, _now_ns: u64) -> Result<(), Full> {
        match self.rules.enter(entry) {
            Entered::New(handle) => self.show(handle, entry),
            Entered::Old => {}
            Entered::Full => return Err(Full),
        }
        Ok(())
    }

    fn remove(&mut self, key: &[u64], mask: &[u64], priority: u32, _now_ns: u64) -> bool {
        let Some(handle) = self.rules.remove(key, mask, priority) else { return false };
        let word = (handle as usize - 1) / 64;
        self.present.set(0, self.words, handle as usize - 1, false);
        let left = (word * 64..(word + 1) * 64).filter_map(|i| self.rules.get(i as u32 + 1)).map(|rule| rule.rank.0);
        self.highest[word] = left.max().unwrap_or(0);
        true
    }

    fn entries(&self, _now_ns: u64) -> Vec<Entry> {
        self.rules.entries()
    }

    fn len(&self, _now_ns: u64) -> u64 {
        self.rules.len() as u64
    }

    fn parts(&mut self) -> Option<Parts<'_>> {
        Some(Parts { head: &mut [], slots: self.rules.values.area(), index: &mut [], groups: &mut [] })
    }
}
