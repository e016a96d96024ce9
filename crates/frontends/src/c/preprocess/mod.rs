//! The preprocessor: texts and what they include, to the tokens that the parser sees (C11, 6.10).
//!
//! Includes are resolved by the caller; `<netvm.h>` and the headers of standard C that it stands
//! for are known here. Every token keeps where it is written and, if a macro brought it, where that
//! was used. Left out: `#line`, `_Pragma`. Texts, includes and what macros produce are limited.

mod condition;
mod macros;
#[cfg(test)]
mod tests;

use super::Faults;
use super::token::{Kind, Token, lex, unquote};
use crate::diagnostics::{Diagnostic, Sources, Span};
use macros::{Macros, Stream};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Headers whose names the front end knows.
const KNOWN: [&str; 4] = ["netvm.h", "stdint.h", "stdbool.h", "stddef.h"];
/// What `netvm.h` declares besides.
const PRELUDE: &str = include_str!("../prelude.h");
const MAX_NESTED: usize = 32;
const MAX_INCLUDES: usize = 1000;
/// Bytes of all texts together.
const MAX_BYTES: u32 = 64 << 20;
const DIRECTIVES: [&str; 11] = ["include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "error", "pragma"];

/// What comes of a text.
pub(super) struct Output {
    pub(super) tokens: Vec<Token>,
    /// Name and definition of the macro used at an offset.
    pub(super) uses: HashMap<u32, (Arc<str>, Span)>,
}

/// What a text is preprocessed with.
pub(super) struct Inputs<'a> {
    pub(super) includes: &'a dyn Fn(&str) -> Option<String>,
    /// A text that follows the first `CONFIG`, with its name.
    pub(super) generated: Option<(String, &'a str)>,
}

/// Preprocesses a text.
pub(super) fn preprocess(name: &str, text: &str, inputs: Inputs<'_>, sources: &mut Sources, faults: &mut Faults) -> Output {
    let mut pre = Preprocessor {
        inputs,
        sources,
        faults,
        macros: Macros::default(),
        files: Vec::new(),
        pending: Vec::new(),
        conditions: Vec::new(),
        once: HashSet::new(),
        included: 0,
        config: false,
        tokens: Vec::new(),
    };
    pre.enter(name, text.to_owned());
    pre.predefine();
    pre.run();
    pre.check_header();
    pre.tokens.push(Token::end(text.len() as u32));
    Output { tokens: pre.tokens, uses: pre.macros.uses }
}

/// A text being read.
struct File {
    name: String,
    tokens: std::vec::IntoIter<Token>,
    /// Conditions open when it was entered.
    conditions: usize,
}

/// An `#if` that is open.
struct Condition {
    span: Span,
    /// What follows is read.
    active: bool,
    /// One of its parts was read, or must not be.
    done: bool,
    had_else: bool,
}

struct Preprocessor<'a> {
    inputs: Inputs<'a>,
    sources: &'a mut Sources,
    faults: &'a mut Faults,
    macros: Macros,
    files: Vec<File>,
    pending: Vec<Token>,
    conditions: Vec<Condition>,
    once: HashSet<String>,
    included: usize,
    /// A `CONFIG` has begun and its semicolon has not come.
    config: bool,
    tokens: Vec<Token>,
}

impl Preprocessor<'_> {
    fn enter(&mut self, name: &str, text: String) {
        if self.sources.end().saturating_add(text.len() as u32) > MAX_BYTES || text.len() > MAX_BYTES as usize {
            self.faults
                .add(Diagnostic::new(Span::default(), format!("`{name}` is too long: all texts together may have {MAX_BYTES} bytes")));
            return;
        }
        let base = self.sources.add(name, text.as_str());
        let tokens = lex(&text, base, self.faults).into_iter();
        self.files.push(File { name: name.to_owned(), tokens, conditions: self.conditions.len() });
    }

    fn predefine(&mut self) {
        for (name, value) in [("__NETVM__", "1"), ("__STDC__", "1"), ("__STDC_VERSION__", "201112L")] {
            let mut tokens = lex(&format!("{name} {value}"), 0, &mut Faults::default());
            let body = tokens.split_off(1);
            self.macros.define(&tokens[0], None, false, body);
        }
    }

    fn run(&mut self) {
        while let Some(file) = self.files.last_mut() {
            if let Some(token) = self.pending.pop() {
                self.token(token);
                continue;
            }
            match file.tokens.next() {
                Some(token) if token.first && token.is("#") => self.directive(token),
                Some(token) if self.active() => self.token(token),
                Some(_) => {}
                None => self.leave(),
            }
        }
    }

    /// Compilers of C know nothing of elements without the header.
    fn check_header(&mut self) {
        if !self.once.contains(KNOWN[0]) {
            let span = self.tokens.iter().find(|token| token.is_name("ELEMENT")).map_or(Span::default(), Token::place);
            self.faults.add(Diagnostic::new(span, "the file does not include netvm.h").help("write `#include <netvm.h>` before this"));
        }
    }

    fn leave(&mut self) {
        let Some(file) = self.files.pop() else { return };
        for open in self.conditions.drain(file.conditions..) {
            self.faults.add(Diagnostic::new(open.span, "this condition is not closed").help("close it with `#endif`"));
        }
    }

    fn active(&self) -> bool {
        self.conditions.last().is_none_or(|condition| condition.active)
    }

    fn token(&mut self, token: Token) {
        if let Some(token) = self.built_in(token) {
            let file = &mut self.files.last_mut().expect("a file is being read").tokens;
            // A directive is never an argument: the use ends before it, and is then wrong.
            let mut next = || file.as_slice().first().is_some_and(|t| !(t.first && t.is("#"))).then(|| file.next()).flatten();
            let mut stream = Stream { pending: &mut self.pending, file: &mut next };
            if let Some(token) = self.macros.replace(token, &mut stream, self.faults) {
                self.out(token);
            }
        }
    }

    /// `__LINE__` and `__FILE__`.
    fn built_in(&mut self, token: Token) -> Option<Token> {
        let (kind, text) = match &*token.text {
            "__LINE__" if token.kind == Kind::Name => (Kind::Number, self.sources.line(token.place().start).1.to_string()),
            "__FILE__" if token.kind == Kind::Name => (Kind::Text, format!("{:?}", self.sources.line(token.place().start).0)),
            _ => return Some(token),
        };
        self.out(Token { kind, text: text.into(), ..token });
        None
    }

    fn out(&mut self, token: Token) {
        if token.kind == Kind::End {
            return;
        }
        let ends = token.is(";") && self.config;
        self.config |= token.is_name("CONFIG") || token.is_name("CONFIG_LIST");
        self.tokens.push(token);
        if ends {
            self.config = false;
            if let Some((name, text)) = self.inputs.generated.take() {
                self.enter(&name, text.to_owned());
            }
        }
    }

    /// The rest of a directive's line.
    fn line(&mut self) -> Vec<Token> {
        let mut line = Vec::new();
        let Some(file) = self.files.last_mut() else { return line };
        while file.tokens.as_slice().first().is_some_and(|token| !token.first) {
            line.extend(file.tokens.next());
        }
        line
    }

    fn directive(&mut self, sharp: Token) {
        let mut line = self.line();
        if line.is_empty() {
            return;
        }
        let rest = line.split_off(1);
        let name = line.remove(0);
        let span = sharp.span.to(name.span);
        match &*name.text {
            "if" | "ifdef" | "ifndef" => self.open(&name, span, rest),
            "elif" | "else" | "endif" => self.turn(&name, span, rest),
            _ if !self.active() => {}
            "include" => self.include(&name, rest),
            "define" => self.define(&name, rest),
            "undef" => match rest.first() {
                Some(macro_name) => drop(self.macros.known.remove(&macro_name.text)),
                None => self.faults.add(Diagnostic::new(name.span, "`#undef` wants the name of a macro")),
            },
            "error" => self.error(span, &rest),
            "pragma" => self.pragma(&rest),
            _ => self.unknown(&name),
        }
    }

    fn unknown(&mut self, name: &Token) {
        let fault = Diagnostic::new(name.span, format!("there is no directive `#{}`", name.text));
        self.faults.add(super::similar(fault, &name.text, DIRECTIVES.into_iter(), "#"));
    }

    fn error(&mut self, span: Span, rest: &[Token]) {
        let text = rest.first().zip(rest.last()).map_or("", |(first, last)| self.sources.text(first.span.to(last.span)));
        let message = format!("#error {text}");
        self.faults.add(Diagnostic::new(span, message.trim_end()));
    }

    fn pragma(&mut self, rest: &[Token]) {
        if rest.first().is_some_and(|token| token.is_name("once")) {
            let name = self.files.last().map_or_else(String::new, |file| file.name.clone());
            self.once.insert(name);
        }
    }

    fn open(&mut self, name: &Token, span: Span, rest: Vec<Token>) {
        let outer = self.active();
        let holds = outer
            && match &*name.text {
                "if" => self.holds(name, rest),
                which => (which == "ifdef") == self.is_defined(name, rest.first()),
            };
        if self.conditions.len() >= 1000 {
            self.faults.add(Diagnostic::new(span, "conditions are nested too deeply"));
        }
        self.conditions.push(Condition { span, active: holds, done: holds || !outer, had_else: false });
    }

    fn is_defined(&mut self, directive: &Token, name: Option<&Token>) -> bool {
        match name.filter(|name| name.kind == Kind::Name) {
            Some(name) => self.macros.known.contains_key(&name.text),
            None => {
                self.faults.add(Diagnostic::new(directive.span, format!("`#{}` wants a name", directive.text)));
                false
            }
        }
    }

    fn turn(&mut self, name: &Token, span: Span, rest: Vec<Token>) {
        let base = self.files.last().map_or(0, |file| file.conditions);
        if self.conditions.len() <= base {
            return self.faults.add(Diagnostic::new(span, format!("`#{}` without `#if`", name.text)));
        }
        if &*name.text == "endif" {
            self.conditions.pop();
            return;
        }
        let wanted = self.conditions.last().is_some_and(|open| !open.done);
        let holds = wanted && (&*name.text == "else" || self.holds(name, rest));
        let Some(open) = self.conditions.last_mut() else { return };
        if open.had_else {
            let fault = Diagnostic::new(span, format!("`#{}` after `#else`", name.text)).note(open.span, "the condition begins here");
            return self.faults.add(fault);
        }
        open.had_else = &*name.text == "else";
        open.active = holds;
        open.done |= holds;
    }

    fn holds(&mut self, name: &Token, rest: Vec<Token>) -> bool {
        let end = rest.last().map_or(name.span, |last| Span { start: last.span.end.saturating_sub(1), end: last.span.end });
        let known = self.definitions(rest);
        let tokens = self.macros.expand(known, self.faults);
        let tokens: Vec<Token> = tokens.into_iter().filter(|token| token.kind != Kind::End).collect();
        match condition::holds(&tokens, end) {
            Ok(holds) => holds,
            Err(fault) => {
                self.faults.add(fault);
                false
            }
        }
    }

    /// `defined X` and `defined(X)` as 1 or 0.
    fn definitions(&self, line: Vec<Token>) -> Vec<Token> {
        let (mut out, mut rest) = (Vec::new(), line.into_iter().peekable());
        while let Some(token) = rest.next() {
            if !token.is_name("defined") {
                out.push(token);
                continue;
            }
            let open = rest.next_if(|next| next.is("(")).is_some();
            let Some(name) = rest.next() else { return out };
            if open {
                rest.next_if(|next| next.is(")"));
            }
            let value = if self.macros.known.contains_key(&name.text) { "1" } else { "0" };
            out.push(Token { kind: Kind::Number, text: value.into(), ..token });
        }
        out
    }

    fn include(&mut self, directive: &Token, rest: Vec<Token>) {
        let rest = if rest.first().is_some_and(|t| t.kind == Kind::Name) { self.macros.expand(rest, self.faults) } else { rest };
        let Some((name, span)) = self.included(&rest) else {
            let fault = Diagnostic::new(directive.span, "`#include` wants the name of a header").help("write `#include \"name.h\"`");
            return self.faults.add(fault);
        };
        if self.once.contains(&name) {
            return;
        }
        if KNOWN.contains(&name.as_str()) {
            self.once.insert(name.clone());
            return if name == KNOWN[0] {
                self.enter(&name, PRELUDE.to_owned())
            };
        }
        self.included += 1;
        if self.files.len() >= MAX_NESTED || self.included > MAX_INCLUDES {
            return self.faults.add(Diagnostic::new(span, "headers include each other too deeply").help("guard them with `#pragma once`"));
        }
        match (self.inputs.includes)(&name) {
            Some(text) => self.enter(&name, text),
            None => self.no_header(&name, span),
        }
    }

    fn no_header(&mut self, name: &str, span: Span) {
        let help = match self.sources.text(span).starts_with('<') {
            true => "there is no C library: netvm.h has what elements can use",
            false => "headers stand beside the element's file; netvm has netvm.h, click.h and those of its library",
        };
        self.faults.add(Diagnostic::new(span, format!("there is no header `{name}`")).help(help));
    }

    fn included(&self, rest: &[Token]) -> Option<(String, Span)> {
        let first = rest.first()?;
        if first.kind == Kind::Text {
            return Some((String::from_utf8(unquote(&first.text).ok()?).ok()?, first.place()));
        }
        let close = rest.iter().find(|token| token.is(">"))?;
        let span = first.place().to(close.place());
        first.is("<").then(|| (self.sources.text(span).trim_matches(['<', '>']).to_owned(), span))
    }

    fn define(&mut self, directive: &Token, mut rest: Vec<Token>) {
        if !rest.first().is_some_and(|name| name.kind == Kind::Name && &*name.text != "defined") {
            return self.faults.add(Diagnostic::new(directive.span, "`#define` wants a name"));
        }
        let mut body = rest.split_off(1);
        let name = rest.remove(0);
        let mut params = None;
        let mut variadic = false;
        if body.first().is_some_and(|open| open.is("(") && !open.spaced) {
            let Some(close) = body.iter().position(|token| token.is(")")) else {
                return self.faults.add(Diagnostic::new(body[0].span, "the parameters are not closed").help("add `)`"));
            };
            let after = body.split_off(close + 1);
            let Some(found) = self.parameters(&body[1..close]) else { return };
            (params, variadic) = (Some(found.0), found.1);
            body = after;
        }
        if let Some(wrong) = [body.first(), body.last()].into_iter().flatten().find(|token| token.is("##")) {
            return self.faults.add(Diagnostic::new(wrong.span, "`##` stands between two tokens"));
        }
        self.install(&name, params, variadic, body);
    }

    fn install(&mut self, name: &Token, params: Option<Vec<Arc<str>>>, variadic: bool, body: Vec<Token>) {
        let texts = |body: &[Token]| body.iter().map(|t| Arc::clone(&t.text)).collect::<Vec<_>>();
        let new = (params.clone(), texts(&body));
        if let Some(before) = self.macros.define(name, params, variadic, body)
            && (before.params.clone(), texts(&before.body)) != new
        {
            let fault = Diagnostic::new(name.span, format!("the macro `{}` is defined twice", name.text));
            self.faults.add(fault.note(before.span, "defined here already"));
        }
    }

    /// The parameters between parentheses, and whether more may follow.
    fn parameters(&mut self, tokens: &[Token]) -> Option<(Vec<Arc<str>>, bool)> {
        let (mut params, mut variadic) = (Vec::new(), false);
        for (n, token) in tokens.iter().enumerate() {
            match (n % 2, token.kind) {
                (0, Kind::Name) => params.push(Arc::clone(&token.text)),
                (0, Kind::Sign("...")) if n + 1 == tokens.len() => {
                    variadic = true;
                    params.push("__VA_ARGS__".into());
                }
                (1, Kind::Sign(",")) if n + 1 < tokens.len() => {}
                _ => {
                    self.faults.add(Diagnostic::new(token.span, "the parameters of a macro are names with commas between them"));
                    return None;
                }
            }
        }
        Some((params, variadic))
    }
}
