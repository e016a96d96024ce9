//! The handler that is being written: instructions, labels, locals, and how many elements are on
//! the stack.
//!
//! Invariant: a label has the depth of the stack at the place where it was made; a jump to it pops
//! what lies above. So control may leave from the middle of an expression, as `exit` and `return`
//! in functions do.

use crate::check::convert::limbs;
use netil::module::{Extra, Handler, Inst, Switch};
use netil::table::{Effect, Op};
use num_bigint::BigInt;

/// A place in the code that may not be known yet.
pub(super) type LabelId = usize;

#[derive(Default)]
pub(super) struct Code {
    code: Vec<Inst>,
    lines: Vec<u32>,
    pub line: u32,
    labels: Vec<(Option<u32>, usize)>,
    used: Vec<bool>,
    locals: Vec<u16>,
    free: std::collections::HashMap<u16, Vec<u32>>,
    pub depth: usize,
    most: usize,
}

impl Code {
    fn put(&mut self, inst: Inst, pops: usize, pushes: usize) {
        self.code.push(inst);
        self.lines.push(self.line);
        self.depth = (self.depth + pushes).saturating_sub(pops);
        self.most = self.most.max(self.depth + pops);
    }

    fn inst(&mut self, inst: Inst) {
        let (pops, pushes) = match inst.op.row().effect {
            Effect::Fixed(pops, pushes) => (pops.len(), pushes.len()),
            Effect::Special => match inst.op {
                Op::Pop | Op::LocStore => (1, 0),
                Op::PopI => (inst.imm[0] as usize, 0),
                Op::Dup => (1, 2),
                Op::LocLoad | Op::TNone | Op::TimeNs => (0, 1),
                Op::TStore | Op::Swap => (2, if inst.op == Op::Swap { 2 } else { 0 }),
                Op::WConcat => (2, 1),
                _ => (1, 1),
            },
        };
        self.put(inst, pops, pushes);
    }

    pub fn op(&mut self, op: Op) {
        self.inst(Inst::new(op));
    }

    pub fn op1(&mut self, op: Op, imm: u32) {
        self.inst(Inst::with(op, imm));
    }

    pub fn op2(&mut self, op: Op, a: u32, b: u32) {
        self.inst(Inst::with2(op, a, b));
    }

    pub fn op3(&mut self, op: Op, a: u32, b: u32, c: u32) {
        self.inst(Inst { op, imm: [a, b, c], extra: Extra::None });
    }

    /// An instruction on values of a width.
    pub fn w(&mut self, op: Op, width: u16) {
        self.op1(op, u32::from(width));
    }

    pub fn push(&mut self, value: u32) {
        self.op1(Op::Push, value);
    }

    pub fn constant(&mut self, value: &BigInt, width: u16) {
        self.inst(Inst { op: Op::WPush, imm: [u32::from(width), 0, 0], extra: Extra::Const(limbs(value, width)) });
    }

    pub fn get(&mut self, local: u32) {
        self.op1(Op::LocLoad, local);
    }

    pub fn set(&mut self, local: u32) {
        self.op1(Op::LocStore, local);
    }

    /// A value of one width as one of another, extended with zeros.
    pub fn resize(&mut self, from: u16, to: u16) {
        match from.cmp(&to) {
            std::cmp::Ordering::Less => self.op2(Op::WZext, u32::from(from), u32::from(to)),
            std::cmp::Ordering::Greater => self.op2(Op::WTrunc, u32::from(from), u32::from(to)),
            std::cmp::Ordering::Equal => {}
        }
    }

    pub fn new_local(&mut self, width: u16) -> u32 {
        self.locals.push(width);
        self.locals.len() as u32 - 1
    }

    pub fn locals(&self) -> usize {
        self.locals.len()
    }

    /// Whether something loads a local.
    pub fn loads(&self, local: u32) -> bool {
        self.code.iter().any(|inst| inst.op == Op::LocLoad && inst.imm[0] == local)
    }

    /// Whether something other than a constant zero is stored in a local.
    pub fn sets(&self, local: u32) -> bool {
        self.sets_in(local, 0..self.code.len())
    }

    /// Whether these instructions do.
    pub fn sets_in(&self, local: u32, mut range: std::ops::Range<usize>) -> bool {
        let stores = |inst: &Inst| inst.op == Op::LocStore && inst.imm[0] == local;
        range.any(|n| stores(&self.code[n]) && !self.ends_in_zero(n))
    }

    /// Whether the instructions before that one push a constant zero, of any width.
    fn ends_in_zero(&self, before: usize) -> bool {
        let mut last = self.code[..before].iter().rev().skip_while(|inst| matches!(inst.op, Op::WTrunc | Op::WZext));
        last.next().is_some_and(|inst| match (&inst.extra, inst.op) {
            (Extra::Const(limbs), Op::WPush) => limbs.iter().all(|limb| *limb == 0),
            (_, Op::Push) => inst.imm[0] == 0,
            _ => false,
        })
    }

    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// A local for a short while.
    pub fn temp(&mut self, width: u16) -> u32 {
        match self.free.get_mut(&width).and_then(Vec::pop) {
            Some(local) => local,
            None => self.new_local(width),
        }
    }

    pub fn release(&mut self, local: u32) {
        let width = self.locals[local as usize];
        self.free.entry(width).or_default().push(local);
    }

    pub fn label(&mut self) -> LabelId {
        self.labels.push((None, self.depth));
        self.used.push(false);
        self.labels.len() - 1
    }

    /// The label stands here.
    pub fn bind(&mut self, label: LabelId) {
        self.labels[label].0 = Some(self.code.len() as u32);
        self.depth = self.labels[label].1;
    }

    pub fn is_used(&self, label: LabelId) -> bool {
        self.used[label]
    }

    /// Jumps, whatever is on the stack.
    pub fn jump(&mut self, label: LabelId) {
        let above = self.depth.saturating_sub(self.labels[label].1);
        let depth = self.depth;
        for _ in 0..above {
            self.op(Op::Pop);
        }
        self.used[label] = true;
        self.op1(Op::JumpW, label as u32);
        self.depth = depth;
    }

    /// A conditional jump; nothing may lie above the label's depth once its operands are taken.
    pub fn branch(&mut self, op: Op, label: LabelId) {
        self.used[label] = true;
        self.op1(op, label as u32);
    }

    pub fn switch(&mut self, cases: Vec<(u32, LabelId)>, default: LabelId) {
        cases.iter().for_each(|(_, l)| self.used[*l] = true);
        self.used[default] = true;
        let cases = cases.into_iter().map(|(k, l)| (k, l as u32)).collect();
        self.inst(Inst { op: Op::Switch, imm: [0; 3], extra: Extra::Switch(Box::new(Switch { default: default as u32, cases })) });
    }

    /// The finished handler.
    pub fn finish(mut self) -> Handler {
        let at = |label: u32| self.labels.get(label as usize).and_then(|l| l.0).unwrap_or(0);
        for inst in &mut self.code {
            match &mut inst.extra {
                Extra::Switch(switch) => {
                    switch.default = at(switch.default);
                    switch.cases.iter_mut().for_each(|c| c.1 = at(c.1));
                }
                _ if inst.op.branches() => inst.imm[0] = at(inst.imm[0]),
                _ => {}
            }
        }
        Handler { code: self.code, locals: self.locals, max_stack: self.most as u32 + 1, lines: self.lines, labels: Vec::new() }
    }
}
