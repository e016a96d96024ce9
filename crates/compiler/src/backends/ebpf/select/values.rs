//! Operations on values of at most 64 bits. Results have the bits above their width clear.

use super::super::Refused;
use super::super::lir::{Alu, Cond, End, Inst, Reg, Size, Src};
use super::{Select, limbs};
use crate::mir::{Op, Value};
use netil::ops::{BinOp, UnOp, mask};

impl Select<'_> {
    /// The registers of an operation's result.
    pub fn value(&mut self, v: Value, op: &Op) -> Result<Vec<Reg>, Refused> {
        let width = self.func.width(v);
        match op {
            Op::Load(space, order, addr, offset, _) => return Ok(self.load(*space, *order, (*addr, *offset), width)),
            Op::Cmp(op, a, b) => {
                return self
                    .flag(|s, yes, no| {
                        s.compare(*op, *a, *b, yes, no);
                        Ok(())
                    })
                    .map(|r| vec![r]);
            }
            Op::SetHas(set, a) => return self.flag(|s, yes, no| s.member(*set, *a, yes, no)).map(|r| vec![r]),
            Op::Select(c, a, b) => return self.choose(*c, *a, *b, width),
            Op::Checked(op, signed, a, b, _) => return Ok(vec![self.checked(*op, *signed, *a, *b)]),
            _ => {}
        }
        if width > 64 || self.takes_wide(op) {
            return self.wide(op, width);
        }
        Ok(vec![match op {
            Op::Bin(op, a, b) | Op::Div(op, a, b, _) => self.bin(*op, width, *a, *b),
            Op::Un(op, a) => self.un(*op, width, *a),
            Op::Zext(a) => self.reg(*a),
            Op::Sext(a) => {
                let r = self.reg(*a);
                let r = self.signed(r, self.func.width(*a));
                self.cut(r, width);
                r
            }
            Op::Trunc(a) => self.slice(*a, 0, width),
            Op::Slice(a, low) => self.slice(*a, *low, width),
            Op::Concat(high, low) => {
                let low_width = self.func.width(*low);
                let (high, low) = (self.reg(*high), self.src(*low, true));
                let r = self.made(Alu::Lsh, true, high, Src::Imm(low_width.into()));
                self.alu(Alu::Or, true, r, low);
                r
            }
            Op::PacketLen | Op::WireLen => {
                let (end, data) = (self.end, self.data);
                self.made(Alu::Sub, true, end, Src::Reg(data))
            }
            Op::ExceptionLoad(entry) => {
                let (base, dst) = (self.exception(*entry), self.code.register());
                self.emit(Inst::Load { dst, base, offset: 0, size: Size::B4 });
                dst
            }
            Op::TimeSeconds | Op::TimeMicros | Op::TimeNanos => self.time(op),
            Op::Random(site) => return Err(Refused::at(*site, "a random number of netvm's, which is a function of the packet's number")),
            other => return Err(Refused::whole(format!("'{other}'"))),
        }])
    }

    fn takes_wide(&self, op: &Op) -> bool {
        let mut wide = false;
        op.operands(|v| wide |= self.func.width(v) > 64);
        wide
    }

    fn choose(&mut self, c: Value, a: Value, b: Value, width: u16) -> Result<Vec<Reg>, Refused> {
        let (then, other, join) = (self.code.block(), self.code.block(), self.code.block());
        let dst: Vec<Reg> = (0..limbs(width)).map(|_| self.code.register()).collect();
        let (a, b) = (self.limbs(a), self.limbs(b));
        self.jump_if(c, then, other)?;
        for (label, from) in [(then, a), (other, b)] {
            self.at = label;
            dst.iter().zip(from).for_each(|(dst, src)| self.copy_to(*dst, src));
            self.ends(End::Jump(join));
        }
        self.at = join;
        Ok(dst)
    }

    /// Clears the bits above a width.
    pub fn cut(&mut self, r: Reg, width: u16) {
        match width {
            64.. => {}
            33..=63 => {
                let by = Src::Imm(i32::from(64 - width));
                self.alu(Alu::Lsh, true, r, by);
                self.alu(Alu::Rsh, true, r, by);
            }
            32 => self.alu(Alu::Mov, false, r, Src::Reg(r)),
            _ => self.alu(Alu::And, false, r, Src::Imm(mask(width) as i32)),
        }
    }

    /// The value as a signed number of 64 bits, in a new register.
    pub fn signed(&mut self, r: Reg, width: u16) -> Reg {
        let by = Src::Imm(64 - i32::from(width));
        let r = self.copy(r);
        if width < 64 {
            self.alu(Alu::Lsh, true, r, by);
            self.alu(Alu::Arsh, true, r, by);
        }
        r
    }

    /// Bits of a value of at most 64 bits.
    fn slice(&mut self, a: Value, low: u16, width: u16) -> Reg {
        let (a, of) = (self.reg(a), self.func.width(a));
        let r = if low > 0 { self.made(Alu::Rsh, true, a, Src::Imm(low.into())) } else { self.copy(a) };
        if low + width < of {
            self.cut(r, width);
        }
        r
    }

    fn bin(&mut self, op: BinOp, width: u16, a: Value, b: Value) -> Reg {
        let wide = width > 32;
        let plain = match op {
            BinOp::Add => (Alu::Add, true),
            BinOp::Sub => (Alu::Sub, true),
            BinOp::Mul => (Alu::Mul, true),
            BinOp::Div => (Alu::Div, false),
            BinOp::Mod => (Alu::Mod, false),
            BinOp::And => (Alu::And, false),
            BinOp::Or => (Alu::Or, false),
            BinOp::Xor => (Alu::Xor, false),
            BinOp::Shl | BinOp::UShr | BinOp::Shr => return self.shift(op, width, a, b),
            BinOp::Rol | BinOp::Ror => return self.rotate(op, width, a, b),
            BinOp::AddSatU | BinOp::SubSatU => return self.saturated(op, width, a, b),
            BinOp::AddSatS | BinOp::SubSatS => return self.clamped(op, width, a, b),
        };
        let a = self.reg(a);
        let b = self.src(b, wide);
        let r = self.made(plain.0, wide, a, b);
        if plain.1 && !matches!(width, 32 | 64) {
            self.cut(r, width);
        }
        r
    }

    fn shift(&mut self, op: BinOp, width: u16, a: Value, by: Value) -> Reg {
        let a = self.reg(a);
        let a = if op == BinOp::Shr { self.signed(a, width) } else { a };
        let (wide, r) = (
            width > 32 || op == BinOp::Shr,
            match self.small(by) {
                Some(by) => return self.shift_by(op, width, a, by),
                None => self.code.register(),
            },
        );
        let by = self.reg(by);
        let (inside, outside, join) = (self.code.block(), self.code.block(), self.code.block());
        self.branch(Cond::Lt, false, by, Src::Imm(width.into()), inside, outside);
        self.at = outside;
        match op {
            BinOp::Shr => {
                self.copy_to(r, a);
                self.alu(Alu::Arsh, true, r, Src::Imm(63));
            }
            _ => self.set(r, 0),
        }
        self.ends(End::Jump(join));
        self.at = inside;
        self.copy_to(r, a);
        self.alu(shift(op), wide, r, Src::Reg(by));
        self.ends(End::Jump(join));
        self.at = join;
        self.cut(r, width);
        r
    }

    /// By a constant.
    fn shift_by(&mut self, op: BinOp, width: u16, a: Reg, by: u64) -> Reg {
        if by >= u64::from(width) && op != BinOp::Shr {
            return self.constant(0);
        }
        let wide = width > 32 || op == BinOp::Shr;
        let r = self.made(shift(op), wide, a, Src::Imm(by.min(63) as i32));
        if op != BinOp::UShr && (op == BinOp::Shr || !matches!(width, 32 | 64)) {
            self.cut(r, width);
        }
        r
    }

    /// Both parts by shifts; an amount of 0 is one of its own, since the other part would be
    /// shifted by the whole width.
    fn rotate(&mut self, op: BinOp, width: u16, a: Value, by: Value) -> Reg {
        let (a, w) = (self.reg(a), i32::from(width));
        let by = self.src(by, false);
        let amount = self.code.register();
        self.alu(Alu::Mov, false, amount, by);
        self.alu(Alu::Mod, false, amount, Src::Imm(w));
        let (left, right) = if op == BinOp::Rol { (Alu::Lsh, Alu::Rsh) } else { (Alu::Rsh, Alu::Lsh) };
        let (r, turn, join) = (self.copy(a), self.code.block(), self.code.block());
        self.branch(Cond::Eq, false, amount, Src::Imm(0), join, turn);
        self.at = turn;
        self.alu(left, true, r, Src::Reg(amount));
        let rest = self.constant(u64::from(width));
        self.alu(Alu::Sub, true, rest, Src::Reg(amount));
        let other = self.made(right, true, a, Src::Reg(rest));
        self.alu(Alu::Or, true, r, Src::Reg(other));
        self.ends(End::Jump(join));
        self.at = join;
        self.cut(r, width);
        r
    }

    fn saturated(&mut self, op: BinOp, width: u16, a: Value, b: Value) -> Reg {
        let (a, b) = (self.reg(a), self.reg(b));
        let (over, join) = (self.code.block(), self.code.block());
        let r = if op == BinOp::AddSatU { self.made(Alu::Add, true, a, Src::Reg(b)) } else { self.made(Alu::Sub, true, a, Src::Reg(b)) };
        match op {
            BinOp::SubSatU => self.branch(Cond::Lt, true, a, Src::Reg(b), over, join),
            _ if width == 64 => self.branch(Cond::Lt, true, r, Src::Reg(a), over, join),
            _ => {
                let most = self.immediate(mask(width), true);
                self.branch(Cond::Gt, true, r, most, over, join);
            }
        }
        self.at = over;
        self.set(r, if op == BinOp::AddSatU { mask(width) } else { 0 });
        self.ends(End::Jump(join));
        self.at = join;
        r
    }

    /// Signed, at both ends: the exact result has one bit more, which shows in the signs.
    fn clamped(&mut self, op: BinOp, width: u16, a: Value, b: Value) -> Reg {
        let (a, b) = (self.reg(a), self.reg(b));
        // At the top of 64 bits, so that a result that does not fit overflows there.
        let up = Src::Imm(64 - i32::from(width));
        let (a, b) = (self.made(Alu::Lsh, true, a, up), self.made(Alu::Lsh, true, b, up));
        let add = op == BinOp::AddSatS;
        let r = self.made(if add { Alu::Add } else { Alu::Sub }, true, a, Src::Reg(b));
        // Overflow: the operands' signs are equal (differ, for a difference), and that of the
        // result is another than a's.
        let signs = self.made(Alu::Xor, true, a, Src::Reg(b));
        if add {
            self.alu(Alu::Xor, true, signs, Src::Imm(-1));
        }
        let turned = self.made(Alu::Xor, true, a, Src::Reg(r));
        self.alu(Alu::And, true, signs, Src::Reg(turned));
        let (over, join) = (self.code.block(), self.code.block());
        self.branch(Cond::Slt, true, signs, Src::Imm(0), over, join);
        self.at = over;
        // The end on a's side.
        let low = self.constant(mask(width) >> 1 << (64 - width));
        self.copy_to(r, a);
        self.alu(Alu::Arsh, true, r, Src::Imm(63));
        self.alu(Alu::Xor, true, r, Src::Reg(low));
        self.ends(End::Jump(join));
        self.at = join;
        self.alu(Alu::Rsh, true, r, up);
        r
    }

    fn un(&mut self, op: UnOp, width: u16, a: Value) -> Reg {
        let a = self.reg(a);
        let wide = width > 32;
        match op {
            UnOp::Neg | UnOp::Not => {
                let r = self.copy(a);
                match op {
                    UnOp::Neg => self.alu(Alu::Neg, wide, r, Src::Imm(0)),
                    _ => self.alu(Alu::Xor, wide, r, Src::Imm(-1)),
                }
                if !matches!(width, 32 | 64) {
                    self.cut(r, width);
                }
                r
            }
            UnOp::Bswap => {
                let r = self.copy(a);
                match width {
                    8 => {}
                    16 | 32 | 64 => self.emit(Inst::Swap { dst: r, bits: width as u8 }),
                    _ => {
                        self.alu(Alu::Lsh, true, r, Src::Imm(64 - i32::from(width)));
                        self.emit(Inst::Swap { dst: r, bits: 64 });
                    }
                }
                r
            }
            UnOp::FindBit => {
                let (r, highest) = (self.constant(mask(width)), self.highest(a));
                self.unless_zero(a, |s| s.copy_to(r, highest));
                r
            }
            UnOp::Clz => {
                let (r, highest) = (self.constant(u64::from(width)), self.highest(a));
                self.unless_zero(a, |s| {
                    s.set(r, u64::from(width) - 1);
                    s.alu(Alu::Sub, true, r, Src::Reg(highest));
                });
                self.cut(r, width);
                r
            }
        }
    }

    fn unless_zero(&mut self, a: Reg, then: impl FnOnce(&mut Self)) {
        let (more, join) = (self.code.block(), self.code.block());
        self.branch(Cond::Ne, true, a, Src::Imm(0), more, join);
        self.at = more;
        then(self);
        self.ends(End::Jump(join));
        self.at = join;
    }

    /// Index of the highest bit of a value that is not 0: halving, without branches.
    fn highest(&mut self, a: Reg) -> Reg {
        let (rest, index) = (self.copy(a), self.constant(0));
        for step in [32, 16, 8, 4, 2, 1] {
            // 0 or step: whether something is above.
            let above = self.made(Alu::Rsh, true, rest, Src::Imm(step));
            self.alu(Alu::Neg, true, above, Src::Imm(0));
            self.alu(Alu::Rsh, true, above, Src::Imm(63));
            self.alu(Alu::Mul, true, above, Src::Imm(step));
            self.alu(Alu::Rsh, true, rest, Src::Reg(above));
            self.alu(Alu::Add, true, index, Src::Reg(above));
        }
        index
    }

    fn checked(&mut self, op: BinOp, signed: bool, a: Value, b: Value) -> Reg {
        let (a, b) = (self.reg(a), self.reg(b));
        let (a, b) = if signed { (self.signed(a, 32), self.signed(b, 32)) } else { (a, b) };
        let alu = match op {
            BinOp::Add => Alu::Add,
            BinOp::Sub => Alu::Sub,
            _ => Alu::Mul,
        };
        let r = self.made(alu, true, a, Src::Reg(b));
        let low = if signed {
            self.signed(r, 32)
        } else {
            let low = self.copy(r);
            self.cut(low, 32);
            low
        };
        let (trap, next) = (self.trap(), self.code.block());
        self.branch(Cond::Eq, true, low, Src::Reg(r), next, trap);
        self.at = next;
        self.cut(r, 32);
        r
    }

    /// RFC 1624 on numbers of 16 bits: the ones' complement of a sum of complements.
    pub fn checksum(&mut self, subtract: bool, sum: Value, v: Value) -> Reg {
        let (sum, v) = (self.reg(sum), self.reg(v));
        let low = Src::Imm(0xffff);
        let (r, v) = (
            self.made(Alu::Xor, false, sum, low),
            self.made(if subtract { Alu::Xor } else { Alu::Or }, false, v, Src::Imm(if subtract { 0xffff } else { 0 })),
        );
        self.alu(Alu::And, false, r, low);
        self.alu(Alu::And, false, v, low);
        self.alu(Alu::Add, false, r, Src::Reg(v));
        let carry = self.made(Alu::Rsh, false, r, Src::Imm(16));
        self.alu(Alu::And, false, r, low);
        self.alu(Alu::Add, false, r, Src::Reg(carry));
        self.alu(Alu::Xor, false, r, low);
        self.alu(Alu::And, false, r, low);
        r
    }
}

fn shift(op: BinOp) -> Alu {
    match op {
        BinOp::Shl => Alu::Lsh,
        BinOp::UShr => Alu::Rsh,
        _ => Alu::Arsh,
    }
}
