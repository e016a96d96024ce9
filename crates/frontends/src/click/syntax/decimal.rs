//! Numbers with a decimal point and a unit: times, rates, fixed point.
//!
//! Values are computed in integers, so that nothing is rounded but the result, half up.
//!
//! Source: Click's manuals of `SecondsArg`, `BandwidthArg` and `FixedPointArg`.

use super::{ArgumentError, Reading, number};
use crate::c::Value;

/// Units of a time and what they are in seconds. The longest that fits is meant.
const TIMES: [(&str, u128); 8] = [("s", 1), ("sec", 1), ("m", 60), ("min", 60), ("h", 3600), ("hr", 3600), ("d", 86_400), ("day", 86_400)];
/// Prefixes of times, and the powers of ten that they stand for.
const PARTS: [(char, i32); 3] = [('m', -3), ('u', -6), ('n', -9)];
/// Units of a rate in bits per second; bytes have eight.
const RATES: [(&str, u128); 5] = [("baud", 1), ("bps", 1), ("b/s", 1), ("Bps", 8), ("B/s", 8)];
/// Prefixes of rates.
const MULTIPLES: [(char, i32); 4] = [('k', 3), ('K', 3), ('M', 6), ('G', 9)];
/// More digits than any value needs are refused.
const DIGITS: usize = 24;

/// Seconds as nanoseconds.
pub(super) fn read_seconds(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    let (amount, factor, power) = unit(text, &TIMES, &PARTS);
    scaled(amount, factor, 1, power + 9, reading).ok_or("is not a time in seconds")?
}

/// A rate as bytes per second; without a unit it is one.
pub(super) fn read_bandwidth(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    let (amount, bits, power) = unit(text, &RATES, &MULTIPLES);
    let bits = if amount.len() == text.len() { 8 } else { bits };
    scaled(amount, bits, 8, power, reading).ok_or("is not a bandwidth")?
}

/// A number as 1/65536ths.
pub(super) fn read_fixed16(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    scaled(text, 1 << 16, 1, 0, reading).ok_or("is not a number")?
}

/// The amount, its unit's factor, and the power of ten of its prefix.
fn unit<'t>(text: &'t str, units: &[(&str, u128)], prefixes: &[(char, i32)]) -> (&'t str, u128, i32) {
    let fits = units.iter().filter_map(|(name, factor)| Some((text.strip_suffix(name)?, *factor)));
    let Some((rest, factor)) = fits.min_by_key(|(rest, _)| rest.len()) else { return (text, 1, 0) };
    let prefix = prefixes.iter().find_map(|(sign, power)| Some((rest.strip_suffix(*sign)?, *power)));
    let (rest, power) = prefix.unwrap_or((rest, 0));
    (rest.trim_end(), factor, power)
}

/// `text * factor / divisor * 10^power`, rounded; `None` if the text is no number.
fn scaled(text: &str, factor: u128, divisor: u128, power: i32, reading: &Reading<'_>) -> Option<Result<Value, ArgumentError>> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    let fraction = fraction.len() as i32;
    let value = Some(digits).filter(|digits| digits.len() <= DIGITS && fraction <= DIGITS as i32);
    let value = value.and_then(|digits| if digits.is_empty() { Some(0) } else { digits.parse::<u128>().ok() });
    let ten = |power: i32| 10u128.checked_pow(power.max(0) as u32);
    let above = value.zip(ten(power - fraction)).and_then(|(value, ten)| value.checked_mul(ten)?.checked_mul(factor));
    let below = ten(fraction - power).and_then(|ten| ten.checked_mul(divisor));
    let result = above.zip(below).and_then(|(above, below)| Some(above.checked_add(below / 2)? / below));
    let result = result.and_then(|value| i128::try_from(value).ok()).unwrap_or(i128::MAX);
    Some(number(if negative { -result } else { result }, reading.ty))
}
