//! The table of the interface: macros that define what C programs see and, from the same text, the
//! rows of the header.
//!
//! Invariant: a declaration in `include/netvm.h` has the types of the definition in Rust, since
//! both come from one row; nothing unwinds out of a function of the table.

use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A constant of the header.
pub(crate) struct Constant {
    pub(crate) name: &'static str,
    pub(crate) docs: &'static [&'static str],
    pub(crate) value: c_int,
}

/// A field of a structure, or an argument, which has no documentation of its own.
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) docs: &'static [&'static str],
    pub(crate) of: fn() -> String,
}

/// A structure of the header.
pub(crate) struct Struct {
    pub(crate) name: &'static str,
    pub(crate) docs: &'static [&'static str],
    pub(crate) fields: &'static [Variable],
}

/// A function of the header.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) docs: &'static [&'static str],
    pub(crate) arguments: &'static [Variable],
    pub(crate) result: fn() -> String,
}

/// A type that C has a name for.
pub(crate) trait CType {
    /// The name, ready to have a variable's written after it.
    fn c() -> String;
}

macro_rules! c_types {
    ($($rust:ty = $c:literal),* $(,)?) => {
        $(impl $crate::abi::CType for $rust {
            fn c() -> String {
                concat!($c, " ").to_owned()
            }
        })*
    };
}
pub(crate) use c_types;

c_types!(
    () = "void",
    c_void = "void",
    c_char = "char",
    c_int = "int",
    u8 = "uint8_t",
    u32 = "uint32_t",
    u64 = "uint64_t",
    usize = "size_t"
);

impl<T: CType> CType for *mut T {
    fn c() -> String {
        format!("{}*", T::c())
    }
}

impl<T: CType> CType for *const T {
    fn c() -> String {
        let of = T::c();
        if of.ends_with('*') { format!("{of}const *") } else { format!("const {of}*") }
    }
}

/// Constants, as `NAME = value;` each with its documentation.
macro_rules! constants {
    ($($(#[doc = $doc:literal])* $name:ident = $value:literal;)*) => {
        $($(#[doc = $doc])* pub const $name: std::ffi::c_int = $value;)*
        pub(crate) const CONSTANTS: &[$crate::abi::Constant] =
            &[$($crate::abi::Constant { name: stringify!($name), docs: &[$($doc),*], value: $value }),*];
    };
}
pub(crate) use constants;

/// Structures that C programs fill.
macro_rules! structures {
    ($($(#[doc = $doc:literal])* struct $name:ident as $c:literal { $($(#[doc = $about:literal])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[doc = $doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name {
                $($(#[doc = $about])* pub $field: $type,)*
            }
            $crate::abi::c_types!($name = $c);
        )*
        pub(crate) const STRUCTS: &[$crate::abi::Struct] = &[$($crate::abi::Struct {
            name: $c,
            docs: &[$($doc),*],
            fields: &[$($crate::abi::Variable {
                name: stringify!($field),
                docs: &[$($about),*],
                of: <$type as $crate::abi::CType>::c,
            }),*],
        }),*];
    };
}
pub(crate) use structures;

/// Functions that C programs call.
macro_rules! functions {
    ($($(#[doc = $doc:literal])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty $body:block)*) => {
        $(
            $(#[doc = $doc])*
            ///
            /// # Safety
            /// Every pointer is null, or points to what the text says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                $crate::abi::guard(|| $body)
            }
        )*
        pub(crate) const FUNCTIONS: &[$crate::abi::Function] = &[$($crate::abi::Function {
            name: stringify!($name),
            docs: &[$($doc),*],
            arguments: &[$($crate::abi::Variable {
                name: stringify!($argument),
                docs: &[],
                of: <$type as $crate::abi::CType>::c,
            }),*],
            result: <$result as $crate::abi::CType>::c,
        }),*];
    };
}
pub(crate) use functions;

/// What a function returns in place of unwinding into C.
pub(crate) trait OnPanic {
    const VALUE: Self;
}

impl OnPanic for () {
    const VALUE: Self = ();
}

impl OnPanic for c_int {
    const VALUE: Self = crate::NETVM_PANIC;
}

impl<T> OnPanic for *mut T {
    const VALUE: Self = std::ptr::null_mut();
}

impl<T> OnPanic for *const T {
    const VALUE: Self = std::ptr::null();
}

/// Runs the body of a function; a panic ends here.
///
/// What it left behind is safe to use and to free, but may give wrong answers: the header says to
/// free the filter.
pub(crate) fn guard<T: OnPanic>(body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(T::VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_read_as_in_c() {
        assert_eq!(<*mut *mut c_char>::c(), "char **");
        assert_eq!(<*const u8>::c(), "const uint8_t *");
        assert_eq!(<*const *const c_char>::c(), "const char *const *");
        assert_eq!(<*const crate::Packet>::c(), "const netvm_packet *");
    }

    #[test]
    fn panics_become_values() {
        assert_eq!(guard(|| -> c_int { std::panic::resume_unwind(Box::new(())) }), crate::NETVM_PANIC);
        assert!(guard(|| -> *mut c_char { std::panic::resume_unwind(Box::new(())) }).is_null());
        assert_eq!(guard(|| 7), 7);
    }
}
