//! SCOPE: which elements have a table or a variable together.
//!
//! Source: NP-Click paper, section 4.2.1 (universal, global, regional, local).

use super::class::name_of;
use super::{Checker, Symbol};
use crate::c::ast::{self, Arg, ExprKind, Name};
use crate::c::{TableScope, Value, similar};
use crate::diagnostics::Diagnostic;

const SCOPES: [&str; 4] = ["LOCAL", "REGIONAL", "GLOBAL", "UNIVERSAL"];

impl Checker<'_> {
    /// `SCOPE(name, GLOBAL)`, `SCOPE(name, REGIONAL(element, its name))`; behind the declaration of
    /// that table or variable.
    pub(super) fn scope_word(&mut self, args: &[Arg]) -> Option<()> {
        let [table, Arg::Expr(scope)] = args else { return None };
        let (name, of) = match &scope.kind {
            ExprKind::Name(name) => (name, None),
            ExprKind::Call(callee, of) => match &callee.kind {
                ExprKind::Name(name) => (name, Some(of)),
                _ => return None,
            },
            _ => return None,
        };
        let scope = match (&*name.text, of.map(Vec::as_slice)) {
            ("LOCAL", None) => TableScope::Local,
            ("REGIONAL", None) => TableScope::Regional,
            ("GLOBAL", None) => TableScope::Global,
            ("UNIVERSAL", None) => TableScope::Universal,
            ("REGIONAL", Some([element, table])) => {
                let (element, table) = (self.element_name(element)?, name_of(table)?.text.to_string());
                if element.is_empty() { TableScope::Regional } else { TableScope::Of { element, table } }
            }
            (known, _) if SCOPES.contains(&known) => return None,
            _ => return self.no_scope(name),
        };
        let name = name_of(table)?;
        match self.lookup(&name.text).map(|(symbol, _)| symbol.clone()) {
            Some(Symbol::Static(id)) => self.variable_scope(id, scope, table),
            Some(Symbol::Table(id)) => self.program.tables[id].scope = scope,
            Some(_) => self.fault(name.span, "this is neither a table nor a static variable"),
            None => self.unknown(name, "table or variable"),
        }
        Some(())
    }

    fn variable_scope(&mut self, id: usize, scope: TableScope, name: &Arg) {
        let variable = &mut self.program.statics[id];
        if !variable.constant {
            variable.scope = scope;
            return;
        }
        let fault = Diagnostic::new(name.span(), format!("`{}` is const, and the same everywhere anyway", variable.name));
        self.faults.add(fault.note(variable.span, "declared here").help("leave its scope out"));
    }

    fn no_scope(&mut self, name: &Name) -> Option<()> {
        let fault = Diagnostic::new(name.span, format!("there is no scope `{}`", name.text));
        let fault = fault.help("write LOCAL, REGIONAL, REGIONAL(element, name), GLOBAL or UNIVERSAL");
        let fault = similar(fault, &name.text, SCOPES.into_iter(), "");
        self.faults.add(fault);
        Some(())
    }

    /// A text, or what a parameter is for this instance.
    fn element_name(&mut self, arg: &Arg) -> Option<String> {
        let Arg::Expr(ast::Expr { kind, .. }) = arg else { return None };
        match kind {
            ExprKind::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            ExprKind::Name(name) => {
                let Some((Symbol::Param(_), _)) = self.lookup(&name.text) else { return None };
                match self.instance.map(|instance| instance.values.get(&*name.text)) {
                    Some(Some(Value::Text(text))) => Some(text.clone()),
                    Some(Some(_)) => None,
                    Some(None) | None => Some(String::new()),
                }
            }
            _ => None,
        }
    }
}
