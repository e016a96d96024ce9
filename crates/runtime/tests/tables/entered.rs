//! Entries that code puts into exact tables by itself, as [`netil::layout`] says.

use super::Declaration;
use netil::layout::{self, DEAD, FAN, NEVER, PROBES, Parts, head};
use netil::tables::Table;

/// What an insertion gives, by code where the table lets it.
pub fn insert(table: &mut dyn Table, declaration: &Declaration, key: &[u64], now: u64) -> u32 {
    match table.find(key, now, true) {
        0 => by_itself(table, declaration, key).unwrap_or_else(|| table.insert(key, now)),
        entry => entry,
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// `None` where the table is to be asked.
fn by_itself(table: &mut dyn Table, declaration: &Declaration, key: &[u64]) -> Option<u32> {
    let (shape, Parts { head, slots, index, groups }) = (layout::Exact::of(declaration), table.parts()?);
    if head[head::STASHED] != 0 || head[head::FILLED] >= head[head::READY] || head[head::QUIET] <= head[head::CLOCK] {
        return None;
    }
    let bucket = layout::hash([head[head::SEED0], head[head::SEED1]], key) & head[head::MASK];
    let bucket = if bucket < head[head::BUCKETS] { bucket } else { bucket & head[head::MASK] >> 1 } as usize;
    let state = |slot: &usize| if shape.state_bytes == 1 { slots[slot * shape.stride].into() } else { word(slots, slot * shape.stride) };
    let slot = (bucket..bucket + PROBES).find(|slot| state(slot) <= DEAD)?;
    let mut end = u64::from(u8::MAX);
    if declaration.timeout_ns > 0 {
        end = head[head::CLOCK].checked_add(head[head::TIMEOUT]).filter(|end| *end < NEVER)?;
        note_end(head[head::LEAVES] as usize, index, groups, (slot, end))?;
    }
    let entry = &mut slots[slot * shape.stride..][..shape.stride];
    entry.fill(0);
    entry[..shape.state_bytes].copy_from_slice(&end.to_le_bytes()[..shape.state_bytes]);
    let bytes: Vec<u8> = key.iter().flat_map(|limb| limb.to_le_bytes()).take(shape.key_bytes).collect();
    entry[shape.state_bytes..][..bytes.len()].copy_from_slice(&bytes);
    head[head::FILLED] += 1;
    Some(slot as u32 + 1)
}

fn note_end(leaves: usize, index: &mut [u8], groups: &mut [u8], (slot, end): (usize, u64)) -> Option<()> {
    let block = slot / FAN;
    if groups[block / 8] >> (block % 8) & 1 != 0 {
        return Some(());
    }
    if leaves == 0 || !word(index, 8 * (leaves + block / FAN)) > end {
        return None;
    }
    groups[block / 8] |= 1 << (block % 8);
    if !word(index, 8 * block) > end {
        index[8 * block..][..8].copy_from_slice(&(!end).to_le_bytes());
    }
    Some(())
}
