//! Range tables: the key space cut at every lowest key and behind every highest one; between two
//! cuts one rule wins for all keys, and it is found by binary search.
//!
//! The cuts are made anew when something is looked up and much has changed, in one sweep over all
//! rules; until then the few rules that are new are looked at one by one, and coming upon one that
//! is gone makes the cuts anew as well. So loading many rules costs one sweep, and one rule more
//! now and then hardly anything.
//!
//! Invariant: a rule that is not in `recent` is in the cuts. Leaves out timeouts.

use super::rules::{Entered, Rank, Rule, Rules};
use netil::layout::Parts;
use netil::module::{Entry, Table as Declaration};
use netil::tables::{Full, Table};
use netil::wide;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// New rules that are looked at one by one.
const RECENT: usize = 16;

/// The table.
pub struct Ranges {
    rules: Rules,
    limbs: usize,
    /// Where a piece of the key space begins; limbs, the most significant first.
    cuts: Vec<u64>,
    /// Which rule wins there; if its rank is another by now, the rule is gone.
    winners: Vec<Option<(Rank, u32)>>,
    recent: Vec<u32>,
}

impl Ranges {
    /// A table as declared, with the entries that it has from the start.
    pub fn new(declaration: &Declaration, seed: u64) -> Self {
        let (rules, limbs) = (Rules::new(declaration, seed), wide::limbs(declaration.key_bits));
        let mut table = Self { rules, limbs, cuts: Vec::new(), winners: Vec::new(), recent: Vec::new() };
        for entry in &declaration.entries {
            // The verifier has counted them.
            let _ = table.add(entry, 0);
        }
        table
    }

    /// Cuts the key space anew.
    fn cut(&mut self) {
        self.recent.clear();
        self.cuts.clear();
        self.winners.clear();
        let mut events = Vec::new();
        for (handle, rule) in self.rules.iter().filter(|(_, rule)| wide::compare(&rule.key, &rule.mask).is_le()) {
            events.push((upwards(&rule.key), true, (rule.rank, handle)));
            events.extend(after(&rule.mask).map(|end| (end, false, (rule.rank, handle))));
        }
        events.sort();
        let mut open = BTreeSet::new();
        for (i, (at, begins, rule)) in events.iter().enumerate() {
            if *begins {
                _ = open.insert(*rule)
            } else {
                _ = open.remove(rule)
            }
            let last = events.get(i + 1).is_none_or(|(next, _, _)| next != at);
            let winner = open.last().copied();
            if last && self.winners.last().copied().flatten() != winner {
                self.cuts.extend(at);
                self.winners.push(winner);
            }
        }
    }

    /// The winner among the rules in the cuts; an error if that is gone.
    fn in_cuts(&self, key: &[u64]) -> Result<Option<(Rank, u32)>, ()> {
        let key = key.iter().rev();
        let (mut low, mut high) = (0, self.winners.len());
        while low < high {
            let middle = (low + high) / 2;
            let begin = &self.cuts[middle * self.limbs..(middle + 1) * self.limbs];
            if begin.iter().le(key.clone()) { low = middle + 1 } else { high = middle }
        }
        let Some(winner) = low.checked_sub(1).and_then(|i| self.winners[i]) else { return Ok(None) };
        if self.rules.get(winner.1).is_some_and(|rule| rule.rank == winner.0) { Ok(Some(winner)) } else { Err(()) }
    }

    fn in_recent(&self, key: &[u64]) -> Option<(Rank, u32)> {
        winner(self.recent.iter().filter_map(|handle| self.rules.get(*handle).map(|rule| (*handle, rule))), key)
    }
}

/// The winner among rules that match.
fn winner<'r>(rules: impl Iterator<Item = (u32, &'r Rule)>, key: &[u64]) -> Option<(Rank, u32)> {
    let matching = rules.filter(|(_, rule)| wide::compare(&rule.key, key).is_le() && wide::compare(key, &rule.mask).is_le());
    matching.map(|(handle, rule)| (rule.rank, handle)).max()
}

/// The limbs with the most significant first, so that numbers compare as slices.
fn upwards(number: &[u64]) -> Vec<u64> {
    number.iter().rev().copied().collect()
}

/// The number after, in the same form; none behind the last that the limbs can say.
fn after(number: &[u64]) -> Option<Vec<u64>> {
    let mut next = upwards(number);
    for limb in next.iter_mut().rev() {
        *limb = limb.wrapping_add(1);
        if *limb != 0 {
            return Some(next);
        }
    }
    None
}

impl Table for Ranges {
    fn lookup(&self, key: &[u64], _now_ns: u64) -> Option<Cow<'_, [u8]>> {
        let found = match self.in_cuts(key) {
            Ok(found) => found.max(self.in_recent(key)),
            Err(()) => winner(self.rules.iter(), key),
        };
        found.and_then(|(_, handle)| self.value(handle)).map(Cow::Borrowed)
    }

    fn find(&mut self, key: &[u64], _now_ns: u64, _refresh: bool) -> u32 {
        if self.recent.len() > RECENT {
            self.cut();
        }
        let found = self.in_cuts(key).or_else(|()| {
            self.cut();
            self.in_cuts(key)
        });
        found.unwrap_or(None).max(self.in_recent(key)).map_or(0, |(_, handle)| handle)
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
        let removed = self.rules.remove(key, mask, priority);
        self.recent.retain(|handle| Some(*handle) != removed);
        removed.is_some()
    }

    fn known(&mut self, key: &[u64], mask: &[u64], priority: u32, _now_ns: u64) -> u32 {
        self.rules.known(key, mask, priority)
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
