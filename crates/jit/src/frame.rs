//! What compiled code sees: one frame, at fixed offsets. Compiled code has no globals and no
//! embedded addresses.

use netil::pool::{Detail, Slot};
use netil::rows;
use std::mem::offset_of;
use std::ptr::{null, null_mut};

macro_rules! frame {
    (($($param:ident: $of:ty),*) $($(#[$doc:meta])* $field:ident $(@ $offset:ident)?: $ty:ty = $empty:expr;)*) => {
        /// The state of one call of compiled code. Pointers are valid, and nothing else uses what
        /// they point to, while the call lasts.
        #[repr(C)]
        pub(crate) struct Frame {
            $($(#[$doc])* pub $field: $ty,)*
        }

        impl Frame {
            /// One without a packet and memories, whose calls go to these functions.
            pub fn empty($($param: $of),*) -> Self {
                Self { $($field: $empty,)* }
            }
        }

        $($(pub(crate) const $offset: i32 = offset_of!(Frame, $field) as i32;)?)*
    };
}

// A row per field: its name, that of its offset for compiled code, its type, and what it is in an
// empty frame.
frame! {
    (call: CallFn, wide: WideFn, entry: EntryFn, budget: u32)
    packet @ PACKET: *mut u8 = null_mut();
    packet_len @ PACKET_LEN: u32 = 0;
    wire_len @ WIRE_LEN: u32 = 0;
    time_ns @ TIME_NS: u64 = 0;
    info @ INFO: *mut u8 = null_mut();
    data @ DATA: *mut u8 = null_mut();
    shared @ SHARED: *mut u8 = null_mut();
    initialised @ INITIALISED: *const u8 = null();
    exceptions @ EXCEPTIONS: *mut u32 = null_mut();
    tables @ TABLES: *const *const u64 = null();
    call @ CALL: CallFn = call;
    wide @ WIDE: WideFn = wide;
    entry @ ENTRY: EntryFn = entry;
    port @ PORT: u32 = 0;
    budget @ BUDGET: u32 = budget;
    trap_site @ TRAP_SITE: u32 = 0;
    budget_start @ BUDGET_START: u32 = budget;
    /// 0 if the packet was given up.
    present @ PRESENT: u32 = 1;
    /// Bytes pulled from the packet's head less bytes pushed, modulo 2^32.
    moved @ MOVED: u32 = 0;
    /// A `Host`, for the runtime's side of a call.
    host: *mut std::ffi::c_void = null_mut();
    /// Pairs of address and length, as in `[&[u8]]`.
    frames @ FRAMES: *const u8 = null();
    count @ COUNT: u64 = 0;
    bits @ BITS: *mut u64 = null_mut();
    wire_lens @ WIRE_LENS: *const u32 = null();
    times @ TIMES: *const u64 = null();
    /// What follows is for handlers that run fused. Where the packet's memory begins, and where its
    /// first byte would be had nothing been pulled or pushed.
    memory @ MEMORY: *mut u8 = null_mut();
    /// See `memory`.
    origin @ ORIGIN: *mut u8 = null_mut();
    /// Bytes before the packet's first that were pulled and are still there.
    front @ FRONT: u32 = 0;
    /// Bytes that were not captured.
    missing @ MISSING: u32 = 0;
    /// Bytes of the packet's memory, as far as it may grow in place.
    size @ SIZE: u32 = 0;
    /// The member that has the packet, or the one that it goes to next.
    member @ MEMBER: u32 = 0;
    /// Of the member's run: copies sent, coprocessors that were shown the packet, whether it has
    /// set a timer.
    sent @ SENT: u32 = 0;
    /// See `sent`.
    shown @ SHOWN: u32 = 0;
    /// See `sent`.
    set @ SET: u32 = 0;
    /// Not 0 where `arrive` is to be called.
    watched @ WATCHED: u32 = 0;
    /// By member, and all members' tables one after the other.
    units @ UNITS: *const Unit = null();
    /// See `units`.
    parts @ PARTS: *const rows::Table = null();
    /// Packets by ports, where that is counted.
    counts @ COUNTS: *mut u64 = null_mut();
    arrive @ ARRIVE: EventFn = nothing;
    settle @ SETTLE: EventFn = nothing;
    /// What the function does first: a number of [`start`].
    start @ START: u32 = start::NEXT;
    /// The packet's slot.
    slot @ SLOT: u32 = 0;
    /// Not 0 where packets are put into the frame, and taken from it, by the runtime.
    slow @ SLOW: u32 = 0;
    /// Slots of the burst, as many as `count`, and which of them comes next.
    burst @ BURST: *const u32 = null();
    /// See `burst`.
    next @ NEXT: u64 = 0;
    /// The pool's memory, slots and details.
    pool @ POOL: *mut u8 = null_mut();
    /// See `pool`.
    slots @ SLOTS: *mut Slot = null_mut();
    /// See `pool`.
    details @ POOL_DETAILS: *mut Detail = null_mut();
    /// Packets that came in, by entry.
    begun @ BEGUN: *mut u64 = null_mut();
    /// By exit, where the next slot's number goes that leaves there.
    exits @ EXITS: *mut *mut u32 = null_mut();
    /// Where a row goes for the next packet that goes no further.
    ended @ ENDED: *mut Gone = null_mut();
    /// Packets of the burst that slices are run for next, up to, and without, the second.
    ahead @ AHEAD: u64 = 0;
    /// See `ahead`.
    ahead_to @ AHEAD_TO: u64 = 0;
    /// Memory for annotations while slices run.
    scratch @ SCRATCH: *mut u8 = null_mut();
    /// Where the next address goes that will be read soon, and where there is no more room.
    lines @ LINES: *mut u64 = null_mut();
    /// See `lines`.
    lines_end @ LINES_END: *mut u64 = null_mut();
}

/// What a member has: where it lies during a burst.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    pub memories: rows::Unit,
    /// Its tables' rows, one after the other.
    pub tables: *const rows::Table,
    /// Its number among all members.
    pub member: u32,
}

/// A packet that goes no further: what the function gives for it, the site of a trap, the member,
/// the slot.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gone {
    pub code: u64,
    pub site: u32,
    pub member: u32,
    pub slot: u32,
}

/// A packet comes to a member, or a member has set timers: frame, member.
pub(crate) type EventFn = unsafe extern "C" fn(*mut Frame, u32);

/// Calls the runtime: frame, index of the call, its 32-bit arguments; gives the value, and a trap
/// code in the high half.
pub(crate) type CallFn = unsafe extern "C" fn(*mut Frame, u32, *mut u32) -> u64;
/// Wide arithmetic in the runtime: frame, index of the job, addresses of the operands, address of
/// the result; gives a flag.
pub(crate) type WideFn = unsafe extern "C" fn(*mut Frame, u32, *const *const u64, *mut u64) -> u32;

/// Finds a table's entry: frame, table, entry; gives the address of its value, or null if there is
/// none.
pub(crate) type EntryFn = unsafe extern "C" fn(*mut Frame, u32, u32) -> *mut u8;

/// Nobody asks for it.
unsafe extern "C" fn nothing(_: *mut Frame, _: u32) {}

/// What a function of fused handlers does first.
pub(crate) mod start {
    /// It takes the next packet of the burst.
    pub const NEXT: u32 = 0;
    /// It goes on with the packet that is in the frame, at its member and port.
    pub const GIVEN: u32 = 1;
}

/// Where things are in a slot of the pool and in its detail.
pub(crate) mod slot {
    use netil::pool::{Detail, Slot};
    use std::mem::offset_of;

    pub const SIZE: i64 = size_of::<Slot>() as i64;
    pub const TIME: i32 = offset_of!(Slot, time_ns) as i32;
    pub const LEN: i32 = offset_of!(Slot, len) as i32;
    pub const KIND: i32 = offset_of!(Slot, kind) as i32;
    pub const DETAIL_SIZE: i64 = size_of::<Detail>() as i64;
    pub const HEAD: i32 = offset_of!(Detail, head) as i32;
    pub const FRONT: i32 = offset_of!(Detail, front) as i32;
    pub const MOVED: i32 = offset_of!(Detail, moved) as i32;
    pub const MISSING: i32 = offset_of!(Detail, missing) as i32;
}

/// Bytes of a member's row, and where in it things are.
pub(crate) mod unit {
    use super::Unit;
    use std::mem::offset_of;

    pub const SIZE: u32 = size_of::<Unit>() as u32;
    pub const DATA: u32 = offset_of!(Unit, memories.data) as u32;
    pub const SHARED: u32 = offset_of!(Unit, memories.shared) as u32;
    pub const INITIALISED: u32 = offset_of!(Unit, memories.initialised) as u32;
    pub const EXCEPTIONS: u32 = offset_of!(Unit, memories.exceptions) as u32;
    pub const TABLES: u32 = offset_of!(Unit, tables) as u32;
    pub const MEMBER: u32 = offset_of!(Unit, member) as u32;
}

/// Bytes of the row of a packet that goes no further, and where in it things are.
pub(crate) mod gone {
    use super::Gone;
    use std::mem::offset_of;

    pub const SIZE: i64 = size_of::<Gone>() as i64;
    pub const CODE: i32 = offset_of!(Gone, code) as i32;
    pub const SITE: i32 = offset_of!(Gone, site) as i32;
    pub const MEMBER: i32 = offset_of!(Gone, member) as i32;
    pub const SLOT: i32 = offset_of!(Gone, slot) as i32;
}

/// Bytes of a table's row, and where in it things are.
pub(crate) mod parts {
    use netil::rows::Table;
    use std::mem::offset_of;

    pub const SIZE: u32 = size_of::<Table>() as u32;
    pub const HEAD: u32 = offset_of!(Table, head) as u32;
    pub const SLOTS: u32 = offset_of!(Table, slots) as u32;
    pub const INDEX: u32 = offset_of!(Table, index) as u32;
    pub const GROUPS: u32 = offset_of!(Table, groups) as u32;
}

/// What compiled code returns: a tag in the low half, a number in the high half.
pub(crate) mod exit {
    pub const DROP_VERDICT: u64 = 0;
    pub const PORT: u64 = 1;
    pub const DROP_PROGRAM: u64 = 2;
    pub const NO_INPUT: u64 = 3;
    pub const TRAP: u64 = 4;
    /// Fused: by an exit.
    pub const EXIT: u64 = 5;
    /// Fused: on to a member that another function is of.
    pub const MEMBER: u64 = 6;
    /// Fused: no packet of the burst is left.
    pub const DONE: u64 = 7;
    /// Fused: the next packet, whose slot is in the frame, is to be put there.
    pub const LOAD: u64 = 8;
}
