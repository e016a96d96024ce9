//! Broadcom's shim for lawful interception. With `-v` what it carries is not shown.

use super::view::{Printed, View};
use super::{Line, names, put};

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "bcm_li";
    if view.len() < 4 {
        put!(line, " (length {} < 4)", view.len());
        line.invalid();
        return Ok(());
    }
    let shim = view.u32(0)?;
    let direction = names::find(&[(1, "unused"), (2, "egress"), (3, "ingress")], shim >> 29);
    let kind = names::find(&[(4, "undecided"), (5, "ipv4"), (6, "ipv6"), (7, "ethernet")], shim >> 25 & 15);
    let subtype = names::find(&[(1, "single VLAN tag"), (2, "double VLAN tag"), (3, "untagged")], shim >> 22 & 7);
    let or = |name: Option<&'static str>| name.unwrap_or("unknown");
    put!(line, "BCM-LI-SHIM: direction {}, pkt-type {}, pkt-subtype {}", or(direction), or(kind), or(subtype));
    put!(line, ", li-id {}", shim & 0x3f_ffff);
    view.take(0, view.len()).map(drop)
}
