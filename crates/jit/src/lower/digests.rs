//! Checksums and hashes in place: those of a few bytes and words, which headers and keys have.

use super::{Lower, args};
use compiler::mir::{Helper, Type};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};

/// Bytes of an IPv4 header without options.
const HEADER: i64 = 20;

impl Lower<'_> {
    /// The Internet checksum of bytes of the packet, or whether it is right: in place for a header
    /// without options, by the runtime for all else.
    pub(super) fn checksum(&mut self, helper: Helper, at: ir::Value, len: ir::Value, site: u32) -> ir::Value {
        let ty = if helper == Helper::Checksum { types::I32 } else { types::I8 };
        let (here, away, on) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(on, ty);
        let short = self.b.ins().icmp_imm_u(IntCC::Equal, len, HEADER);
        self.b.ins().brif(short, here, &[], away, &[]);
        self.b.switch_to_block(away);
        self.b.set_cold_block(away);
        let width = Type::Int(if ty == types::I32 { 32 } else { 1 });
        let sum = self.by_runtime(helper, &[at, len], site, width).unwrap_or(at);
        self.b.ins().jump(on, &args(&[sum]));
        self.b.switch_to_block(here);
        self.inside(at, len, site);
        let bytes = self.b.ins().uextend(types::I64, len);
        self.pay(bytes, site);
        let sum = self.header_sum(at);
        let sum = match helper {
            Helper::Checksum => {
                let swapped = self.b.ins().bswap(sum);
                let not = self.b.ins().bnot(swapped);
                self.b.ins().uextend(types::I32, not)
            }
            _ => self.b.ins().icmp_imm_u(IntCC::Equal, sum, 0xffff),
        };
        self.b.ins().jump(on, &args(&[sum]));
        self.b.switch_to_block(on);
        result
    }

    /// The one's complement sum of a header's halves of words as they lie in memory, in 16 bits
    /// (RFC 1071: the order of bytes matters for the result only).
    fn header_sum(&mut self, at: ir::Value) -> ir::Value {
        let (packet, flags) = (self.b.use_var(self.shared.packet), self.bytes());
        let at = self.b.ins().uextend(types::I64, at);
        let at = self.b.ins().iadd(packet, at);
        let words: Vec<ir::Value> = (0..HEADER as i32 / 4).map(|n| self.b.ins().uload32(flags, at, 4 * n)).collect();
        let sum = words[1..].iter().fold(words[0], |sum, word| self.b.ins().iadd(sum, *word));
        let turned = self.b.ins().rotl_imm_u(sum, 32);
        let sum = self.b.ins().iadd(sum, turned);
        let sum = self.b.ins().ushr_imm_u(sum, 32);
        let sum = self.b.ins().ireduce(types::I32, sum);
        let turned = self.b.ins().rotl_imm_u(sum, 16);
        let sum = self.b.ins().iadd(sum, turned);
        let sum = self.b.ins().ushr_imm_u(sum, 16);
        self.b.ins().ireduce(types::I16, sum)
    }

    /// See [`netil::digest::murmur3`].
    pub(super) fn murmur(&mut self, words: &[ir::Value]) -> ir::Value {
        let mut hash = self.iconst(types::I32, 0);
        for word in words {
            let k = self.times(*word, 0xcc9e_2d51);
            let k = self.b.ins().rotl_imm_u(k, 15);
            let k = self.times(k, 0x1b87_3593);
            let mixed = self.b.ins().bxor(hash, k);
            let mixed = self.b.ins().rotl_imm_u(mixed, 13);
            let mixed = self.times(mixed, 5);
            let more = self.iconst(types::I32, 0xe654_6b64);
            hash = self.b.ins().iadd(mixed, more);
        }
        let hash = self.b.ins().bxor_imm_u(hash, 4 * words.len() as i64);
        let hash = self.shifted(hash, 16);
        let hash = self.times(hash, 0x85eb_ca6b);
        let hash = self.shifted(hash, 13);
        let hash = self.times(hash, 0xc2b2_ae35);
        self.shifted(hash, 16)
    }

    fn times(&mut self, value: ir::Value, by: u64) -> ir::Value {
        let by = self.iconst(types::I32, by);
        self.b.ins().imul(value, by)
    }

    fn shifted(&mut self, hash: ir::Value, by: i64) -> ir::Value {
        let high = self.b.ins().ushr_imm_u(hash, by);
        self.b.ins().bxor(hash, high)
    }
}
