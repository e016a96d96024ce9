//! A packet's fields as text.

use super::super::{Info, Packet, text};
use super::{FLAGS, Field, ICMP, ICMP_CODES, ICMP_TYPES, TCP, UDP, options};
use md5::{Digest, Md5};
use netil::fields::{ethernet, fragment, icmp, icmp_query, ip, tcp, udp};
use std::fmt::Write as _;
use std::net::Ipv4Addr;

/// A packet with its headers found, as far as they are whole.
struct View<'p> {
    packet: &'p Packet,
    info: &'p Info,
    /// From the IP header to the end of what was captured or of the IP packet.
    ip: Option<&'p [u8]>,
    /// Behind the IP header, in packets that are no later fragment.
    transport: Option<&'p [u8]>,
}

/// A line of those fields, with a line feed.
pub(in super::super) fn line(fields: &[Field], packet: &Packet, info: &Info) -> String {
    let view = View::of(packet, info);
    let words: Vec<_> = fields.iter().map(|field| view.field(*field).unwrap_or_else(|| "-".to_owned())).collect();
    words.join(" ") + "\n"
}

impl<'p> View<'p> {
    fn of(packet: &'p Packet, info: &'p Info) -> Self {
        let bytes = packet.buffer.bytes();
        let at = packet.header(info, "network_header", "has_network_header").unwrap_or(if info.has("has_network_header") {
            usize::MAX
        } else {
            0
        });
        let ip = bytes.get(at..).filter(|ip| is_ip(ip));
        let ip = ip.map(|ip| &ip[..ip.len().min(usize::from(ip::LENGTH.half(ip).unwrap_or(0)))]);
        let first = |ip: &&[u8]| ip::FRAGMENT.half(ip).is_some_and(|fragment| fragment & fragment::OFFSET == 0);
        let transport = ip.filter(first).and_then(|ip| ip.get(ip::HEADER.len(ip)?..));
        Self { packet, info, ip, transport }
    }

    fn protocol(&self) -> Option<u8> {
        self.ip.and_then(|ip| ip::PROTOCOL.byte(ip))
    }

    /// The transport header, if it is that protocol's.
    fn of_protocol(&self, protocol: u8) -> Option<&'p [u8]> {
        self.transport.filter(|_| self.protocol() == Some(protocol))
    }

    /// Bytes of headers before the payload.
    fn headers(&self) -> Option<usize> {
        let ip = self.ip?;
        let inner = match (self.protocol(), self.transport) {
            (Some(TCP), Some(tcp)) => tcp::HEADER.len(tcp)?,
            (Some(UDP), Some(_)) => udp::HEADER.bytes() as usize,
            _ => 0,
        };
        Some(ip::HEADER.len(ip)? + inner)
    }

    fn field(&self, field: Field) -> Option<String> {
        match field {
            Field::Timestamp | Field::FirstTimestamp | Field::NanoTimestamp | Field::Seconds | Field::Micros | Field::AllMicros => {
                Some(self.time(field))
            }
            Field::Count | Field::Link | Field::Direction | Field::Aggregate | Field::WireLength => Some(self.annotation(field)),
            Field::EtherSource | Field::EtherDestination | Field::EtherType => self.ether(field),
            Field::SourcePort | Field::DestinationPort => self.port(field),
            Field::Seq | Field::Ack | Field::Offset | Field::Flags | Field::Window | Field::Urgent => self.tcp(field),
            Field::TcpOptions | Field::TcpNoTime | Field::Sack => self.tcp_options(field),
            Field::UdpLength => udp::LENGTH.half(self.of_protocol(UDP)?).map(|n| n.to_string()),
            Field::IcmpType
            | Field::IcmpCode
            | Field::IcmpTypeName
            | Field::IcmpCodeName
            | Field::IcmpId
            | Field::IcmpSeq
            | Field::IcmpMtu => self.icmp(field),
            Field::Payload | Field::PayloadLength | Field::PayloadMd5 | Field::PayloadMd5Hex => self.payload(field),
            Field::Nothing => None,
            field => self.ip_field(field),
        }
    }

    fn time(&self, field: Field) -> String {
        let first = field == Field::FirstTimestamp;
        let time = if first { self.info.get(self.packet, "first_timestamp") } else { self.packet.buffer.time_ns };
        let (seconds, micros) = (time / 1_000_000_000, time % 1_000_000_000 / 1000);
        match field {
            Field::Timestamp | Field::FirstTimestamp => format!("{seconds}.{micros:06}"),
            Field::NanoTimestamp => format!("{seconds}.{:09}", time % 1_000_000_000),
            Field::Seconds => seconds.to_string(),
            Field::Micros => micros.to_string(),
            _ => (time / 1000).to_string(),
        }
    }

    fn annotation(&self, field: Field) -> String {
        let paint = self.info.get(self.packet, "paint");
        match (field, paint) {
            (Field::Direction, 0) => ">".to_owned(),
            (Field::Direction, 1) => "<".to_owned(),
            (Field::Direction | Field::Link, paint) => paint.to_string(),
            (Field::Aggregate, _) => self.info.get(self.packet, "aggregate").to_string(),
            (Field::WireLength, _) => self.packet.wire_len().to_string(),
            _ => (self.info.get(self.packet, "extra_packets") + 1).to_string(),
        }
    }

    fn ether(&self, field: Field) -> Option<String> {
        let ether = self.packet.ether_header(self.info)?;
        let mac = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join("-");
        Some(match field {
            Field::EtherDestination => mac(ethernet::DST.of(&ether)?),
            Field::EtherSource => mac(ethernet::SRC.of(&ether)?),
            _ => format!("{:04X}", ethernet::TYPE.half(&ether)?),
        })
    }

    fn ip_field(&self, field: Field) -> Option<String> {
        let ip = self.ip?;
        let (tos, fragment) = (ip::TOS.byte(ip)?, ip::FRAGMENT.half(ip)?);
        Some(match field {
            Field::Source => Ipv4Addr::from(ip::SRC.word(ip)?).to_string(),
            Field::Destination => Ipv4Addr::from(ip::DST.word(ip)?).to_string(),
            Field::Tos => tos.to_string(),
            Field::Dscp => (tos >> 2).to_string(),
            Field::Ecn => ["no", "ect1", "ect2", "ce"][usize::from(tos & 3)].to_owned(),
            Field::Ttl => ip::TTL.byte(ip)?.to_string(),
            Field::Frag => fragment_letter(fragment).to_owned(),
            Field::FragOffset => {
                let mark = [(fragment::MORE, "+"), (fragment::DONT, "!")].map(|(bit, mark)| if fragment & bit != 0 { mark } else { "" });
                format!("{}{}{}", u32::from(fragment & fragment::OFFSET) * 8, mark[0], mark[1])
            }
            Field::Id => ip::ID.half(ip)?.to_string(),
            Field::IpSum => ip::CHECKSUM.half(ip)?.to_string(),
            Field::Protocol => match ip::PROTOCOL.byte(ip)? {
                ICMP => "I".to_owned(),
                TCP => "T".to_owned(),
                UDP => "U".to_owned(),
                other => other.to_string(),
            },
            Field::HeaderLength => ip::HEADER.len(ip)?.to_string(),
            Field::Length => ip::LENGTH.half(ip)?.to_string(),
            Field::CaptureLength => ip.len().to_string(),
            _ => options::show_ip(ip.get(ip::HEADER.bytes() as usize..ip::HEADER.len(ip)?)?),
        })
    }

    fn port(&self, field: Field) -> Option<String> {
        let transport = self.of_protocol(TCP).or_else(|| self.of_protocol(UDP))?;
        if field == Field::SourcePort { udp::SPORT } else { udp::DPORT }.half(transport).map(|port| port.to_string())
    }

    fn tcp(&self, field: Field) -> Option<String> {
        let tcp = self.of_protocol(TCP)?;
        Some(match field {
            Field::Seq => tcp::SEQ.word(tcp)?.to_string(),
            Field::Ack => tcp::ACK.word(tcp)?.to_string(),
            Field::Offset => tcp::HEADER.len(tcp)?.to_string(),
            Field::Flags => flags(u16::from(tcp::DATA_OFFSET.byte(tcp)? & 1) << 8 | u16::from(tcp::FLAGS.byte(tcp)?)),
            Field::Window => tcp::WINDOW.half(tcp)?.to_string(),
            _ => tcp::URGENT.half(tcp)?.to_string(),
        })
    }

    fn tcp_options(&self, field: Field) -> Option<String> {
        let tcp = self.of_protocol(TCP)?;
        let bytes = tcp.get(tcp::HEADER.bytes() as usize..tcp::HEADER.len(tcp)?)?;
        Some(options::show_tcp(bytes, field))
    }

    fn icmp(&self, field: Field) -> Option<String> {
        let icmp = self.of_protocol(ICMP)?;
        let (kind, code) = (icmp::TYPE.byte(icmp)?, icmp::CODE.byte(icmp)?);
        let has_id = matches!(kind, 0 | 8 | 13..=18);
        let named = |name: Option<&str>, number: u8| name.map_or_else(|| number.to_string(), str::to_owned);
        match field {
            Field::IcmpType => Some(kind.to_string()),
            Field::IcmpCode => Some(code.to_string()),
            Field::IcmpTypeName => Some(named(ICMP_TYPES.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name), kind)),
            Field::IcmpCodeName => {
                Some(named(ICMP_CODES.iter().find(|(k, c, _)| (*k, *c) == (kind, code)).map(|(_, _, name)| *name), code))
            }
            Field::IcmpMtu => icmp_query::SEQ.half(icmp).filter(|_| (kind, code) == (3, 4)).map(|n| n.to_string()),
            _ if !has_id => None,
            Field::IcmpId => icmp_query::ID.half(icmp).map(|n| n.to_string()),
            _ => icmp_query::SEQ.half(icmp).map(|n| n.to_string()),
        }
    }

    fn payload(&self, field: Field) -> Option<String> {
        let (bytes, total) = match self.ip {
            Some(ip) => {
                let headers = self.headers()?;
                (ip.get(headers..).unwrap_or_default(), usize::from(ip::LENGTH.half(ip)?).saturating_sub(headers))
            }
            None => (self.packet.buffer.bytes(), self.packet.wire_len() as usize),
        };
        Some(match field {
            Field::Payload => text::quoted(bytes),
            Field::PayloadMd5 => in_letters(&Md5::digest(bytes)),
            Field::PayloadMd5Hex => Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect(),
            _ => total.to_string(),
        })
    }
}

/// Bytes as letters of six bits each, the lowest bits of the first byte first, as Click writes
/// digests.
fn in_letters(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@";
    let (mut letters, mut bits, mut held) = (String::new(), 0u32, 0);
    for byte in bytes {
        bits |= u32::from(*byte) << held;
        held += 8;
        while held >= 6 {
            letters.push(LETTERS[(bits & 63) as usize].into());
            (bits, held) = (bits >> 6, held - 6);
        }
    }
    if held > 0 {
        letters.push(LETTERS[(bits & 63) as usize].into());
    }
    letters
}

/// Whether bytes begin with a whole IPv4 header.
fn is_ip(bytes: &[u8]) -> bool {
    let (header, least) = (ip::HEADER.len(bytes).unwrap_or(0), ip::HEADER.bytes() as usize);
    bytes.len() >= least
        && bytes[0] >> 4 == 4
        && header >= least
        && ip::LENGTH.half(bytes).is_some_and(|length| usize::from(length) >= header)
}

fn fragment_letter(fragment: u16) -> &'static str {
    match fragment {
        f if f & fragment::OFFSET != 0 => "f",
        f if f & fragment::MORE != 0 => "F",
        f if f & fragment::DONT != 0 => "!",
        _ => ".",
    }
}

fn flags(value: u16) -> String {
    let mut text = String::new();
    for (bit, letter) in FLAGS.chars().enumerate().filter(|(bit, _)| value >> bit & 1 == 1) {
        let _ = (bit, write!(text, "{letter}"));
    }
    if text.is_empty() { ".".to_owned() } else { text }
}
