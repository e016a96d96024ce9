//! The statements of a configuration with those of the libraries that it requires.
//!
//! A library is another file, whose statements stand in its place. It is read once, however often
//! it is required, so that files may require each other.

use super::LONGEST;
use super::ast::{Alternative, Class, Compound, Connection, Reference, Statement};
use super::parse;
use super::require::libraries;
use crate::diagnostics::{Diagnostic, Sources};
use std::collections::BTreeSet;
use std::io;

/// How deeply files may require each other.
const DEPTH: usize = 16;
/// Files of a configuration, at most.
const FILES: usize = 64;

/// Finds a library: given the name of the file that requires it, and what that calls it, its own
/// name and its text.
pub type Library<'a> = dyn Fn(&str, &str) -> io::Result<(String, String)> + 'a;

/// Statements of a configuration and of the libraries that it requires.
pub(super) struct Reader<'a> {
    /// The configuration's text, to which those of libraries are added.
    pub(super) sources: &'a mut Sources,
    pub(super) library: &'a Library<'a>,
    pub(super) seen: BTreeSet<String>,
    pub(super) faults: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// Statements of the text that was added last, which begins there.
    pub(super) fn read(&mut self, start: u32, depth: usize) -> Vec<Statement> {
        let name = self.sources.last_name().to_owned();
        let (statements, faults) = parse::parse(&self.sources.whole(), start as usize);
        self.faults.extend(faults);
        let mut all = Vec::new();
        for statement in statements {
            misplaced(&statement, &mut self.faults);
            let libraries = if let Statement::Require(text) = &statement { libraries(text) } else { Vec::new() };
            for (file, span) in libraries {
                match self.library(&name, &file, depth) {
                    Ok(statements) => all.extend(statements),
                    Err(why) => self.faults.push(Diagnostic::new(span, format!("the library `{file}` cannot be read: {why}"))),
                }
            }
            all.push(statement);
        }
        all
    }

    /// Statements of a library; none if it was read before.
    fn library(&mut self, from: &str, file: &str, depth: usize) -> io::Result<Vec<Statement>> {
        let (name, text) = (self.library)(from, file)?;
        if !self.seen.insert(name.clone()) {
            return Ok(Vec::new());
        }
        if depth == DEPTH || self.seen.len() > FILES {
            return Err(io::Error::other(format!("files require each other more than {DEPTH} deep, or there are more than {FILES}")));
        }
        if self.sources.end() as usize + text.len() > LONGEST {
            return Err(io::Error::other(format!("the configuration has more than {LONGEST} bytes then")));
        }
        let start = self.sources.add(name, text);
        Ok(self.read(start, depth + 1))
    }
}

/// Libraries that are required within a compound or a group, which is no place for them.
fn misplaced(statement: &Statement, faults: &mut Vec<Diagnostic>) {
    let inner = |statements: &[Statement], faults: &mut Vec<Diagnostic>| {
        for statement in statements {
            if let Statement::Require(text) = statement {
                let fault = |(file, span)| {
                    Diagnostic::new(span, format!("the library `{file}` is required within a compound")).help("require it outside")
                };
                faults.extend(libraries(text).into_iter().map(fault));
            }
            misplaced(statement, faults);
        }
    };
    let class = |class: &Class, faults: &mut Vec<Diagnostic>| {
        let Class::Compound(Compound { alternatives, .. }) = class else { return };
        alternatives.iter().for_each(|Alternative { body, .. }| inner(body, faults));
    };
    match statement {
        Statement::Class(_, of) => class(of, faults),
        Statement::Connection(Connection { places, .. }) => {
            for endpoint in places.iter().flatten() {
                match &endpoint.element {
                    Reference::Declared(_, of, _) | Reference::Nameless(of, _) => class(of, faults),
                    Reference::Group(body) => inner(body, faults),
                    Reference::Name(_) | Reference::Implied(_) => {}
                }
            }
        }
        Statement::Tunnel(..) | Statement::Require(_) | Statement::Define(_) => {}
    }
}
