//! Objects: where they are, how they are loaded and stored.

use super::flow::Event;
use super::{Leaf, Lowerer, Storage, View};
use crate::c::fold::{Known, fold};
use crate::c::tree::{Expr, PlaceExpr, PlaceKind};
use crate::c::types::Type;
use crate::diagnostics::Span;
use netil::module::HandlerKind;
use netil::table::Op;
use std::rc::Rc;

/// The memory that an object is in.
#[derive(Clone, Debug)]
pub(super) enum Base {
    /// The packet, seen through a view if that has a name.
    Packet(Option<View>),
    Data,
    /// Shared memory.
    Shared,
    Initialised,
    Info,
    Leaves(Rc<Vec<Leaf>>),
    /// An entry in a local. With a computed index: the array that it is in, its offset and bytes.
    Entry {
        table: u32,
        local: u32,
        view: Option<View>,
        array: Option<(u32, u32)>,
    },
    /// A parameter of the class.
    Param(usize),
    /// One of several, which is known when the program runs.
    Either(Rc<Either>),
    /// Nowhere: told already.
    Wrong,
}

/// Several places, and the local that says which of them counts.
#[derive(Debug)]
pub(super) struct Either {
    pub(super) which: u32,
    pub(super) spots: Vec<Spot>,
}

/// The computed part of an address, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    None,
    /// On the stack.
    Stack,
    /// In a pointer variable.
    Local(u32),
    /// In a local that is given back with [`Lowerer::done`].
    Temp(u32),
}

/// A place, known but for a computed offset.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pub(super) base: Base,
    pub(super) at: At,
    pub(super) offset: u32,
}

impl Spot {
    pub(super) fn new(base: Base, offset: u32) -> Self {
        Self { base, at: At::None, offset }
    }

    pub(super) fn plus(&self, more: u32) -> Self {
        Self { offset: self.offset.wrapping_add(more), ..self.clone() }
    }
}

/// What a pointer expression gives.
pub(super) enum Pointed {
    Null,
    At(Spot),
}

impl Lowerer<'_> {
    /// Finds an object; what is computed of its address is on the stack.
    pub(super) fn place(&mut self, place: &PlaceExpr) -> Spot {
        if !self.enter(place.span) {
            self.leave();
            return Spot::new(Base::Wrong, 0);
        }
        let spot = self.found(place);
        self.leave();
        spot
    }

    fn found(&mut self, place: &PlaceExpr) -> Spot {
        match &place.kind {
            PlaceKind::Local(id) => self.variable(*id, place),
            PlaceKind::Static(id) => self.static_variable(*id),
            PlaceKind::Param(id) => Spot::new(Base::Param(*id), 0),
            PlaceKind::Info(id) => Spot::new(Base::Info, self.info_offset(*id, place.span)),
            PlaceKind::Deref(pointer, index) => {
                let spot = self.pointed(pointer);
                match index {
                    Some(index) if self.is_in_several(&spot, index, pointer) => Spot::new(Base::Wrong, 0),
                    Some(index) => self.indexed(spot, index, place.ty.size(), None),
                    None => spot,
                }
            }
            PlaceKind::Member(of, offset) => self.place(of).plus(*offset),
            PlaceKind::Element(of, index) => {
                let spot = self.place(of);
                if behind(of).is_some_and(|pointer| self.is_in_several(&spot, index, pointer)) {
                    return Spot::new(Base::Wrong, 0);
                }
                self.indexed(spot, index, place.ty.size(), Some(of.ty.size()))
            }
            PlaceKind::Byte(of, index) => self.byte(of, index),
            PlaceKind::Value(value) => self.object(value),
        }
    }

    fn static_variable(&mut self, id: usize) -> Spot {
        let base = match &self.program.statics[id] {
            variable if variable.constant => Base::Initialised,
            variable if variable.is_shared() => Base::Shared,
            _ => Base::Data,
        };
        Spot::new(base, self.static_address(id))
    }

    fn variable(&mut self, id: usize, place: &PlaceExpr) -> Spot {
        match self.frame().vars.get(id).cloned().flatten() {
            Some(Storage::Leaves(leaves)) => Spot::new(Base::Leaves(leaves), 0),
            Some(Storage::Memory(address)) => Spot::new(Base::Data, address),
            Some(Storage::Pointer(_)) | None => {
                self.fault(place.span, "this variable has no place");
                Spot::new(Base::Wrong, 0)
            }
        }
    }

    /// The object that a pointer points to.
    pub(super) fn pointed(&mut self, pointer: &Expr) -> Spot {
        match self.pointer(pointer) {
            Pointed::At(spot) => spot,
            Pointed::Null => {
                self.fault(pointer.span, "this pointer is always 0");
                Spot::new(Base::Wrong, 0)
            }
        }
    }

    fn info_offset(&mut self, id: usize, span: Span) -> u32 {
        if let Some(offset) = self.infos.get(&id) {
            return *offset;
        }
        let (name, ty) = &self.program.infos[id];
        let offset = match self.info.place(name, ty.size()) {
            Ok(offset) => offset,
            Err(size) => {
                self.fault(
                    span,
                    format!("the info field `{name}` has {size} bytes in other elements of the application, and here {}", ty.size()),
                );
                0
            }
        };
        self.infos.insert(id, offset);
        offset
    }

    /// The n-th object of a size from a place; `whole` is the size of the array, if there is one
    /// around.
    fn indexed(&mut self, spot: Spot, index: &Expr, size: u32, whole: Option<u32>) -> Spot {
        let own = matches!(spot.base, Base::Data | Base::Shared | Base::Initialised | Base::Info);
        let count = whole.filter(|_| own).map(|whole| whole / size.max(1));
        if let Some(n) = fold(index, &self.facts) {
            self.constant_within(n as u32, count, index.span);
            return spot.plus((n as u32).wrapping_mul(size));
        }
        let spot = match (&spot.base, whole) {
            (Base::Leaves(_) | Base::Param(_) | Base::Either(_), _) => {
                self.constant_index(index.span);
                return Spot::new(Base::Wrong, 0);
            }
            (Base::Entry { table, local, view, array: None }, Some(bytes)) => {
                let base = Base::Entry { table: *table, local: *local, view: *view, array: Some((spot.offset, bytes)) };
                Spot { base, ..spot }
            }
            (Base::Entry { array: None, .. }, None) => {
                self.fault_help(index.span, "this index must be a constant", "index the array in the entry itself");
                return Spot::new(Base::Wrong, 0);
            }
            _ => spot,
        };
        self.value(index);
        self.narrow(&index.ty);
        self.index_to_bytes(index, size, count);
        self.add_at(spot)
    }

    pub(super) fn constant_index(&mut self, span: Span) {
        self.fault_help(span, "this index must be a constant", "copy the struct into a static variable or an array");
    }

    /// Code for each of several places, of which the one that counts is run. All leave the stack
    /// alike.
    pub(super) fn each(&mut self, either: &Either, mut make: impl FnMut(&mut Self, usize)) {
        let end = self.code.label();
        for n in 0..either.spots.len() {
            let next = self.code.label();
            if n + 1 < either.spots.len() {
                self.code.load(either.which);
                self.code.op1(Op::Push, n as u32);
                self.code.jump(Op::JCmpNeq, next);
            }
            make(self, n);
            self.code.go(end);
            self.code.place(next);
        }
        self.code.place(end);
    }

    /// Adds the number on the stack to the computed part of an address.
    pub(super) fn add_at(&mut self, spot: Spot) -> Spot {
        match spot.at {
            At::None => {}
            At::Stack => self.code.op(Op::Add),
            At::Local(local) | At::Temp(local) => {
                self.code.load(local);
                self.code.op(Op::Add);
            }
        }
        Spot { at: At::Stack, ..spot }
    }

    /// A byte of an address in packet or initialised data; elsewhere loads and stores are made of
    /// the whole.
    fn byte(&mut self, of: &PlaceExpr, index: &Expr) -> Spot {
        let spot = self.place(of);
        match spot.base {
            Base::Packet(_) | Base::Initialised => self.indexed(spot, index, 1, None),
            Base::Wrong => spot,
            _ => {
                self.fault_help(index.span, "a byte of an address can only be changed in the packet", "assign the whole address");
                Spot::new(Base::Wrong, 0)
            }
        }
    }

    /// The computed part of an address into a local, so that the place can be used more than once.
    pub(super) fn pin(&mut self, spot: Spot) -> Spot {
        if spot.at != At::Stack {
            return spot;
        }
        Spot { at: At::Temp(self.code.keep(32)), ..spot }
    }

    /// A pinned place is not used any more.
    pub(super) fn done(&mut self, spot: &Spot) {
        if let At::Temp(local) = spot.at {
            self.code.release(local);
        }
    }

    /// The address of a place in a memory onto the stack.
    pub(super) fn address(&mut self, spot: &Spot) {
        match spot.at {
            At::None => return self.code.op1(Op::Push, spot.offset),
            At::Stack => {}
            At::Local(local) | At::Temp(local) => self.code.load(local),
        }
        if spot.offset != 0 {
            self.code.op1(Op::Push, spot.offset);
            self.code.op(Op::Add);
        }
    }

    pub(super) fn used(&mut self, view: Option<View>, span: Span) {
        if let Some(view) = view {
            self.code.event(Event::Use(view, span));
        }
    }

    /// Tells where the packet is used in the init handler, where there is none.
    pub(super) fn packet_used(&mut self, span: Span) {
        if self.kind == HandlerKind::Init {
            self.fault(span, "there is no packet in init()");
        }
    }

    /// The scalar in a place onto the stack.
    pub(super) fn load(&mut self, spot: &Spot, ty: &Type, span: Span) {
        match &spot.base {
            Base::Packet(view) => {
                self.packet_used(span);
                self.used(*view, span);
                self.address(spot);
                self.load_packet(ty);
            }
            Base::Data => {
                self.address(spot);
                self.load_little(ty, [Op::UmLoad8, Op::SmLoad8, Op::UmLoad16, Op::SmLoad16, Op::UmLoad32, Op::WmLoad]);
            }
            Base::Shared => {
                self.address(spot);
                self.load_little(ty, [Op::UsLoad8, Op::SsLoad8, Op::UsLoad16, Op::SsLoad16, Op::SsLoad32, Op::WsLoad]);
            }
            Base::Info => {
                self.packet_used(span);
                self.address(spot);
                self.load_little(ty, [Op::UiLoad8, Op::SiLoad8, Op::UiLoad16, Op::SiLoad16, Op::SiLoad32, Op::WiLoad]);
            }
            Base::Initialised => {
                self.address(spot);
                let bits = ty.size() * 8;
                self.code.op1(Op::WcLoad, bits);
                self.extend(ty, bits);
            }
            Base::Leaves(leaves) => match leaf(leaves, spot, ty) {
                Some(local) => self.code.load(local),
                None => self.wrong_access(span),
            },
            Base::Entry { .. } => self.load_entry(spot, ty, span),
            Base::Param(param) => {
                let value = self.facts.param(*param, spot.offset, ty).unwrap_or(0);
                self.code.constant(value, ty.width());
            }
            Base::Either(either) => {
                let either = Rc::clone(either);
                self.each(&either, |this, n| this.load(&either.spots[n].plus(spot.offset), ty, span));
            }
            Base::Wrong => self.code.constant(0, ty.width()),
        }
    }

    fn wrong_access(&mut self, span: Span) {
        self.fault(span, "this is not a whole scalar of the object");
    }

    fn load_packet(&mut self, ty: &Type) {
        match ty {
            Type::Bool | Type::Int { bits: 8, signed: false } => self.code.op(Op::UpLoad8),
            Type::Int { bits: 8, signed: true } => self.code.op(Op::SpLoad8),
            Type::Be(16) => self.code.op(Op::UpLoad16),
            Type::Be(32) => self.code.op(Op::SpLoad32),
            // Plain integers have the machine's order, which is little-endian here.
            Type::Int { bits: 16, signed } => {
                self.code.op(Op::UpLoad16);
                self.code.op(Op::IeSwap);
                self.code.op1(Op::Push, 16);
                self.code.op(if *signed { Op::Shr } else { Op::UShr });
            }
            Type::Int { bits: 32, .. } => {
                self.code.op(Op::SpLoad32);
                self.code.op(Op::IeSwap);
            }
            Type::Int { .. } => {
                self.code.op1(Op::WpLoad, ty.size() * 8);
                self.code.op1(Op::WBswap, ty.size() * 8);
            }
            other => self.code.op1(Op::WpLoad, other.size() * 8),
        }
    }

    /// Loads of a little-endian memory: 8 and 16 bits without and with sign, 32 bits, wide.
    fn load_little(&mut self, ty: &Type, ops: [Op; 6]) {
        let signed = usize::from(ty.is_signed());
        match ty.size() {
            1 => self.code.op(ops[signed]),
            2 => self.code.op(ops[2 + signed]),
            4 => self.code.op(ops[4]),
            bytes => self.code.op1(ops[5], bytes * 8),
        }
    }

    /// A value of fewer than 32 bits as it is on the stack.
    pub(super) fn extend(&mut self, ty: &Type, bits: u32) {
        if bits < 32 {
            self.code.op2(if ty.is_signed() { Op::WSext } else { Op::WZext }, bits, 32);
        }
    }

    fn cut(&mut self, bits: u32) {
        if bits < 32 {
            self.code.op2(Op::WTrunc, 32, bits);
        }
    }

    fn load_entry(&mut self, spot: &Spot, ty: &Type, span: Span) {
        let Base::Entry { table, local, view, array } = spot.base else { return };
        let bits = ty.size() * 8;
        let Some((start, bytes)) = array else {
            self.used(view, span);
            self.code.load(local);
            self.code.op3(Op::TLoad, table, bits, spot.offset);
            return self.extend(ty, bits);
        };
        let Some(width) = self.array_width(bytes, span) else { return };
        self.address(&spot.plus(start.wrapping_neg()));
        let offset = self.code.keep(32);
        self.used(view, span);
        self.code.load(local);
        self.code.op3(Op::TLoad, table, width, start);
        self.code.load(offset);
        self.code.op1(Op::Push, 8);
        self.code.op(Op::Mul);
        self.code.op1(Op::WUShr, width);
        self.code.op2(Op::WTrunc, width, bits);
        self.code.release(offset);
        self.extend(ty, bits);
    }

    /// Bits of an array in an entry that has a computed index.
    fn array_width(&mut self, bytes: u32, span: Span) -> Option<u32> {
        if bytes <= 256 {
            return Some(bytes * 8);
        }
        self.fault_help(
            span,
            "an array in an entry has at most 256 bytes if its index is computed",
            "use a table with an entry for each element",
        );
        None
    }

    /// The value on the stack into a place, whose computed part is on top of it.
    pub(super) fn store(&mut self, spot: &Spot, ty: &Type, span: Span) {
        match &spot.base {
            Base::Packet(view) => {
                self.packet_used(span);
                self.used(*view, span);
                if matches!(ty, Type::Int { bits: 16 | 32 | 64 | 128, .. }) {
                    self.swapped(spot, ty);
                } else {
                    self.address(spot);
                }
                self.store_op(ty, [Op::PStore8, Op::PStore16, Op::PStore32, Op::WpStore]);
            }
            Base::Data => {
                self.address(spot);
                self.store_op(ty, [Op::MStore8, Op::MStore16, Op::MStore32, Op::WmStore]);
            }
            Base::Shared => {
                self.address(spot);
                self.store_op(ty, [Op::SStore8, Op::SStore16, Op::SStore32, Op::WsStore]);
            }
            Base::Info => {
                self.packet_used(span);
                self.address(spot);
                self.store_op(ty, [Op::IStore8, Op::IStore16, Op::IStore32, Op::WiStore]);
            }
            Base::Leaves(leaves) => match leaf(leaves, spot, ty) {
                Some(local) => self.code.store(local),
                None => self.wrong_access(span),
            },
            Base::Entry { .. } => self.store_entry(spot, ty, span),
            Base::Initialised | Base::Param(_) => {
                self.fault(span, "this is constant and cannot be assigned to");
                self.code.op(Op::Pop);
            }
            Base::Either(either) => {
                let either = Rc::clone(either);
                self.each(&either, |this, n| this.store(&either.spots[n].plus(spot.offset), ty, span));
            }
            Base::Wrong => self.code.op(Op::Pop),
        }
    }

    /// Turns the bytes of a plain integer round, below the address.
    fn swapped(&mut self, spot: &Spot, ty: &Type) {
        let spot = self.pin(spot.clone());
        match ty.size() {
            2 => {
                self.code.op(Op::IeSwap);
                self.code.op1(Op::Push, 16);
                self.code.op(Op::UShr);
            }
            4 => self.code.op(Op::IeSwap),
            bytes => self.code.op1(Op::WBswap, bytes * 8),
        }
        self.address(&spot);
        self.done(&spot);
    }

    /// Stores of 8, 16 and 32 bits, and wide.
    fn store_op(&mut self, ty: &Type, ops: [Op; 4]) {
        match ty.size() {
            1 => self.code.op(ops[0]),
            2 => self.code.op(ops[1]),
            4 => self.code.op(ops[2]),
            bytes => self.code.op1(ops[3], bytes * 8),
        }
    }

    fn store_entry(&mut self, spot: &Spot, ty: &Type, span: Span) {
        let Base::Entry { table, local, view, array } = spot.base else { return };
        let bits = ty.size() * 8;
        let Some((start, bytes)) = array else {
            self.cut(bits);
            self.used(view, span);
            self.code.load(local);
            return self.code.op3(Op::TStore, table, bits, spot.offset);
        };
        let Some(width) = self.array_width(bytes, span) else { return };
        self.address(&spot.plus(start.wrapping_neg()));
        self.code.op1(Op::Push, 8);
        self.code.op(Op::Mul);
        let shift = self.code.keep(32);
        // whole = whole & ~(ones << shift) | value << shift
        self.cut(bits);
        self.widen(bits, width);
        self.code.load(shift);
        self.code.op1(Op::WShl, width);
        self.used(view, span);
        self.code.load(local);
        self.code.op3(Op::TLoad, table, width, start);
        self.ones(bits, width);
        self.code.load(shift);
        self.code.op1(Op::WShl, width);
        self.code.op1(Op::WNot, width);
        self.code.op1(Op::WAnd, width);
        self.code.op1(Op::WOr, width);
        self.code.load(local);
        self.code.op3(Op::TStore, table, width, start);
        self.code.release(shift);
    }

    fn widen(&mut self, bits: u32, width: u32) {
        if bits < width {
            self.code.op2(Op::WZext, bits, width);
        }
    }

    fn ones(&mut self, bits: u32, width: u32) {
        self.code.constant(u128::MAX >> (128 - bits), bits as u16);
        self.widen(bits, width);
    }
}

/// The local of a scalar.
fn leaf(leaves: &[Leaf], spot: &Spot, ty: &Type) -> Option<u32> {
    leaves.iter().find(|(offset, known, _)| *offset == spot.offset && known == ty).map(|(.., local)| *local)
}

/// The pointer that leads to a place.
fn behind(place: &PlaceExpr) -> Option<&Expr> {
    match &place.kind {
        PlaceKind::Deref(pointer, _) => Some(pointer),
        PlaceKind::Member(of, _) | PlaceKind::Element(of, _) | PlaceKind::Byte(of, _) => behind(of),
        _ => None,
    }
}
