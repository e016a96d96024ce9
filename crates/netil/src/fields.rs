//! Headers of protocols, as data: where each field is, how long it is, how people read it, how long
//! the header is, and which header comes next. `fields/protocols.rs` is the table.
//!
//! Front ends, the runtime and printers take offsets and numbers from here. Two places do not, on
//! purpose: scenarios (`netvm test`) build packets from the RFCs alone, because they judge the
//! rest; and the C header of the element language is text for people, which a test compares with
//! this table.
//!
//! To add a header: a row of `fields/protocols.rs`, and its number in [`Header::of_ethertype`] or
//! [`Header::of_ip_protocol`].
//!
//! All numbers are in network byte order. Left out: fields of less than a byte, which have names in
//! the filter language or are constants here; options; headers that only printers know.

mod protocols;

pub use protocols::{arp, ethernet, icmp, icmp_query, ip, ip6, tcp, udp, vlan};

/// How people read a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A decimal number.
    Number,
    /// Hexadecimal digits.
    Hex,
    /// A link-layer address.
    Mac,
    /// An IPv4 address.
    Ip,
    /// An IPv6 address.
    Ip6,
}

/// A field of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, as in `ip.ttl`.
    pub name: &'static str,
    /// Bytes of the header before it.
    pub offset: u32,
    /// How many bytes it has.
    pub bytes: u32,
    /// How it is written.
    pub form: Form,
}

impl Field {
    /// Its place in a header.
    pub const fn range(&self) -> std::ops::Range<usize> {
        self.offset as usize..(self.offset + self.bytes) as usize
    }

    /// Its bytes, if the header has them.
    pub fn of<'h>(&self, header: &'h [u8]) -> Option<&'h [u8]> {
        header.get(self.range())
    }

    /// Its value, of the first eight bytes if it has more.
    pub fn number(&self, header: &[u8]) -> Option<u64> {
        Some(self.of(header)?.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    /// Its one byte.
    pub fn byte(&self, header: &[u8]) -> Option<u8> {
        header.get(self.offset as usize).copied()
    }

    /// Its two bytes.
    pub fn half(&self, header: &[u8]) -> Option<u16> {
        header.get(self.offset as usize..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
    }

    /// Its four bytes.
    pub fn word(&self, header: &[u8]) -> Option<u32> {
        header.get(self.offset as usize..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
    }
}

/// How long a header is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Always as long as its fields.
    Fixed,
    /// Its length in words of four bytes is in four bits of a byte, from this one up.
    Words(Field, u32),
}

/// Which header comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// None, or one that this table does not know.
    Unknown,
    /// The one of an EtherType.
    EtherType(Field),
    /// The one of an IP protocol number, unless another field tells that this is not the first
    /// fragment.
    IpProtocol(Field, Option<Field>),
}

impl Next {
    /// The header that comes next behind one with these bytes.
    pub fn header(&self, bytes: &[u8]) -> Option<&'static Header> {
        match self {
            Next::Unknown => None,
            Next::EtherType(field) => Header::of_ethertype(field.half(bytes)?),
            Next::IpProtocol(field, fragment) => {
                let offset = fragment.map_or(Some(0), |fragment| fragment.half(bytes))? & fragment::OFFSET;
                Header::of_ip_protocol(field.byte(bytes).filter(|_| offset == 0)?)
            }
        }
    }
}

/// A protocol's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The protocol's name, as in `ip.ttl`.
    pub name: &'static str,
    /// Its fields, one behind the other.
    pub fields: &'static [Field],
    /// How long it is.
    pub length: Length,
    /// What is behind it.
    pub next: Next,
}

impl Header {
    /// The header that an EtherType announces.
    pub fn of_ethertype(number: u16) -> Option<&'static Header> {
        Some(match number {
            ethertype::IPV4 => &ip::HEADER,
            ethertype::IPV6 => &ip6::HEADER,
            ethertype::ARP | ethertype::RARP => &arp::HEADER,
            ethertype::VLAN | ethertype::VLAN_PROVIDER => &vlan::HEADER,
            _ => return None,
        })
    }

    /// The header that an IP protocol number announces.
    pub fn of_ip_protocol(number: u8) -> Option<&'static Header> {
        Some(match number {
            ip_protocol::ICMP => &icmp::HEADER,
            ip_protocol::TCP => &tcp::HEADER,
            ip_protocol::UDP => &udp::HEADER,
            ip_protocol::ICMP6 => &protocols::ICMP6,
            _ => return None,
        })
    }

    /// Bytes of its fields.
    pub const fn bytes(&self) -> u32 {
        match self.fields.last() {
            Some(last) => last.offset + last.bytes,
            None => 0,
        }
    }

    /// How long it is, options included.
    pub fn len(&self, header: &[u8]) -> Option<usize> {
        match self.length {
            Length::Fixed => Some(self.bytes() as usize),
            Length::Words(field, shift) => Some(usize::from(field.byte(header)? >> shift & 15) * 4),
        }
    }

    /// The field at this place.
    pub fn field_at(&self, offset: u32, bytes: u32) -> Option<&'static Field> {
        self.fields.iter().find(|field| (field.offset, field.bytes) == (offset, bytes))
    }
}

/// EtherTypes (IEEE 802, RFC 9542).
#[allow(missing_docs, reason = "names of the registry")]
pub mod ethertype {
    pub const XNS: u16 = 0x0600;
    pub const IPV4: u16 = 0x0800;
    pub const ARP: u16 = 0x0806;
    pub const WAKE_ON_LAN: u16 = 0x0842;
    pub const MOPDL: u16 = 0x6001;
    pub const MOPRC: u16 = 0x6002;
    pub const DECNET: u16 = 0x6003;
    pub const LAT: u16 = 0x6004;
    pub const SCA: u16 = 0x6007;
    pub const BRIDGING: u16 = 0x6558;
    pub const RARP: u16 = 0x8035;
    pub const ATALK: u16 = 0x809b;
    pub const AARP: u16 = 0x80f3;
    pub const VLAN: u16 = 0x8100;
    pub const IPX: u16 = 0x8137;
    pub const IPV6: u16 = 0x86dd;
    pub const SLOW: u16 = 0x8809;
    pub const PPP: u16 = 0x880b;
    pub const MPLS: u16 = 0x8847;
    pub const MPLS_MULTICAST: u16 = 0x8848;
    pub const PPPOE_DISCOVERY: u16 = 0x8863;
    pub const PPPOE_SESSION: u16 = 0x8864;
    pub const EAPOL: u16 = 0x888e;
    pub const VLAN_PROVIDER: u16 = 0x88a8;
    pub const LLDP: u16 = 0x88cc;
    pub const MACSEC: u16 = 0x88e5;
    pub const LOOPBACK: u16 = 0x9000;
    pub const VLAN_STACKED: u16 = 0x9100;
    /// The greatest value of the field that is a length (IEEE 802.3).
    pub const MAX_LENGTH: u16 = 1500;
}

/// IP protocol numbers (IANA).
#[allow(missing_docs, reason = "names of the registry")]
pub mod ip_protocol {
    pub const HOP_BY_HOP: u8 = 0;
    pub const ICMP: u8 = 1;
    pub const IGMP: u8 = 2;
    pub const IPV4: u8 = 4;
    pub const TCP: u8 = 6;
    pub const IGRP: u8 = 9;
    pub const UDP: u8 = 17;
    pub const DCCP: u8 = 33;
    pub const IPV6: u8 = 41;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const RSVP: u8 = 46;
    pub const GRE: u8 = 47;
    pub const ESP: u8 = 50;
    pub const AH: u8 = 51;
    pub const ICMP6: u8 = 58;
    pub const NO_NEXT: u8 = 59;
    pub const DESTINATION: u8 = 60;
    pub const EIGRP: u8 = 88;
    pub const OSPF: u8 = 89;
    pub const PIM: u8 = 103;
    pub const VRRP: u8 = 112;
    pub const L2TP: u8 = 115;
    pub const SCTP: u8 = 132;
    pub const UDP_LITE: u8 = 136;
}

/// What the fragment field of IPv4 has.
#[allow(missing_docs, reason = "names of RFC 791")]
pub mod fragment {
    pub const RESERVED: u16 = 0x8000;
    pub const DONT: u16 = 0x4000;
    pub const MORE: u16 = 0x2000;
    /// Units of eight bytes.
    pub const OFFSET: u16 = 0x1fff;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_rfcs() {
        let place = |field: Field| (field.offset, field.bytes);
        assert_eq!(place(ip::TTL), (8, 1));
        assert_eq!(place(ip::DST), (16, 4));
        assert_eq!(place(ip6::NEXT_HEADER), (6, 1));
        assert_eq!(place(ip6::DST), (24, 16));
        assert_eq!(place(arp::TARGET_IP), (24, 4));
        assert_eq!(place(tcp::FLAGS), (13, 1));
        assert_eq!(place(tcp::URGENT), (18, 2));
        assert_eq!(place(udp::CHECKSUM), (6, 2));
        let bytes = [&ethernet::HEADER, &vlan::HEADER, &ip::HEADER, &ip6::HEADER, &arp::HEADER, &tcp::HEADER, &udp::HEADER, &icmp::HEADER]
            .map(Header::bytes);
        assert_eq!(bytes, [14, 4, 20, 40, 28, 20, 8, 8]);
    }

    #[test]
    fn headers_follow_one_another() {
        let frame = [&[0; 12][..], &[0x81, 0, 0, 5, 0x08, 0], &[0x46, 0, 0, 32], &[0; 5], &[17], &[0; 14]].concat();
        let vlan = ethernet::HEADER.next.header(&frame).unwrap();
        assert_eq!(vlan.name, "vlan");
        let ip = vlan.next.header(&frame[14..]).unwrap();
        assert_eq!((ip.name, ip.len(&frame[18..])), ("ip", Some(24)));
        assert_eq!(ip.next.header(&frame[18..]).unwrap().name, "udp");
        let mut later = frame[18..].to_vec();
        later[7] = 1;
        assert_eq!(ip.next.header(&later), None);
    }

    #[test]
    fn what_is_not_there_has_no_value() {
        assert_eq!(ip::TTL.number(&[0; 8]), None);
        assert_eq!(ip::SRC.word(&[0; 15]), None);
        assert_eq!((ip::LENGTH.half(&[0, 0, 1, 2]), ip::LENGTH.number(&[0, 0, 1, 2])), (Some(0x102), Some(0x102)));
        assert_eq!(tcp::HEADER.len(&[0; 12]), None);
        assert_eq!(ip::HEADER.field_at(8, 1), Some(&ip::TTL));
        assert_eq!(ip::HEADER.field_at(8, 2), None);
    }
}
