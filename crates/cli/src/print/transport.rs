//! What an IP protocol number announces.

use super::view::{Printed, View};
use super::{Line, dccp, eigrp, icmp, icmp6, igmp, ip4, ip6, put, sctp, tcp, tunnel, udp, vrrp};
use std::net::IpAddr;

/// What protocols above IP need of it.
#[derive(Clone, Copy)]
pub(super) struct Ip {
    pub src: IpAddr,
    pub dst: IpAddr,
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
        112 => vrrp::print(line, ip.ttl, view),
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
        89 => ospf(line, view),
        103 => pim(line, view),
        _ => put!(line, " ip-proto-{protocol} {}", view.len()),
    }
}

fn ospf(line: &mut Line<'_>, view: View<'_>) {
    let kinds = ["Hello", "Database Description", "LS-Request", "LS-Update", "LS-Ack"];
    match view.array(0) {
        Ok([version, kind]) => {
            let name = kinds.get(usize::from(kind).wrapping_sub(1)).copied().unwrap_or("unknown packet type");
            // The digest of version 2 (RFC 2328, appendix D) does not count.
            let digest = version == 2 && view.u16(14) == Ok(2);
            let len = if digest { view.len().saturating_sub(16) } else { view.len() };
            put!(line, "OSPFv{version}, {name}, length {len}");
        }
        Err(_) => put!(line, "OSPF, length {}", view.len()),
    }
}

fn pim(line: &mut Line<'_>, view: View<'_>) {
    #[rustfmt::skip]
    let kinds = [
        "Hello", "Register", "Register Stop", "Join / Prune", "Bootstrap", "Assert", "Graft", "Graft Acknowledgement",
        "Candidate RP Advertisement", "Prune Refresh", "DF Election", "ECMP Redirect",
    ];
    match view.u8(0) {
        Ok(first) => {
            let name = kinds.get(usize::from(first & 15)).copied().unwrap_or("[type unknown]");
            put!(line, "PIMv{}, {name}, length {}", first >> 4, view.len());
        }
        Err(_) => put!(line, "PIM, length {}", view.len()),
    }
}
