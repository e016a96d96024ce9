//! What must be known when the program is compiled.

use super::{Checked, Checker, fault};
use crate::ast::{self, Dir};
use crate::hir::{Expr, ExprKind, ParamInfo, Type};
use frontends::diagnostics::Diagnostic;
use num_bigint::BigInt;

impl Checker {
    pub(super) fn constant_int(&mut self, value: &ast::Expr) -> Checked<BigInt> {
        let checked = self.expr(value)?;
        match checked.kind {
            ExprKind::Int(n) => Ok(n),
            _ => fault(value.span, "this is no number that is known when the program is compiled"),
        }
    }
}

impl Checker {
    /// True for what is known when an instance is made: parameters without direction are, too.
    pub(super) fn is_compile_time(&self, value: &Expr) -> bool {
        let all = |items: &[&Expr]| items.iter().all(|item| self.is_compile_time(item));
        match &value.kind {
            ExprKind::Var(var) => self.known.contains(var) || value.ty == Type::Any,
            ExprKind::Fields(items) => items.iter().all(|item| self.is_compile_time(item)),
            ExprKind::Cast(of) | ExprKind::Member(of, _) | ExprKind::Unary(_, of) | ExprKind::Slice(of, ..) => all(&[of]),
            ExprKind::Binary(_, a, b) | ExprKind::Mask(a, b) | ExprKind::Range(a, b) => all(&[a, b]),
            ExprKind::Ternary(condition, a, b) => all(&[condition, a, b]),
            _ => value.ty == Type::Any || is_constant(value),
        }
    }
}

impl Checker {
    /// Arguments for parameters without direction are known when the program is compiled; those of
    /// actions, which the control plane gives, are not looked at here.
    pub(super) fn directionless(&self, params: &[ParamInfo], args: &[Option<Expr>]) -> Checked<()> {
        let is_object = |ty: &Type| matches!(ty, Type::Extern(..) | Type::Block(_) | Type::Arch(..) | Type::Any);
        let wanted = params.iter().zip(args).filter(|(param, _)| param.dir == Dir::None);
        let mut given = wanted.filter_map(|(param, arg)| Some((param, arg.as_ref().filter(|arg| !is_object(&arg.ty))?)));
        match given.find(|(_, arg)| !self.is_compile_time(arg)) {
            None => Ok(()),
            Some((param, arg)) => {
                let what = format!("`{}` has no direction: its argument is known when the program is compiled", param.name);
                Err(Box::new(
                    Diagnostic::new(arg.span, what).help(format!("`in` in front of the parameter `{}` takes any value", param.name)),
                ))
            }
        }
    }
}

/// True for what has the same value in each run.
pub(super) fn is_constant(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Str(_) | ExprKind::Default | ExprKind::Everything => true,
        ExprKind::Fields(items) => items.iter().all(is_constant),
        ExprKind::Mask(a, b) | ExprKind::Range(a, b) => is_constant(a) && is_constant(b),
        ExprKind::Cast(of) | ExprKind::Member(of, _) | ExprKind::Unary(_, of) => is_constant(of),
        ExprKind::Binary(_, a, b) => is_constant(a) && is_constant(b),
        ExprKind::Instance(_) => true,
        ExprKind::Call { callee: crate::hir::Callee::Construct(_), .. } => true,
        _ => false,
    }
}
