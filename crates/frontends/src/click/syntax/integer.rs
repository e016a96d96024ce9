//! Integers: decimal, `0x`, `0b`, and `0` for octal; underscores may stand between digits.
//!
//! Source: Click's manual of `IntArg`.

use super::{ArgumentError, Reading, number};
use crate::c::Value;

pub(super) fn read(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    number(parse(text, 0)?, reading.ty)
}

pub(super) fn read_hex(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    number(parse(text, 16)?, reading.ty)
}

/// The number that a whole text is, of any size that types have. Base 0: as its prefix says.
pub(in crate::click) fn parse(text: &str, base: u32) -> Result<i128, ArgumentError> {
    let wrong = || ArgumentError::new("is not an integer");
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (base, digits) = prefixed(digits, base);
    if digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") {
        return Err(wrong());
    }
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(base)) {
        return Err(wrong());
    }
    let digits = digits.trim_start_matches('0');
    let value = if digits.is_empty() { 0 } else { i128::from_str_radix(digits, base).unwrap_or(i128::MAX) };
    Ok(if negative { -value } else { value })
}

/// The base that a prefix asks for, and the digits behind it.
fn prefixed(digits: &str, base: u32) -> (u32, &str) {
    let after = |prefix: [&str; 2]| prefix.iter().find_map(|p| digits.strip_prefix(p)).filter(|rest| !rest.is_empty());
    if let Some(rest) = after(["0x", "0X"]).filter(|_| base == 0 || base == 16) {
        return (16, rest);
    }
    if let Some(rest) = after(["0b", "0B"]).filter(|_| base == 0) {
        return (2, rest);
    }
    match base {
        0 if digits.starts_with('0') => (8, digits),
        0 => (10, digits),
        base => (base, digits),
    }
}
