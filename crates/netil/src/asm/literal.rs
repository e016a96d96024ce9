//! Numbers of any width, as sets and wide constants use them: decimal, `0x…`, `10.0.0.1`,
//! `aa:bb:cc:dd[:ee:ff]`, IPv6 addresses.

use crate::ops::UnOp;
use crate::wide;
use std::net::Ipv6Addr;

/// Enough digits for 2,048 bits in decimal.
const MAX_DIGITS: usize = 620;

/// The value, without a bound on its width but that of [`MAX_DIGITS`].
pub(super) fn parse(text: &str) -> Option<Vec<u64>> {
    if text.len() > MAX_DIGITS {
        return None;
    }
    match text.strip_prefix("0x") {
        Some(digits) => digits_of(digits, 16),
        None if text.contains(':') => pairs(text).or_else(|| text.parse().ok().map(|a: Ipv6Addr| wide::from_be_bytes(&a.octets()))),
        None if text.contains('.') => quad(text).map(|v| vec![v.into()]),
        None => digits_of(text, 10),
    }
}

/// A dotted quad, leading zeros allowed, always decimal.
pub(super) fn quad(text: &str) -> Option<u32> {
    let byte = |part: &str| digits_of(part, 10).filter(|_| part.len() <= 3).and_then(|v| u8::try_from(v[0]).ok());
    let bytes = text.split('.').map(byte).collect::<Option<Vec<_>>>()?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// Four or six pairs of hexadecimal digits.
pub(super) fn pairs(text: &str) -> Option<Vec<u64>> {
    let byte = |part: &str| digits_of(part, 16).filter(|_| part.len() == 2).and_then(|v| u8::try_from(v[0]).ok());
    let bytes = text.split(':').map(byte).collect::<Option<Vec<_>>>()?;
    matches!(bytes.len(), 4 | 6).then(|| wide::from_be_bytes(&bytes))
}

/// The value as one of `width` bits; `None` if it does not fit. A negative one becomes its two's
/// complement.
pub(super) fn fit(mut value: Vec<u64>, width: u16, negative: bool) -> Option<Box<[u64]>> {
    let n = wide::limbs(width);
    while value.len() > n && value.last() == Some(&0) {
        value.pop();
    }
    if value.len() > n {
        return None;
    }
    value.resize(n, 0);
    let mut cut = value.clone();
    wide::normalise(width, &mut cut);
    if cut != value {
        return None;
    }
    let value = if negative { wide::un(UnOp::Neg, width, &value) } else { value };
    // The least signed value is its own complement; anything above it has no negative.
    let fits = !negative || value.iter().all(|l| *l == 0) || wide::bit(&value, u32::from(width) - 1);
    fits.then(|| value.into())
}

fn digits_of(text: &str, radix: u32) -> Option<Vec<u64>> {
    if text.is_empty() {
        return None;
    }
    let mut value = vec![0u64];
    for c in text.chars() {
        let mut carry = u128::from(c.to_digit(radix)?);
        for limb in &mut value {
            let t = u128::from(*limb) * u128::from(radix) + carry;
            *limb = t as u64;
            carry = t >> 64;
        }
        if carry > 0 {
            value.push(carry as u64);
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form() {
        assert_eq!(parse("18446744073709551616"), Some(vec![0, 1]));
        assert_eq!(parse("0x10000000000000002"), Some(vec![2, 1]));
        assert_eq!(parse("10.0.0.1"), Some(vec![0x0a00_0001]));
        assert_eq!(parse("00:1b:21:ff:00:01"), Some(vec![0x1b_21ff_0001]));
        assert_eq!(parse("2001:db8::1"), Some(vec![1, 0x2001_0db8_0000_0000]));
        for bad in ["", "0x", "12g", "1.2.3", "256.0.0.1", "1:2", "-1", "+1", "00:11:22:33:44", "1.2.3.+4", "00:11:22:+3"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn fitting() {
        assert_eq!(fit(vec![255], 8, false).as_deref(), Some(&[255][..]));
        assert_eq!(fit(vec![256], 8, false), None);
        assert_eq!(fit(vec![128], 8, true).as_deref(), Some(&[128][..]));
        assert_eq!(fit(vec![129], 8, true), None);
        assert_eq!(fit(vec![1], 65, true).as_deref(), Some(&[u64::MAX, 1][..]));
        assert_eq!(fit(vec![7, 0], 8, false).as_deref(), Some(&[7][..]));
    }
}
