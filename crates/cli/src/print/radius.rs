//! RADIUS (RFC 2865, RFC 2866, RFC 5176): code, id and length. Attributes are not shown.

use super::view::{Printed, View};
use super::{Line, names, put};

#[rustfmt::skip]
const CODES: &[(u8, &str)] = &[
    (1, "Access-Request"), (2, "Access-Accept"), (3, "Access-Reject"), (4, "Accounting-Request"), (5, "Accounting-Response"),
    (11, "Access-Challenge"), (12, "Status-Server"), (13, "Status-Client"), (40, "Disconnect-Request"), (41, "Disconnect-ACK"),
    (42, "Disconnect-NAK"), (43, "CoA-Request"), (44, "CoA-ACK"), (45, "CoA-NAK"), (255, "Reserved"),
];
const HEADER: usize = 20;
const MAX_LENGTH: usize = 4096;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "radius";
    line.put("RADIUS");
    view.take(0, HEADER)?;
    let length = usize::from(view.u16(2)?);
    if !(HEADER..=MAX_LENGTH).contains(&length) {
        line.invalid();
        return Ok(());
    }
    let (code, id) = (view.u8(0)?, view.u8(1)?);
    let name = names::find(CODES, code).unwrap_or("Unknown Command");
    if line.style.verbose == 0 {
        put!(line, ", {name} ({code}), id: 0x{id:02x} length: {length}");
        return Ok(());
    }
    put!(line, ", length: {length}\n\t{name} ({code}), id: 0x{id:02x}, Authenticator: ");
    for b in view.take(4, 16)? {
        put!(line, "{b:02x}");
    }
    Ok(())
}
