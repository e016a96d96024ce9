//! Operations on values in registers.

use super::{Lower, container};
use crate::JitError;
use crate::frame;
use compiler::mir::Call;
use compiler::mir::{self, Op};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use netil::exec::TrapKind;
use netil::ops::{BinOp, CmpOp, UnOp, mask};

const NANOS: u64 = 1_000_000_000;

impl Lower<'_> {
    /// The value of an operation whose result and operands have at most 64 bits, or of a wider one
    /// that `wide` left to registers.
    pub(super) fn value(&mut self, v: mir::Value, op: &Op) -> Result<ir::Value, JitError> {
        let width = self.func.width(v);
        Ok(match op {
            Op::Const(c) => self.iconst(container(width), *c),
            Op::Bin(op, a, b) => self.bin(*op, width, *a, *b)?,
            Op::Div(op, a, b, _) => self.divide(*op, *a, *b),
            Op::Checked(op, signed, a, b, site) => self.checked(*op, *signed, *a, *b, *site),
            Op::Un(op, a) => self.un(*op, width, *a),
            Op::Cmp(op, a, b) => self.cmp(*op, *a, *b)?,
            Op::Zext(a) => {
                let a = self.reg(*a);
                self.resize(a, container(width))
            }
            Op::Sext(a) => self.sext(*a, width),
            Op::Trunc(a) => self.trunc(*a, width),
            Op::Slice(a, low) => self.slice(*a, *low, width)?,
            Op::Concat(high, low) => self.concat(*high, *low, width),
            Op::Select(c, a, b) => {
                let (c, a, b) = (self.reg(*c), self.reg(*a), self.reg(*b));
                self.choose(c, a, b)
            }
            Op::SetHas(set, a) => self.set_has(*set, *a)?,
            Op::Load(space, order, addr, offset, _) => self.load(*space, *order, *addr, *offset, width),
            _ => self.environment(op),
        })
    }

    /// The divisor is not zero.
    fn divide(&mut self, op: BinOp, a: mir::Value, b: mir::Value) -> ir::Value {
        let (a, b) = (self.reg(a), self.reg(b));
        if op == BinOp::Div { self.b.ins().udiv(a, b) } else { self.b.ins().urem(a, b) }
    }

    fn trunc(&mut self, a: mir::Value, width: u16) -> ir::Value {
        let a = self.reg(a);
        let cut = self.resize(a, container(width));
        self.mask(cut, width)
    }

    /// Values that come from outside.
    fn environment(&mut self, op: &Op) -> ir::Value {
        match op {
            Op::PacketLen => self.b.use_var(self.shared.packet_len),
            Op::WireLen if self.fusion.is_some() => {
                let (len, missing) = (self.b.use_var(self.shared.packet_len), self.field(frame::MISSING, types::I32, super::trusted()));
                self.b.ins().iadd(len, missing)
            }
            Op::WireLen => self.field(frame::WIRE_LEN, types::I32, super::trusted()),
            Op::TimeNanos => self.field(frame::TIME_NS, types::I64, super::trusted()),
            Op::TimeSeconds | Op::TimeMicros => {
                let (time, second) = (self.field(frame::TIME_NS, types::I64, super::trusted()), self.iconst(types::I64, NANOS));
                let time = if matches!(op, Op::TimeSeconds) {
                    self.b.ins().udiv(time, second)
                } else {
                    let (within, thousand) = (self.b.ins().urem(time, second), self.iconst(types::I64, 1000));
                    self.b.ins().udiv(within, thousand)
                };
                self.b.ins().ireduce(types::I32, time)
            }
            Op::Random(site) => {
                let v = self.call(Call::Random(*site), &[]);
                self.b.ins().ireduce(types::I32, v)
            }
            Op::ExceptionLoad(k) => {
                let table = self.exceptions();
                self.b.ins().load(types::I32, super::trusted(), table, 4 * *k as i32)
            }
            other => unreachable!("{other} has an arm of its own"),
        }
    }

    /// Clears the bits above the width.
    fn mask(&mut self, v: ir::Value, width: u16) -> ir::Value {
        let ty = self.b.func.dfg.value_type(v);
        if ty.bits() == width.into() {
            return v;
        }
        let ones = match width {
            ..=64 => self.iconst(ty, mask(width)),
            _ => {
                let (low, high) = (self.b.ins().iconst(types::I64, -1), self.iconst(types::I64, mask(width - 64)));
                self.b.ins().iconcat(low, high)
            }
        };
        self.b.ins().band(v, ones)
    }

    /// Zero-extends or cuts to another register type.
    pub(super) fn resize(&mut self, v: ir::Value, to: ir::Type) -> ir::Value {
        match self.b.func.dfg.value_type(v).bits().cmp(&to.bits()) {
            std::cmp::Ordering::Less => self.b.ins().uextend(to, v),
            std::cmp::Ordering::Equal => v,
            std::cmp::Ordering::Greater => self.b.ins().ireduce(to, v),
        }
    }

    /// The value as a signed number that fills its register.
    fn signed(&mut self, v: ir::Value, width: u16) -> ir::Value {
        let spare = self.b.func.dfg.value_type(v).bits() - u32::from(width);
        if spare == 0 {
            return v;
        }
        let high = self.b.ins().ishl_imm_u(v, i64::from(spare));
        self.b.ins().sshr_imm_u(high, i64::from(spare))
    }

    fn sext(&mut self, a: mir::Value, to: u16) -> ir::Value {
        let from = self.func.width(a);
        let a = self.reg(a);
        let signed = self.signed(a, from);
        let wide = match self.b.func.dfg.value_type(signed) == container(to) {
            true => signed,
            false => self.b.ins().sextend(container(to), signed),
        };
        self.mask(wide, to)
    }

    fn bin(&mut self, op: BinOp, width: u16, a: mir::Value, b: mir::Value) -> Result<ir::Value, JitError> {
        let constant = self.func.constant(b);
        let (a, b) = (self.reg(a), self.reg(b));
        let raw = match op {
            BinOp::Add => self.b.ins().iadd(a, b),
            BinOp::Sub => self.b.ins().isub(a, b),
            BinOp::Mul => self.b.ins().imul(a, b),
            BinOp::And => self.b.ins().band(a, b),
            BinOp::Or => self.b.ins().bor(a, b),
            BinOp::Xor => self.b.ins().bxor(a, b),
            BinOp::Shl | BinOp::UShr | BinOp::Shr => self.shift(op, width, a, b, constant),
            BinOp::Rol | BinOp::Ror => self.rotate(op, width, a, b),
            BinOp::AddSatU | BinOp::SubSatU => self.saturate_unsigned(op, width, a, b),
            BinOp::AddSatS | BinOp::SubSatS => self.saturate_signed(op, width, a, b),
            BinOp::Div | BinOp::Mod => unreachable!("divisions carry a token"),
        };
        let exact = matches!(op, BinOp::And | BinOp::Or | BinOp::Xor | BinOp::UShr);
        Ok(if exact { raw } else { self.mask(raw, width) })
    }

    /// Of 128 bits in halves: of a comparison and a selection Cranelift makes a minimum or maximum,
    /// which it has no instructions for at that width.
    fn choose(&mut self, c: ir::Value, a: ir::Value, b: ir::Value) -> ir::Value {
        if self.b.func.dfg.value_type(a) != types::I128 {
            return self.b.ins().select(c, a, b);
        }
        let ((a, high_a), (b, high_b)) = (self.b.ins().isplit(a), self.b.ins().isplit(b));
        let (low, high) = (self.b.ins().select(c, a, b), self.b.ins().select(c, high_a, high_b));
        self.b.ins().iconcat(low, high)
    }

    /// By width or more: 0, or copies of the sign.
    fn shift(&mut self, op: BinOp, width: u16, a: ir::Value, by: ir::Value, constant: Option<u64>) -> ir::Value {
        let ty = self.b.func.dfg.value_type(a);
        let a = if op == BinOp::Shr { self.signed(a, width) } else { a };
        let limit = u64::from(width);
        if op == BinOp::Shr {
            let most = self.iconst(types::I32, limit - 1);
            let by = self.b.ins().umin(by, most);
            return self.b.ins().sshr(a, by);
        }
        let shifted = if op == BinOp::Shl { self.b.ins().ishl(a, by) } else { self.b.ins().ushr(a, by) };
        if constant.is_some_and(|c| c < limit) {
            return shifted;
        }
        let (zero, past) = (self.iconst(ty, 0), self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, by, limit as i64));
        self.b.ins().select(past, zero, shifted)
    }

    fn rotate(&mut self, op: BinOp, width: u16, a: ir::Value, by: ir::Value) -> ir::Value {
        if width == 32 || width == 64 {
            return if op == BinOp::Rol { self.b.ins().rotl(a, by) } else { self.b.ins().rotr(a, by) };
        }
        let w = self.iconst(types::I32, width.into());
        let by = self.b.ins().urem(by, w);
        let other = self.b.ins().isub(w, by);
        // The register is wider than the value, so a shift by the width gives 0, except for i1,
        // where it is not a shift.
        let (left, right) = if op == BinOp::Rol { (by, other) } else { (other, by) };
        let (left, right) = (self.b.ins().ishl(a, left), self.b.ins().ushr(a, right));
        self.b.ins().bor(left, right)
    }

    fn saturate_unsigned(&mut self, op: BinOp, width: u16, a: ir::Value, b: ir::Value) -> ir::Value {
        let ty = self.b.func.dfg.value_type(a);
        if op == BinOp::SubSatU {
            let (less, zero) = (self.b.ins().icmp(IntCC::UnsignedLessThan, a, b), self.iconst(ty, 0));
            let difference = self.b.ins().isub(a, b);
            return self.b.ins().select(less, zero, difference);
        }
        let (sum, most) = (self.b.ins().iadd(a, b), self.iconst(ty, mask(width)));
        let past = match ty.bits() == u32::from(width) {
            true => self.b.ins().icmp(IntCC::UnsignedLessThan, sum, a),
            false => self.b.ins().icmp(IntCC::UnsignedGreaterThan, sum, most),
        };
        self.b.ins().select(past, most, sum)
    }

    /// In twice the register for up to 32 bits; wider ones are done by the runtime.
    fn saturate_signed(&mut self, op: BinOp, width: u16, a: ir::Value, b: ir::Value) -> ir::Value {
        let (a, b) = (self.signed(a, width), self.signed(b, width));
        let (a, b) = (self.b.ins().sextend(types::I64, a), self.b.ins().sextend(types::I64, b));
        let exact = if op == BinOp::AddSatS { self.b.ins().iadd(a, b) } else { self.b.ins().isub(a, b) };
        let top = mask(width) >> 1;
        let (most, least) = (self.iconst(types::I64, top), self.iconst(types::I64, !top));
        let clamped = self.b.ins().smin(exact, most);
        let clamped = self.b.ins().smax(clamped, least);
        self.b.ins().ireduce(container(width), clamped)
    }

    fn checked(&mut self, op: BinOp, signed: bool, a: mir::Value, b: mir::Value, site: u32) -> ir::Value {
        let (a, b) = (self.reg(a), self.reg(b));
        let extend = |this: &mut Self, v| match signed {
            true => this.b.ins().sextend(types::I64, v),
            false => this.b.ins().uextend(types::I64, v),
        };
        let (a, b) = (extend(self, a), extend(self, b));
        let exact = match op {
            BinOp::Add => self.b.ins().iadd(a, b),
            BinOp::Sub => self.b.ins().isub(a, b),
            _ => self.b.ins().imul(a, b),
        };
        let result = self.b.ins().ireduce(types::I32, exact);
        let again = extend(self, result);
        let lost = self.b.ins().icmp(IntCC::NotEqual, again, exact);
        self.trap_if(lost, TrapKind::Overflow, site);
        result
    }

    fn un(&mut self, op: UnOp, width: u16, a: mir::Value) -> ir::Value {
        let a = self.reg(a);
        let ty = self.b.func.dfg.value_type(a);
        let spare = i64::from(ty.bits()) - i64::from(width);
        let raw = match op {
            UnOp::Neg => self.b.ins().ineg(a),
            UnOp::Not => self.b.ins().bnot(a),
            UnOp::Bswap => {
                let swapped = self.b.ins().bswap(a);
                self.b.ins().ushr_imm_u(swapped, spare)
            }
            UnOp::Clz => {
                let zeros = self.b.ins().clz(a);
                let spare = self.iconst(ty, spare as u64);
                self.b.ins().isub(zeros, spare)
            }
            UnOp::FindBit => {
                // Where no bit is set that is −1, all ones.
                let (zeros, top) = (self.b.ins().clz(a), self.iconst(ty, u64::from(ty.bits()) - 1));
                self.b.ins().isub(top, zeros)
            }
        };
        self.mask(raw, width)
    }

    pub(super) fn cmp(&mut self, op: CmpOp, a: mir::Value, b: mir::Value) -> Result<ir::Value, JitError> {
        let width = self.func.width(a);
        let (mut x, mut y) = (self.reg(a), self.reg(b));
        if matches!(op, CmpOp::Lts | CmpOp::Les | CmpOp::Gts | CmpOp::Ges) {
            (x, y) = (self.signed(x, width), self.signed(y, width));
        }
        Ok(self.b.ins().icmp(condition(op), x, y))
    }

    fn slice(&mut self, a: mir::Value, low: u16, width: u16) -> Result<ir::Value, JitError> {
        let a = self.reg(a);
        let shifted = self.b.ins().ushr_imm_u(a, i64::from(low));
        let cut = self.resize(shifted, container(width));
        Ok(self.mask(cut, width))
    }

    fn concat(&mut self, high: mir::Value, low: mir::Value, width: u16) -> ir::Value {
        let by = self.func.width(low);
        let (high, low) = (self.reg(high), self.reg(low));
        let (high, low) = (self.resize(high, container(width)), self.resize(low, container(width)));
        let high = self.b.ins().ishl_imm_u(high, i64::from(by));
        self.b.ins().bor(high, low)
    }
}

fn condition(op: CmpOp) -> IntCC {
    match op {
        CmpOp::Eq => IntCC::Equal,
        CmpOp::Ne => IntCC::NotEqual,
        CmpOp::Lt => IntCC::UnsignedLessThan,
        CmpOp::Le => IntCC::UnsignedLessThanOrEqual,
        CmpOp::Gt => IntCC::UnsignedGreaterThan,
        CmpOp::Ge => IntCC::UnsignedGreaterThanOrEqual,
        CmpOp::Lts => IntCC::SignedLessThan,
        CmpOp::Les => IntCC::SignedLessThanOrEqual,
        CmpOp::Gts => IntCC::SignedGreaterThan,
        CmpOp::Ges => IntCC::SignedGreaterThanOrEqual,
    }
}
