//! Branch simplification and jump-to-jump elimination.
//!
//! Idea: a branch on a constant, or with one target, is a jump; a jump to a block that only jumps,
//! sends or drops does that itself; a block with one predecessor that jumps to it continues the
//! predecessor. Source: NetVM paper, section 4.2. Phases: endings, edges past empty blocks,
//! straight lines; then equal endings share a block. Price: linear a round, rounds until nothing
//! changes, at most [`ROUNDS`].

use super::Context;
use super::rewrite::Replacements;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Edge, Func, Op, Terminator, Value};
use netil::ops::UnOp;
use std::collections::{HashMap, HashSet};

const ROUNDS: usize = 16;

pub(super) fn run(func: &mut Func, _: &Context<'_>) {
    for _ in 0..ROUNDS {
        let mut changed = false;
        let escaping = escaping(func);
        for b in func.block_ids() {
            changed |= simplify_end(func, b);
            changed |= skip_empty(func, b, &escaping);
        }
        changed |= share_endings(func);
        changed |= straighten(func);
        if !changed {
            break;
        }
    }
}

/// Branches that are jumps, and branches on a complement.
fn simplify_end(func: &mut Func, b: Block) -> bool {
    let new = match &func.block(b).end {
        Terminator::Branch(c, yes, no) => match (func.constant(*c), func.op(*c)) {
            (Some(v), _) => Terminator::Jump(if v == 1 { yes.clone() } else { no.clone() }),
            _ if yes == no => Terminator::Jump(yes.clone()),
            (None, Some(Op::Un(UnOp::Not, inner))) => Terminator::Branch(*inner, no.clone(), yes.clone()),
            _ => return false,
        },
        Terminator::Switch(v, cases, default) => match func.constant(*v) {
            Some(key) => Terminator::Jump(cases.iter().find(|c| u64::from(c.0) == key).map_or(default, |c| &c.1).clone()),
            None if cases.iter().all(|c| c.1 == *default) => Terminator::Jump(default.clone()),
            None => return false,
        },
        Terminator::SendBy(v, first, count, default) => match func.constant(*v) {
            Some(number) => Terminator::sent_by(number, *first, *count, default),
            None => return false,
        },
        Terminator::Jump(e) if func.block(e.block).ops.is_empty() && e.block != b => match &func.block(e.block).end {
            end @ (Terminator::Send(_) | Terminator::Drop(_)) => end.clone(),
            _ => return false,
        },
        _ => return false,
    };
    func.block_mut(b).end = new;
    true
}

/// Edges to a block that only jumps go where it jumps to.
fn skip_empty(func: &mut Func, b: Block, escaping: &HashSet<Value>) -> bool {
    let mut end = func.block(b).end.clone();
    let mut changed = false;
    for e in end.edges_mut() {
        let target = func.block(e.block);
        let Terminator::Jump(next) = &target.end else { continue };
        let bypass = target.ops.is_empty() && next.block != e.block && e.block != b;
        if !bypass || target.params.iter().any(|p| escaping.contains(p)) {
            continue;
        }
        *e = Edge { block: next.block, args: substitute(&target.params, &e.args, &next.args) };
        changed = true;
    }
    func.block_mut(b).end = end;
    changed
}

/// Parameters that are used in blocks other than their own: such a block cannot be bypassed.
fn escaping(func: &Func) -> HashSet<Value> {
    let mut found = HashSet::new();
    for b in func.block_ids() {
        let mut note = |u: Value| {
            if matches!(func.values[u.0 as usize].def, Def::Param(home) if home != b) {
                found.insert(u);
            }
        };
        func.block(b).ops.iter().filter_map(|v| func.op(*v)).for_each(|op| op.operands(&mut note));
        func.block(b).end.values(&mut note);
    }
    found
}

fn substitute(params: &[Value], args: &[Value], values: &[Value]) -> Vec<Value> {
    if params.len() <= 8 {
        let one = |v: &Value| params.iter().position(|p| p == v).map_or(*v, |i| args[i]);
        return values.iter().map(one).collect();
    }
    let known: HashMap<Value, Value> = params.iter().copied().zip(args.iter().copied()).collect();
    values.iter().map(|v| known.get(v).copied().unwrap_or(*v)).collect()
}

/// Blocks that only send or drop: one of each kind.
fn share_endings(func: &mut Func) -> bool {
    let mut first: HashMap<Terminator, Block> = HashMap::new();
    let mut same: HashMap<Block, Block> = HashMap::new();
    for b in func.block_ids().skip(1) {
        let data = func.block(b);
        if data.ops.is_empty() && data.params.is_empty() && matches!(data.end, Terminator::Send(_) | Terminator::Drop(_)) {
            let one = *first.entry(data.end.clone()).or_insert(b);
            if one != b {
                same.insert(b, one);
            }
        }
    }
    let mut changed = false;
    for e in func.blocks.iter_mut().flat_map(|b| b.end.edges_mut()) {
        if let Some(one) = same.get(&e.block) {
            e.block = *one;
            changed = true;
        }
    }
    changed
}

/// A block that is the only way into its successor continues with it.
fn straighten(func: &mut Func) -> bool {
    let cfg = Cfg::new(func);
    let mut replaced = Replacements::new(func);
    let mut changed = false;
    for b in &cfg.order {
        while let Terminator::Jump(e) = func.block(*b).end.clone() {
            let single = cfg.predecessors[e.block.0 as usize].len() == 1 && e.block != *b && e.block != Block(0);
            if !single {
                break;
            }
            let next = std::mem::replace(func.block_mut(e.block), dead_block());
            next.params.iter().zip(&e.args).for_each(|(p, a)| replaced.set(*p, *a));
            let data = func.block_mut(*b);
            data.ops.extend(next.ops);
            data.end = next.end;
            changed = true;
        }
    }
    replaced.apply(func);
    changed
}

fn dead_block() -> crate::mir::BlockData {
    crate::mir::BlockData { params: Vec::new(), ops: Vec::new(), end: Terminator::Drop(netil::exec::DropReason::Verdict) }
}
