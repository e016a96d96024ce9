//! ICMPv6 (RFC 4443): errors, echoes, and the fixed fields of neighbour discovery (RFC 4861); `nd`
//! has its options, `mld` multicast listeners.

use super::ip6::address_at as address;
use super::transport::Ip;
use super::view::{Cut, Printed, View};
use super::{Line, checksum, hex, mld, names, nd, put, rpl};

/// Where the offending packet begins in an error message.
const INNER: usize = 8;

#[rustfmt::skip]
const KINDS: &[(u8, &str)] = &[
    (1, "destination unreachable"), (2, "packet too big"), (3, "time exceeded in-transit"), (4, "parameter problem"),
    (128, "echo request"), (129, "echo reply"), (130, "multicast listener query"), (131, "multicast listener report"),
    (132, "multicast listener done"), (133, "router solicitation"), (134, "router advertisement"),
    (135, "neighbor solicitation"), (136, "neighbor advertisement"), (137, "redirect"), (138, "router renumbering"),
    (139, "node information query"), (140, "node information reply"), (141, "inverse neighbor solicitation"),
    (142, "inverse neighbor advertisement"), (143, "multicast listener report v2"), (144, "ha discovery request"),
    (145, "ha discovery reply"), (146, "mobile router solicitation"), (147, "mobile router advertisement"),
    (155, "RPL"), (200, "mtrace message"), (201, "mtrace response"),
];

pub(super) fn print(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    line.protocol = "icmp6";
    let kind = view.u8(0)?;
    if line.style.verbose > 0 && !ip.fragmented && view.is_whole() {
        sum(line, ip, view)?;
    }
    match names::find(KINDS, kind) {
        Some(name) => put!(line, "ICMP6, {name}"),
        None => put!(line, "ICMP6, unknown icmp6 type ({kind})"),
    }
    let discovery = matches!(kind, 133..=137 | 145 | 147);
    if line.style.verbose > 0 && discovery {
        put!(line, ", length {}", view.len());
    }
    details(line, kind, view)?;
    let known = names::find(KINDS, kind).is_some();
    if line.style.verbose == 0 || !known {
        put!(line, ", length {}", view.len());
    }
    if line.style.verbose <= 1 && !known {
        hex::indented(&mut line.text, view.captured(), "\n\t");
    }
    Ok(())
}

fn sum(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    let found = view.u16(2)?;
    match checksum::expected(found, view.captured(), checksum::pseudo(ip.src, ip.last, 58, view)) {
        Some(right) => put!(line, "[bad icmp6 cksum 0x{found:04x} -> 0x{right:04x}!] "),
        None => line.put("[icmp6 sum ok] "),
    }
    Ok(())
}

fn details(line: &mut Line<'_>, kind: u8, view: View<'_>) -> Printed {
    let code = view.u8(1)?;
    match kind {
        1 => unreachable(line, code, view)?,
        2 => put!(line, ", mtu {}", view.u32(4)?),
        3 => match code {
            0 => put!(line, " for {}", address(view, INNER + 24)?),
            1 => line.put(" (reassembly)"),
            _ => put!(line, ", unknown code ({code})"),
        },
        4 => {
            let octet = view.u32(4)?;
            match names::find(&[(0, "erroneous"), (1, "next header"), (2, "option"), (3, "incomplete header chain")], code) {
                Some(name) => put!(line, ", {name} - octet {octet}"),
                None => put!(line, ", code-#{code}"),
            }
        }
        128 | 129 => put!(line, ", id {}, seq {}", view.u16(4)?, view.u16(6)?),
        130 if view.len() == 24 => mld::version_1(line, view)?,
        130 if view.len() >= 28 => mld::query(line, view)?,
        130 => put!(line, " unknown-version (len {}) ", view.len()),
        131 | 132 => mld::version_1(line, view)?,
        133..=137 | 147 => discovery(line, kind, view)?,
        143 => mld::report(line, view)?,
        144 | 146 => put!(line, ", id 0x{:04x}", view.u16(4)?),
        145 if line.style.verbose > 0 => agents(line, view)?,
        155 => rpl::print(line, code, view.skip(4))?,
        _ => {}
    }
    Ok(())
}

/// Neighbour discovery: its addresses, with `-v` fields and options.
fn discovery(line: &mut Line<'_>, kind: u8, view: View<'_>) -> Printed {
    match kind {
        135 => put!(line, ", who has {}", address(view, 8)?),
        136 => put!(line, ", tgt is {}", address(view, 8)?),
        137 => put!(line, ", {} to {}", address(view, 24)?, address(view, 8)?),
        _ => {}
    }
    if line.style.verbose == 0 {
        return Ok(());
    }
    let fixed = match kind {
        134 => {
            nd::advertisement(line, view)?;
            16
        }
        136 => {
            let table = [(0x80, "router"), (0x40, "solicited"), (0x20, "override")];
            put!(line, ", Flags [{}]", names::flags(&table, view.u8(4)?.into(), ", "));
            24
        }
        135 => 24,
        137 => 40,
        147 => {
            let flags = view.u16(6)?;
            put!(line, ", id 0x{:04x}{}", view.u16(4)?, ["", " O", " M", " MO"][usize::from(flags >> 14)]);
            8
        }
        _ => 8,
    };
    nd::options(line, view.skip(fixed))
}

/// Home agents (RFC 6275, section 6.6).
fn agents(line: &mut Line<'_>, view: View<'_>) -> Printed {
    put!(line, ", id 0x{:04x}", view.u16(4)?);
    let mut rest = view.skip(INNER);
    while !rest.captured().is_empty() {
        put!(line, ", {}", address(rest, 0)?);
        rest = rest.skip(16);
    }
    Ok(())
}

fn unreachable(line: &mut Line<'_>, code: u8, view: View<'_>) -> Printed {
    let target = || address(view, INNER + 24);
    match code {
        0 => put!(line, ", unreachable route {}", target()?),
        1 => put!(line, ",  unreachable prohibited {}", target()?),
        2 => put!(line, ", beyond scope {}, source address {}", target()?, address(view, INNER + 8)?),
        3 => put!(line, ", unreachable address {}", target()?),
        4 => {
            let (protocol, port) = port(view)?;
            match protocol {
                6 => put!(line, ", unreachable port, {} tcp port {port}", target()?),
                17 => put!(line, ", unreachable port, {} udp port {port}", target()?),
                _ => put!(line, ", unreachable port, {} protocol {protocol} port {port} unreachable", target()?),
            }
        }
        _ => put!(line, ", unknown unreach code ({code})"),
    }
    Ok(())
}

/// Protocol and destination port of the offending packet, past its extension headers.
fn port(view: View<'_>) -> Result<(u8, u16), Cut> {
    let mut protocol = view.u8(INNER + 6)?;
    let mut at = INNER + 40;
    while matches!(protocol, 0 | 43 | 60 | 44) {
        let len = if protocol == 44 { 8 } else { (usize::from(view.u8(at + 1)?) + 1) * 8 };
        protocol = view.u8(at)?;
        at += len;
    }
    Ok((protocol, view.u16(at + 2)?))
}
