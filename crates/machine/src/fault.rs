//! What is wrong with a description, and numbers that have bounds.

use std::fmt;

/// What is wrong with a description: of a machine, of what its threads do, of groups of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(String);

impl Fault {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// That a number is within its bounds.
pub(crate) fn within(what: &str, value: u32, least: u32, most: u32) -> Result<(), Fault> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(Fault::new(format!("{what} is {value}; it is between {least} and {most}"))),
    }
}
