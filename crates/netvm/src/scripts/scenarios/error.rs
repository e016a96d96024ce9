//! Why scenarios are not read, or not run.

use super::super::ScriptError;
use crate::application::PlacementError;
use std::fmt;

/// Why a scenario is not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioError {
    /// The configuration, or the way to run it, is refused.
    Refused(String),
    /// A file of the scenario cannot be read or written.
    File(String),
    /// The run does not end.
    Endless,
}

impl ScenarioError {
    /// The configuration, or the way to run it, is refused.
    pub fn refused(why: impl fmt::Display) -> Self {
        Self::Refused(why.to_string())
    }

    /// This error with other words.
    pub(super) fn map(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Refused(text) => Self::Refused(words(text)),
            Self::File(text) => Self::File(words(text)),
            Self::Endless => Self::Endless,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(text) | Self::File(text) => f.write_str(text),
            Self::Endless => f.write_str("the run does not end"),
        }
    }
}

impl std::error::Error for ScenarioError {}

impl From<PlacementError> for ScenarioError {
    fn from(error: PlacementError) -> Self {
        Self::refused(error)
    }
}

/// Of a name that is no plain one.
impl From<ScriptError> for ScenarioError {
    fn from(error: ScriptError) -> Self {
        Self::refused(error)
    }
}
