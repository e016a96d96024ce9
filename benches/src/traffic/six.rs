//! IPv6: routes and packets of 60 bytes for them.
//!
//! Routes have lengths as in the Internet's table of 2024 and lie in what the five registries give
//! out. What is behind a packet's header is not looked at by routers and six bytes long, so it says
//! that there is no next header (RFC 8200, 4.7).

use super::{Frame, HOPS, LENGTH, Packet, elsewhere, packets_of, place};
use crate::random::Random;
use std::collections::HashSet;
use std::fmt::Write;
use std::net::Ipv6Addr;

/// An IPv6 route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// Network address.
    pub prefix: u128,
    /// Bits of it.
    pub length: u32,
    /// Which of the next hops.
    pub hop: u32,
}

/// Of a hundred routes how many have which length.
const LENGTHS: [(u32, u64); 9] = [(48, 47), (32, 13), (44, 11), (40, 10), (36, 6), (29, 5), (46, 4), (33, 2), (42, 2)];
/// The first sixteen bits of what registries give out: from, and how many such.
const BLOCKS: [(u128, u64); 6] = [(0x2001, 1), (0x2400, 16), (0x2600, 16), (0x2800, 8), (0x2a00, 16), (0x2c0f, 1)];

fn length(random: &mut Random) -> u32 {
    let mut left = random.below(100);
    let fits = |(_, share): &&(u32, u64)| {
        let found = left < *share;
        left = left.saturating_sub(*share);
        found
    };
    LENGTHS.iter().find(fits).map_or(48, |(length, _)| *length)
}

fn mask(length: u32) -> u128 {
    u128::MAX << (128 - length)
}

fn bits(random: &mut Random) -> u128 {
    (0..4).fold(0, |bits, _| bits << 32 | u128::from(random.below(1 << 32)))
}

/// So many routes, none to the network of the documentation, no two to the same.
pub fn routes(n: usize) -> Vec<Route> {
    let (mut random, mut seen, mut routes) = (Random(21_345), HashSet::new(), Vec::new());
    while routes.len() < n {
        let length = length(&mut random);
        let (first, more) = BLOCKS[random.below(BLOCKS.len() as u64) as usize];
        let block = first + u128::from(random.below(more));
        let prefix = ((block << 112) | (bits(&mut random) >> 16)) & mask(length);
        if prefix >> 96 != 0x2001_0db8 && seen.insert((prefix, length)) {
            routes.push(Route { prefix, length, hop: random.below(u64::from(HOPS)) as u32 });
        }
    }
    routes
}

/// The address of a next hop: 2001:db8:PORT::N.
pub fn gateway(hop: u32, ports: u32) -> Ipv6Addr {
    let [port, n] = place(hop, ports).map(u16::from);
    Ipv6Addr::new(0x2001, 0xdb8, port, 0, 0, 0, 0, n)
}

/// Routes as text, one a line: `PREFIX/LENGTH GATEWAY OUTPUT`, over so many ports, the first of
/// which is that output.
pub fn routes_text(routes: &[Route], ports: u32, first: u32) -> String {
    let mut text = String::new();
    for Route { prefix, length, hop } in routes {
        let _ = writeln!(text, "{}/{length} {} {}", Ipv6Addr::from(*prefix), gateway(*hop, ports), first + hop % ports);
    }
    text
}

/// Packets that arrive at any of so many ports but the one that they leave by; each has a route.
pub fn routed(routes: &[Route], ports: u32) -> Vec<Packet> {
    let mut random = Random(32_456);
    let packet = |i: usize| {
        let route = routes[random.below(routes.len() as u64) as usize];
        let destination = route.prefix | bits(&mut random) & !mask(route.length);
        let source = (0x2001_0db8_ffff << 80) + i as u128 % 65_000 + 1;
        Packet { port: elsewhere(route.hop, ports, &mut random), bytes: bytes(source, destination) }
    };
    (0..packets_of(routes.len())).map(packet).collect()
}

fn bytes(source: u128, destination: u128) -> [u8; LENGTH] {
    let (mut bytes, frame) = ([b'x'; LENGTH], Frame::default());
    bytes[..6].copy_from_slice(&frame.to);
    bytes[6..12].copy_from_slice(&frame.from);
    bytes[12..22].copy_from_slice(&[0x86, 0xdd, 0x60, 0, 0, 0, 0, (LENGTH - 54) as u8, 59, 64]);
    bytes[22..38].copy_from_slice(&source.to_be_bytes());
    bytes[38..54].copy_from_slice(&destination.to_be_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_has_a_route_and_does_not_leave_where_it_came_from() {
        let routes = routes(1000);
        assert!(routes.iter().all(|r| r.prefix & !mask(r.length) == 0 && r.prefix >> 125 == 1));
        assert_eq!(super::routes(1000), routes);
        let best = |to: u128| routes.iter().filter(|r| to & mask(r.length) == r.prefix).max_by_key(|r| r.length);
        let back = |packet: &&Packet| {
            let to = u128::from_be_bytes(packet.bytes[38..54].try_into().unwrap());
            best(to).expect("there is a route").hop % 4 == packet.port
        };
        assert!(routed(&routes, 4).iter().step_by(97).filter(back).count() < 20);
        assert_eq!(routes_text(&routes[..1], 4, 1).lines().count(), 1);
    }

    #[test]
    fn lengths_have_their_shares() {
        assert_eq!(LENGTHS.iter().map(|(_, share)| share).sum::<u64>(), 100);
        let routes = routes(10_000);
        let of = |length| routes.iter().filter(|route| route.length == length).count();
        assert!((4500..4900).contains(&of(48)) && (1100..1500).contains(&of(32)) && (100..300).contains(&of(42)));
    }
}
