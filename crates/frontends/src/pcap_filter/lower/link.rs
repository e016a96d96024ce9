//! What the payload of a link-layer frame is.
//!
//! Protocols are named by Ethernet type if above 1500, else by 802.2 service access point, on every
//! link type.

use super::super::ir::{Cmp, IrId};
use super::super::link::Link;
use super::super::parser::Res;
use super::Lower;
use super::layout::From;
use netil::fields::ethertype;

pub(super) const IPV4: u32 = ethertype::IPV4 as u32;
pub(super) const ARP: u32 = ethertype::ARP as u32;
pub(super) const RARP: u32 = ethertype::RARP as u32;
pub(super) const IPV6: u32 = ethertype::IPV6 as u32;
pub(super) const DECNET: u32 = ethertype::DECNET as u32;
pub(super) const LAT: u32 = ethertype::LAT as u32;
pub(super) const SCA: u32 = ethertype::SCA as u32;
pub(super) const MOPDL: u32 = ethertype::MOPDL as u32;
pub(super) const MOPRC: u32 = ethertype::MOPRC as u32;
pub(super) const ATALK: u32 = ethertype::ATALK as u32;
pub(super) const AARP: u32 = ethertype::AARP as u32;
pub(super) const LOOPBACK: u32 = ethertype::LOOPBACK as u32;
pub(super) const VLAN: u32 = ethertype::VLAN as u32;
pub(super) const VLAN_PROVIDER: u32 = ethertype::VLAN_PROVIDER as u32;
pub(super) const VLAN_STACKED: u32 = ethertype::VLAN_STACKED as u32;
pub(super) const MPLS: u32 = ethertype::MPLS as u32;
pub(super) const PPP_MPLS: u32 = 0x0281;
pub(super) const PPPOE_DISCOVERY: u32 = ethertype::PPPOE_DISCOVERY as u32;
pub(super) const PPPOE_SESSION: u32 = ethertype::PPPOE_SESSION as u32;

pub(super) const SAP_IP: u32 = 0x06;
pub(super) const SAP_STP: u32 = 0x42;
pub(super) const SAP_IPX: u32 = 0xe0;
pub(super) const SAP_NETBEUI: u32 = 0xf0;
pub(super) const SAP_ISO: u32 = 0xfe;

const ETHERTYPE_IPX: u32 = ethertype::IPX as u32;
const ETHERTYPE_XNS: u32 = ethertype::XNS as u32;
/// Greatest value of Ethernet's type field that is a length (IEEE 802.3).
pub(super) const MAX_LENGTH: u32 = ethertype::MAX_LENGTH as u32;
/// Type fields of Linux cooked v1 that stand for frames with and without an LLC header.
const SLL_LLC: u32 = 0x0004;
const SLL_NOVELL: u32 = 0x0001;

impl Lower<'_> {
    /// The payload is of the protocol.
    pub(super) fn linktype(&mut self, proto: u32) -> Res<IrId> {
        if self.layout.labels > 0 {
            return self.mpls_payload(proto);
        }
        Ok(match self.layout.link {
            Link::Ethernet => self.ethernet_type(proto),
            Link::Sll => self.sll_type(proto),
            Link::Sll2 => self.equal(From::LinkType, 0, 2, proto),
            Link::Raw => self.raw_version(proto),
            Link::Ipv4 => self.constant(proto == IPV4),
            Link::Ipv6 => self.constant(proto == IPV6),
            Link::Ppp | Link::PppOther => self.equal(From::LinkType, 0, 2, ppp_type(proto)),
            Link::Null | Link::Loop => self.address_family(proto),
            Link::Slip => self.raw_version(proto),
            Link::Arcnet => self.arcnet_type(proto),
            Link::Pflog => match proto {
                IPV4 => self.equal(From::LinkHeader, 1, 1, 2),
                // As on Linux, where libpcap takes its own system's number.
                IPV6 => self.equal(From::LinkHeader, 1, 1, 10),
                _ => self.constant(false),
            },
            Link::Opaque(number) => {
                return Err(self
                    .error(format!("packets of link type {number} do not say what they carry in a way that filters read"))
                    .help("what can be asked for there: bytes as `link[4:2]`, `len`, `less`, `greater`"));
            }
            Link::Hdlc if proto == SAP_ISO => self.equal(From::LinkType, 0, 2, SAP_ISO << 8 | SAP_ISO),
            Link::Hdlc => self.equal(From::LinkType, 0, 2, proto),
            Link::FrameRelay => self.frame_relay(proto),
            Link::Fddi | Link::TokenRing => self.llc_type(proto),
            Link::Wlan(_) => {
                let data = self.is_data_frame();
                let kind = self.llc_type(proto);
                self.and(&[data, kind])
            }
        })
    }

    fn ethernet_type(&mut self, proto: u32) -> IrId {
        match proto {
            SAP_ISO | SAP_IP | SAP_NETBEUI => {
                let frame = self.is_length();
                let saps = self.equal(From::Payload, 0, 2, proto << 8 | proto);
                self.and(&[frame, saps])
            }
            SAP_IPX => self.ethernet_ipx(),
            ATALK => self.ethernet_or_snap(proto, 0x08_0007),
            AARP => self.ethernet_or_snap(proto, 0),
            0..=MAX_LENGTH => {
                let frame = self.is_length();
                let sap = self.equal(From::LinkType, 2, 1, proto);
                self.and(&[frame, sap])
            }
            _ => self.equal(From::LinkType, 0, 2, proto),
        }
    }

    /// The type field is a length: an 802.3 frame.
    pub(super) fn is_length(&mut self) -> IrId {
        let above = self.compare_at(From::LinkType, 0, 2, Cmp::Gt, MAX_LENGTH);
        self.not(above)
    }

    /// IPX in its four framings: Ethernet II, 802.3 with SNAP, with LLC, and bare.
    fn ethernet_ipx(&mut self) -> IrId {
        let ethernet2 = self.equal(From::LinkType, 0, 2, ETHERTYPE_IPX);
        let frame = self.is_length();
        let snap = self.snap(0, ETHERTYPE_IPX);
        let llc = self.equal(From::Payload, 0, 1, SAP_IPX);
        let bare = self.equal(From::Payload, 0, 2, 0xffff);
        let inside = self.or(&[snap, llc, bare]);
        let framed = self.and(&[frame, inside]);
        self.or(&[ethernet2, framed])
    }

    fn ethernet_or_snap(&mut self, proto: u32, organisation: u32) -> IrId {
        let ethernet2 = self.equal(From::LinkType, 0, 2, proto);
        let frame = self.is_length();
        let snap = self.snap(organisation, proto);
        let framed = self.and(&[frame, snap]);
        self.or(&[ethernet2, framed])
    }

    /// LLC and SNAP headers: both SAPs 0xaa, unnumbered information, an organisation and a type.
    pub(super) fn snap(&mut self, organisation: u32, proto: u32) -> IrId {
        let tail = self.equal(From::Payload, 4, 4, organisation << 16 | proto);
        let head = self.equal(From::Payload, 0, 4, 0xaaaa_0300 | organisation >> 16);
        self.and(&[tail, head])
    }

    fn sll_type(&mut self, proto: u32) -> IrId {
        match proto {
            SAP_ISO | SAP_IP | SAP_NETBEUI => {
                let llc = self.equal(From::LinkType, 0, 2, SLL_LLC);
                let saps = self.equal(From::Payload, 0, 2, proto << 8 | proto);
                self.and(&[llc, saps])
            }
            SAP_IPX => self.sll_ipx(),
            ATALK => self.sll_or_snap(proto, 0x08_0007),
            AARP => self.sll_or_snap(proto, 0),
            0..=MAX_LENGTH => {
                let llc = self.equal(From::LinkType, 0, 2, SLL_LLC);
                let payload = self.layout.linkpl.at;
                let sap = self.equal(From::LinkHeader, payload, 1, proto);
                self.and(&[llc, sap])
            }
            _ => self.equal(From::LinkType, 0, 2, proto),
        }
    }

    fn sll_ipx(&mut self) -> IrId {
        let ethernet2 = self.equal(From::LinkType, 0, 2, ETHERTYPE_IPX);
        let bare = self.equal(From::LinkType, 0, 2, SLL_NOVELL);
        let llc = self.equal(From::LinkType, 0, 2, SLL_LLC);
        let sap = self.equal(From::Payload, 0, 1, SAP_IPX);
        let snap = self.snap(0, ETHERTYPE_IPX);
        let inside = self.or(&[sap, snap]);
        let framed = self.and(&[llc, inside]);
        self.or(&[ethernet2, bare, framed])
    }

    fn sll_or_snap(&mut self, proto: u32, organisation: u32) -> IrId {
        let ethernet2 = self.equal(From::LinkType, 0, 2, proto);
        let llc = self.equal(From::LinkType, 0, 2, SLL_LLC);
        let snap = self.snap(organisation, proto);
        let framed = self.and(&[llc, snap]);
        self.or(&[ethernet2, framed])
    }

    /// Network layer protocol identifiers (ISO/IEC TR 9577) behind addresses of two bytes (RFC
    /// 2427).
    fn frame_relay(&mut self, proto: u32) -> IrId {
        let identifier = |lower: &mut Self, number: u32| lower.equal(From::LinkHeader, 2, 2, 0x0300 | number);
        match proto {
            IPV4 => identifier(self, 0xcc),
            IPV6 => identifier(self, 0x8e),
            SAP_ISO => {
                let osi = [0x81, 0x82, 0x83].map(|number| identifier(self, number));
                self.or(&osi)
            }
            _ => self.constant(false),
        }
    }

    /// ARCnet system codes (RFC 1201, RFC 1051).
    fn arcnet_type(&mut self, proto: u32) -> IrId {
        let codes: &[u32] = match proto {
            IPV4 => &[0xd4, 0xf0],
            IPV6 => &[0xc4],
            ARP => &[0xd5, 0xf1],
            RARP => &[0xd6],
            ATALK => &[0xdd],
            _ => return self.constant(false),
        };
        let codes: Vec<IrId> = codes.iter().map(|&code| self.equal(From::LinkType, 0, 1, code)).collect();
        self.or(&codes)
    }

    /// Without a type field the IP version tells.
    fn raw_version(&mut self, proto: u32) -> IrId {
        match proto {
            IPV4 => self.masked(From::LinkHeader, 0, 1, 0xf0, 0x40),
            IPV6 => self.masked(From::LinkHeader, 0, 1, 0xf0, 0x60),
            _ => self.constant(false),
        }
    }

    /// Address families of BSD: every system has the same for IPv4, three have different ones for
    /// IPv6.
    fn address_family(&mut self, proto: u32) -> IrId {
        match proto {
            IPV4 => self.family(2),
            IPV6 => {
                let families = [30, 24, 28].map(|family| self.family(family));
                self.or(&families)
            }
            _ => self.constant(false),
        }
    }

    fn family(&mut self, family: u32) -> IrId {
        let little = self.layout.link == Link::Null && !self.options.big_endian_file;
        let value = if little { family.swap_bytes() } else { family };
        self.equal(From::LinkHeader, 0, 4, value)
    }

    /// Behind MPLS labels only the bottom-of-stack bit and the IP version tell.
    fn mpls_payload(&mut self, proto: u32) -> Res<IrId> {
        let version = match proto {
            IPV4 => 0x40,
            IPV6 => 0x60,
            _ => {
                return Err(self
                    .error("behind `mpls` only IPv4 and IPv6 can be recognised")
                    .help("an MPLS label does not say what follows; put this term before `mpls`"));
            }
        };
        let bottom = self.masked(From::Network, 0u32.wrapping_sub(2), 1, 0x01, 0x01);
        let version = self.masked(From::Network, 0, 1, 0xf0, version);
        Ok(self.and(&[bottom, version]))
    }
}

/// PPP protocol numbers (RFC 1661, IANA) of protocols that Ethernet names otherwise.
fn ppp_type(proto: u32) -> u32 {
    match proto {
        IPV4 => 0x0021,
        IPV6 => 0x0057,
        DECNET => 0x0027,
        ATALK => 0x0029,
        ETHERTYPE_XNS => 0x0025,
        SAP_ISO => 0x0023,
        SAP_STP => 0x0031,
        SAP_IPX => 0x002b,
        other => other,
    }
}
