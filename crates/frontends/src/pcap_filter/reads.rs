//! What terms of the filter language read, and how large a number a value may be.

use super::ir::{Field, Ir, Scan, Test, Value, ValueId};

/// Fields that a test reads for certain, or not at all.
pub(crate) fn reads(ir: &Ir, test: Test, each: &mut impl FnMut(Field)) {
    for value in operands(test) {
        value_reads(ir, value, each);
    }
    match test {
        Test::Within(field, _) => each(field),
        Test::Tuple(tuple) => {
            for &(field, _) in &ir.tuples[tuple.index()].fields {
                field.base.into_iter().for_each(|base| value_reads(ir, base, each));
                each(field);
            }
        }
        Test::Protochain(chain) => {
            let offset = chain.header.wrapping_add(if chain.v6 { 6 } else { 9 });
            each(Field { base: None, offset, bytes: 1 });
        }
        Test::Scan(scan) => {
            let scan = &ir.scans[scan.index()];
            scan.fields.first().map(|&field| Scan::words(field)[0]).into_iter().for_each(each);
        }
        _ => {}
    }
}

pub(crate) fn value_reads(ir: &Ir, id: ValueId, each: &mut impl FnMut(Field)) {
    match ir.value(id) {
        Value::Load(field) => {
            if let Some(base) = field.base {
                value_reads(ir, base, each);
            }
            each(field);
        }
        Value::Bin(_, a, b) => {
            value_reads(ir, a, each);
            value_reads(ir, b, each);
        }
        Value::Neg(a) => value_reads(ir, a, each),
        Value::Const(_) | Value::Len | Value::Slot(_) | Value::Last => {}
    }
}

/// An upper bound of a value.
pub(crate) fn greatest(ir: &Ir, id: ValueId) -> u32 {
    use super::ast::Arithop::{Add, And, Div, Mod, Mul, Shl, Shr};
    match ir.value(id) {
        Value::Const(c) => c,
        Value::Load(field) if field.bytes < 4 => (1 << (8 * u32::from(field.bytes))) - 1,
        Value::Bin(op, a, b) => {
            let (a, b) = (greatest(ir, a), greatest(ir, b));
            match op {
                And => a.min(b),
                Add => a.saturating_add(b),
                Mul => a.saturating_mul(b),
                Shl if b < 32 && a.leading_zeros() >= b => a << b,
                Shr | Div => a,
                Mod => a.min(b.saturating_sub(1)),
                _ => u32::MAX,
            }
        }
        _ => u32::MAX,
    }
}

/// The bits that a value may have.
pub(super) fn bits(ir: &Ir, id: ValueId) -> u32 {
    use super::ast::Arithop::{And, Or, Shl, Shr, Xor};
    let below = |most: u32| u32::MAX.checked_shr(most.leading_zeros()).unwrap_or(0);
    match ir.value(id) {
        Value::Const(c) => c,
        Value::Bin(And, a, b) => bits(ir, a) & bits(ir, b),
        Value::Bin(Or | Xor, a, b) => bits(ir, a) | bits(ir, b),
        Value::Bin(op @ (Shl | Shr), a, b) => match (ir.value(b), op) {
            (Value::Const(by), Shl) => bits(ir, a).checked_shl(by).unwrap_or(0),
            (Value::Const(by), _) => bits(ir, a).checked_shr(by).unwrap_or(0),
            _ => u32::MAX,
        },
        _ => below(greatest(ir, id)),
    }
}

/// A value without the constant that masks it, and that.
pub(super) fn masked(ir: &Ir, id: ValueId) -> (ValueId, u32) {
    use super::ast::Arithop::And;
    match ir.value(id) {
        Value::Bin(And, a, b) => match (ir.value(a), ir.value(b)) {
            (_, Value::Const(mask)) => (a, mask),
            (Value::Const(mask), _) => (b, mask),
            _ => (id, u32::MAX),
        },
        _ => (id, u32::MAX),
    }
}

/// Values whose evaluation a test begins with; fields of [`Test::Within`] and [`Test::Tuple`]
/// apart.
pub(crate) fn operands(test: Test) -> Vec<ValueId> {
    match test {
        Test::Cmp(a, _, b) => vec![a, b],
        Test::Within(field, _) | Test::Readable(field) => field.base.into_iter().collect(),
        Test::Assign(_, value) => vec![value],
        Test::Geneve(geneve) => vec![geneve.header],
        Test::Const(_) | Test::Tuple(_) | Test::Scan(_) | Test::Rows(_) | Test::Captured(_) | Test::Protochain(_) => Vec::new(),
    }
}

/// True if evaluating the value may end at once for another reason than a short packet.
pub(crate) fn divides(ir: &Ir, id: ValueId) -> bool {
    use super::ast::Arithop::{Div, Mod};
    match ir.value(id) {
        Value::Bin(op, a, b) => {
            let zero = matches!(op, Div | Mod) && !matches!(ir.value(b), Value::Const(1..));
            zero || divides(ir, a) || divides(ir, b)
        }
        Value::Neg(a) => divides(ir, a),
        Value::Load(field) => field.base.is_some_and(|base| divides(ir, base)),
        Value::Const(_) | Value::Len | Value::Slot(_) | Value::Last => false,
    }
}
