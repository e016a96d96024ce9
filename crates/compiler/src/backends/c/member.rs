//! One element's push handler as C functions of a burst, a packet's slot, the packet and the calling port; they give the output port, or a negative number if the
//! packet goes no further.
//!
//! There are two. The quick one is for packets that have just arrived, a budget that cannot run out, and tables that lie in memory: where it would need the runtime it stores what it has and
//! goes on in the general one, before the operation in question, and does not come back; so nothing that the runtime may do stands between its operations, and the
//! compiler of C knows where the packet is. The general one does everything.

use super::Unsupported;
use super::calls::{call_of, limbs, touches};
use super::kept::Kept;
use super::scalar::{Form, Scalar, ctype};
use super::spared::Spared;
use super::{live, slice};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Call, Func, Helper, Op, Order, Site, Type, Value};
use netil::exec::{DropReason, TrapKind};
use netil::layout;
use netil::module::{Table, TableKind};
use netil::table::Space;
use netil::{Module, Verified};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

/// The functions `mN`, general, and `fN`, quick, with the calls of the former.
pub(super) struct Functions {
    pub text: String,
    pub calls: Vec<Call>,
    /// The budget with which the quick one may run.
    pub need: u32,
}

/// The most that the quick form may spend on one run of bytes: more than a packet has.
const DEAREST: u32 = 258;

/// Where a member is among all.
pub(super) struct Place<'a> {
    /// Its number.
    pub n: u32,
    /// That of its first table.
    pub tables: u32,
    /// What slices leave for its lookups.
    pub kept: &'a Kept,
}

pub(super) fn emit(place: &Place<'_>, program: &Verified, func: &Func, module: &Module) -> Result<Functions, Unsupported> {
    let Place { n, tables, kept } = *place;
    let (live, spared) = (live::before_helpers(func), Spared::of(func));
    let form = |mode| Element {
        n,
        tables,
        kept,
        module,
        shared: module.shared_size(),
        mode,
        live: &live,
        spared: &spared,
        loops: func.blocks.iter().flat_map(|b| &b.ops).any(|v| matches!(func.op(*v), Some(Op::Budget(_)))),
        calls: RefCell::default(),
        resumed: RefCell::default(),
        paid: Cell::new(0),
    };
    let (quick, general) = (form(Mode::Quick), form(Mode::General));
    // A number is counted once for a packet; where the general form goes on for the quick one, that has been done.
    let random = program.uses().random;
    let counts = if random { format!("    number = (*g->units[{n}].number)++;\n") } else { String::new() };
    let again = if random { format!("    number = *g->units[{n}].number - 1;\n") } else { String::new() };
    let quick_text = function(&quick, func, &format!("f{n}"), &counts, "")?;
    general.resumed.replace(quick.resumed.take());
    let text = function(&general, func, &format!("m{n}"), &(start(func, module) + &counts), &again)? + &quick_text;
    let need = quick.paid.get().saturating_mul(DEAREST);
    Ok(Functions { text, calls: general.calls.into_inner(), need })
}

/// What the general form does at the beginning.
fn start(func: &Func, module: &Module) -> String {
    let mut text = String::new();
    if func.blocks.iter().flat_map(|b| &b.ops).any(|v| matches!(func.op(*v), Some(Op::Helper(Helper::SendCopy(_), ..)))) {
        text += "    g->copies = 0;\n";
    }
    if !module.coprocessors.is_empty() {
        text += "    g->shown = 0;\n";
    }
    text
}

/// The function `pN`, of a slice ([`super::slice`]).
pub(super) fn emit_slice(place: &Place<'_>, func: &Func, module: &Module, large: usize) -> Result<String, Unsupported> {
    let Place { n, tables, kept } = *place;
    let (shared, live, spared) = (module.shared_size(), HashMap::new(), Spared::default());
    let mode = Mode::Ahead(large);
    let (calls, resumed, paid) = (RefCell::default(), RefCell::default(), Cell::new(0));
    let form = Element { n, tables, kept, module, shared, mode, live: &live, spared: &spared, loops: true, calls, resumed, paid };
    function(&form, func, &format!("p{n}"), "", "")
}

/// `start` is what is done at the beginning, `again` what instead when a form goes on for another.
fn function(form: &Element<'_>, func: &Func, name: &str, start: &str, again: &str) -> Result<String, Unsupported> {
    let mut scalar = Scalar { func, form, body: String::new() };
    let cfg = Cfg::new(func);
    for block in &cfg.order {
        scalar.block(*block)?;
    }
    let more = match form.mode {
        Mode::General => ", uint32_t resume, const uint64_t *live",
        Mode::Quick => ", uint32_t self",
        Mode::Ahead(_) => "",
    };
    let mut text = head(name, more) + "\n";
    text += &memories(form, func);
    text += &scalar.variables(&cfg);
    let budget = if form.only_notes() { "paid" } else { "budget" };
    let _ = writeln!(
        text,
        "    (void)g, (void)i, (void)info, (void){budget}, (void)port, (void)data, (void)shared, (void)initialised, (void)number;"
    );
    if form.mode == Mode::General {
        text += again;
        text += &resumes(&scalar, form);
    }
    for param in &func.block(Block(0)).params {
        let _ = writeln!(text, "    {param:?} = port;");
    }
    Ok(text + start + &scalar.body + "}\n")
}

/// What is at hand in a function besides the packet: the budget, and memories.
fn memories(form: &Element<'_>, func: &Func) -> String {
    let unit = format!("{}->units[{}]", form.pointers(), form.n);
    let budget = if form.only_notes() { "paid = 0" } else { "budget = g->budget" };
    // What the compiler of C knows of the budget it need not test.
    let known = match form.mode {
        Mode::Quick if !form.only_notes() => format!("    NV_ASSUME(budget >= {}u);\n", form.paid.get().saturating_mul(DEAREST)),
        _ => String::new(),
    };
    let data = if form.is_slice() && slice::stores_data(func) {
        slice::own_data(func, form.module.data_size, &unit)
    } else {
        format!("uint8_t *const data = {unit}.data")
    };
    let mut text = format!("    uint32_t {budget};\n    {data}, *const shared = {unit}.shared;\n");
    let _ = writeln!(text, "    const uint8_t *const initialised = {unit}.initialised;\n    uint64_t number = 0;");
    text + &known
}

/// General forms are functions of their own, quick ones if there is too much of them for the compiler of C, slices never.
fn head(name: &str, more: &str) -> String {
    let (kind, near) = match name.as_bytes().first() {
        Some(b'm') => ("NV_GENERAL", ""),
        Some(b'f') => ("NV_QUICK", " const struct nv_near *k,"),
        _ => ("NV_INLINE", " const struct nv_near *k,"),
    };
    format!("\n{kind} int64_t {name}(struct nv_graph *g,{near} uint64_t i, struct nv_run *r, uint8_t *info, uint32_t port{more})\n{{")
}

/// Where the general form goes on for the quick one: what that left of the budget, and the values that are still needed.
fn resumes(scalar: &Scalar<'_>, form: &Element<'_>) -> String {
    let mut text = String::from("    switch (resume) {\n");
    for v in form.resumed.borrow().iter() {
        let _ = write!(text, "    case {}: budget = g->left;", v.0 + 1);
        for (k, value) in form.kept(scalar, *v).iter().enumerate() {
            let width = scalar.func.width(*value);
            let high = if width > 64 { format!(" | (unsigned __int128)live[{}] << 64", 2 * k + 1) } else { String::new() };
            let _ = write!(text, " {value:?} = ({})live[{}]{high};", ctype(width), 2 * k);
        }
        let _ = writeln!(text, " goto resume{};", v.0);
    }
    text + "    default: break;\n    }\n"
}

/// What a function is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Whatever there is to do.
    General,
    /// What is done mostly; then the general one goes on.
    Quick,
    /// A slice, for tables of so many bytes: it ends where the element would, and writes nothing that lasts.
    Ahead(usize),
}

/// Where an element's memories are.
struct Element<'a> {
    n: u32,
    /// Its first table among all elements'.
    tables: u32,
    /// What slices leave for its lookups.
    kept: &'a Kept,
    module: &'a Module,
    shared: u32,
    mode: Mode,
    /// What each operation that may call the runtime, and all behind it, makes use of.
    live: &'a HashMap<Value, Vec<Value>>,
    /// What the quick form need not do.
    spared: &'a Spared,
    /// It counts branches back, so that the budget may run out.
    loops: bool,
    calls: RefCell<Vec<Call>>,
    /// Before which operations the general form goes on for the quick one.
    resumed: RefCell<BTreeSet<Value>>,
    /// How often the function pays.
    paid: Cell<u32>,
}

impl Form for Element<'_> {
    fn len(&self) -> &'static str {
        "r->len"
    }

    fn moves(&self) -> bool {
        true
    }

    fn is_there(&self) -> bool {
        self.mode == Mode::Quick
    }

    fn trusts(&self) -> bool {
        !self.is_slice()
    }

    fn base(&self, space: Space) -> &'static str {
        match space {
            Space::Packet => "nv_p(r)",
            Space::Info => "info",
            Space::Data => "data",
            Space::Shared => "shared",
            Space::Initialised => "initialised",
        }
    }

    fn size(&self, space: Space) -> String {
        match space {
            Space::Packet => "r->len".to_owned(),
            Space::Info => format!("{}u", self.module.info_size),
            Space::Data => format!("{}u", self.module.data_size),
            Space::Shared => format!("{}u", self.shared),
            Space::Initialised => format!("{}u", self.module.data.len()),
        }
    }

    fn trap(&self, kind: TrapKind, site: Site) -> String {
        if self.is_slice() {
            return "return -1;".to_owned();
        }
        format!("return nv_end(r, NV_TRAP, {}, {}u, {site}u);", self.own(), kind.code())
    }

    fn send(&self, port: u32) -> String {
        format!("return {port};")
    }

    fn send_by(&self, value: &str, first: u32) -> String {
        // What comes behind is then one way, and the port a number like any other.
        if self.is_slice() {
            format!("return (int64_t){value} + {first};")
        } else {
            format!("{{ r->by = {value} + {first}u; return NV_BY; }}")
        }
    }

    fn drop(&self, reason: DropReason) -> String {
        if self.is_slice() {
            return "return -1;".to_owned();
        }
        let (what, value) = match reason {
            DropReason::Verdict => ("NV_VERDICT", 0),
            DropReason::Program(n) => ("NV_REASON", n),
            DropReason::NoInput => ("NV_NO_INPUT", 0),
        };
        format!("return nv_end(r, {what}, {}, {value}u, 0);", self.own())
    }

    fn set(&self, number: u32) -> String {
        format!("m{}_set{number}", self.n)
    }

    fn wire_len(&self) -> &'static str {
        "g->slots[i].wire_len"
    }

    fn time_ns(&self) -> &'static str {
        "g->slots[i].time_ns"
    }

    fn other(&self, scalar: &Scalar<'_>, v: Value, op: &Op) -> Result<String, Unsupported> {
        let exception = |k: &u32| format!("{}->units[{}].exceptions[{k}]", self.pointers(), self.n);
        Ok(match op {
            Op::Present(site) => format!("if (NV_RARELY(!r->present)) {}", self.trap(TrapKind::NoPacket, *site)),
            Op::ExceptionLoad(k) => format!("{v:?} = {};", exception(k)),
            Op::ExceptionStore(k, a) => format!("{} = {};", exception(k), scalar.val(*a)),
            Op::Store(space, order, addr, offset, value, _) => store(scalar, *order, &scalar.at(*space, *addr, *offset), *value),
            Op::Random(site) => {
                let place = u64::from(*site) << 2 | scalar.func.kind as u64;
                format!("{v:?} = nv_random({}->units[{}].seed, number, {place}u);", self.pointers(), self.n)
            }
            Op::Helper(helper, args, site) => {
                let text = self.helper(scalar, v, *helper, args, *site);
                match self.mode {
                    Mode::General if self.resumed.borrow().contains(&v) => {
                        format!("resume{}:\n    __attribute__((unused));\n    {text}", v.0)
                    }
                    _ => text,
                }
            }
            other => return Err(Unsupported(format!("'{other}'"))),
        })
    }
}

fn store(scalar: &Scalar<'_>, order: Order, at: &str, value: Value) -> String {
    let (bytes, v) = (scalar.func.width(value) / 8, scalar.val(value));
    let put = if order == Order::Big { "nv_put_be" } else { "nv_put_le" };
    if bytes <= 8 {
        return format!("{put}({at}, {bytes}, {v});");
    }
    let rest = bytes - 8;
    match order {
        Order::Big => format!("{put}({at}, 8, (uint64_t)({v} >> {})); {put}({at} + 8, {rest}, (uint64_t){v});", 8 * rest),
        Order::Little => format!("{put}({at}, 8, (uint64_t){v}); {put}({at} + 8, {rest}, (uint64_t)({v} >> 64));"),
    }
}

impl Element<'_> {
    /// Work that is no plain operation: in place where that is a few instructions, else by the runtime.
    fn helper(&self, scalar: &Scalar<'_>, v: Value, helper: Helper, args: &[Value], site: Site) -> String {
        let arg = |k: usize| scalar.val(args[k]);
        let trap = |kind| self.trap(kind, site);
        let outside = trap(TrapKind::OutOfBounds(Space::Packet));
        let inside = || format!("if (NV_RARELY((uint64_t){} + {} > r->len)) {outside}", arg(0), arg(1));
        let paid = |bytes: &str| self.paid(bytes, &trap(TrapKind::Budget));
        let here = || format!("if (NV_RARELY(!r->present)) {}", trap(TrapKind::NoPacket));
        let by_runtime = || match self.mode {
            Mode::Quick => self.go_on(scalar, v),
            _ => self.call(scalar, v, call_of(scalar.func, v, helper, args), args, site, Some(helper)),
        };
        match helper {
            Helper::Inside => inside(),
            Helper::Checksum => {
                format!("{}\n    {}\n    {v:?} = 0xffff ^ nv_sum(nv_p(r) + {}, {});", inside(), paid(&arg(1)), arg(0), arg(1))
            }
            Helper::ChecksumValid => {
                format!("{}\n    {}\n    {v:?} = nv_sum(nv_p(r) + {}, {}) == 0xffff;", inside(), paid(&arg(1)), arg(0), arg(1))
            }
            Helper::ChecksumAdd | Helper::ChecksumSub => self.update(scalar, v, helper, args),
            Helper::Hash if !args.is_empty() => {
                let words: Vec<String> = args.iter().map(|a| scalar.val(*a)).collect();
                format!("{v:?} = nv_murmur((const uint32_t[]){{ {} }}, {});", words.join(", "), args.len())
            }
            Helper::Moved => format!("{v:?} = r->moved;"),
            Helper::IsPresent => format!("{v:?} = r->present;"),
            Helper::SetTime => format!("g->slots[i].time_ns = {};", arg(0)),
            Helper::PullHead => format!("{}\n    if (NV_RARELY({} > r->len)) {outside}\n    nv_pull(r, {});", here(), arg(0), arg(0)),
            Helper::TrimTail => format!("{}\n    if (NV_RARELY({} > r->len)) {outside}\n    r->len -= {};", here(), arg(0), arg(0)),
            Helper::Find(table) | Helper::Peek(table) | Helper::Insert(table) if self.is_slice() => self.fetch(scalar, v, table, args[0]),
            Helper::PushHead if self.is_slice() => format!("if ({0} > nv_head(r)) return -1;\n    nv_moved(r, -{0});", arg(0)),
            Helper::PushHead => {
                let grown = format!("(uint64_t){} + r->len", arg(0));
                let room = format!("r->present && {grown} <= 65535 && {} <= nv_head(r)", arg(0));
                let push = if self.mode == Mode::Quick && self.spared.zeros.contains(&v) { "nv_put_before" } else { "nv_push" };
                format!("if ({room}) {{\n    {}\n    {push}(r, {});\n    }} else {{\n    {}\n    }}", paid(&grown), arg(0), by_runtime())
            }
            Helper::Unpull => {
                let room = format!("r->present && {0} <= r->front && (uint64_t){0} + r->len <= 65535", arg(0));
                format!("if ({room})\n    nv_unpull(r, {});\n    else {{\n    {}\n    }}", arg(0), by_runtime())
            }
            Helper::Find(table) | Helper::Peek(table) | Helper::Insert(table) => {
                self.find(scalar, v, (helper, table), args[0], &by_runtime).unwrap_or_else(by_runtime)
            }
            Helper::EntryLoad(table, at) => {
                let get = format!("{v:?} = {};", load(scalar, v));
                self.entry(table, (&arg(0), at), &get, &trap(TrapKind::NoEntry), &by_runtime).unwrap_or_else(by_runtime)
            }
            Helper::EntryStore(table, at) => {
                let put = store(scalar, Order::Little, "e", args[0]);
                self.entry(table, (&arg(1), at), &put, &trap(TrapKind::NoEntry), &by_runtime).unwrap_or_else(by_runtime)
            }
            _ => by_runtime(),
        }
    }

    /// A checksum brought up to date (RFC 1624). Of several steps that follow each other only the last is folded, but where a form may be entered between them.
    fn update(&self, scalar: &Scalar<'_>, v: Value, helper: Helper, args: &[Value]) -> String {
        let complement = |value: &str| format!("(0xffff ^ ({value} & 0xffff))");
        let [before, term] = [scalar.val(args[0]), scalar.val(args[1])];
        let term = if helper == Helper::ChecksumSub { complement(&term) } else { format!("({term} & 0xffff)") };
        if self.mode != Mode::Quick {
            return format!("{v:?} = 0xffff ^ nv_fold({} + {term});", complement(&before));
        }
        let sum = match scalar.func.op(args[0]) {
            Some(Op::Helper(Helper::ChecksumAdd | Helper::ChecksumSub, ..)) => format!("sum{}", args[0].0),
            _ => complement(&before),
        };
        format!("const uint32_t sum{0} = {sum} + {term};\n    {v:?} = 0xffff ^ nv_fold(sum{0});", v.0)
    }

    fn is_slice(&self) -> bool {
        matches!(self.mode, Mode::Ahead(_))
    }

    /// The member's number: several may share a quick form.
    fn own(&self) -> String {
        if self.mode == Mode::Quick { "self".to_owned() } else { self.n.to_string() }
    }

    /// Takes the price of a run of bytes.
    fn paid(&self, bytes: &str, trap: &str) -> String {
        match self.mode {
            Mode::Ahead(_) => String::new(),
            Mode::Quick => {
                self.paid.set(self.paid.get() + 1);
                match self.only_notes() {
                    true => format!("nv_pay_surely(&paid, {bytes});"),
                    false => format!("if (NV_RARELY(!nv_pay(&budget, {bytes}))) {trap}"),
                }
            }
            _ => format!("if (NV_RARELY(!nv_pay(&budget, {bytes}))) {trap}"),
        }
    }

    /// There is enough of the budget, so that only what has been paid is noted.
    fn only_notes(&self) -> bool {
        self.mode == Mode::Quick && !self.loops
    }

    /// Values that are kept when the general form goes on before an operation.
    fn kept(&self, scalar: &Scalar<'_>, v: Value) -> Vec<Value> {
        self.live.get(&v).into_iter().flatten().copied().filter(|value| scalar.inline(*value).is_none()).collect()
    }

    /// The general form goes on before this operation.
    fn go_on(&self, scalar: &Scalar<'_>, v: Value) -> String {
        self.resumed.borrow_mut().insert(v);
        let kept = self.kept(scalar, v);
        let limbs: Vec<String> = kept.iter().flat_map(|value| halves(scalar, *value)).collect();
        let live = if limbs.is_empty() { "0".to_owned() } else { limbs.join(", ") };
        let left = if self.only_notes() { "g->budget - paid" } else { "budget" };
        format!(
            "{{ const uint64_t live[] = {{ {live} }}; return nv_go_on(g, i, r, info, {left}, {}, port, {}, live); }}",
            self.own(),
            v.0 + 1
        )
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
        let declaration = self.exact(table)?;
        let shape = shape(declaration);
        let hash = match self.kept.of.get(&v).filter(|_| quick) {
            Some(place) => format!("nv_hash_kept({t}, {shape}, {key}, r->kept + {place})"),
            None => format!("nv_hash({t}, {key})"),
        };
        let look = match helper {
            Helper::Insert(_) => format!("nv_insert({t}, {shape}, {key}, {hash}, &ask)"),
            _ => format!("nv_find({t}, {shape}, {key}, {hash}, {}, &ask)", u8::from(matches!(helper, Helper::Find(_)))),
        };
        let tick = if declaration.timeout_ns > 0 && !(quick && self.spared.ticks.contains(&v)) {
            format!("nv_tick({t}, g->slots[i].time_ns); ")
        } else {
            String::new()
        };
        let there = if quick { String::new() } else { format!("if ({t}->head) ") };
        Some(format!("{{ int ask = 1; {there}{{ {tick}{v:?} = {look}; }}\n    if (NV_RARELY(ask)) {{\n    {}\n    }}}}", runtime()))
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
        format!("{{ int ask = 1; {v:?} = nv_find({t}, {}, {key}, nv_hash({t}, {key}), 0, &ask); if (ask) return -1; }}", shape(declaration))
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

    /// Whose pointers to memories and tables are used.
    fn pointers(&self) -> &'static str {
        if self.mode == Mode::General { "g" } else { "k" }
    }

    fn table(&self, table: u32) -> String {
        format!("(&{}->tables[{}])", self.pointers(), self.tables + table)
    }

    /// The declaration of an exact table whose layout C knows.
    fn exact(&self, table: u32) -> Option<&Table> {
        self.module.tables.get(table as usize).filter(|table| is_exact(table))
    }

    /// A call of the runtime: operands limb by limb, a wide result where they were.
    fn call(&self, scalar: &Scalar<'_>, v: Value, call: Call, args: &[Value], site: Site, helper: Option<Helper>) -> String {
        let index = self.calls.borrow().len();
        self.calls.borrow_mut().push(call);
        let limbs: Vec<String> = args.iter().flat_map(|a| limbs(scalar, *a, matches!(call, Call::Wide(..)))).collect();
        let width = scalar.func.width(v);
        let room = limbs.len().max(netil::wide::limbs(width)).max(1);
        let mut text = format!("{{ uint64_t a[{room}] = {{ {} }};", if limbs.is_empty() { "0".to_owned() } else { limbs.join(", ") });
        let _ =
            write!(text, " uint64_t result = nv_call(g, i, r, info, &budget, {}, {}, {index}, a); (void)result;", touches(call), self.n);
        let traps = helper.is_some_and(|h| Op::Helper(h, Box::new([]), 0).effects().traps);
        if traps {
            let _ = write!(text, " if (NV_RARELY(result >> 32)) return nv_end(r, NV_TRAP, {}, (uint32_t)(result >> 32), {site}u);", self.n);
        }
        if let Type::Int(_) = scalar.func.ty(v) {
            let wide = matches!(call, Call::Wide(..));
            let value = match (wide, width) {
                (true, 65..) => "(unsigned __int128)a[1] << 64 | a[0]",
                (true, _) => "a[0]",
                (false, _) => "(uint32_t)result",
            };
            let _ = write!(text, " {v:?} = ({}){value};", ctype(width));
        }
        text + " }"
    }
}

/// A value in two words.
fn halves(scalar: &Scalar<'_>, value: Value) -> [String; 2] {
    let high = if scalar.func.width(value) > 64 { format!("(uint64_t)({value:?} >> 64)") } else { "0".to_owned() };
    [format!("(uint64_t){value:?}"), high]
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
    let numbers = [x.state_bytes, x.key_bytes, x.stride, x.per_bucket].map(|n| n.to_string()).join(", ");
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
