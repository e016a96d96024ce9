//! Arguments of CheckIPHeader without keywords: `[OFFSET]`, or as older configurations have them,
//! `ADDRESSES [, OFFSET]`.
//!
//! Sources that are bad in this way are 0.0.0.0 and 255.255.255.255, too. Source: Click's manual of
//! CheckIPHeader.

use super::request::{Generated, Request};
use super::{ArgumentError, address, integer, list};
use crate::c::Value;
use crate::click::argument_type::Type;

/// Writes the constants `NAME_given` and `NAME_offset`, and the addresses as
/// `static const be32 NAME[]`.
pub(super) fn write(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    let (addresses, offset) = match request.arguments {
        [] => (None, None),
        [one] if number(one).is_ok() => (None, Some(one)),
        [addresses] => (Some(addresses), None),
        [addresses, offset] => (Some(addresses), Some(offset)),
        [_, _, more, ..] => return Err(vec![ArgumentError::new(format!("too many arguments: `{more}`"))]),
    };
    let name = request.name;
    let of = |text: &String| number(text).map_err(|_| ArgumentError::new(format!("`{text}` is not an offset")));
    let start = offset.map(of).transpose();
    let listed = addresses.map_or(Ok(Vec::new()), |text| sources(text, request));
    match (start, listed) {
        (Ok(start), Ok(sources)) => {
            let (given, offset) = (u8::from(start.is_some()), start.unwrap_or(0));
            let array = list::array(name, &Type::Big(32), &sources).map_err(|wrong| vec![wrong])?;
            Ok(Generated::source(format!("enum {{ {name}_given = {given}, {name}_offset = {offset} }};\n{array}")))
        }
        (start, listed) => Err(start.err().into_iter().chain(listed.err()).collect()),
    }
}

fn number(text: &str) -> Result<i32, ()> {
    let number = integer::parse(text.trim(), 0).map_err(drop)?;
    i32::try_from(number).ok().filter(|number| *number >= 0).ok_or(())
}

/// The addresses of a list, and those that are always bad beside them.
fn sources(text: &str, request: &Request<'_>) -> Result<Vec<Value>, ArgumentError> {
    let read = |word: &String| {
        address::parse(word, &request.names)
            .ok_or_else(|| ArgumentError::new(format!("`{text}` is neither an offset nor a list of IP addresses")))
    };
    let words = Request::words(text);
    let addresses = words.iter().map(read).chain([Ok(0), Ok(u32::MAX)]);
    addresses.map(|address| address.map(|address| Value::Bytes(address.to_be_bytes().to_vec()))).collect()
}
