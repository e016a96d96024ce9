//! What must be known when the program is compiled.

use super::{Checked, Checker, fault};
use crate::ast;
use crate::hir::{Expr, ExprKind};
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
