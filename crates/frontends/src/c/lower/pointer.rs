//! Pointers: which memory they point into is known here, and for a variable by the places that it
//! is given.
//!
//! A variable that is given places of several kinds, such as entries of two tables, has a local for
//! each kind and one that says which of them counts. Since a loop may use it in its text before the
//! last kind is seen, the handler is then made again with what was learnt.

use super::flow::{Event, ViewOf};
use super::place::{At, Base, Either, Pointed, Spot};
use super::{Lowerer, Storage, View};
use crate::c::fold::fold;
use crate::c::tree::{Expr, Kind, PlaceExpr, PlaceKind};
use crate::diagnostics::{Diagnostic, Span};
use netil::module::{Inst, entry_type};
use netil::table::Op;
use std::rc::Rc;

/// A kind of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PointeeKind {
    Packet,
    Data,
    Shared,
    Initialised,
    /// Entries of a table, so many bytes into them.
    Entry(u32, u32),
}

/// A pointer variable.
#[derive(Clone, Debug)]
pub(super) struct PointerVar {
    name: String,
    /// The function being inlined, from the outermost, whose locals it takes.
    frame: usize,
    /// Where it got its first place.
    bound: Span,
    kinds: Vec<Alternative>,
    /// Which of several kinds counts.
    which: Option<u32>,
    /// It always points to this.
    fixed: Option<Spot>,
    /// Instructions that wait for it to be known how 0 is said.
    nulls: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Alternative {
    shape: PointeeKind,
    /// The offset or the entry.
    local: u32,
    view: Option<View>,
}

impl PointerVar {
    pub(super) fn shapes(&self) -> Vec<PointeeKind> {
        self.kinds.iter().map(|kind| kind.shape).collect()
    }
}

impl Alternative {
    fn spot(self) -> Spot {
        let offset = |base| Spot { base, at: At::Local(self.local), offset: 0 };
        match self.shape {
            PointeeKind::Packet => offset(Base::Packet(self.view)),
            PointeeKind::Data => offset(Base::Data),
            PointeeKind::Shared => offset(Base::Shared),
            PointeeKind::Initialised => offset(Base::Initialised),
            PointeeKind::Entry(table, at) => Spot::new(Base::Entry { table, local: self.local, view: self.view, array: None }, at),
        }
    }
}

fn shape(spot: &Spot) -> Option<PointeeKind> {
    match spot.base {
        Base::Packet(_) => Some(PointeeKind::Packet),
        Base::Data => Some(PointeeKind::Data),
        Base::Shared => Some(PointeeKind::Shared),
        Base::Initialised => Some(PointeeKind::Initialised),
        Base::Entry { table, array: None, .. } if spot.at == At::None => Some(PointeeKind::Entry(table, spot.offset)),
        _ => None,
    }
}

impl Lowerer<'_> {
    pub(super) fn new_pointer(&mut self, name: &str, span: Span) -> usize {
        let (id, frame) = (self.pointers.len(), self.frames.len().saturating_sub(1));
        self.pointers.push(PointerVar {
            name: name.to_owned(),
            frame,
            bound: span,
            kinds: Vec::new(),
            which: None,
            fixed: None,
            nulls: Vec::new(),
        });
        self.frame().pointers.push(id);
        for shape in self.learnt.get(id).cloned().unwrap_or_default() {
            self.add_kind(id, shape);
        }
        if self.pointers[id].kinds.len() > 1 {
            self.pointers[id].which = Some(self.own(32));
            self.hold_none(id, None);
        }
        id
    }

    fn new_view(&mut self, name: &str, table: Option<u32>) -> View {
        self.views.push(ViewOf { name: name.to_owned(), table });
        self.views.len() as u32 - 1
    }

    /// Where a pointer points to; the computed part of that may be on the stack.
    pub(super) fn pointer(&mut self, e: &Expr) -> Pointed {
        if !self.enter(e.span) {
            self.leave();
            return Pointed::At(Spot::new(Base::Wrong, 0));
        }
        let result = self.pointer_of(e);
        self.leave();
        result
    }

    fn pointer_of(&mut self, e: &Expr) -> Pointed {
        match &e.kind {
            Kind::Null => Pointed::Null,
            Kind::Address(place) => Pointed::At(self.place(place)),
            Kind::Load(place) => match self.pointer_variable(place) {
                Some(id) => Pointed::At(self.pointee(id, e.span)),
                None => Pointed::At(self.no_pointer(e.span)),
            },
            Kind::Assign(to, value) => match self.pointer_variable(to) {
                Some(id) => {
                    let value = self.pointer(value);
                    self.assign_pointer(id, value, e.span);
                    Pointed::At(self.pointee(id, e.span))
                }
                None => Pointed::At(self.no_pointer(e.span)),
            },
            Kind::Comma(first, second) => {
                self.effect(first);
                self.pointer(second)
            }
            Kind::Choose(condition, yes, no) => self.choose_pointer(condition, yes, no, e.span),
            Kind::Call(function, args) => match self.inline(*function, args, e.span) {
                Some(Storage::Pointer(id)) => Pointed::At(self.pointee(id, e.span)),
                _ => Pointed::At(self.no_pointer(e.span)),
            },
            Kind::Builtin(row, args) => Pointed::At(self.builtin_pointer(row, args, e.span)),
            _ => Pointed::At(self.no_pointer(e.span)),
        }
    }

    fn no_pointer(&mut self, span: Span) -> Spot {
        self.fault(span, "this pointer points nowhere");
        Spot::new(Base::Wrong, 0)
    }

    /// The number of the variable that a place is.
    pub(super) fn pointer_variable(&mut self, place: &PlaceExpr) -> Option<usize> {
        match &place.kind {
            PlaceKind::Local(id) => match self.frame().vars.get(*id)? {
                Some(Storage::Pointer(id)) => Some(*id),
                _ => None,
            },
            _ => None,
        }
    }

    fn choose_pointer(&mut self, condition: &Expr, yes: &Expr, no: &Expr, span: Span) -> Pointed {
        let id = self.new_pointer("", span);
        let (otherwise, end) = (self.code.label(), self.code.label());
        self.branch(condition, false, otherwise);
        let value = self.pointer(yes);
        self.assign_pointer(id, value, yes.span);
        self.code.go(end);
        self.code.place(otherwise);
        let value = self.pointer(no);
        self.assign_pointer(id, value, no.span);
        self.code.place(end);
        Pointed::At(self.pointee(id, span))
    }

    /// What a variable points to.
    pub(super) fn pointee(&mut self, id: usize, span: Span) -> Spot {
        let var = &self.pointers[id];
        if let Some(spot) = &var.fixed {
            return spot.clone();
        }
        match (&var.kinds[..], var.which) {
            ([one], _) => one.spot(),
            ([first, ..], None) => first.spot(),
            (several, Some(which)) if !several.is_empty() => {
                let spots = several.iter().map(|kind| kind.spot()).collect();
                Spot::new(Base::Either(Rc::new(Either { which, spots })), 0)
            }
            _ => {
                let message = format!("the pointer `{}` has no place yet", var.name);
                self.fault(span, message);
                Spot::new(Base::Wrong, 0)
            }
        }
    }

    /// Gives a variable a place, whose computed part may be on the stack.
    pub(super) fn assign_pointer(&mut self, id: usize, value: Pointed, span: Span) {
        match value {
            Pointed::Null => self.assign_null(id, span),
            Pointed::At(Spot { base: Base::Either(either), at, offset }) => {
                if at != At::None {
                    self.constant_index(span);
                }
                self.each(&either, |this, n| this.assign_spot(id, either.spots[n].plus(offset), span));
            }
            Pointed::At(spot) => self.assign_spot(id, spot, span),
        }
    }

    fn assign_spot(&mut self, id: usize, spot: Spot, span: Span) {
        let var = &self.pointers[id];
        if let Some(known) = &var.fixed {
            let wrong = matches!(known.base, Base::Wrong) || matches!(spot.base, Base::Wrong);
            if !wrong && !same(known, &spot) {
                self.other_place(id, span);
            }
            return self.discard(&spot);
        }
        match shape(&spot) {
            Some(shape) => self.assign_shape(id, shape, &spot, span),
            None if var.kinds.is_empty() => self.fix(id, spot, span),
            None if matches!(spot.base, Base::Wrong) => {}
            None => self.other_place(id, span),
        }
    }

    /// A place that is not kept as an offset: the variable always stands for it.
    fn fix(&mut self, id: usize, spot: Spot, span: Span) {
        let mut spot = self.pin(spot);
        if let At::Temp(local) = spot.at {
            spot.at = At::Local(local);
            let frame = self.pointers[id].frame;
            self.frames[frame].owned.push(local);
        }
        (self.pointers[id].fixed, self.pointers[id].bound) = (Some(spot), span);
        if !self.pointers[id].nulls.is_empty() {
            self.only_entries(span);
        }
    }

    fn assign_shape(&mut self, id: usize, shape: PointeeKind, spot: &Spot, span: Span) {
        let n = match self.pointers[id].kinds.iter().position(|kind| kind.shape == shape) {
            Some(n) => n,
            None => self.first_of_kind(id, shape, span),
        };
        let kind = self.pointers[id].kinds[n];
        if let Base::Entry { local, view, .. } = spot.base {
            self.used(view, span);
            self.code.load(local);
        } else {
            if let Base::Packet(view) = spot.base {
                self.used(view, span);
            }
            self.address(spot);
        }
        self.defined(id, n);
        self.code.store(kind.local);
        self.done(spot);
    }

    /// One kind of a variable counts from here on.
    fn defined(&mut self, id: usize, n: usize) {
        let PointerVar { kinds, which, .. } = self.pointers[id].clone();
        if let Some(which) = which {
            self.code.op1(Op::Push, n as u32);
            self.code.store(which);
        }
        for (other, kind) in kinds.iter().enumerate() {
            if let Some(view) = kind.view {
                self.code.event(if other == n { Event::Define(view) } else { Event::Forget(view) });
            }
        }
    }

    /// A variable is given a place of a kind that it has not had.
    fn first_of_kind(&mut self, id: usize, shape: PointeeKind, span: Span) -> usize {
        let first = self.pointers[id].kinds.is_empty();
        if first {
            self.pointers[id].bound = span;
        }
        self.again |= !first;
        self.add_kind(id, shape);
        if first {
            self.patch_nulls(id, span);
        }
        self.pointers[id].kinds.len() - 1
    }

    fn add_kind(&mut self, id: usize, shape: PointeeKind) {
        let (name, frame) = (self.pointers[id].name.clone(), self.pointers[id].frame);
        let (ty, view) = match shape {
            PointeeKind::Packet => (32, Some(self.new_view(&name, None))),
            PointeeKind::Data | PointeeKind::Shared | PointeeKind::Initialised => (32, None),
            PointeeKind::Entry(table, _) => (entry_type(table), Some(self.new_view(&name, Some(table)))),
        };
        let local = self.own_in(frame, ty);
        self.pointers[id].kinds.push(Alternative { shape, local, view });
    }

    /// Where 0 was assigned before it was known what the variable points to.
    fn patch_nulls(&mut self, id: usize, span: Span) {
        let nulls = std::mem::take(&mut self.pointers[id].nulls);
        let Some(Alternative { shape: PointeeKind::Entry(table, _), local, .. }) = self.pointers[id].kinds.first().copied() else {
            if !nulls.is_empty() {
                self.only_entries(span);
            }
            return;
        };
        for at in nulls {
            self.code.insts[at] = Inst::with(Op::TNone, table);
            self.code.insts[at + 1] = Inst::with(Op::LocStore, local);
        }
    }

    /// A local that lives as long as the function that is being inlined.
    pub(super) fn own(&mut self, ty: u16) -> u32 {
        self.own_in(self.frames.len() - 1, ty)
    }

    fn own_in(&mut self, frame: usize, ty: u16) -> u32 {
        let local = self.code.local(ty);
        self.frames[frame].owned.push(local);
        local
    }

    fn assign_null(&mut self, id: usize, span: Span) {
        let var = &self.pointers[id];
        if var.fixed.is_some() {
            if !matches!(var.fixed, Some(Spot { base: Base::Wrong, .. })) {
                self.only_entries(span);
            }
            return;
        }
        if var.kinds.is_empty() {
            let at = self.code.insts.len();
            self.pointers[id].nulls.push(at);
            self.code.op(Op::Nop);
            return self.code.op(Op::Nop);
        }
        let entry = var.kinds.iter().position(|kind| matches!(kind.shape, PointeeKind::Entry(..)));
        let Some(n) = entry else { return self.only_entries(span) };
        let kind = self.pointers[id].kinds[n];
        if let PointeeKind::Entry(table, _) = kind.shape {
            self.code.op1(Op::TNone, table);
        }
        self.defined(id, n);
        self.code.store(kind.local);
    }

    fn only_entries(&mut self, span: Span) {
        self.fault_help(span, "only a pointer to a table's entry can be 0", "keep in a bool whether there is something");
    }

    fn other_place(&mut self, id: usize, span: Span) {
        let var = &self.pointers[id];
        let name = if var.name.is_empty() { "this pointer".to_owned() } else { format!("the pointer `{}`", var.name) };
        let fault = Diagnostic::new(span, format!("{name} points to a local variable and elsewhere"));
        self.faults.add(fault.note(var.bound, "it is given its first place here").help("declare another pointer"));
    }

    /// Tells of a computed index behind a pointer that leads into several memories, each of which
    /// has its own code.
    pub(super) fn is_in_several(&mut self, spot: &Spot, index: &Expr, pointer: &Expr) -> bool {
        let Base::Either(either) = &spot.base else { return false };
        if fold(index, &self.facts).is_some() {
            return false;
        }
        let variable = if let Kind::Load(place) = &pointer.kind { self.pointer_variable(place) } else { None };
        let name = variable.map(|id| &self.pointers[id]).filter(|var| !var.name.is_empty());
        let name = name.map_or_else(|| "this pointer".to_owned(), |var| format!("`{}`", var.name));
        let mut places: Vec<&str> = either.spots.iter().map(memory).collect();
        places.dedup();
        let places = if places.len() > 1 { places.join(" and ") } else { "into several tables".to_owned() };
        self.fault_help(index.span, format!("{name} points {places}, and this index is computed"), "use a pointer for each of them");
        true
    }

    /// Entries of a table have ended: variables that may point into several tables hold none of it,
    /// as code for each of them may follow.
    pub(super) fn renew(&mut self, table: u32) {
        let alive: Vec<usize> = self.frames.iter().flat_map(|frame| frame.pointers.iter().copied()).collect();
        for id in alive {
            if self.pointers[id].which.is_some() {
                self.hold_none(id, Some(table));
            }
        }
    }

    /// A variable holds no entry of a table, or of any.
    fn hold_none(&mut self, id: usize, only: Option<u32>) {
        for kind in self.pointers[id].kinds.clone() {
            if let PointeeKind::Entry(table, _) = kind.shape
                && only.is_none_or(|only| only == table)
            {
                self.code.op1(Op::TNone, table);
                self.code.store(kind.local);
            }
        }
    }
}

/// The memory of a place, as messages call it.
fn memory(spot: &Spot) -> &'static str {
    match spot.base {
        Base::Packet(_) => "into the packet",
        Base::Data => "to own data",
        Base::Shared => "to data of several elements",
        Base::Initialised => "to constant data",
        Base::Entry { .. } => "into a table",
        _ => "elsewhere",
    }
}

/// Two places that are the same for certain.
fn same(a: &Spot, b: &Spot) -> bool {
    let base = match (&a.base, &b.base) {
        (Base::Leaves(a), Base::Leaves(b)) => Rc::ptr_eq(a, b),
        (Base::Info, Base::Info) => true,
        (Base::Param(a), Base::Param(b)) => a == b,
        _ => false,
    };
    base && a.at == b.at && a.offset == b.offset
}
