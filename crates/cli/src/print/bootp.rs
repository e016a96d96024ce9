//! DHCP and BOOTP (RFC 951, RFC 2131): who asks. Fields and options are not shown.

use super::ether::Mac;
use super::view::{Printed, View};
use super::{Line, put};

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "bootp";
    let [operation, hardware, address_len] = view.array(0)?;
    match operation {
        1 => line.put("BOOTP/DHCP, Request"),
        2 => line.put("BOOTP/DHCP, Reply"),
        _ => put!(line, "BOOTP/DHCP, unknown (0x{operation:02x})"),
    }
    if (operation, hardware, address_len) == (1, 1, 6) {
        put!(line, " from {}", Mac(view.array(28)?));
    }
    put!(line, ", length {}", view.len());
    Ok(())
}
