//! A handler's code: what is known while it grows, its frame, its subroutines.

use super::Builder;
use crate::module::{Extra, Handler, HandlerKind, Inst};
use crate::table::Op;

/// The most subroutines of a handler.
const SUBROUTINES: u32 = 3;
/// Elements above which the stack is emptied.
pub(super) const HIGH: usize = 12;

/// A subroutine: what it takes and leaves.
#[derive(Clone)]
pub(super) struct Subroutine {
    pub takes: Vec<u16>,
    pub leaves: Vec<u16>,
    /// Calls to be given their target.
    pub calls: Vec<usize>,
}

/// Code under construction with the types of the stack and locals at its end.
pub(super) struct Body<'b, 'a> {
    pub b: &'b mut Builder<'a>,
    pub kind: HandlerKind,
    pub code: Vec<Inst>,
    /// Widths, bottom to top.
    pub stack: Vec<u16>,
    /// Elements that belong to an enclosing construct.
    pub floor: usize,
    pub locals: Vec<u16>,
    pub written: Vec<bool>,
    /// Locals that only their loop may write.
    pub counters: Vec<usize>,
    pub subroutines: Vec<Subroutine>,
    /// The first subroutine that may be called from here.
    pub callable: usize,
    /// The subroutine at hand.
    pub inside: Option<usize>,
    pub highest: usize,
    /// Statements left.
    pub fuel: u32,
    /// Depth of nested constructs.
    pub nesting: u32,
    /// Set by a construct that control does not leave.
    pub dead: bool,
}

pub(super) fn handler(b: &mut Builder<'_>, kind: HandlerKind) -> Handler {
    let locals: Vec<u16> = (0..b.c.below(6)).map(|_| b.some_width()).collect();
    let subroutines: Vec<Subroutine> = (0..b.c.below(SUBROUTINES + 1)).map(|_| signature(b)).collect();
    // A trap in the init handler means that nothing else runs: short ones trap less.
    let most = if kind == HandlerKind::Init { b.options.statements / 4 } else { b.options.statements };
    let fuel = 1 + b.c.below(most);
    let written = vec![false; locals.len()];
    let mut body = Body {
        b,
        kind,
        code: Vec::new(),
        stack: Vec::new(),
        floor: 0,
        locals,
        written,
        counters: Vec::new(),
        subroutines,
        callable: 0,
        inside: None,
        highest: 0,
        fuel,
        nesting: 0,
        dead: false,
    };
    body.main();
    let mut deepest = body.highest as u32;
    for number in 0..body.subroutines.len() {
        deepest += body.subroutine(number);
    }
    Handler { code: body.code, locals: body.locals, max_stack: deepest + 1, ..Handler::default() }
}

fn signature(b: &mut Builder<'_>) -> Subroutine {
    let mut some = |n| (0..b.c.below(n)).map(|_| b.some_width()).collect();
    Subroutine { takes: some(3), leaves: some(3), calls: Vec::new() }
}

impl Body<'_, '_> {
    fn main(&mut self) {
        match self.kind {
            HandlerKind::Init => self.prepare(),
            HandlerKind::Push => self.pushed(32),
            HandlerKind::Pull => {
                self.pushed(32);
                self.receive();
            }
        }
        if self.block() {
            self.end();
        }
    }

    /// What init handlers are for.
    fn prepare(&mut self) {
        if self.b.shared > 0 {
            self.emit(Inst::with(Op::SetShare, self.b.shared));
        }
        for unit in 0..self.b.module.coprocessors.len() as u32 {
            if self.b.c.chance(3, 4) {
                let offset = self.b.c.below(self.b.module.data.len() as u32 + 1);
                self.op(Inst::with2(Op::CoproInit, unit, offset), 0, &[32]);
            }
        }
    }

    /// The code of a subroutine; gives its greatest number of elements.
    fn subroutine(&mut self, number: usize) -> u32 {
        let at = self.code.len() as u32;
        let Subroutine { takes, leaves, calls } = self.subroutines[number].clone();
        for call in calls {
            self.code[call].imm[0] = at;
        }
        self.stack = takes;
        self.highest = self.stack.len();
        // What its callers have written differs from one to the next.
        self.written.fill(false);
        (self.floor, self.callable, self.inside) = (0, number + 1, Some(number));
        self.fuel = self.b.c.below(8);
        if self.block() {
            self.drain(0);
            for width in leaves {
                self.fresh(width, 0);
            }
            self.emit(Inst::new(Op::Ret));
        }
        self.highest as u32
    }

    pub fn emit(&mut self, inst: Inst) {
        self.code.push(inst);
    }

    pub fn pushed(&mut self, width: u16) {
        self.stack.push(width);
        self.highest = self.highest.max(self.stack.len());
    }

    /// Emits an instruction that pops `pops` elements and pushes these.
    pub fn op(&mut self, inst: Inst, pops: usize, pushes: &[u16]) {
        self.emit(inst);
        self.stack.truncate(self.stack.len() - pops);
        pushes.iter().for_each(|w| self.pushed(*w));
    }

    /// Elements that may be used here.
    pub fn free(&self) -> &[u16] {
        &self.stack[self.floor..]
    }

    pub fn top(&self) -> Option<u16> {
        self.free().last().copied()
    }

    /// Gives a forward branch its target: the next instruction.
    pub fn land(&mut self, branch: usize) {
        self.code[branch].imm[0] = self.code.len() as u32;
    }

    pub fn land_case(&mut self, switch: usize, case: Option<usize>) {
        let at = self.code.len() as u32;
        if let Extra::Switch(s) = &mut self.code[switch].extra {
            match case {
                Some(case) => s.cases[case].1 = at,
                None => s.default = at,
            }
        }
    }
}
