//! What a key of an entry matches, and as which values and masks.

use num_bigint::BigInt;
use num_traits::{One, Zero};

/// What a key of an entry matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyMatch {
    /// That value.
    Value(BigInt),
    /// Values that begin with those of these bits.
    Prefix(BigInt, u32),
    /// Value and mask.
    Mask(BigInt, BigInt),
    /// From the lowest to the highest, both included.
    Range(BigInt, BigInt),
    /// Every value.
    Any,
}

pub(crate) fn ones(bits: u32) -> BigInt {
    (BigInt::one() << bits) - 1
}

impl std::fmt::Display for KeyMatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Value(value) => write!(f, "{value:#x}"),
            Self::Prefix(value, bits) => write!(f, "{value:#x}/{bits}"),
            Self::Mask(value, mask) => write!(f, "{value:#x}&&&{mask:#x}"),
            Self::Range(low, high) => write!(f, "{low:#x}->{high:#x}"),
            Self::Any => write!(f, "*"),
        }
    }
}

impl KeyMatch {
    /// True if no bit of it is lost in a number of that width.
    #[must_use]
    pub fn fits(&self, width: u32) -> bool {
        let fits = |value: &BigInt| value.sign() != num_bigint::Sign::Minus && value.bits() <= u64::from(width);
        match self {
            Self::Value(value) => fits(value),
            Self::Prefix(value, bits) => fits(value) && *bits <= width,
            Self::Mask(a, b) | Self::Range(a, b) => fits(a) && fits(b),
            Self::Any => true,
        }
    }

    /// As values and masks.
    pub(crate) fn masks(&self, width: u32) -> Vec<(BigInt, BigInt)> {
        match self {
            Self::Value(v) => vec![(v & ones(width), ones(width))],
            Self::Prefix(v, bits) => {
                let mask = ones(width) - ones(width - (*bits).min(width));
                vec![(v & &mask, mask)]
            }
            Self::Mask(v, m) => vec![(v & m & ones(width), m & ones(width))],
            Self::Range(low, high) => prefixes(low & ones(width), high & ones(width), width),
            Self::Any => vec![(BigInt::zero(), BigInt::zero())],
        }
    }
}

/// The prefixes that cover a range.
fn prefixes(mut low: BigInt, high: BigInt, width: u32) -> Vec<(BigInt, BigInt)> {
    let mut out = Vec::new();
    while low <= high {
        let mut bits = low.trailing_zeros().map_or(width, |n| (n as u32).min(width));
        while bits > 0 && &low + ones(bits) > high {
            bits -= 1;
        }
        out.push((low.clone(), ones(width) - ones(bits)));
        low += BigInt::one() << bits;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_become_prefixes_that_cover_just_them() {
        for (low, high) in [(0u32, 255), (1, 14), (5, 5), (7, 200), (0, 0), (255, 255)] {
            let all = prefixes(low.into(), high.into(), 8);
            for value in 0u32..256 {
                let hits = all.iter().filter(|(v, m)| BigInt::from(value) & m == *v).count();
                assert_eq!(hits, usize::from(low <= value && value <= high), "{low}..{high} {value}");
            }
        }
    }
}
