//! Load widening.
//!
//! Idea: a number that is put together of bytes, halves or words loaded from neighbouring places
//! (`b[0] << 8 | b[1]`) is one load, in the order in which they were put together. Which byte of
//! memory each byte of a value is is followed through shifts, masks, extensions, `or`, `xor` and
//! `add` of what does not overlap. Source: the "load combine" and "bswap" passes of LLVM and GCC.
//! Phases: for each root, the bytes it is made of; where they are neighbours, the load. Who uses
//! the old ones keeps them. Price: linear, [`REACH`] operations behind a root. Leaves out: memory
//! that the function writes to, and widths that the target has no register for.

use super::Context;
use crate::analysis::effects::Writes;
use crate::mir::{Def, Extent, Func, Op, Order, Type, Value};
use netil::ops::BinOp;
use netil::table::Space;

/// Operations looked at behind a root.
const REACH: u32 = 64;

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    let written = Writes::new(func);
    let mut found = 0;
    for b in func.block_ids() {
        let mut ops = Vec::new();
        for v in std::mem::take(&mut func.block_mut(b).ops) {
            if let Some(wide) = root(func, context, &written, v) {
                replace(func, v, &wide, &mut ops);
                found += 1;
            }
            ops.push(v);
        }
        func.block_mut(b).ops = ops;
    }
    if found > 0 {
        context.note(|| format!("{found} numbers put together of neighbouring bytes are loaded at once"));
    }
}

/// What a byte of a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Byte {
    Zero,
    /// The byte at that offset from an address, read by that load.
    Memory(Space, Value, u32, Value),
}

/// The load that a value is, shifted.
struct Wide {
    space: Space,
    order: Order,
    addr: Value,
    offset: u32,
    bytes: u32,
    shift: u16,
    token: Option<Value>,
}

/// The load that a value of several loads can be.
fn root(func: &Func, context: &Context<'_>, written: &Writes, v: Value) -> Option<Wide> {
    let width = func.width(v);
    if !matches!(func.op(v), Some(Op::Bin(BinOp::Or | BinOp::Xor | BinOp::Add, ..))) || !matches!(width, 16 | 32 | 64) {
        return None;
    }
    let bytes = bytes(func, v, &mut { REACH })?;
    let first = bytes.iter().position(|b| *b != Byte::Zero)?;
    let last = bytes.iter().rposition(|b| *b != Byte::Zero)?;
    let size = (last + 1 - first) as u32;
    let mut places = Vec::new();
    for b in &bytes[first..=last] {
        let Byte::Memory(space, addr, offset, load) = *b else { return None };
        places.push((space, addr, offset, load));
    }
    let (space, addr, low, load) = places[0];
    let several = places.iter().any(|p| p.3 != load) && places.iter().all(|p| (p.0, p.1) == (space, addr));
    let order = order(&places.iter().map(|p| p.2).collect::<Vec<_>>())?;
    let fits = matches!(size, 2 | 4 | 8) && 8 * size <= context.target.word.into() && written.keeps(space);
    let tokens: Vec<Option<Value>> = places.iter().map(|p| token(func, p.3)).collect();
    let token = tokens[0].filter(|_| tokens.iter().all(|t| *t == tokens[0]));
    let offset = if order == Order::Little { low } else { low + 1 - size };
    (several && fits).then_some(Wide { space, order, addr, offset, bytes: size, shift: 8 * first as u16, token })
}

/// The order in which offsets follow each other, the least significant byte's first.
fn order(offsets: &[u32]) -> Option<Order> {
    let pairs = || offsets.windows(2).map(|w| (w[0], w[1]));
    match () {
        () if pairs().all(|(low, high)| low.checked_add(1) == Some(high)) => Some(Order::Little),
        () if pairs().all(|(low, high)| high.checked_add(1) == Some(low)) => Some(Order::Big),
        () => None,
    }
}

fn token(func: &Func, load: Value) -> Option<Value> {
    match func.op(load) {
        Some(Op::Load(.., token)) => Some(*token),
        _ => None,
    }
}

/// The bytes of a value, the least significant first; none if one of them is something else.
fn bytes(func: &Func, v: Value, reach: &mut u32) -> Option<Vec<Byte>> {
    let width = func.width(v);
    *reach = reach.checked_sub(1)?;
    if !width.is_multiple_of(8) || !(8..=64).contains(&width) {
        return None;
    }
    let n = usize::from(width / 8);
    let mut of = |v: Value| bytes(func, v, reach);
    let by = |v: Value| func.constant(v).filter(|c| c.is_multiple_of(8)).map(|c| (c / 8) as isize);
    match func.op(v)? {
        Op::Const(0) => Some(vec![Byte::Zero; n]),
        Op::Load(space, order, addr, offset, _) => {
            let place = |i: usize| if *order == Order::Little { i } else { n - 1 - i } as u32;
            (0..n).map(|i| Some(Byte::Memory(*space, *addr, offset.checked_add(place(i))?, v))).collect()
        }
        Op::Zext(a) | Op::Trunc(a) => Some(moved(&of(*a)?, 0, n)),
        Op::Bin(BinOp::Shl, a, k) => Some(moved(&of(*a)?, -by(*k)?, n)),
        Op::Bin(BinOp::UShr, a, k) => Some(moved(&of(*a)?, by(*k)?, n)),
        Op::Bin(BinOp::And, a, m) => kept(&of(*a)?, func.constant(*m)?),
        Op::Bin(BinOp::Or | BinOp::Xor | BinOp::Add, a, b) => joined(&of(*a)?, &of(*b)?),
        _ => None,
    }
}

/// That many bytes from place `from` on; beyond the ends there are zeros.
fn moved(bytes: &[Byte], from: isize, n: usize) -> Vec<Byte> {
    let at = |i: usize| bytes.get(i.checked_add_signed(from)?).copied();
    (0..n).map(|i| at(i).unwrap_or(Byte::Zero)).collect()
}

/// Makes the value that load; what it needs goes before it.
fn replace(func: &mut Func, v: Value, wide: &Wide, before: &mut Vec<Value>) {
    let mut emit = |func: &mut Func, ty: Type, op: Op| {
        let v = func.new_value(ty, Def::Op(op));
        before.push(v);
        v
    };
    let token = wide.token.unwrap_or_else(|| {
        // The loads that were there say that the bytes are.
        let extent = Extent { addr: wide.addr, offset: wide.offset, size: wide.bytes, site: 0 };
        emit(func, Type::Token, Op::Proved(wide.space, Box::new([extent])))
    });
    let load = Op::Load(wide.space, wide.order, wide.addr, wide.offset, token);
    let (narrow, width) = (8 * wide.bytes as u16, func.width(v));
    if narrow == width {
        return func.set_op(v, load);
    }
    let load = emit(func, Type::Int(narrow), load);
    if wide.shift == 0 {
        return func.set_op(v, Op::Zext(load));
    }
    let wider = emit(func, Type::Int(width), Op::Zext(load));
    let by = emit(func, Type::Int(32), Op::Const(wide.shift.into()));
    func.set_op(v, Op::Bin(BinOp::Shl, wider, by));
}

/// Bytes under a mask that keeps or clears whole ones.
fn kept(bytes: &[Byte], mask: u64) -> Option<Vec<Byte>> {
    let one = |(byte, mask): (&Byte, u8)| match mask {
        0xff => Some(*byte),
        0 => Some(Byte::Zero),
        _ => None,
    };
    bytes.iter().zip(mask.to_le_bytes()).map(one).collect()
}

/// Bytes of two values of which one is zero in each place.
fn joined(a: &[Byte], b: &[Byte]) -> Option<Vec<Byte>> {
    let one = |(a, b): (&Byte, &Byte)| match (a, b) {
        (byte, Byte::Zero) | (Byte::Zero, byte) => Some(*byte),
        _ => None,
    };
    a.iter().zip(b).map(one).collect()
}
