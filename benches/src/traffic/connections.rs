//! TCP connections through a firewall that remembers them, both ways: half of them begun from
//! inside, at port 0, half from outside, at port 1.
//!
//! First come all SYNs, then all answers to them, then data in random order. Both ports have as
//! many packets, and what is the k-th of one arrives when the k-th of the other does: so an answer
//! comes when the SYN has long passed. In later passes SYNs are retransmissions of connections that
//! stand.

use super::{ACK, Flow, Frame, PACKETS, Packet, SYN, TCP, flows};
use crate::random::Random;

/// Services: of hosts outside, and of hosts inside.
const SERVICES: [u16; 2] = [80, 443];

/// Packets of so many connections, an even number.
pub fn connected(count: usize) -> Vec<Packet> {
    let (flows, mut random) = (flows(count), Random(89_012));
    let (syns, answers) = ((0..count).map(|n| (n, n % 2, SYN)), (0..count).map(|n| (n ^ 1, n % 2, SYN | ACK)));
    let data = (0..PACKETS).map(|i| (random.below(count as u64) as usize, i % 2, ACK));
    syns.chain(answers).chain(data).map(|(n, port, flags)| packet(&flows[n], n % 2, port, flags)).collect()
}

/// A packet of a connection that was begun by that side, from the host at that port.
fn packet(flow: &Flow, begun: usize, port: usize, flags: u8) -> Packet {
    let service = SERVICES[begun];
    let (inside, outside) = if begun == 0 { (flow.sport, service) } else { (service, flow.sport) };
    let mut ends = [(flow.source, inside), (flow.destination, outside)];
    ends.rotate_left(port);
    let [(source, sport), (destination, dport)] = ends;
    let frame = Frame { protocol: TCP, source, sport, destination, dport, flags, id: sport ^ dport, ..Frame::default() };
    Packet { port: port as u32, bytes: frame.bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn connections_are_opened_before_they_carry_data() {
        let packets = connected(1000);
        assert_eq!(packets.len(), 2000 + PACKETS);
        let mut opened: HashMap<Vec<u8>, u8> = HashMap::new();
        for (i, packet) in packets.iter().enumerate() {
            assert_eq!(packet.port as usize, i % 2);
            // Ends, the inside one first.
            let mut ends =
                [[&packet.bytes[26..30], &packet.bytes[34..36]].concat(), [&packet.bytes[30..34], &packet.bytes[36..38]].concat()];
            ends.rotate_left(packet.port as usize);
            let (from, flags) = (1 << packet.port, packet.bytes[47]);
            let sides = opened.entry(ends.concat()).or_default();
            let wanted = [SYN, SYN | ACK, ACK][sides.count_ones() as usize];
            assert_eq!(flags, wanted, "packet {i}");
            if flags & SYN != 0 {
                assert_eq!(*sides & from, 0, "packet {i}");
                *sides |= from;
            }
        }
        assert_eq!(opened.len(), 1000);
    }
}
