//! Patterns as people may read them: the program that Click's handler `program` shows, made of the
//! same patterns.
//!
//! A step compares four bytes: `OFFSET/VALUE%MASK  yes->NEXT  no->NEXT`, where NEXT is another step
//! or an output, `[X]` for none. Offsets count from the packet's first byte, from 256 on from the
//! IP header, from 512 on from what is behind it. Where the packet ends before, `no` is next,
//! unless `short->NEXT` says otherwise. This tells what patterns mean; the function that is run
//! ([`super::emit`]) asks in an order of its own, and Click leaves out steps that others have
//! decided.
//!
//! Source: Click's manual of Classifier, and what its handler shows.

use super::formula::{Formula, Op, Rule, Test};
use crate::click::syntax::request::Generated;
use std::fmt::Write as _;

/// As many steps are shown.
const SHOWN: usize = 256;
/// No more are made.
const MOST: usize = 1 << 16;

/// Where a step leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// To what is bound to a label.
    Label(usize),
    Output(i64),
}

/// Four bytes from an offset, the first most significant.
struct Step {
    offset: u32,
    value: u32,
    mask: u32,
    yes: Next,
    no: Next,
    short: Next,
}

/// Where a label leads.
#[derive(Clone, Copy)]
enum Bound {
    Step(usize),
    Next(Next),
}

#[derive(Default)]
struct Program {
    steps: Vec<Step>,
    labels: Vec<Bound>,
}

/// The function of patterns, and one that prints their program.
pub(super) fn with(mut written: Generated, name: &str, rules: &[Rule]) -> Generated {
    written.source += &function(name, rules);
    written
}

/// `static void NAME_program(void)`
fn function(name: &str, rules: &[Rule]) -> String {
    let mut text = format!("static void {name}_program(void)\n{{\n");
    shown(rules).lines().for_each(|line| {
        let _ = writeln!(text, "    print(\"{line}\\n\");");
    });
    text + "}\n"
}

/// The program's lines.
fn shown(rules: &[Rule]) -> String {
    let mut program = Program::default();
    let mut next = program.label();
    for (formula, output) in rules {
        program.bind(next);
        next = program.label();
        program.formula(formula, Next::Output(*output), Next::Label(next));
        if *formula == Formula::Is(true) || program.steps.len() > MOST {
            break;
        }
    }
    program.labels[next] = Bound::Next(Next::Output(-1));
    program.text()
}

impl Program {
    fn label(&mut self) -> usize {
        self.labels.push(Bound::Next(Next::Output(-1)));
        self.labels.len() - 1
    }

    /// What is written next is what a label leads to.
    fn bind(&mut self, label: usize) {
        self.labels[label] = Bound::Step(self.steps.len());
    }

    /// Steps that lead to `yes` if it holds, else to `no`. There is at least one, so that labels
    /// lead somewhere.
    fn formula(&mut self, formula: &Formula, yes: Next, no: Next) {
        match formula {
            Formula::Is(is) => self.constant(if *is { yes } else { no }),
            Formula::Test(test) => self.test(test, yes, no),
            Formula::Not(of) => self.formula(of, no, yes),
            Formula::All(of) => self.row(of, yes, no, true),
            Formula::Any(of) => self.row(of, yes, no, false),
            Formula::If(of) => {
                let (first, second) = (self.label(), self.label());
                self.formula(&of[0], Next::Label(first), Next::Label(second));
                self.bind(first);
                self.formula(&of[1], yes, no);
                self.bind(second);
                self.formula(&of[2], yes, no);
            }
        }
    }

    fn constant(&mut self, next: Next) {
        self.steps.push(Step { offset: 0, value: 0, mask: 0, yes: next, no: next, short: next });
    }

    /// Formulas of which all must hold, or any.
    fn row(&mut self, of: &[Formula], yes: Next, no: Next, all: bool) {
        let Some((last, before)) = of.split_last() else { return self.constant(if all { yes } else { no }) };
        for one in before {
            let next = self.label();
            let (one_yes, one_no) = if all { (Next::Label(next), no) } else { (yes, Next::Label(next)) };
            self.formula(one, one_yes, one_no);
            self.bind(next);
        }
        self.formula(last, yes, no);
    }

    /// A test of bytes that are not there is false, whatever its operator.
    fn test(&mut self, test: &Test, yes: Next, no: Next) {
        match test.op {
            Op::Equal => self.equal(test, test.mask, [yes, no, no]),
            Op::Differs => self.equal(test, test.mask, [no, yes, no]),
            Op::Above => self.compare(test, yes, no, no),
            Op::AtMost => self.compare(test, no, yes, no),
        }
    }

    /// Whether the bits of a mask are those of the value: what is next if they are, if they are
    /// not, and if the packet ends before.
    fn equal(&mut self, test: &Test, mask: u32, [yes, no, short]: [Next; 3]) {
        let base = [0, 256, 512][test.field.area as usize];
        let at = test.field.offset % 4;
        let wide = |number: u32| u64::from(number) << (64 - 8 * (at + test.field.bytes));
        let parts = |number: u32| [(wide(number) >> 32) as u32, wide(number) as u32];
        let (values, masks) = (parts(test.value & mask), parts(mask));
        let first = base + test.field.offset - at;
        let both = masks[0] != 0 && masks[1] != 0;
        if masks[0] != 0 || masks[1] == 0 {
            let yes = if both { Next::Label(self.label()) } else { yes };
            self.steps.push(Step { offset: first, value: values[0], mask: masks[0], yes, no, short });
            if let Next::Label(label) = yes
                && both
            {
                self.bind(label);
            }
        }
        if masks[1] != 0 {
            self.steps.push(Step { offset: first + 4, value: values[1], mask: masks[1], yes, no, short });
        }
    }

    /// Whether the masked field is above the value. From the top, bits of the value that are 0
    /// together, and 1 together: where the field differs from the former it is above, from the
    /// latter below.
    fn compare(&mut self, test: &Test, above: Next, not_above: Next, short: Next) {
        let mut bits: Vec<u32> = (0..32).rev().map(|bit| 1 << bit).filter(|bit| test.mask & bit != 0).collect();
        // The last ones decide nothing.
        while bits.last().is_some_and(|bit| test.value & bit != 0) {
            bits.pop();
        }
        if bits.is_empty() {
            return self.constant(not_above);
        }
        let runs: Vec<u32> =
            bits.chunk_by(|one, next| (test.value & one == 0) == (test.value & next == 0)).map(|run| run.iter().sum()).collect();
        for (n, run) in runs.iter().enumerate() {
            let label = (n + 1 < runs.len()).then(|| self.label());
            let equal = label.map_or(not_above, Next::Label);
            let differs = if test.value & run == 0 { above } else { not_above };
            self.equal(test, *run, [equal, differs, short]);
            label.into_iter().for_each(|label| self.bind(label));
        }
    }

    /// A step or an output: over labels and steps that compare nothing.
    fn end(&self, mut next: Next) -> Bound {
        loop {
            let Next::Label(label) = next else { return Bound::Next(next) };
            match self.labels[label] {
                Bound::Next(further) => next = further,
                Bound::Step(at) => match self.steps.get(at) {
                    Some(step) if step.mask != 0 => return Bound::Step(at),
                    Some(step) => next = step.yes,
                    None => return Bound::Next(Next::Output(-1)),
                },
            }
        }
    }

    fn text(&self) -> String {
        // Numbers of the steps that compare something.
        let numbers: Vec<usize> =
            self.steps.iter().scan(0, |count, step| Some(std::mem::replace(count, *count + usize::from(step.mask != 0)))).collect();
        let name = |next: Next| match self.end(next) {
            Bound::Step(at) => format!("step {}", numbers[at]),
            Bound::Next(Next::Output(output)) if output >= 0 => format!("[{output}]"),
            Bound::Next(_) => "[X]".to_owned(),
        };
        let compared: Vec<(usize, &Step)> = self.steps.iter().enumerate().filter(|(_, step)| step.mask != 0).collect();
        let mut text = String::new();
        for (at, step) in compared.iter().take(SHOWN) {
            let (yes, no, short) = (name(step.yes), name(step.no), name(step.short));
            let _ = write!(text, "{:2} {:3}/{:08x}%{:08x}  yes->{yes}  no->{no}", numbers[*at], step.offset, step.value, step.mask);
            let ends = match short {
                short if short == no => String::new(),
                short if short == yes => "  short->yes".to_owned(),
                short => format!("  short->{short}"),
            };
            let _ = writeln!(text, "{ends}");
        }
        match compared.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            Some(more) => drop(writeln!(text, "and {more} more steps")),
            None if compared.is_empty() => drop(writeln!(text, "all->{}", name(Next::Label(0)))),
            None => {}
        }
        let safe = compared.iter().map(|(_, step)| step.offset + 4 - step.mask.trailing_zeros() / 8).max().unwrap_or(0);
        text + &format!("safe length {safe}\nalignment offset 0\n")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PRIMITIVES, Packet, Random, alike, expected, ip, packet, random_pattern, rules};
    use super::super::{classifier, tests};
    use super::*;

    fn bytes(patterns: &[&str]) -> String {
        let rules: Vec<Rule> = patterns.iter().enumerate().map(|(n, one)| (classifier::pattern(one).unwrap(), n as i64)).collect();
        shown(&rules)
    }

    #[test]
    fn programs_are_shown_as_click_shows_them() {
        assert_eq!(bytes(&["1/01", "-"]), " 0   0/00010000%00ff0000  yes->[0]  no->[1]\nsafe length 2\nalignment offset 0\n");
        assert_eq!(bytes(&["-"]), "all->[0]\nsafe length 0\nalignment offset 0\n");
        assert_eq!(bytes(&[]), "all->[X]\nsafe length 0\nalignment offset 0\n");
        assert_eq!(
            bytes(&["12/0806 20/0001", "14/01020304"]),
            " 0  12/08060000%ffff0000  yes->step 1  no->step 2\n 1  20/00010000%ffff0000  yes->[0]  no->step 2
 2  12/00000102%0000ffff  yes->step 3  no->[X]\n 3  16/03040000%ffff0000  yes->[1]  no->[X]\nsafe length 22\nalignment offset 0\n"
        );
        let above = shown(&[(ip("src port > 1023 and tcp"), 0)]);
        assert!(above.contains("512/00000000%fc000000  yes->[X]  no->step 4  short->yes\n"), "{above}");
    }

    #[test]
    fn long_programs_are_cut() {
        let patterns: Vec<String> = (0..300).map(|n| format!("0/{n:04x}")).collect();
        let text = bytes(&patterns.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(text.contains("255   0/00ff0000%ffff0000  yes->[255]  no->step 256\nand 44 more steps\nsafe length 2\n"), "{text}");
        let function = function("f", &[(Formula::Is(true), 0)]);
        assert_eq!(function.lines().nth(2), Some("    print(\"all->[0]\\n\");"));
    }

    /// The output that a program which is shown gives a packet.
    fn walked(text: &str, (bytes, network): &Packet) -> i64 {
        let steps: Vec<Vec<&str>> = text.lines().filter(|line| line.contains('%')).map(|line| line.split("  ").collect()).collect();
        let next = |words: &[&str], name: &str| words.iter().find_map(|word| word.strip_prefix(name).map(str::to_owned));
        let mut at = next(&text.lines().collect::<Vec<_>>(), "all->").unwrap_or("step 0".to_owned());
        while let Some(number) = at.strip_prefix("step ") {
            let line = text.lines().nth(number.parse().unwrap()).unwrap();
            let words = &steps[number.parse::<usize>().unwrap()];
            let (offset, compared) =
                line.trim_start().split_once(' ').unwrap().1.split("  ").next().unwrap().trim().split_once('/').unwrap();
            let (value, mask) = compared.split_once('%').unwrap();
            let number = |text: &str| u32::from_str_radix(text, 16).unwrap();
            let found = compare(bytes, *network, offset.parse().unwrap(), number(value), number(mask));
            let (yes, no) = (next(words, "yes->").unwrap(), next(words, "no->").unwrap());
            let short = match next(words, "short->") {
                Some(word) if word == "yes" => yes.clone(),
                Some(other) => other,
                None => no.clone(),
            };
            at = found.map_or(short, |equal| if equal { yes } else { no });
        }
        at.trim_matches(['[', ']']).parse().unwrap_or(-1)
    }

    /// Whether bytes are as a step wants them; `None` where the packet ends before.
    fn compare(bytes: &[u8], network: usize, offset: usize, value: u32, mask: u32) -> Option<bool> {
        let header = || bytes.get(network..).filter(|header| header.len() >= 20);
        let (area, at) = match offset {
            0..256 => (bytes, offset),
            256..512 => (header()?, offset - 256),
            _ => (header()?.get(4 * (header()?[0] as usize & 15)..)?, offset - 512),
        };
        let used = 4 - mask.trailing_zeros() as usize / 8;
        let there = area.get(at..at + used)?;
        let number = (0..4).fold(0, |number, n| number << 8 | u32::from(there.get(n).copied().unwrap_or(0)));
        Some(number & mask == value)
    }

    /// Packets end where four bytes of a header do: where one ends within a field, a step that asks
    /// only for the bits before says more than the pattern.
    #[test]
    fn programs_mean_what_patterns_mean() {
        let mut random = Random(29);
        let cut = |(mut bytes, at): Packet| {
            let before = at.min(3);
            bytes.truncate(before + bytes.len().saturating_sub(before) / 4 * 4);
            (bytes, at)
        };
        let packets: Vec<Packet> = (0..500).map(|_| cut(packet(&mut random))).collect();
        let any =
            |random: &mut Random| (0..).find_map(|_| Some(random_pattern(random, 1)).filter(|one| tests::parsed(one).is_ok())).unwrap();
        let single = PRIMITIVES.iter().map(|pattern| vec![(*pattern).to_owned()]);
        let mut random = Random(31);
        let mixed: Vec<Vec<String>> = (0..200).map(|_| (0..=random.below(4)).map(|_| any(&mut random)).collect()).collect();
        let rows: Vec<Vec<String>> = (0..50).map(|_| (0..2 + random.below(9)).map(|_| alike(&mut random)).collect()).collect();
        for patterns in single.chain(mixed).chain(rows) {
            let rules = rules(&patterns, ip);
            let text = shown(&rules);
            for packet in packets.iter().filter(|_| !text.contains("more steps")) {
                assert_eq!(walked(&text, packet), expected(&rules, packet), "{patterns:#?}\n{text}\non {packet:x?}");
            }
        }
    }
}
