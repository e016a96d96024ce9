//! Strings: all there is. Bytes that are no text are lost.

use super::{ArgumentError, Reading};
use crate::c::Value;

pub(super) fn read(text: &str, _: &Reading<'_>) -> Result<Value, ArgumentError> {
    Ok(Value::Text(text.to_owned()))
}
