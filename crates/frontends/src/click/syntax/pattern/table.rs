//! Patterns in a row as a ternary table: the fields that they look at are its key, what each of
//! them asks is an entry or a few, and the first has the highest priority.
//!
//! A field of which all entries ask the same is tested before the table is asked, and is in no key.
//!
//! Invariant: the table finds an entry iff one of the row's patterns holds; its value is the output
//! of the first of these.

use super::cubes::{Cube, Cubes, Literal, Part, Tests, room};
use super::fields::{Known, constant, has, has_bytes, member, output};
use super::formula::{Area, Field, Formula, Op, Rule, Test};
use super::writer::Writer;
use netil::module::Entry;
use netil::wide::from_be_bytes;
use std::collections::HashSet;

/// Patterns in a row from which on they are a table: fewer are decided sooner by branches.
pub(super) const LEAST: usize = 64;
/// Entries of a table at most.
const ENTRIES: usize = 1 << 20;
/// Tables of a function at most.
pub(super) const TABLES: usize = 32;

/// Patterns in a row.
pub(super) struct Tabled {
    parts: Vec<Part>,
    /// What is asked, and the output, with the number of the pattern.
    cubes: Vec<(Cube, i64, usize)>,
    /// How many patterns.
    pub(super) count: usize,
    /// By part what all of them ask.
    fixed: Vec<Literal>,
}

/// The first patterns that can be entries of one table.
pub(super) fn row(rules: &[Rule], tests: &Tests, known: Known) -> Tabled {
    let mut cubes = Cubes::new(tests, known);
    let (mut all, mut count) = (Vec::new(), 0);
    for (formula, output) in rules.iter().take_while(|(formula, _)| *formula != Formula::Is(true)) {
        let Some(found) = cubes.of(formula).filter(|found| all.len() + found.len() <= ENTRIES) else { break };
        all.extend(found.into_iter().map(|cube| (cube, *output, count)));
        count += 1;
    }
    let fixed = fixed(cubes.parts.len(), &all);
    Tabled { parts: cubes.parts, cubes: all, count, fixed }
}

fn fixed(parts: usize, cubes: &[(Cube, i64, usize)]) -> Vec<Literal> {
    let none = |part| Literal { part, mask: 0, value: 0 };
    let all_of = |cube: &Cube| {
        let mut all: Vec<Literal> = (0..parts).map(none).collect();
        cube.iter().for_each(|literal| all[literal.part] = *literal);
        all
    };
    let Some((first, ..)) = cubes.first() else { return (0..parts).map(none).collect() };
    let mut fixed = all_of(first);
    for (cube, ..) in cubes {
        for (known, literal) in fixed.iter_mut().zip(all_of(cube)).filter(|(known, literal)| **known != *literal) {
            *known = none(literal.part);
        }
    }
    fixed
}

/// What a key has.
#[derive(Default)]
struct Key {
    fields: Vec<(usize, Field)>,
    bits: Vec<usize>,
}

impl Key {
    /// Key and mask of a cube.
    fn entry(&self, cube: &Cube) -> [Vec<u8>; 2] {
        let of = |part: usize| cube.iter().find(|literal| literal.part == part).map_or((0, 0), |l| (l.value, l.mask));
        let (mut key, mut mask) = (Vec::new(), Vec::new());
        for (part, field) in &self.fields {
            let (value, asked) = of(*part);
            key.extend(&value.to_be_bytes()[4 - room(*field)..]);
            mask.extend(&asked.to_be_bytes()[4 - room(*field)..]);
        }
        for parts in self.bits.chunks(8) {
            let byte =
                |what: fn((u32, u32)) -> u32| parts.iter().enumerate().fold(0, |byte, (n, part)| byte | (what(of(*part)) as u8) << n);
            key.push(byte(|literal| literal.0));
            mask.push(byte(|literal| literal.1));
        }
        [key, mask]
    }
}

impl Tabled {
    /// The key's parts: what some pattern asks that not all do.
    fn key(&self) -> Key {
        let mut key = Key::default();
        for (n, part) in self.parts.iter().enumerate() {
            let asks = |literal: &Literal| literal.part == n && self.fixed[n].mask == 0;
            if self.cubes.iter().any(|(cube, ..)| cube.iter().any(asks)) {
                match part {
                    Part::Field(field) => key.fields.push((n, *field)),
                    Part::Has(..) | Part::Test(_) => key.bits.push(n),
                }
            }
        }
        key
    }

    /// Lengths of an area that all ask for, or for less than which all do.
    fn fixed_lengths(&self, area: Area, there: bool) -> impl Iterator<Item = u32> {
        let asked = self.parts.iter().zip(&self.fixed).filter(move |(_, fixed)| fixed.mask != 0 && (fixed.value != 0) == there);
        asked.filter_map(move |(part, _)| if let Part::Has(of, bytes) = part { (*of == area).then_some(*bytes) } else { None })
    }

    /// The table's entries, those left out that ask the same as one before.
    fn entries(&self, key: &Key) -> Vec<Entry> {
        let mut seen = HashSet::new();
        let mut entries = Vec::with_capacity(self.cubes.len());
        for (cube, to, n) in &self.cubes {
            let [key, mask] = key.entry(cube);
            if seen.insert((key.clone(), mask.clone())) {
                let (priority, value) = ((self.count - n) as u32, (output(*to) as i32).to_le_bytes());
                entries.push(Entry { key: from_be_bytes(&key).into(), mask: from_be_bytes(&mask).into(), priority, value: value.into() });
            }
        }
        entries
    }
}

impl Writer<'_> {
    /// Writes a row as a lookup; true if it always returns.
    pub(super) fn table(&mut self, mut row: Tabled, mut known: Known, depth: usize) -> bool {
        let Some((_, first, _)) = row.cubes.first() else { return false };
        let first = output(*first);
        let conditions = self.conditions(&mut row, &mut known);
        let key = row.key();
        let inner = depth + usize::from(!conditions.is_empty());
        if !conditions.is_empty() {
            self.line(depth, &format!("if ({}) {{", conditions.join(" && ")));
        }
        if key.fields.is_empty() && key.bits.is_empty() {
            self.line(inner, &format!("return {first};"));
        } else {
            self.lookup(&row, &key, known, inner);
        }
        if !conditions.is_empty() {
            self.line(depth, "}");
        }
        conditions.is_empty() && key.fields.is_empty() && key.bits.is_empty()
    }

    /// What all entries ask. A field that may not be there stays in the key.
    fn conditions(&self, row: &mut Tabled, known: &mut Known) -> Vec<String> {
        let mut conditions = Vec::new();
        for area in [Area::Packet, Area::Ip, Area::Transport] {
            if let Some(bytes) = row.fixed_lengths(area, true).max() {
                conditions.push(has(area, bytes));
                known[area as usize] = known[area as usize].max(bytes);
            }
            conditions.extend(row.fixed_lengths(area, false).min().map(|bytes| format!("!({})", has(area, bytes))));
        }
        for (part, fixed) in row.parts.iter().zip(&mut row.fixed).filter(|(_, fixed)| fixed.mask != 0) {
            match part {
                Part::Has(..) => {}
                Part::Test(test) if fixed.value != 0 => conditions.push(self.test(test, *known)),
                Part::Test(test) => conditions.push(format!("!({})", self.test(test, *known))),
                Part::Field(field) => {
                    let test = Test { field: *field, mask: field.all(), op: Op::Equal, value: fixed.value };
                    let (value, mask) = (self.value(&test), constant(fixed.mask));
                    match has_bytes(&test, *known) {
                        true if fixed.mask == field.all() => conditions.push(self.test(&test, *known)),
                        true => conditions.push(format!("({value} & {mask}) == {}", constant(fixed.value))),
                        false => (fixed.mask, fixed.value) = (0, 0),
                    }
                }
            }
        }
        conditions
    }

    fn lookup(&mut self, row: &Tabled, key: &Key, known: Known, depth: usize) {
        self.count += 1;
        let (table, n) = (format!("{}_rules{}", self.name, self.count), self.count);
        let entries = row.entries(key);
        let member = |field: Field, n: usize| format!("{} f{n};", ["u8", "be16", "be32"][room(field).trailing_zeros() as usize]);
        let fields = key.fields.iter().enumerate().map(|(n, (_, field))| member(*field, n));
        let members: Vec<String> = fields.chain((0..key.bits.len().div_ceil(8)).map(|n| format!("u8 is{n};"))).collect();
        self.tables +=
            &format!("struct {table} {{ {} }};\nTABLE_TERNARY({table}, struct {table}, i32, {});\n", members.join(" "), entries.len());
        self.entries.insert(table.clone(), entries);
        self.line(depth, &format!("struct {table} key{n};"));
        for (at, (_, field)) in key.fields.iter().enumerate() {
            let value = self.in_key(*field, known);
            self.line(depth, &format!("key{n}.f{at} = {value};"));
        }
        for (at, parts) in key.bits.chunks(8).enumerate() {
            let bits: Vec<String> = parts.iter().enumerate().map(|(bit, part)| self.bit(row.parts[*part], bit, known)).collect();
            self.line(depth, &format!("key{n}.is{at} = {};", bits.join(" | ")));
        }
        self.line(depth, &format!("const i32 *found{n} = table_find({table}, &key{n});"));
        self.line(depth, &format!("if (found{n})"));
        self.line(depth + 1, &format!("return *found{n};"));
    }

    /// A field as the key has it: 0 if it is not there.
    fn in_key(&self, field: Field, known: Known) -> String {
        let test = Test { field, mask: field.all(), op: Op::Equal, value: 0 };
        let value = match has_bytes(&test, known) {
            true => self.value(&test),
            false => format!("{} ? {} : 0", has(field.area, test.needs()), self.value(&test)),
        };
        match (member(field), room(field)) {
            (Some(member), _) => member,
            (None, 1) => value,
            (None, 2) => format!("htons({value})"),
            (None, _) => format!("htonl({value})"),
        }
    }

    fn bit(&self, part: Part, at: usize, known: Known) -> String {
        let holds = match part {
            Part::Has(area, bytes) => has(area, bytes),
            Part::Test(test) => self.test(&test, known),
            Part::Field(_) => constant(0),
        };
        if at == 0 { format!("({holds})") } else { format!("({holds}) << {at}") }
    }
}
