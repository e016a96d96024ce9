//! Packets as people write them, one layer behind the other:
//! `eth DST SRC / ip SRC DST ttl=1 / udp 1000 53 / data 20`.
//!
//! ```text
//! eth DST SRC [TYPE]               the type follows from the next layer
//! arp request|reply MAC IP MAC IP  sender, target
//! ip SRC DST [ttl= id= tos= proto= off= opts=HEX df mf len= sum=]     off counts bytes
//! ip6 SRC DST [hlim= next=]
//! udp SPORT DPORT [len= sum=]      sum=0: no checksum
//! tcp SPORT DPORT [seq= ack= flags=SAFRP win= sum=]
//! icmp TYPE CODE [rest=HEX sum=]   rest: the second four bytes
//! icmp6 TYPE CODE [rest=HEX sum=]
//! data N | hex HEX | zero N        N bytes that count up; those bytes, spaces between them or not; N zeros
//! part FROM N                      of all that follows only those bytes
//! ```
//!
//! Lengths and checksums are right where nothing else is said. All of it is computed here, from the
//! RFCs and by nothing that the applications use, so that a packet that comes out as written has
//! right checksums.

use crate::scripts::ScriptError;
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The most bytes that a layer is told to have.
const LONGEST: usize = 1 << 20;

/// The packet's bytes.
///
/// # Errors
/// The layer that cannot be made.
pub fn build(text: &str) -> Result<Vec<u8>, ScriptError> {
    let layers: Vec<Layer<'_>> = text.split(" / ").map(Layer::of).collect();
    from(&layers, 0)
}

/// The bytes of the layers from `n` on.
fn from(layers: &[Layer<'_>], n: usize) -> Result<Vec<u8>, ScriptError> {
    let Some(layer) = layers.get(n) else { return Ok(Vec::new()) };
    let payload = from(layers, n + 1)?;
    let next = layers.get(n + 1).map_or("", |next| next.kind);
    let below = layers[..n].iter().rev().find(|layer| ["ip", "ip6"].contains(&layer.kind));
    let built = match layer.kind {
        _ if !layer.says_only_what_it_has() => None,
        "eth" => layer.eth(next, payload),
        "arp" => layer.arp(payload),
        "ip" => layer.ip(layers.get(n + 1..).unwrap_or_default(), payload),
        "ip6" => layer.ip6(next, payload),
        "udp" => layer.udp(below, payload),
        "tcp" => layer.tcp(below, payload),
        "icmp" => layer.icmp(None, payload),
        "icmp6" => layer.icmp(below, payload),
        "data" => layer.count().map(|n| [(0..n).map(|i| i as u8).collect(), payload].concat()),
        "zero" => layer.count().map(|n| [vec![0; n], payload].concat()),
        "hex" => hex(&layer.words.concat()).map(|bytes| [bytes, payload].concat()),
        "part" => layer.part(&payload),
        _ => None,
    };
    built.ok_or_else(|| ScriptError::new(format!("cannot make a packet of `{}`", layer.text)))
}

struct Layer<'a> {
    text: &'a str,
    kind: &'a str,
    words: Vec<&'a str>,
    flags: Vec<&'a str>,
    fields: HashMap<&'a str, &'a str>,
}

impl<'a> Layer<'a> {
    fn of(text: &'a str) -> Self {
        let mut all = text.split_whitespace();
        let kind = all.next().unwrap_or("");
        let (fields, rest): (Vec<_>, Vec<_>) = all.partition(|word| word.contains('='));
        let (flags, words) = rest.into_iter().partition(|word| ["df", "mf"].contains(word));
        Self { text, kind, words, flags, fields: fields.into_iter().filter_map(|field| field.split_once('=')).collect() }
    }

    /// Whether all its fields and flags are those of its kind, and there are no more words.
    fn says_only_what_it_has(&self) -> bool {
        let (words, fields): (usize, &[&str]) = match self.kind {
            "eth" => (3, &[]),
            "arp" => (5, &[]),
            "ip" => (2, &["ttl", "id", "tos", "proto", "off", "opts", "len", "sum"]),
            "ip6" => (2, &["hlim", "next"]),
            "udp" => (2, &["len", "sum"]),
            "tcp" => (2, &["seq", "ack", "flags", "win", "sum"]),
            "icmp" | "icmp6" => (2, &["rest", "sum"]),
            "hex" => (usize::MAX, &[]),
            _ => (2, &[]),
        };
        self.words.len() <= words && self.fields.keys().all(|field| fields.contains(field)) && (self.flags.is_empty() || self.kind == "ip")
    }

    fn word<T: FromStr>(&self, n: usize) -> Option<T> {
        self.words.get(n)?.parse().ok()
    }

    /// A number of bytes.
    fn count(&self) -> Option<usize> {
        self.word(0).filter(|n| *n <= LONGEST)
    }

    fn field<T: FromStr>(&self, name: &str, usual: T) -> Option<T> {
        self.fields.get(name).map_or(Some(usual), |text| text.parse().ok())
    }

    /// A checksum or what was said to be one.
    fn sum(&self, right: u16) -> Option<u16> {
        self.fields.get("sum").map_or(Some(right), |text| u16::from_str_radix(text, 16).ok())
    }

    fn eth(&self, next: &str, payload: Vec<u8>) -> Option<Vec<u8>> {
        let ethertype = match next {
            "ip6" => 0x86dd,
            "arp" => 0x0806,
            _ => 0x0800_u16,
        };
        let ethertype = self.words.get(2).map_or(Some(ethertype), |text| u16::from_str_radix(text, 16).ok())?;
        Some([mac(self.words.first()?)?, mac(self.words.get(1)?)?, ethertype.to_be_bytes().to_vec(), payload].concat())
    }

    fn arp(&self, payload: Vec<u8>) -> Option<Vec<u8>> {
        let operation = if *self.words.first()? == "reply" { 2 } else { 1 };
        let ip = |n| self.word::<Ipv4Addr>(n).map(|ip| ip.octets().to_vec());
        let parts = [mac(self.words.get(1)?)?, ip(2)?, mac(self.words.get(3)?)?, ip(4)?, payload];
        Some([vec![0, 1, 8, 0, 6, 4, 0, operation], parts.concat()].concat())
    }

    fn ip(&self, inner: &[Layer<'_>], payload: Vec<u8>) -> Option<Vec<u8>> {
        let options = hex(self.fields.get("opts").unwrap_or(&""))?;
        let length = self.field("len", (20 + options.len() + payload.len()) as u16)?;
        let flag = |name| u16::from(self.flags.contains(&name));
        let fragment = flag("df") << 14 | flag("mf") << 13 | (self.field("off", 0u16)? / 8);
        let inner = inner.iter().map(|layer| layer.kind).find(|kind| *kind != "part").unwrap_or("");
        let protocol = self.field("proto", protocol(inner))?;
        let first = 0x45_u8.wrapping_add((options.len() / 4) as u8);
        let mut header = vec![first, self.field("tos", 0)?];
        header.extend([length, self.field("id", 0)?, fragment].map(u16::to_be_bytes).concat());
        header.extend([self.field("ttl", 64)?, protocol, 0, 0]);
        header.extend([self.word::<Ipv4Addr>(0)?.octets(), self.word::<Ipv4Addr>(1)?.octets()].concat());
        header.extend(options);
        let sum = self.sum(checksum(&header))?;
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        Some([header, payload].concat())
    }

    fn ip6(&self, next: &str, payload: Vec<u8>) -> Option<Vec<u8>> {
        let mut header = vec![0x60, 0, 0, 0];
        header.extend((payload.len() as u16).to_be_bytes());
        header.extend([self.field("next", protocol(next))?, self.field("hlim", 64)?]);
        header.extend([self.word::<Ipv6Addr>(0)?.octets(), self.word::<Ipv6Addr>(1)?.octets()].concat());
        Some([header, payload].concat())
    }

    /// Addresses, protocol and length, as checksums of TCP, UDP and ICMPv6 cover them.
    fn pseudo(&self, protocol: u8, length: usize) -> Option<Vec<u8>> {
        let tail = [(length as u32).to_be_bytes().to_vec(), vec![0, 0, 0, protocol]].concat();
        let addresses = match self.kind {
            "ip6" => [self.word::<Ipv6Addr>(0)?.octets(), self.word::<Ipv6Addr>(1)?.octets()].concat(),
            _ => [self.word::<Ipv4Addr>(0)?.octets(), self.word::<Ipv4Addr>(1)?.octets()].concat(),
        };
        Some([addresses, tail].concat())
    }

    /// The segment with its checksum at `at`.
    fn summed(&self, below: Option<&Layer<'_>>, protocol: u8, at: usize, mut segment: Vec<u8>) -> Option<Vec<u8>> {
        let pseudo = below.map_or(Some(Vec::new()), |below| below.pseudo(protocol, segment.len()))?;
        let right = checksum(&[pseudo, segment.clone()].concat());
        let sum = self.sum(if right == 0 && protocol == 17 { 0xffff } else { right })?;
        segment.get_mut(at..at + 2)?.copy_from_slice(&sum.to_be_bytes());
        Some(segment)
    }

    fn udp(&self, below: Option<&Layer<'_>>, payload: Vec<u8>) -> Option<Vec<u8>> {
        let length = self.field("len", (8 + payload.len()) as u16)?;
        let header = [self.word(0)?, self.word(1)?, length, 0].map(u16::to_be_bytes).concat();
        self.summed(below, 17, 6, [header, payload].concat())
    }

    fn tcp(&self, below: Option<&Layer<'_>>, payload: Vec<u8>) -> Option<Vec<u8>> {
        let mut header = [self.word::<u16>(0)?, self.word(1)?].map(u16::to_be_bytes).concat();
        header.extend([self.field("seq", 0)?, self.field("ack", 0)?].map(u32::to_be_bytes).concat());
        let names = self.fields.get("flags").unwrap_or(&"A");
        let flags = names.chars().try_fold(0u8, |all, name| "FSRPAU".find(name).map(|bit| all | 1 << bit))?;
        header.extend([0x50, flags]);
        header.extend([self.field("win", 1000u16)?, 0, 0].map(u16::to_be_bytes).concat());
        self.summed(below, 6, 16, [header, payload].concat())
    }

    fn icmp(&self, below: Option<&Layer<'_>>, payload: Vec<u8>) -> Option<Vec<u8>> {
        let rest = hex(self.fields.get("rest").unwrap_or(&"00000000"))?;
        let header = [vec![self.word(0)?, self.word(1)?, 0, 0], rest].concat();
        self.summed(below, 58, 2, [header, payload].concat())
    }

    fn part(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let (begin, length): (usize, usize) = (self.word(0)?, self.word(1)?);
        payload.get(begin..payload.len().min(begin.saturating_add(length))).map(<[u8]>::to_vec)
    }
}

fn protocol(kind: &str) -> u8 {
    match kind {
        "icmp" => 1,
        "ip" => 4,
        "tcp" => 6,
        "icmp6" => 58,
        _ => 17,
    }
}

fn mac(text: &str) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = text.split(':').map(|part| u8::from_str_radix(part, 16).ok()).collect::<Option<_>>()?;
    (bytes.len() == 6).then_some(bytes)
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

/// The Internet checksum (RFC 1071).
pub fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u64::from(*low));
    let mut sum: u64 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// What is wrong with an Ethernet frame's checksums: IPv4, and TCP, UDP, ICMP in whole packets.
pub fn wrong_checksum(frame: &[u8]) -> Option<String> {
    if frame.get(12..14) != Some(&[8, 0]) {
        return None;
    }
    wrong_in_ip(frame.get(14..)?)
}

/// What is wrong with an IPv4 packet's checksums: its header's, and those of TCP, UDP, ICMP in
/// whole packets.
pub fn wrong_in_ip(packet: &[u8]) -> Option<String> {
    let header = usize::from(packet.first()? & 15) * 4;
    let length = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let Some(whole) = packet.get(..length).filter(|whole| whole.len() >= header && header >= 20) else {
        return Some("IP length".to_owned());
    };
    if checksum(&whole[..header]) != 0 {
        return Some("IP header checksum".to_owned());
    }
    if u16::from_be_bytes([whole[6], whole[7]]) & 0x3fff != 0 {
        return None;
    }
    let segment = &whole[header..];
    let pseudo = [&whole[12..20], &[0, whole[9]], &(segment.len() as u16).to_be_bytes()].concat();
    let covered = match whole[9] {
        1 => segment.to_vec(),
        6 => [&pseudo, segment].concat(),
        17 if segment.get(6..8) == Some(&[0, 0]) => return None,
        17 => [&pseudo, segment].concat(),
        _ => return None,
    };
    (checksum(&covered) != 0).then(|| format!("checksum of protocol {}", whole[9]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_types_and_checksums_are_right() {
        let frame = build("eth 02:00:00:00:00:01 02:00:00:00:00:02 / ip 10.0.0.1 10.0.0.2 id=1 / udp 1 2 / hex 0102 03").unwrap();
        // The header's sum by hand: 4500 + 001f + 0001 + 0000 + 4011 + 0a00 + 0001 + 0a00 + 0002 =
        // 9934, its complement 66cb.
        assert_eq!(frame[12..26], [8, 0, 0x45, 0, 0, 31, 0, 1, 0, 0, 64, 17, 0x66, 0xcb]);
        assert_eq!((frame.len(), wrong_checksum(&frame)), (45, None));
        let mut damaged = frame;
        damaged[44] ^= 1;
        assert_eq!(wrong_checksum(&damaged), Some("checksum of protocol 17".to_owned()));
        damaged[14 + 8] ^= 1;
        assert_eq!(wrong_checksum(&damaged), Some("IP header checksum".to_owned()));
    }

    #[test]
    fn what_is_no_packet_is_told_and_nothing_overflows() {
        for wrong in [
            "eth 1 2",
            "ip 1.2.3.4",
            "udp 1",
            "data x",
            "data 99999999999",
            "hex 0",
            "hex ä0",
            "part 5 1 / data 2",
            "tcp 1 2 flags=Q",
            "x",
            "udp 1 2 ttl=3",
            "udp 1 2 df",
            "ip 1.1.1.1 2.2.2.2 tll=3",
            "data 1 2 3",
        ] {
            assert!(build(wrong).is_err(), "{wrong}");
        }
        let flags = "A".repeat(300);
        let options = "00".repeat(1200);
        let long = [
            "udp 1 2 / zero 70000".to_owned(),
            "ip 1.1.1.1 2.2.2.2 / zero 70000".to_owned(),
            format!("tcp 1 2 flags={flags}"),
            format!("ip 1.1.1.1 2.2.2.2 opts={options}"),
            "part 0 18446744073709551615 / data 3".to_owned(),
        ];
        long.iter().for_each(|text| assert!(build(text).is_ok(), "{text}"));
    }
}
