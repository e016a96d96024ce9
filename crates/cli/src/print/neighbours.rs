//! LLDP (IEEE 802.1AB) and CDP: who sent it. With `-v` their other fields are not shown.

use super::view::{Cut, Printed, View};
use super::{Line, escape, put};

/// LLDP's fields: the end, and the system's name.
const END: u16 = 0;
const SYSTEM_NAME: u16 = 5;

pub(super) fn lldp(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "lldp";
    put!(line, "LLDP, length {}", view.len());
    let mut rest = view;
    while rest.len() >= 2 {
        let head = rest.u16(0)?;
        let (kind, length) = (head >> 9, usize::from(head & 0x1ff));
        if kind == END || length == 0 {
            break;
        }
        let value = rest.take(2, length)?;
        if kind == SYSTEM_NAME && line.style.verbose == 0 {
            line.put(": ");
            let end = value.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            escape::text(&mut line.text, &value[..end]);
        }
        if rest.len() < 2 + length {
            return Err(Cut);
        }
        rest = rest.skip(2 + length);
    }
    Ok(())
}

/// CDP's field with the device's name.
const DEVICE: u16 = 1;

pub(super) fn cdp(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "cdp";
    line.put("CDP");
    if view.len() < 4 {
        put!(line, " (packet length {} < 4)", view.len());
        line.invalid();
        return Ok(());
    }
    put!(line, "v{}, ttl: {}s", view.u8(0)?, view.u8(1)?);
    let checksum = view.u16(2)?;
    if line.style.verbose > 0 {
        put!(line, ", checksum: 0x{checksum:04x} (unverified), length {}", view.len());
        return Ok(());
    }
    if device(line, view.skip(4))? {
        put!(line, ", length {}", view.len());
    }
    Ok(())
}

/// Prints the device's name among the fields; false if they are none.
fn device(line: &mut Line<'_>, mut rest: View<'_>) -> Result<bool, Cut> {
    while rest.len() > 0 {
        if rest.len() < 4 {
            put!(line, " (remaining packet length {} < 4)", rest.len());
            return wrong(line, rest);
        }
        let (kind, length) = (rest.u16(0)?, usize::from(rest.u16(2)?));
        if length < 4 {
            put!(line, ", {} TLV length {length} too short", if kind == DEVICE { "Device-ID" } else { "field" });
            return wrong(line, rest);
        }
        if length > rest.len() {
            put!(line, " (TLV length {length} > {})", rest.len());
            return wrong(line, rest);
        }
        if kind == DEVICE {
            line.put(", Device-ID '");
            escape::text(&mut line.text, rest.take(4, length - 4)?);
            line.put("'");
        }
        rest = rest.skip(length);
    }
    Ok(true)
}

fn wrong(line: &mut Line<'_>, rest: View<'_>) -> Result<bool, Cut> {
    line.invalid();
    rest.take(0, rest.len()).map(|_| false)
}
