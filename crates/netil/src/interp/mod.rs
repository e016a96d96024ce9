//! The reference interpreter: the meaning of every instruction.
//!
//! One packet at a time, one instruction at a time, every access checked. It relies on the verifier
//! for what is static: the depth and the types of the stack, branch targets, the existence of what
//! immediates name. Everything else is tested here. Every other engine must give what it gives:
//! dispositions, clones, packets, memories and the place of a trap.
//!
//! A value takes [`wide::limbs`] stack slots, its lowest limb deepest; a reference to an entry
//! takes one.

mod memory;
mod packet;
mod step;
mod tables;
mod watch;
mod wide_ops;

pub use watch::{Moment, Watch};

use crate::budget::{self, Budget};
use crate::exec::{CloneOut, Disposition, DropReason, ExchangeBuffer, Outcome, PacketSource, Packets, Selection, State, Trap, TrapKind};
use crate::machine::Machine;
use crate::module::{Extra, Handler, HandlerKind, Inst, slots};
use crate::verify::{Facts, Verified};
use crate::wide;
use std::collections::HashMap;
use std::sync::Arc;

/// An engine that executes bytecode as it stands.
pub struct Interpreter {
    program: Arc<Verified>,
    plans: [PreparedHandler; 3],
    stack: Vec<u64>,
    locals: Vec<u64>,
    watch: Option<Box<dyn Watch>>,
}

/// What is worth computing once for a handler.
#[derive(Default)]
struct PreparedHandler {
    /// First slot of each local, and the number of slots.
    local_slots: Vec<usize>,
    /// Targets by key of each `switch`.
    switches: HashMap<u32, HashMap<u32, u32>>,
    /// What each instruction costs for the width of its values.
    prices: Vec<u32>,
}

impl PreparedHandler {
    fn new(handler: Option<&Handler>) -> Self {
        let Some(handler) = handler else { return Self::default() };
        let mut local_slots = vec![0];
        for width in &handler.locals {
            local_slots.push(local_slots[local_slots.len() - 1] + slots(*width));
        }
        let map = |inst: &Inst| match &inst.extra {
            Extra::Switch(s) => Some(s.cases.iter().copied().collect()),
            _ => None,
        };
        let switches = handler.code.iter().enumerate().filter_map(|(i, inst)| map(inst).map(|m| (i as u32, m))).collect();
        Self { local_slots, switches, prices: handler.code.iter().map(budget::price).collect() }
    }
}

impl Interpreter {
    /// An interpreter for a program.
    pub fn new(program: Arc<Verified>) -> Self {
        let plans = HandlerKind::ALL.map(|kind| PreparedHandler::new(program.module().handler(kind)));
        Self { program, plans, stack: Vec::new(), locals: Vec::new(), watch: None }
    }

    /// An interpreter that tells of every instruction before it executes.
    pub fn watched(program: Arc<Verified>, watch: Box<dyn Watch>) -> Self {
        Self { watch: Some(watch), ..Self::new(program) }
    }

    /// The program.
    pub fn program(&self) -> &Arc<Verified> {
        &self.program
    }

    /// Runs the init handler, if there is one. `exit n` and traps are errors.
    pub fn init(&mut self, state: &mut State) -> Result<(), Disposition> {
        state.fit(&self.program);
        let mut clones = Vec::new();
        match self.one(HandlerKind::Init, &mut state.uncounted(), state, &mut clones, 0, None) {
            Disposition::Drop(DropReason::Verdict) => Ok(()),
            failed => Err(failed),
        }
    }

    /// Runs the push or pull handler on each packet of a burst, in order. To push what is no packet
    /// traps before the first instruction.
    pub fn run(&mut self, kind: HandlerKind, burst: &mut [ExchangeBuffer<'_>], state: &mut State, out: &mut Outcome) {
        out.clear();
        state.fit(&self.program);
        for (i, buffer) in burst.iter_mut().enumerate() {
            state.number(buffer);
            let disposition = self.one(kind, buffer, state, &mut out.clones, i as u32, None);
            out.dispositions.push(disposition);
        }
    }

    /// Runs the pull handler once; it may ask for packets.
    pub fn pull(&mut self, request: &mut ExchangeBuffer<'_>, state: &mut State, source: &mut dyn PacketSource, out: &mut Outcome) {
        out.clear();
        state.fit(&self.program);
        state.number(request);
        let disposition = self.one(HandlerKind::Pull, request, state, &mut out.clones, 0, Some(source));
        out.dispositions.push(disposition);
    }

    /// Runs a filter on each packet.
    pub fn select(&mut self, packets: &Packets<'_>, state: &mut State, out: &mut Selection) {
        out.reset(packets.frames.len());
        state.fit(&self.program);
        let mut clones = Vec::new();
        for (i, frame) in packets.frames.iter().enumerate() {
            let mut buffer = ExchangeBuffer::borrowed(frame);
            // Filters see what captures say, even if it is less than what is there; their packets
            // do not change.
            buffer.missing = packets.wire_len.get(i).map_or(0, |wire_len| wire_len.wrapping_sub(frame.len() as u32));
            buffer.time_ns = packets.time_ns.get(i).copied().unwrap_or(0);
            buffer.number = state.next_number;
            if let Disposition::Port(_) = self.one(HandlerKind::Push, &mut buffer, state, &mut clones, 0, None) {
                out.set(i);
            }
        }
    }

    fn one<'b>(
        &mut self,
        kind: HandlerKind,
        buffer: &mut ExchangeBuffer<'b>,
        state: &mut State,
        clones: &mut Vec<CloneOut>,
        index: u32,
        source: Option<&mut dyn PacketSource>,
    ) -> Disposition {
        let program = Arc::clone(&self.program);
        let Some((handler, facts)) = program.handler(kind) else { return Disposition::Drop(DropReason::Verdict) };
        if let Some(nothing) = pushed_nothing(kind, buffer) {
            return nothing;
        }
        let plan = &self.plans[kind as usize];
        self.stack.clear();
        self.locals.clear();
        self.locals.resize(plan.local_slots.last().copied().unwrap_or(0), 0);
        buffer.info.resize(program.module().info_size as usize, 0);
        if kind != HandlerKind::Init {
            self.stack.push(buffer.port.into());
        }
        let budget = Budget(state.budget);
        // Another lifetime: those of trait objects in an option do not become shorter by
        // themselves.
        let source = source.map(|source| source as &mut dyn PacketSource);
        let machine = Machine { buffer, state, clones, index, shown: 0, copies: 0, source };
        let (stack, locals) = (&mut self.stack, &mut self.locals);
        let run = Run { program: &program, kind, handler, facts, plan, machine, stack, locals, calls: Vec::new(), at: 0, budget };
        match &mut self.watch {
            None => run.finish(),
            Some(watch) => run.finish_watched(watch.as_mut()),
        }
    }
}

/// What a push handler gives that is run without a packet, for every engine.
pub fn pushed_nothing(kind: HandlerKind, buffer: &ExchangeBuffer<'_>) -> Option<Disposition> {
    let trap = Trap { kind: TrapKind::NoPacket, handler: kind, inst: 0 };
    (kind == HandlerKind::Push && !buffer.is_present()).then_some(Disposition::Trap(trap))
}

/// One execution of a handler.
struct Run<'r, 'b> {
    program: &'r Verified,
    kind: HandlerKind,
    handler: &'r Handler,
    facts: &'r Facts,
    plan: &'r PreparedHandler,
    machine: Machine<'r, 'b>,
    stack: &'r mut Vec<u64>,
    locals: &'r mut Vec<u64>,
    calls: Vec<u32>,
    at: u32,
    budget: Budget,
}

/// Where control goes after an instruction.
enum Next {
    Fall,
    /// A branch; backward ones count against the budget.
    Branch(u32),
    /// A call or a return, counted by the call.
    Go(u32),
    End(Disposition),
}

impl Run<'_, '_> {
    fn finish(mut self) -> Disposition {
        loop {
            let next = self.step().and_then(|next| self.go(next));
            match next {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(kind) => return Disposition::Trap(Trap { kind, handler: self.kind, inst: self.at }),
            }
        }
    }

    fn go(&mut self, next: Next) -> Result<Option<Disposition>, TrapKind> {
        match next {
            Next::Fall => self.at += 1,
            Next::Go(target) => self.at = target,
            Next::Branch(target) => {
                if target <= self.at {
                    self.budget.step()?;
                }
                self.at = target;
            }
            Next::End(disposition) => return Ok(Some(disposition)),
        }
        Ok(None)
    }

    fn pop(&mut self) -> u32 {
        self.stack.pop().expect("the verifier counted the stack") as u32
    }

    fn push(&mut self, v: u32) {
        self.stack.push(v.into());
    }

    fn pop_wide(&mut self, width: u16) -> Vec<u64> {
        self.stack.split_off(self.stack.len() - wide::limbs(width))
    }

    /// The 32-bit element `n` from the top, 1 being the top.
    fn nth(&mut self, n: usize) -> &mut u64 {
        let len = self.stack.len();
        &mut self.stack[len - n]
    }
}
