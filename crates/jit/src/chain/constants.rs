//! Handlers that differ in constants alone, as those of elements with other arguments do: one
//! handler for all, which reads what differs behind the member's initialised memory.
//!
//! Invariant: what the handler reads there is what the member's own has as a constant. Source:
//! function merging with parameters, as in LLVM's MergeFunctions and Koopman, Falk, "Merging
//! Similar Functions" (2014). Leaves out: constants of more than 64 bits, or whose bits are no
//! whole bytes; other differences.

use compiler::mir::{Def, Extent, Func, Op, Order, Type, Value};
use netil::table::Space;

/// Bytes for each constant.
const ROOM: usize = 8;

/// Whether two handlers do the same but for constants.
pub(super) fn are_alike(one: &Func, other: &Func) -> bool {
    let ops = one.blocks.iter().flat_map(|block| &block.ops);
    one.blocks == other.blocks
        && one.sets == other.sets
        && one.blocks.iter().flat_map(|block| &block.params).all(|v| one.ty(*v) == other.ty(*v))
        && ops
            .into_iter()
            .all(|v| one.ty(*v) == other.ty(*v) && (one.op(*v) == other.op(*v) || [one, other].iter().all(|func| is_read(func, *v))))
}

/// Whether an operation is a constant that can be read instead.
fn is_read(func: &Func, v: Value) -> bool {
    matches!((func.op(v), func.ty(v)), (Some(Op::Const(_)), Type::Int(width @ ..=64)) if width % 8 == 0)
}

/// A handler for several that are alike, of programs with so many bytes of initialised memory; and
/// by handler what lies behind that.
pub(super) fn shared(funcs: &[&Func], initialised: usize) -> (Func, Vec<Vec<u8>>) {
    let (mut func, mut behind) = (funcs[0].clone(), vec![Vec::new(); funcs.len()]);
    for block in func.block_ids() {
        let mut ops = Vec::new();
        for v in std::mem::take(&mut func.block_mut(block).ops) {
            let values: Vec<u64> = funcs.iter().filter_map(|func| func.constant(v)).collect();
            if values.windows(2).any(|pair| pair[0] != pair[1]) {
                ops.extend(read(&mut func, v, initialised + behind[0].len()));
                behind.iter_mut().zip(values).for_each(|(bytes, value)| bytes.extend(value.to_le_bytes()));
            }
            ops.push(v);
        }
        func.block_mut(block).ops = ops;
    }
    debug_assert!(behind.iter().all(|bytes| bytes.len().is_multiple_of(ROOM)));
    (func, behind)
}

/// Makes a constant a load from a place of initialised memory: gives what comes before it.
fn read(func: &mut Func, v: Value, at: usize) -> [Value; 2] {
    let addr = func.new_value(Type::Int(32), Def::Op(Op::Const(0)));
    let (offset, size) = (at as u32, u32::from(func.width(v) / 8));
    let extent = Extent { addr, offset, size, site: 0 };
    let token = func.new_value(Type::Token, Def::Op(Op::Proved(Space::Initialised, [extent].into())));
    func.set_op(v, Op::Load(Space::Initialised, Order::Little, addr, offset, token));
    [addr, token]
}
