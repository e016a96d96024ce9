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
        let arguments = arguments(func, cfg);
        for block in &cfg.order {
            let known = all_known(cfg, *block);
            for param in func.block(*block).params.iter().filter(|_| known) {
                bounds.0[param.0 as usize] = bounds.around(&arguments[param.0 as usize]);
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
            Op::Bin(BinOp::Add, a, b) => match self.most(*a).checked_add(self.most(*b)) {
                Some(most) => (self.least(*a) + self.least(*b), most),
                None => any,
            },
            Op::Bin(BinOp::Shl, a, by) => match func.constant(*by) {
                Some(by) => (0, self.most(*a).saturating_mul(1 << by.min(63))),
                None => any,
            },
            _ => any,
        };
        if bounds.1 <= any.1 { bounds } else { any }
    }
}

/// What each parameter gets, by its number: collected once, for a switch may pass values to one block, or to many, on thousands of edges.
fn arguments(func: &Func, cfg: &Cfg) -> Vec<Vec<Value>> {
    let mut arguments = vec![Vec::new(); func.values.len()];
    for e in cfg.order.iter().flat_map(|b| func.block(*b).end.edges()) {
        let params = &func.block(e.block).params;
        params.iter().zip(&e.args).for_each(|(param, v)| arguments[param.0 as usize].push(*v));
    }
    arguments
}

/// Whether the bounds of what a block is passed are there when it is reached.
fn all_known(cfg: &Cfg, block: Block) -> bool {
    let before = |b: &Block| cfg.position[b.0 as usize] < cfg.position[block.0 as usize];
    block != Block(0) && cfg.predecessors[block.0 as usize].iter().all(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::{Edge, Op, Terminator, Type};
    use netil::module::HandlerKind;

    fn empty() -> Func {
        Func { kind: HandlerKind::Push, blocks: Vec::new(), values: Vec::new(), module_sets: 0, sets: Vec::new() }
    }

    fn constant(func: &mut Func, b: Block, c: u64) -> Value {
        func.append(b, Type::Int(64), Op::Const(c))
    }

    fn bounds(func: &Func, v: Value) -> (u64, u64) {
        let bounds = Bounds::new(func, &Cfg::new(func));
        (bounds.least(v), bounds.most(v))
    }

    #[test]
    fn a_sum_that_may_wrap_may_be_anything() {
        let mut func = empty();
        let b = func.new_block(&[]);
        let [top, one, ones] = [1 << 63, 1, u64::MAX].map(|c| constant(&mut func, b, c));
        let mut sum = |x, y| func.append(b, Type::Int(64), Op::Bin(BinOp::Add, x, y));
        let [kept, doubled, wrapped] = [sum(top, one), sum(top, top), sum(ones, one)];
        assert_eq!(bounds(&func, kept), ((1 << 63) + 1, (1 << 63) + 1));
        assert_eq!(bounds(&func, doubled), (0, u64::MAX));
        assert_eq!(bounds(&func, wrapped), (0, u64::MAX));
    }

    /// Each of n cases passes the same; another way passes something else.
    #[test]
    fn a_switch_to_one_place_is_looked_at_once() {
        let mut func = empty();
        let (b, end) = (func.new_block(&[Type::Int(32)]), func.new_block(&[Type::Int(64)]));
        let (key, one, two) = (func.block(b).params[0], constant(&mut func, b, 1), constant(&mut func, b, 2));
        let to = |v| Edge { block: end, args: vec![v] };
        func.block_mut(b).end = Terminator::Switch(key, (0..60_000).map(|k| (k, to(one))).collect(), to(two));
        let start = std::time::Instant::now();
        assert_eq!(bounds(&func, func.block(end).params[0]), (1, 2));
        assert!(start.elapsed().as_secs() < 2, "{:?}", start.elapsed());
    }
}
