//! Liveness: which values an operation or what follows it uses. At a side exit from one form of a handler, these are handed to the other.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::Helper;
    use crate::passes;
    use netil::asm::assemble;
    use netil::module::HandlerKind;

    /// A value is put together of one that was put together before the call, and of a field: in C, of all three fields.
    #[test]
    fn parts_of_what_is_put_together_behind_a_call_are_live() {
        let text = "segment .metadata .use_coprocessor stringmatching as s ends segment .ports push_input a push_output b ends
            segment .push .maxstacksize 8 pop
            push 0 upload.32 push 4 upload.32 w.concat 32, 32 push 8 upload.32
            copro.exbuf s, 0 copro.invoke s, 0 w.concat 64, 32 push 20 w.pstore 96 pkt.send b ends";
        let program = netil::verify(assemble(text, "").unwrap_or_else(|e| panic!("{e:?}"))).unwrap();
        let (func, _) = crate::optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        let live = before_helpers(&func);
        let calls = live.iter().filter(|(v, _)| matches!(func.op(**v), Some(Op::Helper(Helper::CoproInvoke(..), ..))));
        let loads = |all: &[Value]| all.iter().filter(|v| matches!(func.op(**v), Some(Op::Load(..)))).count();
        assert_eq!(calls.map(|(_, all)| loads(all)).collect::<Vec<_>>(), [3]);
    }
}
