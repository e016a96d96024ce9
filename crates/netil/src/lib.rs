//! NetIL, the portable bytecode of netvm.
#![forbid(unsafe_code)]
pub mod copro;
pub mod digest;
pub mod module;
pub mod ops;
pub mod set;
pub mod table;
pub mod wide;
