//! IPv6 and its extension headers (RFC 8200): `IP6 src > dst: `.

use super::transport::{self, Ip};
use super::view::{Cut, Printed, View};
use super::{Line, names, put};
use netvm::netil::fields::ip6;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HEADER: usize = ip6::HEADER.bytes() as usize;

/// An address as `inet_ntop` writes it: also `::a.b.c.d` for the IPv4-compatible ones.
pub(super) fn address(address: Ipv6Addr) -> String {
    let [head @ .., e, f, g, h] = address.octets();
    if head.iter().all(|b| *b == 0) && (e, f) != (0, 0) {
        return format!("::{}", Ipv4Addr::new(e, f, g, h));
    }
    address.to_string()
}

/// The address at `at`.
pub(super) fn address_at(view: View<'_>, at: usize) -> Result<String, Cut> {
    view.array::<16>(at).map(|octets| address(octets.into()))
}

/// Prints a packet that should be IPv6.
pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.nested(|line| packet(line, view))
}

fn packet(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "ip6";
    if view.len() < HEADER {
        put!(line, "truncated-ip6 {}", view.len());
        return Ok(());
    }
    if !line.style.link {
        line.put("IP6 ");
    }
    let version = view.u8(0)? >> 4;
    if version != 6 {
        put!(line, "IP{version}, wrong link-layer encapsulation");
        line.invalid();
        return Ok(());
    }
    let payload = usize::from(view.half(ip6::LENGTH)?);
    let available = view.len() - HEADER;
    if payload > available {
        put!(line, "truncated-ip6 - {} bytes missing!", payload - available);
    }
    let protocol = view.byte(ip6::NEXT_HEADER)?;
    if line.style.verbose > 0 {
        fields(line, view, protocol, payload)?;
    }
    let dst = read(view, ip6::DST.range().start)?;
    let ip =
        Ip { src: read(view, ip6::SRC.range().start)?, dst, last: dst, ttl: view.byte(ip6::HOP_LIMIT)?, fragmented: false, shown: false };
    let rest = view.skip(HEADER);
    // A jumbogram, or a segment too long for the field: as far as the packet goes.
    let rest = if payload == 0 { rest } else { rest.claiming(payload) };
    walk(line, ip, protocol, rest)
}

fn read(view: View<'_>, at: usize) -> Result<IpAddr, Cut> {
    view.array::<16>(at).map(|octets| Ipv6Addr::from(octets).into())
}

fn fields(line: &mut Line<'_>, view: View<'_>, protocol: u8, payload: usize) -> Printed {
    let flow = view.word(ip6::VERSION_CLASS_FLOW)?;
    line.put("(");
    if flow & 0x0ff0_0000 != 0 {
        put!(line, "class 0x{:02x}, ", flow >> 20 & 0xff);
    }
    if flow & 0xf_ffff != 0 {
        put!(line, "flowlabel 0x{:05x}, ", flow & 0xf_ffff);
    }
    let name = names::ip_protocol(protocol);
    put!(line, "hlim {}, next-header {name} ({protocol}) payload length: {payload}) ", view.byte(ip6::HOP_LIMIT)?);
    Ok(())
}

/// Follows the chain of extension headers to what they announce.
fn walk(line: &mut Line<'_>, mut ip: Ip, mut protocol: u8, mut rest: View<'_>) -> Printed {
    if rest.captured().is_empty() && rest.len() > 0 {
        return Err(Cut);
    }
    if !matches!(protocol, 6 | 17 | 33 | 132) {
        ip.addresses(line);
        ip.shown = true;
    }
    loop {
        let size = match protocol {
            0 => options(line, rest, "hbh", "HBH ")?,
            60 => options(line, rest, "dstopt", "DSTOPT ")?,
            43 => match routing(line, rest, &mut ip)? {
                Some(size) => size,
                None => return Ok(()),
            },
            44 => match fragment(line, rest, &mut ip)? {
                Some(size) => size,
                None => return Ok(()),
            },
            135 => {
                put!(line, "mobility, length {}", rest.len());
                return Ok(());
            }
            _ => return transport::print(line, protocol, &ip, rest),
        };
        protocol = rest.u8(0)?;
        rest = rest.skip(size);
    }
}

fn options(line: &mut Line<'_>, view: View<'_>, protocol: &'static str, name: &str) -> Result<usize, Cut> {
    line.protocol = protocol;
    let size = (usize::from(view.u8(1)?) + 1) * 8;
    view.take(0, size)?;
    line.put(name);
    if line.style.verbose > 0 {
        each_option(line, view.first(size).skip(2))?;
        line.put(" ");
    }
    Ok(size)
}

fn each_option(line: &mut Line<'_>, mut view: View<'_>) -> Printed {
    while view.len() > 0 {
        let kind = view.u8(0)?;
        let len = if kind == 0 { 1 } else { usize::from(view.u8(1)?) + 2 };
        match kind {
            0 => line.put("(pad1)"),
            1 => line.put("(padn)"),
            5 => put!(line, "(rtalert: 0x{:04x}) ", view.u16(2)?),
            0xc2 => put!(line, "(jumbo: {}) ", view.u32(2)?),
            _ => put!(line, "(opt_type 0x{kind:02x}: len={})", len - 2),
        }
        view = view.skip(len);
    }
    Ok(())
}

fn routing(line: &mut Line<'_>, view: View<'_>, ip: &mut Ip) -> Result<Option<usize>, Cut> {
    line.protocol = "rt6";
    let (len, kind) = (view.u8(1)?, view.u8(2)?);
    let note = if kind == 0 { " [Deprecated]" } else { "" };
    put!(line, "RT6 (len={len}, type={kind}{note}, segleft={}", view.u8(3)?);
    let shown = line.style.verbose > 0;
    match kind {
        0 | 2 if shown || view.u32(4)? != 0 => put!(line, ", rsv=0x{:x}", view.u32(4)?),
        0 | 2 => {}
        4 => {
            put!(line, ", last-entry={}", view.u8(4)?);
            if shown || view.u8(5)? != 0 {
                put!(line, ", flags=0x{:x}", view.u8(5)?);
            }
            put!(line, ", tag={:x}", view.u16(6)?);
        }
        _ => {
            line.put(" (unknown type)");
            line.invalid();
            return Ok(None);
        }
    }
    if len % 2 == 1 {
        put!(line, " (invalid length {len})");
        line.invalid();
        return Ok(None);
    }
    let addresses = usize::from(len) / 2;
    for i in 0..addresses {
        let IpAddr::V6(a) = read(view, 8 + 16 * i)? else { break };
        put!(line, ", [{i}]{}", address(a));
        // Segments stand in the order of the way back (RFC 8754, section 2).
        if kind != 4 || i == 0 {
            ip.last = a.into();
        }
    }
    line.put(") ");
    Ok(Some((usize::from(len) + 1) * 8))
}

fn fragment(line: &mut Line<'_>, view: View<'_>, ip: &mut Ip) -> Result<Option<usize>, Cut> {
    line.protocol = "frag6";
    let (place, id) = (view.u16(2)?, view.u32(4)?);
    let offset = place & 0xfff8;
    line.put("frag (");
    if line.style.verbose > 0 {
        put!(line, "0x{id:08x}:");
    }
    put!(line, "{offset}|{})", view.len().saturating_sub(8));
    if offset != 0 {
        return Ok(None);
    }
    line.put(" ");
    ip.fragmented = true;
    Ok((view.captured().len() > 8).then_some(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_the_usual_way() {
        let same = ["::", "::1", "fe80::1", "2001:db8:0:1::1", "::ffff:10.0.0.1", "::10.0.0.1", "1:0:2:3:4:5:6:7"];
        for text in same {
            assert_eq!(address(text.parse().unwrap()), text);
        }
        assert_eq!(address("2001:db8:0:0:0:0:0:1".parse().unwrap()), "2001:db8::1");
    }
}
