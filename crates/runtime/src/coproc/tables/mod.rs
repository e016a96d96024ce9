//! Tables for use: what [`netil::tables::Reference`] means, fast.
//!
//! [`make`] chooses by kind and size. All are judged against the reference (`crates/runtime/tests/tables.rs`).

mod area;
mod deadlines;
mod exact;

pub use exact::Exact;
use netil::module::{Table as Declaration, TableKind};
use netil::tables::{Reference, Table};

/// A table as declared. The seed is the run's; what it gives is the same whatever the seed, but for handles.
pub fn make(declaration: &Declaration, seed: u64) -> Box<dyn Table> {
    match declaration.kind {
        TableKind::Exact => Box::new(Exact::new(declaration, seed)),
        _ => Box::new(Reference::new(declaration)),
    }
}

/// Eight bytes as a number.
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A number that looks random.
fn splitmix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
