//! Where StoreIPAddress puts which address: `[ADDRESS,] OFFSET`; an offset may be the word `src` or
//! `dst`.

use super::request::{Generated, Request};
use super::{ArgumentError, address, integer};

/// Writes `static const be32 NAME_address` and the constants `NAME_given` and `NAME_offset`; an
/// offset is -1 for `src` and -2 for `dst`.
pub(super) fn write(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    let words: Vec<String> = request.arguments.iter().map(|argument| Request::words(argument).join(" ")).collect();
    let (given, offset) = match &words[..] {
        [offset] => (None, offset),
        [given, offset] => (Some(given), offset),
        _ => return Err(vec![ArgumentError::new("expected [ADDRESS,] OFFSET")]),
    };
    let number = match given.map(|given| address::parse(given, &request.names).ok_or(given)) {
        Some(Err(given)) => return Err(vec![ArgumentError::new(format!("`{given}` is not an IP address"))]),
        Some(Ok(number)) => number,
        None => 0,
    };
    let place = match offset.to_ascii_lowercase().as_str() {
        "src" => Some(-1),
        "dst" => Some(-2),
        text => integer::parse(text, 0).ok().and_then(|at| i32::try_from(at).ok()).filter(|at| *at >= 0),
    };
    let place = place.ok_or_else(|| vec![ArgumentError::new(format!("`{offset}` is not an offset, and not src or dst"))])?;
    let (name, is_given) = (request.name, i32::from(given.is_some()));
    Ok(Generated::source(format!(
        "enum {{ {name}_given = {is_given}, {name}_offset = {place} }};\nstatic const be32 {name}_address = htonl({number:#x});\n"
    )))
}
