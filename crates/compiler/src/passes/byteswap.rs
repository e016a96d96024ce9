//! Constant byte swapping.
//!
//! Idea: a field that is only compared with constants for equality, masked or not, or looked for in
//! a set of single values, need not be brought into the machine's byte order: the constants are, at
//! compile time. Source: NetVM paper, section 5.1, figure 8. Phases: collect the uses of each load
//! in foreign order; where all of them allow it, turn the load and swap their constants. Sets that
//! are tested by a bitmap stay: their values would not lie together any more. Price: linear, with
//! sets of up to [`MOST_VALUES`] values copied.

use super::Context;
use crate::mir::{Block, Def, Func, Op, Order, Terminator, Type, Value};
use crate::sets::{BITMAP_SPAN, COMPARE_RANGES};
use netil::Module;
use netil::ops::{BinOp, CmpOp, UnOp, mask};
use netil::set::Set;
use std::collections::HashMap;

/// The most values of a set that is swapped.
const MOST_VALUES: usize = 1 << 10;

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    let (uses, module) = (uses(func), context.program.module());
    let loads: Vec<Value> = func.blocks.iter().flat_map(|b| &b.ops).copied().filter(|v| foreign(func, *v, context.target.order)).collect();
    let mut swaps = Vec::new();
    let mut constants = HashMap::new();
    for load in loads {
        if let Some(users) = swappable(func, module, &uses, load, true) {
            swaps.extend(users);
            turn(func, load, context.target.order);
        }
    }
    for (block, user) in swaps {
        swap_constants(func, module, block, user, &mut constants);
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

/// True for a load of several bytes in the order that the machine does not have.
fn foreign(func: &Func, v: Value, native: Order) -> bool {
    matches!(func.op(v), Some(Op::Load(_, order, ..)) if *order != native) && matches!(func.width(v), 16 | 24 | 32 | 40 | 48 | 56 | 64)
}

/// The users whose constants must be swapped with the value; `None` if one of them needs the number
/// itself.
fn swappable(func: &Func, module: &Module, uses: &Uses, v: Value, through_masks: bool) -> Option<Vec<(Block, User)>> {
    let mut users = Vec::new();
    for (b, user) in uses.get(&v)? {
        users.push((*b, *user));
        match user {
            User::End => match &func.block(*b).end {
                Terminator::Switch(key, ..) if *key == v && func.width(v) == 32 && !passes(&func.block(*b).end, v) => {}
                _ => return None,
            },
            User::Op(u) => match func.op(*u)? {
                Op::Cmp(CmpOp::Eq | CmpOp::Ne, a, c) if *a == v && func.constant(*c).is_some() => {}
                Op::Bin(BinOp::And, a, c) if *a == v && func.constant(*c).is_some() && through_masks => {
                    users.extend(swappable(func, module, uses, *u, false)?);
                }
                Op::SetHas(set, a) if *a == v && turns(func.set(module, *set), func.width(v)) => {}
                Op::Zext(_) => users.extend(set_tests(func, module, uses, *u, func.width(v))?),
                _ => return None,
            },
        }
    }
    Some(users)
}

/// The users of an extended field, if all of them look for it in sets that can be swapped.
fn set_tests(func: &Func, module: &Module, uses: &Uses, v: Value, width: u16) -> Option<Vec<(Block, User)>> {
    let users = uses.get(&v).cloned().unwrap_or_default();
    let good = |user: &User| match user {
        User::Op(u) => matches!(func.op(*u), Some(Op::SetHas(set, _)) if turns(func.set(module, *set), width)),
        User::End => false,
    };
    users.iter().all(|(_, user)| good(user)).then_some(users)
}

/// True for a set of numbers of that width that stays as easy to test when their bytes are swapped.
fn turns(set: &Set, width: u16) -> bool {
    let (ranges, most) = (set.ranges().len(), mask(width));
    if set.width() > 64 || ranges > MOST_VALUES || !set.small_ranges().all(|(low, high)| low == high && high <= most) {
        return false;
    }
    let mut values = set.small_ranges().map(|(low, _)| low);
    let Some(first) = values.next() else { return false };
    let span = values.last().unwrap_or(first) - first;
    if ranges <= COMPARE_RANGES { span >= 64 } else { span >= BITMAP_SPAN }
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
fn swap_constants(func: &mut Func, module: &Module, block: Block, user: User, constants: &mut HashMap<Value, Value>) {
    match user {
        User::End => {
            if let Terminator::Switch(_, cases, _) = &mut func.block_mut(block).end {
                cases.iter_mut().for_each(|case| case.0 = case.0.swap_bytes());
                cases.sort_by_key(|case| case.0);
            }
        }
        User::Op(u) if matches!(func.op(u), Some(Op::SetHas(..))) => swap_set(func, module, u),
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

/// Makes the test of a set one of the field as it stands in memory.
fn swap_set(func: &mut Func, module: &Module, test: Value) {
    let Some(Op::SetHas(set, v)) = func.op(test).cloned() else { return };
    let field = if let Some(Op::Zext(inner)) = func.op(v) { *inner } else { v };
    let (width, set) = (func.width(field), func.set(module, set));
    let values: Vec<u64> = set.small_ranges().map(|(low, _)| UnOp::Bswap.eval(width, low)).collect();
    let Ok(set) = Set::of_values(&format!("{}_swapped", set.name()), width, values) else { return };
    let set = func.add_set(set);
    func.set_op(test, Op::SetHas(set, field));
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
