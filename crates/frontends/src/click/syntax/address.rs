//! IPv4 and IPv6 addresses, or the names that an `AddressInfo` gives them.

use super::{ArgumentError, Reading, Scope, number};
use crate::c::Value;
use crate::click::argument_type::Type;
use std::net::Ipv6Addr;

pub(super) fn read(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    let address = parse(text, reading.names).ok_or_else(|| not(text, "an IP address"))?;
    match reading.ty {
        Type::Big(32) | Type::Integer { .. } => number(i128::from(address), reading.ty),
        _ => Err(ArgumentError::new("is an IP address, which the parameter is not")),
    }
}

pub(super) fn read_ip6(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    let address = parse_ip6(text, reading.names).ok_or_else(|| not(text, "an IPv6 address"))?;
    Ok(Value::Bytes(address.to_be_bytes().to_vec()))
}

/// What a text is not.
pub(super) fn not(text: &str, what: &str) -> ArgumentError {
    ArgumentError::new(format!("is not {what}{}", remedy(text)))
}

/// What to do if a text is the name of a device. Devices have no addresses here: what a
/// configuration means does not depend on the machine that reads it.
pub(super) fn remedy(text: &str) -> String {
    const BEGINNINGS: [&str; 9] = ["eth", "en", "wl", "lo", "br", "tun", "tap", "veth", "ath"];
    let device = text.split(':').next().unwrap_or_default();
    let rest = |begin: &&str| device.strip_prefix(*begin).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_alphanumeric()));
    match BEGINNINGS.iter().any(rest) && device.ends_with(|c: char| c.is_ascii_digit()) {
        true => format!("; if {device} is a device, say which addresses it has: AddressInfo({device} 10.0.0.1/24 00:01:02:03:04:05)"),
        false => String::new(),
    }
}

/// An address as a number.
pub(in crate::click) fn parse(text: &str, names: &Scope<'_>) -> Option<u32> {
    match octets(text) {
        Some((bytes, 4)) => Some(u32::from_be_bytes(bytes)),
        _ => names.ip(text),
    }
}

/// An IPv6 address as a number.
pub(in crate::click) fn parse_ip6(text: &str, names: &Scope<'_>) -> Option<u128> {
    text.parse::<Ipv6Addr>().map(u128::from).ok().or_else(|| names.ip6(text))
}

/// One to four numbers with dots between them, and how many there are.
pub(super) fn octets(text: &str) -> Option<([u8; 4], usize)> {
    let mut bytes = [0; 4];
    let mut count = 0;
    for part in text.split('.') {
        let digits = (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        *bytes.get_mut(count)? = part.parse().ok().filter(|_| digits)?;
        count += 1;
    }
    Some((bytes, count))
}
