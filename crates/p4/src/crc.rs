//! Cyclic redundancy checks whose parameters the control plane may change, as a table-driven
//! computation reads them.
//!
//! The remainder is kept with its lowest bit first whatever the parameters say; data bytes go
//! through a table that reverses their bits or does not, and the result is reversed at the end if
//! it has to be.
//!
//! Source: Ross Williams, "A painless guide to CRC error detection algorithms", section 15, whose
//! model BMv2 follows.

/// Bytes of [`Parameters::image`].
pub const IMAGE: u32 = 16 + 256 + 1024;
/// Where the table for data bytes begins.
pub(crate) const MAP: u32 = 16;
/// Where the table of remainders begins.
pub(crate) const TABLE: u32 = 16 + 256;

/// What a check is defined by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// 16 or 32.
    pub width: u32,
    /// The polynomial, highest bit first, without the leading one.
    pub polynomial: u32,
    /// The remainder at first.
    pub initial: u32,
    /// What the result is XORed with.
    pub final_xor: u32,
    /// Bytes come lowest bit first.
    pub reflect_data: bool,
    /// The result is reversed.
    pub reflect_remainder: bool,
}

impl Parameters {
    /// CRC-16 (ARC) or CRC-32 (IEEE 802.3).
    #[must_use]
    pub fn standard(width: u32) -> Self {
        let (polynomial, ones) = if width == 32 { (0x04c1_1db7, u32::MAX) } else { (0x8005, 0) };
        Self { width, polynomial, initial: ones, final_xor: ones, reflect_data: true, reflect_remainder: true }
    }

    fn reversed(self, value: u32) -> u32 {
        value.reverse_bits() >> (32 - self.width)
    }

    /// What lies in data memory: the initial remainder, the final mask, whether the result is
    /// reversed, and the two tables. Numbers are little-endian.
    #[must_use]
    pub fn image(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(IMAGE as usize);
        for word in [self.reversed(self.initial), self.final_xor, u32::from(!self.reflect_remainder), 0] {
            out.extend(word.to_le_bytes());
        }
        out.extend((0..=255u8).map(|byte| if self.reflect_data { byte } else { byte.reverse_bits() }));
        let polynomial = self.reversed(self.polynomial);
        for n in 0u32..256 {
            let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ polynomial } else { crc >> 1 };
            out.extend((0..8).fold(n, step).to_le_bytes());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit, as the definition says.
    fn plain(p: Parameters, data: &[u8]) -> u32 {
        let (top, mask) = (1u64 << (p.width - 1), (1u64 << p.width) - 1);
        let mut crc = u64::from(p.initial);
        for byte in data {
            let byte = if p.reflect_data { byte.reverse_bits() } else { *byte };
            for bit in (0..8).rev() {
                let one = (crc & top != 0) ^ (byte >> bit & 1 == 1);
                crc = (crc << 1 & mask) ^ if one { u64::from(p.polynomial) } else { 0 };
            }
        }
        let crc = if p.reflect_remainder { p.reversed(crc as u32) } else { crc as u32 };
        crc ^ p.final_xor
    }

    fn by_image(p: Parameters, data: &[u8]) -> u32 {
        let image = p.image();
        let word = |at: usize| u32::from_le_bytes([image[at], image[at + 1], image[at + 2], image[at + 3]]);
        let step = |crc: u32, byte: &u8| {
            let index = (crc ^ u32::from(image[MAP as usize + usize::from(*byte)])) & 255;
            crc >> 8 ^ word(TABLE as usize + 4 * index as usize)
        };
        let crc = data.iter().fold(word(0), step);
        (if word(8) == 1 { p.reversed(crc) } else { crc }) ^ word(4)
    }

    #[test]
    fn the_tables_give_what_the_definition_gives() {
        let data = b"123456789";
        assert_eq!(by_image(Parameters::standard(32), data), 0xcbf4_3926);
        assert_eq!(by_image(Parameters::standard(16), data), 0xbb3d);
        for (reflect_data, reflect_remainder) in [(false, false), (false, true), (true, false), (true, true)] {
            let p = Parameters { width: 16, polynomial: 0x1021, initial: 0xfff1, final_xor: 7, reflect_data, reflect_remainder };
            assert_eq!(by_image(p, data), plain(p, data));
            let p = Parameters { width: 32, polynomial: 0x1edc_6f41, initial: 0xffff_fff1, ..p };
            assert_eq!(by_image(p, data), plain(p, data));
        }
    }
}
