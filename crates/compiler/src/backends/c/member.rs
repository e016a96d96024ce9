//! One element's push handler as C functions of a burst, a packet's slot, the packet and the calling port; they give the output port, or a negative number if the
//! packet goes no further.
//!
//! There are two. The quick one is for packets that have just arrived, a budget that cannot run out, and tables that lie in memory: where it would need the runtime it stores what it has and
//! goes on in the general one, before the operation in question, and does not come back; so nothing that the runtime may do stands between its operations, and the
//! compiler of C knows where the packet is. The general one does everything.

use super::Unsupported;
use super::calls::{call_of, halves, limbs, store, touches};
use super::copies;
use super::kept::Kept;
use super::likely::Likely;
use super::live;
use super::own::Own;
use super::scalar::{Form, Scalar, ctype};
use super::sends::OrDrop;
use super::spared::Spared;
use super::updates::{folded, is_near, less};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Call, Func, Helper, Op, Site, Type, Value};
use netil::exec::{DropReason, TrapKind};
use netil::table::Space;
use netil::{Module, Verified};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

/// The functions `mN`, general, and `fN`, quick, with the calls of the former.
pub(super) struct Functions {
    pub slow: String,
    pub fast: String,
    pub calls: Vec<Call>,
    /// The budget with which the quick one may run.
    pub need: u32,
    /// Why packets are dropped that the quick one gives the number behind its last port.
    pub refused: Option<DropReason>,
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
    /// Its quick form is a function of its own.
    pub apart: bool,
    /// Its first port and how many there are, if what follows is looked up by their numbers: then a drop can be a number, too, that behind the last.
    pub by_exit: Option<(u32, u32)>,
    /// The port by which packets mostly go, if that is known.
    pub usual: Option<u32>,
    /// Copies are made here, and the quick form is this member's alone.
    pub copies: (bool, bool),
    /// See [`super::linked::Sizes`].
    pub echoes: bool,
    pub ports: bool,
}

pub(super) fn emit(place: &Place<'_>, program: &Verified, func: &Func, module: &Module) -> Result<Functions, Unsupported> {
    let Place { n, tables, kept, apart, by_exit, usual, copies, echoes, ports } = *place;
    let (live, mut spared) = (live::before_helpers(func), Spared::of(func));
    spared.echoes.retain(|_| echoes);
    let form = |mode| Element {
        n,
        tables,
        kept,
        apart,
        module,
        shared: module.shared_size(),
        mode,
        live: &live,
        spared: &spared,
        loops: func.blocks.iter().flat_map(|b| &b.ops).any(|v| matches!(func.op(*v), Some(Op::Budget(..)))),
        calls: RefCell::default(),
        resumed: RefCell::default(),
        paid: Cell::new(0),
        by_exit,
        usual,
        refused: Cell::new(None),
        own: None,
        copies: copies.0 && (mode == Mode::General || copies.1),
        ports,
    };
    let (quick, general) = (form(Mode::Quick), form(Mode::General));
    let [near, again, first] = numbers(program, n);
    let fast = function(&quick, func, &format!("f{n}"), &near, "")?;
    general.resumed.replace(quick.resumed.take());
    let slow = function(&general, func, &format!("m{n}"), &(start(func, module) + &first), &again)?;
    let need = quick.paid.get().saturating_mul(DEAREST);
    Ok(Functions { slow, fast, calls: general.calls.into_inner(), need, refused: quick.refused.get() })
}

/// The packet's number, where there are random ones: in the quick form, in the general one where it goes on for that, and where it begins. It is counted once for a packet.
fn numbers(program: &Verified, n: u32) -> [String; 3] {
    if !program.uses().random {
        return Default::default();
    }
    let number = format!("g->units[{n}].number");
    [format!("    ++*k->units[{n}].number;\n"), format!("    number = *{number} - 1;\n"), format!("    number = (*{number})++;\n")]
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
    let Place { n, tables, kept, ports, .. } = *place;
    let (shared, live, spared) = (module.shared_size(), HashMap::new(), Spared::default());
    let mode = Mode::Ahead(large);
    let (calls, resumed, paid, refused) = (RefCell::default(), RefCell::default(), Cell::new(0), Cell::new(None));
    let (live, spared, apart, by_exit, usual, loops) = (&live, &spared, false, None, None, true);
    let (own, copies) = (Own::of(func, module.data_size), false);
    let form = Element {
        n,
        tables,
        kept,
        apart,
        module,
        shared,
        mode,
        live,
        spared,
        loops,
        calls,
        resumed,
        paid,
        by_exit,
        usual,
        refused,
        own,
        copies,
        ports,
    };
    function(&form, func, &format!("p{n}"), "", "")
}

/// `start` is what is done at the beginning, `again` what instead when a form goes on for another.
fn function(form: &Element<'_>, func: &Func, name: &str, start: &str, again: &str) -> Result<String, Unsupported> {
    let mut scalar = Scalar { func, form, body: String::new(), likely: (form.mode == Mode::Quick).then(|| Likely::of(func, form.usual)) };
    let cfg = Cfg::new(func);
    for block in &cfg.order {
        scalar.block(*block)?;
    }
    let more = match form.mode {
        Mode::General => ", uint32_t resume, const uint64_t *live",
        Mode::Quick => ", uint32_t self",
        Mode::Ahead(_) => "",
    };
    let mut text = head(form, name, more) + "\n";
    text += &memories(form, func);
    text += &scalar.variables(&cfg);
    let budget = if form.mode == Mode::Quick { "paid" } else { "budget" };
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
    let budget = if form.mode == Mode::Quick { "paid = 0" } else { "budget = g->budget" };
    let data = form.own.as_ref().map_or_else(|| format!("uint8_t *const data = {unit}.data"), |own| own.text(&unit));
    let mut text = format!("    uint32_t {budget};\n    {data}, *const shared = {unit}.shared;\n");
    let _ = writeln!(text, "    const uint8_t *const initialised = {unit}.initialised;\n    uint64_t number = 0;");
    if form.mode == Mode::Quick {
        form.clocks(func).iter().for_each(|clock| _ = writeln!(text, "    uint64_t {clock} = 0;"));
    }
    text
}

/// General forms are functions of their own, quick ones if there is too much of them for the compiler of C, slices never.
fn head(form: &Element<'_>, name: &str, more: &str) -> String {
    let near = " const struct nv_near *k,";
    let (kind, near) = match form.mode {
        Mode::General => ("NV_GENERAL", ""),
        Mode::Quick if form.apart => ("NV_APART", near),
        Mode::Quick | Mode::Ahead(_) => ("NV_INLINE", near),
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
pub(super) enum Mode {
    /// Whatever there is to do.
    General,
    /// What is done mostly; then the general one goes on.
    Quick,
    /// A slice, for tables of so many bytes: it ends where the element would, and writes nothing that lasts.
    Ahead(usize),
}

/// Where an element's memories are.
pub(super) struct Element<'a> {
    n: u32,
    /// Its first table among all elements'.
    pub(super) tables: u32,
    /// What slices leave for its lookups.
    pub(super) kept: &'a Kept,
    apart: bool,
    pub(super) module: &'a Module,
    shared: u32,
    pub(super) mode: Mode,
    /// What each operation that may call the runtime, and all behind it, makes use of.
    live: &'a HashMap<Value, Vec<Value>>,
    /// What the quick form need not do.
    pub(super) spared: &'a Spared,
    /// It counts branches back, so that the budget may run out.
    loops: bool,
    calls: RefCell<Vec<Call>>,
    /// Before which operations the general form goes on for the quick one.
    resumed: RefCell<BTreeSet<Value>>,
    /// How often the function pays.
    paid: Cell<u32>,
    /// The ports behind whose last number a drop can be one, and why packets are dropped by it.
    by_exit: Option<(u32, u32)>,
    /// The port by which packets mostly go, if that is known.
    usual: Option<u32>,
    refused: Cell<Option<DropReason>>,
    /// A slice's copy of data memory.
    own: Option<Own>,
    /// Copies are made here.
    copies: bool,
    ports: bool,
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

    /// A packet of the quick form and what a slice takes for one lie in the pool's memory.
    fn reads_on(&self) -> bool {
        self.mode != Mode::General
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

    fn moved(&self, space: Space, at: u64) -> Option<String> {
        let own = self.own.as_ref().filter(|_| space == Space::Data)?;
        own.moved(at).map(|at| format!("own + {at}"))
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

    fn by_number(&self) -> bool {
        self.ports
    }

    fn send_by(&self, value: &str, first: u32) -> String {
        // What comes behind is then one way, and the port a number like any other.
        if self.is_slice() {
            format!("return (int64_t){value} + {first};")
        } else {
            format!("{{ r->by = {value} + {first}u; return NV_BY; }}")
        }
    }

    fn send_or_drop(&self, value: &str, condition: &str, of: &OrDrop) -> Option<String> {
        let other = self.refused.get().is_some_and(|reason| reason != of.reason);
        if self.mode != Mode::Quick || self.by_exit != Some((of.first, of.count)) || other {
            return None;
        }
        self.refused.set(Some(of.reason));
        let OrDrop { condition: (_, when), first, count, .. } = of;
        let all_if_dropped = if *when { format!("-(uint32_t){condition}") } else { format!("((uint32_t){condition} - 1)") };
        // Not a choice, which the compiler of C could make a branch.
        let port = format!("({value} ^ (({value} ^ {count}u) & {all_if_dropped}))");
        Some(format!("if (NV_MOSTLY({value} < {count}u)) {{ r->by = {port} + {first}u; return NV_BY; }}"))
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

    fn wire_len(&self) -> String {
        format!("({} + nv_missing(&{1}->slots[i], &{1}->details[i]))", self.len(), self.pointers())
    }

    fn time_ns(&self) -> String {
        format!("{}->slots[i].time_ns", self.pointers())
    }

    fn budget(&self, n: u32) -> [String; 2] {
        // Most packets come to no loop; what is left of the budget is not looked at before.
        match self.mode {
            Mode::Quick => [format!("NV_RARELY(g->budget - paid < {n})"), format!("paid += {n}")],
            _ => [format!("budget < {n}"), format!("budget -= {n}")],
        }
    }

    fn other(&self, scalar: &Scalar<'_>, v: Value, op: &Op) -> Result<String, Unsupported> {
        let exception = |k: &u32| format!("{}->units[{}].exceptions[{k}]", self.pointers(), self.n);
        Ok(match op {
            Op::Present(site) => format!("if (NV_RARELY(!r->present)) {}", self.trap(TrapKind::NoPacket, *site)),
            Op::ExceptionLoad(k) => format!("{v:?} = {};", exception(k)),
            Op::ExceptionStore(k, a) => format!("{} = {};", exception(k), scalar.val(*a)),
            Op::Store(..) if self.mode == Mode::Quick && self.spared.echoes.contains(&v) => String::new(),
            Op::Store(space, order, addr, offset, value, _) => store(scalar, *order, &scalar.at(*space, *addr, *offset), *value),
            Op::Random(site) => {
                let place = u64::from(*site) << 2 | scalar.func.kind as u64;
                let unit = format!("{}->units[{}]", self.pointers(), self.n);
                // Quick forms rarely come here, and so do not keep it.
                let number = if self.mode == Mode::Quick { format!("*{unit}.number - 1") } else { "number".to_owned() };
                format!("{v:?} = nv_random({unit}.seed, {number}, {place}u);")
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

impl Element<'_> {
    /// Work that is no plain operation: in place where that is a few instructions, else by the runtime.
    fn helper(&self, scalar: &Scalar<'_>, v: Value, helper: Helper, args: &[Value], site: Site) -> String {
        let arg = |k: usize| scalar.val(args[k]);
        let checked = || {
            let inside = self.inside(&arg(0), &arg(1), site);
            format!("{inside}\n    {}", self.paid(&arg(1), &self.trap(TrapKind::Budget, site)))
        };
        let by_runtime = || match self.mode {
            Mode::Quick => self.go_on(scalar, v),
            _ => self.call(scalar, v, call_of(scalar.func, v, helper, args), args, site, Some(helper)),
        };
        match helper {
            Helper::Inside => self.inside(&arg(0), &arg(1), site),
            Helper::Checksum if self.spared.sums.contains(&v) => {
                format!("{}\n    {v:?} = !nv_sum_right(nv_p(r) + {}, {});", checked(), arg(0), arg(1))
            }
            Helper::Checksum => format!("{}\n    {v:?} = 0xffff ^ nv_sum(nv_p(r) + {}, {});", checked(), arg(0), arg(1)),
            Helper::ChecksumValid => format!("{}\n    {v:?} = nv_sum_right(nv_p(r) + {}, {});", checked(), arg(0), arg(1)),
            Helper::ChecksumAdd | Helper::ChecksumSub => self.update(scalar, v, helper, args),
            Helper::Hash if !args.is_empty() => {
                let words: Vec<String> = args.iter().map(|a| scalar.val(*a)).collect();
                format!("{v:?} = nv_murmur((const uint32_t[]){{ {} }}, {});", words.join(", "), args.len())
            }
            Helper::SendCopy(port) if self.copies => self.copy(port, site, &by_runtime),
            Helper::Moved => format!("{v:?} = r->moved;"),
            Helper::IsPresent => format!("{v:?} = r->present;"),
            Helper::SetTime if self.mode == Mode::Quick => {
                let (time, put) = (arg(0), self.set_time(scalar, &arg(0)));
                format!("if (NV_RARELY({time} > NV_LATEST)) {{\n    {}\n    }}\n    {put}", self.go_on(scalar, v))
            }
            Helper::SetTime => self.set_time(scalar, &arg(0)),
            Helper::SetWire => format!("nv_set_wire(&{0}->slots[i], &{0}->details[i], {1}, {2});", self.pointers(), self.len(), arg(0)),
            Helper::PullHead | Helper::TrimTail | Helper::PushHead | Helper::Unpull => self.moves(v, helper, &arg(0), site, &by_runtime),
            helper => self.in_table(scalar, v, (helper, args), site, &by_runtime).unwrap_or_else(by_runtime),
        }
    }

    /// Tables have not been told that time.
    fn set_time(&self, scalar: &Scalar<'_>, time: &str) -> String {
        let clocks = if self.mode == Mode::Quick { self.clocks(scalar.func) } else { Vec::new() };
        let reset: String = clocks.iter().map(|clock| format!(" {clock} = 0;")).collect();
        format!("g->slots[i].time_ns = {time};{reset}")
    }

    /// A copy is sent by a port.
    fn copy(&self, port: u32, site: Site, by_runtime: &dyn Fn() -> String) -> String {
        let paid = self.paid("((uint64_t)r->len + NV_INFO)", &self.trap(TrapKind::Budget, site));
        let sent = format!("{paid}\n    {}(g, nv_copy(g, i, r, info));", copies::function(self.n, port));
        format!("if (NV_RARELY(g->plain || !r->present)) {{\n    {}\n    }} else {{\n    {sent}\n    }}", by_runtime())
    }

    /// A range that must lie in the packet.
    fn inside(&self, start: &str, length: &str, site: Site) -> String {
        format!("if (NV_RARELY((uint64_t){start} + {length} > r->len)) {}", self.trap(TrapKind::OutOfBounds(Space::Packet), site))
    }

    /// The packet gets so many bytes more or less at one end.
    fn moves(&self, v: Value, helper: Helper, n: &str, site: Site, by_runtime: &dyn Fn() -> String) -> String {
        let here = || {
            let [none, outside] = [TrapKind::NoPacket, TrapKind::OutOfBounds(Space::Packet)].map(|kind| self.trap(kind, site));
            format!("if (NV_RARELY(!r->present)) {none}\n    if (NV_RARELY({n} > r->len)) {outside}\n    ")
        };
        match helper {
            Helper::PullHead => format!("{}nv_pull(r, {n});", here()),
            Helper::TrimTail => format!("{}r->len -= {n};", here()),
            Helper::PushHead if self.is_slice() => format!("if ({n} > nv_head(r)) return -1;\n    nv_moved(r, -{n});"),
            Helper::PushHead => {
                let grown = format!("(uint64_t){n} + r->len");
                let room = format!("r->present && {grown} <= 65535 && {n} <= nv_head(r)");
                let push = if self.mode == Mode::Quick && self.spared.zeros.contains(&v) { "nv_put_before" } else { "nv_push" };
                let paid = self.paid(&grown, &self.trap(TrapKind::Budget, site));
                format!("if ({room}) {{\n    {paid}\n    {push}(r, {n});\n    }} else {{\n    {}\n    }}", by_runtime())
            }
            _ => {
                let room = format!("r->present && {n} <= r->front && (uint64_t){n} + r->len <= 65535");
                format!("if ({room})\n    nv_unpull(r, {n});\n    else {{\n    {}\n    }}", by_runtime())
            }
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
        if let Some((first, less)) = less(scalar.func, v).filter(|(_, less)| *less > 0) {
            let sum = format!("const uint32_t sum{} = {} + {};\n    ", v.0, complement(&scalar.val(first)), less);
            return format!("{sum}{v:?} = nv_less({} & 0xffff, {});", scalar.val(first), folded(less));
        }
        let sum = match scalar.func.op(args[0]) {
            Some(Op::Helper(Helper::ChecksumAdd | Helper::ChecksumSub, ..)) if is_near(scalar.func, args[0]) => format!("sum{}", args[0].0),
            _ => complement(&before),
        };
        format!("const uint32_t sum{0} = {sum} + {term};\n    {v:?} = 0xffff ^ nv_fold(sum{0});", v.0)
    }

    pub(super) fn is_slice(&self) -> bool {
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
                match self.loops {
                    false => format!("nv_pay_surely(&paid, {bytes});"),
                    true => format!("if (NV_RARELY(!nv_pay_of(&paid, g->budget, {bytes}))) {trap}"),
                }
            }
            _ => format!("if (NV_RARELY(!nv_pay(&budget, {bytes}))) {trap}"),
        }
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
        let left = if self.mode == Mode::Quick { "g->budget - paid" } else { "budget" };
        format!(
            "{{ const uint64_t live[] = {{ {live} }}; return nv_go_on(g, i, r, info, {left}, {}, port, {}, live); }}",
            self.own(),
            v.0 + 1
        )
    }

    /// Whose pointers to memories and tables are used.
    pub(super) fn pointers(&self) -> &'static str {
        if self.mode == Mode::General { "g" } else { "k" }
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
