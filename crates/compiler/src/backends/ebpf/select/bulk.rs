//! Hashes, sums over ranges of the packet, and ranges cleared: in one stretch where the length is
//! known, in a loop otherwise.
//!
//! Source: RFC 1071: sums of 16-bit words may be taken in either byte order, and of wider words if
//! they are folded.

use super::super::lir::{Alu, Cond, End, Inst, Reg, Size, Src};
use super::super::proofs::MOST_OFFSET;
use super::Select;
use crate::mir::Value;

/// Bytes of which no loop is made.
const MOST_STRAIGHT: u64 = 64;
/// Bytes that cost one of the budget.
const PIECE: i32 = 256;

impl Select<'_> {
    /// The Internet checksum of a range, or whether it is right.
    pub fn sum_of(&mut self, at: Value, len: Value, valid: bool) -> Reg {
        let sum = match self.small(len) {
            Some(bytes) if bytes <= MOST_STRAIGHT => self.sum_straight(at, bytes as u32),
            _ => self.sum_in_loop(at, len),
        };
        let sum = self.folded(sum);
        if !valid {
            self.alu(Alu::Xor, false, sum, Src::Imm(0xffff));
            return sum;
        }
        let (dst, no, join) = (self.constant(1), self.code.block(), self.code.block());
        self.branch(Cond::Eq, true, sum, Src::Imm(0xffff), join, no);
        self.at = no;
        self.set(dst, 0);
        self.ends(End::Jump(join));
        self.at = join;
        dst
    }

    fn sum_straight(&mut self, at: Value, bytes: u32) -> Reg {
        self.charge(Src::Imm(bytes.cast_signed()));
        let sum = self.constant(0);
        let (base, offset) = self.prove((at, 0), bytes);
        for (size, from) in super::memory::spread(bytes) {
            self.add_word(sum, base, offset + from, size);
        }
        sum
    }

    /// Adds a word of at most four bytes, or the halves of one of eight.
    fn add_word(&mut self, sum: Reg, base: Reg, offset: u32, size: Size) {
        let halves = if size == Size::B8 { vec![(offset, Size::B4), (offset + 4, Size::B4)] } else { vec![(offset, size)] };
        for (offset, size) in halves {
            let word = self.code.register();
            self.emit(Inst::Load { dst: word, base, offset: offset as i16, size });
            self.alu(Alu::Add, true, sum, Src::Reg(word));
        }
    }

    /// Pays for bytes.
    fn charge(&mut self, bytes: Src) {
        let Some(budget) = self.budget else { return };
        let price = match bytes {
            Src::Imm(bytes) => Src::Imm((bytes + PIECE - 1) / PIECE),
            Src::Reg(bytes) => {
                let price = self.made(Alu::Add, true, bytes, Src::Imm(PIECE - 1));
                self.alu(Alu::Rsh, true, price, Src::Imm(8));
                Src::Reg(price)
            }
        };
        self.trap_if(Cond::Lt, budget, price);
        self.alu(Alu::Sub, true, budget, price);
    }

    fn sum_in_loop(&mut self, at: Value, len: Value) -> Reg {
        self.inside_packet(at, len);
        let (at, len) = (self.reg(at), self.reg(len));
        self.charge(Src::Reg(len));
        let (sum, done) = (self.constant(0), self.constant(0));
        self.each_word(at, len, done, |s, base, size| s.add_word(sum, base, 0, size));
        sum
    }

    /// Goes over a range of the packet: four bytes at a time in a loop, then two and one. Before
    /// it, `inside` has passed.
    fn each_word(&mut self, at: Reg, len: Reg, done: Reg, mut f: impl FnMut(&mut Self, Reg, Size)) {
        let (head, body, after) = (self.code.block(), self.code.block(), self.code.block());
        self.ends(End::Jump(head));
        self.at = head;
        let left = self.made(Alu::Sub, true, len, Src::Reg(done));
        self.branch(Cond::Gt, true, left, Src::Imm(3), body, after);
        self.at = body;
        let base = self.in_packet(at, done, 4);
        f(self, base, Size::B4);
        self.alu(Alu::Add, true, done, Src::Imm(4));
        let out = self.trap();
        self.ends(End::Again { again: head, out });
        self.at = after;
        for (bytes, size) in [(2, Size::B2), (1, Size::B1)] {
            let (one, join) = (self.code.block(), self.code.block());
            self.branch(Cond::Set, true, len, Src::Imm(bytes as i32), one, join);
            self.at = one;
            let base = self.in_packet(at, done, bytes);
            f(self, base, size);
            self.alu(Alu::Add, true, done, Src::Imm(bytes as i32));
            self.ends(End::Jump(join));
            self.at = join;
        }
    }

    /// The address of so many bytes of the packet, as the verifier wants to see that they are
    /// there.
    fn in_packet(&mut self, at: Reg, more: Reg, bytes: u32) -> Reg {
        let offset = self.made(Alu::Add, true, at, Src::Reg(more));
        let offset = self.at_most(offset, MOST_OFFSET);
        let base = self.made(Alu::Add, true, self.data, Src::Reg(offset));
        let (trap, next) = (self.trap(), self.code.block());
        self.until(base, bytes, Cond::Gt, trap, next);
        self.at = next;
        base
    }

    /// Sums of words become one of 16 bits, as the network sees it.
    fn folded(&mut self, sum: Reg) -> Reg {
        let sum = self.copy(sum);
        for (bits, low) in [(32, None), (16, Some(0xffff)), (16, Some(0xffff)), (16, Some(0xffff))] {
            let high = self.made(Alu::Rsh, true, sum, Src::Imm(bits));
            match low {
                Some(mask) => self.alu(Alu::And, true, sum, Src::Imm(mask)),
                None => self.cut(sum, 32),
            }
            self.alu(Alu::Add, true, sum, Src::Reg(high));
        }
        self.emit(Inst::Swap { dst: sum, bits: 16 });
        sum
    }

    /// MurmurHash3 of words of 32 bits.
    pub fn hash(&mut self, words: &[Value]) -> Reg {
        let h = self.constant(0);
        for word in words {
            let word = self.reg(*word);
            let k = self.copy(word);
            self.multiplied(k, 0xcc9e_2d51);
            self.turned(k, 15);
            self.multiplied(k, 0x1b87_3593);
            self.alu(Alu::Xor, false, h, Src::Reg(k));
            self.turned(h, 13);
            self.multiplied(h, 5);
            self.alu(Alu::Add, false, h, Src::Imm(0xe654_6b64_u32.cast_signed()));
        }
        self.alu(Alu::Xor, false, h, Src::Imm(4 * words.len() as i32));
        for (by, factor) in [(16, 0x85eb_ca6b), (13, 0xc2b2_ae35)] {
            self.mixed(h, by);
            self.multiplied(h, factor);
        }
        self.mixed(h, 16);
        h
    }

    /// `r *= factor`, in 32 bits.
    fn multiplied(&mut self, r: Reg, factor: u32) {
        self.alu(Alu::Mul, false, r, Src::Imm(factor.cast_signed()));
    }

    /// `r ^= r >> by`, in 32 bits.
    fn mixed(&mut self, r: Reg, by: i32) {
        let high = self.made(Alu::Rsh, false, r, Src::Imm(by));
        self.alu(Alu::Xor, false, r, Src::Reg(high));
    }

    /// Turns 32 bits to the left.
    fn turned(&mut self, r: Reg, by: i32) {
        let low = self.made(Alu::Rsh, false, r, Src::Imm(32 - by));
        self.alu(Alu::Lsh, false, r, Src::Imm(by));
        self.alu(Alu::Or, false, r, Src::Reg(low));
    }

    /// Clears so many bytes from the packet's first on.
    pub fn fill(&mut self, n: Reg) {
        let (at, done) = (self.constant(0), self.constant(0));
        self.each_word(at, n, done, |s, base, size| s.emit(Inst::Store { base, offset: 0, size, src: Src::Imm(0) }));
    }
}
