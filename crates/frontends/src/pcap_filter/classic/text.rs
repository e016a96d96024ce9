//! Classic BPF as tcpdump prints it.

use std::fmt::{self, Write};

use super::{Instruction, Program};

/// How a program is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// In words, one instruction a line with its number: `-d`.
    Text,
    /// The inside of an array in C: `-dd`.
    C,
    /// Decimal numbers, after a line that says how many: `-ddd`.
    Numbers,
}

impl Program {
    /// The program as text that ends in a newline.
    #[must_use]
    pub fn print(&self, form: Form) -> String {
        let mut text = String::new();
        if form == Form::Numbers {
            let _ = writeln!(text, "{}", self.instructions.len());
        }
        for (at, instruction) in self.instructions.iter().enumerate() {
            let Instruction { code, jt, jf, k } = *instruction;
            let _ = match form {
                Form::Text => writeln!(text, "({at:03}) {}", At(at, instruction)),
                Form::C => writeln!(text, "{{ 0x{code:x}, {jt}, {jf}, 0x{k:08x} }},"),
                Form::Numbers => writeln!(text, "{code} {jt} {jf} {k}"),
            };
        }
        text
    }
}

/// An instruction with its number.
struct At<'a>(usize, &'a Instruction);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let At(at, &Instruction { code, jt, jf, k }) = *self;
        let (name, operand) = (name(code), operand(at, code, k));
        match code & 7 {
            5 if code != super::values::JA => {
                let to = |skipped: u8| at + 1 + usize::from(skipped);
                write!(f, "{name:<8} {operand:<16} jt {}\tjf {}", to(jt), to(jf))
            }
            _ => write!(f, "{name:<8} {operand}"),
        }
    }
}

const ALU: [&str; 11] = ["add", "sub", "mul", "div", "or", "and", "lsh", "rsh", "neg", "mod", "xor"];
const JUMPS: [&str; 5] = ["ja", "jeq", "jgt", "jge", "jset"];
const SIZES: [&str; 3] = ["ld", "ldh", "ldb"];

fn name(code: u16) -> &'static str {
    let operation = usize::from(code >> 4);
    let of = |names: &[&'static str], at: usize| names.get(at).copied().unwrap_or("unimp");
    match code & 7 {
        0 => of(&SIZES, usize::from(code >> 3 & 3)),
        1 if code & 0x18 == 0x10 => "ldxb",
        1 => "ldx",
        2 => "st",
        3 => "stx",
        4 => of(&ALU, operation),
        5 => of(&JUMPS, operation),
        6 => "ret",
        _ if code & 0x80 == 0 => "tax",
        _ => "txa",
    }
}

fn operand(at: usize, code: u16, k: u32) -> String {
    let signed = k.cast_signed();
    match (code & 7, code >> 4) {
        (0 | 1, 0) => format!("#0x{k:x}"),
        (0, 2 | 3) => format!("[{signed}]"),
        (0, 4 | 5) => format!("[x + {signed}]"),
        (0 | 1, 6) | (2 | 3, _) => format!("M[{signed}]"),
        (0 | 1, 8) => "#pktlen".to_owned(),
        (1, _) => format!("4*([{signed}]&0xf)"),
        (4, 8) | (7, _) => String::new(),
        (5, 0) => (at + 1 + k as usize).to_string(),
        (4 | 5, _) if code & 8 != 0 => "x".to_owned(),
        (4, 4 | 5 | 0xa) | (5, _) => format!("#0x{k:x}"),
        _ => format!("#{signed}"),
    }
}
