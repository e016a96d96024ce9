//! EXPIRED: the function that is told of entries that a table's timeout ends.

use super::class::name_of;
use super::{Checker, Symbol};
use crate::c::ast::{Arg, Name};
use crate::c::types::Type;
use crate::diagnostics::Diagnostic;
use netil::event::TIMERS;

impl Checker<'_> {
    /// `EXPIRED(table, function)`, behind the declarations of both.
    pub(super) fn expired_word(&mut self, args: &[Arg]) -> Option<()> {
        let [table, function] = args else { return None };
        let (name, function) = (name_of(table)?, name_of(function)?);
        let Some(Symbol::Table(id)) = self.lookup(&name.text).map(|(symbol, _)| symbol.clone()) else {
            match self.lookup(&name.text) {
                Some(_) => self.fault(name.span, format!("`{}` is not a table", name.text)),
                None => self.unknown(name, "table"),
            }
            return Some(());
        };
        let told = self.told_of(id, function);
        let declared = &self.program.tables[id];
        if declared.timeout.is_none() {
            let fault = Diagnostic::new(name.span, "only entries of exact tables end by a timeout").note(declared.span, "declared here");
            self.faults.add(fault);
            return Some(());
        }
        if let Some((_, before)) = declared.expired {
            let fault = Diagnostic::new(name.span, format!("a table has one EXPIRED, and `{}` has two", name.text));
            self.faults.add(fault.note(before, "it is here already"));
        }
        if self.program.tables.iter().filter(|table| table.expired.is_some()).count() == TIMERS {
            self.fault(name.span, format!("EXPIRED stands for {TIMERS} tables at most"));
            return Some(());
        }
        self.program.tables[id].expired = told.map(|told| (told, name.span));
        Some(())
    }

    /// The function, if it takes a key and a value of the table.
    fn told_of(&mut self, table: usize, name: &Name) -> Option<usize> {
        let Some(Symbol::Function(id)) = self.lookup(&name.text).map(|(symbol, _)| symbol.clone()) else {
            match self.lookup(&name.text) {
                Some(_) => self.fault(name.span, format!("`{}` is not a function", name.text)),
                None => self.unknown(name, "function"),
            }
            return None;
        };
        let (function, declared) = (&self.program.functions[id], &self.program.tables[table]);
        let points = |at: usize, to: &Type| {
            let ty = function.locals.get(at).filter(|_| at < function.params).map(|local| &local.ty);
            matches!(ty, Some(Type::Pointer(pointed)) if **pointed == *to)
        };
        if function.params == 2 && points(0, &declared.key) && points(1, &declared.value) && function.result == Type::Void {
            return Some(id);
        }
        let shape = format!("void {}(const {} *key, const {} *value)", name.text, declared.key, declared.value);
        let fault = Diagnostic::new(name.span, format!("`{}` has other types", name.text)).note(function.span, "declared here");
        self.faults.add(fault.help(format!("write `static {shape}`")));
        None
    }
}
