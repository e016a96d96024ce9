//! Blocks in a row, jumps as distances, instructions as bytes.

use super::Refused;
use super::lir::{Code, Cond, End, Inst, Label, Reg, Src};

/// Classes, sources and modes of the instruction set.
const LD: u8 = 0x00;
const LDX: u8 = 0x01;
const ST: u8 = 0x02;
const STX: u8 = 0x03;
const ALU: u8 = 0x04;
const JMP: u8 = 0x05;
const JMP32: u8 = 0x06;
const ALU64: u8 = 0x07;
const MEM: u8 = 0x60;
const REGISTER: u8 = 0x08;
const DOUBLE: u8 = 0x18;
const END_TO_BE: u8 = 0xdc;
const CALL: u8 = 0x80;
const EXIT: u8 = 0x90;
/// Goes on, or jumps when the limit of the kernel is reached: since Linux 6.9.
const MAY_GOTO: u8 = 0xe0;
/// In the source register of a constant of 64 bits: a map, or a place in a map's one value; of a
/// call: a function of the program.
const PSEUDO_MAP: u8 = 1;
const PSEUDO_VALUE: u8 = 2;
const PSEUDO_CALL: u8 = 1;

/// A reference to a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Index of the instruction, whose immediate is to be the map's descriptor.
    pub at: usize,
    /// Index of the map.
    pub map: u32,
    /// The offset of a byte of its one value; none for the map itself.
    pub offset: Option<u32>,
}

/// A call of a function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnCall {
    /// Index of the instruction.
    pub at: usize,
    /// The function's number.
    pub function: u32,
}

/// A function's instructions, and which of them are to be completed.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    pub insts: Vec<[u8; 8]>,
    pub references: Vec<Reference>,
    pub calls: Vec<OwnCall>,
    /// Whether there are jumps backwards.
    pub loops: bool,
}

/// A function's instructions, eight bytes each.
pub(super) fn encode(code: &Code) -> Result<Encoded, Refused> {
    let order = code.order();
    let mut out =
        Encoder { out: Vec::new(), references: Vec::new(), calls: Vec::new(), jumps: Vec::new(), starts: vec![0; code.blocks.len()] };
    for (i, label) in order.iter().enumerate() {
        out.starts[label.0 as usize] = out.out.len();
        let block = &code.blocks[label.0 as usize];
        block.insts.iter().for_each(|inst| out.inst(inst));
        out.end(block.end, order.get(i + 1).copied());
    }
    out.resolve()?;
    let loops = order.iter().any(|label| matches!(code.blocks[label.0 as usize].end, End::Again { .. }));
    Ok(Encoded { insts: out.out, references: out.references, calls: out.calls, loops })
}

struct Encoder {
    out: Vec<[u8; 8]>,
    references: Vec<Reference>,
    calls: Vec<OwnCall>,
    jumps: Vec<(usize, Label)>,
    starts: Vec<usize>,
}

impl Encoder {
    fn put(&mut self, opcode: u8, dst: Reg, src: u8, offset: i16, imm: i32) {
        let ([low, high], imm) = (offset.to_le_bytes(), imm.to_le_bytes());
        self.out.push([opcode, dst.0 as u8 | src << 4, low, high, imm[0], imm[1], imm[2], imm[3]]);
    }

    fn with(&mut self, opcode: u8, dst: Reg, src: Src, offset: i16) {
        match src {
            Src::Reg(r) => self.put(opcode | REGISTER, dst, r.0 as u8, offset, 0),
            Src::Imm(imm) => self.put(opcode, dst, 0, offset, imm),
        }
    }

    fn double(&mut self, dst: Reg, pseudo: u8, low: u32, high: u32) {
        self.put(LD | DOUBLE, dst, pseudo, 0, low.cast_signed());
        self.put(0, Reg(0), 0, 0, high.cast_signed());
    }

    fn inst(&mut self, inst: &Inst) {
        match *inst {
            Inst::Alu { op, wide, dst, src } => self.with((op as u8) << 4 | if wide { ALU64 } else { ALU }, dst, src, 0),
            Inst::Swap { dst, bits } => self.put(END_TO_BE, dst, 0, 0, i32::from(bits)),
            Inst::Const { dst, value } => self.double(dst, 0, value as u32, (value >> 32) as u32),
            Inst::Address { dst, map, offset } => {
                self.references.push(Reference { at: self.out.len(), map, offset: Some(offset) });
                self.double(dst, PSEUDO_VALUE, 0, offset);
            }
            Inst::Map { dst, map } => {
                self.references.push(Reference { at: self.out.len(), map, offset: None });
                self.double(dst, PSEUDO_MAP, 0, 0);
            }
            Inst::Load { dst, base, offset, size } => self.put(LDX | MEM | size as u8, dst, base.0 as u8, offset, 0),
            Inst::Store { base, offset, size, src: Src::Reg(src) } => self.put(STX | MEM | size as u8, base, src.0 as u8, offset, 0),
            Inst::Store { base, offset, size, src: Src::Imm(imm) } => self.put(ST | MEM | size as u8, base, 0, offset, imm),
            Inst::Call { function, .. } => self.put(JMP | CALL, Reg(0), 0, 0, function),
            Inst::Own { function, .. } => {
                self.calls.push(OwnCall { at: self.out.len(), function });
                self.put(JMP | CALL, Reg(0), PSEUDO_CALL, 0, -1);
            }
        }
    }

    fn end(&mut self, end: End, next: Option<Label>) {
        match end {
            End::Exit => self.put(JMP | EXIT, Reg(0), 0, 0, 0),
            End::Jump(to) => self.jump(to, next),
            End::Again { again, out } => {
                self.jumps.push((self.out.len(), out));
                self.put(JMP | MAY_GOTO, Reg(0), 0, 0, 0);
                self.jump(again, next);
            }
            End::Branch { cond, wide, a, b, yes, no } => match cond.negated() {
                Some(not) if Some(yes) == next => self.branch(not, wide, a, b, no),
                _ => {
                    self.branch(cond, wide, a, b, yes);
                    self.jump(no, next);
                }
            },
        }
    }

    fn branch(&mut self, cond: Cond, wide: bool, a: Reg, b: Src, to: Label) {
        self.jumps.push((self.out.len(), to));
        self.with((cond as u8) << 4 | if wide { JMP } else { JMP32 }, a, b, 0);
    }

    fn jump(&mut self, to: Label, next: Option<Label>) {
        if Some(to) == next {
            return;
        }
        self.jumps.push((self.out.len(), to));
        self.put(JMP, Reg(0), 0, 0, 0);
    }

    fn resolve(&mut self) -> Result<(), Refused> {
        for (at, to) in &self.jumps {
            let distance = self.starts[to.0 as usize] as i64 - *at as i64 - 1;
            let Ok(distance) = i16::try_from(distance) else {
                return Err(Refused::whole(format!("a jump over {distance} instructions; 32,767 are the most")));
            };
            self.out[*at][2..4].copy_from_slice(&distance.to_le_bytes());
        }
        Ok(())
    }
}
