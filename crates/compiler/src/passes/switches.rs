//! Switch lowering.
//!
//! Idea: a switch becomes what tests it best, by its size and density: an if-chain, a set test for
//! each place, a jump table (the switch that remains, its gaps filled), a perfect hash before a
//! jump table, or a binary search. [`crate::switches`] chooses, for all back ends. Source: NetVM
//! paper, section 4.2; Sayle (2008). Phases: one walk; each switch becomes blocks of its own.
//! Price: linear in keys, and the search for a hash.

use super::Context;
use crate::mir::{Block, Edge, Func, Op, Terminator, Type, Value};
use crate::sets::Hash;
use crate::switches::{Range, SwitchLowering, ranges};
use netil::ops::{BinOp, CmpOp};
use netil::set::Set;
use std::collections::{BTreeMap, HashMap};

/// Ranges at a leaf of a binary search.
const LEAF: usize = 3;

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    for b in func.block_ids() {
        let Terminator::Switch(key, cases, default) = &func.block(b).end else { continue };
        let (key, default) = (*key, default.clone());
        let mut numbers: HashMap<&Edge, usize> = HashMap::new();
        let mut places: Vec<Edge> = Vec::new();
        let mut sorted: BTreeMap<u32, usize> = BTreeMap::new();
        for (k, e) in cases {
            let place = *numbers.entry(e).or_insert_with(|| {
                places.push(e.clone());
                places.len() - 1
            });
            sorted.entry(*k).or_insert(place);
        }
        let ranges = ranges(sorted);
        let plan = SwitchLowering::choose(&ranges, !context.target.lanes);
        context.note(|| format!("switch of {key:?} in {b:?}: {}", plan.why(&ranges)));
        Lowering { func, key, places, default }.put(b, &plan, &ranges);
    }
}

struct Lowering<'a> {
    func: &'a mut Func,
    key: Value,
    places: Vec<Edge>,
    default: Edge,
}

impl Lowering<'_> {
    fn put(&mut self, b: Block, plan: &SwitchLowering, ranges: &[Range]) {
        match plan {
            SwitchLowering::Chain => self.chain(b, ranges),
            SwitchLowering::Sets => self.sets(b, ranges),
            SwitchLowering::Table => self.table(b, ranges),
            SwitchLowering::Hash(hash) => self.hash(b, hash, ranges),
            SwitchLowering::Search => self.search(b, ranges),
            SwitchLowering::Whole => {}
        }
    }

    fn constant(&mut self, b: Block, c: u32) -> Value {
        self.func.append(b, Type::Int(32), Op::Const(c.into()))
    }

    fn flag(&mut self, b: Block, op: CmpOp, v: Value, c: u32) -> Value {
        let c = self.constant(b, c);
        self.func.append(b, Type::Int(1), Op::Cmp(op, v, c))
    }

    fn place(&self, range: &Range) -> Edge {
        self.places[range.place].clone()
    }

    /// Ends a block with tests one after the other.
    fn chain(&mut self, mut b: Block, ranges: &[Range]) {
        for (i, range) in ranges.iter().enumerate() {
            let inside = self.inside(b, range);
            let (hit, last) = (self.place(range), i + 1 == ranges.len());
            let next = if last { self.default.clone() } else { Edge::to(self.func.new_block(&[])) };
            let after = next.block;
            self.func.block_mut(b).end = Terminator::Branch(inside, hit, next);
            b = after;
        }
        if ranges.is_empty() {
            self.func.block_mut(b).end = Terminator::Jump(self.default.clone());
        }
    }

    /// An i1: the key lies in a range.
    fn inside(&mut self, b: Block, range: &Range) -> Value {
        match (range.low, range.high) {
            (low, high) if low == high => self.flag(b, CmpOp::Eq, self.key, low),
            (0, high) => self.flag(b, CmpOp::Le, self.key, high),
            (low, u32::MAX) => self.flag(b, CmpOp::Ge, self.key, low),
            (low, high) => {
                let negative = self.constant(b, low.wrapping_neg());
                let offset = self.func.append(b, Type::Int(32), Op::Bin(BinOp::Add, self.key, negative));
                self.flag(b, CmpOp::Le, offset, high - low)
            }
        }
    }

    /// The places are few: the key's set says which.
    fn sets(&mut self, mut b: Block, ranges: &[Range]) {
        let mut by_place: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
        ranges.iter().for_each(|r| by_place.entry(r.place).or_default().push((r.low.into(), r.high.into())));
        let last = by_place.len();
        for (i, (place, of_place)) in by_place.into_iter().enumerate() {
            let set = Set::of_ranges(&format!("of_v{}", self.key.0), 32, of_place).expect("keys have 32 bits");
            let set = self.func.add_set(set);
            let held = self.func.append(b, Type::Int(1), Op::SetHas(set, self.key));
            let next = if i + 1 == last { self.default.clone() } else { Edge::to(self.func.new_block(&[])) };
            let after = next.block;
            self.func.block_mut(b).end = Terminator::Branch(held, self.places[place].clone(), next);
            b = after;
        }
    }

    /// The switch, without gaps.
    fn table(&mut self, b: Block, ranges: &[Range]) {
        let mut cases = Vec::new();
        for range in ranges {
            let next = cases.last().map_or(range.low, |(key, _): &(u32, Edge)| key + 1);
            cases.extend((next..range.low).map(|key| (key, self.default.clone())));
            cases.extend((range.low..=range.high).map(|key| (key, self.place(range))));
        }
        self.func.block_mut(b).end = Terminator::Switch(self.key, cases.into(), self.default.clone());
    }

    /// The slot is `(key · multiplier) >> shift`; the block of each slot compares the key that may
    /// be there.
    fn hash(&mut self, b: Block, hash: &Hash, ranges: &[Range]) {
        let multiplier = self.constant(b, hash.multiplier as u32);
        let product = self.func.append(b, Type::Int(32), Op::Bin(BinOp::Mul, self.key, multiplier));
        let shift = self.constant(b, hash.slot_shift);
        let slot = self.func.append(b, Type::Int(32), Op::Bin(BinOp::UShr, product, shift));
        let mut cases = vec![self.default.clone(); hash.keys.len()];
        for range in ranges {
            for key in range.low..=range.high {
                let found = self.func.new_block(&[]);
                self.chain(found, &[Range { low: key, high: key, ..*range }]);
                cases[hash.slot(key.into())] = Edge::to(found);
            }
        }
        let cases = (0..).zip(cases).collect();
        self.func.block_mut(b).end = Terminator::Switch(slot, cases, self.default.clone());
    }

    fn search(&mut self, b: Block, ranges: &[Range]) {
        if ranges.len() <= LEAF {
            return self.chain(b, ranges);
        }
        let (left, right) = ranges.split_at(ranges.len() / 2);
        let below = self.flag(b, CmpOp::Lt, self.key, right[0].low);
        let (less, more) = (self.func.new_block(&[]), self.func.new_block(&[]));
        self.func.block_mut(b).end = Terminator::Branch(below, Edge::to(less), Edge::to(more));
        self.search(less, left);
        self.search(more, right);
    }
}
