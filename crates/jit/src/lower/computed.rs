//! Computed ports: where a value is the number of the port by which a packet leaves, what differs is looked up by it. No processor can predict branches on that, where ports are as
//! good as random.
//!
//! Source: `compiler::cluster::by_number`. Leaves out: handlers of several members, those that send copies or set timers, ports that lead to different code.

use super::fused::has;
use super::members::numbers;
use super::{Lower, trusted};
use crate::{JitError, frame};
use compiler::cluster::{ByNumber, by_number};
use compiler::mir::{self, Helper};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use netil::cluster::Way;
use std::mem::discriminant;

/// What is looked up: where ports lead, and where packets are counted.
pub(super) struct Computed {
    by: ByNumber,
    ways: Vec<Option<Way>>,
    counts: Option<Vec<u64>>,
}

impl Lower<'_> {
    /// If a block sends packets by a number, and all those ports lead to the same code or to exits: how.
    pub(super) fn computed(&self, block: mir::Block) -> Option<Computed> {
        let element = self.element().filter(|element| element.instances.len() == 1 && self.end_of_slice().is_none())?;
        let by = by_number(self.func, block, self.is_there())?;
        let (_, first, count, _) = by;
        let ways: Vec<Option<Way>> = (first..first + count).flat_map(|port| element.ways(port)).collect();
        let counts: Vec<Option<u64>> = (first..first + count).map(|port| element.counts(port)?.first().copied()).collect();
        let exits = |way: &Option<Way>| matches!(way, Some(Way::Exit(_) | Way::LastExit(_)));
        let meet = ways.iter().all(exits) || ways.iter().all(|way| self.meets(way, &ways[0]));
        let counted = counts.iter().all(|count| discriminant(count) == discriminant(&counts[0]));
        let alone = !has(self.func, |helper| matches!(helper, Helper::SendCopy(_) | Helper::SetTimer(_)));
        (meet && counted && alone).then(|| Computed { by, ways, counts: counts.into_iter().collect() })
    }

    /// Whether two ways lead to the same code.
    fn meets(&self, one: &Option<Way>, other: &Option<Way>) -> bool {
        let code = |way: &Option<Way>| match (way, &self.fusion) {
            (Some(Way::Member(to, _)), Some(fusion)) => Some(fusion.elements.of_member[*to as usize]),
            _ => None,
        };
        code(one).is_some() && code(one) == code(other)
    }

    /// Ends a block that sends packets by a number.
    pub(super) fn send_computed(&mut self, Computed { by, ways, counts }: Computed) -> Result<(), JitError> {
        let (value, _, count, default) = by;
        let value = self.reg(value);
        let (to, args) = self.side_edge(&default)?;
        let (inside, here) = (self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, value, i64::from(count)), self.b.create_block());
        self.b.ins().brif(inside, here, &[], to, &args);
        self.fill_side_edges()?;
        self.b.switch_to_block(here);
        let index = self.b.ins().uextend(types::I64, value);
        if let Some(places) = counts {
            let place = self.by_index(&places, index);
            self.count_at(frame::COUNTS, place);
        }
        let [to, input] = numbers(&ways).map(|numbers| self.by_index(&numbers, index));
        match ways[0] {
            Some(Way::Member(..)) => self.go_to(&ways, to, input),
            _ => self.leave_by(to),
        }
        Ok(())
    }

    /// The number out of some with an index, which there is: computed where they go up evenly.
    fn by_index(&mut self, numbers: &[u64], index: ir::Value) -> ir::Value {
        let step = numbers[1].wrapping_sub(numbers[0]);
        if numbers.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step) {
            let at = self.b.ins().imul_imm_s(index, step.cast_signed());
            return self.b.ins().iadd_imm_s(at, numbers[0].cast_signed());
        }
        let number = self.table(numbers.to_vec());
        let tables = self.field(frame::TABLES, types::I64, super::constant());
        let table = self.b.ins().load(types::I64, super::constant(), tables, 8 * number as i32);
        let at = self.b.ins().ishl_imm_u(index, 3);
        let at = self.b.ins().iadd(table, at);
        // Not before the index was compared with how many there are.
        self.b.ins().load(types::I64, trusted(), at, 0)
    }
}
