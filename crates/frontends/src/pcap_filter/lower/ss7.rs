//! Signal units and message fields of SS7, in captures of MTP2 (with and without a pseudo-header)
//! and ERF.
//!
//! Fields are compared in the order of their bytes on the wire, as libpcap 1.10.3 compares them:
//! `dpc < 2` and `opc > 2` order point codes by their first byte sent. `!=` is what it says;
//! libpcap 1.10.3 takes it for `=`, later versions do not. Source: ITU-T Q.703, Q.704; libpcap
//! 1.10.3, `gen_mtp2type_abbrev`, `gen_mtp3field_code`.

use super::super::ast::{Arithop, Relop, Ss7Field, Ss7Unit};
use super::super::ir::{Cmp, Field, IrId, ValueId};
use super::super::link::Link;
use super::super::parser::Res;
use super::Lower;

impl Lower<'_> {
    /// Offset of the MTP2 header.
    fn mtp2(&self) -> Res<u32> {
        match self.layout.link {
            Link::Opaque(140) => Ok(0),
            Link::Opaque(139) => Ok(4),
            Link::Opaque(197) => Ok(20),
            other => {
                Err(self.error(format!("{} has no SS7 messages", other.name())).help("captures of MTP2, MTP2_WITH_PHDR and ERF have them"))
            }
        }
    }

    /// The length indicator tells the kind: 0 of FISU, 1 or 2 of LSSU, more of MSU.
    pub(super) fn ss7_unit(&mut self, unit: Ss7Unit, high: bool) -> Res<IrId> {
        let start = self.mtp2()?;
        let (offset, bytes, mask, two) = if high { (4, 2, 0xff80, 0x100) } else { (2, 1, 0x3f, 2) };
        let field = Field { base: None, offset: start + offset, bytes };
        let length = |lower: &mut Self| {
            let load = lower.ir.make(super::Value::Load(field));
            lower.with_constant(Arithop::And, load, mask)
        };
        let value = length(self);
        Ok(match unit {
            Ss7Unit::Fisu => self.compare(value, Cmp::Eq, 0),
            Ss7Unit::Msu => self.compare(value, Cmp::Gt, two),
            Ss7Unit::Lssu => {
                let some = self.compare(value, Cmp::Gt, 0);
                let more = self.compare(value, Cmp::Gt, two);
                let not_more = self.not(more);
                self.and(&[some, not_more])
            }
        })
    }

    pub(super) fn ss7_field(&mut self, field: Ss7Field, high: bool, op: Relop, value: u32) -> Res<IrId> {
        let start = self.mtp2()? + if high { 3 } else { 0 };
        let (name, most) = match field {
            Ss7Field::Sio => ("sio", 0xff),
            Ss7Field::Opc => ("opc", 0x3fff),
            Ss7Field::Dpc => ("dpc", 0x3fff),
            Ss7Field::Sls => ("sls", 0xf),
        };
        if value > most {
            return Err(self.error(format!("{name} {value} is greater than {most}")));
        }
        let (offset, bytes, mask, sent) = match field {
            Ss7Field::Sio => (3, 1, u32::MAX, value),
            // 14 bits across four bytes, the lowest sent first.
            Ss7Field::Opc => (4, 4, 0x00c0_ff0f, value >> 10 | (value & 0x3fc) << 6 | (value & 0x3) << 22),
            Ss7Field::Dpc => (4, 4, 0xff3f_0000, (value & 0xff) << 24 | (value & 0x3f00) << 8),
            Ss7Field::Sls => (7, 1, 0xf0, value << 4),
        };
        let load = self.ir.make(super::Value::Load(Field { base: None, offset: start + offset, bytes }));
        let left = if mask == u32::MAX { load } else { self.with_constant(Arithop::And, load, mask) };
        Ok(self.ss7_relation(left, op, sent))
    }

    fn ss7_relation(&mut self, left: ValueId, op: Relop, right: u32) -> IrId {
        let (cmp, reversed) = match op {
            Relop::Eq => (Cmp::Eq, false),
            Relop::Ne => (Cmp::Eq, true),
            Relop::Gt => (Cmp::Gt, false),
            Relop::Le => (Cmp::Gt, true),
            Relop::Ge => (Cmp::Ge, false),
            Relop::Lt => (Cmp::Ge, true),
        };
        let test = self.compare(left, cmp, right);
        if reversed { self.not(test) } else { test }
    }
}
