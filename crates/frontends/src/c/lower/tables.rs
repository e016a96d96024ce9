//! Tables as modules declare them.

use super::Lowerer;
use crate::c::fold::{Nothing, fold};
use crate::c::tree::{Binary, Expr, Kind, PlaceKind, TableDecl, meaning};
use crate::diagnostics::Diagnostic;
use netil::module::Table;
use netil::verify::MAX_CAPACITY;

impl Lowerer<'_> {
    pub(super) fn tables(&mut self) {
        for declared in &self.program.tables {
            let (capacity, timeout) = (fold(&declared.capacity, &self.facts), declared.timeout.as_ref().map(|e| fold(e, &self.facts)));
            if capacity.is_none() || timeout == Some(None) {
                self.fault(declared.span, "capacity and timeout of a table are constants or parameters");
            } else {
                self.capacity(declared);
            }
            let entries = self.instance.entries.get(&*declared.name).cloned().unwrap_or_default();
            self.module.tables.push(Table {
                name: declared.name.to_string(),
                kind: declared.kind,
                key_bits: (declared.key.size() * 8) as u16,
                value_bytes: declared.value.size(),
                capacity: capacity.unwrap_or(0) as u32,
                timeout_ns: timeout.flatten().unwrap_or(0) as u64,
                entries,
            });
        }
    }

    /// Tells if a table would hold nothing, or too much; of tables with the same capacity, once.
    fn capacity(&mut self, declared: &TableDecl) {
        let capacity = &declared.capacity;
        let Some(asked) = self.meant(capacity).filter(|asked| !(1..=i128::from(MAX_CAPACITY)).contains(asked)) else { return };
        let before = self.program.tables.iter().take_while(|other| other.span != declared.span);
        if before.into_iter().any(|other| self.meant(&other.capacity) == Some(asked)) {
            return;
        }
        let (table, element) = (&declared.name, &self.instance.name);
        let fault = match fold(capacity, &Nothing) {
            Some(_) => Diagnostic::new(capacity.span, format!("the table `{table}` would have room for {asked} entries")),
            None => Diagnostic::new(capacity.span, format!("the table `{table}` of `{element}` would have room for {asked} entries")),
        };
        let possible = format!("1 to {MAX_CAPACITY} are possible");
        let help = self.keyword(capacity).map_or(possible.clone(), |keyword| format!("{possible}: the argument {keyword} says how many"));
        self.faults.add(fault.help(help));
    }

    /// The capacity that is meant, though it be too large for its type.
    fn meant(&self, capacity: &Expr) -> Option<i128> {
        match &capacity.kind {
            Kind::Binary(op @ (Binary::Add | Binary::Sub | Binary::Mul), a, b) => {
                let (a, b) = (self.meant(a)?, self.meant(b)?);
                match op {
                    Binary::Add => a.checked_add(b),
                    Binary::Sub => a.checked_sub(b),
                    _ => a.checked_mul(b),
                }
            }
            Kind::Convert(inner) if inner.ty.is_int() => self.meant(inner),
            _ => Some(meaning(&capacity.ty, fold(capacity, &self.facts)?)),
        }
    }

    /// The keyword of a parameter in the expression.
    fn keyword(&self, e: &Expr) -> Option<&str> {
        match &e.kind {
            Kind::Binary(_, a, b) => self.keyword(a).or_else(|| self.keyword(b)),
            Kind::Choose(_, a, b) => self.keyword(a).or_else(|| self.keyword(b)),
            Kind::Convert(inner) => self.keyword(inner),
            Kind::Load(place) => match place.kind {
                PlaceKind::Param(param) => Some(self.program.class.params[param].keyword.as_str()).filter(|word| !word.is_empty()),
                _ => None,
            },
            _ => None,
        }
    }
}
