//! What a program keeps from one packet to the next, and so what replicas of it on several cores
//! can have of their own, for `netvm check --placement`; and which of it both halves look at, for a
//! switch that takes several packets at once.
//!
//! The runtime decides on replicas by the code of the module (`netvm::application::order`); these
//! are the objects that this comes from, by their names and with the line that makes it so. Halves
//! are told apart by where an object is used: what entries keep (meters, the time of the last
//! packet) belongs to one half, as a table is applied in one control. Counters do not count: sums
//! come out the same in any order.

use super::Lower;
use crate::pipeline::{ArrayKind, Order, TableMeta};
use std::collections::BTreeMap;

/// A part of the module that runs by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Half {
    /// What runs again for clones of what arrived: a parser.
    #[default]
    Parser,
    Ingress,
    Egress,
}

/// The lines where packets read and write an array first, and in which halves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uses {
    pub read: Option<u32>,
    pub written: Option<u32>,
    /// By half: it is looked at, and changed.
    by: [[bool; 2]; 3],
}

impl Uses {
    fn changes(&self) -> bool {
        self.by.iter().any(|[_, changes]| *changes)
    }

    /// Whether a half changes it and another one looks at it; what a parser changes may come out
    /// otherwise for a clone.
    fn is_between(&self) -> bool {
        let halves = self.by.iter().filter(|by| **by != [false; 2]).count();
        self.changes() && (halves > 1 || self.by[Half::Parser as usize] != [false; 2])
    }
}

/// By name.
pub(super) type AllUses = BTreeMap<String, Uses>;

const OWN: &str = "each replica has its own";
const SHARED: &str = "all packets share one";

impl Lower<'_> {
    /// Packets read an array here.
    pub(super) fn reads_array(&mut self, name: &str) {
        let (line, half) = (self.code.line, self.half as usize);
        let uses = self.uses.entry(name.to_owned()).or_default();
        uses.by[half][0] = true;
        uses.read.get_or_insert(line);
    }

    /// Packets write an array here; whether they read it before.
    pub(super) fn writes_array(&mut self, name: &str) -> bool {
        let (line, half) = (self.code.line, self.half as usize);
        let uses = self.uses.entry(name.to_owned()).or_default();
        uses.by[half][1] = true;
        uses.written.get_or_insert(line);
        uses.read.is_some()
    }

    /// What can tell in which order packets came.
    pub(super) fn order(&self) -> Order {
        let keeps = |half: Half| self.uses.values().any(|uses| uses.by[half as usize][1]);
        // Of which half a table is nobody has noted.
        let entries = self.metas.iter().any(|meta| meta.meter.is_some() || meta.last_hit.is_some());
        Order {
            between: self.draws || self.uses.values().any(Uses::is_between),
            ingress: entries || !self.digests.is_empty() || keeps(Half::Parser) || keeps(Half::Ingress),
            egress: entries || keeps(Half::Egress),
            comes_round: self.comes_round,
            mirrors: self.mirrors,
            deviates: self.deviates,
            straight: self.straight,
        }
    }

    /// A sentence for each table, register, counter and meter.
    pub(super) fn keeps(&self) -> Vec<String> {
        let tables = self.metas.iter().filter(|meta| meta.table.is_some()).map(of_table);
        let arrays = self.array_metas.iter().map(|array| {
            let Uses { read, written, .. } = self.uses.get(&array.name).copied().unwrap_or_default();
            let name = &array.name;
            match (array.kind, read, written) {
                (ArrayKind::Counter, ..) => format!("counter {name}: packets add to it; each replica counts, and sums are told"),
                (ArrayKind::Meter, ..) => format!("meter {name}: packets change it; {SHARED}"),
                (ArrayKind::Register, _, None) => format!("register {name}: packets do not write it; {OWN}"),
                (ArrayKind::Register, Some(read), Some(written)) => {
                    format!("register {name}: packets read it (line {read}) and write it (line {written}); {SHARED}")
                }
                (ArrayKind::Register, None, Some(written)) => {
                    format!(
                        "register {name}: packets write it (line {written}), and the control plane reads what the last one wrote; {SHARED}"
                    )
                }
            }
        });
        tables.chain(arrays).collect()
    }
}

fn of_table(meta: &TableMeta) -> String {
    let name = &meta.name;
    match () {
        () if meta.meter.is_some() => format!("table {name}: packets change meters in its entries; {SHARED}"),
        () if meta.counter.is_some() => {
            format!("table {name}: packets count in its entries; {SHARED}, where a counter by an index would be a sum")
        }
        () if meta.last_hit.is_some() => format!("table {name}: packets note in its entries when they are found; {SHARED}"),
        () => format!("table {name}: packets look entries up; {OWN}"),
    }
}
