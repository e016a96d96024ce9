//! FORCE_IP of sources: only IP packets, with their headers marked.

use super::super::Packet;
use super::Ctx;
use crate::io::LinkType;

/// Where the IP header is in packets of that link type, if they are IP's.
fn ip_offset(packet: &Packet) -> Option<usize> {
    let bytes = packet.buffer.bytes();
    let ethertype = |at: usize| bytes.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    let at = match packet.link {
        LinkType::EN10MB if ethertype(12) == Some(0x8100) => (ethertype(16)? == 0x0800).then_some(18)?,
        LinkType::EN10MB => (ethertype(12)? == 0x0800).then_some(14)?,
        LinkType::LINUX_SLL => (ethertype(14)? == 0x0800).then_some(16)?,
        LinkType::NULL | LinkType::LOOP => 4,
        LinkType::RAW | LinkType::IPV4 => 0,
        _ => return None,
    };
    let first = *bytes.get(at)?;
    (first >> 4 == 4 && first & 15 >= 5 && bytes.len() >= at + 20).then_some(at)
}

/// Marks the IP header and what follows; false if there is none.
pub(super) fn mark_ip(packet: &mut Packet, ctx: &mut Ctx<'_>) -> bool {
    let Some(at) = ip_offset(packet) else { return false };
    let length = usize::from(packet.buffer.bytes()[at] & 15) * 4;
    packet.mark_headers(ctx.info(), at, at + length);
    true
}
