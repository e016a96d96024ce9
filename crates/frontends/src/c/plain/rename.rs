//! New names for what a class's file declares, so that instances, and what C itself and its headers
//! declare, do not meet in one program.
//!
//! Members of structures stay what they are, whoever declares the structure; so do the names of
//! handlers and of info fields, and the reason of a `drop`, which the header makes texts or parts
//! of names of. Macros that give the names would do neither.

use super::{Kind, Token};
use std::sync::Arc;

/// Declarations of handlers, whose first argument is the handler's name.
const HANDLER: [&str; 5] = ["READ", "WRITE", "READ_CALL", "READ_WITH", "WRITE_CALL"];

/// The tokens of an item with new names.
pub(super) fn renamed(tokens: &[Token], called: &dyn Fn(&str) -> Option<String>) -> Vec<Token> {
    let (mut all, mut place, mut at) = (Vec::with_capacity(tokens.len()), TokenContext::default(), 0);
    while let Some(token) = tokens.get(at) {
        place.enter(tokens, at);
        let (new, length) = match dropped(&tokens[at..]) {
            Some(reason) if called(reason).is_some() => (Some(format!("do {{ nv_drop(&nv_self, \"{reason}\"); return; }} while (0)")), 4),
            _ if token.kind == Kind::Name && !place.keeps(tokens, at) => (called(&token.text), 1),
            _ => (None, 1),
        };
        all.push(new.map_or_else(|| token.clone(), |text| Token { text: Arc::from(text), ..token.clone() }));
        at += length;
    }
    all
}

/// The reason, where a packet is dropped.
fn dropped(tokens: &[Token]) -> Option<&str> {
    match tokens {
        [drop, open, reason, close, ..] if drop.is_name("drop") && open.is("(") && close.is(")") => Some(&reason.text),
        _ => None,
    }
}

/// Where a token stands.
#[derive(Default)]
struct TokenContext {
    /// The braces around it: whether each holds members of a structure.
    braces: Vec<bool>,
    /// How many brackets are around it.
    brackets: usize,
}

impl TokenContext {
    fn enter(&mut self, tokens: &[Token], at: usize) {
        let token = &tokens[at];
        if token.is("{") {
            self.braces.push(tokens[..at].iter().rev().take(2).any(|before| before.is_name("struct")));
        } else if token.is("}") {
            self.braces.pop();
        }
        self.brackets = (self.brackets + usize::from(token.is("["))).saturating_sub(usize::from(token.is("]")));
    }

    /// Whether a name stays what it is.
    fn keeps(&self, tokens: &[Token], at: usize) -> bool {
        let before = |n: usize| at.checked_sub(n).map(|at| &tokens[at]);
        let is = |token: Option<&Token>, signs: &[&str]| token.is_some_and(|token| signs.iter().any(|sign| token.is(sign)));
        let named = |token: Option<&Token>, names: &[&str]| token.is_some_and(|token| names.iter().any(|name| token.is_name(name)));
        let declared = self.braces.last() == Some(&true)
            && self.brackets == 0
            && !named(before(1), &["struct", "enum"])
            && is(tokens.get(at + 1), &[";", ",", "["]);
        let member = declared || is(before(1), &[".", "->"]);
        let handler = is(before(1), &["("]) && named(before(2), &HANDLER);
        let field =
            is(before(1), &["("]) && named(before(2), &["info"]) || named(tokens.first(), &["INFO"]) && is(tokens.get(at + 1), &[")"]);
        member || handler || field
    }
}
