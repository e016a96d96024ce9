//! Entries of tables by the names of their fields:
//! `src=10.0.0.1 dst=10.0.0.2 port=80 -> packets=5 bytes=300`.
//!
//! Keys are numbers of which the first field is the most significant part; values are memory of
//! programs, which is little-endian whatever the type of a field. Behind `->` stands the value;
//! fields of it that are not given are 0. A key of a prefix or ternary table may have a mask behind
//! each field: a number of bits, `dst=10.0.0.0/8`, or, in hexadecimal, `/0xff00ff00`; without, all
//! bits count, and of a field that is not given none. Tables with priorities have `priority=N`
//! before `->`. Leaves out: ranges of more than one field.

use super::super::HandlerError;
use netil::app::{Field, Form, Layout};
use netil::module::{Entry, Table as Declaration, TableKind};
use netil::wide;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Where the value begins.
const VALUE: &str = "->";
const PRIORITY: &str = "priority";

/// Where a field is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// In a key: the most significant byte stands first.
    Key,
    /// In a value, as programs have it in memory: the least significant one does.
    Value,
}

/// Whether entries of a table have names for all of their bytes.
pub(super) fn has_names(table: &Declaration, layout: &Layout) -> bool {
    let covers = |fields: &[Field], bytes: u32| fields.iter().map(|field| field.bytes).sum::<u32>() == bytes;
    let is_one = table.kind != TableKind::Range || layout.key.len() == 1;
    is_one && covers(&layout.key, u32::from(table.key_bits) / 8) && covers(&layout.value, table.value_bytes)
}

/// Whether a text is written with names.
pub(super) fn is_named(text: &str) -> bool {
    text.contains('=')
}

/// A table with the fields of its entries, for code that knows some of them by name.
#[derive(Clone, Copy)]
pub(in crate::graph) struct Named<'t> {
    pub table: &'t Declaration,
    pub layout: &'t Layout,
}

impl Named<'_> {
    /// Whether keys consist of these fields, and values have those.
    pub(in crate::graph) fn has(self, key: &[&str], value: &[&str]) -> bool {
        let has = |fields: &[Field], name: &str| fields.iter().any(|field| field.name == name);
        key.len() == self.layout.key.len()
            && key.iter().all(|name| has(&self.layout.key, name))
            && value.iter().all(|name| has(&self.layout.value, name))
    }

    /// A field of a value; 0 where there is none.
    pub(in crate::graph) fn of_value(self, value: &[u8], name: &str) -> u64 {
        self.layout.value.iter().find(|field| field.name == name).map_or(0, |field| whole(field, value, Side::Value) as u64)
    }

    /// A field of a key; 0 where there is none.
    pub(in crate::graph) fn of_key(self, key: &[u64], name: &str) -> u64 {
        let bytes = key_bytes(key, self.table.key_bits);
        self.layout.key.iter().find(|field| field.name == name).map_or(0, |field| whole(field, &bytes, Side::Key) as u64)
    }

    /// A key of these fields.
    pub(in crate::graph) fn key(self, fields: &[(&str, u64)]) -> Box<[u64]> {
        let mut bytes = vec![0; usize::from(self.table.key_bits) / 8];
        for (name, value) in fields {
            if let Some(field) = self.layout.key.iter().find(|field| field.name == *name) {
                set(field, u128::from(*value), &mut bytes, Side::Key);
            }
        }
        limbs(&bytes, self.table.key_bits)
    }
}

/// An entry as a line.
pub(super) fn shown(table: &Declaration, layout: &Layout, entry: &Entry) -> String {
    let (key, mask) = (key_bytes(&entry.key, table.key_bits), key_bytes(&entry.mask, table.key_bits));
    let mut line = String::new();
    for field in &layout.key {
        let _ = write!(line, "{}={}", field.name, number(field, &key, Side::Key));
        match table.kind {
            TableKind::Exact => {}
            TableKind::Range => _ = write!(line, "-{}", number(field, &mask, Side::Key)),
            TableKind::Prefix | TableKind::Ternary => line += &mask_of(part(field, &mask)),
        }
        line.push(' ');
    }
    if table.kind.has_priority() {
        let _ = write!(line, "{PRIORITY}={} ", entry.priority);
    }
    line += VALUE;
    layout.value.iter().for_each(|field| _ = write!(line, " {}={}", field.name, number(field, &entry.value, Side::Value)));
    line.push('\n');
    line
}

/// An entry, or the key of one.
///
/// # Errors
/// What of the text is none.
pub(super) fn parsed(table: &Declaration, layout: &Layout, text: &str, values: bool) -> Result<Entry, HandlerError> {
    let (key, value) = text.split_once(VALUE).unwrap_or((text, ""));
    let (mut bytes, mut mask, mut priority) = (vec![0; usize::from(table.key_bits) / 8], vec![0; usize::from(table.key_bits) / 8], 0);
    let mut missing: Vec<&str> = layout.key.iter().map(|field| field.name.as_str()).collect();
    for word in key.split_whitespace() {
        let (name, text) = word.split_once('=').ok_or_else(|| HandlerError::invalid(format!("expected FIELD=VALUE, not '{word}'")))?;
        if name == PRIORITY && table.kind.has_priority() {
            priority = text.parse().map_err(|_| HandlerError::invalid(format!("'{text}' is no priority")))?;
            continue;
        }
        let field = named(&layout.key, name)?;
        missing.retain(|missing| *missing != name);
        put_key(table.kind, field, text, (&mut bytes, &mut mask))?;
    }
    let is_whole = match table.kind {
        TableKind::Exact | TableKind::Range => true,
        TableKind::Prefix | TableKind::Ternary => false,
    };
    if let Some(missing) = missing.first().filter(|_| is_whole) {
        return Err(HandlerError::invalid(format!("the key has a field {missing}")));
    }
    let mut data = vec![0; if values { table.value_bytes as usize } else { 0 }];
    for word in value.split_whitespace().filter(|_| values) {
        let (name, text) = word.split_once('=').ok_or_else(|| HandlerError::invalid(format!("expected FIELD=VALUE, not '{word}'")))?;
        put(named(&layout.value, name)?, text, &mut data, Side::Value)?;
    }
    let mask = if table.kind.has_mask() { limbs(&mask, table.key_bits) } else { Box::default() };
    Ok(Entry { key: limbs(&bytes, table.key_bits), mask, priority, value: data.into() })
}

fn named<'f>(fields: &'f [Field], name: &str) -> Result<&'f Field, HandlerError> {
    let names = || fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", ");
    fields.iter().find(|field| field.name == name).ok_or_else(|| HandlerError::invalid(format!("no field '{name}'; there are {}", names())))
}

/// A field of a key, with its mask or the end of its range.
fn put_key(kind: TableKind, field: &Field, text: &str, (bytes, mask): (&mut [u8], &mut [u8])) -> Result<(), HandlerError> {
    match kind {
        TableKind::Exact => put(field, text, bytes, Side::Key),
        TableKind::Range => {
            let (low, high) = text.split_once('-').unwrap_or((text, text));
            put(field, low, bytes, Side::Key).and_then(|()| put(field, high, mask, Side::Key))
        }
        TableKind::Prefix | TableKind::Ternary => {
            let (text, bits) = text.split_once('/').map_or((text, None), |(text, bits)| (text, Some(bits)));
            let wide = 8 * field.bytes;
            let ones = match bits {
                None => u128::MAX,
                Some(bits) => parsed_mask(bits, wide)
                    .ok_or_else(|| HandlerError::invalid(format!("'{bits}' is no mask of {}: bits, or 0x and a mask", field.name)))?,
            };
            put(field, text, bytes, Side::Key)?;
            set(field, ones & full(wide), mask, Side::Key);
            let place = field.at as usize..(field.at + field.bytes) as usize;
            // Bits that do not count are 0, as tables have them.
            place.for_each(|at| bytes[at] &= mask[at]);
            Ok(())
        }
    }
}

fn full(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

fn parsed_mask(text: &str, bits: u32) -> Option<u128> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u128::from_str_radix(digits, 16).ok().filter(|mask| *mask <= full(bits));
    }
    let ones: u32 = text.parse().ok().filter(|ones| *ones <= bits)?;
    Some(full(bits) & !full(bits - ones))
}

/// What stands behind a field for its mask.
fn mask_of(mask: &[u8]) -> String {
    let (bits, value) = (8 * mask.len() as u32, mask.iter().fold(0_u128, |value, byte| value << 8 | u128::from(*byte)));
    let ones = value.count_ones();
    match value == full(bits) & !full(bits - ones) {
        true if ones == bits => String::new(),
        true => format!("/{ones}"),
        false => format!("/{value:#x}"),
    }
}

fn part<'b>(field: &Field, bytes: &'b [u8]) -> &'b [u8] {
    bytes.get(field.at as usize..(field.at + field.bytes) as usize).unwrap_or_default()
}

/// A field as a number.
fn whole(field: &Field, bytes: &[u8], side: Side) -> u128 {
    let bytes = part(field, bytes);
    let add = |value: u128, byte: &u8| value << 8 | u128::from(*byte);
    match side {
        Side::Key => bytes.iter().fold(0, add),
        Side::Value => bytes.iter().rev().fold(0, add),
    }
}

/// A field as people write it.
fn number(field: &Field, bytes: &[u8], side: Side) -> String {
    let value = whole(field, bytes, side);
    match field.form {
        Form::Number { signed: true } => {
            let unused = 128 - 8 * field.bytes.clamp(1, 16);
            ((value << unused) as i128 >> unused).to_string()
        }
        Form::Number { .. } => value.to_string(),
        Form::Address => Ipv4Addr::from(value as u32).to_string(),
        Form::Address6 => Ipv6Addr::from(value).to_string(),
        Form::Mac => value.to_be_bytes()[10..].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"),
    }
}

/// Reads a field into its place.
fn put(field: &Field, text: &str, bytes: &mut [u8], side: Side) -> Result<(), HandlerError> {
    let value = match field.form {
        Form::Address => text.parse::<Ipv4Addr>().ok().map(|address| u32::from(address).into()),
        Form::Address6 => text.parse::<Ipv6Addr>().ok().map(u128::from),
        Form::Mac => mac(text),
        Form::Number { .. } => None,
    };
    let value = value
        .or_else(|| integer(text, 8 * field.bytes))
        .ok_or_else(|| HandlerError::invalid(format!("'{text}' is no {} of {} bits", field.name, 8 * field.bytes)))?;
    set(field, value, bytes, side);
    Ok(())
}

/// A number in decimal or hexadecimal that has so many bits, with a sign or without.
fn integer(text: &str, bits: u32) -> Option<u128> {
    if let Some(text) = text.strip_prefix('-') {
        let below: u128 = text.parse().ok().filter(|below| *below <= full(bits) / 2 + 1)?;
        return Some(below.wrapping_neg() & full(bits));
    }
    let value = text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |digits| u128::from_str_radix(digits, 16).ok())?;
    (value <= full(bits)).then_some(value)
}

fn mac(text: &str) -> Option<u128> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    bytes.filter(|bytes| bytes.len() == 6).map(|bytes| bytes.iter().fold(0, |value, byte| value << 8 | u128::from(*byte)))
}

fn set(field: &Field, value: u128, bytes: &mut [u8], side: Side) {
    let Some(to) = bytes.get_mut(field.at as usize..(field.at + field.bytes) as usize) else { return };
    let last = to.len().saturating_sub(1);
    for (n, byte) in to.iter_mut().enumerate() {
        *byte = (value >> (8 * if side == Side::Key { last - n } else { n })) as u8;
    }
}

/// The bytes of a key, the most significant first.
fn key_bytes(limbs: &[u64], bits: u16) -> Vec<u8> {
    let all: Vec<u8> = limbs.iter().rev().flat_map(|limb| limb.to_be_bytes()).collect();
    all[all.len().saturating_sub(usize::from(bits) / 8)..].to_vec()
}

fn limbs(bytes: &[u8], bits: u16) -> Box<[u64]> {
    let mut limbs = vec![0; wide::limbs(bits)];
    for (place, byte) in bytes.iter().rev().enumerate() {
        limbs[place / 8] |= u64::from(*byte) << (8 * (place % 8));
    }
    limbs.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, at: u32, bytes: u32, form: Form) -> Field {
        Field { name: name.into(), at, bytes, form }
    }

    const NUMBER: Form = Form::Number { signed: false };
    const SIGNED: Form = Form::Number { signed: true };

    fn layout() -> Layout {
        let key = vec![field("src", 0, 4, Form::Address), field("port", 4, 2, NUMBER)];
        Layout { key, value: vec![field("mac", 0, 6, Form::Mac), field("delta", 6, 2, SIGNED)] }
    }

    fn declaration(kind: TableKind, key_bits: u16) -> Declaration {
        Declaration { name: "t".into(), kind, key_bits, value_bytes: 8, capacity: 9, timeout_ns: 0, entries: Vec::new() }
    }

    #[test]
    fn entries_are_read_as_they_are_shown() {
        for (kind, line) in [
            (TableKind::Exact, "src=10.0.0.1 port=80 -> mac=00:01:02:0a:0b:ff delta=-3\n"),
            (TableKind::Prefix, "src=10.0.0.0/8 port=0/0 -> mac=00:00:00:00:00:00 delta=7\n"),
            (TableKind::Ternary, "src=10.0.0.1/0xff0000ff port=80 priority=4 -> mac=00:00:00:00:00:01 delta=0\n"),
        ] {
            let table = declaration(kind, 48);
            assert!(has_names(&table, &layout()));
            assert_eq!(shown(&table, &layout(), &parsed(&table, &layout(), line, true).unwrap()), line);
        }
        let entry =
            parsed(&declaration(TableKind::Exact, 48), &layout(), "port=0x50 src=10.0.0.1 -> delta=258 mac=02:00:00:00:00:09", true)
                .unwrap();
        assert_eq!((&*entry.key, &*entry.value), (&[0x0a00_0001_0050][..], &[9, 0, 0, 0, 0, 2, 2, 1][..]));
        let wide = Layout { key: vec![field("ip", 0, 16, Form::Address6)], value: layout().value };
        let line = "ip=2001:db8::1-2001:db8::ff priority=1 -> mac=00:00:00:00:00:00 delta=0\n";
        let table = declaration(TableKind::Range, 128);
        assert_eq!(shown(&table, &wide, &parsed(&table, &wide, line, true).unwrap()), line);
    }

    #[test]
    fn what_is_no_entry_is_told() {
        let table = declaration(TableKind::Exact, 48);
        for (text, why) in [
            ("src=10.0.0.1", "the key has a field port"),
            ("src=10.0.0.1 port=65536", "'65536' is no port of 16 bits"),
            ("src=10.0.0 port=1", "'10.0.0' is no src of 32 bits"),
            ("src=10.0.0.1 dport=1", "no field 'dport'; there are src, port"),
            ("src=10.0.0.1 port", "expected FIELD=VALUE, not 'port'"),
            ("src=10.0.0.1 port=1 -> delta=40000 x", "expected FIELD=VALUE, not 'x'"),
            ("src=10.0.0.1 port=1 -> delta=-40000", "'-40000' is no delta of 16 bits"),
        ] {
            assert_eq!(parsed(&table, &layout(), text, true).unwrap_err(), HandlerError::invalid(why));
        }
        assert!(parsed(&declaration(TableKind::Prefix, 48), &layout(), "src=10.0.0.1/33", true).unwrap_err().text().contains("no mask"));
        assert!(!has_names(&declaration(TableKind::Range, 48), &layout()) && !has_names(&table, &Layout::default()));
    }
}
