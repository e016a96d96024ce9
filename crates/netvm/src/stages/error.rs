//! Why pipelines of stages refuse. Embedding programs decide by the kind; the text is for people.

use crate::application::HandlerError;
use std::fmt;

/// Why a stage is not registered, a pipeline does not begin, or something that is asked of one that
/// runs is not done.
#[derive(Debug)]
pub enum StageError {
    /// A name is taken, or no stage, input or thread has it.
    Name(String),
    /// A number of replicas or of devices that cannot be.
    Number(String),
    /// The work of a replica cannot be made, or the system gives no thread.
    NotMade(String),
    /// Packets did not come to rest in time: it may be tried again.
    Busy(String),
    /// A thread is the program's own, or has ended or failed.
    NoThread(String),
    /// The system refuses a core.
    Core(std::io::Error),
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) | Self::Number(text) | Self::NotMade(text) | Self::Busy(text) | Self::NoThread(text) => f.write_str(text),
            Self::Core(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StageError {}

impl From<std::io::Error> for StageError {
    fn from(error: std::io::Error) -> Self {
        Self::Core(error)
    }
}

/// Of a thread that is asked for a handler.
impl From<StageError> for HandlerError {
    fn from(error: StageError) -> Self {
        match error {
            StageError::Name(text) => Self::NoElement(text),
            other => Self::failed(other),
        }
    }
}
