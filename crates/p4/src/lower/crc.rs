//! Cyclic redundancy checks, byte by byte with a table: in initialised data for the standard ones,
//! in data memory for those whose parameters may change.
//!
//! Source: CRC-32 is that of IEEE 802.3, CRC-16 is ARC, as in BMv2.

use super::place::StorageLocation;
use super::{Lower, Lowered};
use crate::crc::{IMAGE, MAP, TABLE};
use crate::hir::Expr;
use crate::pipeline::CrcMeta;
use netil::table::Op;

impl Lower<'_> {
    /// Runs `entry` for each byte of the value on the stack: it turns an index into the table's
    /// entry; `byte` may change the byte. The remainder is in the local, which holds the initial
    /// one.
    fn each_byte(&mut self, width: u16, crc: u32, byte: &dyn Fn(&mut Self), entry: &dyn Fn(&mut Self)) {
        let (value, left) = (self.code.new_local(width), self.code.new_local(32));
        self.code.set(value);
        self.code.push(u32::from(width));
        self.code.set(left);
        let head = self.code.label();
        self.code.bind(head);
        self.code.get(left);
        self.code.push(8);
        self.code.op(Op::Sub);
        self.code.set(left);
        self.code.get(value);
        self.code.get(left);
        self.code.w(Op::WUShr, width);
        self.code.resize(width, 8);
        self.code.resize(8, 32);
        byte(self);
        self.code.get(crc);
        self.code.op(Op::Xor);
        self.code.push(0xff);
        self.code.op(Op::And);
        self.code.push(2);
        self.code.op(Op::Shl);
        entry(self);
        self.code.get(crc);
        self.code.push(8);
        self.code.op(Op::UShr);
        self.code.op(Op::Xor);
        self.code.set(crc);
        self.code.get(left);
        self.code.branch(Op::JNe, head);
    }

    /// Goes on with a standard check, whose remainder is in the local, over the bytes of a value.
    pub(super) fn crc_on(&mut self, data: &StorageLocation, wide: bool, crc: u32, call: &Expr) -> Lowered<()> {
        let width = self.padded(data, call)?;
        let table = self.crc_table(if wide { 0xedb8_8320 } else { 0xa001 });
        self.each_byte(width, crc, &|_| {}, &|l| {
            l.code.push(table);
            l.code.op(Op::Add);
            l.code.w(Op::WcLoad, 32);
        });
        Ok(())
    }

    pub(super) fn crc(&mut self, data: &StorageLocation, wide: bool, call: &Expr) -> Lowered<u16> {
        let crc = self.code.new_local(32);
        self.code.push(if wide { u32::MAX } else { 0 });
        self.code.set(crc);
        self.crc_on(data, wide, crc, call)?;
        self.code.get(crc);
        if wide {
            self.code.op(Op::Not);
            return Ok(32);
        }
        self.code.resize(32, 16);
        Ok(16)
    }

    fn crc_table(&mut self, polynomial: u32) -> u32 {
        if let Some(at) = self.crc_tables.get(&polynomial) {
            return *at;
        }
        let at = self.constants.len() as u32;
        for n in 0u32..256 {
            let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ polynomial } else { crc >> 1 };
            self.constants.extend((0..8).fold(n, step).to_be_bytes());
        }
        self.crc_tables.insert(polynomial, at);
        at
    }

    /// With parameters in data memory, see [`crate::crc`].
    pub(super) fn custom_crc(&mut self, data: &StorageLocation, bits: u16, call: &Expr) -> Lowered<u16> {
        let name = if self.calculations == 1 { "calc".to_owned() } else { format!("calc_{}", self.calculations - 2) };
        let at = self.allot(IMAGE, call.span)?;
        self.crcs.push(CrcMeta { name, width: u32::from(bits), at });
        let width = self.padded(data, call)?;
        let crc = self.code.new_local(32);
        let word = |l: &mut Self, at: u32| {
            l.code.push(at);
            l.code.w(Op::WmLoad, 32);
        };
        let value = self.code.temp(width);
        self.code.set(value);
        word(self, at);
        self.code.set(crc);
        self.code.get(value);
        self.code.release(value);
        let map = |l: &mut Self| {
            l.code.push(at + MAP);
            l.code.op(Op::Add);
            l.code.w(Op::WmLoad, 8);
            l.code.resize(8, 32);
        };
        self.each_byte(width, crc, &map, &|l| {
            l.code.push(at + TABLE);
            l.code.op(Op::Add);
            l.code.w(Op::WmLoad, 32);
        });
        let plain = self.code.label();
        word(self, at + 8);
        self.code.branch(Op::JEq, plain);
        self.reverse(crc, u32::from(bits));
        self.code.bind(plain);
        self.code.get(crc);
        word(self, at + 4);
        self.code.op(Op::Xor);
        self.code.resize(32, bits);
        Ok(bits)
    }

    /// Reverses the lowest bits of a local, the only ones that are set.
    fn reverse(&mut self, local: u32, bits: u32) {
        for (shift, mask) in [(1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0f0f_0f0f), (8, 0x00ff_00ff), (16, 0x0000_ffff)] {
            for right in [true, false] {
                self.code.get(local);
                if right {
                    self.code.push(shift);
                    self.code.op(Op::UShr);
                }
                self.code.push(mask);
                self.code.op(Op::And);
                if !right {
                    self.code.push(shift);
                    self.code.op(Op::Shl);
                }
            }
            self.code.op(Op::Or);
            self.code.set(local);
        }
        if bits < 32 {
            self.code.get(local);
            self.code.push(32 - bits);
            self.code.op(Op::UShr);
            self.code.set(local);
        }
    }
}
