//! Ethernet addresses: `00:1b:21:44:04:f0`, `0-1B-21-44-4-F0`, or a name.
//!
//! Source: Click's manual of `EtherAddressArg`.

use super::{ArgumentError, Reading, Scope, address};
use crate::c::Value;

pub(super) fn read(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    parse(text, reading.names).map(|address| Value::Bytes(address.to_vec())).ok_or_else(|| address::not(text, "an Ethernet address"))
}

/// An address or the name of one.
pub(in crate::click) fn parse(text: &str, names: &Scope<'_>) -> Option<[u8; 6]> {
    plain(text).or_else(|| names.ethernet(text))
}

/// Six bytes in hexadecimal, all separated by the same sign.
pub(super) fn plain(text: &str) -> Option<[u8; 6]> {
    let sign = if text.contains(':') { ':' } else { '-' };
    let mut bytes = [0; 6];
    let mut parts = text.split(sign);
    for byte in &mut bytes {
        let part = parts.next().filter(|part| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(bytes)
}
