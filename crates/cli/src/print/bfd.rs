//! BFD control packets (RFC 5880). With `-v` the timers are not shown.

use super::view::{Printed, View};
use super::{Line, names, put};

const HEADER: usize = 24;
#[rustfmt::skip]
const FLAGS: &[(u16, &str)] = &[
    (0x20, "Poll"), (0x10, "Final"), (0x08, "Control Plane Independent"), (0x04, "Authentication Present"), (0x02, "Demand"),
    (0x01, "Reserved"),
];
const STATES: [&str; 4] = ["AdminDown", "Down", "Init", "Up"];

pub(super) fn control(line: &mut Line<'_>, view: View<'_>) -> Printed {
    print(line, view, "Control")
}

pub(super) fn multihop(line: &mut Line<'_>, view: View<'_>) -> Printed {
    print(line, view, "Multihop")
}

pub(super) fn lag(line: &mut Line<'_>, view: View<'_>) -> Printed {
    print(line, view, "Lag")
}

fn print(line: &mut Line<'_>, view: View<'_>, kind: &str) -> Printed {
    line.protocol = "bfd";
    view.take(0, HEADER)?;
    let (version, flags) = (view.u8(0)? >> 5, view.u8(1)?);
    if version != 1 || line.style.verbose > 0 {
        put!(line, "BFDv{version}, length: {}", view.len());
        return Ok(());
    }
    let state = STATES[usize::from(flags >> 6)];
    put!(line, "BFDv1, {kind}, State {state}, Flags: [{}], length: {}", names::flags(FLAGS, (flags & 0x3f).into(), ", "), view.len());
    Ok(())
}
