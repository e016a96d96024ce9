//! Preprocessing tokens of a C text (C11, 6.4).
//!
//! Comments are space, a backslash before the end of a line joins it to the next. Spans count over
//! all texts of a translation ([`Sources`](crate::diagnostics::Sources)), as they are written. Left
//! out: trigraphs, universal character names.

use super::Faults;
use crate::diagnostics::{Diagnostic, Span};
use std::borrow::Cow;
use std::sync::Arc;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Name,
    Number,
    /// A character constant, quotes included.
    Char,
    /// A string, quotes included.
    Text,
    Sign(&'static str),
    /// A character that begins nothing.
    Stray,
    /// Stands for what is told already: the use of a macro that is wrong.
    Wrong,
    End,
}

/// A token, where it is written and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: Arc<str>,
    /// Where it is written.
    pub(super) span: Span,
    /// Where the macro that it is written in was used, if it is part of one.
    pub(super) used: Option<Span>,
    /// The first of its line.
    pub(super) first: bool,
    /// There is space before it.
    pub(super) spaced: bool,
    /// Macros that are not to be expanded here any more.
    pub(super) hidden: Option<Arc<[u32]>>,
}

impl Token {
    /// The place in the text that people should look at.
    pub(super) fn place(&self) -> Span {
        self.used.unwrap_or(self.span)
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        matches!(self.kind, Kind::Sign(s) if s == sign)
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        self.kind == Kind::Name && &*self.text == name
    }

    /// What stands behind the last token.
    pub(super) fn end(at: u32) -> Self {
        let span = Span { start: at, end: at };
        Self { kind: Kind::End, text: "".into(), span, used: None, first: true, spaced: false, hidden: None }
    }
}

/// Longest first.
const SIGNS: [&str; 45] = [
    "...", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "*=", "/=", "%=", "+=", "-=", "&=", "^=", "|=",
    "##", "[", "]", "(", ")", "{", "}", ".", "&", "*", "+", "-", "~", "!", "/", "%", "<", ">", "^", "|", "?", ":", ";",
];
const MORE_SIGNS: [&str; 3] = ["=", ",", "#"];

/// The tokens of a text whose first byte has offset `base`.
pub(super) fn lex(text: &str, base: u32, faults: &mut Faults) -> Vec<Token> {
    let (text, cuts) = spliced(text);
    let mut lexer = Lexer { text: &text, at: 0, base, cuts, faults };
    let mut tokens = Vec::new();
    let mut first = true;
    loop {
        let start = lexer.at;
        first |= lexer.space();
        let spaced = lexer.at > start;
        let Some(token) = lexer.token(first, spaced) else { return tokens };
        tokens.push(token);
        first = false;
    }
}

struct Lexer<'a> {
    /// Without spliced ends of lines; where something was cut out of it, and how many bytes up to
    /// there.
    text: &'a str,
    cuts: Vec<(usize, usize)>,
    at: usize,
    base: u32,
    faults: &'a mut Faults,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn span(&self, start: usize) -> Span {
        self.place(start, self.at)
    }

    /// Where a part of what is left of the text is written.
    fn place(&self, start: usize, end: usize) -> Span {
        let cut = |most: usize| {
            let before = self.cuts.partition_point(|(at, _)| *at <= most);
            before.checked_sub(1).map_or(0, |last| self.cuts[last].1)
        };
        let end_cut = if end > start { cut(end - 1) } else { cut(start) };
        Span { start: self.base + (start + cut(start)) as u32, end: self.base + (end + end_cut) as u32 }
    }

    /// Steps over white space and comments; true if a line ended.
    fn space(&mut self) -> bool {
        let mut ended = false;
        loop {
            let rest = self.rest();
            let step = match rest.bytes().next() {
                Some(b'\n') => {
                    ended = true;
                    1
                }
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => 1,
                Some(b'/') => self.comment(),
                _ => 0,
            };
            if step == 0 {
                return ended;
            }
            self.at += step;
        }
    }

    /// Bytes of a comment; 0 if there is none.
    fn comment(&mut self) -> usize {
        let rest = self.rest();
        if rest.starts_with("//") {
            return rest.find('\n').unwrap_or(rest.len());
        }
        let Some(inside) = rest.strip_prefix("/*") else { return 0 };
        match inside.find("*/") {
            Some(end) => end + 4,
            None => {
                let (length, place) = (rest.len(), self.place(self.at, self.at + 2));
                self.faults.add(Diagnostic::new(place, "this comment is not closed").help("close it with `*/`"));
                length
            }
        }
    }

    fn token(&mut self, first: bool, spaced: bool) -> Option<Token> {
        let start = self.at;
        let (kind, length) = self.measure()?;
        self.at += length;
        let text: Arc<str> = self.text[start..self.at].into();
        let token = Token { kind, text, span: self.span(start), used: None, first, spaced, hidden: None };
        if kind == Kind::Stray {
            self.faults.add(Diagnostic::new(token.span, format!("`{}` has no meaning in C", token.text)));
            return self.skipped(first);
        }
        Some(token)
    }

    /// The token after one that has no meaning.
    fn skipped(&mut self, first: bool) -> Option<Token> {
        while let Some((Kind::Stray, length)) = self.measure() {
            self.at += length;
        }
        let ended = self.space();
        if self.measure().is_some_and(|(kind, _)| kind == Kind::Stray) {
            self.skipped_far(first | ended)
        } else {
            self.token(first | ended, true)
        }
    }

    /// Stray characters with space between them: one fault is enough for the rest of the line.
    fn skipped_far(&mut self, first: bool) -> Option<Token> {
        let mut ended = first;
        while let Some((Kind::Stray, length)) = self.measure() {
            self.at += length;
            ended |= self.space();
        }
        self.token(ended, true)
    }

    fn measure(&mut self) -> Option<(Kind, usize)> {
        let rest = self.rest();
        let c = rest.chars().next()?;
        let digit_follows = rest[c.len_utf8()..].starts_with(|d: char| d.is_ascii_digit());
        Some(match c {
            'a'..='z' | 'A'..='Z' | '_' => (Kind::Name, rest.find(|c: char| !word(c)).unwrap_or(rest.len())),
            '0'..='9' => (Kind::Number, number(rest)),
            '.' if digit_follows => (Kind::Number, number(rest)),
            '"' => (Kind::Text, self.quoted('"')),
            '\'' => (Kind::Char, self.quoted('\'')),
            _ => match SIGNS.iter().chain(&MORE_SIGNS).find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (Kind::Sign(sign), sign.len()),
                None => (Kind::Stray, c.len_utf8()),
            },
        })
    }

    /// Bytes of a string or character constant; one that is not closed ends with its line.
    fn quoted(&mut self, quote: char) -> usize {
        let (length, is_closed) = constant(self.rest(), quote);
        if let Some(at) = self.rest()[..length].find(char::REPLACEMENT_CHARACTER) {
            self.unreadable(at);
        }
        if !is_closed {
            let place = self.place(self.at, self.at + length);
            self.faults.add(Diagnostic::new(place, format!("there is no `{quote}` that closes this")));
        }
        length
    }

    /// What stands for bytes that are not UTF-8: which they were is not known any more.
    fn unreadable(&mut self, at: usize) {
        let start = self.at + at;
        let place = self.place(start, start + char::REPLACEMENT_CHARACTER.len_utf8());
        self.faults.add(Diagnostic::new(place, "this is not UTF-8").help("write such bytes as escapes: \"caf\\xe9\""));
    }
}

/// Bytes of a string or character constant up to its end or that of the line, and whether it is
/// closed.
fn constant(text: &str, quote: char) -> (usize, bool) {
    let mut at = 1;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '\n' => break,
            '\\' => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            _ if c == quote => return (at + 1, true),
            _ => at += c.len_utf8(),
        }
    }
    (at, false)
}

fn word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A text without ends of lines behind backslashes (C11, 5.1.1.2, phase 2), where in it one was,
/// and how many bytes were cut out up to there.
fn spliced(text: &str) -> (Cow<'_, str>, Vec<(usize, usize)>) {
    let (mut left, mut cuts, mut from, mut cut) = (String::new(), Vec::new(), 0, 0);
    for (at, _) in text.match_indices('\\') {
        let length = splice(&text[at..]);
        if length > 0 {
            left += &text[from..at];
            (from, cut) = (at + length, cut + length);
            cuts.push((left.len(), cut));
        }
    }
    if cuts.is_empty() {
        return (Cow::Borrowed(text), cuts);
    }
    (Cow::Owned(left + &text[from..]), cuts)
}

/// Bytes of a backslash and the end of the line.
fn splice(text: &str) -> usize {
    ["\\\r\n", "\\\n"].iter().find(|end| text.starts_with(**end)).map_or(0, |end| end.len())
}

/// Bytes of a preprocessing number.
fn number(text: &str) -> usize {
    let mut last = '0';
    let end = text.char_indices().find(|(_, c)| {
        let sign = matches!(c, '+' | '-') && matches!(last, 'e' | 'E' | 'p' | 'P') && !text.starts_with("0x") && !text.starts_with("0X");
        last = *c;
        !(word(*c) || *c == '.' || sign)
    });
    end.map_or(text.len(), |(at, _)| at)
}

/// The bytes that a string or character constant stands for; errors are the offset of a wrong
/// escape in its text.
pub(super) fn unquote(text: &str) -> Result<Vec<u8>, usize> {
    let inner = text.get(1..).unwrap_or("");
    let inner = inner.strip_suffix(['"', '\'']).unwrap_or(inner);
    let (mut bytes, mut at) = (Vec::new(), 0);
    while let Some(c) = inner[at..].chars().next() {
        if c == '\\' {
            let (byte, length) = escape(&inner[at + 1..]).ok_or(at + 1)?;
            bytes.extend(byte);
            at += 1 + length;
        } else {
            bytes.extend(c.to_string().bytes());
            at += c.len_utf8();
        }
    }
    Ok(bytes)
}

/// The byte that an escape stands for (none for a joined line), and the bytes it takes behind the
/// backslash.
fn escape(text: &str) -> Option<(Option<u8>, usize)> {
    let c = text.chars().next()?;
    let simple = |byte| Some((Some(byte), 1));
    match c {
        'n' => simple(b'\n'),
        't' => simple(b'\t'),
        'r' => simple(b'\r'),
        'a' => simple(7),
        'b' => simple(8),
        'f' => simple(12),
        'v' => simple(11),
        '\\' | '\'' | '"' | '?' => simple(c as u8),
        '\n' => Some((None, 1)),
        'x' => {
            let digits = text[1..].find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len() - 1);
            Some((Some(u8::from_str_radix(&text[1..1 + digits], 16).ok()?), 1 + digits))
        }
        '0'..='7' => {
            let digits = text.find(|c: char| !('0'..='7').contains(&c)).unwrap_or(text.len()).min(3);
            Some((Some(u8::from_str_radix(&text[..digits], 8).ok()?), digits))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        lex(source, 0, &mut Faults::default()).into_iter().map(|t| t.text.to_string()).collect()
    }

    #[test]
    fn a_text_is_cut_into_tokens() {
        assert_eq!(texts("a+++b/* c */->0x1Fu // d\n\"e\\\"f\" 'g'"), ["a", "++", "+", "b", "->", "0x1Fu", "\"e\\\"f\"", "'g'"]);
        assert_eq!(texts("a \\\n b"), ["a", "b"]);
        assert!(!lex("a \\\n b", 0, &mut Faults::default())[1].first);
        assert!(lex("a \n b", 0, &mut Faults::default())[1].first);
        assert_eq!(texts("$ @ x `` y"), ["x", "y"]);
    }

    #[test]
    fn lines_are_joined_before_there_are_tokens() {
        let text = "ab\\\ncd <\\\r\n<\\\n= \"x\\\n\\\ny\" // no\\\n more\nz\\\n(\\x";
        assert_eq!(texts(text), ["abcd", "<<=", "\"xy\"", "z", "(", "x"]);
        let tokens = lex(text, 0, &mut Faults::default());
        let written = |token: &Token| &text[token.span.start as usize..token.span.end as usize];
        let all: Vec<&str> = tokens.iter().map(written).collect();
        assert_eq!(all, ["ab\\\ncd", "<\\\r\n<\\\n=", "\"x\\\n\\\ny\"", "z", "(", "x"]);
        assert_eq!(tokens.iter().map(|token| token.spaced).collect::<Vec<_>>(), [false, true, true, true, false, true]);
    }

    #[test]
    fn spans_of_lines_that_are_joined_later_stay() {
        assert_eq!(lex("a b\\\n c", 5, &mut Faults::default())[1].span, Span { start: 7, end: 8 });
    }

    #[test]
    fn strings_stand_for_bytes() {
        assert_eq!(unquote(r#""a\n\x41\101\\""#), Ok(b"a\nAA\\".to_vec()));
        assert_eq!(unquote(r#""a\q""#), Err(2));
        assert_eq!(unquote("\"\\xfff\""), Err(1));
    }
}
