//! Unsigned ranges of values of at most 64 bits.
//!
//! One rule for each operation ([`result`]) gives the range of its result from those of its
//! operands. It is used in two ways: from a value back through what it is computed from, as far as
//! [`DEPTH`] ([`of`]); and in one walk over a function in which parameters of blocks get what all
//! edges pass ([`Ranges`]). What branches tell narrows ranges further ([`super::facts`]).

use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Func, Op, Value};
use netil::ops::{BinOp, mask};

/// How many operations are followed back from a value.
const DEPTH: u32 = 8;

/// The numbers that a value may be, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub low: u64,
    pub high: u64,
}

impl Range {
    /// All numbers of so many bits; of other than 1 to 64 bits, nothing is known.
    fn all(width: u16) -> Self {
        Self { low: 0, high: if (1..=64).contains(&width) { mask(width) } else { u64::MAX } }
    }

    /// The least range that holds both.
    fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The only number in it.
    pub fn single(self) -> Option<u64> {
        (self.low == self.high).then_some(self.low)
    }
}

/// The range of an operation's result of so many bits, from those of its operands.
fn result(func: &Func, op: &Op, width: u16, of: impl Fn(Value) -> Range) -> Range {
    let all = Range::all(width);
    let upto = |high: u64| Range { low: 0, high };
    let max = |v: Value| of(v).high;
    let found = match op {
        Op::Const(c) => Range { low: *c, high: *c },
        Op::Zext(a) => of(*a),
        Op::Select(_, a, b) => of(*a).hull(of(*b)),
        Op::Bin(BinOp::And, a, b) => upto(max(*a).min(max(*b))),
        Op::Bin(BinOp::UShr, a, b) => upto(func.constant(*b).map_or(max(*a), |by| max(*a).checked_shr(by as u32).unwrap_or(0))),
        Op::Bin(BinOp::Shl, a, b) => upto(func.constant(*b).and_then(|by| shifted(max(*a), by)).unwrap_or(u64::MAX)),
        Op::Bin(BinOp::Add, a, b) => {
            let (a, b) = (of(*a), of(*b));
            a.high.checked_add(b.high).map_or(all, |high| Range { low: a.low + b.low, high })
        }
        Op::Bin(op @ (BinOp::Or | BinOp::Xor), a, b) => {
            let (a, b) = (of(*a), of(*b));
            let high = (a.high | b.high).checked_ilog2().map_or(0, |top| u64::MAX >> (63 - top));
            Range { low: if *op == BinOp::Or { a.low.max(b.low) } else { 0 }, high }
        }
        Op::Div(BinOp::Mod, _, b, _) => upto(max(*b).saturating_sub(1)),
        Op::Div(_, a, ..) => upto(max(*a)),
        _ => all,
    };
    if found.high <= all.high { found } else { all }
}

fn shifted(v: u64, by: u64) -> Option<u64> {
    let by = u32::try_from(by).ok().filter(|by| *by < 64 && v.leading_zeros() >= *by)?;
    Some(v << by)
}

/// The range of one value, from what it is computed from.
pub(crate) fn of(func: &Func, v: Value) -> Range {
    within(func, v, DEPTH)
}

/// The greatest number that a value may be.
pub(crate) fn max(func: &Func, v: Value) -> u64 {
    of(func, v).high
}

fn within(func: &Func, v: Value, depth: u32) -> Range {
    let width = func.width(v);
    match func.op(v) {
        Some(op) if depth > 0 && (1..=64).contains(&width) => result(func, op, width, |v| within(func, v, depth - 1)),
        _ => Range::all(width),
    }
}

/// The range of every value of a function.
pub(crate) struct Ranges(Vec<Range>);

impl Ranges {
    /// In one walk: what comes around a loop may be anything.
    pub fn new(func: &Func, cfg: &Cfg) -> Self {
        let mut ranges = Self((0..func.values.len() as u32).map(|v| Range::all(func.width(Value(v)))).collect());
        let arguments = arguments(func, cfg);
        for block in &cfg.order {
            let known = all_known(cfg, *block);
            for param in func.block(*block).params.iter().filter(|_| known) {
                let passed = arguments[param.0 as usize].iter().map(|v| ranges.of(*v)).reduce(Range::hull);
                ranges.0[param.0 as usize] = passed.unwrap_or(Range::all(64));
            }
            for v in &func.block(*block).ops {
                if let Def::Op(op) = &func.values[v.0 as usize].def {
                    ranges.0[v.0 as usize] = result(func, op, func.width(*v), |v| ranges.of(v));
                }
            }
        }
        ranges
    }

    fn of(&self, v: Value) -> Range {
        self.0[v.0 as usize]
    }

    /// The greatest number that a value may be.
    pub fn max(&self, v: Value) -> u64 {
        self.of(v).high
    }

    /// The least number that a value may be.
    pub fn min(&self, v: Value) -> u64 {
        self.of(v).low
    }
}

/// What each parameter gets, by its number: collected once, for a switch may pass values to one
/// block, or to many, on thousands of edges.
fn arguments(func: &Func, cfg: &Cfg) -> Vec<Vec<Value>> {
    let mut arguments = vec![Vec::new(); func.values.len()];
    for e in cfg.order.iter().flat_map(|b| func.block(*b).end.edges()) {
        let params = &func.block(e.block).params;
        params.iter().zip(&e.args).for_each(|(param, v)| arguments[param.0 as usize].push(*v));
    }
    arguments
}

/// Whether the ranges of what a block is passed are there when it is reached.
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

    fn range(func: &Func, v: Value) -> (u64, u64) {
        let ranges = Ranges::new(func, &Cfg::new(func));
        (ranges.min(v), ranges.max(v))
    }

    #[test]
    fn a_sum_that_may_wrap_may_be_anything() {
        let mut func = empty();
        let b = func.new_block(&[]);
        let [top, one, ones] = [1 << 63, 1, u64::MAX].map(|c| constant(&mut func, b, c));
        let mut sum = |x, y| func.append(b, Type::Int(64), Op::Bin(BinOp::Add, x, y));
        let [kept, doubled, wrapped] = [sum(top, one), sum(top, top), sum(ones, one)];
        assert_eq!(range(&func, kept), ((1 << 63) + 1, (1 << 63) + 1));
        assert_eq!(range(&func, doubled), (0, u64::MAX));
        assert_eq!(range(&func, wrapped), (0, u64::MAX));
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
        assert_eq!(range(&func, func.block(end).params[0]), (1, 2));
        assert!(start.elapsed().as_secs() < 2, "{:?}", start.elapsed());
    }
}
