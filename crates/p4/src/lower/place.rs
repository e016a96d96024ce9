//! Where values are: each value is a row of scalars in locals, its leaves.
//!
//! A header is its validity and its fields, a stack its elements and the index of the next one, a
//! `varbit` its bits from the left and how many there are. An index that is known at run time only
//! makes a place of several candidates: what is read is chosen among them, and what is written goes
//! to the one that is meant. So an index outside reads the first and writes nothing.

use super::{Lower, Lowered, fault};
use crate::ast::Aggregate;
use crate::hir::{Builtin, Expr, ExprKind, Type};
use frontends::diagnostics::Span;
use netil::table::Op;
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use std::rc::Rc;

/// What a leaf is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// Bits of a packet or of arithmetic.
    Bits(u16),
    /// 0 or 1 in 32 bits; one bit in packets.
    Bool,
    /// A number in 32 bits that is in no packet.
    Number,
    /// The bits of a `varbit`; its length is the next leaf.
    Var(u16),
    /// Validity of a header.
    Valid,
    /// The index of the next element of a stack.
    Next,
}

impl Leaf {
    pub fn width(self) -> u16 {
        match self {
            Self::Bits(w) | Self::Var(w) => w,
            _ => 32,
        }
    }

    /// How many bits it takes in a packet, for what has a fixed number.
    pub fn bits(self) -> u32 {
        match self {
            Self::Bits(w) => u32::from(w),
            Self::Bool => 1,
            _ => 0,
        }
    }
}

/// An index that is known at run time.
#[derive(Clone, Debug)]
pub(super) struct Dim {
    pub index: u32,
    pub stride: u32,
    pub count: u32,
}

#[derive(Clone, Debug)]
pub(super) struct StorageLocation {
    /// Its first leaf.
    pub base: u32,
    pub dims: Vec<Dim>,
    pub ty: Type,
    /// Leaves with the validity of the other members of the union, relative to the base.
    pub siblings: Rc<[i64]>,
}

/// The most leaves of one value.
const MAX_LEAVES: usize = 4096;

impl Lower<'_> {
    pub(super) fn leaves(&self, ty: &Type, span: Span) -> Lowered<Vec<Leaf>> {
        let mut out = Vec::new();
        self.leaves_into(ty, span, &mut out)?;
        Ok(out)
    }

    fn leaves_into(&self, ty: &Type, span: Span, out: &mut Vec<Leaf>) -> Lowered<()> {
        let ty = self.resolve(ty);
        if out.len() > MAX_LEAVES {
            return fault(span, format!("a value of more than {MAX_LEAVES} parts"));
        }
        match self.program.underlying(&ty) {
            Type::Bool => out.push(Leaf::Bool),
            Type::Bit(w) | Type::Int(w) if w > u32::from(netil::wide::MAX_WIDTH) => {
                return fault(span, format!("numbers of more than {} bits are not supported", netil::wide::MAX_WIDTH));
            }
            Type::Bit(w) | Type::Int(w) => out.push(Leaf::Bits(w.max(1) as u16)),
            Type::Varbit(w) => {
                let width = w.max(8).next_multiple_of(8);
                if width > u32::from(netil::wide::MAX_WIDTH) {
                    return fault(span, format!("a varbit of more than {} bits is not supported", netil::wide::MAX_WIDTH));
                }
                out.extend([Leaf::Var(width as u16), Leaf::Number]);
            }
            Type::Error | Type::Enum(_) | Type::MatchKind | Type::Any | Type::Integer => out.push(Leaf::Number),
            Type::Struct(id, args) => {
                if self.program.aggregate(&ty) == Some(Aggregate::Header) {
                    out.push(Leaf::Valid);
                }
                for field in self.program.fields(id, &args) {
                    self.leaves_into(&field.ty, span, out)?;
                }
            }
            Type::Stack(of, n) => {
                for _ in 0..n {
                    self.leaves_into(&of, span, out)?;
                }
                out.push(Leaf::Next);
            }
            Type::Tuple(items) => items.iter().try_for_each(|t| self.leaves_into(t, span, out))?,
            Type::Extern(..) | Type::Void | Type::Str => {}
            other => return fault(span, format!("a value of {} is not supported", self.program.show(&other))),
        }
        Ok(())
    }

    pub(super) fn count(&self, ty: &Type, span: Span) -> Lowered<u32> {
        self.leaves(ty, span).map(|l| l.len() as u32)
    }

    /// The leaf of a scalar.
    pub(super) fn scalar(&self, ty: &Type, span: Span) -> Lowered<Leaf> {
        match self.leaves(ty, span)?.as_slice() {
            [only] => Ok(*only),
            _ => fault(span, format!("a value of {} is not supported here", self.program.show(ty))),
        }
    }

    /// A new place of that type; what it holds is not said.
    pub(super) fn new_place(&mut self, ty: &Type, span: Span) -> Lowered<StorageLocation> {
        let base = self.code.locals() as u32;
        for leaf in self.leaves(ty, span)? {
            self.code.new_local(leaf.width());
        }
        Ok(StorageLocation { base, dims: Vec::new(), ty: self.resolve(ty), siblings: [].into() })
    }

    /// Zeros, invalid headers, empty stacks.
    pub(super) fn clear(&mut self, place: &StorageLocation, span: Span) -> Lowered<()> {
        for (n, leaf) in self.leaves(&place.ty, span)?.into_iter().enumerate() {
            self.code.constant(&BigInt::ZERO, leaf.width());
            self.store_leaf(place, n as u32, leaf);
        }
        Ok(())
    }

    /// Every leaf that a place may mean at that offset, with the values that its indices have
    /// there.
    fn candidates(place: &StorageLocation, offset: u32) -> Vec<(u32, Vec<(u32, u32)>)> {
        let mut all = vec![(place.base + offset, Vec::new())];
        for dim in &place.dims {
            all = all
                .into_iter()
                .flat_map(|(at, when)| {
                    (0..dim.count).map(move |k| {
                        let mut when = when.clone();
                        when.push((dim.index, k));
                        (at + k * dim.stride, when)
                    })
                })
                .collect();
        }
        all
    }

    fn condition(&mut self, when: &[(u32, u32)]) {
        for (n, (index, k)) in when.iter().enumerate() {
            self.code.get(*index);
            self.code.push(*k);
            self.code.w(Op::WEq, 32);
            if n > 0 {
                self.code.op(Op::And);
            }
        }
    }

    pub(super) fn load_leaf(&mut self, place: &StorageLocation, offset: u32, leaf: Leaf) {
        let all = Self::candidates(place, offset);
        self.code.get(all[0].0);
        if all.len() == 1 {
            return;
        }
        let temp = self.code.temp(leaf.width());
        for (at, when) in &all[1..] {
            self.code.set(temp);
            self.condition(when);
            self.code.get(*at);
            self.code.get(temp);
            self.code.w(Op::WSelect, leaf.width());
        }
        self.code.release(temp);
    }

    pub(super) fn store_leaf(&mut self, place: &StorageLocation, offset: u32, leaf: Leaf) {
        if place.dims.is_empty() {
            return self.code.set(place.base + offset);
        }
        let temp = self.code.temp(leaf.width());
        self.code.set(temp);
        for (at, when) in Self::candidates(place, offset) {
            self.condition(&when);
            self.code.get(temp);
            self.code.get(at);
            self.code.w(Op::WSelect, leaf.width());
            self.code.set(at);
        }
        self.code.release(temp);
    }

    /// Takes the value on the stack as a header's validity; a valid member of a union makes the
    /// others invalid.
    pub(super) fn store_valid(&mut self, place: &StorageLocation) {
        self.store_leaf(place, 0, Leaf::Valid);
        for sibling in place.siblings.clone().iter() {
            let other = StorageLocation { base: (i64::from(place.base) + sibling) as u32, siblings: [].into(), ..place.clone() };
            self.load_leaf(&other, 0, Leaf::Valid);
            self.load_leaf(place, 0, Leaf::Valid);
            self.code.push(1);
            self.code.op(Op::Xor);
            self.code.op(Op::And);
            self.store_leaf(&other, 0, Leaf::Valid);
        }
    }

    pub(super) fn copy(&mut self, to: &StorageLocation, from: &StorageLocation, span: Span) -> Lowered<()> {
        let header = self.program.aggregate(&to.ty) == Some(Aggregate::Header);
        for (n, leaf) in self.leaves(&to.ty, span)?.into_iter().enumerate() {
            self.load_leaf(from, n as u32, leaf);
            if header && n == 0 { self.store_valid(to) } else { self.store_leaf(to, n as u32, leaf) }
        }
        Ok(())
    }

    /// A member of an aggregate by its number.
    pub(super) fn member(&self, of: &StorageLocation, at: usize, span: Span) -> Lowered<StorageLocation> {
        let (types, mut offset): (Vec<Type>, u32) = match &of.ty {
            Type::Struct(id, args) => {
                let header = self.program.aggregate(&of.ty) == Some(Aggregate::Header);
                (self.program.fields(*id, args).into_iter().map(|f| f.ty).collect(), u32::from(header))
            }
            Type::Tuple(items) => (items.to_vec(), 0),
            _ => return fault(span, "this has no members"),
        };
        let start = offset;
        for ty in &types[..at] {
            offset += self.count(ty, span)?;
        }
        let mut siblings = Vec::new();
        if self.program.aggregate(&of.ty) == Some(Aggregate::Union) {
            let mut other = start;
            for (n, ty) in types.iter().enumerate() {
                if n != at {
                    siblings.push(i64::from(other) - i64::from(offset));
                }
                other += self.count(ty, span)?;
            }
        }
        Ok(StorageLocation { base: of.base + offset, dims: of.dims.clone(), ty: self.resolve(&types[at]), siblings: siblings.into() })
    }

    pub(super) fn element(&self, of: &StorageLocation, at: u32, span: Span) -> Lowered<StorageLocation> {
        let Type::Stack(ty, _) = &of.ty else { return fault(span, "this has no elements") };
        let stride = self.count(ty, span)?;
        Ok(StorageLocation { base: of.base + at * stride, dims: of.dims.clone(), ty: (**ty).clone(), siblings: [].into() })
    }

    /// The element whose index is in that local.
    pub(super) fn indexed(&self, of: &StorageLocation, index: u32, span: Span) -> Lowered<StorageLocation> {
        let Type::Stack(ty, count) = &of.ty else { return fault(span, "this has no elements") };
        let stride = self.count(ty, span)?;
        let mut dims = of.dims.clone();
        dims.push(Dim { index, stride, count: *count });
        Ok(StorageLocation { base: of.base, dims, ty: (**ty).clone(), siblings: [].into() })
    }

    /// The place that holds a stack's next index.
    pub(super) fn next_index(&self, of: &StorageLocation, span: Span) -> Lowered<u32> {
        let Type::Stack(ty, count) = &of.ty else { return fault(span, "this is no stack") };
        Ok(self.count(ty, span)? * count)
    }

    /// The place of an expression; of what is no place, a new one that holds its value.
    pub(super) fn place(&mut self, e: &Expr) -> Lowered<StorageLocation> {
        match &e.kind {
            ExprKind::Var(var) => match self.bindings.get(var) {
                Some(super::Binding::Place(place)) => Ok(place.clone()),
                Some(super::Binding::Const(value)) => {
                    let value = value.clone();
                    self.held(&value)
                }
                _ => fault(e.span, format!("`{}` is not supported here", self.program.vars[*var].name)),
            },
            ExprKind::Member(of, at) => {
                let of = self.place(of)?;
                self.member(&of, *at, e.span)
            }
            ExprKind::Index(of, index) => {
                let of = self.place(of)?;
                if let ExprKind::Int(n) = &index.kind {
                    return self.element(&of, n.to_u32().unwrap_or(0), e.span);
                }
                let local = self.code.new_local(32);
                self.index_value(index)?;
                self.code.set(local);
                self.indexed(&of, local, e.span)
            }
            ExprKind::Next(of) | ExprKind::Last(of) => {
                let of = self.place(of)?;
                let next = self.next_index(&of, e.span)?;
                let local = self.code.new_local(32);
                self.load_leaf(&of, next, Leaf::Next);
                if let ExprKind::Last(_) = e.kind {
                    self.code.op(Op::Dec1);
                }
                self.code.set(local);
                self.stack_bounds(&of, local);
                self.indexed(&of, local, e.span)
            }
            _ => self.held(e),
        }
    }

    /// A new place with the value of an expression.
    pub(super) fn held(&mut self, e: &Expr) -> Lowered<StorageLocation> {
        let place = self.new_place(&e.ty, e.span)?;
        self.eval_into(e, &place)?;
        Ok(place)
    }

    /// An index in 32 bits; what does not fit is outside.
    fn index_value(&mut self, index: &Expr) -> Lowered<()> {
        let width = self.value(index)?.width();
        if width <= 32 {
            if matches!(self.resolve(&index.ty), Type::Int(_)) && width < 32 {
                self.code.op2(Op::WSext, u32::from(width), 32);
            } else {
                self.code.resize(width, 32);
            }
            return Ok(());
        }
        let temp = self.code.temp(width);
        self.code.set(temp);
        self.code.get(temp);
        self.code.constant(&BigInt::from(u32::MAX), width);
        self.code.w(Op::WLt, width);
        self.code.get(temp);
        self.code.resize(width, 32);
        self.code.push(u32::MAX);
        self.code.w(Op::WSelect, 32);
        self.code.release(temp);
        Ok(())
    }

    pub(super) fn builtin(&mut self, builtin: Builtin, object: &Expr) -> Lowered<()> {
        let place = self.place(object)?;
        match builtin {
            Builtin::IsValid => self.is_valid(&place, object.span),
            Builtin::SetValid => self.make_valid(&place, object.span),
            Builtin::SetInvalid => self.make_invalid(&place, object.span),
            Builtin::PushFront(n) | Builtin::PopFront(n) => self.shift(&place, n, matches!(builtin, Builtin::PushFront(_)), object.span),
        }
    }

    /// A header that was invalid has fields of 0 then, as in BMv2.
    fn make_valid(&mut self, place: &StorageLocation, span: Span) -> Lowered<()> {
        let end = self.code.label();
        self.load_leaf(place, 0, Leaf::Valid);
        self.code.branch(Op::JNe, end);
        self.clear(place, span)?;
        self.code.push(1);
        self.store_valid(place);
        self.grow(place, Op::Add, span)?;
        self.code.bind(end);
        Ok(())
    }

    fn make_invalid(&mut self, place: &StorageLocation, span: Span) -> Lowered<()> {
        let end = self.code.label();
        self.load_leaf(place, 0, Leaf::Valid);
        self.code.branch(Op::JEq, end);
        self.code.push(0);
        self.store_valid(place);
        self.grow(place, Op::Sub, span)?;
        self.code.bind(end);
        Ok(())
    }

    /// Notes that the packet has a header more, or less.
    fn grow(&mut self, place: &StorageLocation, by: Op, span: Span) -> Lowered<()> {
        let Some(grown) = self.grown else { return Ok(()) };
        let fixed: u32 = self.groups(&place.ty, span)?.iter().map(|group| group.1 / 8).sum();
        self.code.get(grown);
        self.code.push(fixed);
        for (n, _) in (0u32..).zip(self.leaves(&place.ty, span)?).filter(|(_, leaf)| matches!(leaf, Leaf::Var(_))) {
            self.load_leaf(place, n + 1, Leaf::Number);
            self.code.push(3);
            self.code.op(Op::UShr);
            self.code.op(Op::Add);
        }
        self.code.op(by);
        self.code.set(grown);
        Ok(())
    }

    pub(super) fn is_valid(&mut self, place: &StorageLocation, span: Span) -> Lowered<()> {
        let Type::Struct(id, args) = place.ty.clone() else { return fault(span, "this is no header") };
        if self.program.aggregate(&place.ty) == Some(Aggregate::Header) {
            self.load_leaf(place, 0, Leaf::Valid);
            return Ok(());
        }
        self.code.push(0);
        for at in 0..self.program.fields(id, &args).len() {
            let member = self.member(place, at, span)?;
            self.load_leaf(&member, 0, Leaf::Valid);
            self.code.op(Op::Or);
        }
        Ok(())
    }

    /// `push_front` and `pop_front`.
    fn shift(&mut self, place: &StorageLocation, n: u32, up: bool, span: Span) -> Lowered<()> {
        let Type::Stack(_, size) = place.ty.clone() else { return fault(span, "this is no stack") };
        let order: Vec<u32> = if up { (0..size).rev().collect() } else { (0..size).collect() };
        for at in order {
            let from = if up { at.checked_sub(n) } else { Some(at + n).filter(|f| *f < size) };
            let to = self.element(place, at, span)?;
            match from {
                Some(from) => {
                    let from = self.element(place, from, span)?;
                    self.copy(&to, &from, span)?;
                }
                None => self.clear(&to, span)?,
            }
        }
        let next = self.next_index(place, span)?;
        self.load_leaf(place, next, Leaf::Next);
        let temp = self.code.temp(32);
        let (limit, op) = if up { (size.saturating_sub(n), Op::Add) } else { (n, Op::Sub) };
        self.code.set(temp);
        self.code.get(temp);
        self.code.push(limit);
        self.code.w(if up { Op::WLt } else { Op::WGe }, 32);
        self.code.get(temp);
        self.code.push(n);
        self.code.op(op);
        self.code.push(if up { size } else { 0 });
        self.code.w(Op::WSelect, 32);
        self.code.release(temp);
        self.store_leaf(place, next, Leaf::Next);
        Ok(())
    }
}
