//! Region merging: paths that do the same with fields at different places become one.
//!
//! Idea: IPv4, IPv6 and ARP are told apart, and then the same is asked of a port or an address that
//! stands elsewhere. Of two regions of the graph that differ in nothing but constants, places of
//! loads and outer values, the second's predecessors go to the first, which gets a parameter for
//! each difference. Lanes then run the common part once, not once for each family. Source:
//! procedural abstraction, Fraser, Myers, Wendt (1984); here within a function. Phases: for each
//! pair of blocks, the first ones first, a walk over what they dominate, in step; then the
//! difference moves to the predecessors. Price: pairs × the smaller region, for functions of at
//! most [`MAX_BLOCKS`] blocks.
//!
//! For lanes only: a load moves before tests that stood before it, which is harmless where each
//! vector load has a test of its own.

use crate::mir::cfg::{Cfg, DominatorTree};
use crate::mir::{Block, Def, Edge, Extent, Func, Op, Terminator, Type, Value};
use netil::table::Space;
use std::collections::{HashMap, HashSet};

const MAX_BLOCKS: usize = 128;
/// The most differences: each costs a choice at every edge.
const MAX_DIFFERENCES: usize = 6;
/// The fewest operations worth it.
const MIN_OPS: usize = 2;

/// Merges regions until none are alike.
pub(crate) fn merge(func: &mut Func) {
    while func.blocks.len() <= MAX_BLOCKS && merge_one(func) {}
}

fn merge_one(func: &mut Func) -> bool {
    let cfg = Cfg::new(func);
    let shape = DominanceInfo::new(func, &cfg);
    let later = |i: usize| cfg.order[i + 1..].iter().copied();
    let pairs = cfg.order.iter().copied().enumerate().skip(1).flat_map(|(i, a)| later(i).flat_map(move |b| [(a, b), (b, a)]));
    let found = pairs.into_iter().find_map(|pair| find(func, &shape, pair).map(|differences| (pair, differences)));
    if let Some((pair, differences)) = &found {
        apply(func, &cfg, *pair, differences);
    }
    found.is_some()
}

/// Where values are defined, and what dominates what.
struct DominanceInfo {
    tree: DominatorTree,
    home: HashMap<Value, Block>,
}

impl DominanceInfo {
    fn new(func: &Func, cfg: &Cfg) -> Self {
        let of = |b: Block| func.block(b).params.iter().chain(&func.block(b).ops).map(move |v| (*v, b));
        Self { tree: DominatorTree::new(cfg), home: cfg.order.iter().copied().flat_map(of).collect() }
    }

    /// Whether a value is defined in the region that a block dominates.
    fn inside(&self, region: Block, v: Value) -> bool {
        self.home.get(&v).is_some_and(|home| self.tree.dominates(region, *home))
    }
}

/// How two regions differ, seen from the first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Difference {
    /// Constants or loads at fixed places: done before instead.
    Copies(Value, Value),
    /// Values that are there before.
    Outer(Value, Value),
    /// The first one's loads begin at a value, the second's at a fixed place.
    Base(Value, u64),
}

impl Difference {
    fn first(self) -> Value {
        match self {
            Self::Copies(a, _) | Self::Outer(a, _) | Self::Base(a, _) => a,
        }
    }
}

/// The first region, and its differences from the second.
type Differences = (HashSet<Block>, Vec<Difference>);

struct Matching<'a> {
    func: &'a Func,
    shape: &'a DominanceInfo,
    from: (Block, Block),
    blocks: HashMap<Block, Block>,
    values: HashMap<Value, Value>,
    ops: usize,
    differences: Vec<Difference>,
}

fn find(func: &Func, shape: &DominanceInfo, from: (Block, Block)) -> Option<Differences> {
    if shape.tree.dominates(from.0, from.1) || shape.tree.dominates(from.1, from.0) {
        return None;
    }
    let mut matching = Matching { func, shape, from, blocks: HashMap::new(), values: HashMap::new(), ops: 0, differences: Vec::new() };
    let alike = matching.blocks(from.0, from.1) && matching.ops >= MIN_OPS && matching.differences.len() <= MAX_DIFFERENCES;
    alike.then(|| (matching.blocks.into_keys().collect(), matching.differences))
}

impl Matching<'_> {
    fn blocks(&mut self, x: Block, y: Block) -> bool {
        if let Some(known) = self.blocks.get(&x) {
            return *known == y && x != self.from.0;
        }
        if !self.shape.tree.dominates(self.from.0, x) || !self.shape.tree.dominates(self.from.1, y) {
            return x == y;
        }
        let (this, other) = (self.func.block(x).clone(), self.func.block(y).clone());
        let shaped = this.params.len() == other.params.len() && this.ops.len() == other.ops.len();
        self.blocks.insert(x, y);
        shaped
            && this.params.iter().zip(&other.params).all(|(u, v)| self.pair(*u, *v))
            && this.ops.iter().zip(&other.ops).all(|(u, v)| self.ops(*u, *v))
            && self.ends(&this.end, &other.end)
    }

    fn ends(&mut self, this: &Terminator, other: &Terminator) -> bool {
        let alike = match (this, other) {
            (Terminator::Jump(_), Terminator::Jump(_)) => true,
            (Terminator::Branch(c, ..), Terminator::Branch(d, ..)) => self.values(*c, *d),
            (Terminator::Switch(v, cases, _), Terminator::Switch(w, others, _)) => {
                cases.iter().map(|c| c.0).eq(others.iter().map(|c| c.0)) && self.values(*v, *w)
            }
            (this, other) => return this == other,
        };
        alike && this.edges().iter().zip(other.edges()).all(|(e, f)| self.edges(e, f))
    }

    fn edges(&mut self, e: &Edge, f: &Edge) -> bool {
        e.args.len() == f.args.len() && self.blocks(e.block, f.block) && e.args.iter().zip(&f.args).all(|(u, v)| self.values(*u, *v))
    }

    /// Two values that a region defines stand for each other.
    fn pair(&mut self, u: Value, v: Value) -> bool {
        self.func.ty(u) == self.func.ty(v) && *self.values.entry(u).or_insert(v) == v
    }

    fn ops(&mut self, u: Value, v: Value) -> bool {
        let (Some(this), Some(other)) = (self.func.op(u).cloned(), self.func.op(v).cloned()) else { return false };
        self.ops += 1;
        let alike = match (&this, &other) {
            (Op::Const(c), Op::Const(d)) => c == d || self.differ(Difference::Copies(u, v)),
            (Op::Proved(..), Op::Proved(..)) => true,
            (Op::Load(space, order, a, i, _), Op::Load(other, reversed, b, j, _)) => {
                (space, order) == (other, reversed) && self.places(*space, (u, *a, *i), (v, *b, *j))
            }
            _ => self.operands(&this, &other),
        };
        alike && self.pair(u, v)
    }

    /// Whether both are one operation on values that stand for each other.
    fn operands(&mut self, this: &Op, other: &Op) -> bool {
        let (mut of_this, mut of_other) = (Vec::new(), Vec::new());
        let blank = |op: &Op, operands: &mut Vec<Value>| {
            let mut op = op.clone();
            op.map_operands(|v| {
                operands.push(v);
                Value(0)
            });
            op
        };
        let same = blank(this, &mut of_this) == blank(other, &mut of_other) && this.is_pure();
        same && of_this.iter().zip(&of_other).all(|(u, v)| self.values(*u, *v))
    }

    /// Loads, each with its value, address and offset.
    fn places(&mut self, space: Space, (u, a, i): (Value, Value, u32), (v, b, j): (Value, Value, u32)) -> bool {
        match (self.func.constant(a), self.func.constant(b)) {
            (Some(c), Some(d)) if (c, i) == (d, j) => true,
            (Some(_), Some(_)) => space == Space::Packet && self.differ(Difference::Copies(u, v)),
            (None, Some(d)) if !self.inside(a) => {
                (d + u64::from(j)).checked_sub(i.into()).is_some_and(|at| self.differ(Difference::Base(a, at)))
            }
            _ => i == j && self.values(a, b),
        }
    }

    /// Values that are used alike.
    fn values(&mut self, u: Value, v: Value) -> bool {
        if let Some(known) = self.values.get(&u) {
            return *known == v;
        }
        if self.differences.iter().any(|d| d.first() == u) {
            return false;
        }
        match (self.func.constant(u), self.func.constant(v)) {
            _ if self.inside(u) || u == v => u == v && self.pair(u, v),
            (Some(c), Some(d)) if c == d => self.func.ty(u) == self.func.ty(v),
            _ => {
                self.func.ty(u) == self.func.ty(v)
                    && !self.shape.inside(self.from.1, v)
                    && self.differ(Difference::Outer(u, v))
                    && self.pair(u, v)
            }
        }
    }

    /// Whether a value is defined in the first region.
    fn inside(&self, v: Value) -> bool {
        self.shape.inside(self.from.0, v)
    }

    /// Notes a difference; a value differs in one way only.
    fn differ(&mut self, difference: Difference) -> bool {
        let first = difference.first();
        if let Some(known) = self.differences.iter().find(|d| d.first() == first) {
            return *known == difference;
        }
        if self.values.contains_key(&first) {
            return false;
        }
        self.differences.push(difference);
        true
    }
}

/// Sends the predecessors of the second region to the first.
fn apply(func: &mut Func, cfg: &Cfg, (a, b): (Block, Block), (region, differences): &Differences) {
    let params: Vec<Value> = differences
        .iter()
        .map(|d| {
            let param = func.new_value(func.ty(d.first()), Def::Param(a));
            func.block_mut(a).params.push(param);
            param
        })
        .collect();
    lift_constants(func, region);
    for block in region {
        rename(func, *block, differences, &params);
    }
    let mut before: Vec<Block> = cfg.predecessors[a.0 as usize].iter().chain(&cfg.predecessors[b.0 as usize]).copied().collect();
    before.sort_unstable();
    before.dedup();
    for block in before {
        let (first, second) = (bring(func, block, differences, true), bring(func, block, differences, false));
        for e in func.block_mut(block).end.edges_mut() {
            if e.block == a {
                e.args.extend(&first);
            } else if e.block == b {
                e.block = a;
                e.args.extend(&second);
            }
        }
    }
}

/// Moves constants that a region takes from outside to the entry: equal ones are no difference, but
/// those of the first stand where packets of the second do not come by.
fn lift_constants(func: &mut Func, region: &HashSet<Block>) {
    let mut used = HashSet::new();
    for block in region {
        func.block(*block).ops.iter().filter_map(|v| func.op(*v)).for_each(|op| op.operands(|v| used.extend([v])));
        func.block(*block).end.values(|v| used.extend([v]));
    }
    for block in func.block_ids().filter(|b| *b != Block(0) && !region.contains(b)) {
        let lifts = |v: &Value| used.contains(v) && func.constant(*v).is_some();
        let (lifted, kept): (Vec<Value>, Vec<Value>) = func.block(block).ops.iter().partition(|v| lifts(v));
        func.block_mut(block).ops = kept;
        func.block_mut(Block(0)).ops.extend(lifted);
    }
}

/// Parameters take the place of what differs.
fn rename(func: &mut Func, block: Block, differences: &[Difference], params: &[Value]) {
    let new = |v: Value| differences.iter().position(|d| d.first() == v).map_or(v, |i| params[i]);
    for v in func.block(block).ops.clone() {
        if let Some(mut op) = func.op(v).cloned() {
            op.map_operands(new);
            func.set_op(v, op);
        }
    }
    func.block_mut(block).end.map_values(new);
}

/// The values of one region's differences at the end of a block before it.
fn bring(func: &mut Func, block: Block, differences: &[Difference], first: bool) -> Vec<Value> {
    differences
        .iter()
        .map(|difference| match *difference {
            Difference::Copies(u, v) => copy(func, block, if first { u } else { v }),
            Difference::Outer(u, v) => {
                if first {
                    u
                } else {
                    v
                }
            }
            Difference::Base(u, _) if first => u,
            Difference::Base(_, at) => func.append(block, Type::Int(32), Op::Const(at)),
        })
        .collect()
}

/// A constant, or a load at a fixed place, once more.
fn copy(func: &mut Func, block: Block, v: Value) -> Value {
    let (ty, op) = (func.ty(v), func.op(v).cloned());
    let Some(Op::Load(space, order, addr, offset, _)) = op else { return func.append(block, ty, op.unwrap_or(Op::Const(0))) };
    let at = func.constant(addr).unwrap_or(0);
    let addr = func.append(block, Type::Int(32), Op::Const(at));
    let extent = Extent { addr, offset, size: u32::from(func.width(v) / 8), site: 0 };
    let token = func.append(block, Type::Token, Op::Proved(space, [extent].into()));
    func.append(block, ty, Op::Load(space, order, addr, offset, token))
}
