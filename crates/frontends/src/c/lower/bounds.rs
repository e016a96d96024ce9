//! Indices of the element's own arrays: what is beyond one is a trap, as it is in packets and
//! entries.
//!
//! Memory as a whole is checked by whoever runs the program. So an index that is not in its array
//! becomes one that is beyond all data; where the index says itself that it is in the array
//! (`x & 7`, `x % 10`, a u8 in 256), nothing is asked. Leaves out pointers, of which nobody says
//! how far they may go.

use super::Lowerer;
use crate::c::fold::{Known, fold};
use crate::c::tree::{Binary, Expr, Kind};
use crate::c::types::{MAX_BYTES, Type};
use crate::diagnostics::Span;
use netil::table::Op;

/// Beyond any memory, from any place within; a power of two.
const BEYOND: u32 = 8 * MAX_BYTES;

/// The most that an expression can be, if its form says so.
fn most(e: &Expr, known: &dyn Known) -> Option<u128> {
    let by_type = match &e.ty {
        Type::Bool => Some(1),
        Type::Int { bits, signed: false } if *bits < 128 => Some((1u128 << bits) - 1),
        _ => None,
    };
    let by_form = match &e.kind {
        _ if fold(e, known).is_some() => constant(e, known),
        Kind::Compare(..) | Kind::Valid(_) | Kind::Not(_) | Kind::And(..) | Kind::Or(..) | Kind::Equal(..) => Some(1),
        Kind::Convert(of) => most(of, known),
        Kind::Choose(_, yes, no) => most(yes, known).zip(most(no, known)).map(|(a, b)| a.max(b)),
        Kind::Binary(Binary::And, a, b) => {
            [most(a, known), most(b, known), constant(a, known), constant(b, known)].into_iter().flatten().min()
        }
        Kind::Binary(Binary::Mod, a, b) if most(a, known).is_some() => constant(b, known).and_then(|n| n.checked_sub(1)),
        Kind::Binary(Binary::Shr, a, b) => most(a, known).zip(constant(b, known)).map(|(a, n)| a.checked_shr(n as u32).unwrap_or(0)),
        Kind::Binary(Binary::Div, a, b) => most(a, known).zip(constant(b, known)).and_then(|(a, n)| a.checked_div(n)),
        _ => None,
    };
    by_type.into_iter().chain(by_form).min()
}

/// A constant that is not negative.
fn constant(e: &Expr, known: &dyn Known) -> Option<u128> {
    let value = fold(e, known)?;
    (crate::c::tree::meaning(&e.ty, value) >= 0).then_some(value)
}

impl Lowerer<'_> {
    /// Tells an index that every packet would have, and that is beyond so many objects.
    pub(super) fn constant_within(&mut self, n: u32, count: Option<u32>, span: Span) {
        if let Some(count) = count.filter(|count| n >= *count && *count > 0) {
            self.fault(span, format!("the array has elements 0 to {}, and this is {} here", count - 1, n as i32));
        }
    }

    /// Makes an index on the stack the distance in bytes of one of so many objects.
    pub(super) fn index_to_bytes(&mut self, index: &Expr, size: u32, count: Option<u32>) {
        let asked = count.filter(|count| most(index, &self.facts).is_none_or(|most| most >= u128::from(*count)));
        let (within, end) = (self.code.label(), self.code.label());
        if let Some(count) = asked {
            self.code.op(Op::Dup);
            self.code.op1(Op::Push, count);
            self.code.jump(Op::JCmpL, within);
            // Still a number that depends on the packet, since constants beyond memory are refused;
            // and one of which several do not add up to 0.
            for (op, bits) in [(Op::And, BEYOND - 1), (Op::Or, BEYOND)] {
                self.code.op1(Op::Push, bits);
                self.code.op(op);
            }
            self.code.go(end);
        }
        self.code.place(within);
        if size != 1 {
            self.code.op1(Op::Push, size);
            self.code.op(Op::Mul);
        }
        self.code.place(end);
    }
}
