//! Back ends that emit files: one directory each.
//!
//! A back end takes optimised MIR. Where it cannot express an operation it says so, and whoever
//! asked uses another engine.

pub mod c;
pub mod ebpf;
pub mod graph;
mod start;
