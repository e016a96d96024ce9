//! What compiled code sees: one frame, at fixed offsets. Compiled code has no globals and no embedded addresses.

use std::mem::offset_of;

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
}

/// Calls the runtime: frame, index of the call, its 32-bit arguments; gives the value, and a trap code in the high half.
pub(crate) type CallFn = unsafe extern "C" fn(*mut Frame, u32, *mut u32) -> u64;
/// Wide arithmetic in the runtime: frame, index of the job, addresses of the operands, address of the result; gives a flag.
pub(crate) type WideFn = unsafe extern "C" fn(*mut Frame, u32, *const *const u64, *mut u64) -> u32;

/// Finds a table's entry: frame, table, entry; gives the address of its value, or null if there is none.
pub(crate) type EntryFn = unsafe extern "C" fn(*mut Frame, u32, u32) -> *mut u8;

macro_rules! offsets {
    ($($name:ident = $field:ident),* $(,)?) => {
        $(pub(crate) const $name: i32 = offset_of!(Frame, $field) as i32;)*
    };
}

offsets! {
    PACKET = packet, PACKET_LEN = packet_len, WIRE_LEN = wire_len, TIME_NS = time_ns, INFO = info, DATA = data, SHARED = shared,
    INITIALISED = initialised, EXCEPTIONS = exceptions, TABLES = tables, CALL = call, WIDE = wide, ENTRY = entry, MOVED = moved, PORT = port, BUDGET = budget,
    TRAP_SITE = trap_site, BUDGET_START = budget_start, PRESENT = present, FRAMES = frames, COUNT = count, BITS = bits, WIRE_LENS = wire_lens,
    TIMES = times,
}

/// What compiled code returns: a tag in the low half, a number in the high half.
pub(crate) mod exit {
    pub const DROP_VERDICT: u64 = 0;
    pub const PORT: u64 = 1;
    pub const DROP_PROGRAM: u64 = 2;
    pub const NO_INPUT: u64 = 3;
    pub const TRAP: u64 = 4;
}
