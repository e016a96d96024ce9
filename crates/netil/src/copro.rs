//! Virtual coprocessors: what a program may ask of them, and what an implementation must give.
//!
//! A coprocessor is a black box with 32-bit registers and numbered operations (NetVM paper, section
//! 3.1.3). The verifier knows it by its [`Descriptor`]; the implementations are in the runtime. New
//! ones need no new instruction, and programs that use this library may [`register`] their own,
//! which are then known to assembler and verifier by their names.

pub mod patterns;

use std::fmt;
use std::sync::{PoisonError, RwLock};

/// The most registers a coprocessor has.
pub const MAX_REGISTERS: usize = 32;
/// The most operations a coprocessor has.
pub const MAX_OPERATIONS: usize = 16;
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
    /// Its operations write text for people ([`Coprocessor::drain`]). Whoever runs a handler takes
    /// the text after each run, so elements that invoke it do not run fused.
    pub prints: bool,
    /// Description for the manual.
    pub doc: &'static str,
}

/// The registers of one coprocessor.
pub type Registers = [u32; MAX_REGISTERS];

/// The descriptors of the coprocessors that every netvm has: those of the original NetVM with the
/// meaning that its programs rely on and with an answer where it went astray, and one for messages.
/// Numbers in initialised data are little-endian, whatever the packet's are.
pub const BUILTIN: &[Descriptor] = &[LOOKUP, LOOKUPNEW, LOOKUP_EX, ASSOCIATIVE, STRINGMATCHING, REGEXP, CONSOLE];

/// Exact lookup, key built word by word.
pub const LOOKUP: Descriptor = Descriptor {
    name: "lookup",
    registers: 2,
    operations: &["init", "add_key", "add_value", "read_value", "reset_key"],
    cost: 40,
    prints: false,
    doc: "Exact lookup of one word by a key of up to 16 words. init empties the table and the key under construction; add_key appends register 0 to \
          that key; add_value enters register 0 as the key's value or replaces it; read_value sets register 1 to 1 and register 0 to the value if the \
          key is in the table, else register 1 to 0. The key stays for further operations until reset_key.",
};

/// Exact lookup, key in registers.
pub const LOOKUPNEW: Descriptor = Descriptor {
    name: "lookupnew",
    registers: 8,
    operations: &["init", "insert", "lookup"],
    cost: 40,
    prints: false,
    doc: "Exact lookup with the whole key in registers 0 to 4 and the value in registers 5 and 6. init empties the table; insert enters or replaces; \
          lookup sets register 7 to 1 and registers 5 and 6 to the value if the key is in the table, else all three to 0.",
};

/// Exact lookup in several tables.
pub const LOOKUP_EX: Descriptor = Descriptor {
    name: "lookup_ex",
    registers: 8,
    operations: &["init", "init_table", "add_key", "add_value", "select", "get_value", "upd_value", "delete", "reset"],
    cost: 40,
    prints: false,
    doc: "Exact lookup in several tables, with keys of up to 64 bytes and values of up to 32 words. Register 0 is the number of tables (up to 64) for init, which \
          empties all, and the table from 0 for all else. init_table takes the most entries from register 1, the key's bytes from register 2, the value's words \
          from register 3. add_key appends to the table's key the low bytes of register 1, as many as register 5 says, 2 or 4; add_value \
          appends register 1 to its value, the first word entering and selecting the key; select sets register 7 to 1 and selects the key's entry, or to 0 if there is \
          none. get_value reads word register 1 of the selected entry into register 6, upd_value sets it to that, delete takes the entry out. reset begins \
          another key.",
};

/// Longest-prefix match.
pub const ASSOCIATIVE: Descriptor = Descriptor {
    name: "associative",
    registers: 20,
    operations: &["reset", "insert", "lookup"],
    cost: 60,
    prints: false,
    doc: "Longest-prefix match. Register 0 is the table (0 to 15), register 1 the key's length in bytes, register 2 the value's (each 0 to 32), registers \
          3 to 10 hold the key and registers 11 to 18 the value, most significant byte first. reset empties all tables; insert enters or replaces; \
          lookup finds the longest entered key that begins the given one and sets register 2 and the words that the value takes, or register 2 to 0 \
          if there is none.",
};

/// Groups of strings in the packet.
pub const STRINGMATCHING: Descriptor = Descriptor {
    name: "stringmatching",
    registers: 4,
    operations: &["reset", "match", "match_with_offset", "get_result"],
    cost: 400,
    prints: false,
    doc: "Strings of a group in the packet (Aho-Corasick). Initialised data: the number of groups (16 bits); per group the number of patterns (16 bits); \
          per pattern its length (16 bits), 1 if upper and lower case are the same, else 0 (16 bits), a number of the program's (32 bits), the bytes. \
          match looks for the patterns of group register 0 in the first register 2 bytes of the packet, match_with_offset in register 2 bytes from \
          register 1; both stop at the packet's end, set register 0 to the number of matches (at most 1,600) and keep them ordered by their end. \
          get_result takes the next one: register 0 counts down, register 1 = the pattern's number, register 2 = its end relative to the start, \
          register 3 = its length; all four are 0 when there is none left.",
};

/// Regular expressions in the packet.
pub const REGEXP: Descriptor = Descriptor {
    name: "regexp",
    registers: 4,
    operations: &["reset", "match", "match_with_offset", "get_result"],
    cost: 1000,
    prints: false,
    doc: "A regular expression in the packet. Initialised data: the number of expressions (16 bits); per expression the length of its flags (16 bits), the \
          flags, its own length (16 bits), its text. Flags: i either case, s dot matches a line feed, m lines, x free spacing, A at the start only, E \
          dollar at the very end only (always so here), G least first; R, U and B are ignored. Syntax: Perl's without back-references and looking \
          around. match and match_with_offset look for expression register 0 as those of `stringmatching` and set register 0 to 1 or 0; get_result: \
          if register 0 is not 0 and there was a match, register 0 counts down, register 1 = 0, register 2 = the match's end relative to the start, \
          register 3 = its length; else registers 1 to 3 are 0.",
};

/// The most bytes that one compiled expression of `regexp` takes.
pub const EXPRESSION_SIZE: usize = 1 << 18;

/// An expression of `regexp` as text: bytes that are not ASCII as escapes.
#[must_use]
pub fn expression_text(bytes: &[u8]) -> String {
    bytes.iter().map(|b| if b.is_ascii() { char::from(*b).to_string() } else { format!("\\x{b:02x}") }).collect()
}

/// Text for people.
pub const CONSOLE: Descriptor = Descriptor {
    name: "console",
    registers: 4,
    operations: &["text", "unsigned", "signed", "hex", "ip4", "ip6", "mac", "packet", "ascii", "time"],
    cost: 200,
    prints: true,
    doc: "Text for people, which the runtime takes after each run of a handler; what exceeds 4 MiB in a run is lost. Initialised data: all of it. \
          text appends register 1 bytes of initialised data from register 0; unsigned and signed the 64-bit number whose high half is in register 1 in decimal; \
          hex that number in at least register 2 hexadecimal digits; ip4 the IPv4 address in register 0; ip6 the IPv6 address in registers 0 to 3, most \
          significant first; mac the Ethernet address whose high 16 bits are in register 0 and low 32 bits in register 1, as 00-11-22-33-44-55; packet register 1 \
          bytes of the packet from register 0 in hexadecimal, a blank behind every fourth byte; ascii the same as text, a dot for what is not printable, a \
          blank behind every eighth byte; time that number of nanoseconds as seconds with six digits behind the point, or nine if the last three are not 0.",
};

/// The descriptor with that name among the built-in ones.
pub fn builtin(name: &str) -> Option<&'static Descriptor> {
    BUILTIN.iter().find(|d| d.name == name)
}

/// Coprocessors that a process may register.
pub const MAX_REGISTERED: usize = 64;

/// Those that were registered. None is taken away again: verified programs refer to them.
static REGISTERED: RwLock<Vec<&'static Descriptor>> = RwLock::new(Vec::new());

/// Why a coprocessor cannot be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// A name that assembler text cannot have: letters, digits and `_` are allowed, and the first
    /// is no digit; or operations that share one.
    BadName,
    /// There is one of that name.
    Taken,
    /// More than [`MAX_REGISTERS`] registers or [`MAX_OPERATIONS`] operations, or no operation.
    TooLarge,
    /// [`MAX_REGISTERED`] are registered.
    TooMany,
}

impl std::error::Error for RegisterError {}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName => {
                f.write_str("names of coprocessors and of their operations have letters, digits and _, no digit first, and differ")
            }
            Self::Taken => f.write_str("there is a coprocessor of that name"),
            Self::TooLarge => write!(f, "a coprocessor has at most {MAX_REGISTERS} registers and from 1 to {MAX_OPERATIONS} operations"),
            Self::TooMany => write!(f, "{MAX_REGISTERED} coprocessors are registered, and no more may be"),
        }
    }
}

/// Makes a coprocessor known to assembler and verifier, as long as the process lives.
///
/// # Errors
/// What is wrong with the descriptor.
pub fn register(descriptor: Descriptor) -> Result<(), RegisterError> {
    let is_name = |text: &str| {
        text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
    };
    let Descriptor { name, operations, registers, .. } = descriptor;
    let is_twice = |(at, operation): (usize, &&str)| operations[..at].contains(operation);
    if !is_name(name) || !operations.iter().all(|operation| is_name(operation)) || operations.iter().enumerate().any(is_twice) {
        return Err(RegisterError::BadName);
    }
    if registers as usize > MAX_REGISTERS || !(1..=MAX_OPERATIONS).contains(&operations.len()) {
        return Err(RegisterError::TooLarge);
    }
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    if builtin(name).is_some() || registered.iter().any(|it| it.name == name) {
        return Err(RegisterError::Taken);
    }
    if registered.len() >= MAX_REGISTERED {
        return Err(RegisterError::TooMany);
    }
    registered.push(Box::leak(Box::new(descriptor)));
    Ok(())
}

/// The descriptor with that name among the built-in and the registered ones.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    let registered = || REGISTERED.read().unwrap_or_else(PoisonError::into_inner).iter().copied().find(|d| d.name == name);
    builtin(name).or_else(registered)
}

/// What an operation sees of the handler's memories, for reading: parts of the exchange buffer that
/// `copro.exbuf` showed, as they are when the operation runs. A program's data and shared memory
/// are its own, and are seen by no unit; what that needs of them is passed in registers. Other
/// views may be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Views<'a> {
    /// Packet memory: the captured bytes, none of a buffer without a packet.
    pub packet: Option<&'a [u8]>,
    /// Info memory, as many bytes as the program declares.
    pub info: Option<&'a [u8]>,
}

impl<'a> Views<'a> {
    /// Of a handler that showed nothing.
    pub const NONE: Self = Self { packet: None, info: None };

    /// Of an exchange buffer.
    #[must_use]
    pub const fn of(packet: &'a [u8], info: &'a [u8]) -> Self {
        Self { packet: Some(packet), info: Some(info) }
    }

    /// The packet, for operations that need it.
    ///
    /// # Errors
    /// It was not shown.
    pub fn shown_packet(self) -> Result<&'a [u8], CoproError> {
        self.packet.ok_or(CoproError::NoPacket)
    }
}

/// An instance of a coprocessor. Its registers are kept by the engine and passed in.
pub trait Coprocessor: Send {
    /// Takes the coprocessor's initialised data, from the offset that `copro.init` names to the end
    /// of the module's; returns 0 if it is good, else a number that says why not.
    fn init(&mut self, data: &[u8]) -> u32;

    /// Runs an operation, which sees what the handler showed it.
    fn invoke(&mut self, operation: u32, registers: &mut Registers, views: Views<'_>) -> Result<(), CoproError>;

    /// What [`Self::init`] would cost on that data, in bytes handled in bulk: the handler pays for
    /// them before ([`crate::budget`]). 0 where it takes a short time whatever the data.
    fn init_work(&self, data: &[u8]) -> u64 {
        let _ = data;
        0
    }

    /// What [`Self::invoke`] would cost with those registers and views, in bytes handled in bulk:
    /// the handler pays for them before. 0 where the operation takes a short time whatever the
    /// packet. Must depend on nothing but what the instance remembers and is given.
    fn work(&self, operation: u32, registers: &Registers, views: Views<'_>) -> u64 {
        let _ = (operation, registers, views);
        0
    }

    /// What it has written for people since it was last asked. A unit that writes says so in its
    /// descriptor: [`Descriptor::prints`].
    fn drain(&mut self) -> Vec<u8> {
        Vec::new()
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_checked_when_they_are_registered() {
        let mine = Descriptor { name: "copro_test", registers: 2, operations: &["a", "b"], cost: 1, prints: false, doc: "" };
        assert_eq!(find("copro_test"), None);
        for (wrong, why) in [
            (Descriptor { name: "", ..mine }, RegisterError::BadName),
            (Descriptor { name: "1a", ..mine }, RegisterError::BadName),
            (Descriptor { operations: &["a", "b c"], ..mine }, RegisterError::BadName),
            (Descriptor { operations: &["a", "a"], ..mine }, RegisterError::BadName),
            (Descriptor { operations: &[], ..mine }, RegisterError::TooLarge),
            (Descriptor { registers: 33, ..mine }, RegisterError::TooLarge),
            (Descriptor { name: "lookup", ..mine }, RegisterError::Taken),
        ] {
            assert_eq!(register(wrong), Err(why));
        }
        assert_eq!(register(mine), Ok(()));
        assert_eq!(register(mine), Err(RegisterError::Taken));
        assert_eq!(find("copro_test"), Some(&mine));
    }
}
