//! Ternary tables: hashed slots by masks where these are few ([`Shapes`]), rows of bits where they
//! are many ([`Bits`]).
//!
//! Either is made anew when many rules are new or have been asked for often; a few are looked at
//! one by one until then. Compiled code looks into slots by itself, so once their memory is lent it
//! stays until it is asked for again, which is when a burst begins.
//!
//! Invariants: a rule that is not in `recent` is in `form`. Leaves out timeouts.

use super::bits::Bits;
use super::rules::{Entered, Rank, Rule, Rules};
use super::shapes::{Shapes, ranked};
use netil::layout::{self, Parts, shapes};
use netil::module::{Entry, Table as Declaration};
use netil::tables::{Full, Table};
use std::borrow::Cow;

/// New rules that are looked at one by one, and one more for so many that there are.
const RECENT: usize = 16;
const RECENT_OF: usize = 512;
/// How often in all they are looked at, for each rule that there is.
const LOOKS: usize = 8;

/// The table.
pub struct Ternary {
    rules: Rules,
    key_bytes: usize,
    layout: Option<layout::Shapes>,
    seed: u64,
    form: Form,
    recent: Vec<u32>,
    looks: usize,
    /// Compiled code may know where the form lies.
    lent: bool,
    /// What it is told where there are no slots: that it must ask.
    ask: [u64; shapes::WORDS],
}

/// How rules lie.
enum Form {
    Slots(Shapes),
    Rows(Bits),
}

impl Ternary {
    /// A table as declared, with the entries that it has from the start.
    pub fn new(declaration: &Declaration, seed: u64) -> Self {
        let (rules, key_bytes) = (Rules::new(declaration, seed), usize::from(declaration.key_bits / 8));
        let (layout, form) = (layout::Shapes::of(declaration), Form::Rows(Bits::new(&[], key_bytes)));
        let mut ask = [0; shapes::WORDS];
        ask[shapes::ASK] = 1;
        let mut table = Self { rules, key_bytes, layout, seed, form, recent: Vec::new(), looks: 0, lent: false, ask };
        for entry in &declaration.entries {
            // The verifier has counted them.
            let _ = table.add(entry, 0);
        }
        if !table.recent.is_empty() {
            table.build();
        }
        table
    }

    /// Makes the form anew if that is worth it.
    fn refresh(&mut self) {
        let (many, long) = (RECENT + self.rules.len() / RECENT_OF, LOOKS * self.rules.len());
        if self.recent.len() > many || self.looks > long {
            self.build();
        }
    }

    fn build(&mut self) {
        self.recent.clear();
        self.looks = 0;
        let rules = ranked(self.rules.iter());
        let slots = self.layout.and_then(|layout| Shapes::new(layout, &rules, self.seed));
        self.form = slots.map_or_else(|| Form::Rows(Bits::new(&rules, self.key_bytes)), Form::Slots);
    }

    fn matching(&self, key: &[u64]) -> u32 {
        let found = match &self.form {
            Form::Slots(slots) => slots.find(key),
            Form::Rows(rows) => rows.find(key),
        };
        if self.recent.is_empty() {
            return found.unwrap_or(0);
        }
        let found = found.and_then(|handle| Some((self.rules.get(handle)?.rank, handle)));
        found.max(self.in_recent(key)).map_or(0, |(_, handle)| handle)
    }

    fn in_recent(&self, key: &[u64]) -> Option<(Rank, u32)> {
        let rules = self.recent.iter().filter_map(|handle| self.rules.get(*handle).map(|rule| (rule, *handle)));
        let suits = |rule: &Rule| key.iter().zip(&rule.key).zip(&rule.mask).all(|((k, e), m)| k & m == e & m);
        rules.filter(|(rule, _)| suits(rule)).map(|(rule, handle)| (rule.rank, handle)).max()
    }

    fn hide(&mut self, key: &[u64], mask: &[u64], handle: u32) {
        if let Some(at) = self.recent.iter().position(|recent| *recent == handle) {
            self.recent.swap_remove(at);
            return;
        }
        match &mut self.form {
            Form::Slots(slots) => slots.remove(key, mask, handle, self.rules.iter()),
            Form::Rows(rows) => rows.remove(handle),
        }
    }
}

impl Table for Ternary {
    fn lookup(&self, key: &[u64], _now_ns: u64) -> Option<Cow<'_, [u8]>> {
        self.value(self.matching(key)).map(Cow::Borrowed)
    }

    fn find(&mut self, key: &[u64], _now_ns: u64, _refresh: bool) -> u32 {
        if !self.lent && !self.recent.is_empty() {
            self.refresh();
        }
        self.looks = self.looks.saturating_add(self.recent.len());
        self.matching(key)
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
        if let Form::Slots(slots) = &mut self.form {
            slots.head[shapes::ASK] = u64::from(!self.recent.is_empty());
        }
        Ok(())
    }

    fn remove(&mut self, key: &[u64], mask: &[u64], priority: u32, _now_ns: u64) -> bool {
        let Some(handle) = self.rules.remove(key, mask, priority) else { return false };
        self.hide(key, mask, handle);
        true
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
        self.refresh();
        self.lent = true;
        let values = self.rules.values.area();
        Some(match &mut self.form {
            Form::Slots(slots) => {
                slots.head[shapes::ASK] = u64::from(!self.recent.is_empty());
                Parts { head: &mut slots.head, slots: values, index: &mut slots.index, groups: &mut slots.slots }
            }
            Form::Rows(_) => Parts { head: &mut self.ask, slots: values, index: &mut [], groups: &mut [] },
        })
    }
}
