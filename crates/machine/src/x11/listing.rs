//! Slot programs as text: a line for each stage that does something, slots separated by `|`.
//!
//! ```text
//!   2  f1 = eq r0, 0x800          | r2:r3 = packet[26:4]       |                      | if !f0 goto 9
//!  10  point: f2 = has s0 (r3, r2)
//! ```
//!
//! [`super::assemble`] reads what this writes.

use super::code::{
    Access, Alu, AluOp, Branch, Change, FlagOp, If, Memory, Move, MoveOperand, Offset, Program, Span, Src, Stage, Store, Target, Verdict,
    position,
};
use std::fmt::{self, Display, Formatter};

impl Display for Src {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reg(reg) => write!(f, "r{reg}"),
            Self::Imm(value) if *value < 10 => write!(f, "{value}"),
            Self::Imm(value) => write!(f, "{value:#x}"),
        }
    }
}

impl Display for If {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}f{}", if self.holds { "" } else { "!" }, self.flag)
    }
}

/// The name of an operation.
pub(super) fn alu_name(op: AluOp) -> &'static str {
    AluOp::ALL.iter().find(|(known, _)| *known == op).map_or("", |(_, name)| name)
}

/// The name of an operation on flags.
pub(super) fn flag_name(op: FlagOp) -> &'static str {
    match op {
        FlagOp::And => "both",
        FlagOp::Or => "either",
        FlagOp::Xor => "differ",
    }
}

impl Display for Alu {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words { op, dst, flag, a, b, with } => {
                let names = [dst.map(|reg| format!("r{reg}")), flag.map(|flag| format!("f{flag}"))];
                let left: Vec<String> = names.into_iter().flatten().collect();
                write!(f, "{} = {} {a}, {b}", left.join(", "), alu_name(*op))?;
                with.map_or(Ok(()), |flag| write!(f, " with f{flag}"))
            }
            Self::Flags { op, flag, a, b } => write!(f, "f{flag} = {} {a}, {b}", flag_name(*op)),
        }
    }
}

impl Display for MoveOperand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reg(reg) => write!(f, "r{reg}"),
            Self::Pair(reg) => write!(f, "r{reg}:r{}", reg + 1),
            Self::Packet(at, bytes) => write!(f, "packet[{}:{bytes}]", position(*at)),
            Self::Info(at, bytes) => write!(f, "info[{at}:{bytes}]"),
            Self::Imm(value) => Src::Imm(*value).fmt(f),
            Self::Len => f.write_str("len"),
            Self::WireLen => f.write_str("wirelen"),
            Self::Port => f.write_str("port"),
            Self::OutBy(port) => write!(f, "out port {port} + "),
            Self::End(change) => f.write_str(Change::ALL.iter().find(|(known, _)| known == change).map_or("", |(_, name)| name)),
            Self::Out(Verdict::Port(port)) => write!(f, "out port {port}"),
            Self::Out(Verdict::Drop(0)) => f.write_str("out drop"),
            Self::Out(Verdict::Drop(reason)) => write!(f, "out drop {}", reason - 1),
        }
    }
}

impl Display for Move {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(guard) = self.guard {
            write!(f, "if {guard} ")?;
        }
        match self.to {
            MoveOperand::Out(_) => self.to.fmt(f),
            MoveOperand::OutBy(_) => write!(f, "{}{}", self.to, self.from),
            MoveOperand::End(_) => write!(f, "{} {}", self.to, self.from),
            to => write!(f, "{to} = {}", self.from),
        }
    }
}

impl Display for Offset {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let at = position(self.at);
        let place = format!("packet[r{} {} {}:{}]", self.base, if at < 0 { '-' } else { '+' }, at.abs(), self.bytes);
        if self.store { write!(f, "{place} = {}", self.value) } else { write!(f, "{} = {place}", self.value) }
    }
}

impl Display for Branch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(guard) = self.guard {
            write!(f, "if {guard} ")?;
        }
        match self.to {
            Target::Stage(stage) => write!(f, "goto {stage}"),
            Target::Trap(n) => write!(f, "trap {n}"),
        }
    }
}

impl Display for Memory {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = match self.store {
            Store::Data => "data".to_owned(),
            Store::Shared => "shared".to_owned(),
            Store::Initialised => "init".to_owned(),
            Store::Table(n) => format!("t{n}"),
        };
        if self.element == 0 { f.write_str(&name) } else { write!(f, "{name}@{}", self.element) }
    }
}

impl Display for Span {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let base = self.base.map_or_else(String::new, |base| format!("{base} + "));
        write!(f, "{}[{base}{}:{}{}]", self.memory, self.at, self.bytes, if self.big { " big" } else { "" })
    }
}

/// Words from the highest, as numbers are written.
fn list<T: Display>(words: &[T]) -> String {
    words.iter().rev().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn regs(regs: &[u16]) -> String {
    list(&regs.iter().map(|reg| Src::Reg(*reg)).collect::<Vec<_>>())
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let entry = |entry: &Option<u16>| entry.map_or_else(String::new, |reg| format!("r{reg} = "));
        match self {
            Self::Has { set, key, flag } => write!(f, "f{flag} = has s{set} ({})", list(key)),
            Self::Jump { key, cases, default } => {
                write!(f, "goto by ({})", list(key))?;
                cases.iter().try_for_each(|(case, stage)| write!(f, " {case:#x}: {stage},"))?;
                write!(f, " else {default}")
            }
            Self::Find { table, refresh, key, entry: found, data } => {
                let verb = if *refresh { "use" } else { "find" };
                write!(f, "{}{verb} {table} ({})", entry(found), list(key))?;
                data.iter().try_for_each(|(at, bytes, to)| write!(f, " [{at}:{bytes}] to ({})", regs(to)))
            }
            Self::Insert { table, key, entry: made, data } => {
                write!(f, "{}insert {table} ({})", entry(made), list(key))?;
                data.iter().try_for_each(|(at, bytes, from)| write!(f, " [{at}:{bytes}] of ({})", list(from)))
            }
            Self::Delete { table, key, flag } => write!(f, "f{flag} = delete {table} ({})", list(key)),
            Self::Read(span, to) => write!(f, "({}) = {span}", regs(to)),
            Self::Write(span, words) => write!(f, "{span} = ({})", list(words)),
            Self::Update(span, op, words) => write!(f, "{span} {}= ({})", alu_name(*op), list(words)),
        }
    }
}

fn slot<T: Display>(slot: Option<T>, width: usize) -> String {
    format!("{:<width$}", slot.map_or_else(String::new, |slot| slot.to_string()))
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (n, set) in self.sets.iter().enumerate() {
            let range = |(low, high): (u64, u64)| if low == high { format!("{low:#x}") } else { format!("{low:#x}-{high:#x}") };
            let small: Vec<String> = set.small_ranges().map(range).collect();
            writeln!(
                f,
                "; s{n}: {} ranges of {} bits {}",
                set.ranges().len(),
                set.width(),
                small.iter().take(8).cloned().collect::<Vec<_>>().join(", ")
            )?;
        }
        for (n, trap) in self.traps.iter().enumerate() {
            writeln!(f, "; trap {n}: {}, instruction {}", trap.kind, trap.site)?;
        }
        for (n, stage) in self.stages.iter().enumerate() {
            match stage {
                Stage::Point(Some(access)) => writeln!(f, "{n:>4}  point: {access}")?,
                Stage::Slots(slots) if slots.used() > 0 => {
                    let line =
                        format!("{} | {} | {} | {}", slot(slots.alu, 28), slot(slots.mov, 26), slot(slots.load, 24), slot(slots.branch, 0));
                    writeln!(f, "{n:>4}  {}", line.trim_end())?;
                }
                _ => {}
            }
        }
        writeln!(f, "{:>4}  end", self.stages.len())
    }
}
