//! UDP (RFC 768): ports, and what they announce, or the length.

use super::transport::Ip;
use super::view::{Cut, Printed, View};
use super::{Carried, Line, apps, checksum, put, rpc};
use netvm::netil::fields::{ip_protocol, udp};

const HEADER: usize = udp::HEADER.bytes() as usize;

pub(super) fn print(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    line.protocol = "udp";
    let Ok(ports) = view.u32(0) else {
        ip.addresses(line);
        return Err(Cut);
    };
    if line.style.carried == Some(Carried::Rpc)
        && view.len() >= HEADER
        && view.half(udp::LENGTH).is_ok_and(|length| usize::from(length) >= HEADER)
    {
        return rpc::print(line, ip, view.first(view.half(udp::LENGTH)?.into()).skip(HEADER));
    }
    ip.ends(line, (ports >> 16) as u16, ports as u16);
    if view.len() < HEADER {
        put!(line, "truncated-udp {}", view.len());
        return Ok(());
    }
    let length = usize::from(view.half(udp::LENGTH)?);
    // Zero stands for more than 65,535 bytes (RFC 2675).
    let length = if length == 0 && view.len() > 65_535 { view.len() } else { length };
    if length < HEADER {
        put!(line, "truncated-udplength {length}");
        return Ok(());
    }
    let found = view.half(udp::CHECKSUM)?;
    let datagram = view.first(length);
    if let Some(printed) = apps::said(line, ((ports >> 16) as u16, ports as u16), ip, datagram.skip(HEADER)) {
        return printed;
    }
    if line.style.verbose > 0 && !ip.fragmented && !line.style.unchecked {
        sum(line, ip, datagram, found);
    }
    let data = length - HEADER;
    let ports = ((ports >> 16) as u16, ports as u16);
    if !line.style.quiet && apps::udp(line, ports, datagram.skip(HEADER))? {
        return Ok(());
    }
    match view.len() - HEADER {
        there if data > there && !ip.fragmented => put!(line, "UDP, bad length {data} > {there}"),
        _ => put!(line, "UDP, length {data}"),
    }
    Ok(())
}

/// Whether the checksum is right: of IPv4, where it may be left out, only when asked twice.
fn sum(line: &mut Line<'_>, ip: &Ip, datagram: View<'_>, found: u16) {
    let v4 = ip.src.is_ipv4();
    if v4 && line.style.verbose < 2 {
        return;
    }
    if v4 && found == 0 {
        line.put("[no cksum] ");
        return;
    }
    if !datagram.is_whole() {
        return;
    }
    match checksum::expected(found, datagram.captured(), checksum::pseudo(ip.src, ip.last, ip_protocol::UDP, datagram)) {
        Some(right) => put!(line, "[bad udp cksum 0x{found:04x} -> 0x{right:04x}!] "),
        None => line.put("[udp sum ok] "),
    }
}
