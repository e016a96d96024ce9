//! Prefix tables of keys of more than 128 bits: a hash table for each length that there is, asked
//! from the longest on.
//!
//! There are few lengths as a rule, whatever a table's size. Left out: binary search over the
//! lengths, whose markers updates would have to mend; timeouts. Masks count by their ones, and key
//! bits outside them are not seen, as the verifier has it.

use super::Seeded;
use super::values::Values;
use netil::layout::Parts;
use netil::module::{Entry, Table as Declaration};
use netil::tables::{self, Full, Table};
use netil::wide;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Handles by prefix.
type Prefixes = HashMap<Box<[u64]>, u32, Seeded>;

/// The table.
pub struct Lengths {
    key_bits: u16,
    by_length: BTreeMap<Reverse<u16>, Prefixes>,
    values: Values,
    capacity: usize,
    count: usize,
    seed: Seeded,
}

impl Lengths {
    /// A table as declared, with the entries that it has from the start.
    pub fn new(declaration: &Declaration, seed: u64, shared: bool) -> Self {
        let mut capacity = declaration.capacity as usize;
        let values = loop {
            match Values::new(capacity, declaration.value_bytes as usize, shared, Seeded::new(seed)) {
                Some(values) => break values,
                None => capacity /= 2,
            }
        };
        let (by_length, seed) = (BTreeMap::new(), Seeded::new(seed));
        let mut table = Self { key_bits: declaration.key_bits, by_length, values, capacity, count: 0, seed };
        for entry in &declaration.entries {
            // The verifier has counted them.
            let _ = table.add(entry, 0);
        }
        table
    }

    /// Clears what is behind the first bits of a key.
    fn cut(&self, key: &mut [u64], length: u16) {
        let spare = usize::from(self.key_bits - length);
        key[..spare / 64].fill(0);
        if let Some(limb) = key.get_mut(spare / 64) {
            *limb &= u64::MAX << (spare % 64);
        }
    }

    fn prefix(&self, key: &[u64], mask: &[u64]) -> (Box<[u64]>, u16) {
        let length = mask.iter().map(|limb| limb.count_ones()).sum::<u32>().min(self.key_bits.into()) as u16;
        let mut key: Box<[u64]> = key.into();
        self.cut(&mut key, length);
        (key, length)
    }

    fn look_up(&self, key: &[u64]) -> u32 {
        let mut cut = [0; wide::MAX_WIDTH as usize / 64];
        let cut = &mut cut[..key.len()];
        cut.copy_from_slice(key);
        for (Reverse(length), prefixes) in &self.by_length {
            self.cut(cut, *length);
            if let Some(handle) = prefixes.get(&*cut) {
                return *handle;
            }
        }
        0
    }

    fn mask(&self, length: u16) -> Box<[u64]> {
        let mut mask = vec![u64::MAX; wide::limbs(self.key_bits)];
        wide::normalise(self.key_bits, &mut mask);
        self.cut(&mut mask, length);
        mask.into()
    }
}

impl Table for Lengths {
    fn lookup(&self, key: &[u64], _now_ns: u64) -> Option<Cow<'_, [u8]>> {
        self.value(self.look_up(key)).map(Cow::Borrowed)
    }

    fn find(&mut self, key: &[u64], _now_ns: u64, _refresh: bool) -> u32 {
        self.look_up(key)
    }

    fn value(&self, entry: u32) -> Option<&[u8]> {
        self.values.get(entry)
    }

    fn value_mut(&mut self, entry: u32) -> Option<&mut [u8]> {
        self.values.get_mut(entry)
    }

    fn add(&mut self, entry: &Entry, _now_ns: u64) -> Result<(), Full> {
        let (prefix, length) = self.prefix(&entry.key, &entry.mask);
        if let Some(handle) = self.by_length.get_mut(&Reverse(length)).and_then(|prefixes| prefixes.get_mut(&prefix)) {
            *handle = self.values.replace(*handle, &entry.value);
            return Ok(());
        }
        if self.count >= self.capacity {
            return Err(Full);
        }
        self.count += 1;
        let handle = self.values.enter(&entry.value);
        self.by_length.entry(Reverse(length)).or_insert_with(|| HashMap::with_hasher(self.seed)).insert(prefix, handle);
        Ok(())
    }

    fn remove(&mut self, key: &[u64], mask: &[u64], _priority: u32, _now_ns: u64) -> bool {
        let (prefix, length) = self.prefix(key, mask);
        let Some(prefixes) = self.by_length.get_mut(&Reverse(length)) else { return false };
        let Some(handle) = prefixes.remove(&prefix) else { return false };
        if prefixes.is_empty() {
            self.by_length.remove(&Reverse(length));
        }
        self.values.leave(handle);
        self.count -= 1;
        true
    }

    fn known(&mut self, key: &[u64], mask: &[u64], _priority: u32, _now_ns: u64) -> u32 {
        let (prefix, length) = self.prefix(key, mask);
        self.by_length.get(&Reverse(length)).and_then(|prefixes| prefixes.get(&prefix)).copied().unwrap_or(0)
    }

    fn entries(&self, _now_ns: u64) -> Vec<Entry> {
        let mut all = Vec::new();
        for (Reverse(length), prefixes) in &self.by_length {
            let value = |handle| self.values.get(handle).unwrap_or_default().into();
            for (key, handle) in prefixes {
                all.push(Entry { key: key.clone(), mask: self.mask(*length), priority: 0, value: value(*handle) });
            }
        }
        all.sort_by(tables::order);
        all
    }

    fn len(&self, _now_ns: u64) -> u64 {
        self.count as u64
    }

    fn parts(&mut self) -> Option<Parts<'_>> {
        Some(Parts { head: &mut [], slots: self.values.area(), index: &mut [], groups: &mut [] })
    }
}
