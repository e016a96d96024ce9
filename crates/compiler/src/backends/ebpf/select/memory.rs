//! Accesses: to the packet by pointers that have been compared with its end, to constants by their places in a map.

use super::super::lir::{Alu, Cond, End, Inst, Reg, Size, Src};
use super::super::proofs::MOST_OFFSET;
use super::super::{Map, Refused};
use super::{Select, limbs};
use crate::mir::{Extent, Order, Value};
use netil::table::Space;

/// The map of what nobody writes to, by the name that loaders give it.
const CONSTANTS: &str = ".rodata";

impl Select<'_> {
    /// The register that points to the packet's beginning plus a value of bounded size.
    pub fn pointer(&mut self, x: Value) -> Reg {
        if let Some(pointer) = self.facts.pointers.get(&x) {
            return *pointer;
        }
        let offset = self.src(x, true);
        let pointer = self.made(Alu::Add, true, self.data, offset);
        self.facts.pointers.insert(x, pointer);
        pointer
    }

    /// Goes on only if all extents are inside.
    pub fn check(&mut self, space: Space, extents: &[Extent]) -> Result<(), Refused> {
        match space {
            Space::Packet => extents.iter().for_each(|e| {
                self.prove((e.addr, e.offset), e.size);
            }),
            Space::Initialised => {}
            _ => {
                let name = space.name();
                return Err(Refused { reason: name.to_owned(), site: extents.first().map(|e| e.site) });
            }
        }
        Ok(())
    }

    /// A pointer and an offset from which so many bytes are in the packet: tested for, unless that is known.
    fn prove(&mut self, (addr, offset): (Value, u32), size: u32) -> (Reg, u32) {
        let (x, constant) = self.bounds.split(self.func, addr);
        let from = constant + u64::from(offset);
        let Some(bytes) = u32::try_from(from + u64::from(size)).ok().filter(|bytes| *bytes <= MOST_OFFSET) else {
            self.never();
            return (self.data, 0);
        };
        let pointer = match x {
            None => self.data,
            Some(x) => {
                if self.bounds.of(x) > u64::from(MOST_OFFSET) && !self.facts.pointers.contains_key(&x) {
                    let offset = self.reg(x);
                    self.at_most(offset, MOST_OFFSET);
                }
                self.pointer(x)
            }
        };
        if self.facts.range(pointer) < bytes {
            let (trap, next) = (self.action(self.options.trap), self.code.block());
            self.until(pointer, bytes, Cond::Gt, trap, next);
            self.at = next;
            self.facts.learn(pointer, bytes);
        }
        (pointer, from as u32)
    }

    /// Traps; what follows is never reached.
    fn never(&mut self) {
        let trap = self.action(self.options.trap);
        self.ends(End::Jump(trap));
        self.at = self.code.block();
    }

    /// Traps if a value is greater.
    fn at_most(&mut self, v: Reg, most: u32) {
        let (trap, next) = (self.action(self.options.trap), self.code.block());
        self.branch(Cond::Gt, true, v, Src::Imm(most.cast_signed()), trap, next);
        self.at = next;
    }

    pub fn load(&mut self, space: Space, order: Order, (addr, offset): (Value, u32), width: u16) -> Result<Vec<Reg>, Refused> {
        let bytes = u32::from(width / 8);
        let (base, offset) = match space {
            Space::Packet => self.prove((addr, offset), bytes),
            Space::Initialised => self.constants(addr, offset, bytes),
            _ => return Err(Refused::whole(space.name())),
        };
        Ok((0..limbs(width) as u32).map(|limb| self.load_limb(base, order, offset, bytes, limb)).collect())
    }

    fn load_limb(&mut self, base: Reg, order: Order, offset: u32, bytes: u32, limb: u32) -> Reg {
        let count = (bytes - 8 * limb).min(8);
        let first = match order {
            Order::Big => offset + bytes - 8 * limb - count,
            Order::Little => offset + 8 * limb,
        };
        let (mut value, mut done) = (None, 0);
        for (size, n) in pieces(count) {
            let piece = self.code.register();
            self.emit(Inst::Load { dst: piece, base, offset: (first + done) as i16, size });
            if order == Order::Big && n > 1 {
                self.emit(Inst::Swap { dst: piece, bits: 8 * n as u8 });
            }
            value = Some(match value {
                None => piece,
                Some(high) if order == Order::Big => {
                    self.alu(Alu::Lsh, true, high, Src::Imm(8 * n as i32));
                    self.alu(Alu::Or, true, high, Src::Reg(piece));
                    high
                }
                Some(low) => {
                    self.alu(Alu::Lsh, true, piece, Src::Imm(8 * done as i32));
                    self.alu(Alu::Or, true, piece, Src::Reg(low));
                    piece
                }
            });
            done += n;
        }
        value.expect("a load of a byte at least")
    }

    pub fn store(&mut self, space: Space, order: Order, (addr, offset): (Value, u32), value: Value) -> Result<(), Refused> {
        if space != Space::Packet {
            return Err(Refused::whole(space.name()));
        }
        let bytes = u32::from(self.func.width(value) / 8);
        let (base, offset) = self.prove((addr, offset), bytes);
        let values = self.limbs(value);
        for (limb, v) in (0..).zip(values) {
            let count = (bytes - 8 * limb).min(8);
            match order {
                Order::Big => self.store_big(base, offset + bytes - 8 * limb - count, count, v),
                Order::Little => self.store_little(base, offset + 8 * limb, count, v),
            }
        }
        Ok(())
    }

    fn store_little(&mut self, base: Reg, offset: u32, count: u32, v: Reg) {
        let mut done = 0;
        for (size, n) in pieces(count) {
            let part = if done == 0 { v } else { self.made(Alu::Rsh, true, v, Src::Imm(8 * done as i32)) };
            self.emit(Inst::Store { base, offset: (offset + done) as i16, size, src: Src::Reg(part) });
            done += n;
        }
    }

    fn store_big(&mut self, base: Reg, offset: u32, count: u32, v: Reg) {
        let mut done = 0;
        for (size, n) in pieces(count) {
            let part = self.copy(v);
            let behind = count - done - n;
            if behind > 0 {
                self.alu(Alu::Rsh, true, part, Src::Imm(8 * behind as i32));
            }
            if n > 1 {
                self.emit(Inst::Swap { dst: part, bits: 8 * n as u8 });
            }
            self.emit(Inst::Store { base, offset: (offset + done) as i16, size, src: Src::Reg(part) });
            done += n;
        }
    }

    /// A pointer into initialised data.
    fn constants(&mut self, addr: Value, offset: u32, bytes: u32) -> (Reg, u32) {
        let data = &self.program.module().data;
        let Some(most) = (data.len() as u64).checked_sub(u64::from(offset) + u64::from(bytes)) else {
            self.never();
            return (self.data, 0);
        };
        let start = self.table(data.clone());
        let (map, at) = (0, self.code.register());
        match self.small(addr) {
            Some(c) if c <= most => self.emit(Inst::Address { dst: at, map, offset: start + c as u32 + offset }),
            Some(_) => {
                self.never();
                return (self.data, 0);
            }
            None => {
                let x = self.reg(addr);
                self.at_most(x, most as u32);
                self.emit(Inst::Address { dst: at, map, offset: start + offset });
                self.alu(Alu::Add, true, at, Src::Reg(x));
            }
        }
        (at, 0)
    }

    /// Puts constants into their map; where they begin.
    pub fn table(&mut self, bytes: Vec<u8>) -> u32 {
        if let Some(at) = self.tables.get(&bytes) {
            return *at;
        }
        if self.maps.is_empty() {
            self.maps.push(Map { name: CONSTANTS.to_owned(), data: Vec::new(), read_only: true });
        }
        let data = &mut self.maps[0].data;
        data.resize(data.len().next_multiple_of(8), 0);
        let at = data.len() as u32;
        data.extend_from_slice(&bytes);
        self.tables.insert(bytes, at);
        at
    }
}

/// The accesses that so many bytes take, at most eight.
fn pieces(count: u32) -> impl Iterator<Item = (Size, u32)> {
    [8, 4, 2, 1].into_iter().filter(move |n| count & n != 0).filter_map(|n| Size::of(n).map(|size| (size, n)))
}
