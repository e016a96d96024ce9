//! Set tests, in the form that [`compiler::sets`] has chosen.

use super::{Lower, constant};
use crate::JitError;
use compiler::mir;
use compiler::sets::{Hash, Plan};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};

impl Lower<'_> {
    /// An i8: the set holds the value, of at most 64 bits.
    pub(super) fn set_has(&mut self, set: u32, v: mir::Value) -> Result<ir::Value, JitError> {
        let v = self.reg(v);
        let v = self.resize(v, types::I64);
        Ok(match self.plan(set) {
            None => self.iconst(types::I8, 0),
            Some(Plan::Compare(ranges)) => self.compare(v, &ranges),
            Some(Plan::Bits { low, mask }) => {
                let (i, mask) = (self.above(v, low), self.iconst(types::I64, mask));
                let inside = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, i, 64);
                let bit = self.b.ins().ushr(mask, i);
                self.bit_and(bit, inside)
            }
            Some(Plan::Bitmap { low, span, words }) => self.bitmap(v, low, span, words),
            Some(Plan::Hash(hash)) => self.hash(v, &hash),
            Some(Plan::Search { lows, highs }) => self.search(v, lows, highs),
        })
    }

    fn above(&mut self, v: ir::Value, low: u64) -> ir::Value {
        if low == 0 {
            return v;
        }
        let low = self.iconst(types::I64, low);
        self.b.ins().isub(v, low)
    }

    /// The lowest bit of an i64, and a condition.
    fn bit_and(&mut self, bit: ir::Value, condition: ir::Value) -> ir::Value {
        let bit = self.b.ins().ireduce(types::I8, bit);
        self.b.ins().band(bit, condition)
    }

    fn compare(&mut self, v: ir::Value, ranges: &[(u64, u64)]) -> ir::Value {
        let mut any = None;
        for (low, high) in ranges {
            let held = if low == high {
                let low = self.iconst(types::I64, *low);
                self.b.ins().icmp(IntCC::Equal, v, low)
            } else {
                let (i, most) = (self.above(v, *low), self.iconst(types::I64, high - low));
                self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, i, most)
            };
            any = Some(any.map_or(held, |a| self.b.ins().bor(a, held)));
        }
        any.unwrap_or_else(|| self.iconst(types::I8, 0))
    }

    fn bitmap(&mut self, v: ir::Value, low: u64, span: u64, words: Vec<u64>) -> ir::Value {
        let (i, limit) = (self.above(v, low), self.iconst(types::I64, span));
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, i, limit);
        let zero = self.iconst(types::I64, 0);
        let i = self.b.ins().select(inside, i, zero);
        let word = self.b.ins().ushr_imm_u(i, 6);
        let word = self.entry(words, word);
        let bit = self.b.ins().ushr(word, i);
        self.bit_and(bit, inside)
    }

    /// An entry of a table.
    fn entry(&mut self, words: Vec<u64>, index: ir::Value) -> ir::Value {
        let table = self.table(words);
        let at = self.b.ins().ishl_imm_u(index, 3);
        let at = self.b.ins().iadd(table, at);
        self.b.ins().load(types::I64, constant(), at, 0)
    }

    fn hash(&mut self, v: ir::Value, hash: &Hash) -> ir::Value {
        let multiplier = self.iconst(types::I64, hash.multiplier);
        let mut key = v;
        if !hash.displace.is_empty() {
            let product = self.b.ins().imul(v, multiplier);
            let bucket = self.b.ins().ushr_imm_u(product, i64::from(hash.bucket_shift));
            let displacement = self.entry(hash.displace.clone(), bucket);
            key = self.b.ins().bxor(v, displacement);
        }
        let product = self.b.ins().imul(key, multiplier);
        let slot = self.b.ins().ushr_imm_u(product, i64::from(hash.slot_shift));
        let there = self.entry(hash.keys.clone(), slot);
        self.b.ins().icmp(IntCC::Equal, there, v)
    }

    /// Halves the range without a branch.
    fn search(&mut self, v: ir::Value, lows: Vec<u64>, highs: Vec<u64>) -> ir::Value {
        let mut step = lows.len() / 2;
        let mut at = self.iconst(types::I64, 0);
        while step > 0 {
            let further = self.b.ins().iadd_imm_s(at, step as i64);
            let low = self.entry(lows.clone(), further);
            let reached = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, low, v);
            at = self.b.ins().select(reached, further, at);
            step /= 2;
        }
        let (low, high) = (self.entry(lows, at), self.entry(highs, at));
        let above = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, low, v);
        let below = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, v, high);
        self.b.ins().band(above, below)
    }
}
