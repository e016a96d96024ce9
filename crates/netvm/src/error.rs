//! What can go wrong on the way from source to a running program, with the exit status that a
//! program gives for it.

use crate::frontends::click::application::Faults;
use crate::frontends::pcap_filter;
use netil::asm::AsmErrors;
use netil::codec::{DecodeError, EncodeError};
use netil::exec::NoSuchCoprocessor;
use netil::verify::VerifyError;
use std::fmt;

/// Why a program could not be made or started.
#[derive(Debug)]
pub enum Error {
    /// The filter expression is wrong.
    Filter {
        /// Its text.
        source: String,
        /// What is wrong, with places in the text.
        errors: pcap_filter::Errors,
    },
    /// A configuration is wrong, or a class of elements that it uses.
    Configuration(Faults),
    /// A P4 program is wrong, or is not supported.
    P4(p4::Refused),
    /// The NetIL source is wrong.
    Source(AsmErrors),
    /// The binary module is damaged.
    Module {
        /// The file.
        name: String,
        /// What is wrong.
        error: DecodeError,
    },
    /// The module has no binary form.
    Encode(EncodeError),
    /// The program was refused.
    Verify {
        /// The file, or the filter.
        name: String,
        /// Every check that failed; at least one.
        errors: Vec<VerifyError>,
    },
    /// A file that is neither NetIL source nor a binary module.
    NotAProgram(String),
    /// The system could not read a file.
    Io {
        /// The file.
        name: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// The engine cannot take the program, which is valid.
    Engine {
        /// The engine.
        engine: &'static str,
        /// Why.
        reason: String,
    },
    /// The target does not admit the program, which is valid.
    Target {
        /// The target.
        target: &'static str,
        /// What it does not admit, with the place.
        reason: String,
    },
    /// The program uses a coprocessor that nobody implements.
    Coprocessor(NoSuchCoprocessor),
    /// A capture is to be read in the place of the only one that a configuration reads, and that is
    /// none or one of several.
    Feed {
        /// The configuration.
        name: String,
        /// Elements that read captures or devices.
        readers: usize,
    },
    /// A capture was made shorter by another program while it was read.
    Shrunk,
    /// The program's init handler ended with `exit n` or a trap; in words.
    Init(String),
}

/// The class of an error: the exit status of a program that ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Damaged or missing input, a refused program, a trap: 1.
    Failed,
    /// A wrong command line or expression: 2.
    Usage,
}

impl Error {
    /// The class of the error.
    pub fn status(&self) -> Status {
        match self {
            Self::Filter { .. } => Status::Usage,
            _ => Status::Failed,
        }
    }

    /// The error for people, several lines if places are drawn; without `error: ` before it unless
    /// each has its own.
    pub fn render(&self, color: bool) -> String {
        match self {
            Self::Filter { source, errors } => errors.render(source, color),
            Self::Configuration(faults) => faults.render(color),
            Self::P4(refused) => refused.render(color),
            other => format!("{other}\n"),
        }
    }
}

impl From<NoSuchCoprocessor> for Error {
    fn from(error: NoSuchCoprocessor) -> Self {
        Self::Coprocessor(error)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Filter { errors, .. } => Some(errors),
            Self::Configuration(faults) => Some(faults),
            Self::Source(errors) => Some(errors),
            Self::Module { error, .. } => Some(error),
            Self::Encode(error) => Some(error),
            Self::Io { error, .. } => Some(error),
            Self::Coprocessor(error) => Some(error),
            Self::Verify { errors, .. } => errors.first().map(|e| e as _),
            Self::P4(_)
            | Self::NotAProgram(_)
            | Self::Engine { .. }
            | Self::Target { .. }
            | Self::Feed { .. }
            | Self::Shrunk
            | Self::Init(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter { errors, .. } => write!(f, "{errors}"),
            Self::Configuration(faults) => write!(f, "{faults}"),
            Self::P4(refused) => f.write_str(refused.first()),
            Self::Source(errors) => write!(f, "{errors}"),
            Self::Module { name, error } => write!(f, "{name}: {error}"),
            Self::Encode(error) => write!(f, "{error}"),
            Self::Verify { name, errors } => verify_text(f, name, errors),
            Self::NotAProgram(name) => write!(f, "{name}: neither NetIL source (text) nor a binary module (begins with NVM)"),
            Self::Io { name, error } => write!(f, "{name}: {error}"),
            Self::Engine { engine, reason } => write!(f, "engine {engine}: {reason}"),
            Self::Target { target, reason } => write!(f, "target {target} does not admit this program: {reason}"),
            Self::Coprocessor(error) => write!(f, "{error}"),
            Self::Feed { name, readers: 0 } => write!(f, "{name} reads no capture and no device, so -r has no place"),
            Self::Feed { name, readers } => {
                write!(f, "{name} reads {readers} captures or devices: say which with --map DEVICE=IN, or in the configuration itself")
            }
            Self::Shrunk => write!(f, "the input became shorter while it was read: what was selected last is not to be trusted"),
            Self::Init(how) => write!(f, "the init handler failed: {how}"),
        }
    }
}

fn verify_text(f: &mut fmt::Formatter<'_>, name: &str, errors: &[VerifyError]) -> fmt::Result {
    for (i, error) in errors.iter().enumerate() {
        let gap = if i > 0 { "\n" } else { "" };
        write!(f, "{gap}{name}: {error}")?;
    }
    Ok(())
}
