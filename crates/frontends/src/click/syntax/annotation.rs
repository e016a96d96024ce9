//! Annotations: Click's names for places among a packet's bytes of annotations, or a place's
//! number.
//!
//! Of Click's 48 bytes those are there that elements may use as they like; the others are fields
//! with names of their own.
//!
//! Source: Click's manual of annotations.

use super::{ArgumentError, Reading, integer, number};
use crate::c::Value;

/// Names and first bytes.
const NAMES: [(&str, u8); 9] = [
    ("AGGREGATE", 20),
    ("FIX_IP_SRC", 19),
    ("FWD_RATE", 20),
    ("ICMP_PARAMPROB", 17),
    ("MISC_IP", 20),
    ("PAINT", 16),
    ("VLAN", 20),
    ("VLAN_TCI", 20),
    ("WIFI_EXTRA", 16),
];
/// The first and the last byte.
const BYTES: std::ops::RangeInclusive<i128> = 16..=23;

/// The first byte of one.
fn place(text: &str) -> Result<i128, ArgumentError> {
    let named = NAMES.iter().find(|(name, _)| *name == text).map(|(_, at)| i128::from(*at));
    named.map_or_else(|| integer::parse(text, 0), Ok).map_err(|_| ArgumentError::new("is not an annotation"))
}

pub(super) fn read(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    let at = place(text)?;
    if !BYTES.contains(&at) {
        return Err(ArgumentError::new(format!("is out of range, {} to {}", BYTES.start(), BYTES.end())));
    }
    number(at, reading.ty)
}

/// One that has room for an IP address: that of the destination, which is at 0, those behind it
/// that are of an IPv6 destination, or four bytes.
pub(super) fn read_address(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    let at = if text == "DST_IP" { 0 } else { place(text)? };
    let (first, last) = (*BYTES.start(), *BYTES.end() - 3);
    if !(0..=first - 4).contains(&at) && !(first..=last).contains(&at) {
        return Err(ArgumentError::new(format!("has no room for an address: there are 0 to {} and {first} to {last}", first - 4)));
    }
    number(at, reading.ty)
}
