//! `lookup`: exact match, one word by a key that the program builds word by word
//! ([`netil::copro::LOOKUP`]).
//!
//! As in the original, the key stays until `reset_key` or `init`: a program may look a key up and
//! enter it when it was not found.

use super::{MAX_ENTRIES, digest};
use netil::copro::{CoproError, Coprocessor, Registers, Views};
use std::collections::HashMap;

/// The most words of a key.
pub const MAX_KEY_WORDS: usize = 16;

/// The unit.
#[derive(Default)]
pub struct Lookup {
    table: HashMap<Box<[u32]>, u32>,
    key: Vec<u32>,
}

impl Coprocessor for Lookup {
    fn init(&mut self, _data: &[u8]) -> u32 {
        *self = Self::default();
        0
    }

    fn invoke(&mut self, operation: u32, registers: &mut Registers, _: Views<'_>) -> Result<(), CoproError> {
        match operation {
            0 => *self = Self::default(),
            1 => self.add_key(registers[0])?,
            2 => self.add_value(registers[0])?,
            3 => self.read_value(registers),
            _ => self.key.clear(),
        }
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        let entries = self.table.iter().map(|(key, value)| digest(key.iter().chain([value]).copied()));
        entries.fold(digest(self.key.iter().copied()), u64::wrapping_add)
    }
}

impl Lookup {
    fn add_key(&mut self, word: u32) -> Result<(), CoproError> {
        if self.key.len() == MAX_KEY_WORDS {
            return Err(CoproError::Full);
        }
        self.key.push(word);
        Ok(())
    }

    fn add_value(&mut self, value: u32) -> Result<(), CoproError> {
        if let Some(old) = self.table.get_mut(self.key.as_slice()) {
            *old = value;
            return Ok(());
        }
        if self.table.len() == MAX_ENTRIES {
            return Err(CoproError::Full);
        }
        self.table.insert(self.key.as_slice().into(), value);
        Ok(())
    }

    fn read_value(&self, registers: &mut Registers) {
        let found = self.table.get(self.key.as_slice());
        registers[1] = found.is_some().into();
        registers[0] = found.copied().unwrap_or(registers[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::synth::Random;
    use std::collections::BTreeMap;

    fn run(unit: &mut Lookup, operation: u32, r0: u32) -> Result<[u32; 2], CoproError> {
        let mut registers = [0; 32];
        registers[0] = r0;
        unit.invoke(operation, &mut registers, Views::NONE)?;
        Ok([registers[0], registers[1]])
    }

    #[test]
    fn a_key_that_was_missed_can_be_entered_at_once() {
        let mut unit = Lookup::default();
        run(&mut unit, 1, 5).unwrap();
        assert_eq!(run(&mut unit, 3, 9), Ok([9, 0]));
        run(&mut unit, 2, 77).unwrap();
        assert_eq!(run(&mut unit, 3, 0), Ok([77, 1]));
        run(&mut unit, 0, 0).unwrap();
        run(&mut unit, 1, 5).unwrap();
        assert_eq!(run(&mut unit, 3, 0), Ok([0, 0]));
    }

    #[test]
    fn a_key_is_not_its_own_prefix_and_has_an_end() {
        let mut unit = Lookup::default();
        (0..16).for_each(|_| assert!(run(&mut unit, 1, 0).is_ok()));
        assert_eq!(run(&mut unit, 1, 0), Err(CoproError::Full));
        run(&mut unit, 2, 1).unwrap();
        run(&mut unit, 4, 0).unwrap();
        run(&mut unit, 1, 0).unwrap();
        assert_eq!(run(&mut unit, 3, 0), Ok([0, 0]));
    }

    #[test]
    fn agrees_with_a_map_and_equal_contents_have_equal_fingerprints() {
        let (mut unit, mut model, mut random) = (Lookup::default(), BTreeMap::new(), Random(3));
        for _ in 0..20_000 {
            run(&mut unit, 4, 0).unwrap();
            let key: Vec<u32> = (0..random.within(0, 4)).map(|_| random.within(0, 7) as u32).collect();
            key.iter().for_each(|w| assert!(run(&mut unit, 1, *w).is_ok()));
            if random.within(0, 3) == 0 {
                let value = random.next() as u32;
                run(&mut unit, 2, value).unwrap();
                model.insert(key, value);
            } else {
                let expected = model.get(&key).map_or([123, 0], |v| [*v, 1]);
                assert_eq!(run(&mut unit, 3, 123), Ok(expected));
            }
        }
        let mut other = Lookup::default();
        for (key, value) in model.iter().rev() {
            run(&mut other, 4, 0).unwrap();
            key.iter().for_each(|w| assert!(run(&mut other, 1, *w).is_ok()));
            run(&mut other, 2, *value).unwrap();
        }
        run(&mut unit, 4, 0).unwrap();
        run(&mut other, 4, 0).unwrap();
        assert_eq!(unit.fingerprint(), other.fingerprint());
        run(&mut other, 1, 99).unwrap();
        assert_ne!(unit.fingerprint(), other.fingerprint());
        run(&mut other, 2, 1).unwrap();
        run(&mut other, 4, 0).unwrap();
        assert_ne!(unit.fingerprint(), other.fingerprint());
    }

    #[test]
    fn a_full_table_refuses_new_keys_only() {
        let mut unit = Lookup::default();
        for i in 0..MAX_ENTRIES as u32 {
            unit.table.insert([i].into(), 0);
        }
        run(&mut unit, 1, u32::MAX).unwrap();
        assert_eq!(run(&mut unit, 2, 1), Err(CoproError::Full));
        run(&mut unit, 4, 0).unwrap();
        run(&mut unit, 1, 7).unwrap();
        assert!(run(&mut unit, 2, 1).is_ok());
    }
}
