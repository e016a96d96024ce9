//! What ternary and range tables have in common: rules by handle, and handles by what a rule is
//! known by.
//!
//! Source of the order: the highest priority wins, among equals the rule entered first; a rule that
//! only gets another value keeps its place.

use super::Seeded;
use super::values::Values;
use netil::module::{Entry, Table as Declaration};
use netil::tables;
use std::cmp::Reverse;
use std::collections::HashMap;

/// What decides between rules: the greater one wins.
pub type Rank = (u32, Reverse<u64>);

/// A rule; of a range the key is the lowest and the mask the highest.
#[derive(Clone)]
pub struct Rule {
    pub key: Box<[u64]>,
    pub mask: Box<[u64]>,
    pub rank: Rank,
}

/// What a rule is known by.
type Name = (Box<[u64]>, Box<[u64]>, u32);

/// The rules.
pub struct Rules {
    rules: Vec<Option<Rule>>,
    handles: HashMap<Name, u32, Seeded>,
    pub values: Values,
    capacity: usize,
    entered: u64,
}

/// What became of an entry.
pub enum Entered {
    /// It is new.
    New(u32),
    /// It was there and has another value.
    Old,
    /// There is no room.
    Full,
}

impl Rules {
    /// None, with room for what is declared, or as much as the system gives memory for.
    pub fn new(declaration: &Declaration, seed: u64) -> Self {
        let mut capacity = declaration.capacity as usize;
        let values = loop {
            match Values::new(capacity, declaration.value_bytes as usize, false, Seeded::new(seed)) {
                Some(values) => break values,
                None => capacity /= 2,
            }
        };
        Self { rules: Vec::new(), handles: HashMap::with_hasher(Seeded::new(seed)), values, capacity, entered: 0 }
    }

    /// Enters a rule, or gives one a value.
    pub fn enter(&mut self, entry: &Entry) -> Entered {
        let name = (entry.key.clone(), entry.mask.clone(), entry.priority);
        if let Some(handle) = self.handles.get(&name) {
            self.values.replace(*handle, &entry.value);
            return Entered::Old;
        }
        if self.handles.len() >= self.capacity {
            return Entered::Full;
        }
        let handle = self.values.enter(&entry.value);
        let at = handle as usize - 1;
        self.rules.resize(self.rules.len().max(at + 1), None);
        self.rules[at] = Some(Rule { key: name.0.clone(), mask: name.1.clone(), rank: (entry.priority, Reverse(self.entered)) });
        self.entered += 1;
        self.handles.insert(name, handle);
        Entered::New(handle)
    }

    /// Takes a rule out and gives the handle that it had.
    pub fn remove(&mut self, key: &[u64], mask: &[u64], priority: u32) -> Option<u32> {
        let handle = self.handles.remove(&(key.into(), mask.into(), priority))?;
        self.rules[handle as usize - 1] = None;
        self.values.leave(handle);
        Some(handle)
    }

    /// The handle of the rule of that name, or 0.
    pub fn known(&self, key: &[u64], mask: &[u64], priority: u32) -> u32 {
        self.handles.get(&(key.into(), mask.into(), priority)).copied().unwrap_or(0)
    }

    /// The rule of a handle.
    pub fn get(&self, handle: u32) -> Option<&Rule> {
        self.rules.get((handle as usize).checked_sub(1)?)?.as_ref()
    }

    /// All with their handles.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Rule)> {
        self.rules.iter().enumerate().filter_map(|(i, rule)| rule.as_ref().map(|rule| (i as u32 + 1, rule)))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.handles.len()
    }

    /// All as entries, in order.
    pub fn entries(&self) -> Vec<Entry> {
        let value = |handle| self.values.get(handle).unwrap_or_default().into();
        let entry = |(handle, rule): (u32, &Rule)| Entry {
            key: rule.key.clone(),
            mask: rule.mask.clone(),
            priority: rule.rank.0,
            value: value(handle),
        };
        let mut all: Vec<Entry> = self.iter().map(entry).collect();
        all.sort_by(tables::order);
        all
    }
}
