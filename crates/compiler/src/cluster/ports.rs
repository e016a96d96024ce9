//! Computed ports behind a choice between them and a drop, as one statement: no processor can
//! predict it where the packet's destination decides.

use crate::mir::{Block, Edge, Func, Op, Terminator, Value};
use netil::exec::DropReason;
use netil::ops::CmpOp;

/// Comparisons on the way to where a packet is sent.
const FARTHEST: u32 = 4;

/// A choice between dropping a packet and sending it by a number.
pub(crate) struct OrDrop {
    /// The i1 that says which, and what it is when the packet is dropped.
    pub condition: (Value, bool),
    pub reason: DropReason,
    /// As in [`Terminator::SendBy`].
    pub value: Value,
    pub first: u32,
    pub count: u32,
}

/// If a block drops a packet or sends it by port p + v for each v from 0 up to a count, and only a
/// condition says which: no processor can foretell that either where it is the packet's destination
/// that decides. What v is otherwise makes no difference to this.
pub(crate) fn or_drop(func: &Func, block: Block) -> Option<OrDrop> {
    let Terminator::Branch(c, yes, no) = &func.block(block).end else { return None };
    let (reason, when, other) = match (drops(func, yes), drops(func, no)) {
        (Some(reason), None) => (reason, true, no),
        (None, Some(reason)) => (reason, false, yes),
        _ => return None,
    };
    let value = tested(func, other.block)?;
    let narrow = unextended(func, value);
    let (first, count) = reaches(func, other, (narrow, 0))?;
    let all = (1..count).all(|key| reaches(func, other, (narrow, key)) == Some((first, count)));
    all.then_some(OrDrop { condition: (*c, when), reason, value, first, count })
}

/// Why a block drops the packet that does nothing else.
fn drops(func: &Func, edge: &Edge) -> Option<DropReason> {
    let data = func.block(edge.block);
    if let Terminator::Drop(reason) = data.end { data.ops.is_empty().then_some(reason) } else { None }
}

/// The value by which a block sends packets that does nothing else, since nobody may come by it,
/// the first port and how many there are.
fn only_sends(func: &Func, block: Block) -> Option<(Value, u32, u32)> {
    let data = func.block(block);
    let Terminator::SendBy(v, first, count, _) = data.end else { return None };
    (data.params.is_empty() && data.ops.iter().all(|v| func.constant(*v).is_some())).then_some((v, first, count))
}

/// What a block tests, and nothing else.
fn tested(func: &Func, block: Block) -> Option<Value> {
    only_sends(func, block).map(|(value, ..)| value).or_else(|| compares(func, block).map(|(_, value, _)| value))
}

/// The value that was extended with zeros.
fn unextended(func: &Func, v: Value) -> Value {
    if let Some(Op::Zext(narrow)) = func.op(v) { unextended(func, *narrow) } else { v }
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
fn reaches(func: &Func, edge: &Edge, (value, key): (Value, u32)) -> Option<(u32, u32)> {
    let mut edge = edge;
    for _ in 0..FARTHEST {
        let found = only_sends(func, edge.block).filter(|(v, _, count)| unextended(func, *v) == value && key < *count);
        if let Some((_, first, count)) = found {
            return edge.args.is_empty().then_some((first, count));
        }
        let (op, a, constant) = compares(func, edge.block).filter(|(_, v, _)| unextended(func, *v) == value)?;
        let Terminator::Branch(_, yes, no) = &func.block(edge.block).end else { return None };
        edge = if op.eval(func.width(a), key.into(), constant) { yes } else { no };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::Type;
    use netil::module::HandlerKind;

    /// A packet is dropped if the first parameter says so, else as the second says: tests for
    /// constants, and by which ports, then by its number, from 4 to 6.
    fn choosing(tests: &[(CmpOp, u64, u32)]) -> Func {
        let mut func = Func { kind: HandlerKind::Push, blocks: Vec::new(), values: Vec::new(), module_sets: 0, sets: Vec::new() };
        let start = func.new_block(&[Type::Int(1), Type::Int(32)]);
        let [condition, value] = func.block(start).params[..] else { unreachable!() };
        let end = |func: &mut Func, end| {
            let block = func.new_block(&[]);
            func.block_mut(block).end = end;
            Edge { block, args: Vec::new() }
        };
        let beyond = end(&mut func, Terminator::Send(99));
        let mut next = end(&mut func, Terminator::SendBy(value, 4, 3, beyond));
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
        let found = |tests: &[_]| or_drop(&choosing(tests), Block(0)).map(|of| (of.first, of.count, of.condition.1, of.reason));
        let four = Some((4, 3, true, DropReason::Program(3)));
        assert_eq!(found(&[]), four);
        assert_eq!(found(&[(CmpOp::Gt, 2, 7)]), four);
        assert_eq!(found(&[(CmpOp::Lts, 0, 7), (CmpOp::Gt, 900, 8)]), four);
        // The last, or the first, goes elsewhere.
        assert_eq!(found(&[(CmpOp::Gt, 1, 7)]), None);
        assert_eq!(found(&[(CmpOp::Eq, 0, 7)]), None);
    }

    #[test]
    fn what_is_done_before_a_packet_is_sent_is_not_passed_by() {
        let mut func = choosing(&[]);
        let Terminator::Branch(_, _, tests) = func.block(Block(0)).end.clone() else { unreachable!() };
        assert!(or_drop(&func, Block(0)).is_some());
        let cleared = func.new_value(Type::Void, crate::mir::Def::Op(Op::Helper(crate::mir::Helper::InfoClear, [].into(), 0)));
        func.block_mut(tests.block).ops.insert(0, cleared);
        assert!(or_drop(&func, Block(0)).is_none());
    }
}
