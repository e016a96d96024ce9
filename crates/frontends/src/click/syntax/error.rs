//! What is wrong with an argument.

use std::fmt;

/// Why an argument is not what it should be. Whoever knows its element makes a diagnostic of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// The argument as it stands, if it is one that is wrong.
    pub argument: Option<String>,
    /// What it is not, or is.
    pub what: String,
}

impl ArgumentError {
    /// It is wrong in these words; whose they are is said later ([`Self::of`]).
    pub fn new(what: impl Into<String>) -> Self {
        Self { argument: None, what: what.into() }
    }

    /// It is that argument that is wrong.
    #[must_use]
    pub fn of(self, argument: &str) -> Self {
        Self { what: self.to_string(), argument: Some(argument.to_owned()) }
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.argument {
            Some(argument) => write!(f, "`{argument}`: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for ArgumentError {}

impl From<String> for ArgumentError {
    fn from(what: String) -> Self {
        Self::new(what)
    }
}

impl From<&str> for ArgumentError {
    fn from(what: &str) -> Self {
        Self::new(what)
    }
}
