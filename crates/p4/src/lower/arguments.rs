//! The arguments of calls of externs, and what comes of such a call.

use super::place::StorageLocation;
use super::{Lowered, fault};
use crate::hir::Expr;

pub(super) type Args<'a> = &'a [Option<Expr>];

pub(super) fn arg<'a>(args: Args<'a>, n: usize, call: &Expr) -> Lowered<&'a Expr> {
    args.get(n).and_then(Option::as_ref).map_or_else(|| fault(call.span, "an argument is missing"), Ok)
}

/// What came of a call.
pub(super) enum Called {
    /// The architecture has nothing of that name.
    Unknown,
    /// It gives no value.
    Done,
    /// Where its value is.
    Value(StorageLocation),
}
