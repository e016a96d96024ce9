//! The stack frame that goes with the packet, and what changes the packet's place.
//!
//! ```text
//! end of the frame ▶ info memory │ head u64 │ origin u64 │ time u64
//! ```
//!
//! `head` is how many bytes before the packet's first one the kernel's buffer has still: bytes that
//! were pulled; nothing is moved for them until the packet leaves. `origin` is how many bytes the
//! kernel's buffer has grown at its head. Time is read once.
//!
//! Leaves out: packets that are pulled by more than [`MOST_HEAD`] bytes at a time, which trap, and
//! packets shorter than an Ethernet header, which the kernel does not cut packets to.

use super::super::World;
use super::super::layout::CLOCK_AT;
use super::super::lir::{Alu, Cond, End, FRAME, Inst, RESULT, Reg, Size, Src};
use super::super::proofs::{Facts, MOST_HEAD};
use super::Select;
use crate::mir::{Op, Value};

/// The kernel's functions, by number.
const NOW: i32 = 5;
pub(super) const ADJUST_HEAD: i32 = 44;
const ADJUST_TAIL: i32 = 65;
const NANOS: i32 = 1_000_000_000;

/// What is in the frame.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Frame {
    /// Bytes of info memory, a multiple of eight.
    pub info: u32,
    /// Whether packets are pulled or pushed.
    pub moves: bool,
    /// Whether somebody asks for the time.
    pub times: bool,
}

impl Frame {
    /// All of its bytes.
    pub fn size(self) -> u32 {
        self.info + if self.moves || self.times { 24 } else { 0 }
    }

    pub fn info_at(self) -> i32 {
        -self.info.cast_signed()
    }

    pub fn head_at(self) -> i16 {
        (self.info_at() - 8) as i16
    }

    pub fn origin_at(self) -> i16 {
        (self.info_at() - 16) as i16
    }

    pub fn time_at(self) -> i16 {
        (self.info_at() - 24) as i16
    }
}

impl Select<'_> {
    /// The end of the frame with info memory.
    pub fn info_frame(&self) -> Reg {
        if self.unit.called { self.frame } else { FRAME }
    }

    /// What a packet begins with.
    pub fn begin_frame(&mut self) {
        self.clear_info();
        let frame = self.unit.frame;
        if frame.moves {
            for offset in [frame.head_at(), frame.origin_at()] {
                self.emit(Inst::Store { base: FRAME, offset, size: Size::B8, src: Src::Imm(0) });
            }
        }
        if frame.times {
            let time = self.clock();
            self.emit(Inst::Store { base: FRAME, offset: frame.time_at(), size: Size::B8, src: Src::Reg(time) });
        }
    }

    fn clock(&mut self) -> Reg {
        let base = self.state_at(CLOCK_AT);
        let offset = self.code.register();
        self.emit(Inst::Load { dst: offset, base, offset: 0, size: Size::B8 });
        if self.unit.world == World::Map {
            return offset;
        }
        self.emit(Inst::Call { function: NOW, args: 0 });
        let now = self.copy(RESULT);
        self.alu(Alu::Add, true, now, Src::Reg(offset));
        now
    }

    /// Finds the packet's ends, at the beginning and when they have changed; nothing is known of
    /// what is between them.
    pub fn find_packet(&mut self) {
        let (data, end, context) = (self.data, self.end, self.context);
        self.emit(Inst::Load { dst: data, base: context, offset: 0, size: Size::B4 });
        self.emit(Inst::Load { dst: end, base: context, offset: 4, size: Size::B4 });
        if self.unit.frame.moves {
            let head = self.slot(self.unit.frame.head_at());
            let head = self.at_most(head, MOST_HEAD);
            self.alu(Alu::Add, true, data, Src::Reg(head));
        }
        self.facts = Facts { some: std::mem::take(&mut self.facts.some), ..Facts::default() };
    }

    pub fn slot(&mut self, offset: i16) -> Reg {
        let (base, dst) = (self.info_frame(), self.code.register());
        self.emit(Inst::Load { dst, base, offset, size: Size::B8 });
        dst
    }

    fn set_slot(&mut self, offset: i16, src: Src) {
        let base = self.info_frame();
        self.emit(Inst::Store { base, offset, size: Size::B8, src });
    }

    fn packet_length(&mut self) -> Reg {
        let (end, data) = (self.end, self.data);
        self.made(Alu::Sub, true, end, Src::Reg(data))
    }

    /// Traps if the condition holds.
    pub fn trap_if(&mut self, cond: Cond, a: Reg, b: Src) {
        let (trap, next) = (self.trap(), self.code.block());
        self.branch(cond, true, a, b, trap, next);
        self.at = next;
    }

    pub fn moved(&mut self) -> Reg {
        if !self.unit.frame.moves {
            return self.constant(0);
        }
        let (head, origin) = (self.slot(self.unit.frame.head_at()), self.slot(self.unit.frame.origin_at()));
        let moved = self.made(Alu::Sub, true, head, Src::Reg(origin));
        self.cut(moved, 32);
        moved
    }

    pub fn pull(&mut self, n: Value) {
        let n = self.reg(n);
        let n = self.at_most(n, MOST_HEAD);
        let length = self.packet_length();
        self.trap_if(Cond::Gt, n, Src::Reg(length));
        let head = self.slot(self.unit.frame.head_at());
        self.alu(Alu::Add, true, head, Src::Reg(n));
        self.set_slot(self.unit.frame.head_at(), Src::Reg(head));
        self.find_packet();
    }

    pub fn unpull(&mut self, n: Value) {
        let n = self.reg(n);
        let head = self.slot(self.unit.frame.head_at());
        self.trap_if(Cond::Gt, n, Src::Reg(head));
        self.alu(Alu::Sub, true, head, Src::Reg(n));
        self.set_slot(self.unit.frame.head_at(), Src::Reg(head));
        self.find_packet();
    }

    /// Bytes that were pulled are taken first, others asked for. All are zeros.
    pub fn push(&mut self, value: Value) {
        let frame = self.unit.frame;
        let n = self.reg(value);
        let n = self.at_most(n, MOST_HEAD);
        let head = self.slot(frame.head_at());
        let (enough, more, join) = (self.code.block(), self.code.block(), self.code.block());
        self.branch(Cond::Ge, true, head, Src::Reg(n), enough, more);
        self.at = enough;
        let rest = self.made(Alu::Sub, true, head, Src::Reg(n));
        self.set_slot(frame.head_at(), Src::Reg(rest));
        self.ends(End::Jump(join));
        self.at = more;
        let less = self.made(Alu::Sub, true, head, Src::Reg(n));
        let origin = self.slot(frame.origin_at());
        self.alu(Alu::Sub, true, origin, Src::Reg(less));
        self.adjust(ADJUST_HEAD, less);
        self.set_slot(frame.origin_at(), Src::Reg(origin));
        self.set_slot(frame.head_at(), Src::Imm(0));
        self.ends(End::Jump(join));
        self.at = join;
        self.find_packet();
        self.clear_head(value, n);
    }

    /// Calls what moves an end of the packet; traps if it does not.
    fn adjust(&mut self, function: i32, by: Reg) {
        self.copy_to(Reg(1), self.context);
        self.copy_to(Reg(2), by);
        self.emit(Inst::Call { function, args: 2 });
        self.trap_if(Cond::Ne, RESULT, Src::Imm(0));
    }

    /// Clears the bytes pushed.
    fn clear_head(&mut self, value: Value, n: Reg) {
        let data = self.data;
        let Some(count) = self.small(value) else { return self.fill(n) };
        let Some(bytes) = u32::try_from(count).ok().filter(|count| *count <= MOST_HEAD) else { return };
        self.prove_at(data, bytes);
        for (size, offset) in super::memory::spread(bytes) {
            self.emit(Inst::Store { base: data, offset: offset as i16, size, src: Src::Imm(0) });
        }
    }

    pub fn trim(&mut self, n: Value) {
        let (n, length) = (self.reg(n), self.packet_length());
        self.trap_if(Cond::Gt, n, Src::Reg(length));
        let by = self.constant(0);
        self.alu(Alu::Sub, true, by, Src::Reg(n));
        self.adjust(ADJUST_TAIL, by);
        self.find_packet();
    }

    pub fn grow(&mut self, n: Value) {
        let n = self.reg(n);
        let n = self.at_most(n, 0xffff);
        self.adjust(ADJUST_TAIL, n);
        self.find_packet();
    }

    pub fn inside_packet(&mut self, at: Value, len: Value) {
        let (at, len) = (self.reg(at), self.reg(len));
        let last = self.made(Alu::Add, true, at, Src::Reg(len));
        let length = self.packet_length();
        self.trap_if(Cond::Gt, last, Src::Reg(length));
    }

    pub fn set_time(&mut self, time: Value) {
        let time = self.reg(time);
        self.set_slot(self.unit.frame.time_at(), Src::Reg(time));
    }

    pub fn time_now(&mut self) -> Reg {
        self.slot(self.unit.frame.time_at())
    }

    pub fn time(&mut self, op: &Op) -> Reg {
        let time = self.time_now();
        match op {
            Op::TimeSeconds => {
                self.alu(Alu::Div, true, time, Src::Imm(NANOS));
                self.cut(time, 32);
            }
            Op::TimeMicros => {
                self.alu(Alu::Mod, true, time, Src::Imm(NANOS));
                self.alu(Alu::Div, true, time, Src::Imm(1000));
            }
            _ => {}
        }
        time
    }

    /// The kernel is told where the packet begins.
    pub fn settle(&mut self) {
        if !self.unit.frame.moves {
            return;
        }
        let head = self.slot(self.unit.frame.head_at());
        let (some, join) = (self.code.block(), self.code.block());
        self.branch(Cond::Ne, true, head, Src::Imm(0), some, join);
        self.at = some;
        self.adjust(ADJUST_HEAD, head);
        self.ends(End::Jump(join));
        self.at = join;
    }
}
