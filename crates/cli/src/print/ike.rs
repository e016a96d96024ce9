//! What port 4500 carries (RFC 3948): ESP, IKE, and signs of life.

use super::view::{Cut, Printed, View};
use super::{Line, put, tunnel};

pub(super) fn encapsulated(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "isakmp_rfc3948";
    if view.len() == 1 && view.u8(0)? == 0xff {
        line.put("isakmp-nat-keep-alive");
        return Ok(());
    }
    if view.len() < 4 {
        return Err(Cut);
    }
    match view.u32(0)? {
        0 => put!(line, "NONESP-encap: isakmp, length {}", view.len() - 4),
        _ => {
            line.put("UDP-encap: ");
            tunnel::esp(line, view)?;
        }
    }
    Ok(())
}
