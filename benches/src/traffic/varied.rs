//! Traces of packets in other mixes: what holds for one trace only is no result.

use super::{Drawn, Packet, Popularity, checksum, words};
use crate::random::Random;

/// How a trace differs from one in which all packets are alike in number, shape and turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// The k-th packet comes 1/k times as often as the first (Zipf): few flows have most of the
    /// packets.
    Zipf,
    /// A packet comes several times in a row, as segments of one flow do: 1 to 15 times.
    Trains,
    /// Of ten packets one is none of those that are mostly meant: its time to live ends, its
    /// checksum is wrong, it is a fragment, it is no IP, or it is for a group of stations.
    Odd,
}

/// As many packets, mixed so; ports take the turns that they took.
pub fn mixed(packets: &[Packet], mix: Mix) -> Vec<Packet> {
    let ports = packets.iter().map(|packet| packet.port).max().unwrap_or(0);
    let of = |port: u32| packets.iter().filter(move |packet| packet.port == port).cloned().collect::<Vec<_>>();
    let mut by_port: Vec<_> = (0..=ports).map(|port| of_one(&of(port), mix).into_iter()).collect();
    packets.iter().filter_map(|packet| by_port[packet.port as usize].next()).collect()
}

/// As many packets at one port, mixed so.
fn of_one(packets: &[Packet], mix: Mix) -> Vec<Packet> {
    let mut random = Random(89_012);
    match mix {
        Mix::Zipf => {
            let drawn = Drawn::new(packets.len(), Popularity::Zipf);
            packets.iter().map(|_| packets[drawn.next(&mut random)].clone()).collect()
        }
        Mix::Trains => {
            let train = |packet: &Packet| vec![packet.clone(); 1 + random.below(15) as usize];
            packets.iter().flat_map(train).take(packets.len()).collect()
        }
        Mix::Odd => {
            packets.iter().map(|packet| if random.below(10) == 0 { odd(packet, random.below(5)) } else { packet.clone() }).collect()
        }
    }
}

/// One of the kinds of packets that are rarely met.
fn odd(packet: &Packet, kind: u64) -> Packet {
    let Packet { port, mut bytes } = packet.clone();
    match kind {
        0 => bytes[22] = 1,
        1 => bytes[24] ^= 0x55,
        // Not the first of a datagram, and more follow.
        2 => bytes[20..22].copy_from_slice(&[0x20, 0xb9]),
        3 => bytes[12..14].copy_from_slice(&[0x88, 0xb5]),
        _ => bytes[..6].copy_from_slice(&[1, 0, 0x5e, 0, 0, 1]),
    }
    if matches!(kind, 0 | 2) {
        bytes[24..26].fill(0);
        let sum = checksum(words(&bytes[14..34]));
        bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    Packet { port, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{routed, routes};
    use std::collections::HashMap;

    #[test]
    fn mixes_have_what_they_are_named_for() {
        let packets = routed(&routes(1000), None);
        let [zipf, trains, odd] = [Mix::Zipf, Mix::Trains, Mix::Odd].map(|mix| mixed(&packets, mix));
        assert!([&zipf, &trains, &odd].iter().all(|mix| mix.len() == packets.len()));
        let mut times: HashMap<&[u8], usize> = HashMap::new();
        zipf.iter().for_each(|packet| *times.entry(&packet.bytes).or_default() += 1);
        // Of 65,536 the first has 1 in H(65,536), about 11.7.
        assert!(times.values().max().is_some_and(|most| (4_500..7_000).contains(most)));
        let repeated = trains.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((packets.len() * 8 / 10..packets.len() * 9 / 10 + 1000).contains(&repeated), "{repeated}");
        let differ = odd.iter().zip(&packets).filter(|(odd, packet)| odd != packet).count();
        assert!((packets.len() / 11..packets.len() / 9).contains(&differ), "{differ}");
        let right = |packet: &&Packet| checksum(words(&packet.bytes[14..34])) == 0;
        let wrong = odd.len() - odd.iter().filter(right).count();
        assert!((differ / 6..differ / 4).contains(&wrong), "{wrong}");
    }
}
