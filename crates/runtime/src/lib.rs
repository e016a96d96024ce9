//! What running programs need around them: captures in and out, what sits behind virtual
//! coprocessors, and graphs of elements.

#![deny(unsafe_code)] // allowed in io::sys alone

pub mod coproc;
pub mod graph;
pub mod io;
pub mod routes;
mod sync;
