//! Patterns of bytes: `12/0806 20/0001`, `!12/08??`, `9/06%0f`, `-`.
//!
//! Bytes whose mask is 0 need not be there.
//!
//! Source: Click's manual of Classifier.

use super::formula::{Area, Formula};
use super::{emit, program};
use crate::click::config::unquote;
use crate::click::syntax::ArgumentError;
use crate::click::syntax::request::{Generated, Request};

/// Offsets are smaller than this: no packet is longer.
const FARTHEST: u32 = 1 << 24;

/// Writes the function of a list of patterns, one for each output.
pub(in crate::click::syntax) fn write(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    request.one_for_each_output()?;
    let rules = request.each(|n, argument| Ok((pattern(&String::from_utf8_lossy(&unquote(argument)))?, n as i64)))?;
    Ok(program::with(emit::function(request.name, &rules), request.name, &rules))
}

pub(super) fn pattern(text: &str) -> Result<Formula, ArgumentError> {
    if text.trim() == "-" {
        return Ok(Formula::Is(true));
    }
    // A `!` may have space behind it.
    let text = text.replace('!', " !");
    let (mut all, mut negated) = (Vec::new(), false);
    for word in text.split_ascii_whitespace() {
        let rest = word.strip_prefix('!').unwrap_or(word);
        negated |= rest.len() < word.len();
        if !rest.is_empty() {
            let clause = clause(rest)?;
            all.push(if negated { clause.negated() } else { clause });
            negated = false;
        }
    }
    if negated {
        return Err(ArgumentError::new("a clause is missing behind `!`"));
    }
    Ok(Formula::All(all).simple())
}

/// `OFFSET/VALUE` or `OFFSET/VALUE%MASK`
fn clause(text: &str) -> Result<Formula, ArgumentError> {
    let (offset, rest) = text.split_once('/').ok_or_else(|| ArgumentError::new(format!("expected OFFSET/VALUE, found `{text}`")))?;
    let digits = !offset.is_empty() && offset.bytes().all(|b| b.is_ascii_digit());
    let offset = offset
        .parse::<u32>()
        .ok()
        .filter(|offset| digits && *offset < FARTHEST)
        .ok_or_else(|| ArgumentError::new(format!("`{offset}` is not an offset")))?;
    let (value, mask) = rest.split_once('%').map_or((rest, None), |(value, mask)| (value, Some(mask)));
    let value = nibbles(value)?;
    if value.len() < 2 || value.len() % 2 != 0 {
        return Err(ArgumentError::new(format!("the value of `{text}` has not an even number of hexadecimal digits")));
    }
    let mask = mask.map(nibbles).transpose()?.unwrap_or_else(|| vec![(15, 15); value.len()]);
    if mask.len() != value.len() {
        return Err(ArgumentError::new(format!("the mask of `{text}` has {} digits, its value {}", mask.len(), value.len())));
    }
    let masked: Vec<(u8, u8)> = value.iter().zip(&mask).map(|((value, known), (mask, given))| (*value, known & mask & given)).collect();
    let bytes: Vec<(u8, u8)> = masked.chunks(2).map(|pair| (pair[0].0 << 4 | pair[1].0, pair[0].1 << 4 | pair[1].1)).collect();
    Ok(compared(offset, &bytes))
}

/// Digits with what is known of each; `?` is any.
fn nibbles(text: &str) -> Result<Vec<(u8, u8)>, ArgumentError> {
    let digit = |c: char| match c {
        '?' => Ok((0, 0)),
        c => c.to_digit(16).map(|digit| (digit as u8, 15)).ok_or_else(|| ArgumentError::new(format!("`{c}` is not a hexadecimal digit"))),
    };
    text.chars().map(digit).collect()
}

/// Bytes with their masks, compared four, two or one at a time.
fn compared(mut offset: u32, mut bytes: &[(u8, u8)]) -> Formula {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let width = [4, 2, 1].into_iter().find(|width| *width <= bytes.len()).unwrap_or(1);
        let (now, rest) = bytes.split_at(width);
        let number = |part: fn(&(u8, u8)) -> u8| now.iter().fold(0, |number, byte| number << 8 | u32::from(part(byte)));
        all.push(Formula::equal(Area::Packet, offset, width as u32, number(|byte| byte.1), number(|byte| byte.0)));
        offset += width as u32;
        bytes = rest;
    }
    Formula::All(all).simple()
}
