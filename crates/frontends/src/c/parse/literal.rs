//! Integer constants (C11, 6.4.4.1) with 32-bit int and 64-bit long.

use crate::c::types::{I64, INT, Type, U32, U64};

/// The value and type of a preprocessing number.
pub(crate) fn number(text: &str) -> Result<(u64, Type), String> {
    let lower = text.to_ascii_lowercase();
    let hex = lower.starts_with("0x");
    if lower.contains('.') || !hex && lower.contains(['e', 'p']) {
        return Err("there are no floating-point numbers".to_owned());
    }
    let (radix, digits) = match lower.as_str() {
        _ if hex => (16, &lower[2..]),
        l if l.starts_with("0b") => (2, &lower[2..]),
        l if l.starts_with('0') && l.len() > 1 => (8, &lower[1..]),
        l => (10, l),
    };
    let suffix_at = digits.find(|c: char| !c.is_digit(16.min(if radix == 16 { 16 } else { 10 }))).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(suffix_at);
    let (unsigned, long) = suffix_of(suffix).ok_or_else(|| format!("`{suffix}` is no suffix of an integer"))?;
    let octal_zero = radix == 8 && digits.is_empty();
    let value = if octal_zero { Ok(0) } else { u64::from_str_radix(digits, radix) };
    let value = value.map_err(|_| if digits.is_empty() { "digits are missing".to_owned() } else { wrong(digits, radix) })?;
    Ok((value, type_of(value, radix == 10, unsigned, long)))
}

fn wrong(digits: &str, radix: u32) -> String {
    match digits.chars().find(|c| !c.is_digit(radix)) {
        Some(digit) => format!("`{digit}` is no digit of base {radix}"),
        None => "this number does not fit in 64 bits".to_owned(),
    }
}

/// Unsigned, long.
fn suffix_of(suffix: &str) -> Option<(bool, bool)> {
    match suffix {
        "" => Some((false, false)),
        "u" => Some((true, false)),
        "l" | "ll" => Some((false, true)),
        "ul" | "ull" | "lu" | "llu" => Some((true, true)),
        _ => None,
    }
}

fn type_of(value: u64, decimal: bool, unsigned: bool, long: bool) -> Type {
    let fits = |bits: u32| value < 1 << bits;
    match () {
        () if !unsigned && !long && fits(31) => INT,
        () if !long && fits(32) && (unsigned || !decimal) => U32,
        () if !unsigned && fits(63) => I64,
        () => U64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_the_type_of_c() {
        assert_eq!(number("0"), Ok((0, INT)));
        assert_eq!(number("017"), Ok((15, INT)));
        assert_eq!(number("2147483648"), Ok((1 << 31, I64)));
        assert_eq!(number("0x80000000"), Ok((1 << 31, U32)));
        assert_eq!(number("1u"), Ok((1, U32)));
        assert_eq!(number("1ULL"), Ok((1, U64)));
        assert_eq!(number("0b101"), Ok((5, INT)));
        assert_eq!(number("0xffffffffffffffff"), Ok((u64::MAX, U64)));
        for bad in ["1.5", "1e3", "08", "0x", "12q", "99999999999999999999", "1uu"] {
            assert!(number(bad).is_err(), "{bad}");
        }
    }
}
