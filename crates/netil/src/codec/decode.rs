//! Bytes to module. The bytes may be hostile: every count is checked against what is left and
//! against the limits before anything is allocated for it.

use super::reader::{Reader, Result, error, width};
use super::{DecodeError, DecodeLimits, DecodeReason, HEADER, MAGIC, SKIPPABLE, VERSION, section, tables};
use crate::digest;
use crate::module::{CoproUse, Extra, Handler, HandlerKind, InfoField, Inst, Label, Module, Port, PortKind, Switch};
use crate::set::{Range, Set};
use crate::table::{EXTENSION, Imm, Op};
use std::sync::OnceLock;

pub(super) fn module(bytes: &[u8], limits: &DecodeLimits) -> Result<Module> {
    header(bytes, limits)?;
    let mut r = Reader::new(bytes, HEADER);
    let mut d = Decoder { left: *limits, module: Module::default() };
    let mut last = 0;
    while r.at < r.end {
        let at = r.at;
        let id = r.u16()?;
        let mut payload = r.part()?;
        if id <= last || (last == 0 && id != section::METADATA) || payload.at == payload.end {
            return error(at, DecodeReason::Misplaced(id));
        }
        d.section(id, at, &mut payload)?;
        payload.finish()?;
        last = id;
    }
    if last == 0 { error(r.at, DecodeReason::Misplaced(section::METADATA)) } else { Ok(d.module) }
}

fn header(bytes: &[u8], limits: &DecodeLimits) -> Result<()> {
    let mut r = Reader::new(bytes, 0);
    if bytes.len() > limits.bytes {
        return error(limits.bytes, DecodeReason::Limit("bytes"));
    }
    if bytes.get(..4) != Some(&MAGIC) {
        return error(0, DecodeReason::Magic);
    }
    r.at = 4;
    let (version, reserved) = (r.u16()?, r.u16()?);
    if version != VERSION {
        return error(4, DecodeReason::Version(version));
    }
    if reserved != 0 {
        return error(6, DecodeReason::Number("a reserved field"));
    }
    let (length, crc) = (r.u32()?, r.u32()?);
    if length as usize != bytes.len() - HEADER {
        return error(8, DecodeReason::Length);
    }
    if crc != digest::crc32(&[&bytes[..12], &bytes[HEADER..]]) {
        return error(12, DecodeReason::Checksum);
    }
    Ok(())
}

struct Decoder {
    left: DecodeLimits,
    module: Module,
}

impl Decoder {
    fn section(&mut self, id: u16, at: usize, r: &mut Reader<'_>) -> Result<()> {
        let (m, left) = (&mut self.module, &mut self.left);
        let names = (&mut left.names, "names");
        match id {
            section::METADATA => (m.name, m.data_size, m.info_size) = (r.text()?, r.u32()?, r.u32()?),
            section::PORTS => m.ports = list(r, 5, names, port)?,
            section::COPROCESSORS => m.coprocessors = list(r, 8, names, |r| Ok(CoproUse { alias: r.text()?, name: r.text()? }))?,
            section::DATA => m.data = data(r, left.data)?,
            section::TABLES => m.tables = list(r, 27, names, |r| tables::table(r, &mut left.set_ranges))?,
            section::CONTROLS => m.controls = list(r, 12, names, tables::control)?,
            section::REASONS => m.reasons = list(r, 8, names, label)?,
            section::SETS => m.sets = list(r, 10, names, |r| set(r, &mut left.set_ranges))?,
            section::SOURCE => m.source = source(at, r)?,
            section::FIELDS => m.info_fields = list(r, 12, names, field)?,
            section::DATA_LABELS => m.data_labels = list(r, 8, names, label)?,
            _ => return self.handler_section(id, at, r),
        }
        Ok(())
    }

    fn handler_section(&mut self, id: u16, at: usize, r: &mut Reader<'_>) -> Result<()> {
        let numbered = |base| id.checked_sub(base).and_then(|k| HandlerKind::ALL.get(usize::from(k)).copied());
        let missing = DecodeError { offset: at, reason: DecodeReason::Misplaced(id) };
        if let Some(kind) = numbered(section::HANDLER) {
            let handler = self.handler(r)?;
            *self.module.handler_mut(kind) = Some(handler);
        } else if let Some(kind) = numbered(section::LINES) {
            let handler = self.module.handler_mut(kind).as_mut().ok_or(missing)?;
            handler.lines = lines(r, handler.code.len() as u32)?;
        } else if let Some(kind) = numbered(section::LABELS) {
            let labels = list(r, 8, (&mut self.left.names, "names"), label)?;
            self.module.handler_mut(kind).as_mut().ok_or(missing)?.labels = labels;
        } else if id & SKIPPABLE != 0 {
            r.at = r.end;
        } else {
            return error(at, DecodeReason::Section(id));
        }
        Ok(())
    }

    fn handler(&mut self, r: &mut Reader<'_>) -> Result<Handler> {
        let max_stack = r.u32()?;
        let locals = r.count(2, &mut self.left.names, "locals")?;
        let locals = (0..locals).map(|_| tables::local(r)).collect::<Result<_>>()?;
        let code = self.code(r)?;
        Ok(Handler { code, locals, max_stack, lines: Vec::new(), labels: Vec::new() })
    }

    fn code(&mut self, r: &mut Reader<'_>) -> Result<Vec<Inst>> {
        let n = r.count(1, &mut self.left.instructions, "instructions")?;
        let base = r.at;
        let (mut code, mut starts) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for _ in 0..n {
            starts.push((r.at - base) as u32);
            code.push(self.instruction(r, base)?);
        }
        let find = |target: u32| starts.binary_search(&target).map(|i| i as u32).ok();
        for (inst, start) in code.iter_mut().zip(&starts) {
            resolve(inst, find).ok_or(DecodeError { offset: base + *start as usize, reason: DecodeReason::Target })?;
        }
        Ok(code)
    }

    /// An instruction whose targets are still offsets from `base`.
    fn instruction(&mut self, r: &mut Reader<'_>, base: usize) -> Result<Inst> {
        let op = opcode(r)?;
        let mut inst = Inst::new(op);
        for (k, imm) in op.row().imms.iter().enumerate() {
            inst.imm[k] = match imm {
                Imm::U8 => r.u8()?.into(),
                Imm::Width => width(r)?.into(),
                Imm::Label => r.i32().and_then(|d| target(r, base, d))?,
                Imm::ShortLabel => r.u8().and_then(|d| target(r, base, i32::from(d.cast_signed())))?,
                Imm::Const => {
                    inst.extra = Extra::Const(r.value(inst.imm[0] as u16)?);
                    0
                }
                Imm::Switch => {
                    inst.extra = Extra::Switch(Box::new(self.switch(r, base)?));
                    0
                }
                _ => r.u32()?,
            };
        }
        Ok(inst)
    }

    fn switch(&mut self, r: &mut Reader<'_>, base: usize) -> Result<Switch> {
        let default = r.i32()?;
        let n = r.count(8, &mut self.left.switch_cases, "switch cases")?;
        let cases = (0..n).map(|_| Ok((r.u32()?, r.i32()?))).collect::<Result<Vec<_>>>()?;
        let target = |d| target(r, base, d);
        let cases = cases.into_iter().map(|(key, d)| Ok((key, target(d)?))).collect::<Result<_>>()?;
        Ok(Switch { default: target(default)?, cases })
    }
}

/// A list of items of at least `least` bytes; an empty one must not be written.
fn list<'a, T>(
    r: &mut Reader<'a>,
    least: usize,
    (left, what): (&mut u32, &'static str),
    mut one: impl FnMut(&mut Reader<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    let at = r.at;
    match r.count(least, left, what)? {
        0 => error(at, DecodeReason::Number("the length of a list")),
        n => (0..n).map(|_| one(r)).collect(),
    }
}

fn lines(r: &mut Reader<'_>, mut most: u32) -> Result<Vec<u32>> {
    list(r, 4, (&mut most, "lines"), |r| r.u32())
}

fn data(r: &mut Reader<'_>, most: u32) -> Result<Vec<u8>> {
    let n = r.end - r.at;
    if n > most as usize {
        return error(r.at, DecodeReason::Limit("initialised data"));
    }
    r.take(n).map(<[u8]>::to_vec)
}

fn source(at: usize, r: &mut Reader<'_>) -> Result<String> {
    let text = r.text()?;
    if text.is_empty() { error(at, DecodeReason::Misplaced(section::SOURCE)) } else { Ok(text) }
}

fn port(r: &mut Reader<'_>) -> Result<Port> {
    let at = r.at;
    let Some((kind, _)) = PortKind::ALL.get(usize::from(r.u8()?)) else {
        return error(at, DecodeReason::Number("the kind of a port"));
    };
    Ok(Port { name: r.text()?, kind: *kind })
}

fn field(r: &mut Reader<'_>) -> Result<InfoField> {
    Ok(InfoField { name: r.text()?, offset: r.u32()?, size: r.u32()? })
}

fn label(r: &mut Reader<'_>) -> Result<Label> {
    Ok(Label { name: r.text()?, at: r.u32()? })
}

fn set(r: &mut Reader<'_>, left: &mut u32) -> Result<Set> {
    let at = r.at;
    let (name, width) = (r.text()?, width(r)?);
    let n = r.count(2 * usize::from(width).div_ceil(8), left, "set ranges")?;
    let ranges = (0..n).map(|_| Ok(Range { low: r.value(width)?, high: r.value(width)? })).collect::<Result<_>>()?;
    Set::canonical(&name, width, ranges).or_else(|e| error(at, DecodeReason::Set(e)))
}

fn opcode(r: &mut Reader<'_>) -> Result<Op> {
    let at = r.at;
    let code = match r.u8()? {
        EXTENSION => u16::from_be_bytes([EXTENSION, r.u8()?]),
        code => code.into(),
    };
    by_code(code).map_or_else(|| error(at, DecodeReason::Opcode(code)), Ok)
}

fn by_code(code: u16) -> Option<Op> {
    static CODES: OnceLock<[[Option<Op>; 256]; 2]> = OnceLock::new();
    let find = |high: u16| std::array::from_fn(|low| Op::from_code(high << 8 | low as u16));
    let codes = CODES.get_or_init(|| [find(0), find(EXTENSION.into())]);
    codes[usize::from(code > 0xff)][usize::from(code as u8)]
}

/// Where a displacement from the reader's place leads, as an offset from `base`. An offset outside
/// the code is `u32::MAX` which no instruction starts at.
fn target(r: &Reader<'_>, base: usize, displacement: i32) -> Result<u32> {
    let to = (r.at - base) as i64 + i64::from(displacement);
    Ok(u32::try_from(to).unwrap_or(u32::MAX))
}

/// Turns targets from offsets into indices; `None` where no instruction starts.
fn resolve(inst: &mut Inst, find: impl Fn(u32) -> Option<u32>) -> Option<()> {
    if inst.op.branches() {
        inst.imm[0] = find(inst.imm[0])?;
    }
    if let Extra::Switch(s) = &mut inst.extra {
        s.default = find(s.default)?;
        for case in &mut s.cases {
            case.1 = find(case.1)?;
        }
    }
    Some(())
}
