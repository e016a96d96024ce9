//! The parser's frame: tokens, errors and recovery, segments, ports, metadata and data.

use super::error::{AsmError, AsmErrors, MAX_ERRORS, nearest};
use super::expr::{Expr, NoValue};
use super::finish::Fixup;
use super::lex::{self, Kind, Token};
use super::{MAX_SOURCE, RESERVED, is_bare};
use crate::module::{CoproUse, HandlerKind, InfoField, Label, Module, Port, PortKind};
use std::collections::HashMap;

/// The statement at hand is wrong and has been reported.
pub(super) struct Failed;

/// Names of places in a handler: instruction index and where the name was given.
pub(super) type Labels = HashMap<String, (u32, Token)>;

pub(super) struct Parser<'s> {
    pub source: &'s str,
    tokens: Vec<Token>,
    lines: Vec<u32>,
    at: usize,
    errors: Vec<AsmError>,
    /// There are more errors than are kept.
    pub overfull: bool,
    failed_line: u32,
    pub module: Module,
    pub constants: HashMap<&'s str, i64>,
    /// Labels of the three handlers.
    pub labels: [Labels; 3],
    /// Operands that are resolved at the end.
    pub fixups: Vec<Fixup>,
    /// Values in data that are resolved at the end: offset, size in bytes, value.
    pub data_fixups: Vec<(usize, usize, Expr)>,
    pub data_labels: HashMap<String, u32>,
    pub shared_size: Option<u32>,
    /// Locals that refer to entries: handler, number, the table's name.
    pub entry_locals: Vec<(HandlerKind, u32, Token)>,
    /// Limbs of the members of all sets.
    pub set_limbs: usize,
    little_endian: bool,
    seen: HashMap<&'static str, Token>,
    names: HashMap<(&'static str, String), Token>,
    file: &'s str,
}

impl<'s> Parser<'s> {
    pub fn new(source: &'s str, file: &'s str) -> Self {
        let fits = source.len() <= MAX_SOURCE;
        let (tokens, lines) = lex::tokens(if fits { source } else { "" });
        let mut parser = Self {
            source,
            tokens,
            lines,
            at: 0,
            errors: Vec::new(),
            overfull: false,
            failed_line: 0,
            module: Module { source: file.to_owned(), ..Module::default() },
            constants: HashMap::new(),
            labels: Default::default(),
            fixups: Vec::new(),
            data_fixups: Vec::new(),
            data_labels: HashMap::new(),
            shared_size: None,
            entry_locals: Vec::new(),
            set_limbs: 0,
            little_endian: false,
            seen: HashMap::new(),
            names: HashMap::new(),
            file,
        };
        if !fits {
            let end = parser.peek();
            parser.error(end, "the source is longer than 32 MiB");
        }
        parser
    }

    /// The whole source.
    pub fn source_text(&mut self) {
        while self.peek().kind != Kind::End {
            let before = self.at;
            let result = match () {
                () if self.at_word("segment") => self.segment(),
                () if self.at_equate() => self.equate(),
                () => Err(self.expected("`segment .name` or `name equ value`")),
            };
            self.recover(before, result);
        }
    }

    /// The errors, if there are any.
    pub fn take_errors(&mut self) -> Option<AsmErrors> {
        let mut errors = std::mem::take(&mut self.errors);
        errors.sort_by_key(|e| (e.line, e.column));
        if errors.is_empty() { None } else { Some(AsmErrors { file: self.file.to_owned(), errors }) }
    }

    fn segment(&mut self) -> Result<(), Failed> {
        let opening = self.next();
        let name = self.peek();
        let start = self.at;
        let result = self.segment_body(opening, name);
        // What is in a segment that is not one, or is there twice, says nothing.
        if result.is_err() && self.at == start {
            while self.peek().kind != Kind::End && !self.at_segment() && !self.at_word("ends") {
                self.next();
            }
            self.failed_line = 0;
            self.skip_word("ends");
        }
        result
    }

    fn segment_body(&mut self, opening: Token, name: Token) -> Result<(), Failed> {
        match (name.kind, self.text(name)) {
            (Kind::Directive, ".ports") => self.body(opening, Self::port),
            (Kind::Directive, ".metadata" | ".coprocessors") => self.body(opening, Self::metadata),
            (Kind::Directive, ".data") => self.once(".data", name).and_then(|()| self.body(opening, Self::data)),
            (Kind::Directive, ".sets") => self.body(opening, Self::set_statement),
            (Kind::Directive, ".tables") => self.body(opening, Self::table_statement),
            (Kind::Directive, ".controls") => self.body(opening, Self::control_statement),
            (Kind::Directive, ".init") => self.once(".init", name).and_then(|()| self.handler(HandlerKind::Init, opening)),
            (Kind::Directive, ".push") => self.once(".push", name).and_then(|()| self.handler(HandlerKind::Push, opening)),
            (Kind::Directive, ".pull") => self.once(".pull", name).and_then(|()| self.handler(HandlerKind::Pull, opening)),
            (_, text) => {
                let names = [".ports", ".metadata", ".data", ".sets", ".tables", ".controls", ".init", ".push", ".pull"];
                let failed = self.error(name, format!("unknown segment `{text}`"));
                self.help_near(text, names, "the segments are .ports .metadata .data .sets .tables .controls .init .push .pull");
                Err(failed)
            }
        }
    }

    /// The statements up to `ends`. The next token is the segment's name.
    pub fn body(&mut self, opening: Token, mut statement: impl FnMut(&mut Self) -> Result<(), Failed>) -> Result<(), Failed> {
        self.next();
        loop {
            if self.at_word("ends") {
                self.next();
                return Ok(());
            }
            if self.peek().kind == Kind::End || self.at_segment() {
                let failed = self.error(opening, "this segment is not closed");
                self.help("write `ends` at its end");
                return Err(failed);
            }
            let before = self.at;
            let result = if self.at_equate() { self.equate() } else { statement(self) };
            self.recover(before, result);
        }
    }

    fn port(&mut self) -> Result<(), Failed> {
        let kind = PortKind::ALL.iter().find(|(_, name)| self.at_word(name));
        let Some((kind, _)) = kind else {
            return Err(self.expected("push_input, push_output, pull_input or pull_output"));
        };
        self.next();
        loop {
            let (name, token) = self.name("the name of a port")?;
            self.unique("port", &name, token)?;
            self.module.ports.push(Port { name, kind: *kind });
            if !self.skip_mark(b',') {
                return Ok(());
            }
        }
    }

    fn metadata(&mut self) -> Result<(), Failed> {
        let token = self.next();
        match self.text(token) {
            ".netpe_name" => {
                self.once(".netpe_name", token)?;
                self.module.name = self.name("a name")?.0;
            }
            ".datamem_size" | ".datamemsize" => self.data_size(token)?,
            ".info_size" => {
                self.once(".info_size", token)?;
                self.module.info_size = self.value("a size in bytes")?;
            }
            ".shared_size" => {
                self.once(".shared_size", token)?;
                self.shared_size = Some(self.value("a size in bytes")?);
            }
            ".source" => self.module.source = self.name("a quoted name")?.0,
            ".info_field" => self.info_field()?,
            ".use_coprocessor" | "use_coprocessor" => self.use_coprocessor()?,
            text => {
                let names = [".netpe_name", ".datamem_size", ".info_size", ".shared_size", ".info_field", ".use_coprocessor", ".source"];
                let failed = self.error(token, format!("`{text}` is not a directive of this segment"));
                self.help_near(text, names, &names.join(" "));
                return Err(failed);
            }
        }
        Ok(())
    }

    /// The size of data memory, in `.metadata` or, as older programs have it, in a handler.
    pub fn data_size(&mut self, token: Token) -> Result<(), Failed> {
        self.once(".datamem_size", token)?;
        self.module.data_size = self.value("a size in bytes")?;
        Ok(())
    }

    fn info_field(&mut self) -> Result<(), Failed> {
        let (name, token) = self.name("the name of a field")?;
        self.unique("field", &name, token)?;
        self.comma()?;
        let offset = self.value("an offset in bytes")?;
        self.comma()?;
        let size = self.value("a size in bytes")?;
        self.module.info_fields.push(InfoField { name, offset, size });
        Ok(())
    }

    fn use_coprocessor(&mut self) -> Result<(), Failed> {
        let (name, mut token) = self.name("the name of a coprocessor")?;
        let mut alias = name.clone();
        if self.at_word("as") {
            self.next();
            (alias, token) = self.name("a name for this instance")?;
        }
        if let Err(failed) = self.unique("coprocessor", &alias, token) {
            self.help(&format!("give this one another name: .use_coprocessor {name} as {alias}2"));
            return Err(failed);
        }
        self.module.coprocessors.push(CoproUse { alias, name });
        Ok(())
    }

    fn data(&mut self) -> Result<(), Failed> {
        let token = self.peek();
        if token.kind == Kind::Directive {
            return self.byte_order();
        }
        if !["db", "dw", "dd"].iter().any(|d| self.at_word(d)) {
            let (name, token) = self.name("db, dw, dd or a label")?;
            self.data_label(name, token)?;
            if self.skip_mark(b':') {
                return Ok(());
            }
        }
        let size = match self.text(self.peek()) {
            "db" => 1,
            "dw" => 2,
            "dd" => 4,
            _ => return Err(self.expected("db, dw or dd")),
        };
        self.next();
        self.data_item(size)?;
        while self.skip_mark(b',') {
            self.data_item(size)?;
        }
        Ok(())
    }

    fn byte_order(&mut self) -> Result<(), Failed> {
        if self.text(self.peek()) != ".byte_order" {
            return Err(self.expected("`.byte_order`, a label, db, dw or dd"));
        }
        let token = self.next();
        if !self.module.data.is_empty() {
            return Err(self.error(token, "the byte order must stand before the first value"));
        }
        self.little_endian = match self.text(self.peek()) {
            "network" | "big_endian" => false,
            "little_endian" => true,
            _ => return Err(self.expected("network, big_endian or little_endian")),
        };
        self.next();
        Ok(())
    }

    fn data_label(&mut self, name: String, token: Token) -> Result<(), Failed> {
        let at = self.module.data.len() as u32;
        self.unique("data label", &name, token)?;
        self.data_labels.insert(name.clone(), at);
        self.module.data_labels.push(Label { name, at });
        Ok(())
    }

    fn data_item(&mut self, size: usize) -> Result<(), Failed> {
        if size == 1 && self.peek().kind == Kind::Text {
            let token = self.next();
            let bytes = self.string(token);
            self.module.data.extend_from_slice(&bytes);
            return Ok(());
        }
        let expr = self.expr("a value")?;
        let at = self.module.data.len();
        self.module.data.resize(at + size, 0);
        match expr.value(|name| self.lookup(name)) {
            // Labels of data that follows are not known yet.
            Err(NoValue::Unknown(_)) => self.data_fixups.push((at, size, expr)),
            _ => self.patch_data(at, size, &expr),
        }
        Ok(())
    }

    /// Writes the value of an item of initialised data.
    pub fn patch_data(&mut self, at: usize, size: usize, expr: &Expr) {
        let bits = 8 * size as u32;
        let Ok(value) = self.evaluate(expr, -(1 << (bits - 1))..=(1i128 << bits) - 1) else { return };
        let bytes = (value as u32).to_le_bytes();
        let slot = &mut self.module.data[at..at + size];
        slot.copy_from_slice(&bytes[..size]);
        if !self.little_endian {
            slot.reverse();
        }
    }

    pub fn at_equate(&self) -> bool {
        self.peek().kind == Kind::Word && self.is_word(self.ahead(1), "equ")
    }

    fn equate(&mut self) -> Result<(), Failed> {
        let (name, token) = (self.text(self.peek()), self.peek());
        self.next();
        self.next();
        let expr = self.expr("a value")?;
        let value = self.evaluate(&expr, -(1 << 31)..=(1i128 << 32) - 1)?;
        if RESERVED.contains(&name) {
            return Err(self.error(token, format!("`{name}` is a reserved word")));
        }
        match self.constants.insert(name, value) {
            Some(_) => Err(self.error(token, format!("`{name}` is defined already"))),
            None => Ok(()),
        }
    }

    /// A 32-bit number that is known now.
    pub fn value(&mut self, what: &str) -> Result<u32, Failed> {
        let expr = self.expr(what)?;
        self.evaluate(&expr, -(1 << 31)..=(1i128 << 32) - 1).map(|v| v as u32)
    }

    /// The value of an expression, reported if it has none or is out of range.
    pub fn evaluate(&mut self, expr: &Expr, range: std::ops::RangeInclusive<i128>) -> Result<i64, Failed> {
        match expr.value(|name| self.lookup(name)) {
            Ok(v) if range.contains(&v) => Ok(v as i64),
            Ok(v) => Err(self.error(expr.first, format!("{v} is out of range; {} to {} is possible here", range.start(), range.end()))),
            Err(NoValue::Undefined) => Err(self.error(expr.first, "this has no value: a division by zero, or too large")),
            Err(NoValue::Unknown(name)) => Err(self.unknown(name)),
        }
    }

    fn lookup(&self, name: Token) -> Option<i64> {
        let text = self.text(name);
        self.constants.get(text).copied().or_else(|| Some(i64::from(*self.data_labels.get(&*self.name_of(name))?)))
    }

    fn unknown(&mut self, name: Token) -> Failed {
        let text = self.text(name);
        let failed = self.error(name, format!("`{text}` is not defined"));
        match text {
            "ip_host" | "tcp_port" => self.help("names of hosts and services are not resolved; write the number"),
            _ if self.overfull => {}
            _ => {
                let names = self.constants.keys().copied().chain(self.data_labels.keys().map(String::as_str));
                let near = nearest(text, names).map(str::to_owned);
                self.help_near(text, near.as_deref(), "define it first: name equ value");
            }
        }
        failed
    }

    /// A bare or quoted name.
    pub fn name(&mut self, what: &str) -> Result<(String, Token), Failed> {
        let token = self.peek();
        match token.kind {
            Kind::Word if is_bare(self.text(token)) => {}
            Kind::Text => {}
            _ => return Err(self.expected(what)),
        }
        self.next();
        if token.kind == Kind::Text && String::from_utf8(self.string(token)).is_err() {
            return Err(self.error(token, "this name is not UTF-8"));
        }
        Ok((self.name_of(token), token))
    }

    /// The name that a word or string stands for.
    pub fn name_of(&self, token: Token) -> String {
        match token.kind {
            Kind::Text => String::from_utf8(self.string(token)).unwrap_or_default(),
            _ => self.text(token).to_owned(),
        }
    }

    /// The bytes of a string; `\xHH` is a byte, `\\` a backslash, any other backslash itself, as in
    /// the original.
    fn string(&self, token: Token) -> Vec<u8> {
        let text = self.text(token).as_bytes();
        let text = text.get(1..text.len().saturating_sub(1)).unwrap_or(&[]);
        let (mut out, mut i) = (Vec::with_capacity(text.len()), 0);
        while i < text.len() {
            let hex = |d: &[u8]| std::str::from_utf8(d).ok().and_then(|d| u8::from_str_radix(d, 16).ok()).filter(|_| d[0] != b'+');
            let (byte, len) = match text[i..] {
                [b'\\', b'x' | b'X', a, b, ..] => hex(&[a, b]).map_or((b'\\', 1), |v| (v, 4)),
                [b'\\', b'\\', ..] => (b'\\', 2),
                [c, ..] => (c, 1),
                [] => break,
            };
            out.push(byte);
            i += len;
        }
        out
    }

    /// Refuses a second thing of that kind and name.
    pub fn unique(&mut self, what: &'static str, name: &str, token: Token) -> Result<(), Failed> {
        match self.names.insert((what, name.to_owned()), token) {
            None => Ok(()),
            Some(first) => Err(self.error(token, format!("there is a {what} `{name}` already, on line {}", first.line))),
        }
    }

    /// Refuses a second declaration of what is declared once.
    pub fn once(&mut self, what: &'static str, token: Token) -> Result<(), Failed> {
        match self.seen.insert(what, token) {
            None => Ok(()),
            Some(first) => Err(self.error(token, format!("`{what}` is declared twice; the first is on line {}", first.line))),
        }
    }

    pub fn peek(&self) -> Token {
        self.ahead(0)
    }

    pub fn ahead(&self, n: usize) -> Token {
        // The last token is the end, which is never passed.
        self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }

    pub fn previous(&self) -> Token {
        self.tokens[self.at.saturating_sub(1)]
    }

    pub fn next(&mut self) -> Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub fn text(&self, token: Token) -> &'s str {
        self.source.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    fn is_word(&self, token: Token, word: &str) -> bool {
        token.kind == Kind::Word && self.text(token) == word
    }

    pub fn at_word(&self, word: &str) -> bool {
        self.is_word(self.peek(), word)
    }

    fn skip_word(&mut self, word: &str) {
        if self.at_word(word) {
            self.next();
        }
    }

    fn at_segment(&self) -> bool {
        self.at_word("segment") && self.ahead(1).kind == Kind::Directive
    }

    pub fn at_mark(&self, mark: u8) -> bool {
        self.peek().kind == Kind::Mark(mark)
    }

    pub fn skip_mark(&mut self, mark: u8) -> bool {
        let there = self.at_mark(mark);
        if there {
            self.next();
        }
        there
    }

    pub fn comma(&mut self) -> Result<(), Failed> {
        if self.skip_mark(b',') { Ok(()) } else { Err(self.expected("a comma")) }
    }

    /// The text up to the next blank, comma or comment, whatever tokens it is made of.
    pub fn raw_word(&mut self) -> (&'s str, Token) {
        let (first, word) = (self.peek(), self.peek_raw());
        let end = first.start + word.len() as u32;
        while self.peek().start < end && self.peek().kind != Kind::End {
            self.next();
        }
        (word, Token { end, ..first })
    }

    /// What [`Self::raw_word`] will give.
    pub fn peek_raw(&self) -> &'s str {
        let rest = self.source.get(self.peek().start as usize..).unwrap_or("");
        rest.split([' ', '\t', '\r', '\n', ',', ';']).next().unwrap_or("")
    }

    /// Reports that something else was wanted at the next token.
    pub fn expected(&mut self, what: &str) -> Failed {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the end of the source".to_owned(),
            Kind::Bad(why) => return self.error(token, why.message()),
            _ => format!("`{}`", self.text(token)),
        };
        let place = if token.kind == Kind::End { self.previous() } else { token };
        self.error(place, format!("expected {what}, found {found}"))
    }

    pub fn error(&mut self, token: Token, message: impl Into<String>) -> Failed {
        self.failed_line = self.failed_line.max(token.line);
        self.overfull = self.errors.len() == MAX_ERRORS;
        if !self.overfull {
            let line_start = self.lines.get(token.line as usize - 1).copied().unwrap_or(0) as usize;
            let mut message: String = message.into();
            if let Some((end, _)) = message.char_indices().nth(300) {
                message.truncate(end);
                message.push('…');
            }
            let place = (token.start as usize, token.end as usize);
            self.errors.push(AsmError::new(self.source, token.line, line_start, place, message));
        }
        Failed
    }

    /// Adds advice to the last error.
    pub fn help(&mut self, help: &str) {
        if let Some(e) = self.errors.last_mut().filter(|e| e.help.is_none() && !self.overfull) {
            e.help = Some(help.to_owned());
        }
    }

    /// Advises the candidate that was probably meant, or else something general.
    pub fn help_near<'a>(&mut self, word: &str, candidates: impl IntoIterator<Item = &'a str>, otherwise: &str) {
        if self.overfull {
            return;
        }
        match nearest(word, candidates) {
            Some(name) => self.help(&format!("did you mean `{name}`?")),
            None if otherwise.is_empty() => {}
            None => self.help(otherwise),
        }
    }

    /// After a failure, goes to the next line, or to `ends`.
    fn recover(&mut self, before: usize, result: Result<(), Failed>) {
        if result.is_err() {
            while self.peek().line <= self.failed_line && self.peek().kind != Kind::End && !self.at_word("ends") {
                self.next();
            }
            if self.at == before {
                self.next();
            }
        }
    }
}
