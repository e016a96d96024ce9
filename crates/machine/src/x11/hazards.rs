//! Reads and writes of the same memory in different access points: packets that come in between see
//! what is about to change.
//!
//! The window is the distance of the two points in cycles over the cycles between packets. Within
//! it a packet reads what the one before has not written yet, or its write is lost. An operation
//! that reads, adds and writes at once is no hazard, nor are two writes of which none depends on a
//! read of the same memory.
//!
//! Source: NetVM paper, sections 5.3.2 and 6.2: the learning switch, whose window is 3 to 4
//! packets.

use super::Machine;
use super::code::{Access, Memory, Program, Stage, Store};

/// A hazard.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Hazard {
    /// The element whose memory it is.
    pub element: usize,
    /// The table, if it is one.
    pub table: Option<u32>,
    /// The memory, in words.
    pub what: String,
    /// The stage that reads, and the one that writes.
    pub stages: (usize, usize),
    /// Packets behind the first that may read before its write is done.
    pub packets: u32,
}

fn reads(access: &Access) -> Option<Memory> {
    match access {
        Access::Find { table, .. } => Some(*table),
        Access::Read(span, _) if span.memory.store != Store::Initialised => Some(span.memory),
        _ => None,
    }
}

fn writes(access: &Access) -> Option<Memory> {
    match access {
        Access::Insert { table, .. } | Access::Delete { table, .. } => Some(*table),
        Access::Write(span, _) => Some(span.memory),
        _ => None,
    }
}

/// All of a program: for each memory the read and the write that are furthest apart.
pub fn find(program: &Program, machine: &Machine) -> Vec<Hazard> {
    let points = || {
        program
            .stages
            .iter()
            .enumerate()
            .filter_map(|(n, stage)| if let Stage::Point(Some(access)) = stage { Some((n, access)) } else { None })
    };
    let places = machine.places(program.stages.len());
    let cycle = |stage: usize| places.iter().position(|place| *place == Some(stage)).unwrap_or(0);
    let mut found: Vec<Hazard> = Vec::new();
    for (from, memory) in points().filter_map(|(n, access)| Some((n, reads(access)?))) {
        let Some(to) = points().filter(|(n, access)| *n > from && writes(access) == Some(memory)).map(|(n, _)| n).max() else { continue };
        let known = found.iter().any(|h| (h.element, h.what.as_str()) == (memory.element, what(memory.store).as_str()));
        if !known {
            let packets = ((cycle(to) - cycle(from)) as u32).div_ceil(machine.pipeline.packet_cycles);
            let table = if let Store::Table(n) = memory.store { Some(n) } else { None };
            found.push(Hazard { element: memory.element, table, what: what(memory.store), stages: (from, to), packets });
        }
    }
    found
}

fn what(store: Store) -> String {
    match store {
        Store::Data => "data memory".to_owned(),
        Store::Shared => "shared memory".to_owned(),
        Store::Initialised => "initialised data".to_owned(),
        Store::Table(n) => format!("table {n}"),
    }
}
