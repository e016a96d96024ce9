//! Meters: the two-rate three-colour marker.
//!
//! Tokens grow with the time of packets, in microseconds since the switch started; a packet takes
//! one token, or as many as it has bytes. Without rates every packet is green. Where parts of a
//! meter are says [`crate::pipeline::meter`].
//!
//! Source: RFC 2698, section 3; the order in which buckets are asked is BMv2's, which is the same.

use super::{Lower, Lowered};
use crate::hir::Expr;
use crate::pipeline::{ArrayMeta, meter};
use netil::table::Op;

/// Writes the code that loads or stores 64 bits of a meter.
type Access<'a> = &'a dyn Fn(&mut Lower<'_>, u32);

/// The colour where there is no meter.
pub(super) const NONE: u32 = u32::MAX;

impl Lower<'_> {
    /// Runs a meter on the packet, which may have a colour already; the local that has its colour
    /// then.
    fn colour(&mut self, colour: u32, before: Option<u32>, load: Access<'_>, store: Access<'_>, by_bytes: bool) {
        let end = self.code.label();
        match before {
            Some(before) => self.code.get(before),
            None => self.code.push(0),
        }
        self.code.set(colour);
        load(self, meter::SET);
        self.code.resize(64, 32);
        self.code.branch(Op::JEq, end);
        self.refill(load, store);
        let cost = self.code.temp(64);
        if by_bytes {
            self.code.get(self.length);
            self.code.resize(32, 64);
        } else {
            self.code.constant(&1.into(), 64);
        }
        self.code.push(meter::FRACTION);
        self.code.w(Op::WShl, 64);
        self.code.set(cost);
        for (bucket, other) in [(8, 2), (0, 1)] {
            if let Some(before) = before {
                // A packet that is as bad already stays so, and takes no token.
                self.code.push(other);
                self.code.set(colour);
                self.code.get(before);
                self.code.push(other);
                self.code.branch(Op::JCmpEq, end);
            }
            self.code.push(other);
            self.code.set(colour);
            load(self, meter::TOKENS + bucket);
            self.code.get(cost);
            self.code.w(Op::WGe, 64);
            self.code.branch(Op::JEq, end);
            load(self, meter::TOKENS + bucket);
            self.code.get(cost);
            self.code.w(Op::WSub, 64);
            store(self, meter::TOKENS + bucket);
        }
        self.code.push(0);
        self.code.set(colour);
        self.code.bind(end);
        self.code.release(cost);
    }

    /// Adds the tokens of the time that has passed.
    fn refill(&mut self, load: Access<'_>, store: Access<'_>) {
        let elapsed = self.code.temp(64);
        self.push_time();
        self.code.resize(48, 64);
        load(self, meter::LAST);
        self.code.w(Op::WSubSat, 64);
        self.code.set(elapsed);
        load(self, meter::LAST);
        self.code.get(elapsed);
        self.code.w(Op::WAdd, 64);
        store(self, meter::LAST);
        let tokens = self.code.temp(128);
        for bucket in [0, 8] {
            let wide = |l: &mut Self, at: u32| {
                load(l, at + bucket);
                l.code.resize(64, 128);
            };
            self.code.get(elapsed);
            self.code.resize(64, 128);
            wide(self, meter::RATE);
            self.code.w(Op::WMul, 128);
            wide(self, meter::TOKENS);
            self.code.w(Op::WAdd, 128);
            self.code.set(tokens);
            self.code.get(tokens);
            wide(self, meter::BURST);
            self.code.w(Op::WLt, 128);
            self.code.get(tokens);
            wide(self, meter::BURST);
            self.code.w(Op::WSelect, 128);
            self.code.resize(128, 64);
            store(self, meter::TOKENS + bucket);
        }
        self.code.release(tokens);
        self.code.release(elapsed);
    }

    /// Runs the meter of a cell; an index outside leaves the colour that the packet has, or green.
    pub(super) fn cell_colour(&mut self, meta: &ArrayMeta, index: &Expr, before: Option<u32>) -> Lowered<u32> {
        let (colour, end) = (self.code.new_local(32), self.code.label());
        self.reads_array(&meta.name);
        self.writes_array(&meta.name);
        match before {
            Some(before) => self.code.get(before),
            None => self.code.push(0),
        }
        self.code.set(colour);
        let cell = self.cell(meta, index, end)?;
        let address = move |l: &mut Lower<'_>, at: u32| {
            l.code.get(cell);
            l.code.push(at);
            l.code.op(Op::Add);
        };
        let load = move |l: &mut Lower<'_>, at: u32| {
            address(l, at);
            l.code.w(Op::WmLoad, 64);
        };
        let store = move |l: &mut Lower<'_>, at: u32| {
            address(l, at);
            l.code.w(Op::WmStore, 64);
        };
        self.colour(colour, before, &load, &store, meta.by_bytes);
        self.code.bind(end);
        Ok(colour)
    }

    /// The colour of the entry that was found, in the local of the table's meter.
    pub(super) fn entry_colour(&mut self, at: u32, number: u32, entry: u32, colour: u32, by_bytes: bool) {
        let load = move |l: &mut Lower<'_>, part: u32| {
            l.code.get(entry);
            l.code.op3(Op::TLoad, number, 64, at + part);
        };
        let store = move |l: &mut Lower<'_>, part: u32| {
            l.code.get(entry);
            l.code.op3(Op::TStore, number, 64, at + part);
        };
        self.colour(colour, None, &load, &store, by_bytes);
    }

    /// The local with the colour of the entry that was found; [`NONE`] behind a miss.
    pub(super) fn direct_colour(&self, object: &Expr) -> Option<u32> {
        self.object_path(object).and_then(|path| self.direct_meters.get(&path).copied())
    }

    /// Makes a colour the worse one of two.
    pub(super) fn worse(&mut self, colour: u32, other: u32) {
        self.code.get(colour);
        self.code.get(other);
        self.code.w(Op::WLt, 32);
        self.code.get(other);
        self.code.get(colour);
        self.code.w(Op::WSelect, 32);
        self.code.set(colour);
    }
}
