//! What is known about values: upper bounds and base + offset forms.

use crate::mir::{Func, Op, Value};
use netil::ops::{BinOp, mask};

/// How far to look behind a value.
const DEPTH: u32 = 8;

/// An upper bound of a value of at most 64 bits.
pub(super) fn max(func: &Func, v: Value) -> u64 {
    bound(func, v, DEPTH)
}

fn bound(func: &Func, v: Value, depth: u32) -> u64 {
    let width = func.width(v);
    if width == 0 || width > 64 {
        return u64::MAX;
    }
    let all = mask(width);
    let (Some(op), true) = (func.op(v), depth > 0) else { return all };
    let max = |v: Value| bound(func, v, depth - 1);
    match op {
        Op::Const(c) => *c,
        Op::Zext(a) => max(*a),
        Op::Select(_, a, b) => max(*a).max(max(*b)),
        Op::Bin(BinOp::And, a, b) => max(*a).min(max(*b)),
        Op::Bin(BinOp::UShr, a, b) => func.constant(*b).map_or(max(*a), |by| max(*a).checked_shr(by as u32).unwrap_or(0)),
        Op::Bin(BinOp::Shl, a, b) => func.constant(*b).and_then(|by| shifted(max(*a), by)).map_or(all, |m| m.min(all)),
        Op::Bin(BinOp::Add, a, b) => max(*a).checked_add(max(*b)).filter(|m| *m <= all).unwrap_or(all),
        Op::Bin(BinOp::Or | BinOp::Xor, a, b) => (max(*a) | max(*b)).checked_ilog2().map_or(0, |top| u64::MAX >> (63 - top)),
        Op::Div(BinOp::Mod, _, b, _) => max(*b).saturating_sub(1),
        Op::Div(_, a, ..) => max(*a),
        _ => all,
    }
}

fn shifted(v: u64, by: u64) -> Option<u64> {
    let by = u32::try_from(by).ok().filter(|by| *by < 64 && v.leading_zeros() >= *by)?;
    Some(v << by)
}

/// A 32-bit value as a sum that does not wrap: a base, if it is not constant, and an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Linear {
    pub base: Option<Value>,
    pub offset: u64,
}

pub(super) fn linear(func: &Func, v: Value) -> Linear {
    let mut form = Linear { base: Some(v), offset: 0 };
    while let Some(base) = form.base {
        match func.op(base) {
            Some(Op::Const(c)) => form = Linear { base: None, offset: form.offset + c },
            Some(Op::Bin(BinOp::Add, a, b)) => match func.constant(*b) {
                Some(c) if max(func, *a) + c <= u64::from(u32::MAX) => form = Linear { base: Some(*a), offset: form.offset + c },
                _ => break,
            },
            _ => break,
        }
    }
    form
}
