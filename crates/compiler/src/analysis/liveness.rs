//! Liveness: which values an operation or what follows it uses. At a side exit from one form of a
//! handler, these are handed to the other.

use crate::mir::cfg::Cfg;
use crate::mir::{Block, Func, Op, Type, Value};
use std::collections::{BTreeSet, HashMap};

/// By operation that may call the runtime, the values that it and what comes behind it use.
pub(crate) fn before_helpers(func: &Func) -> HashMap<Value, Vec<Value>> {
    let cfg = Cfg::new(func);
    let live = starts(func, &cfg, Uses::OfParts);
    let mut found = HashMap::new();
    for block in &cfg.order {
        let mut now = at_end(func, *block, &live);
        for v in func.block(*block).ops.iter().rev() {
            step(func, *v, Uses::OfParts, &mut now);
            if matches!(func.op(*v), Some(Op::Helper(..))) {
                found.insert(*v, now.iter().copied().collect());
            }
        }
    }
    found
}

/// By block, what is live where it starts, its parameters not among it.
pub(crate) fn at_starts(func: &Func, cfg: &Cfg) -> Vec<BTreeSet<Value>> {
    starts(func, cfg, Uses::OfOperands)
}

/// What an operation uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Uses {
    OfOperands,
    /// And the parts that these were put together of: C is printed so ([`Op::Concat`]).
    OfParts,
}

fn starts(func: &Func, cfg: &Cfg, uses: Uses) -> Vec<BTreeSet<Value>> {
    let mut live = vec![BTreeSet::new(); func.blocks.len()];
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for block in cfg.order.iter().rev() {
            let mut now = at_end(func, *block, &live);
            func.block(*block).ops.iter().rev().for_each(|v| step(func, *v, uses, &mut now));
            func.block(*block).params.iter().for_each(|param| _ = now.remove(param));
            let before = &mut live[block.0 as usize];
            changed |= *before != now;
            *before = now;
        }
    }
    live
}

fn at_end(func: &Func, block: Block, live: &[BTreeSet<Value>]) -> BTreeSet<Value> {
    let end = &func.block(block).end;
    let mut now: BTreeSet<Value> = end.edges().iter().flat_map(|e| live[e.block.0 as usize].iter().copied()).collect();
    end.values(|v| _ = now.insert(v));
    now.retain(|v| is_number(func, *v));
    now
}

fn step(func: &Func, v: Value, uses: Uses, now: &mut BTreeSet<Value>) {
    now.remove(&v);
    if let Some(op) = func.op(v) {
        let parts = uses == Uses::OfParts && matches!(op, Op::Concat(..));
        op.operands(|operand| use_part(func, operand, parts, now));
    }
}

fn use_part(func: &Func, v: Value, with_parts: bool, now: &mut BTreeSet<Value>) {
    if is_number(func, v) {
        now.insert(v);
    }
    if let (true, Some(Op::Concat(high, low))) = (with_parts, func.op(v)) {
        [*high, *low].into_iter().for_each(|part| use_part(func, part, true, now));
    }
}

fn is_number(func: &Func, v: Value) -> bool {
    matches!(func.ty(v), Type::Int(_))
}
