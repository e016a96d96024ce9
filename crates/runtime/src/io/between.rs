//! Synthetic traffic between two networks: the packets of [`super::synth`] with the addresses of a
//! link, as a router, a translator or a firewall meets them there.
//!
//! Invariants: only frames of IPv4 without tags are kept; checksums that were right stay right (RFC
//! 1624); the same options and seed give the same packets on every machine.
//!
//! Leaves out: conversations; each packet stands alone.

use super::Timestamp;
use super::synth::Mix;
use std::net::Ipv4Addr;

/// Hosts of a network that is not a single address, at most: all of them can be announced by ARP.
const HOSTS: u32 = 250;

/// An IPv4 network: an address in it, and the length of its prefix.
pub type Network = (Ipv4Addr, u8);

/// Where packets come from and go to.
#[derive(Clone, Debug, Default)]
pub struct Between {
    /// The Ethernet address that every frame is sent to.
    pub ether: Option<[u8; 6]>,
    /// The network of the sources: its first address is left to the box under test, the next 250
    /// are hosts.
    pub src: Option<Network>,
    /// The network of the destinations, likewise.
    pub dst: Option<Network>,
    /// Whether all hosts of `src` tell their Ethernet addresses first (ARP replies).
    pub arp: bool,
}

impl Between {
    /// The traffic for a seed; endless.
    pub fn packets(self, seed: u64) -> impl Iterator<Item = (Timestamp, Vec<u8>)> {
        let mut mix = Mix::new(seed).peekable();
        let begun = mix.peek().map(|(time, _)| *time);
        let announced: Vec<_> = self.announcements().into_iter().filter_map(|frame| Some((begun?, frame))).collect();
        announced.into_iter().chain(mix.filter_map(move |(time, frame)| Some((time, self.readdressed(frame)?))))
    }

    fn announcements(&self) -> Vec<Vec<u8>> {
        let Some((network, length)) = self.src.filter(|_| self.arp) else { return Vec::new() };
        let router = Ipv4Addr::from(u32::from(network) & mask(length) | 1);
        (0..hosts(length)).map(|n| self.announcement(host((network, length), n), router)).collect()
    }

    fn announcement(&self, host: Ipv4Addr, router: Ipv4Addr) -> Vec<u8> {
        let to = self.ether.unwrap_or([0xff; 6]);
        let mut frame = [&to[..], &ether(host), &[8, 6, 0, 1, 8, 0, 6, 4, 0, 2]].concat();
        frame.extend([&ether(host)[..], &host.octets(), &to, &router.octets()].concat());
        frame.resize(60, 0);
        frame
    }

    /// The frame with the addresses of this link; none if it is not of IPv4, or tagged.
    fn readdressed(&self, mut frame: Vec<u8>) -> Option<Vec<u8>> {
        if frame.get(12..14)? != [8, 0] || frame.len() < 34 {
            return None;
        }
        let address = |frame: &[u8], at: usize| Ipv4Addr::from([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
        for (at, network) in [(26, self.src), (30, self.dst)] {
            if let Some(network) = network {
                let new = host(network, scattered(address(&frame, at)) % hosts(network.1));
                replace(&mut frame, at, new);
            }
        }
        if let Some(to) = self.ether {
            frame[..6].copy_from_slice(&to);
        }
        let from = ether(address(&frame, 26));
        frame[6..12].copy_from_slice(&from);
        Some(frame)
    }
}

fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0)
}

fn hosts(length: u8) -> u32 {
    (!mask(length)).saturating_sub(2).clamp(1, HOSTS)
}

/// The host with that number; of a single address, it.
fn host((network, length): Network, number: u32) -> Ipv4Addr {
    match length {
        31.. => network,
        _ => Ipv4Addr::from((u32::from(network) & mask(length)) + 2 + number),
    }
}

/// Spreads addresses that lie side by side (Knuth, multiplicative hashing).
fn scattered(address: Ipv4Addr) -> u32 {
    u32::from(address).wrapping_mul(0x9e37_79b1) >> 8
}

/// A host's Ethernet address: locally administered, with its IPv4 address in it.
fn ether(host: Ipv4Addr) -> [u8; 6] {
    let [a, b, c, d] = host.octets();
    [2, 1, a, b, c, d]
}

/// Replaces an address of an IPv4 header at byte 14, and makes up for it in the checksums.
fn replace(frame: &mut [u8], at: usize, new: Ipv4Addr) {
    let before = [frame[at], frame[at + 1], frame[at + 2], frame[at + 3]];
    frame[at..at + 4].copy_from_slice(&new.octets());
    let start = 14 + usize::from(frame[14] & 15) * 4;
    let is_first = u16::from_be_bytes([frame[20], frame[21]]) & 0x1fff == 0;
    let transport = match frame[23] {
        6 if is_first => Some(start + 16),
        17 if is_first => Some(start + 6),
        _ => None,
    };
    for sum in [Some(24), transport].into_iter().flatten().filter(|sum| sum + 2 <= frame.len()).collect::<Vec<_>>() {
        let was = u16::from_be_bytes([frame[sum], frame[sum + 1]]);
        frame[sum..sum + 2].copy_from_slice(&updated(was, before, new.octets()).to_be_bytes());
    }
}

/// RFC 1624, equation 3: HC' = ~(~HC + ~m + m').
fn updated(sum: u16, before: [u8; 4], after: [u8; 4]) -> u16 {
    let words = |bytes: [u8; 4]| [u16::from_be_bytes([bytes[0], bytes[1]]), u16::from_be_bytes([bytes[2], bytes[3]])];
    let mut total = u32::from(!sum);
    total += words(before).iter().map(|word| u32::from(!word)).sum::<u32>() + words(after).iter().copied().map(u32::from).sum::<u32>();
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(bytes: &[u8]) -> u32 {
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from)).sum()
    }

    fn folded(mut sum: u32) -> u32 {
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    }

    #[test]
    fn packets_have_the_addresses_of_the_link_and_right_checksums() {
        let between = Between {
            ether: Some([2, 0, 0, 0, 0, 9]),
            src: Some((Ipv4Addr::new(10, 0, 3, 77), 24)),
            dst: Some((Ipv4Addr::new(192, 0, 2, 80), 32)),
            arp: true,
        };
        let all: Vec<_> = between.packets(1).take(3000).collect();
        let (arp, ip): (Vec<_>, Vec<_>) = all.iter().partition(|(_, frame)| frame[12..14] == [8, 6]);
        assert_eq!((arp.len(), ip.len()), (250, 2750));
        assert!(arp.iter().all(|(_, frame)| frame[20..22] == [0, 2] && frame[6..12] == frame[22..28] && frame[38..42] == [10, 0, 3, 1]));
        let known: Vec<&[u8]> = arp.iter().map(|(_, frame)| &frame[22..32]).collect();
        for (_, frame) in ip {
            assert_eq!((&frame[..6], &frame[26..29], &frame[30..34]), (&[2, 0, 0, 0, 0, 9][..], &[10, 0, 3][..], &[192, 0, 2, 80][..]));
            assert!(known.contains(&&[&frame[6..12], &frame[26..30]].concat()[..]));
            let start = 14 + usize::from(frame[14] & 15) * 4;
            assert_eq!(folded(sum(&frame[14..start])), 0xffff);
            let end = 14 + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
            if frame[20..22] == [0x40, 0] && frame[23] == 6 {
                let pseudo = sum(&frame[26..34]) + 6 + (end - start) as u32;
                assert_eq!(folded(pseudo + sum(&frame[start..end])), 0xffff);
            }
        }
    }

    #[test]
    fn addresses_stay_where_no_network_is_given() {
        let plain: Vec<_> = Mix::new(3).filter(|(_, frame)| frame[12..14] == [8, 0]).take(50).collect();
        let same: Vec<_> = Between::default().packets(3).take(50).collect();
        assert!(plain.iter().zip(&same).all(|(a, b)| a.0 == b.0 && a.1[..6] == b.1[..6] && a.1[12..] == b.1[12..]));
    }
}
