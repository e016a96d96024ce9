//! The flow that a frame belongs to, as far as replicas of a program need it: the two addresses that it is between.
//!
//! An ICMP error belongs to the flow whose packet it quotes, and both directions are one flow. Ports do not count, so that fragments stay together. What has no IP header
//! behind Ethernet and at most two VLAN tags is one flow.
//!
//! Left out: extension headers of IPv6 before ICMPv6; fragments of ICMP errors, which are taken for packets between their own addresses.
//!
//! Source: RFC 791, 792, 4443; IEEE 802.1Q.

use super::LinkType;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TAGS: [u16; 2] = [0x8100, 0x88a8];
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

/// Spreads sums over replicas: 2^32 divided by the golden ratio (D. Knuth, The Art of Computer Programming, volume 3, section 6.4).
pub(super) const SPREAD: u32 = 0x9e37_79b1;

/// Which of so many replicas, 2^16 at most, has a frame. A classic BPF program says the same in the kernel ([`crate::io::device`]), which can calculate with 32 bits.
pub(crate) fn replica(link: LinkType, frame: &[u8], replicas: usize) -> usize {
    let hash = sum(link, frame).wrapping_mul(SPREAD) >> 16;
    ((u64::from(hash) * replicas as u64) >> 16) as usize
}

/// The sum of both addresses of a frame's flow, taken as words; 0 for what has none. A sum does not tell which address came first.
fn sum(link: LinkType, frame: &[u8]) -> u32 {
    let ip = match link {
        LinkType::EN10MB => behind_ethernet(frame),
        LinkType::RAW => Some(frame),
        _ => None,
    };
    let Some(flow) = ip.and_then(|ip| addresses(quoted(ip).unwrap_or(ip))) else { return 0 };
    flow.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)).fold(0, u32::wrapping_add)
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|word| u16::from_be_bytes([word[0], word[1]]))
}

fn behind_ethernet(frame: &[u8]) -> Option<&[u8]> {
    let mut at = 12;
    for _ in 0..2 {
        if TAGS.contains(&word(frame, at)?) {
            at += 4;
        }
    }
    matches!(word(frame, at)?, IPV4 | IPV6).then(|| &frame[at + 2..])
}

/// The two addresses of an IP header, which stand next to each other.
fn addresses(ip: &[u8]) -> Option<&[u8]> {
    let (at, len) = match ip.first()? >> 4 {
        4 => (12, 4),
        6 => (8, 16),
        _ => return None,
    };
    ip.get(at..at + 2 * len)
}

/// The IP header that an ICMP error quotes.
fn quoted(ip: &[u8]) -> Option<&[u8]> {
    let at = match ip.first()? >> 4 {
        4 if *ip.get(9)? == ICMP && word(ip, 6)? & 0x1fff == 0 => {
            let at = usize::from(ip[0] & 15) * 4;
            matches!(ip.get(at)?, 3 | 4 | 5 | 11 | 12).then_some(at)?
        }
        6 if *ip.get(6)? == ICMPV6 => matches!(ip.get(40)?, 1..=4).then_some(40)?,
        _ => return None,
    };
    let inner = ip.get(at + 8..)?;
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
        assert_eq!(of(&frame([header(ICMPV6, 9, 1), vec![1, 0, 0, 0, 0, 0, 0, 0], header(6, 1, 2)].concat())), wanted);
        assert_ne!(of(&frame(header(6, 1, 3))), wanted);
    }
}
