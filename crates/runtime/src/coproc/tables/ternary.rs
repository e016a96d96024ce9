//! Ternary tables: a bit per rule, and for each byte of the key and each value that it can have the bits of the rules which that value suits. The rules that match
//! are what all bytes' bits have in common.
//!
//! A summary has a bit for each word of 64 rules, so that words without a match are not looked at; rules are sorted by mask and key, so that those of a word are
//! alike and the summary tells much. Among matches the greatest rank wins, and words whose rules all rank lower are left out. Bytes that no rule asks for
//! have no bits. A lookup's cost is bounded by rules and bytes, whatever the masks are and however many.
//!
//! The bits are made anew when something is looked up and many rules are new; a few are looked at one by one until then. A rule that goes only loses its
//! place among those present.
//!
//! Invariants: a rule that is not in `recent` has a place; a bit is set iff its rule does not ask for that byte or the value suits it; a summary bit is
//! set iff its word is not 0.
//!
//! Source: Lakshman, Stiliadis, High-speed policy-based packet forwarding using bit-level parallel processing, SIGCOMM 1998; Baboescu, Varghese, Scalable
//! packet classification (aggregated bit vectors), SIGCOMM 2001. Leaves out timeouts.

use super::rules::{Entered, Rank, Rule, Rules};
use netil::layout::Parts;
use netil::module::{Entry, Table as Declaration};
use netil::tables::{Full, Table};
use netil::wide;

/// Values of a byte.
const VALUES: usize = 256;

/// New rules that are looked at one by one, and one more for so many that there are.
const RECENT: usize = 16;
const RECENT_OF: usize = 512;

/// The table.
pub struct Ternary {
    rules: Rules,
    key_bytes: usize,
    /// Ranks and handles by place, and places by handle; handles without one have [`NOWHERE`].
    placed: Vec<(Rank, u32)>,
    places: Vec<u32>,
    present: Bits,
    /// The highest priority in each word.
    highest: Vec<u32>,
    /// By byte of the key, the least significant first; those that some rule asks for.
    bytes: Vec<(usize, Bits)>,
    recent: Vec<u32>,
}

/// The place of a handle that has none.
const NOWHERE: u32 = u32::MAX;

/// Rows of bits with their summaries.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    per_row: usize,
    summary: Vec<u64>,
    summary_per_row: usize,
}

impl Bits {
    fn new(rows: usize, per_row: usize) -> Self {
        let summary_per_row = per_row.div_ceil(64);
        Self { words: vec![0; rows * per_row], per_row, summary: vec![0; rows * summary_per_row], summary_per_row }
    }

    fn word(&self, row: usize, column: usize) -> u64 {
        self.words[row * self.per_row + column]
    }

    fn summary(&self, row: usize, column: usize) -> u64 {
        self.summary[row * self.summary_per_row + column]
    }

    fn set(&mut self, row: usize, column: usize, word: u64) {
        self.words[row * self.per_row + column] = word;
        let summary = &mut self.summary[row * self.summary_per_row + column / 64];
        *summary = *summary & !(1 << (column % 64)) | u64::from(word != 0) << (column % 64);
    }
}

impl Ternary {
    /// A table as declared, with the entries that it has from the start.
    pub fn new(declaration: &Declaration, seed: u64) -> Self {
        let (rules, key_bytes) = (Rules::new(declaration, seed), usize::from(declaration.key_bits / 8));
        let (present, bytes, recent) = (Bits::default(), Vec::new(), Vec::new());
        let mut table = Self { rules, key_bytes, placed: Vec::new(), places: Vec::new(), present, highest: Vec::new(), bytes, recent };
        for entry in &declaration.entries {
            // The verifier has counted them.
            let _ = table.add(entry, 0);
        }
        table
    }

    /// Makes the bits anew.
    fn build(&mut self) {
        self.recent.clear();
        let mut all: Vec<_> = self.rules.iter().collect();
        let alike = |a: &Rule, b: &Rule| wide::compare(&a.mask, &b.mask).then_with(|| wide::compare(&a.key, &b.key));
        all.sort_by(|(_, a), (_, b)| alike(a, b).then_with(|| b.rank.cmp(&a.rank)));
        self.placed = all.iter().map(|(handle, rule)| (rule.rank, *handle)).collect();
        self.places = vec![NOWHERE; self.placed.iter().map(|(_, handle)| *handle as usize + 1).max().unwrap_or(0)];
        for (place, (_, handle)) in self.placed.iter().enumerate() {
            self.places[*handle as usize] = place as u32;
        }
        let words = all.chunks(64);
        self.highest = words.clone().map(|word| word.iter().map(|(_, rule)| rule.rank.0).max().unwrap_or(0)).collect();
        self.present = Bits::new(1, words.len());
        words.clone().enumerate().for_each(|(column, word)| self.present.set(0, column, u64::MAX >> (64 - word.len())));
        let asked = (0..self.key_bytes).filter(|at| all.iter().any(|(_, rule)| byte(&rule.mask, *at) != 0));
        self.bytes = asked.map(|at| (at, bits_of_byte(&all, at))).collect();
    }

    fn matching(&self, key: &[u64]) -> Option<(Rank, u32)> {
        let mut rows = [0; VALUES];
        for (row, (at, _)) in rows.iter_mut().zip(&self.bytes) {
            *row = usize::from(byte(key, *at));
        }
        let rows = &rows[..self.bytes.len()];
        let mut best = self.in_recent(key);
        for column in 0..self.present.summary_per_row {
            let summaries = self.bytes.iter().zip(rows).map(|((_, bits), row)| bits.summary(*row, column));
            let mut words = common(self.present.summary(0, column), summaries);
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
        let bits = self.bytes.iter().zip(rows).map(|((_, bits), row)| bits.word(*row, word));
        let mut matches = common(self.present.word(0, word), bits);
        let mut best = None;
        while matches != 0 {
            let place = word * 64 + matches.trailing_zeros() as usize;
            matches &= matches - 1;
            best = best.max(Some(self.placed[place]));
        }
        best
    }

    fn in_recent(&self, key: &[u64]) -> Option<(Rank, u32)> {
        let rules = self.recent.iter().filter_map(|handle| self.rules.get(*handle).map(|rule| (rule, *handle)));
        let suits = |rule: &Rule| key.iter().zip(&rule.key).zip(&rule.mask).all(|((k, e), m)| k & m == e & m);
        rules.filter(|(rule, _)| suits(rule)).map(|(rule, handle)| (rule.rank, handle)).max()
    }

    /// A rule that is gone is no longer present.
    fn hide(&mut self, handle: u32) {
        self.recent.retain(|recent| *recent != handle);
        let Some(place) = self.places.get_mut(handle as usize).map(|place| std::mem::replace(place, NOWHERE)) else { return };
        if place != NOWHERE {
            let column = place as usize / 64;
            self.present.set(0, column, self.present.word(0, column) & !(1 << (place % 64)));
        }
    }
}

/// For each value of one byte of the key which rules it suits.
fn bits_of_byte(all: &[(u32, &Rule)], at: usize) -> Bits {
    let mut bits = Bits::new(VALUES, all.len().div_ceil(64));
    for (column, word) in all.chunks(64).enumerate() {
        let (mut suited, mut unasked) = ([0u64; VALUES], 0);
        for (i, (_, rule)) in word.iter().enumerate() {
            let (key, mask) = (byte(&rule.key, at), byte(&rule.mask, at));
            match mask {
                0 => unasked |= 1 << i,
                u8::MAX => suited[usize::from(key)] |= 1 << i,
                _ => (0..=u8::MAX).filter(|value| (value ^ key) & mask == 0).for_each(|value| suited[usize::from(value)] |= 1 << i),
            }
        }
        suited.iter().enumerate().for_each(|(value, word)| bits.set(value, column, word | unasked));
    }
    bits
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
        if self.recent.len() > RECENT + self.rules.len() / RECENT_OF {
            self.build();
        }
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
            Entered::New(handle) => self.recent.push(handle),
            Entered::Old => {}
            Entered::Full => return Err(Full),
        }
        Ok(())
    }

    fn remove(&mut self, key: &[u64], mask: &[u64], priority: u32, _now_ns: u64) -> bool {
        let Some(handle) = self.rules.remove(key, mask, priority) else { return false };
        self.hide(handle);
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
