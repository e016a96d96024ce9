//! Readers: programs that do what an element does with a packet as far as that changes nothing it
//! keeps. Any other packet goes on to the element itself, as it came.
//!
//! ```text
//!  ──▶ reader, in each replica, with a copy of the state ──▶ as from the element
//!        │ what would be changed
//!        ▼
//!      the element, under its lock ──▶
//! ```
//!
//! A reader is the element's push handler with one more output, by which the packet leaves at every
//! instruction that would change something. It is fit to stand before the element if no packet is
//! changed on a way to that output, and if there is a way past it.
//!
//! Source: P. McKenney, J. Slingwine, Read-Copy Update (PDCS 1998), for state that is read for
//! nearly every packet and seldom written. Left out: readers for other inputs than the first.

use super::super::accesses::Counters;
use super::super::order::keeps;
use crate::application::Stats;
use compiler::mir::{Func, Helper, Op, Terminator, Value};
use compiler::passes;
use netil::Verified;
use netil::app::{Application, Body, End, Instance, Wire};
use netil::module::{Extra, HandlerKind, Inst, Module, Port, PortKind};
use netil::table::{Op as Instruction, Own, Sem, Space};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The reader of a program.
///
/// # Errors
/// Why there is none.
pub(super) fn reader(program: &Verified) -> Result<Arc<Verified>, String> {
    let module = program.module();
    if program.shared_size() > 0 || module.port_kind(0) != Some(PortKind::PushInput) {
        return Err("it has shared memory, or packets are pulled through it".to_owned());
    }
    let away = module.all_ports().len() as u32;
    // Its memory is a copy, and what only people's handlers use, such as the console, it does not
    // have.
    let mut module = Module { init: None, pull: None, controls: Vec::new(), coprocessors: Vec::new(), ..module.clone() };
    module.ports.push(Port { name: "away".to_owned(), kind: PortKind::PushOutput });
    let ages: Vec<bool> = module.tables.iter().map(|table| table.timeout_ns != 0).collect();
    for inst in module.push.iter_mut().flat_map(|push| &mut push.code).filter(|inst| changes(inst, &ages)) {
        *inst = Inst { op: Instruction::PktSend, imm: [away, 0, 0], extra: Extra::None };
    }
    let refused =
        |faults: Vec<netil::verify::VerifyError>| faults.first().map_or(String::new(), |fault| format!("its reader is refused: {fault}"));
    let reader = Arc::new(netil::verify(module).map_err(refused)?);
    let optimised = compiler::optimised(&reader, HandlerKind::Push, &passes::Options::default()).map_err(|error| error.to_string())?;
    let (func, _) = optimised.ok_or("it has no push handler")?;
    is_fit(&func, away).map(|()| reader).map_err(str::to_owned)
}

/// Whether an instruction changes what stays when the packet has gone. One that does and is not
/// told here is found in what is made of it, and makes the reader [unfit](is_fit).
fn changes(inst: &Inst, ages: &[bool]) -> bool {
    let lasts = |space: Space| !matches!(space, Space::Packet | Space::Info);
    match inst.op.row().sem {
        Sem::Store(space, _) | Sem::WideStore(space) | Sem::Copy(_, space) => lasts(space),
        // The entry is used.
        Sem::Own(Own::TFind) => ages.get(inst.imm[0] as usize).is_none_or(|ages| *ages),
        Sem::Own(Own::TInsert | Own::TDelete | Own::TStore | Own::TWalk | Own::TDue | Own::TNext | Own::TDeadline) => true,
        Sem::Own(Own::CoproIn | Own::CoproOut | Own::CoproInvoke | Own::CoproExbuf) => true,
        Sem::Own(Own::PktHold | Own::PktTake | Own::TimerSet | Own::Rnd) => true,
        _ => false,
    }
}

/// Whether nothing is kept, no packet is changed before it leaves by that port, and some way does
/// not lead there; otherwise what is not so.
fn is_fit(func: &Func, away: u32) -> Result<(), &'static str> {
    // None: not reached so far; whether the packet may have been changed.
    let mut reached: Vec<Option<bool>> = vec![None; func.blocks.len()];
    reached[0] = Some(false);
    let (mut open, mut passes) = (vec![0_usize], false);
    while let Some(at) = open.pop() {
        let block = &func.blocks[at];
        let ops = || block.ops.iter().filter_map(|value| func.op(*value));
        if ops().any(stays) {
            return Err("it keeps something on a way that a reader would go");
        }
        let changed = reached[at] == Some(true) || ops().any(touches);
        match &block.end {
            Terminator::Send(port) if *port == away && changed => return Err("it changes packets before what it keeps of them"),
            Terminator::Send(port) => passes |= *port != away,
            Terminator::Drop(_) | Terminator::SendBy(..) => passes = true,
            _ => {}
        }
        for edge in block.end.edges() {
            let to = &mut reached[edge.block.0 as usize];
            let more = Some(changed || *to == Some(true));
            if *to != more {
                *to = more;
                open.push(edge.block.0 as usize);
            }
        }
    }
    if passes { Ok(()) } else { Err("each packet changes something") }
}

/// Whether an operation leaves something behind.
fn stays(op: &Op) -> bool {
    match op {
        Op::Store(space, ..) => !matches!(space, Space::Packet | Space::Info),
        Op::Helper(helper, ..) => keeps(*helper),
        Op::Random(_) | Op::ExceptionLoad(_) | Op::ExceptionStore(..) => true,
        _ => false,
    }
}

/// Whether it changes the packet, or sends a copy.
fn touches(op: &Op) -> bool {
    match op {
        Op::Store(..) => true,
        Op::Helper(helper, ..) => !helper.leaves_packet(),
        _ => false,
    }
}

/// The bytes of data memory that a reader looks at.
pub(super) fn looks_at(reader: &Verified) -> Vec<Range<usize>> {
    let size = reader.module().data_size as usize;
    let Ok(Some((func, _))) = compiler::optimised(reader, HandlerKind::Push, &passes::Options::default()) else {
        return std::iter::once(0..size).collect();
    };
    let counters = Counters::of(reader, &func);
    let load = |value: &Value| {
        let op = func.op(*value).filter(|op| matches!(op, Op::Load(Space::Data, ..) | Op::Helper(Helper::Copy(Space::Data, _), ..)))?;
        let place = if matches!(op, Op::Helper(..)) { counters.copied(*value)[0] } else { counters.place(*value) };
        Some(place.map_or(0..size, |place| place.at.low as usize..place.at.high.saturating_add(place.bytes) as usize))
    };
    func.blocks.iter().flat_map(|block| &block.ops).filter_map(load).collect()
}

/// Puts readers before elements: they follow all others, in the order of their elements.
pub(super) fn place(application: &mut Application, readers: &BTreeMap<usize, Arc<Verified>>) {
    for (at, reader) in readers {
        let (of, own) = (*at as u32, application.instances.len() as u32);
        let Instance { name, class, .. } = &application.instances[*at];
        let instance = Instance { name: format!("{name}/reader"), class: class.clone(), body: Body::Program(Arc::clone(reader)) };
        application.instances.push(instance);
        application.arguments.push(Vec::new());
        application.variables.push(Vec::new());
        let first = End { instance: of, port: 0 };
        application.wires.iter_mut().filter(|wire| wire.to == first).for_each(|wire| wire.to.instance = own);
        let mut from = |wire: &Wire| (wire.from.instance == of).then_some(Wire { from: End { instance: own, ..wire.from }, ..*wire });
        let more: Vec<Wire> = application.wires.iter().filter_map(&mut from).collect();
        application.wires.extend(more);
        application.wires.push(Wire { from: End { instance: own, port: away(reader) }, to: first, recirculates: false });
        application.apart.insert(of);
        application.copies.insert(own);
    }
    application.wires.sort_unstable();
}

/// A part of packets, of 100, from which on it is told that they go past a reader.
const MANY: u64 = 10;

/// Elements whose readers have let more packets go on to the element itself than pays: each of them
/// ends a burst in every replica.
pub(super) fn passed(stats: &Stats, readers: &BTreeMap<usize, Arc<Verified>>) -> Vec<String> {
    let first = stats.nodes.len() - readers.len().min(stats.nodes.len());
    let told = |((at, reader), (.., its)): ((&usize, &Arc<Verified>), &(String, String, runtime::graph::NodeStats))| {
        let gone = its.out.get(away(reader) as usize).copied().unwrap_or(0);
        let part = (gone * 100).checked_div(its.packets).filter(|part| *part >= MANY)?;
        let name = &stats.nodes[*at].0;
        Some(format!(
            "--state copies: {part} % of the packets changed the state of `{name}`, and each of them ends a burst in all replicas; --state {name}=lock is faster"
        ))
    };
    readers.iter().zip(&stats.nodes[first..]).filter_map(told).collect()
}

/// Adds what readers did with packets to their elements.
pub(super) fn fold(stats: &mut Stats, readers: &BTreeMap<usize, Arc<Verified>>) {
    let first = stats.nodes.len() - readers.len().min(stats.nodes.len());
    let nodes = stats.nodes.split_off(first);
    for ((at, reader), (.., its)) in readers.iter().zip(nodes) {
        let (away, own) = (away(reader) as usize, &mut stats.nodes[*at].2);
        let gone = its.out.get(away).copied().unwrap_or(0);
        own.packets += its.packets.saturating_sub(gone);
        own.traps += its.traps;
        own.first_trap = own.first_trap.take().or(its.first_trap);
        own.out.resize(own.out.len().max(its.out.len().min(away)), 0);
        own.out.iter_mut().zip(its.out.iter().take(away)).for_each(|(sum, its)| *sum += its);
        its.drops.into_iter().for_each(|(reason, count)| *own.drops.entry(reason).or_default() += count);
    }
}

/// The output by which packets go on to the element itself.
pub(super) fn away(reader: &Verified) -> u32 {
    let outputs = reader.module().all_ports().iter().filter(|(_, port)| !port.kind.is_input()).count() as u32;
    outputs.saturating_sub(1)
}
