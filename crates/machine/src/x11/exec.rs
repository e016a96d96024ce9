//! Runs slot programs: one packet after the other, or in lock-step, each packet in a stage of its
//! own.
//!
//! Run one after the other, packets see what those before them have done, as the interpreter does
//! it: what the code generator made is tested so. In lock-step a packet enters each few cycles and
//! goes one stage further each cycle, and an access point takes its latency: what hazards do is to
//! be seen there.
//!
//! Reads past the end of a packet or memory give zeros, writes there do nothing: what must not
//! happen is tested by the program before.

use super::Machine;
use super::code::{
    Access, Alu, AluOp, Branch, Change, FlagOp, If, Memory, Move, MoveOperand, Offset, Program, Slots, Span, Src, Stage, Store, Target,
    Verdict, position,
};
use netil::copro::{CoproError, Coprocessor, Registers, Views};
use netil::exec::{Disposition, DropReason, ExchangeBuffer, NoSuchCoprocessor, State, Trap, TrapKind};
use netil::module::HandlerKind;
use netil::{Interpreter, Verified};
use std::collections::VecDeque;
use std::sync::Arc;

/// A pipeline with a program in it and what it keeps.
pub struct Pipeline<'p> {
    program: &'p Program,
    elements: Vec<Arc<Verified>>,
    /// What each element keeps.
    pub states: Vec<State>,
}

/// In the place of coprocessors that a program declares: what was compiled asks none.
struct Absent;

impl Coprocessor for Absent {
    fn init(&mut self, _: &[u8]) -> u32 {
        0
    }

    fn invoke(&mut self, _: u32, _: &mut Registers, _: Views<'_>) -> Result<(), CoproError> {
        Err(CoproError::NotInitialised)
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

/// What a packet carries through the pipeline.
struct Context<'a> {
    buffer: ExchangeBuffer<'a>,
    regs: Vec<u16>,
    flags: Vec<bool>,
    /// The next stage in which something is done.
    next: usize,
    out: Result<Verdict, usize>,
}

impl<'a> Context<'a> {
    fn new(buffer: ExchangeBuffer<'a>) -> Self {
        Self { buffer, regs: Vec::new(), flags: Vec::new(), next: 0, out: Ok(Verdict::Drop(0)) }
    }

    fn reg(&self, reg: u16) -> u16 {
        self.regs.get(usize::from(reg)).copied().unwrap_or(0)
    }

    fn set(&mut self, reg: u16, value: u16) {
        let at = usize::from(reg);
        if self.regs.len() <= at {
            self.regs.resize(at + 1, 0);
        }
        self.regs[at] = value;
    }

    fn src(&self, src: Src) -> u16 {
        match src {
            Src::Reg(reg) => self.reg(reg),
            Src::Imm(value) => value,
        }
    }

    fn flag(&self, flag: u16) -> bool {
        self.flags.get(usize::from(flag)).copied().unwrap_or(false)
    }

    fn set_flag(&mut self, flag: u16, value: bool) {
        let at = usize::from(flag);
        if self.flags.len() <= at {
            self.flags.resize(at + 1, false);
        }
        self.flags[at] = value;
    }

    fn holds(&self, guard: Option<If>) -> bool {
        guard.is_none_or(|guard| self.flag(guard.flag) == guard.holds)
    }

    /// Bytes of the packet; zeros behind its end.
    fn packet(&self, at: i32, bytes: u8) -> u32 {
        let byte = |n: i32| self.inside(at + n).and_then(|n| self.buffer.bytes().get(n)).copied().unwrap_or(0);
        (0..i32::from(bytes)).fold(0, |value, n| value << 8 | u32::from(byte(n)))
    }

    /// Where a place is, counted from the packet's head as it is now.
    fn inside(&self, at: i32) -> Option<usize> {
        usize::try_from(at - self.buffer.moved().cast_signed()).ok()
    }

    fn set_packet(&mut self, at: i32, bytes: u8, value: u32) {
        let places: Vec<Option<usize>> = (0..i32::from(bytes)).map(|n| self.inside(at + n)).collect();
        let packet = self.buffer.bytes_mut();
        let be = value.to_be_bytes();
        for (place, byte) in places.into_iter().zip(&be[4 - usize::from(bytes)..]) {
            if let Some(place) = place.and_then(|place| packet.get_mut(place)) {
                *place = *byte;
            }
        }
    }

    /// Whether the end may move so far is tested by the program before.
    fn change(&mut self, change: Change, bytes: u32) {
        let buffer = &mut self.buffer;
        let _ = match change {
            Change::Pull => buffer.pull(bytes),
            Change::Push => buffer.push(bytes),
            Change::Unpull => buffer.unpull(bytes),
            Change::Trim => buffer.trim(bytes),
            Change::Grow => buffer.grow(bytes),
        };
    }

    fn info(&self, at: usize, bytes: u8) -> u32 {
        (0..usize::from(bytes)).rev().fold(0, |value, n| value << 8 | u32::from(self.buffer.info.get(at + n).copied().unwrap_or(0)))
    }

    fn set_info(&mut self, at: usize, bytes: u8, value: u32) {
        for (n, byte) in value.to_le_bytes().iter().take(bytes.into()).enumerate() {
            if let Some(place) = self.buffer.info.get_mut(at + n) {
                *place = *byte;
            }
        }
    }

    fn read(&self, place: MoveOperand) -> u32 {
        match place {
            MoveOperand::Reg(reg) => self.reg(reg).into(),
            MoveOperand::Pair(reg) => u32::from(self.reg(reg)) << 16 | u32::from(self.reg(reg + 1)),
            MoveOperand::Packet(at, bytes) => self.packet(position(at), bytes),
            MoveOperand::Info(at, bytes) => self.info(at.into(), bytes),
            MoveOperand::Imm(value) => value.into(),
            MoveOperand::Len => self.buffer.bytes().len() as u32,
            MoveOperand::WireLen => self.buffer.wire_len(),
            MoveOperand::Port => self.buffer.port,
            MoveOperand::Out(_) | MoveOperand::OutBy(_) | MoveOperand::End(_) => 0,
        }
    }

    fn write(&mut self, place: MoveOperand, value: u32) {
        match place {
            MoveOperand::Reg(reg) => self.set(reg, value as u16),
            MoveOperand::Pair(reg) => {
                self.set(reg, (value >> 16) as u16);
                self.set(reg + 1, value as u16);
            }
            MoveOperand::Packet(at, bytes) => self.set_packet(position(at), bytes, value),
            MoveOperand::End(change) => self.change(change, value),
            MoveOperand::Info(at, bytes) => self.set_info(at.into(), bytes, value),
            MoveOperand::Out(verdict) => self.out = Ok(verdict),
            MoveOperand::OutBy(port) => self.out = Ok(Verdict::Port(port.wrapping_add(value))),
            MoveOperand::Imm(_) | MoveOperand::Len | MoveOperand::WireLen | MoveOperand::Port => {}
        }
    }

    /// An instruction: all slots read, then all write.
    fn slots(&mut self, slots: &Slots, stages: usize) {
        let alu = slots.alu.map(|alu| (alu, self.alu(&alu)));
        let moved = slots.mov.filter(|m| self.holds(m.guard)).map(|Move { to, from, .. }| (to, self.read(from)));
        let offset = slots.load.map(|o| (o, i32::from(self.reg(o.base)) + position(o.at)));
        let loaded = offset.map(|(o, at)| if o.store { self.src(o.value).into() } else { self.packet(at, o.bytes) });
        let taken = slots.branch.filter(|branch| self.holds(branch.guard));
        if let Some((alu, (word, flag))) = alu {
            self.write_alu(&alu, word, flag);
        }
        if let Some((to, value)) = moved {
            self.write(to, value);
        }
        if let Some(((Offset { store, value, bytes, .. }, at), loaded)) = offset.zip(loaded) {
            match (store, value) {
                (true, _) => self.set_packet(at, bytes, loaded),
                (false, Src::Reg(reg)) => self.set(reg, loaded as u16),
                (false, Src::Imm(_)) => {}
            }
        }
        if let Some(Branch { to, .. }) = taken {
            self.go(to, stages);
        }
    }

    fn go(&mut self, to: Target, stages: usize) {
        match to {
            Target::Stage(stage) => self.next = stage,
            Target::Trap(n) => (self.out, self.next) = (Err(n), stages),
        }
    }

    fn alu(&self, alu: &Alu) -> (u16, bool) {
        match *alu {
            Alu::Words { op, a, b, with, .. } => op.eval(self.src(a), self.src(b), with.map(|flag| self.flag(flag))),
            Alu::Flags { op, a, b, .. } => {
                let (a, b) = (self.holds(Some(a)), self.holds(Some(b)));
                let flag = match op {
                    FlagOp::And => a & b,
                    FlagOp::Or => a | b,
                    FlagOp::Xor => a ^ b,
                };
                (0, flag)
            }
        }
    }

    fn write_alu(&mut self, alu: &Alu, word: u16, value: bool) {
        match *alu {
            Alu::Words { dst, flag, .. } => {
                dst.into_iter().for_each(|reg| self.set(reg, word));
                flag.into_iter().for_each(|flag| self.set_flag(flag, value));
            }
            Alu::Flags { flag, .. } => self.set_flag(flag, value),
        }
    }

    /// Words, the lowest first, in limbs.
    fn limbs(&self, words: &[Src]) -> Vec<u64> {
        let limb = |four: &[Src]| four.iter().rev().fold(0, |limb, word| limb << 16 | u64::from(self.src(*word)));
        words.chunks(4).map(limb).collect()
    }

    /// Bytes in the order of a memory.
    fn bytes(&self, words: &[Src], bytes: u32, big: bool) -> Vec<u8> {
        let mut all: Vec<u8> = words.iter().flat_map(|word| self.src(*word).to_le_bytes()).collect();
        all.resize(bytes as usize, 0);
        if big {
            all.reverse();
        }
        all
    }

    fn set_bytes(&mut self, regs: &[u16], mut bytes: Vec<u8>, big: bool) {
        if big {
            bytes.reverse();
        }
        for (n, reg) in regs.iter().enumerate() {
            let byte = |at: usize| u16::from(bytes.get(at).copied().unwrap_or(0));
            self.set(*reg, byte(2 * n) | byte(2 * n + 1) << 8);
        }
    }
}

impl<'p> Pipeline<'p> {
    /// With that program, and memories as init handlers leave them.
    ///
    /// # Errors
    /// A coprocessor is declared that there is none of.
    pub fn new(program: &'p Program, elements: Vec<Arc<Verified>>) -> Result<Self, NoSuchCoprocessor> {
        let mut states = Vec::new();
        for element in &elements {
            let mut state = State::new(element, &|_| Some(Box::new(Absent)))?;
            // What fails is told where the program is loaded.
            let _ = Interpreter::new(Arc::clone(element)).init(&mut state);
            states.push(state);
        }
        Ok(Self { program, elements, states })
    }

    /// A packet by itself.
    pub fn run<'a>(&mut self, buffer: ExchangeBuffer<'a>) -> (Disposition, ExchangeBuffer<'a>) {
        let mut context = Context::new(buffer);
        while context.next < self.program.stages.len() {
            let at = context.next;
            context.next += 1;
            self.stage(&mut context, at);
        }
        (self.disposition(&context), context.buffer)
    }

    /// Packets in lock-step, each so many cycles after the one before; also the cycles that all
    /// took.
    pub fn lock_step<'a>(
        &mut self,
        packets: impl Iterator<Item = ExchangeBuffer<'a>>,
        machine: &Machine,
    ) -> (Vec<(Disposition, ExchangeBuffer<'a>)>, u64) {
        let places = machine.places(self.program.stages.len());
        let (mut packets, mut inside, mut done, mut cycle) = (packets.peekable(), VecDeque::new(), Vec::new(), 0_u64);
        while packets.peek().is_some() || !inside.is_empty() {
            if cycle.is_multiple_of(machine.pipeline.packet_cycles.into()) {
                inside.extend(packets.next().map(|buffer| (cycle, Context::new(buffer))));
            }
            // Those that are further go first; what they write is seen behind them in the next
            // cycle.
            for (entered, context) in &mut inside {
                let at = (cycle - *entered) as usize;
                if let Some(stage) = places.get(at).copied().flatten().filter(|stage| *stage >= context.next) {
                    context.next = stage + 1;
                    self.stage(context, stage);
                }
            }
            while inside.front().is_some_and(|(entered, _)| (cycle - entered) as usize + 1 >= places.len()) {
                let context = inside.pop_front().map(|(_, context)| context);
                done.extend(context.map(|context| (self.disposition(&context), context.buffer)));
            }
            cycle += 1;
        }
        (done, cycle)
    }

    fn disposition(&self, context: &Context<'_>) -> Disposition {
        match context.out {
            Ok(Verdict::Port(port)) => Disposition::Port(port),
            Ok(Verdict::Drop(0)) => Disposition::Drop(DropReason::Verdict),
            Ok(Verdict::Drop(reason)) => Disposition::Drop(DropReason::Program(reason - 1)),
            Err(n) => {
                let trap = self.program.traps.get(n);
                let len = context.buffer.bytes().len() as u32;
                let outside = trap.and_then(|t| t.ends.iter().find(|(end, _)| *end > len)).map(|(_, site)| *site);
                let (kind, site) = trap.map_or((TrapKind::Budget, 0), |t| (t.kind, t.site));
                Disposition::Trap(Trap { kind, handler: HandlerKind::Push, inst: outside.unwrap_or(site) })
            }
        }
    }

    fn stage(&mut self, context: &mut Context<'_>, at: usize) {
        let program = self.program;
        match &program.stages[at] {
            Stage::Slots(slots) => context.slots(slots, program.stages.len()),
            Stage::Point(Some(access)) => self.access(context, access),
            Stage::Point(None) => {}
        }
    }

    fn access(&mut self, context: &mut Context<'_>, access: &Access) {
        match access {
            Access::Has { set, key, flag } => {
                let key = context.limbs(key);
                let has = self.program.sets.get(*set).is_some_and(|set| set.contains(&key));
                context.set_flag(*flag, has);
            }
            Access::Jump { key, cases, default } => {
                let key = context.limbs(key).first().copied().unwrap_or(0);
                context.next = cases.iter().find(|(case, _)| u64::from(*case) == key).map_or(*default, |(_, stage)| *stage);
            }
            Access::Read(span, regs) => {
                let bytes = match span.memory.store {
                    Store::Initialised => self.constant(context, span),
                    _ => self.memory(context, span).map(|bytes| bytes.to_vec()),
                };
                context.set_bytes(regs, bytes.unwrap_or_default(), span.big);
            }
            Access::Write(span, words) => {
                let bytes = context.bytes(words, span.bytes, span.big);
                self.memory(context, span).into_iter().for_each(|place| place.copy_from_slice(&bytes));
            }
            Access::Update(span, op, words) => {
                let bytes = context.bytes(words, span.bytes, false);
                self.memory(context, span).into_iter().for_each(|place| update(place, *op, &bytes, span.big));
            }
            Access::Find { .. } | Access::Insert { .. } | Access::Delete { .. } => self.table(context, access),
        }
    }

    fn table(&mut self, context: &mut Context<'_>, access: &Access) {
        let (Access::Find { table, key, .. } | Access::Insert { table, key, .. } | Access::Delete { table, key, .. }) = access else {
            return;
        };
        let now = context.buffer.time_ns;
        let key = context.limbs(key);
        let Memory { element, store: Store::Table(n) } = *table else { return };
        let Some(table) = self.states.get_mut(element).and_then(|state| state.tables.get_mut(n as usize)) else { return };
        match access {
            Access::Find { refresh, entry, data, .. } => {
                let found = table.find(&key, now, *refresh);
                entry.iter().for_each(|reg| context.set(*reg, found as u16));
                for (at, bytes, regs) in data {
                    let value = table.value(found).and_then(|value| value.get(*at as usize..(at + bytes) as usize));
                    context.set_bytes(regs, value.map(<[u8]>::to_vec).unwrap_or_default(), false);
                }
            }
            Access::Insert { entry, data, .. } => {
                let made = table.insert(&key, now);
                for (at, bytes, words) in data {
                    let value = context.bytes(words, *bytes, false);
                    let place = table.value_mut(made).and_then(|place| place.get_mut(*at as usize..(at + bytes) as usize));
                    place.into_iter().for_each(|place| place.copy_from_slice(&value));
                }
                entry.iter().for_each(|reg| context.set(*reg, made as u16));
            }
            Access::Delete { flag, .. } => {
                let was = table.delete(&key, now);
                context.set_flag(*flag, was);
            }
            _ => {}
        }
    }

    /// Bytes of initialised data.
    fn constant(&self, context: &Context<'_>, span: &Span) -> Option<Vec<u8>> {
        let data = &self.elements.get(span.memory.element)?.module().data;
        let at = (span.base.map_or(0, |base| u32::from(context.src(base))) + span.at) as usize;
        data.get(at..at + span.bytes as usize).map(<[u8]>::to_vec)
    }

    /// Bytes of a memory; none if they are not inside.
    fn memory(&mut self, context: &Context<'_>, span: &Span) -> Option<&mut [u8]> {
        let Memory { element, store } = span.memory;
        let base = span.base.map_or(0, |base| u32::from(context.src(base)));
        let state = self.states.get_mut(element)?;
        let (all, at) = match store {
            Store::Data => (state.data.as_mut_slice(), base + span.at),
            Store::Shared => (state.shared.as_mut_slice(), base + span.at),
            Store::Table(n) => (state.tables.get_mut(n as usize)?.value_mut(base)?, span.at),
            Store::Initialised => return None,
        };
        all.get_mut(at as usize..at as usize + span.bytes as usize)
    }

    /// The elements' programs.
    pub fn elements(&self) -> &[Arc<Verified>] {
        &self.elements
    }
}

/// Reads, computes and writes a number of any length.
fn update(place: &mut [u8], op: AluOp, operand: &[u8], big: bool) {
    if big {
        place.reverse();
    }
    let mut carry = 0;
    for (place, operand) in place.iter_mut().zip(operand) {
        let (a, b) = (i16::from(*place), i16::from(*operand));
        let sum = match op {
            AluOp::Add => a + b + carry,
            AluOp::Sub => a - b + carry,
            AluOp::And => a & b,
            AluOp::Or => a | b,
            _ => a ^ b,
        };
        (*place, carry) = ((sum & 0xff) as u8, sum >> 8);
    }
    if big {
        place.reverse();
    }
}
