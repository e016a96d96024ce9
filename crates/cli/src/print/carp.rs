//! CARP (OpenBSD's carp(4)): what protocol 112 is with `-T carp`.

use super::transport::Ip;
use super::view::{Printed, View};
use super::{Line, checksum, put};

pub(super) fn print(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    line.protocol = "carp";
    let first = view.u8(0)?;
    let (version, kind) = (first >> 4, first & 15);
    put!(line, "CARPv{version}-{} {}: ", if kind == 1 { "advertise" } else { "unknown" }, view.len());
    if ip.ttl != 255 {
        put!(line, "[ttl={}!] ", ip.ttl);
    }
    if (version, kind) != (2, 1) {
        return Ok(());
    }
    let [_, vhid, advskew, authlen, _, advbase] = view.array(0)?;
    put!(line, "vhid={vhid} advbase={advbase} advskew={advskew} authlen={authlen} ");
    if line.style.verbose > 0 && view.is_whole() && checksum::expected(view.u16(6)?, view.captured(), 0).is_some() {
        put!(line, " (bad carp cksum {:x}!)", view.u16(6)?);
    }
    put!(line, "counter={}", view.u64(8)?);
    Ok(())
}
