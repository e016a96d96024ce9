//! Value numbering across branches.
//!
//! Idea: an operation that was done with the same operands in a dominating place need not be done
//! again. Loads count as equal where they see the same version of their memory
//! ([`crate::analysis::versions`]); the token of the first serves both, since what tests the bytes
//! of the second stays where it is. Source: Click (1995), "Combining Analyses", in the
//! dominator-tree form of Briggs, Cooper and Simpson. Phases: one walk over the dominator tree with
//! a scoped table. Price: linear.

use super::Context;
use super::rewrite::Replacements;
use crate::analysis::versions::{State, Version, Versions};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Func, Op, Type, Value};
use std::collections::HashMap;

pub(super) fn run(func: &mut Func, _: &Context<'_>) {
    let cfg = Cfg::new(func);
    let versions = Versions::new(func, &cfg);
    let mut replaced = Replacements::new(func);
    let enter = |table: &mut Table, b| block(func, b, versions.at(b), &mut replaced, table);
    cfg.walk(&mut Table::new(), enter, |table, added| added.iter().for_each(|key| _ = table.remove(key)));
    replaced.apply(func);
}

type Key = (Type, Op, Option<Version>);
type Table = HashMap<Key, Value>;

/// Gives the keys that it added.
fn block(func: &mut Func, b: Block, mut state: State, replaced: &mut Replacements, table: &mut Table) -> Vec<Key> {
    let mut added = Vec::new();
    let mut kept = Vec::new();
    for v in std::mem::take(&mut func.block_mut(b).ops) {
        replaced.apply_to(func, v);
        let data = &func.values[v.0 as usize];
        let Def::Op(op) = &data.def else { continue };
        let seen = state.seen_by(op);
        state.step(v, op);
        let Some(key) = number(op).map(|op| (data.ty, op, seen)) else {
            kept.push(v);
            continue;
        };
        match table.get(&key) {
            Some(same) => replaced.set(v, *same),
            None => {
                table.insert(key.clone(), v);
                added.push(key);
                kept.push(v);
            }
        }
    }
    func.block_mut(b).ops = kept;
    added
}

/// The operation under which equal values are found; none if it must be done each time.
fn number(op: &Op) -> Option<Op> {
    match op {
        // The token is left out: the dominating load's check covers the same bytes.
        Op::Load(space, order, addr, offset, _) => Some(Op::Load(*space, *order, *addr, *offset, Value(u32::MAX))),
        Op::PacketLen | Op::WireLen => Some(op.clone()),
        // The site of a check that cannot fail again does not matter; one that may must not move,
        // so only tokens of equal checks are shared by the checks pass.
        op if op.is_pure() => Some(op.clone()),
        _ => None,
    }
}
