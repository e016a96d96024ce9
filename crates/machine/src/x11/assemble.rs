//! Reads slot programs as [`super::listing`] writes them, and as people write them: labels in place
//! of stages, lines without numbers.
//!
//! A line without a number is the next stage that can take it: an instruction skips access points,
//! and `point:` goes on to the next of them. A comment begins with `;`, a label ends with `:`, and
//! the label `end` is the end of the pipeline.

use super::Machine;
use super::code::{
    Access, Alu, AluOp, Branch, Change, FlagOp, If, Memory, Move, MoveOperand, Offset, Program, Slots, Span, Src, Stage, Store, Target,
    Verdict,
};
use super::listing::{alu_name, flag_name};
use netil::set::Set;
use std::collections::HashMap;

/// What is wrong, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// From 1.
    pub line: usize,
    /// What.
    pub what: String,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Wrong {}

type Parsed<T> = Result<T, String>;

/// A stage whose branches lead to labels.
struct Draft {
    line: usize,
    stage: Stage,
    /// Names of targets, in their order.
    targets: Vec<String>,
}

/// A program of that text, which may ask for these sets and end by these traps.
///
/// # Errors
/// A line is wrong.
pub fn assemble(text: &str, sets: Vec<Set>, traps: Vec<super::code::Trap>, machine: &Machine) -> Result<Program, Wrong> {
    let (mut drafts, mut labels, mut next): (HashMap<usize, Draft>, HashMap<String, usize>, usize) = (HashMap::new(), HashMap::new(), 0);
    let mut pending: Vec<String> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.split(';').next().unwrap_or_default().trim();
        let told = |what: String| Wrong { line: n + 1, what };
        if let Some(label) = line.strip_suffix(':').filter(|label| is_name(label)) {
            pending.push(label.to_owned());
            continue;
        }
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = (line[..digits].parse::<usize>().ok(), line[digits..].trim());
        if rest == "end" {
            next = next.max(number.unwrap_or(0));
        }
        if rest.is_empty() || rest == "end" {
            continue;
        }
        let (stage, targets) = stage(rest).map_err(told)?;
        let at = place(&stage, number, next, machine).map_err(told)?;
        labels.extend(pending.drain(..).map(|label| (label, at)));
        drafts.insert(at, Draft { line: n + 1, stage, targets });
        next = at + 1;
    }
    labels.extend(pending.into_iter().map(|label| (label, next)));
    labels.insert("end".to_owned(), next);
    let stages = (0..next).map(|at| finished(at, drafts.remove(&at), &labels, machine)).collect::<Result<_, _>>()?;
    Ok(Program { stages, sets, traps })
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The stage that a line is for.
fn place(stage: &Stage, number: Option<usize>, next: usize, machine: &Machine) -> Parsed<usize> {
    let point = matches!(stage, Stage::Point(_));
    let at = number.unwrap_or_else(|| (next..).find(|at| machine.is_point(*at) == point).unwrap_or(next));
    match (at < next, machine.is_point(at) == point) {
        (true, _) => Err(format!("stage {at} comes before the line above")),
        (_, false) => Err(format!("stage {at} is {} access point", if point { "no" } else { "an" })),
        _ if at > 1 << 16 => Err(format!("stage {at} is further than any pipeline goes")),
        _ => Ok(at),
    }
}

fn finished(at: usize, draft: Option<Draft>, labels: &HashMap<String, usize>, machine: &Machine) -> Result<Stage, Wrong> {
    let empty = if machine.is_point(at) { Stage::Point(None) } else { Stage::Slots(Slots::default()) };
    let Some(mut draft) = draft else { return Ok(empty) };
    let mut names = draft.targets.into_iter();
    let mut target = || -> Result<usize, Wrong> {
        let name = names.next().unwrap_or_default();
        let stage = labels.get(&name).copied().or_else(|| name.parse().ok());
        match stage {
            Some(stage) if stage > at => Ok(stage),
            Some(_) => Err(Wrong { line: draft.line, what: format!("`{name}` lies behind: branches lead forward") }),
            None => Err(Wrong { line: draft.line, what: format!("there is no label `{name}`") }),
        }
    };
    match &mut draft.stage {
        Stage::Slots(Slots { branch: Some(Branch { to: Target::Stage(to), .. }), .. }) => *to = target()?,
        Stage::Point(Some(Access::Jump { cases, default, .. })) => {
            for (_, to) in cases {
                *to = target()?;
            }
            *default = target()?;
        }
        _ => {}
    }
    Ok(draft.stage)
}

fn stage(text: &str) -> Parsed<(Stage, Vec<String>)> {
    if let Some(text) = text.strip_prefix("point:") {
        let (access, targets) = point(text.trim())?;
        return Ok((Stage::Point(Some(access)), targets));
    }
    let (mut slots, mut targets) = (Slots::default(), Vec::new());
    for text in text.split('|').map(str::trim).filter(|slot| !slot.is_empty()) {
        let (guard, rest) = guard(text)?;
        let twice = |used: bool| if used { Err(format!("`{text}` is a second operation for its slot")) } else { Ok(()) };
        if let Some(to) = rest.strip_prefix("goto ") {
            twice(slots.branch.is_some())?;
            targets.push(to.trim().to_owned());
            slots.branch = Some(Branch { guard, to: Target::Stage(0) });
        } else if let Some(trap) = rest.strip_prefix("trap ") {
            twice(slots.branch.is_some())?;
            slots.branch = Some(Branch { guard, to: Target::Trap(number(trap)? as usize) });
        } else if let Some(alu) = alu(rest)? {
            twice(slots.alu.is_some())?;
            slots.alu = Some(unguarded(guard, alu, text)?);
        } else if let Some(load) = offset(rest)? {
            twice(slots.load.is_some())?;
            slots.load = Some(unguarded(guard, load, text)?);
        } else {
            twice(slots.mov.is_some())?;
            slots.mov = Some(moved(guard, rest)?);
        }
    }
    Ok((Stage::Slots(slots), targets))
}

fn unguarded<T>(guard: Option<If>, value: T, text: &str) -> Parsed<T> {
    if guard.is_none() { Ok(value) } else { Err(format!("`{text}`: only moves and branches have conditions")) }
}

fn guard(text: &str) -> Parsed<(Option<If>, &str)> {
    let Some(rest) = text.strip_prefix("if ") else { return Ok((None, text)) };
    let (condition, rest) = rest.trim().split_once(' ').ok_or("a condition of nothing")?;
    Ok((Some(condition_of(condition)?), rest.trim()))
}

fn condition_of(text: &str) -> Parsed<If> {
    let (name, holds) = text.trim().strip_prefix('!').map_or((text.trim(), true), |name| (name, false));
    Ok(If { flag: flag(name)?, holds })
}

fn numbered(text: &str, letter: char) -> Option<u16> {
    text.trim().strip_prefix(letter)?.parse().ok().filter(|n| *n < 1 << 12)
}

fn flag(text: &str) -> Parsed<u16> {
    numbered(text, 'f').ok_or_else(|| format!("`{text}` is no flag: f0, f1, …"))
}

fn reg(text: &str) -> Parsed<u16> {
    numbered(text, 'r').ok_or_else(|| format!("`{text}` is no register: r0, r1, …"))
}

fn number(text: &str) -> Parsed<u32> {
    let text = text.trim();
    let parsed = text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok());
    parsed.ok_or_else(|| format!("`{text}` is no number"))
}

fn src(text: &str) -> Parsed<Src> {
    if let Some(reg) = numbered(text, 'r') {
        return Ok(Src::Reg(reg));
    }
    let value = number(text)?;
    u16::try_from(value).map(Src::Imm).map_err(|_| format!("`{}` is more than 16 bits", text.trim()))
}

fn pair(text: &str) -> Parsed<(&str, &str)> {
    text.split_once(',').ok_or_else(|| format!("`{text}`: two operands are wanted"))
}

/// `r1, f2 = op a, b [with f3]`, or `f1 = both f2, !f3`.
fn alu(text: &str) -> Parsed<Option<Alu>> {
    let Some((left, right)) = text.split_once('=') else { return Ok(None) };
    let Some((name, rest)) = right.trim().split_once(' ') else { return Ok(None) };
    if let Some(op) = [FlagOp::And, FlagOp::Or, FlagOp::Xor].into_iter().find(|op| flag_name(*op) == name) {
        let (a, b) = pair(rest)?;
        return Ok(Some(Alu::Flags { op, flag: flag(left)?, a: condition_of(a)?, b: condition_of(b)? }));
    }
    let Some((op, _)) = AluOp::ALL.into_iter().find(|(_, known)| *known == name) else { return Ok(None) };
    let (operands, with) = match rest.split_once(" with ") {
        Some((operands, with)) => (operands, Some(flag(with)?)),
        None => (rest, None),
    };
    let (a, b) = pair(operands)?;
    let (mut dst, mut to) = (None, None);
    for name in left.split(',') {
        match numbered(name, 'r') {
            Some(reg) => dst = Some(reg),
            None => to = Some(flag(name)?),
        }
    }
    Ok(Some(Alu::Words { op, dst, flag: to, a: src(a)?, b: src(b)?, with }))
}

/// What is in brackets behind a name: `packet[12:2]`.
fn brackets<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.trim().strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')
}

fn size(text: &str, allowed: &[u8]) -> Parsed<u8> {
    let n = number(text)?;
    allowed.iter().copied().find(|size| u32::from(*size) == n).ok_or_else(|| format!("{n} bytes at once; {allowed:?} are possible"))
}

/// `r1 = packet[r0 + 14:2]`, or the other way round.
fn offset(text: &str) -> Parsed<Option<Offset>> {
    let Some((left, right)) = text.split_once('=') else { return Ok(None) };
    let computed = |text: &str| brackets(text, "packet").filter(|inner| inner.trim_start().starts_with('r')).map(str::to_owned);
    let (inner, value, store) = match (computed(left), computed(right)) {
        (Some(inner), _) => (inner, src(right)?, true),
        (_, Some(inner)) => (inner, Src::Reg(reg(left)?), false),
        _ => return Ok(None),
    };
    let (place, bytes) = inner.split_once(':').ok_or("how many bytes? packet[r0 + 14:2]")?;
    let (base, at) = match place.split_once('-') {
        Some((base, at)) => (base, before(at)?),
        None => {
            let (base, at) = place.split_once('+').unwrap_or((place, "0"));
            (base, u16::try_from(number(at)?).map_err(|_| "an offset of more than 16 bits".to_owned())?)
        }
    };
    Ok(Some(Offset { store, value, base: reg(base)?, at, bytes: size(bytes, &[1, 2])? }))
}

/// A place so many bytes before the packet's beginning.
fn before(text: &str) -> Parsed<u16> {
    match number(text)? {
        bytes @ 1..=256 => Ok((0x1_0000 - bytes) as u16),
        bytes => Err(format!("a place {bytes} bytes before the packet: 256 are the most")),
    }
}

fn moved(guard: Option<If>, text: &str) -> Parsed<Move> {
    let ends = || Change::ALL.iter().find_map(|(change, name)| Some((*change, text.strip_prefix(name)?.strip_prefix(' ')?)));
    if let Some((change, bytes)) = ends() {
        return Ok(Move { guard, to: MoveOperand::End(change), from: place_of(bytes)? });
    }
    if let Some(verdict) = text.strip_prefix("out ") {
        if let Some((port, from)) = verdict.strip_prefix("port ").and_then(|port| port.split_once('+')) {
            return Ok(Move { guard, to: MoveOperand::OutBy(number(port)?), from: MoveOperand::Reg(reg(from)?) });
        }
        let verdict = match verdict.trim().split_once(' ') {
            Some(("port", port)) => Verdict::Port(number(port)?),
            Some(("drop", reason)) => Verdict::Drop(number(reason)?.saturating_add(1)),
            _ if verdict.trim() == "drop" => Verdict::Drop(0),
            _ => return Err(format!("`{text}`: out port N, or out drop")),
        };
        return Ok(Move { guard, to: MoveOperand::Out(verdict), from: MoveOperand::Imm(0) });
    }
    let (left, right) = text.split_once('=').ok_or_else(|| format!("`{text}` is no operation"))?;
    let (to, from) = (place_of(left)?, place_of(right)?);
    match to {
        MoveOperand::Imm(_) | MoveOperand::Len | MoveOperand::WireLen | MoveOperand::Port => {
            Err(format!("`{}` cannot be written", left.trim()))
        }
        _ => Ok(Move { guard, to, from }),
    }
}

fn place_of(text: &str) -> Parsed<MoveOperand> {
    let text = text.trim();
    let range = |inner: &str, allowed: &[u8]| -> Parsed<(u16, u8)> {
        let (at, bytes) = inner.split_once(':').ok_or("how many bytes? packet[12:2]")?;
        let bytes = size(bytes, allowed)?;
        let at = at.trim().strip_prefix('-').map_or_else(|| number(at), |at| before(at).map(u32::from))?;
        let at = u16::try_from(at).map_err(|_| "a place of more than 16 bits".to_owned())?;
        if bytes > 1 && at % 2 == 1 { Err(format!("{bytes} bytes at the odd place {at}")) } else { Ok((at, bytes)) }
    };
    if let Some(inner) = brackets(text, "packet") {
        return range(inner, &[1, 2, 4]).map(|(at, bytes)| MoveOperand::Packet(at, bytes));
    }
    if let Some(inner) = brackets(text, "info") {
        return range(inner, &[1, 2, 4]).map(|(at, bytes)| MoveOperand::Info(at, bytes));
    }
    if let Some((high, low)) = text.split_once(':') {
        let (high, low) = (reg(high)?, reg(low)?);
        return if low == high + 1 { Ok(MoveOperand::Pair(high)) } else { Err(format!("`{text}`: a pair is of neighbours, as in r2:r3")) };
    }
    Ok(match text {
        "len" => MoveOperand::Len,
        "wirelen" => MoveOperand::WireLen,
        "port" => MoveOperand::Port,
        _ => match src(text)? {
            Src::Reg(reg) => MoveOperand::Reg(reg),
            Src::Imm(value) => MoveOperand::Imm(value),
        },
    })
}

/// Words in parentheses, the highest first; and what is behind them.
fn words(text: &str) -> Parsed<(Vec<Src>, &str)> {
    let wrong = || format!("`{text}`: words in parentheses are wanted");
    let (inner, rest) = text.trim().strip_prefix('(').and_then(|text| text.split_once(')')).ok_or_else(wrong)?;
    let mut words = inner.split(',').map(src).collect::<Parsed<Vec<_>>>()?;
    words.reverse();
    Ok((words, rest.trim()))
}

fn registers(words: &[Src]) -> Parsed<Vec<u16>> {
    words.iter().map(|word| if let Src::Reg(reg) = word { Ok(*reg) } else { Err("a constant cannot be written".to_owned()) }).collect()
}

fn memory(text: &str) -> Parsed<Memory> {
    let (name, element) = text.trim().split_once('@').unwrap_or((text.trim(), "0"));
    let store = match name {
        "data" => Store::Data,
        "shared" => Store::Shared,
        "init" => Store::Initialised,
        _ => Store::Table(numbered(name, 't').ok_or_else(|| format!("`{name}` is no memory: data, shared, init, t0, …"))?.into()),
    };
    Ok(Memory { element: number(element)? as usize, store })
}

/// `data[r0 + 4:4]`, `t0[r1 + 0:2 big]`.
fn span(text: &str) -> Parsed<Span> {
    let wrong = || format!("`{text}`: bytes of a memory are wanted, as in data[4:4]");
    let (name, inner) = text.trim().strip_suffix(']').and_then(|text| text.split_once('[')).ok_or_else(wrong)?;
    let (place, bytes) = inner.split_once(':').ok_or_else(wrong)?;
    let (bytes, big) = bytes.trim().strip_suffix("big").map_or((bytes, false), |bytes| (bytes, true));
    let (base, at) = match place.split_once('+') {
        Some((base, at)) => (Some(src(base)?), at),
        None => (None, place),
    };
    Ok(Span { memory: memory(name)?, base, at: number(at)?, bytes: number(bytes)?, big })
}

/// Parts of an entry: `[0:2] to (r1)`.
fn parts<'t>(mut text: &'t str, word: &str) -> Parsed<Vec<(u32, u32, Vec<Src>)>> {
    let mut all = Vec::new();
    while !text.is_empty() {
        let wrong = || format!("`{text}`: part of an entry is wanted, as in [0:2] {word} (r1)");
        let (range, rest): (&str, &'t str) = text.strip_prefix('[').and_then(|text| text.split_once(']')).ok_or_else(wrong)?;
        let (at, bytes) = range.split_once(':').ok_or_else(wrong)?;
        let (list, rest) = words(rest.trim().strip_prefix(word).ok_or_else(wrong)?)?;
        all.push((number(at)?, number(bytes)?, list));
        text = rest;
    }
    Ok(all)
}

fn point(text: &str) -> Parsed<(Access, Vec<String>)> {
    if let Some(rest) = text.strip_prefix("goto by ") {
        return jump(rest);
    }
    let verb = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    let (left, right) = match text.split_once('=') {
        Some((left, right)) => (Some(left.trim()), right.trim()),
        None => (None, text),
    };
    let access = match (left, verb(right).as_str()) {
        (Some(left), "has") => {
            let (set, key) = right[3..].trim().split_once(' ').ok_or("has SET (KEY)")?;
            let set = numbered(set, 's').ok_or_else(|| format!("`{set}` is no set: s0, s1, …"))?;
            Access::Has { set: set.into(), key: words(key)?.0, flag: flag(left)? }
        }
        (Some(left), "delete") => {
            let (table, key) = right[6..].trim().split_once(' ').ok_or("delete TABLE (KEY)")?;
            Access::Delete { table: memory(table)?, key: words(key)?.0, flag: flag(left)? }
        }
        (_, "find" | "use" | "insert") => lookup(left, right)?,
        (Some(left), _) if left.starts_with('(') => Access::Read(span(right)?, registers(&words(left)?.0)?),
        (Some(left), _) => match left
            .rsplit_once(' ')
            .and_then(|(place, name)| Some((place, AluOp::ALL.into_iter().find(|(op, _)| alu_name(*op) == name)?.0)))
        {
            Some((place, op)) => Access::Update(span(place)?, op, words(right)?.0),
            None => Access::Write(span(left)?, words(right)?.0),
        },
        (None, _) => return Err(format!("`{text}` is no operation of an access point")),
    };
    Ok((access, Vec::new()))
}

fn lookup(left: Option<&str>, right: &str) -> Parsed<Access> {
    let (verb, rest) = right.split_once(' ').ok_or("a table is wanted")?;
    let (table, rest) = rest.trim().split_once(' ').ok_or("a key is wanted")?;
    let (table, (key, rest)) = (memory(table)?, words(rest)?);
    let entry = left.map(reg).transpose()?;
    if verb == "insert" {
        return Ok(Access::Insert { table, key, entry, data: parts(rest, "of")? });
    }
    let read = |(at, bytes, words): (u32, u32, Vec<Src>)| Ok((at, bytes, registers(&words)?));
    let data = parts(rest, "to")?.into_iter().map(read).collect::<Parsed<_>>()?;
    Ok(Access::Find { table, refresh: verb == "use", key, entry, data })
}

/// `goto by (r1, r0) 0x6: tcp, 0x11: udp, else other`.
fn jump(text: &str) -> Parsed<(Access, Vec<String>)> {
    let (key, rest) = words(text)?;
    let (list, default) = rest.rsplit_once("else ").ok_or("where do others go? else LABEL")?;
    let (mut cases, mut targets) = (Vec::new(), Vec::new());
    for case in list.split(',').map(str::trim).filter(|case| !case.is_empty()) {
        let (value, to) = case.split_once(':').ok_or_else(|| format!("`{case}`: KEY: LABEL is wanted"))?;
        cases.push((number(value)?, 0));
        targets.push(to.trim().to_owned());
    }
    targets.push(default.trim().to_owned());
    Ok((Access::Jump { key, cases, default: 0 }, targets))
}
