//! Profiles, counters, meters, registers, digests, value sets and the headers of packets to and
//! from the controller.

use super::find::{self, FoundObject};
use super::ids::{Kind, places};
use super::message::{Message, Value};
use super::notes::{self, Fields, PREAMBLE};
use super::{Maker, is_hidden, known, match_type};
use crate::ast::{Aggregate, Annotation};
use crate::hir::{InstId, Program, Type, TypeId};
use crate::lexer::Tok;
use num_traits::ToPrimitive;

const METADATA: Fields = Fields { annotations: 3, structured: 6, doc: None };
const MATCH: Fields = Fields { annotations: 3, structured: 9, doc: Some(6) };
const OF_PROFILES: [&str; 3] = ["max_group_size", "selector_size_semantics", "max_member_weight"];

/// Which kind an instance is, if the control plane sees it.
pub(super) fn kind(program: &Program, inst: InstId) -> Option<Kind> {
    Some(match find::class(program, inst).0 {
        "counter" | "Counter" => Kind::Counter,
        "direct_counter" | "DirectCounter" => Kind::DirectCounter,
        "meter" | "Meter" => Kind::Meter,
        "direct_meter" | "DirectMeter" => Kind::DirectMeter,
        "register" | "Register" => Kind::Register,
        "action_profile" | "action_selector" | "ActionProfile" | "ActionSelector" => Kind::Profile,
        "Digest" => Kind::Digest,
        _ => return None,
    })
}

/// Which type parameter of an extern is that of its index.
fn index_type(class: &str, types: &[Type]) -> Option<Type> {
    match class {
        "counter" | "meter" | "Meter" => types.first().cloned(),
        "register" | "Register" | "Counter" => types.get(1).cloned(),
        _ => None,
    }
}

/// Digests by the names of their types; those without names are numbered.
pub(super) fn named(program: &Program, digests: &[Type]) -> Vec<(String, Type)> {
    let mut unnamed = 0;
    let mut name = |ty: &Type| match ty {
        Type::Struct(id, _) => program.type_name(*id).to_string(),
        _ => {
            unnamed += 1;
            format!("digest_{}", unnamed - 1)
        }
    };
    digests.iter().map(|ty| (name(ty), ty.clone())).collect()
}

fn unit(member: &str) -> Message {
    let unit = match member.to_ascii_lowercase().as_str() {
        "packets" => Value::Enum("PACKETS", 2),
        "bytes" => Value::Enum("BYTES", 1),
        "packets_and_bytes" => Value::Enum("BOTH", 3),
        _ => return Message::default(),
    };
    Message::of(1, "unit", unit)
}

impl Maker<'_> {
    pub(super) fn objects(&mut self) {
        for found in std::mem::take(&mut self.found.objects) {
            self.types.there |= !self.program.instances[found.inst].name.is_empty();
            let Some(kind) = kind(self.program, found.inst) else { continue };
            let notes = &self.program.instances[found.inst].notes;
            match kind {
                Kind::Profile => self.profile(&found),
                Kind::Register => self.register(&found),
                Kind::Digest => {
                    let ty = find::class(self.program, found.inst).1.first().cloned().unwrap_or(Type::Any);
                    self.digest(&found.name, &ty, &notes.clone());
                }
                Kind::Counter => self.counted(&found, kind, 5, "counters"),
                Kind::Meter => self.counted(&found, kind, 7, "meters"),
                Kind::DirectCounter => self.counted(&found, kind, 6, "direct_counters"),
                _ => self.counted(&found, kind, 8, "direct_meters"),
            }
        }
    }

    /// The first argument that is a number.
    fn size(found: &FoundObject) -> i64 {
        let number = |e: &crate::hir::Expr| matches!(e.ty, Type::Bit(_) | Type::New(_)).then(|| known(e)).flatten();
        found.args.iter().find_map(number).and_then(|n| n.to_i64()).unwrap_or(0)
    }

    /// A counter or meter.
    fn counted(&mut self, found: &FoundObject, kind: Kind, number: u32, name: &'static str) {
        let mut out = Message::default();
        let program = self.program;
        out.message(1, "preamble", self.preamble(kind, &found.name, &program.instances[found.inst].notes, &[]));
        let member = found.args.iter().find_map(|arg| find::member(program, arg)).unwrap_or_default();
        out.message(2, "spec", unit(&member));
        if matches!(kind, Kind::DirectCounter | Kind::DirectMeter) {
            let of = self.found.tables.iter().find(|t| t.objects.iter().any(|(_, _, name)| *name == found.name));
            let Some(table) = of.map(|t| self.symbols.id(Kind::Table, &t.name)) else { return };
            out.int(3, "direct_table_id", table);
        } else {
            out.int(3, "size", Self::size(found));
            self.index(&mut out, found);
        }
        self.info.message(number, name, out);
    }

    fn index(&mut self, out: &mut Message, found: &FoundObject) {
        let (class, types) = find::class(self.program, found.inst);
        let Some(index) = index_type(class, types) else { return };
        self.types.spec(&index);
        if let (Type::New(_), Some(named)) = (&index, self.types.name(&index)) {
            out.message(4, "index_type_name", named);
        }
    }

    fn register(&mut self, found: &FoundObject) {
        let mut out = Message::default();
        let notes = &self.program.instances[found.inst].notes;
        out.message(1, "preamble", self.preamble(Kind::Register, &found.name, notes, &[]));
        if let Some(ty) = find::class(self.program, found.inst).1.first() {
            let spec = self.types.spec(ty);
            out.message(2, "type_spec", spec);
        }
        out.int(3, "size", Self::size(found));
        self.index(&mut out, found);
        self.info.message(11, "registers", out);
    }

    fn profile(&mut self, found: &FoundObject) {
        let mut out = Message::default();
        let notes = &self.program.instances[found.inst].notes;
        out.message(1, "preamble", self.preamble(Kind::Profile, &found.name, notes, &OF_PROFILES));
        let mut tables: Vec<&str> = Vec::new();
        for table in &self.found.tables {
            if table.objects.iter().any(|(_, _, name)| *name == found.name) {
                tables.push(&table.name);
            }
        }
        tables.sort_unstable();
        tables.into_iter().for_each(|name| out.int(2, "table_ids", self.symbols.id(Kind::Table, name)));
        out.int(4, "size", Self::size(found));
        if matches!(find::class(self.program, found.inst).0, "action_selector" | "ActionSelector") {
            out.flag(3, "with_selector", true);
            selector(&mut out, notes);
        }
        self.info.message(4, "action_profiles", out);
    }

    fn digest(&mut self, name: &str, ty: &Type, notes: &[Annotation]) {
        let mut out = Message::default();
        out.message(1, "preamble", self.preamble(Kind::Digest, name, notes, &[]));
        let spec = self.types.spec(ty);
        out.message(2, "type_spec", spec);
        self.info.message(12, "digests", out);
    }

    pub(super) fn digests(&mut self) {
        self.types.there |= self.found.calls_externs;
        for (name, ty) in named(self.program, &std::mem::take(&mut self.found.digests)) {
            self.digest(&name, &ty, &[]);
        }
    }

    pub(super) fn headers(&mut self) {
        for id in find::headers(self.program) {
            let notes = self.types.notes(id).to_vec();
            if is_hidden(&notes) {
                continue;
            }
            let name = notes::find(&notes, "controller_header").and_then(notes::string).unwrap_or_default();
            let mut preamble = Message::default();
            preamble.int(1, "id", self.symbols.id(Kind::Header, self.program.type_name(id)));
            preamble.text(2, "name", name);
            preamble.text(3, "alias", name);
            notes::write(&mut preamble, &notes, PREAMBLE, &[]);
            let mut out = Message::of(1, "preamble", Value::Message(preamble));
            let mut fields = Vec::new();
            self.flat(id, &[], "", &[], &mut fields);
            let ids = places(&fields.iter().map(|(_, _, notes)| notes::id(notes)).collect::<Vec<_>>());
            for ((name, ty, notes), id) in fields.iter().zip(ids).filter(|((_, _, notes), _)| !is_hidden(notes)) {
                let mut one = Message::default();
                one.int(1, "id", id);
                one.text(2, "name", &**name);
                notes::write(&mut one, notes, METADATA, &[]);
                self.typed(&mut one, ty, 5);
                out.message(2, "metadata", one);
            }
            self.info.message(9, "controller_packet_metadata", out);
        }
    }

    /// Fields, those of structures in the place of these.
    fn flat(&self, id: TypeId, args: &[Type], before: &str, outer: &[Annotation], out: &mut Vec<(String, Type, Vec<Annotation>)>) {
        for field in self.program.fields(id, args) {
            let name = match notes::find(&field.notes, "name").and_then(notes::string) {
                Some(given) if before.is_empty() => given.trim_start_matches('.').to_owned(),
                _ => format!("{before}{}", field.name),
            };
            let mut notes = field.notes.to_vec();
            notes.extend(outer.iter().filter(|o| notes::find(&field.notes, &o.name).is_none()).cloned());
            match &field.ty {
                Type::Struct(inner, args) if self.program.aggregate(&field.ty) == Some(Aggregate::Struct) => {
                    self.flat(*inner, args, &format!("{name}."), &notes, out);
                }
                ty => out.push((name, ty.clone(), notes)),
            }
        }
    }

    pub(super) fn sets(&mut self) {
        for (var, name) in std::mem::take(&mut self.found.sets) {
            let notes = self.program.set_notes.get(&var).cloned().unwrap_or_default();
            let mut out = Message::default();
            out.message(1, "preamble", self.preamble(Kind::ValueSet, &name, &notes, &[]));
            let Type::Set(of) = &self.program.vars[var].ty else { continue };
            self.members(&mut out, &of.clone());
            out.int(3, "size", self.program.sets[&var].1);
            self.info.message(10, "value_sets", out);
        }
    }

    /// The parts of a value set's members.
    fn members(&self, out: &mut Message, ty: &Type) {
        let mut add = |id: u32, name: &str, ty: &Type, notes: &[Annotation]| {
            let kind = notes::find(notes, "match").and_then(|note| match note.tokens.first().map(|t| &t.tok) {
                Some(Tok::Ident(kind)) => match_type(kind),
                _ => None,
            });
            let (number, field, value) = kind.unwrap_or((5, "match_type", Value::Enum("EXACT", 2)));
            let mut one = Message::default();
            one.int(1, "id", id);
            one.text(2, "name", name);
            notes::write(&mut one, notes, MATCH, &["match"]);
            one.int(4, "bitwidth", self.types.width(ty));
            one.add(number, field, value);
            out.message(2, "match", one);
        };
        match ty {
            Type::Struct(id, args) => {
                let fields = self.program.fields(*id, args);
                let ids = places(&fields.iter().map(|f| notes::id(&f.notes)).collect::<Vec<_>>());
                fields.iter().zip(ids).for_each(|(f, id)| add(id, &f.name, &f.ty, &f.notes));
            }
            Type::SerEnum(id) => {
                if let crate::hir::TypeInfo::SerEnum { members, .. } = &self.program.types[*id] {
                    (1..).zip(members).for_each(|(n, (name, _))| add(n, name, ty, &[]));
                }
            }
            _ => add(1, "", ty, &[]),
        }
    }
}

/// What annotations of a selector say.
fn selector(out: &mut Message, notes: &[Annotation]) {
    let number = |name| notes::find(notes, name).and_then(notes::number).and_then(|n| n.to_i64()).unwrap_or(0);
    out.int(5, "max_group_size", number("max_group_size"));
    let semantics = notes::find(notes, "selector_size_semantics").and_then(notes::string).unwrap_or_default();
    match semantics.to_ascii_lowercase().as_str() {
        "sum_of_weights" => out.message(6, "sum_of_weights", Message::default()),
        "sum_of_members" => {
            let mut of = Message::default();
            of.int(1, "max_member_weight", number("max_member_weight"));
            out.message(7, "sum_of_members", of);
        }
        _ => {}
    }
}
