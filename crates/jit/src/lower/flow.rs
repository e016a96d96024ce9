//! Entry, exits, traps, branches and calls of the runtime.

use super::{FunctionKind, Lower, ValueStorage, args, constant, trusted};
use crate::JitError;
use crate::frame::{self, exit};
use compiler::Target;
use compiler::mir::Call;
use compiler::mir::{self, BlockData, Edge, Extent, Helper, Order, Terminator, Type};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, StackSlotData, StackSlotKind, types};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::Switch;
use netil::exec::{DropReason, TrapKind};
use netil::table::Space;
use std::collections::{BTreeMap, HashMap};

/// Blocks that end the work on a packet.
#[derive(Default)]
pub(super) struct Exits {
    /// Select: takes the packet's bit, an i64.
    join: Option<ir::Block>,
    /// Run: one for each kind of trap and site.
    traps: BTreeMap<(u32, u32), ir::Block>,
    /// Select: any trap is a packet not selected.
    reject: Option<ir::Block>,
    /// Run: a trap whose kind a call gave, taking site and kind.
    called: Option<ir::Block>,
}

impl Lower<'_> {
    /// What comes before the first block of MIR, and the loop over a burst.
    pub(super) fn start(&mut self) -> Result<(), JitError> {
        match self.shape {
            FunctionKind::Run => self.start_run(),
            FunctionKind::Select => self.start_select(),
            FunctionKind::Fused => self.start_member(),
        }
        Ok(())
    }

    fn start_run(&mut self) {
        self.reload_packet();
        let port: Vec<ir::Value> = match self.func.block(mir::Block(0)).params.len() {
            0 => Vec::new(),
            _ => vec![self.field(frame::PORT, types::I32, trusted())],
        };
        self.b.ins().jump(self.blocks[0], &args(&port));
    }

    /// A loop over the packets of each word of bits, so that one comparison ends it; between words
    /// stands the rest.
    fn start_select(&mut self) {
        let (body, join, between, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block(), self.b.create_block());
        let [i, word, limit, pair] = [types::I64; 4].map(|ty| self.b.append_block_param(body, ty));
        let (count, zero) = (self.field(frame::COUNT, types::I64, constant()), self.iconst(types::I64, 0));
        let frames = self.field(frame::FRAMES, types::I64, constant());
        let first = self.word_limit(zero, count);
        self.b.ins().brif(count, body, &args(&[zero, zero, first, frames]), end, &[]);
        self.select_packet(body, i, pair);

        self.b.switch_to_block(join);
        let bit = self.b.append_block_param(join, types::I64);
        let placed = self.b.ins().ishl(bit, i);
        let word = self.b.ins().bor(word, placed);
        let (next, next_pair) = (self.b.ins().iadd_imm_s(i, 1), self.b.ins().iadd_imm_s(pair, 16));
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, next, limit);
        self.b.ins().brif(more, body, &args(&[next, word, limit, next_pair]), between, &[]);

        self.b.switch_to_block(between);
        self.b.set_cold_block(between);
        self.store_word(i, word);
        let (count, zero) = (self.field(frame::COUNT, types::I64, constant()), self.iconst(types::I64, 0));
        let limit = self.word_limit(next, count);
        let left = self.b.ins().icmp(IntCC::UnsignedLessThan, next, count);
        self.b.ins().brif(left, body, &args(&[next, zero, limit, next_pair]), end, &[]);

        self.b.switch_to_block(end);
        self.b.ins().return_(&[]);
        self.exits.join = Some(join);
    }

    /// Where the word that begins at a packet ends.
    fn word_limit(&mut self, first: ir::Value, count: ir::Value) -> ir::Value {
        let behind = self.b.ins().iadd_imm_s(first, 64);
        self.b.ins().umin(behind, count)
    }

    /// Makes packet i, whose place and length are a pair, the current one.
    fn select_packet(&mut self, body: ir::Block, i: ir::Value, pair: ir::Value) {
        self.b.switch_to_block(body);
        let packet = self.b.ins().load(types::I64, trusted(), pair, 0);
        let (low, high) = if Target::HERE.order == Order::Little { (8, 12) } else { (12, 8) };
        let (short, more) = (self.b.ins().load(types::I32, trusted(), pair, low), self.b.ins().load(types::I32, trusted(), pair, high));
        // Addresses have 32 bits: what lies behind is left out.
        let (huge, on) = (self.b.create_block(), self.b.create_block());
        let len = self.b.append_block_param(on, types::I32);
        self.b.ins().brif(more, huge, &[], on, &args(&[short]));
        self.b.switch_to_block(huge);
        self.b.set_cold_block(huge);
        let most = self.iconst(types::I32, u32::MAX.into());
        self.b.ins().jump(on, &args(&[most]));
        self.b.switch_to_block(on);
        self.b.def_var(self.shared.packet, packet);
        self.b.def_var(self.shared.packet_len, len);
        self.select_extras(i, packet, len);
        let port: Vec<ir::Value> = match self.func.block(mir::Block(0)).params.len() {
            0 => Vec::new(),
            _ => vec![self.iconst(types::I32, 0)],
        };
        self.b.ins().jump(self.blocks[0], &args(&port));
    }

    /// What only some filters ask for, kept in the frame.
    fn select_extras(&mut self, i: ir::Value, packet: ir::Value, len: ir::Value) {
        let needs = Needs::of(self.func);
        if needs.calls {
            self.set_field(frame::PACKET, packet);
            self.set_field(frame::PACKET_LEN, len);
        }
        if needs.wire_len {
            let len = self.array_entry(frame::WIRE_LENS, i, types::I32);
            self.set_field(frame::WIRE_LEN, len);
        }
        if needs.time {
            let time = self.array_entry(frame::TIMES, i, types::I64);
            self.set_field(frame::TIME_NS, time);
        }
        if needs.budget {
            let start = self.field(frame::BUDGET_START, types::I32, constant());
            self.set_field(frame::BUDGET, start);
        }
    }

    /// Entry i of an array that a field of the frame points to.
    fn array_entry(&mut self, array: i32, i: ir::Value, ty: ir::Type) -> ir::Value {
        let array = self.field(array, types::I64, constant());
        let at = self.b.ins().imul_imm_s(i, i64::from(ty.bytes()));
        let at = self.b.ins().iadd(array, at);
        self.b.ins().load(ty, trusted(), at, 0)
    }

    /// Stores the word that packet i is in.
    fn store_word(&mut self, i: ir::Value, word: ir::Value) {
        let bits = self.field(frame::BITS, types::I64, constant());
        let index = self.b.ins().ushr_imm_u(i, 6);
        let at = self.b.ins().ishl_imm_u(index, 3);
        let at = self.b.ins().iadd(bits, at);
        self.b.ins().store(trusted(), word, at, 0);
    }

    /// Takes packet and length from the frame.
    pub(super) fn reload_packet(&mut self) {
        let packet = self.field(frame::PACKET, types::I64, trusted());
        self.b.def_var(self.shared.packet, packet);
        let len = self.field(frame::PACKET_LEN, types::I32, trusted());
        self.b.def_var(self.shared.packet_len, len);
    }

    /// Ends the work on this packet.
    pub(super) fn leave(&mut self, tag: u64, number: u32) {
        match self.exits.join {
            None => {
                let code = self.iconst(types::I64, tag | u64::from(number) << 32);
                self.leave_with(code);
            }
            Some(join) => {
                let bit = self.iconst(types::I64, u64::from(tag == exit::PORT));
                self.b.ins().jump(join, &args(&[bit]));
            }
        }
    }

    /// Ends the work on this packet with a tag and a number, where packets are run one at a time.
    fn leave_with(&mut self, code: ir::Value) {
        if self.fusion.is_some() {
            return self.leave_member(code);
        }
        self.b.ins().return_(&[code]);
    }

    /// The block that a trap of a kind at a site jumps to. Each has its own, so that the site's
    /// number is made there.
    fn trap(&mut self, kind: TrapKind, site: u32) -> ir::Block {
        if self.shape == FunctionKind::Select {
            return *self.exits.reject.get_or_insert_with(|| self.b.create_block());
        }
        match self.end_of_slice() {
            Some(next) => next,
            None => *self.exits.traps.entry((kind.code(), site)).or_insert_with(|| self.b.create_block()),
        }
    }

    /// Traps if the i8 is not 0.
    pub(super) fn trap_if(&mut self, condition: ir::Value, kind: TrapKind, site: u32) {
        let trap = self.trap(kind, site);
        let next = self.b.create_block();
        self.b.ins().brif(condition, trap, &[], next, &[]);
        self.b.switch_to_block(next);
    }

    /// Fills the blocks that exits jump to.
    pub(super) fn finish_exits(&mut self) {
        if let Some(reject) = self.exits.reject {
            self.b.switch_to_block(reject);
            self.leave(exit::DROP_VERDICT, 0);
        }
        let mut of_kinds: BTreeMap<u32, ir::Block> = BTreeMap::new();
        for ((code, site), block) in std::mem::take(&mut self.exits.traps) {
            let kind = *of_kinds.entry(code).or_insert_with(|| self.b.create_block());
            self.b.switch_to_block(block);
            self.b.set_cold_block(block);
            let site = self.iconst(types::I32, site.into());
            self.b.ins().jump(kind, &args(&[site]));
        }
        for (code, block) in of_kinds {
            self.b.switch_to_block(block);
            self.b.set_cold_block(block);
            let site = self.b.append_block_param(block, types::I32);
            self.set_field(frame::TRAP_SITE, site);
            self.leave(exit::TRAP, code);
        }
        if let Some(block) = self.exits.called.take() {
            self.b.switch_to_block(block);
            self.b.set_cold_block(block);
            let (site, code) = (self.b.append_block_param(block, types::I32), self.b.append_block_param(block, types::I64));
            self.set_field(frame::TRAP_SITE, site);
            let high = self.b.ins().ishl_imm_u(code, 32);
            let tag = self.iconst(types::I64, exit::TRAP);
            let code = self.b.ins().bor(high, tag);
            self.leave_with(code);
        }
    }

    pub(super) fn end(&mut self, block: mir::Block) -> Result<(), JitError> {
        match &self.func.block(block).end {
            Terminator::Jump(e) => {
                let (to, a) = self.edge(e)?;
                self.b.ins().jump(to, &a);
            }
            Terminator::Branch(c, yes, no) if self.verdicts(yes, no).is_some() => {
                let selected = self.verdicts(yes, no).unwrap_or_default();
                self.leave_if(*c, selected)?;
            }
            Terminator::Branch(c, yes, no) => self.branch(*c, yes, no)?,
            Terminator::Switch(v, cases, default) => self.switch(*v, cases, default)?,
            Terminator::Send(port) => self.send_or_leave(*port),
            end @ Terminator::SendBy(v, .., default) => self.send_by(*v, end.ports(), default)?,
            Terminator::Drop(reason) => {
                let (tag, number) = match reason {
                    DropReason::Verdict => (exit::DROP_VERDICT, 0),
                    DropReason::Program(n) => (exit::DROP_PROGRAM, *n),
                    DropReason::NoInput => (exit::NO_INPUT, 0),
                };
                if self.fusion.is_some() { self.go_no_further(tag, number) } else { self.leave(tag, number) }
            }
        }
        Ok(())
    }

    /// The packet leaves by a port: the member's, or the program's.
    pub(super) fn send_or_leave(&mut self, port: u32) {
        if self.fusion.is_some() { self.send(port) } else { self.leave(exit::PORT, port) }
    }

    fn branch(&mut self, condition: mir::Value, yes: &Edge, no: &Edge) -> Result<(), JitError> {
        let ((yes, a), (no, b)) = (self.side_edge(yes)?, self.side_edge(no)?);
        let condition = match self.within(condition, no, &b) {
            Some(bit) => bit,
            None => self.reg(condition),
        };
        self.b.ins().brif(condition, yes, &a, no, &b);
        self.fill_side_edges()
    }

    /// Select: what the first edge's packets come to, if those of the second come to the contrary
    /// and nothing is left to do.
    fn verdicts(&self, yes: &Edge, no: &Edge) -> Option<bool> {
        let verdict = |e: &Edge| match self.func.block(e.block) {
            BlockData { end: Terminator::Send(_), ops, .. } if ops.is_empty() => Some(true),
            BlockData { end: Terminator::Drop(_), ops, .. } if ops.is_empty() => Some(false),
            _ => None,
        };
        let (yes, no) = (verdict(yes)?, verdict(no)?);
        (self.exits.join.is_some() && yes != no).then_some(yes)
    }

    /// Ends the work on this packet without a branch: the condition, or its contrary, is its bit.
    fn leave_if(&mut self, condition: mir::Value, selected: bool) -> Result<(), JitError> {
        let Some(join) = self.exits.join else { return Ok(()) };
        let held = match self.func.op(condition) {
            _ if selected => self.reg(condition),
            Some(mir::Op::Cmp(op, x, y)) if self.func.width(*x) <= 64 => self.cmp(op.negated(), *x, *y)?,
            _ => {
                let condition = self.reg(condition);
                self.b.ins().bxor_imm_u(condition, 1)
            }
        };
        let bit = self.b.ins().uextend(types::I64, held);
        self.b.ins().jump(join, &args(&[bit]));
        Ok(())
    }

    /// An edge whose values in slots are copied here and now.
    fn edge(&mut self, e: &Edge) -> Result<(ir::Block, Vec<ir::BlockArg>), JitError> {
        self.copy_slots(e)?;
        let registers: Vec<ir::Value> = e.args.iter().filter(|v| self.func.width(**v) <= 128).map(|v| self.reg_of(*v)).collect();
        Ok((self.blocks[e.block.0 as usize], args(&registers)))
    }

    fn reg_of(&self, v: mir::Value) -> ir::Value {
        match self.places[v.0 as usize] {
            ValueStorage::Reg(value) => value,
            _ => unreachable!("{v:?} is in no register"),
        }
    }

    /// One of several edges: if values in slots must be copied, that is done in a block of its own.
    pub(super) fn side_edge(&mut self, e: &Edge) -> Result<(ir::Block, Vec<ir::BlockArg>), JitError> {
        if e.args.iter().all(|v| self.func.width(*v) <= 128) {
            return self.edge(e);
        }
        let block = self.b.create_block();
        self.side_edges.push((block, e.clone()));
        Ok((block, Vec::new()))
    }

    pub(super) fn fill_side_edges(&mut self) -> Result<(), JitError> {
        for (block, e) in std::mem::take(&mut self.side_edges) {
            self.b.switch_to_block(block);
            let (to, a) = self.edge(&e)?;
            self.b.ins().jump(to, &a);
        }
        Ok(())
    }

    fn switch(&mut self, v: mir::Value, cases: &[(u32, Edge)], default: &Edge) -> Result<(), JitError> {
        let v = self.reg(v);
        let (mut blocks, mut fresh) = (HashMap::new(), Vec::new());
        let mut block_of = |this: &mut Self, e: &Edge| {
            if e.args.is_empty() {
                return this.blocks[e.block.0 as usize];
            }
            *blocks.entry(e.clone()).or_insert_with(|| {
                let block = this.b.create_block();
                fresh.push((block, e.clone()));
                block
            })
        };
        let mut switch = Switch::new();
        for (key, e) in cases {
            let block = block_of(self, e);
            switch.set_entry((*key).into(), block);
        }
        let otherwise = block_of(self, default);
        switch.emit(&mut self.b, v, otherwise);
        self.side_edges.extend(fresh);
        self.fill_side_edges()
    }

    /// One test for what covers all extents; where that fails, each in turn, so that the first one
    /// traps.
    pub(super) fn check(&mut self, space: Space, extents: &[Extent]) {
        let kind = TrapKind::OutOfBounds(space);
        let Some((last, _)) = extents.split_last() else { return };
        if extents.len() == 1 {
            let outside = self.outside(space, last);
            return self.trap_if(outside, kind, last.site);
        }
        let (slow, next) = (self.b.create_block(), self.b.create_block());
        let mut ends: BTreeMap<u32, &Extent> = BTreeMap::new();
        for e in extents {
            let covering = ends.entry(e.addr.0).or_insert(e);
            if e.end() > covering.end() {
                *covering = e;
            }
        }
        for e in ends.values() {
            let outside = self.outside(space, e);
            let on = self.b.create_block();
            self.b.ins().brif(outside, slow, &[], on, &[]);
            self.b.switch_to_block(on);
        }
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(slow);
        self.b.set_cold_block(slow);
        for e in extents {
            let outside = self.outside(space, e);
            self.trap_if(outside, kind, e.site);
        }
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
    }

    /// An i8: the bytes do not lie inside the memory.
    fn outside(&mut self, space: Space, extent: &Extent) -> ir::Value {
        let (len, end) = (self.len(space), extent.end());
        let Some(at) = self.func.constant(extent.addr) else {
            let (addr, len) = (self.reg(extent.addr), self.b.ins().uextend(types::I64, len));
            let addr = self.b.ins().uextend(types::I64, addr);
            let end = self.b.ins().iadd_imm_s(addr, end as i64);
            return self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, len);
        };
        match u32::try_from(at + end) {
            Ok(end) => self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, len, i64::from(end)),
            Err(_) => self.iconst(types::I8, 1),
        }
    }

    fn len(&mut self, space: Space) -> ir::Value {
        let len = match space {
            Space::Packet => return self.b.use_var(self.shared.packet_len),
            Space::Info => self.module.info_size,
            Space::Data => self.module.data_size,
            Space::Shared => self.shared_size,
            Space::Initialised => self.initialised_size,
        };
        self.iconst(types::I32, len.into())
    }

    pub(super) fn non_zero(&mut self, v: mir::Value, site: u32) -> Result<(), JitError> {
        let zero = match self.places[v.0 as usize] {
            ValueStorage::Slot(slot) => self.slot_is_zero(slot, self.func.width(v)),
            _ => {
                let v = self.reg(v);
                let zero = self.iconst(self.b.func.dfg.value_type(v), 0);
                self.b.ins().icmp(IntCC::Equal, v, zero)
            }
        };
        self.trap_if(zero, TrapKind::DivisionByZero, site);
        Ok(())
    }

    pub(super) fn budget(&mut self, site: u32, n: u32) {
        let left = self.field(frame::BUDGET, types::I32, trusted());
        let too_little = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, left, i64::from(n));
        self.trap_if(too_little, TrapKind::Budget, site);
        let left = self.b.ins().iadd_imm_s(left, -i64::from(n));
        self.set_field(frame::BUDGET, left);
    }

    /// Traps if the packet was given up.
    pub(super) fn present(&mut self, site: u32) {
        if self.fusion.as_ref().is_some_and(|fusion| fusion.is_there) {
            return;
        }
        let present = self.field(frame::PRESENT, types::I32, trusted());
        let none = self.b.ins().icmp_imm_u(IntCC::Equal, present, 0);
        self.trap_if(none, TrapKind::NoPacket, site);
    }

    /// What a helper gives, if anything.
    pub(super) fn helper(
        &mut self,
        v: mir::Value,
        helper: Helper,
        operands: &[mir::Value],
        site: u32,
    ) -> Result<Option<ir::Value>, JitError> {
        let values: Vec<ir::Value> = operands.iter().map(|v| self.reg(*v)).collect();
        let passes = self.passes(v);
        if let Some(value) = self.in_line(helper, (operands, &values), (site, passes)) {
            return Ok(value);
        }
        Ok(self.by_runtime(helper, &values, site, self.func.ty(v)))
    }

    /// What a helper gives that the runtime does.
    pub(super) fn by_runtime(&mut self, helper: Helper, values: &[ir::Value], site: u32, ty: Type) -> Option<ir::Value> {
        let effects = mir::Op::Helper(helper, Box::new([]), site).effects();
        let result = self.call(Call::Helper(helper, values.len()), values);
        if effects.traps {
            self.trap_of_call(result, site);
        }
        // Where handlers are fused an exchange buffer may do it, and the packet then lies elsewhere
        // in its slot.
        if !helper.leaves_packet() {
            self.reload_packet();
        }
        match ty {
            Type::Int(1) => Some(self.b.ins().ireduce(types::I8, result)),
            Type::Int(_) => Some(self.b.ins().ireduce(types::I32, result)),
            _ => None,
        }
    }

    pub(super) fn trap_of_call(&mut self, result: ir::Value, site: u32) {
        let code = self.b.ins().ushr_imm_u(result, 32);
        let next = self.b.create_block();
        if self.shape == FunctionKind::Select {
            let reject = *self.exits.reject.get_or_insert_with(|| self.b.create_block());
            self.b.ins().brif(code, reject, &[], next, &[]);
        } else {
            let trap = *self.exits.called.get_or_insert_with(|| self.b.create_block());
            let site = self.iconst(types::I32, site.into());
            self.b.ins().brif(code, trap, &args(&[site, code]), next, &[]);
        }
        self.b.switch_to_block(next);
    }

    /// One slot serves the arguments of all calls: the most is 255 words, of a `hash`.
    pub(super) fn arguments_slot(&mut self) -> ir::StackSlot {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, crate::calls::ARGUMENTS as u32, 3);
        *self.arguments.get_or_insert_with(|| self.b.create_sized_stack_slot(data))
    }

    /// Calls the runtime: value in the low half, trap code in the high half.
    pub(super) fn call(&mut self, call: Call, values: &[ir::Value]) -> ir::Value {
        let at = if values.is_empty() {
            self.shared.frame
        } else {
            let slot = self.arguments_slot();
            let at = self.b.ins().stack_addr(types::I64, slot, 0);
            for (k, v) in values.iter().enumerate() {
                self.b.ins().store(trusted(), *v, at, 4 * k as i32);
            }
            at
        };
        self.call_at(call, at)
    }

    /// Calls the runtime with arguments that are at an address already: value in the low half, trap
    /// code in the high half.
    pub(super) fn call_at(&mut self, call: Call, at: ir::Value) -> ir::Value {
        if self.ends_slice() {
            return self.iconst(types::I64, 0);
        }
        self.tell_packet();
        let index = self.calls.len() as u64;
        self.calls.push(call);
        let index = self.iconst(types::I32, index);
        self.call_frame(frame::CALL, &[self.shared.frame, index, at], types::I64)
    }

    /// Calls a function whose address is in the frame.
    pub(super) fn call_frame(&mut self, field: i32, values: &[ir::Value], result: ir::Type) -> ir::Value {
        let mut signature = Signature::new(self.b.func.signature.call_conv);
        debug_assert_ne!(signature.call_conv, CallConv::Fast);
        signature.params.extend(values.iter().map(|v| AbiParam::new(self.b.func.dfg.value_type(*v))));
        signature.returns.push(AbiParam::new(result));
        let signature = self.b.import_signature(signature);
        let callee = self.field(field, types::I64, constant());
        let call = self.b.ins().call_indirect(signature, callee, values);
        self.b.inst_results(call)[0]
    }
}

/// What a filter needs in the frame.
#[derive(Default)]
struct Needs {
    calls: bool,
    wire_len: bool,
    time: bool,
    budget: bool,
}

impl Needs {
    fn of(func: &mir::Func) -> Self {
        let mut needs = Self::default();
        for op in func.blocks.iter().flat_map(|b| &b.ops).filter_map(|v| func.op(*v)) {
            match op {
                // Calls may pay for bytes.
                mir::Op::Helper(..) => (needs.calls, needs.budget) = (true, true),
                mir::Op::WireLen => needs.wire_len = true,
                mir::Op::TimeSeconds | mir::Op::TimeMicros | mir::Op::TimeNanos => needs.time = true,
                mir::Op::Budget(..) => needs.budget = true,
                _ => {}
            }
        }
        needs
    }
}
