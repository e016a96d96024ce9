//! Prefetch slices of fused handlers (`compiler::cluster`): a function that runs them for the
//! packets of a burst which come next, and notes where lookups will look.
//!
//! A slice writes to nothing that lasts: annotations are scratch memory, data memory is a shadow on
//! the stack, the packet is not written to. Where a handler would need the runtime, trap, drop the
//! packet or send it to one without a slice, the slice ends, and the next packet's begins. Packets
//! are as long as a slot: no slot is read but for where its packet comes in.

use super::fused::{Element, Fusion};
use super::{Lower, args, constant, trusted};
use crate::frame;
use crate::frame::parts;
use compiler::cluster::{Access, Shadow, access, is_large};
use compiler::mir::{self, Helper};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, StackSlot, StackSlotData, StackSlotKind, types};
use netil::layout::{self, trie};
use netil::pool::LONGEST;
use netil::table::Space;

/// What is known of slices.
pub(super) struct Prefetch {
    /// Tables of more bytes are prefetched.
    large: usize,
    /// The shadow of the member whose slice is lowered.
    shadow: Option<(Shadow, StackSlot)>,
}

impl Prefetch {
    pub fn new(large: usize) -> Self {
        Self { large, shadow: None }
    }
}

impl Fusion<'_> {
    /// Where a slice goes when it ends, if slices are lowered.
    pub fn end_of_slice(&self) -> Option<ir::Block> {
        self.prefetch.as_ref().map(|_| self.blocks.next)
    }
}

impl Lower<'_> {
    /// Where a slice goes when it ends, if slices are lowered.
    pub(super) fn end_of_slice(&self) -> Option<ir::Block> {
        self.fusion.as_ref()?.end_of_slice()
    }

    /// Ends the slice, if one is lowered, instead of a call of the runtime; what follows is never
    /// reached.
    pub(super) fn ends_slice(&mut self) -> bool {
        let Some(next) = self.end_of_slice() else { return false };
        self.b.ins().jump(next, &[]);
        let unreached = self.b.create_block();
        self.b.switch_to_block(unreached);
        true
    }

    /// What comes before a slice's first block.
    pub(super) fn start_slice(&mut self, element: &Element<'_>) {
        let shadow = Shadow::of(element.func, element.module.data_size);
        let own = shadow.map(|shadow| {
            let data = StackSlotData::new(StackSlotKind::ExplicitSlot, shadow.bytes as u32, 3);
            (shadow, self.b.create_sized_stack_slot(data))
        });
        if let Some((shadow, slot)) = &own {
            let memory = self.unit(frame::unit::DATA);
            for (at, bytes, to) in &shadow.pieces {
                self.copy_to_slot(memory, *at, *bytes, (*slot, *to));
            }
        }
        if let Some(prefetch) = self.fusion.as_mut().and_then(|fusion| fusion.prefetch.as_mut()) {
            prefetch.shadow = own;
        }
    }

    fn copy_to_slot(&mut self, memory: ir::Value, at: u64, bytes: u64, (slot, to): (StackSlot, u64)) {
        let (mut done, flags) = (0, self.bytes());
        while done < bytes {
            let left = bytes - done;
            let ty = [types::I64, types::I32, types::I16].into_iter().find(|ty| u64::from(ty.bytes()) <= left).unwrap_or(types::I8);
            let v = self.b.ins().load(ty, flags, memory, (at + done) as i32);
            let into = self.b.ins().stack_addr(types::I64, slot, 0);
            self.b.ins().store(trusted(), v, into, (to + done) as i32);
            done += u64::from(ty.bytes());
        }
    }

    /// Where a slice accesses data memory at a constant place, or at any if there is none: in its
    /// shadow.
    pub(super) fn shadowed(&mut self, space: Space, at: Option<u64>) -> Option<(ir::Value, u64)> {
        let (shadow, slot) = self.fusion.as_ref()?.prefetch.as_ref()?.shadow.as_ref().filter(|_| space == Space::Data)?;
        let place = if shadow.is_whole { at.unwrap_or(0) } else { shadow.moved(at?)? };
        let slot = *slot;
        Some((self.b.ins().stack_addr(types::I64, slot, 0), place))
    }

    /// Takes the next packet that a slice is to be run for.
    pub(super) fn take_next_ahead(&mut self) {
        let Some(next_block) = self.end_of_slice() else { return };
        let (done, some) = (self.b.create_block(), self.b.create_block());
        self.b.switch_to_block(next_block);
        let (next, count) = (self.field(frame::AHEAD, types::I64, trusted()), self.field(frame::AHEAD_TO, types::I64, trusted()));
        let more = self.b.ins().icmp(IntCC::UnsignedLessThan, next, count);
        self.b.ins().brif(more, some, &[], done, &[]);
        self.b.switch_to_block(done);
        self.give(frame::exit::DONE);
        self.b.switch_to_block(some);
        let id = self.slot_at(next);
        let next = self.b.ins().iadd_imm_s(next, 1);
        self.set_field(frame::AHEAD, next);
        let len = self.iconst(types::I32, LONGEST as u64);
        let scratch = self.field(frame::SCRATCH, types::I64, constant());
        self.place(id, len, Some(scratch));
        let several = self.fusion.as_ref().is_some_and(|fusion| fusion.elements.entries.len() > 1);
        let kind = if several { self.kind_of(id) } else { len };
        self.enter_by(kind);
    }

    /// A lookup of a slice: in a large table it notes where the lookup will look, and finds
    /// nothing; false for others.
    pub(super) fn fetch(&mut self, v: mir::Value, table: u32, key: mir::Value) -> bool {
        let Some(large) = self.fusion.as_ref().and_then(|fusion| Some(fusion.prefetch.as_ref()?.large)) else { return false };
        let declaration = &self.module.tables[table as usize];
        if !is_large(declaration, large) {
            return false;
        }
        let head = self.part_of(table, parts::HEAD);
        let (there, on) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(head, there, &[], on, &[]);
        self.b.switch_to_block(there);
        match access(declaration) {
            Some(Access::Exact) => self.fetch_exact(table, head, key),
            Some(Access::Prefix(root_bits)) => self.fetch_prefix(table, head, (key, u32::from(declaration.key_bits) - root_bits)),
            _ => {}
        }
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
        self.places[v.0 as usize] = super::ValueStorage::Reg(self.iconst(types::I32, 0));
        true
    }

    fn fetch_exact(&mut self, table: u32, head: ir::Value, key: mir::Value) {
        let (key, stride) = (self.words(key), layout::Exact::of(&self.module.tables[table as usize]).stride);
        let (bucket, slots) = (self.bucket(head, key), self.part_of(table, parts::SLOTS));
        let at = self.b.ins().imul_imm_s(bucket, stride as i64);
        let at = self.b.ins().iadd(slots, at);
        // The slot behind, where a key may be, too, is often in the next line.
        let behind = self.b.ins().iadd_imm_s(at, stride.min(layout::LINE) as i64);
        self.note_lines(&[at, behind]);
    }

    /// The first level, which is all but the last `left` bits of the key.
    fn fetch_prefix(&mut self, table: u32, head: ir::Value, (key, left): (mir::Value, u32)) {
        let (key, index) = (self.reg(key), self.part_of(table, parts::INDEX));
        let (wide, one) = (self.head_word(head, trie::WIDE), self.iconst(types::I64, 1));
        let two = self.iconst(types::I64, 2);
        let shift = self.b.ins().select(wide, two, one);
        let at = self.b.ins().ushr_imm_u(key, i64::from(left));
        let at = self.b.ins().uextend(types::I64, at);
        let at = self.b.ins().ishl(at, shift);
        let at = self.b.ins().iadd(index, at);
        self.note_lines(&[at]);
    }

    /// Notes addresses that will be read soon; where there is no more room, slices end.
    fn note_lines(&mut self, lines: &[ir::Value]) {
        let (end, limit) = (self.field(frame::LINES, types::I64, trusted()), self.field(frame::LINES_END, types::I64, constant()));
        let after = self.b.ins().iadd_imm_s(end, 8 * lines.len() as i64);
        let full = self.b.ins().icmp(IntCC::UnsignedGreaterThan, after, limit);
        let (Some(next), room) = (self.end_of_slice(), self.b.create_block()) else { return };
        self.b.ins().brif(full, next, &[], room, &args(&[]));
        self.b.switch_to_block(room);
        (0..).zip(lines).for_each(|(n, line)| _ = self.b.ins().store(trusted(), *line, end, 8 * n));
        self.set_field(frame::LINES, after);
    }

    /// Whether a lookup of a slice changes nothing: it tells no table the time, and lets no entry
    /// live on.
    pub(super) fn only_looks(&self, helper: Helper) -> bool {
        self.end_of_slice().is_some() || matches!(helper, Helper::Peek(_))
    }
}
