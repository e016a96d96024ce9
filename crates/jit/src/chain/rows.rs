//! Where members' memories and tables lie during a burst, and lists of what leaves: what fused code
//! reads and writes besides packets.

use super::Member;
use crate::frame::{Gone, Unit as Row};
use compiler::cluster::bytes_now;
use netil::Verified;
use netil::exec::State;
use netil::rows;
use std::ptr::{null, null_mut};

/// Where members' memories and tables lie during a burst.
pub(super) struct Rows {
    pub units: Vec<Row>,
    pub parts: Vec<rows::Table>,
    /// By member its initialised memory if that is not its program's.
    pub initialised: Vec<Vec<u8>>,
    /// By member how many bytes lookups in its tables may read now.
    pub read_now: Vec<usize>,
    /// By member its first table among all, its state, and the burst for which its rows are right.
    pub first_tables: Vec<u32>,
    /// See `first_tables`.
    pub states: Vec<*mut State>,
    /// See `first_tables`.
    pub bursts: Vec<u64>,
}

impl Rows {
    pub fn of(members: &[Member]) -> Self {
        let mut tables = 0;
        let mut first_tables = Vec::new();
        for member in members {
            first_tables.push(tables);
            tables += member.program.module().tables.len() as u32;
        }
        let row =
            |(number, member): (u32, &Member)| Row { memories: rows::Unit::without_state(&member.program), tables: null(), member: number };
        Self {
            units: (0..).zip(members).map(row).collect(),
            parts: vec![rows::Table::NONE; tables as usize],
            initialised: Vec::new(),
            read_now: vec![0; members.len()],
            first_tables,
            states: vec![null_mut(); members.len()],
            bursts: vec![0; members.len()],
        }
    }

    /// A member's memories lie in this state during a burst.
    pub fn find(&mut self, n: usize, burst: u64, program: &Verified, state: &mut State) {
        let row = &mut self.units[n];
        row.memories = rows::Unit::of(program, state);
        if let Some(memory) = self.initialised.get(n).filter(|memory| !memory.is_empty()) {
            row.memories.initialised = memory.as_ptr();
        }
        let parts = &mut self.parts[self.first_tables[n] as usize..];
        row.tables = parts.as_ptr();
        self.read_now[n] = 0;
        for ((parts, table), declaration) in parts.iter_mut().zip(&mut state.tables).zip(&program.module().tables) {
            let head;
            (*parts, head) = rows::Table::of(table.as_mut());
            self.read_now[n] += if head.is_empty() { 0 } else { bytes_now(declaration, head) };
        }
        (self.states[n], self.bursts[n]) = (state, burst);
    }
}

/// What is to be handed to the host.
#[derive(Default)]
pub(super) struct Leaving {
    /// By exit, with room for a burst, and where the next slot goes.
    pub exits: Vec<Vec<u32>>,
    /// See `exits`.
    pub ends: Vec<*mut u32>,
    /// What goes no further, in order, with room for a burst.
    pub ended: Vec<Gone>,
    /// Of these, some that follow each other and ended alike.
    pub alike: Vec<u32>,
}

impl Leaving {
    /// Of so many exits.
    pub fn of(exits: usize) -> Self {
        Self { exits: vec![Vec::new(); exits], ..Self::default() }
    }

    /// Makes room for a burst.
    pub fn prepare(&mut self, packets: usize) {
        self.ends.clear();
        for list in &mut self.exits {
            if list.len() < packets {
                list.resize(packets, 0);
            }
            self.ends.push(list.as_mut_ptr());
        }
        if self.ended.len() < packets {
            self.ended.resize(packets, Gone::default());
        }
    }

    /// Packets that go no further, up to a row.
    pub fn gone(&self, end: *const Gone) -> usize {
        (end as usize - self.ended.as_ptr() as usize) / size_of::<Gone>()
    }

    /// Slots that left by an exit.
    pub fn left_by(&self, exit: usize) -> usize {
        (self.ends[exit] as usize - self.exits[exit].as_ptr() as usize) / size_of::<u32>()
    }

    /// The first so many slots that left by an exit were handed over.
    pub fn forget(&mut self, exit: usize, first: usize) {
        let left = self.left_by(exit);
        let list = &mut self.exits[exit];
        list.copy_within(first..left, 0);
        self.ends[exit] = list[left - first..].as_mut_ptr();
    }

    pub fn push(&mut self, exit: usize, slot: u32) {
        let at = self.left_by(exit);
        self.exits[exit][at] = slot;
        self.ends[exit] = self.ends[exit].wrapping_add(1);
    }
}
