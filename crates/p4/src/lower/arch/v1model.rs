//! v1model, as BMv2's simple_switch has it: a parser, the verification of checksums and ingress;
//! egress, the computation of checksums and the deparser.
//!
//! Headers and metadata travel from ingress to egress in info memory. A clone of what arrived is
//! parsed again, by the port `again`.
//!
//! Source: BMv2, `docs/simple_switch.md`.

use super::simple_switch::{DROP_PORT, PATHS};
use super::{Architecture, HEADERS, METADATA, OTHER, Parts};
use crate::hir::{Expr, Type};
use crate::lower::arguments::{Args, Called, arg};
use crate::lower::kept::Half;
use crate::lower::place::StorageLocation;
use crate::lower::{Lower, Lowered, fault};
use crate::pipeline::{ArrayKind, DROP, Paths, Saved, info, ports};
use netil::table::Op;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "v1model",
    package: "V1Switch",
    includes: &[("v1model.p4", include_str!("../../../include/v1model.p4"))],
    parts: 6,
    cpu_port: 510,
    last_port: DROP_PORT - 1,
    flow: &[&[
        (0, &[OTHER, HEADERS, METADATA, OTHER]),
        (1, &[HEADERS, METADATA]),
        (2, &[HEADERS, METADATA, OTHER]),
        (3, &[HEADERS, METADATA, OTHER]),
        (4, &[HEADERS, METADATA]),
        (5, &[OTHER, HEADERS]),
    ]],
    lower,
    element: Some(|lower, parts| lower.v1_element(parts)),
    function,
    method,
};

/// Locals for what externs ask of the replication engine.
#[derive(Clone, Copy, Default)]
pub(in crate::lower) struct Asked {
    pub(super) session: u32,
    pub(super) fields: u32,
    pub(super) resubmit: u32,
    pub(super) recirculate: u32,
    pub(super) truncate: u32,
}

impl Asked {
    fn all(self) -> [u32; 5] {
        [self.session, self.fields, self.resubmit, self.recirculate, self.truncate]
    }
}

fn lower(l: &mut Lower<'_>, parts: &Parts) -> Lowered<(Saved, Paths)> {
    let [session, fields, resubmit, recirculate, truncate] = [32; 5].map(|w| l.code.new_local(w));
    l.asked = Asked { session, fields, resubmit, recirculate, truncate };
    let [headers, metadata, standard] = [1, 2, 3].map(|n| l.part_type(parts, 0, n).and_then(|ty| l.new_place(&ty, parts.span)));
    let (headers, metadata) = (headers?, metadata?);
    l.standard = standard?;
    l.lay_metadata(&[&metadata, &l.standard.clone()], parts.span)?;
    for local in l.asked.all() {
        l.code.push(0);
        l.code.set(local);
    }
    let standard = l.standard.clone();
    let grown = l.track_length(parts)?;
    let saved = l.saved(&[(&headers, None), (&metadata, Some(&[])), (&standard, None), (&grown, None)], parts.span)?;
    let (egress, queued) = (l.code.label(), l.code.label());
    l.code.get(l.mode);
    l.code.push(ports::EGRESS);
    l.code.branch(Op::JCmpEq, egress);
    let start = l.code.len();
    l.v1_ingress(parts, queued, &saved, &headers, &metadata)?;
    let ingress = start..l.code.len();
    let straight = l.leave_ingress();
    l.code.bind(queued);
    l.save(&saved);
    l.tell()?;
    l.code.op1(Op::PktSend, ports::QUEUED);
    l.code.bind(egress);
    let start = (l.code.len(), l.crcs.len());
    l.v1_egress(parts, &saved, &headers, &metadata)?;
    if let Some(straight) = straight {
        let can = l.code.len() - start.0 <= super::straight::MOST && l.crcs.len() == start.1 && !l.draws;
        l.v1_straight(parts, &super::straight::StraightPath { can, straight, queued, ingress }, &saved, &headers, &metadata)?;
    }
    Ok((saved, PATHS))
}

fn function(l: &mut Lower<'_>, name: &str, args: Args<'_>, call: &Expr) -> Lowered<Called> {
    match name {
        "mark_to_drop" => l.mark_to_drop(args)?,
        "hash" => l.hash(args, call)?,
        "random" => l.random(args, call)?,
        "verify_checksum" | "verify_checksum_with_payload" => l.verify_checksum(args, call, name.ends_with("payload"))?,
        "update_checksum" | "update_checksum_with_payload" => l.update_checksum(args, call, name.ends_with("payload"))?,
        "clone" | "clone3" => l.clone_packet(args, None, call)?,
        "clone_preserving_field_list" => l.clone_packet(args, args.get(2).and_then(Option::as_ref), call)?,
        "resubmit_preserving_field_list" | "resubmit" => l.again(l.asked.resubmit, name, args, call)?,
        "recirculate_preserving_field_list" | "recirculate" => l.again(l.asked.recirculate, name, args, call)?,
        "truncate" => l.truncate(args, call)?,
        "digest" => {
            let data = arg(args, 1, call)?;
            let name = l.digest_name(&data.ty);
            l.learn(data, name, call)?;
        }
        _ => return Ok(Called::Unknown),
    }
    Ok(Called::Done)
}

fn method(l: &mut Lower<'_>, object: &Expr, (class, name): (&str, &str), args: Args<'_>, call: &Expr) -> Lowered<Called> {
    match (class, name) {
        ("register", "write") => l.register_write(object, args, call)?,
        ("register", _) => {
            let to = l.place(arg(args, 0, call)?)?;
            l.register_read(object, arg(args, 1, call)?, &to, call)?;
        }
        ("counter", "count") => l.counter(object, args, call)?,
        // The entry that was found counts by itself.
        ("direct_counter", "count") => {}
        ("direct_meter", "read") => l.read_direct_meter(object, args, call)?,
        ("meter", "execute_meter") => l.execute_meter(object, args, call)?,
        ("Checksum16", "get") => {
            let data = l.held(arg(args, 0, call)?)?;
            let place = l.new_place(&call.ty, call.span)?;
            l.checksum16(&data, false, call)?;
            l.store_leaf(&place, 0, super::Leaf::Bits(16));
            return Ok(Called::Value(place));
        }
        _ => return Ok(Called::Unknown),
    }
    Ok(Called::Done)
}

impl Lower<'_> {
    fn v1_ingress(
        &mut self,
        parts: &Parts,
        queued: usize,
        saved: &Saved,
        headers: &StorageLocation,
        metadata: &StorageLocation,
    ) -> Lowered<()> {
        let (span, standard) = (parts.span, self.standard.clone());
        self.clear(headers, span)?;
        self.restore(saved, true);
        self.clear(&standard, span)?;
        self.begin_length();
        self.note_length();
        for (name, at, width) in [
            ("ingress_port", info::INGRESS_PORT, 32),
            ("instance_type", info::PATH, 32),
            ("packet_length", info::LENGTH, 32),
            ("ingress_global_timestamp", info::TIME, 48),
        ] {
            self.set_from_info(&standard, name, at, width)?;
        }
        self.half = Half::Parser;
        self.run_block(parts, 0, &[None, Some(headers), Some(metadata), Some(&standard)])?;
        self.half = Half::Ingress;
        self.code.get(self.error);
        self.set_field(&standard, "parser_error", 32)?;
        self.take_parsed();
        self.code.get(self.mode);
        self.code.push(ports::AGAIN);
        self.code.branch(Op::JCmpEq, queued);
        self.run_block(parts, 1, &[Some(headers), Some(metadata)])?;
        self.run_block(parts, 2, &[Some(headers), Some(metadata), Some(&standard)])
    }

    fn v1_egress(&mut self, parts: &Parts, saved: &Saved, headers: &StorageLocation, metadata: &StorageLocation) -> Lowered<()> {
        let standard = self.standard.clone();
        self.half = Half::Egress;
        self.restore(saved, false);
        self.note_length();
        for (name, at, width) in [
            ("egress_port", info::EGRESS_PORT, 32),
            ("egress_rid", info::RID, 16),
            ("instance_type", info::PATH, 32),
            ("packet_length", info::LENGTH, 32),
            ("egress_global_timestamp", info::TIME, 48),
        ] {
            self.set_from_info(&standard, name, at, width)?;
        }
        self.add_grown()?;
        self.restore_truncation();
        self.v1_egress_blocks(parts, saved, headers, metadata)?;
        self.send_out(saved)
    }

    /// Sends the packet behind egress with all that it has.
    pub(super) fn send_out(&mut self, saved: &Saved) -> Lowered<()> {
        self.save(saved);
        self.tell()?;
        self.code.op1(Op::PktSend, ports::OUT);
        Ok(())
    }

    /// Egress and what is behind it; drops the packet, or goes on with its bytes as they leave.
    pub(super) fn v1_egress_blocks(
        &mut self,
        parts: &Parts,
        saved: &Saved,
        headers: &StorageLocation,
        metadata: &StorageLocation,
    ) -> Lowered<()> {
        let standard = self.standard.clone();
        self.code.push(0);
        self.set_field(&standard, "egress_spec", 32)?;
        self.run_block(parts, 3, &[Some(headers), Some(metadata), Some(&standard)])?;
        self.run_block(parts, 4, &[Some(headers), Some(metadata)])?;
        let sent = self.code.label();
        self.mirror(saved)?;
        self.drops()?;
        self.code.branch(Op::JEq, sent);
        self.mark(crate::marks::MarkKind::Dropped, "", parts.span, &[]);
        self.code.op1(Op::PktDrop, DROP_PORT);
        self.code.bind(sent);
        self.deparse(parts, 5, &[None, Some(headers)])
    }

    /// Gives the replication engine a copy if egress has asked for a clone.
    fn mirror(&mut self, saved: &Saved) -> Lowered<()> {
        let no_clone = self.code.label();
        self.code.get(self.asked.session);
        self.code.branch(Op::JEq, no_clone);
        self.save(saved);
        self.tell()?;
        self.code.op1(Op::PktSendDup, ports::MIRROR);
        self.code.bind(no_clone);
        Ok(())
    }

    /// Pushes whether `egress_spec` is the port that drops.
    pub(super) fn drops(&mut self) -> Lowered<()> {
        let standard = self.standard.clone();
        let width = self.get_field(&standard, "egress_spec")?;
        self.code.resize(width, 32);
        self.code.push(DROP_PORT);
        self.code.w(Op::WEq, 32);
        Ok(())
    }

    /// Tells the replication engine what it needs to know.
    fn tell(&mut self) -> Lowered<()> {
        let standard = self.standard.clone();
        self.drops()?;
        self.code.push(DROP);
        let width = self.get_field(&standard, "egress_spec")?;
        self.code.resize(width, 32);
        self.code.w(Op::WSelect, 32);
        self.put_info(32, info::EGRESS_SPEC);
        for (name, at) in [("mcast_grp", info::GROUP), ("egress_port", info::EGRESS_PORT)] {
            let width = self.get_field(&standard, name)?;
            self.put_info(width, at);
        }
        let at = [info::SESSION, info::FIELDS, info::RESUBMIT, info::RECIRCULATE, info::TRUNCATE];
        for (local, at) in self.asked.all().into_iter().zip(at) {
            self.code.get(local);
            self.put_info(32, at);
        }
        Ok(())
    }

    /// The metadata that are meant may be a copy, which a parameter is.
    fn mark_to_drop(&mut self, args: Args<'_>) -> Lowered<()> {
        let given = args.first().and_then(Option::as_ref);
        let standard = given.map_or(Ok(self.standard.clone()), |metadata| self.place(metadata))?;
        self.code.push(DROP_PORT);
        self.set_field(&standard, "egress_spec", 32)?;
        self.code.push(0);
        self.set_field(&standard, "mcast_grp", 32)
    }

    /// Of several lengths the smallest counts.
    fn truncate(&mut self, args: Args<'_>, call: &Expr) -> Lowered<()> {
        let (length, known) = (self.code.new_local(32), self.asked.truncate);
        let (first, end) = (self.code.label(), self.code.label());
        self.amount(arg(args, 0, call)?)?;
        self.code.op(Op::Inc1);
        self.code.set(length);
        self.code.get(known);
        self.code.branch(Op::JEq, first);
        self.code.get(known);
        self.code.get(length);
        self.code.branch(Op::JCmpL, end);
        self.code.bind(first);
        self.code.get(length);
        self.code.set(known);
        self.code.bind(end);
        Ok(())
    }

    /// The place of the bytes that headers add to the packet's length behind ingress.
    pub(super) fn track_length(&mut self, parts: &Parts) -> Lowered<StorageLocation> {
        let grown = self.new_place(&Type::Bit(32), parts.span)?;
        self.grown = Some(grown.base);
        Ok(grown)
    }

    /// No header has changed the packet.
    pub(super) fn begin_length(&mut self) {
        if let Some(grown) = self.grown {
            self.code.push(0);
            self.code.set(grown);
        }
    }

    /// Egress sees the length with what ingress has added.
    pub(super) fn add_grown(&mut self) -> Lowered<()> {
        let (Some(grown), standard) = (self.grown, self.standard.clone()) else { return Ok(()) };
        let width = self.get_field(&standard, "packet_length")?;
        self.code.resize(width, 32);
        self.code.get(grown);
        self.code.op(Op::Add);
        self.set_field(&standard, "packet_length", 32)
    }

    /// What ingress said of the length holds for the packet itself, and not for its copies.
    fn restore_truncation(&mut self) {
        let copy = self.code.label();
        self.code.push(info::PATH);
        self.code.w(Op::WiLoad, 32);
        self.code.push(PATHS.unicast);
        self.code.branch(Op::JCmpNeq, copy);
        self.code.push(info::TRUNCATE);
        self.code.w(Op::WiLoad, 32);
        self.code.set(self.asked.truncate);
        self.code.bind(copy);
    }

    fn clone_packet(&mut self, args: Args<'_>, list: Option<&Expr>, call: &Expr) -> Lowered<()> {
        self.mirrors |= self.half == Half::Egress;
        self.deviates |= self.half == Half::Ingress;
        self.amount(arg(args, 1, call)?)?;
        self.code.push(info::SESSION_ASKED);
        self.code.op(Op::Or);
        self.code.set(self.asked.session);
        let list = list.map_or(Ok(0), |l| self.known_number(l).map(|n| n + 1))?;
        self.code.push(list);
        self.code.set(self.asked.fields);
        Ok(())
    }

    fn again(&mut self, local: u32, name: &str, args: Args<'_>, call: &Expr) -> Lowered<()> {
        // Without a list nothing but the packet goes round: no list has that number.
        self.comes_round = true;
        self.deviates |= name.starts_with("resubmit");
        let list = if name.ends_with("list") { self.known_number(arg(args, 0, call)?)? } else { 1 << 20 };
        self.code.push(list + 1);
        self.code.set(local);
        Ok(())
    }

    fn random(&mut self, args: Args<'_>, call: &Expr) -> Lowered<()> {
        let to = self.place(arg(args, 0, call)?)?;
        let leaf = self.scalar(&to.ty, call.span)?;
        let (low, high) = (self.held(arg(args, 1, call)?)?, self.held(arg(args, 2, call)?)?);
        self.random_between(&low, &high, leaf);
        self.store_leaf(&to, 0, leaf);
        Ok(())
    }

    fn hash(&mut self, args: Args<'_>, call: &Expr) -> Lowered<()> {
        let to = self.place(arg(args, 0, call)?)?;
        let leaf = self.scalar(&to.ty, call.span)?;
        let (base, max) = (self.held(arg(args, 2, call)?)?, self.held(arg(args, 4, call)?)?);
        let width = self.digest(arg(args, 3, call)?, arg(args, 1, call)?, false, call)?;
        self.hash_between(width, &base, &max, leaf, call)?;
        self.store_leaf(&to, 0, leaf);
        Ok(())
    }

    fn verify_checksum(&mut self, args: Args<'_>, call: &Expr, payload: bool) -> Lowered<()> {
        let (end, standard) = (self.code.label(), self.standard.clone());
        self.value(arg(args, 0, call)?)?;
        self.code.branch(Op::JEq, end);
        let given = self.held(arg(args, 2, call)?)?;
        let leaf = self.scalar(&given.ty, call.span)?;
        let width = self.digest(arg(args, 1, call)?, arg(args, 3, call)?, payload, call)?;
        self.code.resize(width, leaf.width());
        self.load_leaf(&given, 0, leaf);
        self.code.w(Op::WEq, leaf.width());
        self.code.branch(Op::JNe, end);
        self.code.push(1);
        self.set_field(&standard, "checksum_error", 32)?;
        self.code.bind(end);
        Ok(())
    }

    fn update_checksum(&mut self, args: Args<'_>, call: &Expr, payload: bool) -> Lowered<()> {
        let end = self.code.label();
        self.value(arg(args, 0, call)?)?;
        self.code.branch(Op::JEq, end);
        let to = self.place(arg(args, 2, call)?)?;
        let leaf = self.scalar(&to.ty, call.span)?;
        let width = self.digest(arg(args, 1, call)?, arg(args, 3, call)?, payload, call)?;
        self.code.resize(width, leaf.width());
        self.store_leaf(&to, 0, leaf);
        self.code.bind(end);
        Ok(())
    }

    /// `meter.execute_meter`; an index outside is green.
    fn execute_meter(&mut self, object: &Expr, args: Args<'_>, call: &Expr) -> Lowered<()> {
        let meta = self.array(object, ArrayKind::Meter, call)?;
        let to = self.place(arg(args, 1, call)?)?;
        let leaf = self.scalar(&to.ty, call.span)?;
        let colour = self.cell_colour(&meta, arg(args, 0, call)?, None)?;
        self.code.get(colour);
        self.code.resize(32, leaf.width());
        self.store_leaf(&to, 0, leaf);
        Ok(())
    }

    /// `direct_meter.read`: where no entry was found the result stays as it was, as in BMv2.
    fn read_direct_meter(&mut self, object: &Expr, args: Args<'_>, call: &Expr) -> Lowered<()> {
        let to = self.place(arg(args, 0, call)?)?;
        let leaf = self.scalar(&to.ty, call.span)?;
        let Some(colour) = self.direct_colour(object) else {
            return fault(call.span, "this meter is read in actions of the table that it is a property of");
        };
        let end = self.code.label();
        self.code.get(colour);
        self.code.push(crate::lower::meter::NONE);
        self.code.branch(Op::JCmpEq, end);
        self.code.get(colour);
        self.code.resize(32, leaf.width());
        self.store_leaf(&to, 0, leaf);
        self.code.bind(end);
        Ok(())
    }
}
