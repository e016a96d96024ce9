//! Bytes between the packet and the element's own arrays.

use super::Lowerer;
use super::place::{At, Base, Pointed, Spot};
use crate::c::builtins::Row;
use crate::c::fold::fold;
use crate::c::tree::Expr;
use crate::diagnostics::{Diagnostic, Span};
use netil::table::Op;

/// An object in memory: its name, where it is declared, its address, its bytes.
struct Object<'a>(&'a str, Span, u32, u32);

impl<'a> Lowerer<'a> {
    /// The place of bytes that are copied.
    fn bytes(&mut self, array: &Expr, row: &Row) -> Option<Spot> {
        let spot = match self.pointer(array) {
            Pointed::At(spot) => self.pin(spot),
            Pointed::Null => Spot::new(Base::Wrong, 0),
        };
        match spot.base {
            Base::Data | Base::Shared | Base::Initialised => Some(spot),
            Base::Wrong => None,
            Base::Packet(_) => {
                self.fault_help(
                    array.span,
                    format!("`{}` copies from and to the element's own arrays", row.name),
                    "use packet_copy within the packet",
                );
                None
            }
            _ => {
                self.fault_help(
                    array.span,
                    format!("`{}` copies from and to the element's own arrays", row.name),
                    "copy these bytes one by one",
                );
                None
            }
        }
    }

    pub(super) fn packet_read(&mut self, array: &Expr, offset: &Expr, length: &Expr, row: &Row) {
        let Some(spot) = self.bytes(array, row) else { return };
        if matches!(spot.base, Base::Initialised) {
            self.fault(array.span, "this array is const and cannot be assigned to");
        }
        self.within(&spot, length, row);
        self.value(offset);
        self.address(&spot);
        self.value(length);
        let op = if matches!(spot.base, Base::Shared) { Op::PsCopy } else { Op::PdCopy };
        self.in_packet(op, row, array.span);
        self.code.op(op);
        self.done(&spot);
    }

    pub(super) fn packet_write(&mut self, array: &Expr, offset: &Expr, length: &Expr, row: &Row) {
        let Some(spot) = self.bytes(array, row) else { return };
        let op = match spot.base {
            Base::Initialised => Op::IpCopy,
            Base::Shared => Op::SpCopy,
            _ => Op::DpCopy,
        };
        self.within(&spot, length, row);
        self.address(&spot);
        self.value(offset);
        self.value(length);
        self.in_packet(op, row, array.span);
        self.code.op(op);
        self.done(&spot);
    }

    /// Tells if so many bytes go beyond the array that they are copied from or to, as far as both
    /// are known.
    fn within(&mut self, spot: &Spot, length: &Expr, row: &Row) {
        let Some(count) = fold(length, &self.facts).filter(|_| spot.at == At::None) else { return };
        let Some(Object(name, declared, at, size)) = self.object_at(spot) else { return };
        let left = at + size - spot.offset;
        if count <= left.into() {
            return;
        }
        let rest = if left < size { format!(" from byte {} on", size - left) } else { String::new() };
        let fault = Diagnostic::new(length.span, format!("`{}` copies {count} bytes, and `{name}` has {left}{rest}", row.name));
        self.faults.add(fault.note(declared, "declared here").help(format!("copy {left} bytes at most, or make `{name}` larger")));
    }

    /// The variable or the local array that a known address is in.
    fn object_at(&self, spot: &Spot) -> Option<Object<'a>> {
        let program = self.program;
        let holds = |object: &Object<'_>| (object.2..object.2 + object.3).contains(&spot.offset);
        let base = |n: usize| match &program.statics[n] {
            variable if variable.constant => matches!(spot.base, Base::Initialised),
            variable if variable.is_shared() => matches!(spot.base, Base::Shared),
            _ => matches!(spot.base, Base::Data),
        };
        let known = (0..program.statics.len()).filter(|n| base(*n)).filter_map(|n| {
            let variable = &program.statics[n];
            Some(Object(&variable.name, variable.span, self.statics[n]?, variable.ty.size()))
        });
        let locals = self.scratch.iter().filter(|_| matches!(spot.base, Base::Data)).filter_map(|((function, local), at)| {
            let local = program.functions[*function].locals.get(*local)?;
            Some(Object(&local.name, local.span, *at, local.ty.size()))
        });
        known.chain(locals).find(holds)
    }
}
