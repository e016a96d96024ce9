//! Machine code for verified programs, by way of Cranelift: ready in well under a millisecond for a
//! filter.
//!
//! ```text
//! mir::Func ──lower──▶ Cranelift IR ──▶ machine code ──memory──▶ pages that are executable and not writable
//! ```
//!
//! [`JitEngine`] gives what the interpreter gives: results, memory effects, and traps at the same
//! instruction. The init handler runs in the interpreter, once. This crate holds unsafe code, in
//! three places: calling compiled code (`engine`), what compiled code calls (`calls`), and the
//! frame that both share. Compiled code touches only what the frame points to, and each of its
//! accesses to packet and memories rests on a check or on the verifier.
#![allow(unsafe_code, reason = "calling machine code, and being called by it, is what this crate is for")]

mod calls;
pub mod chain;
mod engine;
mod frame;
mod host;
mod lower;
mod memory;
mod unit;

pub use engine::JitEngine;
pub use unit::{Emit, emit};

use std::fmt;

/// Why a program could not be compiled; the interpreter runs it all the same.
#[derive(Debug)]
pub enum JitError {
    /// It has more of something than is compiled: what, how many, limit.
    TooLarge(&'static str, usize, usize),
    /// It takes more bytes of stack than the limit: how many, limit.
    TooMuchStack(u32, u32),
    /// The optimiser refused it.
    Middle(compiler::translate::TooLarge),
    /// Cranelift refused it, or does not know this machine.
    Backend(String),
    /// No memory for code.
    Memory(std::io::Error),
    /// The program has no handler of that kind.
    NoHandler,
}

impl fmt::Display for JitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(what, n, limit) => write!(f, "{n} {what} exceed the {limit} that are compiled; run it with the interpreter"),
            Self::TooMuchStack(n, limit) => {
                write!(f, "{n} bytes of stack exceed the {limit} that compiled code may take; run it with the interpreter")
            }
            Self::Middle(e) => e.fmt(f),
            Self::Backend(e) => write!(f, "code generation failed: {e}; run it with the interpreter"),
            Self::Memory(e) => write!(f, "no memory for machine code: {e}"),
            Self::NoHandler => f.write_str("the program has no such handler"),
        }
    }
}

impl std::error::Error for JitError {}
