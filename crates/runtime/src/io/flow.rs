//! The flow that a frame belongs to, as far as replicas of a program need it: the two addresses
//! that it is between, or the port of one end.
//!
//! By addresses, an ICMP error belongs to the flow whose packet it quotes, and both directions are
//! one flow. Ports do not count, so that fragments stay together. What has no IP header behind
//! Ethernet and at most two VLAN tags is one flow.
//!
//! By ports ([`port`]), a packet of TCP or UDP belongs to the port of one of its ends, an ICMP
//! query or answer to its identifier, an ICMP error to the port of the other end of the packet that
//! it quotes, which went the other way. Fragments follow their first one ([`Sorter`]). Whatever has
//! no ports goes by addresses.
//!
//! Left out: extension headers of IPv6 before ICMPv6; fragments of ICMP errors, which are taken for
//! packets between their own addresses; ports of other protocols and of IPv6; fragments that come
//! before their first one, which go by addresses.
//!
//! Source: RFC 791, 792, 4443; IEEE 802.1Q.

use super::LinkType;
use netil::app::Toward;
use netil::fields::ip_protocol::{self, ICMP, ICMP6};
use netil::fields::{ethernet, ethertype, fragment, icmp, ip, ip6, udp, vlan};
use std::collections::{HashMap, VecDeque};

const TAGS: [u16; 2] = [ethertype::VLAN, ethertype::VLAN_PROVIDER];
/// TCP and UDP, whose headers begin with ports.
pub(super) const WITH_PORTS: [u8; 2] = [ip_protocol::TCP, ip_protocol::UDP];
/// ICMP messages with an identifier: echo and timestamp, both ways.
pub(super) const QUERIES: [u8; 4] = [0, 8, 13, 14];
/// Datagrams whose first fragment is remembered.
const DATAGRAMS: usize = 8192;

/// Spreads sums over replicas: 2^32 divided by the golden ratio (D. Knuth, The Art of Computer
/// Programming, volume 3, section 6.4).
pub(super) const SPREAD: u32 = 0x9e37_79b1;

/// Which of so many replicas, 2^16 at most, has a frame. A classic BPF program says the same in the
/// kernel ([`crate::io::device`]), which can calculate with 32 bits.
pub(crate) fn replica(link: LinkType, frame: &[u8], replicas: usize) -> usize {
    part(sum(link, frame), replicas)
}

/// Which of so many replicas has a frame by the addresses of its own IP header, whatever it quotes.
pub(crate) fn own_replica(link: LinkType, frame: &[u8], replicas: usize) -> usize {
    part(behind_link(link, frame).and_then(addresses).map_or(0, added), replicas)
}

/// Which of so many replicas has a frame by one address of its own IP header.
pub(crate) fn end_replica(link: LinkType, frame: &[u8], end: Toward, replicas: usize) -> usize {
    let of = |both: &[u8]| match (end, both.split_at(both.len() / 2)) {
        (Toward::Source, (from, _)) => added(from),
        (Toward::Destination, (_, to)) => added(to),
    };
    part(behind_link(link, frame).and_then(addresses).map_or(0, of), replicas)
}

/// Bytes of a frame, or of its IP header and what follows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fields {
    /// They are counted from the IP header on, else from the frame's first byte.
    pub header: bool,
    /// Where they begin.
    pub at: u16,
    /// How many there are.
    pub len: u16,
    /// Where as many others begin; whichever come first, it is the same.
    pub other: Option<u16>,
}

impl Fields {
    /// How many bytes count.
    pub fn bytes(&self) -> u16 {
        self.len * if self.other.is_some() { 2 } else { 1 }
    }
}

/// Which of so many replicas has a frame by bytes at some place; those that it does not have are 0.
pub(crate) fn fields_replica(link: LinkType, frame: &[u8], fields: Fields, replicas: usize) -> usize {
    let from = if fields.header { behind_link(link, frame).unwrap_or_default() } else { frame };
    let byte = |at: usize| from.get(at).map_or(0, |byte| u32::from(*byte));
    let sum = |at: u16| {
        let end = usize::from(at) + usize::from(fields.len);
        let word = |first: usize| (first..end.min(first + 4)).fold(0_u32, |word, at| word << 8 | byte(at)).wrapping_mul(SPREAD);
        (usize::from(at)..end).step_by(4).fold(0_u32, |sum, first| sum.rotate_left(5).wrapping_add(word(first)))
    };
    part(sum(fields.at).wrapping_add(fields.other.map_or(0, sum)), replicas)
}

/// Which of so many replicas has a frame by addresses, protocol and ports, where the packet is
/// whole and has ports, in either order.
pub(crate) fn tuple_replica(link: LinkType, frame: &[u8], replicas: usize) -> usize {
    let Some(ip) = behind_link(link, frame) else { return 0 };
    part(addresses(ip).map_or(0, added).wrapping_add(connection(ip).unwrap_or(0).wrapping_mul(SPREAD)), replicas)
}

/// The ports of a packet that is no fragment, and its protocol; IPv6 without extension headers.
fn connection(ip: &[u8]) -> Option<u32> {
    let (protocol, at) = match ip.first()? >> 4 {
        4 if datagram(ip).is_none() => (ip::PROTOCOL.byte(ip)?, ip::HEADER.len(ip)?),
        6 => (ip6::NEXT_HEADER.byte(ip)?, ip6::HEADER.bytes() as usize),
        _ => return None,
    };
    let ports = if WITH_PORTS.contains(&protocol) { u32::from(word(ip, at)?) + u32::from(word(ip, at + 2)?) } else { 0 };
    Some(ports + (u32::from(protocol) << 20))
}

/// Which of so many replicas has what this number stands for, as `is_own_port` of
/// elements/include/share.h says it as well.
fn part(number: u32, replicas: usize) -> usize {
    let hash = number.wrapping_mul(SPREAD) >> 16;
    ((u64::from(hash) * replicas as u64) >> 16) as usize
}

/// Tells which replica has a frame, in the order in which frames come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorter {
    /// The end whose port counts; none: addresses do.
    toward: Option<Toward>,
    /// The replicas of datagrams in fragments, and which were noted first.
    firsts: HashMap<Datagram, usize>,
    order: VecDeque<Datagram>,
}

/// The fields that all fragments of a datagram have: addresses, identification, protocol.
type Datagram = ([u8; 8], [u8; 2], u8);

impl Sorter {
    pub(crate) fn new(toward: Option<Toward>) -> Self {
        Self { toward, ..Self::default() }
    }

    /// Which of so many replicas has the frame. Fragments behind a datagram's first one, by
    /// themselves, do not tell.
    pub(crate) fn replica(&mut self, link: LinkType, frame: &[u8], replicas: usize) -> usize {
        let Some(toward) = self.toward else { return replica(link, frame, replicas) };
        let Some(ip) = behind_link(link, frame) else { return 0 };
        let fragment = datagram(ip);
        if let Some(known) = fragment.and_then(|(datagram, is_first)| self.firsts.get(&datagram).filter(|_| !is_first)) {
            return *known;
        }
        let found = match port(ip, toward) {
            Some(port) => part(port.into(), replicas),
            None => replica(link, frame, replicas),
        };
        if let Some((datagram, true)) = fragment {
            self.note(datagram, found);
        }
        found
    }

    /// Whether frames before this one may count.
    pub(crate) fn remembers(&self, link: LinkType, frame: &[u8]) -> bool {
        self.toward.is_some() && behind_link(link, frame).and_then(datagram).is_some()
    }

    fn note(&mut self, datagram: Datagram, replica: usize) {
        if self.firsts.insert(datagram, replica).is_none() {
            self.order.push_back(datagram);
        }
        if self.order.len() > DATAGRAMS
            && let Some(oldest) = self.order.pop_front()
        {
            self.firsts.remove(&oldest);
        }
    }
}

/// The datagram of a fragment of IPv4, and whether it is its first one.
fn datagram(ip: &[u8]) -> Option<(Datagram, bool)> {
    let bits = ip::FRAGMENT.half(ip)? & (fragment::MORE | fragment::OFFSET);
    let is_fragment = ip[0] >> 4 == 4 && bits != 0;
    let ends = addresses(ip)?.first_chunk().filter(|_| is_fragment)?;
    let id = *ip::ID.of(ip)?.first_chunk()?;
    Some(((*ends, id, ip::PROTOCOL.byte(ip)?), bits & fragment::OFFSET == 0))
}

/// The port of one end of an IPv4 packet, or what stands for it.
fn port(ip: &[u8], toward: Toward) -> Option<u16> {
    match own_port(ip, toward)? {
        Port::Own(port) => Some(port),
        Port::Quoted(quoted) => match own_port(quoted, other(toward))? {
            Port::Own(port) => Some(port),
            Port::Quoted(_) => None,
        },
    }
}

/// The port of a packet, or the packet in an ICMP error that has it.
enum Port<'p> {
    Own(u16),
    Quoted(&'p [u8]),
}

fn own_port(ip: &[u8], toward: Toward) -> Option<Port<'_>> {
    let is_first = *ip.first()? >> 4 == 4 && ip.len() >= ip::HEADER.bytes() as usize && is_first(ip)?;
    let transport = ip.get(ip::HEADER.len(ip)?..).filter(|_| is_first)?;
    match ip::PROTOCOL.byte(ip)? {
        protocol if WITH_PORTS.contains(&protocol) => {
            let ports: &[u8; 4] = transport.first_chunk()?;
            Some(Port::Own(if toward == Toward::Source { udp::SPORT.half(ports)? } else { udp::DPORT.half(ports)? }))
        }
        ICMP => match *transport.first_chunk::<8>()? {
            [kind, _, _, _, id0, id1, ..] if QUERIES.contains(&kind) => Some(Port::Own(u16::from_be_bytes([id0, id1]))),
            [3 | 4 | 5 | 11 | 12, ..] => Some(Port::Quoted(&transport[8..])),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn other(toward: Toward) -> Toward {
    match toward {
        Toward::Source => Toward::Destination,
        Toward::Destination => Toward::Source,
    }
}

/// The sum of both addresses of a frame's flow, taken as words; 0 for what has none. A sum does not
/// tell which address came first.
pub fn sum(link: LinkType, frame: &[u8]) -> u32 {
    let Some(flow) = behind_link(link, frame).and_then(|ip| addresses(quoted(ip).unwrap_or(ip))) else { return 0 };
    added(flow)
}

fn added(ends: &[u8]) -> u32 {
    ends.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)).fold(0, u32::wrapping_add)
}

fn behind_link(link: LinkType, frame: &[u8]) -> Option<&[u8]> {
    match link {
        LinkType::EN10MB => behind_ethernet(frame),
        LinkType::RAW => Some(frame),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|word| u16::from_be_bytes([word[0], word[1]]))
}

fn behind_ethernet(frame: &[u8]) -> Option<&[u8]> {
    let mut rest = frame;
    for _ in 0..2 {
        if TAGS.contains(&ethernet::TYPE.half(rest)?) {
            rest = &rest[vlan::HEADER.bytes() as usize..];
        }
    }
    matches!(ethernet::TYPE.half(rest)?, ethertype::IPV4 | ethertype::IPV6).then(|| &rest[ethernet::HEADER.bytes() as usize..])
}

/// The two addresses of an IP header, which stand next to each other.
fn addresses(ip: &[u8]) -> Option<&[u8]> {
    let (from, to) = match ip.first()? >> 4 {
        4 => (ip::SRC, ip::DST),
        6 => (ip6::SRC, ip6::DST),
        _ => return None,
    };
    ip.get(from.range().start..to.range().end)
}

/// Whether an IPv4 header is that of a first fragment, or of no fragment.
fn is_first(ip: &[u8]) -> Option<bool> {
    Some(ip::FRAGMENT.half(ip)? & fragment::OFFSET == 0)
}

/// The IP header that an ICMP error quotes.
fn quoted(ip: &[u8]) -> Option<&[u8]> {
    let at = match ip.first()? >> 4 {
        4 if ip::PROTOCOL.byte(ip)? == ICMP && is_first(ip)? => {
            let at = ip::HEADER.len(ip)?;
            matches!(ip.get(at)?, 3 | 4 | 5 | 11 | 12).then_some(at)?
        }
        6 if ip6::NEXT_HEADER.byte(ip)? == ICMP6 => {
            let at = ip6::HEADER.bytes() as usize;
            matches!(ip.get(at)?, 1..=4).then_some(at)?
        }
        _ => return None,
    };
    let inner = ip.get(at + icmp::HEADER.bytes() as usize..)?;
    addresses(inner).map(|_| inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(frame: &[u8]) -> u32 {
        sum(LinkType::EN10MB, frame)
    }

    fn ipv4(protocol: u8, from: u8, to: u8, payload: &[u8]) -> Vec<u8> {
        let mut ip = vec![0; 20];
        (ip[0], ip[9], ip[15], ip[19]) = (0x45, protocol, from, to);
        [&ip, payload].concat()
    }

    fn ethernet(tags: usize, ip: &[u8]) -> Vec<u8> {
        let mut frame = vec![7; 12];
        (0..tags).for_each(|_| frame.extend([0x81, 0, 0, 5]));
        frame.extend([8, 0]);
        [&frame, ip].concat()
    }

    #[test]
    fn directions_tags_and_errors_are_of_one_flow() {
        let there = ipv4(6, 1, 2, &[1, 2, 3, 4]);
        let wanted = of(&ethernet(0, &there));
        assert_ne!(wanted, 0);
        assert_ne!(wanted, of(&ethernet(0, &ipv4(6, 1, 3, &[]))));
        for same in [ipv4(6, 2, 1, &[]), ipv4(17, 1, 2, &[9; 30]), ipv4(ICMP, 9, 1, &[&[3, 1, 0, 0, 0, 0, 0, 0], &there[..]].concat())] {
            for tags in 0..3 {
                assert_eq!(of(&ethernet(tags, &same)), wanted, "{same:?}");
            }
        }
    }

    /// Whichever bytes a short frame has, the others are 0.
    #[test]
    fn bytes_that_a_frame_has_not_are_zeros() {
        let whole: Vec<u8> = (1..=40).collect();
        for (at, len, other) in [(0, 6, Some(6)), (26, 4, None), (12, 2, None), (0, 10, Some(20)), (3, 1, None)] {
            let fields = Fields { header: false, at, len, other };
            let of = |frame: &[u8]| fields_replica(LinkType::EN10MB, frame, fields, 1 << 16);
            for length in 0..whole.len() {
                let mut padded = whole[..length].to_vec();
                padded.resize(whole.len(), 0);
                assert_eq!(of(&whole[..length]), of(&padded), "{fields:?}, {length} bytes");
            }
        }
    }

    #[test]
    fn connections_and_ends_are_told_apart() {
        let tcp = |from: u8, to: u8, ports: [u8; 4]| ethernet(0, &ipv4(6, from, to, &ports));
        let tuple = |frame: &[u8]| tuple_replica(LinkType::EN10MB, frame, 1 << 16);
        let there = tcp(1, 2, [0, 80, 9, 9]);
        assert_eq!(tuple(&there), tuple(&tcp(2, 1, [9, 9, 0, 80])));
        assert_ne!(tuple(&there), tuple(&tcp(1, 2, [0, 81, 9, 9])));
        assert_ne!(tuple(&there), tuple(&ethernet(0, &ipv4(17, 1, 2, &[0, 80, 9, 9]))));
        // All fragments of a datagram go by addresses: those behind the first have no ports.
        let fragment = |bits: [u8; 2], rest: &[u8]| {
            let mut ip = ipv4(6, 1, 2, rest);
            ip[6..8].copy_from_slice(&bits);
            tuple(&ethernet(0, &ip))
        };
        assert_eq!(fragment([0x20, 0], &[0, 80, 9, 9]), fragment([0, 9], &[7; 8]));
        let end = |frame: &[u8], end| end_replica(LinkType::EN10MB, frame, end, 1 << 16);
        assert_eq!(end(&there, Toward::Source), end(&tcp(1, 9, [3; 4]), Toward::Source));
        assert_ne!(end(&there, Toward::Source), end(&tcp(2, 1, [3; 4]), Toward::Source));
        assert_eq!(end(&there, Toward::Source), end(&tcp(7, 1, [3; 4]), Toward::Destination));
        let source = Fields { header: true, at: 12, len: 4, other: None };
        let fields = |frame: &[u8], fields| fields_replica(LinkType::EN10MB, frame, fields, 1 << 16);
        let tagged = ethernet(1, &ipv4(17, 1, 77, &[]));
        assert_eq!(fields(&there, source), fields(&tagged, source));
        assert_ne!(fields(&there, source), fields(&tcp(2, 1, [3; 4]), source));
        assert_ne!(
            fields(&there, source),
            fields(&tagged, Fields { header: false, at: 26, ..source }),
            "at a fixed place there are others"
        );
        let both = Fields { other: Some(16), ..source };
        assert_eq!(fields(&there, both), fields(&tcp(2, 1, [3; 4]), both));
        assert_eq!((fields(&[], source), both.bytes()), (0, 8));
    }

    #[test]
    fn what_has_no_addresses_is_one_flow() {
        let whole = ethernet(1, &ipv4(ICMP, 1, 2, &[3; 30]));
        for len in 0..whole.len() {
            let sum = of(&whole[..len]);
            assert!(sum == 0 || len >= 18 + 20, "{len}");
        }
        assert_eq!(of(&[[7; 12], [0x88; 12]].concat()), 0);
    }

    #[test]
    fn ipv6_has_flows_and_errors() {
        let header = |next: u8, from: u8, to: u8| {
            let mut ip = vec![0; 40];
            (ip[0], ip[6], ip[23], ip[39]) = (0x60, next, from, to);
            ip
        };
        let frame = |ip: Vec<u8>| [&[7; 12][..], &[0x86, 0xdd], &ip].concat();
        let wanted = of(&frame(header(6, 1, 2)));
        assert_eq!(of(&frame(header(17, 2, 1))), wanted);
        assert_eq!(of(&frame([header(ICMP6, 9, 1), vec![1, 0, 0, 0, 0, 0, 0, 0], header(6, 1, 2)].concat())), wanted);
        assert_ne!(of(&frame(header(6, 1, 3))), wanted);
    }
}
