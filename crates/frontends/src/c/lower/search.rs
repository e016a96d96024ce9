//! Searching the packet: the coprocessors `stringmatching` and `regexp`, loaded when the element is
//! made.
//!
//! All that a class declares by STRINGS are groups of one unit, and all by REGEX expressions of
//! another; each is there if the class uses it. What the units are loaded with is written at the
//! end of initialised data.

use super::Lowerer;
use crate::c::builtins::Row;
use crate::c::fold::Known;
use crate::c::tree::{Arg, Pattern, PatternText};
use crate::diagnostics::{Diagnostic, Span};
use netil::copro::{EXPRESSION_SIZE, expression_text};
use netil::module::{CoproUse, HandlerKind, Inst};
use netil::table::Op;
use regex::bytes::RegexBuilder;
use std::sync::Arc;

/// Operations of both units.
const MATCH_WITH_OFFSET: u32 = 2;
const GET_RESULT: u32 = 3;
/// Units that a class may have, with what takes their data.
pub(super) const UNITS: [&str; 3] = ["console", "stringmatching", "regexp"];
/// Why an element is not made.
const BAD_PATTERN: &str = "a text to be searched for is too large, or no regular expression";

impl Lowerer<'_> {
    /// The number of a unit that the class uses.
    pub(super) fn unit(&mut self, name: &str) -> u32 {
        let units = &mut self.module.coprocessors;
        let known = units.iter().position(|unit| unit.name == name);
        let at = known.unwrap_or_else(|| {
            units.push(CoproUse { alias: name.to_owned(), name: name.to_owned() });
            units.len() - 1
        });
        at as u32
    }

    /// The number of the string that ends first in those bytes, -1 if none does; of an expression
    /// whether it is found.
    pub(super) fn search(&mut self, args: &[Arg], row: &Row, span: Span) {
        let Some((unit, is_regex, _)) = self.searched(args, row, span) else { return };
        if is_regex {
            return self.code.op2(Op::CoproIn, unit, 0);
        }
        self.code.op2(Op::CoproInvoke, unit, GET_RESULT);
        // Strings are numbered from 1; without a match the number is 0.
        self.code.op2(Op::CoproIn, unit, 1);
        self.code.op1(Op::Push, 1);
        self.code.op(Op::Sub);
    }

    /// Where in the packet what such a search finds begins, or ends; -1 if it finds nothing.
    pub(super) fn search_place(&mut self, args: &[Arg], begins: bool, row: &Row, span: Span) {
        let Some((unit, _, offset)) = self.searched(args, row, span) else { return };
        let (nothing, end) = (self.code.label(), self.code.label());
        self.code.op2(Op::CoproIn, unit, 0);
        self.code.jump(Op::JEq, nothing);
        self.code.op2(Op::CoproInvoke, unit, GET_RESULT);
        // The end is counted from where the search began.
        self.code.load(offset);
        self.code.op2(Op::CoproIn, unit, 2);
        self.code.op(Op::Add);
        if begins {
            self.code.op2(Op::CoproIn, unit, 3);
            self.code.op(Op::Sub);
        }
        self.code.go(end);
        self.code.place(nothing);
        self.code.op1(Op::Push, u32::MAX);
        self.code.place(end);
    }

    /// Searches: the unit, whether it is that of expressions, and the local with the offset.
    fn searched(&mut self, args: &[Arg], row: &Row, span: Span) -> Option<(u32, bool, u32)> {
        let [Arg::Pattern(id), Arg::Value(offset), Arg::Value(length)] = args else { return None };
        if self.kind == HandlerKind::Init {
            self.fault(span, format!("`{}` needs a packet, and there is none in init()", row.name));
        }
        let is_regex = self.program.patterns[*id].is_regex;
        let group = self.program.patterns[..*id].iter().filter(|other| other.is_regex == is_regex).count() as u32;
        let unit = self.unit(UNITS[1 + usize::from(is_regex)]);
        self.value(offset);
        let offset = self.code.keep(32);
        self.value(length);
        self.code.op2(Op::CoproOut, unit, 2);
        self.code.load(offset);
        self.code.op2(Op::CoproOut, unit, 1);
        self.code.op1(Op::Push, group);
        self.code.op2(Op::CoproOut, unit, 0);
        self.code.op2(Op::CoproExbuf, unit, 0);
        self.code.op2(Op::CoproInvoke, unit, MATCH_WITH_OFFSET);
        Some((unit, is_regex, offset))
    }

    /// Loads the units that are used, at the beginning of the init handler; gives the place that is
    /// left for the console, if only what follows prints.
    pub(super) fn load_units(&mut self) -> Option<usize> {
        for n in 0..self.module.coprocessors.len() {
            let name = self.module.coprocessors[n].name.clone();
            if name == UNITS[0] {
                self.code.op2(Op::CoproInit, n as u32, 0);
                self.code.op(Op::Pop);
            } else if UNITS.contains(&name.as_str()) {
                self.load_patterns(n as u32, name == UNITS[2]);
            }
        }
        let left = self.code.insts.len();
        let has_console = self.module.coprocessors.iter().any(|unit| unit.name == UNITS[0]);
        if has_console {
            return None;
        }
        for _ in 0..2 {
            self.code.op(Op::Nop);
        }
        Some(left)
    }

    /// Loads the console there, if it has come to be used.
    pub(super) fn load_console(&mut self, left: usize) {
        if let Some(n) = self.module.coprocessors.iter().position(|unit| unit.name == UNITS[0]) {
            self.code.insts[left] = Inst::with2(Op::CoproInit, n as u32, 0);
            self.code.insts[left + 1] = Inst::new(Op::Pop);
        }
    }

    /// Loads a unit; an element whose patterns it refuses is not made.
    fn load_patterns(&mut self, unit: u32, is_regex: bool) {
        let (at, end) = (self.unit_data(is_regex), self.code.label());
        self.code.op2(Op::CoproInit, unit, at);
        self.code.jump(Op::JEq, end);
        let reason = self.reason(BAD_PATTERN);
        self.code.op1(Op::Exit, reason);
        self.code.place(end);
    }

    /// Where the data begins that a unit is loaded with.
    fn unit_data(&mut self, is_regex: bool) -> u32 {
        let patterns: Vec<&Pattern> = self.program.patterns.iter().filter(|pattern| pattern.is_regex == is_regex).collect();
        let mut data = (patterns.len() as u16).to_le_bytes().to_vec();
        for pattern in patterns {
            let texts: Vec<Arc<[u8]>> = pattern.texts.iter().flat_map(|text| self.pattern_texts(text)).collect();
            if is_regex {
                self.expression(pattern, &texts[0]);
                expression(&mut data, &texts[0]);
            } else {
                strings(&mut data, &texts);
            }
        }
        self.initialised(&data.into())
    }

    /// Tells if the unit would refuse an expression: it has the same limits, and the same library
    /// reads them.
    fn expression(&mut self, pattern: &Pattern, text: &[u8]) {
        let mut builder = RegexBuilder::new(&expression_text(text));
        builder.unicode(false).dot_matches_new_line(true).size_limit(EXPRESSION_SIZE);
        let Err(wrong) = builder.build() else { return };
        let whose = match pattern.texts[0] {
            PatternText::Param(param) => {
                format!(", the argument {} of `{}`,", self.program.class.params[param].keyword, self.instance.name)
            }
            PatternText::Literal(_) | PatternText::List(_) => String::new(),
        };
        let text = String::from_utf8_lossy(text);
        let fault = match wrong {
            regex::Error::CompiledTooBig(_) => Diagnostic::new(pattern.span, format!("the expression `{text}`{whose} is too large"))
                .help(format!("compiled it may take {EXPRESSION_SIZE} bytes: repeat less")),
            wrong => {
                let wrong = wrong.to_string();
                let why = wrong.lines().last().unwrap_or_default().trim_start_matches("error: ");
                Diagnostic::new(pattern.span, format!("`{text}`{whose} is no regular expression: {why}"))
            }
        };
        self.faults.add(fault);
    }

    fn pattern_texts(&self, text: &PatternText) -> Vec<Arc<[u8]>> {
        match text {
            PatternText::Literal(bytes) => vec![Arc::clone(bytes)],
            PatternText::Param(param) => vec![self.facts.text(*param).unwrap_or_default().as_bytes().into()],
            PatternText::List(param) => self.facts.texts(*param).iter().map(|text| text.as_bytes().into()).collect(),
        }
    }
}

fn counted(data: &mut Vec<u8>, bytes: &[u8]) {
    data.extend((bytes.len().min(usize::from(u16::MAX)) as u16).to_le_bytes());
    data.extend(&bytes[..bytes.len().min(usize::from(u16::MAX))]);
}

/// A dot is any byte.
fn expression(data: &mut Vec<u8>, text: &[u8]) {
    counted(data, b"s");
    counted(data, text);
}

fn strings(data: &mut Vec<u8>, texts: &[Arc<[u8]>]) {
    data.extend((texts.len() as u16).to_le_bytes());
    for (n, text) in texts.iter().enumerate() {
        let text = &text[..text.len().min(usize::from(u16::MAX))];
        data.extend((text.len() as u16).to_le_bytes());
        data.extend(0u16.to_le_bytes());
        data.extend((n as u32 + 1).to_le_bytes());
        data.extend(text);
    }
}
