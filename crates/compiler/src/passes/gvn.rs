//! Value numbering across branches.
//!
//! Idea: an operation that was done with the same operands in a dominating place need not be done again. Loads count as equal where they see the same version of
//! their memory ([`super::versions`]); the token of the first serves both, since what tests the bytes of the second stays where it is.
//! Source: Click (1995), "Combining Analyses", in the dominator-tree form of Briggs, Cooper and Simpson.
//! Phases: one walk over the dominator tree with a scoped table. Price: linear.

use super::Context;
use super::rewrite::Replacements;
use super::versions::{State, Version, Versions};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Func, Helper, Op, Type, Value};
use netil::table::Space;
use std::collections::{HashMap, HashSet};

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
        // The site of a check that cannot fail again does not matter; one that may must not move, so only tokens of
        // equal checks are shared by the checks pass.
        op if op.is_pure() => Some(op.clone()),
        _ => None,
    }
}

/// What the function writes anywhere.
pub(super) struct Written {
    spaces: HashSet<Space>,
    geometry: bool,
}

impl Written {
    pub fn new(func: &Func) -> Self {
        let mut written = Self { spaces: HashSet::new(), geometry: func.changes_geometry() };
        for op in func.blocks.iter().flat_map(|b| &b.ops).filter_map(|v| func.op(*v)) {
            match op {
                Op::Store(space, ..) | Op::Helper(Helper::Copy(_, space), ..) => written.spaces.extend([*space]),
                Op::Helper(Helper::InfoClear, ..) => written.spaces.extend([Space::Info]),
                _ => {}
            }
        }
        written
    }

    /// True if a memory has the same bytes, in the same place, wherever the function reads them.
    pub fn keeps(&self, space: Space) -> bool {
        let moves = self.geometry && matches!(space, Space::Packet | Space::Info);
        !moves && !self.spaces.contains(&space)
    }
}
