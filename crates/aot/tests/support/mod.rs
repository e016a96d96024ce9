//! Made-up filters in NetIL, of shapes that no front end makes, and packets for them.
#![allow(dead_code, reason = "each test program uses a part")]

use netil::{Verified, asm, verify};
use std::fmt::Write as _;
use std::sync::Arc;

/// A generator of numbers (splitmix64).
struct Choices(u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len() as u64) as usize]
    }

    /// Small numbers, powers of two and their neighbours, anything.
    fn word(&mut self) -> u32 {
        match self.below(4) {
            0 => self.below(70) as u32,
            1 => 1 << self.below(32),
            2 => (1u32 << self.below(32)).wrapping_sub(1),
            _ => self.next() as u32,
        }
    }
}

/// The text of a filter with four locals.
pub struct RandomFilter {
    c: Choices,
    text: String,
    labels: u32,
}

impl RandomFilter {
    /// The text of filter number `seed`.
    pub fn text(seed: u64) -> String {
        let mut source = Self { c: Choices(seed), text: String::new(), labels: 0 };
        source.text += "segment .sets\n.set hosts, 32\n 10.0.0.1 10.0.0.9 10.7.0.1-10.7.0.255 7 1 0x01020304 0x04030201\n";
        source.text += ".set ports, 16\n 53 80 443 1000-2000 60000-65535 3 9 11 4000\nends\n";
        source.text += "segment .push\n.maxstacksize 16\n.locals 4\n pop\n";
        for local in 0..4 {
            source.value();
            source.put(&format!("locstore {local}"));
        }
        for _ in 0..2 + source.c.below(6) {
            source.statement(2);
        }
        let text = source.text + " locload 0\n push 1\n and\n ret\nout:\n ret 0\nin:\n ret 1\nends\n";
        text.replace("ret 0", "push 0\n ret").replace("ret 1", "push 1\n ret")
    }

    fn put(&mut self, line: &str) {
        let _ = writeln!(self.text, " {line}");
    }

    /// Pushes a number.
    fn value(&mut self) {
        match self.c.below(8) {
            0 => {
                let word = self.c.word();
                self.put(&format!("push {word}"));
            }
            1 => self.put("pbl"),
            2 => self.put("pbl.orig"),
            _ => self.load(),
        }
    }

    /// A field of the packet, whose offset may depend on it.
    fn load(&mut self) {
        let offset = self.c.below(40);
        self.put(&format!("push {offset}"));
        if self.c.below(3) == 0 {
            let mask = self.c.pick(&["3", "15", "60", "255"]);
            let by = self.c.below(20);
            self.put(&format!("upload.8\n push {mask}\n and\n push {by}\n add"));
        }
        let load = self.c.pick(&["upload.8", "upload.16", "spload.32", "spload.16", "iplen"]);
        self.put(load);
    }

    fn arithmetic(&mut self) {
        let op = self.c.pick(&["add", "sub", "mul", "and", "or", "xor", "shl", "ushr", "shr", "rol", "add.u", "sub.s", "cmp", "cmp.s"]);
        self.put(op);
    }

    fn statement(&mut self, depth: u32) {
        let local = self.c.below(4);
        match self.c.below(if depth > 0 { 9 } else { 4 }) {
            0..=2 => {
                self.put(&format!("locload {local}"));
                self.value();
                self.arithmetic();
                let to = self.c.below(4);
                self.put(&format!("locstore {to}"));
            }
            3 => {
                let op = self.c.pick(&["not", "neg", "ieswap", "find.bit"]);
                self.put(&format!("locload {local}\n {op}\n locstore {local}"));
            }
            4 | 5 => self.branch(depth),
            6 => self.exit(),
            7 => self.switch(depth),
            _ => self.repeat(depth),
        }
    }

    /// A comparison and a label that is jumped to where it holds.
    fn test(&mut self, label: &str) {
        let local = self.c.below(4);
        self.put(&format!("locload {local}"));
        if self.c.below(4) == 0 {
            let set = self.c.pick(&["set.has hosts", "w.trunc 32, 16\n set.has ports"]);
            return self.put(&format!("{set}\n j.ne {label}"));
        }
        self.value();
        let jump = self.c.pick(&["jcmp.eq", "jcmp.neq", "jcmp.g", "jcmp.ge", "jcmp.l", "jcmp.le", "jcmp.lts", "jcmp.ges"]);
        self.put(&format!("{jump} {label}"));
    }

    fn exit(&mut self) {
        let label = self.c.pick(&["in", "out"]);
        self.test(label);
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }

    fn branch(&mut self, depth: u32) {
        let (other, end) = (self.label(), self.label());
        self.test(&other);
        self.statement(depth - 1);
        self.put(&format!("jump.w {end}\n{other}:"));
        self.statement(depth - 1);
        self.put(&format!("\n{end}:"));
    }

    fn switch(&mut self, depth: u32) {
        let (one, two, end) = (self.label(), self.label(), self.label());
        let local = self.c.below(4);
        let keys = [self.c.below(16), 16 + self.c.below(5000)];
        self.put(&format!("locload {local}\n switch 2:\n {}: {one}\n {}: {two}\n default: {end}\n{one}:", keys[0], keys[1]));
        self.statement(depth - 1);
        self.put(&format!("\n{two}:"));
        self.statement(depth - 1);
        self.put(&format!("\n{end}:"));
    }

    /// A loop that the budget may stop.
    fn repeat(&mut self, depth: u32) {
        let (again, local) = (self.label(), self.c.below(4));
        self.put(&format!("\n{again}:"));
        self.statement(depth - 1);
        self.put(&format!("locload {local}\n dec1\n push 31\n and\n dup\n locstore {local}\n j.ne {again}"));
    }
}

pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

pub fn program(source: &str) -> Arc<Verified> {
    let module = asm::assemble(source, "made").unwrap_or_else(|e| panic!("{e}\n{source}"));
    Arc::new(verify(module).unwrap_or_else(|e| panic!("{}\n{source}", e[0])))
}

/// Packets with fields that the filters' constants meet, cut at every length up to 70, and some
/// long ones.
pub fn packets() -> Vec<Vec<u8>> {
    let mut c = Choices(7);
    let mut packets: Vec<Vec<u8>> =
        (0..70).map(|len| (0..len).map(|_| c.below(if len % 3 == 0 { 4 } else { 256 }) as u8).collect()).collect();
    packets.extend((0..90).map(|i| (0..60 + i % 40).map(|j| if i % 2 == 0 { (i * j) as u8 } else { c.below(12) as u8 }).collect()));
    packets.push(vec![0xff; 9000]);
    packets
}
