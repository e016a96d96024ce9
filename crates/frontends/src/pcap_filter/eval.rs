//! The meaning of the filter IR: its evaluation on one packet, as slow and as plain as it can be.
//!
//! `explain` runs on it, and every later form of a filter (merged, as a graph, as NetIL) is tested
//! against it.

use netil::wide;

use super::ast::Join;
use super::ir::{
    Cmp, Elem, ElemId, Field, Geneve, Ir, IrId, List, Node, Protochain, Scan, Slot, Test, TestId, Tuple, Value, ValueId, apply,
};

/// Why an evaluation ended at once, with the packet rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A read of `bytes` bytes at `start`, past the captured length.
    Short {
        start: u64,
        bytes: u8,
    },
    DivisionByZero,
    /// A protocol chain that leads back to itself (libpcap would never end).
    Endless,
}

/// One packet under evaluation.
pub(crate) struct Machine<'m> {
    pub ir: &'m Ir,
    pub packet: &'m [u8],
    pub wire_len: u32,
    slots: Vec<u32>,
    last: u32,
}

impl<'m> Machine<'m> {
    pub(crate) fn new(ir: &'m Ir, packet: &'m [u8], wire_len: u32) -> Machine<'m> {
        Machine { ir, packet, wire_len, slots: vec![0; ir.slots as usize], last: 0 }
    }

    /// The verdict on the packet.
    pub(crate) fn verdict(&mut self) -> bool {
        self.ir.root.is_none_or(|root| self.node(root).unwrap_or(false))
    }

    /// The length captured.
    pub(crate) fn captured(&self) -> usize {
        self.packet.len()
    }

    pub(crate) fn node(&mut self, id: IrId) -> Result<bool, Stop> {
        let ir = self.ir;
        match ir.node(id) {
            Node::Test(test) => self.test(test),
            Node::Not(inner) => Ok(!self.node(inner)?),
            Node::Chain(first, rest) => self.chain(first, ir.links(rest)),
            Node::Elem(elem) => self.node(ir.elem(elem).plain),
            Node::Guarded { merged, exact, reach } => {
                let holds = self.node(merged)?;
                if holds && self.packet.len() < reach as usize {
                    self.node(exact)?;
                }
                Ok(holds)
            }
            Node::ByLength { reach, long, short } => {
                let enough = self.packet.len() >= reach as usize;
                self.node(if enough { long } else { short })
            }
            Node::List(list) => self.rows(&ir.lists[list.index()]),
        }
    }

    fn chain(&mut self, first: IrId, rest: &[(Join, IrId)]) -> Result<bool, Stop> {
        let mut holds = self.node(first)?;
        for &(join, node) in rest {
            if holds == (join == Join::And) {
                holds = self.node(node)?;
            }
        }
        Ok(holds)
    }

    pub(crate) fn test(&mut self, id: TestId) -> Result<bool, Stop> {
        match self.ir.test(id) {
            Test::Const(holds) => {
                self.last = u32::from(!holds);
                Ok(holds)
            }
            Test::Cmp(lhs, op, rhs) => self.compare(lhs, op, rhs),
            Test::Within(field, set) => {
                let value = self.field(field)?;
                Ok(self.ir.set_has(set, value))
            }
            Test::Scan(scan) => self.scan(&self.ir.scans[scan.index()]),
            Test::Tuple(tuple) => self.tuple(&self.ir.tuples[tuple.index()]),
            Test::Rows(list) => self.rows(&self.ir.lists[list.index()]),
            Test::Readable(field) => {
                let base = field.base.map_or(Ok(0), |base| self.value(base))?;
                Ok(u64::from(base) + u64::from(field.offset) + u64::from(field.bytes) <= self.packet.len() as u64)
            }
            Test::Captured(bytes) => Ok(self.packet.len() >= bytes as usize),
            Test::Protochain(chain) => self.protochain(chain),
            Test::Assign(slot, value) => {
                let value = self.value(value)?;
                self.set(slot, value);
                Ok(true)
            }
            Test::Geneve(geneve) => self.geneve(geneve),
        }
    }

    fn tuple(&self, tuple: &Tuple) -> Result<bool, Stop> {
        let (mut width, mut all) = (0, Vec::new());
        for &(field, keep) in &tuple.fields {
            let value = self.field(field)? >> (8 * u32::from(field.bytes) - u32::from(keep));
            all = if width == 0 { limbs(keep, value) } else { wide::concat(width, &all, keep, &limbs(keep, value)) };
            width += keep;
        }
        Ok(tuple.set.contains(&all))
    }

    /// Term after term.
    fn rows(&mut self, list: &List) -> Result<bool, Stop> {
        for &row in &list.rows {
            let (shape, ranges) = list.row(row);
            if self.row(shape.template, &shape.elems, ranges)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The node with those ranges for the elements. Recursion is as deep as the parser allows.
    fn row(&mut self, id: IrId, elems: &[ElemId], ranges: &[(u128, u128)]) -> Result<bool, Stop> {
        let ir = self.ir;
        match ir.node(id) {
            Node::Elem(elem) => {
                let at = elems.iter().position(|&other| other == elem).unwrap_or(0);
                self.between(&ir.elem(elem), ranges[at])
            }
            Node::Not(inner) => Ok(!self.row(inner, elems, ranges)?),
            Node::Chain(first, rest) => {
                let mut holds = self.row(first, elems, ranges)?;
                for &(join, node) in ir.links(rest) {
                    if holds == (join == Join::And) {
                        holds = self.row(node, elems, ranges)?;
                    }
                }
                Ok(holds)
            }
            _ => self.node(id),
        }
    }

    fn between(&self, elem: &Elem, (low, high): (u128, u128)) -> Result<bool, Stop> {
        for (piece, shift) in elem.pieces() {
            let mask = u128::from(u32::MAX);
            if !(low >> shift & mask..=high >> shift & mask).contains(&self.field(piece)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn scan(&self, scan: &Scan) -> Result<bool, Stop> {
        for &(value, mask) in &scan.rows {
            for &field in &scan.fields {
                if self.equals(field, value, mask)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn equals(&self, field: Field, value: u128, mask: u128) -> Result<bool, Stop> {
        for (word, shift) in Scan::words(field).into_iter().zip([96, 64, 32, 0]) {
            if self.field(word)? & mask >> shift & 0xffff_ffff != value >> shift & 0xffff_ffff {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn compare(&mut self, lhs: ValueId, op: Cmp, rhs: ValueId) -> Result<bool, Stop> {
        let (a, b) = (self.value(lhs)?, self.value(rhs)?);
        self.last = a;
        Ok(apply_cmp(op, a, b))
    }

    pub(crate) fn value(&self, id: ValueId) -> Result<u32, Stop> {
        Ok(match self.ir.value(id) {
            Value::Const(value) => value,
            Value::Len => self.wire_len,
            Value::Slot(slot) => self.slots[slot.index()],
            Value::Last => self.last,
            Value::Load(field) => u32::try_from(self.field(field)?).unwrap_or(u32::MAX),
            Value::Neg(a) => self.value(a)?.wrapping_neg(),
            Value::Bin(op, a, b) => apply(op, self.value(a)?, self.value(b)?).ok_or(Stop::DivisionByZero)?,
        })
    }

    pub(crate) fn field(&self, field: Field) -> Result<u128, Stop> {
        let base = field.base.map_or(Ok(0), |base| self.value(base))?;
        self.read(u64::from(base) + u64::from(field.offset), field.bytes)
    }

    fn read(&self, start: u64, bytes: u8) -> Result<u128, Stop> {
        let from = usize::try_from(start).unwrap_or(usize::MAX);
        let until = from.saturating_add(bytes.into());
        let found = self.packet.get(from..until).ok_or(Stop::Short { start, bytes })?;
        Ok(found.iter().fold(0, |value, &byte| value << 8 | u128::from(byte)))
    }

    fn byte(&self, start: u64) -> Result<u32, Stop> {
        self.read(start, 1).map(|byte| u32::try_from(byte).unwrap_or(0))
    }

    fn set(&mut self, slot: Slot, value: u32) {
        self.slots[slot.index()] = value;
    }

    /// libpcap's walk, its arithmetic on authentication headers (RFC 4302) included: there the
    /// length replaces the offset.
    fn protochain(&mut self, chain: Protochain) -> Result<bool, Stop> {
        let header = u64::from(chain.header);
        let (mut proto, mut at) = if chain.v6 {
            (self.byte(header + 6)?, 40)
        } else {
            let proto = self.byte(header + 9)?;
            (proto, (self.byte(header)? & 0xf) << 2)
        };
        for _ in 0..steps(self.packet.len()) {
            let advance = match proto {
                p if p == chain.wanted || p == 59 => None,
                0 | 43 | 44 | 60 if chain.v6 => Some((8, at)),
                51 => Some((4, 0)),
                _ => None,
            };
            let Some((unit, from)) = advance else {
                self.last = proto;
                return Ok(proto == chain.wanted);
            };
            let next = self.byte(header + u64::from(at))?;
            let length = self.byte(header + u64::from(at) + 1)?;
            at = from + (length + if unit == 8 { 1 } else { 2 }) * unit;
            proto = next;
        }
        Err(Stop::Endless)
    }

    fn geneve(&mut self, geneve: Geneve) -> Result<bool, Stop> {
        let header = self.value(geneve.header)?;
        self.set(geneve.linktype, header.wrapping_add(2));
        let options = self.byte(header.into())? & 0x3f;
        let end = header.wrapping_add(options * 4 + 8);
        self.set(geneve.linkhdr, end);
        let ethernet = self.read(u64::from(header) + 2, 2)? == 0x6558;
        if ethernet {
            self.set(geneve.linktype, end.wrapping_add(12));
        }
        self.set(geneve.linkpl, if ethernet { end.wrapping_add(14) } else { end });
        self.last = 0;
        Ok(true)
    }
}

/// A value of up to 128 bits as limbs.
pub(crate) fn limbs(width: u16, value: u128) -> Vec<u64> {
    let low = u64::try_from(value & u128::from(u64::MAX)).unwrap_or(0);
    let high = u64::try_from(value >> 64).unwrap_or(0);
    if width <= 64 { vec![low] } else { vec![low, high] }
}

/// The outcome of a comparison.
pub(crate) fn apply_cmp(op: Cmp, a: u32, b: u32) -> bool {
    match op {
        Cmp::Eq => a == b,
        Cmp::Gt => a > b,
        Cmp::Ge => a >= b,
        Cmp::Bits => a & b != 0,
    }
}

/// More steps than a walk along headers can take in a packet of that length without coming back to
/// where it was: a step depends only on the offset and on which of two kinds of header stands
/// there, and offsets lie inside the packet.
pub(crate) fn steps(captured: usize) -> usize {
    captured.saturating_mul(2).saturating_add(4)
}
