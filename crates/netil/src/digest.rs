//! Checksums and hashes that instructions compute and that the binary form is guarded with.
//!
//! Sources: CRC-32 of IEEE 802.3, CRC-16/CCITT as X.25 uses it (RFC 1662 appendix C), CRC-32C (RFC
//! 3720 section 12.1), the Internet checksum (RFC 1071) and its update (RFC 1624 equation 3),
//! MurmurHash3_x86_32 by Austin Appleby (public domain). Table driven, a byte at a time: this is
//! the meaning that faster code is tested against.

/// The CRC of that kind, or `None` for a kind that does not exist: 0 CRC-32 (IEEE 802.3), 1
/// CRC-16/CCITT (X.25, in the low 16 bits), 2 CRC-32C.
pub fn crc(kind: u8, bytes: &[u8]) -> Option<u32> {
    match kind {
        0 => Some(!reflected(&CRC_32, u32::MAX, bytes)),
        1 => Some(reflected(&CRC_16, 0xffff, bytes) ^ 0xffff),
        2 => Some(!reflected(&CRC_32C, u32::MAX, bytes)),
        _ => None,
    }
}

/// CRC-32 of the parts one after the other.
pub fn crc32(parts: &[&[u8]]) -> u32 {
    !parts.iter().fold(u32::MAX, |crc, part| reflected(&CRC_32, crc, part))
}

/// The Internet checksum: the complement of [`ones_sum`].
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    !ones_sum(bytes)
}

/// The one's complement sum of the big-endian 16-bit words, a last odd byte padded with a zero byte
/// behind it.
pub fn ones_sum(bytes: &[u8]) -> u16 {
    let word = |c: &[u8]| u64::from(c[0]) << 8 | u64::from(c.get(1).copied().unwrap_or(0));
    fold(bytes.chunks(2).map(word).sum())
}

/// The checksum of the data after a 16-bit value was added to it: `~(~sum + value)`.
pub fn checksum_add(sum: u16, value: u16) -> u16 {
    !fold(u64::from(!sum) + u64::from(value))
}

/// The checksum of the data after a 16-bit value was taken out of it: `~(~sum + ~value)`.
pub fn checksum_sub(sum: u16, value: u16) -> u16 {
    !fold(u64::from(!sum) + u64::from(!value))
}

/// MurmurHash3 (32-bit, seed 0) of the words' bytes, each word least significant byte first.
pub fn murmur3(words: &[u32]) -> u32 {
    let hash = words.iter().fold(0u32, |h, w| {
        let k = w.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        (h ^ k).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    finish(hash ^ (words.len() as u32).wrapping_mul(4))
}

fn finish(mut h: u32) -> u32 {
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn reflected(table: &[u32; 256], start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |crc, b| table[usize::from(crc as u8 ^ b)] ^ (crc >> 8))
}

static CRC_32: [u32; 256] = table(0xedb8_8320);
static CRC_16: [u32; 256] = table(0x8408);
static CRC_32C: [u32; 256] = table(0x82f6_3b78);

/// The table of a reflected CRC with that (reflected) polynomial.
const fn table(polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let (mut crc, mut bit) = (i as u32, 0);
        while bit < 8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { polynomial } else { 0 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crcs_of_the_check_string() {
        let check = b"123456789";
        assert_eq!(crc(0, check), Some(0xcbf4_3926));
        assert_eq!(crc(1, check), Some(0x906e));
        assert_eq!(crc(2, check), Some(0xe306_9283));
        assert_eq!(crc(3, check), None);
        assert_eq!(crc32(&[b"1234", b"", b"56789"]), 0xcbf4_3926);
        assert_eq!(crc(0, b""), Some(0));
    }

    #[test]
    fn crc32c_of_rfc_3720() {
        assert_eq!(crc(2, &[0; 32]), Some(0x8a91_36aa));
        assert_eq!(crc(2, &[0xff; 32]), Some(0x62a8_ab43));
    }

    #[test]
    fn sum_of_rfc_1071() {
        assert_eq!(ones_sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
        assert_eq!(ones_sum(&[0xff, 0xff, 0x01]), 0x0100);
        assert_eq!(internet_checksum(&[]), 0xffff);
    }

    #[test]
    fn checksum_of_an_ipv4_header() {
        let mut header = [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        let sum = internet_checksum(&header);
        assert_eq!(sum, 0xb861);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(ones_sum(&header), 0xffff);
    }

    #[test]
    fn update_of_rfc_1624() {
        // Section 4: 0x5555 becomes 0x3285 and the checksum 0xdd2f becomes 0x0000, not 0xffff.
        assert_eq!(checksum_add(checksum_sub(0xdd2f, 0x5555), 0x3285), 0x0000);
    }

    #[test]
    fn updates_agree_with_a_new_sum() {
        let data = [0x12, 0x34, 0xab, 0xcd, 0x00, 0x01];
        let old = internet_checksum(&data);
        assert_eq!(checksum_sub(old, 0xabcd), internet_checksum(&[0x12, 0x34, 0, 0, 0, 1]));
        assert_eq!(checksum_add(old, 0x7fff), internet_checksum(&[0x12, 0x34, 0xab, 0xcd, 0, 1, 0x7f, 0xff]));
    }

    #[test]
    fn murmur3_known_answers() {
        assert_eq!(murmur3(&[]), 0);
        assert_eq!(murmur3(&[0]), 0x2362_f9de);
        assert_eq!(murmur3(&[u32::MAX]), 0x7629_3b50);
        assert_eq!(murmur3(&[0x8765_4321]), 0xf55b_516b);
        assert_eq!(murmur3(&[u32::from_le_bytes(*b"test")]), 0xba6b_d213);
        let fox = b"The quick brown fox jumps over the lazy dog.";
        let words: Vec<u32> = fox.chunks(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
        assert_eq!(murmur3(&words), 0xd5c4_8bfc);
    }
}
