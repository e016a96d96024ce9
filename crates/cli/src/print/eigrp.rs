//! EIGRP (RFC 7868): the kind of packet; with `-v` parameters and routes.

use super::view::{Cut, Printed, View};
use super::{Line, hex, names, put};
use std::net::Ipv4Addr;

const HEADER: usize = 20;
const HEAD: usize = 4;
const KINDS: &[(u8, &str)] = &[(1, "Update"), (3, "Query"), (4, "Reply"), (5, "Hello"), (6, "IPX SAP"), (7, "Probe")];
const FLAGS: &[(u16, &str)] = &[(0x01, "Init"), (0x02, "Conditionally Received"), (0x04, "Restart"), (0x08, "End-of-Table")];
/// What a field is: its number; its name, and the bytes that its value has at least, or 0 where it
/// is not decoded.
#[rustfmt::skip]
const FIELDS: &[(u16, (&str, usize))] = &[
    (0x0001, ("General Parameters", 8)), (0x0002, ("Authentication", 0)), (0x0003, ("Sequence", 0)), (0x0004, ("Software Version", 4)),
    (0x0005, ("Next Multicast Sequence", 0)), (0x0102, ("IP Internal routes", 22)), (0x0103, ("IP External routes", 42)),
    (0x0202, ("AppleTalk Internal routes", 24)), (0x0203, ("AppleTalk External routes", 40)), (0x0204, ("AppleTalk Cable setup", 8)),
    (0x0302, ("IPX Internal routes", 0)), (0x0303, ("IPX External routes", 0)),
];
#[rustfmt::skip]
const ORIGINS: &[(u8, &str)] = &[
    (1, "IGRP"), (2, "EIGRP"), (3, "Static"), (4, "RIP"), (5, "Hello"), (6, "OSPF"), (7, "IS-IS"), (8, "EGP"), (9, "BGP"), (10, "IDRP"),
    (11, "Connected"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "eigrp";
    let kind = || view.u8(1).map(|kind| names::find_or(KINDS, kind, || format!("unknown ({kind})")));
    view.take(0, HEADER)?;
    match view.u8(0)? {
        2 if line.style.verbose == 0 => put!(line, "EIGRP {}, length: {}", kind()?, view.len()),
        2 => return verbose(line, view),
        version => put!(line, "EIGRP version {version} packet not supported"),
    }
    Ok(())
}

fn verbose(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let kind = view.u8(1)?;
    let name = names::find_or(KINDS, kind, || format!("unknown, type: {kind}"));
    let flags = names::flags(FLAGS, view.u16(6)?, ", ");
    put!(line, "\n\tEIGRP v2, opcode: {name} ({kind}), chksum: 0x{:04x}, Flags: [{flags}]", view.u16(2)?);
    put!(line, "\n\tseq: 0x{:08x}, ack: 0x{:08x}, VRID: {}", view.u32(8)?, view.u32(12)?, view.u16(16)?);
    put!(line, ", AS: {}, length: {}", view.u16(18)?, view.len() - HEADER);
    let mut rest = view.skip(HEADER);
    while rest.len() > 0 {
        rest.take(0, HEAD)?;
        let (kind, length) = (rest.u16(0)?, usize::from(rest.u16(2)?));
        if length < HEAD || length > rest.len() {
            hex::indented(&mut line.text, rest.skip(HEAD).captured(), "\n\t    ");
            return Ok(());
        }
        let known = names::find_any(FIELDS, kind);
        put!(line, "\n\t  {} TLV (0x{kind:04x}), length: {length}", known.map_or("Unknown", |(name, _)| name));
        let value = View::new(&rest.take(0, length)?[HEAD..], length - HEAD);
        match known {
            Some((_, least)) if least > 0 && value.len() < least => put!(line, " (too short, < {})", least + HEAD),
            Some((_, least)) if least > 0 => field(line, kind, value)?,
            _ if line.style.verbose == 1 => hex::indented(&mut line.text, value.captured(), "\n\t    "),
            _ => {}
        }
        if line.style.verbose > 1 {
            hex::indented(&mut line.text, value.captured(), "\n\t    ");
        }
        rest = rest.skip(length);
    }
    Ok(())
}

fn field(line: &mut Line<'_>, kind: u16, value: View<'_>) -> Printed {
    match kind {
        0x0001 => {
            put!(line, "\n\t    holdtime: {}s", value.u16(6)?);
            for number in 1..=5 {
                put!(line, ", k{number} {}", value.u8(number - 1)?);
            }
        }
        0x0004 => {
            let [major, minor, eigrp_major, eigrp_minor] = value.array(0)?;
            put!(line, "\n\t    IOS version: {major}.{minor}, EIGRP version {eigrp_major}.{eigrp_minor}");
        }
        0x0102 if prefix(line, value, 20)? => metrics(line, value, 4)?,
        0x0103 if prefix(line, value, 40)? => {
            put!(line, "\n\t      origin-router {}, origin-as {}", value.v4(4)?, value.u32(8)?);
            origin(line, value, 22)?;
            put!(line, ", tag 0x{:08x}, metric {}", value.u32(12)?, value.u32(16)?);
            metrics(line, value, 24)?;
        }
        0x0202 => {
            cables(line, value, 20)?;
            metrics(line, value, 4)?;
        }
        0x0203 => {
            cables(line, value, 36)?;
            put!(line, "\n\t      origin-router {}, origin-as {}", value.u32(4)?, value.u32(8)?);
            origin(line, value, 16)?;
            put!(line, ", tag 0x{:08x}, metric {}", value.u32(12)?, value.u16(18)?);
            metrics(line, value, 20)?;
        }
        0x0204 => put!(line, "\n\t    Cable-range: {}-{}, Router-ID {}", value.u16(0)?, value.u16(2)?, value.u32(4)?),
        _ => {}
    }
    Ok(())
}

/// Prints the prefix at `at`, and the next hop at the value's beginning; false if the prefix is too
/// long.
fn prefix(line: &mut Line<'_>, value: View<'_>, at: usize) -> Result<bool, Cut> {
    let length = value.u8(at)?;
    let mut octets = [0; 4];
    let size = usize::from(length.div_ceil(8));
    let Some(part) = octets.get_mut(..size) else {
        put!(line, "\n\t    illegal prefix length {length}");
        return Ok(false);
    };
    part.copy_from_slice(value.take(at + 1, size)?);
    put!(line, "\n\t    IPv4 prefix: {:>15}/{length}, nexthop: ", Ipv4Addr::from(octets).to_string());
    match value.v4(0)? {
        Ipv4Addr::UNSPECIFIED => line.put("self"),
        hop => put!(line, "{hop}"),
    }
    Ok(true)
}

fn cables(line: &mut Line<'_>, value: View<'_>, at: usize) -> Printed {
    put!(line, "\n\t     Cable-Range: {}-{}, nexthop: ", value.u16(at)?, value.u16(at + 2)?);
    match value.u32(0)? {
        0 => line.put("self"),
        _ => put!(line, "{}.{}", value.u16(0)?, value.u16(2)?),
    }
    Ok(())
}

fn origin(line: &mut Line<'_>, value: View<'_>, at: usize) -> Printed {
    let name = names::find(ORIGINS, value.u8(at)?).unwrap_or("unknown");
    put!(line, ", origin-proto {name}, flags [0x{:02x}]", value.u8(at + 1)?);
    Ok(())
}

fn metrics(line: &mut Line<'_>, value: View<'_>, at: usize) -> Printed {
    let metrics = value.skip(at);
    put!(line, "\n\t      delay {} ms, bandwidth {} Kbps", metrics.u32(0)? / 100, metrics.u32(4)?);
    put!(line, ", mtu {}, hop {}", metrics.u24(8)?, metrics.u8(11)?);
    put!(line, ", reliability {}, load {}", metrics.u8(12)?, metrics.u8(13)?);
    Ok(())
}
