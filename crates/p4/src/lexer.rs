//! Text to tokens: identifiers (keywords among them), numbers with widths, strings, symbols.
//! Comments and blanks are left out.
//!
//! Invariant: lexing never fails. What is no token becomes [`Tok::Bad`], which is a fault only if
//! it survives the preprocessor. `>` is always a token of its own, because `>>` also closes two
//! lists of type arguments; the parser joins what stands together.
//!
//! Source: P4-16 language specification 1.2.5, section 6.3.

use frontends::diagnostics::Span;
use num_bigint::BigInt;
use num_traits::Zero;
use std::rc::Rc;

/// A name; shared, since tokens, trees and symbols all hold it.
pub(crate) type Name = Rc<str>;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tok {
    Ident(Name),
    Number(Rc<Number>),
    Str(Name),
    Sym(&'static str),
    Bad(Rc<str>),
    Eof,
}

/// An integer literal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    /// The width that its prefix gives, and whether it is signed.
    pub width: Option<(u32, bool)>,
    pub value: BigInt,
}

/// A token and its place.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub tok: Tok,
    pub span: Span,
    /// It is the first of its line.
    pub first: bool,
    /// Nothing stands between it and the token before.
    pub glued: bool,
}

/// Longest first.
const SYMBOLS: &[&str] = &[
    "|+|=", "|-|=", "&&&", "<<=", "...", "|+|", "|-|", "&&", "||", "==", "!=", "<=", ">=", "<<", "++", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", "..", "##", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "(", ")", "[", "]", "{", "}", ",", ";", ":",
    ".", "?", "@", "#",
];

/// The tokens of a text whose first byte has the offset `base`.
pub(crate) fn lex(text: &str, base: u32) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, base, out: Vec::new(), first: true };
    while lexer.step() {}
    lexer.out
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    base: u32,
    out: Vec<Token>,
    first: bool,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn push(&mut self, tok: Tok, start: usize, end: usize) {
        let span = Span { start: self.base + start as u32, end: self.base + end as u32 };
        let glued = !self.first && self.out.last().is_some_and(|last| last.span.end == span.start);
        self.out.push(Token { tok, span, first: self.first, glued });
        (self.first, self.at) = (false, end);
    }

    /// One token, or some blanks; false at the end.
    fn step(&mut self) -> bool {
        let Some(c) = self.rest().chars().next() else { return false };
        let start = self.at;
        match c {
            '\n' => (self.first, self.at) = (true, start + 1),
            '\\' if self.rest()[1..].trim_start_matches(['\r', ' ', '\t']).starts_with('\n') => {
                self.at += self.rest().find('\n').map_or(1, |n| n + 1);
            }
            c if c.is_whitespace() => self.at += c.len_utf8(),
            '/' if self.rest().starts_with("//") => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
            '/' if self.rest().starts_with("/*") => self.comment(),
            '"' => self.string(),
            c if c.is_ascii_digit() => self.number(),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let end = start + self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest().len());
                self.push(Tok::Ident(self.text[start..end].into()), start, end);
            }
            c => match SYMBOLS.iter().find(|s| self.rest().starts_with(**s)) {
                Some(symbol) => self.push(Tok::Sym(symbol), start, start + symbol.len()),
                None => self.push(Tok::Bad(format!("`{}` has no meaning here", c.escape_default()).into()), start, start + c.len_utf8()),
            },
        }
        true
    }

    fn comment(&mut self) {
        let start = self.at;
        match self.rest()[2..].find("*/") {
            Some(n) => {
                self.first |= self.rest()[..n].contains('\n');
                self.at += n + 4;
            }
            None => self.push(Tok::Bad("this comment has no end".into()), start, self.text.len()),
        }
    }

    fn string(&mut self) {
        let (start, mut value) = (self.at, String::new());
        let mut chars = self.rest()[1..].char_indices();
        while let Some((n, c)) = chars.next() {
            match c {
                '"' => return self.push(Tok::Str(value.into()), start, start + n + 2),
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => value.push(c),
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, c)) => value.extend(['\\', c]),
                    None => break,
                },
                c => value.push(c),
            }
        }
        let end = start + self.rest().find('\n').unwrap_or(self.rest().len());
        self.push(Tok::Bad("this string has no end".into()), start, end);
    }

    fn number(&mut self) {
        let start = self.at;
        let end = start + self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest().len());
        let tok = match parse_number(&self.text[start..end]) {
            Ok(number) => Tok::Number(Rc::new(number)),
            Err(why) => Tok::Bad(why.into()),
        };
        self.push(tok, start, end);
    }
}

/// A literal such as `10`, `0x_ff`, `8w0b1`, `4s-7` without its sign.
fn parse_number(text: &str) -> Result<Number, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    match text[digits..].chars().next() {
        Some('w' | 's') if digits + 1 == text.len() => Err(format!("digits are missing behind `{text}`")),
        Some(c @ ('w' | 's')) => {
            let width: u32 = text[..digits].parse().map_err(|_| "a width is a number up to 4294967295".to_owned())?;
            Ok(Number { width: Some((width, c == 's')), value: magnitude(&text[digits + 1..])? })
        }
        _ => Ok(Number { width: None, value: magnitude(text)? }),
    }
}

/// Digits behind an optional sign of the base.
pub(crate) fn magnitude(text: &str) -> Result<BigInt, String> {
    let (radix, digits) = match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &text[2..]),
        Some("0b") => (2, &text[2..]),
        Some("0o") => (8, &text[2..]),
        Some("0d") => (10, &text[2..]),
        _ => (10, text),
    };
    let plain: String = digits.chars().filter(|c| *c != '_').collect();
    if plain.len() > 10_000 {
        return Err("this number has more than 10000 digits".to_owned());
    }
    if plain.chars().all(|c| c == '0') && !plain.is_empty() {
        return Ok(BigInt::zero());
    }
    BigInt::parse_bytes(plain.as_bytes(), radix).ok_or_else(|| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let word = |t: &Token| match &t.tok {
            Tok::Ident(n) => n.to_string(),
            Tok::Number(n) => format!("{:?}:{}", n.width, n.value),
            Tok::Str(s) => format!("{s:?}"),
            Tok::Sym(s) => (*s).to_owned(),
            Tok::Bad(why) => format!("!{why}"),
            Tok::Eof => String::new(),
        };
        lex(text, 0).iter().map(word).collect()
    }

    #[test]
    fn tokens_are_told_apart() {
        assert_eq!(words("a8w0xFF 4s7 1_0 // x\n/* y\n */ b"), ["a8w0xFF", "Some((4, true)):7", "None:10", "b"]);
        assert_eq!(words("8w0xF_F&&&x>>=1"), ["Some((8, false)):255", "&&&", "x", ">", ">=", "None:1"]);
        assert_eq!(words("\"a\\\"b\" \"c"), ["\"a\\\"b\"", "!this string has no end"]);
        assert_eq!(words("\"a\nb\""), ["\"a\\nb\""]);
        assert!(words("8wz")[0].starts_with('!') && words("$")[0].starts_with('!') && words("/*")[0].starts_with('!'));
    }

    #[test]
    fn lines_and_places_are_kept() {
        let tokens = lex("a b\\\n c\nd>>", 100);
        assert_eq!(tokens.iter().map(|t| t.first).collect::<Vec<_>>(), [true, false, false, true, false, false]);
        assert_eq!(tokens[3].span, Span { start: 108, end: 109 });
        assert!(tokens[5].glued && !tokens[1].glued);
    }
}
