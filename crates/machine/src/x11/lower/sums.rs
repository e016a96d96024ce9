//! Internet checksums (RFC 1071, RFC 1624): one's complement sums of words in the arithmetic unit,
//! which adds the carry of an addition in the next one, and the last one in two more.
//!
//! The range begins at a constant place, and is of constant length, or of one that is even and
//! known to be no more than [`MOST`]: an IPv4 header's. Then each word, or pair of words where the
//! length is a multiple of four, is moved into registers of zeros if the range has it. Leaves out
//! CRCs.

use super::{Bit, Lower, Op, Val};
use crate::x11::Refused;
use crate::x11::code::{AluOp, If, Move, MoveOperand, Src};
use compiler::mir::{Helper, Value};
use netil::exec::TrapKind;
use netil::table::Space;

/// The most bytes of a range.
const MOST: u32 = 128;
const ZERO: Src = Src::Imm(0);

impl Lower<'_> {
    /// The checksum of a range, or whether it is right.
    pub(super) fn checksum(&mut self, helper: Helper, offset: Value, length: Value) -> Result<Val, Refused> {
        let words = self.summed(offset, length)?;
        let sum = self.ones_sum(&words);
        Ok(match helper {
            Helper::ChecksumValid => Val::Bit(self.equal(&[sum], &[Src::Imm(0xffff)])),
            _ => Val::Words(vec![self.complement(sum), ZERO]),
        })
    }

    /// The checksum of data to which a word is added, or from which one is taken.
    pub(super) fn updated(&mut self, helper: Helper, checksum: Value, value: Value) -> Val {
        let low = |words: Vec<Src>| words.first().copied().unwrap_or(ZERO);
        let (checksum, mut value) = (low(self.words_of(checksum)), low(self.words_of(value)));
        if helper == Helper::ChecksumSub {
            value = self.complement(value);
        }
        let before = self.complement(checksum);
        let sum = self.ones_sum(&[before, value]);
        Val::Words(vec![self.complement(sum), ZERO])
    }

    fn complement(&mut self, word: Src) -> Src {
        match word {
            Src::Imm(word) => Src::Imm(!word),
            Src::Reg(_) => self.alu(AluOp::Xor, word, Src::Imm(0xffff), None, 0xffff, None),
        }
    }

    /// Of two words a carry remains once, of more twice at most.
    fn ones_sum(&mut self, words: &[Src]) -> Src {
        let mut words = words.iter().copied().filter(|word| *word != ZERO);
        let (Some(mut sum), mut carry) = (words.next(), None) else { return ZERO };
        let (mut added, mut finish) = (0, 0);
        while let Some(word) = words.next().or_else(|| {
            finish += 1;
            (finish <= added.min(2)).then_some(ZERO)
        }) {
            let flag = self.flag();
            sum = self.alu(AluOp::Add, sum, word, carry, 0xffff, Some(flag));
            (carry, added) = (Some(flag), added + usize::from(word != ZERO));
        }
        sum
    }

    /// The words of a range, with a test that the packet has it.
    fn summed(&mut self, offset: Value, length: Value) -> Result<Vec<Src>, Refused> {
        let (Some(at), constant) = (self.constant(offset), self.constant(length)) else {
            return self.refuse("a checksum from a computed place on: the pipeline has no loops");
        };
        let len = self.words_of(length);
        let mask = |l: &Self, n: usize| len.get(n).map_or(0, |word| l.mask(*word));
        let most = constant.unwrap_or_else(|| if mask(self, 1) > 0 { u32::MAX } else { mask(self, 0).into() });
        if at > u32::from(u16::MAX) || most > MOST {
            return self.refuse(format!("a checksum over a range that may have more than {MOST} bytes: the pipeline has no loops"));
        }
        if constant.is_none() && most % 2 != 0 {
            return self.refuse("a checksum over a number of bytes that may be odd");
        }
        self.is_inside(at as u16, &len);
        match constant {
            Some(_) => self.all_words(at, most),
            None => self.some_words(at, most, len[0]),
        }
    }

    fn is_inside(&mut self, at: u16, len: &[Src]) {
        let mut len = len.to_vec();
        len.resize(2, ZERO);
        let end = self.sum(&len, &[Src::Imm(at), ZERO], false);
        let packet = self.length(MoveOperand::Len);
        let outside = self.less(&[packet, ZERO], &end, false);
        self.trap_if(outside, TrapKind::OutOfBounds(Space::Packet), self.site.unwrap_or(0), Vec::new());
    }

    fn all_words(&mut self, at: u32, len: u32) -> Result<Vec<Src>, Refused> {
        let mut words = Vec::new();
        for from in (0..len).step_by(4) {
            let bytes = (len - from).min(4);
            let whole = bytes - bytes % 2;
            words.extend(if whole > 0 { self.packet_at(at + from, whole)? } else { Vec::new() });
            if whole < bytes {
                let last = self.packet_at(at + from + whole, 1)?;
                words.push(self.shifted(AluOp::Shl, last[0], 8));
            }
        }
        Ok(words)
    }

    fn some_words(&mut self, at: u32, most: u32, len: Src) -> Result<Vec<Src>, Refused> {
        let step = if most.is_multiple_of(4) { 4 } else { 2 };
        let mut words = Vec::new();
        for from in (0..most).step_by(step) {
            match self.less(&[Src::Imm(from as u16)], &[len], false) {
                Bit::Is(guard) => words.extend(self.guarded(at + from, step as u32, guard)?),
                Bit::Const(true) => words.extend(self.packet_at(at + from, step as u32)?),
                Bit::Const(false) => {}
            }
        }
        Ok(words)
    }

    /// Two or four bytes of the packet if that holds, else zeros.
    fn guarded(&mut self, at: u32, bytes: u32, guard: If) -> Result<Vec<Src>, Refused> {
        let place = self.came_at(at, bytes)?;
        if place % 2 != 0 {
            let words = self.packet_at(at, bytes)?;
            return Ok(words.into_iter().map(|word| self.chosen(guard, word, ZERO)).collect());
        }
        let pinned = self.stored.packet(Some(at.into()..u64::from(at) + u64::from(bytes)));
        let first = self.reg(0xffff);
        let (to, words) = if bytes == 4 {
            let low = self.reg(0xffff);
            self.out.pairs.push(first);
            (MoveOperand::Pair(first), vec![Src::Reg(low), Src::Reg(first)])
        } else {
            (MoveOperand::Reg(first), vec![Src::Reg(first)])
        };
        let zeros = self.push(Op::Move(Move { guard: None, to, from: MoveOperand::Imm(0) }), false);
        let from = MoveOperand::Packet(place as u16, bytes as u8);
        let moved = self.push(Op::Move(Move { guard: Some(guard), to, from }), pinned);
        self.out.steps[moved].after = Some(zeros);
        Ok(words)
    }
}
