//! A program for v1model as an element of a graph: one handler from the port of arrival to the
//! egress port.
//!
//! ```text
//!  input k ─▶ parser, checks, ingress ─┬─ one port ──────────────▶ egress, checksums, deparser ─▶ output of that port
//!                                      └─ a group: for each copy ─▶    as above
//! ```
//!
//! Input k is port k, output k is port k. What the switch around a program does besides (clones,
//! resubmission, recirculation, digests) has no place in a handler: it is refused where the program
//! asks for it. Between the copies of a group, headers and metadata are in data memory; the payload
//! is what it was once the copy's headers are taken off again.
//!
//! Time counts from the first packet, as on the switch. What a program does not need, a start time
//! and groups, is not in its module: which that is, is known when it has been lowered, and then it
//! is lowered once more.

use super::simple_switch::{DROP_PORT, PATHS};
use super::{Lower, Lowered, Parts, fault};
use crate::hir::Expr;
use crate::lower::code::LabelId;
use crate::lower::place::StorageLocation;
use crate::pipeline::{Pipeline, Saved, info};
use frontends::diagnostics::Span;
use netil::module::{Label, Port, PortKind, TableKind, entry_type};
use netil::table::Op;

/// Members of all groups together.
const MEMBERS: u32 = 4096;
/// Why packets are dropped: reasons of the module.
const REASONS: [(u32, &str); 3] =
    [(DROP_PORT, "dropped by the program"), (NO_OUTPUT, "no output for its egress port"), (NO_GROUP, "no such multicast group")];
const NO_OUTPUT: u32 = 512;
const NO_GROUP: u32 = 513;

/// What a module has only if the program needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::lower) struct Needs {
    /// The time since the first packet.
    time: bool,
    /// Multicast groups.
    groups: bool,
}

/// The element that a program becomes.
#[derive(Clone, Copy)]
pub(in crate::lower) struct Element {
    inputs: u32,
    outputs: u32,
    has: Needs,
    /// The local with the time in microseconds.
    time: u32,
    /// A meter or field has asked for it.
    asks_time: bool,
}

impl Element {
    pub(in crate::lower) fn new(inputs: u32, outputs: u32, has: Needs) -> Self {
        Self { inputs, outputs, has, time: 0, asks_time: false }
    }

    fn ports(&self) -> Vec<Port> {
        let ports = |count: u32, name: &'static str, kind| (0..count).map(move |n| Port { name: format!("{name}{n}"), kind });
        ports(self.inputs, "in", PortKind::PushInput).chain(ports(self.outputs, "out", PortKind::PushOutput)).collect()
    }
}

/// Locals and labels of a handler with groups.
struct Copies {
    table: u32,
    entry: u32,
    group: u32,
    index: u32,
    port: u32,
    rid: u32,
    /// There is another copy behind this one.
    more: u32,
    next: LabelId,
}

impl Lower<'_> {
    /// Refuses what only the switch around a program can do.
    pub(in crate::lower) fn inside_graph(&self, name: &str, call: &Expr) -> Lowered<()> {
        let outside = ["clone", "clone3", "clone_preserving_field_list", "digest", "truncate"];
        let again = name.starts_with("resubmit") || name.starts_with("recirculate");
        match self.element.is_some() && (again || outside.contains(&name)) {
            true => fault(call.span, format!("`{name}` needs the switch around a program, and this one is an element of a graph")),
            false => Ok(()),
        }
    }

    /// Pushes microseconds since the first packet, 48 bits.
    pub(in crate::lower) fn push_time(&mut self) {
        match &mut self.element {
            Some(element) => {
                element.asks_time = true;
                self.code.get(element.time);
            }
            None => {
                self.code.push(info::TIME);
                self.code.w(Op::WiLoad, 48);
            }
        }
    }

    /// Writes the whole handler.
    pub(in crate::lower) fn v1_element(&mut self, parts: &Parts) -> Lowered<(Pipeline, Needs)> {
        let Some(Element { outputs, has, .. }) = self.element else { return fault(parts.span, "this is no element") };
        let [port, cursor, error, out_len, length] = [32; 5].map(|w| self.code.new_local(w));
        (self.cursor, self.error, self.out_len, self.length) = (cursor, error, out_len, length);
        let [headers, metadata, standard] = [1, 2, 3].map(|n| self.part_type(parts, 0, n).and_then(|ty| self.new_place(&ty, parts.span)));
        let (headers, metadata) = (headers?, metadata?);
        self.standard = standard?;
        self.lay_metadata(&[&metadata, &self.standard.clone()], parts.span)?;
        self.code.depth = 1;
        self.code.set(port);
        for local in [cursor, error] {
            self.code.push(0);
            self.code.set(local);
        }
        self.start_time(has.time)?;
        let standard = self.standard.clone();
        let grown = self.track_length(parts)?;
        let saved = self.saved(&[(&headers, None), (&metadata, Some(&[])), (&standard, None), (&grown, None)], parts.span)?;
        self.arrive_element(parts, port, &headers, &metadata)?;
        let copies = if has.groups { Some(self.copies(&saved, parts.span)?) } else { None };
        if copies.is_none() {
            self.one_port()?;
        }
        self.leave_element(parts, outputs, copies.as_ref(), &headers, &metadata)?;
        let needs = self.needs()?;
        let ports = self.element.map(|element| element.ports()).unwrap_or_default();
        let mut pipeline = self.pipeline(saved, PATHS, ports);
        (pipeline.module.info_size, pipeline.info_bytes) = (0, 0);
        pipeline.module.reasons = REASONS.map(|(at, name)| Label { name: name.to_owned(), at }).to_vec();
        pipeline.groups = copies.map(|copies| copies.table);
        Ok((pipeline, needs))
    }

    /// What the code asks for. Copies of a group save and restore all fields, so what reads the
    /// time is known of a module without groups.
    fn needs(&self) -> Lowered<Needs> {
        let Some(Element { has, asks_time, .. }) = self.element else { return Ok(Needs::default()) };
        let mut time = asks_time;
        for name in ["ingress_global_timestamp", "egress_global_timestamp"] {
            time |= self.field_of(&self.standard, name)?.is_some_and(|(place, _)| self.code.loads(place.base));
        }
        let group = self.field_of(&self.standard, "mcast_grp")?;
        let groups = group.is_some_and(|(place, _)| self.code.sets(place.base));
        Ok(Needs { time: if has.groups { has.time } else { time }, groups })
    }

    /// The time of the packet, from the first one's on, which data memory keeps.
    fn start_time(&mut self, is_needed: bool) -> Lowered<()> {
        let local = self.code.new_local(48);
        if let Some(element) = &mut self.element {
            element.time = local;
        }
        if !is_needed {
            self.code.constant(&0.into(), 48);
            self.code.set(local);
            return Ok(());
        }
        let at = self.allot(16, Span::default())?;
        let known = self.code.label();
        self.code.push(at + 8);
        self.code.op(Op::UmLoad32);
        self.code.branch(Op::JNe, known);
        self.code.push(1);
        self.code.push(at + 8);
        self.code.op(Op::MStore32);
        self.code.op(Op::TimeNs);
        self.code.push(at);
        self.code.w(Op::WmStore, 64);
        self.code.bind(known);
        self.code.op(Op::TimeNs);
        self.code.push(at);
        self.code.w(Op::WmLoad, 64);
        self.code.w(Op::WSubSat, 64);
        self.code.constant(&1000.into(), 64);
        self.code.w(Op::WDiv, 64);
        self.code.resize(64, 48);
        self.code.set(local);
        Ok(())
    }

    fn set_standard(&mut self, name: &str, width: u16) -> Lowered<()> {
        let standard = self.standard.clone();
        self.set_field(&standard, name, width)
    }

    fn get_standard(&mut self, name: &str) -> Lowered<u16> {
        let standard = self.standard.clone();
        self.get_field(&standard, name)
    }

    /// From the arrival to the end of ingress.
    fn arrive_element(&mut self, parts: &Parts, port: u32, headers: &StorageLocation, metadata: &StorageLocation) -> Lowered<()> {
        let time = self.element.map_or(0, |element| element.time);
        self.clear(headers, parts.span)?;
        self.clear(metadata, parts.span)?;
        self.clear(&self.standard.clone(), parts.span)?;
        self.begin_length();
        self.code.get(port);
        self.code.resize(32, 9);
        self.set_standard("ingress_port", 9)?;
        self.code.op(Op::Pbl);
        self.code.set(self.length);
        self.code.get(self.length);
        self.set_standard("packet_length", 32)?;
        self.code.get(time);
        self.set_standard("ingress_global_timestamp", 48)?;
        let standard = self.standard.clone();
        self.run_block(parts, 0, &[None, Some(headers), Some(metadata), Some(&standard)])?;
        self.code.get(self.error);
        self.set_standard("parser_error", 32)?;
        self.code.get(self.cursor);
        self.code.op(Op::PktPull);
        self.run_block(parts, 1, &[Some(headers), Some(metadata)])?;
        self.run_block(parts, 2, &[Some(headers), Some(metadata), Some(&standard)])
    }

    /// Goes on with a packet for one port, and drops one for none.
    fn one_port(&mut self) -> Lowered<()> {
        let sent = self.code.label();
        self.drops()?;
        self.code.branch(Op::JEq, sent);
        self.code.op1(Op::PktDrop, DROP_PORT);
        self.code.bind(sent);
        self.get_standard("egress_spec")?;
        self.set_standard("egress_port", 9)
    }

    /// The table of the members of groups; its number.
    fn groups_table(&mut self) -> u32 {
        self.tables.push(netil::module::Table {
            name: "multicast".to_owned(),
            kind: TableKind::Exact,
            key_bits: 32,
            value_bytes: 4,
            capacity: MEMBERS,
            timeout_ns: 0,
            entries: Vec::new(),
        });
        self.tables.len() as u32 - 1
    }

    /// Goes on with each copy of a packet for a group, or with one for one port.
    fn copies(&mut self, saved: &Saved, span: Span) -> Lowered<Copies> {
        let table = self.groups_table();
        let [group, index, port, rid, more] = [32; 5].map(|w| self.code.new_local(w));
        let entry = self.code.new_local(entry_type(table));
        let (unicast, body) = (self.code.label(), self.code.label());
        let copies = Copies { table, entry, group, index, port, rid, more, next: self.code.label() };
        for local in [index, more] {
            self.code.push(0);
            self.code.set(local);
        }
        let width = self.get_standard("mcast_grp")?;
        self.code.resize(width, 32);
        self.code.set(group);
        self.code.get(group);
        self.code.branch(Op::JEq, unicast);
        self.each_member(&copies, saved, span)?;
        self.code.jump(body);
        self.code.bind(unicast);
        self.one_port()?;
        self.code.bind(body);
        Ok(copies)
    }

    /// Begins with the first member of the group at hand; behind the label `next` with another.
    fn each_member(&mut self, copies: &Copies, saved: &Saved, span: Span) -> Lowered<()> {
        let (found, memory) = (self.code.label(), self.allot(saved.end, span)?);
        self.save_at(saved, Op::WmStore, memory);
        self.find_member(copies);
        self.code.branch(Op::JNe, found);
        self.code.op1(Op::PktDrop, NO_GROUP);
        self.code.bind(found);
        self.code.bind(copies.next);
        self.restore_at(saved, Op::WmLoad, memory, false);
        self.code.push(PATHS.multicast);
        self.set_standard("instance_type", 32)?;
        self.load_member(copies)
    }

    /// Looks for the group's member with the index at hand, and pushes whether there is one.
    fn find_member(&mut self, copies: &Copies) {
        self.code.get(copies.group);
        self.code.push(16);
        self.code.op(Op::Shl);
        self.code.get(copies.index);
        self.code.op(Op::Or);
        self.code.op1(Op::TFind, copies.table);
        self.code.set(copies.entry);
        self.code.get(copies.entry);
        self.code.op1(Op::TValid, copies.table);
    }

    /// Takes port and replication id of the member at hand, and looks whether there is one behind
    /// it.
    fn load_member(&mut self, copies: &Copies) -> Lowered<()> {
        self.find_member(copies);
        self.code.op(Op::Pop);
        for (at, local) in [(0, copies.port), (2, copies.rid)] {
            self.code.get(copies.entry);
            self.code.op3(Op::TLoad, copies.table, 16, at);
            self.code.resize(16, 32);
            self.code.set(local);
        }
        self.code.get(copies.index);
        self.code.op(Op::Inc1);
        self.code.set(copies.index);
        self.find_member(copies);
        self.code.set(copies.more);
        self.code.get(copies.port);
        self.code.resize(32, 9);
        self.set_standard("egress_port", 9)?;
        self.code.get(copies.rid);
        self.code.resize(32, 16);
        self.set_standard("egress_rid", 16)
    }

    /// From egress to the output.
    fn leave_element(
        &mut self,
        parts: &Parts,
        outputs: u32,
        copies: Option<&Copies>,
        headers: &StorageLocation,
        metadata: &StorageLocation,
    ) -> Lowered<()> {
        let (standard, time) = (self.standard.clone(), self.element.map_or(0, |element| element.time));
        self.code.push(0);
        self.code.set(self.out_len);
        self.code.get(time);
        self.set_standard("egress_global_timestamp", 48)?;
        self.add_grown()?;
        self.code.constant(&0.into(), 9);
        self.set_standard("egress_spec", 9)?;
        self.run_block(parts, 3, &[Some(headers), Some(metadata), Some(&standard)])?;
        self.run_block(parts, 4, &[Some(headers), Some(metadata)])?;
        self.unless_dropped(copies)?;
        self.deparse(parts, 5, &[None, Some(headers)])?;
        if let Some(copies) = copies {
            self.send_copy(outputs, copies)?;
        }
        self.send(outputs, None)
    }

    /// Drops the packet, or this copy of it, if egress has said so.
    fn unless_dropped(&mut self, copies: Option<&Copies>) -> Lowered<()> {
        let sent = self.code.label();
        self.drops()?;
        self.code.branch(Op::JEq, sent);
        if let Some(copies) = copies {
            self.code.get(copies.more);
            self.code.branch(Op::JNe, copies.next);
        }
        self.code.op1(Op::PktDrop, DROP_PORT);
        self.code.bind(sent);
        Ok(())
    }

    /// Sends a copy and goes on with the next member, if there is one: the payload is what it was
    /// when the headers are off.
    fn send_copy(&mut self, outputs: u32, copies: &Copies) -> Lowered<()> {
        let (last, after) = (self.code.label(), self.code.label());
        self.code.get(copies.more);
        self.code.branch(Op::JEq, last);
        self.send(outputs, Some(after))?;
        self.code.bind(after);
        self.code.get(self.out_len);
        self.code.op(Op::PktPull);
        self.code.jump(copies.next);
        self.code.bind(last);
        Ok(())
    }

    /// Sends the packet, or a copy and goes on there, by the output of its egress port.
    fn send(&mut self, outputs: u32, after: Option<LabelId>) -> Lowered<()> {
        let first = self.element.map_or(0, |element| element.inputs);
        let count = outputs.min(DROP_PORT);
        // Labels are of the depth of the stack where they are made.
        let labels: Vec<LabelId> = (0..after.map_or(0, |_| count)).map(|_| self.code.label()).collect();
        let width = self.get_standard("egress_port")?;
        self.code.resize(width, 32);
        match after {
            Some(after) => self.send_copy_by(first, &labels, after),
            None if count == 0 => self.code.op(Op::Pop),
            None => self.code.op2(Op::PktSendBy, first, count),
        }
        if after.is_none() {
            self.code.op1(Op::PktDrop, NO_OUTPUT);
        }
        Ok(())
    }

    /// Sends a copy by the output whose number is on the stack, if there is one, and goes on there.
    fn send_copy_by(&mut self, first: u32, labels: &[LabelId], after: LabelId) {
        self.code.switch((0..).zip(labels.iter().copied()).collect(), after);
        for (n, label) in (first..).zip(labels) {
            self.code.bind(*label);
            self.code.op1(Op::PktSendDup, n);
            self.code.jump(after);
        }
    }
}
