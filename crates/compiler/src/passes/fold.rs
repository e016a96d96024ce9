//! Constant propagation and folding, algebraic simplification, reassociation.
//!
//! Idea: an operation on constants is its result; `x + 0` is `x`; `(x + 14) + 20` is `x + 34`; a
//! comparison of an extended field is one of the field; a comparison that the operands' bounds
//! decide is decided. Each rule is written `before → after`. Source: NetVM paper, section 4.2.
//! Phases: one walk in reverse postorder, operands first, each operation to a fixed point. Price:
//! linear.

use super::Context;
use super::rewrite::Replacements;
use crate::analysis::ranges::max;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Func, Op, Order, Type, Value};
use netil::ops::{BinOp, CmpOp, UnOp, mask, sign_extend};
use netil::table::Space;
use netil::wide;

/// Steps of simplification of one operation; each makes it smaller or moves a constant to the
/// right, so few suffice.
const STEPS: usize = 8;

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    let cfg = Cfg::new(func);
    let mut fold = Fold { replaced: Replacements::new(func), func, context, ops: Vec::new() };
    for b in &cfg.order {
        fold.block(*b);
    }
    let Fold { mut replaced, func, .. } = fold;
    replaced.apply(func);
}

struct Fold<'a, 'c> {
    func: &'a mut Func,
    context: &'a Context<'c>,
    replaced: Replacements,
    /// The operations of the block as they become.
    ops: Vec<Value>,
}

/// What an operation turns into.
enum New {
    /// Another operation of the same type.
    Op(Op),
    /// A value that is there already.
    Value(Value),
    /// A constant of the operation's type, of at most 64 bits.
    Const(u64),
    /// One of any width.
    Limbs(Vec<u64>),
}

impl Fold<'_, '_> {
    fn block(&mut self, b: Block) {
        for v in std::mem::take(&mut self.func.block_mut(b).ops) {
            self.replaced.apply_to(self.func, v);
            self.value(v);
        }
        let mut end = self.func.block(b).end.clone();
        end.map_values(|v| self.replaced.get(v));
        let data = self.func.block_mut(b);
        data.end = end;
        data.ops = std::mem::take(&mut self.ops);
    }

    fn value(&mut self, v: Value) {
        for _ in 0..STEPS {
            let Def::Op(op) = self.func.values[v.0 as usize].def.clone() else { break };
            match self.simplify(v, &op) {
                None => break,
                Some(New::Op(op)) => self.func.set_op(v, op),
                Some(New::Value(same)) => return self.replaced.set(v, same),
                Some(New::Const(c)) => {
                    self.func.set_op(v, Op::Const(c));
                    break;
                }
                Some(New::Limbs(limbs)) => {
                    let op = if let [small] = limbs[..] { Op::Const(small) } else { Op::WideConst(limbs.into()) };
                    self.func.set_op(v, op);
                    break;
                }
            }
        }
        self.ops.push(v);
    }

    fn emit(&mut self, width: u16, op: Op) -> Value {
        let v = self.func.new_value(Type::Int(width), Def::Op(op));
        self.ops.push(v);
        v
    }

    fn constant(&self, v: Value) -> Option<u64> {
        self.func.constant(v)
    }

    fn limbs(&self, v: Value) -> Option<Vec<u64>> {
        match self.func.op(v)? {
            Op::Const(c) => Some(vec![*c]),
            Op::WideConst(limbs) => Some(limbs.to_vec()),
            _ => None,
        }
    }

    fn simplify(&mut self, v: Value, op: &Op) -> Option<New> {
        let width = self.func.width(v);
        match op {
            Op::Bin(op, a, b) => self.bin(width, *op, *a, *b),
            Op::Div(op, a, b, _) => {
                let (x, y) = (self.limbs(*a)?, self.limbs(*b)?);
                wide::bin(*op, width, &x, &y).map(New::Limbs)
            }
            Op::Un(op, a) => self.un(width, *op, *a),
            Op::Cmp(op, a, b) => self.cmp(*op, *a, *b),
            Op::Zext(a) | Op::Sext(a) => self.extend(width, *a, matches!(op, Op::Sext(_))),
            Op::Trunc(a) => self.trunc(width, *a),
            Op::Slice(a, low) => self.slice(width, *a, *low),
            Op::Concat(high, low) => self.concat(width, *high, *low),
            Op::Select(c, a, b) => self.select(*c, *a, *b),
            Op::Load(Space::Initialised, order, at, offset, _) => self.initialised(width, *order, *at, *offset),
            Op::SetHas(set, a) => {
                let value = self.limbs(*a)?;
                Some(New::Const(self.func.set(self.context.program.module(), *set).contains(&value).into()))
            }
            _ => None,
        }
    }

    /// `init[c] → the number there`, for nobody writes to it.
    fn initialised(&self, width: u16, order: Order, at: Value, offset: u32) -> Option<New> {
        let at = usize::try_from(self.constant(at)?.checked_add(offset.into())?).ok()?;
        let bytes = self.context.program.module().data.get(at..)?.get(..usize::from(width / 8))?;
        Some(New::Limbs(if order == Order::Big { wide::from_be_bytes(bytes) } else { wide::from_le_bytes(bytes) }))
    }

    fn bin(&mut self, width: u16, op: BinOp, a: Value, b: Value) -> Option<New> {
        if let (Some(x), Some(y)) = (self.limbs(a), self.limbs(b)) {
            return wide::bin(op, width, &x, &y).map(New::Limbs);
        }
        if self.limbs(a).is_some() && op.commutes() {
            return Some(New::Op(Op::Bin(op, b, a)));
        }
        if a == b {
            match op {
                BinOp::Sub | BinOp::Xor => return Some(New::Limbs(vec![0; wide::limbs(width)])),
                BinOp::And | BinOp::Or => return Some(New::Value(a)),
                _ => {}
            }
        }
        let c = self.constant(b)?;
        if width > 64 {
            return (c == 0 && op.is_shift()).then_some(New::Value(a));
        }
        self.bin_constant(width, op, a, c).or_else(|| self.reassociate(width, op, a, c))
    }

    /// `x op c`
    fn bin_constant(&mut self, width: u16, op: BinOp, a: Value, c: u64) -> Option<New> {
        let ones = mask(width);
        Some(match (op, c) {
            // x + 0, x − 0, x | 0, x ^ 0, x << 0 … → x
            (BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor, 0) => New::Value(a),
            (op, 0) if op.is_shift() => New::Value(a),
            (BinOp::AddSatU | BinOp::AddSatS | BinOp::SubSatU | BinOp::SubSatS, 0) => New::Value(a),
            // x · 1 → x;  x · 0, x & 0 → 0;  x · 2^k → x << k
            (BinOp::Mul, 1) => New::Value(a),
            (BinOp::Mul | BinOp::And, 0) => New::Const(0),
            (BinOp::Mul, c) if c.is_power_of_two() => {
                let by = self.emit(32, Op::Const(c.ilog2().into()));
                New::Op(Op::Bin(BinOp::Shl, a, by))
            }
            // x & m → x where m covers all bits that x can have
            (BinOp::And, c) if c == ones || covers(max(self.func, a), c) => New::Value(a),
            (BinOp::Or, c) if c == ones => New::Const(ones),
            // x − c → x + (−c)
            (BinOp::Sub, c) => {
                let negative = self.emit(width, Op::Const(c.wrapping_neg() & ones));
                New::Op(Op::Bin(BinOp::Add, a, negative))
            }
            (BinOp::And, c) => return self.and_narrow(a, c),
            _ => return None,
        })
    }

    /// `zext(x) & c → zext(x & c)`
    fn and_narrow(&mut self, a: Value, c: u64) -> Option<New> {
        let Some(Op::Zext(x)) = self.func.op(a).cloned() else { return None };
        let narrow = self.func.width(x);
        let c = self.emit(narrow, Op::Const(c & mask(narrow)));
        Some(New::Op(Op::Zext(self.emit(narrow, Op::Bin(BinOp::And, x, c)))))
    }

    /// `(x op c1) op c2 → x op (c1 op c2)`
    fn reassociate(&mut self, width: u16, op: BinOp, a: Value, c: u64) -> Option<New> {
        let Some(Op::Bin(inner, x, y)) = self.func.op(a).cloned() else { return None };
        let first = self.constant(y).filter(|_| inner == op)?;
        let both = match op {
            BinOp::Add | BinOp::Mul | BinOp::And | BinOp::Or | BinOp::Xor => op.eval(width, first, c)?,
            BinOp::Shl | BinOp::UShr if first < width.into() && c < width.into() => first + c,
            _ => return None,
        };
        let right = self.emit(if op.is_shift() { 32 } else { width }, Op::Const(both));
        Some(New::Op(Op::Bin(op, x, right)))
    }

    fn un(&mut self, width: u16, op: UnOp, a: Value) -> Option<New> {
        if let Some(x) = self.limbs(a) {
            return Some(New::Limbs(wide::un(op, width, &x)));
        }
        match (op, self.func.op(a)?) {
            // ¬(a = b) → a ≠ b
            (UnOp::Not, Op::Cmp(cmp, x, y)) if width == 1 => Some(New::Op(Op::Cmp(cmp.negated(), *x, *y))),
            // an operation that undoes itself
            (UnOp::Not | UnOp::Neg | UnOp::Bswap, Op::Un(inner, x)) if *inner == op => Some(New::Value(*x)),
            _ => None,
        }
    }

    fn cmp(&mut self, op: CmpOp, a: Value, b: Value) -> Option<New> {
        let width = self.func.width(a);
        if let (Some(x), Some(y)) = (self.limbs(a), self.limbs(b)) {
            return Some(New::Const(wide::cmp(op, width, &x, &y).into()));
        }
        if a == b {
            let equal = std::cmp::Ordering::Equal;
            return Some(New::Const(op.holds(equal, equal).into()));
        }
        if self.limbs(a).is_some() {
            return Some(New::Op(Op::Cmp(op.swapped(), b, a)));
        }
        if width > 64 {
            return None;
        }
        let Some(c) = self.constant(b) else { return self.cmp_bounds(op, a, b) };
        self.cmp_flag(op, a, c).or_else(|| self.cmp_narrow(op, a, c)).or_else(|| self.cmp_constant(width, op, a, c))
    }

    /// Comparisons of an i1, which are the i1 or its complement.
    fn cmp_flag(&mut self, op: CmpOp, a: Value, c: u64) -> Option<New> {
        if self.func.width(a) != 1 {
            return None;
        }
        match (op, c) {
            (CmpOp::Ne, 0) | (CmpOp::Eq, 1) => Some(New::Value(a)),
            (CmpOp::Eq, 0) | (CmpOp::Ne, 1) => Some(New::Op(Op::Un(UnOp::Not, a))),
            _ => None,
        }
    }

    /// `zext(x) op c → x op c` where c fits x, else the answer.
    fn cmp_narrow(&mut self, op: CmpOp, a: Value, c: u64) -> Option<New> {
        let Some(Op::Zext(x)) = self.func.op(a).cloned() else { return None };
        let (wide, narrow) = (self.func.width(a), self.func.width(x));
        let unsigned = unsigned(op);
        let negative = sign_extend(wide, c) < 0;
        if unsigned != op && negative {
            // a signed comparison of a value that is not negative with one that is
            return Some(New::Const(op.holds(std::cmp::Ordering::Less, std::cmp::Ordering::Greater).into()));
        }
        if c > mask(narrow) {
            let less = std::cmp::Ordering::Less;
            return Some(New::Const(unsigned.holds(less, less).into()));
        }
        let c = self.emit(narrow, Op::Const(c));
        Some(New::Op(Op::Cmp(unsigned, x, c)))
    }

    /// Comparisons with a constant that the bounds of x decide or that are equalities in disguise.
    fn cmp_constant(&mut self, width: u16, op: CmpOp, a: Value, c: u64) -> Option<New> {
        let most = max(self.func, a);
        let decided = match op {
            CmpOp::Lt if most < c => Some(true),
            CmpOp::Le if most <= c => Some(true),
            CmpOp::Gt if most <= c => Some(false),
            CmpOp::Ge if most < c => Some(false),
            CmpOp::Lt if c == 0 => Some(false),
            CmpOp::Ge if c == 0 => Some(true),
            CmpOp::Eq if most < c => Some(false),
            CmpOp::Ne if most < c => Some(true),
            _ => None,
        };
        if let Some(answer) = decided {
            return Some(New::Const(answer.into()));
        }
        let (op, c) = match (op, c) {
            (CmpOp::Lt, 1) | (CmpOp::Le, 0) => (CmpOp::Eq, 0),
            (CmpOp::Gt, 0) | (CmpOp::Ge, 1) => (CmpOp::Ne, 0),
            _ => return None,
        };
        let c = self.emit(width, Op::Const(c));
        Some(New::Op(Op::Cmp(op, a, c)))
    }

    /// `zext(x) op zext(y) → x op y` for fields of one width.
    fn cmp_bounds(&mut self, op: CmpOp, a: Value, b: Value) -> Option<New> {
        match (self.func.op(a)?, self.func.op(b)?) {
            (Op::Zext(x), Op::Zext(y)) if self.func.width(*x) == self.func.width(*y) => Some(New::Op(Op::Cmp(unsigned(op), *x, *y))),
            _ => None,
        }
    }

    fn extend(&mut self, width: u16, a: Value, signed: bool) -> Option<New> {
        let from = self.func.width(a);
        if let Some(x) = self.limbs(a) {
            return Some(New::Limbs(wide::resize(from, width, signed, &x)));
        }
        match (self.func.op(a)?, signed) {
            // the top bit of an extension with zeros is zero
            (Op::Zext(x), _) => Some(New::Op(Op::Zext(*x))),
            (Op::Sext(x), true) => Some(New::Op(Op::Sext(*x))),
            _ => None,
        }
    }

    fn trunc(&mut self, width: u16, a: Value) -> Option<New> {
        if let Some(x) = self.limbs(a) {
            return Some(New::Limbs(wide::resize(self.func.width(a), width, false, &x)));
        }
        let inner = |x: Value| self.func.width(x).cmp(&width);
        match self.func.op(a)? {
            Op::Zext(x) | Op::Sext(x) if inner(*x).is_eq() => Some(New::Value(*x)),
            Op::Zext(x) | Op::Sext(x) | Op::Trunc(x) if inner(*x).is_gt() => Some(New::Op(Op::Trunc(*x))),
            Op::Zext(x) => Some(New::Op(Op::Zext(*x))),
            Op::Sext(x) => Some(New::Op(Op::Sext(*x))),
            _ => None,
        }
    }

    fn slice(&mut self, width: u16, a: Value, low: u16) -> Option<New> {
        let from = self.func.width(a);
        if let Some(x) = self.limbs(a) {
            return Some(New::Limbs(wide::slice(from, &x, low + width - 1, low)));
        }
        match low {
            0 if width == from => Some(New::Value(a)),
            0 => Some(New::Op(Op::Trunc(a))),
            _ => match self.func.op(a)? {
                // (x ‖ y)[of x] → x[…],  (x ‖ y)[of y] → y[…]
                Op::Concat(x, y) if low >= self.func.width(*y) => Some(New::Op(Op::Slice(*x, low - self.func.width(*y)))),
                Op::Concat(_, y) if low + width <= self.func.width(*y) => Some(New::Op(Op::Slice(*y, low))),
                _ => None,
            },
        }
    }

    /// `x[high] ‖ x[low] → x[both]`, of neighbouring bits
    fn concat(&mut self, width: u16, high: Value, low: Value) -> Option<New> {
        if let (Some(h), Some(l)) = (self.limbs(high), self.limbs(low)) {
            return Some(New::Limbs(wide::concat(self.func.width(high), &h, self.func.width(low), &l)));
        }
        let part = |v: Value| match self.func.op(v) {
            Some(Op::Slice(x, at)) => (*x, *at),
            Some(Op::Trunc(x)) => (*x, 0),
            _ => (v, 0),
        };
        let ((x, above), (y, at)) = (part(high), part(low));
        match x == y && above == at + self.func.width(low) {
            true if at == 0 && width == self.func.width(x) => Some(New::Value(x)),
            true => Some(New::Op(Op::Slice(x, at))),
            false => None,
        }
    }

    fn select(&mut self, c: Value, a: Value, b: Value) -> Option<New> {
        match self.constant(c) {
            Some(c) => Some(New::Value(if c == 1 { a } else { b })),
            None if a == b => Some(New::Value(a)),
            // c ? 1 : 0 → zext(c)
            None if self.constant(a) == Some(1) && self.constant(b) == Some(0) && self.func.width(a) > 1 => Some(New::Op(Op::Zext(c))),
            None => None,
        }
    }
}

/// True if the mask keeps every bit of the values up to `most`.
fn covers(most: u64, mask: u64) -> bool {
    let bits = most.checked_ilog2().map_or(0, |top| u64::MAX >> (63 - top));
    bits & !mask == 0
}

/// The comparison of values that are not negative.
fn unsigned(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lts => CmpOp::Lt,
        CmpOp::Les => CmpOp::Le,
        CmpOp::Gts => CmpOp::Gt,
        CmpOp::Ges => CmpOp::Ge,
        other => other,
    }
}
