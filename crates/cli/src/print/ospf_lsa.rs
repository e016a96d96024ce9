//! Link state advertisements of OSPF version 2: their headers, and what each kind says.
//!
//! Source: RFC 2328, appendix A.4; RFC 3101 (NSSA); RFC 5250 (opaque). What opaque ones carry is in
//! `ospf_te`.

use super::view::{Cut, Printed, View};
use super::{Line, hex, names, ospf_te, put};
use std::net::Ipv4Addr;

pub(super) const HEADER: usize = 20;
#[rustfmt::skip]
pub(super) const OPTIONS: &[(u16, &str)] = &[
    (0x01, "MultiTopology"), (0x02, "External"), (0x04, "Multicast"), (0x08, "NSSA"), (0x10, "LLS"), (0x20, "Demand Circuit"),
    (0x40, "Opaque"), (0x80, "Up/Down"),
];
#[rustfmt::skip]
pub(super) const KINDS: &[(u8, &str)] = &[
    (1, "Router"), (2, "Network"), (3, "Summary"), (4, "ASBR Summary"), (5, "External"), (6, "Multicast Group"), (7, "NSSA"),
    (9, "Link Local Opaque"), (10, "Area Local Opaque"), (11, "Domain Wide Opaque"),
];
pub(super) const OPAQUE: &[(u8, &str)] = &[(1, "Traffic Engineering"), (3, "Graceful restart"), (4, "Router Information")];
#[rustfmt::skip]
const ROUTER: &[(u16, &str)] = &[
    (0x01, "ABR"), (0x02, "ASBR"), (0x04, "Virtual"), (0x08, "Wildcard"), (0x10, "Nt"), (0x80, "Host"),
];
/// A link of a router: where it leads, its kind, how many more metrics follow, and its metric.
const LINK: usize = 12;

/// Prints a header; how long the whole advertisement is, or nothing if it cannot be that short.
pub(super) fn header(line: &mut Line<'_>, view: View<'_>) -> Result<Option<usize>, Cut> {
    let length = usize::from(view.u16(18)?);
    let Some(body) = length.checked_sub(HEADER) else {
        put!(line, "\n\t    Bogus length {length} < header ({HEADER})");
        return Ok(None);
    };
    put!(line, "\n\t  Advertising Router {}, seq 0x{:08x}, age {}s, length {body}", view.v4(8)?, view.u32(12)?, view.u16(0)?);
    let kind = view.u8(3)?;
    let name = names::find(KINDS, kind).unwrap_or("unknown");
    match kind {
        9..=11 => {
            let opaque = view.u8(4)?;
            let what = names::find(OPAQUE, opaque).unwrap_or("unknown");
            put!(line, "\n\t    {name} LSA ({kind}), Opaque-Type {what} LSA ({opaque}), Opaque-ID {}", view.u24(5)?);
        }
        _ => put!(line, "\n\t    {name} LSA ({kind}), LSA-ID: {}", view.v4(4)?),
    }
    put!(line, "\n\t    Options: [{}]", names::flags(OPTIONS, view.u8(2)?.into(), ", "));
    Ok(Some(length))
}

/// Prints an advertisement; its length.
pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Result<usize, Cut> {
    let length = header(line, view)?.ok_or(Cut)?;
    let (kind, body) = (view.u8(3)?, view.skip(HEADER));
    let size = length - HEADER;
    let whole = match kind {
        1 => router(line, body)?,
        2 => network(line, body, size).map(|()| true)?,
        3 => {
            put!(line, "\n\t    Mask {}", body.v4(0)?);
            summary(line, body, size)?
        }
        4 => summary(line, body, size)?,
        5 | 7 => external(line, body, size).map(|()| true)?,
        6 => multicast(line, body, size).map(|()| true)?,
        9..=11 => ospf_te::opaque(line, view.u8(4)?, body, size)?,
        _ => true,
    };
    if whole && line.style.verbose > 1 {
        hex::indented(&mut line.text, body.first(size).captured(), "\n\t    ");
    }
    Ok(length)
}

/// The links of a router; false if one is of an unknown kind.
fn router(line: &mut Line<'_>, body: View<'_>) -> Result<bool, Cut> {
    put!(line, "\n\t    Router LSA Options: [{}]", names::flags(ROUTER, body.u8(0)?.into(), ", "));
    let count = body.u16(2)?;
    let mut link = body.skip(4);
    link.take(0, LINK)?;
    for _ in 0..count {
        link.take(0, LINK)?;
        let (id, data, kind) = (link.v4(0)?, link.v4(4)?, link.u8(8)?);
        match kind {
            1 => put!(line, "\n\t      Neighbor Router-ID: {id}, Interface Address: {data}"),
            2 => put!(line, "\n\t      Neighbor Network-ID: {id}, Interface Address: {data}"),
            3 => put!(line, "\n\t      Stub Network: {id}, Mask: {data}"),
            4 => put!(line, "\n\t      Virtual Link: Neighbor Router-ID: {id}, Interface Address: {data}"),
            _ => {
                put!(line, "\n\t      Unknown Router Link Type ({kind})");
                return Ok(false);
            }
        }
        let more = usize::from(link.u8(9)?);
        for i in 0..=more {
            let at = 8 + 4 * i;
            // Of the first metric the kind of link stands where others have their topology.
            let number = if i == 0 { 0 } else { link.u8(at)? };
            put!(line, "\n\t\ttopology {} ({number}), metric {}", topology(number), link.u16(at + 2)?);
        }
        link = link.skip(LINK + 4 * more);
    }
    Ok(true)
}

fn topology(number: u8) -> &'static str {
    names::find(&[(0, "default"), (1, "multicast"), (2, "management")], number).unwrap_or("Unknown")
}

fn network(line: &mut Line<'_>, body: View<'_>, size: usize) -> Printed {
    put!(line, "\n\t    Mask {}\n\t    Connected Routers:", body.v4(0)?);
    for at in (4..size).step_by(4) {
        put!(line, "\n\t      {}", body.v4(at)?);
    }
    Ok(())
}

/// Metrics, behind a mask that only some of them need.
fn summary(line: &mut Line<'_>, body: View<'_>, size: usize) -> Result<bool, Cut> {
    for at in (4..size).step_by(4) {
        let number = body.u8(at)? & 0x7f;
        put!(line, "\n\t\ttopology {} ({number}) metric {}", topology(number), body.u24(at + 1)?);
    }
    Ok(true)
}

fn external(line: &mut Line<'_>, body: View<'_>, size: usize) -> Printed {
    put!(line, "\n\t    Mask {}", body.v4(0)?);
    for at in (4..size).step_by(12) {
        let (first, metric) = (body.u8(at)?, body.u24(at + 1)?);
        let (kind, number) = (1 + (first >> 7), first & 0x7f);
        put!(line, "\n\t\ttopology {} ({number}), type {kind}, metric", topology(number));
        match metric {
            0xff_ffff => line.put(" infinite"),
            _ => put!(line, " {metric}"),
        }
        for (name, at) in [("forward", at + 4), ("tag", at + 8)] {
            match body.v4(at)? {
                Ipv4Addr::UNSPECIFIED => {}
                address => put!(line, ", {name} {address}"),
            }
        }
    }
    Ok(())
}

fn multicast(line: &mut Line<'_>, body: View<'_>, size: usize) -> Printed {
    for at in (0..size).step_by(8) {
        match body.u32(at)? {
            1 => put!(line, "\n\t    Router Router-ID {}", body.v4(at + 4)?),
            2 => put!(line, "\n\t    Network Designated Router {}", body.v4(at + 4)?),
            kind => put!(line, "\n\t    unknown VertexType ({kind})"),
        }
    }
    Ok(())
}
