//! Work that compiled code leaves to the runtime, with a row for each kind ([`Helper::row`]): what
//! it reads and writes, what it does with the packet, whether fused code does it in place. All that
//! passes, analyses, back ends and engines decide about helpers follows from the rows; rustc names
//! the `match` that lacks one.

use super::Effects;
use super::states::States;
use netil::ops::CmpOp;
use netil::table::Space;

/// One kind of it. Operands are in the order in which the instruction's were pushed; of 32 bits,
/// unless something else is said. A reference to an entry is a number of 32 bits, 0 for none.
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
    /// table; key of its width → entry, which does not count as used
    Peek(u32),
    /// table; key → entry
    Insert(u32),
    /// table; key → 1 if it was there
    DeleteEntry(u32),
    /// table → entries; a walk begins
    Walk(u32),
    /// table → entries that are due; a walk begins
    Due(u32),
    /// table → 1 if the walk has a next entry
    NextKey(u32),
    /// table → key of its width
    WalkedKey(u32),
    /// table → time of 64 bits
    Deadline(u32),
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

/// What a helper does with the packet, for a host that has the packet in another form while it
/// works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketUse {
    /// It does not look at it.
    No,
    /// It reads it.
    Reads,
    /// It reads it and its annotations.
    Views,
    /// It moves head or tail, and traps if there is no packet; annotations stay.
    Moves,
    /// It may do anything.
    All,
}

/// How the fast path of fused code does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastPath {
    /// In place.
    InPlace,
    /// In place, or by a side exit to the slow path where that cannot be.
    MayExit,
    /// As a lookup in that table, if fused code knows the table's layout.
    Lookup(u32),
    /// As work on an entry of that table, if fused code knows the table's layout.
    Entry(u32),
    /// By the runtime alone.
    Runtime,
}

/// What is known of a kind of helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// It may trap.
    pub traps: bool,
    /// What it reads besides its operands.
    pub reads: States,
    /// What it changes.
    pub writes: States,
    /// What it does with the packet.
    pub packet: PacketUse,
    /// How the fast path does it.
    pub fast: FastPath,
    /// Operands or results may have other widths than 32 bits.
    pub wide: bool,
}

const TRAPS: bool = true;
const NEVER: bool = false;

const fn row(traps: bool, reads: States, writes: States, packet: PacketUse, fast: FastPath) -> Row {
    Row { traps, reads, writes, packet, fast, wide: false }
}

const fn wide(traps: bool, reads: States, writes: States, fast: FastPath) -> Row {
    Row { traps, reads, writes, packet: PacketUse::No, fast, wide: true }
}

impl Helper {
    /// What is known of it.
    #[rustfmt::skip]
    pub const fn row(self) -> Row {
        use FastPath::{Entry, InPlace, Lookup, MayExit, Runtime};
        use PacketUse::{All, Moves, No, Reads, Views};
        use States as S;
        match self {
            //                                            reads                             writes
            Self::Scan(_) | Self::FieldCmp(_)
                                        => row(TRAPS, S::PACKET.and(S::LENGTH),         S::BUDGET,                        Reads, Runtime),
            Self::Checksum | Self::ChecksumValid
                                        => row(TRAPS, S::PACKET.and(S::LENGTH),         S::BUDGET,                        Reads, InPlace),
            Self::CrcPacket(_)          => row(TRAPS, S::PACKET.and(S::LENGTH),         S::BUDGET,                        Reads, Runtime),
            Self::Crc(_)                => row(NEVER, S::NONE,                          S::NONE,                          No, Runtime),
            Self::ChecksumAdd | Self::ChecksumSub | Self::Hash
                                        => row(NEVER, S::NONE,                          S::NONE,                          No, InPlace),
            Self::Inside                => row(TRAPS, S::LENGTH,                        S::NONE,                          Reads, InPlace),
            Self::Moved | Self::IsPresent
                                        => row(NEVER, S::HEAD,                          S::NONE,                          Reads, InPlace),
            Self::Copy(from, to)        => row(TRAPS, S::memory(from).and(S::LENGTH),   S::memory(to).and(S::BUDGET),     All, Runtime),
            Self::InfoClear             => row(TRAPS, S::NONE,                          S::INFO,                          All, Runtime),
            Self::PullHead              => row(TRAPS, S::LENGTH.and(S::HEAD),           S::MOVE,                          Moves, InPlace),
            Self::PushHead              => row(TRAPS, S::LENGTH.and(S::HEAD),           S::MOVE.and(S::BUDGET),           Moves, MayExit),
            Self::Unpull                => row(TRAPS, S::LENGTH.and(S::HEAD),           S::MOVE,                          Moves, MayExit),
            Self::TrimTail              => row(TRAPS, S::LENGTH,                        S::LENGTH.and(S::WIRE),           Moves, InPlace),
            Self::GrowTail              => row(TRAPS, S::LENGTH,                        S::TAIL.and(S::BUDGET),           Moves, Runtime),
            // These are the exchange buffer's, as its place is.
            Self::SetWire               => row(NEVER, S::NONE,                          S::WIRE,                          All, InPlace),
            Self::SetTime               => Row { packet: All, ..wide(NEVER, S::NONE,    S::TIME,                          MayExit) },
            Self::SendCopy(_)           => row(TRAPS, S::BUFFER,                        S::OUTPUT.and(S::BUDGET),         All, MayExit),
            Self::Receive(_)            => row(TRAPS, S::QUEUES,                        S::BUFFER.and(S::QUEUES),         All, Runtime),
            Self::Hold | Self::Take     => row(TRAPS, S::BUFFER.and(S::QUEUES),         S::BUFFER.and(S::QUEUES),         All, Runtime),
            Self::Create | Self::Delete => row(TRAPS, S::HEAD,                          S::BUFFER.and(S::BUDGET),         All, Runtime),
            Self::SetTimer(_)           => wide(NEVER, S::NONE,                         S::TIMERS,                        Runtime),
            // Even a lookup that leaves the entry as it is moves the table's clock.
            Self::Find(table) | Self::Peek(table)
                                        => wide(NEVER, S::TABLE,                        S::CLOCK,                         Lookup(table)),
            Self::Insert(table)         => wide(NEVER, S::TABLE,                        S::TABLE.and(S::CLOCK),           Lookup(table)),
            Self::DeleteEntry(_)        => wide(NEVER, S::TABLE,                        S::TABLE.and(S::CLOCK),           Runtime),
            // Walks are kept beside the packet's buffer, as coprocessors are.
            Self::Walk(_) | Self::Due(_)
                                        => row(TRAPS, S::TABLE,                         S::TABLE.and(S::CLOCK).and(S::BUDGET), All, Runtime),
            Self::NextKey(_)            => row(NEVER, S::TABLE,                         S::TABLE.and(S::CLOCK),           All, Runtime),
            Self::WalkedKey(_)          => wide(NEVER, S::TABLE,                        S::NONE,                          Runtime),
            Self::Deadline(_)           => wide(NEVER, S::TABLE,                        S::TABLE.and(S::CLOCK),           Runtime),
            Self::EntryLoad(table, _)   => wide(TRAPS, S::ENTRIES,                      S::NONE,                          Entry(table)),
            Self::EntryStore(table, _)  => wide(TRAPS, S::NONE,                         S::ENTRIES,                       Entry(table)),
            Self::CoproIn(..)           => row(NEVER, S::COPROCESSORS,                  S::NONE,                          No, Runtime),
            Self::CoproOut(..)          => row(NEVER, S::NONE,                          S::COPROCESSORS,                  No, Runtime),
            Self::CoproShow(_)          => row(NEVER, S::NONE,                          S::COPROCESSORS,                  No, Runtime),
            Self::CoproInvoke(..)       => row(TRAPS, S::VIEWS.and(S::COPROCESSORS),    S::COPROCESSORS.and(S::BUDGET),   Views, Runtime),
        }
    }

    /// The table that it works on.
    pub fn table(self) -> Option<u32> {
        match self {
            Self::Find(table) | Self::Peek(table) | Self::Insert(table) | Self::DeleteEntry(table) => Some(table),
            Self::Walk(table) | Self::Due(table) | Self::NextKey(table) | Self::WalkedKey(table) | Self::Deadline(table) => Some(table),
            Self::EntryLoad(table, _) | Self::EntryStore(table, _) => Some(table),
            Self::Scan(_) | Self::FieldCmp(_) | Self::Checksum | Self::ChecksumValid | Self::CrcPacket(_) | Self::Crc(_) => None,
            Self::ChecksumAdd | Self::ChecksumSub | Self::Hash | Self::Inside | Self::Copy(..) | Self::InfoClear => None,
            Self::SendCopy(_) | Self::Receive(_) | Self::Create | Self::Delete | Self::PushHead | Self::PullHead => None,
            Self::TrimTail | Self::GrowTail | Self::Unpull | Self::Moved | Self::IsPresent | Self::Hold | Self::Take => None,
            Self::SetWire | Self::SetTime | Self::SetTimer(_) => None,
            Self::CoproIn(..) | Self::CoproOut(..) | Self::CoproInvoke(..) | Self::CoproShow(_) => None,
        }
    }

    /// Whether it works on more of the packet than its time.
    pub fn needs_packet(self) -> bool {
        self.row().packet != PacketUse::No
    }

    /// Whether the packet is where and what it was when that has been done.
    pub fn leaves_packet(self) -> bool {
        matches!(self.row().packet, PacketUse::No | PacketUse::Reads | PacketUse::Views)
    }

    /// Whether it may change where the packet lies, its lengths or its time.
    pub fn changes_geometry(self) -> bool {
        self.row().writes.meets(States::GEOMETRY)
    }

    /// True where an operand or the result may be of another width than 32 bits.
    pub fn is_wide(self) -> bool {
        self.row().wide
    }

    /// The table that it looks up a key in.
    pub fn looks_up(self) -> Option<u32> {
        if let FastPath::Lookup(table) = self.row().fast { Some(table) } else { None }
    }

    /// Whether something is kept of a packet for others, or that of others seen: memories aside,
    /// which are accessed by place.
    pub fn keeps(self) -> bool {
        let row = self.row();
        row.writes.meets(States::LASTING) || row.reads.meets(States::COPROCESSORS.and(States::QUEUES))
    }

    /// Whether all that it reads and changes is the packet's, or none's.
    pub fn is_of_packet(self) -> bool {
        let row = self.row();
        row.reads.and(row.writes).is_within(States::BUFFER.and(States::BUDGET))
    }

    pub(super) fn effects(self) -> Effects {
        let Row { traps, reads, writes, .. } = self.row();
        let geometry = self.changes_geometry();
        Effects { traps, reads: !reads.is_empty(), writes: !writes.is_empty(), geometry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked of rows, of helpers about which a mistake would be silent: a lookup's clock is
    /// no trace of a packet, copies are not the packet's own.
    #[test]
    fn answers_follow_from_rows() {
        use Helper::{
            Checksum, Copy, Delete, EntryLoad, EntryStore, Find, Hash, InfoClear, Insert, PullHead, PushHead, SendCopy, SetTime, SetTimer,
            Take,
        };
        let moves = Copy(Space::Packet, Space::Data);
        let [all, keeps] = [
            [Checksum, Hash, PullHead, PushHead, SetTime, InfoClear, Find(0), EntryLoad(0, 0), SendCopy(0), Delete],
            [
                moves,
                Copy(Space::Info, Space::Shared),
                Insert(0),
                EntryStore(0, 0),
                SetTimer(0),
                Take,
                Helper::Hold,
                Helper::Receive(0),
                Helper::CoproIn(0, 0),
                Helper::DeleteEntry(0),
            ],
        ];
        assert!(all.iter().all(|helper| !helper.keeps()) && keeps.iter().all(|helper| helper.keeps()));
        let geometry: Vec<Helper> = all.iter().chain(&keeps).filter(|helper| helper.effects().geometry).copied().collect();
        assert_eq!(geometry, [PullHead, PushHead, SetTime, Delete, Take, Helper::Hold, Helper::Receive(0)]);
        let pure: Vec<Helper> = all.iter().chain(&keeps).filter(|helper| helper.effects() == Effects::default()).copied().collect();
        assert_eq!(pure, [Hash]);
        assert!([Checksum, Hash, PushHead, InfoClear].iter().all(|helper| helper.is_of_packet()));
        assert!([SendCopy(0), Find(0), moves, Take].iter().all(|helper| !helper.is_of_packet()));
        let stay: Vec<Helper> = all.iter().filter(|helper| helper.leaves_packet()).copied().collect();
        assert_eq!(stay, [Checksum, Hash, Find(0), EntryLoad(0, 0)]);
        // A coprocessor reads what it is shown, and may cost what others do.
        let Row { reads, writes, .. } = Helper::CoproInvoke(0, 0).row();
        assert!(Helper::CoproInvoke(0, 0).leaves_packet() && !Helper::CoproShow(0).needs_packet());
        assert!([States::PACKET, States::LENGTH, States::INFO].iter().all(|seen| reads.meets(*seen)) && writes.meets(States::BUDGET));
    }
}
