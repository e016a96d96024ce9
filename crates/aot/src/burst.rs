//! What compiled code of fused elements sees of a burst: the structures of `fused.c` (compiler), field by field.

use netil::pool::{Detail, Expected, Line, Pool, Slot};
use std::ffi::c_void;

/// A table's memory: `struct nv_table`.
#[repr(C)]
pub(crate) struct Table {
    pub head: *mut u64,
    pub slots: *mut u8,
    pub index: *mut u8,
    pub groups: *mut u8,
}

/// An element's memories: `struct nv_unit`.
#[repr(C)]
pub(crate) struct Unit {
    pub data: *mut u8,
    pub shared: *mut u8,
    pub initialised: *const u8,
    pub exceptions: *mut u32,
    pub number: *mut u64,
    pub seed: u64,
}

/// Slots in order: `struct nv_list`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct List {
    pub end: *mut u32,
    pub slots: *mut u32,
}

impl List {
    /// An empty one, with room from there on.
    pub const fn at(slots: *mut u32) -> Self {
        Self { end: slots, slots }
    }
}

/// A burst: `struct nv_graph`.
#[repr(C)]
pub(crate) struct Burst {
    pub memory: *mut u8,
    pub slots: *mut Slot,
    pub details: *mut Detail,
    pub burst: *const u32,
    pub count: u64,
    pub units: *const Unit,
    pub tables: *const Table,
    pub call: unsafe extern "C" fn(*mut Burst, u64, u32, u32, *mut u64) -> u64,
    pub leave: unsafe extern "C" fn(*mut Burst, u64),
    pub look: unsafe extern "C" fn(*mut Burst, u64, u32, u64),
    pub tell: Option<unsafe extern "C" fn(*mut Burst, u32, u32)>,
    pub running: *mut c_void,
    pub lists: *mut List,
    pub ended: List,
    pub counts: *mut u64,
    pub begun: *mut u64,
    pub latest: u64,
    pub budget: u32,
    pub left: u32,
    pub copies: u32,
    pub shown: u32,
    pub expected: *const Expected,
    pub nothing: *const Expected,
    pub late: *const *const Line,
    pub spare: *const u32,
    pub spares: *const u32,
    pub refill: unsafe extern "C" fn(*mut Burst) -> u32,
    pub duplicate: unsafe extern "C" fn(*mut Burst, u64) -> u64,
    pub at: u32,
    pub plain: u32,
    pub turns: u64,
    pub beyond: u64,
}

impl Burst {
    /// Finds the pool's memory, which may have been moved.
    pub fn find(&mut self, pool: &mut Pool) {
        let (memory, slots, details) = pool.parts();
        (self.memory, self.slots, self.details) = (memory.as_mut_ptr(), slots.as_mut_ptr(), details.as_mut_ptr());
    }

    /// How many slots for copies are left.
    pub fn left(&self) -> usize {
        (self.spares as usize - self.spare as usize) / size_of::<u32>()
    }
}
