//! Packets that OpenBSD's pf logged: the fields of their header, which is as long as its first byte
//! says, rounded up to four.
//!
//! Source: pflog(4); libpcap 1.10.3, `gen_pf_ifname` and those after it,
//! `gen_load_pflog_llprefixlen`.

use super::super::ast::{Arithop, PfField};
use super::super::error::Span;
use super::super::ir::{Field, IrId, Slot, Test, Value};
use super::super::link::Link;
use super::super::parser::Res;
use super::Lower;
use super::layout::{From, Offset};

/// Bytes of a name in the header, with a byte of 0 behind it.
const NAME: usize = 16;

impl Lower<'_> {
    /// Gives the place behind the header a slot.
    pub(super) fn begin_pf(&mut self) {
        if self.layout.link == Link::Pflog {
            let slot = self.ir.new_slot();
            self.layout.linkpl = Offset::variable(slot);
            self.logged = Some(slot);
        }
    }

    /// The filter, with that place before it if some term asks for it.
    pub(super) fn end_pf(&mut self, top: IrId) -> IrId {
        let used = |slot: &Slot| self.ir.find(Value::Slot(*slot)).is_some();
        let Some(slot) = self.logged.filter(used) else { return top };
        let length = self.ir.make(Value::Load(Field { base: None, offset: 0, bytes: 1 }));
        let length = self.with_constant(Arithop::Add, length, 3);
        let length = self.with_constant(Arithop::And, length, !3);
        let assign = self.ir.push_test(Test::Assign(slot, length));
        self.and(&[assign, top])
    }

    fn needs_pf(&self) -> Res<()> {
        match self.layout.link {
            Link::Pflog => Ok(()),
            other => Err(self
                .error(format!("{} has no header of OpenBSD's pf", other.name()))
                .help("captures of the interface `pflog0` have it")),
        }
    }

    pub(super) fn pf(&mut self, field: PfField, value: u32) -> Res<IrId> {
        self.needs_pf()?;
        let (offset, bytes) = match field {
            PfField::Action => (2, 1),
            PfField::Reason => (3, 1),
            PfField::Rule => (36, 4),
            PfField::Subrule => (40, 4),
            PfField::Interface | PfField::Ruleset => return Ok(self.constant(false)),
        };
        Ok(self.equal(From::LinkHeader, offset, bytes, value))
    }

    /// The header's name begins with it; libpcap compares the last bytes first.
    pub(super) fn pf_name(&mut self, field: PfField, at: Span) -> Res<IrId> {
        self.needs_pf()?;
        let name = self.ast.text(at).as_bytes().to_vec();
        if name.len() >= NAME {
            return Err(self.error(format!("a name of pf has at most {} characters", NAME - 1)));
        }
        let start = if field == PfField::Interface { 4 } else { 20 };
        let mut tests = Vec::new();
        let mut end = name.len();
        while end > 0 {
            let bytes = if end >= 4 { 4 } else { end.min(2) };
            end -= bytes;
            let value = name[end..end + bytes].iter().fold(0, |value, &byte| value << 8 | u32::from(byte));
            let offset = start + u32::try_from(end).unwrap_or(0);
            tests.push(self.equal(From::LinkHeader, offset, u8::try_from(bytes).unwrap_or(4), value));
        }
        Ok(self.and(&tests))
    }
}
