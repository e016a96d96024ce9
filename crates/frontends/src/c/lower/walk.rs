//! Walks over tables, and what ends by a table's timeout: EXPIRED.
//!
//! A table with EXPIRED has a timer of its own, from the last one down. It is set when an entry is
//! entered and none was there, so that it is due in the last nanosecond of that entry; when it is
//! due, entries that end with this nanosecond are taken out one after the other, each with a call
//! of the function, and it is set to where the next ones end. Key and value are copied to data
//! memory first, so the function may change the table. The timer is set before each call as well:
//! if the function traps, the rest has its turn in another run.

use super::Lowerer;
use super::call::Ready;
use super::flow::Event;
use super::place::{Base, Pointed, Spot};
use crate::c::tree::{PlaceExpr, TableDecl};
use crate::c::types::Type;
use crate::c::{TableScope, fold::fold};
use crate::diagnostics::{Diagnostic, Span};
use netil::event::{TIMER, TIMERS};
use netil::module::{HandlerKind, entry_type};
use netil::table::Op;

/// Bytes of a value that are copied at once.
const PIECE: u32 = 16;

/// Of a table with EXPIRED.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expiry {
    table: u32,
    function: usize,
    span: Span,
    timer: u32,
    /// Where in data memory it says whether the timer is set.
    is_set: u32,
    key: u32,
    value: u32,
    timeout: u64,
}

impl Lowerer<'_> {
    /// Places for what EXPIRED needs; none for a table whose entries do not end.
    pub(super) fn place_expiries(&mut self) {
        let program = self.program;
        for (n, declared) in program.tables.iter().enumerate() {
            let Some((function, span)) = declared.expired else { continue };
            if declared.scope != TableScope::Local {
                self.scoped(declared, span);
            }
            let timeout = declared.timeout.as_ref().and_then(|timeout| fold(timeout, &self.facts)).unwrap_or(0) as u64;
            if timeout == 0 {
                continue;
            }
            let (timer, is_set) = (self.free_timers() - 1, self.allocate(1));
            let (key, value) = (self.allocate(declared.key.size()), self.allocate(declared.value.size()));
            self.expiries.push(Expiry { table: n as u32, function, span, timer, is_set, key, value, timeout });
        }
    }

    fn scoped(&mut self, declared: &TableDecl, span: Span) {
        let message = format!("the table `{}` has a scope: several elements would be told of one entry", declared.name);
        let fault = Diagnostic::new(span, message).note(declared.span, "declared here");
        self.faults.add(fault.help("leave SCOPE out, or EXPIRED"));
    }

    /// Timers that are not taken by tables.
    pub(super) fn free_timers(&self) -> u32 {
        (TIMERS - self.expiries.len()) as u32
    }

    /// An entry is about to be entered, whose key is on the stack: the timer is set for it and for
    /// what came from outside, if it is not.
    pub(super) fn watch(&mut self, table: u32, key_bits: u32) {
        let expiry = self.expiries.iter().find(|expiry| expiry.table == table).copied();
        let Some(Expiry { is_set, timer, timeout, .. }) = expiry.filter(|_| self.kind != HandlerKind::Init) else { return };
        let is_watched = self.code.label();
        let key = self.code.keep(key_bits as u16);
        self.code.op1(Op::Push, is_set);
        self.code.op(Op::UmLoad8);
        self.code.jump(Op::JNe, is_watched);
        self.last_nanosecond(table);
        let others = self.code.keep(64);
        self.code.op(Op::TimeNs);
        self.code.constant((timeout - 1).into(), 64);
        self.code.op1(Op::WAdd, 64);
        let own = self.code.keep(64);
        self.code.load(own);
        self.code.load(others);
        self.code.op1(Op::WLt, 64);
        self.code.load(own);
        self.code.load(others);
        self.code.op1(Op::WSelect, 64);
        self.code.op1(Op::TimerSet, timer);
        self.set_watched(is_set, true);
        self.code.place(is_watched);
        self.code.load(key);
        [key, others, own].into_iter().for_each(|local| self.code.release(local));
    }

    /// When the timer is due for the entries that are there; beyond all times if none of them ends.
    fn last_nanosecond(&mut self, table: u32) {
        self.code.op1(Op::TDeadline, table);
        self.code.constant(1, 64);
        self.code.op1(Op::WSub, 64);
    }

    fn set_watched(&mut self, is_set: u32, watched: bool) {
        self.code.op1(Op::Push, watched.into());
        self.code.op1(Op::Push, is_set);
        self.code.op(Op::MStore8);
    }

    /// What is run when a table's timer is due.
    pub(super) fn run_expiries(&mut self, id: u32) {
        for expiry in self.expiries.clone() {
            let other = self.code.label();
            self.code.load(id);
            self.code.op1(Op::Push, TIMER + expiry.timer);
            self.code.jump(Op::JCmpNeq, other);
            self.run_expiry(&expiry);
            self.code.place(other);
        }
    }

    fn run_expiry(&mut self, expiry: &Expiry) {
        let (top, end) = (self.code.label(), self.code.label());
        self.code.event(Event::Changes(expiry.table, expiry.span, "EXPIRED"));
        self.code.op2(Op::TDue, expiry.table, expiry.timer);
        self.code.op(Op::Pop);
        self.code.place(top);
        self.code.op1(Op::TNext, expiry.table);
        self.code.jump(Op::JEq, end);
        self.code.op(Op::TimeNs);
        self.code.op1(Op::TimerSet, expiry.timer);
        self.take_out(expiry);
        let pointer = |at| Ready::Pointer(Pointed::At(Spot::new(Base::Data, at)));
        self.inline_ready(expiry.function, vec![pointer(expiry.key), pointer(expiry.value)], expiry.span);
        self.code.go(top);
        self.code.place(end);
        self.watch_next(expiry);
        // A packet that the function has made is not lost, but done with.
        self.code.op(Op::ExbufDelete);
        self.code.op(Op::Ret);
    }

    /// The entry that the walk has come to goes to data memory.
    fn take_out(&mut self, expiry: &Expiry) {
        let declared = &self.program.tables[expiry.table as usize];
        let (key_ty, size) = (declared.key.clone(), declared.value.size());
        self.code.op1(Op::TKey, expiry.table);
        let key = self.code.keep((key_ty.size() * 8) as u16);
        self.store_key(key, &Spot::new(Base::Data, expiry.key), &key_ty, expiry.span);
        self.code.load(key);
        self.code.op1(Op::TPeek, expiry.table);
        let entry = self.code.keep(entry_type(expiry.table));
        for at in (0..size).step_by(PIECE as usize) {
            let bits = 8 * (size - at).min(PIECE);
            self.code.load(entry);
            self.code.op3(Op::TLoad, expiry.table, bits, at);
            self.code.op1(Op::Push, expiry.value + at);
            self.code.op1(Op::WmStore, bits);
        }
        self.code.load(key);
        self.code.op1(Op::TDelete, expiry.table);
        self.code.op(Op::Pop);
        self.renew(expiry.table);
        self.code.release(entry);
        self.code.release(key);
    }

    /// The timer is set to the last nanosecond of what ends next.
    fn watch_next(&mut self, expiry: &Expiry) {
        let (none, set) = (self.code.label(), self.code.label());
        self.last_nanosecond(expiry.table);
        let next = self.code.keep(64);
        self.code.load(next);
        self.code.constant((u64::MAX - 1).into(), 64);
        self.code.op1(Op::WEq, 64);
        self.code.jump(Op::JNe, none);
        self.code.load(next);
        self.code.op1(Op::TimerSet, expiry.timer);
        self.code.go(set);
        self.code.place(none);
        self.code.constant(0, 64);
        self.code.op1(Op::TimerSet, expiry.timer);
        self.set_watched(expiry.is_set, false);
        self.code.place(set);
        self.code.release(next);
    }

    /// `table_next(table, &key)`: the key to its place if there is one, and on the stack whether
    /// there is.
    pub(super) fn table_next(&mut self, table: u32, place: &PlaceExpr) {
        let spot = self.place(place);
        let spot = self.pin(spot);
        let end = self.code.label();
        self.code.op1(Op::TNext, table);
        let found = self.code.keep(32);
        self.code.load(found);
        self.code.jump(Op::JEq, end);
        self.code.op1(Op::TKey, table);
        let key = self.code.keep((place.ty.size() * 8) as u16);
        self.store_key(key, &spot, &place.ty, place.span);
        self.code.place(end);
        self.code.load(found);
        self.done(&spot);
        self.code.release(key);
        self.code.release(found);
    }

    /// The scalars of a key in a local, the first of which is most significant, to their places.
    fn store_key(&mut self, key: u32, spot: &Spot, ty: &Type, span: Span) {
        let Some(leaves) = self.parts(ty, span) else { return };
        let whole = ty.size() * 8;
        let mut low = whole;
        for (offset, ty) in &leaves {
            let bits = ty.size() * 8;
            low = low.saturating_sub(bits);
            self.code.load(key);
            if bits < whole {
                self.code.op3(Op::WSlice, whole, low + bits - 1, low);
            }
            self.extend(ty, bits);
            self.store(&spot.plus(*offset), ty, span);
        }
    }
}
