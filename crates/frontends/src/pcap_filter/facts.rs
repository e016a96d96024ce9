//! What holds on every way to a place of the graph, and what follows from it.

use super::eval::apply_cmp;
use super::ir::{Cmp, Field, Ir, SetId, Test, TestId, Value, ValueId, apply};
use super::reads::{bits, divides, greatest, masked, operands, reads};

/// Facts of each kind kept at most, so that a pass over a graph is linear in it.
const MAX_FACTS: usize = 32;

/// Adds to a sorted list that has room.
fn keep<K: Ord + Copy, V>(list: &mut Vec<(K, V)>, key: K, value: V) {
    if let Err(at) = list.binary_search_by_key(&key, |item| item.0)
        && list.len() < MAX_FACTS
    {
        list.insert(at, (key, value));
    }
}

fn look_up<K: Ord + Copy, V: Copy>(list: &[(K, V)], key: K) -> Option<V> {
    list.binary_search_by_key(&key, |item| item.0).ok().map(|at| list[at].1)
}

/// Facts; lists are sorted by their first element.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    outcomes: Vec<(TestId, bool)>,
    equal: Vec<(ValueId, u32)>,
    /// Least and greatest value.
    ranges: Vec<(ValueId, (u32, u32))>,
    /// Fields that are not in a set.
    outside: Vec<(Field, SetId)>,
    /// `base + end` bytes are captured; one entry for each base, unsorted.
    captured: Vec<(Option<ValueId>, u32)>,
    /// Fewer bytes than this are captured.
    below: Option<u32>,
}

impl Facts {
    /// What both know.
    pub(super) fn common(&self, other: &Facts) -> Facts {
        let ranges = self.ranges.iter().filter_map(|&(value, (low, high))| {
            let (other_low, other_high) = look_up(&other.ranges, value)?;
            Some((value, (low.min(other_low), high.max(other_high))))
        });
        let captured = self.captured.iter().map(|&(base, end)| (base, end.min(other.end_of(base)))).filter(|c| c.1 > 0);
        Facts {
            outcomes: self.outcomes.iter().filter(|o| look_up(&other.outcomes, o.0) == Some(o.1)).copied().collect(),
            equal: self.equal.iter().filter(|e| look_up(&other.equal, e.0) == Some(e.1)).copied().collect(),
            ranges: ranges.collect(),
            outside: self.outside.iter().filter(|o| other.outside.contains(o)).copied().collect(),
            captured: captured.collect(),
            below: self.below.zip(other.below).map(|(a, b)| a.max(b)),
        }
    }

    fn end_of(&self, base: Option<ValueId>) -> u32 {
        self.captured.iter().find(|c| c.0 == base).map_or(0, |c| c.1)
    }

    /// Facts on both ways out of a test.
    pub(super) fn after(&self, ir: &Ir, test: TestId) -> (Facts, Facts) {
        let mut facts = self.clone();
        reads(ir, ir.test(test), &mut |field| facts.note_captured(field.base, field.offset.saturating_add(field.bytes.into())));
        let (mut yes, mut no) = (facts.clone(), facts);
        match ir.test(test) {
            Test::Readable(field) => yes.note_captured(field.base, field.offset.saturating_add(field.bytes.into())),
            Test::Captured(bytes) => {
                yes.note_captured(None, bytes);
                no.below = Some(no.below.map_or(bytes, |b| b.min(bytes)));
            }
            _ => {
                yes.note(ir, test, true);
                no.note(ir, test, false);
            }
        }
        (yes, no)
    }

    fn note(&mut self, ir: &Ir, test: TestId, holds: bool) {
        keep(&mut self.outcomes, test, holds);
        match ir.test(test) {
            Test::Cmp(lhs, op, rhs) => {
                if let Value::Const(constant) = ir.value(rhs) {
                    self.note_comparison(ir, lhs, op, constant, holds);
                }
            }
            Test::Within(field, set) if !holds && self.outside.len() < MAX_FACTS => self.outside.push((field, set)),
            _ => {}
        }
    }

    fn note_comparison(&mut self, ir: &Ir, lhs: ValueId, op: Cmp, c: u32, holds: bool) {
        let (low, high) = match (op, holds) {
            (Cmp::Eq, true) => return keep(&mut self.equal, lhs, c),
            (Cmp::Gt, true) => (c.saturating_add(1), u32::MAX),
            (Cmp::Gt, false) => (0, c),
            (Cmp::Ge, true) => (c, u32::MAX),
            (Cmp::Ge, false) => (0, c.saturating_sub(1)),
            _ => return,
        };
        let known = self.range(ir, lhs);
        let range = (low.max(known.0), high.min(known.1));
        match self.ranges.binary_search_by_key(&lhs, |r| r.0) {
            Ok(at) => self.ranges[at].1 = range,
            Err(_) => keep(&mut self.ranges, lhs, range),
        }
    }

    fn note_captured(&mut self, base: Option<ValueId>, end: u32) {
        let full = self.captured.len() >= MAX_FACTS;
        match self.captured.iter_mut().find(|c| c.0 == base) {
            Some(known) => known.1 = known.1.max(end),
            None if full => {}
            None => self.captured.push((base, end)),
        }
    }

    /// No read of the test can fail, and nothing else can.
    pub(super) fn reads_succeed(&self, ir: &Ir, test: TestId) -> bool {
        let test = ir.test(test);
        if matches!(test, Test::Protochain(_) | Test::Scan(_) | Test::Rows(_)) || operands(test).iter().any(|&v| divides(ir, v)) {
            return false;
        }
        let mut all = true;
        reads(ir, test, &mut |field| {
            let end = field.offset.checked_add(field.bytes.into());
            all &= end.is_some_and(|end| end <= self.end_of(field.base));
        });
        all
    }

    /// Some read of the test is known to fail.
    pub(super) fn cuts_off(&self, ir: &Ir, test: TestId) -> bool {
        let Some(below) = self.below else { return false };
        let mut cut = false;
        reads(ir, ir.test(test), &mut |field| {
            let end = field.offset.checked_add(field.bytes.into());
            cut |= end.is_none_or(|end| end >= below);
        });
        cut
    }

    /// The outcome of a test, if it follows.
    pub(super) fn outcome(&self, ir: &Ir, id: TestId) -> Option<bool> {
        if let Some(holds) = look_up(&self.outcomes, id) {
            return Some(holds);
        }
        match ir.test(id) {
            Test::Captured(bytes) if bytes <= self.end_of(None) => Some(true),
            Test::Captured(bytes) if self.below.is_some_and(|below| bytes >= below) => Some(false),
            Test::Readable(field) => {
                let end = field.offset.checked_add(field.bytes.into())?;
                (end <= self.end_of(field.base)).then_some(true)
            }
            Test::Within(field, set) => {
                let value = self.value(ir, ir.find(Value::Load(field))?)?;
                Some(ir.set_has(set, value.into()))
            }
            Test::Cmp(lhs, op, rhs) => self.comparison(ir, lhs, op, self.value(ir, rhs)?),
            _ => None,
        }
    }

    fn comparison(&self, ir: &Ir, lhs: ValueId, op: Cmp, rhs: u32) -> Option<bool> {
        if let Some(lhs) = self.value(ir, lhs) {
            return Some(apply_cmp(op, lhs, rhs));
        }
        let (low, high) = self.range(ir, lhs);
        match op {
            Cmp::Eq => {
                let never = rhs < low || rhs > high || rhs & !bits(ir, lhs) != 0;
                (never || self.excluded(ir, lhs, rhs) || self.differs(ir, lhs, rhs)).then_some(false)
            }
            Cmp::Gt if low > rhs => Some(true),
            Cmp::Gt if high <= rhs => Some(false),
            Cmp::Ge if low >= rhs => Some(true),
            Cmp::Ge if high < rhs => Some(false),
            Cmp::Bits if rhs == 0 => Some(false),
            _ => None,
        }
    }

    /// The value is a field known not to be in a set that holds the constant.
    fn excluded(&self, ir: &Ir, value: ValueId, constant: u32) -> bool {
        let Value::Load(field) = ir.value(value) else { return false };
        self.outside.iter().any(|&(other, set)| other == field && ir.set_has(set, constant.into()))
    }

    /// Some bits of the value are known to be others.
    fn differs(&self, ir: &Ir, value: ValueId, constant: u32) -> bool {
        let (whole, mask) = masked(ir, value);
        self.equal.iter().any(|&(known, there)| {
            let (other, bits) = masked(ir, known);
            other == whole && (there ^ constant) & bits & mask != 0
        })
    }

    fn value(&self, ir: &Ir, id: ValueId) -> Option<u32> {
        if let Some(value) = look_up(&self.equal, id) {
            return Some(value);
        }
        match ir.value(id) {
            Value::Const(c) => Some(c),
            Value::Bin(op, a, b) => apply(op, self.value(ir, a)?, self.value(ir, b)?),
            Value::Neg(a) => Some(self.value(ir, a)?.wrapping_neg()),
            Value::Len | Value::Slot(_) | Value::Last | Value::Load(_) => None,
        }
    }

    fn range(&self, ir: &Ir, id: ValueId) -> (u32, u32) {
        look_up(&self.ranges, id).unwrap_or_else(|| (0, greatest(ir, id)))
    }
}
