//! Truth values: `true`, `yes`, `t`, `y`, `1`, and their opposites.
//!
//! Source: Click's manual of `BoolArg`.

use super::{ArgumentError, Reading};
use crate::c::Value;

pub(super) fn read(text: &str, _: &Reading<'_>) -> Result<Value, ArgumentError> {
    match text {
        "true" | "yes" | "t" | "y" | "1" => Ok(Value::Int(1)),
        "false" | "no" | "f" | "n" | "0" => Ok(Value::Int(0)),
        _ => Err(ArgumentError::new("is neither true nor false")),
    }
}
