//! The façade of netvm: what the program, tests, fuzz targets and bindings import.
//!
//! ```text
//! expression ──[`Filter`]──▶ one engine per link type ──▶ selections of bursts
//! NetIL file ──[`load`]──▶ Verified ──[`Session`]──▶ dispositions, clones, state
//!                              └──[`emit`]──▶ any stage on the way to machine code, as text
//! ```
//!
//! The lists of what there is, [`frontends::ALL`] and [`engines::ALL`], are here and nowhere else: every run-test, differential
//! test and benchmark goes over them.
//!
//! ```
//! use netvm::{Filter, engines, io::LinkType};
//!
//! let mut filter = Filter::new("tcp port 80", &engines::AUTO)?;
//! let short: &[u8] = &[0; 14];
//! assert!(!filter.matches(LinkType::EN10MB, short, 14)?);
//! # Ok::<(), netvm::Error>(())
//! ```
#![forbid(unsafe_code)]

mod ahead;
mod auto;
pub mod emit;
pub mod engines;
mod error;
mod filter;
pub mod frontends;
pub mod load;
mod session;

pub use ahead::Ahead;
pub use compiler::{Engine, passes};
pub use error::{Error, Status};
pub use filter::{Compiled, Filter};
pub use netil;
pub use runtime::io;
pub use session::{Session, Settings};
