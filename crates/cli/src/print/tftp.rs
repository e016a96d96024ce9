//! TFTP (RFC 1350, RFC 2347): requests with names, modes and options; blocks; errors.

use super::view::{Cut, Printed, View};
use super::{Line, escape, names, put};

const OPERATIONS: &[(u16, &str)] = &[(1, "RRQ"), (2, "WRQ"), (3, "DATA"), (4, "ACK"), (5, "ERROR"), (6, "OACK")];
#[rustfmt::skip]
const ERRORS: &[(u16, &str)] = &[
    (0, "EUNDEF"), (1, "ENOTFOUND"), (2, "EACCESS"), (3, "ENOSPACE"), (4, "EBADOP"), (5, "EBADID"), (6, "EEXISTS"), (7, "ENOUSER"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "tftp";
    put!(line, "TFTP, length {}", view.len());
    if view.len() < 2 {
        return Err(Cut);
    }
    let operation = view.u16(0)?;
    let Some(name) = names::find(OPERATIONS, operation) else {
        put!(line, ", tftp-#{operation}");
        return Ok(());
    };
    put!(line, ", {name}");
    let rest = view.skip(2);
    match operation {
        1 | 2 => request(line, rest),
        6 => options(line, rest),
        5 => {
            let code = rest.u16(0)?;
            let name = names::find(ERRORS, code).map_or_else(|| format!("tftp-err-#{code} \""), str::to_owned);
            put!(line, " {name}");
            quoted(line, rest.skip(2)).map(drop)
        }
        _ => {
            put!(line, " block {}", rest.u16(0)?);
            Ok(())
        }
    }
}

fn request(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let rest = quoted(line, view)?;
    if rest.len() == 0 {
        return Err(Cut);
    }
    line.put(" ");
    let rest = word(line, rest)?;
    options(line, rest)
}

fn options(line: &mut Line<'_>, mut rest: View<'_>) -> Printed {
    while rest.len() > 0 {
        if rest.u8(0)? != 0 {
            line.put(" ");
        }
        rest = word(line, rest)?;
    }
    Ok(())
}

/// A text in quotes; what follows it.
fn quoted<'v>(line: &mut Line<'_>, view: View<'v>) -> Result<View<'v>, Cut> {
    if view.len() == 0 {
        return Err(Cut);
    }
    line.put(" \"");
    let rest = word(line, view);
    line.put("\"");
    rest
}

/// A text up to a zero byte; what follows that.
fn word<'v>(line: &mut Line<'_>, view: View<'v>) -> Result<View<'v>, Cut> {
    let end = view.captured().iter().position(|byte| *byte == 0);
    escape::text(&mut line.text, &view.captured()[..end.unwrap_or(view.captured().len())]);
    end.map(|end| view.skip(end + 1)).ok_or(Cut)
}
