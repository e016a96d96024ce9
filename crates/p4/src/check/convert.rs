//! Conversions: what fits where without being said, and what a cast may do.

use super::{Checked, Checker, fault};
use crate::ast::Aggregate;
use crate::hir::{Expr, ExprKind, Type};
use frontends::diagnostics::Diagnostic;
use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};
use std::rc::Rc;

/// A number modulo 2^width, negative if it is signed and its highest bit is set.
pub(crate) fn wrap(value: &BigInt, width: u32, signed: bool) -> BigInt {
    let modulus = BigInt::one() << width;
    let mut low = value % &modulus;
    if low.is_negative() {
        low += &modulus;
    }
    if signed && width > 0 && low >= (BigInt::one() << (width - 1)) {
        low -= modulus;
    }
    low
}

/// The limbs of a number modulo 2^width.
pub(crate) fn limbs(value: &BigInt, width: u16) -> Box<[u64]> {
    let low = wrap(value, u32::from(width), false);
    let mut limbs = low.to_u64_digits().1;
    limbs.resize(netil::wide::limbs(width), 0);
    limbs.into()
}

/// A list that is written out, which takes the type that is wanted; a value that has the type of a
/// tuple keeps it.
fn is_literal(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Fields(_) | ExprKind::Default => true,
        ExprKind::Ternary(_, a, b) => is_literal(a) && is_literal(b),
        _ => false,
    }
}

impl Checker {
    /// Whether a value of that type goes where another is wanted, without a cast.
    pub(super) fn converts(&self, from: &Type, to: &Type) -> bool {
        match (from, to) {
            (Type::Any, _) | (_, Type::Any) => true,
            (Type::Nothing, _) => self.has_default(to),
            (Type::Invalid, _) => matches!(self.program.aggregate(to), Some(Aggregate::Header | Aggregate::Union)),
            (Type::Integer, Type::Bit(_) | Type::Int(_)) => true,
            (Type::Integer, Type::New(_)) => matches!(self.program.underlying(to), Type::Bit(_) | Type::Int(_)),
            (Type::SerEnum(_), Type::Bit(_) | Type::Int(_)) => self.program.underlying(from) == *to,
            (Type::Tuple(items), Type::Struct(id, args)) if self.program.aggregate(to) != Some(Aggregate::Union) => {
                let fields = self.program.fields(*id, args);
                let short = items.last() == Some(&Type::Nothing) && items.len() <= fields.len() + 1;
                (short || fields.len() == items.len()) && items.iter().zip(&fields).all(|(t, f)| self.converts(t, &f.ty))
            }
            (Type::Record(items, dots), Type::Struct(id, args)) => {
                let fields = self.program.fields(*id, args);
                (*dots || fields.len() == items.len())
                    && items.iter().all(|(n, t)| fields.iter().find(|f| f.name == *n).is_some_and(|f| self.converts(t, &f.ty)))
            }
            (Type::Tuple(items), Type::Tuple(wanted)) => {
                let short = items.last() == Some(&Type::Nothing) && items.len() <= wanted.len() + 1;
                (short || items.len() == wanted.len()) && items.iter().zip(wanted.iter()).all(|(a, b)| self.converts(a, b))
            }
            (Type::Tuple(items), Type::Stack(of, n)) => {
                let short = items.last() == Some(&Type::Nothing) && items.len() <= *n as usize + 1;
                (short || items.len() == *n as usize) && items.iter().all(|t| self.converts(t, of))
            }
            (Type::Tuple(items), Type::List(of)) => items.iter().all(|t| self.converts(t, of)),
            (Type::Struct(a, x), Type::Struct(b, y)) => a == b && x.iter().zip(y.iter()).all(|(x, y)| self.converts(x, y)),
            (Type::List(a), Type::List(b)) => self.converts(a, b),
            (Type::Set(a), Type::Set(b)) => self.converts(a, b),
            (a, Type::Set(b)) => self.converts(a, b),
            (Type::Arch(..) | Type::Block(_), Type::Arch(..)) => self.unify(to, from, &[], &mut std::collections::HashMap::new()),
            _ => from == to,
        }
    }

    /// Whether `...` may stand for a value of that type.
    ///
    /// Source: P4-16 specification 1.2.5, section 7.3 (default values).
    fn has_default(&self, ty: &Type) -> bool {
        match ty {
            Type::Struct(id, args) if self.program.aggregate(ty) == Some(Aggregate::Struct) => {
                self.program.fields(*id, args).iter().all(|f| self.has_default(&f.ty))
            }
            Type::Tuple(items) => items.iter().all(|t| self.has_default(t)),
            Type::Stack(of, _) => self.has_default(of),
            Type::Void | Type::MatchKind | Type::Set(_) | Type::List(_) => false,
            Type::Extern(..) | Type::Arch(..) | Type::Block(_) => false,
            _ => true,
        }
    }

    /// The expression as one of that type.
    pub(super) fn coerce(&self, value: Expr, to: &Type) -> Checked<Expr> {
        if value.ty == *to || matches!(to, Type::Any | Type::Param(_)) && !matches!(value.ty, Type::Nothing | Type::Invalid) {
            return Ok(value);
        }
        let of_shape = matches!(&value.ty, Type::Tuple(_)) && matches!(to, Type::Struct(..) | Type::Stack(..)) && !is_literal(&value);
        if of_shape || !self.converts(&value.ty, to) {
            return self.other_type(&value, to);
        }
        self.loses_digits(&value, to);
        // A parser or control stays the one that it is.
        if matches!(to, Type::Arch(..)) { Ok(value) } else { self.converted(value, to) }
    }

    fn other_type<T>(&self, value: &Expr, to: &Type) -> Checked<T> {
        let wrong = Diagnostic::new(value.span, format!("this is {}, and {} is wanted", self.show(&value.ty), self.show(to)));
        Err(Box::new(match value.ty {
            Type::Nothing => wrong.help("`...` goes where a type has default values; lists and objects have none"),
            Type::Invalid => wrong.help("`{#}` goes where a header or a header union is wanted"),
            _ => wrong,
        }))
    }

    /// Warns of a number that is written without a width and does not fit.
    fn loses_digits(&self, value: &Expr, to: &Type) {
        let to = if let Type::Set(of) = to { of } else { to };
        let (ExprKind::Int(n), Type::Integer) = (&value.kind, &value.ty) else { return };
        let (width, signed) = match to {
            Type::Bit(width) => (*width, false),
            Type::Int(width) => (*width, true),
            _ => return,
        };
        // A negative number may stand for its bits.
        if n.is_negative() && !signed || wrap(n, width, signed) == *n {
            return;
        }
        let fault = Diagnostic::new(value.span, format!("{n} does not fit {}, and becomes {}", self.show(to), wrap(n, width, signed)));
        self.warnings.borrow_mut().push(fault);
    }

    fn converted(&self, value: Expr, to: &Type) -> Checked<Expr> {
        let span = value.span;
        let ty = to.clone();
        match (value.kind, &value.ty, to) {
            (ExprKind::Int(n), _, Type::Bit(w)) => Ok(Expr { kind: ExprKind::Int(wrap(&n, *w, false)), ty, span }),
            (kind @ ExprKind::Int(_), Type::Integer, Type::New(_)) => {
                let under = self.converted(Expr { kind, ty: Type::Integer, span }, &self.program.underlying(to))?;
                Ok(Expr { ty, ..under })
            }
            (ExprKind::Int(n), _, Type::Int(w)) => Ok(Expr { kind: ExprKind::Int(wrap(&n, *w, true)), ty, span }),
            (ExprKind::Ternary(c, a, b), Type::Integer, _) => {
                let (a, b) = (self.converted(*a, to)?, self.converted(*b, to)?);
                Ok(Expr { kind: ExprKind::Ternary(c, Box::new(a), Box::new(b)), ty, span })
            }
            (ExprKind::Default, _, _) => Ok(Expr { kind: ExprKind::Default, ty, span }),
            (ExprKind::Everything, _, _) => Ok(Expr { kind: ExprKind::Everything, ty, span }),
            (ExprKind::Mask(a, b), _, Type::Set(of)) => {
                let (a, b) = (self.coerce(*a, of)?, self.coerce(*b, of)?);
                Ok(Expr { kind: ExprKind::Mask(Box::new(a), Box::new(b)), ty, span })
            }
            (ExprKind::Range(a, b), _, Type::Set(of)) => {
                let (a, b) = (self.coerce(*a, of)?, self.coerce(*b, of)?);
                Ok(Expr { kind: ExprKind::Range(Box::new(a), Box::new(b)), ty, span })
            }
            (kind, from, Type::Set(of)) if !matches!(from, Type::Set(_)) => self.coerce(Expr { kind, ty: value.ty, span }, of),
            (ExprKind::Fields(items), Type::Record(names, _), Type::Struct(id, args)) => {
                let fields = self.program.fields(*id, args);
                let mut out = Vec::new();
                for field in &fields {
                    let given = names.iter().position(|(n, _)| *n == field.name).and_then(|at| items.get(at));
                    let default = Expr { kind: ExprKind::Default, ty: Type::Nothing, span };
                    out.push(self.coerce(given.cloned().unwrap_or(default), &field.ty)?);
                }
                Ok(Expr { kind: ExprKind::Fields(out), ty, span })
            }
            (ExprKind::Fields(items), ..) => {
                let wanted = self.item_types(to, items.len());
                let mut out = Vec::new();
                let plain = items.iter().filter(|i| i.ty != Type::Nothing || !matches!(i.kind, ExprKind::Default)).count();
                let open =
                    items.last().is_some_and(|i| matches!(i.kind, ExprKind::Default) && i.ty == Type::Nothing) && plain < wanted.len();
                for (n, ty) in wanted.iter().enumerate() {
                    let default = Expr { kind: ExprKind::Default, ty: Type::Nothing, span };
                    let given = items.get(n).cloned().filter(|_| !open || n + 1 < items.len());
                    out.push(self.coerce(given.unwrap_or(default), ty)?);
                }
                Ok(Expr { kind: ExprKind::Fields(out), ty, span })
            }
            (kind, from, _) => {
                let from = from.clone();
                self.spread(Expr { kind, ty: from, span }, to)
            }
        }
    }

    /// A tuple, not a literal, where a struct is wanted; else a cast.
    fn spread(&self, value: Expr, to: &Type) -> Checked<Expr> {
        let span = value.span;
        Ok(Expr { kind: ExprKind::Cast(Box::new(value)), ty: to.clone(), span })
    }

    pub(super) fn item_types(&self, ty: &Type, given: usize) -> Vec<Type> {
        match ty {
            Type::Struct(id, args) => self.program.fields(*id, args).into_iter().map(|f| f.ty).collect(),
            Type::Tuple(items) => items.to_vec(),
            Type::Stack(of, n) => vec![(**of).clone(); *n as usize],
            Type::List(of) => vec![(**of).clone(); given],
            _ => Vec::new(),
        }
    }

    /// An explicit cast.
    pub(super) fn cast(&self, value: Expr, to: &Type) -> Checked<Expr> {
        let span = value.span;
        if value.ty == *to || *to == Type::Any {
            return Ok(value);
        }
        if self.converts(&value.ty, to) {
            return self.converted(value, to);
        }
        let (from, under) = (self.program.underlying(&value.ty), self.program.underlying(to));
        let new = matches!(value.ty, Type::New(_)) || matches!(to, Type::New(_));
        let possible = match (&value.ty, to) {
            (Type::Bit(a), Type::Bit(_) | Type::Int(_)) | (Type::Int(a), Type::Bit(_) | Type::Int(_)) => *a > 0 || to.width() == Some(0),
            (Type::Bit(1), Type::Bool) | (Type::Bool, Type::Bit(1)) | (Type::Bit(_) | Type::Int(_), Type::Integer) => true,
            (Type::Integer, Type::Bool) => matches!(&value.kind, ExprKind::Int(n) if n.is_zero() || n.is_one()),
            (Type::SerEnum(_), Type::Bit(_) | Type::Int(_) | Type::Integer)
            | (Type::Bit(_) | Type::Int(_) | Type::Integer, Type::SerEnum(_)) => true,
            (Type::SerEnum(_), Type::SerEnum(_)) => true,
            _ if new => from == under || self.converts(&from, &under),
            _ => false,
        };
        if !possible {
            return fault(span, format!("{} cannot be cast to {}", self.show(&value.ty), self.show(to)));
        }
        if let ExprKind::Int(n) = &value.kind {
            let n = match &under {
                Type::Bit(w) => wrap(n, *w, false),
                Type::Int(w) => wrap(n, *w, true),
                Type::Bool => return Ok(Expr { kind: ExprKind::Bool(!n.is_zero()), ty: to.clone(), span }),
                _ => n.clone(),
            };
            return Ok(Expr { kind: ExprKind::Int(n), ty: to.clone(), span });
        }
        if let (ExprKind::Bool(b), Type::Bit(_)) = (&value.kind, &under) {
            return Ok(Expr { kind: ExprKind::Int(BigInt::from(u8::from(*b))), ty: to.clone(), span });
        }
        Ok(Expr { kind: ExprKind::Cast(Box::new(value)), ty: to.clone(), span })
    }

    pub(super) fn numeric(&self, ty: &Type) -> bool {
        matches!(ty, Type::Bit(_) | Type::Int(_) | Type::Integer | Type::Any)
    }

    /// The type that a literal list has where nothing says another.
    pub(super) fn tuple_of(items: &[Expr]) -> Type {
        let types: Rc<[Type]> = items.iter().map(|i| i.ty.clone()).collect();
        Type::Tuple(types)
    }
}
