//! What the kernel's verifier knows: how large values are, which registers point into the packet, and how many bytes behind them are there.
//!
//! Two things are known here: an upper bound of a value, as far as the verifier sees it too ([`Bounds`]), and on each way through the program
//! which tests have passed ([`Facts`]). Both are less than the verifier knows, never more.
//!
//! Source: the kernel's Documentation/bpf/verifier.rst and kernel/bpf/verifier.c (`find_good_pkt_pointers`, `adjust_scalar_min_max_vals`).

use super::lir::Reg;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Func, Op, Value};
use netil::ops::{BinOp, mask};
use std::collections::BTreeMap;

/// Offsets into a packet: the verifier follows them to 65,535, and adds the offset of an access to the one that is computed.
pub(super) const MOST_OFFSET: u32 = 0x7fff;

/// Upper bounds of values, by value; `u64::MAX` where nothing is known.
pub(super) struct Bounds(Vec<u64>);

impl Bounds {
    /// The bounds of a function without loops.
    pub fn new(func: &Func, cfg: &Cfg) -> Self {
        let mut bounds = Self(vec![u64::MAX; func.values.len()]);
        func.blocks.iter().flat_map(|b| &b.params).for_each(|p| bounds.0[p.0 as usize] = 0);
        func.block(Block(0)).params.iter().for_each(|p| bounds.0[p.0 as usize] = u64::MAX);
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

    /// A 32-bit address as a value and a constant that are added without wrapping; no value for a constant.
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

/// What has been found out on every way to a place.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The register that points to the packet's beginning plus a value.
    pub pointers: BTreeMap<Value, Reg>,
    /// How many bytes from a pointer on are in the packet.
    pub ranges: BTreeMap<Reg, u32>,
}

impl Facts {
    /// So many bytes behind a pointer have been tested for.
    pub fn range(&self, pointer: Reg) -> u32 {
        self.ranges.get(&pointer).copied().unwrap_or(0)
    }

    /// They have.
    pub fn learn(&mut self, pointer: Reg, bytes: u32) {
        let known = self.ranges.entry(pointer).or_default();
        *known = (*known).max(bytes);
    }

    /// Keeps what the other way knows as well.
    pub fn meet(&mut self, other: &Self) {
        self.pointers.retain(|v, r| other.pointers.get(v) == Some(r));
        self.ranges.retain(|r, bytes| {
            *bytes = (*bytes).min(other.range(*r));
            *bytes > 0
        });
    }
}
