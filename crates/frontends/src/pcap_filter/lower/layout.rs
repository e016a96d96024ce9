//! Where headers are while a filter is lowered. `vlan`, `mpls`, `pppoes` and `geneve` change it for
//! every later term.

use super::super::ir::{Ir, Slot, Value, ValueId};
use super::super::link::{Link, LinkType};

/// An offset into the packet: a variable part, if there is one, and a constant part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offset {
    pub slot: Option<Slot>,
    pub at: u32,
}

impl Offset {
    pub(crate) fn at(at: u32) -> Offset {
        Offset { slot: None, at }
    }

    pub(crate) fn variable(slot: Slot) -> Offset {
        Offset { slot: Some(slot), at: 0 }
    }

    pub(crate) fn base(self, ir: &mut Ir) -> Option<ValueId> {
        self.slot.map(|slot| ir.make(Value::Slot(slot)))
    }
}

/// The offsets that terms are relative to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// The link type; PPP inside PPPoE, Ethernet inside Geneve.
    pub link: Link,
    /// The link-layer header.
    pub linkhdr: Offset,
    /// The link-layer payload: what follows the type field, or an LLC header.
    pub linkpl: Offset,
    /// The field with the payload's type, if the link type has one.
    pub linktype: Option<Offset>,
    /// The network header, from the payload; past the MPLS labels.
    pub nl: u32,
    /// The network header behind an LLC header without SNAP, from the payload.
    pub nl_nosnap: u32,
    /// MPLS labels so far.
    pub labels: u32,
    /// Inside Geneve: a link-layer header may be missing.
    pub geneve: bool,
}

impl LinkType {
    /// Where things are in a packet of this link type; `None` if netvm cannot filter on it.
    pub(crate) fn layout(self) -> Option<Layout> {
        let link = self.link()?;
        let (kind, payload) = match (self.0, link) {
            (51, _) => (Some(6), 8),
            (129, _) => (Some(4), 8),
            (_, Link::Arcnet) => (Some(2), 6),
            (_, Link::Pflog) => (Some(0), 0),
            (_, Link::Opaque(_)) => (None, 0),
            (_, Link::Ethernet) => (Some(12), 14),
            (_, Link::Slip) => (None, 16),
            (_, Link::Hdlc) => (Some(2), 4),
            (_, Link::FrameRelay) => (None, 0),
            (_, Link::Fddi) => (Some(13), 13),
            (_, Link::TokenRing) => (Some(14), 14),
            (_, Link::Wlan(_)) => (Some(24), 0),
            (_, Link::Null | Link::Loop) => (Some(0), 4),
            (_, Link::Ppp | Link::PppOther) => (Some(2), 4),
            (_, Link::Sll) => (Some(14), 16),
            (_, Link::Sll2) => (Some(0), 20),
            (_, Link::Raw | Link::Ipv4 | Link::Ipv6) => (None, 0),
        };
        // Behind 802.2 and SNAP, or 802.2 alone.
        let (nl, nl_nosnap) = match link {
            Link::Ethernet => (0, 3),
            Link::Fddi | Link::TokenRing | Link::Wlan(_) => (8, 3),
            _ => (0, 0),
        };
        Some(Layout {
            link,
            linkhdr: Offset::at(0),
            linkpl: Offset::at(payload),
            linktype: kind.map(Offset::at),
            nl,
            nl_nosnap,
            labels: 0,
            geneve: false,
        })
    }
}

/// What an offset counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    LinkHeader,
    /// The packet's first byte, which may be the radio's header.
    Start,
    LinkType,
    /// The payload, whatever it begins with.
    Payload,
    /// The network header.
    Network,
    /// The network header after LLC without SNAP.
    NetworkNoSnap,
    /// The transport header behind an IPv4 header of any length.
    Transport4,
    /// The transport header right behind an IPv6 header.
    Transport6,
}
