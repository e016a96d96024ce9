//! Words and signs of the Click language, one at a time, since what follows a parenthesis depends
//! on what stands before it.
//!
//! Source: click(5), "Lexical issues". Line directives (`# 3 "file"`) are read over: places are
//! those in the text at hand.

use crate::diagnostics::{Diagnostic, Span};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier, a keyword or a number.
    Word,
    /// `$name`
    Variable,
    /// `->`
    Arrow,
    /// `=>`
    ManyArrow,
    /// `::`
    Colons,
    /// `||`
    Bars,
    /// `...`
    Dots,
    /// One of `; , ( ) [ ] { } | -`
    Sign(char),
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// A text and how far it was read.
pub(super) struct Lexer<'a> {
    pub(super) source: &'a str,
    at: usize,
    pub(super) faults: Vec<Diagnostic>,
}

const SIGNS: [(&str, Kind); 5] =
    [("->", Kind::Arrow), ("=>", Kind::ManyArrow), ("::", Kind::Colons), ("||", Kind::Bars), ("...", Kind::Dots)];

impl<'a> Lexer<'a> {
    /// Reads a text from a place on.
    pub(super) fn new(source: &'a str, at: usize) -> Self {
        Self { source, at, faults: Vec::new() }
    }

    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn span(&self, start: usize) -> Span {
        Span { start: start as u32, end: self.at as u32 }
    }

    /// The next token.
    pub(super) fn token(&mut self) -> Token {
        loop {
            self.space();
            let start = self.at;
            let Some(first) = self.rest().chars().next() else { return Token { kind: Kind::End, span: self.span(start) } };
            if let Some(kind) = self.known(first) {
                return Token { kind, span: self.span(start) };
            }
            self.at += first.len_utf8();
            self.faults.push(Diagnostic::new(self.span(start), format!("`{first}` has no meaning here")));
        }
    }

    /// Steps over white space and the like.
    fn space(&mut self) {
        let (length, open) = space(self.rest(), self.at == 0 || self.source[..self.at].ends_with('\n'));
        if let Some(open) = open {
            self.open_comment(self.at + open);
        }
        self.at += length;
    }

    fn open_comment(&mut self, at: usize) {
        let span = Span { start: at as u32, end: at as u32 + 2 };
        self.faults.push(Diagnostic::new(span, "this comment is not closed").help("write */ where it ends"));
    }

    fn open_quote(&mut self, at: usize) {
        let (span, quote) = (Span { start: at as u32, end: at as u32 + 1 }, &self.source[at..=at]);
        self.faults.push(Diagnostic::new(span, "this quote is not closed").help(format!("write {quote} where the string ends")));
    }

    /// Steps over a token that is there.
    fn known(&mut self, first: char) -> Option<Kind> {
        if let Some((sign, kind)) = SIGNS.into_iter().find(|(sign, _)| self.rest().starts_with(sign)) {
            self.at += sign.len();
            return Some(kind);
        }
        if ";,()[]{}|-".contains(first) {
            self.at += 1;
            return Some(Kind::Sign(first));
        }
        let (kind, from) = if first == '$' { (Kind::Variable, 1) } else { (Kind::Word, 0) };
        let length = word(self.rest().get(from..)?);
        if length == 0 {
            return None;
        }
        self.at += from + length;
        Some(kind)
    }

    /// The text of a configuration string, from behind its left parenthesis to its right one, which
    /// is stepped over.
    pub(super) fn configuration(&mut self, open: Span) -> Span {
        self.at = open.end as usize;
        let inside = balanced(self.rest());
        let start = self.at;
        self.at += inside;
        let span = self.span(start);
        if self.rest().starts_with(')') {
            self.at += 1;
        } else if let Some(at) = open_piece(span.text(self.source)) {
            self.open_comment(start + at);
        } else if let Some(at) = open_quote(span.text(self.source)) {
            self.open_quote(start + at);
        } else {
            self.faults.push(Diagnostic::new(open, "this parenthesis is not closed"));
        }
        span
    }
}

/// Bytes of an identifier: letters, digits, `_`, `@`, and slashes between them that begin no
/// comment.
fn word(text: &str) -> usize {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '@';
    let mut length = 0;
    while let Some(c) = text[length..].chars().next() {
        let follows = text[length + c.len_utf8()..].chars().next();
        if !(inner(c) || c == '/' && length > 0 && follows.is_some_and(inner)) {
            break;
        }
        length += c.len_utf8();
    }
    length
}

/// Bytes of a comment at the beginning of a text; 0 if there is none.
pub(super) fn comment(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    text.strip_prefix("/*").map_or(0, |inside| inside.find("*/").map_or(text.len(), |at| at + 4))
}

/// True if a comment begins there and does not end.
fn is_open(text: &str) -> bool {
    text.strip_prefix("/*").is_some_and(|inside| !inside.contains("*/"))
}

/// Where a comment that does not end begins in a configuration string.
fn open_piece(text: &str) -> Option<usize> {
    let mut at = 0;
    while at < text.len() && !is_open(&text[at..]) {
        at += piece(&text[at..]);
    }
    (at < text.len()).then_some(at)
}

/// Where a quote begins that does not end.
fn open_quote(text: &str) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let closed = match rest.as_bytes()[0] {
            b'\'' => rest[1..].contains('\''),
            b'"' => quoted(rest).is_some(),
            _ => true,
        };
        if !closed {
            return Some(at);
        }
        at += piece(rest);
    }
    None
}

/// Bytes of white space, comments and line directives, and where a comment begins that does not
/// end.
fn space(text: &str, line_begins: bool) -> (usize, Option<usize>) {
    let (mut at, mut begins) = (0, line_begins);
    loop {
        let rest = &text[at..];
        if is_open(rest) {
            return (text.len(), Some(at));
        }
        let step = match rest.bytes().next() {
            Some(b) if b.is_ascii_whitespace() || b == 0x0b => 1,
            Some(b'#') if begins => rest.find('\n').unwrap_or(rest.len()),
            Some(b'/') => comment(rest),
            _ => 0,
        };
        if step == 0 {
            return (at, None);
        }
        begins = rest.starts_with('\n') || begins && rest.starts_with([' ', '\t']);
        at += step;
    }
}

/// Bytes up to the right parenthesis that closes, or to the end. Those in quotes and comments do
/// not count.
fn balanced(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(c) = text[at..].chars().next() {
        match c {
            ')' if depth == 0 => break,
            ')' => depth -= 1,
            '(' => depth += 1,
            _ => {}
        }
        at += piece(&text[at..]);
    }
    at
}

/// Bytes of a comment, of a quoted string, of an escaped character, or of a character.
pub(super) fn piece(text: &str) -> usize {
    let Some(c) = text.chars().next() else { return 0 };
    match c {
        '/' => comment(text).max(1),
        '\'' => text[1..].find('\'').map_or(text.len(), |end| end + 2),
        '"' => quoted(text).unwrap_or(text.len()),
        '\\' if text[1..].starts_with('<') => text.find('>').map_or(text.len(), |end| end + 1),
        '\\' => 1 + text[1..].chars().next().map_or(0, char::len_utf8),
        _ => c.len_utf8(),
    }
}

/// Bytes of a string in double quotes, in which a backslash takes a character's meaning away; none
/// if it does not end.
fn quoted(text: &str) -> Option<usize> {
    let mut escaped = true; // the quote itself
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}
