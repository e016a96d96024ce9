//! The disassembler: a [`Module`] to source text that assembles to the same module.
//!
//! `assemble(disassemble(m)) == normalise(m)` for every module that the verifier accepts, and
//! `normalise(m) == m` for what the assembler gives: names, labels and source lines survive;
//! comments, constants and expressions are no part of a module. Targets without a label are written
//! `@n`, which the assembler does not keep. Other modules, too, get a text, which may not assemble.

mod tables;

use crate::asm::is_bare;
use crate::codec;
use crate::copro;
use crate::module::{ENTRY, Extra, Handler, HandlerKind, Inst, Label, Module, PortKind, Switch};
use crate::set::Set;
use crate::table::{Imm, Op};
use crate::wide;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

/// Bytes of initialised data on a line.
const DATA_LINE: usize = 16;
/// Ranges of a set on a line.
const SET_LINE: usize = 8;

/// Source text for the module.
pub fn disassemble(module: &Module) -> String {
    let module = &normalise(module);
    let mut out = String::new();
    metadata(&mut out, module);
    if !module.ports.is_empty() {
        out.push_str("\nsegment .ports\n");
        for port in &module.ports {
            let kind = PortKind::ALL.iter().find(|(k, _)| *k == port.kind).map_or("", |(_, name)| name);
            line(&mut out, format_args!("  {kind} {}", name(&port.name)));
        }
        out.push_str("ends\n");
    }
    data(&mut out, module);
    sets(&mut out, &module.sets);
    tables::write(&mut out, module);
    for kind in HandlerKind::ALL {
        if let Some(h) = module.handler(kind) {
            handler(&mut out, module, kind, h);
        }
    }
    out
}

/// One instruction as source text, for messages and traces.
pub fn display_inst(module: &Module, handler: &Handler, index: u32) -> String {
    match handler.code.get(index as usize) {
        Some(inst) => {
            let label = |at: u32| handler.labels.iter().find(|l| l.at == at).map_or_else(|| format!("@{at}"), |l| name(&l.name));
            operands(module, inst, &label)
        }
        None => format!("@{index}"),
    }
}

/// The module as source text can say it: of equal names of one kind the later ones get a number,
/// labels are in the order of their places and those outside are gone, there are no more lines than
/// instructions, a `jump` out of reach is a `jump.w`.
pub fn normalise(module: &Module) -> Module {
    let mut m = module.clone();
    unique(m.ports.iter_mut().map(|p| &mut p.name));
    unique(m.coprocessors.iter_mut().map(|c| &mut c.alias));
    unique(m.info_fields.iter_mut().map(|f| &mut f.name));
    let mut sets: Vec<String> = m.sets.iter().map(|s| s.name().to_owned()).collect();
    unique(sets.iter_mut());
    unique(m.tables.iter_mut().map(|t| &mut t.name));
    unique(m.controls.iter_mut().map(|c| &mut c.name));
    m.sets = m.sets.iter().zip(&sets).map(|(s, name)| renamed(s, name)).collect();
    tidy_labels(&mut m.data_labels, module.data.len());
    for kind in HandlerKind::ALL {
        if let Some(h) = m.handler_mut(kind) {
            tidy_labels(&mut h.labels, h.code.len());
            h.lines.truncate(h.code.len());
            h.code.iter_mut().for_each(clear_unused);
            codec::relax(h);
        }
    }
    m
}

fn renamed(set: &Set, name: &str) -> Set {
    let new = if set.name() == name { None } else { Set::canonical(name, set.width(), set.ranges().to_vec()).ok() };
    new.unwrap_or_else(|| set.clone())
}

fn tidy_labels(labels: &mut Vec<Label>, end: usize) {
    labels.retain(|l| l.at as usize <= end);
    labels.sort_by_key(|l| l.at);
    unique(labels.iter_mut().map(|l| &mut l.name));
}

/// Numbers the second and later ones of equal names.
fn unique<'a>(names: impl Iterator<Item = &'a mut String>) {
    let mut names: Vec<&mut String> = names.collect();
    let mut taken: HashSet<String> = names.iter().map(|n| (**n).clone()).collect();
    let mut seen: HashMap<String, u32> = HashMap::new();
    for name in &mut names {
        let count = seen.entry(name.clone()).or_insert(0);
        *count += 1;
        if *count == 1 {
            continue;
        }
        let base = name.clone();
        while !taken.insert(format!("{base}#{count}")) {
            *count += 1;
        }
        **name = format!("{base}#{count}");
    }
}

fn clear_unused(inst: &mut Inst) {
    let imms = inst.op.row().imms;
    for (k, slot) in inst.imm.iter_mut().enumerate() {
        if matches!(imms.get(k), None | Some(Imm::Const | Imm::Switch)) {
            *slot = 0;
        }
    }
    if !imms.iter().any(|i| matches!(i, Imm::Const | Imm::Switch)) {
        inst.extra = Extra::None;
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

fn name(name: &str) -> String {
    if is_bare(name) { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\x22"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn number(v: u32) -> String {
    if v < 256 { v.to_string() } else { format!("{v:#x}") }
}

fn wide_number(limbs: &[u64]) -> String {
    let digits: String = limbs.iter().rev().map(|l| format!("{l:016x}")).collect();
    match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => format!("0x{digits}"),
    }
}

fn metadata(out: &mut String, m: &Module) {
    line(out, format_args!("segment .metadata\n  .source {}", quoted(&m.source)));
    if !m.name.is_empty() {
        line(out, format_args!("  .netpe_name {}", name(&m.name)));
    }
    if m.data_size > 0 {
        line(out, format_args!("  .datamem_size {}", m.data_size));
    }
    if m.info_size > 0 {
        line(out, format_args!("  .info_size {}", m.info_size));
    }
    for f in &m.info_fields {
        line(out, format_args!("  .info_field {}, {}, {}", name(&f.name), f.offset, f.size));
    }
    for c in &m.coprocessors {
        let alias = if c.alias == c.name { String::new() } else { format!(" as {}", name(&c.alias)) };
        line(out, format_args!("  .use_coprocessor {}{alias}", name(&c.name)));
    }
    out.push_str("ends\n");
}

fn data(out: &mut String, m: &Module) {
    if m.data.is_empty() && m.data_labels.is_empty() {
        return;
    }
    out.push_str("\nsegment .data\n");
    let mut labels = m.data_labels.iter().peekable();
    let mut at = 0;
    loop {
        while let Some(l) = labels.next_if(|l| l.at as usize <= at) {
            line(out, format_args!("{}:", name(&l.name)));
        }
        if at >= m.data.len() {
            break;
        }
        let label = labels.peek().map_or(m.data.len(), |l| l.at as usize);
        let end = label.min(at + DATA_LINE).min(m.data.len());
        line(out, format_args!("  db {}", bytes(&m.data[at..end])));
        at = end;
    }
    out.push_str("ends\n");
}

fn bytes(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).ok().filter(|t| t.len() > 3 && t.chars().all(|c| c.is_ascii_graphic() || c == ' '));
    match text {
        Some(text) => quoted(text),
        None => bytes.iter().map(|b| format!("{b:#04x}")).collect::<Vec<_>>().join(", "),
    }
}

fn sets(out: &mut String, sets: &[Set]) {
    if sets.is_empty() {
        return;
    }
    out.push_str("\nsegment .sets\n");
    for set in sets {
        line(out, format_args!("  .set {}, {}", name(set.name()), set.width()));
        for ranges in set.ranges().chunks(SET_LINE) {
            let ranges: Vec<String> = ranges.iter().map(|r| range(set.width(), &r.low, &r.high)).collect();
            line(out, format_args!("    {}", ranges.join(", ")));
        }
    }
    out.push_str("ends\n");
}

fn range(width: u16, low: &[u64], high: &[u64]) -> String {
    let value = |v: &[u64]| match (width, v) {
        (32, [v]) => std::net::Ipv4Addr::from_bits(*v as u32).to_string(),
        (..=16, [v]) => v.to_string(),
        _ => wide_number(v),
    };
    match (low == high, prefix_length(width, low, high)) {
        (true, _) => value(low),
        (false, Some(length)) if width >= 32 => format!("{}/{length}", value(low)),
        _ => format!("{}-{}", value(low), value(high)),
    }
}

/// The length of the prefix that the range is.
fn prefix_length(width: u16, low: &[u64], high: &[u64]) -> Option<u16> {
    let free = (0..u32::from(width)).take_while(|i| !wide::bit(low, *i) && wide::bit(high, *i)).count();
    let same = (free as u32..u32::from(width)).all(|i| wide::bit(low, i) == wide::bit(high, i));
    same.then(|| width - free as u16)
}

fn handler(out: &mut String, m: &Module, kind: HandlerKind, h: &Handler) {
    line(out, format_args!("\nsegment .{}\n.maxstacksize {}", kind.name(), h.max_stack));
    if !h.locals.is_empty() {
        line(out, format_args!(".locals {}", h.locals.len()));
    }
    for (i, width) in h.locals.iter().enumerate().filter(|(_, w)| **w != 32) {
        match m.tables.get(usize::from(width ^ ENTRY)) {
            Some(table) => line(out, format_args!(".local {i}, entry {}", name(&table.name))),
            None => line(out, format_args!(".local {i}, {width}")),
        }
    }
    line(out, format_args!(".lines {}", lines(&h.lines)));
    let labels = labels(h);
    let label = |at: u32| labels.get(&at).and_then(|l| l.first().cloned()).unwrap_or_else(|| format!("@{at}"));
    for at in 0..=h.code.len() as u32 {
        for l in labels.get(&at).into_iter().flatten() {
            line(out, format_args!("{l}:"));
        }
        if let Some(inst) = h.code.get(at as usize) {
            line(out, format_args!("  {}", operands(m, inst, &label)));
        }
    }
    out.push_str("ends\n");
}

/// The labels at each place, made up where a target has none.
fn labels(h: &Handler) -> BTreeMap<u32, Vec<String>> {
    let mut all: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for l in &h.labels {
        all.entry(l.at).or_default().push(name(&l.name));
    }
    for target in h.code.iter().flat_map(Inst::targets) {
        all.entry(target).or_insert_with(|| vec![format!("@{target}")]);
    }
    all
}

/// Runs of lines: `n+k` counts up, `n*k` repeats.
fn lines(lines: &[u32]) -> String {
    let mut runs = Vec::new();
    let mut rest = lines;
    while let [first, ..] = rest {
        let run = |step: u32| rest.iter().zip(0u32..).take_while(|(l, i)| **l == first.wrapping_add(step * i)).count();
        let (up, same) = (run(1), run(0));
        runs.push(match up.max(same) {
            1 => first.to_string(),
            _ if up >= same => format!("{first}+{}", up - 1),
            _ => format!("{first}*{same}"),
        });
        rest = &rest[up.max(same)..];
    }
    if runs.is_empty() { "none".to_owned() } else { runs.join(", ") }
}

/// Mnemonic and operands.
fn operands(m: &Module, inst: &Inst, label: &dyn Fn(u32) -> String) -> String {
    let row = inst.op.row();
    let mut text = row.mnemonic.to_owned();
    for (k, imm) in row.imms.iter().enumerate() {
        text.push_str(if k == 0 { " " } else { ", " });
        text.push_str(&operand(m, inst, k, *imm, label));
    }
    text
}

fn operand(m: &Module, inst: &Inst, k: usize, imm: Imm, label: &dyn Fn(u32) -> String) -> String {
    let v = inst.imm[k];
    let named = |found: Option<String>| found.unwrap_or_else(|| v.to_string());
    match imm {
        Imm::Label | Imm::ShortLabel => label(v),
        Imm::Port => named(m.port(v).map(|p| name(&p.name))),
        Imm::Copro => named(m.coprocessors.get(v as usize).map(|c| name(&c.alias))),
        Imm::CoproOp => named(operation(m, inst.imm[0], v)),
        Imm::Offset => named(m.data_labels.iter().find(|l| l.at == v).map(|l| name(&l.name))),
        Imm::Table => named(m.tables.get(v as usize).map(|t| name(&t.name))),
        Imm::Set => named(m.sets.get(v as usize).map(|s| name(s.name()))),
        Imm::Const => match &inst.extra {
            Extra::Const(limbs) => wide_number(limbs),
            _ => "0".to_owned(),
        },
        Imm::Switch => match &inst.extra {
            Extra::Switch(s) => cases(s, label),
            _ => "0:".to_owned(),
        },
        Imm::U32 if matches!(inst.op, Op::Push | Op::Push2) => number(v),
        Imm::U32 | Imm::U8 | Imm::Width | Imm::Reg | Imm::Local | Imm::Timer => v.to_string(),
    }
}

fn operation(m: &Module, copro: u32, operation: u32) -> Option<String> {
    let descriptor = copro::find(&m.coprocessors.get(copro as usize)?.name)?;
    descriptor.operations.get(operation as usize).map(|name| (*name).to_owned())
}

fn cases(s: &Switch, label: &dyn Fn(u32) -> String) -> String {
    let mut text = format!("{}:", s.cases.len());
    for (key, target) in &s.cases {
        let _ = write!(text, "\n    {}: {}", number(*key), label(*target));
    }
    let _ = write!(text, "\n    default: {}", label(s.default));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::assemble;
    use crate::module::Port;

    fn round_trip(source: &str) -> String {
        let module = assemble(source, "t.netil").unwrap_or_else(|e| panic!("{e}"));
        let text = disassemble(&module);
        assert_eq!(assemble(&text, "other").unwrap_or_else(|e| panic!("{e}\n{text}")), module);
        assert_eq!(normalise(&module), module);
        text
    }

    #[test]
    fn the_papers_filter() {
        let text = round_trip(
            "segment .push\n.maxstacksize 10\npop\npush 12\nupload.16\npush 0x800\njcmp.neq discard\nret 1\ndiscard:\nret 0\nends",
        );
        let want = "segment .metadata\n  .source \"t.netil\"\nends\n\nsegment .push\n.maxstacksize 10\n.lines 3+5, 8, 10*2\n  pop\n  push 12\n  upload.16\n  push 0x800\n  jcmp.neq discard\n  push 1\n  ret\ndiscard:\n  push 0\n  ret\nends\n";
        assert_eq!(text, want);
    }

    #[test]
    fn everything_else() {
        let text = round_trip(
            "segment .metadata .netpe_name \"a b\" .datamem_size 9 .info_size 8 .info_field f, 0, 4 .use_coprocessor lookup .use_coprocessor lookup as two ends
             segment .ports push_input in push_output \"ends\", out ends
             segment .data a: b db \"abcdef\", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 c: ends
             segment .sets .set s, 16 1-5, 9 .set n, 32 10.0.0.0/8, 1.2.3.4 .set e, 7 .set v6, 128 2001:db8::/32, 1-2 ends
             segment .init nop ret ends
             segment .pull .locals 1 .local 1, 48 pop copro.init two, c pop copro.invoke two, read_value push 1
              switch 2: 7: x 0x800: @y default: @y @y: nop x: w.push 100, 0xffffffffffffffff0 pop pkt.send \"ends\" end: ends",
        );
        for part in [
            "  .use_coprocessor lookup as two\n",
            "a:\nb:\n  db 0x61, ",
            "    1-5, 9\n",
            "    1.2.3.4, 10.0.0.0/8\n",
            "  .set e, 7\n  .set v6, 128\n    0x1-0x2, 0x20010db8000000000000000000000000/32\n",
            "  switch 2:\n    7: x\n    0x800: @6\n    default: @6\n@6:\n",
            ".locals 2\n.local 1, 48\n",
            "  copro.invoke two, read_value\n",
            "  w.push 100, 0xffffffffffffffff0\n",
            "  pkt.send \"ends\"\nend:\nends\n",
        ] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
    }

    #[test]
    fn equal_names_get_numbers() {
        let port = |name: &str| Port { name: name.to_owned(), kind: PortKind::PushOutput };
        let label = |name: &str, at| Label { name: name.to_owned(), at };
        let labels = vec![label("l", 1), label("l", 0), label("far", 9)];
        let push = Handler { code: vec![Inst::with(Op::Jump, 0), Inst::new(Op::Ret)], labels, lines: vec![1; 9], ..Handler::default() };
        let m = Module { ports: vec![port("a"), port("a#2"), port("a")], push: Some(push), ..Module::default() };
        let n = normalise(&m);
        assert_eq!(n.ports.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["a", "a#2", "a#3"]);
        let push = n.push.as_ref().unwrap();
        assert_eq!((&push.labels[..], push.lines.len()), (&[label("l", 0), label("l#2", 1)][..], 2));
        assert_eq!(assemble(&disassemble(&m), "").unwrap(), n);
    }

    #[test]
    fn names_of_any_characters() {
        let ports =
            ["", "\"", "\\x41", "a\nb\r", "é;", "@1", "0x1", "db", "push"].map(|n| Port { name: n.to_owned(), kind: PortKind::PullInput });
        let m = Module { ports: ports.into(), name: "\u{7f}".into(), ..Module::default() };
        assert_eq!(assemble(&disassemble(&m), "").unwrap(), m);
    }

    #[test]
    fn modules_that_make_no_sense_have_a_text() {
        let code = crate::table::TABLE.iter().map(|row| Inst { op: row.op, imm: [u32::MAX; 3], extra: Extra::None }).collect();
        let m = Module { init: Some(Handler { code, ..Handler::default() }), ..Module::default() };
        assert!(disassemble(&m).contains("jump.w @4294967295"));
        let init = m.init.as_ref().unwrap();
        assert!((0..=init.code.len() as u32).all(|i| !display_inst(&m, init, i).is_empty()));
    }
}
