//! Patterns as C: a function that gives the first pattern's output.
//!
//! Idea: patterns are asked one after the other, but patterns in a row that ask for the same field
//! are asked together, in a `switch` over it whose cases hold what else they ask; when no case
//! returns, the patterns behind the row are next. Likewise for lengths: tests of fields stand under
//! a test that the packet has them. The text is linear in the patterns, since nothing is written
//! twice; what remains to be shared between rows the compiler finds. Long rows are tables
//! ([`super::table`]) where they can be.
//!
//! Invariant: every read of a field is under a test of the length that it needs.

use super::cubes::Tests;
use super::fields::{Known, constant, has, has_bytes, header_field, output, read_width, shifted};
use super::formula::{Area, Fact, Field, Formula, IP_HEADER, Op, Rule, Test, fact, informed};
use super::table::{self, LEAST, TABLES, Tabled};
use super::writer::Writer;
use crate::click::syntax::request::Generated;
use std::collections::{BTreeMap, HashMap};

/// Deeper than that, blocks are no longer divided.
const DEPTH: usize = 24;
/// As many conditions of a pattern are looked at when patterns are put together.
const CONDITIONS: usize = 12;

/// Writes `static int NAME(void)`, and what it needs with names that begin with it.
pub(in crate::click) fn function(name: &str, rules: &[Rule]) -> Generated {
    with_tables(name, rules, LEAST)
}

/// Writes `static int NAME(void)` with tables for so many patterns in a row, and what it needs.
pub(super) fn with_tables(name: &str, rules: &[Rule], least: usize) -> Generated {
    let mut rules: Vec<Rule> = rules.iter().map(|(formula, output)| (informed(formula.clone()), *output)).collect();
    if let Some(last) = rules.iter().position(|(formula, _)| *formula == Formula::Is(true)) {
        rules.truncate(last + 1);
    }
    rules.retain(|(formula, _)| *formula != Formula::Is(false));
    let uses = Uses::of(&rules);
    let mut tests = Tests::default();
    rules.iter().for_each(|(formula, _)| tests.add(formula));
    let mut writer = Writer { name, text: String::new(), tests: &tests, least, count: 0, tables: String::new(), entries: BTreeMap::new() };
    writer.helpers(&uses);
    let helpers = std::mem::take(&mut writer.text);
    writer.line(0, &format!("static int {name}(void)\n{{"));
    writer.beginning(&rules, &uses);
    let known = [0, if uses.ip { IP_HEADER } else { 0 }, 0];
    if !writer.rules(rules, known, 1) {
        writer.line(1, "return -1;");
    }
    writer.text.push_str("}\n");
    Generated { source: helpers + &writer.tables + &writer.text, rows: Vec::new(), entries: writer.entries }
}

/// What a set of patterns reads.
#[derive(Default)]
struct Uses {
    widths: [bool; 5],
    packet: bool,
    ip: bool,
    header: bool,
    transport: bool,
    options: bool,
}

impl Uses {
    fn of(rules: &[Rule]) -> Self {
        let mut uses = Self::default();
        rules.iter().for_each(|(formula, _)| uses.formula(formula));
        uses
    }

    fn formula(&mut self, formula: &Formula) {
        match formula {
            Formula::Is(_) => {}
            Formula::Test(test) => self.test(test),
            Formula::Not(of) => self.formula(of),
            Formula::All(of) | Formula::Any(of) => of.iter().for_each(|of| self.formula(of)),
            Formula::If(of) => of.iter().for_each(|of| self.formula(of)),
        }
    }

    fn test(&mut self, test: &Test) {
        self.packet |= test.field.area == Area::Packet;
        self.ip |= test.field.area != Area::Packet;
        self.transport |= test.field.area == Area::Transport;
        self.options |= test.field.area == Area::Ip && test.needs() > IP_HEADER;
        self.header |= test.field.area == Area::Transport || header_field(test.field).is_some();
        if header_field(test.field).is_none() {
            self.widths[read_width(test) as usize] = true;
        }
    }
}

impl Writer<'_> {
    /// Functions that read a number at an offset.
    fn helpers(&mut self, uses: &Uses) {
        let name = self.name;
        let wide = uses.widths[3];
        for (bytes, called, ty, convert) in [(1, "byte", "u8", ""), (2, "half", "be16", "ntohs"), (4, "word", "be32", "ntohl")] {
            if uses.widths[bytes] || wide && bytes < 4 {
                let bits = 8 * bytes;
                self.line(0, &format!("struct {name}_{bits} {{ {ty} value; }};"));
                self.line(
                    0,
                    &format!("static u32 {name}_{called}(u32 at) {{ return {convert}(header(struct {name}_{bits}, at)->value); }}"),
                );
            }
        }
        if wide {
            self.line(0, &format!("static u32 {name}_three(u32 at) {{ return {name}_half(at) << 8 | {name}_byte(at + 2); }}"));
        }
    }

    /// Where headers are, and what becomes of packets without them.
    fn beginning(&mut self, rules: &[Rule], uses: &Uses) {
        if uses.packet || uses.ip {
            self.line(1, "u32 length = packet_length();");
        }
        if !uses.ip {
            return;
        }
        let otherwise = rules.iter().find(|(formula, _)| formula.without_bytes()).map_or(-1, |(_, output)| *output);
        self.line(1, "u32 network = network_offset();\n");
        self.line(1, &format!("if (network > length || length - network < {IP_HEADER})"));
        self.line(2, &format!("return {};", output(otherwise)));
        if uses.header {
            self.line(1, "const struct ip *ip = header(struct ip, network);");
        }
        if uses.options {
            self.line(1, "u32 header_length = length - network;");
        }
        if uses.transport {
            self.line(1, "u32 transport = network + (ip->version_ihl & 15) * 4;");
            self.line(1, "u32 rest = transport < length ? length - transport : 0;");
        }
        self.text.push('\n');
    }

    /// Writes patterns; true if one of them always returns.
    fn rules(&mut self, mut rules: Vec<Rule>, known: Known, depth: usize) -> bool {
        let (mut at, mut tabled) = (0, 0);
        while at < rules.len() {
            if rules[at].0 == Formula::Is(true) {
                self.line(depth, &format!("return {};", output(rules[at].1)));
                return true;
            }
            let row = self.next(&rules[at..], known, depth, &mut tabled);
            let count = row.count();
            tabled = tabled.saturating_sub(count);
            if self.row(row, &mut rules[at..at + count], known, depth) {
                return true;
            }
            at += count;
        }
        false
    }

    /// How the next patterns are asked.
    fn next(&self, rules: &[Rule], known: Known, depth: usize, tabled: &mut usize) -> Row {
        match self.tabled(rules, known, tabled) {
            Some(table) => Row::Table(table),
            None if depth < DEPTH => row(rules, known),
            None => Row::One,
        }
    }

    /// Writes a row; true if it always returns.
    fn row(&mut self, row: Row, rules: &mut [Rule], known: Known, depth: usize) -> bool {
        match row {
            Row::Table(table) => return self.table(table, known, depth),
            Row::Length(area, bytes, _) => {
                let inner = rules.iter_mut().map(|rule| (std::mem::replace(&mut rule.0, Formula::Is(false)), rule.1)).collect();
                self.length(area, bytes, inner, known, depth);
            }
            Row::Field(field, mask, groups, _) => self.field(field, mask, groups, known, depth),
            Row::One => self.one(&rules[0], known, depth),
        }
        false
    }

    /// The longest row of patterns that are a table, if it is long enough. `not_before` counts
    /// patterns among which there is none: they have been looked at.
    fn tabled(&self, rules: &[Rule], known: Known, not_before: &mut usize) -> Option<Tabled> {
        if *not_before > 0 || rules.len() < self.least || self.count >= TABLES {
            return None;
        }
        let row = table::row(rules, self.tests, known);
        *not_before = row.count.max(1);
        (row.count >= self.least).then_some(row)
    }

    /// `if (length >= bytes) { … }`
    fn length(&mut self, area: Area, bytes: u32, rules: Vec<Rule>, mut known: Known, depth: usize) {
        self.line(depth, &format!("if ({}) {{", has(area, bytes)));
        known[area as usize] = bytes;
        self.rules(rules, known, depth + 1);
        self.line(depth, "}");
    }

    /// `switch (field) { case … }`, or `if (field == …) { … }` where that is shorter.
    fn field(&mut self, field: Field, mask: u32, groups: Vec<Group>, known: Known, depth: usize) {
        let test = Test { field, mask, op: Op::Equal, value: 0 };
        let value = self.masked(&test);
        let constant = |value: u32| constant(shifted(&test, value));
        if let [group] = &groups[..]
            && group.values.len() <= 2
        {
            let tests: Vec<String> = group.values.iter().map(|one| format!("{value} == {}", constant(*one))).collect();
            self.line(depth, &format!("if ({}) {{", tests.join(" || ")));
            self.rules(group.rules.clone(), known, depth + 1);
            self.line(depth, "}");
            return;
        }
        self.line(depth, &format!("switch ({value}) {{"));
        for Group { values, rules } in groups {
            values.iter().for_each(|value| self.line(depth, &format!("case {}:", constant(*value))));
            if !self.rules(rules, known, depth + 1) {
                self.line(depth + 1, "break;");
            }
        }
        self.line(depth, "}");
    }

    /// `if (pattern) return output;`
    fn one(&mut self, (formula, to): &Rule, known: Known, depth: usize) {
        let condition = self.condition(formula, known);
        self.line(depth, &format!("if ({condition})"));
        self.line(depth + 1, &format!("return {};", output(*to)));
    }
}

/// How the next patterns are asked.
enum Row {
    /// The entries of a table.
    Table(Tabled),
    /// So many together under a test of a length.
    Length(Area, u32, usize),
    /// So many together by the values of a masked field.
    Field(Field, u32, Vec<Group>, usize),
    /// One alone.
    One,
}

impl Row {
    /// How many patterns it has.
    fn count(&self) -> usize {
        match self {
            Self::Table(table) => table.count,
            Self::Length(_, _, count) | Self::Field(_, _, _, count) => *count,
            Self::One => 1,
        }
    }
}

/// Patterns for the same values of a field, without what they say of it.
struct Group {
    values: Vec<u32>,
    rules: Vec<Rule>,
}

/// The longest row of patterns from the first on. What is looked at in vain is no longer than what
/// is taken, so that all of them take linear time.
fn row(rules: &[Rule], known: Known) -> Row {
    let length = length_row(rules, known);
    let mut least = length.map_or(1, |(_, _, count)| count - 1);
    let mut best = None;
    let there = |key: &Key| has_bytes(&Test { field: key.0, mask: key.1, op: Op::Equal, value: 0 }, known);
    for key in keys(&rules[0].0).filter(there) {
        let (groups, count) = Groups::of(rules, key);
        if count > least {
            least = count;
            best = Some((key, groups, count));
        }
    }
    match (best, length) {
        (Some(((field, mask), groups, count)), _) => Row::Field(field, mask, groups.informed((field, mask)), count),
        (None, Some((area, bytes, count))) => Row::Length(area, bytes, count),
        (None, None) => Row::One,
    }
}

/// Patterns that all need more of an area than is known to be there.
fn length_row(rules: &[Rule], known: Known) -> Option<(Area, u32, usize)> {
    let missing = |formula: &Formula, area: Option<Area>| {
        let tests = formula.conjuncts().iter().take(CONDITIONS).filter_map(first_test);
        let tests = tests.filter(|test| !has_bytes(test, known) && area.is_none_or(|area| area == test.field.area));
        tests.map(|test| (test.field.area, test.needs())).min_by_key(|(_, needs)| *needs)
    };
    let (area, mut bytes) = missing(&rules[0].0, None)?;
    let mut count = 0;
    for (formula, _) in rules {
        let Some((_, needs)) = missing(formula, Some(area)) else { break };
        bytes = bytes.min(needs);
        count += 1;
    }
    (count > 1).then_some((area, bytes, count))
}

/// A test without which the condition does not hold; of several alternatives the one that needs
/// least.
fn first_test(formula: &Formula) -> Option<&Test> {
    match formula {
        Formula::Test(test) => Some(test),
        Formula::Any(of) => {
            let tests: Vec<&Test> =
                of.iter().take(CONDITIONS).map(|of| of.conjuncts().first().and_then(first_test)).collect::<Option<_>>()?;
            let area = tests.first()?.field.area;
            let same = of.len() <= CONDITIONS && tests.iter().all(|test| test.field.area == area);
            tests.into_iter().filter(|_| same).min_by_key(|test| test.needs())
        }
        _ => None,
    }
}

/// A field with a mask.
type Key = (Field, u32);

/// The fields whose values a pattern gives.
fn keys(formula: &Formula) -> impl Iterator<Item = Key> {
    formula.conjuncts().iter().take(CONDITIONS).filter_map(|one| match one {
        Formula::Any(of) => fact(of.first()?).map(|fact| (fact.field, fact.mask)),
        one => fact(one).map(|fact| (fact.field, fact.mask)),
    })
}

/// Which of a pattern's conditions gives the values of a field, and the values.
fn values(formula: &Formula, key: Key) -> Option<(usize, Vec<u32>)> {
    let of = |one: &Formula| fact(one).filter(|fact| (fact.field, fact.mask) == key).map(|fact| fact.value);
    formula.conjuncts().iter().take(CONDITIONS).enumerate().find_map(|(n, one)| match one {
        Formula::Any(all) => Some((n, all.iter().map(of).collect::<Option<Vec<_>>>()?)),
        one => Some((n, vec![of(one)?])),
    })
}

/// Patterns by the values of a field.
#[derive(Default)]
struct Groups {
    all: Vec<Group>,
    of: HashMap<u32, usize>,
}

impl Groups {
    /// The first patterns, and how many: one that would have to be written twice ends the row.
    fn of(rules: &[Rule], key: Key) -> (Self, usize) {
        let mut groups = Self::default();
        let count = rules.iter().take_while(|rule| values(&rule.0, key).is_some_and(|(at, values)| groups.add(rule, at, values))).count();
        (groups, count)
    }

    /// The groups, whose patterns know the value of the field where it is one.
    fn informed(mut self, (field, mask): Key) -> Vec<Group> {
        for group in &mut self.all {
            let alone = (group.values.len() == 1).then(|| Fact { field, mask, value: group.values[0] });
            for (formula, _) in &mut group.rules {
                let left = std::mem::replace(formula, Formula::Is(false));
                *formula = informed(alone.map_or_else(|| left.clone(), |fact| left.given(&fact)));
            }
        }
        self.all
    }

    /// Adds a pattern to the group of its values; false if it does not belong to one.
    fn add(&mut self, (formula, output): &Rule, at: usize, mut values: Vec<u32>) -> bool {
        // Values that a pattern before has taken.
        values.retain(|value| self.of.get(value).is_none_or(|group| !self.all[*group].decided()));
        let Some(first) = values.first().and_then(|value| self.of.get(value)).copied() else {
            return values.iter().all(|value| !self.of.contains_key(value)) && self.begin(values, without(formula, at), *output);
        };
        let same = values.len() == self.all[first].values.len() && values.iter().all(|value| self.of.get(value) == Some(&first));
        if same {
            self.all[first].rules.push((without(formula, at), *output));
        }
        same
    }

    fn begin(&mut self, values: Vec<u32>, left: Formula, output: i64) -> bool {
        if !values.is_empty() {
            self.of.extend(values.iter().map(|value| (*value, self.all.len())));
            self.all.push(Group { values, rules: vec![(left, output)] });
        }
        true
    }
}

impl Group {
    /// Whether one of its patterns asks nothing more.
    fn decided(&self) -> bool {
        self.rules.last().is_some_and(|(left, _)| *left == Formula::Is(true))
    }
}

/// A pattern without one of its conditions.
fn without(formula: &Formula, at: usize) -> Formula {
    let mut left = formula.conjuncts().to_vec();
    left.remove(at);
    Formula::All(left).simple()
}
