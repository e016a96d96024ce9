//! The Click configuration language: text to a flat graph of elements, and that to an application.
//!
//! ```text
//! text ──token, parse──▶ statements ──scope──▶ elements and connections of one scope ──expand──▶ graph ──application──▶ netil's application
//! ```
//!
//! The language is that of click(5): declarations, connections with all their shorthand, groups,
//! compounds with parameters and alternatives, `elementclass`, `require`, `define`, and the older
//! `connectiontunnel`. What classes there are is not known here: [`application`] is told, has those
//! in C compiled ([`crate::c`]), and gives them their elements' arguments, which [`arguments`] and
//! [`syntax`] read.
//!
//! ```
//! use netvm_frontends::click;
//!
//! let graph = click::flatten("elementclass Two { $n | input -> Strip($n) -> Counter -> output } a :: Idle -> Two(14) -> Discard", &Default::default()).unwrap();
//! assert_eq!(graph.to_string().lines().last().unwrap(), "a -> Two@2/Strip@1 -> Two@2/Counter@2 -> Discard@3;");
//! ```

pub mod application;
mod argument_type;
pub mod arguments;
pub mod ast;
pub mod config;
pub mod cycles;
mod expand;
pub mod graph;
mod library;
mod parse;
pub mod processing;
mod require;
mod scope;
pub mod syntax;
mod token;
mod values;

pub use graph::Graph;

use crate::diagnostics::{Diagnostic, Diagnostics, Sources, Span};
pub use library::Library;
use std::collections::{BTreeMap, BTreeSet};

/// The longest configuration, in bytes.
const LONGEST: usize = 64 << 20;

/// Reads a configuration and writes out all shorthand. `parameters` are values given from outside,
/// without the dollar sign; they win over what the configuration itself defines in its outermost
/// scope.
///
/// # Errors
/// Everything that is wrong with the text, as far as it can be told without knowing the element
/// classes.
pub fn flatten(source: &str, parameters: &BTreeMap<String, String>) -> Result<Graph, Diagnostics> {
    flatten_files(&mut Sources::of("", source), parameters, &|_, _| Err(std::io::Error::other("there are no files here")))
}

/// Reads a configuration that may require libraries, whose texts are added to the sources, and
/// writes out all shorthand. Places are in all of them.
///
/// # Errors
/// As for [`flatten`], and libraries that cannot be read.
pub fn flatten_files(sources: &mut Sources, parameters: &BTreeMap<String, String>, library: &Library<'_>) -> Result<Graph, Diagnostics> {
    if sources.end() as usize > LONGEST {
        return Err(Diagnostics(vec![Diagnostic::new(Span::default(), format!("configuration of more than {LONGEST} bytes"))]));
    }
    let mut reader = library::Reader { sources, library, seen: BTreeSet::new(), faults: Vec::new() };
    let statements = reader.read(0, 0);
    let faults = reader.faults;
    if !faults.is_empty() {
        return Err(Diagnostics(faults));
    }
    let (graph, faults) = expand::expand(&statements, parameters);
    if faults.is_empty() { Ok(graph) } else { Err(Diagnostics(faults)) }
}

#[cfg(test)]
mod tests;
