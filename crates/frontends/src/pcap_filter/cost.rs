//! What evaluating a part of a filter costs, in simple instructions.

use super::ir::{Field, Ir, IrId, Node, SetId, Test, Value, ValueId};
use super::reads::operands;

/// What a branch costs that was guessed wrongly, in the units of [`cost`]: simple instructions.
pub(super) const WRONG_GUESS: u64 = 20;

/// What a node costs where all of it is evaluated: about the number of simple instructions.
pub(super) fn cost(ir: &Ir, id: IrId) -> u64 {
    match ir.node(id) {
        Node::Test(test) => test_cost(ir, ir.test(test)),
        Node::Not(inner) => cost(ir, inner),
        Node::Elem(elem) => cost(ir, ir.elem(elem).plain),
        // Any operand may be the last: the dearest tells.
        Node::Chain(first, rest) => ir.links(rest).iter().map(|link| cost(ir, link.1)).fold(cost(ir, first), u64::max),
        Node::Guarded { merged, .. } => cost(ir, merged),
        Node::ByLength { long, .. } => cost(ir, long),
        Node::List(list) => ir.lists[list.index()].shapes.iter().map(|shape| cost(ir, shape.merged)).sum(),
    }
}

fn test_cost(ir: &Ir, test: Test) -> u64 {
    let operands: u64 = operands(test).into_iter().map(|value| value_cost(ir, value)).sum();
    let own = match test {
        Test::Const(_) => 0,
        Test::Cmp(..) | Test::Captured(_) | Test::Assign(..) => 1,
        Test::Within(field, set) => load_cost(field) + set_cost(ir, set),
        Test::Geneve(_) => 8,
        Test::Readable(_) => 2,
        Test::Tuple(tuple) => ir.tuples[tuple.index()].fields.iter().map(|&(field, _)| load_cost(field)).sum::<u64>() + 12,
        Test::Rows(list) => 8 * ir.lists[list.index()].rows.len() as u64,
        Test::Scan(scan) => {
            let scan = &ir.scans[scan.index()];
            2 * (scan.rows.len() * scan.fields.len()) as u64
        }
        // A loop whose end depends on the packet.
        Test::Protochain(_) => 60,
    };
    operands + own
}

/// Comparisons; a bit of a word; a table in the cache; a table that the cache does not hold.
fn set_cost(ir: &Ir, set: SetId) -> u64 {
    match ir.sets[set.index()].len() {
        few @ 0..=4 => few as u64,
        5..=64 => 4,
        65..=4096 => 8,
        _ => 20,
    }
}

fn value_cost(ir: &Ir, id: ValueId) -> u64 {
    use super::ast::Arithop::{Div, Mod};
    match ir.value(id) {
        Value::Const(_) | Value::Last => 0,
        Value::Len | Value::Slot(_) => 1,
        Value::Load(field) => load_cost(field) + field.base.map_or(0, |base| value_cost(ir, base)),
        Value::Neg(a) => 1 + value_cost(ir, a),
        Value::Bin(op, a, b) => {
            let own = if matches!(op, Div | Mod) { 20 } else { 1 };
            own + value_cost(ir, a) + value_cost(ir, b)
        }
    }
}

/// A load and, where its place is not fixed, the test of the length that is made for it alone.
fn load_cost(field: Field) -> u64 {
    u64::from(field.bytes.div_ceil(8)) + if field.base.is_some() { 2 } else { 0 }
}
