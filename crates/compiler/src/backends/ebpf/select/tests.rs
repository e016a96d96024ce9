//! Tests of values, as branches: comparisons, lengths, bits.

use super::super::lir::{Alu, Cond, Label, Reg, Src};
use super::super::proofs::MOST_OFFSET;
use super::{Refused, Select, limbs};
use crate::mir::{Op, Value};
use netil::ops::{BinOp, CmpOp};

/// What holds where a branch went one way: so many bytes behind a pointer are in the packet.
pub(in super::super) struct Proof {
    pub pointer: Reg,
    pub bytes: u32,
    /// Where the condition holds, or where it does not.
    pub on: bool,
}

impl Select<'_> {
    /// Ends the block with a branch on an i1.
    pub fn jump_if(&mut self, c: Value, yes: Label, no: Label) -> Result<Option<Proof>, Refused> {
        if !self.needed[c.0 as usize] {
            match self.func.op(c) {
                Some(Op::Cmp(op, a, b)) => return Ok(self.compare(*op, *a, *b, yes, no)),
                Some(Op::SetHas(set, v)) => return self.member(*set, *v, yes, no).map(|()| None),
                _ => {}
            }
        }
        if let Some(Op::Cmp(op, a, b)) = self.func.op(c) {
            return Ok(self.compare(*op, *a, *b, yes, no));
        }
        let flag = self.reg(c);
        self.branch(Cond::Ne, false, flag, Src::Imm(0), yes, no);
        Ok(None)
    }

    /// 1 or 0, by a branch.
    pub fn flag(&mut self, jump: impl FnOnce(&mut Self, Label, Label) -> Result<(), Refused>) -> Result<Reg, Refused> {
        let (dst, zero, join) = (self.code.register(), self.code.block(), self.code.block());
        self.set(dst, 1);
        jump(self, join, zero)?;
        self.at = zero;
        self.set(dst, 0);
        self.ends(super::End::Jump(join));
        self.at = join;
        Ok(dst)
    }

    pub fn compare(&mut self, op: CmpOp, a: Value, b: Value, yes: Label, no: Label) -> Option<Proof> {
        let width = self.func.width(a);
        if width > 64 {
            self.compare_limbs(op, a, b, yes, no);
            return None;
        }
        if let Some(proof) = self.length(op, a, b, yes, no).or_else(|| self.length(op.swapped(), b, a, yes, no)) {
            return Some(proof);
        }
        // The constant to the right.
        let (op, a, b) = if self.small(a).is_some() { (op.swapped(), b, a) } else { (op, a, b) };
        if self.bits(op, a, b, yes, no) {
            return None;
        }
        let signed = matches!(op, CmpOp::Lts | CmpOp::Les | CmpOp::Gts | CmpOp::Ges);
        // An entry of a table is a pointer, which is compared with 0 as a whole.
        let wide = width > 32 || self.entries[a.0 as usize];
        if signed && !matches!(width, 32 | 64) {
            let (a, b) = (self.reg(a), self.reg(b));
            let (a, b) = (self.signed(a, width), self.signed(b, width));
            self.branch(cond(op), true, a, Src::Reg(b), yes, no);
            return None;
        }
        let a = self.reg(a);
        let b = self.src(b, wide);
        self.branch(cond(op), wide, a, b, yes, no);
        None
    }

    /// `x & mask` against 0, in one instruction.
    fn bits(&mut self, op: CmpOp, a: Value, b: Value, yes: Label, no: Label) -> bool {
        let Some(Op::Bin(BinOp::And, x, m)) = self.func.op(a) else { return false };
        let (Some(0), CmpOp::Eq | CmpOp::Ne) = (self.small(b), op) else { return false };
        let wide = self.func.width(a) > 32;
        let x = self.reg(*x);
        let m = self.src(*m, wide);
        let (yes, no) = if op == CmpOp::Ne { (yes, no) } else { (no, yes) };
        self.branch(Cond::Set, wide, x, m, yes, no);
        true
    }

    /// `packet.len op b` as the verifier wants it: a pointer against the packet's end.
    fn length(&mut self, op: CmpOp, a: Value, b: Value, yes: Label, no: Label) -> Option<Proof> {
        if !matches!(self.func.op(a), Some(Op::PacketLen | Op::WireLen)) {
            return None;
        }
        let (more, on) = match op {
            CmpOp::Lt => (0, false),
            CmpOp::Le => (1, false),
            CmpOp::Gt => (1, true),
            CmpOp::Ge => (0, true),
            _ => return None,
        };
        let (x, constant) = self.bounds.split(self.func, b);
        let bytes = u32::try_from(constant + more).ok().filter(|bytes| *bytes <= MOST_OFFSET)?;
        let pointer = match x {
            None => self.data,
            Some(x) if self.bounds.of(x).checked_add(u64::from(bytes))? <= u64::from(MOST_OFFSET) => self.pointer(x),
            Some(_) => return None,
        };
        self.until(pointer, bytes, if on { Cond::Le } else { Cond::Gt }, yes, no);
        Some(Proof { pointer, bytes, on })
    }

    /// Ends the block with the comparison of a pointer plus a constant with the packet's end.
    pub fn until(&mut self, pointer: Reg, bytes: u32, cond: Cond, yes: Label, no: Label) {
        let last = self.copy(pointer);
        if bytes > 0 {
            self.alu(Alu::Add, true, last, Src::Imm(bytes.cast_signed()));
        }
        let end = Src::Reg(self.end);
        self.branch(cond, true, last, end, yes, no);
    }

    /// Goes to `yes` if the key is in the range.
    pub fn in_range(&mut self, key: Reg, wide: bool, low: u64, high: u64, yes: Label, no: Label) {
        let most = if wide { u64::MAX } else { u64::from(u32::MAX) };
        let (cond, key, bound) = match (low, high) {
            (low, high) if low == high => (Cond::Eq, key, low),
            (0, high) => (Cond::Le, key, high),
            (low, high) if high == most => (Cond::Ge, key, low),
            (low, high) => (Cond::Le, self.less(key, wide, low), high - low),
        };
        let bound = self.immediate(bound, wide);
        self.branch(cond, wide, key, bound, yes, no);
    }

    /// `key − low`, modulo 2^32 or 2^64.
    pub fn less(&mut self, key: Reg, wide: bool, low: u64) -> Reg {
        if low == 0 {
            return key;
        }
        let negative = if wide { low.wrapping_neg() } else { u64::from((low as u32).wrapping_neg()) };
        let by = self.immediate(negative, wide);
        self.made(Alu::Add, wide, key, by)
    }

    /// Limb by limb from the highest one on.
    fn compare_limbs(&mut self, op: CmpOp, a: Value, b: Value, yes: Label, no: Label) {
        let width = self.func.width(a);
        let (a, b) = (self.limbs(a), self.limbs(b));
        let signed = matches!(op, CmpOp::Lts | CmpOp::Les | CmpOp::Gts | CmpOp::Ges);
        let (less, greater, equal) = (op.holds(less(), less()), op.holds(greater(), greater()), op.holds(same(), same()));
        let to = |holds: bool| if holds { yes } else { no };
        for i in (0..limbs(width)).rev() {
            let top = signed && i + 1 == limbs(width);
            let (mut x, mut y) = (a[i], b[i]);
            if top && !width.is_multiple_of(64) {
                (x, y) = (self.signed(x, width % 64), self.signed(y, width % 64));
            }
            let next = if i == 0 { to(equal) } else { self.code.block() };
            if less == greater {
                self.branch(Cond::Eq, true, x, Src::Reg(y), next, to(less));
            } else {
                let differs = self.code.block();
                self.branch(Cond::Eq, true, x, Src::Reg(y), next, differs);
                self.at = differs;
                self.branch(if top { Cond::Slt } else { Cond::Lt }, true, x, Src::Reg(y), to(less), to(greater));
            }
            self.at = next;
        }
    }
}

fn less() -> std::cmp::Ordering {
    std::cmp::Ordering::Less
}

fn same() -> std::cmp::Ordering {
    std::cmp::Ordering::Equal
}

fn greater() -> std::cmp::Ordering {
    std::cmp::Ordering::Greater
}

fn cond(op: CmpOp) -> Cond {
    match op {
        CmpOp::Eq => Cond::Eq,
        CmpOp::Ne => Cond::Ne,
        CmpOp::Lt => Cond::Lt,
        CmpOp::Le => Cond::Le,
        CmpOp::Gt => Cond::Gt,
        CmpOp::Ge => Cond::Ge,
        CmpOp::Lts => Cond::Slt,
        CmpOp::Les => Cond::Sle,
        CmpOp::Gts => Cond::Sgt,
        CmpOp::Ges => Cond::Sge,
    }
}
