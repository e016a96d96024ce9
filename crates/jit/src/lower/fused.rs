//! Handlers of several elements in one function: what one sends to another is a jump.
//!
//! ```text
//!  next packet of the burst ─▶ start of a member ─▶ its handler ──port──▶ start of the member behind ─▶ … ─▶ list of the exit ─▶ next packet
//! ```
//!
//! The packet's first byte and its length are in registers from one end to the other; where the runtime is called, they are put into the frame before and taken from it behind.
//! Everything else of the packet is in the frame, everything of a member in its row (`Unit`), everything of a table in that table's (`Parts`).
//!
//! Invariants: each handler stands once; a member's row is not read before the runtime has been told that a packet comes to it (`arrive`), where that wants to know.
//! Source: NetVM paper, section 5.2 (NetPE inlining and direct linking). Leaves out: optimisation of the elements' MIR together.

use super::ahead::Ahead;
use super::{Lower, Lowered, MAX_OPS, Shape, args, constant, function, trusted, weight};
use crate::JitError;
use crate::frame::{self, exit};
use compiler::mir::cfg::Cfg;
use compiler::mir::{Func, Helper, Op};
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, types};
use cranelift_codegen::isa::TargetIsa;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch};
use netil::Module;
use netil::cluster::Way;

/// An element whose handler is lowered together with others.
pub(crate) struct Element<'a> {
    pub func: &'a Func,
    pub module: &'a Module,
    /// By the port's id where it leads, and where packets are counted that go there.
    pub ways: &'a [Option<Way>],
    /// See `ways`.
    pub counts: &'a [Option<u32>],
    /// The number of its first table among those of all elements.
    pub tables: u32,
}

/// What is known of the elements that a handler runs with.
pub(super) struct Fusion<'a> {
    elements: &'a [Element<'a>],
    /// The one whose handler is lowered.
    member: usize,
    /// Where each begins that this function is of; with the input port.
    starts: Vec<Option<ir::Block>>,
    /// Takes the next packet of the burst (`bursts`).
    pub next: ir::Block,
    /// Puts the packet into an exit's list; with the exit's and the member's number.
    pub out: ir::Block,
    /// Notes that the packet goes no further; with a code and the member's number.
    pub gone: ir::Block,
    /// Gives a code and the member's number.
    pub leave: ir::Block,
    /// No element gives packets up.
    pub is_there: bool,
    /// The handlers are prefetch slices.
    pub ahead: Option<Ahead>,
}

/// One function of the handlers of some elements (`part`) out of all.
///
/// Packets come in at `entries` (member, port). With `large` the handlers are slices that prefetch for lookups in tables of more bytes.
pub(crate) fn lower(
    elements: &[Element<'_>],
    entries: &[(u32, u32)],
    part: &[usize],
    large: Option<usize>,
    isa: &dyn TargetIsa,
) -> Result<Lowered, JitError> {
    let ops = part.iter().map(|n| weight(elements[*n].func)).sum();
    if ops > MAX_OPS {
        return Err(JitError::TooLarge("operations", ops, MAX_OPS));
    }
    let mut clif = function(isa, true);
    let mut context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut clif, &mut context);
    let cfgs: Vec<Cfg> = part.iter().map(|n| Cfg::new(elements[*n].func)).collect();
    let fusion = Fusion::new(&mut builder, elements, part, large);
    let first = &elements[part[0]];
    let mut lower = Lower::new((first.func, first.module, &cfgs[0]), Shape::Fused, builder);
    lower.fusion = Some(fusion);
    lower.surround(entries, part);
    for (n, cfg) in part.iter().zip(&cfgs) {
        lower.begin(*n, cfg);
        lower.function()?;
    }
    let Lower { calls, jobs, tables, mut b, .. } = lower;
    b.seal_all_blocks();
    b.finalize(isa.frontend_config());
    Ok(Lowered { clif, calls, jobs, tables })
}

impl<'a> Fusion<'a> {
    fn new(b: &mut FunctionBuilder<'_>, elements: &'a [Element<'a>], part: &[usize], large: Option<usize>) -> Self {
        let mut block = |params: &[ir::Type]| {
            let block = b.create_block();
            params.iter().for_each(|ty| _ = b.append_block_param(block, *ty));
            block
        };
        let starts = (0..elements.len()).map(|n| part.contains(&n).then(|| block(&[types::I32]))).collect();
        let ending = [types::I64, types::I32];
        let [next, out, gone, leave] = [&[][..], &[types::I32, types::I32], &ending, &ending].map(block);
        let is_there = !elements.iter().any(|element| gives_up(element.func));
        Self { elements, member: part[0], starts, next, out, gone, leave, is_there, ahead: large.map(Ahead::new) }
    }
}

/// Whether there may be no packet behind some work of a handler.
fn gives_up(func: &Func) -> bool {
    has(func, |helper| matches!(helper, Helper::Delete | Helper::Receive(_) | Helper::Hold | Helper::Take | Helper::Create))
}

/// Whether a handler has a helper of a kind.
fn has(func: &Func, what: impl Fn(Helper) -> bool) -> bool {
    func.blocks.iter().flat_map(|b| &b.ops).any(|v| matches!(func.op(*v), Some(Op::Helper(helper, ..)) if what(*helper)))
}

/// Whether a handler asks for random numbers.
pub(crate) fn is_random(func: &Func) -> bool {
    func.blocks.iter().flat_map(|b| &b.ops).any(|v| matches!(func.op(*v), Some(Op::Random(_))))
}

/// Whether a handler takes something from its budget.
fn pays(func: &Func) -> bool {
    func.blocks.iter().flat_map(|b| &b.ops).any(|v| matches!(func.op(*v), Some(Op::Budget(..) | Op::Helper(..))))
}

impl<'a> Lower<'a> {
    /// Makes a member the one whose handler is lowered.
    fn begin(&mut self, member: usize, cfg: &'a Cfg) {
        let Some(fusion) = &mut self.fusion else { return };
        fusion.member = member;
        let Element { func, module, .. } = &fusion.elements[member];
        (self.func, self.module, self.cfg, self.shared_size) = (func, module, cfg, module.shared_size());
        self.places = vec![super::Place::None; func.values.len()];
        self.tests.clear();
    }

    /// The member whose handler is lowered.
    fn element(&self) -> Option<(u32, &'a Element<'a>)> {
        let fusion = self.fusion.as_ref()?;
        Some((fusion.member as u32, &fusion.elements[fusion.member]))
    }
}

impl Lower<'_> {
    /// What is around the members' handlers.
    fn surround(&mut self, entries: &[(u32, u32)], part: &[usize]) {
        if let Some(next) = self.end_of_slice() {
            self.b.ins().jump(next, &[]);
            return self.take_next_ahead(entries);
        }
        self.enter(part);
        self.take_next(entries);
        self.put_out();
        self.note_gone();
        self.finish_leave();
    }

    /// Goes on with the packet in the frame, at the member that it names, or takes the next one.
    fn enter(&mut self, part: &[usize]) {
        let Some(next) = self.fusion.as_ref().map(|fusion| fusion.next) else { return };
        let (start, given) = (self.field(frame::START, types::I32, trusted()), self.b.create_block());
        self.b.ins().brif(start, given, &[], next, &[]);
        self.b.switch_to_block(given);
        self.reload_packet();
        let port = self.field(frame::PORT, types::I32, trusted());
        let starts: Vec<(usize, ir::Block)> = part.iter().filter_map(|n| Some((*n, self.fusion.as_ref()?.starts[*n]?))).collect();
        if let [(_, start)] = starts[..] {
            self.b.ins().jump(start, &args(&[port]));
            return;
        }
        let (member, mut switch) = (self.field(frame::MEMBER, types::I32, trusted()), Switch::new());
        let ways: Vec<(usize, ir::Block, ir::Block)> = starts.iter().map(|(n, start)| (*n, self.b.create_block(), *start)).collect();
        for (n, way, _) in &ways[1..] {
            switch.set_entry(*n as u128, *way);
        }
        switch.emit(&mut self.b, member, ways[0].1);
        for (_, way, start) in ways {
            self.b.switch_to_block(way);
            self.b.ins().jump(start, &args(&[port]));
        }
    }

    /// What comes before a member's first block.
    pub(super) fn start_member(&mut self) {
        let Some((n, element)) = self.element() else { return };
        let Some(start) = self.start_of(n) else { return };
        self.b.switch_to_block(start);
        let port = self.b.block_params(start)[0];
        match self.end_of_slice() {
            Some(_) => self.start_slice(element),
            None => self.arrive(n),
        }
        self.begin_run(element.func);
        self.present(0);
        let port = if element.func.block(compiler::mir::Block(0)).params.is_empty() { Vec::new() } else { args(&[port]) };
        self.b.ins().jump(self.blocks[0], &port);
    }

    /// What is anew for each run of a handler: its budget, what it has sent and shown, the packet's number.
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
        if has(func, |helper| matches!(helper, Helper::CoproShow(_))) {
            nothing(self, frame::SHOWN);
        }
        if is_random(func) {
            let (at, flags) = (self.unit(frame::unit::NUMBER), self.bytes());
            let number = self.b.ins().load(types::I64, flags, at, 0);
            let number = self.b.ins().iadd_imm_s(number, 1);
            self.b.ins().store(flags, number, at, 0);
        }
    }

    /// Tells the runtime that a packet comes to a member, if it wants to know.
    fn arrive(&mut self, member: u32) {
        let watched = self.field(frame::WATCHED, types::I32, trusted());
        let (tell, on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(watched, tell, &[], on, &[]);
        self.b.switch_to_block(tell);
        self.b.set_cold_block(tell);
        self.event(frame::ARRIVE, member);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
    }

    /// Calls a function of the runtime that takes a member's number.
    fn event(&mut self, field: i32, member: u32) {
        let mut signature = Signature::new(self.b.func.signature.call_conv);
        signature.params.extend([types::I64, types::I32].map(AbiParam::new));
        let signature = self.b.import_signature(signature);
        let (callee, member) = (self.field(field, types::I64, constant()), self.iconst(types::I32, member.into()));
        self.b.ins().call_indirect(signature, callee, &[self.shared.frame, member]);
    }

    /// Puts the packet's place, and who has it, into the frame for the runtime.
    pub(super) fn tell_packet(&mut self) {
        let Some((n, _)) = self.element() else { return };
        let (packet, len) = (self.b.use_var(self.shared.packet), self.b.use_var(self.shared.packet_len));
        self.set_field(frame::PACKET, packet);
        self.set_field(frame::PACKET_LEN, len);
        let member = self.iconst(types::I32, n.into());
        self.set_field(frame::MEMBER, member);
    }

    /// The packet leaves the member by a port.
    pub(super) fn send(&mut self, port: u32) {
        let Some((_, element)) = self.element() else { return };
        if has(element.func, |helper| matches!(helper, Helper::SendCopy(_))) {
            let sent = self.field(frame::SENT, types::I32, trusted());
            let (with, without) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(sent, with, &[], without, &[]);
            self.b.switch_to_block(with);
            self.leave(exit::PORT, port);
            self.b.switch_to_block(without);
        }
        let way = element.ways.get(port as usize).copied().flatten();
        if let Some(next) = self.end_of_slice() {
            return self.send_ahead(way, next);
        }
        if let Some(Some(place)) = element.counts.get(port as usize) {
            self.count_at(frame::COUNTS, *place);
        }
        match way {
            Some(Way::Member(to, input)) => self.go_to(to, input),
            Some(Way::Exit(exit) | Way::LastExit(exit)) => self.leave_by(exit),
            Some(Way::AtOnce) => self.leave(exit::PORT, port),
            None => self.go_no_further(exit::PORT, port),
        }
    }

    /// A slice goes on to that of the member behind, or ends.
    fn send_ahead(&mut self, way: Option<Way>, end: ir::Block) {
        let to = if let Some(Way::Member(to, input)) = way { self.start_of(to).map(|start| (start, input)) } else { None };
        let Some((start, input)) = to else {
            self.b.ins().jump(end, &[]);
            return;
        };
        let port = self.iconst(types::I32, input.into());
        self.b.ins().jump(start, &args(&[port]));
    }

    /// One more packet, in an array of counts.
    pub(super) fn count_at(&mut self, counts: i32, place: u32) {
        let (counts, flags) = (self.field(counts, types::I64, constant()), self.bytes());
        let at = 8 * place as i32;
        let count = self.b.ins().load(types::I64, flags, counts, at);
        let count = self.b.ins().iadd_imm_s(count, 1);
        self.b.ins().store(flags, count, counts, at);
    }

    /// The packet goes on to an input of a member. What this one has done to timers is looked at before.
    fn go_to(&mut self, to: u32, input: u32) {
        let Some((n, element)) = self.element() else { return };
        if has(element.func, |helper| matches!(helper, Helper::SetTimer(_))) {
            self.settle(n);
        }
        let port = self.iconst(types::I32, input.into());
        if let Some(start) = self.start_of(to) {
            self.b.ins().jump(start, &args(&[port]));
            return;
        }
        self.set_field(frame::PORT, port);
        self.leave(exit::MEMBER, to);
    }

    fn settle(&mut self, member: u32) {
        let set = self.field(frame::SET, types::I32, trusted());
        let (tell, on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(set, tell, &[], on, &[]);
        self.b.switch_to_block(tell);
        self.b.set_cold_block(tell);
        self.tell_packet();
        self.event(frame::SETTLE, member);
        self.reload_packet();
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
    }

    fn leave_by(&mut self, exit: u32) {
        let (Some((n, _)), Some(out)) = (self.element(), self.fusion.as_ref().map(|fusion| fusion.out)) else { return };
        let (exit, member) = (self.iconst(types::I32, exit.into()), self.iconst(types::I32, n.into()));
        self.b.ins().jump(out, &args(&[exit, member]));
    }

    /// Where a member begins, if this function is of it.
    pub(super) fn start_of(&self, member: u32) -> Option<ir::Block> {
        self.fusion.as_ref()?.starts[member as usize]
    }

    /// Bytes of the packets' annotations.
    pub(super) fn info_size(&self) -> u32 {
        let elements = self.fusion.iter().flat_map(|fusion| fusion.elements);
        elements.map(|element| element.module.info_size).max().unwrap_or(0)
    }

    /// Ends the function's work on the packet: with a tag and a number.
    pub(super) fn leave_member(&mut self, code: ir::Value) {
        let Some((n, _)) = self.element() else { return };
        if let Some(next) = self.end_of_slice() {
            self.b.ins().jump(next, &[]);
            return;
        }
        let member = self.iconst(types::I32, n.into());
        if let Some(fusion) = &self.fusion {
            self.b.ins().jump(fusion.leave, &args(&[code, member]));
        }
    }

    /// The packet is dropped, or leaves by a port that leads nowhere: nobody need look at it before the burst's end, unless copies of it were sent.
    pub(super) fn go_no_further(&mut self, tag: u64, number: u32) {
        let Some((n, element)) = self.element() else { return };
        let (code, sends) = (tag | u64::from(number) << 32, has(element.func, |helper| matches!(helper, Helper::SendCopy(_))));
        if sends || !self.is_there() || self.end_of_slice().is_some() {
            return self.leave(tag, number);
        }
        let (code, member) = (self.iconst(types::I64, code), self.iconst(types::I32, n.into()));
        if let Some(fusion) = &self.fusion {
            self.b.ins().jump(fusion.gone, &args(&[code, member]));
        }
    }

    fn finish_leave(&mut self) {
        let Some(leave) = self.fusion.as_ref().map(|fusion| fusion.leave) else { return };
        self.b.switch_to_block(leave);
        let (code, member) = (self.b.block_params(leave)[0], self.b.block_params(leave)[1]);
        let (packet, len) = (self.b.use_var(self.shared.packet), self.b.use_var(self.shared.packet_len));
        self.set_field(frame::PACKET, packet);
        self.set_field(frame::PACKET_LEN, len);
        self.set_field(frame::MEMBER, member);
        self.b.ins().return_(&[code]);
    }

    /// A pointer of the member's row.
    pub(super) fn unit(&mut self, field: u32) -> ir::Value {
        let member = self.element().map_or(0, |(n, _)| n);
        self.row(frame::UNITS, member * frame::unit::SIZE + field)
    }

    /// A pointer of a row of one of the member's tables.
    pub(super) fn part_of(&mut self, table: u32, field: u32) -> ir::Value {
        let first = self.element().map_or(0, |(_, element)| element.tables);
        self.row(frame::PARTS, (first + table) * frame::parts::SIZE + field)
    }

    fn row(&mut self, rows: i32, at: u32) -> ir::Value {
        let rows = self.field(rows, types::I64, constant());
        let flags = trusted().with_alias_region(Some(self.shared.regions.rows));
        self.b.ins().load(types::I64, flags, rows, at as i32)
    }
}
