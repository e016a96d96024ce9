//! Work that moves the ends of a packet of fused handlers, in place: the packet's first byte and
//! its length are in registers, the rest of its place in the frame.
//!
//! The rules are those of [`netil::exec::ExchangeBuffer`]. Where there is no room, or something
//! traps that seldom does, the runtime does it.

use super::{Lower, trusted};
use crate::frame;
use compiler::mir::{self, Helper, Type};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use netil::exec::{FRONT, MAX_PACKET, TrapKind};
use netil::table::Space;

/// The most bytes that are set to zero in place.
const ZEROS: u64 = 64;

impl Lower<'_> {
    /// Bytes pulled less bytes pushed.
    pub(super) fn moved(&mut self) -> ir::Value {
        let (packet, origin) = (self.b.use_var(self.shared.packet), self.field(frame::ORIGIN, types::I64, trusted()));
        let moved = self.b.ins().isub(packet, origin);
        self.b.ins().ireduce(types::I32, moved)
    }

    /// The packet has another length on the wire.
    pub(super) fn set_wire(&mut self, wire_len: ir::Value) {
        let len = self.b.use_var(self.shared.packet_len);
        let missing = self.b.ins().isub(wire_len, len);
        let (short, none) = (self.b.ins().icmp(IntCC::UnsignedLessThan, wire_len, len), self.iconst(types::I32, 0));
        let missing = self.b.ins().select(short, none, missing);
        self.set_field(frame::MISSING, missing);
    }

    /// Moves an end by a number of bytes, which is an operand and a value. False if that is left to
    /// the runtime.
    pub(super) fn moves(&mut self, helper: Helper, (operand, n): (mir::Value, ir::Value), (site, passes): (u32, bool)) -> bool {
        match helper {
            Helper::PullHead => {
                self.there(n, (site, passes));
                self.move_head(n, false);
                let most = self.iconst(types::I32, FRONT as u64);
                self.change_front(|this, front| {
                    let front = this.b.ins().iadd(front, n);
                    this.b.ins().umin(front, most)
                });
            }
            Helper::TrimTail => {
                self.there(n, (site, passes));
                let len = self.b.use_var(self.shared.packet_len);
                let len = self.b.ins().isub(len, n);
                self.b.def_var(self.shared.packet_len, len);
            }
            Helper::PushHead => match self.func.constant(operand) {
                Some(count @ ..=ZEROS) => self.push(n, count, site),
                _ => return false,
            },
            _ => self.unpull(n, site),
        }
        true
    }

    /// Traps if there is no packet, or fewer bytes of it, unless it is known that there are as
    /// many.
    fn there(&mut self, n: ir::Value, (site, passes): (u32, bool)) {
        self.present(site);
        if passes {
            return;
        }
        let len = self.b.use_var(self.shared.packet_len);
        let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThan, n, len);
        self.trap_if(outside, TrapKind::OutOfBounds(Space::Packet), site);
    }

    fn move_head(&mut self, n: ir::Value, back: bool) {
        let (packet, len) = (self.b.use_var(self.shared.packet), self.b.use_var(self.shared.packet_len));
        let by = self.b.ins().uextend(types::I64, n);
        let (packet, len) = match back {
            true => (self.b.ins().isub(packet, by), self.b.ins().iadd(len, n)),
            false => (self.b.ins().iadd(packet, by), self.b.ins().isub(len, n)),
        };
        self.b.def_var(self.shared.packet, packet);
        self.b.def_var(self.shared.packet_len, len);
    }

    fn change_front(&mut self, change: impl FnOnce(&mut Self, ir::Value) -> ir::Value) {
        let front = self.field(frame::FRONT, types::I32, trusted());
        let front = change(self, front);
        self.set_field(frame::FRONT, front);
    }

    /// An i8: there is a packet, and it may have n bytes more.
    fn may_grow(&mut self, n: ir::Value) -> (ir::Value, ir::Value) {
        let len = self.b.use_var(self.shared.packet_len);
        let [n, len] = [n, len].map(|v| self.b.ins().uextend(types::I64, v));
        let grown = self.b.ins().iadd(n, len);
        let fits = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, grown, i64::from(MAX_PACKET));
        if self.is_there() {
            return (fits, grown);
        }
        let present = self.field(frame::PRESENT, types::I32, trusted());
        let present = self.b.ins().icmp_imm_u(IntCC::NotEqual, present, 0);
        (self.b.ins().band(fits, present), grown)
    }

    /// Does work in place if the condition holds, else lets the runtime do it.
    fn unless_runtime(&mut self, ok: ir::Value, (helper, n, site): (Helper, ir::Value, u32), work: impl FnOnce(&mut Self)) {
        let (here, away, on) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(ok, here, &[], away, &[]);
        self.b.switch_to_block(away);
        self.b.set_cold_block(away);
        self.by_runtime(helper, &[n], site, Type::Void);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(here);
        work(self);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
    }

    fn unpull(&mut self, n: ir::Value, site: u32) {
        let ((fits, _), front) = (self.may_grow(n), self.field(frame::FRONT, types::I32, trusted()));
        let has = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, n, front);
        let ok = self.b.ins().band(fits, has);
        self.unless_runtime(ok, (Helper::Unpull, n, site), |this| {
            this.move_head(n, true);
            this.change_front(|this, front| this.b.ins().isub(front, n));
        });
    }

    /// Adds zeros before the head.
    fn push(&mut self, n: ir::Value, count: u64, site: u32) {
        let ((fits, grown), packet) = (self.may_grow(n), self.b.use_var(self.shared.packet));
        let memory = self.field(frame::MEMORY, types::I64, trusted());
        let head = self.b.ins().isub(packet, memory);
        let has = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, head, count as i64);
        let ok = self.b.ins().band(fits, has);
        self.unless_runtime(ok, (Helper::PushHead, n, site), |this| {
            this.pay(grown, site);
            this.move_head(n, true);
            this.change_front(|this, front| {
                let (more, none) = (this.b.ins().icmp(IntCC::UnsignedGreaterThan, front, n), this.iconst(types::I32, 0));
                let less = this.b.ins().isub(front, n);
                this.b.ins().select(more, less, none)
            });
            this.zero(count);
        });
    }

    /// The packet's first bytes become 0.
    fn zero(&mut self, count: u64) {
        if self.end_of_slice().is_some() {
            return;
        }
        let (packet, flags) = (self.b.use_var(self.shared.packet), self.bytes());
        let mut at = 0;
        while at < count {
            let ty = [types::I64, types::I32, types::I16].into_iter().find(|ty| u64::from(ty.bytes()) <= count - at).unwrap_or(types::I8);
            let zero = self.iconst(ty, 0);
            self.b.ins().store(flags, zero, packet, at as i32);
            at += u64::from(ty.bytes());
        }
    }

    /// Takes the price of so many bytes, a number of 64 bits, from the budget.
    pub(super) fn pay(&mut self, bytes: ir::Value, site: u32) {
        if self.end_of_slice().is_some() {
            return;
        }
        let price = self.b.ins().iadd_imm_s(bytes, netil::budget::PIECE as i64 - 1);
        let price = self.b.ins().ushr_imm_u(price, i64::from(netil::budget::PIECE.ilog2()));
        let price = self.b.ins().ireduce(types::I32, price);
        let left = self.field(frame::BUDGET, types::I32, trusted());
        let too_little = self.b.ins().icmp(IntCC::UnsignedLessThan, left, price);
        self.trap_if(too_little, TrapKind::Budget, site);
        let left = self.b.ins().isub(left, price);
        self.set_field(frame::BUDGET, left);
    }

    /// Whether there is a packet wherever a handler runs.
    pub(super) fn is_there(&self) -> bool {
        self.fusion.as_ref().is_some_and(|fusion| fusion.is_there)
    }
}
