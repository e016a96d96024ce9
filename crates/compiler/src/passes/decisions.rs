//! Branches as tests of a value against constants, shared by the passes that merge them.

use super::Context;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Edge, Func, Op, Terminator, Value};
use netil::ops::CmpOp;

/// A branch: `hit` is taken if the value lies in one of the ranges, `miss` otherwise.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    /// Of 2 to 64 bits.
    pub value: Value,
    pub ranges: Vec<(u64, u64)>,
    pub hit: Edge,
    pub miss: Edge,
}

/// The most ranges of a set that is taken apart to be merged with others.
const MOST_RANGES: usize = 1 << 12;

/// A block's end as a test.
pub(super) fn decision(func: &Func, context: &Context<'_>, b: Block) -> Option<Decision> {
    let Terminator::Branch(c, yes, no) = &func.block(b).end else { return None };
    let (value, ranges, holds) = match func.op(*c)? {
        Op::Cmp(op @ (CmpOp::Eq | CmpOp::Ne), a, k) => {
            let k = func.constant(*k)?;
            (*a, vec![(k, k)], *op == CmpOp::Eq)
        }
        Op::SetHas(set, a) => {
            let set = func.set(context.program.module(), *set);
            if set.width() > 64 || set.ranges().len() > MOST_RANGES {
                return None;
            }
            (*a, set.small_ranges().collect(), true)
        }
        _ => return None,
    };
    let (hit, miss) = if holds { (yes, no) } else { (no, yes) };
    let fits = (2..=64).contains(&func.width(value)) && func.constant(value).is_none();
    (fits && hit != miss).then(|| Decision { value, ranges, hit: hit.clone(), miss: miss.clone() })
}

/// True if an edge into the block is the only one, and passes nothing.
pub(super) fn follow(func: &Func, cfg: &Cfg, b: Block) -> bool {
    b != Block(0) && cfg.predecessors[b.0 as usize].len() == 1 && func.block(b).params.is_empty()
}

/// True if nothing that a block's operations do can be seen: no trap, no effect.
pub(super) fn quiet(func: &Func, b: Block) -> bool {
    let quiet = |op: &Op| !op.effects().traps && !op.effects().writes;
    func.block(b).ops.iter().filter_map(|v| func.op(*v)).all(quiet)
}
