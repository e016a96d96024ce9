//! `.tables` and `.controls`.
//!
//! `.table NAME, KIND, KEY BITS, VALUE BYTES, CAPACITY [, TIMEOUT]`, the timeout in nanoseconds, is
//! followed by the entries that it has from the start: `.entry KEY, MASK, PRIORITY, VALUE`, the
//! value as `0x` and two digits for each byte, the first byte first; mask and priority are 0 where
//! the kind has none. `.control NAME, r|w|rw, TYPE, OFFSET [, call]`, and `.reason NUMBER, NAME`
//! for drop reasons.

use super::lex::Token;
use super::parse::{Failed, Parser};
use crate::module::{Control, ControlType, Entry, Label, Table, TableKind};
use crate::wide::MAX_WIDTH;

impl Parser<'_> {
    pub fn table_statement(&mut self) -> Result<(), Failed> {
        let token = self.peek();
        match self.text(token) {
            ".table" => self.table(),
            ".entry" => self.entry(token),
            _ => Err(self.expected("`.table NAME, KIND, KEY BITS, VALUE BYTES, CAPACITY` or `.entry`")),
        }
    }

    fn table(&mut self) -> Result<(), Failed> {
        self.next();
        let (name, token) = self.name("the name of a table")?;
        self.unique("table", &name, token)?;
        self.comma()?;
        let kind = TableKind::ALL.iter().find(|(_, word)| self.at_word(word));
        let Some((kind, _)) = kind else { return Err(self.expected(&TableKind::ALL.map(|(_, word)| word).join(" or "))) };
        self.next();
        self.comma()?;
        let key_bits = self.width()?;
        self.comma()?;
        let value_bytes = self.value("a size in bytes")?;
        self.comma()?;
        let capacity = self.value("a number of entries")?;
        let timeout_ns = if self.skip_mark(b',') { self.wide_value(64)?[0] } else { 0 };
        self.module.tables.push(Table { name, kind: *kind, key_bits, value_bytes, capacity, timeout_ns, entries: Vec::new() });
        Ok(())
    }

    fn entry(&mut self, token: Token) -> Result<(), Failed> {
        let Some(table) = self.module.tables.last() else { return Err(self.error(token, "an entry stands behind its table")) };
        let (key_bits, has_mask) = (table.key_bits, table.kind.has_mask());
        self.next();
        let key = self.wide_value(key_bits)?;
        self.comma()?;
        let mask = self.wide_value(key_bits)?;
        self.comma()?;
        let priority = self.value("a priority")?;
        self.comma()?;
        let (word, at) = self.raw_word();
        let Some(value) = bytes(word) else { return Err(self.error(at, "expected `0x` and two digits for each byte of the value")) };
        let mask = if has_mask { mask } else { Box::default() };
        let entry = Entry { key, mask, priority, value: value.into() };
        if let Some(table) = self.module.tables.last_mut() {
            table.entries.push(entry);
        }
        Ok(())
    }

    pub fn control_statement(&mut self) -> Result<(), Failed> {
        let token = self.peek();
        match self.text(token) {
            ".control" => self.control(),
            ".reason" => self.reason(),
            _ => Err(self.expected("`.control NAME, r|w|rw, TYPE, OFFSET` or `.reason NUMBER, NAME`")),
        }
    }

    fn control(&mut self) -> Result<(), Failed> {
        self.next();
        let (name, token) = self.name("the name of a control")?;
        self.comma()?;
        let access = self.text(self.peek());
        let (read, write) = (access.contains('r'), access.contains('w'));
        if !["r", "w", "rw"].contains(&access) {
            return Err(self.expected("r, w or rw"));
        }
        for (what, _) in [("control to read", read), ("control to write", write)].into_iter().filter(|(_, is)| *is) {
            self.unique(what, &name, token)?;
        }
        self.next();
        self.comma()?;
        let ty = self.control_type()?;
        self.comma()?;
        let at = self.value("an offset in data memory")?;
        let mut call = false;
        if self.skip_mark(b',') {
            call = self.at_word("call");
            if !call {
                return Err(self.expected("`call`"));
            }
            self.next();
        }
        self.module.controls.push(Control { name, read, write, ty, at, call });
        Ok(())
    }

    fn control_type(&mut self) -> Result<ControlType, Failed> {
        let word = self.text(self.peek());
        let sized = ["unsigned", "signed"].contains(&word);
        let ty = ControlType::PLAIN.iter().find(|(_, name)| *name == word).map(|(ty, _)| *ty);
        if ty.is_none() && !sized {
            return Err(self.expected("unsigned BITS, signed BITS, bool, ip4, ip6, mac, text or none"));
        }
        self.next();
        let Some(ty) = ty else {
            let expr = self.expr("a width in bits")?;
            let bits = self.evaluate(&expr, 1..=MAX_WIDTH.into())? as u16;
            return Ok(if word == "signed" { ControlType::Signed(bits) } else { ControlType::Unsigned(bits) });
        };
        Ok(ty)
    }

    fn reason(&mut self) -> Result<(), Failed> {
        self.next();
        let at = self.value("the number of a reason")?;
        self.comma()?;
        let (name, _) = self.name("the name of a reason")?;
        self.module.reasons.push(Label { name, at });
        Ok(())
    }
}

/// The bytes of a word of digits.
fn bytes(word: &str) -> Option<Vec<u8>> {
    let digits = word.strip_prefix("0x")?.as_bytes();
    let byte = |pair: &[u8]| match pair {
        [a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok(),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}
