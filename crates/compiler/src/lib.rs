//! From verified bytecode to SSA MIR, through the passes, to what back ends take.
#![forbid(unsafe_code)]
pub mod engine;

pub use engine::Engine;
