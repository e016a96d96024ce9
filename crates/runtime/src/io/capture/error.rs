//! What can go wrong while reading a capture.
//!
//! Invariant: everything before the damage has been handed on when a [`ReadError`] comes, and
//! nothing comes after it.

use std::{fmt, io};

/// Why a capture cannot be read, or not to its end.
#[derive(Debug)]
pub enum ReadError {
    /// The system could not open or read the input.
    Io(io::Error),
    /// The input holds nothing at all.
    Empty,
    /// The first bytes are those of no capture format known here.
    NotACapture {
        /// Up to four bytes, as found.
        magic: Vec<u8>,
    },
    /// The capture is cut off or corrupt; all packets before the place were handed on.
    Damaged {
        /// Where the damaged record or block begins: bytes from the start of the (decompressed)
        /// capture.
        offset: u64,
        /// Packets before it.
        packets: u64,
        /// What is wrong there.
        damage: Damage,
    },
}

/// What is wrong with a record, a block or the stream that carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The capture ends inside its file header, after this many bytes.
    FileHeaderCut(u64),
    /// The capture ends inside a record or block.
    Cut {
        /// Bytes that are there.
        got: u64,
        /// Bytes that are needed, as far as known.
        need: u64,
    },
    /// A packet claims more bytes than any packet of its link type may have.
    PacketTooLong {
        /// The length claimed.
        length: u32,
        /// The most that is accepted.
        limit: u32,
    },
    /// A block's length is below the least, above the most, or no multiple of four.
    BlockLength {
        /// The length claimed.
        length: u32,
        /// The most that is accepted.
        limit: u32,
    },
    /// The lengths at a block's two ends differ.
    BlockEnds {
        /// At its beginning.
        head: u32,
        /// At its end.
        tail: u32,
    },
    /// A block is too short for the fields, options or packet that it must hold.
    BlockTooShort {
        /// The block's type.
        kind: u32,
    },
    /// A packet names an interface that its section does not describe.
    NoInterface {
        /// The interface named.
        id: u32,
        /// How many there are.
        known: u32,
    },
    /// The file or section is of a version that nobody defined.
    Version {
        /// The first number.
        major: u16,
        /// The second.
        minor: u16,
    },
    /// A section header without a byte order mark.
    ByteOrder(u32),
    /// An interface's clock ticks too fast for 64 bits (`if_tsresol`).
    Resolution(u8),
    /// An option that is given twice, or with a length that it cannot have.
    Option {
        /// The option's code.
        code: u16,
    },
    /// Descriptions of interfaces that together exceed what a section may take, in bytes.
    TooManyInterfaces(usize),
    /// The compressed stream around the capture is corrupt or ends early.
    Compressed(String),
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Empty => f.write_str("the input is empty; a capture begins with a header"),
            Self::NotACapture { magic } => {
                write!(f, "not a capture: it begins with {}, neither pcap nor pcapng (plain, gzip or zstd)", Hex(magic))
            }
            Self::Damaged { offset, packets, damage } => {
                write!(f, "damaged at byte {offset}, after {packets} packets: {damage}")
            }
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileHeaderCut(got) => write!(f, "the file header is cut off after {got} bytes"),
            Self::Cut { got, need } => write!(f, "cut off: {got} bytes are left of {need} or more"),
            Self::PacketTooLong { length, limit } => {
                write!(f, "a packet of {length} bytes exceeds the limit of {limit}")
            }
            Self::BlockLength { length, limit } => {
                write!(f, "a block length of {length} is no multiple of 4 from 12 to {limit}")
            }
            Self::BlockEnds { head, tail } => write!(f, "a block's lengths differ: {head} before, {tail} after"),
            Self::BlockTooShort { kind } => write!(f, "a block of type {kind:#x} is too short for its contents"),
            Self::NoInterface { id, known } => {
                write!(f, "a packet came in on interface {id}, but {known} are described before it")
            }
            Self::Version { major, minor } => write!(f, "capture version {major}.{minor} is unknown"),
            Self::ByteOrder(mark) => write!(f, "a section header's byte order mark is {mark:#010x}"),
            Self::Resolution(value) => write!(f, "an if_tsresol of {value:#x} does not fit 64 bits"),
            Self::Option { code } => write!(f, "interface option {code} is repeated or has a wrong length"),
            Self::TooManyInterfaces(limit) => write!(f, "interface descriptions exceed {limit} bytes in a section"),
            Self::Compressed(why) => write!(f, "the compressed stream ends here: {why}"),
        }
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(i, byte)| write!(f, "{}{byte:02x}", if i == 0 { "" } else { " " }))
    }
}
