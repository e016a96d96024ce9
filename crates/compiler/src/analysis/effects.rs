//! What a function writes, whatever way it takes.

use crate::mir::states::States;
use crate::mir::{Func, Op};
use netil::table::Space;

/// What the function writes anywhere.
pub(crate) struct Writes {
    states: States,
}

impl Writes {
    pub fn new(func: &Func) -> Self {
        let ops = func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| func.op(*v));
        let of = |op: &Op| match op {
            Op::Store(space, ..) => States::memory(*space),
            Op::Helper(helper, ..) => helper.row().writes,
            _ => States::NONE,
        };
        Self { states: ops.map(of).fold(States::NONE, States::and) }
    }

    /// True if a memory has the same bytes, in the same place, wherever the function reads them.
    pub fn keeps(&self, space: Space) -> bool {
        let moves = self.states.meets(States::GEOMETRY) && matches!(space, Space::Packet | Space::Info);
        !moves && !self.states.meets(States::memory(space))
    }
}
