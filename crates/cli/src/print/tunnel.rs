//! Packets within packets, and what hides them: MPLS (RFC 3032), GRE (RFC 2784, 2890, 2637), ESP
//! and AH (RFC 4303, 4302).

use super::view::{Cut, Printed, View};
use super::{Line, ether, ip4, ip6, isis, names, ppp, put};
use netvm::netil::fields::ethertype;

/// Labels, then IPv4 or IPv6 as the last label or the first byte says.
pub(super) fn mpls(line: &mut Line<'_>, mut view: View<'_>) -> Printed {
    line.protocol = "mpls";
    line.put("MPLS");
    let mut before = " ";
    let last = loop {
        let entry = view.u32(0)?;
        let (label, class, bottom, ttl) = (entry >> 12, entry >> 9 & 7, entry & 0x100 != 0, entry & 0xff);
        put!(line, "{before}(label {label}");
        let known = ["IPv4 explicit NULL", "router alert", "IPv6 explicit NULL", "implicit NULL", "rsvd"];
        if let (true, Some(name)) = (line.style.verbose > 0, known.get(label as usize)) {
            put!(line, " ({name})");
        }
        let mark = if bottom { ", [S]" } else { "" };
        put!(line, ", tc {class}{mark}, ttl {ttl})");
        before = if line.style.verbose > 0 { "\n\t" } else { " " };
        view = view.skip(4);
        if bottom {
            break label;
        }
    };
    if view.len() == 0 {
        return Ok(());
    }
    let v4 = matches!(last, 0 | 3) || last != 2 && matches!(view.u8(0)?, 0x45..=0x4f);
    let v6 = last == 2 || !v4 && matches!(view.u8(0)?, 0x60..=0x6f);
    if v4 || v6 {
        line.put(if line.style.verbose > 0 { "\n\t" } else { " " });
    }
    match (v4, v6) {
        (true, _) => ip4::print(line, view),
        (_, true) => ip6::print(line, view),
        _ => {
            line.unknown(view);
            Ok(())
        }
    }
}

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// Version 1 only.
const ACKNOWLEDGEMENT: u16 = 0x0080;

pub(super) fn gre(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "gre";
    let (flags, protocol) = (view.u16(0)?, view.u16(2)?);
    match flags & 7 {
        0 => gre_0(line, view, flags, protocol),
        1 => gre_1(line, view, flags, protocol),
        version => {
            put!(line, "GREv{version} ERROR: unknown-version");
            Ok(())
        }
    }
}

fn gre_0(line: &mut Line<'_>, view: View<'_>, flags: u16, protocol: u16) -> Printed {
    line.put("GREv0");
    let mut at = 4;
    gre_flags(line, flags);
    if flags & (CHECKSUM | ROUTING) != 0 {
        if line.style.verbose > 0 {
            put!(line, ", sum 0x{:x}", view.u16(at)?);
        }
        put!(line, ", off 0x{:x}", view.u16(at + 2)?);
        at += 4;
    }
    if flags & KEY != 0 {
        put!(line, ", key=0x{:x}", view.u32(at)?);
        at += 4;
    }
    if flags & SEQUENCE != 0 {
        put!(line, ", seq {}", view.u32(at)?);
        at += 4;
    }
    if flags & ROUTING != 0 {
        line.put(", source routed");
        return Ok(());
    }
    gre_type(line, protocol, view.len());
    let rest = view.skip(at);
    match protocol {
        ethertype::IPV4 => ip4::print(line, rest)?,
        ethertype::IPV6 => ip6::print(line, rest)?,
        0x8847 | 0x8848 => line.nested(|line| mpls(line, rest))?,
        0x6558 => line.nested(|line| ether::print(line, rest, &mut 0))?,
        0x00fe => return isis::nlpid(line, rest).map(drop),
        _ => put!(line, "gre-proto-0x{protocol:x}"),
    }
    Ok(())
}

fn gre_flags(line: &mut Line<'_>, flags: u16) {
    if line.style.verbose > 0 {
        let table = [
            (CHECKSUM, "checksum present"),
            (ROUTING, "routing present"),
            (KEY, "key present"),
            (SEQUENCE, "sequence# present"),
            (0x0800, "source routing present"),
        ];
        put!(line, ", Flags [{}]", names::flags(&table, flags, ", "));
    }
}

fn gre_type(line: &mut Line<'_>, protocol: u16, len: usize) {
    if line.style.link {
        let name = match names::ethertype(protocol) {
            "Unknown" => "unknown",
            name => name,
        };
        put!(line, ", proto {name} (0x{protocol:04x})");
    }
    put!(line, ", length {len}");
    line.put(if line.style.verbose > 0 { "\n\t" } else { ": " });
}

/// PPTP's variant, which carries PPP.
fn gre_1(line: &mut Line<'_>, view: View<'_>, flags: u16, protocol: u16) -> Printed {
    line.put("GREv1");
    gre_flags(line, flags & !ACKNOWLEDGEMENT);
    let mut at = 4;
    if flags & KEY != 0 {
        put!(line, ", call {}", view.u16(6)?);
        at += 4;
    }
    if flags & SEQUENCE != 0 {
        put!(line, ", seq {}", view.u32(at)?);
        at += 4;
    }
    if flags & ACKNOWLEDGEMENT != 0 {
        put!(line, ", ack {}", view.u32(at)?);
        at += 4;
    }
    if flags & SEQUENCE == 0 {
        put!(line, ", no-payload, length {}", view.len());
        return Ok(());
    }
    gre_type(line, protocol, view.len());
    match protocol {
        0x880b => line.nested(|line| ppp::frame(line, view.skip(at))),
        _ => {
            put!(line, "gre-proto-0x{protocol:x}");
            Ok(())
        }
    }
}

pub(super) fn esp(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "esp";
    put!(line, "ESP(spi=0x{:08x},seq=0x{:x}), length {}", view.u32(0)?, view.u32(4)?, view.len());
    Ok(())
}

/// Prints an authentication header; the next protocol and the header's length.
pub(super) fn ah(line: &mut Line<'_>, view: View<'_>) -> Result<Option<(u8, usize)>, Cut> {
    line.protocol = "ah";
    let size = (usize::from(view.u8(1)?) + 2) * 4;
    if size < 12 || size > view.len() {
        put!(line, "AH[length {size}]");
        line.invalid();
        return Ok(None);
    }
    line.put("AH(");
    if line.style.verbose > 0 {
        put!(line, "length={}({size}-bytes),", view.u8(1)?);
    }
    if view.u16(2)? != 0 {
        put!(line, "reserved=0x{:x}[MustBeZero],", view.u16(2)?);
    }
    put!(line, "spi=0x{:08x},seq=0x{:x},icv=0x", view.u32(4)?, view.u32(8)?);
    for b in view.take(12, size - 12)? {
        put!(line, "{b:02x}");
    }
    line.put("): ");
    Ok(Some((view.u8(0)?, size)))
}
