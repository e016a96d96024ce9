//! Declarations of tables and controls, and instructions that name a table.

use super::Reason;
use crate::module::{Entry, Inst, Module, Table, TableKind};
use crate::table::Op;
use crate::wide::{self, MAX_WIDTH};
use std::collections::HashSet;

/// The largest value of an entry, in bytes.
const MAX_VALUE: u32 = 4096;
/// The most entries that a table may declare.
pub const MAX_CAPACITY: u32 = 1 << 26;

/// What is wrong with tables and controls, a few at most.
pub(super) fn declarations(module: &Module) -> Vec<String> {
    let tables = module.tables.iter().filter_map(|t| table(t).map(|wrong| format!("table '{}': {wrong}", t.name)));
    let outside = module.controls.iter().filter(|c| u64::from(c.at) + u64::from(c.ty.size()) > module.data_size.into());
    let deaf = module.controls.iter().filter(|c| c.call && module.pull.is_none());
    tables
        .chain(outside.map(|c| format!("control '{}' lies outside data memory of {} bytes", c.name, module.data_size)))
        .chain(deaf.map(|c| format!("control '{}' calls the pull handler, and there is none", c.name)))
        .take(10)
        .collect()
}

fn table(t: &Table) -> Option<String> {
    match () {
        () if t.key_bits == 0 || t.key_bits > MAX_WIDTH || !t.key_bits.is_multiple_of(8) => {
            Some(format!("keys of {} bits; the width is a multiple of 8 up to {MAX_WIDTH}", t.key_bits))
        }
        () if t.value_bytes == 0 || t.value_bytes > MAX_VALUE => {
            Some(format!("values of {} bytes; 1 to {MAX_VALUE} are possible", t.value_bytes))
        }
        () if t.capacity == 0 || t.capacity > MAX_CAPACITY => {
            Some(format!("a capacity of {}; 1 to {MAX_CAPACITY} are possible", t.capacity))
        }
        () if t.entries.len() > t.capacity as usize => {
            Some(format!("{} entries, more than its capacity of {}", t.entries.len(), t.capacity))
        }
        () => entries(t),
    }
}

fn entries(t: &Table) -> Option<String> {
    let mut seen = HashSet::new();
    for (n, e) in t.entries.iter().enumerate() {
        if let Some(wrong) = entry(t, e) {
            return Some(format!("entry {n} {wrong}"));
        }
        if !seen.insert((&e.key, &e.mask, e.priority)) {
            return Some(format!("entry {n} is there twice"));
        }
    }
    None
}

fn entry(t: &Table, e: &Entry) -> Option<&'static str> {
    let fits = |v: &[u64]| {
        let mut cut = v.to_vec();
        wide::normalise(t.key_bits, &mut cut);
        v.len() == wide::limbs(t.key_bits) && cut == v
    };
    let fits_kind = || t.kind.fits(t.key_bits, &e.key, &e.mask);
    let covered = || e.key.iter().zip(&e.mask).all(|(k, m)| k & !m == 0);
    match t.kind {
        _ if e.value.len() != t.value_bytes as usize => Some("has a value of another size"),
        _ if !fits(&e.key) => Some("has a key of another width"),
        kind if !kind.has_mask() && !e.mask.is_empty() => Some("has a mask in a table of exact keys"),
        kind if !kind.has_priority() && e.priority != 0 => Some("has a priority in a table without"),
        kind if kind.has_mask() && !fits(&e.mask) => Some("has a mask of another width"),
        TableKind::Exact => None,
        TableKind::Range if !fits_kind() => Some("is a range whose lowest key is above the highest"),
        TableKind::Range => None,
        TableKind::Prefix | TableKind::Ternary if !covered() => Some("has key bits outside its mask"),
        TableKind::Prefix if !fits_kind() => Some("has a mask that is no prefix"),
        TableKind::Prefix | TableKind::Ternary => None,
    }
}

/// An instruction that names a table, which there is.
pub(super) fn instruction(module: &Module, inst: &Inst) -> Result<(), Reason> {
    let [n, width, at] = inst.imm;
    let table = &module.tables[n as usize];
    let end = u64::from(at) + u64::from(width / 8);
    match inst.op {
        Op::TInsert | Op::TDelete if !table.kind.is_of_programs() => {
            Err(Reason::Immediate(format!("table '{}' is not exact; only its owner changes it", table.name)))
        }
        Op::TWalk | Op::TNext | Op::TKey | Op::TDue | Op::TDeadline if !table.kind.is_of_programs() => {
            Err(Reason::Immediate(format!("table '{}' is not exact; programs walk over exact tables", table.name)))
        }
        Op::TLoad | Op::TStore if end > table.value_bytes.into() => {
            let wrong = format!("bytes {at}..{end} lie outside the values of table '{}', which have {}", table.name, table.value_bytes);
            Err(Reason::Immediate(wrong))
        }
        _ => Ok(()),
    }
}
