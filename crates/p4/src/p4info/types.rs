//! Types as the control plane reads them. Named types are told once, in `type_info`.
//!
//! Source: P4Runtime specification 1.4, "P4Data and P4 type specifications".

use super::message::{Message, Value};
use super::notes::{self, Fields};
use crate::ast::{Aggregate, Notes};
use crate::hir::{Program, Type, TypeId, TypeInfo};
use num_bigint::BigInt;
use std::collections::BTreeMap;

const NEW_TYPE: Fields = Fields { annotations: 3, structured: 4, doc: None };

/// The named types that were met, by the number of their field in `P4TypeInfo` and their name.
pub(super) struct Types<'a> {
    program: &'a Program,
    known: BTreeMap<(u32, String), Message>,
    error: bool,
    /// `type_info` is there, if only empty.
    pub there: bool,
}

/// The names of maps in `P4TypeInfo`, by number.
const MAPS: [&str; 8] = ["", "structs", "headers", "header_unions", "enums", "", "serializable_enums", "new_types"];

fn named(number: u32, name: &'static str, of: &str) -> Message {
    Message::of(number, name, Value::Message(Message::of(1, "name", Value::Text(of.to_owned()))))
}

/// A number in as many bytes as a type of that width has.
pub(super) fn padded(value: &BigInt, width: u32) -> Vec<u8> {
    let bytes = width.div_ceil(8).max(1) as usize;
    let number = value.magnitude().to_bytes_be();
    let mut out = vec![0; bytes.saturating_sub(number.len())];
    out.extend(&number[number.len().saturating_sub(bytes)..]);
    out
}

fn bits(ty: &Type) -> Message {
    let width = |name, w: u32| Message::of(1, name, Value::Int(w.into()));
    match ty {
        Type::Int(w) => Message::of(2, "int", Value::Message(width("bitwidth", *w))),
        Type::Varbit(w) => Message::of(3, "varbit", Value::Message(width("max_bitwidth", *w))),
        other => Message::of(1, "bit", Value::Message(width("bitwidth", other.width().unwrap_or(0)))),
    }
}

impl<'a> Types<'a> {
    pub fn new(program: &'a Program) -> Self {
        Self { program, known: BTreeMap::new(), error: false, there: false }
    }

    pub fn notes(&self, id: TypeId) -> &[crate::ast::Annotation] {
        self.program.type_notes.get(&id).map_or(&[], |notes: &Notes| notes)
    }

    /// The width of numbers that the controller sends for this type.
    pub fn width(&self, ty: &Type) -> u32 {
        if let Type::New(id) = ty
            && let Some((_, width)) = notes::translation(self.notes(*id))
        {
            return width.unwrap_or(0);
        }
        match self.program.underlying(ty) {
            Type::Varbit(w) => w,
            other => other.width().unwrap_or(0),
        }
    }

    /// A type's name, if it is a new one.
    pub fn name(&self, ty: &Type) -> Option<Message> {
        match ty {
            Type::New(id) | Type::Enum(id) => Some(Message::of(1, "name", Value::Text(self.program.type_name(*id).to_string()))),
            _ => None,
        }
    }

    /// `P4DataTypeSpec`; the named types in it become known.
    pub fn spec(&mut self, ty: &Type) -> Message {
        self.there = true;
        match ty {
            Type::Bit(_) | Type::Int(_) | Type::Varbit(_) => Message::of(1, "bitstring", Value::Message(bits(ty))),
            Type::Bool => Message::of(2, "bool", Value::Message(Message::default())),
            Type::Tuple(items) => {
                let mut inner = Message::default();
                items.iter().for_each(|item| inner.message(1, "members", self.spec(item)));
                Message::of(3, "tuple", Value::Message(inner))
            }
            Type::Error => {
                self.error = true;
                Message::of(10, "error", Value::Message(Message::default()))
            }
            Type::Stack(of, count) => self.stack(of, *count),
            Type::Struct(id, args) => self.aggregate(ty, *id, args),
            Type::Enum(id) => self.enumeration(*id),
            Type::SerEnum(id) => self.serializable(*id),
            Type::New(id) => self.new_type(*id),
            _ => Message::default(),
        }
    }

    fn stack(&mut self, of: &Type, count: u32) -> Message {
        let Type::Struct(id, _) = of else { return Message::default() };
        self.spec(of);
        let union = self.program.aggregate(of) == Some(Aggregate::Union);
        let name = self.program.type_name(*id).to_string();
        let mut inner = Message::default();
        inner.message(1, if union { "header_union" } else { "header" }, Message::of(1, "name", Value::Text(name)));
        inner.int(2, "size", count);
        if union {
            Message::of(8, "header_union_stack", Value::Message(inner))
        } else {
            Message::of(7, "header_stack", Value::Message(inner))
        }
    }

    /// Makes a type known, if it is not.
    fn make(&mut self, map: u32, name: &str, make: impl FnOnce(&mut Self) -> Message) {
        let key = (map, name.to_owned());
        if !self.known.contains_key(&key) {
            let message = make(self);
            self.known.insert(key, message);
        }
    }

    fn aggregate(&mut self, ty: &Type, id: TypeId, args: &[Type]) -> Message {
        let name = self.program.type_name(id).to_string();
        let (number, field) = match self.program.aggregate(ty) {
            Some(Aggregate::Header) => (5, "header"),
            Some(Aggregate::Union) => (6, "header_union"),
            _ => (4, "struct"),
        };
        let fields = self.program.fields(id, args);
        self.make(number - 3, &name, |types| {
            let mut spec = Message::default();
            for field in &fields {
                let inner = types.spec(&field.ty);
                let mut member = Message::default();
                member.text(1, "name", &*field.name);
                match number {
                    4 => member.message(2, "type_spec", inner),
                    5 => member.message(2, "type_spec", bits(&types.program.underlying(&field.ty))),
                    _ => member.message(2, "header", types.name_of(&field.ty)),
                }
                spec.message(1, "members", member);
            }
            spec
        });
        named(number, field, &name)
    }

    fn name_of(&self, ty: &Type) -> Message {
        match ty {
            Type::Struct(id, _) => Message::of(1, "name", Value::Text(self.program.type_name(*id).to_string())),
            _ => Message::default(),
        }
    }

    fn enumeration(&mut self, id: TypeId) -> Message {
        let program = self.program;
        let TypeInfo::Enum { name, members } = &program.types[id] else { return Message::default() };
        self.make(4, name, |_| {
            let mut spec = Message::default();
            for member in members {
                spec.message(1, "members", Message::of(1, "name", Value::Text(member.to_string())));
            }
            spec
        });
        named(9, "enum", name)
    }

    fn serializable(&mut self, id: TypeId) -> Message {
        let program = self.program;
        let TypeInfo::SerEnum { name, ty, members } = &program.types[id] else { return Message::default() };
        let width = program.underlying(ty).width().unwrap_or(0);
        self.make(6, name, |_| {
            let mut spec = Message::default();
            spec.message(1, "underlying_type", Message::of(1, "bitwidth", Value::Int(width.into())));
            for (member, value) in members {
                let mut one = Message::default();
                one.text(1, "name", &**member);
                one.add(2, "value", Value::Bytes(padded(value, width)));
                spec.message(2, "members", one);
            }
            spec
        });
        named(11, "serializable_enum", name)
    }

    /// The type below a chain of new ones.
    fn below(&self, id: TypeId) -> Type {
        match &self.program.types[id] {
            TypeInfo::New { ty: Type::New(inner), .. } => self.below(*inner),
            TypeInfo::New { ty, .. } => ty.clone(),
            _ => Type::Any,
        }
    }

    fn new_type(&mut self, id: TypeId) -> Message {
        let name = self.program.type_name(id).to_string();
        let below = self.below(id);
        self.make(7, &name, |types| {
            let original = types.spec(&below);
            let mut spec = Message::default();
            notes::write(&mut spec, types.notes(id), NEW_TYPE, &["p4runtime_translation"]);
            match notes::translation(types.notes(id)) {
                Some((uri, width)) => {
                    let mut translated = Message::of(1, "uri", Value::Text(uri.to_owned()));
                    match width {
                        Some(width) => translated.add(2, "sdn_bitwidth", Value::Int(width.into())),
                        None => translated.message(3, "sdn_string", Message::default()),
                    }
                    spec.message(2, "translated_type", translated);
                }
                None => spec.message(1, "original_type", original),
            }
            spec
        });
        named(12, "new_type", &name)
    }

    /// `P4TypeInfo`.
    pub fn finish(self) -> Option<Message> {
        let mut info = Message::default();
        for ((map, name), spec) in self.known {
            let mut entry = Message::of(1, "key", Value::Text(name));
            entry.message(2, "value", spec);
            info.message(map, MAPS[map as usize], entry);
        }
        if self.error {
            let mut errors = Message::default();
            self.program.errors.iter().for_each(|name| errors.text(1, "members", &**name));
            info.message(5, "error", errors);
        }
        (self.there || !info.is_empty()).then_some(info)
    }
}
