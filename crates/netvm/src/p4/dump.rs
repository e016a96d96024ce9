//! What tables have: as the control plane reads it, and as commands that would enter it again.
//!
//! In commands keys of kind lpm are told with the length of the prefix, ternary ones with a mask,
//! ranges by their ends. Behind `#` stand an entry's handle and what it has counted.

use super::SwitchError;
use super::control::find;
use super::{BigInt, Indirect, KeyMatch, Sign, Switch};
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

/// The name of an action and its arguments.
pub type NamedAction = (String, Vec<(String, BigInt)>);

/// An entry as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// Its number in its table.
    pub handle: u64,
    /// In the order of the table's keys, without those of selectors.
    pub keys: Vec<KeyMatch>,
    /// The higher one wins.
    pub priority: u32,
    /// What it does.
    pub target: Target,
    /// Packets and bytes, if its table counts them.
    pub counts: Option<(u64, u64)>,
}

/// What an entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An action.
    Action(NamedAction),
    /// What its table's profile has.
    Indirect(Indirect),
}

impl Switch {
    /// The entries of a table and its default action, a command each; of all tables if none is
    /// named.
    ///
    /// # Errors
    /// There is no such table.
    pub fn dump(&mut self, table: Option<&str>) -> Result<Vec<String>, SwitchError> {
        let chosen = table.map(|name| find(&self.pipeline.tables, |t| &t.name, name, "table").map(|(at, _)| at)).transpose()?;
        let all = (0..self.pipeline.tables.len()).filter(|at| chosen.is_none_or(|chosen| chosen == *at));
        Ok(all.flat_map(|at| self.dump_one(at)).collect())
    }

    fn dump_one(&mut self, at: usize) -> Vec<String> {
        let entries = self.entries_of(at);
        let meta = &self.pipeline.tables[at];
        let mut lines: Vec<String> = entries.iter().map(|entry| entry_line(meta, entry)).collect();
        if let Some(action) = self.default_of(meta) {
            lines.push(format!("setdefault {} {}", meta.name, action_text(&action)));
        }
        lines
    }

    /// The entries of a table, by whatever door they came in.
    ///
    /// # Errors
    /// There is no such table.
    pub fn entries(&mut self, table: &str) -> Result<Vec<Entered>, SwitchError> {
        let (at, _) = find(&self.pipeline.tables, |t| &t.name, table, "table")?;
        Ok(self.entries_of(at))
    }

    fn entries_of(&mut self, at: usize) -> Vec<Entered> {
        let (meta, handles) = (&self.pipeline.tables[at], self.handles.get(&at).into_iter().flatten().enumerate());
        let entries = handles.filter_map(|(handle, entries)| Some((handle as u64, entries.as_deref()?)));
        entries.filter_map(|(handle, entries)| entered(&mut self.state, meta, handle, entries)).collect()
    }

    /// The default action of a table, unless that is its profile's.
    ///
    /// # Errors
    /// There is no such table.
    pub fn default_action(&self, table: &str) -> Result<Option<NamedAction>, SwitchError> {
        self.table(table).map(|meta| self.default_of(meta))
    }

    fn default_of(&self, meta: &TableMeta) -> Option<NamedAction> {
        let from = meta.default_at as usize;
        let value = self.state.data.get(from..from + meta.value_bytes as usize).unwrap_or_default();
        action(&meta.actions, value).filter(|_| meta.profile.is_none())
    }
}

/// An entry as it is now: it may have been given another action since.
fn entered(state: &mut State, meta: &TableMeta, handle: u64, entries: &[Entry]) -> Option<Entered> {
    let first = entries.first()?;
    let table = state.tables.get_mut(meta.table? as usize)?;
    let found = table.known(&first.key, &first.mask, first.priority, 0);
    let value = table.value(found)?;
    let target = match meta.profile {
        None => Target::Action(action(&meta.actions, value)?),
        Some(_) => Target::Indirect(match (word(value, 0), word(value, 4)) {
            (member, 0) => Indirect::Member(member),
            (_, group) => Indirect::Group(group - 1),
        }),
    };
    let mut counts = meta.counter.map(|_| (0, 0));
    // Of a range, the prefixes that it became.
    for entry in entries.iter().filter(|_| meta.counter.is_some()) {
        let found = table.known(&entry.key, &entry.mask, entry.priority, 0);
        let (value, at) = (table.value(found)?, meta.counter.unwrap_or_default());
        let more = |at| u64::try_from(number(value, at, 64)).unwrap_or(u64::MAX);
        counts = counts.map(|(packets, bytes): (u64, u64)| (packets.saturating_add(more(at)), bytes.saturating_add(more(at + 8))));
    }
    let keys = meta.keys.iter().filter(|key| key.kind != Match::Selector).map(|key| key_match(meta, key, entries)).collect();
    Some(Entered { handle, keys, priority: first.priority, target, counts })
}

fn entry_line(meta: &TableMeta, entry: &Entered) -> String {
    let mut line = format!("add {}", meta.name);
    if meta.ternary {
        let _ = write!(line, " {}", entry.priority);
    }
    for (key, given) in meta.keys.iter().filter(|key| key.kind != Match::Selector).zip(&entry.keys) {
        line.extend(key_text(given).map(|text| format!(" {}:{text}", key.name)));
    }
    let target = match &entry.target {
        Target::Action(action) => action_text(action),
        Target::Indirect(Indirect::Member(member)) => format!("member({member})"),
        Target::Indirect(Indirect::Group(group)) => format!("group({group})"),
    };
    let _ = write!(line, " {target} # handle {}", entry.handle);
    if let Some((packets, bytes)) = entry.counts {
        let _ = write!(line, ", {packets} packets, {bytes} bytes");
    }
    line
}

fn word(value: &[u8], at: u32) -> u32 {
    u32::try_from(number(value, at, 32)).unwrap_or(0)
}

/// The number of so many bits from that byte on.
fn number(value: &[u8], at: u32, bits: u32) -> BigInt {
    let bytes = value.iter().copied().skip(at as usize).take(bits.div_ceil(8) as usize).collect::<Vec<u8>>();
    BigInt::from_bytes_le(Sign::Plus, &bytes)
}

/// The action with its arguments that a value names.
pub(super) fn action(actions: &[ActionMeta], value: &[u8]) -> Option<NamedAction> {
    let named = actions.get(usize::from(u16::from_le_bytes([*value.first()?, *value.get(1)?])))?;
    let params = named.params.iter().map(|param| (param.name.clone(), number(value, param.at, param.width)));
    Some((named.name.clone(), params.collect()))
}

fn action_text((name, args): &NamedAction) -> String {
    let args: Vec<String> = args.iter().map(|(name, value)| format!("{name}:{value:#x}")).collect();
    format!("{name}({})", args.join(", "))
}

/// What an entry wants of a key.
fn key_match(meta: &TableMeta, key: &KeyMeta, entries: &[Entry]) -> KeyMatch {
    let ones = (BigInt::from(1) << key.width) - 1;
    let part = |limbs: &[u64]| {
        let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
        (BigInt::from_bytes_le(Sign::Plus, &bytes) >> key.shift) & &ones
    };
    let Some(first) = entries.first() else { return KeyMatch::Any };
    let (value, mask) = (part(&first.key), if meta.exact() { ones.clone() } else { part(&first.mask) });
    let any = mask == BigInt::ZERO;
    match key.kind {
        Match::Exact | Match::Selector => KeyMatch::Value(value),
        Match::Range => {
            // The prefixes that it became.
            let ends = entries.iter().map(|entry| (part(&entry.key), part(&entry.key) | (&ones ^ part(&entry.mask))));
            let (low, high) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default();
            if low == BigInt::ZERO && high == ones { KeyMatch::Any } else { KeyMatch::Range(low, high) }
        }
        _ if any => KeyMatch::Any,
        Match::Lpm => KeyMatch::Prefix(value, mask.iter_u64_digits().map(u64::count_ones).sum::<u32>()),
        Match::Ternary => KeyMatch::Mask(value, mask),
        Match::Optional => KeyMatch::Value(value),
    }
}

/// That as text; none if it is anything.
fn key_text(given: &KeyMatch) -> Option<String> {
    match given {
        KeyMatch::Any => None,
        KeyMatch::Value(value) => Some(format!("{value:#x}")),
        KeyMatch::Prefix(value, length) => Some(format!("{value:#x}/{length}")),
        KeyMatch::Range(low, high) => Some(format!("{low:#x}->{high:#x}")),
        KeyMatch::Mask(value, mask) => Some(format!("{value:#x}&&&{mask:#x}")),
    }
}
