//! Where the generator's decisions come from, and the values it prefers.

use crate::wide;

/// A source of decisions: bytes, then either an endless sequence of random numbers or zeros.
pub(super) struct Choices<'a> {
    bytes: std::slice::Iter<'a, u8>,
    seed: Option<u64>,
}

impl<'a> Choices<'a> {
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        Self { bytes: bytes.iter(), seed: None }
    }

    pub fn of_seed(seed: u64) -> Self {
        Self { bytes: [].iter(), seed: Some(seed) }
    }

    pub fn byte(&mut self) -> u8 {
        match (self.bytes.next(), &mut self.seed) {
            (Some(b), _) => *b,
            (None, Some(seed)) => (next(seed) >> 56) as u8,
            (None, None) => 0,
        }
    }

    /// Less than `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u32) -> u32 {
        let more = if n > 256 { u32::from(self.byte()) << 8 | u32::from(self.byte()) << 16 } else { 0 };
        (u32::from(self.byte()) | more).checked_rem(n).unwrap_or(0)
    }

    /// True `m` times of `n`.
    pub fn chance(&mut self, m: u32, n: u32) -> bool {
        // Counted from the end, so that zeros, which a used up byte string gives, say no.
        self.below(n) >= n - m
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len() as u32) as usize]
    }

    pub fn width(&mut self) -> u16 {
        match self.below(8) {
            0 => 1 + self.below(2048) as u16,
            1 => *self.pick(&[127, 129, 192, 255, 256, 257, 1024, 2047, 2048]),
            _ => *self.pick(&[1, 2, 7, 8, 9, 16, 24, 31, 33, 48, 63, 64, 65, 128]),
        }
    }

    /// A 32-bit value near a boundary, or any.
    pub fn word(&mut self) -> u32 {
        match self.below(8) {
            0 | 1 => self.below(64),
            2 => u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()]),
            3 => self.below(1 << 16),
            4 => 1u32.rotate_left(self.below(32)),
            5 => (1u32.rotate_left(self.below(32))).wrapping_sub(1),
            _ => *self.pick(&[
                0,
                1,
                2,
                u32::MAX,
                0x7fff_ffff,
                0x8000_0000,
                0x7f,
                0x80,
                0xff,
                0x100,
                0xffff,
                0x1_0000,
                31,
                32,
                33,
                0xffff_fffe,
            ]),
        }
    }

    /// A value of `width` bits near a boundary, or any.
    pub fn value(&mut self, width: u16) -> Box<[u64]> {
        let n = wide::limbs(width);
        let mut v = match self.below(6) {
            0 => vec![0; n],
            1 => vec![u64::MAX; n],
            2 => (0..n).map(|_| u64::from_le_bytes(std::array::from_fn(|_| self.byte()))).collect(),
            3 => vec![0x8000_0000_0000_0000 >> (self.below(2) * 63); n],
            _ => vec![0; n],
        };
        match self.below(4) {
            0 => v[0] ^= u64::from(self.word()),
            1 => v[n - 1] ^= 1 << ((width - 1) % 64),
            2 => {
                let bit = self.below(width.into()) as usize;
                v[bit / 64] ^= 1 << (bit % 64);
            }
            _ => {}
        }
        wide::normalise(width, &mut v);
        v.into()
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
