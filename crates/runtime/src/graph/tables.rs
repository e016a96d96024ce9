//! The tables of programs from outside: handlers that every table has.
//!
//! `TABLE.list` is a line an entry (`KEY[/MASK|-HIGHEST] [PRIORITY] VALUE`, in hexadecimal),
//! `TABLE.count` how many there are; `TABLE.add` and `TABLE.remove` take such lines. Keys, masks
//! and values have all their digits, so that a mask's length in bits (`/8`) is not taken for a
//! mask; a prefix's mask is ones, then zeros. `TABLE.dump` tells entries by the names of their
//! [`fields`], where their class gives them such, and `TABLE.add` and `TABLE.remove` take these,
//! too. What addresses look like in them is the element's business, whose own handlers hide these;
//! tables of Click's elements have Click's handlers as well: [`super::routes`], [`super::hosts`],
//! [`super::mappings`].

mod fields;

pub(super) use fields::Named;

use super::HandlerError;
use super::handler::{ElementHandler, element_handlers};
use super::program::Program;
use netil::app::Layout;
use netil::module::{Entry, Module, Table as Declaration, TableKind};
use netil::table::Op;
use netil::tables::Table;
use netil::wide;

impl Program {
    /// The handlers of its control plane.
    pub(super) fn plane_handlers(&self) -> Vec<ElementHandler> {
        self.plane.as_ref().map(|plane| plane.element_handlers()).unwrap_or_default()
    }

    /// Whether its control plane has a handler of that name to read, or to write.
    fn plane_has(&self, handler: &str, write: bool) -> bool {
        let fits = |control: &ElementHandler| control.name == handler && if write { control.write } else { control.read };
        self.plane_handlers().iter().any(fits)
    }

    /// The handlers of its tables.
    pub(super) fn table_handlers(&self) -> Vec<ElementHandler> {
        let of = |(at, table): (usize, &Declaration)| {
            let named = |what: &[&str]| what.iter().map(|what| format!("{}.{what}", table.name)).collect::<Vec<_>>();
            let read = if self.layout(at).is_some() { &["list", "count", "dump"][..] } else { &["list", "count"] };
            let (read, write) = (named(read), named(&["add", "remove"]));
            element_handlers(&texts(&read), &texts(&write), &[])
        };
        let own = [self.plane_handlers(), self.route_handlers(), self.host_handlers(), self.flow_handlers()].concat();
        own.into_iter().chain(self.module().tables.iter().enumerate().flat_map(of)).collect()
    }

    /// What a table's entries are made of, if that has names.
    fn layout(&self, table: usize) -> Option<&Layout> {
        self.layouts.get(table).filter(|layout| fields::has_names(&self.module().tables[table], layout))
    }

    /// The table of that name with its fields, if these have names.
    pub(super) fn named_table(&self, name: &str) -> Option<(usize, fields::Named<'_>)> {
        let at = self.module().tables.iter().position(|table| table.name == name)?;
        Some((at, fields::Named { table: &self.module().tables[at], layout: self.layout(at)? }))
    }

    /// The table that a handler `TABLE.what` is of, and `what`.
    fn table(&self, handler: &str) -> Option<(usize, String)> {
        let (name, what) = handler.rsplit_once('.')?;
        let at = self.module().tables.iter().position(|table| table.name == name)?;
        Some((at, what.to_owned()))
    }

    /// Reads a handler of a table; `None` if it is none.
    pub(super) fn read_table(&mut self, handler: &str, argument: &str, now: u64) -> Option<Result<String, HandlerError>> {
        if self.plane_has(handler, false) {
            return self.plane.as_mut().map(|plane| plane.read(handler, argument, &mut self.state));
        }
        if !handler.contains('.') {
            let found = self.read_routes(handler, argument, now).or_else(|| self.read_hosts(handler, argument, now));
            return found.or_else(|| self.read_flows(handler, argument, now));
        }
        let (at, what) = self.table(handler)?;
        let table = self.state.tables.get(at)?;
        match what.as_str() {
            "count" => Some(Ok(table.len(now).to_string())),
            "dump" => {
                let (declaration, layout) = (&self.module().tables[at], self.layout(at)?);
                Some(Ok(table.entries(now).iter().map(|entry| fields::shown(declaration, layout, entry)).collect()))
            }
            "list" => {
                let declaration = &self.module().tables[at];
                Some(Ok(table.entries(now).iter().map(|entry| shown(declaration, entry)).collect()))
            }
            _ => None,
        }
    }

    /// Writes one.
    pub(super) fn write_table(&mut self, handler: &str, text: &str, now: u64) -> Option<Result<(), HandlerError>> {
        if self.plane_has(handler, true) {
            return self.plane.as_mut().map(|plane| plane.write(handler, text, &mut self.state));
        }
        if !handler.contains('.') {
            let found = self.write_routes(handler, text, now).or_else(|| self.write_hosts(handler, text, now));
            return found.or_else(|| self.write_flows(handler, text, now));
        }
        let (at, what) = self.table(handler)?;
        let adds = match what.as_str() {
            "add" => true,
            "remove" => false,
            _ => return None,
        };
        let declared = &self.module().tables[at];
        let entry = match self.layout(at).filter(|_| fields::is_named(text)) {
            Some(layout) => fields::parsed(declared, layout, text, adds),
            None => parsed(declared, text, adds).ok_or_else(|| expected(declared, text, adds)),
        };
        let entry = match entry {
            Ok(entry) if declared.kind.fits(declared.key_bits, &entry.key, &entry.mask) => entry,
            Ok(_) => return Some(Err(expected(declared, text, adds))),
            Err(why) => return Some(Err(why)),
        };
        let table = self.state.tables.get_mut(at)?;
        Some(match adds {
            true => table.add(&entry, now).map_err(HandlerError::failed),
            false if table.remove(&entry.key, &entry.mask, entry.priority, now) => Ok(()),
            false => Err(HandlerError::invalid(format!("there is no entry '{}'", text.trim()))),
        })
    }
}

impl Program {
    /// Where the program acts on what its tables' timeouts end: its timers are set for entries that
    /// it has not entered itself.
    pub(super) fn watch_tables(&mut self, now: u64) {
        let watched = watched(self.module());
        for (table, timer) in &watched {
            let end = self.state.tables.get_mut(*table).map_or(u64::MAX, |table| table.deadline(now));
            let Some(set) = self.state.timers.get_mut(*timer).filter(|set| end < u64::MAX && (**set == 0 || end <= **set)) else {
                continue;
            };
            *set = end.saturating_sub(1).max(1);
        }
        if !watched.is_empty() {
            self.look_at_timers(now, now);
        }
    }
}

/// Tables whose ending entries a program takes out, each with the timer for that.
fn watched(module: &Module) -> Vec<(usize, usize)> {
    let code = module.pull.iter().flat_map(|handler| &handler.code);
    code.filter(|inst| inst.op == Op::TDue).map(|inst| (inst.imm[0] as usize, inst.imm[1] as usize)).collect()
}

fn texts(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn separator(kind: TableKind) -> Option<char> {
    match kind {
        TableKind::Exact => None,
        TableKind::Prefix | TableKind::Ternary => Some('/'),
        TableKind::Range => Some('-'),
    }
}

fn hexadecimal(limbs: &[u64], bits: u16) -> String {
    let digits: String = limbs.iter().rev().map(|limb| format!("{limb:016x}")).collect();
    digits[digits.len().saturating_sub(usize::from(bits) / 4)..].to_owned()
}

fn shown(table: &Declaration, entry: &Entry) -> String {
    let mut line = hexadecimal(&entry.key, table.key_bits);
    if let Some(separator) = separator(table.kind) {
        line.push(separator);
        line += &hexadecimal(&entry.mask, table.key_bits);
    }
    if table.kind.has_priority() {
        line += &format!(" {}", entry.priority);
    }
    line.push(' ');
    line.extend(entry.value.iter().map(|byte| format!("{byte:02x}")));
    line.push('\n');
    line
}

fn limbs(text: &str, bits: u16) -> Option<Box<[u64]>> {
    let digits = usize::from(bits) / 4;
    if text.len() != digits || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut limbs = vec![0; wide::limbs(bits)];
    for (place, digit) in text.bytes().rev().enumerate() {
        limbs[place / 16] |= u64::from(char::from(digit).to_digit(16)?) << (4 * (place % 16));
    }
    Some(limbs.into())
}

/// What an entry of that table looks like.
fn expected(table: &Declaration, text: &str, values: bool) -> HandlerError {
    let (form, more) = match table.kind {
        TableKind::Exact => ("KEY", ""),
        TableKind::Prefix => ("KEY/MASK", ", MASK ones and then zeros"),
        TableKind::Ternary => ("KEY/MASK PRIORITY", ""),
        TableKind::Range => ("LOWEST-HIGHEST PRIORITY", ""),
    };
    let digits = format!("{} of {} digits{more}", form.trim_end_matches(" PRIORITY").replace(['/', '-'], " and "), table.key_bits / 4);
    let (value, bytes) = if values { (" VALUE", format!(", VALUE of {}", 2 * table.value_bytes)) } else { ("", String::new()) };
    HandlerError::invalid(format!("expected {form}{value} in hexadecimal, {digits}{bytes}, not '{}'", text.trim()))
}

fn parsed(table: &Declaration, text: &str, values: bool) -> Option<Entry> {
    let mut words = text.split_whitespace();
    let key = words.next()?;
    let (key, mask) = match separator(table.kind) {
        Some(separator) => {
            let (key, mask) = key.split_once(separator)?;
            (key, limbs(mask, table.key_bits)?)
        }
        None => (key, Box::default()),
    };
    let priority = if table.kind.has_priority() { words.next()?.parse().ok()? } else { 0 };
    let value = if values { bytes(words.next()?, table.value_bytes as usize)? } else { Box::default() };
    let entry = Entry { key: limbs(key, table.key_bits)?, mask, priority, value };
    (words.next().is_none() && table.kind.fits(table.key_bits, &entry.key, &entry.mask)).then_some(entry)
}

fn bytes(text: &str, length: usize) -> Option<Box<[u8]>> {
    let byte = |at: usize| text.get(2 * at..2 * at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    if text.len() == 2 * length { (0..length).map(byte).collect() } else { None }
}

/// Takes out all entries.
pub(super) fn clear(table: &mut dyn Table, now: u64) {
    for entry in table.entries(now) {
        table.remove(&entry.key, &entry.mask, entry.priority, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declaration(kind: TableKind, key_bits: u16) -> Declaration {
        Declaration { name: "t".into(), kind, key_bits, value_bytes: 2, capacity: 9, timeout_ns: 0, entries: Vec::new() }
    }

    #[test]
    fn entries_are_read_as_they_are_shown() {
        for (kind, bits, text) in [
            (TableKind::Exact, 48, "0102030a0b0c 00ff\n"),
            (TableKind::Prefix, 32, "0a000000/ff000000 0100\n"),
            (TableKind::Ternary, 128, "20010000000000000000000000000001/ffff0000000000000000000000000000 7 0001\n"),
            (TableKind::Ternary, 32, "00000001/000000ff 7 0001\n"),
            (TableKind::Prefix, 32, "00000000/00000000 0100\n"),
            (TableKind::Prefix, 128, "20010000000000000000000000000000/ffffffffffffffff8000000000000000 0100\n"),
            (TableKind::Range, 16, "0050-005a 1 0203\n"),
            (TableKind::Range, 16, "0050-0050 1 0203\n"),
        ] {
            let table = declaration(kind, bits);
            assert_eq!(shown(&table, &parsed(&table, text, true).unwrap()), text);
        }
    }

    #[test]
    fn what_is_no_entry_is_refused() {
        for (kind, text) in [
            (TableKind::Exact, "0a000000"),
            (TableKind::Exact, "0a000000 1"),
            (TableKind::Exact, "0a000000 00é"),
            (TableKind::Exact, "0a000000 0000 1"),
            (TableKind::Exact, "0a00000z 0000"),
            (TableKind::Exact, "0a 0000"),
            (TableKind::Exact, "123456789 0000"),
            (TableKind::Prefix, "0a000000 0000"),
            (TableKind::Prefix, "0a000000/8 0000"),
            (TableKind::Prefix, "0a000000/ff00ff00 0000"),
            (TableKind::Prefix, "0a000000/000000ff 0000"),
            (TableKind::Prefix, "0a/ff000000 0000"),
            (TableKind::Ternary, "0a000000/8 1 0000"),
            (TableKind::Range, "00000000-00000001 0000"),
            (TableKind::Range, "0-1 1 0000"),
            (TableKind::Range, "00000002-00000001 1 0000"),
        ] {
            assert_eq!(parsed(&declaration(kind, 32), text, true), None, "{text}");
        }
    }

    #[test]
    fn what_is_refused_is_told_its_form() {
        let told = |kind, values| expected(&declaration(kind, 32), " x\n", values);
        let prefix = "expected KEY/MASK VALUE in hexadecimal, KEY and MASK of 8 digits, MASK ones and then zeros, VALUE of 4, not 'x'";
        assert_eq!(told(TableKind::Prefix, true).text(), prefix);
        assert_eq!(told(TableKind::Exact, false).text(), "expected KEY in hexadecimal, KEY of 8 digits, not 'x'");
        let range = "expected LOWEST-HIGHEST PRIORITY in hexadecimal, LOWEST and HIGHEST of 8 digits, not 'x'";
        assert_eq!(told(TableKind::Range, false).text(), range);
    }
}
