//! Values of any width.

use super::Run;
use crate::exec::TrapKind;
use crate::module::Inst;
use crate::ops::{BinOp, CmpOp, UnOp};
use crate::table::Op;
use crate::wide;

impl Run<'_, '_> {
    pub(super) fn wide_binary(&mut self, op: BinOp, width: u16) -> Result<(), TrapKind> {
        let b = self.pop_wide(if op.is_shift() { 32 } else { width });
        let a = self.pop_wide(width);
        let value = wide::bin(op, width, &a, &b).ok_or(TrapKind::DivisionByZero)?;
        self.stack.extend(value);
        Ok(())
    }

    pub(super) fn wide_unary(&mut self, op: UnOp, width: u16) {
        let a = self.pop_wide(width);
        self.stack.extend(wide::un(op, width, &a));
    }

    pub(super) fn wide_compare(&mut self, op: CmpOp, width: u16) {
        let (b, a) = (self.pop_wide(width), self.pop_wide(width));
        self.push(wide::cmp(op, width, &a, &b).into());
    }

    pub(super) fn wide_own(&mut self, inst: &Inst) {
        let [a, b, c] = inst.imm.map(|v| v as u16);
        match inst.op {
            Op::WSlice => {
                let v = self.pop_wide(a);
                self.stack.extend(wide::slice(a, &v, b, c));
            }
            Op::WConcat => {
                let (low, high) = (self.pop_wide(b), self.pop_wide(a));
                self.stack.extend(wide::concat(a, &high, b, &low));
            }
            Op::WSelect => {
                let (otherwise, then) = (self.pop_wide(a), self.pop_wide(a));
                let chosen = if self.pop() != 0 { then } else { otherwise };
                self.stack.extend(chosen);
            }
            Op::SetHas => {
                let set = &self.program.module().sets[inst.imm[0] as usize];
                let v = self.pop_wide(set.width());
                self.push(set.contains(&v).into());
            }
            _ => {
                let v = self.pop_wide(a);
                self.stack.extend(wide::resize(a, b, inst.op == Op::WSext, &v));
            }
        }
    }
}
