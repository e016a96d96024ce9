//! The operations that instructions are made of, with their meaning on values of any width.
//!
//! One definition serves the reference interpreter, constant folding and the tests of every back
//! end: an operation that is added here is added everywhere, because each user matches
//! exhaustively.
//!
//! Values are unsigned integers of `width` bits, 1 ≤ width ≤ 2048, held in little-endian 64-bit
//! limbs with the bits above the width clear ([`crate::wide`]). This file evaluates those of at
//! most 64 bits; `wide` does the rest with the same names.

use crate::wide;

/// Two operands of one width in, one result of that width out (shifts take a 32-bit amount).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    /// Sum modulo 2^width.
    Add,
    /// Difference modulo 2^width.
    Sub,
    /// Product modulo 2^width.
    Mul,
    /// Unsigned quotient; a zero divisor traps.
    Div,
    /// Unsigned remainder; a zero divisor traps.
    Mod,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Left shift; an amount of width or more gives 0.
    Shl,
    /// Arithmetic right shift; an amount of width or more gives copies of the sign.
    Shr,
    /// Logical right shift; an amount of width or more gives 0.
    UShr,
    /// Rotate left by the amount modulo width.
    Rol,
    /// Rotate right by the amount modulo width.
    Ror,
    /// Unsigned sum, saturating at 2^width − 1.
    AddSatU,
    /// Signed sum, saturating at both ends.
    AddSatS,
    /// Unsigned difference, saturating at 0.
    SubSatU,
    /// Signed difference, saturating at both ends.
    SubSatS,
}

/// One operand in, one result of the same width out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnOp {
    /// Two's complement.
    Neg,
    /// Bitwise complement.
    Not,
    /// Byte order reversed; the width is a multiple of 8.
    Bswap,
    /// Number of zero bits above the highest one; width if the value is 0.
    Clz,
    /// Index of the highest one bit; all ones if the value is 0.
    FindBit,
}

/// A comparison of two values of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CmpOp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Unsigned less.
    Lt,
    /// Unsigned less or equal.
    Le,
    /// Unsigned greater.
    Gt,
    /// Unsigned greater or equal.
    Ge,
    /// Signed less.
    Lts,
    /// Signed less or equal.
    Les,
    /// Signed greater.
    Gts,
    /// Signed greater or equal.
    Ges,
}

impl BinOp {
    /// True where the right operand is a 32-bit shift amount whatever the width of the left one.
    pub fn is_shift(self) -> bool {
        matches!(self, Self::Shl | Self::Shr | Self::UShr | Self::Rol | Self::Ror)
    }

    /// True where a zero right operand traps.
    pub fn divides(self) -> bool {
        matches!(self, Self::Div | Self::Mod)
    }

    /// True where the operands may be exchanged.
    pub fn commutes(self) -> bool {
        matches!(self, Self::Add | Self::Mul | Self::And | Self::Or | Self::Xor | Self::AddSatU | Self::AddSatS)
    }

    /// The result for a width of at most 64 bits; `None` for a division by zero.
    pub fn eval(self, width: u16, a: u64, b: u64) -> Option<u64> {
        let mask = mask(width);
        let signed = |v| sign_extend(width, v);
        let raw = match self {
            Self::Add => a.wrapping_add(b),
            Self::Sub => a.wrapping_sub(b),
            Self::Mul => a.wrapping_mul(b),
            Self::Div => a.checked_div(b)?,
            Self::Mod => a.checked_rem(b)?,
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::Shl | Self::Shr | Self::UShr | Self::Rol | Self::Ror => self.shift(width, a, b as u32),
            Self::AddSatU => a.saturating_add(b).min(mask),
            Self::SubSatU => a.saturating_sub(b),
            Self::AddSatS => saturate(width, i128::from(signed(a)) + i128::from(signed(b))),
            Self::SubSatS => saturate(width, i128::from(signed(a)) - i128::from(signed(b))),
        };
        Some(raw & mask)
    }

    fn shift(self, width: u16, a: u64, by: u32) -> u64 {
        let w = u32::from(width);
        match self {
            Self::Shl => a.checked_shl(by).filter(|_| by < w).unwrap_or(0),
            Self::UShr => a.checked_shr(by).filter(|_| by < w).unwrap_or(0),
            Self::Shr => (sign_extend(width, a) >> by.min(63)) as u64,
            Self::Rol => rotate_left(width, a, by % w),
            _ => rotate_left(width, a, (w - by % w) % w),
        }
    }
}

impl UnOp {
    /// The result for a width of at most 64 bits.
    pub fn eval(self, width: u16, a: u64) -> u64 {
        let raw = match self {
            Self::Neg => a.wrapping_neg(),
            Self::Not => !a,
            Self::Bswap => a.swap_bytes() >> (64 - u32::from(width)),
            Self::Clz => u64::from(a.leading_zeros()) - (64 - u64::from(width)),
            Self::FindBit => a.checked_ilog2().map_or(u64::MAX, u64::from),
        };
        raw & mask(width)
    }
}

impl CmpOp {
    /// The verdict for a width of at most 64 bits.
    pub fn eval(self, width: u16, a: u64, b: u64) -> bool {
        let (sa, sb) = (sign_extend(width, a), sign_extend(width, b));
        self.holds(a.cmp(&b), sa.cmp(&sb))
    }

    /// The verdict, given how the operands compare as unsigned and as signed numbers.
    pub fn holds(self, unsigned: std::cmp::Ordering, signed: std::cmp::Ordering) -> bool {
        match self {
            Self::Eq => unsigned.is_eq(),
            Self::Ne => unsigned.is_ne(),
            Self::Lt => unsigned.is_lt(),
            Self::Le => unsigned.is_le(),
            Self::Gt => unsigned.is_gt(),
            Self::Ge => unsigned.is_ge(),
            Self::Lts => signed.is_lt(),
            Self::Les => signed.is_le(),
            Self::Gts => signed.is_gt(),
            Self::Ges => signed.is_ge(),
        }
    }

    /// The comparison that holds exactly when this one does not.
    pub fn negated(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
            Self::Lts => Self::Ges,
            Self::Les => Self::Gts,
            Self::Gts => Self::Les,
            Self::Ges => Self::Lts,
        }
    }

    /// The comparison with its operands exchanged.
    pub fn swapped(self) -> Self {
        match self {
            Self::Eq | Self::Ne => self,
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            Self::Lts => Self::Gts,
            Self::Les => Self::Ges,
            Self::Gts => Self::Lts,
            Self::Ges => Self::Les,
        }
    }
}

/// An `add`, `sub` or `mul` of 32-bit values that traps where the exact result does not fit.
pub fn checked32(op: BinOp, signed: bool, a: u32, b: u32) -> Option<u32> {
    match (op, signed) {
        (BinOp::Add, false) => a.checked_add(b),
        (BinOp::Sub, false) => a.checked_sub(b),
        (BinOp::Mul, false) => a.checked_mul(b),
        (BinOp::Add, true) => a.cast_signed().checked_add(b.cast_signed()).map(i32::cast_unsigned),
        (BinOp::Sub, true) => a.cast_signed().checked_sub(b.cast_signed()).map(i32::cast_unsigned),
        (BinOp::Mul, true) => a.cast_signed().checked_mul(b.cast_signed()).map(i32::cast_unsigned),
        _ => None,
    }
}

/// All ones in the low `width` bits (at most 64).
pub fn mask(width: u16) -> u64 {
    debug_assert!((1..=64).contains(&width));
    u64::MAX >> (64 - u32::from(width))
}

/// The value of `width` bits (at most 64) as a signed number.
pub fn sign_extend(width: u16, v: u64) -> i64 {
    let shift = 64 - u32::from(width);
    ((v << shift) as i64) >> shift
}

/// A value of any width from its limbs: convenience over [`wide`].
pub fn eval_bin(op: BinOp, width: u16, a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    wide::bin(op, width, a, b)
}

fn saturate(width: u16, exact: i128) -> u64 {
    let top = (1i128 << (width - 1)) - 1;
    exact.clamp(-top - 1, top) as u64
}

fn rotate_left(width: u16, a: u64, by: u32) -> u64 {
    if by == 0 { a } else { (a << by) | (a >> (u32::from(width) - by)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_past_the_width_are_defined() {
        assert_eq!(BinOp::Shl.eval(32, 1, 32), Some(0));
        assert_eq!(BinOp::UShr.eval(32, u64::from(u32::MAX), 40), Some(0));
        assert_eq!(BinOp::Shr.eval(32, 0x8000_0000, 99), Some(0xffff_ffff));
        assert_eq!(BinOp::Rol.eval(12, 0x801, 13), Some(0x003));
        assert_eq!(BinOp::Ror.eval(12, 0x801, 12), Some(0x801));
    }

    #[test]
    fn saturation_meets_both_ends() {
        assert_eq!(BinOp::AddSatU.eval(8, 200, 100), Some(255));
        assert_eq!(BinOp::AddSatU.eval(64, u64::MAX, 1), Some(u64::MAX));
        assert_eq!(BinOp::SubSatS.eval(8, 0x80, 1), Some(0x80));
        assert_eq!(BinOp::AddSatS.eval(8, 0x7f, 1), Some(0x7f));
        assert_eq!(BinOp::AddSatS.eval(64, i64::MAX as u64, 1), Some(i64::MAX as u64));
    }

    #[test]
    fn division_by_zero_has_no_value() {
        assert_eq!(BinOp::Div.eval(32, 7, 0), None);
        assert_eq!(BinOp::Mod.eval(32, 7, 0), None);
    }

    #[test]
    fn bits_of_narrow_values() {
        assert_eq!(UnOp::Bswap.eval(32, 0x0102_0304), 0x0403_0201);
        assert_eq!(UnOp::Bswap.eval(16, 0x0102), 0x0201);
        assert_eq!(UnOp::Clz.eval(32, 0), 32);
        assert_eq!(UnOp::FindBit.eval(32, 0), 0xffff_ffff);
        assert_eq!(UnOp::FindBit.eval(32, 0x8000_0000), 31);
    }
}
