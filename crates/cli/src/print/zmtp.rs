//! ZMTP 1.0, ZeroMQ's frames (ZeroMQ RFC 13), with `-T zmtp1` over TCP, and with `-T pgm_zmtp1` in
//! the data of PGM.

use super::view::{Cut, Printed, View};
use super::{Line, hex, put};

/// Bytes of a frame that one `-v` shows.
const SHOWN: usize = 128;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "zmtp1";
    line.put(": ZMTP/1.0");
    frames(line, view)
}

/// What a datagram of PGM carries (zmq_pgm(7)): an offset of the first message, the end of one that
/// began before, frames. It says to be `length` bytes.
pub(super) fn datagram(line: &mut Line<'_>, view: View<'_>, length: usize) -> Printed {
    line.protocol = "zmtp1";
    let offset = view.u16(0)?;
    put!(line, "\n\t frame offset 0x{offset:04x}");
    let before = match usize::from(offset) {
        0xffff => length.saturating_sub(2),
        offset if offset + 2 > length => {
            line.put(" (exceeds datagram declared length)");
            return Err(Cut);
        }
        offset => offset,
    };
    if before > 0 {
        part(line, view.skip(2), before);
    }
    frames(line, view.first(length).skip(2 + before))
}

/// A part of a message that began in another datagram.
fn part(line: &mut Line<'_>, view: View<'_>, length: usize) {
    put!(line, "\n\t frame intermediate part, {length} bytes");
    let there = view.captured().len();
    if length > there {
        put!(line, " ({there} captured)");
    }
    let shown = length.min(there).min(if line.style.verbose == 1 { SHOWN } else { usize::MAX });
    if line.style.verbose > 0 && shown > 1 {
        put!(line, ", first {shown} byte(s):");
        hex::indented_text(&mut line.text, &view.captured()[..shown], "\n\t ");
    }
}

fn frames(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let mut rest = view;
    while !rest.captured().is_empty() {
        rest = frame(line, rest)?;
    }
    Ok(())
}

/// Prints a frame; what follows it.
fn frame<'v>(line: &mut Line<'_>, view: View<'v>) -> Result<View<'v>, Cut> {
    line.put("\n\t");
    let (header, length) = match view.u8(0)? {
        0xff => {
            line.put(" frame flags+body (64-bit) length");
            let length = view.u64(1)?;
            put!(line, " {length}");
            (9, length)
        }
        length => {
            put!(line, " frame flags+body  (8-bit) length {length}");
            (1, u64::from(length))
        }
    };
    if length == 0 {
        return Ok(view.skip(header));
    }
    let (flags, body) = (view.u8(header)?, view.skip(header));
    let there = body.captured().len();
    if length > there as u64 {
        put!(line, " ({there} captured)");
    }
    put!(line, ", flags 0x{flags:02x}");
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if line.style.verbose > 0 {
        put!(line, " ({})", bits(flags));
        let shown = there.min(length).min(if line.style.verbose == 1 { SHOWN + 1 } else { usize::MAX });
        if shown > 1 {
            put!(line, ", first {} byte(s) of body:", shown - 1);
            hex::indented_text(&mut line.text, body.take(1, shown - 1)?, "\n\t ");
        }
    }
    body.take(0, length)?;
    Ok(body.skip(length))
}

/// All bits of a frame's flags, of which only the last one has a meaning.
fn bits(flags: u8) -> String {
    let bit = |n: u8| match (flags >> n & 1, n) {
        (0, _) => "-",
        (_, 0) => "MORE",
        _ => "MBZ",
    };
    (0..8).rev().map(bit).collect::<Vec<_>>().join("|")
}
