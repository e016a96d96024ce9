//! Which way packets mostly go where an element decides: on, by its first port, and not into a drop.
//!
//! Compilers of C guess that two things are not equal, which is right for pointers and wrong for protocols' numbers, and put what comes then elsewhere: each such jump
//! costs the processor the rest of the line it reads instructions from (a router: 0.7 ns a packet). Where both ways come to the same, numbers that are compared are
//! equal. Source: Ball, Larus 1993, Branch Prediction for Free: ways to a return, and tests of opcodes.

use crate::mir::cfg::Cfg;
use crate::mir::{Block, Func, Op, Terminator, Value};
use netil::ops::CmpOp;

/// How often values go round loops on their way back.
const ROUNDS: usize = 4;
/// How much less a way is worth by another port than the first.
const OTHER: f64 = 0.1;
/// Ways that differ by less come to the same.
const SAME: f64 = 0.02;

/// By block, how likely a packet is sent from there, if all ways were as likely.
pub(super) struct Likely(Vec<f64>);

impl Likely {
    pub(super) fn of(func: &Func) -> Self {
        let order = Cfg::new(func).order;
        let sent = |block: &Block| if let Terminator::Send(port) = func.block(*block).end { Some(port) } else { None };
        let first = order.iter().filter_map(sent).min().unwrap_or(0);
        let mut likely = Self(vec![0.5; func.blocks.len()]);
        for _ in 0..ROUNDS {
            for block in order.iter().rev() {
                likely.0[block.0 as usize] = match &func.block(*block).end {
                    Terminator::Send(port) if *port == first => 1.0,
                    Terminator::Send(_) => 1.0 - OTHER,
                    Terminator::Drop(_) => 0.0,
                    end => {
                        let ways = end.edges();
                        ways.iter().map(|edge| likely.at(edge.block)).sum::<f64>() / ways.len().max(1) as f64
                    }
                };
            }
        }
        likely
    }

    fn at(&self, block: Block) -> f64 {
        self.0[block.0 as usize]
    }

    /// Whether a condition mostly holds on which one or the other block comes next, if that can be told.
    pub(super) fn holds(&self, func: &Func, condition: Value, yes: Block, no: Block) -> Option<bool> {
        let more = self.at(yes) - self.at(no);
        match func.op(condition) {
            _ if more.abs() > SAME => Some(more > 0.0),
            Some(Op::Cmp(CmpOp::Eq, ..)) => Some(true),
            Some(Op::Cmp(CmpOp::Ne, ..)) => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::{Edge, Type};
    use netil::exec::DropReason;
    use netil::module::HandlerKind;

    /// A comparison, and where packets go if it holds and if not.
    fn deciding(op: CmpOp, ends: [Terminator; 2]) -> (Func, [Block; 3]) {
        let mut func = Func { kind: HandlerKind::Push, blocks: Vec::new(), values: Vec::new(), module_sets: 0, sets: Vec::new() };
        let start = func.new_block(&[Type::Int(32), Type::Int(32)]);
        let [a, b] = func.block(start).params[..] else { unreachable!() };
        let condition = func.append(start, Type::Int(1), Op::Cmp(op, a, b));
        let [yes, no] = ends.map(|end| {
            let block = func.new_block(&[]);
            func.block_mut(block).end = end;
            block
        });
        let edge = |block| Edge { block, args: Vec::new() };
        func.block_mut(start).end = Terminator::Branch(condition, edge(yes), edge(no));
        (func, [start, yes, no])
    }

    fn guess(op: CmpOp, ends: [Terminator; 2]) -> Option<bool> {
        let (func, [start, yes, no]) = deciding(op, ends);
        let Terminator::Branch(condition, ..) = func.block(start).end else { unreachable!() };
        Likely::of(&func).holds(&func, condition, yes, no)
    }

    #[test]
    fn packets_mostly_go_on_by_the_first_port_and_numbers_are_equal() {
        let (drop, first, second) = (Terminator::Drop(DropReason::Verdict), Terminator::Send(1), Terminator::Send(2));
        for (op, ends, guessed) in [
            (CmpOp::Eq, [drop.clone(), second.clone()], Some(false)),
            (CmpOp::Ne, [second.clone(), drop.clone()], Some(true)),
            (CmpOp::Eq, [second.clone(), first.clone()], Some(false)),
            (CmpOp::Eq, [first.clone(), first.clone()], Some(true)),
            (CmpOp::Ne, [drop.clone(), drop.clone()], Some(false)),
            (CmpOp::Lt, [first.clone(), first], None),
        ] {
            assert_eq!(guess(op, ends.clone()), guessed, "{op:?} {ends:?}");
        }
    }
}
