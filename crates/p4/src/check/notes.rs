//! Annotations whose values the language fixes: those of structured ones, `@name`, `@deprecated`,
//! `@noWarn` and `@match`.
//!
//! Source: P4-16 specification 1.2.5, section 20 (annotations). Left out: annotations that targets,
//! P4Runtime and other compilers define.

use super::consts::is_constant;
use super::{Checked, Checker, fault};
use crate::ast::{Annotation, ExprKind as Ast};
use crate::hir::Type;
use frontends::diagnostics::Diagnostic;

impl Checker {
    pub(super) fn annotations(&mut self, all: &[Annotation]) -> Checked<()> {
        for annotation in all {
            match &*annotation.name {
                _ if annotation.structured => self.values(annotation)?,
                "name" | "deprecated" | "noWarn" => self.string(annotation)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Values in square brackets are strings, numbers and truth values that are known when the
    /// program is compiled.
    fn values(&mut self, annotation: &Annotation) -> Checked<()> {
        for value in &annotation.args {
            let value = match &value.kind {
                Ast::Record(named, _) if matches!(named.as_slice(), [(name, _)] if value.span.start == name.span.start) => &named[0].1,
                _ => value,
            };
            let checked = self.expr(value)?;
            let plain = matches!(checked.ty, Type::Str | Type::Integer | Type::Bit(_) | Type::Int(_) | Type::Bool | Type::Any);
            if !plain || !is_constant(&checked) {
                let wrong =
                    Diagnostic::new(value.span, format!("this is {}, and no value of `@{}[...]`", self.show(&checked.ty), annotation.name));
                return Err(Box::new(wrong.help("values in square brackets are constant strings, numbers, true and false")));
            }
        }
        Ok(())
    }

    fn string(&mut self, annotation: &Annotation) -> Checked<()> {
        let wrong = format!("`@{}` has one string", annotation.name);
        let [value] = annotation.args.as_slice() else { return fault(annotation.span, wrong) };
        match self.expr(value)?.ty {
            Type::Str | Type::Any => Ok(()),
            _ => Err(Box::new(Diagnostic::new(value.span, wrong).help(format!("write it in quotes: `@{}(\"...\")`", annotation.name)))),
        }
    }

    /// `@match` of a field names the kind by which a value set matches it.
    pub(super) fn match_annotation(&self, all: &[Annotation]) -> Checked<()> {
        let Some(annotation) = super::annotation(all, "match") else { return Ok(()) };
        let known: Vec<&str> = self.program.match_kinds.iter().map(|kind| &**kind).collect();
        match annotation.args.as_slice() {
            [value] => match &value.kind {
                Ast::Name(_, name) if known.contains(&&**name) => Ok(()),
                Ast::Name(_, name) => {
                    Err(super::meant(Diagnostic::new(value.span, format!("no match kind is called `{name}`")), &known, name))
                }
                _ => Err(super::meant(Diagnostic::new(value.span, "`@match` names a match kind"), &known, "")),
            },
            _ => fault(annotation.span, "`@match` names one match kind"),
        }
    }
}
