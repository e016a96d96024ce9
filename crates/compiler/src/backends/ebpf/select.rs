//! Instruction selection: MIR block by block, in an order in which each comes after those that lead to it.
//!
//! A value of at most 64 bits is one register whose upper bits are 0; a wider one is a register for each 64 bits, the lowest first. Constants
//! are made where they are used. A comparison that only a branch asks for becomes that branch. Traps, drops and sends are three kinds of
//! the same thing: an action.

mod memory;
mod sets;
mod tests;
mod values;
mod wide;

use super::layout::Layout;
use super::lir::{Alu, CONTEXT, Code, Cond, End, Inst, Label, RESULT, Reg, Size, Src};
use super::proofs::{Bounds, Facts};
use super::{Action, Map, Options, Refused};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Edge, Func, Helper, Op, Site, Terminator, Type, Value};
use netil::Verified;
use netil::exec::DEFAULT_BUDGET;
use netil::module::PortKind;
use std::collections::HashMap;

/// The kernel's function that sends a packet by another interface.
const REDIRECT: i32 = 23;
/// Ranges that are compared one after the other where a switch is searched.
const LEAF: usize = 3;

/// The program over virtual registers, and its maps.
pub(super) fn select(program: &Verified, func: &Func, options: &Options, layout: &Layout) -> Result<(Code, Vec<Map>), Refused> {
    let cfg = Cfg::new(func);
    admit(func, &cfg)?;
    let mut code = Code::default();
    let (data, end) = (code.register(), code.register());
    let mut s = Select {
        program,
        func,
        options,
        layout,
        bounds: Bounds::new(func, &cfg),
        values: vec![Vec::new(); func.values.len()],
        labels: func.blocks.iter().map(|_| code.block()).collect(),
        incoming: vec![None; func.blocks.len()],
        needed: needed(func, &cfg),
        at: Label(0),
        facts: Facts::default(),
        actions: HashMap::new(),
        maps: Vec::new(),
        tables: HashMap::new(),
        code,
        data,
        end,
    };
    s.entry();
    for block in &cfg.order {
        s.block(*block)?;
    }
    Ok((s.code, s.maps))
}

/// No circles: the verifier would have to see where they end.
fn admit(func: &Func, cfg: &Cfg) -> Result<(), Refused> {
    let mut budget = 0;
    for b in &cfg.order {
        let price = |op: &Op| if let Op::Budget(_, n) = op { u64::from(*n) } else { 0 };
        let site = |op: &Op| if let Op::Budget(site, _) = op { Some(*site) } else { None };
        budget += func.block(*b).ops.iter().filter_map(|v| func.op(*v)).map(price).sum::<u64>();
        let back = |e: &&Edge| cfg.position[e.block.0 as usize] <= cfg.position[b.0 as usize];
        if func.block(*b).end.edges().iter().any(back) {
            let at = func.block(*b).ops.iter().filter_map(|v| func.op(*v)).find_map(site);
            return Err(Refused { site: at, reason: "a loop: the kernel's verifier must see an end, and none is proven".to_owned() });
        }
    }
    if budget >= DEFAULT_BUDGET.into() { Err(Refused::whole("more calls than a run may make")) } else { Ok(()) }
}

/// Values that must be in a register: all but comparisons that only branches and selections ask for, each set test by one.
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

/// A program under construction.
struct Select<'a> {
    program: &'a Verified,
    func: &'a Func,
    options: &'a Options,
    layout: &'a Layout,
    bounds: Bounds,
    /// The registers of each value.
    values: Vec<Vec<Reg>>,
    /// Where each block of MIR begins.
    labels: Vec<Label>,
    /// What is known on all ways to a block so far.
    incoming: Vec<Option<Facts>>,
    needed: Vec<bool>,
    /// The block that is being filled.
    at: Label,
    facts: Facts,
    actions: HashMap<Action, Label>,
    maps: Vec<Map>,
    /// Places in the map of constants.
    tables: HashMap<Vec<u8>, u32>,
    code: Code,
    /// The packet's first byte, and the one behind its last.
    data: Reg,
    end: Reg,
}

impl Select<'_> {
    fn entry(&mut self) {
        let (data, end) = (self.data, self.end);
        self.emit(Inst::Load { dst: data, base: CONTEXT, offset: 0, size: Size::B4 });
        self.emit(Inst::Load { dst: end, base: CONTEXT, offset: 4, size: Size::B4 });
        self.clear_info();
        let ports = self.program.module().all_ports();
        let input = ports.iter().find(|(_, port)| port.kind == PortKind::PushInput).map_or(0, |(id, _)| *id);
        for param in &self.func.block(Block(0)).params {
            let r = self.constant(u64::from(input));
            self.values[param.0 as usize] = vec![r];
        }
    }

    fn block(&mut self, b: Block) -> Result<(), Refused> {
        if b != Block(0) {
            self.at = self.labels[b.0 as usize];
            self.facts = self.incoming[b.0 as usize].take().unwrap_or_default();
        }
        for v in &self.func.block(b).ops {
            if let Some(op) = self.func.op(*v) {
                self.op(*v, op)?;
            }
        }
        self.terminator(b)
    }

    fn op(&mut self, v: Value, op: &Op) -> Result<(), Refused> {
        match op {
            // A run cannot use up what all of these take.
            Op::Budget(..) | Op::Present(_) => {}
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

    fn non_zero(&mut self, v: Value) {
        let (zero, trap) = (Src::Imm(0), self.action(self.options.trap));
        let limbs = self.limbs(v);
        let next = self.code.block();
        for (i, limb) in limbs.iter().enumerate() {
            let no = if i + 1 == limbs.len() { trap } else { self.code.block() };
            self.branch(Cond::Ne, true, *limb, zero, next, no);
            self.at = no;
        }
        self.at = next;
    }

    fn helper(&mut self, v: Value, helper: Helper, args: &[Value], site: Site) -> Result<(), Refused> {
        let made = match helper {
            Helper::ChecksumAdd | Helper::ChecksumSub => self.checksum(helper == Helper::ChecksumSub, args[0], args[1]),
            Helper::IsPresent => self.constant(1),
            Helper::Moved => self.constant(0),
            Helper::InfoClear => {
                self.clear_info();
                return Ok(());
            }
            _ => return Err(Refused::at(site, refusal(helper))),
        };
        self.values[v.0 as usize] = vec![made];
        Ok(())
    }

    fn terminator(&mut self, b: Block) -> Result<(), Refused> {
        match &self.func.block(b).end {
            Terminator::Jump(e) => {
                let to = self.edge(e, &self.facts.clone());
                self.ends(End::Jump(to));
            }
            Terminator::Branch(c, yes, no) => {
                let (on_yes, on_no) = (self.code.block(), self.code.block());
                let proof = self.jump_if(*c, on_yes, on_no)?;
                for (label, edge, holds) in [(on_yes, yes, true), (on_no, no, false)] {
                    let mut facts = self.facts.clone();
                    proof.iter().filter(|p| p.on == holds).for_each(|p| facts.learn(p.pointer, p.bytes));
                    self.at = label;
                    let to = self.edge(edge, &facts);
                    self.ends(End::Jump(to));
                }
            }
            Terminator::Switch(v, cases, default) => self.switch(*v, cases, default),
            Terminator::Send(port) => {
                let of_port = self.options.ports.iter().find(|(p, _)| p == port);
                let action = self.action(of_port.map_or(self.options.send, |(_, action)| *action));
                self.ends(End::Jump(action));
            }
            Terminator::Drop(_) => {
                let action = self.action(self.options.drop);
                self.ends(End::Jump(action));
            }
        }
        Ok(())
    }

    /// Passes the arguments of an edge, and says where it goes. A block without circles has none of its parameters among them.
    fn edge(&mut self, e: &Edge, facts: &Facts) -> Label {
        let to = e.block.0 as usize;
        match &mut self.incoming[to] {
            Some(known) => known.meet(facts),
            none => *none = Some(facts.clone()),
        }
        for (param, arg) in self.func.block(e.block).params.iter().zip(&e.args) {
            let width = self.func.width(*param);
            if self.values[param.0 as usize].is_empty() {
                self.values[param.0 as usize] = (0..limbs(width)).map(|_| self.code.register()).collect();
            }
            let small = self.small(*arg);
            for (i, dst) in self.values[param.0 as usize].clone().into_iter().enumerate() {
                match (small, i) {
                    (Some(c), _) => self.set(dst, if i == 0 { c } else { 0 }),
                    _ => {
                        let src = self.limbs(*arg)[i];
                        self.copy_to(dst, src);
                    }
                }
            }
        }
        self.labels[to]
    }

    fn switch(&mut self, v: Value, cases: &[(u32, Edge)], default: &Edge) {
        let (mut places, mut numbers): (Vec<&Edge>, HashMap<&Edge, usize>) = (Vec::new(), HashMap::new());
        let mut keys = std::collections::BTreeMap::new();
        for (key, e) in cases {
            let place = *numbers.entry(e).or_insert_with(|| {
                places.push(e);
                places.len() - 1
            });
            keys.entry(*key).or_insert(place);
        }
        let ranges = crate::switches::ranges(keys);
        let labels: Vec<Label> = (0..=places.len()).map(|_| self.code.block()).collect();
        let key = self.reg(v);
        let ranges: Vec<(u64, u64, Label)> = ranges.iter().map(|r| (r.low.into(), r.high.into(), labels[r.place])).collect();
        self.search(key, false, &ranges, labels[places.len()]);
        let facts = self.facts.clone();
        for (label, e) in labels.into_iter().zip(places.into_iter().chain([default])) {
            self.at = label;
            let to = self.edge(e, &facts);
            self.ends(End::Jump(to));
        }
    }

    /// Goes to the label of the range that a value is in, by halves.
    fn search(&mut self, key: Reg, wide: bool, ranges: &[(u64, u64, Label)], default: Label) {
        if ranges.len() > LEAF + 1 {
            let (left, right) = ranges.split_at(ranges.len() / 2);
            let (below, above) = (self.code.block(), self.code.block());
            let pivot = self.immediate(right[0].0, wide);
            self.branch(Cond::Lt, wide, key, pivot, below, above);
            self.at = below;
            self.search(key, wide, left, default);
            self.at = above;
            return self.search(key, wide, right, default);
        }
        for (i, (low, high, to)) in ranges.iter().enumerate() {
            let next = if i + 1 == ranges.len() { default } else { self.code.block() };
            self.in_range(key, wide, *low, *high, *to, next);
            self.at = next;
        }
        if ranges.is_empty() {
            self.ends(End::Jump(default));
        }
    }

    /// Where packets are treated so.
    fn action(&mut self, action: Action) -> Label {
        if let Some(label) = self.actions.get(&action) {
            return *label;
        }
        let (label, at) = (self.code.block(), self.at);
        self.actions.insert(action, label);
        self.at = label;
        let code = match action {
            Action::Aborted => 0,
            Action::Drop => 1,
            Action::Pass => 2,
            Action::Transmit => 3,
            Action::Redirect(interface) => {
                self.set(Reg(1), u64::from(interface));
                self.set(Reg(2), 0);
                self.emit(Inst::Call { function: REDIRECT, args: 2 });
                self.at = at;
                return label;
            }
        };
        self.set(RESULT, code);
        self.at = at;
        label
    }

    fn emit(&mut self, inst: Inst) {
        self.code.blocks[self.at.0 as usize].insts.push(inst);
    }

    fn ends(&mut self, end: End) {
        self.code.blocks[self.at.0 as usize].end = end;
    }

    fn branch(&mut self, cond: Cond, wide: bool, a: Reg, b: Src, yes: Label, no: Label) {
        self.ends(End::Branch { cond, wide, a, b, yes, no });
    }

    /// `dst = dst op src`
    fn alu(&mut self, op: Alu, wide: bool, dst: Reg, src: Src) {
        self.emit(Inst::Alu { op, wide, dst, src });
    }

    /// A new register with `a op b`.
    fn made(&mut self, op: Alu, wide: bool, a: Reg, b: Src) -> Reg {
        let dst = self.copy(a);
        self.alu(op, wide, dst, b);
        dst
    }

    fn copy_to(&mut self, dst: Reg, src: Reg) {
        self.alu(Alu::Mov, true, dst, Src::Reg(src));
    }

    fn copy(&mut self, src: Reg) -> Reg {
        let dst = self.code.register();
        self.copy_to(dst, src);
        dst
    }

    fn set(&mut self, dst: Reg, value: u64) {
        match (u32::try_from(value), i32::try_from(value.cast_signed())) {
            (Ok(small), _) => self.alu(Alu::Mov, false, dst, Src::Imm(small.cast_signed())),
            (_, Ok(negative)) => self.alu(Alu::Mov, true, dst, Src::Imm(negative)),
            _ => self.emit(Inst::Const { dst, value }),
        }
    }

    fn constant(&mut self, value: u64) -> Reg {
        let dst = self.code.register();
        self.set(dst, value);
        dst
    }

    /// A right operand for instructions on 64 or 32 bits.
    fn immediate(&mut self, value: u64, wide: bool) -> Src {
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
        Helper::Scan(_) | Helper::Copy(..) | Helper::Checksum | Helper::ChecksumValid | Helper::CrcPacket(_) | Helper::FieldCmp(_) => {
            format!("'{helper}' goes over bytes in a loop, whose end the kernel's verifier does not see")
        }
        Helper::CoproIn(..) | Helper::CoproOut(..) | Helper::CoproInvoke(..) | Helper::CoproShow(_) => {
            "a coprocessor, for which the kernel has nothing".to_owned()
        }
        Helper::SetTimer(_) => "a timer: XDP runs when packets come, and at no other time".to_owned(),
        Helper::SendCopy(_) | Helper::Create | Helper::Hold | Helper::Take => "more packets than the one that came".to_owned(),
        Helper::Receive(_) => "a packet that is asked for: XDP gives packets, none can be asked for".to_owned(),
        _ => format!("'{helper}'"),
    }
}
