//! Faults while they are gathered, and as they are handed on: with the texts that they are in.

use crate::diagnostics::{self, Diagnostic, Sources, Span};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// The most faults that are told.
const MAX: usize = 50;

/// Faults found so far.
#[derive(Clone, Default)]
pub(super) struct Faults {
    told: Vec<Diagnostic>,
    unread: HashSet<Arc<str>>,
}

impl Faults {
    /// Adds a fault, unless it is told already or there are too many.
    pub(super) fn add(&mut self, fault: Diagnostic) {
        let known = self.told.iter().any(|known| known.span == fault.span && known.message == fault.message);
        if self.told.len() < MAX && !known {
            self.told.push(fault);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// There is a fault within a place.
    pub(super) fn told(&self, span: Span) -> bool {
        self.told.iter().any(|fault| span.start <= fault.span.start && fault.span.end <= span.end)
    }

    /// A name of a declaration that could not be read: that it is unknown is not told as well.
    pub(super) fn leave_unread(&mut self, name: &Arc<str>) {
        self.unread.insert(Arc::clone(name));
    }

    pub(super) fn is_unread(&self, name: &str) -> bool {
        self.unread.contains(name)
    }

    /// What was made, if nothing was wrong. A fault where a macro is used says which.
    pub(super) fn result<T>(self, made: T, sources: Sources, uses: &HashMap<u32, (Arc<str>, Span)>) -> Result<T, Diagnostics> {
        if self.told.is_empty() {
            return Ok(made);
        }
        let mut faults = self.told;
        for fault in &mut faults {
            if let Some((name, defined)) = uses.get(&fault.span.start).filter(|_| fault.notes.len() < 4) {
                fault.notes.push((*defined, format!("in the macro `{name}`, defined here")));
            }
        }
        faults.sort_by_key(|fault| fault.span.start);
        Err(Diagnostics { faults: diagnostics::Diagnostics(faults), sources })
    }
}

/// Proposes the name that a misspelt one is most like; it takes the place of another remedy.
pub(super) fn similar<'a>(fault: Diagnostic, name: &str, known: impl Iterator<Item = &'a str>, prefix: &str) -> Diagnostic {
    let distance = |other: &str| strsim::damerau_levenshtein(name, other);
    let length = name.chars().count();
    let most = if length < 3 { 0 } else { (length / 3).max(1) };
    let best =
        known.filter(|other| !other.is_empty()).map(|other| (distance(other), other)).filter(|(far, _)| (1..=most).contains(far)).min();
    match best {
        Some((_, other)) => fault.help(format!("did you mean `{prefix}{other}`?")),
        None => fault,
    }
}

/// All that is wrong with a file, and the texts that it and its headers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// The faults in the order of the text; spans count through all texts.
    pub faults: diagnostics::Diagnostics,
    /// The file and what it includes.
    pub sources: Sources,
}

impl Diagnostics {
    /// Draws every fault. `color` adds ANSI colours and changes nothing else.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        self.sources.render(&self.faults.0, color)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, fault) in self.faults.0.iter().enumerate() {
            let (file, line) = self.sources.line(fault.span.start);
            write!(f, "{}{file}:{line}: {}", if n == 0 { "" } else { "; " }, fault.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
