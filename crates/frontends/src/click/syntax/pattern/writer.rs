//! C under construction for patterns: lines, and conditions as expressions.

use super::cubes::Tests;
use super::fields::{Known, constant, has, has_bytes, header_field, read_width, shifted};
use super::formula::{Formula, Op, Test};
use netil::module::Entry;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The text of a function.
pub(super) struct Writer<'a> {
    pub(super) name: &'a str,
    pub(super) text: String,
    pub(super) tests: &'a Tests,
    /// Patterns in a row that are a table.
    pub(super) least: usize,
    /// How many tables there are, their declarations, and their entries by name.
    pub(super) count: usize,
    pub(super) tables: String,
    pub(super) entries: BTreeMap<String, Vec<Entry>>,
}

impl Writer<'_> {
    pub(super) fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.text, "{:indent$}{text}", "", indent = 4 * depth);
    }

    /// A condition as an expression that binds as tightly as its outermost operator.
    pub(super) fn condition(&self, formula: &Formula, known: Known) -> String {
        match formula {
            Formula::Is(is) => u8::from(*is).to_string(),
            Formula::Test(test) => self.test(test, known),
            Formula::Not(of) => format!("!({})", self.condition(of, known)),
            Formula::All(of) => self.all(of, known),
            Formula::Any(of) => of.iter().map(|of| self.closed(of, known)).collect::<Vec<_>>().join(" || "),
            Formula::If(of) => {
                let [a, b, c] = [0, 1, 2].map(|n: usize| self.closed(&of[n], known));
                format!("({a} ? {b} : {c})")
            }
        }
    }

    /// A condition in parentheses where it has `&&`, `||` or a comparison beside others.
    fn closed(&self, formula: &Formula, known: Known) -> String {
        let text = self.condition(formula, known);
        let open = match formula {
            Formula::All(_) | Formula::Any(_) => true,
            Formula::Test(test) => !has_bytes(test, known),
            _ => false,
        };
        if open { format!("({text})") } else { text }
    }

    /// Conditions joined by `&&`; what one says of lengths holds for those behind it.
    fn all(&self, of: &[Formula], mut known: Known) -> String {
        let mut parts = Vec::with_capacity(of.len());
        for one in of {
            parts.push(if matches!(one, Formula::Test(_)) { self.condition(one, known) } else { self.closed(one, known) });
            if let Formula::Test(test) = one {
                let bytes = &mut known[test.field.area as usize];
                *bytes = test.needs().max(*bytes);
            }
        }
        parts.join(" && ")
    }

    pub(super) fn test(&self, test: &Test, known: Known) -> String {
        let op = match test.op {
            Op::Equal => "==",
            Op::Differs => "!=",
            Op::Above => ">",
            Op::AtMost => "<=",
        };
        let comparison = format!("{} {op} {}", self.masked(test), constant(shifted(test, test.value)));
        if has_bytes(test, known) { comparison } else { format!("{} && {comparison}", has(test.field.area, test.needs())) }
    }

    /// The field with its mask.
    pub(super) fn masked(&self, test: &Test) -> String {
        let value = self.value(test);
        let (mask, all) = match header_field(test.field) {
            Some(_) => (test.mask, test.field.all()),
            None => (shifted(test, test.mask), u32::MAX >> (32 - 8 * read_width(test))),
        };
        if mask == all { value } else { format!("({value} & {})", constant(mask)) }
    }

    /// The field, without the bytes that the mask leaves out at its end.
    pub(super) fn value(&self, test: &Test) -> String {
        if let Some(named) = header_field(test.field) {
            return named.to_owned();
        }
        let read = ["", "byte", "half", "three", "word"][read_width(test) as usize];
        let base = ["", "network", "transport"][test.field.area as usize];
        let at = match (base, test.field.offset) {
            ("", offset) => offset.to_string(),
            (base, 0) => base.to_owned(),
            (base, offset) => format!("{base} + {offset}"),
        };
        format!("{}_{read}({at})", self.name)
    }
}
