//! What running programs need around them: captures in and out, and what sits behind virtual coprocessors.

#![deny(unsafe_code)] // allowed in io::sys alone

pub mod coproc;
pub mod io;
