//! Members that share a handler's code: which one has the packet, where its memories are, and where its ports lead.
//!
//! A handler of one member knows all of that when it is compiled. Of several, the address of the member's row comes with the packet; numbers that differ among them, of
//! members behind, inputs, exits and counts, are in constant tables.
//!
//! Source: identical code folding (`compiler::cluster::Identical`). Leaves out: members whose handlers differ in a constant.

use super::fused::{Element, Instance};
use super::{Lower, args, constant, trusted};
use crate::frame::{self, exit};
use compiler::mir::{Block, Func};
use cranelift_codegen::ir::{self, InstBuilder, types};
use netil::cluster::Way;

impl Element<'_> {
    /// What comes with a packet: the member's row if there are several, and the input port if the handler wants to know and there are several.
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
    pub fn ways(&self, port: u32) -> Vec<Option<Way>> {
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

/// Of ways, all to members or all to exits, the numbers of these, and input ports.
pub(super) fn numbers(ways: &[Option<Way>]) -> [Vec<u64>; 2] {
    let number = |way: &Option<Way>| match way {
        Some(Way::Member(to, input)) => (u64::from(*to), u64::from(*input)),
        Some(Way::Exit(exit) | Way::LastExit(exit)) => (u64::from(*exit), 0),
        _ => (0, 0),
    };
    let (to, inputs): (Vec<u64>, Vec<u64>) = ways.iter().map(number).unzip();
    [to, inputs]
}

impl Lower<'_> {
    /// Goes to the start of a member, or to the function that it is in.
    pub(super) fn start_member_at(&mut self, member: u32, port: ir::Value) {
        let (to, input) = (self.iconst(types::I64, member.into()), self.b.ins().uextend(types::I64, port));
        self.go_to(&[Some(Way::Member(member, 0))], to, input);
    }

    /// Where the code begins of members that ways lead to, if this function is of it.
    pub(super) fn start_behind(&self, ways: &[Option<Way>]) -> Option<ir::Block> {
        let Some(Some(Way::Member(to, _))) = ways.first() else { return None };
        self.start_of(*to)
    }

    /// Where a member begins, if this function is of it.
    pub(super) fn start_of(&self, member: u32) -> Option<ir::Block> {
        let fusion = self.fusion.as_ref()?;
        fusion.starts[fusion.elements.of_member[member as usize]]
    }

    /// The packet goes on to one of the members that ways lead to, which share code: its number and the input port, of 64 bits.
    pub(super) fn go_to(&mut self, ways: &[Option<Way>], to: ir::Value, input: ir::Value) {
        let Some(fusion) = &self.fusion else { return };
        let Some(Some(Way::Member(first, _))) = ways.first() else { return };
        let behind = &fusion.elements.all[fusion.elements.of_member[*first as usize]];
        let (several, takes_port, leave) = (behind.instances.len() > 1, behind.takes_port(), fusion.blocks.leave);
        let Some(start) = self.start_of(*first) else {
            let (port, member) = (self.b.ins().ireduce(types::I32, input), self.member());
            self.set_field(frame::PORT, port);
            let code = self.b.ins().ishl_imm_u(to, 32);
            let code = self.b.ins().bor_imm_u(code, exit::MEMBER as i64);
            self.b.ins().jump(leave, &args(&[code, member]));
            return;
        };
        let mut params = Vec::new();
        if several {
            params.push(self.row_of_member(to));
        }
        if takes_port {
            params.push(self.b.ins().ireduce(types::I32, input));
        }
        self.b.ins().jump(start, &args(&params));
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

    fn row_of_member(&mut self, member: ir::Value) -> ir::Value {
        let rows = self.field(frame::UNITS, types::I64, constant());
        let at = self.b.ins().imul_imm_s(member, i64::from(frame::unit::SIZE));
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

    /// The number out of some, one for each member that runs the handler, which is that of the member that has the packet.
    pub(super) fn by_member(&mut self, numbers: &[u64]) -> ir::Value {
        let Some(element) = self.element() else { return self.iconst(types::I64, 0) };
        if numbers.windows(2).all(|pair| pair[0] == pair[1]) {
            return self.iconst(types::I64, numbers.first().copied().unwrap_or(0));
        }
        let last = element.instances.last().map_or(0, |instance| instance.member as usize);
        let mut all = vec![0; last + 1];
        element.instances.iter().zip(numbers).for_each(|(instance, number)| all[instance.member as usize] = *number);
        let (table, member) = (self.table(all), self.member());
        self.entry(table, member)
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
            let rows = self.pointer(row, frame::unit::PARTS);
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
