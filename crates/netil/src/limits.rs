//! What a run of a handler, and a NetPE, may use at most.

/// The longest packet that a program may make, in bytes.
pub const MAX_PACKET: u32 = 65_535;
/// The most packets that a NetPE may hold back.
pub const MAX_HELD: usize = 65536;
/// The most bytes of packets that a NetPE may hold back.
pub const MAX_HELD_BYTES: usize = 256 << 20;
/// The most copies that one handler run may send. With [`MAX_COPIED`] it bounds the memory of what
/// waits to be sent; the budget is a bound on time, and one that pays for that much leaves room for
/// many times as much memory.
pub const MAX_COPIES: u32 = 1024;
/// The most bytes of copies, packets and info memory, that one handler run may send: a jumbo frame
/// to 200 ports. Copies of a burst wait together.
pub const MAX_COPIED: u32 = 2 << 20;
/// Words in a NetPE's exception table.
pub const EXCEPTIONS: usize = 16;
/// What one handler run may spend ([`crate::budget`]), unless the state says otherwise.
pub const DEFAULT_BUDGET: u32 = 1 << 20;
