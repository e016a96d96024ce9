//! Broadcom's shim for lawful interception; with `-v` what it carries.

use super::view::{Printed, View};
use super::{Line, ether, ip4, ip6, names, put};

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
    let around = if line.style.verbose > 0 { "\n    " } else { "" };
    put!(line, "{around}BCM-LI-SHIM: direction {}, pkt-type {}, pkt-subtype {}", or(direction), or(kind), or(subtype));
    put!(line, ", li-id {}{around}", shim & 0x3f_ffff);
    let inner = view.skip(4);
    if line.style.verbose == 0 {
        return view.take(0, view.len()).map(drop);
    }
    match (shim >> 25 & 15, inner.u8(0).unwrap_or(0) >> 4) {
        (5, _) | (4, 4) => ip4::print(line, inner),
        (6, _) | (4, 6) => ip6::print(line, inner),
        (7, _) => line.nested(|line| ether::print(line, inner, &mut 0)),
        (4, _) => {
            inner.u8(0)?;
            line.put("unknown payload");
            Ok(())
        }
        _ => {
            line.invalid();
            Ok(())
        }
    }
}
