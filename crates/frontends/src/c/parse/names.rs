//! What names stand for while a text is read: C's grammar asks which are those of types.

use super::{Parsed, Parser};
use crate::c::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// Words that are no names (C11, 6.4.1), those that stdbool.h makes of macros, and those of
/// compilers that elements are read by.
#[rustfmt::skip]
const KEYWORDS: [&str; 50] = [
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float", "for", "goto", "if",
    "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union",
    "unsigned", "void", "volatile", "while", "_Alignas", "_Alignof", "_Atomic", "_Bool", "_Complex", "_Generic", "_Imaginary", "_Noreturn",
    "_Static_assert", "_Thread_local", "bool", "true", "false", "NULL", "__attribute__", "__int128",
];

/// It is no name.
pub(super) fn is_keyword(text: &str) -> bool {
    KEYWORDS.contains(&text)
}

/// Names that are declared where the parser is: true for those of types. The outermost scope has
/// types only, so that a name which is declared twice is still read as what it was first.
#[derive(Default)]
pub(super) struct Names {
    file: HashMap<Arc<str>, bool>,
    inner: Vec<HashMap<Arc<str>, bool>>,
}

impl Names {
    fn find(&self, name: &str) -> Option<bool> {
        self.inner.iter().rev().chain([&self.file]).find_map(|scope| scope.get(name).copied())
    }

    /// It is a type, of the file or of netvm.h.
    pub(super) fn is_type(&self, name: &str) -> bool {
        self.find(name).unwrap_or_else(|| Type::named(name).is_some())
    }

    pub(super) fn is_typedef(&self, name: &str) -> bool {
        self.find(name) == Some(true)
    }

    /// The names of the file's types.
    pub(super) fn typedefs(&self) -> impl Iterator<Item = &str> {
        self.inner.iter().chain([&self.file]).flatten().filter(|(_, is_type)| **is_type).map(|(name, _)| &**name)
    }

    /// A declaration in the innermost scope.
    pub(super) fn enter(&mut self, name: &Arc<str>, is_type: bool) {
        match self.inner.last_mut() {
            Some(scope) => _ = scope.insert(Arc::clone(name), is_type),
            None if is_type => _ = self.file.insert(Arc::clone(name), true),
            None => {}
        }
    }
}

impl Parser<'_> {
    /// Runs a rule whose declarations end with it.
    pub(super) fn scoped<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let outside = self.names.inner.len();
        self.names.inner.push(HashMap::new());
        let result = rule(self);
        self.names.inner.truncate(outside);
        result
    }
}
