//! Why a request of a client is refused.

use super::{ChangeError, HandlerError};
use std::fmt;
use std::io;

/// Why a request is refused.
#[derive(Debug)]
pub(super) enum RequestError {
    /// It is none of this protocol, or not at this time.
    Malformed(String),
    /// A handler that it names.
    Handler(HandlerError),
    /// The change that it asks for.
    Change(ChangeError),
    /// The move of a thread.
    Move(io::Error),
    /// The filter that it has.
    Filter(crate::Error),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(text) => f.write_str(text),
            Self::Handler(error) => error.fmt(f),
            Self::Change(error) => error.fmt(f),
            Self::Move(error) => error.fmt(f),
            Self::Filter(error) => error.fmt(f),
        }
    }
}

impl From<&str> for RequestError {
    fn from(text: &str) -> Self {
        Self::Malformed(text.to_owned())
    }
}

impl From<HandlerError> for RequestError {
    fn from(error: HandlerError) -> Self {
        Self::Handler(error)
    }
}

impl From<ChangeError> for RequestError {
    fn from(error: ChangeError) -> Self {
        Self::Change(error)
    }
}

impl From<io::Error> for RequestError {
    fn from(error: io::Error) -> Self {
        Self::Move(error)
    }
}

impl From<crate::Error> for RequestError {
    fn from(error: crate::Error) -> Self {
        Self::Filter(error)
    }
}
