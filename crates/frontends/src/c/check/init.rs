//! Initial values: braces to scalars with their offsets (C11, 6.7.9, with every brace written).

use super::Checker;
use crate::c::ast::{Designator, Init};
use crate::c::fold::{Nothing, fold};
use crate::c::similar;
use crate::c::tree::Expr;
use crate::c::types::Type;
use crate::diagnostics::{Diagnostic, Span};

impl Checker<'_> {
    /// Scalars of a static variable: constants.
    pub(super) fn constant_init(&mut self, ty: &Type, init: &Init) -> Vec<(u32, Type, u128)> {
        let mut constants = Vec::new();
        for (offset, ty, value) in self.parts(ty, init) {
            match fold(&value, &Nothing) {
                Some(number) => constants.push((offset, ty, number)),
                None if value.ty.is_error() => {}
                None => self.fault_help(value.span, "a static variable begins with a constant", "assign it in init()"),
            }
        }
        // Where a part is named twice, the last value counts.
        constants.reverse();
        constants.sort_by_key(|(offset, ..)| *offset);
        constants.dedup_by_key(|(offset, ..)| *offset);
        constants
    }

    /// The scalars and structs that an initial value names, with their offsets.
    pub(super) fn parts(&mut self, ty: &Type, init: &Init) -> Vec<(u32, Type, Expr)> {
        let mut parts = Vec::new();
        self.add_parts(ty, 0, init, &mut parts);
        parts
    }

    fn add_parts(&mut self, ty: &Type, base: u32, init: &Init, out: &mut Vec<(u32, Type, Expr)>) {
        match init {
            Init::Value(value) => {
                let value = self.expr(value);
                if matches!(ty, Type::Array(..)) {
                    self.fault_help(value.span, "the elements of an array stand in braces", "write { ... }");
                    return;
                }
                let value = self.convert(value, ty, "this initial value");
                out.push((base, ty.clone(), value));
            }
            Init::List(list, span) => self.add_list(ty, base, list, *span, out),
        }
    }

    fn add_list(&mut self, ty: &Type, base: u32, list: &[(Vec<Designator>, Init)], span: Span, out: &mut Vec<(u32, Type, Expr)>) {
        match (ty, list) {
            (Type::Error, _) => return,
            (Type::Mac | Type::In6, _) => return self.add_bytes(ty, base, list, span, out),
            (Type::Struct(_) | Type::Array(..), _) => {}
            (_, [(designators, init)]) if designators.is_empty() => return self.add_parts(ty, base, init, out),
            _ => return self.fault(span, format!("one initial value is enough for {ty}")),
        }
        let mut next = 0;
        for (designators, init) in list {
            let Some((position, part, offset)) = self.part_at(ty, designators, next, init_span(init, span)) else { return };
            next = position + 1;
            self.add_parts(&part, base + offset, init, out);
        }
    }

    /// The bytes of an address: `{{ 1, 2, 3, 4, 5, 6 }}`, as C has it for a struct with an array.
    fn add_bytes(&mut self, ty: &Type, base: u32, list: &[(Vec<Designator>, Init)], span: Span, out: &mut Vec<(u32, Type, Expr)>) {
        let inner = match list {
            [(_, Init::List(inner, _))] => inner,
            [] | [(_, Init::Value(_)), ..] => list,
            _ => return self.fault(span, format!("write the bytes of a {ty} as {{{{ 0x02, ... }}}}")),
        };
        let mut value = 0u128;
        let size = ty.size() as usize;
        if inner.len() > size {
            return self.fault(span, format!("a {ty} has {size} bytes"));
        }
        for (n, (_, byte)) in inner.iter().enumerate() {
            let Init::Value(byte) = byte else { return self.fault(span, "a byte is one value") };
            let Some((byte, _)) = self.constant(byte, "a byte of an address") else { return };
            value |= (byte & 255) << (8 * (size - 1 - n));
        }
        out.push((base, ty.clone(), Expr::number(value, ty.clone(), span)));
    }

    /// Position, type and offset of the part that designators name, or of the next one.
    fn part_at(&mut self, ty: &Type, designators: &[Designator], next: usize, span: Span) -> Option<(usize, Type, u32)> {
        let Some((first, rest)) = designators.split_first() else {
            let found = self.nth(ty, next);
            if found.is_none() {
                self.fault(span, format!("{ty} has {next} parts, and this is one more"));
            }
            return found;
        };
        let (position, mut part, mut offset) = self.designated(ty, first, span)?;
        for more in rest {
            let (_, inner, further) = self.designated(&part, more, span)?;
            (part, offset) = (inner, offset + further);
        }
        Some((position, part, offset))
    }

    fn nth(&self, ty: &Type, n: usize) -> Option<(usize, Type, u32)> {
        match ty {
            Type::Struct(found) => found.members.get(n).map(|member| (n, member.ctype.clone(), member.offset)),
            Type::Array(of, count) if n < *count as usize => Some((n, (**of).clone(), n as u32 * of.size())),
            _ => None,
        }
    }

    fn designated(&mut self, ty: &Type, designator: &Designator, span: Span) -> Option<(usize, Type, u32)> {
        match (ty, designator) {
            (Type::Struct(found), Designator::Member(name)) => {
                if let Some(n) = found.members.iter().position(|member| member.name == *name.text) {
                    return self.nth(ty, n);
                }
                let fault = Diagnostic::new(name.span, format!("{ty} has no member `{}`", name.text));
                let fault = similar(fault, &name.text, found.members.iter().map(|member| member.name.as_str()), "");
                self.faults.add(fault);
            }
            (Type::Array(_, count), Designator::Index(index)) => {
                let (value, _) = self.constant(index, "an index of an initial value")?;
                if value < u128::from(*count) {
                    return self.nth(ty, value as usize);
                }
                self.fault(index.span, format!("the array has elements 0 to {}", count - 1));
            }
            (Type::Error, _) => {}
            (_, Designator::Member(name)) => self.fault(name.span, format!("a {ty} has no members")),
            _ => self.fault(span, format!("a {ty} has no elements")),
        }
        None
    }
}

fn init_span(init: &Init, list: Span) -> Span {
    match init {
        Init::Value(value) => value.span,
        Init::List(_, span) => Span { end: span.end.max(list.start), ..*span },
    }
}
