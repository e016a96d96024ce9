//! How fused handlers take the packets of a burst, and where they put them: packets that lie in
//! their slots as they were put there ([`netil::pool`]), without the runtime.
//!
//! Other packets, and all where somebody wants to know of each, are put into the frame by the
//! runtime, which also does what a packet needs that goes no further.

use super::fused::{Blocks, Fusion};
use super::{Lower, args, constant, trusted};
use crate::frame::{self, exit, gone, slot};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::Switch;
use netil::pool::{CUT, ENTRY, FRESH, HEAD, LONGEST, PRESENT, room_for, stride};

impl Lower<'_> {
    /// Takes the next packet of the burst, and goes to where it comes in.
    pub(super) fn take_next(&mut self, blocks: Blocks) {
        let (done, some) = (self.b.create_block(), self.b.create_block());
        self.b.switch_to_block(blocks.next);
        let (next, count) = (self.field(frame::NEXT, types::I64, trusted()), self.field(frame::COUNT, types::I64, trusted()));
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, next, count);
        self.b.ins().brif(more, some, &[], done, &[]);
        self.b.switch_to_block(done);
        self.give(exit::DONE);
        self.b.switch_to_block(some);
        let id = self.slot_at(next);
        let next = self.b.ins().iadd_imm_s(next, 1);
        self.set_field(frame::NEXT, next);
        self.set_field(frame::SLOT, id);
        let kind = self.load_fresh(id);
        self.enter_by(kind);
    }

    /// The slot of a packet of the burst.
    pub(super) fn slot_at(&mut self, number: ir::Value) -> ir::Value {
        let burst = self.field(frame::BURST, types::I64, constant());
        let at = self.b.ins().ishl_imm_u(number, 2);
        let at = self.b.ins().iadd(burst, at);
        self.b.ins().load(types::I32, trusted(), at, 0)
    }

    /// The kind of a slot's packet.
    pub(super) fn kind_of(&mut self, id: ir::Value) -> ir::Value {
        let (slot, flags) = (self.row_of(frame::SLOTS, id, slot::SIZE), self.bytes());
        self.b.ins().load(types::I32, flags, slot, slot::KIND)
    }

    /// Gives a code without a packet.
    pub(super) fn give(&mut self, tag: u64) {
        let code = self.iconst(types::I64, tag);
        self.b.ins().return_(&[code]);
    }

    /// The address of a slot, or of its detail.
    fn row_of(&mut self, field: i32, id: ir::Value, size: i64) -> ir::Value {
        let (rows, id) = (self.field(field, types::I64, trusted()), self.b.ins().uextend(types::I64, id));
        let at = self.b.ins().imul_imm_s(id, size);
        self.b.ins().iadd(rows, at)
    }

    /// Puts a packet that lies as it was put into the frame; gives its kind. Lets the runtime do it
    /// with others.
    fn load_fresh(&mut self, id: ir::Value) -> ir::Value {
        let (slot, flags) = (self.row_of(frame::SLOTS, id, slot::SIZE), self.bytes());
        let kind = self.b.ins().load(types::I32, flags, slot, slot::KIND);
        let usual = self.b.ins().band_imm_u(kind, i64::from(PRESENT | FRESH | CUT));
        let usual = self.b.ins().icmp_imm_u(IntCC::Equal, usual, i64::from(PRESENT | FRESH));
        let slow = self.field(frame::SLOW, types::I32, trusted());
        let quick = self.b.ins().icmp_imm_u(IntCC::Equal, slow, 0);
        let (quick, here, away) = (self.b.ins().band(usual, quick), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(quick, here, &[], away, &[]);
        self.b.switch_to_block(away);
        self.b.set_cold_block(away);
        self.give(exit::LOAD);
        self.b.switch_to_block(here);
        let len = self.b.ins().load(types::I32, flags, slot, slot::LEN);
        let time = self.b.ins().load(types::I64, flags, slot, slot::TIME);
        self.set_field(frame::TIME_NS, time);
        self.place(id, len, None);
        kind
    }

    /// Where the packet lies, which nobody has moved. Its annotations lie before it, or elsewhere.
    pub(super) fn place(&mut self, id: ir::Value, len: ir::Value, elsewhere: Option<ir::Value>) {
        let info_size = self.info_size() as usize;
        let info = self.row_of(frame::POOL, id, stride(info_size) as i64);
        let memory = self.b.ins().iadd_imm_s(info, room_for(info_size) as i64);
        let packet = self.b.ins().iadd_imm_s(memory, HEAD as i64);
        let info = elsewhere.unwrap_or(info);
        self.b.def_var(self.shared.packet, packet);
        self.b.def_var(self.shared.packet_len, len);
        for (field, pointer) in [(frame::INFO, info), (frame::MEMORY, memory), (frame::ORIGIN, packet)] {
            self.set_field(field, pointer);
        }
        for (field, number) in [(frame::FRONT, 0), (frame::MISSING, 0), (frame::PRESENT, PRESENT), (frame::SIZE, (HEAD + LONGEST) as u32)] {
            let number = self.iconst(types::I32, number.into());
            self.set_field(field, number);
        }
        let (zero, flags) = (self.iconst(types::I64, 0), self.bytes());
        let zeros = self.b.ins().splat(types::I64X2, zero);
        // The room for annotations is whole cache lines.
        for at in (0..info_size).step_by(16) {
            self.b.ins().store(flags, zeros, info, at as i32);
        }
    }

    /// Goes to the member where packets of a kind come in.
    pub(super) fn enter_by(&mut self, kind: ir::Value) {
        let entries = self.fusion.as_ref().map_or(&[][..], |fusion| fusion.elements.entries);
        let entry = self.b.ins().ushr_imm_u(kind, i64::from(ENTRY));
        let blocks: Vec<ir::Block> = entries.iter().map(|_| self.b.create_block()).collect();
        match blocks[..] {
            // Nothing comes in.
            [] => return self.give(exit::DONE),
            [only] => _ = self.b.ins().jump(only, &[]),
            [first, ..] => {
                let mut switch = Switch::new();
                (1..).zip(&blocks[1..]).for_each(|(n, block)| switch.set_entry(n, *block));
                switch.emit(&mut self.b, entry, first);
            }
        }
        for ((n, (member, port)), block) in (0..).zip(entries).zip(blocks) {
            self.b.switch_to_block(block);
            match (self.start_of(*member), self.end_of_slice()) {
                (None, Some(end)) => _ = self.b.ins().jump(end, &[]),
                (_, slice) => {
                    if slice.is_none() {
                        let place = self.iconst(types::I64, n);
                        self.count_at(frame::BEGUN, place);
                    }
                    let port = self.iconst(types::I32, (*port).into());
                    self.start_member_at(*member, port);
                }
            }
        }
    }

    /// Puts the packet into its slot, the slot into the list of an exit, and takes the next one. If
    /// the member has set timers, or somebody wants to know, the runtime does that.
    pub(super) fn put_out(&mut self, Blocks { next, out, leave, .. }: Blocks) {
        self.b.switch_to_block(out);
        let (exit, member) = (self.b.block_params(out)[0], self.b.block_params(out)[1]);
        let (special, here, away) = (self.is_special(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(special, away, &[], here, &[]);
        self.b.switch_to_block(away);
        self.b.set_cold_block(away);
        let number = self.b.ins().uextend(types::I64, exit);
        let number = self.b.ins().ishl_imm_u(number, 32);
        let code = self.b.ins().bor_imm_u(number, exit::EXIT as i64);
        self.b.ins().jump(leave, &args(&[code, member]));
        self.b.switch_to_block(here);
        let id = self.field(frame::SLOT, types::I32, trusted());
        self.store_packet(id);
        self.append(id, exit);
        self.b.ins().jump(next, &[]);
    }

    /// Not 0 if the member has set timers, or somebody wants to know of each packet.
    fn is_special(&mut self) -> ir::Value {
        let slow = self.field(frame::SLOW, types::I32, trusted());
        if !self.any(|fusion| fusion.sets_timers) {
            return slow;
        }
        let set = self.field(frame::SET, types::I32, trusted());
        self.b.ins().bor(slow, set)
    }

    /// Notes that the packet goes no further, and takes the next one; where nobody knows any more
    /// what it is, it need not be put into its slot.
    pub(super) fn note_gone(&mut self, Blocks { next, gone, leave, .. }: Blocks) {
        self.b.switch_to_block(gone);
        let (code, member) = (self.b.block_params(gone)[0], self.b.block_params(gone)[1]);
        let (special, here) = (self.is_special(), self.b.create_block());
        self.b.ins().brif(special, leave, &args(&[code, member]), here, &[]);
        self.b.switch_to_block(here);
        let (row, flags) = (self.field(frame::ENDED, types::I64, trusted()), self.bytes());
        let (id, none) = (self.field(frame::SLOT, types::I32, trusted()), self.iconst(types::I32, 0));
        for (value, at) in [(code, gone::CODE), (none, gone::SITE), (member, gone::MEMBER), (id, gone::SLOT)] {
            self.b.ins().store(flags, value, row, at);
        }
        let end = self.b.ins().iadd_imm_s(row, gone::SIZE);
        self.set_field(frame::ENDED, end);
        self.b.ins().jump(next, &[]);
    }

    /// Whether something is so of the elements that are fused.
    fn any(&self, what: fn(&Fusion<'_>) -> bool) -> bool {
        self.fusion.as_ref().is_some_and(what)
    }

    /// Puts the packet that is in the frame into its slot: what some element may have changed.
    fn store_packet(&mut self, id: ir::Value) {
        let (slot, flags) = (self.row_of(frame::SLOTS, id, slot::SIZE), self.bytes());
        if self.any(|fusion| fusion.sets_time) {
            let time = self.field(frame::TIME_NS, types::I64, trusted());
            self.b.ins().store(flags, time, slot, slot::TIME);
        }
        let kind = self.b.ins().load(types::I32, flags, slot, slot::KIND);
        let kind = self.kind_after(kind);
        let (packet, len) = (self.b.use_var(self.shared.packet), self.b.use_var(self.shared.packet_len));
        self.b.ins().store(flags, len, slot, slot::LEN);
        self.b.ins().store(flags, kind, slot, slot::KIND);
        let detail = self.row_of(frame::POOL_DETAILS, id, slot::DETAIL_SIZE);
        let (memory, front) = (self.field(frame::MEMORY, types::I64, trusted()), self.field(frame::FRONT, types::I32, trusted()));
        let head = self.b.ins().isub(packet, memory);
        let (head, moved) = (self.b.ins().ireduce(types::I32, head), self.moved());
        for (value, at) in [(head, slot::HEAD), (front, slot::FRONT), (moved, slot::MOVED)] {
            self.b.ins().store(flags, value, detail, at);
        }
        if self.any(|fusion| fusion.sets_wire) {
            let missing = self.field(frame::MISSING, types::I32, trusted());
            self.b.ins().store(flags, missing, detail, slot::MISSING);
        }
    }

    /// The kind of a slot whose packet has been in the frame. Unless an element changes that, the
    /// slot says still whether bytes are missing and whether there is a packet.
    fn kind_after(&mut self, mut kind: ir::Value) -> ir::Value {
        kind = self.b.ins().band_imm_u(kind, i64::from(!FRESH));
        if self.any(|fusion| fusion.sets_wire) {
            let missing = self.field(frame::MISSING, types::I32, trusted());
            let (cut, none) = (self.iconst(types::I32, CUT.into()), self.iconst(types::I32, 0));
            let cut = self.b.ins().select(missing, cut, none);
            let others = self.b.ins().band_imm_u(kind, i64::from(!CUT));
            kind = self.b.ins().bor(others, cut);
        }
        if !self.is_there() {
            let (present, others) = (self.field(frame::PRESENT, types::I32, trusted()), self.b.ins().band_imm_u(kind, i64::from(!PRESENT)));
            kind = self.b.ins().bor(others, present);
        }
        kind
    }

    /// Puts a slot's number into the list of an exit.
    fn append(&mut self, id: ir::Value, exit: ir::Value) {
        let (list, flags) = (self.row_of(frame::EXITS, exit, 8), self.bytes());
        let end = self.b.ins().load(types::I64, flags, list, 0);
        self.b.ins().store(flags, id, end, 0);
        let end = self.b.ins().iadd_imm_s(end, 4);
        self.b.ins().store(flags, end, list, 0);
    }
}
