//! Places blocks of classic BPF and aims their jumps.
//!
//! Code is written from its end backwards, so that every place a jump can lead to is there already.
//! The machine's conditional jumps skip at most 255 instructions; what is farther is reached by way
//! of a `ja`, or a return, that is put right behind the jump, and later jumps to the same place use
//! the nearest of these.

use super::super::graph::Target;
use super::Instruction;
use super::values::{End, JA, RET};

/// The most that a conditional jump skips.
const REACH: usize = 255;

pub(super) struct Layout {
    /// The last instruction first.
    code: Vec<Instruction>,
    /// Where each block can be entered: the index of its first instruction, or of the last jump to
    /// it.
    blocks: Vec<Option<usize>>,
    accept: usize,
    reject: usize,
    accepted: u32,
}

impl Layout {
    pub(super) fn new(blocks: usize, accepted: u32) -> Layout {
        let code = vec![Instruction::new(RET, 0), Instruction::new(RET, accepted)];
        Layout { code, blocks: vec![None; blocks], accept: 1, reject: 0, accepted }
    }

    /// Puts a block before all that is there; the blocks that it leads to are.
    pub(super) fn place(&mut self, id: usize, body: &[Instruction], end: End) {
        let before = self.code.len();
        match end {
            End::Jump(target) => self.go_to(target),
            End::Branch(code, k, yes, no) => {
                let (yes, no) = (self.near(yes), self.near(no));
                let skipped = |to: usize| u8::try_from(self.code.len() - to - 1).unwrap_or(u8::MAX);
                let (jt, jf) = (skipped(yes), skipped(no));
                self.code.push(Instruction { code, jt, jf, k });
            }
        }
        self.code.extend(body.iter().rev());
        let idle = self.code.len() == before;
        self.blocks[id] = Some(match end {
            End::Jump(target) if idle => self.latest(target),
            _ => self.code.len() - 1,
        });
    }

    /// The whole program.
    pub(super) fn finish(mut self, entry: Target, before: &[Instruction]) -> Vec<Instruction> {
        match entry {
            Target::Accept => return vec![Instruction::new(RET, self.accepted)],
            Target::Reject => return vec![Instruction::new(RET, 0)],
            Target::Block(_) => self.go_to(entry),
        }
        self.code.extend(before.iter().rev());
        self.code.reverse();
        self.code
    }

    /// Control that comes from before what is there now goes to the target.
    fn go_to(&mut self, target: Target) {
        if self.latest(target) + 1 != self.code.len() {
            self.jump(target);
        }
    }

    /// A place near enough for the next conditional jump, and for one that has another jump behind
    /// it.
    fn near(&mut self, target: Target) -> usize {
        if self.code.len() - self.latest(target) > REACH {
            self.jump(target);
        }
        self.latest(target)
    }

    fn jump(&mut self, target: Target) {
        let here = self.code.len();
        let skipped = u32::try_from(here - self.latest(target) - 1).unwrap_or(u32::MAX);
        let (place, instruction) = match target {
            Target::Accept => (&mut self.accept, Instruction::new(RET, self.accepted)),
            Target::Reject => (&mut self.reject, Instruction::new(RET, 0)),
            Target::Block(id) => {
                self.blocks[id as usize] = Some(here);
                return self.code.push(Instruction::new(JA, skipped));
            }
        };
        *place = here;
        self.code.push(instruction);
    }

    fn latest(&self, target: Target) -> usize {
        match target {
            Target::Accept => self.accept,
            Target::Reject => self.reject,
            // Successors are placed before.
            Target::Block(id) => self.blocks[id as usize].unwrap_or(self.reject),
        }
    }
}
