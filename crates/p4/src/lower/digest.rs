//! Checksums and hashes: the bits of a value in a row, and what the algorithms of architectures
//! make of them.
//!
//! Source: RFC 1071 for csum16.

use super::place::{Leaf, StorageLocation};
use super::{Lower, Lowered, fault};
use crate::hir::{Expr, Type};
use netil::table::Op;
use num_bigint::BigInt;

impl Lower<'_> {
    /// All parts of a value as they stand in a packet, as numbers of whole 16-bit words; a `varbit`
    /// is added where it is as long as it is.
    pub(super) fn words(&mut self, data: &StorageLocation, call: &Expr, sum: u32, inverted: bool) -> Lowered<()> {
        let leaves: Vec<(u32, Leaf)> = (0..).zip(self.leaves(&data.ty, call.span)?).collect();
        let mut group: (Vec<(u32, Leaf)>, u32) = (Vec::new(), 0);
        for (n, leaf) in leaves {
            let size = match leaf {
                Leaf::Bits(w) => u32::from(w),
                Leaf::Bool => 1,
                Leaf::Var(w) => {
                    self.add_words(data, &std::mem::take(&mut group), sum, inverted);
                    self.load_leaf(data, n, leaf);
                    self.sum_of(w, sum, inverted);
                    continue;
                }
                Leaf::Number | Leaf::Valid | Leaf::Next => continue,
            };
            group.0.push((n, leaf));
            group.1 += size;
            // Short numbers: a number of the whole would be wider than any register.
            if group.1.is_multiple_of(16) {
                self.add_words(data, &std::mem::take(&mut group), sum, inverted);
            }
        }
        if group.1 > 2032 {
            return fault(call.span, "this is too much for a checksum");
        }
        self.add_words(data, &group, sum, inverted);
        Ok(())
    }

    fn add_words(&mut self, data: &StorageLocation, group: &(Vec<(u32, Leaf)>, u32), sum: u32, inverted: bool) {
        if group.1 == 0 {
            return;
        }
        let width = self.join(data, group);
        self.sum_of(width, sum, inverted);
    }

    /// Adds the 16-bit words of the number on the stack, zeros behind it, or their complements to a
    /// local.
    fn sum_of(&mut self, width: u16, sum: u32, inverted: bool) {
        let whole = width.next_multiple_of(16);
        if whole > width {
            self.code.constant(&BigInt::ZERO, whole - width);
            self.code.op2(Op::WConcat, u32::from(width), u32::from(whole - width));
        }
        let temp = self.code.temp(whole);
        self.code.set(temp);
        for low in (0..u32::from(whole)).step_by(16) {
            self.code.get(temp);
            self.code.op3(Op::WSlice, u32::from(whole), low + 15, low);
            self.code.resize(16, 32);
            if inverted {
                self.code.push(0xffff);
                self.code.op(Op::Xor);
            }
            self.code.get(sum);
            self.code.op(Op::Add);
            self.code.set(sum);
        }
        self.code.release(temp);
    }

    /// Brings a sum of 16-bit words down to 16 bits.
    pub(super) fn fold(&mut self, sum: u32) {
        for _ in 0..2 {
            self.code.get(sum);
            self.code.push(0xffff);
            self.code.op(Op::And);
            self.code.get(sum);
            self.code.push(16);
            self.code.op(Op::UShr);
            self.code.op(Op::Add);
            self.code.set(sum);
        }
    }

    /// Pushes the Internet checksum of a value, and of the payload; 16 bits.
    pub(super) fn checksum16(&mut self, data: &StorageLocation, payload: bool, call: &Expr) -> Lowered<()> {
        let sum = self.code.new_local(32);
        self.code.push(0);
        self.code.set(sum);
        self.words(data, call, sum, false)?;
        if payload {
            self.code.push(0);
            self.code.op(Op::Pbl);
            self.code.op(Op::ChksumCalc);
            self.code.op(Op::Not);
            self.code.push(0xffff);
            self.code.op(Op::And);
            self.code.get(sum);
            self.code.op(Op::Add);
            self.code.set(sum);
        }
        self.fold(sum);
        self.code.get(sum);
        self.code.op(Op::Not);
        self.code.resize(32, 16);
        Ok(())
    }

    /// The algorithm that a member of an enumeration names, as v1model calls it.
    pub(super) fn algorithm(&self, e: &Expr) -> Lowered<String> {
        let at = self.known_number(e)? as usize;
        match &e.ty {
            Type::Enum(id) => match &self.program.types[*id] {
                crate::hir::TypeInfo::Enum { members, .. } => Ok(members.get(at).map_or_else(String::new, |name| common_name(name))),
                _ => fault(e.span, "no algorithm"),
            },
            _ => fault(e.span, "no algorithm"),
        }
    }

    /// Pushes the result of a hash or checksum; its width.
    pub(super) fn digest(&mut self, data: &Expr, algorithm: &Expr, payload: bool, call: &Expr) -> Lowered<u16> {
        let data = self.held(data)?;
        let name = self.algorithm(algorithm)?;
        self.digest_of(&data, &name, payload, call)
    }

    /// Pushes what an algorithm makes of a place's value; its width.
    pub(super) fn digest_of(&mut self, data: &StorageLocation, name: &str, payload: bool, call: &Expr) -> Lowered<u16> {
        self.calculations += 1;
        match name {
            "csum16" => {
                self.checksum16(data, payload, call)?;
                Ok(16)
            }
            "xor16" => self.xor16(data, call),
            "identity" => self.padded(data, call),
            "crc16" | "crc32" => self.crc(data, name == "crc32", call),
            "crc16_custom" | "crc32_custom" => self.custom_crc(data, if name == "crc32_custom" { 32 } else { 16 }, call),
            "random" => {
                self.code.op(Op::Rnd);
                Ok(32)
            }
            other => fault(call.span, format!("the algorithm `{other}` is not supported")),
        }
    }

    /// A value's bits in a row.
    fn row(&mut self, data: &StorageLocation, call: &Expr) -> Lowered<u16> {
        let leaves: Vec<(u32, Leaf)> = (0..).zip(self.leaves(&data.ty, call.span)?).collect();
        let group: Vec<_> = leaves.into_iter().filter(|(_, l)| matches!(l, Leaf::Bits(_) | Leaf::Bool | Leaf::Var(_))).collect();
        let total: u32 = group.iter().map(|(_, l)| if *l == Leaf::Bool { 1 } else { u32::from(l.width()) }).sum();
        if total > u32::from(netil::wide::MAX_WIDTH) || group.is_empty() {
            return fault(call.span, "this value has no bits, or too many");
        }
        Ok(self.join(data, &(group, total)))
    }

    pub(super) fn padded(&mut self, data: &StorageLocation, call: &Expr) -> Lowered<u16> {
        let width = self.row(data, call)?;
        let bytes = width.next_multiple_of(8);
        if bytes > width {
            self.code.constant(&BigInt::ZERO, bytes - width);
            self.code.op2(Op::WConcat, u32::from(width), u32::from(bytes - width));
        }
        Ok(bytes)
    }

    fn xor16(&mut self, data: &StorageLocation, call: &Expr) -> Lowered<u16> {
        let mut width = self.padded(data, call)?;
        if !width.is_multiple_of(16) {
            self.code.constant(&BigInt::ZERO, 8);
            self.code.op2(Op::WConcat, u32::from(width), 8);
            width += 8;
        }
        let temp = self.code.temp(width);
        self.code.set(temp);
        self.code.constant(&BigInt::ZERO, 16);
        for low in (0..u32::from(width)).step_by(16) {
            self.code.get(temp);
            self.code.op3(Op::WSlice, u32::from(width), low + 15, low);
            self.code.w(Op::WXor, 16);
        }
        self.code.release(temp);
        Ok(16)
    }

    /// Base + hash mod max, of the hash on the stack; BMv2 leaves the hash away where max is 0.
    pub(super) fn hash_between(
        &mut self,
        width: u16,
        base: &StorageLocation,
        max: &StorageLocation,
        leaf: Leaf,
        call: &Expr,
    ) -> Lowered<()> {
        let (base_leaf, max_leaf) = (self.scalar(&base.ty, call.span)?, self.scalar(&max.ty, call.span)?);
        let all = width.max(base_leaf.width()).max(max_leaf.width()).max(leaf.width()).max(64);
        self.code.resize(width, all);
        let value = self.code.new_local(all);
        self.code.set(value);
        let (plain, end) = (self.code.label(), self.code.label());
        self.load_leaf(max, 0, max_leaf);
        self.code.constant(&BigInt::ZERO, max_leaf.width());
        self.code.w(Op::WNe, max_leaf.width());
        self.code.branch(Op::JEq, plain);
        self.code.get(value);
        self.load_leaf(max, 0, max_leaf);
        self.code.resize(max_leaf.width(), all);
        self.code.w(Op::WMod, all);
        self.load_leaf(base, 0, base_leaf);
        self.code.resize(base_leaf.width(), all);
        self.code.w(Op::WAdd, all);
        self.code.set(value);
        self.code.jump(end);
        self.code.bind(plain);
        self.load_leaf(base, 0, base_leaf);
        self.code.resize(base_leaf.width(), all);
        self.code.set(value);
        self.code.bind(end);
        self.code.get(value);
        self.code.resize(all, leaf.width());
        Ok(())
    }
}

/// The name of an algorithm where architectures have several for one.
fn common_name(name: &str) -> String {
    match name {
        "ONES_COMPLEMENT16" => "csum16".to_owned(),
        "TARGET_DEFAULT" => "crc32".to_owned(),
        other => other.to_lowercase(),
    }
}
