//! Tables of a program in static memory.
//!
//! Exact tables are hash tables that packets change: open ones (`open.c`) if their keys have up to
//! 62 bits and entries do not time out, else chained ones (`tables.c`), whose entries lie in slots
//! in the order of last use. Packets cannot enter into tables of other kinds, so these are
//! constants but for their values: prefixes and ranges become ranges of keys that do not overlap,
//! found by binary search, and ternary entries a list, the best first.
//!
//! A host with commands fills tables itself (`filled.c`): then the ranges and lists are variables,
//! made again when entries come or go.
//!
//! Left out: keys of more than 128 bits; elsewhere than in VPP, entries that are added from
//! outside.

use super::super::Unsupported;
use super::super::quoted;
use super::array;
use crate::backends::start;
use netil::exec::State;
use netil::module::{Entry, Table, TableKind};
use netil::tables::FOR_EVER;
use netil::{Module, wide};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The most bytes of tables of one program.
const MOST_BYTES: u64 = 1 << 30;
/// The most entries from the start: each is a line of text.
const MOST_ENTRIES: usize = 1 << 18;
/// Bytes of a slot and of two chains.
const SLOT: u64 = 44;
/// The most bits of a key of an open table, whose places have two marks beside it.
const OPEN_BITS: u16 = 62;

/// The text of a program's tables, for the element of that number.
pub(super) fn emit(element: usize, module: &Module, state: &State, outside: bool) -> Result<String, Unsupported> {
    let bytes: u64 = module.tables.iter().map(bytes).sum();
    if bytes > MOST_BYTES {
        return Err(Unsupported(format!("{bytes} bytes of tables; {MOST_BYTES} are the most")));
    }
    let mut text = String::new();
    for (n, (table, now)) in module.tables.iter().zip(&state.tables).enumerate() {
        if table.key_bits > 128 {
            return Err(Unsupported(format!("table '{}', whose keys have {} bits; 128 are the most", table.name, table.key_bits)));
        }
        let entries = start::entries(&**now);
        if entries.len() > MOST_ENTRIES {
            return Err(Unsupported(format!("table '{}' of {} entries; {MOST_ENTRIES} are the most", table.name, entries.len())));
        }
        let name = name(element, n);
        let _ = write!(text, "\n{}\n", quoted::comment(&format!("table {n}: {}", table.name)));
        text += &match table.kind {
            TableKind::Exact if is_open(table) => open(&name, table, &entries),
            TableKind::Exact => exact(&name, table, &entries),
            _ => constant(&name, table, &entries.into_iter().map(|(entry, _)| entry).collect::<Vec<_>>(), outside),
        };
    }
    Ok(text)
}

/// What a table's names begin with.
pub(super) fn name(element: usize, table: usize) -> String {
    format!("nv_t{element}_{table}")
}

/// From value to value.
pub(super) fn stride(table: &Table) -> u64 {
    u64::from(table.value_bytes).next_multiple_of(8).max(8)
}

/// Bytes of a table.
fn bytes(table: &Table) -> u64 {
    if is_open(table) { places(table) * (8 + stride(table)) } else { u64::from(table.capacity) * (SLOT + stride(table)) }
}

/// Whether it is an open table.
fn is_open(table: &Table) -> bool {
    matches!(form(table), Form::Open)
}

/// The places of an open table.
fn places(table: &Table) -> u64 {
    (2 * u64::from(table.capacity.max(1))).next_power_of_two()
}

/// The value's first byte of an entry that is there, a pointer.
pub(super) fn value(name: &str, table: &Table, entry: &str) -> String {
    let stride = stride(table);
    match is_open(table) {
        true => format!("(uint8_t *)({name}_places + (size_t)({entry} - 1) * {} + 1)", stride / 8 + 1),
        false => format!("{name}_values + (size_t)({entry} - 1) * {stride}"),
    }
}

/// The expression for an entry that is entered, or deleted: packets do that in exact tables only.
pub(super) fn changed(name: &str, table: &Table, key: &str, time: &str, enters: bool) -> Option<String> {
    let function = if enters { "insert" } else { "remove" };
    match form(table) {
        Form::Exact => Some(format!("nv_{function}(&{name}, {key}, {time})")),
        Form::Open => Some(format!("nv_open_{function}(&{name}_open, &{name}, {key})")),
        Form::Ranges | Form::Rules => None,
    }
}

/// The statement that seeds a table and fills it, if packets enter into it.
pub(super) fn start(name: &str, table: &Table, id: usize) -> Option<String> {
    match form(table) {
        Form::Exact => Some(format!("nv_start(&{name}, nv_mix(a ^ {id}u), nv_mix(b ^ {id}u), nv_started);")),
        Form::Open => Some(format!("nv_open_start(&{name}_open, &{name}, nv_mix(a ^ {id}u) ^ b, nv_started);")),
        Form::Ranges | Form::Rules => None,
    }
}

/// The expression for the next entry.
pub(super) fn list(name: &str, table: &Table, outside: bool) -> String {
    let (key, value) = (table.key_bits / 8, table.value_bytes);
    match form(table) {
        Form::Exact => format!("nv_list(&{name}, at, {key}, {value}, entry)"),
        Form::Open => format!("nv_open_list(&{name}_open, at, {key}, {value}, entry)"),
        Form::Ranges | Form::Rules if outside => format!("nv_filled_list(&{name}_filled, at, {key}, {value}, entry)"),
        Form::Ranges | Form::Rules => {
            format!("nv_list_all({name}_keys, {name}_values, {name}_entries, {}, at, {key}, {value}, entry)", stride(table))
        }
    }
}

/// The expressions with which a host enters an entry and takes it out.
pub(super) fn from_outside(name: &str, table: &Table) -> [String; 2] {
    let (bits, bytes) = (table.key_bits, table.value_bytes);
    let changed = |prefix: &str, key: &str, more: &str| {
        [format!("nv_{prefix}fill({key}{more}, entry->value, {bytes})"), format!("nv_{prefix}empty({key}{more})")]
    };
    match form(table) {
        Form::Open => changed("open_", &format!("&{name}_open, &{name}, {bits}"), ", key"),
        Form::Exact => {
            [format!("nv_exact_fill(&{name}, key, entry->value, {bytes})"), format!("nv_remove(&{name}, key, 0) ? 0 : NETVM_MISSING")]
        }
        Form::Ranges | Form::Rules => changed("", &format!("&{name}_filled, key, other, entry->priority"), ""),
    }
}

/// The expression for a lookup.
pub(super) fn find(name: &str, table: &Table, key: &str, time: &str, refresh: bool) -> String {
    match form(table) {
        Form::Exact => format!("nv_find(&{name}, {key}, {time}, {})", u8::from(refresh)),
        Form::Open => format!("nv_open_find(&{name}_open, &{name}, {key})"),
        Form::Ranges => format!("nv_in_ranges(&{name}, {key})"),
        Form::Rules => format!("nv_by_rules({name}, {name}_count, {key})"),
    }
}

enum Form {
    Exact,
    Open,
    Ranges,
    Rules,
}

fn form(table: &Table) -> Form {
    match table.kind {
        TableKind::Exact if table.timeout_ns == 0 && table.key_bits <= OPEN_BITS => Form::Open,
        TableKind::Exact => Form::Exact,
        TableKind::Prefix | TableKind::Range => Form::Ranges,
        TableKind::Ternary => Form::Rules,
    }
}

fn exact(name: &str, table: &Table, entries: &[(Entry, bool)]) -> String {
    let (capacity, chains) = (table.capacity.max(1), table.capacity.max(1).next_power_of_two());
    let mut text = format!("static struct nv_slot {name}_slots[{}];\n", u64::from(capacity) + 1);
    let _ = writeln!(text, "static uint32_t {name}_chains[{chains}];");
    let _ = writeln!(text, "static uint8_t {name}_values[{}] __attribute__((aligned(8)));", u64::from(capacity) * stride(table));
    text += &first(name, table, entries);
    let _ = writeln!(
        text,
        "static struct nv_exact {name} __attribute__((unused)) = {{ {name}_slots, {name}_chains, {name}_values, {name}_first, {}, {}, {}, {}, \
         {:#x}u, {{ 0, 0 }}, 0, 0, 0, 0, 0, 0 }};",
        entries.len(),
        table.capacity,
        chains - 1,
        stride(table),
        table.timeout_ns
    );
    text
}

fn open(name: &str, table: &Table, entries: &[(Entry, bool)]) -> String {
    let (places, words) = (places(table), stride(table) / 8 + 1);
    let mut text = format!("static uint64_t {name}_places[{}];\n", places * words);
    text += &first(name, table, entries);
    let _ = writeln!(
        text,
        "static const struct nv_open {name}_open __attribute__((unused)) = {{ {name}_places, {name}_first, {}, {}, {}, {}, {words} }};",
        entries.len(),
        table.capacity,
        places - 1,
        64 - places.trailing_zeros()
    );
    text + &format!("static struct nv_opened {name} __attribute__((unused)) = {{ 1, 0 }};\n")
}

/// What is there from the start.
fn first(name: &str, table: &Table, entries: &[(Entry, bool)]) -> String {
    let values = entries.iter().map(|(entry, _)| &entry.value[..]);
    let mut text = array(&format!("static const uint8_t {name}_first_values"), &spread(table, values));
    let _ = write!(text, "static const struct nv_first {name}_first[{}] = {{", entries.len().max(1));
    for (n, (entry, stays)) in entries.iter().enumerate() {
        let used = if *stays { FOR_EVER } else { 0 };
        let _ = write!(text, "\n    {{ {}, {used:#x}u, {name}_first_values + {} }},", limbs(&entry.key), n as u64 * stride(table));
    }
    text + if entries.is_empty() { " { 0, 0, 0, 0 } };\n" } else { "\n};\n" }
}

/// A table that packets enter nothing into; its values are as they are now.
fn constant(name: &str, table: &Table, now: &[Entry], outside: bool) -> String {
    let identity = |e: &Entry| (e.key.clone(), e.mask.clone(), e.priority);
    let values: BTreeMap<_, _> = now.iter().map(|e| (identity(e), &e.value)).collect();
    let mut seen = BTreeSet::new();
    // In the order of entering, which decides among equals.
    let entries: Vec<&Entry> = table.entries.iter().filter(|e| seen.insert(identity(e))).collect();
    let bytes = entries.iter().map(|e| values.get(&identity(e)).map_or(&e.value[..], |value| &value[..]));
    let mut values = spread(table, bytes);
    if outside {
        values.resize(values.len().max(table.capacity as usize * stride(table) as usize), 0);
        return array(&format!("static uint8_t {name}_values"), &values) + &filled(name, table, &entries);
    }
    let mut text = array(&format!("static uint8_t {name}_values"), &values);
    let _ = write!(text, "static const uint64_t {name}_keys[{}][2] __attribute__((unused)) = {{", entries.len().max(1));
    for entry in &entries {
        let _ = write!(text, "\n    {{ {} }},", limbs(&entry.key));
    }
    text += if entries.is_empty() { " { 0, 0 } };\n" } else { "\n};\n" };
    let _ = writeln!(text, "enum {{ {name}_entries = {} }};", entries.len());
    text + &match form(table) {
        Form::Rules => rules(name, table, &entries, None),
        _ => ranges(name, table, &entries, None),
    }
}

/// What a table is that a host fills: its entries, and what packets look up, with room for as many
/// as there may be.
fn filled(name: &str, table: &Table, entries: &[&Entry]) -> String {
    let room = (table.capacity as usize).max(entries.len()).max(1);
    let mut text = format!("static struct nv_given {name}_given[{room}] = {{");
    for (order, entry) in entries.iter().enumerate() {
        let (key, other) = masked(table, entry);
        let _ = write!(text, "\n    {{ {{ {} }}, {{ {} }}, {order}, {}, 1 }},", halves(key), halves(other), rank(table, entry));
    }
    text += if entries.is_empty() { " { { 0, 0 }, { 0, 0 }, 0, 0, 0 } };\n" } else { "\n};\n" };
    let _ = writeln!(text, "static uint32_t {name}_sorted[{room}], {name}_heap[{room}];");
    let (kind, looked_up) = match form(table) {
        Form::Rules => {
            text += &rules(name, table, entries, Some(room));
            ("NETVM_TERNARY", format!("0, 0, 0, {name}, &{name}_count"))
        }
        _ => {
            text += &ranges(name, table, entries, Some(room));
            let kind = if table.kind == TableKind::Range { "NETVM_RANGE" } else { "NETVM_PREFIX" };
            (kind, format!("&{name}, {name}_start, {name}_entry, 0, 0"))
        }
    };
    let (stride, bits) = (stride(table), table.key_bits);
    let _ = writeln!(
        text,
        "static struct nv_filled {name}_filled = {{ {name}_given, {name}_values, {kind}, {room}, {stride}, {bits}, {looked_up}, {name}_sorted, {name}_heap, {} }};",
        entries.len()
    );
    text
}

/// Ternary entries, the best first; of a host that fills them with room for so many.
fn rules(name: &str, table: &Table, entries: &[&Entry], room: Option<usize>) -> String {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|n| (Reverse(rank(table, entries[*n])), *n));
    let constant = if room.is_none() { "const " } else { "" };
    let mut text = format!("static {constant}struct nv_rule {name}[{}] __attribute__((unused)) = {{", room.unwrap_or(entries.len()).max(1));
    for n in order {
        let (key, mask) = masked(table, entries[n]);
        let _ = write!(text, "\n    {{ {{ {} }}, {{ {} }}, {} }},", halves(key), halves(mask), n + 1);
    }
    text += if entries.is_empty() { " { { 0, 0 }, { 0, 0 }, 0 } };\n" } else { "\n};\n" };
    let _ = match room {
        None => writeln!(text, "enum {{ {name}_count = {} }};", entries.len()),
        Some(_) => writeln!(text, "static uint32_t {name}_count = {};", entries.len()),
    };
    text
}

/// Ranges of keys in order; of a host that fills them with room for those of so many entries.
fn ranges(name: &str, table: &Table, entries: &[&Entry], room: Option<usize>) -> String {
    let spans: Vec<(u128, u128)> = entries.iter().map(|e| span(table, e)).collect();
    let ranks: Vec<u32> = entries.iter().map(|e| rank(table, e)).collect();
    let flat = flattened(&spans, &ranks);
    let constant = if room.is_none() { "const " } else { "" };
    let room = room.map_or(flat.len(), |room| flat.len().max(2 * room + 1));
    let mut text = format!("static {constant}uint64_t {name}_start[{room}][2] = {{");
    for (start, _) in &flat {
        let _ = write!(text, "\n    {{ {} }},", halves(*start));
    }
    let _ = write!(text, "\n}};\nstatic {constant}uint32_t {name}_entry[{room}] = {{");
    for (n, (_, entry)) in flat.iter().enumerate() {
        let _ = write!(text, "{}{entry},", if n % 16 == 0 { "\n    " } else { " " });
    }
    let _ = writeln!(
        text,
        "\n}};\nstatic {constant}struct nv_ranges {name} __attribute__((unused)) = {{ {name}_start, {name}_entry, {} }};",
        flat.len()
    );
    text
}

/// Ranges of keys in order, from 0 on, each with the handle of the best entry whose span has it, or
/// 0.
fn flattened(spans: &[(u128, u128)], ranks: &[u32]) -> Vec<(u128, u32)> {
    let mut changes: BTreeMap<u128, Vec<(usize, bool)>> = BTreeMap::from([(0, Vec::new())]);
    for (n, (low, high)) in spans.iter().enumerate().filter(|(_, (low, high))| low <= high) {
        changes.entry(*low).or_default().push((n, true));
        if let Some(behind) = high.checked_add(1) {
            changes.entry(behind).or_default().push((n, false));
        }
    }
    let (mut here, mut flat) = (BTreeSet::new(), Vec::<(u128, u32)>::new());
    for (start, changes) in changes {
        for (n, begins) in changes {
            let order = (ranks[n], Reverse(n));
            if begins {
                here.insert(order)
            } else {
                here.remove(&order)
            };
        }
        let best = here.last().map_or(0, |(_, Reverse(n))| *n as u32 + 1);
        if flat.last().is_none_or(|(_, before)| *before != best) {
            flat.push((start, best));
        }
    }
    flat
}

/// The lowest and the highest key that match an entry.
fn span(table: &Table, entry: &Entry) -> (u128, u128) {
    let (key, other) = masked(table, entry);
    (key, if table.kind == TableKind::Range { other } else { key | all(table.key_bits) & !other })
}

/// An entry's key, and the mask of the bits that matter; of a range the lowest key and the highest.
fn masked(table: &Table, entry: &Entry) -> (u128, u128) {
    let (key, mask) = (number(&entry.key), number(&entry.mask));
    match table.kind {
        TableKind::Exact => (key, all(table.key_bits)),
        TableKind::Prefix | TableKind::Ternary => (key & mask, mask),
        TableKind::Range => (key, mask),
    }
}

fn rank(table: &Table, entry: &Entry) -> u32 {
    match table.kind {
        TableKind::Prefix => number(&entry.mask).count_ones(),
        TableKind::Exact | TableKind::Ternary | TableKind::Range => entry.priority,
    }
}

fn all(bits: u16) -> u128 {
    u128::MAX >> (128 - u32::from(bits).clamp(1, 128))
}

fn number(limbs: &[u64]) -> u128 {
    debug_assert!(wide::limbs(128) >= limbs.len());
    limbs.iter().take(2).enumerate().fold(0, |n, (i, limb)| n | u128::from(*limb) << (64 * i))
}

fn limbs(key: &[u64]) -> String {
    halves(number(key))
}

/// The lower half before the upper one.
fn halves(n: u128) -> String {
    format!("{:#x}u, {:#x}u", n as u64, (n >> 64) as u64)
}

/// Values one behind the other.
fn spread<'v>(table: &Table, values: impl Iterator<Item = &'v [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (n, value) in values.enumerate() {
        bytes.extend_from_slice(value);
        bytes.resize((n + 1) * stride(table) as usize, 0);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_the_best_entry_of_each_key() {
        // Nested prefixes, a neighbour, and one that ends with the last key.
        let spans = [(0x10, 0x1f), (0x14, 0x17), (0x20, 0x2f), (0xf0, u128::MAX)];
        assert_eq!(flattened(&spans, &[4, 6, 4, 1]), [(0, 0), (0x10, 1), (0x14, 2), (0x18, 1), (0x20, 3), (0x30, 0), (0xf0, 4)]);
        // Among equals the first that was entered.
        assert_eq!(flattened(&[(0, 9), (5, 12)], &[0, 0]), [(0, 1), (10, 2), (13, 0)]);
        assert_eq!(flattened(&[(7, 3)], &[0]), [(0, 0)]);
    }
}
