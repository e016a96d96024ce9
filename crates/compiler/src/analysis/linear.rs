//! Addresses and lengths as base + offset.

use super::ranges::max;
use crate::mir::{Func, Op, Value};
use netil::ops::BinOp;

/// A 32-bit value as a sum that does not wrap: a base, if it is not constant, and an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Linear {
    pub base: Option<Value>,
    pub offset: u64,
}

/// The form of a value.
pub(crate) fn linear(func: &Func, v: Value) -> Linear {
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
