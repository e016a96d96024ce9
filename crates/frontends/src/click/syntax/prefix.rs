//! Prefixes of addresses: `a.b.c.d/n`, `a.b.c.d/m.m.m.m`, an address alone for all of its bits, or
//! a name.
//!
//! The address may be cut short as far as the mask lets it: `18.26/16`. Bits outside the mask are
//! kept; who compares masks them.
//!
//! Source: Click's manual of `IPPrefixArg`.

use super::address::{self, octets};
use super::{ArgumentError, Reading, Scope};
use crate::c::Value;
use std::net::Ipv6Addr;

pub(super) fn read(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    let (address, mask) =
        parse(text, true, reading.names).ok_or_else(|| address::not(text, "an IP address with a prefix length or mask"))?;
    Ok(Value::Bytes([address.to_be_bytes(), mask.to_be_bytes()].concat()))
}

pub(super) fn read_ip6(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    let (address, mask) = parse_ip6(text, reading.names).ok_or("is not an IPv6 address with a prefix length")?;
    Ok(Value::Bytes([address.to_be_bytes(), mask.to_be_bytes()].concat()))
}

/// Address and mask. `bare`: an address alone will do.
pub(in crate::click) fn parse(text: &str, bare: bool, names: &Scope<'_>) -> Option<(u32, u32)> {
    let slashed = || with_slash(text, names);
    let alone = || address::parse(text, names).filter(|_| bare).map(|address| (address, u32::MAX));
    slashed().or_else(alone).or_else(|| names.net(text))
}

fn with_slash(text: &str, names: &Scope<'_>) -> Option<(u32, u32)> {
    let (address, mask) = text.rsplit_once('/')?;
    let (address, bytes) = match octets(address) {
        Some((bytes, count)) => (u32::from_be_bytes(bytes), count),
        None => (names.ip(address)?, 4),
    };
    let mask = match length(mask, 32) {
        Some(bits) => ones(bits),
        None => address::parse(mask, names)?,
    };
    let given = ones(8 * bytes as u32);
    (mask & given == mask).then_some((address, mask))
}

/// An IPv6 address and mask; an address alone stands for all of its bits.
pub(in crate::click) fn parse_ip6(text: &str, names: &Scope<'_>) -> Option<(u128, u128)> {
    plain_ip6(text, |name| names.ip6(name))
        .or_else(|| address::parse_ip6(text, names).map(|address| (address, u128::MAX)))
        .or_else(|| names.net6(text))
}

/// Address, slash and length.
pub(super) fn plain_ip6(text: &str, named: impl Fn(&str) -> Option<u128>) -> Option<(u128, u128)> {
    let (address, bits) = text.rsplit_once('/')?;
    let address = address.parse::<Ipv6Addr>().map(u128::from).ok().or_else(|| named(address))?;
    let bits = length(bits, 128)?;
    Some((address, u128::MAX.checked_shl(128 - bits).unwrap_or(0)))
}

fn length(text: &str, most: u32) -> Option<u32> {
    let digits = (1..=3).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|bits| digits && *bits <= most)
}

/// A mask of so many leading ones.
pub(in crate::click) fn ones(bits: u32) -> u32 {
    u32::MAX.checked_shl(32 - bits).unwrap_or(0)
}
