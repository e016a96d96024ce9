//! The way from the pointers and counts of C to slices, and why a call failed.
//!
//! Invariant: nothing of a caller's memory is kept after a call.

use crate::{NETVM_ARGUMENT, NETVM_CONFIGURATION, NETVM_ENGINE, NETVM_EXPRESSION, NETVM_OK, NETVM_REFUSED, Packet};
use netvm::Error;
use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::MaybeUninit;
use std::time::Duration;

/// Why a call failed.
pub(crate) struct Fault {
    pub(crate) status: c_int,
    /// Lines that end with a newline.
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn argument(what: impl std::fmt::Display) -> Self {
        Self { status: NETVM_ARGUMENT, message: format!("error: {what}\n") }
    }

    pub(crate) fn null(what: &str) -> Self {
        Self::argument(format!("{what} is a null pointer"))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let text = error.render(false);
        // Those of expressions and configurations begin so.
        let is_prefixed = matches!(error, Error::Filter { .. } | Error::Configuration(_));
        let message = if is_prefixed { text } else { format!("error: {text}") };
        Self { status: status_of(&error), message }
    }
}

impl Fault {
    /// A device or handler that is not there, or refuses.
    pub(crate) fn refused(message: impl std::fmt::Display) -> Self {
        Self { status: NETVM_REFUSED, message: format!("error: {message}\n") }
    }
}

fn status_of(error: &Error) -> c_int {
    match error {
        Error::Filter { .. } => NETVM_EXPRESSION,
        // The only files that are read here by their names are configurations.
        Error::Configuration(_) | Error::Io { .. } => NETVM_CONFIGURATION,
        _ => NETVM_ENGINE,
    }
}

/// The text at a pointer, none if that is null.
///
/// # Safety
/// It is null, or points to a string that ends with NUL.
pub(crate) unsafe fn text<'a>(at: *const c_char, what: &str) -> Result<Option<&'a str>, Fault> {
    if at.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, so a string.
    let bytes = unsafe { CStr::from_ptr(at) };
    bytes.to_str().map(Some).map_err(|_| Fault::argument(format!("{what} is not UTF-8")))
}

/// The text at a pointer, which may not be null.
///
/// # Safety
/// It is null, or points to a string that ends with NUL.
pub(crate) unsafe fn name<'a>(at: *const c_char, what: &str) -> Result<&'a str, Fault> {
    // SAFETY: as this function's.
    unsafe { text(at, what) }?.ok_or(Fault::null(what))
}

/// The texts at a pointer, none of which may be null; `whats` is what all are, and what one is.
///
/// # Safety
/// The pointer is null or points to so many pointers, each of which is null or points to a string
/// that ends with NUL.
pub(crate) unsafe fn names<'a>(at: *const *const c_char, count: u32, whats: [&str; 2]) -> Result<Vec<&'a str>, Fault> {
    let [all, one] = whats;
    // SAFETY: as this function's.
    let all = unsafe { array(at, count as usize, all) }?;
    // SAFETY: as this function's.
    all.iter().map(|at| unsafe { name(*at, one) }).collect()
}

/// The array at a pointer, which may be null if there is nothing in it.
///
/// # Safety
/// The pointer is null or points to so many values.
pub(crate) unsafe fn array<'a, T>(at: *const T, count: usize, what: &str) -> Result<&'a [T], Fault> {
    match count {
        0 => Ok(&[]),
        _ if at.is_null() => Err(Fault::null(what)),
        _ if !at.is_aligned() || count > isize::MAX as usize / size_of::<T>() => Err(Fault::argument(format!("{what} cannot be an array"))),
        // SAFETY: neither null nor crooked, and of a size that an array may have.
        _ => Ok(unsafe { std::slice::from_raw_parts(at, count) }),
    }
}

/// The array at a pointer, to be written; the pointer may be null if there is nothing in it.
///
/// # Safety
/// The pointer is null or points to so many values, to which nothing else points.
pub(crate) unsafe fn array_mut<'a, T>(at: *mut T, count: usize, what: &str) -> Result<&'a mut [MaybeUninit<T>], Fault> {
    // SAFETY: as this function's; values that may be without a value are always valid.
    unsafe { array(at.cast::<MaybeUninit<T>>(), count, what) }?;
    match count {
        0 => Ok(&mut []),
        // SAFETY: `array` found it to be one.
        _ => Ok(unsafe { std::slice::from_raw_parts_mut(at.cast(), count) }),
    }
}

impl Packet {
    /// # Safety
    /// The pointer is null or points to `len` bytes.
    pub(crate) unsafe fn bytes<'a>(&self) -> Result<&'a [u8], Fault> {
        // SAFETY: as this function's.
        unsafe { array(self.data, self.len as usize, "a packet's data") }
    }

    pub(crate) fn on_wire(&self) -> u32 {
        if self.wire_len == 0 { self.len } else { self.wire_len }
    }
}

pub(crate) fn status(done: Result<(), Fault>) -> c_int {
    done.map_or_else(|fault| fault.status, |()| NETVM_OK)
}

/// A string for C, which ends at the first NUL.
pub(crate) fn string(text: String) -> *mut c_char {
    let mut bytes = text.into_bytes();
    bytes.truncate(bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len()));
    CString::new(bytes).unwrap_or_default().into_raw()
}

/// Whether it was done, and why not.
///
/// # Safety
/// The pointer is null or points to a variable.
pub(crate) unsafe fn told(done: Result<(), Fault>, error: *mut *mut c_char) -> c_int {
    let (status, message) = done.map_or_else(|fault| (fault.status, Some(fault.message)), |()| (NETVM_OK, None));
    if !error.is_null() {
        // SAFETY: not null, so a variable.
        unsafe { error.write(message.map_or(std::ptr::null_mut(), string)) };
    }
    status
}

/// How long something took, or why it was not done.
///
/// # Safety
/// The pointers are null or point to variables.
pub(crate) unsafe fn told_pause(took: Result<Duration, Fault>, pause: *mut u64, error: *mut *mut c_char) -> c_int {
    if let (Ok(took), false) = (&took, pause.is_null()) {
        // SAFETY: not null, so a variable.
        unsafe { pause.write(took.as_nanos() as u64) };
    }
    // SAFETY: as this function's.
    unsafe { told(took.map(drop), error) }
}

/// Hands out what was made, or why there is none.
///
/// # Safety
/// Both pointers are null or point to variables.
pub(crate) unsafe fn give<T>(made: Result<T, Fault>, to: *mut *mut T, error: *mut *mut c_char) -> c_int {
    let made = if to.is_null() { Err(Fault::null("the place of the result")) } else { made };
    let (status, handle, message) = match made {
        Ok(handle) => (NETVM_OK, Box::into_raw(Box::new(handle)), std::ptr::null_mut()),
        Err(fault) if error.is_null() => (fault.status, std::ptr::null_mut(), std::ptr::null_mut()),
        Err(fault) => (fault.status, std::ptr::null_mut(), string(fault.message)),
    };
    if !to.is_null() {
        // SAFETY: not null, so a variable.
        unsafe { to.write(handle) };
    }
    if !error.is_null() {
        // SAFETY: not null, so a variable.
        unsafe { error.write(message) };
    }
    status
}
