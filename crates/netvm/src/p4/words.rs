//! The words of a command, and what it tells.

use super::error::{SwitchError, invalid};

pub(super) type Words<'a> = std::str::SplitWhitespace<'a>;
pub(super) type Told = Result<Vec<String>, SwitchError>;

pub(super) fn needed<'a>(words: &mut Words<'a>, what: &str) -> Result<&'a str, SwitchError> {
    words.next().ok_or_else(|| invalid(format!("expected {what}")))
}
