//! Expressions: scalars on the stack, all else into places.

use super::place::{Leaf, StorageLocation};
use super::{Binding, Lower, Lowered, fault};
use crate::ast::{Aggregate, BinOp, UnOp};
use crate::hir::{Builtin, Callee, Expr, ExprKind, Type};
use netil::table::Op;
use num_bigint::BigInt;

impl Lower<'_> {
    fn signed(&self, ty: &Type) -> bool {
        matches!(self.program.underlying(&self.resolve(ty)), Type::Int(_))
    }

    /// Pushes a scalar; what it is.
    pub(super) fn value(&mut self, e: &Expr) -> Lowered<Leaf> {
        self.at(e.span);
        let leaf = self.scalar(&e.ty, e.span)?;
        match &e.kind {
            ExprKind::Bool(b) => self.code.push(u32::from(*b)),
            ExprKind::Int(n) => self.code.constant(n, leaf.width()),
            ExprKind::Default => self.code.constant(&BigInt::ZERO, leaf.width()),
            ExprKind::Var(var) => match self.bindings.get(var).cloned() {
                Some(Binding::Const(value)) => return self.value(&value),
                _ => self.load(e)?,
            },
            ExprKind::Member(..) | ExprKind::Index(..) | ExprKind::Next(_) | ExprKind::Last(_) => self.load(e)?,
            ExprKind::LastIndex(of) => {
                let of = self.place(of)?;
                let next = self.next_index(&of, e.span)?;
                self.load_leaf(&of, next, Leaf::Next);
                self.code.op(Op::Dec1);
            }
            ExprKind::Slice(of, high, low) => {
                let width = self.value(of)?.width();
                self.code.op3(Op::WSlice, u32::from(width), *high, *low);
            }
            ExprKind::Part(of, low) => {
                let width = self.value(of)?.width();
                self.amount(low)?;
                self.code.w(Op::WUShr, width);
                self.code.resize(width, leaf.width());
            }
            ExprKind::Unary(op, of) => self.unary(*op, of)?,
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e)?,
            ExprKind::Ternary(condition, yes, no) => {
                let result = self.code.temp(leaf.width());
                let (other, end) = (self.code.label(), self.code.label());
                self.value(condition)?;
                self.code.branch(Op::JEq, other);
                self.value(yes)?;
                self.code.set(result);
                self.code.jump(end);
                self.code.bind(other);
                self.value(no)?;
                self.code.set(result);
                self.code.bind(end);
                self.code.get(result);
                self.code.release(result);
            }
            ExprKind::Cast(of) => self.cast(of, e)?,
            ExprKind::Call { .. } => self.call(e)?,
            ExprKind::Hit(table, hit) => {
                self.apply_table(*table, e.span)?;
                let local = self.table_results(*table).0;
                self.code.get(local);
                if !hit {
                    self.code.push(1);
                    self.code.op(Op::Xor);
                }
            }
            ExprKind::Fields(_) => {
                let place = self.held(e)?;
                self.load_leaf(&place, 0, leaf);
            }
            _ => return fault(e.span, "this value is not supported here"),
        }
        Ok(leaf)
    }

    fn load(&mut self, e: &Expr) -> Lowered<()> {
        let place = self.place(e)?;
        let leaf = self.scalar(&place.ty, e.span)?;
        self.load_leaf(&place, 0, leaf);
        Ok(())
    }

    /// A shift's amount in 32 bits, however wide it is.
    pub(super) fn amount(&mut self, e: &Expr) -> Lowered<()> {
        if let ExprKind::Int(n) = &e.kind {
            use num_traits::ToPrimitive;
            self.code.push(n.to_u32().unwrap_or(u32::MAX));
            return Ok(());
        }
        let width = self.value(e)?.width();
        if width <= 32 {
            self.code.resize(width, 32);
            return Ok(());
        }
        let temp = self.code.temp(width);
        self.code.set(temp);
        self.code.get(temp);
        self.code.constant(&BigInt::from(u32::MAX), width);
        self.code.w(Op::WLt, width);
        self.code.get(temp);
        self.code.resize(width, 32);
        self.code.push(u32::MAX);
        self.code.w(Op::WSelect, 32);
        self.code.release(temp);
        Ok(())
    }

    fn unary(&mut self, op: UnOp, of: &Expr) -> Lowered<()> {
        let width = self.value(of)?.width();
        match op {
            UnOp::Not => {
                self.code.push(1);
                self.code.op(Op::Xor);
            }
            UnOp::Complement => self.code.w(Op::WNot, width),
            UnOp::Neg => self.code.w(Op::WNeg, width),
            UnOp::Plus => {}
        }
        Ok(())
    }

    fn binary(&mut self, op: BinOp, a: &Expr, b: &Expr, e: &Expr) -> Lowered<()> {
        match op {
            BinOp::And | BinOp::Or => return self.short_circuit(op == BinOp::And, a, b),
            BinOp::Eq | BinOp::Ne if self.leaves(&a.ty, e.span)?.len() != 1 || matches!(self.leaves(&a.ty, e.span)?[0], Leaf::Valid) => {
                let (a, b) = (self.held(a)?, self.held(b)?);
                self.equal(&a, &b, e)?;
                if op == BinOp::Ne {
                    self.code.push(1);
                    self.code.op(Op::Xor);
                }
                return Ok(());
            }
            _ => {}
        }
        let width = self.value(a)?.width();
        let right = match op {
            BinOp::Shl | BinOp::Shr => {
                self.amount(b)?;
                32
            }
            _ => self.value(b)?.width(),
        };
        if op == BinOp::Concat {
            self.code.op2(Op::WConcat, u32::from(width), u32::from(right));
            return Ok(());
        }
        self.operate(op, width, self.signed(&a.ty));
        Ok(())
    }

    /// The operator on what lies on the stack.
    pub(super) fn operate(&mut self, op: BinOp, width: u16, signed: bool) {
        // BMv2 has no value for a division by zero; here the quotient is 0.
        if matches!(op, BinOp::Div | BinOp::Mod) {
            return self.divide(op == BinOp::Div, width);
        }
        let op = match (op, signed) {
            (BinOp::Mul, _) => Op::WMul,
            (BinOp::Add, _) => Op::WAdd,
            (BinOp::Sub, _) => Op::WSub,
            (BinOp::AddSat, false) => Op::WAddSat,
            (BinOp::AddSat, true) => Op::WAddSatS,
            (BinOp::SubSat, false) => Op::WSubSat,
            (BinOp::SubSat, true) => Op::WSubSatS,
            (BinOp::Shl, _) => Op::WShl,
            (BinOp::Shr, false) => Op::WUShr,
            (BinOp::Shr, true) => Op::WShr,
            (BinOp::Le, false) => Op::WLe,
            (BinOp::Le, true) => Op::WLes,
            (BinOp::Ge, false) => Op::WGe,
            (BinOp::Ge, true) => Op::WGes,
            (BinOp::Lt, false) => Op::WLt,
            (BinOp::Lt, true) => Op::WLts,
            (BinOp::Gt, false) => Op::WGt,
            (BinOp::Gt, true) => Op::WGts,
            (BinOp::Eq, _) => Op::WEq,
            (BinOp::Ne, _) => Op::WNe,
            (BinOp::BitAnd, _) => Op::WAnd,
            (BinOp::BitXor, _) => Op::WXor,
            _ => Op::WOr,
        };
        self.code.w(op, width);
    }

    fn divide(&mut self, quotient: bool, width: u16) {
        let divisor = self.code.temp(width);
        self.code.set(divisor);
        self.code.get(divisor);
        self.code.constant(&BigInt::ZERO, width);
        self.code.w(Op::WEq, width);
        self.code.constant(&BigInt::from(1), width);
        self.code.get(divisor);
        self.code.w(Op::WSelect, width);
        self.code.w(if quotient { Op::WDiv } else { Op::WMod }, width);
        let result = self.code.temp(width);
        self.code.set(result);
        self.code.get(divisor);
        self.code.constant(&BigInt::ZERO, width);
        self.code.w(Op::WEq, width);
        self.code.constant(&BigInt::ZERO, width);
        self.code.get(result);
        self.code.w(Op::WSelect, width);
        self.code.release(divisor);
        self.code.release(result);
    }

    fn short_circuit(&mut self, and: bool, a: &Expr, b: &Expr) -> Lowered<()> {
        let result = self.code.temp(32);
        let end = self.code.label();
        self.value(a)?;
        self.code.set(result);
        self.code.get(result);
        self.code.branch(if and { Op::JEq } else { Op::JNe }, end);
        self.value(b)?;
        self.code.set(result);
        self.code.bind(end);
        self.code.get(result);
        self.code.release(result);
        Ok(())
    }

    /// Pushes whether two values of a type are equal. Invalid headers are equal whatever their
    /// fields are.
    fn equal(&mut self, a: &StorageLocation, b: &StorageLocation, e: &Expr) -> Lowered<()> {
        let span = e.span;
        let parts = match a.ty.clone() {
            Type::Struct(id, args) => self.program.fields(id, &args).len(),
            Type::Tuple(items) => items.len(),
            Type::Stack(_, n) => n as usize,
            _ => 0,
        };
        let header = self.program.aggregate(&a.ty) == Some(Aggregate::Header);
        if parts == 0 && !header {
            self.code.push(1);
            for (n, leaf) in self.leaves(&a.ty, span)?.into_iter().enumerate().filter(|(_, l)| *l != Leaf::Next) {
                self.load_leaf(a, n as u32, leaf);
                self.load_leaf(b, n as u32, leaf);
                self.code.w(Op::WEq, leaf.width());
                self.code.op(Op::And);
            }
            return Ok(());
        }
        self.code.push(1);
        for n in 0..parts {
            let stack = matches!(a.ty, Type::Stack(..));
            let part = |l: &Self, p: &StorageLocation| if stack { l.element(p, n as u32, span) } else { l.member(p, n, span) };
            let (x, y) = (part(self, a)?, part(self, b)?);
            self.equal(&x, &y, e)?;
            self.code.op(Op::And);
        }
        if header {
            // (both invalid) or (both valid and the same)
            self.load_leaf(a, 0, Leaf::Valid);
            self.load_leaf(b, 0, Leaf::Valid);
            self.code.op(Op::And);
            self.code.op(Op::And);
            self.load_leaf(a, 0, Leaf::Valid);
            self.load_leaf(b, 0, Leaf::Valid);
            self.code.op(Op::Or);
            self.code.push(1);
            self.code.op(Op::Xor);
            self.code.op(Op::Or);
        }
        Ok(())
    }

    fn cast(&mut self, of: &Expr, e: &Expr) -> Lowered<()> {
        // A number without bounds, which has no place of its own.
        if of.ty == Type::Integer
            && let Leaf::Bits(width) = self.scalar(&e.ty, e.span)?
        {
            let known = crate::check::convert::wrap(&self.number(of)?, width.into(), false);
            self.code.constant(&known, width);
            return Ok(());
        }
        let from = self.value(of)?;
        let to = self.scalar(&e.ty, e.span)?;
        match (from, to) {
            (Leaf::Bool, Leaf::Bits(w)) => self.code.resize(32, w),
            (Leaf::Bits(w), Leaf::Bool) => self.code.resize(w, 32),
            (a, b) if a.width() < b.width() && self.signed(&of.ty) => self.code.op2(Op::WSext, u32::from(a.width()), u32::from(b.width())),
            (a, b) => self.code.resize(a.width(), b.width()),
        }
        Ok(())
    }

    /// Puts a value into a place that no part of it is read from.
    pub(super) fn eval_into(&mut self, e: &Expr, to: &StorageLocation) -> Lowered<()> {
        match &e.kind {
            ExprKind::Default => return self.clear(to, e.span),
            ExprKind::Fields(items) => return self.fields_into(items, e, to),
            ExprKind::Var(_) | ExprKind::Member(..) | ExprKind::Index(..) | ExprKind::Next(_) | ExprKind::Last(_) => {
                if let ExprKind::Var(var) = &e.kind
                    && let Some(Binding::Const(value)) = self.bindings.get(var).cloned()
                {
                    return self.eval_into(&value, to);
                }
                let from = self.place(e)?;
                return self.copy(to, &from, e.span);
            }
            ExprKind::Ternary(condition, yes, no) if self.leaves(&e.ty, e.span)?.len() != 1 => {
                let (other, end) = (self.code.label(), self.code.label());
                self.value(condition)?;
                self.code.branch(Op::JEq, other);
                self.eval_into(yes, to)?;
                self.code.jump(end);
                self.code.bind(other);
                self.eval_into(no, to)?;
                self.code.bind(end);
                return Ok(());
            }
            ExprKind::Cast(of) if self.leaves(&e.ty, e.span)?.len() != 1 => {
                let from = self.held(of)?;
                return self.spread(&from, to, e);
            }
            ExprKind::Call { callee, types, args } => match callee {
                Callee::Function(f) => {
                    let result = self.inline(*f, types, args, e)?;
                    return match result {
                        Some(result) => self.copy(to, &result, e.span),
                        None => self.clear(to, e.span),
                    };
                }
                Callee::Method(_, f) if &*self.program.functions[*f].name == "lookahead" => {
                    return self.lookahead(to, e.span);
                }
                _ => {}
            },
            _ => {}
        }
        let leaf = self.value(e)?;
        self.store_leaf(to, 0, leaf);
        Ok(())
    }

    /// A tuple's parts into a struct's.
    fn spread(&mut self, from: &StorageLocation, to: &StorageLocation, e: &Expr) -> Lowered<()> {
        if self.program.aggregate(&to.ty) == Some(Aggregate::Header) {
            self.code.push(1);
            self.store_valid(to);
        }
        let parts = match &to.ty {
            Type::Struct(id, args) => self.program.fields(*id, args).len(),
            Type::Tuple(items) => items.len(),
            _ => return fault(e.span, "this conversion is not supported"),
        };
        for n in 0..parts {
            let (a, b) = (self.member(from, n, e.span)?, self.member(to, n, e.span)?);
            self.copy(&b, &a, e.span)?;
        }
        Ok(())
    }

    fn fields_into(&mut self, items: &[Expr], e: &Expr, to: &StorageLocation) -> Lowered<()> {
        if let Type::Stack(..) = to.ty {
            for (n, item) in items.iter().enumerate() {
                let element = self.element(to, n as u32, e.span)?;
                self.eval_into(item, &element)?;
            }
            let next = self.next_index(to, e.span)?;
            self.code.push(0);
            self.store_leaf(to, next, Leaf::Next);
            return Ok(());
        }
        if self.program.aggregate(&to.ty) == Some(Aggregate::Header) {
            self.code.push(1);
            self.store_valid(to);
        }
        for (n, item) in items.iter().enumerate() {
            let member = self.member(to, n, e.span)?;
            self.eval_into(item, &member)?;
        }
        Ok(())
    }

    /// A call where one value is wanted.
    fn call(&mut self, e: &Expr) -> Lowered<()> {
        let ExprKind::Call { callee, types, args } = &e.kind else { return fault(e.span, "no call") };
        match callee {
            Callee::Builtin(Builtin::IsValid, object) => self.builtin(Builtin::IsValid, object),
            Callee::Function(f) => match self.inline(*f, types, args, e)? {
                Some(result) => {
                    let leaf = self.scalar(&result.ty, e.span)?;
                    self.load_leaf(&result, 0, leaf);
                    Ok(())
                }
                None => fault(e.span, "this gives no value"),
            },
            Callee::Method(object, f) => self.method_value(object, *f, args, e),
            _ => fault(e.span, "this gives no value"),
        }
    }
}
