//! Why an application is not placed on cores, or a run on cores is not changed. Callers decide by
//! the kind; the text is for people.

use std::fmt;

/// Why an application cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementError {
    /// What is asked for: a name that no element has, a policy that is for another order, or that
    /// an element cannot have.
    Asked(String),
    /// The application, which cannot be in several stages or replicas.
    Application(String),
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Asked(text) | Self::Application(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for PlacementError {}

/// For callers that only show it.
impl From<PlacementError> for String {
    fn from(error: PlacementError) -> Self {
        let (PlacementError::Asked(text) | PlacementError::Application(text)) = error;
        text
    }
}

/// Why a run is not changed while packets flow. It goes on as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeError {
    /// A run such as this one cannot be changed so, whatever is asked for.
    Fixed(String),
    /// What is asked for is wrong: a number of replicas, a function of flows, a version of the
    /// configuration.
    Invalid(String),
    /// It could not be done now: a thread is not made, packets do not come to rest, the run ends.
    Failed(String),
}

impl ChangeError {
    /// A run such as this one cannot be changed so.
    pub(crate) fn fixed(why: impl Into<String>) -> Self {
        Self::Fixed(why.into())
    }

    /// What is asked for is wrong.
    pub(crate) fn invalid(why: impl fmt::Display) -> Self {
        Self::Invalid(why.to_string())
    }

    /// It could not be done now.
    pub(crate) fn failed(why: impl fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Fixed(text) | Self::Invalid(text) | Self::Failed(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for ChangeError {}

/// Of a version that cannot be placed.
impl From<PlacementError> for ChangeError {
    fn from(error: PlacementError) -> Self {
        Self::invalid(error)
    }
}
