//! Checksums that are brought up to date in several steps that follow each other ([RFC
//! 1624](https://www.rfc-editor.org/rfc/rfc1624)): only the last is folded.

use crate::mir::{Func, Helper, Op, Value};

/// Steps in which a checksum is changed and which are looked at together.
const STEPS: u32 = 8;

/// Whether a checksum is that of fewer steps, whose sum is then far from what 32 bits hold;
/// programs may have any number of them.
pub(crate) fn is_near(func: &Func, v: Value) -> bool {
    let before = |v: &Value| match func.op(*v) {
        Some(Op::Helper(Helper::ChecksumAdd | Helper::ChecksumSub, args, _)) => Some(args[0]),
        _ => None,
    };
    std::iter::successors(Some(v), before).take(STEPS as usize + 1).count() <= STEPS as usize
}

/// What a checksum was before constants were added and taken out, and the sum that comes to its
/// complement by them.
pub(crate) fn less(func: &Func, mut v: Value) -> Option<(Value, u32)> {
    let mut sum = 0;
    for _ in 0..STEPS {
        let Some(Op::Helper(helper @ (Helper::ChecksumAdd | Helper::ChecksumSub), args, _)) = func.op(v) else { return Some((v, sum)) };
        let term = func.constant(args[1])? as u32 & 0xffff;
        sum += if *helper == Helper::ChecksumSub { 0xffff ^ term } else { term };
        v = args[0];
    }
    None
}

/// A sum modulo 65,535, but 65,535 in the place of 0; only 0 itself stays 0.
pub(crate) fn folded(sum: u32) -> u32 {
    if sum > 0 { (sum - 1) % 0xffff + 1 } else { 0 }
}
