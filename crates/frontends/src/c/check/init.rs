//! Initial values: braces to scalars with their offsets (C11, 6.7.9). Braces within may be left
//! out, as in `{ 0 }`.

use super::Checker;
use crate::c::ast::{Designator, Init};
use crate::c::fold::{Nothing, fold};
use crate::c::similar;
use crate::c::tree::Expr;
use crate::c::types::Type;
use crate::diagnostics::{Diagnostic, Span};
use std::collections::BTreeMap;

/// What initial values name: scalars and structs by their offsets, with their places in the text.
#[derive(Default)]
struct Parts(BTreeMap<u32, (usize, Type, Expr)>, usize);

impl Parts {
    /// What was said of those bytes before no longer counts.
    fn clear(&mut self, base: u32, size: u32) {
        while let Some((offset, _)) = self.0.range(base..base + size).next() {
            let offset = *offset;
            self.0.remove(&offset);
        }
    }

    fn put(&mut self, offset: u32, ty: &Type, value: Expr) {
        self.clear(offset, ty.size());
        self.1 += 1;
        self.0.insert(offset, (self.1, ty.clone(), value));
    }

    /// In the order of the text.
    fn in_order(self) -> Vec<(u32, Type, Expr)> {
        let mut all: Vec<_> = self.0.into_iter().collect();
        all.sort_by_key(|(_, (place, ..))| *place);
        all.into_iter().map(|(offset, (_, ty, value))| (offset, ty, value)).collect()
    }
}

/// The values in one pair of braces, from the one that is next on.
struct Items<'a> {
    list: &'a [(Vec<Designator>, Init)],
    at: usize,
    /// The next one, if it has been looked at and is the first of a part without braces.
    value: Option<Expr>,
    span: Span,
}

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
        constants.sort_by_key(|(offset, ..)| *offset);
        constants
    }

    /// The scalars and structs that an initial value names, with their offsets. Where one is named
    /// twice, the last value counts.
    pub(super) fn parts(&mut self, ty: &Type, init: &Init) -> Vec<(u32, Type, Expr)> {
        let mut parts = Parts::default();
        self.add_parts(ty, 0, init, &mut parts);
        parts.in_order()
    }

    fn add_parts(&mut self, ty: &Type, base: u32, init: &Init, out: &mut Parts) {
        match init {
            Init::Value(value) => {
                let value = self.expr(value);
                if matches!(ty, Type::Array(..)) {
                    self.fault_help(value.span, "the elements of an array stand in braces", "write { ... }");
                    return;
                }
                let value = self.convert(value, ty, "this initial value");
                out.put(base, ty, value);
            }
            Init::List(list, span) => self.add_list(ty, base, list, *span, out),
        }
    }

    fn add_list(&mut self, ty: &Type, base: u32, list: &[(Vec<Designator>, Init)], span: Span, out: &mut Parts) {
        match (ty, list) {
            (Type::Error, _) => {}
            (Type::Mac | Type::In6, _) => self.add_bytes(ty, base, list, span, out),
            (Type::Struct(_) | Type::Array(..), _) => {
                out.clear(base, ty.size());
                let mut items = Items { list, at: 0, value: None, span };
                self.fill(ty, base, &mut items, None, out);
            }
            (_, [(designators, init)]) if designators.is_empty() => self.add_parts(ty, base, init, out),
            _ => self.fault(span, format!("one initial value is enough for {ty}")),
        }
    }

    /// The parts of a struct or array, one after the other or as designators say. `within` is for
    /// one whose braces were left out: what is left of the first value's designators. It ends where
    /// it is full, or another designator comes, which is for what is around it.
    fn fill(&mut self, ty: &Type, base: u32, items: &mut Items<'_>, within: Option<&[Designator]>, out: &mut Parts) {
        let (mut next, mut first) = (0, within);
        while let Some((designators, init)) = items.list.get(items.at) {
            let way = match first.take() {
                Some(rest) => rest,
                None if designators.is_empty() || within.is_none() => designators,
                None => return,
            };
            let span = init_span(init, items.span);
            let (position, part, offset) = match (way.first(), self.nth(ty, next)) {
                (Some(designator), _) => match self.designated(ty, designator, span) {
                    Some(found) => found,
                    None => return items.at = items.list.len(),
                },
                (None, Some(found)) => found,
                (None, None) if within.is_some() => return,
                (None, None) => return self.fault(span, format!("{ty} has {next} parts, and this is one more")),
            };
            next = position + 1;
            match way {
                [] | [_] => self.add_item(&part, base + offset, items, out),
                [_, rest @ ..] => self.fill(&part, base + offset, items, Some(rest), out),
            }
        }
    }

    /// The next value for a part, or several for one whose braces were left out.
    fn add_item(&mut self, part: &Type, base: u32, items: &mut Items<'_>, out: &mut Parts) {
        let value = match &items.list[items.at].1 {
            Init::List(list, span) => {
                items.at += 1;
                return self.add_list(part, base, list, *span, out);
            }
            Init::Value(value) => items.value.take().unwrap_or_else(|| self.expr(value)),
        };
        let whole = value.ty == *part || value.ty.is_error();
        match part {
            Type::Array(..) | Type::Struct(_) if !whole => {
                items.value = Some(value);
                self.fill(part, base, items, Some(&[]), out);
            }
            Type::Mac | Type::In6 if value.ty.is_int() => self.fill_bytes(part, base, items, out),
            _ => {
                items.at += 1;
                let value = self.convert(value, part, "this initial value");
                out.put(base, part, value);
            }
        }
    }

    /// The bytes of an address without braces of its own.
    fn fill_bytes(&mut self, ty: &Type, base: u32, items: &mut Items<'_>, out: &mut Parts) {
        let left = &items.list[items.at..];
        let own = |(n, (designators, init)): (usize, &(Vec<Designator>, Init))| {
            matches!(init, Init::Value(_)) && (n == 0 || designators.is_empty())
        };
        let count = left.iter().take(ty.size() as usize).enumerate().take_while(|item| own(*item)).count();
        items.at += count;
        self.add_bytes(ty, base, &left[..count], items.span, out);
    }

    /// The bytes of an address: `{{ 1, 2, 3, 4, 5, 6 }}`, as C has it for a struct with an array.
    fn add_bytes(&mut self, ty: &Type, base: u32, list: &[(Vec<Designator>, Init)], span: Span, out: &mut Parts) {
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
        out.put(base, ty, Expr::number(value, ty.clone(), span));
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
                if let Some((n, part, offset)) = found.member(&name.text) {
                    return Some((n, part.clone(), offset));
                }
                let fault = Diagnostic::new(name.span, format!("{ty} has no member `{}`", name.text));
                let fault = similar(fault, &name.text, found.names().into_iter(), "");
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
