//! OpenCL C: a kernel whose work items are packets.
//!
//! The elements' functions are those of C. Packets are run at once and in no order, so nothing
//! lasts from one to the other; they lie in global memory, and do not grow. Memories that the init
//! handler filled are constants.
//!
//! Source: The OpenCL C Specification, version 1.2. Leaves out values of more than 64 bits, which
//! OpenCL C does not have.

use super::super::Unsupported;
use crate::mir::{Func, Helper, Op};
use netil::ops::BinOp;
use netil::table::Space;

/// Before the functions.
pub(super) const PRELUDE: &str = include_str!("opencl.cl");
/// Behind them.
pub(super) const KERNEL: &str = include_str!("kernel.cl");

/// That values are as wide as OpenCL C has them.
pub(super) fn admits(func: &Func) -> Result<(), Unsupported> {
    for v in func.blocks.iter().flat_map(|block| &block.ops) {
        let width = func.width(*v);
        let saturating = matches!(func.op(*v), Some(Op::Bin(BinOp::AddSatS | BinOp::AddSatU | BinOp::SubSatS, ..)));
        let most = if saturating { 32 } else { 64 };
        if width > most {
            let what = if saturating { "a saturating sum" } else { "a value" };
            return Err(Unsupported(format!("{what} of {width} bits")));
        }
    }
    Ok(())
}

/// That an operation neither keeps something for other packets nor makes one longer. In an
/// application packets' numbers are those of arrivals, which work items do not know.
pub(super) fn admits_op(op: &Op, application: bool) -> Result<(), &'static str> {
    match op {
        Op::Store(Space::Data | Space::Shared, ..) | Op::ExceptionStore(..) | Op::ExceptionLoad(_) => {
            Err("memory that lasts: packets are run at once")
        }
        Op::Random(_) if application => Err("random numbers of elements: work items do not know packets' numbers"),
        Op::Helper(helper, ..) => match helper {
            Helper::Find(_)
            | Helper::Peek(_)
            | Helper::Insert(_)
            | Helper::DeleteEntry(_)
            | Helper::Walk(_)
            | Helper::Due(_)
            | Helper::NextKey(_)
            | Helper::WalkedKey(_)
            | Helper::Deadline(_)
            | Helper::EntryLoad(..)
            | Helper::EntryStore(..) => Err("tables"),
            Helper::PushHead | Helper::GrowTail | Helper::Unpull => Err("packets that get longer"),
            Helper::Copy(..) | Helper::FieldCmp(_) => Err("copies and comparisons of ranges of bytes"),
            Helper::Crc(_) => Err("a CRC of a value"),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
