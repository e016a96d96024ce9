//! `regexp`: one regular expression in the packet ([`netil::copro::REGEXP`]).
//!
//! Time is linear in the packet and memory bounded by [`EXPRESSION_SIZE`] for each expression: the crate `regex` compiles to automata. Expressions
//! are over bytes, not characters. Leaves out what automata cannot do (back-references, looking around), and Perl's `$` before a last line feed:
//! `$` is always the very end, as with flag E.

use super::patterns::{Match, Pattern, Reader, Refusal, Searcher};
use netil::copro::{Registers, expression_text};
use regex::bytes::{Regex, RegexBuilder};
use std::collections::VecDeque;

/// The most expressions of a unit.
pub const MAX_EXPRESSIONS: usize = 512;
/// The most bytes that one compiled expression takes, and again the tables that searching with it fills.
pub use netil::copro::EXPRESSION_SIZE;

/// The unit.
pub type Regexp = Searcher<Expression>;

/// One of its expressions.
pub struct Expression {
    regex: Regex,
    price: u64,
}

/// Limits of size to try an expression with, ascending. What a byte of the packet costs at worst grows with the size of the compiled
/// expression, which the crate does not tell.
const SIZES: [usize; 4] = [EXPRESSION_SIZE >> 6, EXPRESSION_SIZE >> 4, EXPRESSION_SIZE >> 2, EXPRESSION_SIZE];
/// Bytes of a compiled expression that add 1 to the price of a byte searched. Measured: with 256 KiB a byte takes up to 7 µs, as long as two
/// thousand bytes of a CRC.
const PRICE: usize = 256;
/// What compiling an expression costs, in bytes handled in bulk. Measured: up to half a millisecond.
const COMPILING: u64 = 1 << 16;

impl Pattern for Expression {
    fn load(data: &mut Reader<'_>) -> Result<Vec<Self>, Refusal> {
        let count = data.u16()?;
        if usize::from(count) > MAX_EXPRESSIONS {
            return Err(Refusal::TooLarge);
        }
        let mut expressions = Vec::new();
        for _ in 0..count {
            let flags = data.counted()?;
            expressions.push(compile(flags, data.counted()?)?);
        }
        Ok(expressions)
    }

    fn find<'a>(&'a self, haystack: &'a [u8]) -> impl Iterator<Item = Match> + 'a {
        self.regex.find(haystack).map(|m| Match { number: 0, end: m.end() as u32, len: m.len() as u32 }).into_iter()
    }

    fn price(&self) -> u64 {
        self.price
    }

    fn load_price(data: &[u8]) -> u64 {
        let count = Reader(data).u16().unwrap_or(0);
        u64::from(count).min(MAX_EXPRESSIONS as u64) * COMPILING
    }

    /// Register 0 counts down; the match stays.
    fn result(matches: &mut VecDeque<Match>, registers: &mut Registers) {
        let result = match matches.front() {
            Some(found) if registers[0] > 0 => {
                registers[0] -= 1;
                [0, found.end, found.len]
            }
            _ => [0; 3],
        };
        registers[1..4].copy_from_slice(&result);
    }
}

fn compile(flags: &[u8], text: &[u8]) -> Result<Expression, Refusal> {
    let mut text = expression_text(until_zero(text));
    if flags.contains(&b'A') {
        // The line feed ends a comment, should the text close with one.
        text = format!("\\A(?:{text}{})", if flags.contains(&b'x') { "\n" } else { "" });
    }
    let mut builder = RegexBuilder::new(&text);
    builder.unicode(false).dfa_size_limit(EXPRESSION_SIZE);
    for flag in until_zero(flags) {
        set(&mut builder, *flag)?;
    }
    for size in SIZES {
        match builder.size_limit(size).build() {
            Ok(regex) => return Ok(Expression { regex, price: (size / PRICE) as u64 }),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(_) => break,
        }
    }
    Err(Refusal::Pattern)
}

fn set(builder: &mut RegexBuilder, flag: u8) -> Result<(), Refusal> {
    match flag {
        b'i' => builder.case_insensitive(true),
        b's' => builder.dot_matches_new_line(true),
        b'm' => builder.multi_line(true),
        b'x' => builder.ignore_whitespace(true),
        b'G' => builder.swap_greed(true),
        b'A' | b'E' | b'R' | b'U' | b'B' => builder,
        _ => return Err(Refusal::Flag),
    };
    Ok(())
}

/// Text and flags end at a zero byte, as they did for the original's library.
fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netil::copro::{CoproError, Coprocessor};

    fn data(expressions: &[(&str, &[u8])]) -> Vec<u8> {
        let mut out = (expressions.len() as u16).to_le_bytes().to_vec();
        for (flags, text) in expressions {
            out.extend((flags.len() as u16).to_le_bytes());
            out.extend(flags.as_bytes());
            out.extend((text.len() as u16).to_le_bytes());
            out.extend(*text);
        }
        out
    }

    /// End and length of the match of a single expression, in the whole packet.
    fn find(flags: &str, text: &[u8], packet: &[u8]) -> Option<[u32; 2]> {
        let mut unit = Regexp::default();
        assert_eq!(unit.init(&data(&[(flags, text)])), 0);
        let mut registers = [0; 32];
        registers[2] = u32::MAX;
        unit.invoke(1, &mut registers, Some(packet)).unwrap();
        let found = registers[0] == 1;
        unit.invoke(3, &mut registers, None).unwrap();
        assert_eq!(registers[..2], [0, 0]);
        found.then_some([registers[2], registers[3]])
    }

    #[test]
    fn flags_mean_what_they_say() {
        assert_eq!(find("", b"us?r", b"xx usr"), Some([6, 3]));
        assert_eq!(find("", b"USER", b"user"), None);
        assert_eq!(find("iRUB", b"USER", b"user"), Some([4, 4]));
        assert_eq!(find("", b"a.b", b"a\nb"), None);
        assert_eq!(find("s", b"a.b", b"a\nb"), Some([3, 3]));
        assert_eq!(find("m", b"^b", b"a\nb"), Some([3, 1]));
        assert_eq!(find("A", b"b|c", b"abc"), None);
        assert_eq!(find("xA", b"a # the first", b"abc"), Some([1, 1]));
        assert_eq!(find("G", b"a+", b"aaa"), Some([1, 1]));
        assert_eq!(find("", b"[\x80-\xff]+\0ignored", b"ab\x90\xffc"), Some([4, 2]));
    }

    #[test]
    fn a_part_of_the_packet_is_searched() {
        let mut unit = Regexp::default();
        unit.init(&data(&[("", b"zzz"), ("", b"b+")]));
        let mut registers = [0; 32];
        registers[..3].copy_from_slice(&[1, 3, 2]);
        unit.invoke(2, &mut registers, Some(b"abbbbbb")).unwrap();
        unit.invoke(3, &mut registers, None).unwrap();
        assert_eq!(registers[..4], [0, 0, 2, 2]);
        unit.invoke(3, &mut registers, None).unwrap();
        assert_eq!(registers[..4], [0, 0, 0, 0]);
    }

    #[test]
    fn hostile_expressions_are_refused_in_bounded_memory() {
        let refused = |flags: &str, text: &[u8]| Regexp::default().init(&data(&[(flags, text)]));
        assert_eq!(refused("", b"(((a{1000}){1000}){1000})"), 4);
        assert_eq!(refused("", b"("), 4);
        assert_eq!(refused("", &[b'('; 65_535]), 4);
        assert_eq!(refused("", br"(a)\1"), 4);
        assert_eq!(refused("q", b"a"), 3);
        assert_eq!(Regexp::default().init(&513_u16.to_le_bytes()), 2);
        let good = data(&[("i", b"abc")]);
        assert!((0..good.len()).all(|cut| Regexp::default().init(&good[..cut]) == 1));
    }

    #[test]
    fn what_a_search_costs_grows_with_the_expression() {
        let mut unit = Regexp::default();
        let mut registers = [0; 32];
        registers[1..3].copy_from_slice(&[10, 1000]);
        assert_eq!(unit.work(1, &registers, Some(&[0; 60])), 0);
        let data = data(&[("", b"abc"), ("", b"(a|b)*a(a|b){200}c"), ("", b"(a|b)*a(a|b){1200}c")]);
        assert_eq!((unit.init_work(&data), unit.init(&data)), (3 << 16, 0));
        assert_eq!((unit.init_work(&[0xff; 9]), unit.init_work(&[1])), (512 << 16, 0));
        let mut work = |number, operation| {
            registers[0] = number;
            unit.work(operation, &registers, Some(&[0; 60]))
        };
        assert_eq!([0, 1, 2, 3].map(|number| work(number, 1)), [60 * 16, 60 * 256, 60 * 1024, 0]);
        assert_eq!([0, 1, 2, 3].map(|operation| work(0, operation)), [0, 60 * 16, 50 * 16, 0]);
    }

    #[test]
    fn says_why_it_does_not_work() {
        let mut unit = Regexp::default();
        let mut registers = [0; 32];
        assert_eq!(unit.invoke(2, &mut registers, Some(&[])), Err(CoproError::NotInitialised));
        unit.init(&data(&[("", b"a")]));
        assert_eq!(unit.invoke(2, &mut registers, None), Err(CoproError::NoPacket));
        registers[0] = 1;
        assert_eq!(unit.invoke(2, &mut registers, Some(&[])), Err(CoproError::BadRegister));
    }
}
