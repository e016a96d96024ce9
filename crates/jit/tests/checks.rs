//! Range facts and merged checks, at the edge: generated programs of loads and stores at values
//! plus constants, with and without length tests, loops and changes of geometry before them. The
//! JIT must give what the interpreter gives, the place of a trap included.
//!
//! `NETVM_CASES` sets the number of programs, `NETVM_SEED` the first.

use compiler::passes::Options as Passes;
use netil::Engine;
use netil::asm::assemble;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, Packets, Selection, State};
use netil::module::HandlerKind;
use netil::{Interpreter, verify};
use netvm_jit::JitEngine;
use std::sync::Arc;

/// Lengths around the sizes and offsets that programs use.
const LENGTHS: [usize; 10] = [0, 3, 14, 17, 33, 34, 64, 200, 300, 400];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len() as u64) as usize]
    }

    /// Small, around a packet's length, or near where 32 bits end.
    fn constant(&mut self) -> u32 {
        match self.below(48) {
            0..40 => self.below(20) as u32,
            40..43 => self.below(70) as u32,
            43 => LENGTHS[self.below(10) as usize] as u32,
            44..46 => 0u32.wrapping_sub(self.below(40) as u32 + 1),
            _ => [0x7fff_ffff, 0x8000_0000, 0xffff, 0x1_0000, 255, 256][self.below(6) as usize],
        }
    }
}

/// A program's text. The stack holds one number throughout; locals 0 to 2 are addresses, 3 to 5
/// count the loops.
struct Text {
    random: Random,
    text: String,
    labels: u32,
    geometry: bool,
    stores: bool,
    loops: u32,
}

impl Text {
    fn program(seed: u64) -> String {
        let mut random = Random(seed);
        let (geometry, stores) = (random.below(4) == 0, random.below(2) == 0);
        let mut t = Self { random, text: String::new(), labels: 0, geometry, stores, loops: 0 };
        for local in 0..3 {
            t.address(local);
        }
        let n = 3 + t.random.below(10);
        t.statements(n);
        let kept = if stores { "dup push 0 mstore.32 " } else { "" };
        format!(
            "segment .metadata .datamem_size 64 .info_size 20 ends segment .data t: db 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 ends
            segment .push .locals 6 .maxstacksize 16 {}{kept}ret ends",
            t.text
        )
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push(' ');
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }

    fn local(&mut self) -> u64 {
        self.random.below(3)
    }

    fn statements(&mut self, n: u64) {
        for _ in 0..n {
            match self.random.below(12) {
                0..5 => self.access(),
                5 | 6 => {
                    let local = self.local();
                    self.address(local);
                }
                7 | 8 => self.length_test(),
                9 if self.loops < 3 => self.again(),
                10 if self.geometry => self.reshape(),
                10 if self.stores => self.copy(),
                _ => self.access(),
            }
        }
    }

    /// Gives a local an address.
    fn address(&mut self, local: u64) {
        let (c, d, from) = (self.random.constant(), self.random.constant(), self.local());
        let shift = self.random.below(5);
        let text = match self.random.below(9) {
            0 => format!("push {c}"),
            1 => format!("push {} upload.8 push {d} and push {shift} shl", c % 16),
            2 => format!("push {} upload.8 push 15 and push 2 shl push {d} add", c % 16),
            3 => format!("push {} upload.16 push {} ushr push {d} add", c % 16, 8 + shift),
            4 => format!("pbl push {} sub", c % 40),
            5 => format!("push {} spload.32 push {} mod", c % 16, d | 1),
            6 => format!("push {} iplen", c % 20),
            7 if self.text.is_empty() => "dup".to_owned(),
            7 => format!("locload {from} push {c} add"),
            _ => format!("dup push {} and push {d} or", c & 63),
        };
        let text = if self.unwritten(&text) { "push 14".to_owned() } else { text };
        self.add(&format!("{text} locstore {local}"));
    }

    /// Locals are first written in the order of their numbers.
    fn unwritten(&self, text: &str) -> bool {
        (0..3).any(|k| text.contains(&format!("locload {k}")) && !self.text.contains(&format!("locstore {k}")))
    }

    /// Pushes an address: a local, a sum, or a constant.
    fn operand(&mut self) -> String {
        let (local, c) = (self.local(), self.random.constant());
        match self.random.below(6) {
            0 => format!("push {c}"),
            1 => format!("locload {local}"),
            2 if self.random.below(4) == 0 => format!("locload {local} push {c} sub"),
            3 => format!("locload {local} push {} add push {} add", c % 8, self.random.below(8)),
            _ => format!("locload {local} push {c} add"),
        }
    }

    fn access(&mut self) {
        let (at, local) = (self.operand(), self.local());
        let fixed = unknown(&at, local);
        let wide = self.random.pick(&["64", "48", "256"]);
        let text = match self.random.below(if self.stores { 10 } else { 6 }) {
            0..3 => format!("{at} {} xor", self.random.pick(&["upload.8", "spload.16", "upload.16", "spload.32"])),
            3 => format!("{at} w.pload {wide} w.trunc {wide}, 32 xor"),
            4 => format!("{at} iplen xor"),
            5 => format!("{fixed} w.cload 8 w.zext 8, 32 xor"),
            6 => format!("{fixed} {} xor", self.random.pick(&["umload.8", "umload.16", "umload.32", "uiload.8", "siload.32"])),
            7 => format!("dup {fixed} {}", self.random.pick(&["mstore.8", "mstore.32", "istore.16"])),
            _ => format!("dup {at} {}", self.random.pick(&["pstore.8", "pstore.16", "pstore.32"])),
        };
        self.add(&text);
    }

    fn copy(&mut self) {
        let (from, to, len, local) = (self.operand(), self.operand(), self.random.below(24), self.local());
        let (from, to) = (unknown(&from, local), unknown(&to, local));
        let op = self.random.pick(&["pdcopy", "dpcopy"]);
        self.add(&format!("{from} {to} push {len} {op}"));
    }

    /// A comparison of the length with an address, either way round, around some statements.
    fn length_test(&mut self) {
        let (at, past) = (self.operand(), self.label());
        let test = match self.random.below(2) {
            0 => format!("pbl {at}"),
            _ => format!("{at} pbl"),
        };
        let op = self.random.pick(&["jcmp.eq", "jcmp.neq", "jcmp.g", "jcmp.ge", "jcmp.l", "jcmp.le", "jcmp.gts", "jcmp.les"]);
        self.add(&format!("{test} {op} {past}"));
        match self.random.below(3) {
            0 => self.add("ret\n"),
            _ => {
                let n = 1 + self.random.below(3);
                self.statements(n);
            }
        }
        self.add(&format!("{past}:"));
    }

    fn again(&mut self) {
        let (counter, head, times) = (3 + self.loops, self.label(), self.random.below(4));
        self.loops += 1;
        self.add(&format!("push {times} locstore {counter} {head}:"));
        let n = 1 + self.random.below(4);
        self.statements(n);
        self.add(&format!("locload {counter} dec1 dup locstore {counter} push 5 jcmp.l {head}"));
    }

    fn reshape(&mut self) {
        let op = self.random.pick(&["pkt.pull", "pkt.push", "pkt.trim", "pkt.grow"]);
        let n = self.random.below(20);
        self.add(&format!("push {n} {op}"));
    }
}

/// An address that the verifier does not know: it refuses constants outside memories of known size.
fn unknown(at: &str, local: u64) -> String {
    if at.starts_with("push") { format!("locload {local}") } else { at.to_owned() }
}

/// Everything that a run leaves.
#[derive(Debug, PartialEq)]
struct Seen {
    dispositions: Vec<Disposition>,
    packets: Vec<Vec<u8>>,
    infos: Vec<Vec<u8>>,
    data: Vec<u8>,
}

fn packets(seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random(seed ^ 0xabcd);
    let byte = |random: &mut Random| match random.below(3) {
        0 => random.below(256) as u8,
        1 => random.below(24) as u8,
        _ => 0x45,
    };
    LENGTHS.iter().map(|len| (0..*len).map(|_| byte(&mut random)).collect()).collect()
}

fn run(engine: &mut dyn Engine, packets: &[Vec<u8>]) -> Seen {
    let mut state = State::plain(&Arc::clone(engine.program())).unwrap();
    state.budget = 60;
    let mut out = Outcome::default();
    let mut burst: Vec<_> = packets.iter().map(|p| ExchangeBuffer::borrowed(p)).collect();
    engine.run(HandlerKind::Push, &mut burst, &mut state, &mut out);
    let (bytes, infos) = burst.iter().map(|b| (b.bytes().to_vec(), b.info.clone())).unzip();
    Seen { dispositions: out.dispositions, packets: bytes, infos, data: state.data }
}

fn select(engine: &mut dyn Engine, packets: &[Vec<u8>]) -> Selection {
    let mut state = State::plain(&Arc::clone(engine.program())).unwrap();
    state.budget = 60;
    let frames: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let mut out = Selection::default();
    engine.select(&Packets { frames: &frames, wire_len: &[], time_ns: &[] }, &mut state, &mut out);
    out
}

fn differs(jit: &mut JitEngine, packets: &[Vec<u8>]) -> Option<String> {
    let program = Arc::clone(jit.program());
    let mut interpreter = Interpreter::new(Arc::clone(&program));
    let (wanted, got) = (run(&mut interpreter, packets), run(jit, packets));
    if wanted != got {
        return Some(format!("interpreter {wanted:02x?}\njit         {got:02x?}"));
    }
    let (wanted, got) = (select(&mut interpreter, packets), select(jit, packets));
    (program.is_filter() && wanted != got).then(|| format!("selected by interpreter {wanted:x?}, by jit {got:x?}"))
}

/// One length test, then on each side of it other length tests and an access, all within two bytes
/// of the first.
fn tight(test: &str, swapped: bool, base: &str, by: i32) -> String {
    const AT: i32 = 10;
    let operand = |n: i32| format!("{base} push {n} add");
    let length_test = |op: &str, n: i32, to: &str| match swapped {
        false => format!("pbl {} {op} {to} ", operand(n)),
        true => format!("{} pbl {op} {to} ", operand(n)),
    };
    let mut text = length_test(test, AT, "taken");
    for side in ["", "taken: "] {
        text += side;
        for n in -1..2 {
            for op in COMPARISONS {
                let label = format!("l{}{}{}", side.len(), n + 1, op.replace('.', ""));
                text += &format!("push 1 shl {}jump {label}z {label}: inc1 {label}z: ", length_test(op, AT + n, &label));
            }
        }
        text += &format!("dup push 0 mstore.32 {} upload.16 pop ret\n ", operand(AT + by));
    }
    format!(
        "segment .metadata .datamem_size 4 ends
        segment .push .locals 1 .maxstacksize 8 push 0 upload.8 push 7 and locstore 0 {text} ends"
    )
}

const COMPARISONS: [&str; 8] = ["jcmp.eq", "jcmp.neq", "jcmp.g", "jcmp.ge", "jcmp.l", "jcmp.le", "jcmp.gts", "jcmp.les"];

#[test]
fn every_comparison_to_the_byte() {
    let packets: Vec<Vec<u8>> = (0..22).flat_map(|len| [0, 1, 7].map(|first| [vec![first], vec![0; len]].concat())).collect();
    for test in COMPARISONS {
        for (swapped, base) in [(false, "push 0"), (true, "push 0"), (false, "locload 0"), (true, "locload 0")] {
            for by in -3..2 {
                let text = tight(test, swapped, base, by);
                let module = assemble(&text, "test").unwrap_or_else(|e| panic!("{e}\n{text}"));
                let program = Arc::new(verify(module).unwrap_or_else(|e| panic!("{}\n{text}", e[0])));
                let mut jit = JitEngine::new(program).unwrap();
                // One packet a burst, so that each shows its data memory.
                for packet in &packets {
                    let what = differs(&mut jit, std::slice::from_ref(packet));
                    assert!(what.is_none(), "{}: {}\n{text}", packet.len(), what.unwrap_or_default());
                }
            }
        }
    }
}

#[test]
fn facts_and_merged_checks_at_the_edge() {
    let (mut failures, mut kinds) = (Vec::new(), [0u32; 3]);
    for seed in cases(600) {
        let text = Text::program(seed);
        let module = assemble(&text, "test").unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        let program = Arc::new(verify(module).unwrap_or_else(|e| panic!("seed {seed}: {}\n{text}", e[0])));
        let packets = packets(seed);
        let alone = Passes { disabled: vec!["fold".to_owned(), "gvn".to_owned()], ..Passes::default() };
        for passes in [Passes::default(), alone].iter().take(1 + (seed % 4 == 0) as usize) {
            if let Some(what) = differs(&mut JitEngine::with_options(Arc::clone(&program), passes).unwrap(), &packets) {
                failures.push(format!("seed {seed}, {passes:?}: {what}\n{text}"));
            }
        }
        count(&mut kinds, &run(&mut Interpreter::new(program), &packets));
    }
    let shortest = failures.iter().min_by_key(|f| f.len()).cloned().unwrap_or_default();
    assert!(failures.is_empty(), "{} failures, the shortest: {shortest}", failures.len());
    println!("ports, drops, traps: {kinds:?}");
    // Programs that always trap, or never, would show little.
    let all: u32 = kinds.iter().sum();
    assert!(kinds.iter().all(|k| *k * 20 > all), "ports, drops, traps: {kinds:?}");
}

fn cases(default: u64) -> std::ops::Range<u64> {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let first = number("NETVM_SEED", 0);
    first..first + number("NETVM_CASES", default)
}

fn count(kinds: &mut [u32; 3], seen: &Seen) {
    for d in &seen.dispositions {
        kinds[match d {
            Disposition::Port(_) => 0,
            Disposition::Drop(_) => 1,
            Disposition::Trap(_) => 2,
        }] += 1;
    }
}
