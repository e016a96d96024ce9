//! What a program asks of a host that runs vectors of packets through nodes, or its work entries
//! through groups, as its handlers' operations tell.

use super::Part;
use crate::mir::{Func, Helper, Op};
use netil::table::Space;

/// What a program asks of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Bytes of info memory.
    pub info: u32,
    /// It keeps something from packet to packet.
    pub state: bool,
    /// It may change where packets lie, their lengths or times.
    pub changes: bool,
    /// It looks at the time.
    pub time: bool,
    /// It moves the ends of packets.
    pub tails: bool,
    /// It brings back what was pulled, or asks how far a packet was moved.
    pub moves: bool,
    /// Packets may be led back.
    pub rounds: bool,
    /// One more than the highest number of a port by which a handler sends.
    pub ports: u32,
    /// Bytes that packets take along from node to node, besides info memory.
    pub kept: u32,
    /// Packets may be copied.
    pub copies: bool,
}

impl Needs {
    pub(super) fn of(parts: &[Part<'_>]) -> Self {
        let mut needs = Self::default();
        for part in parts {
            if part.program.uses().info {
                needs.info = needs.info.max(part.program.module().info_size);
            }
            needs.rounds |= part.ways.is_some_and(|ways| ways.iter().any(|way| way.again));
            needs.add(part.func);
            needs.copies |= copies(part.func);
            // A lookup puts an entry that may time out where the last ones used are.
            let expires = part.program.module().tables.iter().any(|table| table.timeout_ns > 0);
            (needs.time, needs.state) = (needs.time | expires, needs.state | expires);
        }
        needs
    }

    fn add(&mut self, func: &Func) {
        for block in &func.blocks {
            self.ports = self.ports.max(block.end.ports().end);
        }
        for op in func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| func.op(*v)) {
            self.state |= keeps(op);
            match op {
                Op::TimeSeconds | Op::TimeMicros | Op::TimeNanos => self.time = true,
                Op::Helper(helper, ..) => self.helper(*helper),
                _ => {}
            }
        }
    }

    fn helper(&mut self, helper: Helper) {
        self.changes |= helper.changes_geometry();
        match helper {
            Helper::TrimTail | Helper::GrowTail => self.tails = true,
            Helper::PushHead | Helper::Unpull | Helper::Moved => self.moves = true,
            Helper::SetTime => self.time = true,
            _ => {}
        }
    }
}

/// Whether a handler sends copies.
pub(super) fn copies(func: &Func) -> bool {
    let mut ops = func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| func.op(*v));
    ops.any(|op| matches!(op, Op::Helper(Helper::SendCopy(_), ..)))
}

/// Whether an operation keeps something for other packets.
pub(super) fn keeps(op: &Op) -> bool {
    match op {
        Op::Store(space, ..) => matches!(space, Space::Data | Space::Shared),
        Op::ExceptionStore(..) | Op::Random(_) => true,
        Op::Helper(helper, ..) => helper.keeps(),
        _ => false,
    }
}
