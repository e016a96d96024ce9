//! Packets as lines of text: the format of IPSummaryDump.
//!
//! A line has a word a field; `-` is a value that is not there. [`show`] writes them from packets,
//! [`make`] makes packets of them, [`options`] reads and writes IP and TCP options. Source: Click's
//! manual of ToIPSummaryDump. Leaves out: the binary form, MD5 sums, several packets a line.

use super::ElementError;

pub(super) mod make;
mod options;
pub(super) mod show;

macro_rules! fields {
    ($($field:ident $name:literal $(| $other:literal)*),* $(,)?) => {
        /// A field.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) enum Field {
            $(#[doc = $name] $field,)*
        }

        const NAMES: &[(Field, &[&str])] = &[$((Field::$field, &[$name $(, $other)*])),*];
    };
}

fields! {
    Timestamp "timestamp" | "ts" | "utimestamp", FirstTimestamp "first_timestamp", NanoTimestamp "ntimestamp", Seconds "ts_sec" | "sec", Micros "ts_usec" | "usec",
    AllMicros "ts_usec1" | "usec1",
    Source "ip_src" | "src", Destination "ip_dst" | "dst", Tos "ip_tos" | "tos", Dscp "ip_dscp" | "dscp", Ecn "ip_ecn" | "ecn", Ttl "ip_ttl" | "ttl",
    Frag "ip_frag" | "frag", FragOffset "ip_fragoff" | "fragoff", Id "ip_id" | "id", IpSum "ip_sum" | "sum", Protocol "ip_proto" | "ip_p" | "proto",
    HeaderLength "ip_hl" | "hl", Length "ip_len" | "length" | "len", CaptureLength "ip_capture_len", IpOptions "ip_opt" | "opt",
    SourcePort "sport", DestinationPort "dport",
    Seq "tcp_seq" | "tcp_seqno" | "seq", Ack "tcp_ack" | "tcp_ackno" | "ack", Offset "tcp_off" | "off", Flags "tcp_flags" | "flags",
    Window "tcp_window" | "tcp_win" | "window" | "win", Urgent "tcp_urp" | "urp", TcpOptions "tcp_opt", TcpNoTime "tcp_ntopt" | "ntopt", Sack "tcp_sack" | "sack",
    UdpLength "udp_len",
    IcmpType "icmp_type", IcmpCode "icmp_code", IcmpTypeName "icmp_type_name", IcmpCodeName "icmp_code_name", IcmpId "icmp_flowid", IcmpSeq "icmp_seq",
    IcmpMtu "icmp_nextmtu",
    Payload "payload", PayloadLength "payload_len" | "payload_length", PayloadMd5 "payload_md5", PayloadMd5Hex "payload_md5_hex",
    Count "count" | "pkt_count" | "packet_count", Link "link" | "paint", Direction "direction", Aggregate "aggregate" | "agg",
    WireLength "wire_len" | "wire_length", EtherSource "eth_src" | "ether_src", EtherDestination "eth_dst" | "ether_dst", EtherType "eth_type" | "ether_type",
    Nothing "none",
}

impl Field {
    /// The field of that name.
    pub(super) fn find(name: &str) -> Option<Self> {
        let name = name.trim_matches(['"', '\'']).replace(' ', "_");
        NAMES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(field, _)| *field)
    }

    /// Its first name.
    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(field, _)| *field == self).map_or("none", |(_, names)| names[0])
    }
}

/// The fields that a text names; one that is none is [`Field::Nothing`], and told.
pub(super) fn fields(text: &str) -> (Vec<Field>, Result<(), ElementError>) {
    let (mut fields, mut unknown) = (Vec::new(), Ok(()));
    for word in super::text::words(text) {
        let found = Field::find(word);
        if found.is_none() && unknown.is_ok() {
            unknown = Err(ElementError::argument(format!("there is no field '{word}'")));
        }
        fields.push(found.unwrap_or(Field::Nothing));
    }
    (fields, unknown)
}

/// The fields that arguments name; a name that is no field is an error.
pub(super) fn known_fields(text: &str) -> Result<Vec<Field>, ElementError> {
    let (fields, unknown) = fields(text);
    unknown.map(|()| fields)
}

pub(super) use netil::fields::ip_protocol::{ICMP, TCP, UDP};

/// Letters of TCP flags, from the lowest bit.
pub(super) const FLAGS: &str = "FSRPAUECN";

/// ICMP types with names, those of Click's IPNameInfo.
pub(super) const ICMP_TYPES: &[(u8, &str)] = &[
    (0, "echo-reply"),
    (3, "unreachable"),
    (4, "sourcequench"),
    (5, "redirect"),
    (8, "echo"),
    (9, "routeradvert"),
    (10, "routersolicit"),
    (11, "timeexceeded"),
    (12, "parameterproblem"),
    (13, "timestamp"),
    (14, "timestamp-reply"),
    (15, "inforeq"),
    (16, "inforeq-reply"),
    (17, "maskreq"),
    (18, "maskreq-reply"),
];

/// ICMP codes with names, by type.
pub(super) const ICMP_CODES: &[(u8, u8, &str)] = &[
    (3, 0, "net"),
    (3, 1, "host"),
    (3, 2, "protocol"),
    (3, 3, "port"),
    (3, 4, "needfrag"),
    (3, 5, "srcroutefail"),
    (3, 6, "netunknown"),
    (3, 7, "hostunknown"),
    (3, 8, "isolated"),
    (3, 9, "netprohibited"),
    (3, 10, "hostprohibited"),
    (3, 11, "tosnet"),
    (3, 12, "toshost"),
    (3, 13, "filterprohibited"),
    (3, 14, "hostprecedence"),
    (3, 15, "precedencecutoff"),
    (5, 0, "net"),
    (5, 1, "host"),
    (5, 2, "tosnet"),
    (5, 3, "toshost"),
    (11, 0, "transit"),
    (11, 1, "reassembly"),
    (12, 0, "erroratptr"),
    (12, 1, "missingopt"),
    (12, 2, "length"),
];

/// The Internet checksum of bytes, starting from a sum.
pub(super) fn checksum(bytes: &[u8], start: u32) -> u16 {
    let pairs = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)));
    let mut sum = pairs.fold(u64::from(start), |sum, word| sum + u64::from(word));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
