//! Work on tables in place: lookups, and members of entries, up to where the runtime must be asked; and what slices fetch ahead for them.

use super::calls::store;
use super::member::{Element, Mode};
use super::scalar::{Form, Scalar, ctype};
use super::slice;
use crate::mir::{Func, Helper, Op, Order, Site, Value};
use netil::exec::TrapKind;
use netil::layout;
use netil::module::{Table, TableKind};
use std::collections::BTreeSet;

impl Element<'_> {
    /// A lookup or work on an entry; none for what only the runtime can do.
    pub(super) fn in_table(
        &self,
        scalar: &Scalar<'_>,
        v: Value,
        (helper, args): (Helper, &[Value]),
        site: Site,
        by_runtime: &dyn Fn() -> String,
    ) -> Option<String> {
        let trap = || self.trap(TrapKind::NoEntry, site);
        match helper {
            Helper::Find(table) | Helper::Peek(table) | Helper::Insert(table) if self.is_slice() => {
                Some(self.fetch(scalar, v, table, args[0]))
            }
            Helper::Find(table) | Helper::Peek(table) | Helper::Insert(table) => self.find(scalar, v, (helper, table), args[0], by_runtime),
            Helper::EntryLoad(table, at) => {
                let get = format!("{v:?} = {};", load(scalar, v));
                self.entry(table, (&scalar.val(args[0]), at), &get, &trap(), by_runtime)
            }
            Helper::EntryStore(table, at) => {
                let put = store(scalar, Order::Little, "e", args[0]);
                self.entry(table, (&scalar.val(args[1]), at), &put, &trap(), by_runtime)
            }
            _ => None,
        }
    }

    /// A lookup in place, up to where the runtime must be asked; none for a table that only the runtime can look into. The quick form is run where tables
    /// are there.
    fn find(
        &self,
        scalar: &Scalar<'_>,
        v: Value,
        (helper, table): (Helper, u32),
        key: Value,
        runtime: &dyn Fn() -> String,
    ) -> Option<String> {
        let (t, key, quick) = (self.table(table), scalar.val(key), self.mode == Mode::Quick);
        if let Some((name, shape)) = prefixes(self.module.tables.get(table as usize)?) {
            let look = format!("{v:?} = nv_{name}({t}, {shape}, {key});");
            return Some(if quick { look } else { format!("if ({t}->head) {look}\n    else {}", runtime()) });
        }
        if let Some(shapes) = layout::Shapes::of(self.module.tables.get(table as usize)?) {
            let look = format!("{v:?} = nv_ternary({t}, {}, {key}, &ask);", shapes.limbs);
            let there = if quick { String::new() } else { format!("if ({t}->head) ") };
            return Some(format!("{{ int ask = 1; {there}{look}\n    if (NV_RARELY(ask)) {{\n    {}\n    }}}}", runtime()));
        }
        self.find_exact(v, (helper, table), &key, runtime)
    }

    fn find_exact(&self, v: Value, (helper, table): (Helper, u32), key: &str, runtime: &dyn Fn() -> String) -> Option<String> {
        let (t, quick) = (self.table(table), self.mode == Mode::Quick);
        let declaration = self.exact(table)?;
        let shape = shape(declaration);
        let hash = match self.kept.of.get(&v).filter(|_| quick) {
            Some(place) => format!("nv_hash_kept({t}, {shape}, {key}, r->kept ? r->kept + {place} : 0)"),
            None => format!("nv_hash({t}, {key})"),
        };
        let (tick, clock) = self.clock(table, declaration);
        let look = match helper {
            Helper::Insert(_) => format!("nv_insert({t}, {shape}, {key}, {hash}, {clock}, &ask)"),
            _ => format!("nv_find({t}, {shape}, {key}, {hash}, {clock}, {}, &ask)", u8::from(matches!(helper, Helper::Find(_)))),
        };
        let there = if quick { String::new() } else { format!("if ({t}->head) ") };
        Some(format!("{{ int ask = 1; {there}{{ {tick}{v:?} = {look}; }}\n    if (NV_RARELY(ask)) {{\n    {}\n    }}}}", runtime()))
    }

    /// What tells a table the time, if it wants to know, and its time then. In quick forms that is kept, and done once for a packet.
    fn clock(&self, table: u32, declaration: &Table) -> (String, String) {
        let (t, time) = (self.table(table), self.time_ns());
        match (declaration.timeout_ns > 0, self.mode) {
            (true, Mode::Quick) => (format!("if (!clock{table}) clock{table} = nv_tick_on({t}, {time}); "), format!("clock{table}")),
            (true, _) => (String::new(), format!("nv_tick({t}, {time})")),
            (false, _) => (String::new(), clock_of(&t)),
        }
    }

    /// What the times of tables are called that a quick form keeps; 0 before it knows.
    pub(super) fn clocks(&self, func: &Func) -> Vec<String> {
        let ops = func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| func.op(*v));
        let tables = ops.filter_map(|op| match op {
            Op::Helper(Helper::Find(table) | Helper::Peek(table) | Helper::Insert(table), ..) => Some(*table),
            _ => None,
        });
        let kept: BTreeSet<u32> = tables.filter(|table| self.exact(*table).is_some_and(|table| table.timeout_ns > 0)).collect();
        kept.iter().map(|table| format!("clock{table}")).collect()
    }

    /// In a slice: fetches what a lookup will read, or looks into a small table.
    fn fetch(&self, scalar: &Scalar<'_>, v: Value, table: u32, key: Value) -> String {
        let (declaration, key, t) = (&self.module.tables[table as usize], scalar.val(key), self.table(table));
        if let Some((name, shape)) = prefixes(declaration) {
            return format!("nv_fetch_{name}({t}, {shape}, {key});");
        }
        if matches!(self.mode, Mode::Ahead(large) if slice::is_large(declaration, large)) {
            let place = self.kept.of.get(&v).map_or(0, |place| *place);
            return format!("nv_fetch({t}, {}, {key}, r->kept + {place});", shape(declaration));
        }
        format!(
            "{{ int ask = 1; {v:?} = nv_find({t}, {}, {key}, nv_hash({t}, {key}), {}, 0, &ask); if (ask) return -1; }}",
            shape(declaration),
            clock_of(&t)
        )
    }

    /// Work on an entry that is there, with its place in `e`; the runtime does it where the table is not. None for a table that only the runtime can look into.
    fn entry(&self, table: u32, (entry, at): (&str, u32), work: &str, trap: &str, runtime: &dyn Fn() -> String) -> Option<String> {
        let declaration = self.module.tables.get(table as usize)?;
        let (stride, value_at) = is_direct(declaration).then(|| layout::place(declaration))?;
        let t = self.table(table);
        let place = format!("uint8_t *e = {t}->slots + (uint64_t)({entry} - 1) * {stride} + {};", value_at + at as usize);
        let test = format!("if (NV_RARELY(!{entry})) {trap}\n    ");
        Some(match self.mode {
            Mode::Quick => format!("{test}{{ {place}\n    {work} }}"),
            _ => format!("{test}if ({t}->head) {{ {place}\n    {work} }} else {{\n    {}\n    }}", runtime()),
        })
    }

    fn table(&self, table: u32) -> String {
        format!("(&{}->tables[{}])", self.pointers(), self.tables + table)
    }

    /// The declaration of an exact table whose layout C knows.
    fn exact(&self, table: u32) -> Option<&Table> {
        self.module.tables.get(table as usize).filter(|table| is_exact(table))
    }
}

/// A table's time.
fn clock_of(table: &str) -> String {
    format!("{table}->head[NV_CLOCK]")
}

fn is_exact(table: &Table) -> bool {
    table.kind == TableKind::Exact && table.key_bits <= 128
}

/// Whether C knows how a table lies, and looks into it where it does.
pub(super) fn is_direct(table: &Table) -> bool {
    is_exact(table) || prefixes(table).is_some() || layout::Shapes::of(table).is_some()
}

/// What functions for a prefix table are called, and their constants: bits of a key and of the first level.
fn prefixes(table: &Table) -> Option<(&'static str, String)> {
    let short = layout::Trie::of(table).map(|trie| ("prefix", trie.root_bits));
    let (name, root_bits) = short.or_else(|| layout::Paths::of(table).map(|paths| ("prefix_long", paths.root_bits)))?;
    Some((name, format!("{}, {root_bits}", table.key_bits)))
}

/// How a table lies, for C.
fn shape(declaration: &Table) -> String {
    let x = layout::Exact::of(declaration);
    let lasting = usize::from(!declaration.entries.is_empty());
    let numbers = [x.state_bytes, x.key_bytes, x.stride, lasting].map(|n| n.to_string()).join(", ");
    format!("(struct nv_exact){{ {numbers}, {}u }}", declaration.timeout_ns)
}

/// The value at `e`.
fn load(scalar: &Scalar<'_>, v: Value) -> String {
    let (width, bytes) = (scalar.func.width(v), scalar.func.width(v) / 8);
    match bytes {
        ..=8 => format!("({})nv_le(e, {bytes})", ctype(width)),
        _ => format!("(unsigned __int128)nv_le(e + 8, {}) << 64 | nv_le(e, 8)", bytes - 8),
    }
}
