//! Tables, sets and what else the runtime does for a program.
//!
//! A lookup gives what lies in the entry with its number, so loads that follow where there is an
//! entry are part of it; so are stores behind an insertion. That is how a learning switch has three
//! accesses and not six.

use super::{Bit, Lower, Op, Val};
use crate::x11::Refused;
use crate::x11::code::{Access, If, Memory, Reg, Span, Src, Store};
use compiler::mir::cfg::{Cfg, DominatorTree};
use compiler::mir::{Block, Func, Helper, Op as Mir, Terminator, Value};
use netil::exec::TrapKind;
use netil::ops::CmpOp;
use netil::set::Set;
use std::collections::{HashMap, HashSet};

/// Operations that lie between a value that is stored behind an insertion and what is there before
/// it.
const MOST_EARLY: usize = 4;
/// A set of so few words of constants is compared.
const FEW_WORDS: u64 = 2;

/// The table that a call may change.
pub(super) fn changed(helper: Helper) -> Option<u32> {
    match helper {
        Helper::Insert(table) | Helper::DeleteEntry(table) | Helper::EntryStore(table, _) => Some(table),
        _ => None,
    }
}

/// What is known of lookups before code is made.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// By lookup, loads that are part of it.
    loads: HashMap<Value, Vec<Value>>,
    /// By insertion, stores that are part of it.
    stores: HashMap<Value, Vec<Value>>,
    /// Loads and stores that are part of another operation, or that need no test of their entry.
    part: HashSet<Value>,
    sure: HashSet<Value>,
}

/// An access to an entry: table, byte, entry.
fn entry_access(func: &Func, v: Value) -> Option<(u32, Value, bool)> {
    match func.op(v)? {
        Mir::Helper(Helper::EntryLoad(table, _), args, _) => Some((*table, *args.first()?, false)),
        Mir::Helper(Helper::EntryStore(table, _), args, _) => Some((*table, *args.get(1)?, true)),
        _ => None,
    }
}

impl Facts {
    pub(super) fn of(func: &Func, cfg: &Cfg) -> Self {
        let mut facts = Self::default();
        let dominance = DominatorTree::new(cfg);
        let mut place = HashMap::new();
        for b in &cfg.order {
            func.block(*b).ops.iter().enumerate().for_each(|(n, v)| {
                place.insert(*v, (*b, n));
            });
        }
        for (v, (block, _)) in &place {
            let Some((table, entry, store)) = entry_access(func, *v) else { continue };
            let Some(known) = non_null(func, cfg, entry, *block) else { continue };
            facts.sure.insert(*v);
            let from = place.get(&entry).copied();
            match (func.op(entry), store) {
                (Some(Mir::Helper(Helper::Find(_) | Helper::Peek(_), ..)), false)
                    if from.is_some_and(|from| !changed_between(func, cfg, table, from, place[v])) =>
                {
                    facts.loads.entry(entry).or_default().push(*v);
                    facts.part.insert(*v);
                }
                (Some(Mir::Helper(Helper::Insert(_), ..)), true) => {
                    let value = stored_value(func, *v);
                    let early = |value: Value| from.is_some_and(|from| is_early(func, &dominance, &place, value, from, MOST_EARLY));
                    if *block == known && value.is_some_and(early) && alone(func, *v, table, *block, &place) {
                        facts.stores.entry(entry).or_default().push(*v);
                        facts.part.insert(*v);
                    }
                }
                _ => {}
            }
        }
        let sorted = |all: &mut HashMap<Value, Vec<Value>>| all.values_mut().for_each(|list| list.sort_by_key(|v| place[v].1));
        sorted(&mut facts.loads);
        sorted(&mut facts.stores);
        facts
    }
}

/// Whether a value is there at a place, or can be computed there from what is.
fn is_early(
    func: &Func,
    dominance: &DominatorTree,
    place: &HashMap<Value, (Block, usize)>,
    value: Value,
    at: (Block, usize),
    depth: usize,
) -> bool {
    let there = match place.get(&value) {
        Some((block, n)) if *block == at.0 => *n < at.1,
        Some((block, _)) => dominance.dominates(*block, at.0),
        None => param_before(func, dominance, value, at.0),
    };
    let Some(op) = func.op(value).filter(|op| depth > 0 && op.is_pure()) else { return there };
    let mut all = true;
    op.operands(|v| all &= is_early(func, dominance, place, v, at, depth - 1));
    there || all
}

fn stored_value(func: &Func, v: Value) -> Option<Value> {
    if let Some(Mir::Helper(Helper::EntryStore(..), args, _)) = func.op(v) { args.first().copied() } else { None }
}

fn param_before(func: &Func, dominance: &DominatorTree, value: Value, at: Block) -> bool {
    let owner = func.block_ids().find(|b| func.block(*b).params.contains(&value));
    owner.is_some_and(|owner| dominance.dominates(owner, at))
}

/// Before that store nothing in its block touches the table but other such stores.
fn alone(func: &Func, v: Value, table: u32, block: Block, place: &HashMap<Value, (Block, usize)>) -> bool {
    let before = &func.block(block).ops[..place[&v].1];
    before.iter().all(|other| match func.op(*other) {
        Some(Mir::Helper(Helper::EntryStore(..), ..)) => true,
        Some(Mir::Helper(Helper::Find(t) | Helper::Peek(t) | Helper::Insert(t) | Helper::DeleteEntry(t) | Helper::EntryLoad(t, _), ..)) => {
            *t != table
        }
        _ => true,
    })
}

/// The block from which on an entry is known to be there, if that is so in a block.
fn non_null(func: &Func, cfg: &Cfg, entry: Value, block: Block) -> Option<Block> {
    let mut child = block;
    loop {
        let parent = cfg.idom[child.0 as usize];
        if parent == child {
            return None;
        }
        if let Terminator::Branch(c, yes, no) = &func.block(parent).end
            && cfg.predecessors[child.0 as usize].len() == 1
            && let Some(holds) = is_there(func, *c, entry)
            && (if holds { yes } else { no }).block == child
            && yes.block != no.block
        {
            return Some(child);
        }
        child = parent;
    }
}

/// Whether a condition says that an entry is there: if it holds, or if not.
fn is_there(func: &Func, c: Value, entry: Value) -> Option<bool> {
    let Some(Mir::Cmp(cmp @ (CmpOp::Eq | CmpOp::Ne), a, b)) = func.op(c) else { return None };
    (*a == entry && func.constant(*b) == Some(0)).then_some(*cmp == CmpOp::Ne)
}

/// Whether a table may change after one place and before another.
fn changed_between(func: &Func, cfg: &Cfg, table: u32, from: (Block, usize), to: (Block, usize)) -> bool {
    let reached = |start: Block| {
        let (mut seen, mut stack) = (HashSet::new(), vec![start]);
        while let Some(b) = stack.pop() {
            if seen.insert(b) {
                stack.extend(func.block(b).end.edges().iter().map(|e| e.block));
            }
        }
        seen
    };
    let after = reached(from.0);
    let changes = |v: &Value| matches!(func.op(*v), Some(Mir::Helper(helper, ..)) if changed(*helper) == Some(table));
    cfg.order.iter().filter(|b| after.contains(b)).any(|b| {
        let ops = func.block(*b).ops.iter().enumerate().filter(|(_, v)| changes(v));
        let mut inside = ops.filter(|(n, _)| (*b != from.0 || *n > from.1) && (*b != to.0 || *n < to.1));
        inside.any(|_| *b == to.0 || reached(*b).contains(&to.0))
    })
}

impl Lower<'_> {
    /// Whether a set has a key: compared if it is small, else asked.
    pub(super) fn has(&mut self, set: &Set, key: &[Src]) -> Result<Bit, Refused> {
        let values: Option<Vec<u64>> = set.small_ranges().map(|(low, high)| (low == high).then_some(low)).collect();
        if let Some([one]) = values.as_deref().filter(|all| set.width() <= 64 && all.len() as u64 * key.len() as u64 <= FEW_WORDS) {
            let wanted: Vec<Src> = (0..key.len()).map(|n| Src::Imm((one >> (16 * n)) as u16)).collect();
            return Ok(self.equal(key, &wanted));
        }
        // A range of numbers is as many prefixes as twice its bits, at most.
        let single = |range: &netil::set::Range| range.low == range.high;
        let entries = set.ranges().iter().map(|range| if single(range) { 1 } else { 2 * u64::from(set.width()) - 2 }).sum();
        self.fits_tcam(entries, set.width())?;
        let at = self.out.sets.iter().position(|known| known == set).unwrap_or(self.out.sets.len());
        if at == self.out.sets.len() {
            self.out.sets.push(set.clone());
        }
        let flag = self.flag();
        self.push(Op::Point(Access::Has { set: at, key: key.to_vec(), flag }), false);
        Ok(Bit::Is(If { flag, holds: true }))
    }

    pub(super) fn fits_tcam(&self, entries: u64, bits: u16) -> Result<(), Refused> {
        let devices = self.machine.devices;
        if entries > u64::from(devices.tcam_entries) {
            return self.refuse(format!("{entries} entries of a TCAM, which has {}", devices.tcam_entries));
        }
        if u32::from(bits) > devices.key_bits {
            return self.refuse(format!("a key of {bits} bits; {} are the most", devices.key_bits));
        }
        Ok(())
    }

    pub(super) fn helper(&mut self, value: Value, helper: Helper, args: &[Value], width: u16) -> Result<Val, Refused> {
        match helper {
            Helper::Find(table) | Helper::Peek(table) => self.find(value, table, args[0], matches!(helper, Helper::Find(_))),
            Helper::Insert(table) => self.insert(value, table, args[0]),
            Helper::DeleteEntry(table) => {
                let (table, key) = (self.table(table)?, self.words_of(args[0]));
                let flag = self.flag();
                self.push(Op::Point(Access::Delete { table, key, flag }), true);
                Ok(Val::Bit(Bit::Is(If { flag, holds: true })))
            }
            Helper::EntryLoad(..) | Helper::EntryStore(..) if self.facts.part.contains(&value) => Ok(self.val(value)),
            Helper::EntryLoad(table, at) => {
                let span = self.entry(value, table, at, args[0], u32::from(width / 8))?;
                let regs: Vec<Reg> =
                    (0..span.bytes.div_ceil(2)).map(|n| self.reg(if n * 2 + 1 < span.bytes { 0xffff } else { 0xff })).collect();
                let pinned = self.stored.memories.contains(&span.memory);
                self.push(Op::Point(Access::Read(span, regs.clone())), pinned);
                Ok(Val::Words(regs.into_iter().map(Src::Reg).collect()))
            }
            Helper::EntryStore(table, at) => {
                let bytes = u32::from(self.code().func.width(args[0]) / 8);
                let words = self.words_of(args[0]);
                let span = self.entry(value, table, at, args[1], bytes)?;
                self.push(Op::Point(Access::Write(span, words)), true);
                Ok(Val::None)
            }
            Helper::Checksum | Helper::ChecksumValid => self.checksum(helper, args[0], args[1]),
            Helper::ChecksumAdd | Helper::ChecksumSub => Ok(self.updated(helper, args[0], args[1])),
            Helper::PushHead | Helper::PullHead | Helper::Unpull | Helper::TrimTail | Helper::GrowTail => self.change(helper, args[0]),
            Helper::Moved => Ok(self.moved_by()),
            Helper::IsPresent => Ok(Val::Words(vec![Src::Imm(1), Src::Imm(0)])),
            other => self.refuse(refusal(other)),
        }
    }

    /// A table that the machine has room for.
    fn table(&self, table: u32) -> Result<Memory, Refused> {
        let Some(declared) = self.code().program.module().tables.get(table as usize) else {
            return self.refuse("a table that is not declared");
        };
        self.fits_tcam(declared.capacity.into(), declared.key_bits)?;
        Ok(Memory { element: self.element, store: Store::Table(table) })
    }

    fn find(&mut self, value: Value, table: u32, key: Value, refresh: bool) -> Result<Val, Refused> {
        let (memory, words) = (self.table(table)?, self.words_of(key));
        let timed = self.code().program.module().tables[table as usize].timeout_ns > 0;
        let pinned = self.stored.memories.contains(&memory) || timed;
        let mut data = Vec::new();
        for load in self.facts.loads.get(&value).cloned().unwrap_or_default() {
            let Some(Mir::Helper(Helper::EntryLoad(_, at), ..)) = self.code().func.op(load) else { continue };
            let (at, bytes) = (*at, u32::from(self.code().func.width(load) / 8));
            let regs: Vec<Reg> = (0..bytes.div_ceil(2)).map(|n| self.reg(if n * 2 + 1 < bytes { 0xffff } else { 0xff })).collect();
            self.values.insert(load, Val::Words(regs.iter().copied().map(Src::Reg).collect()));
            data.push((at, bytes, regs));
        }
        self.fits_access(data.iter().map(|(_, bytes, _)| bytes).sum())?;
        let entry = self.reg(0xffff);
        self.push(Op::Point(Access::Find { table: memory, refresh: refresh && timed, key: words, entry: Some(entry), data }), pinned);
        Ok(Val::Words(vec![Src::Reg(entry), Src::Imm(0)]))
    }

    fn insert(&mut self, value: Value, table: u32, key: Value) -> Result<Val, Refused> {
        let (memory, words) = (self.table(table)?, self.words_of(key));
        let mut data = Vec::new();
        for store in self.facts.stores.get(&value).cloned().unwrap_or_default() {
            let Some(Mir::Helper(Helper::EntryStore(_, at), args, _)) = self.code().func.op(store) else { continue };
            let (at, v) = (*at, args[0]);
            let bytes = u32::from(self.code().func.width(v) / 8);
            self.made_early(v)?;
            data.push((at, bytes, self.words_of(v)));
        }
        self.fits_access(data.iter().map(|(_, bytes, _)| bytes).sum())?;
        let entry = self.reg(0xffff);
        self.push(Op::Point(Access::Insert { table: memory, key: words, entry: Some(entry), data }), true);
        Ok(Val::Words(vec![Src::Reg(entry), Src::Imm(0)]))
    }

    /// A value that is computed further down, computed here too.
    fn made_early(&mut self, v: Value) -> Result<(), Refused> {
        if self.values.contains_key(&v) {
            return Ok(());
        }
        let Some(op) = self.code().func.op(v).cloned() else { return Ok(()) };
        let mut operands = Vec::new();
        op.operands(|v| operands.push(v));
        operands.into_iter().try_for_each(|v| self.made_early(v))?;
        let val = self.op(v, &op, self.code().func.ty(v))?;
        self.values.insert(v, val);
        Ok(())
    }

    /// Bytes of an entry; a trap if there is none and that is not known.
    fn entry(&mut self, value: Value, table: u32, at: u32, entry: Value, bytes: u32) -> Result<Span, Refused> {
        let memory = self.table(table)?;
        self.fits_access(bytes)?;
        let base = self.words_of(entry).first().copied();
        if let Some(base) = base.filter(|_| !self.facts.sure.contains(&value)) {
            let none = self.equal(&[base], &[Src::Imm(0)]);
            self.trap_if(none, TrapKind::NoEntry, self.site.unwrap_or(0), Vec::new());
        }
        Ok(Span { memory, base, at, bytes, big: false })
    }
}

fn refusal(helper: Helper) -> String {
    let what = match helper {
        Helper::Scan(_) | Helper::FieldCmp(_) | Helper::Copy(..) => {
            "a search, comparison or copy of ranges of bytes: the pipeline reads words"
        }
        Helper::CrcPacket(_) => "a CRC over a range of bytes: the pipeline has no loops",
        Helper::Crc(_) | Helper::Hash => "a CRC or hash: the pipeline's arithmetic has none",
        Helper::SendCopy(_) | Helper::Receive(_) | Helper::Create | Helper::Delete => "packets that are made, copied or asked for",
        Helper::Hold | Helper::Take => "packets that are held back: nothing waits in the pipeline",
        Helper::Walk(_) | Helper::Due(_) | Helper::NextKey(_) | Helper::WalkedKey(_) | Helper::Deadline(_) => {
            "a walk over a table: the pipeline has no loops"
        }
        Helper::SetTimer(_) | Helper::SetTime => "a timer or time: the pipeline runs when packets come",
        Helper::CoproIn(..) | Helper::CoproOut(..) | Helper::CoproInvoke(..) | Helper::CoproShow(_) => {
            "a coprocessor that is behind no access point"
        }
        _ => "work that the pipeline has no device for",
    };
    what.to_owned()
}
