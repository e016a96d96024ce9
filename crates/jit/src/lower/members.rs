//! Members that share a handler's code: which one has the packet, where its memories are, and where
//! its ports lead.
//!
//! A handler of one member knows all of that when it is compiled. Of several, the address of the
//! member's row comes with the packet; numbers that differ among them, of members behind, inputs,
//! exits and counts, are in constant tables.
//!
//! Source: identical code folding (`compiler::cluster::Identical`). Constants that differ are in
//! memory (`chain::constants`). Leaves out: handlers that differ in a switch, an offset or a set.

use super::fused::{Element, Instance};
use super::{Lower, args, constant, trusted};
use crate::frame::{self, exit};
use compiler::mir::{Block, Func};
use cranelift_codegen::ir::{self, InstBuilder, types};
use netil::cluster::LinkTarget;

impl Element<'_> {
    /// What comes with a packet: the member's row if there are several, and the input port if the
    /// handler wants to know and there are several.
    pub fn start_params(&self) -> Vec<ir::Type> {
        let row = (self.instances.len() > 1).then_some(types::I64);
        row.into_iter().chain(self.takes_port().then_some(types::I32)).collect()
    }

    fn takes_port(&self) -> bool {
        self.only_input().is_none() && is_used(self.func)
    }

    /// Its input port, if it has one.
    fn only_input(&self) -> Option<u32> {
        let mut inputs = self.module.all_ports().into_iter().filter(|(_, port)| port.kind.is_input()).map(|(id, _)| id);
        inputs.next().filter(|_| inputs.next().is_none())
    }

    /// By member where a port leads.
    pub fn ways(&self, port: u32) -> Vec<Option<LinkTarget>> {
        self.instances.iter().map(|instance| instance.ways.get(port as usize).copied().flatten()).collect()
    }

    /// By member where packets are counted that leave by a port, if they are.
    pub fn counts(&self, port: u32) -> Option<Vec<u64>> {
        let place = |instance: &Instance<'_>| Some(u64::from((*instance.counts.get(port as usize)?)?));
        self.instances.iter().map(place).collect()
    }
}

/// Whether a handler asks by which port a packet came in.
fn is_used(func: &Func) -> bool {
    let Some(port) = func.block(Block(0)).params.first() else { return false };
    let mut used = false;
    for block in &func.blocks {
        block.ops.iter().filter_map(|v| func.op(*v)).for_each(|op| op.operands(|v| used |= v == *port));
        block.end.values(|v| used |= v == *port);
    }
    used
}

/// What says which of several numbers is meant.
#[derive(Clone, Copy)]
pub(super) enum By {
    /// The member that has the packet: there is one for each that runs the handler.
    Member,
    /// Their index, of 64 bits, which was compared with how many there are.
    Index(ir::Value),
}

/// Of ways the numbers of members or exits.
fn targets(ways: &[Option<LinkTarget>]) -> Vec<u64> {
    let number = |way: &Option<LinkTarget>| match way {
        Some(LinkTarget::Member(to, _)) => *to,
        Some(LinkTarget::Exit(exit) | LinkTarget::LastExit(exit)) => *exit,
        _ => 0,
    };
    ways.iter().map(|way| number(way).into()).collect()
}

impl<'a> Lower<'a> {
    /// The handler that a member runs.
    fn behind(&self, member: u32) -> Option<&'a Element<'a>> {
        let elements = self.fusion.as_ref()?.elements;
        Some(&elements.all[elements.of_member[member as usize]])
    }
}

impl Lower<'_> {
    /// Goes to the start of a member, or to the function that it is in.
    pub(super) fn start_member_at(&mut self, member: u32, port: ir::Value) {
        let Some(start) = self.start_of(member) else {
            self.set_field(frame::PORT, port);
            let code = self.iconst(types::I64, exit::MEMBER | u64::from(member) << 32);
            return self.leave_member(code);
        };
        let Some(behind) = self.behind(member) else { return };
        let mut params = Vec::new();
        if behind.instances.len() > 1 {
            let row = self.iconst(types::I64, u64::from(member * frame::unit::SIZE));
            params.push(self.row_at(row));
        }
        if behind.takes_port() {
            params.push(port);
        }
        self.b.ins().jump(start, &args(&params));
    }

    /// Where the code begins of members that ways lead to, if this function is of it.
    pub(super) fn start_behind(&self, ways: &[Option<LinkTarget>]) -> Option<ir::Block> {
        let Some(Some(LinkTarget::Member(to, _))) = ways.first() else { return None };
        self.start_of(*to)
    }

    /// Where a member begins, if this function is of it.
    pub(super) fn start_of(&self, member: u32) -> Option<ir::Block> {
        let fusion = self.fusion.as_ref()?;
        fusion.starts[fusion.elements.of_member[member as usize]]
    }

    /// The packet goes on to one of the members that ways lead to, which share code.
    pub(super) fn go_to(&mut self, ways: &[Option<LinkTarget>], by: By) {
        let Some(Some(LinkTarget::Member(first, _))) = ways.first() else { return };
        let Some((several, takes_port)) = self.behind(*first).map(|behind| (behind.instances.len() > 1, behind.takes_port())) else {
            return;
        };
        let input = |way: &Option<LinkTarget>| if let Some(LinkTarget::Member(_, input)) = way { u64::from(*input) } else { 0 };
        let inputs: Vec<u64> = ways.iter().map(input).collect();
        let Some(start) = self.start_of(*first) else {
            let port = self.chosen(by, &inputs);
            let port = self.b.ins().ireduce(types::I32, port);
            self.set_field(frame::PORT, port);
            let codes: Vec<u64> = targets(ways).into_iter().map(|to| exit::MEMBER | to << 32).collect();
            let code = self.chosen(by, &codes);
            return self.leave_member(code);
        };
        let mut params = Vec::new();
        if several {
            params.push(self.row_behind(&targets(ways), by));
        }
        if takes_port {
            let port = self.chosen(by, &inputs);
            params.push(self.b.ins().ireduce(types::I32, port));
        }
        self.b.ins().jump(start, &args(&params));
    }

    /// The packet leaves by one of the exits that ways lead to.
    pub(super) fn leave_by(&mut self, ways: &[Option<LinkTarget>], by: By) {
        let exit = self.chosen(by, &targets(ways));
        let (exit, member) = (self.b.ins().ireduce(types::I32, exit), self.member());
        if let Some(fusion) = &self.fusion {
            self.b.ins().jump(fusion.blocks.out, &args(&[exit, member]));
        }
    }

    /// Takes what comes with a packet; gives the input port.
    pub(super) fn take_start_params(&mut self, start: ir::Block) -> ir::Value {
        let mut params = self.b.block_params(start).to_vec().into_iter();
        if let Some(row) = self.fusion.as_ref().and_then(|fusion| fusion.row)
            && let Some(param) = params.next()
        {
            self.b.def_var(row, param);
        }
        let only = self.element().and_then(Element::only_input).unwrap_or(0);
        params.next().unwrap_or_else(|| self.iconst(types::I32, only.into()))
    }

    /// The row of one of some members. Where all are as far behind those that the packet is in, as
    /// members of ports are that were declared alike, no table is needed.
    fn row_behind(&mut self, to: &[u64], by: By) -> ir::Value {
        let size = i64::from(frame::unit::SIZE);
        let instances = self.element().map_or(&[][..], |element| &element.instances);
        let steps: Vec<i64> = instances.iter().zip(to).map(|(from, to)| to.cast_signed() - i64::from(from.member)).collect();
        if let (By::Member, Some(row)) = (by, self.shared_row())
            && steps.windows(2).all(|pair| pair[0] == pair[1])
        {
            return self.b.ins().iadd_imm_s(row, size * steps[0]);
        }
        let rows: Vec<u64> = to.iter().map(|to| to * size.cast_unsigned()).collect();
        let at = self.chosen(by, &rows);
        self.row_at(at)
    }

    /// The row of a member at a place among all rows.
    fn row_at(&mut self, at: ir::Value) -> ir::Value {
        let rows = self.field(frame::UNITS, types::I64, constant());
        self.b.ins().iadd(rows, at)
    }

    /// The row of the member that has the packet, if several run the handler.
    fn shared_row(&mut self) -> Option<ir::Value> {
        let row = self.fusion.as_ref()?.row?;
        Some(self.b.use_var(row))
    }

    /// The number of the member that has the packet.
    pub(super) fn member(&mut self) -> ir::Value {
        let first = self.element().and_then(|element| element.instances.first()).map_or(0, |instance| instance.member);
        match self.shared_row() {
            Some(row) => self.b.ins().load(types::I32, constant(), row, frame::unit::MEMBER as i32),
            None => self.iconst(types::I32, first.into()),
        }
    }

    /// A number of 64 bits out of some.
    pub(super) fn chosen(&mut self, by: By, numbers: &[u64]) -> ir::Value {
        match by {
            _ if numbers.windows(2).all(|pair| pair[0] == pair[1]) => self.iconst(types::I64, numbers.first().copied().unwrap_or(0)),
            By::Member => self.by_member(numbers),
            By::Index(index) => self.by_index(numbers, index),
        }
    }

    fn by_member(&mut self, numbers: &[u64]) -> ir::Value {
        let Some(element) = self.element() else { return self.iconst(types::I64, 0) };
        let last = element.instances.last().map_or(0, |instance| instance.member as usize);
        let mut all = vec![0; last + 1];
        element.instances.iter().zip(numbers).for_each(|(instance, number)| all[instance.member as usize] = *number);
        let (table, member) = (self.table(all), self.member());
        self.entry(table, member)
    }

    /// Computed where the numbers go up evenly.
    fn by_index(&mut self, numbers: &[u64], index: ir::Value) -> ir::Value {
        let step = numbers[1].wrapping_sub(numbers[0]);
        if numbers.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == step) {
            let at = self.b.ins().imul_imm_s(index, step.cast_signed());
            return self.b.ins().iadd_imm_s(at, numbers[0].cast_signed());
        }
        let number = self.table(numbers.to_vec());
        let tables = self.field(frame::TABLES, types::I64, constant());
        let table = self.b.ins().load(types::I64, constant(), tables, 8 * number as i32);
        let at = self.b.ins().ishl_imm_u(index, 3);
        let at = self.b.ins().iadd(table, at);
        // Not before the index was compared.
        self.b.ins().load(types::I64, trusted(), at, 0)
    }

    /// A pointer of the member's row.
    pub(super) fn unit(&mut self, field: u32) -> ir::Value {
        if let Some(row) = self.shared_row() {
            return self.pointer(row, field);
        }
        let member = self.element().map_or(0, |element| element.instances[0].member);
        let rows = self.field(frame::UNITS, types::I64, constant());
        self.pointer(rows, member * frame::unit::SIZE + field)
    }

    /// A pointer of a row of one of the member's tables.
    pub(super) fn part_of(&mut self, table: u32, field: u32) -> ir::Value {
        if let Some(row) = self.shared_row() {
            let rows = self.pointer(row, frame::unit::TABLES);
            return self.pointer(rows, table * frame::parts::SIZE + field);
        }
        let first = self.element().map_or(0, |element| element.instances[0].tables);
        let rows = self.field(frame::PARTS, types::I64, constant());
        self.pointer(rows, (first + table) * frame::parts::SIZE + field)
    }

    fn pointer(&mut self, rows: ir::Value, at: u32) -> ir::Value {
        let flags = trusted().with_alias_region(Some(self.shared.regions.rows));
        self.b.ins().load(types::I64, flags, rows, at as i32)
    }
}
