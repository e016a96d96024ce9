//! Tables for use: what [`netil::tables::Reference`] means, fast.
//!
//! [`make`] chooses by kind and size. All are judged against the reference (`crates/runtime/tests/tables.rs`).

mod area;
mod deadlines;
mod exact;
mod trie;
mod values;

pub use exact::Exact;
use netil::module::{Module, Table as Declaration, TableKind};
use netil::table::Op;
use netil::tables::{Reference, Table};
pub use trie::Trie;

/// A table as declared. The seed is the run's; what it gives is the same whatever the seed, but for handles.
pub fn make(declaration: &Declaration, seed: u64) -> Box<dyn Table> {
    make_for(declaration, seed, true)
}

/// The same; where no program writes into the table's values ([`is_written`]), equal ones share their memory.
pub fn make_for(declaration: &Declaration, seed: u64, written: bool) -> Box<dyn Table> {
    if declaration.kind == TableKind::Exact {
        return Box::new(Exact::new(declaration, seed));
    }
    if let Some(trie) = Trie::new(declaration, !written) {
        return Box::new(trie);
    }
    Box::new(Reference::new(declaration))
}

/// Whether a program writes into the values of its n-th table.
pub fn is_written(module: &Module, n: u32) -> bool {
    let code = [&module.init, &module.push, &module.pull].into_iter().flatten().flat_map(|handler| &handler.code);
    code.into_iter().any(|inst| inst.op == Op::TStore && inst.imm[0] == n)
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
