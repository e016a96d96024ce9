//! Watching a program run: models of machines count what it does.
//!
//! The watched loop is apart from the plain one, which pays one test per handler run. A watcher
//! sees, and cannot change, what the instruction finds: addresses, keys and lengths are on the
//! stack.

use super::Run;
use crate::exec::{Disposition, Trap};
use crate::module::{HandlerKind, Inst};

/// What is there before an instruction executes.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'m> {
    /// The handler.
    pub kind: HandlerKind,
    /// The instruction's index in it.
    pub at: u32,
    /// The instruction.
    pub inst: &'m Inst,
    /// The stack, a value of several limbs with its lowest limb deepest; the top is last.
    pub stack: &'m [u64],
    /// Captured bytes of the packet.
    pub packet_len: u32,
}

/// Who is told what a program does.
pub trait Watch: Send {
    /// An instruction is about to execute.
    fn executes(&mut self, moment: Moment<'_>);

    /// The handler has ended; with the stack as it was then.
    fn ends(&mut self, stack: &[u64], disposition: Disposition);
}

impl Run<'_, '_> {
    pub(super) fn finish_watched(mut self, watch: &mut dyn Watch) -> Disposition {
        let handler = self.handler;
        loop {
            let packet_len = self.machine.buffer.bytes().len() as u32;
            let inst = &handler.code[self.at as usize];
            watch.executes(Moment { kind: self.kind, at: self.at, inst, stack: self.stack, packet_len });
            let end = match self.step().and_then(|next| self.go(next)) {
                Ok(None) => continue,
                Ok(Some(end)) => end,
                Err(kind) => Disposition::Trap(Trap { kind, handler: self.kind, inst: self.at }),
            };
            watch.ends(self.stack, end);
            return end;
        }
    }
}
