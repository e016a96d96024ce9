//! Bounds checks.
//!
//! Idea: an access needs no test where the bytes are known to lie inside the memory: because its
//! size is fixed and the address is bounded, or because an earlier check or an explicit length test
//! on every path here says so ([`super::bounds`]); the same decides later length tests, and says
//! that a sum which lies inside the packet has not wrapped, so that accesses behind a computed
//! offset are told by that offset. Checks that remain and stand together, with nothing between them
//! that could be seen, become one: it tests what covers all, and only when that fails looks for the
//! first that fails, so the trap's place is the interpreter's. Source: Bodík, Gupta, Sarkar, "ABCD:
//! Eliminating Array Bounds Checks on Demand" (2000). Phases: a walk over the dominator tree with
//! scoped facts; then a walk over each block that merges. Price: linear. Facts about the packet are
//! kept only where nothing in the function changes its geometry.

use super::Context;
use super::rewrite::Replacements;
use crate::analysis::lengths::{Lengths, length_test};
use crate::analysis::linear::{Linear, linear};
use crate::analysis::ranges::max;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Extent, Func, Op, Type, Value};
use netil::ops::CmpOp;
use netil::table::Space;
use std::collections::HashMap;

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    let cfg = Cfg::new(func);
    let module = context.program.module();
    let sizes =
        Sizes { info: module.info_size, data: module.data_size, shared: module.shared_size(), initialised: module.data.len() as u32 };
    // Constant addresses are offsets from one zero, so that they compare without looking behind
    // values.
    let zero = func.new_value(Type::Int(32), Def::Op(Op::Const(0)));
    func.block_mut(Block(0)).ops.insert(0, zero);
    let mut pass =
        Pass { zero, sizes, lengths: Lengths::default(), fixed: !func.changes_geometry(), replaced: Replacements::new(func), func };
    cfg.walk(&mut pass, |pass, b| pass.enter(&cfg, b), |pass, mark| pass.lengths.back_to(mark));
    let Pass { mut replaced, func, .. } = pass;
    replaced.apply(func);
    merge(func);
}

struct Sizes {
    info: u32,
    data: u32,
    shared: u32,
    initialised: u32,
}

impl Sizes {
    fn of(&self, space: Space) -> Option<u32> {
        match space {
            Space::Packet => None,
            Space::Info => Some(self.info),
            Space::Data => Some(self.data),
            Space::Shared => Some(self.shared),
            Space::Initialised => Some(self.initialised),
        }
    }
}

struct Pass<'a> {
    func: &'a mut Func,
    zero: Value,
    sizes: Sizes,
    lengths: Lengths,
    /// The packet's length never changes.
    fixed: bool,
    replaced: Replacements,
}

impl Pass<'_> {
    /// Gives the mark of what was known before.
    fn enter(&mut self, cfg: &Cfg, b: Block) -> usize {
        let mark = self.lengths.mark();
        if self.fixed {
            self.lengths.enter(self.func, cfg, b);
        }
        self.block(b);
        mark
    }

    fn block(&mut self, b: Block) {
        for i in 0..self.func.block(b).ops.len() {
            let v = self.func.block(b).ops[i];
            match self.func.op(v).cloned() {
                Some(Op::Check(space, extents)) => self.check(v, space, &extents),
                Some(Op::Cmp(op, x, y)) if self.fixed => self.compare(v, op, x, y),
                Some(Op::Load(space, order, addr, offset, token)) => {
                    let (addr, offset) = self.address(addr, offset);
                    self.func.set_op(v, Op::Load(space, order, addr, offset, token));
                }
                Some(Op::Store(space, order, addr, offset, value, token)) => {
                    let (addr, offset) = self.address(addr, offset);
                    self.func.set_op(v, Op::Store(space, order, addr, offset, value, token));
                }
                _ => {}
            }
        }
    }

    /// Takes what can be added without wrapping out of an address.
    fn address(&self, addr: Value, offset: u32) -> (Value, u32) {
        match self.lengths.linear(self.func, addr) {
            Linear { base: None, offset: at } => (self.zero, offset.saturating_add(at as u32)),
            Linear { base: Some(base), offset: more } => (base, offset.saturating_add(more as u32)),
        }
    }

    fn check(&mut self, v: Value, space: Space, extents: &[Extent]) {
        let extents: Box<[Extent]> = extents.iter().map(|e| self.extent(e)).collect();
        let proved = extents.iter().all(|e| self.inside(space, e));
        if space == Space::Packet && self.fixed {
            self.lengths.checked(self.func, &extents);
        }
        self.func.set_op(v, if proved { Op::Proved(space, extents) } else { Op::Check(space, extents) });
    }

    fn extent(&self, e: &Extent) -> Extent {
        let (addr, offset) = self.address(e.addr, e.offset);
        Extent { addr, offset, ..*e }
    }

    fn form(&self, e: &Extent) -> Linear {
        let form = linear(self.func, e.addr);
        Linear { offset: form.offset + u64::from(e.offset), ..form }
    }

    fn inside(&self, space: Space, e: &Extent) -> bool {
        let form = self.form(e);
        let end = form.offset + u64::from(e.size);
        match self.sizes.of(space) {
            Some(size) => form.base.map_or(0, |b| max(self.func, b)) + end <= u64::from(size),
            None => self.lengths.long_enough(self.func, form.base, end),
        }
    }

    /// A length test that is known to hold, or not to.
    fn compare(&mut self, v: Value, op: CmpOp, x: Value, y: Value) {
        let Some((op, Linear { base, offset })) = length_test(self.func, op, x, y) else { return };
        let least = |n: u64| match () {
            () if self.lengths.long_enough(self.func, base, n) => Some(true),
            () if self.lengths.too_short(base, n) => Some(false),
            () => None,
        };
        let answer = match op {
            CmpOp::Ge => least(offset),
            CmpOp::Gt => least(offset + 1),
            CmpOp::Lt => least(offset).map(|a| !a),
            CmpOp::Le => least(offset + 1).map(|a| !a),
            _ => None,
        };
        if let Some(answer) = answer {
            self.func.set_op(v, Op::Const(answer.into()));
        }
    }
}

/// Checks of one memory that stand together become the first of them.
fn merge(func: &mut Func) {
    let mut replaced = Replacements::new(func);
    for b in func.block_ids() {
        for (check, all) in merge_in(func, b, &mut replaced) {
            if let Def::Op(Op::Check(_, extents)) = &mut func.values[check.0 as usize].def {
                *extents = all.into();
            }
        }
    }
    replaced.apply(func);
}

/// Leaves the first ones of a block; gives what each of them is to test.
fn merge_in(func: &mut Func, b: Block, replaced: &mut Replacements) -> HashMap<Value, Vec<Extent>> {
    let mut open: HashMap<Space, Value> = HashMap::new();
    let mut before: HashMap<Value, usize> = HashMap::new();
    let mut grown: HashMap<Value, Vec<Extent>> = HashMap::new();
    let mut kept = Vec::new();
    for (i, v) in std::mem::take(&mut func.block_mut(b).ops).into_iter().enumerate() {
        before.insert(v, i);
        let Some(op) = func.op(v) else { continue };
        if let Op::Check(space, extents) = op {
            if let Some(first) = open.get(space).copied().filter(|f| known_at(func, extents, &before, before[f])) {
                grown.entry(first).or_insert_with(|| extents_of(func, first)).extend_from_slice(extents);
                replaced.set(v, first);
                continue;
            }
            // Another memory's check must not be passed by one that may fail first.
            open.clear();
            open.insert(*space, v);
        } else if op.effects().traps || op.effects().writes {
            open.clear();
        }
        kept.push(v);
    }
    func.block_mut(b).ops = kept;
    grown
}

/// True if the addresses are there before operation `at` of the block: defined elsewhere, or
/// earlier.
fn known_at(func: &Func, extents: &[Extent], before: &HashMap<Value, usize>, at: usize) -> bool {
    extents.iter().all(|e| matches!(func.values[e.addr.0 as usize].def, Def::Param(_)) || before.get(&e.addr).is_none_or(|i| *i < at))
}

fn extents_of(func: &Func, check: Value) -> Vec<Extent> {
    match func.op(check) {
        Some(Op::Check(_, extents)) => extents.to_vec(),
        _ => Vec::new(),
    }
}
