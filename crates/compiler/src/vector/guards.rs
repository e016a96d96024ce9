//! The function as lanes run it: simpler than the one for all packets, as packets that end early
//! have left.
//!
//! Idea: packets that end within a vector load leave for the scalar function. A branch in MIR to a
//! block that [leaves](LEAVE) decides most length tests behind it, so the passes remove them and
//! what only they reach. Then regions that do the same with fields at different places are merged
//! ([`super::regions`]). Phases: plan the vector loads, put a branch before each, passes, region
//! merging, passes. Price: that of the passes.

use super::loads::VectorLoad;
use super::plan::VectorPlan;
use super::regions;
use crate::mir::{Block, Edge, Func, Op, Order, Terminator, Type, Value};
use crate::passes::{self, Context, Target};
use netil::Verified;
use netil::exec::DropReason;
use netil::ops::{BinOp, CmpOp};

/// How a block ends whose packets the scalar function judges. A program that says this too is
/// judged there and loses only time.
pub(crate) const LEAVE: Terminator = Terminator::Drop(DropReason::Program(u32::MAX));

/// The function for lanes; `None` where they would leave at once.
pub(crate) fn for_lanes(func: &Func, program: &Verified) -> Option<Func> {
    // Byte order matters to one pass, which is not run again.
    let context = &Context::new(program, Target::LANES.in_order(Order::Little));
    let plan = VectorPlan::new(func, program.module())?;
    let mut func = func.clone();
    guard(&mut func, &plan);
    passes::clean(&mut func, context);
    regions::merge(&mut func);
    passes::clean(&mut func, context);
    Some(func)
}

/// Puts a length test before each vector load.
fn guard(func: &mut Func, plan: &VectorPlan) {
    let leave = func.new_block(&[]);
    func.block_mut(leave).end = LEAVE;
    for at in func.block_ids() {
        let loads: Vec<VectorLoad> = plan.loads.list.iter().filter(|w| w.block == at).cloned().collect();
        if !loads.is_empty() {
            guard_block(func, at, &loads, leave);
        }
    }
}

/// Tests at the block's beginning, or behind the value that a vector load begins at.
fn guard_block(func: &mut Func, block: Block, loads: &[VectorLoad], leave: Block) {
    let ops = std::mem::take(&mut func.block_mut(block).ops);
    let end = std::mem::replace(&mut func.block_mut(block).end, LEAVE);
    let earlier = |base: &Option<Value>| base.is_none_or(|base| !ops.contains(&base));
    let mut at = block;
    for (base, least) in needs(loads, earlier) {
        at = test(func, at, base, least, leave);
    }
    for v in &ops {
        func.block_mut(at).ops.push(*v);
        for (base, least) in needs(loads, |base| *base == Some(*v)) {
            at = test(func, at, base, least, leave);
        }
    }
    func.block_mut(at).end = end;
}

/// How long packets must be for the vector loads at some bases.
fn needs(loads: &[VectorLoad], at: impl Fn(&Option<Value>) -> bool) -> Vec<(Option<Value>, u32)> {
    let mut needs: Vec<(Option<Value>, u32)> = Vec::new();
    for load in loads.iter().filter(|w| at(&w.base)) {
        match needs.iter_mut().find(|(base, _)| *base == load.base) {
            Some((_, least)) => *least = load.end.max(*least),
            None => needs.push((load.base, load.end)),
        }
    }
    needs
}

/// Ends a block with a test of the packet's length; gives the block behind it.
fn test(func: &mut Func, block: Block, base: Option<Value>, least: u32, leave: Block) -> Block {
    let len = func.append(block, Type::Int(32), Op::PacketLen);
    let least = func.append(block, Type::Int(32), Op::Const(least.into()));
    let least = match base {
        Some(base) => func.append(block, Type::Int(32), Op::Bin(BinOp::Add, base, least)),
        None => least,
    };
    let short = func.append(block, Type::Int(1), Op::Cmp(CmpOp::Lt, len, least));
    let next = func.new_block(&[]);
    func.block_mut(block).end = Terminator::Branch(short, Edge::to(leave), Edge::to(next));
    next
}
