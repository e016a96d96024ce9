//! Dead code elimination.
//!
//! Idea: what traps, writes or ends a block is alive, and so is all it uses; a parameter is alive
//! if it is used, and only then are its arguments. The rest goes. Source: NetVM paper, section 4.2.
//! Phases: mark from the roots, sweep operations, parameters and arguments. Price: linear.

use super::Context;
use super::coalesce::drop_params;
use crate::mir::cfg::Cfg;
use crate::mir::{Def, Edge, Func, Terminator, Value};

pub(super) fn run(func: &mut Func, _: &Context<'_>) {
    let live = mark(func);
    let is_live = |v: &Value| live[v.0 as usize];
    for block in &mut func.blocks {
        block.ops.retain(is_live);
    }
    let mut kept: Vec<Vec<bool>> = func.blocks.iter().map(|b| b.params.iter().map(is_live).collect()).collect();
    kept[0].fill(true);
    drop_params(func, &kept);
}

fn mark(func: &Func) -> Vec<bool> {
    let cfg = Cfg::new(func);
    let (incoming, index) = (incoming(func, &cfg), param_indices(func));
    let mut live = vec![false; func.values.len()];
    let mut work: Vec<Value> = roots(func, &cfg);
    while let Some(v) = work.pop() {
        if std::mem::replace(&mut live[v.0 as usize], true) {
            continue;
        }
        match &func.values[v.0 as usize].def {
            Def::Op(op) => op.operands(|u| work.push(u)),
            Def::Param(block) => {
                let i = index[v.0 as usize] as usize;
                // Prefetch slices step over tests, and may use what is no parameter any more.
                work.extend(incoming[block.0 as usize].iter().filter_map(|e| e.args.get(i).copied()));
            }
        }
    }
    live
}

/// The edges into each block.
fn incoming<'f>(func: &'f Func, cfg: &Cfg) -> Vec<Vec<&'f Edge>> {
    let mut incoming = vec![Vec::new(); func.blocks.len()];
    for e in cfg.order.iter().flat_map(|b| func.block(*b).end.edges()) {
        incoming[e.block.0 as usize].push(e);
    }
    incoming
}

/// The number of each parameter in its block.
fn param_indices(func: &Func) -> Vec<u32> {
    let mut index = vec![0; func.values.len()];
    for params in func.blocks.iter().map(|b| &b.params) {
        params.iter().enumerate().for_each(|(i, p)| index[p.0 as usize] = i as u32);
    }
    index
}

fn roots(func: &Func, cfg: &Cfg) -> Vec<Value> {
    let mut roots = Vec::new();
    for b in &cfg.order {
        let data = func.block(*b);
        if let Terminator::Branch(v, ..) | Terminator::Switch(v, ..) | Terminator::SendBy(v, ..) = data.end {
            roots.push(v);
        }
        let lasting = |v: &&Value| func.op(**v).is_some_and(|op| op.effects().traps || op.effects().writes);
        roots.extend(data.ops.iter().filter(lasting));
    }
    roots
}
