//! Prefetch slices: what of an element must run so that it is known where a lookup will look, run
//! for a group of packets before the first of them, so that the memory is on its way.
//!
//! A slice writes nothing but its own copies of annotations, of what it reads of data memory and of
//! the packet's place, so running it early changes nothing. It may be wrong, where bytes are read
//! that the element would have written before: then other memory is prefetched, and that is all. So
//! it takes every branch of which only one side leads to a lookup without looking at the condition,
//! and whatever that side does not need is not computed.
//!
//! It prefetches for lookups in tables that may be out of the nearest caches, up to the first one
//! on whose result it depends what is looked up next, or to work that only the runtime does.
//! Source: Weiser, "Program Slicing" (1981); helper threads, Collins et al., "Speculative
//! Precomputation" (2001), here in the same thread.

use super::shadow::{Data, loads, place};
use super::{Member, info_size, size};
use crate::analysis::cost::CostModel;
use crate::mir::check::check;
use crate::mir::states::States;
use crate::mir::{Block, Def, Edge, FastPath, Func, Helper, Op, Row, Terminator, Value};
use crate::passes::{self, Context, Target};
use netil::Verified;
use netil::cluster::LinkTarget;
use netil::exec::DropReason;
use netil::layout;
use netil::module::{Table, TableKind};
use netil::table::Space;
use std::collections::BTreeSet;

/// Bytes of tables above which lookups are worth a prefetch: less stays in the second-level cache.
/// Of an exact table that is a cache line for each entry: those that it may have decide whether
/// there is a slice for it, and those that all such tables have when a burst comes whether it is
/// run.
pub const LARGE: usize = CostModel::SERVER.near_cache;

/// Packets for which a slice is run before the first of them is.
pub(crate) const DISTANCE: u32 = CostModel::SERVER.parallel_misses;

/// The most sources that take turns for packets that are copied while others are run.
pub const TURNS: usize = 16;

/// Branches that decide nothing any more make others such.
const ROUNDS: usize = 4;
/// Whether a lookup in a table may be a miss that is worth a prefetch; `large` in bytes.
pub fn is_large(table: &Table, large: usize) -> bool {
    match table.kind {
        TableKind::Exact => table.key_bits <= 128 && read_of(table) * table.capacity as usize > large,
        _ if layout::Paths::of(table).is_some() => table.capacity as usize * layout::paths::UNIT > large,
        _ => layout::Trie::of(table).is_some_and(|trie| root_of(&trie) > large),
    }
}

/// How many bytes of a table lookups may read now, by what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// So many for each entry.
    PerEntry(usize),
    /// So many for each unit that is in use.
    PerUnit(usize),
    /// So many, however few entries there are.
    Fixed(usize),
}

/// How much lookups may read now of a table that is worth a prefetch. Of a trie with an array of 24
/// bits that is any part of it, however few routes there are.
pub(crate) fn extent(table: &Table) -> Extent {
    match (table.kind, layout::Paths::of(table), layout::Trie::of(table)) {
        (TableKind::Exact, ..) => Extent::PerEntry(read_of(table)),
        (_, Some(_), _) => Extent::PerUnit(layout::paths::UNIT),
        (.., trie) => Extent::Fixed(trie.map_or(0, |trie| root_of(&trie))),
    }
}

/// How many bytes of a table that is worth a prefetch lookups may read now; `head` is its own
/// ([`layout`]).
pub fn bytes_now(table: &Table, head: &[u64]) -> usize {
    let word = |at: usize| head.get(at).map_or(0, |word| *word as usize);
    match extent(table) {
        Extent::PerEntry(bytes) => word(layout::head::FILLED) * bytes,
        Extent::PerUnit(bytes) => word(layout::paths::USED) * bytes,
        Extent::Fixed(bytes) => bytes,
    }
}

/// Bytes of a trie's first level.
fn root_of(trie: &layout::Trie) -> usize {
    2 << trie.root_bits
}

/// Bytes that lookups read for each entry of an exact table.
fn read_of(table: &Table) -> usize {
    layout::Exact::of(table).stride.next_multiple_of(layout::LINE)
}

/// The tables of which lookups in a handler are prefetched.
pub fn prefetched(func: &Func, tables: &[Table], large: usize) -> Vec<String> {
    looked_into(func, tables, large).into_iter().filter_map(|table| tables.get(table as usize)).map(|table| table.name.clone()).collect()
}

/// The large tables that a handler, or its slice, looks into.
pub(crate) fn looked_into(func: &Func, tables: &[Table], large: usize) -> BTreeSet<u32> {
    let looks_up = |op: &Op| if let Op::Helper(helper, ..) = op { helper.looks_up() } else { None };
    let found = super::ops(func).filter_map(looks_up);
    found.filter(|table| tables.get(*table as usize).is_some_and(|table| is_large(table, large))).collect()
}

/// By member its slice, if it has one. Wires that lead back are no links between members, so that
/// there is an end. Of annotations only those are set that some slice reads, which is known when
/// there are slices.
pub(super) fn slices(members: &[&Member<'_>], large: usize) -> Vec<Option<Func>> {
    let sliced = leading(members, large);
    let mut read = vec![false; info_size(members)];
    loop {
        let slice = |(m, leads): (&&Member<'_>, &bool)| leads.then(|| of(m.program, &m.func, large, (&m.links, &sliced), &read)).flatten();
        let slices: Vec<Option<Func>> = members.iter().zip(&sliced).map(slice).collect();
        let mut now = read.clone();
        slices.iter().flatten().for_each(|slice| reads(slice, Space::Info, &mut now));
        if now == read {
            return slices;
        }
        read = now;
    }
}

/// Which members lead to a lookup in a large table, here or behind.
fn leading(members: &[&Member<'_>], large: usize) -> Vec<bool> {
    let mut leading = vec![false; members.len()];
    if members.iter().all(|m| looked_into(&m.func, &m.program.module().tables, large).is_empty()) {
        return leading;
    }
    let slicers: Vec<Slicer<'_>> = members.iter().map(|m| slicer(m.program, &m.func, large, (&[], true))).collect();
    loop {
        let leads = |(slicer, m): (&Slicer<'_>, &&Member<'_>)| slicer.leads(&m.links, &leading)[0];
        let now: Vec<bool> = slicers.iter().zip(members).map(leads).collect();
        if now == leading {
            return leading;
        }
        leading = now;
    }
}

/// By member its slice, if that is in SSA form, for code generators that need it: slices need not
/// have it where they step over tests.
pub fn slices_in_ssa(members: &[&Member<'_>], large: usize) -> Vec<Option<Func>> {
    slices(members, large).into_iter().map(|slice| slice.filter(|slice| check(slice).is_ok())).collect()
}

/// For how many packets slices are run at once, of [`DISTANCE`]. Where they have few operations:
/// the fewer, the sooner packets run (900,000 routes: 22.6 ns for 4, 23.2 for 8, 24.0 for 16; but
/// for each alone the registers of both are wanted at once, 25.9). Where they are longer, going to
/// and fro takes more than that saves (IPv6: 72 ns for 4, 68 for 16).
pub(crate) fn group(slices: &[Option<Func>]) -> u32 {
    const FEW: usize = 50;
    if slices.iter().flatten().map(size).sum::<usize>() <= FEW { 4 } else { DISTANCE / 2 }
}

/// The slice of a handler that leads to a large table here, or to a member that has a slice; `None`
/// if nothing does.
fn of(program: &Verified, func: &Func, large: usize, way: (&[(u32, LinkTarget)], &[bool]), read: &[bool]) -> Option<Func> {
    let slice = |through| slicer(program, func, large, (read, through)).slice(program, way);
    let through = slice(true)?;
    if through.depends_on_goals() { slice(false).map(|slicer| slicer.func) } else { Some(through.func) }
}

fn slicer<'a>(program: &'a Verified, func: &Func, large: usize, (read, through): (&'a [bool], bool)) -> Slicer<'a> {
    let data = Data::read_by(func, program.module().data_size);
    Slicer { func: func.clone(), tables: &program.module().tables, large, read, data, through }
}

struct Slicer<'a> {
    func: Func,
    tables: &'a [Table],
    large: usize,
    /// By byte of info memory, whether a slice reads it.
    read: &'a [bool],
    /// What it reads of data memory and has a copy of.
    data: Data,
    /// It goes on behind a goal as though nothing had been found.
    through: bool,
}

/// Notes the bytes of a memory that a slice reads.
fn reads(slice: &Func, space: Space, read: &mut [bool]) {
    for (at, bytes) in loads(slice, space, |_| true) {
        match at {
            Some(at) => read.iter_mut().skip(at as usize).take(bytes as usize).for_each(|read| *read = true),
            None => read.fill(true),
        }
    }
}

/// What an operation is to a slice.
#[derive(PartialEq, Eq)]
enum Part {
    /// The lookup that is prefetched.
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
    fn slice(mut self, program: &Verified, (links, sliced): (&[(u32, LinkTarget)], &[bool])) -> Option<Self> {
        let leads = self.leads(links, sliced);
        if !leads[0] {
            return None;
        }
        for block in self.func.block_ids() {
            self.cut(block, &leads, links, sliced);
        }
        let context = Context::new(program, Target::HERE);
        for _ in 0..ROUNDS {
            self.remove_unused();
            self.skip_tests();
            passes::tidy(&mut self.func, &context);
        }
        Some(self)
    }

    /// Whether something that is still there makes use of what a lookup in a large table finds.
    fn depends_on_goals(&self) -> bool {
        let is_goal = |v: &Value| self.func.op(*v).is_some_and(|op| self.part(op) == Part::Goal);
        let mut depends = false;
        for block in crate::mir::cfg::Cfg::new(&self.func).order {
            let data = self.func.block(block);
            data.end.values(|v| depends |= is_goal(&v));
            data.ops.iter().filter_map(|v| self.func.op(*v)).for_each(|op| op.operands(|v| depends |= is_goal(&v)));
        }
        depends
    }

    fn part(&self, op: &Op) -> Part {
        match op {
            Op::Store(Space::Info, _, at, offset, value, _) if !self.is_read(*at, *offset, *value) => Part::Skipped,
            Op::Store(Space::Info, ..) | Op::Budget(..) => Part::Kept,
            Op::Store(Space::Data, _, at, offset, value, _)
                if self.data.is_read(place(&self.func, *at, *offset), self.func.width(*value)) =>
            {
                Part::Kept
            }
            Op::Store(..) | Op::ExceptionStore(..) => Part::Skipped,
            Op::Random(_) => Part::Stop,
            Op::Helper(helper, ..) => self.helper(*helper),
            _ => Part::Value,
        }
    }

    /// Whether a slice reads some of what is stored in info memory.
    fn is_read(&self, at: Value, offset: u32, value: Value) -> bool {
        let Some(from) = place(&self.func, at, offset) else { return !self.read.is_empty() };
        let bytes = usize::from(self.func.width(value)) / 8;
        self.read.iter().skip(from as usize).take(bytes).any(|read| *read)
    }

    fn helper(&self, helper: Helper) -> Part {
        /// What no slice reads: all packets are as long as can be here.
        const UNREAD: States = States::LENGTH.and(States::WIRE).and(States::TIME).and(States::ENTRIES).and(States::TIMERS);
        if let Some(table) = helper.looks_up() {
            return match &self.tables[table as usize] {
                table if is_large(table, self.large) => Part::Goal,
                table if table.kind == TableKind::Exact => Part::Value,
                _ => Part::Stop,
            };
        }
        let Row { writes, fast, .. } = helper.row();
        match fast == FastPath::Runtime {
            false if writes.meets(States::HEAD) => Part::Kept,
            false if writes.is_within(States::BUDGET) => Part::Value,
            _ if !writes.is_empty() && writes.is_within(UNREAD) => Part::Skipped,
            _ => Part::Stop,
        }
    }

    /// What of a block stays if its end does not lead on, if anything: up to its first goal, or to
    /// the last one before it stops.
    fn up_to_goal(&self, block: Block) -> Option<usize> {
        let parts = self.parts(block).take_while(|(_, part)| *part != Part::Stop);
        let mut goals = parts.filter(|(_, part)| *part == Part::Goal).map(|(i, _)| i + 1);
        if self.through { goals.last() } else { goals.next() }
    }

    /// Whether a slice does not come to the end of a block.
    fn ends_within(&self, block: Block) -> bool {
        self.parts(block).any(|(_, part)| part == Part::Stop || part == Part::Goal && !self.through)
    }

    fn parts(&self, block: Block) -> impl Iterator<Item = (usize, Part)> {
        let ops = self.func.block(block).ops.iter().enumerate();
        ops.filter_map(|(i, v)| self.func.op(*v).map(|op| (i, self.part(op))))
    }

    /// Which blocks lead to a goal.
    fn leads(&self, links: &[(u32, LinkTarget)], sliced: &[bool]) -> Vec<bool> {
        let mut leads = vec![false; self.func.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            // From the end: blocks stand before most of those that they lead to.
            for n in (0..leads.len()).rev().filter(|n| !leads[*n]).collect::<Vec<_>>() {
                let block = Block(n as u32);
                let on = !self.ends_within(block) && self.ends_well(block, &leads, links, sliced);
                leads[n] = on || self.up_to_goal(block).is_some();
                changed |= leads[n];
            }
        }
        leads
    }

    fn ends_well(&self, block: Block, leads: &[bool], links: &[(u32, LinkTarget)], sliced: &[bool]) -> bool {
        let end = &self.func.block(block).end;
        end.ports().any(|port| goes_on(port, links, sliced)) || end.edges().iter().any(|e| leads[e.block.0 as usize])
    }

    /// Ends a block at its goal or stop, and leaves it only for blocks that lead on.
    fn cut(&mut self, block: Block, leads: &[bool], links: &[(u32, LinkTarget)], sliced: &[bool]) {
        let nowhere = Terminator::Drop(DropReason::Verdict);
        if self.ends_within(block) || !self.ends_well(block, leads, links, sliced) {
            let kept = self.up_to_goal(block).unwrap_or(0);
            let data = self.func.block_mut(block);
            data.ops.truncate(kept);
            data.end = nowhere;
            return;
        }
        let on = |e: &Edge| leads[e.block.0 as usize];
        let end = match self.func.block(block).end.clone() {
            end if end.ports().any(|port| goes_on(port, links, sliced)) => one_way(end, on, |port| goes_on(port, links, sliced)),
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

    /// Steps over tests, and loops, from which all ways lead to one block with nothing done before
    /// that is needed there or behind.
    fn skip_tests(&mut self) {
        let needed = self.needed();
        for block in self.func.block_ids() {
            if let Some(join) = (self.func.block(block).end.edges().len() > 1).then(|| self.join(block, &needed)).flatten() {
                self.func.block_mut(block).end = Terminator::Jump(Edge::to(join));
            }
        }
    }

    /// The one needed block that all ways from a block lead to first.
    fn join(&self, block: Block, needed: &[bool]) -> Option<Block> {
        let (mut seen, mut work, mut join) = (vec![false; needed.len()], vec![block], None);
        while let Some(from) = work.pop() {
            let edges = self.func.block(from).end.edges();
            if edges.is_empty() {
                return None;
            }
            for edge in edges {
                let at = edge.block.0 as usize;
                match needed[at] {
                    true if !edge.args.is_empty() || join.is_some_and(|join| join != edge.block) => return None,
                    true => join = Some(edge.block),
                    false if !std::mem::replace(&mut seen[at], true) => work.push(edge.block),
                    false => {}
                }
            }
        }
        join
    }

    /// Blocks that do something which lasts, or compute what that needs. Other tests may then use
    /// what was stepped over: variables of slices begin as zeros.
    fn needed(&self) -> Vec<bool> {
        let mut home = vec![None; self.func.values.len()];
        for block in self.func.block_ids() {
            let data = self.func.block(block);
            data.ops.iter().chain(&data.params).for_each(|v| home[v.0 as usize] = Some(block));
        }
        let (mut needed, mut work) = self.lasting();
        let cfg = crate::mir::cfg::Cfg::new(&self.func);
        let mut seen = vec![false; self.func.values.len()];
        while let Some(v) = work.pop() {
            let (false, Some(block)) = (std::mem::replace(&mut seen[v.0 as usize], true), home[v.0 as usize]) else { continue };
            needed[block.0 as usize] = true;
            match self.func.op(v) {
                Some(op) => op.operands(|operand| work.push(operand)),
                // A parameter: which way was taken matters.
                None => {
                    for before in &cfg.predecessors[block.0 as usize] {
                        needed[before.0 as usize] = true;
                        self.func.block(*before).end.values(|value| work.push(value));
                    }
                }
            }
        }
        needed
    }

    /// The blocks that packets leave by, and what lasts: operations, and the numbers that packets
    /// leave by.
    fn lasting(&self) -> (Vec<bool>, Vec<Value>) {
        let lasts = |v: &&Value| {
            self.func.op(**v).is_some_and(|op| matches!(self.part(op), Part::Goal | Part::Kept) && !matches!(op, Op::Budget(..)))
        };
        let (mut leaves, mut values) = (Vec::new(), Vec::new());
        for block in self.func.block_ids() {
            let data = self.func.block(block);
            values.extend(data.ops.iter().filter(lasts));
            let sends = data.end.ports().next().is_some();
            leaves.push(sends || data.end.edges().is_empty());
            if sends {
                data.end.values(|v| values.push(v));
            }
        }
        (leaves, values)
    }

    /// Leaves what is done, and what that needs. A store to data memory is done if something that
    /// is needed reads it: what only counts itself on is not.
    fn remove_unused(&mut self) {
        self.data.forget();
        let mut used = vec![false; self.func.values.len()];
        let order = crate::mir::cfg::Cfg::new(&self.func).order;
        let mut work: Vec<Value> = Vec::new();
        order.iter().for_each(|block| self.func.block(*block).end.values(|v| work.push(v)));
        loop {
            let ops = order.iter().flat_map(|block| &self.func.block(*block).ops);
            let is_done =
                |v: &Value| !used[v.0 as usize] && self.func.op(*v).is_some_and(|op| matches!(self.part(op), Part::Goal | Part::Kept));
            work.extend(ops.filter(|v| is_done(v)));
            if work.is_empty() {
                break;
            }
            self.mark(std::mem::take(&mut work), &mut used);
            loads(&self.func, Space::Data, |v| used[v.0 as usize]).for_each(|(at, bytes)| self.data.read(at, bytes));
        }
        for block in self.func.block_ids() {
            let mut ops = std::mem::take(&mut self.func.block_mut(block).ops);
            ops.retain(|v| used[v.0 as usize]);
            self.func.block_mut(block).ops = ops;
        }
    }

    /// Marks values and what they are computed of.
    fn mark(&self, mut work: Vec<Value>, used: &mut [bool]) {
        while let Some(v) = work.pop() {
            if !std::mem::replace(&mut used[v.0 as usize], true)
                && let Def::Op(op) = &self.func.values[v.0 as usize].def
            {
                op.operands(|operand| work.push(operand));
            }
        }
    }
}

/// An end by ports of which some go on: if that is one, and it does not lead on otherwise, the
/// packet leaves by that one, whatever number the program computes.
fn one_way(end: Terminator, on: impl Fn(&Edge) -> bool, goes_on: impl Fn(u32) -> bool) -> Terminator {
    let mut ports = end.ports().filter(|port| goes_on(*port));
    match (ports.next(), ports.next()) {
        (Some(only), None) if !end.edges().into_iter().any(on) => Terminator::Send(only),
        _ => end,
    }
}

fn goes_on(port: u32, links: &[(u32, LinkTarget)], sliced: &[bool]) -> bool {
    links.iter().any(|(id, link)| *id == port && matches!(link, LinkTarget::Member(to, _) if sliced.get(*to as usize) == Some(&true)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::shadow;
    use netil::asm::assemble;
    use netil::module::HandlerKind;

    /// Lookups that the slice of a handler prefetches for, and its stores to data memory.
    fn counted(data_size: u32, code: &str) -> (usize, usize) {
        let head = format!("segment .metadata\n.datamem_size {data_size}\nends\nsegment .tables\n.table t, exact, 16, 4, 100000\nends\n");
        let program =
            netil::verify(assemble(&format!("{head}segment .push\n.local 0, entry t\npop\n{code}\nret 1\nends\n"), "").unwrap()).unwrap();
        let (func, _) = crate::optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        let slice = of(&program, &func, LARGE, (&[], &[]), &[]).unwrap();
        let cfg = crate::mir::cfg::Cfg::new(&slice);
        let ops = || cfg.order.iter().flat_map(|block| &slice.block(*block).ops).filter_map(|v| slice.op(*v));
        let lookups = ops().filter(|op| matches!(op, Op::Helper(Helper::Find(_) | Helper::Peek(_) | Helper::Insert(_), ..))).count();
        (lookups, ops().filter(|op| matches!(op, Op::Store(Space::Data, ..))).count())
    }

    #[test]
    fn tables_are_large_by_what_is_in_them() {
        let now = |kind, key_bits| {
            let (name, entries) = (String::new(), Vec::new());
            extent(&Table { name, kind, key_bits, value_bytes: 4, capacity: 1_000_000, timeout_ns: 0, entries })
        };
        assert_eq!([48, 128].map(|bits| now(TableKind::Exact, bits)), [Extent::PerEntry(64); 2]);
        assert_eq!([128, 32].map(|bits| now(TableKind::Prefix, bits)), [Extent::PerUnit(32), Extent::Fixed(33_554_432)]);
    }

    const FIRST: &str = "push 0\nupload.8\npush 0\nmstore.8";
    const SECOND: &str = "push 1\nupload.8\npush 1\nmstore.8\npush 7\npush 9\nmstore.8";
    const FIND: &str = "push 0\numload.16\nw.trunc 32, 16\nt.find t\nlocstore 0";

    #[test]
    fn keys_that_are_put_together_in_a_small_memory_are_found_there() {
        let code = format!("{FIRST}\n{SECOND}\n{FIND}");
        assert_eq!([16, shadow::MOST, shadow::MOST + 1].map(|size| counted(size, &code)), [(1, 2); 3]);
    }

    #[test]
    fn of_a_large_memory_only_what_is_read_at_known_places_is_kept() {
        let computed = "push 0\nupload.8\numload.16\nw.trunc 32, 16\nt.find t\nlocstore 0";
        let code = format!("{FIRST}\n{SECOND}\n{computed}");
        assert_eq!([shadow::MOST, shadow::MOST + 1].map(|size| counted(size, &code)), [(1, 3), (1, 0)]);
        let sum = |bytes: u32| (0..bytes).map(|at| format!("push {at}\numload.8\nadd\n")).collect::<String>();
        let code = |bytes| format!("{FIRST}\npush 0\n{}w.trunc 32, 16\nt.find t\nlocstore 0", sum(bytes));
        assert_eq!([shadow::MOST, shadow::MOST + 1].map(|bytes| counted(1000, &code(bytes))), [(1, 1), (1, 0)]);
    }

    #[test]
    fn what_only_counts_is_left_out() {
        let count = "push 4\numload.32\npush_1\nadd\npush 4\nmstore.32";
        assert_eq!(counted(16, &format!("{count}\n{FIRST}\n{SECOND}\n{FIND}")), (1, 2));
    }

    #[test]
    fn a_slice_ends_where_the_next_key_depends_on_what_was_found() {
        let next = |key: &str| format!("{FIND}\n{key}\nt.find t\nlocstore 0");
        let (free, bound) = (next("push 2\nupload.16\nw.trunc 32, 16"), next("locload 0\nt.valid t\nw.trunc 32, 16"));
        assert_eq!([counted(16, &free), counted(16, &bound)], [(2, 0), (1, 0)]);
    }

    /// The ends by ports that are left of a classifier's with four outputs, so many of which go on.
    fn ends_by_ports(going_on: usize) -> Vec<Terminator> {
        let number = "push 9\njcmp.eq known\npush 20\nupload.8\nlocstore 0\nknown:\nlocload 0";
        let head =
            "segment .ports\npush_output a, b, c, d\nends\nsegment .push\n.locals 1\npop\npush 0\nupload.8\nlocstore 0\npush 1\nupload.8";
        let program = netil::verify(assemble(&format!("{head}\n{number}\npkt.sendby a, 4\nret 0\nends\n"), "").unwrap()).unwrap();
        let (func, _) = crate::optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        let outputs = program.module().all_ports().into_iter().filter(|(_, port)| !port.kind.is_input());
        let links: Vec<(u32, LinkTarget)> = outputs.take(going_on).map(|(id, _)| (id, LinkTarget::Member(1, 0))).collect();
        let slice = of(&program, &func, LARGE, (&links, &[false, true]), &[]).unwrap();
        let cfg = crate::mir::cfg::Cfg::new(&slice);
        let ends = cfg.order.iter().map(|block| slice.block(*block).end.clone());
        ends.filter(|end| end.ports().next().is_some()).collect()
    }

    #[test]
    fn of_several_ports_that_go_on_the_number_is_computed() {
        assert!(matches!(&ends_by_ports(1)[..], [Terminator::Send(_)]));
        assert!(matches!(&ends_by_ports(2)[..], [Terminator::SendBy(..)]), "{:?}", ends_by_ports(2));
    }

    #[test]
    fn the_one_port_that_goes_on_needs_no_number() {
        let by = Terminator::SendBy(Value(0), 4, 3, Edge::to(Block(1)));
        let ends = |leads: bool, ports: &[u32]| one_way(by.clone(), |_| leads, |port| ports.contains(&port));
        assert_eq!(ends(false, &[5]), Terminator::Send(5));
        assert_eq!([ends(true, &[5]), ends(false, &[4, 5])], [by.clone(), by]);
    }
}
