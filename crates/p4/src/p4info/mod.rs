//! P4Info: what a controller needs to know of a program, by P4Runtime's numbers. Made from the
//! checked program.
//!
//! ```text
//! find ──▶ tables, actions, objects, headers ──▶ ids ──▶ message (text or wire)
//! ```
//!
//! Source: P4Runtime specification 1.4 and its p4info.proto. Leaves out: source locations, externs
//! of a program's own.

mod find;
mod ids;
pub mod message;
mod notes;
mod objects;
mod types;

use crate::ast::{Annotation, Dir};
use crate::hir::{Expr, ExprKind, Key, PROFILES, Program, Table, TableAction, Type, TypeInfo};
use crate::lexer::Tok;
pub(crate) use find::clashes;
use find::{Found, FoundTable};
use ids::{Kind, Symbols, places};
pub use message::Message;
use message::Value;
use notes::{Fields, PREAMBLE};
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use types::{Types, padded};

/// What stands above the text.
const HEAD: &str = "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n";
/// Entries of a table that does not say how many it has.
const DEFAULT_SIZE: u32 = 1024;

const KEY: Fields = Fields { annotations: 3, structured: 9, doc: Some(6) };
const PARAM: Fields = Fields { annotations: 3, structured: 7, doc: Some(5) };
const ACTION_REF: Fields = Fields { annotations: 2, structured: 4, doc: None };
const PACKAGE: Fields = Fields { annotations: 4, structured: 9, doc: Some(3) };

/// The text of a P4Info as p4c writes it.
#[must_use]
pub fn text(info: &Message) -> String {
    HEAD.to_owned() + &info.to_text()
}

/// The P4Info of a checked program, which is empty without `main`.
pub(crate) fn make(program: &Program) -> Message {
    let main = program.top.iter().map(|id| &program.instances[*id]).find(|i| &*i.name == "main");
    let Some(main) = main else { return Message::default() };
    let found = find::find(program, main);
    let symbols = symbols(program, &found);
    let mut maker = Maker { program, found, symbols, types: Types::new(program), info: Message::default() };
    maker.info.message(1, "pkg_info", package(program, main));
    maker.tables();
    maker.actions();
    maker.objects();
    maker.headers();
    maker.sets();
    maker.digests();
    let Maker { mut info, types, .. } = maker;
    if let Some(types) = types.finish() {
        info.message(200, "type_info", types);
    }
    info
}

struct Maker<'a> {
    program: &'a Program,
    found: Found,
    symbols: Symbols,
    types: Types<'a>,
    info: Message,
}

fn symbols(program: &Program, found: &Found) -> Symbols {
    let mut symbols = Symbols::default();
    for table in &found.tables {
        symbols.add(Kind::Table, &table.name, notes::id(&program.tables[table.id].notes));
    }
    for (name, f) in &found.actions {
        symbols.add(Kind::Action, name, notes::id(&program.functions[*f].notes));
    }
    for object in &found.objects {
        if let Some(kind) = objects::kind(program, object.inst) {
            symbols.add(kind, &object.name, notes::id(&program.instances[object.inst].notes));
        }
    }
    for id in find::headers(program) {
        symbols.add(Kind::Header, program.type_name(id), program.type_notes.get(&id).and_then(|n| notes::id(n)));
    }
    for (var, name) in &found.sets {
        symbols.add(Kind::ValueSet, name, program.set_notes.get(var).and_then(|n| notes::id(n)));
    }
    for (name, _) in objects::named(program, &found.digests) {
        symbols.add(Kind::Digest, &name, None);
    }
    symbols.assign();
    symbols
}

/// `PkgInfo`.
fn package(program: &Program, main: &crate::hir::Instance) -> Message {
    let mut info = Message::default();
    let arch = match &main.ty {
        Type::Arch(id, _) => &**program.type_name(*id),
        _ => "",
    };
    let arch = match arch {
        package if let Some(known) = crate::lower::arch::named(package) => known.name,
        _ if program.types.iter().any(|ty| matches!(ty, TypeInfo::Arch { name, .. } if &**name == "V1Switch")) => "v1model",
        other => other,
    };
    let fields = [(1, "name"), (2, "version"), (6, "organization"), (7, "contact"), (8, "url")];
    let given = notes::find(&main.notes, "pkginfo").map(notes::pairs).unwrap_or_default();
    for (number, name) in fields {
        if let Some((_, Tok::Str(text))) = given.iter().find(|(key, _)| *key == name) {
            info.text(number, name, &**text);
        }
    }
    info.text(5, "arch", arch);
    notes::write(&mut info, &main.notes, PACKAGE, &["pkginfo", "platform_property"]);
    if let Some(note) = notes::find(&main.notes, "platform_property") {
        info.message(11, "platform_properties", platform(&notes::pairs(note)));
    }
    info
}

fn platform(given: &[(&str, &Tok)]) -> Message {
    let mut out = Message::default();
    let fields = [
        (1, "multicast_group_table_size"),
        (2, "multicast_group_table_total_replicas"),
        (3, "multicast_group_table_max_replicas_per_entry"),
    ];
    for (number, name) in fields {
        if let Some((_, Tok::Number(n))) = given.iter().find(|(key, _)| *key == name) {
            out.int(number, name, n.value.to_i64().unwrap_or(0));
        }
    }
    out
}

fn is_hidden(notes: &[Annotation]) -> bool {
    notes::find(notes, "hidden").is_some()
}

/// The field of match fields that says how they are matched; none for those that are no part of
/// entries.
fn match_type(kind: &str) -> Option<(u32, &'static str, Value)> {
    let known = |name, number| Some((5, "match_type", Value::Enum(name, number)));
    match kind {
        "exact" => known("EXACT", 2),
        "lpm" => known("LPM", 3),
        "ternary" => known("TERNARY", 4),
        "range" => known("RANGE", 5),
        "optional" => known("OPTIONAL", 6),
        "selector" => None,
        other => Some((7, "other_match_type", Value::Text(other.to_owned()))),
    }
}

impl Maker<'_> {
    fn preamble(&self, kind: Kind, name: &str, notes: &[Annotation], not: &[&str]) -> Message {
        let mut message = Message::default();
        message.int(1, "id", self.symbols.id(kind, name));
        message.text(2, "name", name);
        message.text(3, "alias", self.symbols.alias(name));
        notes::write(&mut message, notes, PREAMBLE, not);
        message
    }

    fn tables(&mut self) {
        for found in std::mem::take(&mut self.found.tables) {
            let table = &self.program.tables[found.id];
            if !is_hidden(&table.notes) {
                self.types.there = true;
                let message = self.table(&found, table);
                self.info.message(2, "tables", message);
            }
            self.found.tables.push(found);
        }
    }

    fn table(&mut self, found: &FoundTable, table: &Table) -> Message {
        let mut out = Message::default();
        out.message(1, "preamble", self.preamble(Kind::Table, &found.name, &table.notes, &[]));
        let ids = places(&table.keys.iter().map(|k| notes::id(&k.notes)).collect::<Vec<_>>());
        for (key, id) in table.keys.iter().zip(ids) {
            if let Some(field) = self.key(key, id) {
                out.message(2, "match_fields", field);
            }
        }
        for (action, name) in table.actions.iter().zip(&found.actions) {
            out.message(3, "action_refs", self.action_ref(action, name));
        }
        if let Some((at, args)) = &table.default {
            let id = self.symbols.id(Kind::Action, &found.actions[*at]);
            if table.const_default {
                out.int(4, "const_default_action_id", id);
            }
            out.message(5, "initial_default_action", self.default_action(id, &table.actions[*at], args));
        }
        for (property, inst, name) in &found.objects {
            let Some(kind) = objects::kind(self.program, *inst) else { continue };
            let number = if PROFILES.contains(&&**property) { (6, "implementation_id") } else { (7, "direct_resource_ids") };
            out.int(number.0, number.1, self.symbols.id(kind, name));
        }
        out.int(8, "size", table.size.filter(|size| *size > 0).unwrap_or(DEFAULT_SIZE));
        if table.support_timeout {
            out.add(9, "idle_timeout_behavior", Value::Enum("NOTIFY_CONTROL", 1));
        }
        out.flag(10, "is_const_table", table.const_entries);
        out.flag(11, "has_initial_entries", !table.entries.is_empty());
        out
    }

    fn key(&mut self, key: &Key, id: u32) -> Option<Message> {
        let (number, name, value) = match_type(&key.kind)?;
        let mut out = Message::default();
        out.int(1, "id", id);
        out.text(2, "name", &*key.name);
        notes::write(&mut out, &key.notes, KEY, &[]);
        out.int(4, "bitwidth", self.types.width(&key.value.ty));
        out.add(number, name, value);
        self.types.spec(&key.value.ty);
        if let (Type::New(_), Some(named)) = (&key.value.ty, self.types.name(&key.value.ty)) {
            out.message(8, "type_name", named);
        }
        Some(out)
    }

    fn action_ref(&self, action: &TableAction, name: &str) -> Message {
        let mut out = Message::default();
        out.int(1, "id", self.symbols.id(Kind::Action, name));
        notes::write(&mut out, &action.notes, ACTION_REF, &[]);
        match (action.table_only, action.default_only) {
            (true, _) => out.add(3, "scope", Value::Enum("TABLE_ONLY", 1)),
            (_, true) => out.add(3, "scope", Value::Enum("DEFAULT_ONLY", 2)),
            _ => {}
        }
        if action.default_only && notes::find(&action.notes, "defaultonly").is_none() {
            out.text(2, "annotations", "@defaultonly");
        }
        out
    }

    fn default_action(&self, id: u32, action: &TableAction, args: &[Expr]) -> Message {
        let mut out = Message::default();
        out.int(1, "action_id", id);
        let params = self.program.functions[action.action].params.iter().filter(|p| p.dir == Dir::None);
        for ((n, arg), param) in (1u32..).zip(args).zip(params) {
            let Some(value) = known(arg) else { continue };
            let mut one = Message::default();
            one.int(2, "param_id", notes::id(&param.notes).unwrap_or(n));
            one.add(3, "value", Value::Bytes(padded(&value, self.types.width(&param.ty))));
            out.message(4, "arguments", one);
        }
        out
    }

    fn actions(&mut self) {
        for (name, f) in std::mem::take(&mut self.found.actions) {
            let function = &self.program.functions[f];
            if is_hidden(&function.notes) {
                continue;
            }
            let mut out = Message::default();
            out.message(1, "preamble", self.preamble(Kind::Action, &name, &function.notes, &[]));
            let given = self.found.in_tables.contains(&name);
            let params: Vec<_> = function.params.iter().filter(|p| given && p.dir == Dir::None).collect();
            let ids = places(&params.iter().map(|p| notes::id(&p.notes)).collect::<Vec<_>>());
            for (param, id) in params.into_iter().zip(ids) {
                let mut one = Message::default();
                one.int(1, "id", id);
                one.text(2, "name", notes::find(&param.notes, "name").and_then(notes::string).unwrap_or(&param.name));
                notes::write(&mut one, &param.notes, PARAM, &[]);
                self.typed(&mut one, &param.ty, 6);
                out.message(2, "params", one);
            }
            self.info.message(3, "actions", out);
        }
    }

    /// Width and name of a type, the name as the field of that number.
    fn typed(&mut self, out: &mut Message, ty: &Type, number: u32) {
        out.int(4, "bitwidth", self.types.width(ty));
        self.types.spec(ty);
        if let Some(named) = self.types.name(ty) {
            out.message(number, "type_name", named);
        }
    }
}

/// A constant's value.
fn known(e: &Expr) -> Option<BigInt> {
    match &e.kind {
        ExprKind::Int(n) => Some(n.clone()),
        ExprKind::Bool(b) => Some(BigInt::from(u8::from(*b))),
        ExprKind::Cast(of) => known(of),
        _ => None,
    }
}
