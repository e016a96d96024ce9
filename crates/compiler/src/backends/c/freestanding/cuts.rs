//! A handler in pieces, for hosts that run vectors of packets through one piece after the other: a
//! piece ends where a table is looked up, and the next begins with the lookup.
//!
//! Invariant: pieces do what the handler does, however packets of a vector are ordered in each. So
//! a handler stays whole that inserts or deletes entries (a piece would hold references to entries
//! that move), or draws random numbers. What is needed behind a cut is kept with the packet; what
//! can be computed again from a packet that nobody changed is not (PVPP, section 4: metadata
//! access).
//!
//! Blocks that several pieces lead to are in each of them, so packets go from piece to piece at
//! lookups alone. Leaves out cuts at other places than lookups.

use crate::analysis::liveness;
use crate::mir::cfg::Cfg;
use crate::mir::states::States;
use crate::mir::{Block, BlockData, Func, Helper, Op, Terminator, Type, Value};
use netil::table::Space;
use std::collections::BTreeSet;

/// Bytes for what is left of the budget.
pub(super) const BUDGET: u32 = 4;

/// The most cuts of a handler.
const MOST: usize = 16;

/// A handler in pieces.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    /// The handler, in which a lookup that begins a piece begins a block.
    pub func: Func,
    /// The pieces; the first begins where the handler does.
    pub pieces: Vec<Piece>,
}

/// A piece.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Its first block.
    pub start: Block,
    /// What is kept with the packet.
    pub kept: Vec<Value>,
    /// What is computed again, in order.
    pub again: Vec<Value>,
    /// Its blocks, in order.
    pub blocks: Vec<Block>,
    /// The table that it begins with.
    pub table: Option<u32>,
}

impl Pieces {
    /// The handler in one piece.
    pub fn whole(func: &Func) -> Self {
        Self::new(func.clone(), &[])
    }

    /// The handler in as many pieces as there may be, of which none keeps more than so many bytes;
    /// and why it is not in more.
    pub fn of(func: &Func, room: u32) -> (Self, Option<String>) {
        if let Some(why) = stays_whole(func) {
            return (Self::whole(func), Some(why));
        }
        let (func, mut heads) = divided(func);
        heads.truncate(MOST);
        let mut why = None;
        loop {
            let pieces = Self::new(func.clone(), &heads);
            if let Some((table, bytes)) = pieces.too_large(room) {
                why = Some(format!("{bytes} bytes are needed behind the lookup in table {table}; a buffer has room for {room}"));
                heads.retain(|(_, of)| *of != table);
            } else if pieces.pieces.len() > 1 && pieces.shares_state() {
                why = Some("pieces would share memory that lasts".to_owned());
                heads.pop();
            } else {
                return (pieces, why);
            }
        }
    }

    fn new(func: Func, heads: &[(Block, u32)]) -> Self {
        let cfg = Cfg::new(&func);
        let is_head = |block: Block| heads.iter().any(|(head, _)| *head == block);
        let blocks = |start: Block| reached(&func, &cfg, start, &is_head);
        let mut pieces = vec![Piece { start: Block(0), kept: Vec::new(), again: Vec::new(), blocks: blocks(Block(0)), table: None }];
        if !heads.is_empty() {
            let (live, changed) = (liveness::at_starts(&func, &cfg), changed_before(&func, &cfg));
            let again = [Again::new(&func, &cfg, false), Again::new(&func, &cfg, true)];
            for (start, table) in heads {
                let at = start.0 as usize;
                let needed = live[at].iter().chain(&func.block(*start).params).copied();
                let (kept, again) = again[usize::from(changed[at])].divide(&func, needed);
                pieces.push(Piece { start: *start, kept, again, blocks: blocks(*start), table: Some(*table) });
            }
        }
        Self { func, pieces }
    }

    /// Bytes that a piece's packets bring along.
    pub fn bytes(&self, piece: usize) -> u32 {
        if piece == 0 { 0 } else { BUDGET + self.pieces[piece].kept.iter().map(|v| bytes(&self.func, *v)).sum::<u32>() }
    }

    /// The pieces that a piece's packets may go to.
    pub fn next(&self, piece: usize) -> impl Iterator<Item = usize> + '_ {
        let of = &self.pieces[piece];
        let to = |block: Block| self.pieces.iter().skip(1).position(|p| p.start == block).map(|at| at + 1);
        let edges = of.blocks.iter().flat_map(|block| self.func.block(*block).end.edges()).filter_map(move |e| to(e.block));
        edges.filter(move |at| *at != piece).collect::<BTreeSet<_>>().into_iter()
    }

    /// Whether a piece sends packets by a port.
    pub fn sends(&self, piece: usize, port: u32) -> bool {
        self.pieces[piece].blocks.iter().any(|block| self.func.block(*block).end.ports().contains(&port))
    }

    /// Operations of a piece.
    pub fn size(&self, piece: usize) -> usize {
        self.pieces[piece].blocks.iter().map(|b| self.func.block(*b).ops.len() + self.func.block(*b).end.edges().len()).sum()
    }

    /// Whether a piece keeps something from packet to packet.
    pub fn keeps(&self, piece: usize) -> bool {
        self.ops(piece).any(super::needs::keeps)
    }

    fn ops(&self, piece: usize) -> impl Iterator<Item = &Op> {
        self.pieces[piece].blocks.iter().flat_map(|b| &self.func.block(*b).ops).filter_map(|v| self.func.op(*v))
    }

    /// A table behind whose lookup more is needed than there is room for, and how much.
    fn too_large(&self, room: u32) -> Option<(u32, u32)> {
        (1..self.pieces.len()).map(|at| (self.pieces[at].table.unwrap_or(0), self.bytes(at))).find(|(_, bytes)| *bytes > room)
    }

    /// Whether more than one piece looks at memory or a table that packets change, or if packets
    /// come to one that does by several ways.
    fn shares_state(&self) -> bool {
        let all = 0..self.pieces.len();
        let changes_memory = all.clone().any(|at| self.ops(at).any(changes_memory));
        let memory = all.clone().filter(|at| self.ops(*at).any(uses_memory)).count();
        let changed: BTreeSet<u32> = all.clone().flat_map(|at| self.ops(at).filter_map(changed_table).collect::<Vec<_>>()).collect();
        let users = |table: u32| all.clone().filter(|at| self.ops(*at).any(|op| used_table(op) == Some(table))).count();
        let before = |to: usize| all.clone().filter(|from| self.next(*from).any(|next| next == to)).count();
        let joined = all.clone().any(|at| before(at) > 1 && self.keeps(at));
        (changes_memory && memory > 1) || changed.iter().any(|table| users(*table) > 1) || joined
    }
}

/// How many bytes a value takes.
pub(super) fn bytes(func: &Func, v: Value) -> u32 {
    u32::from(func.width(v)).div_ceil(8)
}

/// Why a handler cannot be divided.
fn stays_whole(func: &Func) -> Option<String> {
    let ops = || func.blocks.iter().flat_map(|block| &block.ops).filter_map(|v| func.op(*v));
    let moves = |op: &Op| matches!(op, Op::Helper(Helper::Insert(_) | Helper::DeleteEntry(_), ..));
    if ops().any(moves) {
        return Some("packets enter or delete entries".to_owned());
    }
    if super::needs::copies(func) {
        return Some("it copies packets".to_owned());
    }
    // A unit keeps registers and matches, which another packet would find there.
    let searches = |op: &Op| matches!(op, Op::Helper(Helper::CoproOut(..) | Helper::CoproIn(..) | Helper::CoproInvoke(..), ..));
    if ops().any(searches) {
        return Some("it uses a coprocessor".to_owned());
    }
    ops().any(|op| matches!(op, Op::Random(_))).then(|| "it draws random numbers".to_owned())
}

/// The handler with a block that begins at each lookup, and these blocks with their tables.
fn divided(func: &Func) -> (Func, Vec<(Block, u32)>) {
    let (mut func, mut heads) = (func.clone(), Vec::new());
    for block in Cfg::new(&func).order {
        let mut block = block;
        let mut from = 0;
        while let Some((at, table)) = lookup(&func, block, from) {
            let rest = func.new_block(&[]);
            let BlockData { ops, end, .. } = func.block_mut(block);
            let (behind, end) =
                (ops.split_off(at), std::mem::replace(end, Terminator::Jump(crate::mir::Edge { block: rest, args: Vec::new() })));
            (func.block_mut(rest).ops, func.block_mut(rest).end) = (behind, end);
            heads.push((rest, table));
            (block, from) = (rest, 1);
        }
    }
    (func, heads)
}

/// The first lookup of a block from one of its operations on.
fn lookup(func: &Func, block: Block, from: usize) -> Option<(usize, u32)> {
    let table = |v: &Value| match func.op(*v) {
        Some(Op::Helper(Helper::Find(table) | Helper::Peek(table), ..)) => Some(*table),
        _ => None,
    };
    func.block(block).ops.iter().enumerate().skip(from).find_map(|(at, v)| table(v).map(|table| (at, table)))
}

/// Blocks that are reached from one without passing another piece's first.
fn reached(func: &Func, cfg: &Cfg, start: Block, is_head: &dyn Fn(Block) -> bool) -> Vec<Block> {
    let (mut seen, mut work) = (BTreeSet::from([cfg.position[start.0 as usize]]), vec![start]);
    while let Some(block) = work.pop() {
        for to in func.block(block).end.edges().into_iter().map(|e| e.block).filter(|to| !is_head(*to)) {
            if seen.insert(cfg.position[to.0 as usize]) {
                work.push(to);
            }
        }
    }
    let rest = seen.into_iter().map(|at| cfg.order[at]).filter(|block| *block != start);
    std::iter::once(start).chain(rest).collect()
}

/// By block, whether the packet may have been changed where it begins.
fn changed_before(func: &Func, cfg: &Cfg) -> Vec<bool> {
    let changes = |op: &Op| {
        matches!(op, Op::Store(Space::Packet, ..) | Op::Helper(Helper::Copy(_, Space::Packet) | Helper::SetWire, ..))
            || op.effects().geometry
    };
    let mut changed = vec![false; func.blocks.len()];
    let mut again = true;
    while std::mem::take(&mut again) {
        for block in &cfg.order {
            let here = changed[block.0 as usize] || func.block(*block).ops.iter().filter_map(|v| func.op(*v)).any(changes);
            for to in func.block(*block).end.edges().into_iter().map(|e| e.block.0 as usize).filter(|_| here) {
                again |= !std::mem::replace(&mut changed[to], true);
            }
        }
    }
    changed
}

/// What can be computed again where the packet was changed, or was not.
struct Again {
    /// By value whether it can.
    can: Vec<bool>,
    /// By value its place in an order in which operands come first.
    place: Vec<usize>,
}

impl Again {
    fn new(func: &Func, cfg: &Cfg, changed: bool) -> Self {
        let (mut can, mut place) = (vec![false; func.values.len()], vec![0; func.values.len()]);
        for (n, v) in cfg.order.iter().flat_map(|block| &func.block(*block).ops).enumerate() {
            let Some(op) = func.op(*v) else { continue };
            let mut all = is_plain(op, changed);
            op.operands(|operand| all &= !is_number(func, operand) || can[operand.0 as usize]);
            (can[v.0 as usize], place[v.0 as usize]) = (all, n);
        }
        Self { can, place }
    }

    /// What is needed: what is kept of it, and what is computed again with what that needs, in
    /// order.
    fn divide(&self, func: &Func, needed: impl Iterator<Item = Value>) -> (Vec<Value>, Vec<Value>) {
        let (mut work, kept): (Vec<Value>, Vec<Value>) = needed.partition(|v| self.can[v.0 as usize]);
        let mut again = BTreeSet::new();
        while let Some(v) = work.pop() {
            if let Some(op) = func.op(v).filter(|_| again.insert((self.place[v.0 as usize], v))) {
                op.operands(|operand| work.extend(is_number(func, operand).then_some(operand)));
            }
        }
        (kept, again.into_iter().map(|(_, v)| v).collect())
    }
}

fn is_number(func: &Func, v: Value) -> bool {
    matches!(func.ty(v), Type::Int(_))
}

/// Whether an operation gives the same again if its operands do.
fn is_plain(op: &Op, changed: bool) -> bool {
    match op {
        Op::Const(_) | Op::WideConst(_) | Op::Bin(..) | Op::Un(..) | Op::Cmp(..) | Op::Zext(_) | Op::Sext(_) => true,
        Op::Trunc(_) | Op::Slice(..) | Op::Concat(..) | Op::Select(..) | Op::SetHas(..) => true,
        Op::Load(Space::Packet, ..) | Op::PacketLen | Op::WireLen => !changed,
        _ => false,
    }
}

/// Memories that last.
const MEMORIES: States = States::DATA.and(States::SHARED);

fn changes_memory(op: &Op) -> bool {
    match op {
        Op::Store(space, ..) => States::memory(*space).meets(MEMORIES),
        Op::Helper(helper, ..) => helper.row().writes.meets(MEMORIES),
        op => matches!(op, Op::ExceptionStore(..)),
    }
}

fn uses_memory(op: &Op) -> bool {
    let reads = match op {
        Op::Load(space, ..) => States::memory(*space).meets(MEMORIES),
        Op::Helper(helper, ..) => helper.row().reads.meets(MEMORIES),
        op => matches!(op, Op::ExceptionLoad(_)),
    };
    reads || changes_memory(op)
}

fn changed_table(op: &Op) -> Option<u32> {
    if let Op::Helper(Helper::EntryStore(table, _), ..) = op { Some(*table) } else { None }
}

fn used_table(op: &Op) -> Option<u32> {
    match op {
        Op::Helper(Helper::EntryStore(table, _) | Helper::EntryLoad(table, _) | Helper::Find(table) | Helper::Peek(table), ..) => {
            Some(*table)
        }
        _ => None,
    }
}
