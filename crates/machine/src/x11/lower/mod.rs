//! MIR of all elements to slots over virtual registers: one list of blocks, elements inlined where packets come to them.
//!
//! A value is a list of words from the lowest, each a register or a constant; for each register it is known which bits may be set, so what is no more than 16 bits wide takes one word whatever
//! its type says. Booleans are flags. Operations with an effect are pinned to their block and keep their order; others may be done in any block before.
//!
//! Refused with the place: loops that do not count to a constant, elements that packets come back to, packets whose ends move, copies of packets, coprocessors, timers, random numbers,
//! multiplications and divisions but by powers of two, and places in the packet that may be odd for more than one byte (the machine has no access to what is not aligned).

mod memory;
mod tables;
mod words;

use super::code::{Access, Alu, AluOp, Branch, FlagOp, If, Move, Offset, Place, Reg, Src, Target, Trap, Verdict};
use super::{Machine, Refused};
use compiler::backends::ebpf::unroll;
use compiler::mir::cfg::Cfg;
use compiler::mir::{Block, Edge, Func, Op as Mir, Order, Terminator, Type, Value};
use compiler::passes::{self, Context};
use compiler::translate::translate;
use netil::Verified;
use netil::exec::{DEFAULT_BUDGET, DropReason, TrapKind};
use netil::module::HandlerKind;
use netil::set::Set;
use std::collections::HashMap;

/// An element.
#[derive(Clone, Debug)]
pub struct Element<'a> {
    /// Its program.
    pub program: &'a Verified,
    /// Where its output ports lead; packets that leave by others are dropped.
    pub ways: Vec<(u32, Link)>,
}

/// Where an output port leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Into an element, by that input port.
    Element(usize, u32),
    /// Out of the pipeline, by that port.
    Port(u32),
}

/// An operation of a slot or an access point.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Alu(Alu),
    Move(Move),
    Load(Offset),
    Branch(Branch),
    Point(Access),
}

/// An operation and where it belongs.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) op: Op,
    pub(super) home: usize,
    /// It has an effect, or sees one: it stays in its block, in order.
    pub(super) pinned: bool,
    /// Another operation that writes the same register before it.
    pub(super) after: Option<usize>,
    /// A block that it may not be done in, nor in those before.
    pub(super) below: Option<usize>,
    /// It belongs to its block whatever uses it.
    pub(super) fixed: bool,
}

/// How a block ends.
#[derive(Clone, Debug)]
pub(super) enum End {
    Jump(usize),
    Branch(If, usize, usize),
    /// By an access point, the last operation of the block.
    Lookup(Vec<usize>),
}

/// What the scheduler takes.
#[derive(Clone, Debug, Default)]
pub(super) struct Lowered {
    pub(super) steps: Vec<Step>,
    /// Ends of blocks; the block after the last one is the end of the pipeline.
    pub(super) ends: Vec<End>,
    pub(super) regs: u16,
    pub(super) flags: u16,
    /// First registers of pairs.
    pub(super) pairs: Vec<Reg>,
    pub(super) sets: Vec<Set>,
    pub(super) traps: Vec<Trap>,
    /// A name for where packets go, if the first operation says where most of them do: the others that say so come behind it.
    pub(super) usual: Option<Reg>,
    /// On every way out something says where packets go.
    pub(super) told: bool,
}

/// A boolean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bit {
    Const(bool),
    Is(If),
}

/// What a value of MIR is.
#[derive(Clone, Debug)]
enum Val {
    Words(Vec<Src>),
    Bit(Bit),
    None,
}

/// The end of the pipeline, until blocks are counted.
const DONE: usize = usize::MAX;

/// An element's handler.
struct Code<'a> {
    program: &'a Verified,
    func: Func,
    cfg: Cfg,
    ways: &'a [(u32, Link)],
    /// The number of its first block.
    first: usize,
}

struct Lower<'a> {
    machine: &'a Machine,
    codes: Vec<Code<'a>>,
    out: Lowered,
    /// By register the bits that may be set.
    masks: Vec<u16>,
    values: HashMap<Value, Val>,
    /// By block what edges that lead there bring: the block that they leave, and values.
    incoming: HashMap<usize, Vec<(usize, Vec<Val>)>>,
    element: usize,
    block: usize,
    site: Option<u32>,
    facts: tables::Facts,
    stored: memory::Stored,
    /// Ways out of the pipeline on which nothing says where to.
    silent: usize,
}

pub(super) fn lower(elements: &[Element<'_>], entry: Option<u32>, machine: &Machine) -> Result<Lowered, Refused> {
    let order = order(elements)?;
    let (mut codes, mut first) = (Vec::new(), 0);
    for (n, element) in elements.iter().enumerate() {
        let func = optimised(element.program).map_err(|reason| Refused { element: n, reason, site: None })?;
        let cfg = Cfg::new(&func);
        let count = func.blocks.len();
        codes.push(Code { program: element.program, func, cfg, ways: &element.ways, first });
        first += count;
    }
    let stored = memory::Stored::of(&codes);
    let out = Lowered { ends: vec![End::Jump(DONE); first], ..Lowered::default() };
    let mut l = Lower {
        machine,
        codes,
        out,
        masks: Vec::new(),
        values: HashMap::new(),
        incoming: HashMap::new(),
        element: 0,
        block: 0,
        site: None,
        facts: tables::Facts::default(),
        stored,
        silent: 0,
    };
    l.block = l.codes[0].first;
    let port = entry.map_or_else(
        || vec![l.loaded(Place::Port, 0xffff), Src::Imm(0)],
        |port| vec![Src::Imm(port as u16), Src::Imm((port >> 16) as u16)],
    );
    l.incoming.insert(l.block, vec![(DONE, vec![Val::Words(port)])]);
    order.into_iter().try_for_each(|element| l.element(element))?;
    Ok(l.finish())
}

/// Elements in the order in which packets come to them.
fn order(elements: &[Element<'_>]) -> Result<Vec<usize>, Refused> {
    let next = |n: usize| elements[n].ways.iter().filter_map(|(_, link)| if let Link::Element(to, _) = link { Some(*to) } else { None });
    let (mut open, mut done, mut order, mut stack) = (vec![false; elements.len()], vec![false; elements.len()], Vec::new(), vec![(0, 0)]);
    while let Some((n, way)) = stack.pop() {
        open[n] = true;
        match next(n).nth(way) {
            Some(to) if open[to] => {
                return Err(Refused {
                    element: to,
                    reason: "packets come back to it, and the pipeline leads forward only".to_owned(),
                    site: None,
                });
            }
            Some(to) => {
                stack.push((n, way + 1));
                if !done[to] {
                    stack.push((to, 0));
                }
            }
            None => {
                (open[n], done[n]) = (false, true);
                order.push(n);
            }
        }
    }
    order.reverse();
    Ok(order)
}

/// The push handler as this back end takes it: words are put together and swapped nowhere, switches stay what they are.
fn optimised(program: &Verified) -> Result<Func, String> {
    let disabled = ["switches", "widen", "compares", "byteswap", "select"].map(str::to_owned).to_vec();
    let options = passes::Options { disabled, ..passes::Options::default() };
    let translated = translate(program, HandlerKind::Push).map_err(|e| e.to_string())?;
    let func = translated.ok_or("a program without a push handler: packets come by themselves")?;
    let mut func = unroll(func).map_err(|e| e.to_string())?;
    passes::optimise(&mut func, &Context::new(program, Order::Little), &options);
    let cfg = Cfg::new(&func);
    let back = |b: &Block| func.block(*b).end.edges().iter().any(|e| cfg.position[e.block.0 as usize] <= cfg.position[b.0 as usize]);
    if let Some(block) = cfg.order.iter().find(|b| back(b)) {
        let site = func.block(*block).ops.iter().find_map(|v| site(func.op(*v)?));
        let place = site.map_or_else(String::new, |site| format!(" at instruction {site}"));
        return Err(format!("a loop{place} that does not count to a constant: the pipeline leads forward only"));
    }
    Ok(func)
}

/// The place of an operation.
fn site(op: &Mir) -> Option<u32> {
    match op {
        Mir::NonZero(_, site)
        | Mir::Checked(.., site)
        | Mir::Random(site)
        | Mir::Budget(site, _)
        | Mir::Present(site)
        | Mir::Helper(_, _, site) => Some(*site),
        Mir::Check(_, extents) | Mir::Proved(_, extents) => extents.first().map(|e| e.site),
        _ => None,
    }
}

impl<'a> Lower<'a> {
    fn code(&self) -> &Code<'a> {
        &self.codes[self.element]
    }

    fn refuse<T>(&self, reason: impl Into<String>) -> Result<T, Refused> {
        Err(Refused { element: self.element, reason: reason.into(), site: self.site })
    }

    fn push(&mut self, op: Op, pinned: bool) -> usize {
        self.out.steps.push(Step { op, home: self.block, pinned, after: None, below: None, fixed: false });
        self.out.steps.len() - 1
    }

    fn reg(&mut self, mask: u16) -> Reg {
        self.masks.push(mask);
        self.out.regs += 1;
        self.out.regs - 1
    }

    fn element(&mut self, element: usize) -> Result<(), Refused> {
        self.element = element;
        self.values.clear();
        self.budget()?;
        self.facts = tables::Facts::of(&self.codes[element].func, &self.codes[element].cfg);
        let order = self.code().cfg.order.clone();
        let first = code_first(&self.codes, element);
        order.into_iter().try_for_each(|block| {
            (self.block, self.site) = (first + block.0 as usize, None);
            self.params(block);
            self.body(block)
        })
    }

    /// Backward branches are none; what else is paid for must be less than the budget on any way.
    fn budget(&self) -> Result<(), Refused> {
        let func = &self.code().func;
        let ops = func.blocks.iter().flat_map(|b| &b.ops).filter_map(|v| func.op(*v));
        let spent: u64 = ops.map(|op| if let Mir::Budget(_, n) = op { u64::from(*n) } else { 0 }).sum();
        if spent > u64::from(DEFAULT_BUDGET) {
            return self.refuse(format!("work for {spent}, and the budget of a run is {DEFAULT_BUDGET}"));
        }
        Ok(())
    }

    /// Values that edges bring: one register where they differ.
    fn params(&mut self, block: Block) {
        let params = self.code().func.block(block).params.clone();
        let edges = self.incoming.remove(&self.block).unwrap_or_default();
        for (n, param) in params.into_iter().enumerate() {
            let width = self.code().func.width(param);
            let val = match width {
                0 => Val::None,
                1 => Val::Bit(self.joined_bit(&edges, n)),
                _ => Val::Words((0..words::count(width)).map(|word| self.joined_word(&edges, n, word)).collect()),
            };
            self.values.insert(param, val);
        }
    }

    fn joined_word(&mut self, edges: &[(usize, Vec<Val>)], n: usize, word: usize) -> Src {
        let here = self.block;
        let mut all = Vec::new();
        for (from, vals) in edges {
            self.block = *from;
            let val = vals.get(n).cloned().unwrap_or(Val::None);
            all.push((*from, self.word(&val, word)));
        }
        self.block = here;
        if all.windows(2).all(|pair| pair[0].1 == pair[1].1) {
            return all.first().map_or(Src::Imm(0), |(_, src)| *src);
        }
        let mask = all.iter().fold(0, |mask, (_, src)| mask | self.mask(*src));
        let reg = self.reg(mask);
        for (from, src) in all {
            self.block = from;
            self.push(Op::Move(Move { guard: None, to: Place::Reg(reg), from: place(src) }), true);
        }
        self.block = here;
        Src::Reg(reg)
    }

    fn joined_bit(&mut self, edges: &[(usize, Vec<Val>)], n: usize) -> Bit {
        let here = self.block;
        let bits: Vec<(usize, Bit)> =
            edges.iter().map(|(from, vals)| (*from, vals.get(n).map_or(Bit::Const(false), words::plain_bit))).collect();
        if bits.windows(2).all(|pair| pair[0].1 == pair[1].1) {
            return bits.first().map_or(Bit::Const(false), |(_, bit)| *bit);
        }
        let flag = self.flag();
        for (from, bit) in bits {
            self.block = from;
            let alu = match bit {
                Bit::Is(is) => Alu::Flags { op: FlagOp::And, flag, a: is, b: is },
                Bit::Const(c) => {
                    Alu::Words { op: AluOp::Eq, dst: None, flag: Some(flag), a: Src::Imm(u16::from(!c)), b: Src::Imm(0), with: None }
                }
            };
            self.push(Op::Alu(alu), true);
        }
        self.block = here;
        Bit::Is(If { flag, holds: true })
    }

    fn body(&mut self, block: Block) -> Result<(), Refused> {
        let ops = self.code().func.block(block).ops.clone();
        for value in ops {
            let Some(op) = self.code().func.op(value).cloned() else { continue };
            self.site = site(&op).or(self.site);
            let ty = self.code().func.ty(value);
            let val = self.op(value, &op, ty)?;
            self.values.insert(value, val);
        }
        let end = self.code().func.block(block).end.clone();
        self.end(&end)
    }

    fn op(&mut self, value: Value, op: &Mir, ty: Type) -> Result<Val, Refused> {
        let width = if let Type::Int(width) = ty { width } else { 0 };
        Ok(match op {
            Mir::Check(space, extents) => {
                self.check(*space, extents)?;
                Val::None
            }
            Mir::Load(space, order, addr, offset, _) => return self.load(value, *space, *order, *addr, *offset, width),
            Mir::Store(space, order, addr, offset, v, _) => {
                self.store(value, *space, *order, (*addr, *offset), *v)?;
                Val::None
            }
            Mir::Proved(..) | Mir::Budget(..) | Mir::Present(_) => Val::None,
            Mir::PacketLen => Val::Words(vec![self.loaded(Place::Len, 0xffff), Src::Imm(0)]),
            Mir::WireLen => Val::Words(vec![self.loaded(Place::WireLen, 0xffff), Src::Imm(0)]),
            Mir::SetHas(set, v) => {
                let set = self.code().func.set(self.code().program.module(), *set).clone();
                let key = self.words_of(*v);
                Val::Bit(self.has(&set, &key)?)
            }
            Mir::Helper(helper, args, _) => return self.helper(value, *helper, args, width),
            Mir::Random(_) => return self.refuse("a random number: the pipeline has none"),
            Mir::TimeSeconds | Mir::TimeMicros | Mir::TimeNanos => {
                return self.refuse("the time: the pipeline has no clock that a program reads");
            }
            Mir::ExceptionLoad(_) | Mir::ExceptionStore(..) => return self.refuse("the exception table: the pipeline has none"),
            _ => return self.arithmetic(op, width),
        })
    }

    fn loaded(&mut self, from: Place, mask: u16) -> Src {
        let reg = self.reg(mask);
        self.push(Op::Move(Move { guard: None, to: Place::Reg(reg), from }), false);
        Src::Reg(reg)
    }

    /// Ends the run at once if that holds.
    fn trap_if(&mut self, bit: Bit, kind: TrapKind, site: u32, ends: Vec<(u32, u32)>) {
        let guard = match bit {
            Bit::Const(false) => return,
            Bit::Const(true) => None,
            Bit::Is(is) => Some(is),
        };
        self.out.traps.push(Trap { element: self.element, kind, site, ends });
        let to = Target::Trap(self.out.traps.len() - 1);
        self.push(Op::Branch(Branch { guard, to }), true);
    }

    fn end(&mut self, end: &Terminator) -> Result<(), Refused> {
        let here = self.block;
        let to = match end {
            Terminator::Jump(edge) => End::Jump(self.edge(edge, None)),
            Terminator::Branch(c, yes, no) => match self.bit_of(*c) {
                Bit::Const(c) => End::Jump(self.edge(if c { yes } else { no }, None)),
                Bit::Is(is) => self.branch(is, yes, no),
            },
            Terminator::Switch(v, cases, default) => self.switch(*v, cases, default)?,
            Terminator::Send(port) => End::Jump(self.send(*port, None)),
            Terminator::Drop(reason) => End::Jump(self.drop(*reason, None)),
        };
        // A chain of comparisons has gone on to another block.
        let at = self.block;
        self.out.ends[at] = to;
        self.block = here;
        Ok(())
    }

    /// Two ways; one that only leaves the pipeline is a move under a condition.
    fn branch(&mut self, is: If, yes: &Edge, no: &Edge) -> End {
        let not = If { holds: !is.holds, ..is };
        let a = self.way(yes, Some(is), false);
        let b = self.way(no, Some(not), yes.block == no.block);
        if a == b { End::Jump(a) } else { End::Branch(is, a, b) }
    }

    fn way(&mut self, edge: &Edge, guard: Option<If>, split: bool) -> usize {
        let data = self.code().func.block(edge.block);
        match (&data.end, data.ops.is_empty() && data.params.is_empty()) {
            (Terminator::Send(port), true) if self.leaves(*port) => {
                let port = *port;
                self.send(port, guard)
            }
            (Terminator::Drop(reason), true) => {
                let reason = *reason;
                self.drop(reason, guard)
            }
            _ if split && !edge.args.is_empty() => self.split(edge),
            _ => self.edge(edge, guard),
        }
    }

    fn leaves(&self, port: u32) -> bool {
        !matches!(self.code().ways.iter().find(|(p, _)| *p == port), Some((_, Link::Element(..))))
    }

    fn send(&mut self, port: u32, guard: Option<If>) -> usize {
        match self.code().ways.iter().find(|(p, _)| *p == port) {
            Some((_, Link::Port(out))) => {
                let out = *out;
                self.verdict(Verdict::Port(out), guard)
            }
            Some((_, Link::Element(to, input))) => {
                let (to, input) = (self.codes[*to].first, *input);
                let port = Val::Words(vec![Src::Imm(input as u16), Src::Imm((input >> 16) as u16)]);
                self.incoming.entry(to).or_default().push((self.block, vec![port]));
                to
            }
            None => self.silent(),
        }
    }

    /// Out of the pipeline as packets leave it that nothing was said of: they are dropped.
    fn silent(&mut self) -> usize {
        self.silent += 1;
        DONE
    }

    fn drop(&mut self, reason: DropReason, guard: Option<If>) -> usize {
        match reason {
            DropReason::Program(n) => self.verdict(Verdict::Drop(n.saturating_add(1)), guard),
            _ => self.silent(),
        }
    }

    fn verdict(&mut self, verdict: Verdict, guard: Option<If>) -> usize {
        self.push(Op::Move(Move { guard, to: Place::Out(verdict), from: Place::Imm(0) }), true);
        DONE
    }

    fn edge(&mut self, edge: &Edge, _: Option<If>) -> usize {
        let vals = edge.args.iter().map(|arg| self.val(*arg)).collect();
        let to = self.code().first + edge.block.0 as usize;
        self.incoming.entry(to).or_default().push((self.block, vals));
        to
    }

    /// A block of its own on an edge.
    fn split(&mut self, edge: &Edge) -> usize {
        let (here, own) = (self.block, self.new_block());
        self.block = own;
        let to = self.edge(edge, None);
        self.out.ends[own] = End::Jump(to);
        self.block = here;
        own
    }

    fn new_block(&mut self) -> usize {
        self.out.ends.push(End::Jump(DONE));
        self.out.ends.len() - 1
    }

    /// Few cases are compared, more are one lookup.
    fn switch(&mut self, v: Value, cases: &[(u32, Edge)], default: &Edge) -> Result<End, Refused> {
        let key = self.words_of(v);
        if let Some(end) = self.numbered(&key, cases, default) {
            return Ok(end);
        }
        if cases.len() > 2 {
            self.fits_tcam(cases.len() as u64, 32)?;
            let targets: Vec<(u32, usize)> = cases.iter().map(|(case, edge)| (*case, self.split(edge))).collect();
            let default = self.split(default);
            let all = targets.iter().map(|(_, to)| *to).chain([default]).collect();
            self.push(Op::Point(Access::Jump { key, cases: targets, default }), true);
            return Ok(End::Lookup(all));
        }
        let mut rest = cases.iter();
        loop {
            let Some((case, edge)) = rest.next() else { return Ok(End::Jump(self.way(default, None, false))) };
            let wanted = [Src::Imm(*case as u16), Src::Imm((*case >> 16) as u16)];
            match self.equal(&key, &wanted) {
                Bit::Const(true) => return Ok(End::Jump(self.way(edge, None, false))),
                Bit::Const(false) => {}
                Bit::Is(is) => {
                    let (to, next) = (self.split(edge), self.new_block());
                    let at = self.block;
                    self.out.ends[at] = End::Branch(is, to, next);
                    self.block = next;
                }
            }
        }
    }

    /// Cases that are ports in the order of their numbers need no lookup: the number is moved to where ports are.
    fn numbered(&mut self, key: &[Src], cases: &[(u32, Edge)], default: &Edge) -> Option<End> {
        let mut keys: Vec<(u32, u32)> = cases.iter().map(|(case, edge)| Some((*case, self.port(edge)?))).collect::<Option<_>>()?;
        keys.sort_unstable();
        let first = *keys.first().filter(|(case, _)| *case == 0)?;
        let in_turn = keys.iter().enumerate().all(|(n, (case, port))| (*case, *port) == (n as u32, first.1 + n as u32));
        let (true, [Src::Reg(low), ..]) = (in_turn && keys.len() > 1, key) else { return None };
        let limit = [Src::Imm(u16::try_from(keys.len()).ok()?), Src::Imm(0)];
        let Bit::Is(is) = self.less(key, &limit, false) else { return None };
        self.push(Op::Move(Move { guard: Some(is), to: Place::OutBy(first.1), from: Place::Reg(*low) }), true);
        let other = self.way(default, Some(If { holds: !is.holds, ..is }), false);
        Some(if other == DONE { End::Jump(DONE) } else { End::Branch(is, DONE, other) })
    }

    /// The port by which packets leave the pipeline on an edge, if they do nothing else.
    fn port(&self, edge: &Edge) -> Option<u32> {
        let data = self.code().func.block(edge.block);
        let Terminator::Send(port) = data.end else { return None };
        let way = self.code().ways.iter().find(|(p, _)| *p == port).map(|(_, link)| *link);
        if let (Some(Link::Port(out)), true) = (way, data.ops.is_empty() && data.params.is_empty()) { Some(out) } else { None }
    }

    /// Where every way out says where to, the most common of these is said once, at the beginning.
    fn usual(&mut self) {
        let verdict = |step: &Step| if let Op::Move(Move { to: Place::Out(verdict), .. }) = step.op { Some(verdict) } else { None };
        let all: Vec<Verdict> = self.out.steps.iter().filter_map(verdict).collect();
        let times = |verdict: &Verdict| all.iter().filter(|other| *other == verdict).count();
        let Some(usual) = all.iter().copied().max_by_key(times).filter(|usual| self.silent == 0 && times(usual) > 1) else { return };
        // A register that nobody reads: what is not needed is removed later.
        let nowhere = Op::Move(Move { guard: None, to: Place::Reg(self.out.regs), from: Place::Imm(0) });
        self.out.regs += 1;
        self.out.steps.iter_mut().filter(|step| verdict(step) == Some(usual)).for_each(|step| step.op = nowhere.clone());
        self.out.steps.iter_mut().filter_map(|step| step.after.as_mut()).for_each(|after| *after += 1);
        self.out.usual = Some(self.out.regs);
        self.out.regs += 1;
        let op = Op::Move(Move { guard: None, to: Place::Out(usual), from: Place::Imm(0) });
        self.out.steps.insert(0, Step { op, home: self.codes[0].first, pinned: false, after: None, below: None, fixed: false });
    }

    fn finish(mut self) -> Lowered {
        self.usual();
        self.out.told = self.silent == 0;
        let done = self.out.ends.len();
        let name = |to: &mut usize| {
            if *to == DONE {
                *to = done;
            }
        };
        for end in &mut self.out.ends {
            match end {
                End::Jump(to) => name(to),
                End::Branch(_, yes, no) => [yes, no].into_iter().for_each(name),
                End::Lookup(all) => all.iter_mut().for_each(name),
            }
        }
        self.out
    }
}

fn code_first(codes: &[Code<'_>], element: usize) -> usize {
    codes[element].first
}

/// A constant or register to move.
fn place(src: Src) -> Place {
    match src {
        Src::Reg(reg) => Place::Reg(reg),
        Src::Imm(value) => Place::Imm(value),
    }
}
