//! `lookup_ex`: several exact tables, keys of bytes and values of words
//! ([`netil::copro::LOOKUP_EX`]).
//!
//! As in the original, a table's key and value are built piece by piece until `reset`; the entry
//! that was entered or found last is the selected one, which `get_value`, `upd_value` and `delete`
//! are about. Where the original's source differs from what it says of its registers, this is what
//! it says: values are read from the selected entry (the original reads what was entered last into
//! the table, whichever entry is selected), and a key is found by all of its bytes.
//!
//! Source: NetBee's description of the coprocessor's registers. Left out: the number of entries
//! sizes the original's hash table and limits nothing; here it is the most entries that a table
//! takes.

use super::{MAX_ENTRIES, digest};
use netil::copro::{CoproError, Coprocessor, Registers, Views};
use std::collections::HashMap;

/// The most tables.
pub const MAX_TABLES: usize = 64;
/// The most bytes of a key.
pub const MAX_KEY: u32 = 64;
/// The most words of a value.
pub const MAX_VALUE: u32 = 32;

#[derive(Clone, Default)]
struct Table {
    entries: HashMap<Box<[u8]>, Box<[u32]>>,
    /// The most entries, bytes of a key and words of a value; none before `init_table`.
    limits: Option<(usize, usize, usize)>,
    /// The key under construction.
    key: Vec<u8>,
    /// Words of the value that were entered under it.
    words: usize,
    /// The selected entry.
    selected: Option<Box<[u8]>>,
}

/// The unit.
#[derive(Default)]
pub struct LookupEx {
    tables: Vec<Table>,
}

impl Coprocessor for LookupEx {
    fn init(&mut self, _data: &[u8]) -> u32 {
        self.tables.clear();
        0
    }

    fn invoke(&mut self, operation: u32, registers: &mut Registers, _: Views<'_>) -> Result<(), CoproError> {
        if operation == 0 {
            return self.make(registers[0]);
        }
        if self.tables.is_empty() {
            return Err(CoproError::NotInitialised);
        }
        let room = self.room();
        let table = self.tables.get_mut(registers[0] as usize).ok_or(CoproError::BadRegister)?;
        match operation {
            1 => table.declare([registers[1], registers[2], registers[3]]),
            2 => table.add_key(registers[1], registers[5]),
            3 => table.add_value(registers[1], room),
            4 => table.select().map(|found| registers[7] = found.into()),
            5 => table.value(registers[1]).map(|word| registers[6] = *word),
            6 => table.value(registers[1]).map(|word| *word = registers[6]),
            7 => table.delete(),
            _ => table.declared().map(|_| table.reset()),
        }
    }

    fn fingerprint(&self) -> u64 {
        self.tables.iter().enumerate().fold(self.tables.len() as u64, |sum, (n, table)| sum ^ table.fingerprint(n as u32))
    }
}

impl LookupEx {
    fn make(&mut self, tables: u32) -> Result<(), CoproError> {
        if tables as usize > MAX_TABLES {
            return Err(CoproError::BadRegister);
        }
        self.tables = vec![Table::default(); tables as usize];
        Ok(())
    }

    /// Entries that all tables together may still take.
    fn room(&self) -> usize {
        MAX_ENTRIES.saturating_sub(self.tables.iter().map(|table| table.entries.len()).sum())
    }
}

impl Table {
    fn declare(&mut self, [entries, key, value]: [u32; 3]) -> Result<(), CoproError> {
        let fits = entries > 0 && (1..=MAX_KEY).contains(&key) && (1..=MAX_VALUE).contains(&value);
        if !fits {
            return Err(CoproError::BadRegister);
        }
        *self = Self { limits: Some((entries as usize, key as usize, value as usize)), ..Self::default() };
        Ok(())
    }

    fn declared(&self) -> Result<(usize, usize, usize), CoproError> {
        self.limits.ok_or(CoproError::NotInitialised)
    }

    /// Two or four bytes more, least significant first; other sizes add nothing.
    fn add_key(&mut self, word: u32, bytes: u32) -> Result<(), CoproError> {
        let (_, most, _) = self.declared()?;
        let bytes = if bytes == 2 || bytes == 4 { bytes as usize } else { 0 };
        if self.key.len() + bytes > most {
            return Err(CoproError::BadRegister);
        }
        self.key.extend_from_slice(&word.to_le_bytes()[..bytes]);
        Ok(())
    }

    /// The next word of the value; the first one enters and selects the key. Words beyond the
    /// value's size are left out.
    fn add_value(&mut self, word: u32, room: usize) -> Result<(), CoproError> {
        let (most, _, size) = self.declared()?;
        if self.words == 0 {
            let is_new = !self.entries.contains_key(self.key.as_slice());
            if is_new && (self.entries.len() >= most || room == 0) {
                return Err(CoproError::Full);
            }
            self.entries.insert(self.key.as_slice().into(), vec![0; size].into());
            self.selected = Some(self.key.as_slice().into());
        }
        if self.words < size {
            if let Some(value) = self.entries.get_mut(self.key.as_slice()) {
                value[self.words] = word;
            }
            self.words += 1;
        }
        Ok(())
    }

    /// Selects the key's entry; if there is none, the selected one stays.
    fn select(&mut self) -> Result<bool, CoproError> {
        self.declared()?;
        let found = self.entries.contains_key(self.key.as_slice());
        if found {
            self.selected = Some(self.key.as_slice().into());
        }
        Ok(found)
    }

    /// A word of the selected entry's value.
    fn value(&mut self, at: u32) -> Result<&mut u32, CoproError> {
        let selected = self.selected.as_ref().ok_or(CoproError::NotInitialised)?;
        let value = self.entries.get_mut(selected).ok_or(CoproError::NotInitialised)?;
        value.get_mut(at as usize).ok_or(CoproError::BadRegister)
    }

    fn delete(&mut self) -> Result<(), CoproError> {
        let selected = self.selected.take().ok_or(CoproError::NotInitialised)?;
        self.entries.remove(&selected).map(drop).ok_or(CoproError::NotInitialised)
    }

    /// Another key begins; nothing is selected.
    fn reset(&mut self) {
        self.key.clear();
        (self.words, self.selected) = (0, None);
    }

    fn fingerprint(&self, number: u32) -> u64 {
        let bytes = |key: &[u8]| key.iter().map(|byte| u32::from(*byte)).chain([u32::MAX]).collect::<Vec<_>>();
        let entry = |key: &[u8], value: &[u32]| digest(bytes(key).into_iter().chain(value.iter().copied()).chain([number]));
        let (most, key, size) = self.limits.unwrap_or_default();
        let selected = self.selected.as_deref().map_or_else(Vec::new, bytes);
        let under_way =
            [most as u32, key as u32, size as u32, self.words as u32, number].into_iter().chain(bytes(&self.key)).chain(selected);
        self.entries.iter().map(|(key, value)| entry(key, value)).fold(digest(under_way), u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The registers behind an operation with those in front.
    fn run(unit: &mut LookupEx, operation: u32, first: &[u32]) -> Result<Registers, CoproError> {
        let mut registers = [0; 32];
        registers[..first.len()].copy_from_slice(first);
        unit.invoke(operation, &mut registers, Views::NONE)?;
        Ok(registers)
    }

    /// Two tables: keys of six bytes with two words, keys of four with one.
    fn unit() -> LookupEx {
        let mut unit = LookupEx::default();
        run(&mut unit, 0, &[2]).unwrap();
        run(&mut unit, 1, &[0, 10, 6, 2]).unwrap();
        run(&mut unit, 1, &[1, 1, 4, 1]).unwrap();
        unit
    }

    fn key(unit: &mut LookupEx, number: u16) {
        run(unit, 8, &[0]).unwrap();
        run(unit, 2, &[0, 0xaabb_ccdd, 0, 0, 0, 4]).unwrap();
        run(unit, 2, &[0, number.into(), 0, 0, 0, 2]).unwrap();
    }

    #[test]
    fn values_of_several_words_are_entered_found_changed_and_deleted() {
        let mut unit = unit();
        for number in [7, 9] {
            key(&mut unit, number);
            assert_eq!(run(&mut unit, 4, &[0]).unwrap()[7], 0);
            // The third word is one too many.
            for word in [number.into(), 100, 5] {
                run(&mut unit, 3, &[0, word]).unwrap();
            }
        }
        key(&mut unit, 7);
        assert_eq!(run(&mut unit, 5, &[0, 0]), Err(CoproError::NotInitialised), "nothing is selected");
        assert_eq!(run(&mut unit, 4, &[0]).unwrap()[7], 1);
        assert_eq!([0, 1].map(|at| run(&mut unit, 5, &[0, at]).unwrap()[6]), [7, 100], "not what was entered last");
        run(&mut unit, 6, &[0, 1, 0, 0, 0, 0, 42]).unwrap();
        assert_eq!(run(&mut unit, 5, &[0, 1]).unwrap()[6], 42);
        assert_eq!(run(&mut unit, 5, &[0, 2]), Err(CoproError::BadRegister));
        run(&mut unit, 7, &[0]).unwrap();
        assert_eq!(run(&mut unit, 7, &[0]), Err(CoproError::NotInitialised));
        assert_eq!(run(&mut unit, 4, &[0]).unwrap()[7], 0);
        key(&mut unit, 9);
        assert_eq!(run(&mut unit, 4, &[0]).unwrap()[7], 1);
    }

    #[test]
    fn tables_are_apart_and_have_their_limits() {
        let mut unit = unit();
        assert_eq!(run(&mut unit, 4, &[2]), Err(CoproError::BadRegister));
        run(&mut unit, 2, &[1, 1, 0, 0, 0, 4]).unwrap();
        assert_eq!(run(&mut unit, 2, &[1, 1, 0, 0, 0, 2]), Err(CoproError::BadRegister), "a key of four bytes");
        run(&mut unit, 2, &[1, 1, 0, 0, 0, 3]).unwrap();
        run(&mut unit, 3, &[1, 8]).unwrap();
        run(&mut unit, 8, &[1]).unwrap();
        run(&mut unit, 2, &[1, 2, 0, 0, 0, 4]).unwrap();
        assert_eq!(run(&mut unit, 3, &[1, 8]), Err(CoproError::Full), "one entry");
        assert_eq!(run(&mut unit, 0, &[65]), Err(CoproError::BadRegister));
        assert_eq!(run(&mut unit, 1, &[0, 1, 65, 1]), Err(CoproError::BadRegister));
        assert_eq!(run(&mut LookupEx::default(), 4, &[0]), Err(CoproError::NotInitialised));
        run(&mut unit, 0, &[1]).unwrap();
        assert_eq!(run(&mut unit, 8, &[0]), Err(CoproError::NotInitialised));
    }

    #[test]
    fn equal_contents_have_equal_fingerprints() {
        let (mut one, mut other) = (unit(), unit());
        for (unit, numbers) in [(&mut one, [7, 9]), (&mut other, [9, 7])] {
            for number in numbers {
                key(unit, number);
                run(unit, 3, &[0, number.into()]).unwrap();
            }
            key(unit, 1);
        }
        assert_eq!(one.fingerprint(), other.fingerprint());
        key(&mut other, 2);
        assert_ne!(one.fingerprint(), other.fingerprint());
    }
}
