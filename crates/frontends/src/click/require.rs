//! What a configuration requires: `require(compact_config, package NAME, library FILE)`; one word
//! alone is a package.
//!
//! Compact configurations are understood by everybody. Packages are machine code for Click: there
//! are none here, and whoever needs one is told so where it is named, not by the classes that are
//! missing then. `library` reads the libraries.
//!
//! Source: click(5), `require`.

use super::ast::Text;
use super::config::{arguments, unquote};
use crate::diagnostics::{Diagnostic, Span};

/// The libraries that a requirement names, with their places.
pub(super) fn libraries(text: &Text) -> Vec<(String, Span)> {
    let of = |argument: String| {
        let bytes = unquote(&argument);
        let plain = String::from_utf8_lossy(&bytes).into_owned();
        let file = plain.trim().strip_prefix("library")?.trim();
        let at = text.text.find(&argument).map_or(text.span, |at| within(text.span, at, argument.len()));
        (!file.is_empty() && plain.split_ascii_whitespace().count() == 2).then(|| (file.to_owned(), at))
    };
    arguments(&text.text).into_iter().filter_map(of).collect()
}

/// What cannot be had of it.
pub(super) fn faults(text: &Text) -> Vec<Diagnostic> {
    let mut from = 0;
    let fault = |argument: String| {
        let at = text.text[from..].find(&argument).map(|at| from + at);
        from = at.map_or(from, |at| at + argument.len());
        let span = at.map_or(text.span, |at| within(text.span, at, argument.len()));
        let (message, help) = wrong(&argument)?;
        Some(Diagnostic::new(span, message).help(help))
    };
    arguments(&text.text).into_iter().filter_map(fault).collect()
}

/// The place of a piece of a text.
fn within(text: Span, at: usize, length: usize) -> Span {
    let start = text.start + at as u32;
    Span { start, end: start + length as u32 }
}

/// What is wrong with one requirement, and what to do.
fn wrong(argument: &str) -> Option<(String, &'static str)> {
    const PACKAGE: &str =
        "netvm loads none: classes are files in C, in a folder `elements` or where --elements says; only compact_config can be required";
    let bytes = unquote(argument);
    let plain = String::from_utf8_lossy(&bytes);
    let words: Vec<&str> = plain.split_ascii_whitespace().collect();
    match words[..] {
        [] | ["compact_config"] => None,
        ["library", _] => None,
        ["package", name] => Some((format!("there is no package `{name}`"), PACKAGE)),
        [name] if name != "package" && name != "library" => Some((format!("there is no package `{name}`"), PACKAGE)),
        _ => Some((format!("`{argument}` is no requirement"), "write compact_config, package NAME or library FILE")),
    }
}
