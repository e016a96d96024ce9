//! Elements linked for scripts: those of all cases in one piece of C, so that the compiler runs
//! once; no packet goes from one to another.

use super::ScriptError;
use super::element::Element;
use crate::application::linked::handler;
use crate::engines::Settings;
use aot::Fused;
use compiler::cluster::Member;
use netil::Verified;
use netil::cluster::{Cluster, Ended, Host, LinkTarget};
use netil::exec::{CloneOut, DEFAULT_BUDGET, ExchangeBuffer, State};
use netil::module::PortKind;
use netil::pool::Pool;
use std::sync::Arc;

/// Those elements of a script that can be linked.
pub(super) struct Together {
    cluster: Fused,
    /// Their cases.
    cases: Vec<usize>,
    /// Where packets come in: member, port.
    entries: Vec<(u32, u32)>,
    /// Room for the packet that is run.
    pool: Pool,
}

/// The elements while linked code runs.
struct RunContext<'e> {
    elements: &'e mut [Element],
    cases: &'e [usize],
}

impl Together {
    /// Links what can be; `None` if that is nothing.
    pub(super) fn link(elements: &[Element], settings: Settings) -> Result<Option<Self>, ScriptError> {
        let (mut cases, mut members, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        for (case, element) in elements.iter().enumerate() {
            let program = &element.program;
            let inputs = ports(program, |kind| kind == PortKind::PushInput);
            let Some(func) = handler(program, settings).filter(|_| !inputs.is_empty()) else { continue };
            entries.extend(inputs.into_iter().map(|port| (cases.len() as u32, port)));
            let links = ports(program, |kind| !kind.is_input()).into_iter().map(|port| (port, LinkTarget::AtOnce)).collect();
            members.push((Arc::clone(program), Member { program, func, links }));
            cases.push(case);
        }
        if members.is_empty() {
            return Ok(None);
        }
        let cluster = Fused::new(&members, &entries, settings.cluster(), &settings.options(None))
            .map_err(|error| ScriptError::new(error.to_string()))?;
        let info = members.iter().map(|(program, _)| program.module().info_size as usize).max().unwrap_or(0);
        Ok(Some(Self { cluster, cases, entries, pool: Pool::new(1, info) }))
    }

    fn entry(&self, case: usize, port: usize) -> Option<usize> {
        let member = self.cases.iter().position(|c| *c == case)?;
        self.entries.iter().position(|(m, p)| (*m as usize, *p as usize) == (member, port))
    }

    /// True if that case's packets at that port are for linked code.
    pub(super) fn takes(&self, case: usize, port: usize) -> bool {
        self.entry(case, port).is_some()
    }

    /// Runs a packet.
    pub(super) fn run(&mut self, elements: &mut [Element], case: usize, port: usize, mut packet: ExchangeBuffer<'static>) {
        let Some(entry) = self.entry(case, port) else { return };
        elements[case].state.number(&mut packet);
        let number = packet.number;
        // A packet without a past comes as sources put it there.
        let is_new = packet.is_present() && packet.moved() == 0 && packet.info.iter().all(|byte| *byte == 0);
        self.pool.enter(entry as u32);
        let slot = match is_new {
            true => self.pool.put(packet.bytes(), packet.time_ns, packet.wire_len(), 0),
            false => self.pool.place(packet, 0),
        };
        self.pool.keep_numbers(true);
        slot.iter().for_each(|slot| self.pool.set_number(*slot, number));
        let mut context = RunContext { elements, cases: &self.cases };
        self.cluster.run(slot.as_slice(), DEFAULT_BUDGET, &mut self.pool, &mut context);
    }
}

fn ports(program: &Verified, fits: fn(PortKind) -> bool) -> Vec<u32> {
    program.module().all_ports().iter().filter(|(_, port)| fits(port.kind)).map(|(id, _)| *id).collect()
}

impl RunContext<'_> {
    fn element(&mut self, member: u32) -> &mut Element {
        &mut self.elements[self.cases[member as usize]]
    }
}

impl Host for RunContext<'_> {
    fn state(&mut self, member: u32) -> &mut State {
        &mut self.element(member).state
    }

    fn exit(&mut self, _: u32, slots: &[u32], pool: &mut Pool) {
        // All ports lead out at once.
        pool.give_back(slots);
    }

    fn ended(&mut self, ended: Ended, slots: &[u32], pool: &mut Pool) {
        for slot in slots {
            let packet = lift(*slot, pool);
            self.element(ended.member).ended(&packet, ended.disposition);
        }
    }

    fn leave(&mut self, ended: Ended, slot: u32, copies: Vec<CloneOut>, pool: &mut Pool) {
        let packet = lift(slot, pool);
        let element = self.element(ended.member);
        copies.iter().for_each(|copy| element.out(copy.port, &copy.buffer));
        element.ended(&packet, ended.disposition);
    }
}

fn lift(slot: u32, pool: &mut Pool) -> ExchangeBuffer<'static> {
    let packet = pool.lift(slot);
    pool.give_back(&[slot]);
    packet
}
