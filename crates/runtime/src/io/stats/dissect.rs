//! What protocols a packet consists of, and between whom.
//!
//! One loop over headers, at most [`MAX_DEPTH`] of them. Every read is checked: where a header is
//! not there, the path ends with `short`. Extension headers of IPv6 are no protocols of their own,
//! as with tshark. A header that repeats what a flow has already (IP in IP, Ethernet in VXLAN)
//! begins another flow.

use super::protocol::{self, Protocol};
use super::table::Key;
use super::{LinkType, MAX_DEPTH};
use netil::fields::{Field, ethernet, ethertype, fragment, ip, ip_protocol, ip6, tcp, udp};

/// Flows within flows that are counted.
const MAX_FLOWS: usize = 4;

/// What a flow has, in the last word of its key.
pub(super) mod has {
    pub const ETHERNET: u64 = 1;
    pub const IPV4: u64 = 2;
    pub const IPV6: u64 = 4;
    pub const TCP: u64 = 8;
    pub const UDP: u64 = 16;
    pub const SCTP: u64 = 32;
}

/// The protocols of a packet, a byte each, the outermost lowest; and its flows, each with whether
/// the packet goes from its second end to its first.
pub(super) struct Layers {
    pub path: u128,
    flows: [(Key, bool); MAX_FLOWS],
    count: usize,
}

impl Layers {
    pub(super) fn flows(&self) -> &[(Key, bool)] {
        &self.flows[..self.count]
    }
}

/// What the rest of a packet is.
enum Next {
    Link(LinkType),
    /// What an EtherType announces.
    Type(u16),
    Llc,
    PppProtocol(u16),
    /// What an IP protocol number announces, in IPv6 or not.
    Transport(u8, bool),
}

/// The headers so far.
struct Walk<'a> {
    rest: &'a [u8],
    swapped: bool,
    depth: u32,
    layers: Layers,
    /// From source to destination: the flow that is being found.
    flow: [u64; 7],
}

/// A packet's layers.
pub(super) fn dissect(link: LinkType, swapped: bool, packet: &[u8]) -> Layers {
    let layers = Layers { path: 0, flows: [(Key::default(), false); MAX_FLOWS], count: 0 };
    let mut walk = Walk { rest: packet, swapped, depth: 0, layers, flow: [0; 7] };
    let mut next = Some(Next::Link(link));
    while let Some(header) = next.take().filter(|_| (walk.depth as usize) < MAX_DEPTH) {
        next = match walk.step(header) {
            Some(next) => next,
            None => {
                walk.name(Protocol::Short);
                None
            }
        };
    }
    walk.end_flow();
    walk.layers
}

/// The packet goes on, or ends here; `None` if a header is not there.
type Step = Option<Option<Next>>;

impl<'a> Walk<'a> {
    fn step(&mut self, header: Next) -> Step {
        match header {
            Next::Link(link) => self.link(link),
            Next::Type(ethertype) => self.ethertype(ethertype),
            Next::Llc => self.llc(),
            Next::PppProtocol(number) => self.ppp_protocol(number),
            Next::Transport(number, v6) => self.transport(number, v6),
        }
    }

    fn name(&mut self, protocol: Protocol) {
        if (self.depth as usize) < MAX_DEPTH {
            self.layers.path |= (protocol as u128) << (8 * self.depth);
            self.depth += 1;
        }
    }

    fn last(&mut self, protocol: Protocol) -> Step {
        self.name(protocol);
        Some(None)
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (header, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(header)
    }

    /// Ends the present flow, ordered so that both directions have one key.
    fn end_flow(&mut self) {
        let [a0, a1, a2, b0, b1, b2, what] = std::mem::take(&mut self.flow);
        if what == 0 || self.layers.count == MAX_FLOWS {
            return;
        }
        let reversed = (a1, a2, a0) > (b1, b2, b0);
        let key = if reversed { [b0, b1, b2, a0, a1, a2, what] } else { [a0, a1, a2, b0, b1, b2, what] };
        self.layers.flows[self.layers.count] = (Key(key), reversed);
        self.layers.count += 1;
    }

    fn link(&mut self, link: LinkType) -> Step {
        match link {
            LinkType::EN10MB => self.ethernet(),
            LinkType::NULL | LinkType::LOOP => self.loopback(link == LinkType::LOOP),
            LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => {
                self.name(Protocol::Raw);
                Some(Some(Next::Type(if self.rest.first()? >> 4 == 6 { ethertype::IPV6 } else { ethertype::IPV4 })))
            }
            LinkType::LINUX_SLL => self.cooked(16, 14),
            LinkType::LINUX_SLL2 => self.cooked(20, 0),
            LinkType::PPP | LinkType::PPP_SERIAL => {
                if self.rest.starts_with(&[0xff, 3]) {
                    self.take(2)?;
                }
                self.ppp()
            }
            _ => match link.number() {
                105 => self.last(Protocol::Wlan),
                127 => {
                    self.name(Protocol::Radiotap);
                    self.last(Protocol::Wlan)
                }
                _ => self.last(Protocol::Other),
            },
        }
    }

    fn cooked(&mut self, len: usize, type_at: usize) -> Step {
        self.name(Protocol::Sll);
        let ethertype = number16(self.take(len)?, type_at);
        Some(Some(if ethertype == 4 { Next::Llc } else { Next::Type(ethertype) }))
    }

    fn loopback(&mut self, network_order: bool) -> Step {
        self.name(Protocol::Null);
        let bytes = *self.take(4)?.first_chunk()?;
        let family = if network_order || self.swapped { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        match family {
            2 => Some(Some(Next::Type(ethertype::IPV4))),
            24 | 28 | 30 => Some(Some(Next::Type(ethertype::IPV6))),
            _ => self.last(Protocol::Data),
        }
    }

    fn ethernet(&mut self) -> Step {
        self.name(Protocol::Eth);
        let header = self.take(ethernet::HEADER.bytes() as usize)?;
        self.end_flow();
        let address = |at: usize| u64::from(number16(header, at)) << 32 | u64::from(number32(header, at + 2));
        // The low 16 bits are for a port.
        let [from, to] = [ethernet::SRC, ethernet::DST].map(|field| address(field.offset as usize) << 16);
        self.flow = [from, 0, 0, to, 0, 0, has::ETHERNET];
        let ethertype = number16(header, ethernet::TYPE.offset as usize);
        if ethertype > ethertype::MAX_LENGTH {
            return Some(Some(Next::Type(ethertype)));
        }
        self.rest = self.rest.get(..usize::from(ethertype)).unwrap_or(self.rest);
        Some(Some(Next::Llc))
    }

    fn ethertype(&mut self, ethertype: u16) -> Step {
        match ethertype {
            ethertype::IPV4 => self.ipv4(),
            ethertype::IPV6 => self.ipv6(),
            ethertype::VLAN | ethertype::VLAN_PROVIDER | ethertype::VLAN_STACKED => {
                self.name(Protocol::Vlan);
                let next = number16(self.take(4)?, 2);
                Some(Some(if next > ethertype::MAX_LENGTH { Next::Type(next) } else { Next::Llc }))
            }
            ethertype::MPLS | ethertype::MPLS_MULTICAST => self.mpls(),
            ethertype::PPPOE_SESSION => {
                self.name(Protocol::Pppoes);
                self.take(6)?;
                self.ppp()
            }
            ethertype::BRIDGING => self.ethernet(),
            _ => self.last(match ethertype {
                ethertype::ARP | ethertype::RARP => Protocol::Arp,
                ethertype::PPPOE_DISCOVERY => Protocol::Pppoed,
                ethertype::SLOW => Protocol::Slow,
                ethertype::EAPOL => Protocol::Eapol,
                ethertype::LLDP => Protocol::Lldp,
                ethertype::MACSEC => Protocol::MacSec,
                ethertype::WAKE_ON_LAN => Protocol::Wol,
                ethertype::LOOPBACK => Protocol::Loop,
                _ => Protocol::Data,
            }),
        }
    }

    fn mpls(&mut self) -> Step {
        self.name(Protocol::Mpls);
        while self.take(4)?[2] & 1 == 0 {
            self.name(Protocol::Mpls);
        }
        match self.rest.first()? >> 4 {
            4 => Some(Some(Next::Type(ethertype::IPV4))),
            6 => Some(Some(Next::Type(ethertype::IPV6))),
            _ => self.last(Protocol::Data),
        }
    }

    fn ppp(&mut self) -> Step {
        self.name(Protocol::Ppp);
        let number = match self.rest.first()? & 1 {
            0 => number16(self.take(2)?, 0),
            _ => u16::from(self.take(1)?[0]),
        };
        Some(Some(Next::PppProtocol(number)))
    }

    fn ppp_protocol(&mut self, number: u16) -> Step {
        match number {
            0x21 => self.ipv4(),
            0x57 => self.ipv6(),
            0x281 | 0x283 => self.mpls(),
            _ => self.last(Protocol::Data),
        }
    }

    fn llc(&mut self) -> Step {
        self.name(Protocol::Llc);
        let header = self.take(3)?;
        match header {
            [0x42, 0x42, _] => self.last(Protocol::Stp),
            [0xfe, 0xfe, _] => self.last(Protocol::Isis),
            [0xaa, 0xaa, 3] => match self.take(5)? {
                [0, 0, 0x0c, 0x20, 0] => self.last(Protocol::Cdp),
                [0, 0, 0 | 0xf8, high, low] => Some(Some(Next::Type(u16::from_be_bytes([*high, *low])))),
                _ => self.last(Protocol::Data),
            },
            _ => self.last(Protocol::Data),
        }
    }

    /// Sets the addresses of the present flow, or of another one if it has some.
    fn addresses(&mut self, from: [u64; 2], to: [u64; 2], version: u64) {
        if self.flow[6] & (has::IPV4 | has::IPV6) != 0 {
            self.end_flow();
        }
        [self.flow[1], self.flow[2]] = from;
        [self.flow[4], self.flow[5]] = to;
        self.flow[6] |= version;
    }

    fn ipv4(&mut self) -> Step {
        self.name(Protocol::Ip);
        let whole = self.rest;
        let header = self.take(ip::HEADER.bytes() as usize)?;
        let [from, to] = [ip::SRC, ip::DST].map(|field| [0, field.word(header).unwrap_or(0).into()]);
        self.addresses(from, to, has::IPV4);
        let (len, total) = (ip::HEADER.len(header)?, usize::from(ip::LENGTH.half(header)?));
        // Padding of short frames is no payload; a total of 0 is one that the sender's card was to
        // fill in.
        let end = if total == 0 { whole.len() } else { total.min(whole.len()) };
        self.rest = whole.get(len.max(header.len())..end)?;
        if ip::FRAGMENT.half(header)? & fragment::OFFSET != 0 {
            return self.last(Protocol::Data);
        }
        Some(Some(Next::Transport(ip::PROTOCOL.byte(header)?, false)))
    }

    fn ipv6(&mut self) -> Step {
        self.name(Protocol::Ip6);
        let header = self.take(ip6::HEADER.bytes() as usize)?;
        let address = |field: Field| {
            let half = |at| u64::from(number32(header, at)) << 32 | u64::from(number32(header, at + 4));
            [half(field.offset as usize), half(field.offset as usize + 8)]
        };
        self.addresses(address(ip6::SRC), address(ip6::DST), has::IPV6);
        let len = usize::from(ip6::LENGTH.half(header)?);
        if len > 0 {
            self.rest = self.rest.get(..len).unwrap_or(self.rest);
        }
        Some(Some(Next::Transport(ip6::NEXT_HEADER.byte(header)?, true)))
    }

    fn transport(&mut self, number: u8, v6: bool) -> Step {
        match number {
            ip_protocol::TCP => self.tcp(),
            ip_protocol::UDP => self.udp(),
            ip_protocol::SCTP => {
                self.name(Protocol::Sctp);
                self.ports(has::SCTP)?;
                Some(None)
            }
            ip_protocol::IPV4 => self.ipv4(),
            ip_protocol::IPV6 => self.ipv6(),
            ip_protocol::GRE => self.gre(),
            ip_protocol::HOP_BY_HOP | ip_protocol::ROUTING | ip_protocol::DESTINATION if v6 => {
                let header = self.take(8)?;
                self.take(usize::from(header[1]) * 8)?;
                Some(Some(Next::Transport(header[0], true)))
            }
            ip_protocol::FRAGMENT if v6 => {
                let header = self.take(8)?;
                if number16(header, 2) & 0xfff8 != 0 {
                    return self.last(Protocol::Data);
                }
                Some(Some(Next::Transport(header[0], true)))
            }
            ip_protocol::AH => {
                self.name(Protocol::Ah);
                let header = self.take(12)?;
                self.take((usize::from(header[1]) * 4).saturating_sub(4))?;
                Some(Some(Next::Transport(header[0], v6)))
            }
            ip_protocol::NO_NEXT if v6 => Some(None),
            _ => self.last(plain(number)),
        }
    }

    /// Sets the ports of the present flow.
    fn ports(&mut self, transport: u64) -> Option<(u16, u16)> {
        let header = self.rest.get(..4)?;
        let ports = (udp::SPORT.half(header)?, udp::DPORT.half(header)?);
        self.flow[0] |= u64::from(ports.0);
        self.flow[3] |= u64::from(ports.1);
        self.flow[6] |= transport;
        Some(ports)
    }

    fn tcp(&mut self) -> Step {
        self.name(Protocol::Tcp);
        let ports = self.ports(has::TCP)?;
        let offset = tcp::HEADER.len(self.rest)?;
        let data = self.rest.get(offset.max(tcp::HEADER.bytes() as usize)..)?;
        if data.is_empty() { Some(None) } else { self.last(protocol::of_tcp(ports, data)) }
    }

    fn udp(&mut self) -> Step {
        self.name(Protocol::Udp);
        let ports = self.ports(has::UDP)?;
        self.take(udp::HEADER.bytes() as usize)?;
        if self.rest.is_empty() {
            return Some(None);
        }
        let protocol = protocol::of_udp(ports, self.rest);
        self.name(protocol);
        match protocol {
            Protocol::Vxlan => {
                self.take(8)?;
                Some(Some(Next::Link(LinkType::EN10MB)))
            }
            Protocol::Geneve => {
                let header = self.take(8)?;
                self.take(usize::from(header[0] & 0x3f) * 4)?;
                Some(Some(Next::Type(number16(header, 2))))
            }
            Protocol::Gtp if ports.0 == 2152 || ports.1 == 2152 => self.gtp(),
            _ => Some(None),
        }
    }

    /// GTP-U, version 1: a packet of a user, behind optional fields and extension headers.
    fn gtp(&mut self) -> Step {
        let header = self.take(8)?;
        if header[0] >> 5 != 1 || header[1] != 0xff {
            return Some(None);
        }
        if header[0] & 7 != 0 {
            let mut next = self.take(4)?[3];
            while next != 0 {
                let len = usize::from(*self.rest.first()?) * 4;
                next = *self.take(len)?.last()?;
            }
        }
        Some(Some(Next::Type(if self.rest.first()? >> 4 == 6 { ethertype::IPV6 } else { ethertype::IPV4 })))
    }

    fn gre(&mut self) -> Step {
        self.name(Protocol::Gre);
        let header = self.take(4)?;
        // Checksum or routing, key, sequence number; of version 1 also an acknowledgement.
        let optional = [0xc0, 0x20, 0x10].into_iter().filter(|bits| header[0] & bits != 0).count();
        let acknowledged = header[1] & 0x87 == 0x81;
        self.take(4 * (optional + usize::from(acknowledged)))?;
        match number16(header, 2) {
            ethertype::PPP => self.ppp(),
            ethertype => Some(Some(Next::Type(ethertype))),
        }
    }
}

/// IP protocols that are only named.
fn plain(number: u8) -> Protocol {
    match number {
        ip_protocol::ICMP => Protocol::Icmp,
        ip_protocol::IGMP => Protocol::Igmp,
        ip_protocol::DCCP => Protocol::Dccp,
        ip_protocol::RSVP => Protocol::Rsvp,
        ip_protocol::ESP => Protocol::Esp,
        ip_protocol::ICMP6 => Protocol::Icmp6,
        ip_protocol::EIGRP => Protocol::Eigrp,
        ip_protocol::OSPF => Protocol::Ospf,
        ip_protocol::PIM => Protocol::Pim,
        ip_protocol::VRRP => Protocol::Vrrp,
        ip_protocol::L2TP => Protocol::L2tp,
        ip_protocol::UDP_LITE => Protocol::UdpLite,
        _ => Protocol::Data,
    }
}

/// A number in network order; 0 where there is none, which callers have ruled out.
fn number16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u16::from_be_bytes(*chunk))
}

/// A number of four bytes in network order; 0 where there is none, which callers have ruled out.
fn number32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u32::from_be_bytes(*chunk))
}
