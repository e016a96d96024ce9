//! VRRP, versions 2 and 3 (RFC 3768, RFC 5798).

use super::transport::Ip;
use super::view::{Printed, View};
use super::{Line, checksum, escape, ip6, names, put};

const SIMPLE: u8 = 1;

pub(super) fn print(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    line.protocol = "vrrp";
    line.put("VRRP");
    let first = view.u8(0)?;
    let (version, kind) = (first >> 4, first & 15);
    match kind {
        1 => put!(line, "v{version}, Advertisement"),
        _ => put!(line, "v{version}, unknown type ({kind})"),
    }
    if ip.ttl != 255 {
        put!(line, ", (ttl {})", ip.ttl);
    }
    if !(2..=3).contains(&version) || kind != 1 {
        return Ok(());
    }
    put!(line, ", vrid {}, prio {}", view.u8(1)?, view.u8(2)?);
    let authentication = if version == 2 { view.u8(4)? } else { 0 };
    match version {
        3 => put!(line, ", intvl {}cs, length {}", view.u16(4)? & 0xfff, view.len()),
        _ => {
            let known = [(0, "none"), (SIMPLE, "simple"), (2, "ah")];
            let name = names::find_or(&known, authentication, || format!("#{authentication}"));
            put!(line, ", authtype {name}, intvl {}s, length {}", view.u8(5)?, view.len());
        }
    }
    if line.style.verbose > 0 { addresses(line, ip, version, authentication, view) } else { Ok(()) }
}

/// Whether the checksum is wrong, the addresses, and the password of version 2.
fn addresses(line: &mut Line<'_>, ip: &Ip, version: u8, authentication: u8, view: View<'_>) -> Printed {
    let pseudo = if version == 3 { checksum::pseudo(ip.src, ip.last, 112, view) } else { 0 };
    if view.is_whole() && checksum::expected(view.u16(6)?, view.captured(), pseudo).is_some() {
        put!(line, ", (bad vrrp cksum {:x})", view.u16(6)?);
    }
    let count = view.u8(3)?;
    line.put(", addrs");
    if count > 1 {
        put!(line, "({count})");
    }
    line.put(":");
    let mut rest = view.skip(8);
    for i in 0..count {
        let address = match ip.src.is_ipv4() {
            true => rest.v4(0)?.to_string(),
            false => ip6::address_at(rest, 0)?,
        };
        put!(line, "{}{address}", if i == 0 { " " } else { "," });
        rest = rest.skip(if ip.src.is_ipv4() { 4 } else { 16 });
    }
    if authentication == SIMPLE {
        line.put(" auth \"");
        escape::until_zero(&mut line.text, rest.take(0, 8)?);
        line.put("\"");
    }
    Ok(())
}
