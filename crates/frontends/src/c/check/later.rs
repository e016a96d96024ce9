//! Names that a file declares further down: C has them known behind that, and whoever uses them
//! before is told so.

use super::Checker;
use super::class::name_of;
use crate::c::ast::{BaseKind, Item, Name};
use crate::diagnostics::{Diagnostic, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// Where names are declared first, and tags apart from them.
#[derive(Default)]
pub(super) struct Later {
    names: HashMap<Arc<str>, (Span, bool)>,
    tags: HashMap<Arc<str>, Span>,
}

impl Later {
    /// All that stands in a file.
    pub(super) fn of(items: &[Item]) -> Self {
        let mut later = Self::default();
        for item in items {
            later.item(item);
        }
        later
    }

    pub(super) fn has_tag(&self, tag: &str) -> bool {
        self.tags.contains_key(tag)
    }

    fn name(&mut self, name: &Name, is_function: bool) {
        self.names.entry(Arc::clone(&name.text)).or_insert((name.span, is_function));
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Function(function) => self.name(&function.name, true),
            Item::Declare(declaration) => {
                self.base(&declaration.base.kind);
                declaration.declarators.iter().filter_map(|declarator| declarator.name.as_ref()).for_each(|name| self.name(name, false));
            }
            Item::Class(word, args, _) => {
                let at = match &*word.text {
                    "PARAM" | "PARAM_LIST" => 1,
                    "PARAM_AS" | "PARAM_LIST_AS" => 2,
                    "STRINGS" | "STRINGS_OF" | "REGEX" => 0,
                    table if table.starts_with("TABLE_") => 0,
                    _ => return,
                };
                if let Some(name) = args.get(at).and_then(name_of) {
                    self.name(name, false);
                }
            }
            Item::Assert(..) => {}
        }
    }

    fn base(&mut self, kind: &BaseKind) {
        match kind {
            BaseKind::Struct(Some(tag), Some(_)) => _ = self.tags.entry(Arc::clone(&tag.text)).or_insert(tag.span),
            BaseKind::Enum(_, Some(list)) => list.iter().for_each(|(name, _)| self.name(name, false)),
            _ => {}
        }
    }
}

impl Checker<'_> {
    /// What is wrong with a name that is declared further down, if it is.
    pub(super) fn declared_later(&self, name: &Name, what: &str) -> Option<Diagnostic> {
        let (span, is_function) = *self.later.names.get(&name.text).filter(|(span, _)| span.start > name.span.start)?;
        let help = match (is_function, what) {
            (_, "table or variable") => "write SCOPE behind it",
            (true, _) => "move it before this, or declare it there: `static ...(...);`",
            (false, _) => "move that before this",
        };
        let fault = Diagnostic::new(name.span, format!("there is no {what} `{}` yet", name.text));
        Some(fault.note(span, "it comes only here").help(help))
    }

    /// What is wrong with the tag of a struct that is defined further down, if it is.
    pub(super) fn defined_later(&self, name: &Name, span: Span) -> Option<Diagnostic> {
        let defined = *self.later.tags.get(&name.text).filter(|defined| defined.start > span.start)?;
        let fault = Diagnostic::new(span, format!("there is no `struct {}` yet", name.text));
        Some(fault.note(defined, "it comes only here").help("move that before this"))
    }
}
