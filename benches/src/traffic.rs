//! What applications are measured with: routes, flows, stations and rules, and packets of 60 bytes
//! for them. All of it comes from seeds.
//!
//! Shapes: routes have the lengths of the Internet's table of 2024 and 64 next hops over all ports;
//! every packet has a route. A translator's flows come from endpoints inside, no two of one
//! external address with the same port, so that all can keep theirs. A switch's stations are spread
//! over four ports, and each sends in the trace, so that all are known after its first pass. A
//! filter's rules are tested in order, and packets are decided by any of them alike. Packets are in
//! random order, so that tables larger than the caches miss them. `six` has IPv6, `connections`
//! what a firewall remembers.

pub mod connections;
pub mod six;
pub mod varied;

use crate::random::Random;
use std::collections::HashSet;
use std::fmt::Write;
use std::net::Ipv4Addr;

/// Ports of a router or a switch, unless there are said to be more.
pub const PORTS: u32 = 4;
/// Next hops of a router.
pub const HOPS: u32 = 64;
/// Packets of a trace; as many as entries if those are more.
const PACKETS: usize = 1 << 16;
/// Bytes of each, without the frame check sequence.
pub const LENGTH: usize = 60;

/// A packet and where it arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The port.
    pub port: u32,
    /// From the Ethernet header on.
    pub bytes: [u8; LENGTH],
}

/// An IPv4 route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// Network address.
    pub prefix: u32,
    /// Bits of it.
    pub length: u32,
    /// Which of the next hops.
    pub hop: u32,
}

/// Where a next hop is, if there are so many ports: the port, and its number there, from 1.
pub fn place(hop: u32, ports: u32) -> [u8; 2] {
    [(hop % ports) as u8, 1 + (hop / ports) as u8]
}

/// The address of a next hop: 10.255.PORT.N.
fn gateway(hop: u32, ports: u32) -> Ipv4Addr {
    let [port, n] = place(hop, ports);
    Ipv4Addr::new(10, 255, port, n)
}

/// Of 97,128 routes how many have which length.
const LENGTHS: [(u32, u64); 17] = [
    (24, 59_500),
    (23, 10_000),
    (22, 11_500),
    (21, 5_000),
    (20, 4_500),
    (19, 2_500),
    (18, 1_400),
    (17, 900),
    (16, 1_400),
    (15, 200),
    (14, 120),
    (13, 60),
    (12, 30),
    (11, 10),
    (10, 4),
    (9, 2),
    (8, 2),
];

fn length(random: &mut Random) -> u32 {
    let mut left = random.below(LENGTHS.iter().map(|(_, share)| share).sum());
    for (length, share) in LENGTHS {
        match left.checked_sub(share) {
            Some(rest) => left = rest,
            None => return length,
        }
    }
    24
}

/// So many routes, none to private or loopback addresses, no two to the same network.
pub fn routes(n: usize) -> Vec<Route> {
    let (mut random, mut seen, mut routes) = (Random(12_345), HashSet::new(), Vec::new());
    while routes.len() < n {
        let length = length(&mut random);
        let prefix = ((1 << 24) + random.below(222 << 24)) as u32 & u32::MAX << (32 - length);
        let is_public = !matches!(prefix >> 24, 10 | 127) && (length > 8 || prefix >> 24 != 0);
        if is_public && seen.insert((prefix, length)) {
            routes.push(Route { prefix, length, hop: random.below(u64::from(HOPS)) as u32 });
        }
    }
    routes
}

/// Routes as text, one a line: `PREFIX/LENGTH GATEWAY OUTPUT`, over so many ports, the first of
/// which is that output.
pub fn routes_text(routes: &[Route], ports: u32, first: u32) -> String {
    let mut text = String::new();
    for Route { prefix, length, hop } in routes {
        let _ = writeln!(text, "{}/{length} {} {}", Ipv4Addr::from(*prefix), gateway(*hop, ports), first + hop % ports);
    }
    text
}

/// The Ethernet address of a next hop.
pub fn neighbour(hop: u32, ports: u32) -> [u8; 6] {
    let [port, n] = place(hop, ports);
    [2, 0, 0, 9, port, n]
}

/// Packets by which all next hops answer a router that asks for their Ethernet addresses (ARP).
pub fn answers(ports: u32) -> Vec<Packet> {
    let answer = |hop: u32| {
        let mut bytes = [0; LENGTH];
        bytes[..6].copy_from_slice(&Frame::default().to);
        bytes[6..12].copy_from_slice(&neighbour(hop, ports));
        bytes[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 2]);
        bytes[22..28].copy_from_slice(&neighbour(hop, ports));
        bytes[28..32].copy_from_slice(&gateway(hop, ports).octets());
        bytes[32..38].copy_from_slice(&Frame::default().to);
        bytes[38..42].copy_from_slice(&Ipv4Addr::new(10, 255, (hop % ports) as u8, 254).octets());
        Packet { port: hop % ports, bytes }
    };
    (0..HOPS).map(answer).collect()
}

/// Where packets arrive that a router with so many ports is to forward to a next hop: at any port
/// but the one that they leave by.
fn elsewhere(hop: u32, ports: u32, random: &mut Random) -> u32 {
    (hop + 1 + random.below(u64::from(ports) - 1) as u32) % ports
}

/// How many packets there are of so many entries.
fn packets_of(entries: usize) -> usize {
    if entries > PACKETS { entries.next_power_of_two() } else { PACKETS }
}

/// How often each of so many things is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Popularity {
    /// All alike.
    Uniform,
    /// The k-th one 1/k times as often as the first (Zipf): few destinations have most of the
    /// packets.
    Zipf,
}

/// Numbers below a limit, drawn by their popularity.
struct Drawn {
    /// Of Zipf's law, how many parts of 2^32 all up to that number have.
    sums: Vec<u64>,
    below: u64,
}

impl Drawn {
    fn new(below: usize, popularity: Popularity) -> Self {
        let share = |rank: u64| (1 << 32) / rank;
        let sums = (1..=below as u64).scan(0, |sum, rank| {
            *sum += share(rank);
            Some(*sum)
        });
        Self { sums: if popularity == Popularity::Zipf { sums.collect() } else { Vec::new() }, below: below as u64 }
    }

    fn next(&self, random: &mut Random) -> usize {
        match self.sums.last() {
            None => random.below(self.below) as usize,
            Some(all) => {
                let at = random.below(*all);
                self.sums.partition_point(|sum| *sum <= at)
            }
        }
    }
}

/// UDP packets that arrive at port 0, or if so wanted at any of so many ports but the one that they
/// leave by; each has a route.
pub fn routed(routes: &[Route], at: Option<u32>) -> Vec<Packet> {
    routed_by(routes, at, Popularity::Uniform)
}

/// UDP packets that each have a route, where some routes may be used more than others.
pub fn routed_by(routes: &[Route], at: Option<u32>, popularity: Popularity) -> Vec<Packet> {
    let (mut random, drawn) = (Random(23_456), Drawn::new(routes.len(), popularity));
    let packet = |i: usize| {
        let route = routes[drawn.next(&mut random)];
        let host = random.below(1 << (32 - route.length)) as u32;
        let (source, sport) = (0x0a00_0002 + (i % 65_000) as u32, 1024 + (i % 50_000) as u16);
        let frame = Frame { protocol: UDP, source, sport, destination: route.prefix | host, dport: 53, id: i as u16, ..Frame::default() };
        let port = at.map_or(0, |ports| elsewhere(route.hop, ports, &mut random));
        Packet { port, bytes: frame.bytes() }
    };
    (0..packets_of(routes.len())).map(packet).collect()
}

/// A packet of IPv4 with so many bytes: zeros behind its own, and a header that says so. None is
/// shorter than it was.
pub fn lengthened(packet: &Packet, length: usize) -> Vec<u8> {
    let mut bytes = packet.bytes.to_vec();
    if length > LENGTH {
        bytes.resize(length, 0);
        bytes[16..18].copy_from_slice(&((length - 14) as u16).to_be_bytes());
        bytes[24..26].fill(0);
        let sum = checksum(words(&bytes[14..34]));
        bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    bytes
}

/// A flow from inside a translator's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    /// Inside.
    pub source: u32,
    /// Its port.
    pub sport: u16,
    /// Outside; the port there is 80.
    pub destination: u32,
}

/// Hosts inside, and ports that are used of an external address.
const HOSTS: u64 = 60_000;

/// How many external addresses so many endpoints need: a power of 2.
pub fn externals(endpoints: usize) -> u32 {
    (endpoints as u32).div_ceil(HOSTS as u32).next_power_of_two()
}

/// MurmurHash3 of a word, by which a translator gives an inside address one of the external ones.
fn murmur(word: u32) -> u32 {
    let h = (word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)).rotate_left(13).wrapping_mul(5);
    let h = h.wrapping_add(0xe654_6b64) ^ 4;
    let h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    let h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

/// Flows of so many endpoints inside. Those that get the same external address have different
/// ports, so that each can keep its own.
pub fn flows(endpoints: usize) -> Vec<Flow> {
    let mut used = vec![0u64; externals(endpoints) as usize];
    let flow = |n: u64| {
        let source = 0x0a00_0002 + (n % HOSTS) as u32;
        let external = murmur(source) as usize & (used.len() - 1);
        let port = used[external] * 7919 % HOSTS;
        used[external] += 1;
        Flow { source, sport: 1024 + port as u16, destination: 0xc612_0000 + (n * 2_654_435_761 % 65_536) as u32 }
    };
    (0..endpoints as u64).map(flow).collect()
}

/// TCP segments of so many flows, all arriving at port 0; each flow has one at least.
pub fn translated(count: usize) -> Vec<Packet> {
    segments(count, None)
}

/// TCP segments of so many flows, all to one address and arriving at port 0.
pub fn served(count: usize, service: Ipv4Addr) -> Vec<Packet> {
    segments(count, Some(service.to_bits()))
}

fn segments(count: usize, to: Option<u32>) -> Vec<Packet> {
    let flows = flows(count);
    let packet = |n: usize| {
        let Flow { source, sport, destination } = flows[n];
        let destination = to.unwrap_or(destination);
        let frame = Frame { protocol: TCP, source, sport, destination, dport: 80, id: n as u16, ..Frame::default() };
        Packet { port: 0, bytes: frame.bytes() }
    };
    each(count, PACKETS, 34_567).into_iter().map(packet).collect()
}

/// Numbers below `n` in random order: each of them, some more than once if that makes `count` of
/// them.
fn each(n: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut random = Random(seed);
    let more = (n..count).map(|_| random.below(n as u64) as usize).collect::<Vec<_>>();
    let mut all: Vec<usize> = (0..n).chain(more).collect();
    random.shuffle(&mut all);
    all
}

/// The address of a station.
pub fn station(n: usize) -> [u8; 6] {
    let [a, b, c, d] = (n as u32).to_be_bytes();
    [2, a, 1, b, c, d]
}

/// Frames between so many stations, a multiple of the ports; each arrives at the port that its
/// sender is at, and the ports take turns.
pub fn switched(stations: usize) -> Vec<Packet> {
    flooded(stations, 0)
}

/// Frames between so many stations; of every hundred frames so many are for one of as many stations
/// that never send.
pub fn flooded(stations: usize, percent: u64) -> Vec<Packet> {
    let (mut random, ports) = (Random(45_678), PORTS as usize);
    let senders = (0..ports).map(|port| each(stations / ports, PACKETS / ports, 56_789 + port as u64)).collect::<Vec<_>>();
    let packet = |i: usize| {
        let from = senders[i % ports][i / ports] * ports + i % ports;
        let to = random.below(stations as u64) as usize + if percent > 0 && random.below(100) < percent { stations } else { 0 };
        let (source, destination) = (0x0a00_0002 + from as u32, 0x0a00_0002 + to as u32);
        let frame = Frame { to: station(to), from: station(from), source, destination, ..Frame::default() };
        Packet { port: (i % ports) as u32, bytes: frame.bytes() }
    };
    (0..ports * senders[0].len()).map(packet).collect()
}

/// What a rule lets pass or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// Whether packets pass.
    pub allows: bool,
    /// Source network, 24 bits of it.
    pub source: u32,
    /// Destination port.
    pub dport: u16,
}

/// So many rules, the last of which is that nothing else passes.
pub fn rules(n: usize) -> Vec<Rule> {
    let (mut random, mut seen, mut rules) = (Random(67_890), HashSet::new(), Vec::new());
    while rules.len() + 1 < n {
        let (source, dport) = (0x0b00_0000 | (random.below(1 << 16) as u32) << 8, 1 + random.below(10_000) as u16);
        if seen.insert((source, dport)) {
            rules.push(Rule { allows: random.below(4) > 0, source, dport });
        }
    }
    rules
}

/// Rules as arguments of an IPFilter.
pub fn rules_text(rules: &[Rule]) -> String {
    let word = |rule: &Rule| if rule.allows { "allow" } else { "deny" };
    let text = |rule: &Rule| format!("{} src net {}/24 && udp && dst port {}", word(rule), Ipv4Addr::from(rule.source), rule.dport);
    rules.iter().map(text).chain(["deny all".to_owned()]).collect::<Vec<_>>().join(",\n    ")
}

/// UDP packets at port 0; one in eight is for no rule but the last.
pub fn filtered(rules: &[Rule]) -> Vec<Packet> {
    let mut random = Random(78_901);
    let packet = |i: usize| {
        let rule = rules[random.below(rules.len() as u64) as usize];
        let source = rule.source | random.below(256) as u32;
        let dport = if random.below(8) == 0 { 20_000 } else { rule.dport };
        let frame = Frame { source, dport, sport: 1024 + (i % 50_000) as u16, destination: 0x0c00_0001, id: i as u16, ..Frame::default() };
        Packet { port: 0, bytes: frame.bytes() }
    };
    (0..PACKETS).map(packet).collect()
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const SYN: u8 = 2;
const ACK: u8 = 16;

/// What a packet says.
struct Frame {
    to: [u8; 6],
    from: [u8; 6],
    id: u16,
    protocol: u8,
    source: u32,
    destination: u32,
    sport: u16,
    dport: u16,
    /// Of TCP.
    flags: u8,
}

impl Default for Frame {
    fn default() -> Self {
        let (to, from) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        Self { to, from, id: 0, protocol: UDP, source: 0x0a00_0002, destination: 0x0a00_0003, sport: 1024, dport: 53, flags: ACK }
    }
}

impl Frame {
    /// The packet: checksums are right, and those of UDP absent.
    fn bytes(&self) -> [u8; LENGTH] {
        let mut bytes = [b'x'; LENGTH];
        bytes[..6].copy_from_slice(&self.to);
        bytes[6..12].copy_from_slice(&self.from);
        bytes[12..14].copy_from_slice(&[8, 0]);
        bytes[14..34].copy_from_slice(&self.ip());
        let segment = &mut bytes[34..];
        segment[..2].copy_from_slice(&self.sport.to_be_bytes());
        segment[2..4].copy_from_slice(&self.dport.to_be_bytes());
        match self.protocol {
            TCP => self.tcp(segment),
            _ => segment[4..8].copy_from_slice(&[0, (LENGTH - 34) as u8, 0, 0]),
        }
        bytes
    }

    fn ip(&self) -> [u8; 20] {
        let mut header = [0x45, 0, 0, (LENGTH - 14) as u8, 0, 0, 0, 0, 64, self.protocol, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        header[4..6].copy_from_slice(&self.id.to_be_bytes());
        header[12..16].copy_from_slice(&self.source.to_be_bytes());
        header[16..].copy_from_slice(&self.destination.to_be_bytes());
        let sum = checksum(words(&header));
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header
    }

    /// Some data.
    fn tcp(&self, segment: &mut [u8]) {
        segment[4..20].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 1, 0x50, self.flags, 16, 0, 0, 0, 0, 0]);
        let pseudo =
            [self.source >> 16, self.source & 0xffff, self.destination >> 16, self.destination & 0xffff, TCP.into(), segment.len() as u32];
        let sum = checksum(pseudo.into_iter().chain(words(segment)));
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from))
}

/// RFC 1071.
pub fn checksum(words: impl Iterator<Item = u32>) -> u16 {
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(packet: &Packet, at: usize) -> u32 {
        packet.bytes[at..at + 4].iter().fold(0, |a, b| a << 8 | u32::from(*b))
    }

    #[test]
    fn every_packet_has_a_route_and_a_right_checksum() {
        let routes = routes(1000);
        let covers = |r: &Route, d: u32| d & u32::MAX << (32 - r.length) == r.prefix;
        for packet in routed(&routes, None).iter().step_by(97) {
            assert!(routes.iter().any(|route| covers(route, address(packet, 30))));
            assert_eq!(checksum(words(&packet.bytes[14..34])), 0);
        }
        assert_eq!(routes_text(&routes[..1], 4, 0).lines().count(), 1);
        assert!(routes.iter().all(|r| r.prefix.trailing_zeros() >= 32 - r.length && r.prefix >> 24 != 10));
        assert_eq!(super::routes(1000), routes);
    }

    #[test]
    fn longer_packets_say_so() {
        let packet = &routed(&routes(10), None)[0];
        assert_eq!(lengthened(packet, LENGTH), packet.bytes);
        let long = lengthened(packet, 1500);
        assert_eq!((long.len(), &long[16..18], checksum(words(&long[14..34]))), (1500, &[5, 206][..], 0));
        assert_eq!([&long[..16], &long[26..60]], [&packet.bytes[..16], &packet.bytes[26..]]);
    }

    #[test]
    fn few_destinations_have_most_packets_by_zipf() {
        let of_first = |popularity| {
            let (drawn, mut random) = (Drawn::new(1000, popularity), Random(1));
            (0..10_000).filter(|_| drawn.next(&mut random) < 10).count()
        };
        // H(10) of H(1000), and 1 in 100.
        assert!((3600..4200).contains(&of_first(Popularity::Zipf)), "{}", of_first(Popularity::Zipf));
        assert!((60..150).contains(&of_first(Popularity::Uniform)), "{}", of_first(Popularity::Uniform));
        assert!(routed_by(&routes(1000), None, Popularity::Zipf).len() == PACKETS);
    }

    #[test]
    fn packets_do_not_leave_where_they_came_from() {
        let routes = routes(1000);
        let hop = |d: u32| routes.iter().filter(|r| d & u32::MAX << (32 - r.length) == r.prefix).max_by_key(|r| r.length).unwrap().hop;
        for ports in [4, 16] {
            let packets = routed(&routes, Some(ports));
            assert!(packets.iter().step_by(97).filter(|packet| hop(address(packet, 30)) % ports == packet.port).count() < 20);
            assert_eq!(packets.iter().map(|packet| packet.port).collect::<HashSet<u32>>(), (0..ports).collect());
            let hosts: HashSet<u32> = answers(ports).iter().map(|answer| address(answer, 28)).collect();
            assert_eq!(hosts.len(), HOPS as usize);
        }
    }

    #[test]
    fn flows_that_share_an_external_address_have_different_ports() {
        for endpoints in [1_000, 56_000, 1_000_000] {
            let flows = flows(endpoints);
            let externals = externals(endpoints);
            let outside: HashSet<(u32, u16)> = flows.iter().map(|f| (murmur(f.source) & (externals - 1), f.sport)).collect();
            let inside: HashSet<(u32, u16)> = flows.iter().map(|f| (f.source, f.sport)).collect();
            assert_eq!([outside.len(), inside.len()], [endpoints, endpoints]);
        }
    }

    #[test]
    fn segments_are_whole_and_each_flow_has_one() {
        let packets = translated(1000);
        assert_eq!(packets.len(), PACKETS);
        let sources: HashSet<u32> = packets.iter().map(|packet| address(packet, 26)).collect();
        assert_eq!(sources.len(), 1000);
        let pseudo = |p: &Packet| words(&p.bytes[26..34]).chain([6, 26]).collect::<Vec<_>>();
        assert!(packets.iter().all(|p| checksum(words(&p.bytes[34..]).chain(pseudo(p))) == 0));
    }

    #[test]
    fn stations_stay_at_their_ports() {
        let packets = switched(8);
        assert!(packets.iter().enumerate().all(|(i, p)| u32::from(p.bytes[11]) % PORTS == p.port && i as u32 % PORTS == p.port));
        let to: HashSet<u8> = packets.iter().map(|p| p.bytes[5]).collect();
        assert_eq!(to.len(), 8);
        assert_eq!(station(0x0102_0304), [2, 1, 1, 2, 3, 4]);
    }

    #[test]
    fn rules_decide_most_packets() {
        let rules = rules(19);
        assert_eq!(rules_text(&rules).lines().count(), 19);
        let ruled = |p: &Packet| rules.iter().any(|r| p.bytes[36..38] == r.dport.to_be_bytes() && address(p, 26) >> 8 == r.source >> 8);
        let share = filtered(&rules).iter().filter(|p| ruled(p)).count() * 8 / PACKETS;
        assert!((6..8).contains(&share), "{share}");
    }
}
