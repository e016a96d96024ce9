//! MIR as text, for people and filetests.

use super::{Def, Edge, Extent, Func, Helper, Op, Order, Terminator, Type, Value};
use netil::table::Space;
use std::fmt::{self, Display, Formatter, Write};

impl Display for Func {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "func .{} {{", self.kind.name())?;
        for (i, set) in self.sets.iter().enumerate() {
            let range = |(low, high): (u64, u64)| if low == high { format!("{low:#x}") } else { format!("{low:#x}-{high:#x}") };
            let ranges: Vec<String> = set.small_ranges().map(range).collect();
            writeln!(f, "    set{} = i{} {{{}}}", self.module_sets + i as u32, set.width(), ranges.join(", "))?;
        }
        for (i, block) in self.blocks.iter().enumerate() {
            let params: Vec<String> = block.params.iter().map(|p| format!("{p:?}: {}", self.ty(*p))).collect();
            let list = if params.is_empty() { String::new() } else { format!("({})", params.join(", ")) };
            writeln!(f, "block{i}{list}:")?;
            for v in &block.ops {
                self.line(f, *v)?;
            }
            writeln!(f, "    {}", block.end)?;
        }
        f.write_str("}\n")
    }
}

impl Func {
    fn line(&self, f: &mut Formatter<'_>, v: Value) -> fmt::Result {
        let data = &self.values[v.0 as usize];
        let Def::Op(op) = &data.def else { return Ok(()) };
        match data.ty {
            Type::Void => writeln!(f, "    {op}"),
            ty => writeln!(f, "    {v:?} = {ty} {op}"),
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(w) => write!(f, "i{w}"),
            Self::Token => f.write_str("token"),
            Self::Void => f.write_str("void"),
        }
    }
}

/// The memory in one word.
fn short(space: Space) -> &'static str {
    match space {
        Space::Packet => "packet",
        Space::Info => "info",
        Space::Data => "data",
        Space::Shared => "shared",
        Space::Initialised => "init",
    }
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Big => "be",
        Order::Little => "le",
    }
}

fn address(addr: Value, offset: u32) -> String {
    if offset == 0 { format!("[{addr:?}]") } else { format!("[{addr:?} + {offset}]") }
}

fn lower(name: &impl fmt::Debug) -> String {
    format!("{name:?}").to_lowercase()
}

impl Display for Extent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} @{}", address(self.addr, self.offset), self.size, self.site)
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Const(c) => write!(f, "{c:#x}"),
            Self::WideConst(limbs) => {
                f.write_str("0x")?;
                limbs.iter().rev().try_for_each(|l| write!(f, "{l:016x}"))
            }
            Self::Bin(op, a, b) => write!(f, "{} {a:?}, {b:?}", lower(op)),
            Self::Div(op, a, b, t) => write!(f, "{} {a:?}, {b:?} with {t:?}", lower(op)),
            Self::NonZero(a, site) => write!(f, "nonzero {a:?} @{site}"),
            Self::Checked(op, signed, a, b, site) => {
                write!(f, "{}.{} {a:?}, {b:?} @{site}", lower(op), if *signed { "signed" } else { "unsigned" })
            }
            Self::Un(op, a) => write!(f, "{} {a:?}", lower(op)),
            Self::Cmp(op, a, b) => write!(f, "cmp.{} {a:?}, {b:?}", lower(op)),
            Self::Zext(a) => write!(f, "zext {a:?}"),
            Self::Sext(a) => write!(f, "sext {a:?}"),
            Self::Trunc(a) => write!(f, "trunc {a:?}"),
            Self::Slice(a, low) => write!(f, "slice {a:?} from {low}"),
            Self::Concat(a, b) => write!(f, "concat {a:?}, {b:?}"),
            Self::Select(c, a, b) => write!(f, "select {c:?}, {a:?}, {b:?}"),
            Self::SetHas(set, a) => write!(f, "in set{set}, {a:?}"),
            Self::Check(space, extents) | Self::Proved(space, extents) => {
                let name = if matches!(self, Self::Check(..)) { "check" } else { "proved" };
                let list: Vec<String> = extents.iter().map(Extent::to_string).collect();
                write!(f, "{name} {}{}", short(*space), list.join(", "))
            }
            _ => self.fmt_effect(f),
        }
    }
}

impl Op {
    fn fmt_effect(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(space, o, addr, offset, t) => {
                write!(f, "load.{} {}{} with {t:?}", order(*o), short(*space), address(*addr, *offset))
            }
            Self::Store(space, o, addr, offset, v, t) => {
                write!(f, "store.{} {}{}, {v:?} with {t:?}", order(*o), short(*space), address(*addr, *offset))
            }
            Self::PacketLen => f.write_str("packet.len"),
            Self::WireLen => f.write_str("wire.len"),
            Self::TimeSeconds => f.write_str("time.s"),
            Self::TimeMicros => f.write_str("time.us"),
            Self::TimeNanos => f.write_str("time.ns"),
            Self::Random(site) => write!(f, "random @{site}"),
            Self::ExceptionLoad(k) => write!(f, "exception {k}"),
            Self::ExceptionStore(k, v) => write!(f, "exception {k}, {v:?}"),
            Self::Budget(site, 1) => write!(f, "budget @{site}"),
            Self::Budget(site, n) => write!(f, "budget {n} @{site}"),
            Self::Present(site) => write!(f, "present @{site}"),
            Self::Helper(helper, args, site) => {
                let args: Vec<String> = args.iter().map(|a| format!("{a:?}")).collect();
                write!(f, "{helper} {} @{site}", args.join(", "))
            }
            _ => Ok(()),
        }
    }
}

impl Display for Helper {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let debug = format!("{self:?}");
        let (name, operands) = debug.split_once('(').unwrap_or((&debug, ""));
        for (i, c) in name.char_indices() {
            if c.is_uppercase() && i > 0 {
                f.write_char('_')?;
            }
            f.write_char(c.to_ascii_lowercase())?;
        }
        let operands = operands.trim_end_matches(')').to_lowercase();
        if operands.is_empty() { Ok(()) } else { write!(f, "<{operands}>") }
    }
}

impl Display for Edge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.block)?;
        if self.args.is_empty() {
            return Ok(());
        }
        let args: Vec<String> = self.args.iter().map(|a| format!("{a:?}")).collect();
        write!(f, "({})", args.join(", "))
    }
}

impl Display for Terminator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jump(e) => write!(f, "jump {e}"),
            Self::Branch(c, a, b) => write!(f, "branch {c:?}, {a}, {b}"),
            Self::Switch(v, cases, default) => {
                write!(f, "switch {v:?}")?;
                cases.iter().try_for_each(|(key, e)| write!(f, ", {key:#x}: {e}"))?;
                write!(f, ", default: {default}")
            }
            Self::Send(port) => write!(f, "send {port}"),
            Self::SendBy(v, first, count, default) => write!(f, "send {first} + {v:?} if {v:?} < {count}, default {default}"),
            Self::Drop(reason) => write!(f, "drop {}", lower(reason)),
        }
    }
}
