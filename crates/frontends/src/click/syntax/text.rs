//! Strings: all there is. Bytes that are no text are lost.

use super::{Reading, Wrong};
use crate::click::arguments::Value;

pub(super) fn read(text: &str, _: &Reading<'_>) -> Result<Value, Wrong> {
    Ok(Value::Text(text.to_owned()))
}
