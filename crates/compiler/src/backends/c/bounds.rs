//! Lower and upper bounds of values, over edges too: whether an address stays within 32 bits is known only so.

use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Func, Op, Value};
use netil::ops::{BinOp, mask};

/// Bounds of every value; of those wider than 64 bits nothing is said.
pub(super) struct Bounds(Vec<(u64, u64)>);

impl Bounds {
    /// In one walk: what comes around a loop may be anything.
    pub fn new(func: &Func, cfg: &Cfg) -> Self {
        let any = |v: u32| (0, mask(func.width(Value(v)).clamp(1, 64)));
        let mut bounds = Self((0..func.values.len() as u32).map(any).collect());
        for block in &cfg.order {
            for (i, param) in func.block(*block).params.iter().enumerate() {
                let args = arguments(func, cfg, *block, i);
                bounds.0[param.0 as usize] = args.map_or(any(param.0), |args| bounds.around(&args));
            }
            for v in &func.block(*block).ops {
                if let Def::Op(op) = &func.values[v.0 as usize].def {
                    bounds.0[v.0 as usize] = bounds.of(func, op, any(v.0));
                }
            }
        }
        bounds
    }

    /// The greatest that a value may be.
    pub fn most(&self, v: Value) -> u64 {
        self.0[v.0 as usize].1
    }

    /// The least that a value may be.
    pub fn least(&self, v: Value) -> u64 {
        self.0[v.0 as usize].0
    }

    fn around(&self, values: &[Value]) -> (u64, u64) {
        let least = values.iter().map(|v| self.least(*v)).min().unwrap_or(0);
        (least, values.iter().map(|v| self.most(*v)).max().unwrap_or(u64::MAX))
    }

    fn of(&self, func: &Func, op: &Op, any: (u64, u64)) -> (u64, u64) {
        let bounds = match op {
            Op::Const(c) => (*c, *c),
            Op::Zext(a) => self.0[a.0 as usize],
            Op::Select(_, a, b) => self.around(&[*a, *b]),
            Op::Bin(BinOp::And, a, b) => (0, self.most(*a).min(self.most(*b))),
            Op::Bin(BinOp::Or, a, b) => (self.least(*a).max(self.least(*b)), any.1),
            Op::Bin(BinOp::Add, a, b) => (self.least(*a).saturating_add(self.least(*b)), self.most(*a).saturating_add(self.most(*b))),
            Op::Bin(BinOp::Shl, a, by) => match func.constant(*by) {
                Some(by) => (0, self.most(*a).saturating_mul(1 << by.min(63))),
                None => any,
            },
            _ => any,
        };
        if bounds.1 <= any.1 { bounds } else { any }
    }
}

/// What a parameter gets, if all that is known when its block is reached.
fn arguments(func: &Func, cfg: &Cfg, block: Block, param: usize) -> Option<Vec<Value>> {
    let before = &cfg.predecessors[block.0 as usize];
    let known = block != Block(0) && before.iter().all(|b| cfg.position[b.0 as usize] < cfg.position[block.0 as usize]);
    known.then(|| {
        let edges = before.iter().flat_map(|b| func.block(*b).end.edges()).filter(|e| e.block == block);
        edges.map(|e| e.args[param]).collect()
    })
}
