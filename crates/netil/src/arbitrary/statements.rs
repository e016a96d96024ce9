//! Statements: single instructions, branches, loops, switches, calls and ends. A nested one leaves
//! the stack below it alone.

use super::body::{Body, HIGH};
use crate::module::{Extra, Inst, Switch};
use crate::table::{Op, Sem, Space, TABLE};

/// How deep constructs nest.
const NESTING: u32 = 3;

impl Body<'_, '_> {
    /// Statements until the fuel is used up; false if control does not get to the end.
    pub fn block(&mut self) -> bool {
        while self.fuel > 0 {
            if !self.statement() {
                return false;
            }
        }
        true
    }

    fn statement(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        if self.free().len() > HIGH {
            self.drain(self.floor + HIGH / 3);
        }
        match self.b.c.below(24) {
            14..=16 if self.nesting < NESTING => self.branch(),
            17 if self.nesting < NESTING => self.repeat(),
            18 | 19 if self.nesting < NESTING => self.switch(),
            20 | 21 => self.call(),
            22 if self.nesting > 0 => {
                self.end();
                return false;
            }
            23 if self.top().is_some() => self.consume(),
            _ => self.instruction(),
        }
        self.live()
    }

    /// False after a construct that control does not leave.
    fn live(&mut self) -> bool {
        !std::mem::take(&mut self.dead)
    }

    /// Some statements that leave the stack as it is. Gives the locals written at their end, none
    /// if control does not get there.
    fn arm(&mut self) -> Option<Vec<bool>> {
        let (stack, written, floor) = (self.stack.clone(), self.written.clone(), self.floor);
        self.floor = stack.len();
        self.nesting += 1;
        let n = self.b.c.below(5).min(self.fuel);
        let mut live = true;
        for _ in 0..n {
            live = live && self.statement();
        }
        if live {
            self.drain(self.floor);
        }
        self.nesting -= 1;
        (self.stack, self.floor) = (stack, floor);
        let end = std::mem::replace(&mut self.written, written);
        self.written.resize(self.locals.len(), false);
        live.then_some(end)
    }

    /// Goes on behind alternatives: what all that get there have written is written.
    fn join(&mut self, ends: &[Option<Vec<bool>>]) {
        let mut live = ends.iter().flatten();
        let Some(first) = live.next() else {
            self.dead = true;
            return;
        };
        let mut written = first.clone();
        // Counters that one arm made are not known to the others.
        written.resize(self.locals.len(), false);
        for other in live {
            written.iter_mut().enumerate().for_each(|(i, w)| *w &= other.get(i) == Some(&true));
        }
        self.written = written;
    }

    fn jump_behind(&mut self) -> usize {
        let op = *self.b.c.pick(&[Op::Jump, Op::JumpW]);
        self.emit(Inst::new(op));
        self.code.len() - 1
    }

    fn branch(&mut self) {
        let branch = self.condition();
        let first = self.arm();
        if self.b.c.chance(1, 3) {
            self.land(branch);
            let skipped = Some(self.written.clone());
            return self.join(&[first, skipped]);
        }
        let jump = first.is_some().then(|| self.jump_behind());
        self.land(branch);
        let second = self.arm();
        if let Some(jump) = jump {
            self.land(jump);
        }
        self.join(&[first, second]);
    }

    /// A branch of any kind with its operands; gives its place.
    fn condition(&mut self) -> usize {
        let wanted = |op: Op| op.branches() && !op.is_call() && !op.ends_block() && self.allowed(op.row().place);
        let all: Vec<Op> = TABLE.iter().map(|row| row.op).filter(|op| wanted(*op)).collect();
        let op = *self.b.c.pick(&all);
        let pops = match op.row().sem {
            Sem::JumpCmp(_) => {
                self.operands(&[32, 32]);
                2
            }
            Sem::JumpZero(_) => {
                self.tested();
                1
            }
            Sem::JumpField(_) => {
                self.address(Space::Packet, 20, 0);
                self.span();
                3
            }
            _ => {
                self.span();
                2
            }
        };
        self.op(Inst::new(op), pops, &[]);
        self.code.len() - 1
    }

    /// A value to test against 0: often the result of a wide comparison.
    fn tested(&mut self) {
        if self.b.c.chance(1, 3) {
            return self.operands(&[32]);
        }
        let width = self.b.some_width();
        self.operands(&[width, width]);
        let all: Vec<Op> = TABLE.iter().filter(|row| matches!(row.sem, Sem::WideCmp(_))).map(|row| row.op).collect();
        let op = *self.b.c.pick(&all);
        self.op(Inst::with(op, width.into()), 2, &[32]);
    }

    /// Pushes an offset in the packet and a length.
    pub fn span(&mut self) {
        self.address(Space::Packet, 24, 0);
        let length = if self.b.c.chance(1, 24) { self.b.c.word() } else { self.b.c.below(25) };
        self.number(length);
    }

    /// A loop whose body runs a few times, or until the budget is used up.
    fn repeat(&mut self) {
        let counter = self.locals.len();
        self.locals.push(32);
        self.written.push(true);
        self.counters.push(counter);
        let times = if self.b.c.chance(1, 50) { u32::MAX } else { 1 + self.b.c.below(5) };
        self.number(times);
        self.op(Inst::with(Op::LocStore, counter as u32), 1, &[]);
        let top = self.code.len() as u32;
        let end = self.arm();
        if end.is_some() {
            self.op(Inst::with(Op::LocLoad, counter as u32), 0, &[32]);
            self.emit(Inst::new(Op::Dec1));
            self.op(Inst::new(Op::Dup), 0, &[32]);
            self.op(Inst::with(Op::LocStore, counter as u32), 1, &[]);
            self.op(Inst::with(Op::JNe, top), 1, &[]);
        }
        self.join(&[end]);
    }

    fn switch(&mut self) {
        self.operands(&[32]);
        let many = self.b.c.chance(1, 100);
        let n = if many { 5000 } else { self.b.c.below(7) };
        let mut cases: Vec<(u32, u32)> = (0..n).map(|i| (if many { 7 * i } else { self.b.c.word() }, 0)).collect();
        cases.sort_unstable();
        cases.dedup();
        let arms = 1 + self.b.c.below(3) as usize;
        let to: Vec<usize> = cases.iter().map(|_| self.b.c.below(arms as u32) as usize).collect();
        let extra = Extra::Switch(Box::new(Switch { default: 0, cases }));
        self.op(Inst { op: Op::Switch, imm: [0; 3], extra }, 1, &[]);
        let at = self.code.len() - 1;
        let (mut ends, mut jumps) = (Vec::new(), Vec::new());
        for arm in 0..arms {
            let cases = to.iter().enumerate().filter(|(_, t)| **t == arm).map(|(i, _)| Some(i));
            let default = (arm + 1 == arms).then_some(None);
            cases.chain(default).for_each(|case| self.land_case(at, case));
            // An arm that no case leads to is not reached; so it is not generated.
            let reached = arm + 1 == arms || to.contains(&arm);
            let end = if reached { self.arm() } else { None };
            if end.is_some() && arm + 1 < arms {
                jumps.push(self.jump_behind());
            }
            ends.push(end);
        }
        jumps.into_iter().for_each(|jump| self.land(jump));
        self.join(&ends);
    }

    fn call(&mut self) {
        let left = self.subroutines.len() - self.callable;
        if left == 0 {
            return self.instruction();
        }
        let number = self.callable + self.b.c.below(left as u32) as usize;
        let takes = self.subroutines[number].takes.clone();
        let leaves = self.subroutines[number].leaves.clone();
        self.operands(&takes);
        let op = *self.b.c.pick(&[Op::Call, Op::CallW]);
        self.op(Inst::new(op), takes.len(), &leaves);
        self.subroutines[number].calls.push(self.code.len() - 1);
    }

    /// An instruction behind which control does not go on.
    pub fn end(&mut self) {
        let n = self.b.c.word();
        match self.b.c.below(8) {
            0 if !self.is_init() || self.b.c.chance(1, 8) => self.emit(Inst::with(Op::Exit, n)),
            1 if !self.is_init() => self.emit(Inst::with(Op::PktDrop, n)),
            2 | 3 if !self.is_init() => {
                let port = self.output();
                self.emit(Inst::with(Op::PktSend, port));
            }
            _ => self.ret(),
        }
    }

    fn ret(&mut self) {
        match self.inside {
            Some(number) => {
                self.floor = 0;
                self.drain(0);
                for width in self.subroutines[number].leaves.clone() {
                    self.fresh(width, 0);
                }
            }
            // An init handler has no packet for a verdict to send.
            None if self.is_init() || self.b.c.chance(1, 8) => {
                self.floor = 0;
                self.drain(0);
            }
            None if self.stack.last() == Some(&32) && self.b.c.chance(3, 4) => {}
            None => self.fresh(32, 0),
        }
        self.emit(Inst::new(Op::Ret));
    }
}
