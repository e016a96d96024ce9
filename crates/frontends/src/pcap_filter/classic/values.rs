//! Tests and values → instructions of classic BPF.
//!
//! A value is computed into A. What a load is relative to stands in X, as does a right operand that
//! is no constant; one that cannot be computed without disturbing the other waits in memory, above
//! the words of variable offsets.

use super::super::ast::Arithop;
use super::super::codegen::header_len;
use super::super::graph::Target;
use super::super::ir::{Cmp, Field, Geneve, Ir, Test, Value, ValueId};
use super::super::reads::greatest;
use super::{Instruction, MEMORY, Refused};

pub(super) const LD_IMM: u16 = 0x00;
const LD_ABS: u16 = 0x20;
const LD_IND: u16 = 0x40;
const LD_MEM: u16 = 0x60;
const LD_LEN: u16 = 0x80;
const HALF: u16 = 0x08;
const BYTE: u16 = 0x10;
const LDX_IMM: u16 = 0x01;
const LDX_MEM: u16 = 0x61;
const LDX_LEN: u16 = 0x81;
const LDX_MSH: u16 = 0xb1;
pub(super) const ST: u16 = 0x02;
const ALU: u16 = 0x04;
const NEG: u16 = 0x84;
pub(super) const JA: u16 = 0x05;
const JEQ: u16 = 0x15;
const JGT: u16 = 0x25;
const JGE: u16 = 0x35;
const JSET: u16 = 0x45;
pub(super) const RET: u16 = 0x06;
const TAX: u16 = 0x07;
const TXA: u16 = 0x87;
/// The operand is X instead of a constant.
const X: u16 = 0x08;

const TRANSPARENT_ETHERNET: u32 = 0x6558;

/// What A and X hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers {
    a: Option<ValueId>,
    x: Option<ValueId>,
}

impl Registers {
    /// What both hold.
    pub(super) fn common(self, other: Registers) -> Registers {
        Registers { a: self.a.filter(|_| self.a == other.a), x: self.x.filter(|_| self.x == other.x) }
    }
}

/// How a block ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Jump(Target),
    /// Code and constant of a conditional jump, and where it leads if the test holds and if not.
    Branch(u16, u32, Target, Target),
}

/// A block.
pub(super) struct Body {
    pub instructions: Vec<Instruction>,
    pub end: End,
}

impl Body {
    pub(super) fn targets(&self) -> [Target; 2] {
        match self.end {
            End::Jump(target) => [target, target],
            End::Branch(_, _, yes, no) => [yes, no],
        }
    }
}

pub(super) struct Generator<'i> {
    ir: &'i Ir,
    code: Vec<Instruction>,
    registers: Registers,
    /// Memory words in use.
    words: u32,
    pub same_in_kernel: bool,
}

impl<'i> Generator<'i> {
    pub(super) fn new(ir: &'i Ir) -> Result<Generator<'i>, Refused> {
        if ir.uses_last {
            return Err(Refused::Last);
        }
        if ir.slots > MEMORY {
            return Err(Refused::Memory);
        }
        Ok(Generator { ir, code: Vec::new(), registers: Registers::default(), words: ir.slots, same_in_kernel: true })
    }

    /// The code of a block that begins with those registers, and what they hold behind it.
    pub(super) fn block(&mut self, registers: Registers, test: Test, yes: Target, no: Target) -> Result<(Body, Registers), Refused> {
        self.registers = registers;
        let end = match test {
            Test::Const(holds) => End::Jump(if holds { yes } else { no }),
            Test::Cmp(lhs, _, rhs) if yes == no => {
                self.value(lhs)?;
                self.reads(rhs)?;
                End::Jump(yes)
            }
            Test::Cmp(lhs, cmp, rhs) => self.comparison((lhs, cmp, rhs), yes, no)?,
            Test::Assign(slot, value) => {
                self.value(value)?;
                self.put(ST, slot.0);
                self.registers = Registers::default();
                End::Jump(yes)
            }
            Test::Geneve(geneve) => {
                self.geneve(geneve)?;
                End::Jump(yes)
            }
            Test::Protochain(_) => return Err(Refused::Loop),
            Test::Within(..) | Test::Tuple(_) | Test::Scan(_) | Test::Rows(_) | Test::Readable(_) | Test::Captured(_) => {
                return Err(Refused::Wide);
            }
        };
        let body = Body { instructions: std::mem::take(&mut self.code), end };
        Ok((body, self.registers))
    }

    /// A value that counts only for what is read.
    fn reads(&mut self, id: ValueId) -> Result<(), Refused> {
        match self.ir.value(id) {
            Value::Const(_) | Value::Len | Value::Slot(_) => Ok(()),
            _ => self.value(id),
        }
    }

    fn comparison(&mut self, (lhs, cmp, rhs): (ValueId, Cmp, ValueId), yes: Target, no: Target) -> Result<End, Refused> {
        if let (Some((value, mask)), Value::Const(0), Cmp::Eq | Cmp::Gt) = (self.masked(lhs), self.ir.value(rhs), cmp) {
            self.value(value)?;
            return Ok(if cmp == Cmp::Eq { End::Branch(JSET, mask, no, yes) } else { End::Branch(JSET, mask, yes, no) });
        }
        let code = match cmp {
            Cmp::Eq => JEQ,
            Cmp::Gt => JGT,
            Cmp::Ge => JGE,
            Cmp::Bits => JSET,
        };
        match self.ir.value(rhs) {
            Value::Const(constant) => {
                self.value(lhs)?;
                Ok(End::Branch(code, constant, yes, no))
            }
            _ => {
                self.both(lhs, rhs)?;
                Ok(End::Branch(code | X, 0, yes, no))
            }
        }
    }

    /// A value of which only some bits count, unless it is in A as it is.
    fn masked(&self, id: ValueId) -> Option<(ValueId, u32)> {
        match self.ir.value(id) {
            Value::Bin(Arithop::And, value, mask) if self.registers.a != Some(id) => match self.ir.value(mask) {
                Value::Const(mask) => Some((value, mask)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Puts one value into A and another into X.
    fn both(&mut self, a: ValueId, x: ValueId) -> Result<(), Refused> {
        match self.ir.value(x) {
            Value::Len | Value::Slot(_) | Value::Const(_) => {
                self.value(a)?;
                self.index(x)
            }
            _ if self.registers == (Registers { a: Some(a), x: Some(x) }) => Ok(()),
            _ if !self.needs_x(a) => {
                self.index(x)?;
                self.value(a)
            }
            _ => {
                self.value(x)?;
                let word = self.words;
                if word >= MEMORY {
                    return Err(Refused::Memory);
                }
                self.put(ST, word);
                self.words += 1;
                self.value(a)?;
                self.words -= 1;
                self.put(LDX_MEM, word);
                self.registers.x = Some(x);
                Ok(())
            }
        }
    }

    /// Computing the value uses X. Recursion is as deep as the parser allows.
    fn needs_x(&self, id: ValueId) -> bool {
        match self.ir.value(id) {
            Value::Load(field) => field.base.is_some(),
            Value::Neg(a) => self.needs_x(a),
            Value::Bin(_, a, b) => self.header(id).is_some() || self.needs_x(a) || !matches!(self.ir.value(b), Value::Const(1..)),
            Value::Const(_) | Value::Len | Value::Slot(_) | Value::Last => false,
        }
    }

    /// Computes a value into A.
    fn value(&mut self, id: ValueId) -> Result<(), Refused> {
        if self.registers.a == Some(id) {
            return Ok(());
        }
        match self.ir.value(id) {
            _ if self.registers.x == Some(id) => self.put(TXA, 0),
            Value::Const(constant) => self.put(LD_IMM, constant),
            Value::Len => self.put(LD_LEN, 0),
            Value::Slot(slot) => self.put(LD_MEM, slot.0),
            Value::Last => return Err(Refused::Last),
            Value::Load(field) => self.load(field)?,
            Value::Neg(a) => {
                self.value(a)?;
                self.put(NEG, 0);
            }
            Value::Bin(..) if self.header(id).is_some() => {
                self.index(id)?;
                self.put(TXA, 0);
            }
            Value::Bin(op, a, b) => self.binary(op, a, b)?,
        }
        self.registers.a = Some(id);
        Ok(())
    }

    fn binary(&mut self, op: Arithop, a: ValueId, b: ValueId) -> Result<(), Refused> {
        let divides = matches!(op, Arithop::Div | Arithop::Mod);
        let shifts = matches!(op, Arithop::Shl | Arithop::Shr);
        match self.ir.value(b) {
            Value::Const(0) if divides => {
                self.value(a)?;
                self.index(b)?;
                self.put(operation(op) | X, 0);
            }
            Value::Const(32..) if shifts => {
                self.value(a)?;
                self.put(LD_IMM, 0);
            }
            Value::Const(constant) => {
                self.value(a)?;
                self.put(operation(op), constant);
            }
            _ => {
                self.both(a, b)?;
                self.same_in_kernel &= !shifts;
                self.put(operation(op) | X, 0);
            }
        }
        Ok(())
    }

    fn load(&mut self, field: Field) -> Result<(), Refused> {
        let size = match field.bytes {
            1 => BYTE,
            2 => HALF,
            4 => 0,
            _ => return Err(Refused::Wide),
        };
        self.note_offset(field);
        match field.base {
            None => self.put(LD_ABS | size, field.offset),
            Some(base) => {
                self.index(base)?;
                self.put(LD_IND | size, field.offset);
            }
        }
        Ok(())
    }

    fn note_offset(&mut self, field: Field) {
        let base = field.base.map_or(0, |base| greatest(self.ir, base));
        self.same_in_kernel &= base.checked_add(field.offset).is_some_and(|at| at <= i32::MAX.unsigned_abs());
    }

    /// Puts a value into X; A is kept where that takes one instruction.
    fn index(&mut self, id: ValueId) -> Result<(), Refused> {
        if self.registers.x == Some(id) {
            return Ok(());
        }
        match self.ir.value(id) {
            _ if self.registers.a == Some(id) => self.put(TAX, 0),
            Value::Const(constant) => self.put(LDX_IMM, constant),
            Value::Len => self.put(LDX_LEN, 0),
            Value::Slot(slot) => self.put(LDX_MEM, slot.0),
            _ => match self.header(id) {
                Some(field) => {
                    self.note_offset(field);
                    self.put(LDX_MSH, field.offset);
                }
                None => {
                    self.value(id)?;
                    self.put(TAX, 0);
                }
            },
        }
        self.registers.x = Some(id);
        Ok(())
    }

    /// The byte with an IPv4 header's length, if the value is that length and the byte's place is
    /// constant.
    fn header(&self, id: ValueId) -> Option<Field> {
        header_len(self.ir, id).filter(|field| field.base.is_none())
    }

    /// Sets the offsets of what is in a Geneve header (RFC 8926): behind its options, of which the
    /// first byte tells the length in words, comes an Ethernet frame, or what the type says.
    fn geneve(&mut self, geneve: Geneve) -> Result<(), Refused> {
        self.value(geneve.header)?;
        let (linktype, linkhdr, linkpl) = (geneve.linktype.0, geneve.linkhdr.0, geneve.linkpl.0);
        // Offsets in a packet are far below what the kernel has other uses for, as long as they do
        // not wrap.
        self.same_in_kernel &= greatest(self.ir, geneve.header) <= i32::MAX.unsigned_abs() - 512;
        let end = [(TAX, 0), (ALU, 2), (ST, linktype), (LD_IND | BYTE, 0), (ALU | 0x50, 0x3f), (ALU | 0x60, 2), (ALU, 8), (ALU | X, 0)];
        let inner = [(LD_MEM, linkhdr), (ALU, 12), (ST, linktype), (LD_MEM, linkhdr), (ALU, 14), (ST, linkpl)];
        end.into_iter().chain([(ST, linkhdr), (ST, linkpl), (LD_IND | HALF, 2)]).for_each(|(code, k)| self.put(code, k));
        self.code.push(Instruction { code: JEQ, jt: 0, jf: 6, k: TRANSPARENT_ETHERNET });
        inner.into_iter().for_each(|(code, k)| self.put(code, k));
        self.registers = Registers::default();
        Ok(())
    }

    fn put(&mut self, code: u16, k: u32) {
        self.code.push(Instruction::new(code, k));
    }
}

fn operation(op: Arithop) -> u16 {
    let number = match op {
        Arithop::Add => 0x00,
        Arithop::Sub => 0x10,
        Arithop::Mul => 0x20,
        Arithop::Div => 0x30,
        Arithop::Or => 0x40,
        Arithop::And => 0x50,
        Arithop::Shl => 0x60,
        Arithop::Shr => 0x70,
        Arithop::Mod => 0x90,
        Arithop::Xor => 0xa0,
    };
    ALU | number
}
