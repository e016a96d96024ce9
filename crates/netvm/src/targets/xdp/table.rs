//! A table whose entries are in a map of the kernel, where a program changes them meanwhile.
//!
//! Each operation is a call of the system, which is dear; the process uses such tables for packets
//! that the kernel does not finish. A handle is a copy of the entry's value: what is written to it
//! goes to the map with the next operation, or with [`Table::tidy`]. Two who change one value at
//! the same time do so without a lock, as processors do. What has timed out is taken out when there
//! is no room, and now and then by [`Table::tidy`].
//!
//! Source: the kernel's Documentation/bpf/map_hash.rst, map_lpm_trie.rst. Leaves out: ternary and
//! range tables, which have no map; new values for entries of prefix tables but from outside.

use compiler::backends::ebpf;
use netil::layout::LATEST;
use netil::module::{Entry, Table as Declaration, TableKind};
use netil::tables::{self, FOR_EVER, Full, Table};
use netil::wide;
use runtime::io::bpf::{Enter, Entries};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the time of last use before a value.
const USED: usize = 8;
/// How often what has timed out is taken out.
const SWEEP_NS: u64 = 5_000_000_000;

/// The table.
pub(super) struct MapTable {
    map: Entries,
    declaration: Declaration,
    timeout_ns: u64,
    clock_ns: u64,
    /// The present, of whoever runs the process.
    present_ns: Arc<AtomicU64>,
    /// When what had timed out was taken out last.
    swept_ns: u64,
    /// What handles name, from 1 on.
    held: Vec<Held>,
}

/// An entry.
struct Held {
    key: Vec<u8>,
    /// As it is in the map, with its time of last use.
    value: Vec<u8>,
    /// As it was read.
    read: Vec<u8>,
}

impl MapTable {
    /// The table of that declaration, whose entries are there.
    pub fn new(map: Entries, declaration: &Declaration, present_ns: Arc<AtomicU64>) -> Self {
        let declaration = Declaration { entries: Vec::new(), ..declaration.clone() };
        let timeout_ns = declaration.timeout_ns;
        Self { map, timeout_ns, declaration, clock_ns: 0, present_ns, swept_ns: 0, held: Vec::new() }
    }

    fn tick(&mut self, now_ns: u64) -> u64 {
        self.clock_ns = self.clock_ns.max(now_ns.min(LATEST));
        self.clock_ns
    }

    fn times(&self) -> bool {
        self.declaration.timeout_ns > 0
    }

    fn used(&self, value: &[u8]) -> u64 {
        let used = value.first_chunk().filter(|_| self.times());
        used.map_or(FOR_EVER, |used| u64::from_le_bytes(*used))
    }

    fn is_live(&self, value: &[u8], now_ns: u64) -> bool {
        tables::is_live(self.timeout_ns, self.used(value), now_ns)
    }

    fn use_at(&self, value: &mut [u8], now_ns: u64) {
        let used = self.used(value).max(now_ns);
        if let Some(place) = value.first_chunk_mut().filter(|_| self.times()) {
            *place = used.to_le_bytes();
        }
    }

    /// A value as the map has it.
    fn made(&self, bytes: &[u8], used_ns: u64) -> Vec<u8> {
        let used = if self.times() { used_ns.to_le_bytes().to_vec() } else { Vec::new() };
        let mut value = [&used[..], bytes].concat();
        let size = (self.declaration.value_bytes.max(1) as usize + used.len()).next_multiple_of(8);
        value.resize(size, 0);
        value
    }

    /// The key of the map, of an entry or, with all bits, of a lookup.
    fn key(&self, key: &[u64], mask: Option<&[u64]>) -> Vec<u8> {
        let all = || match self.declaration.kind {
            TableKind::Prefix => ones(self.declaration.key_bits, self.declaration.key_bits.into()),
            _ => Box::default(),
        };
        let mask = mask.map_or_else(all, |mask| mask.into());
        ebpf::key_of(&self.declaration, &Entry { key: key.into(), mask, priority: 0, value: Box::default() })
    }

    /// Writes what was written to handles.
    fn flush(&mut self) {
        for held in &mut self.held {
            if held.value != held.read {
                // One that is gone meanwhile is gone.
                let _ = self.map.put(&held.key, &held.value, Enter::Known);
                held.read.clone_from(&held.value);
            }
        }
    }

    fn forget(&mut self) {
        self.flush();
        self.held.clear();
    }

    fn hold(&mut self, key: Vec<u8>, value: Vec<u8>, read: Vec<u8>) -> u32 {
        let held = Held { key, value, read };
        let at = self.held.iter().position(|known| known.key == held.key).unwrap_or(self.held.len());
        match self.held.get_mut(at) {
            Some(known) => *known = held,
            None => self.held.push(held),
        }
        at as u32 + 1
    }

    /// Takes out what has timed out.
    fn sweep(&mut self) {
        let now_ns = self.clock_ns;
        self.swept_ns = now_ns;
        for (key, value) in self.map.all().unwrap_or_default() {
            if !self.is_live(&value, now_ns) {
                let _ = self.map.delete(&key);
            }
        }
    }

    /// Enters a value, once what has timed out is gone if there is no room otherwise.
    fn enter(&mut self, key: &[u8], value: &[u8], enter: Enter) -> bool {
        let put = |table: &Self| table.map.put(key, value, enter).unwrap_or(false);
        put(self)
            || self.times() && {
                self.sweep();
                put(self)
            }
    }

    /// An entry as programs know it.
    fn entry(&self, (key, value): (Vec<u8>, Vec<u8>)) -> Entry {
        let bits = self.declaration.key_bits;
        let (key, mask) = match (self.declaration.kind, key.split_first_chunk()) {
            (TableKind::Prefix, Some((length, key))) => (wide::from_be_bytes(key), ones(bits, u32::from_le_bytes(*length))),
            _ => (wide::from_le_bytes(&key), Box::default()),
        };
        let (_, bytes) = self.place(1).unwrap_or_default();
        Entry { key: key.into(), mask, priority: 0, value: value.get(bytes).unwrap_or_default().into() }
    }

    fn place(&self, entry: u32) -> Option<(usize, std::ops::Range<usize>)> {
        let from = if self.times() { USED } else { 0 };
        Some(((entry as usize).checked_sub(1)?, from..from + self.declaration.value_bytes as usize))
    }
}

/// The mask of a prefix of so many of all bits.
fn ones(bits: u16, length: u32) -> Box<[u64]> {
    let mut mask = vec![0_u64; usize::from(bits).div_ceil(64)];
    let bits = u32::from(bits);
    for bit in bits - length.min(bits)..bits {
        mask[bit as usize / 64] |= 1 << (bit % 64);
    }
    mask.into()
}

impl Table for MapTable {
    fn lookup(&self, key: &[u64], now_ns: u64) -> Option<Cow<'_, [u8]>> {
        let key = self.key(key, None);
        let held = self.held.iter().rev().find(|held| held.key == key).map(|held| held.value.clone());
        let value = held.or_else(|| self.map.get(&key).ok().flatten())?;
        let (_, bytes) = self.place(1)?;
        let live = self.is_live(&value, now_ns.min(LATEST).max(self.clock_ns));
        live.then(|| Cow::Owned(value.get(bytes).unwrap_or_default().to_vec()))
    }

    fn find(&mut self, key: &[u64], now_ns: u64, refresh: bool) -> u32 {
        let now_ns = self.tick(now_ns);
        self.flush();
        let key = self.key(key, None);
        let Some(read) = self.map.get(&key).ok().flatten().filter(|value| self.is_live(value, now_ns)) else { return 0 };
        let mut value = read.clone();
        if refresh {
            self.use_at(&mut value, now_ns);
        }
        self.hold(key, value, read)
    }

    fn insert(&mut self, key: &[u64], now_ns: u64) -> u32 {
        if self.declaration.kind != TableKind::Exact {
            return 0;
        }
        let now_ns = self.tick(now_ns);
        self.forget();
        let map_key = self.key(key, None);
        let known = self.map.get(&map_key).ok().flatten();
        if let Some(read) = known.clone().filter(|value| self.is_live(value, now_ns)) {
            let mut value = read.clone();
            self.use_at(&mut value, now_ns);
            return self.hold(map_key, value, read);
        }
        let value = self.made(&[], now_ns);
        match self.enter(&map_key, &value, Enter::Any) {
            true => self.hold(map_key, value.clone(), value),
            false => 0,
        }
    }

    fn delete(&mut self, key: &[u64], now_ns: u64) -> bool {
        self.declaration.kind == TableKind::Exact && self.remove(key, &[], 0, now_ns)
    }

    fn value(&self, entry: u32) -> Option<&[u8]> {
        let (at, bytes) = self.place(entry)?;
        self.held.get(at)?.value.get(bytes)
    }

    fn value_mut(&mut self, entry: u32) -> Option<&mut [u8]> {
        let (at, bytes) = self.place(entry)?;
        self.held.get_mut(at)?.value.get_mut(bytes)
    }

    fn add(&mut self, entry: &Entry, now_ns: u64) -> Result<(), Full> {
        let now_ns = self.tick(now_ns);
        self.forget();
        let (key, value) = (self.key(&entry.key, Some(&entry.mask)), self.made(&entry.value, now_ns));
        if self.enter(&key, &value, Enter::Any) { Ok(()) } else { Err(Full) }
    }

    fn remove(&mut self, key: &[u64], mask: &[u64], _: u32, now_ns: u64) -> bool {
        let now_ns = self.tick(now_ns);
        self.forget();
        let key = self.key(key, Some(mask));
        let live = self.declaration.kind != TableKind::Exact
            || self.map.get(&key).ok().flatten().is_some_and(|value| self.is_live(&value, now_ns));
        self.map.delete(&key).unwrap_or(false) && live
    }

    fn known(&mut self, key: &[u64], mask: &[u64], priority: u32, now_ns: u64) -> u32 {
        if self.declaration.kind == TableKind::Exact {
            return self.find(key, now_ns, false);
        }
        let all = self.entries(now_ns);
        let found = all.into_iter().find(|entry| (&*entry.key, &*entry.mask, entry.priority) == (key, mask, priority));
        let Some(found) = found else { return 0 };
        let (key, value) = (self.key(key, Some(mask)), self.made(&found.value, FOR_EVER));
        self.hold(key, value.clone(), value)
    }

    fn entries(&self, now_ns: u64) -> Vec<Entry> {
        let now_ns = now_ns.min(LATEST).max(self.clock_ns);
        let all = self.map.all().unwrap_or_default().into_iter();
        let mut all: Vec<Entry> = all.filter(|(_, value)| self.is_live(value, now_ns)).map(|entry| self.entry(entry)).collect();
        all.sort_by(tables::order);
        all
    }

    fn timeout(&self) -> Option<u64> {
        Some(self.timeout_ns)
    }

    fn tidy(&mut self) {
        self.forget();
        self.tick(self.present_ns.load(Ordering::Relaxed));
        if self.times() && self.clock_ns.saturating_sub(self.swept_ns) >= SWEEP_NS {
            self.sweep();
        }
    }
}
