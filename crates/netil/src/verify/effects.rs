//! Stack effects: how one instruction changes the types, known constants and initialised locals of
//! a path.

use super::Reason;
use super::error::{ENDED, type_name};
use crate::module::{ENTRY, Extra, Handler, Inst, Module, entry_type, slots};
use crate::table::{Effect, Op, Sem, Slot, Space};
use std::ops::RangeInclusive;

/// A stack element: its width, and its value where it is a known 32-bit constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Element {
    pub width: u16,
    pub constant: Option<u32>,
}

/// What is known where a path passes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PathState {
    /// Bottom to top.
    pub stack: Vec<Element>,
    /// Locals written on every path to here.
    pub written: Vec<bool>,
}

const I32: u16 = 32;
const I64: u16 = 64;

impl PathState {
    pub fn push(&mut self, width: u16) {
        self.stack.push(Element { width, constant: None });
    }

    pub fn push_constant(&mut self, v: u32) {
        self.stack.push(Element { width: I32, constant: Some(v) });
    }

    pub fn need(&self, n: usize) -> Result<(), Reason> {
        if self.stack.len() < n { Err(Reason::Underflow(n, self.stack.len())) } else { Ok(()) }
    }

    fn pop(&mut self) -> Result<Element, Reason> {
        self.stack.pop().ok_or(Reason::Underflow(1, 0))
    }

    fn want(&self, depth: usize, width: u16) -> Result<Element, Reason> {
        self.need(depth)?;
        let e = self.stack[self.stack.len() - depth];
        if e.width == width { Ok(e) } else { Err(Reason::Type(width, e.width, depth)) }
    }

    /// What the state takes to keep and to compare, in elements.
    pub fn weight(&self) -> u64 {
        1 + self.stack.len() as u64 + self.written.len() as u64 / 8
    }

    /// The state where two paths meet; `None` if this one already says so.
    pub fn join(&self, other: &Self) -> Result<Option<Self>, Reason> {
        if self.stack.len() != other.stack.len() {
            return Err(Reason::Join(format!("{} and {} elements", self.stack.len(), other.stack.len())));
        }
        let pairs = || self.stack.iter().zip(&other.stack);
        if let Some((a, b)) = pairs().find(|(a, b)| meet(a.width, b.width).is_none()) {
            return Err(Reason::Join(format!("{} and {}", type_name(a.width), type_name(b.width))));
        }
        let merged = |(a, b): (&Element, &Element)| Element {
            width: meet(a.width, b.width).unwrap_or(a.width),
            constant: a.constant.filter(|_| a.constant == b.constant),
        };
        let joined = Self {
            stack: pairs().map(merged).collect(),
            written: self.written.iter().zip(&other.written).map(|(a, b)| *a && *b).collect(),
        };
        Ok((joined != *self).then_some(joined))
    }
}

/// The type of an element that has one of two; none if they do not go together.
fn meet(a: u16, b: u16) -> Option<u16> {
    match a == b {
        true => Some(a),
        false => (a & ENTRY != 0 && a | ENDED == b | ENDED).then_some(a | ENDED),
    }
}

/// Applies an instruction other than a call, in a module with `shared` bytes of shared memory;
/// gives the widths of top and second where the instruction takes any type.
pub(super) fn apply(module: &Module, shared: u32, handler: &Handler, inst: &Inst, s: &mut PathState) -> Result<[u16; 2], Reason> {
    constant_access(module, shared, inst, s)?;
    if inst.op == Op::PktAsk {
        // Others run meanwhile, perhaps with the same tables.
        (0..module.tables.len() as u32).for_each(|table| end_entries(handler, entry_type(table), s));
    }
    match inst.op.row().effect {
        Effect::Fixed(pops, pushes) => fixed(inst, pops, pushes, s).map(|()| [0; 2]),
        Effect::Special => special(module, handler, inst, s),
    }
}

fn fixed(inst: &Inst, pops: &[Slot], pushes: &[Slot], s: &mut PathState) -> Result<(), Reason> {
    let width = |slot: &Slot| match slot {
        Slot::I32 => I32,
        Slot::W(k) => inst.imm[*k] as u16,
    };
    s.need(pops.len())?;
    for (i, slot) in pops.iter().rev().enumerate() {
        s.want(i + 1, width(slot))?;
    }
    s.stack.truncate(s.stack.len() - pops.len());
    match inst.op {
        _ if !inst.constants().is_empty() => inst.constants().iter().for_each(|v| s.push_constant(*v)),
        Op::WPush => s.stack.push(Element { width: inst.imm[0] as u16, constant: small_constant(inst) }),
        _ => pushes.iter().for_each(|slot| s.push(width(slot))),
    }
    Ok(())
}

fn small_constant(inst: &Inst) -> Option<u32> {
    match &inst.extra {
        Extra::Const(limbs) if inst.imm[0] == 32 => Some(limbs[0] as u32),
        _ => None,
    }
}

fn special(module: &Module, handler: &Handler, inst: &Inst, s: &mut PathState) -> Result<[u16; 2], Reason> {
    let n = inst.imm[0] as usize;
    match inst.op {
        Op::Inc2 | Op::Dec2 => in_place(s, 2..=2)?,
        Op::Inc3 | Op::Dec3 => in_place(s, 3..=3)?,
        Op::Inc4 | Op::Dec4 => in_place(s, 4..=4)?,
        Op::XFindBit => in_place(s, 1..=n)?,
        Op::XmFindBit => {
            s.want(1, I32)?;
            s.pop()?;
            in_place(s, 1..=n)?;
        }
        Op::Hash => {
            in_place(s, 1..=n)?;
            s.stack.truncate(s.stack.len() - n);
            s.push(I32);
        }
        Op::Pop | Op::Dup | Op::Swap | Op::PopI => return polymorphic(inst, s),
        Op::LocLoad | Op::LocStore => local(handler, inst, s)?,
        Op::TimeNs => s.push(I64),
        Op::TimeSet | Op::TimerSet => drop(take(s, I64)?),
        Op::TFind | Op::TPeek | Op::TInsert | Op::TDelete | Op::TNone | Op::TValid | Op::TLoad | Op::TStore => {
            table(module, handler, inst, s)?;
        }
        Op::TWalk | Op::TNext | Op::TKey | Op::TDue | Op::TDeadline => walk(module, handler, inst, s),
        Op::SetHas => replace(s, module.sets[n].width(), I32)?,
        Op::WSlice => replace(s, inst.imm[0] as u16, (inst.imm[1] - inst.imm[2] + 1) as u16)?,
        Op::WConcat => concat(s, inst.imm[0] as u16, inst.imm[1] as u16)?,
        _ => {}
    }
    Ok([0; 2])
}

/// Instructions on tables; an insertion or deletion ends the references to the table's entries.
fn table(module: &Module, handler: &Handler, inst: &Inst, s: &mut PathState) -> Result<(), Reason> {
    let [n, width, _] = inst.imm;
    let (key, entry) = (module.tables[n as usize].key_bits, entry_type(n));
    if matches!(inst.op, Op::TFind | Op::TPeek | Op::TInsert | Op::TDelete) {
        take(s, key)?;
    }
    if matches!(inst.op, Op::TValid | Op::TLoad | Op::TStore) {
        take(s, entry)?;
    }
    if matches!(inst.op, Op::TInsert | Op::TDelete) {
        end_entries(handler, entry, s);
    }
    match inst.op {
        Op::TDelete | Op::TValid => s.push(I32),
        Op::TLoad => s.push(width as u16),
        Op::TStore => drop(take(s, width as u16)?),
        _ => s.push(entry),
    }
    Ok(())
}

/// Instructions of walks over a table; where it may forget what has ended, references to its
/// entries end.
fn walk(module: &Module, handler: &Handler, inst: &Inst, s: &mut PathState) {
    let n = inst.imm[0];
    if matches!(inst.op, Op::TDue | Op::TDeadline) {
        end_entries(handler, entry_type(n), s);
    }
    s.push(match inst.op {
        Op::TKey => module.tables[n as usize].key_bits,
        Op::TDeadline => I64,
        _ => I32,
    });
}

fn end_entries(handler: &Handler, entry: u16, s: &mut PathState) {
    s.stack.iter_mut().filter(|e| e.width == entry).for_each(|e| e.width |= ENDED);
    s.written.iter_mut().zip(&handler.locals).filter(|(_, ty)| **ty == entry).for_each(|(written, _)| *written = false);
}

/// Pops an element of that type.
fn take(s: &mut PathState, width: u16) -> Result<Element, Reason> {
    s.want(1, width)?;
    s.pop()
}

fn local(handler: &Handler, inst: &Inst, s: &mut PathState) -> Result<(), Reason> {
    let n = inst.imm[0] as usize;
    if inst.op == Op::LocStore {
        s.want(1, handler.locals[n])?;
        s.pop()?;
        s.written[n] = true;
        return Ok(());
    }
    if !s.written[n] {
        return Err(Reason::Uninitialised(inst.imm[0]));
    }
    s.push(handler.locals[n]);
    Ok(())
}

/// The elements down to the last position must be 32-bit; those at the positions (1 is the top)
/// change.
fn in_place(s: &mut PathState, positions: RangeInclusive<usize>) -> Result<(), Reason> {
    s.need(*positions.end())?;
    for depth in 1..=*positions.end() {
        s.want(depth, I32)?;
    }
    let len = s.stack.len();
    positions.for_each(|depth| s.stack[len - depth].constant = None);
    Ok(())
}

fn replace(s: &mut PathState, from: u16, to: u16) -> Result<(), Reason> {
    s.want(1, from)?;
    s.pop()?;
    s.push(to);
    Ok(())
}

fn concat(s: &mut PathState, high: u16, low: u16) -> Result<(), Reason> {
    s.want(1, low)?;
    s.want(2, high)?;
    s.pop()?;
    replace(s, high, high + low)
}

fn polymorphic(inst: &Inst, s: &mut PathState) -> Result<[u16; 2], Reason> {
    if inst.op == Op::PopI {
        let n = inst.imm[0] as usize;
        s.need(n)?;
        let popped: usize = s.stack[s.stack.len() - n..].iter().map(|e| slots(e.width)).sum();
        s.stack.truncate(s.stack.len() - n);
        return Ok([popped as u16, 0]);
    }
    let top = s.pop()?;
    match inst.op {
        Op::Dup => s.stack.extend([top, top]),
        Op::Swap => {
            let second = s.stack.pop().ok_or(Reason::Underflow(2, 1))?;
            s.stack.extend([top, second]);
            return Ok([top.width, second.width]);
        }
        _ => {}
    }
    Ok([top.width, 0])
}

/// Refuses an access at a constant address that lies outside a memory of known size.
fn constant_access(module: &Module, shared: u32, inst: &Inst, s: &PathState) -> Result<(), Reason> {
    let constant = |depth: usize| s.stack.len().checked_sub(depth).and_then(|i| s.stack[i].constant);
    let wide = (inst.imm[0] / 8).into();
    match inst.op.row().sem {
        Sem::Load(space, bytes, _) => inside(module, shared, space, constant(1), Some(bytes.into())),
        Sem::Store(space, bytes) => inside(module, shared, space, constant(1), Some(bytes.into())),
        Sem::WideLoad(space) => inside(module, shared, space, constant(1), Some(wide)),
        Sem::WideStore(space) => inside(module, shared, space, constant(1), Some(wide)),
        Sem::Copy(from, to) => {
            let len = constant(1).map(u64::from);
            inside(module, shared, from, constant(3), len)?;
            inside(module, shared, to, constant(2), len)
        }
        _ => Ok(()),
    }
}

fn inside(module: &Module, shared: u32, space: Space, at: Option<u32>, size: Option<u64>) -> Result<(), Reason> {
    let have = match space {
        Space::Packet => return Ok(()),
        Space::Info => module.info_size.into(),
        Space::Data => module.data_size.into(),
        Space::Shared => shared.into(),
        Space::Initialised => module.data.len() as u64,
    };
    match (at, size) {
        (Some(at), Some(size)) if u64::from(at) + size > have => Err(Reason::OutOfBounds(space, at.into(), size, have)),
        _ => Ok(()),
    }
}
