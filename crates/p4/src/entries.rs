//! Entries of tables as the control plane knows them, to entries of the module's tables.
//!
//! A range becomes the prefixes that cover it, so that an entry may become several of the same
//! priority and value.

pub use crate::key_match::KeyMatch;
use crate::key_match::ones;
use crate::pipeline::{ActionMeta, InitialEntry, KeyMeta, TableMeta};
use netil::module::Entry;
use num_bigint::BigInt;
use num_traits::Zero;

/// The priority of what goes first where the lowest wins, as in BMv2: others are so much less. In
/// tables the highest wins.
pub const LOWEST_WINS: u32 = 1 << 31;

/// The most entries of the module that one entry may become.
const MAX_EXPANSION: usize = 1 << 16;

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
    let limbs = |v: &BigInt| crate::check::convert::limbs(v, key_bits);
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
        let limbs = |v: &BigInt| crate::check::convert::limbs(v, self.key_bits);
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
