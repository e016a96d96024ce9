//! Tables: keys joined to one number, a lookup, and the chosen action with its parameters.
//!
//! An entry's value is the action's number in 16 bits, its parameters, and counters. The default
//! action lies in data memory in the same form, so that it can be changed.

use super::{Binding, Lower, Lowered, fault};
use crate::ast::{BinOp, Dir};
use crate::entries::{KeyMatch, LOWEST_WINS};
use crate::hir::{COUNTERS, Expr, ExprKind, Key, METERS, Table, TableId, Type};
use crate::lower::place::{Leaf, StorageLocation};
use crate::marks::MarkKind;
use crate::pipeline::{ActionMeta, InitialEntry, KeyMeta, Match, ParamMeta, TableMeta};
use frontends::diagnostics::Span;
use netil::module::{TableKind, entry_type};
use netil::table::Op;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// Entries of a table that does not say how many it has.
const DEFAULT_SIZE: u32 = 1024;
/// Entries of the module for each of a table with ranges, or each member of a value set.
pub(super) const SPREAD: u32 = 32;

/// The object of a property that has one of those names.
pub(super) fn property<'a>(table: &'a Table, names: &[&str]) -> Option<&'a Expr> {
    table.objects.iter().find(|(name, _)| names.contains(&&**name)).map(|(_, object)| object)
}

/// The number in so many bits of a default action from that byte on.
fn known_bytes(default: &[u8], at: u32, width: u16) -> BigInt {
    let bytes: Vec<u8> = default.iter().copied().skip(at as usize).take(usize::from(width / 8)).collect();
    BigInt::from_bytes_le(num_bigint::Sign::Plus, &bytes)
}

fn key_width(leaf: Leaf) -> u16 {
    if leaf == Leaf::Bool { 1 } else { leaf.width() }
}

impl Lower<'_> {
    pub(super) fn table_results(&self, table: TableId) -> (u32, u32) {
        self.known.get(&(self.path.clone(), table)).map_or((0, 0), |k| (k.1, k.2))
    }

    /// The whole name of something in the instance where control is.
    pub(super) fn whole_name(&self, public: &(crate::lexer::Name, bool)) -> String {
        if public.1 {
            return public.0.to_string();
        }
        let mut name = String::new();
        for id in &self.path {
            let part = &self.program.instances[*id].public;
            if part.1 {
                name.clear();
            }
            name.push_str(&part.0);
            name.push('.');
        }
        name + &public.0
    }

    fn kind(&self, key: &Key) -> Lowered<Match> {
        Ok(match &*key.kind {
            "exact" => Match::Exact,
            "lpm" => Match::Lpm,
            "ternary" => Match::Ternary,
            "range" => Match::Range,
            "optional" => Match::Optional,
            "selector" => Match::Selector,
            other => return fault(key.value.span, format!("the match kind `{other}` is not supported")),
        })
    }

    fn keys(&self, table: &Table) -> Lowered<(Vec<KeyMeta>, u16)> {
        let mut keys = Vec::new();
        for key in &table.keys {
            let width = u32::from(key_width(self.scalar(&key.value.ty, key.value.span)?));
            let mask = crate::bmv2::mask_of(&key.notes);
            keys.push(KeyMeta { name: key.name.to_string(), width, kind: self.kind(key)?, shift: 0, mask });
        }
        if keys.iter().filter(|k| k.kind == Match::Lpm).count() > 1 {
            return fault(table.span, "a table has one key of kind lpm at most");
        }
        // The prefix comes last, so that whole keys are prefixes, too.
        let order = |k: &&mut KeyMeta| (k.kind != Match::Lpm, k.kind == Match::Selector);
        let mut places: Vec<&mut KeyMeta> = keys.iter_mut().filter(|k| !order(k).1).collect();
        places.sort_by_key(|k| order(k).0);
        let mut shift = 0;
        let (lpm, others): (Vec<_>, Vec<_>) = places.into_iter().partition(|k| k.kind == Match::Lpm);
        for key in lpm.into_iter().chain(others.into_iter().rev()) {
            key.shift = shift;
            shift += key.width;
        }
        let bits = shift.next_multiple_of(8);
        if bits > u32::from(netil::wide::MAX_WIDTH) {
            return fault(table.span, format!("the keys of a table have {} bits at most", netil::wide::MAX_WIDTH));
        }
        Ok((keys, bits as u16))
    }

    fn actions(&self, table: &Table) -> Lowered<(Vec<ActionMeta>, u32)> {
        let (mut actions, mut most) = (Vec::new(), 2);
        for action in &table.actions {
            let function = &self.program.functions[action.action];
            let (mut params, mut at) = (Vec::new(), 2);
            for param in function.params.iter().filter(|p| p.dir == Dir::None) {
                let width = u32::from(key_width(self.scalar(&param.ty, function.span)?));
                params.push(ParamMeta { name: param.name.to_string(), width, at });
                at += width.div_ceil(8);
            }
            most = most.max(at);
            let global = !self.is_local(action.action);
            let name = if global { function.public.0.to_string() } else { self.whole_name(&function.public) };
            actions.push(ActionMeta { name, params });
        }
        Ok((actions, most))
    }

    /// Whether an action is declared in the control; those at the top have no path.
    pub(super) fn is_local(&self, f: usize) -> bool {
        self.program.functions[f].in_block
    }

    /// The module's table of a declaration in the instance where control is.
    fn declared(&mut self, id: TableId) -> Lowered<usize> {
        if let Some(known) = self.known.get(&(self.path.clone(), id)) {
            return Ok(known.0);
        }
        let program = self.program;
        let table = &program.tables[id];
        let (keys, key_bits) = self.keys(table)?;
        let (actions, mut bytes) = self.actions(table)?;
        let profile = self.profile(table, &actions, bytes)?;
        bytes = if profile.is_some() { bytes.max(8) } else { bytes };
        let counter = property(table, COUNTERS);
        let counter_at = counter.map(|_| bytes);
        bytes += if counter.is_some() { 16 } else { 0 };
        let meter = property(table, METERS);
        let meter_at = meter.map(|_| bytes);
        bytes += if meter.is_some() { crate::pipeline::meter::BYTES } else { 0 };
        let last_hit = (table.support_timeout && key_bits > 0).then_some(bytes);
        bytes += if last_hit.is_some() { 8 } else { 0 };
        let meter_name = meter.and_then(|m| self.direct_meter(m)).unwrap_or_default();
        let ternary = keys.iter().any(|k| matches!(k.kind, Match::Ternary | Match::Range | Match::Optional));
        let counter_name = match counter.and_then(|c| self.object_path(c)) {
            Some(path) => self.whole_name(&program.instances[path[path.len() - 1]].public),
            None => String::new(),
        };
        let mut meta = TableMeta {
            name: self.whole_name(&table.public),
            table: (key_bits > 0).then_some(self.tables.len() as u32),
            keys,
            key_bits,
            actions,
            value_bytes: bytes,
            default_at: self.allot(bytes, table.span)?,
            default: Vec::new(),
            const_default: table.const_default,
            const_entries: table.const_entries,
            counter: counter_at,
            counter_name,
            meter: meter_at,
            meter_name,
            profile,
            ternary,
            last_hit,
            initial: Vec::new(),
        };
        if let Some((action, args)) = &table.default {
            let args = self.numbers(args)?;
            meta.default = meta.value(*action, &args).or_else(|why| fault(table.span, why.to_string()))?;
        }
        if key_bits > 0 {
            meta.initial = self.initial_entries(table)?;
            self.add_table(table, &meta)?;
        }
        self.metas.push(meta);
        let (hit, run) = (self.code.new_local(32), self.code.new_local(32));
        self.known.insert((self.path.clone(), id), (self.metas.len() - 1, hit, run));
        Ok(self.metas.len() - 1)
    }

    fn initial_entries(&self, table: &Table) -> Lowered<Vec<InitialEntry>> {
        let one = |(n, entry): (usize, &crate::hir::TableEntry)| {
            let keys = entry.keys.iter().map(|e| self.key_match(e)).collect::<Lowered<Vec<_>>>()?;
            Ok(InitialEntry { keys, priority: self.priority(table, n), action: entry.action, args: self.numbers(&entry.args)? })
        };
        table.entries.iter().enumerate().map(one).collect()
    }

    fn add_table(&mut self, table: &Table, meta: &TableMeta) -> Lowered<()> {
        let mut entries = Vec::new();
        for (entry, initial) in table.entries.iter().zip(&meta.initial) {
            entries.extend(meta.initial_entry(initial).or_else(|why| fault(entry.span, why.to_string()))?);
        }
        let kind = match () {
            () if meta.ternary => TableKind::Ternary,
            () if meta.exact() => TableKind::Exact,
            () => TableKind::Prefix,
        };
        if kind == TableKind::Exact {
            // Of equal keys the first one counts.
            let mut seen = std::collections::HashSet::new();
            entries.retain(|e| seen.insert(e.key.clone()));
        }
        let spread = if meta.keys.iter().any(|k| k.kind == Match::Range) { SPREAD } else { 1 };
        let capacity = table.size.unwrap_or(DEFAULT_SIZE).saturating_mul(spread).max(entries.len() as u32).clamp(1, 1 << 22);
        self.tables.push(netil::module::Table {
            name: format!("{}_{}", meta.name, self.tables.len()),
            kind,
            key_bits: meta.key_bits,
            value_bytes: meta.value_bytes,
            capacity,
            timeout_ns: 0,
            entries,
        });
        if self.tables.len() > netil::module::MAX_TABLES {
            return fault(table.span, format!("more than {} tables", netil::module::MAX_TABLES));
        }
        Ok(())
    }

    /// Higher for what wins: by the priorities that are given, else by the order. Where the control
    /// plane may add entries, priorities stay what they are.
    fn priority(&self, table: &Table, n: usize) -> u32 {
        let all = &table.entries;
        if let (false, Some(given)) = (table.const_entries, all[n].priority.as_ref().and_then(ToPrimitive::to_u32)) {
            return if table.smallest_wins { LOWEST_WINS.saturating_sub(given) } else { given };
        }
        let rank = |n: usize| match &all[n].priority {
            Some(p) if table.smallest_wins => -p,
            Some(p) => p.clone(),
            None if all.iter().any(|e| e.priority.is_some()) => BigInt::from(i64::MIN),
            None => BigInt::from(0),
        };
        let own = rank(n);
        let worse = (0..all.len()).filter(|m| rank(*m) < own || rank(*m) == own && *m > n).count();
        worse as u32 + 1
    }

    /// A number that is known when the program is compiled.
    pub(super) fn number(&self, e: &Expr) -> Lowered<BigInt> {
        match &e.kind {
            ExprKind::Int(n) => Ok(n.clone()),
            ExprKind::Bool(b) => Ok(BigInt::from(u8::from(*b))),
            ExprKind::Default => Ok(BigInt::ZERO),
            ExprKind::Cast(of) => self.number(of),
            ExprKind::Binary(op, a, b) if e.ty == Type::Integer => {
                let (a, b) = (self.number(a)?, self.number(b)?);
                if matches!(op, BinOp::Div | BinOp::Mod) && (b <= BigInt::ZERO || a < BigInt::ZERO) {
                    return fault(e.span, "division by zero, or of negative numbers");
                }
                Ok(crate::check::operators::folded(*op, &a, &b, &Type::Integer))
            }
            ExprKind::Var(var) => match self.bindings.get(var) {
                Some(Binding::Const(value)) => self.number(&value.clone()),
                _ => fault(e.span, "this is not known when the program is compiled"),
            },
            _ => fault(e.span, "this is not known when the program is compiled"),
        }
    }

    fn numbers(&self, all: &[Expr]) -> Lowered<Vec<BigInt>> {
        all.iter().map(|e| self.number(e)).collect()
    }

    fn key_match(&self, e: &Expr) -> Lowered<KeyMatch> {
        Ok(match &e.kind {
            ExprKind::Everything => KeyMatch::Any,
            ExprKind::Mask(value, mask) => KeyMatch::Mask(self.number(value)?, self.number(mask)?),
            ExprKind::Range(low, high) => KeyMatch::Range(self.number(low)?, self.number(high)?),
            _ => KeyMatch::Value(self.number(e)?),
        })
    }

    pub(super) fn apply_table(&mut self, id: TableId, span: Span) -> Lowered<()> {
        let program = self.program;
        let table = &program.tables[id];
        let at = self.declared(id)?;
        self.at(span);
        let (hit, run) = self.table_results(id);
        let meta = self.metas[at].clone();
        let params = self.parameters(table, span)?;
        let (miss, end) = (self.code.label(), self.code.label());
        let bodies: Vec<_> = table.actions.iter().map(|_| self.code.label()).collect();
        if let Some(number) = meta.table {
            let selectors = self.look_up(table, at, number)?;
            let entry = self.code.new_local(entry_type(number));
            self.code.set(entry);
            self.code.get(entry);
            self.code.op1(Op::TValid, number);
            self.code.branch(Op::JEq, miss);
            self.mark(MarkKind::Hit, meta.name.clone(), span, &[]);
            self.count_entry(&meta, number, entry);
            self.meter_entry(table, &meta, number, entry);
            self.note_hit(&meta, number, entry);
            let none = self.code.label();
            let (entry, number) = match meta.profile {
                Some(_) => self.member_entry(table, &meta, entry, &selectors, none)?,
                None => (entry, number),
            };
            let load = |l: &mut Self, at: u32, width: u16| {
                l.code.get(entry);
                l.code.op3(Op::TLoad, number, u32::from(width), at);
            };
            let numbers = match meta.profile {
                Some(profile) => self.member_numbers(profile, table),
                None => (0..bodies.len() as u32).collect(),
            };
            self.choose((&meta, &numbers, meta.profile.is_none().then_some(at)), &params, &bodies, (hit, run, 1), end, &load)?;
            if meta.profile.is_some() {
                self.code.bind(none);
                self.no_member(hit, run);
                self.code.jump(end);
            }
        }
        self.code.bind(miss);
        self.mark(MarkKind::Miss, meta.name.clone(), span, &[]);
        self.no_colour(table);
        let known = self.knows_default(at);
        let load = |l: &mut Self, at: u32, width: u16| match known {
            true => l.code.constant(&known_bytes(&meta.default, at, width), width),
            false => {
                l.code.push(meta.default_at + at);
                l.code.w(Op::WmLoad, width);
            }
        };
        let numbers: Vec<u32> = (0..bodies.len() as u32).collect();
        self.choose((&meta, &numbers, None), &params, &bodies, (hit, run, 0), end, &load)?;
        for (n, action) in table.actions.iter().enumerate() {
            self.code.bind(bodies[n]);
            self.run_action(action, &params[n], span)?;
            self.code.jump(end);
        }
        self.code.bind(end);
        Ok(())
    }

    /// Places for what the control plane gives.
    fn parameters(&mut self, table: &Table, span: Span) -> Lowered<Vec<Vec<StorageLocation>>> {
        let program = self.program;
        let mut all = Vec::new();
        for action in &table.actions {
            let plain = program.functions[action.action].params.iter().filter(|p| p.dir == Dir::None);
            all.push(plain.map(|p| self.new_place(&p.ty, span)).collect::<Lowered<_>>()?);
        }
        Ok(all)
    }

    /// Looks up; the values of the selector keys.
    fn look_up(&mut self, table: &Table, at: usize, number: u32) -> Lowered<Vec<StorageLocation>> {
        let (meta, mut all) = (self.metas[at].clone(), Vec::new());
        // Keys are evaluated in the order of the text, and joined from the highest.
        let (mut held, mut selectors) = (Vec::new(), Vec::new());
        for (key, info) in table.keys.iter().zip(&meta.keys) {
            let place = self.held(&key.value)?;
            all.push(place.clone());
            match info.kind {
                Match::Selector => selectors.push(place),
                _ => held.push((info.shift, place, key.value.span)),
            }
        }
        self.mark_table(at, &all, table.span)?;
        held.sort_by_key(|(shift, ..)| std::cmp::Reverse(*shift));
        let mut width = 0u16;
        for (_, place, span) in held {
            let leaf = self.scalar(&place.ty, span)?;
            self.load_leaf(&place, 0, leaf);
            let size = key_width(leaf);
            self.code.resize(leaf.width(), size);
            if width > 0 {
                self.code.op2(Op::WConcat, u32::from(width), u32::from(size));
            }
            width += size;
        }
        self.code.resize(width, meta.key_bits);
        self.code.op1(Op::TFind, number);
        Ok(selectors)
    }

    /// The name of a table's direct meter, whose colour gets a local.
    fn direct_meter(&mut self, object: &Expr) -> Option<String> {
        let path = self.object_path(object)?;
        let name = self.name_of(&path);
        let local = self.code.new_local(32);
        self.direct_meters.insert(path, local);
        Some(name)
    }

    fn colour_of(&self, table: &Table) -> Option<u32> {
        self.direct_meters.get(&self.object_path(property(table, METERS)?)?).copied()
    }

    fn no_colour(&mut self, table: &Table) {
        if let Some(colour) = self.colour_of(table) {
            self.code.push(super::meter::NONE);
            self.code.set(colour);
        }
    }

    /// Runs the meter of an entry that was found.
    fn meter_entry(&mut self, table: &Table, meta: &TableMeta, number: u32, entry: u32) {
        let (Some(at), Some(colour)) = (meta.meter, self.colour_of(table)) else { return };
        let object = property(table, METERS).and_then(|o| self.object_path(o));
        let args = object.map(|path| &self.program.instances[path[path.len() - 1]].args);
        let by_bytes = args.and_then(|a| a.first()).is_some_and(|a| self.known_number(a).ok() == Some(1));
        self.entry_colour(at, number, entry, colour, by_bytes);
    }

    /// Notes when an entry was found.
    fn note_hit(&mut self, meta: &TableMeta, number: u32, entry: u32) {
        let Some(at) = meta.last_hit else { return };
        self.push_time();
        self.code.resize(48, 64);
        self.code.get(entry);
        self.code.op3(Op::TStore, number, 64, at);
    }

    /// Counts in an entry that was found.
    fn count_entry(&mut self, meta: &TableMeta, number: u32, entry: u32) {
        let Some(at) = meta.counter else { return };
        for (at, bytes) in [(at, false), (at + 8, true)] {
            self.code.get(entry);
            self.code.op3(Op::TLoad, number, 64, at);
            match bytes {
                false => self.code.constant(&1.into(), 64),
                true => {
                    self.code.get(self.length);
                    self.code.resize(32, 64);
                }
            }
            self.code.w(Op::WAdd, 64);
            self.code.get(entry);
            self.code.op3(Op::TStore, number, 64, at);
        }
    }

    /// Goes to the action's body with its parameters; the numbers are those that the value has for
    /// the table's actions.
    fn choose(
        &mut self,
        (meta, numbers, entries_of): (&TableMeta, &[u32], Option<usize>),
        params: &[Vec<StorageLocation>],
        bodies: &[usize],
        (hit, run, value): (u32, u32, u32),
        end: usize,
        load: &dyn Fn(&mut Self, u32, u16),
    ) -> Lowered<()> {
        self.code.push(value);
        self.code.set(hit);
        load(self, 0, 16);
        self.code.resize(16, 32);
        if let Some(at) = entries_of {
            self.resolve_action(at, Span::default())?;
        }
        self.code.set(run);
        let stubs: Vec<_> = bodies.iter().map(|_| self.code.label()).collect();
        self.code.get(run);
        let cases = numbers.iter().zip(&stubs).map(|(n, l)| (*n, *l)).collect();
        self.code.switch(cases, end);
        for (n, stub) in stubs.into_iter().enumerate() {
            self.code.bind(stub);
            if numbers[n] != n as u32 {
                self.code.push(n as u32);
                self.code.set(run);
            }
            for (param, place) in meta.actions[n].params.iter().zip(&params[n]) {
                let leaf = self.scalar(&place.ty, Span::default())?;
                let bits = param.width.next_multiple_of(8) as u16;
                load(self, param.at, bits);
                self.code.resize(bits, leaf.width());
                self.store_leaf(place, 0, leaf);
            }
            self.code.jump(bodies[n]);
        }
        Ok(())
    }

    fn run_action(&mut self, action: &crate::hir::TableAction, params: &[StorageLocation], span: Span) -> Lowered<()> {
        let program = self.program;
        let function = &program.functions[action.action];
        let call = Expr { kind: ExprKind::Default, ty: Type::Void, span };
        let (mut out, mut bindings) = (Vec::new(), Vec::new());
        let mut given = params.iter();
        let mut directed = action.args.iter();
        for param in &function.params {
            if param.dir == Dir::None {
                if let Some(place) = given.next() {
                    bindings.push((param.var, Binding::Place(place.clone())));
                }
                continue;
            }
            let Some(Some(arg)) = directed.next() else { continue };
            let own = self.new_place(&param.ty, span)?;
            let bits = matches!(arg.kind, ExprKind::Slice(..) | ExprKind::Part(..));
            let target = match crate::check::writes(param.dir) {
                true if bits => Some(super::call::Target::Bits(arg.clone())),
                true => Some(super::call::Target::Place(self.place(arg)?)),
                false => None,
            };
            if param.dir == Dir::Out {
                self.clear(&own, span)?
            } else {
                self.eval_into(arg, &own)?
            }
            if let Some(target) = target {
                out.push((target, own.clone()));
            }
            bindings.push((param.var, Binding::Place(own)));
        }
        self.bindings.extend(bindings);
        self.inline_bound(action.action, crate::check::types::Bound::new(), &out, &call).map(drop)
    }
}
