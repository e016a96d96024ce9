//! The façade of netvm: what the program, tests, fuzz targets and bindings import.
//!
//! ```text
//! expression ──[`Filter`]──▶ one engine per link type ──▶ selections of bursts
//! NetIL file ──[`load`]──▶ Verified ──[`Session`]──▶ dispositions, clones, state
//!                              ├──[`emit`]──▶ any stage on the way to machine code, as text
//!                              └──[`targets`]──▶ files for other machines
//! configuration ──[`application`]──▶ a graph of elements that runs
//!                    ├──[`drawing`]──▶ a picture
//!                    ├──[`trace`]──▶ what happens to some packets
//!                    └──[`scripts`]──▶ one element, what goes in and what comes out
//! ```
//!
//! Programs may have [`coprocessors`] of the embedder's, and the embedder's functions may be
//! [`stages`] on threads, with elements or without.
//!
//! The lists of what there is, [`frontends::ALL`], [`engines::ALL`] and [`targets::ALL`], are here
//! and nowhere else: every run-test, differential test and benchmark goes over them.
//!
//! To embed a filter, compile it once and hand it bursts of packets; what comes back is a bit for
//! each:
//!
//! ```
//! let frames: Vec<Vec<u8>> = netvm::io::synth::mixed_trace(1, 256).into_iter().map(|(_, frame)| frame).collect();
//! let burst: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
//!
//! let mut web = netvm::Filter::ethernet("tcp port 80 or tcp port 443")?;
//! let hits = web.matches(&burst);
//! for (i, frame) in burst.iter().enumerate().filter(|(i, _)| hits.get(*i)) {
//!     println!("packet {i}: {} bytes", frame.len());
//! }
//! assert!((1..256).contains(&hits.count()));
//! # Ok::<(), netvm::Error>(())
//! ```
//!
//! [`Filter::compile`] takes other link types and engines, [`Compiled::select`] packets that were
//! cut short, [`Filter`] the bursts of a capture ([`io::Capture`]) whatever its link types. A
//! filter is one thread's; [`Compiled::another`] makes one for the next thread. C programs use
//! `crates/capi`.
#![forbid(unsafe_code)]

pub mod application;
mod auto;
pub mod control;
pub mod coprocessors;
pub mod drawing;
pub mod emit;
pub mod engines;
mod error;
mod filter;
pub mod frontends;
pub mod load;
pub mod p4;
mod parallel;
mod profile;
pub mod scripts;
mod session;
pub mod stages;
mod sync;
pub mod targets;
pub mod trace;

pub use ::frontends::diagnostics;
pub use compiler::passes;
pub use error::{Error, Status};
pub use filter::{Compiled, Filter};
pub use netil;
pub use netil::Engine;
pub use parallel::ParallelFilter;
pub use profile::Profile;
pub use runtime::{coproc::tables, io};
pub use session::{Session, Settings};
