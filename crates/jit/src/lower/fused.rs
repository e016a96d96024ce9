//! Handlers of several elements in one function: what one sends to another is a jump.
//!
//! ```text
//!  next packet of the burst ─▶ start of a member ─▶ its handler ──port──▶ start of the member behind ─▶ … ─▶ list of the exit ─▶ next packet
//! ```
//!
//! The packet's first byte and its length are in registers from one end to the other; where the
//! runtime is called, they are put into the frame before and taken from it behind. Everything else
//! of the packet is in the frame, everything of a member in its row (`Unit`), everything of a table
//! in that table's (`Parts`).
//!
//! Members with the same handler share its code: what differs is in the member's row and in tables
//! by member (`members`).
//!
//! Invariants: each handler stands once; a member's row is not read before the runtime has been
//! told that a packet comes to it (`arrive`), where that wants to know. Source: NetVM paper,
//! section 5.2 (NetPE inlining and direct linking). Leaves out: optimisation of the elements' MIR
//! together.

use super::lengths::{self, Lengths};
use super::members::By;
use super::prefetch::Prefetch;
use super::{FunctionKind, Lower, Lowered, MAX_OPS, args, constant, function, trusted, weight};
use crate::JitError;
use crate::frame::{self, exit};
use compiler::mir::cfg::Cfg;
use compiler::mir::states::States;
use compiler::mir::{Func, Helper, Op};
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, types};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch, Variable};
use netil::Module;
use netil::cluster::LinkTarget;
use std::collections::BTreeSet;

/// A handler that is lowered together with others, and the members that run it.
pub(crate) struct Element<'a> {
    pub func: &'a Func,
    pub module: &'a Module,
    /// Bytes of initialised memory.
    pub initialised: u32,
    /// In the order of their numbers.
    pub instances: Vec<Instance<'a>>,
}

/// A member.
pub(crate) struct Instance<'a> {
    /// Its number.
    pub member: u32,
    /// The number of its first table among those of all members.
    pub tables: u32,
    /// By the port's id where it leads, and where packets are counted that go there.
    pub ways: &'a [Option<LinkTarget>],
    /// See `ways`.
    pub counts: &'a [Option<u32>],
}

/// All handlers.
pub(crate) struct Elements<'a> {
    pub all: Vec<Element<'a>>,
    /// By member the number of its handler.
    pub of_member: &'a [usize],
    /// Where packets come in: member, port.
    pub entries: &'a [(u32, u32)],
}

/// What is known of the elements that a handler runs with.
pub(super) struct Fusion<'a> {
    pub elements: &'a Elements<'a>,
    /// The one whose handler is lowered.
    pub element: usize,
    /// The row of the member that has the packet, if several run this handler.
    pub row: Option<Variable>,
    /// Where each begins that this function is of; with what [`super::members`] says.
    pub starts: Vec<Option<ir::Block>>,
    /// Around the handlers.
    pub blocks: Blocks,
    /// No element gives packets up.
    pub is_there: bool,
    /// Some element says how long the packet was on the wire, when it came, or when it wants to be
    /// called.
    pub sets_wire: bool,
    /// See `sets_wire`.
    pub sets_time: bool,
    /// See `sets_wire`.
    pub sets_timers: bool,
    /// By element what is known of packets' lengths.
    pub lengths: Vec<Lengths>,
    /// The handlers are prefetch slices.
    pub prefetch: Option<Prefetch>,
}

/// Blocks around the handlers.
#[derive(Clone, Copy)]
pub(super) struct Blocks {
    /// Takes the next packet of the burst (`bursts`).
    pub next: ir::Block,
    /// Puts the packet into an exit's list; with the exit's and the member's number.
    pub out: ir::Block,
    /// Notes that the packet goes no further; with a code and the member's number.
    pub gone: ir::Block,
    /// Gives a code and the member's number.
    pub leave: ir::Block,
}

/// One function of some handlers (`part`) out of all. With `large` they are slices that prefetch
/// for lookups in tables of more bytes.
pub(crate) fn lower(elements: &Elements<'_>, part: &[usize], large: Option<usize>, isa: &dyn TargetIsa) -> Result<Lowered, JitError> {
    let ops = part.iter().map(|n| weight(elements.all[*n].func)).sum();
    if ops > MAX_OPS {
        return Err(JitError::TooLarge("operations", ops, MAX_OPS));
    }
    let mut clif = function(isa, true);
    let mut context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut clif, &mut context);
    let cfgs: Vec<Cfg> = part.iter().map(|n| Cfg::new(elements.all[*n].func)).collect();
    let given = elements.given(part);
    let fusion = Fusion::new(&mut builder, elements, (part, &cfgs, &given), large);
    let blocks = fusion.blocks;
    let first = &elements.all[part[0]];
    let mut lower = Lower::new((first.func, first.module, &cfgs[0]), FunctionKind::Fused, builder);
    lower.fusion = Some(fusion);
    lower.surround(blocks, &given);
    for (n, cfg) in part.iter().zip(&cfgs) {
        lower.begin(*n, cfg);
        lower.function()?;
    }
    let Lower { calls, jobs, tables, mut b, .. } = lower;
    b.seal_all_blocks();
    b.finalize(isa.frontend_config());
    Ok(Lowered { clif, calls, jobs, tables })
}

impl Elements<'_> {
    /// Which members of a part packets come to from outside of it.
    fn given(&self, part: &[usize]) -> BTreeSet<u32> {
        let others = (0..self.all.len()).filter(|n| !part.contains(n));
        let ways = others.flat_map(|n| &self.all[n].instances).flat_map(|instance| instance.ways);
        let to = ways.filter_map(|way| if let Some(LinkTarget::Member(to, _)) = way { Some(*to) } else { None });
        to.chain(self.entries.iter().map(|(member, _)| *member)).filter(|member| part.contains(&self.of_member[*member as usize])).collect()
    }
}

impl<'a> Fusion<'a> {
    fn new(
        b: &mut FunctionBuilder<'_>,
        elements: &'a Elements<'a>,
        (part, cfgs, given): (&[usize], &[Cfg], &BTreeSet<u32>),
        large: Option<usize>,
    ) -> Self {
        let mut block = |params: &[ir::Type]| {
            let block = b.create_block();
            params.iter().for_each(|ty| _ = b.append_block_param(block, *ty));
            block
        };
        let starts = elements.all.iter().enumerate();
        let starts = starts.map(|(n, element)| part.contains(&n).then(|| block(&element.start_params()))).collect();
        let ending = [types::I64, types::I32];
        let [next, out, gone, leave] = [&[][..], &[types::I32, types::I32], &ending, &ending].map(block);
        let any = |what: fn(Helper) -> bool| elements.all.iter().any(|element| has(element.func, what));
        let lengths = if large.is_some() { Vec::new() } else { lengths::of(elements, part, cfgs, given) };
        Self {
            elements,
            element: part[0],
            row: None,
            starts,
            blocks: Blocks { next, out, gone, leave },
            is_there: !any(gives_up),
            sets_wire: any(|helper| matches!(helper, Helper::SetWire)),
            sets_time: any(|helper| matches!(helper, Helper::SetTime)),
            sets_timers: any(|helper| matches!(helper, Helper::SetTimer(_))),
            lengths,
            prefetch: large.map(Prefetch::new),
        }
    }
}

/// Whether there may be no packet behind some work of a helper.
fn gives_up(helper: Helper) -> bool {
    matches!(helper, Helper::Delete | Helper::Receive(_) | Helper::Hold | Helper::Take | Helper::Create)
}

/// Whether a handler has a helper of a kind.
pub(crate) fn has(func: &Func, what: impl Fn(Helper) -> bool) -> bool {
    func.blocks.iter().flat_map(|b| &b.ops).any(|v| matches!(func.op(*v), Some(Op::Helper(helper, ..)) if what(*helper)))
}

/// Whether a handler takes something from its budget.
fn pays(func: &Func) -> bool {
    func.blocks.iter().flat_map(|b| &b.ops).any(|v| func.op(*v).is_some_and(pays_for))
}

fn pays_for(op: &Op) -> bool {
    match op {
        Op::Budget(..) => true,
        Op::Helper(helper, ..) => helper.row().writes.meets(States::BUDGET),
        _ => false,
    }
}

impl<'a> Lower<'a> {
    /// Makes an element the one whose handler is lowered.
    fn begin(&mut self, element: usize, cfg: &'a Cfg) {
        let Some(fusion) = &mut self.fusion else { return };
        fusion.element = element;
        let Element { func, module, initialised, instances } = &fusion.elements.all[element];
        fusion.row = (instances.len() > 1).then(|| self.b.declare_var(types::I64));
        (self.func, self.module, self.cfg) = (func, module, cfg);
        (self.shared_size, self.initialised_size) = (module.shared_size(), *initialised);
        self.places = vec![super::ValueStorage::None; func.values.len()];
        self.tests.clear();
    }

    /// The element whose handler is lowered.
    pub(super) fn element(&self) -> Option<&'a Element<'a>> {
        let fusion = self.fusion.as_ref()?;
        Some(&fusion.elements.all[fusion.element])
    }
}

impl Lower<'_> {
    /// What is around the members' handlers; packets come to these from outside.
    fn surround(&mut self, blocks: Blocks, given: &BTreeSet<u32>) {
        if let Some(next) = self.end_of_slice() {
            self.b.ins().jump(next, &[]);
            return self.take_next_ahead();
        }
        self.enter(blocks, given);
        self.take_next(blocks);
        self.put_out(blocks);
        self.note_gone(blocks);
        self.finish_leave(blocks);
    }

    /// Goes on with the packet in the frame, at the member that it names, or takes the next one.
    fn enter(&mut self, blocks: Blocks, given: &BTreeSet<u32>) {
        let (start, here) = (self.field(frame::START, types::I32, trusted()), self.b.create_block());
        self.b.ins().brif(start, here, &[], blocks.next, &[]);
        self.b.switch_to_block(here);
        self.reload_packet();
        let port = self.field(frame::PORT, types::I32, trusted());
        let ways: Vec<(u32, ir::Block)> = given.iter().map(|member| (*member, self.b.create_block())).collect();
        match ways[..] {
            [] => return self.give(exit::DONE),
            [(_, only)] => _ = self.b.ins().jump(only, &[]),
            [(_, first), ..] => {
                let (member, mut switch) = (self.field(frame::MEMBER, types::I32, trusted()), Switch::new());
                ways[1..].iter().for_each(|(member, way)| switch.set_entry(u128::from(*member), *way));
                switch.emit(&mut self.b, member, first);
            }
        }
        for (member, way) in ways {
            self.b.switch_to_block(way);
            self.start_member_at(member, port);
        }
    }

    /// What comes before a member's first block.
    pub(super) fn start_member(&mut self) {
        let Some(element) = self.element() else { return };
        let Some(start) = self.fusion.as_ref().and_then(|fusion| fusion.starts[fusion.element]) else { return };
        self.b.switch_to_block(start);
        let port = self.take_start_params(start);
        match self.end_of_slice() {
            Some(_) => self.start_slice(element),
            None => self.arrive(),
        }
        self.begin_run(element.func);
        self.present(0);
        let port = if element.func.block(compiler::mir::Block(0)).params.is_empty() { Vec::new() } else { args(&[port]) };
        self.b.ins().jump(self.blocks[0], &port);
    }

    /// What is anew for each run of a handler: its budget, what it has sent and shown.
    fn begin_run(&mut self, func: &Func) {
        if pays(func) {
            let budget = self.field(frame::BUDGET_START, types::I32, constant());
            self.set_field(frame::BUDGET, budget);
        }
        let nothing = |this: &mut Self, field| {
            let zero = this.iconst(types::I32, 0);
            this.set_field(field, zero);
        };
        if has(func, |helper| matches!(helper, Helper::SendCopy(_))) {
            nothing(self, frame::SENT);
        }
        if has(func, |helper| matches!(helper, Helper::CoproShow(_) | Helper::CoproInvoke(..))) {
            nothing(self, frame::SHOWN);
        }
    }

    /// Tells the runtime that a packet comes to a member, if it wants to know.
    fn arrive(&mut self) {
        let watched = self.field(frame::WATCHED, types::I32, trusted());
        let (tell, on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(watched, tell, &[], on, &[]);
        self.b.switch_to_block(tell);
        self.b.set_cold_block(tell);
        self.event(frame::ARRIVE);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
    }

    /// Calls a function of the runtime that takes a member's number.
    fn event(&mut self, field: i32) {
        let mut signature = Signature::new(self.b.func.signature.call_conv);
        signature.params.extend([types::I64, types::I32].map(AbiParam::new));
        let signature = self.b.import_signature(signature);
        let (callee, member) = (self.field(field, types::I64, constant()), self.member());
        self.b.ins().call_indirect(signature, callee, &[self.shared.frame, member]);
    }

    /// Puts the packet's place, and who has it, into the frame for the runtime.
    pub(super) fn tell_packet(&mut self) {
        if self.fusion.is_none() {
            return;
        }
        let (packet, len) = (self.b.use_var(self.shared.packet), self.b.use_var(self.shared.packet_len));
        self.set_field(frame::PACKET, packet);
        self.set_field(frame::PACKET_LEN, len);
        let member = self.member();
        self.set_field(frame::MEMBER, member);
    }

    /// The packet leaves the member by a port.
    pub(super) fn send(&mut self, port: u32) {
        let Some(element) = self.element() else { return };
        if has(element.func, |helper| matches!(helper, Helper::SendCopy(_))) {
            let sent = self.field(frame::SENT, types::I32, trusted());
            let (with, without) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(sent, with, &[], without, &[]);
            self.b.switch_to_block(with);
            self.leave(exit::PORT, port);
            self.b.switch_to_block(without);
        }
        let ways = element.ways(port);
        if let Some(next) = self.end_of_slice() {
            return self.send_ahead(&ways, next);
        }
        if let Some(places) = element.counts(port) {
            let place = self.chosen(By::Member, &places);
            self.count_at(frame::COUNTS, place);
        }
        match ways.first().copied().flatten() {
            Some(LinkTarget::Member(..)) => {
                self.settle_timers(element.func);
                self.go_to(&ways, By::Member);
            }
            Some(LinkTarget::Exit(_) | LinkTarget::LastExit(_)) => self.leave_by(&ways, By::Member),
            Some(LinkTarget::AtOnce) => self.leave(exit::PORT, port),
            None => self.go_no_further(exit::PORT, port),
        }
    }

    /// A slice goes on to that of the member behind, or ends.
    fn send_ahead(&mut self, ways: &[Option<LinkTarget>], end: ir::Block) {
        if self.start_behind(ways).is_none() {
            self.b.ins().jump(end, &[]);
            return;
        }
        self.go_to(ways, By::Member);
    }

    /// One more packet, at a place of 64 bits in an array of counts.
    pub(super) fn count_at(&mut self, counts: i32, place: ir::Value) {
        let (counts, flags) = (self.field(counts, types::I64, constant()), self.bytes());
        let at = self.b.ins().ishl_imm_u(place, 3);
        let at = self.b.ins().iadd(counts, at);
        let count = self.b.ins().load(types::I64, flags, at, 0);
        let count = self.b.ins().iadd_imm_s(count, 1);
        self.b.ins().store(flags, count, at, 0);
    }

    /// What a member has done to timers is looked at before the packet goes on.
    fn settle_timers(&mut self, func: &Func) {
        if has(func, |helper| matches!(helper, Helper::SetTimer(_))) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let set = self.field(frame::SET, types::I32, trusted());
        let (tell, on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(set, tell, &[], on, &[]);
        self.b.switch_to_block(tell);
        self.b.set_cold_block(tell);
        self.tell_packet();
        self.event(frame::SETTLE);
        self.reload_packet();
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
    }

    /// Bytes of the packets' annotations.
    pub(super) fn info_size(&self) -> u32 {
        let elements = self.fusion.iter().flat_map(|fusion| &fusion.elements.all);
        elements.map(|element| element.module.info_size).max().unwrap_or(0)
    }

    /// Ends the function's work on the packet: with a tag and a number.
    pub(super) fn leave_member(&mut self, code: ir::Value) {
        if let Some(next) = self.end_of_slice() {
            self.b.ins().jump(next, &[]);
            return;
        }
        let member = self.member();
        if let Some(fusion) = &self.fusion {
            self.b.ins().jump(fusion.blocks.leave, &args(&[code, member]));
        }
    }

    /// The packet is dropped, or leaves by a port that leads nowhere: nobody need look at it before
    /// the burst's end, unless copies of it were sent.
    pub(super) fn go_no_further(&mut self, tag: u64, number: u32) {
        let Some(element) = self.element() else { return };
        let (code, sends) = (tag | u64::from(number) << 32, has(element.func, |helper| matches!(helper, Helper::SendCopy(_))));
        if sends || !self.is_there() || self.end_of_slice().is_some() {
            return self.leave(tag, number);
        }
        let (code, member) = (self.iconst(types::I64, code), self.member());
        if let Some(fusion) = &self.fusion {
            self.b.ins().jump(fusion.blocks.gone, &args(&[code, member]));
        }
    }

    fn finish_leave(&mut self, blocks: Blocks) {
        self.b.switch_to_block(blocks.leave);
        let (code, member) = (self.b.block_params(blocks.leave)[0], self.b.block_params(blocks.leave)[1]);
        let (packet, len) = (self.b.use_var(self.shared.packet), self.b.use_var(self.shared.packet_len));
        self.set_field(frame::PACKET, packet);
        self.set_field(frame::PACKET_LEN, len);
        self.set_field(frame::MEMBER, member);
        self.b.ins().return_(&[code]);
    }
}
