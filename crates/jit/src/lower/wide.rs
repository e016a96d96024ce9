//! Values of more than 64 bits: up to 128 in registers where the machine has the operation, else in
//! slots, by the runtime.

use super::{Lower, ValueStorage, container, trusted};
use crate::JitError;
use crate::frame;
use crate::host::Job;
use compiler::mir::Call;
use compiler::mir::{self, Edge, Helper, Op};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, StackSlot, StackSlotData, StackSlotKind, types};
use netil::ops::BinOp;
use netil::wide::limbs;

/// Bytes of the widest value.
const WIDEST: u32 = 256;

impl Lower<'_> {
    /// Does an operation with a wide result, unless registers can; false then.
    pub(super) fn wide(&mut self, v: mir::Value, op: &Op) -> Result<bool, JitError> {
        let width = self.func.width(v);
        match op {
            Op::WideConst(limbs) => self.wide_constant(v, limbs)?,
            Op::Load(space, order, addr, offset, _) if width > 128 => {
                let slot = self.own_slot(v)?;
                self.load_slot(slot, width, (*space, *order, *addr, *offset));
            }
            Op::Select(c, a, b) if width > 128 => self.wide_select(v, *c, *a, *b)?,
            _ => match job(self.func, v, op) {
                Some((job, operands)) if width > 128 || !in_registers(op, width) => self.run_job(v, job, &operands)?,
                _ => return Ok(false),
            },
        }
        Ok(true)
    }

    /// Operations with a narrow result and wide operands that the runtime does; `None` if registers
    /// can.
    pub(super) fn narrow_of_wide(&mut self, v: mir::Value, op: &Op) -> Result<Option<ir::Value>, JitError> {
        let Some((job, operands)) = job(self.func, v, op) else { return Ok(None) };
        let widest = operands.iter().map(|o| self.func.width(*o)).max().unwrap_or(0);
        let by_runtime =
            widest > 128 || matches!(job, Job::SetHas(..) if widest > 64) || matches!(job, Job::Bin(BinOp::AddSatS | BinOp::SubSatS, 33..));
        if !by_runtime {
            return Ok(None);
        }
        let width = self.func.width(v);
        let slot = self.scratch(operands.len())?;
        let flag = self.call_job(job, &operands, slot)?;
        Ok(Some(match job {
            Job::Cmp(..) | Job::SetHas(..) => self.b.ins().ireduce(types::I8, flag),
            _ => {
                let low = self.b.ins().stack_load(types::I64, types::I64, slot, 0);
                self.resize(low, container(width))
            }
        }))
    }

    /// Calls the runtime with operands of any width, limb by limb, and takes a result of any width
    /// from where they were.
    pub(super) fn wide_helper(&mut self, v: mir::Value, helper: Helper, operands: &[mir::Value], site: u32) -> Result<(), JitError> {
        let slot = self.arguments_slot();
        let (mut at, mut widths) = (0, [0; 2]);
        for (operand, width) in operands.iter().zip(&mut widths) {
            *width = self.func.width(*operand);
            self.limbs_to_slot(*operand, slot, at);
            at += 8 * limbs(*width) as i32;
        }
        let effects = Op::Helper(helper, Box::new([]), site).effects();
        let address = self.b.ins().stack_addr(types::I64, slot, 0);
        let result = self.call_at(Call::Wide(helper, widths, self.func.width(v)), address);
        if effects.traps {
            self.trap_of_call(result, site);
        }
        if effects.geometry || matches!(helper, Helper::SetTime) {
            self.reload_packet();
        }
        self.limbs_from_slot(v, slot)
    }

    /// The words of a value of at most 128 bits.
    pub(super) fn words(&mut self, v: mir::Value) -> [ir::Value; 2] {
        let value = self.reg(v);
        if self.b.func.dfg.value_type(value) == types::I128 {
            let (low, high) = self.b.ins().isplit(value);
            return [low, high];
        }
        [self.resize(value, types::I64), self.iconst(types::I64, 0)]
    }

    /// Stores a value in a slot from that byte on.
    fn limbs_to_slot(&mut self, v: mir::Value, slot: StackSlot, at: i32) {
        let limb = |low: &mut Self, value, n: i32| {
            low.b.ins().stack_store(types::I64, value, slot, at + 8 * n);
        };
        if let ValueStorage::Slot(from) = self.places[v.0 as usize] {
            for n in 0..limbs(self.func.width(v)) as i32 {
                let value = self.b.ins().stack_load(types::I64, types::I64, from, 8 * n);
                limb(self, value, n);
            }
            return;
        }
        let value = self.reg(v);
        if self.b.func.dfg.value_type(value) == types::I128 {
            let (low, high) = self.b.ins().isplit(value);
            limb(self, low, 0);
            limb(self, high, 1);
        } else {
            let value = self.resize(value, types::I64);
            limb(self, value, 0);
        }
    }

    /// Makes a slot's contents the value of an operation, if it has one.
    fn limbs_from_slot(&mut self, v: mir::Value, slot: StackSlot) -> Result<(), JitError> {
        let width = self.func.width(v);
        if width > 128 {
            let own = self.own_slot(v)?;
            let at = self.b.ins().stack_addr(types::I64, slot, 0);
            self.copy_limbs(at, own, width);
            return Ok(());
        }
        if width == 0 {
            return Ok(());
        }
        let low = self.b.ins().stack_load(types::I64, types::I64, slot, 0);
        let value = if width > 64 {
            let high = self.b.ins().stack_load(types::I64, types::I64, slot, 8);
            self.b.ins().iconcat(low, high)
        } else {
            self.resize(low, container(width))
        };
        self.places[v.0 as usize] = ValueStorage::Reg(value);
        Ok(())
    }

    pub(super) fn own_slot(&mut self, v: mir::Value) -> Result<StackSlot, JitError> {
        let slot = self.slot(self.func.width(v))?;
        self.places[v.0 as usize] = ValueStorage::Slot(slot);
        Ok(slot)
    }

    fn wide_constant(&mut self, v: mir::Value, value: &[u64]) -> Result<(), JitError> {
        let parts: Vec<ir::Value> = value.iter().map(|l| self.b.ins().iconst(types::I64, *l as i64)).collect();
        if let [low, high] = parts[..] {
            self.places[v.0 as usize] = ValueStorage::Reg(self.b.ins().iconcat(low, high));
            return Ok(());
        }
        let slot = self.own_slot(v)?;
        for (i, part) in parts.into_iter().enumerate() {
            self.b.ins().stack_store(types::I64, part, slot, 8 * i as i32);
        }
        Ok(())
    }

    fn wide_select(&mut self, v: mir::Value, c: mir::Value, a: mir::Value, b: mir::Value) -> Result<(), JitError> {
        let slot = self.own_slot(v)?;
        let (c, a, b) = (self.reg(c), self.reg(a), self.reg(b));
        let from = self.b.ins().select(c, a, b);
        self.copy_limbs(from, slot, self.func.width(v));
        Ok(())
    }

    fn copy_limbs(&mut self, from: ir::Value, to: StackSlot, width: u16) {
        for i in 0..limbs(width) as i32 {
            let limb = self.b.ins().load(types::I64, trusted(), from, 8 * i);
            self.b.ins().stack_store(types::I64, limb, to, 8 * i);
        }
    }

    fn run_job(&mut self, v: mir::Value, job: Job, operands: &[mir::Value]) -> Result<(), JitError> {
        if self.func.width(v) > 128 {
            let slot = self.own_slot(v)?;
            self.call_job(job, operands, slot)?;
            return Ok(());
        }
        let slot = self.scratch(operands.len())?;
        self.call_job(job, operands, slot)?;
        let low = self.b.ins().stack_load(types::I64, types::I64, slot, 0);
        let high = self.b.ins().stack_load(types::I64, types::I64, slot, 8);
        self.places[v.0 as usize] = ValueStorage::Reg(self.b.ins().iconcat(low, high));
        Ok(())
    }

    /// A slot that is free between operations, wide enough for any value.
    fn scratch(&mut self, number: usize) -> Result<StackSlot, JitError> {
        while self.scratch.len() <= number {
            let data = StackSlotData::new(StackSlotKind::ExplicitSlot, WIDEST, 3);
            self.scratch.push(self.b.create_sized_stack_slot(data));
        }
        Ok(self.scratch[number])
    }

    /// Calls the runtime; gives its flag.
    fn call_job(&mut self, job: Job, operands: &[mir::Value], result: StackSlot) -> Result<ir::Value, JitError> {
        if self.ends_slice() {
            return Ok(self.iconst(types::I32, 0));
        }
        self.tell_packet();
        let index = self.jobs.len() as u64;
        self.jobs.push(job);
        let list = self.addresses_slot();
        for (k, operand) in operands.iter().enumerate() {
            let at = match self.places[operand.0 as usize] {
                ValueStorage::Slot(slot) => self.b.ins().stack_addr(types::I64, slot, 0),
                _ => self.spill(*operand, k)?,
            };
            self.b.ins().stack_store(types::I64, at, list, 8 * k as i32);
        }
        let list = self.b.ins().stack_addr(types::I64, list, 0);
        let result = self.b.ins().stack_addr(types::I64, result, 0);
        let index = self.iconst(types::I32, index);
        Ok(self.call_frame(frame::WIDE, &[self.shared.frame, index, list, result], types::I32))
    }

    /// Puts an operand from a register into scratch slot k; gives its address.
    fn spill(&mut self, operand: mir::Value, k: usize) -> Result<ir::Value, JitError> {
        let slot = self.scratch(k)?;
        let v = self.reg(operand);
        if self.b.func.dfg.value_type(v) == types::I128 {
            let (low, high) = self.b.ins().isplit(v);
            self.b.ins().stack_store(types::I64, low, slot, 0);
            self.b.ins().stack_store(types::I64, high, slot, 8);
        } else {
            let v = self.resize(v, types::I64);
            self.b.ins().stack_store(types::I64, v, slot, 0);
        }
        Ok(self.b.ins().stack_addr(types::I64, slot, 0))
    }

    fn addresses_slot(&mut self) -> StackSlot {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 3);
        *self.addresses.get_or_insert_with(|| self.b.create_sized_stack_slot(data))
    }

    /// An i8: all limbs are 0.
    pub(super) fn slot_is_zero(&mut self, slot: StackSlot, width: u16) -> ir::Value {
        let mut any = self.iconst(types::I64, 0);
        for i in 0..limbs(width) as i32 {
            let limb = self.b.ins().stack_load(types::I64, types::I64, slot, 8 * i);
            any = self.b.ins().bor(any, limb);
        }
        self.b.ins().icmp_imm_u(IntCC::Equal, any, 0)
    }

    /// Copies an edge's values that are in slots to the slots of the target's parameters, as if at
    /// once.
    pub(super) fn copy_slots(&mut self, e: &Edge) -> Result<(), JitError> {
        let params = self.func.block(e.block).params.clone();
        let moves: Vec<(StackSlot, StackSlot, u16)> = params
            .iter()
            .zip(&e.args)
            .filter_map(|(p, a)| match (self.places[p.0 as usize], self.places[a.0 as usize]) {
                (ValueStorage::Slot(to), ValueStorage::Slot(from)) if to != from => Some((from, to, self.func.width(*p))),
                _ => None,
            })
            .collect();
        let overlap = moves.iter().any(|(from, ..)| moves.iter().any(|(_, to, _)| to == from));
        let mut staged = Vec::new();
        for (from, to, width) in moves {
            let source = if overlap { self.slot(width)? } else { to };
            let at = self.b.ins().stack_addr(types::I64, from, 0);
            self.copy_limbs(at, source, width);
            if overlap {
                staged.push((source, to, width));
            }
        }
        for (from, to, width) in staged {
            let at = self.b.ins().stack_addr(types::I64, from, 0);
            self.copy_limbs(at, to, width);
        }
        Ok(())
    }
}

/// The runtime's form of an operation.
fn job(func: &mir::Func, v: mir::Value, op: &Op) -> Option<(Job, Vec<mir::Value>)> {
    let width = func.width(v);
    Some(match op {
        Op::Bin(op, a, b) => (Job::Bin(*op, width), vec![*a, *b]),
        Op::Div(op, a, b, _) => (Job::Bin(*op, width), vec![*a, *b]),
        Op::Un(op, a) => (Job::Un(*op, width), vec![*a]),
        Op::Cmp(op, a, b) => (Job::Cmp(*op, func.width(*a)), vec![*a, *b]),
        Op::Zext(a) | Op::Trunc(a) => (Job::Resize(func.width(*a), width, false), vec![*a]),
        Op::Sext(a) => (Job::Resize(func.width(*a), width, true), vec![*a]),
        Op::Slice(a, low) => (Job::Slice(func.width(*a), width, *low), vec![*a]),
        Op::Concat(a, b) => (Job::Concat(func.width(*a), func.width(*b)), vec![*a, *b]),
        Op::SetHas(set, a) => (Job::SetHas(*set, func.width(*a)), vec![*a]),
        _ => return None,
    })
}

/// True for operations on 65 to 128 bits that Cranelift has for I128 registers.
fn in_registers(op: &Op, width: u16) -> bool {
    match op {
        Op::Bin(op, ..) => {
            matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::UShr)
        }
        Op::Un(..) => width == 128,
        Op::Zext(_) | Op::Concat(..) => true,
        _ => false,
    }
}
