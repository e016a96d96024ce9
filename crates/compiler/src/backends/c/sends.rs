//! Packets sent by a port that a value names: one statement instead of a test for each port, which no processor can foretell where the ports are as good as random.

use crate::mir::{Block, Edge, Func, Op, Terminator, Value};
use netil::ops::CmpOp;

/// Fewer ports are tested for.
const FEWEST: u32 = 3;
/// More are not looked for.
const MOST: u32 = 4096;

/// If a block sends by port p + v for each v from 0 up to a count, and goes elsewhere otherwise: v, p, the count, and where.
/// `present` says that there is a packet, so that sending asks nothing.
pub(super) fn by_number(func: &Func, block: Block, present: bool) -> Option<(Value, u32, u32, Edge)> {
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
