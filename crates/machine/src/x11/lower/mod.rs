//! MIR of all elements to slots over virtual registers: one list of blocks, elements inlined where
//! packets come to them.
//!
//! A value is a list of words from the lowest, each a register or a constant; for each register it
//! is known which bits may be set, so what is no more than 16 bits wide takes one word whatever its
//! type says. Booleans are flags. Operations with an effect are pinned to their block and keep
//! their order; others may be done in any block before.
//!
//! An end of the packet may move by a constant number of bytes, if the head is at the same place on
//! all ways: places in the packet are then those of the packet as it came, moved by a constant.
//!
//! Refused with the place: loops that do not count to a constant, elements that packets come back
//! to, ends that move by a computed number of bytes, copies of packets, coprocessors, timers,
//! random numbers, multiplications and divisions but by powers of two, and places in the packet
//! that may be odd for more than one byte (the machine has no access to what is not aligned).

mod ends;
mod exits;
mod infos;
mod memory;
mod sums;
mod tables;
mod words;

use super::code::{Access, Alu, AluOp, Branch, FlagOp, If, Move, MoveOperand, Offset, Reg, Src, Target, Trap};
use super::{Machine, Refused};
use compiler::mir::cfg::Cfg;
use compiler::mir::{Block, Func, Op as Mir, Order, Terminator, Type, Value};
use compiler::passes::{self, Context, unroll};
use compiler::translate::translate;
use netil::Verified;
use netil::exec::{DEFAULT_BUDGET, TrapKind};
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
    /// A name for where packets go, if the first operation says where most of them do: the others
    /// that say so come behind it.
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
    heads: ends::Heads,
    infos: infos::Infos,
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
        heads: ends::Heads::default(),
        infos: infos::Infos::default(),
    };
    l.block = l.codes[0].first;
    let port = entry.map_or_else(
        || vec![l.loaded(MoveOperand::Port, 0xffff), Src::Imm(0)],
        |port| vec![Src::Imm(port as u16), Src::Imm((port >> 16) as u16)],
    );
    l.incoming.insert(l.block, vec![(DONE, vec![Val::Words(port)])]);
    l.leads(l.block);
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

/// The push handler as this back end takes it: words are put together and swapped nowhere, switches
/// stay what they are.
fn optimised(program: &Verified) -> Result<Func, String> {
    let disabled = ["switches", "widen", "compares", "byteswap", "select"].map(str::to_owned).to_vec();
    let options = passes::Options { disabled, ..passes::Options::default() };
    let translated = translate(program, HandlerKind::Push).map_err(|e| e.to_string())?;
    let func = translated.ok_or("a program without a push handler: packets come by themselves")?;
    let mut func = unroll(func).map_err(|e| e.to_string())?;
    let target = passes::Target { ways: true, numbered_ports: 2, ..passes::Target::HERE.in_order(Order::Little) };
    passes::optimise(&mut func, &Context::new(program, target), &options);
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
            if !self.is_reached() {
                return Ok(());
            }
            self.arrive()?;
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
            self.push(Op::Move(Move { guard: None, to: MoveOperand::Reg(reg), from: place(src) }), true);
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
            Mir::PacketLen => Val::Words(vec![self.length(MoveOperand::Len), Src::Imm(0)]),
            Mir::WireLen => Val::Words(vec![self.length(MoveOperand::WireLen), Src::Imm(0)]),
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

    fn loaded(&mut self, from: MoveOperand, mask: u16) -> Src {
        let reg = self.reg(mask);
        self.push(Op::Move(Move { guard: None, to: MoveOperand::Reg(reg), from }), false);
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
            end @ Terminator::SendBy(v, .., default) => self.send_by(*v, end.ports(), default)?,
            Terminator::Drop(reason) => End::Jump(self.drop(*reason, None)),
        };
        // A chain of comparisons has gone on to another block.
        let at = self.block;
        self.out.ends[at] = to;
        self.block = here;
        Ok(())
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
fn place(src: Src) -> MoveOperand {
    match src {
        Src::Reg(reg) => MoveOperand::Reg(reg),
        Src::Imm(value) => MoveOperand::Imm(value),
    }
}
