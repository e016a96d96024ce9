//! Link types: what the first bytes of a packet are.

/// A link type by its number, either as capture files have it (LINKTYPE_) or as libpcap has it on
/// Linux (DLT_).
///
/// Source: <https://www.tcpdump.org/linktypes.html>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkType(pub u32);

/// Link types that libpcap knows no protocols of, except those of [`LEFT_OUT`].
const OPAQUE_FROM: u32 = 104;
const OPAQUE_TO: u32 = 290;
/// Link types in that range of which libpcap knows protocols and netvm does not: ENC, LTALK,
/// IP_OVER_FC, SUNATM, Juniper's, APPLE_IP_OVER_IEEE1394, BACNET_MS_TP, PPP_PPPD, MFR, IPNET,
/// NETANALYZER.
const LEFT_OUT: &[u32] = &[
    109, 114, 122, 123, 130, 131, 132, 133, 134, 135, 136, 137, 138, 164, 165, 166, 167, 168, 174, 178, 179, 180, 181, 182, 183, 194, 200,
    226, 232, 233, 234, 238, 240, 241,
];

impl LinkType {
    /// BSD loopback: an address family in the byte order of the capturing machine.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet.
    pub const ETHERNET: LinkType = LinkType(1);
    /// PPP with two bytes of framing before the protocol.
    pub const PPP: LinkType = LinkType(9);
    /// SLIP behind a header of 16 bytes.
    pub const SLIP: LinkType = LinkType(8);
    /// Token ring.
    pub const IEEE802_5: LinkType = LinkType(6);
    /// FDDI.
    pub const FDDI: LinkType = LinkType(10);
    /// ARCnet.
    pub const ARCNET: LinkType = LinkType(7);
    /// ARCnet as Linux captures it.
    pub const ARCNET_LINUX: LinkType = LinkType(129);
    /// Packets logged by OpenBSD's pf.
    pub const PFLOG: LinkType = LinkType(117);
    /// SS7 messages behind a pseudo-header.
    pub const MTP2_WITH_PHDR: LinkType = LinkType(139);
    /// SS7 messages.
    pub const MTP2: LinkType = LinkType(140);
    /// Cisco's PPP with HDLC framing.
    pub const C_HDLC: LinkType = LinkType(104);
    /// 802.11 frames.
    pub const IEEE802_11: LinkType = LinkType(105);
    /// Frame Relay.
    pub const FRELAY: LinkType = LinkType(107);
    /// 802.11 frames behind a Prism header.
    pub const IEEE802_11_PRISM: LinkType = LinkType(119);
    /// 802.11 frames behind a radiotap header.
    pub const IEEE802_11_RADIOTAP: LinkType = LinkType(127);
    /// 802.11 frames behind an AVS header.
    pub const IEEE802_11_AVS: LinkType = LinkType(163);
    /// Frames behind a per-packet information header.
    pub const PPI: LinkType = LinkType(192);
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
            6 => Link::TokenRing,
            8 => Link::Slip,
            9 => Link::Ppp,
            10 => Link::Fddi,
            104 => Link::Hdlc,
            105 => Link::Wlan(None),
            107 => Link::FrameRelay,
            119 => Link::Wlan(Some(Radio::Prism)),
            127 => Link::Wlan(Some(Radio::Radiotap)),
            163 => Link::Wlan(Some(Radio::Avs)),
            192 => Link::Wlan(Some(Radio::Ppi)),
            50 | 51 => Link::PppOther,
            12 | 14 | 101 => Link::Raw,
            108 => Link::Loop,
            113 => Link::Sll,
            228 => Link::Ipv4,
            229 => Link::Ipv6,
            276 => Link::Sll2,
            7 | 129 => Link::Arcnet,
            117 => Link::Pflog,
            number @ OPAQUE_FROM..=OPAQUE_TO if !LEFT_OUT.contains(&number) => Link::Opaque(number),
            _ => return None,
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
    Slip,
    Hdlc,
    FrameRelay,
    Fddi,
    TokenRing,
    /// 802.11 frames, perhaps behind a header of the radio.
    Wlan(Option<Radio>),
    Arcnet,
    Pflog,
    /// Packets that do not say what they carry in a way that terms could ask for: only their bytes
    /// and lengths can be.
    Opaque(u32),
}

/// Headers of the radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Radio {
    Prism,
    Avs,
    Radiotap,
    Ppi,
}

impl Link {
    /// Frames have MAC addresses.
    pub(crate) fn has_macs(self) -> bool {
        matches!(self, Link::Ethernet | Link::Fddi | Link::TokenRing | Link::Wlan(_))
    }

    /// 802.11 frames behind a header of the radio, which `radio[…]` looks at.
    pub(crate) fn is_radio(self) -> bool {
        matches!(self, Link::Wlan(Some(Radio::Prism | Radio::Avs | Radio::Radiotap)))
    }

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
            Link::Slip => "SLIP",
            Link::Hdlc => "Cisco HDLC",
            Link::FrameRelay => "Frame Relay",
            Link::Fddi => "FDDI",
            Link::TokenRing => "token ring",
            Link::Arcnet => "ARCnet",
            Link::Pflog => "PFLOG",
            Link::Opaque(139 | 140) => "MTP2",
            Link::Opaque(_) => "this link type",
            Link::Wlan(None) => "802.11",
            Link::Wlan(Some(Radio::Prism)) => "802.11 with Prism header",
            Link::Wlan(Some(Radio::Avs)) => "802.11 with AVS header",
            Link::Wlan(Some(Radio::Radiotap)) => "802.11 with radiotap header",
            Link::Wlan(Some(Radio::Ppi)) => "802.11 with PPI header",
        }
    }
}
