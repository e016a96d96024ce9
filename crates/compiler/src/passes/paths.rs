//! Ways of their own for packets that were read furthest.
//!
//! Idea: where a parser's ends meet, what it found (which headers there are, how many bytes they
//! take) comes by the block's parameters, and all that follows asks for it again: is there a
//! header, where does the next one begin. The edge by which most is read gets a copy of all that
//! follows, in which these are constants: its tests are gone, and headers are taken off and put on
//! in sizes that are known, at places that are known. Other packets keep the code of before.
//! Source: Mueller, Whalley, "Avoiding Conditional Branches by Code Replication" (1995); Bodík,
//! Gupta, Soffa, "Complete Removal of Redundant Expressions" (1998). Phases: in the order of the
//! code, the first block where ways meet of which an edge decides enough behind it; a copy of what
//! the block dominates; a few times ([`Limits`]). Of a loop, what comes by its head first gets the
//! copy; what comes round goes on with the code of before. Price: linear a round in what is looked
//! at ([`MOST_EDGES`]); code grows by so many operations at most ([`Limits`]). Leaves out:
//! functions that never move a packet's head, whose tests [`super::jumps`] decides; code for many
//! packets at once, which has lanes on all ways.

use super::Context;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Edge, Func, Helper, Op, Terminator, Value};
use netil::ops::mask;
use std::collections::HashMap;

/// Edges that are looked at without one that is worth it.
const MOST_EDGES: usize = 100;

/// How much is done.
#[derive(Clone, Copy)]
struct Limits {
    rounds: usize,
    /// What an edge must decide: branches, and how many bytes are taken off or put on.
    least: usize,
    /// Operations copied in a function.
    growth: usize,
    /// Operations that a function has then at most: compilers of C are given none that are much
    /// larger.
    most: usize,
    /// Only moves of the head are decisions.
    heads: bool,
}

const USUAL: Limits = Limits { rounds: 4, least: 2, growth: 1_500, most: 5_000, heads: false };
/// Where all ways must tell how far the head moves ([`crate::target::Target::ways`]).
const ALL_WAYS: Limits = Limits { rounds: 64, least: 1, growth: 8_000, most: 20_000, heads: true };

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    if context.target.lanes || !func.changes_geometry() {
        return;
    }
    let size: usize = func.blocks.iter().map(|block| block.ops.len() + 1).sum();
    let limits = if context.target.ways { ALL_WAYS } else { USUAL };
    let mut room = limits.growth.min(limits.most.saturating_sub(size));
    for _ in 0..limits.rounds {
        let Some(split) = best(func, room, limits) else { break };
        room -= split.size;
        context.note(|| {
            format!("{:?} to {:?} gets a way of its own: {} operations, {} decisions less", split.from, split.to, split.size, split.decided)
        });
        copy(func, &split);
    }
}

/// An edge that is to have a copy of all that its target dominates.
struct Split {
    from: Block,
    edge: usize,
    to: Block,
    region: Vec<Block>,
    size: usize,
    decided: usize,
    /// Arguments that are no constants: what was read.
    read: usize,
}

/// The first that is worth it, by the edge on which most has been read.
fn best(func: &Func, room: usize, limits: Limits) -> Option<Split> {
    let cfg = Cfg::new(func);
    let (children, mut looked_at) = (cfg.children(), 0);
    for to in cfg.order.iter().filter(|b| cfg.predecessors[b.0 as usize].len() > 1 && !func.block(**b).params.is_empty()) {
        let edges = edges_with_constants(func, &cfg, *to);
        let Some((region, size)) = region(func, &children, &cfg, *to, room).filter(|_| !edges.is_empty()) else { continue };
        looked_at += edges.len();
        let split = |(from, edge): (Block, usize)| {
            let e = func.block(from).end.edge(edge)?;
            let decided = decided(func, &cfg, &region, e, limits.heads);
            let read = e.args.iter().filter(|v| func.constant(**v).is_none()).count();
            Some(Split { from, edge, to: *to, region: region.clone(), size, decided, read })
        };
        let splits = edges.into_iter().filter_map(split).filter(|split| split.decided >= limits.least);
        match splits.max_by_key(|split| (split.read, split.decided)) {
            None if looked_at > MOST_EDGES => return None,
            None => {}
            found => return found,
        }
    }
    None
}

/// The edges to a block that pass constants, from others than those that it dominates: what comes
/// round a loop stays there.
fn edges_with_constants(func: &Func, cfg: &Cfg, to: Block) -> Vec<(Block, usize)> {
    let mut from: Vec<Block> = cfg.predecessors[to.0 as usize].clone();
    from.sort_unstable();
    from.dedup();
    let earlier = |from: &Block| cfg.position[from.0 as usize] < cfg.position[to.0 as usize];
    let edges = from.into_iter().filter(earlier).flat_map(|from| (0..func.block(from).end.edges().len()).map(move |n| (from, n)));
    let passes = |e: &Edge| e.block == to && e.args.iter().any(|v| func.constant(*v).is_some());
    edges.filter(|(from, n)| func.block(*from).end.edge(*n).is_some_and(passes)).collect()
}

/// What a block dominates, in the order of the code, and how many operations that is; `None` if
/// they are too many.
fn region(func: &Func, children: &[Vec<Block>], cfg: &Cfg, of: Block, room: usize) -> Option<(Vec<Block>, usize)> {
    let (mut all, mut at, mut size) = (vec![of], 0, 0);
    while let Some(b) = all.get(at) {
        size += func.block(*b).ops.len() + 1;
        if size > room {
            return None;
        }
        all.extend(&children[b.0 as usize]);
        at += 1;
    }
    all.sort_by_key(|b| cfg.position[b.0 as usize]);
    Some((all, size))
}

/// How many branches behind an edge its constants decide, and how often they tell how far the
/// packet's head moves.
fn decided(func: &Func, cfg: &Cfg, region: &[Block], edge: &Edge, heads: bool) -> usize {
    let passed = func.block(edge.block).params.iter().zip(&edge.args);
    let mut known: HashMap<Value, u64> = passed.filter_map(|(param, arg)| Some((*param, func.constant(*arg)?))).collect();
    let mut count = 0;
    for b in region {
        if *b != edge.block {
            agreed(func, cfg, *b, &mut known);
        }
        for v in &func.block(*b).ops {
            let Some(op) = func.op(*v) else { continue };
            if let Op::Helper(Helper::PullHead | Helper::PushHead, args, _) = op {
                count += args.iter().filter(|arg| known.contains_key(arg)).count();
            }
            if let Some(number) = number(func, *v, op, &known) {
                known.insert(*v, number);
            }
        }
        if let Terminator::Branch(v, ..) | Terminator::Switch(v, ..) | Terminator::SendBy(v, ..) = &func.block(*b).end {
            count += usize::from(!heads && known.contains_key(v));
        }
    }
    count
}

/// Parameters of a block for which all edges pass the same known number.
fn agreed(func: &Func, cfg: &Cfg, b: Block, known: &mut HashMap<Value, u64>) {
    let ends = || cfg.predecessors[b.0 as usize].iter().map(|before| &func.block(*before).end);
    for (n, param) in func.block(b).params.iter().enumerate() {
        let mut numbers = ends().flat_map(Terminator::edges).filter(|e| e.block == b).map(|e| known.get(&e.args[n]).copied());
        if let Some(Some(first)) = numbers.next()
            && numbers.all(|number| number == Some(first))
        {
            known.insert(*param, first);
        }
    }
}

/// The number that an operation gives if it follows from constants of the edge.
fn number(func: &Func, v: Value, op: &Op, known: &HashMap<Value, u64>) -> Option<u64> {
    let width = func.width(v);
    let mut depends = false;
    op.operands(|operand| depends |= known.contains_key(&operand));
    if !depends || !(1..=64).contains(&width) {
        return None;
    }
    let at = |v: &Value| known.get(v).copied().or_else(|| func.constant(*v));
    match op {
        Op::Bin(op, a, b) => op.eval(width, at(a)?, at(b)?),
        Op::Un(op, a) => Some(op.eval(width, at(a)?)),
        Op::Cmp(op, a, b) if func.width(*a) <= 64 => Some(op.eval(func.width(*a), at(a)?, at(b)?).into()),
        Op::Zext(a) => at(a),
        Op::Trunc(a) => Some(at(a)? & mask(width)),
        Op::Select(c, a, b) => at(if at(c)? == 1 { a } else { b }),
        _ => None,
    }
}

/// Leads the edge to a copy of the region, in which the edge's arguments stand for the parameters
/// of its target.
fn copy(func: &mut Func, split: &Split) {
    let Some(edge) = func.block(split.from).end.edge(split.edge).cloned() else { return };
    let mut names: HashMap<Value, Value> = func.block(split.to).params.iter().copied().zip(edge.args).collect();
    let mut blocks = HashMap::new();
    for b in &split.region {
        let params = if *b == split.to { Vec::new() } else { func.block(*b).params.clone() };
        let types: Vec<_> = params.iter().map(|v| func.ty(*v)).collect();
        let new = func.new_block(&types);
        names.extend(params.into_iter().zip(func.block(new).params.clone()));
        blocks.insert(*b, new);
    }
    for b in &split.region {
        let ops = func.block(*b).ops.clone();
        let copies = ops.iter().map(|v| copied(func, *v, &mut names)).collect();
        let mut end = func.block(*b).end.clone();
        end.map_values(|v| names.get(&v).copied().unwrap_or(v));
        end.edges_mut().into_iter().for_each(|e| {
            // Round a loop it goes on with the code of before.
            e.block = blocks.get(&e.block).copied().filter(|_| e.block != split.to).unwrap_or(e.block);
        });
        let data = func.block_mut(blocks[b]);
        (data.ops, data.end) = (copies, end);
    }
    if let Some(e) = func.block_mut(split.from).end.edge_mut(split.edge) {
        *e = Edge::to(blocks[&split.to]);
    }
}

/// A copy of an operation, whose operands have been copied before: a block comes behind those that
/// dominate it.
fn copied(func: &mut Func, v: Value, names: &mut HashMap<Value, Value>) -> Value {
    let mut data = func.values[v.0 as usize].clone();
    if let Def::Op(op) = &mut data.def {
        op.map_operands(|u| names.get(&u).copied().unwrap_or(u));
    }
    let new = func.new_value(data.ty, data.def);
    names.insert(v, new);
    new
}
