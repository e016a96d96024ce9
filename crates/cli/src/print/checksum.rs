//! The Internet checksum (RFC 1071), to say whether a packet's is right.

use super::view::View;
use std::net::IpAddr;

/// What a header that carries `found` should carry, or nothing if it is right. `covered` is what
/// the checksum covers, itself included.
pub(super) fn expected(found: u16, covered: &[u8], pseudo: u32) -> Option<u16> {
    let sum = fold(sum(covered) + u64::from(pseudo));
    if sum == 0xffff {
        return None;
    }
    // Take the wrong value out of the sum again.
    Some(!fold(u64::from(sum) + u64::from(!found)))
}

/// The sum over the pseudo header of TCP, UDP and ICMPv6.
pub(super) fn pseudo(src: IpAddr, dst: IpAddr, protocol: u8, view: View<'_>) -> u32 {
    let addresses = address(src) + address(dst);
    let length = view.len() as u64;
    u32::from(fold(addresses + (length >> 16) + (length & 0xffff) + u64::from(protocol)))
}

fn address(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(a) => sum(&a.octets()),
        IpAddr::V6(a) => sum(&a.octets()),
    }
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0))).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_checksum_is_told_with_the_right_one() {
        // An IPv4 header, its checksum in bytes 10 and 11.
        let mut header =
            [0x45, 0x00, 0x00, 0x40, 0xdf, 0x8e, 0x40, 0x00, 0x40, 0x06, 0x6d, 0xd3, 0x8d, 0x8e, 0xe4, 0x05, 0xc0, 0x96, 0xbb, 0x2b];
        assert_eq!(expected(0x6dd3, &header, 0), None);
        header[10] = 0x11;
        assert_eq!(expected(0x11d3, &header, 0), Some(0x6dd3));
    }

    #[test]
    fn an_odd_last_byte_counts_as_the_high_half() {
        assert_eq!(expected(0, &[0xff, 0xff, 0x00], 0), None);
        assert_eq!(expected(0, &[0x01, 0x02, 0x03], 0), Some(!0x0402));
    }
}
