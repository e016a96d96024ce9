//! The filter for one packet, as a function of labels and jumps, one label per block of MIR.

use super::Unsupported;
use crate::analysis::probability::BranchProbability;
use crate::cluster::ports::{self, OrDrop};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Edge, Extent, Func, Op, Order, Site, Terminator, Type, Value};
use netil::Module;
use netil::exec::{DropReason, TrapKind};
use netil::ops::{BinOp, CmpOp, UnOp, mask};
use netil::table::Space;
use std::fmt::Write as _;

/// The function `one`, and the burst function made of it.
pub(super) fn emit(func: &Func, module: &Module) -> Result<String, Unsupported> {
    let frame = Filter { data: module.data.len() };
    let mut scalar = Scalar { func, frame: &frame, body: String::new(), probability: None };
    let cfg = Cfg::new(func);
    for block in &cfg.order {
        scalar.block(*block)?;
    }
    let mut text = String::from("\n/* The filter for packet i. */\nstatic inline int one(const struct nv_burst *b, uint64_t i)\n{\n");
    text += "    const uint8_t *p = b->packets[i].data;\n    uint32_t len = nv_len(b->packets[i].len), budget = b->budget;\n";
    text += &scalar.variables(&cfg);
    text += "    (void)p, (void)len, (void)budget;\n";
    for param in &func.block(Block(0)).params {
        let _ = writeln!(text, "    {param:?} = 0;");
    }
    text += &scalar.body;
    text += "reject:\n    __attribute__((unused));\n    return 0;\n}\n";
    Ok(text + BURST)
}

const BURST: &str = "
void netvm_select_scalar(const struct nv_burst *b)
{
    uint64_t word = 0;
    for (uint64_t i = 0; i < b->count; i++) {
        word |= (uint64_t)one(b, i) << i % 64;
        if (i % 64 == 63) {
            b->selected[i / 64] = word;
            word = 0;
        }
    }
    if (b->count % 64)
        b->selected[b->count / 64] = word;
}
";

/// What C for one packet is part of: where memories are and what happens at ends.
pub(super) trait Frame {
    /// The packet's captured length.
    fn len(&self) -> &'static str;
    /// Whether what was found out about accesses holds. Not so where branches are taken without
    /// looking.
    fn trusts(&self) -> bool;
    /// Whether that changes on the way.
    fn moves(&self) -> bool;
    /// Whether there are bytes to be read behind what the packet has, up to
    /// [`pool::BEHIND`](netil::pool::BEHIND).
    fn reads_on(&self) -> bool {
        false
    }
    /// The first byte of a memory.
    fn base(&self, space: Space) -> &'static str;
    /// A place of a memory that is somewhere else.
    fn moved(&self, _space: Space, _at: u64) -> Option<String> {
        None
    }
    /// The size of a memory in bytes.
    fn size(&self, space: Space) -> String;
    /// A statement that ends the handler with a trap.
    fn trap(&self, kind: TrapKind, site: Site) -> String;
    /// A statement that sends the packet.
    fn send(&self, port: u32) -> String;
    /// A statement that sends the packet by the port that so many lie before, counted by a value.
    fn send_by(&self, value: &str, first: u32) -> String;
    /// A statement that does the same or drops it, without a branch between the two, and does
    /// nothing if the value is for neither; if the frame has such.
    fn send_or_drop(&self, _value: &str, _condition: &str, _of: &OrDrop) -> Option<String> {
        None
    }
    /// A statement that drops it.
    fn drop(&self, reason: DropReason) -> String;
    /// Whether less than that is left of the budget, and what takes it.
    fn budget(&self, n: u32) -> [String; 2] {
        [format!("budget < {n}"), format!("budget -= {n}")]
    }
    /// The function that tests a set.
    fn set(&self, number: u32) -> String;
    /// The packet's length on the wire.
    fn wire_len(&self) -> String;
    /// Its arrival time in nanoseconds.
    fn time_ns(&self) -> String;
    /// Statements for an operation that not every frame has.
    fn other(&self, scalar: &Scalar<'_>, v: Value, op: &Op) -> Result<String, Unsupported>;
}

/// A filter: the packet's verdict and nothing else.
struct Filter {
    data: usize,
}

impl Frame for Filter {
    fn len(&self) -> &'static str {
        "len"
    }

    fn moves(&self) -> bool {
        false
    }

    fn trusts(&self) -> bool {
        true
    }

    fn base(&self, space: Space) -> &'static str {
        if space == Space::Packet { "p" } else { "b->data" }
    }

    fn size(&self, space: Space) -> String {
        if space == Space::Packet { "len".to_owned() } else { format!("{}u", self.data) }
    }

    fn trap(&self, _: TrapKind, _: Site) -> String {
        "goto reject;".to_owned()
    }

    fn send(&self, _: u32) -> String {
        "return 1;".to_owned()
    }

    fn send_by(&self, _: &str, _: u32) -> String {
        "return 1;".to_owned()
    }

    fn drop(&self, _: DropReason) -> String {
        "return 0;".to_owned()
    }

    fn set(&self, number: u32) -> String {
        format!("set{number}")
    }

    fn wire_len(&self) -> String {
        "b->wire_len[i]".to_owned()
    }

    fn time_ns(&self) -> String {
        "b->time_ns[i]".to_owned()
    }

    fn other(&self, _: &Scalar<'_>, _: Value, op: &Op) -> Result<String, Unsupported> {
        match op {
            // A filter's packet is there.
            Op::Present(_) => Ok(String::new()),
            _ => Err(Unsupported(format!("'{op}'"))),
        }
    }
}

/// C under construction for a function.
pub(super) struct Scalar<'a> {
    pub func: &'a Func,
    pub frame: &'a dyn Frame,
    pub body: String,
    /// Which edges most packets take, if that is worth saying.
    pub probability: Option<BranchProbability>,
}

impl Scalar<'_> {
    /// Declarations of everything that is assigned.
    pub fn variables(&self, cfg: &Cfg) -> String {
        self.declared(cfg.order.iter().flat_map(|b| self.func.block(*b).params.iter().chain(&self.func.block(*b).ops)))
    }

    /// Declarations of these values.
    pub fn declared<'v>(&self, all: impl Iterator<Item = &'v Value>) -> String {
        let mut text = String::new();
        for v in all.filter(|v| matches!(self.func.ty(**v), Type::Int(_)) && self.inline(**v).is_none()) {
            let _ = writeln!(text, "    {} {v:?}{};", ctype(self.func.width(*v)), if self.frame.trusts() { "" } else { " = 0" });
            if self.is_in_parts(*v) {
                let _ = writeln!(text, "    uint32_t {v:?}_low, {v:?}_high;");
            }
        }
        text
    }

    /// Whether a value is also there in two parts, since it was read so: Ethernet addresses, of
    /// which compilers of C do not see that what was put together is taken apart again when it is
    /// written.
    pub fn is_in_parts(&self, v: Value) -> bool {
        self.probability.is_some() && matches!(self.func.op(v), Some(Op::Load(_, Order::Little, ..))) && self.func.width(v) == 48
    }

    pub fn block(&mut self, block: Block) -> Result<(), Unsupported> {
        self.block_to(block, None)
    }

    /// A block up to an operation behind which nothing is reached.
    pub fn block_to(&mut self, block: Block, last: Option<Value>) -> Result<(), Unsupported> {
        let _ = writeln!(self.body, "block{}:\n    __attribute__((unused));", block.0);
        for v in &self.func.block(block).ops {
            self.op(*v)?;
            if last == Some(*v) {
                return Ok(());
            }
        }
        self.end(block);
        Ok(())
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.body, "    {text}");
    }

    /// What is written out where it is used.
    pub fn inline(&self, v: Value) -> Option<String> {
        match self.func.op(v)? {
            Op::Const(c) => Some(number(*c, self.func.width(v))),
            Op::WideConst(limbs) => {
                let limb = |i: usize| limbs.get(i).copied().unwrap_or(0);
                Some(format!("((unsigned __int128){:#x}u << 64 | {:#x}u)", limb(1), limb(0)))
            }
            Op::PacketLen if !self.frame.moves() => Some(self.frame.len().to_owned()),
            _ => None,
        }
    }

    pub fn val(&self, v: Value) -> String {
        self.inline(v).unwrap_or_else(|| format!("{v:?}"))
    }

    pub fn op(&mut self, v: Value) -> Result<(), Unsupported> {
        let Some(op) = self.func.op(v) else { return Ok(()) };
        if self.func.width(v) > 128 {
            return Err(Unsupported(format!("a value of {} bits", self.func.width(v))));
        }
        match op {
            Op::Proved(..) if self.frame.trusts() => {}
            Op::Check(space, extents) | Op::Proved(space, extents) => {
                for extent in extents {
                    let test = self.outside(*space, extent);
                    let trap = self.frame.trap(TrapKind::OutOfBounds(*space), extent.site);
                    self.line(&format!("if (NV_RARELY({test})) {trap}"));
                }
            }
            Op::NonZero(a, site) => {
                let (a, trap) = (self.val(*a), self.frame.trap(TrapKind::DivisionByZero, *site));
                self.line(&format!("if ({a} == 0) {trap}"));
            }
            Op::Budget(site, n) => {
                let ([none, take], trap) = (self.frame.budget(*n), self.frame.trap(TrapKind::Budget, *site));
                self.line(&format!("if ({none}) {trap}\n    {take};"));
            }
            Op::Checked(op, signed, a, b, site) => self.checked(v, *op, *signed, [*a, *b], *site),
            Op::Present(_) | Op::Helper(..) | Op::Store(..) | Op::ExceptionLoad(_) | Op::ExceptionStore(..) | Op::Random(_) => {
                let text = self.frame.other(self, v, op)?;
                self.line(&text);
            }
            _ if self.inline(v).is_some() => {}
            _ => {
                let value = self.value(v, op)?;
                self.line(&format!("{v:?} = {value};"));
                if let Op::Load(space, _, addr, offset, ..) = op
                    && self.is_in_parts(v)
                {
                    let at = self.at(*space, *addr, *offset);
                    self.line(&format!("{v:?}_low = (uint32_t)nv_le({at}, 4), {v:?}_high = (uint32_t)nv_le({at} + 4, 2);"));
                }
            }
        }
        Ok(())
    }

    fn outside(&self, space: Space, extent: &Extent) -> String {
        format!("(uint64_t){} + {} > {}", self.val(extent.addr), extent.end(), self.frame.size(space))
    }

    fn checked(&mut self, v: Value, op: BinOp, signed: bool, [a, b]: [Value; 2], site: Site) {
        let ty = if signed { "int32_t" } else { "uint32_t" };
        let sign = match op {
            BinOp::Add => '+',
            BinOp::Sub => '-',
            _ => '*',
        };
        let (a, b) = (self.val(a), self.val(b));
        self.line(&format!("{v:?} = (uint32_t)({a} {sign} {b});"));
        let exact = format!("(__int128)({ty}){a} {sign} (__int128)({ty}){b}");
        let trap = self.frame.trap(TrapKind::Overflow, site);
        self.line(&format!("if ({exact} != ({ty}){v:?}) {trap}"));
    }

    fn value(&self, v: Value, op: &Op) -> Result<String, Unsupported> {
        let width = self.func.width(v);
        let (ty, val) = (ctype(width), |v: &Value| self.val(*v));
        Ok(match op {
            Op::Bin(op, a, b) | Op::Div(op, a, b, _) => self.bin(*op, width, *a, *b)?,
            Op::Un(op, a) => un(*op, width, &val(a))?,
            Op::Cmp(op, a, b) => self.cmp(*op, *a, *b)?,
            Op::PacketLen => self.frame.len().to_owned(),
            Op::Zext(a) => format!("({ty}){}", val(a)),
            Op::Sext(a) if width > 64 => {
                narrow(self.func.width(*a))?;
                cut(&format!("(__int128)nv_signed({}, {})", val(a), self.func.width(*a)), width)
            }
            Op::Sext(a) => {
                format!("({ty})((uint64_t)nv_signed({}, {}) & {:#x}u)", val(a), self.func.width(*a), mask(width))
            }
            Op::Trunc(a) => cut(&val(a), width),
            Op::Slice(a, low) => cut(&format!("({} >> {low})", val(a)), width),
            Op::Concat(..) if width > 64 => self.wide_concat(v).unwrap_or_else(|| self.concat(v)),
            Op::Concat(..) => self.concat(v),
            Op::Select(c, a, b) => format!("{} ? {} : {}", val(c), val(a), val(b)),
            Op::SetHas(set, a) => format!("(uint32_t){}({})", self.frame.set(*set), val(a)),
            Op::Load(space, order, addr, offset, _) => self.load(*space, *order, *addr, *offset, width),
            Op::WireLen => self.frame.wire_len().to_owned(),
            Op::TimeNanos => self.frame.time_ns().to_owned(),
            Op::TimeSeconds => format!("(uint32_t)({} / 1000000000)", self.frame.time_ns()),
            Op::TimeMicros => format!("(uint32_t)({} % 1000000000 / 1000)", self.frame.time_ns()),
            other => return Err(Unsupported(format!("'{other}'"))),
        })
    }

    fn concat(&self, v: Value) -> String {
        let Some(Op::Concat(high, low)) = self.func.op(v) else { return self.val(v) };
        format!("({}){} << {} | {}", ctype(self.func.width(v)), self.val(*high), self.func.width(*low), self.val(*low))
    }

    /// What is put together of many parts, such as a key: each half of its own, for shifts of a
    /// whole one take several instructions. None if a part is wide itself.
    fn wide_concat(&self, v: Value) -> Option<String> {
        let (mut halves, mut at, mut work) = ([Vec::new(), Vec::new()], 0, vec![v]);
        while let Some(part) = work.pop() {
            if let Some(Op::Concat(high, low)) = self.func.op(part) {
                work.extend([*high, *low]);
                continue;
            }
            let (width, value) = (self.func.width(part), self.val(part));
            if width > 64 {
                return None;
            }
            match at {
                0..64 => halves[0].push(format!("(uint64_t){value} << {at}")),
                _ => halves[1].push(format!("(uint64_t){value} << {}", at - 64)),
            }
            if at < 64 && at + width > 64 {
                halves[1].push(format!("(uint64_t){value} >> {}", 64 - at));
            }
            at += width;
        }
        let [low, high] = halves.map(|parts| parts.join(" | "));
        Some(format!("(unsigned __int128)({high}) << 64 | ({low})"))
    }

    fn bin(&self, op: BinOp, width: u16, a: Value, b: Value) -> Result<String, Unsupported> {
        let (a, b) = (self.val(a), self.val(b));
        let plain = |sign: &str| Ok(format!("{a} {sign} {b}"));
        match op {
            BinOp::And => return plain("&"),
            BinOp::Or => return plain("|"),
            BinOp::Xor => return plain("^"),
            BinOp::Add => return Ok(cut(&format!("({a} + {b})"), width)),
            BinOp::Sub => return Ok(cut(&format!("({a} - {b})"), width)),
            BinOp::Mul => return Ok(cut(&format!("({a} * {b})"), width)),
            BinOp::Div => return plain("/"),
            BinOp::Mod => return plain("%"),
            BinOp::Shl if width > 64 => return Ok(format!("{b} < {width} ? {} : 0", cut(&format!("({a} << ({b} & 127))"), width))),
            BinOp::UShr if width > 64 => return Ok(format!("{b} < {width} ? {a} >> ({b} & 127) : 0")),
            _ => narrow(width)?,
        }
        let (ty, both) = (ctype(width), |sign: &str| format!("(__int128)nv_signed({a}, {width}) {sign} nv_signed({b}, {width})"));
        Ok(match op {
            BinOp::Shl => format!("({ty})nv_shl({a}, {width}, {b})"),
            BinOp::UShr => format!("({ty})nv_shr({a}, {width}, {b})"),
            BinOp::Shr => format!("({ty})nv_sar({a}, {width}, {b})"),
            BinOp::Rol => format!("({ty})nv_rol({a}, {width}, {b})"),
            BinOp::Ror => format!("({ty})nv_rol({a}, {width}, {width} - {b} % {width})"),
            BinOp::AddSatS => format!("({ty})nv_clamp({}, {width})", both("+")),
            BinOp::SubSatS => format!("({ty})nv_clamp({}, {width})", both("-")),
            BinOp::SubSatU => format!("{a} < {b} ? 0 : {a} - {b}"),
            _ => format!("({ty})((unsigned __int128){a} + {b} > {most:#x}u ? {most:#x}u : {a} + {b})", most = mask(width)),
        })
    }

    fn cmp(&self, op: CmpOp, a: Value, b: Value) -> Result<String, Unsupported> {
        let width = self.func.width(a);
        let (a, b) = (self.val(a), self.val(b));
        let signed = |sign: &str| {
            narrow(width)?;
            Ok(format!("nv_signed({a}, {width}) {sign} nv_signed({b}, {width})"))
        };
        Ok(match op {
            CmpOp::Eq => format!("{a} == {b}"),
            CmpOp::Ne => format!("{a} != {b}"),
            CmpOp::Lt => format!("{a} < {b}"),
            CmpOp::Le => format!("{a} <= {b}"),
            CmpOp::Gt => format!("{a} > {b}"),
            CmpOp::Ge => format!("{a} >= {b}"),
            CmpOp::Lts => signed("<")?,
            CmpOp::Les => signed("<=")?,
            CmpOp::Gts => signed(">")?,
            CmpOp::Ges => signed(">=")?,
        })
    }

    /// The place of an access.
    pub fn at(&self, space: Space, addr: Value, offset: u32) -> String {
        let base = self.frame.base(space);
        match self.func.constant(addr).map(|addr| addr + u64::from(offset)) {
            Some(at) => self.frame.moved(space, at).unwrap_or_else(|| format!("{base} + {at}")),
            None => format!("{base} + {} + {offset}", self.val(addr)),
        }
    }

    fn load(&self, space: Space, order: Order, addr: Value, offset: u32, width: u16) -> String {
        let at = self.at(space, addr, offset);
        let read = if order == Order::Big { "nv_be" } else { "nv_le" };
        let bytes = width / 8;
        let on = if space == Space::Packet && self.frame.reads_on() && (5..8).contains(&bytes) { "_on" } else { "" };
        if bytes <= 8 {
            return format!("({}){read}{on}({at}, {bytes})", ctype(width));
        }
        // The first eight bytes, then the others.
        let (first, second) = (format!("(unsigned __int128){read}({at}, 8)"), format!("{read}({at} + 8, {})", bytes - 8));
        match order {
            Order::Big => format!("{first} << {} | {second}", width - 64),
            Order::Little => format!("(unsigned __int128){second} << 64 | {first}"),
        }
    }

    fn end(&mut self, block: Block) {
        if let Some(of) = ports::or_drop(self.func, block) {
            let statement = self.frame.send_or_drop(&self.val(of.value), &self.val(of.condition.0), &of);
            statement.iter().for_each(|text| self.line(text));
        }
        match &self.func.block(block).end {
            Terminator::Jump(e) => {
                let go = self.go(e);
                self.line(&go);
            }
            Terminator::Branch(c, yes, no) => {
                let holds = self.probability.as_ref().and_then(|probability| probability.holds(self.func, *c, yes.block, no.block));
                let (c, yes, no) = (self.val(*c), self.go(yes), self.go(no));
                let test = match holds {
                    Some(true) => format!("NV_MOSTLY({c})"),
                    Some(false) => format!("NV_RARELY({c})"),
                    None => c,
                };
                self.line(&format!("if ({test})\n        {yes}\n    else\n        {no}"));
            }
            Terminator::Switch(v, cases, default) => {
                let mut text = format!("switch ({}) {{\n", self.val(*v));
                for (key, e) in cases {
                    let _ = writeln!(text, "    case {key:#x}u: {}", self.go(e));
                }
                let _ = write!(text, "    default: {}\n    }}", self.go(default));
                self.line(&text);
            }
            Terminator::Send(port) => self.line(&self.frame.send(*port)),
            Terminator::SendBy(v, first, count, default) => {
                let (v, default) = (self.val(*v), self.go(default));
                self.send_by(&v, (*first, *count), &default);
            }
            Terminator::Drop(reason) => self.line(&self.frame.drop(*reason)),
        }
    }

    /// Sends by a number, if it is that of a port.
    fn send_by(&mut self, v: &str, (first, count): (u32, u32), default: &str) {
        let sent = self.frame.send_by(v, first);
        let test = format!("{v} < {count}u");
        let test = if self.probability.is_some() { format!("NV_MOSTLY({test})") } else { test };
        self.line(&format!("if ({test})\n        {sent}\n    else\n        {default}"));
    }

    /// A jump; all arguments are read before a parameter is written.
    fn go(&self, e: &Edge) -> String {
        let target = format!("goto block{};", e.block.0);
        let pairs = || self.func.block(e.block).params.iter().zip(&e.args).filter(|(param, arg)| param != arg);
        if pairs().next().is_none() {
            return target;
        }
        let mut text = String::from("{ ");
        for (param, arg) in pairs() {
            let _ = write!(text, "{} to_{param:?} = {}; ", ctype(self.func.width(*param)), self.val(*arg));
        }
        for (param, _) in pairs() {
            let _ = write!(text, "{param:?} = to_{param:?}; ");
        }
        text + &target + " }"
    }
}

pub(super) fn ctype(width: u16) -> &'static str {
    match width {
        ..=32 => "uint32_t",
        33..=64 => "uint64_t",
        _ => "unsigned __int128",
    }
}

fn number(value: u64, width: u16) -> String {
    let small = if value < 10 { format!("{value}") } else { format!("{value:#x}") };
    match width {
        ..=32 => small + "u",
        33..=64 => small + "ull",
        _ => format!("(unsigned __int128){small}ull"),
    }
}

/// The low bits of an expression.
fn cut(expression: &str, width: u16) -> String {
    let ty = ctype(width);
    match width {
        32 | 64 | 128 => format!("({ty}){expression}"),
        ..=63 => format!("({ty}){expression} & {:#x}u", mask(width)),
        _ => format!("({ty}){expression} & ((unsigned __int128)1 << {width}) - 1"),
    }
}

fn un(op: UnOp, width: u16, a: &str) -> Result<String, Unsupported> {
    match op {
        UnOp::Neg => return Ok(cut(&format!("-({}){a}", ctype(width)), width)),
        UnOp::Not => return Ok(cut(&format!("~({}){a}", ctype(width)), width)),
        _ => narrow(width)?,
    }
    let ty = ctype(width);
    Ok(match op {
        UnOp::Bswap => format!("({ty})(__builtin_bswap64({a}) >> {})", 64 - width),
        UnOp::Clz => format!("({ty})nv_clz({a}, {width})"),
        _ => format!("({ty})nv_find_bit({a}, {width})"),
    })
}

/// The helpers of the prelude take at most 64 bits.
fn narrow(width: u16) -> Result<(), Unsupported> {
    if width > 64 { Err(Unsupported(format!("this operation on {width} bits"))) } else { Ok(()) }
}
