//! What a compiled program is for who runs it and who fills its tables.

use netil::Module;

/// Where in info memory the two halves of a program and the replication engine talk to each other; offsets of little-endian numbers.
pub mod info {
    /// 16 bits: `egress_spec` as ingress left it.
    pub const EGRESS_SPEC: u32 = 0;
    /// 16 bits: `mcast_grp`.
    pub const GROUP: u32 = 2;
    /// 32 bits: the session that a clone was asked for with the highest bit set, or 0.
    pub const SESSION: u32 = 4;
    /// 32 bits: the field list of the clone and one, or 0.
    pub const FIELDS: u32 = 8;
    /// 32 bits: the field list to resubmit with and one, or 0.
    pub const RESUBMIT: u32 = 12;
    /// 32 bits: the field list to recirculate with and one, or 0.
    pub const RECIRCULATE: u32 = 16;
    /// 32 bits: bytes to truncate to and one, or 0.
    pub const TRUNCATE: u32 = 20;
    /// 32 bits: `instance_type`.
    pub const INSTANCE: u32 = 24;
    /// 16 bits: `egress_port`.
    pub const EGRESS_PORT: u32 = 28;
    /// 16 bits: `egress_rid`.
    pub const RID: u32 = 30;
    /// 16 bits: `ingress_port`.
    pub const INGRESS_PORT: u32 = 32;
    /// 32 bits: `packet_length`.
    pub const LENGTH: u32 = 36;
    /// 48 bits: microseconds since the switch started.
    pub const TIME: u32 = 40;
    /// Here headers and metadata begin.
    pub const STATE: u32 = 48;
}

/// A scalar that travels with the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedLeaf {
    /// Its local variable.
    pub local: u32,
    /// Its width there.
    pub width: u16,
    /// Where it is in info memory.
    pub at: u32,
    /// It is of the program's own metadata.
    pub metadata: bool,
    /// The field lists that it is in.
    pub lists: Vec<u32>,
}

/// All scalars that travel with packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// In the order of their places.
    pub leaves: Vec<SavedLeaf>,
    /// Behind the last.
    pub end: u32,
}

/// How a key is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// One value.
    Exact,
    /// The longest prefix.
    Lpm,
    /// Value and mask.
    Ternary,
    /// Lowest and highest value.
    Range,
    /// One value or any.
    Optional,
    /// Chooses a member of a group; no part of entries.
    Selector,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMeta {
    /// Its name for the control plane.
    pub name: String,
    /// Its width in bits.
    pub width: u32,
    /// How it is matched.
    pub kind: Match,
    /// The lowest bit that it takes in the module's key.
    pub shift: u32,
}

/// A parameter of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamMeta {
    /// Its name.
    pub name: String,
    /// Its width in bits.
    pub width: u32,
    /// Its first byte in an entry's value.
    pub at: u32,
}

/// An action of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionMeta {
    /// Its whole name for the control plane.
    pub name: String,
    /// What the control plane gives.
    pub params: Vec<ParamMeta>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMeta {
    /// Its whole name for the control plane.
    pub name: String,
    /// Its number in the module, if it has keys.
    pub table: Option<u32>,
    /// Its keys.
    pub keys: Vec<KeyMeta>,
    /// Bits of the module's key.
    pub key_bits: u16,
    /// Its actions; the number is what an entry's value begins with, 16 bits.
    pub actions: Vec<ActionMeta>,
    /// Bytes of an entry's value.
    pub value_bytes: u32,
    /// Where the default action is in data memory.
    pub default_at: u32,
    /// The default action from the start.
    pub default: Vec<u8>,
    /// Its entries are constant.
    pub const_entries: bool,
    /// Where in an entry's value packets and bytes are counted, 64 bits each.
    pub counter: Option<u32>,
    /// Where direct counters are found by name.
    pub counter_name: String,
    /// Ranges are written as prefixes, and the table is ternary.
    pub ternary: bool,
}

/// What an array in data memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayKind {
    /// Numbers.
    Register,
    /// Packets and bytes, 64 bits each.
    Counter,
    /// Rates, buckets and the time of the last packet.
    Meter,
}

/// A register, counter or meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayMeta {
    /// Its whole name for the control plane.
    pub name: String,
    /// What it is.
    pub kind: ArrayKind,
    /// Its first byte in data memory.
    pub at: u32,
    /// Bytes of a cell.
    pub stride: u32,
    /// How many cells.
    pub count: u32,
    /// Bits of a value.
    pub width: u32,
    /// It counts bytes; else packets. Of meters only.
    pub by_bytes: bool,
}

/// A compiled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// The code.
    pub module: Module,
    /// Its tables.
    pub tables: Vec<TableMeta>,
    /// Its registers, counters and meters.
    pub arrays: Vec<ArrayMeta>,
    /// What travels in info memory.
    pub saved: Saved,
}
