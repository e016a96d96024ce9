//! One member's push handler as C functions of a burst, a packet's slot, the packet and the calling
//! port; they give the output port, or a negative number if the packet goes no further.
//!
//! There is one for each [`Form`]. The fast path is for packets that have just arrived, a budget
//! that cannot run out, and tables that lie in memory: where it would need the runtime it stores
//! what is live and exits to the slow path, which is re-entered before the operation in question;
//! so nothing that the runtime may do stands between its operations, and the compiler of C knows
//! where the packet is. The slow path does everything. What is decided about both is in the
//! member's plan.

use super::Unsupported;
use super::calls::{halves, limbs, store, touches};
use super::copies;
use super::scalar::{Frame, Scalar, ctype};
use crate::analysis::probability::BranchProbability;
use crate::cluster::checksums::{folded, is_near, less};
use crate::cluster::member::{Calls, Form, MemberPlan};
use crate::cluster::ports::OrDrop;
use crate::cluster::shadow::Shadow;
use crate::cluster::{Options, ops};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Call, Func, Helper, Op, Site, Type, Value};
use netil::Module;
use netil::exec::{DropReason, TrapKind};
use netil::table::Space;
use std::fmt::Write as _;

/// The functions `mN`, the slow path, and `fN`, the fast path.
pub(super) fn emit(n: u32, plan: &MemberPlan, func: &Func, module: &Module) -> Result<[String; 2], Unsupported> {
    let form = |form, calls, copies| Element {
        n,
        plan,
        module,
        shared: module.shared_size(),
        form,
        calls,
        shadow: None,
        copies,
        prefetch_above: 0,
    };
    let fast = form(Form::Fast, &plan.calls, plan.place.copies.fast);
    let slow = form(Form::Slow, &plan.calls, plan.place.copies.slow);
    let fast_text = function(&fast, func, &format!("f{n}"), "")?;
    Ok([function(&slow, func, &format!("m{n}"), &start(func, module))?, fast_text])
}

/// The function `pN`, of a prefetch slice ([`crate::cluster::prefetch`]).
pub(super) fn emit_slice(n: u32, plan: &MemberPlan, slice: &Func, module: &Module, options: Options) -> Result<String, Unsupported> {
    let (shared, shadow) = (module.shared_size(), Shadow::of(slice, module.data_size));
    let prefetch_above = options.prefetch_above;
    let calls = &plan.slice_calls;
    let form = Element { n, plan, module, shared, form: Form::Prefetch, calls, shadow, copies: false, prefetch_above };
    function(&form, slice, &format!("p{n}"), "")
}

/// What the slow path does at the beginning.
fn start(func: &Func, module: &Module) -> String {
    let mut text = String::new();
    if ops(func).any(|op| matches!(op, Op::Helper(Helper::SendCopy(_), ..))) {
        text += "    g->copies = 0;\n";
    }
    if !module.coprocessors.is_empty() {
        text += "    g->shown = 0;\n";
    }
    text
}

/// `start` is what is done at the beginning, but not at a re-entry.
fn function(form: &Element<'_>, func: &Func, name: &str, start: &str) -> Result<String, Unsupported> {
    let probability = (form.form == Form::Fast).then(|| BranchProbability::of(func, form.plan.hot_port));
    let mut scalar = Scalar { func, frame: form, body: String::new(), probability };
    let cfg = Cfg::new(func);
    for (block, exit) in form.blocks(&cfg) {
        scalar.block_to(block, exit)?;
    }
    let more = match form.form {
        Form::Slow => ", uint32_t resume, const uint64_t *live",
        Form::Fast => ", uint32_t self",
        Form::Prefetch => "",
    };
    let mut text = head(form, name, more) + "\n";
    text += &memories(form, func);
    text += &scalar.variables(&cfg);
    let budget = if form.form == Form::Fast { "paid" } else { "budget" };
    let _ = writeln!(text, "    (void)g, (void)i, (void)info, (void){budget}, (void)port, (void)data, (void)shared, (void)initialised;");
    if form.form == Form::Slow {
        text += &re_entries(&scalar, form);
    }
    for param in &func.block(Block(0)).params {
        let _ = writeln!(text, "    {param:?} = port;");
    }
    Ok(text + start + &scalar.body + "}\n")
}

/// What is at hand in a function besides the packet: the budget, and memories.
fn memories(form: &Element<'_>, func: &Func) -> String {
    let unit = format!("{}->units[{}]", form.pointers(), form.n);
    let budget = if form.form == Form::Fast { "paid = 0" } else { "budget = g->budget" };
    let data = form.shadow.as_ref().map_or_else(|| format!("uint8_t *const data = {unit}.data"), |shadow| copied(shadow, &unit));
    let mut text = format!("    uint32_t {budget};\n    {data}, *const shared = {unit}.shared;\n");
    let _ = writeln!(text, "    const uint8_t *const initialised = {unit}.initialised;");
    if form.form == Form::Fast {
        form.clocks(func).iter().for_each(|clock| _ = writeln!(text, "    uint64_t {clock} = 0;"));
    }
    text
}

/// Declares a shadow memory and `data`.
fn copied(shadow: &Shadow, unit: &str) -> String {
    let mut text = format!("uint8_t own[{}];\n", shadow.bytes);
    for (at, bytes, to) in &shadow.pieces {
        let _ = writeln!(text, "    memcpy(own + {to}, {unit}.data + {at}, {bytes});");
    }
    text + "    uint8_t *const data = " + &if shadow.is_whole { "own".to_owned() } else { format!("{unit}.data") }
}

/// The slow path is a function of its own, the fast path if there is too much of it for the
/// compiler of C, a slice never.
fn head(form: &Element<'_>, name: &str, more: &str) -> String {
    let near = " const struct nv_near *k,";
    let (kind, near) = match form.form {
        Form::Slow => ("NV_GENERAL", ""),
        Form::Fast if form.plan.place.outlined => ("NV_APART", near),
        Form::Fast | Form::Prefetch => ("NV_INLINE", near),
    };
    format!("\n{kind} int64_t {name}(struct nv_graph *g,{near} uint64_t i, struct nv_run *r, uint8_t *info, uint32_t port{more})\n{{")
}

/// Where the slow path is re-entered: what the fast path left of the budget, and the live values.
fn re_entries(scalar: &Scalar<'_>, form: &Element<'_>) -> String {
    let mut text = String::from("    switch (resume) {\n");
    for v in &form.plan.side_exits {
        let _ = write!(text, "    case {}: budget = g->left;", v.0 + 1);
        for (k, value) in form.stored(scalar, *v).iter().enumerate() {
            let width = scalar.func.width(*value);
            let high = if width > 64 { format!(" | (unsigned __int128)live[{}] << 64", 2 * k + 1) } else { String::new() };
            let _ = write!(text, " {value:?} = ({})live[{}]{high};", ctype(width), 2 * k);
        }
        let _ = writeln!(text, " goto resume{};", v.0);
    }
    text + "    default: break;\n    }\n"
}

/// A member in one form.
pub(super) struct Element<'a> {
    n: u32,
    pub(super) plan: &'a MemberPlan,
    pub(super) module: &'a Module,
    shared: u32,
    pub(super) form: Form,
    /// The form's calls of the runtime.
    calls: &'a Calls,
    /// A slice's copy of data memory.
    shadow: Option<Shadow>,
    /// Copies are made without the runtime.
    copies: bool,
    /// See [`Options`].
    pub(super) prefetch_above: usize,
}

impl Frame for Element<'_> {
    fn len(&self) -> &'static str {
        "r->len"
    }

    fn moves(&self) -> bool {
        true
    }

    fn trusts(&self) -> bool {
        !self.is_slice()
    }

    /// A packet on the fast path and what a slice takes for one lie in the pool's memory.
    fn reads_on(&self) -> bool {
        self.form != Form::Slow
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
        let shadow = self.shadow.as_ref().filter(|_| space == Space::Data)?;
        shadow.moved(at).map(|at| format!("own + {at}"))
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
        format!("return nv_end(r, NV_TRAP, {}, {}u, {site}u);", self.number(), kind.code())
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

    fn send_or_drop(&self, value: &str, condition: &str, of: &OrDrop) -> Option<String> {
        let plan = self.plan;
        if self.form != Form::Fast || plan.by_exit != Some((of.first, of.count)) || plan.dropped != Some(of.reason) {
            return None;
        }
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
        format!("return nv_end(r, {what}, {}, {value}u, 0);", self.number())
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
        match self.form {
            Form::Fast => [format!("NV_RARELY(g->budget - paid < {n})"), format!("paid += {n}")],
            _ => [format!("budget < {n}"), format!("budget -= {n}")],
        }
    }

    fn other(&self, scalar: &Scalar<'_>, v: Value, op: &Op) -> Result<String, Unsupported> {
        let exception = |k: &u32| format!("{}->units[{}].exceptions[{k}]", self.pointers(), self.n);
        Ok(match op {
            Op::Present(site) => format!("if (NV_RARELY(!r->present)) {}", self.trap(TrapKind::NoPacket, *site)),
            Op::ExceptionLoad(k) => format!("{v:?} = {};", exception(k)),
            Op::ExceptionStore(k, a) => format!("{} = {};", exception(k), scalar.val(*a)),
            Op::Store(..) if self.form == Form::Fast && self.plan.dead.silent_stores.contains(&v) => String::new(),
            Op::Store(space, order, addr, offset, value, _) => store(scalar, *order, &scalar.at(*space, *addr, *offset), *value),
            Op::Random(site) => {
                let place = u64::from(*site) << 2 | scalar.func.kind as u64;
                format!("{v:?} = nv_random({}->units[{}].seed, g->numbers[i], {place}u);", self.pointers(), self.n)
            }
            Op::Helper(helper, args, site) => {
                let text = self.helper(scalar, v, *helper, args, *site);
                match self.form {
                    Form::Slow if self.plan.side_exits.contains(&v) => {
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
    /// Blocks that this form comes to, each with the operation that it ends with, if that is not
    /// the block's end.
    fn blocks(&self, cfg: &Cfg) -> Vec<(Block, Option<Value>)> {
        let fast = |block: &Block| self.plan.fast.get(&block.0).map(|exit| (*block, *exit));
        match self.form {
            Form::Fast => cfg.order.iter().filter_map(fast).collect(),
            Form::Slow | Form::Prefetch => cfg.order.iter().map(|block| (*block, None)).collect(),
        }
    }

    /// Work that is no plain operation: in place where that is a few instructions, else by the
    /// runtime.
    fn helper(&self, scalar: &Scalar<'_>, v: Value, helper: Helper, args: &[Value], site: Site) -> String {
        let arg = |k: usize| scalar.val(args[k]);
        let checked = || {
            let inside = self.inside(&arg(0), &arg(1), site);
            format!("{inside}\n    {}", self.paid(&arg(1), &self.trap(TrapKind::Budget, site)))
        };
        let by_runtime = || match self.form {
            Form::Fast => self.side_exit(scalar, v),
            _ => self.call(scalar, v, args, site, helper),
        };
        match helper {
            Helper::Inside => self.inside(&arg(0), &arg(1), site),
            Helper::Checksum if !self.is_slice() && self.plan.dead.sums.contains(&v) => {
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
            Helper::SetTime if self.form == Form::Fast => {
                let (time, put) = (arg(0), self.set_time(scalar, &arg(0)));
                format!("if (NV_RARELY({time} > NV_LATEST)) {{\n    {}\n    }}\n    {put}", self.side_exit(scalar, v))
            }
            Helper::SetTime => self.set_time(scalar, &arg(0)),
            Helper::SetWire => format!("nv_set_wire(&{0}->slots[i], &{0}->details[i], {1}, {2});", self.pointers(), self.len(), arg(0)),
            Helper::PullHead | Helper::TrimTail | Helper::PushHead | Helper::Unpull => self.moves(v, helper, &arg(0), site, &by_runtime),
            helper => self.in_table(scalar, v, (helper, args), site, &by_runtime).unwrap_or_else(by_runtime),
        }
    }

    /// Tables have not been told that time.
    fn set_time(&self, scalar: &Scalar<'_>, time: &str) -> String {
        let clocks = if self.form == Form::Fast { self.clocks(scalar.func) } else { Vec::new() };
        let reset: String = clocks.iter().map(|clock| format!(" {clock} = 0;")).collect();
        format!("g->slots[i].time_ns = {time};{reset}")
    }

    /// A copy is sent by a port.
    fn copy(&self, port: u32, site: Site, by_runtime: &dyn Fn() -> String) -> String {
        let paid = self.paid("((uint64_t)r->len + NV_INFO)", &self.trap(TrapKind::Budget, site));
        let sent = format!("{paid}\n    {}(g, {}(g, i, r, info));", copies::function(self.n, port), copies::maker(self.n, port));
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
                let push = if self.form == Form::Fast && self.plan.dead.zeros.contains(&v) { "nv_put_before" } else { "nv_push" };
                let paid = self.paid(&grown, &self.trap(TrapKind::Budget, site));
                format!("if ({room}) {{\n    {paid}\n    {push}(r, {n});\n    }} else {{\n    {}\n    }}", by_runtime())
            }
            _ => {
                let room = format!("r->present && {n} <= r->front && (uint64_t){n} + r->len <= 65535");
                format!("if ({room})\n    nv_unpull(r, {n});\n    else {{\n    {}\n    }}", by_runtime())
            }
        }
    }

    /// A checksum brought up to date (RFC 1624). Of several steps that follow each other only the
    /// last is folded, but where the slow path may be re-entered between them.
    fn update(&self, scalar: &Scalar<'_>, v: Value, helper: Helper, args: &[Value]) -> String {
        let complement = |value: &str| format!("(0xffff ^ ({value} & 0xffff))");
        let [before, term] = [scalar.val(args[0]), scalar.val(args[1])];
        let term = if helper == Helper::ChecksumSub { complement(&term) } else { format!("({term} & 0xffff)") };
        if self.form != Form::Fast {
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
        self.form == Form::Prefetch
    }

    /// The member's number: several may share a fast path.
    fn number(&self) -> String {
        if self.form == Form::Fast { "self".to_owned() } else { self.n.to_string() }
    }

    /// Takes the price of a run of bytes.
    fn paid(&self, bytes: &str, trap: &str) -> String {
        match self.form {
            Form::Prefetch => String::new(),
            Form::Fast if self.plan.loops => format!("if (NV_RARELY(!nv_pay_of(&paid, g->budget, {bytes}))) {trap}"),
            Form::Fast => format!("nv_pay_surely(&paid, {bytes});"),
            _ => format!("if (NV_RARELY(!nv_pay(&budget, {bytes}))) {trap}"),
        }
    }

    /// Values that are stored at a side exit.
    fn stored(&self, scalar: &Scalar<'_>, v: Value) -> Vec<Value> {
        self.plan.live.get(&v).into_iter().flatten().copied().filter(|value| scalar.inline(*value).is_none()).collect()
    }

    /// A side exit: the slow path is re-entered before this operation.
    fn side_exit(&self, scalar: &Scalar<'_>, v: Value) -> String {
        debug_assert!(self.plan.side_exits.contains(&v), "{v:?} is no side exit");
        let limbs: Vec<String> = self.stored(scalar, v).iter().flat_map(|value| halves(scalar, *value)).collect();
        let live = if limbs.is_empty() { "0".to_owned() } else { limbs.join(", ") };
        let left = if self.form == Form::Fast { "g->budget - paid" } else { "budget" };
        format!(
            "{{ const uint64_t live[] = {{ {live} }}; return nv_go_on(g, i, r, info, {left}, {}, port, {}, live); }}",
            self.number(),
            v.0 + 1
        )
    }

    /// Whose pointers to memories and tables are used.
    pub(super) fn pointers(&self) -> &'static str {
        if self.form == Form::Slow { "g" } else { "k" }
    }

    /// A call of the runtime: operands limb by limb, a wide result where they were.
    fn call(&self, scalar: &Scalar<'_>, v: Value, args: &[Value], site: Site, helper: Helper) -> String {
        let Some((index, call)) = self.calls.of_op(v) else { unreachable!("{v:?} is no call in the plan") };
        let limbs: Vec<String> = args.iter().flat_map(|a| limbs(scalar, *a, matches!(call, Call::Wide(..)))).collect();
        let width = scalar.func.width(v);
        let room = limbs.len().max(netil::wide::limbs(width)).max(1);
        let mut text = format!("{{ uint64_t a[{room}] = {{ {} }};", if limbs.is_empty() { "0".to_owned() } else { limbs.join(", ") });
        let _ =
            write!(text, " uint64_t result = nv_call(g, i, r, info, &budget, {}, {}, {index}, a); (void)result;", touches(call), self.n);
        if helper.row().traps {
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
