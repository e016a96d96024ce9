//! Protocols: by keyword, by number, and anywhere in a chain of headers.

use super::super::ast::Proto;
use super::super::ir::{IrId, Protochain, Test};
use super::super::link::Link;
use super::super::parser::Res;
use super::Lower;
use super::layout::From;
use super::link;
use netil::fields::{ip, ip_protocol as ipp, ip6};

const CLNP: u32 = 0x81;
const ESIS: u32 = 0x82;
const ISIS: u32 = 0x83;

/// IS-IS packet types (ISO 10589): hello on LANs of level 1 and 2 and on links, link state, and
/// sequence numbers.
const L1_HELLO: u32 = 15;
const L2_HELLO: u32 = 16;
const LINK_HELLO: u32 = 17;
const L1_LSP: u32 = 18;
const L2_LSP: u32 = 20;
const L1_CSNP: u32 = 24;
const L2_CSNP: u32 = 25;
const L1_PSNP: u32 = 26;
const L2_PSNP: u32 = 27;

impl Lower<'_> {
    /// The packet is of the protocol.
    pub(super) fn protocol(&mut self, proto: Proto) -> Res<IrId> {
        if let Some(number) = link_number(proto) {
            return self.linktype(number);
        }
        if let Some((number, over)) = ip_number(proto) {
            return self.proto_number(number, over);
        }
        let types: &[u32] = match proto {
            Proto::Esis => return self.proto_number(ESIS, Some(Proto::Iso)),
            Proto::Isis => return self.proto_number(ISIS, Some(Proto::Iso)),
            Proto::Clnp => return self.proto_number(CLNP, Some(Proto::Iso)),
            Proto::L1 => &[L1_PSNP, L1_CSNP, L1_LSP, L1_HELLO, LINK_HELLO],
            Proto::L2 => &[L2_PSNP, L2_CSNP, L2_LSP, L2_HELLO, LINK_HELLO],
            Proto::Iih => &[LINK_HELLO, L1_HELLO, L2_HELLO],
            Proto::Lsp => &[L1_LSP, L2_LSP],
            Proto::Snp => &[L2_PSNP, L1_PSNP, L1_CSNP, L2_CSNP],
            Proto::Csnp => &[L1_CSNP, L2_CSNP],
            Proto::Psnp => &[L1_PSNP, L2_PSNP],
            Proto::Radio => return Err(self.error("`radio` is only an index, as in `radio[0]`, and needs 802.11 frames")),
            _ => {
                return Err(self
                    .error("the link layer is no test by itself")
                    .help("write `ether host`, `ether proto`, `ether broadcast` or `ether[0]`"));
            }
        };
        self.isis_types(types)
    }

    fn isis_types(&mut self, types: &[u32]) -> Res<IrId> {
        let tests = types.iter().map(|&kind| self.proto_number(kind, Some(Proto::Isis)));
        let tests: Vec<IrId> = tests.collect::<Res<_>>()?;
        Ok(self.or(&tests))
    }

    /// `over` carries the protocol with that number; without `over`, IPv4 or IPv6 does.
    pub(super) fn proto_number(&mut self, number: u32, over: Option<Proto>) -> Res<IrId> {
        match over {
            None => {
                let ipv4 = self.proto_number(number, Some(Proto::Ip))?;
                let ipv6 = self.proto_number(number, Some(Proto::Ip6))?;
                Ok(self.or(&[ipv4, ipv6]))
            }
            Some(Proto::Link) => self.linktype(number),
            Some(Proto::Ip) => self.carried(link::IPV4, From::Network, ip::PROTOCOL.offset, number),
            Some(Proto::Ip6) => self.next_header(number),
            // Cisco HDLC has a byte more before what OSI protocols begin with; Frame Relay says it
            // in its own header.
            Some(Proto::Iso) if self.layout.link == Link::Hdlc => self.carried(link::SAP_ISO, From::NetworkNoSnap, 1, number),
            Some(Proto::Iso) if self.layout.link == Link::FrameRelay => Ok(self.equal(From::LinkHeader, 2, 2, 0x0300 | number & 0xff)),
            Some(Proto::Iso) => self.carried(link::SAP_ISO, From::NetworkNoSnap, 0, number),
            Some(Proto::Isis) => {
                let isis = self.proto_number(ISIS, Some(Proto::Iso))?;
                let kind = self.equal(From::NetworkNoSnap, 4, 1, number);
                Ok(self.and(&[isis, kind]))
            }
            Some(other) => Err(self
                .error(format!("`{0}` does not carry protocols by number", other.word()))
                .help("`proto` takes `ip`, `ip6`, `ether`, `iso` or nothing before it")),
        }
    }

    fn carried(&mut self, by: u32, from: From, offset: u32, number: u32) -> Res<IrId> {
        let carrier = self.linktype(by)?;
        let field = self.equal(from, offset, 1, number);
        Ok(self.and(&[carrier, field]))
    }

    /// IPv6, the protocol right behind the header or behind one fragment header.
    fn next_header(&mut self, number: u32) -> Res<IrId> {
        let ipv6 = self.linktype(link::IPV6)?;
        let next = ip6::NEXT_HEADER.offset;
        let direct = self.equal(From::Network, next, 1, number);
        let fragment = self.equal(From::Network, next, 1, ipp::FRAGMENT.into());
        let behind = self.equal(From::Network, ip6::HEADER.bytes(), 1, number);
        let fragmented = self.and(&[fragment, behind]);
        let either = self.or(&[direct, fragmented]);
        Ok(self.and(&[ipv6, either]))
    }

    /// The protocol stands somewhere in the chain of headers.
    pub(super) fn protochain(&mut self, number: u32, over: Option<Proto>) -> Res<IrId> {
        self.take_register()?;
        match over {
            None => {
                // libpcap never gives this register back.
                let ipv4 = self.protochain(number, Some(Proto::Ip))?;
                let ipv6 = self.protochain(number, Some(Proto::Ip6))?;
                return Ok(self.or(&[ipv4, ipv6]));
            }
            Some(Proto::Ip | Proto::Ip6) => {}
            Some(other) => {
                return Err(self
                    .error(format!("`{}` has no chain of headers", other.word()))
                    .help("`protochain` takes `ip`, `ip6` or nothing before it"));
            }
        }
        if matches!(self.layout.link, Link::Wlan(_) | Link::Pflog) {
            let name = self.layout.link.name();
            return Err(self.error(format!("`protochain` does not work on {name}, whose headers vary in length")));
        }
        if self.layout.linkpl.slot.is_some() {
            return Err(self.error("`protochain` does not work behind `geneve`").help("put it before `geneve`"));
        }
        self.registers -= 1;
        let v6 = over == Some(Proto::Ip6);
        let carrier = self.linktype(if v6 { link::IPV6 } else { link::IPV4 })?;
        let header = self.layout.linkpl.at.wrapping_add(self.layout.nl);
        let walk = self.ir.push_test(Test::Protochain(Protochain { v6, header, wanted: number }));
        Ok(self.and(&[carrier, walk]))
    }
}

/// Protocols that the link layer names.
fn link_number(proto: Proto) -> Option<u32> {
    Some(match proto {
        Proto::Ip => link::IPV4,
        Proto::Ip6 => link::IPV6,
        Proto::Arp => link::ARP,
        Proto::Rarp => link::RARP,
        Proto::Atalk => link::ATALK,
        Proto::Aarp => link::AARP,
        Proto::Decnet => link::DECNET,
        Proto::Sca => link::SCA,
        Proto::Lat => link::LAT,
        Proto::Mopdl => link::MOPDL,
        Proto::Moprc => link::MOPRC,
        Proto::Iso => link::SAP_ISO,
        Proto::Stp => link::SAP_STP,
        Proto::Ipx => link::SAP_IPX,
        Proto::Netbeui => link::SAP_NETBEUI,
        _ => return None,
    })
}

/// Protocols that IP names, with the version if only one counts.
fn ip_number(proto: Proto) -> Option<(u32, Option<Proto>)> {
    let (number, over) = match proto {
        Proto::Sctp => (ipp::SCTP, None),
        Proto::Tcp => (ipp::TCP, None),
        Proto::Udp => (ipp::UDP, None),
        Proto::Pim => (ipp::PIM, None),
        Proto::Ah => (ipp::AH, None),
        Proto::Esp => (ipp::ESP, None),
        Proto::Icmp => (ipp::ICMP, Some(Proto::Ip)),
        Proto::Igmp => (ipp::IGMP, Some(Proto::Ip)),
        Proto::Igrp => (ipp::IGRP, Some(Proto::Ip)),
        Proto::Vrrp | Proto::Carp => (ipp::VRRP, Some(Proto::Ip)),
        Proto::Icmp6 => (ipp::ICMP6, Some(Proto::Ip6)),
        _ => return None,
    };
    Some((number.into(), over))
}

/// Numbers behind the names that `ether proto` takes.
pub(super) fn ether_number(name: &str) -> Option<u32> {
    Some(match name {
        "aarp" => link::AARP,
        "arp" => link::ARP,
        "atalk" => link::ATALK,
        "decnet" => link::DECNET,
        "ip" => link::IPV4,
        "ip6" => link::IPV6,
        "lat" => link::LAT,
        "loopback" => link::LOOPBACK,
        "mopdl" => link::MOPDL,
        "moprc" => link::MOPRC,
        "rarp" => link::RARP,
        "sca" => link::SCA,
        "iso" => link::SAP_ISO,
        "stp" => link::SAP_STP,
        "ipx" => link::SAP_IPX,
        "netbeui" => link::SAP_NETBEUI,
        _ => return None,
    })
}

/// Numbers behind the names that `iso proto` takes.
pub(super) fn iso_number(name: &str) -> Option<u32> {
    Some(match name {
        "esis" => ESIS,
        "isis" => ISIS,
        "clnp" => CLNP,
        _ => return None,
    })
}
