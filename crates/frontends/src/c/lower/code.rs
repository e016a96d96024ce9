//! The instructions of one handler while they are made: labels, locals, source lines, and what
//! happens to views on the way.
//!
//! Locals are taken and given back, so that what is inlined one after the other shares them.
//! `finish` leaves out what nothing leads to, makes locals that may be read before they are written
//! begin with 0, and counts the stack.

use super::flow::{self, Event};
use netil::module::{ENTRY, Extra, Handler, Inst, Switch};
use netil::table::{Effect, Op};
use netil::wide;
use std::collections::HashMap;

/// Instructions of a handler at most, before what nothing leads to is left out.
const MAX: usize = 1 << 20;

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(u32);

#[derive(Default)]
pub(super) struct Code {
    pub(super) insts: Vec<Inst>,
    lines: Vec<u32>,
    labels: Vec<Option<u32>>,
    pub(super) locals: Vec<u16>,
    free: HashMap<u16, Vec<u32>>,
    /// What happens before the instruction of that index.
    pub(super) events: Vec<(u32, Event)>,
    /// The source line of what is made now.
    pub(super) line: u32,
}

impl Code {
    /// There is no room for more: nothing is added.
    pub(super) fn is_full(&self) -> bool {
        self.insts.len() >= MAX
    }

    pub(super) fn inst(&mut self, inst: Inst) {
        if !self.is_full() {
            self.insts.push(inst);
            self.lines.push(self.line);
        }
    }

    pub(super) fn op(&mut self, op: Op) {
        self.inst(Inst::new(op));
    }

    pub(super) fn op1(&mut self, op: Op, a: u32) {
        self.inst(Inst::with(op, a));
    }

    pub(super) fn op2(&mut self, op: Op, a: u32, b: u32) {
        self.inst(Inst::with2(op, a, b));
    }

    pub(super) fn op3(&mut self, op: Op, a: u32, b: u32, c: u32) {
        self.inst(Inst { op, imm: [a, b, c], extra: Extra::None });
    }

    pub(super) fn event(&mut self, event: Event) {
        self.events.push((self.insts.len() as u32, event));
    }

    /// A constant of 32 bits or of a greater width.
    pub(super) fn constant(&mut self, value: u128, width: u16) {
        if width == 32 {
            return self.op1(Op::Push, value as u32);
        }
        let mut limbs = vec![value as u64, (value >> 64) as u64];
        limbs.resize(wide::limbs(width), 0);
        wide::normalise(width, &mut limbs);
        self.inst(Inst { op: Op::WPush, imm: [width.into(), 0, 0], extra: Extra::Const(limbs.into()) });
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// The label is here.
    pub(super) fn place(&mut self, label: Label) {
        self.labels[label.0 as usize] = Some(self.insts.len() as u32);
    }

    pub(super) fn jump(&mut self, op: Op, label: Label) {
        self.op1(op, label.0);
    }

    pub(super) fn go(&mut self, label: Label) {
        self.jump(Op::JumpW, label);
    }

    pub(super) fn switch(&mut self, cases: &[(u32, Label)], default: Label) {
        let cases = cases.iter().map(|(key, label)| (*key, label.0)).collect();
        let extra = Extra::Switch(Box::new(Switch { default: default.0, cases }));
        self.inst(Inst { op: Op::Switch, imm: [0; 3], extra });
    }

    /// A local of a width or entry type, free until it is given back.
    pub(super) fn local(&mut self, ty: u16) -> u32 {
        if let Some(local) = self.free.get_mut(&ty).and_then(Vec::pop) {
            return local;
        }
        self.locals.push(ty);
        self.locals.len() as u32 - 1
    }

    pub(super) fn release(&mut self, local: u32) {
        let free = self.free.entry(self.locals[local as usize]).or_default();
        if !free.contains(&local) {
            free.push(local);
        }
    }

    pub(super) fn load(&mut self, local: u32) {
        self.op1(Op::LocLoad, local);
    }

    pub(super) fn store(&mut self, local: u32) {
        self.op1(Op::LocStore, local);
    }

    /// The value on the stack into a new local.
    pub(super) fn keep(&mut self, ty: u16) -> u32 {
        let local = self.local(ty);
        self.store(local);
        local
    }

    /// Labels become the indices of instructions; the code ends.
    pub(super) fn resolve(&mut self) {
        self.insts.push(Inst::new(Op::Ret));
        self.lines.push(self.line);
        let last = self.insts.len() as u32 - 1;
        let at = |label: &mut u32| *label = self.labels.get(*label as usize).copied().flatten().unwrap_or(last).min(last);
        for inst in &mut self.insts {
            match &mut inst.extra {
                Extra::Switch(switch) => {
                    at(&mut switch.default);
                    switch.cases.iter_mut().for_each(|(_, label)| at(label));
                }
                _ if inst.op.branches() => at(&mut inst.imm[0]),
                _ => {}
            }
        }
    }

    /// The finished handler; labels are resolved.
    pub(super) fn finish(self) -> Handler {
        let depths = self.depths();
        let max_stack = depths.iter().flatten().copied().max().unwrap_or(0) + 2;
        let zeros = self.zeros();
        let mut handler = Handler { locals: self.locals, max_stack, ..Handler::default() };
        for (inst, line) in zeros {
            handler.code.push(inst);
            handler.lines.push(line);
        }
        let mut new = vec![0u32; self.insts.len()];
        for (n, inst) in self.insts.iter().enumerate() {
            new[n] = handler.code.len() as u32;
            if depths[n].is_some() && inst.op != Op::Nop {
                handler.code.push(inst.clone());
                handler.lines.push(self.lines[n]);
            }
        }
        handler.code.iter_mut().for_each(|inst| retarget(inst, &new));
        handler
    }

    /// Stack elements before each instruction; none where nothing leads. A handler begins with one,
    /// the calling port.
    fn depths(&self) -> Vec<Option<u32>> {
        let mut depths: Vec<Option<u32>> = vec![None; self.insts.len()];
        let mut work = vec![(0usize, 1)];
        while let Some((at, depth)) = work.pop() {
            if at >= depths.len() || depths[at].is_some() {
                continue;
            }
            depths[at] = Some(depth);
            let inst = &self.insts[at];
            let after = depth.saturating_add_signed(effect(inst));
            work.extend(inst.targets().into_iter().map(|target| (target as usize, after)));
            if !inst.op.ends_block() {
                work.push((at + 1, after));
            }
        }
        depths
    }

    /// Instructions that give locals a value which may be read before they are written.
    fn zeros(&self) -> Vec<(Inst, u32)> {
        let mut code = Code { line: self.lines.first().copied().unwrap_or(0), ..Code::default() };
        for local in flow::unwritten(&self.insts, self.locals.len()) {
            match self.locals[local as usize] {
                entry if entry & ENTRY != 0 => code.op1(Op::TNone, u32::from(entry & !ENTRY)),
                width => code.constant(0, width),
            }
            code.store(local);
        }
        code.insts.into_iter().zip(code.lines).collect()
    }
}

fn retarget(inst: &mut Inst, new: &[u32]) {
    match &mut inst.extra {
        Extra::Switch(switch) => {
            switch.default = new[switch.default as usize];
            switch.cases.iter_mut().for_each(|(_, target)| *target = new[*target as usize]);
        }
        _ if inst.op.branches() => inst.imm[0] = new[inst.imm[0] as usize],
        _ => {}
    }
}

/// What an instruction adds to the number of stack elements.
fn effect(inst: &Inst) -> i32 {
    match (inst.op.row().effect, inst.op) {
        (Effect::Fixed(pops, pushes), _) => pushes.len() as i32 - pops.len() as i32,
        (_, Op::Hash) => 1 - inst.imm[0] as i32,
        (_, Op::PopI) => -(inst.imm[0] as i32),
        (_, Op::Dup | Op::LocLoad | Op::TNone | Op::TimeNs) => 1,
        (_, Op::TWalk | Op::TNext | Op::TKey | Op::TDue | Op::TDeadline) => 1,
        (_, Op::Pop | Op::LocStore | Op::WConcat | Op::TimeSet | Op::TimerSet) => -1,
        (_, Op::TStore) => -2,
        _ => 0,
    }
}
