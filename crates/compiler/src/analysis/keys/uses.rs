//! Which values and places of memory of a handler the keys of tables, and the places where it
//! changes the packet, are made of.

use crate::mir::{Func, Helper, Op, Terminator, Value};
use netil::ops::CmpOp;
use netil::table::Space;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The values that keys and places in the packet are made of.
#[derive(Default)]
pub(super) struct Relevant {
    pub values: BTreeSet<Value>,
    /// Values that branches compare with numbers.
    pub tested: BTreeSet<Value>,
    /// Bytes of data memory.
    data: Vec<Range<i64>>,
}

impl Relevant {
    pub fn of(func: &Func) -> Self {
        let uses = Uses::of(func);
        let (mut found, mut open) = (Self::default(), uses.roots.clone());
        while let Some(value) = open.pop() {
            if !found.values.insert(value) {
                continue;
            }
            match func.op(value) {
                Some(op @ Op::Load(Space::Data, _, at, offset, _)) => {
                    op.operands(|operand| open.push(operand));
                    let Some(at) = func.constant(*at) else { continue };
                    let at = at as i64 + i64::from(*offset);
                    let bytes = at..at + i64::from(func.width(value) / 8);
                    let reaches = |(place, _): &&(Range<i64>, Value)| place.start < bytes.end && bytes.start < place.end;
                    open.extend(uses.stores.iter().filter(reaches).map(|(_, value)| *value));
                    found.data.push(bytes);
                }
                Some(op) => op.operands(|operand| open.push(operand)),
                None => open.extend(uses.params.get(&value).into_iter().flatten()),
            }
        }
        found.tested = uses.tested;
        found
    }

    pub fn holds(&self, at: i64) -> bool {
        self.data.iter().any(|bytes| bytes.contains(&at))
    }
}

/// What operations of a function use, as far as that matters.
#[derive(Default)]
struct Uses {
    roots: Vec<Value>,
    tested: BTreeSet<Value>,
    /// Stores to known places of data memory.
    stores: Vec<(Range<i64>, Value)>,
    params: BTreeMap<Value, Vec<Value>>,
}

impl Uses {
    fn of(func: &Func) -> Self {
        let mut uses = Self::default();
        for block in &func.blocks {
            block.ops.iter().filter_map(|value| func.op(*value)).for_each(|op| uses.operation(func, op));
            uses.test(func, &block.end);
            for edge in block.end.edges() {
                let pairs = func.block(edge.block).params.iter().zip(&edge.args);
                pairs.for_each(|(param, arg)| uses.params.entry(*param).or_default().push(*arg));
            }
        }
        uses
    }

    fn operation(&mut self, func: &Func, op: &Op) {
        match op {
            Op::Helper(Helper::Find(_) | Helper::Peek(_) | Helper::Insert(_) | Helper::DeleteEntry(_), ..)
            | Op::Helper(Helper::PushHead | Helper::PullHead, ..) => op.operands(|value| self.roots.push(value)),
            Op::Store(Space::Packet, _, at, ..) => self.roots.push(*at),
            Op::Store(Space::Data, _, at, offset, value, _) => {
                if let Some(at) = func.constant(*at) {
                    let at = at as i64 + i64::from(*offset);
                    self.stores.push((at..at + i64::from(func.width(*value) / 8), *value));
                }
            }
            _ => {}
        }
    }

    /// What a branch compares, and that without its extension.
    fn test(&mut self, func: &Func, end: &Terminator) {
        let tested = match end {
            Terminator::Branch(condition, ..) => match func.op(*condition) {
                Some(Op::Cmp(CmpOp::Eq | CmpOp::Ne, x, y)) if func.constant(*y).is_some() => *x,
                _ => return,
            },
            Terminator::Switch(value, ..) | Terminator::SendBy(value, ..) => *value,
            _ => return,
        };
        self.tested.insert(tested);
        if let Some(Op::Zext(x)) = func.op(tested) {
            self.tested.insert(*x);
        }
    }
}
