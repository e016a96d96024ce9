//! VRRP, versions 2 and 3 (RFC 3768, RFC 5798). With `-v` addresses are not shown.

use super::view::{Printed, View};
use super::{Line, names, put};

pub(super) fn print(line: &mut Line<'_>, ttl: u8, view: View<'_>) -> Printed {
    line.protocol = "vrrp";
    line.put("VRRP");
    let first = view.u8(0)?;
    let (version, kind) = (first >> 4, first & 15);
    match kind {
        1 => put!(line, "v{version}, Advertisement"),
        _ => put!(line, "v{version}, unknown type ({kind})"),
    }
    if ttl != 255 {
        put!(line, ", (ttl {ttl})");
    }
    if !(2..=3).contains(&version) || kind != 1 {
        return Ok(());
    }
    put!(line, ", vrid {}, prio {}", view.u8(1)?, view.u8(2)?);
    if version == 3 {
        put!(line, ", intvl {}cs, length {}", view.u16(4)? & 0xfff, view.len());
        return Ok(());
    }
    let kind = view.u8(4)?;
    let authentication = names::find(&[(0, "none"), (1, "simple"), (2, "ah")], kind).map_or_else(|| format!("#{kind}"), str::to_owned);
    put!(line, ", authtype {authentication}, intvl {}s, length {}", view.u8(5)?, view.len());
    Ok(())
}
