//! Slot programs of the pipeline: what each stage does with the packet that is in it.
//!
//! A stage of the pipeline is one instruction of four slots (arithmetic, move, load offset,
//! branch), or an access point with one operation of a device. Slots of an instruction read what
//! was there before it, and write together. Jumps lead forward only: a packet passes the stages up
//! to the target and does nothing in them.
//!
//! Source: NetVM paper, section 5.3.1, for slots, words of 16 bits and access points. Operations of
//! the arithmetic unit, flags that comparisons write and that moves and branches depend on are
//! ours: the paper does not tell the encoding.

use netil::exec::TrapKind;
use netil::set::Set;
use netil::table::Space;

/// A register of 16 bits, by its number.
pub type Reg = u16;
/// A status flag, by its number.
pub type Flag = u16;

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Src {
    /// A register.
    Reg(Reg),
    /// A constant.
    Imm(u16),
}

/// What has to hold for a slot to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct If {
    /// The flag.
    pub flag: Flag,
    /// What it has to be.
    pub holds: bool,
}

/// An operation on words. The flag that goes in makes operations on longer values: a carry, a
/// borrow, or what was found for other words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AluOp {
    /// Sum, with a carry in and out.
    Add,
    /// Difference, with a borrow in and out.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Left shift.
    Shl,
    /// Logical right shift.
    Shr,
    /// Flag: equal, and the flag that goes in.
    Eq,
    /// Flag: less, with a borrow in.
    Lt,
    /// Flag: less, of signed words, with a borrow in.
    Lts,
    /// Flag: bits in common, or the flag that goes in.
    Test,
}

impl AluOp {
    /// All, with their names in listings.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Add, "add"),
        (Self::Sub, "sub"),
        (Self::And, "and"),
        (Self::Or, "or"),
        (Self::Xor, "xor"),
        (Self::Shl, "shl"),
        (Self::Shr, "shr"),
        (Self::Eq, "eq"),
        (Self::Lt, "lt"),
        (Self::Lts, "lts"),
        (Self::Test, "test"),
    ];

    /// The word and the flag that come out.
    pub fn eval(self, a: u16, b: u16, with: Option<bool>) -> (u16, bool) {
        let c = with.unwrap_or(false);
        let (wide_a, wide_b) = (u32::from(a), u32::from(b) + u32::from(c));
        match self {
            Self::Add => ((wide_a + wide_b) as u16, wide_a + wide_b > 0xffff),
            Self::Sub => (wide_a.wrapping_sub(wide_b) as u16, wide_a < wide_b),
            Self::And => (a & b, a & b == 0),
            Self::Or => (a | b, a | b == 0),
            Self::Xor => (a ^ b, a == b),
            Self::Shl => (a.checked_shl(b.into()).unwrap_or(0), false),
            Self::Shr => (a.checked_shr(b.into()).unwrap_or(0), false),
            Self::Eq => (0, a == b && with.unwrap_or(true)),
            Self::Lt => (0, wide_a < wide_b),
            Self::Lts => (0, i32::from(a.cast_signed()) < i32::from(b.cast_signed()) + i32::from(c)),
            Self::Test => (0, a & b != 0 || c),
        }
    }
}

/// An operation on flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagOp {
    /// Both.
    And,
    /// One or both.
    Or,
    /// One of them.
    Xor,
}

/// The slot for arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    /// On words.
    Words {
        /// What.
        op: AluOp,
        /// Where the word goes.
        dst: Option<Reg>,
        /// Where the flag goes.
        flag: Option<Flag>,
        /// Left operand.
        a: Src,
        /// Right operand.
        b: Src,
        /// The flag that goes in.
        with: Option<Flag>,
    },
    /// On flags.
    Flags {
        /// What.
        op: FlagOp,
        /// Where it goes.
        flag: Flag,
        /// Left operand.
        a: If,
        /// Right operand.
        b: If,
    },
}

/// Where a packet goes at the end of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Out by that port.
    Port(u32),
    /// Dropped, with that reason.
    Drop(u32),
}

/// A place that the slot for moves reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveOperand {
    /// A register.
    Reg(Reg),
    /// Two registers, the one with the higher half first.
    Pair(Reg),
    /// Bytes of the packet, 1, 2 or 4; the most significant first. The place counts from where the
    /// packet began when it came, wherever its head is now; the last 256 places are before that.
    Packet(u16, u8),
    /// Bytes of info memory, the least significant first.
    Info(u16, u8),
    /// A constant.
    Imm(u16),
    /// The packet's length in bytes.
    Len,
    /// Its length on the wire.
    WireLen,
    /// The port that it came in by.
    Port,
    /// Where it goes; only written.
    Out(Verdict),
    /// Out by the port of that number and what is moved; only written.
    OutBy(u32),
    /// An end of the packet, which moves by as many bytes as are moved there; only written.
    End(Change),
}

/// How an end of the packet moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Bytes at the head are taken away.
    Pull,
    /// Zeros are put before the head.
    Push,
    /// Bytes that were taken away at the head are there again.
    Unpull,
    /// Bytes at the tail are taken away.
    Trim,
    /// Zeros are put behind the tail.
    Grow,
}

impl Change {
    /// All, with their names in listings.
    pub const ALL: [(Self, &'static str); 5] =
        [(Self::Pull, "pull"), (Self::Push, "push"), (Self::Unpull, "unpull"), (Self::Trim, "trim"), (Self::Grow, "grow")];
}

/// A place in the packet as a number: those before its beginning are the last ones of 16 bits.
pub fn position(at: u16) -> i32 {
    if at >= BEFORE { i32::from(at) - 0x1_0000 } else { at.into() }
}

/// The first place that means one before the packet's beginning.
pub const BEFORE: u16 = 0xff00;

/// The slot for moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Only then.
    pub guard: Option<If>,
    /// To where.
    pub to: MoveOperand,
    /// From where; of no meaning for [`MoveOperand::Out`], a register for [`MoveOperand::OutBy`].
    pub from: MoveOperand,
}

/// The slot for accesses to the packet at a place that is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// A store.
    pub store: bool,
    /// What is loaded into or stored.
    pub value: Src,
    /// The register with the offset.
    pub base: Reg,
    /// Added to it.
    pub at: u16,
    /// Bytes, 1 or 2.
    pub bytes: u8,
}

/// Where a branch leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To a stage; while code is generated, to a block.
    Stage(usize),
    /// Out of the pipeline: the program trapped.
    Trap(usize),
}

/// The slot for branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Only then.
    pub guard: Option<If>,
    /// To where.
    pub to: Target,
}

/// Memory behind access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Memory {
    /// The element whose it is.
    pub element: usize,
    /// Which.
    pub store: Store,
}

/// Kinds of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Store {
    /// Data memory.
    Data,
    /// Shared memory.
    Shared,
    /// Initialised data.
    Initialised,
    /// Entries of a table.
    Table(u32),
}

/// Bytes in a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Which memory.
    pub memory: Memory,
    /// Offset or entry; without, the bytes are at a constant place.
    pub base: Option<Src>,
    /// Added to it.
    pub at: u32,
    /// How many.
    pub bytes: u32,
    /// The most significant first.
    pub big: bool,
}

/// The operation of an access point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whether a set has a key; words from the lowest.
    Has {
        /// The set.
        set: usize,
        /// The key.
        key: Vec<Src>,
        /// Where the answer goes.
        flag: Flag,
    },
    /// A jump that a lookup decides.
    Jump {
        /// The key.
        key: Vec<Src>,
        /// Keys and where they lead.
        cases: Vec<(u32, usize)>,
        /// Where others lead.
        default: usize,
    },
    /// A lookup: the entry's number or 0, and bytes of its value or zeros.
    Find {
        /// The table.
        table: Memory,
        /// The entry is used.
        refresh: bool,
        /// The key.
        key: Vec<Src>,
        /// Where its number goes.
        entry: Option<Reg>,
        /// Where bytes of the value go: offset, bytes, registers from the lowest word.
        data: Vec<(u32, u32, Vec<Reg>)>,
    },
    /// Enters a key; the entry's number or 0.
    Insert {
        /// The table.
        table: Memory,
        /// The key.
        key: Vec<Src>,
        /// Where its number goes.
        entry: Option<Reg>,
        /// What is written into its value: offset, bytes, words.
        data: Vec<(u32, u32, Vec<Src>)>,
    },
    /// Takes a key out.
    Delete {
        /// The table.
        table: Memory,
        /// The key.
        key: Vec<Src>,
        /// Whether it was there.
        flag: Flag,
    },
    /// Reads.
    Read(Span, Vec<Reg>),
    /// Writes.
    Write(Span, Vec<Src>),
    /// Reads, adds or another operation, and writes, with nothing in between.
    Update(Span, AluOp, Vec<Src>),
}

/// A stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// An instruction.
    Slots(Slots),
    /// An access point.
    Point(Option<Access>),
}

/// An instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Arithmetic.
    pub alu: Option<Alu>,
    /// Move.
    pub mov: Option<Move>,
    /// Load offset.
    pub load: Option<Offset>,
    /// Branch.
    pub branch: Option<Branch>,
}

impl Slots {
    /// How many are used.
    pub fn used(&self) -> usize {
        [self.alu.is_some(), self.mov.is_some(), self.load.is_some(), self.branch.is_some()].into_iter().filter(|used| *used).count()
    }
}

/// A place where a program traps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// The element.
    pub element: usize,
    /// Why.
    pub kind: TrapKind,
    /// The instruction.
    pub site: u32,
    /// Before it, ends of accesses in the packet and their places: it is the first one that is not
    /// inside.
    pub ends: Vec<(u32, u32)>,
}

/// A program for the pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The stages in use.
    pub stages: Vec<Stage>,
    /// Sets that access points look into.
    pub sets: Vec<Set>,
    /// Places of traps.
    pub traps: Vec<Trap>,
}

/// How much of the pipeline a program takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Size {
    /// Operations, before they shared instructions.
    pub operations: usize,
    /// Instructions that do something, and operations of access points.
    pub instructions: usize,
    /// Of these, operations of access points.
    pub points: usize,
    /// Stages to the last one that does something.
    pub stages: usize,
}

impl Program {
    /// How much of the pipeline it takes.
    pub fn size(&self) -> Size {
        let mut size = Size { stages: self.stages.len(), ..Size::default() };
        for stage in &self.stages {
            let used = match stage {
                Stage::Slots(slots) => slots.used(),
                Stage::Point(access) => usize::from(access.is_some()),
            };
            size.operations += used;
            size.instructions += usize::from(used > 0);
            size.points += usize::from(matches!(stage, Stage::Point(Some(_))));
        }
        size
    }
}

/// What a memory is called.
pub fn space(store: Store) -> Option<Space> {
    match store {
        Store::Data => Some(Space::Data),
        Store::Shared => Some(Space::Shared),
        Store::Initialised => Some(Space::Initialised),
        Store::Table(_) => None,
    }
}

/// A register or flag that something names, and whether it is written.
pub enum Name<'a> {
    /// A register.
    Reg(&'a mut Reg, bool),
    /// A flag.
    Flag(&'a mut Flag, bool),
}

impl Src {
    fn names(&mut self, f: &mut dyn FnMut(Name<'_>)) {
        if let Self::Reg(reg) = self {
            f(Name::Reg(reg, false));
        }
    }
}

impl Alu {
    /// Calls `f` with each name.
    pub fn names(&mut self, f: &mut dyn FnMut(Name<'_>)) {
        match self {
            Self::Words { dst, flag, a, b, with, .. } => {
                a.names(f);
                b.names(f);
                with.iter_mut().for_each(|flag| f(Name::Flag(flag, false)));
                dst.iter_mut().for_each(|reg| f(Name::Reg(reg, true)));
                flag.iter_mut().for_each(|flag| f(Name::Flag(flag, true)));
            }
            Self::Flags { flag, a, b, .. } => {
                f(Name::Flag(&mut a.flag, false));
                f(Name::Flag(&mut b.flag, false));
                f(Name::Flag(flag, true));
            }
        }
    }
}

impl Move {
    /// Calls `f` with each name; of a pair with the first.
    pub fn names(&mut self, f: &mut dyn FnMut(Name<'_>)) {
        self.guard.iter_mut().for_each(|guard| f(Name::Flag(&mut guard.flag, false)));
        if let MoveOperand::Reg(reg) | MoveOperand::Pair(reg) = &mut self.from {
            f(Name::Reg(reg, false));
        }
        if let MoveOperand::Reg(reg) | MoveOperand::Pair(reg) = &mut self.to {
            f(Name::Reg(reg, true));
        }
    }
}

impl Offset {
    /// Calls `f` with each name.
    pub fn names(&mut self, f: &mut dyn FnMut(Name<'_>)) {
        f(Name::Reg(&mut self.base, false));
        if let Src::Reg(reg) = &mut self.value {
            f(Name::Reg(reg, !self.store));
        }
    }
}

impl Access {
    /// Calls `f` with each name.
    pub fn names(&mut self, f: &mut dyn FnMut(Name<'_>)) {
        match self {
            Self::Has { key, flag, .. } | Self::Delete { key, flag, .. } => {
                key.iter_mut().for_each(|word| word.names(f));
                f(Name::Flag(flag, true));
            }
            Self::Jump { key, .. } => key.iter_mut().for_each(|word| word.names(f)),
            Self::Find { key, entry, data, .. } => {
                key.iter_mut().for_each(|word| word.names(f));
                entry.iter_mut().chain(data.iter_mut().flat_map(|(_, _, regs)| regs)).for_each(|reg| f(Name::Reg(reg, true)));
            }
            Self::Insert { key, entry, data, .. } => {
                key.iter_mut().chain(data.iter_mut().flat_map(|(_, _, words)| words)).for_each(|word| word.names(f));
                entry.iter_mut().for_each(|reg| f(Name::Reg(reg, true)));
            }
            Self::Read(span, regs) => {
                span.base.iter_mut().for_each(|base| base.names(f));
                regs.iter_mut().for_each(|reg| f(Name::Reg(reg, true)));
            }
            Self::Write(span, words) | Self::Update(span, _, words) => {
                span.base.iter_mut().chain(words).for_each(|word| word.names(f));
            }
        }
    }
}
