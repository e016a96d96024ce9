//! Work on tables in place: lookups, and members of entries, up to where the runtime must be asked;
//! and what prefetch slices fetch for them.

use super::calls::store;
use super::member::Element;
use super::scalar::{Frame, Scalar, ctype};
use crate::cluster::member::Form;
use crate::cluster::ops;
use crate::cluster::prefetch::is_large;
use crate::cluster::tables::{Access, access};
use crate::mir::{Func, Helper, Op, Order, Site, Value};
use netil::exec::TrapKind;
use netil::layout;
use netil::module::Table;
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

    /// A lookup in place, up to where the runtime must be asked; none for a table that only the
    /// runtime can look into. The fast path is run where tables are there.
    fn find(
        &self,
        scalar: &Scalar<'_>,
        v: Value,
        (helper, table): (Helper, u32),
        key: Value,
        runtime: &dyn Fn() -> String,
    ) -> Option<String> {
        let (t, key, fast) = (self.table(table), scalar.val(key), self.form == Form::Fast);
        let declaration = self.declaration(table)?;
        let access = access(declaration)?;
        if let Some((name, shape)) = prefixes(declaration, access) {
            let look = format!("{v:?} = nv_{name}({t}, {shape}, {key});");
            return Some(if fast { look } else { format!("if ({t}->head) {look}\n    else {}", runtime()) });
        }
        let look = match access {
            Access::Ternary(limbs) => format!("{v:?} = nv_ternary({t}, {limbs}, {key}, &ask);"),
            _ => self.find_exact(v, (helper, table), declaration, &key),
        };
        let there = if fast { String::new() } else { format!("if ({t}->head) ") };
        Some(format!("{{ int ask = 1; {there}{look}\n    if (NV_RARELY(ask)) {{\n    {}\n    }}}}", runtime()))
    }

    fn find_exact(&self, v: Value, (helper, table): (Helper, u32), declaration: &Table, key: &str) -> String {
        let (t, shape) = (self.table(table), shape(declaration));
        let hash = match self.plan.keys.of.get(&v).filter(|_| self.form == Form::Fast) {
            Some(place) => format!("nv_hash_kept({t}, {shape}, {key}, r->kept ? r->kept + {place} : 0)"),
            None => format!("nv_hash({t}, {key})"),
        };
        let (tick, clock) = self.clock(table, declaration);
        let look = match helper {
            Helper::Insert(_) => format!("nv_insert({t}, {shape}, {key}, {hash}, {clock}, &ask)"),
            _ => format!("nv_find({t}, {shape}, {key}, {hash}, {clock}, {}, &ask)", u8::from(matches!(helper, Helper::Find(_)))),
        };
        format!("{{ {tick}{v:?} = {look}; }}")
    }

    /// What tells a table the time, if it wants to know, and its time then. On the fast path that
    /// is kept, and done once for a packet.
    fn clock(&self, table: u32, declaration: &Table) -> (String, String) {
        let (t, time) = (self.table(table), self.time_ns());
        match (declaration.timeout_ns > 0, self.form) {
            (true, Form::Fast) => (format!("if (!clock{table}) clock{table} = nv_tick_on({t}, {time}); "), format!("clock{table}")),
            (true, _) => (String::new(), format!("nv_tick({t}, {time})")),
            (false, _) => (String::new(), clock_of(&t)),
        }
    }

    /// What the times of tables are called that the fast path keeps; 0 before it knows.
    pub(super) fn clocks(&self, func: &Func) -> Vec<String> {
        let tables = ops(func).filter_map(|op| if let Op::Helper(helper, ..) = op { helper.looks_up() } else { None });
        let expires = |table: &Table| access(table) == Some(Access::Exact) && table.timeout_ns > 0;
        let kept: BTreeSet<u32> = tables.filter(|table| self.declaration(*table).is_some_and(expires)).collect();
        kept.iter().map(|table| format!("clock{table}")).collect()
    }

    /// In a slice: fetches what a lookup will read, or looks into a small table.
    fn fetch(&self, scalar: &Scalar<'_>, v: Value, table: u32, key: Value) -> String {
        let (declaration, key, t) = (&self.module.tables[table as usize], scalar.val(key), self.table(table));
        if let Some((name, shape)) = access(declaration).and_then(|access| prefixes(declaration, access)) {
            return format!("nv_fetch_{name}({t}, {shape}, {key});");
        }
        if is_large(declaration, self.prefetch_above) {
            let place = self.plan.keys.of.get(&v).map_or(0, |place| *place);
            return format!("nv_fetch({t}, {}, {key}, r->kept + {place});", shape(declaration));
        }
        format!(
            "{{ int ask = 1; {v:?} = nv_find({t}, {}, {key}, nv_hash({t}, {key}), {}, 0, &ask); if (ask) return -1; }}",
            shape(declaration),
            clock_of(&t)
        )
    }

    /// Work on an entry that is there, with its place in `e`; the runtime does it where the table
    /// is not. None for a table that only the runtime can look into.
    fn entry(&self, table: u32, (entry, at): (&str, u32), work: &str, trap: &str, runtime: &dyn Fn() -> String) -> Option<String> {
        let declaration = self.declaration(table)?;
        let (stride, value_at) = access(declaration).map(|_| layout::place(declaration))?;
        let t = self.table(table);
        let place = format!("uint8_t *e = {t}->slots + (uint64_t)({entry} - 1) * {stride} + {};", value_at + at as usize);
        let test = format!("if (NV_RARELY(!{entry})) {trap}\n    ");
        Some(match self.form {
            Form::Fast => format!("{test}{{ {place}\n    {work} }}"),
            _ => format!("{test}if ({t}->head) {{ {place}\n    {work} }} else {{\n    {}\n    }}", runtime()),
        })
    }

    fn table(&self, table: u32) -> String {
        format!("(&{}->tables[{}])", self.pointers(), self.plan.place.tables + table)
    }

    fn declaration(&self, table: u32) -> Option<&Table> {
        self.module.tables.get(table as usize)
    }
}

/// A table's time.
fn clock_of(table: &str) -> String {
    format!("{table}->head[NV_CLOCK]")
}

/// What functions for a prefix table are called, and their constants: bits of a key and of the
/// first level.
fn prefixes(table: &Table, access: Access) -> Option<(&'static str, String)> {
    let (name, root_bits) = match access {
        Access::Prefix(root_bits) => ("prefix", root_bits),
        Access::LongPrefix(root_bits) => ("prefix_long", root_bits),
        Access::Exact | Access::Ternary(_) => return None,
    };
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
