//! Coprocessors by their names: those of the embedding program, and the ones that every netvm has
//! and that no other function of netvm.h uses.
//!
//! Each function is the instruction of NetIL of that kind: registers are put and got, operations
//! run. Names, operations and registers are constants, so what is not there is told at its place. A
//! unit is the element's own.

use super::Lowerer;
use super::search::UNITS;
use crate::c::builtins::{Own, Row};
use crate::c::fold::fold;
use crate::c::tree::{Arg, Expr, Kind};
use crate::diagnostics::{Diagnostic, Span};
use netil::copro::{Descriptor, MAX_COPROCESSORS, find};
use netil::module::HandlerKind;
use netil::table::Op;

/// The text of an argument in quotes.
fn quoted(e: &Expr) -> String {
    match &e.kind {
        Kind::Text(text) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    }
}

impl Lowerer<'_> {
    /// A call about the coprocessor of that name.
    pub(super) fn coprocessor(&mut self, own: Own, name: &Expr, rest: &[Arg], (row, span): (&Row, Span)) {
        let Some(known) = self.known_unit(name) else { return };
        let unit = self.unit(known.name);
        match (own, rest) {
            (Own::UnitLoad, [Arg::Value(data)]) => self.load_unit(unit, data, (row, span)),
            (Own::UnitPut, [Arg::Value(register), Arg::Value(value)]) => {
                let register = self.register_of(known, register);
                self.value(value);
                self.code.op2(Op::CoproOut, unit, register);
            }
            (Own::UnitGet, [Arg::Value(register)]) => {
                let register = self.register_of(known, register);
                self.code.op2(Op::CoproIn, unit, register);
            }
            (Own::UnitRun, [Arg::Value(operation)]) => {
                let operation = self.operation_of(known, operation);
                self.code.op2(Op::CoproInvoke, unit, operation);
            }
            _ => {
                self.in_packet(Op::CoproExbuf, row, span);
                self.code.op2(Op::CoproExbuf, unit, 0);
            }
        }
    }

    fn known_unit(&mut self, name: &Expr) -> Option<&'static Descriptor> {
        let text = quoted(name);
        if UNITS.contains(&text.as_str()) {
            let help = "use print and its kin, STRINGS or REGEX";
            self.faults.add(Diagnostic::new(name.span, format!("the coprocessor `{text}` is not used by its name")).help(help));
            return None;
        }
        let Some(known) = find(&text) else {
            let help = "a program registers its coprocessors before it reads elements: netvm::coprocessors, netvm_coprocessor_register";
            self.faults.add(Diagnostic::new(name.span, format!("no coprocessor is called `{text}`")).help(help));
            return None;
        };
        let units = &self.module.coprocessors;
        if units.len() == MAX_COPROCESSORS && units.iter().all(|unit| unit.name != text) {
            self.fault(name.span, format!("an element uses at most {MAX_COPROCESSORS} coprocessors"));
            return None;
        }
        Some(known)
    }

    /// Loads it with a text, which ends with a NUL for it.
    fn load_unit(&mut self, unit: u32, data: &Expr, (row, span): (&Row, Span)) {
        if self.kind != HandlerKind::Init {
            self.fault(span, format!("`{}` is for init()", row.name));
        }
        let mut bytes = match &data.kind {
            Kind::Text(text) => text.to_vec(),
            _ => Vec::new(),
        };
        bytes.push(0);
        let at = self.initialised(&bytes.into());
        self.code.op2(Op::CoproInit, unit, at);
    }

    fn register_of(&mut self, unit: &Descriptor, register: &Expr) -> u32 {
        match fold(register, &self.facts).filter(|n| *n < u128::from(unit.registers)) {
            Some(n) => n as u32,
            None => {
                let last = unit.registers.saturating_sub(1);
                self.fault(register.span, format!("a register of `{}` is a constant from 0 to {last}", unit.name));
                0
            }
        }
    }

    fn operation_of(&mut self, unit: &Descriptor, operation: &Expr) -> u32 {
        let text = quoted(operation);
        let found = unit.operations.iter().position(|known| *known == text);
        found.map_or_else(
            || {
                let help = format!("it has {}", unit.operations.join(", "));
                self.faults.add(Diagnostic::new(operation.span, format!("`{}` has no operation `{text}`", unit.name)).help(help));
                0
            },
            |n| n as u32,
        )
    }
}
