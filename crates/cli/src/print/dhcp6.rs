//! DHCPv6 (RFC 8415): the kind of message. With `-v` its options are not shown.

use super::view::{Printed, View};
use super::{Line, put};

const KINDS: [&str; 15] = [
    "solicit",
    "advertise",
    "request",
    "confirm",
    "renew",
    "rebind",
    "reply",
    "release",
    "decline",
    "reconf",
    "inf-req",
    "relay-fwd",
    "relay-reply",
    "leasequery",
    "leasequery-reply",
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "dhcp6";
    line.put("dhcp6");
    view.take(0, 4)?;
    let kind = view.u8(0)?;
    match KINDS.get(usize::from(kind).wrapping_sub(1)) {
        Some(name) => put!(line, " {name}"),
        None => put!(line, " msgtype-{kind}"),
    }
    Ok(())
}
