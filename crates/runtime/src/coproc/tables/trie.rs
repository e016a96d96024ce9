//! Prefix tables of keys of up to 32 bits: a multibit trie whose first level is an array
//! ([`netil::layout`] says how it lies). With 24 bits there this is DIR-24-8; small tables have 16,
//! which stay in the cache, then 8 and 8.
//!
//! A prefix is painted over all slots that it covers and no longer prefix has taken; how long the
//! prefix of a slot is stands in arrays of their own, which only updates touch. So lookups read one
//! slot as a rule, an update costs the slots of its prefix, and nothing is ever rebuilt but once,
//! when handles outgrow 15 bits.
//!
//! Invariants: a slot has the handle of the longest prefix that covers it but for the one of no
//! bits, which is in the head; a group is there iff a prefix longer than its slot is.
//!
//! Source: Gupta, Lin, McKeown, Routing lookups in hardware at memory access speeds, INFOCOM 1998.
//! Leaves out keys of more than 32 bits and timeouts. Masks count by their ones, and key bits
//! outside them are not seen, as the verifier has it.

use super::Seeded;
use super::area::Area;
use super::values::Values;
use netil::layout::{self, GROUP, Parts, trie};
use netil::module::{Entry, Table as Declaration};
use netil::tables::{self, Full, Table};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// The table.
pub struct Trie {
    key_bits: u32,
    root_bits: u32,
    head: [u64; trie::WORDS],
    /// The first level, then the groups.
    slots: [Area; 2],
    /// How long the prefix of each slot is.
    lengths: [Area; 2],
    /// Of each group how many prefixes and groups need it.
    members: Vec<u32>,
    free: Vec<u32>,
    most_groups: usize,
    /// Handles by prefix and length.
    entries: HashMap<(u32, u32), u32, Seeded>,
    values: Values,
    capacity: usize,
}

/// Where a slot is.
#[derive(Clone, Copy)]
struct SlotAddress {
    level: usize,
    slot: usize,
}

/// What is painted: slots whose prefix is of these lengths get that handle and length.
struct Paint {
    over: Range<u32>,
    handle: u32,
    length: u32,
}

impl Trie {
    /// A table as declared, with the entries that it has from the start. `None` if a trie cannot be
    /// that table.
    pub fn new(declaration: &Declaration, seed: u64, shared: bool) -> Option<Self> {
        let shape = layout::Trie::of(declaration)?;
        let mut capacity = declaration.capacity as usize;
        let mut table = loop {
            match Self::empty(&shape, declaration, capacity, Seeded::new(seed), shared) {
                Some(table) => break table,
                None => capacity /= 2,
            }
        };
        for entry in &declaration.entries {
            // The verifier has counted them.
            let _ = table.add(entry, 0);
        }
        Some(table)
    }

    fn empty(shape: &layout::Trie, declaration: &Declaration, capacity: usize, seed: Seeded, shared: bool) -> Option<Self> {
        let (key_bits, root_bits) = (u32::from(declaration.key_bits), shape.root_bits);
        let values = Values::new(capacity, declaration.value_bytes as usize, shared, seed)?;
        // A prefix needs at most a group on each level below the first.
        let levels = ((key_bits - root_bits) / 8) as usize;
        let most_groups = capacity * levels;
        let areas = |bytes: usize| Some([Area::new(bytes << root_bits)?, Area::new(bytes * GROUP * most_groups)?]);
        let (slots, lengths) = (areas(2)?, areas(1)?);
        let (members, free, entries) = (Vec::new(), Vec::new(), HashMap::with_hasher(seed));
        let head = [0; trie::WORDS];
        Some(Self { key_bits, root_bits, head, slots, lengths, members, free, most_groups, entries, values, capacity })
    }

    fn is_wide(&self) -> bool {
        self.head[trie::WIDE] != 0
    }

    /// The flag of a slot that has a group.
    fn deeper(&self) -> u32 {
        if self.is_wide() { trie::DEEPER_WIDE } else { trie::DEEPER }
    }

    fn get(&self, at: SlotAddress) -> u32 {
        let area = &self.slots[at.level];
        if self.is_wide() {
            return area[at.slot * 4..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        }
        area[at.slot * 2..].first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes).into())
    }

    fn set(&mut self, at: SlotAddress, value: u32) {
        let wide = self.is_wide();
        let area = &mut self.slots[at.level];
        // Sizes that are known when this is compiled are stores and no calls; a short prefix covers
        // millions of slots.
        if wide {
            area[at.slot * 4..][..4].copy_from_slice(&value.to_le_bytes());
        } else {
            area[at.slot * 2..][..2].copy_from_slice(&(value as u16).to_le_bytes());
        }
    }

    fn length(&self, at: SlotAddress) -> u32 {
        self.lengths[at.level][at.slot].into()
    }

    /// The slots below one that has a group.
    fn group(&self, value: u32) -> Option<usize> {
        (value & self.deeper() != 0).then(|| (value & !self.deeper()) as usize * GROUP)
    }

    fn look_up(&self, key: u32) -> u32 {
        let mut below = self.key_bits - self.root_bits;
        let mut value = self.get(SlotAddress { level: 0, slot: (key >> below) as usize });
        while let Some(group) = self.group(value) {
            below -= 8;
            value = self.get(SlotAddress { level: 1, slot: group + (key >> below) as usize % GROUP });
        }
        if value == 0 { self.head[trie::DEFAULT] as u32 } else { value }
    }

    /// Paints over what a prefix covers. The path to it is there.
    fn paint(&mut self, prefix: u32, length: u32, paint: &Paint) {
        let mut below = self.key_bits - self.root_bits;
        let mut place = SlotAddress { level: 0, slot: (prefix >> below) as usize };
        while length > self.key_bits - below {
            let Some(group) = self.group(self.get(place)) else { return };
            below -= 8;
            place = SlotAddress { level: 1, slot: group + (prefix >> below) as usize % GROUP };
        }
        let count = 1 << (self.key_bits - below - length);
        (place.slot..place.slot + count).for_each(|slot| self.paint_slot(SlotAddress { slot, ..place }, paint));
    }

    fn paint_slot(&mut self, at: SlotAddress, paint: &Paint) {
        if let Some(group) = self.group(self.get(at)) {
            (group..group + GROUP).for_each(|slot| self.paint_slot(SlotAddress { level: 1, slot }, paint));
        } else if paint.over.contains(&self.length(at)) {
            self.set(at, paint.handle);
            self.lengths[at.level][at.slot] = paint.length as u8;
        }
    }

    /// Goes down to a prefix through groups, which are made where there are none, and notes in each
    /// that it is needed.
    fn make_path(&mut self, prefix: u32, length: u32) {
        let mut below = self.key_bits - self.root_bits;
        let mut place = SlotAddress { level: 0, slot: (prefix >> below) as usize };
        while length > self.key_bits - below {
            let group = match self.group(self.get(place)) {
                Some(group) => group,
                None => self.make_group(place),
            };
            self.members[group / GROUP] += 1;
            below -= 8;
            place = SlotAddress { level: 1, slot: group + (prefix >> below) as usize % GROUP };
        }
    }

    /// A group in the place of a slot, which means what the slot meant.
    fn make_group(&mut self, at: SlotAddress) -> usize {
        let number = self.free.pop().unwrap_or_else(|| {
            self.members.push(0);
            self.members.len() as u32 - 1
        });
        let (value, length) = (self.get(at), self.length(at));
        let first = number as usize * GROUP;
        for slot in first..first + GROUP {
            self.set(SlotAddress { level: 1, slot }, value);
            self.lengths[1][slot] = length as u8;
        }
        self.set(at, self.deeper() | number);
        first
    }

    /// Goes down to a prefix that is no longer there; on the way back the groups that nothing needs
    /// any more go.
    fn drop_path(&mut self, at: SlotAddress, prefix: u32, length: u32, below: u32) {
        let Some(group) = self.group(self.get(at)).filter(|_| length > self.key_bits - below) else { return };
        let next = SlotAddress { level: 1, slot: group + (prefix >> (below - 8)) as usize % GROUP };
        self.drop_path(next, prefix, length, below - 8);
        self.members[group / GROUP] -= 1;
        if self.members[group / GROUP] == 0 {
            // All of its slots are alike now.
            self.set(at, self.get(next));
            self.lengths[at.level][at.slot] = self.length(next) as u8;
            self.free.push((group / GROUP) as u32);
        }
    }

    /// Handles and groups get 31 bits; `None` if there is no memory for them.
    fn widen(&mut self) -> Option<()> {
        let wide = [Area::new(4 << self.root_bits)?, Area::new(4 * GROUP * self.most_groups)?];
        let narrow = std::mem::replace(&mut self.slots, wide);
        self.head[trie::WIDE] = 1;
        for (level, slots) in [(0, 1 << self.root_bits), (1, self.members.len() * GROUP)] {
            for (slot, bytes) in narrow[level].chunks_exact(2).take(slots).enumerate() {
                let value = u32::from(bytes[0]) | u32::from(bytes[1]) << 8;
                let flag = if value & trie::DEEPER == 0 { 0 } else { trie::DEEPER | trie::DEEPER_WIDE };
                if value != 0 {
                    self.set(SlotAddress { level, slot }, value ^ flag);
                }
            }
        }
        Some(())
    }

    /// Makes sure that one more entry can be numbered.
    fn number(&mut self) -> Option<()> {
        let most = self.values.len().max(self.members.len()) + 4;
        if self.is_wide() || most < trie::DEEPER as usize { Some(()) } else { self.widen() }
    }

    /// What a prefix has that is not there: the longest shorter one's handle and length.
    fn cover(&self, prefix: u32, length: u32) -> (u32, u32) {
        let shorter = (1..length).rev().filter_map(|l| self.entries.get(&(self.cut(prefix, l), l)).map(|handle| (*handle, l)));
        shorter.into_iter().next().unwrap_or((0, 0))
    }

    /// The first bits of a prefix.
    fn cut(&self, prefix: u32, length: u32) -> u32 {
        let spare = self.key_bits - length;
        prefix.checked_shr(spare).unwrap_or(0).checked_shl(spare).unwrap_or(0)
    }

    fn prefix(&self, key: &[u64], mask: &[u64]) -> (u32, u32) {
        let length = mask.first().map_or(0, |mask| mask.count_ones()).min(self.key_bits);
        (self.cut(key.first().map_or(0, |key| *key as u32), length), length)
    }

    fn enter(&mut self, prefix: u32, length: u32, value: &[u8]) {
        let handle = self.values.enter(value);
        self.entries.insert((prefix, length), handle);
        self.make_path(prefix, length);
        self.show(prefix, handle, length, 0..length + 1);
    }

    /// Slots whose prefix is of those lengths show another handle.
    fn show(&mut self, prefix: u32, handle: u32, length: u32, over: Range<u32>) {
        match length {
            0 => self.head[trie::DEFAULT] = handle.into(),
            _ => self.paint(prefix, length, &Paint { over, handle, length }),
        }
    }
}

impl Table for Trie {
    fn lookup(&self, key: &[u64], _now_ns: u64) -> Option<Cow<'_, [u8]>> {
        self.value(self.look_up(key.first().map_or(0, |key| *key as u32))).map(Cow::Borrowed)
    }

    fn find(&mut self, key: &[u64], _now_ns: u64, _refresh: bool) -> u32 {
        self.look_up(key.first().map_or(0, |key| *key as u32))
    }

    fn value(&self, entry: u32) -> Option<&[u8]> {
        self.values.get(entry)
    }

    fn value_mut(&mut self, entry: u32) -> Option<&mut [u8]> {
        self.values.get_mut(entry)
    }

    fn add(&mut self, entry: &Entry, _now_ns: u64) -> Result<(), Full> {
        let (prefix, length) = self.prefix(&entry.key, &entry.mask);
        let old = self.entries.get(&(prefix, length)).copied();
        if old.is_none() && self.entries.len() >= self.capacity {
            return Err(Full);
        }
        self.number().ok_or(Full)?;
        let Some(old) = old else {
            self.enter(prefix, length, &entry.value);
            return Ok(());
        };
        let handle = self.values.replace(old, &entry.value);
        self.entries.insert((prefix, length), handle);
        self.show(prefix, handle, length, length..length + 1);
        Ok(())
    }

    fn remove(&mut self, key: &[u64], mask: &[u64], _priority: u32, _now_ns: u64) -> bool {
        let (prefix, length) = self.prefix(key, mask);
        let Some(handle) = self.entries.remove(&(prefix, length)) else { return false };
        let (cover, covering) = self.cover(prefix, length);
        match length {
            0 => self.head[trie::DEFAULT] = 0,
            _ => self.paint(prefix, length, &Paint { over: length..length + 1, handle: cover, length: covering }),
        }
        let below = self.key_bits - self.root_bits;
        self.drop_path(SlotAddress { level: 0, slot: (prefix >> below) as usize }, prefix, length, below);
        self.values.leave(handle);
        true
    }

    fn known(&mut self, key: &[u64], mask: &[u64], _priority: u32, _now_ns: u64) -> u32 {
        self.entries.get(&self.prefix(key, mask)).copied().unwrap_or(0)
    }

    fn entries(&self, _now_ns: u64) -> Vec<Entry> {
        let entry = |(&(prefix, length), handle): (&(u32, u32), &u32)| {
            let mask = Box::new([self.cut(u32::MAX >> (32 - self.key_bits), length).into()]);
            Entry { key: Box::new([prefix.into()]), mask, priority: 0, value: self.values.get(*handle).unwrap_or_default().into() }
        };
        let mut all: Vec<Entry> = self.entries.iter().map(entry).collect();
        all.sort_by(tables::order);
        all
    }

    fn len(&self, _now_ns: u64) -> u64 {
        self.entries.len() as u64
    }

    fn parts(&mut self) -> Option<Parts<'_>> {
        let [index, groups] = &mut self.slots;
        Some(Parts { head: &mut self.head, slots: self.values.area(), index, groups })
    }
}
