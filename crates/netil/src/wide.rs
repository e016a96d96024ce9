//! Arithmetic on values of 1 to 2,048 bits in little-endian 64-bit limbs.
//!
//! Invariant: a value of `width` bits has [`limbs`]`(width)` limbs and the bits above the width are 0. Every function
//! takes and gives such values. Simple loops, not fast ones: this is the meaning that compiled code is tested against.

use crate::ops::{BinOp, CmpOp, UnOp};
use std::cmp::Ordering;

/// The widest value, in bits.
pub const MAX_WIDTH: u16 = 2048;

/// The number of limbs that a value of `width` bits takes.
pub const fn limbs(width: u16) -> usize {
    (width as usize).div_ceil(64)
}

/// Clears the bits above `width`.
pub fn normalise(width: u16, v: &mut [u64]) {
    let spare = limbs(width) * 64 - usize::from(width);
    if let Some(top) = v.last_mut() {
        *top &= u64::MAX >> spare;
    }
}

/// `a op b`; `None` for a division by zero. The right operand of a shift is one limb holding 32 bits.
pub fn bin(op: BinOp, width: u16, a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    if width <= 64 {
        return op.eval(width, a[0], b[0]).map(|v| vec![v]);
    }
    let mut r = match op {
        BinOp::Add => add(a, b, 0).0,
        BinOp::Sub => sub(a, b).0,
        BinOp::Mul => mul(a, b),
        BinOp::Div => div_rem(width, a, b)?.0,
        BinOp::Mod => div_rem(width, a, b)?.1,
        BinOp::And => zip(a, b, |x, y| x & y),
        BinOp::Or => zip(a, b, |x, y| x | y),
        BinOp::Xor => zip(a, b, |x, y| x ^ y),
        BinOp::Shl | BinOp::Shr | BinOp::UShr | BinOp::Rol | BinOp::Ror => shift(op, width, a, b[0] as u32),
        BinOp::AddSatU | BinOp::AddSatS | BinOp::SubSatU | BinOp::SubSatS => saturating(op, width, a, b),
    };
    normalise(width, &mut r);
    Some(r)
}

/// `op a`.
pub fn un(op: UnOp, width: u16, a: &[u64]) -> Vec<u64> {
    if width <= 64 {
        return vec![op.eval(width, a[0])];
    }
    let mut r = match op {
        UnOp::Neg => add(&not(a), &[], 1).0,
        UnOp::Not => not(a),
        UnOp::Bswap => swap_bytes(width, a),
        UnOp::Clz => small(a.len(), u64::from(width) - bit_length(a)),
        UnOp::FindBit => match bit_length(a) {
            0 => vec![u64::MAX; a.len()],
            n => small(a.len(), n - 1),
        },
    };
    normalise(width, &mut r);
    r
}

/// How two values compare.
pub fn cmp(op: CmpOp, width: u16, a: &[u64], b: &[u64]) -> bool {
    let unsigned = compare(a, b);
    let signed = match (bit(a, u32::from(width) - 1), bit(b, u32::from(width) - 1)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => unsigned,
    };
    op.holds(unsigned, signed)
}

/// Unsigned comparison of two values with the same number of limbs.
pub fn compare(a: &[u64], b: &[u64]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

/// The value at another width: cut off, or extended with zeros or with copies of the sign.
pub fn resize(from: u16, to: u16, signed: bool, a: &[u64]) -> Vec<u64> {
    let fill = signed && bit(a, u32::from(from) - 1);
    let mut r = vec![if fill { u64::MAX } else { 0 }; limbs(to)];
    for (i, limb) in r.iter_mut().enumerate().take(a.len()) {
        *limb = a[i];
    }
    if fill && !from.is_multiple_of(64) && limbs(from) <= r.len() {
        r[limbs(from) - 1] |= u64::MAX << (from % 64);
    }
    normalise(to, &mut r);
    r
}

/// Bits `hi..=lo` as a value of `hi − lo + 1` bits.
pub fn slice(width: u16, a: &[u64], hi: u16, lo: u16) -> Vec<u64> {
    let shifted = shift(BinOp::UShr, width, a, u32::from(lo));
    resize(width, hi - lo + 1, false, &shifted)
}

/// `high ‖ low`, with `low` in the least significant bits.
pub fn concat(high_width: u16, high: &[u64], low_width: u16, low: &[u64]) -> Vec<u64> {
    let width = high_width + low_width;
    let high = resize(high_width, width, false, high);
    let mut r = shift(BinOp::Shl, width, &high, u32::from(low_width));
    for (r, l) in r.iter_mut().zip(low) {
        *r |= l;
    }
    r
}

/// The value of `bytes` read with the most significant byte first.
pub fn from_be_bytes(bytes: &[u8]) -> Vec<u64> {
    let mut r = vec![0; bytes.len().div_ceil(8)];
    for (i, byte) in bytes.iter().rev().enumerate() {
        r[i / 8] |= u64::from(*byte) << (8 * (i % 8));
    }
    r
}

/// The low `out.len()` bytes, most significant first.
pub fn to_be_bytes(v: &[u64], out: &mut [u8]) {
    for (i, byte) in out.iter_mut().rev().enumerate() {
        *byte = (v[i / 8] >> (8 * (i % 8))) as u8;
    }
}

/// The value of `bytes` read with the least significant byte first.
pub fn from_le_bytes(bytes: &[u8]) -> Vec<u64> {
    let mut r = vec![0; bytes.len().div_ceil(8)];
    for (i, byte) in bytes.iter().enumerate() {
        r[i / 8] |= u64::from(*byte) << (8 * (i % 8));
    }
    r
}

/// The low `out.len()` bytes, least significant first.
pub fn to_le_bytes(v: &[u64], out: &mut [u8]) {
    for (i, byte) in out.iter_mut().enumerate() {
        *byte = (v[i / 8] >> (8 * (i % 8))) as u8;
    }
}

/// Bit `i`, counted from the least significant.
pub fn bit(v: &[u64], i: u32) -> bool {
    (v[i as usize / 64] >> (i % 64)) & 1 == 1
}

fn add(a: &[u64], b: &[u64], carry: u64) -> (Vec<u64>, bool) {
    let mut carry = carry;
    let sum = |(i, x): (usize, &u64)| {
        let t = u128::from(*x) + u128::from(b.get(i).copied().unwrap_or(0)) + u128::from(carry);
        carry = (t >> 64) as u64;
        t as u64
    };
    let r = a.iter().enumerate().map(sum).collect();
    (r, carry != 0)
}

fn sub(a: &[u64], b: &[u64]) -> (Vec<u64>, bool) {
    let (r, no_borrow) = add(a, &not(b), 1);
    (r, !no_borrow)
}

fn mul(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut r = vec![0u64; a.len()];
    for (i, x) in a.iter().enumerate() {
        let mut carry = 0u128;
        for (j, y) in b.iter().enumerate().take(a.len() - i) {
            let t = u128::from(*x) * u128::from(*y) + u128::from(r[i + j]) + carry;
            r[i + j] = t as u64;
            carry = t >> 64;
        }
    }
    r
}

/// Schoolbook division, a bit at a time. The partial remainder stays below the divisor, so doubling it overflows the limbs
/// only when its top bit is set; then it exceeds any divisor and the subtraction wraps back to the right value.
fn div_rem(width: u16, a: &[u64], b: &[u64]) -> Option<(Vec<u64>, Vec<u64>)> {
    if bit_length(b) == 0 {
        return None;
    }
    let (mut q, mut r) = (vec![0; a.len()], vec![0; a.len()]);
    for i in (0..u32::from(width)).rev() {
        let overflow = r[r.len() - 1] >> 63 == 1;
        shift_in(&mut r, bit(a, i));
        if overflow || compare(&r, b).is_ge() {
            take_away(&mut r, b);
            q[i as usize / 64] |= 1 << (i % 64);
        }
    }
    Some((q, r))
}

/// Doubles a value and adds a bit.
fn shift_in(v: &mut [u64], bit: bool) {
    let mut low = u64::from(bit);
    for limb in v {
        (*limb, low) = (*limb << 1 | low, *limb >> 63);
    }
}

fn take_away(a: &mut [u64], b: &[u64]) {
    let mut borrow = false;
    for (x, y) in a.iter_mut().zip(b) {
        let (difference, first) = x.overflowing_sub(*y);
        let (difference, second) = difference.overflowing_sub(borrow.into());
        (*x, borrow) = (difference, first | second);
    }
}

fn shift(op: BinOp, width: u16, a: &[u64], by: u32) -> Vec<u64> {
    let w = u32::from(width);
    let sign = op == BinOp::Shr && bit(a, w - 1);
    let source = |i: u32| match op {
        BinOp::Shl => i.checked_sub(by).is_some_and(|s| bit(a, s)),
        BinOp::Rol => bit(a, (i + w - by % w) % w),
        BinOp::Ror => bit(a, (i + by % w) % w),
        _ => i.checked_add(by).filter(|s| *s < w).map_or(sign, |s| bit(a, s)),
    };
    let mut r = vec![0; a.len()];
    for i in (0..w).filter(|i| source(*i)) {
        r[i as usize / 64] |= 1 << (i % 64);
    }
    r
}

/// One spare bit holds the exact result; clamping it to the range of the width gives the saturated one.
fn saturating(op: BinOp, width: u16, a: &[u64], b: &[u64]) -> Vec<u64> {
    let signed = matches!(op, BinOp::AddSatS | BinOp::SubSatS);
    let wider = width + 2;
    let (a, b) = (resize(width, wider, signed, a), resize(width, wider, signed, b));
    let mut exact = if matches!(op, BinOp::AddSatU | BinOp::AddSatS) { add(&a, &b, 0).0 } else { sub(&a, &b).0 };
    normalise(wider, &mut exact);
    let (low, high) = bounds(width, signed);
    let clamped = match () {
        () if cmp(CmpOp::Lts, wider, &exact, &low) => low,
        () if cmp(CmpOp::Gts, wider, &exact, &high) => high,
        () => exact,
    };
    resize(wider, width, false, &clamped)
}

/// The least and greatest value of a width, two bits wider.
fn bounds(width: u16, signed: bool) -> (Vec<u64>, Vec<u64>) {
    let ones = not(&vec![0; limbs(width)]);
    let mut top = ones.clone();
    normalise(width, &mut top);
    if !signed {
        return (vec![0; limbs(width + 2)], resize(width, width + 2, false, &top));
    }
    let max = shift(BinOp::UShr, width, &top, 1);
    let min = un(UnOp::Not, width, &max);
    (resize(width, width + 2, true, &min), resize(width, width + 2, true, &max))
}

fn swap_bytes(width: u16, a: &[u64]) -> Vec<u64> {
    let mut bytes = vec![0; usize::from(width / 8)];
    to_be_bytes(a, &mut bytes);
    from_le_bytes(&bytes)
}

fn bit_length(v: &[u64]) -> u64 {
    v.iter().rposition(|l| *l != 0).map_or(0, |i| 64 * i as u64 + u64::from(64 - v[i].leading_zeros()))
}

fn small(len: usize, v: u64) -> Vec<u64> {
    let mut r = vec![0; len];
    r[0] = v;
    r
}

fn not(a: &[u64]) -> Vec<u64> {
    a.iter().map(|x| !x).collect()
}

fn zip(a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    a.iter().zip(b).map(|(x, y)| f(*x, *y)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v128(v: u128) -> Vec<u64> {
        vec![v as u64, (v >> 64) as u64]
    }

    fn edge() -> Vec<u128> {
        let mut v = vec![0, 1, 2, 0xff, u128::from(u64::MAX), 1 << 64, u128::MAX, u128::MAX - 1, 1 << 127, (1 << 127) - 1];
        v.extend((0..20).map(|i| 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835u128.wrapping_mul(i * i + 1)));
        v
    }

    #[test]
    fn agrees_with_native_128_bit_arithmetic() {
        for a in edge() {
            for b in edge() {
                let run = |op| bin(op, 128, &v128(a), &v128(b));
                assert_eq!(run(BinOp::Add), Some(v128(a.wrapping_add(b))));
                assert_eq!(run(BinOp::Sub), Some(v128(a.wrapping_sub(b))));
                assert_eq!(run(BinOp::Mul), Some(v128(a.wrapping_mul(b))));
                assert_eq!(run(BinOp::Div), a.checked_div(b).map(v128));
                assert_eq!(run(BinOp::Mod), a.checked_rem(b).map(v128));
                assert_eq!(run(BinOp::AddSatU), Some(v128(a.saturating_add(b))));
                assert_eq!(run(BinOp::SubSatU), Some(v128(a.saturating_sub(b))));
                assert_eq!(run(BinOp::AddSatS), Some(v128((a as i128).saturating_add(b as i128) as u128)));
                assert_eq!(run(BinOp::SubSatS), Some(v128((a as i128).saturating_sub(b as i128) as u128)));
                assert_eq!(cmp(CmpOp::Lts, 128, &v128(a), &v128(b)), (a as i128) < (b as i128));
                assert_eq!(cmp(CmpOp::Ge, 128, &v128(a), &v128(b)), a >= b);
            }
        }
    }

    #[test]
    fn shifts_agree_with_native() {
        for a in edge() {
            for by in [0u32, 1, 63, 64, 65, 127, 128, 500] {
                let run = |op| bin(op, 128, &v128(a), &[u64::from(by)]).unwrap();
                assert_eq!(run(BinOp::Shl), v128(a.checked_shl(by).unwrap_or(0)));
                assert_eq!(run(BinOp::UShr), v128(a.checked_shr(by).unwrap_or(0)));
                assert_eq!(run(BinOp::Shr), v128(((a as i128) >> by.min(127)) as u128));
                assert_eq!(run(BinOp::Rol), v128(a.rotate_left(by)));
                assert_eq!(run(BinOp::Ror), v128(a.rotate_right(by)));
            }
        }
    }

    #[test]
    fn slices_and_concatenations_invert_each_other() {
        let v = from_be_bytes(&[0x20, 1, 0xd, 0xb8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0xaa, 0x55]);
        for cut in [1u16, 8, 63, 64, 65, 100, 127] {
            let (high, low) = (slice(128, &v, 127, cut), slice(128, &v, cut - 1, 0));
            assert_eq!(concat(128 - cut, &high, cut, &low), v);
        }
    }

    #[test]
    fn byte_orders() {
        let bytes: Vec<u8> = (1..=20).collect();
        let v = from_be_bytes(&bytes);
        let mut back = [0; 20];
        to_be_bytes(&v, &mut back);
        assert_eq!(&back[..], &bytes[..]);
        assert_eq!(un(UnOp::Bswap, 160, &v), from_le_bytes(&bytes));
    }

    #[test]
    fn sign_extension_crosses_limbs() {
        assert_eq!(resize(48, 128, true, &[0x8000_0000_0000]), vec![0xffff_8000_0000_0000, u64::MAX]);
        assert_eq!(resize(64, 100, true, &[1 << 63]), vec![1 << 63, (1 << 36) - 1]);
        assert_eq!(resize(128, 48, true, &[u64::MAX, 0]), vec![0xffff_ffff_ffff]);
    }
}
