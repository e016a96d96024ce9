//! Domain names (RFC 1035, section 4.1.4) with their compression.
//!
//! Invariant: a pointer leads backwards from where the last one led, and a name has at most
//! [`MAX_STEPS`] labels and pointers, so that the work for each is bounded.

use super::view::{Cut, View};
use super::{Line, escape};

/// The one kind of extended label that was ever defined.
const BIT_LABEL: u8 = 0x41;
/// Longer names are cut.
const MAX_NAME: usize = 255;
/// Labels and pointers that are followed; a name of the longest kind has 127 labels.
const MAX_STEPS: usize = 512;

/// Where the name at `at` ends.
pub(super) fn skip(view: View<'_>, mut at: usize) -> Result<usize, Cut> {
    loop {
        let first = view.u8(at)?;
        match first >> 6 {
            0b11 => return Ok(at + 2),
            0b01 => at += 2 + bit_label(view, at)?,
            _ if first == 0 => return Ok(at + 1),
            _ => at += 1 + usize::from(first),
        }
    }
}

/// Bytes of a label of bits (RFC 2673).
fn bit_label(view: View<'_>, at: usize) -> Result<usize, Cut> {
    if view.u8(at)? != BIT_LABEL {
        return Err(Cut);
    }
    let bits = match view.u8(at + 1)? {
        0 => 256,
        n => usize::from(n),
    };
    Ok(bits.div_ceil(8))
}

/// Prints the name at `at`; where it ends.
pub(super) fn print(line: &mut Line<'_>, view: View<'_>, at: usize) -> Result<usize, Cut> {
    if view.u8(at)? == 0 {
        line.put(".");
        return Ok(at + 1);
    }
    let (mut here, mut lowest, mut chars) = (at, at, 0);
    for _ in 0..MAX_STEPS {
        let first = view.u8(here)?;
        match first >> 6 {
            0b00 if first == 0 => {
                line.put(if chars > MAX_NAME { "<DOMAIN NAME TOO LONG>" } else { "" });
                return skip(view, at);
            }
            0b00 => {
                let len = usize::from(first);
                label(line, view, here + 1, len.min(MAX_NAME.saturating_sub(chars)))?;
                chars += len;
                line.put(if chars <= MAX_NAME { "." } else { "" });
                chars += 1;
                here += 1 + len;
            }
            0b11 => {
                here = usize::from(view.u16(here)? & 0x3fff);
                if here >= lowest {
                    line.put("<BAD PTR>");
                    return Err(Cut);
                }
                lowest = here;
            }
            0b01 => here += 2 + bits(line, view, here)?,
            _ => {
                line.put("<BAD LABEL TYPE>");
                return Err(Cut);
            }
        }
    }
    line.put("<DOMAIN NAME TOO LONG>");
    skip(view, at)
}

fn label(line: &mut Line<'_>, view: View<'_>, at: usize, len: usize) -> Result<(), Cut> {
    let bytes = view.captured().get(at..).ok_or(Cut)?;
    escape::text(&mut line.text, &bytes[..bytes.len().min(len)]);
    if bytes.len() < len { Err(Cut) } else { Ok(()) }
}

/// Prints a label of bits; the bytes after its two.
fn bits(line: &mut Line<'_>, view: View<'_>, at: usize) -> Result<usize, Cut> {
    if view.u8(at)? != BIT_LABEL {
        super::put!(line, "<ELT {}>", view.u8(at)? & 0x3f);
    }
    let size = bit_label(view, at)?;
    let digits = view.take(at + 2, size)?.iter().fold(String::new(), |text, b| text + &format!("{b:02x}"));
    super::put!(
        line,
        "\\[x{digits}/{}].",
        match view.u8(at + 1)? {
            0 => 256,
            n => u16::from(n),
        }
    );
    Ok(size)
}
