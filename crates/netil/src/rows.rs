//! Rows of addresses: where an element's memories and tables lie during a burst. Compiled code
//! reads them: machine code by their offsets, compiled C as structures of the same fields, which it
//! asserts.
//!
//! Invariant: a row is right from when it was made until somebody else changes the state. Leaves
//! out: what lies in tables ([`crate::layout`]).

use crate::Verified;
use crate::exec::State;
use crate::layout::Parts;
use crate::tables;
use std::ptr::null_mut;

/// An element's memories.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// Data memory.
    pub data: *mut u8,
    /// Shared memory.
    pub shared: *mut u8,
    /// Initialised memory, which nobody changes.
    pub initialised: *const u8,
    /// The exception table.
    pub exceptions: *mut u32,
    /// From which random numbers are made.
    pub seed: u64,
}

/// A table's memory ([`crate::layout`]); null if only the table can look into it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Words that change while the program runs.
    pub head: *mut u64,
    /// Entries.
    pub slots: *mut u8,
    /// The first level of a search.
    pub index: *mut u8,
    /// What is behind that.
    pub groups: *mut u8,
}

impl Unit {
    /// That of a program whose state is not known yet.
    pub fn without_state(program: &Verified) -> Self {
        let initialised = program.module().data.as_ptr();
        Self { data: null_mut(), shared: null_mut(), initialised, exceptions: null_mut(), seed: 0 }
    }

    /// That of a program with a state, which is made to fit.
    pub fn of(program: &Verified, state: &mut State) -> Self {
        state.fit(program);
        Self {
            data: state.data.as_mut_ptr(),
            shared: state.shared.as_mut_ptr(),
            exceptions: state.exceptions.as_mut_ptr(),
            seed: state.seed,
            ..Self::without_state(program)
        }
    }
}

impl Table {
    /// That of a table that only looks into itself.
    pub const NONE: Self = Self { head: null_mut(), slots: null_mut(), index: null_mut(), groups: null_mut() };

    /// That of a table, which may do before what it has put off; and its head, empty if it has
    /// none.
    pub fn of(table: &mut dyn tables::Table) -> (Self, &[u64]) {
        table.tidy();
        let Some(Parts { head, slots, index, groups }) = table.parts() else { return (Self::NONE, &[]) };
        let row = Self { head: head.as_mut_ptr(), slots: slots.as_mut_ptr(), index: index.as_mut_ptr(), groups: groups.as_mut_ptr() };
        (row, head)
    }
}
