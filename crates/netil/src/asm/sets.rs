//! `.sets`: `.set NAME, WIDTH` and its elements up to the next `.set` or `ends`, separated by
//! commas or lines.
//!
//! An element is a value, an inclusive range `low-high` or a prefix `value/length`, written without
//! blanks. Values are literals of any form ([`super::literal`]) or constants.

use super::lex::Kind;
use super::literal;
use super::parse::{Failed, Parser};
use crate::set::{Range, Set};
use crate::wide::{self, MAX_WIDTH};

/// The most limbs of all ranges together: a member of three characters can be as wide as 512 bytes.
const MAX_LIMBS: usize = 1 << 24;

impl Parser<'_> {
    pub fn set_statement(&mut self) -> Result<(), Failed> {
        if self.text(self.peek()) != ".set" {
            return Err(self.expected("`.set NAME, WIDTH`"));
        }
        self.next();
        let (name, token) = self.name("the name of a set")?;
        self.unique("set", &name, token)?;
        self.comma()?;
        let expr = self.expr("a width in bits")?;
        let width = self.evaluate(&expr, 1..=MAX_WIDTH.into())? as u16;
        let (mut ranges, mut failed) = (Vec::new(), false);
        while !self.at_word("ends") && !matches!(self.peek().kind, Kind::Directive | Kind::End) && !self.at_word("segment") {
            match self.element(width) {
                Ok(_) if self.set_limbs > MAX_LIMBS => return Err(self.error(token, "the sets are too large")),
                Ok(range) => {
                    self.set_limbs += 2 * range.low.len();
                    ranges.push(range);
                }
                // The others may be wrong as well.
                Err(Failed) => failed = true,
            }
            self.skip_mark(b',');
        }
        if failed {
            return Err(Failed);
        }
        match Set::new(&name, width, ranges) {
            Ok(set) => self.module.sets.push(set),
            Err(_) => return Err(self.error(token, "this is not a set")),
        }
        Ok(())
    }

    fn element(&mut self, width: u16) -> Result<Range, Failed> {
        let (word, token) = self.raw_word();
        let range = match (word.split_once('/'), word.split_once('-')) {
            (Some((value, length)), _) => self.prefix(width, value, length),
            (None, Some((low, high))) => self.one(width, low).and_then(|low| Ok(Range { low, high: self.one(width, high)? })),
            (None, None) => self.one(width, word).map(|v| Range { low: v.clone(), high: v }),
        };
        match range {
            Ok(r) if wide::compare(&r.low, &r.high).is_gt() => Err(self.error(token, "this range is reversed; write the lower end first")),
            Ok(r) => Ok(r),
            Err(message) => Err(self.error(token, message)),
        }
    }

    fn one(&self, width: u16, word: &str) -> Result<Box<[u64]>, String> {
        let constant = || Some(vec![u64::try_from(*self.constants.get(word)?).ok()?]);
        let value = literal::parse(word).or_else(constant);
        let found = if word.is_empty() { "nothing".to_owned() } else { format!("`{word}`") };
        let value = value.ok_or_else(|| format!("expected a value, `low-high` or `value/length` without blanks, found {found}"))?;
        literal::fit(value, width, false).ok_or_else(|| format!("{word} does not fit in the {width} bits of this set"))
    }

    fn prefix(&self, width: u16, value: &str, length: &str) -> Result<Range, String> {
        let low = self.one(width, value)?;
        let length = length.parse::<u16>().ok().filter(|n| *n <= width);
        let length = length.ok_or_else(|| format!("a prefix length of this set is 0 to {width}"))?;
        let mut high = low.clone();
        for (i, limb) in high.iter_mut().enumerate() {
            let free = u32::from(width - length).saturating_sub(64 * i as u32).min(64);
            let mask = u64::MAX.checked_shr(64 - free).unwrap_or(0);
            if *limb & mask != 0 {
                return Err(format!("{value} has bits below its first {length}; clear them"));
            }
            *limb |= mask;
        }
        Ok(Range { low, high })
    }
}
