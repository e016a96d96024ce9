//! The kernel's part of a handler, where the rest of it is a process's.
//!
//! A packet that needs what the kernel has no form for is handed over as it was when it came to the
//! element, and the process runs the element from its beginning. So a run that is given up must
//! have changed nothing: the handler is cut not at such an operation, but at the first change on
//! the way from which one may be reached. A change is a store, a moved end of the packet, an entry
//! of a table made or taken out; no change are the times of last use of entries, which are set
//! again, and scratch memory, which every run writes before it reads it. Loops that are left over
//! are handed over as well: whether the kernel sees their end is known only when it loads them.
//!
//! ```text
//!   lookup ── found ──▶ store to the packet ─▶ send            stays
//!        └─ not found ─▶ entry made ─▶ random number ─▶ …      handed over before the entry is made
//! ```

use super::layout::{Layout, MEMORY_AT};
use super::maps::Maps;
use super::proofs::back_edges;
use super::select::{self, Exit, ExitAction, Frame, MirLocation, Unit};
use super::{Refused, World, needs, optimised, table_maps};
use crate::Target;
use crate::mir::cfg::Cfg;
use crate::mir::states::States;
use crate::mir::{Block, Func, Helper, Op, Order, Terminator, Value};
use crate::passes;
use netil::Verified;
use netil::exec::DropReason;
use netil::table::Space;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// A handler's part that runs in the kernel.
#[derive(Clone, Debug)]
pub struct Divided {
    pub(super) func: Func,
    /// The reason to drop that stands where a packet is handed over.
    pub(super) code: u32,
    /// Why packets are handed over; nothing if none are.
    pub handed: Vec<Refused>,
    /// Data memory that the kernel's part reads or writes, but for scratch memory.
    pub memory: Vec<Range<u32>>,
    /// Which tables the kernel's part uses.
    pub tables: Vec<bool>,
    /// Bytes of data memory that every run writes before it reads them.
    pub(super) scratch: Vec<Range<u32>>,
}

/// Divides a push handler. `scratch`: where in data memory every run writes before it reads.
/// `loops`: loops stay in the kernel, whose verifier then says whether it sees their ends.
///
/// # Errors
/// Nothing of it that sends packets can run in the kernel.
pub fn divide(program: &Verified, scratch: &[Range<u32>], loops: bool) -> Result<Divided, Refused> {
    let mut func = optimised(program)?;
    let scratch = scratch.to_vec();
    let refused = refused(program, &func, &scratch)?;
    let code = unused(&func);
    let handed = Cuts::new(&func, &refused, &scratch, loops).cut(&mut func, code);
    let context = passes::Context::new(program, Target::HERE.in_order(Order::Little));
    passes::clean(&mut func, &context);
    let sends = func.blocks.iter().any(|block| !block.end.ports().is_empty());
    if !sends && let Some(first) = handed.first() {
        return Err(first.clone());
    }
    let scratch = without_dead(&mut func, scratch);
    let memory = memory(&func, &scratch, program.module().data_size);
    let tables = (0..program.module().tables.len()).map(|n| uses_table(&func, n as u32)).collect();
    Ok(Divided { func, code, handed, memory, tables, scratch })
}

/// What the kernel has no form for.
fn refused(program: &Verified, func: &Func, scratch: &[Range<u32>]) -> Result<HashMap<MirLocation, Refused>, Refused> {
    let layout = Layout { scratch: scratch.to_vec(), ..Layout::new(program, MEMORY_AT)? };
    let mut maps = Maps::default();
    let tables = table_maps(program, &layout, "", &mut maps, None);
    let frame = Frame { info: layout.info, ..needs(func) };
    let ways = |exit| ExitAction::Give(if let Exit::Port(port) = exit { port } else { 0 });
    let unit = Unit { program, func, layout: &layout, ways: &ways, frame, world: World::Kernel, tables: &tables, called: true };
    Ok(select::refused(&unit, &mut maps)?.into_iter().collect())
}

/// A reason to drop that no packet has.
fn unused(func: &Func) -> u32 {
    let used = |code: u32| func.blocks.iter().any(|block| block.end == Terminator::Drop(DropReason::Program(code)));
    (0..u32::MAX).rev().find(|code| !used(*code)).unwrap_or(u32::MAX)
}

fn uses_table(func: &Func, table: u32) -> bool {
    let ops = func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| func.op(*v));
    ops.filter_map(|op| if let Op::Helper(helper, ..) = op { Some(*helper) } else { None }).any(|helper| match helper {
        Helper::Find(n) | Helper::Peek(n) | Helper::Insert(n) | Helper::DeleteEntry(n) => n == table,
        Helper::Walk(n) | Helper::Due(n) | Helper::NextKey(n) | Helper::WalkedKey(n) | Helper::Deadline(n) => n == table,
        Helper::EntryLoad(n, _) | Helper::EntryStore(n, _) => n == table,
        _ => false,
    })
}

/// Where data memory is accessed: address, offset, bytes.
fn accesses(func: &Func) -> impl Iterator<Item = (Value, u32, u32)> {
    let ops = func.blocks.iter().flat_map(|block| &block.ops);
    ops.filter_map(|v| match func.op(*v)? {
        Op::Load(Space::Data, _, addr, offset, _) => Some((*addr, *offset, u32::from(func.width(*v)) / 8)),
        Op::Store(Space::Data, _, addr, offset, value, _) => Some((*addr, *offset, u32::from(func.width(*value)) / 8)),
        _ => None,
    })
}

/// Leaves out stores to scratch memory that nothing loads; the words that are left of it.
pub(super) fn without_dead(func: &mut Func, scratch: Vec<Range<u32>>) -> Vec<Range<u32>> {
    let place = |func: &Func, addr: Value, offset: u32, width: u16| {
        let at = func.constant(addr).and_then(|at| u32::try_from(at.checked_add(offset.into())?).ok())?;
        Some(at..at.checked_add(u32::from(width) / 8)?)
    };
    let mut loaded = Vec::new();
    for v in func.blocks.iter().flat_map(|block| &block.ops) {
        if let Some(Op::Load(Space::Data, _, addr, offset, _)) = func.op(*v)
            && let Some(range) = place(func, *addr, *offset, func.width(*v))
            && in_scratch(func, &scratch, (*addr, *offset, range.end - range.start))
        {
            loaded.push(range);
        }
    }
    let is_dead = |func: &Func, v: Value| match func.op(v) {
        Some(Op::Store(Space::Data, _, addr, offset, value, _)) => {
            let stored = place(func, *addr, *offset, func.width(*value));
            stored.is_some_and(|stored| {
                let apart = loaded.iter().all(|range| range.end <= stored.start || stored.end <= range.start);
                apart && in_scratch(func, &scratch, (*addr, *offset, stored.end - stored.start))
            })
        }
        _ => false,
    };
    for b in func.block_ids().collect::<Vec<_>>() {
        let dead: Vec<bool> = func.block(b).ops.iter().map(|v| is_dead(func, *v)).collect();
        let mut dead = dead.into_iter();
        func.block_mut(b).ops.retain(|_| !dead.next().unwrap_or(false));
    }
    // A store may be wider than what is loaded of it.
    let words: BTreeSet<u32> = accesses(func)
        .filter(|access| in_scratch(func, &scratch, *access))
        .filter_map(|(addr, offset, bytes)| Some((func.constant(addr)? as u32 + offset, bytes)))
        .flat_map(|(at, bytes)| at / 8..(at + bytes).div_ceil(8))
        .collect();
    scratch.into_iter().flat_map(|range| within(&range, &words)).collect()
}

/// What of a range lies in these words.
fn within(range: &Range<u32>, words: &BTreeSet<u32>) -> Vec<Range<u32>> {
    let mut parts: Vec<Range<u32>> = Vec::new();
    for word in (range.start / 8..range.end.div_ceil(8)).filter(|word| words.contains(word)) {
        let part = range.start.max(8 * word)..range.end.min(8 * word + 8);
        match parts.last_mut().filter(|last| last.end == part.start) {
            Some(last) => last.end = part.end,
            None => parts.push(part),
        }
    }
    parts
}

/// What of data memory is accessed, but for scratch memory.
fn memory(func: &Func, scratch: &[Range<u32>], size: u32) -> Vec<Range<u32>> {
    let lasting = accesses(func).filter(|access| !in_scratch(func, scratch, *access));
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for (addr, offset, bytes) in lasting {
        match func.constant(addr).and_then(|at| u32::try_from(at + u64::from(offset)).ok()) {
            Some(at) => ranges.push(at..at.saturating_add(bytes).min(size)),
            None => return std::iter::once(0..size).collect(),
        }
    }
    ranges.sort_by_key(|range| range.start);
    ranges
}

/// Whether an access is to scratch memory alone.
fn in_scratch(func: &Func, scratch: &[Range<u32>], (addr, offset, bytes): (Value, u32, u32)) -> bool {
    let at = func.constant(addr).and_then(|at| u32::try_from(at + u64::from(offset)).ok());
    at.is_some_and(|at| scratch.iter().any(|range| range.start <= at && at + bytes <= range.end))
}

/// Where a function is cut.
struct Cuts<'a> {
    refused: &'a HashMap<MirLocation, Refused>,
    scratch: &'a [Range<u32>],
    /// Heads of loops that are handed over.
    heads: Vec<bool>,
    /// Blocks from whose beginning something is reached that the kernel has no form for.
    reach: Vec<bool>,
}

impl<'a> Cuts<'a> {
    fn new(func: &Func, refused: &'a HashMap<MirLocation, Refused>, scratch: &'a [Range<u32>], loops: bool) -> Self {
        let cfg = Cfg::new(func);
        let mut heads = vec![false; func.blocks.len()];
        for edge in cfg.order.iter().flat_map(|b| back_edges(func, &cfg, *b)).filter(|_| !loops) {
            heads[edge.block.0 as usize] = true;
        }
        let mut cuts = Self { refused, scratch, reach: heads.clone(), heads };
        let mut again = true;
        while std::mem::take(&mut again) {
            for b in cfg.order.iter().rev().filter(|b| !cuts.reach[b.0 as usize]).copied().collect::<Vec<_>>() {
                let reaches = cuts.refuses_in(func, b) || cuts.reaches_behind(func, b);
                again |= reaches;
                cuts.reach[b.0 as usize] = reaches;
            }
        }
        cuts
    }

    fn refuses_in(&self, func: &Func, b: Block) -> bool {
        func.block(b).ops.iter().any(|v| self.refused.contains_key(&MirLocation::Op(*v))) || self.refused.contains_key(&MirLocation::End(b))
    }

    fn reaches_behind(&self, func: &Func, b: Block) -> bool {
        func.block(b).end.targets().any(|to| self.reach[to.0 as usize])
    }

    /// Cuts; why, each reason once, in the order of places.
    fn cut(&self, func: &mut Func, code: u32) -> Vec<Refused> {
        let reachable = Cfg::new(func).order;
        for b in &reachable {
            if let Some(at) = self.place(func, *b) {
                let block = func.block_mut(*b);
                block.ops.truncate(at);
                block.end = Terminator::Drop(DropReason::Program(code));
            }
        }
        let still = Cfg::new(func);
        let is_cut = |b: &Block| func.block(*b).end == Terminator::Drop(DropReason::Program(code));
        if !still.order.iter().any(is_cut) {
            return Vec::new();
        }
        let mut told: BTreeMap<(Option<u32>, String), Refused> = BTreeMap::new();
        for why in self.refused.values() {
            told.entry((why.site, why.reason.clone())).or_insert_with(|| why.clone());
        }
        if self.heads.contains(&true) {
            let why = Refused::whole("a loop that does not count to a constant");
            told.insert((None, why.reason.clone()), why);
        }
        told.into_values().collect()
    }

    /// Before which operation a block is cut.
    fn place(&self, func: &Func, b: Block) -> Option<usize> {
        if self.heads[b.0 as usize] {
            return Some(0);
        }
        let ops = &func.block(b).ops;
        let mut behind = self.refused.contains_key(&MirLocation::End(b)) || self.reaches_behind(func, b);
        let mut cut = self.refused.contains_key(&MirLocation::End(b)).then_some(ops.len());
        for (at, v) in ops.iter().enumerate().rev() {
            let refused = self.refused.contains_key(&MirLocation::Op(*v));
            if refused || (behind && func.op(*v).is_some_and(|op| self.changes(func, op))) {
                cut = Some(at);
            }
            behind |= refused;
        }
        cut
    }

    /// Whether something is changed that is seen when the handler begins again.
    fn changes(&self, func: &Func, op: &Op) -> bool {
        match op {
            Op::Store(Space::Data, _, addr, offset, value, _) => {
                !in_scratch(func, self.scratch, (*addr, *offset, u32::from(func.width(*value)) / 8))
            }
            Op::Store(..) | Op::ExceptionStore(..) => true,
            Op::Helper(helper, ..) => !helper.row().writes.is_within(States::CLOCK.and(States::BUDGET)),
            _ => false,
        }
    }
}
