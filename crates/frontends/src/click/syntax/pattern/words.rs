//! The words of IP patterns: what they may stand for.
//!
//! Source: Click's manual of IPClassifier; RFC 791, 792, 793.

use super::formula::Area;
use crate::click::syntax::words::{ICMP_TYPES, PROTOCOLS};
use crate::click::syntax::{Scope, port};

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

pub(super) const ICMP: Protocol = Protocol::Number(1);
pub(super) const TCP: Protocol = Protocol::Number(6);
pub(super) const UDP: Protocol = Protocol::Number(17);

/// A field of the IP header.
const fn ip(offset: u32, bytes: u32, shift: u32, width: u32) -> Kind {
    Kind::Bits(Bits { area: Area::Ip, protocol: None, offset, bytes, shift, width })
}

const TYPES: [(&str, Kind); 18] = [
    ("ce", Kind::Ce),
    ("dscp", ip(1, 1, 2, 6)),
    ("ect", Kind::Ect),
    ("frag", Kind::Fragment),
    ("hl", ip(0, 1, 0, 4)),
    ("host", Kind::Host),
    ("id", ip(4, 2, 0, 16)),
    ("len", ip(2, 2, 0, 16)),
    ("net", Kind::Net),
    ("opt", Kind::TcpOption),
    ("port", Kind::Port),
    ("proto", Kind::Protocol),
    ("tos", ip(1, 1, 0, 8)),
    ("ttl", ip(8, 1, 0, 8)),
    ("type", ICMP_TYPE),
    ("unfrag", Kind::Unfragmented),
    ("vers", ip(0, 1, 4, 4)),
    ("win", Kind::Bits(Bits { area: Area::Transport, protocol: Some(TCP), offset: 14, bytes: 2, shift: 0, width: 16 })),
];

pub(super) const ICMP_TYPE: Kind =
    Kind::Bits(Bits { area: Area::Transport, protocol: Some(ICMP), offset: 0, bytes: 1, shift: 0, width: 8 });

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

/// What a word may stand for as a value: of `kind`, if that is known, in a protocol, if that is known.
pub(super) fn value(word: &str, kind: Option<Kind>, within: Option<Protocol>, names: &Scope<'_>) -> Result<Option<Named>, String> {
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
            Err(format!("`{word}` is {what} here; try {}", say.join(" or ")))
        }
    }
}
