//! Initialised data of `stringmatching` and `regexp`: what it says, the limits of both units, and
//! what they charge. Every engine and back end that searches reads it here, so all refuse the same
//! and charge the same.
//!
//! Leaves out the searching itself, which has a crate or an automaton behind it, and whether an
//! expression has an error in it.

use super::{EXPRESSION_SIZE, expression_text};
use std::collections::HashMap;

/// The most bytes of all strings of a unit.
pub const MAX_TEXT: usize = 1 << 18;
/// The most strings of all groups.
pub const MAX_PATTERNS: usize = 1 << 16;
/// The most matches of one search for strings.
pub const MAX_MATCHES: usize = 1600;
/// The most expressions of a unit.
pub const MAX_EXPRESSIONS: usize = 512;
/// What a byte of the strings costs to load, in bytes handled in bulk. Measured: up to 10 µs.
const LOADING: u64 = 64;
/// What compiling an expression costs, in bytes handled in bulk. Measured: up to half a
/// millisecond.
const COMPILING: u64 = 1 << 16;
/// Limits of size to try an expression with, ascending. What a byte of the packet costs at worst
/// grows with the size of the compiled expression, which the crate does not tell.
pub const EXPRESSION_SIZES: [usize; 4] = [EXPRESSION_SIZE >> 6, EXPRESSION_SIZE >> 4, EXPRESSION_SIZE >> 2, EXPRESSION_SIZE];
/// Bytes of a compiled expression that add 1 to the price of a byte searched. Measured: with 256
/// KiB a byte takes up to 7 µs, as long as two thousand bytes of a CRC.
const PRICE: usize = 256;

/// Why initialised data was refused: the numbers that `copro.init` pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The data ends within a pattern.
    Cut = 1,
    /// More patterns, or longer ones, than the unit takes.
    TooLarge = 2,
    /// A flag that nobody knows.
    Flag = 3,
    /// A pattern with an error in it, or that would need too much memory.
    Pattern = 4,
}

/// Little-endian numbers and bytes from initialised data, of which this is what is left.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// So many bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8], Refusal> {
        let (head, rest) = self.0.split_at_checked(n).ok_or(Refusal::Cut)?;
        self.0 = rest;
        Ok(head)
    }

    /// A number of 16 bits.
    ///
    /// # Errors
    /// There are fewer.
    pub fn u16(&mut self) -> Result<u16, Refusal> {
        let b = self.bytes(2)?;
        Ok(u16::from_le_bytes([b[0], b[1]]))
    }

    /// A number of 32 bits.
    ///
    /// # Errors
    /// There are fewer.
    pub fn u32(&mut self) -> Result<u32, Refusal> {
        Ok(u32::from(self.u16()?) | u32::from(self.u16()?) << 16)
    }

    /// Bytes that their length in 16 bits precedes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn counted(&mut self) -> Result<&'a [u8], Refusal> {
        let n = self.u16()?;
        self.bytes(n.into())
    }
}

/// A string of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its bytes, at least one.
    pub bytes: Box<[u8]>,
    /// Upper and lower case are the same.
    pub any_case: bool,
    /// The program's number of it.
    pub number: u32,
}

/// The groups of a unit of `stringmatching`; empty strings, which never match, are left out.
///
/// # Errors
/// The data ends too early, or has too many strings.
pub fn groups(data: &mut Reader<'_>) -> Result<Vec<Vec<Text>>, Refusal> {
    let (mut text, mut count) = (0, 0);
    (0..data.u16()?).map(|_| group(data, &mut text, &mut count)).collect()
}

fn group(data: &mut Reader<'_>, text: &mut usize, count: &mut usize) -> Result<Vec<Text>, Refusal> {
    let mut strings = Vec::new();
    for _ in 0..data.u16()? {
        let len = data.u16()?;
        let any_case = data.u16()? != 0;
        let number = data.u32()?;
        let string = Text { bytes: data.bytes(len.into())?.into(), any_case, number };
        *text += string.bytes.len();
        *count += 1;
        if *text > MAX_TEXT || *count > MAX_PATTERNS {
            return Err(Refusal::TooLarge);
        }
        if !string.bytes.is_empty() {
            strings.push(string);
        }
    }
    Ok(strings)
}

/// What loading that data costs a unit of `stringmatching`, in bytes handled in bulk.
#[must_use]
pub fn strings_load_price(data: &[u8]) -> u64 {
    data.len().min(MAX_TEXT) as u64 * LOADING
}

/// What a byte costs that is searched for the strings of a group: the most occurrences that the
/// automaton gives at one place and that are none, as the case differs. Of one length, only strings
/// that differ in nothing but case end at the same place. Where all strings treat case alike there
/// are no such occurrences.
#[must_use]
pub fn strings_price(strings: &[Text]) -> u64 {
    if strings.iter().all(|s| s.any_case) || strings.iter().all(|s| !s.any_case) {
        return 1;
    }
    let mut alike: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut most: HashMap<usize, usize> = HashMap::new();
    for string in strings {
        let n = alike.entry(string.bytes.to_ascii_lowercase()).or_default();
        *n += 1;
        let most = most.entry(string.bytes.len()).or_default();
        *most = (*most).max(*n);
    }
    most.values().sum::<usize>() as u64
}

/// An expression of `regexp`: its text over bytes, without Unicode, and what its flags say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expression {
    /// The text, in the syntax of the crate `regex`.
    pub text: String,
    /// Upper and lower case are the same.
    pub any_case: bool,
    /// A dot matches a line feed.
    pub dot_all: bool,
    /// `^` and `$` match at lines.
    pub lines: bool,
    /// Spaces count for nothing, and there are comments.
    pub spaced: bool,
    /// Repetitions take the least first.
    pub least_first: bool,
}

/// The expressions of a unit of `regexp`, one by one, so that whoever compiles them meets the first
/// fault first.
#[derive(Debug)]
pub struct Expressions<'r, 'a> {
    data: &'r mut Reader<'a>,
    left: u16,
}

impl<'r, 'a> Expressions<'r, 'a> {
    /// Those of this data.
    ///
    /// # Errors
    /// There are too many, or not even their number.
    pub fn new(data: &'r mut Reader<'a>) -> Result<Self, Refusal> {
        let left = data.u16()?;
        if usize::from(left) > MAX_EXPRESSIONS { Err(Refusal::TooLarge) } else { Ok(Self { data, left }) }
    }
}

impl Iterator for Expressions<'_, '_> {
    type Item = Result<Expression, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let read = self.data.counted().and_then(|flags| Ok((flags, self.data.counted()?)));
        Some(read.and_then(|(flags, text)| expression(flags, text)))
    }
}

fn expression(flags: &[u8], text: &[u8]) -> Result<Expression, Refusal> {
    let mut text = expression_text(until_zero(text));
    if flags.contains(&b'A') {
        // The line feed ends a comment, should the text close with one.
        text = format!("\\A(?:{text}{})", if flags.contains(&b'x') { "\n" } else { "" });
    }
    let mut read = Expression { text, ..Expression::default() };
    for flag in until_zero(flags) {
        match flag {
            b'i' => read.any_case = true,
            b's' => read.dot_all = true,
            b'm' => read.lines = true,
            b'x' => read.spaced = true,
            b'G' => read.least_first = true,
            b'A' | b'E' | b'R' | b'U' | b'B' => {}
            _ => return Err(Refusal::Flag),
        }
    }
    Ok(read)
}

/// Text and flags end at a zero byte, as they did for the original's library.
fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|b| *b == 0).next().unwrap_or_default()
}

/// What loading that data costs a unit of `regexp`, in bytes handled in bulk.
#[must_use]
pub fn expressions_load_price(data: &[u8]) -> u64 {
    let count = Reader(data).u16().unwrap_or(0);
    u64::from(count).min(MAX_EXPRESSIONS as u64) * COMPILING
}

/// What a byte costs that is searched for an expression which is compiled within that size.
#[must_use]
pub const fn expression_price(size: usize) -> u64 {
    (size / PRICE) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_text_are_read() {
        let read = |flags: &[u8], text: &[u8]| expression(flags, text);
        let plain = Expression { text: "a\\xff".to_owned(), ..Expression::default() };
        assert_eq!(read(b"R", b"a\xff\0b"), Ok(plain));
        let all = Expression { text: "\\A(?:a\n)".to_owned(), any_case: true, dot_all: true, lines: true, spaced: true, least_first: true };
        assert_eq!(read(b"ismxGA", b"a"), Ok(all));
        assert_eq!(read(b"q", b"a"), Err(Refusal::Flag));
        assert_eq!(read(b"i\0q", b"a").map(|e| e.any_case), Ok(true));
    }

    #[test]
    fn the_first_fault_is_told() {
        let all = |data: &[u8]| Expressions::new(&mut Reader(data)).and_then(|mut all| all.try_for_each(|e| e.map(drop)));
        assert_eq!(all(&[1, 0, 0, 0, 1, 0, b'a']), Ok(()));
        assert_eq!(all(&[2, 0, 1, 0, b'q', 0, 0]), Err(Refusal::Flag));
        assert_eq!(all(&[2, 0, 0, 0, 0, 0]), Err(Refusal::Cut));
        assert_eq!(all(&[1, 2]), Err(Refusal::TooLarge));
        assert_eq!(groups(&mut Reader(&[1, 0, 2, 0, 1, 0, 1, 0, 7, 0, 0, 0, b'a', 0, 0])), Err(Refusal::Cut));
        let one = Text { bytes: Box::new([b'a']), any_case: true, number: 7 };
        assert_eq!(groups(&mut Reader(&[1, 0, 1, 0, 1, 0, 1, 0, 7, 0, 0, 0, b'a'])), Ok(vec![vec![one]]));
    }
}
