//! Branch probability: which edge of a branch most packets take. Packets go on, by the port behind
//! which most elements are, and are not dropped; tables have the entries that are looked for.
//!
//! C compilers assume that two values differ, which is right for pointers and wrong for protocol
//! numbers, and place the other case elsewhere: each such jump costs the rest of an instruction
//! fetch line (a router: 0.7 ns a packet). Where both edges lead to equally good ends, compared
//! numbers are equal, except addresses of hosts; frames are for the station that received them;
//! packets are long enough for the headers that they claim. Source: Ball, Larus, "Branch Prediction
//! for Free" (1993): edges to a return, tests of opcodes and of pointers.

use crate::mir::cfg::Cfg;
use crate::mir::{Block, Func, Op, Value};
use netil::ops::{BinOp, CmpOp, mask};

/// How often values go round loops on their way back.
const ROUNDS: usize = 4;
/// How much less an edge to another port is worth than one to the hot port.
const OTHER: f64 = 0.1;
/// How much of what may become of a packet is the best.
const BEST: f64 = 0.9;
/// Ways that differ by less come to the same.
const SAME: f64 = 0.02;
/// The largest number that says what something is; what is larger says whose, or where to.
const KIND: u64 = 0xffff;
/// Bits of the address of a station, if they are not all 1.
const STATION: u16 = 48;
/// The shortest frame: packets mostly have as many bytes as are asked for, if those are no more.
const SHORTEST: u64 = 60;

/// By block, the value of the ends that a packet may reach from it: 1 for the hot port, 0 for a
/// drop.
pub(crate) struct BranchProbability(Vec<f64>);

impl BranchProbability {
    /// `hot`: the port that most packets leave by, if it is known; else the first.
    pub(crate) fn of(func: &Func, hot: Option<u32>) -> Self {
        let order = Cfg::new(func).order;
        let sent = |block: &Block| func.block(*block).end.ports().next();
        let hot = hot.unwrap_or_else(|| order.iter().filter_map(sent).min().unwrap_or(0));
        let by = |port: u32| if port == hot { 1.0 } else { 1.0 - OTHER };
        let mut all = Self(vec![0.0; func.blocks.len()]);
        for _ in 0..ROUNDS {
            for block in order.iter().rev() {
                let end = &func.block(*block).end;
                let ways: Vec<f64> = end.ports().map(by).chain(end.targets().map(|block| all.at(block))).collect();
                let (best, sum) = ways.iter().fold((0.0, 0.0), |(best, sum), at| (f64::max(best, *at), sum + at));
                all.0[block.0 as usize] = BEST * best + (1.0 - BEST) * sum / ways.len().max(1) as f64;
            }
        }
        all
    }

    fn at(&self, block: Block) -> f64 {
        self.0[block.0 as usize]
    }

    /// Whether a condition mostly holds on which one or the other block comes next, if that can be
    /// told.
    pub(crate) fn holds(&self, func: &Func, condition: Value, yes: Block, no: Block) -> Option<bool> {
        let more = self.at(yes) - self.at(no);
        match func.op(condition) {
            Some(Op::Cmp(CmpOp::Eq, a, b)) if is_none(func, *a, *b) => Some(false),
            Some(Op::Cmp(CmpOp::Ne, a, b)) if is_none(func, *a, *b) => Some(true),
            Some(Op::Cmp(op, a, b)) if asks_length(func, *a, *b) && matches!(op, CmpOp::Lt | CmpOp::Le) => Some(false),
            Some(Op::Cmp(op, a, b)) if asks_length(func, *a, *b) && matches!(op, CmpOp::Gt | CmpOp::Ge) => Some(true),
            _ if more.abs() > SAME => Some(more > 0.0),
            Some(Op::Cmp(CmpOp::Eq, _, b)) => Some(!says_whose(func, *b)),
            Some(Op::Cmp(CmpOp::Ne, _, b)) => Some(says_whose(func, *b)),
            _ => None,
        }
    }
}

/// Whether that is the number of somebody who is one of many. The address of a station is not: most
/// frames that a processor sees are for it.
fn says_whose(func: &Func, v: Value) -> bool {
    let is_station = |number: u64| func.width(v) == STATION && number != mask(STATION);
    func.constant(v).is_some_and(|number| number > KIND && !is_station(number))
}

/// Whether that is the number of an entry beside that of none.
fn is_none(func: &Func, entry: Value, number: Value) -> bool {
    let is_entry = matches!(func.op(entry), Some(Op::Helper(helper, ..)) if helper.looks_up().is_some());
    is_entry && func.constant(number) == Some(0)
}

/// Whether that is what a packet has, or has left, beside a number of bytes that every frame has.
fn asks_length(func: &Func, length: Value, number: Value) -> bool {
    let is_length = |v: Value| matches!(func.op(v), Some(Op::PacketLen));
    let is_left =
        |v: Value| matches!(func.op(v), Some(Op::Bin(BinOp::Add | BinOp::Sub, a, b)) if is_length(*a) && func.constant(*b).is_some());
    func.constant(number).is_some_and(|number| number <= SHORTEST) && (is_length(length) || is_left(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::{Def, Edge, Helper, Terminator, Type};
    use netil::exec::DropReason;
    use netil::module::HandlerKind;

    /// A comparison, and where packets go if it holds and if not.
    fn deciding(op: CmpOp, number: Option<u64>, ends: [Terminator; 2]) -> (Func, [Block; 3]) {
        let mut func = Func { kind: HandlerKind::Push, blocks: Vec::new(), values: Vec::new(), module_sets: 0, sets: Vec::new() };
        let width = if number > Some(u32::MAX.into()) { STATION } else { 32 };
        let start = func.new_block(&[Type::Int(width); 2]);
        let [mut a, mut b] = func.block(start).params[..] else { unreachable!() };
        if let Some(number) = number {
            b = func.append(start, Type::Int(width), Op::Const(number));
            // With 0 it is an entry that is looked for.
            if number == 0 {
                a = func.append(start, Type::Int(32), Op::Helper(Helper::Find(0), Box::new([a]), 0));
            }
        }
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

    fn guess(op: CmpOp, number: Option<u64>, ends: [Terminator; 2], hot: Option<u32>) -> Option<bool> {
        let (func, [start, yes, no]) = deciding(op, number, ends);
        let Terminator::Branch(condition, ..) = func.block(start).end else { unreachable!() };
        BranchProbability::of(&func, hot).holds(&func, condition, yes, no)
    }

    #[test]
    fn packets_mostly_go_on_by_the_hot_port_and_numbers_are_equal() {
        let (drop, first, second) = (Terminator::Drop(DropReason::Verdict), Terminator::Send(1), Terminator::Send(2));
        for (op, number, ends, hot, guessed) in [
            (CmpOp::Eq, None, [drop.clone(), second.clone()], None, Some(false)),
            (CmpOp::Ne, None, [second.clone(), drop.clone()], None, Some(true)),
            (CmpOp::Eq, None, [second.clone(), first.clone()], None, Some(false)),
            (CmpOp::Eq, None, [second.clone(), first.clone()], Some(2), Some(true)),
            (CmpOp::Eq, None, [first.clone(), first.clone()], None, Some(true)),
            (CmpOp::Ne, None, [drop.clone(), drop.clone()], None, Some(false)),
            (CmpOp::Lt, None, [first.clone(), first.clone()], None, None),
            // What something is, and where it goes to.
            (CmpOp::Eq, Some(0x800), [first.clone(), first.clone()], None, Some(true)),
            (CmpOp::Eq, Some(0xa00_0001), [first.clone(), first.clone()], None, Some(false)),
            (CmpOp::Ne, Some(0xa00_0001), [first.clone(), first.clone()], None, Some(true)),
            // Frames are for the station that looks at them.
            (CmpOp::Eq, Some(0x200_0000_0001), [first.clone(), first.clone()], None, Some(true)),
            (CmpOp::Eq, Some(mask(STATION)), [first.clone(), first.clone()], None, Some(false)),
            // Entries are there, whatever comes then.
            (CmpOp::Eq, Some(0), [first.clone(), drop.clone()], None, Some(false)),
            (CmpOp::Ne, Some(0), [drop, first], None, Some(true)),
        ] {
            assert_eq!(guess(op, number, ends.clone(), hot), guessed, "{op:?} {number:?} {ends:?}");
        }
    }

    #[test]
    fn packets_are_long_enough_for_their_headers() {
        let guess = |op: CmpOp, taken: u64, number: u64| {
            let (mut func, [start, yes, no]) = deciding(op, Some(number), [Terminator::Send(2), Terminator::Send(1)]);
            let Terminator::Branch(condition, ..) = func.block(start).end else { unreachable!() };
            let mut length = func.new_value(Type::Int(32), Def::Op(Op::PacketLen));
            if taken > 0 {
                let pulled = func.new_value(Type::Int(32), Def::Op(Op::Const(taken)));
                length = func.new_value(Type::Int(32), Def::Op(Op::Bin(BinOp::Sub, length, pulled)));
            }
            if let Def::Op(Op::Cmp(_, a, _)) = &mut func.values[condition.0 as usize].def {
                *a = length;
            }
            BranchProbability::of(&func, Some(1)).holds(&func, condition, yes, no)
        };
        // What comes then would say otherwise: the usual port is behind `no`.
        assert_eq!(guess(CmpOp::Ge, 0, 14), Some(true));
        assert_eq!(guess(CmpOp::Ge, 14, 20), Some(true));
        assert_eq!(guess(CmpOp::Lt, 14, 20), Some(false));
        assert_eq!(guess(CmpOp::Ge, 0, 1000), Some(false));
    }
}
