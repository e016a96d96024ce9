//! The file of a class as plain C, for any compiler: with what it includes and without macros of
//! its own, so that nothing is left of the file system.
//!
//! What CONFIG's syntax made of an instance's arguments stands in CONFIG's place. Declarations of
//! `netvm.h` stay as they are written: the compiler reads them with that header, which the caller
//! puts before. Comments are lost. Variables that several instances have stand in the text of one
//! of them, and not in the others'. The file's own names are given new ones (`rename`).

mod rename;

use super::ast::{BaseKind, Declaration, Item};
use super::faults::{Diagnostics, Faults};
use super::token::{Kind, Token};
use super::tree::{HANDLERS, Pattern, Static};
use super::{Class, Instance, SourceFile, Table, TableScope, deep, front, parse, preprocess};
use crate::diagnostics::Sources;
use rename::renamed;
use std::collections::BTreeSet;

/// A class's file for one instance.
#[derive(Clone, Debug, Default)]
pub struct Plain {
    /// All names at file level, which two instances must not share: parameters, tables, functions,
    /// data, tags, types, enumerators.
    pub names: BTreeSet<String>,
    /// The handlers among its functions.
    pub handlers: BTreeSet<String>,
    /// Its tables, those that CONFIG's syntax has made among them.
    pub tables: Vec<Table>,
    /// Its variables that other instances may have as well.
    pub variables: Vec<PlainVariable>,
    /// The tokens in pieces, some of which are the declaration of one of those.
    pieces: Vec<(Option<String>, Vec<Token>)>,
}

impl Plain {
    /// The text with other names in place of [its own](Self::names), without the declarations of
    /// some of the variables that others have as well.
    #[must_use]
    pub fn text(&self, called: impl Fn(&str) -> String, is_declared: impl Fn(&str) -> bool) -> String {
        let kept = self.pieces.iter().filter(|(name, _)| !name.as_deref().is_some_and(&is_declared));
        let called = |name: &str| self.names.contains(name).then(|| called(name));
        text(&kept.flat_map(|(_, tokens)| renamed(tokens, &called)).collect::<Vec<Token>>())
    }

    /// Whether that name stands in it.
    #[must_use]
    pub fn says(&self, name: &str) -> bool {
        self.pieces.iter().flat_map(|(_, tokens)| tokens).any(|token| token.is_name(name))
    }
}

/// A variable with a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainVariable {
    /// Its name.
    pub name: String,
    /// Who has it.
    pub scope: TableScope,
    /// It is declared by itself, and its type has no name of the file's: its declaration can stand
    /// for all.
    pub is_plain: bool,
}

/// The file of a class as plain C.
///
/// # Errors
/// The faults of the file, if it has some.
pub fn plain(source: SourceFile<'_>, includes: &dyn Fn(&str) -> Option<String>, instance: &Instance) -> Result<Plain, Diagnostics> {
    let (mut sources, mut faults) = (Sources::default(), Faults::default());
    let generated = Some((format!("<configuration of {}>", instance.name), instance.generated.as_str()));
    let inputs = preprocess::Inputs { includes, generated };
    let output = preprocess::preprocess(source.name, source.text, inputs, &mut sources, &mut faults);
    let own: Vec<Token> = output.tokens.iter().filter(|t| sources.line(t.span.start).0 != "netvm.h").cloned().collect();
    let plain = deep(|| {
        let program = front(&output.tokens, Some(instance), &mut faults);
        let is_others = |scope: &TableScope| !matches!(scope, TableScope::Local | TableScope::Regional);
        let items = parse::parse(&output.tokens, &mut Faults::default());
        let shared: Vec<&Static> = program.statics.iter().filter(|variable| is_others(&variable.scope)).collect();
        let variables = shared.iter().map(|variable| plain_variable(variable, &items)).collect();
        let names = names(&program.class, &program.patterns, &items, &|at| sources.line(at).0 != "netvm.h");
        let handlers = HANDLERS.iter().filter(|name| names.contains(**name)).map(|name| (*name).to_owned()).collect();
        let (tables, pieces) = (program.class.tables, pieces(&own, &shared));
        Plain { names, handlers, tables, variables, pieces }
    });
    faults.result(plain, sources, &output.uses)
}

fn plain_variable(variable: &Static, items: &[Item]) -> PlainVariable {
    let is_it = |declaration: &Declaration| declaration.declarators.iter().flat_map(|d| &d.name).any(|name| name.span == variable.span);
    let is_plain = items.iter().any(|item| match item {
        Item::Declare(declaration) => {
            is_it(declaration) && declaration.declarators.len() == 1 && matches!(declaration.base.kind, BaseKind::Known(_))
        }
        _ => false,
    });
    PlainVariable { name: variable.name.to_string(), scope: variable.scope.clone(), is_plain }
}

/// The tokens of each item, with the name of the variable that it declares if that is one of these.
fn pieces(tokens: &[Token], variables: &[&Static]) -> Vec<(Option<String>, Vec<Token>)> {
    let (mut pieces, mut item, mut depth) = (Vec::new(), Vec::new(), 0usize);
    for token in tokens {
        depth = (depth + usize::from(token.is("{"))).saturating_sub(usize::from(token.is("}")));
        item.push(token.clone());
        if depth == 0 && (token.is(";") || token.is("}")) {
            let declares = |variable: &&&Static| item.iter().any(|token| token.span == variable.span);
            let name = variables.iter().find(declares).map(|variable| variable.name.to_string());
            pieces.push((name, std::mem::take(&mut item)));
        }
    }
    pieces
}

/// Names of items that are the file's own, by where they stand.
fn names(class: &Class, patterns: &[Pattern], items: &[Item], is_own: &dyn Fn(u32) -> bool) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = class.params.iter().map(|param| param.name.clone()).collect();
    let lists = class.params.iter().filter(|param| param.list).map(|param| &param.name);
    names.extend(lists.chain(class.config.iter().map(|config| &config.name)).map(|name| format!("{name}_count")));
    names.extend(class.config.iter().map(|config| config.name.clone()));
    names.extend(class.tables.iter().map(|table| table.name.clone()));
    names.extend(patterns.iter().map(|pattern| pattern.name.to_string()));
    for item in items {
        match item {
            Item::Function(function) => _ = names.insert(function.name.text.to_string()),
            Item::Declare(declaration) if is_own(declaration.base.span.start) => declared(declaration, &mut names),
            _ => {}
        }
    }
    names
}

fn declared(declaration: &Declaration, names: &mut BTreeSet<String>) {
    names.extend(declaration.declarators.iter().filter_map(|d| d.name.as_ref()).map(|name| name.text.to_string()));
    match &declaration.base.kind {
        // Those of netvm.h are only used.
        BaseKind::Struct(tag, Some(_)) => names.extend(tag.iter().map(|tag| tag.text.to_string())),
        BaseKind::Enum(tag, Some(constants)) => {
            names.extend(tag.iter().map(|tag| tag.text.to_string()));
            names.extend(constants.iter().map(|(name, _)| name.text.to_string()));
        }
        _ => {}
    }
}

/// Tokens as text, without CONFIG; lines are those of the source, indented by braces.
fn text(tokens: &[Token]) -> String {
    let (mut text, mut depth, mut config) = (String::new(), 0usize, false);
    let mut before: Option<&Token> = None;
    for token in tokens.iter().filter(|token| token.kind != Kind::End) {
        let ends = config && token.is(";");
        config |= token.is_name("CONFIG") || token.is_name("CONFIG_LIST");
        depth = depth.saturating_sub(usize::from(token.is("}")));
        if !config {
            let space = if token.first { format!("\n{:1$}", "", 4 * depth) } else { gap(before, token).to_owned() };
            text += &space;
            text += &without_trigraphs(token);
            before = Some(token);
        }
        depth += usize::from(token.is("{"));
        config &= !ends;
    }
    text.trim_start_matches('\n').to_owned() + "\n"
}

/// A token's text: compilers that know trigraphs would end a string where one stands for a
/// backslash.
fn without_trigraphs(token: &Token) -> String {
    let mut text = String::with_capacity(token.text.len());
    for c in token.text.chars() {
        let escape = c == '?' && text.ends_with('?') && matches!(token.kind, Kind::Text | Kind::Char);
        text.push_str(if escape { "\\" } else { "" });
        text.push(c);
    }
    text
}

/// What stands between two tokens of a line: never what would make one of them.
fn gap(before: Option<&Token>, token: &Token) -> &'static str {
    let closed = |token: &Token| ["(", ")", "[", "]", "{", "}", ",", ";"].iter().any(|sign| token.is(sign));
    let sign = |token: &Token| matches!(token.kind, Kind::Sign(_));
    match before {
        None => "",
        Some(_) if token.spaced => " ",
        Some(before) if closed(before) || closed(token) || sign(before) != sign(token) => "",
        Some(_) => " ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "#include <netvm.h>\n#include \"shared.h\"\n#define TWICE(x) ((x)+(x))\n\nELEMENT(E, \"1/1\", \"a/a\");\nPARAM(u32, most, \"MOST\", REQUIRED);\n\
        TABLE_EXACT(known, be32, u32, 8, 0);\nCONFIG_LIST(u32, wanted);\nenum { NEAR = 1, FAR };\nstatic u32 seen, all[4];\nstatic struct ip_prefix nets[2];\n\
        static u32 next(u32 n)\n{\n    return TWICE(n) - -1;\n}\n\nvoid packet(int port)\n{\n    if (next(seen++) > most)\n        emit(0);\n}\n";

    fn of(generated: &str) -> Plain {
        let includes = |name: &str| {
            (name == "shared.h")
                .then(|| "#pragma once\nstruct pair { u32 a; u32 b; };\nstatic inline u32 sum(u32 a) { return a; }\n".to_owned())
        };
        let values = [("most".to_owned(), super::super::Value::Int(3))].into();
        let instance =
            Instance { values, generated: generated.to_owned(), inputs: vec![crate::click::processing::Kind::Push], ..Instance::default() };
        plain(SourceFile { name: "E.c", text: FILE }, &includes, &instance).unwrap_or_else(|faults| panic!("{}", faults.render(false)))
    }

    #[test]
    fn text_stands_for_itself() {
        let plain = of("static const u32 wanted[] = { 7 };\nenum { wanted_count = 1 };\n");
        let text = plain.text(str::to_owned, |_| false);
        assert!(!text.contains('#') && !text.contains("TWICE") && !text.contains("CONFIG"), "{text}");
        assert!(text.contains("static const u32 wanted[] = { 7 };"), "{text}");
        assert!(text.contains("    return ((n)+(n)) - -1;"), "{text}");
        assert!(!text.contains("rewrite_spec"), "{text}");
    }

    #[test]
    fn names_are_those_of_the_file() {
        let plain = of("static const u32 wanted[] = { 7 };\nenum { wanted_count = 1 };\n");
        let expected = ["FAR", "NEAR", "all", "known", "most", "nets", "next", "packet", "pair", "seen", "sum", "wanted", "wanted_count"];
        assert_eq!(plain.names.iter().collect::<Vec<_>>(), expected);
        assert_eq!(plain.handlers.into_iter().collect::<Vec<_>>(), ["packet"]);
    }
}
