//! TCP connections of application protocols: the traffic of `apps/classifier`, and of all that
//! follows flows.
//!
//! So many connections are open at a time; one that ends is followed by another. Packets of a
//! connection come in trains of one to eight, as a link shows them: whatever looks at windows of
//! packets meets the same flow again and again. What connections begin with is real; the rest is
//! filler. In one of five the client's first bytes come in small segments, in one of ten two
//! neighbours change places, and one of ten carries what no expression fits. The same numbers give
//! the same packets on every machine.
//!
//! Leaves out: retransmissions, windows, congestion.

use super::frame::Headers;
use super::{Random, START};
use crate::io::Timestamp;
use std::collections::VecDeque;
use std::net::Ipv4Addr;

const FIN: u8 = 1;
const SYN: u8 = 2;
const PSH: u8 = 8;
const ACK: u8 = 16;
/// The most that a segment carries.
const SEGMENT: usize = 1400;
const MOST: u32 = 1 << 20;

/// What connections of a protocol begin with: its share in a thousand, the port, what the client
/// and the server say first.
struct Protocol(u64, u16, &'static [u8], &'static [u8]);

const PROTOCOLS: [Protocol; 10] = [
    Protocol(
        330,
        443,
        b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03 client hello",
        b"\x16\x03\x03\x00\x5a\x02\x00\x00\x56\x03\x03 server hello",
    ),
    Protocol(
        330,
        80,
        b"GET /page HTTP/1.1\r\nHost: www.example.net\r\nUser-Agent: synth/1.0 (a client of no browser)\r\nAccept: */*\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>",
    ),
    Protocol(40, 22, b"SSH-2.0-OpenSSH_9.6\r\n", b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"),
    Protocol(50, 25, b"EHLO mail.example.org\r\n", b"220 mail.example.net ESMTP ready\r\n"),
    Protocol(20, 110, b"CAPA\r\n", b"+OK ready\r\n"),
    Protocol(30, 143, b"a1 CAPABILITY\r\n", b"* OK IMAP4rev1 ready\r\n"),
    Protocol(20, 21, b"USER anonymous\r\n", b"220 ftp.example.net FTP server\r\n"),
    Protocol(
        50,
        6881,
        b"\x13BitTorrent protocol\x00\x00\x00\x00\x00\x10\x00\x05",
        b"\x13BitTorrent protocol\x00\x00\x00\x00\x00\x10\x00\x01",
    ),
    Protocol(30, 6379, b"*1\r\n$4\r\nPING\r\n", b"+PONG\r\n"),
    // What no expression fits.
    Protocol(100, 9999, b"\x7fQ\x01\x02 a protocol of nobody", b"\x7fA\x01\x02 its answer"),
];

/// A segment that is still to come.
struct Segment {
    from_client: bool,
    seq: u32,
    ack: u32,
    flags: u8,
    payload: Vec<u8>,
}

struct Connection {
    client: (Ipv4Addr, u16),
    server: (Ipv4Addr, u16),
    segments: VecDeque<Segment>,
}

/// The packets of a link with connections; endless.
pub struct Services {
    random: Random,
    open: Vec<Connection>,
    /// The connection that sends, and how many packets more.
    train: (usize, u64),
    micros: u64,
    id: u16,
}

impl Services {
    /// So many connections at a time, 1,048,576 at most.
    pub fn new(seed: u64, connections: u32) -> Self {
        let mut random = Random(seed);
        let open = (0..connections.clamp(1, MOST)).map(|_| connection(&mut random)).collect();
        Self { random, open, train: (0, 0), micros: 0, id: 0 }
    }
}

impl Iterator for Services {
    type Item = (Timestamp, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.train.1 == 0 {
            self.train = (self.random.within(0, self.open.len() as u64) as usize, self.random.within(1, 9));
        }
        self.train.1 -= 1;
        self.micros += self.random.within(1, 80);
        self.id = self.id.wrapping_add(1);
        let open = &mut self.open[self.train.0];
        let segment = open.segments.pop_front()?;
        let mut ends = [(open.client, [2, 0, 0, 0, 0, 7]), (open.server, [2, 0, 0, 0, 0, 8])];
        if !segment.from_client {
            ends.swap(0, 1);
        }
        let [(from, from_ether), (to, to_ether)] = ends;
        let headers = Headers { ether: [from_ether, to_ether], from, to, id: self.id };
        let frame = headers.tcp((segment.seq, segment.ack), segment.flags, &segment.payload);
        if open.segments.is_empty() {
            *open = connection(&mut self.random);
            self.train.1 = 0;
        }
        Some((Timestamp::from_micros(START + (self.micros / 1_000_000) as i64, (self.micros % 1_000_000) as u32), frame))
    }
}

/// A connection with all its segments.
fn connection(random: &mut Random) -> Connection {
    let mut point = random.within(0, 1000);
    let chosen = PROTOCOLS.iter().find(|protocol| {
        let found = point < protocol.0;
        point = point.saturating_sub(protocol.0);
        found
    });
    let Protocol(_, port, client, server) = chosen.unwrap_or(&PROTOCOLS[0]);
    let address = |net: u32, random: &mut Random| Ipv4Addr::from(net << 24 | random.within(1, 1 << 16) as u32);
    Connection {
        client: (address(10, random), random.within(32_768, 61_000) as u16),
        server: (address(192, random), *port),
        segments: segments(client, server, random),
    }
}

/// Opening, what both sides say, the end.
fn segments(client: &[u8], server: &[u8], random: &mut Random) -> VecDeque<Segment> {
    let mut next = [random.next() as u32, random.next() as u32];
    let mut all: Vec<Segment> = Vec::new();
    let mut say = |side: usize, flags: u8, payload: &[u8]| {
        let ack = if flags & ACK != 0 { next[1 - side] } else { 0 };
        all.push(Segment { from_client: side == 0, seq: next[side], ack, flags, payload: payload.to_vec() });
        next[side] = next[side].wrapping_add(payload.len() as u32 + u32::from(flags & (SYN | FIN) != 0));
    };
    say(0, SYN, &[]);
    say(1, SYN | ACK, &[]);
    say(0, ACK, &[]);
    let small = random.chance(200);
    for part in filled(client, random.within(0, 200) as usize).chunks(if small { 7 } else { SEGMENT }) {
        say(0, PSH | ACK, part);
    }
    for part in filled(server, random.within(0, 12_000) as usize).chunks(SEGMENT) {
        say(1, PSH | ACK, part);
        say(0, ACK, &[]);
    }
    say(0, FIN | ACK, &[]);
    say(1, FIN | ACK, &[]);
    if random.chance(100) {
        let at = random.within(3, all.len() as u64 - 2) as usize;
        all.swap(at, at + 1);
    }
    all.into()
}

fn filled(begin: &[u8], more: usize) -> Vec<u8> {
    begin.iter().copied().chain((0..more).map(|n| b'a' + (n % 26) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn packets_come_in_trains_and_connections_begin_with_a_syn() {
        let all: Vec<_> = Services::new(1, 200).take(20_000).collect();
        assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let flow = |f: &[u8]| {
            let (a, b) = ([&f[26..30], &f[34..36]].concat(), [&f[30..34], &f[36..38]].concat());
            if a < b { (a, b) } else { (b, a) }
        };
        let same = all.windows(2).filter(|pair| flow(&pair[0].1) == flow(&pair[1].1)).count();
        assert!((70..90).contains(&(same * 100 / all.len())), "{same}");
        let mut first: HashMap<_, u8> = HashMap::new();
        for (_, frame) in &all {
            first.entry(flow(frame)).or_insert(frame[47]);
        }
        assert!(first.len() > 500 && first.values().all(|flags| *flags == SYN));
    }
}
