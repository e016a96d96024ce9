//! Computed ports: where a value is the number of the port by which a packet leaves, what differs
//! is looked up by it. No processor can predict branches on that, where ports are as good as
//! random.
//!
//! Source: `mir::Terminator::SendBy`. Leaves out: handlers of several members, those that set
//! timers, ports that lead to different code; those are tested for.

use super::fused::has;
use super::members::By;
use super::{Lower, trusted};
use crate::JitError;
use crate::frame::{self, exit};
use compiler::mir::{self, Edge, Helper};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use cranelift_frontend::Switch;
use netil::cluster::LinkTarget;
use std::mem::discriminant;
use std::ops::Range;

/// What is looked up: where ports lead, and where packets are counted.
pub(super) struct Computed {
    ways: Vec<Option<LinkTarget>>,
    counts: Option<Vec<u64>>,
}

impl Lower<'_> {
    /// How packets are sent by one of these ports, if all of them lead to the same code or to
    /// exits.
    fn computed(&self, ports: Range<u32>) -> Option<Computed> {
        let element = self.element().filter(|element| element.instances.len() == 1 && self.end_of_slice().is_none())?;
        let ways: Vec<Option<LinkTarget>> = ports.clone().flat_map(|port| element.ways(port)).collect();
        let counts: Vec<Option<u64>> = ports.map(|port| element.counts(port)?.first().copied()).collect();
        let exits = |way: &Option<LinkTarget>| matches!(way, Some(LinkTarget::Exit(_) | LinkTarget::LastExit(_)));
        let meet = ways.iter().all(exits) || ways.iter().all(|way| self.meets(way, &ways[0]));
        let counted = counts.iter().all(|count| discriminant(count) == discriminant(&counts[0]));
        let alone = !has(self.func, |helper| matches!(helper, Helper::SetTimer(_)));
        (meet && counted && alone).then(|| Computed { ways, counts: counts.into_iter().collect() })
    }

    /// Whether two ways lead to the same code.
    fn meets(&self, one: &Option<LinkTarget>, other: &Option<LinkTarget>) -> bool {
        let code = |way: &Option<LinkTarget>| match (way, &self.fusion) {
            (Some(LinkTarget::Member(to, _)), Some(fusion)) => Some(fusion.elements.of_member[*to as usize]),
            _ => None,
        };
        code(one).is_some() && code(one) == code(other)
    }

    /// Sends the packet by the port that so many lie before, or goes on.
    pub(super) fn send_by(&mut self, value: mir::Value, ports: Range<u32>, default: &Edge) -> Result<(), JitError> {
        match self.computed(ports.clone()) {
            Some(computed) => self.send_computed(computed, value, ports, default),
            None => self.send_each(value, ports, default),
        }
    }

    /// With code for each port.
    fn send_each(&mut self, value: mir::Value, ports: Range<u32>, default: &Edge) -> Result<(), JitError> {
        let value = self.reg(value);
        let (to, args) = self.side_edge(default)?;
        let otherwise = self.b.create_block();
        let sends: Vec<(ir::Block, u32)> = ports.map(|port| (self.b.create_block(), port)).collect();
        let mut switch = Switch::new();
        (0..).zip(&sends).for_each(|(n, (block, _))| switch.set_entry(n, *block));
        switch.emit(&mut self.b, value, otherwise);
        for (block, port) in sends {
            self.b.switch_to_block(block);
            self.send_or_leave(port);
        }
        self.b.switch_to_block(otherwise);
        self.b.ins().jump(to, &args);
        self.fill_side_edges()
    }

    fn send_computed(
        &mut self,
        Computed { ways, counts }: Computed,
        value: mir::Value,
        ports: Range<u32>,
        default: &Edge,
    ) -> Result<(), JitError> {
        let (first, count) = (ports.start, ports.len());
        let value = self.reg(value);
        let (to, args) = self.side_edge(default)?;
        let (inside, here) = (self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, value, count as i64), self.b.create_block());
        self.b.ins().brif(inside, here, &[], to, &args);
        self.fill_side_edges()?;
        self.b.switch_to_block(here);
        let index = self.b.ins().uextend(types::I64, value);
        if has(self.func, |helper| matches!(helper, Helper::SendCopy(_))) {
            self.leave_with_copies(first, index);
        }
        let by = By::Index(index);
        if let Some(places) = counts {
            let place = self.chosen(by, &places);
            self.count_at(frame::COUNTS, place);
        }
        match ways[0] {
            Some(LinkTarget::Member(..)) => self.go_to(&ways, by),
            _ => self.leave_by(&ways, by),
        }
        Ok(())
    }

    /// Where copies of the packet were sent, which go first, it leaves at once.
    fn leave_with_copies(&mut self, first: u32, index: ir::Value) {
        let sent = self.field(frame::SENT, types::I32, trusted());
        let (with, without) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(sent, with, &[], without, &[]);
        self.b.switch_to_block(with);
        let port = self.b.ins().iadd_imm_s(index, i64::from(first));
        let code = self.b.ins().ishl_imm_u(port, 32);
        let code = self.b.ins().bor_imm_u(code, exit::PORT as i64);
        self.leave_member(code);
        self.b.switch_to_block(without);
    }
}
