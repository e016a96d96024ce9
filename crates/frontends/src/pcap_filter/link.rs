//! Link types: what the first bytes of a packet are.

use super::lower::layout::{Layout, Offset};

/// A link type by its number, either as capture files have it (LINKTYPE_) or as libpcap has it on Linux (DLT_).
///
/// Source: <https://www.tcpdump.org/linktypes.html>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkType(pub u32);

impl LinkType {
    /// BSD loopback: an address family in the byte order of the capturing machine.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet.
    pub const ETHERNET: LinkType = LinkType(1);
    /// PPP with two bytes of framing before the protocol.
    pub const PPP: LinkType = LinkType(9);
    /// PPP in HDLC-like framing (LINKTYPE_PPP_HDLC).
    pub const PPP_HDLC: LinkType = LinkType(50);
    /// A PPPoE session without its Ethernet header.
    pub const PPP_ETHER: LinkType = LinkType(51);
    /// IPv4 or IPv6 without any header before it.
    pub const RAW: LinkType = LinkType(101);
    /// OpenBSD loopback: an address family in network byte order.
    pub const LOOP: LinkType = LinkType(108);
    /// Linux cooked capture, version 1.
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// IPv4 without any header before it.
    pub const IPV4: LinkType = LinkType(228);
    /// IPv6 without any header before it.
    pub const IPV6: LinkType = LinkType(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: LinkType = LinkType(276);

    /// What netvm knows about the link type; `None` if it cannot filter on it.
    pub(crate) fn link(self) -> Option<Link> {
        Some(match self.0 {
            0 => Link::Null,
            1 => Link::Ethernet,
            9 => Link::Ppp,
            50 | 51 => Link::PppOther,
            12 | 14 | 101 => Link::Raw,
            108 => Link::Loop,
            113 => Link::Sll,
            228 => Link::Ipv4,
            229 => Link::Ipv6,
            276 => Link::Sll2,
            _ => return None,
        })
    }

    /// Where things are in a packet of this link type; `None` if netvm cannot filter on it.
    pub(crate) fn layout(self) -> Option<Layout> {
        let link = self.link()?;
        let (kind, payload) = match (self.0, link) {
            (51, _) => (Some(6), 8),
            (_, Link::Ethernet) => (Some(12), 14),
            (_, Link::Null | Link::Loop) => (Some(0), 4),
            (_, Link::Ppp | Link::PppOther) => (Some(2), 4),
            (_, Link::Sll) => (Some(14), 16),
            (_, Link::Sll2) => (Some(0), 20),
            (_, Link::Raw | Link::Ipv4 | Link::Ipv6) => (None, 0),
        };
        let nl_nosnap = if link == Link::Ethernet { 3 } else { 0 };
        Some(Layout {
            link,
            linkhdr: Offset::at(0),
            linkpl: Offset::at(payload),
            linktype: kind.map(Offset::at),
            nl: 0,
            nl_nosnap,
            labels: 0,
            geneve: false,
        })
    }
}

/// A link type that terms can be made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    Raw,
    Ipv4,
    Ipv6,
    Null,
    Loop,
    Sll,
    Sll2,
    Ppp,
    PppOther,
}

impl Link {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Link::Ethernet => "Ethernet",
            Link::Raw => "raw IP",
            Link::Ipv4 => "raw IPv4",
            Link::Ipv6 => "raw IPv6",
            Link::Null => "BSD loopback",
            Link::Loop => "OpenBSD loopback",
            Link::Sll => "Linux cooked v1",
            Link::Sll2 => "Linux cooked v2",
            Link::Ppp | Link::PppOther => "PPP",
        }
    }
}
