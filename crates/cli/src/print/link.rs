//! The outermost header, by link type: Ethernet, BSD loopback, raw IP, Linux cooked capture, what
//! Linux's packet filter logs, PPP, Cisco HDLC, frame relay, 802.11.
//!
//! Source: <https://www.tcpdump.org/linktypes.html>. Of other link types the bytes are shown.

use super::view::{Cut, Printed, View};
use super::{Line, chdlc, escape, ether, frame_relay, ip4, ip6, llc, names, ppp, put, radio, wlan};
use netvm::io::LinkType;

/// Prints a packet of that link type.
pub(super) fn print(line: &mut Line<'_>, link: LinkType, view: View<'_>) -> Printed {
    match link {
        LinkType::EN10MB => frame(line, view),
        LinkType::NULL | LinkType::LOOP => loopback(line, view),
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => raw(line, view),
        LinkType::LINUX_SLL => sll(line, view),
        LinkType::LINUX_SLL2 => sll2(line, view),
        LinkType::PPP | LinkType::PPP_SERIAL => {
            line.header = 4;
            ppp::frame(line, view)
        }
        _ if link.number() == WLAN => wlan::print(line, view, false, 0),
        _ if link.number() == PRISM => radio::prism(line, view),
        _ if link.number() == RADIOTAP => radio::radiotap(line, view),
        _ if link.number() == AVS => radio::avs(line, view),
        _ if link.number() == PPI => radio::ppi(line, view),
        _ if link.number() == C_HDLC => chdlc::print(line, view),
        _ if link.number() == NFLOG => nflog(line, view),
        _ if link.number() == FRAME_RELAY => frame_relay::print(line, view),
        _ => {
            put!(line, "{link}, length {}", view.len());
            line.unknown(view);
            Ok(())
        }
    }
}

const C_HDLC: u32 = 104;
const WLAN: u32 = 105;
const PRISM: u32 = 119;
const RADIOTAP: u32 = 127;
const AVS: u32 = 163;
const PPI: u32 = 192;
const FRAME_RELAY: u32 = 107;
const NFLOG: u32 = 239;

/// True for link types that [`print`] reads.
pub(super) fn has_printer(link: LinkType) -> bool {
    let known = [
        LinkType::EN10MB,
        LinkType::NULL,
        LinkType::LOOP,
        LinkType::RAW,
        LinkType::IPV4,
        LinkType::IPV6,
        LinkType::LINUX_SLL,
        LinkType::LINUX_SLL2,
        LinkType::PPP,
        LinkType::PPP_SERIAL,
    ];
    known.contains(&link) || [C_HDLC, FRAME_RELAY, NFLOG, WLAN, PRISM, RADIOTAP, AVS, PPI].contains(&link.number())
}

fn frame(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let mut header = 0;
    let printed = ether::print(line, view, &mut header);
    line.header = header;
    printed
}

/// A four-byte address family, in the capturing host's byte order or in the network's: no family
/// exceeds 16 bits.
fn loopback(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "null";
    let family = match u32::from_le_bytes(view.array(0)?) {
        f if f & 0xffff_0000 != 0 => f.swap_bytes(),
        f => f,
    };
    line.header = 4;
    let name = match family {
        2 => "IPv4",
        24 | 28 | 30 => "IPv6",
        _ => "Unknown",
    };
    if line.style.link || name == "Unknown" {
        match line.style.quiet {
            true => put!(line, "{name}, length {}: ", view.len()),
            false => put!(line, "AF {name} ({family}), length {}: ", view.len()),
        }
    }
    match name {
        "IPv4" => ip4::print(line, view.skip(4)),
        "IPv6" => ip6::print(line, view.skip(4)),
        _ => {
            line.unknown(view.skip(4));
            Ok(())
        }
    }
}

fn raw(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "raw";
    line.put(if line.style.link { "ip: " } else { "" });
    match view.u8(0)? >> 4 {
        4 => ip4::print(line, view),
        6 => ip6::print(line, view),
        version => {
            put!(line, "unknown ip {version}");
            Ok(())
        }
    }
}

/// What Linux's packet filter logs: fields, the last of which is the packet. Their byte order is
/// the capturing host's: taken as little-endian.
fn nflog(line: &mut Line<'_>, view: View<'_>) -> Printed {
    const PACKET: u16 = 9;
    line.protocol = "nflog";
    let [family, version] = view.array(0)?;
    let resource = view.u16(2)?;
    if version != 0 {
        put!(line, "version {version} (unknown)");
        return Ok(());
    }
    let head = |line: &mut Line<'_>, len: usize| {
        let name = names::find(&[(2, "IPv4"), (10, "IPv6")], family);
        put!(line, "version {version}, resource ID {resource}");
        match (line.style.quiet, name) {
            (false, _) => put!(line, ", family {} ({family})", name.unwrap_or("Unknown")),
            (true, Some(name)) => put!(line, ", {name}"),
            (true, None) => put!(line, ", Unknown NFLOG (0x{family:02x})"),
        }
        put!(line, ", length {len}: ");
    };
    if line.style.link {
        head(line, view.len());
    }
    let mut at = 4;
    while at < view.len() {
        let (size, kind) = (u16::from_le_bytes(view.array(at)?), u16::from_le_bytes(view.array(at + 2)?));
        let size = usize::from(size).next_multiple_of(4);
        if size < 4 || view.take(at, size).is_err() {
            line.header = at;
            return Err(Cut);
        }
        if kind == PACKET {
            at += 4;
            break;
        }
        at += size;
    }
    line.header = at;
    let packet = view.skip(at);
    match family {
        2 => ip4::print(line, packet),
        10 => ip6::print(line, packet),
        _ => {
            if !line.style.link {
                head(line, packet.len() + 4);
            }
            line.unknown(packet);
            Ok(())
        }
    }
}

/// Which way a cooked packet went.
fn direction(kind: u16) -> &'static str {
    names::find(&[(0, "In"), (1, "B"), (2, "M"), (3, "P"), (4, "Out")], kind).unwrap_or("?")
}

/// Version 1: packet type, hardware type, address length, 8 bytes of address, protocol.
fn sll(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "sll";
    view.take(0, 16)?;
    let ethertype = view.u16(14)?;
    if line.style.link {
        put!(line, "{:>3} ", direction(view.u16(0)?));
        cooked_address(line, view, usize::from(view.u16(4)?), 6)?;
        cooked_type(line, ethertype, view.len());
    }
    line.header = 16;
    cooked(line, ethertype, view.skip(16))
}

/// Version 2: protocol, 2 bytes of zeros, interface, hardware type, packet type, address length, 8
/// bytes of address.
fn sll2(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "sll2";
    view.take(0, 20)?;
    let (ethertype, interface) = (view.u16(0)?, view.u32(4)?);
    let mut name = String::new();
    match line.style.interface.and_then(|name| name(interface)) {
        Some(known) => escape::text(&mut name, known.as_bytes()),
        None => name = format!("if{interface}"),
    }
    put!(line, "{name:<5} {:<3} ", direction(u16::from(view.u8(10)?)));
    if line.style.link {
        put!(line, "ifindex {interface} ");
        cooked_address(line, view, usize::from(view.u8(11)?), 12)?;
        cooked_type(line, ethertype, view.len());
    }
    line.header = 20;
    cooked(line, ethertype, view.skip(20))
}

fn cooked_address(line: &mut Line<'_>, view: View<'_>, len: usize, at: usize) -> Printed {
    if len == 6 {
        put!(line, "{} ", ether::Mac(view.array(at)?));
    }
    Ok(())
}

fn cooked_type(line: &mut Line<'_>, ethertype: u16, len: usize) {
    if line.style.quiet {
        return;
    }
    match ethertype {
        1 => line.put("802.3"),
        4 => line.put("802.2"),
        _ => put!(line, "ethertype {} (0x{ethertype:04x})", names::ethertype(ethertype)),
    }
    put!(line, ", length {len}: ");
}

fn cooked(line: &mut Line<'_>, mut ethertype: u16, mut rest: View<'_>) -> Printed {
    while ethertype == ether::VLAN {
        line.protocol = "vlan";
        if line.style.link {
            put!(line, "{}, ", ether::tag(rest.u16(0)?));
        }
        ethertype = rest.u16(2)?;
        if line.style.link {
            put!(line, "ethertype {}, ", names::ethertype(ethertype));
        }
        rest = rest.skip(4);
        line.header += 4;
    }
    if ethertype == 4 {
        return llc_payload(line, rest);
    }
    if !ether::payload(line, ethertype, rest)? {
        line.unknown(rest);
    }
    Ok(())
}

fn llc_payload(line: &mut Line<'_>, rest: View<'_>) -> Result<(), Cut> {
    let header = llc::print(line, rest, None)?;
    line.header += header;
    Ok(())
}
