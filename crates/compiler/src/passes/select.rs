//! If-conversion.
//!
//! Idea: a branch that only chooses between values is a select: no branch, so none that the
//! processor guesses wrong, which costs as much as some thirty operations. Source: Allen, Kennedy,
//! Porterfield, Warren, "Conversion of control dependence to data dependence" (1983). Phases: for
//! each branch whose two ways meet at once, or after one block each, the operations in between are
//! done before it, and each argument becomes a select; later branches first, so that nested ones
//! follow. Cost model: what is then done in vain must be cheap. At most [`MOST`] operations and
//! selects in all; none that loads, divides, looks into a set, calls the runtime, has more than 64
//! bits, or could be seen. A branch that ends the work on a packet is left to back ends: the JIT
//! makes the verdict of one the packet's bit. Tests in a row stay branches, even where each is
//! cheap: as one they cost more on packets that all go the same way, and the first to fail spares
//! the others. Price: linear. Left out: code for lanes, where a branch divides the set of lanes and
//! costs nothing that could be guessed wrong.

use super::Context;
use super::decisions::follow;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Edge, Func, Op, Terminator, Value};

/// Operations and selects in place of a branch.
const MOST: usize = 4;

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    if context.target.lanes {
        return;
    }
    let cfg = Cfg::new(func);
    let mut found = 0;
    for b in cfg.order.iter().rev() {
        found += usize::from(convert(func, &cfg, *b).is_some());
    }
    if found > 0 {
        context.note(|| format!("{found} branches that chose between values are selects, each with at most {MOST} cheap operations"));
    }
}

/// One of the two ways: what is done on it, and where it meets the other.
struct BranchArm {
    ops: Vec<Value>,
    meet: Edge,
}

fn convert(func: &mut Func, cfg: &Cfg, b: Block) -> Option<()> {
    let Terminator::Branch(c, yes, no) = &func.block(b).end else { return None };
    let (c, yes, no) = (*c, yes.clone(), no.clone());
    let (yes, no) = ways(func, cfg, &yes, &no)?;
    let differ = |(a, b): (&Value, &Value)| a != b;
    let selects = yes.meet.args.iter().zip(&no.meet.args).filter(|pair| differ(*pair)).count();
    let narrow = yes.meet.args.iter().all(|a| (1..=64).contains(&func.width(*a)));
    if selects == 0 || !narrow || selects + cost(func, &yes.ops)? + cost(func, &no.ops)? > MOST {
        return None;
    }
    func.block_mut(b).ops.extend(yes.ops.iter().chain(&no.ops));
    let mut args = Vec::new();
    for (x, y) in yes.meet.args.iter().zip(&no.meet.args) {
        let chosen = if x == y { *x } else { func.append(b, func.ty(*x), Op::Select(c, *x, *y)) };
        args.push(chosen);
    }
    func.block_mut(b).end = Terminator::Jump(Edge { block: yes.meet.block, args });
    Some(())
}

/// Both ways, if they meet: each is an edge, or an edge to a block that only this edge reaches and
/// that jumps.
fn ways(func: &Func, cfg: &Cfg, yes: &Edge, no: &Edge) -> Option<(BranchArm, BranchArm)> {
    let direct = |e: &Edge| Some(BranchArm { ops: Vec::new(), meet: e.clone() });
    let behind = |e: &Edge| match &func.block(e.block).end {
        Terminator::Jump(meet) if follow(func, cfg, e.block) => {
            Some(BranchArm { ops: func.block(e.block).ops.clone(), meet: meet.clone() })
        }
        _ => None,
    };
    let meeting = |a: Option<BranchArm>, b: Option<BranchArm>| match (a, b) {
        (Some(a), Some(b)) if a.meet.block == b.meet.block => Some((a, b)),
        _ => None,
    };
    meeting(direct(yes), direct(no))
        .or_else(|| meeting(behind(yes), direct(no)))
        .or_else(|| meeting(direct(yes), behind(no)))
        .or_else(|| meeting(behind(yes), behind(no)))
}

/// How many operations are done; none if one of them is not cheap.
fn cost(func: &Func, ops: &[Value]) -> Option<usize> {
    let mut sum = 0;
    for v in ops {
        sum += match func.op(*v)? {
            Op::Const(_) => 0,
            Op::Bin(..) | Op::Un(..) | Op::Cmp(..) | Op::Zext(_) | Op::Sext(_) | Op::Trunc(_) | Op::Slice(..) | Op::Select(..)
                if func.width(*v) <= 64 && operands_fit(func, *v) =>
            {
                1
            }
            _ => return None,
        };
    }
    Some(sum)
}

fn operands_fit(func: &Func, v: Value) -> bool {
    let mut fit = true;
    func.op(v).into_iter().for_each(|op| op.operands(|u| fit &= (1..=64).contains(&func.width(u))));
    fit
}
