//! Dispatch, arithmetic, the stack and flow control.

use super::{Next, Run};
use crate::digest;
use crate::exec::{Disposition, DropReason, TrapKind, random};
use crate::module::{Extra, HandlerKind, Inst, slots};
use crate::ops::{BinOp, CmpOp, UnOp, checked32};
use crate::table::{Op, Own, Sem};
use std::cmp::Ordering;

impl Run<'_, '_> {
    /// Executes the instruction at `self.at`.
    pub(super) fn step(&mut self) -> Result<Next, TrapKind> {
        let handler = self.handler;
        let inst = &handler.code[self.at as usize];
        if let price @ 1.. = self.plan.prices[self.at as usize] {
            self.budget.units(price)?;
        }
        match inst.op.row().sem {
            Sem::Load(space, bytes, signed) => self.load(space, bytes, signed)?,
            Sem::Store(space, bytes) => self.store(space, bytes)?,
            Sem::Bin(op) => self.binary(|a, b| op.eval(32, a.into(), b.into()).map(|v| v as u32).ok_or(TrapKind::DivisionByZero))?,
            Sem::Checked(op, signed) => self.binary(|a, b| checked32(op, signed, a, b).ok_or(TrapKind::Overflow))?,
            Sem::Un(op) => self.unary(|a| op.eval(32, a.into()) as u32),
            Sem::JumpCmp(op) => return Ok(self.jump_cmp(inst, op)),
            Sem::JumpZero(op) => return Ok(jump_if(op.eval(32, self.pop().into(), 0), inst)),
            Sem::JumpField(op) => return self.jump_field(inst, op),
            Sem::Scan(bytes) => self.scan(bytes)?,
            Sem::Copy(from, to) => self.copy(from, to)?,
            Sem::WideBin(op) => self.wide_binary(op, inst.imm[0] as u16)?,
            Sem::WideUn(op) => self.wide_unary(op, inst.imm[0] as u16),
            Sem::WideCmp(op) => self.wide_compare(op, inst.imm[0] as u16),
            Sem::WideLoad(space) => self.wide_load(space, inst.imm[0] as u16)?,
            Sem::WideStore(space) => self.wide_store(space, inst.imm[0] as u16)?,
            Sem::Own(own) => return self.own(own, inst),
        }
        Ok(Next::Fall)
    }

    fn own(&mut self, own: Own, inst: &Inst) -> Result<Next, TrapKind> {
        let n = inst.imm[0];
        match own {
            Own::Jump | Own::JumpW => return Ok(Next::Branch(n)),
            Own::Switch => return Ok(self.switch(inst)),
            Own::Call | Own::CallW => return self.call(n),
            Own::Ret => return self.ret(),
            Own::Exit | Own::PktDrop => return Ok(Next::End(Disposition::Drop(DropReason::Program(n)))),
            Own::PktSend => return self.send(n).map(Next::End),
            Own::PktSendBy => return self.send_by(n, inst.imm[1]),
            Own::PktReceive => return Ok(self.receive(n)),
            Own::ChksumJump => return self.checksum_jump(inst),
            Own::Inc1 | Own::Inc2 | Own::Inc3 | Own::Inc4 | Own::Dec1 | Own::Dec2 | Own::Dec3 | Own::Dec4 => self.step_element(inst.op),
            Own::Push | Own::Push2 | Own::PushC0 | Own::PushC1 | Own::PushC2 | Own::PushCm1 | Own::WPush => self.constants(inst),
            Own::Pop | Own::PopI | Own::Dup | Own::Swap | Own::LocLoad | Own::LocStore => self.shuffle(inst),
            Own::Cmp | Own::MCmp | Own::CmpS => self.three_way(inst.op),
            Own::MFindBit | Own::XFindBit | Own::XmFindBit | Own::SetBit | Own::ClearBit | Own::FlipBit | Own::TestBit | Own::TestNBit => {
                self.bits(inst)
            }
            Own::ChksumAdd | Own::ChksumSub | Own::CrcCalc | Own::Hash32 | Own::Hash => self.digest(inst),
            Own::TimeSet | Own::TimerSet => self.set_time(inst),
            Own::TimeNs => self.stack.push(self.machine.buffer.time_ns),
            Own::TFind | Own::TPeek | Own::TInsert | Own::TDelete | Own::TNone | Own::TValid | Own::TLoad | Own::TStore => {
                self.table(inst)?
            }
            Own::TWalk | Own::TNext | Own::TKey | Own::TDue | Own::TDeadline => self.walk(inst)?,
            Own::Rnd => self.push(random(self.machine.state.seed, self.machine.buffer.number, self.kind, self.at)),
            Own::LoadE => self.push(self.machine.state.exceptions[n as usize]),
            Own::StoreE => self.machine.state.exceptions[n as usize] = self.pop(),
            Own::Sleep => drop(self.pop()),
            Own::Nop | Own::Break | Own::SetShare => {}
            Own::WZext | Own::WSext | Own::WTrunc | Own::WSlice | Own::WConcat | Own::WSelect | Own::SetHas => self.wide_own(inst),
            Own::IpLen | Own::InfoClr | Own::Pbl | Own::PblOrig | Own::WireSet | Own::TstampS | Own::TstampU => self.packet_own(inst)?,
            Own::PktSendDup | Own::ExbufCreate | Own::ExbufDelete | Own::PktMoved | Own::PktPresent | Own::PktAsk => {
                self.packet_own(inst)?
            }
            Own::PktPush | Own::PktPull | Own::PktTrim | Own::PktGrow | Own::PktUnpull => self.packet_own(inst)?,
            Own::PktHold | Own::PktTake | Own::PktCheck | Own::ChksumCalc | Own::CrcCalcPkt => self.packet_own(inst)?,
            Own::CoproInit | Own::CoproIn | Own::CoproOut | Own::CoproExbuf | Own::CoproInvoke => self.copro(inst)?,
        }
        Ok(Next::Fall)
    }

    fn binary(&mut self, f: impl Fn(u32, u32) -> Result<u32, TrapKind>) -> Result<(), TrapKind> {
        let (b, a) = (self.pop(), self.pop());
        let v = f(a, b)?;
        self.push(v);
        Ok(())
    }

    fn unary(&mut self, f: impl Fn(u32) -> u32) {
        let a = self.pop();
        self.push(f(a));
    }

    fn jump_cmp(&mut self, inst: &Inst, op: CmpOp) -> Next {
        let (b, a) = (self.pop(), self.pop());
        jump_if(op.eval(32, a.into(), b.into()), inst)
    }

    fn switch(&mut self, inst: &Inst) -> Next {
        let key = self.pop();
        let Extra::Switch(s) = &inst.extra else { return Next::Fall };
        let target = self.plan.switches.get(&self.at).and_then(|m| m.get(&key));
        Next::Branch(target.copied().unwrap_or(s.default))
    }

    fn call(&mut self, target: u32) -> Result<Next, TrapKind> {
        self.budget.step()?;
        self.calls.push(self.at + 1);
        Ok(Next::Go(target))
    }

    fn ret(&mut self) -> Result<Next, TrapKind> {
        if let Some(back) = self.calls.pop() {
            return Ok(Next::Go(back));
        }
        let verdict = self.stack.last().copied().unwrap_or(0) as u32;
        // A verdict is about a packet, which an init handler has none of.
        let port = self.program.first_output().filter(|_| self.kind != HandlerKind::Init);
        match (verdict, port) {
            (0, _) | (_, None) => Ok(Next::End(Disposition::Drop(DropReason::Verdict))),
            (_, Some(port)) => self.send(port).map(Next::End),
        }
    }

    fn step_element(&mut self, op: Op) {
        let Some((n, by)) = op.step() else { return };
        let element = self.nth(n);
        *element = (*element as u32).wrapping_add(by).into();
    }

    fn constants(&mut self, inst: &Inst) {
        inst.constants().iter().for_each(|v| self.push(*v));
        if let Extra::Const(limbs) = &inst.extra {
            self.stack.extend_from_slice(limbs);
        }
    }

    fn shuffle(&mut self, inst: &Inst) {
        let [top, second] = self.facts.widths[self.at as usize];
        let len = self.stack.len();
        let local = inst.imm[0] as usize;
        let places = |local: usize| self.plan.local_slots[local]..self.plan.local_slots[local + 1];
        match inst.op {
            Op::Pop => self.stack.truncate(len - slots(top)),
            Op::PopI => self.stack.truncate(len - usize::from(top)),
            Op::Dup => self.stack.extend_from_within(len - slots(top)..),
            Op::Swap => self.stack[len - slots(top) - slots(second)..].rotate_left(slots(second)),
            Op::LocLoad => self.stack.extend_from_slice(&self.locals[places(local)]),
            _ => {
                let places = places(local);
                let value = self.stack.split_off(len - places.len());
                self.locals[places].copy_from_slice(&value);
            }
        }
    }

    /// 0 if equal, 1 if top is greater than second, −1 if less.
    fn three_way(&mut self, op: Op) {
        let (top, second) = (self.pop(), self.pop());
        let order = match op {
            Op::CmpS => top.cast_signed().cmp(&second.cast_signed()),
            Op::MCmp => {
                let mask = self.pop();
                (top & mask).cmp(&(second & mask))
            }
            _ => top.cmp(&second),
        };
        self.push(match order {
            Ordering::Equal => 0,
            Ordering::Greater => 1,
            Ordering::Less => u32::MAX,
        });
    }

    fn bits(&mut self, inst: &Inst) {
        let find = |v: u64| UnOp::FindBit.eval(32, v);
        let n = inst.imm[0] as usize;
        match inst.op {
            Op::XFindBit => (1..=n).for_each(|k| *self.nth(k) = find(*self.nth(k))),
            Op::XmFindBit => {
                let mask = u64::from(self.pop());
                (1..=n).for_each(|k| *self.nth(k) = find(*self.nth(k) & mask));
            }
            op => {
                let (b, a) = (self.pop(), self.pop());
                let bit = BinOp::Shl.eval(32, 1, b.into()).unwrap_or(0) as u32;
                self.push(match op {
                    Op::MFindBit => find((a & b).into()) as u32,
                    Op::SetBit => a | bit,
                    Op::ClearBit => a & !bit,
                    Op::FlipBit => a ^ bit,
                    Op::TestBit => u32::from(a & bit != 0),
                    _ => u32::from(a & bit == 0),
                });
            }
        }
    }

    fn digest(&mut self, inst: &Inst) {
        let n = inst.imm[0];
        let v = match inst.op {
            Op::ChksumAdd | Op::ChksumSub => {
                let (value, sum) = (self.pop() as u16, self.pop() as u16);
                let update = if inst.op == Op::ChksumAdd { digest::checksum_add } else { digest::checksum_sub };
                update(sum, value).into()
            }
            Op::CrcCalc => digest::crc(n as u8, &self.pop().to_be_bytes()).unwrap_or(0),
            Op::Hash32 => digest::murmur3(&[self.pop()]),
            _ => {
                let words: Vec<u32> = self.stack.split_off(self.stack.len() - n as usize).into_iter().map(|v| v as u32).collect();
                digest::murmur3(&words)
            }
        };
        self.push(v);
    }
}

pub(super) fn jump_if(taken: bool, inst: &Inst) -> Next {
    if taken { Next::Branch(inst.imm[0]) } else { Next::Fall }
}
