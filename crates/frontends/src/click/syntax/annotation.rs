//! Annotations: Click's names for places among a packet's bytes of annotations, or a place's number.
//!
//! Of Click's 48 bytes those are there that elements may use as they like; the others are fields with names of their own.
//!
//! Source: Click's manual of annotations.

use super::{Reading, Wrong, integer, number};
use crate::click::arguments::Value;

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

pub(super) fn read(text: &str, reading: &Reading<'_>) -> Result<Value, Wrong> {
    let named = NAMES.iter().find(|(name, _)| *name == text).map(|(_, at)| i128::from(*at));
    let at = named.map_or_else(|| integer::parse(text, 0), Ok).map_err(|_| "is not an annotation")?;
    if !BYTES.contains(&at) {
        return Err(format!("is out of range, {} to {}", BYTES.start(), BYTES.end()));
    }
    number(at, reading.ty)
}
