//! What can go wrong while writing a capture.

use std::{fmt, io, path::PathBuf};

use crate::io::{LinkType, Timestamp};

/// Why a capture was not written. Whatever it is, the writer gives up: the output is absent, or (a
/// pipe, or a file that grows) incomplete.
#[derive(Debug)]
pub enum WriteError {
    /// The system could not create or write the output.
    Io {
        /// Which output; `-` for standard output.
        output: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system could not write all of a growing output: what fitted stays in it.
    Kept {
        /// Which output.
        output: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A packet of a second link type for a classic pcap, which has one for all.
    MixedLinkTypes {
        /// That of the packets before.
        first: LinkType,
        /// That of this one.
        second: LinkType,
    },
    /// A time that classic pcap cannot hold: before 1970, after 2106, or finer than the file's
    /// precision.
    Timestamp(Timestamp),
    /// A link type beyond 16 bits, which pcapng cannot hold.
    LinkType(LinkType),
    /// A packet of 4 GiB or more.
    PacketTooLong(usize),
    /// An earlier write failed, and that was told then.
    Abandoned,
}

impl WriteError {
    /// Whether the reader of a pipe is gone: no failure for a program whose output is cut by
    /// `head`.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } | Self::Kept { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { output, source } => write!(f, "cannot write {}: {source}", output.display()),
            Self::Kept { output, source } => {
                write!(f, "cannot write {}: {source}; the packets that fitted are in it", output.display())
            }
            Self::MixedLinkTypes { first, second } => {
                write!(f, "a pcap has one link type, but {second} follows {first}; name the output .pcapng")
            }
            Self::Timestamp(time) => write!(f, "a pcap of this precision cannot hold the time {time}; name the output .pcapng"),
            Self::LinkType(link) => write!(f, "pcapng cannot hold {link}; name the output .pcap"),
            Self::PacketTooLong(len) => write!(f, "a packet of {len} bytes does not fit a capture"),
            Self::Abandoned => f.write_str("the output was given up after an earlier failure"),
        }
    }
}
