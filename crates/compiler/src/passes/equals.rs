//! Constants that branches tell.
//!
//! Idea: what is done only if `x = 6` uses 6 for x: then it may be computed at once, and blocks
//! behind need not be handed x any more. Source: Wegman, Zadeck, "Constant Propagation with
//! Conditional Branches" (1991), on what a test tells about its operand. Phases: a walk over the
//! dominator tree, with what holds there; edges of a branch itself pass the constant, too. Price:
//! linear.

use super::Context;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Func, Op, Terminator, Value};
use netil::ops::CmpOp;
use std::collections::HashMap;

pub(super) fn run(func: &mut Func, _: &Context<'_>) {
    let cfg = Cfg::new(func);
    let only = cfg.only_edges(func);
    let mut known: HashMap<Value, Value> = HashMap::new();
    let enter = |known: &mut HashMap<Value, Value>, b: Block| {
        let told = only[b.0 as usize].and_then(|(before, edge)| told(func, &func.block(before).end, edge));
        let told = told.filter(|(x, _)| !known.contains_key(x));
        known.extend(told);
        use_constants(func, b, known);
        told
    };
    cfg.walk(&mut known, enter, |known, told| _ = told.map(|(x, _)| known.remove(&x)));
}

/// A value and the constant that it is behind an edge.
fn told(func: &Func, end: &Terminator, edge: usize) -> Option<(Value, Value)> {
    let Terminator::Branch(condition, ..) = end else { return None };
    let holds = if edge == 0 { CmpOp::Eq } else { CmpOp::Ne };
    match func.op(*condition)? {
        Op::Cmp(op, x, c) if *op == holds && is_constant(func, *c) && !is_constant(func, *x) => Some((*x, *c)),
        _ => None,
    }
}

fn is_constant(func: &Func, v: Value) -> bool {
    matches!(func.op(v), Some(Op::Const(_) | Op::WideConst(_)))
}

fn use_constants(func: &mut Func, b: Block, known: &HashMap<Value, Value>) {
    let constant = |v: Value| known.get(&v).copied().unwrap_or(v);
    for v in func.block(b).ops.clone() {
        if let Def::Op(op) = &mut func.values[v.0 as usize].def {
            op.map_operands(constant);
        }
    }
    let mut end = func.block(b).end.clone();
    end.map_values(constant);
    for edge in 0..end.edges().len() {
        if let Some((x, c)) = told(func, &end, edge)
            && let Some(edge) = end.edge_mut(edge)
        {
            edge.args.iter_mut().filter(|v| **v == x).for_each(|v| *v = c);
        }
    }
    func.block_mut(b).end = end;
}
