//! Constant expressions: the value of an expression, as far as it is known before the program runs.

use super::builtins::{Does, Own, Row};
use super::tree::{Arg, Binary, Compare, Expr, Kind, PlaceExpr, PlaceKind, meaning, normal};
use super::types::Type;
use netil::ops::{BinOp, UnOp};
use netil::wide;

/// What is known of an instance.
pub(super) trait Known {
    /// How many inputs, or outputs if true.
    fn ports(&self, outputs: bool) -> Option<u128>;
    /// Whether an input, or an output if true, pushes.
    fn is_push(&self, outputs: bool, port: u128) -> Option<bool>;
    /// The text of a parameter.
    fn text(&self, param: usize) -> Option<&str>;
    /// The scalar of that type so many bytes into a parameter of the class.
    fn param(&self, param: usize, offset: u32, ty: &Type) -> Option<u128>;
    /// The scalar of that type so many bytes into a constant variable.
    fn constant(&self, variable: usize, offset: u32, ty: &Type) -> Option<u128>;
}

/// Nothing is known: before there is an instance.
pub(super) struct Nothing;

impl Known for Nothing {
    fn ports(&self, _: bool) -> Option<u128> {
        None
    }

    fn is_push(&self, _: bool, _: u128) -> Option<bool> {
        None
    }

    fn text(&self, _: usize) -> Option<&str> {
        None
    }

    fn param(&self, _: usize, _: u32, _: &Type) -> Option<u128> {
        None
    }

    fn constant(&self, _: usize, _: u32, _: &Type) -> Option<u128> {
        None
    }
}

/// The value of an expression without effects.
pub(super) fn fold(e: &Expr, known: &dyn Known) -> Option<u128> {
    Some(match &e.kind {
        Kind::Number(value) => *value,
        Kind::Ports(outputs) => known.ports(*outputs)?,
        Kind::Load(place) if e.ty.is_scalar() => load(place, &e.ty, known)?,
        Kind::Negate(a) => unary(UnOp::Neg, &e.ty, fold(a, known)?),
        Kind::Complement(a) => unary(UnOp::Not, &e.ty, fold(a, known)?),
        Kind::Binary(op, a, b) => binary(*op, &e.ty, fold(a, known)?, fold(b, known)?)?,
        Kind::Compare(op, a, b) => compare(*op, &a.ty, fold(a, known)?, fold(b, known)?),
        Kind::Not(a) => u128::from(fold(a, known)? == 0),
        Kind::And(a, b) => match fold(a, known)? {
            0 => 0,
            _ => u128::from(fold(b, known)? != 0),
        },
        Kind::Or(a, b) => match fold(a, known)? {
            0 => u128::from(fold(b, known)? != 0),
            _ => 1,
        },
        Kind::Choose(c, a, b) => fold(if fold(c, known)? != 0 { a } else { b }, known)?,
        Kind::Convert(a) => convert(&a.ty, &e.ty, fold(a, known)?),
        Kind::Builtin(row, args) => builtin(row, args, known)?,
        _ => return None,
    })
}

/// The functions of netvm.h that can be constants.
fn builtin(row: &Row, args: &[Arg], known: &dyn Known) -> Option<u128> {
    match (&row.does, args) {
        (Does::Ops([]), [Arg::Value(value)]) => fold(value, known),
        (Does::Own(own @ (Own::OutputIsPush | Own::InputIsPush)), [Arg::Value(port)]) => {
            known.is_push(*own == Own::OutputIsPush, fold(port, known)?).map(u128::from)
        }
        (Does::Own(Own::TextIs), [Arg::Value(text), Arg::Value(Expr { kind: Kind::Text(literal), .. })]) => match &text.kind {
            Kind::Load(place) => match place.kind {
                PlaceKind::Param(param) => known.text(param).map(|text| u128::from(text.as_bytes() == &literal[..])),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn load(place: &PlaceExpr, ty: &Type, known: &dyn Known) -> Option<u128> {
    if let PlaceKind::Byte(of, index) = &place.kind {
        let (whole, index) = (load(of, &of.ty, known)?, u32::try_from(fold(index, known)?).ok()?);
        let last = of.ty.size() - 1;
        return (index <= last).then(|| whole >> (8 * (last - index)) & 255);
    }
    let (root, offset) = root(place, known)?;
    match root.kind {
        PlaceKind::Param(param) => known.param(param, offset, ty),
        PlaceKind::Static(variable) => known.constant(variable, offset, ty),
        _ => None,
    }
}

/// The whole object that a place is part of, and where it begins there.
fn root<'a>(place: &'a PlaceExpr, known: &dyn Known) -> Option<(&'a PlaceExpr, u32)> {
    match &place.kind {
        PlaceKind::Member(of, more) => root(of, known).map(|(whole, offset)| (whole, offset + more)),
        PlaceKind::Element(of, index) => {
            let Type::Array(each, count) = &of.ty else { return None };
            let (whole, offset) = root(of, known)?;
            let index = u32::try_from(fold(index, known)?).ok().filter(|index| index < count)?;
            Some((whole, offset + index * each.size()))
        }
        _ => Some((place, 0)),
    }
}

fn unary(op: UnOp, ty: &Type, a: u128) -> u128 {
    let width = ty.width();
    normal(ty, whole(&wide::un(op, width, &limbs(width, a))))
}

/// A number in as many limbs as its width takes.
fn limbs(width: u16, value: u128) -> Vec<u64> {
    let mut limbs = vec![value as u64, (value >> 64) as u64];
    limbs.resize(wide::limbs(width), 0);
    wide::normalise(width, &mut limbs);
    limbs
}

fn whole(limbs: &[u64]) -> u128 {
    limbs.iter().take(2).rev().fold(0, |value, limb| value << 64 | u128::from(*limb))
}

/// `a op b` in a type; none for a division by zero.
pub(super) fn binary(op: Binary, ty: &Type, a: u128, b: u128) -> Option<u128> {
    let signed = ty.is_signed();
    let plain = match op {
        Binary::Add => BinOp::Add,
        Binary::Sub => BinOp::Sub,
        Binary::Mul => BinOp::Mul,
        Binary::And => BinOp::And,
        Binary::Or => BinOp::Or,
        Binary::Xor => BinOp::Xor,
        Binary::Shl => BinOp::Shl,
        Binary::Shr if signed => BinOp::Shr,
        Binary::Shr => BinOp::UShr,
        Binary::Div if !signed => return a.checked_div(b),
        Binary::Mod if !signed => return a.checked_rem(b),
        Binary::Div | Binary::Mod => {
            let (a, b) = (meaning(ty, a), meaning(ty, b));
            let result = if op == Binary::Div { a.checked_div(b)? } else { a.checked_rem(b)? };
            return Some(normal(ty, result as u128));
        }
    };
    let shift = matches!(op, Binary::Shl | Binary::Shr);
    let b = if shift { b & 0xffff_ffff } else { b };
    let (width, amount) = (ty.width(), if shift { 32 } else { ty.width() });
    wide::bin(plain, width, &limbs(width, a), &limbs(amount, b)).map(|value| normal(ty, whole(&value)))
}

/// 1 if the comparison holds.
pub(super) fn compare(op: Compare, ty: &Type, a: u128, b: u128) -> u128 {
    let order = if ty.is_signed() { meaning(ty, a).cmp(&meaning(ty, b)) } else { a.cmp(&b) };
    u128::from(match op {
        Compare::Eq => order.is_eq(),
        Compare::Ne => order.is_ne(),
        Compare::Lt => order.is_lt(),
        Compare::Le => order.is_le(),
        Compare::Gt => order.is_gt(),
        Compare::Ge => order.is_ge(),
    })
}

/// A number of one type as one of another.
pub(super) fn convert(from: &Type, to: &Type, value: u128) -> u128 {
    if *to == Type::Bool { u128::from(value != 0) } else { normal(to, meaning(from, value) as u128) }
}
