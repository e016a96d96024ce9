//! Set tests, in the form that [`compiler::sets`] has chosen.

use super::{Lower, constant};
use crate::{JitError, frame};
use compiler::mir;
use compiler::sets::MembershipTest;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use std::rc::Rc;

/// A plan whose tables are registered, by their numbers: made once a set, however often it is
/// tested.
pub(super) enum Test {
    Never,
    Compare(Vec<(u64, u64)>),
    Bits { low: u64, mask: u64 },
    Bitmap { low: u64, span: u64, mask: u64, words: usize },
    Hash { bits: u32, multiplier: u64, displace: Option<(u32, usize)>, slot_shift: u32, keys: usize },
    Search { shift: u32, steps: Vec<usize>, index: usize, lows: usize, highs: usize },
}

impl Lower<'_> {
    /// An i8: the set holds the value, of at most 64 bits.
    pub(super) fn set_has(&mut self, set: u32, v: mir::Value) -> Result<ir::Value, JitError> {
        let narrow = self.func.width(v) <= 32;
        let v = self.reg(v);
        let v = self.resize(v, types::I64);
        let small = if narrow { self.resize(v, types::I32) } else { v };
        let test = self.test(set);
        Ok(match *test {
            Test::Never => self.iconst(types::I8, 0),
            Test::Compare(ref ranges) => self.compare(small, ranges),
            Test::Bits { low, mask } => {
                let (i, mask) = (self.above(small, low), self.iconst(types::I64, mask));
                let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, i, 64);
                let bit = self.b.ins().ushr(mask, i);
                self.bit_and(bit, inside)
            }
            Test::Bitmap { low, span, mask, words } => self.bitmap(small, low, (span, mask), words),
            Test::Hash { bits, multiplier, displace, slot_shift, keys } => {
                let v = if bits == 32 { self.resize(v, types::I32) } else { v };
                self.hash(v, multiplier, displace, slot_shift, keys)
            }
            Test::Search { shift, ref steps, index, lows, highs } => self.search(v, shift, steps, [index, lows, highs]),
        })
    }

    fn test(&mut self, set: u32) -> Rc<Test> {
        if let Some(known) = self.tests.get(&set) {
            return Rc::clone(known);
        }
        let test = Rc::new(match MembershipTest::choose(self.func.set(self.module, set)) {
            None => Test::Never,
            Some(MembershipTest::Compare(ranges)) => Test::Compare(ranges),
            Some(MembershipTest::Bits { low, mask }) => Test::Bits { low, mask },
            Some(MembershipTest::Bitmap { low, span, mut words }) => {
                // So that a mask keeps every index inside.
                words.resize(words.len().next_power_of_two(), 0);
                let mask = words.len() as u64 - 1;
                Test::Bitmap { low, span, mask, words: self.table(words) }
            }
            Some(MembershipTest::Hash(h)) => {
                let displace = (!h.displace.is_empty()).then(|| (h.bucket_shift, self.table(h.displace)));
                Test::Hash { bits: h.bits, multiplier: h.multiplier, displace, slot_shift: h.slot_shift, keys: self.table(h.keys) }
            }
            Some(MembershipTest::Search(s)) => {
                let steps = s.steps().collect();
                Test::Search { shift: s.shift, steps, index: self.table(s.index), lows: self.table(s.lows), highs: self.table(s.highs) }
            }
        });
        self.tests.insert(set, Rc::clone(&test));
        test
    }

    /// Registers a table; gives its number.
    pub(super) fn table(&mut self, words: Vec<u64>) -> usize {
        self.tables.push(words);
        self.tables.len() - 1
    }

    fn above(&mut self, v: ir::Value, low: u64) -> ir::Value {
        if low == 0 {
            return v;
        }
        let low = self.iconst(self.b.func.dfg.value_type(v), low);
        self.b.ins().isub(v, low)
    }

    /// The lowest bit of an i64, and a condition.
    fn bit_and(&mut self, bit: ir::Value, condition: ir::Value) -> ir::Value {
        let bit = self.b.ins().ireduce(types::I8, bit);
        self.b.ins().band(bit, condition)
    }

    fn compare(&mut self, v: ir::Value, ranges: &[(u64, u64)]) -> ir::Value {
        let (ty, mut any) = (self.b.func.dfg.value_type(v), None);
        for (low, high) in ranges {
            let held = if low == high {
                let low = self.iconst(ty, *low);
                self.b.ins().icmp(IntCC::Equal, v, low)
            } else {
                let (i, most) = (self.above(v, *low), self.iconst(ty, high - low));
                self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, i, most)
            };
            any = Some(any.map_or(held, |a| self.b.ins().bor(a, held)));
        }
        any.unwrap_or_else(|| self.iconst(types::I8, 0))
    }

    fn bitmap(&mut self, v: ir::Value, low: u64, (span, mask): (u64, u64), words: usize) -> ir::Value {
        let i = self.above(v, low);
        let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, i, span as i64);
        let bit = self.bit_of(i, mask, words);
        self.bit_and(bit, inside)
    }

    fn bit_of(&mut self, i: ir::Value, mask: u64, words: usize) -> ir::Value {
        let word = self.b.ins().ushr_imm_u(i, 6);
        let word = self.b.ins().band_imm_u(word, mask as i64);
        let word = self.entry(words, word);
        self.b.ins().ushr(word, i)
    }

    /// For a branch on a bitmap's test: goes to `no` with values beyond its span, which most are,
    /// and gives the bit of others.
    pub(super) fn within(&mut self, condition: mir::Value, no: ir::Block, args: &[ir::BlockArg]) -> Option<ir::Value> {
        let Some(mir::Op::SetHas(set, v)) = self.func.op(condition) else { return None };
        let (set, v) = (*set, *v);
        let ty = match self.func.width(v) {
            0..=32 => types::I32,
            33..=64 => types::I64,
            _ => return None,
        };
        let Test::Bitmap { low, span, mask, words } = *self.test(set) else { return None };
        let v = self.reg(v);
        let v = self.resize(v, ty);
        let i = self.above(v, low);
        let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, i, span as i64);
        let between = self.b.create_block();
        self.b.ins().brif(inside, between, &[], no, args);
        self.b.switch_to_block(between);
        let bit = self.bit_of(i, mask, words);
        Some(self.b.ins().band_imm_u(bit, 1))
    }

    /// An entry of the table with that number.
    pub(super) fn entry(&mut self, table: usize, index: ir::Value) -> ir::Value {
        let index = self.resize(index, types::I64);
        let tables = self.field(frame::TABLES, types::I64, constant());
        let table = self.b.ins().load(types::I64, constant(), tables, 8 * table as i32);
        let at = self.b.ins().ishl_imm_u(index, 3);
        let at = self.b.ins().iadd(table, at);
        self.b.ins().load(types::I64, constant(), at, 0)
    }

    /// In the arithmetic of the value's register.
    fn hash(&mut self, v: ir::Value, multiplier: u64, displace: Option<(u32, usize)>, slot_shift: u32, keys: usize) -> ir::Value {
        let ty = self.b.func.dfg.value_type(v);
        let multiplier = self.iconst(ty, multiplier);
        let mut key = v;
        if let Some((bucket_shift, displace)) = displace {
            let product = self.b.ins().imul(v, multiplier);
            let bucket = self.b.ins().ushr_imm_u(product, i64::from(bucket_shift));
            let displacement = self.entry(displace, bucket);
            let displacement = self.resize(displacement, ty);
            key = self.b.ins().bxor(v, displacement);
        }
        let product = self.b.ins().imul(key, multiplier);
        let slot = self.b.ins().ushr_imm_u(product, i64::from(slot_shift));
        let there = self.entry(keys, slot);
        let there = self.resize(there, ty);
        self.b.ins().icmp(IntCC::Equal, there, v)
    }

    /// Halves the range without a branch.
    fn search(&mut self, v: ir::Value, shift: u32, steps: &[usize], [index, lows, highs]: [usize; 3]) -> ir::Value {
        let bucket = self.b.ins().ushr_imm_u(v, i64::from(shift));
        let mut at = self.entry(index, bucket);
        for step in steps {
            let further = self.b.ins().iadd_imm_s(at, *step as i64);
            let low = self.entry(lows, further);
            let reached = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, low, v);
            at = self.b.ins().select(reached, further, at);
        }
        let (low, high) = (self.entry(lows, at), self.entry(highs, at));
        let above = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, low, v);
        let below = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, v, high);
        self.b.ins().band(above, below)
    }
}
