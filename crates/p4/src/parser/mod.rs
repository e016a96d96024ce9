//! Tokens to the syntax tree, by recursive descent.
//!
//! The grammar depends on which names are types. Where that matters, the parser reads ahead: a
//! statement that starts with a type and a name is a declaration; `<` opens type arguments if what
//! follows is a list of types before `>` and `(`; `(T) x` is a cast if T is a type by its keyword,
//! its declaration or what stands behind it. Nesting is bounded.
//!
//! Source: P4-16 language specification 1.2.5, appendix H.

mod decl;
mod expr;
mod stmt;
mod table;
mod ty;

use crate::ast::{Annotation, BinOp, Decl, Expr, ExprKind, Ident};
use crate::lexer::{Name, Tok, Token};
use frontends::diagnostics::{Diagnostic, Span};
use std::collections::HashSet;

/// The deepest nesting of expressions, statements and types.
const MAX_DEPTH: usize = 300;

/// Parsing stops at the first fault.
pub(crate) type Parsed<T> = Result<T, Box<Diagnostic>>;

/// Words that are no names.
const RESERVED: &[&str] = &[
    "abstract",
    "action",
    "actions",
    "apply",
    "bool",
    "bit",
    "const",
    "control",
    "default",
    "else",
    "entries",
    "enum",
    "error",
    "exit",
    "extern",
    "false",
    "for",
    "header",
    "header_union",
    "if",
    "in",
    "inout",
    "int",
    "key",
    "match_kind",
    "type",
    "out",
    "parser",
    "package",
    "return",
    "select",
    "state",
    "string",
    "struct",
    "switch",
    "table",
    "this",
    "transition",
    "true",
    "tuple",
    "typedef",
    "varbit",
    "void",
    "_",
    "list",
    "break",
    "continue",
    "priority",
];
/// Reserved words that may be names nevertheless.
const SOFT: &[&str] =
    &["apply", "key", "actions", "state", "entries", "type", "priority", "list", "break", "continue", "for", "package", "default_action"];

pub(crate) struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    /// What reading ahead may still cost: a bound on time.
    fuel: usize,
    types: HashSet<Name>,
    end: Token,
}

/// The whole program.
pub(crate) fn parse(tokens: &[Token]) -> Parsed<Vec<Decl>> {
    let span = tokens.last().map_or(Span::default(), |t| Span { start: t.span.end, end: t.span.end });
    let end = Token { tok: Tok::Eof, span, first: true, glued: false };
    let mut parser = Parser { tokens, at: 0, depth: 0, fuel: 10_000 + 64 * tokens.len(), types: HashSet::new(), end };
    let mut program = Vec::new();
    while parser.peek() != &Tok::Eof {
        if !parser.eat(";") {
            program.push(parser.declaration()?);
        }
    }
    Ok(program)
}

impl Parser<'_> {
    fn token(&self, ahead: usize) -> &Token {
        self.tokens.get(self.at + ahead).unwrap_or(&self.end)
    }

    fn peek(&self) -> &Tok {
        &self.token(0).tok
    }

    fn span(&self) -> Span {
        self.token(0).span
    }

    /// Where the last token taken ends.
    fn last(&self) -> Span {
        self.at.checked_sub(1).and_then(|n| self.tokens.get(n)).map_or(Span::default(), |t| t.span)
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Tok::Sym(s) if *s == symbol)
    }

    fn is_at(&self, ahead: usize, symbol: &str) -> bool {
        matches!(self.token(ahead).tok, Tok::Sym(s) if s == symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Tok::Ident(n) if **n == *word)
    }

    fn word_at(&self, ahead: usize) -> Option<&str> {
        if let Tok::Ident(n) = &self.token(ahead).tok { Some(n) } else { None }
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let there = self.is(symbol);
        self.at += usize::from(there);
        there
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let there = self.is_word(word);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, symbol: &str) -> Parsed<Span> {
        if self.eat(symbol) { Ok(self.last()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    fn expect_word(&mut self, word: &str) -> Parsed<Span> {
        if self.eat_word(word) { Ok(self.last()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    fn expected(&self, what: &str) -> Box<Diagnostic> {
        let found = match self.peek() {
            Tok::Bad(why) => return Box::new(Diagnostic::new(self.span(), &**why)),
            Tok::Eof => "the end of the file".to_owned(),
            Tok::Ident(n) => format!("`{n}`"),
            Tok::Sym(s) => format!("`{s}`"),
            Tok::Str(_) => "a string".to_owned(),
            Tok::Number(_) => "a number".to_owned(),
        };
        // What is missing at the end of a line is missing there.
        let missing = what == "`;`" && self.token(0).first && self.at > 0;
        let place = if missing { Span { start: self.last().end, end: self.last().end } } else { self.span() };
        Box::new(Diagnostic::new(place, format!("expected {what}, found {found}")))
    }

    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.fuel = self.fuel.saturating_sub(1);
        if self.fuel == 0 {
            return Err(Box::new(Diagnostic::new(self.span(), "this is too intricate")));
        }
        if self.depth >= MAX_DEPTH {
            return Err(Box::new(Diagnostic::new(self.span(), format!("nested more than {MAX_DEPTH} deep"))));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Runs `f`; if it fails, nothing was read.
    fn attempt<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Option<T> {
        let (at, depth) = (self.at, self.depth);
        let result = f(self).ok();
        if result.is_none() {
            (self.at, self.depth) = (at, depth);
        }
        result
    }

    fn name_at(&self, ahead: usize) -> bool {
        self.word_at(ahead).is_some_and(|n| !RESERVED.contains(&n) || SOFT.contains(&n))
    }

    fn ident(&mut self) -> Parsed<Ident> {
        match self.peek() {
            Tok::Ident(name) if self.name_at(0) => {
                let ident = Ident { name: name.clone(), span: self.span() };
                self.at += 1;
                Ok(ident)
            }
            Tok::Ident(name) => Err(Box::new(Diagnostic::new(self.span(), format!("expected a name, and `{name}` is a reserved word")))),
            _ => Err(self.expected("a name")),
        }
    }

    /// Any word, reserved or not: members of errors and the like.
    fn word(&mut self) -> Parsed<Ident> {
        match self.peek() {
            Tok::Ident(name) => {
                let ident = Ident { name: name.clone(), span: self.span() };
                self.at += 1;
                Ok(ident)
            }
            _ => Err(self.expected("a name")),
        }
    }

    /// `item, item, …` before `close`, which is taken.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(item(self)?);
            if !self.eat(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(items)
    }

    fn annotations(&mut self) -> Parsed<Vec<Annotation>> {
        let mut all: Vec<Annotation> = Vec::new();
        while self.is("@") {
            let start = self.span();
            self.at += 1;
            let name = self.word()?.name;
            if &*name == "pragma" {
                while !self.token(0).first && *self.peek() != Tok::Eof {
                    self.at += 1;
                }
                continue;
            }
            let mut args = Vec::new();
            let (structured, from) = (self.is("["), self.at);
            if self.is("(") {
                args = self.attempt(Self::annotation_args).map_or_else(|| self.skip_balanced().map(|()| Vec::new()), Ok)?;
            } else if self.is("[") {
                args = self.structured()?;
            }
            let inside = self.tokens.get(from + 1..self.at.saturating_sub(1)).unwrap_or_default();
            let span = start.to(self.last());
            let annotation = Annotation { name, args, tokens: inside.into(), structured, span };
            goes_with(&annotation, &all)?;
            all.push(annotation);
        }
        Ok(all)
    }

    fn annotation_args(&mut self) -> Parsed<Vec<Expr>> {
        self.expect("(")?;
        self.list(")", |p| {
            let first = p.expr()?;
            let mut parts = vec![first];
            // Strings that stand side by side are one.
            while let Tok::Str(_) = p.peek() {
                parts.push(p.expr()?);
            }
            Ok(joined(parts.swap_remove(0)))
        })
    }

    /// Values, or values with names; not both.
    fn structured(&mut self) -> Parsed<Vec<Expr>> {
        let mut names: Vec<Ident> = Vec::new();
        let mut values = 0;
        self.expect("[")?;
        self.list("]", |p| {
            if p.is_at(1, "=") {
                let (name, _) = (p.ident()?, p.expect("=")?);
                let value = p.expr()?;
                let span = name.span.to(value.span);
                if let Some(first) = names.iter().find(|n| n.name == name.name) {
                    let twice = Diagnostic::new(name.span, format!("`{}` is given twice", name.name));
                    return Err(Box::new(twice.note(first.span, "the first time")));
                }
                names.push(name.clone());
                mixed(values > 0, span)?;
                return Ok(Expr { kind: ExprKind::Record(vec![(name, value)], false), span });
            }
            values += 1;
            let value = p.expr()?;
            mixed(!names.is_empty(), value.span)?;
            Ok(value)
        })
    }

    /// Skips a group in parentheses, brackets or braces.
    fn skip_balanced(&mut self) -> Parsed<()> {
        let mut open = Vec::new();
        loop {
            match self.peek() {
                Tok::Sym("(") => open.push(")"),
                Tok::Sym("[") => open.push("]"),
                Tok::Sym("{") => open.push("}"),
                Tok::Sym(close @ (")" | "]" | "}")) if open.pop() != Some(*close) => {
                    return Err(self.expected("a closing bracket that fits"));
                }
                Tok::Eof => return Err(self.expected("a closing bracket")),
                _ => {}
            }
            self.at += 1;
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}

/// A structured annotation has values, or values with names.
fn mixed(mixed: bool, span: Span) -> Parsed<()> {
    match mixed {
        true => Err(Box::new(Diagnostic::new(span, "an annotation in square brackets has values or `name = value`, and not both"))),
        false => Ok(()),
    }
}

/// Refuses a second annotation of a name, unless both stand in parentheses.
///
/// Source: P4-16 specification 1.2.5, section 20 (annotations of one element).
fn goes_with(annotation: &Annotation, before: &[Annotation]) -> Parsed<()> {
    let Some(first) = before.iter().find(|a| a.name == annotation.name && (a.structured || annotation.structured)) else { return Ok(()) };
    let name = &annotation.name;
    let why = match first.structured && annotation.structured {
        true => format!("`@{name}[...]` is given twice for one thing"),
        false => format!("`@{name}` is given with and without square brackets for one thing"),
    };
    let help = format!("put all values into one `@{name}[...]`");
    Err(Box::new(Diagnostic::new(annotation.span, why).note(first.span, "the first one").help(help)))
}

/// Strings joined by `++` are one string.
fn joined(value: Expr) -> Expr {
    let Expr { kind: ExprKind::Binary(BinOp::Concat, left, right), span } = value else { return value };
    let (left, right) = (joined(*left), joined(*right));
    let kind = match (&left.kind, &right.kind) {
        (ExprKind::Str(a), ExprKind::Str(b)) => ExprKind::Str(format!("{a}{b}").into()),
        _ => ExprKind::Binary(BinOp::Concat, Box::new(left), Box::new(right)),
    };
    Expr { kind, span }
}
