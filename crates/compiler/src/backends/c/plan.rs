//! What must be known before a filter is written for lanes: which blocks lanes can run, which bytes they fetch together and where.
//!
//! - A lane **leaves** for the scalar function at a block that lanes cannot run: one with an operation that they lack, or the beginning
//!   of a loop. It is then judged anew there, so a lane may also leave where that is only likely to be quicker.
//! - A **window** is four consecutive bytes of a packet, fetched at once for all loads that lie in them, in the nearest block that dominates
//!   these loads. Lanes whose packet ends within the window leave there.

use super::tables::Tables;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Edge, Func, Op, Terminator, Type, Value};
use netil::ops::{BinOp, CmpOp, mask};
use netil::table::Space;
use std::collections::{BTreeMap, HashMap};

/// Bytes of a window.
const WINDOW: u64 = 4;
/// The most cases of a `switch` that lanes compare one by one.
const MAX_CASES: usize = 8;

/// The most blocks: lanes run all of them, and they are written by recursion.
const MAX_BLOCKS: usize = 1024;

/// Four bytes of each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Added to the offset, where the place depends on the packet.
    pub base: Option<Value>,
    pub offset: u32,
    /// Where it is fetched.
    pub block: Block,
}

impl Window {
    /// One past its last byte, without the base.
    pub fn end(&self) -> u32 {
        self.offset + WINDOW as u32
    }
}

/// A load from the packet.
struct Load {
    offset: u32,
    size: u32,
    value: Value,
    block: Block,
}

/// What was found out about a function.
pub(super) struct Plan {
    pub cfg: Cfg,
    /// Blocks at which lanes leave.
    pub leaves: Vec<bool>,
    /// Blocks that lanes reach, in reverse postorder; for each block whether it is one; the dominator tree.
    order: Vec<Block>,
    pub reached: Vec<bool>,
    pub children: Vec<Vec<Block>>,
    pub windows: Vec<Window>,
    /// The window of each load, and the load's place in it.
    pub loads: HashMap<Value, (usize, u32)>,
    /// Packets are at least so long where a block begins.
    pub lengths: Vec<u32>,
    /// The share of lanes that reach each block: a guess.
    pub share: Vec<f64>,
}

impl Plan {
    /// None where lanes would leave at once.
    pub fn new(func: &Func, tables: &Tables) -> Option<Self> {
        let cfg = Cfg::new(func);
        let leaves = leaves(func, &cfg, tables);
        let reached = reached(func, &cfg, &leaves);
        let order: Vec<Block> = cfg.order.iter().copied().filter(|b| reached[b.0 as usize]).collect();
        let children = cfg.children();
        let mut plan = Self {
            leaves,
            order,
            reached,
            children,
            windows: Vec::new(),
            loads: HashMap::new(),
            lengths: Vec::new(),
            share: Vec::new(),
            cfg,
        };
        if plan.leaves[0] || plan.order.len() > MAX_BLOCKS {
            return None;
        }
        plan.find_windows(func);
        plan.lengths = plan.find_lengths(func);
        plan.share = plan.guess_shares(func);
        Some(plan)
    }

    fn runs(&self, block: Block) -> bool {
        !self.leaves[block.0 as usize]
    }

    fn find_windows(&mut self, func: &Func) {
        let mut by_base: BTreeMap<Option<Value>, Vec<Load>> = BTreeMap::new();
        for block in self.order.iter().filter(|b| self.runs(**b)) {
            for v in &func.block(*block).ops {
                if let Some((base, offset)) = place(func, *v) {
                    let load = Load { offset, size: u32::from(func.width(*v) / 8), value: *v, block: *block };
                    by_base.entry(base).or_default().push(load);
                }
            }
        }
        for (base, mut loads) in by_base {
            loads.sort_unstable_by_key(|load| (load.offset, load.size));
            let mut rest = loads.as_slice();
            while let Some(first) = rest.first() {
                rest = self.window(base, first.offset, rest);
            }
        }
    }

    /// Makes a window for the loads that fit in; gives those that are left.
    fn window<'l>(&mut self, base: Option<Value>, offset: u32, loads: &'l [Load]) -> &'l [Load] {
        let fits = |load: &&Load| u64::from(load.offset) + u64::from(load.size) <= u64::from(offset) + WINDOW;
        let (taken, rest) = loads.split_at(loads.iter().take_while(fits).count().max(1));
        let block = taken.iter().map(|load| load.block).reduce(|a, b| self.common(a, b)).unwrap_or(Block(0));
        for load in taken {
            self.loads.insert(load.value, (self.windows.len(), load.offset - offset));
        }
        self.windows.push(Window { base, offset, block });
        rest
    }

    /// The nearest block that dominates both.
    fn common(&self, mut a: Block, mut b: Block) -> Block {
        let position = |b: Block| self.cfg.position[b.0 as usize];
        while a != b {
            if position(a) > position(b) {
                a = self.cfg.idom[a.0 as usize];
            } else {
                b = self.cfg.idom[b.0 as usize];
            }
        }
        a
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

/// The packet place that a value is loaded from, if lanes can do that: offset, and the value it is added to.
fn place(func: &Func, v: Value) -> Option<(Option<Value>, u32)> {
    let Some(Op::Load(Space::Packet, _, addr, offset, _)) = func.op(v) else { return None };
    if func.width(v) > 32 {
        return None;
    }
    let (base, offset) = match func.constant(*addr) {
        Some(constant) => (None, constant + u64::from(*offset)),
        None => (Some(*addr), u64::from(*offset)),
    };
    let most = base.map_or(0, |base| most(func, base)) + offset + WINDOW;
    (most <= u64::from(u32::MAX)).then_some((base, offset as u32))
}

/// An upper bound of a value.
pub(super) fn most(func: &Func, v: Value) -> u64 {
    let width = mask(func.width(v).min(64));
    let Some(op) = func.op(v) else { return width };
    let bound = match op {
        Op::Const(c) => *c,
        Op::Zext(a) => most(func, *a),
        Op::Bin(BinOp::And, a, b) => most(func, *a).min(most(func, *b)),
        Op::Bin(BinOp::Add, a, b) => most(func, *a).saturating_add(most(func, *b)),
        Op::Bin(BinOp::Shl, a, by) => func.constant(*by).and_then(|by| most(func, *a).checked_mul(1 << by.min(63))).unwrap_or(width),
        _ => width,
    };
    if bound <= width { bound } else { width }
}

fn leaves(func: &Func, cfg: &Cfg, tables: &Tables) -> Vec<bool> {
    let mut leaves = vec![false; func.blocks.len()];
    for block in &cfg.order {
        let data = func.block(*block);
        let wide = |v: &Value| matches!(func.ty(*v), Type::Int(w) if w > 32);
        let lacking = data.params.iter().any(wide) || data.ops.iter().any(|v| wide(v) || !can(func, *v, tables));
        leaves[block.0 as usize] |= lacking || matches!(&data.end, Terminator::Switch(_, cases, _) if cases.len() > MAX_CASES);
        for Edge { block: to, .. } in data.end.edges() {
            leaves[to.0 as usize] |= cfg.position[to.0 as usize] <= cfg.position[block.0 as usize];
        }
    }
    leaves
}

/// Whether lanes have an operation whose result fits them.
fn can(func: &Func, v: Value, tables: &Tables) -> bool {
    let Some(op) = func.op(v) else { return true };
    let narrow = |v: &Value| func.width(*v) <= 32;
    match op {
        Op::Const(_) | Op::Proved(..) | Op::PacketLen | Op::WireLen | Op::Present(_) => true,
        Op::Load(..) => place(func, v).is_some(),
        Op::Check(space, extents) => *space == Space::Packet && extents.iter().all(|e| most(func, e.addr) + e.end() <= u64::from(u32::MAX)),
        Op::Bin(op, ..) => match op {
            BinOp::And | BinOp::Or | BinOp::Xor => true,
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl | BinOp::UShr => func.width(v) > 1,
            _ => false,
        },
        Op::Cmp(op, a, _) => narrow(a) && !matches!(op, CmpOp::Lts | CmpOp::Les | CmpOp::Gts | CmpOp::Ges) && func.width(*a) > 1,
        Op::Zext(a) | Op::Trunc(a) | Op::Slice(a, _) => narrow(a) && func.width(v) > 1 || matches!(op, Op::Zext(_)),
        Op::Select(..) => true,
        Op::SetHas(set, a) => tables.fits_lanes(*set) && func.width(*a) > 1,
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
        Some(Op::SetHas(..)) => 0.1,
        _ => 0.5,
    }
}

/// Of an equality with a constant: by the constant's bits that are compared; EtherTypes are known, in either byte order.
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
