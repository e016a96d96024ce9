//! Dead-work elimination: zeros where bytes are overwritten at once, silent stores
//! ([`super::silent_stores`]), and sums of which only whether they are 0 is used.

use super::silent_stores;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Extent, Func, Helper, Op, Value};
use netil::ops::CmpOp;
use netil::table::Space;
use std::collections::HashSet;

/// Operations that have less to do than they say.
#[derive(Default)]
pub(crate) struct DeadWork {
    /// Pushes of bytes that are all written before anybody can see them.
    pub zeros: HashSet<Value>,
    /// Checksums that nobody asks more of than whether they are 0.
    pub sums: HashSet<Value>,
    /// Stores that change nothing ([`super::silent_stores`]).
    pub silent_stores: HashSet<Value>,
}

impl DeadWork {
    pub fn of(func: &Func) -> Self {
        let cfg = Cfg::new(func);
        let zeros = cfg.order.iter().flat_map(|block| pushes(func, *block)).collect();
        Self { silent_stores: silent_stores::of(func, &cfg, &zeros), zeros, sums: sums(func, &cfg) }
    }
}

fn ops(func: &Func, block: Block) -> impl Iterator<Item = (Value, &Op)> {
    func.block(block).ops.iter().filter_map(|v| Some((*v, func.op(*v)?)))
}

/// Checksums that are compared with 0, and nothing else.
fn sums(func: &Func, cfg: &Cfg) -> HashSet<Value> {
    let all = || cfg.order.iter().flat_map(|block| ops(func, *block));
    let mut sums: HashSet<Value> = all().filter(|(_, op)| matches!(op, Op::Helper(Helper::Checksum, ..))).map(|(v, _)| v).collect();
    for (_, op) in all() {
        match op {
            Op::Cmp(CmpOp::Eq | CmpOp::Ne, _, zero) if func.constant(*zero) == Some(0) => {}
            op => op.operands(|v| _ = sums.remove(&v)),
        }
    }
    cfg.order.iter().for_each(|block| func.block(*block).end.values(|v| _ = sums.remove(&v)));
    sums
}

fn pushes(func: &Func, block: Block) -> Vec<Value> {
    let all: Vec<(Value, &Op)> = ops(func, block).collect();
    let is_dead = |(at, (_, op)): &(usize, &(Value, &Op))| match op {
        Op::Helper(Helper::PushHead, args, _) => {
            func.constant(args[0]).is_some_and(|n| are_written(func, &all[at + 1..], usize::try_from(n).unwrap_or(usize::MAX)))
        }
        _ => false,
    };
    all.iter().enumerate().filter(is_dead).map(|(_, (v, _))| *v).collect()
}

/// Whether so many bytes at the packet's beginning are written by these operations before anything
/// happens that they could be seen in.
fn are_written(func: &Func, ops: &[(Value, &Op)], count: usize) -> bool {
    let mut written = vec![false; count.min(netil::exec::MAX_PACKET as usize)];
    for (v, op) in ops {
        match op {
            Op::Store(Space::Packet, _, addr, offset, value, _) => {
                let Some(addr) = func.constant(*addr) else { return false };
                let start = addr as usize + *offset as usize;
                (start..start + usize::from(func.width(*value) / 8)).for_each(|at| written.get_mut(at).into_iter().for_each(|w| *w = true));
            }
            // Who reads what has been written sees no zeros.
            Op::Load(Space::Packet, _, addr, offset, _) if is_within(func, (*addr, *offset, *v), &written) => {}
            Op::Check(Space::Packet, extents) if extents.iter().all(|extent| ends_within(func, extent, count)) => {}
            Op::Load(space, ..) | Op::Store(space, ..) if *space != Space::Packet => {}
            op if op.is_pure() => {}
            _ => break,
        }
    }
    count <= written.len() && written.iter().all(|written| *written)
}

/// Whether a load is of bytes that have been written: its address, offset and value.
fn is_within(func: &Func, (addr, offset, v): (Value, u32, Value), written: &[bool]) -> bool {
    let start = func.constant(addr).map(|addr| addr as usize + offset as usize);
    let loaded = start.and_then(|start| written.get(start..start + usize::from(func.width(v) / 8)));
    loaded.is_some_and(|bytes| bytes.iter().all(|written| *written))
}

fn ends_within(func: &Func, extent: &Extent, count: usize) -> bool {
    func.constant(extent.addr).is_some_and(|addr| addr + extent.end() <= count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes;
    use netil::asm::assemble;
    use netil::module::HandlerKind;

    /// How many pushes need no zeros.
    fn pushes_without_zeros(code: &str) -> usize {
        let program = netil::verify(
            assemble(&format!("segment .metadata\n.datamem_size 16\nends\nsegment .push\npop\n{code}\nret 1\nends\n"), "").unwrap(),
        )
        .unwrap();
        let (func, _) = crate::optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        DeadWork::of(&func).zeros.len()
    }

    #[test]
    fn zeros_are_not_wanted_where_all_is_written() {
        let (push, [first, second]) = ("push 4\npkt.push\n", [0, 2].map(|at| format!("push 7\npush {at}\npstore.16\n")));
        assert_eq!(pushes_without_zeros(&[push, &first, &second].concat()), 1);
        assert_eq!(pushes_without_zeros(&[push, &second].concat()), 0);
        let read = |at: u32| format!("push {at}\nupload.8\npush 0\nmstore.8\n");
        assert_eq!(pushes_without_zeros(&[push, &first, &read(1), &second].concat()), 1);
        assert_eq!(pushes_without_zeros(&[push, &first, &read(2), &second].concat()), 0);
    }
}
