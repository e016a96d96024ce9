//! What the kernel's verifier knows: how large values are, which registers point into the packet,
//! and how many bytes behind them are there.
//!
//! Two things are known here: an upper bound of a value, as far as the verifier sees it too
//! ([`Bounds`]), and on each way through the program which tests have passed ([`Facts`]). Both are
//! less than the verifier knows, never more.
//!
//! Source: the kernel's Documentation/bpf/verifier.rst and kernel/bpf/verifier.c
//! (`find_good_pkt_pointers`, `adjust_scalar_min_max_vals`).

use super::lir::Reg;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Edge, Func, Op, Value};
use netil::ops::{BinOp, mask};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes before the packet that were pulled.
pub(super) const MOST_HEAD: u32 = 0x1ff;
/// Offsets into a packet: the verifier follows them to 65,535, and adds the offset of an access to
/// the one that is computed and to what was pulled.
pub(super) const MOST_OFFSET: u32 = 0x7eff;

/// The most pointers that are remembered at once; others are computed and tested anew.
const MOST_POINTERS: usize = 256;

/// Upper bounds of values, by value; `u64::MAX` where nothing is known.
#[derive(Default)]
pub(super) struct Bounds(Vec<u64>);

impl Bounds {
    /// The bounds of a function; of what comes round a loop nothing is known.
    pub fn new(func: &Func, cfg: &Cfg) -> Self {
        let mut bounds = Self(vec![u64::MAX; func.values.len()]);
        func.blocks.iter().flat_map(|b| &b.params).for_each(|p| bounds.0[p.0 as usize] = 0);
        let heads = cfg.order.iter().flat_map(|b| back_edges(func, cfg, *b)).map(|e| e.block);
        for head in heads.chain([Block(0)]) {
            func.block(head).params.iter().for_each(|p| bounds.0[p.0 as usize] = u64::MAX);
        }
        for b in &cfg.order {
            for v in &func.block(*b).ops {
                bounds.0[v.0 as usize] = bounds.of_op(func, *v);
            }
            for e in func.block(*b).end.edges() {
                for (param, arg) in func.block(e.block).params.iter().zip(&e.args) {
                    bounds.0[param.0 as usize] = bounds.of(*param).max(bounds.of(*arg));
                }
            }
        }
        bounds
    }

    /// The value is not greater.
    pub fn of(&self, v: Value) -> u64 {
        self.0[v.0 as usize]
    }

    fn of_op(&self, func: &Func, v: Value) -> u64 {
        let (width, Def::Op(op)) = (func.width(v), &func.values[v.0 as usize].def) else { return u64::MAX };
        if !(1..=32).contains(&width) {
            return u64::MAX;
        }
        let most = mask(width);
        let fits = |exact: Option<u64>| exact.filter(|exact| *exact <= most).unwrap_or(u64::MAX);
        match op {
            Op::Const(c) => *c,
            Op::Cmp(..) | Op::SetHas(..) => 1,
            Op::Load(..) if matches!(width, 8 | 16) => most,
            Op::Zext(a) => self.of(*a),
            Op::Trunc(a) => self.of(*a).min(if width < 32 { most } else { u64::MAX }),
            Op::Slice(..) if width < 32 => most,
            Op::Select(_, a, b) => self.of(*a).max(self.of(*b)),
            Op::Bin(BinOp::And, a, b) => self.of(*a).min(func.constant(*b).unwrap_or(u64::MAX)),
            Op::Bin(BinOp::Add, a, b) => fits(self.of(*a).checked_add(self.of(*b))),
            Op::Bin(BinOp::Shl, a, by) => fits(func.constant(*by).filter(|by| *by < 32).and_then(|by| self.of(*a).checked_mul(1 << by))),
            Op::Bin(BinOp::UShr, a, by) => match func.constant(*by) {
                Some(by) if by < 32 && self.of(*a) != u64::MAX => self.of(*a) >> by,
                _ => u64::MAX,
            },
            _ => u64::MAX,
        }
    }

    /// A 32-bit address as a value and a constant that are added without wrapping; no value for a
    /// constant.
    pub fn split(&self, func: &Func, addr: Value) -> (Option<Value>, u64) {
        if let Some(at) = func.constant(addr) {
            return (None, at);
        }
        match func.op(addr) {
            Some(Op::Bin(BinOp::Add, x, c)) if self.of(addr) != u64::MAX => match func.constant(*c) {
                Some(c) => (Some(*x), c),
                None => (Some(addr), 0),
            },
            _ => (Some(addr), 0),
        }
    }
}

/// Edges of a block that lead to a block that is not behind it.
pub(super) fn back_edges<'a>(func: &'a Func, cfg: &Cfg, b: Block) -> Vec<&'a Edge> {
    let back = |e: &&Edge| cfg.position[e.block.0 as usize] <= cfg.position[b.0 as usize];
    func.block(b).end.edges().into_iter().filter(back).collect()
}

/// What has been found out on every way to a place.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The register that points to the packet's beginning plus a value.
    pub pointers: BTreeMap<Value, Reg>,
    /// How many bytes from a pointer on are in the packet.
    pub ranges: BTreeMap<Reg, u32>,
    /// Registers with entries of tables that are there.
    pub some: BTreeSet<Reg>,
}

impl Facts {
    /// A value's pointer is in that register.
    pub fn points(&mut self, x: Value, pointer: Reg) {
        if self.pointers.len() < MOST_POINTERS {
            self.pointers.insert(x, pointer);
        }
    }

    /// So many bytes behind a pointer have been tested for.
    pub fn range(&self, pointer: Reg) -> u32 {
        self.ranges.get(&pointer).copied().unwrap_or(0)
    }

    /// They have.
    pub fn learn(&mut self, pointer: Reg, bytes: u32) {
        if self.ranges.len() > MOST_POINTERS && !self.ranges.contains_key(&pointer) {
            return;
        }
        let known = self.ranges.entry(pointer).or_default();
        *known = (*known).max(bytes);
    }

    /// Keeps what the other way knows as well.
    pub fn meet(&mut self, other: &Self) {
        self.pointers.retain(|v, r| other.pointers.get(v) == Some(r));
        self.some.retain(|r| other.some.contains(r));
        self.ranges.retain(|r, bytes| {
            *bytes = (*bytes).min(other.range(*r));
            *bytes > 0
        });
    }
}
