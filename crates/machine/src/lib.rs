//! Models of packet processors: they execute a program and count cycles.
//!
//! ```text
//! program ──interpreter, watched──▶ trace ──description──▶ steps ──model──▶ report
//! ```
//!
//! - [`trace`]: what a program did for each packet: instructions by class, accesses to memories and
//!   tables
//! - [`description`]: a machine as data: clock, cores, threads, memories, buses, locks; the
//!   built-in ones
//! - [`layout`]: the memories that tables and variables lie in
//! - [`steps`]: a trace in the terms of one machine, with critical sections
//! - [`model`]: cores, threads, memories and locks, event by event
//! - [`conflicts`]: how often packets near each other touch the same state
//! - [`saturation`]: the highest rate at which no packet is dropped
//! - [`router`]: ports, receive and transmit threads, and a FIFO between them
//! - [`stages`]: a packet's work by element
//! - [`scheduler`]: cores that take packets from groups of elements, with tags that keep them in
//!   order
//! - [`x11`]: a systolic pipeline, with a code generator of its own and an executor
//!
//! Results of a program are those of the interpreter, which runs it; a model only says how long it
//! takes. Equal inputs give equal reports.
//!
//! Sources: the papers on NetThreads and NetTM (ANCS 2010), NP-Click on the IXP1200 (HPCA NP
//! workshop 2003), and the processors' public manuals.
#![forbid(unsafe_code)]

pub mod conflicts;
pub mod contention;
pub mod description;
mod fault;
pub mod figure;
pub mod layout;
pub mod model;
pub mod router;
pub mod saturation;
pub mod scheduler;
pub mod stages;
pub mod steps;
pub mod trace;
pub mod variation;
pub mod x11;

pub use description::Machine;
pub use model::{Options, Report, Scheme, simulate};
pub use trace::{Recorder, Trace};
