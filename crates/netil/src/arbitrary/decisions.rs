//! Programs, half of them filters, that ask much of few fields: what optimisers merge, reorder and
//! step over. Written as NetIL source.
//!
//! Fields lie near each other, constants and packets are mostly those of one pattern, so that most
//! equalities hold; lengths are tested beside the fields, some too late; the same field is asked
//! again, in chains, switches and sets; numbers are put together of bytes; locals choose among
//! them.

use super::choices::Choices;
use crate::asm::assemble;
use crate::module::Module;
use std::fmt::Write;

/// Where conditional jumps of a statement may lead: on, or to an end.
const ENDS: [&str; 4] = ["yes", "no", "mark", "other"];

/// The program that the bytes stand for.
pub fn arbitrary_decisions(bytes: &[u8]) -> Module {
    Decisions::new(Choices::of_bytes(bytes)).module()
}

/// The program with that number.
pub fn seeded_decisions(seed: u64) -> Module {
    Decisions::new(Choices::of_seed(seed)).module()
}

/// A packet for such programs: few lengths, and the pattern with a few changes.
pub fn few_valued_packet(seed: u64) -> Vec<u8> {
    let mut c = Choices::of_seed(seed.wrapping_mul(0x9e37_79b9));
    let length = *c.pick(&[0, 3, 8, 13, 16, 19, 20, 24, 24, 24, 30, 60]);
    let rare = *c.pick(&[8, 20, 60, 250]);
    (0..length).map(|at| if c.chance(1, rare) { c.below(4) as u8 } else { pattern(at) }).collect()
}

/// The byte that is mostly at that place. Headers are as long as multiples of four say, and the
/// pattern with them.
fn pattern(at: u32) -> u8 {
    [1, 0, 2, 1][at as usize % 4]
}

/// The number of that many bits that is mostly there.
fn mostly(at: u32, bits: u32) -> u32 {
    (0..bits / 8).fold(0, |v, i| v << 8 | u32::from(pattern(at + i)))
}

struct Decisions<'a> {
    c: Choices<'a>,
    /// Nothing is stored: a filter.
    filter: bool,
    /// What locals mostly hold.
    locals: [u32; 4],
    text: String,
    labels: u32,
}

impl<'a> Decisions<'a> {
    fn new(mut c: Choices<'a>) -> Self {
        let filter = c.chance(1, 2);
        Self { c, filter, locals: [0, 1, 2, 3], text: String::new(), labels: 0 }
    }

    fn module(mut self) -> Module {
        self.text += "segment .metadata\n.datamem_size 64\nends\nsegment .ports\npush_input in\npush_output out\nends\n";
        self.text += "segment .sets\n.set few, 32\n 0, 1, 0x100, 0x101, 0x10001\n.set near, 32\n 0-3, 9, 16-17\nends\n";
        self.text += "segment .push\n.maxstacksize 8\n.locals 4\npop\n";
        (0..4).for_each(|local| self.line(&format!("push {local}\nlocstore {local}")));
        for _ in 0..3 + self.c.below(12) {
            self.statement();
        }
        let end = *self.c.pick(&ENDS);
        self.line(&format!("jump.w {end}"));
        self.line("other:\nlocload 1\npush 1\njcmp.eq yes");
        self.store("locload 2\npush 40\nmstore.32");
        self.line("ret 0\nmark:");
        self.store("locload 3\npush 44\nmstore.32");
        self.line("pkt.send out\nyes:\npkt.send out\nno:\nret 0\nends");
        assemble(&self.text, "decisions").unwrap_or_else(|e| panic!("{e}\n{}", self.text))
    }

    fn line(&mut self, text: &str) {
        self.text += text;
        self.text.push('\n');
    }

    fn store(&mut self, text: &str) {
        if !self.filter {
            self.line(text);
        }
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }

    fn statement(&mut self) {
        match self.c.below(16) {
            0..=3 => self.tests(),
            4 => self.chain(),
            5 => self.length(),
            6 => self.switch(),
            7 => self.bytes(),
            8 => self.choice(),
            9 => self.set(),
            10 | 13 => self.effect(),
            11 => self.header(),
            12 => self.late(),
            14 => self.stale(),
            _ => self.field_to_local(),
        }
    }

    /// A field on the stack; its width in bits and what it mostly is. Its place is near the
    /// others', sometimes relative to a local.
    fn field(&mut self) -> (u32, u32) {
        let at = *self.c.pick(&[0, 2, 3, 4, 6, 7, 8, 10, 11, 12, 14, 16, 20]);
        self.line(&format!("push {at}"));
        if self.c.chance(1, 4) {
            self.line("locload 0\nadd");
        }
        let (name, width) = *self.c.pick(&[("upload.8", 8), ("upload.16", 16), ("spload.32", 32)]);
        self.line(name);
        let mut mostly = mostly(at, width);
        if self.c.chance(1, 3) {
            let mask = *self.c.pick(&[1, 0xf, 0xff, 0xff00, 0x3ff, 0xff_0003, 0xffff_0000]);
            self.line(&format!("push {mask}\nand"));
            mostly &= mask;
        }
        (width, mostly)
    }

    /// A local or a field.
    fn value(&mut self) -> (u32, u32) {
        if self.c.chance(1, 3) {
            let local = self.c.below(4);
            self.line(&format!("locload {local}"));
            return (32, self.locals[local as usize]);
        }
        self.field()
    }

    /// A number to compare with.
    fn constant(&mut self, (width, mostly): (u32, u32)) -> u32 {
        match self.c.below(12) {
            0 => self.c.below(4),
            1 => u32::from(self.c.byte()),
            2 => mostly ^ 1 << self.c.below(width),
            _ => mostly,
        }
    }

    fn compare(&mut self, value: (u32, u32), to: &str) {
        let constant = self.constant(value);
        let op = *self.c.pick(&["neq", "neq", "neq", "eq", "l", "g", "g", "gts"]);
        self.line(&format!("push {constant}\njcmp.{op} {to}"));
    }

    /// Fields that must all be what they must be, and lengths among them.
    fn tests(&mut self) {
        let to = *self.c.pick(&ENDS);
        for _ in 0..1 + self.c.below(5) {
            if self.c.chance(1, 4) {
                self.length_to(to);
                continue;
            }
            let value = self.value();
            let constant = self.constant(value);
            let (constant, op) = if self.c.chance(1, 6) { (constant ^ 1, "eq") } else { (constant, "neq") };
            let to = if self.c.chance(1, 8) { *self.c.pick(&ENDS) } else { to };
            self.line(&format!("push {constant}\njcmp.{op} {to}"));
        }
    }

    /// Equalities of one or two values, to one place or several.
    fn chain(&mut self) {
        let (a, b) = (self.c.below(4), self.c.below(4));
        let to = *self.c.pick(&ENDS);
        let several = self.c.chance(1, 2);
        for _ in 0..2 + self.c.below(7) {
            let local = if self.c.chance(1, 4) { b } else { a };
            let to = if several { *self.c.pick(&ENDS) } else { to };
            let other = *self.c.pick(&[0, 1, 2, 3, 4, 0x100, 0x201, 0x1_0000, 0x0100_0201, 7]);
            let constant = if self.c.chance(1, 6) { self.locals[local as usize] } else { other };
            self.line(&format!("locload {local}\npush {constant}\njcmp.eq {to}"));
        }
    }

    fn length(&mut self) {
        let to = *self.c.pick(&ENDS);
        self.length_to(to);
    }

    fn length_to(&mut self, to: &str) {
        let least = *self.c.pick(&[4, 8, 12, 14, 16, 20, 24, 28]);
        if self.c.chance(1, 4) {
            return self.line(&format!("locload 0\npush {least}\nadd\npbl\njcmp.g {to}"));
        }
        let (op, least) = *self.c.pick(&[("l", least), ("l", least), ("le", least), ("g", least + 32)]);
        self.line(&format!("pbl\npush {least}\njcmp.{op} {to}"));
    }

    fn switch(&mut self) {
        let count = *self.c.pick(&[1, 2, 3, 5, 6, 9, 18]);
        let stride = *self.c.pick(&[1, 1, 2, 3, 0x100, 0x0101_0001]);
        let (first, local) = (self.c.below(3), self.c.below(4));
        let few = self.c.chance(1, 3);
        let on = self.label();
        self.line(&format!("locload {local}\nswitch {count}:"));
        for i in 0..count {
            let to = if few { ENDS[i as usize % 2] } else { *self.c.pick(&[ENDS[0], ENDS[1], ENDS[2], ENDS[3], &on]) };
            self.line(&format!("{}: {to}", first + stride * i));
        }
        self.line(&format!("default: {on}\n{on}:"));
    }

    /// A number put together of bytes or halves, neighbours mostly.
    fn bytes(&mut self) {
        let (at, bits) = (self.c.below(20), *self.c.pick(&[8, 8, 16]));
        let count = 2 + self.c.below(if bits == 8 { 3 } else { 1 });
        let (big, local) = (self.c.chance(1, 2), self.c.below(4));
        for i in 0..count {
            let shift = bits * if big { count - 1 - i } else { i };
            let near = if self.c.chance(1, 12) { 1 } else { 0 };
            self.line(&format!("push {}\nupload.{bits}\npush {shift}\nshl", at + near + i * bits / 8));
            if i > 0 {
                let op = *self.c.pick(&["or", "or", "add", "xor"]);
                self.line(op);
            }
            if self.c.chance(1, 12) {
                self.store(&format!("push 9\npush {at}\npstore.8"));
            }
        }
        self.store_local(local, mostly(at, 8 * count * bits / 8));
    }

    /// A branch that chooses between values.
    fn choice(&mut self) {
        let (arm, on, local) = (self.label(), self.label(), self.c.below(4));
        let value = self.value();
        self.compare(value, &arm);
        let (a, b) = (self.c.below(5), self.c.below(5));
        let extra = *self.c.pick(&["", "locload 1\nadd\n", "locload 2\nxor\npush 3\nand\n"]);
        self.line(&format!("push {a}\n{extra}locstore {local}\njump.w {on}\n{arm}:\npush {b}\nlocstore {local}\n{on}:"));
    }

    fn set(&mut self) {
        self.value();
        let (set, to) = (*self.c.pick(&["few", "near"]), *self.c.pick(&ENDS));
        self.line(&format!("set.has {set}\nj.ne {to}"));
    }

    /// What must stay where it is.
    fn effect(&mut self) {
        let (local, at) = (self.c.below(4), 4 * self.c.below(8));
        match self.c.below(3) {
            0 => self.store(&format!("locload {local}\npush {}\npstore.8", at / 4)),
            _ => self.store(&format!("locload {local}\npush {at}\nmstore.32")),
        }
    }

    /// A place that depends on the packet.
    fn header(&mut self) {
        let at = self.c.below(16);
        self.line(&format!("push {at}\niplen"));
        self.store_local(0, 4 * u32::from(pattern(at)));
    }

    /// What is asked again further on.
    fn late(&mut self) {
        let (on, local) = (self.label(), self.c.below(4));
        self.line(&format!("locload {local}"));
        self.compare((8, self.locals[local as usize]), &on);
        let _ = writeln!(self.text, "push {}\nlocstore {}", self.c.below(3), self.c.below(4));
        self.line(&format!("{on}:"));
    }

    /// Neighbours that are loaded before a store among them and compared after it.
    fn stale(&mut self) {
        let (at, to) = (*self.c.pick(&[0, 4, 8, 12]), *self.c.pick(&ENDS));
        let (name, width) = *self.c.pick(&[("upload.8", 8), ("upload.16", 16)]);
        let places = [(2, at), (3, at + width / 8)];
        for (local, place) in places {
            self.line(&format!("push {place}\n{name}"));
            self.store_local(local, mostly(place, width));
        }
        if self.c.chance(3, 4) {
            self.store(&format!("push 9\npush {at}\npstore.8"));
        }
        for (local, place) in places {
            self.line(&format!("locload {local}\npush {}\njcmp.neq {to}", mostly(place, width)));
        }
    }

    fn field_to_local(&mut self) {
        let local = self.c.below(4);
        let (_, mostly) = self.field();
        self.store_local(local, mostly);
    }

    fn store_local(&mut self, local: u32, mostly: u32) {
        self.line(&format!("locstore {local}"));
        self.locals[local as usize] = mostly;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_verify_whatever_the_bytes() {
        let mut filters = 0;
        for seed in 0..2000 {
            let program = crate::verify(seeded_decisions(seed));
            filters += usize::from(program.unwrap_or_else(|e| panic!("seed {seed}: {}", e[0])).is_filter());
        }
        assert!((800..1200).contains(&filters), "{filters} filters");
        assert!(crate::verify(arbitrary_decisions(&[])).is_ok());
        assert!(crate::verify(arbitrary_decisions(&[0xff; 300])).is_ok());
    }
}
