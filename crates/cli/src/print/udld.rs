//! Unidirectional link detection (RFC 5171): version, code and flags; with `-v` the fields.
//! Checksums are not compared.

use super::view::{Printed, View};
use super::{Line, escape, names, put};

const FIELD_HEADER: usize = 4;
#[rustfmt::skip]
const FIELDS: &[(u16, &str)] = &[
    (1, "Device-ID TLV"), (2, "Port-ID TLV"), (3, "Echo TLV"), (4, "Message Interval TLV"), (5, "Timeout Interval TLV"),
    (6, "Device Name TLV"), (7, "Sequence Number TLV"),
];
#[rustfmt::skip]
const FLAGS: &[(u16, &str)] = &[
    (1, "RT"), (2, "RSY"), (4, "MBZ-2"), (8, "MBZ-3"), (0x10, "MBZ-4"), (0x20, "MBZ-5"), (0x40, "MBZ-6"), (0x80, "MBZ-7"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "udld";
    if view.len() < 4 {
        return invalid(line, view);
    }
    line.put("UDLD");
    let [first, flags] = view.array(0)?;
    let (version, code) = (first >> 5, first & 31);
    let name = names::find(&[(1, "Probe message"), (2, "Echo message"), (3, "Flush message")], code).unwrap_or("Reserved");
    let set = names::flags(FLAGS, flags.into(), ", ");
    put!(line, "v{version}, Code {name} ({code:x}), Flags [{set}] (0x{flags:02x}), length {}", view.len());
    if line.style.verbose == 0 {
        return view.take(0, view.len()).map(drop);
    }
    put!(line, "\n\tChecksum 0x{:04x} (unverified)", view.u16(2)?);
    fields(line, view.skip(4))
}

fn fields(line: &mut Line<'_>, mut rest: View<'_>) -> Printed {
    while rest.len() > 0 {
        if rest.len() < FIELD_HEADER {
            return invalid(line, rest);
        }
        let (kind, len) = (rest.u16(0)?, usize::from(rest.u16(2)?));
        put!(line, "\n\t{} (0x{kind:04x}) TLV, length {len}", names::find(FIELDS, kind).unwrap_or("Unknown"));
        let value = rest.skip(FIELD_HEADER);
        let size = len.saturating_sub(FIELD_HEADER);
        let fits = match kind {
            4 | 5 => size == 1,
            7 => size == 4,
            _ => size > 0,
        };
        if size > value.len() || !fits {
            return invalid(line, value);
        }
        field(line, kind, value.first(size))?;
        rest = value.skip(size);
    }
    Ok(())
}

fn invalid(line: &mut Line<'_>, rest: View<'_>) -> Printed {
    line.invalid();
    rest.take(0, rest.len()).map(drop)
}

fn field(line: &mut Line<'_>, kind: u16, value: View<'_>) -> Printed {
    match kind {
        1 | 2 | 6 => {
            line.put(", ");
            escape::until_zero(&mut line.text, value.captured());
        }
        3 => {
            line.put(", ");
            escape::text(&mut line.text, value.captured());
        }
        4 | 5 => put!(line, ", {}s", value.u8(0)?),
        7 => put!(line, ", {}", value.u32(0)?),
        _ => {}
    }
    value.take(0, value.len()).map(drop)
}
