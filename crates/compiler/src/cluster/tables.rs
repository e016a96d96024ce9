//! Tables that fused code looks into without the runtime: those whose layout ([`netil::layout`]) it
//! knows.

use netil::layout;
use netil::module::{Table, TableKind};

/// How a table is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Hashed, with keys of at most 128 bits.
    Exact,
    /// A trie whose first level has so many bits.
    Prefix(u32),
    /// A trie of long keys whose first level has so many bits.
    LongPrefix(u32),
    /// Ternary, a hash table for each mask, with keys of so many limbs.
    Ternary(usize),
}

/// How a table is looked into; `None` if only the runtime can.
pub fn access(table: &Table) -> Option<Access> {
    if table.kind == TableKind::Exact && table.key_bits <= 128 {
        return Some(Access::Exact);
    }
    let short = layout::Trie::of(table).map(|trie| Access::Prefix(trie.root_bits));
    let long = || layout::Paths::of(table).map(|paths| Access::LongPrefix(paths.root_bits));
    short.or_else(long).or_else(|| layout::Shapes::of(table).map(|shapes| Access::Ternary(shapes.limbs)))
}
