//! Structs: values of them, copies, comparisons, keys of tables.

use super::place::{At, Base, Pointed, Spot};
use super::{Leaf, Lowerer, MAX_LEAVES, MAX_PARTS, Storage};
use crate::c::tree::{Expr, Kind, PlaceExpr};
use crate::c::types::Type;
use crate::diagnostics::Span;
use netil::table::Op;
use std::rc::Rc;

impl Lowerer<'_> {
    /// Storage for an object: locals for its scalars, or data memory.
    pub(super) fn storage(&mut self, ty: &Type) -> Option<Storage> {
        let leaves = if ty.has_array() { None } else { ty.leaves(MAX_LEAVES) }?;
        let leaves: Vec<Leaf> = leaves.into_iter().map(|(offset, ty)| (offset, ty.clone(), self.own(ty.width()))).collect();
        Some(Storage::Leaves(Rc::new(leaves)))
    }

    /// A new object for a value on its way.
    fn temporary(&mut self, ty: &Type) -> Spot {
        match self.storage(ty) {
            Some(Storage::Leaves(leaves)) => Spot::new(Base::Leaves(leaves), 0),
            _ => {
                let at = self.allocate(ty.size());
                Spot::new(Base::Data, at)
            }
        }
    }

    /// The place of a struct's value.
    pub(super) fn object(&mut self, e: &Expr) -> Spot {
        if !self.enter(e.span) {
            self.leave();
            return Spot::new(Base::Wrong, 0);
        }
        let spot = self.object_of(e);
        self.leave();
        spot
    }

    fn object_of(&mut self, e: &Expr) -> Spot {
        match &e.kind {
            Kind::Load(place) => self.place(place),
            Kind::Assign(place, value) => self.assign_object(place, value),
            Kind::Comma(first, second) => {
                self.effect(first);
                self.object(second)
            }
            Kind::Choose(condition, yes, no) => self.choose_object(condition, yes, no, &e.ty),
            Kind::Call(function, args) => match self.inline(*function, args, e.span) {
                Some(Storage::Leaves(leaves)) => Spot::new(Base::Leaves(leaves), 0),
                Some(Storage::Memory(at)) => Spot::new(Base::Data, at),
                _ => Spot::new(Base::Wrong, 0),
            },
            Kind::Compound(local, parts) => {
                self.declare_parts(*local, parts);
                self.local_spot(*local)
            }
            Kind::Error => Spot::new(Base::Wrong, 0),
            _ if e.ty.is_scalar() => {
                self.value(e);
                let local = self.own(e.ty.width());
                self.code.store(local);
                Spot::new(Base::Leaves(Rc::new(vec![(0, e.ty.clone(), local)])), 0)
            }
            _ => Spot::new(Base::Wrong, 0),
        }
    }

    fn choose_object(&mut self, condition: &Expr, yes: &Expr, no: &Expr, ty: &Type) -> Spot {
        let result = self.temporary(ty);
        let (otherwise, end) = (self.code.label(), self.code.label());
        self.branch(condition, false, otherwise);
        let from = self.object(yes);
        self.copy(from, &result, ty, yes.span);
        self.code.go(end);
        self.code.place(otherwise);
        let from = self.object(no);
        self.copy(from, &result, ty, no.span);
        self.code.place(end);
        result
    }

    pub(super) fn assign_object(&mut self, place: &PlaceExpr, value: &Expr) -> Spot {
        let from = self.object(value);
        let from = self.pin(from);
        let to = self.place(place);
        let to = self.pin(to);
        self.copy(from, &to, &place.ty, place.span);
        to
    }

    /// Copies an object, scalar by scalar; both places are pinned, or have nothing on the stack.
    pub(super) fn copy(&mut self, from: Spot, to: &Spot, ty: &Type, span: Span) {
        if matches!(from.base, Base::Wrong) || matches!(to.base, Base::Wrong) {
            return;
        }
        let from = self.pin(from);
        let Some(leaves) = self.parts(ty, span) else { return };
        for (offset, ty) in &leaves {
            self.load(&from.plus(*offset), ty, span);
            self.store(&to.plus(*offset), ty, span);
        }
        self.done(&from);
    }

    pub(super) fn parts(&mut self, ty: &Type, span: Span) -> Option<Vec<(u32, Type)>> {
        let leaves = ty.leaves(MAX_PARTS);
        if leaves.is_none() {
            self.fault_help(span, format!("this has more than {MAX_PARTS} parts"), "copy its elements in a loop");
        }
        leaves
    }

    /// 1 if two values are the same, onto the stack.
    pub(super) fn equal(&mut self, a: &Expr, b: &Expr) {
        if a.ty.is_scalar() {
            let width = a.ty.width().max(b.ty.width());
            self.as_wide(a, width);
            self.as_wide(b, width);
            return self.code.op1(Op::WEq, width.into());
        }
        let (left, right) = (self.object_pinned(a), self.object_pinned(b));
        let Some(leaves) = self.parts(&a.ty, a.span) else { return self.code.op(Op::PushC0) };
        for (n, (offset, ty)) in leaves.iter().enumerate() {
            self.load(&left.plus(*offset), ty, a.span);
            self.load(&right.plus(*offset), ty, b.span);
            self.code.op1(Op::WEq, ty.width().into());
            if n > 0 {
                self.code.op(Op::And);
            }
        }
        self.done(&left);
        self.done(&right);
    }

    fn as_wide(&mut self, e: &Expr, width: u16) {
        self.value(e);
        if e.ty.width() < width {
            self.code.op2(if e.ty.is_signed() { Op::WSext } else { Op::WZext }, e.ty.width().into(), width.into());
        }
    }

    fn object_pinned(&mut self, e: &Expr) -> Spot {
        let spot = match (&e.kind, &e.ty) {
            (Kind::Address(place), Type::Pointer(_)) => self.place(place),
            (_, Type::Pointer(_)) => match self.pointer(e) {
                Pointed::At(spot) => spot,
                Pointed::Null => Spot::new(Base::Wrong, 0),
            },
            _ => self.object(e),
        };
        self.pin(spot)
    }

    /// The key in a place onto the stack: its scalars one after the other, the first most
    /// significant.
    pub(super) fn key(&mut self, place: &PlaceExpr) {
        let spot = self.place(place);
        let spot = self.pin(spot);
        let size = place.ty.size();
        let Some(leaves) = self.parts(&place.ty, place.span) else { return self.code.constant(0, (size * 8) as u16) };
        let in_order = matches!(spot.base, Base::Packet(_) | Base::Initialised);
        if in_order && leaves.iter().all(|(_, ty)| reads_in_order(ty, &spot)) && size * 8 <= 2048 {
            self.key_whole(&spot, size, place.span);
        } else {
            self.key_parts(&spot, &leaves, place.span);
        }
        self.done(&spot);
    }

    fn key_whole(&mut self, spot: &Spot, size: u32, span: Span) {
        if let Base::Packet(view) = spot.base {
            self.packet_used(span);
            self.used(view, span);
        }
        self.address(spot);
        self.code.op1(if matches!(spot.base, Base::Packet(_)) { Op::WpLoad } else { Op::WcLoad }, size * 8);
    }

    fn key_parts(&mut self, spot: &Spot, leaves: &[(u32, Type)], span: Span) {
        let mut width = 0;
        for (offset, ty) in leaves {
            self.load(&spot.plus(*offset), ty, span);
            let bits = ty.size() * 8;
            if bits < u32::from(ty.width()) {
                self.code.op2(Op::WTrunc, ty.width().into(), bits);
            }
            if width > 0 {
                self.code.op2(Op::WConcat, width, bits);
            }
            width += bits;
        }
    }

    /// The place of a local that is no pointer.
    pub(super) fn local_spot(&mut self, local: usize) -> Spot {
        match self.frame().vars.get(local).cloned().flatten() {
            Some(Storage::Leaves(leaves)) => Spot::new(Base::Leaves(leaves), 0),
            Some(Storage::Memory(at)) => Spot::new(Base::Data, at),
            _ => Spot::new(Base::Wrong, 0),
        }
    }

    /// A local with an initial value in braces: what is not named is 0.
    pub(super) fn declare_parts(&mut self, local: usize, parts: &[(u32, Type, Expr)]) {
        self.declare_storage(local);
        let spot = self.local_spot(local);
        let ty = self.program.functions[self.frame().function].locals[local].ty.clone();
        self.clear(&spot, &ty, parts);
        for (offset, ty, value) in parts {
            let to = spot.plus(*offset);
            if ty.is_scalar() {
                self.value(value);
                self.store(&to, ty, value.span);
            } else {
                let from = self.object(value);
                self.copy(from, &to, ty, value.span);
            }
        }
    }

    /// Zeros where no part is named.
    fn clear(&mut self, spot: &Spot, ty: &Type, parts: &[(u32, Type, Expr)]) {
        let named = |offset: u32| parts.iter().any(|(start, part, _)| (*start..*start + part.size()).contains(&offset));
        match ty.leaves(MAX_PARTS) {
            Some(leaves) => {
                for (offset, ty) in leaves.iter().filter(|(offset, _)| !named(*offset)) {
                    self.code.constant(0, ty.width());
                    self.store(&spot.plus(*offset), ty, Span::default());
                }
            }
            None => self.clear_loop(spot, ty.size()),
        }
    }

    /// Zeros over a large array in data memory, byte by byte.
    fn clear_loop(&mut self, spot: &Spot, size: u32) {
        let (top, at) = (self.code.label(), self.code.local(32));
        self.code.op(Op::PushC0);
        self.code.store(at);
        self.code.place(top);
        self.code.op(Op::PushC0);
        self.code.load(at);
        self.store(&Spot { at: At::Stack, ..spot.clone() }, &crate::c::types::U8, Span::default());
        self.code.load(at);
        self.code.op(Op::Inc1);
        self.code.op(Op::Dup);
        self.code.store(at);
        self.code.op1(Op::Push, size);
        self.code.jump(Op::JCmpL, top);
        self.code.release(at);
    }
}

/// The scalar's bytes in that memory are those of the key.
fn reads_in_order(ty: &Type, spot: &Spot) -> bool {
    match ty {
        Type::Int { bits, .. } => *bits == 8 || matches!(spot.base, Base::Initialised),
        _ => true,
    }
}
