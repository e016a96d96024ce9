//! Why an application is not placed on cores, or a run on cores is not changed. Callers decide by the kind; the text is for people.

use std::fmt;

/// Why an application cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementError {
    /// What is asked for: a name that no element has, a policy that is for another order, or that an element cannot have.
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
