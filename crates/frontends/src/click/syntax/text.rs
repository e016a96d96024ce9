//! Strings: all there is.

use super::{Reading, Wrong};
use crate::click::arguments::Value;

pub(super) fn read(_: &str, reading: &Reading<'_>) -> Result<Value, Wrong> {
    Ok(Value::Text(reading.bytes.to_vec()))
}
