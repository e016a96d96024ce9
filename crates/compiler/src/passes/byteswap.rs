//! Constant byte swapping.
//!
//! Idea: a field that is only compared with constants for equality, masked or not, need not be brought into the machine's byte order: the
//! constants are, at compile time. Source: NetVM paper, section 5.1, figure 8.
//! Phases: collect the uses of each load in foreign order; where all of them allow it, turn the load and swap their constants.
//! Price: linear.

use super::Context;
use crate::mir::{Block, Def, Func, Op, Order, Terminator, Type, Value};
use netil::ops::{BinOp, CmpOp, UnOp};
use std::collections::HashMap;

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    let uses = uses(func);
    let loads: Vec<Value> = func.blocks.iter().flat_map(|b| &b.ops).copied().filter(|v| foreign(func, *v, context.native)).collect();
    let mut swaps = Vec::new();
    let mut constants = HashMap::new();
    for load in loads {
        if let Some(users) = swappable(func, &uses, load, true) {
            swaps.extend(users);
            turn(func, load, context.native);
        }
    }
    for (block, user) in swaps {
        swap_constants(func, block, user, &mut constants);
    }
    insert(func, &constants);
}

/// Who uses a value.
#[derive(Clone, Copy)]
enum User {
    Op(Value),
    End,
}

type Uses = HashMap<Value, Vec<(Block, User)>>;

fn uses(func: &Func) -> Uses {
    let mut uses: Uses = HashMap::new();
    for b in func.block_ids() {
        for v in &func.block(b).ops {
            if let Some(op) = func.op(*v) {
                op.operands(|u| uses.entry(u).or_default().push((b, User::Op(*v))));
            }
        }
        func.block(b).end.values(|u| uses.entry(u).or_default().push((b, User::End)));
    }
    uses
}

/// True for a load of 2, 4 or 8 bytes in the order that the machine does not have.
fn foreign(func: &Func, v: Value, native: Order) -> bool {
    matches!(func.op(v), Some(Op::Load(_, order, ..)) if *order != native) && matches!(func.width(v), 16 | 32 | 64)
}

/// The users whose constants must be swapped with the value; `None` if one of them needs the number itself.
fn swappable(func: &Func, uses: &Uses, v: Value, through_masks: bool) -> Option<Vec<(Block, User)>> {
    let mut users = Vec::new();
    for (b, user) in uses.get(&v)? {
        users.push((*b, *user));
        match user {
            User::End => match &func.block(*b).end {
                Terminator::Switch(key, ..) if *key == v && !passes(&func.block(*b).end, v) => {}
                _ => return None,
            },
            User::Op(u) => match func.op(*u)? {
                Op::Cmp(CmpOp::Eq | CmpOp::Ne, a, c) if *a == v && func.constant(*c).is_some() => {}
                Op::Bin(BinOp::And, a, c) if *a == v && func.constant(*c).is_some() && through_masks => {
                    users.extend(swappable(func, uses, *u, false)?);
                }
                _ => return None,
            },
        }
    }
    Some(users)
}

/// True if the value is an argument of an edge.
fn passes(end: &Terminator, v: Value) -> bool {
    end.edges().iter().any(|e| e.args.contains(&v))
}

fn turn(func: &mut Func, load: Value, native: Order) {
    if let Def::Op(Op::Load(_, order, ..)) = &mut func.values[load.0 as usize].def {
        *order = native;
    }
}

/// Swaps the constants of a user; new ones are noted by their user.
fn swap_constants(func: &mut Func, block: Block, user: User, constants: &mut HashMap<Value, Value>) {
    match user {
        User::End => {
            if let Terminator::Switch(_, cases, _) = &mut func.block_mut(block).end {
                cases.iter_mut().for_each(|case| case.0 = case.0.swap_bytes());
                cases.sort_by_key(|case| case.0);
            }
        }
        User::Op(u) => {
            let Some(Op::Cmp(_, _, c) | Op::Bin(_, _, c)) = func.op(u) else { return };
            let (width, Some(value)) = (func.width(*c), func.constant(*c)) else { return };
            let swapped = func.new_value(Type::Int(width), Def::Op(Op::Const(UnOp::Bswap.eval(width, value))));
            if let Def::Op(Op::Cmp(_, _, c) | Op::Bin(_, _, c)) = &mut func.values[u.0 as usize].def {
                *c = swapped;
            }
            constants.insert(u, swapped);
        }
    }
}

/// Puts each new constant before its user.
fn insert(func: &mut Func, constants: &HashMap<Value, Value>) {
    if constants.is_empty() {
        return;
    }
    for block in &mut func.blocks {
        let ops = std::mem::take(&mut block.ops);
        block.ops = ops.into_iter().flat_map(|v| constants.get(&v).copied().into_iter().chain([v])).collect();
    }
}
