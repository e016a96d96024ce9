//! Routes and other entries of tables: `IP_ROUTES`, `RANGE_ROUTES`, `IP6_ROUTES`, `ARP_ENTRIES`.
//!
//! Of two routes for the same prefix the later one counts.
//!
//! Source: Click's manuals of RadixIPLookup, LookupIP6Route and ARPResponder.

use super::request::{Generated, Request, Row};
use super::{ArgumentError, address, ethernet, integer, prefix};
use crate::c::Value;
use std::collections::HashMap;

/// `ADDR/MASK [GATEWAY] OUTPUT`, for a table of prefixes.
pub(super) fn ip(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    entries(request.each(|_, argument| route(request, argument))?.into_iter().map(|(row, _)| row))
}

/// `ADDR/MASK [GATEWAY] OUTPUT`, for a table of ranges: longer prefixes have higher priorities.
pub(super) fn range(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    entries(request.each(|_, argument| route(request, argument))?.into_iter().map(|(row, bits)| {
        let last = row.key.iter().zip(&row.mask).map(|(key, mask)| key | !mask).collect();
        Row { mask: last, priority: bits, ..row }
    }))
}

/// `ADDR/LENGTH [GATEWAY] OUTPUT` with IPv6 addresses.
pub(super) fn ip6(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    entries(request.each(|_, argument| route6(request, argument))?.into_iter())
}

/// `IP/MASK… ETHERNET`
pub(super) fn arp(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    entries(request.each(|_, argument| answers(request, argument))?.into_iter().flatten())
}

/// `IP/LENGTH… ETHERNET` with IPv6 addresses.
pub(super) fn neighbours(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    entries(request.each(|_, argument| answers_ip6(request, argument))?.into_iter().flatten())
}

/// The last row of each key and mask, in the order of their first.
fn entries(rows: impl Iterator<Item = Row>) -> Result<Generated, Vec<ArgumentError>> {
    let (mut all, mut known) = (Vec::<Row>::new(), HashMap::new());
    for row in rows {
        let at = *known.entry((row.key.clone(), row.mask.clone())).or_insert(all.len());
        if at == all.len() {
            all.push(row);
        } else {
            all[at] = row;
        }
    }
    Ok(Generated { rows: all, ..Generated::default() })
}

/// A route and the length of its prefix.
fn route(request: &Request<'_>, argument: &str) -> Result<(Row, u32), ArgumentError> {
    let words = Request::words(argument);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (prefix, gateway, output) = match words[..] {
        [prefix, output] => (prefix, "-", output),
        [prefix, gateway, output] => (prefix, gateway, output),
        _ => return Err(ArgumentError::new("expected `ADDR/MASK [GATEWAY] OUTPUT`")),
    };
    let (address, mask) =
        prefix::parse(prefix, true, &request.names).ok_or_else(|| ArgumentError::new(format!("`{prefix}` is not an IP prefix")))?;
    if mask.leading_ones() != mask.count_ones() {
        return Err(ArgumentError::new(format!("the mask of `{prefix}` is not a prefix")));
    }
    let gateway = match gateway {
        "-" => 0,
        named => address::parse(named, &request.names).ok_or_else(|| ArgumentError::new(format!("`{named}` is not an IP address")))?,
    };
    let values = vec![("gateway", Value::Bytes(gateway.to_be_bytes().to_vec())), ("port", self::output(request, output)?)];
    let row = Row { key: (address & mask).to_be_bytes().to_vec(), mask: mask.to_be_bytes().to_vec(), priority: 0, values };
    Ok((row, mask.leading_ones()))
}

fn route6(request: &Request<'_>, argument: &str) -> Result<Row, ArgumentError> {
    let words = Request::words(argument);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (prefix, gateway, output) = match words[..] {
        [prefix, output] => (prefix, "::", output),
        [prefix, gateway, output] => (prefix, gateway, output),
        _ => return Err(ArgumentError::new("expected `ADDR/LENGTH [GATEWAY] OUTPUT`")),
    };
    let (address, mask) =
        prefix::parse_ip6(prefix, &request.names).ok_or_else(|| ArgumentError::new(format!("`{prefix}` is not an IPv6 prefix")))?;
    let gateway =
        address::parse_ip6(gateway, &request.names).ok_or_else(|| ArgumentError::new(format!("`{gateway}` is not an IPv6 address")))?;
    let values = vec![("gateway", Value::Bytes(gateway.to_be_bytes().to_vec())), ("port", self::output(request, output)?)];
    Ok(Row { key: (address & mask).to_be_bytes().to_vec(), mask: mask.to_be_bytes().to_vec(), priority: 0, values })
}

/// The number of an output that there is.
pub(super) fn output(request: &Request<'_>, text: &str) -> Result<Value, ArgumentError> {
    let number = integer::parse(text, 0).map_err(|_| ArgumentError::new(format!("`{text}` is not an output's number")))?;
    let there = (0..i128::from(request.outputs)).contains(&number);
    if there { Ok(Value::Int(number as u64)) } else { Err(ArgumentError::new(format!("there is no output {number}"))) }
}

/// Addresses and prefixes with the Ethernet address that they have in common; a name may be both.
fn answers(request: &Request<'_>, argument: &str) -> Result<Vec<Row>, ArgumentError> {
    let (prefixes, ethernet) = answer(request, argument, |word| prefix::parse(word, true, &request.names))?;
    if prefixes.iter().any(|(_, mask)| mask.leading_ones() != mask.count_ones()) {
        return Err(ArgumentError::new("a mask is not a prefix"));
    }
    let row = |(address, mask): (u32, u32)| entry((address & mask).to_be_bytes().to_vec(), mask.to_be_bytes().to_vec(), ethernet);
    Ok(prefixes.into_iter().map(row).collect())
}

/// IPv6 addresses and prefixes with the Ethernet address that they have in common; a name may be
/// both.
fn answers_ip6(request: &Request<'_>, argument: &str) -> Result<Vec<Row>, ArgumentError> {
    let (prefixes, ethernet) = answer(request, argument, |word| prefix::parse_ip6(word, &request.names))?;
    let row = |(address, mask): (u128, u128)| entry((address & mask).to_be_bytes().to_vec(), mask.to_be_bytes().to_vec(), ethernet);
    Ok(prefixes.into_iter().map(row).collect())
}

fn entry(key: Vec<u8>, mask: Vec<u8>, ethernet: [u8; 6]) -> Row {
    Row { key, mask, priority: 0, values: vec![("", Value::Bytes(ethernet.to_vec()))] }
}

fn answer<T>(request: &Request<'_>, argument: &str, parse: impl Fn(&str) -> Option<T>) -> Result<(Vec<T>, [u8; 6]), ArgumentError> {
    let words = Request::words(argument);
    let (mut prefixes, mut ethernet) = (Vec::new(), None);
    for word in &words {
        if let Some(prefix) = parse(word) {
            prefixes.push(prefix);
        } else if let Some(address) = ethernet::parse(word, &request.names) {
            if ethernet.replace(address).is_some() {
                return Err(ArgumentError::new("more than one Ethernet address"));
            }
        } else {
            return Err(ArgumentError::new(format!("`{word}` is neither an IP prefix nor an Ethernet address{}", address::remedy(word))));
        }
    }
    let ethernet = ethernet.or_else(|| words.iter().find_map(|word| ethernet::parse(word, &request.names)));
    let ethernet = ethernet.ok_or("an Ethernet address is missing")?;
    if prefixes.is_empty() {
        return Err(ArgumentError::new("an IP prefix is missing"));
    }
    Ok((prefixes, ethernet))
}
