//! What an IP protocol number announces.

use super::view::{Printed, View};
use super::{Carried, Line, carp, dccp, eigrp, icmp, icmp6, igmp, ip4, ip6, ospf, pgm, pim, put, sctp, tcp, tunnel, udp, vrrp};
use std::net::IpAddr;

/// What protocols above IP need of it.
#[derive(Clone, Copy)]
pub(super) struct Ip {
    pub src: IpAddr,
    pub dst: IpAddr,
    /// Where a routing header leads in the end, which checksums cover; without one, `dst`.
    pub last: IpAddr,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The first of several fragments.
    pub fragmented: bool,
    /// The addresses stand in the line already.
    pub shown: bool,
}

impl Ip {
    /// `a.b.c.d.port > e.f.g.h.port: `, or only the ports.
    pub(super) fn ends(&self, line: &mut Line<'_>, from: u16, to: u16) {
        if line.depth == 1 {
            line.ends.ports = Some((from, to));
        }
        match self.shown {
            true => put!(line, "{from} > {to}: "),
            false => put!(line, "{}.{from} > {}.{to}: ", text(self.src), text(self.dst)),
        }
    }

    /// `a.b.c.d.from > e.f.g.h.to: `, whether the addresses stand there or not.
    pub(super) fn named(&self, line: &mut Line<'_>, from: &str, to: &str) {
        put!(line, "{}.{from} > {}.{to}: ", text(self.src), text(self.dst));
    }

    /// `a.b.c.d > e.f.g.h:`, the same.
    pub(super) fn named_addresses(&self, line: &mut Line<'_>) {
        put!(line, "{} > {}:", text(self.src), text(self.dst));
    }

    /// `a.b.c.d > e.f.g.h: `, unless it stands there.
    pub(super) fn addresses(&self, line: &mut Line<'_>) {
        if !self.shown {
            put!(line, "{} > {}: ", text(self.src), text(self.dst));
        }
    }
}

fn text(address: IpAddr) -> String {
    match address {
        IpAddr::V4(a) => a.to_string(),
        IpAddr::V6(a) => ip6::address(a),
    }
}

/// Prints the payload of an IP packet.
pub(super) fn print(line: &mut Line<'_>, mut protocol: u8, ip: &Ip, mut view: View<'_>) -> Printed {
    let mut ip = *ip;
    while protocol == 51 {
        let Some((next, len)) = tunnel::ah(line, view)? else { return Ok(()) };
        (protocol, view) = (next, view.skip(len));
        ip.shown = true;
    }
    if line.depth == 1 {
        (line.ends.addresses, line.ends.protocol) = (Some((ip.src, ip.dst)), Some(protocol));
    }
    let v6 = ip.src.is_ipv6();
    match protocol {
        6 => tcp::print(line, &ip, view),
        17 => udp::print(line, &ip, view),
        1 if !v6 => icmp::print(line, &ip, view),
        58 if v6 => icmp6::print(line, &ip, view),
        2 if !v6 => igmp::print(line, view),
        4 => ip4::print(line, view),
        41 => ip6::print(line, view),
        47 => tunnel::gre(line, view),
        50 => tunnel::esp(line, view),
        33 => dccp::print(line, &ip, view),
        88 => eigrp::print(line, view),
        89 => ospf::print(line, view),
        103 => pim::print(line, &ip, view),
        pgm::PROTOCOL => pgm::print(line, &ip, true, view),
        112 if line.style.carried == Some(Carried::Carp) => carp::print(line, &ip, view),
        112 => vrrp::print(line, &ip, view),
        132 => sctp::print(line, &ip, view),
        _ => {
            short(line, protocol, v6, view);
            Ok(())
        }
    }
}

/// Protocols that get a name, or a number, and a length.
fn short(line: &mut Line<'_>, protocol: u8, v6: bool, view: View<'_>) {
    match protocol {
        1 => put!(line, "[ICMP requires IPv4] (invalid)"),
        2 => put!(line, "[IGMP requires IPv4] (invalid)"),
        58 if !v6 => put!(line, "[ICMPv6 requires IPv6] (invalid)"),
        59 => line.put("no next header"),
        46 => put!(line, "RSVP, length {}", view.len()),
        _ => put!(line, " ip-proto-{protocol} {}", view.len()),
    }
}
