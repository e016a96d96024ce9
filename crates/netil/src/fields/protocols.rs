//! The table: one row a header, one line a field. Offsets follow from the widths.

use super::{Field, Form, Header, Length, Next};

/// The fields of a header one behind the other, each from where the one before it ends.
macro_rules! places {
    ($at:expr;) => {};
    ($at:expr; $field:ident $name:literal $bytes:literal $form:ident, $($rest:tt)*) => {
        pub const $field: Field = Field { name: $name, offset: $at, bytes: $bytes, form: Form::$form };
        places!($at + $bytes; $($rest)*);
    };
}

/// Modules with a constant for each field, and `HEADER`.
macro_rules! headers {
    ($($(#[$doc:meta])* $module:ident $name:literal ($length:expr, $next:expr) {
        $($field:ident $text:literal $bytes:literal $form:ident,)*
    })*) => {
        $($(#[$doc])*
        #[allow(missing_docs, reason = "names of the standard")]
        pub mod $module {
            use super::*;
            places!(0; $($field $text $bytes $form,)*);
            pub const HEADER: Header = Header { name: $name, fields: &[$($field),*], length: $length, next: $next };
        })*
    };
}

headers! {
    /// Ethernet (IEEE 802.3).
    ethernet "eth" (Length::Fixed, Next::EtherType(TYPE)) {
        DST "dst" 6 Mac,
        SRC "src" 6 Mac,
        TYPE "type" 2 Hex,
    }

    /// A VLAN tag behind its EtherType (IEEE 802.1Q): tag control information, and the EtherType of
    /// what follows.
    vlan "vlan" (Length::Fixed, Next::EtherType(TYPE)) {
        TCI "tci" 2 Number,
        TYPE "type" 2 Hex,
    }

    /// ARP for IPv4 on Ethernet (RFC 826).
    arp "arp" (Length::Fixed, Next::Unknown) {
        HARDWARE "hardware" 2 Number,
        PROTOCOL "protocol" 2 Hex,
        HARDWARE_SIZE "hardware_size" 1 Number,
        PROTOCOL_SIZE "protocol_size" 1 Number,
        OPERATION "operation" 2 Number,
        SENDER_MAC "sender_mac" 6 Mac,
        SENDER_IP "sender_ip" 4 Ip,
        TARGET_MAC "target_mac" 6 Mac,
        TARGET_IP "target_ip" 4 Ip,
    }

    /// IPv4 (RFC 791).
    ip "ip" (Length::Words(VERSION_IHL, 0), Next::IpProtocol(PROTOCOL, Some(FRAGMENT))) {
        VERSION_IHL "version_ihl" 1 Hex,
        TOS "tos" 1 Hex,
        LENGTH "length" 2 Number,
        ID "id" 2 Number,
        FRAGMENT "fragment" 2 Hex,
        TTL "ttl" 1 Number,
        PROTOCOL "protocol" 1 Number,
        CHECKSUM "checksum" 2 Hex,
        SRC "src" 4 Ip,
        DST "dst" 4 Ip,
    }

    /// IPv6 (RFC 8200).
    ip6 "ip6" (Length::Fixed, Next::IpProtocol(NEXT_HEADER, None)) {
        VERSION_CLASS_FLOW "version_class_flow" 4 Hex,
        LENGTH "length" 2 Number,
        NEXT_HEADER "next_header" 1 Number,
        HOP_LIMIT "hop_limit" 1 Number,
        SRC "src" 16 Ip6,
        DST "dst" 16 Ip6,
    }

    /// UDP (RFC 768).
    udp "udp" (Length::Fixed, Next::Unknown) {
        SPORT "sport" 2 Number,
        DPORT "dport" 2 Number,
        LENGTH "length" 2 Number,
        CHECKSUM "checksum" 2 Hex,
    }

    /// TCP (RFC 9293).
    tcp "tcp" (Length::Words(DATA_OFFSET, 4), Next::Unknown) {
        SPORT "sport" 2 Number,
        DPORT "dport" 2 Number,
        SEQ "seq" 4 Number,
        ACK "ack" 4 Number,
        DATA_OFFSET "data_offset" 1 Hex,
        FLAGS "flags" 1 Hex,
        WINDOW "window" 2 Number,
        CHECKSUM "checksum" 2 Hex,
        URGENT "urgent" 2 Number,
    }

    /// ICMP (RFC 792) and ICMPv6 (RFC 4443).
    icmp "icmp" (Length::Fixed, Next::Unknown) {
        TYPE "type" 1 Number,
        CODE "code" 1 Number,
        CHECKSUM "checksum" 2 Hex,
        REST "rest" 4 Hex,
    }
}

/// Fields of ICMP queries, echo and timestamp, in [`REST`](icmp::REST); of `fragmentation needed`
/// the second is the next hop's MTU.
pub mod icmp_query {
    use super::*;
    /// Identifier.
    pub const ID: Field = Field { name: "id", offset: icmp::REST.offset, bytes: 2, form: Form::Number };
    /// Sequence number.
    pub const SEQ: Field = Field { name: "seq", offset: ID.offset + 2, ..ID };
}

/// ICMPv6's header: ICMP's under another name.
pub(super) const ICMP6: Header = Header { name: "icmp6", ..icmp::HEADER };
