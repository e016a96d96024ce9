//! `regexp`: one regular expression in the packet ([`netil::copro::REGEXP`]).
//!
//! Time is linear in the packet and memory bounded by [`EXPRESSION_SIZE`] for each expression: the
//! crate `regex` compiles to automata. Expressions are over bytes, not characters. Leaves out what
//! automata cannot do (back-references, looking around), and Perl's `$` before a last line feed:
//! `$` is always the very end, as with flag E.

use super::patterns::{Match, Pattern, Searcher};
use netil::copro::Registers;
use netil::copro::patterns::{self, EXPRESSION_SIZES, Expressions, Reader, Refusal, expression_price, expressions_load_price};
use regex::bytes::{Regex, RegexBuilder};
use std::collections::VecDeque;

/// The most bytes that one compiled expression takes, and again the tables that searching with it
/// fills.
pub use netil::copro::EXPRESSION_SIZE;

/// The unit.
pub type Regexp = Searcher<Expression>;

/// One of its expressions.
pub struct Expression {
    regex: Regex,
    price: u64,
}

impl Pattern for Expression {
    fn load(data: &mut Reader<'_>) -> Result<Vec<Self>, Refusal> {
        Expressions::new(data)?.map(|read| compile(&read?)).collect()
    }

    fn find<'a>(&'a self, haystack: &'a [u8]) -> impl Iterator<Item = Match> + 'a {
        self.regex.find(haystack).map(|m| Match { number: 0, end: m.end() as u32, len: m.len() as u32 }).into_iter()
    }

    fn price(&self) -> u64 {
        self.price
    }

    fn load_price(data: &[u8]) -> u64 {
        expressions_load_price(data)
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

fn compile(read: &patterns::Expression) -> Result<Expression, Refusal> {
    let mut builder = RegexBuilder::new(&read.text);
    builder.unicode(false).dfa_size_limit(EXPRESSION_SIZE).case_insensitive(read.any_case).dot_matches_new_line(read.dot_all);
    builder.multi_line(read.lines).ignore_whitespace(read.spaced).swap_greed(read.least_first);
    for size in EXPRESSION_SIZES {
        match builder.size_limit(size).build() {
            Ok(regex) => return Ok(Expression { regex, price: expression_price(size) }),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(_) => break,
        }
    }
    Err(Refusal::Pattern)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netil::copro::{CoproError, Coprocessor, Views};

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
        unit.invoke(1, &mut registers, Views::of(packet, &[])).unwrap();
        let found = registers[0] == 1;
        unit.invoke(3, &mut registers, Views::NONE).unwrap();
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
        unit.invoke(2, &mut registers, Views::of(b"abbbbbb", &[])).unwrap();
        unit.invoke(3, &mut registers, Views::NONE).unwrap();
        assert_eq!(registers[..4], [0, 0, 2, 2]);
        unit.invoke(3, &mut registers, Views::NONE).unwrap();
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
        assert_eq!(unit.work(1, &registers, Views::of(&[0; 60], &[])), 0);
        let data = data(&[("", b"abc"), ("", b"(a|b)*a(a|b){200}c"), ("", b"(a|b)*a(a|b){1200}c")]);
        assert_eq!((unit.init_work(&data), unit.init(&data)), (3 << 16, 0));
        assert_eq!((unit.init_work(&[0xff; 9]), unit.init_work(&[1])), (512 << 16, 0));
        let mut work = |number, operation| {
            registers[0] = number;
            unit.work(operation, &registers, Views::of(&[0; 60], &[]))
        };
        assert_eq!([0, 1, 2, 3].map(|number| work(number, 1)), [60 * 16, 60 * 256, 60 * 1024, 0]);
        assert_eq!([0, 1, 2, 3].map(|operation| work(0, operation)), [0, 60 * 16, 50 * 16, 0]);
    }

    #[test]
    fn says_why_it_does_not_work() {
        let mut unit = Regexp::default();
        let mut registers = [0; 32];
        assert_eq!(unit.invoke(2, &mut registers, Views::of(&[], &[])), Err(CoproError::NotInitialised));
        unit.init(&data(&[("", b"a")]));
        assert_eq!(unit.invoke(2, &mut registers, Views::NONE), Err(CoproError::NoPacket));
        registers[0] = 1;
        assert_eq!(unit.invoke(2, &mut registers, Views::of(&[], &[])), Err(CoproError::BadRegister));
    }
}
