//! Entries of tables as the control plane knows them, to entries of the module's tables.
//!
//! A range becomes the prefixes that cover it, so that an entry may become several of the same
//! priority and value.

use crate::pipeline::{ActionMeta, InitialEntry, KeyMeta, TableMeta};
use netil::module::Entry;
use num_bigint::BigInt;
use num_traits::{One, Zero};

/// The priority of what goes first where the lowest wins, as in BMv2: others are so much less. In
/// tables the highest wins.
pub const LOWEST_WINS: u32 = 1 << 31;

/// The most entries of the module that one entry may become.
const MAX_EXPANSION: usize = 1 << 16;

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

fn ones(bits: u32) -> BigInt {
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
    fn masks(&self, width: u32) -> Vec<(BigInt, BigInt)> {
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

/// Why an entry is none of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryError {
    /// The table has no such action.
    NoAction(String),
    /// It has another number of keys, or the action of parameters.
    Unsuitable(String),
    /// It would be too many of the module's.
    TooMany(String),
}

impl std::fmt::Display for EntryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::NoAction(text) | Self::Unsuitable(text) | Self::TooMany(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for EntryError {}

/// An entry's or member's value: the action's number, and its parameters.
///
/// # Errors
/// There is no such action, or it takes another number of parameters.
pub fn value(of: &str, actions: &[ActionMeta], bytes: u32, action: usize, args: &[BigInt]) -> Result<Vec<u8>, EntryError> {
    let meta = actions.get(action).ok_or_else(|| EntryError::NoAction(format!("{of} has no action {action}")))?;
    if meta.params.len() != args.len() {
        return Err(EntryError::Unsuitable(format!("action {} takes {} parameters, not {}", meta.name, meta.params.len(), args.len())));
    }
    let mut value = vec![0; bytes as usize];
    value[..2].copy_from_slice(&(action as u16).to_le_bytes());
    for (param, arg) in meta.params.iter().zip(args) {
        let low = crate::check::convert::wrap(arg, param.width, false);
        let bytes = low.to_bytes_le().1;
        let at = param.at as usize;
        for (n, byte) in bytes.into_iter().take((param.width as usize).div_ceil(8)).enumerate() {
            value[at + n] = byte;
        }
    }
    Ok(value)
}

/// Entries of a ternary table whose keys stand in a row, the first one highest, with zeros in
/// front. Only the bits of `counted` count, if it is there.
///
/// # Errors
/// They would be too many.
pub fn ternary(widths: &[u32], key_bits: u16, keys: &[KeyMatch], counted: Option<&BigInt>) -> Result<Vec<Entry>, EntryError> {
    let mut combined = vec![(BigInt::zero(), ones(u32::from(key_bits)) - ones(widths.iter().sum()))];
    let mut shift: u32 = widths.iter().sum();
    for (key, width) in keys.iter().zip(widths) {
        shift -= width;
        let masks = key.masks(*width);
        if combined.len() * masks.len() > MAX_EXPANSION {
            return Err(EntryError::TooMany(format!("this would be more than {MAX_EXPANSION} entries")));
        }
        let join = |(v, m): &(BigInt, BigInt)| -> Vec<(BigInt, BigInt)> {
            masks.iter().map(|(kv, km)| (v | (kv << shift), m | (km << shift))).collect()
        };
        combined = combined.iter().flat_map(join).collect();
    }
    if let Some(counted) = counted {
        combined = combined.into_iter().map(|(v, m)| (v & counted, m & counted)).collect();
        combined.sort();
        combined.dedup();
    }
    let limbs = |v: &BigInt| crate::lower::limbs(v, key_bits);
    Ok(combined.into_iter().map(|(v, m)| Entry { key: limbs(&v), mask: limbs(&m), priority: 1, value: [0].into() }).collect())
}

impl TableMeta {
    /// An entry's value: the action's number, and its parameters.
    ///
    /// # Errors
    /// There is no such action, or it takes another number of parameters.
    pub fn value(&self, action: usize, args: &[BigInt]) -> Result<Vec<u8>, EntryError> {
        value(&format!("table {}", self.name), &self.actions, self.value_bytes, action, args)
    }

    /// The module's entries for one of the program.
    ///
    /// # Errors
    /// It does not suit the table.
    pub fn initial_entry(&self, entry: &InitialEntry) -> Result<Vec<Entry>, EntryError> {
        self.entries(&entry.keys, entry.priority, &self.value(entry.action, &entry.args)?)
    }

    /// An entry's keys as those of the module.
    ///
    /// # Errors
    /// The keys do not suit the table, or are too many.
    pub fn entries(&self, keys: &[KeyMatch], priority: u32, value: &[u8]) -> Result<Vec<Entry>, EntryError> {
        let parts: Vec<&KeyMeta> = self.keys.iter().filter(|k| k.kind != crate::pipeline::Match::Selector).collect();
        if parts.len() != keys.len() {
            return Err(EntryError::Unsuitable(format!("table {} has {} keys, not {}", self.name, parts.len(), keys.len())));
        }
        let used: u32 = parts.iter().map(|k| k.width).sum();
        let all = u32::from(self.key_bits);
        // Bits in front of the first key are always 0.
        let mut combined = vec![(BigInt::zero(), (ones(all) - ones(used)))];
        for (key, meta) in keys.iter().zip(parts) {
            let mut masks = key.masks(meta.width);
            if let Some(counted) = &meta.mask {
                masks.iter_mut().for_each(|(value, _)| *value &= counted);
            }
            if combined.len() * masks.len() > MAX_EXPANSION {
                return Err(EntryError::TooMany(format!("an entry of table {} would be more than {MAX_EXPANSION} entries", self.name)));
            }
            let join = |(v, m): &(BigInt, BigInt)| -> Vec<(BigInt, BigInt)> {
                masks.iter().map(|(kv, km)| (v | (kv << meta.shift), m | (km << meta.shift))).collect()
            };
            combined = combined.iter().flat_map(join).collect();
        }
        let limbs = |v: &BigInt| crate::lower::limbs(v, self.key_bits);
        let entry = |(v, m): (BigInt, BigInt)| Entry {
            key: limbs(&v),
            mask: if self.exact() { Box::default() } else { limbs(&m) },
            priority: if self.ternary { priority } else { 0 },
            value: value.into(),
        };
        Ok(combined.into_iter().map(entry).collect())
    }

    /// True if the module's table is exact.
    #[must_use]
    pub fn exact(&self) -> bool {
        !self.ternary && !self.keys.iter().any(|k| k.kind == crate::pipeline::Match::Lpm)
    }
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
