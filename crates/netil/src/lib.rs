//! NetIL: the portable bytecode of netvm, from its instruction table to the interpreter that
//! defines its meaning.
//!
//! ```text
//! source text ──asm──▶ Module ──verify──▶ Verified ──▶ Interpreter (here), or a compiler (elsewhere)
//!                      ▲    │
//! binary form ──codec──┘    └──disasm──▶ source text
//! ```
//!
//! - [`table`]: one row per instruction; everything else about instructions is derived from it
//! - [`ops`], [`wide`], [`digest`]: what operations mean on values of 1 to 2,048 bits
//! - [`asm`], [`disasm`], [`codec`]: source text and binary form to and from modules
//! - [`module`], [`set`], [`copro`]: what a program consists of
//! - [`mod@verify`]: the only way to a [`Verified`]; its header lists what is checked
//! - [`exec`]: dispositions, traps and state, the same for every engine; [`buffer`]: exchange
//!   buffers
//! - [`budget`]: what ends runaway loops
//! - [`fault`]: panics, and the packet at hand then
//! - [`machine`]: what instructions do to memories, exchange buffers and coprocessors, the same for
//!   every engine
//! - [`pool`]: packets side by side in one memory
//! - [`interp`]: the reference interpreter; [`engine`]: what every engine does
//! - [`tables`]: tables of entries and what they mean; [`layout`]: how they lie in memory
//! - [`app`]: applications, graphs of elements; [`cluster`]: elements that run as one
//! - [`manual`]: `docs/netil.md`, from the table
//! - [`arbitrary`]: modules that verify, from a seed or a byte string, for tests
//!
//! No dependencies and no unsafe code: the packet and the program are both hostile.
#![forbid(unsafe_code)]
// The macro that picks rows of the table takes a step for each.
#![recursion_limit = "512"]
pub mod app;
pub mod arbitrary;
pub mod asm;
pub mod budget;
pub mod buffer;
pub mod cluster;
pub mod codec;
pub mod copro;
pub mod cut_through;
pub mod digest;
pub mod disasm;
pub mod engine;
pub mod event;
pub mod exec;
pub mod fault;
pub mod fields;
pub mod interp;
pub mod layout;
pub mod limits;
pub mod machine;
pub mod manual;
pub mod module;
pub mod number;
pub mod ops;
pub mod pool;
pub mod rows;
pub mod set;
pub mod table;
pub mod tables;
pub mod trap;
pub mod verify;
pub mod walk;
pub mod wide;

pub use engine::Engine;
pub use interp::Interpreter;
pub use module::Module;
pub use verify::{Verified, verify};
