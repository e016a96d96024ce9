//! Numbers that have names in some places: protocols, ICMP types and codes, tags and addresses that
//! annotations give, and other words; truth values of which one only can be had.
//!
//! Source: Click's manuals of ICMPError, IPEncap, EtherVLANEncap and Print; RFC 792, 2474, 3168.

use super::{ArgumentError, Reading, address, boolean, integer, number, port};
use crate::c::Value;

pub(super) const PROTOCOLS: [(&str, u8); 8] =
    [("dccp", 33), ("gre", 47), ("icmp", 1), ("igmp", 2), ("ipip", 4), ("sctp", 132), ("tcp", 6), ("udp", 17)];
/// Codes of all types have different names.
const ICMP_CODES: [(&str, u8); 10] = [
    ("erroratptr", 0),
    ("host", 1),
    ("length", 2),
    ("missingopt", 1),
    ("needfrag", 4),
    ("net", 0),
    ("port", 3),
    ("protocol", 2),
    ("reassembly", 1),
    ("transit", 0),
];
pub(super) const ICMP_TYPES: [(&str, u8); 15] = [
    ("echo", 8),
    ("echo-reply", 0),
    ("inforeq", 15),
    ("inforeq-reply", 16),
    ("maskreq", 17),
    ("maskreq-reply", 18),
    ("parameterproblem", 12),
    ("redirect", 5),
    ("routeradvert", 9),
    ("routersolicit", 10),
    ("sourcequench", 4),
    ("timeexceeded", 11),
    ("timestamp", 13),
    ("timestamp-reply", 14),
    ("unreachable", 3),
];

/// How a frame was addressed, by the numbers of the annotation.
const PACKET_TYPES: [(&str, u8); 6] = [("broadcast", 1), ("host", 0), ("loopback", 5), ("multicast", 2), ("otherhost", 3), ("outgoing", 4)];

fn named(table: &[(&str, u8)], text: &str, reading: &Reading<'_>, what: &str) -> Result<Value, ArgumentError> {
    let known = table.iter().find(|(name, _)| *name == text).map(|(_, value)| i128::from(*value));
    let value = known.map_or_else(|| integer::parse(text, 0), Ok).map_err(|_| ArgumentError::new(format!("is not {what}")))?;
    number(value, reading.ty)
}

pub(super) fn read_protocol(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    named(&PROTOCOLS, text, reading, "an IP protocol")
}

pub(super) fn read_icmp_type(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    named(&ICMP_TYPES, text, reading, "an ICMP type")
}

pub(super) fn read_icmp_code(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    named(&ICMP_CODES, text, reading, "an ICMP code")
}

/// A tag, or `ANNO` for that of the annotation, which is -1.
pub(super) fn read_tag(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    if text == "ANNO" {
        return number(-1, reading.ty);
    }
    port::in_range(integer::parse(text, 0).map_err(|_| "is neither a VLAN tag nor ANNO")?).and_then(|tag| number(tag, reading.ty))
}

/// An address, or `DST_ANNO` for that of the annotation, which is 0.0.0.0.
pub(super) fn read_address(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    if text == "DST_ANNO" { number(0, reading.ty) } else { address::read(text, reading) }
}

/// HOST, BROADCAST and so on, in any case.
pub(super) fn read_packet_type(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    let known = PACKET_TYPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    let known = known.ok_or_else(|| {
        let all: Vec<_> = PACKET_TYPES.iter().map(|(name, _)| name.to_ascii_uppercase()).collect();
        format!("is no packet type: there are {}", all.join(", "))
    })?;
    number(i128::from(known.1), reading.ty)
}

/// An IPv6 address, or `DST_ANNO` for that of the annotation, which is ::.
pub(super) fn read_address6(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    if text == "DST_ANNO" { Ok(Value::Bytes(vec![0; 16])) } else { address::read_ip6(text, reading) }
}

/// Where an address is in an Ethernet header, in words, or any offset.
pub(super) fn read_ether_place(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    match text.to_ascii_lowercase().as_str() {
        "dst" => number(0, reading.ty),
        "src" => number(6, reading.ty),
        _ => number(integer::parse(text, 0).map_err(|_| "is neither src nor dst nor an offset")?, reading.ty),
    }
}

/// The class of a packet (RFC 2474).
pub(super) fn read_dscp(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    const MOST: i128 = 63;
    let value = integer::parse(text, 0)?;
    if (0..=MOST).contains(&value) { number(value, reading.ty) } else { Err(ArgumentError::new(format!("is out of range, 0 to {MOST}"))) }
}

/// Whether a transport knows of congestion (RFC 3168): 0 for no, and the two ways of saying so.
pub(super) fn read_ect(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    if text == "2" {
        return number(2, reading.ty);
    }
    boolean::read(text, reading).map_err(|_| ArgumentError::new("is neither true nor false nor 2"))
}

/// How a packet's bytes are shown: not at all, in hexadecimal, or as text.
pub(super) fn read_contents(text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
    match text.to_ascii_uppercase().as_str() {
        "NONE" => number(0, reading.ty),
        "HEX" => number(1, reading.ty),
        "ASCII" => number(2, reading.ty),
        _ => boolean::read(text, reading).map_err(|_| ArgumentError::new("is none of NONE, HEX, ASCII")),
    }
}
