//! ATA over Ethernet (AoEr11): version and flags. With `-v` commands are not shown.

use super::view::{Printed, View};
use super::{Line, names, put};

const FLAGS: &[(u16, &str)] = &[(8, "Response"), (4, "Error"), (2, "MBZ-1"), (1, "MBZ-0")];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "aoe";
    put!(line, "AoE length {}", view.len());
    if view.len() < 1 {
        line.invalid();
        return Ok(());
    }
    let first = view.u8(0)?;
    put!(line, ", Ver {}", first >> 4);
    match (first >> 4, view.len()) {
        (1, ..10) => line.invalid(),
        (1, _) => put!(line, ", Flags: [{}]", names::flags(FLAGS, (first & 15).into(), ", ")),
        _ => {}
    }
    Ok(())
}
