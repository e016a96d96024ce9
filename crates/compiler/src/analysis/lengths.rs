//! What is known of the packet's length: lower and upper bounds, relative to nothing (`len ≥ 34`)
//! or to a value (`len ≥ v + 16`). They come from checks and from both sides of branches; a walk
//! over the dominator tree takes them up and back. They mean nothing where the function changes the
//! packet's geometry. Source: Bodík, Gupta, Sarkar, "ABCD" (2000) for the form of the facts.

use super::linear::{Linear, linear};
use super::ranges::max;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Extent, Func, Op, Terminator, Value};
use netil::ops::{BinOp, CmpOp};
use netil::table::Space;
use std::collections::HashMap;

/// What is known here, with what to undo when leaving.
#[derive(Default)]
pub(crate) struct Lengths {
    /// `len ≥ base + n`
    at_least: HashMap<Option<Value>, u64>,
    /// `len < base + n`
    below: HashMap<Option<Value>, u64>,
    undo: Vec<(bool, Option<Value>, Option<u64>)>,
}

impl Lengths {
    /// To be given to [`Self::back_to`].
    pub fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Forgets what was learned since.
    pub fn back_to(&mut self, mark: usize) {
        for (least, base, old) in self.undo.drain(mark..).rev() {
            let map = if least { &mut self.at_least } else { &mut self.below };
            match old {
                Some(n) => drop(map.insert(base, n)),
                None => drop(map.remove(&base)),
            }
        }
    }

    /// The one edge into a block says how its condition came out.
    pub fn enter(&mut self, func: &Func, cfg: &Cfg, b: Block) {
        let [pred] = cfg.predecessors[b.0 as usize][..] else { return };
        let Terminator::Branch(c, yes, no) = &func.block(pred).end else { return };
        let (yes, no) = (yes.block == b, no.block == b);
        let Some(Op::Cmp(op, x, y)) = func.op(*c) else { return };
        if yes == no {
            return;
        }
        let op = if yes { *op } else { op.negated() };
        if let Some((op, form)) = length_test(func, op, *x, *y) {
            self.learn(op, form);
        }
    }

    /// After a check of the packet these bytes lie inside.
    pub fn checked(&mut self, func: &Func, extents: &[Extent]) {
        for e in extents {
            let form = linear(func, e.addr);
            self.raise(form.base, form.offset + e.end());
        }
    }

    /// All that the checks of a block tell. What is proved follows from the same facts.
    pub fn pass(&mut self, func: &Func, b: Block) {
        for v in &func.block(b).ops {
            if let Some(Op::Check(Space::Packet, extents)) = func.op(*v) {
                self.checked(func, extents);
            }
        }
    }

    /// True if `len ≥ base + n` is known.
    pub fn long_enough(&self, func: &Func, base: Option<Value>, n: u64) -> bool {
        let known = |base: Option<Value>| self.at_least.get(&base).copied();
        let absolute = base.map_or(0, |b| max(func, b)).saturating_add(n);
        known(base).is_some_and(|k| k >= n) || known(None).is_some_and(|k| k >= absolute)
    }

    /// An address as a sum that does not wrap, be it since the packet is known to be longer than
    /// what is added.
    pub fn linear(&self, func: &Func, addr: Value) -> Linear {
        let form = linear(func, addr);
        let Some(Op::Bin(BinOp::Add, a, b)) = form.base.and_then(|base| func.op(base)) else { return form };
        match func.constant(*b) {
            Some(more) if self.long_enough(func, Some(*a), more) => {
                let inner = self.linear(func, *a);
                Linear { base: inner.base, offset: inner.offset + more + form.offset }
            }
            _ => form,
        }
    }

    /// True if `len < base + n` is known.
    pub fn too_short(&self, base: Option<Value>, n: u64) -> bool {
        self.below.get(&base).is_some_and(|b| *b <= n)
    }

    fn learn(&mut self, op: CmpOp, Linear { base, offset }: Linear) {
        match op {
            CmpOp::Ge => self.raise(base, offset),
            CmpOp::Gt => self.raise(base, offset + 1),
            CmpOp::Lt => self.lower(base, offset),
            CmpOp::Le => self.lower(base, offset + 1),
            CmpOp::Eq => {
                self.raise(base, offset);
                self.lower(base, offset + 1);
            }
            _ => {}
        }
    }

    fn raise(&mut self, base: Option<Value>, n: u64) {
        let old = self.at_least.get(&base).copied();
        if old.is_none_or(|o| n > o) {
            self.at_least.insert(base, n);
            self.undo.push((true, base, old));
        }
    }

    fn lower(&mut self, base: Option<Value>, n: u64) {
        let old = self.below.get(&base).copied();
        if old.is_none_or(|o| n < o) {
            self.below.insert(base, n);
            self.undo.push((false, base, old));
        }
    }
}

/// A comparison as `len op base + offset`.
pub(crate) fn length_test(func: &Func, op: CmpOp, x: Value, y: Value) -> Option<(CmpOp, Linear)> {
    let is_len = |v: Value| matches!(func.op(v), Some(Op::PacketLen));
    match (is_len(x), is_len(y)) {
        (true, false) => Some((op, linear(func, y))),
        (false, true) => Some((op.swapped(), linear(func, x))),
        _ => None,
    }
}
