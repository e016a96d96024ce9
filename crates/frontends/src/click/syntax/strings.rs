//! Texts to search packets for, as what STRINGS declares.

use super::ArgumentError;
use super::request::{Generated, Request};
use crate::click::config::unquote;
use std::fmt::Write as _;

/// The most texts.
const MOST: usize = 4096;

/// Writes `STRINGS(NAME, …)` and `enum { NAME_count }`.
pub(super) fn write(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    let (name, count) = (request.name, request.arguments.len());
    if count == 0 || count > MOST {
        return Err(vec![ArgumentError::new(format!("expected 1 to {MOST} texts"))]);
    }
    let texts = request.each(|_, argument| literal(&unquote(argument)))?;
    Ok(Generated::source(format!("enum {{ {name}_count = {count} }};\nSTRINGS({name}, {});\n", texts.join(", "))))
}

/// A literal of C: what is not a letter or a digit as three octal digits, which no byte behind them
/// can make longer.
fn literal(bytes: &[u8]) -> Result<String, ArgumentError> {
    if bytes.is_empty() || bytes.contains(&0) {
        return Err(ArgumentError::new("a text to be searched for has bytes, and none of them is 0"));
    }
    let mut text = String::from("\"");
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' => text.push(char::from(*byte)),
            _ => _ = write!(text, "\\{byte:03o}"),
        }
    }
    Ok(text + "\"")
}
