//! Arithmetic on values of 1 to 2,048 bits in little-endian 64-bit limbs.
//!
//! Invariant: a value of `width` bits has [`limbs`]`(width)` limbs and the bits above the width are
//! 0. Every function takes and gives such values. This is the meaning that compiled code is tested
//! against, and what compiled code calls for widths that it has no registers for.

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

/// `a op b`; `None` for a division by zero. The right operand of a shift is one limb holding 32
/// bits.
pub fn bin(op: BinOp, width: u16, a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    if width <= 64 {
        return op.eval(width, a[0], b[0]).map(|v| vec![v]);
    }
    let mut r = match op {
        BinOp::Add => add(a, b, 0).0,
        BinOp::Sub => sub(a, b).0,
        BinOp::Mul => mul(a, b),
        BinOp::Div => div_rem(a, b)?.0,
        BinOp::Mod => div_rem(a, b)?.1,
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

/// Quotient and remainder; `None` for a division by zero.
fn div_rem(a: &[u64], b: &[u64]) -> Option<(Vec<u64>, Vec<u64>)> {
    let limbs = b.iter().rposition(|limb| *limb != 0)? + 1;
    if limbs > 1 {
        return Some(long_division(a, &b[..limbs]));
    }
    let (mut q, mut r) = (vec![0; a.len()], vec![0; a.len()]);
    for i in (0..a.len()).rev() {
        let part = u128::from(r[0]) << 64 | u128::from(a[i]);
        q[i] = (part / u128::from(b[0])) as u64;
        r[0] = (part % u128::from(b[0])) as u64;
    }
    Some((q, r))
}

/// Long division by two limbs or more, of which the highest is not 0 (Knuth, The Art of Computer
/// Programming 2, 4.3.1, algorithm D).
fn long_division(a: &[u64], b: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let (n, spare) = (b.len(), b[b.len() - 1].leading_zeros());
    let mut divisor = b.to_vec();
    shift_left(&mut divisor, spare);
    let mut rest = [a, &[0]].concat();
    shift_left(&mut rest, spare);
    let mut q = vec![0; a.len()];
    for at in (0..(a.len() + 1).saturating_sub(n)).rev() {
        q[at] = quotient_limb(&mut rest[at..=at + n], &divisor);
    }
    rest.truncate(a.len());
    shift_right(&mut rest, spare);
    (q, rest)
}

/// One limb of a quotient, with that many times the divisor taken from `rest`, which has a limb
/// more.
fn quotient_limb(rest: &mut [u64], divisor: &[u64]) -> u64 {
    let n = divisor.len();
    let (high, next) = (u128::from(divisor[n - 1]), u128::from(divisor[n - 2]));
    let top = u128::from(rest[n]) << 64 | u128::from(rest[n - 1]);
    let (mut guess, mut left) = (top / high, top % high);
    // At most two too much, with the second limb looked at.
    while left >> 64 == 0 && (guess >> 64 != 0 || guess * next > (left << 64 | u128::from(rest[n - 2]))) {
        (guess, left) = (guess - 1, left + high);
    }
    if !take_times(rest, divisor, guess as u64) {
        return guess as u64;
    }
    // One too much after all.
    let mut carry = 0;
    for (limb, d) in rest.iter_mut().zip(divisor.iter().chain(&[0])) {
        let sum = u128::from(*limb) + u128::from(*d) + carry;
        (*limb, carry) = (sum as u64, sum >> 64);
    }
    guess as u64 - 1
}

/// Takes `times` the divisor from a value. True if it was less.
fn take_times(from: &mut [u64], divisor: &[u64], times: u64) -> bool {
    let (mut carry, mut borrow) = (0u128, false);
    for (limb, d) in from.iter_mut().zip(divisor.iter().chain(&[0])) {
        let product = u128::from(*d) * u128::from(times) + carry;
        carry = product >> 64;
        let (difference, first) = limb.overflowing_sub(product as u64);
        let (difference, second) = difference.overflowing_sub(borrow.into());
        (*limb, borrow) = (difference, first | second);
    }
    borrow
}

/// By any number of bits.
fn shift_left(v: &mut [u64], by: u32) {
    let (limbs, bits) = (by as usize / 64, by % 64);
    for i in (0..v.len()).rev() {
        let limb = |at: Option<usize>| at.map_or(0, |at| v[at]);
        let low = limb(i.checked_sub(limbs + 1)).checked_shr(64 - bits).unwrap_or(0);
        v[i] = limb(i.checked_sub(limbs)) << bits | low;
    }
}

/// By any number of bits.
fn shift_right(v: &mut [u64], by: u32) {
    let (limbs, bits) = (by as usize / 64, by % 64);
    for i in 0..v.len() {
        let limb = |at: usize| v.get(at).copied().unwrap_or(0);
        v[i] = limb(i + limbs) >> bits | limb(i + limbs + 1).checked_shl(64 - bits).unwrap_or(0);
    }
}

fn shift(op: BinOp, width: u16, a: &[u64], by: u32) -> Vec<u64> {
    let w = u32::from(width);
    let mut r = a.to_vec();
    match op {
        BinOp::Shl => shift_left(&mut r, by),
        BinOp::Rol => rotate_left(width, &mut r, by % w),
        BinOp::Ror => rotate_left(width, &mut r, (w - by % w) % w),
        BinOp::Shr if bit(a, w - 1) => {
            // The bits that come in are ones: those of the complement are zeros.
            r = not(&r);
            normalise(width, &mut r);
            shift_right(&mut r, by);
            r = not(&r);
        }
        _ => shift_right(&mut r, by),
    }
    normalise(width, &mut r);
    r
}

fn rotate_left(width: u16, v: &mut [u64], by: u32) {
    let mut out = v.to_vec();
    shift_right(&mut out, u32::from(width) - by);
    shift_left(v, by);
    for (limb, out) in v.iter_mut().zip(out) {
        *limb |= out;
    }
}

/// One spare bit holds the exact result; clamping it to the range of the width gives the saturated
/// one.
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

    /// Numbers with runs of ones and zeros, which carry and borrow far.
    fn numbers(width: u16) -> Vec<Vec<u64>> {
        let mut state = u64::from(width) | 1;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        let mut all = Vec::new();
        for _ in 0..24 {
            let limb = |random: &mut dyn FnMut() -> u64| match random() % 6 {
                0 => 0,
                1 => u64::MAX,
                2 => 1 << (random() % 64),
                3 => u64::MAX << (random() % 64),
                _ => random() << 20 ^ random(),
            };
            let mut v: Vec<u64> = (0..limbs(width)).map(|_| limb(&mut random)).collect();
            let kept = random() as usize % (v.len() + 1);
            v[kept..].fill(0);
            normalise(width, &mut v);
            all.push(v);
        }
        all
    }

    /// A bit at a time: the partial remainder has a limb more.
    fn divided_by_bits(width: u16, a: &[u64], b: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let (mut q, mut r) = (vec![0; a.len()], vec![0; a.len() + 1]);
        let b = [b, &[0]].concat();
        for i in (0..u32::from(width)).rev() {
            shift_left(&mut r, 1);
            r[0] |= u64::from(bit(a, i));
            if compare(&r, &b).is_ge() {
                r = sub(&r, &b).0;
                q[i as usize / 64] |= 1 << (i % 64);
            }
        }
        r.truncate(a.len());
        (q, r)
    }

    fn shifted_by_bits(op: BinOp, width: u16, a: &[u64], by: u32) -> Vec<u64> {
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

    #[test]
    fn limbs_at_a_time_are_bits_at_a_time() {
        for width in [65, 72, 127, 128, 129, 192, 200, 576, 2048] {
            let numbers = numbers(width);
            for (a, b) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (a, b))) {
                let whole = divided_by_bits(width, a, b);
                let wanted = b.iter().any(|limb| *limb != 0).then_some(whole);
                assert_eq!(div_rem(a, b), wanted, "{width} bits: {a:x?} / {b:x?}");
            }
            for a in &numbers {
                for by in [0, 1, 7, 63, 64, 65, 127, 128, 130, u32::from(width) - 1, width.into(), u32::from(width) + 1, u32::MAX] {
                    for op in [BinOp::Shl, BinOp::Shr, BinOp::UShr, BinOp::Rol, BinOp::Ror] {
                        assert_eq!(shift(op, width, a, by), shifted_by_bits(op, width, a, by), "{width} bits: {a:x?} {op:?} {by}");
                    }
                }
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
