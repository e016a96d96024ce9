//! Computed ports: packets sent by a port that a value names, with one statement instead of a test for each port, which no processor can predict where ports are as good as random.

use crate::mir::{Block, Edge, Func, Op, Terminator, Value};
use netil::exec::DropReason;
use netil::ops::CmpOp;

/// Fewer ports are tested for.
const FEWEST: u32 = 3;
/// More are not looked for.
const MOST: u32 = 4096;
/// Comparisons on the way to where a packet is sent.
const FARTHEST: u32 = 4;

/// A packet is sent by port p + v for each v from 0 up to a count, and goes elsewhere otherwise: v, p, the count, and where.
pub type ByNumber = (Value, u32, u32, Edge);

/// How a block sends packets by a number, if it does. `present` says that there is a packet, so that sending asks nothing.
pub fn by_number(func: &Func, block: Block, present: bool) -> Option<ByNumber> {
    let (v, pairs, default) = match &func.block(block).end {
        Terminator::Switch(v, cases, default) => {
            (*v, cases.iter().map(|(key, e)| Some((*key, sends(func, e, present)?))).collect::<Option<Vec<_>>>()?, default.clone())
        }
        Terminator::Branch(..) => chain(func, block, present)?,
        _ => return None,
    };
    let mut pairs = pairs;
    pairs.sort_unstable();
    let first = pairs.first()?.1;
    let in_order = (0..).zip(&pairs).all(|(n, (key, port))| *key == n && *port == first + n);
    let count = pairs.len() as u32;
    (in_order && count >= FEWEST && func.width(v) <= 32).then_some((v, first, count, default))
}

/// A choice between dropping a packet and sending it by a number.
pub(crate) struct OrDrop {
    /// The i1 that says which, and what it is when the packet is dropped.
    pub condition: (Value, bool),
    pub reason: DropReason,
    /// As [`by_number`] has them.
    pub value: Value,
    pub first: u32,
    pub count: u32,
}

/// If a block drops a packet or sends it by port p + v for each v from 0 up to a count, and only a condition says which: no processor can foretell that either where it is the
/// packet's destination that decides. What v is otherwise makes no difference to this.
pub(crate) fn or_drop(func: &Func, block: Block, present: bool) -> Option<OrDrop> {
    let Terminator::Branch(c, yes, no) = &func.block(block).end else { return None };
    let (reason, when, other) = match (drops(func, yes), drops(func, no)) {
        (Some(reason), None) => (reason, true, no),
        (None, Some(reason)) => (reason, false, yes),
        _ => return None,
    };
    let value = tested(func, other.block, present)?;
    let (first, count) = reaches(func, other, (value, 0), present)?;
    let all = (1..count).all(|key| reaches(func, other, (value, key), present) == Some((first, count)));
    all.then_some(OrDrop { condition: (*c, when), reason, value, first, count })
}

/// Why a block drops the packet that does nothing else.
fn drops(func: &Func, edge: &Edge) -> Option<DropReason> {
    let data = func.block(edge.block);
    if let Terminator::Drop(reason) = data.end { data.ops.is_empty().then_some(reason) } else { None }
}

/// [`by_number`] of a block that does nothing else, since nobody may come by it.
fn only_by_number(func: &Func, block: Block, present: bool) -> Option<ByNumber> {
    let data = func.block(block);
    let tests =
        |v: &Value| matches!(func.op(*v), Some(Op::Const(_) | Op::Cmp(..))) || present && matches!(func.op(*v), Some(Op::Present(_)));
    (data.params.is_empty() && data.ops.iter().all(tests)).then(|| by_number(func, block, present))?
}

/// What a block tests, and nothing else.
fn tested(func: &Func, block: Block, present: bool) -> Option<Value> {
    only_by_number(func, block, present).map(|(value, ..)| value).or_else(|| compares(func, block).map(|(_, value, _)| value))
}

/// A block that compares a value with a constant and does nothing else.
fn compares(func: &Func, block: Block) -> Option<(CmpOp, Value, u64)> {
    let data = func.block(block);
    let Terminator::Branch(c, ..) = &data.end else { return None };
    let Some(Op::Cmp(op, a, b)) = func.op(*c) else { return None };
    let only = data.ops.iter().all(|v| v == c || func.constant(*v).is_some());
    (only && data.params.is_empty()).then_some((*op, *a, func.constant(*b)?))
}

/// By which first port, and of how many, a packet is sent from there if a value is that.
fn reaches(func: &Func, edge: &Edge, (value, key): (Value, u32), present: bool) -> Option<(u32, u32)> {
    let mut edge = edge;
    for _ in 0..FARTHEST {
        let found = only_by_number(func, edge.block, present).filter(|(v, _, count, _)| *v == value && key < *count);
        if let Some((_, first, count, _)) = found {
            return edge.args.is_empty().then_some((first, count));
        }
        let (op, _, constant) = compares(func, edge.block).filter(|(_, v, _)| *v == value)?;
        let Terminator::Branch(_, yes, no) = &func.block(edge.block).end else { return None };
        edge = if op.eval(func.width(value), key.into(), constant) { yes } else { no };
    }
    None
}

/// The value that is tested, the constants with their ports, and where it goes otherwise.
type Chain = (Value, Vec<(u32, u32)>, Edge);

/// Tests of one value for constants, each behind the other's no.
fn chain(func: &Func, mut block: Block, present: bool) -> Option<Chain> {
    let (mut value, mut pairs, mut rest) = (None, Vec::new(), None);
    while pairs.len() < MOST as usize {
        let Some((v, key, port, no)) = test(func, block, value.is_none(), present).filter(|(v, ..)| value.is_none_or(|value| value == *v))
        else {
            break;
        };
        pairs.push((key, port));
        value = Some(v);
        block = no.block;
        let plain = no.args.is_empty();
        rest = Some(no);
        if !plain {
            break;
        }
    }
    Some((value?, pairs, rest?))
}

/// A block that sends by a port if a value equals a constant: the value, the constant, the port, and the edge otherwise. All but the first must do nothing else.
fn test(func: &Func, block: Block, is_first: bool, present: bool) -> Option<(Value, u32, u32, Edge)> {
    let data = func.block(block);
    let Terminator::Branch(c, yes, no) = &data.end else { return None };
    let Some(Op::Cmp(CmpOp::Eq, a, b)) = func.op(*c) else { return None };
    let only = data.ops.iter().all(|v| v == c || func.constant(*v).is_some() || (present && matches!(func.op(*v), Some(Op::Present(_)))));
    let key = func.constant(*b).and_then(|key| u32::try_from(key).ok())?;
    (is_first || (only && data.params.is_empty())).then_some(())?;
    Some((*a, key, sends(func, yes, present)?, no.clone()))
}

/// The port by which a block sends that does nothing else.
fn sends(func: &Func, edge: &Edge, present: bool) -> Option<u32> {
    let data = func.block(edge.block);
    match data.end {
        Terminator::Send(port) if data.ops.iter().all(|v| present && matches!(func.op(*v), Some(Op::Present(_)))) => Some(port),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::Type;
    use netil::module::HandlerKind;

    /// A packet is dropped if the first parameter says so, else as the second says: the tests for constants, and by which ports, then the default.
    fn choosing(tests: &[(CmpOp, u64, u32)]) -> Func {
        let mut func = Func { kind: HandlerKind::Push, blocks: Vec::new(), values: Vec::new(), module_sets: 0, sets: Vec::new() };
        let start = func.new_block(&[Type::Int(1), Type::Int(32)]);
        let [condition, value] = func.block(start).params[..] else { unreachable!() };
        let end = |func: &mut Func, end| {
            let block = func.new_block(&[]);
            func.block_mut(block).end = end;
            Edge { block, args: Vec::new() }
        };
        let mut next = end(&mut func, Terminator::Send(99));
        for (op, constant, port) in tests.iter().rev() {
            let (yes, test) = (end(&mut func, Terminator::Send(*port)), func.new_block(&[]));
            let constant = func.append(test, Type::Int(32), Op::Const(*constant));
            let equal = func.append(test, Type::Int(1), Op::Cmp(*op, value, constant));
            func.block_mut(test).end = Terminator::Branch(equal, yes, next);
            next = Edge { block: test, args: Vec::new() };
        }
        let dropped = end(&mut func, Terminator::Drop(DropReason::Program(3)));
        func.block_mut(start).end = Terminator::Branch(condition, dropped, next);
        func
    }

    #[test]
    fn a_drop_is_a_number_only_where_each_value_is_sent_by_its_port() {
        let found = |tests: &[_]| or_drop(&choosing(tests), Block(0), true).map(|of| (of.first, of.count, of.condition.1, of.reason));
        let ports = [(CmpOp::Eq, 0, 4), (CmpOp::Eq, 1, 5), (CmpOp::Eq, 2, 6)];
        let four = Some((4, 3, true, DropReason::Program(3)));
        assert_eq!(found(&ports), four);
        assert_eq!(found(&[&[(CmpOp::Gt, 2, 7)], &ports[..]].concat()), four);
        assert_eq!(found(&[&[(CmpOp::Lts, 0, 7), (CmpOp::Gt, 900, 8)], &ports[..]].concat()), four);
        // The last, or the first, goes elsewhere.
        assert_eq!(found(&[&[(CmpOp::Gt, 1, 7)], &ports[..]].concat()), None);
        assert_eq!(found(&[&[(CmpOp::Eq, 0, 7)], &ports[..]].concat()), None);
        assert_eq!(found(&ports[..2]), None);
    }

    #[test]
    fn what_is_done_before_a_packet_is_sent_is_not_passed_by() {
        let mut func = choosing(&[(CmpOp::Eq, 0, 4), (CmpOp::Eq, 1, 5), (CmpOp::Eq, 2, 6)]);
        let Terminator::Branch(_, _, tests) = func.block(Block(0)).end.clone() else { unreachable!() };
        assert!(or_drop(&func, Block(0), true).is_some());
        let cleared = func.new_value(Type::Void, crate::mir::Def::Op(Op::Helper(crate::mir::Helper::InfoClear, [].into(), 0)));
        func.block_mut(tests.block).ops.insert(0, cleared);
        assert!(or_drop(&func, Block(0), true).is_none());
    }
}
