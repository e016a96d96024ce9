//! Module to bytes. Deterministic: equal modules give equal bytes.

use super::{EncodeError, EncodeReason, HEADER, MAGIC, VERSION, in_reach, offsets, relax, section};
use crate::digest;
use crate::module::{Extra, Handler, HandlerKind, Inst, Label, Module, Switch};
use crate::set::Set;
use crate::table::{Imm, Op};
use crate::wide;

pub(super) fn module(m: &Module) -> Result<Vec<u8>, EncodeError> {
    let mut out = Writer { bytes: vec![0; HEADER] };
    out.required(m)?;
    for (k, kind) in HandlerKind::ALL.into_iter().enumerate() {
        if let Some(h) = m.handler(kind) {
            let code = code(h).map_err(|(index, reason)| EncodeError { handler: Some(kind), index, reason })?;
            out.section(section::HANDLER + k as u16, |w| w.handler(h, &code))?;
        }
    }
    out.list(section::TABLES, &m.tables, Writer::table)?;
    out.list(section::CONTROLS, &m.controls, Writer::control)?;
    out.skippable(m)?;
    out.finish()
}

pub(super) fn length(n: usize) -> Result<u32, EncodeError> {
    u32::try_from(n).map_err(|_| EncodeError { handler: None, index: 0, reason: EncodeReason::Length })
}

pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
}

impl Writer {
    fn required(&mut self, m: &Module) -> Result<(), EncodeError> {
        self.section(section::METADATA, |w| {
            w.text(&m.name)?;
            w.u32(m.data_size);
            w.u32(m.info_size);
            Ok(())
        })?;
        let kind = |k| crate::module::PortKind::ALL.iter().position(|p| p.0 == k).unwrap_or(0) as u8;
        self.list(section::PORTS, &m.ports, |w, p| {
            w.bytes.push(kind(p.kind));
            w.text(&p.name)
        })?;
        self.list(section::COPROCESSORS, &m.coprocessors, |w, c| {
            w.text(&c.alias)?;
            w.text(&c.name)
        })?;
        if !m.data.is_empty() {
            self.section(section::DATA, |w| {
                w.bytes.extend_from_slice(&m.data);
                Ok(())
            })?;
        }
        self.list(section::SETS, &m.sets, Self::set)
    }

    fn skippable(&mut self, m: &Module) -> Result<(), EncodeError> {
        if !m.source.is_empty() {
            self.section(section::SOURCE, |w| w.text(&m.source))?;
        }
        self.list(section::FIELDS, &m.info_fields, |w, f| {
            w.text(&f.name)?;
            w.u32(f.offset);
            w.u32(f.size);
            Ok(())
        })?;
        self.list(section::DATA_LABELS, &m.data_labels, Self::label)?;
        self.list(section::REASONS, &m.reasons, Self::label)?;
        for (k, kind) in HandlerKind::ALL.into_iter().enumerate() {
            let lines = m.handler(kind).map_or(&[][..], |h| &h.lines);
            self.list(section::LINES + k as u16, lines, |w, l| {
                w.u32(*l);
                Ok(())
            })?;
        }
        for (k, kind) in HandlerKind::ALL.into_iter().enumerate() {
            let labels = m.handler(kind).map_or(&[][..], |h| &h.labels);
            self.list(section::LABELS + k as u16, labels, Self::label)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u8>, EncodeError> {
        let body = length(self.bytes.len() - HEADER)?;
        self.bytes[..4].copy_from_slice(&MAGIC);
        self.bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        self.bytes[8..12].copy_from_slice(&body.to_le_bytes());
        let crc = digest::crc32(&[&self.bytes[..12], &self.bytes[HEADER..]]);
        self.bytes[12..HEADER].copy_from_slice(&crc.to_le_bytes());
        Ok(self.bytes)
    }

    fn section(&mut self, id: u16, payload: impl FnOnce(&mut Self) -> Result<(), EncodeError>) -> Result<(), EncodeError> {
        self.u16(id);
        self.u32(0);
        let start = self.bytes.len();
        payload(self)?;
        let len = length(self.bytes.len() - start)?;
        self.bytes[start - 4..start].copy_from_slice(&len.to_le_bytes());
        Ok(())
    }

    /// A section that is a list; none if the list is empty.
    fn list<T>(&mut self, id: u16, items: &[T], one: impl Fn(&mut Self, &T) -> Result<(), EncodeError>) -> Result<(), EncodeError> {
        if items.is_empty() {
            return Ok(());
        }
        self.section(id, |w| {
            w.u32(length(items.len())?);
            items.iter().try_for_each(|item| one(w, item))
        })
    }

    fn handler(&mut self, h: &Handler, code: &[u8]) -> Result<(), EncodeError> {
        self.u32(h.max_stack);
        self.u32(length(h.locals.len())?);
        h.locals.iter().for_each(|w| self.u16(*w));
        self.u32(length(h.code.len())?);
        self.bytes.extend_from_slice(code);
        Ok(())
    }

    fn set(&mut self, set: &Set) -> Result<(), EncodeError> {
        self.text(set.name())?;
        self.u16(set.width());
        self.u32(length(set.ranges().len())?);
        for r in set.ranges() {
            value(&mut self.bytes, set.width().into(), &r.low);
            value(&mut self.bytes, set.width().into(), &r.high);
        }
        Ok(())
    }

    fn label(&mut self, label: &Label) -> Result<(), EncodeError> {
        self.text(&label.name)?;
        self.u32(label.at);
        Ok(())
    }

    pub(super) fn text(&mut self, s: &str) -> Result<(), EncodeError> {
        self.u32(length(s.len())?);
        self.bytes.extend_from_slice(s.as_bytes());
        Ok(())
    }

    pub(super) fn u16(&mut self, v: u16) {
        self.bytes.extend_from_slice(&v.to_le_bytes());
    }

    pub(super) fn u32(&mut self, v: u32) {
        self.bytes.extend_from_slice(&v.to_le_bytes());
    }
}

/// Appends a value of `width` bits.
pub(super) fn value(out: &mut Vec<u8>, width: u32, limbs: &[u64]) {
    let start = out.len();
    out.resize(start + width.div_ceil(8) as usize, 0);
    wide::to_le_bytes(limbs, &mut out[start..]);
}

type Reject = (u32, EncodeReason);

/// The bytes of a handler's instructions, or the instruction that has none.
fn code(h: &Handler) -> Result<Vec<u8>, Reject> {
    let starts = offsets(&h.code);
    let far = |i: usize| h.code[i].op == Op::Jump && !in_reach(&starts, i, h.code[i].imm[0]);
    if (0..h.code.len()).any(far) {
        let mut wider = h.clone();
        relax(&mut wider);
        return code(&wider);
    }
    let end = starts.last().copied().unwrap_or(0);
    if h.lines.len() > h.code.len() {
        return Err((h.code.len() as u32, EncodeReason::Lines));
    }
    if i32::try_from(end).is_err() {
        return Err((0, EncodeReason::Length));
    }
    let mut out = Vec::with_capacity(end as usize);
    for (i, inst) in h.code.iter().enumerate() {
        instruction(&mut out, inst, &starts, i).map_err(|reason| (i as u32, reason))?;
    }
    Ok(out)
}

fn instruction(out: &mut Vec<u8>, inst: &Inst, starts: &[u64], index: usize) -> Result<(), EncodeReason> {
    let row = inst.op.row();
    match row.code.to_be_bytes() {
        [0, code] => out.push(code),
        both => out.extend_from_slice(&both),
    }
    let displacement = |target: u32| displacement(starts, index, target);
    for (k, slot) in inst.imm.iter().enumerate() {
        match (row.imms.get(k), &inst.extra) {
            (None, _) => unused(*slot)?,
            (Some(Imm::U8), _) => out.push(u8::try_from(*slot).map_err(|_| EncodeReason::Immediate)?),
            (Some(Imm::Width), _) => out.extend_from_slice(&width(*slot)?.to_le_bytes()),
            (Some(Imm::ShortLabel), _) => {
                // `code` has widened the jumps that this would not fit.
                out.extend_from_slice(&i8::try_from(displacement(*slot)?).map_err(|_| EncodeReason::Length)?.to_le_bytes())
            }
            (Some(Imm::Label), _) => out.extend_from_slice(&displacement(*slot)?.to_le_bytes()),
            (Some(Imm::Const), Extra::Const(c)) => unused(*slot).and_then(|()| constant(out, inst.imm[0], c))?,
            (Some(Imm::Switch), Extra::Switch(s)) => unused(*slot).and_then(|()| switch(out, s, displacement))?,
            (Some(Imm::Const | Imm::Switch), _) => return Err(EncodeReason::Extra),
            (Some(_), _) => out.extend_from_slice(&slot.to_le_bytes()),
        }
    }
    let wants_extra = row.imms.iter().any(|i| matches!(i, Imm::Const | Imm::Switch));
    if wants_extra || inst.extra == Extra::None { Ok(()) } else { Err(EncodeReason::Extra) }
}

fn unused(slot: u32) -> Result<(), EncodeReason> {
    if slot == 0 { Ok(()) } else { Err(EncodeReason::Immediate) }
}

fn width(slot: u32) -> Result<u16, EncodeReason> {
    u16::try_from(slot).ok().filter(|w| (1..=wide::MAX_WIDTH).contains(w)).ok_or(EncodeReason::Immediate)
}

fn displacement(starts: &[u64], index: usize, target: u32) -> Result<i32, EncodeReason> {
    // The last start is the end of the code, where no instruction is.
    let target = starts[..starts.len() - 1].get(target as usize).ok_or(EncodeReason::Target)?;
    i32::try_from(*target as i64 - starts[index + 1] as i64).map_err(|_| EncodeReason::Length)
}

fn constant(out: &mut Vec<u8>, bits: u32, limbs: &[u64]) -> Result<(), EncodeReason> {
    let width = width(bits)?;
    let mut cut = limbs.to_vec();
    wide::normalise(width, &mut cut);
    if limbs.len() != wide::limbs(width) || cut != limbs {
        return Err(EncodeReason::Extra);
    }
    value(out, bits, limbs);
    Ok(())
}

fn switch(out: &mut Vec<u8>, s: &Switch, displacement: impl Fn(u32) -> Result<i32, EncodeReason>) -> Result<(), EncodeReason> {
    let n = i32::try_from(s.cases.len()).map_err(|_| EncodeReason::Length)?;
    out.extend_from_slice(&displacement(s.default)?.to_le_bytes());
    out.extend_from_slice(&n.to_le_bytes());
    for (key, target) in &s.cases {
        out.extend_from_slice(&key.to_le_bytes());
        out.extend_from_slice(&displacement(*target)?.to_le_bytes());
    }
    Ok(())
}
