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

    /// An error of this kind, with words about where it was found before its own.
    #[must_use]
    pub fn at(self, place: impl fmt::Display) -> Self {
        self.map(|text| format!("{place}: {text}"))
    }

    /// An error of this kind with other words.
    #[must_use]
    pub fn map(mut self, words: impl FnOnce(String) -> String) -> Self {
        let text = match &mut self {
            Self::NoElement(text) | Self::NoHandler(text) | Self::ReadOnly(text) | Self::WriteOnly(text) => text,
            Self::Busy(text) | Self::Invalid(text) | Self::Failed(text) => text,
        };
        *text = words(std::mem::take(text));
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

impl From<ElementError> for HandlerError {
    fn from(error: ElementError) -> Self {
        match error {
            ElementError::Argument(text) => Self::Invalid(text),
            other => Self::Failed(other.into()),
        }
    }
}

/// For callers that only show it.
impl From<HandlerError> for String {
    fn from(error: HandlerError) -> Self {
        error.text().to_owned()
    }
}

/// Why an element is not made, does not begin, or does not complete what it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementError {
    /// Its arguments are not what it takes.
    Argument(String),
    /// It takes them, but what the configuration is built as has nothing for it.
    Unsupported(String),
    /// It takes its arguments, but a target of `netvm build` has nothing for it.
    Target {
        /// Which target.
        target: String,
        /// What it has nothing for.
        why: String,
    },
    /// What it needs is not there or fails: a file, a device, another element, a compiler.
    Resource(String),
}

impl ElementError {
    /// Its arguments are not what it takes.
    pub fn argument(why: impl Into<String>) -> Self {
        Self::Argument(why.into())
    }

    /// What the configuration is built as has nothing for it.
    pub fn unsupported(why: impl Into<String>) -> Self {
        Self::Unsupported(why.into())
    }

    /// A target has nothing for it.
    pub fn of_target(target: &str, why: impl Into<String>) -> Self {
        Self::Target { target: target.to_owned(), why: why.into() }
    }

    /// What it needs is not there or fails.
    pub fn resource(why: impl fmt::Display) -> Self {
        Self::Resource(why.to_string())
    }

    /// What is wrong, without the name of the target that is at fault.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::Argument(why) | Self::Unsupported(why) | Self::Target { why, .. } | Self::Resource(why) => why,
        }
    }
}

impl fmt::Display for ElementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(why) | Self::Unsupported(why) | Self::Resource(why) => f.write_str(why),
            Self::Target { target, why } => write!(f, "target {target}: {why}"),
        }
    }
}

impl std::error::Error for ElementError {}

impl From<String> for ElementError {
    fn from(text: String) -> Self {
        Self::Argument(text)
    }
}

impl From<&str> for ElementError {
    fn from(text: &str) -> Self {
        Self::Argument(text.to_owned())
    }
}

/// Of a handler of another element, which its arguments name.
impl From<HandlerError> for ElementError {
    fn from(error: HandlerError) -> Self {
        match error {
            HandlerError::Invalid(text) => Self::Argument(text),
            other => Self::Resource(other.into()),
        }
    }
}

/// For callers that only show it.
impl From<ElementError> for String {
    fn from(error: ElementError) -> Self {
        error.to_string()
    }
}
