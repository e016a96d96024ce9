//! What running programs need around them: captures in and out, and what sits behind virtual coprocessors.

#![forbid(unsafe_code)]

pub mod coproc;
pub mod io;
