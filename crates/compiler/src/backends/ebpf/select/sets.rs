//! Whether a value is in a set, in the form that [`crate::sets`] chooses; tables lie in the map of
//! constants.

use super::super::Refused;
use super::super::lir::{Alu, Cond, End, Inst, Label, Reg, Size, Src};
use super::Select;
use crate::mir::Value;
use crate::sets::{Hash, MembershipTest, Search};
use netil::set::{Range, Set};

/// The most ranges of wide values: each takes some instructions.
const MOST_WIDE: usize = 1 << 11;

impl Select<'_> {
    /// Ends the block: to `yes` if the set holds the value.
    pub fn member(&mut self, set: u32, v: Value, yes: Label, no: Label) -> Result<(), Refused> {
        let module = self.program.module();
        let set = self.func.set(module, set);
        let Some(plan) = MembershipTest::choose(set) else { return self.member_wide(set, v, yes, no) };
        let (v, wide) = (self.reg(v), set.width() > 32);
        match &plan {
            MembershipTest::Compare(ranges) => {
                let ranges: Vec<(u64, u64, Label)> = ranges.iter().map(|(low, high)| (*low, *high, yes)).collect();
                self.search(v, wide, &ranges, no);
            }
            MembershipTest::Bits { low, mask } => {
                let at = self.less(v, wide, *low);
                self.inside(at, wide, 64, no);
                let mask = self.constant(*mask);
                self.alu(Alu::Rsh, true, mask, Src::Reg(at));
                self.branch(Cond::Set, true, mask, Src::Imm(1), yes, no);
            }
            MembershipTest::Bitmap { low, span, words } => {
                let at = self.less(v, wide, *low);
                let at = self.kept(at);
                self.inside(at, wide, *span, no);
                let word = self.made(Alu::Rsh, true, at, Src::Imm(6));
                let word = self.entry_of(words, true, word);
                self.alu(Alu::Rsh, true, word, Src::Reg(at));
                self.branch(Cond::Set, true, word, Src::Imm(1), yes, no);
            }
            MembershipTest::Hash(hash) => self.hashed(hash, v, wide, yes, no),
            MembershipTest::Search(search) => self.searched(search, v, wide, yes, no),
        }
        Ok(())
    }

    /// Goes on if the value is below a bound, which the verifier then knows.
    fn inside(&mut self, v: Reg, wide: bool, below: u64, no: Label) {
        let next = self.code.block();
        let bound = self.immediate(below - 1, wide);
        // A value of 32 bits is one of 64 whose upper half is 0, and bounds of those are followed
        // best.
        let wide = wide || matches!(bound, Src::Imm(0..));
        self.branch(Cond::Gt, wide, v, bound, no, next);
        self.at = next;
    }

    /// Loads a table's entry; the verifier knows that the index is good.
    fn entry_of(&mut self, table: &[u64], wide: bool, index: Reg) -> Reg {
        let bytes: Vec<u8> = match wide {
            true => table.iter().flat_map(|v| v.to_le_bytes()).collect(),
            false => table.iter().flat_map(|v| (*v as u32).to_le_bytes()).collect(),
        };
        let offset = self.maps.constant(bytes);
        let at = self.code.register();
        let map = self.maps.constants();
        self.emit(Inst::Address { dst: at, map, offset });
        let scaled = self.made(Alu::Lsh, true, index, Src::Imm(if wide { 3 } else { 2 }));
        self.alu(Alu::Add, true, at, Src::Reg(scaled));
        let entry = self.code.register();
        self.emit(Inst::Load { dst: entry, base: at, offset: 0, size: if wide { Size::B8 } else { Size::B4 } });
        entry
    }

    /// The high bits of a product.
    fn scaled(&mut self, hash: &Hash, v: Reg, shift: u32) -> Reg {
        if shift >= hash.bits {
            return self.constant(0);
        }
        let wide = hash.bits == 64;
        let by = self.immediate(hash.multiplier, wide);
        let product = self.made(Alu::Mul, wide, v, by);
        self.alu(Alu::Rsh, wide, product, Src::Imm(shift.cast_signed()));
        product
    }

    fn hashed(&mut self, hash: &Hash, v: Reg, wide: bool, yes: Label, no: Label) {
        let words = hash.bits == 64;
        let mut mixed = v;
        if !hash.displace.is_empty() {
            let bucket = self.scaled(hash, v, hash.bucket_shift);
            let displacement = self.entry_of(&hash.displace, words, bucket);
            mixed = self.made(Alu::Xor, words, v, Src::Reg(displacement));
        }
        let slot = self.scaled(hash, mixed, hash.slot_shift);
        let key = self.entry_of(&hash.keys, words, slot);
        self.branch(Cond::Eq, wide, key, Src::Reg(v), yes, no);
    }

    /// The index says where to begin; that its entries are good, the verifier is told.
    fn searched(&mut self, search: &Search, v: Reg, wide: bool, yes: Label, no: Label) {
        let bucket = match search.shift {
            64.. => self.constant(0),
            32.. if !wide => self.constant(0),
            shift => self.made(Alu::Rsh, true, v, Src::Imm(shift.cast_signed())),
        };
        let bucket = self.kept(bucket);
        let (most, far) = (search.index.iter().copied().max().unwrap_or(0), search.steps().sum::<usize>() as u64);
        self.inside(bucket, true, search.index.len() as u64, no);
        let at = self.entry_of(&search.index, false, bucket);
        let at = self.kept(at);
        self.inside(at, true, most + 1, no);
        let room = (most + far + 1) as usize;
        let padded = |ends: &[u64]| {
            let mut ends = ends.to_vec();
            let last = ends.last().copied().unwrap_or(0);
            ends.resize(room.max(ends.len()), last);
            ends
        };
        let (lows, highs) = (padded(&search.lows), padded(&search.highs));
        for step in search.steps() {
            let further = self.made(Alu::Add, true, at, Src::Imm(step as i32));
            let low = self.entry_of(&lows, wide, further);
            let on = self.not_below(v, low, wide);
            self.alu(Alu::And, true, on, Src::Imm(step as i32));
            self.alu(Alu::Add, true, at, Src::Reg(on));
        }
        let (low, above) = (self.entry_of(&lows, wide, at), self.code.block());
        self.branch(Cond::Le, wide, low, Src::Reg(v), above, no);
        self.at = above;
        let high = self.entry_of(&highs, wide, at);
        self.branch(Cond::Le, wide, v, Src::Reg(high), yes, no);
    }

    /// All ones if `v >= low`, else 0; without a branch, or the verifier would follow each way
    /// through the search.
    fn not_below(&mut self, v: Reg, low: Reg, wide: bool) -> Reg {
        let difference = self.made(Alu::Sub, true, v, Src::Reg(low));
        let borrow = if wide {
            // ¬v ∧ low ∨ (¬v ∨ low) ∧ (v − low)
            let not = self.made(Alu::Xor, true, v, Src::Imm(-1));
            let either = self.made(Alu::Or, true, not, Src::Reg(low));
            self.alu(Alu::And, true, not, Src::Reg(low));
            self.alu(Alu::And, true, either, Src::Reg(difference));
            self.alu(Alu::Or, true, not, Src::Reg(either));
            not
        } else {
            difference
        };
        self.alu(Alu::Arsh, true, borrow, Src::Imm(63));
        self.alu(Alu::Xor, true, borrow, Src::Imm(-1));
        borrow
    }

    fn member_wide(&mut self, set: &Set, v: Value, yes: Label, no: Label) -> Result<(), Refused> {
        if set.ranges().len() > MOST_WIDE {
            let reason =
                format!("a set of {} ranges of {} bits; {MOST_WIDE} are the most of more than 64 bits", set.ranges().len(), set.width());
            return Err(Refused::whole(reason));
        }
        let limbs = self.limbs(v);
        self.search_wide(&limbs, set.ranges(), yes, no);
        Ok(())
    }

    fn search_wide(&mut self, v: &[Reg], ranges: &[Range], yes: Label, no: Label) {
        match ranges {
            [] => self.ends(End::Jump(no)),
            [range] => {
                let above = self.code.block();
                if range.low != range.high {
                    self.at_least(v, &range.low, above, no);
                    self.at = above;
                    return self.at_least_negated(v, &range.high, yes, no);
                }
                for (i, limb) in v.iter().enumerate() {
                    let next = if i + 1 == v.len() { yes } else { self.code.block() };
                    let c = self.immediate(range.low[i], true);
                    self.branch(Cond::Eq, true, *limb, c, next, no);
                    self.at = next;
                }
            }
            _ => {
                let (left, right) = ranges.split_at(ranges.len() / 2);
                let (above, below) = (self.code.block(), self.code.block());
                self.at_least(v, &right[0].low, above, below);
                self.at = above;
                self.search_wide(v, right, yes, no);
                self.at = below;
                self.search_wide(v, left, yes, no);
            }
        }
    }

    /// `v >= c`, from the highest limb on.
    fn at_least(&mut self, v: &[Reg], c: &[u64], yes: Label, no: Label) {
        self.ordered(v, c, Cond::Gt, yes, no);
    }

    /// `v <= c`
    fn at_least_negated(&mut self, v: &[Reg], c: &[u64], yes: Label, no: Label) {
        self.ordered(v, c, Cond::Lt, yes, no);
    }

    /// Equal, or the first limb that differs fulfils the condition.
    fn ordered(&mut self, v: &[Reg], c: &[u64], cond: Cond, yes: Label, no: Label) {
        for i in (0..v.len()).rev() {
            let (differs, next) = (self.code.block(), if i == 0 { yes } else { self.code.block() });
            let limb = self.immediate(c[i], true);
            self.branch(Cond::Eq, true, v[i], limb, next, differs);
            self.at = differs;
            self.branch(cond, true, v[i], limb, yes, no);
            self.at = next;
        }
    }
}
