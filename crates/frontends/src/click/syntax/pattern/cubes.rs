//! Patterns as cubes: alternatives, each of which asks some bits to have some values. That is what
//! an entry of a ternary table can ask.
//!
//! A comparison is as many cubes as it has prefixes; "not" goes in to the tests. Where few tests of
//! all patterns look at a field, each of them is a bit, whatever it is. Whether bytes are there is
//! a bit, too: a field that is not there reads as 0, and whoever asks it for something asks this
//! bit first.
//!
//! Invariants: a formula holds for a packet iff one of its cubes does; a cube names each part once,
//! in order. Left out: patterns that come to more than [`CUBES`] cubes, or that look at more than
//! [`BYTES`] bytes with those before.

use super::fields::{Known, has_bytes, header_field, read_width, shifted};
use super::formula::{Area, Field, Formula, Op, Test};
use std::collections::HashMap;

/// Alternatives of a pattern at most.
const CUBES: usize = 64;
/// Conditions of a pattern that stand side by side at most.
const CONDITIONS: usize = 256;
/// Bytes of a key at most: two words.
const BYTES: usize = 16;

/// What a key has a place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A field.
    Field(Field),
    /// Whether an area has so many bytes.
    Has(Area, u32),
    /// Whether a test holds.
    Test(Test),
}

/// What a cube asks of a part, a bit of which is the number 1: `part & mask == value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Literal {
    pub(super) part: usize,
    pub(super) mask: u32,
    pub(super) value: u32,
}

/// Literals that hold together.
pub(super) type Cube = Vec<Literal>;

/// Tests of a field that are few.
const FEW: usize = 4;

/// By field, the tests that look at it, as long as these are few.
#[derive(Default)]
pub(super) struct Tests(HashMap<Field, Option<Vec<Test>>>);

impl Tests {
    /// Adds the tests of a formula.
    pub(super) fn add(&mut self, formula: &Formula) {
        match formula {
            Formula::Is(_) => {}
            Formula::Test(test) => {
                let known = self.0.entry(read(test)).or_insert_with(|| Some(Vec::new()));
                if let Some(tests) = known.as_mut().filter(|tests| !tests.contains(test)) {
                    tests.push(*test);
                }
                known.take_if(|tests| tests.len() > FEW);
            }
            Formula::Not(of) => self.add(of),
            Formula::All(of) | Formula::Any(of) => of.iter().for_each(|of| self.add(of)),
            Formula::If(of) => of.iter().for_each(|of| self.add(of)),
        }
    }

    /// Whether a test is one of few.
    fn are_few(&self, test: &Test) -> bool {
        self.0.get(&read(test)).is_some_and(|known| known.as_ref().is_some_and(|tests| tests.contains(test)))
    }
}

/// The bytes of a field that a test looks at.
fn read(test: &Test) -> Field {
    let bytes = if header_field(test.field).is_some() { test.field.bytes } else { read_width(test) };
    Field { bytes, ..test.field }
}

/// Bytes that a key has for a field.
pub(super) fn room(field: Field) -> usize {
    (field.bytes as usize).next_power_of_two()
}

/// Makes cubes of patterns, and remembers the parts that they name.
pub(super) struct Cubes<'a> {
    pub(super) parts: Vec<Part>,
    tests: &'a Tests,
    known: Known,
}

impl<'a> Cubes<'a> {
    pub(super) fn new(tests: &'a Tests, known: Known) -> Self {
        Self { parts: Vec::new(), tests, known }
    }

    /// The cubes of a pattern; `None` if they are too many or a key for all patterns so far would
    /// be too long.
    pub(super) fn of(&mut self, formula: &Formula) -> Option<Vec<Cube>> {
        let before = self.parts.len();
        let cubes = self.cubes(formula, true).filter(|_| self.bytes() <= BYTES);
        if cubes.is_none() {
            self.parts.truncate(before);
        }
        cubes
    }

    fn bytes(&self) -> usize {
        let fields = self.parts.iter().filter_map(|part| if let Part::Field(field) = part { Some(room(*field)) } else { None });
        let (count, fields) = fields.fold((0, 0), |(count, sum), room| (count + 1, sum + room));
        fields + (self.parts.len() - count).div_ceil(8)
    }

    /// When a formula holds, or does not.
    fn cubes(&mut self, formula: &Formula, holds: bool) -> Option<Vec<Cube>> {
        match formula {
            Formula::Is(is) => Some(if *is == holds { vec![Cube::new()] } else { Vec::new() }),
            Formula::Test(test) => self.test(test, holds),
            Formula::Not(of) => self.cubes(of, !holds),
            Formula::All(of) if holds => self.together(of, holds),
            Formula::Any(of) if !holds => self.together(of, holds),
            Formula::All(of) | Formula::Any(of) => self.either(of.iter().map(|of| (of, holds))),
            Formula::If(of) => {
                let [when, then, other] = &**of;
                let mut all = both(&self.cubes(when, true)?, &self.cubes(then, holds)?)?;
                all.extend(both(&self.cubes(when, false)?, &self.cubes(other, holds)?)?);
                few(all)
            }
        }
    }

    fn together(&mut self, of: &[Formula], holds: bool) -> Option<Vec<Cube>> {
        let mut all = vec![Cube::new()];
        for one in of.iter().take(CONDITIONS) {
            all = both(&all, &self.cubes(one, holds)?)?;
        }
        (of.len() <= CONDITIONS).then_some(all)
    }

    fn either<'f>(&mut self, of: impl Iterator<Item = (&'f Formula, bool)>) -> Option<Vec<Cube>> {
        let mut all = Vec::new();
        for (one, holds) in of {
            all.extend(self.cubes(one, holds)?);
            all = few(all)?;
        }
        Some(all)
    }

    fn test(&mut self, test: &Test, holds: bool) -> Option<Vec<Cube>> {
        if self.tests.are_few(test) {
            return Some(vec![vec![self.bit(Part::Test(*test), holds)?]]);
        }
        let there = (!has_bytes(test, self.known)).then_some(Part::Has(test.field.area, test.needs()));
        let part = self.part(Part::Field(read(test)))?;
        let asked = compared(if holds { test.op } else { opposite(test.op) }, shifted(test, test.mask), shifted(test, test.value));
        let mut all: Vec<Cube> = asked.into_iter().map(|(mask, value)| vec![Literal { part, mask, value }]).collect();
        if let Some(there) = there {
            let bit = self.bit(there, holds)?;
            match holds {
                true => all.iter_mut().for_each(|cube| insert(cube, bit)),
                false => all.push(vec![bit]),
            }
        }
        Some(all)
    }

    fn bit(&mut self, part: Part, is: bool) -> Option<Literal> {
        Some(Literal { part: self.part(part)?, mask: 1, value: is.into() })
    }

    /// The number of a part; none if there are too many.
    fn part(&mut self, part: Part) -> Option<usize> {
        let at = self.parts.iter().position(|known| *known == part).unwrap_or_else(|| {
            self.parts.push(part);
            self.parts.len() - 1
        });
        (at < 8 * BYTES).then_some(at)
    }
}

fn insert(cube: &mut Cube, literal: Literal) {
    cube.push(literal);
    cube.sort_unstable();
}

fn few(mut all: Vec<Cube>) -> Option<Vec<Cube>> {
    all.sort_unstable();
    all.dedup();
    (all.len() <= CUBES).then_some(all)
}

/// What two lists of alternatives have in common.
fn both(a: &[Cube], b: &[Cube]) -> Option<Vec<Cube>> {
    few(a.iter().flat_map(|a| b.iter().filter_map(|b| common(a, b))).collect())
}

/// What two cubes ask together; none if that cannot be.
fn common(a: &Cube, b: &Cube) -> Option<Cube> {
    let mut all = a.clone();
    for literal in b {
        match all.iter_mut().find(|known| known.part == literal.part) {
            Some(known) if (known.value ^ literal.value) & known.mask & literal.mask != 0 => return None,
            Some(known) => (known.mask, known.value) = (known.mask | literal.mask, known.value | literal.value),
            None => all.push(*literal),
        }
    }
    all.sort_unstable();
    Some(all)
}

fn opposite(op: Op) -> Op {
    match op {
        Op::Equal => Op::Differs,
        Op::Differs => Op::Equal,
        Op::Above => Op::AtMost,
        Op::AtMost => Op::Above,
    }
}

/// Masks and values of which a field must have one, so that `field & mask op value`: by the first
/// bit, from the highest on, that is not the value's.
fn compared(op: Op, mask: u32, value: u32) -> Vec<(u32, u32)> {
    let mut all = Vec::new();
    for bit in (0..32).rev().map(|bit| 1u32 << bit) {
        let above = mask & !(bit | (bit - 1));
        let (asked, is) = (mask & bit != 0, value & bit != 0);
        let differs = (above | bit, value & above | !value & bit);
        match op {
            Op::Differs if asked => all.push(differs),
            Op::Above if asked && !is => all.push(differs),
            Op::AtMost if asked && is => all.push(differs),
            // The field's bit is 0: all such are less.
            _ if is && !asked => {
                if op == Op::AtMost {
                    all.push((above, value & above));
                }
                if op == Op::Differs {
                    return vec![(0, 0)];
                }
                return all;
            }
            _ => {}
        }
    }
    if matches!(op, Op::Equal | Op::AtMost) {
        all.push((mask, value));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_what_their_cubes_are() {
        for (mask, value) in (0..32u32).flat_map(|mask| (0..32).map(move |value| (mask, value))) {
            for op in [Op::Equal, Op::Differs, Op::Above, Op::AtMost] {
                let test = Test { field: Field { area: Area::Ip, offset: 0, bytes: 1 }, mask, op, value };
                let cubes = compared(op, mask, value);
                assert!(cubes.iter().all(|(mask, value)| value & !mask == 0) && cubes.len() <= 6);
                for field in 0..32 {
                    let suits = cubes.iter().filter(|(mask, value)| field & mask == *value).count();
                    assert_eq!(suits, usize::from(test.passes(field)), "{field} & {mask} {op:?} {value}: {cubes:x?}");
                }
            }
        }
    }
}
