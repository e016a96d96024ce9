//! Source text to tokens.
//!
//! Words keep their dots (`jcmp.eq`, `.locals`). `aa:bb:cc:dd` is one token as in the original,
//! although it may start like a label; longer runs of pairs (hardware addresses) are ours. What is
//! no token becomes [`Kind::Bad`] and is reported only if the parser gets to it, since literals of
//! sets are read from the text itself.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or mnemonic.
    Word,
    /// A word that starts with a dot.
    Directive,
    /// `@` and a name or number: a label that the module does not keep.
    Anonymous,
    /// Decimal or hexadecimal.
    Number,
    /// `a.b.c.d`
    Quad,
    /// `aa:bb:…`, four pairs or more.
    Pairs,
    /// A quoted string, quotes included.
    Text,
    /// One of `()*/+-:,`.
    Mark(u8),
    /// Not a token, and why.
    Bad(Bad),
    /// Behind the last one.
    End,
}

/// Why something is not a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    Open,
    Number,
    Stray,
}

impl Bad {
    pub fn message(self) -> &'static str {
        match self {
            Self::Open => "this string is not closed",
            Self::Number => "this is not a number; write 12, 0x0c, 10.0.0.1 or 0a:00:00:01",
            Self::Stray => "this character has no meaning here",
        }
    }
}

/// A token: its bytes and its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: u32,
    pub end: u32,
    pub line: u32,
}

/// The tokens, [`Kind::End`] last, and where each line starts.
pub(super) fn tokens(source: &str) -> (Vec<Token>, Vec<u32>) {
    let mut lexer = Lexer { bytes: source.as_bytes(), at: 0, lines: vec![0], tokens: Vec::new() };
    while lexer.at < lexer.bytes.len() {
        lexer.step();
    }
    lexer.push(Kind::End, lexer.at);
    (lexer.tokens, lexer.lines)
}

struct Lexer<'s> {
    bytes: &'s [u8],
    at: usize,
    lines: Vec<u32>,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn step(&mut self) {
        match self.bytes[self.at] {
            b'\n' | b'\r' => self.line_end(),
            b' ' | b'\t' => self.at += 1,
            b';' => self.at += self.run(0, |c| c != b'\n' && c != b'\r'),
            b'"' => self.text(),
            c @ (b'(' | b')' | b'*' | b'/' | b'+' | b'-' | b':' | b',') => self.push(Kind::Mark(c), self.at + 1),
            _ => self.word(),
        }
    }

    fn push(&mut self, kind: Kind, end: usize) {
        let line = self.lines.len() as u32;
        self.tokens.push(Token { kind, start: self.at as u32, end: end as u32, line });
        self.at = end;
    }

    fn line_end(&mut self) {
        self.at += if self.bytes[self.at..].starts_with(b"\r\n") { 2 } else { 1 };
        self.lines.push(self.at as u32);
    }

    /// The number of bytes from `at + skip` on that the test holds for.
    fn run(&self, skip: usize, test: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(self.at + skip..).unwrap_or(&[]);
        rest.iter().position(|c| !test(*c)).unwrap_or(rest.len())
    }

    fn text(&mut self) {
        let inside = self.run(1, |c| c != b'"');
        let end = self.at + 1 + inside;
        if end == self.bytes.len() {
            return self.push(Kind::Bad(Bad::Open), end);
        }
        let start = self.at;
        self.push(Kind::Text, end + 1);
        let ends_line = |i: &usize| self.bytes[*i] == b'\n' || (self.bytes[*i] == b'\r' && self.bytes[i + 1] != b'\n');
        self.lines.extend((start..end).filter(ends_line).map(|i| i as u32 + 1));
    }

    fn word(&mut self) {
        if let Some(n) = self.pairs() {
            return self.push(Kind::Pairs, self.at + n);
        }
        let first = self.bytes[self.at];
        let skip = usize::from(first == b'.' || first == b'@');
        let len = skip + self.run(skip, |c| c.is_ascii_alphanumeric() || c == b'_' || c == b'.');
        let kind = match first {
            _ if len == skip => return self.stray(),
            b'.' => Kind::Directive,
            b'@' => Kind::Anonymous,
            b'0'..=b'9' => number(&self.bytes[self.at..self.at + len]),
            _ => Kind::Word,
        };
        self.push(kind, self.at + len);
    }

    /// The length of four or more pairs of hexadecimal digits with colons between them.
    fn pairs(&self) -> Option<usize> {
        let rest = &self.bytes[self.at..];
        let pair = |i: usize| rest.get(3 * i..3 * i + 2).is_some_and(|p| p.iter().all(u8::is_ascii_hexdigit));
        let mut n = usize::from(pair(0));
        while n > 0 && rest.get(3 * n - 1) == Some(&b':') && pair(n) {
            n += 1;
        }
        let behind = rest.get((3 * n).wrapping_sub(1)).copied().unwrap_or(b' ');
        (n >= 4 && !behind.is_ascii_alphanumeric() && behind != b'_').then(|| 3 * n - 1)
    }

    fn stray(&mut self) {
        // A character that is not ASCII is skipped as a whole.
        let len = 1 + self.run(1, |c| c & 0xc0 == 0x80);
        self.push(Kind::Bad(Bad::Stray), self.at + len);
    }
}

fn number(text: &[u8]) -> Kind {
    let hexadecimal = text.strip_prefix(b"0x").is_some_and(|d| !d.is_empty() && d.iter().all(u8::is_ascii_hexdigit));
    let decimal = |t: &[u8]| !t.is_empty() && t.iter().all(u8::is_ascii_digit);
    let quad = || {
        text.split(|c| *c == b'.').filter(|p| decimal(p) && p.len() <= 3).count() == 4 && text.iter().filter(|c| **c == b'.').count() == 3
    };
    match () {
        () if hexadecimal || decimal(text) => Kind::Number,
        () if quad() => Kind::Quad,
        () => Kind::Bad(Bad::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Kind> {
        tokens(source).0.iter().map(|t| t.kind).collect()
    }

    #[test]
    fn each_kind() {
        use Kind::{Anonymous, Directive, End, Mark, Number, Pairs, Quad, Text, Word};
        let found = kinds("jcmp.eq .locals @7 12 0xFf 10.0.0.1 dd:ee:00:01 \"a;b\" (x) ; comment\r\n-1");
        let want = [Word, Directive, Anonymous, Number, Number, Quad, Pairs, Text, Mark(b'('), Word, Mark(b')'), Mark(b'-'), Number, End];
        assert_eq!(found, want);
    }

    #[test]
    fn pairs_and_labels() {
        use Kind::{End, Mark, Number, Pairs, Word};
        assert_eq!(kinds("ab: push 1"), [Word, Mark(b':'), Word, Number, End]);
        assert_eq!(kinds("10:ab"), [Number, Mark(b':'), Word, End]);
        assert_eq!(kinds("00:11:22:33:44:55"), [Pairs, End]);
        assert_eq!(kinds("00:11:22"), [Number, Mark(b':'), Number, Mark(b':'), Number, End]);
    }

    #[test]
    fn lines_are_counted_through_all_line_ends_and_strings() {
        let (tokens, lines) = tokens("a\rb\r\nc\n\"x\ny\" d");
        assert_eq!(tokens.iter().map(|t| t.line).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 5]);
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn what_is_no_token() {
        for source in ["\"open", "12abc", "1.2.3", "1.2.3.4.5", "0x", "é", "$", "."] {
            assert!(matches!(kinds(source)[..], [Kind::Bad(_), Kind::End]), "{source}");
        }
    }
}
