//! Operators: the types that they take and give, and what they come to for constants.

use super::convert::wrap;
use super::{Checked, Checker, fault};
use crate::ast::{BinOp, UnOp};
use crate::hir::{Expr, ExprKind, Type};
use frontends::diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// The most bits that a shift of an unbounded integer may make.
const MAX_SHIFT: u32 = 1 << 16;

fn int(value: BigInt, ty: Type, span: Span) -> Expr {
    Expr { kind: ExprKind::Int(value), ty, span }
}

impl Checker {
    pub(super) fn unary(&self, op: UnOp, value: Expr, span: Span) -> Checked<Expr> {
        let ty = value.ty.clone();
        let value = if matches!(ty, Type::SerEnum(_)) { self.cast(value, &self.program.underlying(&ty))? } else { value };
        let ty = value.ty.clone();
        let fits = match op {
            UnOp::Not => matches!(ty, Type::Bool | Type::Any),
            UnOp::Complement => matches!(ty, Type::Bit(_) | Type::Int(_) | Type::Any),
            UnOp::Neg | UnOp::Plus => self.numeric(&ty),
        };
        if !fits {
            return fault(span, format!("this operator does not take {}", self.show(&ty)));
        }
        match (op, &value.kind) {
            (UnOp::Plus, _) => Ok(value),
            (UnOp::Not, ExprKind::Bool(b)) => Ok(Expr { kind: ExprKind::Bool(!b), ty, span }),
            (UnOp::Neg, ExprKind::Int(n)) => Ok(int(fit(-n, &ty), ty, span)),
            (UnOp::Complement, ExprKind::Int(n)) => Ok(int(fit(-n - BigInt::one(), &ty), ty, span)),
            _ => Ok(Expr { kind: ExprKind::Unary(op, Box::new(value)), ty, span }),
        }
    }

    /// Both operands as they go together.
    fn pair(&self, left: Expr, right: Expr, span: Span) -> Checked<(Expr, Expr)> {
        let plain = |e: Expr, other: &Type| match (&e.ty, other) {
            (Type::SerEnum(_), o) if e.ty != *o => {
                let under = self.program.underlying(&e.ty);
                self.cast(e, &under)
            }
            _ => Ok(e),
        };
        let (lt, rt) = (left.ty.clone(), right.ty.clone());
        let (left, right) = (plain(left, &rt)?, plain(right, &lt)?);
        if left.ty == right.ty {
            return Ok((left, right));
        }
        if self.converts(&right.ty, &left.ty) {
            let right = self.coerce(right, &left.ty)?;
            return Ok((left, right));
        }
        if self.converts(&left.ty, &right.ty) {
            let left = self.coerce(left, &right.ty)?;
            return Ok((left, right));
        }
        let wrong = Diagnostic::new(span, format!("{} and {} do not go together", self.show(&left.ty), self.show(&right.ty)));
        let invalid = left.ty == Type::Invalid || right.ty == Type::Invalid;
        Err(Box::new(if invalid { wrong.help("`{#}` goes where a header or a header union is wanted") } else { wrong }))
    }

    pub(super) fn binary(&self, op: BinOp, left: Expr, right: Expr, span: Span) -> Checked<Expr> {
        match op {
            BinOp::And | BinOp::Or => self.logical(op, left, right, span),
            BinOp::Shl | BinOp::Shr => self.shift(op, left, right, span),
            BinOp::Concat => self.concat(left, right, span),
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => self.compare(op, left, right, span),
            _ => self.arithmetic(op, left, right, span),
        }
    }

    fn logical(&self, op: BinOp, left: Expr, right: Expr, span: Span) -> Checked<Expr> {
        for side in [&left, &right] {
            if !matches!(side.ty, Type::Bool | Type::Any) {
                return fault(side.span, format!("this is {}, and bool is wanted", self.show(&side.ty)));
            }
        }
        if let ExprKind::Bool(b) = left.kind {
            let decided = (op == BinOp::Or) == b;
            return Ok(if decided { Expr { span, ..left } } else { right });
        }
        Ok(Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty: Type::Bool, span })
    }

    fn shift(&self, op: BinOp, left: Expr, right: Expr, span: Span) -> Checked<Expr> {
        let under = |e: Expr| if matches!(e.ty, Type::SerEnum(_)) { self.cast(e.clone(), &self.program.underlying(&e.ty)) } else { Ok(e) };
        let (left, right) = (under(left)?, under(right)?);
        if !self.numeric(&left.ty) || !self.numeric(&right.ty) {
            return fault(span, format!("{} cannot be shifted by {}", self.show(&left.ty), self.show(&right.ty)));
        }
        if matches!(right.ty, Type::Int(_)) {
            return fault(right.span, "a shift is by an unsigned number");
        }
        if matches!(&right.kind, ExprKind::Int(n) if n.is_negative()) {
            return fault(right.span, "a shift is not by a negative number");
        }
        let ty = left.ty.clone();
        if let (ExprKind::Int(a), ExprKind::Int(b)) = (&left.kind, &right.kind) {
            let by = b.to_u32().unwrap_or(u32::MAX);
            let value = match op {
                BinOp::Shr if by > MAX_SHIFT => BigInt::from(if a.is_negative() { -1 } else { 0 }),
                BinOp::Shr => a >> by,
                _ if by > MAX_SHIFT && ty == Type::Integer && !a.is_zero() => return fault(span, "this number is too large"),
                _ if by > MAX_SHIFT => BigInt::zero(),
                _ => a << by,
            };
            return Ok(int(fit(value, &ty), ty, span));
        }
        if ty == Type::Integer {
            return fault(left.span, "the width of this number is not known, and a shift by a variable needs it");
        }
        Ok(Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span })
    }

    fn concat(&self, left: Expr, right: Expr, span: Span) -> Checked<Expr> {
        if let (ExprKind::Str(a), ExprKind::Str(b)) = (&left.kind, &right.kind) {
            return Ok(Expr { kind: ExprKind::Str(format!("{a}{b}").into()), ty: Type::Str, span });
        }
        let under = |e: Expr| if matches!(e.ty, Type::SerEnum(_)) { self.cast(e.clone(), &self.program.underlying(&e.ty)) } else { Ok(e) };
        let (left, right) = (under(left)?, under(right)?);
        let ty = match (&left.ty, &right.ty) {
            (Type::Any, _) | (_, Type::Any) => Type::Any,
            (Type::Bit(a), Type::Bit(b) | Type::Int(b)) => Type::Bit(a + b),
            (Type::Int(a), Type::Bit(b) | Type::Int(b)) => Type::Int(a + b),
            _ => return fault(span, format!("{} and {} cannot be joined", self.show(&left.ty), self.show(&right.ty))),
        };
        if let Some(width) = ty.width().filter(|w| *w > super::types::MAX_WIDTH) {
            return fault(span, format!("this has {width} bits, and numbers have {} at most", super::types::MAX_WIDTH));
        }
        if let (ExprKind::Int(a), ExprKind::Int(b), Some(low)) = (&left.kind, &right.kind, right.ty.width()) {
            let value = (a << low) + wrap(b, low, false);
            return Ok(int(fit(value, &ty), ty, span));
        }
        Ok(Expr { kind: ExprKind::Binary(BinOp::Concat, Box::new(left), Box::new(right)), ty, span })
    }

    fn compare(&self, op: BinOp, left: Expr, right: Expr, span: Span) -> Checked<Expr> {
        if let Some(dots) = [&left, &right].into_iter().find(|side| side.ty == Type::Nothing) {
            let wrong = Diagnostic::new(dots.span, "`...` is a value for what begins here, and nothing to compare with");
            return Err(Box::new(wrong.help("write the value: 0, false, or `{#}` for a header")));
        }
        let (left, right) = self.pair(left, right, span)?;
        if let (Type::Record(..), Type::Record(..)) = (&left.ty, &right.ty) {
            let wrong = Diagnostic::new(span, "the type of these two is not known");
            return Err(Box::new(wrong.help("name the type of one of them: `(TYPE){ name = value, ... }`")));
        }
        let equality = matches!(op, BinOp::Eq | BinOp::Ne);
        if !(self.numeric(&left.ty) || equality && self.comparable(&left.ty)) {
            return fault(span, format!("{} cannot be compared", self.show(&left.ty)));
        }
        let order = match (&left.kind, &right.kind) {
            (ExprKind::Int(a), ExprKind::Int(b)) => Some(a.cmp(b)),
            (ExprKind::Bool(a), ExprKind::Bool(b)) => Some(a.cmp(b)),
            (ExprKind::Str(a), ExprKind::Str(b)) => Some(a.cmp(b)),
            _ => None,
        };
        if let Some(order) = order {
            let value = match op {
                BinOp::Eq => order.is_eq(),
                BinOp::Ne => order.is_ne(),
                BinOp::Lt => order.is_lt(),
                BinOp::Le => order.is_le(),
                BinOp::Gt => order.is_gt(),
                _ => order.is_ge(),
            };
            return Ok(Expr { kind: ExprKind::Bool(value), ty: Type::Bool, span });
        }
        Ok(Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty: Type::Bool, span })
    }

    pub(super) fn comparable(&self, ty: &Type) -> bool {
        match ty {
            Type::Struct(id, args) => self.program.fields(*id, args).iter().all(|f| self.comparable(&f.ty)),
            Type::Stack(of, _) => self.comparable(of),
            Type::Tuple(items) => items.iter().all(|t| self.comparable(t)),
            Type::New(_) => self.comparable(&self.program.underlying(ty)),
            Type::Any | Type::Bool | Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Integer | Type::Error | Type::Str => true,
            Type::Enum(_) | Type::SerEnum(_) | Type::MatchKind => true,
            _ => false,
        }
    }

    fn arithmetic(&self, op: BinOp, left: Expr, right: Expr, span: Span) -> Checked<Expr> {
        let under = |e: Expr| if matches!(e.ty, Type::SerEnum(_)) { self.cast(e.clone(), &self.program.underlying(&e.ty)) } else { Ok(e) };
        if let (BinOp::Div | BinOp::Mod, Some(side)) = (op, [&left, &right].into_iter().find(|e| negative(e))) {
            return fault(side.span, "negative numbers are not divided");
        }
        let (left, right) = self.pair(under(left)?, under(right)?, span)?;
        let ty = left.ty.clone();
        if !self.numeric(&ty) {
            return fault(span, format!("this operator does not take {}", self.show(&ty)));
        }
        let division = matches!(op, BinOp::Div | BinOp::Mod);
        if division && matches!(ty, Type::Int(_)) {
            return fault(span, "signed numbers cannot be divided");
        }
        let saturating = matches!(op, BinOp::AddSat | BinOp::SubSat);
        if ty == Type::Integer && saturating {
            return fault(span, "saturating arithmetic needs numbers of a width");
        }
        if let ExprKind::Int(b) = &right.kind
            && division
            && !b.is_positive()
        {
            return fault(span, if b.is_zero() { "division by zero" } else { "the divisor is negative" });
        }
        if let (ExprKind::Int(a), ExprKind::Int(b)) = (&left.kind, &right.kind) {
            if division && a.is_negative() {
                return fault(span, "a negative number cannot be divided");
            }
            return Ok(int(folded(op, a, b, &ty), ty, span));
        }
        // A parameter without direction is known where an instance is made.
        if ty == Type::Integer && !(self.is_compile_time(&left) && self.is_compile_time(&right)) {
            return fault(span, "this is not known when the program is compiled");
        }
        Ok(Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span })
    }
}

fn negative(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Int(n) if n.is_negative())
}

pub(crate) fn folded(op: BinOp, a: &BigInt, b: &BigInt, ty: &Type) -> BigInt {
    let exact = match op {
        BinOp::Add | BinOp::AddSat => a + b,
        BinOp::Sub | BinOp::SubSat => a - b,
        BinOp::Mul => a * b,
        BinOp::Div => a / b,
        BinOp::Mod => a % b,
        BinOp::BitAnd => a & b,
        BinOp::BitXor => a ^ b,
        _ => a | b,
    };
    if !matches!(op, BinOp::AddSat | BinOp::SubSat) {
        return fit(exact, ty);
    }
    let (low, high) = match ty {
        Type::Int(w) => (-(BigInt::one() << (w - 1)), (BigInt::one() << (w - 1)) - 1),
        Type::Bit(w) => (BigInt::zero(), (BigInt::one() << *w) - 1),
        _ => return exact,
    };
    exact.clamp(low, high)
}

/// The number as the type keeps it.
pub(super) fn fit(value: BigInt, ty: &Type) -> BigInt {
    match ty {
        Type::Bit(w) => wrap(&value, *w, false),
        Type::Int(w) => wrap(&value, *w, true),
        _ => value,
    }
}
