//! What elements keep, for those who put together what several graphs keep of one: data memories,
//! and entries of tables.

use super::program::Program;
use super::{Body, Graph};
use crate::coproc::tables;
use netil::module::{Entry, Table as Declaration};
use netil::tables::Table;

/// What an element whose program has a state of its own keeps, or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Its data memory.
    pub memory: Vec<u8>,
    /// Entries of tables, which are named by their numbers.
    pub tables: Vec<(u32, Vec<Entry>)>,
}

impl Graph {
    /// What an element keeps, with the entries of these of its tables; none if other graphs have
    /// its state as well.
    pub fn kept_by(&self, element: &str, tables: &[u32]) -> Option<Kept> {
        self.topology.by_name.get(element).and_then(|node| self.kept_of(*node, tables))
    }

    pub(super) fn kept_of(&self, node: usize, tables: &[u32]) -> Option<Kept> {
        let Body::Program(program) = &self.core.nodes[node].body else { return None };
        program.kept(tables, self.core.clock.now())
    }

    /// Does something while an element keeps that instead of what it does keep; none if it has no
    /// state of its own of that size.
    pub(super) fn with_kept<T>(&mut self, node: usize, kept: Kept, work: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let (now, seed) = (self.core.clock.now(), self.topology.settings.seed);
        let Body::Program(program) = &self.core.nodes[node].body else { return None };
        let made = kept.tables.iter().filter_map(|(number, entries)| Some((*number, program.filled(*number, entries, (seed, now))?)));
        let mut other = (kept.memory, made.collect());
        program.has_kept(&other).then_some(())?;
        self.exchange_kept(node, &mut other);
        let done = work(self);
        self.exchange_kept(node, &mut other);
        Some(done)
    }

    fn exchange_kept(&mut self, node: usize, other: &mut Other) {
        if let Body::Program(program) = &mut self.core.nodes[node].body {
            program.exchange_kept(other);
        }
    }
}

/// A data memory, and tables by their numbers.
type Other = (Vec<u8>, Vec<(u32, Box<dyn Table>)>);

impl Program {
    fn kept(&self, tables: &[u32], now: u64) -> Option<Kept> {
        let entries = |number: &u32| Some((*number, self.state.tables.get(*number as usize)?.entries(now)));
        let tables = tables.iter().filter_map(entries).collect();
        (!self.is_in_common()).then(|| Kept { memory: self.state.data.clone(), tables })
    }

    /// A table like one of its own, with these entries, however many they are.
    fn filled(&self, number: u32, entries: &[Entry], (seed, now): (u64, u64)) -> Option<Box<dyn Table>> {
        let own = self.module().tables.get(number as usize)?;
        let capacity = own.capacity.max(u32::try_from(entries.len()).unwrap_or(u32::MAX));
        let mut table = tables::make(&Declaration { capacity, entries: Vec::new(), ..own.clone() }, seed);
        entries.iter().try_for_each(|entry| table.add(entry, now)).ok()?;
        Some(table)
    }

    /// Whether it could keep that.
    fn has_kept(&self, (memory, tables): &Other) -> bool {
        let has = |(number, _): &(u32, Box<dyn Table>)| self.state.tables.len() > *number as usize;
        !self.is_in_common() && memory.len() == self.state.data.len() && tables.iter().all(has)
    }

    fn exchange_kept(&mut self, (memory, tables): &mut Other) {
        std::mem::swap(&mut self.state.data, memory);
        for (number, table) in tables {
            std::mem::swap(&mut self.state.tables[*number as usize], table);
        }
    }
}
