//! BGP (RFC 4271): its name. With `-v` messages are not shown.

use super::view::{Printed, View};
use super::{Line, put};

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "bgp";
    line.put(": BGP");
    if line.style.verbose > 0 {
        put!(line, ", length: {}", view.len());
    }
    Ok(())
}
