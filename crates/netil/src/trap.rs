//! Traps: why the system stops a handler.
//!
//! Source: NetVM paper, section 3.3 (safety).

use crate::copro::CoproError;
use crate::limits::{MAX_COPIED, MAX_COPIES, MAX_PACKET};
use crate::module::HandlerKind;
use crate::table::Space;
use std::fmt;

/// Why a handler was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrapKind {
    /// An access past the end of a memory.
    OutOfBounds(Space),
    /// The exact result of a checked operation does not fit.
    Overflow,
    /// A zero divisor.
    DivisionByZero,
    /// More backward branches, calls and bytes in bulk than the budget allows.
    Budget,
    /// The packet would be longer than [`MAX_PACKET`].
    NoRoom,
    /// There is no packet to send or to change.
    NoPacket,
    /// The handler would send more than [`MAX_COPIES`] copies, or more than [`MAX_COPIED`] bytes of
    /// them.
    Copies,
    /// There is no entry to load from or store to.
    NoEntry,
    /// A coprocessor refused; its index.
    Coprocessor(u8, CoproError),
}

impl TrapKind {
    /// A number for compiled code to return: the kind in the low byte, a detail above.
    pub const fn code(self) -> u32 {
        match self {
            Self::OutOfBounds(space) => 1 | (space as u32) << 8,
            Self::Overflow => 2,
            Self::DivisionByZero => 3,
            Self::Budget => 4,
            Self::NoRoom => 5,
            Self::NoPacket => 6,
            Self::Copies => 8,
            Self::NoEntry => 9,
            Self::Coprocessor(unit, error) => 7 | (unit as u32) << 8 | (error as u32) << 16,
        }
    }

    /// The kind that [`Self::code`] gave the number of.
    pub fn from_code(code: u32) -> Option<Self> {
        const SPACES: [Space; 5] = [Space::Packet, Space::Info, Space::Data, Space::Shared, Space::Initialised];
        const ERRORS: [CoproError; 4] = [CoproError::NoPacket, CoproError::BadRegister, CoproError::Full, CoproError::NotInitialised];
        let detail = (code >> 8) as u8;
        Some(match code & 0xff {
            1 => Self::OutOfBounds(*SPACES.get(usize::from(detail))?),
            2 => Self::Overflow,
            3 => Self::DivisionByZero,
            4 => Self::Budget,
            5 => Self::NoRoom,
            6 => Self::NoPacket,
            8 => Self::Copies,
            9 => Self::NoEntry,
            7 => Self::Coprocessor(detail, *ERRORS.get((code >> 16) as usize)?),
            _ => return None,
        })
    }
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds(space) => write!(f, "access outside {}", space.name()),
            Self::Overflow => f.write_str("overflow"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::Budget => f.write_str("budget of backward branches, calls and bytes used up"),
            Self::NoRoom => write!(f, "no room: packet would exceed {MAX_PACKET} bytes"),
            Self::NoPacket => f.write_str("no packet"),
            Self::Copies => write!(f, "more than {MAX_COPIES} copies, or {MAX_COPIED} bytes of them"),
            Self::NoEntry => f.write_str("no entry"),
            Self::Coprocessor(unit, error) => write!(f, "coprocessor {unit}: {error}"),
        }
    }
}

impl Space {
    /// The memory's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Packet => "the packet",
            Self::Info => "info memory",
            Self::Data => "data memory",
            Self::Shared => "shared memory",
            Self::Initialised => "initialised data",
        }
    }
}

/// A handler stopped by the system: the program's result, not the host's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trap {
    /// Why.
    pub kind: TrapKind,
    /// In which handler.
    pub handler: HandlerKind,
    /// At which instruction.
    pub inst: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trap_codes_round_trip() {
        let spaces = [Space::Packet, Space::Info, Space::Data, Space::Shared, Space::Initialised];
        let mut kinds: Vec<_> = spaces.map(TrapKind::OutOfBounds).into();
        kinds.extend([
            TrapKind::Overflow,
            TrapKind::DivisionByZero,
            TrapKind::Budget,
            TrapKind::NoRoom,
            TrapKind::NoPacket,
            TrapKind::Copies,
            TrapKind::NoEntry,
        ]);
        kinds.extend([CoproError::NoPacket, CoproError::Full].map(|e| TrapKind::Coprocessor(9, e)));
        for kind in kinds {
            assert_eq!(TrapKind::from_code(kind.code()), Some(kind));
        }
    }
}
