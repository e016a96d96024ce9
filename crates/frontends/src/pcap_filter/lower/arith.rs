//! Arithmetic over packet bytes and comparisons of it.

use super::super::ast::{Arith, ArithId, Arithop, Proto, Relop};
use super::super::ir::{Cmp, Field, IrId, Node, Test, Value, ValueId};
use super::super::parser::Res;
use super::Lower;
use super::layout::From;
use netil::fields::{ip_protocol, ip6};

/// Largest constant index that can be added to a header length without wrapping.
const SAFE_INDEX: u32 = 0x7fff_ffff;

/// A lowered expression.
struct Operand {
    value: ValueId,
    /// What the packet must be for the expression to be looked at.
    checks: Option<IrId>,
    /// The constant that libpcap's code for the expression begins with, if it does.
    begins: Option<u32>,
}

impl Lower<'_> {
    pub(super) fn relation(&mut self, op: Relop, lhs: ArithId, rhs: ArithId) -> Res<IrId> {
        let a = self.operand(lhs)?;
        let b = self.operand(rhs)?;
        self.registers -= 2;
        let test = self.relation_test(op, a.value, b.value);
        let parts: Vec<IrId> = [a.checks, b.checks, Some(test)].into_iter().flatten().collect();
        Ok(self.and(&parts))
    }

    fn relation_test(&mut self, op: Relop, a: ValueId, b: ValueId) -> IrId {
        let (cmp, reversed) = match op {
            Relop::Eq => (Cmp::Eq, false),
            Relop::Ne => (Cmp::Eq, true),
            Relop::Gt => (Cmp::Gt, false),
            Relop::Le => (Cmp::Gt, true),
            Relop::Ge => (Cmp::Ge, false),
            Relop::Lt => (Cmp::Ge, true),
        };
        let test = if cmp == Cmp::Eq { self.equality(a, b) } else { self.ir.push_test(Test::Cmp(a, cmp, b)) };
        if reversed { self.not(test) } else { test }
    }

    /// libpcap subtracts and compares with 0; that shows only where a later `byte` looks at the
    /// last value.
    fn equality(&mut self, a: ValueId, b: ValueId) -> IrId {
        if self.ir.uses_last {
            let difference = self.ir.make(Value::Bin(Arithop::Sub, a, b));
            return self.compare(difference, Cmp::Eq, 0);
        }
        let plain = self.ir.push_test(Test::Cmp(a, Cmp::Eq, b));
        match (self.ir.value(a), self.ir.value(b)) {
            (Value::Load(field), Value::Const(c)) if u64::from(c) >> (8 * u32::from(field.bytes)) == 0 => {
                self.element(field, (c.into(), c.into()), plain, false)
            }
            _ => plain,
        }
    }

    /// Recursion is as deep as the parser allows.
    fn operand(&mut self, id: ArithId) -> Res<Operand> {
        match *self.ast.arith(id) {
            Arith::Number(value) => {
                self.take_register()?;
                Ok(Operand { value: self.ir.constant(value), checks: None, begins: Some(value) })
            }
            Arith::Len => {
                self.take_register()?;
                Ok(Operand { value: self.ir.make(Value::Len), checks: None, begins: None })
            }
            Arith::Neg(inner) => {
                let inner = self.operand(inner)?;
                Ok(Operand { value: self.ir.make(Value::Neg(inner.value)), ..inner })
            }
            Arith::Bin(op, a, b) => self.binary(op, a, b),
            Arith::Load { proto, index, size } => self.load(id, proto, index, size),
        }
    }

    /// Only the left operand's checks survive, as in libpcap.
    fn binary(&mut self, op: Arithop, a: ArithId, b: ArithId) -> Res<Operand> {
        let left = self.operand(a)?;
        let right = self.operand(b)?;
        self.refuse_constant(op, b, right.begins)?;
        self.registers -= 1;
        Ok(Operand { value: self.ir.make(Value::Bin(op, left.value, right.value)), ..left })
    }

    /// libpcap looks at the first constant of the right operand's code, even if more follows.
    fn refuse_constant(&mut self, op: Arithop, right: ArithId, begins: Option<u32>) -> Res<()> {
        let message = match (op, begins) {
            (Arithop::Div | Arithop::Mod, Some(0)) => "division by zero",
            (Arithop::Shl | Arithop::Shr, Some(32..)) => "shift by more than 31 bits",
            _ => return Ok(()),
        };
        self.at = self.ast.arith_span(right);
        let error = self.error(message);
        Err(match self.ast.arith(right) {
            Arith::Number(_) => error,
            _ => error.help("libpcap takes the first constant of this expression for all of it"),
        })
    }

    fn load(&mut self, id: ArithId, proto: Proto, index: ArithId, size: u32) -> Res<Operand> {
        let index = self.operand(index)?;
        self.take_register()?;
        self.registers -= 1;
        self.at = self.ast.arith_span(id);
        let (from, checks) = self.indexed(proto, index.checks)?;
        let origin = self.field(from, 0, u8::try_from(size).unwrap_or(4));
        let value = self.load_at(origin, index.value);
        Ok(Operand { value, checks, begins: index.begins })
    }

    /// Where the bytes of `proto[…]` are counted from, and what the packet must be, given the
    /// checks of the index.
    fn indexed(&mut self, proto: Proto, index: Option<IrId>) -> Res<(From, Option<IrId>)> {
        use Proto::{
            Arp, Atalk, Carp, Decnet, Icmp, Icmp6, Igmp, Igrp, Ip, Ip6, Lat, Link, Mopdl, Moprc, Pim, Rarp, Sca, Sctp, Tcp, Udp, Vrrp,
        };
        match proto {
            Link => Ok((From::LinkHeader, index)),
            Ip | Arp | Rarp | Atalk | Decnet | Sca | Lat | Moprc | Mopdl | Ip6 => {
                let is = self.protocol(proto)?;
                Ok((From::Network, Some(self.all(index, &[is]))))
            }
            Sctp | Tcp | Udp | Icmp | Igmp | Igrp | Pim | Vrrp | Carp => Ok((From::Transport4, Some(self.transport_checks(proto, index)?))),
            Icmp6 => {
                let ipv6 = self.protocol(Ip6)?;
                let icmp6 = self.equal(From::Network, ip6::NEXT_HEADER.offset, 1, ip_protocol::ICMP6.into());
                Ok((From::Transport6, Some(self.all(index, &[ipv6, icmp6]))))
            }
            Proto::Radio if self.layout.link.is_radio() => Ok((From::Start, index)),
            Proto::Radio => Err(self.error("`radio` needs 802.11 frames with a radio header")),
            other => {
                let word = other.word();
                Err(self.error(format!("`{word}` cannot be indexed")).help("index the header below it, as in `ip[20]`"))
            }
        }
    }

    fn all(&mut self, before: Option<IrId>, checks: &[IrId]) -> IrId {
        let all: Vec<IrId> = before.into_iter().chain(checks.iter().copied()).collect();
        self.and(&all)
    }

    /// IPv4, then the index's own checks, then the protocol, in a first fragment.
    fn transport_checks(&mut self, proto: Proto, index: Option<IrId>) -> Res<IrId> {
        let ipv4 = self.protocol(Proto::Ip)?;
        let is = self.protocol(proto)?;
        let first = self.first_fragment();
        Ok(match index {
            Some(index) => self.and(&[ipv4, index, is, first]),
            None => self.and(&[ipv4, is, first]),
        })
    }

    /// The field that stands `index` after `origin`; libpcap adds index and header length modulo
    /// 2³², and no more.
    fn load_at(&mut self, origin: Field, index: ValueId) -> ValueId {
        let constant = match self.ir.value(index) {
            Value::Const(i) if origin.base.is_none() || i <= SAFE_INDEX => origin.offset.checked_add(i),
            _ => None,
        };
        let field = match (constant, origin.base) {
            (Some(offset), _) => Field { offset, ..origin },
            (None, Some(base)) => Field { base: Some(self.ir.make(Value::Bin(Arithop::Add, index, base))), ..origin },
            (None, None) => Field { base: Some(index), ..origin },
        };
        self.ir.make(Value::Load(field))
    }
}

/// Terms about the length on the wire.
impl Lower<'_> {
    pub(super) fn at_most(&mut self, length: u32) -> IrId {
        let len = self.ir.make(Value::Len);
        let above = self.compare(len, Cmp::Gt, length);
        self.not(above)
    }

    pub(super) fn at_least(&mut self, length: u32) -> IrId {
        let len = self.ir.make(Value::Len);
        self.compare(len, Cmp::Ge, length)
    }

    /// `byte N op M`. For `&` and `|` libpcap forgets to load the byte and uses whatever was looked
    /// at before.
    pub(super) fn byte(&mut self, offset: u32, op: u8, value: u32) -> IrId {
        let at = |lower: &mut Self, op| lower.compare_at(From::LinkHeader, offset, 1, op, value);
        match op {
            b'=' => at(self, Cmp::Eq),
            b'>' => at(self, Cmp::Gt),
            b'<' => {
                let reaches = at(self, Cmp::Ge);
                self.not(reaches)
            }
            _ => {
                let op = if op == b'&' { Arithop::And } else { Arithop::Or };
                let last = self.ir.make(Value::Last);
                let combined = self.with_constant(op, last, value);
                let zero = self.compare(combined, Cmp::Eq, 0);
                self.ir.push(Node::Not(zero))
            }
        }
    }
}
