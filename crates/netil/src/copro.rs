//! Virtual coprocessors: what a program may ask of them, and what an implementation must give.
//!
//! A coprocessor is a black box with 32-bit registers and numbered operations (NetVM paper, section 3.1.3). The verifier knows
//! it by its [`Descriptor`]; the implementations are in the runtime. New ones need no new instruction.

use std::fmt;

/// The most registers a coprocessor has.
pub const MAX_REGISTERS: usize = 32;
/// The most operations a coprocessor has.
pub const MAX_OPERATIONS: usize = 8;
/// The most coprocessors a NetPE uses.
pub const MAX_COPROCESSORS: usize = 10;

/// What a coprocessor offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Name in `.use_coprocessor`.
    pub name: &'static str,
    /// Number of registers.
    pub registers: u32,
    /// Names of the operations, in the order of their numbers.
    pub operations: &'static [&'static str],
    /// Typical cost of one operation in cycles, for cost models.
    pub cost: u32,
    /// Description for the manual.
    pub doc: &'static str,
}

/// The registers of one coprocessor.
pub type Registers = [u32; MAX_REGISTERS];

/// The descriptors of the coprocessors that every netvm has.
pub const BUILTIN: &[Descriptor] = &[
    Descriptor {
        name: "lookup",
        registers: 2,
        operations: &["init", "add_key", "add_value", "read_value", "reset_key"],
        cost: 40,
        doc: "Exact lookup with a key of any number of words. add_key appends register 0 to the key under construction; add_value enters (key, register 0, \
              register 1) and resets the key; read_value looks the key up: register 0 is 1 and register 1 the second value's word if found, else register 0 \
              is 0; the key is reset.",
    },
    Descriptor {
        name: "lookupnew",
        registers: 32,
        operations: &["init", "insert", "lookup"],
        cost: 40,
        doc: "Exact lookup with the whole key in registers. Register 0 holds the number of key words n (1 to 24), registers 1..=n the key, registers 25..=31 \
              the value. insert enters or replaces; lookup sets register 0 to 1 and registers 25..=31 to the value if found, else register 0 to 0.",
    },
    Descriptor {
        name: "associative",
        registers: 4,
        operations: &["init", "insert", "lookup"],
        cost: 60,
        doc: "Longest-prefix match on 32-bit keys. insert enters register 0 with prefix length register 1 and value register 2; lookup of register 0 sets \
              register 3 to 1 and register 2 to the value if a prefix matches, else register 3 to 0.",
    },
    Descriptor {
        name: "stringmatching",
        registers: 4,
        operations: &["reset", "match", "match_with_offset", "get_result"],
        cost: 400,
        doc: "Strings of a group in the packet (Aho-Corasick). match looks in the whole packet, match_with_offset in register 1 = start, register 2 = length; \
              register 0 holds the group and then the number of matches. get_result moves to the next match: register 0 = pattern, register 1 = \
              offset of its first byte, register 2 = its length; register 0 = 0xffffffff when there is none left.",
    },
    Descriptor {
        name: "regexp",
        registers: 4,
        operations: &["reset", "match", "match_with_offset", "get_result"],
        cost: 1000,
        doc: "Regular expressions of a group in the packet; registers and operations as `stringmatching`.",
    },
];

/// The descriptor with that name among the built-in ones.
pub fn builtin(name: &str) -> Option<&'static Descriptor> {
    BUILTIN.iter().find(|d| d.name == name)
}

/// An instance of a coprocessor. Its registers are kept by the engine and passed in.
pub trait Coprocessor: Send {
    /// Takes the coprocessor's initialised data, from the offset that `copro.init` names to the end of the module's; returns
    /// 0 if it is good, else a number that says why not.
    fn init(&mut self, data: &[u8]) -> u32;

    /// Runs an operation. `packet` is there if the handler showed it with `copro.exbuf`.
    fn invoke(&mut self, operation: u32, registers: &mut Registers, packet: Option<&[u8]>) -> Result<(), CoproError>;

    /// All that the instance remembers, for comparing engines; equal states behave equally.
    fn fingerprint(&self) -> u64;
}

/// Why an operation could not be done; the handler traps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoproError {
    /// The operation needs the packet and the handler did not show it.
    NoPacket,
    /// A register holds something that the operation cannot use.
    BadRegister,
    /// The table has reached its declared size.
    Full,
    /// The coprocessor was not initialised.
    NotInitialised,
}

impl fmt::Display for CoproError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoPacket => "the packet was not shown to it with copro.exbuf",
            Self::BadRegister => "a register holds a value out of range",
            Self::Full => "its table is full",
            Self::NotInitialised => "it was not initialised with copro.init",
        })
    }
}
