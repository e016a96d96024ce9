//! A module: one NetPE's code, memories, ports, coprocessors and read-only sets, before it is
//! verified.
//!
//! Branch targets are instruction indices here; the binary form ([`crate::codec`]) turns them into
//! displacements. Nothing in a module has been checked: [`mod@crate::verify`] is the only way to a
//! [`crate::Verified`] that may run.

use crate::set::Set;
use crate::table::Op;
use crate::wide;

/// The code and declarations of one NetPE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Name of the NetPE (`.netpe_name`); empty if not given.
    pub name: String,
    /// Name of the source for messages; empty if not known.
    pub source: String,
    /// Ports in the order of declaration; a port's id is its index. A module that declares none has
    /// one push input, id 0, and one push output, id 1.
    pub ports: Vec<Port>,
    /// Size of data memory in bytes.
    pub data_size: u32,
    /// Size of info memory in bytes.
    pub info_size: u32,
    /// Named parts of info memory.
    pub info_fields: Vec<InfoField>,
    /// Coprocessors used; their operand in code is the index here.
    pub coprocessors: Vec<CoproUse>,
    /// Initialised data, read-only.
    pub data: Vec<u8>,
    /// Names of places in initialised data, for people.
    pub data_labels: Vec<Label>,
    /// Read-only sets.
    pub sets: Vec<Set>,
    /// Tables.
    pub tables: Vec<Table>,
    /// What can be read and written from outside; the runtime's business, no instruction sees them.
    pub controls: Vec<Control>,
    /// Names of drop reasons, for people: `at` is the number.
    pub reasons: Vec<Label>,
    /// Runs once before the first packet.
    pub init: Option<Handler>,
    /// Runs for every packet that is pushed in.
    pub push: Option<Handler>,
    /// Runs for every packet that is asked for.
    pub pull: Option<Handler>,
}

impl Module {
    /// Whether two modules differ in nothing but their names.
    pub fn is_equal_but_for_name(&self, other: &Self) -> bool {
        self.runs_like(other) && self.init == other.init
    }

    /// Whether two modules differ in nothing but their names and what they do before there are
    /// packets.
    pub fn runs_like(&self, other: &Self) -> bool {
        let Self {
            name: _,
            source,
            ports,
            data_size,
            info_size,
            info_fields,
            coprocessors,
            data,
            data_labels,
            sets,
            tables,
            controls,
            reasons,
            init: _,
            push,
            pull,
        } = self;
        (source, ports, data_size, info_size) == (&other.source, &other.ports, &other.data_size, &other.info_size)
            && (info_fields, coprocessors, data, data_labels) == (&other.info_fields, &other.coprocessors, &other.data, &other.data_labels)
            && (sets, tables, controls, reasons) == (&other.sets, &other.tables, &other.controls, &other.reasons)
            && (push, pull) == (&other.push, &other.pull)
    }
}

/// A handler's code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handler {
    /// The instructions.
    pub code: Vec<Inst>,
    /// Width in bits of each local variable.
    pub locals: Vec<u16>,
    /// Greatest number of stack elements.
    pub max_stack: u32,
    /// Source line of each instruction, from 1; 0 or missing if not known.
    pub lines: Vec<u32>,
    /// Names of places in the code, for people.
    pub labels: Vec<Label>,
}

/// A name for a place: an instruction index or an offset in initialised data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The name.
    pub name: String,
    /// The place.
    pub at: u32,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inst {
    /// Which.
    pub op: Op,
    /// Its immediates in the order of the table; a branch target is an instruction index. Constants
    /// and switches are in `extra`.
    pub imm: [u32; 3],
    /// What does not fit there.
    pub extra: Extra,
}

/// Immediates of unbounded size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Extra {
    /// None.
    #[default]
    None,
    /// The limbs of a constant, see [`crate::wide`].
    Const(Box<[u64]>),
    /// The targets of a `switch`.
    Switch(Box<Switch>),
}

/// The targets of a `switch`, as instruction indices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switch {
    /// Taken where no key fits.
    pub default: u32,
    /// Key and target; keys are distinct.
    pub cases: Vec<(u32, u32)>,
}

/// A port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The name that code uses.
    pub name: String,
    /// Direction and discipline.
    pub kind: PortKind,
}

/// Direction and discipline of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// Packets arrive here when upstream pushes.
    PushInput,
    /// The handler pushes packets out here.
    PushOutput,
    /// The handler asks for packets here.
    PullInput,
    /// Downstream asks for packets here.
    PullOutput,
}

impl PortKind {
    /// The four kinds with their names in source.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::PushInput, "push_input"),
        (Self::PushOutput, "push_output"),
        (Self::PullInput, "pull_input"),
        (Self::PullOutput, "pull_output"),
    ];

    /// True for both inputs.
    pub fn is_input(self) -> bool {
        matches!(self, Self::PushInput | Self::PullInput)
    }
}

/// A named part of info memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfoField {
    /// The name, equal names mean the same field across an application.
    pub name: String,
    /// First byte.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// A table of entries, see [`crate::tables`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The name that code uses.
    pub name: String,
    /// How keys are matched.
    pub kind: TableKind,
    /// Width of a key in bits, a multiple of 8.
    pub key_bits: u16,
    /// Size of a value in bytes.
    pub value_bytes: u32,
    /// The most entries.
    pub capacity: u32,
    /// An entry that nothing refreshes for so long is gone, in nanoseconds of packet time; 0: none
    /// ever is.
    pub timeout_ns: u64,
    /// What is there from the start.
    pub entries: Vec<Entry>,
}

impl Table {
    /// Whether code made for one may use the other: their kinds and the sizes of their keys and
    /// values are the same.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.kind, self.key_bits, self.value_bytes) == (other.kind, other.key_bits, other.value_bytes)
    }
}

macro_rules! table_kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal;)*) => {
        /// How the keys of a table are matched.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum TableKind { $($(#[$doc])* $kind),* }

        impl TableKind {
            /// The kinds with their names in source, in the order of their numbers in the binary
            /// form. An element in C declares a table by `TABLE_` and the name in capitals.
            pub const ALL: [(Self, &'static str); [$($name),*].len()] = [$((Self::$kind, $name)),*];
        }
    };
}

table_kinds! {
    /// A key that is equal to the entry's.
    Exact "exact";
    /// The longest prefix.
    Prefix "prefix";
    /// Key and mask; the highest priority.
    Ternary "ternary";
    /// A lowest and a highest key, both included; the highest priority.
    Range "range";
}

impl TableKind {
    /// The name in source.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether entries may have that key and mask: the masks of prefixes are ones, then zeros, and
    /// ranges do not end before they begin.
    pub fn fits(self, key_bits: u16, key: &[u64], mask: &[u64]) -> bool {
        let mut ones = (0..u32::from(key_bits)).rev().map(|bit| wide::bit(mask, bit));
        match self {
            Self::Exact | Self::Ternary => true,
            Self::Prefix => !ones.any(|one| !one) || !ones.any(|one| one),
            Self::Range => wide::compare(key, mask).is_le(),
        }
    }

    /// Whether an entry has a mask, or the end of a range.
    pub const fn has_mask(self) -> bool {
        match self {
            Self::Exact => false,
            Self::Prefix | Self::Ternary | Self::Range => true,
        }
    }

    /// Whether an entry has a priority.
    pub const fn has_priority(self) -> bool {
        match self {
            Self::Exact | Self::Prefix => false,
            Self::Ternary | Self::Range => true,
        }
    }

    /// Whether programs enter entries, take them out and walk over them; otherwise only who is
    /// outside does.
    pub const fn is_of_programs(self) -> bool {
        match self {
            Self::Exact => true,
            Self::Prefix | Self::Ternary | Self::Range => false,
        }
    }
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key, in limbs of [`crate::wide`]; of a range the lowest one.
    pub key: Box<[u64]>,
    /// Of a prefix or ternary entry which bits matter, of a range the highest key, of an exact
    /// entry empty.
    pub mask: Box<[u64]>,
    /// Of ternary and range entries: the highest wins, among equals the one entered first. Else 0.
    pub priority: u32,
    /// The value, as many bytes as the table says.
    pub value: Box<[u8]>,
}

/// What can be read or written from outside while the program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// The name.
    pub name: String,
    /// It can be read.
    pub read: bool,
    /// It can be written.
    pub write: bool,
    /// What its text looks like.
    pub ty: ControlType,
    /// Where its value is in data memory.
    pub at: u32,
    /// The pull handler runs before it is read and after it is written, see [`crate::event`].
    pub call: bool,
}

/// The text and size of a control's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControlType {
    /// An unsigned integer of that many bits.
    Unsigned(u16),
    /// A signed one.
    Signed(u16),
    /// A byte that is 0 or 1.
    Bool,
    /// An IPv4 address, a number of 32 bits.
    Ip4,
    /// An IPv6 address, a number of 128 bits.
    Ip6,
    /// An Ethernet address, a number of 48 bits.
    Mac,
    /// What the handler prints.
    Text,
    /// Nothing: a button.
    None,
}

impl ControlType {
    /// Those without a size, with their names in source.
    pub const PLAIN: [(Self, &'static str); 6] =
        [(Self::Bool, "bool"), (Self::Ip4, "ip4"), (Self::Ip6, "ip6"), (Self::Mac, "mac"), (Self::Text, "text"), (Self::None, "none")];

    /// The bytes that its value takes in data memory.
    pub fn size(self) -> u32 {
        match self {
            Self::Unsigned(bits) | Self::Signed(bits) => u32::from(bits) / 8,
            Self::Bool => 1,
            Self::Ip4 => 4,
            Self::Ip6 => 16,
            Self::Mac => 6,
            Self::Text | Self::None => 0,
        }
    }
}

/// Marks the type of a reference to an entry of a table among the widths of stack elements and
/// locals.
pub const ENTRY: u16 = 0x8000;
/// The most tables of a module.
pub const MAX_TABLES: usize = 256;

/// The type of a reference to an entry of that table.
pub fn entry_type(table: u32) -> u16 {
    ENTRY | table as u16
}

/// True for the type of a reference to an entry, and the table's number.
pub fn as_entry(ty: u16) -> Option<u32> {
    (ty & ENTRY != 0).then_some(u32::from(ty ^ ENTRY))
}

/// The stack slots that an element or local of that type takes.
pub fn slots(ty: u16) -> usize {
    if ty & ENTRY == 0 { crate::wide::limbs(ty) } else { 1 }
}

/// A coprocessor instance that the module uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoproUse {
    /// The name that code uses for this instance.
    pub alias: String,
    /// The name of its descriptor.
    pub name: String,
}

/// Which handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandlerKind {
    /// `.init`
    Init,
    /// `.push`
    Push,
    /// `.pull`
    Pull,
}

impl HandlerKind {
    /// All three, in the order of the binary form.
    pub const ALL: [Self; 3] = [Self::Init, Self::Push, Self::Pull];

    /// The name of the segment in source, without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Push => "push",
            Self::Pull => "pull",
        }
    }
}

impl Module {
    /// The handler of that kind.
    pub fn handler(&self, kind: HandlerKind) -> Option<&Handler> {
        match kind {
            HandlerKind::Init => self.init.as_ref(),
            HandlerKind::Push => self.push.as_ref(),
            HandlerKind::Pull => self.pull.as_ref(),
        }
    }

    /// The place of the handler of that kind.
    pub fn handler_mut(&mut self, kind: HandlerKind) -> &mut Option<Handler> {
        match kind {
            HandlerKind::Init => &mut self.init,
            HandlerKind::Push => &mut self.push,
            HandlerKind::Pull => &mut self.pull,
        }
    }

    /// The port with that id, with the implicit ports of a module that declares none.
    pub fn port(&self, id: u32) -> Option<Port> {
        let name = ["in", "out"].get(id as usize).filter(|_| self.ports.is_empty());
        match name {
            Some(name) => self.port_kind(id).map(|kind| Port { name: (*name).to_owned(), kind }),
            None => self.ports.get(id as usize).cloned(),
        }
    }

    /// The kind of the port with that id.
    pub fn port_kind(&self, id: u32) -> Option<PortKind> {
        match (self.ports.is_empty(), id) {
            (true, 0) => Some(PortKind::PushInput),
            (true, 1) => Some(PortKind::PushOutput),
            _ => self.ports.get(id as usize).map(|p| p.kind),
        }
    }

    /// Ids and ports, implicit ones included.
    pub fn all_ports(&self) -> Vec<(u32, Port)> {
        (0..).map_while(|id| self.port(id).map(|p| (id, p))).collect()
    }

    /// The port that `ret n` sends to: the first output.
    pub fn first_output(&self) -> Option<u32> {
        (0..).map_while(|id| self.port_kind(id).map(|kind| (id, kind))).find(|(_, kind)| !kind.is_input()).map(|(id, _)| id)
    }

    /// The size of shared memory in bytes: what `set.share` in the init handler says, else 0.
    pub fn shared_size(&self) -> u32 {
        let code = self.init.as_ref().map_or(&[][..], |h| &h.code);
        code.iter().filter(|i| i.op == Op::SetShare).map(|i| i.imm[0]).max().unwrap_or(0)
    }
}

impl Handler {
    /// The source line of an instruction, 0 if not known.
    pub fn line(&self, index: u32) -> u32 {
        self.lines.get(index as usize).copied().unwrap_or(0)
    }

    /// The nearest label at or before an instruction, with the distance to it.
    pub fn label_before(&self, index: u32) -> Option<(&str, u32)> {
        let near = self.labels.iter().filter(|l| l.at <= index).max_by_key(|l| l.at)?;
        Some((&near.name, index - near.at))
    }
}

impl Inst {
    /// An instruction without immediates.
    pub fn new(op: Op) -> Self {
        Self { op, imm: [0; 3], extra: Extra::None }
    }

    /// An instruction with one number, port, local, set or branch target.
    pub fn with(op: Op, imm: u32) -> Self {
        Self { op, imm: [imm, 0, 0], extra: Extra::None }
    }

    /// An instruction with two.
    pub fn with2(op: Op, a: u32, b: u32) -> Self {
        Self { op, imm: [a, b, 0], extra: Extra::None }
    }

    /// The 32-bit constants that it pushes; none if it does anything else.
    pub fn constants(&self) -> &[u32] {
        match self.op {
            Op::Push => &self.imm[..1],
            Op::Push2 => &self.imm[..2],
            Op::PushC0 => &[0],
            Op::PushC1 => &[1],
            Op::PushC2 => &[2],
            Op::PushCm1 => &[u32::MAX],
            _ => &[],
        }
    }

    /// The targets of a branch, a switch or a call.
    pub fn targets(&self) -> Vec<u32> {
        match &self.extra {
            Extra::Switch(s) => s.cases.iter().map(|c| c.1).chain([s.default]).collect(),
            _ if self.op.branches() => vec![self.imm[0]],
            _ => Vec::new(),
        }
    }
}
