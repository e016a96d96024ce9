//! Loads and stores of any number of bytes in either order.

use super::{Lower, ValueStorage, container, trusted};
use crate::JitError;
use compiler::Target;
use compiler::mir::{self, Order};
use cranelift_codegen::ir::{self, InstBuilder, types};
use netil::table::Space;

const NATIVE: Order = Target::HERE.order;

/// Part of a value in memory: first byte, bytes, lowest bit of the value.
struct Part {
    at: i32,
    bytes: u32,
    bit: u32,
}

/// The accesses of 8, 4, 2 and 1 bytes that make up a value of `bytes` bytes, none crossing a limb.
fn parts(bytes: u32, order: Order) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut done = 0;
    while done < bytes {
        let size = [8, 4, 2, 1].into_iter().find(|s| *s <= bytes - done && done % s == 0).unwrap_or(1);
        let at = if order == Order::Big { bytes - done - size } else { done };
        parts.push(Part { at: at as i32, bytes: size, bit: 8 * done });
        done += size;
    }
    parts
}

fn access(bytes: u32) -> ir::Type {
    match bytes {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        _ => types::I64,
    }
}

impl Lower<'_> {
    /// Where an access starts.
    fn address(&mut self, space: Space, addr: mir::Value, offset: u32) -> (ir::Value, i32) {
        let constant = self.func.constant(addr).map(|at| at + u64::from(offset));
        let (base, moved) = match self.shadowed(space, constant) {
            Some((base, at)) => (base, Some(at)),
            None => (self.base(space), constant),
        };
        let (base, offset) = match constant {
            Some(at) => (base, moved.unwrap_or(at)),
            None => {
                let addr = self.reg(addr);
                let addr = self.b.ins().uextend(types::I64, addr);
                (self.b.ins().iadd(base, addr), offset.into())
            }
        };
        // Room for the parts of the widest value.
        match i32::try_from(offset + 256) {
            Ok(_) => (base, offset as i32),
            Err(_) => (self.b.ins().iadd_imm_s(base, offset as i64), 0),
        }
    }

    /// In a register of at least that type: loads that need no swap are extended by the way.
    fn part(&mut self, base: ir::Value, offset: i32, part: &Part, order: Order, ty: ir::Type) -> ir::Value {
        let (at, flags) = (offset + part.at, self.bytes());
        match part.bytes {
            1 => self.b.ins().uload8(ty, flags, base, at),
            2 if order == NATIVE => self.b.ins().uload16(ty, flags, base, at),
            4 if order == NATIVE && ty == types::I64 => self.b.ins().uload32(flags, base, at),
            bytes => {
                let v = self.b.ins().load(access(bytes), flags, base, at);
                if order == NATIVE { v } else { self.b.ins().bswap(v) }
            }
        }
    }

    /// A value of at most 128 bits.
    pub(super) fn load(&mut self, space: Space, order: Order, addr: mir::Value, offset: u32, width: u16) -> ir::Value {
        let (base, offset) = self.address(space, addr, offset);
        self.load_at(base, offset, width, order)
    }

    /// A value of at most 128 bits, from an address.
    pub(super) fn load_at(&mut self, base: ir::Value, offset: i32, width: u16, order: Order) -> ir::Value {
        if width > 64 {
            let limbs = self.load_limbs(base, offset, width, order);
            return self.b.ins().iconcat(limbs[0], limbs[1]);
        }
        let ty = container(width);
        let mut value = None;
        for part in parts(u32::from(width / 8), order) {
            let v = self.part(base, offset, &part, order, ty);
            let v = self.resize(v, ty);
            let v = if part.bit == 0 { v } else { self.b.ins().ishl_imm_u(v, i64::from(part.bit)) };
            value = Some(value.map_or(v, |low| self.b.ins().bor(low, v)));
        }
        value.unwrap_or_else(|| self.iconst(ty, 0))
    }

    /// The limbs of a value of any width.
    fn load_limbs(&mut self, base: ir::Value, offset: i32, width: u16, order: Order) -> Vec<ir::Value> {
        let mut limbs: Vec<ir::Value> = Vec::new();
        for part in parts(u32::from(width / 8), order) {
            let v = self.part(base, offset, &part, order, types::I64);
            let v = self.resize(v, types::I64);
            match (part.bit % 64, limbs.last_mut()) {
                (0, _) | (_, None) => limbs.push(v),
                (bit, Some(last)) => {
                    let high = self.b.ins().ishl_imm_u(v, i64::from(bit));
                    *last = self.b.ins().bor(*last, high);
                }
            }
        }
        limbs
    }

    /// A value of more than 128 bits, into its slot.
    pub(super) fn load_slot(&mut self, slot: ir::StackSlot, width: u16, (space, order, addr, offset): (Space, Order, mir::Value, u32)) {
        let (base, offset) = self.address(space, addr, offset);
        self.load_slot_at(slot, width, (order, base, offset));
    }

    /// A value of more than 128 bits, from an address into its slot.
    pub(super) fn load_slot_at(&mut self, slot: ir::StackSlot, width: u16, (order, base, offset): (Order, ir::Value, i32)) {
        let to = self.b.ins().stack_addr(types::I64, slot, 0);
        for (i, limb) in self.load_limbs(base, offset, width, order).into_iter().enumerate() {
            self.b.ins().store(trusted(), limb, to, 8 * i as i32);
        }
    }

    pub(super) fn store(&mut self, space: Space, order: Order, addr: mir::Value, offset: u32, value: mir::Value) -> Result<(), JitError> {
        let (base, offset) = self.address(space, addr, offset);
        self.store_at(base, offset, value, order);
        Ok(())
    }

    /// Stores a value at an address.
    pub(super) fn store_at(&mut self, base: ir::Value, offset: i32, value: mir::Value, order: Order) {
        let width = self.func.width(value);
        let limbs = self.limbs_of(value);
        for part in parts(u32::from(width / 8), order) {
            let limb = limbs[part.bit as usize / 64];
            let within = part.bit % 64;
            let v = if within == 0 { limb } else { self.b.ins().ushr_imm_u(limb, i64::from(within)) };
            let v = self.resize(v, access(part.bytes));
            let v = if order == NATIVE || part.bytes == 1 { v } else { self.b.ins().bswap(v) };
            let flags = self.bytes();
            self.b.ins().store(flags, v, base, offset + part.at);
        }
    }

    /// The value cut into registers of at most 64 bits.
    fn limbs_of(&mut self, value: mir::Value) -> Vec<ir::Value> {
        let width = self.func.width(value);
        match self.places[value.0 as usize] {
            ValueStorage::Slot(slot) => {
                let at = self.b.ins().stack_addr(types::I64, slot, 0);
                (0..netil::wide::limbs(width)).map(|i| self.b.ins().load(types::I64, trusted(), at, 8 * i as i32)).collect()
            }
            _ => {
                let v = self.reg(value);
                if width <= 64 {
                    return vec![v];
                }
                let (low, high) = self.b.ins().isplit(v);
                vec![low, high]
            }
        }
    }
}
