//! What a pull handler runs for besides packets: the id on its stack then is none of a port's.
//!
//! There is no packet in such a run unless the handler makes one; its time is that of the event.

/// Timer 0 is due; the others follow.
pub const TIMER: u32 = 0x8000_0000;
/// The first control is read or was written; the others follow.
pub const CONTROL: u32 = 0x8001_0000;
/// Timers of a NetPE.
pub const TIMERS: usize = 16;
