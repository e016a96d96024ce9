//! NTP (RFC 5905): version, mode and length. With `-v` the clocks are not shown.

use super::view::{Printed, View};
use super::{Line, put};

const MODES: [&str; 8] =
    ["unspecified", "symmetric active", "symmetric passive", "Client", "Server", "Broadcast", "Control Message", "Reserved"];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "ntp";
    line.put("NTP");
    let first = view.u8(0)?;
    put!(line, "v{}, {}, length {}", first >> 3 & 7, MODES[usize::from(first & 7)], view.len());
    Ok(())
}
