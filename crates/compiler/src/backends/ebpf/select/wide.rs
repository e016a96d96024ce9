//! Operations on values of more than 64 bits, or from such to smaller ones: a register for each 64
//! bits.

use super::super::Refused;
use super::super::lir::{Alu, Cond, End, Inst, Reg, Src};
use super::{Select, limbs};
use crate::mir::{Op, Value};
use netil::ops::{BinOp, UnOp};

impl Select<'_> {
    pub fn wide(&mut self, op: &Op, width: u16) -> Result<Vec<Reg>, Refused> {
        let mut made = match op {
            Op::Bin(BinOp::And, a, b) => self.each(Alu::And, *a, *b),
            Op::Bin(BinOp::Or, a, b) => self.each(Alu::Or, *a, *b),
            Op::Bin(BinOp::Xor, a, b) => self.each(Alu::Xor, *a, *b),
            Op::Bin(BinOp::Add, a, b) => {
                let (a, b) = (self.limbs(*a), self.limbs(*b));
                self.chain(&a, &b, Alu::Add)
            }
            Op::Bin(BinOp::Sub, a, b) => {
                let (a, b) = (self.limbs(*a), self.limbs(*b));
                self.chain(&a, &b, Alu::Sub)
            }
            Op::Bin(BinOp::Shl, a, by) if self.small(*by).is_some() => {
                let (a, by) = (self.limbs(*a), self.small(*by).unwrap_or(0));
                self.up(&a, by, limbs(width))
            }
            Op::Bin(BinOp::UShr, a, by) if self.small(*by).is_some() => {
                let (a, by) = (self.limbs(*a), self.small(*by).unwrap_or(0));
                self.down(&a, by, limbs(width))
            }
            Op::Un(UnOp::Not, a) => self.limbs(*a).into_iter().map(|r| self.made(Alu::Xor, true, r, Src::Imm(-1))).collect(),
            Op::Un(UnOp::Neg, a) => {
                let (a, zero) = (self.limbs(*a), self.constant(0));
                self.chain(&vec![zero; a.len()], &a, Alu::Sub)
            }
            Op::Un(UnOp::Bswap, a) if width.is_multiple_of(64) => {
                let swap = |s: &mut Self, r: Reg| {
                    let r = s.copy(r);
                    s.emit(Inst::Swap { dst: r, bits: 64 });
                    r
                };
                self.limbs(*a).into_iter().rev().map(|r| swap(self, r)).collect()
            }
            Op::Zext(a) => {
                let mut a = self.limbs(*a);
                a.resize_with(limbs(width), || self.constant(0));
                return Ok(a);
            }
            Op::Sext(a) => self.sext(*a, width),
            Op::Trunc(a) => {
                let a = self.limbs(*a);
                self.down(&a, 0, limbs(width))
            }
            Op::Slice(a, low) => {
                let a = self.limbs(*a);
                self.down(&a, u64::from(*low), limbs(width))
            }
            Op::Concat(high, low) => {
                let by = self.func.width(*low);
                let (high, low) = (self.limbs(*high), self.limbs(*low));
                let made = self.up(&high, u64::from(by), limbs(width));
                made.iter().zip(low).for_each(|(r, low)| self.alu(Alu::Or, true, *r, Src::Reg(low)));
                made
            }
            other => return Err(Refused::whole(format!("'{other}' on {width} bits"))),
        };
        if !width.is_multiple_of(64)
            && let Some(top) = made.last_mut()
        {
            self.cut(*top, width % 64);
        }
        Ok(made)
    }

    fn each(&mut self, op: Alu, a: Value, b: Value) -> Vec<Reg> {
        let (a, b) = (self.limbs(a), self.limbs(b));
        a.into_iter().zip(b).map(|(a, b)| self.made(op, true, a, Src::Reg(b))).collect()
    }

    /// A sum or a difference, with what is carried or borrowed from limb to limb.
    fn chain(&mut self, a: &[Reg], b: &[Reg], op: Alu) -> Vec<Reg> {
        let (mut carried, mut made) = (None, Vec::new());
        for (a, b) in a.iter().zip(b) {
            let first = self.made(op, true, *a, Src::Reg(*b));
            let carry = self.overflowed(op, *a, first);
            let mut r = first;
            if let Some(before) = carried {
                r = self.made(op, true, first, Src::Reg(before));
                let again = self.overflowed(op, first, r);
                self.alu(Alu::Or, true, carry, Src::Reg(again));
            }
            made.push(r);
            carried = Some(carry);
        }
        made
    }

    /// 1 if a sum is less than `before`, or a difference greater.
    fn overflowed(&mut self, op: Alu, before: Reg, after: Reg) -> Reg {
        let (dst, one, join) = (self.constant(0), self.code.block(), self.code.block());
        self.branch(if op == Alu::Add { Cond::Lt } else { Cond::Gt }, true, after, Src::Reg(before), one, join);
        self.at = one;
        self.set(dst, 1);
        self.ends(End::Jump(join));
        self.at = join;
        dst
    }

    fn sext(&mut self, a: Value, width: u16) -> Vec<Reg> {
        let of = self.func.width(a);
        let mut made = self.limbs(a);
        let Some(top) = made.pop() else { return made };
        let top = self.signed(top, if of.is_multiple_of(64) { 64 } else { of % 64 });
        made.push(top);
        while made.len() < limbs(width) {
            let sign = self.made(Alu::Arsh, true, top, Src::Imm(63));
            made.push(sign);
        }
        // The top one is cut afterwards; it may be a register of another value.
        made.into_iter().map(|r| self.copy(r)).collect()
    }

    /// Shifted up by a constant.
    fn up(&mut self, a: &[Reg], by: u64, count: usize) -> Vec<Reg> {
        let (whole, bits) = ((by / 64) as usize, (by % 64) as i32);
        (0..count)
            .map(|i| self.joined(i.checked_sub(whole + 1).and_then(|i| a.get(i)), i.checked_sub(whole).and_then(|i| a.get(i)), bits, true))
            .collect()
    }

    /// Shifted down by a constant.
    fn down(&mut self, a: &[Reg], by: u64, count: usize) -> Vec<Reg> {
        let (whole, bits) = (usize::try_from(by / 64).unwrap_or(usize::MAX - 1).min(64), (by % 64) as i32);
        (0..count).map(|i| self.joined(a.get(i + whole), a.get(i + whole + 1), bits, false)).collect()
    }

    /// 64 bits out of two neighbours: shifted up, the higher one by so many bits and the lower
    /// one's upper bits; or down.
    fn joined(&mut self, low: Option<&Reg>, high: Option<&Reg>, bits: i32, up: bool) -> Reg {
        let (low_by, high_by) = if up { ((Alu::Rsh, 64 - bits), (Alu::Lsh, bits)) } else { ((Alu::Rsh, bits), (Alu::Lsh, 64 - bits)) };
        let part = |s: &mut Self, r: Option<&Reg>, (op, by): (Alu, i32)| match r {
            Some(r) if by < 64 => Some(if by == 0 { s.copy(*r) } else { s.made(op, true, *r, Src::Imm(by)) }),
            _ => None,
        };
        match (part(self, low, low_by), part(self, high, high_by)) {
            (Some(a), Some(b)) => {
                self.alu(Alu::Or, true, a, Src::Reg(b));
                a
            }
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => self.constant(0),
        }
    }
}
