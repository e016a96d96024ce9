//! How full exact tables are, and when they grow.

use super::declare;
use netil::layout;
use netil::module::{Table as Declaration, TableKind};
use netvm_runtime::coproc::tables;

/// An exact table with so many entries.
fn filled(declaration: &Declaration, entries: u64) -> Box<dyn netil::tables::Table> {
    let mut table = tables::make(declaration, 1);
    (0..entries).for_each(|key| assert_ne!(table.insert(&[key], 0), 0));
    table
}

/// Slots among which its keys' first ones are.
fn slots(table: &mut dyn netil::tables::Table) -> u64 {
    table.parts().unwrap().head[layout::head::BUCKETS]
}

/// Slots among which the keys' first ones are, of a table with so many entries that has grown as
/// far as it will.
fn grown(declaration: &Declaration, entries: u64) -> u64 {
    let mut table = filled(declaration, entries);
    (0..10_000).for_each(|_| table.tidy());
    slots(&mut *table)
}

#[test]
fn most_slots_are_free() {
    let declaration = declare(TableKind::Exact, 48, 4, 1 << 20, 1_000);
    for (entries, low, high) in [(100, 3, 6), (1_000, 3, 6), (3_900, 3, 6), (9_500, 7, 15), (100_000, 7, 15), (1_000_000, 20, 40)] {
        let taken = entries * 100 / grown(&declaration, entries);
        assert!((low..=high).contains(&taken), "{entries} entries: {taken} of a hundred slots");
    }
    let few = declare(TableKind::Exact, 48, 4, 4_000, 1_000);
    assert!(4_000 * 100 / grown(&few, 4_000) <= 6, "there is room for that where few entries are declared");
}

#[test]
fn growth_ends_between_bursts() {
    let declaration = declare(TableKind::Exact, 48, 4, 1 << 20, 1_000);
    let mut table = filled(&declaration, 2_200);
    let begun = slots(&mut *table);
    assert!(!begun.is_power_of_two(), "the test is of a table that grows: {begun} slots");
    (0..1_000).for_each(|_| table.tidy());
    assert_eq!(slots(&mut *table), begun.next_power_of_two());
    assert!((0..2_200).all(|key| table.find(&[key], 1, false) != 0) && table.len(1) == 2_200);
    assert_eq!(table.parts().unwrap().head[layout::head::FILLED], 2_200);
}
