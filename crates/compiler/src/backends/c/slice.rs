//! What of an element must run so that it is known where a lookup will look: its slice, run ahead for a whole burst so that the memory is on its way.
//!
//! A slice writes nothing but its own copy of annotations and the packet's place, so running it ahead changes nothing. It may be wrong, where bytes are
//! read that the element would have written before: then other memory is fetched, and that is all. So it takes every branch of which only one side
//! leads to a lookup without looking at the condition, and whatever that side does not need is not computed.
//!
//! It ends at the first lookup in a table that may be out of the nearest caches, and at work that only the runtime does.
//! Source: architecture, "stage splitting"; the figures behind it are those of hand-written forwarding in bursts.

use crate::mir::{Block, Def, Edge, Func, Helper, Op, Terminator, Value};
use netil::cluster::Way;
use netil::exec::DropReason;
use netil::layout;
use netil::module::{Table, TableKind};
use netil::table::Space;

/// Bytes from which a table is worth fetching ahead: less stays in the second-level cache.
pub const LARGE: usize = 256 << 10;

/// Whether a lookup in a table may be a miss that is worth fetching ahead for; `large` in bytes.
pub(super) fn is_large(table: &Table, large: usize) -> bool {
    match table.kind {
        TableKind::Exact => table.key_bits <= 128 && layout::Exact::of(table).stride * table.capacity as usize >= large,
        _ => layout::Trie::of(table).is_some_and(|trie| 2 << trie.root_bits >= large),
    }
}

/// The slice of a handler that leads to a large table here, or to a member that has a slice; `None` if nothing does.
pub(super) fn of(func: &Func, (tables, large): (&[Table], usize), links: &[(u32, Way)], sliced: &[bool]) -> Option<Func> {
    let mut slicer = Slicer { func: func.clone(), tables, large };
    let leads = slicer.leads(links, sliced);
    if !leads[0] {
        return None;
    }
    for block in func.block_ids() {
        slicer.cut(block, &leads, links, sliced);
    }
    slicer.remove_unused();
    Some(slicer.func)
}

struct Slicer<'a> {
    func: Func,
    tables: &'a [Table],
    large: usize,
}

/// What an operation is to a slice.
#[derive(PartialEq, Eq)]
enum Part {
    /// The lookup that is fetched ahead.
    Goal,
    /// Stays, whoever uses it.
    Kept,
    /// Stays if it is used.
    Value,
    /// Left out.
    Skipped,
    /// The slice ends here.
    Stop,
}

impl Slicer<'_> {
    fn part(&self, op: &Op) -> Part {
        match op {
            Op::Store(Space::Info, ..) | Op::Budget(_) => Part::Kept,
            Op::Store(..) | Op::ExceptionStore(..) => Part::Skipped,
            Op::Random(_) => Part::Stop,
            Op::Helper(helper, ..) => self.helper(*helper),
            _ => Part::Value,
        }
    }

    fn helper(&self, helper: Helper) -> Part {
        match helper {
            Helper::Find(table) | Helper::Peek(table) if is_large(&self.tables[table as usize], self.large) => Part::Goal,
            Helper::Find(table) | Helper::Peek(table) if self.tables[table as usize].kind == TableKind::Exact => Part::Value,
            Helper::PullHead | Helper::PushHead | Helper::TrimTail | Helper::Unpull => Part::Kept,
            Helper::Checksum | Helper::ChecksumValid | Helper::ChecksumAdd | Helper::ChecksumSub | Helper::Hash => Part::Value,
            Helper::Moved | Helper::IsPresent | Helper::Inside | Helper::EntryLoad(..) => Part::Value,
            Helper::EntryStore(..) | Helper::SetTimer(_) | Helper::SetTime => Part::Skipped,
            _ => Part::Stop,
        }
    }

    /// The first goal or stop of a block.
    fn end_of(&self, block: Block) -> Option<(usize, Part)> {
        let ops = self.func.block(block).ops.iter().enumerate();
        let mut parts = ops.filter_map(|(i, v)| self.func.op(*v).map(|op| (i, self.part(op))));
        parts.find(|(_, part)| matches!(part, Part::Goal | Part::Stop))
    }

    /// Which blocks lead to a goal.
    fn leads(&self, links: &[(u32, Way)], sliced: &[bool]) -> Vec<bool> {
        let mut leads = vec![false; self.func.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for block in self.func.block_ids() {
                let now = match self.end_of(block) {
                    Some((_, part)) => part == Part::Goal,
                    None => self.ends_well(block, &leads, links, sliced),
                };
                changed |= now && !leads[block.0 as usize];
                leads[block.0 as usize] |= now;
            }
        }
        leads
    }

    fn ends_well(&self, block: Block, leads: &[bool], links: &[(u32, Way)], sliced: &[bool]) -> bool {
        match &self.func.block(block).end {
            Terminator::Send(port) => goes_on(*port, links, sliced),
            end => end.edges().iter().any(|e| leads[e.block.0 as usize]),
        }
    }

    /// Ends a block at its goal or stop, and leaves it only for blocks that lead on.
    fn cut(&mut self, block: Block, leads: &[bool], links: &[(u32, Way)], sliced: &[bool]) {
        let nowhere = Terminator::Drop(DropReason::Verdict);
        if let Some((at, _)) = self.end_of(block) {
            let data = self.func.block_mut(block);
            data.ops.truncate(at + 1);
            data.end = nowhere;
            return;
        }
        let on = |e: &Edge| leads[e.block.0 as usize];
        let end = match self.func.block(block).end.clone() {
            Terminator::Send(port) if goes_on(port, links, sliced) => return,
            Terminator::Branch(_, a, b) if on(&a) != on(&b) => Terminator::Jump(if on(&a) { a } else { b }),
            Terminator::Switch(_, cases, default) if cases.iter().map(|c| &c.1).chain([&default]).filter(|e| on(e)).count() == 1 => {
                let only = cases.iter().map(|c| &c.1).chain([&default]).find(|e| on(e)).cloned();
                only.map_or(nowhere, Terminator::Jump)
            }
            end if end.edges().iter().any(|e| on(e)) => end,
            _ => nowhere,
        };
        self.func.block_mut(block).end = end;
    }

    /// Leaves out what nothing that stays makes use of.
    fn remove_unused(&mut self) {
        let mut used = vec![false; self.func.values.len()];
        let mut work: Vec<Value> = Vec::new();
        let cfg = crate::mir::cfg::Cfg::new(&self.func);
        for block in &cfg.order {
            let data = self.func.block(*block);
            work.extend(data.ops.iter().filter(|v| self.func.op(**v).is_some_and(|op| matches!(self.part(op), Part::Goal | Part::Kept))));
            data.end.values(|v| work.push(v));
        }
        while let Some(v) = work.pop() {
            if !std::mem::replace(&mut used[v.0 as usize], true)
                && let Def::Op(op) = &self.func.values[v.0 as usize].def
            {
                op.operands(|operand| work.push(operand));
            }
        }
        for block in self.func.block_ids() {
            let mut ops = std::mem::take(&mut self.func.block_mut(block).ops);
            ops.retain(|v| used[v.0 as usize]);
            self.func.block_mut(block).ops = ops;
        }
    }
}

fn goes_on(port: u32, links: &[(u32, Way)], sliced: &[bool]) -> bool {
    links.iter().any(|(id, link)| *id == port && matches!(link, Way::Member(to, _) if sliced.get(*to as usize) == Some(&true)))
}
