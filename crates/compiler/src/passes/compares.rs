//! Compare merging.
//!
//! Idea: `a = 1 and b = 2`, fields of one header and failing to the same place, is one comparison
//! where the fields are neighbours: of eight bytes instead of two times four, or with a mask over
//! what lies between (`protocol = 6` and `fragment & 0x1fff = 0` are four bytes). The order of
//! tests does not matter, for nothing happens between them that could be seen. Source: LLVM's
//! MergeICmps; NetVM paper, section 5.1, on neighbouring fields. Phases: a walk over the dominator
//! tree with what is known of the packet's length; from each equality along the way on which tests
//! succeed, taking in those whose bytes fit a register with the first ones', if all bytes of the
//! wide load are known to lie in the packet there. Price: linear, [`REACH`] blocks for each
//! equality. Leaves out: code for lanes, which fetch more bytes at a time anyway and where a test
//! that few pass spares the others' work; functions that change the packet.

use super::Context;
use super::decisions::{follow, quiet};
use crate::analysis::effects::Writes;
use crate::analysis::lengths::Lengths;
use crate::analysis::ranges::max;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Edge, Extent, Func, Op, Order, Terminator, Type, Value};
use netil::ops::{BinOp, CmpOp, UnOp, mask};
use netil::table::Space;

/// Blocks looked at behind a test.
const REACH: usize = 16;
/// Bytes of the widest comparison.
const WIDEST: u32 = 8;

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    // A field may have been loaded long before it is compared; the wide load stands at the
    // comparison.
    if context.target.lanes || !Writes::new(func).keeps(Space::Packet) {
        return;
    }
    let cfg = Cfg::new(func);
    let enter = |lengths: &mut Lengths, b| {
        let mark = lengths.mark();
        lengths.enter(func, &cfg, b);
        lengths.pass(func, b);
        merge(func, context, &cfg, lengths, b);
        mark
    };
    cfg.walk(&mut Lengths::default(), enter, Lengths::back_to);
}

/// A branch that passes if bytes of the packet, as far as they count, are what they must be.
struct Test {
    addr: Value,
    site: u32,
    field: Field,
    pass: Edge,
    fail: Edge,
}

/// Bytes from an offset on, at most eight, the first in the lowest bits.
#[derive(Clone, Copy)]
struct Field {
    offset: u32,
    bytes: u32,
    mask: u64,
    value: u64,
}

impl Field {
    /// Both, if that fits.
    fn with(self, other: Self) -> Option<Self> {
        let offset = self.offset.min(other.offset);
        let end = (self.offset.checked_add(self.bytes)?).max(other.offset.checked_add(other.bytes)?);
        if end - offset > WIDEST {
            return None;
        }
        let (a, b) = (self.moved(offset), other.moved(offset));
        // Contradictions are left to fail one after the other.
        let agree = (a.value ^ b.value) & a.mask & b.mask == 0;
        agree.then_some(Self { offset, bytes: end - offset, mask: a.mask | b.mask, value: a.value | b.value })
    }

    /// These bytes counted from an earlier offset.
    fn moved(self, offset: u32) -> Self {
        let by = 8 * (self.offset - offset);
        Self { offset, bytes: self.bytes + by / 8, mask: self.mask << by, value: self.value << by }
    }
}

fn test(func: &Func, b: Block) -> Option<Test> {
    let Terminator::Branch(c, yes, no) = &func.block(b).end else { return None };
    let Op::Cmp(op @ (CmpOp::Eq | CmpOp::Ne), a, k) = func.op(*c)? else { return None };
    let k = func.constant(*k)?;
    let (mut v, mut m) = (*a, u64::MAX);
    loop {
        match func.op(v)? {
            Op::Zext(inner) => (v, m) = (*inner, m & mask(func.width(*inner).clamp(1, 64))),
            Op::Bin(BinOp::And, inner, k) => (v, m) = (*inner, m & func.constant(*k)?),
            _ => break,
        }
    }
    let Op::Load(Space::Packet, order, addr, offset, token) = func.op(v)? else { return None };
    let width = func.width(v);
    let site = match func.op(*token)? {
        Op::Check(_, extents) | Op::Proved(_, extents) => extents.first()?.site,
        _ => return None,
    };
    let m = m & mask(width.min(64));
    if !matches!(width, 8 | 16 | 32 | 64) || m == 0 || k & !m != 0 {
        return None;
    }
    // Lowest bits first, as a machine of little-endian order would load them.
    let turned = |x: u64| if *order == Order::Big { UnOp::Bswap.eval(width, x) } else { x };
    let field = Field { offset: *offset, bytes: u32::from(width / 8), mask: turned(m), value: turned(k) };
    let (pass, fail) = if *op == CmpOp::Eq { (yes, no) } else { (no, yes) };
    (pass != fail).then(|| Test { addr: *addr, site, field, pass: pass.clone(), fail: fail.clone() })
}

/// Takes what can be taken of the tests behind a block's into that.
fn merge(func: &mut Func, context: &Context<'_>, cfg: &Cfg, lengths: &Lengths, b: Block) {
    let Some(first) = test(func, b) else { return };
    let (mut field, mut taken) = (first.field, Vec::new());
    let mut way = first.pass.clone();
    for _ in 0..REACH {
        let next = way.block;
        if !follow(func, cfg, next) || !quiet(func, next) {
            break;
        }
        let behind = test(func, next).filter(|t| t.addr == first.addr && t.fail == first.fail);
        way = match &func.block(next).end {
            Terminator::Jump(e) => e.clone(),
            Terminator::Branch(_, yes, no) if *no == first.fail => yes.clone(),
            Terminator::Branch(_, yes, no) if *yes == first.fail => no.clone(),
            _ => break,
        };
        let Some(other) = behind else { continue };
        if let Some(both) = field.with(other.field).filter(|both| window(func, context, lengths, first.addr, *both).is_some()) {
            field = both;
            taken.push((next, other.pass));
        }
    }
    let Some(load) = window(func, context, lengths, first.addr, field).filter(|_| !taken.is_empty()) else { return };
    let masked = if load.mask == mask(8 * load.bytes as u16) { "" } else { ", masked" };
    context.note(|| format!("{} comparisons from {b:?} on: one of {} bytes at {}{masked}", taken.len() + 1, load.bytes, load.offset));
    put(func, context, b, &first, load);
    for (block, pass) in taken {
        func.block_mut(block).end = Terminator::Jump(pass);
    }
}

/// A load of 2, 4 or 8 bytes around a field that lies in the packet. Where loads must be aligned it
/// is one of up to 4, from a place that is: packets are known to be aligned to 4, and what is added
/// to a place is the length of headers, which are multiples of that.
fn window(func: &Func, context: &Context<'_>, lengths: &Lengths, addr: Value, field: Field) -> Option<Field> {
    let bytes = field.bytes.next_power_of_two();
    let (base, at) = match func.constant(addr) {
        Some(at) => (None, at),
        None => (Some(addr), 0),
    };
    let inside = |offset: u32| {
        let end = at + u64::from(offset) + u64::from(bytes);
        let wraps = base.map_or(0, |base| max(func, base)).saturating_add(end) > u64::from(u32::MAX);
        let aligned = !context.target.aligned || bytes <= 4 && (at + u64::from(offset) + 2).is_multiple_of(u64::from(bytes));
        !wraps && aligned && lengths.long_enough(func, base, end)
    };
    let before = field.offset.checked_sub(bytes - field.bytes);
    let offset = [Some(field.offset), before].into_iter().flatten().find(|offset| inside(*offset))?;
    Some(Field { bytes, ..field.moved(offset) })
}

/// Ends a block with that comparison.
fn put(func: &mut Func, context: &Context<'_>, b: Block, first: &Test, load: Field) {
    let width = 8 * load.bytes as u16;
    let ty = Type::Int(width);
    let turned = |x: u64| if context.target.order == Order::Big { UnOp::Bswap.eval(width, x) } else { x };
    let extent = Extent { addr: first.addr, offset: load.offset, size: load.bytes, site: first.site };
    let token = func.append(b, Type::Token, Op::Proved(Space::Packet, Box::new([extent])));
    let mut value = func.append(b, ty, Op::Load(Space::Packet, context.target.order, first.addr, load.offset, token));
    if load.mask != mask(width) {
        let mask = func.append(b, ty, Op::Const(turned(load.mask)));
        value = func.append(b, ty, Op::Bin(BinOp::And, value, mask));
    }
    let wanted = func.append(b, ty, Op::Const(turned(load.value)));
    let same = func.append(b, Type::Int(1), Op::Cmp(CmpOp::Eq, value, wanted));
    func.block_mut(b).end = Terminator::Branch(same, first.pass.clone(), first.fail.clone());
}
