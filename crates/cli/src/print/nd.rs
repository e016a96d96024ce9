//! Neighbour discovery in full: router advertisements and the options of all its messages, with
//! `-v`.
//!
//! Source: RFC 4861, section 4.6; RFC 6275 (mobility); RFC 4191 (routes); RFC 8106 (name servers).
//! With `-vv` the bytes of each option, too.

use super::view::{Cut, Printed, View};
use super::{Line, dns_name, hex, ip6, names, put};
use std::net::Ipv6Addr;

#[rustfmt::skip]
const OPTIONS: &[(u8, &str)] = &[
    (1, "source link-address"), (2, "destination link-address"), (3, "prefix info"), (4, "redirected header"), (5, "mtu"),
    (7, "advertisement interval"), (8, "homeagent information"), (24, "route info"), (25, "rdnss"), (31, "dnssl"),
];
const INFINITY: u32 = u32::MAX;

/// The fixed fields of a router advertisement.
pub(super) fn advertisement(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let flags = view.u8(5)?;
    let set = names::flags(&[(0x80, "managed"), (0x40, "other stateful"), (0x20, "home agent")], flags.into(), ", ");
    put!(line, "\n\thop limit {}, Flags [{set}], pref {}, router lifetime {}s", view.u8(4)?, preference(flags), view.u16(6)?);
    put!(line, ", reachable time {}ms, retrans timer {}ms", view.u32(8)?, view.u32(12)?);
    Ok(())
}

/// How much a router or a route is preferred (RFC 4191, section 2.1).
fn preference(flags: u8) -> &'static str {
    ["medium", "high", "rsv", "low"][usize::from(flags >> 3 & 3)]
}

fn lifetime(seconds: u32) -> String {
    if seconds == INFINITY { "infinity".to_owned() } else { format!("{seconds}s") }
}

/// Options up to the end of the message.
pub(super) fn options(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let mut rest = view;
    while !rest.captured().is_empty() {
        let (kind, words) = (rest.u8(0)?, rest.u8(1)?);
        let size = usize::from(words) * 8;
        if size == 0 {
            return Err(Cut);
        }
        let option = View::new(rest.take(0, size)?, size);
        put!(line, "\n\t  {} option ({kind}), length {size} ({words}): ", names::find(OPTIONS, kind).unwrap_or("unknown"));
        if !one(line, kind, option, view)? && line.style.verbose == 1 {
            hex::indented(&mut line.text, option.skip(2).captured(), "\n\t  ");
            return Ok(());
        }
        if line.style.verbose > 1 {
            hex::indented(&mut line.text, option.skip(2).captured(), "\n\t    ");
        }
        rest = rest.skip(size);
    }
    Ok(())
}

/// Prints an option; false if its kind is unknown. `all` begins with the first option.
fn one(line: &mut Line<'_>, kind: u8, option: View<'_>, all: View<'_>) -> Result<bool, Cut> {
    match kind {
        1 | 2 => {
            let bytes: Vec<String> = option.skip(2).captured().iter().map(|byte| format!("{byte:02x}")).collect();
            line.put(&bytes.join(":"));
        }
        3 => prefix(line, option)?,
        4 => hex::indented(&mut line.text, all.first(option.len()).captured(), "\n\t    "),
        5 => put!(line, " {}{}", option.u32(4)?, if option.len() == 8 { "" } else { "bad option length" }),
        7 => put!(line, " {}ms", option.u32(4)?),
        8 => put!(line, " preference {}, lifetime {}", option.u16(4)?, option.u16(6)?),
        24 => route(line, option)?,
        25 => {
            put!(line, " lifetime {}s,", option.u32(4)?);
            for i in 0..(option.len() / 8 - 1) / 2 {
                put!(line, " addr: {}", ip6::address_at(option, 8 + 16 * i)?);
            }
        }
        31 => domains(line, option)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn prefix(line: &mut Line<'_>, option: View<'_>) -> Printed {
    let bad = if option.len() == 32 { "" } else { "badlen" };
    put!(line, "{}/{}{bad}", ip6::address_at(option, 16)?, option.u8(2)?);
    let flags = names::flags(&[(0x80, "onlink"), (0x40, "auto"), (0x20, "router")], option.u8(3)?.into(), ", ");
    put!(line, ", Flags [{flags}], valid time {}, pref. time {}", lifetime(option.u32(4)?), lifetime(option.u32(8)?));
    Ok(())
}

/// A route: of its prefix only as many bytes stand there as it needs.
fn route(line: &mut Line<'_>, option: View<'_>) -> Printed {
    let given = option.skip(8).captured();
    let mut prefix = [0; 16];
    prefix.get_mut(..given.len()).ok_or(Cut)?.copy_from_slice(given);
    put!(line, " {}/{}", ip6::address(Ipv6Addr::from(prefix)), option.u8(2)?);
    put!(line, ", pref={}, lifetime={}", preference(option.u8(3)?), lifetime(option.u32(4)?));
    Ok(())
}

fn domains(line: &mut Line<'_>, option: View<'_>) -> Printed {
    put!(line, " lifetime {}s, domain(s):", option.u32(4)?);
    let mut at = 8;
    while at < option.len() && option.u8(at)? != 0 {
        line.put(" ");
        at = dns_name::print(line, option, at)?;
    }
    Ok(())
}
