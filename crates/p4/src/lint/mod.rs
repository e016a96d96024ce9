//! What a program says and cannot mean: parts that nothing reaches, and reads of headers that are
//! not there. Warnings, not faults: the program runs.
//!
//! - [`reach`]: parser states that no transition leads to, and cases of `select` behind others that
//!   cover them
//! - [`entries`]: entries of tables that never match
//! - [`unused`]: tables that nothing applies, actions that nothing uses
//! - [`validity`]: reads of headers that may be invalid
//!
//! Numbers that lose digits are told by the checker, which sees what is written.
//!
//! Nothing is said of what is built in. A warning is given only where it is true for what the text
//! says; what is left out is in the header of each file.

pub(crate) mod cover;
mod entries;
mod reach;
mod unused;
mod validity;

use crate::hir::Program;
use frontends::diagnostics::{Diagnostic, Sources};

/// All warnings of a program, in the order of its text.
pub(crate) fn warnings(program: &Program, sources: &Sources) -> Vec<Diagnostic> {
    let mut all = program.warnings.clone();
    all.extend(reach::warnings(program));
    all.extend(entries::warnings(program));
    all.extend(unused::warnings(program));
    all.extend(validity::warnings(program));
    all.extend(without_main(program));
    all.retain(|warning| !crate::preprocess::is_built_in(sources.line(warning.span.start).0));
    all.sort_by_key(|warning| (warning.span.start, warning.span.end));
    all.dedup_by(|a, b| a.span == b.span && a.message == b.message);
    all
}

/// A program that is nothing but its parts.
fn without_main(program: &Program) -> Option<Diagnostic> {
    let last = program.blocks.last().filter(|_| program.main().is_none())?;
    Some(Diagnostic::new(last.span, "the program has no `main`").help("an instance of the architecture's package: `V1Switch(...) main;`"))
}
