//! Work that compiled code leaves to the runtime.

use super::Effects;
use netil::ops::CmpOp;
use netil::table::Space;

/// One kind of it. Operands are in the order in which the instruction's were pushed; of 32 bits, unless something else is
/// said. A reference to an entry is a number of 32 bits, 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Helper {
    /// offset, value → where found
    Scan(u8),
    /// offset 1, offset 2, length → i1
    FieldCmp(CmpOp),
    /// source, destination, length
    Copy(Space, Space),
    /// offset, length → Internet checksum
    Checksum,
    /// offset, length → i1: the bytes sum to 0xffff
    ChecksumValid,
    /// offset, length → CRC
    CrcPacket(u8),
    /// value → CRC
    Crc(u8),
    /// checksum, value → checksum
    ChecksumAdd,
    /// checksum, value → checksum
    ChecksumSub,
    /// values → hash
    Hash,
    /// Info memory to zeros.
    InfoClear,
    /// Sends a copy to a port.
    SendCopy(u32),
    /// Next packet of a port → 1 if there was one
    Receive(u32),
    /// length
    Create,
    /// Gives the packet up.
    Delete,
    /// length
    PushHead,
    /// length
    PullHead,
    /// length
    TrimTail,
    /// length
    GrowTail,
    /// length
    Unpull,
    /// → bytes pulled less bytes pushed
    Moved,
    /// → 1 if there is a packet
    IsPresent,
    /// queue → 1 if there was room
    Hold,
    /// queue → 1 if there was a packet
    Take,
    /// offset, length
    Inside,
    /// length on the wire
    SetWire,
    /// time of 64 bits
    SetTime,
    /// timer; time of 64 bits
    SetTimer(u32),
    /// table; key of its width → entry
    Find(u32),
    /// The same without using the entry.
    Peek(u32),
    /// table; key → entry
    Insert(u32),
    /// table; key → 1 if it was there
    DeleteEntry(u32),
    /// table, byte; entry → value of any width
    EntryLoad(u32, u32),
    /// table, byte; value of any width, entry
    EntryStore(u32, u32),
    /// unit, register → value
    CoproIn(u32, u32),
    /// unit, register; value
    CoproOut(u32, u32),
    /// unit, operation
    CoproInvoke(u32, u32),
    /// unit
    CoproShow(u32),
}

impl Helper {
    /// Whether it works on more of the packet than its time.
    pub fn needs_packet(self) -> bool {
        !matches!(
            self,
            Self::Find(_)
                | Self::Peek(_)
                | Self::Insert(_)
                | Self::DeleteEntry(_)
                | Self::EntryLoad(..)
                | Self::EntryStore(..)
                | Self::SetTimer(_)
                | Self::Crc(_)
                | Self::CoproIn(..)
                | Self::CoproOut(..)
        )
    }

    /// True where an operand or the result may be of another width than 32 bits.
    pub fn is_wide(self) -> bool {
        matches!(
            self,
            Self::SetTime
                | Self::SetTimer(_)
                | Self::Find(_)
                | Self::Peek(_)
                | Self::Insert(_)
                | Self::DeleteEntry(_)
                | Self::EntryLoad(..)
                | Self::EntryStore(..)
        )
    }

    pub(super) fn effects(self) -> Effects {
        let pure = Effects::default();
        match self {
            Self::Crc(_) | Self::ChecksumAdd | Self::ChecksumSub | Self::Hash => pure,
            // What is written is the budget.
            Self::Scan(_) | Self::FieldCmp(_) | Self::Checksum | Self::ChecksumValid | Self::CrcPacket(_) => {
                Effects { traps: true, reads: true, writes: true, geometry: false }
            }
            Self::CoproIn(..) => Effects { reads: true, ..pure },
            Self::InfoClear => Effects { traps: true, writes: true, ..pure },
            Self::CoproOut(..) | Self::CoproShow(_) => Effects { writes: true, ..pure },
            Self::Copy(..) | Self::SendCopy(_) | Self::CoproInvoke(..) => {
                Effects { traps: true, reads: true, writes: true, geometry: false }
            }
            Self::Moved | Self::IsPresent => Effects { reads: true, ..pure },
            Self::Inside => Effects { traps: true, reads: true, ..pure },
            Self::SetTimer(_) => Effects { writes: true, ..pure },
            // Even a lookup that leaves the entry as it is moves the table's clock.
            Self::Find(_) | Self::Peek(_) | Self::Insert(_) | Self::DeleteEntry(_) => Effects { reads: true, writes: true, ..pure },
            Self::EntryLoad(..) => Effects { traps: true, reads: true, ..pure },
            Self::EntryStore(..) => Effects { traps: true, writes: true, ..pure },
            // These are the exchange buffer's, as its place is.
            Self::SetTime | Self::SetWire => Effects { writes: true, geometry: true, ..pure },
            Self::Hold | Self::Take | Self::Unpull => Effects { traps: true, reads: true, writes: true, geometry: true },
            Self::Receive(_) | Self::Create | Self::Delete | Self::PushHead | Self::PullHead | Self::TrimTail | Self::GrowTail => {
                Effects { traps: true, reads: true, writes: true, geometry: true }
            }
        }
    }
}
