//! One length test for a header, not one for each of its fields.
//!
//! Idea: `len ≥ 24 and type = ip and len ≥ 34 and …`, where each failure leads to the same place,
//! asks for the longest length at once: a packet that is too short for a later test goes where an
//! earlier one may send it, too. Lengths relative to the same value (`len ≥ v + 16`,
//! `len ≥ v + 18`) likewise. Source: the seed's bounds-check elimination, one check per header;
//! Gupta, "Optimizing array bound checks using flow analysis" (1993), on strengthening an earlier
//! check. Phases: from each length test along the way on which tests succeed, as long as nothing
//! happens that could be seen; then the first test is made the strongest, and the others are jumps.
//! Price: linear, [`REACH`] blocks for each length test.

use super::Context;
use super::decisions::{follow, quiet};
use crate::analysis::lengths::length_test;
use crate::analysis::ranges::max;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Edge, Func, Op, Terminator, Type, Value};
use netil::ops::{BinOp, CmpOp};

/// Blocks looked at behind a test.
const REACH: usize = 32;

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    if func.changes_geometry() {
        return;
    }
    let cfg = Cfg::new(func);
    for b in &cfg.order {
        let Some(first) = test(func, *b) else { continue };
        let others = others(func, &cfg, &first);
        let Some(most) = others.iter().map(|(_, test)| test.least).max() else { continue };
        context.note(|| format!("{} length tests behind the one of {b:?} join it, which asks for {}", others.len(), most.max(first.least)));
        if most > first.least {
            strengthen(func, *b, &first, most);
        }
        for (block, test) in others {
            func.block_mut(block).end = Terminator::Jump(test.pass);
        }
    }
}

/// A branch that is passed if `len ≥ base + least`.
struct LengthTest {
    len: Value,
    base: Option<Value>,
    least: u64,
    pass: Edge,
    fail: Edge,
}

fn test(func: &Func, b: Block) -> Option<LengthTest> {
    let Terminator::Branch(c, yes, no) = &func.block(b).end else { return None };
    let Op::Cmp(op, x, y) = func.op(*c)? else { return None };
    let (op, form) = length_test(func, *op, *x, *y)?;
    let len = if matches!(func.op(*x), Some(Op::PacketLen)) { *x } else { *y };
    let (least, holds) = match op {
        CmpOp::Ge => (form.offset, true),
        CmpOp::Gt => (form.offset + 1, true),
        CmpOp::Lt => (form.offset, false),
        CmpOp::Le => (form.offset + 1, false),
        _ => return None,
    };
    let (pass, fail) = if holds { (yes, no) } else { (no, yes) };
    (pass != fail).then(|| LengthTest { len, base: form.base, least, pass: pass.clone(), fail: fail.clone() })
}

/// The tests of the same length behind this one, with their blocks, that fail to the same place.
fn others(func: &Func, cfg: &Cfg, first: &LengthTest) -> Vec<(Block, LengthTest)> {
    let mut found = Vec::new();
    let mut way = first.pass.clone();
    for _ in 0..REACH {
        let next = way.block;
        if !follow(func, cfg, next) || !quiet(func, next) {
            break;
        }
        way = match &func.block(next).end {
            Terminator::Jump(e) => e.clone(),
            Terminator::Branch(_, yes, no) if *no == first.fail => yes.clone(),
            Terminator::Branch(_, yes, no) if *yes == first.fail => no.clone(),
            _ => break,
        };
        let same = |t: &LengthTest| t.base == first.base && t.len == first.len && t.fail == first.fail && fits(func, t);
        found.extend(test(func, next).filter(same).map(|t| (next, t)));
    }
    found
}

/// True if the length asked for is a number of 32 bits, whatever the base is.
fn fits(func: &Func, test: &LengthTest) -> bool {
    test.base.map_or(0, |base| max(func, base)).saturating_add(test.least) <= u64::from(u32::MAX)
}

fn strengthen(func: &mut Func, b: Block, test: &LengthTest, least: u64) {
    let constant = func.append(b, Type::Int(32), Op::Const(least));
    let end = match test.base {
        None => constant,
        Some(base) => func.append(b, Type::Int(32), Op::Bin(BinOp::Add, base, constant)),
    };
    let short = func.append(b, Type::Int(1), Op::Cmp(CmpOp::Lt, test.len, end));
    func.block_mut(b).end = Terminator::Branch(short, test.fail.clone(), test.pass.clone());
}
