//! The plan of a filter for lanes: which blocks lanes can run, which bytes they load together and
//! where.
//!
//! - A lane **leaves** for the scalar function at a block that lanes cannot run: one with an
//!   operation that they lack, or the beginning of a loop. The packet is then judged anew, so a
//!   lane may also leave where that is only likely to be quicker.
//! - Loads are grouped into vector loads ([`super::loads`]); lanes whose packet ends within one
//!   leave where it is done.

use super::loads::{VectorLoads, place};
use crate::analysis::ranges::Ranges;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Edge, Func, Op, Terminator, Type, Value};
use netil::Module;
use netil::ops::{BinOp, CmpOp};
use netil::table::Space;

/// The most cases of a `switch` that lanes compare one by one.
const MAX_CASES: usize = 8;

/// The most blocks: lanes run all of them, and they are written by recursion.
const MAX_BLOCKS: usize = 1024;

/// What was found out about a function.
pub(crate) struct VectorPlan {
    pub cfg: Cfg,
    /// Blocks at which lanes leave.
    pub leaves: Vec<bool>,
    /// Blocks that lanes reach, in reverse postorder; for each block whether it is one; the
    /// dominator tree.
    order: Vec<Block>,
    pub reached: Vec<bool>,
    pub children: Vec<Vec<Block>>,
    pub loads: VectorLoads,
    /// Packets are at least so long where a block begins.
    pub lengths: Vec<u32>,
    /// The share of lanes that reach each block: a guess.
    pub share: Vec<f64>,
}

impl VectorPlan {
    /// None where lanes would leave at once.
    pub fn new(func: &Func, module: &Module) -> Option<Self> {
        let cfg = Cfg::new(func);
        let ranges = Ranges::new(func, &cfg);
        let leaves = leaves(func, &cfg, &ranges, module);
        let reached = reached(func, &cfg, &leaves);
        let order: Vec<Block> = cfg.order.iter().copied().filter(|b| reached[b.0 as usize]).collect();
        let children = cfg.children();
        let mut plan =
            Self { leaves, order, reached, children, loads: VectorLoads::default(), lengths: Vec::new(), share: Vec::new(), cfg };
        if plan.leaves[0] || plan.order.len() > MAX_BLOCKS {
            return None;
        }
        let running = plan.order.iter().copied().filter(|b| plan.runs(*b));
        plan.loads = VectorLoads::new(func, &plan.cfg, &ranges, running);
        plan.lengths = plan.find_lengths(func);
        plan.share = plan.guess_shares(func);
        Some(plan)
    }

    fn runs(&self, block: Block) -> bool {
        !self.leaves[block.0 as usize]
    }

    /// From comparisons of the packet's length with constants on the way to a block.
    fn find_lengths(&self, func: &Func) -> Vec<u32> {
        let mut lengths = vec![0; func.blocks.len()];
        for block in &self.order {
            let mut least = lengths[self.cfg.idom[block.0 as usize].0 as usize];
            if let [before] = self.cfg.predecessors[block.0 as usize][..]
                && let Terminator::Branch(c, yes, no) = &func.block(before).end
                && yes.block != no.block
                && let Some(told) = length_told(func, *c, yes.block == *block)
            {
                least = least.max(told);
            }
            lengths[block.0 as usize] = least;
        }
        lengths
    }

    fn guess_shares(&self, func: &Func) -> Vec<f64> {
        let mut share = vec![0.0; func.blocks.len()];
        share[0] = 1.0;
        for block in self.order.iter().filter(|b| self.runs(**b)) {
            let here = share[block.0 as usize];
            match &func.block(*block).end {
                Terminator::Branch(c, yes, no) => {
                    let p = likelihood(func, *c);
                    share[yes.block.0 as usize] += here * p;
                    share[no.block.0 as usize] += here * (1.0 - p);
                }
                end => {
                    let edges = end.edges();
                    edges.iter().for_each(|e| share[e.block.0 as usize] += here / edges.len() as f64);
                }
            }
        }
        share
    }
}

fn leaves(func: &Func, cfg: &Cfg, ranges: &Ranges, module: &Module) -> Vec<bool> {
    let mut leaves = vec![false; func.blocks.len()];
    for block in &cfg.order {
        let data = func.block(*block);
        let wide = |v: &Value| matches!(func.ty(*v), Type::Int(w) if w > 32);
        let lacking = data.params.iter().any(wide) || data.ops.iter().any(|v| wide(v) || !can(func, *v, ranges, module));
        leaves[block.0 as usize] |= lacking
            || match &data.end {
                Terminator::Switch(_, cases, _) => cases.len() > MAX_CASES,
                end => matches!(end, Terminator::SendBy(..)),
            };
        for Edge { block: to, .. } in data.end.edges() {
            leaves[to.0 as usize] |= cfg.position[to.0 as usize] <= cfg.position[block.0 as usize];
        }
    }
    leaves
}

/// Whether lanes have an operation whose result fits them.
fn can(func: &Func, v: Value, ranges: &Ranges, module: &Module) -> bool {
    let Some(op) = func.op(v) else { return true };
    let narrow = |v: &Value| func.width(*v) <= 32;
    match op {
        Op::Const(_) | Op::Proved(..) | Op::PacketLen | Op::WireLen | Op::Present(_) => true,
        Op::Load(..) => place(func, ranges, v).is_some(),
        Op::Check(space, extents) => *space == Space::Packet && extents.iter().all(|e| ranges.max(e.addr) + e.end() <= u64::from(u32::MAX)),
        Op::Bin(op, ..) => match op {
            BinOp::And | BinOp::Or | BinOp::Xor => true,
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl | BinOp::UShr => func.width(v) > 1,
            _ => false,
        },
        Op::Cmp(op, a, _) => narrow(a) && !matches!(op, CmpOp::Lts | CmpOp::Les | CmpOp::Gts | CmpOp::Ges) && func.width(*a) > 1,
        Op::Zext(a) | Op::Trunc(a) | Op::Slice(a, _) => narrow(a) && func.width(v) > 1 || matches!(op, Op::Zext(_)),
        Op::Select(..) => true,
        Op::SetHas(set, a) => func.set(module, *set).width() <= 32 && func.width(*a) > 1,
        _ => false,
    }
}

/// Blocks that are reached through none at which lanes leave, and those themselves.
fn reached(func: &Func, cfg: &Cfg, leaves: &[bool]) -> Vec<bool> {
    let mut seen = vec![false; func.blocks.len()];
    seen[0] = true;
    for block in &cfg.order {
        if seen[block.0 as usize] && !leaves[block.0 as usize] {
            func.block(*block).end.edges().iter().for_each(|e| seen[e.block.0 as usize] = true);
        }
    }
    seen
}

/// What a comparison of the packet's length with a constant tells of its least value.
fn length_told(func: &Func, condition: Value, holds: bool) -> Option<u32> {
    let Some(Op::Cmp(op, a, b)) = func.op(condition) else { return None };
    let (Some(Op::PacketLen), Some(c)) = (func.op(*a), func.constant(*b)) else { return None };
    let least = match (op, holds) {
        (CmpOp::Ge, true) | (CmpOp::Lt, false) | (CmpOp::Eq, true) => c,
        (CmpOp::Gt, true) | (CmpOp::Le, false) => c + 1,
        _ => return None,
    };
    u32::try_from(least).ok()
}

/// How many packets a condition holds for: a guess from what traffic looks like.
fn likelihood(func: &Func, condition: Value) -> f64 {
    match func.op(condition) {
        Some(Op::Cmp(CmpOp::Eq, a, b)) => equal(func, *a, *b),
        Some(Op::Cmp(CmpOp::Ne, a, b)) => 1.0 - equal(func, *a, *b),
        Some(Op::Cmp(CmpOp::Lt | CmpOp::Le, a, _)) if matches!(func.op(*a), Some(Op::PacketLen)) => 0.05,
        Some(Op::Cmp(CmpOp::Gt | CmpOp::Ge, _, b)) if matches!(func.op(*b), Some(Op::PacketLen)) => 0.05,
        Some(Op::Cmp(CmpOp::Gt | CmpOp::Ge, a, _)) if matches!(func.op(*a), Some(Op::PacketLen)) => 0.95,
        Some(Op::SetHas(_, a)) if func.width(*a) == 32 => 0.03,
        Some(Op::SetHas(..)) => 0.1,
        _ => 0.5,
    }
}

/// Of an equality with a constant: by the constant's bits that are compared; EtherTypes are known,
/// in either byte order.
fn equal(func: &Func, a: Value, b: Value) -> f64 {
    let compared = match func.op(a) {
        Some(Op::Bin(BinOp::And, _, m)) => func.constant(*m).map_or(32, u64::count_ones),
        _ => u32::from(func.width(a)),
    };
    match (func.constant(b), compared) {
        (Some(0x0800 | 0x0008), 16) => 0.8,
        (Some(0x86dd | 0xdd86), 16) => 0.2,
        (Some(0x0806 | 0x0608 | 0x8035 | 0x3580), 16) => 0.02,
        (Some(0), 13 | 14) => 0.95,
        (_, ..=8) => 0.4,
        (_, 9..=16) => 0.08,
        _ => 0.04,
    }
}
