//! Tokens of the filter language and the table of its words.
//!
//! Source: pcap-filter(7) and the behaviour of libpcap 1.10.3's scanner. Words of a link type that
//! netvm cannot read (ATM) are kept apart as [`Word::Foreign`], so that they can be refused with
//! their reason.

use super::ast::{Dir, PfField, Proto, Ss7Field, Ss7Unit};
use super::error::Span;

/// A token with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: Tok,
    pub span: Span,
}

/// What a token is. Texts are read from the source through the span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tok {
    Word(Word),
    /// A 32-bit number: decimal, octal, hexadecimal, or a named value such as `tcp-syn`.
    Number(u32),
    /// Any other name, or a keyword escaped with a backslash (which the span leaves out).
    Name,
    /// Two to four numbers with dots between: an IPv4 address, a short network or a DECnet address.
    Dotted,
    /// An IPv6 address that parses.
    Ipv6,
    /// A MAC address.
    Mac,
    /// `$` and one or two hexadecimal digits: an ARCnet address.
    Arcnet,
    /// A punctuation character, or the first one of `>=` (`g`), `<=` (`l`), `!=` (`n`), `<<` (`L`),
    /// `>>` (`R`).
    Punct(u8),
    And,
    Or,
    Not,
    /// A lexical error: an index into the lexer's list.
    Bad(u32),
    End,
}

/// The six bytes of a text that has a MAC address's shape: one or two digits each, or twelve
/// without separators.
pub(super) fn mac_bytes(text: &str) -> [u8; 6] {
    let mut bytes = [0; 6];
    let mut digits = text.bytes().peekable();
    for byte in &mut bytes {
        while digits.next_if(|b| !b.is_ascii_hexdigit()).is_some() {}
        for _ in 0..2 {
            let Some(digit) = digits.next_if(u8::is_ascii_hexdigit) else { break };
            let value = char::from(digit).to_digit(16).unwrap_or(0);
            *byte = *byte << 4 | u8::try_from(value).unwrap_or(0);
        }
    }
    bytes
}

/// Reserved words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Proto(Proto),
    Src,
    Dst,
    Host,
    Net,
    Mask,
    Port,
    Portrange,
    /// `proto`
    ByNumber,
    Protochain,
    Gateway,
    Less,
    Greater,
    Byte,
    Broadcast,
    Multicast,
    Len,
    Inbound,
    Outbound,
    Ifindex,
    Vlan,
    Mpls,
    Pppoed,
    Pppoes,
    Geneve,
    Llc,
    Type,
    Subtype,
    FrameDirection,
    /// An address of 802.11 frames: `addr1` … `addr4`, `ra`, `ta`.
    FrameAddress(Dir),
    /// A field of packets logged by OpenBSD's pf, except the rule's number.
    Pf(PfField),
    /// A kind of signal unit of SS7, on high-speed links if true.
    Ss7Unit(Ss7Unit, bool),
    /// A field of SS7 messages, on high-speed links if true.
    Ss7Field(Ss7Field, bool),
    And,
    Or,
    Not,
    /// `rnr` is both the number of a rule of pf and an LLC frame type.
    Rnr,
    /// A word of ATM cells, which netvm does not read.
    Foreign,
}

impl Proto {
    /// The protocol's word in the language; `ether` for the link layer.
    #[must_use]
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(_, w)| *w == Word::Proto(self)).map_or("", |(text, _)| text)
    }
}

/// Every reserved word. Where a near miss could be two of them, the earlier one is suggested.
#[rustfmt::skip]
pub(crate) const WORDS: &[(&str, Word)] = {
    use Ss7Field as F;
    use Ss7Unit as U;
    use Word as W;
    &[
        ("port", W::Port), ("host", W::Host), ("net", W::Net), ("src", W::Src), ("dst", W::Dst),
        ("portrange", W::Portrange), ("tcp", W::Proto(Proto::Tcp)), ("udp", W::Proto(Proto::Udp)),
        ("ip", W::Proto(Proto::Ip)), ("ip6", W::Proto(Proto::Ip6)), ("ether", W::Proto(Proto::Link)),
        ("icmp", W::Proto(Proto::Icmp)), ("icmp6", W::Proto(Proto::Icmp6)), ("arp", W::Proto(Proto::Arp)),
        ("and", W::And), ("or", W::Or), ("not", W::Not), ("vlan", W::Vlan), ("proto", W::ByNumber),
        ("sctp", W::Proto(Proto::Sctp)), ("mask", W::Mask), ("protochain", W::Protochain),
        ("link", W::Proto(Proto::Link)), ("ppp", W::Proto(Proto::Link)), ("slip", W::Proto(Proto::Link)),
        ("fddi", W::Proto(Proto::Link)), ("tr", W::Proto(Proto::Link)), ("wlan", W::Proto(Proto::Link)),
        ("rarp", W::Proto(Proto::Rarp)), ("igmp", W::Proto(Proto::Igmp)), ("igrp", W::Proto(Proto::Igrp)),
        ("pim", W::Proto(Proto::Pim)), ("vrrp", W::Proto(Proto::Vrrp)), ("carp", W::Proto(Proto::Carp)),
        ("ah", W::Proto(Proto::Ah)), ("esp", W::Proto(Proto::Esp)), ("atalk", W::Proto(Proto::Atalk)),
        ("aarp", W::Proto(Proto::Aarp)), ("decnet", W::Proto(Proto::Decnet)), ("lat", W::Proto(Proto::Lat)),
        ("sca", W::Proto(Proto::Sca)), ("moprc", W::Proto(Proto::Moprc)), ("mopdl", W::Proto(Proto::Mopdl)),
        ("iso", W::Proto(Proto::Iso)), ("esis", W::Proto(Proto::Esis)), ("es-is", W::Proto(Proto::Esis)),
        ("isis", W::Proto(Proto::Isis)), ("is-is", W::Proto(Proto::Isis)), ("l1", W::Proto(Proto::L1)),
        ("l2", W::Proto(Proto::L2)), ("iih", W::Proto(Proto::Iih)), ("lsp", W::Proto(Proto::Lsp)),
        ("snp", W::Proto(Proto::Snp)), ("csnp", W::Proto(Proto::Csnp)), ("psnp", W::Proto(Proto::Psnp)),
        ("clnp", W::Proto(Proto::Clnp)), ("stp", W::Proto(Proto::Stp)), ("ipx", W::Proto(Proto::Ipx)),
        ("netbeui", W::Proto(Proto::Netbeui)), ("radio", W::Proto(Proto::Radio)), ("gateway", W::Gateway),
        ("less", W::Less), ("greater", W::Greater), ("byte", W::Byte), ("broadcast", W::Broadcast),
        ("multicast", W::Multicast), ("len", W::Len), ("length", W::Len), ("inbound", W::Inbound),
        ("outbound", W::Outbound), ("ifindex", W::Ifindex), ("mpls", W::Mpls), ("pppoed", W::Pppoed),
        ("pppoes", W::Pppoes), ("geneve", W::Geneve), ("llc", W::Llc),
        ("type", W::Type), ("subtype", W::Subtype), ("direction", W::FrameDirection),
        ("dir", W::FrameDirection), ("address1", W::FrameAddress(Dir::Addr1)), ("addr1", W::FrameAddress(Dir::Addr1)),
        ("address2", W::FrameAddress(Dir::Addr2)), ("addr2", W::FrameAddress(Dir::Addr2)),
        ("address3", W::FrameAddress(Dir::Addr3)), ("addr3", W::FrameAddress(Dir::Addr3)),
        ("address4", W::FrameAddress(Dir::Addr4)), ("addr4", W::FrameAddress(Dir::Addr4)),
        ("ra", W::FrameAddress(Dir::Receiver)), ("ta", W::FrameAddress(Dir::Transmitter)),
        ("lane", W::Foreign), ("metac", W::Foreign), ("bcc", W::Foreign), ("oam", W::Foreign), ("oamf4", W::Foreign),
        ("oamf4ec", W::Foreign), ("oamf4sc", W::Foreign), ("sc", W::Foreign), ("ilmic", W::Foreign), ("vpi", W::Foreign),
        ("vci", W::Foreign), ("connectmsg", W::Foreign), ("metaconnect", W::Foreign),
        ("on", W::Pf(PfField::Interface)), ("ifname", W::Pf(PfField::Interface)), ("rset", W::Pf(PfField::Ruleset)),
        ("ruleset", W::Pf(PfField::Ruleset)), ("rnr", W::Rnr), ("rulenum", W::Rnr), ("srnr", W::Pf(PfField::Subrule)),
        ("subrulenum", W::Pf(PfField::Subrule)), ("reason", W::Pf(PfField::Reason)), ("action", W::Pf(PfField::Action)),
        ("fisu", W::Ss7Unit(U::Fisu, false)), ("lssu", W::Ss7Unit(U::Lssu, false)), ("lsu", W::Ss7Unit(U::Lssu, false)),
        ("msu", W::Ss7Unit(U::Msu, false)), ("hfisu", W::Ss7Unit(U::Fisu, true)), ("hlssu", W::Ss7Unit(U::Lssu, true)),
        ("hmsu", W::Ss7Unit(U::Msu, true)), ("sio", W::Ss7Field(F::Sio, false)), ("opc", W::Ss7Field(F::Opc, false)),
        ("dpc", W::Ss7Field(F::Dpc, false)), ("sls", W::Ss7Field(F::Sls, false)), ("hsio", W::Ss7Field(F::Sio, true)),
        ("hopc", W::Ss7Field(F::Opc, true)), ("hdpc", W::Ss7Field(F::Dpc, true)), ("hsls", W::Ss7Field(F::Sls, true)),
    ]
};

/// Names that stand for numbers: header offsets and field values.
#[rustfmt::skip]
pub(crate) const VALUES: &[(&str, u32)] = &[
    ("tcpflags", 13), ("tcp-fin", 0x01), ("tcp-syn", 0x02), ("tcp-rst", 0x04), ("tcp-push", 0x08), ("tcp-ack", 0x10),
    ("tcp-urg", 0x20), ("tcp-ece", 0x40), ("tcp-cwr", 0x80), ("icmptype", 0), ("icmpcode", 1), ("icmp-echoreply", 0),
    ("icmp-unreach", 3), ("icmp-sourcequench", 4), ("icmp-redirect", 5), ("icmp-echo", 8), ("icmp-routeradvert", 9),
    ("icmp-routersolicit", 10), ("icmp-timxceed", 11), ("icmp-paramprob", 12), ("icmp-tstamp", 13),
    ("icmp-tstampreply", 14), ("icmp-ireq", 15), ("icmp-ireqreply", 16), ("icmp-maskreq", 17), ("icmp-maskreply", 18),
    ("icmp6type", 0), ("icmp6code", 1), ("icmp6-destinationunreach", 1), ("icmp6-packettoobig", 2),
    ("icmp6-timeexceeded", 3), ("icmp6-parameterproblem", 4), ("icmp6-echo", 128), ("icmp6-echoreply", 129),
    ("icmp6-multicastlistenerquery", 130), ("icmp6-multicastlistenerreportv1", 131),
    ("icmp6-multicastlistenerdone", 132), ("icmp6-routersolicit", 133), ("icmp6-routeradvert", 134),
    ("icmp6-neighborsolicit", 135), ("icmp6-neighboradvert", 136), ("icmp6-redirect", 137), ("icmp6-routerrenum", 138),
    ("icmp6-nodeinformationquery", 139), ("icmp6-nodeinformationresponse", 140),
    ("icmp6-ineighbordiscoverysolicit", 141), ("icmp6-ineighbordiscoveryadvert", 142),
    ("icmp6-multicastlistenerreportv2", 143), ("icmp6-homeagentdiscoveryrequest", 144),
    ("icmp6-homeagentdiscoveryreply", 145), ("icmp6-mobileprefixsolicit", 146), ("icmp6-mobileprefixadvert", 147),
    ("icmp6-certpathsolicit", 148), ("icmp6-certpathadvert", 149), ("icmp6-multicastrouteradvert", 151),
    ("icmp6-multicastroutersolicit", 152), ("icmp6-multicastrouterterm", 153),
];

pub(crate) const GE: u8 = b'g';
pub(crate) const LE: u8 = b'l';
pub(crate) const NE: u8 = b'n';
pub(crate) const SHL: u8 = b'L';
pub(crate) const SHR: u8 = b'R';
