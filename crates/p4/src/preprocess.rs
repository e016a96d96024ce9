//! The preprocessor, on tokens: `#include`, `#define` with and without arguments, `#x` and `##` in
//! it, `#undef`, `#if`/`#ifdef` and their kin, `#error`.
//!
//! `core.p4`, `v1model.p4` and `psa.p4` are part of this crate. Other files come from the folder of
//! the file that names them, then from the folders given. Tokens of a macro have the place of its
//! use. Files, tokens and nesting are bounded, whatever the text asks for.

use crate::lexer::{Name, Tok, Token, lex};
use frontends::diagnostics::{Diagnostic, Origin, Sources, Span};
use num_traits::ToPrimitive;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most nested includes.
const MAX_DEPTH: usize = 64;
/// The most files.
const MAX_FILES: usize = 1000;
/// The most tokens.
const MAX_TOKENS: usize = 4 << 20;
/// The most bytes of all files.
const MAX_BYTES: usize = 64 << 20;

/// What lines with `#` may begin with.
const DIRECTIVES: &[&str] =
    &["if", "ifdef", "ifndef", "elif", "else", "endif", "define", "undef", "include", "error", "line", "pragma", "warning"];

/// How included files are read: by name, or nothing.
pub type Loader<'a> = &'a (dyn Fn(&Path) -> Option<String> + Sync);

const CORE: (&str, &str) = ("core.p4", include_str!("../include/core.p4"));

/// Files that are built in: the core library, and those of the architectures.
fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
    std::iter::once(CORE).chain(crate::lower::arch::ALL.into_iter().flat_map(|a| a.includes.iter().copied()))
}

/// Whether a file of that name is one that is built in.
pub(crate) fn is_built_in(file: &str) -> bool {
    built_in().any(|(name, _)| name == file)
}

#[derive(Clone)]
struct Macro {
    params: Option<Vec<Name>>,
    body: Vec<Token>,
}

/// One `#if` that is open.
struct Branch {
    at: Span,
    /// Its parent is taken.
    outer: bool,
    /// A part was taken already.
    done: bool,
    active: bool,
    has_else: bool,
}

pub(crate) struct Preprocessor<'a> {
    pub sources: Sources,
    pub out: Vec<Token>,
    pub faults: Vec<Diagnostic>,
    macros: HashMap<Name, Macro>,
    folders: &'a [PathBuf],
    load: Loader<'a>,
    files: usize,
    bytes: usize,
}

impl<'a> Preprocessor<'a> {
    pub fn new(folders: &'a [PathBuf], load: Loader<'a>) -> Self {
        Self { sources: Sources::default(), out: Vec::new(), faults: Vec::new(), macros: HashMap::new(), folders, load, files: 0, bytes: 0 }
    }

    /// Defines a macro as `-D NAME[=VALUE]` does.
    pub fn define(&mut self, name: &str, value: &str) {
        let base = self.sources.add("<command line>", value);
        self.macros.insert(name.into(), Macro { params: None, body: lex(value, base) });
    }

    fn fault(&mut self, span: Span, message: impl Into<String>) {
        self.faults.push(Diagnostic::new(span, message));
    }

    /// Reads a text that was made of others.
    pub fn made(&mut self, name: &Path, text: &str, origins: Vec<(u32, Option<Arc<Origin>>)>) {
        let base = self.sources.add(name.display().to_string(), text);
        self.sources.made_of(origins);
        self.text(name, text, base, 0);
    }

    /// Reads a text and all that it includes.
    pub fn file(&mut self, name: &Path, text: &str, depth: usize) {
        let base = self.sources.add(name.display().to_string(), text);
        self.text(name, text, base, depth);
    }

    fn text(&mut self, name: &Path, text: &str, base: u32, depth: usize) {
        self.files += 1;
        self.bytes += text.len();
        let tokens = lex(text, base);
        let mut branches: Vec<Branch> = Vec::new();
        let mut at = 0;
        while at < tokens.len() && self.out.len() < MAX_TOKENS {
            let end = |from: usize| (from..tokens.len()).find(|n| tokens[*n].first).unwrap_or(tokens.len());
            let taken = branches.last().is_none_or(|b| b.active);
            if tokens[at].tok == Tok::Sym("#") && tokens[at].first {
                let stop = end(at + 1);
                self.directive(&tokens[at..stop], name, &mut branches, depth);
                at = stop;
            } else if taken {
                at = self.line(&tokens, at);
            } else {
                at = end(at + 1);
            }
        }
        if let Some(open) = branches.last() {
            self.fault(open.at, "this has no #endif");
        }
    }

    /// Everything up to the next directive, macros replaced.
    fn line(&mut self, tokens: &[Token], start: usize) -> usize {
        let end = (start..tokens.len()).find(|n| tokens[*n].first && tokens[*n].tok == Tok::Sym("#")).unwrap_or(tokens.len());
        let mut out = std::mem::take(&mut self.out);
        self.expand(&tokens[start..end], None, &mut HashSet::new(), &mut out);
        self.out = out;
        if self.out.len() >= MAX_TOKENS {
            self.fault(tokens[start].span, format!("more than {MAX_TOKENS} tokens"));
        }
        end
    }

    fn expand(&self, tokens: &[Token], place: Option<Span>, hidden: &mut HashSet<Name>, out: &mut Vec<Token>) {
        let mut at = 0;
        while at < tokens.len() && out.len() < MAX_TOKENS {
            let token = &tokens[at];
            at += 1;
            let placed = |t: &Token| Token { span: place.unwrap_or(t.span), ..t.clone() };
            let known = match &token.tok {
                Tok::Ident(name) if !hidden.contains(name) && hidden.len() < MAX_DEPTH => self.macros.get(name).map(|m| (name, m)),
                _ => None,
            };
            let Some((name, found)) = known else {
                out.push(placed(token));
                continue;
            };
            let body = match &found.params {
                None => found.body.clone(),
                Some(params) => match arguments(tokens, at) {
                    Some((given, next)) => {
                        at = next;
                        self.substitute(found, params, &given, hidden)
                    }
                    None => {
                        out.push(placed(token));
                        continue;
                    }
                },
            };
            hidden.insert(name.clone());
            self.expand(&body, Some(place.unwrap_or(token.span)), hidden, out);
            hidden.remove(name);
        }
    }

    fn substitute(&self, of: &Macro, params: &[Name], given: &[Vec<Token>], hidden: &mut HashSet<Name>) -> Vec<Token> {
        let mut body = Vec::new();
        let mut paste = false;
        let argument = |token: &Token| match &token.tok {
            Tok::Ident(n) => params.iter().position(|p| p == n).map(|n| given.get(n).map_or(&[][..], Vec::as_slice)),
            _ => None,
        };
        let mut tokens = of.body.iter().peekable();
        while let Some(token) = tokens.next() {
            // `#x` is the argument as it is written.
            if let (Tok::Sym("#"), Some(given)) = (&token.tok, tokens.peek().and_then(|next| argument(next))) {
                body.push(Token { tok: Tok::Str(self.written(given).into()), ..token.clone() });
                tokens.next();
                continue;
            }
            if token.tok == Tok::Sym("##") {
                paste = true;
                continue;
            }
            let before = body.len();
            match argument(token) {
                Some(given) => self.expand(given, None, hidden, &mut body),
                None => body.push(token.clone()),
            }
            if paste && before > 0 && body.len() > before {
                let right = body.remove(before);
                let left = &mut body[before - 1];
                let joined = spelled(&left.tok) + &spelled(&right.tok);
                if let [only] = lex(&joined, 0).as_slice() {
                    left.tok = only.tok.clone();
                }
            }
            paste = false;
        }
        body
    }

    /// Tokens as text, with one blank where there is any between two.
    fn written(&self, tokens: &[Token]) -> String {
        let mut text = String::new();
        for (n, token) in tokens.iter().enumerate() {
            if n > 0 && !token.glued {
                text.push(' ');
            }
            let source = self.sources.text(token.span);
            match lex(source, 0).as_slice() {
                [only] if only.tok == token.tok => text.push_str(source),
                _ => text.push_str(&spelled(&token.tok)),
            }
        }
        text
    }

    fn directive(&mut self, line: &[Token], file: &Path, branches: &mut Vec<Branch>, depth: usize) {
        let Some(Token { tok: Tok::Ident(name), span, .. }) = line.get(1) else { return };
        let (span, rest) = (*span, &line[2..]);
        let taken = branches.last().is_none_or(|b| b.active);
        match (&**name, taken) {
            ("if" | "ifdef" | "ifndef", _) => {
                let yes = taken && self.condition(name, rest, span);
                branches.push(Branch { at: span, outer: taken, done: yes, active: yes, has_else: false });
            }
            ("elif" | "else" | "endif", _) => self.branch(name, rest, span, branches),
            (_, false) => {}
            ("define", _) => self.define_line(rest, span),
            ("undef", _) => {
                if let Some(Token { tok: Tok::Ident(n), .. }) = rest.first() {
                    self.macros.remove(n);
                }
            }
            ("include", _) => self.include(rest, span, file, depth),
            ("error", _) => {
                let text = rest.first().map_or(String::new(), |f| self.sources.text(f.span.to(rest[rest.len() - 1].span)).to_owned());
                self.fault(span, format!("#error {text}"));
            }
            ("line" | "pragma" | "warning" | "ident", _) => {}
            (other, _) => {
                let fault = Diagnostic::new(span, format!("no directive is called #{other}"));
                self.faults.push(*crate::check::meant(fault, DIRECTIVES, other));
                // What it opens ends somewhere.
                if matches!(crate::check::near(DIRECTIVES.iter().copied(), other), Some("if" | "ifdef" | "ifndef")) {
                    branches.push(Branch { at: span, outer: taken, done: true, active: true, has_else: false });
                }
            }
        }
    }

    fn branch(&mut self, name: &str, rest: &[Token], span: Span, branches: &mut Vec<Branch>) {
        let Some(top) = branches.last() else { return self.fault(span, format!("#{name} without #if")) };
        if name == "endif" {
            branches.pop();
            return;
        }
        if top.has_else {
            return self.fault(span, format!("#{name} behind #else"));
        }
        let open = top.outer && !top.done;
        let yes = open && (name == "else" || self.condition("if", rest, span));
        if let Some(top) = branches.last_mut() {
            (top.active, top.done, top.has_else) = (yes, top.done || yes, name == "else");
        }
    }

    fn condition(&mut self, kind: &str, rest: &[Token], span: Span) -> bool {
        if kind != "if" {
            let known = matches!(rest.first(), Some(Token { tok: Tok::Ident(n), .. }) if self.macros.contains_key(n));
            return known == (kind == "ifdef");
        }
        let mut tested = Vec::new();
        let mut at = 0;
        while let Some(token) = rest.get(at) {
            at += 1;
            if token.tok != Tok::Ident("defined".into()) {
                tested.push(token.clone());
                continue;
            }
            let name = rest[at..].iter().find_map(|t| if let Tok::Ident(n) = &t.tok { Some(n) } else { None });
            let known = name.is_some_and(|n| self.macros.contains_key(n));
            at += if rest.get(at).is_some_and(|t| t.tok == Tok::Sym("(")) { 3 } else { 1 };
            let text = if known { "1" } else { "0" };
            tested.extend(lex(text, token.span.start));
        }
        let mut tokens = Vec::new();
        self.expand(&tested, None, &mut HashSet::new(), &mut tokens);
        let mut value = Condition { tokens: &tokens, at: 0, depth: 0 };
        match value.binary(0) {
            Some(v) if value.at == tokens.len() => v != 0,
            _ => {
                self.fault(span, "this condition is no integer expression");
                false
            }
        }
    }

    fn define_line(&mut self, rest: &[Token], span: Span) {
        let Some(Token { tok: Tok::Ident(name), .. }) = rest.first() else {
            return self.fault(span, "#define needs a name");
        };
        let glued = rest.get(1).is_some_and(|t| t.tok == Tok::Sym("(") && t.glued);
        let (params, body) = match glued.then(|| rest.iter().position(|t| t.tok == Tok::Sym(")"))).flatten() {
            Some(close) => {
                let name = |t: &Token| if let Tok::Ident(n) = &t.tok { Some(n.clone()) } else { None };
                (Some(rest[2..close].iter().filter_map(name).collect()), &rest[close + 1..])
            }
            None => (None, &rest[1..]),
        };
        self.macros.insert(name.clone(), Macro { params, body: body.to_vec() });
    }

    fn include(&mut self, rest: &[Token], span: Span, file: &Path, depth: usize) {
        let (path, local) = match rest {
            [Token { tok: Tok::Str(path), .. }, ..] => (path.to_string(), true),
            [open, .., close] if open.tok == Tok::Sym("<") && close.tok == Tok::Sym(">") => {
                (self.sources.text(Span { start: open.span.end, end: close.span.start }).to_owned(), false)
            }
            _ => return self.fault(span, "expected #include <FILE> or #include \"FILE\""),
        };
        if depth >= MAX_DEPTH || self.files >= MAX_FILES || self.bytes > MAX_BYTES {
            return self.fault(span, "too many files are included");
        }
        if let Some((name, text)) = self.find(&path, local, file) {
            self.file(&name, &text, depth + 1);
        } else {
            let known: Vec<&str> = built_in().map(|(name, _)| name).collect();
            let help = format!("built-in files are {}; -I DIR names a folder to look into", known.join(", "));
            self.faults.push(Diagnostic::new(span, format!("no file `{path}`")).help(help));
        }
    }

    fn find(&self, path: &str, local: bool, file: &Path) -> Option<(PathBuf, String)> {
        let builtin = || built_in().find(|(name, _)| *name == path).map(|(name, text)| (PathBuf::from(name), text.to_owned()));
        let from = |folder: &Path| {
            let name = folder.join(path);
            (self.load)(&name).map(|text| (name, text))
        };
        let beside = || local.then(|| file.parent().and_then(from)).flatten();
        beside().or_else(builtin).or_else(|| self.folders.iter().find_map(|folder| from(folder)))
    }
}

fn spelled(tok: &Tok) -> String {
    match tok {
        Tok::Ident(n) | Tok::Str(n) => n.to_string(),
        Tok::Number(n) => n.value.to_string(),
        Tok::Sym(s) => (*s).to_owned(),
        Tok::Bad(_) | Tok::Eof => String::new(),
    }
}

/// The arguments of a macro whose list begins at `at`, and where it ends.
fn arguments(tokens: &[Token], at: usize) -> Option<(Vec<Vec<Token>>, usize)> {
    tokens.get(at).filter(|t| t.tok == Tok::Sym("("))?;
    let (mut depth, mut given) = (0, vec![Vec::new()]);
    for (n, token) in tokens.iter().enumerate().skip(at) {
        match token.tok {
            Tok::Sym("(" | "[" | "{") => depth += 1,
            Tok::Sym(")" | "]" | "}") => depth -= 1,
            _ => {}
        }
        match token.tok {
            Tok::Sym(")") if depth == 0 => return Some((given, n + 1)),
            Tok::Sym(",") if depth == 1 => given.push(Vec::new()),
            Tok::Sym("(") if n == at => {}
            _ => given.last_mut()?.push(token.clone()),
        }
    }
    None
}

/// The expression of an `#if`.
struct Condition<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

const LEVELS: [&[&str]; 6] = [&["||"], &["&&"], &["==", "!="], &["<", "<=", ">", ">="], &["+", "-"], &["*", "/", "%"]];

impl Condition<'_> {
    fn binary(&mut self, level: usize) -> Option<i64> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(Token { tok: Tok::Sym(op), .. }) =
            self.tokens.get(self.at).filter(|t| matches!(t.tok, Tok::Sym(s) if operators.contains(&s)))
        {
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = match *op {
                "||" => i64::from(left != 0 || right != 0),
                "&&" => i64::from(left != 0 && right != 0),
                "==" => i64::from(left == right),
                "!=" => i64::from(left != right),
                "<" => i64::from(left < right),
                "<=" => i64::from(left <= right),
                ">" => i64::from(left > right),
                ">=" => i64::from(left >= right),
                "+" => left.wrapping_add(right),
                "-" => left.wrapping_sub(right),
                "*" => left.wrapping_mul(right),
                "/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<i64> {
        let token = self.tokens.get(self.at)?;
        (self.at, self.depth) = (self.at + 1, self.depth + 1);
        if self.depth > 1000 {
            return None;
        }
        match &token.tok {
            Tok::Number(n) => n.value.to_i64(),
            Tok::Ident(n) => Some(i64::from(&**n == "true")),
            Tok::Sym("!") => self.unary().map(|v| i64::from(v == 0)),
            Tok::Sym("-") => self.unary().map(i64::wrapping_neg),
            Tok::Sym("(") => {
                let value = self.binary(0)?;
                self.at += 1;
                Some(value)
            }
            _ => None,
        }
    }
}
