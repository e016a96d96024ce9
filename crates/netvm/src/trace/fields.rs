//! What is different between a packet and what became of it, in the names of the protocols'
//! headers.
//!
//! Bytes are compared where they are the same place of the packet, whatever was taken off its head
//! or put before it. Where nothing is known of changed bytes, they are shown by their offset. Names
//! are those of pcap-filter and the RFCs: `eth.dst`, `ip.ttl`, `tcp.sport`.

use super::Change;
use netil::fields::{self, Form, Header, arp, ethernet, ethertype, ip, ip6, vlan};
use netil::module::InfoField;
use runtime::graph::Packet;
use runtime::io::LinkType;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// A packet as it was.
pub(super) struct Snapshot {
    bytes: Vec<u8>,
    info: Vec<u8>,
    time_ns: u64,
    /// Bytes taken off the head minus bytes put before it: the place of the first byte.
    head: i64,
    link: LinkType,
}

impl Snapshot {
    pub(super) fn of(packet: &Packet) -> Self {
        let buffer = &packet.buffer;
        let (bytes, info) = (buffer.bytes().to_vec(), buffer.info.clone());
        Self { bytes, info, time_ns: buffer.time_ns, head: i64::from(buffer.moved() as i32), link: packet.link }
    }

    fn number(&self, field: &InfoField) -> u128 {
        let bytes = self.info.get(field.offset as usize..(field.offset + field.size) as usize).unwrap_or_default();
        bytes.iter().take(16).rev().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
    }

    fn annotation(&self, name: &str, fields: &[InfoField]) -> Option<i64> {
        fields.iter().find(|field| field.name == name).map(|field| i64::from(self.number(field) as u32 as i32))
    }

    /// The bytes of those places.
    fn at(&self, places: Range<i64>) -> Option<&[u8]> {
        let [start, end] = [places.start, places.end].map(|place| usize::try_from(place - self.head).ok());
        self.bytes.get(start?..end?)
    }

    fn end(&self) -> i64 {
        self.head + self.bytes.len() as i64
    }
}

/// A field: its name, its place, how it is written.
type Field = (String, Range<i64>, Form);

/// All that is different.
pub(super) fn differences(before: &Snapshot, after: &Snapshot, fields: &[InfoField]) -> Vec<Change> {
    let mut changes = Vec::new();
    if before.head != after.head {
        changes.push(Change::Head(before.head - after.head));
    }
    if before.end() != after.end() {
        changes.push(Change::Tail(after.end() - before.end()));
    }
    bytes(before, after, fields, &mut changes);
    for field in fields {
        let [was, is] = [before, after].map(|packet| packet.number(field));
        if was != is {
            let [was, is] = [was, is].map(|value| annotation(field, value));
            changes.push(Change::Field { name: field.name.clone(), before: was, after: is });
        }
    }
    if before.time_ns != after.time_ns {
        let [was, is] = [before, after].map(|packet| format!("{}.{:09}", packet.time_ns / 1_000_000_000, packet.time_ns % 1_000_000_000));
        changes.push(Change::Field { name: "time".to_owned(), before: was, after: is });
    }
    changes
}

fn annotation(field: &InfoField, value: u128) -> String {
    match (field.name.as_str(), field.size) {
        ("dst_ip", _) => Ipv4Addr::from(value as u32).to_string(),
        (_, 16) => Ipv6Addr::from(value).to_string(),
        (name, 4) if name.ends_with("_header") => (value as u32 as i32).to_string(),
        _ => value.to_string(),
    }
}

/// Bytes that both have; what was put before the head is shown field by field, too.
fn bytes(before: &Snapshot, after: &Snapshot, fields: &[InfoField], changes: &mut Vec<Change>) {
    let common = before.head.max(after.head)..before.end().min(after.end());
    let differs = |place: &i64| before.at(*place..*place + 1) != after.at(*place..*place + 1);
    let mut places: Vec<i64> = common.filter(differs).collect();
    for (name, range, form) in header_fields(after, fields) {
        let fresh = range.start < before.head && range.start >= after.head;
        if !fresh && !places.iter().any(|place| range.contains(place)) {
            continue;
        }
        let Some(is) = after.at(range.clone()) else { continue };
        let was = before.at(range.clone()).map_or_else(String::new, |bytes| written(bytes, form));
        places.retain(|place| !range.contains(place));
        changes.push(Change::Field { name, before: was, after: written(is, form) });
    }
    for run in runs(&places) {
        let name = match run.end - run.start {
            1 => format!("byte {}", run.start - after.head),
            _ => format!("bytes {}–{}", run.start - after.head, run.end - 1 - after.head),
        };
        let [was, is] = [before, after].map(|packet| packet.at(run.clone()).map_or_else(String::new, |bytes| written(bytes, Form::Hex)));
        changes.push(Change::Field { name, before: was, after: is });
    }
}

/// Neighbours among places, as ranges.
fn runs(places: &[i64]) -> Vec<Range<i64>> {
    let mut runs: Vec<Range<i64>> = Vec::new();
    for place in places {
        match runs.last_mut() {
            Some(run) if run.end == *place => run.end += 1,
            _ => runs.push(*place..*place + 1),
        }
    }
    runs
}

fn written(bytes: &[u8], form: Form) -> String {
    let number = || bytes.iter().take(8).fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
    let hex = |separator: &str| bytes.iter().take(24).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(separator);
    match form {
        Form::Number => number().to_string(),
        Form::Mac => hex(":"),
        Form::Ip => Ipv4Addr::from(number() as u32).to_string(),
        Form::Ip6 => <[u8; 16]>::try_from(bytes).map_or_else(|_| hex(""), |bytes| Ipv6Addr::from(bytes).to_string()),
        Form::Hex if bytes.len() <= 4 => format!("0x{}", hex("")),
        Form::Hex => {
            let mut text = hex(" ");
            if bytes.len() > 24 {
                let _ = write!(text, " … ({} bytes)", bytes.len());
            }
            text
        }
    }
}

/// Header fields of a packet, those that it has whole.
struct Headers<'p> {
    packet: &'p Snapshot,
    fields: Vec<Field>,
}

/// The fields of a packet's headers: from the mark of the network header, if there is one, else
/// from where the link type says.
fn header_fields(packet: &Snapshot, annotations: &[InfoField]) -> Vec<Field> {
    let mut headers = Headers { packet, fields: Vec::new() };
    let marked = packet.annotation("has_network_header", annotations).is_some_and(|has| has & 0xff != 0);
    let network = packet.annotation("network_header", annotations).filter(|_| marked);
    let ethernet = packet.link == LinkType::EN10MB;
    match network {
        // An Ethernet header before it, as far as it is there, with VLAN tags or without.
        Some(at) if ethernet || packet.head < at => {
            headers.ethernet(if ethernet && (14..=22).contains(&at) { 0 } else { at - 14 }, false);
            headers.network(at);
        }
        Some(at) => headers.network(at),
        // The frame began at 0.
        None if ethernet => headers.ethernet(0, true),
        None => headers.network(packet.head),
    }
    headers.fields
}

impl Headers<'_> {
    fn put(&mut self, protocol: &str, field: &fields::Field, header: i64) {
        let start = header + i64::from(field.offset);
        let places = start..start + i64::from(field.bytes);
        if self.packet.at(places.clone()).is_some() {
            self.fields.push((format!("{protocol}.{}", field.name), places, field.form));
        }
    }

    /// What is there of the packet from this place on.
    fn from(&self, start: i64) -> &[u8] {
        usize::try_from(start - self.packet.head).ok().and_then(|at| self.packet.bytes.get(at..)).unwrap_or_default()
    }

    /// A header's fields, and those of the headers behind it.
    fn header(&mut self, header: &Header, start: i64) {
        header.fields.iter().for_each(|field| self.put(header.name, field, start));
        let bytes = self.from(start);
        // One that says that it has less than its fields is damaged: what follows is not known, and
        // may be itself again.
        let len = header.len(bytes).filter(|len| *len >= header.bytes() as usize);
        if let (Some(next), Some(len)) = (header.next.header(bytes), len) {
            self.header(next, start + len as i64);
        }
    }

    /// An Ethernet header. VLAN tags are between its addresses and its EtherType.
    fn ethernet(&mut self, start: i64, goes_on: bool) {
        self.put("eth", &ethernet::DST, start);
        self.put("eth", &ethernet::SRC, start);
        let mut last = start;
        while matches!(self.ethertype(last), ethertype::VLAN | ethertype::VLAN_PROVIDER) {
            self.put("vlan", &fields::Field { name: "tpid", ..ethernet::TYPE }, last);
            self.put("vlan", &fields::Field { offset: ethernet::TYPE.offset + 2, ..vlan::TCI }, last);
            last += i64::from(vlan::HEADER.bytes());
        }
        self.put("eth", &ethernet::TYPE, last);
        let at = last + i64::from(ethernet::HEADER.bytes());
        // The header is off: what follows still is where it was.
        let kind = if at <= self.packet.head { ethertype::IPV4 } else { self.ethertype(last) };
        match kind {
            _ if !goes_on => {}
            ethertype::IPV4 | ethertype::IPV6 => self.network(at),
            ethertype::ARP => self.header(&arp::HEADER, at),
            _ => {}
        }
    }

    /// The EtherType of a header that begins at this place; 0 if it is not there.
    fn ethertype(&self, start: i64) -> u16 {
        let at = start + i64::from(ethernet::TYPE.offset);
        self.packet.at(at..at + 2).map_or(0, |bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn network(&mut self, at: i64) {
        match self.from(at).first().map(|first| first >> 4) {
            Some(4) => self.header(&ip::HEADER, at),
            Some(6) => self.header(&ip6::HEADER, at),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(head: i64, hex: &str) -> Snapshot {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        Snapshot { bytes: digits.chunks(2).map(byte).collect(), info: vec![0; 8], time_ns: 0, head, link: LinkType::EN10MB }
    }

    fn told(before: &Snapshot, after: &Snapshot) -> Vec<String> {
        let fields = [InfoField { name: "paint".to_owned(), offset: 0, size: 1 }];
        let text = |change: Change| match change {
            Change::Field { name, before, after } => format!("{name} {before} > {after}"),
            Change::Head(n) => format!("head {n}"),
            Change::Tail(n) => format!("tail {n}"),
        };
        differences(before, after, &fields).into_iter().map(text).collect()
    }

    const FRAME: &str = "020000000001 020000000002 0800 4500001c 00000000 4011f96e 0a000001 0a000002 00350050 00080000";

    /// A header that says that it is shorter than its fields is followed by nothing that is known.
    #[test]
    fn what_follows_a_damaged_header_has_no_names() {
        let damaged = FRAME.replace("4500001c", "4000001c");
        assert_eq!(told(&packet(0, &damaged), &packet(0, &damaged.replace("00350050", "00350051"))), ["byte 37 0x50 > 0x51"]);
        assert_eq!(told(&packet(0, &damaged), &packet(0, &damaged.replace("4011f96e", "3f11f96e"))), ["ip.ttl 64 > 63"]);
    }

    #[test]
    fn fields_have_their_names() {
        assert_eq!(told(&packet(0, FRAME), &packet(0, FRAME)), [""; 0]);
        let other = FRAME.replace("4011f96e", "3f11fa6e").replace("020000000001", "020000000003");
        let expected = ["eth.dst 02:00:00:00:00:01 > 02:00:00:00:00:03", "ip.ttl 64 > 63", "ip.checksum 0xf96e > 0xfa6e"];
        assert_eq!(told(&packet(0, FRAME), &packet(0, &other)), expected);
        assert_eq!(told(&packet(0, FRAME), &packet(0, &FRAME.replace("00350050", "00350051"))), ["udp.dport 80 > 81"]);
    }

    #[test]
    fn places_stay_when_the_head_moves() {
        let ip = &FRAME.replace(' ', "")[28..];
        assert_eq!(told(&packet(0, FRAME), &packet(14, ip)), ["head -14"]);
        let other = ip.replace("4011f96e", "3f11f96e");
        assert_eq!(told(&packet(14, ip), &packet(14, &other)), ["ip.ttl 64 > 63"]);
        let encapsulated = told(&packet(14, ip), &packet(0, FRAME));
        assert_eq!(encapsulated, ["head 14", "eth.dst  > 02:00:00:00:00:01", "eth.src  > 02:00:00:00:00:02", "eth.type  > 0x0800"]);
    }

    #[test]
    fn what_has_no_name_has_its_place() {
        let (before, mut after) = (packet(0, "0102"), packet(0, "010304"));
        after.info[0] = 7;
        assert_eq!(told(&before, &after), ["tail 1", "byte 1 0x02 > 0x03", "paint 0 > 7"]);
        let long = FRAME.to_owned() + "0000";
        assert_eq!(told(&packet(0, &long), &packet(0, &(FRAME.to_owned() + "0102"))), ["bytes 42–43 0x0000 > 0x0102"]);
    }
}
