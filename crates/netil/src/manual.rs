//! `docs/netil.md`, made of the prose in `manual.md`, the instruction table and the coprocessors'
//! descriptors.
//!
//! A place `{{name}}` in the prose is filled by the part of that name. The test in
//! `tests/manual.rs` compares the result with the page in the repository, and writes that page when
//! the environment says `NETVM_BLESS=1`.

use crate::copro;
use crate::table::{Effect, HandlerScope, Imm, Op, Row, Slot, TABLE};
use std::fmt::Write;
use std::ops::RangeInclusive;

/// The groups of the manual; each is a range of the table.
const GROUPS: [(&str, RangeInclusive<Op>); 14] = [
    ("Load and store", Op::SpLoad8..=Op::InfoClr),
    ("Arithmetic and logic", Op::Add..=Op::IeSwap),
    ("Flow control", Op::JCmpEq..=Op::Exit),
    ("Stack and locals", Op::Push..=Op::LocStore),
    ("Fields and scans", Op::JFieldEq..=Op::PScan32),
    ("Packet and data transfer", Op::PktSend..=Op::IpCopy),
    ("Bits", Op::FindBit..=Op::Clz),
    ("Checksum, CRC, hash", Op::ChksumAdd..=Op::Hash),
    ("Initialisation and miscellany", Op::SetShare..=Op::Break),
    ("Coprocessors", Op::CoproInit..=Op::CoproExbuf),
    ("Extensions: time, packet geometry, copies, sets", Op::PblOrig..=Op::SetHas),
    ("Extensions: tables", Op::TFind..=Op::TDeadline),
    ("Extensions: values of any width", Op::WPush..=Op::WGes),
    ("Extensions: wide loads and stores", Op::WpLoad..=Op::WiStore),
];

/// The text of `docs/netil.md`.
pub fn manual() -> String {
    let prose = include_str!("manual.md");
    let mut out = String::with_capacity(4 * prose.len());
    for (i, part) in prose.split("{{").enumerate() {
        match part.split_once("}}").filter(|_| i > 0) {
            Some((name, rest)) => {
                fill(&mut out, name);
                out.push_str(rest);
            }
            None => out.push_str(part),
        }
    }
    out
}

fn fill(out: &mut String, name: &str) {
    match name {
        "instructions" => GROUPS.iter().for_each(|(title, ops)| group(out, title, ops)),
        "coprocessors" => copro::BUILTIN.iter().for_each(|d| coprocessor(out, d)),
        _ => out.push_str(name),
    }
}

fn group(out: &mut String, title: &str, ops: &RangeInclusive<Op>) {
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(out, "### {title}\n\n| Opcode | Instruction | Stack | |\n|---|---|---|---|");
    for row in TABLE.iter().filter(|row| ops.contains(&row.op)) {
        let place = match row.place {
            HandlerScope::Any => "",
            HandlerScope::Init => " Init handlers only.",
            HandlerScope::Packet => " Push and pull handlers only.",
        };
        let _ = writeln!(out, "| `{}` | `{}` | {} | {}{place} |", opcode(row.code), form(row), effect(row), row.doc);
    }
    out.push('\n');
}

fn opcode(code: u16) -> String {
    if code > 0xff { format!("{:02x} {:02x}", code >> 8, code & 0xff) } else { format!("{code:02x}") }
}

/// Mnemonic and names of the operands.
fn form(row: &Row) -> String {
    let mut widths = ["N", "M"].iter();
    let name = |imm: &Imm| match imm {
        Imm::U8 | Imm::U32 => "n",
        Imm::Width => widths.next().unwrap_or(&"W"),
        Imm::Label | Imm::ShortLabel => "label",
        Imm::Port => "port",
        Imm::Copro => "coprocessor",
        Imm::Reg => "register",
        Imm::CoproOp => "operation",
        Imm::Offset => "place",
        Imm::Local => "local",
        Imm::Set => "set",
        Imm::Table => "table",
        Imm::Timer => "timer",
        Imm::Const => "value",
        Imm::Switch => "n: pairs",
    };
    let operands: Vec<&str> = row.imms.iter().map(name).collect();
    format!("{} {}", row.mnemonic, operands.join(", ")).trim_end().to_owned()
}

fn effect(row: &Row) -> String {
    let slots = |slots: &[Slot]| slots.iter().map(|s| ["i32", "iN", "iM"][slot_name(s)]).collect::<Vec<_>>().join(" ");
    match row.effect {
        Effect::Fixed(pops, pushes) => format!("{} → {}", slots(pops), slots(pushes)).trim().to_owned(),
        Effect::Special => special(row.op).to_owned(),
    }
}

fn slot_name(slot: &Slot) -> usize {
    match slot {
        Slot::I32 => 0,
        Slot::W(0) => 1,
        Slot::W(_) => 2,
    }
}

/// Stack effects that depend on more than the immediates.
fn special(op: Op) -> &'static str {
    match op {
        Op::Inc2 | Op::Dec2 => "2×i32 → 2×i32",
        Op::Inc3 | Op::Dec3 => "3×i32 → 3×i32",
        Op::Inc4 | Op::Dec4 => "4×i32 → 4×i32",
        Op::Call | Op::CallW => "what the subroutine does",
        Op::Ret => "nothing, or i32 →",
        Op::Pop => "any →",
        Op::PopI => "n×any →",
        Op::Dup => "a → a a",
        Op::Swap => "a b → b a",
        Op::LocLoad => "→ the local's type",
        Op::LocStore => "the local's type →",
        Op::XFindBit => "n×i32 → n×i32",
        Op::XmFindBit => "n×i32 i32 → n×i32",
        Op::Hash => "n×i32 → i32",
        Op::SetHas => "the set's type → i32",
        Op::TimeNs => "→ i64",
        Op::TimeSet | Op::TimerSet => "i64 →",
        Op::TFind | Op::TPeek | Op::TInsert => "key → entry",
        Op::TDelete => "key → i32",
        Op::TNone => "→ entry",
        Op::TWalk | Op::TNext | Op::TDue => "→ i32",
        Op::TKey => "→ key",
        Op::TDeadline => "→ i64",
        Op::TValid => "entry → i32",
        Op::TLoad => "entry → iN",
        Op::TStore => "iN entry →",
        Op::WSlice => "iN → i(high − low + 1)",
        Op::WConcat => "iN iM → i(N + M)",
        _ => "",
    }
}

fn coprocessor(out: &mut String, d: &copro::Descriptor) {
    let operations: Vec<String> = d.operations.iter().enumerate().map(|(i, name)| format!("{i} `{name}`")).collect();
    let _ = writeln!(out, "### `{}`\n\n{} registers; operations {}.\n\n{}\n", d.name, d.registers, operations.join(", "), d.doc);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_is_in_one_group() {
        for row in TABLE {
            let groups = GROUPS.iter().filter(|(_, ops)| ops.contains(&row.op)).count();
            assert_eq!(groups, 1, "{}", row.mnemonic);
        }
    }

    #[test]
    fn special_effects_are_described() {
        for row in TABLE.iter().filter(|row| row.effect == Effect::Special) {
            assert!(!special(row.op).is_empty(), "{}", row.mnemonic);
        }
    }

    #[test]
    fn every_place_in_the_prose_is_filled() {
        let manual = manual();
        assert!(!manual.contains("{{") && manual.contains("| `67` | `jump label` |"));
        assert!(TABLE.iter().all(|row| manual.contains(&format!("| `{}` | `{}", opcode(row.code), row.mnemonic))));
    }
}
