//! ICMP (RFC 792 and successors); with `-v` also the packet that an error is about and what routers
//! say of the way it came (RFC 4884, RFC 4950).

use super::transport::Ip;
use super::view::{Cut, Printed, View};
use super::{Line, checksum, hex, ip4, names, put};
use std::net::Ipv4Addr;

/// Where the offending packet begins in an error message.
const INNER: usize = 8;
/// Where objects follow that packet's beginning (RFC 4884, section 5).
const OBJECTS: usize = 136;

pub(super) fn print(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    line.protocol = "icmp";
    let text = describe(view)?;
    put!(line, "ICMP {text}, length {}", view.len());
    if line.style.verbose > 0 && !ip.fragmented {
        sum(line, view)?;
    }
    let is_error = matches!(view.u8(0)?, 3 | 4 | 5 | 11 | 12);
    if line.style.verbose > 0 && is_error {
        line.put("\n\t");
        // Errors carry the beginning of a packet: that the rest is missing is no fault.
        let inner = view.skip(INNER);
        ip4::print(line, inner.claiming(inner.u16(2)?.into()))?;
    }
    let may_have_objects = matches!(view.u8(0)?, 3 | 11 | 12) && view.len() > OBJECTS;
    if line.style.verbose > 0 && may_have_objects {
        line.protocol = "icmp";
        extension(line, view)?;
    }
    Ok(())
}

/// Prints the objects behind the packet's beginning. Where no length says that there are any, the
/// checksum must.
fn extension(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let all = view.skip(OBJECTS);
    let (announced, version, found) = (view.u8(5)? != 0, all.u8(0)? >> 4, all.u16(2)?);
    all.u8(4)?;
    let wrong = checksum::expected(found, all.captured(), 0).is_some();
    if !announced && all.is_whole() && wrong {
        return Ok(());
    }
    put!(line, "\n\tICMP Multi-Part extension v{version}");
    if version != 2 {
        line.put(" packet not supported");
        return Ok(());
    }
    if all.is_whole() {
        let what = if wrong { "incorrect" } else { "correct" };
        put!(line, ", checksum 0x{found:04x} ({what}), length {}", all.len());
    }
    let mut rest = all.skip(4);
    while rest.len() > 4 {
        let (length, class, kind) = (usize::from(rest.u16(0)?), rest.u8(2)?, rest.u8(3)?);
        let name = names::find(&[(1, "MPLS Stack Entry"), (2, "Interface Identification")], class).unwrap_or("unknown");
        put!(line, "\n\t  {name} Object ({class}), Class-Type: {kind}, length {length}");
        if class == 0 || length < 4 {
            break;
        }
        object(line, (class, kind), rest.skip(4), length - 4)?;
        rest = rest.skip(length);
    }
    Ok(())
}

fn object(line: &mut Line<'_>, kind: (u8, u8), value: View<'_>, length: usize) -> Printed {
    if kind != (1, 1) {
        hex::indented(&mut line.text, value.first(length).captured(), "\n\t    ");
        return Ok(());
    }
    let entry = value.u32(0)?;
    let bottom = if entry & 0x100 != 0 { ", [S]" } else { "" };
    put!(line, "\n\t    label {}, tc {}{bottom}, ttl {}", entry >> 12, entry >> 9 & 7, entry & 0xff);
    Ok(())
}

fn sum(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let found = view.u16(2)?;
    if let (true, Some(right)) = (view.is_whole(), checksum::expected(found, view.captured(), 0)) {
        put!(line, " (wrong icmp cksum {found:x} (->{right:x})!)");
    }
    Ok(())
}

fn describe(view: View<'_>) -> Result<String, Cut> {
    let (kind, code) = (view.u8(0)?, view.u8(1)?);
    let id_and_seq = || Ok((view.u16(4)?, view.u16(6)?));
    Ok(match kind {
        0 | 8 => {
            let (id, seq) = id_and_seq()?;
            format!("echo {}, id {id}, seq {seq}", if kind == 8 { "request" } else { "reply" })
        }
        3 => unreachable(view, code)?,
        5 => redirect(view, code)?,
        9 => advertisement(view)?,
        11 => {
            target(view)?;
            names::find(&[(0, "time exceeded in-transit"), (1, "ip reassembly time exceeded")], code)
                .map_or_else(|| format!("time exceeded-#{code}"), str::to_owned)
        }
        12 if code != 0 => format!("parameter problem - code {code}"),
        12 => format!("parameter problem - octet {}", view.u8(4)?),
        13 => {
            let (id, seq) = id_and_seq()?;
            format!("time stamp query id {id} seq {seq}")
        }
        14 => {
            let (id, seq) = id_and_seq()?;
            format!(
                "time stamp reply id {id} seq {seq}: org {}, recv {}, xmit {}",
                hours(view.u32(8)?),
                hours(view.u32(12)?),
                hours(view.u32(16)?)
            )
        }
        18 => format!("address mask is 0x{:08x}", view.u32(8)?),
        _ => {
            let table = [
                (4, "source quench"),
                (10, "router solicitation"),
                (15, "information request"),
                (16, "information reply"),
                (17, "address mask request"),
            ];
            names::find(&table, kind).map_or_else(|| format!("type-#{kind}"), str::to_owned)
        }
    })
}

/// Milliseconds since midnight.
fn hours(ms: u32) -> String {
    let seconds = ms / 1000;
    format!("{:02}:{:02}:{:02}.{:03}", seconds / 3600, seconds / 60 % 60, seconds % 60, ms % 1000)
}

/// The destination of the offending packet.
fn target(view: View<'_>) -> Result<Ipv4Addr, Cut> {
    view.u32(INNER + 16).map(Ipv4Addr::from)
}

fn unreachable(view: View<'_>, code: u8) -> Result<String, Cut> {
    let target = target(view)?;
    Ok(match code {
        0 => format!("net {target} unreachable"),
        1 => format!("host {target} unreachable"),
        2 => format!("{target} protocol {} unreachable", view.u8(INNER + 9)?),
        3 => port(view, target)?,
        4 => match view.u16(6)? {
            0 => format!("{target} unreachable - need to frag"),
            mtu => format!("{target} unreachable - need to frag (mtu {mtu})"),
        },
        5 => format!("{target} unreachable - source route failed"),
        6 => format!("net {target} unreachable - unknown"),
        7 => format!("host {target} unreachable - unknown"),
        8 => format!("{target} unreachable - source host isolated"),
        9 => format!("net {target} unreachable - admin prohibited"),
        10 => format!("host {target} unreachable - admin prohibited"),
        11 => format!("net {target} unreachable - tos prohibited"),
        12 => format!("host {target} unreachable - tos prohibited"),
        13 => format!("host {target} unreachable - admin prohibited filter"),
        14 => format!("host {target} unreachable - host precedence violation"),
        15 => format!("host {target} unreachable - precedence cutoff"),
        _ => format!("{target} unreachable - #{code}"),
    })
}

fn port(view: View<'_>, target: Ipv4Addr) -> Result<String, Cut> {
    let header = usize::from(view.u8(INNER)? & 15) * 4;
    let port = view.u16(INNER + header + 2)?;
    Ok(match view.u8(INNER + 9)? {
        6 => format!("{target} tcp port {port} unreachable"),
        17 => format!("{target} udp port {port} unreachable"),
        protocol => format!("{target} protocol {protocol} port {port} unreachable"),
    })
}

fn redirect(view: View<'_>, code: u8) -> Result<String, Cut> {
    let (target, gateway) = (target(view)?, Ipv4Addr::from(view.u32(4)?));
    Ok(match code {
        0 => format!("redirect {target} to net {gateway}"),
        1 => format!("redirect {target} to host {gateway}"),
        2 => format!("redirect-tos {target} to net {gateway}"),
        3 => format!("redirect-tos {target} to host {gateway}"),
        _ => format!("redirect-#{code} {target} to {gateway}"),
    })
}

/// RFC 1256.
fn advertisement(view: View<'_>) -> Result<String, Cut> {
    let (count, words, lifetime) = (view.u8(4)?, view.u8(5)?, view.u16(6)?);
    let lifetime = match lifetime {
        0..60 => format!("{lifetime}"),
        60..3600 => format!("{}:{:02}", lifetime / 60, lifetime % 60),
        _ => format!("{}:{:02}:{:02}", lifetime / 3600, lifetime % 3600 / 60, lifetime % 60),
    };
    let mut text = format!("router advertisement lifetime {lifetime} {count}:");
    if words != 2 {
        return Ok(format!("{text} [size {words}]"));
    }
    for i in 0..usize::from(count) {
        text += &format!(" {{{} {}}}", Ipv4Addr::from(view.u32(8 + 8 * i)?), view.u32(12 + 8 * i)?);
    }
    Ok(text)
}
