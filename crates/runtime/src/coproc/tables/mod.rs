//! Tables for use: what [`netil::tables::Reference`] means, fast.
//!
//! [`make`] chooses by kind and size. All are judged against the reference
//! (`crates/runtime/tests/tables.rs`).

mod area;
mod bits;
mod deadlines;
mod exact;
mod lengths;
mod nodes;
mod paths;
mod range;
mod rules;
mod shapes;
mod ternary;
mod trie;
mod values;

use exact::Exact;
use lengths::Lengths;
use netil::layout;
use netil::module::{Module, Table as Declaration, TableKind};
use netil::table::Op;
use netil::tables::{Reference, Table};
use paths::Paths;
use range::Ranges;
use std::hash::{BuildHasher, Hasher};
use ternary::Ternary;
use trie::Trie;

/// A table as declared. The seed is the run's; what it gives is the same whatever the seed, but for
/// handles.
pub fn make(declaration: &Declaration, seed: u64) -> Box<dyn Table> {
    make_for(declaration, seed, true)
}

/// A table as declared; where no program writes into the table's values ([`is_written`]), equal
/// ones share their memory.
pub fn make_for(declaration: &Declaration, seed: u64, written: bool) -> Box<dyn Table> {
    match declaration.kind {
        TableKind::Exact => Box::new(Exact::new(declaration, seed)),
        // Only exact tables have timeouts in the element language.
        _ if declaration.timeout_ns > 0 => Box::new(Reference::new(declaration)),
        TableKind::Prefix => match (Trie::new(declaration, seed, !written), Paths::new(declaration, seed, !written)) {
            (Some(trie), _) => Box::new(trie),
            (_, Some(paths)) => Box::new(paths),
            _ => Box::new(Lengths::new(declaration, seed, !written)),
        },
        TableKind::Ternary => Box::new(Ternary::new(declaration, seed)),
        TableKind::Range => Box::new(Ranges::new(declaration, seed)),
    }
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

/// Hashes as exact tables do, with a seed of the table's.
#[derive(Clone, Copy)]
struct Seeded([u64; 2]);

impl Seeded {
    fn new(seed: u64) -> Self {
        Self([splitmix(seed), splitmix(!seed)])
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded(self.0)
    }
}

/// The hash so far, and the seed.
struct Folded([u64; 2]);

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(16) {
            let mut pair = [0; 16];
            pair[..chunk.len()].copy_from_slice(chunk);
            self.0[0] = layout::hash(self.0, &[word(&pair, 0), word(&pair, 8)]);
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0[0] = layout::hash(self.0, &[number]);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0[0]
    }
}
