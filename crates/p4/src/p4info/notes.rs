//! Annotations as the control plane reads them: those without structure as text, those with as
//! lists.
//!
//! Source: P4Runtime specification 1.4, "Annotating P4 code with PD-like annotations" and
//! "Structured annotations".

use super::message::{Message, Value};
use crate::ast::{Annotation, BinOp, Expr, ExprKind, UnOp};
use crate::lexer::{Number, Tok, Token};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// The numbers of the fields that messages have for annotations.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    pub annotations: u32,
    pub structured: u32,
    pub doc: Option<u32>,
}

pub(super) const PREAMBLE: Fields = Fields { annotations: 4, structured: 6, doc: Some(5) };

/// What has fields of its own.
const ELSEWHERE: [&str; 5] = ["name", "id", "brief", "description", crate::bmv2::MASK];

pub(super) fn find<'a>(notes: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    notes.iter().find(|a| &*a.name == name)
}

/// The number of `@id`.
pub(super) fn id(notes: &[Annotation]) -> Option<u32> {
    number(find(notes, "id")?).and_then(|n| n.to_u32())
}

/// The only argument, a number.
pub(super) fn number(note: &Annotation) -> Option<&BigInt> {
    note.tokens.iter().find_map(|t| if let Tok::Number(n) = &t.tok { Some(&n.value) } else { None })
}

/// The only argument, a string.
pub(super) fn string(note: &Annotation) -> Option<&str> {
    note.tokens.iter().find_map(|t| if let Tok::Str(s) = &t.tok { Some(&**s) } else { None })
}

/// Adds annotations to a message but those of the names in `not`.
pub(super) fn write(message: &mut Message, notes: &[Annotation], fields: Fields, not: &[&str]) {
    for note in notes {
        if note.structured {
            if let Some(inner) = structured(note) {
                message.message(fields.structured, "structured_annotations", inner);
            }
        } else if !ELSEWHERE.contains(&&*note.name) && !not.contains(&&*note.name) {
            message.text(fields.annotations, "annotations", text(note));
        }
    }
    let mut doc = Message::default();
    for (number, name) in [(1, "brief"), (2, "description")] {
        doc.text(number, name, find(notes, name).and_then(string).unwrap_or_default());
    }
    if let Some(number) = fields.doc.filter(|_| !doc.is_empty()) {
        message.message(number, "doc", doc);
    }
}

/// An annotation as it is written.
fn text(note: &Annotation) -> String {
    if note.tokens.is_empty() {
        return format!("@{}", note.name);
    }
    let inside: Vec<String> = note.tokens.iter().map(token).collect();
    format!("@{}({})", note.name, inside.join(" "))
}

fn token(token: &Token) -> String {
    match &token.tok {
        Tok::Ident(name) => name.to_string(),
        Tok::Str(text) => format!("\"{text}\""),
        Tok::Number(n) => number_text(n),
        Tok::Sym(sym) => (*sym).to_owned(),
        Tok::Bad(text) => text.to_string(),
        Tok::Eof => String::new(),
    }
}

fn number_text(n: &Number) -> String {
    match n.width {
        Some((width, signed)) => format!("{width}{}{}", if signed { 's' } else { 'w' }, n.value),
        None => n.value.to_string(),
    }
}

fn structured(note: &Annotation) -> Option<Message> {
    let mut message = Message::default();
    message.text(1, "name", &*note.name);
    let mut list = Message::default();
    let pair = |e: &Expr| match &e.kind {
        ExprKind::Record(fields, _) => fields.first().cloned(),
        _ => None,
    };
    if note.args.first().is_some_and(|first| pair(first).is_some()) {
        for (name, value) in note.args.iter().filter_map(pair) {
            let mut one = Message::default();
            one.text(1, "key", &*name.name);
            one.message(2, "value", literal(&value)?);
            list.message(1, "kv_pairs", one);
        }
        message.message(3, "kv_pair_list", list);
    } else if !note.args.is_empty() {
        for arg in &note.args {
            list.message(1, "expressions", literal(arg)?);
        }
        message.message(2, "expression_list", list);
    }
    Some(message)
}

fn literal(e: &Expr) -> Option<Message> {
    Some(match &e.kind {
        ExprKind::Str(text) => Message::of(1, "string_value", Value::Text(text.to_string())),
        _ => match known(e)? {
            Known::Number(n) => Message::of(2, "int64_value", Value::Int(n.to_i64()?)),
            Known::Truth(b) => Message::of(3, "bool_value", Value::Bool(b)),
        },
    })
}

enum Known {
    Number(BigInt),
    Truth(bool),
}

/// The value of an expression of literals.
fn known(e: &Expr) -> Option<Known> {
    Some(match &e.kind {
        ExprKind::Number(n) => Known::Number(n.value.clone()),
        ExprKind::Bool(b) => Known::Truth(*b),
        ExprKind::Unary(op, of) => match (op, known(of)?) {
            (UnOp::Neg, Known::Number(n)) => Known::Number(-n),
            (UnOp::Plus, Known::Number(n)) => Known::Number(n),
            (UnOp::Not, Known::Truth(b)) => Known::Truth(!b),
            _ => return None,
        },
        ExprKind::Binary(op, a, b) => match (op, known(a)?, known(b)?) {
            (BinOp::Add, Known::Number(a), Known::Number(b)) => Known::Number(a + b),
            (BinOp::Sub, Known::Number(a), Known::Number(b)) => Known::Number(a - b),
            (BinOp::Mul, Known::Number(a), Known::Number(b)) => Known::Number(a * b),
            (BinOp::Eq, Known::Number(a), Known::Number(b)) => Known::Truth(a == b),
            (BinOp::Ne, Known::Number(a), Known::Number(b)) => Known::Truth(a != b),
            (BinOp::Lt, Known::Number(a), Known::Number(b)) => Known::Truth(a < b),
            (BinOp::Gt, Known::Number(a), Known::Number(b)) => Known::Truth(a > b),
            (BinOp::And, Known::Truth(a), Known::Truth(b)) => Known::Truth(a && b),
            (BinOp::Or, Known::Truth(a), Known::Truth(b)) => Known::Truth(a || b),
            _ => return None,
        },
        _ => return None,
    })
}

/// The pairs of an annotation `@name(key = literal, ...)`.
pub(super) fn pairs(note: &Annotation) -> Vec<(&str, &Tok)> {
    let all = note.tokens.windows(3).filter(|w| w[1].tok == Tok::Sym("="));
    all.filter_map(|w| if let Tok::Ident(key) = &w[0].tok { Some((&**key, &w[2].tok)) } else { None }).collect()
}

/// What `@p4runtime_translation` says: the URI, and how wide the controller's numbers are, or that
/// they are text.
pub(super) fn translation(notes: &[Annotation]) -> Option<(&str, Option<u32>)> {
    let note = find(notes, "p4runtime_translation")?;
    let behind = note.tokens.iter().skip_while(|t| t.tok != Tok::Sym(",")).find_map(|t| match &t.tok {
        Tok::Number(n) => Some(n.value.to_u32()),
        Tok::Ident(name) if &**name == "string" => Some(None),
        _ => None,
    });
    Some((string(note)?, behind?))
}
