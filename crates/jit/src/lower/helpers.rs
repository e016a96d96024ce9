//! Work of the runtime that a few instructions do in place, and entries of tables.

use super::{FunctionKind, Lower, trusted};
use crate::JitError;
use crate::frame;
use compiler::mir::{self, Helper, Order};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use netil::exec::TrapKind;
use netil::table::Space;

impl Lower<'_> {
    /// What a helper gives, if it is done here; within, `None` if it gives nothing. If it passes,
    /// the packet is known to have the bytes.
    pub(super) fn in_line(
        &mut self,
        helper: Helper,
        (values, operands): (&[mir::Value], &[ir::Value]),
        (site, passes): (u32, bool),
    ) -> Option<Option<ir::Value>> {
        match (helper, operands) {
            (Helper::Moved, _) if self.shape == FunctionKind::Fused => Some(Some(self.moved())),
            (Helper::IsPresent, _) if self.shape == FunctionKind::Fused => Some(Some(self.field(frame::PRESENT, types::I32, trusted()))),
            (Helper::PullHead | Helper::TrimTail | Helper::PushHead | Helper::Unpull, [n]) if self.shape == FunctionKind::Fused => {
                self.moves(helper, (values[0], *n), (site, passes)).then_some(None)
            }
            (Helper::Checksum | Helper::ChecksumValid, [at, len]) if self.shape == FunctionKind::Fused => {
                Some(Some(self.checksum(helper, *at, *len, site)))
            }
            (Helper::Hash, [_, ..]) => Some(Some(self.murmur(operands))),
            (Helper::SetWire, [wire_len]) if self.shape == FunctionKind::Fused => {
                self.set_wire(*wire_len);
                Some(None)
            }
            (Helper::Moved, _) if self.shape == FunctionKind::Run => Some(Some(self.field(frame::MOVED, types::I32, trusted()))),
            (Helper::IsPresent, _) if self.shape == FunctionKind::Run => Some(Some(self.field(frame::PRESENT, types::I32, trusted()))),
            (Helper::Inside, [at, len]) => {
                self.inside(*at, *len, site);
                Some(None)
            }
            (Helper::ChecksumAdd, [sum, value]) => Some(Some(self.checksum_with(*sum, *value, false))),
            (Helper::ChecksumSub, [sum, value]) => Some(Some(self.checksum_with(*sum, *value, true))),
            _ => None,
        }
    }

    /// Traps if the bytes `at..at + len` do not lie inside the packet.
    pub(super) fn inside(&mut self, at: ir::Value, len: ir::Value, site: u32) {
        let all = self.b.use_var(self.shared.packet_len);
        let [at, len, all] = [at, len, all].map(|v| self.b.ins().uextend(types::I64, v));
        let end = self.b.ins().iadd(at, len);
        let outside = self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, all);
        self.trap_if(outside, TrapKind::OutOfBounds(Space::Packet), site);
    }

    /// The checksum of data that a 16-bit value was added to, or taken out of: see
    /// [`netil::digest::checksum_add`].
    fn checksum_with(&mut self, sum: ir::Value, value: ir::Value, out: bool) -> ir::Value {
        let low = |this: &mut Self, v| this.b.ins().band_imm_u(v, 0xffff);
        let inverted = |this: &mut Self, v| {
            let v = this.b.ins().bnot(v);
            low(this, v)
        };
        let (sum, value) = (inverted(self, sum), if out { inverted(self, value) } else { low(self, value) });
        let whole = self.b.ins().iadd(sum, value);
        let (carry, rest) = (self.b.ins().ushr_imm_u(whole, 16), low(self, whole));
        let folded = self.b.ins().iadd(rest, carry);
        inverted(self, folded)
    }

    /// The address of an entry's value; traps if there is no such entry.
    fn entry_of(&mut self, table: u32, entry: mir::Value, site: u32) -> ir::Value {
        if let Some((_, at)) = self.found.get(&table).filter(|(known, _)| *known == entry) {
            return *at;
        }
        if let Some(at) = self.entry_in_line(table, entry, site) {
            self.found.insert(table, (entry, at));
            return at;
        }
        self.entry_by_runtime(table, entry, site)
    }

    pub(super) fn entry_by_runtime(&mut self, table: u32, entry: mir::Value, site: u32) -> ir::Value {
        if self.ends_slice() {
            return self.iconst(types::I64, 0);
        }
        self.tell_packet();
        let (table, entry) = (self.iconst(types::I32, table.into()), self.reg(entry));
        let at = self.call_frame(frame::ENTRY, &[self.shared.frame, table, entry], types::I64);
        let none = self.b.ins().icmp_imm_u(IntCC::Equal, at, 0);
        self.trap_if(none, TrapKind::NoEntry, site);
        at
    }

    /// The verifier has compared the place with the size of values.
    pub(super) fn entry_load(&mut self, v: mir::Value, (table, at): (u32, u32), entry: mir::Value, site: u32) -> Result<(), JitError> {
        let (base, width) = (self.entry_of(table, entry, site), self.func.width(v));
        if width > 128 {
            let slot = self.own_slot(v)?;
            self.load_slot_at(slot, width, (Order::Little, base, at as i32));
            return Ok(());
        }
        self.places[v.0 as usize] = super::ValueStorage::Reg(self.load_at(base, at as i32, width, Order::Little));
        Ok(())
    }

    /// See [`Self::entry_load`].
    pub(super) fn entry_store(&mut self, (table, at): (u32, u32), operands: &[mir::Value], site: u32) -> Result<(), JitError> {
        let base = self.entry_of(table, operands[1], site);
        self.store_at(base, at as i32, operands[0], Order::Little);
        Ok(())
    }
}
