//! Tables, controls and the types of locals.

use super::encode::{Writer, length, value};
use super::reader::{Reader, Result, error, width};
use super::{DecodeReason, EncodeError};
use crate::module::{Control, ControlType, ENTRY, Entry, MAX_TABLES, Table, TableKind};
use crate::wide;

/// What may be done with a control, a bit each.
const ACCESS: [u8; 3] = [1, 2, 4];
/// Numbers of the types with a size; the plain ones follow.
const UNSIGNED: u8 = 0;
const SIGNED: u8 = 1;

impl Writer {
    pub(super) fn table(&mut self, t: &Table) -> std::result::Result<(), EncodeError> {
        self.text(&t.name)?;
        self.bytes.push(t.kind as u8);
        self.u16(t.key_bits);
        self.u32(t.value_bytes);
        self.u32(t.capacity);
        self.bytes.extend_from_slice(&t.timeout_ns.to_le_bytes());
        self.u32(length(t.entries.len())?);
        for e in &t.entries {
            value(&mut self.bytes, t.key_bits.into(), &e.key);
            if t.kind.has_mask() {
                value(&mut self.bytes, t.key_bits.into(), &e.mask);
            }
            self.u32(e.priority);
            let mut bytes = e.value.to_vec();
            bytes.resize(t.value_bytes as usize, 0);
            self.bytes.extend_from_slice(&bytes);
        }
        Ok(())
    }

    pub(super) fn control(&mut self, c: &Control) -> std::result::Result<(), EncodeError> {
        self.text(&c.name)?;
        self.bytes.push([c.read, c.write, c.call].iter().zip(ACCESS).map(|(on, bit)| u8::from(*on) * bit).sum());
        let plain = ControlType::PLAIN.iter().position(|(ty, _)| *ty == c.ty).unwrap_or(0) as u8;
        let (ty, bits) = match c.ty {
            ControlType::Unsigned(bits) => (UNSIGNED, bits),
            ControlType::Signed(bits) => (SIGNED, bits),
            _ => (SIGNED + 1 + plain, 0),
        };
        self.bytes.push(ty);
        self.u16(bits);
        self.u32(c.at);
        Ok(())
    }
}

pub(super) fn table(r: &mut Reader<'_>, left: &mut u32) -> Result<Table> {
    let name = r.text()?;
    let at = r.at;
    let Some((kind, _)) = TableKind::ALL.get(usize::from(r.u8()?)) else {
        return error(at, DecodeReason::Number("the kind of a table"));
    };
    let (key_bits, value_bytes, capacity) = (width(r)?, r.u32()?, r.u32()?);
    let timeout_ns = u64::from_le_bytes(r.array()?);
    let n = r.count(4 + wide::limbs(key_bits).min(1) + value_bytes as usize, left, "table entries")?;
    let mut t = Table { name, kind: *kind, key_bits, value_bytes, capacity, timeout_ns, entries: Vec::new() };
    t.entries = (0..n).map(|_| entry(r, &t)).collect::<Result<_>>()?;
    Ok(t)
}

fn entry(r: &mut Reader<'_>, t: &Table) -> Result<Entry> {
    let key = r.value(t.key_bits)?;
    let mask = if t.kind.has_mask() { r.value(t.key_bits)? } else { Box::default() };
    Ok(Entry { key, mask, priority: r.u32()?, value: r.take(t.value_bytes as usize)?.into() })
}

pub(super) fn control(r: &mut Reader<'_>) -> Result<Control> {
    let name = r.text()?;
    let at = r.at;
    let access = r.u8()?;
    let [read, write, call] = ACCESS.map(|bit| access & bit != 0);
    let (kind, bits) = (r.u8()?, r.u16()?);
    let plain = kind.checked_sub(SIGNED + 1).and_then(|k| ControlType::PLAIN.get(usize::from(k))).filter(|_| bits == 0);
    let ty = match kind {
        UNSIGNED => Some(ControlType::Unsigned(bits)),
        SIGNED => Some(ControlType::Signed(bits)),
        _ => plain.map(|(ty, _)| *ty),
    };
    match ty.filter(|_| access < 8) {
        Some(ty) => Ok(Control { name, read, write, ty, at: r.u32()?, call }),
        None => error(at, DecodeReason::Number("a control")),
    }
}

/// The type of a local: a width, or a reference to an entry.
pub(super) fn local(r: &mut Reader<'_>) -> Result<u16> {
    let at = r.at;
    let ty = r.u16()?;
    let table = usize::from(ty ^ ENTRY);
    if (1..=wide::MAX_WIDTH).contains(&ty) || table < MAX_TABLES { Ok(ty) } else { error(at, DecodeReason::Number("the type of a local")) }
}
