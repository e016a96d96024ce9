//! `associative`: the longest entered key that begins the given one
//! ([`netil::copro::ASSOCIATIVE`]), as a TCAM with its memory does.
//!
//! One hash table for all keys; a look-up tries the lengths that occur in its table, longest first.
//! A filter of bits per table says which those are. The register map follows the original's test
//! programs; its implementation was not published.

use super::{MAX_ENTRIES, digest};
use netil::copro::{CoproError, Coprocessor, Registers, Views};
use std::collections::HashMap;

/// Number of tables.
pub const TABLES: usize = 16;
/// The most bytes of a key, and of a value.
pub const MAX_BYTES: usize = 32;
const WORDS: usize = MAX_BYTES / 4;
const KEY: usize = 3;
const VALUE: usize = 11;

/// Table, length in bytes, words; bits past the length are 0.
type Key = (u32, u32, [u32; WORDS]);
type Value = (u32, [u32; WORDS]);

/// The unit.
#[derive(Default)]
pub struct Associative {
    entries: HashMap<Key, Value>,
    /// Bit n of word t: table t has keys of n bytes.
    lengths: [u64; TABLES],
}

impl Coprocessor for Associative {
    fn init(&mut self, _data: &[u8]) -> u32 {
        *self = Self::default();
        0
    }

    fn invoke(&mut self, operation: u32, registers: &mut Registers, _: Views<'_>) -> Result<(), CoproError> {
        match operation {
            0 => *self = Self::default(),
            1 => self.insert(registers)?,
            _ => self.lookup(registers)?,
        }
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        let entry = |(k, v): (&Key, &Value)| digest([k.0, k.1].into_iter().chain(k.2).chain([v.0]).chain(v.1));
        self.entries.iter().map(entry).fold(0, u64::wrapping_add)
    }
}

impl Associative {
    fn insert(&mut self, registers: &Registers) -> Result<(), CoproError> {
        let (table, length) = place(registers)?;
        let value_length = bytes(registers[2])?;
        let key = (table, length, prefix(words(registers, KEY), length));
        if self.entries.len() == MAX_ENTRIES && !self.entries.contains_key(&key) {
            return Err(CoproError::Full);
        }
        self.entries.insert(key, (value_length, prefix(words(registers, VALUE), value_length)));
        self.lengths[table as usize] |= 1 << length;
        Ok(())
    }

    fn lookup(&self, registers: &mut Registers) -> Result<(), CoproError> {
        let (table, length) = place(registers)?;
        let key = words(registers, KEY);
        let (value_length, value) = self.longest(table, length, key).unwrap_or_default();
        let taken = value_length.div_ceil(4) as usize;
        registers[2] = value_length;
        registers[VALUE..VALUE + taken].copy_from_slice(&value[..taken]);
        Ok(())
    }

    fn longest(&self, table: u32, length: u32, key: [u32; WORDS]) -> Option<Value> {
        let lengths = self.lengths[table as usize];
        let candidates = (0..=length).rev().filter(|n| lengths >> n & 1 == 1);
        candidates.map(|n| (table, n, prefix(key, n))).find_map(|k| self.entries.get(&k)).copied()
    }
}

fn place(registers: &Registers) -> Result<(u32, u32), CoproError> {
    if registers[0] as usize >= TABLES {
        return Err(CoproError::BadRegister);
    }
    Ok((registers[0], bytes(registers[1])?))
}

fn bytes(length: u32) -> Result<u32, CoproError> {
    if length as usize > MAX_BYTES { Err(CoproError::BadRegister) } else { Ok(length) }
}

fn words(registers: &Registers, from: usize) -> [u32; WORDS] {
    std::array::from_fn(|i| registers[from + i])
}

/// The first `length` bytes, the rest 0.
fn prefix(words: [u32; WORDS], length: u32) -> [u32; WORDS] {
    std::array::from_fn(|i| match length.saturating_sub(4 * i as u32) {
        0 => 0,
        n @ 1..4 => words[i] & !(u32::MAX >> (8 * n)),
        _ => words[i],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::synth::Random;

    fn registers(table: u32, key_length: u32, key: u32, value_length: u32, value: u32) -> Registers {
        let mut r = [0; 32];
        (r[0], r[1], r[2], r[3], r[11]) = (table, key_length, value_length, key, value);
        r
    }

    fn insert(unit: &mut Associative, table: u32, key_length: u32, key: u32, value: u32) -> Result<(), CoproError> {
        unit.invoke(1, &mut registers(table, key_length, key, 4, value), Views::NONE)
    }

    fn lookup(unit: &mut Associative, table: u32, key: u32) -> Option<u32> {
        let mut r = registers(table, 4, key, 9, 0xdead);
        unit.invoke(2, &mut r, Views::NONE).unwrap();
        (r[2] > 0).then_some(r[11])
    }

    #[test]
    fn the_longest_prefix_of_the_right_table_wins() {
        let mut unit = Associative::default();
        insert(&mut unit, 0, 3, 0xc0a8_01ff, 1).unwrap();
        insert(&mut unit, 0, 4, 0xc0a8_0102, 2).unwrap();
        assert_eq!(lookup(&mut unit, 0, 0xc0a8_0103), Some(1));
        assert_eq!(lookup(&mut unit, 0, 0xc0a8_0102), Some(2));
        assert_eq!(lookup(&mut unit, 0, 0x0a00_0001), None);
        insert(&mut unit, 0, 0, 77, 3).unwrap();
        assert_eq!(lookup(&mut unit, 0, 0x0a00_0001), Some(3));
        assert_eq!(lookup(&mut unit, 1, 0xc0a8_0102), None);
    }

    #[test]
    fn lengths_and_tables_out_of_range_are_refused() {
        let mut unit = Associative::default();
        assert_eq!(insert(&mut unit, 16, 4, 0, 0), Err(CoproError::BadRegister));
        assert_eq!(insert(&mut unit, 0, 33, 0, 0), Err(CoproError::BadRegister));
        assert_eq!(unit.invoke(1, &mut registers(0, 4, 0, 33, 0), Views::NONE), Err(CoproError::BadRegister));
        let mut whole = [u32::MAX; 32];
        (whole[0], whole[1], whole[2]) = (15, 32, 32);
        assert_eq!(unit.invoke(1, &mut whole, Views::NONE), Ok(()));
        let mut found = whole;
        found[11..19].fill(0);
        assert_eq!(unit.invoke(2, &mut found, Views::NONE), Ok(()));
        assert_eq!(found, whole);
    }

    #[test]
    fn a_value_takes_as_many_words_as_it_needs() {
        let mut unit = Associative::default();
        unit.invoke(1, &mut registers(0, 4, 1, 1, 0xaabb_ccdd), Views::NONE).unwrap();
        let mut r = registers(0, 4, 1, 0, 0);
        r[12] = 5;
        unit.invoke(2, &mut r, Views::NONE).unwrap();
        assert_eq!((r[2], r[11], r[12]), (1, 0xaa00_0000, 5));
    }

    #[test]
    fn agrees_with_a_list() {
        let (mut unit, mut model, mut random) = (Associative::default(), Vec::<(u32, u32, u32)>::new(), Random(5));
        let mut key = || [0, 1, 2, 255].map(|i| (i * random.within(0, 4)) as u8);
        for round in 0..4_000 {
            let (k, length) = (u32::from_be_bytes(key()), u32::from(key()[1] % 5));
            if round % 3 == 0 {
                insert(&mut unit, 2, length, k, round).unwrap();
                model.retain(|(l, m, _)| (*l, *m) != (length, prefix_of(k, length)));
                model.push((length, prefix_of(k, length), round));
            }
            let expected = model.iter().filter(|(l, p, _)| prefix_of(k, *l) == *p).max_by_key(|(l, ..)| *l);
            assert_eq!(lookup(&mut unit, 2, k), expected.map(|(.., v)| *v));
        }
    }

    fn prefix_of(key: u32, length: u32) -> u32 {
        (u64::from(key) >> (32 - 8 * length) << (32 - 8 * length)) as u32
    }
}
