//! Names of header fields, for people: kept on request while a filter is lowered.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::link::Link;
use super::layout::From;
use netil::fields::{Field, arp, ip, ip6, udp};

/// A field that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Name {
    Bytes,
    LinkType,
    AddressFamily,
    Version,
    MacSrc,
    MacDst,
    Ipv4Protocol,
    Ipv4Fragment,
    Ipv4Src,
    Ipv4Dst,
    Ipv6Next,
    Ipv6Src,
    Ipv6Dst,
    ArpSender,
    ArpTarget,
    PortSrc,
    PortDst,
}

/// Fields of the headers of which libpcap's filters test some, at places where one tells them
/// apart.
const NETWORK: [(Field, Name); 9] = [
    (ip6::NEXT_HEADER, Name::Ipv6Next),
    (ip::FRAGMENT, Name::Ipv4Fragment),
    (ip::PROTOCOL, Name::Ipv4Protocol),
    (ip::SRC, Name::Ipv4Src),
    (ip::DST, Name::Ipv4Dst),
    (arp::SENDER_IP, Name::ArpSender),
    (arp::TARGET_IP, Name::ArpTarget),
    (ip6::SRC, Name::Ipv6Src),
    (ip6::DST, Name::Ipv6Dst),
];
/// Fields of headers of transports, all of which begin with ports.
const PORTS: [(Field, Name); 2] = [(udp::SPORT, Name::PortSrc), (udp::DPORT, Name::PortDst)];

fn find(names: &[(Field, Name)], offset: u32, bytes: u8) -> Name {
    let known = names.iter().find(|(field, _)| (field.offset, field.bytes) == (offset, u32::from(bytes)));
    known.map_or(Name::Bytes, |(_, name)| *name)
}

impl Name {
    /// The name of the field of `bytes` bytes at `offset` from some header, as far as that tells.
    pub(crate) fn of(from: From, offset: u32, bytes: u8, link: Link) -> Name {
        match (from, offset, bytes) {
            (From::LinkType, 0, 2) => Name::LinkType,
            (From::LinkHeader, 0, 4) if matches!(link, Link::Null | Link::Loop) => Name::AddressFamily,
            (From::LinkHeader, 0, 1) if link == Link::Raw => Name::Version,
            (From::LinkHeader, 0, 6) => Name::MacDst,
            (From::LinkHeader, 6, 6) => Name::MacSrc,
            (From::Network, ..) => find(&NETWORK, offset, bytes),
            (From::Transport4 | From::Transport6, ..) => find(&PORTS, offset, bytes),
            _ => Name::Bytes,
        }
    }

    /// The field in words; one without a name by its place.
    pub(crate) fn what(self, place: Option<(u64, u64)>) -> String {
        let name = match self {
            Name::Bytes => {
                return match place {
                    Some((start, end)) if end - start == 1 => format!("byte {start}"),
                    Some((start, end)) => format!("{} bytes at {start}", end - start),
                    None => "bytes of the packet".to_owned(),
                };
            }
            Name::LinkType => "link-layer type",
            Name::AddressFamily => "address family",
            Name::Version => "IP version byte",
            Name::MacSrc => "Ethernet source",
            Name::MacDst => "Ethernet destination",
            Name::Ipv4Protocol => "IPv4 protocol",
            Name::Ipv4Fragment => "IPv4 flags and fragment offset",
            Name::Ipv4Src => "IPv4 source",
            Name::Ipv4Dst => "IPv4 destination",
            Name::Ipv6Next => "IPv6 next header",
            Name::Ipv6Src => "IPv6 source",
            Name::Ipv6Dst => "IPv6 destination",
            Name::ArpSender => "ARP sender address",
            Name::ArpTarget => "ARP target address",
            Name::PortSrc => "source port",
            Name::PortDst => "destination port",
        };
        name.to_owned()
    }

    /// A value of the field as people write it.
    pub(crate) fn show(self, value: u128, bytes: u8) -> String {
        let small = u32::try_from(value & 0xffff_ffff).unwrap_or(0);
        match self {
            Name::Ipv4Src | Name::Ipv4Dst | Name::ArpSender | Name::ArpTarget => Ipv4Addr::from(small).to_string(),
            Name::Ipv6Src | Name::Ipv6Dst => Ipv6Addr::from(value).to_string(),
            Name::MacSrc | Name::MacDst => mac(value),
            Name::PortSrc | Name::PortDst | Name::Ipv4Protocol | Name::Ipv6Next => value.to_string(),
            _ => format!("{value:#0width$x}", width = 2 + 2 * usize::from(bytes)),
        }
    }
}

fn mac(value: u128) -> String {
    let bytes = value.to_be_bytes();
    let pairs: Vec<String> = bytes[10..].iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(":")
}
