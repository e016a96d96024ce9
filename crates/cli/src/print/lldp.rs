//! LLDP (IEEE 802.1AB): who sent it. With `-v` its other fields are not shown.

use super::view::{Cut, Printed, View};
use super::{Line, escape, put};

/// LLDP's fields: the end, and the system's name.
const END: u16 = 0;
const SYSTEM_NAME: u16 = 5;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
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
