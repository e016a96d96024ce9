//! Source text → tokens.
//!
//! At each place the longest token is taken; among equally long ones a reserved word comes first,
//! then a MAC address, a number, a dotted number, an IPv6 address, a named value, and last a name.
//! That is libpcap's rule, and its surprises follow from it (`len-1` is a name, `123456789012` a
//! MAC address). Linear in the source but for IPv6 addresses, which try at most 64 ends.

use std::collections::HashMap;
use std::net::Ipv6Addr;
use std::sync::OnceLock;

use super::error::{Error, Span};
use super::shape;
use super::token::{GE, LE, NE, SHL, SHR, Tok, Token, VALUES, WORDS, Word};

/// Tokens of `source`, ended by [`Tok::End`], and the lexical errors that [`Tok::Bad`] tokens point
/// to.
pub(crate) fn tokens(source: &str) -> (Vec<Token>, Vec<Error>) {
    let mut lexer = Lexer { source, at: 0, errors: Vec::new() };
    let mut tokens = Vec::with_capacity(source.len() / 4 + 1);
    loop {
        let token = lexer.next();
        tokens.push(token);
        if matches!(token.kind, Tok::End | Tok::Bad(_)) {
            return (tokens, lexer.errors);
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    errors: Vec<Error>,
}

impl Lexer<'_> {
    fn next(&mut self) -> Token {
        let bytes = self.source.as_bytes();
        while bytes.get(self.at).is_some_and(|b| b" \r\n\t".contains(b)) {
            self.at += 1;
        }
        match bytes.get(self.at) {
            None => self.take(0, Tok::End),
            Some(b'\\') => self.escaped(),
            Some(b'$') => self.arcnet(),
            Some(b) if b.is_ascii_alphanumeric() || *b == b':' => self.wordlike(),
            Some(_) => self.symbol(),
        }
    }

    fn span(&self, len: usize) -> Span {
        Span { start: clip(self.at), end: clip(self.at + len) }
    }

    fn take(&mut self, len: usize, kind: Tok) -> Token {
        let span = self.span(len);
        self.at += len;
        Token { kind, span }
    }

    fn bad(&mut self, len: usize, error: Error) -> Token {
        let index = clip(self.errors.len());
        self.errors.push(error);
        self.take(len, Tok::Bad(index))
    }

    /// `\name`: a name even if it is a reserved word.
    fn escaped(&mut self) -> Token {
        let rest = &self.source.as_bytes()[self.at + 1..];
        let len = rest.iter().take_while(|b| !b" !()\n\t".contains(b)).count();
        if len == 0 {
            let error = Error::new(self.span(1), "nothing follows the backslash").help("write a name after it, as in `ip proto \\tcp`");
            return self.bad(1, error);
        }
        self.at += 1;
        self.take(len, Tok::Name)
    }

    fn arcnet(&mut self) -> Token {
        let rest = &self.source.as_bytes()[self.at + 1..];
        match rest.iter().take(2).take_while(|b| b.is_ascii_hexdigit()).count() {
            0 => self.unexpected(),
            digits => self.take(1 + digits, Tok::Arcnet),
        }
    }

    fn symbol(&mut self) -> Token {
        let rest = &self.source.as_bytes()[self.at..];
        let (len, kind) = match rest {
            [b'&', b'&', ..] => (2, Tok::And),
            [b'|', b'|', ..] => (2, Tok::Or),
            [b'>', b'=', ..] => (2, Tok::Punct(GE)),
            [b'<', b'=', ..] => (2, Tok::Punct(LE)),
            [b'!', b'=', ..] => (2, Tok::Punct(NE)),
            [b'=', b'=', ..] => (2, Tok::Punct(b'=')),
            [b'<', b'<', ..] => (2, Tok::Punct(SHL)),
            [b'>', b'>', ..] => (2, Tok::Punct(SHR)),
            [b'!', ..] => (1, Tok::Not),
            [b, ..] if b"+-*/%:[]<>()&|^=".contains(b) => (1, Tok::Punct(*b)),
            _ => return self.unexpected(),
        };
        self.take(len, kind)
    }

    fn unexpected(&mut self) -> Token {
        let c = self.source[self.at..].chars().next().unwrap_or('\0');
        let error = Error::new(self.span(c.len_utf8()), format!("unexpected character `{}`", c.escape_debug()));
        self.bad(c.len_utf8(), error)
    }

    fn wordlike(&mut self) -> Token {
        let text = &self.source[self.at..];
        let bytes = text.as_bytes();
        let name = shape::name(bytes);
        let digits = bytes[0].is_ascii_digit();
        let numbers = if digits { [shape::number(bytes), shape::dotted(bytes)] } else { [0, 0] };
        let colons = if bytes[0] == b':' || bytes[0].is_ascii_hexdigit() {
            [shape::mac(bytes), shape::ipv6(bytes), shape::colon_groups(bytes)]
        } else {
            [0, 0, 0]
        };
        let ([number, dotted], [mac, ipv6, groups]) = (numbers, colons);
        let longest = [name, number, dotted, mac, ipv6, groups].into_iter().max().unwrap_or(0);
        let word = (longest == name).then(|| lookup(&text[..name])).flatten();
        if let Some(kind @ (Tok::Word(_) | Tok::And | Tok::Or | Tok::Not)) = word {
            return self.take(name, kind);
        }
        match longest {
            0 => self.symbol(),
            n if n == mac => self.take(n, Tok::Mac),
            n if n == number => self.number(n),
            n if n == dotted => self.take(n, Tok::Dotted),
            n if n == ipv6 => self.ipv6(n),
            n if n == groups => self.bogus_mac(n),
            n => self.take(n, word.unwrap_or(Tok::Name)),
        }
    }

    fn number(&mut self, len: usize) -> Token {
        let text = &self.source[self.at..self.at + len];
        match parse_number(text) {
            Ok(value) => self.take(len, Tok::Number(value)),
            Err(why) => {
                let error = Error::new(self.span(len), format!("the number {text} {why}"));
                self.bad(len, error)
            }
        }
    }

    fn ipv6(&mut self, len: usize) -> Token {
        if self.source[self.at..self.at + len].parse::<Ipv6Addr>().is_ok() {
            return self.take(len, Tok::Ipv6);
        }
        let error = Error::new(self.span(len), "not an IPv6 address").help("an embedded IPv4 part is 0–255, four times");
        self.bad(len, error)
    }

    fn bogus_mac(&mut self, len: usize) -> Token {
        let error = Error::new(self.span(len), "not a MAC address")
            .help("write six bytes, as in 00:11:22:33:44:55; an IPv6 address needs eight groups or `::`");
        self.bad(len, error)
    }
}

fn clip(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

fn lookup(text: &str) -> Option<Tok> {
    static TABLE: OnceLock<HashMap<&str, Tok>> = OnceLock::new();
    TABLE.get_or_init(table).get(text).copied()
}

fn table() -> HashMap<&'static str, Tok> {
    let words = WORDS.iter().map(|&(text, word)| (text, word_token(word)));
    let values = VALUES.iter().map(|&(text, value)| (text, Tok::Number(value)));
    words.chain(values).collect()
}

fn word_token(word: Word) -> Tok {
    match word {
        Word::And => Tok::And,
        Word::Or => Tok::Or,
        Word::Not => Tok::Not,
        word => Tok::Word(word),
    }
}

/// C's notation: `0x` hexadecimal, leading 0 octal, else decimal.
fn parse_number(text: &str) -> Result<u32, &'static str> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    if radix == 8 && digits.bytes().any(|b| b > b'7') {
        return Err("begins with 0, so it is octal, and holds the digit 8 or 9");
    }
    u32::from_str_radix(digits, radix).map_err(|_| "does not fit 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Tok> {
        tokens(source).0.into_iter().map(|t| t.kind).collect()
    }

    #[test]
    fn longest_match_decides() {
        assert_eq!(kinds("len-1"), [Tok::Name, Tok::End]);
        assert_eq!(kinds("len -1"), [Tok::Word(Word::Len), Tok::Punct(b'-'), Tok::Number(1), Tok::End]);
        assert_eq!(kinds("80-90"), [Tok::Name, Tok::End]);
        assert_eq!(kinds("123456789012"), [Tok::Mac, Tok::End]);
        assert_eq!(kinds("1.2.3.4.5"), [Tok::Name, Tok::End]);
        assert_eq!(kinds("tcp-syn|010"), [Tok::Number(2), Tok::Punct(b'|'), Tok::Number(8), Tok::End]);
        assert_eq!(kinds("\\tcp"), [Tok::Name, Tok::End]);
        assert_eq!(kinds("!a&&b"), [Tok::Not, Tok::Name, Tok::And, Tok::Name, Tok::End]);
    }

    #[test]
    fn lexical_errors_have_a_place() {
        for (source, start) in [("port 08", 5), ("len > 4294967296", 6), ("ether host 1:2:3", 11), ("a ; b", 2), ("é", 0)] {
            let (tokens, errors) = tokens(source);
            assert!(matches!(tokens.last().map(|t| t.kind), Some(Tok::Bad(0))), "{source}");
            assert_eq!(errors[0].span.start, start, "{source}");
        }
    }
}
