//! Ternary rules of many masks: a bit per rule, the best first, and for each byte of the key and
//! each value that it can have the bits of the rules which that value suits. The rules that match
//! are what all bytes' bits have in common, and the first of these is the best.
//!
//! A cache line of each byte's bits is looked at after the other, without branches between bytes,
//! which nobody could foretell. Bytes that no rule asks for have no bits. A lookup's cost is
//! bounded by rules and bytes, whatever the masks are and however many.
//!
//! Invariant: a bit is set iff its rule does not ask for that byte or the value suits it. A rule
//! that goes only loses its place among those present.
//!
//! Source: Lakshman, Stiliadis, High-speed policy-based packet forwarding using bit-level parallel
//! processing, SIGCOMM 1998. Leaves out summaries of words (Baboescu, Varghese, SIGCOMM 2001):
//! rules of many masks have most words in common with each byte, so that lookups took three times
//! as long.

use super::rules::Rule;
use netil::wide;

/// Values of a byte.
const VALUES: usize = 256;
/// Words of a row that are looked at together: a cache line.
const LINE: usize = 8;
/// Bytes of keys that are usual.
const USUAL: usize = 16;
/// Bytes of the longest keys.
const MOST: usize = wide::MAX_WIDTH as usize / 8;
/// The place of a handle that has none.
const NOWHERE: u32 = u32::MAX;

/// The bits.
pub struct Bits {
    /// Handles by place, best first, and places by handle.
    handles: Vec<u32>,
    places: Vec<u32>,
    present: Vec<u64>,
    /// Bytes of the key that some rule asks for, the least significant is 0.
    asked: Vec<usize>,
    /// For each of these and each value a row of words.
    words: Vec<u64>,
    per_row: usize,
}

impl Bits {
    /// Of rules with the best first.
    pub fn new(ranked: &[(u32, &Rule)], key_bytes: usize) -> Self {
        let mut places = vec![NOWHERE; ranked.iter().map(|(handle, _)| *handle as usize + 1).max().unwrap_or(0)];
        (0..).zip(ranked).for_each(|(place, (handle, _))| places[*handle as usize] = place);
        let per_row = ranked.len().div_ceil(64).next_multiple_of(LINE);
        let mut present = vec![0; per_row];
        present.iter_mut().zip(ranked.chunks(64)).for_each(|(present, word)| *present = u64::MAX >> (64 - word.len()));
        let asked: Vec<usize> = (0..key_bytes).filter(|at| ranked.iter().any(|(_, rule)| byte(&rule.mask, *at) != 0)).collect();
        let mut words = vec![0; asked.len() * VALUES * per_row];
        for (n, at) in asked.iter().enumerate() {
            for (column, word) in ranked.chunks(64).enumerate() {
                suited(word, *at).into_iter().enumerate().for_each(|(value, word)| words[(n * VALUES + value) * per_row + column] = word);
            }
        }
        let handles = ranked.iter().map(|(handle, _)| *handle).collect();
        Self { handles, places, present, asked, words, per_row }
    }

    /// The handle of the best rule that suits a key.
    pub fn find(&self, key: &[u64]) -> Option<u32> {
        if self.asked.len() <= USUAL { self.find_in::<USUAL>(key) } else { self.find_in::<MOST>(key) }
    }

    fn find_in<const N: usize>(&self, key: &[u64]) -> Option<u32> {
        let mut rows = [&[][..]; N];
        for (n, (row, at)) in rows.iter_mut().zip(&self.asked).enumerate() {
            *row = &self.words[(n * VALUES + usize::from(byte(key, *at))) * self.per_row..][..self.per_row];
        }
        for (line, present) in self.present.chunks_exact(LINE).enumerate() {
            let all = common(present.try_into().unwrap_or_default(), &rows[..self.asked.len()], line);
            if any(&all) {
                let (word, bits) = all.iter().enumerate().find(|(_, bits)| **bits != 0)?;
                return self.handles.get((line * LINE + word) * 64 + bits.trailing_zeros() as usize).copied();
            }
        }
        None
    }

    /// Takes a rule's handle out.
    pub fn remove(&mut self, handle: u32) {
        let Some(place) = self.places.get_mut(handle as usize).map(|place| std::mem::replace(place, NOWHERE)) else { return };
        if place != NOWHERE {
            self.present[place as usize / 64] &= !(1 << (place % 64));
        }
    }
}

/// What a line has in common with rows.
fn common(mut all: [u64; LINE], rows: &[&[u64]], line: usize) -> [u64; LINE] {
    for row in rows {
        all.iter_mut().zip(&row[line * LINE..][..LINE]).for_each(|(all, word)| *all &= word);
    }
    all
}

fn any(line: &[u64; LINE]) -> bool {
    line.iter().fold(0, |any, word| any | word) != 0
}

/// For each value of one byte of the key which of up to 64 rules it suits.
fn suited(rules: &[(u32, &Rule)], at: usize) -> [u64; VALUES] {
    let (mut suited, mut unasked) = ([0u64; VALUES], 0);
    for (i, (_, rule)) in rules.iter().enumerate() {
        let (key, mask) = (byte(&rule.key, at), byte(&rule.mask, at));
        match mask {
            0 => unasked |= 1 << i,
            u8::MAX => suited[usize::from(key)] |= 1 << i,
            _ => (0..=u8::MAX).filter(|value| (value ^ key) & mask == 0).for_each(|value| suited[usize::from(value)] |= 1 << i),
        }
    }
    suited.map(|word| word | unasked)
}

/// A byte of a number, counted from the least significant.
fn byte(number: &[u64], at: usize) -> u8 {
    number.get(at / 8).map_or(0, |limb| (limb >> (at % 8 * 8)) as u8)
}
