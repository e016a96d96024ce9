//! IPv4 (RFC 791): `IP src > dst: `, with `-v` the header's fields before.

use super::transport::{self, Ip};
use super::view::{Printed, View};
use super::{Line, checksum, names, put};
use netvm::netil::fields::{fragment, ip, ip_protocol};
use std::net::Ipv4Addr;

const MIN_HEADER: usize = ip::HEADER.bytes() as usize;
const MORE_FRAGMENTS: u16 = fragment::MORE;
const OFFSET: u16 = fragment::OFFSET;

/// Prints a packet that should be IPv4.
pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.nested(|line| packet(line, view))
}

fn packet(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "ip";
    let first = view.byte(ip::VERSION_IHL)?;
    if first >> 4 != 4 {
        wrong_version(line, first >> 4);
        return Ok(());
    }
    if !line.style.link {
        line.put("IP ");
    }
    if view.len() < MIN_HEADER {
        put!(line, "truncated-ip {}", view.len());
        return Ok(());
    }
    let header = usize::from(first & 15) * 4;
    if header < MIN_HEADER {
        put!(line, "bad-hlen {header}");
        return Ok(());
    }
    let total = usize::from(view.half(ip::LENGTH)?);
    if total > view.len() {
        put!(line, "truncated-ip - {} bytes missing! ", total - view.len());
    }
    let offloaded = total == 0 && matches!(view.byte(ip::PROTOCOL)?, ip_protocol::TCP | ip_protocol::UDP);
    let len = if offloaded { view.len() } else { total };
    if len < header {
        put!(line, "bad-len {len}");
        return Ok(());
    }
    let view = view.claiming(len);
    view.take(0, MIN_HEADER)?;
    if line.style.verbose > 0 {
        fields(line, view, header, offloaded)?;
    }
    body(line, view, header)
}

fn wrong_version(line: &mut Line<'_>, version: u8) {
    match version {
        6 => line.put("IP6, wrong link-layer encapsulation"),
        _ => put!(line, "IP{version}"),
    }
    line.invalid();
}

fn fields(line: &mut Line<'_>, view: View<'_>, header: usize, offloaded: bool) -> Printed {
    let (tos, ttl, protocol, fragment) = (view.byte(ip::TOS)?, view.byte(ip::TTL)?, view.byte(ip::PROTOCOL)?, view.half(ip::FRAGMENT)?);
    put!(line, "(tos 0x{tos:x}{}", ["", ",ECT(1)", ",ECT(0)", ",CE"][usize::from(tos & 3)]);
    if ttl > 0 {
        put!(line, ", ttl {ttl}");
    }
    let flags = names::flags(&[(MORE_FRAGMENTS, "+"), (fragment::DONT, "DF"), (fragment::RESERVED, "rsvd")], fragment, ", ");
    let offset = u32::from(fragment & OFFSET) * 8;
    put!(line, ", id {}, offset {offset}, flags [{flags}], proto {} ({protocol})", view.half(ip::ID)?, names::ip_protocol(protocol));
    match offloaded {
        true => put!(line, ", length {} [was 0, presumed TSO]", view.len()),
        false => put!(line, ", length {}", view.half(ip::LENGTH)?),
    }
    if header > MIN_HEADER {
        options(line, view.first(header).skip(MIN_HEADER))?;
    }
    if let (false, Ok(bytes)) = (line.style.unchecked, view.take(0, header)) {
        let found = view.half(ip::CHECKSUM)?;
        if let Some(right) = checksum::expected(found, bytes, 0) {
            put!(line, ", bad cksum {found:x} (->{right:x})!");
        }
    }
    line.put(")\n    ");
    Ok(())
}

fn options(line: &mut Line<'_>, mut view: View<'_>) -> Printed {
    line.put(", options (");
    let mut separator = "";
    while view.len() > 0 {
        let kind = view.u8(0)?;
        let table = [(0, "EOL"), (1, "NOP"), (7, "RR"), (68, "timestamp"), (130, "security"), (131, "LSRR"), (137, "SSRR"), (148, "RA")];
        let name = names::find(&table, kind).map_or_else(|| format!("unknown {kind}"), str::to_owned);
        put!(line, "{separator}{name}");
        separator = ",";
        let len = if kind < 2 { 1 } else { usize::from(view.u8(1)?) };
        if kind >= 2 && len < 2 || len > view.len() {
            put!(line, " [bad length {len}]");
            break;
        }
        if matches!(kind, 7 | 131 | 137) {
            route(line, view, len)?;
        }
        if kind == 0 {
            break;
        }
        view = view.skip(len);
    }
    line.put(")");
    Ok(())
}

/// A route of `len` bytes: its addresses, those already visited with a comma. As tcpdump does, the
/// last may reach past the option.
fn route(line: &mut Line<'_>, view: View<'_>, len: usize) -> Printed {
    if len < 3 {
        put!(line, " [bad length {len}]");
        return Ok(());
    }
    if !(len + 1).is_multiple_of(4) {
        put!(line, " [bad length {len}]");
    }
    let pointer = usize::from(view.u8(2)?);
    let next = pointer.wrapping_sub(1);
    if next < 3 || !pointer.is_multiple_of(4) {
        put!(line, " [bad ptr {pointer}]");
    }
    for at in (3..len).step_by(4) {
        put!(line, " {}", Ipv4Addr::from(view.u32(at)?));
        if next > at {
            line.put(",");
        }
    }
    Ok(())
}

fn body(line: &mut Line<'_>, view: View<'_>, header: usize) -> Printed {
    let (src, dst) = (Ipv4Addr::from(view.u32(12)?), Ipv4Addr::from(view.u32(16)?));
    let (protocol, fragment) = (view.u8(9)?, view.u16(6)?);
    if fragment & OFFSET != 0 {
        put!(line, "{src} > {dst}: ip-proto-{protocol}");
        return Ok(());
    }
    let mut ip = Ip {
        src: src.into(),
        dst: dst.into(),
        last: dst.into(),
        ttl: view.u8(8)?,
        fragmented: fragment & MORE_FRAGMENTS != 0,
        shown: false,
    };
    if !matches!(protocol, 6 | 17 | 33 | 132) {
        put!(line, "{src} > {dst}: ");
        ip.shown = true;
    }
    transport::print(line, protocol, &ip, view.skip(header))
}
