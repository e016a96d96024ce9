//! What is wrong with a script, and in which line.

use std::fmt;

/// What is wrong with a script, or with a case of it that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The line, if it is one line's.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
}

impl ScriptError {
    /// In no line yet.
    pub fn new(what: impl fmt::Display) -> Self {
        Self { line: None, what: what.to_string() }
    }

    /// In that line.
    #[must_use]
    pub fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for ScriptError {}

impl From<String> for ScriptError {
    fn from(what: String) -> Self {
        Self { line: None, what }
    }
}

impl From<&str> for ScriptError {
    fn from(what: &str) -> Self {
        Self::new(what)
    }
}
