//! What compiled code sees: one frame, at fixed offsets. Compiled code has no globals and no embedded addresses.

use netil::pool::{Detail, Slot};
use std::mem::offset_of;
use std::ptr::{null, null_mut};

/// The state of one call of compiled code. Pointers are valid, and nothing else uses what they point to, while the call lasts.
#[repr(C)]
pub(crate) struct Frame {
    pub packet: *mut u8,
    pub packet_len: u32,
    pub wire_len: u32,
    pub time_ns: u64,
    pub info: *mut u8,
    pub data: *mut u8,
    pub shared: *mut u8,
    pub initialised: *const u8,
    pub exceptions: *mut u32,
    pub tables: *const *const u64,
    pub call: CallFn,
    pub wide: WideFn,
    pub entry: EntryFn,
    pub port: u32,
    pub budget: u32,
    pub trap_site: u32,
    pub budget_start: u32,
    /// 0 if the packet was given up.
    pub present: u32,
    /// Bytes pulled from the packet's head less bytes pushed, modulo 2^32.
    pub moved: u32,
    /// A `Host`, for the runtime's side of a call.
    pub host: *mut std::ffi::c_void,
    /// Pairs of address and length, as in `[&[u8]]`.
    pub frames: *const u8,
    pub count: u64,
    pub bits: *mut u64,
    pub wire_lens: *const u32,
    pub times: *const u64,
    /// What follows is for handlers that run fused. Where the packet's memory begins, and where its first byte would be had nothing been pulled or pushed.
    pub memory: *mut u8,
    /// See `memory`.
    pub origin: *mut u8,
    /// Bytes before the packet's first that were pulled and are still there.
    pub front: u32,
    /// Bytes that were not captured.
    pub missing: u32,
    /// Bytes of the packet's memory, as far as it may grow in place.
    pub size: u32,
    /// The member that has the packet, or the one that it goes to next.
    pub member: u32,
    /// Of the member's run: copies sent, coprocessors that were shown the packet, whether it has set a timer.
    pub sent: u32,
    /// See `sent`.
    pub shown: u32,
    /// See `sent`.
    pub set: u32,
    /// Not 0 where `arrive` is to be called.
    pub watched: u32,
    /// By member, and all members' tables one after the other.
    pub units: *const Unit,
    /// See `units`.
    pub parts: *const Parts,
    /// Packets by ports, where that is counted.
    pub counts: *mut u64,
    pub arrive: EventFn,
    pub settle: EventFn,
    /// What the function does first: a number of [`start`].
    pub start: u32,
    /// The packet's slot.
    pub slot: u32,
    /// Not 0 where packets are put into the frame, and taken from it, by the runtime.
    pub slow: u32,
    /// Slots of the burst, as many as `count`, and which of them comes next.
    pub burst: *const u32,
    /// See `burst`.
    pub next: u64,
    /// The pool's memory, slots and details.
    pub pool: *mut u8,
    /// See `pool`.
    pub slots: *mut Slot,
    /// See `pool`.
    pub details: *mut Detail,
    /// Packets that came in, by entry.
    pub begun: *mut u64,
    /// By exit, where the next slot's number goes that leaves there.
    pub exits: *mut *mut u32,
    /// Where a row goes for the next packet that goes no further.
    pub ended: *mut Gone,
    /// Packets of the burst that slices are run for next, up to, and without, the second.
    pub ahead: u64,
    /// See `ahead`.
    pub ahead_to: u64,
    /// Memory for annotations while slices run.
    pub scratch: *mut u8,
    /// Where the next address goes that will be read soon, and where there is no more room.
    pub lines: *mut u64,
    /// See `lines`.
    pub lines_end: *mut u64,
}

/// What a member has: where it lies during a burst.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    pub data: *mut u8,
    pub shared: *mut u8,
    pub initialised: *const u8,
    pub exceptions: *mut u32,
    /// Of the packet, counted where random numbers are made.
    pub number: *mut u64,
    /// Its tables' rows, one after the other.
    pub parts: *const Parts,
    /// Its number among all members.
    pub member: u32,
}

/// Where a table lies during a burst ([`netil::layout`]); null if only the runtime can look into it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub head: *mut u64,
    pub slots: *mut u8,
    pub index: *mut u8,
    pub groups: *mut u8,
}

/// A packet that goes no further: what the function gives for it, the site of a trap, the member, the slot.
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

/// Calls the runtime: frame, index of the call, its 32-bit arguments; gives the value, and a trap code in the high half.
pub(crate) type CallFn = unsafe extern "C" fn(*mut Frame, u32, *mut u32) -> u64;
/// Wide arithmetic in the runtime: frame, index of the job, addresses of the operands, address of the result; gives a flag.
pub(crate) type WideFn = unsafe extern "C" fn(*mut Frame, u32, *const *const u64, *mut u64) -> u32;

/// Finds a table's entry: frame, table, entry; gives the address of its value, or null if there is none.
pub(crate) type EntryFn = unsafe extern "C" fn(*mut Frame, u32, u32) -> *mut u8;

impl Frame {
    /// One without a packet and memories, whose calls go to these functions.
    pub fn empty(call: CallFn, wide: WideFn, entry: EntryFn, budget: u32) -> Self {
        Self {
            packet: null_mut(),
            packet_len: 0,
            wire_len: 0,
            time_ns: 0,
            info: null_mut(),
            data: null_mut(),
            shared: null_mut(),
            initialised: null(),
            exceptions: null_mut(),
            tables: null(),
            call,
            wide,
            entry,
            port: 0,
            budget,
            trap_site: 0,
            budget_start: budget,
            present: 1,
            moved: 0,
            host: null_mut(),
            frames: null(),
            count: 0,
            bits: null_mut(),
            wire_lens: null(),
            times: null(),
            memory: null_mut(),
            origin: null_mut(),
            front: 0,
            missing: 0,
            size: 0,
            member: 0,
            sent: 0,
            shown: 0,
            set: 0,
            watched: 0,
            units: null(),
            parts: null(),
            counts: null_mut(),
            arrive: nothing,
            settle: nothing,
            start: start::NEXT,
            slot: 0,
            slow: 0,
            burst: null(),
            next: 0,
            pool: null_mut(),
            slots: null_mut(),
            details: null_mut(),
            begun: null_mut(),
            exits: null_mut(),
            ended: null_mut(),
            ahead: 0,
            ahead_to: 0,
            scratch: null_mut(),
            lines: null_mut(),
            lines_end: null_mut(),
        }
    }
}

/// Nobody asks for it.
unsafe extern "C" fn nothing(_: *mut Frame, _: u32) {}

macro_rules! offsets {
    ($($name:ident = $field:ident),* $(,)?) => {
        $(pub(crate) const $name: i32 = offset_of!(Frame, $field) as i32;)*
    };
}

offsets! {
    PACKET = packet, PACKET_LEN = packet_len, WIRE_LEN = wire_len, TIME_NS = time_ns, INFO = info, DATA = data, SHARED = shared,
    INITIALISED = initialised, EXCEPTIONS = exceptions, TABLES = tables, CALL = call, WIDE = wide, ENTRY = entry, MOVED = moved, PORT = port, BUDGET = budget,
    TRAP_SITE = trap_site, BUDGET_START = budget_start, PRESENT = present, FRAMES = frames, COUNT = count, BITS = bits, WIRE_LENS = wire_lens,
    TIMES = times, MEMORY = memory, ORIGIN = origin, FRONT = front, MISSING = missing, MEMBER = member, SENT = sent, SHOWN = shown,
    SET = set, WATCHED = watched, UNITS = units, PARTS = parts, COUNTS = counts, ARRIVE = arrive, SETTLE = settle, SIZE = size, START = start,
    SLOT = slot, SLOW = slow, BURST = burst, NEXT = next, POOL = pool, SLOTS = slots, POOL_DETAILS = details, BEGUN = begun, EXITS = exits,
    ENDED = ended, AHEAD = ahead, AHEAD_TO = ahead_to, SCRATCH = scratch, LINES = lines, LINES_END = lines_end,
}

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
    pub const DATA: u32 = offset_of!(Unit, data) as u32;
    pub const SHARED: u32 = offset_of!(Unit, shared) as u32;
    pub const INITIALISED: u32 = offset_of!(Unit, initialised) as u32;
    pub const EXCEPTIONS: u32 = offset_of!(Unit, exceptions) as u32;
    pub const NUMBER: u32 = offset_of!(Unit, number) as u32;
    pub const PARTS: u32 = offset_of!(Unit, parts) as u32;
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
    use super::Parts;
    use std::mem::offset_of;

    pub const SIZE: u32 = size_of::<Parts>() as u32;
    pub const HEAD: u32 = offset_of!(Parts, head) as u32;
    pub const SLOTS: u32 = offset_of!(Parts, slots) as u32;
    pub const INDEX: u32 = offset_of!(Parts, index) as u32;
    pub const GROUPS: u32 = offset_of!(Parts, groups) as u32;
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
