//! What the hosts of a network send to their DHCP server (RFC 2131): the traffic of `apps/dhcp`,
//! after the network of 20,000 hosts of the third paper's Table 1.
//!
//! Hosts come up one after the other, a hundred in a second. Each asks for the address that it had
//! before, which is the first address of the pool plus its number, and takes it when the server has
//! had the time to check it. From then on it renews its lease at half of its time; now and then it
//! starts anew, gives the lease back, asks for what else is known of the network, or finds that
//! somebody else has its address. The same numbers give the same messages on every machine.
//!
//! Leaves out: what the server answers. Messages are right for one that grants what is asked for.

use super::frame::Headers;
use super::{Random, START};
use crate::io::Timestamp;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::Ipv4Addr;

/// The server, as `apps/dhcp` has it, and the first address that it leases.
const SERVER: (Ipv4Addr, [u8; 6]) = (Ipv4Addr::new(10, 0, 0, 1), [2, 0, 0, 0, 0, 1]);
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 0);
/// The most hosts: so many addresses the application leases.
pub const MOST: u32 = 51_200;
/// Microseconds between two hosts that come up, and after which half of a lease is over.
const APART: u64 = 10_000;
const HALF: u64 = 1_800_000_000;
const SECOND: u64 = 1_000_000;

const DISCOVER: u8 = 1;
const REQUEST: u8 = 3;
const DECLINE: u8 = 4;
const RELEASE: u8 = 7;
const INFORM: u8 = 8;

/// What a host is about to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Off,
    Offered,
    Bound,
}

/// The messages of a network; endless.
pub struct Hosts {
    random: Random,
    states: Vec<State>,
    /// When each host sends next, in microseconds.
    events: BinaryHeap<Reverse<(u64, u32)>>,
    id: u16,
}

impl Hosts {
    /// So many hosts, [`MOST`] at most.
    pub fn new(seed: u64, hosts: u32) -> Self {
        let (mut random, hosts) = (Random(seed), hosts.clamp(1, MOST));
        let events = (0..hosts).map(|host| Reverse((u64::from(host) * APART + random.within(0, APART), host))).collect();
        Self { random, states: vec![State::Off; hosts as usize], events, id: 0 }
    }

    /// What the host sends in its state, its next state, and after how long it sends again.
    fn message(&mut self, host: u32) -> (Vec<u8>, State, u64) {
        let soon = SECOND + self.random.within(0, SECOND);
        let renewal = HALF - self.random.within(0, HALF / 8);
        let own = Ipv4Addr::from(u32::from(FIRST) + host);
        match self.states[host as usize] {
            State::Off => (self.broadcast(host, DISCOVER, &option(50, own)), State::Offered, soon),
            State::Offered => (self.broadcast(host, REQUEST, &[option(54, SERVER.0), option(50, own)].concat()), State::Bound, renewal),
            State::Bound => match self.random.within(0, 1000) {
                // An address that is refused is not leased again for ten minutes.
                0..5 => (self.broadcast(host, DECLINE, &[option(54, SERVER.0), option(50, own)].concat()), State::Off, 700 * SECOND + soon),
                5..40 => (self.unicast(host, RELEASE, &option(54, SERVER.0)), State::Off, 60 * SECOND + soon),
                40..100 => (self.broadcast(host, REQUEST, &option(50, own)), State::Bound, renewal),
                100..200 => (self.unicast(host, INFORM, &[]), State::Bound, 60 * SECOND + soon),
                _ => (self.unicast(host, REQUEST, &[]), State::Bound, renewal),
            },
        }
    }

    /// From a host without an address.
    fn broadcast(&mut self, host: u32, kind: u8, options: &[u8]) -> Vec<u8> {
        let payload = self.payload(host, kind, Ipv4Addr::UNSPECIFIED, options);
        self.headers(host, Ipv4Addr::UNSPECIFIED, ([0xff; 6], Ipv4Addr::BROADCAST)).udp(&payload)
    }

    /// From a host that has one.
    fn unicast(&mut self, host: u32, kind: u8, options: &[u8]) -> Vec<u8> {
        let own = Ipv4Addr::from(u32::from(FIRST) + host);
        let payload = self.payload(host, kind, own, options);
        self.headers(host, own, (SERVER.1, SERVER.0)).udp(&payload)
    }

    fn headers(&mut self, host: u32, from: Ipv4Addr, (ether, to): ([u8; 6], Ipv4Addr)) -> Headers {
        self.id = self.id.wrapping_add(1);
        Headers { ether: [mac(host), ether], from: (from, 68), to: (to, 67), id: self.id }
    }

    fn payload(&mut self, host: u32, kind: u8, own: Ipv4Addr, options: &[u8]) -> Vec<u8> {
        let mut message = vec![1, 1, 6, 0];
        message.extend((self.random.next() as u32).to_be_bytes());
        message.extend([0; 4]);
        message.extend(own.octets());
        message.extend([0; 12]);
        message.extend(mac(host));
        message.resize(236, 0);
        message.extend([0x63, 0x82, 0x53, 0x63, 53, 1, kind]);
        message.extend(options);
        // What clients usually want to know: mask, routers, name servers, domain.
        message.extend([55, 4, 1, 3, 6, 15, 255]);
        message.resize(message.len().max(300), 0);
        message
    }
}

impl Iterator for Hosts {
    type Item = (Timestamp, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((micros, host)) = self.events.pop()?;
        let (frame, state, after) = self.message(host);
        self.states[host as usize] = state;
        self.events.push(Reverse((micros + after, host)));
        Some((Timestamp::from_micros(START + (micros / SECOND) as i64, (micros % SECOND) as u32), frame))
    }
}

/// A locally administered address with the host's number.
fn mac(host: u32) -> [u8; 6] {
    let [a, b, c, d] = host.to_be_bytes();
    [2, 1, a, b, c, d]
}

fn option(code: u8, address: Ipv4Addr) -> Vec<u8> {
    [&[code, 4][..], &address.octets()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_asks_takes_what_it_is_offered_and_renews() {
        let all: Vec<_> = Hosts::new(1, 50).take(5000).collect();
        assert!(all.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        let kinds = |host: u32| -> Vec<u8> { all.iter().filter(|(_, f)| f[6..12] == mac(host)).map(|(_, f)| f[14 + 28 + 242]).collect() };
        for host in 0..50 {
            let kinds = kinds(host);
            assert_eq!(kinds[..2], [DISCOVER, REQUEST], "{host}");
            assert!(kinds.windows(2).all(|pair| pair[0] != DISCOVER || pair[1] == REQUEST), "{host}");
        }
        let share = |kind: u8| all.iter().filter(|(_, f)| f[14 + 28 + 242] == kind).count() as f64 / all.len() as f64;
        assert!(share(REQUEST) > 0.7 && share(INFORM) > 0.05 && share(RELEASE) > 0.02 && share(DECLINE) > 0.001);
    }

    #[test]
    fn a_seed_fixes_the_messages() {
        let of = |seed| Hosts::new(seed, 20).take(200).collect::<Vec<_>>();
        assert!(of(3) == of(3) && of(3) != of(4));
    }
}
