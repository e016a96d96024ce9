//! Why a module cannot be written or bytes are not a module.

use crate::module::HandlerKind;
use crate::set::SetError;
use std::fmt;

/// Why a module has no binary form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// The handler, if it is about code.
    pub handler: Option<HandlerKind>,
    /// The instruction in it.
    pub index: u32,
    /// What is wrong.
    pub reason: EncodeReason,
}

/// What is wrong with a module that has no binary form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeReason {
    /// A branch target is not an instruction of the handler.
    Target,
    /// An immediate does not fit its field, or an unused one is not 0.
    Immediate,
    /// The constant or the switch of the instruction is missing, superfluous or of another width.
    Extra,
    /// There are more lines than instructions.
    Lines,
    /// A part is longer than its length field can say.
    Length,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(handler) = self.handler {
            write!(f, "{} handler, instruction {}: ", handler.name(), self.index)?;
        }
        f.write_str(match self.reason {
            EncodeReason::Target => "its branch target is not an instruction of the handler",
            EncodeReason::Immediate => "an immediate does not fit its field",
            EncodeReason::Extra => "its constant or switch is missing, superfluous or of another width",
            EncodeReason::Lines => "there are more source lines than instructions",
            EncodeReason::Length => "the module is too long for the binary form",
        })
    }
}

impl std::error::Error for EncodeError {}

/// Why bytes are not a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Where, in bytes from the start.
    pub offset: usize,
    /// What is wrong there.
    pub reason: DecodeReason,
}

/// What is wrong with bytes that are not a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeReason {
    /// The file does not start as a module does.
    Magic,
    /// The version is not one that can be read.
    Version(u16),
    /// The length in the header is not that of the file.
    Length,
    /// The checksum is not that of the contents.
    Checksum,
    /// The bytes end inside this.
    Truncated,
    /// Bytes are left over here.
    Trailing,
    /// An unknown section that may not be skipped.
    Section(u16),
    /// A section is out of order, there twice, missing, empty or about a handler that is not there.
    Misplaced(u16),
    /// More than the limits allow of this.
    Limit(&'static str),
    /// A name is not UTF-8.
    Text,
    /// No instruction has this opcode.
    Opcode(u16),
    /// A number is outside its range.
    Number(&'static str),
    /// A branch does not lead to an instruction of the handler.
    Target,
    /// Ranges do not make a set.
    Set(SetError),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {:#x}: {}", self.offset, self.reason)
    }
}

impl fmt::Display for DecodeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic => f.write_str("not a netvm module (it does not start with \"NVM\\0\")"),
            Self::Version(v) => write!(f, "module version {v}; this netvm reads version {}", super::VERSION),
            Self::Length => f.write_str("the length in the header is not that of the file; the file is cut off or has grown"),
            Self::Checksum => f.write_str("wrong checksum; the file is damaged"),
            Self::Truncated => f.write_str("the bytes end in the middle of something"),
            Self::Trailing => f.write_str("bytes are left over"),
            Self::Section(id) => write!(f, "unknown section {id:#x}; the module needs a newer netvm"),
            Self::Misplaced(id) => write!(f, "section {id:#x} is missing, empty or out of place"),
            Self::Limit(what) => write!(f, "more {what} than the limit allows"),
            Self::Text => f.write_str("a name is not UTF-8"),
            Self::Opcode(code) => write!(f, "no instruction has opcode {code:#04x}"),
            Self::Number(what) => write!(f, "{what} is out of range"),
            Self::Target => f.write_str("a branch does not lead to an instruction of the handler"),
            Self::Set(SetError::Width(w)) => write!(f, "a set of {w}-bit values; the width must be 1 to 2048"),
            Self::Set(SetError::Range(i)) => write!(f, "range {i} of the set is reversed or too wide"),
            Self::Set(SetError::Order(i)) => write!(f, "range {} of the set is not above the one before", i + 1),
        }
    }
}

impl std::error::Error for DecodeError {}
