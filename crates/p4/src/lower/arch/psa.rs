//! The Portable Switch Architecture, as BMv2's psa_switch has it: each half is a parser, a control
//! and a deparser, and packets go from one to the other as bytes.
//!
//! What a half tells the other besides the packet are five values of the program's own types, each
//! for one path: `normal_meta`, `clone_i2e_meta`, `clone_e2e_meta`, `resubmit_meta` and
//! `recirculate_meta`. They travel in info memory as field lists; on other paths they are 0.
//! Ingress drops unless the program says otherwise. A drop goes before resubmission, multicast and
//! unicast, but not before clones.
//!
//! Source: Portable Switch Architecture 1.2, section 6; where it leaves a choice, BMv2's
//! psa_switch: the deparser of a dropped packet runs.

use super::psa_objects::{self, RECIRCULATE_PORT};
use super::{Architecture, HEADERS, METADATA, OTHER, Parts};
use crate::hir::Type;
use crate::lower::kept::Half as Part;
use crate::lower::place::StorageLocation;
use crate::lower::{Lower, Lowered, fault};
use crate::pipeline::{DROP, Paths, Saved, info, ports};
use netil::table::Op;

pub(super) const ARCHITECTURE: Architecture = Architecture {
    name: "psa",
    package: "PSA_Switch",
    includes: &[
        ("psa.p4", include_str!("../../../include/psa.p4")),
        // The name that p4c's tree has for it.
        ("bmv2/psa.p4", include_str!("../../../include/psa.p4")),
    ],
    parts: 6,
    cpu_port: 0xffff_fffd,
    last_port: DROP - 1,
    flow: &[
        &[
            (0, &[OTHER, HEADERS, METADATA, OTHER, OTHER, OTHER]),
            (1, &[HEADERS, METADATA, OTHER, OTHER]),
            (2, &[OTHER, OTHER, OTHER, OTHER, HEADERS, METADATA, OTHER]),
        ],
        &[
            (3, &[OTHER, HEADERS, METADATA, OTHER, OTHER, OTHER, OTHER]),
            (4, &[HEADERS, METADATA, OTHER, OTHER]),
            (5, &[OTHER, OTHER, OTHER, HEADERS, METADATA, OTHER, OTHER]),
        ],
    ],
    lower,
    element: None,
    function: psa_objects::function,
    method: psa_objects::method,
};

/// The values that travel: the part that writes each, which is a deparser, and its parameter. They
/// are `normal_meta`, `clone_i2e_meta`, `clone_e2e_meta`, `resubmit_meta`, `recirculate_meta`; the
/// field list of each has its position as number.
const WRITTEN: [(usize, usize); 5] = [(2, 3), (2, 1), (5, 1), (2, 2), (5, 2)];
const CLONE_I2E: u32 = 1;
const CLONE_E2E: u32 = 2;
const RESUBMIT: u32 = 3;
const RECIRCULATE: u32 = 4;

/// One half: its places, and the parts that have them.
struct Half {
    headers: StorageLocation,
    metadata: StorageLocation,
    parser: StorageLocation,
    input: StorageLocation,
    output: StorageLocation,
    /// The number of its parser among the parts; control and deparser come behind it.
    first: usize,
}

fn lower(l: &mut Lower<'_>, parts: &Parts) -> Lowered<(Saved, Paths)> {
    let mut travelling = Vec::new();
    for (part, param) in WRITTEN {
        let ty = l.part_type(parts, part, param)?;
        travelling.push(l.new_place(&ty, parts.span)?);
    }
    let lists: Vec<[u32; 1]> = (0..WRITTEN.len() as u32).map(|n| [n]).collect();
    let laid: Vec<_> = travelling.iter().zip(&lists).map(|(place, list)| (place, Some(&list[..]))).collect();
    let saved = l.saved(&laid, parts.span)?;
    let (ingress, egress) = (half(l, parts, 0)?, half(l, parts, 3)?);
    let paths = paths(l, &ingress)?;
    let (again, second) = (l.code.label(), l.code.label());
    l.code.get(l.mode);
    l.code.push(ports::EGRESS);
    l.code.branch(Op::JCmpEq, second);
    l.code.get(l.mode);
    l.code.branch(Op::JNe, again);
    l.restore(&saved, false);
    l.psa_ingress(parts, &ingress, &travelling)?;
    l.save(&saved);
    // A clone of what arrived goes to egress as it is.
    l.code.bind(again);
    l.code.op1(Op::PktSend, ports::QUEUED);
    l.code.bind(second);
    l.psa_egress(parts, &egress, &travelling, &saved)?;
    Ok((saved, paths))
}

fn half(l: &mut Lower<'_>, parts: &Parts, first: usize) -> Lowered<Half> {
    let mut place = |part: usize, param: usize| l.part_type(parts, part, param).and_then(|ty| l.new_place(&ty, parts.span));
    let (headers, metadata, parser) = (place(first, 1)?, place(first, 2)?, place(first, 3)?);
    let (input, output) = (place(first + 1, 2)?, place(first + 1, 3)?);
    Ok(Half { headers, metadata, parser, input, output, first })
}

/// How `PSA_PacketPath_t` calls the paths.
fn paths(l: &Lower<'_>, half: &Half) -> Lowered<Paths> {
    let ty = l.field_of(&half.parser, "packet_path")?.map_or(Type::Void, |(place, _)| place.ty);
    let number = |name: &str| match l.member_number(&ty, name) {
        Some(number) => Ok(number),
        None => fault(Default::default(), format!("the path of a packet cannot be {name}")),
    };
    Ok(Paths {
        arrived: number("NORMAL")?,
        unicast: number("NORMAL_UNICAST")?,
        multicast: number("NORMAL_MULTICAST")?,
        ingress_clone: number("CLONE_I2E")?,
        egress_clone: number("CLONE_E2E")?,
        resubmitted: number("RESUBMIT")?,
        recirculated: number("RECIRCULATE")?,
    })
}

impl Lower<'_> {
    fn psa_ingress(&mut self, parts: &Parts, half: &Half, travelling: &[StorageLocation]) -> Lowered<()> {
        let [normal, clone, _, resubmit, recirculate] = travelling else { return Ok(()) };
        // What packets do next is in metadata, which may be anything.
        (self.half, self.comes_round, self.mirrors) = (Part::Ingress, true, true);
        self.start_half(parts, half, &[("ingress_port", info::INGRESS_PORT)], &[resubmit, recirculate])?;
        self.set_from_info(&half.input, "ingress_timestamp", info::TIME, 48)?;
        self.code.push(1);
        self.set_field(&half.output, "drop", 32)?;
        let Half { headers, metadata, input, output, .. } = half;
        self.run_block(parts, 1, &[Some(headers), Some(metadata), Some(input), Some(output)])?;
        for place in [clone, resubmit, normal] {
            self.clear(place, parts.span)?;
        }
        self.run_block(parts, 2, &[None, Some(clone), Some(resubmit), Some(normal), Some(headers), Some(metadata), Some(output)])?;
        self.put_emitted();
        self.decide(output)
    }

    /// What both halves begin with: the parser, and what the control is told of its packet.
    fn start_half(&mut self, parts: &Parts, half: &Half, facts: &[(&str, u32)], parameters: &[&StorageLocation]) -> Lowered<()> {
        let Half { headers, metadata, parser, input, output, first } = half;
        for place in [headers, metadata, parser, input, output] {
            self.clear(place, parts.span)?;
        }
        for (name, at) in facts.iter().chain(&[("packet_path", info::PATH)]) {
            self.set_from_info(parser, name, *at, 32)?;
            self.set_from_info(input, name, *at, 32)?;
        }
        let mut places = vec![None, Some(headers), Some(metadata), Some(parser)];
        places.extend(parameters.iter().copied().map(Some));
        self.code.op(Op::Pbl);
        self.code.set(self.length);
        self.run_block(parts, *first, &places)?;
        self.take_parsed();
        self.code.get(self.error);
        self.set_field(input, "parser_error", 32)
    }

    /// Whether a program asks for something: a number of 32 bits.
    fn flag(&mut self, output: &StorageLocation, name: &str) -> Lowered<()> {
        let width = self.get_field(output, name)?;
        self.code.resize(width, 32);
        Ok(())
    }

    /// Tells the replication engine what ingress decided.
    fn decide(&mut self, output: &StorageLocation) -> Lowered<()> {
        let kept = |l: &mut Self, name: &str, otherwise: u32, at: u32| -> Lowered<()> {
            l.flag(output, "drop")?;
            l.code.push(otherwise);
            let width = l.get_field(output, name)?;
            l.code.resize(width, 32);
            l.code.w(Op::WSelect, 32);
            l.put_info(32, at);
            Ok(())
        };
        kept(self, "egress_port", DROP, info::EGRESS_SPEC)?;
        kept(self, "multicast_group", 0, info::GROUP)?;
        // Not dropped, and to be resubmitted.
        self.flag(output, "drop")?;
        self.code.push(0);
        self.flag(output, "resubmit")?;
        self.code.push(RESUBMIT + 1);
        self.code.op(Op::Mul);
        self.code.w(Op::WSelect, 32);
        self.put_info(32, info::RESUBMIT);
        self.flag(output, "clone")?;
        self.session(output)?;
        self.code.push(0);
        self.code.w(Op::WSelect, 32);
        self.put_info(32, info::SESSION);
        self.code.push(CLONE_I2E + 1);
        self.put_info(32, info::FIELDS);
        let width = self.get_field(output, "class_of_service")?;
        self.code.resize(width, 16);
        self.code.push(info::CLASS);
        self.code.w(Op::WiStore, 16);
        Ok(())
    }

    /// Pushes the session of a clone as the replication engine is told of it.
    fn session(&mut self, output: &StorageLocation) -> Lowered<()> {
        let width = self.get_field(output, "clone_session_id")?;
        self.code.resize(width, 32);
        self.code.push(info::SESSION_ASKED);
        self.code.op(Op::Or);
        Ok(())
    }

    fn psa_egress(&mut self, parts: &Parts, half: &Half, travelling: &[StorageLocation], saved: &Saved) -> Lowered<()> {
        let [normal, ingress_clone, egress_clone, _, recirculate] = travelling else { return Ok(()) };
        self.half = Part::Egress;
        self.restore(saved, false);
        self.start_half(parts, half, &[("egress_port", info::EGRESS_PORT)], &[normal, ingress_clone, egress_clone])?;
        for (name, at, width) in [("class_of_service", info::CLASS, 16), ("instance", info::RID, 16), ("egress_timestamp", info::TIME, 48)]
        {
            self.set_from_info(&half.input, name, at, width)?;
        }
        let Half { headers, metadata, input, output, .. } = half;
        self.run_block(parts, 4, &[Some(headers), Some(metadata), Some(input), Some(output)])?;
        let port = self.part_type(parts, 5, 6).and_then(|ty| self.new_place(&ty, parts.span))?;
        self.clear(&port, parts.span)?;
        self.set_from_info(&port, "egress_port", info::EGRESS_PORT, 32)?;
        self.clear(egress_clone, parts.span)?;
        self.clear(recirculate, parts.span)?;
        let places = [None, Some(egress_clone), Some(recirculate), Some(headers), Some(metadata), Some(output), Some(&port)];
        self.run_block(parts, 5, &places)?;
        self.put_emitted();
        self.save(saved);
        self.leave(parts, output)
    }

    /// What follows egress: a clone, a drop, recirculation, or sending.
    fn leave(&mut self, parts: &Parts, output: &StorageLocation) -> Lowered<()> {
        let (no_clone, stays, out) = (self.code.label(), self.code.label(), self.code.label());
        self.flag(output, "clone")?;
        self.code.branch(Op::JEq, no_clone);
        self.session(output)?;
        self.put_info(32, info::SESSION);
        self.code.push(CLONE_E2E + 1);
        self.put_info(32, info::FIELDS);
        self.code.op1(Op::PktSendDup, ports::MIRROR);
        self.code.bind(no_clone);
        self.flag(output, "drop")?;
        self.code.branch(Op::JEq, stays);
        self.mark(crate::marks::MarkKind::Dropped, "", parts.span, &[]);
        self.code.op1(Op::PktDrop, 1);
        self.code.bind(stays);
        self.code.push(info::EGRESS_PORT);
        self.code.w(Op::WiLoad, 32);
        self.code.push(RECIRCULATE_PORT);
        self.code.branch(Op::JCmpNeq, out);
        self.code.push(RECIRCULATE + 1);
        self.put_info(32, info::RECIRCULATE);
        self.code.push(RECIRCULATE_PORT);
        self.put_info(32, info::INGRESS_PORT);
        self.code.bind(out);
        self.code.op1(Op::PktSend, ports::OUT);
        Ok(())
    }
}
