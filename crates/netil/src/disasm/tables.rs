//! Tables and controls as source text.

use super::{line, name, wide_number};
use crate::module::{Control, ControlType, Entry, Module, Table};

pub(super) fn write(out: &mut String, m: &Module) {
    if !m.tables.is_empty() {
        out.push_str("\nsegment .tables\n");
        m.tables.iter().for_each(|t| table(out, t));
        out.push_str("ends\n");
    }
    if m.controls.is_empty() && m.reasons.is_empty() {
        return;
    }
    out.push_str("\nsegment .controls\n");
    m.controls.iter().for_each(|c| control(out, c));
    m.reasons.iter().for_each(|r| line(out, format_args!("  .reason {}, {}", r.at, name(&r.name))));
    out.push_str("ends\n");
}

fn table(out: &mut String, t: &Table) {
    let kind = t.kind.name();
    let timeout = if t.timeout_ns == 0 { String::new() } else { format!(", {}", t.timeout_ns) };
    line(out, format_args!("  .table {}, {kind}, {}, {}, {}{timeout}", name(&t.name), t.key_bits, t.value_bytes, t.capacity));
    for Entry { key, mask, priority, value } in &t.entries {
        let value: String = value.iter().map(|b| format!("{b:02x}")).collect();
        line(out, format_args!("    .entry {}, {}, {priority}, 0x{value}", wide_number(key), wide_number(mask)));
    }
}

fn control(out: &mut String, c: &Control) {
    let access = format!("{}{}", if c.read { "r" } else { "" }, if c.write { "w" } else { "" });
    let ty = match c.ty {
        ControlType::Unsigned(bits) => format!("unsigned {bits}"),
        ControlType::Signed(bits) => format!("signed {bits}"),
        plain => ControlType::PLAIN.iter().find(|(ty, _)| *ty == plain).map_or(String::new(), |(_, name)| (*name).to_owned()),
    };
    let call = if c.call { ", call" } else { "" };
    line(out, format_args!("  .control {}, {access}, {ty}, {}{call}", name(&c.name), c.at));
}
