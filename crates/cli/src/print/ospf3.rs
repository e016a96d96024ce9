//! OSPF version 3 with `-v`: the packet; with `-vv` neighbours and advertisements, too.
//!
//! Source: RFC 5340, appendix A; RFC 5613 (link-local signalling), RFC 7166 (authentication
//! trailer).

use super::view::{Cut, Printed, View};
use super::{Line, hex, ip6, names, ospf, ospf_te, put};
use std::net::Ipv6Addr;

const HEADER: usize = 16;
const LSA_HEADER: usize = 20;
const TRAILER: usize = 16;
#[rustfmt::skip]
const OPTIONS: &[(u16, &str)] = &[
    (0x01, "V6"), (0x02, "External"), (0x04, "Deprecated"), (0x08, "NSSA"), (0x10, "Router"), (0x20, "Demand Circuit"),
    (0x0100, "AFs Support"), (0x0200, "LLS"), (0x0400, "Authentication Trailer"),
];
/// The option that announces link-local signalling.
const SIGNALLING: u32 = 0x0200;
#[rustfmt::skip]
const KINDS: &[(u16, &str)] = &[
    (1, "Router"), (2, "Network"), (3, "Inter-Area Prefix"), (4, "Inter-Area Router"), (5, "External"), (6, "Deprecated"), (7, "NSSA"),
    (8, "Link"), (9, "Intra-Area Prefix"), (10, "Intra-Area TE"), (11, "Grace"), (12, "Router Information"), (13, "Inter-AS-TE"),
    (14, "Layer 1 VPN"),
];
const SCOPES: &[(u16, &str)] = &[(0x0000, "Link Local"), (0x2000, "Area Local"), (0x4000, "Domain Wide")];
#[rustfmt::skip]
const ROUTER: &[(u16, &str)] = &[
    (0x01, "ABR"), (0x02, "External"), (0x04, "Virtual-Link Endpoint"), (0x08, "Deprecated"), (0x10, "NSSA Translator"),
];
#[rustfmt::skip]
const PREFIX: &[(u16, &str)] = &[
    (0x01, "No Unicast"), (0x02, "Local address"), (0x04, "Deprecated"), (0x08, "Propagate"), (0x10, "Down"), (0x20, "N-bit"),
];

/// Prints a packet of that kind behind its first line.
pub(super) fn print(line: &mut Line<'_>, kind: u8, view: View<'_>) -> Printed {
    let length = usize::from(view.u16(2)?);
    if length > view.len() {
        put!(line, " [len {length}]");
        return Ok(());
    }
    ospf::sender(line, view)?;
    match view.u8(14)? {
        0 => {}
        instance => put!(line, ", Instance {instance}"),
    }
    let all = line.style.verbose > 1;
    let body = view.skip(HEADER);
    let size = length.saturating_sub(HEADER);
    match kind {
        1 => hello(line, body, size)?,
        2 => description(line, body, size)?,
        3 if all => requests(line, body, size)?,
        4 if all => updates(line, body, size)?,
        5 if all => headers(line, body, 0, size)?,
        _ => {}
    }
    trailer(line, kind, view, length)
}

fn options(line: &mut Line<'_>, options: u32) {
    put!(line, "Options [{}]", names::flags(OPTIONS, options as u16, ", "));
}

fn hello(line: &mut Line<'_>, body: View<'_>, size: usize) -> Printed {
    line.put("\n\t");
    options(line, body.u32(4)?);
    put!(line, "\n\t  Hello Timer {}s, Dead Timer {}s", body.u16(8)?, body.u16(10)?);
    put!(line, ", Interface-ID {}, Priority {}", body.v4(0)?, body.u8(4)?);
    ospf::designated(line, body, 12)?;
    if line.style.verbose > 1 {
        line.put("\n\t  Neighbor List:");
        for at in (20..size).step_by(4) {
            put!(line, "\n\t    {}", body.v4(at)?);
        }
    }
    Ok(())
}

fn description(line: &mut Line<'_>, body: View<'_>, size: usize) -> Printed {
    line.put("\n\t");
    options(line, body.u32(0)?);
    let flags = [(0x04, "Init"), (0x02, "More"), (0x01, "Master"), (0x10, "IPv6 MTU")];
    put!(line, ", DD Flags [{}]", names::flags(&flags, body.u8(7)?.into(), ", "));
    put!(line, ", MTU {}, DD-Sequence 0x{:08x}", body.u16(4)?, body.u32(8)?);
    match line.style.verbose {
        1 => Ok(()),
        _ => headers(line, body, 12, size),
    }
}

fn headers(line: &mut Line<'_>, body: View<'_>, from: usize, size: usize) -> Printed {
    for at in (from..size).step_by(LSA_HEADER) {
        header(line, body.first(size).skip(at))?;
    }
    Ok(())
}

fn requests(line: &mut Line<'_>, body: View<'_>, size: usize) -> Printed {
    for at in (0..size).step_by(12) {
        body.take(at, 12)?;
        put!(line, "\n\t  Advertising Router {}", body.v4(at + 8)?);
        kind(line, body.u16(at + 2)?, body, at + 4)?;
    }
    Ok(())
}

fn updates(line: &mut Line<'_>, body: View<'_>, size: usize) -> Printed {
    let count = body.u32(0)?;
    let mut rest = body.first(size).skip(4);
    for _ in 0..count {
        if rest.len() == 0 {
            break;
        }
        let length = header(line, rest)?;
        advertisement(line, rest.u16(2)?, View::new(rest.take(LSA_HEADER, length)?, length))?;
        rest = rest.skip(LSA_HEADER + length);
    }
    Ok(())
}

/// Prints an advertisement's header; the length of what follows.
fn header(line: &mut Line<'_>, view: View<'_>) -> Result<usize, Cut> {
    view.take(0, LSA_HEADER)?;
    let length = usize::from(view.u16(18)?);
    let Some(body) = length.checked_sub(LSA_HEADER) else {
        put!(line, "\n\t\t  Bogus length {length} < header ({LSA_HEADER})");
        return Err(Cut);
    };
    put!(line, "\n\t  Advertising Router {}, seq 0x{:08x}, age {}s, length {body}", view.v4(8)?, view.u32(12)?, view.u16(0)?);
    kind(line, view.u16(2)?, view, 4)?;
    Ok(body)
}

fn kind(line: &mut Line<'_>, kind: u16, view: View<'_>, id: usize) -> Printed {
    let number = kind & 0x1fff;
    put!(line, "\n\t    {} LSA ({number})", names::find(KINDS, number).unwrap_or("Unknown"));
    put!(line, ", {} Scope", names::find(SCOPES, kind & 0x6000).unwrap_or("Unknown"));
    let transitive = if kind & 0x8000 != 0 { ", transitive" } else { "" };
    put!(line, "{transitive}, LSA-ID {}", view.v4(id)?);
    Ok(())
}

fn advertisement(line: &mut Line<'_>, kind: u16, body: View<'_>) -> Printed {
    match kind {
        0x2001 => router(line, body),
        0x2002 => network(line, body),
        0x2003 => {
            put!(line, ", metric {}", body.u24(1)?);
            let mut rest = body.skip(4);
            while rest.len() > 0 {
                rest = prefix(line, rest)?;
            }
            Ok(())
        }
        0x4005 => external(line, body),
        0x0008 => link(line, body),
        0x2009 => {
            self::kind(line, body.u16(2)?, body, 4)?;
            let count = body.u16(0)?;
            put!(line, "\n\t      Prefixes {count}:");
            prefixes(line, body.skip(12), count.into())
        }
        0x000b => ospf_te::grace(line, body, body.len())?.then_some(()).ok_or(Cut),
        0x000a => ospf_te::engineering(line, body, body.len())?.then_some(()).ok_or(Cut),
        _ => {
            hex::indented(&mut line.text, body.captured(), "\n\t      ");
            Ok(())
        }
    }
}

fn router(line: &mut Line<'_>, body: View<'_>) -> Printed {
    line.put("\n\t      ");
    options(line, body.u32(0)?);
    put!(line, ", RLA-Flags [{}]", names::flags(ROUTER, body.u8(0)?.into(), ", "));
    let mut link = body.skip(4);
    while link.len() > 0 {
        link.take(0, 16)?;
        match link.u8(0)? {
            1 => line.put("\n\t      Neighbor Router-ID"),
            2 => line.put("\n\t      Neighbor Network-ID"),
            4 => line.put("\n\t      Virtual Link: Neighbor Router-ID"),
            other => {
                put!(line, "\n\t      Unknown Router Links Type 0x{other:02x}");
                return Ok(());
            }
        }
        put!(line, " {}\n\t      Neighbor Interface-ID {}", link.v4(12)?, link.v4(8)?);
        put!(line, ", Interface {}, metric {}", link.v4(4)?, link.u16(2)?);
        link = link.skip(16);
    }
    Ok(())
}

fn network(line: &mut Line<'_>, body: View<'_>) -> Printed {
    line.put("\n\t      ");
    options(line, body.u32(0)?);
    line.put("\n\t      Connected Routers:");
    for at in (4..body.len()).step_by(4) {
        put!(line, "\n\t\t{}", body.v4(at)?);
    }
    Ok(())
}

fn external(line: &mut Line<'_>, body: View<'_>) -> Printed {
    let flags = body.u8(0)?;
    // As tcpdump, which knows a route outside by the topmost bit.
    let table = [(0x80, "External Type 2"), (0x02, "Forwarding"), (0x01, "Tag")];
    put!(line, "\n\t     Flags [{}] metric {}", names::flags(&table, flags.into(), ", "), body.u24(1)?);
    let refers = body.u8(6)?;
    let mut rest = prefix(line, body.skip(4))?;
    if flags & 0x02 != 0 {
        put!(line, " forward {}", ip6::address_at(rest, 0)?);
        rest = rest.skip(16);
    }
    if flags & 0x01 != 0 {
        put!(line, " tag {}", rest.v4(0)?);
        rest = rest.skip(4);
    }
    if refers != 0 {
        put!(line, " RefLSID: {}", rest.v4(0)?);
    }
    Ok(())
}

fn link(line: &mut Line<'_>, body: View<'_>) -> Printed {
    line.put("\n\t      ");
    options(line, body.u32(0)?);
    let count = body.u32(20)?;
    put!(line, "\n\t      Priority {}, Link-local address {}, Prefixes {count}:", body.u8(0)?, ip6::address_at(body, 4)?);
    prefixes(line, body.skip(24), count)
}

fn prefixes(line: &mut Line<'_>, body: View<'_>, count: u32) -> Printed {
    let mut rest = body;
    for _ in 0..count {
        rest = prefix(line, rest)?;
    }
    Ok(())
}

/// Prints a prefix: of its address only as many words stand there as it needs. What follows it.
fn prefix<'a>(line: &mut Line<'_>, view: View<'a>) -> Result<View<'a>, Cut> {
    view.take(0, 4)?;
    let length = view.u8(0)?;
    let size = usize::from(length).div_ceil(32) * 4;
    let mut octets = [0; 16];
    let Some(part) = octets.get_mut(..size) else {
        put!(line, " bogus prefixlen /{length}");
        return Err(Cut);
    };
    part.copy_from_slice(view.take(4, size)?);
    put!(line, "\n\t\t{}/{length}", ip6::address(Ipv6Addr::from(octets)));
    let options = view.u8(1)?;
    if options != 0 {
        put!(line, ", Options [{}]", names::flags(PREFIX, options.into(), ", "));
    }
    put!(line, ", metric {}", view.u16(2)?);
    Ok(view.skip(4 + size))
}

/// Link-local signalling and authentication, behind the packet.
fn trailer(line: &mut Line<'_>, kind: u8, view: View<'_>, length: usize) -> Printed {
    let options = match kind {
        1 => view.u32(HEADER + 4)?,
        2 => view.u32(HEADER)?,
        _ => 0,
    };
    let mut rest = view.skip(length);
    if options & SIGNALLING != 0 && rest.len() > 0 {
        put!(line, "\n\tLLS Checksum 0x{:04x}, Data Length {}", rest.u16(0)?, rest.u16(2)?);
        let size = usize::from(rest.u16(2)?);
        if size < 4 || size > rest.len() {
            return Err(Cut);
        }
        rest.take(0, size)?;
        rest = rest.skip(size);
    }
    if rest.len() > 0 { authentication(line, rest) } else { Ok(()) }
}

fn authentication(line: &mut Line<'_>, rest: View<'_>) -> Printed {
    if rest.len() < TRAILER {
        return Err(Cut);
    }
    let (kind, size) = (rest.u16(0)?, usize::from(rest.u16(2)?));
    put!(line, "\n\tAuthentication Type {}, Length {size}", names::find_or(&[(1, "HMAC")], kind, || format!("unknown (0x{kind:04x})")));
    if size < TRAILER || size > rest.len() {
        return Err(Cut);
    }
    put!(line, ", SAID {}, CSN 0x{:08x}:{:08x}", rest.u16(6)?, rest.u32(8)?, rest.u32(12)?);
    let data = rest.take(TRAILER, size - TRAILER)?;
    if line.style.verbose > 1 {
        hex::indented(&mut line.text, data, "\n\tAuthentication Data ");
    }
    Ok(())
}
