//! Instruction selection: MIR block by block, in an order in which each comes after those that lead
//! to it.
//!
//! A value of at most 64 bits is one register whose upper bits are 0; a wider one is a register for
//! each 64 bits, the lowest first. Constants are made where they are used. A comparison that only a
//! branch asks for becomes that branch. Traps, drops and sends are three kinds of the same thing:
//! an action.

mod bulk;
mod ends;
mod frame;
mod handover;
mod memory;
mod sets;
mod tables;
mod tests;
mod values;
mod wide;

use super::layout::{BUDGET_AT, Layout, ZERO_AT};
use super::lir::{Alu, CONTEXT, Code, Cond, End, Inst, Label, RESULT, Reg, Size, Src};
use super::maps::Maps;
use super::proofs::{Bounds, Facts, back_edges};
use super::{Action, Refused, World};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Func, Helper, Op, Site, Terminator, Type, Value};
use netil::Verified;
use netil::exec::{DEFAULT_BUDGET, DropReason};
use netil::module::PortKind;
use std::collections::HashMap;

pub(super) use frame::Frame;
pub use handover::HEADER;

/// Bytes that are summed in the kernel where a process could do it.
const MOST_SUMMED: u64 = 256;
/// The kernel's function that sends a packet by another interface.
const REDIRECT: i32 = 23;

/// A handler to be translated, and what there is for it.
#[derive(Clone, Copy)]
pub(super) struct Unit<'a> {
    pub program: &'a Verified,
    pub func: &'a Func,
    pub layout: &'a Layout,
    /// What is done with packets.
    pub ways: &'a dyn Fn(Exit) -> ExitAction,
    pub frame: Frame,
    pub world: World,
    /// By table of the program its map, or why there is none.
    pub tables: &'a [Result<u32, String>],
    /// Whether it is called with the context, the number of a port and the caller's frame, or is
    /// the program itself.
    pub called: bool,
}

/// How a run of a handler ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Port(u32),
    Drop(DropReason),
    Trap,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ExitAction {
    Action(Action),
    /// The function gives that number.
    Give(u32),
}

/// The function over virtual registers.
pub(super) fn select<'a>(unit: &Unit<'a>, maps: &'a mut Maps) -> Result<Code, Refused> {
    let cfg = Cfg::new(unit.func);
    let mut s = ready(unit, maps, &cfg)?;
    s.blocks(&cfg)?;
    Ok(s.code)
}

/// Before the first instruction.
fn ready<'a>(unit: &Unit<'a>, maps: &'a mut Maps, cfg: &Cfg) -> Result<Select<'a>, Refused> {
    let func = unit.func;
    let loops = cfg.order.iter().any(|b| !back_edges(func, cfg, *b).is_empty());
    if !loops {
        admit(func, cfg)?;
    }
    let mut s = begun(unit, maps, loops);
    s.entries = tables::entries(func);
    s.bounds = Bounds::new(func, cfg);
    s.needed = needed(func, cfg);
    s.position.clone_from(&cfg.position);
    for e in cfg.order.iter().flat_map(|b| back_edges(func, cfg, *b)) {
        s.heads[e.block.0 as usize] = true;
    }
    Ok(s)
}

/// What of a function the target has no form for: operations, and blocks whose ends it has none
/// for.
pub(super) fn refused<'a>(unit: &Unit<'a>, maps: &'a mut Maps) -> Result<Vec<(MirLocation, Refused)>, Refused> {
    let func = unit.func;
    let cfg = Cfg::new(func);
    let mut s = ready(unit, maps, &cfg)?;
    s.refused = Some(Vec::new());
    s.blocks(&cfg)?;
    Ok(s.refused.unwrap_or_default())
}

/// A place in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MirLocation {
    Op(Value),
    End(Block),
}

/// A function that is filled otherwise.
pub(super) fn build<'a>(unit: &Unit<'a>, maps: &'a mut Maps, fill: impl FnOnce(&mut Select<'_>)) -> Code {
    let mut s = begun(unit, maps, false);
    let context = s.context;
    s.copy_to(context, CONTEXT);
    fill(&mut s);
    s.code
}

/// A function without instructions.
fn begun<'a>(unit: &Unit<'a>, maps: &'a mut Maps, loops: bool) -> Select<'a> {
    let Unit { program, func, layout, .. } = *unit;
    let mut code = Code::default();
    let first = code.block();
    let (data, end, context, frame, zero) = (code.register(), code.register(), code.register(), code.register(), code.register());
    let budget = loops.then(|| code.register());
    let labels = func.blocks.iter().map(|_| code.block()).collect();
    Select {
        unit: *unit,
        program,
        func,
        layout,
        bounds: Bounds::default(),
        entries: Vec::new(),
        values: vec![Vec::new(); func.values.len()],
        labels,
        incoming: vec![None; func.blocks.len()],
        needed: Vec::new(),
        position: Vec::new(),
        at: first,
        facts: Facts::default(),
        ways: HashMap::new(),
        maps,
        code,
        data,
        end,
        context,
        frame,
        budget,
        zero,
        heads: vec![false; func.blocks.len()],
        refused: None,
    }
}

/// Without loops a program has fewer calls than a run may make.
fn admit(func: &Func, cfg: &Cfg) -> Result<(), Refused> {
    let ops = cfg.order.iter().flat_map(|b| &func.block(*b).ops).filter_map(|v| func.op(*v));
    let budget: u64 = ops.map(|op| if let Op::Budget(_, price) = op { u64::from(*price) } else { 0 }).sum();
    if budget >= DEFAULT_BUDGET.into() { Err(Refused::whole("more calls than a run may make")) } else { Ok(()) }
}

/// Values that must be in a register: all but comparisons that only branches and selections ask
/// for, each set test by one.
fn needed(func: &Func, cfg: &Cfg) -> Vec<bool> {
    let (mut needed, mut asked) = (vec![false; func.values.len()], vec![0; func.values.len()]);
    for b in &cfg.order {
        for v in &func.block(*b).ops {
            let Some(op) = func.op(*v) else { continue };
            match op {
                Op::Select(c, x, y) => {
                    asked[c.0 as usize] += 1;
                    [x, y].iter().for_each(|v| needed[v.0 as usize] = true);
                }
                _ => op.operands(|v| needed[v.0 as usize] = true),
            }
        }
        let end = &func.block(*b).end;
        if let Terminator::Branch(c, ..) = end {
            asked[c.0 as usize] += 1;
        }
        end.edges().iter().flat_map(|e| &e.args).for_each(|v| needed[v.0 as usize] = true);
    }
    for (i, value) in func.values.iter().enumerate() {
        if let crate::mir::Def::Op(op) = &value.def {
            let fused = matches!(op, Op::Cmp(..)) || matches!(op, Op::SetHas(..)) && asked[i] <= 1;
            needed[i] |= !fused;
        }
    }
    needed
}

/// A function under construction.
pub(super) struct Select<'a> {
    unit: Unit<'a>,
    program: &'a Verified,
    func: &'a Func,
    layout: &'a Layout,
    bounds: Bounds,
    /// Values that are entries of tables: pointers, or 0.
    entries: Vec<bool>,
    /// The registers of each value.
    values: Vec<Vec<Reg>>,
    /// Where each block of MIR begins.
    labels: Vec<Label>,
    /// What is known on all ways to a block so far.
    incoming: Vec<Option<Facts>>,
    needed: Vec<bool>,
    /// Each block's place in the order.
    position: Vec<usize>,
    /// The block that is being filled.
    pub at: Label,
    facts: Facts,
    ways: HashMap<ExitAction, Label>,
    maps: &'a mut Maps,
    pub code: Code,
    /// The packet's first byte, and the one behind its last.
    data: Reg,
    end: Reg,
    /// What the kernel gives the program.
    pub context: Reg,
    /// The end of the frame with info memory, where that is a caller's.
    frame: Reg,
    /// What a run may still spend, where there are loops.
    budget: Option<Reg>,
    /// A 0 that the verifier takes for any number, where there are loops: what it knows too well it
    /// follows round by round.
    zero: Reg,
    /// Whether a block is the head of a loop.
    heads: Vec<bool>,
    /// What was passed over, if that is all that is asked.
    refused: Option<Vec<(MirLocation, Refused)>>,
}

impl Select<'_> {
    fn entry(&mut self) {
        let (context, budget) = (self.context, self.budget);
        self.copy_to(context, CONTEXT);
        let port = if self.unit.called {
            let (frame, port) = (self.frame, self.copy(Reg(2)));
            self.copy_to(frame, Reg(3));
            port
        } else {
            let ports = self.program.module().all_ports();
            let input = ports.iter().find(|(_, port)| port.kind == PortKind::PushInput).map_or(0, |(id, _)| *id);
            self.constant(u64::from(input))
        };
        if !self.unit.called {
            self.begin_frame();
        }
        self.find_packet();
        if let Some(budget) = budget {
            let base = self.state_at(BUDGET_AT);
            self.emit(Inst::Load { dst: budget, base, offset: 0, size: Size::B8 });
            let (zero, base) = (self.zero, self.state_at(ZERO_AT));
            self.emit(Inst::Load { dst: zero, base, offset: 0, size: Size::B4 });
        }
        for param in &self.func.block(Block(0)).params {
            self.values[param.0 as usize] = vec![port];
        }
        self.ends(End::Jump(self.labels[0]));
    }

    fn blocks(&mut self, cfg: &Cfg) -> Result<(), Refused> {
        self.entry();
        cfg.order.iter().try_for_each(|block| self.block(*block))
    }

    fn block(&mut self, b: Block) -> Result<(), Refused> {
        self.at = self.labels[b.0 as usize];
        self.facts = self.incoming[b.0 as usize].take().unwrap_or_default();
        for v in &self.func.block(b).ops {
            if let Some(op) = self.func.op(*v) {
                self.op(*v, op).or_else(|refused| self.pass_over(MirLocation::Op(*v), refused))?;
            }
        }
        self.terminator(b).or_else(|refused| self.pass_over(MirLocation::End(b), refused))
    }

    /// Notes what the target has no form for, and goes on as if its values were 0.
    fn pass_over(&mut self, place: MirLocation, why: Refused) -> Result<(), Refused> {
        let Some(refused) = &mut self.refused else { return Err(why) };
        refused.push((place, why));
        match place {
            MirLocation::Op(v) => self.values[v.0 as usize] = (0..limbs_of(self.func.ty(v))).map(|_| self.constant(0)).collect(),
            MirLocation::End(b) => {
                for edge in self.func.block(b).end.edges() {
                    self.at = self.code.block();
                    self.go(b, edge, &Facts::default());
                }
            }
        }
        Ok(())
    }

    fn op(&mut self, v: Value, op: &Op) -> Result<(), Refused> {
        match op {
            Op::Budget(_, price) => self.spend(*price),
            Op::Present(_) => {}
            Op::Check(space, extents) => self.check(*space, extents, false),
            Op::Proved(space, extents) => self.check(*space, extents, true),
            Op::NonZero(a, _) => self.non_zero(*a),
            Op::Store(space, order, addr, offset, value, _) => self.store(*space, *order, (*addr, *offset), *value),
            Op::Helper(helper, args, site) => self.helper(v, *helper, args, *site)?,
            Op::Const(_) | Op::WideConst(_) => {}
            Op::ExceptionStore(entry, v) => {
                let (base, v) = (self.exception(*entry), self.reg(*v));
                self.emit(Inst::Store { base, offset: 0, size: Size::B4, src: Src::Reg(v) });
            }
            _ if !self.needed[v.0 as usize] => {}
            _ => {
                let value = self.value(v, op)?;
                debug_assert_eq!(value.len(), limbs(self.func.width(v)), "{op}");
                self.values[v.0 as usize] = value;
            }
        }
        Ok(())
    }

    /// Takes that much from the budget, or traps.
    fn spend(&mut self, price: u32) {
        let Some(budget) = self.budget else { return };
        let (trap, next) = (self.trap(), self.code.block());
        let price = price.cast_signed();
        self.branch(Cond::Lt, true, budget, Src::Imm(price), trap, next);
        self.at = next;
        self.alu(Alu::Sub, true, budget, Src::Imm(price));
    }

    fn trap(&mut self) -> Label {
        self.way(Exit::Trap)
    }

    fn non_zero(&mut self, v: Value) {
        let (zero, trap) = (Src::Imm(0), self.trap());
        let limbs = self.limbs(v);
        let next = self.code.block();
        for (i, limb) in limbs.iter().enumerate() {
            let no = if i + 1 == limbs.len() { trap } else { self.code.block() };
            self.branch(Cond::Ne, true, *limb, zero, next, no);
            self.at = no;
        }
        self.at = next;
    }

    /// The verifier follows a loop over a packet round by round: where somebody else can do it,
    /// that is left to them.
    fn rounds(&self, helper: Helper, args: &[Value], site: Site) -> Result<(), Refused> {
        let sums = matches!(helper, Helper::Checksum | Helper::ChecksumValid) && self.refused.is_some();
        if sums && self.small(args[1]).is_none() && self.bounds.of(args[1]) > MOST_SUMMED {
            return Err(Refused::at(site, format!("'{helper}' of a range that may have more than {MOST_SUMMED} bytes")));
        }
        Ok(())
    }

    fn helper(&mut self, v: Value, helper: Helper, args: &[Value], site: Site) -> Result<(), Refused> {
        self.rounds(helper, args, site)?;
        let made = match helper {
            Helper::ChecksumAdd | Helper::ChecksumSub => self.checksum(helper == Helper::ChecksumSub, args[0], args[1]),
            Helper::IsPresent => self.constant(1),
            Helper::Hash => self.hash(args),
            Helper::Checksum => self.sum_of(args[0], args[1], false),
            Helper::ChecksumValid => self.sum_of(args[0], args[1], true),
            Helper::Find(table) | Helper::Peek(table) => self.find(table, args[0], matches!(helper, Helper::Find(_)), site)?,
            Helper::Insert(table) => self.insert(table, args[0], site)?,
            Helper::DeleteEntry(table) => self.delete(table, args[0], site)?,
            Helper::EntryLoad(table, at) => {
                self.values[v.0 as usize] = self.entry_load(table, at, args[0], self.func.width(v));
                return Ok(());
            }
            Helper::Moved => self.moved(),
            _ if self.without_result(helper, args)? => return Ok(()),
            _ => return Err(Refused::at(site, refusal(helper))),
        };
        self.values[v.0 as usize] = vec![made];
        Ok(())
    }

    /// Helpers that give nothing.
    fn without_result(&mut self, helper: Helper, args: &[Value]) -> Result<bool, Refused> {
        match helper {
            Helper::InfoClear => self.clear_info(),
            Helper::EntryStore(table, at) => self.entry_store(table, at, args[0], args[1]),
            Helper::PullHead => self.pull(args[0]),
            Helper::PushHead => self.push(args[0]),
            Helper::Unpull => self.unpull(args[0]),
            Helper::TrimTail => self.trim(args[0]),
            Helper::GrowTail => self.grow(args[0]),
            Helper::SetTime => self.set_time(args[0]),
            Helper::Inside => self.inside_packet(args[0], args[1]),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Where a run ends so.
    fn way(&mut self, exit: Exit) -> Label {
        let way = (self.unit.ways)(exit);
        if let Some(label) = self.ways.get(&way) {
            return *label;
        }
        let (label, at) = (self.code.block(), self.at);
        self.ways.insert(way, label);
        self.at = label;
        match way {
            ExitAction::Give(number) => self.set(RESULT, number.into()),
            ExitAction::Action(action) => {
                if !matches!(action, Action::Drop | Action::Aborted) {
                    self.settle();
                }
                self.act(action);
            }
        }
        self.at = at;
        label
    }

    /// The result for an action.
    pub fn act(&mut self, action: Action) {
        let code = match action {
            Action::Aborted => 0,
            Action::Drop => 1,
            Action::Pass => 2,
            Action::Transmit => 3,
            Action::Redirect(interface) => {
                self.set(Reg(1), u64::from(interface));
                self.set(Reg(2), 0);
                self.emit(Inst::Call { function: REDIRECT, args: 2 });
                return;
            }
        };
        self.set(RESULT, code);
    }

    pub fn emit(&mut self, inst: Inst) {
        self.code.blocks[self.at.0 as usize].insts.push(inst);
    }

    pub fn ends(&mut self, end: End) {
        self.code.blocks[self.at.0 as usize].end = end;
    }

    pub fn branch(&mut self, cond: Cond, wide: bool, a: Reg, b: Src, yes: Label, no: Label) {
        self.ends(End::Branch { cond, wide, a, b, yes, no });
    }

    /// `dst = dst op src`
    pub fn alu(&mut self, op: Alu, wide: bool, dst: Reg, src: Src) {
        self.emit(Inst::Alu { op, wide, dst, src });
    }

    /// A new register with `a op b`.
    pub fn made(&mut self, op: Alu, wide: bool, a: Reg, b: Src) -> Reg {
        let dst = self.copy(a);
        self.alu(op, wide, dst, b);
        dst
    }

    pub fn copy_to(&mut self, dst: Reg, src: Reg) {
        self.alu(Alu::Mov, true, dst, Src::Reg(src));
    }

    pub fn copy(&mut self, src: Reg) -> Reg {
        let dst = self.code.register();
        self.copy_to(dst, src);
        dst
    }

    pub fn set(&mut self, dst: Reg, value: u64) {
        match (u32::try_from(value), i32::try_from(value.cast_signed())) {
            (Ok(small), _) => self.alu(Alu::Mov, false, dst, Src::Imm(small.cast_signed())),
            (_, Ok(negative)) => self.alu(Alu::Mov, true, dst, Src::Imm(negative)),
            _ => self.emit(Inst::Const { dst, value }),
        }
    }

    pub fn constant(&mut self, value: u64) -> Reg {
        let dst = self.code.register();
        self.set(dst, value);
        dst
    }

    /// A right operand for instructions on 64 or 32 bits.
    pub fn immediate(&mut self, value: u64, wide: bool) -> Src {
        match (i32::try_from(value.cast_signed()), u32::try_from(value)) {
            (Ok(small), _) => Src::Imm(small),
            (_, Ok(bits)) if !wide => Src::Imm(bits.cast_signed()),
            _ => Src::Reg(self.constant(value)),
        }
    }

    /// The number that a value of at most 64 bits is known to be.
    fn small(&self, v: Value) -> Option<u64> {
        self.func.constant(v)
    }

    /// The register of a value of at most 64 bits.
    fn reg(&mut self, v: Value) -> Reg {
        self.limbs(v)[0]
    }

    /// A value as right operand.
    fn src(&mut self, v: Value, wide: bool) -> Src {
        match self.small(v) {
            Some(c) => self.immediate(c, wide),
            None => Src::Reg(self.reg(v)),
        }
    }

    /// The registers of a value.
    fn limbs(&mut self, v: Value) -> Vec<Reg> {
        match self.func.op(v) {
            Some(Op::Const(c)) => {
                let mut limbs = vec![self.constant(*c)];
                limbs.resize_with(limbs_of(self.func.ty(v)), || self.constant(0));
                limbs
            }
            Some(Op::WideConst(words)) => {
                let n = limbs_of(self.func.ty(v));
                (0..n).map(|i| self.constant(words.get(i).copied().unwrap_or(0))).collect()
            }
            Some(Op::Cmp(..) | Op::SetHas(..)) if self.values[v.0 as usize].is_empty() => {
                unreachable!("{v:?} is asked for by a branch alone")
            }
            _ => self.values[v.0 as usize].clone(),
        }
    }
}

/// Registers for so many bits.
fn limbs(width: u16) -> usize {
    usize::from(width).div_ceil(64)
}

fn limbs_of(ty: Type) -> usize {
    if let Type::Int(width) = ty { limbs(width) } else { 0 }
}

/// Why work that the runtime does elsewhere is not done here.
fn refusal(helper: Helper) -> String {
    match helper {
        Helper::Scan(_) | Helper::Copy(..) | Helper::CrcPacket(_) | Helper::FieldCmp(_) => {
            format!("'{helper}' goes over a whole range of bytes")
        }
        Helper::CoproIn(..) | Helper::CoproOut(..) | Helper::CoproInvoke(..) | Helper::CoproShow(_) => {
            "a coprocessor, for which the kernel has nothing".to_owned()
        }
        Helper::SetTimer(_) => "a timer: XDP runs when packets come, and at no other time".to_owned(),
        Helper::Walk(_) | Helper::Due(_) | Helper::NextKey(_) | Helper::WalkedKey(_) | Helper::Deadline(_) => {
            "a walk over a table: programs of the kernel look up keys".to_owned()
        }
        Helper::SendCopy(_) | Helper::Create | Helper::Hold | Helper::Take => "more packets than the one that came".to_owned(),
        Helper::Receive(_) => "a packet that is asked for: XDP gives packets, none can be asked for".to_owned(),
        Helper::Delete => "a packet that is given up on the way".to_owned(),
        Helper::SetWire => "another length on the wire: XDP knows one length of a packet".to_owned(),
        _ => format!("'{helper}'"),
    }
}
