//! Values and conditions.

use super::Lowerer;
use super::place::{At, Base, Pointed, Spot};
use crate::c::fold::fold;
use crate::c::tree::{Binary, Compare, Expr, Kind, PlaceExpr, PlaceKind, Update};
use crate::c::types::Type;
use crate::diagnostics::Span;
use netil::table::Op;
use std::rc::Rc;

impl Lowerer<'_> {
    /// The scalar value of an expression onto the stack.
    pub(super) fn value(&mut self, e: &Expr) {
        if !self.enter(e.span) {
            self.leave();
            return self.code.constant(0, e.ty.width());
        }
        match fold(e, &self.facts).filter(|_| e.ty.is_scalar()) {
            Some(value) => self.code.constant(value, e.ty.width()),
            None => self.computed(e),
        }
        self.leave();
    }

    fn computed(&mut self, e: &Expr) {
        let width = e.ty.width();
        match &e.kind {
            Kind::Load(place) => self.load_place(place, &e.ty),
            Kind::Negate(of) => {
                self.value(of);
                self.sized(width, Op::Neg, Op::WNeg);
            }
            Kind::Complement(of) => self.complement(of, &e.ty),
            Kind::Binary(op, a, b) => {
                self.value(a);
                self.right(*op, b);
                self.binary(*op, &e.ty);
            }
            Kind::Compare(op, a, b) => {
                self.value(a);
                self.value(b);
                self.code.op1(wide_compare(*op, a.ty.is_signed()), a.ty.width().into());
            }
            Kind::Valid(pointer) => self.valid(pointer),
            Kind::Not(of) => {
                self.value(of);
                self.code.op(Op::PushC0);
                self.code.op1(Op::WEq, 32);
            }
            Kind::And(..) | Kind::Or(..) => self.truth(e),
            Kind::Choose(condition, yes, no) => self.choose(condition, yes, no),
            Kind::Comma(first, second) => {
                self.effect(first);
                self.value(second);
            }
            Kind::Convert(of) => {
                self.value(of);
                self.convert(&of.ty, &e.ty);
            }
            Kind::Assign(place, value) => self.assign(place, value, true),
            Kind::Update(update) => self.update(update, true),
            Kind::Call(function, args) => self.call(*function, args, e, true),
            Kind::Builtin(row, args) => self.builtin(row, args, e.span),
            Kind::Equal(a, b) => self.equal(a, b),
            _ => self.code.constant(0, width),
        }
    }

    /// What an expression does, without its value.
    pub(super) fn effect(&mut self, e: &Expr) {
        if !self.enter(e.span) {
            return self.leave();
        }
        match &e.kind {
            Kind::Assign(place, value) => self.assign(place, value, false),
            Kind::Update(update) => self.update(update, false),
            Kind::Call(function, args) => self.call(*function, args, e, false),
            Kind::Comma(first, second) => {
                self.effect(first);
                self.effect(second);
            }
            Kind::Choose(condition, yes, no) if e.ty == Type::Void => self.choose_effect(condition, yes, no),
            Kind::Error | Kind::Null => {}
            _ => match &e.ty {
                Type::Void => self.computed(e),
                Type::Struct(_) => {
                    let spot = self.object(e);
                    self.discard(&spot);
                }
                Type::Pointer(_) => {
                    if let Pointed::At(spot) = self.pointer(e) {
                        self.discard(&spot);
                    }
                }
                _ if fold(e, &self.facts).is_some() => {}
                _ => {
                    self.value(e);
                    self.code.op(Op::Pop);
                }
            },
        }
        self.leave();
    }

    /// Takes the computed part of a place off the stack.
    pub(super) fn discard(&mut self, spot: &Spot) {
        if spot.at == At::Stack {
            self.code.op(Op::Pop);
        }
        self.done(spot);
    }

    /// One instruction for 32 bits, another for other widths.
    fn sized(&mut self, width: u16, classic: Op, wide: Op) {
        if width == 32 { self.code.op(classic) } else { self.code.op1(wide, width.into()) }
    }

    fn load_place(&mut self, place: &PlaceExpr, ty: &Type) {
        if let PlaceKind::Byte(of, index) = &place.kind {
            return self.load_byte(of, index);
        }
        let spot = self.place(place);
        self.load(&spot, ty, place.span);
        self.done(&spot);
    }

    /// A byte of an address: in memory itself, or cut out of the whole.
    fn load_byte(&mut self, of: &PlaceExpr, index: &Expr) {
        let spot = self.place(of);
        if matches!(spot.base, Base::Packet(_) | Base::Initialised) {
            let spot = self.indexed_byte(spot, index);
            return self.load(&spot, &crate::c::types::U8, of.span);
        }
        self.load(&spot, &of.ty, of.span);
        let (width, last) = (u32::from(of.ty.width()), of.ty.size() - 1);
        self.code.op1(Op::Push, last);
        self.value(index);
        self.narrow(&index.ty);
        self.code.op(Op::Sub);
        self.code.op1(Op::Push, 8);
        self.code.op(Op::Mul);
        self.code.op1(Op::WUShr, width);
        self.code.op2(Op::WTrunc, width, 8);
        self.code.op2(Op::WZext, 8, 32);
    }

    /// The low 32 bits of an integer.
    pub(super) fn narrow(&mut self, ty: &Type) {
        if ty.width() > 32 {
            self.code.op2(Op::WTrunc, ty.width().into(), 32);
        }
    }

    fn complement(&mut self, of: &Expr, ty: &Type) {
        self.value(of);
        if *ty == Type::Be(16) {
            self.code.op1(Op::Push, 0xffff);
            return self.code.op(Op::Xor);
        }
        self.sized(ty.width(), Op::Not, Op::WNot);
    }

    /// The right side of an operator; shift amounts have 32 bits.
    fn right(&mut self, op: Binary, b: &Expr) {
        self.value(b);
        if matches!(op, Binary::Shl | Binary::Shr) {
            self.narrow(&b.ty);
        }
    }

    fn binary(&mut self, op: Binary, ty: &Type) {
        let width = ty.width();
        let (classic, wide) = match op {
            Binary::Add => (Op::Add, Op::WAdd),
            Binary::Sub => (Op::Sub, Op::WSub),
            Binary::Mul => (Op::Mul, Op::WMul),
            Binary::And => (Op::And, Op::WAnd),
            Binary::Or => (Op::Or, Op::WOr),
            Binary::Xor => (Op::Xor, Op::WXor),
            Binary::Shl => (Op::Shl, Op::WShl),
            Binary::Shr if ty.is_signed() => (Op::Shr, Op::WShr),
            Binary::Shr => (Op::UShr, Op::WUShr),
            Binary::Div | Binary::Mod if ty.is_signed() => return self.divide_signed(op, width),
            Binary::Div => (Op::Div, Op::WDiv),
            Binary::Mod => (Op::Mod, Op::WMod),
        };
        self.sized(width, classic, wide);
    }

    /// Quotient or remainder towards zero, of magnitudes: with s = x >> (width - 1), |x| = (x ^ s)
    /// - s, and so back.
    fn divide_signed(&mut self, op: Binary, width: u16) {
        let divisor = self.code.keep(width);
        let dividend = self.code.keep(width);
        let divisor_sign = self.sign(divisor, width);
        let dividend_sign = self.sign(dividend, width);
        self.with_sign(dividend, dividend_sign, width);
        self.with_sign(divisor, divisor_sign, width);
        let by = if op == Binary::Div { (Op::Div, Op::WDiv) } else { (Op::Mod, Op::WMod) };
        self.sized(width, by.0, by.1);
        self.code.store(dividend);
        if op == Binary::Div {
            self.code.load(dividend_sign);
            self.code.load(divisor_sign);
            self.sized(width, Op::Xor, Op::WXor);
            self.code.store(dividend_sign);
        }
        self.with_sign(dividend, dividend_sign, width);
        [divisor, dividend, divisor_sign, dividend_sign].into_iter().for_each(|local| self.code.release(local));
    }

    /// All ones if a local is negative, else 0.
    fn sign(&mut self, local: u32, width: u16) -> u32 {
        self.code.load(local);
        self.code.op1(Op::Push, u32::from(width) - 1);
        self.sized(width, Op::Shr, Op::WShr);
        self.code.keep(width)
    }

    /// (x ^ s) − s onto the stack.
    fn with_sign(&mut self, local: u32, sign: u32, width: u16) {
        self.code.load(local);
        self.code.load(sign);
        self.sized(width, Op::Xor, Op::WXor);
        self.code.load(sign);
        self.sized(width, Op::Sub, Op::WSub);
    }

    fn valid(&mut self, pointer: &Expr) {
        match self.pointer(pointer) {
            Pointed::Null => self.code.op(Op::PushC0),
            Pointed::At(spot) => self.valid_place(&spot, pointer.span),
        }
    }

    fn valid_place(&mut self, spot: &Spot, span: Span) {
        match &spot.base {
            Base::Entry { table, local, view, .. } => {
                self.used(*view, span);
                self.code.load(*local);
                self.code.op1(Op::TValid, *table);
            }
            Base::Either(either) => {
                let either = Rc::clone(either);
                self.each(&either, |this, n| this.valid_place(&either.spots[n], span));
            }
            _ => {
                self.discard(spot);
                self.code.op(Op::PushC1);
            }
        }
    }

    /// 1 or 0 of what is decided by jumps.
    fn truth(&mut self, e: &Expr) {
        let (no, end) = (self.code.label(), self.code.label());
        self.branch(e, false, no);
        self.code.op(Op::PushC1);
        self.code.go(end);
        self.code.place(no);
        self.code.op(Op::PushC0);
        self.code.place(end);
    }

    fn choose(&mut self, condition: &Expr, yes: &Expr, no: &Expr) {
        if let Some(known) = fold(condition, &self.facts) {
            return self.value(if known != 0 { yes } else { no });
        }
        let (otherwise, end) = (self.code.label(), self.code.label());
        self.branch(condition, false, otherwise);
        self.value(yes);
        self.code.go(end);
        self.code.place(otherwise);
        self.value(no);
        self.code.place(end);
    }

    fn choose_effect(&mut self, condition: &Expr, yes: &Expr, no: &Expr) {
        let (otherwise, end) = (self.code.label(), self.code.label());
        self.branch(condition, false, otherwise);
        self.effect(yes);
        self.code.go(end);
        self.code.place(otherwise);
        self.effect(no);
        self.code.place(end);
    }

    /// Jumps if a condition is what `when` says, and goes on otherwise.
    pub(super) fn branch(&mut self, e: &Expr, when: bool, to: super::code::Label) {
        if !self.enter(e.span) {
            return self.leave();
        }
        match (&e.kind, fold(e, &self.facts)) {
            (_, Some(known)) => {
                if (known != 0) == when {
                    self.code.go(to);
                }
            }
            (Kind::Not(of), _) => self.branch(of, !when, to),
            (Kind::And(a, b), _) | (Kind::Or(a, b), _) => {
                let both = matches!(e.kind, Kind::And(..)) == when;
                if both {
                    // Only if both are as wanted: the first decides against it alone.
                    let stay = self.code.label();
                    self.branch(a, !when, stay);
                    self.branch(b, when, to);
                    self.code.place(stay);
                } else {
                    self.branch(a, when, to);
                    self.branch(b, when, to);
                }
            }
            (Kind::Compare(op, a, b), _) if a.ty.width() == 32 => {
                self.value(a);
                self.value(b);
                self.code.jump(jump_compare(*op, when, a.ty.is_signed()), to);
            }
            _ => {
                self.value(e);
                self.code.jump(if when { Op::JNe } else { Op::JEq }, to);
            }
        }
        self.leave();
    }

    /// A number on the stack as one of another type.
    pub(super) fn convert(&mut self, from: &Type, to: &Type) {
        let (old, new) = (from.width(), to.width());
        if *to == Type::Bool {
            self.code.constant(0, old);
            return self.code.op1(Op::WNe, old.into());
        }
        if old < new {
            return self.code.op2(if from.is_signed() { Op::WSext } else { Op::WZext }, old.into(), new.into());
        }
        if old > new {
            self.code.op2(Op::WTrunc, old.into(), new.into());
        }
        let Type::Int { bits, signed } = *to else { return };
        if bits >= 32 || fits(from, bits, signed) {
            return;
        }
        if signed {
            self.code.op1(Op::Push, 32 - u32::from(bits));
            self.code.op(Op::Shl);
            self.code.op1(Op::Push, 32 - u32::from(bits));
            self.code.op(Op::Shr);
        } else {
            self.code.op1(Op::Push, (1 << bits) - 1);
            self.code.op(Op::And);
        }
    }

    fn assign(&mut self, place: &PlaceExpr, value: &Expr, wanted: bool) {
        match &place.ty {
            Type::Struct(_) => {
                let to = self.assign_object(place, value);
                self.discard(&to);
            }
            Type::Pointer(_) => {
                if let Some(id) = self.pointer_variable(place) {
                    let value = self.pointer(value);
                    self.assign_pointer(id, value, place.span);
                }
            }
            ty => {
                self.value(value);
                if wanted {
                    self.code.op(Op::Dup);
                }
                let spot = self.place(place);
                self.store(&spot, ty, place.span);
                self.done(&spot);
            }
        }
    }

    fn update(&mut self, update: &Update, wanted: bool) {
        let Update { place, op, with, common, before } = update;
        let spot = self.place(place);
        let spot = self.pin(spot);
        self.load(&spot, &place.ty, place.span);
        if wanted && *before {
            self.code.op(Op::Dup);
        }
        self.convert(&place.ty, common);
        self.right(*op, with);
        self.binary(*op, common);
        self.convert(common, &place.ty);
        if wanted && !*before {
            self.code.op(Op::Dup);
        }
        self.store(&spot, &place.ty, place.span);
        self.done(&spot);
    }

    fn indexed_byte(&mut self, spot: Spot, index: &Expr) -> Spot {
        if let Some(n) = fold(index, &self.facts) {
            return spot.plus(n as u32);
        }
        self.value(index);
        self.narrow(&index.ty);
        self.add_at(spot)
    }
}

/// Every value of the type is one of an integer of so many bits.
fn fits(from: &Type, bits: u8, signed: bool) -> bool {
    match from {
        Type::Bool => true,
        Type::Int { bits: old, signed: was } => match (was, signed) {
            (true, false) => false,
            (false, true) => *old < bits,
            _ => *old <= bits,
        },
        _ => false,
    }
}

pub(super) fn wide_compare(op: Compare, signed: bool) -> Op {
    match (op, signed) {
        (Compare::Eq, _) => Op::WEq,
        (Compare::Ne, _) => Op::WNe,
        (Compare::Lt, false) => Op::WLt,
        (Compare::Le, false) => Op::WLe,
        (Compare::Gt, false) => Op::WGt,
        (Compare::Ge, false) => Op::WGe,
        (Compare::Lt, true) => Op::WLts,
        (Compare::Le, true) => Op::WLes,
        (Compare::Gt, true) => Op::WGts,
        (Compare::Ge, true) => Op::WGes,
    }
}

/// The jump that is taken where a comparison is what `when` says.
fn jump_compare(op: Compare, when: bool, signed: bool) -> Op {
    let op = match (op, when) {
        (op, true) => op,
        (Compare::Eq, false) => Compare::Ne,
        (Compare::Ne, false) => Compare::Eq,
        (Compare::Lt, false) => Compare::Ge,
        (Compare::Le, false) => Compare::Gt,
        (Compare::Gt, false) => Compare::Le,
        (Compare::Ge, false) => Compare::Lt,
    };
    match (op, signed) {
        (Compare::Eq, _) => Op::JCmpEq,
        (Compare::Ne, _) => Op::JCmpNeq,
        (Compare::Lt, false) => Op::JCmpL,
        (Compare::Le, false) => Op::JCmpLe,
        (Compare::Gt, false) => Op::JCmpG,
        (Compare::Ge, false) => Op::JCmpGe,
        (Compare::Lt, true) => Op::JCmpLs,
        (Compare::Le, true) => Op::JCmpLes,
        (Compare::Gt, true) => Op::JCmpGs,
        (Compare::Ge, true) => Op::JCmpGes,
    }
}
