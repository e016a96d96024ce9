//! What a `netvm_reading` says: how a configuration is read.

use crate::ReadingOf;
use crate::pointers::{Fault, names};
use netvm::application::Reading;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How a configuration is read; without folders and parameters if the pointer is null.
///
/// # Safety
/// The pointer is null or points to a structure whose arrays are null or have so many strings that
/// end with NUL.
pub(crate) unsafe fn of(at: *const ReadingOf) -> Result<Reading, Fault> {
    // SAFETY: as this function's.
    let Some(of) = (unsafe { at.as_ref() }) else { return Ok(Reading::default()) };
    // SAFETY: as this function's.
    let elements = unsafe { names(of.elements, of.elements_count, ["the array of folders", "a folder's path"]) }?;
    // SAFETY: as this function's.
    let parameters = unsafe { names(of.parameters, of.parameters_count, ["the array of parameters", "a parameter"]) }?;
    let elements = elements.into_iter().map(folder).collect::<Result<Vec<_>, _>>()?;
    let parameters = parameters.into_iter().map(parameter).collect::<Result<BTreeMap<_, _>, _>>()?;
    Ok(Reading { parameters, elements, ..Reading::default() })
}

/// A folder of element classes, which is there: of one that is not, only the absence of its classes
/// would be told.
fn folder(path: &str) -> Result<PathBuf, Fault> {
    let folder = PathBuf::from(path);
    if folder.is_dir() { Ok(folder) } else { Err(Fault::argument(format!("{path}: there is no such folder of elements"))) }
}

/// The name of a parameter, and its value.
fn parameter(text: &str) -> Result<(String, String), Fault> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or_else(|| Fault::argument(format!("a parameter is NAME=VALUE, not `{text}`")))?;
    Ok((name.to_owned(), value.to_owned()))
}
