//! The words of IP patterns: what they may stand for.
//!
//! Source: Click's manual of IPClassifier; RFC 791, 792, 793.

use super::formula::Area;
use crate::click::syntax::words::{ICMP_TYPES, PROTOCOLS};
use crate::click::syntax::{ArgumentError, Scope, port};
use netil::fields::{Field, icmp, ip, ip_protocol, tcp};

/// What a pattern's primitive compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Host,
    Net,
    Protocol,
    Port,
    TcpOption,
    Ect,
    Ce,
    Fragment,
    Unfragmented,
    Bits(Bits),
}

/// Some bits of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits {
    /// The header, and the protocol of one behind the IP header, if it is that of one protocol.
    pub(super) area: Area,
    pub(super) protocol: Option<Protocol>,
    /// Bytes before it.
    pub(super) offset: u32,
    /// Bytes that have it.
    pub(super) bytes: u32,
    /// Bits behind it in them.
    pub(super) shift: u32,
    /// How many bits it has.
    pub(super) width: u32,
}

/// An IP protocol, or a set of them that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Number(u8),
    TcpOrUdp,
    /// Any: what is meant is what stands behind the IP header.
    Any,
}

pub(super) const ICMP: Protocol = Protocol::Number(ip_protocol::ICMP);
pub(super) const TCP: Protocol = Protocol::Number(ip_protocol::TCP);
pub(super) const UDP: Protocol = Protocol::Number(ip_protocol::UDP);

impl Bits {
    /// All bits of a field of the IP header, or of that protocol's.
    pub(super) const fn of(field: Field, protocol: Option<Protocol>) -> Self {
        let area = if protocol.is_some() { Area::Transport } else { Area::Ip };
        Self { area, protocol, offset: field.offset, bytes: field.bytes, shift: 0, width: 8 * field.bytes }
    }
}

/// A field of the IP header.
const fn whole(field: Field) -> Kind {
    Kind::Bits(Bits::of(field, None))
}

/// Bits of a field of the IP header.
const fn part(field: Field, shift: u32, width: u32) -> Kind {
    Kind::Bits(Bits { shift, width, ..Bits::of(field, None) })
}

const TYPES: [(&str, Kind); 18] = [
    ("ce", Kind::Ce),
    ("dscp", part(ip::TOS, 2, 6)),
    ("ect", Kind::Ect),
    ("frag", Kind::Fragment),
    ("hl", part(ip::VERSION_IHL, 0, 4)),
    ("host", Kind::Host),
    ("id", whole(ip::ID)),
    ("len", whole(ip::LENGTH)),
    ("net", Kind::Net),
    ("opt", Kind::TcpOption),
    ("port", Kind::Port),
    ("proto", Kind::Protocol),
    ("tos", whole(ip::TOS)),
    ("ttl", whole(ip::TTL)),
    ("type", ICMP_TYPE),
    ("unfrag", Kind::Unfragmented),
    ("vers", part(ip::VERSION_IHL, 4, 4)),
    ("win", Kind::Bits(Bits::of(tcp::WINDOW, Some(TCP)))),
];

pub(super) const ICMP_TYPE: Kind = Kind::Bits(Bits::of(icmp::TYPE, Some(ICMP)));

const OPTIONS: [(&str, u32); 6] = [("fin", 1), ("syn", 2), ("rst", 4), ("psh", 8), ("ack", 16), ("urg", 32)];

fn known<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    table.iter().find(|(name, _)| *name == word).map(|(_, meaning)| *meaning)
}

/// The kind that a word names.
pub(super) fn kind(word: &str) -> Option<Kind> {
    known(&TYPES, word)
}

/// The protocol that a word names.
pub(super) fn protocol(word: &str) -> Option<Protocol> {
    match word {
        "tcpudp" => Some(Protocol::TcpOrUdp),
        "transp" => Some(Protocol::Any),
        _ => known(&PROTOCOLS, word).map(Protocol::Number),
    }
}

/// A value with a name, and the kind that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Protocol(Protocol),
    Value(Kind, u32),
}

/// What a word may stand for as a value: of `kind`, if that is known, in a protocol, if that is
/// known.
pub(super) fn value(word: &str, kind: Option<Kind>, within: Option<Protocol>, names: &Scope<'_>) -> Result<Option<Named>, ArgumentError> {
    let is = |wanted: Kind, protocols: &[Protocol]| {
        kind.is_none_or(|kind| kind == wanted) && within.is_none_or(|within| protocols.contains(&within))
    };
    let any = [
        protocol(word).map(|protocol| (kind.is_none_or(|kind| kind == Kind::Protocol), Named::Protocol(protocol), "proto")),
        port::named(word, names).map(|port| {
            let fits = is(Kind::Port, &[TCP, UDP, Protocol::TcpOrUdp]);
            (fits, Named::Value(Kind::Port, port.into()), "port")
        }),
        known(&OPTIONS, word).map(|bit| (is(Kind::TcpOption, &[TCP, Protocol::TcpOrUdp]), Named::Value(Kind::TcpOption, bit), "tcp opt")),
        known(&ICMP_TYPES, word).map(|number| (is(ICMP_TYPE, &[ICMP]), Named::Value(ICMP_TYPE, number.into()), "icmp type")),
    ];
    let mut any: Vec<_> = any.into_iter().flatten().collect();
    // A service of the machine never stands for something else than before.
    if kind == Some(Kind::Port) && any.iter().all(|(fits, ..)| !fits) {
        any.extend(port::service(word).map(|port| (true, Named::Value(Kind::Port, port.into()), "port")));
    }
    let fitting: Vec<Named> = any.iter().filter(|(fits, ..)| *fits).map(|(_, named, _)| *named).collect();
    match (&fitting[..], &any[..]) {
        ([one], _) => Ok(Some(*one)),
        (_, []) => Ok(None),
        (some, all) => {
            let what = if some.is_empty() { "meaningless" } else { "ambiguous" };
            let say: Vec<String> = all.iter().map(|(_, _, kind)| format!("`{kind} {word}`")).collect();
            Err(ArgumentError::new(format!("`{word}` is {what} here; try {}", say.join(" or "))))
        }
    }
}
