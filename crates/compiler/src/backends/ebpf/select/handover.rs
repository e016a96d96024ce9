//! Packets that a process goes on with: a header before the packet, and the socket of their queue.
//!
//! ```text
//! 0  node, u32   4  port, u32   8  bytes pulled that are still there, u32   12  bytes grown at the head, u32   16  time, u64, 0 if nobody asks for it   24  info memory │ the kernel's buffer
//! ```
//!
//! Numbers are little-endian, as in maps. Source: the kernel's Documentation/networking/af_xdp.rst.

use super::super::lir::{Cond, Inst, Label, Reg, Size, Src};
use super::Select;
use super::frame::ADJUST_HEAD;

/// Bytes of the header before info memory.
pub const HEADER: u32 = 24;
/// The kernel's function that gives a packet to a socket.
const REDIRECT_MAP: i32 = 51;
/// Where the number of the queue is in what the kernel gives a program.
const QUEUE: i16 = 16;
/// What is done with a packet that there is no socket for.
const DROP: u64 = 1;

impl Select<'_> {
    /// Puts the header before the packet; goes to `lost` if there is no room.
    pub fn put_header(&mut self, node: Reg, port: Reg, lost: Label) {
        let frame = self.unit.frame;
        let slot = |s: &mut Self, there: bool, at: i16| if there { s.slot(at) } else { s.constant(0) };
        let [head, origin] = [frame.head_at(), frame.origin_at()].map(|at| slot(self, frame.moves, at));
        let time = slot(self, frame.times, frame.time_at());
        let size = HEADER + frame.info;
        let by = self.constant((-i64::from(size)).cast_unsigned());
        let moved = self.moves_head(by);
        let (there, fits) = (self.code.block(), self.code.block());
        self.branch(Cond::Eq, true, moved, Src::Imm(0), there, lost);
        self.at = there;
        let (data, end, context) = (self.data, self.end, self.context);
        self.emit(Inst::Load { dst: data, base: context, offset: 0, size: Size::B4 });
        self.emit(Inst::Load { dst: end, base: context, offset: 4, size: Size::B4 });
        self.until(data, size, Cond::Gt, lost, fits);
        self.at = fits;
        for (offset, size, src) in
            [(0, Size::B4, node), (4, Size::B4, port), (8, Size::B4, head), (12, Size::B4, origin), (16, Size::B8, time)]
        {
            self.emit(Inst::Store { base: data, offset, size, src: Src::Reg(src) });
        }
        for at in 0..frame.info / 8 {
            let word = self.slot((frame.info_at() + 8 * at.cast_signed()) as i16);
            self.emit(Inst::Store { base: data, offset: (HEADER + 8 * at) as i16, size: Size::B8, src: Src::Reg(word) });
        }
    }

    fn moves_head(&mut self, by: Reg) -> Reg {
        self.copy_to(Reg(1), self.context);
        self.copy_to(Reg(2), by);
        self.emit(Inst::Call { function: ADJUST_HEAD, args: 2 });
        self.copy(super::RESULT)
    }

    /// Gives the packet to the socket of its queue, of those that begin with number `first`.
    pub fn redirect_to_socket(&mut self, sockets: u32, first: Reg) {
        let queue = self.code.register();
        self.emit(Inst::Load { dst: queue, base: self.context, offset: QUEUE, size: Size::B4 });
        self.alu(super::Alu::Add, true, queue, Src::Reg(first));
        self.emit(Inst::Map { dst: Reg(1), map: sockets });
        self.copy_to(Reg(2), queue);
        self.set(Reg(3), DROP);
        self.emit(Inst::Call { function: REDIRECT_MAP, args: 3 });
    }
}
