//! What branches tell about values: an unsigned range and some numbers that a value is not, for the
//! blocks that an edge leads to. A walk over the dominator tree takes facts up and back.
//!
//! A fact holds where the edge that told it dominates, for a value is defined once on every way
//! there.

use super::ranges::{self, Range};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Edge, Func, Op, Terminator, Value};
use netil::Module;
use netil::ops::{BinOp, CmpOp, UnOp, mask};
use std::collections::HashMap;

/// The most numbers remembered that one value is not.
const MOST_EXCLUDED: usize = 16;
/// How far to look behind a value.
const DEPTH: u32 = 6;

/// What is known of one value of at most 64 bits.
#[derive(Clone, Debug)]
struct Known {
    range: Range,
    not: Vec<u64>,
}

impl Known {
    fn single(&self) -> Option<u64> {
        self.range.single()
    }

    /// With what `self op c` adds; `None` if that is nothing, or contradicts what is known: no
    /// packet comes here then.
    fn narrowed(&self, op: CmpOp, c: u64) -> Option<Self> {
        let mut new = self.clone();
        let (Range { low, high }, range) = (self.range, &mut new.range);
        match op {
            CmpOp::Eq => (range.low, range.high) = (c.max(low), c.min(high)),
            CmpOp::Ne if c == low => range.low = c.checked_add(1)?,
            CmpOp::Ne if c == high => range.high = c.checked_sub(1)?,
            CmpOp::Ne if self.not.len() < MOST_EXCLUDED => new.not.push(c),
            CmpOp::Lt => range.high = high.min(c.checked_sub(1)?),
            CmpOp::Le => range.high = high.min(c),
            CmpOp::Gt => range.low = low.max(c.checked_add(1)?),
            CmpOp::Ge => range.low = low.max(c),
            _ => return None,
        }
        (new.range.low <= new.range.high).then_some(new)
    }

    /// How `self op c` comes out.
    fn decide(&self, op: CmpOp, c: u64) -> Option<bool> {
        let Self { range: Range { low, high }, not } = self;
        let (all, none) = match op {
            CmpOp::Eq | CmpOp::Ne => (*low == c && *high == c, c < *low || c > *high || not.contains(&c)),
            CmpOp::Lt | CmpOp::Ge => (*high < c, *low >= c),
            CmpOp::Le | CmpOp::Gt => (*high <= c, *low > c),
            _ => return None,
        };
        let turned = matches!(op, CmpOp::Ne | CmpOp::Ge | CmpOp::Gt);
        if all || none { Some(all != turned) } else { None }
    }
}

/// What is known here, with what to undo when leaving.
#[derive(Default)]
pub(crate) struct Facts {
    known: HashMap<Value, Known>,
    undo: Vec<(Value, Option<Known>)>,
}

impl Facts {
    /// To be given to [`Self::back_to`].
    pub fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Forgets what was learned since.
    pub fn back_to(&mut self, mark: usize) {
        for (v, old) in self.undo.drain(mark..).rev() {
            match old {
                Some(known) => drop(self.known.insert(v, known)),
                None => drop(self.known.remove(&v)),
            }
        }
    }

    /// Learns what holds after a block's edge of that number.
    pub fn learn_edge(&mut self, func: &Func, end: &Terminator, edge: usize) {
        match end {
            Terminator::Branch(c, ..) => self.learn(func, *c, edge == 0, DEPTH),
            Terminator::Switch(v, cases, _) => match cases.get(edge) {
                Some((key, _)) => self.narrow(func, *v, CmpOp::Eq, u64::from(*key)),
                None => cases.iter().take(MOST_EXCLUDED).for_each(|(key, _)| self.narrow(func, *v, CmpOp::Ne, u64::from(*key))),
            },
            Terminator::SendBy(v, _, count, _) => self.narrow(func, *v, CmpOp::Ge, u64::from(*count)),
            _ => {}
        }
    }

    /// A condition is known, and so may be what it was computed from.
    fn learn(&mut self, func: &Func, condition: Value, holds: bool, depth: u32) {
        self.narrow(func, condition, CmpOp::Eq, holds.into());
        if depth == 0 {
            return;
        }
        match func.op(condition) {
            Some(Op::Cmp(op, a, b)) => {
                let op = if holds { *op } else { op.negated() };
                if let Some(c) = func.constant(*b) {
                    self.narrow(func, *a, op, c);
                } else if let Some(c) = func.constant(*a) {
                    self.narrow(func, *b, op.swapped(), c);
                }
            }
            Some(Op::Un(UnOp::Not, a)) => self.learn(func, *a, !holds, depth - 1),
            Some(Op::Bin(op @ (BinOp::And | BinOp::Or), a, b)) if (*op == BinOp::And) == holds => {
                self.learn(func, *a, holds, depth - 1);
                self.learn(func, *b, holds, depth - 1);
            }
            _ => {}
        }
    }

    fn narrow(&mut self, func: &Func, v: Value, op: CmpOp, c: u64) {
        if !(1..=64).contains(&func.width(v)) {
            return;
        }
        if let Some(new) = self.of(func, v).narrowed(op, c) {
            let old = self.known.insert(v, new);
            self.undo.push((v, old));
        }
        if let Some(Op::Zext(inner)) = func.op(v)
            && c <= mask(func.width(*inner))
        {
            self.narrow(func, *inner, op, c);
        }
    }

    fn of(&self, func: &Func, v: Value) -> Known {
        self.known.get(&v).cloned().unwrap_or_else(|| Known { range: ranges::of(func, v), not: Vec::new() })
    }
}

/// Goes over the blocks that can be reached, with the least and the greatest number that a value of
/// at most 64 bits may be there by what branches told before.
pub fn each_block(func: &Func, mut look: impl FnMut(Block, &dyn Fn(Value) -> (u64, u64))) {
    let cfg = Cfg::new(func);
    let only = cfg.only_edges(func);
    let enter = |facts: &mut Facts, block: Block| {
        let mark = facts.mark();
        if let Some((from, edge)) = only[block.0 as usize] {
            facts.learn_edge(func, &func.block(from).end, edge);
        }
        let told = |v: Value| {
            let range = facts.of(func, v).range;
            (range.low, range.high)
        };
        look(block, &told);
        mark
    };
    cfg.walk(&mut Facts::default(), enter, Facts::back_to);
}

/// Evaluates values at the end of a block, or in the block that one of its edges leads to.
pub(crate) struct Evaluator<'a> {
    pub func: &'a Func,
    /// Whose sets the function tests.
    pub module: &'a Module,
    /// What holds at the end of the block, on that edge.
    pub facts: &'a Facts,
    /// The edge behind which values are evaluated. Those of the block there are not those of an
    /// earlier time in it.
    pub behind: Option<&'a Edge>,
    /// The values that the block behind the edge defines.
    pub inner: &'a dyn Fn(Value) -> bool,
}

impl Evaluator<'_> {
    /// The number that a value of at most 64 bits is, if that is known.
    pub fn number(&self, v: Value) -> Option<u64> {
        self.value(v, true, DEPTH)
    }

    /// `within`: the value is meant as the block behind the edge sees it.
    fn value(&self, v: Value, within: bool, depth: u32) -> Option<u64> {
        if let Some(c) = self.func.constant(v) {
            return Some(c);
        }
        let width = self.func.width(v);
        if depth == 0 || !(1..=64).contains(&width) {
            return None;
        }
        if let Some(argument) = self.argument(v, within) {
            return self.value(argument, false, depth - 1);
        }
        let within = within && self.behind.is_some() && (self.inner)(v);
        if !within && let Some(c) = self.facts.known.get(&v).and_then(Known::single) {
            return Some(c);
        }
        let at = |v: Value| self.value(v, within, depth - 1);
        match self.func.op(v)? {
            Op::Cmp(op, a, b) => self.compare(*op, *a, *b, within, depth - 1).map(u64::from),
            Op::Un(op, a) => Some(op.eval(width, at(*a)?)),
            Op::Bin(BinOp::And, a, b) if at(*a) == Some(0) || at(*b) == Some(0) => Some(0),
            Op::Bin(op, a, b) => op.eval(width, at(*a)?, at(*b)?),
            Op::Zext(a) => at(*a),
            Op::Trunc(a) => Some(at(*a)? & mask(width)),
            Op::Select(c, a, b) => at(if at(*c)? == 1 { *a } else { *b }),
            Op::SetHas(set, a) => Some(self.func.set(self.module, *set).contains(&[at(*a)?]).into()),
            _ => None,
        }
    }

    /// What the edge passes for a parameter of its target.
    fn argument(&self, v: Value, within: bool) -> Option<Value> {
        let edge = self.behind.filter(|_| within)?;
        let Def::Param(home) = self.func.values[v.0 as usize].def else { return None };
        let i = self.func.block(edge.block).params.iter().position(|p| *p == v).filter(|_| home == edge.block)?;
        Some(edge.args[i])
    }

    fn compare(&self, op: CmpOp, a: Value, b: Value, within: bool, depth: u32) -> Option<bool> {
        let width = self.func.width(a);
        if !(1..=64).contains(&width) {
            return None;
        }
        match (self.value(a, within, depth), self.value(b, within, depth)) {
            (Some(x), Some(y)) => Some(op.eval(width, x, y)),
            (None, Some(c)) => self.known(a, within).decide(op, c),
            (Some(c), None) => self.known(b, within).decide(op.swapped(), c),
            (None, None) => None,
        }
    }

    fn known(&self, v: Value, within: bool) -> Known {
        match self.argument(v, within) {
            Some(argument) => self.facts.of(self.func, argument),
            None if within && self.behind.is_some() && (self.inner)(v) => Facts::default().of(self.func, v),
            None => self.facts.of(self.func, v),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPS: [CmpOp; 6] = [CmpOp::Eq, CmpOp::Ne, CmpOp::Lt, CmpOp::Le, CmpOp::Gt, CmpOp::Ge];

    /// What is decided of a value of three bits is so for all numbers that it can still be.
    #[test]
    fn what_is_known_is_true() {
        let told = || OPS.iter().flat_map(|op| (0..8).map(move |c| (*op, c)));
        let mut decided = 0;
        for first in told() {
            for second in told() {
                let mut known = Known { range: Range { low: 0, high: 7 }, not: Vec::new() };
                let mut possible: Vec<u64> = (0..8).collect();
                for (op, c) in [first, second] {
                    known = known.narrowed(op, c).unwrap_or(known);
                    possible.retain(|v| op.eval(3, *v, c));
                }
                for (op, c) in told().filter(|_| !possible.is_empty()) {
                    if let Some(answer) = known.decide(op, c) {
                        assert!(possible.iter().all(|v| op.eval(3, *v, c) == answer), "{first:?}, {second:?}: {op:?} {c}");
                        decided += 1;
                    }
                }
            }
        }
        assert!(decided > 20_000, "{decided}");
    }
}
