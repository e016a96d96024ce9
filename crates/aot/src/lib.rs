//! Filters as C, compiled ahead of time by the system's compiler and loaded: the best code, ready
//! after some tenths of a second.
//!
//! ```text
//! Verified ──compiler::backends::c──▶ C ──cc──▶ shared object in the cache ──dlopen──▶ Code ──▶ AotEngine
//! ```
//!
//! - [`build`]: runs the compiler that `NETVM_CC` names, or `cc`, `gcc`, `clang`
//! - [`cache`]: keeps what was compiled, in a directory that nobody else can write
//! - [`code`]: loads it and chooses the form for this processor
//! - [`fused`]: elements of an application that run fused
//! - [`engine`]: the engine, with another one for what C is not made for
//!
//! What is loaded runs as part of this process: only files that this user made, in a directory that
//! is this user's alone, are.
#![allow(unsafe_code, reason = "loading compiled code and calling it")]

pub mod build;
mod burst;
pub mod cache;
pub mod code;
pub mod engine;
pub mod fused;

pub use code::{Code, Options};
pub use engine::AotEngine;
pub use fused::Fused;

use compiler::backends::c::Unsupported;
use std::sync::Arc;
use std::{fmt, io};

/// Why there is no code.
#[derive(Clone, Debug)]
pub enum AotError {
    /// The program is not for C.
    Unsupported(Unsupported),
    /// No compiler was found.
    NoCompiler,
    /// The compiler failed, with what it said.
    Compiler(String),
    /// Files could not be written, read or loaded.
    Io(String, Arc<io::Error>),
    /// The shared object is not what was written.
    Load(String),
}

impl fmt::Display for AotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(what) => what.fmt(f),
            Self::NoCompiler => f.write_str("no C compiler was found: install gcc or clang, or name one in NETVM_CC"),
            Self::Compiler(said) => write!(f, "the C compiler failed: {said}"),
            Self::Io(what, error) => write!(f, "{what}: {error}"),
            Self::Load(why) => write!(f, "compiled code cannot be loaded: {why}"),
        }
    }
}

impl std::error::Error for AotError {}

impl From<Unsupported> for AotError {
    fn from(what: Unsupported) -> Self {
        Self::Unsupported(what)
    }
}

fn io_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> AotError {
    let what = what.into();
    move |error| AotError::Io(what, Arc::new(error))
}
