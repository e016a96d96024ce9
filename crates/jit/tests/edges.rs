//! Every operation on values of every kind of width, at the edges: numbers next to 0, to the sign
//! and to the greatest one; shifts next to the width and to multiples of it, known and not. The JIT
//! must give what the interpreter gives, with all passes and with none.
//!
//! Operands come from the packet, so that nothing is known of them before; results go there.

use compiler::passes::{ALL, Options as Passes};
use netil::Engine;
use netil::asm::assemble;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, State};
use netil::module::HandlerKind;
use netil::ops::{BinOp, UnOp};
use netil::table::{Row, Sem, TABLE};
use netil::{Interpreter, Verified, verify};
use netvm_jit::JitEngine;
use std::fmt::Write;
use std::sync::Arc;

/// Around those of registers and limbs.
const WIDTHS: [u32; 20] = [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 127, 128, 129, 192, 200];
/// Where the operands are: two values and how far to shift.
const FIRST: u32 = 0;
const SECOND: u32 = 32;
const AMOUNT: u32 = 64;
/// Where results begin.
const RESULTS: u32 = 68;
const PACKET: usize = 8192;

/// A program's text, and where its next result goes.
struct Text {
    text: String,
    at: u32,
    width: u32,
}

impl Text {
    fn new(width: u32) -> Self {
        Self { text: "segment .push .maxstacksize 8 pop\n".to_owned(), at: RESULTS, width }
    }

    fn add(&mut self, text: &str) {
        writeln!(self.text, "{text}").unwrap();
    }

    fn resize(&mut self, name: &str, from: u32, to: u32) {
        if from != to {
            self.add(&format!("{name} {from}, {to}"));
        }
    }

    /// Pushes the operand that stands there.
    fn operand(&mut self, at: u32) {
        let whole = self.width.next_multiple_of(8);
        self.add(&format!("push {at} w.pload {whole}"));
        self.resize("w.trunc", whole, self.width);
    }

    fn result(&mut self, width: u32) {
        let whole = width.next_multiple_of(8);
        self.resize("w.zext", width, whole);
        self.add(&format!("push {} w.pstore {whole}", self.at));
        self.at += whole / 8;
    }

    /// Classic instructions name no width.
    fn operation(&mut self, row: &Row) {
        match row.imms {
            [] => self.add(row.mnemonic),
            _ => self.add(&format!("{} {}", row.mnemonic, self.width)),
        }
    }

    fn binary(&mut self, row: &Row, second: &str) {
        self.operand(FIRST);
        match second {
            "" => self.operand(SECOND),
            amount => self.add(amount),
        }
        self.operation(row);
        self.result(if matches!(row.sem, Sem::WideCmp(_)) { 32 } else { self.width });
    }

    fn unary(&mut self, row: &Row) {
        self.operand(FIRST);
        self.operation(row);
        self.result(self.width);
    }

    fn shifts(&mut self, row: &Row) {
        self.binary(row, &format!("push {AMOUNT} spload.32"));
        for amount in amounts(self.width) {
            self.binary(row, &format!("push {amount}"));
        }
    }

    fn widths(&mut self) {
        let from = self.width;
        for to in [from + 1, 32, 33, 64, 65, 128, 129, 200].into_iter().filter(|to| *to > from) {
            for name in ["w.zext", "w.sext"] {
                self.operand(FIRST);
                self.add(&format!("{name} {from}, {to}"));
                self.result(to);
            }
        }
        for to in [1, 7, 8, 31, 32, 33, 63, 64, 65, 128].into_iter().filter(|to| *to < from) {
            self.operand(FIRST);
            self.add(&format!("w.trunc {from}, {to}"));
            self.result(to);
        }
    }

    /// The lesser or the greater of the operands.
    fn one_of_two(&mut self, compare: &str) {
        [FIRST, SECOND].iter().for_each(|at| self.operand(*at));
        self.add(&format!("{compare} {}", self.width));
        [FIRST, SECOND].iter().for_each(|at| self.operand(*at));
        self.add(&format!("w.select {}", self.width));
        self.result(self.width);
    }

    /// What divides comes last, as it may trap.
    fn program(width: u32) -> String {
        let mut t = Self::new(width);
        let fits = |row: &&Row| width == 32 || !matches!(row.sem, Sem::Bin(_) | Sem::Un(_));
        let divides = |row: &&Row| matches!(row.sem, Sem::Bin(BinOp::Div | BinOp::Mod) | Sem::WideBin(BinOp::Div | BinOp::Mod));
        for row in TABLE.iter().filter(|row| fits(row) && !divides(row)) {
            match row.sem {
                Sem::Bin(op) | Sem::WideBin(op) if op.is_shift() => t.shifts(row),
                Sem::Bin(_) | Sem::WideBin(_) | Sem::WideCmp(_) => t.binary(row, ""),
                Sem::WideUn(UnOp::Bswap) if !width.is_multiple_of(8) => {}
                Sem::Un(_) | Sem::WideUn(_) => t.unary(row),
                _ => {}
            }
        }
        t.widths();
        ["w.lt", "w.gt", "w.lts", "w.gts"].iter().for_each(|compare| t.one_of_two(compare));
        TABLE.iter().filter(|row| fits(row) && divides(row)).for_each(|row| t.binary(row, ""));
        assert!((t.at as usize) < PACKET, "{width}: {}", t.at);
        t.text + "ret 1 ends"
    }
}

/// How far to shift.
fn amounts(width: u32) -> [u32; 14] {
    [0, 1, width - 1, width, width + 1, 2 * width - 1, 2 * width, 31, 32, 33, 64, 128, 1 << 31, u32::MAX]
}

/// 32 bytes, of which a value is the last ones: the numbers at the edges of a width, as they stand
/// in a packet.
fn numbers(width: u32) -> Vec<Vec<u8>> {
    let bytes = width.div_ceil(8) as usize;
    let top = 1u8 << ((width - 1) % 8);
    let all = top | (top - 1);
    let of = |first: u8, middle: u8, last: u8| {
        let mut value = vec![middle; bytes];
        value[bytes - 1] = last;
        value[0] = if bytes == 1 { last & all } else { first };
        value
    };
    vec![
        of(0, 0, 0),
        of(0, 0, 1),
        of(all, 255, 255),
        of(top, 0, 0),
        of(all ^ top, 255, 255),
        of(all, 255, 254),
        of(0x55 & all, 0x55, 0x56),
        vec![top; bytes],
    ]
}

/// Each pair of numbers with one amount after the other.
fn packets(width: u32) -> Vec<Vec<u8>> {
    let (numbers, amounts) = (numbers(width), amounts(width));
    let pairs = numbers.iter().flat_map(|a| numbers.iter().map(move |b| (a, b)));
    let packet = |(i, (a, b)): (usize, (&Vec<u8>, &Vec<u8>))| {
        let mut packet = vec![0; PACKET];
        for (at, bytes) in [(FIRST, &a[..]), (SECOND, b), (AMOUNT, &amounts[i % amounts.len()].to_be_bytes())] {
            packet[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        }
        packet
    };
    pairs.enumerate().map(packet).collect()
}

fn run(engine: &mut dyn Engine, packets: &[Vec<u8>]) -> Vec<(Disposition, Vec<u8>)> {
    let mut state = State::plain(&Arc::clone(engine.program())).unwrap();
    let mut out = Outcome::default();
    let mut burst: Vec<_> = packets.iter().map(|p| ExchangeBuffer::borrowed(p)).collect();
    engine.run(HandlerKind::Push, &mut burst, &mut state, &mut out);
    out.dispositions.into_iter().zip(burst.iter().map(|b| b.bytes().to_vec())).collect()
}

fn agrees(program: &Arc<Verified>, passes: &Passes, width: u32) {
    let packets = packets(width);
    let wanted = run(&mut Interpreter::new(Arc::clone(program)), &packets);
    let got = run(&mut JitEngine::with_options(Arc::clone(program), passes).unwrap(), &packets);
    for (i, (wanted, got)) in wanted.iter().zip(&got).enumerate() {
        let place = wanted.1.iter().zip(&got.1).position(|(a, b)| a != b);
        assert!(wanted.0 == got.0 && place.is_none(), "width {width}, packet {i}, byte {place:?}: {:?}, {:?}", wanted.0, got.0);
    }
    let trapped = wanted.iter().filter(|(d, _)| matches!(d, Disposition::Trap(_))).count();
    assert!(trapped > 0 && trapped < wanted.len(), "width {width}: {trapped} divisions by zero");
}

/// Wide values that change places around a loop, which are in memory: all are read before one is
/// written.
#[test]
fn wide_values_change_places_at_once() {
    let text = "segment .push .local 0, 256 .local 1, 256 .local 2, 256 .local 3, 32 .maxstacksize 4 pop
        push 0 w.pload 256 locstore 0 push 32 w.pload 256 locstore 1 push 64 w.pload 256 locstore 2 push 5 locstore 3
        again: locload 0 locload 1 locload 2 locstore 1 locstore 0 locstore 2
        locload 3 dec1 dup locstore 3 push 0 jcmp.neq again
        locload 0 push 0 w.pstore 256 locload 1 push 32 w.pstore 256 locload 2 push 64 w.pstore 256 ret 1 ends";
    let program = Arc::new(verify(assemble(text, "test").unwrap()).unwrap_or_else(|e| panic!("{}", e[0])));
    let packets = [(0..96).collect::<Vec<u8>>()];
    let wanted = run(&mut Interpreter::new(Arc::clone(&program)), &packets);
    assert_ne!(wanted[0].1, packets[0]);
    assert_eq!(run(&mut JitEngine::new(program).unwrap(), &packets), wanted);
}

#[test]
fn every_operation_at_the_edges_of_its_width() {
    let none = Passes { disabled: ALL.iter().map(|p| p.name.to_owned()).collect(), ..Passes::default() };
    for width in WIDTHS {
        let text = Text::program(width);
        let module = assemble(&text, "test").unwrap_or_else(|e| panic!("{e}\n{text}"));
        let program = Arc::new(verify(module).unwrap_or_else(|e| panic!("{}\n{text}", e[0])));
        for passes in [&Passes::default(), &none] {
            agrees(&program, passes, width);
        }
    }
}
