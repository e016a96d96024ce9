//! Why a change of a switch, or a question to it, is refused.

use p4::entries::EntryError;
use runtime::graph::HandlerError;
use std::fmt;

/// Why a [`Switch`](super::Switch) refuses a change or a question. Controllers decide by the kind;
/// the text is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchError {
    /// Nothing has that name, handle or number.
    NotFound(String),
    /// Something has these keys or this number already.
    Exists(String),
    /// There is no room for more.
    Full(String),
    /// It cannot be changed or removed as things are: it is constant, or something names it.
    InUse(String),
    /// The text, the keys, the action or the values do not suit the program.
    Invalid(String),
}

impl SwitchError {
    /// What is wrong, in words.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::NotFound(text) | Self::Exists(text) | Self::Full(text) | Self::InUse(text) | Self::Invalid(text) => text,
        }
    }

    /// An error of this kind, with words about where it was found before its own.
    #[must_use]
    pub fn at(self, place: impl fmt::Display) -> Self {
        let text = format!("{place}: {self}");
        match self {
            Self::NotFound(_) => Self::NotFound(text),
            Self::Exists(_) => Self::Exists(text),
            Self::Full(_) => Self::Full(text),
            Self::InUse(_) => Self::InUse(text),
            Self::Invalid(_) => Self::Invalid(text),
        }
    }
}

impl fmt::Display for SwitchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for SwitchError {}

impl From<String> for SwitchError {
    fn from(text: String) -> Self {
        Self::Invalid(text)
    }
}

impl From<&str> for SwitchError {
    fn from(text: &str) -> Self {
        Self::Invalid(text.to_owned())
    }
}

impl From<EntryError> for SwitchError {
    fn from(error: EntryError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl From<SwitchError> for HandlerError {
    fn from(error: SwitchError) -> Self {
        match error {
            SwitchError::Full(text) => Self::Failed(text),
            other => Self::Invalid(other.into()),
        }
    }
}

impl From<SwitchError> for String {
    fn from(error: SwitchError) -> Self {
        error.text().to_owned()
    }
}

pub(super) fn missing(text: impl Into<String>) -> SwitchError {
    SwitchError::NotFound(text.into())
}

pub(super) fn exists(text: impl Into<String>) -> SwitchError {
    SwitchError::Exists(text.into())
}

pub(super) fn full(text: impl Into<String>) -> SwitchError {
    SwitchError::Full(text.into())
}

pub(super) fn in_use(text: impl Into<String>) -> SwitchError {
    SwitchError::InUse(text.into())
}

pub(super) fn invalid(text: impl Into<String>) -> SwitchError {
    SwitchError::Invalid(text.into())
}
