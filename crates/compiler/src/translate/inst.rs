//! Instructions that compute, move values or steer: one arm each, in operations.

use super::{Cursor, Next, Translator};
use crate::mir::{Helper, Op, Terminator, Type, Value};
use netil::exec::DropReason;
use netil::module::{Extra, Inst};
use netil::ops::{BinOp, CmpOp, UnOp};
use netil::table::{Op as N, Own, Sem};

impl Translator<'_> {
    pub(super) fn inst(&mut self, c: &mut Cursor, inst: &Inst) -> Next {
        let width = inst.imm[0] as u16;
        if let price @ 1.. = netil::budget::price(inst) {
            self.op(c, Type::Void, Op::Budget(c.site(), price));
        }
        match inst.op.row().sem {
            Sem::Load(space, bytes, signed) => self.load(c, space, bytes, signed),
            Sem::Store(space, bytes) => self.store(c, space, u16::from(bytes) * 8),
            Sem::Bin(op) | Sem::WideBin(op) => self.binary(c, op),
            Sem::Checked(op, signed) => {
                let (b, a) = (c.pop(), c.pop());
                let v = self.int(c, 32, Op::Checked(op, signed, a, b, c.site()));
                c.push(v);
            }
            Sem::Un(op) | Sem::WideUn(op) => self.unary(c, op),
            Sem::JumpCmp(op) => {
                let (b, a) = (c.pop(), c.pop());
                let taken = self.int(c, 1, Op::Cmp(op, a, b));
                return self.branch(c, taken, inst.imm[0]);
            }
            Sem::JumpZero(op) => {
                let (a, zero) = (c.pop(), self.constant(c, 0));
                let taken = self.int(c, 1, Op::Cmp(op, a, zero));
                return self.branch(c, taken, inst.imm[0]);
            }
            Sem::JumpField(op) => {
                let taken = self.helper(c, Helper::FieldCmp(op), 3, Type::Int(1));
                return self.branch(c, taken, inst.imm[0]);
            }
            Sem::Scan(bytes) => self.helper_push(c, Helper::Scan(bytes), 2),
            Sem::Copy(from, to) => self.helper_void(c, Helper::Copy(from, to), 3),
            Sem::WideCmp(op) => {
                let (b, a) = (c.pop(), c.pop());
                let v = self.int(c, 1, Op::Cmp(op, a, b));
                self.push_flag(c, v);
            }
            Sem::WideLoad(space) => self.wide_load(c, space, width),
            Sem::WideStore(space) => self.store(c, space, width),
            Sem::Own(own) => return self.own(c, own, inst),
        }
        Next::Fall
    }

    fn own(&mut self, c: &mut Cursor, own: Own, inst: &Inst) -> Next {
        let n = inst.imm[0];
        match own {
            Own::Jump | Own::JumpW => {
                let edge = self.branch_edge(c, n);
                self.end(c, Terminator::Jump(edge));
                return Next::Ended;
            }
            Own::Switch => return self.switch(c, inst),
            Own::Call | Own::CallW => return self.call(c, n),
            Own::Ret => return self.ret(c),
            Own::Exit | Own::PktDrop => {
                self.end(c, Terminator::Drop(DropReason::Program(n)));
                return Next::Ended;
            }
            Own::PktSend => return self.send(c, n),
            Own::PktSendBy => return self.send_by(c, n, inst.imm[1]),
            Own::PktReceive => return self.receive(c, n),
            Own::ChksumJump => {
                let taken = self.helper(c, Helper::ChecksumValid, 2, Type::Int(1));
                return self.branch(c, taken, n);
            }
            Own::Inc1 | Own::Inc2 | Own::Inc3 | Own::Inc4 | Own::Dec1 | Own::Dec2 | Own::Dec3 | Own::Dec4 => self.step_element(c, inst.op),
            Own::Push | Own::Push2 | Own::PushC0 | Own::PushC1 | Own::PushC2 | Own::PushCm1 | Own::WPush => self.constants(c, inst),
            Own::Pop | Own::PopI | Own::Dup | Own::Swap | Own::LocLoad | Own::LocStore => self.shuffle(c, inst),
            Own::Cmp | Own::MCmp | Own::CmpS => self.three_way(c, inst.op),
            Own::MFindBit | Own::XFindBit | Own::XmFindBit => self.find_bits(c, inst),
            Own::SetBit | Own::ClearBit | Own::FlipBit | Own::TestBit | Own::TestNBit => self.one_bit(c, inst.op),
            Own::WZext | Own::WSext | Own::WTrunc | Own::WSlice | Own::WConcat | Own::WSelect | Own::SetHas => self.wide_own(c, inst),
            Own::Sleep => drop(c.pop()),
            Own::Nop | Own::Break | Own::SetShare | Own::CoproInit => {}
            Own::IpLen | Own::Pbl | Own::PblOrig | Own::TstampS | Own::TstampU | Own::TimeNs | Own::WireSet => self.packet_own(c, inst),
            Own::TimeSet | Own::TimerSet | Own::Rnd | Own::LoadE | Own::StoreE | Own::InfoClr => self.packet_own(c, inst),
            Own::PktMoved | Own::PktPresent | Own::PktHold | Own::PktTake | Own::PktAsk | Own::PktCheck => self.packet_own(c, inst),
            Own::PktSendDup | Own::ExbufCreate | Own::ExbufDelete => self.packet_own(c, inst),
            Own::PktPush | Own::PktPull | Own::PktTrim | Own::PktGrow | Own::PktUnpull => self.packet_own(c, inst),
            Own::ChksumCalc | Own::ChksumAdd | Own::ChksumSub | Own::CrcCalc | Own::CrcCalcPkt => self.packet_own(c, inst),
            Own::Hash32 | Own::Hash | Own::CoproIn | Own::CoproOut | Own::CoproInvoke | Own::CoproExbuf => self.packet_own(c, inst),
            Own::TFind | Own::TPeek | Own::TInsert | Own::TDelete | Own::TNone | Own::TValid | Own::TLoad | Own::TStore => {
                self.packet_own(c, inst);
            }
            Own::TWalk | Own::TDue | Own::TNext | Own::TKey | Own::TDeadline => self.packet_own(c, inst),
        }
        Next::Fall
    }

    fn binary(&mut self, c: &mut Cursor, op: BinOp) {
        let (b, a) = (c.pop(), c.pop());
        let width = self.func.width(a);
        let v = if op.divides() {
            let token = self.op(c, Type::Token, Op::NonZero(b, c.site()));
            self.int(c, width, Op::Div(op, a, b, token))
        } else {
            self.int(c, width, Op::Bin(op, a, b))
        };
        c.push(v);
    }

    fn unary(&mut self, c: &mut Cursor, op: UnOp) {
        let a = c.pop();
        let v = self.int(c, self.func.width(a), Op::Un(op, a));
        c.push(v);
    }

    /// Pushes an i1 as 1 or 0.
    fn push_flag(&mut self, c: &mut Cursor, flag: Value) {
        let v = self.int(c, 32, Op::Zext(flag));
        c.push(v);
    }

    fn switch(&mut self, c: &mut Cursor, inst: &Inst) -> Next {
        let key = c.pop();
        if let Extra::Switch(s) = &inst.extra {
            let cases = s.cases.iter().map(|(key, target)| (*key, self.branch_edge(c, *target))).collect();
            let default = self.branch_edge(c, s.default);
            self.end(c, Terminator::Switch(key, cases, default));
        }
        Next::Ended
    }

    fn step_element(&mut self, c: &mut Cursor, op: N) {
        let Some((n, by)) = op.step() else { return };
        let (at, by) = (c.frame.stack.len() - n, self.constant(c, by));
        c.frame.stack[at] = self.int(c, 32, Op::Bin(BinOp::Add, c.frame.stack[at], by));
    }

    fn constants(&mut self, c: &mut Cursor, inst: &Inst) {
        for v in inst.constants() {
            let v = self.constant(c, *v);
            c.push(v);
        }
        let Extra::Const(limbs) = &inst.extra else { return };
        let op = if let [small] = limbs[..] { Op::Const(small) } else { Op::WideConst(limbs.clone()) };
        let v = self.int(c, inst.imm[0] as u16, op);
        c.push(v);
    }

    fn shuffle(&mut self, c: &mut Cursor, inst: &Inst) {
        let n = inst.imm[0] as usize;
        match inst.op {
            N::Pop => drop(c.pop()),
            N::PopI => c.frame.stack.truncate(c.frame.stack.len() - n),
            N::Dup => c.frame.stack.extend_from_within(c.frame.stack.len() - 1..),
            N::Swap => {
                let len = c.frame.stack.len();
                c.frame.stack.swap(len - 1, len - 2);
            }
            N::LocLoad => c.push(c.frame.locals[n].expect("the verifier saw it written")),
            _ => c.frame.locals[n] = Some(c.pop()),
        }
    }

    /// 0 if equal, 1 if top is greater than second, −1 if less.
    fn three_way(&mut self, c: &mut Cursor, op: N) {
        let (mut top, mut second) = (c.pop(), c.pop());
        if op == N::MCmp {
            let mask = c.pop();
            top = self.int(c, 32, Op::Bin(BinOp::And, top, mask));
            second = self.int(c, 32, Op::Bin(BinOp::And, second, mask));
        }
        let greater = if op == N::CmpS { CmpOp::Gts } else { CmpOp::Gt };
        let (zero, one, minus) = (self.constant(c, 0), self.constant(c, 1), self.constant(c, u32::MAX));
        let greater = self.int(c, 1, Op::Cmp(greater, top, second));
        let unequal = self.int(c, 32, Op::Select(greater, one, minus));
        let equal = self.int(c, 1, Op::Cmp(CmpOp::Eq, top, second));
        let v = self.int(c, 32, Op::Select(equal, zero, unequal));
        c.push(v);
    }

    fn find_bits(&mut self, c: &mut Cursor, inst: &Inst) {
        let mask = (inst.op != N::XFindBit).then(|| c.pop());
        let n = if inst.op == N::MFindBit { 1 } else { inst.imm[0] as usize };
        for at in c.frame.stack.len() - n..c.frame.stack.len() {
            let mut v = c.frame.stack[at];
            if let Some(mask) = mask {
                v = self.int(c, 32, Op::Bin(BinOp::And, v, mask));
            }
            c.frame.stack[at] = self.int(c, 32, Op::Un(UnOp::FindBit, v));
        }
    }

    fn one_bit(&mut self, c: &mut Cursor, op: N) {
        let (index, v) = (c.pop(), c.pop());
        let one = self.constant(c, 1);
        let v = match op {
            N::TestBit | N::TestNBit => {
                let shifted = self.int(c, 32, Op::Bin(BinOp::UShr, v, index));
                let bit = self.int(c, 32, Op::Bin(BinOp::And, shifted, one));
                if op == N::TestBit { bit } else { self.int(c, 32, Op::Bin(BinOp::Xor, bit, one)) }
            }
            _ => {
                let bit = self.int(c, 32, Op::Bin(BinOp::Shl, one, index));
                let (op, bit) = match op {
                    N::SetBit => (BinOp::Or, bit),
                    N::FlipBit => (BinOp::Xor, bit),
                    _ => (BinOp::And, self.int(c, 32, Op::Un(UnOp::Not, bit))),
                };
                self.int(c, 32, Op::Bin(op, v, bit))
            }
        };
        c.push(v);
    }

    fn wide_own(&mut self, c: &mut Cursor, inst: &Inst) {
        let [a, b, low] = inst.imm.map(|v| v as u16);
        let top = c.pop();
        let v = match inst.op {
            N::WZext => self.int(c, b, Op::Zext(top)),
            N::WSext => self.int(c, b, Op::Sext(top)),
            N::WTrunc => self.int(c, b, Op::Trunc(top)),
            N::WSlice => self.int(c, b - low + 1, Op::Slice(top, low)),
            N::WConcat => {
                let high = c.pop();
                self.int(c, a + b, Op::Concat(high, top))
            }
            N::WSelect => {
                let (then, condition) = (c.pop(), c.pop());
                let condition = self.not_zero(c, condition);
                self.int(c, a, Op::Select(condition, then, top))
            }
            _ => {
                let held = self.int(c, 1, Op::SetHas(inst.imm[0], top));
                self.int(c, 32, Op::Zext(held))
            }
        };
        c.push(v);
    }
}
