//! What a compiled program is for who runs it and who fills its tables.

use netil::Module;
use num_bigint::BigInt;

/// The ports of the module.
pub mod ports {
    /// In: what arrives, or comes round.
    pub const INGRESS: u32 = 0;
    /// In: what the replication engine gives to egress.
    pub const EGRESS: u32 = 1;
    /// In: a clone of what had arrived, which goes to egress.
    pub const AGAIN: u32 = 2;
    /// Out: what goes to the replication engine.
    pub const QUEUED: u32 = 3;
    /// Out: what leaves egress.
    pub const OUT: u32 = 4;
    /// Out: a clone that egress makes.
    pub const MIRROR: u32 = 5;
    /// In: what arrives, to leave egress if ingress asks for one port and nothing else; see
    /// [`super::Order::straight_at_once`].
    pub const STRAIGHT: u32 = 6;
}

/// The port to which ingress sends what is dropped.
pub const DROP: u32 = u32::MAX;

/// How a program calls the ways by which its packets come: numbers of `instance_type` or
/// `packet_path`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// To ingress, from a port.
    pub arrived: u32,
    /// To egress, from ingress.
    pub unicast: u32,
    /// To egress, as a copy for a multicast group.
    pub multicast: u32,
    /// To egress, as a clone of what arrived.
    pub ingress_clone: u32,
    /// To egress, as a clone of what egress made.
    pub egress_clone: u32,
    /// To ingress, as it had arrived.
    pub resubmitted: u32,
    /// To ingress, as egress made it.
    pub recirculated: u32,
}

/// Where in info memory the two halves of a program and the replication engine talk to each other;
/// offsets of little-endian numbers.
pub mod info {
    /// 32 bits: the port that ingress sends to, or [`super::DROP`].
    pub const EGRESS_SPEC: u32 = 0;
    /// 32 bits: the multicast group, or 0.
    pub const GROUP: u32 = 4;
    /// 32 bits: [`SESSION_ASKED`] with the session of a clone that was asked for, or 0.
    pub const SESSION: u32 = 8;
    /// The highest bit.
    pub const SESSION_ASKED: u32 = 1 << 31;
    /// 32 bits: the field list of the clone and one, or 0.
    pub const FIELDS: u32 = 12;
    /// 32 bits: the field list to resubmit with and one, or 0.
    pub const RESUBMIT: u32 = 16;
    /// 32 bits: the field list to recirculate with and one, or 0.
    pub const RECIRCULATE: u32 = 20;
    /// 32 bits: bytes to truncate to and one, or 0.
    pub const TRUNCATE: u32 = 24;
    /// 32 bits: the way by which the packet comes, see [`super::Paths`].
    pub const PATH: u32 = 28;
    /// 32 bits: the port that it leaves by.
    pub const EGRESS_PORT: u32 = 32;
    /// 32 bits: the port that it came in by; where it recirculates, the port that it comes in by
    /// next.
    pub const INGRESS_PORT: u32 = 36;
    /// 32 bits: bytes of the packet as it came in.
    pub const LENGTH: u32 = 40;
    /// 48 bits: microseconds since the switch started.
    pub const TIME: u32 = 44;
    /// 16 bits: the number of a copy in its multicast group.
    pub const RID: u32 = 50;
    /// 16 bits: the digest that was asked for, by its number and one, or 0.
    pub const DIGEST: u32 = 52;
    /// 16 bits: the class of service.
    pub const CLASS: u32 = 54;
    /// Here headers and metadata begin.
    pub const STATE: u32 = 56;
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

impl Match {
    /// Its name in programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Lpm => "lpm",
            Self::Ternary => "ternary",
            Self::Range => "range",
            Self::Optional => "optional",
            Self::Selector => "selector",
        }
    }
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
    /// The bits of entries that count, if not all do: BMv2's JSON may take some away from what is
    /// looked up, and then takes them away from entries, too.
    pub mask: Option<BigInt>,
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
    /// The default action is constant.
    pub const_default: bool,
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
    /// The action profile that entries take their actions from: an entry's value begins with a
    /// member's number in 32 bits and, in the next 32, the number of a group and one, or 0 where it
    /// is a member.
    pub profile: Option<usize>,
    /// Ranges are written as prefixes, and the table is ternary.
    pub ternary: bool,
    /// Where in an entry's value stands when it was found last, in microseconds since the switch
    /// started, 64 bits: of tables that tell of entries that were not used for some time.
    pub last_hit: Option<u32>,
    /// The entries that the program has.
    pub initial: Vec<InitialEntry>,
}

/// An entry of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialEntry {
    /// A match for each key.
    pub keys: Vec<crate::key_match::KeyMatch>,
    /// The highest wins.
    pub priority: u32,
    /// The action's number.
    pub action: usize,
    /// Its arguments.
    pub args: Vec<num_bigint::BigInt>,
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

/// Where the parts of a meter are in its [`meter::BYTES`] bytes: little-endian numbers of 64 bits.
/// Rates are per microsecond; rates, bursts and tokens have [`meter::FRACTION`] bits behind the
/// point. Those of the committed rate come first, those of the peak rate 8 bytes later.
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

/// An action profile or selector: members, which are actions with their arguments, and groups of
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileMeta {
    /// Its whole name for the control plane.
    pub name: String,
    /// The module's table of members: key 32 bits, value as that of an entry without profile.
    pub members: u32,
    /// The module's table of groups, for a selector. Key: 32 bits the group, 32 bits a position, or
    /// [`GROUP_SIZE`]; value: 32 bits, the member there, or how many there are.
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
    /// The bits of members that count, if not all do.
    pub mask: Option<BigInt>,
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

/// What of a program can tell in which order its halves ran for which packets: a switch that takes
/// several packets at once runs ingress for all of them before egress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Something that one half changes and the other one looks at, or random numbers.
    pub between: bool,
    /// Something that ingress changes: another order of packets before it would be seen.
    pub ingress: bool,
    /// Something that egress changes: another order of packets before it would be seen.
    pub egress: bool,
    /// Packets may be resubmitted or recirculated.
    pub comes_round: bool,
    /// Egress may make clones.
    pub mirrors: bool,
    /// Ingress may ask for clones, groups, resubmission or digests.
    pub deviates: bool,
    /// The program has the port [`ports::STRAIGHT`].
    pub straight: bool,
}

impl Order {
    /// Whether ingress may run for several packets before egress runs for the first.
    #[must_use]
    pub fn ingress_at_once(self) -> bool {
        !(self.between || self.comes_round && (self.ingress || self.egress))
    }

    /// Whether packets may come in by [`ports::STRAIGHT`], one behind the other, before what the
    /// replication engine has to do is done.
    #[must_use]
    pub fn straight_at_once(self) -> bool {
        let egress_waits = self.deviates || self.mirrors || self.comes_round;
        self.straight && !(egress_waits && (self.between || self.egress) || self.comes_round && self.ingress)
    }

    /// Whether then egress may run for them one behind the other, before what it asks for is done.
    #[must_use]
    pub fn egress_at_once(self) -> bool {
        self.ingress_at_once() && !(self.mirrors && self.egress)
    }
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
    /// How it calls the ways of its packets.
    pub paths: Paths,
    /// The port by which packets go to controllers.
    pub cpu_port: u32,
    /// The highest port that packets can leave by.
    pub last_port: u32,
    /// What it tells, if it was compiled for tracing.
    pub marks: Option<crate::marks::Marks>,
    /// Of a program that is an element: the module's table of multicast groups. Key: 16 bits the
    /// group, 16 bits a position; value: 16 bits each, egress port and replication id.
    pub groups: Option<u32>,
    /// What was done to make it fast, a sentence each.
    pub optimised: Vec<String>,
    /// What each table, register, counter and meter keeps of packets, a sentence each.
    pub kept: Vec<String>,
    /// Whether the order of packets is seen.
    pub order: Order,
}
