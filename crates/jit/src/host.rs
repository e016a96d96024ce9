//! Arithmetic on values that registers do not hold, in safe Rust; and what the runtime's side of a
//! call from machine code works on.

use compiler::host;
use netil::fault::Deferred;
use netil::ops::{BinOp, CmpOp, UnOp};
use netil::set::Set;
use netil::wide;

/// What calls work on.
pub(crate) struct Host<'h, 'b> {
    /// Work on packets, memories and tables.
    pub host: host::Host<'h, 'b>,
    /// Jobs by number.
    pub jobs: &'h [Job],
    /// What has failed in a call: it goes on when compiled code has returned.
    pub failed: Deferred,
}

/// Arithmetic on values that registers do not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Bin(BinOp, u16),
    Un(UnOp, u16),
    Cmp(CmpOp, u16),
    /// from, to, signed
    Resize(u16, u16, bool),
    /// from, to, lowest bit
    Slice(u16, u16, u16),
    /// high, low
    Concat(u16, u16),
    SetHas(u32, u16),
}

impl Job {
    /// The widths of the operands.
    pub fn operands(self) -> Vec<u16> {
        match self {
            Self::Bin(op, w) => vec![w, if op.is_shift() { 32 } else { w }],
            Self::Cmp(_, w) => vec![w, w],
            Self::Un(_, w) | Self::Resize(w, ..) | Self::Slice(w, ..) | Self::SetHas(_, w) => vec![w],
            Self::Concat(high, low) => vec![high, low],
        }
    }

    /// The result: limbs, or a flag.
    pub fn run(self, operands: &[&[u64]], sets: &[Set]) -> Result<Vec<u64>, bool> {
        let a = operands[0];
        match self {
            // The divisor was tested, so there is a value.
            Self::Bin(op, w) => Ok(wide::bin(op, w, a, operands[1]).unwrap_or_else(|| vec![0; wide::limbs(w)])),
            Self::Un(op, w) => Ok(wide::un(op, w, a)),
            Self::Cmp(op, w) => Err(wide::cmp(op, w, a, operands[1])),
            Self::Resize(from, to, signed) => Ok(wide::resize(from, to, signed, a)),
            Self::Slice(from, to, low) => Ok(wide::slice(from, a, low + to - 1, low)),
            Self::Concat(high, low) => Ok(wide::concat(high, a, low, operands[1])),
            Self::SetHas(set, _) => Err(sets[set as usize].contains(a)),
        }
    }
}
