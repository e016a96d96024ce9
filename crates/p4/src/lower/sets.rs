//! Value sets: a ternary table of the module for each, which the control plane fills.

use super::place::{Leaf, StorageLocation};
use super::table::SPREAD;
use super::{Lower, Lowered, fault};
use crate::hir::{Type, VarId};
use crate::pipeline::SetMeta;
use frontends::diagnostics::Span;
use netil::module::{TableKind, entry_type};
use netil::table::Op;

impl Lower<'_> {
    /// Pushes whether the values of those places in a row are in a value set.
    pub(super) fn in_value_set(&mut self, places: &[&StorageLocation], var: VarId, span: Span) -> Lowered<()> {
        let at = self.value_set(var, span)?;
        let wanted: u32 = self.sets[at].fields.iter().map(|f| f.1).sum();
        let (mut width, mut parts) = (0u32, Vec::new());
        for place in places {
            for (n, leaf) in (0..).zip(self.leaves(&place.ty, span)?) {
                parts.push((*place, n, leaf));
                width += bits(leaf);
            }
        }
        if width != wanted {
            return fault(span, format!("the value set has members of {wanted} bits, and {width} are matched"));
        }
        let mut width = 0;
        for (place, n, leaf) in parts {
            self.load_leaf(place, n, leaf);
            let size = bits(leaf) as u16;
            self.code.resize(leaf.width(), size);
            if width > 0 {
                self.code.op2(Op::WConcat, u32::from(width), u32::from(size));
            }
            width += size;
        }
        let SetMeta { table, key_bits, .. } = self.sets[at];
        self.code.resize(width, key_bits);
        self.code.op1(Op::TFind, table);
        let found = self.code.new_local(entry_type(table));
        self.code.set(found);
        self.code.get(found);
        self.code.op1(Op::TValid, table);
        Ok(())
    }

    fn value_set(&mut self, var: VarId, span: Span) -> Lowered<usize> {
        let key = (self.path.clone(), var);
        if let Some(at) = self.sets_known.get(&key) {
            return Ok(*at);
        }
        let program = self.program;
        let info = &program.vars[var];
        let Type::Set(of) = &info.ty else { return fault(span, "this is no value set") };
        let mut fields = Vec::new();
        self.set_fields(of, String::new(), span, &mut fields)?;
        let bits: u32 = fields.iter().map(|f| f.1).sum();
        if bits == 0 || bits.next_multiple_of(8) > u32::from(netil::wide::MAX_WIDTH) {
            return fault(span, format!("a value set of {bits} bits is not supported"));
        }
        let (public, size) = program.sets.get(&var).cloned().unwrap_or_else(|| ((info.name.clone(), false), 1));
        let (name, key_bits) = (self.whole_name(&public), bits.next_multiple_of(8) as u16);
        let table = self.tables.len() as u32;
        self.tables.push(netil::module::Table {
            name: format!("{name}_{table}"),
            kind: TableKind::Ternary,
            key_bits,
            value_bytes: 1,
            // A member with ranges is several entries.
            capacity: size.clamp(1, 1 << 16).saturating_mul(SPREAD),
            timeout_ns: 0,
            entries: Vec::new(),
        });
        let mask = program.set_notes.get(&var).and_then(|notes| crate::bmv2::mask_of(notes));
        self.sets.push(SetMeta { name, table, fields, key_bits, mask });
        self.sets_known.insert(key, self.sets.len() - 1);
        Ok(self.sets.len() - 1)
    }

    /// Names and widths of the parts of a value.
    pub(super) fn set_fields(&self, ty: &Type, name: String, span: Span, out: &mut Vec<(String, u32)>) -> Lowered<()> {
        match ty {
            Type::Struct(id, args) => self.program.fields(*id, args).iter().try_for_each(|field| {
                let name = if name.is_empty() { field.name.to_string() } else { format!("{name}.{}", field.name) };
                self.set_fields(&field.ty, name, span, out)
            }),
            Type::Tuple(items) => items.iter().enumerate().try_for_each(|(n, item)| {
                let name = if name.is_empty() { format!("f{n}") } else { format!("{name}.f{n}") };
                self.set_fields(item, name, span, out)
            }),
            _ => {
                out.push((name, bits(self.scalar(ty, span)?)));
                Ok(())
            }
        }
    }
}

pub(super) fn bits(leaf: Leaf) -> u32 {
    if leaf == Leaf::Bool { 1 } else { u32::from(leaf.width()) }
}
