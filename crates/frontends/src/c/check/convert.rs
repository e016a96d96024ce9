//! Conversions between types (C11, 6.3), and the wall between numbers and fields in network byte
//! order.

use super::Checker;
use crate::c::ast::Name;
use crate::c::builtins::Gives;
use crate::c::tree::{Compare, Expr, Kind, Local};
use crate::c::types::{I64, INT, Type, U32, U64, U128};
use crate::diagnostics::Diagnostic;

/// The type in which arithmetic on a smaller integer is done.
pub(super) fn promoted(ty: &Type) -> Type {
    match ty {
        Type::Bool | Type::Int { bits: 8 | 16, .. } => INT,
        other => other.clone(),
    }
}

/// The type in which two integers are computed with each other.
pub(super) fn common(a: &Type, b: &Type) -> Type {
    let (a, b) = (promoted(a), promoted(b));
    let width = a.width().max(b.width());
    let unsigned = |ty: &Type| !ty.is_signed() && ty.width() == width;
    match (width, unsigned(&a) || unsigned(&b)) {
        (128, _) => U128,
        (64, true) => U64,
        (64, false) => I64,
        (_, true) => U32,
        (_, false) => INT,
    }
}

/// An integer as another one; no check.
pub(super) fn cast(e: Expr, to: &Type) -> Expr {
    if e.ty == *to {
        return e;
    }
    let span = e.span;
    if let Kind::Number(value) = e.kind {
        return Expr::number(crate::c::fold::convert(&e.ty, to, value), to.clone(), span);
    }
    Expr { kind: Kind::Convert(Box::new(e)), ty: to.clone(), span }
}

impl Checker<'_> {
    /// A value where one of type `to` is wanted; `what` names that place.
    pub(super) fn convert(&mut self, e: Expr, to: &Type, what: &str) -> Expr {
        if e.ty.is_error() || to.is_error() {
            return Expr::error(e.span);
        }
        match (&e.ty, to) {
            (from, to) if from == to => e,
            (Type::Pointer(from), Type::Pointer(to_what)) if **from == **to_what && to_what.constant => Expr { ty: to.clone(), ..e },
            (from, Type::Bool) if from.is_int() || matches!(from, Type::Be(_)) => self.as_bool(e),
            (from, to) if from.is_int() && to.is_int() => cast(e, to),
            (from, Type::Be(bits)) if from.is_int() && neutral(&e, *bits) => Expr { ty: to.clone(), ..e },
            (from, Type::Pointer(_)) if from.is_int() && matches!(e.kind, Kind::Number(0)) => {
                Expr { kind: Kind::Null, ty: to.clone(), span: e.span }
            }
            _ => {
                self.mismatch(&e, to, what);
                Expr::error(e.span)
            }
        }
    }

    /// An argument for a parameter. What writes to const objects is told with the parameter, which
    /// only may lack the word.
    pub(super) fn passed(&mut self, value: Expr, to: &Local, function: &Name) -> Expr {
        match (&value.ty, &to.ty) {
            (Type::Pointer(from), Type::Pointer(into)) if **from == **into && from.constant && !into.constant => {
                let fault = Diagnostic::new(value.span, format!("`{}` may write to this, which is const", function.text));
                let help = format!("if it only reads it, write `const {into} *{}` there", to.name);
                self.faults.add(fault.note(to.span, "the parameter is declared here").help(help));
                Expr::error(value.span)
            }
            _ => self.convert(value, &to.ty, "this argument"),
        }
    }

    fn as_bool(&mut self, e: Expr) -> Expr {
        let span = e.span;
        let truth = self.truth(e);
        Expr { kind: truth.kind, ty: Type::Bool, span }
    }

    /// What is wrong with a value of one type where another is wanted.
    fn mismatch(&mut self, e: &Expr, to: &Type, what: &str) {
        let (from, span) = (&e.ty, e.span);
        let message = format!("{what} has type {to}, and this is {}", with_article(from));
        match (from, to) {
            (Type::Be(bits), to) if to.is_int() => self.fault_help(span, message, format!("write {}(...)", host(*bits))),
            (from, Type::Be(bits)) if from.is_int() => self.fault_help(span, message, format!("write {}(...)", network(*bits))),
            (Type::In6, to) if to.is_int() => self.fault_help(span, message, "write ntoh128(...)"),
            (from, Type::In6) if from.is_int() => self.fault_help(span, message, "write hton128(...)"),
            (Type::Be(from), Type::Be(to)) => {
                self.fault_help(span, message, format!("write {}({}(...))", network(*to), host(*from)));
            }
            (Type::Pointer(from), Type::Pointer(to)) if **from == **to => {
                self.fault_help(span, message, format!("write `const {to} *` there if that is only read"));
            }
            (from, Type::Pointer(to)) if *from == **to => self.fault_help(span, message, "write `&` before it"),
            (Type::Pointer(from), to) if **from == *to => self.fault_help(span, message, pointer_instead(e, to, what)),
            _ => self.fault(span, message),
        }
    }

    /// 1 if a value is not 0: what conditions ask.
    pub(super) fn truth(&mut self, e: Expr) -> Expr {
        let span = e.span;
        let kind = match &e.ty {
            Type::Error => return e,
            Type::Pointer(_) => Kind::Valid(Box::new(e)),
            ty if ty.is_int() || matches!(ty, Type::Be(_)) => {
                if is_truth(&e) {
                    return Expr { ty: INT, ..e };
                }
                let zero = Expr::number(0, e.ty.clone(), span);
                Kind::Compare(Compare::Ne, Box::new(e), Box::new(zero))
            }
            ty => {
                let message = format!("{} is neither true nor false", with_article(ty));
                self.fault(span, message);
                return Expr::error(span);
            }
        };
        Expr { kind, ty: INT, span }
    }

    /// An operand of arithmetic, promoted.
    pub(super) fn arithmetic(&mut self, e: Expr, sign: &str) -> Expr {
        if e.ty.is_error() {
            return e;
        }
        if e.ty.is_int() {
            let to = promoted(&e.ty);
            return cast(e, &to);
        }
        let message = format!("`{sign}` does not work on {}", with_article(&e.ty));
        match &e.ty {
            Type::Be(bits) => {
                self.fault_help(e.span, format!("{message}, which is in network byte order"), format!("write {}(...)", host(*bits)));
            }
            Type::Pointer(_) => self.fault_help(e.span, message, "write `&p[i]` for the place of another element"),
            Type::In6 | Type::Mac | Type::Struct(_) if matches!(sign, "==" | "!=") => {
                self.fault_help(e.span, message, "compare such values with `equal(a, b)`");
            }
            Type::In6 => self.fault_help(e.span, message, "write ntoh128(...), which is a u128"),
            Type::Mac => self.fault_help(e.span, message, "its bytes are `byte[i]`, and are numbers"),
            Type::Struct(_) => self.fault_help(e.span, message, "name the member that is meant"),
            _ => self.fault(e.span, message),
        }
        Expr::error(e.span)
    }
}

/// What to write where a pointer to a value stands instead of that.
fn pointer_instead(e: &Expr, to: &Type, what: &str) -> String {
    let gives = if let Kind::Builtin(row, _) = &e.kind { Some(&row.gives) } else { None };
    match (gives, to, what) {
        (Some(Gives::Entry), _, "this variable") => format!("declare a pointer, `{to} *`: it is 0 if there is no such entry"),
        (Some(Gives::Entry), ..) => "keep the pointer in a variable, and ask first whether it is 0".to_owned(),
        (_, Type::Struct(_), "this variable") => format!("declare a pointer, `{to} *`: what is written to a copy is lost"),
        _ => "write `*` before it".to_owned(),
    }
}

/// The value is 0 or 1 already.
fn is_truth(e: &Expr) -> bool {
    matches!(e.kind, Kind::Compare(..) | Kind::Not(_) | Kind::And(..) | Kind::Or(..) | Kind::Valid(_) | Kind::Equal(..))
}

/// 0 and all ones are the same in every byte order.
fn neutral(e: &Expr, bits: u8) -> bool {
    matches!(e.kind, Kind::Number(value) if value == 0 || value == u128::MAX >> (128 - u32::from(bits)))
}

/// The function that makes a number of a field.
pub(super) fn host(bits: u8) -> &'static str {
    match bits {
        16 => "ntohs",
        32 => "ntohl",
        _ => "ntohll",
    }
}

/// The function that makes a field of a number.
pub(super) fn network(bits: u8) -> &'static str {
    match bits {
        16 => "htons",
        32 => "htonl",
        _ => "htonll",
    }
}

pub(super) fn with_article(ty: &Type) -> String {
    match ty {
        Type::Int { bits, signed } if (*bits, *signed) != (32, true) => format!("a number ({ty})"),
        Type::Int { .. } => "a number".to_owned(),
        Type::Pointer(to) => format!("a pointer to {to}"),
        Type::Array(of, count) => format!("an array of {count} {of}"),
        Type::In6 => "an in6_t".to_owned(),
        Type::Void => "no value".to_owned(),
        other => format!("a {other}"),
    }
}
