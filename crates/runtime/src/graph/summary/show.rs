//! A packet's fields as text.

use super::super::{Info, Packet, text};
use super::{FLAGS, Field, ICMP, ICMP_CODES, ICMP_TYPES, TCP, UDP, options};
use md5::{Digest, Md5};
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

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
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
        let ip = ip.map(|ip| &ip[..ip.len().min(usize::from(be16(ip, 2).unwrap_or(0)))]);
        let first = |ip: &&[u8]| be16(ip, 6).is_some_and(|fragment| fragment & 0x1fff == 0);
        let transport = ip.filter(first).and_then(|ip| ip.get(usize::from(ip[0] & 15) * 4..));
        Self { packet, info, ip, transport }
    }

    fn protocol(&self) -> Option<u8> {
        self.ip.map(|ip| ip[9])
    }

    /// The transport header, if it is that protocol's.
    fn of_protocol(&self, protocol: u8) -> Option<&'p [u8]> {
        self.transport.filter(|_| self.protocol() == Some(protocol))
    }

    /// Bytes of headers before the payload.
    fn headers(&self) -> Option<usize> {
        let ip = self.ip?;
        let inner = match (self.protocol(), self.transport) {
            (Some(TCP), Some(tcp)) => usize::from(tcp.get(12)? >> 4) * 4,
            (Some(UDP), Some(_)) => 8,
            _ => 0,
        };
        Some(usize::from(ip[0] & 15) * 4 + inner)
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
            Field::UdpLength => be16(self.of_protocol(UDP)?, 4).map(|n| n.to_string()),
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
            Field::EtherDestination => mac(&ether[..6]),
            Field::EtherSource => mac(&ether[6..12]),
            _ => format!("{:04X}", be16(&ether, 12)?),
        })
    }

    fn ip_field(&self, field: Field) -> Option<String> {
        let ip = self.ip?;
        let fragment = be16(ip, 6)?;
        Some(match field {
            Field::Source => Ipv4Addr::from(be32(ip, 12)?).to_string(),
            Field::Destination => Ipv4Addr::from(be32(ip, 16)?).to_string(),
            Field::Tos => ip[1].to_string(),
            Field::Dscp => (ip[1] >> 2).to_string(),
            Field::Ecn => ["no", "ect1", "ect2", "ce"][usize::from(ip[1] & 3)].to_owned(),
            Field::Ttl => ip[8].to_string(),
            Field::Frag => fragment_letter(fragment).to_owned(),
            Field::FragOffset => {
                let mark = [(0x2000, "+"), (0x4000, "!")].map(|(bit, mark)| if fragment & bit != 0 { mark } else { "" });
                format!("{}{}{}", u32::from(fragment & 0x1fff) * 8, mark[0], mark[1])
            }
            Field::Id => be16(ip, 4)?.to_string(),
            Field::IpSum => be16(ip, 10)?.to_string(),
            Field::Protocol => match ip[9] {
                ICMP => "I".to_owned(),
                TCP => "T".to_owned(),
                UDP => "U".to_owned(),
                other => other.to_string(),
            },
            Field::HeaderLength => (u32::from(ip[0] & 15) * 4).to_string(),
            Field::Length => be16(ip, 2)?.to_string(),
            Field::CaptureLength => ip.len().to_string(),
            _ => options::show_ip(ip.get(20..usize::from(ip[0] & 15) * 4)?),
        })
    }

    fn port(&self, field: Field) -> Option<String> {
        let transport = self.of_protocol(TCP).or_else(|| self.of_protocol(UDP))?;
        be16(transport, if field == Field::SourcePort { 0 } else { 2 }).map(|port| port.to_string())
    }

    fn tcp(&self, field: Field) -> Option<String> {
        let tcp = self.of_protocol(TCP)?;
        Some(match field {
            Field::Seq => be32(tcp, 4)?.to_string(),
            Field::Ack => be32(tcp, 8)?.to_string(),
            Field::Offset => (tcp.get(12)? / 16 * 4).to_string(),
            Field::Flags => flags(u16::from(tcp.get(12)? & 1) << 8 | u16::from(*tcp.get(13)?)),
            Field::Window => be16(tcp, 14)?.to_string(),
            _ => be16(tcp, 18)?.to_string(),
        })
    }

    fn tcp_options(&self, field: Field) -> Option<String> {
        let tcp = self.of_protocol(TCP)?;
        let bytes = tcp.get(20..usize::from(tcp.get(12)? >> 4) * 4)?;
        Some(options::show_tcp(bytes, field))
    }

    fn icmp(&self, field: Field) -> Option<String> {
        let icmp = self.of_protocol(ICMP)?;
        let (kind, code) = (*icmp.first()?, *icmp.get(1)?);
        let has_id = matches!(kind, 0 | 8 | 13..=18);
        let named = |name: Option<&str>, number: u8| name.map_or_else(|| number.to_string(), str::to_owned);
        match field {
            Field::IcmpType => Some(kind.to_string()),
            Field::IcmpCode => Some(code.to_string()),
            Field::IcmpTypeName => Some(named(ICMP_TYPES.iter().find(|(known, _)| *known == kind).map(|(_, name)| *name), kind)),
            Field::IcmpCodeName => {
                Some(named(ICMP_CODES.iter().find(|(k, c, _)| (*k, *c) == (kind, code)).map(|(_, _, name)| *name), code))
            }
            Field::IcmpMtu => be16(icmp, 6).filter(|_| (kind, code) == (3, 4)).map(|n| n.to_string()),
            _ if !has_id => None,
            Field::IcmpId => be16(icmp, 4).map(|n| n.to_string()),
            _ => be16(icmp, 6).map(|n| n.to_string()),
        }
    }

    fn payload(&self, field: Field) -> Option<String> {
        let (bytes, total) = match self.ip {
            Some(ip) => {
                let headers = self.headers()?;
                (ip.get(headers..).unwrap_or_default(), usize::from(be16(ip, 2)?).saturating_sub(headers))
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

/// Bytes as letters of six bits each, the lowest bits of the first byte first, as Click writes digests.
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
    let header = usize::from(bytes.first().copied().unwrap_or(0) & 15) * 4;
    bytes.len() >= 20 && bytes[0] >> 4 == 4 && header >= 20 && be16(bytes, 2).is_some_and(|length| usize::from(length) >= header)
}

fn fragment_letter(fragment: u16) -> &'static str {
    match fragment {
        f if f & 0x1fff != 0 => "f",
        f if f & 0x2000 != 0 => "F",
        f if f & 0x4000 != 0 => "!",
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
