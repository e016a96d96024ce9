//! Macros and what they are replaced by.
//!
//! Source: C11, 6.10.3, by the algorithm of Dave Prosser: every token carries the macros that must
//! not be expanded in it again. What all replacements produce together is limited, so that no text
//! takes long.

use crate::c::Faults;
use crate::c::token::{Kind, Token, lex};
use crate::diagnostics::{Diagnostic, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// Tokens that all replacements may produce.
const MAX_TOKENS: u32 = 1 << 18;
/// Bytes of a text made by `#` or `##`, or macros hidden in a token, that count as one token more.
const A_TOKENS_WORTH: usize = 16;
/// How deep arguments may hold uses of macros.
const MAX_DEPTH: u32 = 64;

/// A macro.
#[derive(Debug)]
pub(super) struct Macro {
    pub(super) id: u32,
    /// The names of its parameters; none if it takes no parentheses.
    pub(super) params: Option<Vec<Arc<str>>>,
    pub(super) variadic: bool,
    pub(super) body: Vec<Token>,
    pub(super) span: Span,
}

/// All macros, and what was spent.
#[derive(Default)]
pub(super) struct Macros {
    pub(super) known: HashMap<Arc<str>, Arc<Macro>>,
    pub(super) uses: HashMap<u32, (Arc<str>, Span)>,
    next: u32,
    spent: u32,
    depth: u32,
}

/// Tokens to come: those put back, last one first, then those of the file.
pub(super) struct Stream<'a> {
    pub(super) pending: &'a mut Vec<Token>,
    pub(super) file: &'a mut dyn FnMut() -> Option<Token>,
}

impl Stream<'_> {
    fn next(&mut self) -> Option<Token> {
        self.pending.pop().or_else(|| (self.file)())
    }
}

impl Macros {
    /// True once the limit is reached: nothing is replaced any more.
    pub(super) fn exhausted(&self) -> bool {
        self.spent > MAX_TOKENS
    }

    fn spend(&mut self, tokens: usize) {
        self.spent = self.spent.saturating_add(u32::try_from(tokens).unwrap_or(u32::MAX));
    }

    pub(super) fn define(&mut self, name: &Token, params: Option<Vec<Arc<str>>>, variadic: bool, body: Vec<Token>) -> Option<Arc<Macro>> {
        self.next += 1;
        let new = Macro { id: self.next, params, variadic, body, span: name.span };
        self.known.insert(Arc::clone(&name.text), Arc::new(new))
    }

    /// Replaces a token if it is a macro: what comes of it is put back into the stream. Gives the
    /// token if it is none.
    pub(super) fn replace(&mut self, token: Token, stream: &mut Stream<'_>, faults: &mut Faults) -> Option<Token> {
        let Some(found) = self.known.get(&token.text).filter(|_| token.kind == Kind::Name).cloned() else { return Some(token) };
        if token.hidden.as_ref().is_some_and(|hidden| hidden.contains(&found.id)) || self.exhausted() {
            return Some(token);
        }
        let (args, close) = match &found.params {
            None => (Vec::new(), None),
            Some(_) => match arguments(&token, &found, stream, faults) {
                Found::Args(args, close) => (args, Some(close)),
                Found::NoUse => return Some(token),
                Found::Wrong => return Some(Token { kind: Kind::Wrong, ..token }),
            },
        };
        let hidden = hide(&token, close.as_ref(), found.id);
        let new = self.substitute(&token, &found, &args, faults);
        self.spend((1 + new.len()).saturating_mul(1 + hidden.len() / A_TOKENS_WORTH));
        if self.exhausted() {
            faults.add(Diagnostic::new(token.place(), "macros produce too many tokens"));
        }
        self.uses.entry(token.place().start).or_insert_with(|| (Arc::clone(&token.text), found.span));
        stream.pending.extend(new.into_iter().rev().map(|mut new| {
            new.hidden = Some(union(new.hidden.as_deref(), &hidden));
            new
        }));
        None
    }

    /// All of a list of tokens replaced, as if they were the whole file.
    pub(super) fn expand(&mut self, tokens: Vec<Token>, faults: &mut Faults) -> Vec<Token> {
        if self.depth >= MAX_DEPTH {
            self.spent = MAX_TOKENS + 1;
            return tokens;
        }
        self.depth += 1;
        let (mut pending, mut out) = (tokens, Vec::new());
        pending.reverse();
        while let Some(token) = pending.pop() {
            let mut stream = Stream { pending: &mut pending, file: &mut || None };
            out.extend(self.replace(token, &mut stream, faults));
        }
        self.depth -= 1;
        out
    }

    fn substitute(&mut self, used: &Token, found: &Macro, args: &[Vec<Token>], faults: &mut Faults) -> Vec<Token> {
        let mut out: Vec<Token> = Vec::new();
        let mut expanded: HashMap<usize, Vec<Token>> = HashMap::new();
        let (body, mut at) = (&found.body, 0);
        while let Some(token) = body.get(at) {
            let next = body.get(at + 1);
            if let Some(n) = next.and_then(|next| found.param(next)).filter(|_| token.is("#") && found.params.is_some()) {
                let text = stringized(token, args.get(n), used);
                self.spend(text.text.len() / A_TOKENS_WORTH);
                out.push(text);
                at += 2;
                continue;
            }
            if token.is("##") && !out.is_empty() {
                let right = next.map_or_else(Vec::new, |next| operand(next, found, args, used));
                let lengths = out.last().into_iter().chain(right.first()).map(|token| token.text.len());
                self.spend(lengths.sum::<usize>() / A_TOKENS_WORTH);
                if self.exhausted() {
                    return out;
                }
                paste(&mut out, right, token, faults);
                at += 2;
                continue;
            }
            let pasted = next.is_some_and(|next| next.is("##"));
            match found.param(token) {
                Some(n) if !pasted => {
                    let arg = expanded.entry(n).or_insert_with(|| self.expand(args.get(n).cloned().unwrap_or_default(), faults));
                    self.spent = self.spent.saturating_add(arg.len() as u32);
                    out.extend(spaced_as(arg.clone(), token));
                }
                _ => out.extend(operand_of_paste(token, found, args, used)),
            }
            if self.exhausted() {
                return out;
            }
            at += 1;
        }
        out
    }
}

impl Macro {
    fn param(&self, token: &Token) -> Option<usize> {
        let params = self.params.as_ref().filter(|_| token.kind == Kind::Name)?;
        let name =
            if self.variadic && token.is_name("__VA_ARGS__") { params.len() - 1 } else { params.iter().position(|p| *p == token.text)? };
        Some(name)
    }
}

enum Found {
    Args(Vec<Vec<Token>>, Token),
    /// A name without parentheses is not a use.
    NoUse,
    Wrong,
}

/// Reads the arguments of a use, if there are any.
fn arguments(name: &Token, found: &Macro, stream: &mut Stream<'_>, faults: &mut Faults) -> Found {
    match stream.next() {
        Some(open) if open.is("(") => {}
        Some(other) => {
            stream.pending.push(other);
            return Found::NoUse;
        }
        None => return Found::NoUse,
    }
    let count = found.params.as_ref().map_or(0, Vec::len);
    let (mut args, mut depth) = (vec![Vec::new()], 0u32);
    loop {
        let Some(token) = stream.next() else {
            faults.add(Diagnostic::new(name.place(), format!("the arguments of `{}` are not closed", name.text)).help("add `)`"));
            return Found::Wrong;
        };
        let splits = token.is(",") && depth == 0 && !(found.variadic && args.len() >= count);
        match () {
            () if token.is(")") && depth == 0 => return counted(name, found, args, token, faults),
            () if splits => args.push(Vec::new()),
            () => {
                depth = if token.is("(") { depth + 1 } else { depth - u32::from(token.is(")")) };
                args.last_mut().expect("there is one at least").push(token);
            }
        }
    }
}

fn counted(name: &Token, found: &Macro, mut args: Vec<Vec<Token>>, close: Token, faults: &mut Faults) -> Found {
    let count = found.params.as_ref().map_or(0, Vec::len);
    if count == 0 && args.len() == 1 && args[0].is_empty() {
        args.clear();
    }
    if found.variadic && args.len() + 1 == count {
        args.push(Vec::new());
    }
    if args.len() == count {
        return Found::Args(args, close);
    }
    let message = format!("the macro `{}` takes {count} argument{}, not {}", name.text, if count == 1 { "" } else { "s" }, args.len());
    faults.add(Diagnostic::new(name.place(), message).note(found.span, "defined here"));
    Found::Wrong
}

/// A token of the body where the use stands.
fn placed(token: &Token, used: &Token) -> Token {
    Token { used: Some(used.place()), first: false, ..token.clone() }
}

fn spaced_as(mut tokens: Vec<Token>, like: &Token) -> Vec<Token> {
    if let Some(first) = tokens.first_mut() {
        first.spaced = like.spaced;
    }
    tokens
}

/// An operand of `##`: a parameter stands for its argument as written.
fn operand(token: &Token, found: &Macro, args: &[Vec<Token>], used: &Token) -> Vec<Token> {
    match found.param(token) {
        Some(n) => spaced_as(args.get(n).cloned().unwrap_or_default(), token),
        None => vec![placed(token, used)],
    }
}

/// As `operand`; an empty argument leaves a token without text, to which the right side is pasted.
fn operand_of_paste(token: &Token, found: &Macro, args: &[Vec<Token>], used: &Token) -> Vec<Token> {
    let tokens = operand(token, found, args, used);
    if tokens.is_empty() { vec![Token { kind: Kind::End, text: "".into(), ..placed(token, used) }] } else { tokens }
}

fn stringized(at: &Token, arg: Option<&Vec<Token>>, used: &Token) -> Token {
    let mut text = String::from("\"");
    for (n, token) in arg.into_iter().flatten().enumerate() {
        if n > 0 && (token.spaced || token.first) {
            text.push(' ');
        }
        let quoted = matches!(token.kind, Kind::Text | Kind::Char);
        text.extend(token.text.chars().flat_map(|c| (quoted && matches!(c, '"' | '\\')).then_some('\\').into_iter().chain([c])));
    }
    text.push('"');
    Token { kind: Kind::Text, text: text.into(), ..placed(at, used) }
}

/// Joins the last token with the first of the right side.
fn paste(out: &mut Vec<Token>, right: Vec<Token>, at: &Token, faults: &mut Faults) {
    let mut right = right.into_iter();
    let (Some(left), first) = (out.pop(), right.next()) else { return };
    let joined: String = left.text.chars().chain(first.iter().flat_map(|first| first.text.chars())).collect();
    let mut lexed = lex(&joined, 0, &mut Faults::default());
    match (lexed.pop(), lexed.is_empty()) {
        (Some(token), true) => out.push(Token { used: left.used.or(Some(left.span)), spaced: left.spaced, span: left.span, ..token }),
        (None, _) => out.push(left),
        (Some(_), false) => {
            faults
                .add(Diagnostic::new(left.place(), format!("`##` makes `{joined}`, which is not one token")).note(at.span, "pasted here"));
            out.push(left);
        }
    }
    out.extend(right);
}

/// The macros hidden in what comes of a use: those hidden in its name and its parenthesis, and
/// itself.
fn hide(name: &Token, close: Option<&Token>, id: u32) -> Vec<u32> {
    let of_name = name.hidden.as_deref().unwrap_or(&[]);
    let mut hidden: Vec<u32> = match close {
        None => of_name.to_vec(),
        Some(close) => of_name.iter().copied().filter(|id| close.hidden.as_deref().unwrap_or(&[]).contains(id)).collect(),
    };
    hidden.push(id);
    hidden
}

fn union(a: Option<&[u32]>, b: &[u32]) -> Arc<[u32]> {
    let a = a.unwrap_or(&[]);
    a.iter().chain(b.iter().filter(|id| !a.contains(id))).copied().collect()
}
