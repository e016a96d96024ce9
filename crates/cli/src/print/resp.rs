//! RESP, the protocol of Redis: strings, numbers and errors of requests and answers.
//!
//! What is not whole ends the line, as in tcpdump. Arrays within arrays are followed to a depth.

use super::view::{Cut, Printed, View};
use super::{Line, escape};

/// How deep arrays are in each other.
const DEEPEST: u32 = 16;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "resp";
    line.put(": RESP");
    let mut rest = view;
    while rest.len() > 0 {
        rest = one(line, rest, 0)?;
    }
    Ok(())
}

/// Prints a value; what follows it.
fn one<'v>(line: &mut Line<'_>, view: View<'v>, depth: u32) -> Result<View<'v>, Cut> {
    match view.u8(0)? {
        b'+' | b'-' | b':' => simple(line, view.skip(1)),
        b'$' => bulk(line, view.skip(1)),
        b'*' if depth < DEEPEST => array(line, view.skip(1), depth),
        b'*' => Err(Cut),
        _ => inline(line, view),
    }
}

fn segment(line: &mut Line<'_>, bytes: &[u8]) {
    line.put(" \"");
    escape::text(&mut line.text, bytes);
    line.put("\"");
}

/// Where the next carriage return with a line feed is.
fn line_end(view: View<'_>) -> Result<usize, Cut> {
    view.captured().windows(2).position(|pair| pair == b"\r\n").ok_or(Cut)
}

fn simple<'v>(line: &mut Line<'_>, view: View<'v>) -> Result<View<'v>, Cut> {
    let end = line_end(view)?;
    segment(line, view.take(0, end)?);
    Ok(view.skip(end + 2))
}

/// A length of a string or an array.
enum Length {
    Is(usize),
    Null,
    TooLarge,
    Negative,
    Invalid,
}

impl Length {
    fn tell(&self, line: &mut Line<'_>) {
        line.put(match self {
            Self::Is(_) => " empty",
            Self::Null => " null",
            Self::TooLarge => " length too large",
            Self::Negative => " length negative and not -1",
            Self::Invalid => " invalid",
        });
    }
}

/// Reads a length; what follows it.
fn length(view: View<'_>) -> Result<(Length, View<'_>), Cut> {
    let negative = view.u8(0)? == b'-';
    let digits = view.skip(usize::from(negative));
    let count = digits.captured().iter().take_while(|byte| byte.is_ascii_digit()).count();
    let behind = digits.u8(count)?;
    if count == 0 {
        return Ok((Length::Invalid, digits.skip(1)));
    }
    if behind != b'\r' {
        return Ok((Length::Invalid, digits.skip(count + 1)));
    }
    if digits.u8(count + 1)? != b'\n' {
        return Ok((Length::Invalid, digits.skip(count + 2)));
    }
    let number = digits.captured()[..count].iter().try_fold(0u32, |n, digit| n.checked_mul(10)?.checked_add(u32::from(digit - b'0')));
    let number = number.filter(|number| *number <= i32::MAX as u32);
    let length = match (number, negative) {
        (None, _) => Length::TooLarge,
        (Some(1), true) => Length::Null,
        (Some(_), true) => Length::Negative,
        (Some(number), false) => Length::Is(number as usize),
    };
    Ok((length, digits.skip(count + 2)))
}

fn bulk<'v>(line: &mut Line<'_>, view: View<'v>) -> Result<View<'v>, Cut> {
    let (length, mut rest) = length(view)?;
    let Length::Is(bytes) = length else {
        length.tell(line);
        return Ok(rest);
    };
    match bytes {
        0 => length.tell(line),
        _ => segment(line, rest.take(0, bytes)?),
    }
    rest = rest.skip(bytes);
    let end = line_end(rest)?;
    Ok(rest.skip(end + 2))
}

fn array<'v>(line: &mut Line<'_>, view: View<'v>, depth: u32) -> Result<View<'v>, Cut> {
    let (length, mut rest) = length(view)?;
    match length {
        Length::Is(count @ 1..) => {
            for _ in 0..count {
                rest = one(line, rest, depth + 1)?;
            }
        }
        other => other.tell(line),
    }
    Ok(rest)
}

/// A command as people type it.
fn inline<'v>(line: &mut Line<'_>, view: View<'v>) -> Result<View<'v>, Cut> {
    let is_end = |byte: &u8| *byte == b'\r' || *byte == b'\n';
    let begin = view.captured().iter().position(|byte| !is_end(byte)).unwrap_or(view.captured().len());
    let rest = view.skip(begin);
    if rest.len() == 0 {
        return Err(Cut);
    }
    let end = rest.captured().iter().position(is_end).ok_or(Cut)?;
    segment(line, rest.take(0, end)?);
    let behind = rest.captured()[end..].iter().take_while(|byte| is_end(byte)).count();
    Ok(rest.skip(end + behind))
}
