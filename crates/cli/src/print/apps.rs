//! What the ports of TCP and UDP announce: one table for each, searched in order; the first row
//! that has either port decides.
//!
//! Ports and their order are those of tcpdump 4.99.3. A new protocol is a file of its own and a row
//! here.

use super::transport::Ip;
use super::view::{Printed, View};
use super::{
    Carried, Line, aodv, babel, bcm_li, bfd, bgp, bootp, dhcp6, dns, gtp, hsrp, ike, lmp, media, netflow, ntp, openflow, overlay, pgm, ptp,
    radius, resp, rip, snmp, someip, ssh, syslog, telnet, text, tftp, tls, wb, zmtp,
};

/// Prints a payload.
type Print = fn(&mut Line<'_>, View<'_>) -> Printed;

#[rustfmt::skip]
const TCP: &[(&[u16], Print)] = &[
    (&[23], telnet::print),
    (&[25], text::smtp),
    (&[43], text::whois),
    (&[53], dns::tcp),
    (&[21], text::ftp),
    (&[22], ssh::print),
    (&[80, 8080, 3128], text::http),
    (&[179], bgp::print),
    (&[554, 8554], text::rtsp),
    (&[6653, 6633], openflow::print),
    (&[6379], resp::print),
];

#[rustfmt::skip]
const UDP: &[(&[u16], Print)] = &[
    (&[53], dns::udp),
    (&[67, 68], bootp::print),
    (&[69], tftp::print),
    (&[123], ntp::print),
    (&[500], ike::print),
    (&[161, 162], snmp::print),
    (&[514], syslog::print),
    (&[520], rip::print),
    (&[546, 547], dhcp6::print),
    (&[5353], dns::multicast),
    (&[4500], ike::encapsulated),
    (&[1645, 1646, 1812, 1813, 1700, 3799], radius::print),
    (&[5060], text::sip),
    (&[8472, 4789], overlay::vxlan),
    (&[319, 320], ptp::print),
    (&[6696, 6697], babel::print),
    (&[49_152, 49_153], bcm_li::print),
    (&[701], lmp::print),
];

/// Ports of the receiver alone.
#[rustfmt::skip]
const UDP_TO: &[(&[u16], Print)] = &[
    (&[1985], hsrp::print),
    (&[3784], bfd::control),
    (&[3785], bfd::echo),
    (&[4784], bfd::multihop),
    (&[6784], bfd::lag),
    (&[6081], overlay::geneve),
];

fn find(table: &[(&[u16], Print)], ports: (u16, u16)) -> Option<Print> {
    table.iter().find(|(known, _)| known.contains(&ports.0) || known.contains(&ports.1)).map(|(_, print)| *print)
}

/// Prints what a TCP segment carries, if its ports are known; what separates it from the line is
/// printed, too.
pub(super) fn tcp(line: &mut Line<'_>, ports: (u16, u16), view: View<'_>) -> Printed {
    let said: Option<Print> = match line.style.carried {
        None | Some(Carried::Gtp) => find(TCP, ports),
        Some(Carried::Domain) => Some(dns::tcp),
        Some(Carried::Resp) => Some(resp::print),
        Some(Carried::Tls) => Some(tls::print),
        Some(Carried::Zmtp1) => Some(zmtp::print),
        // As in tcpdump: it is none of these.
        Some(_) => None,
    };
    said.map_or(Ok(()), |print| print(line, view))
}

/// Ports of GTP: of its users' packets, and of control messages.
const GTP: [u16; 2] = [2152, 2123];

/// Prints what a UDP datagram is said to carry, where that is said. What is in GTP is what its
/// ports announce, perhaps GTP again.
pub(super) fn said(line: &mut Line<'_>, ports: (u16, u16), ip: &Ip, view: View<'_>) -> Option<Printed> {
    let print: Print = match line.style.carried? {
        Carried::Aodv => return Some(aodv::print(line, view, ip.src.is_ipv6())),
        Carried::Pgm | Carried::PgmZmtp1 => return Some(pgm::print(line, ip, false, view)),
        Carried::Cnfp => netflow::print,
        Carried::Domain => dns::udp,
        Carried::Gtp if line.depth < 2 || GTP.contains(&ports.0) || GTP.contains(&ports.1) => gtp::print,
        Carried::Lmp => lmp::print,
        Carried::Ptp => ptp::print,
        Carried::Radius => radius::print,
        Carried::Rtcp => media::rtcp,
        Carried::Rtp => media::rtp,
        Carried::Snmp => snmp::print,
        Carried::Someip => someip::print,
        Carried::Tftp => tftp::print,
        Carried::Vat => media::vat,
        Carried::Vxlan => overlay::vxlan,
        Carried::Wb => wb::print,
        Carried::Carp | Carried::Gtp | Carried::Resp | Carried::Rpc | Carried::Tls | Carried::Zmtp1 => return None,
    };
    Some(print(line, view))
}

/// Prints what a UDP datagram carries; false if its ports are unknown.
pub(super) fn udp(line: &mut Line<'_>, ports: (u16, u16), view: View<'_>) -> Result<bool, super::view::Cut> {
    match find(UDP, ports).or_else(|| find(UDP_TO, (ports.1, ports.1))) {
        Some(print) => print(line, view).map(|()| true),
        None => Ok(false),
    }
}
