//! What elements of an application have together: tables and pieces of memory that are one, which
//! lie with the graph while nobody uses them.

use super::{Body, Factories, Node, Settings};
use netil::app::{Application, TableOf};
use netil::exec::State;
use netil::tables::Table;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// What a program has together with others: its own numbers for tables, and theirs in the graph;
/// pieces of its shared memory, and where they begin in the graph's.
#[derive(Clone, Default)]
pub(super) struct Together {
    pub(super) tables: Vec<(usize, usize)>,
    pub(super) pieces: Vec<(Range<usize>, usize)>,
}

impl Together {
    /// Whether it has nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.pieces.is_empty()
    }
}

/// What programs have together, while none of them runs.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) tables: Vec<Box<dyn Table>>,
    pub(super) bytes: Vec<u8>,
}

/// A program's tables and pieces of memory change places with those that lie with the graph.
pub(super) fn exchange(together: &Together, state: &mut State, shared: &mut Shared) {
    for (own, at) in &together.tables {
        std::mem::swap(&mut state.tables[*own], &mut shared.tables[*at]);
    }
    for (own, at) in &together.pieces {
        state.shared[own.clone()].swap_with_slice(&mut shared.bytes[*at..*at + own.len()]);
    }
}

/// What an instance has together with others.
pub(super) fn together(application: &Application, index: usize) -> Together {
    let lists = application.shared.iter().enumerate();
    let own = lists.flat_map(|(at, list)| list.iter().filter(|of| of.instance as usize == index).map(move |of| (of.table as usize, at)));
    let lists = application.pieces.iter().zip(places(application));
    let pieces = lists.flat_map(|(list, place)| {
        let own = list.iter().filter(|of| of.instance as usize == index);
        own.map(move |of| (of.at as usize..(of.at + of.len) as usize, place))
    });
    Together { tables: own.collect(), pieces: pieces.collect() }
}

/// Where each piece of memory that is one begins among the graph's bytes, and the end of all.
pub(super) fn places(application: &Application) -> Vec<usize> {
    let sizes = application.pieces.iter().map(|list| list.first().map_or(0, |piece| piece.len as usize));
    let ends = sizes.scan(0, |end, size| {
        *end += size;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Programs find what they have together in all graphs; what is left for this one alone.
pub(super) fn join(nodes: &mut [Node], others: &Arc<Mutex<Option<Shared>>>) -> Shared {
    for node in nodes {
        if let Body::Program(program) = &mut node.body {
            program.join(others);
        }
    }
    Shared::default()
}

/// A table that several have, as the first declares it.
pub(super) fn shared_table(
    application: &Application,
    first: &TableOf,
    factories: &Factories<'_>,
    settings: &Settings,
) -> Option<Box<dyn Table>> {
    let program = application.instances.get(first.instance as usize)?.program()?;
    let declaration = program.module().tables.get(first.table as usize)?;
    Some((factories.table)(declaration, seed_of(settings, first.instance as usize), true))
}

/// The seed of an instance's random numbers and hashes.
pub fn seed_of(settings: &Settings, index: usize) -> u64 {
    settings.seed ^ (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
