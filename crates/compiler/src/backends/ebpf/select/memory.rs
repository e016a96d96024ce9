//! Accesses: to the packet by pointers that have been compared with its end, to constants and to
//! what lasts by places in maps, to info memory on the stack, where the verifier wants addresses
//! aligned.

use super::super::lir::{Alu, Cond, End, FRAME, Inst, Reg, Size, Src};
use super::super::proofs::MOST_OFFSET;
use super::{Select, limbs};
use crate::mir::{Extent, Order, Value};
use netil::table::Space;

impl Select<'_> {
    /// The register that points to the packet's beginning plus a value of bounded size.
    pub fn pointer(&mut self, x: Value) -> Reg {
        if let Some(pointer) = self.facts.pointers.get(&x) {
            return *pointer;
        }
        let offset = self.src(x, true);
        let pointer = self.made(Alu::Add, true, self.data, offset);
        self.facts.points(x, pointer);
        pointer
    }

    /// Goes on only if all extents are inside.
    pub fn check(&mut self, space: Space, extents: &[Extent], proved: bool) {
        for e in extents {
            match self.home(space) {
                Home::Packet => {
                    self.prove((e.addr, e.offset), e.size);
                }
                // An access says again what the verifier must know.
                _ if proved => {}
                home => {
                    self.bounded(home.size(), (e.addr, e.offset), e.size);
                }
            }
        }
    }

    /// Where a memory is.
    fn home(&self, space: Space) -> Home {
        match space {
            Space::Packet => Home::Packet,
            Space::Initialised => Home::Constants(self.program.module().data.len() as u32),
            Space::Data => Home::Lasting { start: self.layout.start, size: self.layout.data },
            Space::Shared => Home::Lasting { start: self.layout.shared_at(), size: self.layout.shared },
            Space::Info => Home::Frame(self.program.module().info_size),
        }
    }

    /// The address as a constant, or as a register that the verifier knows to be small enough for
    /// so many bytes; traps otherwise.
    fn bounded(&mut self, size: u32, (addr, offset): (Value, u32), bytes: u32) -> Option<At> {
        let most = u64::from(size).checked_sub(u64::from(offset) + u64::from(bytes));
        match (most, self.small(addr)) {
            (Some(most), Some(c)) if c <= most => Some(At::Constant(c as u32 + offset)),
            (Some(most), None) => {
                let x = self.reg(addr);
                Some(At::Register(self.at_most(x, most as u32)))
            }
            _ => {
                self.never();
                None
            }
        }
    }

    /// Base register, offset, and the most bytes of one instruction, for an access.
    fn place(&mut self, space: Space, at: (Value, u32), bytes: u32) -> (Reg, i32, u32) {
        let home = self.home(space);
        if let Home::Packet = home {
            let (base, offset) = self.prove(at, bytes);
            return (base, offset.cast_signed(), 8);
        }
        if let Some(place) = self.in_scratch(space, at, bytes) {
            return place;
        }
        let Some(found) = self.bounded(home.size(), at, bytes) else { return (self.data, 0, 8) };
        let (map, start) = match home {
            Home::Frame(_) => return self.in_frame(found, at.1),
            Home::Lasting { start, .. } => (self.maps.state(), start),
            _ => {
                let start = self.maps.constant(self.program.module().data.clone());
                (self.maps.constants(), start)
            }
        };
        let base = self.code.register();
        match found {
            At::Constant(c) => self.emit(Inst::Address { dst: base, map, offset: start + c }),
            At::Register(x) => {
                self.emit(Inst::Address { dst: base, map, offset: start + at.1 });
                self.alu(Alu::Add, true, base, Src::Reg(x));
            }
        }
        (base, 0, 8)
    }

    /// A place in scratch memory, which lies behind the frame, if that is the function's own, and
    /// the keys of tables.
    fn in_scratch(&self, space: Space, (addr, offset): (Value, u32), bytes: u32) -> Option<(Reg, i32, u32)> {
        let at = self.small(addr).filter(|_| space == Space::Data)?.checked_add(offset.into())?;
        let at = self.layout.in_scratch(u32::try_from(at).ok()?, bytes)?;
        let own = if self.unit.called { 0 } else { self.unit.frame.size() };
        let first = -(own + super::super::scratch(self.program) + self.layout.scratch_size()).cast_signed();
        Some((FRAME, first + at.cast_signed(), 1 << at.trailing_zeros().min(3)))
    }

    fn in_frame(&mut self, at: At, offset: u32) -> (Reg, i32, u32) {
        let (frame, bottom) = (self.info_frame(), self.unit.frame.info_at());
        match at {
            At::Constant(c) => (frame, bottom + c.cast_signed(), 1 << c.trailing_zeros().min(3)),
            At::Register(x) => {
                let base = self.copy(frame);
                self.alu(Alu::Add, true, base, Src::Reg(x));
                (base, bottom + offset.cast_signed(), 1)
            }
        }
    }

    /// Info memory begins with zeros.
    pub fn clear_info(&mut self) {
        let base = self.info_frame();
        for at in 1..=self.unit.frame.info / 8 {
            self.emit(Inst::Store { base, offset: -8 * at as i16, size: Size::B8, src: Src::Imm(0) });
        }
    }

    /// An entry of the exception table.
    pub fn exception(&mut self, entry: u32) -> Reg {
        self.state_at(self.layout.exceptions_at() + 4 * entry)
    }

    /// The address of a byte of what lasts.
    pub fn state_at(&mut self, offset: u32) -> Reg {
        let (map, dst) = (self.maps.state(), self.code.register());
        self.emit(Inst::Address { dst, map, offset });
        dst
    }

    /// A pointer and an offset from which so many bytes are in the packet: tested for, unless that
    /// is known.
    pub fn prove(&mut self, (addr, offset): (Value, u32), size: u32) -> (Reg, u32) {
        let (x, constant) = self.bounds.split(self.func, addr);
        let from = constant + u64::from(offset);
        let Some(bytes) = u32::try_from(from + u64::from(size)).ok().filter(|bytes| *bytes <= MOST_OFFSET) else {
            self.never();
            return (self.data, 0);
        };
        let pointer = match x {
            None => self.data,
            Some(x) if self.bounds.of(x) > u64::from(MOST_OFFSET) && !self.facts.pointers.contains_key(&x) => {
                let offset = self.reg(x);
                let offset = self.at_most(offset, MOST_OFFSET);
                let pointer = self.made(Alu::Add, true, self.data, Src::Reg(offset));
                self.facts.points(x, pointer);
                pointer
            }
            Some(x) => self.pointer(x),
        };
        self.prove_at(pointer, bytes);
        (pointer, from as u32)
    }

    /// Traps unless so many bytes behind a pointer are in the packet.
    pub fn prove_at(&mut self, pointer: Reg, bytes: u32) {
        if self.facts.range(pointer) < bytes {
            let (trap, next) = (self.trap(), self.code.block());
            self.until(pointer, bytes, Cond::Gt, trap, next);
            self.at = next;
            self.facts.learn(pointer, bytes);
        }
    }

    /// Traps; what follows is never reached.
    fn never(&mut self) {
        let trap = self.trap();
        self.ends(End::Jump(trap));
        self.at = self.code.block();
    }

    /// Traps if a value is greater; else the value in a register of its own, which the verifier
    /// knows to be so small.
    pub fn at_most(&mut self, v: Reg, most: u32) -> Reg {
        let (trap, next) = (self.trap(), self.code.block());
        let v = self.kept(v);
        self.branch(Cond::Gt, true, v, Src::Imm(most.cast_signed()), trap, next);
        self.at = next;
        v
    }

    /// A copy that stays in its register, for what the verifier learns of one register it forgets
    /// of a place on the stack.
    pub fn kept(&mut self, v: Reg) -> Reg {
        let v = self.copy(v);
        self.code.kept.insert(v);
        v
    }

    pub fn load(&mut self, space: Space, order: Order, at: (Value, u32), width: u16) -> Vec<Reg> {
        let bytes = u32::from(width / 8);
        let place = self.place(space, at, bytes);
        (0..limbs(width) as u32).map(|limb| self.load_limb(place, order, bytes, limb)).collect()
    }

    pub fn load_limb(&mut self, (base, offset, most): (Reg, i32, u32), order: Order, bytes: u32, limb: u32) -> Reg {
        let count = (bytes - 8 * limb).min(8);
        let first = match order {
            Order::Big => bytes - 8 * limb - count,
            Order::Little => 8 * limb,
        };
        let (mut value, mut done) = (None, 0);
        for (size, n) in pieces(count, most) {
            let piece = self.code.register();
            self.emit(Inst::Load { dst: piece, base, offset: (offset + (first + done).cast_signed()) as i16, size });
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

    pub fn store(&mut self, space: Space, order: Order, at: (Value, u32), value: Value) {
        let bytes = u32::from(self.func.width(value) / 8);
        let (base, offset, most) = self.place(space, at, bytes);
        let values = self.limbs(value);
        for (limb, v) in (0..).zip(values) {
            let count = (bytes - 8 * limb).min(8);
            let first = if order == Order::Big { bytes - 8 * limb - count } else { 8 * limb };
            self.store_limb((base, offset + first.cast_signed(), most), order, count, v);
        }
    }

    pub fn store_limb(&mut self, (base, offset, most): (Reg, i32, u32), order: Order, count: u32, v: Reg) {
        let mut done = 0;
        for (size, n) in pieces(count, most) {
            let below = if order == Order::Big { count - done - n } else { done };
            let part = if below > 0 { self.made(Alu::Rsh, true, v, Src::Imm(8 * below as i32)) } else { self.copy(v) };
            if order == Order::Big && n > 1 {
                self.emit(Inst::Swap { dst: part, bits: 8 * n as u8 });
            }
            self.emit(Inst::Store { base, offset: (offset + done.cast_signed()) as i16, size, src: Src::Reg(part) });
            done += n;
        }
    }
}

/// The accesses that so many bytes take, at most eight, none of more than `most`.
fn pieces(count: u32, most: u32) -> Vec<(Size, u32)> {
    let (mut left, mut pieces) = (count, Vec::new());
    for n in [8, 4, 2, 1].into_iter().filter(|n| *n <= most) {
        while left >= n {
            pieces.extend(Size::of(n).map(|size| (size, n)));
            left -= n;
        }
    }
    pieces
}

/// The accesses that go over so many bytes, each with its place.
pub(super) fn spread(bytes: u32) -> Vec<(Size, u32)> {
    let mut at = 0;
    let place = |(size, n): (Size, u32)| {
        at += n;
        (size, at - n)
    };
    pieces(bytes, 8).into_iter().map(place).collect()
}

/// Where a memory is.
#[derive(Clone, Copy)]
enum Home {
    Packet,
    /// In the map of constants, so many bytes.
    Constants(u32),
    /// In the map of what lasts.
    Lasting {
        start: u32,
        size: u32,
    },
    /// At the end of the stack frame, so many bytes.
    Frame(u32),
}

impl Home {
    fn size(self) -> u32 {
        match self {
            Self::Packet => 0,
            Self::Constants(size) | Self::Lasting { size, .. } | Self::Frame(size) => size,
        }
    }
}

/// A place in a memory.
enum At {
    Constant(u32),
    Register(Reg),
}
