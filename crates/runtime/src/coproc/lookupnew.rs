//! `lookupnew`: exact match, two words by a key of five words, all in registers
//! ([`netil::copro::LOOKUPNEW`]).

use super::{MAX_ENTRIES, digest};
use netil::copro::{CoproError, Coprocessor, Registers, Views};
use std::collections::HashMap;

type Key = [u32; 5];
type Value = [u32; 2];

/// The unit.
#[derive(Default)]
pub struct LookupNew {
    table: HashMap<Key, Value>,
}

impl Coprocessor for LookupNew {
    fn init(&mut self, _data: &[u8]) -> u32 {
        self.table.clear();
        0
    }

    fn invoke(&mut self, operation: u32, registers: &mut Registers, _: Views<'_>) -> Result<(), CoproError> {
        let [k0, k1, k2, k3, k4, v0, v1, ..] = *registers;
        let key = [k0, k1, k2, k3, k4];
        match operation {
            0 => self.table.clear(),
            1 => self.insert(key, [v0, v1])?,
            _ => {
                let found = self.table.get(&key);
                let [v0, v1] = found.copied().unwrap_or_default();
                registers[5..8].copy_from_slice(&[v0, v1, found.is_some().into()]);
            }
        }
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        let entry = |(key, value): (&Key, &Value)| digest(key.iter().chain(value).copied());
        self.table.iter().map(entry).fold(0, u64::wrapping_add)
    }
}

impl LookupNew {
    fn insert(&mut self, key: Key, value: Value) -> Result<(), CoproError> {
        if self.table.len() == MAX_ENTRIES && !self.table.contains_key(&key) {
            return Err(CoproError::Full);
        }
        self.table.insert(key, value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::synth::Random;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_map() {
        let (mut unit, mut model, mut random) = (LookupNew::default(), BTreeMap::new(), Random(4));
        for _ in 0..20_000 {
            let mut registers = [0; 32];
            registers[..7].fill_with(|| random.within(0, 3) as u32);
            let (key, value) = (registers[..5].to_vec(), registers[5..7].to_vec());
            let operation = 1 + random.within(0, 2) as u32;
            unit.invoke(operation, &mut registers, Views::NONE).unwrap();
            match operation {
                1 => drop(model.insert(key, value)),
                _ => assert_eq!(registers[5..8], model.get(&key).map_or([0, 0, 0], |v| [v[0], v[1], 1])),
            }
        }
        let before = unit.fingerprint();
        assert_eq!(unit.init(&[]), 0);
        assert_ne!(unit.fingerprint(), before);
    }

    #[test]
    fn a_full_table_refuses_new_keys_only() {
        let mut unit = LookupNew::default();
        for i in 0..MAX_ENTRIES as u32 {
            unit.insert([i, 0, 0, 0, 0], [0, 0]).unwrap();
        }
        assert_eq!(unit.insert([0, 1, 0, 0, 0], [0, 0]), Err(CoproError::Full));
        assert_eq!(unit.insert([1, 0, 0, 0, 0], [5, 0]), Ok(()));
    }
}
