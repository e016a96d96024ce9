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
    /// 16 bits: the digest that was asked for, by its number and one, or 0.
    pub const DIGEST: u32 = 46;
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
    /// Where in an entry's value its meter is.
    pub meter: Option<u32>,
    /// Where direct meters are found by name.
    pub meter_name: String,
    /// The action profile that entries take their actions from: an entry's value begins with a member's number in 32 bits and, in the next 32,
    /// the number of a group and one, or 0 where it is a member.
    pub profile: Option<usize>,
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

/// Where the parts of a meter are in its [`meter::BYTES`] bytes: little-endian numbers of 64 bits. Rates are per microsecond; rates, bursts and
/// tokens have [`meter::FRACTION`] bits behind the point. Those of the committed rate come first, those of the peak rate 8 bytes later.
pub mod meter {
    /// Both rates.
    pub const RATE: u32 = 0;
    /// Both bursts, the most tokens that there are.
    pub const BURST: u32 = 16;
    /// The tokens that are there.
    pub const TOKENS: u32 = 32;
    /// Microseconds since the switch started, at the last packet.
    pub const LAST: u32 = 48;
    /// 1 once rates are given; before that every packet is green.
    pub const SET: u32 = 56;
    /// Bytes of a meter.
    pub const BYTES: u32 = 64;
    /// Bits behind the point.
    pub const FRACTION: u32 = 32;
}

/// An action profile or selector: members, which are actions with their arguments, and groups of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileMeta {
    /// Its whole name for the control plane.
    pub name: String,
    /// The module's table of members: key 32 bits, value as that of an entry without profile.
    pub members: u32,
    /// The module's table of groups, for a selector. Key: 32 bits the group, 32 bits a position, or [`GROUP_SIZE`]; value: 32 bits, the member there, or how many there are.
    pub groups: Option<u32>,
    /// Its actions, those of the tables that use it.
    pub actions: Vec<ActionMeta>,
    /// Bytes of a member's value.
    pub value_bytes: u32,
    /// The most members.
    pub size: u32,
}

/// The position in a group's key under which its size is found.
pub const GROUP_SIZE: u32 = u32::MAX;

/// The most members of a multicast group of an element.
pub const GROUP_POSITIONS: usize = 1 << 16;

/// A value set of a parser: a ternary table of the module, without values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetMeta {
    /// Its whole name for the control plane.
    pub name: String,
    /// The module's table.
    pub table: u32,
    /// Names and widths of the parts of a member, from the highest bit of the key.
    pub fields: Vec<(String, u32)>,
    /// Bits of the module's key.
    pub key_bits: u16,
}

/// What a program tells the control plane of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestMeta {
    /// The name of its type, or of where it is sent.
    pub name: String,
    /// Names, widths, and places in info memory (little-endian).
    pub fields: Vec<(String, u32, u32)>,
}

/// A cyclic redundancy check whose parameters the control plane may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrcMeta {
    /// `calc`, `calc_0`, and so on, in the order of the program's text.
    pub name: String,
    /// 16 or 32.
    pub width: u32,
    /// Where [`crate::crc::Parameters::image`] lies in data memory.
    pub at: u32,
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
    /// Its action profiles and selectors.
    pub profiles: Vec<ProfileMeta>,
    /// Its value sets.
    pub sets: Vec<SetMeta>,
    /// Its digests.
    pub digests: Vec<DigestMeta>,
    /// Its checks with parameters.
    pub crcs: Vec<CrcMeta>,
    /// What travels in info memory.
    pub saved: Saved,
    /// Bytes of info memory.
    pub info_bytes: u32,
    /// What it tells, if it was compiled for tracing.
    pub marks: Option<crate::marks::Marks>,
    /// Of a program that is an element: the module's table of multicast groups. Key: 16 bits the group, 16 bits a position; value: 16 bits each,
    /// egress port and replication id.
    pub groups: Option<u32>,
}
