//! Packets of lines of fields.
//!
//! What the line does not say is IPv4, TCP, a time to live of 100, and zeros. Without `checksum`
//! there are no checksums, and a length that goes beyond the payload given counts as not captured.

use super::super::{ElementError, Info, Packet, text};
use super::{FLAGS, Field, ICMP, ICMP_CODES, ICMP_TYPES, TCP, UDP, checksum, options};
use std::net::Ipv4Addr;

/// What lines are read with.
#[derive(Clone, Debug)]
pub(in super::super) struct Reader {
    /// The fields of a line.
    pub fields: Vec<Field>,
    /// Checksums are set, and bytes are there up to the IP length.
    pub checksum: bool,
    /// The protocol where a line does not say.
    pub protocol: u8,
    /// Addresses and ports where a line does not say.
    pub flow: (u32, u16, u32, u16),
    /// The time where a line does not say.
    pub now: u64,
    aggregate: u64,
}

/// The fields of one packet.
#[derive(Default)]
struct Line {
    time: Option<u64>,
    seconds: Option<u64>,
    micros: Option<u64>,
    protocol: Option<u8>,
    source: Option<u32>,
    destination: Option<u32>,
    tos: u8,
    ttl: Option<u8>,
    fragment: u16,
    id: u16,
    sum: Option<u16>,
    length: Option<u32>,
    header: usize,
    ip_options: Vec<u8>,
    sport: Option<u16>,
    dport: Option<u16>,
    seq: u32,
    ack: u32,
    offset: usize,
    flags: u16,
    window: u16,
    urgent: u16,
    tcp_options: Vec<u8>,
    udp_length: Option<u16>,
    icmp: [u16; 2],
    icmp_type: u8,
    icmp_code: u8,
    code_name: Option<String>,
    payload: Vec<u8>,
    payload_length: Option<u32>,
    paint: u64,
    first: Option<u64>,
    aggregate: Option<u64>,
    count: Option<u32>,
}

impl Reader {
    pub(in super::super) fn new(fields: Vec<Field>, checksum: bool, protocol: u8) -> Self {
        Self { fields, checksum, protocol, flow: (0, 0, 0, 0), now: 0, aggregate: 0 }
    }

    /// Takes a line that begins with an exclamation mark: `!data`, `!proto`, `!flowid`,
    /// `!aggregate`.
    ///
    /// # Errors
    /// It says something that cannot be done.
    pub(in super::super) fn direct(&mut self, line: &str) -> Result<(), ElementError> {
        let (word, rest) = text::shift_word(line);
        let words = text::words(rest);
        match word {
            "!data" | "!contents" => {
                let (fields, unknown) = super::fields(rest);
                self.fields = fields;
                return unknown;
            }
            "!proto" => self.protocol = protocol(rest).ok_or_else(|| ElementError::argument(format!("'{rest}' is no protocol")))?,
            "!aggregate" => self.aggregate = number(rest).ok_or("expected a number")?,
            "!binary" => return Err(ElementError::argument("binary dumps cannot be read")),
            "!flowid" => {
                let address = |at: usize| words.get(at).and_then(|word| word.parse::<Ipv4Addr>().ok()).map_or(0, u32::from);
                let port = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
                self.flow = (address(0), port(1), address(2), port(3));
                self.protocol = words.get(4).and_then(|word| protocol(word)).unwrap_or(self.protocol);
            }
            _ => {}
        }
        Ok(())
    }

    /// The packet of a line, how many there are of it, and the first word that cannot be read: such
    /// a field is as if the line did not say it.
    pub(in super::super) fn packet(&self, line: &str, info: &Info) -> (Packet, u32, Result<(), ElementError>) {
        let (mut read, mut wrong) = (Line::default(), Ok(()));
        for (field, word) in self.fields.iter().zip(text::words(line)).filter(|(_, word)| *word != "-") {
            if read.take(*field, word).is_none() && wrong.is_ok() {
                wrong = Err(ElementError::argument(format!("{} cannot be '{word}'", field.name())));
            }
        }
        let count = read.count.unwrap_or(1);
        (read.build(self, info), count, wrong)
    }
}

fn number<T: TryFrom<i64>>(text: &str) -> Option<T> {
    text::integer(text).and_then(|n| T::try_from(n).ok())
}

fn protocol(text: &str) -> Option<u8> {
    match text {
        "T" | "tcp" => Some(TCP),
        "U" | "udp" => Some(UDP),
        "I" | "icmp" => Some(ICMP),
        other => number(other),
    }
}

/// Seconds with a fraction, in nanoseconds.
fn timestamp(text: &str) -> Option<u64> {
    let (seconds, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits: String = part.chars().chain(std::iter::repeat('0')).take(9).collect();
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(digits.parse::<u64>().ok()?)
}

fn address(text: &str) -> Option<u32> {
    text.parse::<Ipv4Addr>().ok().map(u32::from)
}

fn flags(text: &str) -> Option<u16> {
    let bit = |letter: char| match letter {
        'W' | 'Y' => Some(1 << 7),
        'X' => Some(1 << 6),
        letter => FLAGS.find(letter).map(|bit| 1 << bit),
    };
    match text {
        "." => Some(0),
        letters => number(letters).or_else(|| letters.chars().try_fold(0, |sum, letter| Some(sum | bit(letter)?))),
    }
}

impl Line {
    fn take(&mut self, field: Field, word: &str) -> Option<()> {
        match field {
            Field::Timestamp | Field::NanoTimestamp => self.time = Some(timestamp(word)?),
            Field::FirstTimestamp => self.first = Some(timestamp(word)?),
            Field::Seconds => self.seconds = Some(number(word)?),
            Field::Micros => self.micros = Some(number(word)?),
            Field::AllMicros => self.time = Some(number::<u64>(word)?.checked_mul(1000)?),
            Field::Source => self.source = Some(address(word)?),
            Field::Destination => self.destination = Some(address(word)?),
            Field::Protocol => self.protocol = Some(protocol(word)?),
            Field::SourcePort => self.sport = Some(number(word)?),
            Field::DestinationPort => self.dport = Some(number(word)?),
            Field::Payload => self.payload = text::unquote(word),
            Field::PayloadLength => self.payload_length = Some(number(word)?),
            Field::Link => self.paint = number::<u8>(word)?.into(),
            Field::Direction => {
                self.paint = match word {
                    ">" | "L" => 0,
                    "<" | "R" | "X" => 1,
                    other => number::<u8>(other)?.into(),
                }
            }
            Field::Aggregate => self.aggregate = Some(number(word)?),
            Field::Seq | Field::Ack | Field::Offset | Field::Flags | Field::Window | Field::Urgent => self.take_tcp(field, word)?,
            Field::TcpOptions | Field::TcpNoTime | Field::Sack => self.tcp_options = options::read_tcp(word)?,
            Field::UdpLength => self.udp_length = Some(number(word)?),
            Field::IcmpType
            | Field::IcmpTypeName
            | Field::IcmpCode
            | Field::IcmpCodeName
            | Field::IcmpId
            | Field::IcmpSeq
            | Field::IcmpMtu => self.take_icmp(field, word)?,
            Field::Count => self.count = Some(number(word)?),
            Field::CaptureLength | Field::WireLength | Field::EtherSource | Field::EtherDestination | Field::EtherType | Field::Nothing => {
            }
            field => self.take_ip(field, word)?,
        }
        Some(())
    }

    fn take_ip(&mut self, field: Field, word: &str) -> Option<()> {
        match field {
            Field::Tos => self.tos = number(word)?,
            Field::Dscp => self.tos = self.tos & 3 | number::<u8>(word)?.checked_mul(4)?,
            Field::Ecn => {
                let code = ["no", "ect1", "ect2", "ce"].iter().position(|name| *name == word).map(|at| at as u8);
                self.tos = self.tos & !3 | code.or_else(|| number(word))? & 3;
            }
            Field::Ttl => self.ttl = Some(number(word)?),
            Field::Frag => {
                self.fragment = match word {
                    "F" => 0x2000,
                    "f" => 100,
                    "!" => 0x4000,
                    "." => 0,
                    _ => return None,
                }
            }
            Field::FragOffset => {
                let digits = word.trim_end_matches(['+', '!']);
                let offset = number::<u32>(digits).filter(|n| n % 8 == 0 && *n < 65_536)? / 8;
                let bits = u16::from(word.contains('+')) << 13 | u16::from(word.contains('!')) << 14;
                self.fragment = offset as u16 | bits;
            }
            Field::Id => self.id = number(word)?,
            Field::IpSum => self.sum = Some(number(word)?),
            Field::HeaderLength => self.header = number::<u8>(word).filter(|n| (20..=60).contains(n) && n % 4 == 0)?.into(),
            Field::Length => self.length = Some(number::<u32>(word).filter(|n| *n < 65_536)?),
            _ => self.ip_options = options::read_ip(word)?,
        }
        Some(())
    }

    fn take_tcp(&mut self, field: Field, word: &str) -> Option<()> {
        match field {
            Field::Seq => self.seq = number(word)?,
            Field::Ack => self.ack = number(word)?,
            Field::Offset => self.offset = number::<u8>(word).filter(|n| (20..=60).contains(n) && n % 4 == 0)?.into(),
            Field::Flags => self.flags = flags(word)?,
            Field::Window => self.window = number(word)?,
            _ => self.urgent = number(word)?,
        }
        Some(())
    }

    fn take_icmp(&mut self, field: Field, word: &str) -> Option<()> {
        match field {
            Field::IcmpType | Field::IcmpTypeName => {
                let named = ICMP_TYPES.iter().find(|(_, name)| *name == word).map(|(kind, _)| *kind);
                self.icmp_type = named.or_else(|| number(word))?;
            }
            Field::IcmpCode | Field::IcmpCodeName => match number(word) {
                Some(code) => self.icmp_code = code,
                None => self.code_name = Some(word.to_owned()),
            },
            Field::IcmpId => self.icmp[0] = number(word)?,
            _ => self.icmp[1] = number(word)?,
        }
        Some(())
    }

    fn build(self, reader: &Reader, info: &Info) -> Packet {
        let protocol = self.protocol.unwrap_or(reader.protocol);
        let header = self.header.max(20 + self.ip_options.len().next_multiple_of(4)).min(60);
        let mut bytes = vec![0; header];
        if self.fragment & 0x1fff == 0 {
            bytes.extend(self.transport(protocol, reader));
        }
        bytes.extend_from_slice(&self.payload);
        let length = self.total(header, bytes.len());
        bytes.truncate(length);
        if reader.checksum {
            bytes.resize(length, 0);
        }
        self.ip_header(&mut bytes, header, protocol, length, reader);
        self.lengths_and_sums(&mut bytes, header, protocol, length, reader);
        self.packet(&bytes, header, length, reader, info)
    }

    /// The IP length: given, or that of what is there.
    fn total(&self, header: usize, there: usize) -> usize {
        let by_payload = self.payload_length.map(|length| there - self.payload.len() + length as usize);
        let total = self.length.map(|length| length as usize).or(by_payload).unwrap_or(there);
        total.clamp(header, usize::from(u16::MAX))
    }

    fn transport(&self, protocol: u8, reader: &Reader) -> Vec<u8> {
        let ports = [self.sport.unwrap_or(reader.flow.1), self.dport.unwrap_or(reader.flow.3)].map(u16::to_be_bytes).concat();
        match protocol {
            TCP => {
                let offset = self.offset.max(20 + self.tcp_options.len().next_multiple_of(4)).min(60);
                let mut tcp = [ports, self.seq.to_be_bytes().to_vec(), self.ack.to_be_bytes().to_vec()].concat();
                tcp.extend([(offset as u8) << 2 | (self.flags >> 8) as u8 & 1, self.flags as u8]);
                tcp.extend([self.window.to_be_bytes(), [0; 2], self.urgent.to_be_bytes()].concat());
                tcp.extend(self.tcp_options.iter().take(40));
                tcp.resize(offset, 0);
                tcp
            }
            UDP => [ports, vec![0; 4]].concat(),
            ICMP => {
                let named = |name: &String| {
                    ICMP_CODES.iter().find(|(kind, _, known)| *kind == self.icmp_type && known == name).map(|(_, code, _)| *code)
                };
                let code = self.code_name.as_ref().and_then(named).unwrap_or(self.icmp_code);
                [vec![self.icmp_type, code, 0, 0], self.icmp.map(u16::to_be_bytes).concat()].concat()
            }
            _ => Vec::new(),
        }
    }

    fn ip_header(&self, bytes: &mut [u8], header: usize, protocol: u8, length: usize, reader: &Reader) {
        let source = self.source.unwrap_or(reader.flow.0).to_be_bytes();
        let destination = self.destination.unwrap_or(reader.flow.2).to_be_bytes();
        bytes[0] = 0x40 | (header / 4) as u8;
        bytes[1] = self.tos;
        bytes[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        bytes[4..6].copy_from_slice(&self.id.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.fragment.to_be_bytes());
        (bytes[8], bytes[9]) = (self.ttl.unwrap_or(100), protocol);
        bytes[12..16].copy_from_slice(&source);
        bytes[16..20].copy_from_slice(&destination);
        let room = self.ip_options.len().min(header - 20);
        bytes[20..20 + room].copy_from_slice(&self.ip_options[..room]);
    }

    fn lengths_and_sums(&self, bytes: &mut [u8], header: usize, protocol: u8, length: usize, reader: &Reader) {
        let first = self.fragment & 0x1fff == 0;
        if let Some(place) = bytes.get_mut(header + 4..header + 6).filter(|_| protocol == UDP && first) {
            let length = self.udp_length.unwrap_or((length - header) as u16);
            place.copy_from_slice(&length.to_be_bytes());
        }
        if reader.checksum {
            let at = match protocol {
                TCP => 16,
                UDP => 6,
                _ => 2,
            };
            let known = matches!(protocol, TCP | UDP | ICMP) && self.fragment & 0x3fff == 0;
            if known && bytes.len() >= header + at + 2 {
                let pseudo = if protocol == ICMP { 0 } else { pseudo(bytes, protocol, bytes.len() - header) };
                let sum = checksum(&bytes[header..], pseudo).to_be_bytes();
                bytes[header + at..header + at + 2].copy_from_slice(&sum);
            }
        }
        let sum = match self.sum {
            Some(sum) => sum,
            None if reader.checksum => checksum(&bytes[..header], 0),
            None => return,
        };
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    fn packet(&self, bytes: &[u8], header: usize, length: usize, reader: &Reader, info: &Info) -> Packet {
        let parts = self.seconds.map(|s| s.saturating_mul(1_000_000_000).saturating_add(self.micros.unwrap_or(0).saturating_mul(1000)));
        let mut packet = Packet::new(bytes, self.time.or(parts).unwrap_or(reader.now), info);
        packet.buffer.set_wire_len(length as u32);
        packet.link = crate::io::LinkType::RAW;
        packet.mark_headers(info, 0, header);
        let destination = self.destination.unwrap_or(reader.flow.2);
        info.set(&mut packet, "dst_ip", destination.into());
        info.set(&mut packet, "paint", self.paint);
        info.set(&mut packet, "extra_packets", self.count.unwrap_or(1).saturating_sub(1).into());
        info.set(&mut packet, "first_timestamp", self.first.unwrap_or(0));
        info.set(&mut packet, "aggregate", self.aggregate.unwrap_or(reader.aggregate));
        packet
    }
}

/// The sum of the pseudo-header.
fn pseudo(ip: &[u8], protocol: u8, length: usize) -> u32 {
    let words = ip[12..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    words.sum::<u32>() + u32::from(protocol) + length as u32
}
