//! Sets of what operations read and change besides their operands.

use netil::table::Space;

/// A set of states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States(u32);

impl States {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// The packet's bytes.
    pub const PACKET: Self = Self(1);
    /// Info memory: annotations.
    pub const INFO: Self = Self(1 << 1);
    /// Data memory.
    pub const DATA: Self = Self(1 << 2);
    /// Shared memory.
    pub const SHARED: Self = Self(1 << 3);
    /// Initialised data, which nobody writes.
    pub const INITIALISED: Self = Self(1 << 4);
    /// The packet's captured length.
    pub const LENGTH: Self = Self(1 << 5);
    /// Its length on the wire.
    pub const WIRE: Self = Self(1 << 6);
    /// Its arrival time.
    pub const TIME: Self = Self(1 << 7);
    /// Where its head is, and whether there is a packet.
    pub const HEAD: Self = Self(1 << 8);
    /// Which entries tables have.
    pub const TABLE: Self = Self(1 << 9);
    /// Values of entries.
    pub const ENTRIES: Self = Self(1 << 10);
    /// Times of tables, by which entries expire.
    pub const CLOCK: Self = Self(1 << 11);
    /// Timers.
    pub const TIMERS: Self = Self(1 << 12);
    /// Coprocessors.
    pub const COPROCESSORS: Self = Self(1 << 13);
    /// Packets that wait, here or behind an input.
    pub const QUEUES: Self = Self(1 << 14);
    /// Packets that leave.
    pub const OUTPUT: Self = Self(1 << 15);
    /// The budget.
    pub const BUDGET: Self = Self(1 << 16);

    /// What changes when the head moves.
    pub const MOVE: Self = Self::PACKET.and(Self::LENGTH).and(Self::WIRE).and(Self::HEAD);
    /// What changes when bytes are added at the end.
    pub const TAIL: Self = Self::PACKET.and(Self::LENGTH).and(Self::WIRE);
    /// The exchange buffer: the packet and all that is known of it.
    pub const BUFFER: Self = Self::MOVE.and(Self::INFO).and(Self::TIME);
    /// What a coprocessor sees of the exchange buffer.
    pub const VIEWS: Self = Self::PACKET.and(Self::LENGTH).and(Self::INFO);
    /// The exchange buffer's, but for bytes.
    pub const GEOMETRY: Self = Self::LENGTH.and(Self::WIRE).and(Self::TIME).and(Self::HEAD);
    /// What is there for later packets. Clocks aside: a lookup's is the packet's time.
    pub const LASTING: Self =
        Self::DATA.and(Self::SHARED).and(Self::TABLE).and(Self::ENTRIES).and(Self::TIMERS).and(Self::COPROCESSORS).and(Self::QUEUES);

    /// A memory.
    pub const fn memory(space: Space) -> Self {
        match space {
            Space::Packet => Self::PACKET,
            Space::Info => Self::INFO,
            Space::Data => Self::DATA,
            Space::Shared => Self::SHARED,
            Space::Initialised => Self::INITIALISED,
        }
    }

    /// These and others.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether some of these are among others.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all of these are among others.
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}
