//! What tables have, as commands that would enter it again.
//!
//! Keys of kind lpm are told with the length of the prefix, ternary ones with a mask, ranges by their ends. Behind `#` stand an entry's handle and what it has counted.

use super::control::find;
use super::{BigInt, Sign, Switch};
use netil::exec::State;
use netil::module::Entry;
use p4::Pipeline;
use p4::pipeline::{ActionMeta, KeyMeta, Match, TableMeta};
use std::fmt::Write as _;

/// A line for each table: its name, how many entries it has, its keys and actions.
pub(super) fn tables(pipeline: &Pipeline, state: &State) -> String {
    let mut text = String::new();
    for table in &pipeline.tables {
        let keys: Vec<String> = table.keys.iter().map(|key| format!("{}:{}", key.name, key.kind.name())).collect();
        let entries = table.table.and_then(|n| state.tables.get(n as usize)).map_or(0, |table| table.len(0));
        let actions: Vec<&str> = table.actions.iter().map(|action| action.name.as_str()).collect();
        let _ = writeln!(text, "{}\t{entries}\t{}\t{}", table.name, keys.join(" "), actions.join(" "));
    }
    text
}

impl Switch {
    /// The entries of a table and its default action, a command each; of all tables if none is named.
    ///
    /// # Errors
    /// There is no such table.
    pub fn dump(&mut self, table: Option<&str>) -> Result<Vec<String>, String> {
        let chosen = table.map(|name| find(&self.pipeline.tables, |t| &t.name, name, "table").map(|(at, _)| at)).transpose()?;
        let all = (0..self.pipeline.tables.len()).filter(|at| chosen.is_none_or(|chosen| chosen == *at));
        Ok(all.flat_map(|at| self.dump_one(at)).collect())
    }

    fn dump_one(&mut self, at: usize) -> Vec<String> {
        let (meta, handles) = (&self.pipeline.tables[at], self.handles.get(&at).into_iter().flatten().enumerate());
        let entries = handles.filter_map(|(handle, entries)| Some((handle, entries.as_deref()?)));
        let mut lines: Vec<String> = entries.filter_map(|entry| entry_line(&mut self.state, meta, entry)).collect();
        let from = meta.default_at as usize;
        let default = self.state.data.get(from..from + meta.value_bytes as usize).unwrap_or_default();
        if let Some(action) = action(&meta.actions, default).filter(|_| meta.profile.is_none()) {
            lines.push(format!("setdefault {} {action}", meta.name));
        }
        lines
    }
}

/// An entry as it is now: it may have been given another action since.
fn entry_line(state: &mut State, meta: &TableMeta, (handle, entries): (usize, &[Entry])) -> Option<String> {
    let first = entries.first()?;
    let table = state.tables.get_mut(meta.table? as usize)?;
    let found = table.known(&first.key, &first.mask, first.priority, 0);
    let value = table.value(found)?;
    let mut line = format!("add {}", meta.name);
    if meta.ternary {
        let _ = write!(line, " {}", first.priority);
    }
    for key in meta.keys.iter().filter(|key| key.kind != Match::Selector) {
        line.extend(key_text(meta, key, entries).map(|text| format!(" {}:{text}", key.name)));
    }
    let target = match meta.profile {
        None => action(&meta.actions, value)?,
        Some(_) => match (word(value, 0), word(value, 4)) {
            (member, 0) => format!("member({member})"),
            (_, group) => format!("group({})", group - 1),
        },
    };
    let _ = write!(line, " {target} # handle {handle}");
    if let Some(at) = meta.counter {
        // Of a range, the prefixes that it became.
        let mut counts = [BigInt::ZERO; 2];
        for entry in entries {
            let found = table.known(&entry.key, &entry.mask, entry.priority, 0);
            let value = table.value(found)?;
            counts = [&counts[0] + number(value, at, 64), &counts[1] + number(value, at + 8, 64)];
        }
        let _ = write!(line, ", {} packets, {} bytes", counts[0], counts[1]);
    }
    Some(line)
}

fn word(value: &[u8], at: u32) -> u32 {
    u32::try_from(number(value, at, 32)).unwrap_or(0)
}

/// The number of so many bits from that byte on.
fn number(value: &[u8], at: u32, bits: u32) -> BigInt {
    let bytes = value.iter().copied().skip(at as usize).take(bits.div_ceil(8) as usize).collect::<Vec<u8>>();
    BigInt::from_bytes_le(Sign::Plus, &bytes)
}

/// The action with its parameters that a value names.
fn action(actions: &[ActionMeta], value: &[u8]) -> Option<String> {
    let named = actions.get(usize::from(u16::from_le_bytes([*value.first()?, *value.get(1)?])))?;
    let params = named.params.iter().map(|param| format!("{}:{:#x}", param.name, number(value, param.at, param.width)));
    Some(format!("{}({})", named.name, params.collect::<Vec<_>>().join(", ")))
}

/// What an entry wants of a key; none if that is anything.
fn key_text(meta: &TableMeta, key: &KeyMeta, entries: &[Entry]) -> Option<String> {
    let ones = (BigInt::from(1) << key.width) - 1;
    let part = |limbs: &[u64]| {
        let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
        (BigInt::from_bytes_le(Sign::Plus, &bytes) >> key.shift) & &ones
    };
    let first = entries.first()?;
    let (value, mask) = (part(&first.key), if meta.exact() { ones.clone() } else { part(&first.mask) });
    let any = mask == BigInt::ZERO;
    match key.kind {
        Match::Exact | Match::Selector => Some(format!("{value:#x}")),
        Match::Lpm if any => None,
        Match::Lpm => Some(format!("{value:#x}/{}", mask.iter_u64_digits().map(u64::count_ones).sum::<u32>())),
        Match::Range => {
            // The prefixes that it became.
            let ends = entries.iter().map(|entry| (part(&entry.key), part(&entry.key) | (&ones ^ part(&entry.mask))));
            let (low, high) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
            (low != BigInt::ZERO || high != ones).then(|| format!("{low:#x}->{high:#x}"))
        }
        Match::Ternary if any => None,
        Match::Ternary => Some(format!("{value:#x}&&&{mask:#x}")),
        Match::Optional => (!any).then(|| format!("{value:#x}")),
    }
}
