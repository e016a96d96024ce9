//! RADIUS (RFC 2865, RFC 2866, RFC 5176): code, id and length; with `-v` attributes, which
//! `radius_attributes` prints.

use super::view::{Cut, Printed, View};
use super::{Line, hex, names, put, radius_attributes};

#[rustfmt::skip]
const CODES: &[(u8, &str)] = &[
    (1, "Access-Request"), (2, "Access-Accept"), (3, "Access-Reject"), (4, "Accounting-Request"), (5, "Accounting-Response"),
    (11, "Access-Challenge"), (12, "Status-Server"), (13, "Status-Client"), (40, "Disconnect-Request"), (41, "Disconnect-ACK"),
    (42, "Disconnect-NAK"), (43, "CoA-Request"), (44, "CoA-ACK"), (45, "CoA-NAK"), (255, "Reserved"),
];
const HEADER: usize = 20;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "radius";
    view.take(0, HEADER)?;
    let length = usize::from(view.u16(2)?);
    if length < HEADER {
        return Err(Cut);
    }
    let view = view.first(length);
    let length = view.len();
    let (code, id) = (view.u8(0)?, view.u8(1)?);
    let name = names::find(CODES, code).unwrap_or("Unknown Command");
    if line.style.verbose == 0 {
        put!(line, "RADIUS, {name} ({code}), id: 0x{id:02x} length: {length}");
        return Ok(());
    }
    put!(line, "RADIUS, length: {length}\n\t{name} ({code}), id: 0x{id:02x}, Authenticator: ");
    for b in view.take(4, 16)? {
        put!(line, "{b:02x}");
    }
    attributes(line, view.skip(HEADER))
}

fn attributes(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let mut rest = view;
    while rest.len() > 0 {
        rest.take(0, 2)?;
        let (kind, length) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        put!(line, "\n\t  {} Attribute ({kind}), length: {length}", radius_attributes::name(kind));
        if length < 2 || length > rest.len() {
            line.put(if length < 2 { " (bogus, must be >= 2)" } else { " (bogus, goes past end of packet)" });
            break;
        }
        line.put(", Value: ");
        if length > 2 && radius_attributes::print(line, kind, rest.first(length).skip(2)).is_err() {
            line.cut();
        }
        if line.style.verbose > 1 {
            hex::indented(&mut line.text, rest.first(length).skip(2).captured(), "\n\t    ");
        }
        rest = rest.skip(length);
    }
    Ok(())
}
