//! v1model's usual way: a packet for one port goes from ingress to egress in one run, and nothing
//! of it travels in info memory.
//!
//! What asks for the replication engine (clones, groups, resubmission, digests) leaves ingress as
//! it always does. Egress is there twice: here what it is told of the packet's way is constant, and
//! what ingress knows of headers holds. Left out where it would be long, and where another number
//! of runs would be seen (random numbers, parameters of checks by name).

use super::Parts;
use super::simple_switch::{DROP_PORT, PATHS};
use crate::lower::code::LabelId;
use crate::lower::kept::Half;
use crate::lower::place::StorageLocation;
use crate::lower::{Lower, Lowered};
use crate::pipeline::{Saved, info, ports};
use netil::table::Op;
use std::ops::Range;

/// The most instructions of egress that are there twice.
pub(super) const MOST: usize = 20_000;

/// Where packets go.
pub(super) struct StraightPath {
    /// Whether there is a straight way.
    pub can: bool,
    pub straight: LabelId,
    /// To the replication engine.
    pub queued: LabelId,
    /// The code of ingress.
    pub ingress: Range<usize>,
}

impl Lower<'_> {
    /// Behind ingress, what came in to go straight does; where, unless somebody follows packets.
    pub(super) fn leave_ingress(&mut self) -> Option<LabelId> {
        if self.marks.is_some() {
            return None;
        }
        let straight = self.code.label();
        self.code.get(self.mode);
        self.code.push(ports::STRAIGHT);
        self.code.branch(Op::JCmpEq, straight);
        Some(straight)
    }

    /// The straight way, from ingress to the port.
    pub(super) fn v1_straight(
        &mut self,
        parts: &Parts,
        way: &StraightPath,
        saved: &Saved,
        headers: &StorageLocation,
        metadata: &StorageLocation,
    ) -> Lowered<()> {
        self.code.bind(way.straight);
        if !way.can {
            self.code.jump(way.queued);
            return Ok(());
        }
        let group = self.field_of(&self.standard, "mcast_grp")?;
        self.deviates |= !self.digests.is_empty() || group.is_some_and(|(place, _)| self.code.sets_in(place.base, way.ingress.clone()));
        self.straight = true;
        self.unless_asked(way.queued)?;
        self.enter_egress()?;
        let done = self.done.clone();
        self.v1_egress_blocks(parts, saved, headers, metadata)?;
        self.done = done;
        self.leave_straight(saved)
    }

    /// Drops what ingress drops, and leaves by `queued` what asks for more than a port.
    fn unless_asked(&mut self, queued: LabelId) -> Lowered<()> {
        for local in [self.asked.session, self.asked.resubmit] {
            self.code.get(local);
            self.code.branch(Op::JNe, queued);
        }
        let standard = self.standard.clone();
        let width = self.get_field(&standard, "mcast_grp")?;
        self.code.resize(width, 32);
        self.code.branch(Op::JNe, queued);
        if !self.digests.is_empty() {
            self.code.push(info::DIGEST);
            self.code.w(Op::WiLoad, 16);
            self.code.resize(16, 32);
            self.code.branch(Op::JNe, queued);
        }
        let sent = self.code.label();
        self.drops()?;
        self.code.branch(Op::JEq, sent);
        self.code.op1(Op::PktDrop, DROP_PORT);
        self.code.bind(sent);
        Ok(())
    }

    /// What egress is told of a packet for one port.
    fn enter_egress(&mut self) -> Lowered<()> {
        self.half = Half::Egress;
        let standard = self.standard.clone();
        for local in [self.cursor, self.out_len, self.asked.fields, self.asked.recirculate] {
            self.code.push(0);
            self.code.set(local);
        }
        let width = self.get_field(&standard, "egress_spec")?;
        self.set_field(&standard, "egress_port", width)?;
        for (name, value) in [("egress_rid", 0), ("instance_type", PATHS.unicast)] {
            self.code.push(value);
            self.set_field(&standard, name, 32)?;
        }
        self.set_from_info(&standard, "packet_length", info::LENGTH, 32)?;
        self.set_from_info(&standard, "egress_global_timestamp", info::TIME, 48)?;
        self.add_grown()
    }

    /// Sends the packet: with all that it has if it comes round.
    fn leave_straight(&mut self, saved: &Saved) -> Lowered<()> {
        if self.comes_round {
            let leaves = self.code.label();
            self.code.get(self.asked.recirculate);
            self.code.branch(Op::JEq, leaves);
            self.send_out(saved)?;
            self.code.bind(leaves);
        }
        let standard = self.standard.clone();
        let width = self.get_field(&standard, "egress_port")?;
        self.put_info(width, info::EGRESS_PORT);
        self.code.get(self.asked.truncate);
        self.put_info(32, info::TRUNCATE);
        self.code.op1(Op::PktSend, ports::OUT);
        Ok(())
    }
}
