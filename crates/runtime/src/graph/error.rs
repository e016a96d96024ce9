//! Why elements and their handlers refuse. Callers decide by the kind; the text is for people.

use std::fmt;

/// Why a handler is not read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandlerError {
    /// No element has that name.
    NoElement(String),
    /// The element, or the run, has no handler of that name to read, or to write.
    NoHandler(String),
    /// It can only be read.
    ReadOnly(String),
    /// It can only be written.
    WriteOnly(String),
    /// Its element is running.
    Busy(String),
    /// It does not take the text that it is written, or asked.
    Invalid(String),
    /// It could not do what it is for.
    Failed(String),
}

impl HandlerError {
    /// It does not take its text.
    pub fn invalid(why: impl Into<String>) -> Self {
        Self::Invalid(why.into())
    }

    /// It could not do what it is for.
    pub fn failed(why: impl fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }

    /// What is wrong, in words.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::NoElement(text) | Self::NoHandler(text) | Self::ReadOnly(text) | Self::WriteOnly(text) => text,
            Self::Busy(text) | Self::Invalid(text) | Self::Failed(text) => text,
        }
    }

    /// The same kind of error, with words about where it was found before its own.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        match &mut self {
            Self::NoElement(text) | Self::NoHandler(text) | Self::ReadOnly(text) | Self::WriteOnly(text) => text,
            Self::Busy(text) | Self::Invalid(text) | Self::Failed(text) => text,
        }
        .insert_str(0, &format!("{place}: "));
        self
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for HandlerError {}

impl From<String> for HandlerError {
    fn from(text: String) -> Self {
        Self::Failed(text)
    }
}

impl From<&str> for HandlerError {
    fn from(text: &str) -> Self {
        Self::Failed(text.to_owned())
    }
}

/// For callers that only show it.
impl From<HandlerError> for String {
    fn from(error: HandlerError) -> Self {
        error.text().to_owned()
    }
}
