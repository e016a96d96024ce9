//! What compiled code of fused elements sees of a burst: the structures of `fused.c` (compiler),
//! field by field, and numbers that mean the same on both sides. The text of C asserts that they
//! are the same ([`assertions`]), so that a mistake is an error of the C compiler.

use netil::layout::{self, head, shapes};
use netil::pool::{COPY, Detail, ENTRY, Expected, Line, Pool, Slot};
use netil::rows::{Table, Unit};
use std::ffi::c_void;
use std::fmt::Write;
use std::mem::offset_of;

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
    pub more: *mut u32,
    pub shared: u64,
    pub turns: u64,
    pub beyond: u64,
    pub numbers: *mut u64,
}

impl Burst {
    /// Finds the pool's memory, which may have been moved.
    pub fn find(&mut self, pool: &mut Pool) {
        let (memory, slots, details) = pool.parts();
        (self.memory, self.slots, self.details) = (memory.as_mut_ptr(), slots.as_mut_ptr(), details.as_mut_ptr());
        self.more = pool.more().as_mut_ptr();
        self.numbers = pool.numbers().as_mut_ptr();
    }

    /// How many slots for copies are left.
    pub fn left(&self) -> usize {
        (self.spares as usize - self.spare as usize) / size_of::<u32>()
    }
}

/// What became of a packet: numbers of an `enum`.
pub(crate) mod outcome {
    pub const PORT: u32 = 1;
    pub const VERDICT: u32 = 2;
    pub const REASON: u32 = 3;
    pub const NO_INPUT: u32 = 4;
}

/// Offsets of fields of structures, in Rust and in C, and structures' sizes.
macro_rules! places {
    ($($c:literal is $rust:ty { $($field:ident),* $(,)? })*) => {
        [$(
            $((format!("__builtin_offsetof(struct {}, {})", $c, stringify!($field)), offset_of!($rust, $field)),)*
            (format!("sizeof(struct {})", $c), size_of::<$rust>()),
        )*]
    };
}

/// Numbers of `enum`s.
const NUMBERS: [(&str, usize); 26] = [
    ("NV_PORT", outcome::PORT as usize),
    ("NV_VERDICT", outcome::VERDICT as usize),
    ("NV_REASON", outcome::REASON as usize),
    ("NV_NO_INPUT", outcome::NO_INPUT as usize),
    ("NV_COPY", COPY as usize),
    ("NV_ENTRY", ENTRY as usize),
    ("NV_CLOCK", head::CLOCK),
    ("NV_MASKED", head::MASK),
    ("NV_BUCKETS", head::BUCKETS),
    ("NV_SEED0", head::SEED0),
    ("NV_SEED1", head::SEED1),
    ("NV_STASHED", head::STASHED),
    ("NV_FILLED", head::FILLED),
    ("NV_TIMEOUT", head::TIMEOUT),
    ("NV_READY", head::READY),
    ("NV_QUIET", head::QUIET),
    ("NV_LEAFNO", head::LEAVES),
    ("NV_PROBES", layout::PROBES),
    ("NV_FAN", layout::FAN),
    ("NV_FREE", layout::FREE as usize),
    ("NV_DEAD", layout::DEAD as usize),
    ("NV_EPOCH", layout::EPOCH as usize),
    ("NV_ASK", shapes::ASK),
    ("NV_MASKS", shapes::COUNT),
    ("NV_TERNARY_SEED", shapes::SEED0),
    ("NV_MASK_BYTES", shapes::STRIDE),
];

/// C that is an error unless structures and numbers are there what they are here.
pub(crate) fn assertions() -> String {
    let places = places! {
        "nv_table" is Table { head, slots, index, groups }
        "nv_unit" is Unit { data, shared, initialised, exceptions, seed }
        "nv_list" is List { end, slots }
        "nv_slot" is Slot { time_ns, len, kind }
        "nv_detail" is Detail { at, head, front, moved, value, site, member, outcome, missing }
        "nv_graph" is Burst {
            memory, slots, details, burst, count, units, tables, call, leave, look, tell, lists, ended, counts, begun, latest, budget, left, copies, shown, expected,
            nothing, late, spare, spares, refill, duplicate, at, plain, more, shared, turns, beyond, numbers,
        }
    };
    let all = NUMBERS.iter().map(|(name, number)| ((*name).to_owned(), *number)).chain(places);
    all.fold(String::new(), |mut text, (what, number)| {
        let _ = writeln!(text, "_Static_assert({what} == {number}, \"{what}\");");
        text
    })
}
